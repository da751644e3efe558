/* cmd_diff.c: ridge diff A B: why the second recording took longer or shorter than the first.
 *
 * Exit status: 0 shown; 1 a file cannot be read, or with --fail-above the second is slower by more than that; 2 wrong usage.
 * Tests: tests/cli/diff.sh */
#include "cli.h"
#include "report/report.h"

#include <stdlib.h>

struct job {
    const char *path[2];
    struct trace t[2];
    struct diag d[2];
    struct diff f;
    struct arena arena;
    struct diff_how how;
    uint32_t rows;
    bool json;
    const char *html; /* NULL: no page */
};

static int open_side(struct job *j, struct err *e, int i) {
    int bad = trace_read(&j->t[i], e, j->path[i]);
    if (!bad && (bad = diagnose(&j->d[i], &j->t[i], e))) trace_free(&j->t[i]);
    if (!bad && (!j->d[i].wall_ns || j->t[i].format == TRACE_SNAPSHOT)) {
        diag_free(&j->d[i]);
        trace_free(&j->t[i]);
        bad = err_set(e, RG_EINVAL, "it has no timeline to compare");
    }
    if (bad) err_prefix(e, "%s: ", j->path[i]);
    return bad;
}

static void close_side(struct job *j, int i) {
    diag_free(&j->d[i]);
    trace_free(&j->t[i]);
}

static void print(void *arg) {
    struct job *j = arg;
    struct str s;
    str_init(&s, &j->arena);
    diag_diff(&j->arena, &j->d[0], &j->d[1], &j->how, &j->f);
    if (j->json)
        report_diff_json(&s, &j->f, j->path);
    else
        report_diff(&s, &j->f, j->path, j->rows);
    fwrite(s.p, 1, s.n, stdout);
    if (!j->html) return;
    str_init(&s, &j->arena);
    struct str steps;
    str_init(&steps, &j->arena);
    kernel_steps(&steps, &j->d[1]);
    report_html_more(&s, &j->d[1], j->path[1], &(struct page_more){&j->f, j->path, steps.p});
    struct err e = {0};
    if (os_write_file(&e, j->html, s.p, s.n, 0644)) err_throw(j->arena.err, e.code, "%s", e.msg);
    if (!j->json) printf("PAGE   %s (%.1f MB)\n", j->html, (double)s.n / 1e6);
}

/* "5", "5%", "2.5%"; -1: none of these. */
static double parse_percent(const char *s) {
    char *end;
    double x = strtod(s, &end);
    if (*end == '%') end++;
    return end == s || *end || !(x >= 0) ? -1 : x;
}

static int run(struct job *j, const char *limit, double above) {
    struct err e = {0};
    if (open_side(j, &e, 0)) return cli_error("diff", &e);
    if (open_side(j, &e, 1)) return close_side(j, 0), cli_error("diff", &e);
    arena_init(&j->arena, &e);
    int status = err_guard(&e, print, j) ? cli_error("diff", &e) : EXIT_OK;
    double change = j->f.wall[0] ? 100.0 * (double)j->f.delta / (double)j->f.wall[0] : 0;
    if (!status && limit && change > above) {
        fprintf(stderr, "ridge diff: %s is slower by %.1f%%, more than %.4g%%\n", j->path[1], change, above);
        status = EXIT_FAILED;
    }
    arena_free(&j->arena);
    close_side(j, 0);
    close_side(j, 1);
    return status;
}

int cmd_diff(int argc, char **argv) {
    static struct job j;
    const char *by = "kernel", *limit = NULL;
    int64_t rows = 12, skip = 0;
    const struct arg_spec spec[] = {
        {"by", ARG_TEXT, &by, "WHAT", "compare kernels by kernel, op, line or module (kernel)"},
        {"rows", ARG_NUMBER, &rows, "N", "at most N of them (12)"},
        {"skip", ARG_NUMBER, &skip, "N",
         "Ridge profiles: compare the steps only, without the first N: no planning, compiling, loading"},
        {"fail-above", ARG_TEXT, &limit, "PERCENT",
         "exit status 1 if B is slower than A by more, for CI: 5%"},
        {"html", ARG_TEXT, &j.html, "OUT.html", "also write the page of B, with a view of both side by side"},
        {"json", ARG_FLAG, &j.json, NULL, "one JSON object (schema: docs/profiling.md)"},
    };
    struct args a = {
        .command = "diff",
        .operands = "A B",
        .about =
            "Explains the change in wall time from recording A to recording B: by cause and by kernel\n"
            "(new, gone, slower, called more often), for each step where both have steps. Every part is\n"
            "exact: they sum to the change. Both may be Ridge profiles, or traces that `ridge diagnose`\n"
            "reads.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .min_operands = 2,
        .max_operands = 2};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    for (j.how.by = 0; j.how.by < GROUPS && strcmp(by, group_text(j.how.by));) j.how.by++;
    if (j.how.by == GROUPS)
        return fprintf(stderr,
                       "ridge diff: --by expects kernel, op, line, module, shape or class, found '%s'\n", by),
               EXIT_USAGE;
    double above = limit ? parse_percent(limit) : 0;
    if (above < 0)
        return fprintf(stderr, "ridge diff: --fail-above expects a percentage, as in 5%%, found '%s'\n",
                       limit),
               EXIT_USAGE;
    if ((status = args_range(&a, "rows", rows, 1, INT64_MAX)) >= 0) return status;
    if ((status = args_range(&a, "skip", skip, 0, 1000000)) >= 0) return status;
    j.how.skip = (uint32_t)skip;
    j.rows = (uint32_t)RG_MIN(rows, 1000000);
    j.path[0] = a.operand[0], j.path[1] = a.operand[1];
    return run(&j, limit, above);
}
