/* affine.c: the canonical form of index arithmetic, sum of coefficient x atom + constant.
 *
 * Nodes wait in a heap ordered by id, greatest first. A node's users have greater ids, so when it
 * comes out its coefficient is final: each node is opened once, shared subexpressions cost nothing
 * (y = x + x, z = y + y ... stays linear), and atoms come out sorted. For types that wrap the form is
 * equal to the node modulo 2^width; for IDX it is equal. Any overflow makes the whole node one atom.
 * Tests: tests/unit/affine.c */
#include "ir.h"

struct term_heap {
    struct arena *arena;
    VEC(struct term) v;
};

static void heap_push(struct term_heap *h, struct term t) {
    vec_push(h->arena, &h->v, t);
    uint32_t i = h->v.n - 1;
    while (i && h->v.p[(i - 1) / 2].atom->id < t.atom->id) {
        h->v.p[i] = h->v.p[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->v.p[i] = t;
}

static struct term heap_pop(struct term_heap *h) {
    struct term top = h->v.p[0], last = h->v.p[--h->v.n];
    uint32_t i = 0, n = h->v.n;
    for (uint32_t c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && h->v.p[c + 1].atom->id > h->v.p[c].atom->id) c++;
        if (h->v.p[c].atom->id <= last.atom->id) break;
        h->v.p[i] = h->v.p[c];
    }
    if (n) h->v.p[i] = last;
    return top;
}

/* Opens one node of the sum; true if it was no atom. *ok turns false on overflow. */
static bool open_node(struct term_heap *h, struct term t, int64_t *k, bool *ok) {
    const uop *n = t.atom;
    int64_t c;
    switch (n->op) {
    case OP_CONST:
        *ok &= !__builtin_mul_overflow(n->arg.i, t.coef, &c) && !__builtin_add_overflow(*k, c, k);
        return true;
    case OP_NEG:
        *ok &= !__builtin_sub_overflow((int64_t)0, t.coef, &c);
        if (*ok) heap_push(h, (struct term){n->src[0], c});
        return true;
    case OP_ADD:
    case OP_SUB:
        c = t.coef;
        if (n->op == OP_SUB) *ok &= !__builtin_sub_overflow((int64_t)0, t.coef, &c);
        heap_push(h, (struct term){n->src[0], t.coef});
        if (*ok) heap_push(h, (struct term){n->src[1], c});
        return true;
    case OP_MUL:
        if (!uop_is_const(n->src[1])) return false;
        *ok &= !__builtin_mul_overflow(t.coef, n->src[1]->arg.i, &c);
        if (*ok && c) heap_push(h, (struct term){n->src[0], c});
        return true;
    default: return false;
    }
}

struct affine affine_of(struct arena *arena, const uop *n) {
    struct term_heap h = {.arena = arena};
    VEC(struct term) out = {0};
    int64_t k = 0;
    bool ok = dt_is_int((enum dtype)n->dt);
    if (ok) heap_push(&h, (struct term){n, 1});
    while (ok && h.v.n) {
        struct term t = heap_pop(&h);
        while (h.v.n && h.v.p[0].atom == t.atom)
            ok &= !__builtin_add_overflow(t.coef, heap_pop(&h).coef, &t.coef);
        if (!ok || !t.coef) continue;
        if (!open_node(&h, t, &k, &ok)) vec_push(arena, &out, t);
    }
    if (!ok) {
        struct term *one = arena_new(arena, struct term);
        *one = (struct term){n, 1};
        return (struct affine){one, 1, 0};
    }
    for (uint32_t i = 0; i < out.n / 2; i++) {
        struct term t = out.p[i];
        out.p[i] = out.p[out.n - 1 - i], out.p[out.n - 1 - i] = t;
    }
    return (struct affine){out.p, out.n, k};
}

const uop *affine_build(struct ir *ir, const struct affine *a, enum dtype dt) {
    const uop *sum = NULL;
    for (uint32_t i = 0; i < a->n; i++) {
        const uop *x = uop_cast(ir, a->t[i].atom, dt);
        if (a->t[i].coef != 1) x = uop2(ir, OP_MUL, x, uop_int(ir, dt, a->t[i].coef));
        sum = sum ? uop2(ir, OP_ADD, sum, x) : x;
    }
    const uop *k = uop_int(ir, dt, a->k);
    if (!sum) return k;
    return a->k ? uop2(ir, OP_ADD, sum, k) : sum;
}

int64_t affine_coef(const struct affine *a, const uop *atom) {
    for (uint32_t i = 0; i < a->n; i++)
        if (a->t[i].atom == atom) return a->t[i].coef;
    return 0;
}

bool affine_equal_but_const(const struct affine *a, const struct affine *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->t[i].atom != b->t[i].atom || a->t[i].coef != b->t[i].coef) return false;
    return true;
}

int affine_compare(const struct affine *x, const struct affine *y) {
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct term *s = &x->t[i], *t = &y->t[i];
        if (s->atom != t->atom) return s->atom->id < t->atom->id ? -1 : 1;
        if (s->coef != t->coef) return s->coef < t->coef ? -1 : 1;
    }
    return (x->k > y->k) - (x->k < y->k);
}
