/* sort_kernels.c: CUDA C of the radix sort (onesweep), 8-bit digits, least significant first. sort_histogram counts the digits of all
 * passes in one reading; a pass is one kernel, sort_pass, which reads and writes every element once. Its blocks take
 * tiles of a row in order. A tile's digit counts are published at once; where its runs begin is found by decoupled
 * look-back over the tiles before it, in windows of LOOK. Tiles are taken by an atomic counter, so a tile waits only
 * for tiles that already run.
 * A tile is ordered in shared memory first, for coalesced stores: a warp takes 32 neighbours at a time, lanes with equal digits
 * match by ballots, and order of lanes, rounds and warps is that of the row: the sort is stable. No result depends on
 * the order of blocks. A pass whose digit is the same in the whole row is a copy. A row of
 * one tile needs neither counts nor look-back; of up to 4 bytes an element it is one kernel, sort_block.
 * Elements are moved as they are; ORDER(v) is the unsigned number by which they are ordered: signs flipped, negative floats
 * inverted, all NaN the greatest, 0 and -0 equal, all bits inverted for descending order. With PAIRS their indices go
 * with them. Macros: builtin_kernels.c. Tests: tests/unit/builtin_host.c, tests/unit/call.c (cuda_gpu_call_*) */
#include "device/cuda/internal.h"

/* clang-format off */

/* Digit counts, counter of tiles and look-back words begin at zero. */
const char cuda_sort_clear[] =
    "extern \"C\" __global__ void sort_clear(u64 *p, i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < count; i += (i64)gridDim.x * 256) p[i] = 0;\n"
    "}\n";

/* K: the type of ORDER(v); B: the bits of an element; ALL, TOP, INF as in cpu/sort.c. */
#define ORDER                                                                                                         \
    "    auto order = [&](K v) {\n"                                                                                   \
    "        const K size = v & (TOP - 1);\n"                                                                         \
    "        const K k = !SIGNED ? v : !INF ? v ^ TOP : size > INF ? ALL : !size ? TOP : v & TOP ? ~v & ALL : v | TOP;\n" \
    "        return (K)(down ? k ^ ALL : k);\n"                                                                       \
    "    };\n"

/* A warp whose lanes have one digit adds once: constant digits would meet in one counter. */
#define ADD_DIGIT                                                                                  \
    "    auto add_digit = [&](u32 *c, u32 digit) {\n"                                              \
    "        if (__all_sync(0xffffffffu, digit == __shfl_sync(0xffffffffu, digit, 0))) {\n"        \
    "            if (!lane) atomicAdd(&c[digit], 32u);\n"                                          \
    "        } else\n"                                                                             \
    "            atomicAdd(&c[digit], 1u);\n"                                                      \
    "    };\n"

/* Exclusive prefix sum of x over the block; all threads call it. */
#define BEFORE \
    "    auto before = [&](u32 x) {\n" \
    "        u32 t = x;\n" \
    "        for (u32 o = 1; o < 32; o *= 2) { const u32 y = __shfl_up_sync(0xffffffffu, t, o); if (lane >= o) t += y; }\n" \
    "        if (lane == 31) sums[warp] = t;\n" \
    "        __syncthreads();\n" \
    "        #pragma unroll\n" \
    "        for (u32 w = 0; w < WARPS; w++) t += w < warp ? sums[w] : 0;\n" \
    "        __syncthreads();\n" \
    "        return t - x;\n" \
    "    };\n"

/* Counts of each warp and digit become the offsets at which those of the warp begin: total, of this thread's digit; start, of all
 * warps. */
#define COUNTS_TO_OFFSETS \
    "    u32 total = 0;\n" \
    "    #pragma unroll\n" \
    "    for (u32 w = 0; w < WARPS; w++) total += tid < 256 ? c[w][tid] : 0;\n" \
    "    const u32 start = before(total);\n" \
    "    u32 offset = start;\n" \
    "    #pragma unroll\n" \
    "    for (u32 w = 0; w < WARPS && tid < 256; w++) { const u32 t = c[w][tid]; c[w][tid] = offset; offset += t; }\n"

/* The place of an element among those of its digit in the warp, in the order of rounds and lanes, which are counted. */
#define RANK_OF \
    "    auto rank_of = [&](u32 digit) {\n" \
    "        u32 peers = 0xffffffffu;\n" \
    "        #pragma unroll\n" \
    "        for (int b = 0; b < 8; b++) {\n" \
    "            const bool bit = digit >> b & 1;\n" \
    "            const u32 vote = __ballot_sync(0xffffffffu, bit);\n" \
    "            peers &= bit ? vote : ~vote;\n" \
    "        }\n" \
    "        const u32 less = __popc(peers & lower), was = c[warp][digit];\n" \
    "        __syncwarp();\n" \
    "        if (!less) c[warp][digit] = was + __popc(peers);\n" \
    "        __syncwarp();\n" \
    "        return was + less;\n" \
    "    };\n"

/* hist: a counter of tiles for each pass (64 words), then 256 counts for each row and pass. */
const char cuda_sort_histogram[] =
    "extern \"C\" __global__ __launch_bounds__(256) void sort_histogram(const B *key, u32 *hist, i64 len, i64 parts, i64 "
    "passes, i64 down, u64 n, char *s, u64 d) {\n"
    "    __shared__ u32 c[sizeof(B)][256];\n"
    "    pdl_wait();\n"
    "    const i64 row = blockIdx.x / parts, part = blockIdx.x % parts;\n"
    "    const i64 chunk = (len + parts * 2048 - 1) / (parts * 2048) * 2048, from = part * chunk;\n"
    "    const i64 to = from + chunk < len ? from + chunk : len;\n"
    "    const u32 tid = threadIdx.x, lane = tid % 32;\n" ORDER ADD_DIGIT
    "    key += row * len, hist += 64 + row * passes * 256;\n"
    "    for (u32 p = 0; p < sizeof(B); p++) c[p][tid] = 0;\n"
    "    __syncthreads();\n"
    "    for (i64 i = from; i < to; i += 2048) {\n"
    "        B v[8];\n"
    "        if (i + 2048 <= to) {\n"
    "            #pragma unroll\n"
    "            for (u32 r = 0; r < 8; r++) v[r] = key[i + r * 256 + tid];\n"
    "            #pragma unroll\n"
    "            for (u32 r = 0; r < 8; r++) {\n"
    "                const K k = order(v[r]);\n"
    "                #pragma unroll\n"
    "                for (u32 p = 0; p < sizeof(B); p++)\n"
    "                    if (p < passes) add_digit(c[p], (u32)(k >> p * 8) & 255);\n"
    "            }\n"
    "        } else {\n"
    "            for (i64 j = i + tid; j < to; j += 256) {\n"
    "                const K k = order(key[j]);\n"
    "                for (u32 p = 0; p < passes; p++) atomicAdd(&c[p][(u32)(k >> p * 8) & 255], 1u);\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    __syncthreads();\n"
    "    for (u32 p = 0; p < passes; p++)\n"
    "        if (c[p][tid]) atomicAdd(&hist[p * 256 + tid], c[p][tid]);\n"
    "}\n";

/* A look-back word: pass + 1 << 34, 1 << 33 if it counts all tiles up to this one, 1 << 32 if this one alone, the count.
 * how: 1 the first pass (an index is its position), 2 the last one (the first `wanted` are the result), 4 descending. */
const char cuda_sort_pass[] =
    "extern \"C\" __global__ __launch_bounds__(32 * WARPS, 2) void sort_pass(const B *key, B *key2, u32 *hist, u64 *state,\n"
    "#if PAIRS\n"
    "                                   const u32 *pos, void *pos2,\n"
    "#endif\n"
    "                                   i64 len, i64 wanted, i64 pass, i64 passes, i64 how, u64 n, char *s, u64 d) {\n"
    "    enum { THREADS = 32 * WARPS };\n"
    "    __shared__ u32 c[WARPS][256], gap[256], sums[WARPS], taken;\n"
    "    __shared__ u64 room[TILE * (PAIRS && sizeof(B) < 4 ? 4 : sizeof(B)) / 8];\n"
    "    const u32 tid = threadIdx.x, lane = tid % 32, warp = tid / 32, lower = (1u << lane) - 1, shift = (u32)pass * 8;\n"
    "    const bool first = how & 1, last = how & 2, down = how & 4, whole = len <= TILE;\n"
    "    pdl_wait();\n"
    "    if (!tid) taken = whole ? blockIdx.x : atomicAdd(&hist[pass], 1u);\n"
    "    for (u32 w = warp / 8; w < WARPS; w += WARPS / 8) c[w][tid % 256] = 0;\n"
    "    __syncthreads();\n"
    "    const i64 tiles = (len + TILE - 1) / TILE, row = taken / tiles, tile = taken % tiles, at = tile * TILE;\n"
    "    const u32 m = len - at < TILE ? (u32)(len - at) : TILE, mine = warp * 32 * ITEMS + lane;\n"
    "    B *sk = (B *)room;\n"
    "    u32 *const h = hist + 64 + (row * passes + pass) * 256;\n"
    "    key += row * len + at, key2 += row * (last ? wanted : len);\n" ORDER
    "    auto digit_of = [&](B v) { return (u32)(order(v) >> shift) & 255; };\n"
    "    auto put = [&](u32 o, B v) { if ((!last || o < wanted) && !(PAIRS && last)) key2[o] = v; };\n"
    "#if PAIRS\n"
    "    pos += row * len + at;\n"
    "    auto put_pos = [&](u32 o, u32 p) {\n"
    "        if (!last) ((u32 *)pos2)[row * len + o] = p;\n"
    "        else if (o < wanted) ((i64 *)pos2)[row * wanted + o] = p;\n"
    "    };\n"
    "    auto pos_of = [&](u32 j) { return first ? (u32)at + j : pos[j]; };\n"
    "#endif\n"
    BEFORE
    /* all at once: keys and counts */
    "    const bool digits = tid < 256;\n"
    "    const u32 count = digits && !whole ? h[tid] : 0;\n"
    "    K v[ITEMS];\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) v[r] = mine + r * 32 < m ? (K)key[mine + r * 32] : 0;\n"
    "    if (!whole && h[digit_of(key[0])] == len) {\n"
    "        for (u32 j = tid; j < m; j += THREADS) {\n"
    "            put((u32)at + j, key[j]);\n"
    "#if PAIRS\n"
    "            put_pos((u32)at + j, pos_of(j));\n"
    "#endif\n"
    "        }\n"
    "        return;\n"
    "    }\n"
    /* what lies beyond the row has the greatest digit, and comes last */
    "    u32 rank[ITEMS];\n"
    "    auto digit_at = [&](u32 r) { return mine + r * 32 < m ? digit_of((B)v[r]) : 255; };\n"
    RANK_OF
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) rank[r] = rank_of(digit_at(r));\n"
    "    __syncthreads();\n"
    COUNTS_TO_OFFSETS
    "    if (tid == 255) total -= TILE - m;\n"
    "    const u64 tag = (u64)(pass + 1) << 34, one = (u64)1 << 32, all = (u64)1 << 33;\n"
    "    volatile u64 *const word = state + (row * tiles + tile) * 256 + tid;\n"
    "    u32 ahead = tile ? 0 : whole ? start : before(count);\n"
    "    if (!whole && digits) *word = tile ? tag | one | total : tag | all | (ahead + total);\n"
    "    __syncthreads();\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) rank[r] += c[warp][digit_at(r)], sk[rank[r]] = (B)v[r];\n"
    /* sums of the tiles before this one, until one knows all that come before it */
    "    bool known = !tile || !digits;\n"
    "    u32 waits = 0;\n"
    "    for (i64 q = tile - 1; !known;) {\n"
    "        const i64 was = q;\n"
    "        u64 seen[LOOK];\n"
    "        #pragma unroll\n"
    "        for (i64 k = 0; k < LOOK; k++) seen[k] = q >= k ? word[(q - k - tile) * 256] : 0;\n"
    "        #pragma unroll\n"
    "        for (i64 k = 0, left = 1; k < LOOK; k++) {\n"
    "            left = left && !known && seen[k] >> 34 == pass + 1;\n"
    "            if (left) ahead += (u32)seen[k], known = seen[k] & all, q--;\n"
    "        }\n"
    "        if (q == was) __nanosleep(32);\n"
    "        if (++waits >> 24) __trap();\n"
    "    }\n"
    "    if (tile && digits) *word = tag | all | (ahead + total);\n"
    "    if (digits) gap[tid] = ahead - start;\n"
    "    __syncthreads();\n"
    "    u32 out[ITEMS];\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) {\n"
    "        const u32 j = r * THREADS + tid;\n"
    "        const B x = sk[j];\n"
    "        out[r] = gap[digit_of(x)] + j;\n"
    "        if (j < m) put(out[r], x);\n"
    "    }\n"
    "#if PAIRS\n"
    "    u32 *sp = (u32 *)room;\n"
    "    __syncthreads();\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) sp[rank[r]] = mine + r * 32 < m ? pos_of(mine + r * 32) : 0;\n"
    "    __syncthreads();\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++)\n"
    "        if (r * THREADS + tid < m) put_pos(out[r], sp[r * THREADS + tid]);\n"
    "#endif\n"
    "}\n";

/* A row of at most a tile, a block of WARPS for each: all passes in shared memory. What lies beyond the row has the greatest digit in
 * each pass, and stays last. */
const char cuda_sort_block[] =
    "extern \"C\" __global__ __launch_bounds__(32 * WARPS) void sort_block(OUT *out, const B *x, i64 len, i64 wanted, i64 down, "
    "u64 n, char *s, u64 d) {\n"
    "    enum { THREADS = 32 * WARPS };\n"
    "    __shared__ u32 c[WARPS][256], sums[WARPS];\n"
    "    __shared__ B sk[TILE];\n"
    "    __shared__ u16 sp[INDEX ? TILE : 1];\n"
    "    pdl_wait();\n"
    "    const u32 tid = threadIdx.x, lane = tid % 32, warp = tid / 32, lower = (1u << lane) - 1, m = (u32)len;\n"
    "    const u32 rounds = (m + THREADS - 1) / THREADS, mine = warp * 32 * rounds + lane;\n" ORDER BEFORE RANK_OF
    "    const B *row = x + (i64)blockIdx.x * len;\n"
    "    K v[ITEMS];\n"
    "    u32 rank[ITEMS], digit[ITEMS], at[ITEMS];\n"
    "    #pragma unroll\n"
    "    for (u32 r = 0; r < ITEMS; r++) at[r] = mine + r * 32, v[r] = r < rounds && at[r] < m ? (K)row[at[r]] : 0;\n"
    "    for (u32 pass = 0; pass < sizeof(B); pass++) {\n"
    "        auto digit_of = [&](u32 r) { return mine + r * 32 < m ? (u32)(order((B)v[r]) >> pass * 8) & 255 : 255; };\n"
    "        for (u32 w = warp / 8; w < WARPS; w += WARPS / 8) c[w][tid % 256] = 0;\n"
    "        __syncthreads();\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) if (r < rounds) digit[r] = digit_of(r), rank[r] = rank_of(digit[r]);\n"
    "        __syncthreads();\n"
    COUNTS_TO_OFFSETS
    "        __syncthreads();\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) if (r < rounds) {\n"
    "            rank[r] += c[warp][digit[r]];\n"
    "            sk[rank[r]] = (B)v[r];\n"
    "            if (INDEX) sp[rank[r]] = (u16)at[r];\n"
    "        }\n"
    "        __syncthreads();\n"
    "        #pragma unroll\n"
    "        for (u32 r = 0; r < ITEMS; r++) if (r < rounds) {\n"
    "            v[r] = sk[mine + r * 32];\n"
    "            if (INDEX) at[r] = sp[mine + r * 32];\n"
    "        }\n"
    "    }\n"
    "    out += (i64)blockIdx.x * wanted;\n"
    "    for (u32 j = tid; j < wanted; j += THREADS) out[j] = INDEX ? (OUT)sp[j] : (OUT)sk[j];\n"
    "}\n";

/* Rows of at most G * E elements, G lanes for each: a bitonic network in registers, element i of the network in lane i / E. A
 * merge begins with i against size - 1 - i, so that all comparisons are in one direction. Of values a word (W) is the order of an
 * element; of indices it has the index below (LOW bits), or beside it (PAIR), so that no two are equal and the sort is stable.
 * Results leave through shared memory, neighbours by neighbours. Values that are equal but not the same (-0 and 0, NaN) are
 * put in the order of the row afterwards, where there are any. */
const char cuda_sort_rows[] =
    "extern \"C\" __global__ __launch_bounds__(128) void sort_rows(OUT *out, const B *x, i64 len, i64 wanted, i64 down, i64 "
    "rows, u64 n, char *s, u64 d) {\n"
    "    __shared__ SLOT room[4][33 * E];\n"
    "    pdl_wait();\n"
    "    const u32 lane = threadIdx.x % 32, at = lane % G;\n"
    "    const i64 number = ((i64)blockIdx.x * 128 + threadIdx.x) / G;\n"
    "    const bool there = number < rows;\n"
    "    const B *row = x + number * len;\n"
    "    SLOT *const slot = room[threadIdx.x / 32];\n" ORDER
    "    auto other = [&](W v, u32 by) {\n"
    "        const u32 low = __shfl_xor_sync(0xffffffffu, (u32)v, by);\n"
    "        return sizeof(W) < 8 ? (W)low : (W)((u64)__shfl_xor_sync(0xffffffffu, (u32)((u64)v >> 32), by) << 32 | low);\n"
    "    };\n"
    "    W w[E];\n"
    "    u32 p[PAIR ? E : 1];\n"
    "    bool odd = false;\n"
    "    #pragma unroll\n"
    "    for (u32 e = 0; e < E; e++) {\n"
    "        const u32 i = e * G + at;\n"
    "        w[e] = ~(W)0;\n"
    "        if (PAIR) p[e] = i;\n"
    "        if (there && i < len) {\n"
    "            const B v = row[i];\n"
    "            odd |= INF && (v == TOP || (v & (TOP - 1)) > INF);\n"
    "            w[e] = LOW ? (W)order(v) << LOW | i : (W)order(v);\n"
    "        }\n"
    "    }\n"
    "    auto exchange = [&](u32 i, u32 j) {\n"
    "        const W a = w[i], b = w[j];\n"
    "        const bool swap = b < a || (PAIR && b == a && p[j] < p[i]);\n"
    "        w[i] = swap ? b : a, w[j] = swap ? a : b;\n"
    "        if (PAIR) { const u32 q = p[i], r = p[j]; p[i] = swap ? r : q, p[j] = swap ? q : r; }\n"
    "    };\n"
    "    auto take = [&](u32 e, W o, u32 r, bool least) {\n"
    "        const bool swap = (o < w[e] || (PAIR && o == w[e] && r < p[e])) == least;\n"
    "        w[e] = swap ? o : w[e];\n"
    "        if (PAIR) p[e] = swap ? r : p[e];\n"
    "    };\n"
    "    auto meet = [&](u32 i, u32 j, u32 by, bool least) {\n"
    "        const W a = other(w[j], by), b = i == j ? a : other(w[i], by);\n"
    "        const u32 q = PAIR ? __shfl_xor_sync(0xffffffffu, p[PAIR ? j : 0], by) : 0;\n"
    "        const u32 r = PAIR && i != j ? __shfl_xor_sync(0xffffffffu, p[PAIR ? i : 0], by) : 0;\n"
    "        take(i, a, q, least);\n"
    "        if (i != j) take(j, b, r, least);\n"
    "    };\n"
    "    #pragma unroll\n"
    "    for (u32 size = 2; size <= E * G; size *= 2) {\n"
    "        if (size <= E) {\n"
    "            #pragma unroll\n"
    "            for (u32 e = 0; e < E; e++) if (!(e & size / 2)) exchange(e, e ^ (size - 1));\n"
    "        } else {\n"
    "            #pragma unroll\n"
    "            for (u32 e = 0; e < (E + 1) / 2; e++) meet(e, E - 1 - e, size / E - 1, !(at & size / E / 2));\n"
    "        }\n"
    "        #pragma unroll\n"
    "        for (u32 by = size / 4; by; by /= 2)\n"
    "            #pragma unroll\n"
    "            for (u32 e = 0; e < E; e++)\n"
    "                if (by >= E) meet(e, e, by / E, !(at & by / E));\n"
    "                else if (!(e & by)) exchange(e, e | by);\n"
    "    }\n"
    "    auto slot_of = [&](u32 i) { const u32 q = lane / G * (G * E) + i; return q + q / 32; };\n"
    "    #pragma unroll\n"
    "    for (u32 e = 0; e < E; e++) {\n"
    "#if INDEX\n"
    "        slot[slot_of(at * E + e)] = PAIR ? (SLOT)p[PAIR ? e : 0] : (SLOT)(w[e] & (((W)1 << LOW) - 1));\n"
    "#else\n"
    "        const K k = down ? (K)w[e] ^ ALL : (K)w[e];\n"
    "        slot[slot_of(at * E + e)] = (SLOT)(!SIGNED ? k : !INF ? k ^ TOP : k & TOP ? k ^ TOP : ~k & ALL);\n"
    "#endif\n"
    "    }\n"
    "    __syncwarp();\n"
    "    out += number * wanted;\n"
    "    #pragma unroll\n"
    "    for (u32 e = 0; e < E; e++) if (there && e * G + at < wanted) out[e * G + at] = (OUT)slot[slot_of(e * G + at)];\n"
    "#if !INDEX\n"
    "    if (!INF || !__ballot_sync(0xffffffffu, odd)) return;\n"
    "    const u32 peers = (u32)(((u64)1 << G) - 1) << (lane - at), lower = (1u << lane) - 1;\n"
    "    __syncwarp();\n"
    "    for (u32 nan = 0; nan < 2; nan++) {\n"
    "        const K same = order(nan ? (B)ALL : (B)0);\n"
    "        u32 before = 0;\n"
    "        #pragma unroll\n"
    "        for (u32 e = 0; e < E; e++) before += (K)w[e] < same;\n"
    "        for (u32 o = 1; o < G; o *= 2) before += __shfl_xor_sync(0xffffffffu, before, o);\n"
    "        for (u32 e = 0; e < E; e++) {\n"
    "            const u32 i = e * G + at;\n"
    "            const B v = there && i < len ? row[i] : (B)0;\n"
    "            const bool hit = there && i < len && order(v) == same;\n"
    "            const u32 vote = __ballot_sync(0xffffffffu, hit) & peers, to = before + __popc(vote & lower);\n"
    "            if (hit && to < wanted) out[to] = v;\n"
    "            before += __popc(vote);\n"
    "        }\n"
    "    }\n"
    "#endif\n"
    "}\n";

/* The first `wanted` of rows of at most 32 * E elements, a warp per row. The wanted-th key is found bit by bit, the highest first, until
 * all keys that agree with it so far are wanted; of others that agree with all bits the first in the row are. What was selected
 * is sorted as words of key and index by a bitonic network in shared memory: the stable sort's result. */
const char cuda_topk_rows[] =
    "extern \"C\" __global__ __launch_bounds__(256) void topk_rows(OUT *out, const B *x, i64 len, i64 wanted, i64 down, i64 "
    "rows, u64 n, char *s, u64 d) {\n"
    "    __shared__ u64 best[8][WANTED];\n"
    "    pdl_wait();\n"
    "    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, lower = (1u << lane) - 1;\n"
    "    const i64 number = (i64)blockIdx.x * 8 + warp;\n"
    "    if (number >= rows) return;\n"
    "    const B *row = x + number * len;\n"
    "    u64 *const w = best[warp];\n" ORDER
    "    u32 k[E];\n"
    "    #pragma unroll\n"
    "    for (u32 e = 0; e < E; e++) k[e] = e * 32 + lane < len ? (u32)order(row[e * 32 + lane]) : 0xffffffffu;\n"
    "    u32 known = 0, same = 0, left = (u32)wanted, alike = 32 * E;\n"
    "    for (u32 bit = 1u << (BITS - 1); bit && alike != left; bit /= 2) {\n"
    "        u32 c = 0;\n"
    "        known |= bit;\n"
    "        #pragma unroll\n"
    "        for (u32 e = 0; e < E; e++) c += !((k[e] ^ same) & known);\n"
    "        for (u32 o = 16; o; o /= 2) c += __shfl_xor_sync(0xffffffffu, c, o);\n"
    "        if (c >= left) alike = c;\n"
    "        else left -= c, alike -= c, same |= bit;\n"
    "    }\n"
    "    u32 taken = 0, count = 0;\n"
    "    #pragma unroll\n"
    "    for (u32 e = 0; e < E; e++) {\n"
    "        const bool tie = (k[e] & known) == same;\n"
    "        const u32 ties = __ballot_sync(0xffffffffu, tie);\n"
    "        const bool mine = tie ? taken + __popc(ties & lower) < left : (k[e] & known) < same;\n"
    "        const u32 all = __ballot_sync(0xffffffffu, mine);\n"
    "        if (mine) w[count + __popc(all & lower)] = (u64)k[e] << 32 | (e * 32 + lane);\n"
    "        taken += __popc(ties), count += __popc(all);\n"
    "    }\n"
    "    u32 many = 1;\n"
    "    while (many < wanted) many *= 2;\n"
    "    for (u32 i = (u32)wanted + lane; i < many; i += 32) w[i] = ~(u64)0;\n"
    "    for (u32 size = 2; size <= many; size *= 2)\n"
    "        for (u32 by = size / 2; by; by /= 2) {\n"
    "            __syncwarp();\n"
    "            for (u32 t = lane; t < many / 2; t += 32) {\n"
    "                const u32 i = 2 * t - (t & (by - 1)), o = i + by;\n"
    "                const u64 a = w[i], b = w[o];\n"
    "                if ((a > b) == !(i & size)) w[i] = b, w[o] = a;\n"
    "            }\n"
    "        }\n"
    "    __syncwarp();\n"
    "    for (u32 i = lane; i < wanted; i += 32) out[number * wanted + i] = RESULT((u32)w[i]);\n"
    "}\n";
