/* world.c: worlds of ranks and their collectives, behind ridge.h.
 *
 * A collective is a node like any other, but it runs once, and after all that were called before it (tensor/collective.c). c->chain is
 * the handle of the youngest that has not run (chain.c); every plan that contains a collective makes it a root (realize.c), so that none runs twice.
 * What does work by itself (rg_send, rg_barrier, a jit's call) runs those that wait.
 * Tests: tests/unit/world.c, tests/cli/world.sh */
#include "internal.h"
#include "world/world.h"

#define AT const char *file, int line

struct rg_world {
    rg_ctx *c;
    struct world *w;
    uint32_t number; /* in its context */
};

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static void world_free(void *obj) {
    rg_world *w = obj;
    struct err ignore = {0};
    if (!w->c->err.code) realize_chain(NULL, 0, w->c);
    engine_set_world(w->c->engine, &ignore, w->number, NULL);
    world_close(w->w);
    mem_free(w);
}

struct world_opening {
    const rg_world_opts *o;
    rg_world *from; /* of a group */
    rg_world *made;
};

static rg_world *world_new(struct api_call *k) {
    rg_world *w = mem_alloc(sizeof *w);
    if (!w) call_fail(k, RG_ENOMEM, "out of memory for a world");
    *w = (rg_world){.c = k->c, .number = k->c->worlds};
    return w;
}

static void world_ready(struct api_call *k, rg_world *w, int bad) {
    struct err e = {0};
    if (!bad && engine_set_world(k->c->engine, &e, w->number, w->w))
        bad = err_set(&k->c->err, e.code, "%s", e.msg);
    if (bad) {
        world_close(w->w);
        mem_free(w);
        err_throw(&k->c->err, bad, "the world cannot be opened");
    }
    k->c->worlds++;
    ((struct world_opening *)k->p)->made = w;
    ctx_own(k->c, w, world_free);
}

static void do_open(struct api_call *k) {
    const rg_world_opts *o = ((struct world_opening *)k->p)->o;
    struct world_opts how = {.backend = o->backend,
                             .name = o->name,
                             .rank = o->rank,
                             .size = o->size,
                             .seconds = o->timeout,
                             .contexts = o->contexts,
                             .context = o->context};
    if (engine_has_stream(k->c->engine)) how.stream = engine_stream, how.stream_user = k->c->engine;
    rg_world *w = world_new(k);
    world_ready(k, w, world_open(&k->c->err, &how, &w->w));
}

rg_world *rg_world_open_at(AT, rg_ctx *c, rg_world_opts o) {
    struct world_opening x = {.o = &o};
    if (!c || call_work(CALL(world_open, .c = c, .p = &x), do_open)) return NULL;
    return x.made;
}

static void do_group(struct api_call *k) {
    struct world_opening *x = k->p;
    struct world *g = NULL;
    int bad = world_group(x->from->w, &k->c->err, k->ints.d, k->ints.n, &g);
    if (!bad && !g) return;
    rg_world *w = world_new(k);
    w->w = g;
    world_ready(k, w, bad);
}

rg_world *rg_world_group_at(AT, rg_world *w, rg_ints ranks) {
    struct world_opening x = {.from = w};
    if (!w || call_work(CALL(world_group, .c = w->c, .ints = ranks, .p = &x), do_group)) return NULL;
    return x.made;
}

void rg_world_free(rg_world *w) {
    if (!w) return;
    ctx_disown(w->c, w);
    world_free(w);
}

int64_t rg_world_rank(const rg_world *w) { return w ? world_rank(w->w) : 0; }
int64_t rg_world_size(const rg_world *w) { return w ? world_size(w->w) : 1; }
int64_t rg_world_local_rank(const rg_world *w) { return w ? world_local_rank(w->w) : 0; }
/* Parts differ by one row at most, and end where the next begins. */
int64_t rg_world_share(const rg_world *w, int64_t n, int64_t *first) {
    int64_t size = rg_world_size(w), rank = rg_world_rank(w), all = RG_MAX(n, 0), more = all % size;
    if (first) *first = all / size * rank + RG_MIN(rank, more);
    return all / size + (rank < more);
}
double api_planned_seconds(const rg_world *w, double bytes) { return world_planned_seconds(w->w, bytes); }
const char *rg_world_backend(const rg_world *w) { return w ? world_backend(w->w) : "none"; }

/* ---- collectives ---------------------------------------------------------------------------------------------------- */

static rg_world *world_of(struct api_call *k) {
    rg_world *w = k->p;
    if (!w) call_fail(k, RG_EINVAL, "the world is NULL; rg_world_open makes one");
    if (w->c != k->c) call_fail(k, RG_EINVAL, "the world belongs to another context than the tensor");
    return w;
}

static enum collective_reduce reduce_of(struct api_call *k, const uop *x) {
    static const enum collective_reduce how[] = {[RG_COMBINE_SUM] = COLLECTIVE_SUM,
                                                 [RG_COMBINE_PROD] = COLLECTIVE_PROD,
                                                 [RG_COMBINE_MEAN] = COLLECTIVE_SUM,
                                                 [RG_COMBINE_MAX] = COLLECTIVE_MAX,
                                                 [RG_COMBINE_MIN] = COLLECTIVE_MIN};
    if ((uint64_t)k->i[0] >= RG_COUNT(how))
        call_fail(k, RG_EINVAL, "there is no reduction number %lld; use RG_COMBINE_SUM ..",
                  (long long)k->i[0]);
    if (k->i[0] == RG_COMBINE_MEAN && !dt_is_float((enum dtype)x->dt))
        call_fail(k, RG_EINVAL, "the mean over ranks of %s; cast it to a float first",
                  dtype_info[x->dt].name);
    if (x->dt == DT_BOOL && how[k->i[0]] < COLLECTIVE_MAX)
        call_fail(k, RG_EINVAL,
                  "a sum or product over ranks of bool; cast it to i64, or use RG_COMBINE_MAX (any) or "
                  "RG_COMBINE_MIN (all)");
    return how[k->i[0]];
}

static const uop *exchange(struct api_call *k, struct collective c, const uop *x, int64_t elements) {
    c.world = world_of(k)->number;
    chain_begin(k->c);
    const uop *n = t_collective(k->g, c, x, elements);
    chain_end(k->c);
    return n;
}

/* Of the first axis: (d0 * num / den, ..). */
static const uop *scaled_axis(struct api_call *k, const uop *n, const struct shape *s, int64_t num,
                              int64_t den) {
    int64_t d[SHAPE_MAX] = {1};
    memcpy(d, s->d, s->n * sizeof *d);
    d[0] = d[0] * num / den;
    return t_reshape(k->g, n, d, s->n ? s->n : 1);
}

static const uop *mean_of(struct api_call *k, const uop *n) {
    double size = (double)world_size(world_of(k)->w);
    return k->i[0] == RG_COMBINE_MEAN ? t_mul(k->g, n, t_number(k->g, (enum dtype)n->dt, 1 / size)) : n;
}

static const uop *b_all_reduce(struct api_call *k) {
    const uop *x = k->u[0];
    const struct shape *s = tg_shape(k->g, x);
    struct collective c = {.kind = COLLECTIVE_ALL_REDUCE, .reduce = reduce_of(k, x)};
    return t_reshape(k->g, mean_of(k, exchange(k, c, x, shape_size(s))), s->d, s->n);
}

static void check_divides(struct api_call *k, const struct shape *s) {
    int64_t size = world_size(world_of(k)->w);
    if (!s->n || s->d[0] % size)
        call_fail(k, RG_EINVAL, "the first axis has %lld elements, which %lld ranks cannot share equally",
                  s->n ? (long long)s->d[0] : 0ll, (long long)size);
}

static const uop *b_reduce_scatter(struct api_call *k) {
    const uop *x = k->u[0];
    const struct shape *s = tg_shape(k->g, x);
    struct collective c = {.kind = COLLECTIVE_REDUCE_SCATTER, .reduce = reduce_of(k, x)};
    check_divides(k, s);
    int64_t size = world_size(world_of(k)->w);
    return scaled_axis(k, mean_of(k, exchange(k, c, x, shape_size(s) / size)), s, 1, size);
}

static const uop *b_all_gather(struct api_call *k) {
    const struct shape *s = tg_shape(k->g, k->u[0]);
    int64_t size = world_size(world_of(k)->w), all;
    if (__builtin_mul_overflow(shape_size(s), size, &all)) call_fail(k, RG_ELIMIT, "the result is too large");
    return scaled_axis(k, exchange(k, (struct collective){.kind = COLLECTIVE_ALL_GATHER}, k->u[0], all), s,
                       size, 1);
}

static const uop *b_all_to_all(struct api_call *k) {
    const struct shape *s = tg_shape(k->g, k->u[0]);
    check_divides(k, s);
    return scaled_axis(
        k, exchange(k, (struct collective){.kind = COLLECTIVE_ALL_TO_ALL}, k->u[0], shape_size(s)), s, 1, 1);
}

static int64_t peer_of(struct api_call *k) {
    int64_t size = world_size(world_of(k)->w);
    if (k->i[0] < 0 || k->i[0] >= size)
        call_fail(k, RG_EINVAL, "there is no rank %lld; the world has ranks 0 to %lld", (long long)k->i[0],
                  (long long)size - 1);
    return k->i[0];
}

/* Other ranks' values do not count, and have a gradient of 0: the gradient is a collective on all ranks. */
static const uop *b_broadcast(struct api_call *k) {
    const uop *x = k->u[0];
    const struct shape *s = tg_shape(k->g, x);
    struct collective c = {.kind = COLLECTIVE_BROADCAST, .peer = peer_of(k)};
    if (c.peer != world_rank(world_of(k)->w) && dt_is_float((enum dtype)x->dt))
        x = t_grad_through(k->g, x, t_mul(k->g, x, t_number(k->g, (enum dtype)x->dt, 0)));
    return t_reshape(k->g, exchange(k, c, x, shape_size(s)), s->d, s->n);
}

static const uop *nothing(struct api_call *k, enum dtype dt) {
    return t_full(k->g, t_int(k->g, dt, 0), (const int64_t[]){1}, 1);
}

static const uop *b_recv(struct api_call *k) {
    const struct shape *s = tg_shape(k->g, k->u[0]);
    struct collective c = {.kind = COLLECTIVE_RECV, .peer = peer_of(k)};
    enum dtype dt = (enum dtype)k->u[0]->dt;
    const uop *none =
        dt_is_float(dt) ? t_full(k->g, t_number(k->g, dt, 0), (const int64_t[]){1}, 1) : nothing(k, dt);
    return t_reshape(k->g, exchange(k, c, none, shape_size(s)), s->d, s->n);
}

rg_tensor rg_all_reduce_at(AT, rg_tensor x, rg_world *w, rg_combine how) {
    return call_tensor(
        CALL(all_reduce, .in = {TENSOR(x)}, .n = 1, .i = {(int64_t)how}, .p = w, .build = b_all_reduce));
}
rg_tensor rg_reduce_scatter_at(AT, rg_tensor x, rg_world *w, rg_combine how) {
    return call_tensor(CALL(reduce_scatter, .in = {TENSOR(x)}, .n = 1, .i = {(int64_t)how}, .p = w,
                            .build = b_reduce_scatter));
}
rg_tensor rg_all_gather_at(AT, rg_tensor x, rg_world *w) {
    return call_tensor(CALL(all_gather, .in = {TENSOR(x)}, .n = 1, .p = w, .build = b_all_gather));
}
rg_tensor rg_all_to_all_at(AT, rg_tensor x, rg_world *w) {
    return call_tensor(CALL(all_to_all, .in = {TENSOR(x)}, .n = 1, .p = w, .build = b_all_to_all));
}
rg_tensor rg_broadcast_at(AT, rg_tensor x, rg_world *w, int64_t root) {
    return call_tensor(CALL(broadcast, .in = {TENSOR(x)}, .n = 1, .i = {root}, .p = w, .build = b_broadcast));
}
rg_tensor rg_recv_at(AT, rg_tensor like, rg_world *w, int64_t from) {
    return call_tensor(CALL(recv, .in = {TENSOR(like)}, .n = 1, .i = {from}, .p = w, .build = b_recv));
}

/* ---- calls that run --------------------------------------------------------------------------------------------------- */

static void run_now(struct api_call *k, uint32_t first, const uop *n) {
    call_site(k, first, n);
    realize_nodes(k, &n, 1, false, NULL);
}

static void do_send(struct api_call *k) {
    call_collect(k);
    const uop *x = call_slot(k, k->in[0].t, 0)->node;
    uint32_t first = k->g->ir->n;
    struct collective c = {.kind = COLLECTIVE_SEND, .peer = peer_of(k)};
    run_now(k, first, exchange(k, c, t_detach(k->g, x), 1));
}
rg_status rg_send_at(AT, rg_tensor x, rg_world *w, int64_t to) {
    return call_work(CALL(send, .in = {TENSOR(x)}, .n = 1, .i = {to}, .p = w), do_send);
}

static void do_barrier(struct api_call *k) {
    call_collect(k);
    uint32_t first = k->g->ir->n;
    run_now(k, first, exchange(k, (struct collective){.kind = COLLECTIVE_BARRIER}, nothing(k, DT_I32), 1));
}
rg_status rg_barrier_at(AT, rg_world *w) {
    return w ? call_work(CALL(barrier, .c = w->c, .p = w), do_barrier) : RG_EINVAL;
}
