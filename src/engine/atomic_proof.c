/* atomic_proof.c: may the grid iterations of a program that adds to memory run at once?
 *
 * STORE_ADD is a load, an addition and a store; two iterations that add to one element at the same time lose
 * an addition. It is safe if every element has one owner among the iterations, which is proved here for the
 * common case: with N iterations the index is c*g + s + (multiples of c*N), g the iteration and s within less
 * than c of each other over all such stores to the buffer; then the index modulo c*N tells g, also where s and
 * the multiples depend on g. Where that cannot be proved the kernel runs on one thread.
 * Tests: tests/unit/engine.c (engine_serial_*) */
#include "engine/internal.h"

struct proof_owned { /* all STORE_ADDs to one buffer */
    const uop *buf;
    int64_t c, lo, hi;
};
typedef VEC(struct proof_owned) owned_vec;

struct atomic_proof {
    struct ir *ir;
    const uop *grid;
    int64_t n;
    owned_vec buf;
};

static const uop *through_casts(const uop *n) {
    while (n->op == OP_CAST && dt_is_int((enum dtype)n->src[0]->dt)) n = n->src[0];
    return n;
}

/* Splits one index into c, and the range of s; false: not of that form. */
static bool split_index(struct atomic_proof *p, const uop *index, struct proof_owned *o) {
    struct affine a = affine_of(p->ir->arena, index->src[1]);
    o->c = 0;
    for (uint32_t i = 0; i < a.n; i++)
        if (through_casts(a.t[i].atom) == p->grid) o->c = a.t[i].coef;
    int64_t whole, low, high;
    if (o->c <= 0 || __builtin_mul_overflow(o->c, p->n, &whole)) return false;
    o->lo = o->hi = a.k;
    for (uint32_t i = 0; i < a.n; i++) {
        const uop *x = a.t[i].atom;
        int64_t f = a.t[i].coef;
        if (through_casts(x) == p->grid) continue;
        if (f % whole == 0) continue;
        if (__builtin_mul_overflow(f, x->lo, &low) || __builtin_mul_overflow(f, x->hi, &high)) return false;
        if (__builtin_add_overflow(o->lo, RG_MIN(low, high), &o->lo)) return false;
        if (__builtin_add_overflow(o->hi, RG_MAX(low, high), &o->hi)) return false;
    }
    if (index->src[1]->lanes > 1) return true;
    return !__builtin_add_overflow(o->hi, index->lanes - 1, &o->hi);
}

static bool one_owner(struct atomic_proof *p, const uop *index) {
    struct proof_owned o = {.buf = index->src[0]};
    if (o.buf->op != OP_PARAM || !split_index(p, index, &o)) return false;
    for (uint32_t i = 0; i < p->buf.n; i++) {
        struct proof_owned *b = &p->buf.p[i];
        if (b->buf->arg.param.slot != o.buf->arg.param.slot) continue;
        if (b->c != o.c) return false;
        b->lo = RG_MIN(b->lo, o.lo);
        b->hi = RG_MAX(b->hi, o.hi);
        return b->hi - b->c < b->lo;
    }
    vec_push(p->ir->arena, &p->buf, o);
    return o.hi - o.c < o.lo;
}

bool linear_is_serial(const struct linear *l) {
    bool grid = l->n && l->u[0]->op == OP_RANGE && l->u[0]->arg.range.kind == AX_GRID;
    struct atomic_proof p = {.ir = l->ir, .grid = grid ? l->u[0] : NULL, .n = l->grid};
    if (!grid) return false;
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i];
        if (n->op != OP_STORE_ADD || access_buf(n)->op == OP_LOCAL) continue;
        if (!one_owner(&p, n->src[0])) return true;
    }
    return false;
}
