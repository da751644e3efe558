/* vec.h: four floats at a time, for the hand-written peers of the golden benchmark.
 *
 * On aarch64 each name is one NEON intrinsic; elsewhere it is plain C on a compiler vector of 16 bytes, so
 * that the benchmark builds and its results can be compared on any machine (the speed bar is meant for
 * aarch64 only). No function here keeps state. Tests: `golden --check` compares every peer with plain loops. */
#ifndef RIDGE_GOLDEN_VEC_H
#define RIDGE_GOLDEN_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* clang-format off */
#if defined(__aarch64__) && !defined(GOLDEN_PLAIN) /* the macro is for testing the other half here */
#include <arm_neon.h>

typedef float32x4_t vf;
typedef int32x4_t vi;

INLINE vf v_ld(const float *p) { return vld1q_f32(p); }
INLINE void v_st(float *p, vf x) { vst1q_f32(p, x); }
INLINE vf v_set(float x) { return vdupq_n_f32(x); }
INLINE vf v_add(vf a, vf b) { return vaddq_f32(a, b); }
INLINE vf v_sub(vf a, vf b) { return vsubq_f32(a, b); }
INLINE vf v_mul(vf a, vf b) { return vmulq_f32(a, b); }
INLINE vf v_div(vf a, vf b) { return vdivq_f32(a, b); }
INLINE vf v_sqrt(vf a) { return vsqrtq_f32(a); }
INLINE vf v_max(vf a, vf b) { return vmaxq_f32(a, b); }
INLINE vf v_min(vf a, vf b) { return vminq_f32(a, b); }
INLINE vf v_fma(vf c, vf a, vf b) { return vfmaq_f32(c, a, b); } /* c + a*b */
INLINE vf v_fms(vf c, vf a, vf b) { return vfmsq_f32(c, a, b); } /* c - a*b */
INLINE float v_hsum(vf a) { return vaddvq_f32(a); }
INLINE float v_hmax(vf a) { return vmaxvq_f32(a); }
INLINE bool v_any_equal(vf a, vf b) { return vmaxvq_u32(vceqq_f32(a, b)) != 0; }
INLINE vi v_bits(vf a) { return vreinterpretq_s32_f32(a); }
INLINE vf v_float_of_bits(vi a) { return vreinterpretq_f32_s32(a); }
INLINE vi v_iadd(vi a, vi b) { return vaddq_s32(a, b); }
#define v_shl(a, n) vshlq_n_s32(a, n)
#define v_fma_lane(c, b, a, lane) vfmaq_laneq_f32(c, b, a, lane) /* c + b*a[lane] */
#define v_shift_in(a, n) vextq_f32(vdupq_n_f32(0), a, 4 - (n))   /* lanes up by n, zeros below */
INLINE vf v_last(vf a) { return vdupq_laneq_f32(a, 3); }
INLINE vf v_opaque_zero(void) /* zero, but not to the compiler */
{
    vf x;
    __asm__ volatile("movi %0.4s, #0" : "=w"(x));
    return x;
}
INLINE void v_transpose(vf r[4]) {
    float32x4x2_t p = vtrnq_f32(r[0], r[1]), q = vtrnq_f32(r[2], r[3]);
    r[0] = vcombine_f32(vget_low_f32(p.val[0]), vget_low_f32(q.val[0]));
    r[1] = vcombine_f32(vget_low_f32(p.val[1]), vget_low_f32(q.val[1]));
    r[2] = vcombine_f32(vget_high_f32(p.val[0]), vget_high_f32(q.val[0]));
    r[3] = vcombine_f32(vget_high_f32(p.val[1]), vget_high_f32(q.val[1]));
}

#else
#include <math.h>

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));

INLINE vf v_ld(const float *p) {
    vf x;
    memcpy(&x, p, sizeof x);
    return x;
}
INLINE void v_st(float *p, vf x) { memcpy(p, &x, sizeof x); }
INLINE vf v_set(float x) { return (vf){x, x, x, x}; }
INLINE vf v_add(vf a, vf b) { return a + b; }
INLINE vf v_sub(vf a, vf b) { return a - b; }
INLINE vf v_mul(vf a, vf b) { return a * b; }
INLINE vf v_div(vf a, vf b) { return a / b; }
INLINE vf v_sqrt(vf a) { return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])}; }
INLINE vf v_pick(vi m, vf a, vf b) { return (vf)(((vi)a & m) | ((vi)b & ~m)); }
INLINE vf v_max(vf a, vf b) { return v_pick((vi)(a > b), a, b); }
INLINE vf v_min(vf a, vf b) { return v_pick((vi)(a < b), a, b); }
INLINE vf v_fma(vf c, vf a, vf b) { return c + a * b; }
INLINE vf v_fms(vf c, vf a, vf b) { return c - a * b; }
INLINE float v_hsum(vf a) { return (a[0] + a[1]) + (a[2] + a[3]); }
INLINE float v_hmax(vf a) {
    float p = a[0] > a[1] ? a[0] : a[1], q = a[2] > a[3] ? a[2] : a[3];
    return p > q ? p : q;
}
INLINE bool v_any_equal(vf a, vf b) {
    vi m = (vi)(a == b);
    return m[0] | m[1] | m[2] | m[3];
}
INLINE vi v_bits(vf a) { return (vi)a; }
INLINE vf v_float_of_bits(vi a) { return (vf)a; }
INLINE vi v_iadd(vi a, vi b) { return a + b; }
#define v_shl(a, n) ((a) << (n))
#define v_fma_lane(c, b, a, lane) v_fma(c, b, v_set((a)[lane]))
#define v_shift_in(a, n) ((n) == 1 ? (vf){0, (a)[0], (a)[1], (a)[2]} : (vf){0, 0, (a)[0], (a)[1]})
INLINE vf v_last(vf a) { return v_set(a[3]); }
INLINE vf v_opaque_zero(void)
{
    volatile float x = 0;
    return v_set(x);
}
INLINE void v_transpose(vf r[4]) {
    vf t[4];
    for (int i = 0; i < 4; i++) t[i] = (vf){r[0][i], r[1][i], r[2][i], r[3][i]};
    for (int i = 0; i < 4; i++) r[i] = t[i];
}
#endif

/* clang-format on */

/* e^x within 1.01 ulp for -87 <= x <= 88; arguments outside are clamped to that, NaN stays NaN.
 * x = n ln2 + r, |r| <= ln2/2; e^r = 1 + r + r^2 q(r) with q of degree 4 fitted for least relative error;
 * 2^n is made from the bits of n, so no table and no conversion instruction is needed. */
#define EXP_C2 0x1.fffffcp-2f
#define EXP_C3 0x1.555492p-3f
#define EXP_C4 0x1.5558f2p-5f
#define EXP_C5 0x1.1239e2p-7f
#define EXP_C6 0x1.6a2434p-10f
#define EXP_LOG2E 0x1.715476p+0f
#define EXP_MAGIC 0x1.8p+23f /* adding it leaves the nearest integer in the low bits */
#define EXP_LN2_HI 0x1.62ep-1f
#define EXP_LN2_LO 0x1.0bfbe8e7bcd5ep-15f

INLINE vf v_exp_low(vf x) /* for x <= 88 */
{
    x = v_max(x, v_set(-87.0f));
    vf t = v_fma(v_set(EXP_MAGIC), x, v_set(EXP_LOG2E));
    vf n = v_sub(t, v_set(EXP_MAGIC));
    vf scale = v_float_of_bits(v_iadd(v_shl(v_bits(t), 23), v_bits(v_set(1))));
    vf r = v_fms(v_fms(x, n, v_set(EXP_LN2_HI)), n, v_set(EXP_LN2_LO)), r2 = v_mul(r, r);
    vf low = v_fma(v_set(EXP_C2), r, v_set(EXP_C3)), high = v_fma(v_set(EXP_C4), r, v_set(EXP_C5));
    high = v_fma(high, r2, v_set(EXP_C6));
    return v_fma(scale, v_fma(r, r2, v_fma(low, high, r2)), scale);
}
INLINE vf v_exp(vf x) { return v_exp_low(v_min(x, v_set(88.0f))); }

#endif
