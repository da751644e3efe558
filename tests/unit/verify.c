/* verify.c: kernels that are not kernels are refused by the rule that says so; kernels that are pass.
 * tests/verify/NAME.uop begins with `; expect: RULE` (or parse); tests/golden are good. */
#include "irtest.h"

#include <dirent.h>
#include <stdlib.h>

struct job {
    struct ir *ir;
    const char *text, *file;
};
static void parse_and_verify(void *arg) {
    struct job *j = arg;
    struct program p;
    ir_parse(j->ir, j->text, strlen(j->text), j->file, &p);
    for (uint32_t i = 0; i < p.kernel.n; i++) verify_kernel(j->ir, &p.kernel.p[i]);
}
static int judge(struct ir_test *t, const char *text, const char *file) {
    struct job j = {&t->ir, text, file};
    return err_guard(&t->err, parse_and_verify, &j);
}

/* ---- files ------------------------------------------------------------------------------------- */

static int each_file(const char *dir, void (*fn)(const char *path, const char *text, void *), void *arg) {
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort), count = 0;
    for (int i = 0; i < n; i++) {
        size_t len = strlen(list[i]->d_name);
        if (len > 4 && !strcmp(list[i]->d_name + len - 4, ".uop")) {
            struct err err = {0};
            struct arena a;
            char path[512], *text;
            size_t size;
            arena_init(&a, &err);
            snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
            CHECK(os_read_file(&err, &a, path, 1 << 20, &text, &size) == 0);
            fn(path, text, arg);
            count++;
            arena_free(&a);
        }
        free(list[i]);
    }
    if (n >= 0) free(list);
    return count;
}

static void refuse(const char *path, const char *text, void *arg) {
    unsigned *hit = arg;
    struct ir_test t;
    char rule[64], words[96];
    CHECK_EQ(sscanf(text, "; expect: %63s", rule), 1);
    ir_test_open(&t);
    int code = judge(&t, text, path);
    if (!strcmp(rule, "parse")) {
        if (code != RG_EPARSE || strncmp(t.err.msg, path, strlen(path)) != 0 ||
            !strstr(t.err.msg, "expected"))
            FAIL("%s: code %d \"%s\"", path, code, t.err.msg);
    } else {
        snprintf(words, sizeof words, ": rule %s: ", rule);
        const char *node = strstr(t.err.msg, ": %");
        if (code != RG_EVERIFY || strncmp(t.err.msg, "kernel ", 7) != 0 || !strstr(t.err.msg, words) ||
            !node || !strchr(node, '('))
            FAIL("%s: expected rule %s, found code %d \"%s\"", path, rule, code, t.err.msg);
        for (unsigned i = 0; i < verify_rule_count; i++)
            if (!strcmp(verify_rules[i].name, rule)) {
                hit[i]++;
                CHECK(strstr(t.err.msg, verify_rules[i].what) && strstr(t.err.msg, verify_rules[i].todo));
            }
    }
    ir_test_close(&t);
}

TEST(verify_broken_kernels_are_refused) {
    unsigned hit[128] = {0};
    CHECK(verify_rule_count <= RG_COUNT(hit));
    int n = each_file("tests/verify", refuse, hit);
    CHECK(n >= 50);
    for (unsigned i = 0; i < verify_rule_count; i++) /* NODE cannot be written down: the parser is first */
        if (!hit[i] && strcmp(verify_rules[i].name, "node") != 0 &&
            strncmp(verify_rules[i].name, "linear-", 7) != 0)
            FAIL("no broken kernel for rule %s", verify_rules[i].name);
    TEST_COUNT(n, "broken kernels refused by the rule they break");
}

static void accept(const char *path, const char *text, void *arg) {
    struct ir_test t;
    (void)arg;
    ir_test_open(&t);
    if (judge(&t, text, path)) FAIL("%s: %s", path, t.err.msg);
    ir_test_close(&t);
}

TEST(verify_golden_kernels_pass) {
    CHECK(each_file("tests/golden", accept, NULL) + each_file("tests/golden/small", accept, NULL) >= 10);
}

/* ---- kernels that need a proof ----------------------------------------------------------------- */

static const struct {
    const char *what, *text;
} good[] = {
    {"a 3 x 3 convolution with zero padding, predicated on all four sides",
     "x = (PARAM<f32>[0 x] 4096)\no = (PARAM<f32>[1 o] 4096)\nh = (RANGE[h GRID 0] 64)\nw = (RANGE[w GRID 1] "
     "64)\n"
     "a = (RANGE[a REDUCE 2] 3)\nb = (RANGE[b REDUCE 3] 3)\ny = (SUB (ADD h a) 1)\nz = (SUB (ADD w b) 1)\n"
     "g = (AND (AND (LE 0 y) (LT y 64)) (AND (LE 0 z) (LT z 64)))\n"
     "v = (LOAD (INDEX x (WHERE g (ADD (MUL y 64) z) (INVALID<idx>))))\n"
     "(SINK (STORE (INDEX o (ADD (MUL h 64) w)) (REDUCE[ADD] (WHERE g v 0.0) a b)))"},
    {"the same predicate in one PRED_LOAD, half of it negated",
     "x = (PARAM<f32>[0 x] 30)\no = (PARAM<f32>[1 o] 40)\nr = (RANGE[r GRID 0] 40)\n"
     "(SINK (STORE (INDEX o r) (PRED_LOAD (INDEX x (SUB r 5)) 0.0 (AND (NOT (LT r 5)) (LT r 35)))))"},
    {"a reshape written with quotient and remainder",
     "x = (PARAM<f32>[0 x] 1024)\no = (PARAM<f32>[1 o] 1024)\nr = (RANGE[r GRID 0] 1024)\n"
     "(SINK (STORE (INDEX o (ADD (MUL (MOD r 32) 32) (IDIV r 32))) (LOAD (INDEX x r))))"},
    {"three digits of one range, in another order",
     "o = (PARAM<f32>[0 o] 1024)\nr = (RANGE[r GRID 0] 1024)\nq = (IDIV r 8)\n"
     "(SINK (STORE (INDEX o (ADD (ADD (MUL (MOD q 16) 64) (MUL (IDIV q 16) 8)) (MOD r 8))) 1.0))"},
    {"overlapping inner loops below a large stride",
     "o = (PARAM<f32>[0 o] 1024)\nr = (RANGE[r GRID 0] 64)\na = (RANGE[a LOOP 1] 8)\nb = (RANGE[b LOOP 2] "
     "8)\n"
     "(SINK (STORE (INDEX o (ADD (MUL r 16) (ADD a b))) 1.0))"},
    {"rows stored backwards",
     "o = (PARAM<f32>[0 o] 1024)\nr = (RANGE[r GRID 0] 32)\nc = (RANGE[c GRID 1] 32)\n"
     "(SINK (STORE (INDEX o (SUB (SUB 1023 (MUL r 32)) c)) 1.0))"},
    {"a concatenation: two stores to two halves",
     "a = (PARAM<f32>[0 a] 32)\no = (PARAM<f32>[1 o] 64)\nr = (RANGE[r GRID 0] 32)\nv = (LOAD (INDEX a r))\n"
     "(SINK (STORE (INDEX o r) v) (STORE (INDEX o (ADD r 32)) (NEG v)))"},
    {"two parts of each row of 64: two stores that lie 32 apart",
     "a = (PARAM<f32>[0 a] 512)\no = (PARAM<f32>[1 o] 1024)\nh = (RANGE[h GRID 0] 16)\nr = (RANGE[r GRID 1] "
     "32)\n"
     "v = (LOAD (INDEX a (ADD (MUL h 32) r)))\ne = (ADD (MUL h 64) r)\n"
     "(SINK (STORE (INDEX o e) v) (STORE (INDEX o (ADD e 32)) (NEG v)))"},
    {"an interleaving: even and odd elements",
     "o = (PARAM<f32>[0 o] 64)\nr = (RANGE[r GRID 0] 32)\n"
     "(SINK (STORE (INDEX o (MUL r 2)) 1.0) (STORE (INDEX o (ADD (MUL r 2) 1)) 2.0))"},
    {"an update in place", "a = (PARAM<f32>[0 a] 32)\nr = (RANGE[r GRID 0] 32)\n(SINK (STORE (INDEX a r) "
                           "(MUL (LOAD (INDEX a r)) 2)))"},
    {"an index that counts from the end when negative",
     "x = (PARAM<f32>[0 x] 32)\ni = (PARAM<i32>[1 i] 8)\no = (PARAM<f32>[2 o] 8)\nr = (RANGE[r GRID 0] 8)\n"
     "j = (MIN (MAX (CAST<idx> (LOAD (INDEX i r))) -32) 31)\n"
     "(SINK (STORE (INDEX o r) (LOAD (INDEX x (WHERE (LT j 0) (ADD j 32) j)))))"},
    {"a slice whose start is a variable", "x = (PARAM<f32>[0 x] 96)\no = (PARAM<f32>[1 o] 32)\ns = "
                                          "(VAR<idx>[0 s] 0 64)\nr = (RANGE[r GRID 0] 32)\n"
                                          "(SINK (STORE (INDEX o r) (LOAD (INDEX x (ADD r s)))))"},
    {"a padded tile, predicated at the store",
     "o = (PARAM<f32>[0 o] 30)\nr = (RANGE[r GRID 0] 8)\nv = (RANGE[v LOOP 1] 4)\ne = (ADD (MUL r 4) v)\n"
     "(SINK (STORE (INDEX o e) 1.0 (LT e 30)))"},
    {"a staged row and three passes over it",
     "x = (PARAM<f32>[0 x] 1024)\no = (PARAM<f32>[1 o] 1024)\nr = (RANGE[r GRID 0] 32)\na = (RANGE[k LOOP 1 "
     "0] 32)\n"
     "b = (RANGE[k REDUCE 1 1] 32)\nc = (RANGE[k LOOP 1 2] 32)\n"
     "s = (STAGE[s SCRATCH] (EXP (LOAD (INDEX x (ADD (MUL r 32) a)))) a)\nt = (REDUCE[ADD] (LOAD (INDEX s "
     "b)) b)\n"
     "(SINK (STORE (INDEX o (ADD (MUL r 32) c)) (FDIV (LOAD (INDEX s c)) t)))"},
    {"a loop shared by a store inside it and a reduction over it",
     "x = (PARAM<f32>[0 x] 1024)\no = (PARAM<f32>[1 o] 1024)\np = (PARAM<f32>[2 p] 32)\nr = (RANGE[r GRID 0] "
     "32)\n"
     "k = (RANGE[k REDUCE 1] 32)\ne = (ADD (MUL r 32) k)\nv = (LOAD (INDEX x e))\n"
     "(SINK (STORE (INDEX o e) (EXP v)) (STORE (INDEX p r) (REDUCE[ADD] v k)))"},
    {"a running sum", "x = (PARAM<f32>[0 x] 1024)\no = (PARAM<f32>[1 o] 1024)\nr = (RANGE[r GRID 0] 32)\nk = "
                      "(RANGE[k SCAN 1] 32)\n"
                      "e = (ADD (MUL r 32) k)\n(SINK (STORE (INDEX o e) (SCAN[ADD] (LOAD (INDEX x e)) k)))"},
    {"no grid at all", "o = (PARAM<f32>[0 o] 1)\n(SINK (STORE (INDEX o 0) 1.0))"},
    {"a ragged loop: the size depends on the row",
     "x = (PARAM<f32>[0 x] 1024)\no = (PARAM<f32>[1 o] 32)\nr = (RANGE[r GRID 0] 32)\nk = (RANGE[k REDUCE 1] "
     "(ADD r 1))\n"
     "(SINK (STORE (INDEX o r) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 32) k))) k)))"},
};

TEST(verify_proves_what_holds) {
    for (size_t i = 0; i < RG_COUNT(good); i++) {
        struct ir_test t;
        char text[2000];
        ir_test_open(&t);
        snprintf(text, sizeof text, "kernel k\n%s\n", good[i].text);
        if (judge(&t, text, "good")) FAIL("%s: %s", good[i].what, t.err.msg);
        ir_test_close(&t);
    }
}

/* Soundness of the ownership proof: random indices that the verifier accepts are run, all grid
 * iterations must write distinct elements. */
static int64_t eval(const uop *n, const int64_t *value) {
    union val s[3], out;
    if (n->op == OP_RANGE) return value[n->arg.range.pos];
    if (n->op == OP_CONST) return n->arg.i;
    for (uint32_t i = 0; i < n->nsrc; i++) s[i].i = eval(n->src[i], value);
    CHECK(op_eval((enum op)n->op, (enum dtype)n->dt, (enum dtype)n->src[0]->dt, s, &out));
    return out.i;
}

static const uop *random_index(struct ir *ir, struct rnd *r, const uop *const *range, int n) {
    static const int64_t coef[] = {1, 2, 3, 4, 5, 6, 8, 12, 20, 24, -1, -4};
    const uop *sum = uop_idx(ir, 200);
    for (int i = 0, terms = 2 + (int)rnd_below(r, 3); i < terms; i++) {
        const uop *x = range[rnd_below(r, (uint32_t)n)];
        const uop *c = uop_idx(ir, 2 + rnd_below(r, 3));
        switch (rnd_below(r, 5)) {
        case 0: x = uop2(ir, OP_IDIV, x, c); break;
        case 1: x = uop2(ir, OP_MOD, x, c); break;
        case 2:
            x = uop2(ir, OP_ADD, uop2(ir, OP_MUL, x, uop_idx(ir, 3)), range[rnd_below(r, (uint32_t)n)]);
            break;
        default: break;
        }
        sum = uop2(ir, OP_ADD, sum, uop2(ir, OP_MUL, x, uop_idx(ir, coef[rnd_below(r, RG_COUNT(coef))])));
    }
    return sum;
}

static void verify_one(void *arg) {
    struct job *j = arg;
    struct kernel k = {.name = "k", .opts = "", .sink = j->ir->node[j->ir->n - 1]};
    verify_kernel(j->ir, &k);
}

/* The element at v[] that a store of the fuzzed kernel writes, marked as that store's; false: the other store's already. */
static bool claim(int *owner, const uop *idx, const int64_t *v, int store, bool *outside) {
    int64_t at = eval(idx, v);
    *outside = at < 0 || at >= 2000;
    if (*outside) return true;
    bool fine = owner[at] < 0 || owner[at] == store;
    owner[at] = store;
    return fine;
}

/* Two stores a constant apart: what is accepted never meets. */
TEST_SLOW(verify_fuzz_accepted_parts_do_not_meet, 240) {
    struct rnd r = {5};
    int accepted = 0, met = 0;
    for (int round = 0; round < 20000; round++) {
        struct ir_test t;
        static const int64_t size[3] = {6, 4, 3};
        const uop *range[3], *idx[2], *st[2];
        int owner[2000];
        ir_test_open(&t);
        for (int i = 0; i < 3; i++)
            range[i] = test_range(&t.ir, (const char *[]){"a", "b", "c"}[i], i < 2 ? AX_GRID : AX_LOOP,
                                  (unsigned)i, 0, size[i]);
        idx[0] = random_index(&t.ir, &r, range, 3);
        idx[1] = uop2(&t.ir, OP_ADD, idx[0], uop_idx(&t.ir, 1 + rnd_below(&r, 40)));
        for (int i = 0; i < 2; i++)
            st[i] =
                uop2(&t.ir, OP_STORE, uop2(&t.ir, OP_INDEX, test_param(&t.ir, DT_F32, 0, "o", 2000), idx[i]),
                     uop_cast(&t.ir, uop2(&t.ir, OP_ADD, range[0], range[1]), DT_F32));
        uop_mk(&t.ir, OP_SINK, st, 2, ARG_NONE);
        struct job j = {.ir = &t.ir};
        bool taken = err_guard(&t.err, verify_one, &j) == 0, apart = true;
        for (int i = 0; i < 2000; i++) owner[i] = -1;
        for (int store = 0; store < 2; store++)
            for (int k = 0; k < 6 * 4 * 3; k++) {
                bool outside,
                    fine = claim(owner, idx[store], (int64_t[]){k / 12, k / 3 % 4, k % 3}, store, &outside);
                apart = apart && fine;
                CHECK(!outside || !taken);
            }
        if (taken && !apart) FAIL("round %d: two stores that meet were accepted", round);
        accepted += taken, met += !apart;
        ir_test_close(&t);
    }
    TEST_INFO("verify: of 20000 random pairs of stores %d accepted, %d meet", accepted, met);
    CHECK(accepted > 100 && met > 1000);
}

TEST_SLOW(verify_fuzz_accepted_stores_do_not_race, 240) {
    struct rnd r = {3};
    int accepted = 0, refused = 0, real = 0;
    for (int round = 0; round < 20000; round++) {
        struct ir_test t;
        static const int64_t size[3] = {6, 4, 3};
        const uop *range[3];
        ir_test_open(&t);
        for (int i = 0; i < 3; i++)
            range[i] = test_range(&t.ir,
                                  i == 0   ? "a"
                                  : i == 1 ? "b"
                                           : "c",
                                  i < 2 ? AX_GRID : AX_LOOP, (unsigned)i, 0, size[i]);
        const uop *idx = random_index(&t.ir, &r, range, 3), *o = test_param(&t.ir, DT_F32, 0, "o", 2000);
        const uop *both =
            uop_cast(&t.ir, uop2(&t.ir, OP_ADD, range[0], range[1]), DT_F32); /* the grid is a x b */
        const uop *st = uop2(&t.ir, OP_STORE, uop2(&t.ir, OP_INDEX, o, idx), both);
        uop_mk(&t.ir, OP_SINK, &st, 1, ARG_NONE);
        struct job j = {.ir = &t.ir};
        int code = err_guard(&t.err, verify_one, &j);
        int owner[2000], race = 0;
        for (int i = 0; i < 2000; i++) owner[i] = -1;
        int64_t v[3];
        for (v[0] = 0; v[0] < 6; v[0]++)
            for (v[1] = 0; v[1] < 4; v[1]++)
                for (v[2] = 0; v[2] < 3; v[2]++) {
                    int64_t at = eval(idx, v);
                    int me = (int)(v[0] * 4 + v[1]);
                    if (at < 0 || at >= 2000)
                        CHECK(code != 0);
                    else if (owner[at] >= 0 && owner[at] != me)
                        race = 1;
                    else
                        owner[at] = me;
                }
        if (code == 0 && race) {
            struct str s;
            str_init(&s, &t.arena);
            ir_print_node(&s, &t.ir, idx, 9);
            FAIL("%s: accepted, but two iterations write one element", s.p);
        }
        accepted += code == 0, refused += code != 0, real += race;
        ir_test_close(&t);
    }
    CHECK(accepted > 200);
    TEST_INFO("verify: of 20000 random stores %d accepted, %d refused, %d of them racing", accepted, refused,
              real);
}

/* Soundness of the bounds proof: random predicated indices; where the predicate is open the index must be inside. */
static const uop *random_sum(struct ir *ir, struct rnd *r, const uop *const *range) {
    const uop *s = uop_idx(ir, rnd_range(r, -6, 6));
    for (uint32_t i = 0, terms = 1 + rnd_below(r, 2); i < terms; i++)
        s = uop2(ir, OP_ADD, s, uop2(ir, OP_MUL, range[rnd_below(r, 3)], uop_idx(ir, rnd_range(r, -3, 3))));
    return s;
}

static const uop *random_pred(struct ir *ir, struct rnd *r, const uop *const *range, const uop *e,
                              int depth) {
    static const enum op compare[] = {OP_LT, OP_LE, OP_LT, OP_LE, OP_EQ, OP_NE};
    const uop *a, *b;
    switch (depth ? rnd_below(r, 6) : 0) {
    case 1:
    case 2:
    case 3:
        a = random_pred(ir, r, range, e, depth - 1), b = random_pred(ir, r, range, e, depth - 1);
        return uop2(ir, OP_AND, a, b);
    case 4:
        a = random_pred(ir, r, range, e, depth - 1), b = random_pred(ir, r, range, e, depth - 1);
        return uop2(ir, OP_OR, a, b);
    case 5: return uop1(ir, OP_NOT, random_pred(ir, r, range, e, depth - 1));
    default:
        a = rnd_below(r, 2) ? e : random_sum(ir, r, range);
        b = rnd_below(r, 3) ? uop_idx(ir, rnd_range(r, -2, 14)) : random_sum(ir, r, range);
        return rnd_below(r, 2) ? uop2(ir, compare[rnd_below(r, 6)], a, b)
                               : uop2(ir, compare[rnd_below(r, 6)], b, a);
    }
}

TEST_SLOW(verify_fuzz_accepted_indices_are_inside, 240) {
    struct rnd r = {11};
    int accepted = 0, predicated = 0;
    for (int round = 0; round < 20000; round++) {
        struct ir_test t;
        const uop *range[3];
        ir_test_open(&t);
        struct ir *ir = &t.ir;
        range[0] = test_range(ir, "r", AX_GRID, 0, 0, 5);
        for (unsigned i = 1; i < 3; i++) range[i] = test_range(ir, i == 1 ? "a" : "b", AX_REDUCE, i, 0, 4);
        int64_t size = 3 + rnd_below(&r, 12), v[3];
        const uop *e = random_sum(ir, &r, range), *g = random_pred(ir, &r, range, e, 3);
        const uop *inv = uop_new(ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE);
        const uop *idx = rnd_below(&r, 5) ? uop3(ir, OP_WHERE, g, e, inv)
                                          : uop3(ir, OP_WHERE, g, e, random_sum(ir, &r, range));
        const uop *ld = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, test_param(ir, DT_F32, 0, "x", size), idx));
        const uop *red = uop_mk(ir, OP_REDUCE, (const uop *[]){ld, range[1], range[2]}, 3, ARG_INT(OP_ADD));
        const uop *st =
            uop2(ir, OP_STORE, uop2(ir, OP_INDEX, test_param(ir, DT_F32, 1, "o", 5), range[0]), red);
        uop_mk(ir, OP_SINK, &st, 1, ARG_NONE);
        struct job j = {.ir = ir};
        bool ok = err_guard(&t.err, verify_one, &j) == 0, closes = false;
        for (v[0] = 0; v[0] < 5; v[0]++)
            for (v[1] = 0; v[1] < 4; v[1]++)
                for (v[2] = 0; v[2] < 4; v[2]++) {
                    bool open = eval(g, v) != 0;
                    closes |= !open;
                    if (!open && idx->src[2] == inv) continue;
                    int64_t at = eval(open ? e : idx->src[2], v);
                    if (!ok || (at >= 0 && at < size)) continue;
                    struct str s;
                    str_init(&s, &t.arena);
                    ir_print_node(&s, ir, idx, 9);
                    FAIL("%s: accepted, but it reaches %lld of %lld", s.p, (long long)at, (long long)size);
                }
        accepted += ok, predicated += ok && closes;
        ir_test_close(&t);
    }
    CHECK(predicated > 100);
    TEST_INFO("verify: of 20000 random predicated loads %d proved inside, %d of them by their predicate",
              accepted, predicated);
}

/* ---- structure that the text cannot express ---------------------------------------------------- */

TEST(verify_nodes_made_without_the_parser) {
    struct ir_test t;
    ir_test_open(&t);
    struct ir *ir = &t.ir;
    const uop *o = test_param(ir, DT_F32, 0, "o", 4), *x = uop2(ir, OP_INDEX, o, uop_idx(ir, 0));
    const uop *bad = uop_new(ir, OP_ADD, DT_F32, 1,
                             (const uop *[]){uop_flt(ir, DT_F32, 1), uop_flt(ir, DT_F16, 1)}, 2, ARG_NONE);
    const uop *st = uop2(ir, OP_STORE, x, bad);
    uop_mk(ir, OP_SINK, &st, 1, ARG_NONE);
    struct job j = {.ir = ir};
    CHECK_EQ(err_guard(&t.err, verify_one, &j), RG_EVERIFY);
    CHECK(strstr(t.err.msg, "rule node: ") && strstr(t.err.msg, "expected f"));
    ir_test_close(&t);
}

/* ---- linear programs --------------------------------------------------------------------------- */

struct lin {
    struct ir_test t;
    const uop *r, *k, *x, *o, *acc, *zero, *ld, *add, *st;
    const uop *list[32];
    uint32_t n;
};

static const uop *range32(struct ir *ir, const char *cls, enum axis_kind kind, unsigned pos) {
    union arg a = {.range = {ir_sym(ir, cls, strlen(cls)), (uint8_t)kind, (uint8_t)pos, 0}};
    const uop *n = uop_int(ir, DT_I32, 8);
    return uop_new(ir, OP_RANGE, DT_I32, 1, &n, 1, a);
}

/* o[r] = sum of x[k]: the pieces of a small program */
static void lin_open(struct lin *l) {
    ir_test_open(&l->t);
    struct ir *ir = &l->t.ir;
    l->n = 0;
    l->r = range32(ir, "r", AX_GRID, 0), l->k = range32(ir, "k", AX_REDUCE, 1);
    l->x = test_param(ir, DT_F32, 0, "x", 8), l->o = test_param(ir, DT_F32, 1, "o", 8);
    l->acc = uop_new(ir, OP_ACC, DT_F32, 1, NULL, 0, ARG_INT(0));
    l->zero = uop2(ir, OP_SET, l->acc, uop_flt(ir, DT_F32, 0));
    l->ld = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, l->x, l->k));
    l->add = uop2(ir, OP_ADD, l->acc, l->ld);
    l->st = uop2(ir, OP_STORE, uop2(ir, OP_INDEX, l->o, l->r), l->acc);
}
static void lin_add(struct lin *l, const uop *n) { l->list[l->n++] = n; }
static void lin_run(void *arg) {
    struct lin *l = arg;
    verify_linear(&l->t.ir, l->list, l->n);
}
static void lin_expect(struct lin *l, const char *rule) {
    int code = err_guard(&l->t.err, lin_run, l);
    char words[64];
    snprintf(words, sizeof words, "rule %s:", rule ? rule : "");
    if (rule ? code != RG_EVERIFY || !strstr(l->t.err.msg, words) : code != 0)
        FAIL("expected %s, found %d \"%s\"", rule ? rule : "no error", code, l->t.err.msg);
    ir_test_close(&l->t);
}

/* The program without entry `skip` (or all of it). */
static void lin_sum(struct lin *l, int skip) {
    struct ir *ir = &l->t.ir;
    const uop *all[] = {l->r,
                        l->zero,
                        l->k,
                        l->ld,
                        l->add,
                        uop2(ir, OP_SET, l->acc, l->add),
                        uop1(ir, OP_END, l->k),
                        l->st,
                        uop1(ir, OP_END, l->r)};
    for (int i = 0; i < (int)RG_COUNT(all); i++)
        if (i != skip) lin_add(l, all[i]);
}

TEST(verify_linear_programs) {
    static const char *const without[] = {"linear-use",   "linear-acc", "linear-use",
                                          "linear-use",   "linear-use", NULL,
                                          "linear-scope", NULL,         "linear-scope"};
    struct lin l;
    lin_open(&l), lin_sum(&l, -1), lin_expect(&l, NULL);
    for (int i = 0; i < (int)RG_COUNT(without); i++) lin_open(&l), lin_sum(&l, i), lin_expect(&l, without[i]);
}

TEST(verify_linear_scopes_and_values) {
    struct lin l;
    struct ir *ir = &l.t.ir;
    lin_open(&l); /* a value of a closed loop is gone */
    lin_add(&l, l.k), lin_add(&l, l.ld), lin_add(&l, uop1(ir, OP_END, l.k));
    lin_add(&l, uop2(ir, OP_STORE, uop2(ir, OP_INDEX, l.o, uop_int(ir, DT_I32, 0)), l.ld));
    lin_expect(&l, "linear-use");
    lin_open(&l); /* the GRID range is first */
    lin_add(&l, l.k), lin_add(&l, l.r), lin_add(&l, uop1(ir, OP_END, l.r)),
        lin_add(&l, uop1(ir, OP_END, l.k));
    lin_expect(&l, "linear-grid");
    lin_open(&l); /* and its END last */
    lin_add(&l, l.r), lin_add(&l, uop1(ir, OP_END, l.r)), lin_add(&l, l.zero);
    lin_expect(&l, "linear-grid");
    lin_open(&l); /* scopes close inside out */
    lin_add(&l, l.r), lin_add(&l, l.k), lin_add(&l, uop1(ir, OP_END, l.r)),
        lin_add(&l, uop1(ir, OP_END, l.k));
    lin_expect(&l, "linear-scope");
    lin_open(&l); /* vectors of ranges are expanded before */
    lin_add(&l, range32(ir, "v", AX_VEC, 2));
    lin_expect(&l, "linear-kind");
    lin_open(&l); /* reductions are loops by now */
    lin_add(&l, l.k), lin_add(&l, l.ld),
        lin_add(&l, uop_mk(ir, OP_REDUCE, (const uop *[]){l.ld, l.k}, 2, ARG_INT(OP_ADD)));
    lin_expect(&l, "linear-op");
    lin_open(&l); /* idx has no width */
    lin_add(&l, uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, l.x, uop_idx(ir, 0))));
    lin_expect(&l, "linear-idx");
    lin_open(&l); /* the value of one branch is gone in the other */
    const uop *g = test_var(ir, DT_BOOL, 0, "g", 0, 1), *c = uop1(ir, OP_IF, g);
    const uop *v = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, l.x, uop_int(ir, DT_I32, 0)));
    lin_add(&l, c), lin_add(&l, v), lin_add(&l, uop1(ir, OP_ELSE, c)), lin_add(&l, uop1(ir, OP_NEG, v)),
        lin_add(&l, uop1(ir, OP_END, c));
    lin_expect(&l, "linear-use");
    lin_open(&l); /* evaluated outside and again inside: usable after the inner scope */
    c = uop1(ir, OP_IF, test_var(ir, DT_BOOL, 0, "g", 0, 1)),
    v = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, l.x, uop_int(ir, DT_I32, 0)));
    lin_add(&l, v), lin_add(&l, c), lin_add(&l, v), lin_add(&l, uop1(ir, OP_END, c)),
        lin_add(&l, uop1(ir, OP_NEG, v));
    lin_expect(&l, NULL);
}
