/* random.c: random numbers as expressions of a counter.
 *
 * Element i of a draw is made of THREEFRY(base + i, key), 64 bits, where base and key are numbers known at run time: nothing
 * is stored, nothing has state, and computing an element twice gives the same number. So the mask of a dropout is made again in
 * the backward pass, and a kernel that needs random numbers makes them itself.
 *   rand       the first 24 bits of the low word (f16 11, bf16 8), times 2^-24; f64 the first 53 of all
 *   randn      Box-Muller: sqrt(-2 log u1) * cos(2 pi u2), u1 in (0, 1] of the low word (31 bits), u2 of the high one; f64 takes two
 *              counters, 53 bits each. Halves are rounded from f32
 *   randint    the high 64 bits of (64 random bits * range): chances are off by a share of range / 2^64 at most
 * Tests: tests/unit/random.c, tests/semantics/random_numbers.c */
#include "tensor/internal.h"

#include <math.h>

/* ---- bits ---------------------------------------------------------------------------------------------- */

static const uop *mul_k(struct tg *g, const uop *x, double k) { return tg_op_k(g, OP_MUL, x, k); }
static const uop *add_k(struct tg *g, const uop *x, double k) { return tg_op_k(g, OP_ADD, x, k); }
static const uop *add(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_ADD, x, y); }
static const uop *mul(struct tg *g, const uop *x, const uop *y) { return tg_op2(g, OP_MUL, x, y); }
static const uop *shr(struct tg *g, const uop *x, int by) {
    return tg_op2(g, OP_SHR, x, uop_int(g->ir, (enum dtype)x->dt, by));
}

/* 64 bits for each element, `lots` times. */
static void draw(struct tg *g, struct t_rng *rng, const struct shape *sh, uint32_t lots, const uop **bits) {
    int64_t size = shape_size(sh), all;
    if (__builtin_mul_overflow(size, (int64_t)lots, &all)) tg_bad(g, "more than 2^63 random numbers at once");
    const uop *none = uop_int(g->ir, DT_U64, 0), *base, *key;
    for (uint32_t k = 0; k < lots; k++) bits[k] = tg_to_shape(g, none, sh);
    if (!size) return;
    rng->take(rng, all, &base, &key);
    const uop *i = sh->n ? t_cast(g, tg_reshape(g, tg_iota(g, size, 1, 0), sh), DT_U64) : none;
    for (uint32_t k = 0; k < lots; k++) {
        const uop *from = add(g, base, uop_int(g->ir, DT_U64, (int64_t)k * size));
        bits[k] = tg_op2(g, OP_THREEFRY, add(g, i, from), key);
    }
}

static const uop *bits_of(struct tg *g, struct t_rng *rng, const struct shape *sh) {
    const uop *b;
    return draw(g, rng, sh, 1, &b), b;
}

static const uop *low(struct tg *g, const uop *bits) { return t_cast(g, bits, DT_U32); }
static const uop *high(struct tg *g, const uop *bits) { return t_cast(g, shr(g, bits, 32), DT_U32); }

/* The first b bits of a word as an integer-valued float; b < 32, so that the integer is not negative as an i32. */
static const uop *first_bits(struct tg *g, const uop *word, int b) {
    return t_cast(g, t_cast(g, shr(g, word, 32 - b), DT_I32), DT_F32);
}
static const uop *first_53(struct tg *g, const uop *bits) {
    return t_cast(g, t_cast(g, shr(g, bits, 11), DT_I64), DT_F64);
}

/* In [0, 1): f32, f64 for f64; every value is one of dt. */
static const uop *unit(struct tg *g, const uop *bits, enum dtype dt) {
    if (dt == DT_F64) return mul_k(g, first_53(g, bits), 0x1p-53);
    int b = dt == DT_F16 ? 11 : dt == DT_BF16 ? 8 : 24;
    return mul_k(g, first_bits(g, low(g, bits), b), ldexp(1, -b));
}

static const struct shape *float_shape(struct tg *g, enum dtype dt, const int64_t *d, uint32_t n) {
    if (dt >= DT_COUNT || !dt_is_float(dt))
        tg_bad(g, "random numbers of dtype %s; expected a float dtype (randint draws integers)",
               dt < DT_COUNT ? dtype_info[dt].name : "none");
    tg_check_dims(g, d, n);
    return shape_make(&g->shapes, d, n);
}

/* ---- uniform -------------------------------------------------------------------------------------------- */

const uop *t_rand(struct tg *g, struct t_rng *rng, enum dtype dt, const int64_t *d, uint32_t n) {
    return t_cast(g, unit(g, bits_of(g, rng, float_shape(g, dt, d, n)), dt), dt);
}

/* The greatest number of dt below x, which is one of dt and finite. */
static double below(enum dtype dt, double x) {
    int digits = dt == DT_F64 ? 53 : dt == DT_F32 ? 24 : dt == DT_F16 ? 11 : 8, e;
    int least = dt == DT_F64 ? -1074 : dt == DT_F32 ? -149 : dt == DT_F16 ? -24 : -133;
    double m = frexp(x, &e);
    e -= digits + (m == 0.5); /* below a power of two numbers are twice as dense */
    return x - ldexp(1, x == 0 || e < least ? least : e);
}

static const uop *uniform(struct tg *g, struct t_rng *rng, enum dtype dt, double lo, double hi,
                          const struct shape *sh) {
    lo = dt_round(dt, lo), hi = dt_round(dt, hi);
    const uop *u = unit(g, bits_of(g, rng, sh), dt);
    const uop *v = t_cast(g, add_k(g, mul_k(g, u, hi - lo), lo), dt);
    return tg_op_k(g, OP_MIN, v, below(dt, hi)); /* where rounding would reach hi */
}

const uop *t_uniform(struct tg *g, struct t_rng *rng, enum dtype dt, double lo, double hi, const int64_t *d,
                     uint32_t n) {
    const struct shape *sh = float_shape(g, dt, d, n);
    if (!(lo < hi))
        tg_bad(g, "uniform numbers from %g to %g; expected a lower bound below the upper one", lo, hi);
    if (!(dt_round(dt, lo) < dt_round(dt, hi)))
        tg_bad(g, "uniform numbers from %.17g to %.17g: in %s both are %g", lo, hi, dtype_info[dt].name,
               dt_round(dt, lo));
    if (!isfinite(dt_round(dt, dt_round(dt, hi) - dt_round(dt, lo))))
        tg_bad(g, "uniform numbers from %g to %g: %s does not reach that far", lo, hi, dtype_info[dt].name);
    return uniform(g, rng, dt, lo, hi, sh);
}

/* ---- normal --------------------------------------------------------------------------------------------- */

/* f32, f64 for f64. */
static const uop *gauss(struct tg *g, struct t_rng *rng, enum dtype dt, const struct shape *sh) {
    const uop *b[2], *u1, *u2;
    if (dt == DT_F64) {
        draw(g, rng, sh, 2, b);
        u1 = mul_k(g, add_k(g, first_53(g, b[0]), 1), 0x1p-53);
        u2 = unit(g, b[1], dt);
    } else {
        draw(g, rng, sh, 1, b);
        u1 = mul_k(g, add_k(g, first_bits(g, low(g, b[0]), 31), 1), 0x1p-31);
        u2 = mul_k(g, first_bits(g, high(g, b[0]), 24), 0x1p-24);
    }
    const uop *r = tg_op1(g, OP_SQRT, mul_k(g, tg_op1(g, OP_LOG, u1), -2));
    return mul(g, r, tg_op1(g, OP_COS, mul_k(g, u2, 2 * M_PI)));
}

const uop *t_randn(struct tg *g, struct t_rng *rng, enum dtype dt, const int64_t *d, uint32_t n) {
    return t_cast(g, gauss(g, rng, dt, float_shape(g, dt, d, n)), dt);
}

const uop *t_normal(struct tg *g, struct t_rng *rng, enum dtype dt, double mean, double deviation,
                    const int64_t *d, uint32_t n) {
    const struct shape *sh = float_shape(g, dt, d, n);
    if (!isfinite(mean) || !isfinite(deviation) || deviation < 0)
        tg_bad(g,
               "normal numbers of mean %g and deviation %g; expected finite numbers, the deviation 0 or more",
               mean, deviation);
    return t_cast(g, add_k(g, mul_k(g, gauss(g, rng, dt, sh), deviation), mean), dt);
}

/* ---- weights --------------------------------------------------------------------------------------------- */

/* How many inputs an output has, and the other way round. */
static void fans(struct tg *g, const int64_t *d, uint32_t n, double *in, double *out) {
    if (n < 2) tg_bad(g, "a weight of shape %s; expected (out, in) and perhaps more axes", tg_list(g, d, n));
    double field = 1;
    for (uint32_t i = 2; i < n; i++) field *= (double)d[i];
    *in = (double)d[1] * field, *out = (double)d[0] * field;
}

/* Nothing is drawn for a weight without elements: its bound does not matter. */
static double bound(double above, double fan) { return fan > 0 ? sqrt(above / fan) : 1; }

const uop *t_glorot_uniform(struct tg *g, struct t_rng *rng, enum dtype dt, const int64_t *d, uint32_t n) {
    const struct shape *sh = float_shape(g, dt, d, n);
    double in, out;
    fans(g, d, n, &in, &out);
    double b = bound(6, in + out);
    return uniform(g, rng, dt, -b, b, sh);
}

static double kaiming(struct tg *g, double above, double slope, const int64_t *d, uint32_t n) {
    double in, out;
    fans(g, d, n, &in, &out);
    if (!isfinite(slope)) tg_bad(g, "a slope of %g; expected a finite number (0 for relu)", slope);
    return bound(above / (1 + slope * slope), in);
}

const uop *t_kaiming_uniform(struct tg *g, struct t_rng *rng, enum dtype dt, double slope, const int64_t *d,
                             uint32_t n) {
    const struct shape *sh = float_shape(g, dt, d, n);
    double b = kaiming(g, 6, slope, d, n);
    return uniform(g, rng, dt, -b, b, sh);
}

const uop *t_kaiming_normal(struct tg *g, struct t_rng *rng, enum dtype dt, double slope, const int64_t *d,
                            uint32_t n) {
    return t_normal(g, rng, dt, 0, kaiming(g, 2, slope, d, n), d, n);
}

/* ---- integers ---------------------------------------------------------------------------------------------- */

static const uop *low_part(struct tg *g, const uop *x) {
    return tg_op2(g, OP_AND, x, uop_int(g->ir, DT_U64, 0xffffffff));
}
static const uop *times(struct tg *g, const uop *x, uint64_t k) {
    return mul(g, x, uop_int(g->ir, DT_U64, (int64_t)k));
}

/* The high 64 bits of x * k, from products of 32-bit words, none of which overflows. */
static const uop *high_product(struct tg *g, const uop *x, uint64_t k) {
    uint64_t k0 = k & 0xffffffff, k1 = k >> 32;
    const uop *x0 = low_part(g, x), *x1 = shr(g, x, 32);
    const uop *mid = add(g, times(g, x1, k0), shr(g, times(g, x0, k0), 32));
    if (!k1) return shr(g, mid, 32);
    const uop *cross = add(g, times(g, x0, k1), low_part(g, mid));
    return add(g, add(g, times(g, x1, k1), shr(g, mid, 32)), shr(g, cross, 32));
}

const uop *t_randint(struct tg *g, struct t_rng *rng, enum dtype dt, int64_t lo, int64_t hi, const int64_t *d,
                     uint32_t n) {
    if (dt >= DT_COUNT || !dt_is_int(dt))
        tg_bad(g, "random integers of dtype %s; expected an integer dtype (cast them)",
               dt < DT_COUNT ? dtype_info[dt].name : "none");
    if (lo >= hi)
        tg_bad(g,
               "random integers from %lld up to, not including, %lld; expected a lower bound below the upper "
               "one",
               (long long)lo, (long long)hi);
    t_int(g, dt, lo), t_int(g, dt, hi - 1); /* both must fit */
    tg_check_dims(g, d, n);
    const uop *bits = bits_of(g, rng, shape_make(&g->shapes, d, n));
    const uop *v = high_product(g, bits, (uint64_t)hi - (uint64_t)lo);
    return t_cast(g, add(g, v, uop_int(g->ir, DT_U64, lo)), dt);
}

const uop *t_randperm(struct tg *g, struct t_rng *rng, enum dtype dt, int64_t n) {
    if (dt >= DT_COUNT || dt == DT_BOOL) tg_bad(g, "a permutation of dtype bool; expected a number dtype");
    if (n < 0) tg_bad(g, "a permutation of %lld numbers; expected 0 or more", (long long)n);
    if (n) t_int(g, dt, n - 1); /* must fit */
    const uop *keys = bits_of(g, rng, shape_make(&g->shapes, &n, 1));
    return t_cast(g, t_argsort(g, keys, 0, false), dt);
}

/* ---- chances ------------------------------------------------------------------------------------------------- */

static void need_float(struct tg *g, const uop *x, const char *what) {
    if (!dt_is_float((enum dtype)x->dt))
        tg_bad(g, "%s of dtype %s; expected floats (cast it)", what, tg_dt(x));
}

/* Compared as integers: a word is below p * 2^32 with chance p. The gradient of WHERE has the same condition. */
const uop *t_dropout(struct tg *g, struct t_rng *rng, const uop *x, double p) {
    need_float(g, x, "dropout");
    if (!(p >= 0 && p <= 1)) tg_bad(g, "dropout with probability %g; expected 0 to 1", p);
    if (p == 0) return x;
    const struct shape *sh = tg_shape(g, x);
    const uop *zero = tg_like(g, x, 0);
    if (p == 1) /* zeros, to which x leads */
        return t_grad_through(g, tg_to_shape(g, zero, sh),
                              tg_op3(g, OP_WHERE, uop_int(g->ir, DT_BOOL, 1), zero, x));
    const uop *limit = uop_int(g->ir, DT_U32, (int64_t)fmin(rint(p * 0x1p32), 0x1p32 - 1));
    const uop *drop = tg_op2(g, OP_LT, low(g, bits_of(g, rng, sh)), limit);
    return tg_op3(g, OP_WHERE, drop, zero, mul_k(g, x, 1 / (1 - p)));
}

const uop *t_bernoulli(struct tg *g, struct t_rng *rng, const uop *p) {
    need_float(g, p, "bernoulli");
    enum dtype in = p->dt == DT_F64 ? DT_F64 : DT_F32;
    const uop *u = unit(g, bits_of(g, rng, tg_shape(g, p)), in);
    return t_cast(g, tg_op2(g, OP_LT, u, t_cast(g, t_detach(g, p), in)), (enum dtype)p->dt);
}

/* With replacement: the number of running sums that are not above u * total. What has weight 0 is never met, because its running
 * sum is that of the one before it. */
static const uop *by_running_sums(struct tg *g, struct t_rng *rng, const uop *w, int64_t n) {
    const struct shape *sh = tg_shape(g, w);
    int64_t d[SHAPE_MAX], last = -1;
    memcpy(d, sh->d, sh->n * sizeof *d);
    struct t_slice part[SHAPE_MAX];
    for (uint32_t i = 0; i < sh->n; i++) part[i] = (struct t_slice){.stop = T_END};
    part[sh->n - 1].start = d[sh->n - 1] - 1;
    const uop *sums = t_contiguous(g, t_cumsum(g, w, -1)), *total = t_slice(g, sums, part, sh->n);
    d[sh->n - 1] = n;
    const uop *u = unit(g, bits_of(g, rng, shape_make(&g->shapes, d, sh->n)), DT_F64);
    const uop *at = t_unsqueeze(g, t_mul(g, u, total), -1);
    return t_sum(g, t_le(g, t_unsqueeze(g, sums, -2), at), &last, 1, false);
}

/* Without: each index waits for a time of -log(u) / weight; the first n to arrive. */
static const uop *by_race(struct tg *g, struct t_rng *rng, const uop *w, int64_t n) {
    const struct shape *sh = tg_shape(g, w);
    const uop *u = mul_k(g, add_k(g, first_53(g, bits_of(g, rng, sh)), 1), 0x1p-53);
    const uop *time = tg_op2(g, OP_FDIV, tg_op1(g, OP_NEG, tg_op1(g, OP_LOG, u)), w);
    const uop *never = tg_op2(g, OP_LE, w, tg_like(g, w, 0)); /* also where 0 / 0 */
    return t_topk_index(g, tg_op3(g, OP_WHERE, never, tg_like(g, w, INFINITY), time), n, -1, true);
}

const uop *t_multinomial(struct tg *g, struct t_rng *rng, const uop *w, int64_t n, bool replace) {
    w = tg_value(g, w);
    const struct shape *sh = tg_shape(g, w);
    if (!sh->n) tg_bad(g, "weights of shape (); expected at least one axis");
    tg_rank(g, sh->n + 1);
    int64_t k = sh->d[sh->n - 1];
    if (n < 0 || (!k && n)) tg_bad(g, "%lld samples of weights of shape %s", (long long)n, tg_dims(g, w));
    if (!replace && n > k)
        tg_bad(g, "%lld different samples of %lld weights; draw with replacement, or fewer", (long long)n,
               (long long)k);
    int64_t d[SHAPE_MAX];
    memcpy(d, sh->d, sh->n * sizeof *d);
    d[sh->n - 1] = n;
    tg_check_dims(g, d, sh->n);
    if (!shape_size(shape_make(&g->shapes, d, sh->n))) return t_full(g, t_int(g, DT_I64, 0), d, sh->n);
    w = t_cast(g, t_detach(g, w), DT_F64);
    return replace ? by_running_sums(g, rng, w, n) : by_race(g, rng, w, n);
}
