/* Tests of opts_heuristic: kernels of several megabytes have streams, prefetches and tiles and keep their values; facts about the
 * programs, vector loads only, products per load, accumulators, what is evaluated once; what a list must not depend on. */
#include "trial.h"

/* ---- kernels of several megabytes: streams, prefetches, transposed tiles --------------------------------------- */

/* not: what the list must not have, or NULL. */
static void list_for(const char *text, int vec_bytes, int threads, bool exact, const char *has,
                     const char * not ) {
    struct trial *t = calloc(1, sizeof *t);
    t->vec_bytes = vec_bytes, t->threads = threads, t->keep_math = true;
    trial_open(t, text, "large");
    if (!strstr(t->opts[0], has)) FAIL("expected %s in %s", has, t->opts[0]);
    if (not &&strstr(t->opts[0], not )) FAIL("expected no %s in %s", not, t->opts[0]);
    CHECK(same_values(t, exact) > 0);
    arena_free(&t->arena);
    free(t);
}

static void large(const char *text, bool exact, const char *has) { list_for(text, 16, 2, exact, has, NULL); }

TEST(heuristic_large_sum_in_streams) {
    large("kernel s\nx = (PARAM<f32>[0 x] 2097152)\no = (PARAM<f32>[1 o] 32)\nb = (RANGE[b GRID 0] 32)\n"
          "k = (RANGE[k REDUCE 1] 65536)\n(SINK (STORE (INDEX o b) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL b "
          "65536) k))) k)))\n",
          true, "REG(k)");
}

/* Four runs of neighbouring rows at a time, not four rows. */
TEST(heuristic_large_rows_in_runs) {
    large("kernel s\nx = (PARAM<f32>[0 x] 2097152)\ny = (PARAM<f32>[1 y] 2048)\no = (PARAM<f32>[2 o] 1024)\n"
          "b = (RANGE[b GRID 0] 1024)\nk = (RANGE[k REDUCE 1] 2048)\n(SINK (STORE (INDEX o b) (REDUCE[ADD] "
          "(MUL "
          "(LOAD (INDEX x (ADD (MUL b 2048) k))) (LOAD (INDEX y k))) k)))\n",
          true, "TILE(b,16,b_l) TILE(b,4,b_s) UNROLL(b_s)");
}

TEST(heuristic_large_columns_in_runs) {
    large("kernel s\nx = (PARAM<f32>[0 x] 2097152)\no = (PARAM<f32>[1 o] 8192)\nb = (RANGE[b GRID 0] 8)\n"
          "c = (RANGE[c GRID 1] 1024)\nk = (RANGE[k REDUCE 2] 256)\n(SINK (STORE (INDEX o (ADD (MUL b 1024) "
          "c)) "
          "(REDUCE[ADD] (LOAD (INDEX x (ADD (ADD (MUL b 262144) (MUL k 1024)) c))) k)))\n",
          true, "TILE(k,64,k_l) UNROLL(k)");
}

static void transposes(const char *type, int rows, int columns, const char *has, const char * not ) {
    char text[512];
    snprintf(
        text, sizeof text,
        "kernel s\nx = (PARAM<%s>[0 x] %d)\no = (PARAM<%s>[1 o] %d)\ni = (RANGE[i GRID 0] %d)\n"
        "j = (RANGE[j GRID 1] %d)\n(SINK (STORE (INDEX o (ADD (MUL i %d) j)) (LOAD (INDEX x (ADD (MUL j %d) "
        "i)))))\n",
        type, rows * columns, type, rows * columns, rows, columns, columns, rows);
    list_for(text, 64, 1, true, has, not );
}

/* Rows of a few lines are read once, whole; so are long ones, but for elements that fill half a line of the result. */
TEST(heuristic_large_transposition_takes_whole_rows) {
    transposes("f64", 33, 8011, "UNROLL(i_t) LOOP(i)", NULL);
    transposes("f32", 481, 1049, "UNROLL(i_t) LOOP(i)", NULL);
    transposes("bf16", 251, 4001, "UNROLL(i_t)", "LOOP(i)");
}

/* One filter: rows of the window are a register tile, that each row which is loaded is for all of its taps; images with a halo are
 * packed, others are read where they are, and rows shorter than a register have shorter vectors. */
TEST(heuristic_large_convolutions_of_one_filter) {
    struct rnd r = {20261122};
    for (int n = 0; n < 6; n++) {
        char text[1000];
        int in = (int)rnd_range(&r, 12, 24), taps = (int)rnd_range(&r, 3, 7), pad = n % 2 ? taps / 2 : 0;
        int h = (int)rnd_range(&r, 8, 30), w = n % 3 ? (int)rnd_range(&r, 17, 60) : (int)rnd_range(&r, 8, 15);
        int high = h + taps - 1 - 2 * pad, wide = w + taps - 1 - 2 * pad;
        snprintf(
            text, sizeof text,
            "kernel s\nx = (PARAM<f32>[0 x] %d)\nf = (PARAM<f32>[1 f] %d)\no = (PARAM<f32>[2 o] %d)\n"
            "n = (RANGE[n GRID 0] 2)\ni = (RANGE[i GRID 1] %d)\nj = (RANGE[j GRID 2] %d)\n"
            "k = (RANGE[k REDUCE 3] %d)\ns = (RANGE[s REDUCE 4] %d)\nt = (RANGE[t REDUCE 5] %d)\n"
            "y = (SUB (ADD i s) %d)\nz = (SUB (ADD j t) %d)\n"
            "p = (AND (AND (LE 0 y) (LT y %d)) (AND (LE 0 z) (LT z %d)))\n"
            "a = (ADD (ADD z (MUL y %d)) (ADD (MUL k %d) (MUL n %d)))\n"
            "v = %s\n"
            "g = (LOAD (INDEX f (ADD t (ADD (MUL s %d) (MUL k %d)))))\n"
            "(SINK (STORE (INDEX o (ADD j (ADD (MUL i %d) (MUL n %d)))) (REDUCE[ADD] (MUL v g) k s t)))\n",
            2 * in * high * wide, in * taps * taps, 2 * h * w, h, w, in, taps, taps, pad, pad, high, wide,
            wide, high * wide, in * high * wide,
            pad ? "(WHERE p (LOAD (INDEX x (WHERE p a (INVALID<idx>)))) 0.0)" : "(LOAD (INDEX x a))", taps,
            taps * taps, w, h * w);
        list_for(text, 64, 1, true, pad ? "STAGE(x," : "UNROLL(i", pad ? NULL : "STAGE(x,");
        list_for(text, 64, 1, true, "UNROLL(i", NULL);
    }
}

/* Dilated taps are as far apart in each lane: vectors along the positions, not of results that are stored in pieces. */
TEST(heuristic_large_dilated_windows) {
    struct rnd r = {20261123};
    for (int n = 0; n < 3; n++) {
        char text[800];
        int in = (int)rnd_range(&r, 4, 10), out = 16 * (int)rnd_range(&r, 2, 6),
            step = (int)rnd_range(&r, 2, 4), size = 16 * (int)rnd_range(&r, 12, 24), pad = step;
        snprintf(text, sizeof text,
                 "kernel s\nx = (PARAM<f32>[0 x] %d)\nf = (PARAM<f32>[1 f] %d)\no = (PARAM<f32>[2 o] %d)\n"
                 "n = (RANGE[n GRID 0] 2)\nc = (RANGE[c GRID 1] %d)\nj = (RANGE[j GRID 2] %d)\n"
                 "k = (RANGE[k REDUCE 3] %d)\nt = (RANGE[t REDUCE 4] 3)\n"
                 "z = (SUB (ADD j (MUL t %d)) %d)\np = (AND (LE 0 z) (LT z %d))\n"
                 "a = (ADD z (ADD (MUL k %d) (MUL n %d)))\n"
                 "v = (WHERE p (LOAD (INDEX x (WHERE p a (INVALID<idx>)))) 0.0)\n"
                 "g = (LOAD (INDEX f (ADD t (ADD (MUL k 3) (MUL c %d)))))\n"
                 "(SINK (STORE (INDEX o (ADD j (ADD (MUL c %d) (MUL n %d)))) (REDUCE[ADD] (MUL v g) k t)))\n",
                 2 * in * size, out * in * 3, 2 * out * size, out, size, in, step, pad, size, size, in * size,
                 in * 3, size, out * size);
        list_for(text, 64, 1, true, "VEC(j_v)", "VEC(c");
    }
}

/* A line that is read across holds the next rows too: they are inside of the loop over vectors. */
TEST(heuristic_large_transposition_of_three_axes) {
    struct rnd r = {20261120};
    for (int k = 0; k < 3; k++) {
        char text[512];
        int i = (int)rnd_range(&r, 7, 12), j = 3 * (int)rnd_range(&r, 90, 120),
            n = (int)rnd_range(&r, 300, 400);
        snprintf(text, sizeof text,
                 "kernel s\nx = (PARAM<f32>[0 x] %d)\no = (PARAM<f32>[1 o] %d)\ni = (RANGE[i GRID 0] %d)\n"
                 "j = (RANGE[j GRID 1] %d)\nn = (RANGE[n GRID 2] %d)\n(SINK (STORE (INDEX o (ADD (MUL i %d) "
                 "(ADD (MUL j %d) n))) (LOAD (INDEX x (ADD (MUL n %d) (ADD (MUL j %d) i))))))\n",
                 i * j * n, i * j * n, i, j, n, j * n, n, i * j, i);
        list_for(text, 64, 1, true, "LOOP(n) TILE(j,", NULL);
        list_for(text, 64, 1, true, "ORDER(n,j_l)", NULL);
    }
}

static void columns(long long blocks, long long cols, long long rows, const char *has) {
    char text[512];
    snprintf(
        text, sizeof text,
        "kernel s\nx = (PARAM<f32>[0 x] %lld)\no = (PARAM<f32>[1 o] %lld)\nb = (RANGE[b GRID 0] %lld)\n"
        "c = (RANGE[c GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n(SINK (STORE (INDEX o (ADD (MUL b %lld) "
        "c)) (REDUCE[ADD] (LOAD (INDEX x (ADD (ADD (MUL b %lld) (MUL k %lld)) c))) k)))\n",
        blocks * cols * rows, blocks * cols, blocks, cols, rows, cols, cols * rows, cols);
    large(text, true, has);
}

/* Columns of any number are walked row by row, and few of them stay in registers: never a cache line or a page per row. */
TEST(heuristic_large_columns_of_odd_sizes) {
    columns(16, 1001, 131, "UNROLL(k_u) ORDER(k,c)");
    columns(2, 4099, 257, "ORDER(k,c_l)");
    columns(1, 30001, 70, "ORDER(k,c_l)");
    columns(64, 33, 1000, "VEC(c_v) UNROLL(c)");
    columns(32, 16, 4097, "VEC(c_v) UNROLL(c) TILE(k,4,k_u) UNROLL(k_u)");
}

/* Overlapping windows are no columns: their taps are unrolled. */
TEST(heuristic_large_windows_are_unrolled) {
    large(
        "kernel s\nx = (PARAM<f32>[0 x] 1049088)\no = (PARAM<f32>[1 o] 1048064)\nb = (RANGE[b GRID 0] 512)\n"
        "c = (RANGE[c GRID 1] 2047)\nk = (RANGE[k REDUCE 2] 3)\n(SINK (STORE (INDEX o (ADD (MUL b 2047) c)) "
        "(REDUCE[MAX] (LOAD (INDEX x (ADD (MUL b 2049) (ADD c k)))) k)))\n",
        true, "UNROLL(k)");
}

static void write_product(char *text, size_t room, long long m, long long n, long long k) {
    snprintf(text, room,
             "kernel s\na = (PARAM<f32>[0 a] %lld)\nb = (PARAM<f32>[1 b] %lld)\no = (PARAM<f32>[2 o] %lld)\n"
             "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
             "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m %lld) "
             "k))) (LOAD (INDEX b (ADD (MUL k %lld) n)))) k)))\n",
             m * k, k * n, m * n, m, n, k, n, k, n);
}

/* Operands in L2, whole register tiles of wide vectors: a is not packed, and b for many rows only. */
TEST(heuristic_products_in_place) {
    struct rnd r = {20261119};
    for (int i = 0; i < 2; i++) {
        char text[512];
        long long m = 8 * rnd_range(&r, 34, 40), n = 32 * rnd_range(&r, 3, 5), k = 4 * rnd_range(&r, 20, 40);
        write_product(text, sizeof text, m, n, k);
        list_for(text, 64, 16, true, "TILE(m,8,m_r)", "STAGE(");
        list_for(text, 64, 1, true, "TILE(m,8,m_r)", "STAGE(a,");
        list_for(text, 16, 1, true, "STAGE(a,", NULL);
        write_product(text, sizeof text, 256, 256, k);
        list_for(text, 64, 1, true, "STAGE(b,", "STAGE(a,");
    }
}

/* One register tile of columns more than a panel has is no other panel, for which a would be packed again. */
TEST(heuristic_products_of_a_column_more) {
    struct rnd r = {20261121};
    char text[512];
    write_product(text, sizeof text, 296 + rnd_range(&r, 0, 9), 2049 + rnd_range(&r, 0, 9), 8);
    list_for(text, 64, 1, true, "TILE(n,65,n_t)", NULL);
}

/* Rows of a that share a set of L1 are copied as they are for few columns, else transposed a line at a time. */
TEST(heuristic_products_transpose_rows_of_a) {
    char text[512];
    write_product(text, sizeof text, 150, 160, 1024);
    list_for(text, 64, 1, true, "TILE(a.k_k,4,a.w)", ",m_r,k_k,k_u)");
    write_product(text, sizeof text, 150, 96, 1024);
    list_for(text, 64, 1, true, ",m_r,k_k,k_u)", NULL);
}

/* A few rows times a matrix that no cache holds: it is read row by row, not down a register tile. */
TEST(heuristic_large_products_of_few_rows) {
    struct rnd r = {20261117};
    for (int i = 0; i < 2; i++) {
        char text[512];
        long long m = rnd_range(&r, 2, 5), k = rnd_range(&r, 70, 4000),
                  n = (5 << 19) / k + rnd_range(&r, 1, 9);
        write_product(text, sizeof text, m, n, k);
        large(text, true, "UNROLL(k_u) ORDER(k,n");
    }
}

/* Few columns, fewer than half of the lanes: vectors down the rows of an operand that is contiguous there. */
TEST(heuristic_products_of_few_columns) {
    struct rnd r = {20261121};
    for (int i = 0; i < 6; i++) {
        char text[512];
        long long m = rnd_range(&r, 33, 150), n = rnd_range(&r, 2, 3), k = rnd_range(&r, 32, 900);
        snprintf(
            text, sizeof text,
            "kernel p\na = (PARAM<f32>[0 a] %lld)\nb = (PARAM<f32>[1 b] %lld)\no = (PARAM<f32>[2 o] %lld)\n"
            "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
            "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL k %lld) "
            "m))) (LOAD (INDEX b (ADD (MUL k %lld) n)))) k)))\n",
            m * k, k * n, m * n, m, n, k, n, m, n);
        for (int bytes = 32; bytes <= 64; bytes *= 2) list_for(text, bytes, 1, true, "VEC(m", "VEC(n");
    }
}

/* Few columns, terms side by side in both operands: dot products, instead of packed tiles that fill a part of each vector. */
TEST(heuristic_products_of_few_columns_and_adjacent_terms) {
    struct rnd r = {20261119};
    for (int i = 0; i < 6; i++) {
        char text[512];
        long long m = rnd_range(&r, 900, 2000), n = rnd_range(&r, 2, 7), k = rnd_range(&r, 64, 400);
        snprintf(
            text, sizeof text,
            "kernel p\na = (PARAM<f32>[0 a] %lld)\nb = (PARAM<f32>[1 b] %lld)\no = (PARAM<f32>[2 o] %lld)\n"
            "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n GRID 1] %lld)\nk = (RANGE[k REDUCE 2] %lld)\n"
            "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m %lld) "
            "k))) (LOAD (INDEX b (ADD (MUL n %lld) k)))) k)))\n",
            m * k, k * n, m * n, m, n, k, n, k, k);
        list_for(text, 64, 1, true, "VEC(k_v)", "STAGE");
    }
}

/* A softmax before few columns: its passes along the row have vectors, as the product has along its terms. */
TEST(heuristic_softmax_before_few_columns) {
    struct rnd r = {20261120};
    for (int i = 0; i < 3; i++) {
        char text[1024];
        long long m = 4 * rnd_range(&r, 256, 300), k = rnd_range(&r, 1500, 2500);
        snprintf(
            text, sizeof text,
            "kernel s\nx = (PARAM<f32>[0 x] %lld)\ny = (PARAM<f32>[1 y] %lld)\no = (PARAM<f32>[2 o] %lld)\n"
            "m = (RANGE[m GRID 0] %lld)\nn = (RANGE[n LOOP 1] 2)\nk = (RANGE[k REDUCE 3] %lld)\n"
            "r0 = (RANGE[r REDUCE 2] %lld)\nr1 = (RANGE[r REDUCE 2 1] %lld)\nrow = (MUL m %lld)\n"
            "top = (REDUCE[MAX] (LOAD (INDEX x (ADD r0 row))) r0)\n"
            "all = (REDUCE[ADD] (EXP (SUB (LOAD (INDEX x (ADD r1 row))) top)) r1)\n"
            "p = (MUL (RECIP all) (EXP (SUB (LOAD (INDEX x (ADD k row))) top)))\n"
            "(SINK (STORE (INDEX o (ADD n (MUL m 2))) (REDUCE[ADD] (MUL (LOAD (INDEX y (ADD n (MUL k 2)))) "
            "p) "
            "k)))\n",
            m * k, 2 * k, 2 * m, m, k, k, k, k);
        list_for(text, 64, 1, false, i % 2 ? "VEC(r_v)" : "VEC(k_v)", NULL);
    }
}

/* Fewer queries than lanes: vectors along the row and along the result, queries unrolled, heads in the grid. */
TEST(heuristic_attention_of_few_queries) {
    struct rnd r = {20261118};
    for (int i = 0; i < 6; i++) {
        char text[1600];
        int h = 5, bytes = 16 << i % 3, q = i % 2 ? (int)rnd_range(&r, 2, bytes / 4 - 1) : 1,
            n = (int)rnd_range(&r, 40, 99), d = (int)rnd_range(&r, 4, 33), o = 16 * (int)rnd_range(&r, 1, 3);
        snprintf(text, sizeof text,
                 "kernel s\nq = (PARAM<f32>[0 q] %d)\nk = (PARAM<f32>[1 k] %d)\nv = (PARAM<f32>[2 v] %d)\n"
                 "o = (PARAM<f32>[3 o] %d)\nh = (RANGE[h GRID 0] %d)\nm = %s%d%s\nj = (RANGE[j LOOP 2] %d)\n"
                 "r0 = (RANGE[r REDUCE 3] %d)\nr1 = (RANGE[r REDUCE 3 1] %d)\nr2 = (RANGE[r REDUCE 3 2] %d)\n"
                 "r3 = (RANGE[r REDUCE 3 3] %d)\nt = (RANGE[t REDUCE 4] %d)\ns = (RANGE[s REDUCE 5] %d)\n"
                 "row = (ADD m (MUL h %d))\n"
                 "dot = (REDUCE[ADD] (MUL (LOAD (INDEX q (ADD t (MUL row %d)))) (LOAD (INDEX k (ADD t (MUL "
                 "(ADD r0 (MUL h %d)) "
                 "%d))))) t)\na = (STAGE[a SCRATCH] dot r0)\ntop = (REDUCE[MAX] (LOAD (INDEX a r1)) r1)\n"
                 "b = (STAGE[b SCRATCH] (EXP (SUB (LOAD (INDEX a r2)) top)) r2)\n"
                 "y = (REDUCE[ADD] (MUL (LOAD (INDEX v (ADD j (MUL (ADD s (MUL h %d)) %d)))) (LOAD (INDEX b "
                 "s))) s)\n"
                 "z = (REDUCE[ADD] (LOAD (INDEX b r3)) r3)\n(SINK (STORE (INDEX o (ADD j (MUL row %d))) "
                 "(FDIV y z)))\n",
                 h * q * d, h * n * d, h * n * o, h * q * o, h, q > 1 ? "(RANGE[m GRID 1] " : "",
                 q > 1 ? q : 0, q > 1 ? ")" : "", o, n, n, n, n, d, n, q, d, n, d, n, o, o);
        if (q == 1 && n < 2 * bytes) continue; /* eight vectors of its row */
        list_for(text, bytes, 2, false, "VEC(j", NULL);
        list_for(text, bytes, 2, false, q > 1 ? "UNROLL(m)" : "VEC(r_v)", NULL);
    }
}

/* A channel of many images: rows of several images at a time. */
TEST(heuristic_large_short_rows_far_apart) {
    large("kernel s\nx = (PARAM<f32>[0 x] 1024000)\no = (PARAM<f32>[1 o] 16)\nc = (RANGE[c GRID 0] 16)\n"
          "n = (RANGE[n REDUCE 1] 160)\nk = (RANGE[k REDUCE 2] 400)\n(SINK (STORE (INDEX o c) (REDUCE[ADD] "
          "(LOAD "
          "(INDEX x (ADD (ADD (MUL n 6400) (MUL c 400)) k))) n k)))\n",
          true, "TILE(n,8,n_s) UNROLL(n_s)");
}

/* What lies under four neighbours of a pooled tensor is two elements; lanes are made of vectors that hold all of a row. */
TEST(heuristic_large_pooled_rows) {
    large("kernel s\nx = (PARAM<f32>[0 x] 65536)\ny = (PARAM<f32>[1 y] 16384)\no = (PARAM<f32>[2 o] 65536)\n"
          "n = (RANGE[n GRID 0] 256)\nh = (RANGE[h GRID 1] 16)\nw = (RANGE[w GRID 2] 16)\n"
          "e = (ADD (MUL n 256) (ADD (MUL h 16) w))\n(SINK (STORE (INDEX o e) (MUL (LOAD (INDEX x e)) (LOAD "
          "(INDEX y "
          "(ADD (MUL n 64) (ADD (MUL (IDIV h 2) 8) (IDIV w 2))))))))\n",
          true, "VEC(w_v) UNROLL(w) TILE(h,2,h_p) UNROLL(h_p)");
}

TEST(heuristic_large_transposition_in_tiles) {
    large(
        "kernel t\na = (PARAM<f32>[0 a] 1228800)\no = (PARAM<f32>[1 o] 1228800)\nj = (RANGE[j GRID 0] 960)\n"
        "i = (RANGE[i GRID 1] 1280)\n(SINK (STORE (INDEX o (ADD (MUL j 1280) i)) (LOAD (INDEX a (ADD (MUL i "
        "960) j)))))\n",
        true, "STAGE(a");
}

TEST(heuristic_large_rows_are_prefetched) {
    large(
        "kernel l\nx = (PARAM<f32>[0 x] 2097152)\no = (PARAM<f32>[1 o] 2097152)\nr = (RANGE[r GRID 0] 512)\n"
        "k0 = (RANGE[k REDUCE 1 0] 4096)\nk1 = (RANGE[k LOOP 1 1] 4096)\n"
        "m = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL r 4096) k0))) k0)\ne = (ADD (MUL r 4096) k1)\n"
        "(SINK (STORE (INDEX o e) (SUB (LOAD (INDEX x e)) m)))\n",
        true, "PIPE(x,r,1");
}

TEST(heuristic_large_gather_is_prefetched) {
    large("kernel g\ntable = (PARAM<f32>[0 table] 262144)\nidx = (PARAM<i32>[1 idx] 4096)\no = (PARAM<f32>[2 "
          "o] 524288)\n"
          "i = (RANGE[i GRID 0] 4096)\nc = (RANGE[c GRID 1] 128)\n"
          "at = (MIN (MAX (CAST<idx> (LOAD (INDEX idx i))) 0) 2047)\n"
          "(SINK (STORE (INDEX o (ADD (MUL i 128) c)) (LOAD (INDEX table (ADD (MUL at 128) c)))))\ndata idx "
          "= randint 0 2048\n",
          true, "PIPE(table");
}

/* The gradient with respect to the image of a convolution with stride two: positions are split into quotient and remainder.
 * Of a padded one the remainder shifts the positions, too. */
static void stepped(int offset, int size, const char *has) {
    char text[4096];
    snprintf(
        text, sizeof text,
        "kernel d\no = (PARAM<f32>[0 o] %d)\nw = (PARAM<f32>[1 w] 288)\ny = (PARAM<f32>[2 y] 1024)\n"
        "i0 = (RANGE[i0 GRID 0] 16)\ni1 = (RANGE[i1 GRID 1] 8)\ni2 = (RANGE[i2 GRID 2] %d)\ni3 = (RANGE[i3 "
        "GRID 3] %d)\n"
        "k4 = (RANGE[k4 REDUCE 4] 4)\nk5 = (RANGE[k5 REDUCE 5] 2)\nk6 = (RANGE[k6 REDUCE 6] 2)\n"
        "h = (ADD i2 %d)\nv = (ADD i3 %d)\nq = (IDIV h 2)\nr = (IDIV v 2)\n"
        "in = (AND (AND (AND (LT q (ADD k5 4)) (LT k5 (ADD q 1))) (LT k6 (ADD r 1))) (LT r (ADD k6 4)))\n"
        "at = (ADD (MUL q 4) (ADD r (ADD (MUL k6 -1) (ADD (MUL k5 -4) (ADD (MUL i0 64) (MUL k4 16))))))\n"
        "taps = (AND (LT (ADD (MUL k6 2) (MOD v 2)) 3) (LT (ADD (MUL k5 2) (MOD h 2)) 3))\n"
        "tap = (ADD (MOD v 2) (ADD (MUL (MOD h 2) 3) (ADD (MUL k6 2) (ADD (MUL k5 6) (ADD (MUL k4 72) (MUL "
        "i1 9))))))\n"
        "p = (MUL (WHERE in (LOAD (INDEX y (WHERE in at (INVALID<idx>)))) 0.0) (WHERE taps (LOAD (INDEX w "
        "(WHERE taps tap "
        "(INVALID<idx>)))) 0.0))\n"
        "(SINK (STORE (INDEX o (ADD i3 (ADD (MUL i2 %d) (ADD (MUL i0 %d) (MUL i1 %d))))) (REDUCE[ADD] p k4 "
        "k5 k6)))\n",
        16 * 8 * size * size, size, size, offset, offset, size, 8 * size * size, size * size);
    large(text, true, has);
}

TEST(heuristic_large_gradient_of_a_stepped_convolution) {
    stepped(0, 9, "STAGE(y,i0,k4,i2+k5,i3+k6)");
    stepped(1, 8, "STAGE(y,i0,k4,i2+i2_p+k5,i3+i3_p+k6)");
}

/* The layers of a small network, in a batch of four: which form each takes, and that it keeps the values. */
TEST(heuristic_convolutions) {
    static const struct {
        int kind;
        struct conv_sizes z;
        const char *has;
        int vec_bytes;
    } job[] = {
        {0, {2, 1, 4, 8, 5, 5, 20, 20, 1, 0}, "VEC(ow_v)", 16},        /* long rows: in place */
        {0, {4, 1, 8, 16, 3, 3, 7, 7, 1, 0}, "VEC(co_v)", 16},         /* short rows: vectors of channels */
        {0, {4, 1, 4, 8, 3, 3, 12, 12, 1, 1}, ",ci,oh+kh,ow+kw)", 16}, /* padded: copied with its halo */
        {0, {4, 2, 4, 8, 3, 3, 6, 6, 1, 1}, "oh+kh,ow+kw)", 16},
        {2, {2, 1, 4, 8, 5, 5, 20, 20, 1, 0}, ",co,oh+kh,ow+kw)", 16},
        {2, {4, 1, 8, 8, 3, 3, 7, 7, 1, 0}, "VEC(ci_v)", 16},
        {1, {4, 1, 8, 16, 3, 3, 6, 6, 1, 0}, "oh+kh,ow+kw,ci", 16}, /* channels last */
        {1, {2, 1, 4, 32, 2, 2, 20, 20, 1, 0}, "oh+kh,ow+ow_u+kw,ci", 16},
        {1, {4, 1, 8, 16, 3, 3, 8, 8, 2, 0}, "oh+kh,ow+kw,ci", 16},
        {1,
         {16, 1, 1, 16, 3, 3, 20, 20, 1, 0},
         "ORDER(b,",
         16}, /* one channel: dots, some images at a time */
        {1, {4, 2, 8, 8, 3, 3, 6, 6, 1, 0}, "oh+kh,ow+kw,ci", 16},
        {1,
         {4, 1, 3, 32, 7, 7, 12, 12, 2, 3},
         "VEC(co_v) UNROLL(co)",
         64}, /* strided: few channels, too .. */
        {1, {4, 1, 2, 64, 3, 3, 10, 11, 1, 1}, "VEC(co_v) UNROLL(co)", 64}, /* .. and of enough filters */
        {0,
         {4, 1, 4, 32, 3, 3, 15, 15, 2, 1},
         "VEC(co_v)",
         64}, /* strided and padded: vectors of channels .. */
        {0, {4, 1, 4, 32, 3, 3, 15, 15, 2, 1}, "UNROLL(x.ow)", 64}, /* .. rows copied at once .. */
        {0, {4, 1, 4, 32, 3, 3, 15, 15, 2, 1}, "UNROLL(w.kw) UNROLL(w.kh)", 64}, /* .. filters transposed */
        {0, {4, 1, 4, 16, 3, 3, 15, 15, 2, 1}, "VEC(co_v)", 32},
        {0,
         {4, 1, 16, 16, 3, 3, 3, 3, 1, 1},
         "UNROLL(ow) VEC(co) UNROLL(oh)",
         64}, /* no tile is wider than the image */
    };
    for (size_t i = 0; i < RG_COUNT(job); i++) {
        struct trial *t = calloc(1, sizeof *t);
        struct str s;
        struct arena text;
        arena_init(&text, &t->err);
        str_init(&s, &text);
        str_add(&s, "kernel conv\n");
        write_conv(&s, job[i].kind, &job[i].z);
        t->vec_bytes = job[i].vec_bytes, t->threads = 1 + (int)i % 3, t->keep_math = true;
        trial_open(t, s.p, "conv");
        if (!strstr(t->opts[0], job[i].has)) FAIL("expected %s in %s\n%s", job[i].has, t->opts[0], s.p);
        CHECK(same_values(t, true) > 0);
        arena_free(&t->arena);
        arena_free(&text);
        free(t);
    }
}

/* ---- facts about the programs -------------------------------------------------------------------------------- */

struct facts {
    uint32_t wide_loads, single_loads, wide_stores, single_stores, fma, exps, hreds,
        sums; /* in the innermost loops */
    uint32_t loops;
};

/* Counts the body of each innermost loop; of a condition, the first side (the main body). */
static struct facts facts_of(const struct linear *l) {
    struct facts f = {0};
    uint32_t depth = 0, most = 0, skip = 0;
    for (uint32_t i = 0; i < l->n; i++) { /* how deep the deepest loop is */
        if (l->u[i]->op == OP_RANGE) most = RG_MAX(most, ++depth);
        if (l->u[i]->op == OP_END && l->u[i]->src[0]->op == OP_RANGE) depth--;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i];
        if (n->op == OP_RANGE) depth++, f.loops += depth == most;
        if (n->op == OP_ELSE) skip++;
        if (n->op == OP_END && n->src[0]->op == OP_RANGE) depth--;
        if (n->op == OP_END && n->src[0]->op == OP_IF && skip) skip--;
        f.hreds += n->op == OP_VEC_REDUCE && !skip;
        f.exps += n->op == OP_EXP && !skip;
        if (depth < most || skip) continue;
        bool load = n->op == OP_LOAD || n->op == OP_PRED_LOAD, store = n->op == OP_STORE;
        f.wide_loads += load && n->lanes > 1, f.single_loads += load && n->lanes == 1;
        f.wide_stores += store && n->src[0]->lanes > 1, f.single_stores += store && n->src[0]->lanes == 1;
        f.fma += n->op == OP_FMA && n->lanes > 1;
        f.sums += n->op == OP_SET;
    }
    return f;
}

static struct facts facts_for(const char *path, int threads) {
    struct trial *t = calloc(1, sizeof *t);
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    t->vec_bytes = 16, t->threads = threads, t->keep_math = true;
    trial_open(t, read_text(&a, &e, path), path);
    struct facts f = facts_of(&t->fast[0]);
    arena_free(&t->arena);
    arena_free(&a);
    free(t);
    return f;
}

TEST(heuristic_matmul_uses_each_load_often) {
    static const char *const path[] = {"tests/golden/matmul_2048.uop", "tests/golden/matmul_256.uop",
                                       "tests/golden/conv5x5.uop"};
    for (size_t i = 0; i < RG_COUNT(path); i++) {
        struct facts f = facts_for(path[i], 2);
        CHECK(f.fma >= 80);
        CHECK_EQ(f.single_loads, 0);
        CHECK(f.fma >= 3 * f.wide_loads); /* 8 x 12: 24 products for 5 vectors */
    }
}

TEST(heuristic_pointwise_touches_memory_in_vectors) {
    static const char *const path[] = {"tests/golden/two_outputs.uop", "tests/golden/scatter_add.uop",
                                       "tests/golden/gather.uop"};
    for (size_t i = 0; i < RG_COUNT(path); i++) {
        struct facts f = facts_for(path[i], 2);
        CHECK(f.wide_stores >= 4);
        CHECK_EQ(f.single_stores, 0);
        CHECK(f.single_loads <= 2); /* the row that a gather reads, and the one it asks for */
    }
}

TEST(heuristic_rows_have_independent_sums) {
    struct facts f = facts_for("tests/golden/layernorm.uop", 2);
    CHECK(f.sums >= 16); /* two reductions, eight accumulators each */
    CHECK_EQ(f.single_loads, 0);
    CHECK_EQ(f.hreds, 2);
    f = facts_for("tests/golden/softmax.uop", 2);
    CHECK_EQ(f.exps, 8); /* evaluated in one pass, kept for the other */
    CHECK_EQ(f.single_loads, 0);
}

/* The list of a kernel holds each of these; values stay. */
static void check_list(const char *text, bool run, const char *const *want) {
    struct trial *t = calloc(1, sizeof *t);
    t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
    trial_open(t, text, "list");
    for (; *want; want++)
        if (!strstr(t->opts[0], *want)) FAIL("no %s in %s", *want, t->opts[0]);
    CHECK(same_values(t, run) > 0);
    arena_free(&t->arena);
    free(t);
}
#define CHECK_LIST(text, run, ...) check_list(text, run, (const char *const[]){__VA_ARGS__, NULL})

/* A group norm reduces its rows as one axis, and scales by channel: both passes are vectorized. */
TEST(heuristic_other_passes_are_vectorized) {
    CHECK_LIST("kernel groups\n"
               "x = (PARAM<f32>[0 x] 8640)\nw = (PARAM<f32>[1 w] 12)\nout = (PARAM<f32>[2 out] 8640)\n"
               "r = (RANGE[r GRID 0] 20)\nk = (RANGE[k REDUCE 1] 432)\n"
               "c = (RANGE[c LOOP 2] 12)\ni = (RANGE[i LOOP 3] 36)\n"
               "s = (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL r 432) k))) k)\n"
               "at = (ADD (MUL r 432) (ADD (MUL c 36) i))\n"
               "(SINK (STORE (INDEX out at) (MUL (SUB (LOAD (INDEX x at)) s) (LOAD (INDEX w c)))))\n",
               false, "VEC(k_v)", "VEC(i_v)");
}

/* A softmax of every second element: loads are strided, but there is an exp to compute. */
TEST(heuristic_strided_passes_are_vectorized) {
    CHECK_LIST("kernel steps\n"
               "x = (PARAM<f32>[0 x] 2048)\nout = (PARAM<f32>[1 out] 1024)\n"
               "k = (RANGE[k REDUCE 0] 1024)\ni = (RANGE[i LOOP 1] 1024)\n"
               "s = (REDUCE[ADD] (EXP (LOAD (INDEX x (MUL k 2)))) k)\n"
               "(SINK (STORE (INDEX out i) (FDIV (EXP (LOAD (INDEX x (MUL i 2)))) s)))\n",
               false, "VEC(k_v)", "VEC(i_v)");
}

/* Argmax of columns: lanes along the columns, as many as there are bytes in a register, though the result is of 8 bytes. */
TEST(heuristic_argmax_of_columns_has_wide_lanes) {
    CHECK_LIST("kernel columns\n"
               "x = (PARAM<u8>[0 x] 9570)\nout = (PARAM<i64>[1 out] 33)\n"
               "j = (RANGE[j GRID 0] 33)\nk = (RANGE[k REDUCE 1] 290)\nl = (RANGE[k REDUCE 1 1] 290)\n"
               "m = (REDUCE[MAX] (LOAD (INDEX x (ADD (MUL k 33) j))) k)\n"
               "e = (EQ (LOAD (INDEX x (ADD (MUL l 33) j))) m)\n"
               "n = (REDUCE[MIN] (WHERE e (CAST<i32> l) 289) l)\n"
               "(SINK (STORE (INDEX out j) (CAST<i64> n)))\n",
               true, "TILE(j,16,j_v) VEC(j_v)");
}

/* Data gradient of one tap with a step of three, whose last position has no phase behind it: vectors along the positions, which the
 * predicate of the filters has, too, and not along the channels, a row apart. */
TEST(heuristic_phases_with_predicates_have_vectors_along_positions) {
    CHECK_LIST("kernel phases\n"
               "o = (PARAM<f32>[0 o] 8280)\nw = (PARAM<f32>[1 w] 96)\ng = (PARAM<f32>[2 g] 1840)\n"
               "n = (RANGE[n GRID 0] 5)\nc = (RANGE[c GRID 1] 12)\ni = (RANGE[i GRID 2] 138)\n"
               "k = (RANGE[k REDUCE 3] 8)\n"
               "p = (AND (LT i 136) (EQ (MOD i 3) 0))\n"
               "a = (LOAD (INDEX w (WHERE p (ADD c (MUL k 12)) (INVALID<idx>))))\n"
               "b = (LOAD (INDEX g (WHERE p (ADD (IDIV i 3) (ADD (MUL k 46) (MUL n 368))) (INVALID<idx>))))\n"
               "(SINK (STORE (INDEX o (ADD i (ADD (MUL c 138) (MUL n 1656)))) (WHERE p (REDUCE[ADD] (MUL a "
               "b) k) 0.0)))\n",
               true, "TILE(i,3,i_p)", "VEC(i_v)");
}

/* Weight gradient of one tap with a step: no operand has vectors along results, one has every third element along the sum. A register
 * tile shares them. */
TEST(heuristic_strided_sums_have_register_tiles) {
    CHECK_LIST("kernel steps\n"
               "o = (PARAM<f32>[0 o] 96)\ng = (PARAM<f32>[1 g] 2184)\nx = (PARAM<f32>[2 x] 9836)\n"
               "c = (RANGE[c GRID 0] 8)\ni = (RANGE[i GRID 1] 12)\np = (RANGE[p REDUCE 2] 273)\n"
               "a = (LOAD (INDEX g (ADD p (MUL c 273))))\nb = (LOAD (INDEX x (ADD (MUL p 3) (MUL i 819))))\n"
               "(SINK (STORE (INDEX o (ADD i (MUL c 12))) (REDUCE[ADD] (MUL a b) p)))\n",
               true, "VEC(p_v)", "UNROLL(c_r)", "UNROLL(i_r)");
}

/* A transposed convolution whose stride is its taps has no window: vectors of equal phase. */
TEST(heuristic_phases_without_windows_are_unrolled) {
    CHECK_LIST("kernel phases\n"
               "o = (PARAM<f32>[0 o] 360)\nx = (PARAM<f32>[1 x] 120)\nw = (PARAM<f32>[2 w] 192)\n"
               "c = (RANGE[c GRID 0] 8)\ni = (RANGE[i GRID 1] 45)\nk = (RANGE[k REDUCE 2] 8)\n"
               "a = (LOAD (INDEX x (ADD (MUL k 15) (IDIV i 3))))\n"
               "b = (LOAD (INDEX w (ADD (MOD i 3) (ADD (MUL c 3) (MUL k 24)))))\n"
               "(SINK (STORE (INDEX o (ADD i (MUL c 45))) (REDUCE[ADD] (MUL a b) k)))\n",
               true, "TILE(i,3,i_p)", "UNROLL(i_p)", "VEC(i_v)");
}

/* Phases are rows of the register tile, all of it in registers, and rows are a loop inside where no cache holds the image. */
TEST(heuristic_phases_share_the_registers) {
    CHECK_LIST("kernel phases\n"
               "o = (PARAM<f32>[0 o] 3145728)\nx = (PARAM<f32>[1 x] 1572864)\nw = (PARAM<f32>[2 w] 1152)\n"
               "c = (RANGE[c GRID 0] 24)\ni = (RANGE[i GRID 1] 131072)\nk = (RANGE[k REDUCE 2] 24)\n"
               "a = (LOAD (INDEX x (ADD (MUL k 65536) (IDIV i 2))))\n"
               "b = (LOAD (INDEX w (ADD (MOD i 2) (ADD (MUL c 2) (MUL k 48)))))\n"
               "(SINK (STORE (INDEX o (ADD i (MUL c 131072))) (REDUCE[ADD] (MUL a b) k)))\n",
               false, "TILE(i,2,i_p) UNROLL(i_p) TILE(c,4,c_r)", "LOOP(c)");
}

/* The gradient of two keys' and values' rows in 35 heads, of `rows` queries: lanes are terms and results, as they lie, whether the rows
 * are too short for a tile across them or the tile for a vector. */
static void gradient_of_keys(int rows, int d, const char *more) {
    char text[4096];
    snprintf(text, sizeof text,
             "kernel keys\ndk = (PARAM<f32>[0 dk] %d)\ndv = (PARAM<f32>[1 dv] %d)\nq = (PARAM<f32>[2 q] %d)\n"
             "g = (PARAM<f32>[3 g] %d)\nk = (PARAM<f32>[4 k] %d)\nv = (PARAM<f32>[5 v] %d)\nh = (RANGE[h "
             "GRID 0] 35)\n"
             "i = (RANGE[i GRID 1] 2)\ne = (RANGE[e LOOP 2] %d)\nr = (RANGE[r REDUCE 3] %d)\nr1 = (RANGE[r "
             "REDUCE 3 1] %d)\n"
             "r2 = (RANGE[r REDUCE 3 2] %d)\na = (RANGE[a REDUCE 4] %d)\nb = (RANGE[b REDUCE 5] %d)\n"
             "at = (ADD (MUL h %d) (MUL i %d))\nto = (MUL h %d)\nto2 = (ADD (MUL r2 %d) (ADD e to))\n"
             "x = (MUL (LOAD (INDEX q (ADD a (ADD (MUL r %d) to)))) (LOAD (INDEX k (ADD a at))))\n"
             "keep0 = (STAGE[keep0 SCRATCH] (EXP2 (MUL (REDUCE[ADD] x a) 0.002)) r)\n"
             "y = (MUL (LOAD (INDEX g (ADD b (ADD (MUL r1 %d) to)))) (LOAD (INDEX v (ADD b at))))\n"
             "keep1 = (STAGE[keep1 SCRATCH] (MUL (LOAD (INDEX keep0 r1)) (REDUCE[ADD] y b)) r1)\n"
             "(SINK (STORE (INDEX dk (ADD e at)) (REDUCE[ADD] (MUL (LOAD (INDEX q to2)) (LOAD (INDEX keep1 "
             "r2))) r2))\n"
             "  (STORE (INDEX dv (ADD e at)) (REDUCE[ADD] (MUL (LOAD (INDEX g to2)) (LOAD (INDEX keep0 r2))) "
             "r2)))\n",
             70 * d, 70 * d, 35 * rows * d, 35 * rows * d, 70 * d, 70 * d, d, rows, rows, rows, d, d, 2 * d,
             d, rows * d, d, d, d);
    CHECK_LIST(text, false, "VEC(a_v)", "VEC(b_v)", "VEC(e_v)", more);
}

TEST(heuristic_short_rows_have_lanes_along_terms) { gradient_of_keys(2, 48, "UNROLL(i)"); }
TEST(heuristic_few_rows_have_lanes_along_terms) { gradient_of_keys(200, 48, "UNROLL(i)"); }
TEST(heuristic_few_values_of_rows_have_lanes_along_terms) { gradient_of_keys(8, 24, "UNROLL(i)"); }

/* Many small images: lanes are images, and what is inside of one is unrolled, with constant indices and predicates. */
TEST(heuristic_small_images_are_lanes) {
    CHECK_LIST(
        "kernel pool\n" /* padded windows of 2 x 3 of 5 x 3, strides 2 and 3 */
        "o = (PARAM<f32>[0 o] 1200)\nx = (PARAM<f32>[1 x] 3000)\n"
        "n = (RANGE[n GRID 0] 200)\ni = (RANGE[i GRID 1] 3)\nj = (RANGE[j GRID 2] 2)\n"
        "a = (RANGE[a REDUCE 3] 2)\nb = (RANGE[b REDUCE 4] 3)\ny = (ADD a (MUL i 2))\nz = (ADD b (MUL j 3))\n"
        "p = (AND (AND (LT 0 y) (LT 0 z)) (AND (LT y 6) (LT z 4)))\n"
        "at = (ADD (ADD (MUL y 3) z) (ADD (MUL n 15) -4))\n"
        "l = (WHERE p (LOAD (INDEX x (WHERE p at (INVALID<idx>)))) -inf)\n"
        "(SINK (STORE (INDEX o (ADD j (ADD (MUL i 2) (MUL n 6)))) (REDUCE[MAX] l a b)))\n",
        true, "VEC(n_v)", "UNROLL(a)", "UNROLL(b)", "UNROLL(i)", "UNROLL(j)");
    CHECK_LIST(
        "kernel resize\n" /* rows of 5 to 9 */
        "o = (PARAM<f32>[0 o] 1800)\nx = (PARAM<f32>[1 x] 1000)\n"
        "n = (RANGE[n GRID 0] 200)\ni = (RANGE[i GRID 1] 9)\n"
        "at = (IDIV (MUL (CAST<i32> i) 5) 9)\nw = (FDIV (CAST<f32> (MOD (MUL (CAST<i32> i) 5) 9)) 9.0)\n"
        "l = (LOAD (INDEX x (ADD (CAST<idx> at) (MUL n 5))))\n"
        "(SINK (STORE (INDEX o (ADD i (MUL n 9))) (MUL l w)))\n",
        true, "VEC(n_v)", "UNROLL(i)");
}

/* Softmax of rows of 18, lanes across them: unrolled whole, so that exponentials are computed once. */
TEST(heuristic_short_rows_are_unrolled_whole) {
    CHECK_LIST("kernel rows\n"
               "o = (PARAM<f32>[0 o] 1152)\nx = (PARAM<f32>[1 x] 1152)\n"
               "r = (RANGE[r GRID 0] 64)\nk = (RANGE[k LOOP 1] 18)\nk1 = (RANGE[k REDUCE 1 1] 18)\n"
               "k2 = (RANGE[k REDUCE 1 2] 18)\nrow = (MUL r 18)\n"
               "m = (REDUCE[MAX] (LOAD (INDEX x (ADD k1 row))) k1)\n"
               "s = (REDUCE[ADD] (EXP (SUB (LOAD (INDEX x (ADD k2 row))) m)) k2)\n"
               "(SINK (STORE (INDEX o (ADD k row)) (FDIV (EXP (SUB (LOAD (INDEX x (ADD k row))) m)) s)))\n",
               false, "VEC(r_v)", " UNROLL(k)");
}

/* Products of rows of five: vectors along packed columns, no horizontal sums. */
TEST(heuristic_short_sums_of_strided_operands_are_packed) {
    CHECK_LIST("kernel outer\n"
               "a = (PARAM<f32>[0 a] 640)\nb = (PARAM<f32>[1 b] 640)\no = (PARAM<f32>[2 o] 16384)\n"
               "m = (RANGE[m GRID 0] 128)\nn = (RANGE[n GRID 1] 128)\nk = (RANGE[k REDUCE 2] 5)\n"
               "x = (LOAD (INDEX a (ADD k (MUL m 5))))\ny = (LOAD (INDEX b (ADD k (MUL n 5))))\n"
               "(SINK (STORE (INDEX o (ADD n (MUL m 128))) (REDUCE[ADD] (MUL x y) k)))\n",
               false, "VEC(n_v)", "STAGE(a,", "STAGE(b,");
}

/* A scan down columns of 16-bit floats: more than a vector of each row, which shares its cache line. */
TEST(heuristic_scans_down_columns_take_a_line) {
    CHECK_LIST("kernel down\n"
               "x = (PARAM<bf16>[0 x] 6400)\no = (PARAM<bf16>[1 o] 6400)\n"
               "j = (RANGE[j GRID 0] 64)\ni = (RANGE[i LOOP 1] 100)\nat = (ADD j (MUL i 64))\n"
               "s = (SCAN[MAX] (CAST<f32> (LOAD (INDEX x at))) i)\n"
               "(SINK (STORE (INDEX o at) (CAST<bf16> s)))\n",
               true, "VEC(j_v)", "TILE(j,8,j_u) UNROLL(j_u)");
}

/* With math functions in each step, more columns are a loop inside it. */
TEST(heuristic_scans_of_functions_down_columns_loop_in_a_step) {
    CHECK_LIST("kernel down\n"
               "x = (PARAM<f32>[0 x] 409600)\no = (PARAM<f32>[1 o] 409600)\n"
               "j = (RANGE[j GRID 0] 4096)\ni = (RANGE[i LOOP 1] 100)\nat = (ADD j (MUL i 4096))\n"
               "x0 = (LOAD (INDEX x at))\ny = (EXP x0)\ns = (SCAN[ADD] (DECAY x0 y) i)\n"
               "(SINK (STORE (INDEX o at) (LOG s)))\n",
               true, "VEC(j_v)", "ORDER(i,j_c)");
}

static uint32_t drawn(uint32_t *seed, uint32_t least, uint32_t most) {
    *seed = *seed * 1664525u + 1013904223u;
    return least + (*seed >> 8) % (most - least + 1);
}

/* Squares and magnitudes of differences are summed by register tiles, as products are; a few rows share what they load. */
TEST(heuristic_distances_are_tiles) {
    uint32_t seed = 5;
    for (int round = 0; round < 6; round++) {
        char text[1024];
        uint32_t m = drawn(&seed, 40, 70), n = drawn(&seed, 100, 140), k = drawn(&seed, 100, 130), few = 3;
        const char *of = round % 2 ? "ABS d" : "MUL d d";
        snprintf(text, sizeof text,
                 "kernel distances\nx = (PARAM<f32>[0 x] %u)\ny = (PARAM<f32>[1 y] %u)\n"
                 "out = (PARAM<f32>[2 out] %u)\ni = (RANGE[i GRID 0] %u)\nj = (RANGE[j GRID 1] %u)\n"
                 "k = (RANGE[k REDUCE 2] %u)\n"
                 "d = (SUB (LOAD (INDEX x (ADD k (MUL i %u)))) (LOAD (INDEX y (ADD k (MUL j %u)))))\n"
                 "(SINK (STORE (INDEX out (ADD j (MUL i %u))) (REDUCE[ADD] (%s) k)))\n",
                 m * k, n * k, m * n, m, n, k, k, k, n, of);
        CHECK_LIST(text, true, "VEC(j_v)", "STAGE(y,");
        snprintf(
            text, sizeof text,
            "kernel few\nx = (PARAM<f32>[0 x] %u)\ny = (PARAM<f32>[1 y] %u)\nout = (PARAM<f32>[2 out] %u)\n"
            "w = (PARAM<f32>[3 w] %u)\ni = (RANGE[i GRID 0] %u)\nj = (RANGE[j LOOP 1] %u)\n"
            "k = (RANGE[k REDUCE 2] %u)\nl = (RANGE[l REDUCE 3] %u)\n"
            "s = (REDUCE[ADD] (LOAD (INDEX x (ADD l (MUL i %u)))) l)\n"
            "v = (ADD (LOAD (INDEX w k)) (SUB (LOAD (INDEX x (ADD k (MUL i %u)))) s))\n"
            "(SINK (STORE (INDEX out (ADD j (MUL i %u))) (REDUCE[ADD] (MUL v (LOAD (INDEX y (ADD k (MUL j "
            "%u))))) "
            "k)))\n",
            m * k, few * k, m * few, k, m, few, k, k, k, k, few, k);
        CHECK_LIST(text, true, "VEC(k_v)", "UNROLL(j)");
    }
}

/* Vectors between whose elements another axis has the others of a row: it is unrolled, and rows are stored. */
TEST(heuristic_interleaved_stores_are_rows) {
    uint32_t seed = 9;
    for (int round = 0; round < 6; round++) {
        char text[1024];
        uint32_t n = drawn(&seed, 30, 90), r = drawn(&seed, 20, 40), s = drawn(&seed, 2, 3);
        snprintf(text, sizeof text,
                 "kernel windows\nx = (PARAM<f32>[0 x] %u)\nout = (PARAM<%s>[1 out] %u)\n"
                 "r = (RANGE[r GRID 0] %u)\ni = (RANGE[i GRID 1] %u)\nk = (RANGE[k GRID 2] %u)\n"
                 "(SINK (STORE (INDEX out (ADD k (ADD (MUL i %u) (MUL r %u)))) %s(MUL (LOAD (INDEX x (ADD i "
                 "(MUL r %u)))) "
                 "0.5)%s))\n",
                 r * n, round % 2 ? "bf16" : "f32", r * n * s, r, n, s, s, n * s,
                 round % 2 ? "(CAST<bf16> " : "", n, round % 2 ? ")" : "");
        CHECK_LIST(text, true, "VEC(i_v)", "UNROLL(k)");
    }
}

/* The taps of a pooling window are unrolled. */
TEST(heuristic_taps_are_unrolled) {
    CHECK_LIST("kernel pool\n"
               "x = (PARAM<f32>[0 x] 8192)\nout = (PARAM<f32>[1 out] 2048)\n"
               "r = (RANGE[r GRID 0] 32)\ni = (RANGE[i GRID 1] 64)\n"
               "k = (RANGE[k REDUCE 2] 2)\nj = (RANGE[j REDUCE 3] 2)\n"
               "at = (ADD (ADD (MUL r 256) (MUL k 128)) (ADD (MUL i 2) j))\n"
               "(SINK (STORE (INDEX out (ADD (MUL r 64) i)) (REDUCE[MAX] (LOAD (INDEX x at)) k j)))\n",
               true, "UNROLL(k)", "UNROLL(j)");
}

TEST(heuristic_columns_join_no_lanes) {
    struct facts f = facts_for("tests/golden/small/column_sum.uop", 1);
    CHECK_EQ(f.hreds, 0);
    CHECK_EQ(f.single_loads, 0);
    CHECK(f.wide_loads > 0);
}

/* Lanes follow the element: sixteen bytes of it. */
TEST(heuristic_lanes_fill_a_register) {
    static const struct {
        const char *dt;
        uint8_t lanes;
    } row[] = {{"f32", 4}, {"f64", 2}, {"f16", 8}, {"bf16", 8},
               {"i8", 16}, {"u8", 16}, {"i64", 2}, {"i16", 8}};
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct trial *t = calloc(1, sizeof *t);
        char text[400];
        snprintf(
            text, sizeof text,
            "kernel p\na = (PARAM<%s>[0 a] 4096)\no = (PARAM<%s>[1 o] 4096)\ni = (RANGE[i GRID 0] 4096)\n"
            "(SINK (STORE (INDEX o i) (MAX (LOAD (INDEX a i)) 1:%s)))\n",
            row[i].dt, row[i].dt, row[i].dt);
        t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
        trial_open(t, text, "lanes");
        bool found = false;
        for (uint32_t k = 0; k < t->fast[0].n; k++)
            found |= t->fast[0].u[k]->op == OP_LOAD && t->fast[0].u[k]->lanes == row[i].lanes;
        if (!found) FAIL("%s: no load of %d lanes under %s", row[i].dt, row[i].lanes, t->opts[0]);
        arena_free(&t->arena);
        free(t);
    }
}

/* Registers of 64 bytes: as many lanes as one holds of the widest type, where those of 16 bytes take several for it. */
TEST(heuristic_lanes_of_mixed_types) {
    static const struct {
        const char *from, *to;
        int vec_bytes;
        uint8_t lanes;
    } row[] = {{"f64", "u8", 64, 8}, {"i32", "i64", 64, 8}, {"f32", "i64", 64, 8}, {"i16", "i64", 16, 8}};
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct trial *t = calloc(1, sizeof *t);
        char text[400];
        snprintf(text, sizeof text,
                 "kernel p\na = (PARAM<%s>[0 a] 4096)\no = (PARAM<%s>[1 o] 4096)\ni = (RANGE[i GRID 0] "
                 "4096)\n(SINK (STORE (INDEX o i) (CAST<%s> (LOAD (INDEX a i)))))\n",
                 row[i].from, row[i].to, row[i].to);
        t->vec_bytes = row[i].vec_bytes, t->threads = 2, t->keep_math = true;
        trial_open(t, text, "lanes");
        bool found = false;
        for (uint32_t k = 0; k < t->fast[0].n; k++)
            found |= t->fast[0].u[k]->op == OP_LOAD && t->fast[0].u[k]->lanes == row[i].lanes;
        if (!found)
            FAIL("%s to %s: no load of %d lanes under %s", row[i].from, row[i].to, row[i].lanes, t->opts[0]);
        arena_free(&t->arena);
        free(t);
    }
}

/* ---- what it must not depend on -------------------------------------------------------------------------------- */

/* Names of axes and buffers that clash with what the heuristic would call its own, or cannot stand in an opt. */
TEST(heuristic_survives_names) {
    static const char *const text[] = {
        "kernel n\na = (PARAM<f32>[0 i] 4096)\no = (PARAM<f32>[1 i_v] 4096)\ni = (RANGE[i GRID 0] 64)\n"
        "j = (RANGE[i_v GRID 1] 64)\n(SINK (STORE (INDEX o (ADD (MUL i 64) j)) (LOAD (INDEX a (ADD (MUL j "
        "64) i)))))\n",
        "kernel n\na = (PARAM<f32>[0 \"w (1, 2)\"] 8192)\nb = (PARAM<f32>[1 b] 8192)\no = (PARAM<f32>[2 o] "
        "4096)\n"
        "i = (RANGE[\"m\" GRID 0] 64)\nj = (RANGE[m_r GRID 1] 64)\nk = (RANGE[m_v REDUCE 2] 128)\n"
        "(SINK (STORE (INDEX o (ADD (MUL i 64) j)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL i 128) k))) "
        "(LOAD (INDEX b (ADD "
        "(MUL j 128) k)))) k)))\n"};
    for (size_t i = 0; i < RG_COUNT(text); i++) {
        struct trial *t = calloc(1, sizeof *t);
        t->vec_bytes = 16, t->threads = 2, t->keep_math = true;
        trial_open(t, text[i], "names");
        CHECK(t->opts[0][0] != 0);
        CHECK(same_values(t, true) > 0);
        arena_free(&t->arena);
        free(t);
    }
}

/* Nothing is left in the arena but the text, and a second call gives the same one. */
TEST(heuristic_leaves_only_its_list) {
    struct trial *t = calloc(1, sizeof *t);
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    t->vec_bytes = 16, t->threads = 2;
    trial_open(t, read_text(&a, &e, "tests/golden/matmul_2048.uop"), "matmul");
    size_t before = t->arena.used;
    uint32_t nodes = t->ir.n;
    const char *again = opts_heuristic(&t->ir, &t->prog.kernel.p[0], 16, 2);
    CHECK_STR(again, t->opts[0]);
    CHECK(t->arena.used - before < 2048);
    CHECK_EQ(t->ir.n, nodes);
    CHECK(strcmp(again, opts_heuristic(&t->ir, &t->prog.kernel.p[0], 16, 16)) !=
          0); /* more threads, more tiles */
    arena_free(&t->arena);
    arena_free(&a);
    free(t);
}
