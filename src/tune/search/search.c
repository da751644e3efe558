/* search.c: beam search: the fastest opt list of a kernel, by measurement.
 *
 * With BEAM=n a new plan is searched during its first run, kernel by kernel, on the real buffers, right before each kernel
 * would run: its inputs are there, its outputs go to copies. Candidates around the current list
 * (tune/choose/search_space.c) are ranked by the cost model (tune/cost/cpu_time.c); the n best are compiled in one batch, run
 * once and compared with the current kernel, then timed round-robin; then once more around the best of them. All candidates
 * sum in the same order, so results must be equal bit for bit (any NaN equals any NaN): others are rejected. A candidate
 * that is not faster by some per cent does not replace the current list.
 *
 * A candidate runs first in another process (trial.c): one that traps or hangs costs only itself.
 *
 * Results are kept in the engine and on disk (key: hash of cache format, compiler, flags, architecture, machine model,
 * threads and the kernel's text); later plans use them, with BEAM or without, unless RIDGE_TUNED=0. A record holds all
 * candidates; `ridge tune --show` prints it. A loaded list must be legal and sum in the heuristic's order.
 * On one thread CPU time is measured, which other processes do not disturb.
 *
 * GPU: the time of several runs in a row with warm caches, or, with RIDGE_TUNE_COLD=1, of single runs after L2 was
 * overwritten. Candidates of a GEMM are the configs of its heuristic (opts_configs_gpu), ranked by tune/cost/gpu_time.c; of
 * other kernels lists around the current one. Candidates that spill, exceed shared memory or fail to launch are "failed".
 * The finalists and the current list are timed again, alternating without pauses, with the commands before and after them
 * (in_context.c); the medians of their ratios decide. Candidates of all kernels of a plan are compiled in one batch first
 * (prepare_all): compilation dominates, and it uses all cores.
 * Tests: tests/unit/tune.c, tests/unit/tune_gpu.c, tests/cli/tune.sh */
#include "tune/search/internal.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define TOO_SHORT_NS 2000 /* launch overhead dominates: nothing to gain */
#define GAIN 0.97         /* a winner must take at most this share of the current list's time */
#define ROUNDS 15
#define GPU_ROUNDS 6               /* the finalists are timed again */
#define MAX_LISTS 240              /* that are ranked */
#define BUDGET_NS 400000000ull     /* for timing one batch */
#define REPEAT_NS 60000            /* shorter kernels are repeated within a reading */
#define FLUSH ((size_t)256 << 20)  /* bytes that flush the caches of a GPU, at least */
#define LONG_PROGRAM 2000          /* statements: NVRTC takes seconds for more */
#define REPEAT_GPU_NS 400000       /* as REPEAT_NS, of a GPU */
#define SUSTAINED_NS 20000000      /* of work without a pause, to reach the power limit .. */
#define SHORT_SUSTAINED_NS 3000000 /* .. if the kernel is not limited by power */
#define CLOSE 1.05      /* share of the current list's time up to which a candidate is a finalist */
#define FINAL_GAIN 0.98 /* as GAIN, of the final */
#define NOISE 0.01      /* between two readings of one kernel .. */
#define SETTLED 0.005   /* .. once its clock is stable */

enum { FINALISTS = 3, FINAL_ROUNDS = 3 };

/* ---- records ----------------------------------------------------------------------------------------------------- */

struct record_lookup {
    struct engine *en;
    struct sched_prog *p;
    const struct tuned *out;
};

static void find_guarded(void *arg) {
    struct record_lookup *c = arg;
    char key[65];
    compile_identity(c->en);
    record_key(c->en, c->p, key);
    c->out = record_find(c->en, key);
}

static const struct tuned *find(struct engine *en, struct sched_prog *p) {
    struct record_lookup c = {en, p, NULL};
    if (!engine_can_search(en)) return NULL;
    err_clear(&en->err);
    int code = err_guard(&en->err, find_guarded, &c);
    arena_free(&en->work);
    return code ? NULL : c.out; /* a missing compiler is reported when it is needed */
}

static const char *known_opts(struct engine *en, struct sched_prog *p, const char *own) {
    const struct tuned *t = find(en, p);
    if (!t || !strcmp(t->opts, own)) return own;
    const struct gpu_spec *gpu = en->ops->text == DEV_C ? NULL : &en->gpu;
    const char *want = opts_rounding(p->ir, &p->kernel, own, gpu),
               *have = opts_rounding(p->ir, &p->kernel, t->opts, gpu);
    if (!want || !have || strcmp(want, have)) return own;
    en->stats.tuned_hits++;
    return arena_strdup(p->ir->arena, t->opts, strlen(t->opts));
}

/* ---- one search ----------------------------------------------------------------------------------------------------- */

struct candidate {
    const char *opts;
    double predicted;     /* seconds */
    uint64_t fingerprint; /* of the linear program: equal ones are one candidate */
    uint64_t least;       /* ns, measured */
    enum tuned_state state;
    const struct ekernel *k; /* NULL: failed */
    uint32_t command;        /* of the list */
    bool out;                /* no longer timed */
};

struct tune {
    struct engine *en;
    struct err err;
    struct arena arena; /* of the whole search */
    struct ir ir;       /* with the kernel, for lists */
    struct kernel kernel;
    const struct tune_job *job;
    int beam, threads;
    VEC(struct candidate) cand; /* 0: the list in use */
    struct map seen;            /* texts of lists */
    void **work, **want; /* by slot: what candidates write to; what they must write. NULL: not written */
    struct engine_list *list;
    struct search_context *context;          /* neighbours in the plan .. */
    struct engine_list *with[FINALISTS + 1]; /* .. with each finalist */
    char *flush;                             /* copied to flush the caches before a run; NULL: warm caches */
    uint32_t wrong, entries;                 /* entries: statements under the current list */
};

/* A candidate lowered in its own arena. */
struct search_trial {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct kernel kernel;
    struct linear lin;
    const struct tune *t;
    const char *opts;
    double predicted;
    bool lowered, rendered;
    bool spills; /* accumulators exceed the register file: compilers time out on some of these */
    struct etext text;
};

static bool is_gpu(const struct tune *t) { return t->en->ops->text != DEV_C; }

static void lower_trial(void *arg) {
    struct search_trial *x = arg;
    const struct tune_job *j = x->t->job;
    ir_init(&x->ir, &x->arena);
    x->kernel = j->p->kernel;
    x->kernel.sink = ir_import(&x->ir, j->p->ir, j->p->kernel.sink);
    struct lower_opts how = {.opts = x->opts};
    prog_target(x->t->en, &how);
    prog_lower(j->p, &x->ir, &x->kernel, &how, &x->lin);
    verify_linear(&x->ir, x->lin.u, x->lin.n); /* generated lists: invalid programs are dropped */
    const struct model *m = &x->t->en->plans.model;
    if (!is_gpu(x->t)) {
        x->predicted = predict_seconds(&x->arena, &x->lin, m, x->t->threads);
        return;
    }
    struct gpu_work w;
    if (compile_render(x->t->en, &x->err, &x->lin, &x->text))
        err_throw(&x->err, x->err.code, "%s", x->err.msg);
    gpu_work_of(&x->arena, &x->lin, x->text.block, x->text.per_block, &w);
    x->predicted = predict_gpu(&w, &x->t->en->gpu, m);
    int producer =
        strstr(x->opts, "WARP_SPECIALIZE(") ? 128 : 0; /* setmaxnreg: its registers go to the consumers */
    x->spills = (int64_t)w.registers * (w.threads - producer) > x->t->en->gpu.regs_sm;
}

/* False: illegal. The caller frees the arena in either case. */
static bool trial_lower(struct search_trial *x, const struct tune *t, const char *opts) {
    *x = (struct search_trial){.t = t, .opts = opts};
    arena_init(&x->arena, &x->err);
    return x->lowered = !err_guard(&x->err, lower_trial, x);
}

/* Lowered in parallel, each in its own arena and ir. */
struct trials {
    const struct tune *t;
    struct search_trial *x;
    const char *const *opts;
};

static void lower_some(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct trials *all = arg;
    (void)worker;
    for (uint32_t i = t0; i < t1; i++) trial_lower(&all->x[i], all->t, all->opts[i]);
}

static void render_some(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct trials *all = arg;
    (void)worker;
    for (uint32_t i = t0; i < t1; i++) {
        struct search_trial *x = &all->x[i];
        x->rendered = x->lowered && !compile_render(all->t->en, &x->err, &x->lin, &x->text);
    }
}

static struct search_trial *lower_all(const struct tune *t, struct arena *a, const char *const *opts,
                                      uint32_t n) {
    struct trials all = {t, arena_array(a, struct search_trial, n + 1), opts};
    pool_run(pool_get(), lower_some, &all, n, 1);
    return all.x;
}

static uint64_t fingerprint_of(const struct search_trial *x) {
    double w[] = {x->predicted,     x->lin.est.flops_issued, x->lin.est.bytes_issued,
                  (double)x->lin.n, (double)x->lin.grid,     (double)x->lin.scratch};
    return hash_bytes(w, sizeof w, 3);
}

static bool known_fingerprint(const struct tune *t, uint64_t fingerprint) {
    for (uint32_t i = 0; i < t->cand.n; i++)
        if (t->cand.p[i].fingerprint == fingerprint) return true;
    return false;
}

static int by_prediction(const void *x, const void *y) {
    const struct candidate *a = x, *b = y;
    if (a->predicted != b->predicted) return a->predicted < b->predicted ? -1 : 1;
    return strcmp(a->opts, b->opts);
}

static bool is_new(struct tune *t, const char *opts) {
    uint64_t key = hash_bytes(opts, strlen(opts), 5);
    if (map_get(&t->seen, key, NULL)) return false;
    map_put(&t->seen, key, 1);
    return true;
}

/* Configs of a GEMM on a GPU, by predicted time. To evaluate the model (`wide`) half are spread over the ranking. False: not a
 * GEMM. */
static bool propose_configs(struct tune *t, uint32_t most) {
    gpu_lists configs;
    bool wide = t->en->tuning.wide;
    if (!is_gpu(t) || t->cand.n > 1) return false;
    opts_configs_gpu(&t->ir, &t->kernel, &t->en->gpu, &t->en->plans.model, t->cand.p[0].opts,
                     wide ? most / 2 : most, wide ? most - most / 2 : 0, &configs);
    for (uint32_t i = 0; i < configs.n; i++) {
        if (!strcmp(configs.p[i].opts, t->cand.p[0].opts)) t->cand.p[0].predicted = configs.p[i].predicted;
        if (!is_new(t, configs.p[i].opts)) continue;
        vec_push(&t->arena, &t->cand,
                 ((struct candidate){
                     .opts = configs.p[i].opts, .predicted = configs.p[i].predicted, .fingerprint = i + 1}));
    }
    return configs.n > 0;
}

/* Appends new lists around `base`, by predicted time. */
static void propose(struct tune *t, const char *base, uint32_t most) {
    opts_vec lists, fresh = {0};
    uint64_t seed = hash_bytes(base, strlen(base), t->cand.n);
    uint32_t from = t->cand.n;
    struct lower_opts how = {0};
    prog_target(t->en, &how);
    opts_space(&t->ir, &t->kernel, base, how.target.vec_bytes, t->threads, is_gpu(t) ? &t->en->gpu : NULL,
               seed, most, &lists);
    for (uint32_t i = 0; i < lists.n; i++)
        if (is_new(t, lists.p[i])) vec_push(&t->arena, &fresh, lists.p[i]);
    struct search_trial *x = lower_all(t, &t->arena, fresh.p, fresh.n);
    for (uint32_t i = 0; i < fresh.n; i++) {
        bool longer = is_gpu(t) && x[i].lin.n > LONG_PROGRAM && x[i].lin.n > 2 * t->entries;
        if (x[i].lowered && !x[i].spills && !longer && !known_fingerprint(t, fingerprint_of(&x[i])))
            vec_push(&t->arena, &t->cand,
                     ((struct candidate){.opts = fresh.p[i],
                                         .predicted = x[i].predicted,
                                         .fingerprint = fingerprint_of(&x[i])}));
        arena_free(&x[i].arena);
    }
    if (t->cand.n > from + 1) qsort(t->cand.p + from, t->cand.n - from, sizeof *t->cand.p, by_prediction);
}

/* GPU: does it fit shared memory, without more spills than the current kernel? */
static bool fits(const struct tune *t, const struct ekernel *k) {
    const struct ekernel *used = t->cand.p[0].k;
    if (!is_gpu(t)) return true;
    if (t->en->info.shared_most && (size_t)k->shared > t->en->info.shared_most) return false;
    return !used || k->spills <= used->spills;
}

/* One by one, after the batch failed. */
static void compile_apart(struct tune *t, const struct etext *text, uint32_t n, const struct ekernel **k) {
    for (uint32_t i = 0; i < n; i++) {
        struct err e = {0};
        if (engine_compile_text(t->en, &e, &text[i], 1, &k[i])) k[i] = NULL, log_line(1, "search: %s", e.msg);
    }
}

/* Renders candidates [from, to) into the arenas of x, which the caller frees. Returns how many. */
static uint32_t render_all(struct tune *t, uint32_t from, uint32_t to, struct search_trial **x,
                           struct etext *text) {
    uint32_t n = to - from, m = 0;
    const char **opts = arena_array(&t->arena, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++) opts[i] = t->cand.p[from + i].opts;
    *x = lower_all(t, &t->arena, opts, n);
    for (uint32_t i = 0; i < n && t->en->tuning.spoil; i++)
        if ((*x)[i].lowered) t->en->tuning.spoil(t->en->tuning.cx, from + i, &(*x)[i].lin);
    pool_run(pool_get(), render_some, &(struct trials){t, *x, opts}, n, 1);
    for (uint32_t i = 0; i < n; i++)
        if ((*x)[i].rendered) text[m++] = (*x)[i].text;
    return m;
}

/* Compiles candidates [from, to) in one batch. */
static void compile(struct tune *t, uint32_t from, uint32_t to) {
    uint32_t n = to - from;
    struct etext *text = arena_array(&t->arena, struct etext, n + 1);
    const struct ekernel **k = arena_array(&t->arena, const struct ekernel *, n + 1);
    struct err e = {0};
    struct search_trial *x;
    uint32_t m = render_all(t, from, to, &x, text);
    if (m && engine_compile_text(t->en, &e, text, m, k)) compile_apart(t, text, m, k);
    m = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct candidate *c = &t->cand.p[from + i];
        const struct ekernel *made = x[i].rendered ? k[m++] : NULL;
        c->k = made && fits(t, made) ? made : NULL;
        if (!c->k) c->state = TUNED_FAILED, c->out = true;
        arena_free(&x[i].arena);
    }
}

/* ---- running candidates ------------------------------------------------------------------------------------------------ */

static void fail(struct tune *t, const struct err *e) { err_throw(&t->err, e->code, "%s", e->msg); }

static void move(struct tune *t, void *to, const void *from, size_t n) {
    struct err e = {0};
    if (t->en->ops->copy(t->en->dev, &e, COPY_WITHIN, to, from, n)) fail(t, &e);
}

static void restore(struct tune *t) {
    for (uint32_t i = 0; i < t->job->p->nbuf; i++)
        if (t->work[i] && t->job->same[i] == i) move(t, t->work[i], t->job->buf[i], t->job->bytes[i]);
}

static bool reads_its_output(const struct tune *t) {
    for (uint32_t i = 0; i < t->job->p->nbuf; i++)
        if (t->job->use[i] == (USE_LOADED | USE_STORED)) return true;
    return false;
}

static void make_copies(struct tune *t) {
    const struct tune_job *j = t->job;
    struct err e = {0};
    t->work = arena_array(&t->arena, void *, j->p->nbuf + 1);
    t->want = arena_array(&t->arena, void *, j->p->nbuf + 1);
    for (uint32_t i = 0; i < j->p->nbuf; i++) {
        if (j->same[i] != i) {
            t->work[i] = t->work[j->same[i]];
            continue;
        }
        bool written = false;
        for (uint32_t k = i; k < j->p->nbuf; k++) written |= j->same[k] == i && (j->use[k] & USE_STORED);
        if (!written) continue;
        if (!(t->work[i] = engine_alloc(t->en, &e, j->bytes[i])) ||
            !(t->want[i] = engine_alloc(t->en, &e, j->bytes[i])))
            fail(t, &e);
    }
}

static size_t flush_bytes(const struct tune *t) { return RG_MAX(FLUSH, 4 * (size_t)t->en->gpu.l2); }

static void make_flush(struct tune *t) {
    struct err e = {0};
    if (!is_gpu(t) || !env_int(ENV_TUNE_COLD)) return;
    if (!(t->flush = engine_alloc(t->en, &e, flush_bytes(t)))) fail(t, &e);
}

static void free_copies(struct tune *t) {
    for (uint32_t i = 0; i < RG_COUNT(t->with); i++) engine_list_free(t->with[i]);
    context_free(t->context);
    if (t->flush) engine_free(t->en, t->flush, flush_bytes(t));
    for (uint32_t i = 0; t->want && i < t->job->p->nbuf; i++) {
        if (t->job->same[i] != i) continue;
        engine_free(t->en, t->work[i], t->job->bytes[i]);
        engine_free(t->en, t->want[i], t->job->bytes[i]);
    }
}

static void add_commands(struct tune *t, uint32_t from) {
    void **buf = arena_array(&t->arena, void *, t->job->p->nbuf + 1);
    struct err e = {0};
    for (uint32_t i = 0; i < t->job->p->nbuf; i++) buf[i] = t->work[i] ? t->work[i] : t->job->buf[i];
    for (uint32_t i = from; i < t->cand.n; i++) {
        struct candidate *c = &t->cand.p[i];
        c->command = engine_list_count(t->list);
        if (c->k && engine_list_add(t->list, &e, c->k, buf, t->job->var)) fail(t, &e);
    }
}

/* Time of one run, in ns; UINT64_MAX: failed to launch. */
static uint64_t time_of(struct tune *t, const struct candidate *c, uint32_t times) {
    if (t->flush) {
        struct err e = {0};
        size_t half = flush_bytes(t) / 2;
        if (t->en->ops->copy(t->en->dev, &e, COPY_WITHIN, t->flush, t->flush + half, half)) fail(t, &e);
        times = 1;
    }
    uint64_t ns = engine_list_time(t->list, c->command, times);
    return ns == UINT64_MAX ? ns : ns / times;
}

static bool is_same(struct tune *t, uint32_t slot) {
    struct err e = {0};
    bool same = same_result(t->en, &e, t->job->dt[slot], t->work[slot], t->want[slot], t->job->bytes[slot]);
    if (e.code) fail(t, &e);
    return same;
}

/* Runs every new candidate once on the same data and compares its output with the current kernel's. */
static void check(struct tune *t, uint32_t from) {
    const struct tune_job *j = t->job;
    for (uint32_t i = from; i < t->cand.n; i++) {
        struct candidate *c = &t->cand.p[i];
        if (!c->k) continue;
        restore(t);
        c->least = time_of(t, c, 1);
        c->state = i ? TUNED_TIMED : TUNED_BASE;
        if (c->least == UINT64_MAX) {
            struct err e = {0};
            if (t->en->ops->wait && t->en->ops->wait(t->en->dev, &e)) fail(t, &e); /* device lost */
            if (!i) err_throw(&t->err, RG_EDEVICE, "the kernel in use could not be started");
            c->state = TUNED_FAILED, c->out = true;
            continue;
        }
        for (uint32_t b = 0; b < j->p->nbuf; b++) {
            if (!t->want[b]) continue;
            if (!i)
                move(t, t->want[b], t->work[b], j->bytes[b]);
            else if (!is_same(t, b))
                c->state = TUNED_WRONG, c->out = true;
        }
        t->wrong += c->state == TUNED_WRONG;
        /* identical code */
        for (uint32_t k = 0; k < i && !c->out; k++) c->out = t->cand.p[k].k == c->k;
    }
}

/* Candidates [from, ..) where they can do no harm; those that do are out. The list in use is not: it runs anyway. */
static void try_all(struct tune *t, uint32_t from) {
    for (uint32_t i = RG_MAX(from, 1u); i < t->cand.n; i++) {
        struct candidate *c = &t->cand.p[i];
        bool known = !c->k;
        for (uint32_t k = 0; k < i && !known; k++) known = t->cand.p[k].k == c->k;
        enum trial_end end =
            known ? TRIAL_NONE : trial_run(t->en, &t->arena, t->job, c->k, t->cand.p[0].least);
        if (end != TRIAL_TRAPPED && end != TRIAL_DID_NOT_START) continue;
        const struct ekernel *bad = c->k;
        for (uint32_t k = i; k < t->cand.n; k++) {
            if (t->cand.p[k].k != bad) continue;
            t->cand.p[k].state = end == TRIAL_TRAPPED ? TUNED_TRAPPED : TUNED_FAILED;
            t->cand.p[k].k = NULL, t->cand.p[k].out = true;
        }
    }
}

/* Round-robin, so that noise is shared; slow candidates drop out. */
static void race(struct tune *t) {
    uint64_t start = os_now_ns();
    bool again = reads_its_output(t);
    int rounds = is_gpu(t) ? GPU_ROUNDS : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        uint64_t best = UINT64_MAX;
        for (uint32_t i = 0; i < t->cand.n; i++) {
            struct candidate *c = &t->cand.p[i];
            if (c->out) continue;
            if (again) restore(t);
            uint64_t repeat = is_gpu(t) ? REPEAT_GPU_NS : REPEAT_NS;
            uint32_t times = (uint32_t)RG_MAX(RG_MIN(repeat / RG_MAX(c->least, 1), 50), 1);
            c->least = RG_MIN(c->least, time_of(t, c, times));
            best = RG_MIN(best, c->least);
        }
        for (uint32_t i = 1; i < t->cand.n && round >= 1; i++)
            if ((double)t->cand.p[i].least > (double)best * (round < rounds / 3 ? 1.4 : 1.1))
                t->cand.p[i].out = true;
        if (round >= 2 && os_now_ns() - start > BUDGET_NS) break;
    }
    for (uint32_t i = 1; i < t->cand.n; i++) /* identical code */
        for (uint32_t k = 0; k < i && t->cand.p[i].k; k++)
            if (t->cand.p[k].k == t->cand.p[i].k && t->cand.p[i].state == TUNED_TIMED)
                t->cand.p[i].least = t->cand.p[k].least;
}

static uint32_t fastest(const struct tune *t) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < t->cand.n; i++)
        if (t->cand.p[i].state == TUNED_TIMED && t->cand.p[i].least < t->cand.p[best].least) best = i;
    return (double)t->cand.p[best].least <= (double)t->cand.p[0].least * GAIN ? best : 0;
}

static bool is_power_limited(const struct tune *t) {
    return t->cand.p[0].k->est.flops / ((double)RG_MAX(t->cand.p[0].least, 1) * 1e-9) >
           gpu_power_flops(&t->en->gpu);
}

/* Time of a run within a sustained sequence, after a warm-up of the same length for the clock. */
static double sustained_ns(struct tune *t, struct engine_list *l) {
    uint64_t all = is_power_limited(t) ? SUSTAINED_NS : SHORT_SUSTAINED_NS, ns;
    if (reads_its_output(t)) restore(t);
    if ((ns = list_time(l, 1)) == UINT64_MAX) return INFINITY;
    uint32_t times = (uint32_t)RG_MAX(RG_MIN(all / RG_MAX(ns, 1), 2000), 1);
    if (list_time(l, times) == UINT64_MAX || (ns = list_time(l, times)) == UINT64_MAX) return INFINITY;
    return (double)ns;
}

/* The current list and the fastest candidates. */
static uint32_t finalists(const struct tune *t, uint32_t at[FINALISTS + 1]) {
    uint32_t n = 1;
    at[0] = 0;
    for (; n <= FINALISTS; n++) {
        uint32_t next = 0;
        for (uint32_t i = 1; i < t->cand.n; i++) {
            const struct candidate *c = &t->cand.p[i];
            bool there = c->state != TUNED_TIMED || c->k == t->cand.p[0].k ||
                         (double)c->least > (double)t->cand.p[0].least * CLOSE;
            for (uint32_t k = 1; k < n && !there; k++) there = t->cand.p[at[k]].k == c->k;
            if (!there && (!next || c->least < t->cand.p[next].least)) next = i;
        }
        if (!next) break;
        at[n] = next;
    }
    return n;
}

/* Finalists between their neighbours of the plan. */
static void make_contexts(struct tune *t, const uint32_t *at, uint32_t n) {
    struct err e = {0};
    context_new(t->en, &t->arena, t->job, t->work, &t->context);
    for (uint32_t i = 0; i < n; i++)
        if (!(t->with[i] = context_list(t->context, &e, t->cand.p[at[i]].k))) fail(t, &e);
}

static int by_ratio(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Share of the time in context that a winner must reach: FINAL_GAIN of the kernel's part of it, at least the noise. */
static double winning_share(const struct tune *t, double base) {
    return 1 - RG_MAX((1 - FINAL_GAIN) * RG_MIN((double)t->cand.p[0].least / base, 1), NOISE);
}

/* Repeats one list until its time is stable: after idling a GPU boosts, and reaches its power limit after some 0.2 s. */
static double settle(struct tune *t, uint32_t which) {
    enum { LEAST = 5, MOST = 10 };
    double last = sustained_ns(t, t->with[which]), now = last;
    for (int i = 1; i < MOST; i++, last = now) {
        now = sustained_ns(t, t->with[which]);
        if (i >= LEAST && fabs(now - last) <= SETTLED * last) break;
    }
    return now;
}

/* Median ratio of candidate i to the current list, in adjacent readings, so that both have the same clock. 1: clearly slower once,
 * or twice. */
static double duel(struct tune *t, uint32_t i, double limit) {
    double ratio[FINAL_ROUNDS];
    for (int round = 0; round < FINAL_ROUNDS; round++) {
        double base = sustained_ns(t, t->with[0]);
        ratio[round] = sustained_ns(t, t->with[i]) / base;
        if (ratio[0] > 2 - FINAL_GAIN || (round == 1 && ratio[0] > limit && ratio[1] > limit)) return 1;
    }
    qsort(ratio, FINAL_ROUNDS, sizeof *ratio, by_ratio);
    return ratio[FINAL_ROUNDS / 2];
}

/* Alternating lists share a clock; alone, the one that draws more power has a lower one. */
static bool wins_alone(struct tune *t, uint32_t i) {
    if (!is_power_limited(t)) return true;
    double own = settle(t, i);
    return own <= settle(t, 0) * (1 - NOISE);
}

/* Single runs are timed at boost clock; under sustained tensor-core load the clock drops, the more the more power a config draws,
 * and neighbours overlap a kernel's start and end. So the finalists are compared with the current list once more: alternating,
 * without pauses, between the commands around them (in_context.c); the winner must win alone too. Ties: the current list. */
static uint32_t final(struct tune *t) {
    uint32_t at[FINALISTS + 1], n = finalists(t, at), best = 0;
    if (n < 2) return 0;
    make_contexts(t, at, n);
    double limit = winning_share(t, settle(t, 0)), least = limit;
    for (uint32_t i = 1; i < n; i++) {
        double ratio = duel(t, i, limit);
        if (ratio < least) least = ratio, best = i;
    }
    if (best && !wins_alone(t, best)) best = 0;
    return at[best];
}

/* The candidates of the next step. */
static void choose(struct tune *t, const char *base, uint32_t most) {
    uint32_t known = t->cand.n, beam = (uint32_t)t->beam;
    for (uint32_t i = 0; known == 1 && i < t->job->nlist; i++)
        vec_push(&t->arena, &t->cand,
                 ((struct candidate){.opts = t->job->list[i].opts, .predicted = t->job->list[i].predicted}));
    if (t->cand.n > known) return;
    if (!propose_configs(t, t->en->tuning.wide ? beam : 2 * beam)) propose(t, base, most);
    if (is_gpu(t)) beam *= 2; /* both rounds at once: compilation dominates and is parallel */
    t->cand.n = RG_MIN(t->cand.n, known + beam);
}

static uint32_t lists_of(const struct tune *t) {
    int each = is_gpu(t) ? 8 : 24; /* few mutations apply to a GPU */
    return (uint32_t)RG_MIN(RG_MAX(each * t->beam, 48), MAX_LISTS);
}

/* One round: propose, compile, check, time; the current list too if it has no kernel yet. */
static void step(struct tune *t, const char *base, uint32_t most) {
    uint32_t from = t->cand.p[0].k ? t->cand.n : 0;
    choose(t, base, most);
    if (t->cand.n == from) return;
    compile(t, from, t->cand.n);
    if (!t->cand.p[0].k)
        err_throw(&t->err, RG_ECOMPILE, "the list of the heuristic gives no kernel that runs: %s",
                  t->job->opts);
    try_all(t, from);
    add_commands(t, from);
    check(t, from);
    race(t);
}

/* Candidate 0 is the current list. */
static void begin(struct tune *t) {
    struct search_trial *x = arena_new(&t->arena, struct search_trial);
    const char *opts = t->job->opts;
    ir_init(&t->ir, &t->arena);
    map_init(&t->seen, &t->arena);
    t->kernel = t->job->p->kernel;
    t->kernel.sink = ir_import(&t->ir, t->job->p->ir, t->job->p->kernel.sink);
    if (!trial_lower(x, t, opts)) fail(t, &x->err);
    vec_push(&t->arena, &t->cand,
             ((struct candidate){
                 .opts = opts, .predicted = x->predicted, .fingerprint = fingerprint_of(x), .k = t->job->k}));
    is_new(t, opts);
    t->entries = x->lin.n;
    arena_free(&x->arena);
}

static void time_first(struct tune *t) {
    if (!t->job->k) return;
    add_commands(t, 0);
    check(t, 0);
    restore(t);
    t->cand.p[0].least = RG_MIN(t->cand.p[0].least, time_of(t, &t->cand.p[0], 1));
}

static void remember(struct tune *t, uint32_t winner, double seconds) {
    struct engine *en = t->en;
    struct tuned *r = arena_new(&en->arena, struct tuned);
    char key[65];
    const char *name = t->job->p->kernel.name;
    *r = (struct tuned){.name = arena_strdup(&en->arena, name, strlen(name)),
                        .machine =
                            arena_strdup(&en->arena, en->plans.model.name, strlen(en->plans.model.name)),
                        .threads = t->threads,
                        .beam = t->beam,
                        .cold = t->flush != NULL,
                        .seconds = seconds};
    for (uint32_t i = 0; i < t->cand.n; i++) {
        const struct candidate *c = &t->cand.p[i];
        struct tuned_row row = {.state = i == winner ? TUNED_WINNER : c->state,
                                .opts = arena_strdup(&en->arena, c->opts, strlen(c->opts)),
                                .predicted = c->predicted,
                                .measured = (double)c->least * 1e-9};
        if (c->state == TUNED_FAILED || c->state == TUNED_TRAPPED) row.measured = 0;
        vec_push(&en->arena, &r->row, row);
    }
    r->opts = r->row.p[winner].opts;
    r->text = arena_strdup(&en->arena, t->job->p->text, strlen(t->job->p->text));
    record_key(en, t->job->p, key);
    record_keep(en, key, r);
    struct str s;
    str_init(&s, &t->arena);
    record_print(&s, r, r->text);
    cache_write(&en->cache, &t->arena, arena_printf(&t->arena, "tuned-%s", key), s.p, s.n);
    const char *now = arena_printf(&t->arena, "%s %llu", key, (unsigned long long)os_now_ns());
    cache_write(&en->cache, &t->arena, SEARCH_LATEST, now, strlen(now)); /* invalidates cached plans */
    cache_trim(&en->cache, &t->arena);
}

static void search(void *arg) {
    struct tune *t = arg;
    uint64_t t0 = os_now_ns();
    begin(t);
    if (!(t->list = engine_list_new(t->en, &t->err))) err_throw(&t->err, t->err.code, "%s", t->err.msg);
    make_copies(t);
    make_flush(t);
    time_first(t);
    if (!t->job->k || t->cand.p[0].least >= TOO_SHORT_NS) {
        uint32_t lists = lists_of(t);
        step(t, t->job->opts, lists);
        if (!is_gpu(t)) step(t, t->cand.p[fastest(t)].opts, lists / 2);
    }
    uint32_t winner = is_gpu(t) && !t->flush && !t->en->tuning.wide ? final(t) : fastest(t);
    remember(t, winner, (double)(os_now_ns() - t0) * 1e-9);
    log_line(1, "searched %s: %.2f us -> %.2f us%s, %u tried, %u refused, %.2f s", t->kernel.name,
             (double)t->cand.p[0].least / 1e3, (double)t->cand.p[winner].least / 1e3,
             winner ? "" : " (stays as it is)", t->cand.n, t->wrong, (double)(os_now_ns() - t0) * 1e-9);
    t->en->stats.searched++;
    t->en->stats.refused += t->wrong;
    t->cand.p[0].k = t->cand.p[winner].k;
}

static struct tune tune_of(struct engine *en, const struct tune_job *job) {
    return (struct tune){.en = en, .job = job, .beam = engine_beam(en), .threads = en->ops->workers(en->dev)};
}

static bool is_known_well(struct engine *en, struct sched_prog *p, int beam) {
    const struct tuned *known = find(en, p);
    return known && known->beam >= beam && env_int(ENV_TUNED);
}

/* ---- all kernels of a plan ----------------------------------------------------------------------------------------- */

/* Rendered candidates of a search to come. */
struct prepared {
    struct tune t;
    struct search_trial *x; /* their arenas hold the texts */
    struct etext *text;
    uint32_t n, texts;
};

static void prepare_one(void *arg) {
    struct prepared *p = arg;
    begin(&p->t);
    choose(&p->t, p->t.job->opts, lists_of(&p->t));
    uint32_t n = p->t.cand.n - 1;
    p->text = arena_array(&p->t.arena, struct etext, n + 1);
    p->texts = render_all(&p->t, 1, n + 1, &p->x, p->text);
    p->n = n;
}

/* One kernel per worker. A failure leaves no texts; its search will report it. */
static void prepare_some(void *arg, uint32_t from, uint32_t to, int worker) {
    struct prepared *all = arg;
    (void)worker;
    for (uint32_t i = from; i < to; i++) {
        arena_init(&all[i].t.arena, &all[i].t.err);
        err_guard(&all[i].t.err, prepare_one, &all[i]);
    }
}

/* Keeps the candidates for the search to come. */
static void keep_lists(struct arena *a, const struct tune *t, struct tune_job *job) {
    struct tuned_row *row = arena_array(a, struct tuned_row, t->cand.n + 1);
    job->list = row;
    for (uint32_t i = 1; i < t->cand.n; i++, job->nlist++) {
        const struct candidate *c = &t->cand.p[i];
        row[i - 1] =
            (struct tuned_row){.opts = arena_strdup(a, c->opts, strlen(c->opts)), .predicted = c->predicted};
    }
}

static void compile_prepared(struct engine *en, struct arena *a, const struct prepared *all, uint32_t n) {
    VEC(struct etext) text = {0};
    struct err e = {0};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < all[i].texts; k++) vec_push(a, &text, all[i].text[k]);
    const struct ekernel **k = arena_array(a, const struct ekernel *, text.n + 1);
    if (text.n && engine_compile_text(en, &e, text.p, text.n, k))
        log_line(1, "search: %s", e.msg); /* each search compiles its own then */
}

struct prepare_call {
    struct engine *en;
    struct arena *arena;
    struct tune_job *job;
    struct prepared *all;
    uint32_t n, made;
};

static void prepare(void *arg) {
    struct prepare_call *c = arg;
    uint64_t t0 = os_now_ns();
    uint32_t *of = arena_array(c->arena, uint32_t, c->n + 1), n = 0, texts = 0;
    struct prepared *all = arena_array(c->arena, struct prepared, c->n + 1);
    for (uint32_t i = 0; i < c->n; i++) {
        struct tune t = tune_of(c->en, &c->job[i]);
        if (!is_known_well(c->en, t.job->p, t.beam)) all[n].t = t, of[n++] = i;
    }
    pool_run(pool_get(), prepare_some, all, n, 1);
    c->all = all, c->made = n;
    uint64_t t1 = os_now_ns();
    for (uint32_t i = 0; i < n; i++) keep_lists(c->arena, &all[i].t, &c->job[of[i]]), texts += all[i].texts;
    compile_prepared(c->en, c->arena, all, n);
    log_line(1, "search: %u lists for %u kernels, proposed in %.2f s, compiled in %.2f s", texts, n,
             (double)(t1 - t0) * 1e-9, (double)(os_now_ns() - t1) * 1e-9);
}

static void prepare_all(struct engine *en, struct arena *a, struct tune_job *job, uint32_t n) {
    struct prepare_call c = {en, a, job, NULL, n, 0};
    struct err e = {0}, *outer = a->err;
    if (en->ops->text == DEV_C) return; /* the second round depends on the first */
    a->err = &e;                        /* arenas are freed in either case */
    int code = err_guard(&e, prepare, &c);
    a->err = outer;
    for (uint32_t i = 0; i < c.made; i++) {
        for (uint32_t k = 0; k < c.all[i].n; k++) arena_free(&c.all[i].x[k].arena);
        arena_free(&c.all[i].t.arena);
    }
    if (code) log_line(1, "search: %s", e.msg);
}

static int search_job(struct engine *en, struct err *e, const struct tune_job *job,
                      const struct ekernel **best, const char **opts) {
    struct tune t = tune_of(en, job);
    *best = job->k, *opts = NULL;
    if (is_known_well(en, job->p, t.beam)) return 0;
    arena_init(&t.arena, &t.err);
    int code = err_guard(&t.err, search, &t);
    if (code) err_set(e, code, "%s", t.err.msg);
    if (!code) *best = t.cand.p[0].k;
    free_copies(&t);
    engine_list_free(t.list);
    arena_free(&t.arena);
    const struct tuned *found = *best != job->k ? find(en, job->p) : NULL;
    if (found) *opts = found->opts;
    return code;
}

static const struct tuner search_tuner = {
    .opts = known_opts, .prepare = prepare_all, .kernel = search_job, .end = trial_stop};

void search_attach(struct engine *en) { en->tuner = &search_tuner; }

struct engine *search_engine_open(struct err *e, const struct device_ops *ops) {
    struct engine *en = engine_open(e, ops);
    if (en) search_attach(en);
    return en;
}

/* ---- one kernel, without a plan ------------------------------------------------------------------------------------ */

struct tune_call {
    struct engine *en;
    const struct search_call *c;
    struct sched_prog *p;
    const struct tuned *out;
};

static void tune_guarded(void *arg) {
    struct tune_call *x = arg;
    const struct search_call *c = x->c;
    struct ir *ir = c->ir;
    struct err e = {0};
    const struct ekernel *best;
    const char *opts;
    struct str text;
    str_init(&text, ir->arena);
    ir_print(&text, ir, c->kernel->sink);
    *x->p = (struct sched_prog){
        .ir = ir, .kernel = *c->kernel, .nbuf = c->nbuf, .nvar = c->nvar, .text = text.p, .share = 1};
    uint32_t *same = arena_array(ir->arena, uint32_t, c->nbuf + 1);
    for (uint32_t i = 0; i < c->nbuf; i++)
        while (c->buf[same[i]] != c->buf[i]) same[i]++;
    struct tune_job job = {.p = x->p,
                           .opts = prog_heuristic(x->en, x->p),
                           .buf = c->buf,
                           .var = c->var,
                           .bytes = c->bytes,
                           .dt = c->dt,
                           .use = prog_uses(ir->arena, x->p),
                           .same = same};
    if (plans_model(x->en, &e)) err_throw(ir->err, e.code, "%s", e.msg);
    if (search_job(x->en, &e, &job, &best, &opts)) err_throw(ir->err, e.code, "%s", e.msg);
    x->out = find(x->en, x->p);
}

int search_kernel(struct engine *en, struct err *e, const struct search_call *c, const struct tuned **out) {
    struct sched_prog p;
    struct tune_call x = {en, c, &p, NULL};
    struct err *inner = c->ir->err;
    *out = NULL;
    if (!engine_can_search(en))
        return err_set(e, RG_EUNSUPPORTED, "device %s runs nothing: there is nothing to search for",
                       en->ops->name);
    search_attach(en);
    int code = err_guard(inner, tune_guarded, &x);
    *out = x.out;
    return code && e != inner ? err_set(e, code, "%s", inner->msg) : code;
}
