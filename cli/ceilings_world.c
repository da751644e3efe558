/* ceilings_world.c: `ridge run -n N -- ridge ceilings --world`: what ranks can exchange: latency, and rates of all-reduces by size, beside
 * the rate at which all ranks together copy memory: an all-reduce reads its tensor and writes the sum at least once.
 * Tests: tests/cli/ceilings.sh */
#include "cli.h"
#include "world/world.h"

enum { WORLD_TIMES = 10, WORLD_SIZES = 5 };

struct world_figures {
    double latency; /* seconds of a barrier */
    double bytes[WORLD_SIZES], seconds[WORLD_SIZES];
    double copy[WORLD_SIZES]; /* seconds in which every rank copies that much */
};

static void barrier(struct world *w, struct err *e) {
    int32_t a = 0, b;
    struct world_call c = {{.kind = COLLECTIVE_BARRIER, .dt = DT_I32}, &a, &b, 1, 1};
    world_run(w, e, &c);
}

/* In sequence: the last to come decides, so that the fastest of them says nothing. */
static double time_barrier(struct world *w, struct err *e) {
    barrier(w, e);
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < WORLD_TIMES && !e->code; i++) barrier(w, e);
    return (double)(os_now_ns() - t0) * 1e-9 / WORLD_TIMES;
}

static double timed(struct world *w, struct err *e, const struct world_call *c) {
    double best = 1e9;
    for (int i = 0; i < WORLD_TIMES && !e->code; i++) {
        barrier(w, e);
        uint64_t t0 = os_now_ns();
        if (c->what.kind == COLLECTIVE_SEND)
            memcpy(c->out, c->in, (size_t)c->nin * 4); /* no exchange: all ranks copy */
        else
            world_run(w, e, c);
        best = RG_MIN(best, (double)(os_now_ns() - t0) * 1e-9);
    }
    return best;
}

static void measure(struct world *w, struct err *e, struct world_figures *f) {
    int64_t n = 1 << 10, most = n << 3 * (WORLD_SIZES - 1); /* f32: 4 kB to 16 MB */
    float *in = os_pages((size_t)most * 4), *out = os_pages((size_t)most * 4);
    struct world_call c = {.what = {.dt = DT_F32}, .in = in, .out = out};
    if (!in || !out) err_set(e, RG_ENOMEM, "no memory for %lld bytes", (long long)most * 8);
    if (!e->code) memset(in, 0, (size_t)most * 4), f->latency = time_barrier(w, e);
    for (int i = 0; i < WORLD_SIZES && !e->code; i++, n *= 8) {
        c.nin = c.nout = n;
        c.what.kind = COLLECTIVE_SEND;
        f->copy[i] = timed(w, e, &c);
        c.what.kind = COLLECTIVE_ALL_REDUCE;
        f->seconds[i] = timed(w, e, &c);
        f->bytes[i] = (double)n * 4;
    }
    if (in) os_pages_free(in, (size_t)most * 4);
    if (out) os_pages_free(out, (size_t)most * 4);
}

static void print(const struct world *w, const struct world_figures *f) {
    double ranks = (double)world_size(w), bus = 2 * (ranks - 1) / ranks;
    printf("%.0f ranks, backend %s: barrier %.1f us\n", ranks, world_backend(w), f->latency * 1e6);
    printf("%12s %12s %10s %10s %10s %14s\n", "bytes", "all-reduce", "GB/s", "bus GB/s", "copy GB/s",
           "of the copy");
    for (int i = 0; i < WORLD_SIZES; i++) {
        double rate = f->bytes[i] / f->seconds[i] * 1e-9;
        printf("%12.0f %9.1f us %10.2f %10.2f %10.2f %13.0f%%\n", f->bytes[i], f->seconds[i] * 1e6, rate,
               rate * bus, f->bytes[i] / f->copy[i] * 1e-9, 100 * f->copy[i] / f->seconds[i]);
    }
    printf("GB/s: of the tensor; bus: of what each rank sends, 2 (n - 1) / n of it; copy: every rank copies "
           "as much "
           "at the same time\n");
}

int ceilings_world(struct err *e) {
    struct world_figures f = {0};
    struct world *w;
    if (world_open(e, &(struct world_opts){0}, &w)) return e->code;
    if (world_size(w) < 2)
        err_set(e, RG_EINVAL,
                "--world measures ranks, and there is one; start it as `ridge run -n 4 -- ridge ceilings "
                "--world`");
    else
        measure(w, e, &f);
    if (!e->code && !world_rank(w)) print(w, &f);
    world_close(w);
    return e->code;
}
