/* Sizes of kernels: entries of the linear programs of chains of every op, as compilers get them. Kernels are cut by what their ops
 * become, not by how many there are; a chain four times as long has four times the entries. Counts, no clocks. */
#include "irtest.h"
#include "planned.h"
#include "tensor/tensor.h"

#include <ridge.h>

struct sized {
    struct ir_test t;
    struct tg g;
    struct sched_opts opts;
    struct planned_run run;
    enum op op;
    uint32_t n;
    int64_t size;
    uint32_t calls;
    uint64_t all, most; /* entries of all calls, of the longest */
};

static void sized_run(void *arg) {
    struct sized *s = arg;
    struct ir *ir = &s->t.ir;
    enum dtype dt = op_info[s->op].flags & OPF_I ? DT_I32 : DT_F32;
    const uop *x = t_buffer(&s->g, dt, &s->size, 1, 0), *y = t_buffer(&s->g, dt, &s->size, 1, 1);
    for (uint32_t i = 0; i < s->n; i++) {
        const uop *src[3] = {x, y, y};
        x = uop_new(ir, s->op, dt, 1, src, op_info[s->op].max_src, ARG_NONE);
    }
    s->run.graph = uop_new(ir, OP_GRAPH, DT_VOID, 1, &x, 1, ARG_NONE);
    planned_plan(&s->run);
}

static void size_of(struct sized *s, enum op op, uint32_t n, int64_t size, bool gpu) {
    *s = (struct sized){.op = op, .n = n, .size = size};
    ir_test_open(&s->t);
    tg_init(&s->g, &s->t.ir, &s->t.arena);
    s->opts = (struct sched_opts){.model = gpu ? planned_h200() : planned_model(), .gpu = gpu};
    s->run = (struct planned_run){.arena = &s->t.arena,
                                  .ir = &s->t.ir,
                                  .opts = &s->opts,
                                  .from = gpu ? OPTS_GPU : OPTS_HEURISTIC,
                                  .for_cc = true};
    if (err_guard(&s->t.err, sized_run, s)) FAIL("%s x %u: %s", op_info[op].name, n, s->t.err.msg);
    s->calls = s->run.sched.call.n;
    for (uint32_t i = 0; i < s->calls; i++) {
        uint64_t entries = s->run.lin[s->run.sched.call.p[i].prog].n;
        s->all += entries;
        s->most = RG_MAX(s->most, entries);
    }
    ir_test_close(&s->t);
}

static bool is_chained(enum op op) {
    return op_is_pure(op) && op_info[op].dt == OPD_S0 && op != OP_THREEFRY && op_info[op].max_src <= 3;
}

TEST_SLOW(plan_size_of_chains, 300) {
    uint64_t most = 0;
    for (int c = 0; c < 3 * OP_COUNT; c++) {
        enum op op = (enum op)(c / 3);
        bool gpu = c % 3 == 2;
        int64_t size = c % 3 ? 1 << 16 : 1;
        struct sized s, four;
        if (!is_chained(op)) continue;
        size_of(&s, op, 110, size, gpu), size_of(&four, op, 440, size, gpu); /* beyond KERNEL_NODES */
        if (four.most > 4500 || four.all > 5 * s.all + 500)
            FAIL("%s, %lld elements on %s: 110 have %llu entries, 440 have %llu, at most %llu in a kernel",
                 op_info[op].name, (long long)size, gpu ? "GPU" : "CPU", (unsigned long long)s.all,
                 (unsigned long long)four.all, (unsigned long long)four.most);
        most = RG_MAX(most, four.most);
    }
    struct sized s;
    size_of(&s, OP_SIN, 1000, 1, false);
    CHECK(s.most <= 4500);
    test_info("chains of 440: at most %llu entries a kernel; 1000 sin: %llu entries in %u kernels",
              (unsigned long long)most, (unsigned long long)s.all, s.calls);
}

/* h = tanh(x[t] w + h u), n steps: each reads another slice of x. */
static void steps_run(void *arg) {
    struct sized *s = arg;
    struct tg *g = &s->g;
    const uop *x = t_buffer(g, DT_F32, (int64_t[]){s->n, 16, 16}, 3, 0);
    const uop *w = t_buffer(g, DT_F32, (int64_t[]){16, 16}, 2, 1),
              *u = t_buffer(g, DT_F32, (int64_t[]){16, 16}, 2, 2);
    const uop *h = t_buffer(g, DT_F32, (int64_t[]){16, 16}, 2, 3);
    for (uint32_t t = 0; t < s->n; t++) {
        const uop *in = t_reshape(g, t_slice(g, x, &(struct t_slice){.start = t, .stop = t + 1}, 1),
                                  (int64_t[]){16, 16}, 2);
        h = t_tanh(g, t_add(g, t_matmul(g, in, w), t_matmul(g, h, u)));
    }
    s->run.graph = uop_new(&s->t.ir, OP_GRAPH, DT_VOID, 1, &h, 1, ARG_NONE);
    planned_plan(&s->run);
}

/* Kernels that read slices of one buffer differ in an address, not in their text. */
TEST(plan_size_of_steps_that_read_slices) {
    uint32_t distinct[2][2];
    for (int c = 0; c < 4; c++) {
        bool gpu = c % 2;
        struct sized s = {.n = c / 2 ? 40 : 10};
        ir_test_open(&s.t);
        tg_init(&s.g, &s.t.ir, &s.t.arena);
        s.opts = (struct sched_opts){.model = gpu ? planned_h200() : planned_model(), .gpu = gpu};
        s.run = (struct planned_run){
            .arena = &s.t.arena, .ir = &s.t.ir, .opts = &s.opts, .from = gpu ? OPTS_GPU : OPTS_HEURISTIC};
        if (err_guard(&s.t.err, steps_run, &s)) FAIL("%u steps: %s", s.n, s.t.err.msg);
        distinct[c / 2][gpu] = s.run.sched.prog.n;
        CHECK(s.run.sched.call.n >= s.n);
        ir_test_close(&s.t);
    }
    CHECK_EQ(distinct[0][0], distinct[1][0]);
    CHECK_EQ(distinct[0][1], distinct[1][1]);
    CHECK(distinct[0][0] <= 6 && distinct[0][1] <= 6);
}

struct joined {
    struct ir_test t;
    struct tg g;
    struct sched_opts opts;
    struct planned_run run;
    uint32_t n;
};

static void joined_run(void *arg) {
    struct joined *s = arg;
    const uop **x = arena_array(&s->t.arena, const uop *, s->n), *y;
    for (uint32_t i = 0; i < s->n; i++) x[i] = t_buffer(&s->g, DT_F32, (int64_t[]){4, 8}, 2, i);
    y = t_cat(&s->g, x, s->n, 0);
    s->run.graph = uop_new(&s->t.ir, OP_GRAPH, DT_VOID, 1, &y, 1, ARG_NONE);
    planned_plan(&s->run);
}

/* cat of n tensors: n log n bytes, a number of distinct kernels that does not grow with n, each of bounded size. */
TEST(plan_size_of_cat) {
    const uint32_t count[] = {32, 320, 3000};
    for (int c = 0; c < 6; c++) {
        struct joined s = {.n = count[c % 3]};
        ir_test_open(&s.t);
        tg_init(&s.g, &s.t.ir, &s.t.arena);
        s.opts = (struct sched_opts){.model = c / 3 ? planned_h200() : planned_model(), .gpu = c / 3};
        s.run = (struct planned_run){
            .arena = &s.t.arena, .ir = &s.t.ir, .opts = &s.opts, .from = c / 3 ? OPTS_GPU : OPTS_HEURISTIC};
        if (err_guard(&s.t.err, joined_run, &s)) FAIL("cat of %u: %s", s.n, s.t.err.msg);
        double whole = 4.0 * 32 * s.n;
        uint64_t most = 0;
        for (uint32_t i = 0; i < s.run.sched.prog.n; i++) most = RG_MAX(most, s.run.lin[i].n);
        if (s.run.sched.bytes > 7 * whole || s.run.sched.prog.n > 8 || most > 4000)
            FAIL("cat of %u: %.0f bytes of %.0f, %u distinct kernels, %llu entries", s.n, s.run.sched.bytes,
                 whole, s.run.sched.prog.n, (unsigned long long)most);
        ir_test_close(&s.t);
    }
}

/* ---- kernels that differ in the order of their buffers --------------------------------------------------------------- */

struct reordered {
    struct ir_test t;
    struct tg g;
    struct sched_opts opts;
    struct planned_run run;
};

/* p = sigmoid(a + b), q = tanh(a + b p), twice: a before b, then b before a, with the results in another order. */
static void reordered_run(void *arg) {
    struct reordered *s = arg;
    struct tg *g = &s->g;
    const uop *out[4];
    for (int i = 0; i < 2; i++) {
        const uop *x = t_buffer(g, DT_F32, (int64_t[]){8, 48}, 2, 2 * i),
                  *y = t_buffer(g, DT_F32, (int64_t[]){8, 48}, 2, 2 * i + 1);
        const uop *a = i ? y : x, *b = i ? x : y, *p = t_sigmoid(g, t_add(g, a, b));
        const uop *q = t_tanh(g, t_add(g, a, t_mul(g, b, p)));
        out[2 * i] = i ? q : p, out[2 * i + 1] = i ? p : q;
    }
    s->run.graph = uop_new(&s->t.ir, OP_GRAPH, DT_VOID, 1, out, 4, ARG_NONE);
    s->run.data = graph_fill(&s->t.arena, &s->t.ir, s->run.graph, 1, false);
    planned_plan(&s->run);
    planned_memory(&s->run);
    planned_interpret(&s->run);
}

/* One program, called twice; the values are those of the oracle. */
TEST(plan_size_of_kernels_in_another_order) {
    for (int gpu = 0; gpu < 2; gpu++) {
        struct reordered s = {0};
        struct str why;
        uint64_t excluded = 0, compared = 0;
        ir_test_open(&s.t);
        tg_init(&s.g, &s.t.ir, &s.t.arena);
        str_init(&why, &s.t.arena);
        s.opts = (struct sched_opts){
            .model = gpu ? planned_h200() : planned_model(), .gpu = gpu, .no_batch = true};
        s.run = (struct planned_run){
            .arena = &s.t.arena, .ir = &s.t.ir, .opts = &s.opts, .from = gpu ? OPTS_GPU : OPTS_HEURISTIC};
        if (err_guard(&s.t.err, reordered_run, &s)) FAIL("%s", s.t.err.msg);
        CHECK_EQ(s.run.sched.call.n, 2);
        CHECK_EQ(s.run.sched.prog.n, 1);
        if (!planned_check(&s.run, &why, &excluded, &compared)) FAIL("%s", why.p);
        CHECK_EQ(compared, 4 * 8 * 48);
        ir_test_close(&s.t);
    }
}

/* ---- a GRU with gradients ----------------------------------------------------------------------------------------------- */

enum { GRU_ROWS = 32, GRU_WIDTH = 64 };

static const uop *gru_part(struct tg *g, const uop *x, int k) {
    struct t_slice s[2] = {{.stop = T_END}, {.start = k * GRU_WIDTH, .stop = (k + 1) * GRU_WIDTH}};
    return t_slice(g, x, s, 2);
}

/* n steps; the loss and the gradients of both weights. */
static void gru_run(void *arg) {
    struct sized *s = arg;
    struct tg *g = &s->g;
    enum { W = GRU_WIDTH };
    const uop *x = t_buffer(g, DT_F32, (int64_t[]){s->n, GRU_ROWS, W}, 3, 0), *wu[2], *out[3];
    const uop *h = t_buffer(g, DT_F32, (int64_t[]){GRU_ROWS, W}, 2, 1), *one = uop_flt(g->ir, DT_F32, 1);
    const uop **all = arena_array(&s->t.arena, const uop *, s->n);
    for (uint32_t i = 0; i < 2; i++) wu[i] = t_buffer(g, DT_F32, (int64_t[]){W, 3 * W}, 2, 2 + i);
    for (uint32_t t = 0; t < s->n; t++) {
        const uop *in = t_reshape(g, t_slice(g, x, &(struct t_slice){.start = t, .stop = t + 1}, 1),
                                  (int64_t[]){GRU_ROWS, W}, 2);
        const uop *gi = t_matmul(g, in, wu[0]), *gh = t_matmul(g, h, wu[1]);
        const uop *r = t_sigmoid(g, t_add(g, gru_part(g, gi, 0), gru_part(g, gh, 0)));
        const uop *z = t_sigmoid(g, t_add(g, gru_part(g, gi, 1), gru_part(g, gh, 1)));
        const uop *n = t_tanh(g, t_add(g, gru_part(g, gi, 2), t_mul(g, r, gru_part(g, gh, 2))));
        all[t] = h = t_add(g, t_mul(g, t_sub(g, one, z), n), t_mul(g, z, h));
    }
    const uop *y = t_stack(g, all, s->n, 0);
    out[0] = t_sum(g, t_mul(g, y, y), NULL, 0, false);
    t_grad(g, out[0], NULL, wu, 2, out + 1);
    const uop *graph = uop_new(&s->t.ir, OP_GRAPH, DT_VOID, 1, out, 3, ARG_NONE);
    schedule(&s->t.arena, &s->t.ir, graph, &s->opts, &s->run.sched);
}

/* Steps share their kernels, and no outer product of a step is stored, however many steps x has. */
TEST(plan_size_of_a_gru_with_gradients) {
    const uint32_t steps[] = {8, 32, 64}, most[] = {18, 24, 40};
    for (int c = 0; c < 3; c++) {
        struct sized s = {.n = steps[c]};
        ir_test_open(&s.t);
        tg_init(&s.g, &s.t.ir, &s.t.arena);
        s.opts = (struct sched_opts){.model = planned_model()};
        if (err_guard(&s.t.err, gru_run, &s)) FAIL("%u steps: %s", s.n, s.t.err.msg);
        test_info("%u steps: %u kernels, %u distinct", s.n, s.run.sched.call.n, s.run.sched.prog.n);
        CHECK(s.run.sched.prog.n <= most[c]);
        for (uint32_t i = 0; i < s.run.sched.buf.n; i++)
            CHECK(s.run.sched.buf.p[i].kind != BUF_TEMP ||
                  s.run.sched.buf.p[i].elements < GRU_ROWS * GRU_WIDTH * 3 * GRU_WIDTH);
        ir_test_close(&s.t);
    }
}

/* x - sin x and sin x - x are two kernels, though they have the same nodes; a sort between them keeps them apart. */
TEST(plan_size_operands_in_another_order_are_another_kernel) {
    enum { N = 8 };
    float v[N], got[N];
    for (int i = 0; i < N; i++) v[i] = 0.25f * (float)i;
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = rg_from(c, RG_F32, v, RG_SHAPE(N)), s = rg_sort(rg_sub(x, rg_sin(x)), 0);
    CHECK_EQ(rg_read(rg_sub(rg_sin(s), s), got, sizeof got), 0);
    for (int i = 0; i < N; i++) {
        double y = v[i] - sin(v[i]);
        CHECK_NEAR(got[i], sin(y) - y, 1e-6);
    }
    CHECK_EQ(rg_close(c), 0);
}
