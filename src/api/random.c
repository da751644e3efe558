/* random.c: where random numbers come from.
 *
 * A context has a seed, the key, and counts the counters that were drawn. A draw is a new VAR that holds the count at that time, so
 * what a tensor will hold is settled when it is made; and two steps that draw alike differ in numbers only, not in their
 * plan. The key is a VAR too, one for the whole context: rg_seed makes a new version of it, as rg_set_scalar does.
 * A replay of recorded work sets the VARs of its draws again: random_mark starts noting them, each with its distance
 * from the count at the mark.
 * Tests: tests/unit/random.c, tests/semantics/random_numbers.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

/* ---- drawing --------------------------------------------------------------------------------------------- */

void random_mark(rg_ctx *c) {
    c->noting = true;
    c->draws = 0;
    c->marked = c->drawn;
}

void random_unmark(rg_ctx *c) { c->noting = false; }

const struct draw *random_draws(rg_ctx *c, uint32_t *n) {
    *n = c->draws;
    return c->draw;
}

static void note(rg_ctx *c, uint32_t var) {
    if (!c->noting) return;
    if (c->draws == c->draw_cap) {
        uint32_t cap = c->draw_cap ? 2 * c->draw_cap : 16;
        struct draw *d = mem_realloc(c->draw, cap * sizeof *d);
        if (!d) err_throw(&c->err, RG_ENOMEM, "out of memory: no room to note another draw");
        c->draw = d, c->draw_cap = cap;
    }
    c->draw[c->draws++] = (struct draw){var, c->drawn - c->marked};
}

void random_take(struct t_rng *rng, int64_t counters, const uop **base, const uop **key) {
    rg_ctx *c = ((struct rng *)rng)->c;
    struct tg *g = &c->graph->tg;
    *key = t_cast(g, store_key(c), DT_U64);
    const uop *var = store_var(c, DT_I64, -0x1p63, 0x1p63, (int64_t)c->drawn, NULL);
    note(c, var->arg.param.slot);
    *base = t_cast(g, var, DT_U64);
    c->drawn += (uint64_t)counters;
}

static void do_seed(struct api_call *k) {
    k->c->seed = (uint64_t)k->i[0];
    k->c->drawn = 0;
    k->c->keyed = false;
}
rg_status rg_seed_at(AT, rg_ctx *c, uint64_t seed) {
    return call_work(CALL(seed, .c = c, .i = {(int64_t)seed}), do_seed);
}

/* ---- of a shape --------------------------------------------------------------------------------------------- */

static uint32_t sizes(struct api_call *k) {
    if (k->ints.n > SHAPE_MAX)
        call_fail(k, RG_ELIMIT, "%zu sizes; a tensor has at most %d axes", k->ints.n, SHAPE_MAX);
    if (k->ints.n && !k->ints.d) call_fail(k, RG_EINVAL, "the list of sizes is NULL");
    return (uint32_t)k->ints.n;
}
static enum dtype dtype_of(struct api_call *k) { return call_dtype(k, (rg_dtype)k->i[0]); }

#define PLAIN(name)                                                                                   \
    static const uop *b_##name(struct api_call *k) {                                                  \
        return t_##name(k->g, RNG(k), dtype_of(k), k->ints.d, sizes(k));                              \
    }                                                                                                 \
    rg_tensor rg_##name##_at(AT, rg_ctx *c, rg_dtype dt, rg_ints shape) {                             \
        return call_tensor(CALL(name, .c = c, .i = {(int64_t)dt}, .ints = shape, .build = b_##name)); \
    }
PLAIN(rand)
PLAIN(randn)
PLAIN(glorot_uniform)

#define SLOPE(name)                                                                                  \
    static const uop *b_##name(struct api_call *k) {                                                 \
        return t_##name(k->g, RNG(k), dtype_of(k), k->f[0], k->ints.d, sizes(k));                    \
    }                                                                                                \
    rg_tensor rg_##name##_at(AT, rg_ctx *c, rg_dtype dt, double slope, rg_ints shape) {              \
        return call_tensor(                                                                          \
            CALL(name, .c = c, .i = {(int64_t)dt}, .f = {slope}, .ints = shape, .build = b_##name)); \
    }
SLOPE(kaiming_uniform)
SLOPE(kaiming_normal)

#define TWO(name)                                                                                   \
    static const uop *b_##name(struct api_call *k) {                                                \
        return t_##name(k->g, RNG(k), dtype_of(k), k->f[0], k->f[1], k->ints.d, sizes(k));          \
    }                                                                                               \
    rg_tensor rg_##name##_at(AT, rg_ctx *c, rg_dtype dt, double a, double b, rg_ints shape) {       \
        return call_tensor(                                                                         \
            CALL(name, .c = c, .i = {(int64_t)dt}, .f = {a, b}, .ints = shape, .build = b_##name)); \
    }
TWO(uniform)
TWO(normal)

static const uop *b_randint(struct api_call *k) {
    return t_randint(k->g, RNG(k), dtype_of(k), k->i[1], k->i[2], k->ints.d, sizes(k));
}
rg_tensor rg_randint_at(AT, rg_ctx *c, rg_dtype dt, int64_t lo, int64_t hi, rg_ints shape) {
    return call_tensor(CALL(randint, .c = c, .i = {(int64_t)dt, lo, hi}, .ints = shape, .build = b_randint));
}

static const uop *b_randperm(struct api_call *k) { return t_randperm(k->g, RNG(k), dtype_of(k), k->i[1]); }
rg_tensor rg_randperm_at(AT, rg_ctx *c, rg_dtype dt, int64_t n) {
    return call_tensor(CALL(randperm, .c = c, .i = {(int64_t)dt, n}, .build = b_randperm));
}

/* ---- of a tensor ----------------------------------------------------------------------------------------------- */

#define LIKE(name, of)                                                                \
    static const uop *b_##name(struct api_call *k) {                                  \
        const struct shape *sh = tg_shape(k->g, k->u[0]);                             \
        return t_##of(k->g, RNG(k), (enum dtype)k->u[0]->dt, sh->d, sh->n);           \
    }                                                                                 \
    rg_tensor rg_##name##_at(AT, rg_tensor x) {                                       \
        return call_tensor(CALL(name, .in = {TENSOR(x)}, .n = 1, .build = b_##name)); \
    }
LIKE(rand_like, rand)
LIKE(randn_like, randn)

static const uop *b_dropout(struct api_call *k) { return t_dropout(k->g, RNG(k), k->u[0], k->f[0]); }
rg_tensor rg_dropout_at(AT, rg_tensor x, double p) {
    return call_tensor(CALL(dropout, .in = {TENSOR(x)}, .n = 1, .f = {p}, .build = b_dropout));
}

static const uop *b_bernoulli(struct api_call *k) { return t_bernoulli(k->g, RNG(k), k->u[0]); }
rg_tensor rg_bernoulli_at(AT, rg_tensor p) {
    return call_tensor(CALL(bernoulli, .in = {TENSOR(p)}, .n = 1, .build = b_bernoulli));
}

static const uop *b_multinomial(struct api_call *k) {
    return t_multinomial(k->g, RNG(k), k->u[0], k->i[0], k->i[1]);
}
rg_tensor rg_multinomial_at(AT, rg_tensor weights, int64_t n, bool replace) {
    return call_tensor(
        CALL(multinomial, .in = {TENSOR(weights)}, .n = 1, .i = {n, replace}, .build = b_multinomial));
}
