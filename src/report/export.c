/* export.c: a Ridge profile for other tools: one writer per format, through a sink.
 *
 * If the file cannot be written, the file that was there before stays.
 * Tests: tests/unit/export.c; speed and memory: bench/export.c */
#include "report/internal.h"

struct export_job {
    const struct diag *d;
    int format;
    struct sink k;
};

static void write_all(void *arg) {
    static void (*const write[EXPORTS])(struct sink *,
                                        const struct diag *) = {[EXPORT_TRACE] = kineto_write,
                                                                [EXPORT_PERFETTO] = perfetto_write,
                                                                [EXPORT_FOLDED] = folded_write,
                                                                [EXPORT_CSV] = csv_write,
                                                                [EXPORT_HEAP] = heap_write};
    struct export_job *j = arg;
    j->k.p = arena_raw(&j->k.arena, SINK_BYTES);
    write[j->format](&j->k, j->d);
    sink_flush(&j->k);
}

int report_export(struct err *e, const struct diag *d, int format, const char *path, uint64_t *bytes) {
    struct export_job j = {.d = d, .format = format, .k = {.err = e}};
    if (d->t->format != TRACE_RIDGE) return err_set(e, RG_EINVAL, "only Ridge profiles are exported");
    arena_init(&j.k.arena, e);
    os_out_begin(e, &j.k.file, path, 0644);
    err_guard(e, write_all, &j);
    int bad = os_out_end(e, &j.k.file);
    arena_free(&j.k.arena);
    if (bytes) *bytes = j.k.bytes;
    return bad;
}
