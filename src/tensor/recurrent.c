/* recurrent.c: the cells of recurrent nets as bodies of a loop, with PyTorch's weights and order of gates.
 *
 * LSTM: i, f, g, o; GRU: r, z, n; each a part of the rows of w_ih (gates * H, I) and w_hh (gates * H, H). The product of the
 * input is written in the body like the other one and leaves it (loop.c). States are float32 at least; 16-bit weights multiply
 * states that are rounded to their type.
 * Tests: tests/unit/loop.c, tests/unit/recurrent.c */
#include "tensor/loop.h"

struct recurrent_cell {
    struct loop_body b;
    struct tg *g; /* outside */
    const uop *x, *state[2], *w[4];
    int64_t steps, rows, in, hidden;
    enum dtype dt; /* of the states */
};

static const uop *gate(struct recurrent_cell *c, const uop *all, int64_t k) {
    struct t_slice part[2] = {{.start = 0, .stop = c->rows, .step = 1},
                              {.start = k * c->hidden, .stop = (k + 1) * c->hidden, .step = 1}};
    return t_slice(&c->b.g, all, part, 2);
}

static const uop *product(struct recurrent_cell *c, const uop *x, const uop *w, const uop *bias) {
    struct tg *g = &c->b.g;
    if (tg_is_half(w)) x = t_cast(g, x, (enum dtype)w->dt);
    return t_cast(g, t_linear(g, x, w, bias), c->dt);
}

static void lstm_step(struct recurrent_cell *c, const uop **next) {
    struct tg *g = &c->b.g;
    const uop *all = t_add(g, product(c, c->x, c->w[0], c->w[2]), product(c, c->state[0], c->w[1], c->w[3]));
    const uop *i = t_sigmoid(g, gate(c, all, 0)), *f = t_sigmoid(g, gate(c, all, 1));
    const uop *u = t_tanh(g, gate(c, all, 2)), *o = t_sigmoid(g, gate(c, all, 3));
    next[1] = t_add(g, t_mul(g, f, c->state[1]), t_mul(g, i, u));
    next[0] = t_mul(g, o, t_tanh(g, next[1]));
}

static void gru_step(struct recurrent_cell *c, const uop **next) {
    struct tg *g = &c->b.g;
    const uop *in = product(c, c->x, c->w[0], c->w[2]), *h = product(c, c->state[0], c->w[1], c->w[3]);
    const uop *r = t_sigmoid(g, t_add(g, gate(c, in, 0), gate(c, h, 0)));
    const uop *z = t_sigmoid(g, t_add(g, gate(c, in, 1), gate(c, h, 1)));
    const uop *n = t_tanh(g, t_add(g, gate(c, in, 2), t_mul(g, r, gate(c, h, 2))));
    next[0] = t_add(g, n, t_mul(g, z, t_sub(g, c->state[0], n)));
}

static void check_sizes(struct recurrent_cell *c, const char *name, int64_t gates, const uop *x,
                        const uop *state, const uop *const *w) {
    struct tg *g = c->g;
    const struct shape *a = tg_shape(g, x), *h = tg_shape(g, w[1]);
    for (int i = 0; i < 4; i++)
        if (w[i] && !dt_is_float((enum dtype)w[i]->dt))
            tg_bad(g, "weight %d is %s; expected a float dtype", i + 1, tg_dt(w[i]));
    if (!dt_is_float((enum dtype)x->dt)) tg_bad(g, "the input is %s; expected a float dtype", tg_dt(x));
    if (a->n != 3 || a->d[0] < 1)
        tg_bad(g, "the input is %s; expected (T, N, in), T at least 1", tg_dims(g, x));
    if (h->n != 2 || h->d[0] != gates * h->d[1])
        tg_bad(g, "the second weight is %s; expected (%lld * H, H), for %lld gates", tg_dims(g, w[1]),
               (long long)gates, (long long)gates);
    c->steps = a->d[0], c->rows = a->d[1], c->in = a->d[2], c->hidden = h->d[1];
    int64_t want[] = {gates == 4 ? 2 : 1, c->rows, c->hidden}, of[] = {h->d[0], c->in};
    if (tg_shape(g, w[0]) != shape_make(&g->shapes, of, 2))
        tg_bad(g, "the first weight is %s; expected %s for an input of %s", tg_dims(g, w[0]),
               tg_list(g, of, 2), tg_dims(g, x));
    for (int i = 2; i < 4; i++)
        if (w[i] && tg_shape(g, w[i]) != shape_make(&g->shapes, of, 1))
            tg_bad(g, "bias %d is %s; expected %s", i - 1, tg_dims(g, w[i]), tg_list(g, of, 1));
    if (state && tg_shape(g, state) != shape_make(&g->shapes, want, 3))
        tg_bad(g, "the state that %s begins with is %s; expected %s", name, tg_dims(g, state),
               tg_list(g, want, 3));
}

static const uop *begin_with(struct recurrent_cell *c, const uop *state, int64_t k) {
    int64_t d[] = {c->rows, c->hidden};
    struct t_slice one = {.start = k, .stop = k + 1, .step = 1};
    if (!state) return t_full(c->g, t_number(c->g, c->dt, 0), d, 2);
    return t_reshape(c->g, t_slice(c->g, t_cast(c->g, state, c->dt), &one, 1), d, 2);
}

struct cell_call {
    struct recurrent_cell c;
    struct arena a;
    const struct t_recurrent *o;
    const uop *x, *state, *result;
};

static void cell_guarded(void *arg) {
    struct cell_call *k = arg;
    struct recurrent_cell *c = &k->c;
    uint32_t states = k->o->cell == T_LSTM ? 2 : 1;
    loop_body_init(&c->b, &k->a, c->steps, k->o->backwards);
    for (uint32_t i = 0; i < states; i++)
        c->state[i] = loop_leaf(&c->b, c->g, LOOP_STATE, begin_with(c, k->state, i));
    c->x = loop_leaf(&c->b, c->g, LOOP_PER_STEP, k->x);
    for (int i = 0; i < 4; i++)
        if (k->o->w[i]) c->w[i] = loop_leaf(&c->b, c->g, LOOP_FIXED, k->o->w[i]);
    c->b.next = arena_array(&k->a, const uop *, states);
    (k->o->cell == T_LSTM ? lstm_step : gru_step)(c, c->b.next);
    const uop *flat = loop_make(c->g, &c->b);
    int64_t size = c->rows * c->hidden, d[] = {states, c->steps + 1, c->rows, c->hidden};
    const struct shape *s = shape_make(&c->g->shapes, d + 2, 2);
    const uop *all = loop_view(c->g, flat, 0, loop_row(c->dt, size), states * (c->steps + 1), s);
    k->result = t_reshape(c->g, all, d, 4);
}

const uop *t_recurrent(struct tg *g, const uop *x, const uop *state, const struct t_recurrent *o) {
    struct cell_call k = {.c = {.g = g}, .o = o, .x = x, .state = state};
    check_sizes(&k.c, o->cell == T_LSTM ? "an LSTM" : "a GRU", o->cell == T_LSTM ? 4 : 3, x, state, o->w);
    k.c.dt = t_promote(t_promote((enum dtype)x->dt, (enum dtype)o->w[1]->dt), DT_F32);
    arena_init(&k.a, g->ir->err);
    int code = err_guard(g->ir->err, cell_guarded, &k);
    arena_free(&k.a);
    if (code) err_throw(g->ir->err, code, "%s", g->ir->err->msg);
    return t_cast(g, k.result, (enum dtype)x->dt);
}
