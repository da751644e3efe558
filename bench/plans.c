/* plan_cache.c: does the planner choose what is really fastest?
 *
 *   plans [--only NAME] [--runs N] [--cpu] [--json] [--list]
 *
 * Named subgraphs of real programs, built through the public API. Each is planned in several ways: as the planner
 * chooses, every value stored, everything fused, and the planner's first three runners-up. Plans that turn out
 * to be the same (same kernels on the same memory) are measured once. All plans of a subgraph live side by side in one
 * context; they alternate, in another order each round, so that a slow moment of the machine hits all of them.
 * What counts is the time of all kernels of the schedule (run_ns of the engine), least of N rounds (21 by default): noise
 * only adds. Medians stand beside it. `chosen/best` is the chosen plan's least time over the least of all; the bar is 1.05.
 * Before the first round every plan's results are compared with those of "store": a plan that computes something else
 * makes the exit status 1, a slow one does not.
 * RIDGE_THREADS=1 measures one thread; --cpu then counts the time that thread had on a processor, from asking for the
 * results to having them, the few microseconds of finding the plan included: for a machine that others use too. */
#include "engine/engine.h"

#include <ridge.h>

#include "api/internal.h" /* the engine of a context, which the public header does not show */

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { VARIANTS = 6, RUNS_MAX = 201, INPUTS = 64, OUTPUTS = 40, BAR_PERCENT = 105 };

static const struct {
    const char *name;
    struct engine_planning how;
} variant[VARIANTS] = {
    {"chosen", {PLAN_COST, 0, false}},   {"store", {PLAN_STORE_ALL, 0, false}},
    {"fuse", {PLAN_FUSE_ALL, 0, false}}, {"second", {PLAN_COST, 1, false}},
    {"third", {PLAN_COST, 2, false}},    {"fourth", {PLAN_COST, 3, false}},
};

/* ---- the subgraphs ------------------------------------------------------------------------------------------ */

struct job {
    rg_ctx *c;
    rg_tensor in[INPUTS], out[OUTPUTS];
    size_t n; /* outputs */
};

static void give(struct job *j, rg_tensor t) { j->out[j->n++] = t; }

/* Numbers in (-1, 1), or in (0, 1): what a subgraph reads. */
static uint32_t seed = 1;
static float number(void) {
    seed = seed * 1664525u + 1013904223u;
    return (float)((int32_t)seed >> 8) * 0x1p-23f;
}

static rg_tensor numbers(struct job *j, rg_ints shape) {
    int64_t n = 1;
    for (size_t i = 0; i < shape.n; i++) n *= shape.d[i];
    float *x = malloc((size_t)n * sizeof *x + 1);
    if (!x) exit(fprintf(stderr, "plans: out of memory\n"));
    for (int64_t i = 0; i < n; i++) x[i] = number();
    rg_tensor t = rg_from(j->c, RG_F32, x, shape);
    free(x);
    return t;
}

static void many(struct job *j, int n, rg_ints shape) {
    for (int i = 0; i < n; i++) j->in[i] = numbers(j, shape);
}

static void norm_inputs(struct job *j) {
    j->in[0] = numbers(j, RG_SHAPE(4096, 1024));
    j->in[1] = numbers(j, RG_SHAPE(1024));
    j->in[2] = numbers(j, RG_SHAPE(1024));
    j->in[3] = numbers(j, RG_SHAPE(4096, 1024));
}

static void layernorm(struct job *j) { give(j, rg_layernorm(j->in[0], j->in[1], j->in[2])); }

static void layernorm_grad(struct job *j) {
    rg_tensor y = rg_layernorm(j->in[0], j->in[1], j->in[2]);
    rg_grad(y, RG_TENSORS(j->in[0], j->in[1], j->in[2]), j->out, .seed = j->in[3]);
    j->n = 3;
}

static void residual_rmsnorm(struct job *j) {
    rg_tensor x = rg_add(j->in[0], j->in[3]);
    give(j, x);
    give(j, rg_rmsnorm(x, j->in[1]));
}

static void mlp_inputs(struct job *j) {
    j->in[0] = numbers(j, RG_SHAPE(512, 768));
    j->in[1] = numbers(j, RG_SHAPE(768, 3072));
    j->in[2] = numbers(j, RG_SHAPE(3072));
    j->in[3] = numbers(j, RG_SHAPE(3072, 768));
    j->in[4] = numbers(j, RG_SHAPE(768));
}

static void mlp(struct job *j) {
    rg_tensor h = rg_gelu(rg_add(rg_matmul(j->in[0], j->in[1]), j->in[2]));
    give(j, rg_add(rg_add(rg_matmul(h, j->in[3]), j->in[4]), j->in[0]));
}

static void linear_gelu_both(struct job *j) {
    rg_tensor h = rg_add(rg_matmul(j->in[0], j->in[1]), j->in[2]);
    give(j, h);
    give(j, rg_gelu(h));
}

static void attention_inputs(struct job *j) { many(j, 3, RG_SHAPE(8, 256, 64)); }

static void attention(struct job *j) {
    rg_tensor s = rg_mul(rg_matmul(j->in[0], rg_transpose(j->in[1], 1, 2)), 0.125);
    give(j, rg_matmul(rg_softmax(s, -1), j->in[2]));
}

static void attention_grad(struct job *j) {
    attention(j);
    rg_grad(j->out[0], RG_TENSORS(j->in[0], j->in[1], j->in[2]), j->out + 1, .seed = j->in[0]);
    j->n = 4;
}

static void batchnorm_inputs(struct job *j) {
    j->in[0] = numbers(j, RG_SHAPE(64, 32, 28, 28));
    for (int i = 1; i < 5; i++) j->in[i] = numbers(j, RG_SHAPE(1, 32, 1, 1));
    j->in[5] = numbers(j, RG_SHAPE(64, 32, 28, 28));
}

/* Normalised by the batch; running averages move along. */
static rg_tensor batchnorm_of(struct job *j, rg_tensor *mean, rg_tensor *var) {
    rg_tensor x = j->in[0];
    *mean = rg_mean(x, RG_AXES(0, 2, 3), .keep = true);
    *var = rg_mean(rg_square(rg_sub(x, *mean)), RG_AXES(0, 2, 3), .keep = true);
    rg_tensor y = rg_mul(rg_sub(x, *mean), rg_rsqrt(rg_add(*var, 1e-5)));
    return rg_add(rg_mul(y, j->in[1]), j->in[2]);
}

static void batchnorm(struct job *j) {
    rg_tensor mean, var, y = batchnorm_of(j, &mean, &var);
    give(j, rg_relu(y));
    give(j, rg_lerp(j->in[3], mean, 0.1));
    give(j, rg_lerp(j->in[4], var, 0.1));
}

/* Of silu, because relu's jumps when rounding moves a value across zero, and plans round differently. */
static void batchnorm_grad(struct job *j) {
    rg_tensor mean, var, y = rg_silu(batchnorm_of(j, &mean, &var));
    rg_grad(y, RG_TENSORS(j->in[0], j->in[1], j->in[2]), j->out, .seed = j->in[5]);
    j->n = 3;
}

static void entropy_inputs(struct job *j) {
    enum { ROWS = 1024, CLASSES = 5000 };
    int32_t label[ROWS];
    j->in[0] = numbers(j, RG_SHAPE(ROWS, CLASSES));
    for (int i = 0; i < ROWS; i++) label[i] = (int32_t)((number() + 1) * (CLASSES / 2 - 1));
    j->in[1] = rg_from(j->c, RG_I32, label, RG_SHAPE(ROWS, 1));
}

static void cross_entropy(struct job *j) {
    rg_tensor p = rg_gather(rg_log_softmax(j->in[0], -1), 1, j->in[1]);
    give(j, rg_neg(rg_mean(p)));
    rg_grad(j->out[0], RG_TENSORS(j->in[0]), j->out + 1);
    j->n = 2;
}

enum { ADAM = 12 };
static void adam_inputs(struct job *j) {
    for (int i = 0; i < ADAM; i++)
        for (int k = 0; k < 4; k++)
            j->in[i * 4 + k] = numbers(j, i % 3 ? RG_SHAPE(256 << i % 4) : RG_SHAPE(512, 256 + 64 * i));
}

/* New p, m and v as results: what is measured can be repeated and compared. */
static void adam(struct job *j) {
    for (int i = 0; i < ADAM; i++) {
        rg_tensor p = j->in[i * 4], g = j->in[i * 4 + 1];
        rg_tensor m = rg_lerp(j->in[i * 4 + 2], g, 0.1);
        rg_tensor v = rg_lerp(rg_abs(j->in[i * 4 + 3]), rg_square(g), 0.001);
        give(j, m);
        give(j, v);
        give(j, rg_sub(p, rg_div(rg_mul(m, 0.01), rg_add(rg_sqrt(v), 1e-8))));
    }
}

static void square_inputs(struct job *j) { many(j, 1, RG_SHAPE(4096, 4096)); }
static void softmax(struct job *j) { give(j, rg_softmax(j->in[0], -1)); }

static void moments(struct job *j) {
    rg_tensor x = rg_reshape(j->in[0], RG_SHAPE(-1));
    give(j, rg_mean(x));
    give(j, rg_var(x));
}

static void four_inputs(struct job *j) { many(j, 4, RG_SHAPE(4 << 20)); }

static void two_sums(struct job *j) {
    rg_tensor s = rg_add(j->in[0], j->in[1]);
    give(j, rg_add(s, j->in[2]));
    give(j, rg_add(s, j->in[3]));
}

/* One consumer as it is, one transposed: sharing a kernel is awkward, storing costs a pass, recomputing six exps. */
static void exp_chain(struct job *j) {
    rg_tensor x = rg_reshape(j->in[0], RG_SHAPE(2048, 2048));
    for (int i = 0; i < 3; i++) x = rg_exp(rg_mul(x, -0.5));
    give(j, rg_add(x, rg_reshape(j->in[1], RG_SHAPE(2048, 2048))));
    give(j, rg_sum(rg_mul(x, rg_reshape(j->in[2], RG_SHAPE(2048, 2048))), RG_AXES(0)));
}

/* A shared node with a row sum on one side and a column sum on the other. */
static void diamond(struct job *j, rg_tensor shared) {
    give(j, rg_sum(rg_mul(shared, rg_reshape(j->in[1], RG_SHAPE(2048, 2048))), RG_AXES(1)));
    give(j, rg_sum(rg_mul(shared, rg_reshape(j->in[2], RG_SHAPE(2048, 2048))), RG_AXES(0)));
    give(j, rg_add(shared, rg_reshape(j->in[3], RG_SHAPE(2048, 2048))));
}

static void diamond_expensive(struct job *j) {
    rg_tensor x = rg_reshape(j->in[0], RG_SHAPE(2048, 2048));
    diamond(j, rg_pow(rg_add(rg_abs(rg_tan(x)), 0.5), 1.7));
}

static void diamond_cheap(struct job *j) {
    diamond(j, rg_add(rg_reshape(j->in[0], RG_SHAPE(2048, 2048)), 1));
}

static const struct {
    const char *name;
    void (*inputs)(struct job *), (*build)(struct job *);
} jobs[] = {
    {"layernorm", norm_inputs, layernorm},
    {"layernorm_grad", norm_inputs, layernorm_grad},
    {"residual_rmsnorm", norm_inputs, residual_rmsnorm},
    {"mlp", mlp_inputs, mlp},
    {"linear_gelu_both", mlp_inputs, linear_gelu_both},
    {"attention", attention_inputs, attention},
    {"attention_grad", attention_inputs, attention_grad},
    {"batchnorm", batchnorm_inputs, batchnorm},
    {"batchnorm_grad", batchnorm_inputs, batchnorm_grad},
    {"cross_entropy", entropy_inputs, cross_entropy},
    {"adam", adam_inputs, adam},
    {"softmax", square_inputs, softmax},
    {"moments", square_inputs, moments},
    {"two_sums", four_inputs, two_sums},
    {"exp_chain", four_inputs, exp_chain},
    {"diamond_expensive", four_inputs, diamond_expensive},
    {"diamond_cheap", four_inputs, diamond_cheap},
};

/* ---- measuring ---------------------------------------------------------------------------------------------- */

struct measured {
    int same_as; /* an earlier variant with the same plan, or itself */
    uint64_t identity;
    uint32_t kernels;
    double predicted, median, least; /* ms */
    double ms[RUNS_MAX];
    double off; /* greatest difference from "store", relative to the greatest value */
};

struct results {
    float *x[OUTPUTS];
    size_t n[OUTPUTS], count;
};

static void read_results(struct job *j, struct results *r) {
    r->count = j->n;
    for (size_t i = 0; i < j->n; i++) {
        r->n[i] = (size_t)rg_size(j->out[i]);
        r->x[i] = calloc(r->n[i] + 1, sizeof *r->x[i]);
        if (!r->x[i]) exit(fprintf(stderr, "plans: out of memory\n"));
        rg_read(j->out[i], r->x[i], r->n[i] * sizeof *r->x[i]);
    }
}

static void free_results(struct results *r) {
    for (size_t i = 0; i < r->count; i++) free(r->x[i]);
    r->count = 0;
}

/* NaN anywhere is as far off as can be. */
static double difference(const struct results *a, const struct results *b) {
    double worst = 0;
    for (size_t i = 0; i < a->count; i++) {
        double scale = 1e-30, off = 0;
        for (size_t k = 0; k < a->n[i]; k++) {
            scale = fmax(scale, fabs(a->x[i][k]));
            double d = fabs((double)a->x[i][k] - b->x[i][k]);
            off = d <= off ? off : d == d ? d : INFINITY;
        }
        worst = fmax(worst, off / scale);
    }
    return worst;
}

static bool by_cpu; /* --cpu */

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Builds the subgraph anew and computes it as variant v; what the engine counted. */
static struct realize_stats run_once(struct job *j, void (*build)(struct job *), int v, struct results *r) {
    struct engine *en = j->c->engine;
    struct realize_stats before = engine_totals(en), s;
    rg_usage usage;
    engine_set_planning(en, &variant[v].how);
    {
        RG_SCOPE(j->c);
        j->n = 0;
        build(j);
        uint64_t start = cpu_ns();
        rg_realize_all(RG_ARRAY(j->out, j->n));
        uint64_t used = cpu_ns() - start;
        s = engine_totals(en);
        if (by_cpu) s.run_ns = before.run_ns + used;
        if (r) read_results(j, r);
    }
    rg_stats(j->c, &usage); /* collects: the next time these are new values, not known ones */
    s.run_ns -= before.run_ns, s.kernels -= before.kernels, s.predicted -= before.predicted;
    return s;
}

/* Plans each variant, finds those that are the same, and compares what the others compute. */
static void prepare(struct job *j, void (*build)(struct job *), struct measured *m) {
    enum { STORE = 1 };
    struct results want = {0}, got = {0};
    run_once(j, build, STORE, &want);
    for (int v = 0; v < VARIANTS; v++) {
        struct realize_stats s = run_once(j, build, v, v == STORE ? NULL : &got);
        m[v].identity = s.identity;
        m[v].kernels = s.kernels;
        m[v].predicted = s.predicted * 1e3;
        m[v].off = v == STORE ? 0 : difference(&want, &got);
        for (m[v].same_as = 0; m[m[v].same_as].identity != s.identity;) m[v].same_as++;
        free_results(&got);
    }
    free_results(&want);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct job *j, void (*build)(struct job *), struct measured *m, int runs) {
    for (int r = 0; r < runs; r++)
        for (int i = 0; i < VARIANTS; i++) {
            int v = (i + r) % VARIANTS;
            if (m[v].same_as == v) m[v].ms[r] = (double)run_once(j, build, v, NULL).run_ns * 1e-6;
        }
    for (int v = 0; v < VARIANTS; v++) {
        struct measured *x = &m[m[v].same_as];
        if (x == &m[v]) qsort(x->ms, (size_t)runs, sizeof *x->ms, by_value);
        m[v].least = x->ms[0];
        m[v].median = x->ms[runs / 2];
    }
}

/* ---- saying it ------------------------------------------------------------------------------------------------ */

struct session {
    const char *only;
    int runs;
    bool json;
    int measured, slow, wrong;
};

static int best_of(const struct measured *m) {
    int best = 0;
    for (int v = 1; v < VARIANTS; v++)
        if (m[v].least < m[best].least) best = v;
    return best;
}

static void print_table(const char *name, const struct measured *m) {
    int best = best_of(m);
    printf("%-18s kernels  predicted      least     median ms   least/predicted   least/best\n", name);
    for (int v = 0; v < VARIANTS; v++) {
        printf("  %-15s %8u %10.3f ", variant[v].name, m[v].kernels, m[v].predicted);
        if (m[v].same_as != v)
            printf("      as %s", variant[m[v].same_as].name);
        else
            printf("%10.3f %10.3f %17.2f %12.3f%s", m[v].least, m[v].median, m[v].least / m[v].predicted,
                   m[v].least / m[best].least, v == best ? "  best" : "");
        if (m[v].off > 1e-3) printf("  WRONG: off by %.2g", m[v].off);
        printf("\n");
    }
    printf("  chosen/best %.3f%s\n\n", m[0].least / m[best].least,
           m[0].least * 100 > m[best].least * BAR_PERCENT ? "  <" : "");
}

static void print_json(const char *name, const struct measured *m) {
    printf("{\"name\":\"%s\",\"plans\":[", name);
    for (int v = 0; v < VARIANTS; v++)
        printf("%s{\"plan\":\"%s\",\"same_as\":\"%s\",\"kernels\":%u,\"predicted_ms\":%.6f,\"least_ms\":%.6f,"
               "\"median_ms\":%.6f}",
               v ? "," : "", variant[v].name, variant[m[v].same_as].name, m[v].kernels, m[v].predicted,
               m[v].least, m[v].median);
    printf("],\"chosen_over_best\":%.4f}\n", m[0].least / m[best_of(m)].least);
}

static int run_job(struct session *s, size_t k) {
    static struct measured m[VARIANTS];
    struct job j = {.c = rg_open("CPU")};
    memset(m, 0, sizeof m);
    jobs[k].inputs(&j);
    prepare(&j, jobs[k].build, m);
    if (!rg_status_of(j.c)) measure(&j, jobs[k].build, m, s->runs);
    if (rg_status_of(j.c)) {
        fprintf(stderr, "plans: %s: %s\n", jobs[k].name, rg_error(j.c));
        return rg_close(j.c);
    }
    (s->json ? print_json : print_table)(jobs[k].name, m);
    fflush(stdout);
    s->measured++;
    s->slow += m[0].least * 100 > m[best_of(m)].least * BAR_PERCENT;
    for (int v = 0; v < VARIANTS; v++) s->wrong += m[v].off > 1e-3;
    return rg_close(j.c);
}

static int usage(void) {
    fprintf(stderr, "usage: plans [--only NAME] [--runs N] [--cpu] [--json] [--list]\n");
    return 2;
}

int main(int argc, char **argv) {
    struct session s = {.runs = 21};
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            s.json = true;
        else if (!strcmp(argv[i], "--cpu"))
            by_cpu = true;
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            s.only = argv[++i];
        else if (!strcmp(argv[i], "--runs") && i + 1 < argc)
            s.runs = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--list")) {
            for (size_t k = 0; k < RG_COUNT(jobs); k++) printf("%s\n", jobs[k].name);
            return 0;
        } else
            return usage();
    }
    s.runs = RG_MIN(RG_MAX(s.runs, 1), RUNS_MAX);
    if (by_cpu && pool_threads(pool_get()) > 1) {
        fprintf(stderr, "plans: --cpu counts one thread: set RIDGE_THREADS=1\n");
        return 2;
    }
    for (size_t k = 0; k < RG_COUNT(jobs); k++)
        if (!s.only || !strcmp(s.only, jobs[k].name)) failed += run_job(&s, k) != 0;
    if (s.only && !s.measured && !failed) {
        fprintf(stderr, "plans: no subgraph is called %s; --list names them\n", s.only);
        return 2;
    }
    if (!s.json)
        printf("%d subgraphs, %d threads: the chosen plan is within 1.05 of the best measured in %d; %d "
               "wrong results\n",
               s.measured, pool_threads(pool_get()), s.measured - s.slow, s.wrong);
    return failed || s.wrong;
}
