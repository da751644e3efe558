/* cpu_transpose.c: opts of elementwise kernels that read across: blocks of vectors transposed in registers
 * (codegen/lower/coalesce.c), large ones through a tile in cache, and the order of the loops around them.
 * Requires: struct elementwise_plan with an axis `transposed`. Gives: a part of the opt list.
 * Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/elementwise/elementwise.h"

enum {
    ROW_VECTORS = 8, /* vectors of rows that a transposition takes whole, at least */
    FEW_LINES = 4,
    LINE_BYTES = 64
};

/* Bytes of the widest element that is transposed. */
static int64_t transposed_bytes(const struct view *v, const struct elementwise_plan *f) {
    int64_t bytes = 1;
    for (int i = 0; i < v->naccess; i++)
        if (access_stride(v, &v->access[i], f->transposed, f->lanes) == 1)
            bytes = RG_MAX(bytes, v->access[i].bytes);
    return bytes;
}

/* Does one grid iteration take whole rows along the transposed axis? Those of a few lines, parts of which would be read from far memory
 * again and again, and those of elements that fill lines of the result; some vectors of rows must stay in L2, and the other axes fill the
 * grid. (Transposed f64 of 33 x 311,996: 20 ms, 10; f32 of 500 x 3,001: 7.8, 3.4; but bf16 of 251 x 6,673: 0.5, 2.6.) */
static bool takes_rows(const struct view *v, const struct elementwise_plan *f, int64_t bytes) {
    const struct axis_view *t = &v->axis[f->transposed];
    double grid = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && i != f->transposed) grid *= f->in_grid[i];
    return t->grid && f->in_grid[f->transposed] > 1 && v->est.bytes >= BIG / 2 &&
           (bytes >= 4 || t->size * bytes <= FEW_LINES * LINE_BYTES) &&
           grid >= (double)PIECES_PER_THREAD * ROW_VECTORS * v->threads &&
           t->size * bytes * f->lanes * ROW_VECTORS <= v->l2 / 2;
}

/* Returns how many of its values are unrolled, beside `copies` of what is inside. */
static int64_t write_transposed_axis(struct view *v, struct elementwise_plan *f, struct str *out,
                                     int64_t copies) {
    const struct axis_view *t = &v->axis[f->transposed];
    int64_t bytes = transposed_bytes(v, f), line = RG_MIN(MOST_LANES, LINE_BYTES / bytes);
    int64_t u = t->size <= 2 * line ? t->size : line;
    /* passes over a row that is unrolled whole share what they compute */
    int64_t each = (u == t->size && t->members > 1 ? 1 : 2) * copies * body_statements(v, f->axis);
    if (u * each > BODY_STATEMENTS) each = 2 * copies * body_statements(v, f->axis);
    while (u > 1 && u * each > BODY_STATEMENTS) u /= 2;
    u = RG_MIN(u, t->size);
    const char *more = view_new_axis(v, t->name, "t");
    if (u < 2) return 1;
    if (u == t->size)
        str_printf(out, " UNROLL(%s)", t->name);
    else
        str_printf(out, " TILE(%s,%lld,%s) UNROLL(%s)", t->name, (long long)u, more, more);
    if (t->grid) f->in_grid[f->transposed] = u == t->size ? 1 : (double)((t->size + u - 1) / u);
    if (!takes_rows(v, f, bytes)) return u;
    str_printf(out, " LOOP(%s)", t->name);
    f->in_grid[f->transposed] = 1;
    return u;
}

/* Accesses may be contiguous along several axes other than that of the vectors: each is transposed along its own. (A norm of bf16 over
 * 3 of 3 x 33108 x 79 with its gradient, which is stored as 79 x 33108 x 3: 176 ms, 29.) */
void write_transpose(struct view *v, struct elementwise_plan *f, struct str *out) {
    int first = f->transposed;
    int64_t copies = write_transposed_axis(v, f, out, 1);
    for (int i = 0; i < f->nalso && !v->scans && !v->stages; i++) {
        f->transposed = f->also[i];
        copies *= write_transposed_axis(v, f, out, copies);
    }
    f->transposed = first;
}

/* Side of a transposition's tile: divides the axis, a multiple of step; 0: none. */
static int64_t tile_side(int64_t size, int64_t step) {
    static const int8_t try[] = {64, 80, 48, 96, 32, 40, 56, 72, 24};
    for (size_t i = 0; i < RG_COUNT(try); i++)
        if (size % try[i] == 0 && try[i] % step == 0 && size > try[i]) return try[i];
    return 0;
}

/* A transposition larger than the caches: in tiles, transposed while they are packed. Without tiles that divide the axes, the
 * transposition in registers is faster. */
bool write_tiled_transpose(struct view *v, struct elementwise_plan *f, struct str *out) {
    const struct axis_view *a = &v->axis[f->axis], *t = &v->axis[f->transposed];
    if (!f->through_tile || !a->grid || !t->grid) return false;
    long long as = tile_side(a->size, f->lanes), ts = tile_side(t->size, 16);
    if (!as || !ts) return false;
    const char *ai = view_new_axis(v, a->name, "i"), *ti = view_new_axis(v, t->name, "i"),
               *av = view_new_axis(v, a->name, "v");
    const char *inner = v->axis[f->axis].pos > t->pos ? a->name : t->name, *staged = NULL;
    struct str copy;
    str_init(&copy, v->arena);
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, f->axis, f->lanes);
        if (s->store || stride == 0 || stride == 1 || stride == NO_STRIDE ||
            access_stride(v, s, f->transposed, f->lanes) != 1)
            continue;
        const char *b = ir_name(v->ir, s->buf->arg.param.name);
        if (!view_can_name(v, s->buf) || staged || s->pred) return false;
        staged = b;
        str_printf(&copy,
                   " STAGE(%s,%s,%s,%s) TILE(%s.%s,%d,%s.v) VEC(%s.v) TILE(%s.%s,16,%s.u) UNROLL(%s.u) "
                   "ORDER(%s.%s,%s.%s)",
                   b, inner, ti, ai, b, ai, f->lanes, b, b, b, ti, b, b, b, ai, b, ti);
    }
    if (!staged) return false;
    str_printf(out, " TILE(%s,%lld,%s) TILE(%s,%lld,%s)%s TILE(%s,%d,%s) VEC(%s) UNROLL(%s) PIPE(%s,%s.%s,2)",
               a->name, as, ai, t->name, ts, ti, copy.p, ai, f->lanes, av, av, ai, staged, staged, ai);
    for (int i = 0; i < v->naccess; i++) { /* prefetch the next tile of contiguous inputs */
        const struct access_view *s = &v->access[i];
        if (s->store || s->pred || seen_before(v, i) || s->times * s->bytes < BIG ||
            !view_can_name(v, s->buf))
            continue;
        if (access_stride(v, s, f->axis, f->lanes) == 1)
            str_printf(out, " PIPE(%s,%s,1)", ir_name(v->ir, s->buf->arg.param.name), inner);
    }
    return true;
}

/* Rows that one grid iteration takes, if a line that is read across holds the next row too, are inside of the loop over
 * vectors: the line is still in L1 then. (f32 of 511 x 1539 x 9 reversed, nine rows: 26.8 ms, 15.5.) */
void order_transpose(const struct view *v, const struct elementwise_plan *f, struct str *out) {
    if (f->transposed < 0 || !v->axis[f->axis].grid || f->in_grid[f->axis] > 1 || f->vectors < 2) return;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (s->store || access_stride(v, s, f->transposed, f->lanes) != 1) continue;
        for (int k = 0; k < v->naxis; k++) {
            int64_t step = access_stride(v, s, k, 1);
            if (k == f->axis || f->name[k] == v->axis[k].name || step <= 0 || step == NO_STRIDE ||
                step * s->bytes > LINE_BYTES)
                continue;
            str_printf(out, " ORDER(%s,%s)", f->loop, f->name[k]);
            return;
        }
    }
}
