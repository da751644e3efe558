/* opencl.c: an OpenCL device: opening, memory, copies, launches.
 *
 * All work goes to one queue that keeps its order, so that memory may be used again as soon as the engine says so, and
 * nothing waits but a read. OpenCL 1.2 is enough.
 * The engine's pointers are addresses with offsets; OpenCL's memory is objects. So an address here is a number from a range that no
 * memory has: each object gets the next part of it, is found again by it, and a kernel is passed object and offset
 * (render/render.h). Addresses are never used twice, which makes the table of objects sorted by itself.
 * Copies to the device of up to a piece go through memory of our own and are not waited for; larger ones are.
 * Times are the device's own: the queue records them.
 * Errors of kernels show up late, in whatever call comes next or waits; those after which the queue is of no use are
 * told as a loss, and every later call fails with it.
 * Tests: tests/unit/opencl.c */
#include "device/opencl/internal.h"
#include "device/host.h"

enum {
    THREADS = 256, /* threads of a block, one iteration each */
    PARTS = 4,     /* of a grid, for each core of a CPU */
    PIECE = 1 << 20,
    UNIT = 8, /* unit of offsets in a buffer, bytes */
};
#define FIRST_ADDRESS ((uint64_t)1 << 52) /* beyond what any machine maps */
#define GAP 4096                          /* between objects: the end of one is not the next */

/* ---- errors -------------------------------------------------------------------------------------------- */

static bool is_final(int code) {
    return code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_DEVICE || code == CL_INVALID_CONTEXT ||
           code == CL_INVALID_COMMAND_QUEUE || code == CL_NVIDIA_FAULT;
}

static int lose(struct opencl_device *d, struct err *e, int code, const char *doing) {
    d->lost = true;
    snprintf(d->why, sizeof d->why, "%s (%d) at %s", opencl_error(code), code, doing);
    return err_set(e, RG_EDEVICE,
                   "%s was lost: %s; what it held is gone. Open it again, or use another device",
                   d->info.name, d->why);
}

int opencl_fail(struct opencl_device *d, struct err *e, int code, const char *doing) {
    if (is_final(code)) return lose(d, e, code, doing);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_INVALID_BUFFER_SIZE)
        return err_set(e, RG_ENOMEM, "%s has no memory left for %s", d->info.name, doing);
    if (code == CL_OUT_OF_HOST_MEMORY)
        return err_set(e, RG_ENOMEM, "no memory left on the host for %s on %s", doing, d->info.name);
    return err_set(e, RG_EDEVICE, "%s failed at %s: %s (%d)", d->info.name, doing, opencl_error(code), code);
}

/* A wait says what went wrong in kernels before it: nothing later can be trusted. */
static int fail_waiting(struct opencl_device *d, struct err *e, int code, const char *doing) {
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY)
        return opencl_fail(d, e, code, doing);
    return lose(d, e, code, doing);
}

int opencl_enter(struct opencl_device *d, struct err *e) {
    if (d->forks != os_forks())
        return err_set(
            e, RG_EDEVICE,
            "%s was opened by the process that this one was forked from, and OpenCL does not survive a fork; "
            "fork before the first context is opened, or start a new program (exec)",
            d->info.name);
    if (!d->lost) return 0;
    return err_set(e, RG_EDEVICE, "%s was lost earlier: %s; open it again to use it", d->info.name, d->why);
}

#define TRY(call, doing)                                   \
    do {                                                   \
        int code_ = (call);                                \
        if (code_) return opencl_fail(d, e, code_, doing); \
    } while (0)

/* ---- opening ------------------------------------------------------------------------------------------- */

static uint64_t number(struct opencl_device *d, unsigned what) {
    uint64_t x = 0; /* answers of 4 bytes too: devices are little-endian, or refused */
    return d->cl->device_info(d->chosen.device, what, sizeof x, &x, NULL) ? 0 : x;
}

static void text_of(struct opencl_device *d, unsigned what, char *out, size_t room) {
    size_t n = 0;
    *out = 0;
    if (d->cl->device_info(d->chosen.device, what, room, out, &n) || n > room) *out = 0;
    out[room - 1] = 0;
}

static bool has_extension(struct opencl_device *d, const char *name) {
    char list[8192];
    text_of(d, CL_DEVICE_EXTENSIONS, list, sizeof list);
    for (const char *s = list; (s = strstr(s, name)); s += strlen(name))
        if ((s == list || s[-1] == ' ') && strchr(" ", s[strlen(name)])) return true;
    return false;
}

static void query(struct opencl_device *d) {
    struct dev_info *i = &d->info;
    char name[256];
    text_of(d, CL_DEVICE_NAME, name, sizeof name);
    snprintf(i->name, sizeof i->name, "%.63s", *name ? name : "the OpenCL device");
    text_of(d, CL_DRIVER_VERSION, d->driver, sizeof d->driver);
    d->cl->platform_info(d->chosen.platform, CL_PLATFORM_VERSION, sizeof d->platform - 1, d->platform, NULL);
    i->units = (int)number(d, CL_DEVICE_MAX_COMPUTE_UNITS);
    i->ghz = (double)number(d, CL_DEVICE_MAX_CLOCK_FREQUENCY) * 1e-3;
    i->memory = number(d, CL_DEVICE_GLOBAL_MEM_SIZE);
    i->memory_free = i->memory; /* OpenCL does not say */
    i->l2 = number(d, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    i->shared = i->shared_most = number(d, CL_DEVICE_LOCAL_MEM_SIZE);
    i->threads = (uint32_t)number(d, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    i->params = (uint32_t)RG_MIN(number(d, CL_DEVICE_MAX_PARAMETER_SIZE), 1u << 20);
    i->cpu = (number(d, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) && env_int(ENV_OPENCL_CPU);
    i->no_f64 = !has_extension(d, "cl_khr_fp64");
    i->no_atomic64 = !has_extension(d, "cl_khr_int64_base_atomics");
    bool exact = number(d, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    snprintf(d->flags, sizeof d->flags, "-cl-std=CL1.2 -w%s",
             exact ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

/* What a device must have; what is nice to have is asked for where it is used. */
static int check(struct opencl_device *d, struct err *e) {
    struct dev_info *i = &d->info;
    char version[128], profile[64];
    text_of(d, CL_DEVICE_VERSION, version, sizeof version);
    text_of(d, CL_DEVICE_PROFILE, profile, sizeof profile);
    if (sscanf(version, "OpenCL %d.%d", &i->major, &i->minor) != 2 || i->major * 10 + i->minor < 12)
        return err_set(e, RG_EDEVICE, "%s speaks \"%s\"; OpenCL 1.2 or newer is needed", i->name, version);
    if (number(d, CL_DEVICE_ADDRESS_BITS) != 64)
        return err_set(e, RG_EDEVICE, "%s has addresses of %u bits; 64 are needed", i->name,
                       (unsigned)number(d, CL_DEVICE_ADDRESS_BITS));
    if (strcmp(profile, "FULL_PROFILE"))
        return err_set(e, RG_EDEVICE,
                       "%s has only OpenCL's embedded profile (\"%s\"); the full one is needed", i->name,
                       profile);
    if (!number(d, CL_DEVICE_ENDIAN_LITTLE))
        return err_set(e, RG_EDEVICE, "%s is big-endian; only little-endian devices are supported", i->name);
    if (!number(d, CL_DEVICE_AVAILABLE))
        return err_set(e, RG_EDEVICE, "%s is not available; another process may have it", i->name);
    if (!number(d, CL_DEVICE_COMPILER_AVAILABLE))
        return err_set(e, RG_EDEVICE, "the driver of %s has no compiler, which is needed", i->name);
    return 0;
}

static int prepare(struct opencl_device *d, struct err *e, int unit) {
    int code = 0;
    if (opencl_choose(e, d->cl, unit, &d->chosen)) return e->code;
    query(d);
    if (check(d, e)) return e->code;
    const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)d->chosen.platform, 0};
    d->context = d->cl->context_new(properties, 1, &d->chosen.device, NULL, NULL, &code);
    TRY(code, "opening it");
    d->queue = d->cl->queue_new(d->context, d->chosen.device, CL_QUEUE_PROFILING_ENABLE, &code);
    TRY(code, "making a queue");
    for (size_t i = 0; i < RG_COUNT(d->piece); i++)
        if (!(d->piece[i].p = mem_alloc(PIECE)))
            return err_set(e, RG_ENOMEM, "out of memory while opening %s", d->info.name);
    return 0;
}

static void device_close(struct device *dev) {
    struct opencl_device *d = opencl_of(dev);
    bool here = d->forks == os_forks(); /* a child must not call the driver */
    if (here && d->queue && !d->lost) d->cl->finish(d->queue);
    for (size_t i = 0; i < RG_COUNT(d->piece); i++) {
        if (here && d->piece[i].done) d->cl->event_free(d->piece[i].done);
        mem_free(d->piece[i].p);
    }
    for (size_t i = 0; here && i < d->blocks; i++) d->cl->buffer_free(d->block[i].mem);
    mem_free(d->block);
    if (here && d->queue) d->cl->queue_free(d->queue);
    if (here && d->context) d->cl->context_free(d->context);
    host_fn_free(d->host);
    mem_free(d);
}

static int device_open(struct err *e, const struct device_ops *ops, struct device **out) {
    const struct opencl *cl = opencl_load(e);
    if (!cl) return e->code;
    struct opencl_device *d = mem_alloc(sizeof *d);
    if (!d) return err_set(e, RG_ENOMEM, "out of memory while opening the OpenCL device");
    memset(d, 0, sizeof *d);
    d->dev.ops = ops, d->cl = cl;
    d->forks = os_forks();
    d->next = FIRST_ADDRESS;
    snprintf(d->info.name, sizeof d->info.name, "the OpenCL device");
    if (prepare(d, e, ops->unit)) {
        device_close(&d->dev);
        return e->code;
    }
    *out = &d->dev;
    return 0;
}

static int device_workers(struct device *dev) {
    struct opencl_device *d = opencl_of(dev);
    return RG_MAX(d->info.units, 1);
}

static int device_info(struct device *dev, struct err *e, struct dev_info *out) {
    struct opencl_device *d = opencl_of(dev);
    (void)e;
    *out = d->info;
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The object that an address lies in; its last byte's successor too, for buffers of nothing. */
static struct opencl_block *find(struct opencl_device *d, const void *p) {
    uint64_t at = (uintptr_t)p;
    size_t lo = 0, hi = d->blocks;
    while (lo < hi) { /* the last that begins at or before it */
        size_t mid = (lo + hi) / 2;
        if (d->block[mid].at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && at - d->block[lo - 1].at <= d->block[lo - 1].n ? &d->block[lo - 1] : NULL;
}

static int find_or_fail(struct opencl_device *d, struct err *e, const void *p, size_t n, cl_mem *mem,
                        size_t *offset) {
    struct opencl_block *b = find(d, p);
    if (!b || (uintptr_t)p - b->at + n > b->n)
        return err_set(e, RG_EINTERNAL, "%p with %zu bytes is no memory of %s; this is a bug in ridge", p, n,
                       d->info.name);
    *mem = b->mem;
    *offset = (uintptr_t)p - b->at;
    return 0;
}

static bool grow(struct opencl_device *d) {
    if (d->blocks < d->room) return true;
    size_t room = d->room ? d->room * 2 : 64;
    struct opencl_block *b = mem_realloc(d->block, room * sizeof *b);
    if (!b) return false;
    d->block = b;
    d->room = room;
    return true;
}

static void *device_alloc(struct device *dev, size_t n) {
    struct opencl_device *d = opencl_of(dev);
    static const uint32_t zero = 0;
    struct err e = {0};
    int code = 0;
    if (opencl_enter(d, &e) || !grow(d)) return NULL;
    n = (RG_MAX(n, 1) + 63) & ~(size_t)63;
    cl_mem mem = d->cl->buffer_new(d->context, CL_MEM_READ_WRITE, n, NULL, &code);
    if (code || !mem) {
        if (is_final(code)) opencl_fail(d, &e, code, "allocating memory"); /* the caller asks `wait` why */
        return NULL;
    }
    /* Many drivers take memory when it is first used: this is where one finds out. */
    code = d->cl->fill(d->queue, mem, &zero, sizeof zero, 0, n, 0, NULL, NULL);
    if (code) {
        if (is_final(code)) opencl_fail(d, &e, code, "allocating memory");
        d->cl->buffer_free(mem);
        return NULL;
    }
    uint64_t at = d->next;
    d->block[d->blocks++] = (struct opencl_block){at, n, mem};
    d->next += (n + 2 * GAP - 1) & ~(uint64_t)(GAP - 1);
    return (void *)(uintptr_t)at;
}

/* A buffer that the queue still needs is released when that is done: OpenCL counts. */
static void device_free(struct device *dev, void *p, size_t n) {
    struct opencl_device *d = opencl_of(dev);
    struct opencl_block *b = p ? find(d, p) : NULL;
    (void)n;
    if (!b || b->at != (uintptr_t)p) return;
    d->cl->buffer_free(b->mem);
    size_t i = (size_t)(b - d->block);
    memmove(b, b + 1, (d->blocks - i - 1) * sizeof *b);
    d->blocks--;
}

static int device_wait(struct device *dev, struct err *e) {
    struct opencl_device *d = opencl_of(dev);
    if (opencl_enter(d, e)) return e->code;
    int code = d->cl->finish(d->queue);
    return code ? fail_waiting(d, e, code, "waiting for its kernels") : 0;
}

/* A copy that the host does not wait for. */
static int copy_piece(struct opencl_device *d, struct err *e, cl_mem mem, size_t offset, const void *src,
                      size_t n) {
    struct opencl_piece *p = &d->piece[d->next_piece];
    d->next_piece = (d->next_piece + 1) % (int)RG_COUNT(d->piece);
    if (p->done) {
        int code = d->cl->event_wait(1, &p->done);
        d->cl->event_free(p->done);
        p->done = NULL;
        if (code) return fail_waiting(d, e, code, "waiting for a copy");
    }
    memcpy(p->p, src, n);
    TRY(d->cl->write(d->queue, mem, 0, offset, n, p->p, 0, NULL, &p->done), "a copy to the device");
    return 0;
}

static int device_copy(struct device *dev, struct err *e, enum dev_copy kind, void *dst, const void *src,
                       size_t n) {
    struct opencl_device *d = opencl_of(dev);
    cl_mem to = NULL, from = NULL;
    size_t to_at = 0, from_at = 0;
    if (opencl_enter(d, e)) return e->code;
    if (!n) return 0;
    if (kind != COPY_OUT && find_or_fail(d, e, dst, n, &to, &to_at)) return e->code;
    if (kind != COPY_IN && find_or_fail(d, e, src, n, &from, &from_at)) return e->code;
    if (kind == COPY_IN && n <= PIECE) return copy_piece(d, e, to, to_at, src, n);
    if (kind == COPY_WITHIN) {
        TRY(d->cl->copy(d->queue, from, to, from_at, to_at, n, 0, NULL, NULL), "a copy on the device");
        return 0;
    }
    int code = kind == COPY_IN ? d->cl->write(d->queue, to, 1, to_at, n, src, 0, NULL, NULL)
                               : d->cl->read(d->queue, from, 1, from_at, n, dst, 0, NULL, NULL);
    if (code)
        return fail_waiting(d, e, code, kind == COPY_IN ? "a copy to the device" : "a copy from the device");
    return 0;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

static int device_builtin(struct device *dev, struct err *e, const struct dev_call *c, dev_fn *const *kernel,
                          struct dev_builtin *out) {
    struct opencl_device *d = opencl_of(dev);
    (void)kernel;
    struct host_fn *f;
    if (host_fn_find(&d->host, e, c, &f)) return e->code;
    *out = (struct dev_builtin){.fn = host_fn_mark(f)};
    return 0;
}

/* All threads, and those of a block; a kernel with scratch memory has no more than areas. */
static void shape(const struct opencl_device *d, const struct opencl_kernel *k, const struct dev_launch *l,
                  size_t *all, size_t *threads) {
    if (d->info.cpu) { /* a core runs a work-group, its work-items serially */
        size_t parts = (size_t)PARTS * (size_t)RG_MAX(d->info.units, 1);
        *threads = 1;
        *all = l->chunk >= l->grid ? 1 : RG_MIN(l->grid, l->areas ? RG_MIN(parts, l->areas) : parts);
        return;
    }
    *threads = l->block ? l->block : RG_MAX(RG_MIN((size_t)THREADS, k->threads), 1);
    size_t each = l->block ? RG_MAX(l->per_block, 1u) : *threads, n = (l->grid + each - 1) / each;
    if (l->areas) {
        *threads = RG_MIN(*threads, l->areas);
        n = RG_MIN((l->grid + *threads - 1) / *threads, l->areas / *threads);
    }
    *all = n * *threads;
}

/* As render_opencl lists them: memory, offsets, numbers, iterations, scratch. */
static int set_params(struct opencl_device *d, struct err *e, const struct opencl_kernel *k,
                      const struct dev_launch *l) {
    unsigned n = 0, bytes = 12 * l->nbuf + 8 * l->nvar + 24;
    uint64_t grid = l->grid, stride = l->scratch_stride;
    cl_mem mem = NULL;
    size_t offset = 0;
    if (bytes > d->info.params)
        return err_set(e, RG_ELIMIT,
                       "a kernel with %u buffers and %u numbers needs %u bytes of parameters; %s takes %u",
                       l->nbuf, l->nvar, bytes, d->info.name, d->info.params);
    for (uint32_t i = 0; i < l->nbuf; i++) {
        if (find_or_fail(d, e, l->buf[i], 0, &mem, &offset)) return e->code;
        uint32_t units = (uint32_t)(offset / UNIT);
        if (offset % UNIT || offset / UNIT > UINT32_MAX)
            return err_set(e, RG_ELIMIT,
                           "a buffer that begins %zu bytes into a block of memory; OpenCL kernels take "
                           "multiples of %d up "
                           "to 32 GB",
                           offset, UNIT);
        TRY(d->cl->kernel_arg(k->k, n++, sizeof mem, &mem), "giving a kernel its buffers");
        TRY(d->cl->kernel_arg(k->k, l->nbuf + i, sizeof units, &units), "giving a kernel its buffers");
    }
    n += l->nbuf;
    for (uint32_t i = 0; i < l->nvar; i++)
        TRY(d->cl->kernel_arg(k->k, n++, sizeof l->var[i], &l->var[i]), "giving a kernel its numbers");
    mem = NULL;
    if (l->areas && find_or_fail(d, e, l->scratch, 0, &mem, &offset)) return e->code;
    TRY(d->cl->kernel_arg(k->k, n++, sizeof grid, &grid), "giving a kernel its numbers");
    TRY(d->cl->kernel_arg(k->k, n++, sizeof mem, mem ? &mem : NULL), "giving a kernel its scratch memory");
    TRY(d->cl->kernel_arg(k->k, n++, sizeof stride, &stride), "giving a kernel its numbers");
    return 0;
}

/* Waits for it, by the device's clock. */
static int time_of(struct opencl_device *d, struct err *e, cl_event event, uint64_t *ns) {
    uint64_t begin = 0, end = 0;
    int code = d->cl->event_wait(1, &event), status = 0;
    if (!code && !d->cl->event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) &&
        status < 0)
        code = status;
    if (code) return fail_waiting(d, e, code, "running a kernel");
    TRY(d->cl->event_time(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL), "timing a kernel");
    TRY(d->cl->event_time(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "timing a kernel");
    *ns = end > begin ? end - begin : 0;
    return 0;
}

static int device_launch(struct device *dev, struct err *e, const struct dev_launch *l) {
    struct opencl_device *d = opencl_of(dev);
    const struct opencl_kernel *k = (const struct opencl_kernel *)(uintptr_t)l->fn;
    size_t all, threads;
    cl_event event = NULL;
    if (opencl_enter(d, e)) return e->code;
    if (l->ns) *l->ns = 0;
    if (!l->grid) return 0;
    if (host_fn_of(l->fn)) return host_fn_run(dev, device_copy, e, host_fn_of(l->fn), l);
    if (set_params(d, e, k, l)) return e->code;
    shape(d, k, l, &all, &threads);
    TRY(d->cl->launch(d->queue, k->k, 1, NULL, &all, &threads, 0, NULL, l->ns ? &event : NULL),
        "starting a kernel");
    if (!l->ns) {
        TRY(d->cl->flush(d->queue), "starting a kernel");
        return 0;
    }
    int code = time_of(d, e, event, l->ns);
    d->cl->event_free(event);
    return code;
}

/* One program at a time: what costs is starting the compiler (PoCL reads 0.1 s of headers), and drivers lock. */
#define OPENCL_DEVICE(n, text_name)                                                                       \
    {                                                                                                     \
        .name = text_name, .text = DEV_OPENCL, .unit = n, .discrete = true, .scratch = (size_t)64 << 20,  \
        .programs = 1, .open = device_open, .close = device_close, .alloc = device_alloc,                 \
        .free = device_free, .copy = device_copy, .workers = device_workers, .info = device_info,         \
        .target = opencl_target, .version = opencl_version, .compile = opencl_compile,                    \
        .assembly = opencl_assembly, .load = opencl_load_object, .unload = opencl_unload,                 \
        .symbol = opencl_symbol, .builtin = device_builtin, .launch = device_launch, .wait = device_wait, \
    }

const struct device_ops device_opencl[OPENCL_DEVICES] = {
    OPENCL_DEVICE(0, "OPENCL"),   OPENCL_DEVICE(1, "OPENCL:1"), OPENCL_DEVICE(2, "OPENCL:2"),
    OPENCL_DEVICE(3, "OPENCL:3"), OPENCL_DEVICE(4, "OPENCL:4"), OPENCL_DEVICE(5, "OPENCL:5"),
    OPENCL_DEVICE(6, "OPENCL:6"), OPENCL_DEVICE(7, "OPENCL:7"),
};
