/* cpu.c: a program without a device: its operators are the work, and its time is told in their words.
 *
 * Every operator counts with its own time, without those inside it: rows of operators with their shapes, FLOPs and bytes, as kernels
 * have them. Time between operators is Python's and the dispatcher's; what threads do inside of an operator no trace says.
 * Tests: tests/unit/foreign_cpu.c */
#include "analyze/internal.h"

#include <stdlib.h>

enum {
    SMALL_OP_NS = 20000,     /* mean own time of operators that are dominated by their dispatch */
    CHAIN_BYTES = 1 << 20,   /* of an operator's traffic, for fusion to matter */
    MAPPED_BYTES = 32 << 20, /* glibc: DEFAULT_MMAP_THRESHOLD_MAX */
    PAGE_BYTES = 4096,
};
#define FAULT_NS 120.0  /* a page faulted in and cleared, with several threads at it */
#define WIDE_SHARE 0.15 /* of the wall time */

/* clang-format off */
static const struct {
    const char *text;
    uint8_t cls;
} op_classes[] = {
    /* part of an operator's name    class   (the first that occurs wins) */
    {"scaled_dot_product", KC_ATTENTION}, {"attention", KC_ATTENTION}, {"conv", KC_CONV},
    {"addmm", KC_GEMM},  {"::mm", KC_GEMM},     {"bmm", KC_GEMM},    {"linear", KC_GEMM}, {"matmul", KC_GEMM},
    {"::dot", KC_GEMM},  {"::mv", KC_GEMM},     {"addmv", KC_GEMM},  {"lstm", KC_GEMM},   {"gru", KC_GEMM},
    {"norm", KC_NORM},   {"softmax", KC_NORM},  {"::sum", KC_REDUCE}, {"::mean", KC_REDUCE},
    {"::max", KC_REDUCE}, {"::min", KC_REDUCE}, {"argm", KC_REDUCE}, {"pool", KC_REDUCE}, {"cumsum", KC_REDUCE},
    {"sort", KC_REDUCE}, {"topk", KC_REDUCE},   {"contiguous", KC_LAYOUT}, {"copy_", KC_COPY}, {"clone", KC_COPY},
    {"cat", KC_COPY},    {"_to_copy", KC_COPY},
};
/* clang-format on */

static int class_of_op(const char *name) {
    for (size_t i = 0; i < RG_COUNT(op_classes); i++)
        if (strstr(name, op_classes[i].text)) return op_classes[i].cls;
    return strncmp(name, "aten::", 6) ? KC_OTHER : KC_ELEMENTWISE;
}

/* Views move nothing. */
static bool is_view(const char *name) {
    static const char *const views[] = {
        "aten::as_strided",   "aten::view",        "aten::_unsafe_view",   "aten::expand",
        "aten::permute",      "aten::t",           "aten::transpose",      "aten::slice",
        "aten::select",       "aten::narrow",      "aten::unsqueeze",      "aten::squeeze",
        "aten::detach",       "aten::alias",       "aten::_reshape_alias", "aten::unbind",
        "aten::resolve_conj", "aten::resolve_neg", "aten::empty",          "aten::empty_strided"};
    for (size_t i = 0; i < RG_COUNT(views); i++)
        if (!strcmp(name, views[i])) return true;
    return false;
}

static uint32_t op_around(const struct trace *t, uint32_t x) {
    for (uint32_t k = 0; x && k < 64; x = t->ev[x - 1].link, k++)
        if (t->ev[x - 1].kind == TK_OP) return x;
    return 0;
}

/* Own time of every operator: without those inside it. */
static int64_t *own_times(struct diag *d) {
    const struct trace *t = d->t;
    int64_t *own = arena_array(&d->arena, int64_t, t->n + 1);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->ev[i].kind != TK_OP) continue;
        own[i] += t->ev[i].dur;
        uint32_t up = op_around(t, t->ev[i].link);
        if (up) own[up - 1] -= t->ev[i].dur;
    }
    return own;
}

void cpu_rows(struct diag *d) {
    const struct trace *t = d->t;
    struct map at;
    map_init(&at, &d->arena);
    int64_t *own = own_times(d), *whole = arena_array(&d->arena, int64_t, t->n + 1); /* whole: by row */
    d->op_row = arena_array(&d->arena, uint32_t, t->n + 1);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (e->kind != TK_OP || e->t0 >= d->w1 || trace_end(e) <= d->w0) continue;
        uint64_t key = (uint64_t)e->name << 32 | e->args, x;
        if (!map_get(&at, key, &x)) {
            x = d->kernels.n;
            struct kernel_row row = {
                .id = (uint32_t)x, .name = e->name, .op = e->name, .shape = e->args, .min_ns = INT64_MAX};
            row.cls = (uint8_t)class_of_op(trace_str(t, e->name));
            row.where = user_line(d, i + 1);
            row.wrapper = is_view(trace_str(t, e->name));
            vec_push(&d->arena, &d->kernels, row);
            map_put(&at, key, x);
        }
        struct kernel_row *k = &d->kernels.p[x];
        int64_t ns = RG_MAX(own[i], 0);
        whole[x] += e->dur;
        k->count++;
        k->ns += ns;
        k->min_ns = RG_MIN(k->min_ns, ns);
        k->max_ns = RG_MAX(k->max_ns, ns);
        d->op_row[i] = k->id + 1;
        d->kernel_count++;
        if (ns < SMALL_OP_NS / 2) d->small_count++, d->small_ns += ns, k->small_ns += ns;
    }
    for (uint32_t i = 0; i < d->kernels.n; i++) /* most of it is in other operators */
        d->kernels.p[i].wrapper |= d->kernels.p[i].ns < whole[i] / 2;
}

/* ---- causes ------------------------------------------------------------------------------------------- */

/* Of calls that are longer than small ones: what is more than any core needs for their arithmetic and bytes. A product of
 * 64^3 that takes 26 us prepares for 10 of them. */
static int64_t fixed_costs(const struct diag *d) {
    double lost = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (!k->modelled || !k->count || k->ns / k->count >= CPU_FIXED_OP_NS) continue;
        double least = RG_MAX(k->flops / MODEL_ANY_CORE_FLOPS, k->bytes / MODEL_ANY_CORE_BYTES) * 1e9;
        lost += RG_MAX((double)(k->ns - k->small_ns) - least * k->count, 0);
    }
    return (int64_t)lost;
}

static void between_operators(struct diag *d) {
    int64_t lost = d->budget[BUDGET_DISPATCH], own = 0;
    uint64_t n = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) own += d->kernels.p[i].ns, n += d->kernels.p[i].count;
    bool small = n && own / (int64_t)n < SMALL_OP_NS;
    if (small) lost = RG_MIN(lost + d->small_ns + fixed_costs(d), d->wall_ns);
    if (!cause_worth(d, lost)) return;
    struct cause *c = cause_add(
        d, small ? CAUSE_SMALL : CAUSE_DISPATCH, lost, lost, cause_line(d, BUDGET_DISPATCH),
        arena_printf(
            &d->arena,
            "%llu operators of %.1f us each on average, %llu of them under %d us; %.1f ms between operators",
            (unsigned long long)n, n ? (double)own / 1e3 / (double)n : 0.0,
            (unsigned long long)d->small_count, SMALL_OP_NS / 2000, (double)d->budget[BUDGET_DISPATCH] / 1e6),
        small ? "torch.compile(model): one compiled loop instead of many small operators; larger batch"
              : "torch.compile(model), fewer Python lines between operators, larger batch");
    c->bound =
        small
            ? "the time between operators, that of operators under 10 us, and what others take beyond their "
              "arithmetic on one core"
            : "the time between operators";
    c->confirm =
        "a larger batch: if the step's time hardly changes, the calls and not the arithmetic are the limit";
}

struct cpu_chain {
    int64_t lost;
    uint32_t pairs, row; /* row: 1 + the most expensive second operator */
};

/* Operators next to one another in time on one thread that pass a value of one size. */
static struct cpu_chain find_chains(const struct diag *d) {
    const struct trace *t = d->t;
    struct cpu_chain c = {0};
    int64_t best = 0;
    for (uint32_t l = 0; l < t->lanes.n; l++) {
        uint32_t before = 0;
        for (uint32_t k = 0; k < t->lanes.p[l].n && t->lanes.p[l].kind == LANE_HOST; k++) {
            uint32_t row = d->op_row[t->order[t->lanes.p[l].first + k]];
            const struct kernel_row *b = row ? &d->kernels.p[row - 1] : NULL;
            if (!b || b->ns / RG_MAX(b->count, 1u) < SMALL_OP_NS / 2)
                continue; /* wrappers do nothing themselves */
            bool stream =
                b->modelled && b->bytes >= CHAIN_BYTES && (b->cls == KC_ELEMENTWISE || b->cls == KC_COPY);
            const struct kernel_row *a = before ? &d->kernels.p[before - 1] : NULL;
            before = stream ? row : 0;
            if (!a || !stream) continue;
            double ratio = a->bytes > b->bytes ? b->bytes / a->bytes : a->bytes / b->bytes;
            if (ratio <= 0.45) continue;
            int64_t one = a->ns / a->count, two = b->ns / b->count; /* the slower of them remains */
            c.lost += (int64_t)RG_MIN((ratio > 0.9 ? 0.5 : 1.0 / 3) * (double)(one + two),
                                      (double)RG_MIN(one, two));
            c.pairs++;
            if (b->ns > best) best = b->ns, c.row = row;
        }
    }
    return c;
}

static void chains(struct diag *d) {
    struct cpu_chain x = find_chains(d);
    if (!cause_worth(d, x.lost) || !x.row) return;
    const struct kernel_row *k = &d->kernels.p[x.row - 1];
    cause_add(d, CAUSE_TRAFFIC, x.lost, x.lost, trace_str(d->t, k->where ? k->where : k->op),
              arena_printf(&d->arena,
                           "%u neighbouring operators write and re-read a value of one size (%.1f MB each)",
                           x.pairs, k->bytes / 2e6),
              "torch.compile the function that holds the chain: one loop reads and writes once; or the "
              "operators that overwrite their argument (add_, mul_)");
}

struct cpu_attention {
    int64_t lost, freed, between,
        from;            /* between: of what follows a product that ended at `from` and is not closed yet */
    uint32_t count, row; /* row: 1 + that of the softmax */
    bool open, softmax;
};

/* Time of the program's own code between two moments. */
static int64_t own_code(const struct diag *d, int64_t a, int64_t b) {
    int64_t ns = 0;
    for (uint32_t i = 0; i < d->idle_n && d->idle[i].t0 < b; i++)
        if (d->idle[i].cause == BUDGET_USER)
            ns += RG_MAX(RG_MIN(d->idle[i].t1, b) - RG_MAX(d->idle[i].t0, a), 0);
    return ns;
}

/* Products close what is open; what only moves or maps the scores belongs to it, anything else ends it. Scores that are mapped anew are
 * unmapped between the operators, the last of them after the product. */
static void attention_step(const struct diag *d, struct cpu_attention *x, const struct trace_event *e,
                           uint32_t row) {
    const struct kernel_row *k = &d->kernels.p[row - 1];
    int64_t ns = k->ns / RG_MAX(k->count, 1u);
    if (k->cls == KC_GEMM) {
        if (x->open && x->softmax) {
            bool mapped = !d->mapped_ns && d->kernels.p[x->row - 1].bytes >= 2.0 * MAPPED_BYTES;
            int64_t freed = mapped ? own_code(d, x->from, e->t0) : 0;
            x->lost += x->between + freed, x->freed += freed, x->count++;
        }
        x->open = true, x->softmax = false, x->between = 0, x->from = trace_end(e);
    } else if (strstr(trace_str(d->t, k->name), "softmax")) {
        x->softmax = k->bytes >= CHAIN_BYTES, x->between += ns;
        if (x->softmax) x->row = row;
    } else if (k->cls == KC_ELEMENTWISE || k->cls == KC_COPY) {
        x->between += ns;
    } else {
        x->open = x->softmax = false;
    }
}

static void attention(struct diag *d) {
    const struct trace *t = d->t;
    struct cpu_attention x = {0};
    for (uint32_t l = 0; l < t->lanes.n; l++) {
        x.open = x.softmax = false;
        for (uint32_t k = 0; k < t->lanes.p[l].n && t->lanes.p[l].kind == LANE_HOST; k++) {
            uint32_t at = t->order[t->lanes.p[l].first + k], row = d->op_row[at];
            const struct kernel_row *r = row ? &d->kernels.p[row - 1] : NULL;
            if (r && !r->wrapper && r->ns / RG_MAX(r->count, 1u) >= SMALL_OP_NS / 2)
                attention_step(d, &x, &t->ev[at], row);
        }
    }
    if (!x.row || !cause_worth(d, x.lost)) return;
    const struct kernel_row *k = &d->kernels.p[x.row - 1];
    d->mapped_ns += x.freed;
    cause_add(
        d, CAUSE_TRAFFIC, x.lost, x.lost, trace_str(t, k->where ? k->where : k->op),
        arena_printf(&d->arena,
                     "%u times attention is two products with a softmax between them, and the scores "
                     "(%.1f MB) cross the memory several times%s",
                     x.count, k->bytes / 2e6,
                     x.freed ? arena_printf(&d->arena, "; freeing them takes %.1f ms", (double)x.freed / 1e6)
                             : ""),
        "torch.nn.functional.scaled_dot_product_attention: the scores stay in the caches")
        ->bound = "the time of the operators between the two products, and of freeing what they made";
}

static void elsewhere(struct diag *d) {
    int64_t lost = d->budget[BUDGET_LOADER];
    if (cause_worth(d, lost))
        cause_add(d, CAUSE_LOADER, lost, lost, cause_line(d, BUDGET_LOADER),
                  "the program waits for the next batch",
                  "DataLoader(num_workers=2 or more, persistent_workers=True, prefetch_factor=4); leave "
                  "cores to the workers "
                  "(torch.set_num_threads)");
    lost = d->budget[BUDGET_USER] - d->mapped_ns;
    if (cause_worth(d, lost))
        cause_add(d, CAUSE_USER, lost, lost, cause_line(d, BUDGET_USER),
                  "the program runs code that is neither an operator nor the loader",
                  "look at that code: Python loops, numpy, files, sleeps; with_stack=True names its lines")
            ->bound = "the time in that code";
    lost = d->budget[BUDGET_COMPILE];
    if (cause_worth(d, lost))
        cause_add(d, CAUSE_COMPILE, lost, lost, cause_line(d, BUDGET_COMPILE),
                  warmup_signal(d, "code is compiled inside the recorded steps"),
                  warmup_fix(d, "warm up before timing; mark_dynamic or pad shapes to stop recompiles "
                                "(TORCH_LOGS=recompiles)"));
    lost = d->budget[BUDGET_COMM];
    if (cause_worth(d, lost))
        cause_add(d, CAUSE_COMM, lost, lost, cause_line(d, BUDGET_COMM),
                  "collectives run while nothing is computed; waiting for other ranks is part of it",
                  "async_op=True and compute meanwhile; fewer and larger messages");
}

/* Twice as many elements of 32 bits as of 64 fit into a vector and into a cache. oneDNN has no convolutions of 64 bits: they run
 * unfolded, which costs at least as much again. */
static void wide_products(struct diag *d) {
    int64_t ns = 0, lost = 0, best = 0;
    const struct kernel_row *top = NULL;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->cls > KC_ATTENTION || k->unit != GPU_F64 || !k->flops) continue;
        ns += k->ns;
        lost += k->cls == KC_CONV ? k->ns / 4 * 3 : k->ns / 2;
        if (k->ns > best) best = k->ns, top = k;
    }
    if (!top || (double)lost < WIDE_SHARE * (double)d->wall_ns) return;
    struct cause *c =
        cause_add(d, CAUSE_PRECISION, lost, lost, trace_str(d->t, top->where ? top->where : top->op),
                  arena_printf(&d->arena, "products in fp64 take %.1f ms", (double)ns / 1e6),
                  "float32, where its digits are enough");
    c->bound = "vectors hold twice as many elements of 32 bits; convolutions have kernels of their own then";
}

/* Blocks above glibc's largest threshold are mapped when they are allocated and unmapped when they are freed: each page is faulted in
 * and cleared every time. Unmapping shows as time of the program outside of operators. */
static void mapped_blocks(struct diag *d) {
    const struct trace *t = d->t;
    int64_t bytes = 0, blocks = 0, unmapping = 0;
    for (uint32_t i = 0, at = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        const struct trace_copy_args *c =
            e->kind == TK_MEM && e->flags & TF_HOST ? trace_blob(t, e->args, sizeof *c) : NULL;
        if (!c || llabs(c->bytes) < MAPPED_BYTES || e->t0 < d->w0 || e->t0 >= d->w1) continue;
        if (!(e->flags & TF_FREE)) bytes += c->bytes, blocks++;
        while (at < d->idle_n && d->idle[at].t1 < e->t0) at++;
        if (at == d->idle_n || d->idle[at].t0 > e->t0 || d->idle[at].cause != BUDGET_USER) continue;
        unmapping += d->idle[at].t1 - d->idle[at].t0;
        at++; /* a piece counts once */
    }
    int64_t lost =
        unmapping + RG_MIN((int64_t)((double)bytes / PAGE_BYTES * FAULT_NS), d->wall_ns - unmapping);
    if (!blocks || !cause_worth(d, lost)) return;
    d->mapped_ns = unmapping;
    struct cause *c = cause_add(
        d, CAUSE_ALLOC, lost, lost, cause_line(d, BUDGET_USER),
        arena_printf(&d->arena,
                     "%lld blocks of %.1f MB on average are mapped anew; unmapping them takes %.1f ms",
                     (long long)blocks, (double)bytes / 1e6 / (double)blocks, (double)unmapping / 1e6),
        "write into tensors that stay (out=, add_, mul_); or an allocator that keeps large blocks "
        "(jemalloc or tcmalloc by LD_PRELOAD)");
    c->bound = "the time outside of operators in which blocks are freed, and 0.12 us for each page";
    c->confirm = "give the operators out=: the step is faster by the gain";
    c->how = "measured where blocks are freed, modelled by their pages";
}

void cpu_causes(struct diag *d) {
    between_operators(d);
    wide_products(d);
    mapped_blocks(d);
    cpu_layout(d);
    chains(d);
    attention(d);
    cpu_threads(d);
    elsewhere(d);
}
