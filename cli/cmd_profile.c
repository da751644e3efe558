/* cmd_profile.c: ridge profile -- PROGRAM ARGS: runs a Ridge program with recording on, then shows the profile;
 * ridge report FILE: shows one that was recorded before.
 *
 * The program runs as it would alone: its input, output and exit status are its own, and `ridge profile` ends with that
 * status, or with 128 + the signal that killed it. What was recorded until then is shown all the same.
 * Exit status of `ridge report`: 0 shown, 1 the file cannot be read, 2 wrong usage. Tests: tests/cli/profile.sh */
#include "cli.h"
#include "report/report.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct show {
    const char *path, *html, *file[EXPORTS]; /* NULL: not asked for */
    int by, sort;                            /* by GROUPS: the screen */
    uint32_t rows;
    bool json, roof, memory;
    int failed; /* exit status of a program that ended with an error of its own */
    struct trace t;
    struct diag d;
};

static void saved(const struct show *s, const char *what, const char *path, uint64_t bytes) {
    if (!s->json) printf("%-6s %s (%.1f MB)\n", what, path, (double)bytes / 1e6);
}

static void save_files(struct show *s, struct err *e) {
    static const char *const what[EXPORTS] = {"TRACE", "TRACE", "STACKS", "CSV", "HEAP"};
    uint64_t bytes;
    for (int i = 0; i < EXPORTS; i++) {
        if (!s->file[i]) continue;
        if (report_export(e, &s->d, i, s->file[i], &bytes)) return;
        saved(s, what[i], s->file[i], bytes);
    }
}

static void print(void *arg) {
    struct show *s = arg;
    struct str text, page;
    str_init(&text, &s->d.arena);
    str_init(&page, &s->d.arena);
    if (s->roof)
        report_roof(&text, &s->d, s->rows);
    else if (s->memory)
        report_memory(&text, &s->d, s->by, s->rows);
    else if (s->by < GROUPS)
        report_table(&text, &s->d, s->by, s->sort, s->rows);
    else if (s->json)
        report_json(&text, &s->d, s->path);
    else
        report_text(&text, &s->d, s->path);
    fwrite(text.p, 1, text.n, stdout);
    if (!s->html) return;
    struct str steps;
    str_init(&steps, &s->d.arena);
    kernel_steps(&steps, &s->d);
    report_html_more(&page, &s->d, s->path, &(struct page_more){.steps = steps.p});
    if (!os_write_file(s->d.arena.err, s->html, page.p, page.n, 0644)) saved(s, "PAGE", s->html, page.n);
}

static int show(const char *command, struct show *s) {
    struct err e = {0};
    int bad = trace_read(&s->t, &e, s->path);
    if (bad) {
        err_prefix(&e, "%s: ", s->path);
        return cli_error(command, &e);
    }
    bool only = s->roof || s->memory; /* what only a Ridge profile has */
    for (int i = 0; i < EXPORTS; i++) only |= s->file[i] != NULL;
    if (s->t.format != TRACE_RIDGE && only)
        bad = err_set(&e, RG_EINVAL,
                      "%s is no Ridge profile: of other traces there are tables (--by), --json and --html",
                      s->path);
    if (!bad && !(bad = diagnose(&s->d, &s->t, &e))) {
        s->d.failed = s->failed;
        if (s->failed) s->d.causes.n = 0; /* why it failed is no question of time */
        bad = err_guard(&e, print, s);
        if (!bad) save_files(s, &e);
        bad = e.code;
        diag_free(&s->d);
    }
    trace_free(&s->t);
    return bad ? cli_error(command, &e) : EXIT_OK;
}

static int find_group(const char *command, const char *name) {
    for (int i = 0; i < GROUPS; i++)
        if (!strcmp(name, group_text(i))) return i;
    fprintf(stderr, "ridge %s: --by expects kernel, op, line, module, shape or class, found '%s'\n", command,
            name);
    return -1;
}

static int find_sort(const char *command, const char *name) {
    for (int i = 0; i < SORTS; i++)
        if (!strcmp(name, sort_text(i))) return i;
    fprintf(stderr,
            "ridge %s: --sort expects device, total, host, calls, memory, flops or bytes, found '%s'\n",
            command, name);
    return -1;
}

int cmd_report(int argc, char **argv) {
    static struct show s = {.by = GROUPS};
    const char *by = NULL, *sort = "device";
    int64_t rows = 30;
    const struct arg_spec spec[] = {
        {"by", ARG_TEXT, &by, "WHAT",
         "a table by kernel, op, line, module, shape or class instead of the screen"},
        {"sort", ARG_TEXT, &sort, "KEY",
         "its order: device (default), total, host, calls, memory, flops or bytes"},
        {"memory", ARG_FLAG, &s.memory, NULL,
         "device memory at the peak by kind, or --by op, line, module or shape; what is left; what grows"},
        {"roof", ARG_FLAG, &s.roof, NULL,
         "the roofline as a table: each kernel against every unit and level of memory"},
        {"rows", ARG_NUMBER, &rows, "N", "at most N rows of a table (30)"},
        {"json", ARG_FLAG, &s.json, NULL, "the diagnosis as one JSON object (schema: docs/diagnose.md)"},
        {"html", ARG_TEXT, &s.html, "OUT", "also write a page with timeline and tables"},
        {"trace", ARG_TEXT, &s.file[EXPORT_TRACE], "OUT",
         "also write JSON for chrome://tracing, Perfetto, HolisticTraceAnalysis"},
        {"perfetto", ARG_TEXT, &s.file[EXPORT_PERFETTO], "OUT",
         "also write Perfetto's protobuf, a fourth of the size"},
        {"folded", ARG_TEXT, &s.file[EXPORT_FOLDED], "OUT",
         "also write stacks module;line;function;kernel for flame graphs"},
        {"csv", ARG_TEXT, &s.file[EXPORT_CSV], "OUT", "also write a row for each event"},
        {"pprof", ARG_TEXT, &s.file[EXPORT_HEAP], "OUT", "also write device memory at the peak for pprof"},
    };
    struct args a = {.command = "report",
                     .operands = "FILE",
                     .about = "Shows a profile that a Ridge program recorded (PROFILE=1, `ridge profile`, "
                              "rg_profile_start), or tables of a trace "
                              "that\n`ridge diagnose` reads: --by op --sort host is PyTorch's key_averages.",
                     .spec = spec,
                     .nspec = RG_COUNT(spec),
                     .min_operands = 1,
                     .max_operands = 1};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    if (by && (s.by = find_group("report", by)) < 0) return EXIT_USAGE;
    if ((s.sort = find_sort("report", sort)) < 0) return EXIT_USAGE;
    if (s.memory && (s.by == GROUP_KERNEL || s.by == GROUP_CLASS))
        return fprintf(
                   stderr,
                   "ridge report: memory has no %s: --by expects op, line, module or shape with --memory\n",
                   by),
               EXIT_USAGE;
    if ((status = args_range(&a, "rows", rows, 1, INT64_MAX)) >= 0) return status;
    s.rows = (uint32_t)RG_MIN(rows, 1000000);
    s.path = a.operand[0];
    return show("report", &s);
}

/* Could a new file stand there? Where none can be, the program need not run; nor where it could not be read back. */
static bool can_be_written(const char *command, const char *path) {
    struct err e = {0};
    struct os_out o = {.fd = -1};
    struct stat st;
    bool file = stat(path, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode); /* opening a pipe would wait */
    if (file) os_out_begin(&e, &o, path, 0644);
    if (!file || o.direct)
        err_set(&e, RG_EIO, "%s is a device or a pipe, from which it could not be read back: name a file",
                path);
    bool ok = !e.code;
    if (!ok) cli_error(command, &e);
    err_set(&e, RG_EIO, "not this time");
    os_out_end(&e, &o);
    return ok;
}

static void record_to(void *path) { setenv("RIDGE_PROFILE", path, 1); }

/* It may change its directory before it records. */
int cli_record(const char *command, const char *path, char **argv, bool *recorded) {
    char profile[8192] = "";
    bool ran;
    if (*path != '/' && getcwd(profile, sizeof profile / 2)) strcat(profile, "/");
    strncat(profile, path, sizeof profile - strlen(profile) - 1);
    struct stat before = {0}, after;
    *recorded = false;
    if (!can_be_written(command, path)) return EXIT_FAILED;
    bool old = !stat(path, &before);
    int status = cli_run(command, argv, record_to, profile, &ran);
    *recorded = ran && !stat(path, &after) && (!old || before.st_ino != after.st_ino); /* always a new file */
    if (ran && !*recorded)
        fprintf(stderr, "ridge %s: %s recorded nothing: is it a Ridge program?\n", command, argv[0]);
    return status;
}

int cmd_profile(int argc, char **argv) {
    static struct show s = {.by = GROUPS,
                            .path = "ridge.profile",
                            .html = "report.html",
                            .file = {[EXPORT_TRACE] = "trace.json"}};
    const struct arg_spec spec[] = {
        {"out", ARG_TEXT, &s.path, "FILE", "the profile (ridge.profile)"},
        {"html", ARG_TEXT, &s.html, "FILE", "the page (report.html)"},
        {"trace", ARG_TEXT, &s.file[EXPORT_TRACE], "FILE", "JSON for Perfetto and others (trace.json)"},
    };
    struct args a = {.command = "profile",
                     .operands = "-- PROGRAM ARGS",
                     .about = "Runs a Ridge program with recording on and shows where its time went.",
                     .spec = spec,
                     .nspec = RG_COUNT(spec),
                     .min_operands = 0,
                     .max_operands = 0};
    char **program;
    int status = args_program(&a, argc, argv, &program);
    if (status >= 0) return status;
    bool recorded;
    status = cli_record("profile", s.path, program, &recorded);
    if (!recorded) return status > 0 ? status : EXIT_FAILED;
    printf("\n");
    bool stopped = status == 128 + SIGINT || status == 128 + SIGTERM || status == 128 + SIGKILL;
    s.failed = stopped ? 0 : status;
    int shown = show("profile", &s);
    printf("FILE   %s: `ridge report %s --by line` shows more\n", s.path, s.path);
    return status ? status : shown;
}
