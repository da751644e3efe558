/* loop.c: CALL `loop`: bodies lifted over all steps, and loops with hoisted parts, against the body evaluated step by step, on random
 * bodies with every op; the text form; what stays in the bodies of an LSTM and of its gradient; what is refused. */
#include "tensor/loop.h"
#include "graphs.h"
#include "irtest.h"
#include "planned.h"

#include <math.h>

enum { STEPS = 3, LEAVES = 64 };

struct loop_test {
    struct ir_test t;
    struct tg g;
    struct loop_body b;
    uint64_t seed;
    struct ref_buf bufs[LEAVES];
    struct ref_tensor out[8];
    const uop *graph; /* outside */
    const uop *state; /* the leaf, of loops */
};

static int64_t size_in(struct tg *g, const uop *n) { return shape_size(tg_shape(g, n)); }

/* A random program becomes a body: each BUFFER an operand, with a row for each step or without. Numbers are small integers. */
static void copy_random(struct loop_test *t, uop_vec *values) {
    struct arena *a = &t->t.arena;
    struct ir ir;
    struct graph_gen gen = {.exact = true, .max_ops = 10, .max_elements = 128};
    struct rnd r = {t->seed};
    uop_vec topo = {0};
    ir_init(&ir, a);
    const uop *graph = graph_random(&ir, a, t->seed, &gen);
    struct graph_data data = graph_fill(a, &ir, graph, t->seed, true);
    const uop **to = arena_array(a, const uop *, ir.n);
    uop_topo(a, &graph, 1, &topo);
    for (uint32_t i = 0; i + 1 < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(a, const uop *, n->nsrc + 1);
        for (uint32_t k = 0; k < n->nsrc; k++) src[k] = to[n->src[k]->id];
        if (n->op != OP_BUFFER) {
            to[n->id] = uop_new(t->b.g.ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
            continue;
        }
        uint32_t number = t->b.leaf.n, rank = n->nsrc;
        bool per_step = rnd_below(&r, 3) > 0;
        const struct ref_buf *from = &data.bufs[n->arg.i];
        int64_t d[SHAPE_MAX + 1] = {STEPS};
        CHECK(number < LEAVES);
        for (uint32_t k = 0; k < rank; k++) d[1 + k] = n->src[k]->arg.i;
        const uop *value = per_step ? t_buffer(&t->g, (enum dtype)n->dt, d, rank + 1, number)
                                    : t_buffer(&t->g, (enum dtype)n->dt, d + 1, rank, number);
        to[n->id] = loop_leaf(&t->b, &t->g, per_step ? LOOP_PER_STEP : LOOP_FIXED, value);
        size_t width = dtype_info[n->dt].bytes;
        size_t bytes = (size_t)size_in(&t->b.g, to[n->id]) * width, turn = bytes / width / 2 * width;
        char *p = arena_alloc(a, bytes * STEPS + 1);
        for (int s = 0; s < (per_step ? STEPS : 1); s++) { /* rows are rotated, so that they differ */
            size_t cut = s ? turn : 0;
            memcpy(p + (size_t)s * bytes, (char *)from->p + cut, bytes - cut);
            memcpy(p + (size_t)s * bytes + bytes - cut, from->p, cut);
        }
        t->bufs[number] = (struct ref_buf){.p = p, .bytes = per_step ? bytes * STEPS : bytes};
    }
    for (uint32_t i = 0; i < graph->nsrc; i++) vec_push(a, values, to[graph->src[i]->id]);
}

/* The values of the body at step s; given: what the state holds there, or NULL. */
static void evaluate_step(struct loop_test *t, const uop *graph, int s, void *given, struct ref_tensor *out) {
    struct ref_buf at[LEAVES];
    for (uint32_t i = 0; i < t->b.leaf.n; i++) {
        const struct loop_leaf *l = &t->b.leaf.p[i];
        at[i] = t->bufs[i];
        if (l->kind == LOOP_STATE) at[i].p = given, at[i].bytes = sizeof(float);
        if (l->kind != LOOP_PER_STEP) continue;
        at[i].bytes /= STEPS;
        at[i].p = (char *)at[i].p + (size_t)s * at[i].bytes;
    }
    if (ref_graph(&t->t.err, &t->t.arena, t->b.g.ir, graph, at, t->b.leaf.n, NULL, false, 0, out))
        FAIL("seed %llu: %s", (unsigned long long)t->seed, t->t.err.msg);
}

static void lift_body(void *arg) {
    struct loop_test *t = arg;
    uop_vec values = {0}, lifted = {0};
    struct loop_lift l;
    loop_body_init(&t->b, &t->t.arena, STEPS, false);
    copy_random(t, &values);
    lift_init(&l, &t->g, &t->b);
    for (uint32_t i = 0; i < values.n; i++) {
        bool batched;
        const uop *x = lift(&l, values.p[i], &batched);
        const struct shape *s = tg_shape(&t->b.g, values.p[i]);
        int64_t d[SHAPE_MAX + 1] = {STEPS};
        memcpy(d + 1, s->d, s->n * sizeof *d);
        vec_push(&t->t.arena, &lifted, batched ? x : t_expand(&t->g, x, d, s->n + 1));
    }
    t->graph = uop_mk(&t->t.ir, OP_GRAPH, lifted.p, lifted.n, ARG_NONE);
    const uop *body = uop_mk(t->b.g.ir, OP_GRAPH, values.p, values.n, ARG_NONE);
    if (ref_graph(&t->t.err, &t->t.arena, &t->t.ir, t->graph, t->bufs, t->b.leaf.n, NULL, false, 0, t->out))
        FAIL("seed %llu: %s", (unsigned long long)t->seed, t->t.err.msg);
    for (int s = 0; s < STEPS; s++) {
        struct ref_tensor want[8];
        evaluate_step(t, body, s, NULL, want);
        for (uint32_t i = 0; i < values.n; i++) {
            size_t bytes = (size_t)shape_size(want[i].shape) * dtype_info[want[i].dt].bytes;
            if (memcmp((char *)t->out[i].data + (size_t)s * bytes, want[i].data, bytes))
                FAIL("seed %llu: value %u at step %d differs", (unsigned long long)t->seed, i, s);
        }
    }
}

static void run_seeds(uint64_t first, int count, void (*fn)(void *)) {
    for (int i = 0; i < count; i++) {
        struct loop_test t = {.seed = first + (uint64_t)i};
        ir_test_open(&t.t);
        tg_init(&t.g, &t.t.ir, &t.t.arena);
        if (err_guard(&t.t.err, fn, &t)) FAIL("seed %llu: %s", (unsigned long long)t.seed, t.t.err.msg);
        ir_test_close(&t.t);
    }
}

TEST(loop_lifts_random_bodies) { run_seeds(1000, 150, lift_body); }

/* next = state / 2 + the sum of all values: reductions of the random part leave the body, the rest stays. */
static void loop_body_runs(void *arg) {
    struct loop_test *t = arg;
    struct tg *g = &t->b.g;
    uop_vec values = {0};
    loop_body_init(&t->b, &t->t.arena, STEPS, t->seed % 2);
    const uop *begin = t_buffer(&t->g, DT_F32, (const int64_t[]){1}, 1, 0);
    float one = 3, now[1] = {3};
    t->bufs[0] = (struct ref_buf){.p = &one, .bytes = sizeof one};
    const uop *next = t->state = loop_leaf(&t->b, &t->g, LOOP_STATE, begin);
    next = t_mul(g, next, t_number(g, DT_F32, .5));
    copy_random(t, &values);
    for (uint32_t i = 0; i < values.n; i++)
        next = t_add(g, next, t_cast(g, t_sum(g, t_cast(g, values.p[i], DT_F32), NULL, 0, false), DT_F32));
    const uop *body = uop_mk(g->ir, OP_GRAPH, &next, 1, ARG_NONE);
    uint32_t leaves = t->b.leaf.n;
    t->b.next = &next;
    const uop *call = loop_make(&t->g, &t->b);
    t->b.leaf.n = leaves;
    t->graph = uop_mk(&t->t.ir, OP_GRAPH, &call, 1, ARG_NONE);
    if (ref_graph(&t->t.err, &t->t.arena, &t->t.ir, t->graph, t->bufs, leaves, NULL, false, 0, t->out))
        FAIL("seed %llu: %s", (unsigned long long)t->seed, t->t.err.msg);
    for (int i = 0; i < STEPS; i++) {
        int s = t->b.backwards ? STEPS - 1 - i : i, row = t->b.backwards ? s : s + 1;
        struct ref_tensor want[1];
        evaluate_step(t, body, s, now, want);
        float got = ((float *)t->out[0].data)[row * (LOOP_ALIGN / 4)], w = *(float *)want[0].data;
        if (!(got == w || fabsf(got - w) <= 1e-5f * fabsf(w) || (got != got && w != w)))
            FAIL("seed %llu, step %d: %g, expected %g", (unsigned long long)t->seed, s, (double)got,
                 (double)w);
        now[0] = got;
    }
}

TEST(loop_runs_random_bodies) { run_seeds(5000, 100, loop_body_runs); }

/* ---- an LSTM ------------------------------------------------------------------------------------------------------------ */

static uint32_t count_text(const char *text, const char *what) {
    uint32_t n = 0;
    for (; (text = strstr(text, what)); text++) n++;
    return n;
}

static void lstm_bodies(void *arg) {
    struct loop_test *t = arg;
    struct tg *g = &t->g;
    struct t_recurrent o = {.cell = T_LSTM};
    const uop *x = t_buffer(g, DT_F32, (const int64_t[]){5, 2, 3}, 3, 0), *d[2];
    o.w[0] = t_buffer(g, DT_F32, (const int64_t[]){16, 3}, 2, 1);
    o.w[1] = t_buffer(g, DT_F32, (const int64_t[]){16, 4}, 2, 2);
    const uop *y = t_recurrent(g, x, NULL, &o);
    t_grad(g, t_sum(g, y, NULL, 0, false), NULL, (const uop *[]){x, o.w[1]}, 2, d);
    t->graph = uop_mk(&t->t.ir, OP_GRAPH, d, 2, ARG_NONE);
}

/* Of the three products (input and state forward, state backward) two run step by step: the gradient's body has no forward
 * product, and the gradient of the weight is one sum over steps and rows. Beside the loops are the product of the input and the
 * gradients of the input and of the weight: what the steps summed, and what flowed to it, is read from the results. */
TEST(loop_lstm_bodies) {
    struct loop_test t = {0};
    struct str text;
    struct program p;
    uop_vec topo = {0};
    uint32_t loops = 0, sums = 0;
    ir_test_open(&t.t);
    tg_init(&t.g, &t.t.ir, &t.t.arena);
    if (err_guard(&t.t.err, lstm_bodies, &t)) FAIL("%s", t.t.err.msg);
    uop_topo(&t.t.arena, &t.graph, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        sums += n->op == OP_REDUCE_AXES;
        CHECK(!op_is_fn((enum op)n->op));
        if (n->op != OP_CALL) continue;
        CHECK(call_of(&t.t.ir, n) == CALL_loop);
        CHECK_EQ(count_text(ir_name(&t.t.ir, (uint32_t)n->arg.u), "REDUCE_AXES"), 1);
        loops++;
    }
    CHECK_EQ(loops, 2);
    CHECK_EQ(sums, 3);
    str_init(&text, &t.t.arena);
    str_add(&text, "kernel again\n");
    ir_print(&text, &t.t.ir, t.graph);
    ir_parse(&t.t.ir, text.p, text.n, "again", &p);
    CHECK(p.kernel.p[0].sink == t.graph);
    ir_test_close(&t.t);
}

/* On a CPU the state's product reads the matrix in panels of two vectors, and the columns of its tile are one: no address has a digit. */
TEST(loop_reads_panels) {
    struct loop_test t = {0};
    struct schedule s;
    struct sched_opts o = {.model = planned_model()};
    struct t_recurrent r = {.cell = T_LSTM};
    uint32_t panels = 0;
    ir_test_open(&t.t);
    tg_init(&t.g, &t.t.ir, &t.t.arena);
    const uop *x = t_buffer(&t.g, DT_F32, (const int64_t[]){8, 4, 3}, 3, 0);
    r.w[0] = t_buffer(&t.g, DT_F32, (const int64_t[]){128, 3}, 2, 1);
    r.w[1] = t_buffer(&t.g, DT_F32, (const int64_t[]){128, 32}, 2, 2);
    const uop *y = t_recurrent(&t.g, x, NULL, &r);
    schedule(&t.t.arena, &t.t.ir, uop_mk(&t.t.ir, OP_GRAPH, &y, 1, ARG_NONE), &o, &s);
    for (uint32_t i = 0; i < s.prog.n; i++) {
        long long rows, many, wide, terms;
        if (sscanf(s.prog.p[i].kernel.name, "r_%lld_%lld_%lld_%lld", &rows, &many, &wide, &terms) != 4)
            continue;
        CHECK(rows == 4 && many * wide == 128 && wide >= 16 && terms == 32);
        CHECK(!strstr(s.prog.p[i].text, "MOD") && !strstr(s.prog.p[i].text, "IDIV"));
        panels++;
    }
    CHECK_EQ(panels, 1);
    ir_test_close(&t.t);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------------- */

struct bad_loop {
    struct ir_test t;
    const char *body;
    const int64_t *number;
};

static void open_bad(void *arg) {
    struct bad_loop *b = arg;
    struct shapes sh;
    const uop *src[2 + LOOP_NUMBERS], *four = uop_idx(&b->t.ir, 4),
                                      *dims[2] = {uop_idx(&b->t.ir, 3), uop_idx(&b->t.ir, 16)};
    src[0] = uop_new(&b->t.ir, OP_BUFFER, DT_F32, 1, &four, 1, ARG_INT(0));
    src[1] = uop_new(&b->t.ir, OP_BUFFER, DT_F32, 1, dims, 2, ARG_INT(1));
    for (int i = 0; i < LOOP_NUMBERS; i++) src[2 + i] = uop_idx(&b->t.ir, b->number[i]);
    union arg name = {.u = ir_sym(&b->t.ir, b->body, strlen(b->body))};
    const uop *n = uop_new(&b->t.ir, OP_CALL, DT_F32, 1, src, RG_COUNT(src), name);
    shapes_init(&sh, &b->t.ir, &b->t.arena);
    shape_of(&sh, n);
    loop_open(&b->t.arena, &sh, n);
}

TEST(loop_refuses) {
    static const int64_t good[LOOP_NUMBERS] = {3, 1, 1, 0, 64}, steps[LOOP_NUMBERS] = {4, 1, 1, 0, 80},
                         size[LOOP_NUMBERS] = {3, 1, 1, 0, 65}, states[LOOP_NUMBERS] = {3, 3, 0, 0, 64};
    static const struct {
        const char *body, *text;
        const int64_t *number;
    } cases[] = {
        {"loop\n(GRAPH (ADD (BUFFER<f32>[0] 4) (BUFFER<f32>[1] 4)))\n", NULL, good},
        {"loop\n(GRAPH (ADD (BUFFER<f32>[0] 4) (BUFFER<f32>[1] 4)))\n", "a row for each step", steps},
        {"loop\n(GRAPH (ADD (BUFFER<f32>[0] 4) (BUFFER<f32>[1] 4)))\n", "that of all rows", size},
        {"loop\n(GRAPH (ADD (BUFFER<f32>[0] 4) (BUFFER<f32>[1] 4)))\n", "for each that its numbers count",
         states},
        {"loop\n(GRAPH (BUFFER<f32>[0] 4) (BUFFER<f32>[1] 4))\n", "a value for each state", good},
        {"loop\n(GRAPH (ADD (BUFFER<f32>[0] 4) (BUFFER<f32>[2] 4)))\n", "no operand for", good},
        {"loop\n(GRAPH (BUFFER<f32>[0] 5))\n", "another size than its operand", good},
        {"loop\n(GRAPH (BUFFER<i32>[0] 4))\n", "another dtype than its operand", good},
        {"loop\n(GRAPH (EXPAND (RESHAPE (SHRINK (BUFFER<f32>[0] 4) 0 1 1) 1) 2))\n", "not like its state",
         good},
        {"loop\n(GRAPH (ADD (BUFFER<f32>[0] 4) (VAR<f32>[0 v] 0 1)))\n", "a VAR", good},
        {"loop\n(SINK", "expected", good},
    };
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        struct bad_loop b = {.body = cases[i].body, .number = cases[i].number};
        ir_test_open(&b.t);
        int code = err_guard(&b.t.err, open_bad, &b);
        if (!cases[i].text ? code != 0 : !code || !strstr(b.t.err.msg, cases[i].text))
            FAIL("case %zu: expected \"%s\", found \"%s\"", i, cases[i].text ? cases[i].text : "no error",
                 b.t.err.msg);
        ir_test_close(&b.t);
    }
}
