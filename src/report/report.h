/* report.h: prints a diagnosis for people and for programs; the only header of src/report.
 * Tests: tests/unit/report.c */
#ifndef RIDGE_REPORT_H
#define RIDGE_REPORT_H

#include "analyze/analyze.h"

/* One screen: at most 40 lines of 100 columns. `path` is shown as given. */
void report_text(struct str *, const struct diag *, const char *path);
/* A key of the budget in the words of that program. */
const char *report_budget_text(const struct diag *, int key);
/* The schema of docs/diagnose.md; one object, keys in fixed order. */
void report_json(struct str *, const struct diag *, const char *path);
/* ranks.c: a set of ranks, on one screen and as JSON. */
void report_ranks(struct str *, const struct rank_set *);
void report_ranks_json(struct str *, const struct rank_set *);
/* One self-contained page. */
void report_html(struct str *, struct diag *, const char *path);
/* What a page may hold besides. */
struct page_more {
    const struct diff *diff; /* a view that compares it with another recording; NULL: none */
    const char *const *paths;
    const char *steps; /* JSON: {kernel's key: [[pass, IR after it], ..]}; NULL: none */
};
void report_html_more(struct str *, struct diag *, const char *path, const struct page_more *);
/* What a Ridge program cost by enum group_by, in the order of enum group_sort, at most `rows` of them and their sum. */
void report_table(struct str *, struct diag *, int by, int sort, uint32_t rows);
/* The same of the profile at `path`, cut to `room`, which has a zero at its end; *n: its length. What was picked is checked. */
struct report_pick {
    int by, sort, rows; /* rows: 0 for all */
};
int report_profile_table(struct err *, const char *path, const struct report_pick *, char *out, size_t room,
                         size_t *n);
/* Its device memory at the peak by kind (GROUPS) or by op, line, module or shape; what is alive at the end, what grows. */
void report_memory(struct str *, struct diag *, int by, uint32_t rows);
/* export.c: a Ridge profile for other tools, streamed to `path`; bytes may be NULL. 0, or an error. */
enum report_format {
    EXPORT_TRACE, /* JSON of Chrome and Kineto: chrome://tracing, Perfetto, HolisticTraceAnalysis, TensorBoard */
    EXPORT_PERFETTO, /* Perfetto's protobuf */
    EXPORT_FOLDED,   /* stacks "module;line;function;kernel ns", for flame graphs */
    EXPORT_CSV,      /* a row for each event */
    EXPORT_HEAP,     /* device memory at the peak for pprof: profile.proto, gzip */
    EXPORTS
};
int report_export(struct err *, const struct diag *, int format, const char *path, uint64_t *bytes);
/* The kernels of a Ridge program: a list; all of them as JSON, with graph and source; one of them in words. */
void report_kernels(struct str *, struct diag *, uint32_t rows);
/* Graph and source of the first `whole`. */
void report_kernels_json(struct str *, struct diag *, uint32_t whole);
void report_kernel(struct str *, const struct diag *, const struct kernel_sum *);
/* Two recordings: one screen with at most `rows` kernels; all of it as JSON. */
void report_diff(struct str *, const struct diff *, const char *const path[2], uint32_t rows);
void report_diff_json(struct str *, const struct diff *, const char *const path[2]);
/* A kernel's name made readable: no return type, template arguments or namespaces, at most n bytes. */
void report_short_name(const char *name, char *out, size_t n);
/* A source line as "file:line in function", whichever profiler wrote it; an operator as it is. */
void report_source_line(const char *where, char *out, size_t n);
/* The kernels of a Ridge program against each unit of the machine: how busy it is with them, what limits them and why. */
void report_roof(struct str *, const struct diag *, uint32_t rows);
void report_json_string(struct str *, const char *s);

#endif
