/* affine.c: the affine form equals the expression, and is canonical. */
#include "irtest.h"

static const uop *sum3(struct ir *ir, const uop *a, const uop *b, const uop *c) {
    return uop2(ir, OP_ADD, uop2(ir, OP_ADD, a, b), c);
}

TEST(affine_collects_terms) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *r = test_range(ir, "r", AX_GRID, 0, 0, 64), *k = test_range(ir, "k", AX_LOOP, 1, 0, 8);
    const uop *q = uop2(ir, OP_IDIV, k, uop_idx(ir, 2));
    /* ((r + 3) * 8 - k) + 2 * (k - q) + r = 9r + k - 2q + 24 */
    const uop *e =
        sum3(ir, uop2(ir, OP_SUB, uop2(ir, OP_MUL, uop2(ir, OP_ADD, r, uop_idx(ir, 3)), uop_idx(ir, 8)), k),
             uop2(ir, OP_MUL, uop2(ir, OP_SUB, k, q), uop_idx(ir, 2)), r);
    struct affine a = affine_of(&t.arena, e);
    CHECK_EQ(a.n, 3);
    CHECK_EQ(a.k, 24);
    CHECK_EQ(affine_coef(&a, r), 9);
    CHECK_EQ(affine_coef(&a, k), 1);
    CHECK_EQ(affine_coef(&a, q), -2);
    CHECK_EQ(affine_coef(&a, e), 0);
    for (uint32_t i = 1; i < a.n; i++) CHECK(a.t[i - 1].atom->id < a.t[i].atom->id);
    const uop *back = affine_build(ir, &a, DT_IDX);
    struct affine b = affine_of(&t.arena, back);
    CHECK(affine_equal_but_const(&a, &b) && a.k == b.k);
    CHECK(affine_build(ir, &b, DT_IDX) == back);
    ir_test_close(&t);
}

TEST(affine_cancels_and_is_zero) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *r = test_range(ir, "r", AX_GRID, 0, 0, 64);
    struct affine a = affine_of(&t.arena, uop2(ir, OP_ADD, uop1(ir, OP_NEG, r), r));
    CHECK_EQ(a.n, 0);
    CHECK_EQ(a.k, 0);
    CHECK(affine_build(ir, &a, DT_IDX) == uop_idx(ir, 0));
    ir_test_close(&t);
}

TEST(affine_is_linear_in_shared_nodes) {
    struct ir_test t;
    ir_test_open(&t);
    const uop *x = test_range(&t.ir, "r", AX_GRID, 0, 0, 64), *r = x;
    for (int i = 0; i < 40; i++) x = uop2(&t.ir, OP_ADD, x, x); /* 2^40 paths */
    struct affine a = affine_of(&t.arena, x);
    CHECK_EQ(a.n, 1);
    CHECK_EQ(affine_coef(&a, r), (int64_t)1 << 40);
    for (int i = 0; i < 40; i++) x = uop2(&t.ir, OP_ADD, x, x); /* 2^80 does not fit */
    a = affine_of(&t.arena, x);
    CHECK(a.n == 1 && a.t[0].atom == x && a.t[0].coef == 1 && a.k == 0);
    ir_test_close(&t);
}

TEST(affine_of_a_long_chain) {
    struct ir_test t;
    ir_test_open(&t);
    const uop *x = uop_idx(&t.ir, 5);
    for (unsigned i = 0; i < 50000; i++)
        x = uop2(&t.ir, OP_ADD, x, test_range(&t.ir, "c", AX_LOOP, i % 200, i / 200, 3));
    struct affine a = affine_of(&t.arena, x);
    CHECK_EQ(a.n, 50000);
    CHECK_EQ(a.k, 5);
    ir_test_close(&t);
}

/* Random sums: evaluate the node and its affine form on random ranges. */
static int64_t eval(const uop *n, const int64_t *value) {
    union val s[2], out;
    if (n->op == OP_RANGE) return value[n->arg.range.pos];
    if (n->op == OP_CONST) return n->arg.i;
    for (uint32_t i = 0; i < n->nsrc; i++) s[i].i = eval(n->src[i], value);
    CHECK(op_eval((enum op)n->op, DT_IDX, DT_IDX, s, &out));
    return out.i;
}

TEST(affine_fuzz_equals_the_expression) {
    struct rnd r = {42};
    static const enum op ops[] = {OP_ADD, OP_ADD, OP_SUB, OP_MUL, OP_IDIV, OP_MOD, OP_NEG};
    for (int round = 0; round < 3000; round++) {
        struct ir_test t;
        const uop *n[24];
        uint32_t count = 0;
        ir_test_open(&t);
        for (; count < 4; count++) n[count] = test_range(&t.ir, "r", AX_LOOP, count, count, 9);
        for (; count < 24; count++) {
            enum op op = ops[rnd_below(&r, RG_COUNT(ops))];
            const uop *a = n[rnd_below(&r, count)], *b = n[rnd_below(&r, count)];
            if (op == OP_MUL || op == OP_IDIV || op == OP_MOD || rnd_below(&r, 4) == 0)
                b = uop_idx(&t.ir, rnd_range(&r, op == OP_MUL ? -3 : 1, 5));
            n[count] = op == OP_NEG ? uop1(&t.ir, OP_NEG, a) : uop2(&t.ir, op, a, b);
        }
        struct affine a = affine_of(&t.arena, n[count - 1]);
        int64_t value[4], sum = a.k;
        for (int i = 0; i < 4; i++) value[i] = rnd_below(&r, 9);
        for (uint32_t i = 0; i < a.n; i++) {
            const uop *x = a.t[i].atom;
            CHECK(a.t[i].coef != 0 && x->op != OP_ADD && x->op != OP_SUB && x->op != OP_NEG &&
                  x->op != OP_CONST);
            sum += a.t[i].coef * eval(x, value);
        }
        CHECK_EQ(sum, eval(n[count - 1], value));
        CHECK_EQ(eval(affine_build(&t.ir, &a, DT_IDX), value), sum);
        ir_test_close(&t);
    }
}
