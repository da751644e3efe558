/* sha256.c: SHA-256 as in FIPS 180-4. It names cache entries and guards their content, so it is the
 * real thing and not a fast hash; a kernel's key is a few kilobytes, some tens of microseconds.
 * Tests: tests/unit/base.c (sha256_*, the published vectors). */
#include "internal.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t load_be(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void block(uint32_t h[8], const uint8_t *p) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) w[i] = load_be(p + 4 * i);
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) { /* a .. h stay where they are and change names: a is s[-i mod 8] */
#define S(k) s[((k)-i) & 7]
        uint32_t e1 = rotr(S(4), 6) ^ rotr(S(4), 11) ^ rotr(S(4), 25);
        uint32_t ch = (S(4) & S(5)) ^ (~S(4) & S(6));
        uint32_t t1 = S(7) + e1 + ch + K[i] + w[i];
        uint32_t e0 = rotr(S(0), 2) ^ rotr(S(0), 13) ^ rotr(S(0), 22);
        uint32_t t2 = e0 + ((S(0) & S(1)) ^ (S(0) & S(2)) ^ (S(1) & S(2)));
        S(3) += t1;
        S(7) = t1 + t2; /* the next a */
#undef S
    }
    for (int i = 0; i < 8; i++) h[i] += s[i];
}

void sha256_init(struct sha256 *c) {
    static const uint32_t h0[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(c->h, h0, sizeof h0);
    c->len = 0;
}

void sha256_add(struct sha256 *c, const void *data, size_t n) {
    const uint8_t *p = data;
    size_t have = c->len % 64;
    c->len += n;
    if (have) {
        size_t k = RG_MIN(n, 64 - have);
        memcpy(c->buf + have, p, k);
        p += k, n -= k;
        if (have + k < 64) return;
        block(c->h, c->buf);
    }
    for (; n >= 64; n -= 64, p += 64) block(c->h, p);
    if (n) memcpy(c->buf, p, n);
}

void sha256_end(struct sha256 *c, uint8_t out[32]) {
    uint64_t bits = c->len * 8;
    uint8_t pad[72] = {0x80};
    size_t n = 1 + (119 - c->len % 64) % 64; /* the 0x80 and zeros, up to 56 mod 64 */
    store_be(pad + n, (uint32_t)(bits >> 32));
    store_be(pad + n + 4, (uint32_t)bits);
    sha256_add(c, pad, n + 8);
    for (int i = 0; i < 8; i++) store_be(out + 4 * i, c->h[i]);
}

void sha256_hex(const void *data, size_t n, char out[65]) {
    struct sha256 c;
    uint8_t sum[32];
    sha256_init(&c);
    sha256_add(&c, data, n);
    sha256_end(&c, sum);
    for (int i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[sum[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
    }
    out[64] = 0;
}
