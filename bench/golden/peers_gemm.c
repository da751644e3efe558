/* peers_gemm.c: hand-written GEMM and convolution.
 *
 * Matmul: b is packed once into panels of 12 columns, a block of MC x KC of a by each task into panels of 8
 * rows (kept in L2), and the kernel keeps an 8 x 12 tile in 24 registers: 24 FMAs for 5 loads. The
 * bias and gelu are applied when the last block of k is stored.
 * Convolution: implicit GEMM without a copy of the input: a tile is 8 output channels x 3 vectors of 4 pixels
 * of one output row each; the 3 vectors are loaded from the image itself, shifted by the tap, so nothing is
 * gathered; only the weights are packed (8 channels side by side). Tests: `golden --check`. */
#include "peers.h"
#include "vec.h"

enum { MR = 8, NR = 12, KC = 512, MC_MAX = 128 };

struct gemm {
    const float *a, *b, *bias;
    float *out, *bp, *ap; /* packed b; a block of packed a per worker */
    int m, n, k, mc, kc;
};

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

size_t gemm_scratch(int n, int k) {
    return (size_t)ceil_div(n, NR) * NR * (size_t)k + (size_t)PEER_WORKERS * MC_MAX * KC + 64;
}

/* gelu(x) = x / (1 + e^(-2u)), u = 0.79788456 (x + 0.044715 x^3): the tanh form rewritten. */
INLINE vf v_gelu(vf x) {
    vf x2 = v_mul(x, x);
    vf u = v_mul(x, v_fma(v_set(-2 * 0.79788456f), x2, v_set(-2 * 0.79788456f * 0.044715f)));
    return v_div(x, v_add(v_set(1), v_exp(u)));
}

/* ---- packing --------------------------------------------------------------------------------------- */

static void pack_b(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct gemm *g = arg;
    (void)worker;
    for (uint32_t t = t0; t < t1; t++) {
        int j = (int)t * NR, w = RG_MIN(g->n - j, (int)NR);
        const float *src = g->b + j;
        float *dst = g->bp + (size_t)t * NR * (size_t)g->k;
        for (int k = 0; k < g->k; k++, src += g->n, dst += NR) {
            if (w == NR) {
                vf p = v_ld(src), q = v_ld(src + 4), r = v_ld(src + 8);
                v_st(dst, p), v_st(dst + 4, q), v_st(dst + 8, r);
            } else {
                for (int i = 0; i < NR; i++) dst[i] = i < w ? src[i] : 0;
            }
        }
    }
}

/* Rows i .. i+mc of a, columns k0 .. k0+kc, as panels of 8 rows: [mc/8][kc][8]. */
static void pack_a(const struct gemm *g, int i0, int mc, int k0, int kc, float *dst) {
    for (int i = 0; i < mc; i += MR, dst += (size_t)MR * kc) {
        const float *row[MR];
        int h = RG_MIN(mc - i, (int)MR), k = 0;
        for (int r = 0; r < MR; r++) row[r] = g->a + (size_t)(i0 + i + (r < h ? r : 0)) * g->k + k0;
        for (; k + 4 <= kc; k += 4)
            for (int half = 0; half < 2; half++) {
                vf t[4];
                for (int r = 0; r < 4; r++) t[r] = v_ld(row[4 * half + r] + k);
                v_transpose(t);
                for (int r = 0; r < 4; r++) v_st(dst + (size_t)(k + r) * MR + 4 * half, t[r]);
            }
        for (; k < kc; k++)
            for (int r = 0; r < MR; r++) dst[(size_t)k * MR + r] = row[r][k];
    }
}

/* ---- the tile -------------------------------------------------------------------------------------- */

#define TILE_COLUMN(q, b, a0, a1)            \
    c[0][q] = v_fma_lane(c[0][q], b, a0, 0); \
    c[1][q] = v_fma_lane(c[1][q], b, a0, 1); \
    c[2][q] = v_fma_lane(c[2][q], b, a0, 2); \
    c[3][q] = v_fma_lane(c[3][q], b, a0, 3); \
    c[4][q] = v_fma_lane(c[4][q], b, a1, 0); \
    c[5][q] = v_fma_lane(c[5][q], b, a1, 1); \
    c[6][q] = v_fma_lane(c[6][q], b, a1, 2); \
    c[7][q] = v_fma_lane(c[7][q], b, a1, 3)

INLINE void tile_zero(vf c[MR][3]) {
    for (int r = 0; r < MR; r++) c[r][0] = c[r][1] = c[r][2] = v_set(0);
}

/* The next b is loaded while the FMAs of this one run; so one step past the end is read, never used. */
INLINE void tile_product(vf c[MR][3], const float *ap, const float *bp, int kc) {
    vf a0 = v_ld(ap), a1 = v_ld(ap + 4), b0 = v_ld(bp), b1 = v_ld(bp + 4);
    tile_zero(c);
#pragma GCC unroll 1
    for (int k = 0; k < kc; k++) {
        vf b2 = v_ld(bp + 8);
        __builtin_prefetch(ap + 256, 0, 3);
        TILE_COLUMN(0, b0, a0, a1);
        b0 = v_ld(bp + 12);
        TILE_COLUMN(1, b1, a0, a1);
        b1 = v_ld(bp + 16);
        bp += NR, ap += MR;
        TILE_COLUMN(2, b2, a0, a1);
        a0 = v_ld(ap), a1 = v_ld(ap + 4);
    }
}

/* First block of k: there is nothing to add to. Last: bias and gelu. */
enum { TILE_FIRST = 1, TILE_LAST = 2 };

static void tile_full(const struct gemm *g, const float *ap, const float *bp, int kc, float *out, int ld,
                      const float *bias, int flags) {
    vf c[MR][3];
    (void)g;
    for (int r = 0; r < MR; r++) __builtin_prefetch(out + (size_t)r * ld, 1, 3);
    tile_product(c, ap, bp, kc);
    if (!(flags & TILE_FIRST))
        for (int r = 0; r < MR; r++)
            for (int q = 0; q < 3; q++) c[r][q] = v_add(c[r][q], v_ld(out + (size_t)r * ld + 4 * q));
    if ((flags & TILE_LAST) && bias) {
        vf b[3] = {v_ld(bias), v_ld(bias + 4), v_ld(bias + 8)};
        for (int r = 0; r < MR; r++)
            for (int q = 0; q < 3; q++) c[r][q] = v_gelu(v_add(c[r][q], b[q]));
    }
    for (int r = 0; r < MR; r++)
        for (int q = 0; q < 3; q++) v_st(out + (size_t)r * ld + 4 * q, c[r][q]);
}

/* A tile that sticks out of the matrix: computed in a full one beside it. */
static void tile_edge(const struct gemm *g, const float *ap, const float *bp, int kc, int i, int j, int h,
                      int w, int flags) {
    float t[MR * NR] = {0}, bias[NR] = {0};
    for (int c = 0; g->bias && c < w; c++) bias[c] = g->bias[j + c];
    for (int r = 0; !(flags & TILE_FIRST) && r < h; r++)
        for (int c = 0; c < w; c++) t[r * NR + c] = g->out[(size_t)(i + r) * g->n + j + c];
    tile_full(g, ap, bp, kc, t, NR, g->bias ? bias : NULL, flags);
    for (int r = 0; r < h; r++)
        for (int c = 0; c < w; c++) g->out[(size_t)(i + r) * g->n + j + c] = t[r * NR + c];
}

static void gemm_block(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct gemm *g = arg;
    float *ap = g->ap + (size_t)worker * MC_MAX * KC;
    for (uint32_t t = t0; t < t1; t++) {
        int i0 = (int)t * g->mc, mc = RG_MIN(g->m - i0, g->mc);
        for (int k0 = 0; k0 < g->k; k0 += g->kc) {
            int kc = RG_MIN(g->k - k0, g->kc);
            int flags = (k0 ? 0 : TILE_FIRST) | (k0 + kc == g->k ? TILE_LAST : 0);
            pack_a(g, i0, mc, k0, kc, ap);
            for (int j = 0; j < g->n; j += NR) {
                const float *bp = g->bp + (size_t)j * g->k + (size_t)k0 * NR;
                int w = RG_MIN(g->n - j, (int)NR);
                for (int i = 0; i < mc; i += MR) {
                    int h = RG_MIN(mc - i, (int)MR);
                    if (h == MR && w == NR)
                        tile_full(g, ap + (size_t)i * kc, bp, kc, g->out + (size_t)(i0 + i) * g->n + j, g->n,
                                  g->bias ? g->bias + j : NULL, flags);
                    else
                        tile_edge(g, ap + (size_t)i * kc, bp, kc, i0 + i, j, h, w, flags);
                }
            }
        }
    }
}

void peer_matmul(struct pool *pool, const float *a, const float *b, const float *bias, float *out, int m,
                 int n, int k, float *scratch) {
    int panels = ceil_div(n, NR);
    struct gemm g = {.a = a,
                     .b = b,
                     .bias = bias,
                     .out = out,
                     .m = m,
                     .n = n,
                     .k = k,
                     .bp = scratch,
                     .ap = scratch + (size_t)panels * NR * (size_t)k};
    g.mc = m >= 8 * MC_MAX ? MC_MAX : m >= 128 ? 64 : 32;
    g.kc = (ceil_div(k, ceil_div(k, KC)) + 3) & ~3; /* blocks of k of about equal size */
    peer_run(pool, pack_b, &g, (uint32_t)panels, 4);
    peer_run(pool, gemm_block, &g, (uint32_t)ceil_div(m, g.mc), 1);
}

/* ---- convolution ------------------------------------------------------------------------------------ */

struct conv {
    const float *x, *wp;
    float *out;
    struct conv_shape s;
    int oh, ow, taps; /* taps: ci * kh * kw */
};

static void conv_pack(const struct conv *c, const float *w, float *wp) {
    for (int o = 0; o < c->s.co; o += 8)
        for (int t = 0; t < c->taps; t++)
            for (int r = 0; r < 8; r++) *wp++ = w[(size_t)(o + r) * c->taps + t];
}

/* 8 channels at 3 pixels; kw is a constant where it is called for speed. */
INLINE void conv_tile(const struct conv *v, const float *wp, const float *const in[3], float *const out[3],
                      int pixels, int kw) {
    vf c[MR][3];
    const float *p0 = in[0], *p1 = in[1], *p2 = in[2];
    tile_zero(c);
    for (int ci = 0; ci < v->s.ci; ci++) {
        for (int ky = 0; ky < v->s.kh; ky++) {
#pragma GCC unroll 8
            for (int kx = 0; kx < kw; kx++, wp += 8) {
                vf a0 = v_ld(wp), a1 = v_ld(wp + 4);
                vf b0 = v_ld(p0 + kx), b1 = v_ld(p1 + kx), b2 = v_ld(p2 + kx);
                TILE_COLUMN(0, b0, a0, a1);
                TILE_COLUMN(1, b1, a0, a1);
                TILE_COLUMN(2, b2, a0, a1);
                __builtin_prefetch(wp + 256, 0, 3);
            }
            p0 += v->s.w, p1 += v->s.w, p2 += v->s.w;
        }
        int skip = (v->s.h - v->s.kh) * v->s.w;
        p0 += skip, p1 += skip, p2 += skip;
    }
    size_t plane = (size_t)v->oh * v->ow;
    for (int r = 0; r < MR; r++) {
        v_st(out[0] + r * plane, c[r][0]);
        if (pixels > 1) v_st(out[1] + r * plane, c[r][1]);
        if (pixels > 2) v_st(out[2] + r * plane, c[r][2]);
    }
}

/* A task is a few images: the vectors of all of them form one line that is cut in threes. */
enum { CONV_IMAGES = 4 };

static void conv_images(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct conv *v = arg;
    int row = v->ow / 4, image = v->oh * row;
    (void)worker;
    for (uint32_t t = t0; t < t1; t++) {
        int n0 = (int)t * CONV_IMAGES, total = RG_MIN(v->s.n - n0, (int)CONV_IMAGES) * image;
        for (int o = 0; o < v->s.co; o += 8) {
            const float *wp = v->wp + (size_t)o * v->taps;
            for (int p = 0; p < total; p += 3) {
                const float *in[3];
                float *out[3];
                int pixels = RG_MIN(total - p, 3);
                for (int q = 0; q < 3; q++) {
                    int at = p + (q < pixels ? q : 0), n = n0 + at / image, y = at % image / row;
                    int x = at % row * 4;
                    in[q] = v->x + (size_t)n * v->s.ci * v->s.h * v->s.w + (size_t)y * v->s.w + x;
                    out[q] = v->out + (((size_t)n * v->s.co + o) * v->oh + y) * v->ow + x;
                }
                if (v->s.kw == 5)
                    conv_tile(v, wp, in, out, pixels, 5);
                else
                    conv_tile(v, wp, in, out, pixels, v->s.kw);
            }
        }
    }
}

void peer_conv(struct pool *pool, const float *x, const float *w, float *out, struct conv_shape s,
               float *scratch) {
    struct conv v = {.x = x,
                     .wp = scratch,
                     .out = out,
                     .s = s,
                     .oh = s.h - s.kh + 1,
                     .ow = s.w - s.kw + 1,
                     .taps = s.ci * s.kh * s.kw};
    conv_pack(&v, w, scratch);
    peer_run(pool, conv_images, &v, (uint32_t)ceil_div(s.n, CONV_IMAGES), 1);
}
