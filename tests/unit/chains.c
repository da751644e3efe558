/* Whole random programs on the interpreted devices against the oracle (tests/chains.h), and small ones that such programs were
 * shrunk to. SIMCPU has the plans, opts and linear programs of this machine's CPU; SIM90 those of an H200, SIM90S of 4 of its SMs.
 * `make fuzz` draws more (SEED, SEEDS; DEVICE: one of them, or CPU). */
#include "chains.h"
#include "simcase.h"

static void draw_chains(const char *device, uint64_t seed, int n, int64_t elements) {
    simgpu_add();
    for (int i = 0; i < n; i++) {
        struct chain_want w = {.seed = seed + (uint64_t)i, .output = -1, .elements = elements};
        if (chain_run(&w, device))
            FAIL("seed %llu: %s", (unsigned long long)w.seed, chain_shrink(&w, device));
    }
    TEST_COUNT(n, "programs");
}

TEST(chains_CPU) { draw_chains("SIMCPU", 1, 24, 256); }
TEST(chains_SIM90) { draw_chains("SIM90", 101, 24, 256); }
TEST(chains_SIM90S) { draw_chains("SIM90S", 201, 12, 256); }

TEST_MANUAL(chains_fuzz, 3000) {
    const char *seed = getenv("SEED"), *seeds = getenv("SEEDS"), *device = getenv("DEVICE");
    static const char *const all[] = {"SIMCPU", "SIM90", "SIM90S", "SIM80", "SIM100"};
    uint64_t from = seed ? strtoull(seed, NULL, 10) : 1;
    int n = seeds ? atoi(seeds) : 500;
    for (size_t i = 0; i < (device ? 1 : RG_COUNT(all)); i++)
        draw_chains(device ? device : all[i], 1000 * from + 1000000 * i, n, 0);
}

/* ---- what they found ------------------------------------------------------------------------------------------ */

typedef rg_tensor small_fn(rg_ctx *c);

static void check_small(small_fn *fn, const char *name) {
    static const char *const device[] = {"REF", "SIMCPU", "SIM90", "SIM90S"};
    double want[1024], got[1024];
    simgpu_add();
    for (size_t d = 0; d < RG_COUNT(device); d++) {
        rg_ctx *c = rg_open(device[d]);
        rg_tensor y = rg_cast(fn(c), RG_F64);
        size_t n = (size_t)RG_MAX(rg_size(y), 0);
        CHECK(n <= RG_COUNT(want));
        if (rg_read(y, d ? got : want, n * sizeof *got)) FAIL("%s on %s: %s", name, device[d], rg_error(c));
        for (size_t i = 0; i < n && d; i++)
            if (got[i] != want[i])
                FAIL("%s on %s: element %zu is %.9g, expected %.9g", name, device[d], i, got[i], want[i]);
        rg_close(c);
    }
}
#define SMALL(fn) check_small(fn, #fn)

static rg_tensor numbers(rg_ctx *c, rg_dtype dt, int64_t n) {
    rg_tensor x = rg_cast(rg_mod(rg_mul(rg_arange(c, RG_I64, 0, (double)n, 1), 7), 11), dt);
    rg_realize(x);
    return x;
}

/* What is added repeats together with its indices: each time counts. */
static rg_tensor repeated_sums(rg_ctx *c) {
    rg_tensor x = numbers(c, RG_I16, 4), i = rg_mod(numbers(c, RG_I64, 4), 4);
    return rg_scatter_add(x, 0, rg_repeat(i, RG_INTS(2)), rg_repeat(x, RG_INTS(2)));
}
static rg_tensor doubled_sums(rg_ctx *c) {
    rg_tensor x = numbers(c, RG_F32, 12), i = rg_mod(numbers(c, RG_I64, 12), 5);
    return rg_scatter_add(numbers(c, RG_F32, 5), 0, rg_repeat_interleave(i, 3, 0),
                          rg_repeat_interleave(x, 3, 0));
}
static rg_tensor tiled_sums(rg_ctx *c) {
    rg_tensor x = numbers(c, RG_F32, 32), i = rg_mod(numbers(c, RG_I64, 32), 7);
    return rg_scatter_reduce(numbers(c, RG_F32, 7), 0, rg_repeat(i, RG_INTS(6)), rg_repeat(x, RG_INTS(6)),
                             .how = RG_COMBINE_SUM, .exclude_self = true);
}

static rg_tensor sums_of_others(rg_ctx *c) {
    rg_tensor i = rg_mod(numbers(c, RG_I64, 3), 3);
    return rg_scatter_add(numbers(c, RG_BF16, 3), 0, rg_repeat(i, RG_INTS(2)), numbers(c, RG_BF16, 6));
}

TEST(chains_repeated_scatters) {
    SMALL(sums_of_others);
    SMALL(repeated_sums);
    SMALL(doubled_sums);
    SMALL(tiled_sums);
}

/* An index is computed from sums, and picks from the same sums; with a sum over all of it. */
static rg_tensor own_sums(rg_ctx *c) {
    rg_tensor y = rg_sum(rg_reshape(numbers(c, RG_F32, 24), RG_SHAPE(4, 6)), RG_AXES(0));
    return rg_take(y, 0, rg_mod(rg_cast(y, RG_I64), 6));
}
static rg_tensor sum_of_picks(rg_ctx *c) {
    rg_tensor y = rg_sum(rg_reshape(numbers(c, RG_F32, 24), RG_SHAPE(4, 6)), RG_AXES(0));
    rg_tensor i = rg_mod(rg_cast(y, RG_I64), 6), j = rg_mod(rg_cast(rg_take(y, 0, i), RG_I64), 6);
    return rg_sum(rg_take(y, 0, j));
}

static rg_tensor picked_argmins(rg_ctx *c) {
    rg_tensor y = rg_argmin(rg_reshape(numbers(c, RG_U8, 21), RG_SHAPE(3, 7)), RG_AXES(0));
    rg_tensor i = rg_sum(rg_lt(rg_reshape(numbers(c, RG_I32, 21), RG_SHAPE(7, 3)), 5), RG_AXES(1));
    return rg_gather(y, 0, rg_mod(i, 7));
}

TEST(chains_sums_at_their_own_indices) {
    SMALL(picked_argmins);
    SMALL(own_sums);
    SMALL(sum_of_picks);
}

/* Parts of a tensor whose rows are no multiple of what is stored in them, in pieces. */
static rg_tensor stored_pieces(rg_ctx *c) {
    rg_tensor x = rg_contiguous(rg_reshape(numbers(c, RG_F32, 605), RG_SHAPE(5, 11, 11)));
    rg_tensor v = numbers(c, RG_F32, 2);
    rg_realize(x);
    v = rg_reshape(rg_repeat(rg_add(v, 1), RG_INTS(4)), RG_SHAPE(2, 4, 1));
    rg_assign_slice(x, v, RG_SLICES(RG_RANGE(3, 5), RG_STEP(0, 8, 2), RG_RANGE(8, 9)));
    return x;
}

TEST(chains_stores_of_pieces) { SMALL(stored_pieces); }

/* An index of 60 steps, each of which reads the one before twice: the program is planned by its nodes, not by its paths. */
static rg_tensor long_index(rg_ctx *c) {
    rg_tensor x = numbers(c, RG_F32, 96), i = numbers(c, RG_I64, 300);
    for (int k = 0; k < 60; k++)
        i = rg_where(rg_lt(i, 40 + k), rg_add(i, 3), rg_sub(rg_bitwise_xor(i, 5), 2));
    return rg_sum(rg_reshape(rg_take(x, 0, rg_mod(i, 96)), RG_SHAPE(3, 100)), RG_AXES(1));
}

TEST(chains_shared_steps_of_an_index) { SMALL(long_index); }
