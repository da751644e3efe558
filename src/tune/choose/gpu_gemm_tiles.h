/* gpu_gemm_tiles.h: block tiles of GEMMs (gpu_gemm.c) that may be chosen, by search too. */
#pragma once

struct gemm_tile {
    int m, n, k, wm, wn; /* tile; warps (wgmma: warpgroups) along m and n */
    int occupancy;       /* blocks per SM that the default number of stages should leave room for */
};
#define TILE(m_, n_, k_, wm_, wn_, occupancy_) \
    { .m = (m_), .n = (n_), .k = (k_), .wm = (wm_), .wn = (wn_), .occupancy = (occupancy_) }
/* clang-format off */
/*        m    n   k  wm wn occupancy */
static const struct gemm_tile mma_sync_tiles[] = {
    TILE(128, 256,  32, 2, 4,  1), TILE(128, 128,  32, 2, 2,  2), TILE( 64, 128,  32, 2, 2,  3),
    TILE( 64,  64,  64, 2, 2,  4), TILE( 32,  64,  64, 1, 2,  6), TILE(256, 128,  32, 4, 2,  1),
    TILE(128, 256,  64, 2, 4,  1), TILE(128, 128,  64, 2, 2,  1), TILE(128, 128,  32, 2, 4,  2),
    TILE(128,  64,  32, 2, 2,  3), TILE( 64, 256,  32, 1, 4,  2), TILE( 64, 128,  64, 2, 2,  2),
    TILE( 64,  64,  32, 2, 2,  5), TILE( 64,  32,  64, 2, 1,  6), TILE( 32, 128,  64, 1, 4,  4),
    TILE( 32,  32,  64, 1, 1,  8), TILE( 64,  64, 128, 2, 2,  3), TILE( 32,  64, 128, 1, 2,  4),
    TILE( 16, 128,  64, 1, 4,  5), TILE( 16, 256,  64, 1, 4,  3), TILE( 16,  64, 128, 1, 2,  5),
};
/* n is that of one instruction, unless promotion halves it (wgmma_n). */
static const struct gemm_tile wgmma_tiles[] = {
    TILE(128, 256,  64, 2, 1,  1), TILE(128, 192,  64, 2, 1,  1), TILE(128, 128,  64, 2, 1,  1),
    TILE( 64, 128,  64, 1, 1,  2), TILE( 64,  64,  64, 1, 1,  3), TILE(256, 128,  64, 2, 1,  1),
    TILE(256, 192,  64, 2, 1,  1), TILE(256,  64,  64, 2, 1,  1), TILE(192, 128,  64, 3, 1,  1),
    TILE(192, 192,  64, 3, 1,  1), TILE(128,  64,  64, 2, 1,  2), TILE( 64, 256,  64, 1, 1,  1),
    TILE( 64, 192,  64, 1, 1,  2), TILE(128, 128,  64, 1, 1,  1), TILE(128,  64,  64, 1, 1,  2),
    TILE( 64,  64, 128, 1, 1,  2), TILE(128,  64, 128, 2, 1,  1), TILE( 64, 128, 128, 1, 1,  1),
    TILE(128, 128, 128, 2, 1,  1), TILE(128, 192,  64, 1, 1,  1),
};
static const struct gemm_tile fma_tiles[] = {
    TILE( 64, 128,  16, 2, 2,  3), TILE(128, 256,  16, 2, 4,  1), TILE(128, 128,   8, 4, 2,  2),
    TILE( 64,  64,  16, 2, 2,  4), TILE( 32,  64,  16, 2, 1,  8), TILE(128, 128,  16, 4, 2,  2),
    TILE( 64, 128,   8, 2, 2,  3), TILE( 64, 128,  32, 2, 2,  2), TILE(128,  64,  16, 2, 2,  3),
    TILE(128,  64,  16, 4, 1,  3), TILE(128, 256,   8, 2, 4,  1), TILE(128, 128,  16, 2, 2,  2),
    TILE( 64, 256,  16, 2, 4,  2), TILE( 64,  64,   8, 2, 2,  5), TILE( 64,  64,  32, 2, 2,  3),
    TILE( 32, 128,  16, 2, 2,  5), TILE( 32,  64,  32, 2, 1,  6), TILE( 64,  32,  16, 2, 1,  8),
    TILE( 32,  32,  32, 1, 1, 12), TILE( 16,  64,  32, 1, 2, 12), TILE(256, 128,  16, 4, 2,  1),
};
/* clang-format on */
#undef TILE
