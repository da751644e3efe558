/* advice.c: why a Ridge program loses time, what to change, and the most that this can bring.
 *
 * Host causes come from the budget, whose pieces name the user's call they belong to. Causes inside kernels are distinguished
 * by what the profile knows of each kernel: strides, redundant work, sizes. A kernel counts for one cause. Advice is a line of
 * code or a setting; the gain is an upper bound, and `how` says where the number comes from. Causes are reported from 2 % of
 * the wall time on.
 * Tests: tests/unit/advice.c, tests/unit/profile.c, tests/cli/planted.sh (programs with one planted fault each); measured
 * before and after the advice was taken: bench/timed/planted.sh */
#include "analyze/internal.h"

#include <stdlib.h>

#define REPORTED 0.02    /* of the wall time: smaller causes are not reported */
#define GOOD_ROOF 0.6    /* of the roofline: such a kernel is left alone */
#define GEMM_ROOF 0.7    /* of the roofline: what aligned GEMMs reach */
#define STRIDED 2.0      /* bytes of cache lines by bytes of elements: strided accesses */
#define SMALL_NS 10000.0 /* a tiny kernel */
#define READ_EVERY 20    /* steps between two reads, if the advice is taken */
#define GROWS 0.1        /* of the peak, in one recording: a leak is the first thing to mend */

static void add(struct diag *d, int id, int64_t lost, int64_t gain, const char *how, const char *where,
                const char *signal, const char *fix) {
    struct cause c = {.id = id,
                      .lost_ns = lost,
                      .gain_ns = RG_MIN(RG_MAX(gain, 0), lost),
                      .how = how,
                      .where = where,
                      .signal = signal,
                      .fix = fix};
    vec_push(&d->arena, &d->causes, c);
}

static bool worth(const struct diag *d, int64_t lost) {
    return lost > 0 && (double)lost >= REPORTED * (double)d->steady.wall_ns;
}

static double ms(int64_t ns) { return (double)ns / 1e6; }

/* ---- pieces of the budget ----------------------------------------------------------------------------------- */

/* Calls that compute; the others build graph. */
static bool computes(const char *call) {
    static const char *const of[] = {"rg_realize", "rg_realize_all", "rg_read",      "rg_item",
                                     "rg_wait",    "rg_jit_call",    "rg_read_async"};
    for (size_t i = 0; i < RG_COUNT(of); i++)
        if (!strcmp(call, of[i])) return true;
    return false;
}

enum idle_side { PIECE_ALL, PIECE_BUILD, PIECE_DISPATCH, PIECE_IN, PIECE_OUT };

static bool piece_is(const struct diag *d, const struct idle_piece *p, enum idle_side which) {
    const struct trace_event *e = p->ev ? &d->t->ev[p->ev - 1] : NULL;
    if (which == PIECE_ALL || !e) return which == PIECE_ALL;
    bool builds = e->kind == TK_OP && !computes(trace_str(d->t, e->name));
    bool out = (e->kind == TK_COPY || e->kind == TK_API) && e->flags & TF_D2H;
    switch (which) {
    case PIECE_BUILD: return builds;
    case PIECE_DISPATCH: return !builds;
    case PIECE_OUT: return out;
    default: return !out;
    }
}

static int64_t time_of(const struct diag *d, int budget, enum idle_side which) {
    int64_t ns = 0;
    for (uint32_t i = 0; i < d->idle_n; i++)
        if (d->idle[i].cause == budget && piece_is(d, &d->idle[i], which))
            ns += ridge_steady_of(d, d->idle[i].t0, d->idle[i].t1);
    return ns;
}

/* The user's line with most of this time, and the Ridge function it calls. */
static const char *line_of(struct diag *d, int budget, enum idle_side which) {
    struct trace *t = d->t;
    struct map sum;
    uint64_t best = 0;
    uint32_t ev = 0;
    map_init(&sum, &d->arena);
    for (uint32_t i = 0; i < d->idle_n; i++) {
        const struct idle_piece *p = &d->idle[i];
        int64_t ns = p->cause == budget ? ridge_steady_of(d, p->t0, p->t1) : 0;
        uint32_t x = ns && piece_is(d, p, which) ? p->ev : 0;
        while (x && !(t->ev[x - 1].kind == TK_OP && t->ev[x - 1].args)) x = t->ev[x - 1].link;
        if (!x) continue;
        uint64_t key = (uint64_t)t->ev[x - 1].args << 32 | t->ev[x - 1].name, v = 0;
        map_get(&sum, key, &v);
        v += (uint64_t)ns;
        map_put(&sum, key, v);
        if (v > best) best = v, ev = x;
    }
    if (!ev) return "";
    return arena_printf(&d->arena, "%s, %s", trace_str(t, t->ev[ev - 1].args),
                        trace_str(t, t->ev[ev - 1].name));
}

static bool judged(const struct diag *d, const struct trace_event *e) {
    return ridge_steady_of(d, e->t0, e->t0 + 1) > 0;
}

static uint32_t count_kind(const struct diag *d, int kind, uint8_t flags) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++)
        n += d->t->ev[i].kind == kind && (!flags || d->t->ev[i].flags & flags) && judged(d, &d->t->ev[i]);
    return n;
}

/* Programs that ran. Where the device notes its copies itself, the calls that asked for one are of the same kind. */
static uint32_t count_runs(const struct diag *d, uint8_t flags) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++) {
        const struct trace_event *e = &d->t->ev[i];
        bool run = e->kind == TK_API && !(e->flags & (TF_H2D | TF_D2H | TF_D2D));
        n += run && (!flags || e->flags & flags) && judged(d, e);
    }
    return n;
}

/* ---- the host ------------------------------------------------------------------------------------------------- */

static uint32_t compiler_runs(const struct diag *d) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->t->n; i++) {
        const char *name = trace_str(d->t, d->t->ev[i].name);
        n += d->t->ev[i].kind == TK_COMPILE && strcmp(name, "cache") && strcmp(name, "compile") &&
             judged(d, &d->t->ev[i]);
    }
    return n;
}

static void compiling(struct diag *d) {
    int64_t lost = d->steady.budget[BUDGET_COMPILE];
    uint32_t runs = compiler_runs(d);
    const char *where = line_of(d, BUDGET_COMPILE, PIECE_ALL);
    if (worth(d, lost) && runs)
        add(d, CAUSE_COMPILE, lost, lost, "its own time", where,
            arena_printf(&d->arena,
                         "kernels that are not in the cache on disk yet are compiled (%u compiler runs)",
                         runs),
            "run it again: a second start compiles nothing. A number that changes belongs into rg_scalar or "
            "rg_index");
    else if (worth(d, lost))
        add(d, CAUSE_COMPILE, lost, lost, "its own time", where,
            "compiled kernels are taken from the cache on disk",
            "once per start of the program: record more steps, or leave the first ones out: "
            "rg_profile_start(c, file, .wait = 2)");
}

/* A program that is planned again and again has something in it that changes. */
static void planning(struct diag *d) {
    int64_t lost = d->steady.budget[BUDGET_PLAN];
    uint32_t runs = count_runs(d, 0), planned = count_runs(d, TF_PLANNED);
    bool again = planned > 8 && planned * 2 > runs;
    if (!worth(d, lost)) return;
    add(d, CAUSE_PLAN, lost, again ? lost - lost / planned : lost,
        again ? "its own time, but for the first" : "its own time", line_of(d, BUDGET_PLAN, PIECE_ALL),
        arena_printf(&d->arena, "%u of %u programs that ran were new, and were planned and lowered", planned,
                     runs),
        again ? "give every step the same shapes (rg_pad the last batch, or leave it out); numbers that "
                "change as "
                "rg_scalar or rg_index"
              : "once per program and start: record more steps, or leave the first ones out: "
                "rg_profile_start(c, file, .wait = 2)");
}

/* Kernels under 10 us hold at least half of the kernel time. */
static bool mostly_small(const struct diag *d) {
    double small = 0, all = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        double each = ridge_kernel_ns(d, &d->kernels.p[i]), ns = each * d->kernels.p[i].steady;
        all += ns;
        if (each < SMALL_NS) small += ns;
    }
    return all > 0 && small * 2 >= all;
}

static void dispatching(struct diag *d) {
    int64_t build = time_of(d, BUDGET_DISPATCH, PIECE_BUILD), all = d->steady.budget[BUDGET_DISPATCH],
            rest = all - build;
    uint32_t runs = count_runs(d, 0), replays = count_runs(d, TF_GRAPH);
    uint64_t kernels = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) kernels += d->kernels.p[i].steady;
    double n = (double)RG_MAX(kernels, 1u);
    bool replayed = replays * 2 > runs, small = mostly_small(d);
    const char *jit = "record the step: rg_jit *j = rg_jit_new(c, step, user, outputs); then rg_jit_call(j, "
                      "in, out) in each",
               *batch = "more work in each kernel: a larger batch; `ridge explore overhead` shows from where "
                        "on time follows it";
    const char *each =
        arena_printf(&d->arena,
                     "%.2f us of graph building, %.2f us of finding plans and binding for each of %llu "
                     "kernels, which take %.1f us each",
                     (double)build / 1e3 / n, (double)rest / 1e3 / n, (unsigned long long)kernels,
                     (double)d->steady.budget[BUDGET_KERNELS] / 1e3 / n);
    if (small) {
        if (worth(d, all))
            add(d, CAUSE_SMALL, all, all, "time outside of kernels", line_of(d, BUDGET_DISPATCH, PIECE_ALL),
                each, replayed ? batch : jit);
        return;
    }
    if (!replayed) { /* one cure for both */
        bool building = build > rest;
        if (worth(d, all))
            add(d, building ? CAUSE_BUILD : CAUSE_DISPATCH, all, all, "time outside of kernels",
                line_of(d, BUDGET_DISPATCH, building ? PIECE_BUILD : PIECE_DISPATCH), each, jit);
        return;
    }
    if (worth(d, build))
        add(d, CAUSE_BUILD, build, build, "its own time", line_of(d, BUDGET_DISPATCH, PIECE_BUILD), each,
            jit);
    if (worth(d, rest))
        add(d, CAUSE_DISPATCH, rest, rest, "its own time", line_of(d, BUDGET_DISPATCH, PIECE_DISPATCH), each,
            batch);
}

/* Copies in one direction that were asked for: how many, how many bytes. */
static double copied(const struct diag *d, bool out, uint32_t *n) {
    double bytes = 0;
    for (uint32_t i = 0; i < d->t->n; i++) {
        const struct trace_event *e = &d->t->ev[i];
        bool copy = e->kind == (d->t->async ? TK_API : TK_COPY) && e->flags & (TF_H2D | TF_D2H | TF_D2D) &&
                    judged(d, e);
        const struct trace_copy_args *c = copy ? trace_blob(d->t, e->args, sizeof *c) : NULL;
        if (c && out == !!(e->flags & TF_D2H)) bytes += (double)c->bytes, ++*n;
    }
    return bytes;
}

static void copying(struct diag *d) {
    uint32_t in = 0, out = 0;
    double in_bytes = copied(d, false, &in), out_bytes = copied(d, true, &out);
    int64_t lost = time_of(d, BUDGET_EXPOSED, PIECE_IN);
    if (worth(d, lost))
        add(d, CAUSE_EXPOSED, lost, lost, "the copies' own time", line_of(d, BUDGET_EXPOSED, PIECE_IN),
            arena_printf(&d->arena, "%u copies to the device of %.1f MB in all, %.2f ms each", in,
                         in_bytes / 1e6, ms(lost) / RG_MAX(in, 1u)),
            "copy once: rg_from before the steps, then rg_take(data, 0, pick) or rg_slice with RG_WINDOW(at, "
            "batch) in each; rg_loader copies ahead");
    int64_t read = time_of(d, BUDGET_EXPOSED, PIECE_OUT);
    lost = d->steady.budget[BUDGET_SYNC] + read;
    if (worth(d, lost))
        add(d, CAUSE_SYNC, lost, lost - lost / READ_EVERY, "waits and copies to the host, but for every 20th",
            read > d->steady.budget[BUDGET_SYNC] ? line_of(d, BUDGET_EXPOSED, PIECE_OUT)
                                                 : line_of(d, BUDGET_SYNC, PIECE_ALL),
            arena_printf(&d->arena, "%u waits for the device, %u reads of %.1f MB in all",
                         count_kind(d, TK_SYNC, 0), out, out_bytes / 1e6),
            "read every 20 steps only: if (i % 20 == 0) rg_read(..); or rg_read_async and one rg_wait; read "
            "a sum, not the tensor");
}

static void outside(struct diag *d) {
    int64_t lost = d->steady.budget[BUDGET_LOADER];
    if (worth(d, lost))
        add(d, CAUSE_LOADER, lost, lost, "its own time", line_of(d, BUDGET_LOADER, PIECE_ALL),
            "files are read or written, or a batch is waited for",
            "load once, before the steps; let rg_loader prepare batches in its thread; save less often");
    lost = d->steady.budget[BUDGET_USER];
    if (worth(d, lost))
        add(d, CAUSE_USER, lost, lost, "time outside of all calls", "",
            "your own code between the calls of Ridge, while nothing is computed",
            "load and prepare data with rg_loader (another thread); log less often");
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* A GEMM axis that is no multiple of the vector length, from the kernel's name "r_31_256_512"; 0: none. */
static int64_t odd_axis(const char *name) {
    int64_t worst = 0;
    double waste = 1;
    for (const char *s = name; (s = strchr(s, '_'));) {
        int64_t n = strtoll(++s, NULL, 10), up = (n + 7) & ~7ll;
        if (n >= 5 && n < 4096 && n % 4 && (double)up / (double)n >= waste)
            worst = n, waste = (double)up / (double)n;
    }
    return worst;
}

enum inside { IN_LAYOUT, IN_SHAPE, IN_SMALL, IN_ROOF, INSIDE };

struct kernel_gap { /* of all kernels with one cause */
    int64_t lost, gain, worst;
    const struct kernel_row *top;
    int64_t axis;
};

/* What a kernel loses against its roof, why, and how much of that the advice can bring. */
static enum inside gap_of(const struct diag *d, const struct kernel_row *k, double over, double *gain,
                          int64_t *axis) {
    const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
    bool known = a && a->known & 16;
    *gain = over;
    if (known && k->bytes > 0 && (double)a->lines >= STRIDED * k->bytes && k->cls > KC_ATTENTION) {
        *gain = RG_MIN(over, (1 - k->bytes / (double)a->lines) * (double)k->ns);
        return IN_LAYOUT;
    }
    *axis = k->cls == KC_GEMM ? odd_axis(trace_str(d->t, k->name)) : 0;
    double even = *axis ? k->roof / GEMM_ROOF * (double)((*axis + 7) & ~7ll) / (double)*axis : 1;
    if (*axis && even < 0.95 && k->bound != BOUND_LATENCY) {
        *gain = RG_MIN(over, (1 - even) * (double)k->ns);
        return IN_SHAPE;
    }
    return k->bound == BOUND_LATENCY ? IN_SMALL : IN_ROOF;
}

static void tell_gap(struct diag *d, enum inside what, const struct kernel_gap *g) {
    const char *name = trace_str(d->t, g->top->name), *where = trace_str(d->t, g->top->where);
    const char *it = arena_printf(&d->arena, "%.40s, %.2f ms at %.0f%% of its roof", name, ms(g->top->ns),
                                  100 * g->top->roof);
    const struct trace_kernel_args *a = trace_blob(d->t, g->top->args, sizeof *a);
    switch (what) {
    case IN_LAYOUT:
        add(d, CAUSE_LAYOUT, g->lost, g->gain, "bytes used by bytes of their cache lines", where,
            arena_printf(&d->arena, "strided accesses: %s; %.0f times the bytes it uses are moved", it,
                         (double)a->lines / RG_MAX(g->top->bytes, 1)),
            "make it contiguous once, before the steps: y = rg_contiguous(rg_slice(x, ..)), and use y; or "
            "store x transposed");
        return;
    case IN_SHAPE:
        add(d, CAUSE_ALIGNMENT, g->lost, g->gain, "against 70% of the roof, with the padding", where,
            arena_printf(&d->arena, "a GEMM whose size %lld is no multiple of the vector length: %s",
                         (long long)g->axis, it),
            arena_printf(&d->arena,
                         "make it %lld: a batch or layer of that size, or rg_pad(x, RG_SHAPE(0, %lld, ..), "
                         "0); `ridge explore shapes` measures others",
                         (long long)((g->axis + 7) & ~7ll), (long long)(((g->axis + 7) & ~7ll) - g->axis)));
        return;
    case IN_SMALL:
        add(d, CAUSE_TINY, g->lost, g->gain, "against the time to start them", where,
            arena_printf(&d->arena, "kernels with too little work; the dearest: %s", it),
            "a larger batch, or values computed together (rg_realize_all); `ridge explore overhead` shows "
            "from where on time follows");
        return;
    default:
        add(d, CAUSE_ROOF, g->lost, g->gain, "against the machine model", where,
            arena_printf(&d->arena, "kernels under %.0f%% of their roof; the largest gap: %s (%s)",
                         100 * GOOD_ROOF, it,
                         g->top->why && *g->top->why ? g->top->why : trace_str(d->t, g->top->limit)),
            ridge_contended(d) ? "the machine was shared: measure again when it is quiet; then BEAM=4, which "
                                 "searches for faster forms"
                               : "BEAM=4 PROGRAM (or ridge tune -- PROGRAM) searches for faster forms and "
                                 "keeps them; `ridge kernels` shows what it is");
    }
}

/* Kernels far from what the machine allows, each for one cause, named by the worst. */
static void below_roof(struct diag *d) {
    struct kernel_gap gap[INSIDE] = {0};
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        int64_t over = (int64_t)(ridge_kernel_ns(d, k) * k->steady * (1 - k->roof)), axis = 0;
        double gain;
        if (!k->modelled || k->roof >= GOOD_ROOF) continue;
        struct kernel_gap *g = &gap[gap_of(d, k, (double)over, &gain, &axis)];
        g->lost += over;
        g->gain += (int64_t)gain;
        if (over > g->worst) g->worst = over, g->top = k, g->axis = axis;
    }
    for (int i = 0; i < INSIDE; i++) {
        gap[i].lost = RG_MIN(gap[i].lost, d->steady.budget[BUDGET_KERNELS]);
        if (worth(d, gap[i].lost)) tell_gap(d, (enum inside)i, &gap[i]);
    }
}

/* ---- the rest ----------------------------------------------------------------------------------------------------- */

static void machine(struct diag *d) {
    if (!ridge_contended(d)) return;
    const char *why = arena_printf(&d->arena,
                                   "other programs had the machine: this one got %.1f cores on average; "
                                   "kernels are judged by their fastest call",
                                   (double)d->t->cpu_ns / (double)RG_MAX(d->wall_ns, 1));
    vec_push(&d->arena, &d->capture, ((struct note){"contended", why, "record again when it is quiet"}));
}

/* It costs no time until there is no memory left: first where it grew much, else a note. */
static void growth(struct diag *d) {
    double grown = (double)d->mem_growth_step * (double)RG_MAX(d->steps.n, 1u), peak = (double)d->mem_peak;
    if (!d->mem_leak || grown > 1.5 * peak) return; /* more than there ever was: freed a step later */
    const char *where = d->owners.n ? trace_str(d->t, d->owners.p[0].where) : "";
    add(d, CAUSE_GROWTH, 0, 0, "", where,
        arena_printf(&d->arena, "device memory grows by %.1f MB per step", (double)d->mem_growth_step / 1e6),
        "end the scope of each step: RG_SCOPE(c); at its beginning, and rg_keep what must live longer; "
        "rg_free what is no longer needed");
    struct cause *c = &d->causes.p[d->causes.n - 1];
    c->first = grown >= GROWS * peak;
    c->note = !c->first;
}

/* Why a gain is no more, and what would confirm it before the program is changed. */
/* clang-format off */
static const struct {
    int id;
    const char *bound, *confirm;
} evidence[] = {
    {CAUSE_SMALL,     "the time outside of kernels; kernels stay as they are", "twice the batch: if a step takes as long, the host is the limit"},
    {CAUSE_BUILD,     "the time outside of kernels; kernels stay as they are", "`ridge diff --skip 2` of a recording with rg_jit_call"},
    {CAUSE_DISPATCH,  "the time outside of kernels; kernels stay as they are", "twice the batch: if a step takes as long, the host is the limit"},
    {CAUSE_SYNC,      "waits and copies to the host, but for every 20th", "leave the read out and time the steps"},
    {CAUSE_EXPOSED,   "the copies' own time", "use one batch that is on the device in every step"},
    {CAUSE_LOADER,    "the time in files and batches", "use one batch that is in memory in every step"},
    {CAUSE_USER,      "the time outside of all calls", "perf record, or leave that code out and time the steps"},
    {CAUSE_COMPILE,   "the time of the compiler in the steps", "run it again: `ridge diff` of both recordings"},
    {CAUSE_PLAN,      "the time of planning in the steps", "DEBUG=1: `cache hit` in every step"},
    {CAUSE_LAYOUT,    "bytes used by bytes moved, and never below the roof", "`ridge report --roof`: x asked of that kernel"},
    {CAUSE_ALIGNMENT, "against 70 % of the roof, which aligned GEMMs reach", "`ridge explore shapes --from N --to M`"},
    {CAUSE_ROOF,      "kernels at their roof, which few reach", "BEAM=4 and `ridge diff`"},
    {CAUSE_TINY,      "the time above the roof; starting a kernel stays", "`ridge explore overhead`"},
    {CAUSE_SHARED,    "the time slices of the other process", "`ridge top`: no other program on that GPU"},
    {CAUSE_GROWTH,    "it costs the program when memory is full", "`ridge report --memory`: what grows"},
};
/* clang-format on */

static void add_evidence(struct diag *d) {
    for (uint32_t i = 0; i < d->causes.n; i++)
        for (size_t k = 0; k < RG_COUNT(evidence); k++)
            if (evidence[k].id == d->causes.p[i].id)
                d->causes.p[i].bound = evidence[k].bound, d->causes.p[i].confirm = evidence[k].confirm;
}

static void shared(struct diag *d) {
    int64_t lost = d->steady.budget[BUDGET_QUEUED];
    if (!worth(d, lost)) return;
    add(d, CAUSE_SHARED, lost, lost, "time slices of about 2 ms in which no kernel begins or ends", "",
        arena_printf(
            &d->arena,
            "another process has the GPU %u times while kernels are under way, %.1f ms of the steps; "
            "the times of single kernels hold its time slices",
            d->slices, (double)lost / 1e6),
        "record again while nothing else runs on the GPU (nvidia-smi, ridge top)");
}

void ridge_causes(struct diag *d) {
    ridge_phase_kernels(d);
    shared(d);
    compiling(d);
    planning(d);
    dispatching(d);
    copying(d);
    outside(d);
    below_roof(d);
    machine(d);
    growth(d);
    add_evidence(d);
}
