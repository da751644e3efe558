/* builtin_kernels.c: CUDA C of the kernels that builtins consist of; builtin.c says in which order they are launched.
 * Rows are sorted by the radix sort of sort_kernels.c. A scatter sorts its index, finds each target's segment
 * (scatter_begin), and gives every result to one thread, which combines its segment in the order of the row
 * (scatter_fold, scatter_sum), or to a block where few results have long segments (scatter_long); of short rows each result looks
 * through all indices (scatter_short): the same bits in every run. Sorted indices are cut into chunks: what a chunk adds to a
 * segment that does not end in it, or did not begin in it, is summed before (scatter_part), so that no thread sums a long segment alone.
 * Maxima and minima are atomic maxima of keys, whose order does not matter (scatter_extreme).
 * Short rows, and the first few of long ones, are one kernel (sort_rows, sort_block, topk_rows, topk_select). The indices of a mask's true elements are found by
 * stream compaction (nonzero_pass).
 * The text uses the preamble (render/cuda_pre.c); each kernel stands alone, since any may share a unit with others.
 * Tests: tests/unit/call.c (cuda_gpu_call_*), tests/unit/cuda.c (cuda_compile_calls) */
#include "device/cuda/internal.h"

/* clang-format off */

/* Over all elements, whatever the number of blocks. */
#define EACH "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < count; i += (i64)gridDim.x * 256) {\n"

/* The first `wanted` of a row in one kernel, a block per row. A row of at most MOST elements, of which many are wanted, is sorted by a
 * bitonic network in shared memory. Of another each thread finds its least key; the wanted-th of those, found bit by bit, is a bound that
 * `wanted` keys do not exceed, and few others: those within it are the candidates. Where too many are (equal keys, or the least of all with one
 * thread) the bound is selected digit by digit, the most significant first, and ties are taken in the order of the row.
 * Candidates are sorted by key and index, so that the result is that of the stable sort. */
static const char select_text[] =
    "extern \"C\" __global__ __launch_bounds__(512) void topk_select(OUT *out, const B *x, i64 len, i64 wanted, i64 down, "
    "u64 n, char *s, u64 d) {\n"
    "    __shared__ K ck[MOST], bound;\n"
    "    __shared__ u32 cp[MOST], hist[256], ties[16], count, left;\n"
    "    pdl_wait();\n"
    "    const u32 tid = threadIdx.x, threads = blockDim.x, lane = tid % 32, warp = tid / 32;\n"
    "    const B *row = x + (i64)blockIdx.x * len;\n"
    "    auto key_of = [&](i64 i) {\n"
    "        const K v = row[i], size = v & (TOP - 1);\n"
    "        const K k = !SIGNED ? v : !INF ? v ^ TOP : size > INF ? ALL : !size ? TOP : v & TOP ? ~v & ALL : v | TOP;\n"
    "        return (K)(down ? k ^ ALL : k);\n"
    "    };\n"
    "    auto add = [&](K k, u32 i) {\n"
    "        const u32 at = atomicAdd(&count, 1u);\n"
    "        if (at < MOST) ck[at] = k, cp[at] = i;\n"
    "    };\n"
    "    if (!tid) count = 0;\n"
    "    __syncthreads();\n"
    "    if (len <= MOST && wanted * 8 > len) {\n"
    "        for (u32 i = tid; i < len; i += threads) ck[i] = key_of(i), cp[i] = i;\n"
    "        if (!tid) count = (u32)len;\n"
    "    } else {\n"
    "        K mine = ALL;\n"
    "        #pragma unroll 8\n"
    "        for (i64 i = tid; i < len; i += threads) { const K k = key_of(i); mine = k < mine ? k : mine; }\n"
    "        K seen = 0, same = 0;\n"
    "        u32 left = (u32)wanted, alike = threads;\n"
    "        for (K bit = TOP; bit && alike != left; bit >>= 1) {\n"
    "            seen |= bit;\n"
    "            const u32 c = __syncthreads_count(!((mine ^ same) & seen));\n"
    "            if (c >= left) alike = c;\n"
    "            else left -= c, alike -= c, same |= bit;\n"
    "        }\n"
    "        const K top = same | (ALL ^ seen);\n"
    "        #pragma unroll 8\n"
    "        for (i64 i = tid; i < len; i += threads) { const K k = key_of(i); if (k <= top) add(k, (u32)i); }\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (count > MOST) {\n"
    "        K known = 0, same = 0;\n"
    "        if (!tid) left = (u32)wanted;\n"
    "        for (int shift = BITS - 8; shift >= 0; shift -= 8) {\n"
    "            for (u32 i = tid; i < 256; i += threads) hist[i] = 0;\n"
    "            __syncthreads();\n"
    "            for (i64 i = tid; i < len; i += threads) {\n"
    "                const K k = key_of(i);\n"
    "                if ((k & known) == same) atomicAdd(&hist[(u32)(k >> shift) & 255], 1u);\n"
    "            }\n"
    "            __syncthreads();\n"
    "            if (!tid) {\n"
    "                u32 digit = 0;\n"
    "                while (digit < 255 && hist[digit] < left) left -= hist[digit++];\n"
    "                bound = (K)digit << shift;\n"
    "            }\n"
    "            __syncthreads();\n"
    "            same |= bound, known |= (K)255 << shift;\n"
    "        }\n"
    "        const u32 equal = left;\n"
    "        u32 taken = 0;\n"
    "        if (!tid) count = 0;\n"
    "        __syncthreads();\n"
    "        for (i64 from = 0; from < len; from += threads) {\n"
    "            const i64 i = from + tid;\n"
    "            const K k = i < len ? key_of(i) : ALL;\n"
    "            const bool tie = i < len && k == same;\n"
    "            if (i < len && k < same) add(k, (u32)i);\n"
    "            if (taken >= equal) continue; /* all threads alike */\n"
    "            const u32 vote = __ballot_sync(0xffffffffu, tie);\n"
    "            if (!lane) ties[warp] = __popc(vote);\n"
    "            __syncthreads();\n"
    "            u32 at = taken + __popc(vote & ((1u << lane) - 1)), all = 0;\n"
    "            for (u32 w = 0; w < threads / 32; w++) { if (w < warp) at += ties[w]; all += ties[w]; }\n"
    "            if (tie && at < equal) add(k, (u32)i);\n"
    "            taken += all;\n"
    "            __syncthreads();\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "    u32 many = 1;\n"
    "    while (many < count) many *= 2;\n"
    "    for (u32 i = count + tid; i < many; i += threads) ck[i] = ~(K)0, cp[i] = 0xffffffffu;\n"
    "    for (u32 size = 2; size <= many; size *= 2)\n"
    "        for (u32 by = size / 2; by; by /= 2) {\n"
    "            __syncthreads();\n"
    "            for (u32 t = tid; t < many / 2; t += threads) {\n"
    "                const u32 i = 2 * t - (t & (by - 1)), o = i + by;\n"
    "                const K a = ck[i], b = ck[o];\n"
    "                const u32 p = cp[i], q = cp[o];\n"
    "                if ((a > b || (a == b && p > q)) == !(i & size)) ck[i] = b, ck[o] = a, cp[i] = q, cp[o] = p;\n"
    "            }\n"
    "        }\n"
    "    __syncthreads();\n"
    "    for (u32 i = tid; i < wanted; i += threads) out[(i64)blockIdx.x * wanted + i] = RESULT(cp[i]);\n"
    "}\n";

/* An index to keys: clamped, as a gather's is. */
static const char index_keys[] =
    "extern \"C\" __global__ void scatter_keys(const i64 *index, u32 *key, i64 count, i64 size, u64 n, char "
    "*s, u64 d) {\n"
    "    pdl_wait();\n" EACH
    "        key[i] = index[i] < 0 ? 0 : index[i] < size ? (u32)index[i] : (u32)(size - 1);\n"
    "    }\n"
    "}\n";
/* For each target, and one more, the number of elements of the row that go to targets before it. */
static const char begins[] = "extern \"C\" __global__ void scatter_begin(const u32 *key, u32 *begin, i64 "
                             "len, i64 size, i64 count, u64 n, char *s, u64 d) {\n"
                             "    pdl_wait();\n" EACH "        const u32 *k = key + i / (size + 1) * len;\n"
                             "        const i64 p = i % (size + 1);\n"
                             "        u32 lo = 0, hi = (u32)len;\n"
                             "        while (lo < hi) { const u32 mid = lo + (hi - lo) / 2; if (k[mid] < p) "
                             "lo = mid + 1; else hi = mid; }\n"
                             "        begin[i] = lo;\n"
                             "    }\n"
                             "}\n";
/* Sums of elements j .. end - 1 of the sorted row. */
#define ADD_ROWS                                                    \
    "        for (; j + 8 <= end; j += 8) {\n"                      \
    "            pack y[8];\n"                                      \
    "            #pragma unroll\n"                                  \
    "            for (int k = 0; k < 8; k++) y[k] = x[p[j + k] * wide];\n" \
    "            #pragma unroll\n"                                  \
    "            for (int k = 0; k < 8; k++)\n"                     \
    "                for (int v = 0; v < V; v++) sum[v] += UP(y[k].v[v]);\n" \
    "        }\n"                                                   \
    "        for (; j < end; j++) {\n"                              \
    "            const pack y = x[p[j] * wide];\n"                  \
    "            for (int v = 0; v < V; v++) sum[v] += UP(y.v[v]);\n" \
    "        }\n"
/* Two parts for each chunk: of the segment that began before it, and of the one that begins in it and does not end there. */
static const char fold_part[] =
    "extern \"C\" __global__ void scatter_part(C *part, const T *src, const u32 *pos, const u32 *key, const u32 "
    "*begin, i64 len, i64 size, i64 inner, i64 chunk,\n"
    "                                       i64 count, u64 n, char *s, u64 d) {\n"
    "    typedef piece<T, V> pack;\n"
    "    pdl_wait();\n"
    "    const i64 wide = inner / V, chunks = (len + chunk - 1) / chunk;\n" EACH
    "        const i64 col = i % wide, slot = i / wide, row = slot / 2 / chunks, from = slot / 2 % chunks * chunk;\n"
    "        const i64 to = from + chunk < len ? from + chunk : len;\n"
    "        const bool tail = slot % 2;\n"
    "        const u32 *b = begin + row * (size + 1) + key[row * len + (tail ? to - 1 : from)], *p = pos + row * len;\n"
    "        const pack *x = (const pack *)src + row * len * wide + col;\n"
    "        i64 j = b[0], end = b[1];\n"
    "        if (tail ? j < from || end <= to : j >= from) continue;\n"
    "        j = tail ? j : from, end = end < to ? end : to;\n"
    "        C sum[V];\n"
    "        for (int v = 0; v < V; v++) sum[v] = 0;\n" ADD_ROWS
    "        for (int v = 0; v < V; v++) part[i * V + v] = sum[v];\n"
    "    }\n"
    "}\n";
/* One thread for V neighbouring results. T: elements; C: what is computed with; UP, DOWN: between the two. */
static const char fold_sum[] =
    "extern \"C\" __global__ void scatter_sum(T *out, const T *src, const u32 *pos, const u32 *begin, const C *part, i64 "
    "len, i64 size, i64 inner, i64 chunk, i64 count,\n"
    "                                       u64 n, char *s, u64 d) {\n"
    "    typedef piece<T, V> pack;\n"
    "    typedef piece<C, V> sums;\n"
    "    pdl_wait();\n"
    "    const i64 wide = inner / V, chunks = (len + chunk - 1) / chunk;\n" EACH
    "        const i64 at = i / wide, col = i % wide, row = at / size, b = row * (size + 1) + at % size;\n"
    "        const u32 *p = pos + row * len;\n"
    "        const pack *x = (const pack *)src + row * len * wide + col;\n"
    "        i64 j = begin[b], end = begin[b + 1];\n"
    "        C sum[V];\n"
    "        pack r;\n"
    "        for (int v = 0; v < V; v++) sum[v] = 0;\n"
    "        if (j < end && j / chunk != (end - 1) / chunk) {\n"
    "            const i64 last = (end - 1) / chunk;\n"
    "            i64 c = j / chunk;\n"
    "            const sums *q = (const sums *)part + 2 * row * chunks * wide + col;\n"
    "            const sums first = q[(2 * c + 1) * wide];\n"
    "            for (int v = 0; v < V; v++) sum[v] = first.v[v];\n"
    "            #pragma unroll 8\n"
    "            for (c++; c <= last; c++) {\n"
    "                const sums y = q[2 * c * wide];\n"
    "                for (int v = 0; v < V; v++) sum[v] += y.v[v];\n"
    "            }\n"
    "            j = end;\n"
    "        }\n" ADD_ROWS
    "        for (int v = 0; v < V; v++) r.v[v] = DOWN(sum[v]);\n"
    "        ((pack *)out)[i] = r;\n"
    "    }\n"
    "}\n";
/* Long segments, few results: a block for each, its threads in a fixed order. */
static const char fold_long[] =
    "extern \"C\" __global__ __launch_bounds__(512) void scatter_long(T *out, const T *src, const u32 *pos, const u32 "
    "*begin, i64 len, i64 size, i64 inner, i64 count,\n"
    "                                       u64 n, char *s, u64 d) {\n"
    "    __shared__ C part[512];\n"
    "    pdl_wait();\n"
    "    const u32 tid = threadIdx.x;\n"
    "    for (i64 i = blockIdx.x; i < count; i += gridDim.x) {\n"
    "        const i64 at = i / inner, col = i % inner, row = at / size, b = row * (size + 1) + at % size;\n"
    "        const u32 *p = pos + row * len;\n"
    "        const T *x = src + row * len * inner + col;\n"
    "        const u32 end = begin[b + 1];\n"
    "        C sum = 0;\n"
    "        #pragma unroll 8\n"
    "        for (u32 j = begin[b] + tid; j < end; j += 512) sum += UP(x[p[j] * inner]);\n"
    "        part[tid] = sum;\n"
    "        for (u32 o = 256; o; o /= 2) {\n"
    "            __syncthreads();\n"
    "            if (tid < o) part[tid] += part[tid + o];\n"
    "        }\n"
    "        if (!tid) out[i] = DOWN(part[0]);\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n";
/* Short rows need no sort: the thread of a result looks at all indices of its row, in their order. */
#define SHORT_ROW                                                                                           \
    "        const i64 at = i / inner, col = i % inner, row = at / size, target = at % size;\n"              \
    "        for (i64 j = row * len; j < (row + 1) * len; j++) {\n"                                          \
    "            const i64 p = index[j] < 0 ? 0 : index[j] < size ? index[j] : size - 1;\n"                  \
    "            if (p != target) continue;\n"
static const char short_sum[] =
    "extern \"C\" __global__ void scatter_short(T *out, const T *src, const i64 *index, i64 len, i64 size, i64 "
    "inner, i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n" EACH "        C sum = 0;\n" SHORT_ROW
    "            sum += UP(src[j * inner + col]);\n"
    "        }\n"
    "        out[i] = DOWN(sum);\n"
    "    }\n"
    "}\n";
static const char short_fold[] =
    "extern \"C\" __global__ void scatter_short(T *out, const T *x, const T *src, const i64 *index, i64 len, i64 "
    "size, i64 inner, i64 forget, i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n" EACH "        bool first = forget;\n"
    "        T r = x[i];\n" SHORT_ROW
    "            const C a = UP(r), b = UP(src[j * inner + col]);\n"
    "            r = first ? src[j * inner + col] : DOWN(COMBINE(a, b));\n"
    "            first = false;\n"
    "        }\n"
    "        out[i] = r;\n"
    "    }\n"
    "}\n";
static const char fold[] =
    "extern \"C\" __global__ void scatter_fold(T *out, const T *x, const T *src, const u32 *pos, const u32 "
    "*begin, i64 len, i64 size, i64 forget,\n"
    "                                        i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n" EACH "        const i64 row = i / size, b = row * (size + 1) + i % size;\n"
    "        u32 j = begin[b];\n"
    "        const u32 end = begin[b + 1];\n"
    "        T r = forget && j < end ? src[row * len + pos[row * len + j++]] : x[i];\n"
    "        for (; j < end; j++) {\n"
    "            const C p = UP(r), q = UP(src[row * len + pos[row * len + j]]);\n"
    "            r = DOWN(COMBINE(p, q));\n"
    "        }\n"
    "        out[i] = r;\n"
    "    }\n"
    "}\n";

/* Maximum and minimum: atomic maxima of keys, whatever their order. The key of a number: signs flipped, negative floats inverted, all
 * bits inverted for minima, NaN the greatest; 0 is that of no float. hit: an integer was written (with `forget`). A stale image is
 * lower than it is now: reading it first saves most atomics. */
#define KEY_OF                                                                                                  \
    "    auto key_of = [&](B v) {\n"                                                                            \
    "        if (INF && (v & (TOP - 1)) > INF) return ALL;\n"                                                   \
    "        const K k = !SIGNED ? v : !INF ? v ^ TOP : v & TOP ? ~v & ALL : v | TOP;\n"                        \
    "        return (K)(DOWN ? k ^ ALL : k);\n"                                                                 \
    "    };\n"
#define RAISE                                                          \
    "    auto raise = [&](K *p, K k) {\n"                              \
    "        if (*(volatile K *)p < k) atomicMax((A *)p, (A)k);\n"     \
    "    };\n"
#define TARGET_OF                                                                                            \
    "    auto target_of = [&](i64 i) { return index[i] < 0 ? 0 : index[i] < size ? index[i] : size - 1; };\n"
static const char extreme_image[] =
    "extern \"C\" __global__ void scatter_image(K *image, u8 *hit, const B *x, i64 forget, i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n" KEY_OF EACH
    "        image[i] = forget ? 0 : key_of(x[i]);\n"
    "        if (!INF && forget) hit[i] = 0;\n"
    "    }\n"
    "}\n";
/* An index names `inner` elements. */
static const char extreme[] =
    "extern \"C\" __global__ void scatter_extreme(K *image, u8 *hit, const B *src, const i64 *index, i64 len, i64 size, i64 "
    "inner, i64 forget, i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n" KEY_OF RAISE EACH
    "        const i64 piece = inner == 1 ? i : i / inner, p = index[piece], last = size / inner - 1;\n"
    "        const i64 at = i / len * size + (p < 0 ? 0 : p < last ? p : last) * inner + (i - piece * inner);\n"
    "        if (!INF && forget) hit[at] = 1;\n"
    "        raise(image + at, key_of(src[i]));\n"
    "    }\n"
    "}\n";
/* Few results: a block's part of a row meets in shared memory first. */
static const char extreme_few[] =
    "extern \"C\" __global__ __launch_bounds__(256) void scatter_extreme_few(K *image, u8 *hit, const B *src, const i64 *index, "
    "i64 len, i64 size, i64 forget, i64 parts, u64 n, char *s, u64 d) {\n"
    "    __shared__ K best[FEW];\n"
    "    pdl_wait();\n"
    "    const i64 row = blockIdx.x / parts, part = blockIdx.x % parts, chunk = (len + parts - 1) / parts;\n"
    "    const i64 from = row * len + part * chunk, end = (row + 1) * len, to = from + chunk < end ? from + chunk : end;\n"
    "    const u32 tid = threadIdx.x;\n" KEY_OF RAISE TARGET_OF
    "    for (u32 i = tid; i < size; i += 256) best[i] = 0;\n"
    "    __syncthreads();\n"
    "    #pragma unroll 4\n"
    "    for (i64 i = from + tid; i < to; i += 256) {\n"
    "        const i64 at = target_of(i);\n"
    "        if (!INF && forget && !hit[row * size + at]) hit[row * size + at] = 1;\n"
    "        raise(best + at, key_of(src[i]));\n"
    "    }\n"
    "    __syncthreads();\n"
    "    for (u32 i = tid; i < size; i += 256) raise(image + row * size + i, best[i]);\n"
    "}\n";
static const char extreme_values[] =
    "extern \"C\" __global__ void scatter_values(B *out, const K *image, const u8 *hit, const B *x, i64 forget, i64 count, u64 "
    "n, char *s, u64 d) {\n"
    "    pdl_wait();\n" EACH
    "        const K k = image[i], v = DOWN ? k ^ ALL : k;\n"
    "        const B r = (B)(!SIGNED ? v : !INF ? v ^ TOP : v & TOP ? v ^ TOP : ~v & ALL);\n"
    "        const bool kept = forget && (INF ? !k : !hit[i]);\n"
    "        out[i] = kept ? x[i] : INF && k == ALL ? (B)(INF | (INF & (0 - INF)) >> 1) : r;\n"
    "    }\n"
    "}\n";

/* The last writer of an index is the greatest: in any order. */
static const char fill[] =
    "extern \"C\" __global__ void winner_fill(T *out, i64 count, u64 n, char *s, u64 d) {\n"
    "    pdl_wait();\n" EACH "        out[i] = -1;\n"
    "    }\n"
    "}\n";
static const char put[] =
    "extern \"C\" __global__ void winner_put(T *out, const i64 *index, i64 len, i64 size, i64 count, u64 n, "
    "char *s, u64 d) {\n"
    "    pdl_wait();\n" EACH "        const i64 p = index[i] < 0 ? 0 : index[i] < size ? index[i] : size - 1;\n"
    "        atomicMax((A *)out + i / len * size + p, (A)(i % len));\n"
    "    }\n"
    "}\n";

/* Stream compaction in one pass: a block takes a tile of a row, each thread 16 consecutive elements. The count of a tile is published at
 * once; how many true ones precede it is found by decoupled look-back, 32 tiles at a time. A word of it: 1 << 33 if it counts
 * all tiles up to this one, 1 << 32 if this one alone, the count. The f-th false element of the row writes -1 to the f-th
 * result from the end, if there is one: every result is written once. */
static const char nonzero[] =
    "extern \"C\" __global__ __launch_bounds__(256) void nonzero_pass(T *out, const u8 *mask, u32 *counter, u64 *state, i64 "
    "len, i64 size, u64 n, char *s, u64 d) {\n"
    "    __shared__ u16 slot[TILE];\n"
    "    __shared__ u32 sums[8], taken, before;\n"
    "    const u32 tid = threadIdx.x, lane = tid % 32, warp = tid / 32;\n"
    "    const i64 tiles = (len + TILE - 1) / TILE;\n"
    "    pdl_wait();\n"
    "    if (!tid) taken = tiles > 1 ? atomicAdd(counter, 1u) : blockIdx.x;\n"
    "    __syncthreads();\n"
    "    const i64 row = taken / tiles, tile = taken % tiles, at = tile * TILE;\n"
    "    const u32 m = len - at < TILE ? (u32)(len - at) : TILE;\n"
    "    u32 bits[WORDS], mine = 0;\n"
    "    #pragma unroll\n"
    "    for (u32 w = 0; w < WORDS; w++) {\n"
    "        const u32 from = (tid * WORDS + w) * 16;\n"
    "        const u8 *const x = mask + row * len + at + from;\n"
    "        bits[w] = 0;\n"
    "        if (from + 16 <= m && !((u64)x & 15)) {\n"
    "            union { u64 w[2]; u8 b[16]; } v;\n"
    "            v.w[0] = ((const u64 *)x)[0], v.w[1] = ((const u64 *)x)[1];\n"
    "            #pragma unroll\n"
    "            for (u32 k = 0; k < 16; k++) bits[w] |= (u32)(v.b[k] != 0) << k;\n"
    "        } else\n"
    "            for (u32 k = 0; k < 16; k++) bits[w] |= (u32)(from + k < m && x[k]) << k;\n"
    "        mine += __popc(bits[w]);\n"
    "    }\n"
    "    u32 upto = mine, all = 0;\n"
    "    for (u32 o = 1; o < 32; o *= 2) { const u32 y = __shfl_up_sync(0xffffffffu, upto, o); if (lane >= o) upto += y; }\n"
    "    if (lane == 31) sums[warp] = upto;\n"
    "    __syncthreads();\n"
    "    for (u32 w = 0; w < 8; w++) { if (w < warp) upto += sums[w]; all += sums[w]; }\n"
    "    u32 p = upto - mine;\n"
    "    #pragma unroll\n"
    "    for (u32 k = 0; k < 16 * WORDS; k++) if (bits[k / 16] >> k % 16 & 1) slot[p++] = (u16)(tid * 16 * WORDS + k);\n"
    "    if (!warp) {\n"
    "        const u64 one = (u64)1 << 32, full = (u64)1 << 33;\n"
    "        volatile u64 *const word = state + row * tiles;\n"
    "        u32 ahead = 0, waits = 0;\n"
    "        if (!lane && tiles > 1) word[tile] = (tile ? one : full) | all;\n"
    "        for (i64 q = tile - 1; q >= 0;) {\n"
    "            const u64 w = q >= lane ? word[q - lane] : full;\n"
    "            const u32 known = __ballot_sync(0xffffffffu, w >> 32), ends = __ballot_sync(0xffffffffu, (w & full) != 0);\n"
    "            const u32 end = ends & (0u - ends), need = ends ? end | (end - 1) : 0xffffffffu;\n"
    "            if ((known & need) != need) {\n"
    "                __nanosleep(32);\n"
    "                if (++waits >> 24) __trap();\n"
    "                continue;\n"
    "            }\n"
    "            u32 sum = need >> lane & 1 ? (u32)w : 0;\n"
    "            for (u32 o = 16; o; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);\n"
    "            ahead += sum;\n"
    "            if (ends) break;\n"
    "            q -= 32;\n"
    "        }\n"
    "        if (!lane && tile) word[tile] = full | (ahead + all);\n"
    "        if (!lane) before = ahead;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    out += row * size;\n"
    "    const i64 ahead = before, last = len - 1 - (at - ahead);\n"
    "    for (u32 j = tid; j < all; j += 256) if (ahead + j < size) out[ahead + j] = (T)(at + slot[j]);\n"
    "    for (u32 j = tid; j < m - all; j += 256) if (last - j < size) out[last - j] = -1;\n"
    "    for (i64 j = len + tile * 256 + tid; j < size; j += tiles * 256) out[j] = -1;\n"
    "}\n";

/* What the macros of the texts mean for a type: its bits, its keys, the type computed with. */
static const struct type {
    const char *name, *bits, *key, *element, *calc, *up, *down, *all, *top, *inf;
    int bytes, is_signed;
} type[] = {
#define INT(T, E, B, K, all, top, size, sign) {#T, #B, #K, #E, #E, "", "(T)", #all, #top, "0", size, sign},
    INT(bool, u8, u8, u32, 0xffu, 0x80u, 1, 0) INT(u8, u8, u8, u32, 0xffu, 0x80u, 1, 0)
        INT(i8, i8, u8, u32, 0xffu, 0x80u, 1, 1) INT(u16, u16, u16, u32, 0xffffu, 0x8000u, 2, 0)
            INT(i16, i16, u16, u32, 0xffffu, 0x8000u, 2, 1)
                INT(u32, u32, u32, u32, 0xffffffffu, 0x80000000u, 4, 0)
                    INT(i32, i32, u32, u32, 0xffffffffu, 0x80000000u, 4, 1)
                        INT(u64, u64, u64, u64, 0xfffffffffffffffful, 0x8000000000000000ul, 8, 0)
                            INT(i64, i64, u64, u64, 0xfffffffffffffffful, 0x8000000000000000ul, 8, 1)
#undef INT
                                {"f16", "u16", "u32", "f16", "f32", "up_f16", "down_f16", "0xffffu",
                                 "0x8000u", "0x7c00u", 2, 1},
    {"bf16", "u16", "u32", "bf16", "f32", "up_bf16", "down_bf16", "0xffffu", "0x8000u", "0x7f80u", 2, 1},
    {"f32", "u32", "u32", "f32", "f32", "", "", "0xffffffffu", "0x80000000u", "0x7f800000u", 4, 1},
    {"f64", "u64", "u64", "f64", "f64", "", "", "0xfffffffffffffffful", "0x8000000000000000ul",
     "0x7ff0000000000000ul", 8, 1},
};
/* clang-format on */

static const struct type *type_of(const char *name) {
    for (size_t i = 0; i < RG_COUNT(type); i++)
        if (!strcmp(type[i].name, name)) return &type[i];
    return NULL;
}

uint32_t cuda_call_bytes(const char *name) { return type_of(name) ? (uint32_t)type_of(name)->bytes : 0; }

struct macro {
    const char *name, *meaning;
};

/* A text with macros defined before it and undefined after it: several share a unit. */
static const char *with(struct arena *a, const struct macro *w, uint32_t n, const char *text) {
    struct str s;
    str_init(&s, a);
    for (uint32_t i = 0; i < n; i++) str_printf(&s, "#define %s %s\n", w[i].name, w[i].meaning);
    str_add(&s, text);
    for (uint32_t i = 0; i < n; i++) str_printf(&s, "#undef %.*s\n", (int)strcspn(w[i].name, "("), w[i].name);
    return s.p;
}

/* The same, and those of the sort keys of the type. */
static const char *with_keys(struct arena *a, const struct type *t, const struct macro *w, uint32_t n,
                             const char *text) {
    struct macro key[] = {{"B", t->bits},
                          {"K", t->key},
                          {"ALL", arena_printf(a, "((K)%s)", t->all)},
                          {"TOP", arena_printf(a, "((K)%s)", t->top)},
                          {"INF", arena_printf(a, "((K)%s)", t->inf)},
                          {"SIGNED", t->is_signed ? "1" : "0"}};
    return with(a, key, RG_COUNT(key), with(a, w, n, text));
}

/* The radix sort (sort_kernels.c) of elements of this type; pairs: their indices go with them. */
static void radix_texts(struct arena *a, const struct type *t, bool pairs,
                        struct dev_kernel_text out[static 3]) {
    int warps = cuda_sort_warps((uint32_t)t->bytes);
    struct macro w[] = {{"PAIRS", pairs ? "1" : "0"},
                        {"TILE", arena_printf(a, "%d", CUDA_SORT_TILE)},
                        {"ITEMS", arena_printf(a, "%d", CUDA_SORT_TILE / 32 / warps)},
                        {"WARPS", arena_printf(a, "%du", warps)},
                        {"LOOK", "4"}};
    out[CUDA_CLEAR] = (struct dev_kernel_text){"sort_clear", cuda_sort_clear};
    out[CUDA_HISTOGRAM] =
        (struct dev_kernel_text){"sort_histogram", with_keys(a, t, w, RG_COUNT(w), cuda_sort_histogram)};
    out[CUDA_PASS] = (struct dev_kernel_text){"sort_pass", with_keys(a, t, w, RG_COUNT(w), cuda_sort_pass)};
}

static struct dev_kernel_text rows_text(struct arena *a, const struct type *t, bool index,
                                        struct cuda_row r) {
    bool wide = t->bytes > 4, pair = index && wide; /* an index fits no word of a key of 8 bytes */
    struct macro w[] = {{"W", index && t->bytes > 2 ? "u64" : t->key},
                        {"LOW", !index || wide ? "0"
                                : t->bytes > 2 ? "32"
                                               : "16"},
                        {"PAIR", pair ? "1" : "0"},
                        {"SLOT", index ? "u16" : t->bits},
                        {"OUT", index ? "i64" : t->bits},
                        {"INDEX", index ? "1" : "0"},
                        {"E", arena_printf(a, "%uu", r.each)},
                        {"G", arena_printf(a, "%uu", r.lanes)}};
    return (struct dev_kernel_text){"sort_rows", with_keys(a, t, w, RG_COUNT(w), cuda_sort_rows)};
}

static struct dev_kernel_text block_text(struct arena *a, const struct type *t, bool index) {
    uint32_t tile = cuda_block_tile((uint32_t)t->bytes);
    struct macro w[] = {{"OUT", index ? "i64" : t->bits},
                        {"INDEX", index ? "1" : "0"},
                        {"TILE", arena_printf(a, "%u", tile)},
                        {"WARPS", arena_printf(a, "%du", CUDA_BLOCK_WARPS)},
                        {"ITEMS", arena_printf(a, "%u", tile / (32 * CUDA_BLOCK_WARPS))}};
    return (struct dev_kernel_text){"sort_block", with_keys(a, t, w, RG_COUNT(w), cuda_sort_block)};
}

static uint32_t sort_texts(struct arena *a, const struct dev_call *c, struct dev_kernel_text *out) {
    const struct type *t = type_of(c->type[1]);
    bool index = !strcmp(c->name, "argsort") || !strcmp(c->name, "topk_index");
    uint32_t top = strncmp(c->name, "topk", 4) ? 0 : cuda_top_of((uint32_t)t->bytes, index, c->num);
    struct macro w[] = {{"MOST", arena_printf(a, "%d", CUDA_SELECT_MOST)},
                        {"BITS", arena_printf(a, "%d", t->bytes * 8)},
                        {"OUT", index ? "i64" : t->bits},
                        {"RESULT(p)", index ? "(i64)(p)" : "row[p]"},
                        {"WANTED", arena_printf(a, "%d", CUDA_TOP_WANTED)},
                        {"E", arena_printf(a, "%uu", top)}};
    struct cuda_row r = cuda_row_of(c->num ? c->num[0] : INT64_MAX);
    if (top) {
        out[CUDA_ROWS] =
            (struct dev_kernel_text){"topk_rows", with_keys(a, t, w, RG_COUNT(w), cuda_topk_rows)};
        return CUDA_ROWS + 1;
    }
    if (r.lanes) {
        out[CUDA_ROWS] = rows_text(a, t, index, r);
        return CUDA_ROWS + 1;
    }
    if (cuda_sorts_block((uint32_t)t->bytes, c->num)) {
        out[CUDA_ROWS] = block_text(a, t, index);
        return CUDA_ROWS + 1;
    }
    radix_texts(a, t, index, out);
    out[CUDA_SELECT] = (struct dev_kernel_text){"topk_select", with_keys(a, t, w, RG_COUNT(w), select_text)};
    return CUDA_SELECT + 1;
}

static const char *combine(struct arena *a, const struct type *t, const char *name) {
    bool real = strcmp(t->inf, "0") != 0;
    const char *most = !strcmp(name, "scatter_max") ? "max" : !strcmp(name, "scatter_min") ? "min" : NULL;
    if (!most) return real ? "((a) * (b))" : "((u64)(a) * (u64)(b))"; /* integers wrap */
    if (real) return arena_printf(a, "%s_%s((a), (b))", most, t->calc);
    return most[1] == 'a' ? "((a) > (b) ? (a) : (b))" : "((a) < (b) ? (a) : (b))";
}

static uint32_t extreme_texts(struct arena *a, const struct dev_call *c, const struct type *t,
                              const char *other, struct dev_kernel_text *out) {
    struct macro w[] = {{"A", t->bytes > 4 ? "unsigned long long" : "u32"},
                        {"DOWN", strcmp(c->name, "scatter_min") ? "0" : "1"},
                        {"FEW", arena_printf(a, "%d", CUDA_FEW)}};
    static const struct dev_kernel_text texts[] = {[CUDA_IMAGE] = {"scatter_image", extreme_image},
                                                   [CUDA_EXTREME] = {"scatter_extreme", extreme},
                                                   [CUDA_EXTREME_FEW] = {"scatter_extreme_few", extreme_few},
                                                   [CUDA_VALUES] = {"scatter_values", extreme_values}};
    for (uint32_t i = 0; i < RG_COUNT(texts); i++)
        out[i] = (struct dev_kernel_text){texts[i].name, with_keys(a, t, w, RG_COUNT(w), texts[i].text)};
    out[CUDA_EXTREME_SHORT] = (struct dev_kernel_text){"scatter_short", other};
    return CUDA_EXTREME_SHORT + 1;
}

static uint32_t scatter_texts(struct arena *a, const struct dev_call *c, struct dev_kernel_text *out) {
    const struct type *t = type_of(c->type[0]);
    struct macro w[] = {{"T", t->element},
                        {"C", t->calc},
                        {"UP(x)", arena_printf(a, "%s(x)", t->up)},
                        {"DOWN(x)", arena_printf(a, "%s(x)", t->down)},
                        {"COMBINE(a, b)", combine(a, t, c->name)}};
    if (!strcmp(c->name, "scatter_max") || !strcmp(c->name, "scatter_min"))
        return extreme_texts(a, c, t, with(a, w, RG_COUNT(w), short_fold), out);
    radix_texts(a, type_of("u32"), true, out);
    out[CUDA_KEYS] = (struct dev_kernel_text){"scatter_keys", index_keys};
    out[CUDA_BEGIN] = (struct dev_kernel_text){"scatter_begin", begins};
    if (strcmp(c->name, "scatter_sum")) {
        out[CUDA_RESULT] = (struct dev_kernel_text){"scatter_fold", with(a, w, RG_COUNT(w), fold)};
        out[CUDA_SHORT] = (struct dev_kernel_text){"scatter_short", with(a, w, RG_COUNT(w), short_fold)};
        return CUDA_SHORT + 1;
    }
    w[4] = (struct macro){"V", "1"};
    out[CUDA_RESULT] = (struct dev_kernel_text){"scatter_sum", with(a, w, RG_COUNT(w), fold_sum)};
    out[CUDA_PART] = (struct dev_kernel_text){"scatter_part", with(a, w, RG_COUNT(w), fold_part)};
    out[CUDA_SHORT] = (struct dev_kernel_text){"scatter_short", with(a, w, RG_COUNT(w), short_sum)};
    out[CUDA_LONG] = (struct dev_kernel_text){"scatter_long", with(a, w, RG_COUNT(w), fold_long)};
    w[4].meaning = arena_printf(a, "%d", 16 / t->bytes);
    out[CUDA_WIDE] = (struct dev_kernel_text){"scatter_sum", with(a, w, RG_COUNT(w), fold_sum)};
    out[CUDA_PART_WIDE] = (struct dev_kernel_text){"scatter_part", with(a, w, RG_COUNT(w), fold_part)};
    return CUDA_PART_WIDE + 1;
}

static uint32_t winner_texts(struct arena *a, const struct dev_call *c, struct dev_kernel_text *out) {
    bool wide = !strcmp(c->type[0], "i64");
    struct macro w[] = {{"T", wide ? "i64" : "i32"}, {"A", wide ? "long long" : "int"}};
    out[CUDA_FILL] = (struct dev_kernel_text){"winner_fill", with(a, w, RG_COUNT(w), fill)};
    out[CUDA_PUT] = (struct dev_kernel_text){"winner_put", with(a, w, RG_COUNT(w), put)};
    return CUDA_PUT + 1;
}

static uint32_t nonzero_texts(struct arena *a, const struct dev_call *c, struct dev_kernel_text *out) {
    int64_t tile = cuda_nonzero_tile(c->num ? c->num[0] : 0);
    struct macro w[] = {{"T", c->type[0]},
                        {"TILE", arena_printf(a, "%lld", (long long)tile)},
                        {"WORDS", arena_printf(a, "%lld", (long long)tile / 4096)}};
    out[CUDA_CLEAR] = (struct dev_kernel_text){"sort_clear", cuda_sort_clear};
    out[CUDA_NONZERO] = (struct dev_kernel_text){"nonzero_pass", with(a, w, RG_COUNT(w), nonzero)};
    return CUDA_NONZERO + 1;
}

/* What a scan combines two sums by, and begins with. */
static void scan_op(struct arena *a, const struct type *to, const char *op, struct macro out[static 2]) {
    bool real = strcmp(to->inf, "0") != 0, wide = to->bytes > 4, most = !strcmp(op, "max");
    const char *c = real ? to->calc : "", *inf = wide ? "__builtin_inf()" : "__builtin_inff()";
    out[0] = (struct macro){"COMBINE(a, b)", "((a) + (b))"}, out[1] = (struct macro){"ZERO", "0"};
    if (!strcmp(op, "mul")) out[0].meaning = "((a) * (b))", out[1].meaning = "1";
    if (!most && strcmp(op, "min")) return;
    const char *least = to->is_signed ? wide ? "(-0x7fffffffffffffffl - 1)" : "(-0x7fffffff - 1)" : "0";
    const char *greatest = to->is_signed ? wide ? "0x7fffffffffffffffl" : "0x7fffffff"
                           : wide        ? "0xfffffffffffffffful"
                                         : "0xffffffffu";
    out[0].meaning = real   ? arena_printf(a, "%s_%s((a), (b))", op, c)
                     : most ? "((a) > (b) ? (a) : (b))"
                            : "((a) < (b) ? (a) : (b))";
    out[1].meaning = real ? arena_printf(a, "(%s%s)", most ? "-" : "", inf) : most ? least : greatest;
}

static uint32_t scan_texts(struct arena *a, const struct dev_call *c, struct dev_kernel_text *out) {
    const struct type *to = type_of(c->type[0]), *ti = type_of(c->type[1]);
    const char *op = c->name + 5, *calc = to->calc;
    bool real = strcmp(to->inf, "0") != 0, pair = !strcmp(op, "lse"), wide = to->bytes > 4;
    bool sum = !strcmp(op, "add") || !strcmp(op, "mul"); /* integers wrap */
    if (!real) calc = sum || !to->is_signed ? wide ? "u64" : "u32" : wide ? "i64" : "i32";
    struct macro w[] = {
        {"TI", ti->element},
        {"TO", to->element},
        {"C", calc},
        {"ITEMS", arena_printf(a, "%u", cuda_scan_items((uint32_t)to->bytes))},
        {"UP(x)", arena_printf(a, "(C)%s(x)", ti->up)},
        {"DOWN(x)", arena_printf(a, "%s(x)", real ? to->down : arena_printf(a, "(%s)", to->element))},
        {"PAIR", pair ? "1" : "0"},
        {"INFINITE", wide ? "__builtin_inf()" : "__builtin_inff()"},
        {"EXP(x)", wide ? "exp(x)" : "__expf(x)"}, /* of x < 0: what is far below the maximum adds nothing */
        {"LOG(x)", wide ? "log(x)" : "__logf(x)"}, /* of x >= 1: to 2e-7, which is added to the maximum */
        {"NOTHING", pair ? "-INFINITE" : "ZERO"},
        {"COMBINE(a, b)", ""},
        {"ZERO", ""}};
    if (!pair) scan_op(a, to, op, w + 11);
    out[CUDA_CLEAR] = (struct dev_kernel_text){"sort_clear", cuda_sort_clear};
    out[CUDA_SCAN] = (struct dev_kernel_text){"scan_tiles", with(a, w, RG_COUNT(w), cuda_scan_tiles)};
    return CUDA_SCAN + 1;
}

uint32_t cuda_call_kernels(struct arena *a, const struct dev_call *c,
                           struct dev_kernel_text out[static DEV_KERNELS]) {
    for (uint32_t i = 0; i < c->nbuf; i++)
        if (!type_of(c->type[i])) return 0;
    if (!strcmp(c->name, "winner")) return winner_texts(a, c, out);
    if (!strcmp(c->name, "nonzero")) return nonzero_texts(a, c, out);
    if (!strncmp(c->name, "scan_", 5)) return scan_texts(a, c, out);
    return !strncmp(c->name, "scatter", 7) ? scatter_texts(a, c, out) : sort_texts(a, c, out);
}
