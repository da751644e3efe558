/* mutate.h: one input made from another by a few random changes: bits, bytes, cuts, repetitions, words that mean something to
 * a reader, pieces of a second input. The same state gives the same input. For tests/unit/analyze_fuzz.c and io_fuzz.c. */
#ifndef RIDGE_TEST_MUTATE_H
#define RIDGE_TEST_MUTATE_H

#include "base/base.h"

struct bytes {
    char *p;
    size_t n;
};
static uint64_t state = 88172645463325252u;
static uint64_t rnd(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t mutate(const struct bytes *seed, const struct bytes *other, char *out, size_t cap,
                     const char *const *words, size_t nwords) {
    size_t n = RG_MIN(seed->n, cap);
    memcpy(out, seed->p, n);
    int times = 1 + (int)(rnd() % 8);
    for (int k = 0; k < times && n; k++) {
        size_t at = rnd() % n, len;
        switch (rnd() % 8) {
        case 0: out[at] ^= (char)(1 << rnd() % 8); break;
        case 1: out[at] = (char)rnd(); break;
        case 2: n = at + 1; break; /* cut */
        case 3:                    /* take out */
            len = least(n - at, rnd() % 64 + 1);
            memmove(out + at, out + at + len, n - at - len);
            n -= len;
            break;
        case 4: /* repeat */
            len = least(least(n - at, rnd() % 256 + 1), cap - n);
            memmove(out + at + len, out + at, n - at);
            n += len;
            break;
        case 5: { /* a word */
            const char *w = words[rnd() % nwords];
            len = RG_MIN(strlen(w), n - at);
            memcpy(out + at, w, len);
            break;
        }
        case 6: /* splice */
            if (!other->n) break;
            len = least(least(rnd() % 512 + 1, other->n), n - at);
            memcpy(out + at, other->p + rnd() % (other->n - len + 1), len);
            break;
        default: /* a run of one byte */
            len = least(n - at, rnd() % 64 + 1);
            memset(out + at, (int)rnd(), len);
        }
    }
    return n;
}

#endif
