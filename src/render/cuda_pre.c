/* cuda_pre.c: the preamble of every translation unit for NVRTC: types, and the helpers that c_op.c and c_cast.c call
 * for what operators cannot express, each one instruction where one does exactly what ops.def asks for. What CUDA C
 * and OpenCL C share is here too (gpu_common). No header is included, ours or NVIDIA's.
 * fp16 and bf16 are their bits; arithmetic is done in fp32, which rounds the same. max and min propagate NaN and order
 * -0 before 0. FMAs are fused only where the program says FMA: NVRTC gets -fmad=false. Atomic additions of narrow types
 * compare-and-swap the word that holds the element, so every type has one. Tests: tests/unit/cuda.c */
#include "render/gpu.h"

/* Text in columns of its own. */
/* clang-format off */
/* Shifts the eight words around an unaligned 16-byte vector. */
/* Clears the elements of r without a bit in `want`. */
#define UNWANTED(N)                                                                                           \
    "    for (int i = 0; i < " N "; i++) if (!(want >> i & 1)) {\n"                                           \
    "        r.w[i * sizeof(T) / 4] &= ~((sizeof(T) >= 4 ? ~0u : sizeof(T) == 2 ? 0xffffu : 0xffu) << i * "   \
    "sizeof(T) % 4 * 8);\n"                                                                                   \
    "        if (sizeof(T) == 8) r.w[i * sizeof(T) / 4 + 1] = 0;\n"                                           \
    "    }\n"
#define SHIFTED                                                                                              \
    "    for (int i = 0; i < 6; i++) a.w[i] = by & 8 ? a.w[i + 2] : a.w[i];\n"                               \
    "    for (int i = 0; i < 5; i++) a.w[i] = by & 4 ? a.w[i + 1] : a.w[i];\n"                               \
    "    for (int i = 0; i < 4; i++) r.w[i] = sizeof(T) >= 4 ? a.w[i] : __funnelshift_r(a.w[i], a.w[i + 1], " \
    "(by & 3) * 8);\n"

static const char types[] =
    "#define I static __device__ __forceinline__\n"
    "typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;\n"
    "typedef int i32; typedef unsigned u32; typedef long i64; typedef unsigned long u64;\n"
    "typedef u8 bool8; typedef float f32; typedef double f64; typedef u16 f16; typedef u16 bf16; typedef u8 "
    "f8e4m3; typedef u8 f8e5m2;\n"
    "#define F16(x, bits) ((f16)(bits))\n"
    "template <class D, class S> I D bits(S s) { union { S s; D d; } u; u.s = s; return u.d; }\n"
    "#define U(D, S, x) bits<D, S>((S)(x))\n"
    /* a vector of N elements, loaded or stored at once */
    "template <class T, int N> struct alignas(sizeof(T) * N) piece { T v[N]; };\n"
    /* predicates of lanes as bits of a register: a thread has seven predicate registers, and ptxas gives up
     * on some kernels (C7600) where it sees that the bits are more comparisons than those */
    "I u32 lane_mask(u32 m) { asm(\"\" : \"+r\"(m)); return m; }\n"
    /* an unaligned 16-byte load: the two aligned vectors around it, shifted */
    /* want: a bit for each element that is used: others are zero, and a vector without such is not read */
    "template <class T> I piece<T, 16 / sizeof(T)> load_unaligned(const T *p) {\n"
    "    const u32 by = (u64)p & 15; union { u32 w[8]; piece<u64, 2> x[2]; } a;\n"
    "    union { u32 w[4]; piece<T, 16 / sizeof(T)> x; } r;\n"
    "    const piece<u64, 2> *q = (const piece<u64, 2> *)((const char *)p - by); a.x[0] = q[0]; a.x[1] = by "
    "? q[1] : q[0];\n"
    SHIFTED
    "    return r.x; }\n"
    "template <class T> I piece<T, 16 / sizeof(T)> load_unaligned(const T *p, u32 want) {\n"
    "    want = lane_mask(want);\n"
    "    const u32 by = (u64)p & 15, first = (16 - by) / sizeof(T); union { u32 w[8]; piece<u64, 2> x[2]; } a;\n"
    "    union { u32 w[4]; piece<T, 16 / sizeof(T)> x; } r;\n"
    "    const piece<u64, 2> *q = (const piece<u64, 2> *)((const char *)p - by); a.x[0] = a.x[1] = piece<u64, "
    "2>{{0, 0}};\n"
    "    if (want & ((1u << first) - 1)) a.x[0] = q[0];\n"
    "    if (want >> first) a.x[1] = q[1];\n"
    SHIFTED
    UNWANTED("16 / (int)sizeof(T)")
    "    return r.x; }\n"
    /* an aligned vector, with zeros where no bit is set; not read if none is */
    "template <class T, int N> I piece<T, N> load_some(const piece<T, N> *p, u32 want) {\n"
    "    want = lane_mask(want);\n"
    "    union { u32 w[(N * sizeof(T) + 3) / 4]; piece<T, N> x; } r;\n"
    "    for (u32 i = 0; i < sizeof r / 4; i++) r.w[i] = 0;\n"
    "    if (want) r.x = *p;\n"
    "    if (want != (1u << N) - 1)\n"
    UNWANTED("N")
    "    return r.x; }\n"
    "template <int N> struct many { void *p[N]; }; /* buffers, chosen by number */\n"
    "#define __builtin_nanf(s) bits<f32, u32>(0x7fc00000u)\n"
    "#define __builtin_nan(s) bits<f64, u64>(0x7ff8000000000000ul)\n"
    "#define __builtin_inff() bits<f32, u32>(0x7f800000u)\n"
    "#define __builtin_inf() bits<f64, u64>(0x7ff0000000000000ul)\n"
    "#define __builtin_fabsf(a) fabsf(a)\n"
    "#define __builtin_fabs(a) bits<f64, u64>(bits<u64, f64>(a) & 0x7ffffffffffffffful)\n";

/* For both languages, over U(D, S, x): the bits of an S as a D. odd_: double to float by round-to-odd, so
 * that a further rounding to fewer digits is exact. */
static const char common[] =
    "#define G2(T, W) \\\n"
    "    I T max_##T(T a, T b) { return a != a ? a : a == b ? U(T, W, U(W, T, a) & U(W, T, b)) : a > b ? a : "
    "b; } \\\n"
    "    I T min_##T(T a, T b) { return a != a ? a : a == b ? U(T, W, U(W, T, a) | U(W, T, b)) : a < b ? a : "
    "b; }\n"
    "#define DM(T, W) \\\n"
    "    I T div_##T(T a, T b) { if (b == 0) return 0; if (b == -1) return (T)(0 - (W)a); T q = a / b; "
    "return q - (q * b != a & (a < 0) != (b < 0)); } \\\n"
    "    I T mod_##T(T a, T b) { if (b == 0 || b == -1) return 0; T r = a % b; return r != 0 && (r < "
    "0) != (b < 0) ? r + b : r; }\n"
    "DM(i32, u32) DM(i64, u64)\n"
    "I f32 up_bf16(bf16 a) { return U(f32, u32, (u32)a << 16); }\n"
    "#if __CUDA_ARCH__ >= 800\n"
    "I bf16 down_bf16(f32 a) { bf16 r; asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a)); return r; }\n"
    "#else\n"
    "I bf16 down_bf16(f32 a) { u32 u = U(u32, f32, a); return a == a ? (u + 0x7fff + (u >> 16 & 1)) >> 16 "
    ": u >> 16 | 0x40; }\n"
    "#endif\n"
    "#ifndef NO_F64\n"
    "I f32 odd_f32(f64 a) { f32 t = (f32)a; f64 b = (f64)t; u32 u = U(u32, f32, t);\n"
    "    if (a == a && b != a) { if ((a > 0 && b > a) || (a < 0 && b < a)) u--; u |= 1; }\n"
    "    return U(f32, u32, u); }\n"
    "#endif\n";

static const char scalars[] =
    "#if __CUDA_ARCH__ >= 800\n"
    "I f32 max_f32(f32 a, f32 b) { f32 r; asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); "
    "return r; }\n"
    "I f32 min_f32(f32 a, f32 b) { f32 r; asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); "
    "return r; }\n"
    "#else\n"
    "G2(f32, u32)\n"
    "#endif\n"
    "G2(f64, u64)\n"
    "I f32 exp2_flush(f32 a) { f32 r; asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(a)); return r; "
    "}\n"
    "I u32 two_bf16(f32 a, f32 b) { u32 r; asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(b), "
    "\"f\"(a)); "
    "return r; }\n"
    "I u32 two_f16(f32 a, f32 b) { u32 r; asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(b), "
    "\"f\"(a)); "
    "return r; }\n"
    "I i32 toi_f32(f32 a) { return a != a ? 0 : __float2int_rz(a); }\n"
    "I u32 tou_f32(f32 a) { return a != a ? 0 : __float2uint_rz(a); }\n"
    "I i64 toi_f64(f64 a) { return a != a ? 0 : __double2ll_rz(a); }\n"
    "I u64 tou_f64(f64 a) { return a != a ? 0 : __double2ull_rz(a); }\n"
    "I i32 neg_int(i32 a) { i32 r; asm(\"{ .reg .b32 t; not.b32 t, %1; add.s32 %0, t, 1; }\" : \"=r\"(r) : "
    "\"r\"(a)); return r; }\n"
    "I i8 sign_i8(i32 a) { asm(\"cvt.s32.s8 %0, %0;\" : \"+r\"(a)); return a; }\n"
    "I i32 abs_int(i32 a) { i32 r; asm(\"abs.s32 %0, %1;\" : \"=r\"(r) : \"r\"(a)); return r; }\n"
    "#define fma_f32(a, b, c) __fmaf_rn(a, b, c)\n"
    "#define fma_f64(a, b, c) __fma_rn(a, b, c)\n"
    "#define exp_f32(a) expf(a)\n"
    "#define exp2_f32(a) exp2f(a)\n"
    /* with e = e^-|a| and 1 / (1 + e) as q + r, r what addition and reciprocal lost: no cancellation, no
     * overflow; the error of e and one rounding remain */
    "I f32 sigmoid_f32(f32 a) { f32 e = expf(-__builtin_fabsf(a)), d = 1.0f + e, lost = e - (d - 1.0f), q;\n"
    "    asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(q) : \"f\"(d));\n"
    "    f32 r = __fmaf_rn(-lost, q, __fmaf_rn(-d, q, 1.0f)) * q, p = e * q;\n"
    "    return a < 0 ? p + __fmaf_rn(e, r, __fmaf_rn(e, q, -p)) : q + r; }\n"
    "#define sqrt_f32(a) __fsqrt_rn(a)\n"
    "#define sqrt_f64(a) __dsqrt_rn(a)\n"
    "#define floor_f32(a) floorf(a)\n"
    "#define floor_f64(a) floor(a)\n"
    "#define ceil_f32(a) ceilf(a)\n"
    "#define ceil_f64(a) ceil(a)\n"
    "#define trunc_f32(a) truncf(a)\n"
    "#define trunc_f64(a) trunc(a)\n"
    "#define round_f32(a) rintf(a)\n"
    "#define round_f64(a) rint(a)\n";

static const char sixteen_bit[] =
    "I f32 up_f16(f16 a) { f32 r; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a)); return r; }\n"
    "I f16 down_f16(f32 a) { f16 r; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a)); return r; }\n"
    /* two in one instruction */
    "#if __CUDA_ARCH__ >= 800\n"
    "I u32 pair_bf16(f32 a, f32 b) { u32 r; asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(b), "
    "\"f\"(a)); return r; }\n"
    "I u32 pair_f16(f32 a, f32 b) { u32 r; asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(b), "
    "\"f\"(a)); return r; }\n"
    "#else\n"
    "I u32 pair_bf16(f32 a, f32 b) { return down_bf16(a) | (u32)down_bf16(b) << 16; }\n"
    "I u32 pair_f16(f32 a, f32 b) { return down_f16(a) | (u32)down_f16(b) << 16; }\n"
    "#endif\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "#define TWO(OP, T) I u32 OP##2_##T(u32 a, u32 b) { u32 r; asm(#OP \".rn.\" #T \"x2 %0, %1, %2;\" : \"=r\"(r) : "
    "\"r\"(a), \"r\"(b)); return r; }\n"
    "TWO(add, bf16) TWO(sub, bf16) TWO(add, f16) TWO(sub, f16)\n"
    "#else\n"
    "#define TWO(OP, T, O) I u32 OP##2_##T(u32 a, u32 b) { return pair_##T(up_##T((u16)a) O up_##T((u16)b), "
    "up_##T((u16)(a >> 16)) O up_##T((u16)(b >> 16))); }\n"
    "TWO(add, bf16, +) TWO(sub, bf16, -) TWO(add, f16, +) TWO(sub, f16, -)\n"
    "#endif\n";

/* Warp shuffle; atomic addition to an element. */
static const char threads[] =
    "template <class T> I T shfl_xor(T x, int o, u32 mask = 0xffffffffu) {\n"
    "    union { T t; u32 w[sizeof(T) > 4 ? 2 : 1]; } u; u.w[0] = 0; u.t = x;\n"
    "    u.w[0] = __shfl_xor_sync(mask, u.w[0], o);\n"
    "    if (sizeof(T) > 4) u.w[sizeof(T) > 4] = __shfl_xor_sync(mask, u.w[sizeof(T) > 4], o);\n"
    "    return u.t; }\n"
    "template <class T> I T shfl_up(T x, int o, int width, u32 mask = 0xffffffffu) {\n"
    "    union { T t; u32 w[sizeof(T) > 4 ? 2 : 1]; } u; u.w[0] = 0; u.t = x;\n"
    "    u.w[0] = __shfl_up_sync(mask, u.w[0], o, width);\n"
    "    if (sizeof(T) > 4) u.w[sizeof(T) > 4] = __shfl_up_sync(mask, u.w[sizeof(T) > 4], o, width);\n"
    "    return u.t; }\n"
    "template <class T> I T shfl_last(T x, int width, u32 mask = 0xffffffffu) {\n"
    "    union { T t; u32 w[sizeof(T) > 4 ? 2 : 1]; } u; u.w[0] = 0; u.t = x;\n"
    "    u.w[0] = __shfl_sync(mask, u.w[0], width - 1, width);\n"
    "    if (sizeof(T) > 4) u.w[sizeof(T) > 4] = __shfl_sync(mask, u.w[sizeof(T) > 4], width - 1, width);\n"
    "    return u.t; }\n"
    "I void atomic_add_f32(f32 *p, f32 x) { atomicAdd(p, x); }\n"
    "I void atomic_add_f64(f64 *p, f64 x) { atomicAdd(p, x); }\n"
    "I void atomic_add_i32(i32 *p, i32 x) { atomicAdd((u32 *)p, (u32)x); }\n"
    "I void atomic_add_u32(u32 *p, u32 x) { atomicAdd(p, x); }\n"
    "I void atomic_add_i64(i64 *p, i64 x) { atomicAdd((unsigned long long *)p, (unsigned long long)x); }\n"
    "I void atomic_add_u64(u64 *p, u64 x) { atomicAdd((unsigned long long *)p, (unsigned long long)x); }\n"
    "#define ATOMIC_ADD(N, T, E) I void atomic_add_##N(T *p, T x) { \\\n"
    "    u32 *w = (u32 *)((u64)p & ~3ul), at = ((u32)(u64)p & 3) * 8, mask = (sizeof(T) == 1 ? 0xffu : "
    "0xffffu) << at, was = *w, old; \\\n"
    "    do { old = was; T a = (T)((old & mask) >> at); was = atomicCAS(w, old, (old & ~mask) | ((u32)(T)(E) "
    "<< at & mask)); } while (was != old); }\n"
    "ATOMIC_ADD(i8, u8, a + x) ATOMIC_ADD(u8, u8, a + x) ATOMIC_ADD(i16, u16, a + x) ATOMIC_ADD(u16, u16, a + x) ATOMIC_ADD(bool, u8, a | "
    "(x != 0))\n"
    "ATOMIC_ADD(f16, u16, down_f16(up_f16(a) + up_f16(x))) ATOMIC_ADD(bf16, u16, down_bf16(up_bf16(a) + up_bf16(x)))\n";
/* cp.async, ldmatrix, wgmma, mbarriers, TMA. GPUs before sm_80 copy synchronously. load_now: ptxas would
 * sink a load of read-only memory, over barriers too, to its use; volatile asm is not moved over
 * __syncwarp (pin_loads). */
static const char tiles[] =
    "I void prefetch_l1(const void *p) { asm volatile(\"prefetch.global.L1 [%0];\" :: \"l\"(p)); }\n"
    "template <class T> I T load_now(const T *p) { union { T t; u32 w[sizeof(T) / 4 ? sizeof(T) / 4 : 1]; } u;\n"
    "    if (sizeof(T) == 16) asm volatile(\"ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\" : \"=r\"(u.w[0]), "
    "\"=r\"(u.w[sizeof(T) / 16]), \"=r\"(u.w[sizeof(T) / 8]), \"=r\"(u.w[sizeof(T) / 16 * 3]) : \"l\"(p) : "
    "\"memory\");\n"
    "    else if (sizeof(T) == 4) asm volatile(\"ld.global.u32 %0, [%1];\" : \"=r\"(u.w[0]) : \"l\"(p) : "
    "\"memory\");\n"
    "    else u.t = *p;\n"
    "    return u.t; }\n"
    "I void pin_loads() { __syncwarp(__activemask()); }\n"
    "I u32 smem_addr(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"
    "#if __CUDA_ARCH__ >= 800\n"
    "I void cp_async_16(void *d, const void *s, bool g) { asm volatile(\"cp.async.cg.shared.global.L2::128B "
    "[%0], [%1], 16, %2;\" :: "
    "\"r\"(smem_addr(d)), \"l\"(s), \"r\"(g ? 16 : 0) : \"memory\"); }\n"
    "I void cp_async_16_ca(void *d, const void *s, bool g) { asm volatile(\"cp.async.ca.shared.global [%0], [%1], "
    "16, %2;\" :: "
    "\"r\"(smem_addr(d)), \"l\"(s), \"r\"(g ? 16 : 0) : \"memory\"); }\n"
    "I void cp_async_8(void *d, const void *s, bool g) { asm volatile(\"cp.async.ca.shared.global [%0], [%1], 8, "
    "%2;\" :: "
    "\"r\"(smem_addr(d)), \"l\"(s), \"r\"(g ? 8 : 0) : \"memory\"); }\n"
    "I void cp_async_4(void *d, const void *s, bool g) { asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, "
    "%2;\" :: "
    "\"r\"(smem_addr(d)), \"l\"(s), \"r\"(g ? 4 : 0) : \"memory\"); }\n"
    "I void cp_async_commit() { asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); }\n"
    "template <int N> I void cp_async_wait() { asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(N) : "
    "\"memory\"); }\n"
    "I void ldmatrix(u32 &a, u32 &b, u32 &c, u32 &d, const void *p) { asm "
    "volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(a), \"=r\"(b), "
    "\"=r\"(c), "
    "\"=r\"(d) : \"r\"(smem_addr(p)) : \"memory\"); }\n"
    "I void ldmatrix_trans(u32 &a, u32 &b, u32 &c, u32 &d, const void *p) { asm "
    "volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(a), "
    "\"=r\"(b), \"=r\"(c), "
    "\"=r\"(d) : \"r\"(smem_addr(p)) : \"memory\"); }\n"
    "template <int B> I u32 swizzle(u32 i) { return i ^ (i / (128 / B) & 7) * (16 / B); }\n"
    "#if __CUDA_ARCH_FEAT_SM90_ALL\n"
    /* without the bits of the cluster rank, which mean something else in a descriptor */
    "I u32 desc_addr(const void *p) { return (smem_addr(p) & 0x3ffff) >> 4; }\n"
    "I u64 smem_desc(u32 at, u32 panel, u32 leap = 64) { return (u64)(at + ((panel ? panel >> 4 : 1) << 16)) | (u64)(0x40000000 | leap) "
    "<< 32; }\n"
    "I void fence_async() { asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); }\n"
    "I i32 warpgroup_of(i32 thread) { return __shfl_sync(0xffffffffu, thread >> 7, 0); }\n"
    "I void wgmma_fence() { asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); }\n"
    "I void wgmma_commit() { asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\"); }\n"
    "template <int N> I void wgmma_wait() { asm volatile(\"wgmma.wait_group.sync.aligned %0;\" :: \"n\"(N) "
    ": \"memory\"); }\n"
    "struct alignas(64) tensor_map { u64 w[16]; };\n"
    "I void cluster_sync() { asm volatile(\"barrier.cluster.arrive.release;\\n\\tbarrier.cluster.wait.acquire;\" ::: "
    "\"memory\"); }\n"
    /* DSMEM: the address of the same variable in another block of the cluster */
    "I u32 cluster_addr(u32 d, u32 block) { u32 r; asm(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(r) : \"r\"(d), "
    "\"r\"(block)); return r; }\n"
    "I void dsmem_store_1(u32 d, f32 x) { asm volatile(\"st.shared::cluster.f32 [%0], %1;\" :: \"r\"(d), \"f\"(x) : "
    "\"memory\"); }\n"
    "I void dsmem_store_2(u32 d, f32 x, f32 y) { asm volatile(\"st.shared::cluster.v2.f32 [%0], {%1, %2};\" :: "
    "\"r\"(d), \"f\"(x), \"f\"(y) : \"memory\"); }\n"
    "I void named_barrier(u32 i, u32 n) { asm volatile(\"bar.sync %0, %1;\" :: \"r\"(i), \"r\"(n) : "
    "\"memory\"); }\n"
    /* below any kernel's initial allocation: dec, else inc */
    "template <int N> I void setmaxnreg() { if (N < 100) asm volatile(\"setmaxnreg.dec.sync.aligned.u32 %0;\" "
    ":: \"n\"(N < 100 ? N : 24)); else asm "
    "volatile(\"setmaxnreg.inc.sync.aligned.u32 %0;\" :: \"n\"(N < 100 ? 240 : N)); }\n"
    "I void mbar_init(u32 b, u32 n) { asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1; "
    "fence.mbarrier_init.release.cluster;\" :: "
    "\"r\"(b), \"r\"(n) : \"memory\"); }\n"
    "I void mbar_arrive(u32 b) { asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" :: \"r\"(b) : "
    "\"memory\"); }\n"
    "I void mbar_expect_tx(u32 b, u32 n) { asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], "
    "%1;\" :: \"r\"(b), "
    "\"r\"(n) : \"memory\"); }\n"
    /* an endless wait traps instead of hanging; try_wait suspends for a time that hardware chooses; the
     * first try is not counted */
    "I void mbar_wait(u32 b, u32 parity) { asm volatile(\"{ .reg .pred p, q; .reg .u32 n; "
    "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D%=; mov.u32 n, 0;\\n\"\n"
    "    \"W%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D%=; add.u32 n, n, 1; "
    "setp.gt.u32 q, n, 4000000; @q trap; bra W%=; D%=: "
    "}\" :: \"r\"(b), \"r\"(parity) : \"memory\"); }\n"
    "I void tma_load(u32 d, const tensor_map *m, u32 b, i32 x, i32 y) { asm "
    "volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
    "{%2, %3}], [%4];\" :: \"r\"(d), "
    "\"l\"(m), \"r\"(x), \"r\"(y), \"r\"(b) : \"memory\"); }\n"
    "I void tma_store(u32 s, const tensor_map *m, i32 x, i32 y) { asm "
    "volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%1, {%2, "
    "%3}], [%0]; cp.async.bulk.commit_group;\" :: \"r\"(s), \"l\"(m), \"r\"(x), \"r\"(y) : \"memory\"); }\n"
    "template <int N> I void tma_store_wait() { asm volatile(\"cp.async.bulk.wait_group.read %0;\" :: \"n\"(N) : "
    "\"memory\"); }\n"
    "#endif\n"
    "I u32 tf32(f32 x) { u32 r; asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(r) : \"f\"(x)); return r; }\n"
    "#else\n"
    "template <class T> I void copy_sync(void *d, const void *s, bool g) { *(T *)d = g ? *(const T *)s : T{}; "
    "}\n"
    "#define cp_async_16(d, s, g) copy_sync<piece<u64, 2>>(d, s, g)\n"
    "#define cp_async_16_ca cp_async_16\n"
    "#define cp_async_8(d, s, g) copy_sync<u64>(d, s, g)\n"
    "#define cp_async_4(d, s, g) copy_sync<u32>(d, s, g)\n"
    "I void cp_async_commit() {}\n"
    "template <int N> I void cp_async_wait() {}\n"
    "#endif\n";
/* clang-format on */

/* fp8 over up_f16: e5m2 is the upper byte of an fp16; e4m3 is an fp16 with a bias 2^8 smaller, NaN where
 * all bits are ones. Down: a constant is added at which the last bit of a subnormal is the last bit of the
 * float, or the dropped bits are rounded as integers. */
/* clang-format off */
static const char bytes[] =
    "I f32 up_f8e5m2(f8e5m2 a) { return up_f16((u16)a << 8); }\n"
    "I f32 up_f8e4m3(f8e4m3 a) { const u32 m = a & 0x7f; f32 v = up_f16((u16)(m << 7 | (a & 0x80) << 8)) * 256.0f;\n"
    "    return m == 0x7f ? U(f32, u32, 0x7fc00000u) : v; }\n"
    "I f8e4m3 down_f8e4m3(f32 x) { const u32 b = U(u32, f32, x), a = b & 0x7fffffff, n = ((a + 0x7ffff + (a >> 20 & 1)) >> 20) - 0x3c0,\n"
    "    s = U(u32, f32, U(f32, u32, a) + 16384.0f) - 0x46800000; return (a < 0x3c800000 ? s : a > 0x43e80000 ? (a > 0x7f800000 ? 0x7f : 0x7e) : n) | (b >> 24 & 0x80); }\n"
    "I f8e5m2 down_f8e5m2(f32 x) { const u32 b = U(u32, f32, x), a = b & 0x7fffffff, n = ((a + 0xfffff + (a >> 21 & 1)) >> 21) - 0x1c0,\n"
    "    s = U(u32, f32, U(f32, u32, a) + 128.0f) - 0x43000000;\n"
    "    return (a < 0x38800000 ? s : a >= 0x47800000 ? (a > 0x7f800000 ? 0x7e : 0x7c) : n) | (b >> 24 & 0x80); }\n";
/* clang-format on */

void gpu_common(struct str *o) { str_add(o, common); }
void gpu_bytes(struct str *o) { str_add(o, bytes); }

/* Programmatic dependent launch, first in a kernel: waits for the kernels it depends on, then lets
 * dependents launch. No effect without the launch attribute (device/cuda/cuda_graph.c sets it). */
static const char begin[] = "I void pdl_wait() {\n"
                            "#if __CUDA_ARCH__ >= 900\n"
                            "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
                            "    asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");\n"
                            "#endif\n"
                            "}\n";

void render_cuda_preamble(struct str *o) {
    str_add(o, types);
    gpu_common(o);
    str_add(o, scalars);
    str_add(o, sixteen_bit);
    gpu_bytes(o);
    str_add(o, threads);
    str_add(o, tiles);
    str_add(o, begin);
}
