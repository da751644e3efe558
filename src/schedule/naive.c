/* naive.c: bytes of the naive plan, the bound that every fusion plan is checked against.
 *
 * The naive plan has a kernel per op of the planner's graph: it loads its operands and stores its result. Views and constants
 * cost nothing. Products that are only reduced, and are far larger than all they are computed from, and sums of such products
 * are computed in the kernel of the reduction, never stored: contractions are not expanded. A plan that moves more
 * than PLAN_BYTES_BOUND times as much has stored what no plan should: an error of the planner.
 * Requires: units. Gives: bytes.
 * Tests: tests/unit/plan_bytes.c */
#include "schedule/internal.h"

struct naive {
    struct sgraph *g;
    uint8_t
        *only_reduced; /* by node id: every user reduces it, or is computed in the kernel of a reduction */
    uint8_t *fused;    /* by node id: computed in the kernels of its users */
    double *loads;     /* by node id, if fused: bytes that it loads */
};

static bool adds(const uop *n) {
    return n->op == OP_ADD || n->op == OP_SUB || n->op == OP_NEG || n->op == OP_CAST;
}

static bool is_view(const struct sgraph *g, const uop *n) {
    return op_is_movement((enum op)n->op) && !g->unit_of[n->id];
}

/* Constants, and what is computed from them alone, unless it is stored. */
static bool is_number(const struct sgraph *g, const uop *n) {
    uint32_t u = g->unit_of[n->id];
    if (u) return g->unit[u - 1].hint == HINT_NUMBER;
    return n->op == OP_CONST || n->op == OP_VAR || n->op == OP_IOTA;
}

static void find_reduced(struct naive *v, const uop_vec *topo) {
    for (uint32_t i = 0; i < topo->n; i++) v->only_reduced[topo->p[i]->id] = 1;
    for (uint32_t i = topo->n; i-- > 0;) {
        const uop *n = topo->p[i];
        uint8_t fits = n->op == OP_REDUCE_AXES;
        if (is_view(v->g, n) || adds(n)) fits = v->only_reduced[n->id];
        for (uint32_t k = 0; k < n->nsrc; k++) v->only_reduced[n->src[k]->id] &= fits;
    }
}

static double bytes_of(struct naive *v, const uop *n) {
    return (double)shape_size(sg_shape(v->g, n)) * dtype_info[n->dt].bytes;
}

/* Bytes that a kernel loads to have n: no more than the tensor below has, no more than n has elements. */
static double loaded(struct naive *v, const uop *n) {
    if (n->dt == DT_IDX || n->dt == DT_VOID) return 0;
    double most = (double)shape_size(sg_shape(v->g, n));
    while (is_view(v->g, n)) n = n->src[0];
    if (is_number(v->g, n)) return 0;
    if (v->fused[n->id]) return v->loads[n->id];
    return RG_MIN(bytes_of(v, n), most * dtype_info[n->dt].bytes);
}

double naive_bytes(struct sgraph *g) {
    uop_vec topo = {0};
    double sum = 0;
    struct naive v = {.g = g,
                      .only_reduced = arena_array(g->a, uint8_t, g->ir->n),
                      .fused = arena_array(g->a, uint8_t, g->ir->n),
                      .loads = arena_array(g->a, double, g->ir->n)};
    uop_topo(g->a, &g->root, 1, &topo);
    find_reduced(&v, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (!g->unit_of[n->id] || is_number(g, n)) continue;
        double loads = 0, stores = bytes_of(&v, n->op == OP_ASSIGN ? n->src[1] : n);
        bool product = n->op == OP_MUL;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            loads += loaded(&v, n->src[k]);
            product |= adds(n) && v.fused[n->src[k]->id];
        }
        v.fused[n->id] = product && v.only_reduced[n->id] && stores >= CONTRACTION_REUSE * loads;
        v.loads[n->id] = loads;
        if (!v.fused[n->id]) sum += loads + stores;
    }
    return sum;
}
