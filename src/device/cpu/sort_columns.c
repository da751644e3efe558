/* sort_columns.c: columns are lanes of the sorting network as they lie (sort_lanes.c): a part of a row is a vector of lanes.
 *
 * Rows are far apart, often in pages of their own: what a grid iteration takes of one is loaded at once, with the lines of a later row
 * asked for, and stored at once.
 * Tests: tests/unit/call.c */
#include "device/cpu/internal.h"

enum { VECTOR = 64, AHEAD = 8 }; /* bytes of lanes for one position; rows */
#define LANES(W) ((uint32_t)(VECTOR / sizeof(W)))

/* Lanes without a column take the last one. */
#define LOAD(U, W)                                                                                 \
    static void load_##U##_##W(const char *x, size_t step, uint32_t columns, uint32_t n, char *to, \
                               size_t each) {                                                      \
        for (uint32_t i = 0; i < n; i++, x += step, to += VECTOR) {                                \
            char *v = to;                                                                          \
            for (size_t at = 0; at < columns * sizeof(U) && i + AHEAD < n; at += VECTOR)           \
                __builtin_prefetch(x + AHEAD * step + at);                                         \
            for (uint32_t c = 0; c < columns; c += LANES(W), v += each) {                          \
                U row[LANES(W)];                                                                   \
                W wide[LANES(W)];                                                                  \
                uint32_t count = RG_MIN(LANES(W), columns - c);                                    \
                if (count == LANES(W))                                                             \
                    memcpy(row, x + c * sizeof(U), sizeof row);                                    \
                else                                                                               \
                    memcpy(row, x + c * sizeof(U), count * sizeof(U));                             \
                for (uint32_t l = count; l < LANES(W); l++) row[l] = row[count - 1];               \
                for (uint32_t l = 0; l < LANES(W); l++) wide[l] = row[l];                          \
                memcpy(v, wide, sizeof wide);                                                      \
            }                                                                                      \
        }                                                                                          \
    }
LOAD(uint8_t, uint8_t)
LOAD(uint16_t, uint16_t)
LOAD(uint32_t, uint32_t)
LOAD(uint64_t, uint64_t)
LOAD(uint8_t, uint16_t)
LOAD(uint16_t, uint32_t)
LOAD(uint32_t, uint64_t)

void cpu_load_columns(const struct lane_sort *s, uint32_t columns, char *lanes, size_t each, uint32_t lane) {
    static void (*const load[2][4])(const char *, size_t, uint32_t, uint32_t, char *, size_t) = {
        {load_uint8_t_uint8_t, load_uint16_t_uint16_t, load_uint32_t_uint32_t, load_uint64_t_uint64_t},
        {load_uint8_t_uint16_t, load_uint16_t_uint32_t, load_uint32_t_uint64_t, load_uint64_t_uint64_t}};
    load[lane > s->bytes][__builtin_ctz(s->bytes)](s->x, s->pitch * s->bytes, columns, s->n, lanes, each);
}

static void store_elements(const char *from, size_t each, size_t bytes, size_t step, uint32_t k, char *out) {
    for (uint32_t i = 0; i < k; i++, from += VECTOR, out += step) {
        const char *v = from;
        size_t at = 0;
        for (; at + VECTOR <= bytes; at += VECTOR, v += each) memcpy(out + at, v, VECTOR);
        if (at < bytes) memcpy(out + at, v, bytes - at);
    }
}

#define STORE(W)                                                                                     \
    static void store_##W(const char *from, size_t each, uint32_t columns, size_t pitch, uint32_t k, \
                          uint64_t mask, int64_t *out) {                                             \
        for (uint32_t i = 0; i < k; i++, from += VECTOR, out += pitch) {                             \
            const char *v = from;                                                                    \
            for (uint32_t c = 0; c < columns; c += LANES(W), v += each) {                            \
                W word[LANES(W)];                                                                    \
                uint32_t count = RG_MIN(LANES(W), columns - c);                                      \
                memcpy(word, v, sizeof word);                                                        \
                for (uint32_t l = 0; l < count; l++) out[c + l] = (int64_t)(word[l] & mask);         \
            }                                                                                        \
        }                                                                                            \
    }
STORE(uint16_t)
STORE(uint32_t)
STORE(uint64_t)

void cpu_store_columns(const struct lane_sort *s, uint32_t columns, const char *lanes, size_t each,
                       uint64_t mask, uint32_t lane) {
    if (!s->indices)
        store_elements(lanes, each, (size_t)columns * s->bytes, s->pitch * s->bytes, s->k, s->out);
    else
        (lane == 2   ? store_uint16_t
         : lane == 4 ? store_uint32_t
                     : store_uint64_t)(lanes, each, columns, s->pitch, s->k, mask, s->out);
}

void cpu_copy_column(const void *from, size_t from_step, void *to, size_t to_step, uint32_t n,
                     uint32_t bytes) {
    const char *x = from;
    char *y = to;
    for (uint32_t i = 0; i < n; i++, x += from_step, y += to_step) memcpy(y, x, bytes);
}
