/* analyze_gpu.c: occupancy, tiles, waves and cache lines against numbers worked out by hand. */
#include "analyze/analyze.h"
#include "test.h"

/* clang-format off */
static const struct {
    const char *gpu;
    int64_t grid;
    int threads, regs;
    int64_t smem;
    int blocks;
    const char *limiter;
    double theoretical;
} cases[] = {
    /* gpu, blocks of the grid, threads, registers, shared memory -> blocks per SM, limiter, occupancy */
    {"A100", 1000000, 256, 32, 0, 8, "warps", 1.0000},
    {"A100", 1000000, 256, 64, 0, 4, "registers", 0.5000},
    {"A100", 1000000, 1024, 64, 0, 1, "registers", 0.5000},
    {"A100", 1000000, 1024, 65, 0, 0, "registers", 0.0000},
    {"A100", 1000000, 32, 32, 0, 32, "blocks", 0.5000},
    {"A100", 1000000, 64, 128, 0, 8, "registers", 0.2500},
    {"A100", 1000000, 128, 255, 0, 2, "registers", 0.1250},
    {"A100", 1000000, 256, 40, 49152, 3, "shared memory", 0.3750},
    {"A100", 1000000, 128, 32, 100000, 1, "shared memory", 0.0625},
    {"A100", 1000000, 33, 32, 0, 32, "warps", 1.0000},
    {"H200", 132, 384, 168, 213188, 1, "registers", 0.1875},
    {"H200", 1000000, 384, 168, 188636, 1, "registers", 0.1875},
    {"H200", 1000000, 128, 246, 81920, 2, "registers", 0.1250},
    {"H200", 1000000, 128, 168, 122880, 1, "shared memory", 0.0625},
    {"H200", 1000000, 128, 32, 0, 16, "warps", 1.0000},
    {"H200", 32, 512, 48, 144, 2, "grid", 0.5000},
    {"H200", 1000000, 256, 32, 4224, 8, "warps", 1.0000},
    {"H200", 1000000, 512, 32, 2064, 4, "warps", 1.0000},
    {"H200", 1000000, 96, 80, 1000, 8, "registers", 0.3750},
    {"H200", 66, 1024, 32, 0, 2, "grid", 1.0000},
    {"V100", 1000000, 256, 32, 0, 8, "warps", 1.0000},
    {"V100", 1000000, 256, 32, 8192, 8, "warps", 1.0000},
    {"V100", 1000000, 64, 37, 12288, 8, "shared memory", 0.2500},
    {"V100", 1000000, 1024, 33, 0, 1, "registers", 0.5000},
    {"V100", 1000000, 32, 24, 0, 32, "blocks", 0.5000},
    {"V100", 80, 128, 64, 0, 8, "grid", 0.5000},
    {"RTX 4090", 1000000, 256, 32, 0, 6, "warps", 1.0000},
    {"RTX 4090", 1000000, 32, 16, 0, 24, "blocks", 0.5000},
    {"RTX 4090", 1000000, 128, 96, 16384, 5, "registers", 0.4167},
    {"RTX 4090", 1000000, 768, 42, 0, 1, "registers", 0.5000},
    {"RTX 4090", 1000000, 1024, 32, 0, 1, "warps", 0.6667},
    {"RTX 4090", 1000000, 48, 32, 2000, 24, "warps", 1.0000},
    {"Tesla T4", 1000000, 256, 32, 0, 4, "warps", 1.0000},
    {"Tesla T4", 1000000, 32, 32, 0, 16, "blocks", 0.5000},
    {"Tesla T4", 1000000, 64, 72, 4096, 14, "registers", 0.8750},
    {"Tesla T4", 1000000, 512, 128, 0, 1, "registers", 0.5000},
    {"A10", 1000000, 64, 32, 0, 16, "blocks", 0.6667},
    {"A10", 1000000, 128, 128, 0, 4, "registers", 0.3333},
    {"A10", 1000000, 256, 48, 50000, 2, "shared memory", 0.3333},
    {"A10", 20, 96, 40, 0, 16, "grid", 1.0000},
};
/* clang-format on */

TEST(analyze_occupancy_of_40_cases) {
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        const struct gpu_spec *g = gpu_spec_find(cases[i].gpu);
        CHECK(g != NULL);
        struct occupancy o = gpu_occupancy(g, cases[i].grid, cases[i].threads, cases[i].regs, cases[i].smem);
        if (o.blocks != cases[i].blocks || strcmp(o.limiter, cases[i].limiter))
            FAIL("%s %d threads, %d registers, %lld bytes: %d blocks by %s, expected %d by %s", cases[i].gpu,
                 cases[i].threads, cases[i].regs, (long long)cases[i].smem, o.blocks, o.limiter,
                 cases[i].blocks, cases[i].limiter);
        CHECK_NEAR(o.theoretical, cases[i].theoretical, 1e-4);
    }
    TEST_COUNT(RG_COUNT(cases), "occupancy cases");
}

TEST(analyze_occupancy_of_what_cannot_run) {
    const struct gpu_spec *g = gpu_spec_find("H200");
    CHECK_EQ(gpu_occupancy(g, 1, 0, 32, 0).blocks, 0);
    CHECK_EQ(gpu_occupancy(g, 1, 2048, 32, 0).blocks, 0);
    CHECK_EQ(gpu_occupancy(g, 1, 128, 32, 1 << 20).blocks, 0);
    CHECK_STR(gpu_occupancy(g, 1000, 128, 32, 1 << 20).limiter, "shared memory");
}

TEST(analyze_waves_and_tail) {
    const struct gpu_spec *g = gpu_spec_find("A100");
    /* 8 blocks on each of 108 SMs: 864 at once; 1000 blocks are one whole wave and a part. */
    struct occupancy o = gpu_occupancy(g, 1000, 256, 32, 0);
    CHECK_NEAR(o.waves, 1000.0 / 864, 1e-9);
    CHECK_NEAR(o.tail, 0.5, 1e-9);
}

TEST(analyze_tiles_of_a_product) {
    struct tiling t = gpu_tiling(1792, 1792, 256, 128, 1, 108);
    CHECK_EQ(t.tiles, 98);
    CHECK_EQ(t.waves, 1);
    CHECK_NEAR(t.waste, 1 - 98.0 / 108, 1e-12);
    t = gpu_tiling(1793, 1793, 256, 128, 1, 108);
    CHECK_EQ(t.tiles, 120);
    CHECK_EQ(t.waves, 2);
    CHECK_NEAR(t.tail, 1 - 120.0 / 216, 1e-12);
    t = gpu_tiling(64, 64, 64, 64, 10, 4);
    CHECK_EQ(t.tiles, 10);
    CHECK_EQ(t.waves, 3);
    CHECK_EQ(gpu_tiling(0, 5, 1, 1, 1, 1).tiles, 0);
    CHECK_EQ(gpu_tiling(INT64_MAX, 1 << 30, 128, 128, 1, 108).tiles, 0);
    CHECK_EQ(gpu_tiling((int64_t)1 << 43, (int64_t)1 << 43, 16, 16, (int64_t)1 << 43, 108).tiles, 0);
}

TEST(analyze_cache_lines_of_a_tile) {
    CHECK_EQ(gpu_lines_touched(12, 4, 4, 4), 4);
    CHECK_EQ(gpu_lines_touched(13, 4, 4, 4), 7);
    /* Against counting every element. */
    for (int64_t pitch = 1; pitch < 40; pitch++)
        for (int64_t cols = 1; cols <= pitch; cols++)
            for (int64_t line = 1; line < 20; line++) {
                static uint8_t seen[1024];
                memset(seen, 0, sizeof seen);
                int64_t n = 0;
                for (int64_t i = 0; i < 5; i++)
                    for (int64_t k = 0; k < cols; k++)
                        if (!seen[(i * pitch + k) / line]++) n++;
                CHECK_EQ(gpu_lines_touched(pitch, 5, cols, line), n);
            }
}

TEST(analyze_gpu_table_is_sane) {
    for (size_t i = 0; gpu_spec_at(i); i++) {
        const struct gpu_spec *g = gpu_spec_at(i);
        CHECK(g->sms > 10 && g->bw > 100 && g->peak[GPU_F16] >= g->peak[GPU_F32]);
        CHECK(g->got <= g->peak[GPU_F16] && g->bw_got <= g->bw);
        CHECK(gpu_spec_find(g->name) == g);
    }
    CHECK_STR(gpu_spec_find("NVIDIA H200")->name, "H200");
    CHECK_STR(gpu_spec_find("NVIDIA A100-SXM4-80GB")->name, "A100-SXM4-80GB");
    CHECK_STR(gpu_spec_find("NVIDIA GeForce RTX 4090")->name, "RTX 4090");
    CHECK_STR(gpu_spec_find("Tesla V100-SXM2-16GB")->name, "V100");
    CHECK_STR(gpu_spec_find("AMD Instinct MI300X")->name, "MI300X");
    CHECK_STR(gpu_spec_find("NVIDIA L4")->name, "L4");
    CHECK_STR(gpu_spec_find("NVIDIA L40S")->name, "L40S");
    CHECK(!gpu_spec_find("Voodoo 2"));
}
