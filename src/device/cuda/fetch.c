/* fetch.c: asynchronous copies from pinned memory on a stream of their own, overlapping kernels. A copy waits for what was
 * launched on the kernels' stream before it, because its target may still be in use; kernels wait for it from `order`
 * on. So a program that starts the copy of the next batch before it launches the work on this one overlaps both.
 * Tests: tests/unit/cuda_fake.c, tests/unit/cuda.c (need a GPU) */
#include "device/cuda/internal.h"

struct dev_fetch {
    struct cuda_device *d;
    cu_event done;
};

void *cuda_host_alloc(struct device *dev, size_t n) {
    struct cuda_device *d = cuda_of(dev);
    struct err e = {0};
    void *p = NULL;
    if (cuda_enter(d, &e)) return NULL;
    return d->cu->host_alloc(&p, RG_MAX(n, 1), 0) ? NULL : p;
}

void cuda_host_free(struct device *dev, void *p, size_t n) {
    struct cuda_device *d = cuda_of(dev);
    struct err e = {0};
    (void)n;
    if (p && !cuda_enter(d, &e)) d->cu->host_free(p);
}

static int begin(struct dev_fetch *f, struct err *e, const struct dev_piece *p, uint32_t n) {
    struct cuda_device *d = f->d;
    CUDA_TRY(d->cu->event_new(&f->done, 2), "making an event");
    CUDA_TRY(d->cu->event_record(d->here, d->stream), "a copy to the GPU");
    CUDA_TRY(d->cu->stream_after(d->copies, d->here, 0), "a copy to the GPU");
    for (uint32_t i = 0; i < n; i++)
        if (p[i].n)
            CUDA_TRY(d->cu->copy_in((cu_ptr)(uintptr_t)p[i].dst, p[i].src, p[i].n, d->copies),
                     "a copy to the GPU");
    CUDA_TRY(d->cu->event_record(f->done, d->copies), "a copy to the GPU");
    return 0;
}

int cuda_fetch(struct device *dev, struct err *e, const struct dev_piece *p, uint32_t n,
               struct dev_fetch **out) {
    struct cuda_device *d = cuda_of(dev);
    if (cuda_enter(d, e)) return e->code;
    struct dev_fetch *f = mem_alloc(sizeof *f);
    if (!f) return err_set(e, RG_ENOMEM, "out of memory while copying");
    *f = (struct dev_fetch){.d = d};
    if (begin(f, e, p, n)) {
        if (!d->lost) d->cu->stream_wait(d->copies); /* waits for the copies that were started */
        if (!d->lost && f->done) d->cu->event_free(f->done);
        mem_free(f);
        return e->code;
    }
    *out = f;
    return 0;
}

int cuda_order(struct dev_fetch *f, struct err *e) {
    struct cuda_device *d = f->d;
    if (cuda_enter(d, e)) return e->code;
    CUDA_TRY(d->cu->stream_after(d->stream, f->done, 0), "waiting for a copy");
    return 0;
}

int cuda_fetched(struct dev_fetch *f, struct err *e) {
    struct cuda_device *d = f->d;
    int code = cuda_enter(d, e);
    if (!code && (code = d->cu->event_wait(f->done))) code = cuda_fail(d, e, code, "a copy to the GPU");
    if (!d->lost && f->done) d->cu->event_free(f->done);
    mem_free(f);
    return code;
}
