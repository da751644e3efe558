/* eval.c: the value of a term under a random environment, lane by lane, with poison. Leaves draw their value
 * from a hash of the environment and their identity, within their bounds and biased to them; memory is a hash
 * of buffer and address, so a load is a leaf whose value depends on where it reads. Pure ops go to op_eval. */
#include "fz.h"

#include <math.h>

static uint64_t hash2(uint64_t a, uint64_t b) {
    return hash_u64(hash_u64(a) + 0x9e3779b97f4a7c15u * (b + 1));
}

static union val random_number(struct fz *f, enum dtype dt, uint64_t h) {
    struct fz g = {.ir = f->ir, .rng = h, .tame = f->tame, .lanes = 1};
    union val v = {.i = 0};
    if (dt_is_float(dt))
        v.f = fz_flt(&g, dt);
    else
        v.i = dt_wrap(dt, fz_below(&g, 2) ? (int64_t)fz_rand(&g) : fz_int(&g, dt));
    return v;
}

static int64_t in_bounds(int64_t l, int64_t h, uint64_t r) {
    uint64_t span = (uint64_t)h - (uint64_t)l;
    switch (r % 6) {
    case 0: return l;
    case 1: return h;
    case 2: return span ? l + 1 : l;
    case 3: return span ? h - 1 : h;
    default:
        return span == UINT64_MAX ? (int64_t)hash_u64(r) : (int64_t)((uint64_t)l + hash_u64(r) % (span + 1));
    }
}

static union val leaf_value(struct fz *f, const uop *n, uint64_t env) {
    uint64_t h = hash2(env, n->id);
    enum dtype dt = (enum dtype)n->dt;
    if (dt_is_float(dt)) return random_number(f, dt, h);
    return (union val){.i = in_bounds(n->lo, n->hi, h)};
}

static union val memory(struct fz *f, const uop *buf, int64_t at, enum dtype dt, uint64_t env) {
    return random_number(f, dt, hash2(env ^ 0x5bd1e995, hash2(buf->id, (uint64_t)at)));
}

static union val lane(const struct fz_val *v, unsigned i) { return v->v[v->lanes > 1 ? i : 0]; }
static bool bad(const struct fz_val *v, unsigned i) { return v->poison[v->lanes > 1 ? i : 0]; }

static void pure(const uop *n, const struct fz_val *s, unsigned i, struct fz_val *out, struct fz_result *r) {
    union val a[3];
    out->poison[i] = false;
    if (n->op == OP_WHERE || n->op == OP_UNLIKELY) {
        out->poison[i] = bad(&s[0], i);
        if (out->poison[i]) return;
        unsigned k = lane(&s[0], i).i ? 1 : 2;
        out->v[i] = lane(&s[k], i);
        out->poison[i] = bad(&s[k], i);
        return;
    }
    for (uint32_t j = 0; j < n->nsrc; j++) {
        a[j] = lane(&s[j], i);
        out->poison[i] |= bad(&s[j], i);
    }
    if (out->poison[i]) return;
    if (op_eval((enum op)n->op, (enum dtype)n->dt, (enum dtype)n->src[0]->dt, a, &out->v[i])) return;
    out->poison[i] = true;
    if (n->dt == DT_IDX)
        r->over = true;
    else
        r->odd = true;
}

static union val combine(enum op op, enum dtype dt, const struct fz_val *s, unsigned from, unsigned n) {
    if (n == 1) return lane(s, from);
    union val a[2] = {combine(op, dt, s, from, n / 2), combine(op, dt, s, from + n / 2, n - n / 2)},
              r = {.i = 0};
    op_eval(op, dt, dt, a, &r);
    return r;
}

/* Address of a lane: a scalar index of a wide INDEX means consecutive elements. */
static int64_t element(const uop *index, const struct fz_val *at, unsigned i) {
    uint64_t step = index->src[1]->lanes == 1 && index->lanes > 1 ? i : 0;
    return (int64_t)((uint64_t)lane(at, i).i + step);
}

static void eval_node(struct fz *f, const uop *n, const struct fz_val *all, uint64_t env, struct fz_result *r,
                      struct fz_val *out) {
    struct fz_val s[3];
    for (uint32_t j = 0; j < n->nsrc && j < 3; j++) s[j] = all[n->src[j]->id];
    out->lanes = n->lanes;
    for (unsigned i = 0; i < n->lanes; i++) {
        out->poison[i] = false;
        switch (n->op) {
        case OP_CONST: out->v[i] = (union val){.i = n->arg.i}; break; /* f and i share the bits */
        case OP_INVALID: out->poison[i] = true; break;
        case OP_LANES: out->v[i].i = (int64_t)i; break;
        case OP_VAR:
        case OP_RANGE: out->v[i] = leaf_value(f, n, env); break;
        case OP_INDEX:
            out->v[i].i = element(n, &s[1], i);
            out->poison[i] = bad(&s[1], i);
            break;
        case OP_LOAD:
        case OP_PRED_LOAD: {
            bool closed = n->op == OP_PRED_LOAD && !lane(&s[2], i).i;
            out->poison[i] =
                (n->op == OP_PRED_LOAD && bad(&s[2], i)) || (closed ? bad(&s[1], i) : bad(&s[0], i));
            if (closed)
                out->v[i] = lane(&s[1], i);
            else
                out->v[i] = memory(f, access_buf(n), lane(&s[0], i).i, (enum dtype)n->dt, env);
            break;
        }
        case OP_BUILD:
            out->v[i] = all[n->src[i]->id].v[0];
            out->poison[i] = all[n->src[i]->id].poison[0];
            break;
        case OP_EXTRACT:
            out->v[i] = lane(&s[0], (unsigned)n->arg.i);
            out->poison[i] = bad(&s[0], (unsigned)n->arg.i);
            break;
        case OP_VEC_REDUCE:
            for (unsigned k = 0; k < s[0].lanes; k++) out->poison[0] |= bad(&s[0], k);
            out->v[0] = combine((enum op)n->arg.i, (enum dtype)n->dt, &s[0], 0, s[0].lanes);
            break;
        case OP_PARAM:
        case OP_BLOCK:
        case OP_IF:
        case OP_STORE:
        case OP_STORE_ADD: break;
        default:
            if (op_is_pure((enum op)n->op))
                pure(n, s, i, out, r);
            else
                r->odd = true;
        }
    }
}

static void effects(const uop *n, const struct fz_val *all, struct fz_result *r) {
    const struct fz_val *c;
    switch (n->op) {
    case OP_BLOCK:
        for (uint32_t i = 0; i < n->nsrc; i++) effects(n->src[i], all, r);
        return;
    case OP_IF:
        c = &all[n->src[0]->id];
        if (c->poison[0])
            r->odd = true;
        else if (c->v[0].i)
            n->nsrc > 1 ? effects(n->src[1], all, r) : (void)0;
        else if (n->nsrc > 2)
            effects(n->src[2], all, r);
        return;
    default: break;
    }
    const uop *index = n->src[0];
    const struct fz_val *at = &all[index->id], *v = &all[n->src[1]->id];
    for (unsigned i = 0; i < index->lanes; i++) {
        const struct fz_val *g = n->nsrc > 2 ? &all[n->src[2]->id] : NULL;
        if (bad(at, i) || (g && !lane(g, i).i)) continue; /* a store through INVALID does nothing */
        if (r->neff == RG_COUNT(r->eff))
            r->odd = true;
        else
            r->eff[r->neff++] = (struct fz_effect){.op = (enum op)n->op,
                                                   .buf = index->src[0]->id,
                                                   .at = lane(at, i).i,
                                                   .v = lane(v, i),
                                                   .poison = bad(v, i),
                                                   .dt = (enum dtype)index->dt};
    }
}

void fz_eval(struct fz *f, const uop *root, uint64_t env, struct fz_result *r) {
    struct arena_mark mark = arena_mark(f->arena);
    uop_vec order = {0};
    uop_topo(f->arena, &root, 1, &order);
    struct fz_val *all = arena_raw(f->arena, sizeof *all * ((size_t)root->id + 1));
    r->neff = 0;
    r->over = r->odd = false;
    for (uint32_t i = 0; i < order.n; i++) {
        if (order.p[i]->lanes > FZ_LANES)
            r->odd = true;
        else
            eval_node(f, order.p[i], all, env, r, &all[order.p[i]->id]);
    }
    if (root->dt == DT_VOID)
        effects(root, all, r);
    else
        r->val = all[root->id];
    arena_release(f->arena, mark);
}

/* ---- comparing ---------------------------------------------------------------------------------------------- */

static double ulp_of(enum dtype dt, double x) {
    int digits = dt == DT_F64 ? 53 : dt == DT_F32 ? 24 : dt == DT_F16 ? 11 : 8;
    int emin = dt == DT_F64 ? -1022 : dt == DT_F16 ? -14 : -126;
    int e = x == 0 || !isfinite(x) ? emin : ilogb(x);
    return ldexp(1, RG_MAX(e, emin) - digits + 1);
}

static bool same(enum dtype dt, union val a, union val b, bool loose_zero, double ulp) {
    if (!dt_is_float(dt)) return a.i == b.i;
    if (isnan(a.f) || isnan(b.f)) return isnan(a.f) && isnan(b.f);
    if (!memcmp(&a.f, &b.f, sizeof a.f) || ((loose_zero || ulp > 0) && a.f == b.f)) return true;
    return ulp > 0 && isfinite(a.f) && fabs(a.f - b.f) <= ulp * ulp_of(dt, a.f);
}

static const char *compare_effects(const struct fz_result *l, const struct fz_result *r) {
    if (l->neff != r->neff) return "another number of elements is written";
    for (unsigned i = 0; i < l->neff; i++) {
        const struct fz_effect *a = &l->eff[i], *b = &r->eff[i];
        if (a->op != b->op || a->buf != b->buf || a->at != b->at) return "another element is written";
        if (a->poison) continue;
        if (b->poison || !same(a->dt, a->v, b->v, false, 0)) return "another value is written";
    }
    return NULL;
}

const char *fz_compare(const uop *left, const struct fz_result *l, const uop *right,
                       const struct fz_result *r, bool loose_zero, double ulp, bool strict) {
    if (left->dt != right->dt) return "the dtype changed";
    if (left->dt == DT_VOID) return compare_effects(l, r);
    if (right->lanes != left->lanes && right->lanes != 1) return "the lanes changed";
    for (unsigned i = 0; i < left->lanes; i++) {
        if (strict && bad(&l->val, i) && !bad(&r->val, i)) return "INVALID became a value";
        if (bad(&l->val, i)) continue;
        if (bad(&r->val, i)) return "a value became INVALID";
        if (!same((enum dtype)left->dt, lane(&l->val, i), lane(&r->val, i), loose_zero, ulp))
            return "the value changed";
    }
    return NULL;
}

static void describe_value(struct str *s, const uop *n, const struct fz_result *r) {
    for (unsigned i = 0; n->dt != DT_VOID && i < r->val.lanes; i++) {
        if (r->val.poison[i])
            str_add(s, " INVALID");
        else if (dt_is_float((enum dtype)n->dt))
            str_printf(s, " %.17g", r->val.v[i].f);
        else
            str_printf(s, " %lld", (long long)r->val.v[i].i);
    }
}

void fz_describe(struct fz *f, struct str *s, const uop *left, const uop *right, uint64_t env) {
    struct fz_result l, r;
    fz_eval(f, left, env, &l);
    fz_eval(f, right, env, &r);
    str_add(s, "\n  ");
    ir_print_node(s, f->ir, left, 9);
    str_add(s, "\n  =");
    describe_value(s, left, &l);
    str_add(s, "\n  became ");
    ir_print_node(s, f->ir, right, 9);
    str_add(s, "\n  =");
    describe_value(s, right, &r);
    uop_vec order = {0};
    uop_topo(f->arena, &left, 1, &order);
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *n = order.p[i];
        if (n->op != OP_VAR && n->op != OP_RANGE) continue;
        str_add(s, "\n    ");
        ir_print_node(s, f->ir, n, 2);
        union val v = leaf_value(f, n, env);
        if (dt_is_float((enum dtype)n->dt))
            str_printf(s, " = %.17g", v.f);
        else
            str_printf(s, " = %lld in [%lld, %lld]", (long long)v.i, (long long)n->lo, (long long)n->hi);
    }
}
