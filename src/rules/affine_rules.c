/* index.c: index arithmetic on whole sums. Peephole rules see two operands at a time; the terms that matter
 * for a division sit anywhere in a chain of ADDs, so these rules open the chain into a linear form
 * sum(coef x atom) + k, work on that, and build it again.
 *
 * Canonical sum of IDX: terms in the order of atom_before (scalars before vectors, then op rank, then loop
 * position, so that prefixes of an address are invariant in inner loops), each atom once, added from the
 * left, the constant last. Equal addresses are then the same node. index_norm tells in O(1) whether an ADD
 * of canonical operands is canonical, so a pass at its fixpoint never opens a chain.
 *
 * IDX is exact: no wrapping. A coefficient that leaves 64 bits, or more than MAX_TERMS terms, makes a
 * function here give up (NULL: the rule does not apply). All is for divisors c > 0; IDIV and MOD are floor.
 * Tests: tests/unit/rules.c; the algebra of each step stands beside it. */
#include "rules.h"

enum { MAX_TERMS = 32 };

struct affine_sum {
    struct term t[MAX_TERMS];
    uint32_t n;
    int64_t k;
    bool bad; /* overflow or too many terms: meaningless */
};

/* Why `fits`: bounds of IDX are clamped to 64 bits on the promise that values stay there. Distributing a huge
 * factor over a sum could break that promise for a part though the whole keeps it, so sums whose parts could
 * leave 62 bits are left alone. Atoms without bounds are trusted: nothing is ever deduced from them. */

/* ---- atoms and their order ------------------------------------------------------------------------- */

static uint64_t position(const uop *n) {
    if (n->op == OP_RANGE) return (uint64_t)n->arg.range.pos << 16 | n->arg.range.id;
    return n->op == OP_VAR ? n->arg.param.slot : 0;
}

static bool atom_before(const uop *a, const uop *b) {
    bool va = a->lanes > 1, vb = b->lanes > 1;
    if (va != vb) return vb;
    if (a->op != b->op) return a->op < b->op;
    uint64_t pa = position(a), pb = position(b);
    if (pa != pb) return pa < pb;
    return a->hash != b->hash ? a->hash < b->hash : a->id < b->id;
}

static bool is_scaled(const uop *n) { return n->op == OP_MUL && n->src[1]->op == OP_CONST; }

static const uop *atom_of(const uop *term) { return is_scaled(term) ? term->src[0] : term; }

static bool is_divmod(const uop *n) {
    return (n->op == OP_IDIV || n->op == OP_MOD) && n->src[1]->op == OP_CONST && n->src[1]->arg.i > 0;
}

/* ---- opening a sum ---------------------------------------------------------------------------------- */

static void add_const(struct affine_sum *s, int64_t a, int64_t v) {
    int64_t p;
    s->bad |= __builtin_mul_overflow(a, v, &p) || __builtin_add_overflow(s->k, p, &s->k);
}

static void remove_term(struct affine_sum *s, uint32_t i) {
    s->n--;
    for (; i < s->n; i++) s->t[i] = s->t[i + 1];
}

static void add_atom(struct affine_sum *s, const uop *x, int64_t a) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->t[i].atom != x) continue;
        s->bad |= __builtin_add_overflow(s->t[i].coef, a, &s->t[i].coef);
        if (s->t[i].coef == 0) remove_term(s, i);
        return;
    }
    if (s->n == MAX_TERMS)
        s->bad = true;
    else
        s->t[s->n++] = (struct term){x, a};
}

/* Adds a * n. Opens ADD, SUB, NEG and MUL by a constant; a value known exactly is a constant. */
static void add_node(struct affine_sum *s, const uop *root, int64_t coef) {
    struct term todo[MAX_TERMS + 2];
    uint32_t n = 0;
    todo[n++] = (struct term){root, coef};
    while (n && !s->bad) {
        struct term t = todo[--n];
        const uop *x = t.atom;
        int64_t c = 0;
        if (x->dt != DT_IDX) {
            add_atom(s, x, t.coef);
        } else if (x->op == OP_CONST || (x->lo == x->hi && x->op != OP_WHERE)) {
            add_const(s, t.coef, x->lo);
        } else if (x->op == OP_ADD || x->op == OP_SUB) {
            c = x->op == OP_ADD ? t.coef : -t.coef;
            if (n + 2 > RG_COUNT(todo) || (x->op == OP_SUB && t.coef == INT64_MIN)) {
                s->bad = true;
            } else {
                todo[n++] = (struct term){x->src[1], c};
                todo[n++] = (struct term){x->src[0], t.coef};
            }
        } else if (is_scaled(x) || x->op == OP_NEG) {
            s->bad |= __builtin_mul_overflow(t.coef, x->op == OP_NEG ? -1 : x->src[1]->arg.i, &c);
            if (c) todo[n++] = (struct term){x->src[0], c};
        } else {
            add_atom(s, x, t.coef);
        }
    }
    s->bad |= n > 0;
}

static struct affine_sum open_sum(const uop *n) {
    struct affine_sum s;
    s.n = 0, s.k = 0, s.bad = false;
    add_node(&s, n, 1);
    return s;
}

static struct affine_sum empty_sum(void) {
    struct affine_sum s;
    s.n = 0, s.k = 0, s.bad = false;
    return s;
}

/* ---- building it again ------------------------------------------------------------------------------- */

static void sort_terms(struct affine_sum *s) {
    for (uint32_t i = 1; i < s->n; i++) {
        struct term t = s->t[i];
        uint32_t j = i;
        for (; j && atom_before(t.atom, s->t[j - 1].atom); j--) s->t[j] = s->t[j - 1];
        s->t[j] = t;
    }
}

static const uop *num(struct rw *rw, int64_t v) { return rule_int(rw, DT_IDX, v); }

/* The last node is only interned, not normalised: it may be the very node whose rule is running. */
static const uop *build_raw(struct rw *rw, struct affine_sum *s) {
    sort_terms(s);
    const uop *acc = NULL;
    uint32_t last = s->n - (s->k == 0);
    for (uint32_t i = 0; i < s->n; i++) {
        const uop *t = s->t[i].atom;
        if (s->t[i].coef != 1) t = rw2(rw, OP_MUL, t, num(rw, s->t[i].coef));
        acc = !acc ? t : i == last ? uop2(rw->ir, OP_ADD, acc, t) : rw2(rw, OP_ADD, acc, t);
    }
    if (!acc) return num(rw, s->k);
    return s->k ? uop2(rw->ir, OP_ADD, acc, num(rw, s->k)) : acc;
}

static const uop *build_sum(struct rw *rw, struct affine_sum *s) {
    const uop *r = build_raw(rw, s);
    return r->op == OP_ADD ? rw_with(rw, r, r->src) : r;
}

/* Bounds of a sum from those of its atoms. */
static void sum_bounds(const struct affine_sum *s, int64_t *lo_out, int64_t *hi_out) {
    __int128 l = s->k, h = s->k;
    for (uint32_t i = 0; i < s->n; i++) {
        __int128 a = (__int128)s->t[i].coef * s->t[i].atom->lo, b = (__int128)s->t[i].coef * s->t[i].atom->hi;
        l += RG_MIN(a, b), h += RG_MAX(a, b);
    }
    *lo_out = l < INT64_MIN ? INT64_MIN : l > INT64_MAX ? INT64_MAX : (int64_t)l;
    *hi_out = h < INT64_MIN ? INT64_MIN : h > INT64_MAX ? INT64_MAX : (int64_t)h;
}

/* Is floor(s / c) the same number for all values? Then *q is it. */
static bool one_quotient(const struct affine_sum *s, int64_t c, int64_t *q) {
    int64_t l, h;
    sum_bounds(s, &l, &h);
    if (l == INT64_MIN || h == INT64_MAX) return false;
    *q = idiv_floor(l, c);
    return *q == idiv_floor(h, c);
}

static bool fits(const struct affine_sum *s) {
    __int128 m = s->k < 0 ? -(__int128)s->k : s->k;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t l = s->t[i].atom->lo, h = s->t[i].atom->hi, c = s->t[i].coef;
        if (l == INT64_MIN || h == INT64_MAX) l = h = 1;
        __int128 a = (__int128)c * l, b = (__int128)c * h;
        a = a < 0 ? -a : a, b = b < 0 ? -b : b;
        m += RG_MAX(a, b);
    }
    return !s->bad && m < (__int128)1 << 62;
}

static uint64_t magnitude(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

static uint64_t sum_gcd(const struct affine_sum *s, uint64_t g) {
    for (uint32_t i = 0; i < s->n && g != 1; i++) g = gcd(g, magnitude(s->t[i].coef));
    return g;
}

/* ---- the canonical sum -------------------------------------------------------------------------------- */

/* y = floor(base / d): so MOD(y, b) and IDIV(base, d*b) belong together. */
static const uop *base_of(const uop *y, int64_t *d) {
    *d = 1;
    if (y->op != OP_IDIV || y->src[1]->op != OP_CONST || y->src[1]->arg.i <= 0) return y;
    *d = y->src[1]->arg.i;
    return y->src[0];
}

/* x and y leave the same remainder by c, since c divides x - y: coefficients under a MOD were reduced. */
static bool congruent(const uop *x, const uop *y, int64_t c) {
    struct affine_sum s = open_sum(x);
    add_node(&s, y, -1);
    if (s.bad || s.k % c) return false;
    for (uint32_t i = 0; i < s.n; i++)
        if (s.t[i].coef % c) return false;
    return true;
}

static bool partners(const uop *mod, const uop *div) {
    if (div->op == OP_MOD && is_divmod(div)) div = div->src[0]; /* the digit above */
    if (mod->op != OP_MOD || div->op != OP_IDIV || !is_divmod(mod) || !is_divmod(div)) return false;
    int64_t d, b = mod->src[1]->arg.i, db;
    if (div->src[1]->arg.i == b && div->src[0] != mod->src[0]) return congruent(div->src[0], mod->src[0], b);
    const uop *base = base_of(mod->src[0], &d);
    if (__builtin_mul_overflow(d, b, &db)) return false;
    return div->src[0] == base && div->src[1]->arg.i == db;
}

/* a*(y mod b) + a*b*(y div b) = a*y, and a*(y mod b) + a*b*((y div b) mod c) = a*(y mod b*c) */
static bool join_divmod(struct rw *rw, struct affine_sum *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->t[i].atom->op != OP_MOD) continue;
        for (uint32_t j = 0; j < s->n; j++) {
            int64_t want;
            if (!partners(s->t[i].atom, s->t[j].atom)) continue;
            const uop *mod = s->t[i].atom, *div = s->t[j].atom, *digit = div->op == OP_MOD ? div : NULL;
            int64_t a = s->t[i].coef, b = mod->src[1]->arg.i, bc = b;
            if (digit) div = digit->src[0];
            if (__builtin_mul_overflow(a, b, &want) || s->t[j].coef != want) continue;
            if (digit && __builtin_mul_overflow(b, digit->src[1]->arg.i, &bc)) continue;
            remove_term(s, RG_MAX(i, j));
            remove_term(s, RG_MIN(i, j));
            const uop *y = div->src[1]->arg.i == b ? div->src[0] : mod->src[0];
            add_node(s, digit ? rw2(rw, OP_MOD, y, num(rw, bc)) : y, a);
            return true;
        }
    }
    return false;
}

static int64_t coef_of(const uop *term) { return is_scaled(term) ? term->src[1]->arg.i : 1; }

static bool would_join(const uop *t, const uop *u) {
    const uop *a = atom_of(t), *b = atom_of(u);
    int64_t want;
    if (partners(a, b))
        return !__builtin_mul_overflow(coef_of(t), a->src[1]->arg.i, &want) && coef_of(u) == want;
    if (partners(b, a))
        return !__builtin_mul_overflow(coef_of(u), b->src[1]->arg.i, &want) && coef_of(t) == want;
    return false;
}

/* The term added last, and what it was added to (NULL: nothing). */
static const uop *last_term(const uop *chain, const uop **rest) {
    const uop *a = chain->src[0], *b = chain->src[1];
    if (a->op == OP_ADD && a->dt == DT_IDX) return *rest = a, b;
    if (b->op == OP_ADD && b->dt == DT_IDX) return *rest = b, a;
    bool ab = atom_before(atom_of(a), atom_of(b));
    return *rest = ab ? a : b, ab ? b : a;
}

static bool joins_chain(const uop *chain, const uop *term) {
    if (!is_divmod(atom_of(term))) return false;
    const uop *rest = chain;
    for (uint32_t i = 0; i <= MAX_TERMS && rest->op == OP_ADD && rest->dt == DT_IDX; i++) {
        if (would_join(last_term(rest, &rest), term)) return true;
    }
    return would_join(rest, term);
}

static bool is_chain(const uop *n) { return n->op == OP_ADD && n->dt == DT_IDX; }

static bool plain_term(const uop *n) { /* a scaled atom that index_norm leaves alone */
    const uop *a = atom_of(n);
    return (a->lo != a->hi || a->op == OP_WHERE) && a->op != OP_SUB && a->op != OP_NEG && !is_scaled(a) &&
           !is_chain(a);
}

static bool is_canonical(const uop *n) {
    const uop *a = n->src[0], *b = n->src[1], *rest;
    if (b->op == OP_CONST) {
        if (b->arg.i == 0 || a->op == OP_CONST) return false;
        return is_chain(a) ? a->src[1]->op != OP_CONST : plain_term(a);
    }
    if (is_chain(a)) {
        const uop *t = a;
        a = b, b = t;
    }
    if (is_chain(a) || !plain_term(a)) return false;
    if (!is_chain(b)) return plain_term(b) && atom_of(a) != atom_of(b) && !would_join(a, b);
    if (b->src[1]->op == OP_CONST) return false;
    return atom_before(atom_of(last_term(b, &rest)), atom_of(a)) && !joins_chain(b, a);
}

const uop *index_norm(struct rw *rw, const uop *n) {
    if (n->op == OP_ADD && is_canonical(n)) return NULL;
    struct affine_sum s = open_sum(n);
    while (!s.bad && join_divmod(rw, &s)) {}
    if (!fits(&s)) return NULL;
    const uop *r = build_raw(rw, &s);
    return r == n ? NULL : r;
}

/* ---- floor division and remainder of a sum by c > 0 -------------------------------------------------- */

struct divmod {
    struct rw *rw;
    bool div; /* else MOD */
    int64_t c;
};

static const uop *again(const struct divmod *d, struct affine_sum *s, int64_t c) {
    return rw2(d->rw, d->div ? OP_IDIV : OP_MOD, build_sum(d->rw, s), num(d->rw, c));
}

/* x = c*q + r:  x div c = q + r div c,  x mod c = r mod c. The constant of r ends up in [0, c). */
static const uop *split_multiples(const struct divmod *d, const struct affine_sum *x) {
    struct affine_sum q = empty_sum(), r = empty_sum();
    for (uint32_t i = 0; i < x->n; i++) {
        bool whole = x->t[i].coef % d->c == 0;
        add_atom(whole ? &q : &r, x->t[i].atom, whole ? x->t[i].coef / d->c : x->t[i].coef);
    }
    q.k = idiv_floor(x->k, d->c);
    r.k = imod_floor(x->k, d->c);
    if (!q.n && !q.k) return NULL;
    const uop *rest = r.n ? again(d, &r, d->c) : num(d->rw, d->div ? 0 : r.k);
    return d->div ? rw2(d->rw, OP_ADD, build_sum(d->rw, &q), rest) : rest;
}

/* Modulo c a coefficient counts modulo c, and MOD(y, m) is y where c divides a*m. */
static const uop *reduce_coefs(const struct divmod *d, const struct affine_sum *x) {
    struct affine_sum r = empty_sum();
    bool changed = false;
    r.k = x->k;
    for (uint32_t i = 0; i < x->n; i++) {
        const uop *t = x->t[i].atom;
        int64_t a = x->t[i].coef, am;
        if (a >= d->c || a <= -d->c) a = imod_floor(a, d->c), changed = true;
        if (t->op == OP_MOD && is_divmod(t) && !__builtin_mul_overflow(a, t->src[1]->arg.i, &am) &&
            am % d->c == 0) {
            add_node(&r, t->src[0], a);
            changed = true;
        } else {
            add_atom(&r, t, a);
        }
    }
    return changed && fits(&r) ? again(d, &r, d->c) : NULL;
}

/* x = g*s + r with g dividing c, and r div g the one number q:
 * x div c = (s + q) div (c/g),  x mod c = g*((s + q) mod (c/g)) + r - g*q. */
static const uop *factor_out(const struct divmod *d, const struct affine_sum *x, int64_t g) {
    struct affine_sum s = empty_sum(), r = empty_sum();
    int64_t q;
    for (uint32_t i = 0; i < x->n; i++) {
        bool whole = x->t[i].coef % g == 0;
        add_atom(whole ? &s : &r, x->t[i].atom, whole ? x->t[i].coef / g : x->t[i].coef);
    }
    r.k = x->k;
    if (!s.n || !one_quotient(&r, g, &q)) return NULL;
    s.k = q;
    const uop *t = again(d, &s, d->c / g);
    if (d->div) return t;
    add_const(&r, -g, q);
    if (r.bad) return NULL;
    return rw2(d->rw, OP_ADD, rw2(d->rw, OP_MUL, t, num(d->rw, g)), build_sum(d->rw, &r));
}

static const uop *factor(const struct divmod *d, const struct affine_sum *x) {
    uint64_t all = sum_gcd(x, (uint64_t)d->c);
    if (all > 1) return factor_out(d, x, (int64_t)all);
    uint64_t below = (uint64_t)d->c; /* candidates from the greatest down */
    for (;;) {
        uint64_t g = 1;
        for (uint32_t i = 0; i < x->n; i++) {
            uint64_t h = gcd(magnitude(x->t[i].coef), (uint64_t)d->c);
            if (h < below && h > g) g = h;
        }
        if (g == 1) return NULL;
        const uop *r = factor_out(d, x, (int64_t)g);
        if (r) return r;
        below = g;
    }
}

/* 5x + y = 4x + (x + y): worth it where the rest then has one quotient. */
static const uop *split_coefs(const struct divmod *d, const struct affine_sum *x) {
    struct affine_sum q = empty_sum(), r = empty_sum();
    int64_t q0;
    for (uint32_t i = 0; i < x->n; i++) {
        int64_t a = x->t[i].coef, w = idiv_floor(a, d->c);
        if (w) add_atom(&q, x->t[i].atom, w);
        if (a - w * d->c) add_atom(&r, x->t[i].atom, a - w * d->c);
    }
    r.k = x->k;
    if (!q.n || !one_quotient(&r, d->c, &q0)) return NULL;
    if (d->div) {
        q.k = q0;
        return build_sum(d->rw, &q);
    }
    add_const(&r, -d->c, q0);
    return r.bad ? NULL : build_sum(d->rw, &r);
}

const uop *fold_divmod(struct rw *rw, const uop *n, int64_t c) {
    if (n->dt != DT_IDX || c <= 1) return NULL;
    const uop *x = n->src[0];
    if (!is_chain(x) && !is_scaled(x) && x->op != OP_MOD) return NULL;
    struct affine_sum s = open_sum(x);
    if (s.n == 0 || !fits(&s)) return NULL;
    struct divmod d = {rw, n->op == OP_IDIV, c};
    const uop *r = split_multiples(&d, &s);
    if (!r && !d.div) r = reduce_coefs(&d, &s);
    if (!r) r = factor(&d, &s);
    if (!r) r = split_coefs(&d, &s);
    return r == n ? NULL : r;
}

/* ---- comparisons ---------------------------------------------------------------------------------------- */

static int64_t ceil_div(int64_t a, int64_t b) { return -idiv_floor(-a, b); }

/* s < c, s with positive and coprime coefficients: split s = g*u + r with 0 <= r < g. */
static const uop *split_bound(struct rw *rw, const struct affine_sum *s, int64_t c, bool lower) {
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t g = s->t[i].coef, l, h;
        if (g <= 1) continue;
        struct affine_sum u = empty_sum(), r = empty_sum();
        for (uint32_t j = 0; j < s->n; j++) {
            bool whole = s->t[j].coef % g == 0;
            add_atom(whole ? &u : &r, s->t[j].atom, whole ? s->t[j].coef / g : s->t[j].coef);
        }
        sum_bounds(&r, &l, &h);
        if (l < 0 || h >= g) continue;
        int64_t q = idiv_floor(c, g), m = c - q * g;
        if (m > l && m <= h) continue; /* depends on r */
        if (m > h) q++;
        const uop *x = build_sum(rw, &u);
        return lower ? uop2(rw->ir, OP_LT, num(rw, q - 1), x) : uop2(rw->ir, OP_LT, x, num(rw, q));
    }
    return NULL;
}

/* p < n + k as nodes, p and n with positive coefficients only. */
static const uop *build_lt(struct rw *rw, struct affine_sum *p, struct affine_sum *n, int64_t k) {
    if (k == INT64_MIN || k == INT64_MAX) return NULL;
    if (!n->n || !p->n) {
        const uop *r = split_bound(rw, n->n ? n : p, n->n ? 1 - k : k, n->n);
        if (r) return r;
    }
    if (!p->n) return uop2(rw->ir, OP_LT, num(rw, -k), build_sum(rw, n));
    n->k = k;
    return uop2(rw->ir, OP_LT, build_sum(rw, p), build_sum(rw, n));
}

const uop *fold_cmp(struct rw *rw, const uop *n) {
    const uop *x = n->src[0], *y = n->src[1];
    if (x->dt != DT_IDX) return NULL;
    bool sx = is_chain(x) || is_scaled(x), sy = is_chain(y) || is_scaled(y);
    if (!sx && !sy) return NULL;
    struct affine_sum d = open_sum(x);
    add_node(&d, y, -1); /* d = x - y, compared with 0 */
    if (!d.n || !fits(&d)) return NULL;
    int64_t g = (int64_t)sum_gcd(&d, 0);
    bool lt = n->op == OP_LT;
    if (!lt && d.k % g) return rule_int(rw, DT_BOOL, n->op == OP_NE);
    struct affine_sum pos = empty_sum(), neg = empty_sum();
    sort_terms(&d);
    bool flip = !lt && d.t[0].coef < 0; /* equality has no direction: the first term goes left */
    for (uint32_t i = 0; i < d.n; i++) {
        int64_t a = d.t[i].coef / g;
        if (flip) a = -a;
        add_atom(a > 0 ? &pos : &neg, d.t[i].atom, a > 0 ? a : -a);
    }
    int64_t k = lt ? ceil_div(-d.k, g) : flip ? d.k / g : -d.k / g; /* pos < neg + k, pos == neg + k */
    const uop *r;
    if (lt) {
        r = build_lt(rw, &pos, &neg, k);
    } else {
        neg.k = k;
        r = uop2(rw->ir, (enum op)n->op, build_sum(rw, &pos), build_sum(rw, &neg));
    }
    return r == n ? NULL : r;
}
