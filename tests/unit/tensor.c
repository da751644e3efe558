/* Tests of src/tensor: shapes, dtypes and structure of what the front end builds. Values and gradients are in
 * tensor_grad.c, messages in tensor_errors.c. */
#include "irtest.h"
#include "tensor/tensor.h"

struct fix {
    struct ir_test t;
    struct tg g;
};

static void open_fix(struct fix *f) {
    ir_test_open(&f->t);
    tg_init(&f->g, &f->t.ir, &f->t.arena);
}
static void close_fix(struct fix *f) { ir_test_close(&f->t); }

#define D(...) (int64_t[]){__VA_ARGS__}, (uint32_t)RG_COUNT(((int64_t[]){__VA_ARGS__}))

static const uop *buf(struct fix *f, enum dtype dt, const int64_t *d, uint32_t n) {
    return t_buffer(&f->g, dt, d, n, 0);
}

static const char *dims_of(struct fix *f, const uop *n) {
    struct str s;
    str_init(&s, &f->t.arena);
    shape_print(&s, tg_shape(&f->g, n));
    str_printf(&s, " %s", dtype_info[n->dt].name);
    return s.p;
}
#define CHECK_IS(n, text) CHECK_STR(dims_of(&f, n), text)

/* ---- dtypes ----------------------------------------------------------------------------------------- */

static const enum dtype user_dt[] = {DT_BOOL, DT_U8,  DT_U16, DT_U32,  DT_U64, DT_I8, DT_I16,
                                     DT_I32,  DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64};

/* The rows of the table in docs/semantics.md, made from the code. */
static void promotion_table(struct str *out) {
    str_add(out, "| |");
    for (size_t i = 0; i < RG_COUNT(user_dt); i++) str_printf(out, " %s |", dtype_info[user_dt[i]].name);
    str_add(out, "\n|---|");
    for (size_t i = 0; i < RG_COUNT(user_dt); i++) str_add(out, "---|");
    for (size_t i = 0; i < RG_COUNT(user_dt); i++) {
        str_printf(out, "\n| **%s** |", dtype_info[user_dt[i]].name);
        for (size_t j = 0; j < RG_COUNT(user_dt); j++)
            str_printf(out, " %s |", dtype_info[t_promote(user_dt[i], user_dt[j])].name);
    }
    str_addc(out, '\n');
}

TEST(tensor_promotion_is_documented) {
    struct fix f;
    open_fix(&f);
    struct str table;
    str_init(&table, &f.t.arena);
    promotion_table(&table);
    char *text;
    size_t n;
    if (os_read_file(&f.t.err, &f.t.arena, "docs/semantics.md", 1 << 20, &text, &n)) FAIL("%s", f.t.err.msg);
    if (!strstr(text, table.p)) FAIL("docs/semantics.md lacks the table as it is:\n%s", table.p);
    close_fix(&f);
}

/* A lattice: it does not matter which comes first, and a type beside itself is itself. */
TEST(tensor_promotion_commutes) {
    for (size_t i = 0; i < RG_COUNT(user_dt); i++) {
        CHECK_EQ(t_promote(user_dt[i], user_dt[i]), user_dt[i]);
        for (size_t j = 0; j < RG_COUNT(user_dt); j++)
            CHECK_EQ(t_promote(user_dt[i], user_dt[j]), t_promote(user_dt[j], user_dt[i]));
    }
    CHECK_EQ(t_promote(DT_I8, DT_U8), DT_I16);
    CHECK_EQ(t_promote(DT_U32, DT_I32), DT_I64);
    CHECK_EQ(t_promote(DT_U64, DT_I8), DT_F32);
    CHECK_EQ(t_promote(DT_F16, DT_BF16), DT_F32);
    CHECK_EQ(t_promote(DT_I64, DT_F16), DT_F16);
    CHECK_EQ(t_sum_dtype(DT_BOOL), DT_I64);
    CHECK_EQ(t_sum_dtype(DT_F16), DT_F16);
    CHECK_EQ(t_number_dtype(DT_BOOL, false), DT_I64);
    CHECK_EQ(t_number_dtype(DT_I8, true), DT_F32);
    CHECK_EQ(t_number_dtype(DT_F16, true), DT_F16);
}

/* ---- movement ------------------------------------------------------------------------------------------ */

TEST(tensor_movement_normal_at_birth) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(2, 3, 4));
    CHECK(t_reshape(g, x, D(2, 3, 4)) == x);
    CHECK(t_reshape(g, t_reshape(g, x, D(6, 4)), D(2, 3, 4)) == x);
    CHECK_EQ(t_reshape(g, t_reshape(g, x, D(6, 4)), D(24))->src[0] == x, true);
    CHECK_IS(t_reshape(g, x, D(-1, 2)), "(12, 2) f32");
    CHECK(t_permute(g, x, D(0, 1, 2)) == x);
    CHECK(t_transpose(g, t_transpose(g, x, 0, -1), 2, 0) == x);
    const uop *p = t_permute(g, t_permute(g, x, D(1, 2, 0)), D(1, 2, 0));
    CHECK(p->op == OP_PERMUTE && p->src[0] == x);
    CHECK_IS(p, "(4, 2, 3) f32");
    CHECK(t_flip(g, t_flip(g, x, D(0, 2)), D(2, 0)) == x);
    CHECK(t_flip(g, t_reshape(g, x, D(1, 24)), D(0)) == t_reshape(g, x, D(1, 24)));
    const uop *e = t_expand(g, t_expand(g, t_reshape(g, x, D(2, 1, 12)), D(2, 5, 12)), D(7, 2, 5, 12));
    CHECK_IS(e, "(7, 2, 5, 12) f32");
    CHECK(t_expand(g, x, D(2, 3, 4)) == x && t_expand(g, x, D(-1, 3, -1)) == x);
    const uop *one = t_reshape(g, x, D(1, 24, 1));
    CHECK(t_expand(g, t_expand(g, one, D(4, 24, 1)), D(4, 24, 6)) == t_expand(g, one, D(4, 24, 6)));
    CHECK(t_cast(g, x, DT_F32) == x && t_detach(g, t_detach(g, x)) == t_detach(g, x));
    CHECK(t_contiguous(g, x) == x);
    CHECK(t_pad(g, x, (int64_t[]){0, 0, 0, 0}, 2, 1.0) == x);
    CHECK_IS(t_pad(g, x, (int64_t[]){1, 2, -1, 3}, 2, 0), "(5, 5, 4) f32");
    close_fix(&f);
}

static struct t_slice sl(int64_t start, int64_t stop, int64_t step) {
    return (struct t_slice){start, stop, step, NULL};
}

TEST(tensor_slices) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(10, 6));
    CHECK(t_slice(g, x, NULL, 0) == x);
    CHECK(t_slice(g, x, (struct t_slice[]){sl(0, T_END, 1)}, 1) == x);
    CHECK_IS(t_slice(g, x, (struct t_slice[]){sl(-3, T_END, 1), sl(1, -1, 2)}, 2), "(3, 2) f32");
    CHECK_IS(t_slice(g, x, (struct t_slice[]){sl(8, 2, 1)}, 1), "(0, 6) f32");
    CHECK_IS(t_slice(g, x, (struct t_slice[]){sl(100, 200, 1)}, 1), "(0, 6) f32");
    const uop *r = t_slice(g, x, (struct t_slice[]){sl(-1, T_END, -3)}, 1); /* 9 6 3 0 */
    CHECK_IS(r, "(4, 6) f32");
    CHECK_EQ(r->op, OP_FLIP);
    CHECK_EQ(uop_const_i(&f.t.ir, r->src[0], 1), 0);
    CHECK_EQ(uop_const_i(&f.t.ir, r->src[0], 3), 3);
    /* a box of a box is a box */
    const uop *b =
        t_slice(g, t_slice(g, x, (struct t_slice[]){sl(1, 9, 2)}, 1), (struct t_slice[]){sl(1, 4, 2)}, 1);
    CHECK(b->op == OP_SHRINK && b->src[0] == x);
    CHECK_EQ(uop_const_i(&f.t.ir, b, 1), 3);
    CHECK_EQ(uop_const_i(&f.t.ir, b, 3), 4);
    const uop *v = test_var(&f.t.ir, DT_IDX, 0, "pos", 0, 7);
    const uop *run = t_slice(g, x, (struct t_slice[]){{0, 3, 1, v}}, 1);
    CHECK_IS(run, "(3, 6) f32");
    CHECK(run->src[1] == v);
    close_fix(&f);
}

TEST(tensor_joining) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(2, 3)), *y = buf(&f, DT_I32, D(2, 4)), *e = buf(&f, DT_F32, D(2, 0));
    const uop *c = t_cat(g, (const uop *[]){x, y, e}, 3, -1);
    CHECK_IS(c, "(2, 7) f32");
    /* what surrounds a piece must not change the sign of a zero */
    CHECK_EQ(c->op, OP_GRAD_THROUGH); /* the empty piece gets a gradient, but is not added */
    c = c->src[0];
    CHECK(c->op == OP_ADD && c->src[0]->op == OP_PAD && c->src[1]->op == OP_PAD);
    CHECK(signbit(c->src[0]->src[1]->arg.f) && c->src[0]->src[1]->arg.f == 0);
    CHECK(t_cat(g, (const uop *[]){x, e}, 2, 1)->src[0] == x);
    CHECK(t_cat(g, (const uop *[]){x, t_full(g, t_number(g, DT_F32, 1), D(2, 0))}, 2, 1) == x);
    CHECK(t_cat(g, (const uop *[]){y, t_cast(g, e, DT_I32)}, 2, 1) == y);
    CHECK(t_cat(g, (const uop *[]){e, e}, 2, 1) == e);
    CHECK_IS(t_stack(g, (const uop *[]){x, x, x}, 3, -1), "(2, 3, 3) f32");
    CHECK_IS(t_stack(g, (const uop *[]){x, x}, 2, 0), "(2, 2, 3) f32");
    CHECK_IS(t_repeat(g, x, D(4, 1, 2)), "(4, 2, 6) f32");
    CHECK_IS(t_squeeze(g, t_unsqueeze(g, x, -1), 2), "(2, 3) f32");
    CHECK_IS(t_squeeze(g, buf(&f, DT_F32, D(1, 4, 1)), T_END), "(4) f32");
    CHECK_IS(t_flatten(g, buf(&f, DT_F32, D(2, 3, 4)), 1, -1), "(2, 12) f32");
    close_fix(&f);
}

/* ---- elementwise ------------------------------------------------------------------------------------------ */

TEST(tensor_broadcasting) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(2, 3)), *row = buf(&f, DT_F32, D(3)), *two = t_number(g, DT_F32, 2);
    const uop *s = t_mul(g, x, two);
    CHECK(s->op == OP_MUL && s->src[0] == x && s->src[1] == two); /* rank 0 stays rank 0 */
    CHECK_IS(t_add(g, row, x), "(2, 3) f32");
    CHECK_IS(t_add(g, t_unsqueeze(g, row, 1), row), "(3, 3) f32");
    CHECK_IS(t_add(g, buf(&f, DT_F32, D(0, 3)), row), "(0, 3) f32");
    CHECK_IS(t_add(g, two, two), "() f32");
    CHECK_IS(t_where(g, t_lt(g, row, two), x, two), "(2, 3) f32");
    CHECK_IS(t_where(g, t_lt(g, row, two), two, two), "(3) f32");
    CHECK_IS(t_clamp(g, row, t_unsqueeze(g, row, 1), NULL), "(3, 3) f32");
    CHECK_IS(t_lerp(g, x, row, two), "(2, 3) f32");
    close_fix(&f);
}

/* The same expression is the same node, however it is spelled. */
TEST(tensor_interning) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(2, 3)), *y = t_buffer(g, DT_F32, D(3), 1);
    CHECK(t_add(g, x, y) == t_add(g, y, x));
    CHECK(t_gt(g, x, y) == t_lt(g, y, x));
    CHECK(t_softmax(g, x, 1) == t_softmax(g, x, -1));
    CHECK(t_matmul(g, x, y) == t_matmul(g, x, y));
    uint32_t n = f.t.ir.n;
    t_layernorm(g, x, y, y, 1, 1e-5);
    CHECK(f.t.ir.n > n);
    n = f.t.ir.n;
    t_layernorm(g, x, y, y, 1, 1e-5);
    CHECK_EQ(f.t.ir.n, n);
    close_fix(&f);
}

TEST(tensor_dtypes_of_functions) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *i = buf(&f, DT_I32, D(4)), *b = buf(&f, DT_BOOL, D(4)), *h = buf(&f, DT_F16, D(4)),
              *d = buf(&f, DT_F64, D(4));
    CHECK_IS(t_div(g, i, i), "(4) f32");
    CHECK_IS(t_floordiv(g, i, i), "(4) i32");
    CHECK_IS(t_exp(g, i), "(4) f32");
    CHECK_IS(t_exp(g, d), "(4) f64");
    CHECK_IS(t_sum(g, b, NULL, 0, false), "() i64");
    CHECK_IS(t_sum(g, h, NULL, 0, true), "(1) f16");
    CHECK_IS(t_mean(g, i, NULL, 0, false), "() f32");
    CHECK_IS(t_mean(g, h, NULL, 0, false), "() f16");
    CHECK_IS(t_cumsum(g, b, 0), "(4) i64");
    CHECK_IS(t_argmax(g, h, 0, true), "(1) i64");
    CHECK_IS(t_any(g, h, NULL, 0, false), "() bool");
    CHECK_IS(t_eq(g, i, h), "(4) bool");
    CHECK_IS(t_add(g, b, b), "(4) bool");
    CHECK_IS(t_add(g, b, i), "(4) i32");
    CHECK_IS(t_floor(g, i), "(4) i32");
    CHECK_IS(t_softmax(g, h, 0), "(4) f16");
    CHECK_IS(t_logical_and(g, i, d), "(4) bool");
    CHECK_IS(t_maximum(g, b, b), "(4) bool");
    CHECK_IS(t_pow(g, i, i), "(4) i32");
    close_fix(&f);
}

TEST(tensor_numbers) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    CHECK_EQ(t_number(g, DT_I8, 300)->arg.i, 127);
    CHECK_EQ(t_number(g, DT_I8, NAN)->arg.i, 0);
    CHECK_EQ(t_number(g, DT_BOOL, 0.5)->arg.i, 1);
    CHECK(t_add(g, t_number(g, DT_F32, 1), t_number(g, DT_F32, 2)) == t_number(g, DT_F32, 3));
    CHECK(t_cast(g, t_number(g, DT_F32, 2.75), DT_I32) == t_int(g, DT_I32, 2));
    CHECK_IS(t_full(g, t_number(g, DT_F32, 1), D(2, 3)), "(2, 3) f32");
    CHECK(t_full(g, t_number(g, DT_F32, 1), NULL, 0) == t_number(g, DT_F32, 1));
    CHECK_IS(t_arange(g, DT_I64, 0, 10, 3), "(4) i64");
    CHECK_IS(t_arange(g, DT_F32, 1, 0, -0.25), "(4) f32");
    CHECK_IS(t_arange(g, DT_F32, 1, 0, 1), "(0) f32");
    CHECK_IS(t_linspace(g, DT_F32, 0, 1, 5), "(5) f32");
    CHECK_IS(t_eye(g, DT_F32, 3, 4), "(3, 4) f32");
    close_fix(&f);
}

/* ---- reductions, products, indices ---------------------------------------------------------------------------- */

TEST(tensor_reductions) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(2, 3, 4)), *none = buf(&f, DT_F32, D(2, 0));
    CHECK_IS(t_sum(g, x, NULL, 0, false), "() f32");
    CHECK_IS(t_sum(g, x, D(-1, 0), false), "(3) f32");
    CHECK_IS(t_max(g, x, D(1), true), "(2, 1, 4) f32");
    CHECK(t_sum(g, x, D(0, 1, 2), false) == t_sum(g, x, NULL, 0, false));
    CHECK(t_sum(g, buf(&f, DT_F32, D(3, 1)), D(1), true)->op == OP_BUFFER); /* a sum of one */
    CHECK_IS(t_sum(g, none, D(1), false), "(2) f32");
    /* reductions of nothing are folded by the planner: their operands still have gradients */
    CHECK(t_sum(g, none, NULL, 0, true)->src[0] == none && t_prod(g, none, NULL, 0, true)->src[0] == none);
    CHECK_IS(t_max(g, none, D(0), false), "(0) f32");
    CHECK_IS(t_var(g, x, D(0), false, 1), "(3, 4) f32");
    CHECK_IS(t_argmax(g, x, T_END, true), "(1, 1, 1) i64");
    CHECK_IS(t_argmin(g, x, 1, false), "(2, 4) i64");
    CHECK_IS(t_logsumexp(g, x, D(2), false), "(2, 3) f32");
    CHECK_IS(t_logsumexp(g, none, D(1), false), "(2) f32");
    CHECK_IS(t_softmax(g, t_number(g, DT_F32, 3), -1), "() f32");
    CHECK_EQ(t_cumsum(g, x, -1)->op, OP_SCAN_AXIS);
    /* half sums are rounded once: everything between the casts is float32 */
    const uop *h = t_mean(g, buf(&f, DT_F16, D(8)), NULL, 0, false);
    CHECK(h->op == OP_CAST && h->src[0]->dt == DT_F32);
    close_fix(&f);
}

TEST(tensor_products) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *v = buf(&f, DT_F32, D(4)), *m = buf(&f, DT_F32, D(3, 4)), *n = buf(&f, DT_F32, D(4, 5));
    CHECK_IS(t_matmul(g, v, v), "() f32");
    CHECK_IS(t_matmul(g, m, v), "(3) f32");
    CHECK_IS(t_matmul(g, v, n), "(5) f32");
    CHECK_IS(t_matmul(g, m, n), "(3, 5) f32");
    CHECK_IS(t_matmul(g, buf(&f, DT_F32, D(7, 1, 3, 4)), buf(&f, DT_F32, D(6, 4, 5))), "(7, 6, 3, 5) f32");
    CHECK_IS(t_matmul(g, buf(&f, DT_F32, D(3, 0)), buf(&f, DT_F32, D(0, 5))), "(3, 5) f32");
    CHECK_IS(t_outer(g, v, buf(&f, DT_F32, D(2))), "(4, 2) f32");
    CHECK_IS(t_linear(g, buf(&f, DT_F32, D(2, 6, 4)), m, buf(&f, DT_F32, D(3))), "(2, 6, 3) f32");
    CHECK_IS(t_matmul(g, buf(&f, DT_I8, D(3, 4)), buf(&f, DT_I8, D(4, 5))), "(3, 5) i8");
    /* a product of 16-bit floats: float32 from the factors to the end of the sum */
    const uop *h = t_matmul(g, buf(&f, DT_F16, D(3, 4)), buf(&f, DT_F16, D(4, 5)));
    CHECK(h->op == OP_CAST && h->dt == DT_F16);
    const uop *sum = h->src[0]->src[0];
    CHECK(sum->op == OP_REDUCE_AXES && sum->dt == DT_F32 && sum->src[0]->op == OP_MUL);
    CHECK_EQ(sum->src[0]->src[0]->dt, DT_F32);
    close_fix(&f);
}

TEST(tensor_indices) {
    struct fix f;
    open_fix(&f);
    struct tg *g = &f.g;
    const uop *x = buf(&f, DT_F32, D(5, 6)), *i = buf(&f, DT_I64, D(2, 3));
    CHECK_IS(t_gather(g, x, 1, i), "(2, 3) f32");
    CHECK_IS(t_take(g, x, 0, i), "(2, 3, 6) f32");
    CHECK_IS(t_take(g, x, -1, i), "(5, 2, 3) f32");
    CHECK_IS(t_take(g, x, 1, t_int(g, DT_I32, 3)), "(5) f32");
    CHECK_IS(t_scatter_add(g, x, 0, i, buf(&f, DT_F32, D(2, 3))), "(5, 6) f32");
    CHECK_IS(t_scatter_add(g, x, 0, i, buf(&f, DT_F32, D(4, 4))), "(5, 6) f32");
    close_fix(&f);
}

/* ---- provenance ---------------------------------------------------------------------------------------------------- */

static const char *prov_text(struct fix *f, uint32_t set, int max) {
    struct str s;
    str_init(&s, &f->t.arena);
    prov_print(&s, &f->g.prov, set, max);
    return s.p ? s.p : "";
}

TEST(tensor_provenance) {
    struct fix f;
    open_fix(&f);
    struct prov *p = &f.g.prov;
    uint32_t dot = prov_site(p, "src/dot.c", 6, "dot", NULL, false),
             soft = prov_site(p, "m.c", 31, "softmax", "net.0", false);
    CHECK(dot != soft && dot == prov_site(p, "src/dot.c", 6, "dot", NULL, false));
    prov_add(p, 7, dot);
    CHECK_STR(prov_text(&f, prov_set_of(p, 7), 3), "dot dot.c:6");
    prov_add(p, 7, soft), prov_add(p, 8, soft), prov_add(p, 8, dot);
    CHECK_EQ(prov_set_of(p, 7), prov_set_of(p, 8)); /* sets are interned */
    CHECK_STR(prov_text(&f, prov_set_of(p, 7), 3), "dot dot.c:6, softmax net.0 m.c:31");
    CHECK_STR(prov_text(&f, prov_set_of(p, 7), 1), "dot dot.c:6, ..");
    prov_add(p, 9, prov_site(p, "m.c", 31, "gelu", "net.0", false)), prov_add(p, 9, soft);
    CHECK_STR(prov_text(&f, prov_set_of(p, 9), 3), "softmax, gelu net.0 m.c:31");
    prov_inherit(p, 20, 22, 7, true);
    CHECK_STR(prov_text(&f, prov_set_of(p, 21), 1), "dot dot.c:6 (backward), ..");
    CHECK_EQ(prov_set_of(p, 22), 0);
    CHECK_EQ(prov_set_of(p, 1000), 0);
    CHECK_STR(prov_text(&f, 0, 3), "");
    close_fix(&f);
}
