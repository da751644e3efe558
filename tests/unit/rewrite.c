/* rewrite.c: the driver of rule sets: order of visits, depth, sharing, substitution, termination, switches,
 * threads. Independent values: what small terms must become is spelled out here. */
#include "rules/rules.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

const uop *cycle_loop(struct rw *, const uop *); /* tests/fuzz/cycle.rules */
extern const struct rule_table cycle_table;

struct box { /* an ir of its own */
    struct err err;
    struct arena arena;
    struct ir ir;
};

static int in_box(struct box *b, void (*fn)(void *)) {
    memset(b, 0, sizeof *b);
    arena_init(&b->arena, &b->err);
    ir_init(&b->ir, &b->arena);
    int e = err_guard(&b->err, fn, b);
    arena_free(&b->arena);
    return e;
}

static void run(void (*fn)(void *)) {
    static struct box b;
    if (in_box(&b, fn)) FAIL("%s", b.err.msg);
}

static const uop *range(struct ir *ir, int64_t size, unsigned id) {
    const uop *s = uop_idx(ir, size);
    return uop_new(ir, OP_RANGE, DT_IDX, 1, &s, 1,
                   (union arg){.range = {.kind = AX_LOOP, .pos = 1, .id = (uint16_t)id}});
}

static const uop *flt(struct ir *ir, unsigned slot) {
    const uop *s[2] = {uop_flt(ir, DT_F32, -1), uop_flt(ir, DT_F32, 1)};
    return uop_new(ir, OP_VAR, DT_F32, 1, s, 2, (union arg){.param = {slot, 0}});
}

/* ---- walks ------------------------------------------------------------------------------------------------ */

static void deep_chain(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *x = flt(ir, 1), *one = uop_flt(ir, DT_F32, 1), *two = uop_flt(ir, DT_F32, 2), *n = x;
    for (int i = 0; i < 1000000; i++) n = uop2(ir, OP_FDIV, uop2(ir, OP_MUL, n, one), two);
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    const uop *r = rw_post(&rw, n);
    /* each (n*1)/2 is n*0.5: two firings a link, nothing else left */
    CHECK_EQ(rw.fired, 2000000);
    uint32_t links = 0;
    for (const uop *p = r; p != x; p = p->src[0], links++) {
        CHECK(p->op == OP_MUL && p->src[1]->arg.f == 0.5);
    }
    CHECK_EQ(links, 1000000);
    rw_init(&rw, ir, rules_sym, NULL);
    CHECK(rw_post(&rw, r) == r);
    CHECK_EQ(rw.fired, 0);
}
TEST(rewrite_million_deep) { run(deep_chain); }

static void deep_index(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    /* a sum of 100000 distinct atoms: index_norm gives up on long sums and must not be quadratic */
    const uop *n = uop_idx(ir, 1);
    for (unsigned i = 0; i < 100000; i++) {
        const uop *s[2] = {uop_idx(ir, 0), uop_idx(ir, 5)};
        n = uop2(ir, OP_ADD, n,
                 uop_new(ir, OP_VAR, DT_IDX, 1, s, 2, (union arg){.param = {i * 7919u % 100003u, 0}}));
    }
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    const uop *r = rw_post(&rw, n);
    CHECK_EQ(r->lo, 1);
    CHECK_EQ(r->hi, 500001);
    rw_init(&rw, ir, rules_sym, NULL);
    CHECK(rw_post(&rw, r) == r);
}
TEST(rewrite_long_sums) { run(deep_index); }

static void shared(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    /* x1 = x0 + x0*1 ..: 2^60 paths, 60 nodes; a walk without memo would not end */
    const uop *n = flt(ir, 1), *one = uop_flt(ir, DT_F32, 1);
    for (int i = 0; i < 60; i++) n = uop2(ir, OP_SUB, uop2(ir, OP_MUL, n, one), n);
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    rw_post(&rw, n);
    CHECK_EQ(rw.fired, 60);
}
TEST(rewrite_shares_work) { run(shared); }

/* ---- equal addresses are one node ------------------------------------------------------------------------ */

static void addresses(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *t[4];
    for (unsigned i = 0; i < 4; i++)
        t[i] = uop2(ir, OP_MUL, range(ir, 10, i + 1), uop_idx(ir, (int64_t)i * 3 + 1));
    const uop *first = NULL;
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    for (int perm = 0; perm < 24; perm++) { /* every order, two shapes: all are the same node */
        unsigned left[4] = {0, 1, 2, 3}, n = 4, p = (unsigned)perm;
        const uop *o[4];
        for (unsigned i = 0; i < 4; i++) {
            unsigned k = p % n;
            p /= n;
            o[i] = t[left[k]];
            for (unsigned j = k; j + 1 < n; j++) left[j] = left[j + 1];
            n--;
        }
        const uop *a = uop2(ir, OP_ADD, uop2(ir, OP_ADD, uop2(ir, OP_ADD, o[0], uop_idx(ir, 5)), o[1]),
                            uop2(ir, OP_ADD, o[2], o[3]));
        const uop *c =
            uop2(ir, OP_SUB, uop2(ir, OP_ADD, o[3], uop2(ir, OP_ADD, o[1], uop2(ir, OP_ADD, o[0], o[2]))),
                 uop_idx(ir, -5));
        if (!first) first = rw_post(&rw, a);
        CHECK(rw_post(&rw, a) == first);
        CHECK(rw_post(&rw, c) == first);
    }
    CHECK(first->op == OP_ADD && uop_is_int_const(first->src[1], 5));
}
TEST(rewrite_equal_addresses_are_one_node) { run(addresses); }

/* ---- substitution -------------------------------------------------------------------------------------------- */

static void substitute(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *i = range(ir, 64, 1), *o = range(ir, 8, 2), *u = range(ir, 8, 3);
    const uop *e = uop2(ir, OP_ADD, uop2(ir, OP_MUL, uop2(ir, OP_IDIV, i, uop_idx(ir, 8)), uop_idx(ir, 100)),
                        uop2(ir, OP_MOD, i, uop_idx(ir, 8)));
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    e = rw_post(&rw, e);
    /* i = 8 o + u: the quotient is o, the remainder u */
    const uop *to = rw2(&rw, OP_ADD, rw2(&rw, OP_MUL, o, uop_idx(ir, 8)), u);
    const uop *r = rw_subst(&rw, e, &i, &to, 1);
    CHECK(r == uop2(ir, OP_ADD, uop2(ir, OP_MUL, o, uop_idx(ir, 100)), u));
    /* each value of an unrolled range; the results do not leak into each other */
    for (int64_t v = 0; v < 64; v++) {
        const uop *c = uop_idx(ir, v);
        CHECK(uop_is_int_const(rw_subst(&rw, e, &i, &c, 1), v / 8 * 100 + v % 8));
    }
    CHECK(rw_subst(&rw, e, &o, &u, 1) == e);
    const uop *from2[2] = {o, u}, *to2[2] = {u, o};
    CHECK(rw_subst(&rw, r, from2, to2, 2) == uop2(ir, OP_ADD, o, uop2(ir, OP_MUL, u, uop_idx(ir, 100))));
    CHECK(rw_subst(&rw, i, &i, &to, 1) == to);
}
TEST(rewrite_subst) { run(substitute); }

/* ---- lanes ----------------------------------------------------------------------------------------------------- */

static void lanes(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *size = uop_idx(ir, 100);
    const uop *buf = uop_new(ir, OP_PARAM, DT_F32, 1, &size, 1, (union arg){.param = {0, 0}});
    const uop *v = uop_new(ir, OP_LANES, DT_IDX, 4, NULL, 0, ARG_NONE);
    /* lanes*0 + 5 is the scalar 5; as an index it must still mean four times element 5, not 5, 6, 7, 8 */
    const uop *at = uop2(ir, OP_ADD, uop2(ir, OP_MUL, v, uop_idx(ir, 0)), uop_idx(ir, 5));
    const uop *load = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, buf, at));
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    const uop *r = rw_post(&rw, load);
    CHECK(r->op == OP_LOAD && r->lanes == 1 && uop_is_int_const(r->src[0]->src[1], 5));
    /* the sum of four lanes that are all 3 is 12, not 3 */
    const uop *three = uop2(ir, OP_ADD, uop2(ir, OP_MUL, v, uop_idx(ir, 0)), uop_idx(ir, 3));
    const uop *h = rw_post(&rw, uop_mk(ir, OP_VEC_REDUCE, &three, 1, ARG_INT(OP_ADD)));
    CHECK(h->op == OP_VEC_REDUCE && h->src[0]->lanes == 4);
    CHECK(rw_post(&rw, h) == h);
    const uop *st =
        uop2(ir, OP_STORE, uop2(ir, OP_INDEX, buf, at),
             uop1(ir, OP_LOAD, uop_new(ir, OP_INDEX, DT_F32, 4, (const uop *[]){buf, size}, 2, ARG_NONE)));
    st = rw_post(&rw, st);
    CHECK(st->src[0]->lanes == 4 && st->src[0]->src[1]->op == OP_BUILD);
}
TEST(rewrite_width_is_not_lost) { run(lanes); }

/* ---- node first -------------------------------------------------------------------------------------------------- */

static const uop *split_fn(struct rw *rw,
                           const uop *n) { /* SQRT x becomes x^0.5 by way of EXP(LOG x * 0.5) */
    if (n->op == OP_SQRT)
        return rw1(rw, OP_EXP, rw2(rw, OP_MUL, rw1(rw, OP_LOG, n->src[0]), uop_flt(rw->ir, DT_F32, 0.5)));
    if (n->op == OP_EXP && n->src[0]->op == OP_MUL) return rw_stop(rw, n);
    return NULL;
}

static void pre(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *x = flt(ir, 1), *s = uop1(ir, OP_SQRT, uop1(ir, OP_SQRT, x));
    const uop *n = uop2(ir, OP_ADD, uop1(ir, OP_NEG, s), s);
    struct rw rw;
    rw_init(&rw, ir, split_fn, NULL);
    const uop *r = rw_pre(&rw, n);
    const uop *e = r->src[0]->op == OP_EXP ? r->src[0] : r->src[1];
    CHECK(r->op == OP_ADD && e->op == OP_EXP);
    /* rw_stop: what stands under the result was not visited */
    CHECK(e->src[0]->src[0]->op == OP_LOG && e->src[0]->src[0]->src[0]->op == OP_SQRT);
}
TEST(rewrite_pre_visits_the_node_first) { run(pre); }

/* ---- termination -------------------------------------------------------------------------------------------------- */

static void cycle_build(void *arg) {
    struct box *b = arg;
    struct rw rw;
    rw_init(&rw, &b->ir, cycle_loop, NULL);
    rw.table = &cycle_table;
    rw_post(&rw, uop1(&b->ir, OP_NEG, flt(&b->ir, 1)));
}
static void cycle_return(void *arg) {
    struct box *b = arg;
    struct rw rw;
    rw_init(&rw, &b->ir, cycle_loop, NULL);
    rw.table = &cycle_table;
    rw_post(&rw, uop1(&b->ir, OP_FLOOR, flt(&b->ir, 1)));
}
TEST(rewrite_cycles_are_named) {
    static struct box b;
    CHECK_EQ(in_box(&b, cycle_build), RG_EINTERNAL);
    CHECK(strstr(b.err.msg, "does not terminate"));
    CHECK(strstr(b.err.msg, "neg_to_abs -> abs_to_neg -> neg_to_abs") ||
          strstr(b.err.msg, "abs_to_neg -> neg_to_abs -> abs_to_neg"));
    CHECK_EQ(in_box(&b, cycle_return), RG_EINTERNAL);
    CHECK(strstr(b.err.msg, "give_floor") && strstr(b.err.msg, "give_ceil") &&
          strstr(b.err.msg, "give_trunc"));
}

/* ---- switches ------------------------------------------------------------------------------------------------------ */

static unsigned rule_named(const char *name) {
    for (unsigned i = 0; i < rule_count; i++)
        if (!strcmp(rule_info[i].name, name)) return i;
    FAIL("no rule %s", name);
}

static void off(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *x = flt(ir, 1), *m = uop2(ir, OP_MUL, x, uop_flt(ir, DT_F32, 1)),
              *n = uop1(ir, OP_ABS, uop1(ir, OP_ABS, m));
    struct rw rw;
    setenv("RIDGE_RULE_OFF", "fmul_one,nothing", 1);
    env_reload();
    rw_init(&rw, ir, rules_sym, NULL);
    uint64_t before = rule_hits(rule_named("fmul_one"));
    CHECK(rw_post(&rw, n) == n->src[0]); /* fabs_abs applies, fmul_one does not */
    CHECK_EQ(rule_hits(rule_named("fmul_one")), before);
    unsetenv("RIDGE_RULE_OFF");
    env_reload();
    rw_init(&rw, ir, rules_sym, NULL);
    CHECK(rw_post(&rw, n) == uop1(ir, OP_ABS, x));
    CHECK_EQ(rule_hits(rule_named("fmul_one")), before + 1);
}
TEST(rewrite_rule_off) { run(off); }

static void max(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *n = flt(ir, 1);
    for (int i = 0; i < 10; i++) n = uop1(ir, OP_SQRT, uop2(ir, OP_MUL, n, uop_flt(ir, DT_F32, 1)));
    setenv("RIDGE_RULE_MAX", "3", 1);
    env_reload();
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    rw_post(&rw, n);
    CHECK_EQ(rw.fired, 3);
    unsetenv("RIDGE_RULE_MAX");
    env_reload();
}
TEST(rewrite_rule_max) { run(max); }

/* ---- threads: one ir each, counters shared -------------------------------------------------------------------------- */

static void one_compile(void *arg) {
    struct box *b = arg;
    struct ir *ir = &b->ir;
    const uop *n = flt(ir, 1), *one = uop_flt(ir, DT_F32, 1);
    for (int i = 0; i < 5000; i++) n = uop1(ir, OP_SQRT, uop2(ir, OP_MUL, n, one));
    struct rw rw;
    rw_init(&rw, ir, rules_sym, NULL);
    rw_post(&rw, n);
}
static void *thread(void *arg) {
    in_box(arg, one_compile);
    return NULL;
}
TEST(rewrite_threads) {
    enum { N = 4 };
    struct box *b = calloc(N, sizeof *b);
    pthread_t t[N];
    uint64_t before = rule_hits(rule_named("fmul_one"));
    for (int i = 0; i < N; i++) CHECK(!pthread_create(&t[i], NULL, thread, &b[i]));
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < N; i++) CHECK_EQ(b[i].err.code, 0);
    CHECK_EQ(rule_hits(rule_named("fmul_one")) - before, N * 5000);
    free(b);
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

TEST(rewrite_rule_table) {
    CHECK(rule_count >= 150);
    for (unsigned i = 0; i < rule_count; i++) {
        const struct rule_info *r = &rule_info[i];
        CHECK(*r->name && *r->file && r->line > 0 && strstr(r->text, "=>"));
        CHECK(*r->set); /* a rule of no set is never used */
    }
    CHECK_STR(rule_info[rule_named("add_zero")].text, "(ADD x 0) => x");
    CHECK_STR(rule_info[rule_named("add_zero")].set, "sym,predicate,decomp,native");
    CHECK_STR(rule_info[rule_named("pred_load")].set, "predicate");
}
