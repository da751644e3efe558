/* rules.h: the rule sets, and what rules may call in their guards and right sides. The one public header of
 * src/rules; math.h (vector math) is included by decomp.rules itself.
 *
 * A rule is sound if its right side refines its left: equal wherever the left side is defined. INVALID is
 * poison and IDX that leaves 64 bits is not defined. Bounds hold for every lane of a node.
 * docs/internals/rules.md is the manual of the language; `ridge rules` lists the rules.
 * Tests: tests/unit/rules.c fuzzes each rule on instances of its own left side. */
#ifndef RIDGE_RULES_H
#define RIDGE_RULES_H

#include "ir/ir.h"

/* ---- the sets (src/rules/sets.rules) --------------------------------------------------------------- */

const uop *rules_sym(struct rw *, const uop *); /* simplification of kernel graphs */
/* Sym, and predicated indices become predicated loads and stores. */
const uop *rules_predicate(struct rw *, const uop *);
const uop *rules_decomp(struct rw *, const uop *); /* sym, and EXP, SIN .. become arithmetic */
const uop *rules_native(struct rw *, const uop *); /* the same, but EXP, EXP2, SIGMOID of float32 stay */
/* What both read (rw.cx; NULL: nothing of it). */
struct decomp_for {
    bool native_f16; /* the target has arithmetic of vectors of float16 */
};

/* ---- types: floats are the last rows of dtype.def, so one comparison is enough ---------------------- */

_Static_assert(DT_F64 == DT_COUNT - 1 && DT_F8E4M3 == DT_IDX + 1, "floats are the last rows of dtype.def");
static inline bool rule_dt_float(unsigned dt) { return dt >= DT_F8E4M3; }
static inline bool rule_dt_int(unsigned dt) { return dt >= DT_I8 && dt <= DT_IDX; }
static inline bool rule_dt_wrap(unsigned dt) { return dt >= DT_I8 && dt < DT_IDX; } /* ints that wrap */
static inline bool rule_is_int(const uop *n) { return n->op == OP_CONST && !rule_dt_float(n->dt); }
static inline bool rule_is_flt(const uop *n) { return n->op == OP_CONST && rule_dt_float(n->dt); }
static inline bool rule_same_flt(double a, double b) { return !memcmp(&a, &b, sizeof a); }
static inline bool uop_lit_int(const uop *n, int64_t v) { return rule_is_int(n) && n->arg.i == v; }
static inline bool uop_lit_flt(const uop *n, double v) {
    return rule_is_flt(n) && rule_same_flt(n->arg.f, v);
}

/* ---- what generated right sides are made of --------------------------------------------------------- */

const uop *rule_int(struct rw *, unsigned dt, int64_t); /* CONST, wrapped into the type */
const uop *rule_flt(struct rw *, unsigned dt, double);
static inline const uop *rule_node(struct rw *rw, unsigned dt, const uop *n) {
    (void)rw, (void)dt;
    return n;
}
/* {C}: a node, an integer or a float. */
#define RULE_VALUE(rw, dt, x) \
    _Generic((x), const uop *: rule_node, uop *: rule_node, void *: rule_node, double: rule_flt,             \
             float: rule_flt, default: rule_int)((rw), (dt), (x))
/* (OP fixed.. ...): the fixed sources, then those of `from` starting at `k`. DT_VOID: the table says. */
const uop *rule_rest(struct rw *, enum op, unsigned dt, const uop *const *fixed, uint32_t nfixed,
                     const uop *from, uint32_t k, union arg);

/* ---- guards ------------------------------------------------------------------------------------------ */

static inline bool is_const(const uop *n) { return n->op == OP_CONST; }
static inline bool is_int(const uop *n) { return rule_dt_int(n->dt); }
static inline bool is_idx(const uop *n) { return n->dt == DT_IDX; }
static inline bool is_bool(const uop *n) { return n->dt == DT_BOOL; }
static inline bool is_float(const uop *n) { return rule_dt_float(n->dt); }
static inline int64_t lo(const uop *n) { return n->lo; }
static inline int64_t hi(const uop *n) { return n->hi; }
/* Bounds of a u64 are those of the int64_t with its bits: only meaningful when not negative. */
static inline bool ordered(const uop *n) { return n->dt != DT_U64 || n->lo >= 0; }
static inline bool fastmath(const struct rw *rw) { return rw->fast; }

/* Constants of types that wrap may always be combined; IDX is exact and must not overflow. */
static inline bool ok_add(const uop *n, int64_t a, int64_t b) {
    int64_t r;
    return n->dt != DT_IDX || !__builtin_add_overflow(a, b, &r);
}
static inline bool ok_mul(const uop *n, int64_t a, int64_t b) {
    int64_t r;
    return n->dt != DT_IDX || !__builtin_mul_overflow(a, b, &r);
}
/* The product is a positive number of n's type. */
static inline bool fits_mul(const uop *n, int64_t a, int64_t b) {
    int64_t r;
    return !__builtin_mul_overflow(a, b, &r) && r > 0 && r <= dt_max((enum dtype)n->dt);
}
/* x is one of two neighbours, of which the larger is a small multiple of c. */
static inline bool is_pair(const uop *x, int64_t c) {
    return x->lo == x->hi - 1 && x->hi > -((int64_t)1 << 30) && x->hi < (int64_t)1 << 30 &&
           c < (int64_t)1 << 30 && x->hi % c == 0;
}
/* Every value of x is one of the type. */
static inline bool fits_in(const uop *x, unsigned dt) {
    return rule_dt_int(dt) && dt != DT_U64 && x->lo >= dt_min((enum dtype)dt) &&
           x->hi <= dt_max((enum dtype)dt);
}
static inline bool sum_fits_in(const uop *x, int64_t c, unsigned dt) {
    int64_t lo, hi;
    return fits_in(x, dt) && !__builtin_add_overflow(x->lo, c, &lo) &&
           !__builtin_add_overflow(x->hi, c, &hi) && lo >= dt_min((enum dtype)dt) &&
           hi <= dt_max((enum dtype)dt);
}
/* Bounds that are not those of the whole type show that the value did not wrap. */
static inline bool no_wrap(const uop *n) {
    return n->lo > dt_min((enum dtype)n->dt) || n->hi < dt_max((enum dtype)n->dt);
}
static inline int64_t wadd(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t wsub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t wmul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline bool is_pow2(int64_t c) { return c > 0 && (c & (c - 1)) == 0; }
static inline int dt_bits(const uop *n) { return n->dt == DT_BOOL ? 1 : dtype_info[n->dt].bytes * 8; }
/* Greatest and least in the order of the type (u64 is unsigned). */
int64_t type_max(const uop *n, int64_t a, int64_t b);
int64_t type_min(const uop *n, int64_t a, int64_t b);

/* ---- right sides in C -------------------------------------------------------------------------------- */

const uop *fold(struct rw *, const uop *n);       /* a pure op of constants; NULL where not defined */
const uop *fold_exact(struct rw *, const uop *n); /* CONST if bounds pin the value, else NULL */
const uop *invalid(struct rw *, const uop *n);    /* INVALID of n's type */
const uop *cast_to(struct rw *, const uop *x, unsigned dt);

/* casts */
bool cast_lossless(unsigned from, unsigned to);         /* every value of `from` is one of `to` */
bool cast_through(unsigned a, unsigned b, unsigned c);  /* CAST<c>(CAST<b>(x of a)) is CAST<c>(x) */
bool cast_exact(const uop *, unsigned half, int depth); /* casting this float32 to half rounds nothing */
bool flt_recip_exact(unsigned dt, double k);            /* x/k is x*(1/k) for all x */

/* index arithmetic (index.c): IDX only */
const uop *index_norm(struct rw *, const uop *n);             /* ADD or MUL to the canonical sum, or NULL */
const uop *fold_divmod(struct rw *, const uop *n, int64_t c); /* IDIV or MOD of a sum by c > 0, or NULL */
const uop *fold_cmp(struct rw *, const uop *n); /* LT, EQ, NE: common terms and factors go, or NULL */

/* predicates and vectors */
const uop *pred_addr(struct rw *, const uop *index, const uop *where); /* INDEX without its predicate */
const uop *pull_build(struct rw *, const uop *build);                  /* NULL if no source is predicated */
bool same_lanes_build(const uop *build);                               /* BUILD of one scalar, repeated */
bool build_is_vector(const uop *build); /* BUILD of all lanes of one vector, in order */

const uop *load_scalar(struct rw *, const uop *load); /* LOAD of lanes that are all one element */

#endif
