/* cuda.c: an NVIDIA GPU as a device: memory, copies, modules, launches.
 *
 * Kernels go to one stream, in the engine's order, so memory may be reused as soon as the engine says so, and only reads wait.
 * The host runs ahead: a launch returns at once; a copy to the device returns when its last chunk is in pinned memory; a
 * copy to the host waits. Copies go through four chunks of pinned memory round-robin: the driver would stage pageable
 * memory synchronously. The context is the device's primary one, shared with other libraries of the process.
 * A fault in a kernel is final: the driver refuses every context to the process from then on (seen with 580; contexts of
 * our own do not help). Every later call says so and fails, and the process lives on with other devices.
 * Tests: tests/unit/cuda.c (need a GPU) */
#include "device/cuda/internal.h"
#include "event/event.h"

#include <stdatomic.h>

enum { PIECES = CUDA_PIECES, PIECE = 4 << 20, OUT_OF_MEMORY = 2 };
enum {
    SHARED_FREE = 48 << 10,
    MAX_DYNAMIC_SHARED = 8
}; /* shared memory beyond it is opt-in; its function attribute */

struct cuda_module {
    struct module mod;
    cu_module m;
};

/* ---- errors -------------------------------------------------------------------------------------------- */

/* Errors after which the context is unusable: faults of kernels, and of the machine. */
static bool is_final(int code) {
    return (code >= 700 && code != 701 && code != 704 && code != 705 && code != 708 && code < 800) ||
           code == 214 || code == 46 || code == 999;
}

/* Contexts of one GPU share the driver's primary context: a fault takes it from all of them, and the first that is closed
 * resets it. Those that were opened before that do not reset it again under the feet of newer ones. */
enum { GPUS = 64 };
static _Atomic uint32_t resets[GPUS];

static _Atomic uint32_t *resets_of(const struct cuda_device *d) {
    return &resets[(unsigned)d->number % GPUS];
}

static const char reopen[] =
    "what it held is gone. Close all contexts of this GPU (rg_close) and open one again; if the "
    "driver does not give it back, start the process anew";

int cuda_fail(struct cuda_device *d, struct err *e, int code, const char *doing) {
    const char *name = "?", *text = "?";
    d->cu->error_name(code, &name), d->cu->error_text(code, &text);
    if (!name) name = "?";
    if (!text) text = "?";
    if (code == OUT_OF_MEMORY)
        return err_set(e, RG_ENOMEM, "%s has no memory left for %s", d->info.name, doing);
    if (!is_final(code))
        return err_set(e, RG_EDEVICE, "%s failed at %s: %s (%s)", d->info.name, doing, name, text);
    d->lost = true;
    snprintf(d->why, sizeof d->why, "%s (%s) at %s", name, text, doing);
    return err_set(e, RG_EDEVICE, "%s was lost: %s; %s", d->info.name, d->why, reopen);
}

int cuda_enter(struct cuda_device *d, struct err *e) {
    if (d->forks != os_forks())
        return err_set(
            e, RG_EDEVICE,
            "%s was opened by the process that this one was forked from, and CUDA does not survive a fork; "
            "fork before the first context is opened, or start a new program (exec)",
            d->info.name);
    if (d->lost)
        return err_set(e, RG_EDEVICE, "%s was lost earlier: %s; %s", d->info.name, d->why,
                       d->hung ? "start the process anew to use CUDA" : reopen);
    int code = d->cu->make_current(d->context);
    return code ? cuda_fail(d, e, code, "making its context current") : 0;
}

#define TRY CUDA_TRY

/* ---- opening ------------------------------------------------------------------------------------------- */

static int attribute(struct cuda_device *d, int which) {
    int x = 0;
    return d->cu->attribute(&x, which, d->number) ? 0 : x;
}

static void query(struct cuda_device *d) {
    struct dev_info *i = &d->info;
    d->cu->device_name(i->name, sizeof i->name, d->number);
    d->cu->device_memory(&i->memory, d->number);
    i->shared = (size_t)attribute(d, 8);
    i->ghz = attribute(d, 13) * 1e-6;
    i->units = attribute(d, 16);
    i->memory_rate = attribute(d, 36) * 1e-6 * attribute(d, 37) / 8 * 2; /* two transfers per clock */
    i->l2 = (size_t)attribute(d, 38);
    i->major = attribute(d, 75);
    i->minor = attribute(d, 76);
    i->shared_most = (size_t)attribute(d, 97);
    i->threads_sm = attribute(d, 39);
    i->shared_sm = attribute(d, 81);
    i->regs_sm = attribute(d, 82);
    i->blocks_sm = attribute(d, 106);
    i->no_maps = !d->cu->map || i->major < 9;
}

static int prepare(struct cuda_device *d, struct err *e, int unit) {
    int n = 0;
    TRY(d->cu->count(&n), "counting GPUs");
    if (unit >= n)
        return err_set(e, RG_EDEVICE, "there is no CUDA:%d; this machine has %d NVIDIA GPU%s", unit, n,
                       n == 1 ? "" : "s");
    TRY(d->cu->device(&d->number, unit), "finding the GPU");
    d->opened = atomic_load(resets_of(d));
    query(d);
    if (d->info.major < 7)
        return err_set(e, RG_EDEVICE, "%s has compute capability %d.%d; 7.0 or newer is needed", d->info.name,
                       d->info.major, d->info.minor);
    TRY(d->cu->retain(&d->context, d->number), "opening it");
    TRY(d->cu->make_current(d->context), "opening it");
    TRY(d->cu->stream_new(&d->stream, 1), "making a stream"); /* 1: does not wait for the default stream */
    TRY(d->cu->stream_new(&d->copies, 1), "making a stream");
    TRY(d->cu->event_new(&d->here, 2), "making an event"); /* 2: without time */
    TRY(d->cu->event_new(&d->begin, 0), "making an event");
    TRY(d->cu->event_new(&d->end, 0), "making an event");
    for (int i = 0; i < PIECES; i++) {
        TRY(d->cu->host_alloc((void **)&d->piece[i].p, PIECE, 0), "pinned memory");
        TRY(d->cu->event_new(&d->piece[i].done, 2), "making an event");
    }
    struct err ignore = {0};
    nvrtc_arch(cuda_nvrtc(&ignore), d->info.major, d->info.minor, d->arch);
    if (strcmp(d->arch, "sm_90a"))
        d->info.no_maps = true; /* NVRTC older than the GPU, or a GPU without TMA */
    return 0;
}

static void cuda_close(struct device *dev) {
    struct cuda_device *d = cuda_of(dev);
    if (d->forks != os_forks()) d->lost = d->hung = true; /* a child has no GPU to give anything back to */
    cuda_trace_close(d);
    if (d->context && !d->lost && !d->cu->make_current(d->context)) {
        if (d->stream) d->cu->stream_wait(d->stream);
        if (d->copies) d->cu->stream_wait(d->copies);
        for (int i = 0; i < PIECES; i++) {
            if (d->piece[i].p) d->cu->host_free(d->piece[i].p);
            if (d->piece[i].done) d->cu->event_free(d->piece[i].done);
        }
        if (d->delay.module) d->cu->unload(d->delay.module);
        if (d->begin) d->cu->event_free(d->begin);
        if (d->end) d->cu->event_free(d->end);
        if (d->here) d->cu->event_free(d->here);
        if (d->copies) d->cu->stream_free(d->copies);
        if (d->stream) d->cu->stream_free(d->stream);
    }
    uint32_t opened = d->opened;
    if (d->lost && !d->hung && atomic_compare_exchange_strong(resets_of(d), &opened, opened + 1))
        d->cu->reset(d->number);
    if (d->context && !d->hung) d->cu->release(d->number);
    cuda_calls_free(d->calls);
    mem_free(d->map);
    mem_free(d);
}

static int cuda_open(struct err *e, const struct device_ops *ops, struct device **out) {
    const struct cuda_driver *cu = cuda_driver(e);
    if (!cu) return e->code;
    struct cuda_device *d = mem_alloc(sizeof *d);
    if (!d) return err_set(e, RG_ENOMEM, "out of memory while opening the CUDA device");
    memset(d, 0, sizeof *d);
    d->dev.ops = ops, d->cu = cu;
    d->forks = os_forks();
    snprintf(d->info.name, sizeof d->info.name, "the GPU");
    if (prepare(d, e, ops->unit)) {
        cuda_close(&d->dev);
        return e->code;
    }
    cuda_trace_open(d);
    *out = &d->dev;
    return 0;
}

static int cuda_workers(struct device *dev) {
    struct cuda_device *d = cuda_of(dev);
    return RG_MAX(d->info.units, 1);
}

static int cuda_info(struct device *dev, struct err *e, struct dev_info *out) {
    struct cuda_device *d = cuda_of(dev);
    size_t all;
    if (cuda_enter(d, e)) return e->code;
    TRY(d->cu->memory(&d->info.memory_free, &all), "asking for its memory");
    *out = d->info;
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void *cuda_alloc(struct device *dev, size_t n) {
    struct cuda_device *d = cuda_of(dev);
    struct err e = {0};
    cu_ptr p = 0;
    if (cuda_enter(d, &e)) return NULL;
    int code = d->cu->alloc(&p, RG_MAX(n, 1));
    if (!code && (code = d->cu->fill(p, 0, RG_MAX(n, 1), d->stream))) d->cu->free(p);
    if (code)
        cuda_fail(d, &e, code, "allocating memory"); /* notes a lost device; the caller asks `wait` why */
    return code ? NULL : (void *)(uintptr_t)p;
}

static void cuda_free(struct device *dev, void *p, size_t n) {
    struct cuda_device *d = cuda_of(dev);
    struct err e = {0};
    (void)n;
    if (p && !cuda_enter(d, &e)) d->cu->free((cu_ptr)(uintptr_t)p);
}

static int cuda_wait(struct device *dev, struct err *e) {
    struct cuda_device *d = cuda_of(dev);
    if (cuda_enter(d, e)) return e->code;
    TRY(d->cu->stream_wait(d->stream), "waiting for its kernels");
    return 0;
}

/* The next chunk of pinned memory, once its last copy is complete. */
static int take_piece(struct cuda_device *d, struct err *e, struct cuda_piece **out) {
    struct cuda_piece *p = &d->piece[d->next];
    d->next = (d->next + 1) % PIECES;
    if (p->busy) TRY(d->cu->event_wait(p->done), "waiting for a copy");
    p->busy = false;
    *out = p;
    return 0;
}

static int mark_piece(struct cuda_device *d, struct err *e, struct cuda_piece *p) {
    TRY(d->cu->event_record(p->done, d->stream), "a copy");
    p->busy = true;
    return 0;
}

static int copy_in(struct cuda_device *d, struct err *e, cu_ptr to, const char *from, size_t n) {
    for (size_t at = 0; at < n; at += PIECE) {
        struct cuda_piece *p;
        size_t k = RG_MIN(n - at, (size_t)PIECE);
        if (take_piece(d, e, &p)) return e->code;
        memcpy(p->p, from + at, k);
        TRY(d->cu->copy_in(to + at, p->p, k, d->stream), "a copy to the GPU");
        if (mark_piece(d, e, p)) return e->code;
    }
    return 0;
}

/* Up to PIECES copies are in flight while the oldest is copied out. */
static int copy_out(struct cuda_device *d, struct err *e, char *to, cu_ptr from, size_t n) {
    struct cuda_piece *p[PIECES];
    size_t pieces = (n + PIECE - 1) / PIECE;
    for (size_t i = 0; i < pieces + PIECES; i++) {
        if (i >= PIECES) { /* the chunk of copy i - PIECES */
            size_t done = i - PIECES, k = RG_MIN(n - done * PIECE, (size_t)PIECE);
            TRY(d->cu->event_wait(p[done % PIECES]->done), "a copy from the GPU");
            p[done % PIECES]->busy = false;
            memcpy(to + done * PIECE, p[done % PIECES]->p, k);
            if (done + 1 == pieces) break;
        }
        if (i >= pieces) continue;
        if (take_piece(d, e, &p[i % PIECES])) return e->code;
        size_t k = RG_MIN(n - i * PIECE, (size_t)PIECE);
        TRY(d->cu->copy_out(p[i % PIECES]->p, from + i * PIECE, k, d->stream), "a copy from the GPU");
        if (mark_piece(d, e, p[i % PIECES])) return e->code;
    }
    return 0;
}

static int cuda_copy(struct device *dev, struct err *e, enum dev_copy kind, void *dst, const void *src,
                     size_t n) {
    struct cuda_device *d = cuda_of(dev);
    if (cuda_enter(d, e)) return e->code;
    if (!n) return 0;
    if (kind == COPY_IN) return copy_in(d, e, (cu_ptr)(uintptr_t)dst, src, n);
    if (kind == COPY_OUT) return copy_out(d, e, dst, (cu_ptr)(uintptr_t)src, n);
    TRY(d->cu->copy_within((cu_ptr)(uintptr_t)dst, (cu_ptr)(uintptr_t)src, n, d->stream),
        "a copy on the GPU");
    return 0;
}

/* ---- code ---------------------------------------------------------------------------------------------- */

static int cuda_target(struct device *dev, struct err *e, struct arena *a, struct dev_target *t) {
    struct cuda_device *d = cuda_of(dev);
    struct err ignore = {0};
    const struct cuda_nvrtc *rtc = cuda_nvrtc(&ignore);
    (void)e;
    *t =
        (struct dev_target){.request = "nvrtc", .flags = nvrtc_flags, .arch = arena_printf(a, "%s", d->arch)};
    if (!rtc) return 0;
    t->tool = rtc->path;
    t->stamp = arena_printf(a, "%s %d.%d", rtc->path, rtc->major, rtc->minor);
    return 0;
}

static int cuda_version(struct device *dev, struct err *e, struct arena *a, const char **out) {
    (void)dev;
    *out = nvrtc_version(e, a);
    return *out ? 0 : e->code;
}

static int cuda_compile(struct device *dev, struct err *e, struct arena *a, const char *const *text, int n,
                        struct dev_object *out) {
    struct cuda_device *d = cuda_of(dev);
    return nvrtc_compile(e, a, d->arch, text, n, out);
}

/* PTX: readable without NVIDIA's disassembler. */
static int cuda_assembly(struct device *dev, struct err *e, struct arena *a, const char *text, char **out) {
    struct cuda_device *d = cuda_of(dev);
    char arch[24];
    struct dev_object o;
    snprintf(arch, sizeof arch, "compute_%s", strchr(d->arch, '_') + 1);
    if (nvrtc_compile(e, a, arch, &text, 1, &o)) return e->code;
    *out = o.data;
    return 0;
}

static int cuda_load(struct device *dev, struct err *e, const void *object, size_t n, struct module **out) {
    struct cuda_device *d = cuda_of(dev);
    if (cuda_enter(d, e)) return e->code;
    (void)n;
    struct cuda_module *m = mem_alloc(sizeof *m);
    if (!m) return err_set(e, RG_ENOMEM, "out of memory while loading a kernel");
    m->mod.dev = dev;
    int code = d->cu->load(&m->m, object);
    if (code) {
        mem_free(m);
        return cuda_fail(d, e, code, "loading a kernel");
    }
    *out = &m->mod;
    return 0;
}

static void cuda_unload(struct module *mod) {
    struct cuda_module *m = (struct cuda_module *)mod;
    struct cuda_device *d = cuda_of(mod->dev);
    struct err e = {0};
    if (!cuda_enter(d, &e)) d->cu->unload(m->m);
    memset(d->granted, 0, sizeof d->granted); /* other kernels may get its addresses */
    mem_free(m);
}

static dev_fn *cuda_symbol(struct module *mod, const char *name) {
    struct cuda_device *d = cuda_of(mod->dev);
    struct err e = {0};
    cu_function f = NULL;
    if (cuda_enter(d, &e) || d->cu->function(&f, ((struct cuda_module *)mod)->m, name)) return NULL;
    return (dev_fn *)(uintptr_t)f;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

/* Of threads that share nothing: a small grid is spread over all SMs, in warps (tune/cost/gpu_count.c knows it). */
static unsigned lone_threads(const struct cuda_device *d, uint32_t grid) {
    unsigned warps = 32u * (unsigned)RG_MAX(d->info.units, 1);
    return RG_MIN(RG_MAX((grid + warps - 1) / warps, 1u) * 32, 256u);
}

/* A kernel with scratch memory has no more threads than areas. */
void cuda_shape(const struct cuda_device *d, const struct dev_launch *l, unsigned *blocks,
                unsigned *threads) {
    *threads = l->block ? l->block : lone_threads(d, l->grid);
    uint64_t each = l->block ? RG_MAX(l->per_block, 1u) : *threads, n = (l->grid + each - 1) / each;
    if (l->areas) {
        *threads = RG_MIN(*threads, l->areas);
        n = RG_MIN(((uint64_t)l->grid + *threads - 1) / *threads, l->areas / *threads);
    }
    *blocks = (unsigned)n;
}

static size_t plain_words(const struct dev_launch *l) { return l->nbuf + l->nvar + 3; }

size_t cuda_param_words(const struct dev_launch *l) {
    return plain_words(l) + l->nmap * (size_t)CUDA_MAP_WORDS;
}

void cuda_told(const struct dev_launch *l, uint64_t *param, struct cuda_told *t) {
    size_t n = plain_words(l);
    t->bytes = n * sizeof *param;
    if (l->nmap) { /* with descriptors, parameter offsets are the compiler's: passed one by one */
        for (size_t i = 0; i < n; i++) t->each[i] = param + i;
        for (uint32_t i = 0; i < l->nmap; i++) t->each[n + i] = param + n + i * (size_t)CUDA_MAP_WORDS;
        t->params = t->each, t->extra = NULL;
        return;
    }
    void *all[] = {(void *)1, param, (void *)2, &t->bytes, NULL}; /* 1: their address, 2: their size */
    memcpy(t->list, all, sizeof all);
    t->params = NULL, t->extra = t->list;
}

int cuda_limits(const struct cuda_device *d, struct err *e, const struct dev_launch *l) {
    if (cuda_param_words(l) > CUDA_PARAMS || (l->nmap && plain_words(l) + l->nmap > CUDA_MOST_EACH))
        return err_set(e, RG_ELIMIT, "a kernel with %u buffers and numbers; CUDA takes %d", l->nbuf + l->nvar,
                       CUDA_PARAMS - 3);
    if (l->grid > INT32_MAX && l->block)
        return err_set(e, RG_ELIMIT, "a kernel of %u blocks; CUDA has %d", l->grid, INT32_MAX);
    if (l->shared > d->info.shared_most)
        return err_set(e, RG_ELIMIT,
                       "a kernel whose blocks share %u bytes; %s has %zu for a block: choose smaller tiles",
                       l->shared, d->info.name, d->info.shared_most);
    return 0;
}

int cuda_params(struct cuda_device *d, struct err *e, const struct dev_launch *l,
                uint64_t param[CUDA_PARAMS]) {
    size_t n = 0;
    for (uint32_t i = 0; i < l->nbuf; i++) param[n++] = (uintptr_t)l->buf[i];
    for (uint32_t i = 0; i < l->nvar; i++) param[n++] = (uint64_t)l->var[i];
    param[n++] = l->grid;
    param[n++] = (uintptr_t)l->scratch;
    param[n++] = l->scratch_stride;
    for (uint32_t i = 0; i < l->nmap; i++, n += CUDA_MAP_WORDS)
        if (cuda_map(d, e, &l->map[i], l->buf[l->map[i].slot], param + n)) return e->code;
    return 0;
}

/* Shared memory beyond the default is opt-in, once per kernel. */
int cuda_shared(struct cuda_device *d, const struct dev_launch *l) {
    cu_function fn = (cu_function)(uintptr_t)l->fn;
    uint32_t at = hash_u64((uintptr_t)fn) % CUDA_GRANTED;
    if (l->shared <= SHARED_FREE || (d->granted[at].fn == fn && d->granted[at].bytes == l->shared)) return 0;
    int code = d->cu->function_set(fn, MAX_DYNAMIC_SHARED, (int)l->shared);
    if (!code) d->granted[at].fn = fn, d->granted[at].bytes = l->shared;
    return code;
}

/* Programmatic dependent launch (PDL): a kernel with griddepcontrol.wait starts while its predecessor in
 * the stream drains, which hides launch latency. Not for grids of many blocks, or of small memory-bound
 * ones: early blocks go where there is room and are spread unevenly (448 memory-bound blocks take a
 * seventh longer). */
static bool cuda_overlaps(struct device *dev, const struct dev_launch *l) {
    struct cuda_device *d = cuda_of(dev);
    enum { LIGHT = 8 << 20 }; /* bytes */
    unsigned blocks, threads;
    cuda_shape(d, l, &blocks, &threads);
    return l->waits && (l->block || l->bytes <= LIGHT) && blocks <= 2u * (unsigned)d->info.units &&
           d->cu->launch_with && d->info.major >= 9 && !cuda_call_of(l->fn);
}

/* No PDL for timed launches, nor for traced ones, whose records CUPTI announces for the plain call. */
static bool soon(struct cuda_device *d, const struct dev_launch *l) {
    return !l->ns && cuda_overlaps(&d->dev, l) && !cuda_tracing();
}

static int start(struct cuda_device *d, struct err *e, const struct dev_launch *l) {
    uint64_t param[CUDA_PARAMS];
    unsigned blocks, threads;
    if (cuda_limits(d, e, l)) return e->code;
    struct cuda_told t;
    if (cuda_params(d, e, l, param)) return e->code;
    cuda_told(l, param, &t);
    cuda_shape(d, l, &blocks, &threads);
    TRY(cuda_shared(d, l), "asking for shared memory");
    cu_function fn = (cu_function)(uintptr_t)l->fn;
    struct cu_attribute pdl = {.id = CU_ATTR_PDL, .value = {.on = 1}};
    struct cu_launch how = {blocks, 1, 1, threads, 1, 1, l->shared, d->stream, &pdl, 1};
    TRY(soon(d, l) ? d->cu->launch_with(&how, fn, t.params, t.extra)
                   : d->cu->launch(fn, blocks, 1, 1, threads, 1, 1, l->shared, d->stream, t.params, t.extra),
        "starting a kernel");
    return 0;
}

static int start_steps(struct cuda_device *d, struct err *e, const struct cuda_call *c,
                       const struct dev_launch *l, uint32_t n) {
    struct cuda_step s;
    for (uint32_t i = 0; i < n; i++) {
        cuda_call_step(c, l, i, &s);
        if (start(d, e, &s.l)) return e->code;
    }
    return 0;
}

/* NVTX, for Nsight: its name and provenance, "r_512_10 linear net.3 mnist.c:55". */
static void push_range(const struct dev_launch *l) {
    char text[400];
    const char *info = event_name_text(l->info);
    snprintf(text, sizeof text, "%.120s %.*s", event_name_text(l->name),
             (int)RG_MIN(strcspn(info, "\t"), 250u), info);
    event_nvtx_push(text);
}

/* A kernel, or all kernels of a builtin. */
static int start_all(struct cuda_device *d, struct err *e, const struct dev_launch *l) {
    const struct cuda_call *c = cuda_call_of(l->fn);
    uint32_t n = c ? cuda_call_steps(c, l) : 1;
    struct cuda_trace t;
    if (event_nvtx()) push_range(l);
    cuda_trace_begin(&t, d, 1, NULL);
    cuda_trace_unit(&t, 0, l, n);
    int code = c ? start_steps(d, e, c, l, n) : start(d, e, l);
    cuda_trace_end(&t, code);
    if (event_nvtx()) event_nvtx_pop();
    return code;
}

static int cuda_stream(struct device *dev, struct err *e, void **out) {
    struct cuda_device *d = cuda_of(dev);
    *out = d->stream;
    return cuda_enter(d, e);
}

static int cuda_launch(struct device *dev, struct err *e, const struct dev_launch *l) {
    struct cuda_device *d = cuda_of(dev);
    if (cuda_enter(d, e)) return e->code;
    if (l->ns) *l->ns = 0;
    if (!l->grid) return 0;
    if (!l->ns) return start_all(d, e, l);
    bool alone = l->times <= 1 && cuda_delay(d, l->limit);
    if (cuda_span(dev, e, NULL, 0)) return e->code;
    for (uint32_t i = 0; i < RG_MAX(l->times, 1u); i++)
        if (start_all(d, e, l)) return e->code;
    if (cuda_span(dev, e, l->ns, l->limit)) return e->code;
    if (alone) *l->ns -= RG_MIN(d->delay.empty_ns, *l->ns - (*l->ns > 0));
    return 0;
}

#define CUDA_DEVICE(n, text_name)                                                                            \
    {                                                                                                        \
        .name = text_name, .text = DEV_CUDA, .unit = n, .discrete = true, .scratch = (size_t)512 << 20,      \
        .open = cuda_open, .close = cuda_close, .alloc = cuda_alloc, .free = cuda_free, .copy = cuda_copy,   \
        .workers = cuda_workers, .info = cuda_info, .target = cuda_target, .version = cuda_version,          \
        .compile = cuda_compile, .assembly = cuda_assembly, .load = cuda_load, .unload = cuda_unload,        \
        .symbol = cuda_symbol, .kernels = cuda_call_kernels, .builtin = cuda_builtin, .launch = cuda_launch, \
        .span = cuda_span, .overlaps = cuda_overlaps, .wait = cuda_wait, .trace = cuda_trace,                \
        .stream = cuda_stream, .host_alloc = cuda_host_alloc, .host_free = cuda_host_free,                   \
        .fetch = cuda_fetch, .order = cuda_order, .fetched = cuda_fetched, .record = cuda_record,            \
        .replay = cuda_replay, .record_free = cuda_forget,                                                   \
    }

const struct device_ops device_cuda[CUDA_DEVICES] = {
    CUDA_DEVICE(0, "CUDA"),   CUDA_DEVICE(1, "CUDA:1"), CUDA_DEVICE(2, "CUDA:2"), CUDA_DEVICE(3, "CUDA:3"),
    CUDA_DEVICE(4, "CUDA:4"), CUDA_DEVICE(5, "CUDA:5"), CUDA_DEVICE(6, "CUDA:6"), CUDA_DEVICE(7, "CUDA:7"),
};
