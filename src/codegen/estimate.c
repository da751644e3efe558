/* estimate.c: how much work a kernel is.
 *
 * Asked for: counted on the kernel graph, before any opt. A node is evaluated once for each value of the ranges
 * it depends on; a reduction of n is n operations, so a matrix product is 2*m*n*k. Bytes are those of the
 * distinct elements of global buffers that the indices can reach.
 * Issued: counted on the linear program with its loop lengths: recompute, padding, packing and index
 * arithmetic on floats included; of a condition the first side is counted. The difference is waste. */
#include "cg.h"

static bool is_special(enum op o) { return o == OP_POW || (o >= OP_EXP && o <= OP_SIGMOID); }

/* Operations per element; what only moves or names values is free. */
static double op_cost(const uop *n) {
    if (!op_is_pure((enum op)n->op) || n->dt == DT_IDX || dt_is_bool((enum dtype)n->dt)) return 0;
    if (n->op == OP_CAST || n->op == OP_BITCAST || n->op == OP_WHERE) return 0;
    if (n->op == OP_THREEFRY) return THREEFRY_OPS;
    return n->op == OP_MULACC ? 2 : 1;
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
    double load, store;
};

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
    *at = RG_MAX(*at, n);
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
        if (cost > 0) e->flops += cost * count(free_of(&fr, n));
        if (is_special((enum op)n->op)) e->special += count(free_of(&fr, n));
        if (n->op == OP_REDUCE || n->op == OP_SCAN) e->flops += bound_count(&fr, n);
        if (n->op == OP_STORE_ADD) e->flops += count(free_of(&fr, n));
        if (n->op == OP_LOAD || n->op == OP_GLOAD) touch(ir->arena, &fr, &mem, n->src[0], false);
        if (n->op == OP_STORE || n->op == OP_STORE_ADD) touch(ir->arena, &fr, &mem, n->src[0], true);
    }
    for (uint32_t i = 0; i < mem.n; i++)
        e->bytes += (mem.p[i].load + mem.p[i].store) * dtype_info[mem.p[i].buf->dt].bytes;
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
        else if (n->op == OP_HRED)
            e->flops_issued += times[depth] * (n->src[0]->lanes - 1);
        else if (dt_is_float((enum dtype)n->dt))
            e->flops_issued += times[depth] * op_cost(n) * n->lanes;
        bool load = n->op == OP_LOAD || n->op == OP_GLOAD, store = n->op == OP_STORE || n->op == OP_STORE_ADD;
        if ((load || store) && n->src[0]->src[0]->op != OP_LOCAL)
            e->bytes_issued += times[depth] * n->src[0]->lanes * dtype_info[n->src[0]->dt].bytes *
                               (n->op == OP_STORE_ADD ? 2 : 1);
    }
}
