/* cpu.c: the CPU as a device: memory, and launches on the process-wide pool.
 *
 * A launch with one chunk is a plain call, which is what small kernels need: ten one-element kernels must
 * not cost more than ten calls. Everything else goes to the pool, whose workers take chunks from a counter
 * and have a scratch area each.
 * Tests: tests/unit/engine.c; cost: bench/dispatch.c */
#include "device/cpu/internal.h"
#include "event/event.h"

struct cpu_device {
    struct device dev;
    struct pool *pool; /* NULL until the first launch that needs it */
};
static struct cpu_device *cpu_of(struct device *d) { return (struct cpu_device *)d; }

static int cpu_open(struct err *e, const struct device_ops *ops, struct device **out) {
    struct cpu_device *d = mem_alloc(sizeof *d);
    if (!d) return err_set(e, RG_ENOMEM, "out of memory while opening the CPU device");
    *d = (struct cpu_device){.dev.ops = ops};
    *out = &d->dev;
    return 0;
}

static void cpu_close(struct device *dev) { mem_free(dev); }

static void *cpu_alloc(struct device *dev, size_t n) {
    (void)dev;
    return os_pages(n);
}

static void cpu_free(struct device *dev, void *p, size_t n) {
    (void)dev;
    os_pages_free(p, n);
}

static int cpu_copy(struct device *dev, struct err *e, enum dev_copy kind, void *dst, const void *src,
                    size_t n) {
    (void)dev, (void)kind, (void)e;
    memmove(dst, src, n);
    return 0;
}

static int cpu_workers(struct device *dev) {
    struct cpu_device *d = cpu_of(dev);
    if (!d->pool) d->pool = pool_get();
    return pool_threads(d->pool);
}

static void run_chunk(void *arg, uint32_t t0, uint32_t t1, int worker) {
    const struct dev_launch *l = arg;
    l->fn(l->buf, l->var, t0, t1, l->scratch + (size_t)worker * l->scratch_stride);
}

/* Each worker's share, for a profile: load imbalance. */
static void note_part(void *arg, int worker, uint32_t iterations, uint64_t t0, uint64_t t1) {
    const struct dev_launch *l = arg;
    event_add(EVENT_PART, l->name, t0, t1, iterations, worker);
}

static int cpu_launch(struct device *dev, struct err *e, const struct dev_launch *l) {
    struct cpu_device *d = cpu_of(dev);
    (void)e;
    if (l->chunk >= l->grid) {
        l->fn(l->buf, l->var, 0, l->grid, l->scratch);
        return 0;
    }
    if (!d->pool) d->pool = pool_get();
    pool_run_noted(d->pool, run_chunk, event_recording_kind(EVENT_PART) ? note_part : NULL, (void *)l,
                   l->grid, l->chunk);
    return 0;
}

static int cpu_builtin(struct device *dev, struct err *e, const struct dev_call *c, dev_fn *const *kernel,
                       struct dev_builtin *out) {
    (void)dev, (void)kernel;
    if (cpu_sort_fn(c, out) || cpu_scatter_fn(c, out) || cpu_scan_fn(c, out)) return 0;
    return err_set(e, RG_EUNSUPPORTED, "the CPU has no function %s of %s", c->name, c->type[0]);
}

const struct device_ops device_cpu = {
    .name = "CPU",
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .workers = cpu_workers,
    .target = cc_target,
    .version = cc_version,
    .compile = cc_compile,
    .assembly = cc_assembly,
    .load = elf_load,
    .unload = elf_unload,
    .symbol = elf_symbol,
    .builtin = cpu_builtin,
    .launch = cpu_launch,
};
