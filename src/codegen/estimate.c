/* estimate.c: how much work a kernel is.
 *
 * Asked for: counted on the kernel graph, before any opt. A node is evaluated once for each value of the ranges
 * it depends on; a reduction of n is n operations, so a GEMM is 2*m*n*k. Bytes are those of the
 * distinct elements of global buffers that the indices can reach.
 * Lines: the same elements with the rest of the cache lines that they lie in; a column of a matrix moves its rows.
 * Issued: counted on the linear program with its loop lengths: recompute, padding, packing and index
 * arithmetic on floats included; of a condition the first side is counted. The difference is waste.
 * Both are split by the unit that does the work; integer operations issued are mostly addresses.
 * Tests: tests/unit/estimate.c (hand counts) */
#include "codegen/internal.h"

#include <stdlib.h>

enum { LINE = 64 };

/* Operations per element; what only moves or names values is free. */
static double op_cost(const uop *n) {
    if (!op_is_pure((enum op)n->op) || n->dt == DT_IDX || dt_is_bool((enum dtype)n->dt)) return 0;
    return op_info[n->op].flops;
}

static enum work_unit unit_of(const uop *n) {
    if (n->dt == DT_F64) return WORK_F64;
    if (n->dt == DT_F16 || n->dt == DT_BF16) return WORK_F16;
    return dt_is_float((enum dtype)n->dt) ? WORK_F32 : WORK_INT;
}

static double count(const uop_vec *ranges) {
    double n = 1;
    for (uint32_t i = 0; i < ranges->n; i++) n *= (double)ranges->p[i]->src[0]->hi;
    return n;
}

static double bound_count(struct free_ranges *fr, const uop *n) {
    double all = count(free_of(fr, n->src[0]));
    for (uint32_t i = 1; i < n->nsrc; i++)
        if (!free_has(fr, n->src[0], n->src[i])) all *= (double)n->src[i]->src[0]->hi;
    return all;
}

struct touched {
    const uop *buf;
    double load, store, load_lines, store_lines; /* elements; bytes */
};

static int by_step(const void *x, const void *y) {
    int64_t a = ((const struct term *)x)->coef, b = ((const struct term *)y)->coef;
    return a < b ? -1 : a > b;
}

/* Bytes of whole lines that n elements at this index lie in. From the nearest step to the farthest: what is next to what is
 * touched already makes the stretch longer, gaps smaller than a line too; larger steps begin a new stretch. */
static double line_bytes(struct arena *a, struct free_ranges *fr, const uop *index, double n) {
    const uop *buf = index->src[0];
    double size = dtype_info[buf->dt].bytes, stretch = 1, stretches = 1;
    if (buf->op != OP_PARAM) return n * size;
    struct affine at = affine_of(a, index->src[1]);
    struct term *t = arena_array(a, struct term, at.n + 1);
    for (uint32_t i = 0; i < at.n; i++)
        t[i] = (struct term){.atom = at.t[i].atom, .coef = RG_MAX(at.t[i].coef, -at.t[i].coef)};
    qsort(t, at.n, sizeof *t, by_step);
    for (uint32_t i = 0; i < at.n; i++) {
        double values =
            RG_MIN(count(free_of(fr, t[i].atom)), (double)t[i].atom->hi - (double)t[i].atom->lo + 1);
        double step = (double)t[i].coef;
        if (step <= stretch || step * size < LINE)
            stretch += step * (values - 1);
        else
            stretches *= values;
    }
    double bytes = stretches * RG_MAX(stretch * size, stretches > 1 ? (double)LINE : size);
    return RG_MAX(RG_MIN(bytes, (double)buf->src[0]->hi * size), n * size);
}

static void touch(struct arena *a, struct free_ranges *fr, void *v, const uop *index, bool store) {
    VEC(struct touched) *list = v;
    const uop *buf = index->src[0];
    if (buf->op != OP_PARAM && buf->op != OP_PARAMS) return;
    double n = count(free_of(fr, index));
    if (buf->op == OP_PARAM) n = RG_MIN(n, (double)buf->src[0]->hi);
    uint32_t i = 0;
    while (i < list->n && list->p[i].buf != buf) i++;
    if (i == list->n) vec_push(a, list, ((struct touched){.buf = buf}));
    double *at = store ? &list->p[i].store : &list->p[i].load;
    double *lines = store ? &list->p[i].store_lines : &list->p[i].load_lines;
    *at = RG_MAX(*at, n);
    *lines = RG_MAX(*lines, line_bytes(a, fr, index, n));
}

static const uop *without_casts(const uop *n) {
    while (n->op == OP_CAST) n = n->src[0];
    return n;
}

/* The multiplication of a contraction that tensor cores could do, else NULL. */
static const uop *tensor_core_mul(const uop *red) {
    const uop *mul = red->arg.i == OP_ADD ? without_casts(red->src[0]) : red;
    if (mul->op != OP_MUL || red->dt == DT_F64) return NULL;
    for (int i = 0; i < 2; i++) {
        const uop *x = without_casts(mul->src[i]);
        if (x->op != OP_LOAD && x->op != OP_PRED_LOAD) return NULL;
        if (unit_of(x) != WORK_F16) return NULL;
    }
    return mul;
}

static void ask(struct estimate *e, enum work_unit u, double n) {
    e->flops += n;
    e->asked[u] += n;
}

static void ask_reduce(struct free_ranges *fr, const uop *n, struct estimate *e) {
    const uop *mul = n->op == OP_REDUCE ? tensor_core_mul(n) : NULL;
    ask(e, mul ? WORK_MATRIX : unit_of(n), bound_count(fr, n));
    if (!mul) return;
    double products = count(free_of(fr, mul)); /* counted where it stood */
    e->asked[unit_of(mul)] -= products;
    e->asked[WORK_MATRIX] += products;
}

void estimate_asked(struct ir *ir, const uop *sink, struct estimate *e) {
    struct free_ranges fr;
    uop_vec topo = {0};
    VEC(struct touched) mem = {0};
    free_init(&fr, ir, ir->arena);
    uop_topo(ir->arena, &sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        double cost = op_cost(n);
        if (cost > 0) ask(e, unit_of(n), cost * count(free_of(&fr, n)));
        if (op_is_fn((enum op)n->op)) e->special += count(free_of(&fr, n));
        if (n->op == OP_REDUCE || n->op == OP_SCAN) ask_reduce(&fr, n, e);
        if (n->op == OP_STORE_ADD) ask(e, unit_of(n->src[1]), count(free_of(&fr, n)));
        if (n->op == OP_LOAD || n->op == OP_PRED_LOAD) touch(ir->arena, &fr, &mem, n->src[0], false);
        if (n->op == OP_STORE || n->op == OP_STORE_ADD) touch(ir->arena, &fr, &mem, n->src[0], true);
    }
    for (uint32_t i = 0; i < mem.n; i++) {
        e->bytes += (mem.p[i].load + mem.p[i].store) * dtype_info[mem.p[i].buf->dt].bytes;
        e->lines += mem.p[i].load_lines + mem.p[i].store_lines;
    }
}

static void issue(struct estimate *e, const uop *n, double times) {
    double ops = times * n->lanes * op_cost(n);
    if (n->op == OP_VEC_REDUCE) ops = times * (n->src[0]->lanes - 1);
    if (dt_is_float((enum dtype)n->dt)) e->flops_issued += ops;
    e->issued[n->op == OP_MMA ? WORK_MATRIX : unit_of(n)] += ops;
}

void estimate_issued(const struct linear *l, struct estimate *e) {
    double times[256] = {1};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < l->n && depth < 255; i++) {
        const uop *n = l->u[i];
        if (n->op == OP_RANGE)
            times[depth + 1] = times[depth] * (double)n->src[0]->hi, depth++;
        else if (n->op == OP_IF)
            times[depth + 1] = times[depth], depth++;
        else if (n->op == OP_ELSE)
            times[depth] = 0;
        else if (n->op == OP_END)
            depth--;
        else
            issue(e, n, times[depth]);
        bool load = n->op == OP_LOAD || n->op == OP_PRED_LOAD,
             store = n->op == OP_STORE || n->op == OP_STORE_ADD;
        if ((load || store) && access_buf(n)->op != OP_LOCAL)
            e->bytes_issued += times[depth] * n->src[0]->lanes * dtype_info[n->src[0]->dt].bytes *
                               (n->op == OP_STORE_ADD ? 2 : 1);
    }
}
