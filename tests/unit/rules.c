/* rules.c: each rewrite rule, fuzzed on random instances of its own left side, and whole sets on random
 * expressions. A rule is wrong if its right side does not refine its left: equal wherever the left is defined.
 * Whole-graph tests miss wrong rules whose shape never reaches the matcher; instances of the left side do not.
 * The mutation test plants bugs (tests/fuzz/rules.mutants) and requires that the same fuzzer finds them all. */
#include "fuzz/fz.h"
#include "rules/rules.h"
#include "test.h"

enum { ENVS = 6, BATCH = 64 };

struct outcome {
    unsigned fired; /* instances where the rule applied and the left side had a value */
    uint64_t tried, wrong;
    char text[3000]; /* the first wrong one */
};

struct job {
    const struct rule_fuzz *rule;
    unsigned want;
    uint64_t max;
    struct outcome *out;
    struct arena *arena;
    struct ir *ir;
    uint64_t seed;
};

/* Rules about INVALID itself have no instance with a value: their firings count as they are. */
static bool never_defined(const uop *n, const uop *r) {
    return r->op == OP_INVALID || (n->op == OP_LOAD && access_offset(n)->op == OP_INVALID);
}

static void check_instance(struct fz *f, const struct job *j, const uop *n, const uop *r) {
    bool defined = false;
    for (uint64_t env = 0; env < ENVS; env++) {
        struct fz_result a, b;
        uint64_t e = j->seed * 31 + env;
        fz_eval(f, n, e, &a);
        fz_eval(f, r, e, &b);
        if (a.over || b.over || a.odd || b.odd) continue;
        bool all_poison = n->dt != DT_VOID;
        for (unsigned i = 0; i < a.val.lanes && n->dt != DT_VOID; i++) all_poison &= a.val.poison[i];
        defined |= !all_poison || never_defined(n, r);
        const char *why = fz_compare(n, &a, r, &b, j->rule->fast, j->rule->ulp, false);
        if (!why) continue;
        if (j->out->wrong++ == 0) {
            struct str s;
            str_init(&s, f->arena);
            str_printf(&s, "rule %s (%s:%d): %s", j->rule->name, j->rule->file, j->rule->line, why);
            fz_describe(f, &s, n, r, e);
            snprintf(j->out->text, sizeof j->out->text, "%s", s.p);
        }
        break;
    }
    j->out->fired += defined;
}

static void fuzz_batch(void *arg) {
    struct job *j = arg;
    struct fz f = {.ir = j->ir, .arena = j->arena, .tame = j->rule->fast, .preds = true};
    for (int i = 0; i < BATCH && j->out->fired < j->want; i++) {
        fz_begin(&f, ++j->seed);
        const uop *n = j->rule->build(&f);
        j->out->tried++;
        if (!n) continue;
        struct rw rw;
        rw_init(&rw, f.ir, rules_none, NULL);
        rw.fast = j->rule->fast;
        const uop *r = j->rule->one(&rw, n);
        if (r) check_instance(&f, j, n, r);
    }
}

static void fuzz_rule(const struct rule_fuzz *rule, unsigned want, uint64_t max, struct outcome *out) {
    struct err err = {0};
    struct arena arena;
    struct ir ir;
    struct job j = {
        rule, want, max, out, &arena, &ir, hash_bytes(rule->name, strlen(rule->name), 7) % 100000};
    arena_init(&arena, &err);
    memset(out, 0, sizeof *out);
    while (out->fired < want && out->tried < max && !out->wrong) {
        struct arena_mark mark = arena_mark(&arena);
        ir_init(&ir, &arena);
        if (err_guard(&err, fuzz_batch, &j)) FAIL("rule %s: %s", rule->name, err.msg);
        arena_release(&arena, mark);
    }
    arena_free(&arena);
}

TEST_SLOW(rules_each_rule_is_sound, 600) {
    uint64_t total = 0;
    unsigned bad = 0, fuzzed = 0;
    for (unsigned i = 0; i < rules_fuzz_count; i++) {
        static struct outcome out;
        if (rules_fuzz[i].ulp < 0) continue;
        fuzzed++;
        fuzz_rule(&rules_fuzz[i], 1000, 400000, &out);
        total += out.fired;
        if (out.wrong)
            printf("%s\n", out.text), bad++;
        else if (out.fired < 1000)
            printf("rule %s (%s:%d) fired on %u of %llu instances only; give it a `fuzz` line\n",
                   rules_fuzz[i].name, rules_fuzz[i].file, rules_fuzz[i].line, out.fired,
                   (unsigned long long)out.tried),
                bad++;
    }
    if (bad) FAIL("%u of %u rules", bad, rules_fuzz_count);
    TEST_INFO("rules: %u rules, %llu firings", fuzzed, (unsigned long long)total);
}

TEST_SLOW(rules_mutations_are_found, 600) {
    unsigned found = 0;
    for (unsigned i = 0; i < rules_mutant_count; i++) {
        static struct outcome out;
        fuzz_rule(&rules_mutant[i], 4000, 200000, &out);
        if (out.wrong)
            found++;
        else
            printf("not found: %s (%u firings)\n", rules_mutant[i].name, out.fired);
    }
    if (found != rules_mutant_count) FAIL("%u of %u mutations found", found, rules_mutant_count);
    TEST_INFO("rules: %u of %u mutations found", found, rules_mutant_count);
}

/* ---- test lines of the rule files ------------------------------------------------------------------------- */

static void run_test_lines(void *arg) {
    struct ir *ir = arg;
    for (unsigned i = 0; i < rules_test_count; i++) {
        struct fz f = {.ir = ir, .arena = ir->arena, .lanes = 1};
        const uop *l, *r;
        rules_test[i].build(&f, &l, &r);
        struct rw rw;
        rw_init(&rw, ir, rules_test[i].set, NULL);
        const uop *got = rw_post(&rw, l);
        if (got == r) continue;
        struct str s;
        str_init(&s, ir->arena);
        str_printf(&s, "%s:%d: ", rules_test[i].file, rules_test[i].line);
        ir_print_node(&s, ir, l, 9);
        str_add(&s, " became ");
        ir_print_node(&s, ir, got, 9);
        str_add(&s, ", expected ");
        ir_print_node(&s, ir, r, 9);
        FAIL("%s", s.p);
    }
}

static void in_ir(void (*fn)(void *)) {
    struct err err = {0};
    struct arena arena;
    struct ir ir;
    arena_init(&arena, &err);
    ir_init(&ir, &arena);
    if (err_guard(&err, fn, &ir)) FAIL("%s", err.msg);
    arena_free(&arena);
}

TEST(rules_test_lines) {
    CHECK(rules_test_count >= 20);
    in_ir(run_test_lines);
    TEST_INFO("rules: %u test lines", rules_test_count);
}

/* ---- whole sets ------------------------------------------------------------------------------------------------ */

struct whole {
    struct arena *arena;
    struct ir *ir;
    uint64_t seed;
    rw_fn set;
    bool strict; /* predicated indices: INVALID must stay INVALID */
    uint64_t compared, fired;
};

/* A copy between buffers, both addresses predicated: what a padded kernel looks like. */
static const uop *predicated_copy(struct fz *f) {
    const uop *addr[2];
    for (int i = 0; i < 2; i++) {
        const uop *at = fz_sum(f, 1 + fz_below(f, 3)), *g = fz_cmp(f, OP_LT);
        if (!at || !g) return NULL;
        if (fz_below(f, 2)) g = fz_op(f, OP_AND, DT_BOOL, (const uop *[]){g, fz_cmp(f, OP_LT)}, 2, 0);
        const uop *inv = uop_new(f->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
        at = fz_op(f, OP_WHERE, DT_IDX, (const uop *[]){g, at, inv}, 3, 0);
        at = fz_op(f, OP_ADD, DT_IDX, (const uop *[]){at, fz_sum(f, 1)}, 2, 0);
        addr[i] = fz_op(f, OP_INDEX, DT_F32, (const uop *[]){fz_leaf(f, FZ_BUF, DT_F32), at}, 2, 0);
    }
    const uop *v = fz_op(f, OP_LOAD, DT_F32, &addr[1], 1, 0);
    const uop *zero = uop_flt(f->ir, DT_F32, 0), *g = addr[1] ? fz_cmp(f, OP_LT) : NULL;
    if (fz_below(f, 2)) v = fz_op(f, OP_WHERE, DT_F32, (const uop *[]){g, v, zero}, 3, 0);
    return fz_op(f, fz_below(f, 2) ? OP_STORE : OP_STORE_ADD, DT_VOID, (const uop *[]){addr[0], v}, 2, 0);
}

static const uop *whole_term(struct fz *f, const struct whole *w) {
    if (w->set == rules_predicate) return predicated_copy(f);
    if (!w->strict) return fz_expr(f, fz_dtype(f, FZ_ALL), 3 + fz_below(f, 4));
    /* sums, products, quotients of predicated leaves: what an index looks like before predicates are pulled */
    const uop *x = fz_sum(f, 1 + fz_below(f, 3)), *y = fz_sum(f, 1 + fz_below(f, 3));
    const uop *inv = uop_new(f->ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
    const uop *g = uop2(f->ir, OP_LT, fz_sum(f, 1), uop_idx(f->ir, fz_int(f, DT_IDX)));
    if (!x || !y || !g) return NULL;
    x = uop3(f->ir, OP_WHERE, g, x, inv);
    static const enum op op[] = {OP_ADD, OP_IDIV, OP_MOD, OP_MUL, OP_SUB, OP_MAX};
    for (unsigned i = fz_below(f, 4); i > 0 && x; i--) {
        enum op o = fz_pick(f, op, RG_COUNT(op));
        const uop *c = uop_idx(f->ir, 1 + fz_below(f, 9)); /* a product with 0 would be 0 */
        x = fz_op(f, o, DT_IDX, (const uop *[]){x, o == OP_ADD ? y : c}, 2, 0);
    }
    return x;
}

static bool has_invalid(struct arena *arena, const uop *n) {
    uop_vec order = {0};
    uop_topo(arena, &n, 1, &order);
    for (uint32_t i = 0; i < order.n; i++)
        if (order.p[i]->op == OP_INVALID) return true;
    return false;
}

static void whole_batch(void *arg) {
    struct whole *w = arg;
    struct fz f = {.ir = w->ir, .arena = w->arena, .preds = false};
    for (int i = 0; i < BATCH; i++) {
        fz_begin(&f, ++w->seed);
        const uop *n = whole_term(&f, w);
        if (!n) continue;
        struct rw a, b;
        rw_init(&a, w->ir, w->set, NULL);
        const uop *r = rw_post(&a, n);
        rw_init(&b, w->ir, w->set, NULL);
        const uop *again = rw_post(&b, r);
        struct str s;
        str_init(&s, w->arena);
        if (again != r) {
            fz_describe(&f, &s, r, again, 1);
            FAIL("not idempotent (seed %llu, last rule %s):%s", (unsigned long long)w->seed,
                 rule_info[b.last[(b.tried - 1) % 32]].name, s.p);
        }
        if (w->set == rules_predicate && has_invalid(w->arena, r)) {
            fz_describe(&f, &s, n, r, 1);
            FAIL("a predicate was left in an index (seed %llu):%s", (unsigned long long)w->seed, s.p);
        }
        w->fired += a.fired;
        for (uint64_t env = 0; env < 4; env++) {
            struct fz_result x, y;
            fz_eval(&f, n, env, &x);
            fz_eval(&f, r, env, &y);
            if (x.over || y.over || x.odd || y.odd) continue;
            w->compared++;
            const char *why = fz_compare(n, &x, r, &y, false, 0, w->strict);
            if (!why) continue;
            fz_describe(&f, &s, n, r, env);
            FAIL("%s (seed %llu):%s", why, (unsigned long long)w->seed, s.p);
        }
    }
}

static void fuzz_whole(struct whole *w, uint64_t terms) {
    struct err err = {0};
    struct arena arena;
    struct ir ir;
    arena_init(&arena, &err);
    w->arena = &arena, w->ir = &ir;
    for (uint64_t n = 0; n < terms; n += BATCH) {
        struct arena_mark mark = arena_mark(&arena);
        ir_init(&ir, &arena);
        if (err_guard(&err, whole_batch, w)) FAIL("seed %llu: %s", (unsigned long long)w->seed, err.msg);
        arena_release(&arena, mark);
    }
    arena_free(&arena);
    CHECK(w->compared > terms);
}

TEST_SLOW(rules_simplify_keeps_values_and_is_idempotent, 300) {
    struct whole w = {.set = rules_sym, .seed = 1000};
    fuzz_whole(&w, 24000);
    TEST_INFO("rules: 24000 expressions simplified twice, %llu firings, %llu values equal",
              (unsigned long long)w.fired, (unsigned long long)w.compared);
}

TEST_SLOW(rules_predicates_survive, 300) {
    struct whole w = {.set = rules_sym, .seed = 5000, .strict = true};
    fuzz_whole(&w, 16000);
    struct whole g = {.set = rules_predicate, .seed = 9000};
    fuzz_whole(&g, 16000);
}

/* make fuzz: the same for minutes */
TEST_MANUAL(fuzz_rules, 3000) {
    struct whole w = {.set = rules_sym, .seed = os_now_ns()},
                 g = {.set = rules_sym, .seed = os_now_ns(), .strict = true};
    fuzz_whole(&w, 400000);
    fuzz_whole(&g, 200000);
    struct whole c = {.set = rules_predicate, .seed = os_now_ns()};
    fuzz_whole(&c, 200000);
    for (unsigned i = 0; i < rules_fuzz_count; i++) {
        static struct outcome out;
        if (rules_fuzz[i].ulp < 0) continue;
        fuzz_rule(&rules_fuzz[i], 10000, 4000000, &out);
        if (out.wrong) FAIL("%s", out.text);
    }
}
