/* host.c: builtins (sort and the like) that a discrete device borrows from the CPU. Sources are copied to the host, the CPU's
 * function runs there, and the result is copied back, in order with everything else: slow, and right on any device.
 * A function is found by name and types alone, because calls with other sizes share it; the CPU is asked again when it runs.
 * Tests: tests/unit/values_ops.c (opencl_values_ops) */
#include "device/host.h"

#include <stdlib.h>

struct host_fn {
    struct host_fn *next;
    uint32_t nbuf;
    const char *name, *type[4]; /* in text */
    char text[160];
};

static size_t bytes_of(const char *type) {
    const char *digit = type + strcspn(type, "0123456789");
    return *digit ? (size_t)atoi(digit) / 8 : 1; /* "bf16", "bool" */
}

int host_fn_find(struct host_fn **list, struct err *e, const struct dev_call *c, struct host_fn **out) {
    struct dev_builtin ignore;
    if (device_cpu.builtin(NULL, e, c, NULL, &ignore)) return e->code;
    struct host_fn *f = mem_alloc(sizeof *f);
    if (!f || c->nbuf > RG_COUNT(f->type)) {
        mem_free(f);
        return err_set(e, RG_ENOMEM, "out of memory for the function %s", c->name);
    }
    size_t at = 0;
    *f = (struct host_fn){.next = *list, .nbuf = c->nbuf, .name = f->text};
    at += (size_t)snprintf(f->text, sizeof f->text, "%.60s", c->name) + 1;
    for (uint32_t i = 0; i < c->nbuf; i++) {
        f->type[i] = f->text + at;
        at += (size_t)snprintf(f->text + at, sizeof f->text - at, "%.15s", c->type[i]) + 1;
    }
    *list = *out = f;
    return 0;
}

void host_fn_free(struct host_fn *f) {
    for (struct host_fn *next; f; f = next) {
        next = f->next;
        mem_free(f);
    }
}

struct run {
    struct device *d;
    host_copy *copy;
    const struct host_fn *f;
    const struct dev_launch *l;
    void *near[4], *scratch;
    size_t bytes[4], scratch_bytes;
};

/* The result and what has its shape have var[1] elements in a row, the others var[0]; what is summed piece by piece as many
 * pieces as the index has numbers. */
static void measure(struct run *r) {
    const int64_t *var = r->l->var;
    for (uint32_t i = 0; i < r->f->nbuf; i++) {
        bool like_result = i == 0 || (i == 1 && r->f->nbuf > 2);
        int64_t n = i == 1 && r->f->nbuf == 3 ? var[0] * (var[1] / var[2]) : var[like_result];
        r->bytes[i] = r->l->grid * (size_t)n * bytes_of(r->f->type[i]);
    }
}

static int run(struct run *r, struct err *e) {
    const struct host_fn *f = r->f;
    struct dev_builtin cpu;
    struct dev_call call = {f->name, f->type, f->nbuf, r->l->grid, r->l->var};
    if (device_cpu.builtin(NULL, e, &call, NULL, &cpu)) return e->code;
    measure(r);
    r->scratch_bytes = (size_t)cpu.scratch + 64;
    r->scratch = os_pages(r->scratch_bytes);
    if (!r->scratch) return err_set(e, RG_ENOMEM, "no memory on the host for the function %s", f->name);
    for (uint32_t i = 0; i < f->nbuf; i++) {
        if (!(r->near[i] = os_pages(r->bytes[i] + 64)))
            return err_set(e, RG_ENOMEM, "no memory on the host for %zu bytes of the function %s",
                           r->bytes[i], f->name);
        if (i && r->copy(r->d, e, COPY_OUT, r->near[i], r->l->buf[i], r->bytes[i])) return e->code;
    }
    cpu.fn(r->near, r->l->var, 0, r->l->grid, r->scratch);
    return r->copy(r->d, e, COPY_IN, r->l->buf[0], r->near[0], r->bytes[0]);
}

int host_fn_run(struct device *d, host_copy *copy, struct err *e, const struct host_fn *f,
                const struct dev_launch *l) {
    struct run r = {.d = d, .copy = copy, .f = f, .l = l};
    uint64_t t0 = os_now_ns();
    int code = run(&r, e);
    for (uint32_t i = 0; i < f->nbuf; i++)
        if (r.near[i]) os_pages_free(r.near[i], r.bytes[i] + 64);
    if (r.scratch) os_pages_free(r.scratch, r.scratch_bytes);
    if (l->ns) *l->ns = os_now_ns() - t0;
    return code;
}
