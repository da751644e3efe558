/* shape.c: every row of the tensor graph has the right shape or says why it has none. */
#include "irtest.h"

static const char leaves[] = "kernel k\n"
                             "x = (BUFFER<f32>[0] 2 3 4)\n"
                             "y = (BUFFER<f32>[1] 3 1)\n"
                             "z = (BUFFER<f32>[2])\n"
                             "e = (BUFFER<f32>[3] 2 0)\n"
                             "i = (BUFFER<i32>[4] 2 5 4)\n"
                             "c = (BUFFER<bool>[5] 2 3 4)\n"
                             "v = (VAR<idx>[0 v] 0 2)\n";

struct job {
    struct ir_test t;
    struct shapes shapes;
    char text[800];
    const uop *node;
    const struct shape *shape;
    bool parsed;
};

static void find_shape(void *arg) {
    struct job *j = arg;
    struct program p;
    ir_parse(&j->t.ir, j->text, strlen(j->text), "t.uop", &p);
    j->parsed = true;
    j->node = p.kernel.p[0].sink->src[0];
    j->shape = shape_of(&j->shapes, j->node);
}

static int shape_of_text(struct job *j, const char *expr) {
    ir_test_open(&j->t);
    j->parsed = false, j->shape = NULL;
    shapes_init(&j->shapes, &j->t.ir, &j->t.arena);
    snprintf(j->text, sizeof j->text, "%sr = %s\n(GRAPH r)\n", leaves, expr);
    return err_guard(&j->t.err, find_shape, j);
}

TEST(shape_of_every_row) {
    static const struct {
        const char *expr, *shape;
    } row[] = {
        {"x", "(2, 3, 4)"},
        {"z", "()"},
        {"3.5", "()"},
        {"v", "()"},
        {"(IOTA<i32> 7)", "(7)"},
        {"(IOTA<f32> 0)", "(0)"},
        {"(RESHAPE x 6 4)", "(6, 4)"},
        {"(RESHAPE x 1 24 1)", "(1, 24, 1)"},
        {"(RESHAPE z)", "()"},
        {"(RESHAPE z 1 1)", "(1, 1)"},
        {"(RESHAPE e 0 7 9)", "(0, 7, 9)"},
        {"(PERMUTE x 2 0 1)", "(4, 2, 3)"},
        {"(PERMUTE z)", "()"},
        {"(EXPAND y 3 5)", "(3, 5)"},
        {"(EXPAND y 3 0)", "(3, 0)"},
        {"(EXPAND y 3 4294967296)", "(3, 4294967296)"},
        {"(PAD x 0 1 2 0 0 0 0 0 0 3)", "(5, 3, 13)"},
        {"(PAD e 0 0 0 5 1 1 5)", "(7, 2)"}, /* between two elements, and there are none */
        {"(PAD z 1.5)", "()"},
        {"(PAD y z 0 0 0 1 1 0)", "(3, 3)"},
        {"(SHRINK x 0 2 1 1 2 1 0 2 3)", "(2, 2, 2)"},
        {"(SHRINK x 1 0 1 v 1 1 v 2 1)", "(0, 1, 2)"},
        {"(SHRINK e 0 1 1 0 0 7)", "(1, 0)"},
        {"(FLIP x 2 0)", "(2, 3, 4)"},
        {"(FLIP z)", "()"},
        {"(REDUCE_AXES[ADD] x 2 0)", "(1, 3, 1)"},
        {"(REDUCE_AXES[MUL] e 1)", "(2, 1)"},
        {"(SCAN_AXIS[MAX] x 1)", "(2, 3, 4)"},
        {"(GATHER[1] x i)", "(2, 5, 4)"},
        {"(SCATTER[1] x i (GATHER[1] x i))", "(2, 3, 4)"},
        {"(CONTIGUOUS (PERMUTE x 1 0 2))", "(3, 2, 4)"},
        {"(DETACH y)", "(3, 1)"},
        {"(ASSIGN x x)", "(2, 3, 4)"},
        {"(ASSIGN z 2.5)", "()"},
        {"(ASSIGN (ASSIGN x x) (RESHAPE y 1 3 1) 0 1 1 0 3 1 v 1 1)", "(2, 3, 4)"},
        {"(ASSIGN x (RESHAPE y 1 3 1) 1 1 1 0 3 1 v 1 1)", "(2, 3, 4)"},
        {"(ADD x x)", "(2, 3, 4)"},
        {"(ADD 1 z)", "()"},
        {"(MUL z x)", "(2, 3, 4)"},
        {"(EXP y)", "(3, 1)"},
        {"(LT x 0)", "(2, 3, 4)"},
        {"(WHERE c 1.0 x)", "(2, 3, 4)"},
        {"(WHERE c 1.0 2.0)", "(2, 3, 4)"},
        {"(FMA z x z)", "(2, 3, 4)"},
        {"(CAST<i64> e)", "(2, 0)"},
        {"(BITCAST<i32> y)", "(3, 1)"},
    };
    for (size_t k = 0; k < RG_COUNT(row); k++) {
        struct job j;
        struct str s;
        int code = shape_of_text(&j, row[k].expr);
        if (code) FAIL("%s: %s", row[k].expr, j.t.err.msg);
        str_init(&s, &j.t.arena);
        shape_print(&s, j.shape);
        if (strcmp(s.p, row[k].shape) != 0)
            FAIL("%s has shape %s, expected %s", row[k].expr, s.p, row[k].shape);
        ir_test_close(&j.t);
    }
}

TEST(shape_errors_name_the_node_and_the_reason) {
    static const struct {
        const char *expr, *words;
    } row[] = {
        {"(BUFFER<f32>[9] 2 -1)", "axis 1 has size -1; sizes are 0 or more"},
        {"(IOTA<i32> -3)", "axis 0 has size -3"},
        {"(RESHAPE x 5 5)", "a reshape keeps the number of elements; source 0 has shape (2, 3, 4)"},
        {"(RESHAPE z 0)", "a reshape keeps the number of elements"},
        {"(RESHAPE x v 24)", "source 1 must be an integer constant"},
        {"(PERMUTE x 0 1)", "one axis for each axis"},
        {"(PERMUTE x 0 1 1)", "not a permutation of the axes"},
        {"(PERMUTE x 0 1 3)", "not a permutation of the axes"},
        {"(PERMUTE x 0 1 -1)", "not a permutation of the axes"},
        {"(EXPAND y 3)", "an expand keeps the number of axes"},
        {"(EXPAND y 4 1)", "only axes of size 1 are repeated"},
        {"(PAD x 0 1 2 0)", "three numbers for each axis"},
        {"(PAD y 0 1 2 0 -1 0 0)", "padding is not negative"},
        {"(PAD y x 0 0 0 0 0 0)", "the value around it has rank 0"},
        {"(PAD y 1:i32 0 0 0 0 0 0)", "the value has another dtype"},
        {"(PAD y 0 9223372036854775807 0 0 0 0 0)", "padding passes 2^63"},
        {"(PAD y 0 0 0 9223372036854775807 0 0 0)", "padding passes 2^63"},
        {"(SHRINK y 0 3 1)", "three numbers for each axis"},
        {"(SHRINK y 1 3 1 0 1 1)", "the box is not inside"},
        {"(SHRINK y 0 2 3 0 1 1)", "the box is not inside"},
        {"(SHRINK y v 2 1 0 1 1)", "the box is not inside"},
        {"(SHRINK y -1 2 1 0 1 1)", "start >= 0"},
        {"(SHRINK y 0 2 0 0 1 1)", "step >= 1"},
        {"(SHRINK y 0 -2 1 0 1 1)", "size >= 0"},
        {"(SHRINK y 0 2 9223372036854775807 0 1 1)", "the box is not inside"},
        {"(FLIP y 2)", "not axes, each once"},
        {"(FLIP y 0 0)", "not axes, each once"},
        {"(REDUCE_AXES[ADD] y 2)", "not axes, each once"},
        {"(REDUCE_AXES[ADD] z 0)", "not axes, each once"},
        {"(SCAN_AXIS[ADD] y -1)", "not an axis"},
        {"(GATHER[1] x x)", "an index is an integer"},
        {"(GATHER[3] x i)", "the axis is one of theirs"},
        {"(GATHER[-1] x i)", "the axis is one of theirs"},
        {"(GATHER[0] y i)", "have the same rank"},
        {"(GATHER[0] x i)", "the index reaches past the source"},
        {"(SCATTER[1] x i x)", "what is added has the index's shape"},
        {"(SCATTER[1] x i i)", "what is added has the index's shape"},
        {"(ASSIGN (NEG x) x)", "only a BUFFER or its next version is assigned"},
        {"(ASSIGN x c)", "buffer and value have different dtypes"},
        {"(ASSIGN x y)", "the value has another shape than the box"},
        {"(ASSIGN y z 0 3 1 0 1 1)", "the value has another shape than the box"},
        {"(ASSIGN y y 1 3 1 0 1 1)", "the box is not inside"},
        {"(ASSIGN x (RESHAPE y 1 3 1) v 1 1 0 3 1 0 1 1)", "the box is not inside"}, /* v may be 2 */
        {"(ADD x y)", "sources of different shapes"},
        {"(WHERE c y x)", "sources of different shapes"},
        {"(LOAD (INDEX (PARAM<f32>[0 p] 4) 0))", "this op does not stand in a tensor graph"},
        {"(REDUCE[ADD] x (RANGE[k REDUCE 0] 4))", "this op does not stand in a tensor graph"},
        {"(CALL<f32>[sortt] x 0)", "there is no function of this name"},
        {"(CALL<f32>[sort] x)", "another number of sources than the function has"},
        {"(CALL<f32>[sort] x x)", "tensors, then numbers"},
        {"(CALL<i64>[sort] x 0)", "indices are i64, values keep their dtype"},
        {"(CALL<f32>[argsort] x 0)", "indices are i64, values keep their dtype"},
        {"(CALL<f32>[topk] x 1 5)", "k is 0 to the size of the last axis"},
        {"(CALL<i64>[winner] x 4)", "the index of a function is i64"},
        {"(CALL<i64>[nonzero] x 4)", "a mask is of bools"},
        {"(CALL<f32>[scatter_max] x x x 0)", "the index of a function is i64"},
    };
    for (size_t k = 0; k < RG_COUNT(row); k++) {
        struct job j;
        int code = shape_of_text(&j, row[k].expr);
        if (code != RG_EVERIFY || !j.parsed || !strstr(j.t.err.msg, row[k].words))
            FAIL("%s gives %d: %s\nexpected: %s", row[k].expr, code, j.t.err.msg, row[k].words);
        ir_test_close(&j.t);
    }
    TEST_COUNT(RG_COUNT(row), "illegal tensor nodes refused with the right words");
}

/* Nodes that the text form refuses already, made by hand. */
static const uop *spoilt(struct ir *ir, int which) {
    const uop *d[2] = {uop_idx(ir, 2), uop_idx(ir, 3)};
    const uop *x = uop_new(ir, OP_BUFFER, DT_F32, 1, d, 2, ARG_INT(0));
    const uop *y = uop_new(ir, OP_BUFFER, DT_I32, 1, d, 2, ARG_INT(1));
    switch (which) {
    case 0: return uop2(ir, OP_ADD, x, y);
    case 1: return uop_mk(ir, OP_REDUCE_AXES, (const uop *[]){x, d[0]}, 2, ARG_INT(OP_SUB));
    case 2: return uop_mk(ir, OP_SCAN_AXIS, (const uop *[]){x, d[0]}, 2, ARG_INT(OP_SUB));
    case 3: return uop1(ir, OP_EXP, y);
    case 4: return uop_new(ir, OP_BUFFER, DT_VOID, 1, d, 2, ARG_INT(0));
    default: return uop_mk(ir, OP_RESHAPE, (const uop *[]){x, uop_int(ir, DT_I32, 6)}, 2, ARG_NONE);
    }
}
struct spoilt_job {
    struct ir_test t;
    int which;
};
static void ask_spoilt(void *arg) {
    struct spoilt_job *j = arg;
    struct shapes s;
    shapes_init(&s, &j->t.ir, &j->t.arena);
    shape_of(&s, spoilt(&j->t.ir, j->which));
}

TEST(shape_refuses_nodes_of_wrong_types) {
    static const char *const words[] = {"as source 1 of ADD",
                                        "expected ADD, MUL, MAX or MIN",
                                        "expected ADD, MUL, MAX or MIN",
                                        "expected a float as source 0 of EXP",
                                        "expected an element type in BUFFER",
                                        "expected idx as source 1 of RESHAPE"};
    for (int k = 0; k < (int)RG_COUNT(words); k++) {
        struct spoilt_job j = {.which = k};
        ir_test_open(&j.t);
        CHECK_EQ(err_guard(&j.t.err, ask_spoilt, &j), RG_EVERIFY);
        if (!strstr(j.t.err.msg, words[k])) FAIL("%s\nexpected: %s", j.t.err.msg, words[k]);
        ir_test_close(&j.t);
    }
}

static void too_many_axes(void *arg) {
    struct job *j = arg;
    int64_t d[SHAPE_MAX + 1] = {0};
    shape_make(&j->shapes, d, SHAPE_MAX + 1);
}
static void too_many_elements(void *arg) {
    struct job *j = arg;
    shape_make(&j->shapes, (int64_t[]){(int64_t)1 << 32, 0, (int64_t)1 << 32}, 3);
}

TEST(shape_limits) {
    static void (*const fn[])(void *) = {too_many_axes, too_many_elements};
    static const char *const words[] = {"17 axes; at most 16", "more than 2^63 elements"};
    for (int k = 0; k < 2; k++) {
        struct job j;
        ir_test_open(&j.t);
        shapes_init(&j.shapes, &j.t.ir, &j.t.arena);
        CHECK_EQ(err_guard(&j.t.err, fn[k], &j), RG_ELIMIT);
        if (!strstr(j.t.err.msg, words[k])) FAIL("%s", j.t.err.msg);
        ir_test_close(&j.t);
    }
}

TEST(shape_are_interned_and_memoised) {
    struct job j;
    CHECK_EQ(shape_of_text(&j, "(NEG x)"), 0);
    const struct shape *s = shape_make(&j.shapes, (int64_t[]){2, 3, 4}, 3);
    CHECK(s == j.shape && shape_of(&j.shapes, j.node) == s);
    CHECK(shape_make(&j.shapes, (int64_t[]){2, 3}, 2) != shape_make(&j.shapes, (int64_t[]){2, 3, 1}, 3));
    CHECK_EQ(shape_make(&j.shapes, NULL, 0)->n, 0);
    CHECK_EQ(shape_size(shape_make(&j.shapes, NULL, 0)), 1);
    CHECK_EQ(shape_size(shape_make(&j.shapes, (int64_t[]){5, 0}, 2)), 0);
    /* many shapes: the table grows, none is confused with another */
    for (int64_t i = 0; i < 3000; i++) {
        const struct shape *a = shape_make(&j.shapes, (int64_t[]){i, i % 7}, 2);
        CHECK(a->d[0] == i && a->d[1] == i % 7);
    }
    CHECK(shape_make(&j.shapes, (int64_t[]){2, 3, 4}, 3) == s);
    ir_test_close(&j.t);
}

TEST(shape_of_deep_graphs) {
    struct job j;
    CHECK_EQ(shape_of_text(&j, "x"), 0);
    const uop *n = j.node;
    for (int i = 0; i < 200000; i++) n = uop1(&j.t.ir, i % 2 ? OP_NEG : OP_EXP, n);
    CHECK(shape_of(&j.shapes, n) == j.shape);
    ir_test_close(&j.t);
}

TEST(shape_movement_ops) {
    int n = 0;
    for (int op = 0; op < OP_COUNT; op++) n += op_is_movement((enum op)op);
    CHECK_EQ(n, 8);
    CHECK(op_is_movement(OP_PAD) && !op_is_movement(OP_GATHER));
}
