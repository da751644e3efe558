/* planted.c: small Ridge programs with one fault each, and the same with the advice of `ridge profile` taken.
 *
 *     planted MODE [--fixed] [--steps N]
 *
 * Prints the processor time of a step, the least of ten stretches of steps, and the bytes of tensors at the end;
 * bench/timed/planted.sh compares what was predicted with what --fixed brings, tests/cli/planted.sh what is counted. The modes
 * stand in the table below. */
#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
    rg_ctx *c;
    bool fixed;
    float *host; /* of ELEMENTS */
    rg_tensor data, other, small;
    rg_tensor now; /* a number that changes, so that a step is computed */
    rg_jit *jit;
};

enum { ELEMENTS = 1 << 20, SMALL = 1 << 14 };

/* Memory of its own, written once. */
static rg_tensor filled(rg_ctx *c, rg_ints shape) {
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 0.5, shape));
    rg_realize(x);
    return x;
}

/* ---- copies: the same batch goes to the device in every step ------------------------------------------------ */

static rg_status total(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_sum(in[0]);
    return RG_OK;
}

static void copies_begin(struct run *r) {
    r->jit = rg_jit_new(r->c, total, r, 1);
    r->data = rg_from(r->c, RG_F32, r->host, RG_SHAPE(ELEMENTS));
}
static void copies_step(struct run *r, int i) {
    (void)i;
    rg_tensor out, x = r->fixed ? r->data : rg_from(r->c, RG_F32, r->host, RG_SHAPE(ELEMENTS));
    rg_jit_call(r->jit, RG_TENSORS(x), &out);
}

/* ---- reads: a large tensor comes back in every step, to be looked at --------------------------------------------- */

static rg_status decay(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    (void)in;
    rg_assign(r->small, rg_mul(r->small, 0.999));
    out[0] = rg_sum(r->small);
    return RG_OK;
}

static void reads_begin(struct run *r) {
    r->small = filled(r->c, RG_SHAPE(SMALL));
    r->data = filled(r->c, RG_SHAPE(ELEMENTS));
    r->jit = rg_jit_new(r->c, decay, r, 1);
}
static void reads_step(struct run *r, int i) {
    rg_tensor out;
    rg_jit_call(r->jit, (rg_tensors){0}, &out);
    if (!r->fixed || i % 20 == 0) rg_read(r->data, r->host, ELEMENTS * sizeof(float));
}

/* ---- tiny: a hundred kernels on a few numbers, their graph built in every step --------------------------------------- */

static rg_status chain(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    rg_tensor x = r->small;
    (void)in;
    for (int i = 0; i < 100; i++) x = rg_contiguous(rg_add(rg_mul(x, 0.999), 0.001));
    rg_assign(r->small, x);
    out[0] = x;
    return RG_OK;
}

static void tiny_begin(struct run *r) {
    r->small = filled(r->c, RG_SHAPE(64));
    r->jit = rg_jit_new(r->c, chain, r, 1);
}
static void tiny_step(struct run *r, int i) {
    rg_tensor out;
    (void)i;
    if (r->fixed)
        rg_jit_call(r->jit, (rg_tensors){0}, &out);
    else if (!chain(r, NULL, &out))
        rg_realize(out);
}

/* ---- strided: one of 16 columns of a table is summed -------------------------------------------------------------------- */

static rg_status column(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    (void)in;
    out[0] = rg_sum(rg_mul(r->fixed ? r->other : rg_select(r->data, 1, 3), r->now));
    return RG_OK;
}

static void strided_begin(struct run *r) {
    r->data = filled(r->c, RG_SHAPE(ELEMENTS, 16));
    if (r->fixed) rg_realize(r->other = rg_contiguous(rg_select(r->data, 1, 3)));
    r->jit = rg_jit_new(r->c, column, r, 1);
}
static void jit_step(struct run *r, int i) {
    rg_tensor out;
    (void)i;
    rg_jit_call(r->jit, (rg_tensors){0}, &out);
}

/* ---- odd: products with 7 columns ------------------------------------------------------------------------------------------------------ */

static rg_status product(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    (void)in;
    out[0] = rg_mul(rg_matmul(r->data, r->other), r->now);
    return RG_OK;
}

static void odd_begin(struct run *r) {
    r->data = filled(r->c, RG_SHAPE(100, 64, 64));
    r->other = filled(r->c, RG_SHAPE(100, 64, r->fixed ? 8 : 7));
    r->jit = rg_jit_new(r->c, product, r, 1);
}

/* ---- leak: every step leaves a tensor behind ------------------------------------------------------------------------------------ */

static void leak_begin(struct run *r) {
    r->data = filled(r->c, RG_SHAPE(512, 512));
    r->other = filled(r->c, RG_SHAPE(512, 512));
}
static void leak_step(struct run *r, int i) {
    (void)i;
    rg_tensor y = rg_mul(rg_matmul(r->data, r->other), r->now);
    rg_realize(y);
    if (!r->fixed) rg_keep(y);
}

/* ---- what is as it should be ------------------------------------------------------------------------------------------------------ */

static void compute_begin(struct run *r) {
    r->data = filled(r->c, RG_SHAPE(256, 256));
    r->other = filled(r->c, RG_SHAPE(256, 256));
    r->jit = rg_jit_new(r->c, product, r, 1);
}

static rg_status triad(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    (void)in;
    out[0] = rg_add(r->data, rg_mul(r->other, r->now));
    return RG_OK;
}

static void memory_begin(struct run *r) {
    r->data = filled(r->c, RG_SHAPE(8 * ELEMENTS));
    r->other = filled(r->c, RG_SHAPE(8 * ELEMENTS));
    r->jit = rg_jit_new(r->c, triad, r, 1);
}

static rg_status layer(void *user, const rg_tensor *in, rg_tensor *out) {
    struct run *r = user;
    (void)in;
    out[0] = rg_relu(rg_matmul(rg_relu(rg_mul(rg_matmul(r->data, r->other), r->now)), r->other));
    return RG_OK;
}

static void healthy_begin(struct run *r) {
    r->data = filled(r->c, RG_SHAPE(256, 512));
    r->other = filled(r->c, RG_SHAPE(512, 512));
    r->jit = rg_jit_new(r->c, layer, r, 1);
}

static const struct mode {
    const char *name;
    int steps;
    void (*begin)(struct run *);
    void (*step)(struct run *, int i);
} modes[] = {{"copies", 1000, copies_begin, copies_step}, {"reads", 2000, reads_begin, reads_step},
             {"tiny", 400, tiny_begin, tiny_step},        {"strided", 200, strided_begin, jit_step},
             {"odd", 3000, odd_begin, jit_step},          {"leak", 150, leak_begin, leak_step},
             {"compute", 1000, compute_begin, jit_step},  {"memory", 250, memory_begin, jit_step},
             {"healthy", 120, healthy_begin, jit_step}};

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double run(struct run *r, const struct mode *m, int steps) {
    enum { STRETCHES = 10 };
    double best = 1e9;
    int each = steps / STRETCHES + !(steps / STRETCHES);
    for (int s = 0; s < STRETCHES; s++) {
        double t0 = cpu_now();
        for (int i = 0; i < each; i++) {
            {
                RG_SCOPE(r->c);
                rg_set_scalar(r->now, i);
                m->step(r, s * each + i);
            }
            rg_profile_step(r->c);
        }
        double t = (cpu_now() - t0) / each;
        if (s > 0 && t < best) best = t; /* the first compiles */
    }
    return best;
}

int main(int argc, char **argv) {
    struct run r = {0};
    const struct mode *m = NULL;
    int steps = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--fixed")) r.fixed = true;
        if (!strcmp(argv[i], "--steps") && i + 1 < argc) steps = atoi(argv[++i]);
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
            if (!strcmp(argv[i], modes[k].name)) m = &modes[k];
    }
    if (!m) {
        fprintf(stderr, "usage: planted MODE [--fixed] [--steps N]; modes:");
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) fprintf(stderr, " %s", modes[k].name);
        return fprintf(stderr, "\n"), 2;
    }
    r.c = rg_open(NULL);
    r.now = rg_scalar(r.c, RG_F32, 1);
    r.host = malloc(ELEMENTS * sizeof *r.host);
    for (int i = 0; i < ELEMENTS; i++) r.host[i] = (float)(i % 100) / 100;
    m->begin(&r);
    double best = run(&r, m, steps > 0 ? steps : m->steps);
    rg_usage u = {0};
    rg_stats(r.c, &u);
    printf("%s%s: %.2f us a step, %.1f MB held\n", m->name, r.fixed ? " fixed" : "", 1e6 * best,
           (double)u.bytes / 1e6);
    if (rg_status_of(r.c)) fprintf(stderr, "%s\n", rg_error(r.c));
    free(r.host);
    return rg_close(r.c) != RG_OK;
}
