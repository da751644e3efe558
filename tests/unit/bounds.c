/* bounds.c: intervals and moduli of integer nodes are never wrong, and as tight as promised.
 * The fuzzer makes random expressions over ranges and variables, evaluates them with op_eval on random
 * inputs (corners included) and checks every node against what it claims. */
#include "irtest.h"

/* ---- never wrong ------------------------------------------------------------------------------- */

enum { TREE_NODES = 24, ROUNDS = 6 };

static const enum dtype int_types[] = {DT_IDX, DT_I8, DT_I16, DT_I32, DT_I64, DT_U8, DT_U16, DT_U32, DT_U64};
static const enum op binary[] = {OP_ADD, OP_SUB, OP_MUL, OP_IDIV, OP_MOD, OP_MIN, OP_MAX, OP_AND,
                                 OP_OR,  OP_XOR, OP_SHL, OP_SHR,  OP_ADD, OP_MUL, OP_MOD, OP_IDIV};
static const enum op compare[] = {OP_LT, OP_LE, OP_EQ, OP_NE};

static const uop *leaf(struct ir *ir, struct rnd *r, enum dtype dt) {
    uint32_t what = rnd_below(r, 3);
    if (what == 0) return uop_int(ir, dt, rnd_int(r, dt));
    if (what == 1 && dt == DT_IDX)
        return test_range(ir, "r", AX_LOOP, rnd_below(r, 4), 0, 1 + rnd_below(r, 300));
    if (dt == DT_U64 && rnd_below(r, 2)) return test_var(ir, dt, 9, "u", 0, -1); /* any: 0 to 2^64 - 1 */
    int64_t a = rnd_int(r, dt),
            b = rnd_below(r, 2) ? (int64_t)((uint64_t)a + rnd_below(r, 40)) : rnd_int(r, dt);
    b = dt_wrap(dt, b);
    if (dt == DT_U64) a &= INT64_MAX, b &= INT64_MAX;
    return test_var(ir, dt, rnd_below(r, 5), "v", RG_MIN(a, b), RG_MAX(a, b));
}

struct tree {
    const uop *n[TREE_NODES];
    uint32_t count;
};

static const uop *pick(struct ir *ir, struct tree *t, struct rnd *r, enum dtype dt) {
    for (int i = 0; i < 4 && t->count; i++) {
        const uop *n = t->n[rnd_below(r, t->count)];
        if (n->dt == dt) return n;
    }
    return leaf(ir, r, dt);
}

static const uop *grow(struct ir *ir, struct tree *t, struct rnd *r) {
    static const enum dtype often[] = {DT_IDX, DT_IDX, DT_IDX, DT_U64};
    enum dtype dt = rnd_below(r, 3) ? often[rnd_below(r, 4)] : int_types[rnd_below(r, RG_COUNT(int_types))];
    const uop *x, *y;
    switch (rnd_below(r, 14)) {
    case 0: return uop1(ir, OP_NEG, pick(ir, t, r, dt));
    case 1: return uop1(ir, OP_ABS, pick(ir, t, r, dt));
    case 2: return uop1(ir, OP_NOT, pick(ir, t, r, dt));
    case 3: {
        enum dtype from = int_types[rnd_below(r, RG_COUNT(int_types))];
        return uop_new(ir, OP_CAST, rnd_below(r, 8) ? dt : DT_BOOL, 1, (const uop *[]){pick(ir, t, r, from)},
                       1, ARG_NONE);
    }
    case 4: return uop2(ir, compare[rnd_below(r, 4)], pick(ir, t, r, dt), pick(ir, t, r, dt));
    case 5:
        x = pick(ir, t, r, dt), y = pick(ir, t, r, dt);
        return uop3(ir, OP_WHERE, pick(ir, t, r, DT_BOOL), x, y);
    case 6: return uop3(ir, OP_FMA, pick(ir, t, r, dt), pick(ir, t, r, dt), pick(ir, t, r, dt));
    case 7:
        return uop2(ir, rnd_below(r, 2) ? OP_AND : OP_XOR, pick(ir, t, r, DT_BOOL), pick(ir, t, r, DT_BOOL));
    case 8: /* a shift or division by a small number, as index arithmetic has them */
        y = uop_int(ir, dt, 1 + rnd_below(r, 12));
        return uop2(ir, binary[rnd_below(r, RG_COUNT(binary))], pick(ir, t, r, dt), y);
    default: return uop2(ir, binary[rnd_below(r, RG_COUNT(binary))], pick(ir, t, r, dt), pick(ir, t, r, dt));
    }
}

struct values {
    union val v[256]; /* by position in the order */
    bool ok[256];
    uint64_t seed;
};

/* The same leaf has the same value in one round. */
static int64_t leaf_value(const uop *n, struct values *x) {
    struct rnd r = {x->seed ^ hash_u64(n->id + 1)};
    if (n->op == OP_CONST) return n->arg.i;
    int64_t lo = n->op == OP_RANGE ? 0 : n->src[0]->arg.i;
    int64_t hi = n->op == OP_RANGE ? n->src[0]->arg.i - 1 : n->src[1]->arg.i;
    if (n->dt == DT_U64 && hi < 0) return rnd_int(&r, DT_U64);
    switch (rnd_below(&r, 4)) {
    case 0: return lo;
    case 1: return hi;
    default: return rnd_range(&r, lo, hi);
    }
}

static void check_claim(const struct ir *ir, const uop *n, int64_t v) {
    bool in = (n->dt == DT_U64 && n->lo < 0) || (v >= n->lo && v <= n->hi);
    bool mod = n->mul >= 1 && imod_floor(v, n->mul) == (int64_t)n->rem;
    if (in && mod) return;
    struct arena *a = ir->arena;
    struct str s;
    str_init(&s, a);
    ir_print_node(&s, ir, n, 3);
    for (uint32_t i = 0; i < n->nsrc; i++)
        str_printf(&s, "\n  src%u<%s> [%lld, %lld] = %u mod %u", i, dtype_info[n->src[i]->dt].name,
                   (long long)n->src[i]->lo, (long long)n->src[i]->hi, n->src[i]->rem, n->src[i]->mul);
    FAIL("%s<%s> is %lld, claimed [%lld, %lld] and %u mod %u", s.p, dtype_info[n->dt].name, (long long)v,
         (long long)n->lo, (long long)n->hi, n->rem, n->mul);
}

static uint64_t check_tree(const struct ir *ir, const uop_vec *order, uint32_t *pos, struct values *x) {
    uint64_t checked = 0;
    for (uint32_t i = 0; i < order->n; i++) {
        const uop *n = order->p[i];
        union val src[3] = {{0}};
        if (n->op == OP_CONST || n->op == OP_RANGE || n->op == OP_VAR) {
            x->v[i].i = leaf_value(n, x), x->ok[i] = true;
        } else {
            x->ok[i] = true;
            for (uint32_t j = 0; j < n->nsrc; j++) {
                src[j] = x->v[pos[n->src[j]->id]];
                x->ok[i] &= x->ok[pos[n->src[j]->id]];
            }
            if (x->ok[i])
                x->ok[i] =
                    op_eval((enum op)n->op, (enum dtype)n->dt, (enum dtype)n->src[0]->dt, src, &x->v[i]);
        }
        if (!x->ok[i]) continue; /* IDX overflow: not defined */
        check_claim(ir, n, x->v[i].i);
        checked++;
    }
    return checked;
}

TEST_SLOW(bounds_fuzz_is_never_wrong, 240) {
    uint64_t checked = 0, trees = 0;
    for (uint64_t seed = 1; checked < 1500000; seed++, trees++) {
        struct ir_test t;
        struct rnd r = {seed * 7919};
        struct tree tree = {.count = 0};
        ir_test_open(&t);
        while (tree.count < TREE_NODES) tree.n[tree.count] = grow(&t.ir, &tree, &r), tree.count++;
        uop_vec order = {0};
        uop_topo(&t.arena, tree.n, tree.count, &order);
        uint32_t *pos = arena_array(&t.arena, uint32_t, t.ir.n);
        for (uint32_t i = 0; i < order.n; i++) pos[order.p[i]->id] = i;
        CHECK(order.n <= 256);
        for (int round = 0; round < ROUNDS; round++) {
            struct values x = {.seed = rnd_next(&r)};
            checked += check_tree(&t.ir, &order, pos, &x);
        }
        ir_test_close(&t);
    }
    TEST_INFO("bounds: %llu evaluations of nodes in %llu random expressions", (unsigned long long)checked,
              (unsigned long long)trees);
}

/* ---- as tight as promised ---------------------------------------------------------------------- */

static void expect(const uop *n, int64_t lo, int64_t hi) {
    CHECK_EQ(n->lo, lo);
    CHECK_EQ(n->hi, hi);
}

TEST(bounds_of_index_arithmetic) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *r = test_range(ir, "r", AX_GRID, 0, 0, 64), *k = test_range(ir, "k", AX_LOOP, 1, 0, 100);
    const uop *row = uop2(ir, OP_MUL, r, uop_idx(ir, 100)), *i = uop2(ir, OP_ADD, row, k);
    expect(r, 0, 63);
    expect(row, 0, 6300);
    CHECK_EQ(row->mul, 100);
    CHECK_EQ(row->rem, 0);
    expect(i, 0, 6399);
    expect(uop2(ir, OP_IDIV, i, uop_idx(ir, 100)), 0, 63);
    expect(uop2(ir, OP_MOD, i, uop_idx(ir, 100)), 0, 99);
    expect(uop2(ir, OP_MOD, k, uop_idx(ir, 128)), 0, 99);
    expect(uop2(ir, OP_SUB, k, uop_idx(ir, 3)), -3, 96);
    expect(uop2(ir, OP_MAX, uop2(ir, OP_SUB, k, uop_idx(ir, 3)), uop_idx(ir, 0)), 0, 96);
    expect(uop2(ir, OP_LT, k, uop_idx(ir, 100)), 1, 1);
    expect(uop2(ir, OP_LT, k, uop_idx(ir, 99)), 0, 1);
    const uop *odd = uop2(ir, OP_ADD, uop2(ir, OP_MUL, k, uop_idx(ir, 6)), uop_idx(ir, 3));
    CHECK_EQ(odd->mul, 6);
    CHECK_EQ(odd->rem, 3);
    expect(uop2(ir, OP_EQ, odd, uop_idx(ir, 4)), 0, 0); /* 4 is not 3 mod 6 */
    expect(uop2(ir, OP_MOD, odd, uop_idx(ir, 3)), 0, 2);
    CHECK_EQ(uop2(ir, OP_MOD, odd, uop_idx(ir, 3))->mul, 3);
    CHECK(uop_divides(row, 25) && !uop_divides(row, 8) && uop_divides(uop_idx(ir, 24), 8));
    ir_test_close(&t);
}

TEST(bounds_of_types_that_wrap) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *a = test_var(ir, DT_I8, 0, "a", 0, 100), *b = test_var(ir, DT_U8, 1, "b", 3, 5);
    expect(uop2(ir, OP_ADD, a, uop_int(ir, DT_I8, 27)), 0 + 27, 127);
    expect(uop2(ir, OP_ADD, a, uop_int(ir, DT_I8, 28)), -128, 127); /* 128 wraps */
    expect(uop2(ir, OP_SUB, b, uop_int(ir, DT_U8, 3)), 0, 2);
    expect(uop2(ir, OP_SUB, b, uop_int(ir, DT_U8, 4)), 0, 255);
    expect(uop_cast(ir, b, DT_I64), 3, 5);
    expect(uop_cast(ir, test_var(ir, DT_I32, 2, "c", -1, 300), DT_U8), 0, 255);
    expect(uop2(ir, OP_AND, test_var(ir, DT_I32, 3, "d", -9, 9), uop_int(ir, DT_I32, 12)), 0, 12);
    CHECK_EQ(uop2(ir, OP_AND, test_var(ir, DT_I32, 3, "d", -9, 9), uop_int(ir, DT_I32, 12))->mul, 4);
    const uop *p = test_param(ir, DT_I16, 0, "p", 10);
    expect(uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, p, uop_idx(ir, 0))), INT16_MIN, INT16_MAX);
    const uop *m4 = uop2(ir, OP_MUL, test_var(ir, DT_I8, 4, "e", -128, 127), uop_int(ir, DT_I8, 12));
    CHECK_EQ(m4->mul, 4);                   /* a multiple of 12 wraps to a multiple of 4 */
    const uop *u = uop_int(ir, DT_U64, -1); /* 2^64 - 1 */
    CHECK(u->lo < 0 && u->hi == INT64_MAX);
    CHECK(!uop_is_exact(uop2(ir, OP_LT, u, uop_int(ir, DT_U64, 3))));
    ir_test_close(&t);
}

TEST(bounds_of_unknown_and_poison) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *big = test_var(ir, DT_IDX, 0, "n", 0, INT64_MAX), *k = test_range(ir, "k", AX_LOOP, 1, 0, 7);
    expect(uop2(ir, OP_ADD, big, uop_idx(ir, 5)), 5, INT64_MAX);
    expect(uop2(ir, OP_MUL, big, big), 0, INT64_MAX);
    const uop *inv = uop_new(ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
    expect(uop3(ir, OP_WHERE, uop2(ir, OP_LT, k, uop_idx(ir, 3)), k, inv), 0, 6);
    const uop *sum = uop_mk(ir, OP_REDUCE, (const uop *[]){k, k}, 2, ARG_INT(OP_ADD));
    expect(sum, 0, 42); /* at most 7 times 6 */
    expect(uop_mk(ir, OP_REDUCE, (const uop *[]){k, k}, 2, ARG_INT(OP_MAX)), 0, 6);
    ir_test_close(&t);
}
