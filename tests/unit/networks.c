/* networks.c: ten training steps of a GRU, an LSTM, a UNet, a ResNet, a ViT and transformers like Llama, GPT-2 and BERT in an
 * rg_jit, a new batch each, with PyTorch's losses and gradients.
 *
 * The networks and values are in networks_sample.h, written by tests/outside/networks.py --sample; that script compares every element,
 * here each gradient has two weighted sums (docs/testing.md). A loss may be off by 1e-4 of it, a gradient by 1e-4 of its greatest
 * element, or by three times what PyTorch's float32 is off by. */
#include "cuda.h"
#include "base/base.h"
#include "ridge.h"
#include "test.h"

#include <math.h>

enum { STEPS = 10, MOST = 48 };

/* A parameter or an input: normal numbers, one number, classes or a table. */
struct made {
    int64_t d[4];
    size_t rank;
    double scale;
    float fill;
    int classes;
    const float *table;
};

struct network {
    const char *name;
    rg_tensor (*loss)(rg_ctx *c, const rg_tensor *w, const rg_tensor *x);
    const struct made *params;
    size_t n_params;
    const struct made *inputs;
    size_t n_inputs;
    const double *want;
};

#include "networks_sample.h"

static struct running {
    rg_ctx *c;
    const struct network *net;
    rg_tensor w[MOST];
    uint64_t at; /* numbers drawn */
} now;

static int64_t draw(void) {
    uint64_t x = ++now.at * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (int64_t)((x ^ (x >> 31)) >> 40);
}

static float number_of(const struct made *m, int64_t i) {
    if (m->table) return m->table[i];
    if (m->scale == 0) return m->fill;
    int64_t sum = draw();
    for (int k = 1; k < 4; k++) sum += draw();
    return (float)(((double)sum * 0x1p-24 - 2) * (sqrt(3.0) * m->scale));
}

static rg_tensor make(const struct made *m) {
    static union {
        float f[1 << 14];
        int64_t i[1 << 13];
    } v;
    int64_t n = 1;
    for (size_t k = 0; k < m->rank; k++) n *= m->d[k];
    CHECK(n <= (int64_t)RG_COUNT(v.i));
    for (int64_t i = 0; i < n; i++) {
        if (m->classes) v.i[i] = draw() % m->classes;
        if (!m->classes) v.f[i] = number_of(m, i);
    }
    return rg_from(now.c, m->classes ? RG_I64 : RG_F32, &v, RG_LIST(m->d, m->rank));
}

/* Loss and gradients; the parameters go down. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    rg_backward(out[0] = now.net->loss(now.c, now.w, in));
    for (size_t k = 0; k < now.net->n_params; k++) {
        out[k + 1] = rg_param_grad(now.w[k]);
        rg_assign(now.w[k], rg_sub(now.w[k], rg_mul(out[k + 1], 0.0625)));
    }
    return rg_zero_grad(now.c), rg_status_of(now.c);
}

static void near(int at, const char *what, size_t which, double got, double want, double off) {
    if (!(fabs(got - want) <= off))
        FAIL("%s, step %d, %s %zu: %.9g, expected %.9g within %.3g", now.net->name, at + 1, what, which, got,
             want, off);
}

static void compare(int at, const rg_tensor *out) {
    static float g[1 << 14];
    const double *want = now.net->want + (size_t)at * (1 + 3 * now.net->n_params);
    near(at, "loss", 0, rg_item(out[0]), want[0], 1e-4 * fabs(want[0]));
    for (size_t k = 0; k < now.net->n_params; k++, want += 3) {
        int64_t n = rg_size(out[k + 1]);
        if (rg_read(out[k + 1], g, sizeof g)) FAIL("%s: %s", now.net->name, rg_error(now.c));
        double a = 0, b = 0;
        for (int64_t i = 0; i < n; i++) a += g[i] * cos((double)i), b += g[i] * cos((double)i * 0.37);
        near(at, "gradient", k, a, want[1], want[3]);
        near(at, "gradient", k, b, want[2], want[3]);
    }
}

static void train(const char *device, const struct network *net) {
    rg_ctx *c = strcmp(device, "CUDA") ? rg_open(device) : cuda_open();
    now = (struct running){.c = c, .net = net, .at = (uint64_t)1 << 40};
    if (rg_status_of(now.c)) FAIL("%s", rg_error(now.c));
    CHECK(net->n_params < MOST && net->n_inputs <= 4);
    for (size_t k = 0; k < net->n_params; k++) now.w[k] = rg_param(make(&net->params[k]));
    rg_jit *jit = rg_jit_new(now.c, step, NULL, net->n_params + 1);
    for (int at = 0; at < STEPS; at++) {
        RG_SCOPE(now.c);
        rg_tensor in[4], out[MOST];
        for (size_t k = 0; k < net->n_inputs; k++) in[k] = make(&net->inputs[k]);
        if (rg_jit_call(jit, RG_ARRAY(in, net->n_inputs), out)) FAIL("%s: %s", net->name, rg_error(now.c));
        compare(at, out);
    }
    rg_jit_free(jit);
    CHECK_EQ(rg_close(now.c), 0);
}

static void train_all(const char *device) {
    for (size_t k = 0; k < RG_COUNT(networks); k++) train(device, &networks[k]);
}

TEST(networks_REF) { train_all("REF"); }
TEST_SLOW(networks_CPU, 200) { train_all("CPU"); }
TEST_MANUAL(cuda_gpu_networks, 200) { train_all("CUDA"); }
