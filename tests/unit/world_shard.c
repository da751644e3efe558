/* world_shard.c: training that ranks divide, on contexts of one process (the local backend): ZeRO 1 and 3, tensor parallel layers, on 2 and 4
 * ranks against one process with the same global batch, 20 steps; what a rank keeps; clipping, loss scaling; checkpoints by all ranks. */
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 4, STEPS = 20, BATCH = 8, SEQUENCE = 3, SIZE = 8, WORDS = 11, HEADS = 4 };

enum how { ALONE, DATA, ZERO1, ZERO3, TENSOR_PARALLEL };
struct run {
    enum how how;
    int size, steps;
    bool clip, scale, jit;
    rg_dtype dt;
    double loss[RANKS][STEPS];
    double state[RANKS];     /* elements of the optimiser's state */
    double held[RANKS];      /* elements of the parameters */
    const char *save, *load; /* a checkpoint before the steps, and after `save_at` of them */
    int save_at;
    char error[RANKS][600], name[64];
};
struct shard_rank {
    struct run *r;
    int rank;
};

/* ---- a network with every layer that is divided -------------------------------------------------------------------- */

struct net {
    rg_module *all, *words, *norm, *attention, *up, *down, *scale, *head;
};

/* A function of its own, which asks for its parameter. */
static rg_tensor scaled(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    return rg_mul(x, rg_nn_get(m, "by"));
}

static struct net network(rg_ctx *c, rg_world *tp) {
    struct net n = {.all = rg_nn_module(c, NULL, NULL)};
    n.words = tp ? rg_nn_embedding_parallel(c, WORDS, SIZE, tp) : rg_nn_embedding(c, WORDS, SIZE);
    n.norm = rg_nn_layernorm(c, RG_SHAPE(SIZE));
    n.attention = rg_nn_attention(c, SIZE, HEADS, .causal = true, .world = tp);
    n.up = rg_nn_linear(c, SIZE, 4 * SIZE, .world = tp, .split = RG_COLWISE);
    n.down = rg_nn_linear(c, 4 * SIZE, SIZE, .world = tp, .split = RG_ROWWISE);
    n.scale = rg_nn_module(c, scaled, NULL);
    rg_nn_param(n.scale, "by", rg_uniform(c, RG_F32, 0.5, 1.5, RG_SHAPE(SIZE)));
    n.head = rg_nn_linear(c, SIZE, WORDS);
    rg_nn_add(n.all, "words", n.words), rg_nn_add(n.all, "norm", n.norm);
    rg_nn_add(n.all, "attention", n.attention), rg_nn_add(n.all, "up", n.up);
    rg_nn_add(n.all, "down", n.down), rg_nn_add(n.all, "scale", n.scale), rg_nn_add(n.all, "head", n.head);
    return n;
}

static rg_tensor forward(const struct net *n, rg_tensor at) {
    rg_tensor x = rg_nn_forward(n->words, at);
    x = rg_add(x, rg_nn_forward(n->attention, rg_nn_forward(n->norm, x)));
    x = rg_add(x, rg_nn_forward(n->down, rg_gelu(rg_nn_forward(n->up, x))));
    return rg_nn_forward(n->head, rg_nn_forward(n->scale, x));
}

struct trainer {
    struct run *r;
    rg_ctx *c;
    rg_world *w;
    struct net net;
    rg_optim *o;
    rg_tensors params;
    int64_t rank, share;
};

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct trainer *t = user;
    rg_tensor at = rg_narrow(in[0], 0, t->rank * t->share, t->share),
              next = rg_narrow(in[1], 0, t->rank * t->share, t->share);
    rg_tensor y = rg_reshape(forward(&t->net, at), RG_SHAPE(-1, WORDS));
    rg_tensor loss = rg_cross_entropy(y, rg_reshape(next, RG_SHAPE(-1)));
    rg_backward(t->r->scale ? rg_optim_scale(t->o, loss) : loss);
    if (t->w) rg_nn_reduce_grads(t->net.all);
    if (t->r->clip) rg_clip_grad_norm(t->params, 0.5);
    out[0] = t->w ? rg_all_reduce(rg_detach(loss), t->w, RG_COMBINE_MEAN) : loss;
    return rg_optim_step(t->o);
}

static double count(size_t n, rg_tensor (*get)(void *, size_t), void *of) {
    double all = 0;
    for (size_t i = 0; i < n; i++) all += (double)rg_size(get(of, i));
    return all;
}
static rg_tensor get_state(void *o, size_t i) { return rg_optim_entry(o, i, NULL); }
static rg_tensor get_param(void *m, size_t i) { return rg_nn_params(m).t[i]; }

static void prepare(struct trainer *t) {
    static const rg_shard shard[] = {
        [ZERO1] = RG_SHARD_OPTIMISER, [ZERO3] = RG_SHARD_PARAMETERS, [TENSOR_PARALLEL] = 0};
    struct run *r = t->r;
    bool divides = t->w && r->how != TENSOR_PARALLEL;
    rg_seed(t->c, 3);
    t->net = network(t->c, r->how == TENSOR_PARALLEL ? t->w : NULL);
    if (r->dt) rg_nn_cast(t->net.all, r->dt);
    t->share = divides ? BATCH / r->size : BATCH, t->rank = divides ? t->rank : 0;
    if (t->w) rg_nn_data_parallel(t->net.all, t->w, .shard = shard[r->how], .bucket_mb = 1e-3);
    t->params = rg_nn_params(t->net.all);
    t->o = rg_adamw(t->params, .lr = 0.01, .loss_scale = r->scale ? 64 : 0);
}

static void draw_batch(rg_ctx *c, rg_tensor in[2]) {
    for (int k = 0; k < 2; k++) {
        in[k] = rg_contiguous(rg_randint(c, RG_I64, 0, WORDS, RG_SHAPE(BATCH, SEQUENCE)));
        rg_realize(in[k]);
    }
}

static void train(struct run *r, rg_ctx *c, rg_world *w, int rank) {
    struct trainer t = {.r = r, .c = c, .w = w, .rank = rank};
    prepare(&t);
    r->state[rank] = count(rg_optim_entries(t.o), get_state, t.o);
    r->held[rank] = count(t.params.n, get_param, t.net.all);
    if (r->load) rg_nn_load_sharded(t.net.all, t.o, w, r->load);
    rg_seed(c, 5);
    for (int i = 0; r->load && i < r->save_at; i++) {
        rg_tensor in[2];
        draw_batch(c, in); /* those that the first half saw */
    }
    rg_jit *j = r->jit ? rg_jit_new(c, step, &t, 1) : NULL;
    for (int i = 0; i < r->steps; i++) {
        RG_SCOPE(c);
        rg_tensor in[2], loss;
        draw_batch(c, in);
        if (j ? rg_jit_call(j, RG_ARRAY(in, 2), &loss) : step(&t, in, &loss)) return;
        r->loss[rank][i] = rg_item(loss);
        if (r->save && i + 1 == r->save_at) rg_nn_save_sharded(t.net.all, t.o, w, r->save);
    }
}

static void *run_rank(void *arg) {
    struct shard_rank *s = arg;
    struct run *r = s->r;
    rg_ctx *c = rg_open("REF"); /* which compiles nothing */
    rg_world *w = r->how == ALONE ? NULL : rg_world_open(c, "local", r->name, s->rank, r->size, 60);
    if (w || r->how == ALONE) train(r, c, w, s->rank);
    snprintf(r->error[s->rank], sizeof r->error[0], "%s", rg_error(c));
    rg_close(c);
    return NULL;
}

static void run(struct run *r) {
    static int number;
    pthread_t t[RANKS];
    struct shard_rank s[RANKS];
    if (!r->steps) r->steps = STEPS;
    snprintf(r->name, sizeof r->name, "shard-%d", number++);
    for (int i = 0; i < r->size; i++)
        s[i] = (struct shard_rank){r, i}, pthread_create(&t[i], NULL, run_rank, &s[i]);
    for (int i = 0; i < r->size; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < r->size; i++)
        if (*r->error[i]) FAIL("rank %d of %d: %s", i, r->size, r->error[i]);
}

static void check_same(const struct run *one, const struct run *r, double bound) {
    for (int k = 0; k < r->size; k++)
        for (int i = 0; i < r->steps; i++) {
            double off = fabs(r->loss[k][i] - one->loss[0][i]) / fabs(one->loss[0][i]);
            if (!(off <= bound))
                FAIL("way %d, rank %d of %d, step %d: loss %.12g, alone %.12g, off by %.2g", (int)r->how, k,
                     r->size, i + 1, r->loss[k][i], one->loss[0][i], off);
        }
}

/* ---- equal losses ---------------------------------------------------------------------------------------------------- */

/* In F64 the only difference is the order of sums. */
static void equal(enum how how, bool clip, bool scale) {
    struct run one = {.how = ALONE, .size = 1, .dt = RG_F64, .clip = clip, .scale = scale};
    run(&one);
    CHECK(one.loss[0][STEPS - 1] < 0.99 * one.loss[0][0]);
    for (int size = 2; size <= 4; size *= 2) {
        struct run r = {.how = how, .size = size, .dt = RG_F64, .clip = clip, .scale = scale};
        run(&r);
        check_same(&one, &r, 1e-9);
    }
}

TEST(world_shard_data) { equal(DATA, false, false); }
TEST(world_shard_zero1) { equal(ZERO1, false, false); }
TEST(world_shard_zero3) { equal(ZERO3, false, false); }
TEST(world_shard_tensor_parallel) { equal(TENSOR_PARALLEL, false, false); }
TEST(world_shard_clip) {
    equal(ZERO1, true, false);
    equal(ZERO3, true, false);
    equal(TENSOR_PARALLEL, true, false);
}
TEST(world_shard_loss_scale) { equal(ZERO1, false, true); }

TEST(world_shard_f32_and_jits) {
    struct run one = {.how = ALONE, .size = 1};
    run(&one);
    for (int how = DATA; how <= TENSOR_PARALLEL; how++) {
        struct run r = {.how = (enum how)how, .size = 2, .jit = true};
        run(&r);
        check_same(&one, &r, 1e-6);
    }
}

/* What ZeRO is for. */
TEST(world_shard_keeps_a_part) {
    struct run all = {.how = DATA, .size = 4, .steps = 1}, zero1 = {.how = ZERO1, .size = 4, .steps = 1},
               zero3 = {.how = ZERO3, .size = 4, .steps = 1};
    run(&all), run(&zero1), run(&zero3);
    for (int i = 0; i < 4; i++) {
        CHECK(zero1.held[i] == all.held[i]);
        CHECK(zero1.state[i] < 0.27 * all.state[i]); /* padding: some small tensors */
        CHECK(zero3.state[i] < 0.27 * all.state[i]);
        CHECK(zero3.held[i] < 0.27 * all.held[i]);
    }
}

/* ---- checkpoints --------------------------------------------------------------------------------------------------------- */

enum { HALF = 3 };

/* Saved on 4 ranks after HALF steps, twice; read on 1, 2 and 4: the next losses are those of the run that went on. */
static void resume(enum how how, const char *path) {
    struct run first = {
        .how = how, .size = 4, .dt = RG_F64, .steps = 2 * HALF, .save = path, .save_at = HALF};
    run(&first);
    for (int size = 1; size <= 4; size *= 2) {
        struct run r = {.how = how, .size = size, .dt = RG_F64, .steps = HALF, .load = path, .save_at = HALF};
        run(&r);
        for (int i = 0; i < HALF; i++) {
            double want = first.loss[0][HALF + i];
            if (fabs(r.loss[0][i] - want) > 1e-9 * want)
                FAIL("way %d on %d ranks, step %d: %.12g, went on with %.12g", (int)how, size, i,
                     r.loss[0][i], want);
        }
    }
}

static int files_like(const char *path) {
    char command[700];
    int n = -1;
    snprintf(command, sizeof command, "ls %s* | wc -l", path);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%d", &n) != 1) n = -1;
    if (f) pclose(f);
    return n;
}

static void folder(char out[static 32]) {
    strcpy(out, "/tmp/ridge-shard-XXXXXX");
    CHECK(mkdtemp(out));
}
static void remove_folder(const char *dir) {
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK_EQ(system(command), 0);
}

TEST(world_shard_checkpoint) {
    char path[600], dir[32];
    folder(dir);
    for (int how = DATA; how <= ZERO3; how++) {
        snprintf(path, sizeof path, "%s/checkpoint-%d", dir, how);
        resume((enum how)how, path);
        CHECK_EQ(files_like(path), 5);
    }
    resume(ZERO3, path);           /* over the one that is there */
    CHECK_EQ(files_like(path), 5); /* the older generation is gone */
    remove_folder(dir);
}

TEST(world_shard_checkpoint_errors) {
    rg_ctx *c = rg_open("REF");
    char path[600], dir[32];
    folder(dir);
    snprintf(path, sizeof path, "%s/small", dir);
    rg_module *small = rg_nn_linear(c, 3, 2), *large = rg_nn_linear(c, 3, 4),
              *other = rg_nn_layernorm(c, RG_SHAPE(2));
    rg_nn_save_sharded(small, NULL, NULL, path);
    CHECK(!rg_status_of(c));
    CHECK(rg_nn_load_sharded(large, NULL, NULL, path));
    CHECK(strstr(rg_error(c), "net.weight has 6 elements"));
    rg_clear_error(c);
    rg_nn_add(small, "more", other);
    CHECK(rg_nn_load_sharded(small, NULL, NULL, path));
    CHECK(strstr(rg_error(c), "has no net.more.weight: it is of another network or optimiser"));
    rg_clear_error(c);
    CHECK(rg_nn_save_sharded(small, NULL, NULL, "/nowhere/at/all"));
    rg_clear_error(c);
    rg_close(c);
    remove_folder(dir);
}
