/* random.c: opt lists for tests, and whether a list is legal and what becomes of the kernel under it. Each trial runs in an ir of its own, so that the
 * caller's stays as it was, and takes the same path as lower() up to the loop tree, where the last refusals are; with
 * PIPE up to the prefetches. */
#include "codegen/internal.h"

struct trial {
    struct err err;
    struct arena arena;
    struct ir ir;
    const struct ir *from;
    const struct kernel *kernel;
    const char *opts;
    struct sched sched;
    bool finish;
    void (*look)(void *, struct sched *,
                 const uop *sink); /* at the axes and the finished graph; may be NULL */
    void *cx;
};

/* Which addresses a PIPE finds is known once vectors are formed. */
static void try_pipe(struct trial *t, const uop *tree) {
    struct rw pred;
    rw_init(&pred, &t->ir, rules_pred, NULL);
    tree = rw_post(&pred, tree_peel(&t->sched.rw, tree, false));
    rw_init(&pred, &t->ir, rules_pred, NULL);
    tree = tree_coalesce(&pred, tree_expand(&pred, tree), os_cpu()->vec_bytes, false);
    tree_prefetch(&t->sched, tree);
}

static void run_trial(void *p) {
    struct trial *t = p;
    ir_init(&t->ir, &t->arena);
    struct kernel *k = arena_new(&t->arena, struct kernel);
    *k = *t->kernel;
    k->sink = ir_import(&t->ir, t->from, t->kernel->sink);
    sched_init(&t->sched, &t->ir, k);
    sched_apply(&t->sched, t->opts);
    if (!t->finish) return;
    const uop *sink = sched_finish(&t->sched), *tree = tree_build(&t->sched, sink);
    if (sched_has_lanes(&t->sched)) tree = tree_gpu(&t->sched, tree);
    if (t->look) t->look(t->cx, &t->sched, sink);
    if (t->sched.pipe.n) try_pipe(t, tree);
}

static _Thread_local uint64_t tried;
uint64_t opts_tried(void) { return tried; }

static int try_opts(struct trial *t, struct ir *ir, const struct kernel *k, const char *opts, bool finish,
                    void (*look)(void *, struct sched *, const uop *), void *cx) {
    memset(t, 0, sizeof *t);
    arena_init(&t->arena, &t->err);
    t->from = ir, t->kernel = k, t->opts = opts, t->finish = finish, t->look = look, t->cx = cx;
    return err_guard(&t->err, run_trial, t);
}

bool opts_look(struct ir *ir, const struct kernel *k, const char *opts, struct str *why,
               void (*look)(void *, struct sched *, const uop *sink), void *cx) {
    struct trial *t = arena_new(ir->arena, struct trial);
    tried++;
    int code = try_opts(t, ir, k, opts, true, look, cx);
    arena_free(&t->arena);
    if (code == RG_ENOMEM) err_throw(ir->err, RG_ENOMEM, "%s", t->err.msg);
    if (code && why) str_add(why, t->err.msg);
    return code == 0;
}

bool opts_legal(struct ir *ir, const struct kernel *k, const char *opts, struct str *why) {
    return opts_look(ir, k, opts, why, NULL, NULL);
}

static uint64_t draw(uint64_t *state, uint64_t n) {
    *state = hash_u64(*state + 0x9e3779b97f4a7c15ull);
    return n ? *state % n : 0;
}

static const char *axis_text(const struct trial *t, uint32_t i) {
    return ir_name(&t->ir, t->sched.axis.p[i].name);
}

/* One random opt for the axes as they are now; may well be illegal. */
static void propose(struct str *s, const struct trial *t, uint64_t *rng, uint32_t fresh) {
    static const int tile[] = {2, 3, 4, 4, 5, 7, 8, 16};
    uint32_t n = t->sched.axis.n;
    uint32_t i = (uint32_t)draw(rng, n), k = (uint32_t)draw(rng, n);
    const char *a = axis_text(t, i);
    switch (draw(rng, 14)) {
    case 0:
    case 1:
    case 2: str_printf(s, "TILE(%s,%d,z%u)", a, tile[draw(rng, RG_COUNT(tile))], fresh); break;
    case 3:
    case 4: str_printf(s, "VEC(%s)", a); break;
    case 5: str_printf(s, "UNROLL(%s)", a); break;
    case 6: str_printf(s, "REG(%s)", a); break;
    case 7: str_printf(s, "%s(%s)", draw(rng, 2) ? "GRID" : "LOOP", a); break;
    case 8: str_printf(s, "SWAP(%s,%s)", a, axis_text(t, k)); break;
    case 9: str_printf(s, "PADTO(%s,%d)", a, tile[draw(rng, RG_COUNT(tile))]); break;
    case 12: str_printf(s, "ALIGN(%s,%d)", a, 2 << draw(rng, 3)); break;
    case 11: str_printf(s, "JOIN(%s,%s,z%u)", a, axis_text(t, i + 1 < n ? i + 1 : k), fresh); break;
    case 10: str_printf(s, "RESIDENT(%s%s)", a, draw(rng, 2) ? ",loads" : ""); break;
    default: {
        uop_vec topo = {0}, bufs = {0};
        uop_topo(&((struct trial *)t)->arena, &t->sched.sink, 1, &topo);
        for (uint32_t j = 0; j < topo.n; j++)
            if (topo.p[j]->op == OP_LOAD && access_buf(topo.p[j])->op == OP_PARAM)
                vec_push(&((struct trial *)t)->arena, &bufs, access_buf(topo.p[j]));
        if (!bufs.n) return;
        str_printf(s, "STAGE(%s,%s", ir_name(&t->ir, bufs.p[draw(rng, bufs.n)]->arg.param.name), a);
        for (uint32_t j = i + 1; j < n; j++)
            str_printf(s, ",%s", axis_text(t, i + 1 + (j - i - 1 + k) % (n - i - 1)));
        str_addc(s, ')');
    }
    }
}

const char *opts_random(struct ir *ir, const struct kernel *k, uint64_t seed) {
    uint64_t rng = hash_u64(seed * 2 + 1);
    const char *list = "";
    struct trial *t = arena_new(ir->arena, struct trial);
    uint32_t want = 2 + (uint32_t)draw(&rng, 7), have = 0;
    for (uint32_t tries = 0; tries < 40 && have < want; tries++) {
        struct str s;
        str_init(&s, ir->arena);
        str_add(&s, list);
        if (have) str_addc(&s, ' ');
        int code = try_opts(t, ir, k, list, false, NULL, NULL);
        if (!code && t->sched.axis.n) propose(&s, t, &rng, tries);
        arena_free(&t->arena);
        if (code) break;
        if (s.n > strlen(list) + (have > 0) && opts_legal(ir, k, s.p, NULL)) list = s.p, have++;
    }
    return list;
}
