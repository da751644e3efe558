/* html.c: the page: the report, tables and every event in one file that opens from disk.
 *
 * Events are grouped into rows (a lane at one nesting depth), inside which they are disjoint and sorted, so
 * that the page finds what is visible by bisection and draws a million of them smoothly. They travel as
 * base64 of four arrays: start (float64), length (float32), name (uint32), 1 + row of the kernel table (uint32, 0 none). Past PAGE_EVENTS the shortest are
 * left out, and the page says so. Page: page.html, page.css, page.js. Tests: tests/unit/report.c,
 * tests/cli/page.sh (in a browser, where there is one). */
#include "report/internal.h"

#include <stdlib.h>

#define PAGE_EVENTS 2000000u
#define MAX_DEPTH 64
#define PAGE_KERNELS 300 /* with graph and source */

extern const char page_html[], page_css[], page_js[];

struct html_row {
    uint32_t lane, depth, n, at;
};
struct page {
    struct diag *d;
    struct trace *t;
    struct arena arena;
    uint32_t *keep, keep_n; /* events, by row and then time */
    VEC(struct html_row) rows;
    VEC(uint32_t) names; /* page's number -> trace_str */
    uint32_t *name_of;   /* trace_str -> page's number + 1 */
    int64_t shortest;
};

/* ---- rows --------------------------------------------------------------------------------------------- */

static int64_t length_of(const struct trace_event *e) { return e->kind == TK_MEM ? 0 : e->dur; }

static int int64_order(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* The length below which events are left out so that at most PAGE_EVENTS remain. */
static void choose_shortest(struct page *p) {
    if (p->t->n <= PAGE_EVENTS) return;
    uint32_t n = RG_MIN(p->t->n, 200000u), step = p->t->n / n;
    int64_t *s = arena_raw(&p->arena, n * sizeof *s);
    for (uint32_t i = 0; i < n; i++) s[i] = length_of(&p->t->ev[(size_t)i * step]);
    qsort(s, n, sizeof *s, int64_order);
    p->shortest = s[(uint64_t)n * (p->t->n - PAGE_EVENTS) / p->t->n] + 1;
}

/* Depth by nesting: each event goes to the first row that is free at its start. */
static void lane_rows(struct page *p, uint32_t lane, uint8_t *depth) {
    struct trace *t = p->t;
    const struct trace_lane *l = &t->lanes.p[lane];
    int64_t end[MAX_DEPTH];
    uint32_t count[MAX_DEPTH] = {0}, used = 0;
    for (int k = 0; k < MAX_DEPTH; k++) end[k] = INT64_MIN;
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t x = t->order[l->first + i], k = 0;
        const struct trace_event *e = &t->ev[x];
        depth[x] = UINT8_MAX;
        if (e->kind == TK_MEM || length_of(e) < p->shortest) continue;
        while (k < MAX_DEPTH - 1 && end[k] > e->t0) k++;
        depth[x] = (uint8_t)k;
        end[k] = RG_MAX(end[k], trace_end(e));
        used = RG_MAX(used, k + 1);
        count[k]++;
    }
    for (uint32_t k = 0; k < used; k++) {
        vec_push(&p->arena, &p->rows, ((struct html_row){lane, k, 0, p->keep_n}));
        struct html_row *r = &p->rows.p[p->rows.n - 1];
        for (uint32_t i = 0; i < l->n && r->n < count[k]; i++) {
            uint32_t x = t->order[l->first + i];
            if (depth[x] == k) p->keep[p->keep_n++] = x, r->n++;
        }
    }
}

static void make_rows(struct page *p) {
    struct trace *t = p->t;
    uint8_t *depth = arena_raw(&p->arena, t->n + 1);
    p->keep = arena_raw(&p->arena, ((size_t)t->n + 1) * sizeof *p->keep);
    for (int kind = LANE_DEVICE; kind >= LANE_HOST; kind--) /* devices first */
        for (uint32_t i = 0; i < t->lanes.n; i++)
            if (t->lanes.p[i].kind == kind && t->lanes.p[i].n) lane_rows(p, i, depth);
    p->name_of = arena_array(&p->arena, uint32_t, t->strs.n + 1);
    for (uint32_t i = 0; i < p->keep_n; i++) {
        uint32_t s = t->ev[p->keep[i]].name;
        if (p->name_of[s]) continue;
        vec_push(&p->arena, &p->names, s);
        p->name_of[s] = p->names.n;
    }
}

/* ---- base64 of the arrays ------------------------------------------------------------------------------- */

struct encoder {
    struct str *o;
    uint32_t hold;
    int n;
};
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static void encode(struct encoder *e, const void *bytes, size_t n) {
    const uint8_t *b = bytes;
    for (size_t i = 0; i < n; i++) {
        e->hold = e->hold << 8 | b[i];
        if (++e->n < 3) continue;
        char c[4] = {alphabet[e->hold >> 18 & 63], alphabet[e->hold >> 12 & 63], alphabet[e->hold >> 6 & 63],
                     alphabet[e->hold & 63]};
        str_addn(e->o, c, 4);
        e->hold = 0;
        e->n = 0;
    }
}
static void encode_end(struct encoder *e) {
    if (!e->n) return;
    int n = e->n;
    uint8_t zero[2] = {0};
    encode(e, zero, (size_t)(3 - n));
    for (int i = 0; i < 3 - n; i++) e->o->p[e->o->n - 1 - (size_t)i] = '=';
}

static void events(struct str *o, struct page *p) {
    struct encoder e = {.o = o};
    for (uint32_t i = 0; i < p->keep_n; i++) {
        double t0 = (double)p->t->ev[p->keep[i]].t0;
        encode(&e, &t0, sizeof t0);
    }
    for (uint32_t i = 0; i < p->keep_n; i++) {
        float dur = (float)p->t->ev[p->keep[i]].dur;
        encode(&e, &dur, sizeof dur);
    }
    for (uint32_t i = 0; i < p->keep_n; i++) {
        uint32_t name = p->name_of[p->t->ev[p->keep[i]].name] - 1;
        encode(&e, &name, sizeof name);
    }
    uint32_t *row = arena_array(&p->arena, uint32_t, p->t->n + 1);
    for (uint32_t i = 0; i < p->d->dev_n; i++)
        if (p->d->dev_row[i] < REPORT_KERNELS) row[p->d->dev[i]] = p->d->dev_row[i] + 1;
    for (uint32_t i = 0; i < p->keep_n; i++) encode(&e, &row[p->keep[i]], sizeof *row);
    encode_end(&e);
}

/* ---- tables ---------------------------------------------------------------------------------------------- */

static void lane_label(const struct trace *t, const struct trace_lane *l, char *out, size_t n) {
    if (l->kind == LANE_DEVICE && t->format == TRACE_RIDGE && !l->async)
        snprintf(out, n, "kernels of thread %s", trace_str(t, l->tid));
    else if (l->kind == LANE_DEVICE)
        snprintf(out, n, "GPU %d stream %d", l->device, l->stream);
    else if (l->name)
        snprintf(out, n, "%s", trace_str(t, l->name));
    else
        snprintf(out, n, "thread %s", trace_str(t, l->tid));
}

static void row_list(struct str *o, const struct page *p) {
    str_add(o, ",\"rows\":[");
    for (uint32_t i = 0; i < p->rows.n; i++) {
        const struct html_row *r = &p->rows.p[i];
        const struct trace_lane *l = &p->t->lanes.p[r->lane];
        char label[120];
        lane_label(p->t, l, label, sizeof label);
        str_printf(o, "%s{\"depth\":%u,\"at\":%u,\"n\":%u,\"kind\":\"%s\",\"lane\":", i ? "," : "", r->depth,
                   r->at, r->n, l->kind == LANE_DEVICE ? "device" : "host");
        report_json_string(o, label);
        str_add(o, ",\"name\":");
        report_json_string(o, r->depth ? "" : label);
        str_addc(o, '}');
    }
    str_addc(o, ']');
}

static void op_row(struct str *o, const struct diag *d, bool first, const struct op_row *r) {
    str_add(o, first ? "[" : ",[");
    report_json_string(o, trace_str(d->t, r->name));
    str_printf(o, ",%u,%lld,%lld,%lld,%lld]", r->count, (long long)r->host_ns, (long long)r->self_ns,
               (long long)r->device_ns, (long long)r->idle_ns);
}

static void line_row(struct str *o, const struct diag *d, bool first, const struct line_row *r) {
    str_add(o, first ? "[" : ",[");
    report_json_string(o, r->where ? trace_str(d->t, r->where) : "(no line)");
    str_printf(o, ",%u,%lld,%lld]", r->count, (long long)r->device_ns, (long long)r->idle_ns);
}

/* The rows of `ridge report --by op` and `--by line`: one table, whoever shows it. */
static void ridge_ops(struct str *o, struct diag *d) {
    struct group_row *g;
    uint32_t n = diag_group(d, GROUP_OP, SORT_DEVICE, &g);
    for (uint32_t i = 0; i < n && i < 5000; i++)
        op_row(o, d, !i,
               &(struct op_row){.name = g[i].name,
                                .count = (uint32_t)g[i].calls,
                                .host_ns = g[i].host_total,
                                .self_ns = g[i].host_ns,
                                .device_ns = g[i].ns});
    str_add(o, "],\"lines\":[");
    n = diag_group(d, GROUP_LINE, SORT_DEVICE, &g);
    for (uint32_t i = 0; i < n && i < 5000; i++)
        line_row(o, d, !i,
                 &(struct line_row){.where = g[i].name, .count = (uint32_t)g[i].count, .device_ns = g[i].ns});
}

static void op_list(struct str *o, struct diag *d) {
    str_add(o, ",\"ops\":[");
    if (d->t->format == TRACE_RIDGE) {
        ridge_ops(o, d);
    } else {
        for (uint32_t i = 0; i < d->ops.n && i < 5000; i++) op_row(o, d, !i, &d->ops.p[i]);
        str_add(o, "],\"lines\":[");
        for (uint32_t i = 0; i < d->lines.n && i < 5000; i++) line_row(o, d, !i, &d->lines.p[i]);
    }
    str_addc(o, ']');
}

static void recorded_list(struct str *o, const struct trace *t) {
    str_add(o, ",\"recorded\":[");
    for (uint32_t i = 0; i < t->recorded.n && i < 10000; i++)
        str_printf(o, "%s[%lld,%lld]", i ? "," : "", (long long)t->recorded.p[i].t0,
                   (long long)t->recorded.p[i].t1);
    str_addc(o, ']');
}

/* Idle pieces of one cause that touch are one; a page needs no more than fits on a screen many times over. */
static void idle_list(struct str *o, const struct diag *d) {
    int64_t least = d->idle_n > 100000 ? d->wall_ns / 100000 : 0, a = 0, b = 0;
    int cause = -1;
    bool first = true;
    str_add(o, ",\"idle\":[");
    for (uint32_t i = 0; i <= d->idle_n; i++) {
        const struct idle_piece *p = i < d->idle_n ? &d->idle[i] : NULL;
        if (p && p->cause == cause && p->t0 <= b + least) {
            b = p->t1;
            continue;
        }
        if (cause >= 0 && b - a >= least) {
            str_printf(o, "%s[%lld,%lld,%d]", first ? "" : ",", (long long)a, (long long)b, cause);
            first = false;
        }
        if (p) a = p->t0, b = p->t1, cause = p->cause;
    }
    str_add(o, "],\"causes\":[");
    for (int k = 0; k < BUDGET_KEYS; k++) str_printf(o, "%s\"%s\"", k ? "," : "", budget_key(k));
    str_add(o, "],\"budget_text\":{");
    for (int k = 0; k < BUDGET_KEYS; k++)
        str_printf(o, "%s\"%s\":\"%s\"", k ? "," : "", budget_key(k),
                   d->t->format == TRACE_RIDGE ? ridge_budget_text(k) : report_budget_text(d, k));
    str_addc(o, '}');
}

static void heap_rows_list(struct str *o, const struct diag *d, const char *key, const heap_rows *v) {
    str_printf(o, ",\"%s\":[", key);
    for (uint32_t i = 0; i < v->n && i < 1000; i++) {
        const struct heap_row *r = &v->p[i];
        const uint32_t text[] = {r->where, r->op, r->module, r->shape};
        str_printf(o, "%s[\"%s\",%lld,%u", i ? "," : "", heap_kind_text(r->kind), (long long)r->bytes,
                   r->count);
        for (size_t k = 0; k < RG_COUNT(text); k++) {
            str_addc(o, ',');
            report_json_string(o, trace_str(d->t, text[k]));
        }
        str_addc(o, ']');
    }
    str_addc(o, ']');
}

/* What each point of "memory" is made of: the kinds that occur, and their bytes. */
static void heap_over_time(struct str *o, const struct diag *d) {
    int kind[HEAP_KINDS], n = 0;
    for (int k = 0; k < HEAP_KINDS && d->mem_kind; k++)
        for (uint32_t i = 0; i < d->mem.n; i++)
            if (d->mem_kind[i][k]) {
                kind[n++] = k;
                break;
            }
    str_add(o, ",\"over\":{\"kinds\":[");
    for (int k = 0; k < n; k++) str_printf(o, "%s\"%s\"", k ? "," : "", heap_kind_text(kind[k]));
    str_add(o, "],\"bytes\":[");
    for (uint32_t i = 0; i < d->mem.n && n; i++) {
        str_add(o, i ? ",[" : "[");
        for (int k = 0; k < n; k++) str_printf(o, "%s%lld", k ? "," : "", (long long)d->mem_kind[i][kind[k]]);
        str_addc(o, ']');
    }
    str_add(o, "]}");
}

/* Device memory of a Ridge program at its peak, by what it is for and by who asked for it; what was left; what grows. */
static void heap_list(struct str *o, const struct diag *d) {
    bool first = true;
    str_printf(o, ",\"heap\":{\"t\":%lld,\"kinds\":{", (long long)d->heap.t);
    for (int k = 0; k < HEAP_KINDS; k++) {
        if (!d->heap.kind[k]) continue;
        str_printf(o, "%s\"%s\":%lld", first ? "" : ",", heap_kind_text(k), (long long)d->heap.kind[k]);
        first = false;
    }
    str_addc(o, '}');
    heap_over_time(o, d);
    heap_rows_list(o, d, "peak", &d->heap.peak);
    heap_rows_list(o, d, "left", &d->heap.left);
    heap_rows_list(o, d, "grows", &d->heap.grows);
    str_addc(o, '}');
}

static void tables(struct str *o, struct page *p, const char *path) {
    struct diag *d = p->d;
    const char *slash = strrchr(path, '/');
    str_add(o, "{\"file\":");
    report_json_string(o, slash ? slash + 1 : path);
    str_printf(o, ",\"events\":%u,\"left_out_ns\":%lld,\"w0\":%lld,\"w1\":%lld", p->keep_n,
               (long long)p->shortest, (long long)d->w0, (long long)d->w1);
    str_printf(o, ",\"gpu\":{\"bw\":%.6g,\"f32\":%.6g,\"tf32\":%.6g,\"f16\":%.6g}", d->gpu ? d->gpu->bw : 0,
               d->gpu ? d->gpu->peak[GPU_F32] : 0, d->gpu ? d->gpu->peak[GPU_TF32] : 0,
               d->gpu ? d->gpu->peak[GPU_F16] : 0);
    str_printf(o, ",\"machine\":{\"flops\":%.6g,\"bytes\":%.6g,\"half\":%.6g}", d->t->machine_flops,
               d->t->machine_bytes, d->t->machine_half);
    recorded_list(o, d->t);
    row_list(o, p);
    op_list(o, d);
    idle_list(o, d);
    heap_list(o, d);
    str_add(o, ",\"sources\":");
    source_list(o, d, path, &p->arena);
    str_add(o, ",\"memory\":[");
    for (uint32_t i = 0; i < d->mem.n; i++)
        str_printf(o, "%s[%lld,%lld]", i ? "," : "", (long long)d->mem.p[i].t, (long long)d->mem.p[i].bytes);
    str_add(o, "],\"names\":[");
    for (uint32_t i = 0; i < p->names.n; i++) {
        char cut[400];
        snprintf(cut, sizeof cut, "%s", trace_str(p->t, p->names.p[i]));
        if (i) str_addc(o, ',');
        report_json_string(o, cut);
    }
    str_add(o, "]}");
}

/* A name may hold "</script>": as in all of the page, `<` is written as an escape. */
static void compare_json(struct str *o, struct page *p, const struct diff *f, const char *const *paths) {
    if (!f) {
        str_add(o, "null");
        return;
    }
    struct str s;
    str_init(&s, &p->arena);
    report_diff_json(&s, f, paths);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '<')
            str_add(o, "\\u003c");
        else
            str_addc(o, s.p[i]);
    }
}

/* ---- the file --------------------------------------------------------------------------------------------- */

void report_html(struct str *o, struct diag *d, const char *path) {
    report_html_more(o, d, path, &(struct page_more){0});
}

void report_html_more(struct str *o, struct diag *d, const char *path, const struct page_more *more) {
    struct page p = {.d = d, .t = d->t};
    arena_init(&p.arena, d->arena.err);
    choose_shortest(&p);
    make_rows(&p);
    const char *s = page_html;
    for (const char *mark; (mark = strstr(s, "/*"));) {
        const char *end = strstr(mark, "*/") + 2;
        size_t n = (size_t)(end - mark);
        str_addn(o, s, (size_t)(mark - s));
        if (!strncmp(mark, "/*CSS*/", n))
            str_add(o, page_css);
        else if (!strncmp(mark, "/*JS*/", n))
            str_add(o, page_js);
        else if (!strncmp(mark, "/*REPORT*/", n))
            report_json(o, d, path);
        else if (!strncmp(mark, "/*TABLES*/", n))
            tables(o, &p, path);
        else if (!strncmp(mark, "/*KERNELS*/", n))
            report_kernels_json(o, p.d, d->t->format == TRACE_RIDGE ? PAGE_KERNELS : 0);
        else if (!strncmp(mark, "/*COMPARE*/", n))
            compare_json(o, &p, more->diff, more->paths);
        else if (!strncmp(mark, "/*STEPS*/", n))
            str_add(o, more->steps ? more->steps : "{}");
        else if (!strncmp(mark, "/*EVENTS*/", n))
            events(o, &p);
        s = end;
    }
    str_add(o, s);
    arena_free(&p.arena);
}
