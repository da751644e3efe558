/* What the front end says when it is misused: every message, word for word. A message has what was found (both shapes,
 * both dtypes), what was expected, and where it is not obvious what to do. */
#include "irtest.h"
#include "tensor/tensor.h"

#include <stdlib.h>

struct fix {
    struct ir_test t;
    struct tg g;
    const uop *a, *b, *v, *m, *i, *p, *h, *e, *s; /* see open_fix */
    const uop *var, *wide;
};

#define D(...) (int64_t[]){__VA_ARGS__}, (uint32_t)RG_COUNT(((int64_t[]){__VA_ARGS__}))
#define SL(...) \
    (struct t_slice[]) { __VA_ARGS__ }

static void open_fix(struct fix *f) {
    memset(f, 0, sizeof *f);
    ir_test_open(&f->t);
    tg_init(&f->g, &f->t.ir, &f->t.arena);
    struct tg *g = &f->g;
    f->a = t_buffer(g, DT_F32, D(2, 3), 0);
    f->b = t_buffer(g, DT_F32, D(4, 3), 1);
    f->v = t_buffer(g, DT_F32, D(4), 2);
    f->m = t_buffer(g, DT_F32, D(5, 2, 3), 3);
    f->i = t_buffer(g, DT_I64, D(2, 3), 4);
    f->p = t_buffer(g, DT_BOOL, D(2, 3), 5);
    f->h = t_buffer(g, DT_F16, D(2, 3), 6);
    f->e = t_buffer(g, DT_F32, D(2, 0), 7);
    f->s = t_number(g, DT_F32, 1);
    f->var = test_var(&f->t.ir, DT_IDX, 0, "pos", 0, 3);
    f->wide = test_var(&f->t.ir, DT_IDX, 1, "far", 0, 9);
}

static const uop *grad(struct tg *g, const uop *of, const uop *seed, const uop *wrt) {
    const uop *out;
    t_grad(g, of, seed, &wrt, 1, &out);
    return out;
}

/* clang-format off */
/*    expression, then its message */
#define ERRORS(X)                                                                                                     \
    X(t_add(g, f->a, f->v),            "shapes (2, 3) and (4) do not broadcast: axis 1 is 3 in one and 4 in the other; sizes must be equal or 1") \
    X(t_where(g, f->p, f->a, f->b),    "shapes (2, 3) and (4, 3) do not broadcast: axis 0 is 2 in one and 4 in the other; sizes must be equal or 1") \
    X(t_where(g, f->a, f->a, f->a),    "a condition of dtype f32; expected bool: compare it with something")          \
    X(t_clamp(g, f->a, NULL, NULL),    "clamp without bounds; give lo, hi or both")                                   \
    X(t_neg(g, f->p),                  "neg of bool; use logical_not, or cast it to a number")                        \
    X(t_sub(g, f->p, f->p),            "sub of bool and bool; use logical_xor, or cast to a number")                  \
    X(t_mod(g, f->p, f->p),            "mod of bool and bool; cast one to a number")                                  \
    X(t_pow(g, f->p, f->p),            "pow of bool and bool; cast one to a number")                                  \
    X(t_shl(g, f->i, f->a),            "shl of dtype f32; expected integers (cast it)")                               \
    X(t_shr(g, f->p, f->p),            "shr of dtype bool; expected integers (cast it)")                              \
    X(t_bitwise_and(g, f->a, f->i),    "bitwise_and of dtype f32; expected integers or bool (cast it)")               \
    X(t_bitwise_not(g, f->h),          "bitwise_not of dtype f16; expected integers or bool (cast it)")               \
    X(t_hardtanh(g, f->a, 2, 1),       "hardtanh from 2 to 1: expected the lesser number first")                      \
    X(t_buffer(g, DT_F32, D(2, -3), 0), "shape (2, -3): axis 1 has size -3; sizes are 0 or more")                     \
    X(t_buffer(g, DT_F32, D(INT64_MAX, 2), 0), "shape (9223372036854775807, 2) has more than 2^63 elements")          \
    X(t_buffer(g, DT_VOID, D(2), 0),   "a tensor cannot have this dtype (0)")                                         \
    X(t_buffer(g, DT_F32, (int64_t[17]){0}, 17, 0), "a tensor of 17 axes; at most 16 are supported")                  \
    X(t_int(g, DT_I8, 300),            "300 is not a number of i8 (-128 to 127); use a wider dtype")                  \
    X(t_int(g, DT_U64, -1),            "-1 is not a number of u64 (0 to 18446744073709551615); use a wider dtype")    \
    X(t_full(g, f->v, D(2)),           "a fill value has shape (), found (4); use expand")                            \
    X(t_arange(g, DT_F32, 0, 1, 0),    "an arange from 0 to 1 by 0: expected finite numbers and a step that is not 0") \
    X(t_arange(g, DT_I32, 0, 1, 0.5),  "an arange of i32 counts in whole numbers, found start 0 and step 0.5; use a float dtype") \
    X(t_arange(g, DT_U8, 0, 300, 1),   "299 is not a number of u8 (0 to 255); use a wider dtype")                     \
    X(t_arange(g, DT_BOOL, 0, 2, 1),   "an arange of bool; use an integer or a float dtype")                          \
    X(t_arange(g, DT_F32, 0, 1e30, 1), "an arange from 0 to 1e+30 by 1 has too many elements")                        \
    X(t_linspace(g, DT_F32, 0, 1, -1), "a linspace of -1 numbers; expected 0 or more")                                \
    X(t_linspace(g, DT_F32, 0, INFINITY, 3), "a linspace from 0 to inf: expected finite numbers")                     \
    X(t_reshape(g, f->a, D(4, 2)),     "cannot reshape (2, 3), 6 elements, to (4, 2), 8 elements: the number of elements must stay the same") \
    X(t_reshape(g, f->a, D(-1, 4)),    "cannot reshape (2, 3), 6 elements, to (-1, 4): no size for -1 fits")          \
    X(t_reshape(g, f->e, D(-1, 0)),    "cannot reshape (2, 0), 0 elements, to (-1, 0): no size for -1 fits")          \
    X(t_reshape(g, f->a, D(-1, -1)),   "reshape to (-1, -1): only one size may be -1")                                \
    X(t_reshape(g, f->a, D(-2, 3)),    "reshape to (-2, 3): axis 0 has size -2; sizes are 0 or more, or -1 once")     \
    X(t_expand(g, f->a, D(4, 3)),      "cannot expand (2, 3) to (4, 3): axis 0 has 2 elements, only axes of size 1 are repeated") \
    X(t_expand(g, f->a, D(3)),         "cannot expand (2, 3) to (3): it would lose axes")                             \
    X(t_expand(g, f->a, D(-1, 2, 3)),  "cannot expand (2, 3) to (-1, 2, 3): axis 0 has size -1; sizes are 0 or more, -1 keeps an axis that is there") \
    X(t_permute(g, f->a, D(0)),        "permute of (2, 3) by (0): expected each of its 2 axes once")                  \
    X(t_permute(g, f->a, D(0, -2)),    "axes (0, -2) of shape (2, 3): axis 0 is named twice")                         \
    X(t_transpose(g, f->a, 0, 2),      "axis 2 of shape (2, 3): expected -2 to 1")                                    \
    X(t_flip(g, f->s, D(0)),           "axis 0 of a tensor without axes (shape ())")                                  \
    X(t_slice(g, f->v, SL({0, 1, 1, NULL}, {0, 1, 1, NULL}), 2), "2 slices of shape (4), which has 1 axes")           \
    X(t_slice(g, f->v, SL({0, 2, 1, f->var}), 1), "a slice of 2 elements by 1 from a start in 0 to 3 does not stay inside axis 0 of shape (4); give the variable narrower bounds") \
    X(t_slice(g, f->v, SL({0, 0, 1, f->wide}), 1), "a slice of 0 elements by 1 from a start in 0 to 9 does not stay inside axis 0 of shape (4); give the variable narrower bounds") \
    X(t_slice(g, f->v, SL({0, 1, -1, f->var}), 1), "step -1 with a start known at run time; expected 1 or more (flip the result)") \
    X(t_slice(g, f->v, SL({0, T_END, 1, f->var}), 1), "a slice with a start known at run time has stop - start elements; expected 0 or more, found start 0, stop 9223372036854775807") \
    X(t_slice(g, f->v, SL({0, 1, 1, f->s}), 1), "a start known at run time is an idx variable, found f32 ()")         \
    X(t_pad(g, f->v, D(1, 1, 1, 1), 0), "padding for 4 axes of shape (4), which has 1")                               \
    X(t_pad(g, f->v, (int64_t[]){-3, -2}, 1, 0), "padding (-3, -2) takes more from axis 0 of shape (4) than there is") \
    X(t_pad(g, f->v, (int64_t[]){INT64_MAX, 1}, 1, 0), "padding (9223372036854775807, 1) of axis 0 passes 2^63")      \
    X(t_squeeze(g, f->a, 0),           "axis 0 of shape (2, 3) has size 2; only axes of size 1 can be squeezed")      \
    X(t_unsqueeze(g, f->a, 4),         "a new axis at 4 of shape (2, 3): expected -3 to 2")                           \
    X(t_flatten(g, f->m, 2, 1),        "flatten axes 2 to 1 of shape (5, 2, 3): the first comes after the last")      \
    X(t_cat(g, NULL, 0, 0),            "cat of no tensors; give at least one")                                        \
    X(t_cat(g, (const uop *[]){f->s, f->s}, 2, 0), "cat of tensors without axes; use stack")                          \
    X(t_cat(g, (const uop *[]){f->a, f->b}, 2, 1), "cat on axis 1 of shapes (2, 3) and (4, 3) (number 1): all other axes must have the same size") \
    X(t_stack(g, (const uop *[]){f->a, f->b}, 2, 0), "stack of shapes (2, 3) and (4, 3) (number 1): all must be the same") \
    X(t_repeat(g, f->a, D(2)),         "repeat of (2, 3) by (2): expected a number for each axis")                    \
    X(t_repeat(g, f->a, D(2, -1)),     "repeat of (2, 3) by (2, -1): times are 0 or more")                            \
    X(t_cast(g, f->a, DT_IDX),         "cannot cast f32 to this dtype")                                               \
    X(t_bitcast(g, f->a, DT_I64),      "cannot read the bits of f32 as i64: both must be numbers of the same size")   \
    X(t_sum(g, f->a, D(2), false),     "axis 2 of shape (2, 3): expected -2 to 1")                                    \
    X(t_sum(g, f->a, D(1, -1), false), "axes (1, -1) of shape (2, 3): axis 1 is named twice")                         \
    X(t_max(g, f->e, NULL, 0, false),  "max over axis 1 of shape (2, 0): there is none of nothing; reduce another axis or give it elements") \
    X(t_argmin(g, f->e, 1, false),     "argmin over axis 1 of shape (2, 0): there is none of nothing; reduce another axis or give it elements") \
    X(t_softmax(g, f->a, 5),           "axis 5 of shape (2, 3): expected -2 to 1")                                    \
    X(t_layernorm(g, f->a, f->v, NULL, 1, 1e-5), "the weight has shape (4); expected the last 1 axes of (2, 3)")      \
    X(t_layernorm(g, f->v, NULL, NULL, 2, 1e-5), "a norm over the last 2 axes of shape (4): expected 1 to 1")         \
    X(t_matmul(g, f->a, f->b),         "matrix product of (2, 3) and (4, 3): the last axis of the first has size 3, the last but one of the second 4; they must be equal") \
    X(t_matmul(g, f->a, f->v),         "matrix product of (2, 3) and (4): the last axis of the first has size 3, the axis of the second 4; they must be equal") \
    X(t_matmul(g, f->a, f->s),         "matrix product of (2, 3) and (): both need an axis; use mul for single numbers") \
    X(t_matmul(g, f->m, t_reshape(g, t_expand(g, f->v, D(9, 4)), D(2, 3, 6))), "matrix product of (5, 2, 3) and (2, 3, 6): batch axes of size 5 and 2; they must be equal or 1") \
    X(t_outer(g, f->a, f->v),          "outer product of (2, 3) and (4): both must have one axis; flatten them")      \
    X(t_linear(g, f->a, f->v, NULL),   "linear of (2, 3) with weight (4): expected x (.., in) and weight (out, in)")  \
    X(t_linear(g, f->a, f->b, f->a),   "linear with weight (4, 3) and bias (2, 3): expected bias (4)")                \
    X(t_gather(g, f->a, 0, f->a),      "an index of dtype f32; expected integers (cast it)")                          \
    X(t_gather(g, f->v, 0, f->i),      "gather on axis 0 of (4) with an index of (2, 3): expected the same number of axes, and no size above the tensor's but on axis 0") \
    X(t_gather(g, f->e, 1, f->i),      "gather on axis 1 of (2, 0): nothing is there to be named")                    \
    X(t_scatter_add(g, f->a, 0, f->i, f->v), "scatter_add of (4) with an index of (2, 3): each number of the index needs something to add") \
    X(t_scatter_add(g, f->h, 0, f->i, f->a), "scatter_add of f32 to f16 would lose digits; cast one of them")         \
    X(grad(g, f->a, NULL, f->a),       "the gradient of a tensor of shape (2, 3) needs a seed of that shape; or reduce it to one number (sum, mean)") \
    X(grad(g, f->i, f->i, f->a),       "the gradient of a tensor of dtype i64; expected a float dtype")               \
    X(grad(g, f->a, f->h, f->a),       "the seed is (2, 3) f16; expected (2, 3) f32, as the tensor that is differentiated") \
    X(grad(g, f->a, f->v, f->a),       "the seed is (4) f32; expected (2, 3) f32, as the tensor that is differentiated") \
    X(grad(g, f->a, f->a, f->i),       "a gradient with respect to a tensor of dtype i64 (number 0); only floats have gradients")
/* clang-format on */

struct call {
    struct fix *f;
    int number;
};

/* One function with all expressions: the number says which to evaluate. */
static void evaluate(void *arg) {
    struct call *c = arg;
    struct fix *f = c->f;
    struct tg *g = &f->g;
    int at = 0;
#define X(expr, message) \
    if (c->number == at++) (void)(expr);
    ERRORS(X)
#undef X
}

static const struct {
    const char *text, *message;
} misuse[] = {
#define X(expr, message) {#expr, message},
    ERRORS(X)
#undef X
};

TEST(tensor_errors) {
    for (size_t i = 0; i < RG_COUNT(misuse); i++) {
        struct fix f;
        open_fix(&f);
        struct call c = {&f, (int)i};
        int code = err_guard(&f.t.err, evaluate, &c);
        if (code != RG_EINVAL)
            FAIL("%s: status %d (%s), expected invalid argument", misuse[i].text, code, f.t.err.msg);
        if (strcmp(f.t.err.msg, misuse[i].message))
            FAIL("%s says\n  %s\nexpected\n  %s", misuse[i].text, f.t.err.msg, misuse[i].message);
        ir_test_close(&f.t);
    }
    TEST_COUNT(RG_COUNT(misuse), "messages of the front end");
}

/* An op without a gradient (here: its rule is switched off) is an error only where a gradient would have to pass. Scratch
 * memory is given back. */
static void through_call(void *arg) {
    struct fix *f = ((struct call *)arg)->f;
    const uop *y = t_tanh(&f->g, f->a);
    ((struct call *)arg)->number = (int)mem_live();
    grad(&f->g, y, f->a, f->a);
}

TEST(tensor_errors_no_gradient) {
    struct fix f;
    open_fix(&f);
    struct call c = {&f, 0};
    setenv("RIDGE_RULE_OFF", "d_tanh", 1);
    env_reload();
    CHECK_EQ(err_guard(&f.t.err, through_call, &c), RG_EUNSUPPORTED);
    CHECK_STR(f.t.err.msg, "the gradient of TANH is not defined; detach what should not be differentiated");
    CHECK_EQ(mem_live(), c.number);
    ir_test_close(&f.t);
}
