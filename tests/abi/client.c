/* client.c: a program of a release: tests/cli/abi.sh compiles it with that release's header and runs it with our library. It
 * passes every struct of options by value, has every struct of figures filled between guards, and checks what it gets. */
#include <ridge.h>
#include <stdio.h>
#include <string.h>

static int bad;
static void check(int ok, const char *what) {
    if (!ok) printf("wrong: %s\n", what), bad = 1;
}
#define IS(x, want) check((x) == (want), #x " is " #want)

/* The library must not write past what the program's header says. */
#define FILLED(type, call, test)                    \
    do {                                            \
        struct {                                    \
            type v;                                 \
            unsigned char guard[64];                \
        } room;                                     \
        memset(&room, 0xa5, sizeof room);           \
        type *out = &room.v;                        \
        check(!(call), #call);                      \
        check(test, #test);                         \
        for (size_t i = 0; i < 64; i++)             \
            if (room.guard[i] != 0xa5) {            \
                check(0, #call " stays in " #type); \
                break;                              \
            }                                       \
    } while (0)

static rg_status twice(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    *out = rg_mul(in[0], 2);
    return RG_OK;
}
static int fill(void *user, uint64_t step, void *const *buf) {
    (void)user;
    ((float *)buf[0])[0] = (float)step;
    return step > 3;
}

static void options(rg_ctx *c) {
    rg_tensor x = rg_reshape(rg_arange(c, RG_F32, 0, 16, 1), RG_SHAPE(1, 1, 4, 4)), g;
    rg_tensor v = rg_reshape(x, RG_SHAPE(16)), w = rg_ones(c, RG_F32, RG_SHAPE(1, 1, 2, 2));
    rg_tensor at = rg_from(c, RG_I64, (int64_t[]){0, 0, 1}, RG_SHAPE(3)),
              ones = rg_ones(c, RG_F32, RG_SHAPE(3));
    IS(rg_item(rg_select(rg_sum(rg_reshape(x, RG_SHAPE(4, 4)), RG_AXES(1), .keep = true), 0, 2)), 38);
    IS(rg_rank(rg_sum(x, RG_AXES(1), .keep = true)), 4);
    check(rg_item(rg_var(v, .population = true)) == 21.25, "rg_var of the population");
    IS(rg_grad(rg_mul(v, v), RG_TENSORS(v), &g, .seed = rg_ones_like(v)), RG_OK);
    IS(rg_item(rg_sum(g)), 240);
    IS(rg_item(rg_sum(rg_conv2d(x, w, .stride = RG_SHAPE(2), .padding = RG_SHAPE(1)))), 120);
    IS(rg_item(rg_sum(rg_max_pool2d(x, .size = RG_SHAPE(2)))), 40);
    IS(rg_dim(rg_interpolate(x, RG_SHAPE(8, 8), .mode = RG_RESIZE_LINEAR), 3), 8);
    IS(rg_item(
           rg_select(rg_scatter_reduce(v, 0, at, ones, .how = RG_COMBINE_SUM, .exclude_self = true), 0, 0)),
       2);
    IS(rg_item(rg_select(rg_sort(v, 0, .descending = true), 0, 0)), 15);
    IS(rg_dim(rg_attention(x, x, x, .causal = true, .scale = 0.5), 3), 4);
    IS(rg_item(rg_mse_loss(v, rg_zeros_like(v), .reduction = RG_SUM)), 1240);
    IS(rg_item(rg_sum(rg_layernorm(rg_ones_like(v), RG_NONE, RG_NONE, .eps = 0.25))), 0);
}

static void objects(rg_ctx *c) {
    rg_tensor y;
    rg_module *m = rg_nn_linear(c, 4, 2, .no_bias = true);
    IS(rg_size(
           rg_nn_forward(rg_nn_attention(c, 8, 2, .causal = true), rg_ones(c, RG_F32, RG_SHAPE(1, 3, 8)))),
       24);
    rg_tensors params = rg_nn_params(m);
    IS(params.n, 1);
    rg_tensor p = params.t[0];
    rg_optim *o = rg_sgd(RG_ARRAY(&p, 1), .lr = 0.5);
    IS(rg_optim_lr(o), 0.5);
    rg_optim_free(o);
    const rg_batch_part part = {.dtype = RG_F32, .shape = RG_SHAPE(1)};
    rg_loader *l = rg_loader_new(c, &part, 1, fill, NULL, .ahead = 1, .first = 3);
    bool end = true;
    IS(rg_loader_next(l, &y, &end), RG_OK);
    IS(rg_item(y), 3);
    IS(rg_loader_next(l, &y, &end), RG_OK);
    IS(end, true);
    rg_loader_free(l);
    rg_jit *j = rg_jit_new(c, twice, NULL, 1);
    rg_tensor in = rg_realize(p) ? RG_NONE : p;
    for (int i = 0; i < 3; i++) IS(rg_jit_call(j, RG_TENSORS(in), &y), RG_OK);
    FILLED(rg_jit_stats, rg_jit_info(j, out), out->calls == 3);
    rg_jit_free(j);
}

static void figures(rg_ctx *c) {
    char text[256];
    rg_tensor y = rg_add(rg_ones(c, RG_F32, RG_SHAPE(64)), 1);
    FILLED(rg_plan_stats, rg_schedule_stats(RG_TENSORS(y), out), out->kernels == out->distinct);
    FILLED(rg_usage, rg_stats(c, out), out->realizes > 0 && out->handles > 0);
    FILLED(rg_memory, rg_memory_of(c, out), out->peak >= out->bytes);
    FILLED(rg_machine, rg_machine_of(c, out), out->threads > 0);
    FILLED(rg_kernel_cost, (rg_kernels(c, out, 1), 0), 1);
    IS(rg_profile_start(c, "client.profile", .active = 1, .activities = RG_RECORD_CALLS), RG_OK);
    IS(rg_profile_stop(c), RG_OK);
    check(rg_profile_table(c, "client.profile", text, sizeof text, .by = RG_BY_OP, .rows = 3) > 0, "a table");
}

/* Beyond options of this release lies what the stack held before: nothing that the library may read as an option. */
static __attribute__((noinline)) void dirty(void) {
    volatile unsigned char junk[16384];
    for (size_t i = 0; i < sizeof junk; i++) junk[i] = 0x77;
}

int main(void) {
    rg_ctx *c = rg_open("REF");
    dirty();
    options(c);
    dirty();
    objects(c);
    figures(c);
    if (rg_status_of(c)) printf("%s\n", rg_error(c)), bad = 1;
    printf("header %s, library %s: %s\n", RG_VERSION, rg_version(), bad ? "broken" : "runs");
    return rg_close(c) || bad;
}
