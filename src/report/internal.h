/* internal.h: what the screens of src/report share. */
#ifndef RIDGE_REPORT_INTERNAL_H
#define RIDGE_REPORT_INTERNAL_H

#include "report/report.h"

#define COLS 100             /* of a screen */
#define REPORT_KERNELS 1000u /* rows of the table of kernels in JSON and on the page */

/* screen.c: a line cut to the width of the screen; text over several lines with a hanging indent, at most `most`. */
void report_line(struct str *, const char *fmt, ...) RG_FMT(2, 3);
void report_wrapped(struct str *, const char *head, const char *text, int indent, int most);
void report_evidence(struct str *, const struct cause *, bool first);
/* Tenths of a percent whose total is 1000. */
void report_shares(const int64_t *v, int n, int64_t whole, int *out);
/* A long name loses its middle. */
void report_cut_middle(const char *s, char *out, size_t cap);

/* sink.c: a file behind a buffer of fixed size; all of these throw. */
struct sink {
    struct err *err;
    struct arena arena; /* as long as the export */
    struct os_out file;
    char *p;
    size_t n;
    uint64_t bytes;            /* in the file */
    struct trace_string *json; /* by trace_str: escaped; p NULL: not yet */
    /* by trace_str of a kernel's args: what kineto.c says of it; p NULL: not yet */
    struct trace_string *tail;
    uint8_t *overlap; /* by event of an asynchronous lane: the extra row of its stream, see kineto.c */
};
#define SINK_BYTES (1u << 20)
void sink_put_slow(struct sink *, const void *p, size_t n);
void sink_flush(struct sink *);
static inline void sink_put(struct sink *k, const void *p, size_t n) {
    if (__builtin_expect(n > SINK_BYTES - k->n, 0)) {
        sink_put_slow(k, p, n);
        return;
    }
    memcpy(k->p + k->n, p, n);
    k->n += n;
}
static inline void sink_text(struct sink *k, const char *s) { sink_put(k, s, strlen(s)); }
void sink_number(struct sink *, int64_t);
void sink_micros(struct sink *, int64_t ns);                        /* "12.345" */
void sink_json(struct sink *, const struct trace *, uint32_t text); /* a trace_str, in quotes */

/* kineto.c, perfetto.c, plain.c */
void kineto_write(struct sink *, const struct diag *);
void perfetto_write(struct sink *, const struct diag *);
void folded_write(struct sink *, const struct diag *);
void csv_write(struct sink *, const struct diag *);

/* source.c: files of the user with what their lines cost, as JSON; [] where nothing is known. */
void source_list(struct str *, const struct diag *, const char *profile, struct arena *);

/* heap.c: device memory on the screen; as a profile of pprof. */
void heap_lines(struct str *, const struct diag *);
void heap_write(struct sink *, const struct diag *);

/* ridge_screen.c */
void report_ridge(struct str *, const struct diag *, const char *path);
const char *ridge_budget_text(int budget);

#endif
