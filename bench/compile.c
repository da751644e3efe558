/* compile.c: what it costs to get from graphs to kernels to functions, by stage.
 *
 *   products   forty matrix products of different sizes, register-tiled 8 x 12 with packed operands, as the golden
 *              kernel matmul_256 is: cold (an empty cache), then warm (a fresh engine, everything on disk), then one
 *              kernel alone, cold. The cache is a directory of its own that goes afterwards.
 *   model      a step of transformer.h, forward and backward, on the NULL device: the graph, plan, lower, render, and the
 *              time of each pass of lowering over all kernels. The first context of the process, then medians of
 *              fresh ones. With --peer PYTHON, from the root of the repository, the same in tinygrad (bench/peers), in
 *              the same run; pip install tinygrad into a venv of yours.
 *   large      a hundred thousand operations: how long the plan takes, and how much memory.
 *
 *     compile [products|model|large] [--peer PYTHON] [--runs N] [--layers N] [--ops N]
 *
 * Without a name all three run, each in a process of its own, so that peak memory is its own. Processor time stands beside
 * wall time: on a busy machine only the first says something. */
#include "engine/engine.h"

#include "transformer.h"

#include "api/internal.h" /* the engine of a context, which the public header does not show */
#include "event/event.h"
#include "usage.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KERNELS 40

/* %d: columns in tiles of 12, all of them in one panel */
static const char opts[] =
    "opts TILE(m,8,mr) UNROLL(mr) TILE(n,12,nr) TILE(nr,4,v) VEC(v) UNROLL(nr)\n"
    "opts TILE(m,16,mt) TILE(n,%d,nt) TILE(k,4,ku) UNROLL(ku) ORDER(nt,mt,k)\n"
    "opts STAGE(a,m,mt,k,ku,mr) STAGE(b,m,nt,k,ku,nr,v) TILE(a.mr,4,a.v) VEC(a.v) UNROLL(a.mr) UNROLL(a.ku) "
    "VEC(b.v) UNROLL(b.nr) ORDER(b.k,b.ku,b.nt)\n";

static void add_kernel(struct str *s, int i) {
    int m = 256, n = 264 + 12 * i, k = 64 + 4 * i;
    str_printf(s, "kernel matmul_%d_%d_%d\n", m, n, k);
    str_printf(s, opts, n / 12);
    str_printf(s, "a = (PARAM<f32>[0 a] %d)\nb = (PARAM<f32>[1 b] %d)\nout = (PARAM<f32>[2 out] %d)\n", m * k,
               k * n, m * n);
    str_printf(s, "m = (RANGE[m GRID 0] %d)\nn = (RANGE[n GRID 1] %d)\nk = (RANGE[k REDUCE 2] %d)\n", m, n,
               k);
    str_printf(s,
               "acc = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m %d) k))) (LOAD (INDEX b (ADD (MUL k %d) "
               "n)))) k)\n",
               k, n);
    str_printf(s, "(SINK (STORE (INDEX out (ADD (MUL m %d) n)) acc))\n\n", n);
}

struct run {
    struct err err;
    struct arena arena;
    struct ir ir[KERNELS]; /* each kernel in one of its own, as the engine's users do it */
    struct linear lin[KERNELS];
    const struct linear *ptr[KERNELS];
    const struct ekernel *out[KERNELS];
    uint64_t parse_ns, lower_ns;
};

static void front(void *arg) {
    struct run *r = arg;
    for (int i = 0; i < KERNELS; i++) {
        struct str s;
        struct program p = {0};
        str_init(&s, &r->arena);
        add_kernel(&s, i);
        ir_init(&r->ir[i], &r->arena);
        uint64_t t0 = os_now_ns();
        ir_parse(&r->ir[i], s.p, s.n, "bench", &p);
        uint64_t t1 = os_now_ns();
        lower(&r->ir[i], &p.kernel.p[0], &(struct lower_opts){0}, &r->lin[i]);
        r->ptr[i] = &r->lin[i];
        r->parse_ns += t1 - t0;
        r->lower_ns += os_now_ns() - t1;
    }
}

static double ms(uint64_t ns) { return (double)ns / 1e6; }

/* Processor time of this process, and of the compilers that it has waited for. */
static uint64_t cpu_ns(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

static int die(const struct err *e) {
    fprintf(stderr, "compile: %s\n", e->msg);
    return 1;
}

static int back(struct run *r, const char *what, uint32_t n) {
    struct engine *en = engine_open(&r->err, NULL);
    if (!en) return die(&r->err);
    uint64_t own = cpu_ns(RUSAGE_SELF), children = cpu_ns(RUSAGE_CHILDREN), t0 = os_now_ns();
    if (engine_compile(en, &r->err, r->ptr, n, r->out)) return die(&r->err);
    uint64_t t1 = os_now_ns();
    own = cpu_ns(RUSAGE_SELF) - own, children = cpu_ns(RUSAGE_CHILDREN) - children;
    struct engine_stats s = engine_stats(en);
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) bytes += strlen(r->out[i]->source);
    printf("%s: %.1f ms; %llu compiled in %llu units, %llu from disk; %.0f KB of text\n", what, ms(t1 - t0),
           (unsigned long long)s.compiled, (unsigned long long)s.units, (unsigned long long)s.disk_hits,
           (double)bytes / 1e3);
    printf("    render %.2f  lookup %.2f  compiler %.1f  load %.2f  save %.2f ms\n", ms(s.render_ns),
           ms(s.lookup_ns), ms(s.compile_ns), ms(s.load_ns), ms(s.save_ns));
    printf("    processor time: compilers %.1f ms (%.1f per kernel), ours %.1f ms\n", ms(children),
           ms(children) / n, ms(own));
    engine_close(en);
    return 0;
}

static int products(void) {
    static struct run r;
    arena_init(&r.arena, &r.err);
    char *dir = NULL;
    if (os_temp_dir(&r.err, &r.arena, &dir)) return die(&r.err);
    setenv("RIDGE_CACHE_DIR", dir, 1);
    env_reload();
    if (err_guard(&r.err, front, &r)) return die(&r.err);
    printf("%d register-tiled matrix products: parse %.2f ms, lower %.1f ms (%.2f each)\n", KERNELS,
           ms(r.parse_ns), ms(r.lower_ns), ms(r.lower_ns) / KERNELS);
    int bad = back(&r, "cold (goal 1200 ms)", KERNELS) || back(&r, "warm", KERNELS);
    os_remove_tree(dir);
    if (!bad) bad = back(&r, "one kernel, cold", 1);
    os_remove_tree(dir);
    arena_free(&r.arena);
    return bad;
}

/* ---- model ------------------------------------------------------------------------------------------------ */

enum { RUNS_MAX = 64, PASSES_MAX = 32 };

static struct {
    const char *peer; /* a python that has tinygrad */
    int runs, layers, ops;
} settings = {.runs = 7, .layers = 12, .ops = 100000};

enum stage { BUILD, PLAN, LOWER, RENDER, REST, WHOLE, WHOLE_CPU, PLAN_CPU, LOWER_CPU, STAGES };
static const char *const stage_name[STAGES] = {[BUILD] = "build the graph",
                                               [PLAN] = "plan",
                                               [LOWER] = "lower",
                                               [RENDER] = "render",
                                               [REST] = "program, key, the rest",
                                               [WHOLE] = "all but the graph",
                                               [WHOLE_CPU] = "  by processor time",
                                               [PLAN_CPU] = "  of that planning alone",
                                               [LOWER_CPU] = "  of that all but planning"};

struct step { /* of one context */
    double ms[STAGES];
    uint64_t nodes;
    struct realize_stats stats;
};

struct pass_time {
    const char *name;
    double ms;
    uint64_t runs, nodes;
};
static struct pass_time pass[PASSES_MAX];
static uint32_t passes;

static int failed(rg_ctx *c) {
    fprintf(stderr, "compile: %s\n", rg_error(c));
    rg_close(c);
    return 1;
}

/* Sums up the records that the passes left since event_reset. */
static void sum_passes(void) {
    struct err e = {0};
    struct arena a;
    struct event_list l;
    arena_init(&a, &e);
    event_snapshot(&a, &l);
    for (size_t i = 0; i < l.n; i++) {
        if (l.p[i].kind != EVENT_PASS) continue;
        const char *name = event_name_text(l.p[i].name);
        uint32_t k = 0;
        while (k < passes && strcmp(pass[k].name, name)) k++;
        if (k == PASSES_MAX) continue;
        if (k == passes) pass[passes++].name = name;
        pass[k].ms += ms(l.p[i].t1 - l.p[i].t0);
        pass[k].nodes += (uint64_t)l.p[i].b;
        pass[k].runs++;
    }
    if (l.dropped) printf("    (%llu records of passes were lost)\n", (unsigned long long)l.dropped);
    arena_free(&a);
}

/* Realizes on a device that runs nothing, and says what each stage took. */
static rg_status timed_realize(rg_ctx *c, const rg_tensor *t, size_t n, struct step *out) {
    struct realize_stats before = engine_totals(c->engine);
    uint64_t render = engine_stats(c->engine).render_ns, cpu = cpu_ns(RUSAGE_SELF), t0 = os_now_ns();
    rg_status bad = rg_realize_all(RG_ARRAY(t, n));
    uint64_t t1 = os_now_ns();
    out->ms[WHOLE_CPU] = ms(cpu_ns(RUSAGE_SELF) - cpu);
    out->ms[WHOLE] = ms(t1 - t0);
    out->stats = engine_totals(c->engine);
    out->stats.kernels -= before.kernels;
    out->stats.distinct -= before.distinct;
    out->ms[PLAN] = ms(out->stats.plan_ns - before.plan_ns);
    out->ms[LOWER] = ms(out->stats.lower_ns - before.lower_ns);
    out->ms[RENDER] = ms(engine_stats(c->engine).render_ns - render);
    out->ms[REST] = out->ms[WHOLE] - out->ms[PLAN] - out->ms[LOWER] - out->ms[RENDER];
    return bad;
}

/* The graph of a step in a fresh context. */
static rg_ctx *fresh(rg_tensor *out, size_t *n, struct step *s) {
    static struct tf_model m;
    struct tf_sizes z = TF_GPT2_SMALL;
    z.layers = settings.layers;
    rg_ctx *c = rg_open("NULL");
    if (tf_make(&m, c, z)) return c;
    uint64_t t0 = os_now_ns();
    rg_tensor loss = tf_loss(&m);
    rg_grad(loss, RG_ARRAY(m.param, m.params), out);
    s->ms[BUILD] = ms(os_now_ns() - t0);
    out[m.params] = loss;
    *n = m.params + 1;
    return c;
}

/* Two contexts: one plans only, so that its processor time is known apart; the other does all of it. */
static int step(struct step *out) {
    static rg_tensor t[TF_PARAMS + 1];
    size_t n;
    rg_usage use;
    rg_plan_stats planned;
    rg_ctx *c = fresh(t, &n, out);
    uint64_t cpu = cpu_ns(RUSAGE_SELF);
    if (rg_status_of(c) || rg_schedule_stats(RG_ARRAY(t, n), &planned)) return failed(c);
    out->ms[PLAN_CPU] = ms(cpu_ns(RUSAGE_SELF) - cpu);
    rg_close(c);
    c = fresh(t, &n, out);
    if (rg_stats(c, &use) || rg_status_of(c)) return failed(c);
    out->nodes = use.nodes;
    event_reset();
    if (timed_realize(c, t, n, out)) return failed(c);
    out->ms[LOWER_CPU] = out->ms[WHOLE_CPU] - out->ms[PLAN_CPU];
    return rg_close(c);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of each stage on its own. */
static void medians(const struct step *s, int n, struct step *out) {
    *out = s[0];
    for (int k = 0; k < STAGES; k++) {
        double v[RUNS_MAX];
        for (int i = 0; i < n; i++) v[i] = s[i].ms[k];
        qsort(v, (size_t)n, sizeof *v, by_value);
        out->ms[k] = (v[(n - 1) / 2] + v[n / 2]) / 2;
    }
}

static void print_passes(int runs, const struct step *s) {
    double sum = 0;
    printf("  passes of lowering, all kernels together     ms    of lower   kernels   nodes after\n");
    for (uint32_t i = 0; i < passes; i++) {
        double each = pass[i].ms / runs;
        sum += each;
        printf("    %-36s %10.2f %9.1f%% %9.0f %13.0f\n", pass[i].name, each, 100 * each / s->ms[LOWER],
               (double)pass[i].runs / runs, (double)pass[i].nodes / runs);
    }
    printf("    %-36s %10.2f %9.1f%%\n", "the choice of opts, counting nodes", s->ms[LOWER] - sum,
           100 * (s->ms[LOWER] - sum) / s->ms[LOWER]);
}

/* Runs the peer and finds its figures in what it prints: lines of a name, wall and processor milliseconds. */
static int peer(const struct step *ours) {
    char line[256], name[32];
    double wall[3] = {0}, cpu[3] = {0}, x, y;
    struct str s;
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    str_init(&s, &a);
    str_printf(&s, "%s bench/peers/tinygrad_transformer.py 2 %d", settings.peer, settings.layers);
    fflush(stdout);
    FILE *f = popen(s.p, "r");
    arena_free(&a);
    if (!f) return fprintf(stderr, "compile: cannot run %s\n", settings.peer), 1;
    printf("  tinygrad, the same model on its NULL device: ms, processor ms\n");
    while (fgets(line, sizeof line, f)) {
        printf("    %s", line);
        if (sscanf(line, "%31s %lf %lf", name, &x, &y) != 3) continue;
        int k = !strcmp(name, "build") ? 0 : !strcmp(name, "plan") ? 1 : !strcmp(name, "lower") ? 2 : -1;
        if (k >= 0) wall[k] = x, cpu[k] = y;
    }
    if (pclose(f) || wall[2] == 0)
        return fprintf(stderr,
                       "compile: the peer failed: this must be the root of the repository, and %s must have "
                       "tinygrad\n",
                       settings.peer),
               1;
    double mine = ours->ms[PLAN] + ours->ms[LOWER];
    printf("  tinygrad / Ridge: plan %.1f, lower %.1f, plan + lower %.1f of wall time (bar 50); processor "
           "time, with "
           "render and the rest on our side: %.1f\n",
           wall[1] / ours->ms[PLAN], wall[2] / ours->ms[LOWER], (wall[1] + wall[2]) / mine,
           (cpu[1] + cpu[2]) / ours->ms[WHOLE_CPU]);
    return 0;
}

static int model(void) {
    static struct step first, s[RUNS_MAX];
    struct step m;
    if (step(&first)) return 1;
    for (int i = 0; i < settings.runs; i++) {
        if (step(&s[i])) return 1;
        sum_passes();
    }
    medians(s, settings.runs, &m);
    printf("a transformer of %d layers, forward and backward: %llu nodes, %u kernels, %u distinct, %.1f MB "
           "scratch\n",
           settings.layers, (unsigned long long)m.nodes, m.stats.kernels, m.stats.distinct,
           (double)m.stats.scratch / 1e6);
    printf("  ms                                first    median of %d\n", settings.runs);
    for (int k = 0; k < STAGES; k++) printf("    %-28s %8.2f %8.2f\n", stage_name[k], first.ms[k], m.ms[k]);
    printf("    %-28s %8.2f %8.2f   (bar 150)\n", "plan + lower", first.ms[PLAN] + first.ms[LOWER],
           m.ms[PLAN] + m.ms[LOWER]);
    print_passes(settings.runs, &m);
    return settings.peer ? peer(&m) : 0;
}

/* ---- large -------------------------------------------------------------------------------------------------- */

enum { DIAMONDS = 1000, DIAMOND_OPS = 7 };

/* Elementwise operations one after the other; now and then the rows' means are taken off. */
static rg_tensor long_chain(rg_tensor x, rg_tensor y, int ops) {
    for (int i = 0; i < ops; i++) {
        rg_tensor was = x;
        if (i % 100 == 98 && ++i) /* two operations */
            x = rg_sub(x, rg_mean(x, RG_AXES(-1), .keep = true));
        else if (i % 4 == 0)
            x = rg_add(x, y);
        else if (i % 4 == 1)
            x = rg_mul(x, 0.5 + i % 7);
        else
            x = i % 4 == 2 ? rg_tanh(x) : rg_maximum(x, y);
        if (i > 1) rg_free(was);
    }
    return x;
}

static rg_tensor diamond(rg_tensor a) {
    rg_tensor up = rg_exp(a), down = rg_sin(a);
    return rg_sum(rg_add(rg_mul(rg_mul(up, down), rg_sub(up, down)), a), RG_AXES(-1));
}

static int large(void) {
    static float zeros[64 * 64];
    static rg_tensor out[DIAMONDS + 1];
    rg_usage use;
    rg_plan_stats st = {0};
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = rg_from(c, RG_F32, zeros, RG_SHAPE(64, 64)),
              y = rg_from(c, RG_F32, zeros, RG_SHAPE(64, 64));
    uint64_t t0 = os_now_ns();
    int chain = RG_MAX(settings.ops - DIAMONDS * DIAMOND_OPS, 1);
    out[DIAMONDS] = long_chain(x, y, chain);
    for (int i = 0; i < DIAMONDS; i++) out[i] = diamond(rg_from(c, RG_F32, zeros, RG_SHAPE(32, 32)));
    uint64_t t1 = os_now_ns();
    rg_stats(c, &use);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    uint64_t cpu = cpu_ns(RUSAGE_SELF), t2 = os_now_ns();
    if (rg_schedule_stats(RG_ARRAY(out, DIAMONDS + 1), &st)) return failed(c);
    uint64_t t3 = os_now_ns();
    cpu = cpu_ns(RUSAGE_SELF) - cpu;
    getrusage(RUSAGE_SELF, &after);
    printf("a chain of %d operations and %d diamonds of %d: %llu nodes, %llu kernels, %llu distinct\n", chain,
           DIAMONDS, DIAMOND_OPS, (unsigned long long)use.nodes, (unsigned long long)st.kernels,
           (unsigned long long)st.distinct);
    printf("  build %.1f ms, plan %.1f ms (bar 5000), processor time of the plan %.1f ms; memory before the "
           "plan %.0f MB\n",
           ms(t1 - t0), ms(t3 - t2), ms(cpu), (double)before.ru_maxrss / 1e3);
    return rg_close(c);
}

/* ---- which ---------------------------------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    int (*run)(void);
} part[] = {{"products", products}, {"model", model}, {"large", large}};

static int in_a_process(const struct part *p) {
    struct rusage u;
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return perror("compile"), 1;
    if (!child) exit(p->run());
    if (wait4(child, &status, 0, &u) < 0) return perror("compile"), 1;
    printf("  %s: peak memory %.0f MB, processor time of everything %.1f s\n", p->name,
           (double)u.ru_maxrss / 1e3,
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int usage(void) {
    fprintf(stderr, "compile [products|model|large] [--peer PYTHON] [--runs N] [--layers N] [--ops N]\n");
    return 2;
}

static bool option(const char *name, const char *value) {
    int n = value ? atoi(value) : 0;
    if (!value) return false;
    if (!strcmp(name, "--peer")) return settings.peer = value, true;
    if (!strcmp(name, "--runs")) return settings.runs = n, n >= 1 && n <= RUNS_MAX;
    if (!strcmp(name, "--layers")) return settings.layers = n, n >= 1 && n <= TF_LAYERS;
    if (!strcmp(name, "--ops")) return settings.ops = n, n >= 1;
    return false;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[products|model|large] [--peer PYTHON] [--runs N] [--layers N] [--ops N]"))
        return 0;
    bool want[RG_COUNT(part)] = {0}, any = false;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < RG_COUNT(part); k++)
            if (!strcmp(argv[i], part[k].name)) want[k] = any = known = true;
        if (known) continue;
        if (!option(argv[i], argv[i + 1])) return usage();
        i++;
    }
    for (size_t k = 0; k < RG_COUNT(part); k++)
        if ((want[k] || !any) && in_a_process(&part[k])) return 1;
    return 0;
}
