/* cpu_reductions.c: opts of reductions whose input is larger than the caches, by how it is read: rows as concurrent streams,
 * columns in blocks that are walked down row by row, short rows far apart several at a time.
 * Requires: an elementwise_plan with its vector axis. Gives: opts. Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/elementwise/elementwise.h"

/* DRAM is fastest with a few concurrent streams of some hundred contiguous kilobytes each: the hardware prefetcher follows
 * them. One stream is too few, and short ones end before full speed (sums of 4096 rows of 16 KB, two cores: a row at a time
 * 50 GB/s, 4 adjacent rows 53, 4 streams of 16 rows 77). */
enum { STREAMS = 4, RUN_LEAST = 128 << 10, RUN_MOST = 1 << 20, RUNS = 16 };

/* A pass along another axis, which would be without vectors in runs. */
static bool reduces_beside(const struct view *v, int axis) {
    for (int r = 0; r < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); r++) {
        bool binds = false;
        for (uint32_t k = 1; k < v->reduce[r]->nsrc; k++)
            binds |= view_axis_of(v, v->reduce[r]->src[k]) == axis;
        if (!binds) return true;
    }
    return false;
}

int run_axis(const struct view *v, const struct elementwise_plan *f, int64_t *run) {
    const struct axis_view *a = &v->axis[f->axis];
    double row = 0;
    int best = -1;
    if (!a->reduce || a->members > 1 || a->size < 16 * f->lanes || v->scans || v->stages) return -1;
    if (reduces_beside(v, f->axis)) return -1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (s->store || s->pred || s->times * s->bytes < BIG || access_stride(v, s, f->axis, f->lanes) != 1)
            continue;
        for (int k = 0; k < v->naxis; k++)
            if (v->axis[k].grid && !v->axis[k].reduce && !v->axis[k].fixed &&
                access_stride(v, s, k, 1) == a->size)
                best = k, row = (double)a->size * s->bytes;
    }
    if (best < 0 || v->axis[best].size % STREAMS) return -1;
    int64_t n = v->axis[best].size / STREAMS;
    for (*run = 1; *run <= n && (n % *run || (double)*run * row < RUN_LEAST); ++*run) {}
    bool runs = *run <= n && (double)*run * row <= RUN_MOST && n / *run >= RUNS;
    for (int64_t most = *run; v->finer && runs && most > 1 && (double)n / (double)*run < v->tasks;)
        if (n % --most == 0) *run = most; /* shorter streams, all threads */
    return runs ? best : -1;
}

void write_runs(struct view *v, struct elementwise_plan *f, struct str *out, int axis, int64_t run) {
    const char *g = v->axis[axis].name, *s = view_new_axis(v, g, "s");
    tile_vector(v, f, out, even_part(f->vectors, RG_MAX(4 / sums_along(v, f->axis), 1)));
    if (run > 1) str_printf(out, " TILE(%s,%lld,%s)", g, (long long)run, view_new_axis(v, g, "l"));
    str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", g, STREAMS, s, s);
}

int streams_of(const struct view *v, const struct elementwise_plan *f) {
    const struct axis_view *a = &v->axis[f->axis];
    if (!a->reduce || a->members > 1 || a->size < 1 << 14 || a->size % (4 * f->lanes * STREAMS) ||
        v->est.bytes < BIG)
        return 1;
    return v->scans || v->stages || v->reduces > 1 ? 1 : STREAMS;
}

enum {
    COLUMN_VECTORS = 4,  /* of a group of columns */
    COLUMN_ROWS = 8,     /* that are added to its sums at a time */
    COLUMN_TASKS = 4,    /* blocks per thread, for balance */
    NARROW_ROWS = 4,     /* likewise of rows in registers */
    PRODUCT_VECTORS = 2, /* COLUMN_VECTORS where each column has several sums .. */
    FEW_TERMS = 4,       /* of a column: as many streams */
    LEAST_STREAMED = 64, /* .. and the fewest rows that are worth it */
    PAGE = 4096
};

/* Can a block's rows be read as streams: whole rows, with all their sums in L1? */
static bool columns_in_runs(const struct view *v, const struct elementwise_plan *f, int inner, double bytes,
                            double rest) {
    const struct axis_view *a = &v->axis[f->axis], *k = &v->axis[inner];
    int reduced = 0;
    for (int i = 0; i < v->naxis; i++) reduced += v->axis[i].reduce;
    if (reduced != 1 || v->reduces != 1 || rest < RUNS / 2 || k->size % STREAMS || a->size * 4 > v->l1 / 2)
        return false;
    if (bytes < STREAMS * RUN_LEAST) return false;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (!s->store && s->times * s->bytes >= BIG && access_stride(v, s, inner, 1) == a->size) return true;
    }
    return false;
}

/* Column sums of a matrix in cache: as many columns as there are registers, all the way down. */
static bool write_near_columns(struct view *v, struct elementwise_plan *f, struct str *out, int inner) {
    const struct axis_view *a = &v->axis[f->axis], *k = &v->axis[inner];
    int64_t u = v->isa->regs / 2 / RG_MIN(sums_along(v, inner), 4);
    u = RG_MAX(fewer_vectors(v, u), 1);
    if (a->size % (f->lanes * u) || f->vectors < 2 * u || k->size % 2 || k->size < 4) return false;
    tile_vector(v, f, out, u);
    const char *two = view_new_axis(v, k->name, "u");
    str_printf(out, " TILE(%s,2,%s) UNROLL(%s)", k->name, two, two);
    shape_grid(v, out, f->in_grid, f->name);
    return true;
}

/* A block of columns that a grid iteration walks down row by row. */
struct column_block {
    int vectors;    /* of a group of columns */
    int64_t groups; /* of all columns .. */
    int64_t part;   /* .. and of a block */
    int64_t rows;   /* at a time, next to each other; 0: STREAMS streams of them */
};

static void write_column_block(struct view *v, const struct elementwise_plan *f, struct str *out, int inner,
                               const struct column_block *b) {
    const struct axis_view *a = &v->axis[f->axis];
    const char *lane = view_new_axis(v, a->name, "v"), *more = view_new_axis(v, a->name, "u"),
               *cols = view_new_axis(v, a->name, "l");
    const char *k = v->axis[inner].name, *ku = view_new_axis(v, k, "u"), *kl = view_new_axis(v, k, "l");
    str_printf(out, " TILE(%s,%d,%s) VEC(%s)", a->name, f->lanes, lane, lane);
    if (b->vectors > 1) str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", a->name, b->vectors, more, more);
    if (b->part < b->groups)
        str_printf(out, " TILE(%s,%lld,%s)", a->name, (long long)b->part, cols);
    else
        str_printf(out, " LOOP(%s)", cols = a->name);
    if (!b->rows) {
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s) ORDER(%s,%s)", k,
                   (long long)(v->axis[inner].size / STREAMS), kl, k, kl, cols);
        return;
    }
    str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s) ORDER(", k, (long long)b->rows, ku, ku);
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].reduce) str_printf(out, "%s,", v->axis[i].name);
    str_printf(out, "%s)", cols);
}

/* Column sums of few columns: whole rows in registers, all the way down, so that what is read is contiguous. */
static bool write_narrow_columns(struct view *v, struct elementwise_plan *f, struct str *out, int inner) {
    const struct axis_view *k = &v->axis[inner];
    int64_t sums = RG_MIN(sums_along(v, inner), 4);
    if (!f->vectors || f->vectors > v->isa->regs / 2 / sums || k->size < 2 * NARROW_ROWS) return false;
    tile_vector(v, f, out, f->vectors);
    if (f->vectors <= NARROW_ROWS) {
        const char *more = view_new_axis(v, k->name, "u");
        str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", k->name, NARROW_ROWS, more, more);
    }
    shape_grid(v, out, f->in_grid, f->name);
    return true;
}

/* How many groups of columns a grid iteration takes: a page of each row or more, sums in half of L1, some iterations per thread, and
 * two groups at least: a loop between rows and their terms, so that sums have one order for any number of threads.
 * rest: grid iterations besides; sums: of each column. */
static void cut_columns(const struct view *v, const struct elementwise_plan *f, double rest, int64_t sums,
                        struct column_block *b) {
    for (b->vectors = sums > 1 ? PRODUCT_VECTORS : COLUMN_VECTORS;; b->vectors /= 2) {
        int64_t bytes = (int64_t)f->lanes * b->vectors * 4, page = RG_MAX(PAGE / bytes, 1),
                fit = RG_MAX(v->l1 / 2 / (bytes * sums), 2);
        b->groups = ceil_div(f->vectors, b->vectors);
        double all = rest * (double)b->groups;
        b->part = RG_MAX((int64_t)(all / (COLUMN_TASKS * v->threads)), page);
        b->part = RG_MIN(RG_MIN(b->part, fit), b->groups);
        if (rest * (double)ceil_div(b->groups, b->part) < 2.0 * v->threads)
            b->part = (int64_t)(all / (2.0 * v->threads));
        if (b->part > 1 || b->vectors == 1) break;
    }
    b->part = RG_MAX(b->part, 2);
    for (int64_t p = b->part; p > RG_MAX(b->part / 2, 1) && b->part < b->groups;
         p--) /* no tails in the grid */
        if (b->groups % p == 0) {
            b->part = p;
            break;
        }
}

bool write_columns(struct view *v, struct elementwise_plan *f, struct str *out) {
    const struct axis_view *a = &v->axis[f->axis];
    double bytes = 0, rest = 1, terms = 1;
    int inner = -1;
    if (a->reduce || !a->grid || a->members > 1 || f->transposed >= 0 || !v->reduces || v->scans || v->stages)
        return false;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *r = &v->axis[i];
        if (!r->grid && (!r->reduce || r->members > 1 || r->size < 2)) return false;
        if (r->reduce) inner = i, terms *= r->most;
        if (i != f->axis) rest *= f->in_grid[i];
    }
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (s->store || !(s->mask & a->ranges) || !(s->mask & v->axis[inner].ranges)) continue;
        bool window = s->times > 1.25 * (double)s->buf->src[0]->hi; /* columns share elements */
        if (window || access_stride(v, s, f->axis, f->lanes) != 1) return false;
        bytes += s->times * s->bytes;
    }
    if (terms <= FEW_TERMS) return false; /* unrolled whole */
    if (bytes <= 2 * (double)v->l2 && write_near_columns(v, f, out, inner)) return true;
    if (bytes > 2 * (double)v->l2 && write_narrow_columns(v, f, out, inner)) return true;
    struct column_block b = {.rows = even_part(v->axis[inner].size, COLUMN_ROWS)};
    if (bytes < (double)v->l1 || f->vectors <= COLUMN_VECTORS || b.rows < 2) return false;
    if (columns_in_runs(v, f, inner, bytes / rest, rest)) b.rows = 0;
    cut_columns(v, f, rest, 1, &b);
    write_column_block(v, f, out, inner, &b);
    return true;
}

bool write_streamed_product(struct view *v, struct elementwise_plan *f, struct str *out, int inner,
                            int64_t sums) {
    double rest = 1;
    struct column_block b = {.rows = even_part(v->axis[inner].size, COLUMN_ROWS)};
    if (v->axis[inner].size < LEAST_STREAMED || f->vectors < 2 * PRODUCT_VECTORS) return false;
    if (b.rows < COLUMN_ROWS / 2) b.rows = COLUMN_ROWS; /* and a tail */
    for (int i = 0; i < v->naxis; i++)
        if (i != f->axis) rest *= f->in_grid[i];
    cut_columns(v, f, rest, sums, &b);
    write_column_block(v, f, out, inner, &b);
    return true;
}

/* The reduced axis that strides over distant rows; -1: none, or more buffers than the hardware prefetcher follows. *rows: how
 * many at a time; two where rows map to the same sets of L1, since more would evict each other. */
static int distant_axis(const struct view *v, int row, int64_t vectors, int *rows) {
    int best = -1;
    for (int r = 0; r < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); r++) {
        const uop *n = v->reduce[r];
        bool binds = false;
        for (uint32_t k = 1; k < n->nsrc; k++) binds |= view_axis_of(v, n->src[k]) == row;
        for (uint32_t k = 1; binds && k < n->nsrc; k++) {
            int a = view_axis_of(v, n->src[k]), far = 0, most = STREAMS;
            if (a == row || v->axis[a].fixed || v->axis[a].members > 1 || v->axis[a].size < 2 * STREAMS ||
                v->axis[a].size % STREAMS)
                continue;
            for (int i = 0; i < v->naccess; i++) {
                const struct access_view *s = &v->access[i];
                int64_t stride = access_stride(v, s, a, 1);
                if (s->store || !(s->mask & v->axis[row].ranges) || s->times * s->bytes < BIG / 2) continue;
                if (stride == NO_STRIDE || stride * s->bytes < 1024) continue;
                far++;
                if (stride * s->bytes % (v->l1 / 4) == 0) most = 2;
            }
            bool more = far == 1 && most == STREAMS && v->axis[row].members == 1 &&
                        vectors * 2 * STREAMS <= 64 && v->axis[a].size % (2 * STREAMS) == 0;
            if (far == 1 || far == 2) best = a, *rows = more ? 2 * STREAMS : most;
        }
    }
    return best;
}

void write_distant_rows(struct view *v, struct elementwise_plan *f, const struct twins *t, struct str *out,
                        int64_t sums, int pooled) {
    int done[RG_COUNT(t->axis)] = {0}, n = 0;
    if (!v->axis[f->axis].reduce || v->scans || v->stages || v->axis[f->axis].size * 4 > RUN_LEAST / 8)
        return;
    for (int i = 0; i < t->n; i++) {
        int rows = 0, a = distant_axis(v, t->axis[i], sums, &rows);
        bool again = a < 0 || body_weight(v, a) > HEAVY_BODY;
        for (int k = 0; k < n; k++) again |= done[k] == a;
        if (again) continue;
        const char *in = view_new_axis(v, v->axis[a].name, "s");
        if (pooled >= 0 && v->axis[pooled].reduce && a != pooled) /* unrolled enough: a loop inside */
            str_printf(out, " TILE(%s,%d,%s) SWAP(%s,%s)", v->axis[a].name, rows, in, in,
                       v->axis[pooled].name);
        else
            str_printf(out, " TILE(%s,%d,%s) UNROLL(%s)", v->axis[a].name, rows, in, in);
        done[n++] = a;
    }
    for (int i = 0; i < v->naxis && n && sums <= 8; i++) { /* and two adjacent ones */
        bool next = v->axis[i].grid && v->axis[i].size % 2 == 0 && f->in_grid[i] >= 16.0 * v->threads;
        for (int k = 0; k < v->naccess && next; k++)
            next = v->access[k].store || v->access[k].times * v->access[k].bytes < BIG / 2 ||
                   access_stride(v, &v->access[k], i, 1) == v->axis[f->axis].size;
        if (!next) continue;
        const char *in = view_new_axis(v, v->axis[i].name, "s");
        str_printf(out, " TILE(%s,2,%s) UNROLL(%s)", v->axis[i].name, in, in);
        f->in_grid[i] /= 2;
    }
}
