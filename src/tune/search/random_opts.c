/* random_opts.c: random legal opt lists, for tests and fuzzing. Opts are drawn one by one from a table, weighted, and kept
 * if the list with them is legal.
 * Tests: tests/unit/codegen.c (codegen_random_opts_are_legal), tests/unit/golden.c */
#include "tune/choose/choose.h"

enum { MOST_TRIES = 40 };

struct proposal {
    struct sched *s;
    struct str *out;
    uint64_t *rng;
    uint32_t fresh;       /* number of a new axis */
    uint32_t axis, other; /* two drawn axes */
};

static uint64_t draw(uint64_t *state, uint64_t n) {
    *state = hash_u64(*state + 0x9e3779b97f4a7c15ull);
    return n ? *state % n : 0;
}

static const char *axis_text(const struct proposal *p, uint32_t i) {
    return ir_name(p->s->ir, p->s->axis.p[i].name);
}

static int draw_size(const struct proposal *p) {
    static const int size[] = {2, 3, 4, 4, 5, 7, 8, 16};
    return size[draw(p->rng, RG_COUNT(size))];
}

static void tile(struct proposal *p) {
    str_printf(p->out, "TILE(%s,%d,z%u)", axis_text(p, p->axis), draw_size(p), p->fresh);
}
static void vec(struct proposal *p) { str_printf(p->out, "VEC(%s)", axis_text(p, p->axis)); }
static void unroll(struct proposal *p) { str_printf(p->out, "UNROLL(%s)", axis_text(p, p->axis)); }
static void reg(struct proposal *p) { str_printf(p->out, "REG(%s)", axis_text(p, p->axis)); }
static void grid(struct proposal *p) {
    str_printf(p->out, "%s(%s)", draw(p->rng, 2) ? "GRID" : "LOOP", axis_text(p, p->axis));
}
static void swap(struct proposal *p) {
    str_printf(p->out, "SWAP(%s,%s)", axis_text(p, p->axis), axis_text(p, p->other));
}
static void padto(struct proposal *p) {
    str_printf(p->out, "PADTO(%s,%d)", axis_text(p, p->axis), draw_size(p));
}
static void align(struct proposal *p) {
    str_printf(p->out, "ALIGN(%s,%d)", axis_text(p, p->axis), 2 << draw(p->rng, 3));
}
static void join(struct proposal *p) {
    uint32_t next = p->axis + 1 < p->s->axis.n ? p->axis + 1 : p->other;
    str_printf(p->out, "JOIN(%s,%s,z%u)", axis_text(p, p->axis), axis_text(p, next), p->fresh);
}
static void resident(struct proposal *p) {
    str_printf(p->out, "RESIDENT(%s%s)", axis_text(p, p->axis), draw(p->rng, 2) ? ",loads" : "");
}

/* A buffer at the drawn axis, packed along all axes inside of it, rotated by the other drawn one. */
static void stage(struct proposal *p) {
    struct arena *a = p->s->ir->arena;
    uint32_t n = p->s->axis.n, first = p->axis + 1;
    uop_vec topo = {0}, bufs = {0};
    uop_topo(a, &p->s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_LOAD && access_buf(topo.p[i])->op == OP_PARAM)
            vec_push(a, &bufs, access_buf(topo.p[i]));
    if (!bufs.n) return;
    const uop *buf = bufs.p[draw(p->rng, bufs.n)];
    str_printf(p->out, "STAGE(%s,%s", ir_name(p->s->ir, buf->arg.param.name), axis_text(p, p->axis));
    for (uint32_t i = first; i < n; i++)
        str_printf(p->out, ",%s", axis_text(p, first + (i - first + p->other) % (n - first)));
    str_addc(p->out, ')');
}

/* One random opt for the axes as they are now; may well be illegal. A row per chance of one in 14. */
static void propose(void *cx, struct sched *s, const uop *sink) {
    static void (*const row[])(struct proposal *) = {
        tile, tile, tile, vec, vec, unroll, reg, grid, swap, padto, resident, join, align, stage,
    };
    struct proposal *p = cx;
    (void)sink;
    p->s = s;
    if (!s->axis.n) return;
    p->axis = (uint32_t)draw(p->rng, s->axis.n), p->other = (uint32_t)draw(p->rng, s->axis.n);
    row[draw(p->rng, RG_COUNT(row))](p);
}

const char *opts_random(struct ir *ir, const struct kernel *k, uint64_t seed) {
    uint64_t rng = hash_u64(seed * 2 + 1);
    const char *list = "";
    uint32_t want = 2 + (uint32_t)draw(&rng, 7), have = 0;
    for (uint32_t tries = 0; tries < MOST_TRIES && have < want; tries++) {
        struct str s;
        str_init(&s, ir->arena);
        str_add(&s, list);
        if (have) str_addc(&s, ' ');
        struct proposal p = {.out = &s, .rng = &rng, .fresh = tries};
        if (!opts_axes(ir, k, list, propose, &p)) break;
        if (s.n > strlen(list) + (have > 0) && opts_legal(ir, k, s.p, NULL, NULL)) list = s.p, have++;
    }
    return list;
}
