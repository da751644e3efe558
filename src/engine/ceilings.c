/* ceilings.c: what this machine can do, measured: arithmetic by type, each level of memory, starting kernels.
 *
 * Small kernels go through the engine's own compiler and flags, so that what is measured is what generated code could
 * reach: chains of one instruction in registers (assembly from isa.def, because a compiler would choose for itself), and
 * loops of vector loads and stores over memory of a size that lives in one level.
 *
 * A ceiling is a maximum, and neighbours only ever take away from it. So each figure is the best of many short runs, each
 * far shorter than a slice of time that the system gives to someone else, each thread on a core of its own and all of them waiting
 * for each other before it; measuring ends when three runs agree with the best within two percent (and, with all cores, the best is what
 * they should reach together), or when its time is up. How far the median lies below the best is told as the spread: it says
 * how busy the machine was. Costs (launch, fork, wake) vary by themselves; one tenth of the runs is better than the figure.
 * Tests: tests/unit/ceilings.c */
#include "engine/internal.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define RUN_NS 150000.0   /* how long a run should take */
#define LEAST_NS 20000000 /* how long a figure is measured at least .. */
#define MOST_NS 500000000 /* .. and at most */
#define ALL_NS 6500000000 /* when this is over, the least has to do */
#define COST_NS 200000000 /* how long a cost is measured */
#define MOST_RUNS 2000
#define WINDOW ((size_t)4 << 20) /* bytes of memory that a thread reads in one run */

enum { MOST_UNITS = 64 }; /* rows of isa.def */

enum kind { READ, WRITE, COPY, KINDS };
enum level { L1, L2, L3, DRAM, LEVELS };
static const char *const kind_name[KINDS] = {"read", "write", "copy"};
static const char *const level_name[LEVELS] = {"L1", "L2", "L3", "memory"};

struct probe {
    struct engine *en;
    struct err *err;
    struct arena *arena;
    struct ceilings *out;
    const struct ekernel *unit[MOST_UNITS], *clock, *memory[KINDS], *one;
    struct pool *pool;
    int threads;
    struct busy_span *span;
    uint64_t end; /* of all measuring */
    struct engine_list *list;
    char *mem; /* for all levels */
    size_t size;
};

/* ---- kernels as text --------------------------------------------------------------------------------------------------- */

/* Registers 0 .. n-1 take sums; the two behind them are the factors. All are zero: no core adds zeroes more slowly, and
 * factors that are known to be zero cost no read port (two equal nonzero ones made the rate of one core vary by half).
 * AMX has 8 tiles: four sums keep its unit busy. */
static int sums(const struct isa_op *op) {
    enum { SPARE = 8, TILES = 4 };
    const struct isa *isa = isa_host();
    return op->tiles ? TILES : isa->regs - RG_MAX(isa->operands, SPARE * isa->regs / 32);
}

static void add_register(struct str *s, const struct isa_op *op, int i) {
    int bytes = os_cpu()->vec_bytes;
    if (!strcmp(op->arch, "aarch64"))
        str_printf(s, "v%d", i);
    else if (op->tiles)
        str_printf(s, "%%%%tmm%d", i);
    else
        str_printf(s, "%%%%%cmm%d", bytes == 64 ? 'z' : bytes == 32 ? 'y' : 'x', i);
}

/* One line of assembly as a C string. */
static void add_line(struct str *s, const struct isa_op *op, const char *text, int sum) {
    str_add(s, "    \"");
    for (; *text; text++)
        if (*text == '@')
            add_register(s, op, sum);
        else if (*text == '<' || *text == '>')
            add_register(s, op, sums(op) + (*text == '>'));
        else
            str_addc(s, *text);
    str_add(s, "\\n\"\n");
}

/* A loop of var[0] iterations, each with the instruction once per sum; with `chain` between them an addition that waits for the
 * one before it, one cycle each on every core. */
static void loop_text(struct str *s, const char *name, const struct isa_op *op, bool chain) {
    bool arm = !strcmp(op->arch, "aarch64");
    str_printf(s, "void %s(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {\n", name);
    str_add(s, "  i64 n = var[0], x = 1;\n");
    if (op->tiles) /* palette 1: all tiles of 16 rows of 64 bytes */
        str_add(s, "  struct { u8 palette, start, zero[14]; u16 bytes[16]; u8 rows[16]; } tile = {1};\n"
                   "  for (int i = 0; i < 8; i++) tile.bytes[i] = 64, tile.rows[i] = 16;\n"
                   "  __asm__ volatile(\"ldtilecfg %0\" : : \"m\"(tile));\n");
    str_add(s, "  __asm__ volatile(\n");
    const char *zero = arm ? "movi @.16b, #0" : op->tiles ? "tilezero @" : "vxorps @, @, @";
    for (int i = 0; i < sums(op) + 2; i++) add_line(s, op, zero, i);
    add_line(s, op, "1:", 0);
    for (int i = 0; i < sums(op); i++) {
        add_line(s, op, op->text, i);
        if (chain) add_line(s, op, arm ? "add %1, %1, %1" : "add %1, %1", 0);
    }
    add_line(s, op, arm ? "subs %0, %0, #1" : "sub $1, %0", 0);
    add_line(s, op, arm ? "b.ne 1b" : "jne 1b", 0);
    if (!arm) add_line(s, op, op->tiles ? "tilerelease" : "vzeroupper", 0);
    str_add(s, "    : \"+r\"(n), \"+r\"(x) : : \"cc\"");
    for (int i = 0; i < sums(op) + 2; i++) str_printf(s, arm ? ", \"v%d\"" : ", \"xmm%d\"", i);
    str_add(s, ");\n}\n");
}

/* var[0] bytes of buf[0] (a copy: to buf[1]), var[1] times over. Reading goes through four quarters side by side, because one
 * stream alone does not keep a core's prefetchers busy. Volatile: every vector is really loaded or stored. */
static void memory_text(struct str *s, enum kind kind) {
    int bytes = os_cpu()->vec_bytes;
    str_printf(s, "typedef f32 vec __attribute__((vector_size(%d), aligned(4), may_alias));\n", bytes);
    str_printf(s, "void memory_%s(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {\n",
               kind_name[kind]);
    str_add(s, "  i64 n = var[0], q = n / 4;\n  char *a = buf[0], *b = buf[1];\n  vec zero = {0};\n");
    str_add(s, "  for (i64 r = 0; r < var[1]; r++)\n");
    str_printf(s, "    for (i64 i = 0; i < %s; i += 256) {\n", kind == READ ? "q" : "n");
    for (int at = 0; at < 256; at += bytes)
        if (kind == READ)
            for (int k = 0; k < 4; k++)
                str_printf(s, "      (void)*(volatile vec *)(a + %d * q + i + %d);\n", k, at);
        else if (kind == WRITE)
            str_printf(s, "      *(volatile vec *)(a + i + %d) = zero;\n", at);
        else
            str_printf(s, "      *(volatile vec *)(b + i + %d) = *(volatile vec *)(a + i + %d);\n", at, at);
    str_add(s, "    }\n}\n");
}

static const char *text_of(struct probe *p, void (*write)(struct str *, int), int i) {
    struct str s;
    str_init(&s, p->arena);
    write(&s, i);
    return s.p;
}

static void unit_text(struct str *s, int i) {
    char name[24];
    snprintf(name, sizeof name, "unit_%d", i);
    loop_text(s, name, isa_op_at((size_t)i), false);
}
static void clock_text(struct str *s, int i) { loop_text(s, "clock_loop", isa_op_at((size_t)i), true); }
static void kind_text(struct str *s, int i) { memory_text(s, (enum kind)i); }
static void one_text(struct str *s, int i) {
    (void)i;
    str_add(s, "void one_element(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {\n"
               "  f32 *x = buf[0];\n  x[0] = x[0] + 0x1p+0f;\n}\n");
}

/* Is it what the machine does this field with? */
static bool unit_there(size_t i) {
    const struct isa_op *op = isa_op_at(i);
    return op && i < MOST_UNITS && isa_op_of(os_cpu(), op->field) == op;
}

static void compile(struct probe *p) {
    struct etext t[MOST_UNITS + KINDS + 2];
    const struct ekernel **to[RG_COUNT(t)], *got[RG_COUNT(t)];
    uint32_t n = 0;
    for (size_t i = 0; i < MOST_UNITS; i++) {
        if (!unit_there(i)) continue;
        t[n] = (struct etext){
            .name = arena_printf(p->arena, "unit_%zu", i), .text = text_of(p, unit_text, (int)i), .nvar = 1};
        to[n++] = &p->unit[i];
        if (isa_op_at(i)->field != MODEL_FLOPS_F32) continue;
        t[n] = (struct etext){.name = "clock_loop", .text = text_of(p, clock_text, (int)i), .nvar = 1};
        to[n++] = &p->clock;
    }
    for (int k = 0; k < KINDS; k++) {
        t[n] = (struct etext){.name = arena_printf(p->arena, "memory_%s", kind_name[k]),
                              .text = text_of(p, kind_text, k),
                              .nbuf = 2,
                              .nvar = 2};
        to[n++] = &p->memory[k];
    }
    t[n] = (struct etext){.name = "one_element",
                          .text = text_of(p, one_text, 0),
                          .nbuf = 1,
                          .est = {.flops_issued = 1, .bytes_issued = 8}};
    to[n++] = &p->one;
    for (uint32_t i = 0; i < n; i++) t[i].grid = 1;
    if (engine_compile_text(p->en, p->err, t, n, got)) err_throw(p->err, p->err->code, "%s", p->err->msg);
    for (uint32_t i = 0; i < n; i++) *to[i] = got[i];
}

/* ---- runs ---------------------------------------------------------------------------------------------------------------- */

/* A line for each thread and one for all: counting arrivals in one word would cost more than fork and join. */
enum { MEETING_MOST = 256 };
struct meeting {
    struct arrival {
        _Alignas(64) atomic_bool here;
    } thread[MEETING_MOST];
    _Alignas(64) atomic_bool all_here;
    int all;
    bool pin, let_go; /* each thread to a core of its own */
};

static bool have_all_come(const struct meeting *m) {
    for (int i = 1; i < m->all; i++)
        if (!atomic_load_explicit(&m->thread[i].here, memory_order_relaxed)) return false;
    return true;
}

/* Every thread has a share of the work, and none leaves before all have arrived: thread 0 looks and tells the others. */
static void meet(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct meeting *m = arg;
    (void)t0, (void)t1;
    uint64_t late = 0;
    if (m->pin || m->let_go) os_pin(m->pin ? worker : -1);
    atomic_store_explicit(&m->thread[worker].here, true, memory_order_relaxed);
    for (int i = 1; worker ? !atomic_load_explicit(&m->all_here, memory_order_relaxed) : !have_all_come(m);
         i++) {
        if (i % 1000) continue;
        uint64_t now = os_now_ns();
        if (!late) late = now + (m->pin || m->let_go ? 1000000000 : 20000000);
        if (now > late) return;
        if (m->pin || m->let_go) sched_yield(); /* two may be on one core until then */
    }
    if (!worker) atomic_store_explicit(&m->all_here, true, memory_order_relaxed);
}

/* What is measured. A thread's memory begins at mem + (round * threads + thread) * step, and again at mem after `wrap` such steps:
 * from memory, the next round reads what no cache holds any more. */
struct ceiling_work {
    dev_fn *fn;
    int64_t var[2];
    int64_t *times;   /* which of them is the number of repetitions; NULL: there is but one */
    double amount;    /* operations or bytes of one repetition */
    char *mem, *mem2; /* mem2: where a copy goes */
    size_t step, wrap;
    int threads;
    /* of a measurement, shared by its threads */
    struct busy_span {
        _Alignas(64) uint64_t from, to;
    } * span; /* by thread: when it was at work in this round */
    atomic_int came;
    atomic_bool stop;
    uint64_t start, deadline;
    double expect, best, *rate;
    int n;
};

static uint64_t run_part(struct ceiling_work *w, size_t round, uint32_t thread) {
    size_t at = w->wrap ? (round * (size_t)w->threads + thread) % w->wrap * w->step : 0;
    uint64_t from = w->span[thread].from = os_now_ns();
    w->fn((void *[]){w->mem + at, w->mem2 + at}, w->var, 0, 1, NULL);
    return (w->span[thread].to = os_now_ns()) - from;
}

/* Spins until n threads have arrived; false: stop. None yields: each has a core, and a thread that left it would be late again. */
static bool gather(struct ceiling_work *w, int all) {
    atomic_fetch_add(&w->came, 1);
    for (int i = 1; atomic_load(&w->came) < all; i++) {
        if (atomic_load(&w->stop)) return false;
        if (i % 1000 == 0 && os_now_ns() > w->deadline) atomic_store(&w->stop, true);
    }
    return true;
}

static bool confirmed(const struct ceiling_work *w) {
    int close = 0;
    for (int i = 0; i < w->n; i++) close += w->rate[i] >= 0.98 * w->best;
    return close >= 3;
}

/* Notes the rate of a round: from when the first began to when the last had ended. Below what is expected the time is used up, because
 * threads that others kept apart agree with each other too. */
static void judge(struct ceiling_work *w) {
    uint64_t from = UINT64_MAX, to = 0;
    for (int t = 0; t < w->threads; t++) from = RG_MIN(from, w->span[t].from), to = RG_MAX(to, w->span[t].to);
    double r = w->amount * (double)(w->times ? *w->times : 1) * w->threads / RG_MAX((double)(to - from), 1);
    w->rate[w->n++] = r;
    w->best = RG_MAX(w->best, r);
    bool good = to - w->start > LEAST_NS && w->best >= w->expect && confirmed(w);
    if (good || to > w->deadline || w->n == MOST_RUNS) atomic_store(&w->stop, true);
}

/* What each thread does: rounds, in step with the others. */
static void rounds(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct ceiling_work *w = arg;
    (void)t1, (void)worker;
    for (int round = 0;; round++) {
        if (!gather(w, w->threads * (2 * round + 1))) return;
        run_part(w, (size_t)round, t0);
        if (!gather(w, w->threads * (2 * round + 2))) return;
        if (t0 == 0) judge(w);
        if (atomic_load(&w->stop)) return;
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct figure {
    double best, spread; /* per ns; share by which the median is lower */
};

/* Repetitions until a run of one thread is long enough, five times in a row: one that was interrupted only looks long. */
static void choose_times(struct ceiling_work *w) {
    if (!w->times) return;
    *w->times = 1;
    for (int enough = 0; enough < 5 && *w->times < (int64_t)1 << 40;) {
        bool shorter = (double)run_part(w, 0, 0) < RUN_NS;
        if (shorter) *w->times *= 2;
        enough = shorter ? 0 : enough + 1;
    }
}

/* expect: a rate that is too good to be doubted. */
static struct figure measure(struct probe *p, struct ceiling_work *w, int threads, double expect) {
    static double rate[MOST_RUNS];
    w->threads = threads, w->expect = expect, w->best = 0, w->n = 0;
    w->rate = rate, w->span = p->span;
    atomic_store(&w->came, 0);
    atomic_store(&w->stop, false);
    if (threads == 1) choose_times(w);
    for (size_t i = 0; !w->times && i < w->wrap; i++)
        run_part(w, i, 0); /* what is measured next is in no cache any more */
    w->start = os_now_ns();
    w->deadline = RG_MAX(RG_MIN(w->start + MOST_NS, p->end), w->start + 2 * LEAST_NS);
    if (threads == 1)
        rounds(w, 0, 1, 0);
    else
        pool_run(p->pool, rounds, w, (uint32_t)threads, 1);
    if (!w->n) return (struct figure){0, 1};
    qsort(rate, (size_t)w->n, sizeof *rate, by_value);
    return (struct figure){w->best, 1 - rate[w->n / 2] / w->best};
}

/* Measures with one thread and with all, and notes the row. own: each core has its own, as its arithmetic. Threads that together did less
 * than one alone never ran at the same time: then the figure follows from that of one, and the spread says that it is not one. */
static struct ceiling *add_row(struct probe *p, struct ceiling_work *w, const char *name, const char *unit,
                               bool own) {
    struct ceiling *c = &p->out->row[p->out->n++];
    *c = (struct ceiling){.name = name, .unit = unit, .how = ""};
    struct figure one = measure(p, w, 1, 0), all = one;
    if (p->threads > 1) all = measure(p, w, p->threads, 0.95 * one.best * p->threads);
    if (all.best < one.best) all = (struct figure){one.best * (own ? p->threads : 1), 1};
    c->one = one.best, c->all = all.best, c->spread = RG_MAX(one.spread, all.spread);
    return c;
}

static void measure_clock(struct probe *p) {
    if (!p->clock) return;
    struct model *m = &p->out->model;
    struct ceiling_work w = {
        .fn = p->clock->fn, .amount = sums(isa_op_of(os_cpu(), MODEL_FLOPS_F32)), .times = &w.var[0]};
    struct ceiling *c = add_row(p, &w, "clock", "GHz", true);
    c->all /= p->threads; /* each core's own */
    c->theory = c->theory_all = m->theory[MODEL_CLOCK];
    model_measured(m, MODEL_CLOCK, c->all);
    c->how = os_cpu()->ghz > 0 ? "the system's figure; measured: dependent additions beside vector FMAs"
                               : "of this model of core; measured: dependent additions beside vector FMAs";
}

static void measure_unit(struct probe *p, size_t i) {
    struct model *m = &p->out->model;
    const struct isa_op *u = isa_op_at(i);
    double ops = isa_op_count(u, os_cpu()->vec_bytes), clock = m->theory[MODEL_CLOCK];
    struct ceiling_work w = {.fn = p->unit[i]->fn, .amount = ops * sums(u), .times = &w.var[0]};
    struct ceiling *c = add_row(
        p, &w, u->name, u->field == MODEL_OPS_INT || u->field == MODEL_MATRIX_I8 ? "Gop/s" : "GFLOPS", true);
    c->theory = m->theory[u->field] * clock;
    c->theory_all = c->theory * p->threads;
    model_measured(m, u->field, c->all / p->threads / model_value(m, MODEL_CLOCK));
    char word[16];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(u->text, " "), u->text);
    c->how = arena_printf(p->arena, "%g %s a cycle x %g operations x %.3g GHz", m->theory[u->field] / ops,
                          word, ops, clock);
    if (u->field == MODEL_FLOPS_F32)
        model_measured(m, MODEL_FMA_UNITS, c->all / p->threads / model_value(m, MODEL_CLOCK) / ops);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

/* Bytes per thread that live in this level and not in the one below; 0: there is no such level. */
static size_t level_bytes(struct probe *p, enum level l) {
    const struct model *m = &p->out->model;
    double l1 = m->theory[MODEL_L1_SIZE], l2 = m->theory[MODEL_L2_SIZE], l3 = m->theory[MODEL_L3_SIZE];
    double n = l == L1   ? l1 / 2
               : l == L2 ? RG_MIN(4 * l1, l2 / 2)
               : l == L3 ? RG_MIN(4 * l2, l3 / 2 / p->threads)
                         : (double)WINDOW;
    if ((l == L2 && n < 2 * l1) || (l == L3 && n < 1.5 * l2)) return 0;
    return (size_t)n & ~(size_t)4095;
}

static const char *memory_how(struct probe *p, enum level l) {
    const struct model *m = &p->out->model;
    double clock = m->theory[MODEL_CLOCK],
           rate[] = {m->theory[MODEL_L1_RATE], m->theory[MODEL_L2_RATE], m->theory[MODEL_L3_RATE]};
    double vec = m->theory[MODEL_VEC_BYTES];
    if (l == DRAM)
        return "guess: 25 GB/s a core; how many channels there are, and how fast, is not told to programs";
    if (l == L1)
        return arena_printf(p->arena, "%g loads a cycle x %g bytes x %.3g GHz", rate[0] / vec / clock, vec,
                            clock);
    return arena_printf(p->arena, "guess: %g bytes a cycle x %.3g GHz, as in cores of its kind",
                        rate[l] / clock, clock);
}

static void measure_memory(struct probe *p, enum level l, enum kind k) {
    struct model *m = &p->out->model;
    size_t bytes = level_bytes(p, l), half = p->size / 2;
    if (!bytes || 2 * bytes * (size_t)p->threads + 4096 > half)
        return;                                                    /* no such level, or too little memory */
    if (k == COPY && l != DRAM) bytes = bytes / 2 & ~(size_t)1023; /* two arrays in the same room */
    struct ceiling_work w = {
        .fn = p->memory[k]->fn, .var = {(int64_t)bytes, 1}, .mem = p->mem, .mem2 = p->mem, .step = bytes};
    w.amount = (double)bytes * (k == COPY ? 2 : 1);
    if (k == COPY)
        w.mem2 +=
            l == DRAM ? half : bytes * (size_t)p->threads + 4096; /* 4096: not the same sets of a cache */
    if (l == DRAM)
        w.wrap = (k == COPY ? half : p->size) / bytes;
    else
        w.wrap = (size_t)p->threads, w.times = &w.var[1];
    struct ceiling *c =
        add_row(p, &w, arena_printf(p->arena, "%s %s", level_name[l], kind_name[k]), "GB/s", l < L3);
    double each = RG_MIN(c->one, c->all / p->threads); /* caches may be shared */
    static const enum model_field rate[] = {MODEL_L1_RATE, MODEL_L2_RATE, MODEL_L3_RATE, MODEL_DRAM_CORE};
    c->how = k == READ ? memory_how(p, l) : k == COPY ? "bytes read plus bytes written" : "";
    if (k == READ) {
        c->theory = m->theory[rate[l]], c->theory_all = c->theory * p->threads;
        model_measured(m, rate[l], l == DRAM ? c->one : each);
    }
    if (l != DRAM || k == WRITE) return;
    c->theory_all = m->theory[k == READ ? MODEL_DRAM_READ : MODEL_DRAM_COPY];
    model_measured(m, k == READ ? MODEL_DRAM_READ : MODEL_DRAM_COPY, c->all);
}

/* How much of the shared cache is ours: a virtual machine is told its size, but shares it with others. Halved while
 * reading that much again and again is nearer to the rate of memory than to that of the cache. */
static void measure_l3_size(struct probe *p) {
    struct model *m = &p->out->model;
    double cache = model_value(m, MODEL_L3_RATE) * p->threads, far = model_value(m, MODEL_DRAM_READ);
    double size = m->theory[MODEL_L3_SIZE], least = 2 * (double)(level_bytes(p, L3) * (size_t)p->threads);
    if (!m->measured[MODEL_L3_RATE] || !m->measured[MODEL_DRAM_READ] || cache <= far) return;
    for (; size > least; size /= 2) {
        size_t bytes = (size_t)(0.75 * size / p->threads) & ~(size_t)4095;
        struct ceiling_work w = {
            .fn = p->memory[READ]->fn, .var = {(int64_t)bytes, 1}, .mem = p->mem, .mem2 = p->mem};
        w.step = bytes, w.wrap = (size_t)p->threads, w.amount = (double)bytes, w.times = &w.var[1];
        if (bytes * (size_t)p->threads > p->size) continue;
        measure(p, &w, 1, 0); /* chooses the repetitions */
        double rate = measure(p, &w, p->threads, 0).best;
        if (rate * rate >= cache * far) break;
    }
    model_measured(m, MODEL_L3_SIZE, size);
}

/* Several times the shared cache, touched. */
static void take_memory(struct probe *p) {
    double l3 = p->out->model.theory[MODEL_L3_SIZE],
           all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double want = RG_MAX(RG_MAX(256e6, 6 * l3), 16.0 * (double)WINDOW * p->threads);
    for (p->size = (size_t)RG_MIN(want, all / 4) & ~(size_t)4095; p->size > ((size_t)16 << 20); p->size /= 2)
        if ((p->mem = os_pages(p->size))) break;
    if (!p->mem) err_throw(p->err, RG_ENOMEM, "no memory to measure with: %zu bytes were refused", p->size);
    p->size &= ~(size_t)4095;
    for (size_t i = 0; i < p->size; i += 4096) p->mem[i] = 1;
}

/* ---- starting kernels -------------------------------------------------------------------------------------------------------- */

static double meet_ns(struct probe *p) {
    static struct meeting m; /* one measurement at a time */
    memset(&m, 0, sizeof m);
    m.all = p->threads;
    uint64_t t0 = os_now_ns();
    pool_run(p->pool, meet, &m, (uint32_t)p->threads, 1);
    return (double)(os_now_ns() - t0);
}

static double wake_ns(struct probe *p) {
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL); /* longer than workers spin */
    return meet_ns(p);
}

static double launch_ns(struct probe *p) {
    uint64_t t0 = os_now_ns();
    engine_list_run(p->list, p->err);
    return (double)(os_now_ns() - t0) / engine_list_count(p->list);
}

/* Repeats for a while. What is more than ten times the usual cost was spent by others: it is shown, but the model keeps its guess. */
static void add_cost(struct probe *p, enum model_field f, const char *name, double (*ns_of)(struct probe *),
                     const char *how) {
    enum { TIMES = 2000, LEAST = 5 };
    static double ns[TIMES];
    int n = 0;
    uint64_t start = os_now_ns();
    while (n < LEAST || (n < TIMES && os_now_ns() - start < COST_NS)) ns[n++] = ns_of(p);
    qsort(ns, (size_t)n, sizeof *ns, by_value);
    struct ceiling *c = &p->out->row[p->out->n++];
    *c = (struct ceiling){.name = name, .unit = "ns", .cost = true, .how = how};
    c->theory = c->theory_all = p->out->model.theory[f];
    c->one = c->all = ns[n / 10];
    c->spread = ns[n / 2] / RG_MAX(ns[n / 10], 1) - 1;
    if (c->one < 10 * c->theory) model_measured(&p->out->model, f, c->one);
}

static void measure_costs(struct probe *p) {
    enum { CALLS = 100 };
    p->list = engine_list_new(p->en, p->err);
    for (int i = 0; p->list && i < CALLS; i++)
        engine_list_add(p->list, p->err, p->one, (void *[]){p->mem + i * 64}, NULL);
    if (!p->err->code)
        add_cost(p, MODEL_LAUNCH, "launch", launch_ns, "a kernel on one element in a list of 100");
    engine_list_free(p->list);
    if (p->err->code) err_throw(p->err, p->err->code, "%s", p->err->msg);
    if (p->threads == 1) return;
    add_cost(p, MODEL_FORK, "fork and join", meet_ns, "every thread takes a part; they spin");
    add_cost(p, MODEL_WAKE, "wake and join", wake_ns, "the same when they sleep");
}

/* While we measure, each thread stays on a core of its own: a scheduler with other things to do may put two on one. */
static void pin_all(struct probe *p, bool pin) {
    struct meeting m = {.all = p->threads, .pin = pin, .let_go = !pin};
    os_pin(pin ? 0 : -1);
    pool_run(p->pool, meet, &m, (uint32_t)p->threads, 1);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------------ */

static void measure_all(void *arg) {
    struct probe *p = arg;
    p->span = arena_array(p->arena, struct busy_span, p->threads + 1);
    p->span = (struct busy_span *)(((uintptr_t)p->span + 63) & ~(uintptr_t)63); /* an arena aligns to 16 */
    compile(p);
    take_memory(p);
    measure_clock(p);
    for (size_t i = 0; i < MOST_UNITS; i++)
        if (p->unit[i]) measure_unit(p, i);
    for (int l = 0; l < LEVELS; l++)
        for (int k = 0; k < KINDS; k++) measure_memory(p, (enum level)l, (enum kind)k);
    measure_l3_size(p);
    measure_costs(p);
}

int engine_ceilings(struct engine *en, struct err *e, struct arena *a, struct ceilings *out) {
    *out = (struct ceilings){.core = en->ops->wait ? "SM" : "core"};
    if (en->ops->text == DEV_CUDA) return ceilings_gpu(en, e, a, out);
    if (en->ops->text == DEV_OPENCL) { /* not measured: what the device says of itself */
        if (!plans_model(en, e)) out->model = en->plans.model;
        return e->code;
    }
    struct probe p = {.en = en, .err = e, .arena = a, .out = out, .pool = pool_get()};
    p.threads = pool_threads(p.pool);
    uint64_t t0 = os_now_ns();
    p.end = t0 + ALL_NS;
    model_guess(&out->model); /* before a thread is pinned: it counts the cores that there are */
    pin_all(&p, true);
    err_guard(e, measure_all, &p);
    pin_all(&p, false);
    if (p.mem) os_pages_free(p.mem, p.size);
    out->threads = p.threads;
    out->seconds = (double)(os_now_ns() - t0) * 1e-9;
    return e->code;
}

double ceilings_uses(const struct model *m, enum model_field ops, double bytes, enum model_field rate) {
    double cores = rate == MODEL_DRAM_READ || rate == MODEL_DRAM_COPY ? model_value(m, MODEL_CORES) : 1;
    return model_value(m, ops) * model_value(m, MODEL_CLOCK) * cores / 2 / (model_value(m, rate) / bytes);
}
