/* sort_registers.c: batches of rows in lanes (sort_lanes.c) for AVX-512: transposed by pieces of 16
 * bytes of each row, and sorted with as few accesses to memory as the registers allow.
 *
 * 16 positions are sorted in registers, then runs are merged bitonically: the first stage exchanges what mirrors each other in
 * two runs, so that all exchanges put the lesser first and positions behind the row's end need not exist. Two stages are done
 * for one access where they are far apart, the last four in registers.
 * Rows of bytes and of 16 bits are transposed as words of their neighbours, and taken apart in lanes; which rows
 * stand in which vector is chosen so that nothing has to be moved from one fourth of a vector to another.
 * Tests: tests/unit/call.c */
#include "device/cpu/internal.h"

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define INLINE TARGET static inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 16")

enum { BLOCK = 16 }; /* positions in registers */

typedef __m512i vec;

/* ---- the network --------------------------------------------------------------------------------------------------- */

#define NETWORK(B)                                                                                                   \
    INLINE void exchange_##B(vec *a, vec *b) {                                                                       \
        vec x = *a, y = *b;                                                                                          \
        *a = _mm512_min_epu##B(x, y), *b = _mm512_max_epu##B(x, y);                                                  \
    }                                                                                                                \
    INLINE void apart_##B(vec *v, const uint32_t apart) {                                                            \
        UNROLLED for (uint32_t i = 0; i < BLOCK; i++) if (!(i & apart)) exchange_##B(v + i, v + i + apart);          \
    }                                                                                                                \
    INLINE void mirrored_##B(vec *v, const uint32_t run) {                                                           \
        UNROLLED for (uint32_t i = 0; i < BLOCK; i++) if (!(i & run))                                                \
            exchange_##B(v + i, v + (i ^ (2 * run - 1)));                                                            \
    }                                                                                                                \
    INLINE void fetch_##B(vec *v, const vec *from, const uint32_t n) {                                               \
        UNROLLED for (uint32_t i = 0; i < BLOCK; i++) v[i] =                                                         \
            i < n ? _mm512_loadu_si512(from + i) : _mm512_set1_epi32(-1);                                            \
    }                                                                                                                \
    INLINE void leave_##B(vec *to, const vec *v, const uint32_t n) {                                                 \
        UNROLLED for (uint32_t i = 0; i < BLOCK; i++) if (i < n) _mm512_storeu_si512(to + i, v[i]);                  \
    }                                                                                                                \
    INLINE void block_##B(vec *a, const uint32_t n) {                                                                \
        vec v[BLOCK];                                                                                                \
        fetch_##B(v, a, n);                                                                                          \
        mirrored_##B(v, 1);                                                                                          \
        mirrored_##B(v, 2), apart_##B(v, 1);                                                                         \
        mirrored_##B(v, 4), apart_##B(v, 2), apart_##B(v, 1);                                                        \
        mirrored_##B(v, 8), apart_##B(v, 4), apart_##B(v, 2), apart_##B(v, 1);                                       \
        leave_##B(a, v, n);                                                                                          \
    }                                                                                                                \
    INLINE void last_stages_##B(vec *a, const uint32_t n) {                                                          \
        vec v[BLOCK];                                                                                                \
        fetch_##B(v, a, n);                                                                                          \
        apart_##B(v, 8), apart_##B(v, 4), apart_##B(v, 2), apart_##B(v, 1);                                          \
        leave_##B(a, v, n);                                                                                          \
    }                                                                                                                \
    /* Blocks of n positions; the last one may be a part of one. */                                                  \
    TARGET static void blocks_##B(vec *a, uint32_t n) {                                                              \
        for (; n >= BLOCK; n -= BLOCK, a += BLOCK) block_##B(a, BLOCK);                                              \
        if (n > 1) block_##B(a, n);                                                                                  \
    }                                                                                                                \
    TARGET static void each_last_##B(vec *a, uint32_t n) {                                                           \
        for (; n >= BLOCK; n -= BLOCK, a += BLOCK) last_stages_##B(a, BLOCK);                                        \
        if (n > 1) last_stages_##B(a, n);                                                                            \
    }                                                                                                                \
    INLINE void exchange_at_##B(vec *a, uint32_t i, uint32_t j) {                                                    \
        vec x = _mm512_loadu_si512(a + i), y = _mm512_loadu_si512(a + j);                                            \
        exchange_##B(&x, &y);                                                                                        \
        _mm512_storeu_si512(a + i, x), _mm512_storeu_si512(a + j, y);                                                \
    }                                                                                                                \
    INLINE vec at_##B(const vec *a, uint32_t i, uint32_t n) {                                                        \
        return i < n ? _mm512_loadu_si512(a + i) : _mm512_set1_epi32(-1);                                            \
    }                                                                                                                \
    INLINE void put_##B(vec *a, uint32_t i, uint32_t n, vec v) {                                                     \
        if (i < n) _mm512_storeu_si512(a + i, v);                                                                    \
    }                                                                                                                \
    /* Two stages: of x with z and y with w, then of x with y and w with z. */                                       \
    INLINE void four_##B(vec *a, const uint32_t i[4], uint32_t n) {                                                  \
        vec x = at_##B(a, i[0], n), y = at_##B(a, i[1], n), w = at_##B(a, i[2], n), z = at_##B(a, i[3], n);          \
        exchange_##B(&x, &z), exchange_##B(&y, &w), exchange_##B(&x, &y), exchange_##B(&w, &z);                      \
        put_##B(a, i[0], n, x), put_##B(a, i[1], n, y), put_##B(a, i[2], n, w), put_##B(a, i[3], n, z);              \
    }                                                                                                                \
    /* Sorted runs of 2 p, of which the first two stages are done, from q = p/4 on; or of bitonic ones, from p/2. */ \
    TARGET static void bitonic_##B(vec *a, uint32_t n, uint32_t q) {                                                 \
        for (; q >= 2 * BLOCK; q /= 4)                                                                               \
            for (uint32_t g = 0; g < n; g += 2 * q)                                                                  \
                for (uint32_t i = g; i < RG_MIN(g + q / 2, n); i++) {                                                \
                    vec x = at_##B(a, i, n), y = at_##B(a, i + q / 2, n), z = at_##B(a, i + q, n),                   \
                        w = at_##B(a, i + q + q / 2, n);                                                             \
                    exchange_##B(&x, &z), exchange_##B(&y, &w), exchange_##B(&x, &y), exchange_##B(&z, &w);          \
                    put_##B(a, i, n, x), put_##B(a, i + q / 2, n, y), put_##B(a, i + q, n, z);                       \
                    put_##B(a, i + q + q / 2, n, w);                                                                 \
                }                                                                                                    \
        if (q == BLOCK)                                                                                              \
            for (uint32_t g = 0; g < n; g += 2 * q)                                                                  \
                for (uint32_t i = g; i < g + q && i + q < n; i++) exchange_at_##B(a, i, i + q);                      \
        each_last_##B(a, n);                                                                                         \
    }                                                                                                                \
    TARGET static void sort_##B(vec *a, uint32_t n) {                                                                \
        blocks_##B(a, n);                                                                                            \
        for (uint32_t p = BLOCK; p < n; p *= 2) {                                                                    \
            for (uint32_t g = 0; g + p < n && p == BLOCK; g += 2 * p)                                                \
                for (uint32_t i = 0; i < p; i++)                                                                     \
                    if (g + 2 * p - 1 - i < n) exchange_at_##B(a, g + i, g + 2 * p - 1 - i);                         \
            for (uint32_t g = 0; g + p < n && p > BLOCK; g += 2 * p)                                                 \
                for (uint32_t i = 0, h = p / 2; i < h; i++)                                                          \
                    four_##B(a, (uint32_t[]){g + i, g + i + h, g + p + h - 1 - i, g + 2 * p - 1 - i}, n);            \
            bitonic_##B(a, n, p > BLOCK ? p / 4 : 0);                                                                \
        }                                                                                                            \
    }
/* The first k of n positions, one after the other through k registers. */
#define SELECT(B, K)                                                                \
    TARGET static void select_##B##_##K(vec *a, uint32_t n) {                       \
        vec v[K];                                                                   \
        UNROLLED for (uint32_t j = 0; j < K; j++) v[j] = _mm512_set1_epi32(-1);     \
        for (uint32_t i = 0; i < n; i++) {                                          \
            vec x = _mm512_loadu_si512(a + i);                                      \
            UNROLLED for (uint32_t j = 0; j < K; j++) exchange_##B(v + j, &x);      \
        }                                                                           \
        UNROLLED for (uint32_t j = 0; j < K; j++) _mm512_storeu_si512(a + j, v[j]); \
    }
#define SELECTS(B) SELECT(B, 1) SELECT(B, 2) SELECT(B, 3) SELECT(B, 4) SELECT(B, 6) SELECT(B, 8)
NETWORK(8)
NETWORK(16)
NETWORK(32)
NETWORK(64)
SELECTS(8)
SELECTS(16)
SELECTS(32)
SELECTS(64)

/* By the bytes of a lane (log2): 1 to 8 of n positions. */
static void (*const selection[][9])(vec *, uint32_t n) = {
#define ROW(B)                                                                                \
    {                                                                                         \
        NULL, select_##B##_1, select_##B##_2, select_##B##_3, select_##B##_4, select_##B##_6, \
            select_##B##_6, select_##B##_8, select_##B##_8                                    \
    }
    ROW(8), ROW(16), ROW(32), ROW(64)
#undef ROW
};

bool cpu_select_registers(void *lanes, uint32_t n, uint32_t k, uint32_t width) {
    if (k > 8 || n < 8) return false;
    selection[width][k](lanes, n);
    return true;
}

void cpu_sort_registers(void *lanes, uint32_t n, uint32_t width) {
    width == 0   ? sort_8(lanes, n)
    : width == 1 ? sort_16(lanes, n)
    : width == 2 ? sort_32(lanes, n)
                 : sort_64(lanes, n);
}

/* Bitonic positions, a power of two of them. */
void cpu_merge_registers(void *lanes, uint32_t n, uint32_t width) {
    uint32_t q = n > BLOCK ? n / 2 : 0;
    width == 0   ? bitonic_8(lanes, n, q)
    : width == 1 ? bitonic_16(lanes, n, q)
    : width == 2 ? bitonic_32(lanes, n, q)
                 : bitonic_64(lanes, n, q);
}

/* ---- pieces of rows ------------------------------------------------------------------------------------------------ */

enum { PIECE = 16 }; /* bytes of a row at once */

/* Pieces begin at multiples of their size, the last one of a row at its end. */
#define EACH_PIECE(size)             \
    for (size_t at = 0; at < (size); \
         at = at + PIECE < (size) && at + 2 * PIECE > (size) ? (size)-PIECE : at + PIECE)

/* 4 x 4 words of 32 bits in each fourth of the vectors. */
INLINE void transpose_32(vec *v) {
    vec a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpacklo_epi32(v[2], v[3]);
    vec c = _mm512_unpackhi_epi32(v[0], v[1]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(a, b), v[1] = _mm512_unpackhi_epi64(a, b);
    v[2] = _mm512_unpacklo_epi64(c, d), v[3] = _mm512_unpackhi_epi64(c, d);
}

/* 2 x 2 of 64 bits. */
INLINE void transpose_64(vec *v) {
    vec low = _mm512_unpacklo_epi64(v[0], v[1]);
    v[1] = _mm512_unpackhi_epi64(v[0], v[1]), v[0] = low;
}

/* Where rows are in lanes of 32 bits: `of` vectors have the pieces of 4 x of rows, and set s of `sets` has these: of two sets,
 * every other row; of four, four of each 16: then neighbours in a vector of narrow lanes stand in one word of each set, or
 * in the same fourth. */
INLINE uint32_t row_of(uint32_t k, const uint32_t s, const uint32_t sets) {
    return sets == 4 ? k / 4 * 16 + 4 * s + k % 4 : k * sets + s;
}

INLINE __mmask16 piece_bytes(size_t rest) { return (__mmask16)(rest >= PIECE ? 0xffffu : (1u << rest) - 1); }

/* Rows that are not there take the last one. */
INLINE vec read_rows(const char *x, uint32_t last, size_t size, size_t at, const uint32_t r[4]) {
    const char *p[4];
    UNROLLED for (uint32_t m = 0; m < 4; m++) p[m] = x + RG_MIN(r[m], last) * size + at;
    __m128i q[4];
    if (size >= PIECE) {
        UNROLLED for (uint32_t m = 0; m < 4; m++) q[m] = _mm_loadu_si128((const void *)p[m]);
    } else {
        UNROLLED for (uint32_t m = 0; m < 4; m++) q[m] = _mm_maskz_loadu_epi8(piece_bytes(size), p[m]);
    }
    vec v = _mm512_inserti32x4(_mm512_castsi128_si512(q[0]), q[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(v, q[2], 2), q[3], 3);
}

/* A piece of 16 rows in four vectors (of 8 in two), each word in the lane of its row. */
INLINE void read_piece(vec *v, const char *x, uint32_t last, size_t size, size_t at, const uint32_t of,
                       const uint32_t s, const uint32_t sets) {
    UNROLLED for (uint32_t j = 0; j < of; j++) v[j] =
        read_rows(x, last, size, at,
                  (uint32_t[]){row_of(j, s, sets), row_of(of + j, s, sets), row_of(2 * of + j, s, sets),
                               row_of(3 * of + j, s, sets)});
    of == 4 ? transpose_32(v) : transpose_64(v);
}

#define EACH_ROW(of, ...)                                                                  \
    UNROLLED for (uint32_t j = 0; j < of; j++) UNROLLED for (uint32_t m = 0; m < 4; m++) { \
        uint32_t r = row_of(m * of + j, s, sets);                                          \
        __m128i part = m == 0   ? _mm512_castsi512_si128(v[j])                             \
                       : m == 1 ? _mm512_extracti32x4_epi32(v[j], 1)                       \
                       : m == 2 ? _mm512_extracti32x4_epi32(v[j], 2)                       \
                                : _mm512_extracti32x4_epi32(v[j], 3);                      \
        if (r < count) __VA_ARGS__;                                                        \
    }

INLINE void write_piece(vec *v, char *out, uint32_t count, size_t size, size_t at, const uint32_t of,
                        const uint32_t s, const uint32_t sets) {
    of == 4 ? transpose_32(v) : transpose_64(v);
    if (size >= PIECE) {
        EACH_ROW(of, _mm_storeu_si128((void *)(out + r * size + at), part))
    } else {
        EACH_ROW(of, _mm_mask_storeu_epi8(out + r * size + at, piece_bytes(size), part))
    }
}

/* ---- rows to lanes ------------------------------------------------------------------------------------------------- */

/* Positions from `first` on. */
INLINE void put_positions(vec *to, const vec *v, size_t first, uint32_t n, const uint32_t of) {
    UNROLLED for (uint32_t i = 0; i < of; i++) if (first + i < n) _mm512_storeu_si512(to + first + i, v[i]);
}

/* The narrow words, lower or upper, of two sets. */
INLINE vec low_words(vec a, vec b) { return _mm512_mask_mov_epi16(_mm512_slli_epi32(b, 16), 0x55555555, a); }
INLINE vec high_words(vec a, vec b) { return _mm512_mask_mov_epi16(b, 0x55555555, _mm512_srli_epi32(a, 16)); }

TARGET static void load_8(const char *x, uint32_t count, uint32_t n, vec *to) {
    const vec each =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    EACH_PIECE(n) {
        vec v[4][4], p[4];
        UNROLLED for (uint32_t s = 0; s < 4; s++) read_piece(v[s], x, count - 1, n, at, 4, s, 4);
        UNROLLED for (uint32_t i = 0; i < 4; i++) {
            UNROLLED for (uint32_t s = 0; s < 4; s++) p[s] = _mm512_shuffle_epi8(v[s][i], each);
            transpose_32(p);
            put_positions(to, p, at + 4 * i, n, 4);
        }
    }
}

TARGET static void load_16(const char *x, uint32_t count, uint32_t n, vec *to) {
    EACH_PIECE(2 * (size_t)n) {
        vec v[2][4], p[8];
        UNROLLED for (uint32_t s = 0; s < 2; s++) read_piece(v[s], x, count - 1, 2 * (size_t)n, at, 4, s, 2);
        UNROLLED for (uint32_t i = 0; i < 4; i++) p[2 * i] = low_words(v[0][i], v[1][i]),
                                                        p[2 * i + 1] = high_words(v[0][i], v[1][i]);
        put_positions(to, p, at / 2, n, 8);
    }
}

TARGET static void load_32(const char *x, uint32_t count, uint32_t n, vec *to) {
    EACH_PIECE(4 * (size_t)n) {
        vec v[4];
        read_piece(v, x, count - 1, 4 * (size_t)n, at, 4, 0, 1);
        put_positions(to, v, at / 4, n, 4);
    }
}

TARGET static void load_64(const char *x, uint32_t count, uint32_t n, vec *to) {
    EACH_PIECE(8 * (size_t)n) {
        vec v[2];
        read_piece(v, x, count - 1, 8 * (size_t)n, at, 2, 0, 1);
        put_positions(to, v, at / 8, n, 2);
    }
}

/* To lanes twice as wide, which have room for an index. */
TARGET static void load_8_16(const char *x, uint32_t count, uint32_t n, vec *to) {
    const vec low = _mm512_set1_epi16(0xff);
    EACH_PIECE(n) {
        vec v[2][4], p[16];
        UNROLLED for (uint32_t s = 0; s < 2; s++) read_piece(v[s], x, count - 1, n, at, 4, s, 2);
        UNROLLED for (uint32_t i = 0; i < 4; i++) {
            vec a = low_words(v[0][i], v[1][i]), b = high_words(v[0][i], v[1][i]);
            p[4 * i] = _mm512_and_si512(a, low), p[4 * i + 1] = _mm512_srli_epi16(a, 8);
            p[4 * i + 2] = _mm512_and_si512(b, low), p[4 * i + 3] = _mm512_srli_epi16(b, 8);
        }
        put_positions(to, p, at, n, 16);
    }
}

TARGET static void load_16_32(const char *x, uint32_t count, uint32_t n, vec *to) {
    const vec low = _mm512_set1_epi32(0xffff);
    EACH_PIECE(2 * (size_t)n) {
        vec v[4], p[8];
        read_piece(v, x, count - 1, 2 * (size_t)n, at, 4, 0, 1);
        UNROLLED for (uint32_t i = 0; i < 4; i++) p[2 * i] = _mm512_and_si512(v[i], low),
                                                        p[2 * i + 1] = _mm512_srli_epi32(v[i], 16);
        put_positions(to, p, at / 2, n, 8);
    }
}

/* A piece of eight rows has words of rows 2 m and 2 m + 1 in each fourth, in the order of two of 64 bits. */
TARGET static void load_32_64(const char *x, uint32_t count, uint32_t n, vec *to) {
    const vec low = _mm512_set1_epi64(0xffffffff);
    EACH_PIECE(4 * (size_t)n) {
        vec v[2], p[4];
        read_piece(v, x, count - 1, 4 * (size_t)n, at, 2, 0, 1);
        UNROLLED for (uint32_t i = 0; i < 2; i++) p[2 * i] = _mm512_and_si512(v[i], low),
                                                        p[2 * i + 1] = _mm512_srli_epi64(v[i], 32);
        put_positions(to, p, at / 4, n, 4);
    }
}

/* ---- and back ------------------------------------------------------------------------------------------------------ */

INLINE vec get_position(const vec *from, size_t i, uint32_t k) {
    return _mm512_loadu_si512(from + RG_MIN(i, k - 1));
}

TARGET static void store_8(const vec *from, uint32_t count, uint32_t k, char *out) {
    EACH_PIECE(k) {
        vec v[4][4], p[4];
        UNROLLED for (uint32_t i = 0; i < 4; i++) {
            UNROLLED for (uint32_t b = 0; b < 4; b++) p[b] = get_position(from, at + 4 * i + b, k);
            vec a = _mm512_unpacklo_epi8(p[0], p[1]), b = _mm512_unpacklo_epi8(p[2], p[3]);
            vec c = _mm512_unpackhi_epi8(p[0], p[1]), d = _mm512_unpackhi_epi8(p[2], p[3]);
            v[0][i] = _mm512_unpacklo_epi16(a, b), v[1][i] = _mm512_unpackhi_epi16(a, b);
            v[2][i] = _mm512_unpacklo_epi16(c, d), v[3][i] = _mm512_unpackhi_epi16(c, d);
        }
        UNROLLED for (uint32_t s = 0; s < 4; s++) write_piece(v[s], out, count, k, at, 4, s, 4);
    }
}

/* Eight positions of 16 bits as words of even and of odd rows. */
INLINE void pairs_16(const vec *from, size_t first, uint32_t k, vec v[2][4]) {
    UNROLLED for (uint32_t i = 0; i < 4; i++) {
        vec a = get_position(from, first + 2 * i, k), b = get_position(from, first + 2 * i + 1, k);
        v[0][i] = low_words(a, b), v[1][i] = high_words(a, b);
    }
}

TARGET static void store_16(const vec *from, uint32_t count, uint32_t k, char *out) {
    EACH_PIECE(2 * (size_t)k) {
        vec v[2][4];
        pairs_16(from, at / 2, k, v);
        UNROLLED for (uint32_t s = 0; s < 2; s++) write_piece(v[s], out, count, 2 * (size_t)k, at, 4, s, 2);
    }
}

TARGET static void store_32(const vec *from, uint32_t count, uint32_t k, char *out) {
    EACH_PIECE(4 * (size_t)k) {
        vec v[4];
        UNROLLED for (uint32_t i = 0; i < 4; i++) v[i] = get_position(from, at / 4 + i, k);
        write_piece(v, out, count, 4 * (size_t)k, at, 4, 0, 1);
    }
}

TARGET static void store_64(const vec *from, uint32_t count, uint32_t k, uint64_t mask, char *out) {
    EACH_PIECE(8 * (size_t)k) {
        vec v[2];
        UNROLLED for (uint32_t i = 0; i < 2; i++) v[i] =
            _mm512_and_si512(get_position(from, at / 8 + i, k), _mm512_set1_epi64((int64_t)mask));
        write_piece(v, out, count, 8 * (size_t)k, at, 2, 0, 1);
    }
}

/* Indices in words of 16 bits, whose upper half is a key's. */
TARGET static void store_16_64(const vec *from, uint32_t count, uint32_t k, char *out) {
    enum { sets = 2 };
    const vec low = _mm512_set1_epi64(0xff);
    for (uint32_t i = 0; i < k; i += 8) {
        vec both[2][4];
        __mmask8 here = (__mmask8)(k - i < 8 ? (1u << (k - i)) - 1 : 0xff);
        pairs_16(from, i, k, both);
        UNROLLED for (uint32_t s = 0; s < sets; s++) {
            vec *v = both[s];
            transpose_32(v);
            EACH_ROW(4, _mm512_mask_storeu_epi64(out + 8 * ((size_t)r * k + i), here,
                                                 _mm512_and_si512(_mm512_cvtepu16_epi64(part), low)))
        }
    }
}

TARGET static void store_32_64(const vec *from, uint32_t count, uint32_t k, char *out) {
    enum { sets = 1, s = 0 };
    const __m256i low = _mm256_set1_epi64x(0xffff);
    for (uint32_t i = 0; i < k; i += 4) {
        vec v[4];
        __mmask8 here = (__mmask8)(k - i < 4 ? (1u << (k - i)) - 1 : 0xf);
        UNROLLED for (uint32_t p = 0; p < 4; p++) v[p] = get_position(from, i + p, k);
        transpose_32(v);
        EACH_ROW(4, _mm256_mask_storeu_epi64(out + 8 * ((size_t)r * k + i), here,
                                             _mm256_and_si256(_mm256_cvtepu32_epi64(part), low)))
    }
}

/* ---- keys ---------------------------------------------------------------------------------------------------------- */

/* As sort_lanes.c has them, with compares to masks. */
#define KEYS(B, L)                                                                                \
    TARGET static void keys_##B(vec *v, uint32_t n, const struct key_form *f, vec *again) {       \
        const uint64_t rest = f->inf ? f->all ^ f->top : 0;                                       \
        const vec top = SET_##B(f->top), turn = SET_##B(f->top ^ f->flip), inf = SET_##B(f->inf), \
                  other = SET_##B(rest), last = SET_##B(f->all ^ f->flip);                        \
        const __m128i low = _mm_cvtsi32_si128((int)f->low);                                       \
        vec index = _mm512_setzero_si512(), one = SET_##B(f->low != 0);                           \
        __mmask##L some = 0;                                                                      \
        for (uint32_t i = 0; i < n; i++) {                                                        \
            vec x = _mm512_loadu_si512(v + i), key = _mm512_xor_si512(x, turn);                   \
            if (f->inf) {                                                                         \
                __mmask##L nan = _mm512_cmpgt_epu##B##_mask(_mm512_andnot_si512(top, x), inf);    \
                __mmask##L zero = _mm512_cmpeq_epi##B##_mask(x, top),                             \
                           less = _mm512_test_epi##B##_mask(x, top);                              \
                key = _mm512_xor_si512(key, _mm512_maskz_mov_epi##B(less, other));                \
                key = _mm512_mask_mov_epi##B(_mm512_mask_mov_epi##B(key, nan, last), zero, turn); \
                some |= nan | zero;                                                               \
            }                                                                                     \
            if (f->low) key = _mm512_or_si512(_mm512_sll_epi##B(key, low), index);                \
            index = _mm512_add_epi##B(index, one);                                                \
            _mm512_storeu_si512(v + i, key);                                                      \
        }                                                                                         \
        _mm512_storeu_si512(again, _mm512_maskz_mov_epi##B(some, SET_##B(f->all)));               \
    }
#define SET_16(x) _mm512_set1_epi16((int16_t)(x))
#define SET_32(x) _mm512_set1_epi32((int32_t)(x))
#define SET_64(x) _mm512_set1_epi64((int64_t)(x))
KEYS(16, 32)
KEYS(32, 16)
KEYS(64, 8)

bool cpu_keys_registers(void *lanes, uint32_t n, const struct key_form *f, uint32_t width, void *again) {
    if (width == 1) keys_16(lanes, n, f, again);
    if (width == 2) keys_32(lanes, n, f, again);
    if (width == 3) keys_64(lanes, n, f, again);
    return width;
}

bool cpu_has_sort_registers(void) { return cpu_has_sort_vectors(); }

void cpu_load_registers(const void *x, uint32_t count, uint32_t n, void *lanes, uint32_t bytes,
                        uint32_t lane) {
    bytes == 8   ? load_64(x, count, n, lanes)
    : bytes == 4 ? (lane == 4 ? load_32 : load_32_64)(x, count, n, lanes)
    : bytes == 2 ? (lane == 2 ? load_16 : load_16_32)(x, count, n, lanes)
                 : (lane == 1 ? load_8 : load_8_16)(x, count, n, lanes);
}

void cpu_store_registers(const void *lanes, uint32_t count, uint32_t k, uint64_t mask, void *out,
                         uint32_t lane, uint32_t bytes) {
    lane == 8   ? store_64(lanes, count, k, mask, out)
    : lane == 4 ? (bytes == 4 ? store_32 : store_32_64)(lanes, count, k, out)
    : lane == 2 ? (bytes == 2 ? store_16 : store_16_64)(lanes, count, k, out)
                : store_8(lanes, count, k, out);
}
#else
bool cpu_select_registers(void *lanes, uint32_t n, uint32_t k, uint32_t width) {
    return (void)lanes, (void)n, (void)k, (void)width, false;
}
bool cpu_keys_registers(void *lanes, uint32_t n, const struct key_form *f, uint32_t width, void *again) {
    return (void)lanes, (void)n, (void)f, (void)width, (void)again, false;
}
bool cpu_has_sort_registers(void) { return false; }
void cpu_load_registers(const void *x, uint32_t count, uint32_t n, void *lanes, uint32_t bytes,
                        uint32_t lane) {
    (void)x, (void)count, (void)n, (void)lanes, (void)bytes, (void)lane;
}
void cpu_sort_registers(void *lanes, uint32_t n, uint32_t width) { (void)lanes, (void)n, (void)width; }
void cpu_merge_registers(void *lanes, uint32_t n, uint32_t width) { (void)lanes, (void)n, (void)width; }
void cpu_store_registers(const void *lanes, uint32_t count, uint32_t k, uint64_t mask, void *out,
                         uint32_t lane, uint32_t bytes) {
    (void)lanes, (void)count, (void)k, (void)mask, (void)out, (void)lane, (void)bytes;
}
#endif
