/* Tests on a GPU of recurrent nets that are unrolled: hundreds of small kernels, with predicated parts of rows, that feed each
 * other. Kernels with their opts against plain ones. */
#include "cuda.h"

#include <math.h>
#include <ridge.h>

enum { STEPS = 128, BATCH = 64, WIDTH = 512, OUTPUTS = 6, CALLS = 3 };
struct rnn {
    rg_ctx *c;
    rg_dtype dt;
    int gates; /* 3: GRU, 4: LSTM */
    rg_tensor in[OUTPUTS - 1];
    size_t size[OUTPUTS];
};

static rg_tensor gate(rg_tensor x, int k) { return rg_narrow(x, 1, k * WIDTH, WIDTH); }

static rg_tensor lstm_step(rg_tensor gi, rg_tensor gh, rg_tensor *cell) {
    rg_tensor g = rg_add(gi, gh);
    rg_tensor i = rg_sigmoid(gate(g, 0)), f = rg_sigmoid(gate(g, 1)), u = rg_tanh(gate(g, 2));
    *cell = rg_add(rg_mul(f, *cell), rg_mul(i, u));
    return rg_mul(rg_sigmoid(gate(g, 3)), rg_tanh(*cell));
}

static rg_tensor gru_step(rg_tensor gi, rg_tensor gh, rg_tensor h) {
    rg_tensor r = rg_sigmoid(rg_add(gate(gi, 0), gate(gh, 0)));
    rg_tensor z = rg_sigmoid(rg_add(gate(gi, 1), gate(gh, 1)));
    rg_tensor n = rg_tanh(rg_add(gate(gi, 2), rg_mul(r, gate(gh, 2))));
    return rg_add(rg_mul(rg_sub(1, z), n), rg_mul(z, h));
}

/* The mean square of all states, and its gradients. */
static rg_status train(void *user, const rg_tensor *in, rg_tensor *out) {
    struct rnn *r = user;
    rg_tensor h = rg_zeros(r->c, r->dt, RG_SHAPE(BATCH, WIDTH)), cell = h, all[STEPS];
    for (int t = 0; t < STEPS; t++) {
        rg_tensor gi = rg_linear(rg_select(in[0], 0, t), in[1], in[3]), gh = rg_linear(h, in[2], in[4]);
        all[t] = h = r->gates == 4 ? lstm_step(gi, gh, &cell) : gru_step(gi, gh, h);
    }
    out[0] = rg_mean(rg_square(rg_cast(rg_stack(((rg_tensors){all, STEPS}), 0), RG_F32)));
    rg_tensor wrt[OUTPUTS - 1];
    memcpy(wrt, in, sizeof wrt);
    return rg_grad(out[0], ((rg_tensors){wrt, OUTPUTS - 1}), out + 1);
}

static rg_tensor numbers(struct rnn *r, int i, float most, rg_ints shape) {
    float *p = malloc(r->size[i + 1] * sizeof *p);
    for (size_t k = 0; k < r->size[i + 1]; k++)
        p[k] = most * (float)((double)(hash_u64(k * 8 + (uint64_t)i) >> 40) / (1 << 23) - 1);
    rg_tensor x = rg_cast(rg_from(r->c, RG_F32, p, shape), r->dt);
    if (rg_realize(x)) FAIL("%s", rg_error(r->c));
    free(p);
    return x;
}

static void open_rnn(struct rnn *r, bool plain) {
    int64_t rows = r->gates * WIDTH;
    const size_t size[] = {
        1,           (size_t)STEPS * BATCH * WIDTH, (size_t)rows * WIDTH, (size_t)rows * WIDTH, (size_t)rows,
        (size_t)rows};
    float most = 1 / sqrtf(WIDTH);
    setenv("RIDGE_NOOPT", plain ? "1" : "0", 1), env_reload();
    memcpy(r->size, size, sizeof size);
    r->c = cuda_open();
    r->in[0] = numbers(r, 0, 1, RG_SHAPE(STEPS, BATCH, WIDTH));
    for (int i = 1; i < 3; i++) r->in[i] = numbers(r, i, most, RG_SHAPE(rows, WIDTH));
    for (int i = 3; i < 5; i++) r->in[i] = numbers(r, i, most, RG_SHAPE(rows));
}

static void read_all(struct rnn *r, const rg_tensor *out, float *p) {
    for (int i = 0; i < OUTPUTS; p += r->size[i++])
        if (rg_read(rg_cast(out[i], RG_F32), p, r->size[i] * sizeof *p)) FAIL("%s", rg_error(r->c));
}

/* Of each output: how far it is from the plain one, by their norms. */
static void compare(const struct rnn *r, int call, const float *got, const float *want, double most) {
    for (int i = 0; i < OUTPUTS; i++) {
        double off = 0, all = 0;
        for (size_t k = 0; k < r->size[i]; k++, got++, want++)
            off += pow((double)*got - *want, 2), all += pow(*want, 2);
        if (!(off <= most * most * all))
            FAIL("%s, call %d, output %d: off by %g of its norm, %g", r->gates == 4 ? "LSTM" : "GRU", call, i,
                 sqrt(off / all), sqrt(all));
    }
}

static void check(int gates, rg_dtype dt, double most) {
    struct rnn plain = {.dt = dt, .gates = gates}, r = plain;
    rg_tensor out[OUTPUTS];
    size_t n = 0;
    open_rnn(&plain, true);
    for (int i = 0; i < OUTPUTS; i++) n += plain.size[i];
    float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
    if (train(&plain, plain.in, out)) FAIL("%s", rg_error(plain.c));
    read_all(&plain, out, want);
    rg_close(plain.c);
    open_rnn(&r, false);
    rg_jit *j = rg_jit_new(r.c, train, &r, OUTPUTS);
    for (int call = 0; call < CALLS; call++) {
        if (rg_jit_call(j, (rg_tensors){r.in, OUTPUTS - 1}, out)) FAIL("%s", rg_error(r.c));
        read_all(&r, out, got);
        compare(&r, call, got, want, most);
    }
    rg_close(r.c);
    free(want), free(got);
}

TEST_MANUAL(cuda_gpu_rnn_lstm, 300) { check(4, RG_F32, 1e-4); }
TEST_MANUAL(cuda_gpu_rnn_gru, 300) { check(3, RG_F32, 1e-4); }
TEST_MANUAL(cuda_gpu_rnn_bf16, 400) { check(3, RG_BF16, 0.1); }
