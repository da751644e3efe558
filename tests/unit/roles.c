/* Tests of threads with roles (src/codegen/roles.c, box.c): products whose tiles are copied as boxes by a thread of its own, in
 * the interpreter, which lets copies come as late as they may and finds who does not wait; exact, because the numbers are
 * small integers. What is left out of the protocol is found. Boxes that are none are refused with the reason. */
#include "product.h"

/* Tiles of 64 w x n by instructions of 64 x n; ROLES(teams) PERSIST(blocks) at the end. */
static const char *list(char *out, size_t room, int w, int n, bool ta, bool tb, int places,
                        const char *roles) {
    char m[32] = "TILE(m,64,m3)", lane[16] = "", mm[16] = "m3";
    if (w > 1) {
        snprintf(m, sizeof m, "TILE(m,%d,m1) TILE(m1,64,m3)", 64 * w);
        snprintf(lane, sizeof lane, "LANE(m1)"), snprintf(mm, sizeof mm, "m1+m3");
    }
    snprintf(out, room,
             "%s TILE(n,%d,n3) TILE(k,64,k1) TILE(k1,16,k2) TC(m3,n3,k2,WBF16_%d) %s UNROLL(k1) "
             "STAGE(a,k,%s%s%s) STAGE(b,k,%s) PIPE(a,k,%d) PIPE(b,k,%d) %s",
             m, n, n, lane, ta ? "k1+k2," : "", mm, ta ? "" : ",k1+k2", tb ? "n3,k1+k2" : "k1+k2,n3", places,
             places, roles);
    return out;
}

static void check(int64_t m, int64_t n, int64_t k, bool ta, bool tb, const char *opts) {
    struct product x = {.m = m, .n = n, .k = k, .ta = ta, .tb = tb, .dt = "bf16", .opts = opts};
    product_check(&x, NULL);
}

TEST(roles_products) {
    static const char *const roles[] = {"ROLES(1)", "ROLES(1) PERSIST(2)", "ROLES(2) PERSIST(1)",
                                        "ROLES(2) PERSIST(2)"};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(roles); i++)
        for (int lay = 0; lay < 4; lay++)
            for (int places = 2; places < 4; places++) {
                int w = i < 2 && lay % 2 == 0 ? 2 : 1;
                list(opts, sizeof opts, w, 64, lay & 1, lay & 2, places, roles[i]);
                check(128, 192, 192, lay & 1, lay & 2, opts);
            }
}

/* Rows and columns that end inside of a tile: zeros from outside of the map, stores that are left out. */
TEST(roles_edges) {
    static const int64_t size[][3] = {{136, 72, 136}, {72, 200, 200}, {8, 64, 128}, {200, 72, 72}};
    char opts[1024];
    for (size_t i = 0; i < RG_COUNT(size); i++)
        for (int lay = 0; lay < 4; lay++) {
            struct product x = {.m = size[i][0], .n = size[i][1], .k = size[i][2]};
            char padded[1100];
            list(opts, sizeof opts, 1, 64, lay & 1, lay & 2, 3,
                 i & 1 ? "ROLES(2) PERSIST(2)" : "ROLES(1) PERSIST(3)");
            snprintf(padded, sizeof padded, "%s%s", x.m < 64 ? "PADTO(m,64) " : "", opts);
            check(x.m, x.n, x.k, lay & 1, lay & 2, padded);
        }
}

/* Without any one statement of the protocol the program is refused, or waits without an end, which is told. */
TEST(roles_protocol) {
    static const enum op op[] = {OP_MBAR_NEW, OP_MBAR_ARRIVE, OP_MBAR_WAIT, OP_BARRIER, OP_MMA_WAIT, OP_BOX};
    char opts[1024];
    for (int teams = 1; teams < 3; teams++) {
        struct product x = {.m = 128, .n = 192, .k = 256, .tb = true, .dt = "bf16"};
        x.opts = list(opts, sizeof opts, 1, 64, false, true, 2,
                      teams == 1 ? "ROLES(1) PERSIST(1)" : "ROLES(2) PERSIST(1)");
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
        uint16_t *a = arena_array(&x.arena, uint16_t, 128 * 256),
                 *b = arena_array(&x.arena, uint16_t, 192 * 256);
        float *out = arena_array(&x.arena, float, 128 * 192);
        struct ref_buf bufs[3] = {{.p = a, .bytes = 128 * 256 * 2},
                                  {.p = b, .bytes = 192 * 256 * 2},
                                  {.p = out, .bytes = 128 * 192 * 4}};
        CHECK_EQ(ref_linear(&x.err, &x.lin, bufs, 3, NULL, 0, 1), 0);
        uint32_t found = 0, missed = 0;
        for (uint32_t i = 0; i < x.lin.n; i++) {
            bool one = false;
            for (size_t k = 0; k < RG_COUNT(op); k++) one |= x.lin.u[i]->op == op[k];
            if (!one) continue;
            struct linear less = x.lin;
            less.u = arena_array(&x.arena, const uop *, x.lin.n);
            less.n = 0;
            for (uint32_t k = 0; k < x.lin.n; k++)
                if (k != i) less.u[less.n++] = x.lin.u[k];
            int code = ref_linear(&x.err, &less, bufs, 3, NULL, 0, 1);
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

TEST(roles_say_why) {
    static const struct {
        int64_t m, n, k;
        bool tb;
        const char *more, *says;
    } bad[] = {
        {128, 64, 132, true, "ROLES(1)", "rows must begin at multiples of 16 bytes"},
        {128, 64, 128, true, "ROLES(3)", "one group of threads or two"},
        {128, 64, 128, true, "PERSIST(2)", "only blocks with ROLES"},
        {128, 64, 128, true, "ROLES(2)", "over the tiles of PERSIST"},
        {128, 64, 128, true, "ROLES(1) PERSIST(0)", "expected 1 .. 65536 blocks"},
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
}
