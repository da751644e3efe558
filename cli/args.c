/* args.c: options of the subcommands, from a table that is also their --help.
 * Tests: tests/cli/usage.sh */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>

static void usage_line(FILE *out, const struct args *a) {
    fprintf(out, "usage: ridge %s [options]%s%s\n", a->command, *a->operands ? " " : "", a->operands);
}

static void print_help(const struct args *a) {
    usage_line(stdout, a);
    printf("\n%s\n\n", a->about);
    for (uint32_t i = 0; i < a->nspec; i++) {
        const struct arg_spec *s = &a->spec[i];
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", s->name, s->value ? " " : "", s->value ? s->value : "");
        printf("  %-22s %s\n", left, s->help);
    }
    printf("  %-22s %s\n", "--help", "this text");
    if (a->more) printf("\n%s", a->more);
}

int args_wrong(const struct args *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "ridge %s: ", a->command);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "; see `ridge %s --help`\n", a->command);
    va_end(ap);
    return EXIT_USAGE;
}

/* How many single-letter edits lie between two short words. */
static unsigned distance(const char *a, const char *b) {
    enum { MOST = 31 };
    unsigned row[MOST + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > MOST || m > MOST) return 1000;
    for (unsigned j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned up = row[j],
                     best = RG_MIN(RG_MIN(up, row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = up;
            row[j] = best;
        }
    }
    return row[m];
}

static int unknown(const struct args *a, const char *name) {
    unsigned least = RG_MIN(distance(name, "help"), 3); /* further off than two letters is noise */
    const char *best = least < 3 ? "help" : NULL;
    for (uint32_t i = 0; i < a->nspec; i++) {
        unsigned d = distance(name, a->spec[i].name);
        if (d < least) least = d, best = a->spec[i].name;
    }
    if (best) return args_wrong(a, "unknown option --%s, did you mean --%s?", name, best);
    return args_wrong(a, "unknown option --%s", name);
}

static int take_value(const struct args *a, const struct arg_spec *s, const char *value) {
    if (s->kind == ARG_TEXT) {
        *(const char **)s->at = value;
        return -1;
    }
    char *end;
    errno = 0;
    long long x = strtoll(value, &end, 0);
    if (!*value || *end || errno)
        return args_wrong(a, "--%s expects a whole number, found '%s'", s->name, value);
    *(int64_t *)s->at = x;
    return -1;
}

/* One option at argv[*i]; moves *i on if its value is the next word. */
static int take_option(const struct args *a, int argc, char **argv, int *i) {
    char name[64];
    const char *text = argv[*i] + 2, *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", (int)RG_MIN(n, sizeof name - 1), text);
    for (uint32_t k = 0; k < a->nspec; k++) {
        const struct arg_spec *s = &a->spec[k];
        if (strcmp(s->name, name)) continue;
        if (s->kind == ARG_FLAG) {
            if (equals) return args_wrong(a, "--%s takes no value", name);
            *(bool *)s->at = true;
            return -1;
        }
        if (equals) return take_value(a, s, equals + 1);
        if (*i + 1 >= argc) return args_wrong(a, "--%s expects a value: --%s %s", name, name, s->value);
        return take_value(a, s, argv[++*i]);
    }
    return unknown(a, name);
}

int args_parse(struct args *a, int argc, char **argv) {
    bool options = true;
    for (int i = 1; i < argc; i++) {
        const char *w = argv[i];
        if (options && !strcmp(w, "--")) {
            options = false;
        } else if (options && (!strcmp(w, "--help") || !strcmp(w, "-h"))) {
            print_help(a);
            return EXIT_OK;
        } else if (options && !strncmp(w, "--", 2)) {
            int status = take_option(a, argc, argv, &i);
            if (status >= 0) return status;
        } else if (options && w[0] == '-' && w[1]) {
            return args_wrong(a, "unknown option %s; options have two dashes", w);
        } else if (a->n == a->max_operands || a->n == (int)RG_COUNT(a->operand)) {
            return args_wrong(a, "did not expect '%s'", w);
        } else {
            a->operand[a->n++] = w;
        }
    }
    if (a->n < a->min_operands) return args_wrong(a, "expected %s", a->operands);
    return -1;
}

int args_program(struct args *a, int argc, char **argv, char ***program) {
    int own = 1;
    while (own < argc && strcmp(argv[own], "--")) own++;
    int status = args_parse(a, own, argv);
    if (status >= 0) return status;
    if (own + 1 >= argc) return args_wrong(a, "expected %s", a->operands);
    *program = argv + own + 1;
    return -1;
}

int args_range(const struct args *a, const char *name, int64_t x, int64_t least, int64_t most) {
    if (x >= least && x <= most) return -1;
    if (most == INT64_MAX)
        return args_wrong(a, "--%s expects %lld or more, found %lld", name, (long long)least, (long long)x);
    return args_wrong(a, "--%s expects %lld to %lld, found %lld", name, (long long)least, (long long)most,
                      (long long)x);
}

int cli_error(const char *command, const struct err *e) {
    fprintf(stderr, "ridge %s: %s\n", command, e->msg);
    return EXIT_FAILED;
}
