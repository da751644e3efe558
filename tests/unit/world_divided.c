/* world_divided.c: ranks divided among processes in several ways, each with another number of threads: training has the same bits. The
 * machine model is the guess, as for users without a machine file: plans must not depend on the threads of a process. */
#include "base/base.h"
#include "test.h"

#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MOST = 6, STEPS = 4 };

struct network { /* drawn by a seed */
    int64_t image, channels, kernel, batch;
    bool deep, norm, pool, hidden, sgd;
    rg_tensor (*activation)(rg_tensor);
};

struct division {
    int ranks, processes, threads; /* threads: of each process */
    bool overlap;
};

struct outcome { /* of rank 0; compared as bytes */
    float loss[STEPS];
    uint64_t params; /* a hash of all of them in the end */
};

struct divided_rank {
    const struct network *n;
    int contexts, context;
    rg_ctx *c;
    rg_world *world;
    rg_module *net;
    rg_optim *optim;
    struct outcome out;
    bool first;
    char error[300];
};

/* ---- networks -------------------------------------------------------------------------------------------------------- */

static int64_t below(uint64_t *seed, int64_t n) {
    *seed = hash_u64(*seed + 1);
    return (int64_t)(*seed % (uint64_t)n);
}

static struct network draw(uint64_t s, int ranks) {
    static rg_tensor (*const activation[])(rg_tensor) = {rg_relu, rg_relu, rg_gelu, rg_tanh};
    struct network n = {
        .image = 12 + below(&s, 14), .channels = 4 + 4 * below(&s, 8), .kernel = 3 + 2 * below(&s, 2)};
    n.deep = below(&s, 2), n.norm = below(&s, 4), n.pool = below(&s, 2);
    n.hidden = below(&s, 2), n.sgd = !below(&s, 3);
    n.activation = activation[below(&s, RG_COUNT(activation))];
    n.batch = ranks * (3 + below(&s, 20)) + below(&s, 2) * below(&s, ranks);
    return n;
}

static rg_module *build(rg_ctx *c, const struct network *n) {
    rg_module *m[12];
    size_t k = 0;
    int64_t size = n->image;
    for (int i = 0; i < 1 + n->deep; i++, size -= n->kernel - 1) {
        m[k++] = rg_nn_conv2d(c, i ? n->channels : 1, n->channels, RG_SHAPE(n->kernel));
        m[k++] = rg_nn_function(c, "activation", n->activation);
    }
    if (n->norm) m[k++] = rg_nn_batchnorm(c, n->channels);
    if (n->pool) m[k++] = rg_nn_max_pool2d(c, RG_SHAPE(2)), size /= 2;
    m[k++] = rg_nn_flatten(c, 1);
    int64_t wide = n->channels * size * size;
    if (n->hidden) {
        m[k++] = rg_nn_linear(c, wide, 30);
        m[k++] = rg_nn_layernorm(c, RG_SHAPE(30));
        m[k++] = rg_nn_function(c, "activation", n->activation);
        wide = 30;
    }
    m[k++] = rg_nn_linear(c, wide, 10);
    return rg_nn_sequential(c, (rg_modules){m, k});
}

/* All ranks draw the same batch; each takes its share, which may be smaller than another's. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct divided_rank *r = user;
    (void)in;
    int64_t first, mine = rg_world_share(r->world, r->n->batch, &first);
    double weight = (double)mine * (double)rg_world_size(r->world) / (double)r->n->batch;
    rg_tensor x = rg_randn(r->c, RG_F32, RG_SHAPE(r->n->batch, 1, r->n->image, r->n->image));
    rg_tensor label = rg_randint(r->c, RG_I64, 0, 10, RG_SHAPE(r->n->batch));
    rg_tensor logits = rg_nn_forward(r->net, rg_narrow(x, 0, first, mine));
    rg_tensor loss = rg_mul(rg_cross_entropy(logits, rg_narrow(label, 0, first, mine)), weight);
    rg_backward(loss);
    rg_nn_reduce_grads(r->net);
    out[0] = rg_all_reduce(rg_detach(loss), r->world, RG_COMBINE_MEAN);
    return rg_optim_step(r->optim);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------------ */

static uint64_t hash_params(rg_module *net) {
    rg_tensors p = rg_nn_params(net);
    uint64_t h = 1;
    for (size_t i = 0; i < p.n; i++) {
        size_t bytes = (size_t)rg_bytes(p.t[i]);
        void *v = malloc(bytes);
        if (!rg_read(p.t[i], v, bytes)) h = hash_bytes(v, bytes, h);
        free(v);
    }
    return h;
}

static void *train(void *arg) {
    struct divided_rank *r = arg;
    rg_ctx *c = r->c = rg_open("CPU");
    rg_seed(c, 1);
    r->net = build(c, r->n);
    r->world = rg_world_open(c, .backend = "shm", .contexts = r->contexts, .context = r->context);
    rg_nn_data_parallel(r->net, r->world);
    rg_tensors params = rg_nn_params(r->net);
    r->optim = r->n->sgd ? rg_sgd(params, .lr = 0.02, .momentum = 0.9) : rg_adam(params, .lr = 0.002);
    rg_jit *j = rg_jit_new(c, step, r, 1);
    for (int i = 0; i < STEPS && !rg_status_of(c); i++) {
        RG_SCOPE(c);
        rg_tensor out;
        if (!rg_jit_call(j, (rg_tensors){0}, &out)) rg_read(out, &r->out.loss[i], sizeof r->out.loss[i]);
    }
    r->first = rg_world_rank(r->world) == 0;
    r->out.params = hash_params(r->net);
    snprintf(r->error, sizeof r->error, "%s", rg_error(c));
    rg_close(c);
    return NULL;
}

static void set_number(const char *name, int v) {
    char text[16];
    snprintf(text, sizeof text, "%d", v);
    setenv(name, text, 1);
}

/* Process `nth` of a division, as `ridge run` starts them. */
static _Noreturn void process(const struct network *n, struct division d, int nth, int result) {
    struct divided_rank r[RANKS_MOST];
    pthread_t t[RANKS_MOST];
    int each = d.ranks / d.processes, bad = 0;
    set_number("RANK", nth), set_number("LOCAL_RANK", nth);
    set_number("WORLD_SIZE", d.processes), set_number("LOCAL_WORLD_SIZE", d.processes);
    set_number("RIDGE_THREADS", d.threads), set_number("RIDGE_OVERLAP", d.overlap);
    env_reload();
    for (int i = 0; i < each; i++) {
        r[i] = (struct divided_rank){.n = n, .contexts = each, .context = i};
        pthread_create(&t[i], NULL, train, &r[i]);
    }
    for (int i = 0; i < each; i++) {
        pthread_join(t[i], NULL);
        if (*r[i].error) bad = 1, printf("%s\n", r[i].error);
        if (r[i].first && write(result, &r[i].out, sizeof r[i].out) != sizeof r[i].out) bad = 1;
    }
    fflush(NULL);
    _exit(bad);
}

static struct outcome run(const struct network *n, struct division d) {
    static int number;
    struct outcome out = {0};
    char job[64];
    int ends[2], status, bad = 0;
    if (pipe(ends)) FAIL("no pipe");
    snprintf(job, sizeof job, "divided-%d-%d", (int)getpid(), number++);
    setenv("RIDGE_WORLD", job, 1);
    fflush(NULL);
    for (int i = 0; i < d.processes; i++)
        if (!fork()) process(n, d, i, ends[1]);
    for (int i = 0; i < d.processes; i++) bad |= wait(&status) < 0 || status;
    if (bad || read(ends[0], &out, sizeof out) != sizeof out) FAIL("a rank failed");
    close(ends[0]), close(ends[1]);
    return out;
}

static void compare(uint64_t seed, struct network n, const struct division *d, size_t count) {
    struct outcome first = run(&n, d[0]);
    for (size_t i = 1; i < count; i++) {
        struct outcome now = run(&n, d[i]);
        if (!memcmp(&now, &first, sizeof now)) continue;
        for (int k = 0; k < STEPS; k++)
            printf("step %d: %.9g %.9g\n", k, (double)first.loss[k], (double)now.loss[k]);
        FAIL("seed %llu, %d ranks, batch %lld: %d processes with %d threads differ from %d with %d",
             (unsigned long long)seed, d[0].ranks, (long long)n.batch, d[i].processes, d[i].threads,
             d[0].processes, d[0].threads);
    }
}

/* No machine file: neither the tests' nor the user's. */
static void guess_machine(void) {
    unsetenv("RIDGE_MODEL");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    env_reload();
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static const struct division three[] = {{3, 1, 2, true}, {3, 3, 1, true}, {3, 1, 1, false}, {3, 3, 7, false}},
                             five[] = {{5, 1, 2, false}, {5, 5, 1, true}, {5, 1, 16, true}},
                             six[] = {{6, 1, 2, true},
                                      {6, 2, 1, true},
                                      {6, 3, 1, false},
                                      {6, 6, 1, true},
                                      {6, 3, 3, true}};

/* The front of examples/mnist. */
static struct network of_mnist(int64_t batch) {
    return (struct network){.image = 20,
                            .channels = 32,
                            .kernel = 5,
                            .batch = batch,
                            .deep = true,
                            .norm = true,
                            .pool = true,
                            .activation = rg_relu};
}

TEST_SLOW(world_divided_3, 120) {
    guess_machine();
    compare(0, of_mnist(66), three, RG_COUNT(three));
}

TEST_SLOW(world_divided_5, 120) {
    guess_machine();
    compare(0, of_mnist(53), five, RG_COUNT(five)); /* shares of 10 and 11 */
}

TEST_SLOW(world_divided_6, 120) {
    guess_machine();
    compare(0, of_mnist(66), six, RG_COUNT(six));
}

/* SEED=1 SEEDS=20 build/release/ridge-test -a world_divided_random */
TEST_MANUAL(world_divided_random, 3600) {
    const char *from = getenv("SEED"), *count = getenv("SEEDS");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1, n = count ? strtoull(count, NULL, 10) : 10;
    guess_machine();
    for (uint64_t s = first; s < first + n; s++) {
        const struct division *d = s % 3 == 0 ? three : s % 3 == 1 ? five : six;
        compare(s, draw(s, d[0].ranks), d,
                s % 3 == 0   ? RG_COUNT(three)
                : s % 3 == 1 ? RG_COUNT(five)
                             : RG_COUNT(six));
    }
    TEST_COUNT(n, "random networks, the same bits however ranks are divided");
}
