/* irtest.h: shared by the tests of src/ir: an ir that lives for one test, and random numbers. */
#ifndef RIDGE_IRTEST_H
#define RIDGE_IRTEST_H

#include "test.h"
#include "ir/ir.h"

struct ir_test {
    struct err err;
    struct arena arena;
    struct ir ir;
};

static inline void ir_test_open(struct ir_test *t) {
    memset(t, 0, sizeof *t);
    arena_init(&t->arena, &t->err);
    ir_init(&t->ir, &t->arena);
}

static inline void ir_test_close(struct ir_test *t) { arena_free(&t->arena); }

/* A number from -1 to 1. */
static inline double draw_unit(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 40) / (1 << 23) - 1;
}

struct rnd {
    uint64_t s;
};
static inline uint64_t rnd_next(struct rnd *r) { return hash_u64(r->s += 0x9e3779b97f4a7c15u); }
static inline uint32_t rnd_below(struct rnd *r, uint32_t n) { return (uint32_t)((rnd_next(r) >> 32) % n); }
static inline int64_t rnd_range(struct rnd *r, int64_t lo, int64_t hi) {
    uint64_t span = (uint64_t)hi - (uint64_t)lo + 1;
    return (int64_t)((uint64_t)lo + (span ? rnd_next(r) % span : rnd_next(r)));
}
/* Small numbers, powers of two and their neighbours, and any number of the type. */
static inline int64_t rnd_int(struct rnd *r, enum dtype dt) {
    int64_t v;
    switch (rnd_below(r, 4)) {
    case 0: v = rnd_range(r, -4, 9); break;
    case 1: v = (int64_t)(((uint64_t)1 << rnd_below(r, 64)) + (uint64_t)rnd_range(r, -1, 1)); break;
    case 2: v = rnd_range(r, -1000, 1000); break;
    default: v = (int64_t)rnd_next(r);
    }
    return dt_wrap(dt, v);
}

static inline const uop *test_range(struct ir *ir, const char *cls, enum axis_kind kind, unsigned pos,
                                    unsigned id, int64_t size) {
    union arg a = {.range = {ir_sym(ir, cls, strlen(cls)), (uint8_t)kind, (uint8_t)pos, (uint16_t)id}};
    const uop *n = uop_idx(ir, size);
    return uop_new(ir, OP_RANGE, DT_IDX, 1, &n, 1, a);
}

static inline const uop *test_param(struct ir *ir, enum dtype dt, unsigned slot, const char *name,
                                    int64_t size) {
    union arg a = {.param = {slot, ir_sym(ir, name, strlen(name))}};
    const uop *n = uop_idx(ir, size);
    return uop_new(ir, OP_PARAM, dt, 1, &n, 1, a);
}

static inline const uop *test_var(struct ir *ir, enum dtype dt, unsigned slot, const char *name, int64_t lo,
                                  int64_t hi) {
    union arg a = {.param = {slot, ir_sym(ir, name, strlen(name))}};
    return uop_new(ir, OP_VAR, dt, 1, (const uop *[]){uop_int(ir, dt, lo), uop_int(ir, dt, hi)}, 2, a);
}

/* The program without one of its entries: what a test of a protocol leaves out must be missed. */
static inline struct linear linear_without(struct arena *a, const struct linear *l, uint32_t entry) {
    struct linear less = *l;
    less.u = arena_array(a, const uop *, l->n);
    less.n = 0;
    for (uint32_t k = 0; k < l->n; k++)
        if (k != entry) less.u[less.n++] = l->u[k];
    return less;
}

#endif
