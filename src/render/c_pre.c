/* c_pre.c: what every generated translation unit begins with: types, and one small function for each
 * thing that C's vector extensions cannot say.
 *
 * Three layers. Types: every element type in 2 .. 64 lanes, as a value (f32x4) and in memory (f32x4m: no
 * alignment, may alias). Primitives: FMA, NaN-keeping max and min, square root, the four
 * roundings and the saturating conversions, each for the registers the machine has; where there is a
 * single instruction it is reached by a builtin (clang) or one line of asm (gcc), so that no header is
 * parsed: arm_neon.h alone costs more time than compiling a kernel. Wider types: two of half the width.
 * A product feeding an addition is never left to contraction: if the same product is also used elsewhere
 * the compiler may round it on its own, so FMA calls fma_*, which is the fma intrinsic.
 * Tests: tests/unit/render.c (every op and type against op_eval, both compilers; also the portable and
 * the x86 branches, compiled if not run). */
#include "render/internal.h"

/* clang-format off */
static const char basics[] =
    "#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)\n" /* of -O2 what keeps accumulators in registers: cc.c */
    "#pragma GCC optimize(\"expensive-optimizations\", \"gcse\", \"cse-follow-jumps\", \"rerun-cse-after-loop\", \"schedule-insns2\", \"no-dse\")\n"
    "#endif\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n" /* no bounds of loops from each address in them: cubic in a loop's loads */
    "#pragma GCC optimize(\"no-aggressive-loop-optimizations\")\n"
    "#endif\n"
    "#define I static inline __attribute__((always_inline))\n"
    "#define BODY static __attribute__((noinline)) void\n"
    "#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)\n" /* -O1 of gcc does not schedule */
    "#define SCHEDULED_BODY static __attribute__((noinline, optimize(\"schedule-insns\", \"sched-pressure\"))) void\n"
    "#define WINDOW_BODY static __attribute__((noinline, optimize(\"no-tree-coalesce-vars\"))) void\n"
    "#else\n"
    "#define SCHEDULED_BODY BODY\n"
    "#define WINDOW_BODY BODY\n"
    "#endif\n"
    "#ifdef __OPENCL_C_VERSION__\n" /* its long long has 128 bits; x86 builtins take long there */
    "#define LONG_LONG long\n"
    "#define CONSTANT __constant\n"
    "#else\n"
    "#define LONG_LONG long long\n"
    "#define CONSTANT const\n"
    "#endif\n"
    "#define U(D, S, x) (((union { S s; D d; }){.s = (x)}).d)\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n" /* takes comparisons of vectors of two registers apart, and conversions */
    "#define CMP(S, NAME, N, M, OP, a, b) cmp_##S##_##NAME##_##N(a, b)\n"
    "#define IS_GCC 1\n"
    "#else\n"
    "#define CMP(S, NAME, N, M, OP, a, b) ((M##x##N)((a) OP (b)))\n"
    "#define IS_GCC 0\n"
    "#endif\n"
    "#if IS_GCC\n"
    "#define CVT(S, D, N, a) cvt_##S##_##D##_##N(a)\n"
    "#else\n"
    "#define CVT(S, D, N, a) __builtin_convertvector(a, D##x##N)\n"
    "#endif\n"
    "#define SEL(T, M, m, a, b) ((T)(((m) & (M)(a)) | (~(m) & (M)(b))))\n"
    /* a mask of other elements than the values: in a mask register, or converted (n) */
    "#if IS_GCC && defined(__AVX512BW__) && defined(__AVX512VL__)\n"
    "#define BLEND(T, M, D, E, N, m, n, a, b) ((T)blend_##M##_##D##_##N(m, n, (E##x##N)(a), (E##x##N)(b)))\n"
    "#else\n"
    "#define BLEND(T, M, D, E, N, m, n, a, b) SEL(T, E##x##N, n, a, b)\n"
    "#endif\n"
    "#define ROL(x, n) ((x) << (n) | (x) >> (32 - (n)))\n"
    "#ifndef __has_builtin\n"
    "#define __has_builtin(x) 0\n"
    "#endif\n"
    "#if __has_builtin(__builtin_shufflevector)\n"
    "#define MIX(T, a, b, ...) ((T)__builtin_shufflevector(a, b, __VA_ARGS__))\n"
    "#define ZIP16(T, a, b) ((T)__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, "
    "6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))\n"
    "#define ZIP32(T, a, b) ((T)__builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, "
    "6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47, 16, 48, 17, 49, 18, 50, "
    "19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, "
    "63))\n"
    "#else\n"
    "#define MIX(T, a, b, ...) ({ union { __typeof__(a) t[2]; __typeof__((a)[0]) e[2 * sizeof(a) / sizeof((a)[0])]; } x_ = {{(a), (b)}}; \\\n"
    "    const int i_[] = {__VA_ARGS__}; union { T t; __typeof__((a)[0]) e[sizeof i_ / sizeof *i_]; } z_; \\\n"
    "    for (int k_ = 0; k_ < (int)(sizeof i_ / sizeof *i_); k_++) z_.e[k_] = x_.e[i_[k_]]; \\\n"
    "    z_.t; })\n"
    "#define ZIP(T, N, a, b) ({ __typeof__(a) x_ = (a), y_ = (b); union { __typeof__(x_[0]) e[2 * N]; T t; } z_; \\\n"
    "    for (int i_ = 0; i_ < N; i_++) z_.e[2 * i_] = x_[i_], z_.e[2 * i_ + 1] = y_[i_]; z_.t; })\n"
    "#define ZIP16(T, a, b) ZIP(T, 16, a, b)\n"
    "#define ZIP32(T, a, b) ZIP(T, 32, a, b)\n"
    "#endif\n"
    "typedef __INT8_TYPE__ i8; typedef __UINT8_TYPE__ u8; typedef __INT16_TYPE__ i16; typedef "
    "__UINT16_TYPE__ u16;\n"
    "typedef __INT32_TYPE__ i32; typedef __UINT32_TYPE__ u32; typedef __INT64_TYPE__ i64; typedef "
    "__UINT64_TYPE__ u64;\n"
    "typedef u8 bool8; typedef float f32; typedef double f64; typedef u16 bf16; typedef u8 f8e4m3; typedef "
    "u8 f8e5m2;\n"
    "#if defined(__ARM_FEATURE_FP16_SCALAR_ARITHMETIC) || defined(__aarch64__) && !defined(__OPENCL_C_VERSION__) || defined(__AVX512FP16__)\n"
    "#define HALF 1\n"
    "typedef _Float16 f16;\n"
    "#define F16(x, bits) ((f16)(x))\n"
    "#else\n"
    "typedef u16 f16;\n"
    "#define F16(x, bits) ((f16)(bits))\n"
    "#endif\n"
    "#define V(T, N) \\\n"
    "    typedef T T##x##N __attribute__((vector_size(sizeof(T) * N))); \\\n"
    "    typedef T T##x##N##m __attribute__((vector_size(sizeof(T) * N), aligned(sizeof(T)), may_alias));\n"
    "#define VS(N) V(i8, N) V(i16, N) V(i32, N) V(i64, N) V(u8, N) V(u16, N) V(u32, N) V(u64, N) \\\n"
    "    V(f8e4m3, N) V(f8e5m2, N) V(f16, N) V(bf16, N) V(f32, N) V(f64, N)\n";

/* COLUMN16_2(T, a, .., p): element 2 of 16 rows of four. Rows i, i + 4, i + 8 .. make one vector, and four of those are transposed
 * within their 16 bytes: two instructions per column. QUAD: element `at` of four vectors, by the same transposition. */
static const char transposition[] =
    "#define ROW16(v) ((u32x4)(v))\n" /* a row of narrow elements as words */
    "#define ROW8(v) ((u32x4)(i64x2){U(i64, __typeof__(v), v), 0})\n"
    "#if __has_builtin(__builtin_shufflevector)\n"
    "#define LOW4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)\n"
    "#define HIGH4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)\n"
    "#define EVEN4(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)\n"
    "#define ODD4(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)\n"
    "#define LOW8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)\n"
    "#define HIGH8(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)\n"
    "#define EVEN8(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)\n"
    "#define ODD8(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)\n"
    "#define LOW16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, "
    "29)\n"
    "#define HIGH16(a, b) __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, "
    "15, 31)\n"
    "#define EVEN16(a, b) __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, "
    "29)\n"
    "#define ODD16(a, b) __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, "
    "31)\n"
    "#define JOIN4(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7)\n"
    "#define JOIN8(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)\n"
    "#define COLUMN4_0(T, a, b, c, d) ((T)EVEN4(LOW4(a, b), LOW4(c, d)))\n"
    "#define COLUMN4_1(T, a, b, c, d) ((T)ODD4(LOW4(a, b), LOW4(c, d)))\n"
    "#define COLUMN4_2(T, a, b, c, d) ((T)EVEN4(HIGH4(a, b), HIGH4(c, d)))\n"
    "#define COLUMN4_3(T, a, b, c, d) ((T)ODD4(HIGH4(a, b), HIGH4(c, d)))\n"
    "#define COLUMN8_0(T, a, b, c, d, e, f, g, h) ((T)EVEN8(LOW8(JOIN4(a, e), JOIN4(b, f)), LOW8(JOIN4(c, g), "
    "JOIN4(d, h))))\n"
    "#define COLUMN8_1(T, a, b, c, d, e, f, g, h) ((T)ODD8(LOW8(JOIN4(a, e), JOIN4(b, f)), LOW8(JOIN4(c, g), "
    "JOIN4(d, h))))\n"
    "#define COLUMN8_2(T, a, b, c, d, e, f, g, h) ((T)EVEN8(HIGH8(JOIN4(a, e), JOIN4(b, f)), HIGH8(JOIN4(c, "
    "g), JOIN4(d, h))))\n"
    "#define COLUMN8_3(T, a, b, c, d, e, f, g, h) ((T)ODD8(HIGH8(JOIN4(a, e), JOIN4(b, f)), HIGH8(JOIN4(c, g), "
    "JOIN4(d, h))))\n"
    "#define COLUMN16_0(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T)EVEN16(LOW16(JOIN8(JOIN4(a, e), "
    "JOIN4(i, m)), JOIN8(JOIN4(b, f), JOIN4(j, n))), LOW16(JOIN8(JOIN4(c, g), JOIN4(k, o)), JOIN8(JOIN4(d, h), "
    "JOIN4(l, p)))))\n"
    "#define COLUMN16_1(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T)ODD16(LOW16(JOIN8(JOIN4(a, e), "
    "JOIN4(i, m)), JOIN8(JOIN4(b, f), JOIN4(j, n))), LOW16(JOIN8(JOIN4(c, g), JOIN4(k, o)), JOIN8(JOIN4(d, h), "
    "JOIN4(l, p)))))\n"
    "#define COLUMN16_2(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T)EVEN16(HIGH16(JOIN8(JOIN4(a, "
    "e), JOIN4(i, m)), JOIN8(JOIN4(b, f), JOIN4(j, n))), HIGH16(JOIN8(JOIN4(c, g), JOIN4(k, o)), "
    "JOIN8(JOIN4(d, h), JOIN4(l, p)))))\n"
    "#define COLUMN16_3(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T)ODD16(HIGH16(JOIN8(JOIN4(a, e), "
    "JOIN4(i, m)), JOIN8(JOIN4(b, f), JOIN4(j, n))), HIGH16(JOIN8(JOIN4(c, g), JOIN4(k, o)), JOIN8(JOIN4(d, "
    "h), JOIN4(l, p)))))\n"
    /* of rows of sixteen: four rows at a time are transposed within their 16 bytes, then column `at` of the four groups is gathered */
    "#define GROUPS16_0(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)\n"
    "#define GROUPS16_1(a, b) __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31)\n"
    "#define PARTS16_0(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)\n"
    "#define PARTS16_1(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)\n"
    "#define FOUR16(L, E, a, b, c, d) E##16(L##16(a, b), L##16(c, d))\n"
    "#define COLUMN16_OF16(T, L, E, G, P, at, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T)PARTS16_##P(GROUPS16_##G("
    "FOUR16(L, E, a, b, c, d), FOUR16(L, E, e, f, g, h)), GROUPS16_##G(FOUR16(L, E, i, j, k, l), FOUR16(L, E, m, n, o, p))))\n"
    "#define JOIN2(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3)\n"
    "#define COLUMN4_OF2(T, at, a, b, c, d) ((T)__builtin_shufflevector(JOIN2(a, c), JOIN2(b, d), at, 4 + at, 2 + at, 6 + at))\n"
    "#define COLUMN8_OF2(T, at, a, b, c, d, e, f, g, h) ((T)__builtin_shufflevector(JOIN4(JOIN2(a, c), JOIN2(e, g)), "
    "JOIN4(JOIN2(b, d), JOIN2(f, h)), at, 8 + at, 2 + at, 10 + at, 4 + at, 12 + at, 6 + at, 14 + at))\n"
    "#define WHOLE4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5, 2, 6, 3, 7)\n"
    "#define WHOLE8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15)\n"
    "#define ZIPLOW8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)\n"
    "#define ZIPHIGH8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)\n"
    "#define ZIPLOW16(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)\n"
    "#define ZIPHIGH16(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)\n"
    "#define HALF8(T, at, x) ({ __typeof__(x) t_ = (x); (T)__builtin_shufflevector(t_, t_, at % 2 * 4 + 0, at % 2 * 4 + 1, at % 2 * 4 + 2, at % 2 * 4 + 3); })\n"
    "#define HALF16(T, at, x) ({ __typeof__(x) t_ = (x); (T)__builtin_shufflevector(t_, t_, at % 2 * 8 + 0, at % 2 * 8 + 1, at % 2 * 8 + 2, at % 2 * 8 + 3, at % 2 * 8 + 4, at % 2 * 8 + 5, at % 2 * 8 + 6, at % 2 * 8 + 7); })\n"
    "#define COLUMN4_OF4(T, at, P, Q, a, b, c, d) HALF8(T, at, ZIP##Q##8(WHOLE4(a, c), WHOLE4(b, d)))\n"
    "#define COLUMN4_OF8(T, at, P, Q, a, b, c, d) HALF8(T, at, ZIP##Q##8(ZIP##P##8(a, c), ZIP##P##8(b, d)))\n"
    "#define COLUMN8_OF4(T, at, P, Q, a, b, c, d, e, f, g, h) HALF16(T, at, ZIP##Q##16(WHOLE8(WHOLE4(a, e), WHOLE4(c, g)), "
    "WHOLE8(WHOLE4(b, f), WHOLE4(d, h))))\n"
    "#define COLUMN8_OF8(T, at, P, Q, a, b, c, d, e, f, g, h) HALF16(T, at, ZIP##Q##16(ZIP##P##16(WHOLE8(a, e), WHOLE8(c, g)), "
    "ZIP##P##16(WHOLE8(b, f), WHOLE8(d, h))))\n"
    "#define QUAD(T, N, L, E, at, G, a, b, c, d) ({ __typeof__(a) t_ = E##N(L##N(a, b), L##N(c, d)); "
    "(T)__builtin_shufflevector(t_, t_, G, G + 1, G + 2, G + 3); })\n"
    "#else\n"
    "#define COLUMN4_OF2(T, at, a, b, c, d) ((T){(a)[at], (b)[at], (c)[at], (d)[at]})\n"
    "#define COLUMN8_OF2(T, at, a, b, c, d, e, f, g, h) ((T){(a)[at], (b)[at], (c)[at], (d)[at], (e)[at], (f)[at], "
    "(g)[at], (h)[at]})\n"
    "#define COLUMN4_OF4(T, at, P, Q, a, b, c, d) ((T){(a)[at], (b)[at], (c)[at], (d)[at]})\n"
    "#define COLUMN8_OF4(T, at, P, Q, a, b, c, d, e, f, g, h) ((T){(a)[at], (b)[at], (c)[at], (d)[at], (e)[at], (f)[at], "
    "(g)[at], (h)[at]})\n"
    "#define COLUMN4_OF8 COLUMN4_OF4\n"
    "#define COLUMN8_OF8 COLUMN8_OF4\n"
    "#define QUAD(T, N, L, E, at, G, a, b, c, d) ({ union { __typeof__((a)[0]) e[4]; T t; } z_ = {{(a)[at], (b)[at], (c)[at], (d)[at]}}; \\\n"
    "    z_.t; })\n"
    "#define COLUMN16_OF16(T, L, E, G, P, at, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T){(a)[at], (b)[at], (c)[at], "
    "(d)[at], (e)[at], (f)[at], (g)[at], (h)[at], (i)[at], (j)[at], (k)[at], (l)[at], (m)[at], (n)[at], (o)[at], (p)[at]})\n"
    "#define COLUMN4_0(T, a, b, c, d) ((T){(a)[0], (b)[0], (c)[0], (d)[0]})\n"
    "#define COLUMN4_1(T, a, b, c, d) ((T){(a)[1], (b)[1], (c)[1], (d)[1]})\n"
    "#define COLUMN4_2(T, a, b, c, d) ((T){(a)[2], (b)[2], (c)[2], (d)[2]})\n"
    "#define COLUMN4_3(T, a, b, c, d) ((T){(a)[3], (b)[3], (c)[3], (d)[3]})\n"
    "#define COLUMN8_0(T, a, b, c, d, e, f, g, h) ((T){(a)[0], (b)[0], (c)[0], (d)[0], (e)[0], (f)[0], (g)[0], "
    "(h)[0]})\n"
    "#define COLUMN8_1(T, a, b, c, d, e, f, g, h) ((T){(a)[1], (b)[1], (c)[1], (d)[1], (e)[1], (f)[1], (g)[1], "
    "(h)[1]})\n"
    "#define COLUMN8_2(T, a, b, c, d, e, f, g, h) ((T){(a)[2], (b)[2], (c)[2], (d)[2], (e)[2], (f)[2], (g)[2], "
    "(h)[2]})\n"
    "#define COLUMN8_3(T, a, b, c, d, e, f, g, h) ((T){(a)[3], (b)[3], (c)[3], (d)[3], (e)[3], (f)[3], (g)[3], "
    "(h)[3]})\n"
    "#define COLUMN16_0(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T){(a)[0], (b)[0], (c)[0], "
    "(d)[0], (e)[0], (f)[0], (g)[0], (h)[0], (i)[0], (j)[0], (k)[0], (l)[0], (m)[0], (n)[0], (o)[0], (p)[0]})\n"
    "#define COLUMN16_1(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T){(a)[1], (b)[1], (c)[1], "
    "(d)[1], (e)[1], (f)[1], (g)[1], (h)[1], (i)[1], (j)[1], (k)[1], (l)[1], (m)[1], (n)[1], (o)[1], (p)[1]})\n"
    "#define COLUMN16_2(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T){(a)[2], (b)[2], (c)[2], "
    "(d)[2], (e)[2], (f)[2], (g)[2], (h)[2], (i)[2], (j)[2], (k)[2], (l)[2], (m)[2], (n)[2], (o)[2], (p)[2]})\n"
    "#define COLUMN16_3(T, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) ((T){(a)[3], (b)[3], (c)[3], "
    "(d)[3], (e)[3], (f)[3], (g)[3], (h)[3], (i)[3], (j)[3], (k)[3], (l)[3], (m)[3], (n)[3], (o)[3], (p)[3]})\n"
    "#endif\n";

/* Scalars. The asm forms are single instructions that do exactly what ops.def asks for. */
static const char scalars[] =
    "#ifdef __aarch64__\n"
    "#define A2(N, INS, T, R) I T N(T a, T b) { T r; __asm__(INS \" %\" R \"0, %\" R \"1, %\" R \"2\" "
    ": \"=w\"(r) : \"w\"(a), \"w\"(b)); return r; }\n"
    "A2(max_f32, \"fmax\", f32, \"s\") A2(min_f32, \"fmin\", f32, \"s\")\n"
    "A2(max_f64, \"fmax\", f64, \"d\") A2(min_f64, \"fmin\", f64, \"d\")\n"
    "#define AC(N, INS, T, S, R, Q) I T N(S a) { T r; __asm__(INS \" %\" R \"0, %\" Q \"1\" : "
    "\"=r\"(r) : \"w\"(a)); return r; }\n"
    "AC(toi_f32, \"fcvtzs\", i32, f32, \"w\", \"s\") AC(tou_f32, \"fcvtzu\", u32, f32, \"w\", \"s\")\n"
    "AC(toi_f64, \"fcvtzs\", i64, f64, \"x\", \"d\") AC(tou_f64, \"fcvtzu\", u64, f64, \"x\", \"d\")\n"
    "#else\n"
    "#define G2(T, W) \\\n"
    "    I T max_##T(T a, T b) { return a != a ? a : a == b ? U(T, W, U(W, T, a) & U(W, T, b)) : a > b "
    "? a : b; } \\\n"
    "    I T min_##T(T a, T b) { return a != a ? a : a == b ? U(T, W, U(W, T, a) | U(W, T, b)) : a < b "
    "? a : b; }\n"
    "G2(f32, u32) G2(f64, u64)\n"
    "I i32 toi_f32(f32 a) { return a != a ? 0 : a >= 0x1p31f ? 0x7fffffff : a < -0x1p31f ? -0x7fffffff "
    "- 1 : (i32)a; }\n"
    "I u32 tou_f32(f32 a) { return !(a > 0) ? 0 : a >= 0x1p32f ? 0xffffffffu : (u32)a; }\n"
    "I i64 toi_f64(f64 a) { return a != a ? 0 : a >= 0x1p63 ? (i64)(~0ul >> 1) : a < -0x1p63 ? "
    "(i64)(1ul << 63) : (i64)a; }\n"
    "I u64 tou_f64(f64 a) { return !(a > 0) ? 0 : a >= 0x1p64 ? ~0ul : (u64)a; }\n"
    "#endif\n"
    "#define fma_f32(a, b, c) __builtin_fmaf(a, b, c)\n"
    "#define fma_f64(a, b, c) __builtin_fma(a, b, c)\n"
    "#define sqrt_f32(a) __builtin_sqrtf(a)\n"
    "#define sqrt_f64(a) __builtin_sqrt(a)\n"
    "#define floor_f32(a) __builtin_floorf(a)\n"
    "#define floor_f64(a) __builtin_floor(a)\n"
    "#define ceil_f32(a) __builtin_ceilf(a)\n"
    "#define ceil_f64(a) __builtin_ceil(a)\n"
    "#define trunc_f32(a) __builtin_truncf(a)\n"
    "#define trunc_f64(a) __builtin_trunc(a)\n"
    "#define round_f32(a) __builtin_rintf(a)\n"
    "#define round_f64(a) __builtin_rint(a)\n"
    "#define DM(T, W) \\\n"
    "    I T div_##T(T a, T b) { if (b == 0) return 0; if (b == -1) return (T)(0 - (W)a); T q = a / b; "
    "return q - (q * b != a & (a < 0) != (b < 0)); } \\\n"
    "    I T mod_##T(T a, T b) { if (b == 0 || b == -1) return 0; T r = a % b; return r != 0 && (r < "
    "0) != (b < 0) ? r + b : r; }\n"
    "DM(i32, u32) DM(i64, u64)\n";

/* Vectors as wide as a register. F1, F2, F3 define one function of 1, 2, 3 operands for all of them. */
static const char vectors[] =
    "#if defined(__aarch64__) && defined(__clang__) && defined(__ARM_NEON)\n"
    "#define WIDE 16\n"
    "typedef __attribute__((neon_vector_type(16))) signed char nq;\n"
    "typedef __attribute__((neon_vector_type(8))) signed char nd;\n"
    "#define F1(N, B) \\\n"
    "    I f32x2 N##_f32x2(f32x2 a) { return (f32x2)__builtin_neon_##B##_v((nd)a, 9); } \\\n"
    "    I f32x4 N##_f32x4(f32x4 a) { return (f32x4)__builtin_neon_##B##q_v((nq)a, 41); } \\\n"
    "    I f64x2 N##_f64x2(f64x2 a) { return (f64x2)__builtin_neon_##B##q_v((nq)a, 42); }\n"
    "#define F2(N, B) \\\n"
    "    I f32x2 N##_f32x2(f32x2 a, f32x2 b) { return (f32x2)__builtin_neon_##B##_v((nd)a, (nd)b, 9); "
    "} \\\n"
    "    I f32x4 N##_f32x4(f32x4 a, f32x4 b) { return (f32x4)__builtin_neon_##B##q_v((nq)a, (nq)b, "
    "41); } \\\n"
    "    I f64x2 N##_f64x2(f64x2 a, f64x2 b) { return (f64x2)__builtin_neon_##B##q_v((nq)a, (nq)b, 42); }\n"
    "I f32x2 fma_f32x2(f32x2 a, f32x2 b, f32x2 c) { return (f32x2)__builtin_neon_vfma_v((nd)c, (nd)a, "
    "(nd)b, 9); }\n"
    "I f32x4 fma_f32x4(f32x4 a, f32x4 b, f32x4 c) { return (f32x4)__builtin_neon_vfmaq_v((nq)c, (nq)a, "
    "(nq)b, 41); }\n"
    "I f64x2 fma_f64x2(f64x2 a, f64x2 b, f64x2 c) { return (f64x2)__builtin_neon_vfmaq_v((nq)c, (nq)a, "
    "(nq)b, 42); }\n"
    "F1(sqrt, vsqrt) F1(floor, vrndm) F1(ceil, vrndp) F1(trunc, vrnd) F1(round, vrndn) F2(max, vmax) "
    "F2(min, vmin)\n"
    "I i32x2 toi_f32x2(f32x2 a) { return (i32x2)__builtin_neon_vcvt_s32_v((nd)a, 2); }\n"
    "I u32x2 tou_f32x2(f32x2 a) { return (u32x2)__builtin_neon_vcvt_u32_v((nd)a, 18); }\n"
    "I i32x4 toi_f32x4(f32x4 a) { return (i32x4)__builtin_neon_vcvtq_s32_v((nq)a, 34); }\n"
    "I u32x4 tou_f32x4(f32x4 a) { return (u32x4)__builtin_neon_vcvtq_u32_v((nq)a, 50); }\n"
    "I i64x2 toi_f64x2(f64x2 a) { return (i64x2)__builtin_neon_vcvtq_s64_v((nq)a, 35); }\n"
    "I u64x2 tou_f64x2(f64x2 a) { return (u64x2)__builtin_neon_vcvtq_u64_v((nq)a, 51); }\n"
    "#elif defined(__aarch64__)\n"
    "#define WIDE 16\n"
    "#define A1(N, INS, R, T, Q) I R N(T a) { R r; __asm__(INS \" %0.\" Q \", %1.\" Q : \"=w\"(r) : "
    "\"w\"(a)); return r; }\n"
    "#define F1(N, INS) A1(N##_f32x2, INS, f32x2, f32x2, \"2s\") A1(N##_f32x4, INS, f32x4, f32x4, "
    "\"4s\") A1(N##_f64x2, INS, f64x2, f64x2, \"2d\")\n"
    "#define A3(N, INS, T, Q) I T N(T a, T b) { T r; __asm__(INS \" %0.\" Q \", %1.\" Q \", %2.\" Q : "
    "\"=w\"(r) : \"w\"(a), \"w\"(b)); return r; }\n"
    "#define F2(N, INS) A3(N##_f32x2, INS, f32x2, \"2s\") A3(N##_f32x4, INS, f32x4, \"4s\") "
    "A3(N##_f64x2, INS, f64x2, \"2d\")\n"
    "#ifdef __clang__\n"
    "#define A4(T, Q) I T fma_##T(T a, T b, T c) { __asm__(\"fmla %0.\" Q \", %1.\" Q \", %2.\" Q : \"+w\"(c) : \"w\"(a), "
    "\"w\"(b)); return c; }\n"
    "A4(f32x2, \"2s\") A4(f32x4, \"4s\") A4(f64x2, \"2d\")\n"
    "#else\n"
    "#define fma_f32x2(a, b, c) __builtin_aarch64_fmav2sf(a, b, c)\n"
    "#define fma_f32x4(a, b, c) __builtin_aarch64_fmav4sf(a, b, c)\n"
    "#define fma_f64x2(a, b, c) __builtin_aarch64_fmav2df(a, b, c)\n"
    "#endif\n"
    "F1(sqrt, \"fsqrt\") F1(floor, \"frintm\") F1(ceil, \"frintp\") F1(trunc, \"frintz\") F1(round, "
    "\"frintn\")\n"
    "F2(max, \"fmax\") F2(min, \"fmin\")\n"
    "A1(toi_f32x2, \"fcvtzs\", i32x2, f32x2, \"2s\") A1(tou_f32x2, \"fcvtzu\", u32x2, f32x2, \"2s\")\n"
    "A1(toi_f32x4, \"fcvtzs\", i32x4, f32x4, \"4s\") A1(tou_f32x4, \"fcvtzu\", u32x4, f32x4, \"4s\")\n"
    "A1(toi_f64x2, \"fcvtzs\", i64x2, f64x2, \"2d\") A1(tou_f64x2, \"fcvtzu\", u64x2, f64x2, \"2d\")\n"
    "#else\n";

/* x86 with AVX2 and FMA has 32-byte primitives; anything else computes lane by lane. Comparisons and
 * masks need no builtin: max and min are written with them. MAXK, MINK: the second operand is a constant, neither zero nor
 * NaN; vmaxps returns its second source where they are unordered, which is then the NaN. FMA: gcc chooses among the three
 * forms of the instruction by what dies, and spills accumulators over it, so that asm says which operand is the sum. */
static const char portable[] =
    "#define X1(N, T) I T##x2 N##_##T##x2(T##x2 a) { return (T##x2){N##_##T(a[0]), N##_##T(a[1])}; }\n"
    "#define XC(N, R, T) I R##x2 N##_##T##x2(T##x2 a) { return (R##x2){N##_##T(a[0]), N##_##T(a[1])}; }\n"
    "X1(sqrt, f32) X1(sqrt, f64) X1(floor, f32) X1(floor, f64) X1(ceil, f32) X1(ceil, f64)\n"
    "X1(trunc, f32) X1(trunc, f64) X1(round, f32) X1(round, f64)\n"
    "XC(toi, i32, f32) XC(tou, u32, f32) XC(toi, i64, f64) XC(tou, u64, f64)\n"
    "I f32x2 fma_f32x2(f32x2 a, f32x2 b, f32x2 c) { return (f32x2){fma_f32(a[0], b[0], c[0]), "
    "fma_f32(a[1], b[1], c[1])}; }\n"
    "I f64x2 fma_f64x2(f64x2 a, f64x2 b, f64x2 c) { return (f64x2){fma_f64(a[0], b[0], c[0]), "
    "fma_f64(a[1], b[1], c[1])}; }\n"
    "#define XM(T, M) \\\n"
    "    I T max_##T(T a, T b) { T r = SEL(T, M, a > b, a, b); r = SEL(T, M, a == b, (M)a & (M)b, r); "
    "return SEL(T, M, a != a, a, r); } \\\n"
    "    I T min_##T(T a, T b) { T r = SEL(T, M, a < b, a, b); r = SEL(T, M, a == b, (M)a | (M)b, r); "
    "return SEL(T, M, a != a, a, r); }\n"
    "XM(f32x2, i32x2)\n"
    "#if defined(__AVX2__) && defined(__FMA__)\n"
    "#ifndef __AVX512DQ__\n"
    "#define WIDE 32\n"
    "#endif\n"
    "V(i32, 8) V(u32, 8) V(f32, 8)\n"
    "#if defined(__AVX512DQ__) && defined(__AVX512VL__)\n"
    "#ifdef __clang__\n"
    "#define YB(B, N, M, a, b) __builtin_ia32_select##B##_##N(M, b, a)\n"
    "#else\n"
    "#define YB(B, N, M, a, b) __builtin_ia32_blendm##B##_##N##_mask(a, b, M)\n"
    "#endif\n"
    "#define Y2(F, K, T, B, N) I T F##_##T(T a, T b) { T r = __builtin_ia32_range##B##N##_mask(a, b, K, a, -1); \\\n"
    "    return YB(B, N, __builtin_ia32_cmp##B##N##_mask(a, b, 3, -1), r, a + b); }\n"
    "#define YM(T, B, N) Y2(max, 5, T, B, N) Y2(min, 4, T, B, N)\n"
    "YM(f32x4, ps, 128) YM(f64x2, pd, 128) YM(f32x8, ps, 256) YM(f64x4, pd, 256)\n"
    "#else\n"
    "XM(f32x4, i32x4) XM(f64x2, i64x2) XM(f32x8, i32x8) XM(f64x4, i64x4)\n"
    "#endif\n"
    "#define MAXK(T, a, b) maxk_##T(a, b)\n"
    "#define MINK(T, a, b) mink_##T(a, b)\n"
    "#define XK(T, B) I T maxk_##T(T a, T b) { return __builtin_ia32_max##B(b, a); } I T mink_##T(T a, T b) { return "
    "__builtin_ia32_min##B(b, a); }\n"
    "XK(f32x4, ps) XK(f32x8, ps256) XK(f64x2, pd) XK(f64x4, pd256)\n"
    "#define maxk_f32x2(a, b) max_f32x2(a, b)\n"
    "#define mink_f32x2(a, b) min_f32x2(a, b)\n"
    "#ifdef __clang__\n"
    "#define XF(T, B, S) I T fma_##T(T a, T b, T c) { return __builtin_ia32_vfmadd##B(a, b, c); }\n"
    "#else\n"
    "#define XF(T, B, S) I T fma_##T(T a, T b, T c) { __asm__(\"vfmadd231\" S \" %2, %1, %0\" : \"+v\"(c) : \"v\"(a), \"v\"(b)); return c; }\n"
    "#endif\n"
    "XF(f32x4, ps, \"ps\") XF(f32x8, ps256, \"ps\") XF(f64x4, pd256, \"pd\")\n"
    "#define XR(N, K) \\\n"
    "    I f32x4 N##_f32x4(f32x4 a) { return __builtin_ia32_roundps(a, K); } \\\n"
    "    I f32x8 N##_f32x8(f32x8 a) { return __builtin_ia32_roundps256(a, K); } \\\n"
    "    I f64x4 N##_f64x4(f64x4 a) { return __builtin_ia32_roundpd256(a, K); }\n"
    "XR(floor, 9) XR(ceil, 10) XR(trunc, 11) XR(round, 8)\n"
    "#if __has_builtin(__builtin_elementwise_sqrt)\n"
    "#define XS(T, B) I T sqrt_##T(T a) { return __builtin_elementwise_sqrt(a); }\n"
    "#else\n"
    "#define XS(T, B) I T sqrt_##T(T a) { return __builtin_ia32_sqrt##B(a); }\n"
    "#endif\n"
    "XS(f32x4, ps) XS(f32x8, ps256) XS(f64x4, pd256)\n"
    "I i32x4 toi_f32x4(f32x4 a) { i32x4 over = a >= 0x1p31f; i32x4 r = __builtin_ia32_cvttps2dq(a); "
    "return SEL(i32x4, i32x4, a == a, r ^ over, over & 0); }\n"
    "I i32x8 toi_f32x8(f32x8 a) { i32x8 over = a >= 0x1p31f; i32x8 r = __builtin_ia32_cvttps2dq256(a); "
    "return SEL(i32x8, i32x8, a == a, r ^ over, over & 0); }\n"
    "#else\n"
    "#define WIDE 8\n"
    "XM(f32x4, i32x4) XM(f64x2, i64x2)\n"
    "#endif\n";

/* AVX-512 (F, DQ): whole 64-byte registers. max, min, of shorter ones too (VL): vrange orders zeros but drops a NaN, so that unordered lanes take the
 * sum of both. Conversions give the integer with the top bit (signed) or all bits (unsigned) set where the value does not
 * fit. */
static const char avx512[] =
    "#if defined(__AVX512DQ__) && defined(__AVX2__) && defined(__FMA__)\n"
    "#define WIDE 64\n"
    "V(i32, 16) V(u32, 16) V(f32, 16) V(i64, 8) V(u64, 8) V(f64, 8)\n"
    "typedef LONG_LONG zq __attribute__((vector_size(64)));\n"
    "#ifdef __clang__\n"
    "#define Z1(T, B) I T sqrt_##T(T a) { return __builtin_ia32_sqrt##B##512(a, 4); }\n"
    "#define ZB(B, M, a, b) __builtin_ia32_select##B##_512(M, b, a)\n"
    "#define ZK(N, T, B) I T N##k_##T(T a, T b) { return __builtin_ia32_##N##B##512(b, a, 4); }\n"
    "#else\n"
    "#undef ROL\n"
    "#define ROL(x, n) ({ u32x16 r_; __asm__(\"vprold %2, %1, %0\" : \"=v\"(r_) : \"v\"(x), \"i\"(n)); r_; })\n"
    "#define Z1(T, B) I T sqrt_##T(T a) { return __builtin_ia32_sqrt##B##512_mask(a, a, -1, 4); }\n"
    "#define ZB(B, M, a, b) __builtin_ia32_blendm##B##_512_mask(a, b, M)\n"
    "#define ZK(N, T, B) I T N##k_##T(T a, T b) { return __builtin_ia32_##N##B##512_mask(b, a, a, -1, 4); }\n"
    "#endif\n"
    "#define ZR(N, K, T, B) I T N##_##T(T a) { return __builtin_ia32_rndscale##B##_mask(a, K, a, -1, 4); }\n"
    "#define ZM(N, K, T, B) I T N##_##T(T a, T b) { T r = __builtin_ia32_range##B##512_mask(a, b, K, a, -1, 4); \\\n"
    "    return ZB(B, __builtin_ia32_cmp##B##512_mask(a, b, 3, -1, 4), r, a + b); }\n"
    "#define ZF(T, B) Z1(T, B) ZR(floor, 9, T, B) ZR(ceil, 10, T, B) ZR(trunc, 11, T, B) ZR(round, 8, T, B) \\\n"
    "    ZM(max, 5, T, B) ZM(min, 4, T, B) ZK(max, T, B) ZK(min, T, B)\n"
    "#ifdef __clang__\n"
    "#define ZA(T, B) I T fma_##T(T a, T b, T c) { return __builtin_ia32_vfmadd##B##512_mask(a, b, c, -1, 4); }\n"
    "#else\n"
    "#define ZA(T, B) XF(T, B, #B)\n"
    "#endif\n"
    "ZF(f32x16, ps) ZF(f64x8, pd) ZA(f32x16, ps) ZA(f64x8, pd)\n"
    "#define ZC(T, IT, UT, B, Q, MAX, Z) \\\n"
    "    I IT toi_##T(T a) { IT over = (IT)(a >= MAX), r = (IT)__builtin_ia32_cvtt##B##2##Q##512_mask(a, (Z)over, -1, 4); \\\n"
    "        return SEL(IT, IT, (IT)(a == a), r ^ over, over & 0); } \\\n"
    "    I UT tou_##T(T a) { UT pos = (UT)(a > 0); return (UT)__builtin_ia32_cvtt##B##2u##Q##512_mask(a, (Z)pos, -1, 4) & pos; }\n"
    "ZC(f32x16, i32x16, u32x16, ps, dq, 0x1p31f, i32x16) ZC(f64x8, i64x8, u64x8, pd, qq, 0x1p63, zq)\n"
    "#endif\n"
    "#endif\n";

/* Masked loads and stores of whole registers. vmaskmov gives zeros for masked lanes. */
static const char masks_x86[] =
    "#if !defined(__aarch64__) && WIDE >= 32\n"
    "V(i32, 4) V(f32, 4) V(i64, 2) V(f64, 2) V(i32, 8) V(f32, 8) V(i64, 4) V(f64, 4)\n"
    "typedef LONG_LONG yq __attribute__((vector_size(32)));\n"
    "typedef LONG_LONG xq __attribute__((vector_size(16)));\n"
    "#undef ML4x8\n#undef MS4x8\n#undef ML8x4\n#undef MS8x4\n#undef ML4x4\n#undef MS4x4\n#undef ML8x2\n#undef MS8x2\n"
    "#define ML4x4(T, p, m, a) SEL(T, i32x4, m, __builtin_ia32_maskloadps((const void *)(p), m), a)\n"
    "#define MS4x4(p, m, v) __builtin_ia32_maskstoreps((void *)(p), m, (f32x4)(v));\n"
    "#define ML8x2(T, p, m, a) SEL(T, i64x2, m, __builtin_ia32_maskloadpd((const void *)(p), (xq)(m)), a)\n"
    "#define MS8x2(p, m, v) __builtin_ia32_maskstorepd((void *)(p), (xq)(m), (f64x2)(v));\n"
    "#define ML4x8(T, p, m, a) SEL(T, i32x8, m, __builtin_ia32_maskloadps256((const void *)(p), m), a)\n"
    "#define MS4x8(p, m, v) __builtin_ia32_maskstoreps256((void *)(p), m, (f32x8)(v));\n"
    "#define ML8x4(T, p, m, a) SEL(T, i64x4, m, __builtin_ia32_maskloadpd256((const void *)(p), (yq)(m)), a)\n"
    "#define MS8x4(p, m, v) __builtin_ia32_maskstorepd256((void *)(p), (yq)(m), (f64x4)(v));\n"
    "#endif\n"
    "#if !defined(__aarch64__) && WIDE >= 64\n"
    "#undef ML4x16\n#undef MS4x16\n#undef ML8x8\n#undef MS8x8\n"
    "#define ML4x16(T, p, m, a) ((T)__builtin_ia32_loadups512_mask((const void *)(p), (f32x16)(a), "
    "__builtin_ia32_cvtd2mask512(m)))\n"
    "#define MS4x16(p, m, v) __builtin_ia32_storeups512_mask((void *)(p), (f32x16)(v), "
    "__builtin_ia32_cvtd2mask512(m));\n"
    "#define ML8x8(T, p, m, a) ((T)__builtin_ia32_loadupd512_mask((const void *)(p), (f64x8)(a), "
    "__builtin_ia32_cvtq2mask512((zq)(m))))\n"
    "#define MS8x8(p, m, v) __builtin_ia32_storeupd512_mask((void *)(p), (f64x8)(v), "
    "__builtin_ia32_cvtq2mask512((zq)(m)));\n"
    "#if defined(__AVX512BW__) && defined(__AVX512VL__)\n"
    "#undef ML2x16\n#undef MS2x16\n#undef ML1x16\n#undef MS1x16\n#undef ML2x8\n#undef MS2x8\n"
    "#define MB(T, V, Q, p, m, a) ((T)__builtin_ia32_loaddqu##Q##_mask((const void *)(p), (V)(a), m))\n"
    "#undef ML2x4\n#undef MS2x4\n#undef ML4x4\n#undef MS4x4\n"
    "V(i16, 8)\n"
    "#define MU(T, x) ((union { T from; i16x8 to; }){x}).to\n"
    "#define ML2x4(T, p, m, a) ((union { i16x8 from; T to; }){MB(i16x8, i16x8, hi128, p, (u8)__builtin_ia32_cvtd2mask128(m), MU(T, a))}).to\n"
    "#define MS2x4(p, m, v) __builtin_ia32_storedquhi128_mask((void *)(p), MU(__typeof__(v), v), (u8)__builtin_ia32_cvtd2mask128(m));\n"
    "#define ML4x4(T, p, m, a) ((T)__builtin_ia32_loadups128_mask((const void *)(p), (f32x4)(a), (u8)__builtin_ia32_cvtd2mask128(m)))\n"
    "#define MS4x4(p, m, v) __builtin_ia32_storeups128_mask((void *)(p), (f32x4)(v), (u8)__builtin_ia32_cvtd2mask128(m));\n"
    "#define ML2x16(T, p, m, a) MB(T, i16x16, hi256, p, __builtin_ia32_cvtd2mask512(m), a)\n"
    "#define ML2x8(T, p, m, a) MB(T, i16x8, hi128, p, __builtin_ia32_cvtd2mask256(m), a)\n"
    "#define ML1x16(T, p, m, a) MB(T, qx16, qi128, p, __builtin_ia32_cvtd2mask512(m), a)\n"
    "#define MS2x16(p, m, v) __builtin_ia32_storedquhi256_mask((void *)(p), (i16x16)(v), __builtin_ia32_cvtd2mask512(m));\n"
    "#define MS2x8(p, m, v) __builtin_ia32_storedquhi128_mask((void *)(p), (i16x8)(v), __builtin_ia32_cvtd2mask256(m));\n"
    "#define MS1x16(p, m, v) __builtin_ia32_storedquqi128_mask((void *)(p), (qx16)(v), __builtin_ia32_cvtd2mask512(m));\n"
    "typedef char qx16 __attribute__((vector_size(16)));\n"
    "#endif\n"
    "#endif\n";

/* Gathers and scatters of AVX-512. Narrow elements: the aligned word that each lies in. */
static const char gathers_x86[] =
    "#if !defined(__aarch64__) && WIDE >= 64 && defined(__AVX512VL__)\n"
    "V(i32, 8) V(u32, 8) V(u16, 8) V(u8, 8) V(u16, 16) V(u8, 16)\n"
    "#undef GATHER4x16\n#undef GATHER2x16\n#undef GATHER1x16\n#undef GATHER4x8\n#undef GATHER2x8\n#undef GATHER1x8\n#undef GATHER8x8\n"
    "#undef MSCATTER4x16\n#undef MSCATTER4x8\n#undef MSCATTER8x8\n"
    "#define MSCATTER4x16(p, x, m, v) __builtin_ia32_scattersiv16si((void *)(p), GK16(m), x, (i32x16)(v), 4);\n"
    "#define MSCATTER4x8(p, x, m, v) __builtin_ia32_scattersiv8si((void *)(p), GK8(m), x, (i32x8)(v), 4);\n"
    "#define MSCATTER8x8(p, x, m, v) __builtin_ia32_scattersiv8di((void *)(p), (u8)__builtin_ia32_cvtq2mask512((zq)(m)), x, (zq)(v), 8);\n"
    "#undef MGATHER4x16\n#undef MGATHER2x16\n#undef MGATHER1x16\n#undef MGATHER4x8\n#undef MGATHER2x8\n#undef MGATHER1x8\n#undef MGATHER8x8\n"
    "#define GK16 (u16)__builtin_ia32_cvtd2mask512\n"
    "#define GK8 (u8)__builtin_ia32_cvtd2mask256\n"
    "#define GW16(p, x, k, a, s) ((u32x16)__builtin_ia32_gathersiv16si((i32x16)(a), (const void *)(p), x, k, s))\n"
    "#define GW8(p, x, k, a, s) ((u32x8)__builtin_ia32_gather3siv8si((i32x8)(a), (const void *)(p), x, k, s))\n"
    "#define GQ(p, x, k, a) __builtin_ia32_gathersiv8di((zq)(a), (const void *)(p), x, k, 8)\n"
    "#define GN(N) \\\n"
    "    I u16x##N gather_u16x##N(const void *p, i32x##N x, i32x##N m, u16x##N a) { i32x##N e = x + (i32)((u64)p >> 1 & 1); \\\n"
    "        u32x##N w = GW##N((u64)p & ~3ul, e & ~1, GK##N(m), x ^ x, 2) >> (u32x##N)((e & 1) << 4); \\\n"
    "        return CVT(u32, u16, N, SEL(u32x##N, i32x##N, m, w, CVT(u16, u32, N, a))); } \\\n"
    "    I u8x##N gather_u8x##N(const void *p, i32x##N x, i32x##N m, u8x##N a) { i32x##N e = x + (i32)((u64)p & 3); \\\n"
    "        u32x##N w = GW##N((u64)p & ~3ul, e & ~3, GK##N(m), x ^ x, 1) >> (u32x##N)((e & 3) << 3); \\\n"
    "        return CVT(u16, u8, N, CVT(u32, u16, N, SEL(u32x##N, i32x##N, m, w, CVT(u16, u32, N, CVT(u8, u16, N, a))))); }\n"
    "GN(8) GN(16)\n"
    "#define GATHER4x16(T, p, x) ((T)GW16(p, x, (u16)-1, (x) ^ (x), 4))\n"
    "#define GATHER4x8(T, p, x) ((T)GW8(p, x, (u8)-1, (x) ^ (x), 4))\n"
    "#define GATHER8x8(T, p, x) ((T)GQ(p, x, (u8)-1, (zq){0}))\n"
    "#define GATHER2x16(T, p, x) ((T)gather_u16x16(p, x, (x) == (x), (u16x16){0}))\n"
    "#define GATHER2x8(T, p, x) ((T)gather_u16x8(p, x, (x) == (x), (u16x8){0}))\n"
    "#define GATHER1x16(T, p, x) ((T)gather_u8x16(p, x, (x) == (x), (u8x16){0}))\n"
    "#define GATHER1x8(T, p, x) ((T)gather_u8x8(p, x, (x) == (x), (u8x8){0}))\n"
    "#define MGATHER4x16(T, p, x, m, a) ((T)GW16(p, x, GK16(m), a, 4))\n"
    "#define MGATHER4x8(T, p, x, m, a) ((T)GW8(p, x, GK8(m), a, 4))\n"
    "#define MGATHER8x8(T, p, x, m, a) ((T)GQ(p, x, (u8)__builtin_ia32_cvtq2mask512((zq)(m)), a))\n"
    "#define MGATHER2x16(T, p, x, m, a) ((T)gather_u16x16(p, x, m, (u16x16)(a)))\n"
    "#define MGATHER2x8(T, p, x, m, a) ((T)gather_u16x8(p, x, m, (u16x8)(a)))\n"
    "#define MGATHER1x16(T, p, x, m, a) ((T)gather_u8x16(p, x, m, (u8x16)(a)))\n"
    "#define MGATHER1x8(T, p, x, m, a) ((T)gather_u8x8(p, x, m, (u8x8)(a)))\n"
    "#endif\n";

/* NEON has no masked accesses: a register of four whose lanes agree is loaded, stored or left whole, a mixed one lane by lane. */
static const char masks_neon[] =
    "#if defined(__aarch64__) && defined(__clang__)\n"
    "V(i32, 4) V(f32, 4) V(i64, 2)\n"
    "typedef f32x4 f32x4u __attribute__((aligned(4), may_alias));\n"
    "typedef f32 f32m __attribute__((may_alias));\n"
    "I f32x4 mload4(const void *p, i32x4 m, f32x4 a) { i64x2 q = (i64x2)m; const f32m *s = p; \\\n"
    "    if ((q[0] & q[1]) == -1) return *(const f32x4u *)p; \\\n"
    "    if ((q[0] | q[1]) == 0) return a; \\\n"
    "    return (f32x4){m[0] ? s[0] : a[0], m[1] ? s[1] : a[1], m[2] ? s[2] : a[2], m[3] ? s[3] : a[3]}; }\n"
    "I void mstore4(void *p, i32x4 m, f32x4 v) { i64x2 q = (i64x2)m; f32m *s = p; \\\n"
    "    if ((q[0] & q[1]) == -1) *(f32x4u *)p = v; \\\n"
    "    else { if (m[0]) s[0] = v[0]; if (m[1]) s[1] = v[1]; if (m[2]) s[2] = v[2]; if (m[3]) s[3] = v[3]; } }\n"
    "#define MQ(N) \\\n"
    "    I f32x##N mload##N(const void *p, i32x##N m, f32x##N a) { \\\n"
    "        union { f32x##N v; f32x4 q[N / 4]; } r = {a}; union { i32x##N v; i32x4 q[N / 4]; } k = {m}; \\\n"
    "        for (int i = 0; i < N / 4; i++) r.q[i] = mload4((const f32m *)p + 4 * i, k.q[i], r.q[i]); return r.v; } \\\n"
    "    I void mstore##N(void *p, i32x##N m, f32x##N v) { \\\n"
    "        union { f32x##N v; f32x4 q[N / 4]; } r = {v}; union { i32x##N v; i32x4 q[N / 4]; } k = {m}; \\\n"
    "        for (int i = 0; i < N / 4; i++) mstore4((f32m *)p + 4 * i, k.q[i], r.q[i]); }\n";

/* Twice as wide, in two parts. R: result, the rest operands; H names the half types. */
static const char twice_as_wide[] =
    "#define H1(N, R, T, RH, TH) I R N##_##T(T a) { union { T v; TH h[2]; } x = {a}; union { R v; RH "
    "h[2]; } r; \\\n"
    "    r.h[0] = N##_##TH(x.h[0]); r.h[1] = N##_##TH(x.h[1]); return r.v; }\n"
    "#define H2(N, T, TH) I T N##_##T(T a, T b) { union { T v; TH h[2]; } x = {a}, y = {b}, r; \\\n"
    "    r.h[0] = N##_##TH(x.h[0], y.h[0]); r.h[1] = N##_##TH(x.h[1], y.h[1]); return r.v; }\n"
    "#define H3(N, T, TH) I T N##_##T(T a, T b, T c) { union { T v; TH h[2]; } x = {a}, y = {b}, z = "
    "{c}, r; \\\n"
    "    r.h[0] = N##_##TH(x.h[0], y.h[0], z.h[0]); r.h[1] = N##_##TH(x.h[1], y.h[1], z.h[1]); return "
    "r.v; }\n"
    "#define HR(T, TH) H1(sqrt, T, T, TH, TH) H1(floor, T, T, TH, TH) H1(ceil, T, T, TH, TH) H1(trunc, "
    "T, T, TH, TH) H1(round, T, T, TH, TH)\n"
    "#define HM(T, TH) H2(max, T, TH) H2(min, T, TH)\n"
    "#define HA(T, TH) HR(T, TH) HM(T, TH) H3(fma, T, TH)\n"
    "#ifdef MAXK\n"
    "#define HK(T, TH) H2(maxk, T, TH) H2(mink, T, TH)\n"
    "#else\n"
    "#define HK(T, TH)\n"
    "#define MAXK(T, a, b) max_##T(a, b)\n"
    "#define MINK(T, a, b) min_##T(a, b)\n"
    "#endif\n"
    "#define HC(T, IT, UT, TH, IH, UH) H1(toi, IT, T, IH, TH) H1(tou, UT, T, UH, TH)\n"
    "#if WIDE == 8\n"
    "HR(f32x4, f32x2) H3(fma, f32x4, f32x2) HC(f32x4, i32x4, u32x4, f32x2, i32x2, u32x2)\n"
    "#elif WIDE >= 32\n"
    "H1(tou, u32x4, f32x4, u32x2, f32x2) H1(tou, u32x8, f32x8, u32x4, f32x4) HC(f64x4, i64x4, u64x4, "
    "f64x2, i64x2, u64x2)\n"
    "#endif\n"
    "#define HW(F, IE, UE, N, M) HA(F##x##N, F##x##M) HK(F##x##N, F##x##M) HC(F##x##N, IE##x##N, UE##x##N, F##x##M, "
    "IE##x##M, UE##x##M)\n"
    "#if WIDE < 32\n"
    "HW(f64, i64, u64, 4, 2)\n"
    "#endif\n";

/* Half types. A bfloat16 is the upper half of a float, rounded to nearest even; a quiet NaN stays one. A
 * half without instructions for it is converted by bit arithmetic: adding 0.5 to a small number rounds it at the
 * last bit of a subnormal fp16, multiplying by 2^112 rebiases the exponent and normalises subnormals.
 * odd_: double to float such that a further rounding to fewer digits is right (last digit sticky). */
static const char half_macros[] =
    "#define BD(N) I bf16x##N down_bf16x##N(f32x##N a) { u32x##N u = (u32x##N)a; \\\n"
    "        u32x##N r = (u + 0x7fff + (u >> 16 & 1)) >> 16, q = u >> 16 | 0x40; return CVT(u32, u16, N, "
    "SEL(u32x##N, u32x##N, (u32x##N)(a == a), r, q)); }\n"
    "#define BD2 BD(2)\n#define BD32 BD(32)\n#define BD64 BD(64)\n"
    "#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)\n" /* BFCVTN rounds and quiets in the same way */
    "#define BD4 I bf16x4 down_bf16x4(f32x4 a) { bf16x4 r; __asm__(\"bfcvtn %0.4h, %1.4s\" : \"=w\"(r) : \"w\"(a)); return r; "
    "}\n"
    "#define BD8 I bf16x8 down_bf16x8(f32x8 a) { union { f32x8 v; f32x4 h[2]; } x = {a}; bf16x8 r; \\\n"
    "    __asm__(\"bfcvtn %0.4h, %1.4s\\n\\tbfcvtn2 %0.8h, %2.4s\" : \"=&w\"(r) : \"w\"(x.h[0]), \"w\"(x.h[1])); return r; "
    "}\n"
    "#define BD16 I bf16x16 down_bf16x16(f32x16 a) { union { f32x16 v; f32x8 h[2]; } x = {a}; union { bf16x16 v; bf16x8 h[2]; } "
    "r; \\\n"
    "    r.h[0] = down_bf16x8(x.h[0]); r.h[1] = down_bf16x8(x.h[1]); return r.v; }\n"
    "#else\n"
    "#define BD4 BD(4)\n#define BD8 BD(8)\n"
    "#if IS_GCC && WIDE < 64\n"
    "#define BD16 I bf16x16 down_bf16x16(f32x16 a) { union { f32x16 v; f32x8 h[2]; } x = {a}; \\\n"
    "    union { bf16x8 h[2]; bf16x16 v; } r = {{down_bf16x8(x.h[0]), down_bf16x8(x.h[1])}}; return r.v; }\n"
    "#else\n"
    "#define BD16 BD(16)\n"
    "#endif\n"
    "#endif\n"
    "#define OD(N) \\\n"
    "    I f32x##N odd_f32x##N(f64x##N a) { f32x##N t = CVT(f64, f32, N, a); f64x##N b = CVT(f32, f64, N, t); \\\n"
    "        const f64x##N o = S##N(f64x##N, 0); i64x##N away = CMP(f64, lt, N, i64, <, o, a) & CMP(f64, lt, N, i64, <, a, b) | CMP(f64, lt, N, i64, <, a, o) & CMP(f64, lt, N, i64, <, b, a); \\\n"
    "        i64x##N lost = CMP(f64, eq, N, i64, ==, a, a) & CMP(f64, ne, N, i64, !=, b, a); \\\n"
    "        return (f32x##N)(((i32x##N)t + CVT(i64, i32, N, away)) | CVT(i64, i32, N, lost) & 1); }\n"
    "#define OD2 OD(2)\n#define OD4 OD(4)\n#define OD16 OD(16)\n#define OD32 OD(32)\n#define OD64 OD(64)\n"
    "#if WIDE == 64\n" /* rounded to zero, what was lost differs */
    "#define OD8 I f32x8 odd_f32x8(f64x8 a) { f32x8 t; __asm__(\"vcvtpd2ps %{rz-sae%}, %1, %0\" : \"=v\"(t) : \"v\"(a)); \\\n"
    "    i64x8 lost = CMP(f64, ne, 8, i64, !=, CVT(f32, f64, 8, t), a); return (f32x8)((i32x8)t | CVT(i64, i32, 8, lost) & 1); }\n"
    "#else\n"
    "#define OD8 OD(8)\n"
    "#endif\n"
    "#define BF(N) BD##N OD##N \\\n"
    "    I f32x##N up_bf16x##N(bf16x##N a) { return (f32x##N)(CVT(u16, u32, N, a) << 16); }\n"
    "#if defined(__x86_64__) && defined(__F16C__)\n" /* gcc converts _Float16 lane by lane */
    "I f32x4 cvtph4(f16x8 a) { f32x4 r; __asm__(\"vcvtph2ps %1, %0\" : \"=v\"(r) : \"v\"(a)); return r; }\n"
    "I f32x8 up_f16x8(f16x8 a) { f32x8 r; __asm__(\"vcvtph2ps %1, %0\" : \"=v\"(r) : \"v\"(a)); return r; }\n"
    "I f16x8 cvtps4(f32x4 a) { f16x8 r; __asm__(\"vcvtps2ph $0, %1, %0\" : \"=v\"(r) : \"v\"(a)); return r; }\n"
    "I f16x8 down_f16x8(f32x8 a) { f16x8 r; __asm__(\"vcvtps2ph $0, %1, %0\" : \"=v\"(r) : \"v\"(a)); return r; }\n"
    "I f32x2 up_f16x2(f16x2 a) { f32x4 r = cvtph4((f16x8){a[0], a[1], 0, 0, 0, 0, 0, 0}); return (f32x2){r[0], r[1]}; }\n"
    "I f16x2 down_f16x2(f32x2 a) { f16x8 r = cvtps4((f32x4){a[0], a[1], 0, 0}); return (f16x2){r[0], r[1]}; }\n"
    "I f32x4 up_f16x4(f16x4 a) { return cvtph4((f16x8)(i64x2){U(i64, f16x4, a), 0}); }\n"
    "I f16x4 down_f16x4(f32x4 a) { i64x2 r = (i64x2)cvtps4(a); return U(f16x4, i64, r[0]); }\n"
    "#define HH(N, M) \\\n"
    "    I f32x##N up_f16x##N(f16x##N a) { union { f16x##N v; f16x##M h[2]; } x = {a}; \\\n"
    "        union { f32x##M h[2]; f32x##N v; } r = {{up_f16x##M(x.h[0]), up_f16x##M(x.h[1])}}; return r.v; } \\\n"
    "    I f16x##N down_f16x##N(f32x##N a) { union { f32x##N v; f32x##M h[2]; } x = {a}; \\\n"
    "        union { f16x##M h[2]; f16x##N v; } r = {{down_f16x##M(x.h[0]), down_f16x##M(x.h[1])}}; return r.v; }\n"
    "#ifdef __AVX512F__\n"
    "#define HF16 \\\n"
    "    I f32x16 up_f16x16(f16x16 a) { f32x16 r; __asm__(\"vcvtph2ps %1, %0\" : \"=v\"(r) : \"v\"(a)); return r; } \\\n"
    "    I f16x16 down_f16x16(f32x16 a) { f16x16 r; __asm__(\"vcvtps2ph $0, %1, %0\" : \"=v\"(r) : \"v\"(a)); return r; }\n"
    "#else\n"
    "#define HF16 HH(16, 8)\n"
    "#endif\n"
    "#define HF2\n#define HF4\n#define HF8\n#define HF32 HH(32, 16)\n#define HF64 HH(64, 32)\n"
    "#define HF(N) HF##N\n"
    "#elif defined(HALF)\n"
    "#define HF(N) \\\n"
    "    I f32x##N up_f16x##N(f16x##N a) { return CVT(f16, f32, N, a); } \\\n"
    "    I f16x##N down_f16x##N(f32x##N a) { return CVT(f32, f16, N, a); }\n"
    "#else\n"
    "#define HF(N) \\\n"
    "    I f32x##N up_f16x##N(f16x##N a) { u32x##N h = CVT(u16, u32, N, a), em = (h & 0x7fff) << 13; \\\n"
    "        u32x##N r = (u32x##N)((f32x##N)em * 0x1p112f) | (u32x##N)(em >= 0x0f800000) & 0x7f800000; "
    "return (f32x##N)(r | (h & 0x8000) << 16); } \\\n"
    "    I f16x##N down_f16x##N(f32x##N x) { u32x##N b = (u32x##N)x, a = b & 0x7fffffff, n = a + "
    "0xc8000fff + (a >> 13 & 1) >> 13; \\\n"
    "        u32x##N s = (u32x##N)((f32x##N)a + 0.5f) - 0x3f000000, w = 0x7c00 + ((u32x##N)(a > "
    "0x7f800000) & 0x200); \\\n"
    "        u32x##N small = (u32x##N)(a < 0x38800000), big = (u32x##N)(a >= 0x47800000); \\\n"
    "        return CVT(u32, u16, N, small & s | big & w | ~(small | big) & n | b >> 16 & 0x8000); }\n"
    "#endif\n"
    /* One byte: e5m2 is the upper byte of a half; e4m3 is a half of another bias, 2^8 smaller, and NaN where all bits are ones. Down: a
     * constant is added at which the last bit of a subnormal is the last bit of the float, or the dropped bits are rounded as integers. */
    "#define EF(N) \\\n"
    "    I f32x##N up_f8e5m2x##N(f8e5m2x##N a) { return up_f16x##N((f16x##N)(CVT(u8, u16, N, a) << 8)); } \\\n"
    "    I f32x##N up_f8e4m3x##N(f8e4m3x##N a) { u16x##N u = CVT(u8, u16, N, a), m = u & 0x7f; \\\n"
    "        f32x##N v = up_f16x##N((f16x##N)(m << 7 | (u & 0x80) << 8)) * 256.0f; \\\n"
    "        return (f32x##N)((u32x##N)v | (u32x##N)(CVT(u16, u32, N, m) == 0x7f) & 0x7fc00000); } \\\n"
    "    I f8e4m3x##N down_f8e4m3x##N(f32x##N x) { u32x##N b = (u32x##N)x, a = b & 0x7fffffff; \\\n"
    "        u32x##N n = (a + 0x7ffff + (a >> 20 & 1) >> 20) - 0x3c0, s = (u32x##N)((f32x##N)a + 16384.0f) - "
    "0x46800000; \\\n"
    "        u32x##N small = (u32x##N)(a < 0x3c800000), big = (u32x##N)(a > 0x43e80000), w = 0x7e + "
    "((u32x##N)(a > 0x7f800000) & 1); \\\n"
    "        return CVT(u16, u8, N, CVT(u32, u16, N, small & s | big & w | ~(small | big) & n | b >> 24 & 0x80)); } \\\n"
    "    I f8e5m2x##N down_f8e5m2x##N(f32x##N x) { u32x##N b = (u32x##N)x, a = b & 0x7fffffff; \\\n"
    "        u32x##N n = (a + 0xfffff + (a >> 21 & 1) >> 21) - 0x1c0, s = (u32x##N)((f32x##N)a + 128.0f) - "
    "0x43000000; \\\n"
    "        u32x##N small = (u32x##N)(a < 0x38800000), big = (u32x##N)(a >= 0x47800000), w = 0x7c + "
    "((u32x##N)(a > 0x7f800000) & 2); \\\n"
    "        return CVT(u16, u8, N, CVT(u32, u16, N, small & s | big & w | ~(small | big) & n | b >> 24 & 0x80)); }\n"
    "#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC) || defined(__AVX512FP16__)\n"
    "#define F16_OP(N, a, op, b) ((a) op (b))\n"
    "#else\n"
    "#define F16_OP(N, a, op, b) down_f16x##N(up_f16x##N(a) op up_f16x##N(b))\n"
    "#endif\n"
    "BF(2) HF(2) EF(2)\n"
    "#define EF1(T) I f32 up_##T(T a) { return up_##T##x2((T##x2){a, 0})[0]; } I T down_##T(f32 a) { return "
    "down_##T##x2((f32x2){a, 0})[0]; }\n"
    "EF1(f8e4m3) EF1(f8e5m2)\n"
    "I f32 up_bf16(bf16 a) { return U(f32, u32, (u32)a << 16); }\n"
    "I bf16 down_bf16(f32 a) { u32 u = U(u32, f32, a); return a == a ? (u + 0x7fff + (u >> 16 & 1)) >> "
    "16 : u >> 16 | 0x40; }\n"
    "I f32 odd_f32(f64 a) { return odd_f32x2((f64x2){a, 0})[0]; }\n"
    "#ifdef HALF\n"
    "#define up_f16(a) ((f32)(a))\n"
    "#define down_f16(a) ((f16)(a))\n"
    "#else\n"
    "I f32 up_f16(f16 a) { return up_f16x2((f16x2){a, 0})[0]; }\n"
    "I f16 down_f16(f32 a) { return down_f16x2((f32x2){a, 0})[0]; }\n"
    "#endif\n";

/* Where FMA of f16 is no instruction, rules/half.c has taken it apart: then lane by lane. */
static const char f16_fma[] =
    "#define FMA16(T, INS, C) I T fma_##T(T a, T b, T c) { __asm__(INS : \"+\" C(c) : C(a), C(b)); return c; }\n"
    "#define FMA_TWICE(N, M) I f16x##N fma_f16x##N(f16x##N a, f16x##N b, f16x##N c) { \\\n"
    "    union { f16x##N v; f16x##M h[2]; } x = {a}, y = {b}, z = {c}; \\\n"
    "    for (int i = 0; i < 2; i++) z.h[i] = fma_f16x##M(x.h[i], y.h[i], z.h[i]); return z.v; }\n"
    "#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)\n"
    "FMA16(f16x4, \"fmla %0.4h, %1.4h, %2.4h\", \"w\") FMA16(f16x8, \"fmla %0.8h, %1.8h, %2.8h\", \"w\") FMA_TWICE(16, 8)\n"
    "#elif defined(__AVX512FP16__)\n"
    "FMA16(f16x8, \"vfmadd231ph %2, %1, %0\", \"v\") FMA16(f16x16, \"vfmadd231ph %2, %1, %0\", \"v\")\n"
    "#define F16_8(a) ((f16x8)(i64x2){U(i64, f16x4, a), 0})\n"
    "I f16x4 fma_f16x4(f16x4 a, f16x4 b, f16x4 c) { return U(f16x4, i64, ((i64x2)fma_f16x8(F16_8(a), F16_8(b), F16_8(c)))[0]); "
    "}\n"
    "#else\n"
    "I f16x4 fma_f16x4(f16x4 a, f16x4 b, f16x4 c) {\n"
    "    for (int i = 0; i < 4; i++) c[i] = down_f16(odd_f32((f64)up_f16(a[i]) * up_f16(b[i]) + up_f16(c[i]))); return c; }\n"
    "FMA_TWICE(8, 4) FMA_TWICE(16, 8)\n"
    "#endif\n";

/* Instructions that round as down_bf16 does. BFCVTN: every float. VCVTNEPS2BF16 takes subnormals for 0; they take the long way. */
static const char bf16_convert[] =
    "#if defined(__aarch64__) && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)\n"
    "I bf16x4 bfcvt4(f32x4 a) { bf16x4 r; __asm__(\"bfcvtn %0.4h, %1.4s\" : \"=w\"(r) : \"w\"(a)); return r; }\n"
    "I bf16x8 bfcvt8(f32x8 a) { union { f32x8 w; f32x4 h[2]; } u = {a}; bf16x8 r;\n"
    "    __asm__(\"bfcvtn %0.4h, %1.4s\\n\\tbfcvtn2 %0.8h, %2.4s\" : \"=&w\"(r) : \"w\"(u.h[0]), \"w\"(u.h[1])); return r; }\n"
    "#define down_bf16x4 bfcvt4\n"
    "#define down_bf16x8 bfcvt8\n"
    "#elif defined(__AVX512BF16__)\n"
    "#define BC(N, T, R) \\\n"
    "    I bf16x##N bfcvt##N(f32x##N a) { T tiny; union { R w; bf16x##N n; } r; __asm__(\"vfpclassps $32, %1, %0\" : \"=k\"(tiny) : \"v\"(a)); \\\n"
    "        if (__builtin_expect(tiny, 0)) return down_bf16x##N(a); \\\n"
    "        __asm__(\"vcvtneps2bf16 %1, %0\" : \"=v\"(r.w) : \"v\"(a)); return r.n; }\n"
    "BC(4, u8, bf16x8) BC(8, u8, bf16x8) BC(16, u16, bf16x16)\n"
    "#define down_bf16x4 bfcvt4\n"
    "#define down_bf16x8 bfcvt8\n"
    "#define down_bf16x16 bfcvt16\n"
    "#endif\n";

/* MMA instructions (ir/mma.def): c + a*b. On Arm both operands are registers; AVX-512 broadcasts a pair or quad of a from memory. */
static const char matrix_macros[] =
    "#if defined(__aarch64__)\n"
    "#define MM(N, INS, D, A, B, Q) I D mma_##N(D c, A a, B b) { __asm__(INS \" %0.4s, %1.\" Q \", %2.\" Q : \"+w\"(c) : "
    "\"w\"(a), \"w\"(b)); return c; }\n"
    "MM(BFMMLA, \"bfmmla\", f32x4, bf16x8, bf16x8, \"8h\") MM(SMMLA, \"smmla\", i32x4, i8x16, i8x16, \"16b\")\n"
    "MM(UMMLA, \"ummla\", i32x4, u8x16, u8x16, \"16b\") MM(USMMLA, \"usmmla\", i32x4, u8x16, i8x16, \"16b\")\n"
    "#elif defined(__AVX512F__)\n"
    "V(bf16, 32) V(i16, 32) V(i8, 64)\n"
    "#define MM(N, INS, D, A, B) I D mma_##N(D c, const A *a, B b) { i32 p; __builtin_memcpy(&p, a, 4); i32x16 w = "
    "S16(i32x16, p); \\\n"
    "    __asm__(INS \" %2, %1, %0\" : \"+v\"(c) : \"v\"(w), \"v\"(b)); return c; }\n"
    "MM(VDPBF16PS, \"vdpbf16ps\", f32x16, bf16, bf16x32) MM(VPDPWSSD, \"vpdpwssd\", i32x16, i16, i16x32)\n"
    "MM(VPDPBUSD, \"vpdpbusd\", i32x16, u8, i8x64)\n"
    "static CONSTANT struct { u8 palette, start, zero[14]; u16 bytes[16]; u8 rows[16]; } amx_tiles __attribute__((aligned(64))) = "
    "{1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};\n"
    "#define AMX_BEGIN __asm__ volatile(\"ldtilecfg %0\" : : \"m\"(amx_tiles));\n"
    "#define AMX_END __asm__ volatile(\"tilerelease\");\n"
    "#define AHEAD(p, from) \".set at_, 4096 + \" #from \"\\n\\t.rept 16\\n\\tprefetcht0 at_(%\" #p \")\\n\\t.set at_, at_ + 64\\n\\t.endr\\n\\t\"\n"
    "#define AMX_FIRST \\\n"
    "    if (zero) __asm__ volatile(\"tilezero %%tmm0\\n\\ttilezero %%tmm1\\n\\ttilezero %%tmm2\\n\\ttilezero %%tmm3\" ::); \\\n"
    "    else __asm__ volatile(\"tileloadd (%0,%1,1), %%tmm0\\n\\ttileloadd 1024(%0,%1,1), %%tmm1\\n\\ttileloadd "
    "2048(%0,%1,1), %%tmm2\\n\\ttileloadd 3072(%0,%1,1), %%tmm3\" : : \"r\"(c), \"r\"(64l) : \"memory\");\n"
    "#define AMX_LAST \\\n"
    "    __asm__ volatile(\"tilestored %%tmm0, (%0,%1,1)\\n\\ttilestored %%tmm1, 1024(%0,%1,1)\\n\\ttilestored %%tmm2, "
    "2048(%0,%1,1)\\n\\ttilestored %%tmm3, 3072(%0,%1,1)\" : : \"r\"(c), \"r\"(64l) : \"memory\");\n"
    "#define MT(N, INS, D, A, B) I void mma_##N(D *c, const A *a, const B *b, i64 n, int zero) { AMX_FIRST \\\n"
    "    for (; n > 0; n--, a += 2048 / sizeof(A), b += 2048 / sizeof(B)) \\\n"
    "        __asm__ volatile(\"tileloadd (%0,%2,1), %%tmm4\\n\\ttileloadd (%1,%2,1), %%tmm6\\n\\t\" INS \" %%tmm6, "
    "%%tmm4, %%tmm0\\n\\ttileloadd 1024(%1,%2,1), %%tmm7\\n\\t\" AHEAD(0, 0) INS \" %%tmm7, %%tmm4, %%tmm1\\n\\ttileloadd "
    "1024(%0,%2,1), %%tmm5\\n\\t\" AHEAD(0, 1024) INS \" %%tmm6, %%tmm5, %%tmm2\\n\\t\" INS \" %%tmm7, %%tmm5, %%tmm3\" : : "
    "\"r\"(a), \"r\"(b), \"r\"(64l) : \"memory\"); AMX_LAST } \\\n"
    "I void mma_rows_##N(D *c, const A *a, const B *b, i64 n, int zero, i64 pitch) { AMX_FIRST \\\n"
    "    for (; n > 0; n--, a += 64 / sizeof(A), b += 2048 / sizeof(B)) \\\n"
    "        __asm__ volatile(\"tileloadd (%0,%3,1), %%tmm4\\n\\ttileloadd (%2,%4,1), %%tmm6\\n\\t\" INS \" %%tmm6, "
    "%%tmm4, %%tmm0\\n\\ttileloadd 1024(%2,%4,1), %%tmm7\\n\\t\" INS \" %%tmm7, %%tmm4, %%tmm1\\n\\ttileloadd "
    "(%1,%3,1), %%tmm5\\n\\t\" INS \" %%tmm6, %%tmm5, %%tmm2\\n\\t\" INS \" %%tmm7, %%tmm5, %%tmm3\" : : "
    "\"r\"(a), \"r\"(a + 16 * pitch / (i64)sizeof(A)), \"r\"(b), \"r\"(pitch), \"r\"(64l) : \"memory\"); AMX_LAST }\n"
    "MT(TDPBF16PS, \"tdpbf16ps\", f32x16, bf16, bf16) MT(TDPBSSD, \"tdpbssd\", i32x16, i8, i8) MT(TDPBUSD, \"tdpbusd\", "
    "i32x16, u8, i8)\n"
    "MT(TDPBSUD, \"tdpbsud\", i32x16, i8, u8) MT(TDPBUUD, \"tdpbuud\", i32x16, u8, u8)\n"
    "#endif\n";
/* clang-format on */

/* ML4x8, MS4x8: load and store 8 elements of 4 bytes where the mask is set; here lane by lane. */
static void masked_macros(struct str *o, int n) {
    str_printf(o, "#define ML%d(T, p, m, a) ((T){", n);
    for (int i = 0; i < n; i++) str_printf(o, "%s(m)[%d] ? (p)[%d] : (a)[%d]", i ? ", " : "", i, i, i);
    str_printf(o, "})\n#define MS%d(p, m, v) {", n);
    for (int i = 0; i < n; i++) str_printf(o, " if ((m)[%d]) (p)[%d] = (v)[%d];", i, i, i);
    str_add(o, " }\n");
    for (int bytes = 1; bytes <= 8; bytes *= 2)
        str_printf(o, "#define ML%dx%d ML%d\n#define MS%dx%d MS%d\n", bytes, n, n, bytes, n, n);
}

/* Loads and stores of n elements anywhere, lane by lane. */
static void gather_macros(struct str *o, int n) {
    str_printf(o, "#define GATHER%d(T, p, x) ((T){", n);
    for (int i = 0; i < n; i++) str_printf(o, "%s(p)[(x)[%d]]", i ? ", " : "", i);
    str_printf(o, "})\n#define MGATHER%d(T, p, x, m, a) ((T){", n);
    for (int i = 0; i < n; i++) str_printf(o, "%s(m)[%d] ? (p)[(x)[%d]] : (a)[%d]", i ? ", " : "", i, i, i);
    str_printf(o, "})\n#define MSCATTER%d(p, x, m, v) {", n);
    for (int i = 0; i < n; i++) str_printf(o, " if ((m)[%d]) (p)[(x)[%d]] = (v)[%d];", i, i, i);
    str_printf(o, " }\n#define MSCATTER4x%d MSCATTER%d\n#define MSCATTER8x%d MSCATTER%d\n", n, n, n, n);
    for (int bytes = 1; bytes <= 8; bytes *= 2)
        str_printf(o, "#define GATHER%dx%d GATHER%d\n#define MGATHER%dx%d MGATHER%d\n", bytes, n, n, bytes, n,
                   n);
}

/* .. of n elements of 4 bytes on NEON. */
static void neon_masks(struct str *o, int n) {
    if (n > 4) str_printf(o, "V(i32, %d) V(f32, %d) MQ(%d)\n", n, n, n);
    str_printf(o, "#undef ML4x%d\n#undef MS4x%d\n", n, n);
    str_printf(o, "#define ML4x%d(T, p, m, a) ((T)mload%d((p), (i32x%d)(m), (f32x%d)(a)))\n", n, n, n, n);
    str_printf(o, "#define MS4x%d(p, m, v) mstore%d((p), (i32x%d)(m), (f32x%d)(v));\n", n, n, n, n);
}

struct needs {
    int lanes;
    bool half_types, masked, matrix, columns, gathers;
};

/* The preamble of these texts; text NULL: of any. */
static void preamble(struct str *o, struct needs need, const char *const *text, uint32_t n_text) {
    if (need.half_types) need.lanes = RG_MAX(need.lanes, 16); /* bf16_convert */
    int lanes = need.lanes;
    str_add(o, basics);
    if (need.columns) str_add(o, transposition);
    for (int n = 2; n <= lanes; n *= 2) { /* S4(T, x): all lanes x */
        str_printf(o, "VS(%d)\n#define S%d(T, x) ((T){", n, n);
        for (int i = 0; i < n; i++) str_add(o, i ? ", x" : "x");
        str_add(o, "})\n");
        if (need.masked) masked_macros(o, n);
        if (need.gathers && (n == 8 || n == 16)) gather_macros(o, n);
    }
    str_add(o, scalars);
    str_add(o, vectors);
    str_add(o, portable);
    str_add(o, avx512);
    str_add(o, twice_as_wide);
    for (int n = 8; n <= lanes; n *= 2) {
        if (n <= 16) str_printf(o, "#if WIDE < %d\n", 4 * n);
        str_printf(o, "HW(f32, i32, u32, %d, %d)\n%s", n, n / 2, n <= 16 ? "#endif\n" : "");
        if (n <= 8) str_add(o, "#if WIDE < 64\n");
        str_printf(o, "HW(f64, i64, u64, %d, %d)\n%s", n, n / 2, n <= 8 ? "#endif\n" : "");
    }
    const struct c_names names = {text,
                                  n_text,
                                  {need.masked ? masks_x86 : NULL, need.gathers ? gathers_x86 : NULL,
                                   need.half_types ? half_macros : NULL}};
    c_vector_functions(o, &names, lanes);
    if (need.masked) {
        str_add(o, masks_x86);
        str_add(o, masks_neon);
        for (int n = 4; n <= lanes; n *= 2) neon_masks(o, n);
        str_add(o, "#endif\n");
    }
    if (need.gathers) str_add(o, gathers_x86);
    if (need.half_types) {
        str_add(o, half_macros);
        for (int n = 4; n <= lanes; n *= 2) str_printf(o, "BF(%d) HF(%d) EF(%d)\n", n, n, n);
        str_add(o, bf16_convert);
        str_add(o, f16_fma);
    }
    if (need.matrix) str_add(o, matrix_macros);
}

void render_c_preamble(struct str *o) {
    preamble(o, (struct needs){MAX_LANES, true, true, true, true, true}, NULL, 0);
}

/* The greatest N in names like f32xN; a hexadecimal number may look like one, which costs nothing. */
static int widest(const char *s) {
    int most = 0;
    for (s = strchr(s, 'x'); s; s = strchr(s + 1, 'x')) {
        int n = 0;
        for (const char *d = s + 1; *d >= '0' && *d <= '9' && n < 1000; d++) n = n * 10 + *d - '0';
        if (n <= MAX_LANES) most = RG_MAX(most, n);
    }
    return most;
}

void render_c_preamble_for(struct str *o, const char *const *text, uint32_t n) {
    static const char *const masked[] = {"ML1x", "ML2x", "ML4x", "ML8x", "MS1x",
                                         "MS2x", "MS4x", "MS8x", NULL};
    struct needs need = {.lanes = 4};
    for (uint32_t i = 0; i < n; i++) {
        need.lanes = RG_MAX(need.lanes, widest(text[i]));
        for (const char *const *m = masked; *m; m++) need.masked |= strstr(text[i], *m) != NULL;
        need.gathers |= strstr(text[i], "GATHER") || strstr(text[i], "MSCATTER");
        need.half_types |= strstr(text[i], "f16") != NULL || strstr(text[i], "f8e") != NULL;
        need.matrix |= strstr(text[i], "mma_") != NULL;
        need.columns |= strstr(text[i], "COLUMN") || strstr(text[i], "QUAD(");
    }
    if (need.matrix || need.gathers || need.masked) need.lanes = RG_MAX(need.lanes, 16);
    preamble(o, need, text, n);
}
