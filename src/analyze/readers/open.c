/* open.c: which kind of file is this, by its content, never by its name.
 *
 * Reads are guarded here only: whatever a reader throws ends here with the input closed.
 * Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

struct open_job {
    struct trace *t;
    const char *path;
    const void *mem;
    size_t n;
    struct input in;
};

static bool all_zero(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i]) return false;
    return true;
}

static void foreign(struct trace *t, const uint8_t *p, size_t n) {
    char shown[64] = "";
    for (size_t i = 0; i < RG_MIN(n, (size_t)16); i++) snprintf(shown + i * 2, 4, "%02x", p[i]);
    const char *guess = "";
    if (n >= 4 && !memcmp(p, "PK\3\4", 4))
        guess = " It is a zip archive: unpack it first.";
    else if (n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4))
        guess = " It is zstd: unpack it first.";
    else if (n >= 5 && !memcmp(p, "<html", 5))
        guess = " It is a web page.";
    else if (all_zero(p, n))
        guess = " It holds only zeros: a sparse or never written file.";
    err_throw(t->err, RG_EPARSE,
              "not a trace that ridge reads: it begins with %s.%s\nExpected a PyTorch trace "
              "(.pt.trace.json[.gz]), a JAX trace (.trace.json.gz, .xplane.pb), a PyTorch memory "
              "snapshot (.pickle), an export of Nsight Systems (.sqlite), the CSV of Nsight Compute, the "
              "JSON of rocprofv3, a Perfetto trace (.pftrace) or a Ridge profile",
              shown, guess);
}

static void read_any(void *arg) {
    struct open_job *job = arg;
    struct trace *t = job->t;
    struct input *in = &job->in;
    input_open(in, t, job->path, job->mem, job->n);
    if (!in->len)
        err_throw(t->err, RG_EPARSE,
                  in->gz ? "the compressed file holds nothing: it was cut short" : "the file is empty");
    const uint8_t *p = in->buf;
    size_t at = 0;
    if (in->len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) input_more(in, 3), p = in->buf; /* a BOM */
    while (at < in->len && p[at] <= ' ' && p[at] && p[at] != '\n') at++;
    while (at < in->len && (p[at] == ' ' || p[at] == '\n' || p[at] == '\r' || p[at] == '\t')) at++;
    if (is_sqlite(p, in->len))
        read_nsys(t, in->gz ? NULL : job->path);
    else if (is_ridge(p, in->len))
        read_ridge(t, in);
    else if (is_ncu(p, in->len))
        read_ncu(t, in);
    else if (is_memory_timeline(p + at, in->len - at))
        read_memory_timeline(t, in);
    else if (is_rocprof(p, in->len))
        read_rocprof(t, in);
    else if (at < in->len && (p[at] == '{' || p[at] == '['))
        read_json(t, in);
    else if (in->len >= 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5)
        read_pickle(t, in);
    else if (is_xplane(p, in->len))
        read_xplane(t, in);
    else if (is_perfetto(p, in->len))
        read_perfetto(t, in);
    else if (is_pprof(p, in->len))
        read_pprof(t, in);
    else
        foreign(t, p, in->len);
}

static int read_job(struct open_job *job, struct err *e, uint32_t limit) {
    trace_init(job->t, e);
    if (limit) job->t->max_events = limit;
    int rc = err_guard(e, read_any, job);
    input_close(&job->in);
    if (rc) trace_free(job->t);
    return rc;
}

int trace_read(struct trace *t, struct err *e, const char *path) {
    struct open_job job = {.t = t, .path = path, .in = {.fd = -1}};
    int rc = read_job(&job, e, 0);
    if (!rc) trace_recorded_here(t, path);
    return rc;
}

int trace_read_mem(struct trace *t, struct err *e, const void *data, size_t n, uint32_t limit) {
    struct open_job job = {.t = t, .mem = n ? data : "", .n = n, .in = {.fd = -1}};
    return read_job(&job, e, limit);
}
