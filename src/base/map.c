/* map.c: a hash map from uint64 to uint64 with open addressing, and the hash functions.
 *
 * Linear probing at no more than three quarters full; keys, values and the `full` bytes are separate
 * arrays, since most probes touch only `full` and one key. There is no removal: maps live in an arena
 * and die with a unit of work. Growth leaves the old arrays in the arena, at most as much again.
 * Tests: tests/unit/base.c (map_*, hash_*). */
#include "internal.h"

/* The finaliser of splitmix64: every bit in reaches every bit out. */
uint64_t hash_u64(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Multiplies to 128 bits and folds: the step of wyhash. */
static uint64_t fold(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 r = (unsigned __int128)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed) {
    const unsigned char *p = data;
    uint64_t h = seed ^ 0xa0761d6478bd642fu, a, b;
    size_t left = n;
    for (; left >= 16; left -= 16, p += 16) {
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        h = fold(a ^ 0xe7037ed1a0b428dbu, b ^ h);
    }
    a = b = 0;
    if (left) memcpy(&a, p, RG_MIN(left, 8));
    if (left > 8) memcpy(&b, p + 8, left - 8);
    h = fold(a ^ 0x8ebc6af09c88c6e3u, b ^ h);
    return fold(h ^ 0x589965cc75374cc3u, (uint64_t)n ^ 0x1d8e4e27c47d124fu);
}

void map_init(struct map *m, struct arena *a) { *m = (struct map){.arena = a}; }

/* The slot that holds `key`, or the empty one where it belongs. cap is not 0. */
static uint32_t find(const struct map *m, uint64_t key) {
    uint32_t mask = m->cap - 1, i = (uint32_t)hash_u64(key) & mask;
    while (m->full[i] && m->key[i] != key) i = (i + 1) & mask;
    return i;
}

static void grow(struct map *m) {
    struct map old = *m;
    if (old.cap > UINT32_MAX / 4) err_throw(m->arena->err, RG_ELIMIT, "a map passed 2^30 entries");
    uint32_t cap = old.cap ? old.cap * 2 : 16;
    uint64_t *key = arena_raw(m->arena, cap * sizeof *key);
    uint64_t *val = arena_raw(m->arena, cap * sizeof *val);
    uint8_t *full = arena_alloc(m->arena, cap);
    *m = (struct map){m->arena, key, val, full, old.n, cap}; /* only now: arena_raw may throw */
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.full[i]) {
            uint32_t j = find(m, old.key[i]);
            m->full[j] = 1;
            m->key[j] = old.key[i];
            m->val[j] = old.val[i];
        }
}

bool map_get(const struct map *m, uint64_t key, uint64_t *val) {
    if (!m->n) return false;
    uint32_t i = find(m, key);
    if (!m->full[i]) return false;
    if (val) *val = m->val[i];
    return true;
}

void map_put(struct map *m, uint64_t key, uint64_t val) {
    if ((uint64_t)(m->n + 1) * 4 > (uint64_t)m->cap * 3) grow(m);
    uint32_t i = find(m, key);
    if (!m->full[i]) {
        m->full[i] = 1;
        m->key[i] = key;
        m->n++;
    }
    m->val[i] = val;
}
