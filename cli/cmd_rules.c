/* cmd_rules.c: `ridge rules`: the rewrite rules with their sets, file:line and text; how often each fires on a kernel.
 * Names and text come from the generated table, so the listing is what the program really runs.
 * Tests: tests/cli/rules.sh */
#include "cli.h"
#include "codegen/codegen.h"

#include <stdlib.h>

struct work {
    struct arena *arena;
    const char *path;
};

/* Lowers every kernel of a file, so that the rules it needs count. */
static void lower_file(void *arg) {
    struct work *w = arg;
    struct ir ir;
    struct program prog = {0};
    ir_init(&ir, w->arena);
    io_read(&ir, w->path, &prog);
    for (uint32_t i = 0; i < prog.kernel.n; i++) {
        struct linear out;
        lower(&ir, &prog.kernel.p[i], &(struct lower_opts){0}, &out);
    }
}

static int by_hits(const void *a, const void *b) {
    unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
    uint64_t x = rule_hits(i), y = rule_hits(j);
    return x != y ? (x < y ? 1 : -1) : i < j ? -1 : 1;
}

static void print_rule(unsigned i, bool hits) {
    const struct rule_info *r = &rule_info[i];
    char where[64];
    snprintf(where, sizeof where, "%s:%d", r->file, r->line);
    if (hits)
        printf("%10llu  %-12s %-18s %s\n", (unsigned long long)rule_hits(i), r->name, where, r->text);
    else
        printf("%-12s %-16s %-18s %s\n", r->name, r->set, where, r->text);
}

static bool is_rule(const char *name) {
    for (unsigned i = 0; name && i < rule_count; i++)
        if (!strcmp(rule_info[i].name, name)) return true;
    return false;
}

/* A name given is that of a rule; else a set, a file, or a part of the names of rules. */
static bool wanted(unsigned i, const char *name, bool exact) {
    const struct rule_info *r = &rule_info[i];
    if (!name) return true;
    if (exact) return !strcmp(r->name, name);
    if (strstr(r->name, name) || !strcmp(r->file, name)) return true;
    for (const char *s = r->set; *s;) {
        size_t n = strcspn(s, ",");
        if (strlen(name) == n && !memcmp(s, name, n)) return true;
        s += n + (s[n] == ',');
    }
    return false;
}

int cmd_rules(int argc, char **argv) {
    const char *file = NULL;
    const struct arg_spec spec[] = {
        {"hits", ARG_TEXT, &file, "FILE.uop",
         "lower the kernels of this file and count how often each rule fired"},
    };
    struct args a = {
        .command = "rules",
        .operands = "[NAME]",
        .about =
            "Lists the rewrite rules: name, sets, file:line and text. NAME selects by rule, set or file.\n"
            "RIDGE_RULE_TRACE=1 prints every firing of any command, RIDGE_RULE_OFF=a,b switches rules off,\n"
            "RIDGE_RULE_MAX=n stops after n firings.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .max_operands = 1,
    };
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    const char *name = a.n ? a.operand[0] : NULL;
    if (file) {
        struct err e = {0};
        struct arena arena;
        arena_init(&arena, &e);
        int bad = err_guard(&e, lower_file, &(struct work){&arena, file});
        arena_free(&arena);
        if (bad) return cli_error("rules", &e);
    }
    bool exact = is_rule(name);
    unsigned *order = malloc(sizeof *order * (rule_count + 1)), n = 0;
    if (!order) return EXIT_FAILED;
    for (unsigned i = 0; i < rule_count; i++)
        if (wanted(i, name, exact) && (!file || rule_hits(i))) order[n++] = i;
    if (file) qsort(order, n, sizeof *order, by_hits);
    for (unsigned i = 0; i < n; i++) print_rule(order[i], file != NULL);
    free(order);
    if (!n && !file) {
        fprintf(stderr, "ridge rules: no rule, set or file is called %s; `ridge rules` lists them all\n",
                name);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}
