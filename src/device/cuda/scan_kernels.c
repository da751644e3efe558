/* scan_kernels.c: CUDA C of the scans of rows: running sums, products, maxima, minima, logarithms of sums of exponentials. One kernel
 * reads and writes every element once. A block takes a tile: whole rows, as many as fit (`per`), or a part of one row. It is read
 * coalesced, or by vectors where it is aligned, into shared memory; each thread scans ITEMS neighbours, warps by shuffles; a row that
 * begins within a tile is a head, beyond which nothing is carried.
 * Of a row of several tiles each publishes what it combines at once; the last tile of each 256 publishes that of all 256. What
 * precedes a tile is the groups before its own, then the tiles before it in its group: waits are two deep, whatever the
 * length, and the order of additions does not depend on which block was first. Tiles are taken by an atomic counter, so that a tile waits only for
 * tiles that already run. A word of the state is 1 << 32 with 32 bits of a value: no fence is needed.
 * A logarithm of a sum of exponentials is a pair (maximum, sum of exponentials less that maximum).
 * Requires: ITEMS, TI, TO (elements), C (computed with), UP, DOWN between them; PAIR, or COMBINE and ZERO; NOTHING: what changes no sum. The state begins at zero.
 * Tests: tests/unit/builtin_host.c, tests/unit/scans.c, tests/unit/cuda.c (cuda_compile_calls) */
#include "device/cuda/internal.h"

/* clang-format off */

#define SCANNED                                                                                            \
    "#if PAIR\n"                                                                                           \
    "    struct S { C m, s; };\n"                                                                          \
    "    auto none = [&]() { S r; r.m = -INFINITE, r.s = 0; return r; };\n"                                \
    "    auto of = [&](C v) { S r; r.m = v, r.s = 1; return r; };\n"                                       \
    "    auto join = [&](S a, S b) {\n"                                                                    \
    "        const bool falls = a.m >= b.m;\n"                                                             \
    "        const C e = a.m == b.m ? (C)1 : EXP(falls ? b.m - a.m : a.m - b.m);\n"                        \
    "        S r;\n"                                                                                       \
    "        r.m = falls ? a.m : b.m, r.s = falls ? a.s + b.s * e : a.s * e + b.s;\n"                      \
    "        return r;\n"                                                                                  \
    "    };\n"                                                                                             \
    "    auto value = [&](S a) { return a.m + LOG(a.s); };\n"                                              \
    "#else\n"                                                                                              \
    "    struct S { C v; };\n"                                                                             \
    "    auto none = [&]() { S r; r.v = ZERO; return r; };\n"                                              \
    "    auto of = [&](C v) { S r; r.v = v; return r; };\n"                                                \
    "    auto join = [&](S a, S b) { S r; r.v = (C)COMBINE(a.v, b.v); return r; };\n"                      \
    "    auto value = [&](S a) { return a.v; };\n"                                                         \
    "#endif\n"                                                                                             \
    "    union words { S s; u32 w[sizeof(S) / 4]; };\n"

/* What the threads before this one combine since the last head, whether there is one, and what all do. */
#define SCAN_BLOCK                                                                                         \
    "    auto up = [&](S s, u32 by) {\n"                                                                   \
    "        words u;\n"                                                                                   \
    "        u.s = s;\n"                                                                                   \
    "        #pragma unroll\n"                                                                             \
    "        for (u32 k = 0; k < sizeof(S) / 4; k++) u.w[k] = __shfl_up_sync(0xffffffffu, u.w[k], by);\n"   \
    "        return u.s;\n"                                                                                \
    "    };\n"                                                                                             \
    "    auto scan_block = [&](S t, bool head, bool &headed, S &all) {\n"                                  \
    "        u32 f = head;\n"                                                                              \
    "        #pragma unroll\n"                                                                             \
    "        for (u32 o = 1; o < 32; o *= 2) {\n"                                                          \
    "            const S y = up(t, o);\n"                                                                  \
    "            const u32 g = __shfl_up_sync(0xffffffffu, f, o);\n"                                       \
    "            if (lane >= o) { if (!f) t = join(y, t); f |= g; }\n"                                     \
    "        }\n"                                                                                          \
    "        if (lane == 31) sums[warp] = t, heads[warp] = f;\n"                                           \
    "        t = up(t, 1), f = __shfl_up_sync(0xffffffffu, f, 1);\n"                                       \
    "        if (!lane) t = none(), f = 0;\n"                                                              \
    "        __syncthreads();\n"                                                                           \
    "        S w = none(), before = w;\n"                                                                  \
    "        u32 g = 0, h = 0;\n"                                                                          \
    "        for (u32 k = 0; k < 8; k++) {\n"                                                              \
    "            if (k == warp) before = w, h = g;\n"                                                      \
    "            w = heads[k] ? sums[k] : join(w, sums[k]), g |= heads[k];\n"                              \
    "        }\n"                                                                                          \
    "        __syncthreads();\n"                                                                           \
    "        all = w, headed = f | h;\n"                                                                   \
    "        return f ? t : join(before, t);\n"                                                            \
    "    };\n"

/* per: rows of a tile; 0: tiles of a row. */
const char cuda_scan_tiles[] =
    "extern \"C\" __global__ __launch_bounds__(256) void scan_tiles(TO *out, const TI *x, u32 *counter, u64 *state, i64 len, i64 "
    "rows, i64 per, u64 n, char *sc, u64 d) {\n" SCANNED
    "    enum { TILE = 256 * ITEMS, WORDS = sizeof(S) / 4, VI = 16 / sizeof(TI), VO = 16 / sizeof(TO) };\n"
    "    __shared__ C cell[TILE + TILE / 32];\n"
    "    __shared__ S sums[8];\n"
    "    __shared__ u32 heads[8], taken;\n"
    "    const u32 tid = threadIdx.x, lane = tid % 32, warp = tid / 32;\n" SCAN_BLOCK
    "    pdl_wait();\n"
    "    if (!tid) taken = per || len <= TILE ? blockIdx.x : atomicAdd(counter, 1u);\n"
    "    __syncthreads();\n"
    "    const i64 tiles = (len + TILE - 1) / TILE, row = per ? taken * per : taken / tiles, tile = per ? 0 : taken % tiles;\n"
    "    const i64 at = row * len + tile * TILE, left = per ? (rows - row) * len : len - tile * TILE, most = per ? per * len : TILE;\n"
    "    const u32 m = (u32)(left < most ? left : most);\n"
    "    x += at, out += at;\n"
    "    for (u32 i = m + tid; i < TILE; i += 256) cell[i + i / 32] = NOTHING;\n" /* beyond the row */
    "    if ((u64)x % 16) {\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) {\n"
    "            const u32 i = r * 256 + tid;\n"
    "            if (i < m) cell[i + i / 32] = UP(x[i]);\n"
    "        }\n"
    "    } else {\n"
    "        #pragma unroll\n"
    "        for (u32 i = tid * VI; i < TILE; i += 256 * VI)\n"
    "            if (i + VI <= m) {\n"
    "                const piece<TI, VI> p = ((const piece<TI, VI> *)x)[i / VI];\n"
    "                #pragma unroll\n"
    "                for (u32 k = 0; k < VI; k++) cell[i + k + (i + k) / 32] = UP(p.v[k]);\n"
    "            } else\n"
    "                for (u32 k = i; k < m; k++) cell[k + k / 32] = UP(x[k]);\n"
    "    }\n"
    "    __syncthreads();\n"
    "    C v[ITEMS];\n"
    "    const u32 first = tid * ITEMS, within = per ? first % (u32)len : 1;\n"
    "    u32 p = within;\n"
    "    bool head = false, headed;\n"
    "    S sum = none(), all;\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) v[r] = cell[first + r + (first + r) / 32];\n"
    "    if (per) {\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) {\n"
    "            if (!p) sum = none(), head = true;\n"
    "            sum = join(sum, of(v[r]));\n"
    "            if (++p == len) p = 0;\n"
    "        }\n"
    "    } else {\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) sum = join(sum, of(v[r]));\n"
    "    }\n"
    "    S run = scan_block(sum, head, headed, all);\n"
    "    if (!per && tiles > 1) {\n"
    "        const i64 groups = (tiles + 255) / 256, group = tile / 256;\n"
    "        volatile u64 *const word = state + row * (tiles + groups) * WORDS, *const whole = word + tiles * WORDS;\n"
    "        auto publish = [&](volatile u64 *q, S s) {\n"
    "            words u;\n"
    "            u.s = s;\n"
    "            for (u32 k = 0; k < WORDS; k++) q[k] = (u64)1 << 32 | u.w[k];\n"
    "        };\n"
    "        auto await = [&](volatile u64 *q) {\n"
    "            words u;\n"
    "            for (u32 k = 0, waits = 0; k < WORDS; k++) {\n"
    "                u64 w = q[k];\n"
    "                while (!(w >> 32)) {\n"
    "                    __nanosleep(32);\n"
    "                    if (++waits >> 24) __trap();\n"
    "                    w = q[k];\n"
    "                }\n"
    "                u.w[k] = (u32)w;\n"
    "            }\n"
    "            return u.s;\n"
    "        };\n"
    "        if (!tid) publish(word + tile * WORDS, all);\n"
    "        bool ignored;\n"
    "        S near = none(), past = near, found;\n"
    "        if (tile % 256) {\n"
    "            scan_block(tid < tile % 256 ? await(word + (group * 256 + tid) * WORDS) : none(), false, ignored, near);\n"
    "            if (tile % 256 == 255 && !tid) publish(whole + group * WORDS, join(near, all));\n"
    "        }\n"
    "        for (i64 k = 0; k < group; k += 256) {\n"
    "            scan_block(k + tid < group ? await(whole + (k + tid) * WORDS) : none(), false, ignored, found);\n"
    "            past = join(past, found);\n"
    "        }\n"
    "        run = join(join(past, near), run);\n"
    "    }\n"
    "    p = within;\n"
    "    if (per) {\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) {\n"
    "            if (!p) run = none();\n"
    "            run = join(run, of(v[r]));\n"
    "            cell[first + r + (first + r) / 32] = value(run);\n"
    "            if (++p == len) p = 0;\n"
    "        }\n"
    "    } else {\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) run = join(run, of(v[r])), cell[first + r + (first + r) / 32] = value(run);\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if ((u64)out % 16) {\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) {\n"
    "            const u32 i = r * 256 + tid;\n"
    "            if (i < m) out[i] = DOWN(cell[i + i / 32]);\n"
    "        }\n"
    "    } else {\n"
    "        #pragma unroll\n"
    "        for (u32 i = tid * VO; i < TILE; i += 256 * VO)\n"
    "            if (i + VO <= m) {\n"
    "                piece<TO, VO> q;\n"
    "                #pragma unroll\n"
    "                for (u32 k = 0; k < VO; k++) q.v[k] = DOWN(cell[i + k + (i + k) / 32]);\n"
    "                ((piece<TO, VO> *)out)[i / VO] = q;\n"
    "            } else\n"
    "                for (u32 k = i; k < m; k++) out[k] = DOWN(cell[k + k / 32]);\n"
    "    }\n"
    "}\n";
