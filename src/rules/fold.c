/* fold.c: the C behind rules: constant folding, casts, predicates. Index arithmetic is in index.c.
 * What is built here goes through rw_*, so it is normal at birth. Tests: tests/unit/rules.c */
#include "rules.h"

#include <math.h>

/* ---- pieces of generated code ----------------------------------------------------------------------- */

const uop *rule_int(struct rw *rw, unsigned dt, int64_t v) {
    return rw_new(rw, OP_CONST, (enum dtype)dt, 1, NULL, 0,
                  rule_dt_float(dt) ? (union arg){.f = (double)v} : ARG_INT(v));
}

const uop *rule_flt(struct rw *rw, unsigned dt, double v) {
    return rw_new(rw, OP_CONST, (enum dtype)dt, 1, NULL, 0, (union arg){.f = v});
}

const uop *rule_rest(struct rw *rw, enum op op, unsigned dt, const uop *const *fixed, uint32_t nfixed,
                     const uop *from, uint32_t k, union arg arg) {
    uint32_t n = nfixed + from->nsrc - k;
    const uop **src = arena_array(rw->arena, const uop *, n + 1);
    for (uint32_t i = 0; i < nfixed; i++) src[i] = fixed[i];
    for (uint32_t i = k; i < from->nsrc; i++) src[nfixed + i - k] = from->src[i];
    if (dt == DT_VOID) return rw_mk(rw, op, src, n, arg);
    return rw_new(rw, op, (enum dtype)dt, from->lanes, src, n, arg);
}

/* ---- constants ---------------------------------------------------------------------------------------- */

const uop *fold(struct rw *rw, const uop *n) {
    union val v[3], r;
    if (n->nsrc == 0 || n->nsrc > 3) return NULL;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        if (n->src[i]->op != OP_CONST) return NULL;
        if (rule_dt_float(n->src[i]->dt))
            v[i].f = n->src[i]->arg.f;
        else
            v[i].i = n->src[i]->arg.i;
    }
    if (!op_eval((enum op)n->op, (enum dtype)n->dt, (enum dtype)n->src[0]->dt, v, &r)) return NULL;
    return rule_dt_float(n->dt) ? rule_flt(rw, n->dt, r.f) : rule_int(rw, n->dt, r.i);
}

/* Never for a predicate: WHERE(g, 5, INVALID) has the bounds of 5, but a store through it must not happen where g
 * is false. The rules of hoist_predicate.rules bring predicates to the top before anything above them could be folded. */
const uop *fold_exact(struct rw *rw, const uop *n) {
    if (n->lo != n->hi) return NULL;
    if (n->op == OP_WHERE && (n->src[1]->op == OP_INVALID || n->src[2]->op == OP_INVALID)) return NULL;
    return rule_int(rw, n->dt, n->lo);
}

const uop *invalid(struct rw *rw, const uop *n) {
    return rw_new(rw, OP_INVALID, (enum dtype)n->dt, 1, NULL, 0, ARG_NONE);
}

int64_t type_max(const uop *n, int64_t a, int64_t b) {
    return (n->dt == DT_U64 ? (uint64_t)a > (uint64_t)b : a > b) ? a : b;
}

int64_t type_min(const uop *n, int64_t a, int64_t b) {
    return (n->dt == DT_U64 ? (uint64_t)a < (uint64_t)b : a < b) ? a : b;
}

/* ---- casts ---------------------------------------------------------------------------------------------- */

const uop *cast_to(struct rw *rw, const uop *x, unsigned dt) {
    if (x->dt == dt) return x;
    return rw_new(rw, OP_CAST, (enum dtype)dt, x->lanes, &x, 1, ARG_NONE);
}

/* Digits of the significand; every integer of at most that many bits is exact. */
static int digits(unsigned dt) {
    static const int8_t n[DT_COUNT] = {
        [DT_F8E4M3] = 4, [DT_F8E5M2] = 3, [DT_F16] = 11, [DT_BF16] = 8, [DT_F32] = 24, [DT_F64] = 53};
    return n[dt];
}

static int value_bits(unsigned dt) { /* of an integer, without its sign */
    return dt == DT_BOOL ? 1 : dtype_info[dt].bytes * 8 - (dtype_info[dt].kind == DK_INT);
}

bool cast_lossless(unsigned from, unsigned to) {
    if (from == to) return true;
    bool ff = rule_dt_float(from), tf = rule_dt_float(to);
    if (ff && tf) {
        if (to == DT_F64) return true;
        if (dtype_info[from].bytes == 1) return dtype_info[to].bytes > 1;
        return to == DT_F32 && from != DT_F64; /* neither half type holds the other */
    }
    if (ff) return false;
    if (tf) return value_bits(from) <= digits(to);
    if (to == DT_BOOL) return false;
    bool sign = dtype_info[from].kind == DK_INT, keeps = dtype_info[to].kind == DK_INT;
    return value_bits(from) <= value_bits(to) && (!sign || keeps);
}

/* Integers of at most the middle width are equal modulo 2^width whichever way they are cut. */
static bool cut_twice(unsigned a, unsigned b, unsigned c) {
    bool ints = !rule_dt_float(a) && !rule_dt_float(b) && !rule_dt_float(c);
    return ints && b != DT_BOOL && c != DT_BOOL && dtype_info[c].bytes <= dtype_info[b].bytes;
}

bool cast_through(unsigned a, unsigned b, unsigned c) {
    if (cut_twice(a, b, c)) return true;
    if (!cast_lossless(a, b)) return false;
    /* int -> float -> int saturates where int -> int wraps */
    bool through_float = rule_dt_float(b) && !rule_dt_float(a) && !rule_dt_float(c);
    return !through_float || cast_lossless(a, c) || c == DT_BOOL;
}

/* Such a value is one of a half type already: a cast of one, or what was chosen of such, or its sign changed. */
bool cast_exact(const uop *n, unsigned half, int depth) {
    bool chosen =
        n->op == OP_MAX || n->op == OP_MIN || n->op == OP_WHERE || n->op == OP_ABS || n->op == OP_NEG;
    if (n->op == OP_CAST) return n->src[0]->dt == half;
    if (n->op == OP_CONST) return dt_round((enum dtype)half, n->arg.f) == n->arg.f;
    if (!chosen || !depth) return false;
    for (uint32_t i = n->op == OP_WHERE; i < n->nsrc; i++)
        if (!cast_exact(n->src[i], half, depth - 1)) return false;
    return true;
}

bool flt_recip_exact(unsigned dt, double k) {
    int e;
    if (!isfinite(k) || k == 0 || fabs(frexp(k, &e)) != 0.5) return false;
    double r = 1 / k, least = dt == DT_F64                      ? 0x1p-1022
                              : dt == DT_F8E4M3                 ? 0x1p-6
                              : dt == DT_F16 || dt == DT_F8E5M2 ? 0x1p-14
                                                                : 0x1p-126;
    return isfinite(r) && fabs(r) >= least && fabs(k) >= least && dt_round((enum dtype)dt, r) == r;
}

/* ---- predicates ----------------------------------------------------------------------------------------------- */

/* INDEX b (WHERE g x INVALID) without the predicate. A vector of predicates over a scalar index stays a vector: the
 * same INDEX with a scalar index would mean consecutive elements. */
const uop *pred_addr(struct rw *rw, const uop *index, const uop *where) {
    const uop *x = where->src[1], *copy[UINT8_MAX];
    if (x->lanes < where->lanes) {
        for (unsigned i = 0; i < where->lanes; i++) copy[i] = x;
        x = rw_new(rw, OP_BUILD, (enum dtype)x->dt, where->lanes, copy, where->lanes, ARG_NONE);
    }
    return rw_new(rw, OP_INDEX, (enum dtype)index->dt, index->lanes, (const uop *[]){index->src[0], x}, 2,
                  ARG_NONE);
}

static bool is_pred(const uop *n) { return n->op == OP_WHERE && n->src[2]->op == OP_INVALID; }

/* BUILD of predicated scalars: one predicate over a vector, or a vector of predicates. */
const uop *pull_build(struct rw *rw, const uop *n) {
    const uop *pred[UINT8_MAX], *x[UINT8_MAX];
    bool any = false, same = true;
    if (n->nsrc > UINT8_MAX) return NULL;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        bool predicated = is_pred(n->src[i]);
        pred[i] = predicated ? n->src[i]->src[0] : rule_int(rw, DT_BOOL, 1);
        x[i] = predicated ? n->src[i]->src[1] : n->src[i];
        any |= predicated;
        same &= pred[i] == pred[0];
    }
    if (!any) return NULL;
    const uop *v = rw_new(rw, OP_BUILD, (enum dtype)n->dt, n->lanes, x, n->nsrc, ARG_NONE);
    const uop *g = same ? pred[0] : rw_new(rw, OP_BUILD, DT_BOOL, n->lanes, pred, n->nsrc, ARG_NONE);
    return rw3(rw, OP_WHERE, g, v, invalid(rw, n));
}

bool same_lanes_build(const uop *b) {
    for (uint32_t i = 1; i < b->nsrc; i++)
        if (b->src[i] != b->src[0]) return false;
    return true;
}

bool build_is_vector(const uop *b) {
    const uop *first = b->src[0], *vec = first->op == OP_EXTRACT ? first->src[0] : NULL;
    for (uint32_t i = 0; i < b->nsrc; i++) {
        const uop *e = b->src[i];
        if (e->op != OP_EXTRACT || e->arg.i != (int64_t)i || e->src[0] != vec) return false;
    }
    return vec && vec->lanes == b->nsrc;
}

const uop *load_scalar(struct rw *rw, const uop *load) {
    const uop *index = load->src[0], *build = index->src[1];
    const uop *one = rw_new(rw, OP_INDEX, (enum dtype)index->dt, 1,
                            (const uop *[]){index->src[0], build->src[0]}, 2, ARG_NONE);
    return rw1(rw, OP_LOAD, one);
}
