/* Attention on the simulated GPU (tests/simcase.h): head sizes, masks, biases, groups, forms, decoding. */
#include "simcase.h"

/* Head sizes that are padded to whole panels: wgmma in all kernels. */
TEST_SLOW(simgpu_attention_head_sizes, 300) {
    const struct sim_case s[] = {
        {"attention bf16 80 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_BF16, 1, 1, 64, 64, 80)}, .most = 3e-2},
        {"attention f16 40", .fn = attention, .in = {QKV(RG_F16, 1, 1, 40, 70, 40)}, .most = 1e-2},
        {"attention bf16 136", .fn = attention, .in = {QKV(RG_BF16, 1, 1, 64, 64, 136)}, .most = 2e-2},
        {"attention bf16 192 grads", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 1, 1, 64, 80, 192)},
         .most = 3e-2},
        {"attention bf16 200", .fn = attention, .in = {QKV(RG_BF16, 1, 1, 64, 64, 200)}, .most = 2e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(8, 8, 8, 0); /* dK and dV of heads of 192 are a kernel each: their sums would take all registers */
}

/* Heads of 136 to 256, whose dK and dV are kernels of their own: a tile of padded heads or keys is read by two GEMMs, and row statistics
 * that threads read are pipelined, through more blocks than there are stages if rows are whole blocks. */
static struct sim_case draw_wide_heads(struct sim_draw *d, int mask, char name[64]) {
    bool whole = mask == PLAIN;
    int64_t w = 8 * draw(d, 17, whole ? 24 : 32), t = whole ? 192 : draw(d, 129, 150),
            u = mask == MASKED ? draw(d, 129, 150) : t;
    struct sim_case s = {.name = name,
                         .fn = attention,
                         .n = {mask},
                         .grads = true,
                         .most = 6e-2,
                         .in = {QKV(RG_BF16, 1, 1, t, u, w), {RG_F32, {t, u}}}};
    if (mask != MASKED) s.in[3].d[0] = 0;
    snprintf(name, 64, "%lld over %lld keys of %lld, %s", (long long)t, (long long)u, (long long)w,
             mask == MASKED   ? "masked"
             : mask == CAUSAL ? "causal"
                              : "no mask");
    return s;
}

/* SEED and SEEDS choose others. */
TEST_SLOW(simgpu_attention_wide_heads, 600) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    unsigned n = getenv("SEEDS") ? (unsigned)strtoull(getenv("SEEDS"), NULL, 10) : 1;
    for (uint64_t i = 0; i < 3 * n; i++) {
        struct sim_draw d = {first + i / 3};
        char name[64];
        d.s += i % 3 * 1000;
        struct sim_case s = draw_wide_heads(&d, (int)(i % 3), name);
        check_all(&s, 1, "SIM90");
    }
    say(15 * n, 15 * n, 15 * n, 4 * n); /* forward, for the result alone, too; dQ, dK and dV */
}

/* As many keys as columns, of which no pass over the keys is one over the columns. */
TEST_SLOW(simgpu_attention_of_square_keys, 300) {
    struct sim_draw d = {1};
    for (int mask = PLAIN; mask <= MASKED; mask++) {
        int64_t w = 8 * draw(&d, 4, 12), t = draw(&d, 40, 90);
        struct sim_case s = {.name = "keys as columns",
                             .fn = attention,
                             .n = {mask},
                             .grads = true,
                             .most = 6e-2,
                             .in = {QKV(RG_BF16, 2, 2, mask == CAUSAL ? w : t, w, w), {RG_F32, {t, w}}}};
        if (mask != MASKED) s.in[3].d[0] = 0;
        check_all(&s, 1, mask == CAUSAL ? "CPU SIM90" : "SIM90"); /* there all three are squares */
    }
    say(12, 12, 12, 0);
}

/* Heads side by side, multiplied: stored in the order in which the product reads them. n: rows of a batch are one axis. */
static rg_tensor projected(const struct sim_case *s, rg_ctx *c, const rg_tensor *in) {
    int64_t b = s->in[0].d[0], h = s->in[0].d[1], t = s->in[0].d[2], w = s->in[0].d[3];
    rg_tensor y = rg_transpose(attention(s, c, in), 1, 2);
    return rg_matmul(rg_reshape(y, RG_SHAPE(b * t, h * w)), in[3]);
}

TEST_SLOW(simgpu_attention_projected, 300) {
    const struct sim_case s[] = {
        {"heads by a matrix", .fn = projected,
         .in = {{RG_BF16, {2, 3, 70, 64}},
                {RG_BF16, {2, 3, 70, 64}},
                {RG_BF16, {2, 3, 70, 64}},
                {RG_BF16, {192, 40}}},
         .most = 3e-2},
        {"heads by a matrix, causal", .fn = projected, .n = {CAUSAL},
         .in = {{RG_BF16, {1, 2, 140, 64}},
                {RG_BF16, {1, 2, 140, 64}},
                {RG_BF16, {1, 2, 140, 64}},
                {RG_BF16, {128, 40}}},
         .most = 3e-2},
        {"heads by a matrix, f32", .fn = projected,
         .in = {{RG_F32, {2, 3, 21, 16}},
                {RG_F32, {2, 3, 21, 16}},
                {RG_F32, {2, 3, 21, 16}},
                {RG_F32, {48, 24}}},
         .most = 5e-5},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(2, 2, 2, 0);
}

/* No streaming form: GEMMs and a softmax over stored scores. */
TEST_SLOW(simgpu_attention_plain, 300) {
    const struct sim_case s[] = {
        {"attention f32 128 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 180, 190, 128)}, .most = 5e-5},
        {"attention f32 groups masked", .fn = attention, .n = {MASKED},
         .in = {QKV(RG_F32, 2, 1, 130, 170, 100), {RG_F32, {130, 170}}}, .most = 5e-5},
    };
    unsigned before = simgpu_count.launches;
    check_all(s, RG_COUNT(s), "SIM90");
    CHECK(simgpu_count.launches - before > 12); /* not one kernel each */
}

/* Bytes between kernels of attention with gradients, T queries and keys; planned only. */
static int64_t attention_scratch(rg_ctx *c, int64_t t, bool is_causal) {
    RG_SCOPE(c);
    rg_plan_stats s = {0};
    rg_tensor x[3], g[3];
    float *zeros = calloc((size_t)t * 64, sizeof *zeros);
    for (int i = 0; i < 3; i++) x[i] = rg_from(c, RG_F32, zeros, RG_SHAPE(1, 1, t, 64));
    free(zeros);
    rg_tensor y = rg_attention(x[0], x[1], x[2], .causal = is_causal);
    if (rg_grad(rg_sum(rg_square(y)), RG_ARRAY(x, 3), g)) FAIL("%s", rg_error(c));
    if (rg_schedule_stats(RG_TENSORS(y, g[0], g[1], g[2]), &s)) FAIL("%s", rg_error(c));
    return s.scratch;
}

/* Scores above the limit: blocks of queries, computed again for the gradient. */
TEST_SLOW(simgpu_attention_blocks, 300) {
    const struct sim_case s[] = {
        {"attention f32 128 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 180, 190, 128)}, .most = 5e-5},
        {"attention f32 groups masked", .fn = attention, .n = {MASKED},
         .in = {QKV(RG_F32, 2, 1, 130, 170, 100), {RG_F32, {130, 170}}}, .most = 5e-5},
    };
    setenv("RIDGE_SCORES", "0", 1);
    env_reload();
    check_all(s, RG_COUNT(s), "SIM90");
    setenv("RIDGE_SCORES", "4", 1);
    env_reload();
    rg_ctx *c = rg_open("SIM90");
    for (int is_causal = 0; is_causal < 2; is_causal++) {
        int64_t once = attention_scratch(c, 2048, is_causal), twice = attention_scratch(c, 4096, is_causal);
        TEST_INFO("%lld and %lld bytes between kernels", (long long)once, (long long)twice);
        CHECK(twice < (int64_t)4096 * 4096 * 4 / 2 && twice < 3 * once);
    }
    rg_close(c);
    unsetenv("RIDGE_SCORES");
    env_reload();
}

/* Heads of q that share keys: dK and dV are tensor-core kernels too. */
TEST_SLOW(simgpu_attention_groups, 300) {
    const struct sim_case s[] = {
        {"attention bf16 groups grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_BF16, 2, 1, 72, 72, 64)}, .most = 6e-2},
        {"attention bf16 groups grads, all keys", .fn = attention, .grads = true,
         .in = {QKV(RG_BF16, 4, 2, 136, 136, 64)}, .most = 6e-2},
        {"attention f32 groups grads", .fn = attention, .grads = true, .in = {QKV(RG_F32, 6, 2, 19, 23, 8)},
         .most = 5e-5},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(12, 12, 12, 0);
}

TEST_SLOW(simgpu_attention, 300) {
    const struct sim_case s[] = {
        {"attention f32", .fn = attention, .grads = true, .in = {QKV(RG_F32, 2, 2, 24, 24, 16)},
         .most = 5e-5},
        {"attention masked", .fn = attention, .n = {MASKED}, .grads = true,
         .in = {QKV(RG_F32, 2, 2, 20, 28, 16), {RG_F32, {20, 28}}}, .most = 5e-5},
        {"attention odd causal", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 37, 37, 24)}, .most = 5e-5},
        {"attention grouped bf16", .fn = attention, .n = {GROUPED}, .in = {QKV(RG_BF16, 4, 2, 64, 64, 64)},
         .most = 2e-2},
        {"attention bf16 grads", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_BF16, 1, 1, 64, 64, 64)}, .most = 6e-2},
        {"attention bf16 odd", .fn = attention, .in = {QKV(RG_BF16, 2, 2, 70, 90, 64)}, .most = 2e-2},
        {"attention f16 128", .fn = attention, .n = {CAUSAL}, .in = {QKV(RG_F16, 1, 1, 64, 64, 128)},
         .most = 1e-2},
        {"attention of few", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F16, 2, 1, 29, 29, 40)}, .most = 4e-2},
    };
    check_all(s, 3, "SIM80 SIM90"); /* of floats */
    check_all(s + 3, RG_COUNT(s) - 3, "SIM80 SIM90S");
    say(2, 2, 2, 0);
}

/* A number for each score, in rows of any length: a tile in shared memory beside those of keys and values. */
TEST_SLOW(simgpu_attention_bias, 300) {
    for (uint64_t i = 0; i < 6; i++) {
        struct sim_draw d = {70 + i};
        rg_dtype dt = i % 2 ? RG_F16 : RG_BF16;
        int64_t t = draw(&d, 70, 190), u = i % 3 ? draw(&d, 90, 200) : t, w = i % 3 == 1 ? 128 : 64,
                h = 1 + i % 2;
        char name[80];
        struct sim_case s = {.name = name,
                             .fn = attention,
                             .n = {i == 4 ? MASKED : BIASED},
                             .grads = i % 2 == 0 && i < 4,
                             .in = {{dt, {1, h, t, w}},
                                    {dt, {1, h, u, w}},
                                    {dt, {1, h, u, w}},
                                    {i == 4 ? RG_F32 : dt, {1, i < 3 ? h : 1, t, u}}},
                             .most = 4e-2};
        snprintf(name, sizeof name, "attention bias, %lld by %lld, head %lld", (long long)t, (long long)u,
                 (long long)w);
        check_seed(&s, "SIM90", i + 1);
    }
    say(6, 6, 6, 0);
}

/* Heads that wgmma does not take are padded; blocks of causal queries do not look at hidden keys. */
TEST_SLOW(simgpu_attention_forms, 300) {
    const struct sim_case s[] = {
        {"attention of 20", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 2, 1, 140, 150, 20)},
         .most = 6e-2},
        {"attention of 36, masked", .fn = attention, .n = {MASKED}, .grads = true,
         .in = {QKV(RG_F16, 1, 1, 350, 350, 36), {RG_F32, {350, 350}}}, .most = 2e-2},
        {"attention in blocks", .fn = attention, .n = {CAUSAL}, .grads = true,
         .in = {QKV(RG_F32, 1, 1, 520, 540, 16)}, .most = 1e-4},
    };
    check_all(s, 2, "SIM90");
    say(6, 6, 6, 0);
    check_all(s + 2, 1, "CPU SIM90S");
    say(12, 6, 6, 0);
}

/* Few queries over many keys: scores and weights of one to sixteen queries are stored; those of more are cut into chunks of keys. */
TEST_SLOW(simgpu_attention_decode, 300) {
    const struct sim_case s[] = {
        {"decode bf16", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 3, 3, 1, 256, 64)}, .most = 4e-2},
        {"decode", .fn = attention, .n = {CAUSAL}, .in = {QKV(RG_F32, 2, 2, 1, 300, 40)}, .most = 1e-4},
        {"decode grouped", .fn = attention,
         .in = {{RG_BF16, {1, 8, 1, 64}}, {RG_BF16, {1, 2, 512, 64}}, {RG_BF16, {1, 2, 512, 64}}},
         .most = 2e-2},
        {"decode grouped, a line for each key", .fn = attention,
         .in = {{RG_BF16, {1, 16, 1, 64}}, {RG_BF16, {1, 8, 520, 64}}, {RG_BF16, {1, 8, 520, 64}}},
         .most = 2e-2},
        {"decode chunks", .fn = attention, .grads = true, .in = {QKV(RG_BF16, 1, 1, 20, 384, 64)},
         .most = 4e-2},
        {"decode chunks grouped", .fn = attention,
         .in = {{RG_BF16, {1, 24, 1, 64}}, {RG_BF16, {1, 1, 512, 64}}, {RG_BF16, {1, 1, 512, 64}}},
         .most = 2e-2},
    };
    check_all(s, RG_COUNT(s), "SIM90");
    say(1, 1, 1, 0);
}

/* One to three queries for each of a group of heads, over keys of any number. */
TEST_SLOW(simgpu_attention_decode_random, 300) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    unsigned n = getenv("SEEDS") ? (unsigned)strtoull(getenv("SEEDS"), NULL, 10) : 6;
    for (uint64_t i = 0; i < n; i++) {
        struct sim_draw d = {first + 1000 * i};
        int64_t batch = draw(&d, 1, 2), heads = draw(&d, 1, 3), group = draw(&d, 1, 4), t = draw(&d, 1, 3),
                w = 8 * draw(&d, 5, 17), keys = i % 2 ? 64 * draw(&d, 2, 8) : draw(&d, 100, 400);
        bool masked = draw(&d, 0, 1);
        enum rg_dtype dt = draw(&d, 0, 1) ? RG_BF16 : RG_F16;
        struct sim_case s = {.name = "decode",
                             .fn = attention,
                             .n = {masked ? MASKED : PLAIN},
                             .most = 2e-2,
                             .in = {{dt, {batch, heads * group, t, w}},
                                    {dt, {batch, heads, keys, w}},
                                    {dt, {batch, heads, keys, w}},
                                    {RG_F32, {t, keys}}}};
        if (!masked) s.in[3].d[0] = 0;
        check_all(&s, 1, "SIM90");
    }
    say(1, 1, 0, 0);
}
