/* attention.c: rg_attention against PyTorch (tests/values/attention.txt, written by make_attention.py) and against the
 * oracle on random shapes, under every way to plan; how many kernels it takes, and that its memory grows with the length of
 * a sequence and not with its square (RIDGE_SCORES=0: no scores are stored). */
#include "cuda.h"
#include "unit/values_file.h"

#include <ridge.h>

struct run {
    rg_ctx *c;
    struct arena *arena;
    int64_t cases, numbers;
    int failed;
};

static rg_dtype dtype_named(const char *name) {
    for (int t = 0; t < RG_DTYPES; t++)
        if (!strcmp(rg_dtype_name((rg_dtype)t), name)) return (rg_dtype)t;
    FAIL("ridge has no dtype '%s'", name);
}

static rg_tensor from(struct run *r, const struct vf_tensor *t) {
    rg_ints shape = {t->dim, (size_t)t->rank};
    return rg_from(r->c, dtype_named(vf_info[t->type].name), vf_bytes(r->arena, t), shape);
}

static void compare(struct run *r, const struct vf_case *c, rg_tensor t, const struct vf_tensor *w,
                    const char *what) {
    char msg[256];
    size_t bytes = (size_t)(w->n * vf_info[w->type].bytes);
    void *got = arena_alloc(r->arena, bytes + 1);
    memset(got, 0xa5, bytes);
    if (rg_read(t, got, bytes)) FAIL("%s: %s: %s", c->name, what, rg_error(r->c));
    r->numbers += w->n;
    if (vf_compare(w, got, msg, sizeof msg) < 0) return;
    r->failed++;
    fprintf(stderr, "%s: %s: %s\n", c->name, what, msg);
}

static rg_tensor attend(const struct vf_case *c, const rg_tensor *in) {
    return rg_attention(in[0], in[1], in[2], .mask = vf_has(c, "mask") ? in[3] : RG_NONE,
                        .causal = vf_num(c, "causal", 0) != 0, .scale = vf_num(c, "scale", 0));
}

static void run_case(struct run *r, const struct vf_case *c) {
    RG_SCOPE(r->c);
    rg_tensor in[4] = {{0}}, wrt[4], g[4];
    for (int k = 0; k < c->nin; k++) in[k] = from(r, &c->in[k]);
    rg_tensor out = attend(c, in);
    if (c->refuse) {
        if (rg_status_of(r->c) != RG_EINVAL) FAIL("%s was not refused", c->name);
        rg_clear_error(r->c);
        return;
    }
    for (int k = 0; k < c->ngrad; k++) wrt[k] = in[c->grad[k].input];
    if (rg_grad(out, RG_ARRAY(wrt, (size_t)c->ngrad), g, .seed = from(r, &c->seed)))
        FAIL("%s: %s", c->name, rg_error(r->c));
    rg_tensor all[5] = {out};
    for (int k = 0; k < c->ngrad; k++) all[k + 1] = g[k];
    rg_realize_all(RG_ARRAY(all, (size_t)c->ngrad + 1)); /* one plan, as in training */
    compare(r, c, out, &c->out, "value");
    for (int k = 0; k < c->ngrad; k++) compare(r, c, g[k], &c->grad[k], "gradient");
}

static void run_values(const char *device, const char *env, const char *value, uint32_t every) {
    struct err err = {0};
    struct arena arena;
    struct vf_file file = {0};
    arena_init(&arena, &err);
    if (env) setenv(env, value, 1);
    struct run r = {.c = rg_open(device), .arena = &arena};
    vf_read(&file, &arena, "tests/values/attention.txt");
    for (uint32_t k = 0; k < file.cases.n; k += every, r.cases++) run_case(&r, file.cases.p[k]);
    if (r.failed) FAIL("%d comparisons of %lld cases failed on %s", r.failed, (long long)r.cases, device);
    TEST_INFO("%lld cases and %lld numbers of PyTorch agree on %s", (long long)r.cases, (long long)r.numbers,
              device);
    rg_close(r.c);
    arena_free(&arena);
}

TEST(attention_values_on_ref) { run_values("REF", NULL, NULL, 1); }
TEST_SLOW(attention_values_on_cpu, 600) { run_values("CPU", NULL, NULL, 2); }
TEST_MANUAL(attention_values_on_cpu_all, 1200) { run_values("CPU", NULL, NULL, 1); }
TEST_SLOW(attention_values_without_opts, 600) { run_values("CPU", "NOOPT", "1", 3); }
TEST_SLOW(attention_values_store_all, 600) { run_values("CPU", "RIDGE_PLAN", "store", 4); }
TEST_SLOW(attention_values_fuse_all, 600) { run_values("CPU", "RIDGE_PLAN", "fuse", 4); }

/* ---- random shapes against the oracle ------------------------------------------------------------------------- */

struct dims {
    int64_t b, hk, g, t, s, d, dv;
    bool causal;
    int mask; /* 0 none, 1 bool, 2 float */
    rg_dtype type;
};

static uint32_t draw(uint64_t *rng, uint32_t n) {
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*rng >> 33) % n;
}

static rg_tensor numbers(rg_ctx *c, uint64_t seed, rg_ints shape) {
    static float x[1 << 21];
    size_t n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= (size_t)shape.d[i];
    CHECK(n <= RG_COUNT(x));
    for (size_t i = 0; i < n; i++) x[i] = (float)draw(&seed, 2001) / 1000 - 1;
    return rg_from(c, RG_F32, x, shape);
}

/* The value and the gradients, one after the other in out; returns how many numbers. */
static size_t both_ways(rg_ctx *c, const struct dims *d, uint64_t seed, float *out) {
    RG_SCOPE(c);
    rg_tensor q = numbers(c, seed + 1, RG_SHAPE(d->b, d->hk * d->g, d->t, d->d));
    rg_tensor k = numbers(c, seed + 2, RG_SHAPE(d->b, d->hk, d->s, d->d));
    rg_tensor v = numbers(c, seed + 3, RG_SHAPE(d->b, d->hk, d->s, d->dv));
    rg_tensor mask = d->mask ? numbers(c, seed + 4, RG_SHAPE(d->t, d->s)) : RG_NONE;
    if (d->mask == 1) mask = rg_gt(mask, -0.3);
    rg_tensor x[3] = {rg_cast(q, d->type), rg_cast(k, d->type), rg_cast(v, d->type)};
    rg_tensor o = rg_cast(rg_attention(x[0], x[1], x[2], .causal = d->causal, .mask = mask), RG_F32);
    rg_tensor w = numbers(c, seed + 5, RG_SHAPE(d->b, d->hk * d->g, d->t, d->dv));
    rg_tensor g[3], all[4] = {o};
    if (rg_grad(rg_sum(rg_mul(o, w)), RG_TENSORS(q, k, v), g)) FAIL("%s", rg_error(c));
    for (int i = 0; i < 3; i++) all[i + 1] = g[i];
    if (rg_realize_all(RG_ARRAY(all, 4))) FAIL("%s", rg_error(c));
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        size_t m = (size_t)rg_size(all[i]);
        if (rg_read(all[i], out + n, m * sizeof *out)) FAIL("%s", rg_error(c));
        n += m;
    }
    return n;
}

static void compare_random(rg_ctx *ref, rg_ctx *cpu, const struct dims *d, uint64_t seed, float tol) {
    static float want[1 << 18], got[1 << 18];
    size_t n = both_ways(ref, d, seed, want);
    CHECK_EQ(both_ways(cpu, d, seed, got), n);
    for (size_t k = 0; k < n; k++)
        if (!(fabsf(want[k] - got[k]) <= tol * (1 + fabsf(want[k]))))
            FAIL("%s: b %lld, heads %lld x %lld, T %lld, S %lld, D %lld, Dv %lld, causal %d, mask %d: number "
                 "%zu is %.9g, expected %.9g",
                 rg_dtype_name(d->type), (long long)d->b, (long long)d->hk, (long long)d->g, (long long)d->t,
                 (long long)d->s, (long long)d->d, (long long)d->dv, d->causal, d->mask, k, (double)got[k],
                 (double)want[k]);
}

static void run_random(uint64_t seed, int programs) {
    rg_ctx *ref = rg_open("REF"), *cpu = rg_open("CPU");
    uint64_t rng = seed;
    for (int i = 0; i < programs; i++) {
        struct dims d = {1 + draw(&rng, 2),  1 + draw(&rng, 2),
                         1 + draw(&rng, 3),  1 + draw(&rng, 40),
                         1 + draw(&rng, 70), 1 + draw(&rng, 40),
                         1 + draw(&rng, 40), draw(&rng, 3) == 0,
                         (int)draw(&rng, 3), RG_F32};
        if (draw(&rng, 2)) d.dv = d.d; /* as it mostly is */
        compare_random(ref, cpu, &d, rng, 2e-4f);
    }
    rg_close(ref), rg_close(cpu);
}

/* Queries that fill no vector of AVX-512: lanes along keys and results, of every length. */
TEST_SLOW(attention_random_few_queries, 300) {
    rg_ctx *ref = rg_open("REF"), *cpu = rg_open("CPU");
    uint64_t rng = 20261119;
    for (int i = 0; i < 8; i++) {
        struct dims d = {1 + draw(&rng, 2),
                         1 + draw(&rng, 2),
                         1 + draw(&rng, 2),
                         2 + draw(&rng, 14),
                         2 + draw(&rng, i % 2 ? 300 : 40),
                         4 + draw(&rng, 60),
                         4 + draw(&rng, 60),
                         draw(&rng, 2) == 0,
                         (int)draw(&rng, 3),
                         RG_F32};
        if (draw(&rng, 2)) d.dv = d.d;
        compare_random(ref, cpu, &d, rng, 2e-4f);
    }
    rg_close(ref), rg_close(cpu);
}

/* Stored scores, and where they may not be: kept rows, blocks of queries; types in turn, queries enough for causal blocks. */
static void run_stored(uint64_t seed, int programs) {
    static const rg_dtype type[] = {RG_BF16, RG_F32, RG_F16, RG_BF16};
    rg_ctx *ref = rg_open("REF"), *cpu = rg_open("CPU");
    uint64_t rng = seed;
    for (int i = 0; i < programs; i++) {
        int64_t t = 1 + draw(&rng, i % 3 ? 60 : 200), s = 1 + draw(&rng, 120);
        struct dims d = {1,
                         1 + draw(&rng, 2),
                         1 + draw(&rng, 3),
                         t,
                         s,
                         8 + draw(&rng, 40),
                         8 + draw(&rng, 40),
                         draw(&rng, 2) == 0,
                         (int)draw(&rng, 3),
                         type[i % (int)RG_COUNT(type)]};
        setenv("RIDGE_SCORES", i % 4 == 3 ? "0" : "64", 1);
        if (draw(&rng, 2)) d.dv = d.d;
        if (draw(&rng, 2)) d.s = d.t;
        compare_random(ref, cpu, &d, rng, d.type == RG_F32 ? 2e-4f : d.type == RG_F16 ? 4e-3f : 3e-2f);
    }
    unsetenv("RIDGE_SCORES");
    rg_close(ref), rg_close(cpu);
}

/* float32 and float64 at sizes where the gradient is GEMMs, and the forward pass GEMMs or rows: queries and keys around whole tiles of
 * 8 and 16 lanes, causal ones in blocks. */
static void run_gemms(uint64_t seed, int programs) {
    static const int64_t around[] = {3, 5, 7, 8, 15, 17, 20, 31, 33, 48, 65, 100, 129};
    rg_ctx *ref = rg_open("REF"), *cpu = rg_open("CPU");
    uint64_t rng = seed;
    for (int i = 0; i < programs; i++) {
        int64_t t = around[draw(&rng, RG_COUNT(around))], s = around[draw(&rng, RG_COUNT(around))];
        struct dims d = {1 + draw(&rng, 2),
                         1 + draw(&rng, 2),
                         1 + draw(&rng, 2),
                         t,
                         draw(&rng, 2) ? s : t,
                         8 + draw(&rng, 72),
                         0,
                         draw(&rng, 2) == 0,
                         (int)draw(&rng, 3),
                         i % 3 ? RG_F32 : RG_F64};
        d.dv = draw(&rng, 3) ? d.d : 8 + draw(&rng, 72);
        compare_random(ref, cpu, &d, rng, 2e-4f);
    }
    rg_close(ref), rg_close(cpu);
}

TEST_SLOW(attention_random_gemms, 600) { run_gemms(20261119, 6); }
TEST_MANUAL(attention_random_gemms_many, 3600) { run_gemms(3, 200); }
TEST_SLOW(attention_random_shapes, 600) { run_random(1, 6); }
TEST_MANUAL(attention_random_shapes_many, 3600) { run_random(2, 400); }
TEST_SLOW(attention_random_stored, 600) { run_stored(1, 4); }
TEST_MANUAL(attention_random_stored_many, 3600) { run_stored(2, 200); }

/* ---- kernels and memory ----------------------------------------------------------------------------------------- */

struct layer {
    rg_tensor q, k, v, o, w, g[3];
};

static void make_layer(rg_ctx *c, struct layer *l, int64_t heads, int64_t kv_heads, int64_t t, int64_t d) {
    rg_ints qs = RG_SHAPE(1, heads, t, d), ks = RG_SHAPE(1, kv_heads, t, d);
    rg_tensor *leaf[] = {&l->q, &l->k, &l->v, &l->w};
    for (int i = 0; i < 4; i++) {
        rg_ints s = i == 1 || i == 2 ? ks : qs;
        *leaf[i] =
            rg_sin(rg_mul(rg_reshape(rg_arange(c, RG_F32, 0, (double)(s.d[1] * t * d), 1), s), 0.37 + i));
        rg_realize(*leaf[i]);
    }
    l->o = rg_attention(l->q, l->k, l->v, .causal = true);
    rg_grad(rg_sum(rg_mul(l->o, l->w)), RG_TENSORS(l->q, l->k, l->v), l->g);
}

TEST(attention_is_one_kernel_forward) {
    setenv("RIDGE_SCORES", "0", 1);
    rg_ctx *c = rg_open("NULL");
    rg_plan_stats s;
    for (int64_t t = 8; t <= 1024; t *= 8) {
        RG_SCOPE(c);
        struct layer l;
        make_layer(c, &l, 4, t == 64 ? 2 : 4, t, 32);
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(l.o), &s), 0);
        CHECK_EQ(s.kernels, 1);
        CHECK_EQ(s.scratch, 0);
        CHECK_EQ(s.reads, 3);
        CHECK_EQ(s.writes, 1);
        /* with the gradients: the result and lse; D; dQ; dK and dV */
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(l.o, l.g[0], l.g[1], l.g[2]), &s), 0);
        CHECK_EQ(s.kernels, 4);
    }
    rg_close(c);
}

/* An epilogue stays in the kernel; what makes q, k and v does not come in. */
TEST(attention_beside_other_work) {
    setenv("RIDGE_SCORES", "0", 1);
    rg_ctx *c = rg_open("NULL");
    rg_plan_stats s;
    struct layer l;
    make_layer(c, &l, 2, 2, 64, 32);
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(rg_mul(l.o, 2.0)), &s), 0);
    CHECK_EQ(s.kernels, 1);
    rg_tensor w = rg_contiguous(rg_sin(rg_reshape(rg_arange(c, RG_F32, 0, 32 * 32, 1), RG_SHAPE(32, 32))));
    rg_realize(w);
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(rg_attention(rg_matmul(l.q, w), l.k, l.v)), &s), 0);
    CHECK_EQ(s.kernels, 2);
    rg_close(c);
}

TEST(attention_memory_is_linear) {
    setenv("RIDGE_SCORES", "0", 1);
    rg_ctx *c = rg_open("NULL");
    int64_t before = 0;
    for (int64_t t = 512; t <= 4096; t *= 2) {
        RG_SCOPE(c);
        struct layer l;
        rg_plan_stats s;
        make_layer(c, &l, 2, 2, t, 16);
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(l.g[0], l.g[1], l.g[2]), &s), 0);
        /* the result, lse, D, and what flows into it at most */
        CHECK(s.scratch <= 2 * t * (2 * 16 + 2) * 4 + 4096);
        if (before) CHECK(s.scratch <= 2 * before + 4096);
        before = s.scratch;
        /* what flows in may be one number for all: then parts of the gradient are equal for all queries */
        rg_tensor g[3];
        CHECK_EQ(rg_grad(rg_sum(rg_mul(l.o, rg_scalar(c, RG_F32, 2))), RG_TENSORS(l.q, l.k, l.v), g), 0);
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(g[0], g[1], g[2]), &s), 0);
        CHECK(s.scratch <= 2 * t * (2 * 16 + 2) * 4 + 4096);
    }
    rg_close(c);
}

TEST_SLOW(attention_peak_is_linear, 300) {
    setenv("RIDGE_SCORES", "0", 1);
    uint64_t peak[3];
    for (int i = 0; i < 3; i++) {
        rg_ctx *c = rg_open("CPU");
        struct layer l;
        rg_usage u;
        int64_t t = 256 << i;
        make_layer(c, &l, 1, 1, t, 16);
        CHECK_EQ(rg_realize_all(RG_TENSORS(l.o, l.g[0], l.g[1], l.g[2])), 0);
        CHECK_EQ(rg_stats(c, &u), 0);
        peak[i] = u.peak;
        CHECK(u.peak <= (uint64_t)(t * 16 * 4) * 12); /* q, k, v, w, o and three gradients, and temporaries */
        rg_close(c);
    }
    CHECK(peak[1] <= 2 * peak[0] + 8192 && peak[2] <= 2 * peak[1] + 8192);
    TEST_INFO("peak memory of attention and its gradients: %llu, %llu, %llu bytes for 256, 512, 1024 "
              "queries of 16 numbers",
              (unsigned long long)peak[0], (unsigned long long)peak[1], (unsigned long long)peak[2]);
}

/* ---- nothing for each query and key is ever stored, whatever stands around ------------------------------------------- */

enum around { SUM, MEAN, PROJECTED, DROPPED, MASKED, ADDED, GROUPED, BLOCK, AROUND };

static rg_tensor leaf(rg_ctx *c, rg_ints shape, double step) {
    int64_t n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= shape.d[i];
    rg_tensor x =
        rg_contiguous(rg_sin(rg_mul(rg_reshape(rg_arange(c, RG_F32, 0, (double)n, 1), shape), step)));
    rg_realize(x);
    return x;
}

static rg_tensor heads_of(rg_tensor x, int64_t at, int64_t heads, int64_t d) {
    rg_tensor part = rg_narrow(x, 2, at * heads * d, heads * d);
    return rg_transpose(rg_reshape(part, RG_SHAPE(rg_dim(x, 0), rg_dim(x, 1), heads, d)), 1, 2);
}

/* A block of GPT-2 of the parameters p: two norms, attention, two products with a GELU between. */
static rg_tensor gpt_block(rg_tensor x, const rg_tensor *p, int64_t heads, int64_t d) {
    rg_tensor qkv = rg_matmul(rg_layernorm(x, p[4], p[5]), p[0]);
    rg_tensor o = rg_attention(heads_of(qkv, 0, heads, d), heads_of(qkv, 1, heads, d),
                               heads_of(qkv, 2, heads, d), .causal = true);
    rg_tensor y = rg_add(x, rg_matmul(rg_flatten(rg_transpose(o, 1, 2), 2, 3), p[1]));
    return rg_add(y, rg_matmul(rg_gelu_tanh(rg_matmul(rg_layernorm(y, p[4], p[5]), p[2])), p[3]));
}

static int64_t scratch_of(rg_ctx *c, rg_tensor loss, const rg_tensor *wrt, size_t n, bool forward) {
    rg_tensor g[8], all[9] = {loss};
    rg_plan_stats s;
    if (!forward && rg_grad(loss, RG_ARRAY(wrt, n), g)) FAIL("%s", rg_error(c));
    for (size_t i = 0; i < n && !forward; i++) all[i + 1] = g[i];
    if (rg_schedule_stats(RG_ARRAY(all, forward ? 1 : n + 1), &s)) FAIL("%s", rg_error(c));
    return s.scratch;
}

static int64_t around_scratch(rg_ctx *c, enum around what, int64_t t, bool forward) {
    RG_SCOPE(c);
    int64_t h = 4, d = 16, w = h * d, hk = what == GROUPED ? 2 : h;
    if (what == BLOCK) {
        rg_tensor x = leaf(c, RG_SHAPE(1, t, w), 0.3);
        rg_tensor p[] = {leaf(c, RG_SHAPE(w, 3 * w), 0.1), leaf(c, RG_SHAPE(w, w), 0.2),
                         leaf(c, RG_SHAPE(w, 4 * w), 0.3), leaf(c, RG_SHAPE(4 * w, w), 0.4),
                         leaf(c, RG_SHAPE(w), 0.5),        leaf(c, RG_SHAPE(w), 0.6)};
        rg_tensor two = gpt_block(gpt_block(x, p, h, d), p, h, d);
        return scratch_of(c, rg_mean(rg_square(two)), p, 6, forward);
    }
    rg_tensor in[] = {leaf(c, RG_SHAPE(2, h, t, d), 0.37), leaf(c, RG_SHAPE(2, hk, t, d), 0.41),
                      leaf(c, RG_SHAPE(2, hk, t, d), 0.43), leaf(c, RG_SHAPE(w, w), 0.1)};
    rg_tensor mask = RG_NONE;
    if (what == MASKED) mask = rg_gt(leaf(c, RG_SHAPE(2, 1, 1, t), 0.7), -0.5);
    if (what == ADDED) mask = leaf(c, RG_SHAPE(t), 0.7);
    rg_tensor o = rg_attention(in[0], in[1], in[2], .causal = what >= MASKED, .mask = mask,
                               .dropout = what == DROPPED ? 0.1 : 0);
    if (what == SUM) return scratch_of(c, rg_sum(o), in, 3, forward);
    if (what != PROJECTED) return scratch_of(c, rg_mean(o), in, 3, forward);
    rg_tensor y = rg_matmul(rg_flatten(rg_transpose(o, 1, 2), 2, 3), in[3]);
    return scratch_of(c, rg_mean(rg_square(y)), in, 4, forward);
}

TEST_SLOW(attention_never_stores_scores, 300) {
    setenv("RIDGE_SCORES", "0", 1);
    static const char *const name[AROUND] = {"sum",    "mean",       "projected", "dropout",
                                             "masked", "added mask", "grouped",   "a block of GPT-2, twice"};
    rg_ctx *c = rg_open("NULL");
    for (int what = 0; what < AROUND; what++)
        for (int forward = 0; forward < 2; forward++) {
            int64_t was = 0;
            for (int64_t t = 256; t <= 1024; t *= 2) {
                int64_t s = around_scratch(c, (enum around)what, t, forward);
                if (was && s > 2 * was + t * t * (int64_t)sizeof(float)) /* the scores of a head */
                    FAIL("%s: %lld bytes of temporaries for %lld queries, %lld for half as many", name[what],
                         (long long)s, (long long)t, (long long)was);
                was = s;
            }
        }
    rg_close(c);
}

/* Where the gradient stores scores, the forward pass does not keep rows of them beside: S, P and dS are stored, each once. */
TEST(attention_stores_scores_once) {
    unsetenv("RIDGE_SCORES");
    rg_ctx *c = rg_open("NULL");
    for (int64_t d = 16; d <= 128; d *= 2) {
        RG_SCOPE(c);
        int64_t heads = 4, t = 192, scores = heads * t * t, row = heads * t;
        rg_tensor in[4], g[3];
        rg_plan_stats s;
        for (int i = 0; i < 4; i++) in[i] = leaf(c, RG_SHAPE(1, heads, t, d), 0.37 + i);
        rg_tensor o = rg_attention(in[0], in[1], in[2]);
        CHECK_EQ(rg_grad(rg_sum(rg_mul(o, in[3])), RG_TENSORS(in[0], in[1], in[2]), g), 0);
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(g[0], g[1], g[2]), &s), 0);
        /* S is written and read once, P read by three products, dS by two; q, k, v, O and what flows back are small beside them */
        CHECK(s.bytes <=
              ((2 + 4 + 3) * (double)scores + (double)row * (24 * (double)d + 32)) * sizeof(float));
    }
    rg_close(c);
}

/* ---- corners ---------------------------------------------------------------------------------------------------- */

TEST(attention_corners) {
    rg_ctx *c = rg_open("CPU");
    rg_tensor q = rg_ones(c, RG_F32, RG_SHAPE(1, 2, 3, 4)), none = rg_zeros(c, RG_F32, RG_SHAPE(1, 2, 0, 4));
    float x[24];
    rg_tensor o = rg_attention(q, none, none); /* no keys: as a query that sees none */
    CHECK_EQ(rg_read(o, x, sizeof x), 0);
    for (int i = 0; i < 24; i++) CHECK_EQ(x[i], 0);
    CHECK_EQ(rg_size(rg_attention(none, q, q)), 0);
    /* integers are taken as float32; NaN and infinity in q reach their own query only */
    rg_tensor i = rg_ones(c, RG_I32, RG_SHAPE(1, 2, 3, 4));
    CHECK_EQ(rg_dtype_of(rg_attention(i, i, i)), RG_F32);
    float p[8] = {NAN, 0, 1, 1, 0, 0, 1, 1}, y[8];
    rg_tensor two = rg_from(c, RG_F32, p, RG_SHAPE(4, 2)), v = rg_ones(c, RG_F32, RG_SHAPE(4, 2));
    rg_tensor k = rg_ones(c, RG_F32, RG_SHAPE(4, 2));
    CHECK_EQ(rg_read(rg_attention(two, k, v), y, sizeof y), 0);
    CHECK(isnan(y[0]) && isnan(y[1]));
    for (int n = 2; n < 8; n++) CHECK_NEAR(y[n], 1, 1e-6);
    rg_attention(q, q, q, .dropout = 1.5);
    CHECK_EQ(rg_status_of(c), RG_EINVAL);
    rg_clear_error(c);
    rg_close(c);
}

/* Query i sees keys 0 .. i: each weight is 1 / (i + 1). What stands behind the mask does not count, whatever it is. */
TEST(attention_behind_the_mask) {
    enum { T = 300, D = 8 };
    rg_ctx *c = rg_open("CPU");
    static float v[T * D], o[T * D];
    for (int i = 0; i < T * D; i++) v[i] = i < 200 * D ? (float)(i / D) : i % 2 ? INFINITY : NAN;
    rg_tensor zero = rg_zeros(c, RG_F32, RG_SHAPE(1, T, D));
    CHECK_EQ(rg_read(rg_attention(zero, zero, rg_from(c, RG_F32, v, RG_SHAPE(1, T, D)), .causal = true), o,
                     sizeof o),
             0);
    for (int i = 0; i < T; i++) {
        if (i < 200) CHECK_NEAR(o[i * D + 3], i / 2.0, 1e-4);
        if (i >= 200) CHECK(!isfinite(o[i * D]) && !isfinite(o[i * D + 1]));
    }
    rg_close(c);
}

/* A second derivative is refused, in words; the constants of the gradient would make it wrong. */
TEST(attention_is_differentiated_once) {
    rg_ctx *c = rg_open("REF");
    struct layer l;
    make_layer(c, &l, 1, 1, 4, 4);
    rg_tensor twice;
    rg_status s = rg_grad(rg_sum(rg_square(l.g[0])), RG_TENSORS(l.q), &twice);
    CHECK_EQ(s, RG_EUNSUPPORTED);
    CHECK(strstr(rg_error(c), "attention") != NULL);
    rg_close(c);
}

/* The loss is read before the gradients are asked for; a second layer, and equal layers, plan alike. */
TEST_SLOW(attention_in_training, 300) {
    rg_ctx *c = rg_open("CPU"), *ref = rg_open("REF");
    float got[2][3], loss[2];
    for (int dev = 0; dev < 2; dev++) {
        rg_ctx *x = dev ? ref : c;
        rg_tensor w =
            rg_param(rg_mul(rg_sin(rg_reshape(rg_arange(x, RG_F32, 0, 64, 1), RG_SHAPE(8, 8))), 0.5));
        rg_tensor h = rg_cos(rg_reshape(rg_arange(x, RG_F32, 0, 160, 1), RG_SHAPE(1, 2, 10, 8)));
        for (int layer = 0; layer < 2; layer++) {
            rg_tensor y = rg_matmul(h, w);
            h = rg_add(h, rg_attention(y, y, rg_tanh(y), .causal = true));
        }
        rg_tensor l = rg_mean(rg_square(h));
        CHECK_EQ(rg_read(l, &loss[dev], sizeof loss[dev]), 0);
        CHECK_EQ(rg_backward(l), 0);
        float g[64];
        CHECK_EQ(rg_read(rg_param_grad(w), g, sizeof g), 0);
        for (int i = 0; i < 3; i++) got[dev][i] = g[i * 21];
    }
    CHECK_NEAR(loss[0], loss[1], 1e-5);
    for (int i = 0; i < 3; i++) CHECK_NEAR(got[0][i], got[1][i], 1e-5);
    rg_close(c), rg_close(ref);
}

/* Equal scores and v = 1 show the weights: each is 0 or 1 / (S (1 - p)), and the gradient has the same ones. */
static void dropout_on(const char *device, float *w) {
    enum { T = 24, S = 32 };
    rg_ctx *c = rg_open(device);
    static const float none[S * 8];
    rg_tensor q = rg_from(c, RG_F32, none, RG_SHAPE(1, T, 8)),
              k = rg_from(c, RG_F32, none, RG_SHAPE(1, S, 8)), g;
    rg_tensor v = rg_contiguous(rg_reshape(rg_eye(c, RG_F32, S, S), RG_SHAPE(1, S, S)));
    rg_plan_stats s;
    CHECK_EQ(rg_realize(v), 0);
    rg_seed(c, 7);
    rg_tensor o = rg_attention(q, k, v, .dropout = 0.25);
    if (rg_grad(rg_sum(o), RG_TENSORS(v), &g)) FAIL("%s", rg_error(c));
    if (!strcmp(device, "CPU")) {
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(o), &s), 0);
        CHECK_EQ(s.kernels, 1);
        CHECK_EQ(s.scratch, 0);
    }
    float back[S][S];
    CHECK_EQ(rg_realize_all(RG_TENSORS(o, g)), 0);
    CHECK_EQ(rg_read(o, w, T * S * sizeof *w), 0);
    CHECK_EQ(rg_read(g, back, sizeof back), 0);
    int dropped = 0;
    for (int i = 0; i < T * S; i++) {
        dropped += w[i] == 0;
        if (w[i] != 0) CHECK_NEAR(w[i], 1 / (S * 0.75), 1e-6);
    }
    CHECK(dropped > T * S / 6 && dropped < T * S / 3);
    for (int j = 0; j < S; j++) {
        float sum = 0;
        for (int i = 0; i < T; i++) sum += w[i * S + j];
        for (int d = 0; d < S; d++) CHECK_NEAR(back[j][d], sum, 1e-5);
    }
    CHECK_EQ(rg_close(c), 0);
}

TEST_SLOW(attention_dropout, 300) {
    static float cpu[24 * 32], ref[24 * 32];
    dropout_on("CPU", cpu);
    dropout_on("REF", ref);
    for (int i = 0; i < 24 * 32; i++) CHECK_NEAR(cpu[i], ref[i], 1e-6);
}

/* ---- fp16 and bf16 on a GPU --------------------------------------------------------------------------------------- */

static rg_tensor floats16(rg_ctx *c, uint64_t seed, rg_dtype dt, rg_ints shape) {
    return rg_contiguous(rg_cast(numbers(c, seed, shape), dt));
}

static size_t both_ways_16bit(rg_ctx *c, const struct dims *d, rg_dtype dt, float *out) {
    RG_SCOPE(c);
    rg_tensor q = floats16(c, 1, dt, RG_SHAPE(d->b, d->hk * d->g, d->t, d->d));
    rg_tensor k = floats16(c, 2, dt, RG_SHAPE(d->b, d->hk, d->s, d->d));
    rg_tensor v = floats16(c, 3, dt, RG_SHAPE(d->b, d->hk, d->s, d->d));
    rg_tensor w = floats16(c, 4, dt, RG_SHAPE(d->b, d->hk * d->g, d->t, d->d)), g[3];
    if (rg_realize_all(RG_TENSORS(q, k, v, w))) FAIL("%s", rg_error(c));
    rg_tensor all[4] = {rg_attention(q, k, v, .causal = d->causal)};
    if (rg_grad(all[0], RG_TENSORS(q, k, v), g, .seed = w)) FAIL("%s", rg_error(c));
    for (int i = 0; i < 3; i++) all[i + 1] = g[i];
    if (rg_realize_all(RG_ARRAY(all, 4))) FAIL("%s", rg_error(c));
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        size_t m = (size_t)rg_size(all[i]);
        if (rg_read(rg_cast(all[i], RG_F32), out + n, m * sizeof *out)) FAIL("%s", rg_error(c));
        n += m;
    }
    return n;
}

/* More tiles than SMs: blocks walk, loops of different length follow each other. Against the CPU, which PyTorch's
 * numbers hold to. */
enum { WALK_HEADS = 80, WALK_T = 256, WALK_D = 64, WALK = WALK_HEADS * WALK_T * WALK_D };

static void walk(rg_ctx *c, bool causal, float *out) {
    RG_SCOPE(c);
    rg_tensor x[3];
    for (uint64_t i = 0; i < 3; i++)
        x[i] = floats16(c, i + 1, RG_BF16, RG_SHAPE(1, WALK_HEADS, WALK_T, WALK_D));
    if (rg_realize_all(RG_ARRAY(x, 3))) FAIL("%s", rg_error(c));
    rg_tensor o = rg_contiguous(rg_attention(x[0], x[1], x[2], .causal = causal));
    if (rg_read(rg_cast(o, RG_F32), out, WALK * sizeof *out)) FAIL("%s", rg_error(c));
}

TEST_MANUAL(cuda_gpu_attention_persistent, 120) {
    static float want[WALK], got[WALK];
    rg_ctx *cpu = rg_open("CPU"), *gpu = cuda_open();
    for (int causal = 0; causal < 2; causal++) {
        walk(cpu, causal, want);
        walk(gpu, causal, got);
        for (size_t k = 0; k < WALK; k++)
            if (!(fabsf(want[k] - got[k]) <= 0x1p-6f * (0.25f + fabsf(want[k]))))
                FAIL("causal %d: number %zu is %g, expected %g", causal, k, (double)got[k], (double)want[k]);
    }
    rg_close(gpu);
    rg_close(cpu);
}

/* The block programs of MMA instructions against the oracle, which rounds where they do: whole tiles and odd lengths,
 * fewer queries than a tile, more keys than queries, grouped heads, both halves. A test for each: the oracle takes its time. */
static void cuda_attention(size_t i) {
    static const struct dims d[] = {
        {1, 2, 1, 160, 160, 64, 64, true, 0, RG_F32},   {1, 1, 1, 150, 150, 128, 128, true, 0, RG_F32},
        {1, 1, 1, 130, 200, 64, 64, false, 0, RG_F32},  {1, 1, 2, 128, 128, 64, 64, true, 0, RG_F32},
        {1, 1, 1, 70, 250, 128, 128, true, 0, RG_F32},  {1, 1, 1, 320, 320, 64, 64, false, 0, RG_F32},
        {1, 1, 1, 256, 256, 128, 128, true, 0, RG_F32}, {1, 1, 2, 256, 256, 64, 64, true, 0, RG_F32},
        {1, 2, 1, 384, 384, 64, 64, true, 0, RG_F32}};
    static float want[1 << 18], got[1 << 18];
    rg_ctx *ref = rg_open("REF"), *gpu = cuda_open();
    for (int half = 0; half < 2; half++) {
        rg_dtype dt = half ? RG_F16 : RG_BF16;
        size_t n = both_ways_16bit(ref, &d[i], dt, want);
        CHECK_EQ(both_ways_16bit(gpu, &d[i], dt, got), n);
        for (size_t k = 0; k < n; k++)
            if (!(fabsf(want[k] - got[k]) <= (half ? 0x1p-8f : 0x1p-5f) * (0.25f + fabsf(want[k]))))
                FAIL("%s: number %zu is %g, expected %g", rg_dtype_name(dt), k, (double)got[k],
                     (double)want[k]);
    }
    rg_close(gpu);
    rg_close(ref);
}

#define TEST_PART(k) \
    TEST_MANUAL(cuda_gpu_attention_##k, 120) { cuda_attention(k); }
/* clang-format off */
TEST_PART(0) TEST_PART(1) TEST_PART(2) TEST_PART(3) TEST_PART(4) TEST_PART(5) TEST_PART(6) TEST_PART(7) TEST_PART(8)
/* clang-format on */
