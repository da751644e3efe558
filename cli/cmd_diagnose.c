/* cmd_diagnose.c: ridge diagnose FILE.. [--json] [--html OUT]: where a trace's time went and what to do.
 *
 * Several files, or a folder with several traces, are the ranks of one job and are judged together.
 * Exit codes: 0 a diagnosis was printed; 1 the file could not be read (the reason is on stderr);
 * 2 wrong usage. Tests: tests/cli/diagnose.sh */
#include "cli.h"
#include "report/report.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

struct output {
    struct diag *d;
    const char *path, *device, *html;
    bool json;
    struct rank_set *set;
};

static void print(void *p) {
    struct output *o = p;
    struct str s;
    str_init(&s, &o->d->arena);
    if (o->json)
        report_json(&s, o->d, o->path);
    else
        report_text(&s, o->d, o->path);
    fwrite(s.p, 1, s.n, stdout);
    if (!o->html) return;
    struct str h;
    str_init(&h, &o->d->arena);
    report_html(&h, o->d, o->path);
    if (os_write_file(o->d->arena.err, o->html, h.p, h.n, 0644)) return;
    if (!o->json) printf("PAGE   %s (%.1f MB)\n", o->html, (double)h.n / 1e6);
}

/* ---- sets of ranks ---------------------------------------------------------------------------------------- */

typedef VEC(const char *) path_list;

static bool names_a_trace(const char *s) {
    static const char *const ends[] = {".json", ".json.gz", ".pb", ".sqlite", ".pickle"};
    size_t n = strlen(s);
    for (size_t i = 0; i < RG_COUNT(ends); i++)
        if (n > strlen(ends[i]) && !strcmp(s + n - strlen(ends[i]), ends[i])) return true;
    return false;
}

static int by_name(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* The traces of a folder in order of their names; any other path as it is. */
static void add_path(struct arena *a, path_list *l, const char *path) {
    DIR *dir = opendir(path);
    if (!dir) {
        vec_push(a, l, path);
        return;
    }
    uint32_t first = l->n;
    for (struct dirent *e; (e = readdir(dir)) && l->n < RANKS_MOST;)
        if (names_a_trace(e->d_name)) vec_push(a, l, arena_printf(a, "%s/%s", path, e->d_name));
    closedir(dir);
    if (l->n > first) qsort(l->p + first, l->n - first, sizeof *l->p, by_name);
}

struct operands {
    const struct args *args;
    struct arena arena;
    path_list list;
};
static void add_paths(void *p) {
    struct operands *o = p;
    for (int i = 0; i < o->args->n; i++) add_path(&o->arena, &o->list, o->args->operand[i]);
}

static void print_set(void *p) {
    struct output *o = p;
    struct str s;
    str_init(&s, &o->set->arena);
    if (o->json)
        report_ranks_json(&s, o->set);
    else
        report_ranks(&s, o->set);
    fwrite(s.p, 1, s.n, stdout);
}

static int diagnose_set(struct output *o, const path_list *l) {
    struct rank_set set;
    struct err e = {0};
    int rc = rank_set_read(&set, &e, l->p, l->n);
    if (!rc) {
        o->set = &set;
        rc = err_guard(&e, print_set, o);
        rank_set_free(&set);
    }
    if (rc) fprintf(stderr, "ridge diagnose: %s\n", e.msg);
    return rc ? EXIT_FAILED : EXIT_OK;
}

static int diagnose_file(struct output *o);

int cmd_diagnose(int argc, char **argv) {
    struct output o = {0};
    const struct arg_spec spec[] = {
        {"json", ARG_FLAG, &o.json, NULL,
         "the diagnosis as one JSON object on stdout (schema: docs/diagnose.md)"},
        {"html", ARG_TEXT, &o.html, "OUT.html", "also write a page with timeline, roofline and tables"},
        {"device", ARG_TEXT, &o.device, "NAME",
         "the GPU, for a file that does not name it (H200, A100, MI300X ...)"},
    };
    struct args a = {
        .command = "diagnose",
        .operands = "FILE..",
        .about = "Says where the time of a trace went and what to do. FILE is a PyTorch trace "
                 "(.pt.trace.json, .gz), a JAX trace\n"
                 "(.trace.json.gz, .xplane.pb), a PyTorch memory snapshot (.pickle), or a Ridge "
                 "profile; told by its content. Several files, or a folder, are the ranks of one job: "
                 "who waits in\ncollectives, for whom, and why.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .min_operands = 1,
        .max_operands = RG_COUNT(((struct args *)0)->operand)};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    struct err e = {0};
    struct operands in = {.args = &a};
    arena_init(&in.arena, &e);
    if (err_guard(&e, add_paths, &in)) return cli_error("diagnose", &e);
    const path_list list = in.list;
    if (!list.n) {
        fprintf(stderr,
                "ridge diagnose: %s: it is a directory; expected a trace file in it (.json, .json.gz, .pb, "
                ".sqlite, .pickle)\n",
                a.operand[0]);
        status = EXIT_FAILED;
    } else if (list.n == 1) {
        o.path = list.p[0];
        status = diagnose_file(&o);
    } else if (o.html || o.device) {
        fprintf(stderr, "ridge diagnose: --%s is for one trace; %u were given\n", o.html ? "html" : "device",
                list.n);
        status = EXIT_USAGE;
    } else {
        status = diagnose_set(&o, &list);
    }
    arena_free(&in.arena);
    return status;
}

static int diagnose_file(struct output *of) {
    struct output o = *of;
    static struct trace t;
    static struct diag d;
    struct err e = {0};
    if (trace_read(&t, &e, o.path)) {
        fprintf(stderr, "ridge diagnose: %s: %s\n", o.path, e.msg);
        return EXIT_FAILED;
    }
    if (o.device && !gpu_spec_find(o.device)) {
        fprintf(stderr, "ridge diagnose: no GPU named \"%s\" in the table; known:", o.device);
        for (size_t i = 0; gpu_spec_at(i); i++) fprintf(stderr, "%s %s", i ? "," : "", gpu_spec_at(i)->name);
        fprintf(stderr, "\n");
        trace_free(&t);
        return EXIT_USAGE;
    }
    if (o.device) snprintf(t.device_hint, sizeof t.device_hint, "%s", o.device);
    int rc = diagnose(&d, &t, &e);
    if (!rc) {
        o.d = &d;
        rc = err_guard(&e, print, &o);
        diag_free(&d);
    }
    if (rc) fprintf(stderr, "ridge diagnose: %s: %s\n", o.path, e.msg);
    trace_free(&t);
    return rc ? EXIT_FAILED : EXIT_OK;
}
