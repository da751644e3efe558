/* graphs_grad.c: gradients of random tensor programs (tests/graphs.c), against differences along a random direction.
 *
 * A program is first copied with float64 in place of every float dtype, so that differences mean something. Where the
 * slopes to both sides disagree the program has a corner there, and is left out and counted. These programs do not come
 * from the front end: they have nodes that its constructors would never leave, which the rules must take as well. */
#include "graphs.h"
#include "irtest.h"
#include "tensor/tensor.h"

struct job {
    struct ir_test t;
    struct tg g;
    uint64_t seed;
    const uop *graph, *loss, *slope; /* the program; one number of it; its derivative along the direction */
    uop_vec wrt;                     /* float buffers */
    uint32_t first;                  /* number of the buffer that holds the first one's direction */
    struct ref_buf *bufs;
    uint32_t nbuf;
    int64_t *var;
    bool skip;
};

static bool is_flt(const uop *n) { return dt_is_float((enum dtype)n->dt); }

/* n with other sources, in float64; NULL where bits of a float are looked at. */
static const uop *widened(struct job *j, const uop *n, const uop *const *src) {
    struct ir *ir = &j->t.ir;
    enum dtype dt = is_flt(n) ? DT_F64 : (enum dtype)n->dt;
    if (n->op == OP_BITCAST) return NULL;
    if (n->op == OP_VAR) return is_flt(n) ? uop_cast(ir, n, DT_F64) : n;
    if (n->op == OP_CONST) return is_flt(n) ? uop_flt(ir, DT_F64, n->arg.f) : n;
    if (n->op == OP_DETACH || (n->op == OP_CAST && src[0]->dt == dt))
        return src[0]; /* differences see through both */
    return uop_new(ir, (enum op)n->op, dt, 1, src, n->nsrc, n->arg);
}

static void widen(struct job *j) {
    uop_vec order = {0};
    uop_topo(&j->t.arena, &j->graph, 1, &order);
    const uop **now = arena_array(&j->t.arena, const uop *, j->graph->id + 1);
    for (uint32_t i = 0; i < order.n && !j->skip; i++) {
        const uop *n = order.p[i], **src = arena_array(&j->t.arena, const uop *, n->nsrc + 1);
        for (uint32_t k = 0; k < n->nsrc; k++) src[k] = now[n->src[k]->id];
        now[n->id] = widened(j, n, src);
        j->skip |= !now[n->id];
        if (n->op == OP_BUFFER && is_flt(n)) vec_push(&j->t.arena, &j->wrt, now[n->id]);
    }
    if (!j->skip) j->graph = now[j->graph->id];
}

/* A number to which every element of every float output contributes. */
static const uop *loss_of(struct job *j) {
    struct tg *g = &j->g;
    const uop *sum = t_number(g, DT_F64, 0);
    for (uint32_t i = 0; i < j->graph->nsrc; i++) {
        const uop *n = j->graph->src[i];
        const struct shape *s = tg_shape(g, n);
        if (!is_flt(n) || !shape_size(s)) continue;
        const uop *w = t_sin(g, t_arange(g, DT_F64, 1, (double)shape_size(s) + 1, 1));
        sum = t_add(g, sum, t_sum(g, t_mul(g, n, t_reshape(g, w, s->d, s->n)), NULL, 0, false));
    }
    return sum;
}

/* The direction of the i-th wrt is the buffer of number first + i. */
static void make(void *arg) {
    struct job *j = arg;
    struct tg *g = &j->g;
    struct graph_gen o = {.all_dtypes = j->seed % 2,
                          .assigns = j->seed % 3 == 0,
                          .vars = true,
                          .max_elements = 300,
                          .max_ops = 16};
    j->graph = graph_random(&j->t.ir, &j->t.arena, j->seed, &o);
    struct graph_data data = graph_fill(&j->t.arena, &j->t.ir, j->graph, j->seed, false);
    j->first = data.nbuf, j->var = data.var;
    widen(j);
    if (j->skip) return;
    j->nbuf = j->first + j->wrt.n;
    j->bufs = arena_array(&j->t.arena, struct ref_buf, j->nbuf + 1);
    memcpy(j->bufs, data.bufs, data.nbuf * sizeof *j->bufs);
    const uop **grad = arena_array(&j->t.arena, const uop *, j->wrt.n + 1);
    j->loss = loss_of(j);
    t_grad(g, j->loss, NULL, j->wrt.p, j->wrt.n, grad);
    j->slope = t_number(g, DT_F64, 0);
    for (uint32_t i = 0; i < j->wrt.n; i++) {
        const struct shape *s = tg_shape(g, j->wrt.p[i]);
        CHECK(tg_shape(g, grad[i]) == s && grad[i]->dt == DT_F64);
        const uop *d = t_buffer(g, DT_F64, s->d, s->n, j->first + i);
        j->slope = t_add(g, j->slope, t_sum(g, t_mul(g, grad[i], d), NULL, 0, false));
    }
}

/* Doubles for the float buffers (numbers of the oracle's inputs, and a little more so that they are no round numbers)
 * and for their directions. */
static void fill(struct job *j) {
    struct rnd rnd = {.s = j->seed};
    for (uint32_t i = 0; i < j->wrt.n; i++) {
        uint32_t b = (uint32_t)j->wrt.p[i]->arg.i;
        int64_t n = shape_size(tg_shape(&j->g, j->wrt.p[i]));
        double *x = arena_array(&j->t.arena, double, n + 1), *d = arena_array(&j->t.arena, double, n + 1);
        for (int64_t k = 0; k < n; k++) {
            x[k] = (double)rnd_range(&rnd, -20000, 20000) / 7001.0;
            d[k] = (double)rnd_range(&rnd, -1000, 1000) / 1000.0;
        }
        j->bufs[b] = (struct ref_buf){.p = x, .bytes = (size_t)n * 8};
        j->bufs[j->first + i] = (struct ref_buf){.p = d, .bytes = (size_t)n * 8};
    }
}

static double eval(struct job *j, const uop *n) {
    struct ref_tensor out;
    const uop *graph = uop_new(&j->t.ir, OP_GRAPH, DT_VOID, 1, &n, 1, ARG_NONE);
    if (ref_graph(&j->t.err, &j->t.arena, &j->t.ir, graph, j->bufs, j->nbuf, j->var, false, 0, &out)) {
        struct str s;
        str_init(&s, &j->t.arena);
        ir_print(&s, &j->t.ir, graph);
        FAIL("seed %d: %s\n%s", (int)j->seed, j->t.err.msg, s.p);
    }
    double v;
    memcpy(&v, out.data, sizeof v);
    return v;
}

static double moved(struct job *j, double h) {
    for (uint32_t i = 0; i < j->wrt.n; i++) {
        double *x = j->bufs[j->wrt.p[i]->arg.i].p, *d = j->bufs[j->first + i].p;
        for (size_t k = 0; k < j->bufs[j->first + i].bytes / 8; k++) x[k] += h * d[k];
    }
    return eval(j, j->loss);
}

enum verdict { AGREES, CORNER, NOT_FINITE, NO_FLOATS };
static enum verdict try_seed(uint64_t seed) {
    struct job j = {.seed = seed};
    ir_test_open(&j.t);
    tg_init(&j.g, &j.t.ir, &j.t.arena);
    if (err_guard(&j.t.err, make, &j)) FAIL("seed %d: %s", (int)seed, j.t.err.msg);
    enum verdict r = NO_FLOATS;
    if (!j.skip && j.wrt.n && j.loss->op != OP_CONST) {
        fill(&j);
        const double h = 1e-7;
        double here = eval(&j, j.loss), slope = eval(&j, j.slope), up = moved(&j, h),
               down = moved(&j, -2 * h);
        double right = (up - here) / h, left = (here - down) / h, noise = 1e-16 * (1 + fabs(here)) / h * 100;
        double allow = noise + 1e-4 * (1 + fabs(slope));
        if (!isfinite(here) || !isfinite(slope) || !isfinite(up) || !isfinite(down))
            r = NOT_FINITE;
        else if (fabs(right - left) > allow)
            r = CORNER;
        else if (fabs(slope - (right + left) / 2) > allow) {
            struct str s;
            str_init(&s, &j.t.arena);
            ir_print(&s, &j.t.ir, j.graph);
            FAIL("seed %d: the slope is %.10g, differences give %.10g and %.10g\n%s", (int)seed, slope, left,
                 right, s.p);
        } else
            r = AGREES;
    }
    ir_test_close(&j.t);
    return r;
}

TEST_SLOW(graphs_grad_of_random_programs, 240) {
    int count[4] = {0};
    for (uint64_t seed = 0; seed < 1500; seed++) count[try_seed(seed)]++;
    TEST_INFO("%d gradients of random programs agree with differences; %d have a corner, %d are not finite, "
              "%d have no float",
              count[AGREES], count[CORNER], count[NOT_FINITE], count[NO_FLOATS]);
    CHECK(count[AGREES] > 900);
}

TEST_MANUAL(graphs_grad_fuzz, 1200) {
    int count[4] = {0};
    for (uint64_t seed = 10000; seed < 100000; seed++) count[try_seed(seed)]++;
    TEST_COUNT(count[AGREES], "gradients of random programs agree with differences");
}
