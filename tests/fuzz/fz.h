/* fz.h: random terms and their values, for fuzzing rewrite rules.
 *
 * rulegen emits, for each rule, a builder of random instances of its left side in terms of the functions
 * below, and the rule alone as a matcher. fz.c makes terms, eval.c evaluates them. */
#ifndef RIDGE_FZ_H
#define RIDGE_FZ_H

#include "ir/ir.h"

enum { FZ_LANES = 4, FZ_POOL = 24 };

struct fz {
    struct ir *ir;
    struct arena *arena;
    uint64_t rng;
    unsigned lanes; /* of the vectors of this instance; 1: none */
    int64_t
        pool[FZ_POOL]; /* numbers of this instance: later ones are chosen near them, so that guards fire */
    unsigned npool, slot, depth;
    const uop *leaf[FZ_POOL]; /* made so far */
    unsigned nleaf;
    bool tame;  /* floats are finite and not zero: for FASTMATH rules */
    bool preds; /* integers may be WHERE(g, x, INVALID) */
};

void fz_begin(struct fz *, uint64_t seed); /* a new instance */
uint64_t fz_rand(struct fz *);
unsigned fz_below(struct fz *, unsigned n);

/* what generated builders call */
enum fz_kind { FZ_VALUE, FZ_SCALAR, FZ_VECTOR, FZ_ADDR, FZ_BUF, FZ_STMT };
#define FZ_ANY_ARG INT64_MIN
#define FZ_ALL (((1u << DT_COUNT) - 1) & ~1u)
#define FZ_NUMBER (FZ_ALL & ~(1u << DT_BOOL))
enum op fz_pick(struct fz *, const enum op *, unsigned n);
uint32_t fz_types(enum op); /* dtypes an op works on, as a mask */
enum dtype fz_dtype(struct fz *, uint32_t mask);
enum dtype fz_same_width(struct fz *, enum dtype, uint32_t mask);
int64_t fz_int(struct fz *, enum dtype);
double fz_flt(struct fz *, enum dtype);
void fz_note(struct fz *, int64_t);
const uop *fz_const(struct fz *, enum dtype);
const uop *fz_leaf(struct fz *, enum fz_kind, enum dtype);
/* NULL if a source is NULL or the lanes do not fit: the instance is dropped. */
const uop *fz_op(struct fz *, enum op, enum dtype, const uop *const *src, uint32_t n, int64_t arg);
const uop *fz_var(struct fz *, const char *name, enum dtype, bool bounds, int64_t lo, int64_t hi);
const uop *fz_expr(struct fz *, enum dtype, unsigned depth); /* a random expression */

/* what `fuzz` lines call */
const uop *fz_sum(struct fz *, unsigned terms); /* of IDX */
const uop *fz_divmod(struct fz *, enum op);
const uop *fz_divmod_pair(struct fz *, enum op); /* of two values between which the quotient changes */
const uop *fz_cmp(struct fz *, enum op);         /* of sums */
const uop *
fz_half_twice(struct fz *); /* signs and extremes of half values in float32, rounded and cast back */
const uop *fz_build(struct fz *, enum dtype);
const uop *fz_build_predicated(struct fz *); /* of IDX, some lanes WHERE(g, x, INVALID) */
const uop *fz_build_of_extracts(struct fz *);
const uop *fz_extract(struct fz *, const uop *);
const uop *fz_lanes(struct fz *);
const uop *fz_vec_reduce(struct fz *, const uop *);
const uop *fz_load_build(struct fz *);
double fz_pow2(struct fz *);

/* ---- values (eval.c) --------------------------------------------------------------------------------- */

struct fz_val {
    union val v[FZ_LANES];
    bool poison[FZ_LANES];
    unsigned lanes; /* 1: the same for all */
};
struct fz_effect { /* one element written */
    enum op op;
    uint64_t buf;
    int64_t at;
    union val v;
    bool poison;
    enum dtype dt;
};
struct fz_result {
    struct fz_val val;
    struct fz_effect eff[32];
    unsigned neff;
    bool over; /* IDX left 64 bits: this environment says nothing */
    bool odd;  /* met something that has no value here */
};
void fz_eval(struct fz *, const uop *root, uint64_t env, struct fz_result *);
/* NULL if `right` refines `left`, else what is wrong. `strict`: INVALID must stay INVALID. */
const char *fz_compare(const uop *left, const struct fz_result *l, const uop *right,
                       const struct fz_result *r, bool loose_zero, double ulp, bool strict);
void fz_describe(struct fz *, struct str *, const uop *left, const uop *right, uint64_t env);

/* ---- generated ------------------------------------------------------------------------------------------ */

struct rule_fuzz {
    const char *name, *file;
    int line;
    const uop *(*build)(struct fz *);
    rw_fn one;
    bool fast;  /* needs FASTMATH */
    double ulp; /* how far a float result may be off; < 0: not fuzzed here */
};
struct rule_test {
    const char *name, *file;
    int line;
    rw_fn set;
    void (*build)(struct fz *, const uop **left, const uop **right);
};
extern const struct rule_fuzz rules_fuzz[], rules_mutant[];
extern const unsigned rules_fuzz_count, rules_mutant_count;
extern const struct rule_test rules_test[];
extern const unsigned rules_test_count;

#endif
