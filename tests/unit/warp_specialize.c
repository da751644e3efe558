/* Tests of warp specialization (src/codegen/gpu/warp_specialize.c, tma_tile.c): GEMMs whose tiles a producer loads by TMA, in
 * the interpreter, which lets loads land as late as they may and finds missing waits; exact, because the numbers are
 * small integers. Each omitted op of the protocol is detected. Tiles that TMA cannot load are refused with the reason. */
#include "gemm_test.h"
#include "irtest.h"

/* Tiles of 64 w x n by instructions of 64 x n; WARP_SPECIALIZE(consumers) PERSISTENT(blocks) at the end. */
static const char *list(char *out, size_t room, int w, int n, bool ta, bool tb, int stages, const char *ws) {
    char m[32] = "TILE(m,64,m3)", lane[16] = "", mm[16] = "m3";
    if (w > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,64,m3)", 64 * w);
        snprintf(lane, sizeof lane, "THREAD(m1)"), snprintf(mm, sizeof mm, "m1+m3");
    }
    snprintf(out, room,
             "%s TILE(n,%d,n3) TILE(k,64,k1) TILE(k1,16,k2) TC(m3,n3,k2,WBF16_%d) %s UNROLL(k1) "
             "STAGE(a,k,%s%s%s) STAGE(b,k,%s) PIPE(a,k,%d) PIPE(b,k,%d) %s",
             m, n, n, lane, ta ? "k1+k2," : "", mm, ta ? "" : ",k1+k2", tb ? "n3,k1+k2" : "k1+k2,n3", stages,
             stages, ws);
    return out;
}

/* Opt lists of real sizes: tile, warpgroups along m, stages. */
static const struct {
    int m, n, w, stages;
    const char *ws;
} family[] = {
    {128, 256, 2, 4, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
    {128, 192, 1, 5, "WARP_SPECIALIZE(2) PERSISTENT(132)"},
    {128, 128, 1, 6, "WARP_SPECIALIZE(2) PERSISTENT(132)"},
    {256, 128, 2, 4, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
    {256, 192, 2, 3, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
    {128, 128, 2, 6, "WARP_SPECIALIZE(1)"},
    {64, 128, 1, 8, "WARP_SPECIALIZE(1)"},
    {64, 64, 1, 8, "WARP_SPECIALIZE(1)"},
    {192, 192, 3, 4, "WARP_SPECIALIZE(1)"},
    {192, 192, 3, 3, "WARP_SPECIALIZE(1) PERSISTENT(132)"},
};

static const char *family_list(char *out, size_t room, size_t i, const char *type, bool tb) {
    int w = family[i].w, reg = family[i].m / w / 64;
    char m[64] = "TILE(m,64,m3)", marks[32] = "", all[16] = "m3";
    if (w > 1 && reg > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,%d,m2) TILE(m2,64,m3)", family[i].m, 64 * reg);
        snprintf(marks, sizeof marks, " THREAD(m1) REG(m2)"), snprintf(all, sizeof all, "m1+m2+m3");
    } else if (w > 1 || reg > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,64,m3)", family[i].m);
        snprintf(marks, sizeof marks, w > 1 ? " THREAD(m1)" : " REG(m1)"), snprintf(all, sizeof all, "m1+m3");
    }
    snprintf(out, room,
             "%s TILE(n,%d,n3) TILE(k,64,k1) TILE(k1,16,k2) TC(m3,n3,k2,W%s_%d)%s UNROLL(k1) "
             "STAGE(a,k,%s,k1+k2) STAGE(b,k,%s) PIPE(a,k,%d) PIPE(b,k,%d) %s",
             m, family[i].n, type, family[i].n, marks, all, tb ? "n3,k1+k2" : "k1+k2,n3", family[i].stages,
             family[i].stages, family[i].ws);
    return out;
}

/* So that each walks over many tiles. */
static void fewer_blocks(char *opts) {
    char *p = strstr(opts, "(132)");
    if (p) memcpy(p, "(007)", 5);
}

static void check(int64_t m, int64_t n, int64_t k, bool ta, bool tb, const char *opts) {
    struct product x = {.m = m, .n = n, .k = k, .ta = ta, .tb = tb, .dt = "bf16", .opts = opts};
    product_check(&x, NULL);
}

TEST(ws_gemms) {
    static const char *const ws[] = {"WARP_SPECIALIZE(1)", "WARP_SPECIALIZE(1) PERSISTENT(2)",
                                     "WARP_SPECIALIZE(2) PERSISTENT(1)", "WARP_SPECIALIZE(2) PERSISTENT(2)"};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(ws); i++)
        for (int lay = 0; lay < 4; lay++)
            for (int stages = 2; stages < 4; stages++) {
                int w = i < 2 && lay % 2 == 0 ? 2 : 1;
                list(opts, sizeof opts, w, 64, lay & 1, lay & 2, stages, ws[i]);
                check(128, 192, 192, lay & 1, lay & 2, opts);
            }
}

/* All of k is in one tile: a pipeline of output tiles. */
TEST(ws_one_k_tile) {
    static const char *const ws[] = {"WARP_SPECIALIZE(1) PERSISTENT(2)", "WARP_SPECIALIZE(2) PERSISTENT(1)",
                                     "WARP_SPECIALIZE(2) PERSISTENT(2)"};
    char opts[1024];
    for (int i = 0; i < 3 * 4 * 2 * 2; i++) {
        bool ta = i & 1, tb = i & 2, plus = i & 4, edge = i & 8;
        snprintf(opts, sizeof opts,
                 "TILE(m,64,m3) TILE(n,64,n3) TILE(k,32,k1) TILE(k1,16,k2) TC(m3,n3,k2,WBF16_64) UNROLL(k1) "
                 "STAGE(a,n,%s) STAGE(b,n,%s) PIPE(a,n,3) PIPE(b,n,3) %s",
                 ta ? "k+k1+k2,m3" : "m3,k+k1+k2", tb ? "n3,k+k1+k2" : "k+k1+k2,n3", ws[i / 16]);
        struct product x = {
            .m = edge ? 200 : 256, .n = edge ? 136 : 192, .k = 64, .ta = ta, .tb = tb, .dt = "bf16"};
        x.opts = opts, x.plus = plus;
        product_check(&x, NULL);
    }
}

static bool to_shared(const uop *n, enum op op) { return n->op == op && access_buf(n)->op == OP_LOCAL; }

/* A residual: loaded by TMA into the panels of the results. Results overwrite it, four at a time: the residual of the others is read before the first is stored. */
TEST(ws_residual) {
    static const char *const ws[] = {"WARP_SPECIALIZE(1)", "WARP_SPECIALIZE(1) PERSISTENT(2)",
                                     "WARP_SPECIALIZE(2) PERSISTENT(1)", "WARP_SPECIALIZE(2) PERSISTENT(2)"};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(ws); i++)
        for (int edge = 0; edge < 2; edge++) {
            struct product x = {
                .m = edge ? 200 : 256, .n = edge ? 136 : 192, .k = 192, .tb = true, .dt = "bf16"};
            list(opts, sizeof opts, i < 2 ? 2 : 1, 64, false, true, 3, ws[i]);
            x.opts = opts, x.plus = true;
            uint32_t loads = 0, boxes = 0, stores = 0, pairs = 0;
            arena_init(&x.arena, &x.err);
            if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
            for (uint32_t k = 0; k < x.lin.n; k++) {
                const uop *n = x.lin.u[k];
                loads += n->op == OP_LOAD && access_buf(n)->op == OP_PARAM;
                boxes += n->op == OP_TMA_LOAD;
                stores += to_shared(n, OP_STORE);
                pairs += to_shared(n, OP_STORE) && to_shared(x.lin.u[k + 1], OP_STORE);
            }
            CHECK_EQ(loads, 0);
            CHECK_EQ(stores, 16); /* of 64 x 64 / 128 floats, two at once */
            CHECK_EQ(pairs, 12);  /* stores that another follows */
            CHECK_EQ(boxes, 4);   /* of a, of b, two panels of 32 floats */
            arena_free(&x.arena);
            product_check(&x, NULL);
        }
}

/* A tile with more panels than fit next to its stages: they are filled with the residual of further panels once they are
 * stored; two of eight, three of six, four of eight, one of six for each warpgroup. */
TEST(ws_residual_refills) {
    static const struct {
        int w, n, stages, panels, fit;
        const char *ws;
    } form[] = {{1, 256, 5, 8, 2, "WARP_SPECIALIZE(1) PERSISTENT(2)"},
                {1, 192, 6, 6, 3, "WARP_SPECIALIZE(1) PERSISTENT(1)"},
                {2, 256, 3, 8, 4, "WARP_SPECIALIZE(1)"},
                {2, 192, 5, 6, 1, "WARP_SPECIALIZE(1) PERSISTENT(1)"}};
    for (size_t i = 0; i < RG_COUNT(form); i++) {
        char opts[1024];
        struct product x = {.m = 64 * form[i].w * 2 - 8, .n = form[i].n, .k = 136, .tb = true, .dt = "bf16"};
        x.opts = list(opts, sizeof opts, form[i].w, form[i].n, false, true, form[i].stages, form[i].ws);
        x.plus = true;
        uint32_t loads = 0, boxes = 0, waits = 0;
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
        for (uint32_t k = 0; k < x.lin.n; k++) {
            loads += x.lin.u[k]->op == OP_LOAD && access_buf(x.lin.u[k])->op == OP_PARAM;
            boxes += x.lin.u[k]->op == OP_TMA_LOAD;
            waits += x.lin.u[k]->op == OP_TMA_STORE_WAIT;
        }
        CHECK_EQ(loads, 0);
        CHECK_EQ(boxes, 2u + (uint32_t)form[i].panels);                 /* a, b */
        CHECK_EQ(waits, 2u + (uint32_t)(form[i].panels - form[i].fit)); /* before, after, each refill */
        arena_free(&x.arena);
        product_check(&x, NULL);
    }
}

/* Warpgroups along m, columns of an instruction, tiles of a thread, blocks, pipeline stages; rows and columns. */
static const struct cluster {
    int w, n, reg, parts, stages;
    int64_t m, columns;
} clusters[] = {{1, 64, 1, 2, 2, 128, 128},  {2, 128, 1, 2, 2, 136, 192}, {2, 128, 1, 4, 3, 128, 128},
                {1, 128, 2, 4, 2, 128, 136}, {2, 128, 2, 2, 2, 256, 128}, {3, 64, 1, 2, 2, 192, 64},
                {2, 256, 1, 4, 4, 128, 256}};

/* Split-K in a cluster: blocks exchange partial sums by DSMEM and add them in the order of ranks. */
static const char *cluster_list(char *out, size_t room, const struct cluster *c, bool tb, int64_t part) {
    char m[64] = "TILE(m,64,m3)", marks[32] = "", all[16] = "m3";
    int w = c->w, n = c->n, reg = c->reg;
    if (w > 1 && reg > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,%d,m2) TILE(m2,64,m3)", 64 * w * reg, 64 * reg);
        snprintf(marks, sizeof marks, " THREAD(m1) REG(m2)"), snprintf(all, sizeof all, "m1+m2+m3");
    } else if (w > 1 || reg > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,64,m3)", 64 * w * reg);
        snprintf(marks, sizeof marks, w > 1 ? " THREAD(m1)" : " REG(m1)"), snprintf(all, sizeof all, "m1+m3");
    }
    snprintf(out, room,
             "TILE(k,%lld,kc) CLUSTER(k) %s TILE(n,%d,n3) TILE(kc,64,k1) TILE(k1,16,k2) "
             "TC(m3,n3,k2,WBF16_%d)%s UNROLL(k1) STAGE(a,kc,%s,k1+k2) STAGE(b,kc,%s) PIPE(a,kc,%d) "
             "PIPE(b,kc,%d) WARP_SPECIALIZE(1)",
             (long long)part, m, n, n, marks, all, tb ? "n3,k1+k2" : "k1+k2,n3", c->stages, c->stages);
    return out;
}

static void check_clusters(const struct cluster *form, size_t n, struct engine *en) {
    char opts[1024];
    for (size_t i = 0; i < n; i++)
        for (int lay = 0; lay < 4; lay += en && lay == 0 ? 3 : 1) { /* compiling for a GPU takes a while */
            struct product x = {.m = form[i].m, .n = form[i].columns, .tb = lay & 1, .dt = "bf16"};
            x.k = 128 * form[i].parts, x.plus = lay & 2;
            x.opts = cluster_list(opts, sizeof opts, &form[i], x.tb, 128);
            product_check(&x, en);
        }
}

TEST(ws_clusters) { check_clusters(clusters, RG_COUNT(clusters) - 1, NULL); }

/* The DSMEM buffer aliases the pipeline: a block of 128 x 256 has no other room. */
TEST_SLOW(ws_clusters_over_tiles, 60) {
    const struct cluster *form = &clusters[RG_COUNT(clusters) - 1];
    char opts[1024];
    struct product x = {.m = 128, .n = 256, .k = 512, .tb = true, .dt = "bf16"};
    x.opts = cluster_list(opts, sizeof opts, form, true, 128);
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
    uint32_t over = 0;
    for (uint32_t i = 0; i < x.lin.nlocal; i++) over += x.lin.local[i]->nsrc > 1;
    CHECK_EQ(over, 1);
    CHECK(x.lin.shared <= 232448);
    arena_free(&x.arena);
    product_check(&x, NULL);
}

/* What blocks tell each other cannot be left out either. */
TEST(ws_clusters_protocol) {
    static const enum op op[] = {OP_CLUSTER_SYNC, OP_DSMEM_STORE, OP_WGMMA_WAIT};
    char opts[1024];
    struct product x = {.m = 64, .n = 64, .k = 512, .tb = true, .dt = "bf16"};
    x.opts = cluster_list(opts, sizeof opts, &clusters[0], true, 256);
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
    CHECK_EQ(x.lin.cluster, 2);
    CHECK_EQ(x.lin.grid, 2);
    uint16_t *a = arena_array(&x.arena, uint16_t, 64 * 512), *b = arena_array(&x.arena, uint16_t, 64 * 512);
    float *out = arena_array(&x.arena, float, 64 * 64);
    struct ref_buf bufs[3] = {
        {.p = a, .bytes = 64 * 512 * 2}, {.p = b, .bytes = 64 * 512 * 2}, {.p = out, .bytes = 64 * 64 * 4}};
    CHECK_EQ(ref_linear(&x.err, &x.lin, bufs, 3, NULL, 0, 2), 0);
    CHECK_EQ(ref_linear(&x.err, &x.lin, bufs, 3, NULL, 0, 1), RG_EINVAL); /* half a cluster */
    err_clear(&x.err);
    uint32_t found = 0;
    for (uint32_t i = 0; i < x.lin.n; i++) {
        bool one = false;
        for (size_t k = 0; k < RG_COUNT(op); k++) one |= x.lin.u[i]->op == op[k];
        if (!one) continue;
        struct linear less = linear_without(&x.arena, &x.lin, i);
        found++;
        if (ref_linear(&x.err, &less, bufs, 3, NULL, 0, 2) != RG_EVERIFY)
            FAIL("entry %u, %s: not missed", i, op_info[x.lin.u[i]->op].name);
        err_clear(&x.err);
    }
    CHECK(found > 10);
    arena_free(&x.arena);
}

TEST(ws_clusters_say_why) {
    static const struct {
        const char *opts, *says;
    } bad[] = {
        {"TILE(k,64,kc) CLUSTER(k)", "a cluster has 2 .. 4 blocks"},
        {"TILE(k,256,kc) CLUSTER(m)", "has another use than to be summed over"},
        {"TILE(k,256,kc) CLUSTER(k)", "WARP_SPECIALIZE(1), one TC and no PERSISTENT"},
        {"TILE(k,256,kc) CLUSTER(k) CLUSTER(kc)", "one cluster already"},
    };
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        struct product x = {.m = 64, .n = 64, .k = 512, .tb = true, .dt = "bf16", .opts = bad[i].opts};
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x) != RG_EOPT || !strstr(x.err.msg, bad[i].says))
            FAIL("%s: %s", bad[i].opts, x.err.msg);
        arena_free(&x.arena);
    }
}

/* Rows and columns that end inside of a tile: zeros from outside of the map, stores that are left out. */
TEST(ws_edges) {
    static const int64_t size[][3] = {{136, 72, 136}, {72, 200, 200}, {8, 64, 128}, {200, 72, 72}};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(size); i++)
        for (int lay = 0; lay < 4; lay++) {
            struct product x = {.m = size[i][0], .n = size[i][1], .k = size[i][2]};
            char padded[1100];
            list(opts, sizeof opts, 1, 64, lay & 1, lay & 2, 3,
                 i & 1 ? "WARP_SPECIALIZE(2) PERSISTENT(2)" : "WARP_SPECIALIZE(1) PERSISTENT(3)");
            snprintf(padded, sizeof padded, "%s%s", x.m < 64 ? "PADTO(m,64) " : "", opts);
            check(x.m, x.n, x.k, lay & 1, lay & 2, padded);
        }
}

/* Unaligned rows of results, 16-bit and fp32: through shared memory too, by vectors that are aligned to 16
 * bytes in memory (a store of 16 bytes elsewhere is refused), and what is left of a row one by one. One element more and less
 * than tiles have, rows that end in a tile's first column, few rows, short ones. */
TEST(ws_unaligned_rows) {
    static const int64_t size[][3] = {{129, 65, 192}, {127, 63, 136},  {65, 131, 128}, {64, 129, 128},
                                      {130, 66, 128}, {191, 257, 128}, {2, 77, 128},   {70, 7, 128}};
    static const char *const ws[] = {"WARP_SPECIALIZE(1)", "WARP_SPECIALIZE(1) PERSISTENT(2)",
                                     "WARP_SPECIALIZE(2) PERSISTENT(2)"};
    char opts[1024], padded[1100];
    for (size_t i = 0; i < RG_COUNT(size) * 4; i++) {
        const int64_t *s = size[i / 4];
        bool wide = i & 1;
        list(opts, sizeof opts, 1 + (i % 3 < 2), wide ? 128 : 64, false, true, 2, ws[i % 3]);
        snprintf(padded, sizeof padded, "PADTO(m,128) PADTO(n,%d) %s", wide ? 128 : 64, opts);
        struct product x = {
            .m = s[0], .n = s[1], .k = s[2], .tb = true, .dt = "bf16", .opts = padded, .half = i & 2};
        product_check(&x, NULL);
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
        uint32_t pieces = 0, single = 0;
        for (uint32_t k = 0; k < x.lin.n; k++) {
            const uop *n = x.lin.u[k];
            if (n->op == OP_STORE && access_buf(n)->op == OP_PARAM)
                *(n->src[0]->lanes == (x.half ? 8 : 4) && uop_divides(access_offset(n), n->src[0]->lanes)
                      ? &pieces
                      : &single) += 1;
        }
        if ((!pieces && x.n > 15) || !single)
            FAIL("%s: %u stores of 16 bytes, %u of less", padded, pieces, single);
        arena_free(&x.arena);
    }
}

/* The same where there is no room for all columns of a tile at once: pieces that begin in the first half and end in the second,
 * rows that end around the middle. */
TEST(ws_unaligned_rows_in_two) {
    static const int64_t n[] = {381, 385, 387, 391, 393, 511, 513};
    char opts[1024], padded[1100];
    for (size_t i = 0; i < RG_COUNT(n); i++) {
        family_list(opts, sizeof opts, 0, "BF16", true);
        fewer_blocks(opts);
        snprintf(padded, sizeof padded, "PADTO(m,128) PADTO(n,256) %s", opts);
        struct product x = {
            .m = 75, .n = n[i], .k = 128, .tb = true, .dt = "bf16", .opts = padded, .half = true};
        product_check(&x, NULL);
    }
}

/* Without any one statement of the protocol the program is refused, or waits without an end, which is told. */
TEST(ws_protocol) {
    static const enum op op[] = {OP_MBAR_INIT, OP_MBAR_ARRIVE, OP_MBAR_WAIT,
                                 OP_BARRIER,   OP_WGMMA_WAIT,  OP_TMA_LOAD};
    char opts[1024];
    for (int form = 0; form < 5; form++) { /* the last: three panels of six, filled twice */
        int consumers = 1 + form % 2;
        struct product x = {.m = 128, .n = 192, .tb = true, .dt = "bf16", .plus = form > 1};
        x.k = form < 4 ? 256 : 576; /* more steps than stages */
        x.opts =
            list(opts, sizeof opts, 1, form < 4 ? 64 : 192, false, true, form < 4 ? 2 : 6,
                 consumers == 1 ? "WARP_SPECIALIZE(1) PERSISTENT(1)" : "WARP_SPECIALIZE(2) PERSISTENT(1)");
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
        size_t k_bytes = (size_t)x.k * 2;
        char *a = arena_alloc(&x.arena, 128 * k_bytes), *b = arena_alloc(&x.arena, 192 * k_bytes);
        memset(a, 0, 128 * k_bytes), memset(b, 0, 192 * k_bytes);
        float *out = arena_array(&x.arena, float, 128 * 192), *c = arena_array(&x.arena, float, 128 * 192);
        struct ref_buf bufs[4] = {{.p = a, .bytes = 128 * k_bytes},
                                  {.p = b, .bytes = 192 * k_bytes},
                                  {.p = out, .bytes = 128 * 192 * 4},
                                  {.p = c, .bytes = 128 * 192 * 4}};
        uint32_t n = x.plus ? 4 : 3;
        CHECK_EQ(ref_linear(&x.err, &x.lin, bufs, n, NULL, 0, 1), 0);
        uint32_t found = 0, missed = 0;
        for (uint32_t i = 0; i < x.lin.n; i++) {
            bool one = false;
            for (size_t k = 0; k < RG_COUNT(op); k++) one |= x.lin.u[i]->op == op[k];
            if (!one) continue;
            struct linear less = linear_without(&x.arena, &x.lin, i);
            int code = ref_linear(&x.err, &less, bufs, n, NULL, 0, 1);
            found++;
            if (code != RG_EVERIFY) {
                missed++;
                TEST_INFO("entry %u, %s: not missed", i, op_info[x.lin.u[i]->op].name);
            }
            err_clear(&x.err);
        }
        CHECK(found > 10);
        CHECK_EQ(missed, 0);
        arena_free(&x.arena);
    }
}

TEST(ws_say_why) {
    static const struct {
        int64_t m, n, k;
        bool tb;
        const char *more, *says;
    } bad[] = {
        {128, 64, 132, true, "WARP_SPECIALIZE(1)", "rows must be 16-byte aligned"},
        {128, 64, 128, true, "WARP_SPECIALIZE(3)", "expected 1 or 2 consumer warpgroups"},
        {128, 64, 128, true, "PERSISTENT(2)", "only blocks with WARP_SPECIALIZE"},
        {128, 64, 128, true, "WARP_SPECIALIZE(2)", "alternate over the tiles of PERSISTENT"},
        {128, 64, 128, true, "WARP_SPECIALIZE(1) PERSISTENT(0)", "expected 1 .. 65536 blocks"},
    };
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        char opts[1024];
        struct product x = {.m = bad[i].m, .n = bad[i].n, .k = bad[i].k, .tb = bad[i].tb, .dt = "bf16"};
        x.opts = list(opts, sizeof opts, 1, 64, false, bad[i].tb, 3, bad[i].more);
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x) != RG_EOPT || !strstr(x.err.msg, bad[i].says))
            FAIL("%s: %s", bad[i].more, x.err.msg);
        arena_free(&x.arena);
    }
    char opts[1024];
    struct product x = {.m = 256, .n = 64, .k = 128, .tb = true, .dt = "bf16"};
    x.opts = list(opts, sizeof opts, 4, 64, false, true, 3, "WARP_SPECIALIZE(1)"); /* four warpgroups */
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, product_compile, &x) != RG_EOPT ||
        !strstr(x.err.msg, "there are registers for 384"))
        FAIL("%s", x.err.msg);
    arena_free(&x.arena);
}

/* Steps of 128 terms by instructions of 96: the rest of the second must be zeros, and a box would bring the next step's terms. */
TEST(ws_partial_k_steps) {
    for (int tb = 0; tb < 2; tb++) {
        char opts[1024];
        struct product x = {.m = 64, .n = 64, .k = 256, .tb = tb, .dt = "bf16", .opts = opts};
        snprintf(opts, sizeof opts,
                 "TILE(m,64,m3) TILE(n,64,n3) TILE(k,128,k1) TILE(k1,96,k2) TC(m3,n3,k2,WBF16_64) UNROLL(k1) "
                 "STAGE(a,k,m3,k1+k2) STAGE(b,k,%s) PIPE(a,k,3) PIPE(b,k,3) WARP_SPECIALIZE(1)",
                 tb ? "n3,k1+k2" : "k1+k2,n3");
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x) != RG_EOPT ||
            !strstr(x.err.msg, "its predicate is not a bound"))
            FAIL("%s: %s", opts, x.err.msg);
        arena_free(&x.arena);
    }
}

/* ---- results that something is done to ---------------------------------------------------------------------- */

struct finish {
    int64_t m, n, k;
    const char *dt, *opts;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
    uint32_t boxes; /* stores by them */
};

/* out = half(relu(a b^T + bias) + more), and a second output, the plain sums. */
static void compile_finish(void *arg) {
    struct finish *x = arg;
    struct program p = {0};
    const char *text = arena_printf(
        &x->arena,
        "kernel finish\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\nbias = (PARAM<f32>[2 bias] "
        "%lld)\n"
        "more = (PARAM<%s>[3 more] %lld)\nout = (PARAM<%s>[4 out] %lld)\nsums = (PARAM<f32>[5 sums] %lld)\n"
        "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
        "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m %lld) k))))\ny = (CAST<f32> (LOAD (INDEX b (ADD (MUL n "
        "%lld) k))))\n"
        "r = (REDUCE[ADD] (MUL x y) k)\nat = (ADD (MUL m %lld) n)\n"
        "v = (ADD (MAX (ADD r (LOAD (INDEX bias n))) 0.0) (CAST<f32> (LOAD (INDEX more at))))\n"
        "(SINK (STORE (INDEX out at) (CAST<%s> v)) (STORE (INDEX sums at) r))\n",
        x->dt, (long long)(x->m * x->k), x->dt, (long long)(x->n * x->k), (long long)x->n, x->dt,
        (long long)(x->m * x->n), x->dt, (long long)(x->m * x->n), (long long)(x->m * x->n), (long long)x->m,
        (long long)x->n, (long long)x->k, (long long)x->k, (long long)x->k, (long long)x->n, x->dt);
    ir_init(&x->ir, &x->arena);
    ir_parse(&x->ir, text, strlen(text), "finish.uop", &p);
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .keep_math = true}};
    lower(&x->ir, &p.kernel.p[0], &o, &x->lin);
}

static void check_finish(struct finish *x, struct engine *en) {
    arena_init(&x->arena, &x->err);
    if (err_guard(&x->err, compile_finish, x)) FAIL("%s\n%s", x->opts, x->err.msg);
    for (uint32_t k = 0; k < x->lin.n; k++) x->boxes += x->lin.u[k]->op == OP_TMA_STORE;
    enum dtype dt = dt_parse(x->dt, strlen(x->dt)), type[] = {dt, dt, DT_F32, dt, dt, DT_F32};
    int64_t count[] = {x->m * x->k, x->n * x->k, x->n, x->m * x->n, x->m * x->n, x->m * x->n};
    struct ref_buf buf[6];
    void *p[6];
    size_t bytes[6];
    for (int i = 0; i < 6; i++) {
        size_t size = dtype_info[type[i]].bytes;
        bytes[i] = (size_t)count[i] * size, p[i] = arena_alloc(&x->arena, bytes[i]);
        for (int64_t k = 0; k < count[i]; k++)
            ref_write(type[i], (char *)p[i] + (size_t)k * size,
                      (union ref_val){.f = i < 4 ? product_small((uint64_t)(k + 7 * i)) : -77});
        buf[i] = (struct ref_buf){.p = p[i], .bytes = bytes[i]};
    }
    if (en) {
        const struct linear *lin = &x->lin;
        const struct ekernel *k;
        if (engine_compile(en, &x->err, &lin, 1, &k)) FAIL("%s\n%s", x->opts, x->err.msg);
        cuda_run(en, k, p, bytes, NULL);
    } else if (ref_linear(&x->err, &x->lin, buf, 6, NULL, 0, x->lin.grid)) {
        FAIL("%s\n%s", x->opts, x->err.msg);
    }
    for (int64_t i = 0; i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t at = i * x->n + j;
            int sum = 0;
            for (int64_t k = 0; k < x->k; k++)
                sum += product_small((uint64_t)(i * x->k + k)) * product_small((uint64_t)(j * x->k + k + 7));
            int v = sum + product_small((uint64_t)(j + 14));
            double want = dt_round(dt, (v > 0 ? v : 0) + product_small((uint64_t)(at + 21)));
            double got = ref_number(dt, ref_read(dt, (char *)p[4] + (size_t)at * 2));
            if (got != want || ((float *)p[5])[at] != (float)sum)
                FAIL("%s\nelement %lld, %lld is %g and %g, not %g and %d", x->opts, (long long)i,
                     (long long)j, got, ((float *)p[5])[at], want, sum);
        }
    arena_free(&x->arena);
}

/* Stored as boxes where rows begin at multiples of 16 bytes, and one by one where they do not. */
TEST(ws_epilogue) {
    static const int64_t size[][3] = {{128, 192, 128}, {136, 72, 136}, {200, 200, 200}, {128, 70, 128}};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(size); i++)
        for (int w = 1; w < 3; w++) {
            list(opts, sizeof opts, w, 64, false, true, 3,
                 w == 2 ? "WARP_SPECIALIZE(1) PERSISTENT(2)" : "WARP_SPECIALIZE(2) PERSISTENT(2)");
            struct finish x = {.m = size[i][0], .n = size[i][1], .k = size[i][2], .dt = "bf16", .opts = opts};
            check_finish(&x, NULL);
            CHECK(x.n % 8 ? x.boxes == 0 : x.boxes > 0);
        }
}

enum { MANY = 10 };

/* A product with more results than there are tensor maps: the first leave as boxes, threads store the others. */
static void compile_many(void *arg) {
    struct finish *x = arg;
    struct program p = {0};
    struct str s;
    str_init(&s, &x->arena);
    str_printf(&s, "kernel many\na = (PARAM<bf16>[0 a] %lld)\nb = (PARAM<bf16>[1 b] %lld)\n",
               (long long)(x->m * x->k), (long long)(x->n * x->k));
    for (int i = 0; i < MANY; i++)
        str_printf(&s, "out%d = (PARAM<bf16>[%d out%d] %lld)\n", i, i + 2, i, (long long)(x->m * x->n));
    str_printf(&s,
               "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
               "x = (CAST<f32> (LOAD (INDEX a (ADD (MUL m %lld) k))))\n"
               "y = (CAST<f32> (LOAD (INDEX b (ADD (MUL n %lld) k))))\n"
               "r = (REDUCE[ADD] (MUL x y) k)\nat = (ADD (MUL m %lld) n)\n(SINK",
               (long long)x->m, (long long)x->n, (long long)x->k, (long long)x->k, (long long)x->k,
               (long long)x->n);
    for (int i = 0; i < MANY; i++)
        str_printf(&s, " (STORE (INDEX out%d at) (CAST<bf16> (ADD r %d.0)))", i, i);
    str_printf(&s, ")\n");
    ir_init(&x->ir, &x->arena);
    ir_parse(&x->ir, s.p, s.n, "many.uop", &p);
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .keep_math = true}};
    lower(&x->ir, &p.kernel.p[0], &o, &x->lin);
    struct render_shape shape;
    str_init(&s, &x->arena);
    render_cuda(&s, &x->ir, &x->lin, false, &shape);
    CHECK_EQ(shape.maps, RENDER_MAPS);
}

TEST(ws_many_results) {
    char opts[1024];
    list(opts, sizeof opts, 2, 64, false, true, 3, "WARP_SPECIALIZE(1) PERSISTENT(2)");
    struct finish x = {.m = 128, .n = 128, .k = 128, .opts = opts};
    struct ref_buf buf[MANY + 2] = {0};
    arena_init(&x.arena, &x.err);
    if (err_guard(&x.err, compile_many, &x)) FAIL("%s\n%s", x.opts, x.err.msg);
    for (int i = 0; i < MANY + 2; i++) {
        buf[i].bytes = (size_t)(x.m * x.n) * 2, buf[i].p = arena_alloc(&x.arena, buf[i].bytes);
        for (int64_t k = 0; k < x.m * x.n; k++)
            ref_write(DT_BF16, (char *)buf[i].p + 2 * k,
                      (union ref_val){.f = i < 2 ? product_small((uint64_t)(k + 7 * i)) : -77});
    }
    if (ref_linear(&x.err, &x.lin, buf, MANY + 2, NULL, 0, x.lin.grid)) FAIL("%s", x.err.msg);
    for (int64_t at = 0; at < x.m * x.n; at++) {
        int sum = 0;
        for (int64_t k = 0; k < x.k; k++)
            sum += product_small((uint64_t)(at / x.n * x.k + k)) *
                   product_small((uint64_t)(at % x.n * x.k + k + 7));
        for (int i = 0; i < MANY; i++) {
            double got = ref_number(DT_BF16, ref_read(DT_BF16, (char *)buf[i + 2].p + 2 * at));
            if (got != dt_round(DT_BF16, sum + i))
                FAIL("result %d, element %lld is %g, not %d", i, (long long)at, got, sum + i);
        }
    }
    arena_free(&x.arena);
}

/* ---- the compiler's opinion, and a GPU ------------------------------------------------------------------------- */

/* No register goes to memory (but where sums take nearly all), no instruction of a group waits for another, registers are exchanged: NVIDIA's compiler says so. */
TEST_SLOW(cuda_compile_ws, 300) {
    struct arena arena;
    struct err err = {0};
    char opts[1024];
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (size_t i = 0; i < RG_COUNT(family); i++)
        for (int form = 0; form < 3;
             form++) { /* along k, across it, with results that something is done to */
            if (form != (int)i % 3 && form != 2 * ((int)i % 2)) continue; /* each with most of the tiles */
            struct render_shape shape;
            struct dev_object o;
            cubin_vec code = {0};
            struct str text;
            family_list(opts, sizeof opts, i, form == 1 ? "F16" : "BF16", form != 1);
            struct finish x = {.m = 4096, .n = 4608, .k = 1024, .dt = "bf16", .opts = opts};
            struct product y = {.m = 4096, .n = 4608, .k = 1024, .dt = "f16", .opts = opts};
            if (form < 2) y.dt = form ? "f16" : "bf16", y.tb = !form;
            arena_init(&x.arena, &x.err), arena_init(&y.arena, &y.err);
            struct err *e = form == 2 ? &x.err : &y.err;
            if (form == 2 ? err_guard(e, compile_finish, &x) : err_guard(e, product_compile, &y))
                FAIL("%s\n%s", opts, e->msg);
            str_init(&text, &arena);
            render_cuda_preamble(&text);
            render_cuda(&text, form == 2 ? &x.ir : &y.ir, form == 2 ? &x.lin : &y.lin, false, &shape);
            const char *p = text.p;
            if (nvrtc_compile(&err, &arena, "sm_90a", &p, 1, &o) ||
                cubin_read(&err, &arena, o.data, o.n, &code))
                FAIL("%s\n%s", opts, err.msg);
            bool full =
                family[i].m * family[i].n / family[i].w / 128 >= 192; /* registers, with results to finish */
            if (!(full && form == 2) && (code.p[0].spills || code.p[0].stack))
                FAIL("%s\n%u spills, %u bytes of stack", opts, code.p[0].spills, code.p[0].stack);
            if (o.log &&
                (strstr(o.log, "serialized") || strstr(o.log, "setmaxnreg") || strstr(o.log, "injected")))
                FAIL("%s\n%s", opts, o.log);
            CHECK(shape.maps >= 2 && code.p[0].matrix > 0);
            arena_free(&x.arena), arena_free(&y.arena);
        }
    arena_free(&arena);
}

/* Random sizes and lists again and again: no hang (waits are bounded), the right numbers every time. */
TEST_MANUAL(cuda_gpu_ws, 120) {
    struct engine *en = cuda_engine();
    struct dev_info info;
    struct err e = {0};
    char opts[1024];
    uint64_t rng = 1;
    CHECK(!en->ops->info(en->dev, &e, &info));
    if (info.major != 9) SKIP("a GPU of compute capability 9.0 is needed");
    for (int i = 0; i < 60; i++) {
        rng = hash_u64(rng);
        size_t f = rng % RG_COUNT(family);
        int64_t m = 8 * (int64_t)(1 + (rng >> 8) % 90), n = 8 * (int64_t)(1 + (rng >> 20) % 90),
                k = 8 * (int64_t)(17 + (rng >> 32) % 60);
        char padded[1200];
        bool tb = rng >> 40 & 1, finish = rng >> 41 & 1;
        family_list(opts, sizeof opts, f, "BF16", tb || finish);
        if (rng >> 42 & 1) fewer_blocks(opts);
        snprintf(padded, sizeof padded, "PADTO(m,%d) PADTO(n,%d) %s", family[f].m, family[f].n, opts);
        struct finish x = {.m = m, .n = n, .k = k, .dt = "bf16", .opts = padded};
        struct product y = {
            .m = m, .n = n, .k = k, .tb = tb, .dt = "bf16", .opts = padded, .plus = i % 3 == 0};
        for (char *p = strstr(padded, "PIPE("); p && y.plus; p = strstr(p + 1, "PIPE("))
            p[9] = '2'; /* room for panels to come through */
        if (finish)
            check_finish(&x, en);
        else
            product_check(&y, en);
    }
    engine_close(en);
}

struct repeat {
    struct product p;
    const struct ekernel *k;
    void *far[3];
    size_t bytes[3];
};

/* Thousands of launches of kernels of every form, in turns and without a pause: each result bit by bit that of the first. */
TEST_MANUAL(cuda_gpu_clusters, 120) {
    struct engine *en = cuda_engine();
    struct dev_info info;
    struct err e = {0};
    CHECK(!en->ops->info(en->dev, &e, &info));
    if (info.major != 9) SKIP("a GPU of compute capability 9.0 is needed");
    check_clusters(clusters, RG_COUNT(clusters), en);
    engine_close(en);
}

TEST_MANUAL(cuda_gpu_ws_repeat, 120) {
    enum { LAUNCHES = 4000, CHECKS = 20 };
    struct engine *en = cuda_engine();
    struct dev_info info;
    struct err e = {0};
    static struct repeat r[RG_COUNT(family)];
    static char opts[RG_COUNT(family)][1024];
    CHECK(!en->ops->info(en->dev, &e, &info));
    if (info.major != 9) SKIP("a GPU of compute capability 9.0 is needed");
    float *first[RG_COUNT(family)], *now = malloc(1032 * 1544 * 4);
    struct engine_list *l = engine_list_new(en, &e);
    for (size_t i = 0; i < RG_COUNT(family); i++) {
        struct product *p = &r[i].p;
        *p = (struct product){
            .m = 1032, .n = 1544, .k = 200 + 64 * (int64_t)i, .tb = i & 1, .dt = "bf16", .opts = opts[i]};
        family_list(opts[i], sizeof opts[i], i, "BF16", p->tb);
        fewer_blocks(opts[i]);
        arena_init(&p->arena, &p->err);
        if (err_guard(&p->err, product_compile, p)) FAIL("%s", p->err.msg);
        const struct linear *lin = &p->lin;
        if (engine_compile(en, &e, &lin, 1, &r[i].k)) FAIL("%s", e.msg);
        r[i].bytes[0] = (size_t)(p->m * p->k) * 2, r[i].bytes[1] = (size_t)(p->n * p->k) * 2;
        r[i].bytes[2] = (size_t)(p->m * p->n) * 4, first[i] = malloc(r[i].bytes[2]);
        uint16_t *host = malloc(r[i].bytes[1] + r[i].bytes[0]);
        for (size_t k = 0; k < (r[i].bytes[0] + r[i].bytes[1]) / 2; k++)
            ref_write(DT_BF16, &host[k], (union ref_val){.f = (double)(hash_u64(k + i) % 2001) / 1000 - 1});
        for (int k = 0; k < 3; k++) {
            r[i].far[k] = engine_alloc(en, &e, r[i].bytes[k]);
            if (!r[i].far[k] || (k < 2 && engine_copy(en, &e, COPY_IN, r[i].far[k],
                                                      host + (k ? p->m * p->k : 0), r[i].bytes[k])))
                FAIL("%s", e.msg);
        }
        free(host);
        for (int k = 0; k < LAUNCHES / CHECKS / (int)RG_COUNT(family); k++)
            CHECK(!engine_list_add(l, &e, r[i].k, r[i].far, NULL));
    }
    for (int c = 0; c < CHECKS; c++) {
        if (engine_list_run(l, &e)) FAIL("%s", e.msg);
        for (size_t i = 0; i < RG_COUNT(family); i++) {
            if (engine_copy(en, &e, COPY_OUT, c ? now : first[i], r[i].far[2], r[i].bytes[2]))
                FAIL("%s", e.msg);
            if (c && memcmp(now, first[i], r[i].bytes[2])) FAIL("%s: another result in round %d", opts[i], c);
        }
    }
    engine_list_free(l);
    for (size_t i = 0; i < RG_COUNT(family); i++) {
        for (int k = 0; k < 3; k++) engine_free(en, r[i].far[k], r[i].bytes[k]);
        free(first[i]);
        arena_free(&r[i].p.arena);
    }
    free(now);
    engine_close(en);
}
