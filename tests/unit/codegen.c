/* Tests of src/codegen: what each opt refuses and says, and facts about the programs that come out (how often
 * exp is evaluated, which loops are shared, that matrix tiles load vectors). That programs compute the right
 * values under any opts is the business of golden.c. */
#include "test.h"

#include "tune/tune.h"
#include "rules/rules.h"

struct job {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text, *opts;
    struct linear lin;
};

static void compile(void *p) {
    struct job *j = p;
    struct program prog = {0};
    ir_init(&j->ir, &j->arena);
    ir_parse(&j->ir, j->text, strlen(j->text), "test.uop", &prog);
    struct lower_opts o = {.opts = j->opts, .target = {.vec_bytes = 16, .keep_math = true}};
    lower(&j->ir, &prog.kernel.p[0], &o, &j->lin);
}

static int job_run(struct job *j, const char *text, const char *opts) {
    memset(j, 0, sizeof *j);
    arena_init(&j->arena, &j->err);
    j->text = text, j->opts = opts;
    return err_guard(&j->err, compile, j);
}

/* How often an op stands in the program, and the greatest loop depth at which it does. */
static uint32_t count(const struct linear *l, enum op op, unsigned lanes) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) n += l->u[i]->op == op && (!lanes || l->u[i]->lanes == lanes);
    return n;
}

static uint32_t depth_of(const struct linear *l, enum op op) {
    uint32_t d = 0, at = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->u[i]->op == OP_RANGE || l->u[i]->op == OP_IF) d++;
        if (l->u[i]->op == OP_END) d--;
        if (l->u[i]->op == op) at = RG_MAX(at, d);
    }
    return at;
}

static const char softmax[] = "kernel softmax\n"
                              "x = (PARAM<f32>[0 x] 512)\nout = (PARAM<f32>[1 out] 512)\n"
                              "r = (RANGE[r GRID 0] 8)\nk0 = (RANGE[k REDUCE 1 0] 64)\nk1 = (RANGE[k REDUCE "
                              "1 1] 64)\nk2 = (RANGE[k LOOP 1 2] 64)\n"
                              "m = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL r 64) k0))) k0)\n"
                              "s = (REDUCE[ADD] (EXP (SUB (LOAD (INDEX x (ADD (MUL r 64) k1))) m)) k1)\n"
                              "(SINK (STORE (INDEX out (ADD (MUL r 64) k2)) (MUL (EXP (SUB (LOAD (INDEX x "
                              "(ADD (MUL r 64) k2))) m)) (RECIP s))))\n";

static const char matmul[] =
    "kernel matmul\n"
    "a = (PARAM<f32>[0 a] 1536)\nb = (PARAM<f32>[1 b] 2304)\nout = (PARAM<f32>[2 out] 1536)\n"
    "m = (RANGE[m GRID 0] 32)\nn = (RANGE[n GRID 1] 48)\nk = (RANGE[k REDUCE 2] 48)\n"
    "(SINK (STORE (INDEX out (ADD (MUL m 48) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 48) k))) (LOAD "
    "(INDEX b (ADD (MUL k 48) n)))) k)))\n";

static const char scan[] =
    "kernel cumsum\n"
    "x = (PARAM<f32>[0 x] 512)\nout = (PARAM<f32>[1 out] 512)\n"
    "r = (RANGE[r GRID 0] 8)\nk = (RANGE[k SCAN 1] 64)\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 64) k)) (SCAN[ADD] (LOAD (INDEX x (ADD (MUL r 64) k))) k)))\n";

static const char greatest[] =
    "kernel greatest\n"
    "x = (PARAM<f32>[0 x] 512)\nout = (PARAM<f32>[1 out] 512)\n"
    "r = (RANGE[r GRID 0] 8)\nk = (RANGE[k SCAN 1] 64)\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 64) k)) (SCAN[MAX] (LOAD (INDEX x (ADD (MUL r 64) k))) k)))\n";

/* A product of each row, and x doubled in place: in the loop over j alone. */
static const char update[] = "kernel update\n"
                             "x = (PARAM<f32>[0 x] 12)\ny = (PARAM<f32>[1 y] 36)\n"
                             "i = (RANGE[i LOOP 0] 3)\nj = (RANGE[j LOOP 1] 12)\nat = (ADD (MUL i 12) j)\n"
                             "(SINK (STORE (INDEX y at) (MUL (LOAD (INDEX y at)) 2)) (STORE (INDEX x j) (MUL "
                             "(LOAD (INDEX x j)) 2)))\n";

/* Sums of five neighbours, with steps of two in rows of 24. */
static const char blur[] =
    "kernel blur\n"
    "x = (PARAM<f32>[0 x] 192)\nout = (PARAM<f32>[1 out] 80)\n"
    "r = (RANGE[r GRID 0] 8)\no = (RANGE[o LOOP 1] 10)\nk = (RANGE[k REDUCE 2] 5)\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 10) o)) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r "
    "24) (ADD (MUL o 2) k)))) k)))\n";

TEST(codegen_opts_say_why) {
    static const struct {
        const char *text, *opts, *says;
    } bad[] = {
        {softmax, "TILE(k,4,v", "expected )"},
        {softmax, "TILE", "expected ("},
        {softmax, "FOLD(k)", "there is no such opt"},
        {softmax, "VEC(z)", "there is no axis z; the axes are r k"},
        {softmax, "TILE(k,4)", "expected 3 arguments, found 2: TILE(axis,n,inner)"},
        {softmax, "TILE(k,4,v,w)", "expected 3 arguments, found 4"},
        {softmax, "RESIDENT(k,loads,x)", "expected 1 or more arguments, found 3: RESIDENT(axis[,loads])"},
        {softmax, "ORDER(k)", "expected 2 or more arguments, found 1"},
        {softmax, "SWAP(k,z)", "there is no axis z"},
        {softmax, "PIPE(x,r,1,0,two)", "expected a number, found two"},
        {softmax, "TILE(k,x,v)", "expected a number, found x"},
        {softmax, "TILE(k,1,v)", "a tile must have 2"},
        {softmax, "TILE(k,128,v)", "has only 64 values"},
        {softmax, "TILE(k,4,r)", "there is already an axis r"},
        {softmax, "VEC(k)", "vectors have 2, 4, 8 or 16 lanes"},
        {softmax, "TILE(k,3,v) VEC(v)", "vectors have 2, 4, 8 or 16 lanes"},
        {softmax, "TILE(k,4,v) VEC(v) TILE(v,2,w)", "already unrolled"},
        {softmax, "TILE(k,4,v) VEC(v) PADTO(v,8)", "already unrolled"},
        {softmax, "GRID(k)", "does not come from the grid"},
        {softmax, "ORDER(k,k)", "named twice"},
        {softmax, "TILE(k,4,v) VEC(v) TILE(r,4,w) VEC(w)", "two vector axes"},
        {softmax, "STAGE(y,r,k)", "no buffer named y"},
        {softmax, "STAGE(x,k,r)", "is not inside loop k"},
        {softmax, "RESIDENT(r)", "share nothing"},
        {softmax, "RESIDENT(k,all)", "expected the word loads"},
        {softmax, "JOIN(r,k,z)", "is not one over k"},
        {softmax, "JOIN(k,r,z)", "axis r is not inside of k"},
        {matmul, "JOIN(m,m,z)", "with itself"},
        {matmul, "JOIN(m,n,k)", "there is already an axis k"},
        {matmul, "TILE(n,4,j) VEC(j) JOIN(m,j,z)", "join it before"},
        {scan, "JOIN(r,k,z)", "carries a running value"},
        {update, "JOIN(i,j,z)", "an update in one of the axes alone would be repeated"},
        {matmul, "TILE(m,64,i)", "has only 32 values"},
        {matmul, "TILE(m,8,i) STAGE(a,m,k)", "also depends on axis i"},
        {matmul, "STAGE(a,m,k) STAGE(a,m,k)", "staged already"},
        {matmul, "STAGE(a,m,k+x)", "there is no axis x"},
        {matmul, "TILE(n,16,j) STAGE(b,n,k+j)", "do not walk over the same elements"},
        {blur, "STAGE(x,r,o+k+o+k+o+k+o+k+o)", "a window has at most 8 axes"},
        {blur, "TILE(k,4,l) STAGE(x,r,o+k+l)", "do not walk over the same elements"},
        {matmul, "TILE(m,16,i) TILE(n,16,j) TILE(k,16,l) UNROLL(i) UNROLL(j) UNROLL(l)", "would be unrolled"},
        {softmax, "PIPE(x,r,0)", "expected 1 .. 1048576 values"},
        {softmax, "PIPE(x,r,1,7)", "there is no such pass: buffer x is read 3 times"},
        {scan, "TILE(k,4,v) VEC(v)", "carries a running value in its order"},
        {scan, "TILE(k,4,v) REG(v)", "use UNROLL"},
        {greatest, "TILE(k,2,u) UNROLL(u) TILE(k,4,v) VEC(v)", "innermost part of its axis"},
        {scan, "TILE(k,8,i) ORDER(i,k)", "keep their order"},
    };
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        struct job j;
        int code = job_run(&j, bad[i].text, bad[i].opts);
        if (code != RG_EOPT || !strstr(j.err.msg, bad[i].says))
            FAIL("%s: expected \"%s\", got %d \"%s\"", bad[i].opts, bad[i].says, code, j.err.msg);
        arena_free(&j.arena);
    }
}

/* The line drawn at the head of codegen.h names the passes of passes.def, in order. */
TEST(codegen_header_draws_the_passes) {
    struct job j;
    CHECK_EQ(job_run(&j, softmax, ""), 0);
    size_t n = 0;
    char *head = NULL;
    CHECK_EQ(os_read_file(&j.err, &j.arena, "src/codegen/codegen.h", 1 << 20, &head, &n), 0);
    char *at = strstr(head, " *   verify"), *end = at ? strstr(at, "\n *\n") : NULL;
    if (!end) FAIL("codegen.h draws no passes");
    *end = 0;
    int p = 0;
    for (char *save, *word = strtok_r(at, " *\n", &save); word; word = strtok_r(NULL, " *\n", &save)) {
        if (!strcmp(word, "->") || !strcmp(word, "|") || !strcmp(word, "GPU:") || !strcmp(word, "CPU:"))
            continue;
        if (p == PASS_COUNT || strcmp(word, pass_name((enum pass)p)))
            FAIL("codegen.h draws %s, passes.def has %s", word,
                 p == PASS_COUNT ? "no more" : pass_name((enum pass)p));
        p++;
    }
    CHECK_EQ(p, PASS_COUNT);
    arena_free(&j.arena);
}

/* Passes whose condition does not hold are skipped; each that runs is logged once, in the order of the table. */
TEST(codegen_passes_are_logged) {
    struct job j;
    struct program prog = {0};
    struct pass_log log = {0};
    CHECK_EQ(job_run(&j, matmul, ""), 0);
    ir_parse(&j.ir, matmul, strlen(matmul), "test.uop", &prog);
    lower(&j.ir, &prog.kernel.p[0], &(struct lower_opts){.opts = "TILE(n,8,v) THREAD(v)", .log = &log},
          &j.lin);
    static const enum pass want[] = {PASS_VERIFY,    PASS_OPTS,        PASS_FINALIZE_AXES, PASS_BLOCK_SUMS,
                                     PASS_LOOP_TREE, PASS_PIPELINE,    PASS_THREADS,       PASS_PREDICATE,
                                     PASS_EXPAND,    PASS_COALESCE,    PASS_DECOMPOSE,     PASS_INDEX_WIDTH,
                                     PASS_LINEARIZE, PASS_COLD_BRANCH, PASS_ESTIMATE};
    CHECK_EQ(log.n, RG_COUNT(want));
    for (size_t i = 0; i < RG_COUNT(want); i++) {
        CHECK_STR(log.rec[i].name, pass_name(want[i]));
        CHECK(log.rec[i].nodes > 0);
    }
    arena_free(&j.arena);
}

TEST(codegen_resident_keeps_exp) {
    struct job j;
    CHECK_EQ(job_run(&j, softmax, ""), 0);
    CHECK_EQ(count(&j.lin, OP_EXP, 0), 2);
    CHECK_EQ(j.lin.scratch, 0);
    arena_free(&j.arena);
    CHECK_EQ(job_run(&j, softmax, "RESIDENT(k)"), 0);
    CHECK_EQ(count(&j.lin, OP_EXP, 0), 1);
    CHECK_EQ(j.lin.scratch, 256);
    CHECK_EQ(count(&j.lin, OP_RANGE, 0),
             4); /* the grid, and one loop for each pass: storing and summing share theirs */
    CHECK_EQ(depth_of(&j.lin, OP_RECIP), 1); /* moved out of the last pass */
    arena_free(&j.arena);
}

TEST(codegen_reduction_kinds) {
    struct job j;
    CHECK_EQ(job_run(&j, softmax, "TILE(k,4,v) VEC(v) TILE(k,4,u) REG(u)"), 0);
    CHECK_EQ(count(&j.lin, OP_VEC_REDUCE, 0), 2);
    CHECK_EQ(count(&j.lin, OP_MAX, 4), 4 + 3); /* four accumulators, then joined */
    CHECK_EQ(count(&j.lin, OP_EXP, 4), 8);
    arena_free(&j.arena);
    CHECK_EQ(job_run(&j, softmax, "TILE(k,4,v) VEC(v) TILE(k,4,u) UNROLL(u)"), 0);
    CHECK_EQ(count(&j.lin, OP_MAX, 4), 4);
    arena_free(&j.arena);
}

TEST(codegen_matrix_tile) {
    struct job j;
    CHECK_EQ(job_run(&j, matmul,
                     "TILE(m,8,mr) UNROLL(mr) TILE(n,12,nr) TILE(nr,4,v) VEC(v) UNROLL(nr) TILE(k,16,kk) "
                     "ORDER(k,kk) STAGE(a,k,kk,mr) STAGE(b,k,kk,nr,v) VEC(b.v) UNROLL(b.nr)"),
             0);
    CHECK_EQ(count(&j.lin, OP_FMA, 4), 24);
    CHECK_EQ(count(&j.lin, OP_MUL, 4), 0);
    CHECK_EQ(count(&j.lin, OP_EXTRACT, 1), 8); /* the operand of a comes in two vectors, used lane by lane */
    CHECK_EQ(j.lin.scratch, 16 * 8 * 4 + 16 * 12 * 4);
    CHECK_EQ(j.lin.grid, 16);
    CHECK_EQ((int64_t)j.lin.est.flops, 2 * 32 * 48 * 48);
    CHECK_EQ((int64_t)j.lin.est.flops_issued, 2 * 32 * 48 * 48);
    arena_free(&j.arena);
    /* the loop over k outside the loop over columns: sums are kept in an array between its iterations */
    CHECK_EQ(job_run(&j, matmul, "TILE(n,16,nt) TILE(k,16,kk) LOOP(nt) ORDER(k,nt,kk)"), 0);
    CHECK_EQ(j.lin.nlocal, 1);
    CHECK_EQ(j.lin.scratch, 16 * 4);
    arena_free(&j.arena);
}

TEST(codegen_window_is_staged_once) {
    struct job j;
    CHECK_EQ(job_run(&j, blur, "STAGE(x,r,o,k)"), 0);
    CHECK_EQ(j.lin.scratch, 256); /* 10 * 5 elements, whole cache lines */
    arena_free(&j.arena);
    CHECK_EQ(job_run(&j, blur, "STAGE(x,r,o+k)"), 0);
    CHECK_EQ(j.lin.scratch, 128); /* 9 * 2 + 5 */
    arena_free(&j.arena);
    CHECK_EQ(job_run(&j, blur, "TILE(o,5,p) STAGE(x,r,o+p+k)"), 0);
    CHECK_EQ(j.lin.scratch, 128);
    arena_free(&j.arena);
}

TEST(codegen_tail_is_peeled) {
    struct job j; /* 48 columns in tiles of 5: the last tile has 3 */
    CHECK_EQ(job_run(&j, matmul, "TILE(n,5,u) UNROLL(u)"), 0);
    CHECK_EQ(count(&j.lin, OP_IF, 0), 1);
    CHECK(count(&j.lin, OP_PRED_LOAD, 0) > 0);
    CHECK_EQ(j.lin.grid, 32 * 10);
    bool fast = true; /* the main body, before ELSE, has no predicates */
    for (uint32_t i = 0; i < j.lin.n && j.lin.u[i]->op != OP_ELSE; i++)
        fast &= j.lin.u[i]->op != OP_PRED_LOAD;
    CHECK(fast);
    arena_free(&j.arena);
}

/* Average of 2 x 2 with a row of padding above: the predicate is the same for all lanes. */
static const char pool_padded[] =
    "kernel pool\n"
    "x = (PARAM<f32>[0 x] 2048)\nout = (PARAM<f32>[1 out] 528)\n"
    "r = (RANGE[r GRID 0] 33)\ni = (RANGE[i LOOP 1] 16)\nk = (RANGE[k REDUCE 2] 2)\nj = (RANGE[j REDUCE 3] "
    "2)\n"
    "y = (ADD (ADD (MUL r 2) k) -1)\nin = (AND (LT -1 y) (LT y 64))\n"
    "at = (ADD (ADD (MUL y 32) (MUL i 2)) j)\n"
    "s = (REDUCE[ADD] (WHERE in (LOAD (INDEX x (WHERE in at (INVALID<idx>)))) 0.0) k j)\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 16) i)) s))\n";

TEST(codegen_strided_vectors_lose_uniform_predicates) {
    struct job j; /* both elements of a pair come in whole vectors */
    CHECK_EQ(job_run(&j, pool_padded, "TILE(i,4,v) VEC(v) UNROLL(j)"), 0);
    CHECK(count(&j.lin, OP_LOAD, 4) + count(&j.lin, OP_LOAD, 8) > 0);
    arena_free(&j.arena);
}

/* Two rows side by side: predicates that exclude each other. */
static const char concat[] =
    "kernel concat\n"
    "x = (PARAM<f32>[0 x] 185)\ny = (PARAM<f32>[1 y] 335)\nout = (PARAM<f32>[2 out] 520)\n"
    "r = (RANGE[r GRID 0] 5)\ni = (RANGE[i LOOP 1] 104)\nin = (LT i 37)\nrest = (LE 37 i)\n"
    "a = (WHERE in (LOAD (INDEX x (WHERE in (ADD (MUL r 37) i) (INVALID<idx>)))) 0.0)\n"
    "b = (WHERE rest (LOAD (INDEX y (WHERE rest (ADD (ADD (MUL r 67) i) -37) (INVALID<idx>)))) 0.0)\n"
    "(SINK (STORE (INDEX out (ADD (MUL r 104) i)) (ADD a b)))\n";

TEST(codegen_exclusive_predicates_in_segments) {
    struct job j; /* each segment is copied in vectors, the vector between them by element */
    CHECK_EQ(job_run(&j, concat, "TILE(i,4,v) VEC(v)"), 0);
    CHECK_EQ(count(&j.lin, OP_LOAD, 4), 2);
    CHECK_EQ(count(&j.lin, OP_IF, 0), 2);
    arena_free(&j.arena);
}

/* Four neighbours of a torus: each side of a roll has a predicate, and the boundary's excludes the interior's. */
static const char torus[] =
    "kernel torus\n"
    "x = (PARAM<f32>[0 x] 4096)\nout = (PARAM<f32>[1 out] 4096)\n"
    "r = (RANGE[r GRID 0] 64)\ni = (RANGE[i LOOP 1] 64)\nat = (ADD (MUL r 64) i)\n"
    "w1 = (LT 0 i)\nw = (WHERE w1 (LOAD (INDEX x (WHERE w1 (ADD at -1) (INVALID<idx>)))) 0.0)\n"
    "v1 = (LT i 1)\nv = (WHERE v1 (LOAD (INDEX x (WHERE v1 (ADD at 63) (INVALID<idx>)))) 0.0)\n"
    "e1 = (LT i 63)\ne = (WHERE e1 (LOAD (INDEX x (WHERE e1 (ADD at 1) (INVALID<idx>)))) 0.0)\n"
    "f1 = (LT 62 i)\nf = (WHERE f1 (LOAD (INDEX x (WHERE f1 (ADD at -63) (INVALID<idx>)))) 0.0)\n"
    "n1 = (LT 0 r)\nn = (WHERE n1 (LOAD (INDEX x (WHERE n1 (ADD at -64) (INVALID<idx>)))) 0.0)\n"
    "m1 = (LT r 1)\nm = (WHERE m1 (LOAD (INDEX x (WHERE m1 (ADD at 4032) (INVALID<idx>)))) 0.0)\n"
    "s1 = (LT r 63)\ns = (WHERE s1 (LOAD (INDEX x (WHERE s1 (ADD at 64) (INVALID<idx>)))) 0.0)\n"
    "(SINK (STORE (INDEX out at) (ADD (ADD (ADD w v) (ADD e f)) (ADD (ADD n m) s))))\n";

TEST(codegen_interior_of_a_torus_has_no_predicates) {
    struct job
        j; /* w, e, n and s before the first ELSE; v, f and m are the boundary's, before the loop or behind */
    uint32_t loads = 0, predicated = 0, first = 0;
    CHECK_EQ(job_run(&j, torus, "TILE(i,4,v) VEC(v)"), 0);
    for (uint32_t i = 0; i < j.lin.n && j.lin.u[i]->op != OP_ELSE; i++)
        if (j.lin.u[i]->op == OP_RANGE) first = i;
    for (uint32_t i = first; i < j.lin.n && j.lin.u[i]->op != OP_ELSE; i++) {
        loads += j.lin.u[i]->op == OP_LOAD;
        predicated += j.lin.u[i]->op == OP_PRED_LOAD;
    }
    CHECK_EQ(loads, 4);
    CHECK_EQ(predicated, 0);
    arena_free(&j.arena);
}

TEST(codegen_scan_transposes_rows_in_registers) {
    struct job j;
    CHECK_EQ(job_run(&j, scan, "TILE(r,4,v) VEC(v) TILE(k,4,u) UNROLL(u)"), 0);
    CHECK_EQ(count(&j.lin, OP_LOAD, 4), 4);
    CHECK_EQ(count(&j.lin, OP_LOAD, 1), 0);
    CHECK_EQ(count(&j.lin, OP_STORE, 0), 4);
    CHECK_EQ(count(&j.lin, OP_BUILD, 4), 8);
    arena_free(&j.arena);
}

/* Two steps of shuffles in each vector, its last lane for the next and for the round: rounds share one product of a vector. */
TEST(codegen_scan_runs_along_lanes) {
    struct job j;
    CHECK_EQ(job_run(&j, greatest, "TILE(k,4,v) VEC(v) TILE(k,2,u) UNROLL(u)"), 0);
    CHECK_EQ(count(&j.lin, OP_LOAD, 4), 2);
    CHECK_EQ(count(&j.lin, OP_LOAD, 1), 0);
    CHECK_EQ(count(&j.lin, OP_STORE, 0), 2);
    CHECK_EQ(count(&j.lin, OP_BUILD, 4), 6);
    CHECK_EQ(count(&j.lin, OP_MAX, 4), 8);
    arena_free(&j.arena);
}

TEST(codegen_pipe_asks_once_per_line) {
    struct job j; /* a vector is a quarter of a line: two prefetches for the eight vectors of one iteration */
    CHECK_EQ(job_run(&j, softmax, "TILE(k,4,v) VEC(v) TILE(k,8,u) REG(u) PIPE(x,r,1)"), 0);
    CHECK_EQ(count(&j.lin, OP_PREFETCH, 0), 2);
    CHECK_EQ(depth_of(&j.lin, OP_PREFETCH), 2);
    arena_free(&j.arena);
}

/* Partial sums of 256 KB are asked for before the loop whose result they take, a line of a register tile of 4 x 16 each; those of
 * 16 KB are not. */
TEST(codegen_far_partial_sums_are_prefetched) {
    static const char product[] =
        "kernel product\na = (PARAM<f32>[0 a] 262144)\nb = (PARAM<f32>[1 b] 262144)\nout = (PARAM<f32>[2 "
        "out] 262144)\n"
        "m = (RANGE[m GRID 0] 512)\nn = (RANGE[n GRID 1] 512)\nk = (RANGE[k REDUCE 2] 512)\n"
        "s = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 512) k))) (LOAD (INDEX b (ADD (MUL k 512) n)))) "
        "k)\n"
        "(SINK (STORE (INDEX out (ADD (MUL m 512) n)) s))\n";
    static const char tile[] = "TILE(m,4,r) UNROLL(r) TILE(n,16,c) TILE(c,4,v) VEC(v) UNROLL(c) ";
    for (int far = 0; far < 2; far++) {
        struct job j;
        char opts[256];
        snprintf(opts, sizeof opts, "%sTILE(m,%d,mt) TILE(n,%d,nt) TILE(k,64,kk) ORDER(k,nt,mt,kk)", tile,
                 far ? 64 : 16, far ? 16 : 4);
        CHECK_EQ(job_run(&j, product, opts), 0);
        CHECK_EQ(count(&j.lin, OP_PREFETCH, 0), far ? 4 : 0);
        if (far) CHECK_EQ(depth_of(&j.lin, OP_PREFETCH), depth_of(&j.lin, OP_LOAD) - 1);
        arena_free(&j.arena);
    }
}

TEST(codegen_same_input_same_program) {
    struct job a, b;
    const char *opts = "RESIDENT(k) TILE(k,4,v) VEC(v) TILE(k,4,u) REG(u)";
    struct str s, t;
    CHECK_EQ(job_run(&a, softmax, opts), 0);
    CHECK_EQ(job_run(&b, softmax, opts), 0);
    str_init(&s, &a.arena), str_init(&t, &b.arena);
    linear_print(&s, &a.ir, &a.lin), linear_print(&t, &b.ir, &b.lin);
    CHECK_STR(s.p, t.p);
    arena_free(&a.arena), arena_free(&b.arena);
}

TEST(codegen_random_opts_are_legal) {
    static const char *const text[] = {softmax, matmul, scan};
    uint32_t lists = 0, distinct = 0;
    for (size_t t = 0; t < RG_COUNT(text); t++) {
        char last[1024] = "";
        for (uint64_t seed = 0; seed < 60; seed++) {
            struct job j;
            struct program prog = {0};
            CHECK_EQ(job_run(&j, text[t], ""), 0);
            ir_parse(&j.ir, text[t], strlen(text[t]), "test.uop", &prog);
            const char *list = opts_random(&j.ir, &prog.kernel.p[0], seed);
            CHECK_STR(list, opts_random(&j.ir, &prog.kernel.p[0], seed));
            distinct += strcmp(list, last) != 0;
            snprintf(last, sizeof last, "%s", list);
            struct job k;
            if (job_run(&k, text[t], list)) FAIL("%s: %s", list, k.err.msg);
            lists++;
            arena_free(&j.arena), arena_free(&k.arena);
        }
    }
    CHECK_EQ(lists, 180);
    CHECK(distinct > 150);
}

/* Each row that RESIDENT keeps has a scratch buffer of its own, however many there are: one STORE to each. */
TEST(codegen_many_resident_rows) {
    enum { ROWS = 25 };
    static struct job j;
    static char text[ROWS * 200 + 400];
    int n = snprintf(text, sizeof text,
                     "kernel many\nr = (RANGE[r GRID 0] 8)\nk0 = (RANGE[k LOOP 1 0] 64)\n"
                     "k1 = (RANGE[k REDUCE 1 1] 64)\ns = (PARAM<f32>[0 s] 8)\n");
    for (int i = 0; i < ROWS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "x%d = (PARAM<f32>[%d x%d] 512)\ny%d = (PARAM<f32>[%d y%d] 512)\n", i, 2 * i + 1, i, i,
                      2 * i + 2, i);
    for (int i = 0; i < ROWS; i++)
        n += i ? snprintf(text + n, sizeof text - (size_t)n,
                          "v%d = (ADD v%d (LOAD (INDEX x%d (ADD (MUL r 64) k1))))\n", i, i - 1, i)
               : snprintf(text + n, sizeof text - (size_t)n, "v0 = (LOAD (INDEX x0 (ADD (MUL r 64) k1)))\n");
    n += snprintf(text + n, sizeof text - (size_t)n, "(SINK (STORE (INDEX s r) (REDUCE[ADD] v%d k1))",
                  ROWS - 1);
    for (int i = ROWS; i-- > 0;)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      " (STORE (INDEX y%d (ADD (MUL r 64) k0)) (NEG (LOAD (INDEX x%d (ADD (MUL r 64) k0)))))",
                      i, i);
    snprintf(text + n, sizeof text - (size_t)n, ")\n");
    CHECK_EQ(job_run(&j, text, "RESIDENT(k,loads)"), 0);
    const uop *seen[2 * ROWS];
    uint32_t stores = 0;
    for (uint32_t i = 0; i < j.lin.n; i++) {
        const uop *u = j.lin.u[i], *buf = u->op == OP_STORE ? u->src[0]->src[0] : NULL;
        if (!buf || buf->op != OP_LOCAL) continue;
        for (uint32_t k = 0; k < stores; k++) CHECK(seen[k] != buf);
        CHECK(stores < 2 * ROWS);
        seen[stores++] = buf;
    }
    CHECK_EQ(stores, ROWS);
    arena_free(&j.arena);
}
