/* cmd_diagnose.c: ridge diagnose FILE [--json] [--html OUT]: where a trace's time went and what to do.
 *
 * Exit codes: 0 a diagnosis was printed; 1 the file could not be read (the reason is on stderr);
 * 2 wrong usage. Tests: tests/cli/diagnose.sh */
#include "cli.h"
#include "report/report.h"

struct output {
    struct diag *d;
    const char *path, *device, *html;
    bool json;
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

int cmd_diagnose(int argc, char **argv) {
    struct output o = {0};
    const struct arg_spec spec[] = {
        {"json", ARG_FLAG, &o.json, NULL,
         "the diagnosis as one JSON object on stdout (schema: docs/diagnose.md)"},
        {"html", ARG_TEXT, &o.html, "OUT.html", "also write a page with timeline, roofline and tables"},
        {"device", ARG_TEXT, &o.device, "NAME",
         "the GPU, for a file that does not name it (H200, A100, MI300X ...)"},
    };
    struct args a = {.command = "diagnose",
                     .operands = "FILE",
                     .about = "Says where the time of a trace went and what to do. FILE is a PyTorch trace "
                              "(.pt.trace.json, .gz), a JAX trace\n"
                              "(.trace.json.gz, .xplane.pb), a PyTorch memory snapshot (.pickle), or a Ridge "
                              "profile; told by its content.",
                     .spec = spec,
                     .nspec = RG_COUNT(spec),
                     .min_operands = 1,
                     .max_operands = 1};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    o.path = a.operand[0];
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
