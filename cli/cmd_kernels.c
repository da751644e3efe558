/* cmd_kernels.c: ridge kernels: the kernels of a profile or of a program; all about one of them.
 *
 * Graph, source and opts stand in the profile. Assembly is made here, by the compiler and flags of the device that the kernel ran
 * on. Exit status: 0 shown, 1 the file cannot be read or has no such kernel, 2 wrong usage; of a program that was run, its own.
 * Tests: tests/cli/kernels.sh */
#include "cli.h"
#include "engine/engine.h"
#include "report/report.h"

#define DEFAULT_FILE "ridge.profile"

struct show {
    const char *path, *name, *emit; /* emit: NULL: all but assembly, in sections */
    uint32_t rows;
    bool json, assembly;
    struct trace t;
    struct diag d;
    struct err *err;
};

static const char *assembly_of(struct show *s, const char *source) {
    struct err e = {0};
    char *out = NULL;
    const struct device_ops *ops = device_find(&e, s->d.device_name);
    struct engine *en = ops ? engine_open(&e, ops) : NULL;
    struct arena *a = &s->d.arena;
    int bad = en ? engine_assembly(en, &e, a, source, &out) : e.code;
    engine_close(en);
    if (bad) err_throw(s->err, bad, "no assembly: %s", e.msg);
    return out;
}

static void section(const char *head, const char *text) {
    size_t n = strlen(text);
    printf("\n%s\n%s%s", head, text, n && text[n - 1] == '\n' ? "" : "\n");
}

static void show_one(struct show *s, const struct kernel_sum *k) {
    const char *graph = trace_str(s->d.t, k->graph), *source = trace_str(s->d.t, k->source);
    struct str o;
    str_init(&o, &s->d.arena);
    if (s->emit && !strcmp(s->emit, "graph")) return (void)fputs(graph, stdout);
    if (s->emit && !strcmp(s->emit, "source")) return (void)fputs(source, stdout);
    if (s->emit && !*source) err_throw(s->err, RG_EINVAL, "no source of %s was recorded", s->name);
    if (s->emit) return (void)fputs(assembly_of(s, source), stdout);
    report_kernel(&o, &s->d, k);
    fputs(o.p, stdout);
    if (*graph) section("GRAPH", graph);
    if (*source) section("SOURCE", source);
    if (*source && s->assembly) section("ASSEMBLY", assembly_of(s, source));
    if (!k->key) printf("\nGraph and source were not recorded.\n");
}

static bool matches(const struct show *s, const struct kernel_sum *k) {
    const char *key = trace_str(s->d.t, k->key);
    return !strcmp(trace_str(s->d.t, k->name), s->name) ||
           (strlen(s->name) >= 4 && !strncmp(key, s->name, strlen(s->name)));
}

/* A name may stand for several kernels: each is shown; what is to be piped on must be one. */
static void show_named(struct show *s) {
    struct kernel_sum *k;
    uint32_t n = diag_kernels(&s->d, &k), found = 0;
    for (uint32_t i = 0; i < n; i++) found += matches(s, &k[i]);
    if (!found)
        err_throw(s->err, RG_EINVAL, "%s has no kernel '%s'; `ridge kernels %s` lists them", s->path, s->name,
                  s->path);
    if (found > 1 && s->emit)
        err_throw(s->err, RG_EINVAL, "%s has %u kernels '%s'; name one by the beginning of its key", s->path,
                  found, s->name);
    for (uint32_t i = 0, shown = 0; i < n; i++)
        if (matches(s, &k[i])) {
            if (shown++) printf("\n");
            show_one(s, &k[i]);
        }
}

static void print(void *arg) {
    struct show *s = arg;
    struct str o;
    if (s->name) return show_named(s);
    str_init(&o, &s->d.arena);
    if (s->json)
        report_kernels_json(&o, &s->d, UINT32_MAX);
    else
        report_kernels(&o, &s->d, s->rows);
    fputs(o.p, stdout);
}

static int show(struct show *s) {
    struct err e = {0};
    if (trace_read(&s->t, &e, s->path)) {
        err_prefix(&e, "%s: ", s->path);
        return cli_error("kernels", &e);
    }
    if (s->t.format != TRACE_RIDGE)
        err_set(&e, RG_EINVAL, "%s is no Ridge profile; `ridge diagnose` reads other traces", s->path);
    s->err = &e;
    if (!e.code && !diagnose(&s->d, &s->t, &e)) {
        err_guard(&e, print, s);
        diag_free(&s->d);
    }
    trace_free(&s->t);
    return e.code ? cli_error("kernels", &e) : EXIT_OK;
}

/* FILE, NAME, or both; one word is a file if there is one. */
static void take_operands(struct show *s, const struct args *a, bool program) {
    bool file = !program && a->n && (a->n == 2 || os_exists(a->operand[0]));
    s->path = file ? a->operand[0] : DEFAULT_FILE;
    s->name = a->n == 2 ? a->operand[1] : a->n && !file ? a->operand[0] : NULL;
}

/* No profile was named and the default does not exist: the operand may have been meant as a file. */
static int no_profile(const struct show *s) {
    if (s->name)
        fprintf(stderr,
                "ridge kernels: there is no file %s, and no " DEFAULT_FILE " that may hold such a kernel",
                s->name);
    else
        fprintf(stderr, "ridge kernels: there is no " DEFAULT_FILE " here");
    fprintf(stderr, "; name a profile, or `ridge profile -- PROGRAM` writes " DEFAULT_FILE "\n");
    return EXIT_FAILED;
}

int cmd_kernels(int argc, char **argv) {
    static struct show s;
    int64_t rows = 30;
    const struct arg_spec spec[] = {
        {"asm", ARG_FLAG, &s.assembly, NULL, "of one kernel: its assembly as well"},
        {"emit", ARG_TEXT, &s.emit, "FORM", "of one kernel: only its graph, source or asm, as it is"},
        {"rows", ARG_NUMBER, &rows, "N", "at most N kernels in the list (30)"},
        {"json", ARG_FLAG, &s.json, NULL, "all kernels with graph and source as one JSON object"},
    };
    struct args a = {
        .command = "kernels",
        .operands = "[FILE] [NAME]  or  [NAME] -- PROGRAM ARGS",
        .about =
            "Lists the kernels of a profile (" DEFAULT_FILE " if none is named), or of a program that it\n"
            "runs: calls, time, predicted and possible time, opts. With a NAME, or the beginning of a\n"
            "key: all about that kernel: times, source lines, opts, graph, code. The graph is a file for\n"
            "`ridge opt`.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .max_operands = 2};
    int own = 1;
    while (own < argc && strcmp(argv[own], "--")) own++;
    int status = args_parse(&a, own, argv);
    if (status >= 0) return status;
    if (s.emit && strcmp(s.emit, "graph") && strcmp(s.emit, "source") && strcmp(s.emit, "asm"))
        return fprintf(stderr, "ridge kernels: --emit expects graph, source or asm, found '%s'\n", s.emit),
               EXIT_USAGE;
    if ((status = args_range(&a, "rows", rows, 1, INT64_MAX)) >= 0) return status;
    bool program = own < argc, recorded;
    if (program && (own + 1 == argc || a.n > 1))
        return fprintf(stderr,
                       "ridge kernels: expected [NAME] -- PROGRAM ARGS; see `ridge kernels --help`\n"),
               EXIT_USAGE;
    s.rows = (uint32_t)RG_MIN(rows, 1000000);
    take_operands(&s, &a, program);
    if (s.emit && !s.name) return fprintf(stderr, "ridge kernels: --emit expects a NAME\n"), EXIT_USAGE;
    if (!program) return a.n < 2 && !os_exists(s.path) ? no_profile(&s) : show(&s);
    status = cli_record("kernels", s.path, argv + own + 1, &recorded);
    if (!recorded) return status > 0 ? status : EXIT_FAILED;
    int shown = show(&s);
    return status ? status : shown;
}
