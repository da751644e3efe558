/* Tests of matrix products on a GPU in other types than bfloat16: 8-bit floats, whose sums are kept in parts (src/codegen/gpu/mma.c),
 * TF32 and float16, warp-specialized. In the interpreter with small integers, exact; compiled for opt lists of real sizes;
 * on a GPU random numbers against sums in double, within the bounds that docs/gpu.md states. */
#include "gemm_test.h"

#include <math.h>

/* A type's instructions W.., its elements, and their bytes. */
static const struct type {
    const char *instr, *dt;
    int bytes;
} types[] = {{"E4M3", "f8e4m3", 1}, {"E5M2", "f8e5m2", 1}, {"TF32", "f32", 4}, {"F16", "f16", 2}};

/* A tile of m x n by w warpgroups, 128 bytes along k times `deep`. */
struct form {
    int m, n, w, deep, stages;
    const char *specialize;
};

static const char *list(char *out, size_t room, const struct type *t, const struct form *f) {
    int reg = f->m / f->w / 64;
    char m[64] = "TILE(m,64,m3)", marks[32] = "", all[16] = "m3", copies[96] = "";
    if (f->w > 1 && reg > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,%d,m2) TILE(m2,64,m3)", f->m, 64 * reg);
        snprintf(marks, sizeof marks, " THREAD(m1) REG(m2)"), snprintf(all, sizeof all, "m1+m2+m3");
    } else if (f->w > 1 || reg > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,64,m3)", f->m);
        snprintf(marks, sizeof marks, f->w > 1 ? " THREAD(m1)" : " REG(m1)"),
            snprintf(all, sizeof all, "m1+m3");
    }
    if (!*f->specialize)
        snprintf(copies, sizeof copies, " TILE(a.k1,%d,a.v) VEC(a.v) TILE(b.k1,%d,b.v) VEC(b.v)",
                 16 / t->bytes, 16 / t->bytes);
    bool two = t->bytes == 1 && f->n == 256; /* instructions, so that there is room for a part */
    snprintf(out, room,
             "PADTO(m,%d) PADTO(n,%d) %s TILE(n,%d,%s) TILE(k,%d,k1) TILE(k1,%d,k2) TC(m3,n3,k2,W%s_%d)%s%s "
             "UNROLL(k1) STAGE(a,k,%s,k1+k2) STAGE(b,k,%s,k1+k2)%s PIPE(a,k,%d) PIPE(b,k,%d) %s",
             f->m, f->n, m, f->n, two ? "n1) TILE(n1,128,n3" : "n3", 128 * f->deep / t->bytes, 32 / t->bytes,
             t->instr, two ? 128 : f->n, marks, two ? " REG(n1)" : "", all, two ? "n1+n3" : "n3", copies,
             f->stages, f->stages, f->specialize);
    return out;
}

/* At most 128 products are accumulated before the partial sum is added: of 8-bit operands, four instructions, the first of
 * which zeroes its accumulators; the others start once. */
static void count_parts(const struct product *x, bool parts) {
    uint32_t run = 0, fresh = 0, most = 0, again = 0;
    for (uint32_t i = 0; i < x->lin.n; i++) {
        const uop *n = x->lin.u[i];
        if (n->op != OP_MMA) continue;
        fresh += n->arg.mma.zero_init;
        run = n->arg.mma.zero_init ? 1 : run + 1;
        most = RG_MAX(most, run);
        for (uint32_t k = 0; k < i && n->arg.mma.zero_init; k++)
            again += x->lin.u[k]->op == OP_MMA && x->lin.u[k]->src[0] == n->src[0];
    }
    if (parts ? !fresh || most > 4 : again)
        FAIL("%s\n%u parts, %u instructions in one, %u begun twice", x->opts, fresh, most, again);
}

TEST(dtypes_products) {
    static const struct form form[] = {
        {64, 64, 1, 1, 3, "WARP_SPECIALIZE(1)"},
        {128, 64, 2, 1, 2, "WARP_SPECIALIZE(1) PERSISTENT(2)"},
        {128, 64, 1, 1, 3, "WARP_SPECIALIZE(1) PERSISTENT(1)"},
        {256, 64, 2, 1, 2, "WARP_SPECIALIZE(1) PERSISTENT(2)"},
        {128, 64, 1, 1, 2, "WARP_SPECIALIZE(2) PERSISTENT(1)"},
        {64, 64, 1, 2, 2, "WARP_SPECIALIZE(1) PERSISTENT(2)"},
        {64, 256, 1, 1, 2, "WARP_SPECIALIZE(1) PERSISTENT(1)"},
        {128, 64, 2, 1, 3, ""},
        {128, 64, 1, 2, 3, ""},
    };
    static const int64_t size[][3] = {{192, 128, 3}, {200, 80, 2}};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(form); i++)
        for (size_t t = 0; t < RG_COUNT(types); t++) {
            const int64_t *s = size[(i + t) % RG_COUNT(size)];
            int64_t k = 128 * s[2] / types[t].bytes + 48 * (s[2] == 2);
            list(opts, sizeof opts, &types[t], &form[i]);
            struct product x = {.m = s[0], .n = s[1], .k = k, .tb = true, .dt = types[t].dt, .opts = opts};
            product_check(&x, NULL);
            struct product y = {.m = s[0], .n = s[1], .k = k, .tb = true, .dt = types[t].dt, .opts = opts};
            arena_init(&y.arena, &y.err);
            if (err_guard(&y.err, product_compile, &y)) FAIL("%s", y.err.msg);
            count_parts(&y, types[t].bytes == 1);
            arena_free(&y.arena);
        }
}

/* With partial accumulation, the loop waits for no tile before its first MMA instruction: it waits for those of the next
 * iteration while its last instructions run. */
TEST(dtypes_partial_sums_wait_ahead) {
    static const struct form form = {256, 64, 2, 1, 2, "WARP_SPECIALIZE(1) PERSISTENT(2)"};
    struct product x = {.m = 512, .n = 128, .k = 512, .tb = true, .dt = types[0].dt};
    struct render_shape shape;
    struct str text;
    char opts[1024], seen[64] = "";
    x.opts = list(opts, sizeof opts, &types[0], &form);
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
    for (uint32_t i = 0; i < x.lin.n && strlen(seen) + 2 < sizeof seen; i++) {
        enum op op = (enum op)x.lin.u[i]->op;
        char c = op == OP_WGMMA_FENCE    ? 'B'
                 : op == OP_WGMMA_COMMIT ? 'E'
                 : op == OP_WGMMA_WAIT   ? 'W'
                 : op == OP_MBAR_WAIT    ? 'm'
                 : op == OP_MBAR_ARRIVE  ? 'a'
                                         : 0;
        if (op == OP_TMA_STORE && seen[strlen(seen) - 1] != 'o') c = 'o';
        if (c) snprintf(seen + strlen(seen), 2, "%c", c);
    }
    /* the first tile; two rows of instructions, each waited for; the last iteration, in which results are stored behind the
     * instructions of the second row; then the thread that copies: waits, announces */
    if (strcmp(seen, "mBEWBEmWaBEWBEoWaoma")) FAIL("%s", seen);
    /* what the addresses of tiles are made of is one number for a warp */
    str_init(&text, &x.arena);
    render_cuda(&text, &x.ir, &x.lin, false, &shape);
    CHECK(strstr(text.p, "group = warpgroup_of(") && !strstr(text.p, ">> 7)"));
    arena_free(&x.arena);
}

/* Several rows of instructions, along m or along n: the results of one are stored behind the last instructions of the next, also
 * where tiles end inside, and where something is added. */
TEST(dtypes_partial_sums_store_behind) {
    static const char *const form[] = {
        "TILE(m,128,m1) TILE(m1,64,m3) TILE(n,64,n3) TILE(k,128,k1) TILE(k1,32,k2) TC(m3,n3,k2,WE4M3_64) "
        "REG(m1) "
        "UNROLL(k1) STAGE(a,k,m1+m3,k1+k2) STAGE(b,k,n3,k1+k2)",
        "TILE(m,256,m1) TILE(m1,128,m2) TILE(m2,64,m3) TILE(n,64,n3) TILE(k,256,k1) TILE(k1,32,k2) "
        "TC(m3,n3,k2,WE4M3_64) THREAD(m1) REG(m2) UNROLL(k1) STAGE(a,k,m1+m2+m3,k1+k2) STAGE(b,k,n3,k1+k2)",
        "TILE(m,64,m3) TILE(n,128,n1) TILE(n1,64,n3) TILE(k,128,k1) TILE(k1,32,k2) TC(m3,n3,k2,WE4M3_64) "
        "REG(n1) "
        "UNROLL(k1) STAGE(a,k,m3,k1+k2) STAGE(b,k,n1+n3,k1+k2)"};
    static const int64_t size[][3] = {{256, 128, 512}, {328, 200, 400}};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(size) * RG_COUNT(form); i++) {
        size_t f = i % RG_COUNT(form);
        const int64_t *s = size[i / RG_COUNT(form)];
        int stages = 2 + (f != 1 && i % 2);
        struct product x = {.m = s[0],
                            .n = s[1],
                            .k = s[2] * (1 + (f == 1)),
                            .tb = true,
                            .dt = "f8e4m3",
                            .opts = opts,
                            .plus = i == 1};
        snprintf(opts, sizeof opts, "%s PIPE(a,k,%d) PIPE(b,k,%d) WARP_SPECIALIZE(1) PERSISTENT(2)", form[f],
                 stages, stages);
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x)) FAIL("%s\n%s", opts, x.err.msg);
        uint32_t behind = 0;
        for (uint32_t k = 0, open = 0; k < x.lin.n; k++) {
            const uop *n = x.lin.u[k];
            open = n->op == OP_WGMMA_COMMIT ? 1 : n->op == OP_WGMMA_WAIT ? 0 : open;
            behind += n->op == OP_TMA_STORE && open;
        }
        if (behind != 2) FAIL("%s\n%u panels of 32 floats, not the two of a row", opts, behind);
        arena_free(&x.arena);
        product_check(&x, NULL);
    }
}

/* Unless they may stay in the tensor cores. */
TEST(dtypes_fast_sums) {
    static const struct form form[] = {{128, 64, 2, 1, 2, "WARP_SPECIALIZE(1) PERSISTENT(2)"},
                                       {128, 64, 2, 1, 3, ""}};
    char opts[1024];
    setenv("RIDGE_F8_FAST", "1", 1);
    env_reload();
    for (size_t i = 0; i < RG_COUNT(form); i++) {
        list(opts, sizeof opts, &types[0], &form[i]);
        struct product x = {.m = 200, .n = 80, .k = 400, .tb = true, .dt = types[0].dt, .opts = opts}, y = x;
        product_check(&x, NULL);
        arena_init(&y.arena, &y.err);
        if (err_guard(&y.err, product_compile, &y)) FAIL("%s", y.err.msg);
        count_parts(&y, false);
        arena_free(&y.arena);
    }
    unsetenv("RIDGE_F8_FAST");
    env_reload();
}

/* Of TF32, boxes are rounded on their way: 1 + 3/4096 becomes 1 + 1/1024, 1 + 1/4096 becomes 1. */
static void check_rounding(struct engine *en) {
    static const struct form form = {64, 64, 1, 1, 3, "WARP_SPECIALIZE(1)"};
    char opts[1024];
    float a[64 * 64], b[64 * 64], out[64 * 64];
    struct product x = {.m = 64, .n = 64, .k = 64, .tb = true, .dt = "f32", .opts = opts};
    list(opts, sizeof opts, &types[2], &form);
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
    for (int i = 0; i < 64 * 64; i++) {
        a[i] = i % 64 == 0 ? 1 + 3.0f / 4096 : i % 64 == 1 ? 1 + 1.0f / 4096 : 0;
        b[i] = i % 64 == i / 64 % 2 ? -1 : 0; /* even columns take the first, odd ones the second */
    }
    struct ref_buf bufs[3] = {
        {.p = a, .bytes = sizeof a}, {.p = b, .bytes = sizeof b}, {.p = out, .bytes = sizeof out}};
    const struct linear *lin = &x.lin;
    const struct ekernel *k = NULL;
    if (en ? engine_compile(en, &x.err, &lin, 1, &k) : ref_linear(&x.err, lin, bufs, 3, NULL, 0, lin->grid))
        FAIL("%s", x.err.msg);
    if (en) cuda_run(en, k, (void *[]){a, b, out}, (size_t[]){sizeof a, sizeof b, sizeof out}, NULL);
    for (int i = 0; i < 64 * 64; i++) CHECK(out[i] == (i % 2 ? -1.0f : -1.0009765625f));
    arena_free(&x.arena);
}

TEST(dtypes_rounds_floats) { check_rounding(NULL); }

/* Eight fp8 elements are eight bytes, where eight of 16 bits would be four words. */
TEST(dtypes_chunks_of_8_bits) {
    struct product x = {0};
    struct render_shape shape;
    struct str text;
    static const char *const dt[] = {"f8e4m3", "f8e5m2", "bf16"};
    for (int i = 0; i < 3; i++) {
        arena_init(&x.arena, &x.err);
        ir_init(&x.ir, &x.arena);
        struct program p = {0};
        const char *kernel = arena_printf(&x.arena,
                                          "kernel copy\na = (PARAM<%s>[0 a] 64)\no = (PARAM<%s>[1 o] 64)\n"
                                          "i = (RANGE[i GRID 0] 64)\n"
                                          "(SINK (STORE (INDEX o i) (LOAD (INDEX a i))))\n",
                                          dt[i], dt[i]);
        ir_parse(&x.ir, kernel, strlen(kernel), "copy.uop", &p);
        lower(&x.ir, &p.kernel.p[0],
              &(struct lower_opts){.opts = "TILE(i,8,v) VEC(v)", .target = {.kind = TARGET_GPU}}, &x.lin);
        str_init(&text, &x.arena);
        render_cuda(&text, &x.ir, &x.lin, false, &shape);
        bool words = strstr(text.p, "piece<u32, 4>"), bytes = strstr(text.p, "piece<f8e");
        if (words != (i == 2) || bytes != (i < 2)) FAIL("%s", text.p);
        arena_free(&x.arena);
    }
}

/* What the library chooses: a thread that copies, blocks that walk over tiles, and of 8 bits registers for a part beside the
 * sums (a thread has 240). Without warpgroups there is no instruction for 8 bits, nor for floats without RIDGE_TF32. */
TEST(dtypes_heuristic) {
    setenv("RIDGE_TF32", "1", 1);
    env_reload();
    for (size_t t = 0; t < RG_COUNT(types); t++)
        for (int size = 1024; size <= 8192; size *= 2) {
            struct product x = {.m = size, .n = size, .k = size, .tb = true, .dt = types[t].dt, .opts = ""};
            char instr[16];
            int m, m2, n;
            snprintf(instr, sizeof instr, "W%s_", types[t].instr);
            arena_init(&x.arena, &x.err);
            if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
            const char *list = opts_heuristic_gpu(&x.ir, &x.prog.kernel.p[0], GPU_OF_CC(90));
            const char *at = strstr(list, "TILE(n,"), *lanes = strstr(list, "TILE(m_t,"),
                       *rows = strstr(list, "TILE(m,");
            if (!strstr(list, instr) || !strstr(list, "WARP_SPECIALIZE(") || !at || !rows)
                FAIL("%d: %s", size, list);
            CHECK(sscanf(rows, "TILE(m,%d,", &m) == 1 && sscanf(at, "TILE(n,%d,", &n) == 1);
            m2 = lanes && sscanf(lanes, "TILE(m_t,%d,", &m2) == 1 ? m2 : m;
            int width =
                atoi(strstr(list, instr) + strlen(instr)); /* of an instruction: two may be side by side */
            if (types[t].bytes == 1 && (m2 * n + 64 * width) / 128 > 192)
                FAIL("%d: too many sums: %s", size, list);
            list = opts_heuristic_gpu(&x.ir, &x.prog.kernel.p[0], GPU_OF_CC(80));
            CHECK(!strstr(list, "WARP_SPECIALIZE(") && !!strstr(list, "TC(") == (types[t].bytes > 1));
            arena_free(&x.arena);
        }
    unsetenv("RIDGE_TF32");
    env_reload();
}

/* ---- the compiler's opinion, and a GPU ------------------------------------------------------------------------- */

/* For real sizes. */
static const struct form family[] = {
    {256, 128, 2, 1, 4, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
    {128, 192, 2, 1, 5, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
    {128, 128, 2, 1, 6, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
    {128, 128, 1, 1, 6, "WARP_SPECIALIZE(2) PERSISTENT(132)"},
    {64, 128, 1, 1, 8, "WARP_SPECIALIZE(1)"},
    {128, 128, 2, 1, 4, ""},
    {128, 256, 2, 1, 4, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
};
/* No register goes to memory, and no instruction of a group waits for another. */
TEST_SLOW(cuda_compile_dtypes, 300) {
    struct arena arena;
    struct err err = {0};
    char opts[1024];
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (size_t t = 0; t < RG_COUNT(types); t++)
        for (size_t i = t % 2; i < RG_COUNT(family); i += 2) { /* each form with two types */
            struct render_shape shape;
            struct dev_object o;
            cubin_vec code = {0};
            struct str text;
            struct product x = {.m = 4096, .n = 4608, .k = 2048, .tb = true, .dt = types[t].dt, .opts = opts};
            list(opts, sizeof opts, &types[t], &family[i]);
            arena_init(&x.arena, &x.err);
            if (err_guard(&x.err, product_compile, &x)) FAIL("%s\n%s", opts, x.err.msg);
            str_init(&text, &arena);
            render_cuda_preamble(&text);
            render_cuda(&text, &x.ir, &x.lin, false, &shape);
            const char *p = text.p;
            if (nvrtc_compile(&err, &arena, "sm_90a", &p, 1, &o) ||
                cubin_read(&err, &arena, o.data, o.n, &code))
                FAIL("%s\n%s", opts, err.msg);
            if (code.p[0].spills || code.p[0].stack || !code.p[0].matrix)
                FAIL("%s\n%u spills, %u bytes of stack, %u MMA instructions", opts, code.p[0].spills,
                     code.p[0].stack, code.p[0].matrix);
            if (o.log && (strstr(o.log, "serialized") || strstr(o.log, "injected")))
                FAIL("%s\n%s", opts, o.log);
            arena_free(&x.arena);
        }
    arena_free(&arena);
}

/* Random numbers, on a GPU, against sums in double. */
struct random_product {
    struct product p;
    const struct type *t;
    double *a, *b, *out; /* a[m][k], b[n][k] as the GPU has them */
};

static void fill_random(struct random_product *x, uint64_t seed) {
    enum dtype dt = dt_parse(x->t->dt, strlen(x->t->dt));
    double *to[2] = {x->a, x->b};
    for (int i = 0; i < 2; i++)
        for (int64_t k = 0; k < (i ? x->p.n : x->p.m) * x->p.k; k++) {
            uint64_t h = hash_u64(seed + 2 * (uint64_t)k + (uint64_t)i);
            to[i][k] = dt_round(dt, ((double)(h & 0xffffff) / 0x800000 - 1) * (h >> 60 ? 1 : 8));
        }
}

static void run_random(struct random_product *x, struct engine *en) {
    struct product *p = &x->p;
    enum dtype dt = dt_parse(p->dt, strlen(p->dt));
    size_t na = (size_t)(p->m * p->k), nb = (size_t)(p->n * p->k), no = (size_t)(p->m * p->n),
           size = (size_t)x->t->bytes;
    char *a = arena_alloc(&p->arena, na * size), *b = arena_alloc(&p->arena, nb * size);
    float *out = arena_array(&p->arena, float, no);
    for (size_t i = 0; i < na; i++) ref_write(dt, a + i * size, (union ref_val){.f = x->a[i]});
    for (size_t i = 0; i < nb; i++) ref_write(dt, b + i * size, (union ref_val){.f = x->b[i]});
    const struct linear *lin = &p->lin;
    const struct ekernel *k;
    if (engine_compile(en, &p->err, &lin, 1, &k)) FAIL("%s\n%s", p->opts, p->err.msg);
    cuda_run(en, k, (void *[]){a, b, out}, (size_t[]){na * size, nb * size, no * 4}, NULL);
    for (size_t i = 0; i < no; i++) x->out[i] = (double)out[i];
}

/* How wrong one element may be. 8 bits: an instruction adds 32 products and the part so far, each cut to 13 digits behind the
 * first of the largest; TF32: each factor has 11 digits, rounded by boxes, else cut; sums of floats. */
static double bound_of(const struct random_product *x, const double *a, const double *b, double all) {
    double part = 0, cut = 0;
    for (int64_t k = 0; k < x->p.k; k += 32) {
        double most = fabs(part = k % 128 ? part : 0);
        for (int64_t i = k; i < RG_MIN(k + 32, x->p.k); i++)
            most = fmax(most, fabs(a[i] * b[i])), part += a[i] * b[i];
        cut += 33 * ldexp(most, -13);
    }
    double sums = all * ldexp((double)x->p.k / 16 + 2, -23);
    return sums + (x->t->bytes == 1   ? cut
                   : x->t->bytes == 4 ? all * ldexp(1.001, strstr(x->p.opts, "WARP_SPECIALIZE") ? -10 : -9)
                                      : 0);
}

/* The greatest errors, in parts of the bound and of the sum of magnitudes. */
static void check_random(struct random_product *x, double worst[2]) {
    for (int64_t i = 0; i < x->p.m; i++)
        for (int64_t j = 0; j < x->p.n; j++) {
            const double *a = x->a + i * x->p.k, *b = x->b + j * x->p.k;
            double sum = 0, all = 0, got = x->out[i * x->p.n + j];
            for (int64_t k = 0; k < x->p.k; k++) sum += a[k] * b[k], all += fabs(a[k] * b[k]);
            double bound = bound_of(x, a, b, all);
            worst[0] = fmax(worst[0], fabs(got - sum) / bound),
            worst[1] = fmax(worst[1], fabs(got - sum) / all);
            if (!(fabs(got - sum) <= bound))
                FAIL("%s\nelement %lld, %lld is %.9g, not %.9g: off by %g, at most %g", x->p.opts,
                     (long long)i, (long long)j, got, sum, fabs(got - sum), bound);
        }
}

TEST_MANUAL(cuda_gpu_dtypes, 120) {
    struct engine *en = cuda_engine();
    struct dev_info info;
    struct err e = {0};
    char opts[1024];
    CHECK(!en->ops->info(en->dev, &e, &info));
    if (info.major != 9) SKIP("a GPU of compute capability 9.0 is needed");
    check_rounding(en);
    for (size_t t = 0; t < RG_COUNT(types); t++) {
        double worst[2] = {0, 0};
        for (size_t i = 0; i < RG_COUNT(family); i++) {
            list(opts, sizeof opts, &types[t], &family[i]);
            struct product exact = {
                .m = 264, .n = 136, .k = 400, .tb = true, .dt = types[t].dt, .opts = opts};
            if (i < 2) product_check(&exact, en);
            struct random_product x = {
                .p = {.m = 136, .n = 72, .k = 1072, .tb = true, .dt = types[t].dt, .opts = opts},
                .t = &types[t]};
            struct product *p = &x.p;
            arena_init(&p->arena, &p->err);
            if (err_guard(&p->err, product_compile, p)) FAIL("%s\n%s", opts, p->err.msg);
            x.a = arena_array(&p->arena, double, (size_t)(p->m * p->k));
            x.b = arena_array(&p->arena, double, (size_t)(p->n * p->k));
            x.out = arena_array(&p->arena, double, (size_t)(p->m * p->n));
            fill_random(&x, 77 * i + t);
            run_random(&x, en);
            check_random(&x, worst);
            arena_free(&p->arena);
        }
        TEST_INFO("%s: errors up to %.3f of the bound, 2^%.1f of the sum of magnitudes", types[t].instr,
                  worst[0], log2(worst[1]));
    }
    engine_close(en);
}
