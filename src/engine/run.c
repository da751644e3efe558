/* run.c: command lists: what is run again and again is prepared once and then walked by one short loop.
 *
 * Adding a command copies its buffers and parameters into the list, decides how its grid is cut and makes
 * sure that every worker has scratch memory. Running is then a call and a time stamp per command; the end of
 * one command is the start of the next, so that each costs one look at the clock and leaves one event.
 * How a grid is cut depends on the estimate and the number of threads only: small kernels stay on one
 * thread, because waking another costs more than they take; large ones are cut into about four pieces per
 * thread, so that a slow core does not hold up the rest.
 * Tests: tests/unit/engine.c; cost: bench/dispatch.c */
#include "engine/internal.h"
#include "event/event.h"

#include <time.h>

/* Rates of one core that are on the high side: a kernel is rather run alone than cut for nothing. */
#define FLOPS_PER_NS 40.0
#define BYTES_PER_NS 40.0
#define SPECIAL_NS 1.0
#define ALONE_NS 4000.0              /* not worth a second thread */
#define PIECE_NS 1000.0              /* not worth a piece of its own */
#define TIMED_MOST_NS 30000000000ull /* for a kernel that is timed: one that search tries may hang */

uint32_t engine_chunk(uint32_t grid, const struct estimate *est, bool serial, int threads) {
    if (serial || threads <= 1 || grid <= 1) return grid;
    double ns = RG_MAX(est->flops_issued / FLOPS_PER_NS, est->bytes_issued / BYTES_PER_NS) +
                est->special * SPECIAL_NS;
    bool known = ns > 0;
    if (known && ns < ALONE_NS) return grid;
    double pieces = 4.0 * threads;
    if (known) pieces = RG_MIN(pieces, RG_MAX(ns / PIECE_NS, threads));
    double chunk = grid / pieces;
    return chunk <= 1 ? 1 : (uint32_t)chunk + (chunk > (uint32_t)chunk);
}

struct engine_list *engine_list_new(struct engine *en, struct err *e) {
    struct engine_list *l = mem_alloc(sizeof *l);
    if (!l) {
        err_set(e, RG_ENOMEM, "out of memory while making a command list");
        return NULL;
    }
    memset(l, 0, sizeof *l);
    l->en = en;
    l->workers = en->ops->workers(en->dev);
    arena_init_small(&l->arena, &l->err);
    return l;
}

static void release_names(const struct command *c) {
    event_name_release(c->l.name);
    event_name_release(c->l.info);
}

void list_info(struct engine_list *l, uint32_t i, uint32_t info) {
    event_name_hold(info);
    event_name_release(l->cmd.p[i].l.info);
    l->cmd.p[i].l.info = info;
    if (l->cmd.p[i].l.name) return;
    uint32_t name = event_name_shared(l->cmd.p[i].k->name); /* there was no room for it */
    if (event_name_hold(name)) l->cmd.p[i].l.name = name;
}

void engine_list_free(struct engine_list *l) {
    if (!l) return;
    list_forget(l);
    for (uint32_t i = 0; i < l->cmd.n; i++) {
        release_names(&l->cmd.p[i]);
        kernel_unuse(l->en, l->cmd.p[i].k);
    }
    arena_free(&l->arena);
    mem_free(l);
}

/* Scratch for the neediest command of all lists: they run one after another. Areas are 128 bytes apart at least, so
 * that workers share no line. A device that runs thousands of iterations at once has as many areas as its limit
 * allows, and runs no more. */
static void need_scratch(struct engine_list *l, int64_t bytes) {
    struct run_scratch *s = &l->en->scratch;
    size_t stride = bytes ? ((size_t)bytes + 255) & ~(size_t)127 : 0, limit = l->en->ops->scratch;
    if (stride <= s->stride) return;
    size_t size = stride * (limit ? RG_MAX(limit / stride, 1) : (size_t)l->workers);
    char *p = l->en->ops->alloc(l->en->dev, size);
    if (!p && l->en->memory.kept) {
        memory_trim(l->en);
        p = l->en->ops->alloc(l->en->dev, size);
    }
    if (!p) err_throw(&l->err, RG_ENOMEM, "no memory for %zu bytes of scratch", size);
    if (s->p) {
        memory_uncount(l->en, s->p, os_now_ns());
        l->en->ops->free(l->en->dev, s->p, s->size);
    }
    *s = (struct run_scratch){p, stride, size};
    if (!memory_count(l->en, p, size, size, owner_name(EVENT_MEM_OTHER, size, "scratch of workers"),
                      os_now_ns()))
        err_throw(&l->err, RG_ENOMEM, "no memory for %zu bytes of scratch", size);
}

struct add_call {
    struct engine_list *l;
    const struct ekernel *k;
    void *const *bufs;
    const int64_t *vars;
};

static void add_guarded(void *arg) {
    struct add_call *c = arg;
    struct engine_list *l = c->l;
    const struct ekernel *k = c->k;
    list_forget(l);
    void **buf = arena_array(&l->arena, void *, k->nbuf + 1);
    int64_t *var = arena_array(&l->arena, int64_t, k->nvar + 1);
    if (k->nbuf) memcpy(buf, c->bufs, k->nbuf * sizeof *buf);
    if (k->nvar) memcpy(var, c->vars, k->nvar * sizeof *var);
    vec_need(&l->arena, &l->cmd, 1);
    need_scratch(l, k->scratch);
    struct command cmd = {.l = {.fn = k->fn,
                                .buf = buf,
                                .var = var,
                                .grid = k->grid,
                                .chunk = engine_chunk(k->grid, &k->est, k->serial, l->workers),
                                .block = k->block,
                                .per_block = k->per_block,
                                .shared = (uint32_t)k->shared,
                                .areas = k->scratch > 0, /* how many: when it runs */
                                .nbuf = k->nbuf,
                                .nvar = k->nvar,
                                .nmap = k->nmap,
                                .map = k->map,
                                .name = event_name_shared(k->name),
                                .ops = (int64_t)k->est.flops,
                                .bytes = (int64_t)k->est.bytes},
                          .k = k,
                          .buf = buf,
                          .var = var};
    event_name_hold(cmd.l.name);
    l->cmd.p[l->cmd.n++] = cmd;
    kernel_use(l->en, k);
}

int engine_list_add(struct engine_list *l, struct err *e, const struct ekernel *k, void *const *bufs,
                    const int64_t *vars) {
    struct add_call c = {l, k, bufs, vars};
    err_clear(&l->err);
    if (err_guard(&l->err, add_guarded, &c)) return err_set(e, l->err.code, "%s", l->err.msg);
    return 0;
}

int engine_list_replace(struct engine_list *l, struct err *e, uint32_t i, const struct ekernel *k) {
    struct command was = l->cmd.p[i];
    uint32_t n = l->cmd.n;
    if (engine_list_add(l, e, k, was.buf, was.var)) return e->code;
    l->cmd.p[i] = l->cmd.p[n];
    l->cmd.p[i].l.buf = l->cmd.p[i].buf = was.buf; /* where others write addresses and numbers */
    l->cmd.p[i].l.var = l->cmd.p[i].var = was.var;
    l->cmd.p[i].use = was.use, l->cmd.p[i].size = was.size, l->cmd.p[i].l.waits = was.l.waits;
    l->cmd.n = n;
    l->ready = 0;
    release_names(&was);
    kernel_unuse(l->en, was.k);
    return 0;
}

struct uses_call {
    struct engine_list *l;
    struct command *c;
    const uint8_t *use;
    const size_t *size;
};

static void uses_guarded(void *arg) {
    struct uses_call *x = arg;
    uint32_t n = x->c->l.nbuf;
    uint8_t *use = arena_array(&x->l->arena, uint8_t, n + 1);
    size_t *size = arena_array(&x->l->arena, size_t, n + 1);
    memcpy(use, x->use, n * sizeof *use);
    memcpy(size, x->size, n * sizeof *size);
    for (uint32_t i = 0; i < n; i++)
        if (!use[i]) use[i] = USE_LOADED | USE_STORED;
    x->c->use = use, x->c->size = size, x->c->l.waits = true;
}

int engine_list_uses(struct engine_list *l, struct err *e, uint32_t i, const uint8_t *use,
                     const size_t *size) {
    struct uses_call c = {l, &l->cmd.p[i], use, size};
    err_clear(&l->err);
    if (err_guard(&l->err, uses_guarded, &c)) return err_set(e, l->err.code, "%s", l->err.msg);
    return 0;
}

int64_t *engine_list_vars(struct engine_list *l, uint32_t i) { return i < l->cmd.n ? l->cmd.p[i].var : NULL; }
void **engine_list_bufs(struct engine_list *l, uint32_t i) { return i < l->cmd.n ? l->cmd.p[i].buf : NULL; }
uint32_t engine_list_count(const struct engine_list *l) { return l->cmd.n; }
uint64_t engine_list_ns(const struct engine_list *l, uint32_t i) { return i < l->cmd.n ? l->cmd.p[i].ns : 0; }

/* Another list may have needed more. */
static void take_scratch(struct engine_list *l) {
    const struct run_scratch *s = &l->en->scratch;
    if (l->scratch == s->p && l->ready == l->cmd.n) return;
    for (uint32_t i = 0; i < l->cmd.n; i++) {
        struct dev_launch *x = &l->cmd.p[i].l;
        x->scratch = s->p;
        x->scratch_stride = s->stride;
        if (x->areas) x->areas = (uint32_t)RG_MIN(s->size / s->stride, UINT32_MAX);
    }
    l->scratch = s->p;
    l->ready = l->cmd.n;
}

static uint64_t now_ns(bool alone) {
    struct timespec t;
    if (!alone) return os_now_ns();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t engine_list_time(struct engine_list *l, uint32_t i, uint32_t times) {
    struct err e = {0}; /* a CPU cannot fail here; a GPU that did says so at the next copy */
    if (command_is_collective(&l->cmd.p[i])) return UINT64_MAX; /* other ranks would wait */
    take_scratch(l);
    if (l->en->ops->wait) { /* it works on its own: only it knows */
        uint64_t sum = 0, ns = 0;
        struct dev_launch some = l->cmd.p[i].l;
        some.ns = &ns, some.times = l->en->ops->text == DEV_CUDA ? times : 1, some.limit = TIMED_MOST_NS;
        for (uint32_t k = 0; k < times && !l->en->ops->launch(l->en->dev, &e, &some); k += some.times)
            sum += ns;
        return e.code ? UINT64_MAX : sum;
    }
    uint64_t t0 = now_ns(l->workers == 1);
    for (uint32_t k = 0; k < times; k++) (void)l->en->ops->launch(l->en->dev, &e, &l->cmd.p[i].l);
    return now_ns(l->workers == 1) - t0;
}

static int run_quietly(struct engine_list *l, struct err *e) {
    bool recorded;
    if (list_record(l, e, &recorded)) return e->code;
    if (recorded) return list_replay(l, e);
    for (uint32_t i = 0; i < l->cmd.n; i++) {
        l->cmd.p[i].l.ns = NULL;
        if (command_launch(l->en, e, &l->cmd.p[i])) return e->code;
    }
    return 0;
}

uint64_t list_time(struct engine_list *l, uint32_t times) {
    enum { BEFORE = 3 }; /* until it is recorded, if it is to be */
    struct err e = {0};
    const struct device_ops *ops = l->en->ops;
    uint64_t ns = 0;
    if (list_has_collective(l)) return UINT64_MAX; /* other ranks would wait */
    take_scratch(l);
    for (uint32_t i = 0; i < BEFORE; i++)
        if (run_quietly(l, &e)) return UINT64_MAX;
    if (ops->span(l->en->dev, &e, NULL, 0)) return UINT64_MAX;
    for (uint32_t i = 0; i < times; i++)
        if (run_quietly(l, &e)) return UINT64_MAX;
    return ops->span(l->en->dev, &e, &ns, TIMED_MOST_NS) ? UINT64_MAX : ns / times;
}

/* All at once, where the device can. A command takes what it took when it was sampled. */
static int run_as_one(struct engine_list *l, struct err *e, bool traced) {
    uint64_t t0 = os_now_ns();
    if (list_replay(l, e)) return e->code;
    uint64_t t1 = os_now_ns();
    for (uint32_t i = 0; i < l->cmd.n; i++) l->cmd.p[i].ns = l->cmd.p[i].device;
    if (!traced) event_add(EVENT_LAUNCH, l->en->event_name, t0, t1, l->cmd.n, 0);
    return 0;
}

static int run_commands(struct engine_list *l, struct err *e, uint32_t from, uint32_t to, bool ask,
                        bool traced) {
    bool far = l->en->ops->wait;
    for (struct command *c = l->cmd.p + from, *end = l->cmd.p + to; c < end; c++) {
        uint64_t took = 0;
        c->l.ns = ask ? &took : NULL;
        if (overlap_begin(l->en, c)) continue;
        if (overlap_wait(l->en, e, c)) return e->code;
        uint64_t t0 = os_now_ns();
        if (command_launch(l->en, e, c)) return e->code;
        uint64_t t1 = os_now_ns();
        if (ask) c->device = took;
        c->ns = far && c->device ? c->device : t1 - t0;
        if (!traced)
            event_add_info(EVENT_KERNEL, c->l.name, c->l.info, ask ? t1 - RG_MIN(took, t1 - t0) : t0, t1,
                           c->l.ops, c->l.bytes);
    }
    return 0;
}

/* On a device that is not waited for, the clock sees only how long it took to ask. The device is asked for the time of each
 * command instead in a run that is a sample (later calls count as much), and where people look at each operation (DEBUG=2, a
 * profile). In a profile it may also note times by itself, without being waited for. */
int engine_list_run_part(struct engine_list *l, struct err *e, uint32_t from, uint32_t to) {
    struct device *dev = l->en->dev;
    bool far = l->en->ops->wait, recording = far && event_recording();
    bool traced = recording && l->en->ops->trace && l->en->ops->trace(dev);
    bool ask = far && (l->sample || log_on(2) || (recording && !traced));
    take_scratch(l);
    if (from == 0 && to >= l->cmd.n && !ask) {
        bool recorded;
        if (list_record(l, e, &recorded)) return e->code;
        if (recorded) return run_as_one(l, e, traced);
    }
    int bad = run_commands(l, e, from, RG_MIN(to, l->cmd.n), ask, traced);
    if (overlap_wait(l->en, e, NULL) || bad) return e->code; /* also after a failure: they use the list */
    if (ask && l->sample) l->runs++, l->sample = false;
    return 0;
}

int engine_list_run(struct engine_list *l, struct err *e) { return engine_list_run_part(l, e, 0, l->cmd.n); }
