/* How many nodes planning and lowering visit, of graphs in which every value is used twice: a function that walks them as trees
 * would visit 2^72. Counts, no clocks: visits of a chain twice as long are a few times as many, and below a bound. */
#include "irtest.h"
#include "planned.h"
#include "tensor/tensor.h"

enum start { FROM_NUMBER, FROM_BUFFER, FROM_INDEX, FROM_MASK, FROM_PAD_VALUE, FROM_SLICE, STARTS };
enum { SIZE = 64, DEPTH = 72 };

struct visits {
    struct ir_test t;
    struct tg g;
    struct sched_opts opts;
    struct planned_run run;
    enum op op;
    enum start start;
    uint32_t depth;
};

static const uop *start_value(struct visits *v, enum dtype dt) {
    struct ir *ir = &v->t.ir;
    const uop *n = uop_idx(ir, SIZE);
    switch (v->start) {
    case FROM_NUMBER: return uop_new(ir, OP_IOTA, dt, 1, &n, 1, ARG_NONE);
    case FROM_PAD_VALUE: return t_buffer(&v->g, dt, NULL, 0, 0);
    case FROM_SLICE: return test_var(ir, DT_IDX, 0, "start", 0, 15);
    default: return t_buffer(&v->g, dt, (int64_t[]){SIZE}, 1, 0);
    }
}

/* x = op(x, x), again and again. */
static const uop *chain(struct visits *v, enum dtype dt) {
    const uop *x = start_value(v, dt);
    for (uint32_t i = 0; i < v->depth; i++) {
        const uop *src[3] = {x, x, x};
        if (v->op == OP_WHERE) src[0] = uop2(&v->t.ir, OP_LT, x, uop_int(&v->t.ir, (enum dtype)x->dt, 3));
        x = uop_new(&v->t.ir, v->op, (enum dtype)x->dt, 1, src, op_info[v->op].max_src, ARG_NONE);
    }
    return x;
}

/* What uses the chain as this start says. */
static const uop *used(struct visits *v, const uop *x) {
    struct tg *g = &v->g;
    struct ir *ir = &v->t.ir;
    const uop *w = t_buffer(g, DT_F32, (int64_t[]){SIZE, 8}, 2, 1);
    const uop *src[8] = {
        w, x, uop_idx(ir, 1), uop_idx(ir, 1), uop_idx(ir, 0), uop_idx(ir, 0), uop_idx(ir, 0), uop_idx(ir, 0)};
    switch (v->start) {
    case FROM_INDEX: return t_embedding(g, x, w);
    case FROM_MASK:
        return t_where(g, t_ne(g, x, uop_int(ir, DT_I32, 0)), t_buffer(g, DT_F32, (int64_t[]){SIZE}, 1, 2),
                       t_cast(g, x, DT_F32));
    case FROM_PAD_VALUE: return uop_mk(ir, OP_PAD, src, 8, ARG_NONE);
    case FROM_SLICE:
        src[2] = uop_idx(ir, 8), src[3] = uop_idx(ir, 1), src[4] = uop_idx(ir, 0), src[5] = uop_idx(ir, 8),
        src[6] = uop_idx(ir, 1);
        return t_exp(g, uop_mk(ir, OP_SHRINK, src, 7, ARG_NONE));
    default: return x;
    }
}

static enum dtype dtype_of(const struct visits *v) {
    bool ints = op_info[v->op].flags & OPF_I, floats = op_info[v->op].flags & OPF_F;
    switch (v->start) {
    case FROM_INDEX:
    case FROM_MASK: return floats ? DT_VOID : DT_I32;
    case FROM_SLICE: return v->op == OP_MIN || v->op == OP_MAX ? DT_IDX : DT_VOID; /* stays in bounds */
    case FROM_PAD_VALUE: return ints ? DT_VOID : DT_F32;
    default: return ints ? DT_I32 : DT_F32;
    }
}

static void visits_run(void *arg) {
    struct visits *v = arg;
    const uop *y = used(v, chain(v, dtype_of(v)));
    v->run.graph = uop_new(&v->t.ir, OP_GRAPH, DT_VOID, 1, &y, 1, ARG_NONE);
    planned_plan(&v->run);
}

/* Nodes visited by planning; entries of all linear programs are added: what lowering made. */
static uint64_t visited(enum op op, enum start start, uint32_t depth, bool gpu) {
    struct visits v = {.op = op, .start = start, .depth = depth};
    ir_test_open(&v.t);
    tg_init(&v.g, &v.t.ir, &v.t.arena);
    v.opts = (struct sched_opts){.model = gpu ? planned_h200() : planned_model(), .gpu = gpu};
    v.run = (struct planned_run){
        .arena = &v.t.arena, .ir = &v.t.ir, .opts = &v.opts, .from = gpu ? OPTS_GPU : OPTS_HEURISTIC};
    if (err_guard(&v.t.err, visits_run, &v))
        FAIL("%s from %d: %s", op_info[op].name, (int)start, v.t.err.msg);
    uint64_t n = v.run.sched.visits;
    for (uint32_t i = 0; i < v.run.sched.prog.n; i++) n += v.run.lin[i].n;
    ir_test_close(&v.t);
    return n;
}

static bool is_chained(enum op op) {
    bool same = op_info[op].dt == OPD_S0 || op == OP_WHERE;
    return op_is_pure(op) && same && op != OP_THREEFRY && op_info[op].max_src <= 3;
}

static uint64_t check_chain(enum op op, enum start start, bool gpu) {
    uint64_t one = visited(op, start, DEPTH, gpu), two = visited(op, start, 2 * DEPTH, gpu);
    if (two > 8 * one + 1000 || two > 800000)
        FAIL("%s from %d on %s: %llu visits of %d, %llu of %d", op_info[op].name, (int)start,
             gpu ? "GPU" : "CPU", (unsigned long long)one, DEPTH, (unsigned long long)two, 2 * DEPTH);
    return one;
}

TEST_SLOW(plan_visits_of_values_used_twice_are_linear, 300) {
    uint64_t most = 0;
    uint32_t chains = 0;
    for (int op = 0; op < OP_COUNT; op++)
        for (int s = 0; s < STARTS; s++) {
            struct visits v = {.op = (enum op)op, .start = (enum start)s};
            if (!is_chained(v.op) || dtype_of(&v) == DT_VOID) continue;
            most = RG_MAX(most, check_chain(v.op, v.start, false));
            most = RG_MAX(most, check_chain(v.op, v.start, true));
            chains++;
        }
    test_info("%u chains of %d: at most %llu visits", chains, DEPTH, (unsigned long long)most);
    CHECK(chains > 60);
}

/* ---- structures --------------------------------------------------------------------------------------------------- */

enum structure { CHAIN, DIAMONDS, LADDER, CONSTANTS, RECURRENCE, REDUCTIONS, RNN, CYCLE, STRUCTURES };

/* The region of x and the result waits for the mean of a contraction, which is a region and waits for x. */
static const uop *in_a_cycle(struct tg *g, const uop *x) {
    return t_sub(g, x, t_mean(g, t_matmul(g, x, x), (int64_t[]){1}, 1, true));
}

static const uop *structure_of(struct tg *g, enum structure s, const uop *x, int n) {
    const uop *y = s == CONSTANTS ? t_cast(g, t_arange(g, DT_F32, 0, 16, 1), DT_F32) : t_exp(g, x), *z;
    const uop *half = uop_flt(g->ir, DT_F32, 0.5);
    if (s == CYCLE) y = in_a_cycle(g, y);
    for (int i = 0; i < n; i++) {
        switch (s) {
        case CYCLE:
        case CHAIN: y = i % 2 ? t_sin(g, y) : t_neg(g, y); break;
        case DIAMONDS: y = t_mul(g, t_sin(g, y), t_cos(g, y)); break;
        case LADDER: z = t_add(g, x, y), y = t_mul(g, x, y), x = z; break;
        case CONSTANTS: y = t_add(g, t_mul(g, y, y), half); break;
        case RECURRENCE: y = t_tanh(g, t_add(g, t_mul(g, y, half), t_mul(g, x, t_sigmoid(g, y)))); break;
        case REDUCTIONS: y = t_sub(g, y, t_mean(g, y, (int64_t[]){1}, 1, true)); break;
        default: y = t_tanh(g, t_add(g, t_matmul(g, y, x), x)); break;
        }
    }
    return t_add(g, x, y);
}

static void structure_run(void *arg) {
    struct visits *v = arg;
    const uop *x = t_buffer(&v->g, DT_F32, (int64_t[]){16, 16}, 2, 0);
    const uop *y = structure_of(&v->g, (enum structure)v->start, x, (int)v->depth);
    const uop *graph = uop_new(&v->t.ir, OP_GRAPH, DT_VOID, 1, &y, 1, ARG_NONE);
    schedule(&v->t.arena, &v->t.ir, graph, &v->opts, &v->run.sched);
}

static uint64_t visits_of(enum structure s, uint32_t n) {
    struct visits v = {.start = (enum start)s, .depth = n, .opts = {.model = planned_model()}};
    ir_test_open(&v.t);
    tg_init(&v.g, &v.t.ir, &v.t.arena);
    if (err_guard(&v.t.err, structure_run, &v)) FAIL("structure %d of %u: %s", (int)s, n, v.t.err.msg);
    uint64_t visits = v.run.sched.visits;
    ir_test_close(&v.t);
    return visits;
}

/* From 200 to 2,000 steps, visits per step grow by less than 2: no worse than n log n. Of diamonds, which are cut into blocks that are
 * alike, they hardly grow: what is done for each of their many kernels must not depend on the others. */
TEST_SLOW(plan_visits_of_structures, 300) {
    for (int s = 0; s < STRUCTURES; s++) {
        uint64_t few = visits_of((enum structure)s, 200), many = visits_of((enum structure)s, 2000);
        if (many > (s == DIAMONDS ? 3 : 20) * few)
            FAIL("structure %d: %llu visits of 200 steps, %llu of 2,000", s, (unsigned long long)few,
                 (unsigned long long)many);
    }
}
