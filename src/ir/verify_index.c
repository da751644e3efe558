/* verify_index.c: what must be proved of indices: inside the buffer, and owned by one grid iteration.
 *
 * Both work on the affine form. Bounds: the distance to either end of the buffer is an affine expression
 * that must not be negative; its least value comes from the bounds of its atoms, helped by the conditions
 * of the predicate: from target T and a condition E >= 0 follows T >= 0 if T - l*E >= 0 for some l >= 0, and l
 * is chosen so that an atom disappears. WHERE inside an index is split into its two cases.
 * Ownership: terms are sorted by coefficient; where the gcd of the upper coefficients is greater than
 * the span of all lower terms, the two parts of the index determine each other's values (mixed radix).
 * A part that is a single term determines its atom; a quotient and remainder by the same number
 * determine what was divided. Every GRID range must be determined by the index.
 * Incomplete on purpose, never wrong: "not proved" is refused. Tests: tests/unit/verify.c, tests/verify/ */
#include "verify.h"

typedef __int128 wide;
enum { MAX_FACTS = 24, MAX_SPLITS = 4, MAX_STEPS = 4 };

static const uop *buffer_of(const uop *access) { return access_buf(access); }
static const uop *index_of(const uop *access) { return access_offset(access); }

/* ---- affine expressions with wide coefficients, so that proofs do not overflow ----------------- */

struct wide_sum {
    struct wterm {
        const uop *atom;
        wide coef;
    } * t;
    uint32_t n;
    wide k;
};

static struct wide_sum sum_of(struct arena *a, const uop *n) {
    struct affine f = affine_of(a, n);
    struct wide_sum s = {arena_array(a, struct wterm, f.n + 1), f.n, f.k};
    for (uint32_t i = 0; i < f.n; i++) s.t[i] = (struct wterm){f.t[i].atom, f.t[i].coef};
    return s;
}

/* p*x + q*y */
static struct wide_sum sum_combine(struct arena *a, struct wide_sum x, wide p, struct wide_sum y, wide q) {
    struct wide_sum r = {arena_array(a, struct wterm, x.n + y.n + 1), 0, p * x.k + q * y.k};
    uint32_t i = 0, j = 0;
    while (i < x.n || j < y.n) {
        struct wterm t = {NULL, 0};
        bool left = j == y.n || (i < x.n && x.t[i].atom->id <= y.t[j].atom->id);
        bool right = i == x.n || (j < y.n && y.t[j].atom->id <= x.t[i].atom->id);
        if (left) t.atom = x.t[i].atom, t.coef += p * x.t[i++].coef;
        if (right) t.atom = y.t[j].atom, t.coef += q * y.t[j++].coef;
        if (t.coef) r.t[r.n++] = t;
    }
    return r;
}

static struct wide_sum sum_const(struct wide_sum s, wide p, wide k) /* p*s + k, p is 1 or -1 */
{
    for (uint32_t i = 0; i < s.n; i++) s.t[i].coef *= p;
    s.k = s.k * p + k;
    return s;
}

/* Coefficients beyond this are not worth a proof; it keeps every product inside 128 bits. */
static bool sum_is_small(const struct wide_sum *s) {
    wide big = (wide)1 << 55;
    if (s->k > big || s->k < -big) return false;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->t[i].coef > big || s->t[i].coef < -big) return false;
    return true;
}

static bool not_negative(const struct wide_sum *s) {
    wide lo = s->k;
    for (uint32_t i = 0; i < s->n; i++) {
        wide c = s->t[i].coef, e = c > 0 ? s->t[i].atom->lo : s->t[i].atom->hi;
        if (e == INT64_MIN || e == INT64_MAX) return false;
        lo += c * e;
    }
    return lo >= 0;
}

/* ---- facts: affine expressions that are not negative where the predicate is open -------------------- */

struct proof {
    struct arena *arena;
    struct wide_sum fact[MAX_FACTS];
    uint32_t n;
};

static void add_fact(struct proof *p, const uop *greater, const uop *lesser, wide k) {
    if (p->n == MAX_FACTS || !dt_is_int((enum dtype)lesser->dt) || lesser->dt == DT_U64) return;
    /* The affine form of a type that wraps is right only modulo 2^width. */
    if (lesser->dt != DT_IDX) return;
    struct wide_sum s = sum_combine(p->arena, sum_of(p->arena, greater), 1, sum_of(p->arena, lesser), -1);
    p->fact[p->n++] = sum_const(s, 1, k);
}

static void add_condition(struct proof *p, const uop *c, bool is_true) {
    switch (c->op) {
    case OP_AND:
    case OP_MUL:
        if (!is_true || c->dt != DT_BOOL) return;
        add_condition(p, c->src[0], true);
        add_condition(p, c->src[1], true);
        return;
    case OP_OR:
        if (is_true || c->dt != DT_BOOL) return;
        add_condition(p, c->src[0], false);
        add_condition(p, c->src[1], false);
        return;
    case OP_NOT: add_condition(p, c->src[0], !is_true); return;
    case OP_LT:
        if (is_true)
            add_fact(p, c->src[1], c->src[0], -1);
        else
            add_fact(p, c->src[0], c->src[1], 0);
        return;
    case OP_LE:
        if (is_true)
            add_fact(p, c->src[1], c->src[0], 0);
        else
            add_fact(p, c->src[0], c->src[1], -1);
        return;
    case OP_EQ:
        if (!is_true) return;
        add_fact(p, c->src[0], c->src[1], 0);
        add_fact(p, c->src[1], c->src[0], 0);
        return;
    default: return;
    }
}

static bool prove(struct proof *p, struct wide_sum t, int steps) {
    if (not_negative(&t)) return true;
    if (!steps || !sum_is_small(&t)) return false;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct wide_sum *f = &p->fact[i];
        if (!sum_is_small(f)) continue;
        for (uint32_t a = 0, b = 0; a < t.n && b < f->n;) {
            if (t.t[a].atom != f->t[b].atom) {
                if (t.t[a].atom->id < f->t[b].atom->id)
                    a++;
                else
                    b++;
                continue;
            }
            wide ct = t.t[a].coef, cf = f->t[b].coef;
            a++, b++;
            if ((ct > 0) != (cf > 0)) continue;
            /* |cf|*T - |ct|*E has no such atom; dividing by cf first keeps numbers small */
            wide m = cf < 0 ? -cf : cf, l = ct < 0 ? -ct : ct;
            if (l % m == 0) l /= m, m = 1;
            if (prove(p, sum_combine(p->arena, t, m, *f, -l), steps - 1)) return true;
        }
    }
    return false;
}

/* ---- bounds ------------------------------------------------------------------------------------ */

struct bound_check {
    struct verify *v;
    struct proof p;
    wide size;      /* elements that are surely there; < 0: not known, no upper proof */
    bool low, high; /* which end could not be proved */
};

static bool is_pred(const uop *n) {
    return n->op == OP_WHERE && (n->src[1]->op == OP_INVALID || n->src[2]->op == OP_INVALID);
}

/* The sum with one of its atoms replaced. */
static struct wide_sum replaced(struct bound_check *b, struct wide_sum s, uint32_t at, const uop *by) {
    wide c = s.t[at].coef;
    struct wide_sum one = {arena_array(b->v->arena, struct wterm, 1), 1, 0};
    one.t[0] = (struct wterm){s.t[at].atom, c};
    s = sum_combine(b->v->arena, s, 1, one, -1);
    return sum_combine(b->v->arena, s, 1, sum_of(b->v->arena, by), c);
}

static bool check_sum(struct bound_check *b, struct wide_sum s, int splits) {
    for (uint32_t i = 0; i < s.n; i++) {
        const uop *w = s.t[i].atom;
        if (w->op != OP_WHERE) continue;
        uint32_t facts = b->p.n;
        bool ok = true;
        for (int side = 1; side <= 2 && ok && splits; side++) {
            if (w->src[side]->op == OP_INVALID) continue; /* no access: nothing to prove */
            add_condition(&b->p, w->src[0], side == 1);
            ok = check_sum(b, replaced(b, s, i, w->src[side]), splits - !is_pred(w));
            b->p.n = facts;
        }
        if (splits) return ok;
    }
    if (!sum_is_small(&s)) return b->low = true, false;
    struct wide_sum up = sum_combine(b->v->arena, (struct wide_sum){0}, 1, s, -1);
    if (!prove(&b->p, s, MAX_STEPS)) return b->low = true, false;
    if (b->size < 0) return true;
    if (!prove(&b->p, sum_const(up, 1, b->size - 1), MAX_STEPS)) return b->high = true, false;
    return true;
}

static bool uses_dynamic_range(struct verify *v, const uop *n) {
    const uop_vec *f = free_of(&v->free, n);
    for (uint32_t i = 0; i < f->n; i++)
        if (!uop_is_exact(f->p[i]->src[0])) return true;
    return false;
}

/* -1: not known before the kernel runs. */
static wide buffer_size(const uop *b) {
    wide n = 1;
    switch (b->op) {
    case OP_PARAM:
    case OP_LOCAL: return b->src[0]->lo;
    case OP_STAGE:
        for (uint32_t i = 1; i < b->nsrc; i++) n *= RG_MAX(b->src[i]->src[0]->lo, 0);
        return n;
    default: return -1;
    }
}

static bool is_inside(struct verify *v, const uop *access, struct bound_check *b) {
    const uop *idx = index_of(access);
    *b = (struct bound_check){.v = v, .size = buffer_size(buffer_of(access))};
    wide size = b->size;
    b->p.arena = v->arena;
    if (idx->op == OP_INVALID) return true; /* never an access */
    if (access->nsrc == 3) add_condition(&b->p, access->src[2], true);
    if (size >= 0 && uses_dynamic_range(v, idx)) b->size = -1;
    if (size >= 0 && idx->lo >= 0 && idx->hi < size) return true;
    return check_sum(b, sum_of(v->arena, idx), MAX_SPLITS);
}

bool verify_is_inside(struct ir *ir, const uop *access) {
    struct verify v = {.ir = ir, .arena = ir->arena};
    struct bound_check b;
    free_init(&v.free, ir, ir->arena);
    return is_inside(&v, access, &b);
}

void verify_bounds(struct verify *v, const uop *access) {
    const uop *idx = index_of(access);
    wide size = buffer_size(buffer_of(access));
    struct bound_check b;
    if (is_inside(v, access, &b)) return;
    struct str s;
    str_init(&s, v->arena);
    ir_print_node(&s, v->ir, idx, 4);
    if (b.low)
        verify_fail(v, access, VR_INDEX_BOUNDS, "index %s may be negative (least value known: %lld)", s.p,
                    (long long)idx->lo);
    verify_fail(v, access, VR_INDEX_BOUNDS, "index %s may reach %lld, the buffer has %lld elements", s.p,
                (long long)idx->hi, (long long)size);
}

/* ---- ownership --------------------------------------------------------------------------------- */

struct index_owner {
    struct verify *v;
    uop_vec known; /* expressions that the written address determines */
};

static bool is_known(const struct index_owner *o, const uop *n) {
    if (uop_is_const(n)) return true;
    for (uint32_t i = 0; i < o->known.n; i++)
        if (o->known.p[i] == n) return true;
    return false;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

static uint64_t mag(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

/* Terms that move with an iteration, ascending by |coef|; the same everywhere is no term. */
static void moving_terms(struct index_owner *o, struct affine *a) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n; i++)
        if (free_of(&o->v->free, a->t[i].atom)->n) a->t[n++] = a->t[i];
    a->n = n;
    for (uint32_t i = 1; i < n; i++) { /* insertion sort: stable, few terms */
        struct term t = a->t[i];
        uint32_t j = i;
        for (; j && mag(a->t[j - 1].coef) > mag(t.coef); j--) a->t[j] = a->t[j - 1];
        a->t[j] = t;
    }
}

static wide span_of(struct term t) {
    if (t.atom->lo == INT64_MIN || t.atom->hi == INT64_MAX) return (wide)1 << 120;
    return (wide)mag(t.coef) * ((wide)t.atom->hi - t.atom->lo);
}

static void learn(struct index_owner *o, const uop *n);

/* The value of the sum of these terms is known: cut it into parts that are known on their own. The coefficients of a part have a gcd
 * of their own: 3*i + j of 128*k + 3*i + j. */
static void learn_sum(struct index_owner *o, const struct term *t, uint32_t n) {
    uint64_t *upper = arena_array(o->v->arena, uint64_t, n + 1); /* gcd of coefficients from i on */
    for (uint32_t i = n; i-- > 0;) upper[i] = gcd(upper[i + 1], mag(t[i].coef));
    wide span = 0;
    uint32_t start = 0;
    for (uint32_t i = 0; i < n; i++) {
        span += span_of(t[i]);
        if (span > (wide)1 << 120) span = (wide)1 << 120;
        if (i + 1 < n && !((wide)upper[i + 1] > span)) continue;
        if (i == start)
            learn(o, t[i].atom);
        else if (i + 1 - start < n)
            learn_sum(o, t + start, i + 1 - start);
        start = i + 1;
    }
}

static void learn_terms(struct index_owner *o, const uop *n) {
    struct affine a = affine_of(o->v->arena, n);
    moving_terms(o, &a);
    learn_sum(o, a.t, a.n);
}

/* n is known; so may be what it is made of. */
static void learn(struct index_owner *o, const uop *n) {
    if (is_known(o, n)) return;
    vec_push(o->v->arena, &o->known, n);
    if (n->op == OP_IDIV || n->op == OP_MOD) {
        for (uint32_t i = 0; i < o->known.n; i++) {
            const uop *k = o->known.p[i];
            if ((k->op == OP_IDIV || k->op == OP_MOD) && k->op != n->op && k->src[0] == n->src[0] &&
                k->src[1] == n->src[1] && uop_is_const(n->src[1]) && n->src[1]->arg.i) {
                learn(o, n->src[0]);
                break;
            }
        }
    }
    if (n->dt == DT_IDX && (n->op == OP_ADD || n->op == OP_SUB || n->op == OP_MUL || n->op == OP_NEG))
        learn_terms(o, n);
    if (is_pred(n)) learn(o, n->src[n->src[1]->op == OP_INVALID ? 2 : 1]);
    if (n->op == OP_CAST && dt_is_int((enum dtype)n->dt) && dt_is_int((enum dtype)n->src[0]->dt) &&
        n->src[0]->lo >= dt_min((enum dtype)n->dt) && n->src[0]->hi <= dt_max((enum dtype)n->dt))
        learn(o, n->src[0]);
}

/* Without its predicates; a predicated index writes to a part of the same elements. */
static const uop *unpredicated(const uop *n) {
    while (is_pred(n)) n = n->src[n->src[1]->op == OP_INVALID ? 2 : 1];
    return n;
}

static bool depends_on(struct verify *v, const uop *n, const uop *r) { return free_has(&v->free, n, r); }

void verify_race(struct verify *v, const uop *store) {
    const uop *buf = buffer_of(store), *idx = unpredicated(index_of(store));
    struct index_owner o = {.v = v};
    learn(&o, idx);
    if (buf->op == OP_PARAMS) learn(&o, unpredicated(buf->src[0]));
    for (uint32_t i = 0; i < v->grid.n; i++) {
        const uop *r = v->grid.p[i];
        const char *name = ir_name(v->ir, r->arg.range.cls);
        bool used = depends_on(v, idx, r) || (buf->op == OP_PARAMS && depends_on(v, buf->src[0], r));
        if (!used)
            verify_fail(v, store, VR_STORE_RACE,
                        "GRID range %s is not in the index, so its %lld iterations "
                        "write the same elements",
                        name, (long long)r->src[0]->hi);
        /* A task table says which part of which buffer an iteration owns; only a run can check it. */
        if (buf->op == OP_PARAMS || store->op == OP_STORE_ADD || is_known(&o, r)) continue;
        struct str s;
        str_init(&s, v->arena);
        ir_print_node(&s, v->ir, idx, 4);
        verify_fail(v, store, VR_STORE_RACE, "GRID range %s cannot be recovered from the index %s", name,
                    s.p);
    }
}

/* ---- two stores to one buffer ------------------------------------------------------------------ */

/* Indices that differ by a constant d, such as those of two parts of a row: they meet if terms of two iterations differ by d. The
 * upper terms differ by a multiple of the gcd g of their coefficients, so the lower ones would by d modulo g: more than their span? */
static bool is_apart(struct verify *v, const uop *x, const uop *y) {
    struct index_owner o = {.v = v};
    struct affine a = affine_of(v->arena, x), b = affine_of(v->arena, y);
    bool same = a.n == b.n;
    for (uint32_t i = 0; i < a.n && same; i++)
        same = a.t[i].atom == b.t[i].atom && a.t[i].coef == b.t[i].coef;
    if (!same) return false;
    wide d = (wide)b.k - a.k, span = 0;
    moving_terms(&o, &a);
    uint64_t *upper = arena_array(v->arena, uint64_t, a.n + 1);
    for (uint32_t i = a.n; i-- > 0;) upper[i] = gcd(upper[i + 1], mag(a.t[i].coef));
    for (uint32_t i = 0; i <= a.n; i++) {
        wide g = upper[i], rest = g ? d % g : d;
        if (rest < 0) rest = -rest;
        if ((g && g - rest < rest ? g - rest : rest) > span) return true;
        if (i < a.n) span = RG_MIN(span + span_of(a.t[i]), (wide)1 << 120);
    }
    return false;
}

bool verify_disjoint(struct verify *v, const uop *a, const uop *b) {
    const uop *x = unpredicated(index_of(a)), *y = unpredicated(index_of(b));
    if (x->hi < y->lo || y->hi < x->lo) return true;
    uint64_t m = gcd(uop_is_exact(x) ? 0 : x->mul, uop_is_exact(y) ? 0 : y->mul);
    int64_t rx = uop_is_exact(x) ? x->lo : x->rem, ry = uop_is_exact(y) ? y->lo : y->rem;
    return (m > 1 && ((wide)rx - ry) % (wide)m != 0) || is_apart(v, x, y);
}
