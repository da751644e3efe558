/* opencl_pre.c: the preamble of every OpenCL program: types, and the helpers that c_op.c and c_cast.c call for what
 * operators cannot express. OpenCL C 1.2; beyond it only doubles where they are used and 64-bit atomics where such
 * elements are added to. As on CUDA fp16 and bf16 are their bits, arithmetic is done in float, max and min propagate NaN
 * and order -0 before 0, and FMAs are fused only where the program says FMA. Vectors are OpenCL's own, f32x4 and the
 * like. Atomic additions compare-and-swap the word that holds the element: OpenCL 1.2 adds integers only.
 * Tests: tests/unit/opencl.c */
#include "render/gpu.h"

/* clang-format off */
static const char types[] =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#ifdef cl_khr_fp64\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "typedef double f64; typedef double2 f64x2;\n"
    "#else\n"
    "#define NO_F64\n"
    "#endif\n"
    "#define I static inline\n"
    "typedef char i8; typedef uchar u8; typedef short i16; typedef ushort u16; typedef int i32; typedef uint "
    "u32;\n"
    "typedef long i64; typedef ulong u64; typedef float f32; typedef u16 f16; typedef u16 "
    "bf16;\n"
    "typedef u8 f8e4m3; typedef u8 f8e5m2;\n"
    "typedef char2 i8x2; typedef char4 i8x4; typedef char8 i8x8; typedef char16 i8x16;\n"
    "typedef uchar2 u8x2; typedef uchar4 u8x4; typedef uchar8 u8x8; typedef uchar16 u8x16;\n"
    "typedef u8x2 f8e4m3x2; typedef u8x4 f8e4m3x4; typedef u8x8 f8e4m3x8; typedef u8x16 f8e4m3x16;\n"
    "typedef u8x2 f8e5m2x2; typedef u8x4 f8e5m2x4; typedef u8x8 f8e5m2x8; typedef u8x16 f8e5m2x16;\n"
    "typedef short2 i16x2; typedef short4 i16x4; typedef short8 i16x8;\n"
    "typedef ushort2 u16x2; typedef ushort4 u16x4; typedef ushort8 u16x8;\n"
    "typedef u16x2 f16x2; typedef u16x4 f16x4; typedef u16x8 f16x8;\n"
    "typedef u16x2 bf16x2; typedef u16x4 bf16x4; typedef u16x8 bf16x8;\n"
    "typedef int2 i32x2; typedef int4 i32x4; typedef uint2 u32x2; typedef uint4 u32x4;\n"
    "typedef long2 i64x2; typedef ulong2 u64x2; typedef float2 f32x2; typedef float4 f32x4;\n"
    "#define F16(x, bits) ((f16)(bits))\n"
    "#define bool8 u8\n" /* a name that OpenCL reserves: drivers declare it */
    "#define as_i8(x) as_char(x)\n"
    "#define as_u8(x) as_uchar(x)\n"
    "#define as_i16(x) as_short(x)\n"
    "#define as_u16(x) as_ushort(x)\n"
    "#define as_f8e4m3(x) as_uchar(x)\n"
    "#define as_f8e5m2(x) as_uchar(x)\n"
    "#define as_f16(x) as_ushort(x)\n"
    "#define as_bf16(x) as_ushort(x)\n"
    "#define as_i32(x) as_int(x)\n"
    "#define as_u32(x) as_uint(x)\n"
    "#define as_f32(x) as_float(x)\n"
    "#define as_i64(x) as_long(x)\n"
    "#define as_u64(x) as_ulong(x)\n"
    "#define as_f64(x) as_double(x)\n"
    "#define U(D, S, x) as_##D((S)(x))\n"
    "#define __builtin_nanf(s) as_f32(0x7fc00000u)\n"
    "#define __builtin_nan(s) as_f64(0x7ff8000000000000ul)\n"
    "#define __builtin_inff() as_f32(0x7f800000u)\n"
    "#define __builtin_inf() as_f64(0x7ff0000000000000ul)\n"
    "#define __builtin_fabsf(a) as_f32(as_u32(a) & 0x7fffffffu)\n"
    "#define __builtin_fabs(a) as_f64(as_u64(a) & 0x7ffffffffffffffful)\n";

/* odd_i64: to float by round-to-odd, as odd_f32. */
static const char scalars[] =
    "#define ROUNDINGS(T) G2(T, W_##T) \\\n"
    "    I T fma_##T(T a, T b, T c) { return fma(a, b, c); } \\\n"
    "    I T sqrt_##T(T a) { return sqrt(a); } \\\n"
    "    I T floor_##T(T a) { return floor(a); } \\\n"
    "    I T ceil_##T(T a) { return ceil(a); } \\\n"
    "    I T trunc_##T(T a) { return trunc(a); } \\\n"
    "    I T round_##T(T a) { return rint(a); }\n"
    "#define W_f32 u32\n"
    "#define W_f64 u64\n"
    "ROUNDINGS(f32)\n"
    "I i32 toi_f32(f32 a) { return a != a ? 0 : convert_int_sat_rtz(a); }\n"
    "I u32 tou_f32(f32 a) { return a != a ? 0 : convert_uint_sat_rtz(a); }\n"
    "I i64 tol_f32(f32 a) { return a != a ? 0 : convert_long_sat_rtz(a); }\n"
    "I u64 toul_f32(f32 a) { return a != a ? 0 : convert_ulong_sat_rtz(a); }\n"
    "#ifndef NO_F64\n"
    "ROUNDINGS(f64)\n"
    "I i64 toi_f64(f64 a) { return a != a ? 0 : convert_long_sat_rtz(a); }\n"
    "I u64 tou_f64(f64 a) { return a != a ? 0 : convert_ulong_sat_rtz(a); }\n"
    "#endif\n"
    "#ifdef __NV_CL_C_VERSION\n" /* NVIDIA's assembler again: see negated() in c_op.c */
    "I i32 neg_int(i32 a) { i32 r; asm(\"{ .reg .b32 t; not.b32 t, %1; add.s32 %0, t, 1; }\" : \"=r\"(r) : "
    "\"r\"(a)); "
    "return r; }\n"
    "I i8 sign_i8(i32 a) { asm(\"cvt.s32.s8 %0, %0;\" : \"+r\"(a)); return a; }\n"
    "I i32 abs_int(i32 a) { i32 r; asm(\"abs.s32 %0, %1;\" : \"=r\"(r) : \"r\"(a)); return r; }\n"
    "#else\n"
    "I i32 neg_int(i32 a) { return (i32)(0u - (u32)a); }\n"
    "I i8 sign_i8(i32 a) { return (i8)a; }\n"
    "I i32 abs_int(i32 a) { return (i32)abs(a); }\n"
    "#endif\n"
    "I f32 odd_i64(i64 a) { f32 t = convert_float_rtz(a); return as_f32(as_u32(t) | (convert_long_sat_rtz(t) "
    "!= a)); }\n"
    "I f32 odd_u64(u64 a) { f32 t = convert_float_rtz(a); return as_f32(as_u32(t) | "
    "(convert_ulong_sat_rtz(t) != a)); }\n"
    "I f32 up_f16(f16 a) { return vload_half(0, (const half *)&a); }\n"
    "I f16 down_f16(f32 a) { f16 r; vstore_half_rte(a, 0, (half *)&r); return r; }\n";

/* W: the word that holds the element, E: a + x, where a is what the element was. */
static const char threads[] =
    "I void atomic_add_i32(volatile __global i32 *p, i32 x) { atomic_add(p, x); }\n"
    "I void atomic_add_u32(volatile __global u32 *p, u32 x) { atomic_add(p, x); }\n"
    "I void atomic_add_f32(volatile __global f32 *p, f32 x) { volatile __global u32 *w = (volatile __global u32 "
    "*)p; \n"
    "    u32 was = *w, old; do { old = was; was = atomic_cmpxchg(w, old, as_u32(as_f32(old) + x)); } while "
    "(was != old); }\n"
    "#ifdef cl_khr_int64_base_atomics\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "I void atomic_add_i64(volatile __global i64 *p, i64 x) { atom_add(p, x); }\n"
    "I void atomic_add_u64(volatile __global u64 *p, u64 x) { atom_add(p, x); }\n"
    "#ifndef NO_F64\n"
    "I void atomic_add_f64(volatile __global f64 *p, f64 x) { volatile __global u64 *w = (volatile __global u64 "
    "*)p; \n"
    "    u64 was = *w, old; do { old = was; was = atom_cmpxchg(w, old, as_u64(as_f64(old) + x)); } while "
    "(was != old); }\n"
    "#endif\n"
    "#endif\n"
    "#define ATOMIC_ADD(N, T, E) I void atomic_add_##N(__global T *p, T x) { \\\n"
    "    volatile __global u32 *w = (volatile __global u32 *)((size_t)p & ~(size_t)3); \\\n"
    "    u32 at = ((u32)(size_t)p & 3) * 8, mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << at, was = *w, old; "
    "\\\n"
    "    do { old = was; T a = (T)((old & mask) >> at); was = atomic_cmpxchg(w, old, (old & ~mask) | "
    "((u32)(T)(E) "
    "<< at & mask)); } while (was != old); }\n"
    "ATOMIC_ADD(i8, u8, a + x) ATOMIC_ADD(u8, u8, a + x) ATOMIC_ADD(i16, u16, a + x) ATOMIC_ADD(u16, u16, a + x) ATOMIC_ADD(bool, u8, a | "
    "(x != 0))\n"
    "ATOMIC_ADD(f16, u16, down_f16(up_f16(a) + up_f16(x))) ATOMIC_ADD(bf16, u16, down_bf16(up_bf16(a) + up_bf16(x)))\n";
/* clang-format on */

void render_opencl_preamble(struct str *o) {
    str_add(o, types);
    gpu_common(o);
    str_add(o, scalars);
    gpu_bytes(o);
    str_add(o, threads);
}
