/* threefry.c: random bits as arithmetic of 32-bit words.
 *
 * Counter and key are split into words; twenty rounds of add, rotate, xor; the words are joined to one u64. A user that
 * takes only the low word (a CAST to u32) or the high one (SHR by 32) gets that word by the rules cast_or and shr_or,
 * and what only the other word needed is dead; vectors are of u32.
 * Tests: tests/unit/random.c */
#include "rules/math_build.h"

static val word(struct mb *b, val x, int i) { return cast(b, i ? shr(b, x, 32) : x, DT_U32); }
static val rotated(struct mb *b, val x, int by) { return or_(b, shl(b, x, by), shr(b, x, 32 - by)); }

const uop *math_threefry(struct rw *rw, const uop *n) {
    static const int rotation[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    struct mb mb = math_builder(rw, DT_F32), *b = &mb; /* its integers have 32 bits */
    val k[3] = {word(b, n->src[1], 0), word(b, n->src[1], 1)};
    k[2] = xor_(b, xor_(b, k[0], k[1]), ku(b, THREEFRY_PARITY));
    val x = add(b, word(b, n->src[0], 0), k[0]), y = add(b, word(b, n->src[0], 1), k[1]);
    for (uint32_t i = 0; i < 20; i++) {
        x = add(b, x, y);
        y = xor_(b, rotated(b, y, rotation[i % 8]), x);
        if (i % 4 != 3) continue;
        uint32_t s = i / 4 + 1;
        x = add(b, x, k[s % 3]);
        y = add(b, y, add(b, k[(s + 1) % 3], ku(b, s)));
    }
    return or_(b, cast(b, x, DT_U64), shl(b, cast(b, y, DT_U64), 32));
}
