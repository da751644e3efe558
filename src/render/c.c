/* c.c: a linear program as one C function: the walk over the list, memory and control.
 *
 * Each entry of the list becomes a line. A value becomes `const T vN`, N its position in the list, so the
 * text depends on the program and not on node ids; scalar integers that are used once (index arithmetic,
 * conditions) and single lanes are written where they are used. Nothing that reads memory or an
 * accumulator is moved: it is evaluated where it stands. Loops, branches, predicates and scratch are written
 * as they are; the C compiler does addressing, scheduling and register allocation.
 * A predicated access never touches memory where its predicate is false: one condition for a scalar predicate; for a vector
 * predicate masked loads and stores where the machine has them, else lane by lane.
 * c_op.c has the pure ops, c_cast.c the conversions, c_shuffle.c vectors of lanes, c_pre.c and c_vector.c the preamble. Tests: tests/unit/render.c */
#include "render/internal.h"

#include <stdlib.h>

const char *fmt(struct render *r, const char *f, ...) {
    char small[256];
    va_list ap;
    va_start(ap, f);
    int n = text_vprintf(small, sizeof small, f, ap);
    va_end(ap);
    if ((size_t)n < sizeof small) return arena_strdup(r->a, small, (size_t)n);
    char *p = arena_raw(r->a, (size_t)n + 1);
    va_start(ap, f);
    text_vprintf(p, (size_t)n + 1, f, ap);
    va_end(ap);
    return p;
}

void line(struct render *r, const char *f, ...) {
    va_list ap;
    for (int i = 0; i < r->indent; i++) str_add(r->o, "  ");
    va_start(ap, f);
    str_vprintf(r->o, f, ap);
    va_end(ap);
    str_addc(r->o, '\n');
}

/* Without the parentheses around the whole. */
const char *bare(struct render *r, const char *s) {
    int depth = 0;
    size_t n = strlen(s);
    if (*s != '(') return s;
    for (size_t i = 0; i + 1 < n; i++) {
        depth += (s[i] == '(') - (s[i] == ')');
        if (!depth) return s; /* the first one closes before the end */
    }
    return arena_strdup(r->a, s + 1, n - 2);
}

struct c_text named(struct render *r, struct c_text v) {
    if (v.atom) return v;
    const char *name = fmt(r, "v%u_%u", r->pos, ++r->tmp);
    line(r, "const %s %s = %s;", type_of(r, (enum dtype)v.dt, v.lanes, v.mask), name, bare(r, v.s));
    v.s = name;
    v.atom = true;
    v.moving = false; /* a copy */
    return v;
}

static void bad(struct render *r, const uop *n, const char *why) {
    err_throw(r->ir->err, RG_EINTERNAL, "kernel %s, entry %u (%s): %s; this is a bug in ridge", r->lin->name,
              r->pos, op_info[n->op].name, why);
}

/* Where n's value is kept: nodes of this program only are numbered, whatever else the ir holds. */
static struct c_text *val(struct render *r, const uop *n) {
    if (!r->slot[n->id]) {
        vec_push(r->a, &r->val, (struct c_text){0});
        r->slot[n->id] = r->val.n;
    }
    return &r->val.p[r->slot[n->id] - 1];
}

/* ---- operands ---------------------------------------------------------------------------------------*/

/* In parentheses: it may be the argument of a macro, which would cut it at its commas. */
static struct c_text lanes_text(struct render *r, const uop *n) {
    struct str s;
    str_init(&s, r->a);
    str_printf(&s, "((%s){", type_of(r, (enum dtype)n->dt, n->lanes, 0));
    for (unsigned i = 0; i < n->lanes; i++) str_printf(&s, i ? ", %u" : "%u", i);
    close_lanes(&s, n->lanes), str_add(&s, ")");
    return (struct c_text){.s = s.p, .node = n, .dt = n->dt, .lanes = n->lanes};
}

struct c_text operand(struct render *r, const uop *n) {
    struct c_text t;
    switch (n->op) {
    case OP_CONST: t = constant(r, (enum dtype)n->dt, n->arg); break;
    case OP_INVALID: t = constant(r, (enum dtype)n->dt, ARG_NONE); break;
    case OP_LANES: return lanes_text(r, n);
    default: t = *val(r, n);
    }
    if (!t.s) bad(r, n, "is used before it is evaluated");
    t.node = n;
    return t;
}

/* ---- memory ---------------------------------------------------------------------------------------- */

struct c_access { /* INDEX, resolved */
    enum dtype dt;
    unsigned lanes;
    const char *base;    /* pointer to elements */
    struct c_text index; /* scalar: the first of `lanes` consecutive ones; vector: one each */
    const uop *node;     /* of index */
};

/* A gather from uniform addresses on: only the lanes of the rest are taken out of a vector, once for all rows that share them. Moves
 * scalar terms of the index to the base, and returns the rest. Both stay in the buffer, as none is negative. */
static const uop *to_base(struct render *r, const uop *index, const char **base) {
    while (r->lang == LANG_C && index->op == OP_ADD && index->lanes > 1) {
        bool second = index->src[0]->lanes > 1;
        const uop *uniform = index->src[second], *rest = index->src[!second];
        if (uniform->lanes > 1 || rest->lanes == 1 || uniform->lo < 0 || rest->lo < 0) break;
        *base = fmt(r, "(%s + %s)", *base, operand(r, uniform).s);
        index = rest;
    }
    return index;
}

static struct c_access access_of_index(struct render *r, const uop *n) {
    if (n->op != OP_INDEX) bad(r, n, "is not an INDEX");
    if (n->lanes > MAX_LANES)
        err_throw(r->ir->err, RG_ELIMIT, "kernel %s: a vector of %d lanes; the C renderer has at most %d",
                  r->lin->name, n->lanes, MAX_LANES);
    struct c_access p = {.dt = (enum dtype)n->src[0]->dt, .lanes = n->lanes};
    const struct c_text *base = val(r, n->src[0]);
    if (!base->s) bad(r, n->src[0], "is not a buffer of this kernel");
    p.base = base->s;
    p.node = to_base(r, n->src[1], &p.base);
    p.index = operand(r, p.node);
    if (p.index.lanes > 1) p.index = named(r, p.index);
    return p;
}

/* Lane i of n, if it is a constant: the stride of a column times i. */
static bool const_lane(const uop *n, unsigned i, int64_t *v) {
    int64_t a, b;
    if (n->op == OP_CONST || n->op == OP_LANES) {
        *v = n->op == OP_CONST ? n->arg.i : i;
        return true;
    }
    if ((n->op != OP_ADD && n->op != OP_MUL && n->op != OP_LT) || !const_lane(n->src[0], i, &a) ||
        !const_lane(n->src[1], i, &b))
        return false;
    if (n->op == OP_LT) return *v = a < b, true;
    return !(n->op == OP_ADD ? __builtin_add_overflow(a, b, v) : __builtin_mul_overflow(a, b, v));
}

/* Index of element i. A constant keeps the vector of indices out of registers. */
static const char *index_of(struct render *r, const struct c_access *p, unsigned i) {
    int64_t v;
    if (p->index.lanes == 1) return i ? fmt(r, "%s + %u", p->index.s, i) : p->index.s;
    return p->node && const_lane(p->node, i, &v) ? fmt(r, "%lld", (long long)v) : lane(r, p->index, i);
}

/* Element i of the access as an lvalue. */
static const char *element(struct render *r, const struct c_access *p, unsigned i) {
    return fmt(r, "%s[%s]", p->base, index_of(r, p, i));
}

static bool is_contiguous(const struct c_access *p) {
    return p->lanes > 1 && p->index.lanes == 1 && storage_lanes(p->lanes) == p->lanes;
}

static const char *vector_lvalue(struct render *r, const struct c_access *p, bool is_const) {
    return fmt(r, "*(%s%sx%um *)(%s + %s)", is_const ? "const " : "", elem_type(p->dt), p->lanes, p->base,
               p->index.s);
}

/* { f(0), f(1), .. } where each lane is read if its predicate is true. */
static struct c_text gather_lanes(struct render *r, const struct c_access *p, const struct c_text *pred,
                                  struct c_text alt) {
    struct c_text t = {.dt = (uint8_t)p->dt, .lanes = (uint8_t)p->lanes, .mask = p->dt == DT_BOOL};
    struct str s;
    if (p->index.lanes == 1) { /* the index is written once for each lane */
        struct c_access *q = (struct c_access *)p;
        q->index = named(r, q->index);
    }
    str_init(&s, r->a);
    str_printf(&s, "(%s){", type_of(r, p->dt, p->lanes, 1));
    for (unsigned i = 0; i < p->lanes; i++) {
        const char *x = element(r, p, i);
        if (pred) x = fmt(r, "(%s[%u] ? %s : %s)", pred->s, i, x, lane(r, alt, i));
        str_printf(&s, p->dt == DT_BOOL ? "%s-(%s != 0)" : "%s%s", i ? ", " : "", x);
    }
    close_lanes(&s, p->lanes);
    t.s = s.p;
    return t;
}

/* Indices of a gather or scatter (GATHER, MGATHER, MSCATTER in c_pre.c): a vector of i32. NULL: there is none of that form. Constants: only where lanes
 * are predicated; without, a load has its address in the instruction. */
static const char *gather_index(struct render *r, const struct c_access *p, bool predicated) {
    unsigned bytes = dtype_info[p->dt].bytes, lanes = bytes == 8 ? 8 : p->lanes;
    bool constant = p->node != NULL;
    struct str s;
    if (p->index.lanes != p->lanes || p->lanes != lanes || (lanes != 8 && lanes != 16)) return NULL;
    if (p->dt == DT_BOOL && predicated) return NULL;
    str_init(&s, r->a);
    str_printf(&s, "((i32x%u){", lanes);
    for (unsigned i = 0; i < lanes; i++) {
        int64_t v = 0;
        constant = constant && const_lane(p->node, i, &v) && v == (int32_t)v;
        str_printf(&s, "%s%lld", i ? ", " : "", (long long)v);
    }
    str_add(&s, "})");
    if (constant) return predicated ? s.p : NULL;
    return dtype_info[p->index.dt].bytes == 4 ? p->index.s : NULL;
}

static struct c_text gather(struct render *r, const struct c_access *p, const struct c_text *pred,
                            struct c_text alt) {
    struct c_text t = {.dt = (uint8_t)p->dt, .lanes = (uint8_t)p->lanes, .mask = p->dt == DT_BOOL};
    const char *x = gather_index(r, p, pred), *type = type_of(r, p->dt, p->lanes, 0);
    unsigned bytes = dtype_info[p->dt].bytes;
    if (!x) return gather_lanes(r, p, pred, alt);
    if (p->dt == DT_BOOL) {
        t.s = fmt(r, "(i8x%u)(GATHER1x%u(u8x%u, %s, %s) != 0)", p->lanes, p->lanes, p->lanes, p->base, x);
    } else if (!pred) {
        t.s = fmt(r, "GATHER%ux%u(%s, %s, %s)", bytes, p->lanes, type, p->base, x);
    } else {
        struct c_text m = named(r, mask_width(r, *pred, RG_MAX(bytes, 4)));
        t.s = fmt(r, "MGATHER%ux%u(%s, %s, %s, %s, %s)", bytes, p->lanes, type, p->base, x, m.s,
                  named(r, splat(r, alt, p->lanes, 0)).s);
    }
    return t;
}

static struct c_text read_access(struct render *r, const struct c_access *p) {
    struct c_text t = {
        .dt = (uint8_t)p->dt, .lanes = (uint8_t)p->lanes, .mask = p->dt == DT_BOOL && p->lanes > 1};
    if (p->lanes > 1 && !is_contiguous(p)) return gather(r, p, NULL, t);
    t.s = p->lanes == 1 ? element(r, p, 0) : vector_lvalue(r, p, true);
    if (p->dt == DT_BOOL && p->lanes == 1)
        t.s = fmt(r, "(%s != 0)", t.s);
    else if (p->dt == DT_BOOL)
        t.s = fmt(r, "(i8x%u)(%s != 0)", p->lanes, t.s);
    return t;
}

/* Has it a masked store (MS in c_pre.c)? Consecutive elements. */
static bool is_maskable(const struct c_access *p) { return is_contiguous(p) && p->dt != DT_BOOL; }

static struct c_text masked_load(struct render *r, struct c_access *p, struct c_text pred,
                                 struct c_text alt) {
    bool truth = p->dt == DT_BOOL;
    struct c_text t = {.dt = (uint8_t)p->dt, .lanes = (uint8_t)p->lanes, .mask = truth};
    unsigned bytes = dtype_info[p->dt].bytes;
    pred = named(r, mask_width(r, pred, RG_MAX(bytes, 4)));
    alt = named(r, splat(r, alt, p->lanes, truth));
    p->index = named(r, p->index);
    const char *type = truth ? fmt(r, "u8x%u", p->lanes) : type_of(r, p->dt, p->lanes, 0);
    t.s = fmt(r, "ML%ux%u(%s, (%s + %s), %s, %s)", bytes, p->lanes, type, p->base, p->index.s, pred.s, alt.s);
    if (truth) t.s = fmt(r, "(i8x%u)(%s != 0)", p->lanes, t.s);
    return t;
}

/* The part of a predicate that all lanes have alike, if the other part is known lane by lane: then there is no mask to compute. */
static const uop *alike_part(const uop *pred, const uop **known) {
    int64_t v;
    for (uint32_t i = 0; i < 2 && pred->op == OP_AND; i++) {
        if (pred->src[i]->lanes != 1 || pred->src[!i]->lanes == 1 || !const_lane(pred->src[!i], 0, &v))
            continue;
        *known = pred->src[!i];
        return pred->src[i];
    }
    return NULL;
}

static struct c_text load(struct render *r, const uop *n) {
    struct c_access p = access_of_index(r, n->src[0]);
    if (n->op == OP_LOAD) return read_access(r, &p);
    struct c_text alt = operand(r, n->src[1]), pred = operand(r, n->src[2]);
    const uop *known, *alike = pred.lanes > 1 && is_contiguous(&p) ? alike_part(n->src[2], &known) : NULL;
    if (alike) {
        struct c_text v = masked_load(r, &p, operand(r, known), alt);
        v.s = fmt(r, "(%s ? %s : %s)", operand(r, alike).s, v.s, named(r, splat(r, alt, p.lanes, v.mask)).s);
        return v;
    }
    if (pred.lanes > 1 && is_contiguous(&p)) return masked_load(r, &p, pred, alt);
    if (pred.lanes > 1) {
        pred = named(r, pred);
        return gather(r, &p, &pred, named(r, alt));
    }
    struct c_text v = read_access(r, &p);
    const char *other = splat(r, alt, p.lanes, v.mask).s;
    v.s = fmt(r, "(%s ? (%s)%s : %s)", pred.s, type_of(r, p.dt, p.lanes, v.mask), v.s, other);
    v.moving = pred.moving;
    return v;
}

/* What is written to memory: bool vectors are masks, memory holds 0 and 1. */
static const char *stored(struct render *r, const struct c_access *p, struct c_text v) {
    v = splat(r, v, p->lanes, p->dt == DT_BOOL ? 1 : 0);
    if (p->dt != DT_BOOL || p->lanes == 1) return v.s;
    return fmt(r, "(u8x%u)-%s", storage_lanes(p->lanes), v.s);
}

static const char *added(struct render *r, const struct c_access *p, struct c_text v) {
    struct c_text src[2] = {named(r, read_access(r, p)), v};
    src[0].node = NULL;
    return stored(r, p, op_plain(r, OP_ADD, p->dt, p->lanes, src, 2));
}

/* Lane by lane, in order: two lanes may add to the same element. */
static void scatter(struct render *r, const uop *n, struct c_access *p, struct c_text v,
                    const struct c_text *pred) {
    unsigned bytes = dtype_info[p->dt].bytes;
    const char *to = pred && n->op == OP_STORE && bytes >= 4 ? gather_index(r, p, true) : NULL;
    v = named(r, to ? splat(r, v, p->lanes, 0) : v);
    if (to) {
        line(r, "MSCATTER%ux%u(%s, %s, %s, %s)", bytes, p->lanes, p->base, to,
             named(r, mask_width(r, *pred, bytes)).s, v.s);
        return;
    }
    p->index = named(r, p->index);
    for (unsigned i = 0; i < p->lanes; i++) {
        const char *at = element(r, p, i), *x = lane(r, v, i);
        if (pred) line(r, "if (%s[%u]) {", pred->s, i), r->indent++;
        if (n->op == OP_STORE_ADD) {
            struct c_access one = *p;
            one.lanes = 1;
            one.index = (struct c_text){.s = index_of(r, p, i), .dt = p->index.dt, .lanes = 1};
            x = added(r, &one, (struct c_text){.s = x, .dt = v.dt, .lanes = 1});
        }
        line(r, "%s = %s;", at, x);
        if (pred) r->indent--, line(r, "}");
    }
}

/* Several lanes to one element, in order. */
static void add_lanes(struct render *r, struct c_access *p, struct c_text v, struct c_text pred,
                      unsigned lanes) {
    v = named(r, v), pred = pred.s ? named(r, pred) : pred;
    p->index = named(r, p->index);
    for (unsigned i = 0; i < lanes; i++) {
        if (pred.s) line(r, "if (%s) {", lane(r, pred, i)), r->indent++;
        line(r, "%s = %s;", element(r, p, 0),
             added(r, p, (struct c_text){.s = lane(r, v, i), .dt = v.dt, .lanes = 1}));
        if (pred.s) r->indent--, line(r, "}");
    }
}

static void masked_store(struct render *r, struct c_access *p, struct c_text v, struct c_text pred) {
    unsigned bytes = dtype_info[p->dt].bytes;
    pred = named(r, mask_width(r, pred, RG_MAX(bytes, 4)));
    v = named(r, splat(r, v, p->lanes, 0));
    p->index = named(r, p->index);
    line(r, "MS%ux%u((%s + %s), %s, %s)", bytes, p->lanes, p->base, p->index.s, pred.s, v.s);
}

static void store(struct render *r, const uop *n) {
    struct c_access p = access_of_index(r, n->src[0]);
    struct c_text v = operand(r, n->src[1]), pred = {0};
    if (v.dt != p.dt) bad(r, n, "stores a value of another type than the buffer's");
    if (n->nsrc > 2) pred = operand(r, n->src[2]);
    unsigned lanes = RG_MAX(v.lanes, pred.lanes);
    if (p.lanes == 1 && lanes > 1 && n->op == OP_STORE_ADD) return add_lanes(r, &p, v, pred, lanes);
    if (pred.lanes > 1 && n->op == OP_STORE && is_maskable(&p)) return masked_store(r, &p, v, pred);
    if (pred.lanes > 1) pred = named(r, pred);
    bool whole = p.lanes == 1 || is_contiguous(&p);
    if (pred.lanes > 1 && p.lanes > 1) return scatter(r, n, &p, v, &pred);
    if (pred.s) line(r, "if (%s) {", pred.s), r->indent++;
    if (!whole) {
        scatter(r, n, &p, v, NULL);
    } else {
        const char *x = n->op == OP_STORE_ADD ? added(r, &p, v) : stored(r, &p, v);
        line(r, "%s = %s;", p.lanes == 1 ? element(r, &p, 0) : vector_lvalue(r, &p, false), bare(r, x));
    }
    if (pred.s) r->indent--, line(r, "}");
}

/* ---- values ---------------------------------------------------------------------------------------- */

static struct c_text extract(struct render *r, const uop *n) {
    struct c_text v = operand(r, n->src[0]), t = {.dt = n->dt, .lanes = 1};
    if (v.lanes == 1) return v;
    if (n->arg.i < 0 || n->arg.i >= v.lanes) bad(r, n, "takes a lane that is not there");
    t.moving = v.moving;
    t.s = lane(r, named(r, v), (unsigned)n->arg.i);
    t.atom = n->dt != DT_BOOL;
    return t;
}

/* Random bits rotate words: an instruction of AVX-512, which gcc makes of shifts only where it combines three of its own. */
static bool is_rotation(const uop *n) {
    if (n->op != OP_OR || n->dt != DT_U32 || n->lanes != 16) return false;
    const uop *up = n->src[0], *down = n->src[1];
    return up->op == OP_SHL && down->op == OP_SHR && up->src[0] == down->src[0] && uop_is_const(up->src[1]) &&
           uop_is_const(down->src[1]) && up->src[1]->arg.i > 0 &&
           up->src[1]->arg.i + down->src[1]->arg.i == 32;
}

static struct c_text rotate(struct render *r, const uop *n) {
    const uop *up = n->src[0];
    struct c_text x = operand(r, up->src[0]);
    return (struct c_text){
        .s = fmt(r, "ROL(%s, %d)", x.s, (int)up->src[1]->arg.i), .dt = DT_U32, .lanes = 16};
}

static struct c_text evaluate(struct render *r, const uop *n) {
    struct c_text src[3] = {{0}};
    if (is_rotation(n)) return rotate(r, n);
    switch (n->op) {
    case OP_LOAD:
    case OP_PRED_LOAD: return load(r, n);
    case OP_BUILD: return build_text(r, n);
    case OP_EXTRACT: return extract(r, n);
    case OP_VEC_REDUCE: return hred_text(r, (enum op)n->arg.i, operand(r, n->src[0]));
    default:
        if (!op_is_pure((enum op)n->op) || n->nsrc > 3)
            err_throw(r->ir->err, RG_EUNSUPPORTED, "kernel %s: %s does not stand in a linear program",
                      r->lin->name, op_info[n->op].name);
        for (uint32_t i = 0; i < n->nsrc; i++) src[i] = operand(r, n->src[i]);
        return op_text(r, n, src);
    }
}

/* The next entry is the only user, so that nothing can change in between. */
static bool used_next(const struct render *r, const uop *n) {
    const uop *next = r->pos + 1 < r->lin->n ? r->lin->u[r->pos + 1] : NULL;
    return next && r->uses[r->pos] == 1 && (next->op == OP_SET || next->op == OP_STORE) && next->src[1] == n;
}

/* Index arithmetic and conditions read better, and compile faster, where they are used. */
static bool write_in_place(const struct render *r, const uop *n, const struct c_text *t) {
    if (used_next(r, n)) return true;
    if (t->moving || n->op == OP_LOAD || n->op == OP_PRED_LOAD) return false;
    if (t->atom) return true;
    return t->lanes == 1 && !dt_is_float((enum dtype)t->dt) && r->uses[r->pos] == 1 && strlen(t->s) < 96;
}

static void value(struct render *r, const uop *n) {
    if (n->lanes > MAX_LANES)
        err_throw(r->ir->err, RG_ELIMIT, "kernel %s: a vector of %d lanes; the C renderer has at most %d",
                  r->lin->name, n->lanes, MAX_LANES);
    struct c_text t;
    if (n->op == OP_PARAMS) {
        struct c_text i = operand(r, n->src[0]);
        t = (struct c_text){.s = fmt(r, "v%u", r->pos), .dt = n->dt, .lanes = 1, .atom = true};
        line(r, "%s *const v%u = (%s *)buf[%u + %s];", elem_type((enum dtype)n->dt), r->pos,
             elem_type((enum dtype)n->dt), n->arg.param.slot, i.s);
        *val(r, n) = t;
        return;
    }
    t = evaluate(r, n);
    t.node = n;
    if (!write_in_place(r, n, &t)) {
        line(r, "const %s v%u = %s;", type_of(r, (enum dtype)t.dt, t.lanes, t.mask), r->pos, bare(r, t.s));
        t.s = fmt(r, "v%u", r->pos);
        t.atom = true;
        t.moving = false;
    }
    *val(r, n) = t;
}

/* ---- statements ------------------------------------------------------------------------------------ */

static void open_range(struct render *r, const uop *n) {
    const char *t = elem_type((enum dtype)n->dt), *name = fmt(r, "r%u", r->pos);
    line(r, "for (%s %s = 0; %s < %s; %s++) {", t, name, name, operand(r, n->src[0]).s, name);
    *val(r, n) = (struct c_text){.s = name, .node = n, .dt = n->dt, .lanes = 1, .atom = true};
    r->indent++;
}

static void set(struct render *r, const uop *n) {
    const struct c_text acc = *val(r, n->src[0]);
    if (n->src[0]->op != OP_ACC || !acc.s) bad(r, n, "sets something that is no accumulator");
    struct c_text v = splat(r, operand(r, n->src[1]), acc.lanes, acc.mask);
    line(r, "%s = %s;", acc.s, bare(r, v.s));
}

static void prefetch(struct render *r, const uop *n) {
    struct c_access p = access_of_index(r, n->src[0]);
    line(r, "__builtin_prefetch(&%s, 0, %d);", element(r, &p, 0), n->arg.i > 1 ? 2 : 3);
}

/* AMX: the accumulators of an MMA are an array, T3[0] .. (declare_tiles). */
static void multiply_tiles(struct render *r, const uop *n) {
    struct c_access a = access_of_index(r, n->src[n->nsrc - 2]), b = access_of_index(r, n->src[n->nsrc - 1]);
    const char *tile = val(r, n->src[0])->s;
    unsigned pitch = n->arg.mma.rows[MMA_B] * dtype_info[a.dt].bytes;
    line(r, "%s_%s(%.*s, %s + (%s), %s + (%s), %u, %u%s);", pitch ? "mma_rows" : "mma",
         mma_info[n->arg.mma.instr].name, (int)strcspn(tile, "["), tile, a.base, bare(r, a.index.s), b.base,
         bare(r, b.index.s), n->arg.mma.rows[MMA_A], n->arg.mma.zero_init,
         pitch ? fmt(r, ", %ul", pitch) : "");
}

/* An MMA instruction of a CPU: one or more machine instructions, each with the next accumulator and, if a is in memory, the next
 * elements of it (c_pre.c: mma_NAME). */
static void matrix_multiply(struct render *r, const uop *n) {
    enum mma instr = (enum mma)n->arg.mma.instr;
    if (!mma_is_cpu(instr)) bad(r, n, "is a GPU's instruction");
    const uop *src_a = n->src[n->nsrc - 2], *src_b = n->src[n->nsrc - 1];
    if (mma_has_tiles(instr)) return multiply_tiles(r, n);
    struct c_text b = named(r, operand(r, src_b));
    const char *name = mma_info[instr].name;
    if (src_a->op != OP_INDEX) {
        struct c_text a = named(r, operand(r, src_a));
        for (uint32_t i = 0; i + 2 < n->nsrc; i++)
            line(r, "%s = mma_%s(%s, %s, %s);", val(r, n->src[i])->s, name, val(r, n->src[i])->s, a.s, b.s);
        return;
    }
    struct c_access p = access_of_index(r, src_a);
    unsigned each = mma_map(instr, MMA_A).regs / (n->nsrc - 2);
    for (uint32_t i = 0; i + 2 < n->nsrc; i++)
        line(r, "%s = mma_%s(%s, %s + (%s) + %u, %s);", val(r, n->src[i])->s, name, val(r, n->src[i])->s,
             p.base, bare(r, p.index.s), i * each, b.s);
}

static void entry(struct render *r, const uop *n) {
    r->tmp = 0;
    switch (n->op) {
    case OP_RANGE: open_range(r, n); break;
    case OP_IF:
        line(r, "if (%s) {", operand(r, n->src[0]).s);
        r->indent++;
        break;
    case OP_ELSE:
        r->indent--;
        line(r, "} else {");
        r->indent++;
        break;
    case OP_END:
        r->indent--;
        line(r, "}");
        break;
    case OP_STORE:
    case OP_STORE_ADD: store(r, n); break;
    case OP_PREFETCH: prefetch(r, n); break;
    case OP_SET: set(r, n); break;
    case OP_MMA: matrix_multiply(r, n); break;
    default: value(r, n);
    }
}

/* ---- the function ---------------------------------------------------------------------------------- */

/* Counts a use of n: of its latest evaluation, or, the first time, of a leaf. last: by id, position + 1. */
static void count_use(struct render *r, struct leaves *l, uint32_t *last, const uop *n) {
    if (n->op == OP_INDEX)
        for (uint32_t i = 0; i < n->nsrc; i++) count_use(r, l, last, n->src[i]);
    if (last[n->id]) {
        r->uses[last[n->id] - 1]++;
        return;
    }
    last[n->id] = r->lin->n + 1;
    if (n->op == OP_PARAM) vec_push(r->a, &l->param, n);
    if (n->op == OP_VAR) vec_push(r->a, &l->var, n);
    if (n->op == OP_ACC) vec_push(r->a, &l->acc, n);
}

void count_uses(struct render *r, struct leaves *l) {
    uint32_t *last = arena_array(r->a, uint32_t, r->ir->n + 1);
    for (uint32_t i = 0; i < r->lin->n; i++) {
        const uop *n = r->lin->u[i];
        for (uint32_t k = 0; k < n->nsrc; k++) count_use(r, l, last, n->src[k]);
        last[n->id] = i + 1;
    }
}

/* By slot, then by type: the order in which the list happens to mention buffers says nothing. */
void sort_by_slot(uop_vec *v) {
    for (uint32_t i = 1; i < v->n; i++)
        for (uint32_t k = i; k > 0; k--) {
            const uop *a = v->p[k - 1], *b = v->p[k];
            if (a->arg.param.slot < b->arg.param.slot ||
                (a->arg.param.slot == b->arg.param.slot && a->dt <= b->dt))
                break;
            v->p[k - 1] = b, v->p[k] = a;
        }
}

/* Buffers and scratch are parameters of an inner function: compilers believe `restrict` there and not on
 * local variables, and only then move the loads of one copy of a statement above the stores of another. It is
 * not inlined (BODY): the promise would become metadata, which costs clang a fifth more time. */
struct signature {
    struct str formal, actual;
};

/* The same slot may be seen through two types: then neither view is restrict. */
static void declare_params(struct render *r, struct signature *g, uop_vec *v) {
    sort_by_slot(v);
    for (uint32_t i = 0; i < v->n; i++) {
        const uop *n = v->p[i], *before = i ? v->p[i - 1] : NULL, *after = i + 1 < v->n ? v->p[i + 1] : NULL;
        uint32_t slot = n->arg.param.slot;
        bool again = before && before->arg.param.slot == slot,
             shared = again || (after && after->arg.param.slot == slot);
        const char *t = elem_type((enum dtype)n->dt);
        const char *name = again ? fmt(r, "b%u_%s", slot, dtype_info[n->dt].name) : fmt(r, "b%u", slot);
        if (!again || before->dt != n->dt) {
            str_printf(&g->formal, ", %s *%s%s", t, shared ? "" : "restrict ", name);
            str_printf(&g->actual, ", (%s *)buf[%u]", t, slot);
        } else
            name = val(r, before)->s;
        *val(r, n) = (struct c_text){.s = name, .dt = n->dt, .lanes = 1, .atom = true};
    }
}

static void declare_vars(struct render *r, uop_vec *v) {
    sort_by_slot(v);
    for (uint32_t i = 0; i < v->n; i++) {
        const uop *n = v->p[i];
        uint32_t slot = n->arg.param.slot;
        enum dtype d = (enum dtype)n->dt;
        const char *t = elem_type(d), *x;
        const char *name = fmt(r, "n%u_%s", slot, dtype_info[d].name);
        if (d == DT_BOOL)
            x = fmt(r, "var[%u] != 0", slot);
        else if (d == DT_F64)
            x = fmt(r, "U(f64, i64, var[%u])", slot);
        else if (d == DT_F32)
            x = fmt(r, "U(f32, u32, (u32)var[%u])", slot);
        else if (dt_is_float(d))
            x = fmt(r, "U(%s, u16, (u16)var[%u])", t, slot);
        else
            x = fmt(r, "(%s)var[%u]", t, slot);
        bool again = i && v->p[i - 1]->arg.param.slot == slot && v->p[i - 1]->dt == n->dt;
        if (!again) line(r, "const %s %s = %s;", t, name, x);
        *val(r, n) = (struct c_text){.s = name, .node = n, .dt = n->dt, .lanes = 1, .atom = true};
    }
}

static void declare_locals(struct render *r, struct signature *g) {
    int64_t at = 0;
    for (uint32_t i = 0; i < r->lin->nlocal; i++) {
        const uop *n = r->lin->local[i];
        const char *t = elem_type((enum dtype)n->dt), *name = fmt(r, "L%u", i);
        str_printf(&g->formal, ", %s *restrict %s", t, name);
        str_printf(&g->actual, ", (%s *)((char *)scratch + %lld)", t, (long long)at);
        *val(r, n) = (struct c_text){.s = name, .dt = n->dt, .lanes = 1, .atom = true};
        at = (at + n->src[0]->hi * dtype_info[n->dt].bytes + 63) & ~(int64_t)63;
    }
}

/* The accumulators of AMX are stored between MMAs: an array for each MMA, in the order of its registers. */
static bool declare_tiles(struct render *r, bool begin) {
    uint32_t tiles = 0;
    for (uint32_t i = 0; i < r->lin->n; i++) {
        const uop *n = r->lin->u[i];
        if (n->op != OP_MMA || !mma_has_tiles((enum mma)n->arg.mma.instr)) continue;
        if (begin) return true;
        if (val(r, n->src[0])->s) continue;
        const uop *acc = n->src[0];
        line(r, "%s T%u[%u];", type_of(r, (enum dtype)acc->dt, acc->lanes, 0), tiles, n->nsrc - 2);
        for (uint32_t k = 0; k + 2 < n->nsrc; k++)
            *val(r, n->src[k]) = (struct c_text){.s = fmt(r, "T%u[%u]", tiles, k),
                                                 .dt = acc->dt,
                                                 .lanes = acc->lanes,
                                                 .atom = true,
                                                 .moving = true};
        tiles++;
    }
    return tiles != 0;
}

static void declare_accs(struct render *r, uop_vec *v) {
    for (uint32_t i = 0; i < v->n; i++) {
        const uop *n = v->p[i];
        if (val(r, n)->s) continue;
        unsigned mask = n->dt == DT_BOOL && n->lanes > 1;
        const char *name = fmt(r, "a%u", i);
        line(r, "%s %s;", type_of(r, (enum dtype)n->dt, n->lanes, mask), name);
        *val(r, n) = (struct c_text){
            .s = name, .dt = n->dt, .lanes = n->lanes, .mask = (uint8_t)mask, .atom = true, .moving = true};
    }
}

/* Has some loop more accumulators than a row of sums: a register tile? Its order is the micro-kernel's; the compiler that
 * schedules it again spills. */
static bool has_register_tile(const struct render *r, const uop_vec *acc) {
    enum { FEW_ACCUMULATORS = 8, MOST_DEPTH = 64 };
    uint32_t *last = arena_array(r->a, uint32_t, acc->n + 1), many[MOST_DEPTH] = {0}, at[MOST_DEPTH] = {0},
             depth = 0;
    for (uint32_t i = 0; i < r->lin->n; i++) {
        const uop *n = r->lin->u[i];
        if (n->op == OP_RANGE && ++depth < MOST_DEPTH) many[depth] = 0, at[depth] = i + 1;
        if (n->op == OP_END && n->src[0]->op == OP_RANGE && depth) depth--;
        if (n->op != OP_SET || !depth || depth >= MOST_DEPTH) continue;
        uint32_t k = 0;
        while (k < n->src[1]->nsrc && n->src[1]->src[k] != n->src[0]) k++;
        if (k == n->src[1]->nsrc) continue; /* begins a sum */
        k = 0;
        while (k < acc->n && acc->p[k] != n->src[0]) k++;
        if (last[k] == at[depth]) continue;
        last[k] = at[depth];
        if (++many[depth] > FEW_ACCUMULATORS) return true;
    }
    return false;
}

/* Does a loaded vector live longer than one update of every accumulator of its loop, as the taps of a window share it? gcc then copies
 * accumulators around that it has coalesced. */
static bool keeps_loads(const struct render *r, const uop_vec *acc) {
    uint32_t *sets = arena_array(r->a, uint32_t, r->lin->n + 1),
             *at = arena_array(r->a, uint32_t, r->ir->n + 1);
    for (uint32_t i = 0; i < r->lin->n;
         i++) { /* sets[i]: accumulators set before i; at: where a load is, + 1 */
        const uop *n = r->lin->u[i];
        sets[i + 1] = n->op == OP_RANGE || n->op == OP_END ? 0 : sets[i] + (n->op == OP_SET);
        if (n->op == OP_LOAD && n->lanes > 1) at[n->id] = i + 1;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            uint32_t from = at[n->src[k]->id];
            if (from && sets[i] > sets[from] + acc->n) return true;
        }
    }
    return false;
}

const char *render_body(struct str *o, struct ir *ir, const struct linear *lin) {
    struct render r = {.o = o, .ir = ir, .a = ir->arena, .lin = lin};
    struct leaves l = {0};
    r.slot = arena_array(r.a, uint32_t, ir->n + 1);
    r.uses = arena_array(r.a, uint32_t, lin->n + 1);
    count_uses(&r, &l);
    struct signature sig;
    str_init(&sig.formal, r.a), str_init(&sig.actual, r.a);
    declare_params(&r, &sig, &l.param);
    declare_locals(&r, &sig);
    str_printf(o, "%s %s_body(void *const *buf, const i64 *var, u32 t0, u32 t1%s) {\n",
               !has_register_tile(&r, &l.acc) ? "SCHEDULED_BODY"
               : keeps_loads(&r, &l.acc)      ? "WINDOW_BODY"
                                              : "BODY",
               lin->name, sig.formal.n ? sig.formal.p : "");
    r.indent = 1;
    declare_vars(&r, &l.var);
    bool grid = lin->n && lin->u[0]->op == OP_RANGE && lin->u[0]->arg.range.kind == AX_GRID;
    bool tiles = declare_tiles(&r, true);
    if (tiles) line(&r, "AMX_BEGIN");
    line(&r, "for (u32 t = t0; t < t1; t++) {");
    r.indent++;
    if (grid) {
        const uop *g = lin->u[0];
        line(&r, "const %s r0 = (%s)t;", elem_type((enum dtype)g->dt), elem_type((enum dtype)g->dt));
        *val(&r, g) = (struct c_text){.s = "r0", .node = g, .dt = g->dt, .lanes = 1, .atom = true};
    }
    declare_tiles(&r, false);
    declare_accs(&r, &l.acc);
    for (r.pos = grid; r.pos < lin->n - grid; r.pos++) entry(&r, lin->u[r.pos]);
    r.indent--;
    line(&r, "}");
    if (tiles) line(&r, "AMX_END");
    str_add(o, "}\n");
    return sig.actual.n ? sig.actual.p : "";
}

void render_c(struct str *o, struct ir *ir, const struct linear *lin) {
    const char *actual = render_body(o, ir, lin);
    str_printf(o, "void %s(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {\n", lin->name);
    str_printf(o, "  %s_body(buf, var, t0, t1%s);\n}\n", lin->name, actual);
}
