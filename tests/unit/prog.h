/* prog.h: linear programs written by hand, for the tests of the renderer and the engine. */
#ifndef RIDGE_TEST_PROG_H
#define RIDGE_TEST_PROG_H

#include "engine/engine.h"
#include "test.h"

struct prog {
    struct ir *ir;
    struct linear lin;
    uop_vec u;
    uop_vec open; /* ranges and ifs */
};

static inline void prog_init(struct prog *p, struct ir *ir, const char *name) {
    *p = (struct prog){.ir = ir, .lin = {.name = name, .grid = 1}};
}

static inline const uop *push(struct prog *p, const uop *n) {
    vec_push(p->ir->arena, &p->u, n);
    return n;
}

/* op(dt, lanes) on sources, evaluated at this point of the list */
static inline const uop *opn(struct prog *p, enum op op, enum dtype dt, unsigned lanes, const uop *a,
                             const uop *b, const uop *c, union arg arg) {
    const uop *src[3] = {a, b, c};
    return push(p, uop_new(p->ir, op, dt, lanes, src, c ? 3 : b ? 2 : a ? 1 : 0, arg));
}
static inline const uop *op2(struct prog *p, enum op op, const uop *a, const uop *b) {
    return push(p, uop2(p->ir, op, a, b));
}

static inline const uop *param(struct prog *p, enum dtype dt, uint32_t slot, int64_t n) {
    const uop *size = uop_int(p->ir, DT_I64, n);
    p->lin.nbuf = RG_MAX(p->lin.nbuf, slot + 1);
    return uop_new(p->ir, OP_PARAM, dt, 1, &size, 1, (union arg){.param = {slot, 0}});
}
static inline const uop *at(struct prog *p, const uop *buf, const uop *idx, unsigned lanes) {
    const uop *src[2] = {buf, idx};
    return uop_new(p->ir, OP_INDEX, (enum dtype)buf->dt, lanes, src, 2, ARG_NONE);
}
static inline const uop *load(struct prog *p, const uop *buf, const uop *idx, unsigned lanes) {
    return opn(p, OP_LOAD, (enum dtype)buf->dt, lanes, at(p, buf, idx, lanes), NULL, NULL, ARG_NONE);
}
static inline void store(struct prog *p, const uop *buf, const uop *idx, const uop *v, unsigned lanes) {
    opn(p, OP_STORE, DT_VOID, 1, at(p, buf, idx, lanes), v, NULL, ARG_NONE);
}

static inline const uop *range(struct prog *p, enum dtype dt, int64_t n, enum axis_kind kind) {
    const uop *size = uop_int(p->ir, dt, n);
    union arg arg = {.range = {.kind = (uint8_t)kind, .pos = (uint8_t)p->open.n, .id = (uint16_t)p->u.n}};
    const uop *r = push(p, uop_new(p->ir, OP_RANGE, dt, 1, &size, 1, arg));
    vec_push(p->ir->arena, &p->open, r);
    if (kind == AX_GRID) p->lin.grid = n;
    return r;
}
static inline void end(struct prog *p) {
    const uop *r = p->open.p[--p->open.n];
    opn(p, OP_END, DT_VOID, 1, r, NULL, NULL, ARG_NONE);
}
static inline const uop *acc(struct prog *p, enum dtype dt, unsigned lanes, int64_t no) {
    return uop_new(p->ir, OP_ACC, dt, lanes, NULL, 0, ARG_INT(no));
}
static inline void set(struct prog *p, const uop *a, const uop *v) {
    opn(p, OP_SET, DT_VOID, 1, a, v, NULL, ARG_NONE);
}

static inline const struct linear *finish(struct prog *p) {
    while (p->open.n) end(p);
    p->lin.ir = p->ir;
    p->lin.u = p->u.p;
    p->lin.n = p->u.n;
    return &p->lin;
}

#endif
