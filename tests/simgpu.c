#include "simgpu.h"

#include "device/host.h"
#include "model/model.h"
#include "ref/ref.h"
#include "render/gpu.h"

#include <pthread.h>
#include <stdlib.h>

enum { GUARD = 256 }; /* bytes before and behind a block */

struct sim_block {
    char *p;
    unsigned char *set; /* by byte: does it hold a value? */
    size_t n;
    struct sim_block *next;
};

struct sim_slot {
    int64_t bytes; /* by its PARAM; 0: not known (one of a PARAMS) */
    bool stored;
};

/* A linear program in an ir of its own. */
struct sim_program {
    struct linear lin;
    struct sim_slot *slot;
    bool mma, wgmma, tma, cached;
};

/* A function of the CPU, marked by its lowest bit as those of device/host.h. */
struct sim_builtin {
    dev_fn *fn;
    struct sim_builtin *next;
};

struct sim_device {
    struct device dev;
    const struct gpu_spec *spec;
    int sms;
    struct err err;
    struct arena arena;
    pthread_mutex_t lock; /* of programs */
    VEC(struct sim_program *) program;
    struct sim_block *block;
    struct host_fn *host;
    struct sim_builtin *builtin; /* of SIMCPU */
};

static struct sim_device *sim_of(struct device *d) { return (struct sim_device *)d; }

struct sim_module {
    struct module mod;
    char *text;
};

struct simgpu_count simgpu_count;

/* ---- memory ---------------------------------------------------------------------------------------------- */

static struct sim_block *block_of(struct sim_device *d, const void *p) {
    const char *at = p;
    for (struct sim_block *b = d->block; b; b = b->next)
        if (at >= b->p && at < b->p + b->n) return b;
    return NULL;
}

static void sim_forget(struct device *dev, void *p, size_t n) {
    struct sim_device *d = sim_of(dev);
    struct sim_block *b = block_of(d, p);
    memset(p, 0xff, n); /* NaN, or -1 */
    memset(b->set + ((char *)p - b->p), 0, n);
}

static void *sim_alloc(struct device *dev, size_t n) {
    struct sim_device *d = sim_of(dev);
    struct sim_block *b = malloc(sizeof *b);
    *b = (struct sim_block){.p = aligned_alloc(GUARD, (n + 3 * GUARD) / GUARD * GUARD),
                            .set = calloc(n + 1, 1),
                            .n = n,
                            .next = d->block};
    memset(b->p, 0xa5, (n + 3 * GUARD) / GUARD * GUARD);
    b->p += GUARD;
    d->block = b;
    sim_forget(dev, b->p, n);
    return b->p;
}

/* Only functions of the host could have written there: the interpreter knows the bounds of what it writes. */
static void check_guards(const struct sim_block *b) {
    for (int i = 0; i < GUARD; i++)
        if ((unsigned char)b->p[-1 - i] != 0xa5 || (unsigned char)b->p[b->n + (size_t)i] != 0xa5) {
            fprintf(stderr, "simulated GPU: memory beside a block of %zu bytes was written\n", b->n);
            abort(); /* of a test's process */
        }
}

static void sim_free(struct device *dev, void *p, size_t n) {
    struct sim_device *d = sim_of(dev);
    struct sim_block **at = &d->block;
    (void)n;
    while (*at && (*at)->p != p) at = &(*at)->next;
    if (!*at) return;
    struct sim_block *b = *at;
    *at = b->next;
    check_guards(b);
    free(b->p - GUARD);
    free(b->set);
    free(b);
}

/* The block that holds these bytes. */
static struct sim_block *inside(struct sim_device *d, struct err *e, const void *p, size_t n,
                                const char *what) {
    struct sim_block *b = block_of(d, p);
    if (b && (size_t)((const char *)p - b->p) + n <= b->n) return b;
    err_set(e, RG_EVERIFY, "%s: %zu bytes that are not in one block of memory (which has %zu)", what, n,
            b ? b->n : 0);
    return NULL;
}

static int sim_copy(struct device *dev, struct err *e, enum dev_copy kind, void *dst, const void *src,
                    size_t n) {
    struct sim_device *d = sim_of(dev);
    static const char *const name[] = {"a copy to the device", "a copy to the host", "a copy"};
    struct sim_block *from = NULL, *to = NULL;
    if (!n) return 0;
    if (kind != COPY_IN && !(from = inside(d, e, src, n, name[kind]))) return e->code;
    if (kind != COPY_OUT && !(to = inside(d, e, dst, n, name[kind]))) return e->code;
    unsigned char *holds = from ? from->set + ((const char *)src - from->p) : NULL;
    for (size_t i = 0; from && kind == COPY_OUT && i < n; i++)
        if (!holds[i])
            return err_set(e, RG_EVERIFY, "%s: byte %zu of %zu was never written", name[kind], i, n);
    memmove(dst, src, n);
    if (to && holds) memmove(to->set + ((char *)dst - to->p), holds, n);
    if (to && !holds) memset(to->set + ((char *)dst - to->p), 1, n);
    return 0;
}

/* ---- programs --------------------------------------------------------------------------------------------- */

static void note_param(struct sim_program *p, const uop *n) {
    if (n->src[0]->op != OP_CONST) return;
    struct sim_slot *s = &p->slot[n->arg.param.slot];
    s->bytes = RG_MAX(s->bytes, n->src[0]->arg.i * dtype_info[n->dt].bytes);
}

static void note_uses(struct arena *a, struct sim_program *p) {
    uop_vec topo = {0};
    uop_topo(a, p->lin.u, p->lin.n, &topo);
    p->slot = arena_array(a, struct sim_slot, p->lin.nbuf + 1);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_PARAM) note_param(p, n);
        bool st = n->op == OP_STORE || n->op == OP_STORE_ADD;
        if (st && n->src[0]->src[0]->op == OP_PARAM) p->slot[n->src[0]->src[0]->arg.param.slot].stored = true;
        if (n->op == OP_TMA_STORE) p->slot[n->src[1]->src[0]->arg.param.slot].stored = true;
        p->mma |= n->op == OP_MMA;
        p->wgmma |= n->op == OP_MMA && mma_is_wgmma((enum mma)n->arg.mma.instr);
        p->cached |=
            n->op == OP_CP_ASYNC && n->arg.i && n->src[0]->lanes * dtype_info[n->src[0]->dt].bytes == 16;
        p->tma |= n->op == OP_TMA_LOAD || n->op == OP_TMA_STORE;
    }
}

struct sim_import {
    struct sim_device *d;
    const struct linear *from;
    struct sim_program *out;
};

static void import(void *arg) {
    struct sim_import *x = arg;
    struct arena *a = &x->d->arena;
    const struct linear *l = x->from;
    uint32_t n = l->n + l->nlocal;
    struct sim_program *p = x->out = arena_new(a, struct sim_program);
    struct ir *ir = arena_new(a, struct ir);
    const uop **all = arena_array(a, const uop *, n + 1);
    memcpy(all, l->u, l->n * sizeof *all);
    if (l->nlocal) memcpy(all + l->n, l->local, l->nlocal * sizeof *all);
    ir_init(ir, a);
    const uop *root = uop_new(l->ir, OP_SINK, DT_VOID, 1, all, n, ARG_NONE);
    root = ir_import(ir, l->ir, root);
    memcpy(all, root->src, n * sizeof *all);
    p->lin = *l;
    p->lin.ir = ir, p->lin.u = all, p->lin.local = all + l->n;
    p->lin.name = arena_strdup(a, l->name, strlen(l->name));
    note_uses(a, p);
    vec_push(a, &x->d->program, p);
}

static bool is_sum_of(const uop *n, const uop *acc) {
    return n->op == OP_FMA ? n->src[2] == acc : n->op == OP_ADD && (n->src[0] == acc || n->src[1] == acc);
}

/* Loops around u[at]. */
static uint32_t loops_at(const struct linear *l, uint32_t at, const uop *out[64]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < at; i++) {
        enum op op = (enum op)l->u[i]->op;
        if ((op == OP_RANGE || op == OP_IF) && n < 64) out[n++] = l->u[i];
        if (op == OP_END) n--;
    }
    return n;
}

static int64_t adds_between(const struct linear *l, const spread_vec *shared, uint32_t zero, uint32_t add) {
    const uop *loop[64];
    int64_t adds = 1;
    uint32_t k = loops_at(l, zero, loop), n = loops_at(l, add, loop);
    for (; k < n; k++) {
        int64_t threads = 1;
        if (loop[k]->op != OP_RANGE || loop[k]->arg.range.kind == AX_GRID) continue;
        for (uint32_t i = 0; i < shared->n; i++)
            if (l->u[shared->p[i].begin] == loop[k])
                threads = l->columns ? GPU_BLOCK_THREADS / l->columns : 256;
        adds *= (loop[k]->src[0]->hi + threads - 1) / threads;
    }
    return adds;
}

int64_t simgpu_longest_sum(struct arena *a, const struct linear *l) {
    spread_vec shared = {0};
    row_vec rows = {0};
    const char *why = NULL;
    int64_t most = 0, lanes = 0;
    spread_find(a, l, GPU_BLOCK_THREADS, &shared, &rows, &why);
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i], *acc = n->op == OP_SET ? n->src[0] : NULL;
        if (n->op == OP_MMA || l->threads) return 0;
        if (!acc || acc->dt != DT_F32 || !is_sum_of(n->src[1], acc)) continue;
        uint32_t zero = 0;
        for (uint32_t k = 0; k < i; k++)
            if (l->u[k]->op == OP_SET && l->u[k]->src[0] == acc && !is_sum_of(l->u[k]->src[1], acc)) zero = k;
        int64_t adds = adds_between(l, &shared, zero, i);
        if (adds > 1) lanes += n->lanes;
        most = RG_MAX(most, adds);
    }
    return lanes > 16 ? 0 : most;
}

static const char *sim_interpret(struct device *dev, struct arena *a, const struct linear *l,
                                 const char *text) {
    struct sim_device *d = sim_of(dev);
    struct sim_import x = {d, l, NULL};
    int64_t adds = simgpu_longest_sum(a, l);
    if (adds > 128)
        err_throw(a->err, RG_EINTERNAL, "%s: %lld additions in one accumulator", l->name, (long long)adds);
    pthread_mutex_lock(&d->lock);
    int code = err_guard(&d->err, import, &x);
    uint32_t number = d->program.n - 1;
    pthread_mutex_unlock(&d->lock);
    if (code) err_throw(a->err, code, "%s", d->err.msg);
    return arena_printf(a, "void %s(%u)\n/*\n%s\n*/\n", l->name, number, text);
}

static int sim_target(struct device *dev, struct err *e, struct arena *a, struct dev_target *t) {
    (void)dev, (void)e, (void)a;
    *t = (struct dev_target){.request = "auto", .flags = "", .arch = "sim"};
    return 0;
}

static int sim_compile(struct device *dev, struct err *e, struct arena *a, const char *const *text, int n,
                       struct dev_object *out) {
    (void)dev, (void)e;
    for (int i = 0; i < n; i++) {
        size_t len = strlen(text[i]);
        out[i] = (struct dev_object){.data = arena_strdup(a, text[i], len), .n = len + 1};
    }
    return 0;
}

static int sim_load(struct device *dev, struct err *e, const void *object, size_t n, struct module **out) {
    (void)e, (void)n;
    struct sim_module *m = malloc(sizeof *m);
    *m = (struct sim_module){.mod.dev = dev, .text = strdup(object)};
    *out = &m->mod;
    return 0;
}

static void sim_unload(struct module *m) {
    free(((struct sim_module *)m)->text);
    free(m);
}

static dev_fn *sim_symbol(struct module *m, const char *name) {
    char head[300];
    int n = snprintf(head, sizeof head, "void %s(", name);
    const char *at = strstr(((struct sim_module *)m)->text, head);
    return at ? (dev_fn *)sim_of(m->dev)->program.p[atoi(at + n)] : NULL;
}

static int sim_builtin(struct device *dev, struct err *e, const struct dev_call *c, dev_fn *const kernel[],
                       struct dev_builtin *out) {
    struct sim_device *d = sim_of(dev);
    struct host_fn *f;
    (void)kernel;
    if (dev->ops->text == DEV_C) { /* the function itself: it takes any layout */
        struct sim_builtin *b = malloc(sizeof *b);
        int code = device_cpu.builtin(NULL, e, c, NULL, out);
        *b = (struct sim_builtin){out->fn, d->builtin};
        d->builtin = b, out->fn = (dev_fn *)((uintptr_t)b | 1);
        return code;
    }
    if (host_fn_find(&d->host, e, c, &f)) return e->code;
    *out = (struct dev_builtin){.fn = host_fn_mark(f)};
    return 0;
}

/* ---- launches --------------------------------------------------------------------------------------------- */

/* Buffers that share bytes must be the same ones, unless all are only read. */
static int check_overlap(struct err *e, const struct sim_program *p, const struct dev_launch *l) {
    for (uint32_t i = 0; i < l->nbuf; i++)
        for (uint32_t k = 0; k < i; k++) {
            const char *x = l->buf[i], *y = l->buf[k];
            int64_t n = p->slot[i].bytes, m = p->slot[k].bytes;
            if (x == y || (!p->slot[i].stored && !p->slot[k].stored) || x >= y + m || y >= x + n) continue;
            return err_set(e, RG_EVERIFY, "kernel %s: buffers %u and %u overlap, and one is written",
                           p->lin.name, k, i);
        }
    return 0;
}

static void count(const struct sim_program *p) {
    struct simgpu_count *c = &simgpu_count;
    double cost = ref_cost(&p->lin);
    c->launches++, c->blocks += p->lin.threads > 0, c->columns += p->lin.columns > 0, c->mma += p->mma,
        c->wgmma += p->wgmma, c->tma += p->tma, c->cached += p->cached;
    c->total += cost;
    if (cost <= c->cost) return;
    c->cost = cost;
    snprintf(c->most, sizeof c->most, "%s", p->lin.name);
}

/* What it writes is not known: its result is anything from there to the end of the block. */
static int run_builtin(struct sim_device *d, struct err *e, const struct dev_launch *l) {
    struct sim_block *b = inside(d, e, l->buf[0], 0, "a builtin");
    if (!b) return e->code;
    size_t at = (size_t)((char *)l->buf[0] - b->p);
    ((const struct sim_builtin *)((uintptr_t)l->fn & ~(uintptr_t)1))
        ->fn(l->buf, l->var, 0, l->grid, l->scratch);
    memset(b->set + at, 1, b->n - at);
    return 0;
}

static int sim_launch(struct device *dev, struct err *e, const struct dev_launch *l) {
    struct sim_device *d = sim_of(dev);
    if (l->ns) *l->ns = 1000 * (uint64_t)RG_MAX(l->times, 1u);
    if (!l->grid) return 0;
    if (host_fn_of(l->fn) && dev->ops->text == DEV_C) return run_builtin(d, e, l);
    if (host_fn_of(l->fn)) return host_fn_run(dev, sim_copy, e, host_fn_of(l->fn), l);
    const struct sim_program *p = (const struct sim_program *)l->fn;
    struct ref_buf buf[256] = {0};
    if (l->nbuf > RG_COUNT(buf) || l->grid != p->lin.grid)
        return err_set(e, RG_EVERIFY, "kernel %s: launched with %u buffers and %u blocks", p->lin.name,
                       l->nbuf, l->grid);
    for (uint32_t i = 0; i < l->nbuf; i++) {
        struct sim_block *b = inside(d, e, l->buf[i], (size_t)p->slot[i].bytes, p->lin.name);
        if (!b) return e->code;
        size_t at = (size_t)((char *)l->buf[i] - b->p);
        size_t n = p->slot[i].bytes ? (size_t)p->slot[i].bytes : b->n - at;
        buf[i] = (struct ref_buf){.p = l->buf[i], .bytes = n, .set = b->set + at};
    }
    if (check_overlap(e, p, l)) return e->code;
    count(p);
    return ref_linear(e, &p->lin, buf, l->nbuf, l->var, 0, p->lin.grid);
}

static int sim_wait(struct device *dev, struct err *e) {
    (void)dev, (void)e;
    return 0;
}

/* ---- recorded lists ------------------------------------------------------------------------------------------ */

struct dev_record {
    struct sim_device *d;
    uint32_t n;
    const struct dev_launch **launch; /* in the order of replay */
};

/* The latest step that may run comes first: the order farthest from the recorded one. */
static void reorder(struct dev_record *r, const struct dev_step *step) {
    bool *done = calloc(r->n + 1, sizeof *done), moved = false;
    for (uint32_t at = 0; at < r->n; at++) {
        uint32_t pick = r->n;
        while (pick-- > 0) {
            bool ready = !done[pick];
            for (uint32_t i = 0; ready && i < step[pick].nafter; i++) ready = done[step[pick].after[i]];
            if (ready) break;
        }
        done[pick] = true, moved |= pick != at;
        r->launch[at] = step[pick].launch;
    }
    simgpu_count.moved += moved;
    free(done);
}

static int sim_record(struct device *dev, struct err *e, const struct dev_step *step, uint32_t n,
                      uint32_t *taken, struct dev_record **out) {
    struct sim_device *d = sim_of(dev);
    struct dev_record *r = *out = malloc(sizeof *r);
    (void)e;
    *r = (struct dev_record){d, n, malloc((n + 1) * sizeof *r->launch)};
    reorder(r, step);
    *taken = n;
    return 0;
}

static int sim_replay(struct dev_record *r, struct err *e) {
    simgpu_count.replayed++;
    for (uint32_t i = 0; i < r->n; i++) {
        struct dev_launch l = *r->launch[i];
        l.ns = NULL; /* of the call that was recorded */
        if (sim_launch(&r->d->dev, e, &l)) return e->code;
    }
    return 0;
}

static void sim_record_free(struct dev_record *r) {
    free(r->launch);
    free(r);
}

/* ---- the device ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *gpu;
    int sms; /* 0: as many as there are */
} model[] = {{"A100", 0}, {"L40S", 0}, {"H200", 0}, {"B200", 0}, {"H200", 4}, {"A100", 4}, {"H200", 4}};

static int sim_open(struct err *e, const struct device_ops *ops, struct device **out) {
    struct sim_device *d = calloc(1, sizeof *d);
    (void)e;
    d->dev.ops = ops, *out = &d->dev;
    d->spec = gpu_spec_find(model[ops->unit].gpu);
    d->sms = model[ops->unit].sms ? model[ops->unit].sms : d->spec->sms;
    arena_init(&d->arena, &d->err);
    pthread_mutex_init(&d->lock, NULL);
    return 0;
}

static void sim_close(struct device *dev) {
    struct sim_device *d = sim_of(dev);
    while (d->block) sim_free(dev, d->block->p, d->block->n);
    host_fn_free(d->host);
    for (struct sim_builtin *b = d->builtin, *next; b; b = next) next = b->next, free(b);
    arena_free(&d->arena);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static int sim_workers(struct device *dev) { return sim_of(dev)->sms; }

static int sim_info(struct device *dev, struct err *e, struct dev_info *out) {
    struct sim_device *d = sim_of(dev);
    const struct gpu_spec *s = d->spec;
    (void)e;
    *out = (struct dev_info){.units = d->sms,
                             .major = s->cc / 10,
                             .minor = s->cc % 10,
                             .ghz = s->ghz,
                             .memory_rate = s->bw,
                             .memory = (size_t)64 << 30,
                             .memory_free = (size_t)64 << 30,
                             .l2 = (size_t)s->l2,
                             .shared = 48 << 10,
                             .shared_most = (size_t)s->smem_block,
                             .threads = (uint32_t)s->threads_block,
                             .regs_sm = s->regs_sm,
                             .shared_sm = s->smem_sm,
                             .threads_sm = s->max_threads_sm,
                             .blocks_sm = s->blocks_sm};
    snprintf(out->name, sizeof out->name, "NVIDIA %s", s->name);
    return 0;
}

#define GPU .text = DEV_CUDA, .discrete = true, .info = sim_info
#define CPU .text = DEV_C
#define SIM(number, called, ...)                                                                          \
    {                                                                                                     \
        .name = called, .kind = DEV_RUNS, .unit = number, __VA_ARGS__, .scratch = 1 << 20, .programs = 1, \
        .open = sim_open, .close = sim_close, .alloc = sim_alloc, .free = sim_free, .copy = sim_copy,     \
        .workers = sim_workers, .target = sim_target, .compile = sim_compile, .load = sim_load,           \
        .unload = sim_unload, .symbol = sim_symbol, .builtin = sim_builtin, .launch = sim_launch,         \
        .wait = sim_wait, .record = sim_record, .replay = sim_replay, .record_free = sim_record_free,     \
        .interpret = sim_interpret, .forget = sim_forget                                                  \
    }
static const struct device_ops sim[] = {SIM(0, "SIM80", GPU),  SIM(1, "SIM89", GPU),  SIM(2, "SIM90", GPU),
                                        SIM(3, "SIM100", GPU), SIM(4, "SIM90S", GPU), SIM(5, "SIM80S", GPU),
                                        SIM(6, "SIMCPU", CPU)};

void simgpu_add(void) {
    static bool added;
    for (size_t i = 0; i < RG_COUNT(sim) && !added; i++) device_add(&sim[i]);
    added = true;
}
