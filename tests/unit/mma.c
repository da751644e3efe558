/* Tests of src/ir/mma.c: the layouts of MMA instructions. That products computed with them are right: gpu_threads.c. */
#include "test.h"

#include "ir/ir.h"

/* Each element of each operand is held by exactly one lane's register. */
TEST(mma_maps_cover) {
    for (int i = 0; i < MMA_COUNT; i++)
        for (unsigned operand = 0; operand < 3; operand++) {
            const struct mma_info *info = &mma_info[i];
            struct mma_map map = mma_map((enum mma)i, operand);
            int lanes = (int)mma_lanes((enum mma)i);
            if (!*info->map[operand]) continue; /* in shared memory */
            int y = operand == MMA_B ? MMA_K : MMA_M, x = operand == MMA_A ? MMA_K : MMA_N;
            static uint8_t seen[64][256];
            memset(seen, 0, sizeof seen);
            CHECK_EQ((int)map.regs * lanes, info->size[y] * info->size[x]);
            for (unsigned lane = 0; (int)lane < lanes; lane++)
                for (unsigned r = 0; r < map.regs; r++) {
                    int at[3];
                    mma_element(&map, lane, r, at);
                    CHECK(at[y] < info->size[y] && at[x] < info->size[x] && !seen[at[y]][at[x]]);
                    seen[at[y]][at[x]] = 1;
                }
        }
    /* the layout of the PTX manual for m16n8k16: some elements, copied from its figures */
    struct mma_map a = mma_map(MMA_BF16, MMA_A), b = mma_map(MMA_BF16, MMA_B), d = mma_map(MMA_BF16, MMA_D);
    int at[3];
    mma_element(&a, 5, 3, at); /* a3: row 1 + 8, column 2 + 1 */
    CHECK(at[MMA_M] == 9 && at[MMA_K] == 3);
    mma_element(&a, 31, 6, at);
    CHECK(at[MMA_M] == 15 && at[MMA_K] == 14);
    mma_element(&b, 6, 2, at); /* b2: row 4 + 8, column 1 */
    CHECK(at[MMA_K] == 12 && at[MMA_N] == 1);
    mma_element(&d, 30, 3, at); /* c3: row 7 + 8, column 5 */
    CHECK(at[MMA_M] == 15 && at[MMA_N] == 5);
    struct mma_map g = mma_map(MMA_WBF16_128, MMA_D); /* m64n128: lane 101 is lane 5 of warp 3; d[4*7 + 2] */
    mma_element(&g, 101, 30, at);
    CHECK(at[MMA_M] == 3 * 16 + 1 + 8 && at[MMA_N] == 8 * 7 + 2);
}
