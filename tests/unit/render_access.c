/* Tests of src/render/c*.c: every form of a vector's access to memory, on every type and width: consecutive, strided and indexed
 * lanes, with and without predicates, columns of transposed rows, lanes of several vectors, lanes by a mask of 32 or 64 bits. What is moved is compared bit by bit. Buffers begin at an odd
 * element and end with their page, behind which nothing may be read: gathers of narrow elements load whole words. */
#include "device/cpu/internal.h"
#include "prog.h"
#include "render/render.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRID = 6, STRIDE = 3, MOST = 16 * 16 * GRID, SLOTS = 3 };

static struct err err;
static struct arena arena;
static struct ir ir;

static const enum dtype types[] = {DT_BOOL, DT_I8,  DT_U8,  DT_U16, DT_F16,
                                   DT_BF16, DT_I32, DT_F32, DT_I64, DT_F64};
static const unsigned widths[] = {4, 8, 16};

enum form { CONSECUTIVE, STRIDED, INDEXED, INDEXED_ALL, SELECTED, COLUMN, SHUFFLED };
static const char *const form_name[] = {"consecutive", "strided", "indexed", "indexed_all",
                                        "selected",    "column",  "shuffled"};

struct access_test {
    struct prog p;
    enum form form;
    enum dtype dt;
    unsigned lanes;
    unsigned wide,
        at; /* of a column, the elements of a row and which of them; of a shuffle, vectors and a seed; of a selection, the
                          bytes of a mask's elements */
};

static int count_of(const struct access_test *t) { return (int)t->lanes * GRID; }

/* ---- programs ------------------------------------------------------------------------------------------- */

static const uop *zero_of(enum dtype dt) {
    return dt_is_float(dt) ? uop_flt(&ir, dt, 0) : uop_int(&ir, dt, 0);
}

static const uop *lanes_of(unsigned lanes) {
    return uop_new(&ir, OP_LANES, DT_I32, lanes, NULL, 0, ARG_NONE);
}

static const uop *pred_load(struct prog *p, const uop *buf, const uop *idx, unsigned lanes, const uop *live) {
    return opn(p, OP_PRED_LOAD, (enum dtype)buf->dt, lanes, at(p, buf, idx, lanes),
               zero_of((enum dtype)buf->dt), live, ARG_NONE);
}

static void build_column(struct access_test *t, const uop *g, const uop *from, const uop *to) {
    struct prog *p = &t->p;
    const uop *lane[16];
    for (unsigned i = 0; i < t->lanes; i++) {
        const uop *row =
            op2(p, OP_ADD, op2(p, OP_MUL, g, uop_int(&ir, DT_I32, t->lanes)), uop_int(&ir, DT_I32, i));
        const uop *v = load(p, from, op2(p, OP_MUL, row, uop_int(&ir, DT_I32, t->wide)), t->wide);
        lane[i] = push(p, uop_mk(&ir, OP_EXTRACT, &v, 1, ARG_INT(t->at)));
    }
    const uop *v = push(p, uop_new(&ir, OP_BUILD, t->dt, t->lanes, lane, t->lanes, ARG_NONE));
    store(p, to, op2(p, OP_MUL, g, uop_int(&ir, DT_I32, t->lanes)), v, t->lanes);
}

/* The vector and the lane of it that lane i of a shuffle is: all vectors have one at least. */
static unsigned shuffled_from(const struct access_test *t, unsigned i) {
    return i < t->wide ? i : (i * (5 + t->at) + t->at / 2) % t->wide;
}

static unsigned shuffled_lane(const struct access_test *t, unsigned i) {
    return (i * (3 + 2 * t->at) + t->at) % t->lanes;
}

static void build_shuffle(struct access_test *t, const uop *g, const uop *from, const uop *to) {
    struct prog *p = &t->p;
    const uop *lane[16], *v[4];
    const uop *first = op2(p, OP_MUL, g, uop_int(&ir, DT_I32, t->lanes * t->wide));
    for (unsigned k = 0; k < t->wide; k++)
        v[k] = load(p, from, op2(p, OP_ADD, first, uop_int(&ir, DT_I32, k * t->lanes)), t->lanes);
    for (unsigned i = 0; i < t->lanes; i++)
        lane[i] = push(p, uop_mk(&ir, OP_EXTRACT, &v[shuffled_from(t, i)], 1, ARG_INT(shuffled_lane(t, i))));
    const uop *all = push(p, uop_new(&ir, OP_BUILD, t->dt, t->lanes, lane, t->lanes, ARG_NONE));
    store(p, to, op2(p, OP_MUL, g, uop_int(&ir, DT_I32, t->lanes)), all, t->lanes);
}

/* By a comparison of indices, as 32 or 64 bits. */
static void build_selection(struct access_test *t, const uop *first, const uop *from, const uop *to,
                            const uop *index) {
    struct prog *p = &t->p;
    unsigned n = t->lanes;
    enum dtype dt = t->wide == 8 ? DT_I64 : DT_I32;
    const uop *x = load(p, index, first, n), *v = load(p, from, first, n);
    if (t->wide == 8) x = opn(p, OP_CAST, DT_I64, n, x, NULL, NULL, ARG_NONE);
    const uop *live = op2(p, OP_LT, x, uop_int(&ir, dt, count_of(t) / 2));
    store(p, to, first, push(p, uop3(&ir, OP_WHERE, live, v, zero_of(t->dt))), n);
}

/* b0 = b1 at some indices; b2: indices. */
static void build(struct access_test *t) {
    struct prog *p = &t->p;
    unsigned n = t->lanes;
    prog_init(p, &ir,
              arena_printf(&arena, "%s_%s_%u_%u_%u", form_name[t->form], dtype_info[t->dt].name, n, t->wide,
                           t->at));
    const uop *to = param(p, t->dt, 0, MOST), *from = param(p, t->dt, 1, MOST),
              *index = param(p, DT_I32, 2, MOST);
    const uop *g = range(p, DT_I32, GRID, AX_GRID);
    if (t->form >= COLUMN) {
        (t->form == COLUMN ? build_column : build_shuffle)(t, g, from, to);
        finish(p);
        return;
    }
    const uop *first = op2(p, OP_MUL, g, uop_int(&ir, DT_I32, n));
    if (t->form == SELECTED) {
        build_selection(t, first, from, to, index);
        finish(p);
        return;
    }
    const uop *each = op2(p, OP_ADD, first, lanes_of(n));
    const uop *live = op2(p, OP_LT, each, uop_int(&ir, DT_I32, count_of(t) - 2));
    if (t->form == INDEXED || t->form == INDEXED_ALL) {
        const uop *x = load(p, index, first, n);
        live = op2(p, OP_LT, x, uop_int(&ir, DT_I32, count_of(t) / 2));
        store(p, to, first, t->form == INDEXED ? pred_load(p, from, x, n, live) : load(p, from, x, n), n);
    } else {
        const uop *where =
            t->form == CONSECUTIVE ? first : op2(p, OP_MUL, each, uop_int(&ir, DT_I32, STRIDE));
        const uop *v = pred_load(p, from, where, n, live);
        const uop *src[3] = {at(p, to, where, n), v, live};
        push(p, uop_new(&ir, OP_STORE, DT_VOID, 1, src, 3, ARG_NONE));
    }
    finish(p);
}

/* ---- what they should do -------------------------------------------------------------------------------- */

static void move(const struct access_test *t, char *to, int at, const char *from, int of) {
    size_t bytes = dtype_info[t->dt].bytes;
    if (of < 0)
        memset(to + (size_t)at * bytes, 0, bytes);
    else
        memcpy(to + (size_t)at * bytes, from + (size_t)of * bytes, bytes);
}

static void expect(const struct access_test *t, char *to, const char *from, const int *index) {
    for (int i = 0; i < count_of(t); i++) {
        unsigned lane = (unsigned)i % t->lanes, group = (unsigned)i / t->lanes;
        switch (t->form) {
        case CONSECUTIVE:
            if (i < count_of(t) - 2) move(t, to, i, from, i);
            break;
        case STRIDED:
            if (i < count_of(t) - 2) move(t, to, STRIDE * i, from, STRIDE * i);
            break;
        case INDEXED: move(t, to, i, from, index[i] < count_of(t) / 2 ? index[i] : -1); break;
        case INDEXED_ALL: move(t, to, i, from, index[i]); break;
        case SELECTED: move(t, to, i, from, index[i] < count_of(t) / 2 ? i : -1); break;
        case SHUFFLED:
            move(t, to, i, from,
                 (int)((group * t->wide + shuffled_from(t, lane)) * t->lanes + shuffled_lane(t, lane)));
            break;
        default: move(t, to, i, from, i * (int)t->wide + (int)t->at);
        }
    }
}

/* Elements that a program reads and writes. */
static int extent(const struct access_test *t) {
    int n = count_of(t);
    return t->form >= COLUMN        ? n * (int)t->wide
           : t->form == STRIDED     ? STRIDE * (n - 3) + 1
           : t->form == CONSECUTIVE ? n - 2
                                    : n;
}

/* n bytes that end with a page; the page behind is closed. */
static char *at_page_end(size_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (n + page - 1) / page * page;
    char *p = mmap(NULL, all + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    CHECK(!mprotect(p + all, page, PROT_NONE));
    return p + all - n;
}

static void check(const struct access_test *t, const struct ekernel *k) {
    size_t bytes = dtype_info[t->dt].bytes, room = (size_t)extent(t) * bytes;
    char *to = at_page_end(room), *from = at_page_end(room), *want = malloc(room + 1);
    int *index = (int *)(void *)at_page_end((size_t)count_of(t) * sizeof *index);
    for (size_t i = 0; i < room; i++) from[i] = (char)(t->dt == DT_BOOL ? i * 7 % 3 % 2 : i * 151 + 11);
    memset(to, t->dt == DT_BOOL ? 1 : 0x5a, room);
    memcpy(want, to, room);
    for (int i = 0; i < count_of(t); i++) index[i] = i ? (i * 37 + 5) % count_of(t) : count_of(t) - 1;
    expect(t, want, from, index);
    void *const buf[SLOTS] = {to, from, index};
    k->fn(buf, NULL, 0, k->grid, NULL);
    for (size_t i = 0; i < room; i++)
        if (to[i] != want[i])
            FAIL("%s of %s, %u lanes, element %u of %u: byte %zu is %02x, not %02x", form_name[t->form],
                 dtype_info[t->dt].name, t->lanes, t->at, t->wide, i, (unsigned char)to[i],
                 (unsigned char)want[i]);
    free(want);
}

/* Columns: 16 or 8 bytes of a row. */
static int add_tests(struct access_test *t, enum dtype dt, unsigned lanes) {
    int n = 0;
    unsigned bytes = dtype_info[dt].bytes;
    for (int f = 0; f < SELECTED; f++)
        t[n++] = (struct access_test){.form = (enum form)f, .dt = dt, .lanes = lanes};
    for (unsigned wide = 4; wide <= 8; wide += 4)
        t[n++] = (struct access_test){.form = SELECTED, .dt = dt, .lanes = lanes, .wide = wide};
    for (unsigned wide = 1; wide <= 4; wide++)
        t[n++] = (struct access_test){
            .form = SHUFFLED, .dt = dt, .lanes = lanes, .wide = wide, .at = wide + lanes / 4};
    for (unsigned row = 8; row <= 16 && dt != DT_BOOL; row += 8)
        for (unsigned at = 0; at<row / bytes; at += row / bytes> 4 ? 3 : 1)
            if (row > bytes)
                t[n++] = (struct access_test){
                    .form = COLUMN, .dt = dt, .lanes = lanes, .wide = row / bytes, .at = at};
    return n;
}

enum { EACH = 26, N = RG_COUNT(types) * RG_COUNT(widths) * EACH };

static int build_all(struct access_test *t) {
    int n = 0;
    arena_init(&arena, &err);
    ir_init(&ir, &arena);
    for (unsigned i = 0; i < RG_COUNT(types) * RG_COUNT(widths); i++)
        n += add_tests(t + n, types[i / RG_COUNT(widths)], widths[i % RG_COUNT(widths)]);
    CHECK(n <= N);
    for (int i = 0; i < n; i++) build(&t[i]);
    return n;
}

static void run_accesses(const char *cc) {
    static struct access_test t[N];
    static const struct linear *lin[N];
    static const struct ekernel *k[N];
    int n = build_all(t);
    setenv("RIDGE_CACHE", "0", 1);
    if (!os_find_program(&arena, cc)) SKIP("%s is not installed", cc);
    setenv("RIDGE_CC", cc, 1);
    env_reload();
    struct engine *e = engine_open(&err, NULL);
    CHECK(e);
    for (int i = 0; i < n; i++) lin[i] = &t[i].p.lin;
    if (engine_compile(e, &err, lin, (uint32_t)n, k)) FAIL("%s", err.msg);
    for (int i = 0; i < n; i++) check(&t[i], k[i]);
    engine_close(e);
    test_info("%d accesses by %s", n, cc);
}

TEST_SLOW(render_accesses_clang, 200) { run_accesses("clang"); }
TEST_SLOW(render_accesses_gcc, 200) { run_accesses("gcc"); }

/* What cannot run here must compile at least: for x86 by a gcc and by clang, where they are. */
static bool compile_x86(const char *cc, const struct str *text, const char *flags) {
    char *dir, *out;
    int status;
    CHECK(!os_temp_dir(&err, &arena, &dir));
    const char *src = arena_printf(&arena, "%s/x.c", dir);
    CHECK(!os_write_file(&err, src, text->p, text->n, 0600));
    const char *cmd = arena_printf(&arena, "%s %s -O1 -fPIC -w -c %s -o %s/x.o", cc, flags, src, dir);
    const char *argv[] = {"/bin/sh", "-c", cmd, NULL};
    CHECK(!os_run(&err, &arena, argv, &status, &out));
    os_remove_tree(dir);
    bool unknown = strstr(out, "unable to create target") || strstr(out, "unknown argument") ||
                   strstr(out, "unrecognized command-line option");
    if (status && !unknown) FAIL("%s: %s", cmd, out);
    return !status;
}

TEST_SLOW(render_accesses_compile_for_x86, 300) {
    static const struct {
        const char *isa, *more;
    } machine[] = {{"avx2", ""}, {"avx512", ""}, {"avx512", "-mavx512bf16 -mavx512fp16"}};
    static const char *const cc[] = {"x86_64-linux-gnu-gcc", "clang -target x86_64-linux-gnu"};
    static const char *const program[] = {"x86_64-linux-gnu-gcc", "clang"};
    static struct access_test t[N];
    int n = build_all(t), done = 0;
    for (int i = 0; i < n && os_find_program(&arena, program[0]);
         i += 13) { /* with what it needs of the preamble, no more */
        struct str own, body;
        str_init(&own, &arena), str_init(&body, &arena);
        render_c(&body, &ir, &t[i].p.lin);
        render_c_preamble_for(&own, (const char *const[]){body.p}, 1);
        str_add(&own, body.p);
        compile_x86(cc[0], &own, arena_printf(&arena, "%s %s", isa_find("avx512")->cc, machine[i % 3].more));
    }
    for (unsigned i = 0; i < RG_COUNT(machine) * RG_COUNT(cc); i++) {
        unsigned m = i / RG_COUNT(cc), c = i % RG_COUNT(cc);
        struct str s;
        str_init(&s, &arena);
        render_c_preamble(&s);
        for (
            int k = 0; k < n;
            k++) /* each by every compiler, for one of the machines; a form of a type for all, by its widths */
            if (((unsigned)t[k].dt + (t[k].lanes > 4) + (t[k].lanes > 8) + c) % RG_COUNT(machine) == m)
                render_c(&s, &ir, &t[k].p.lin);
        if (os_find_program(&arena, program[c]))
            done += compile_x86(cc[c], &s,
                                arena_printf(&arena, "%s %s", isa_find(machine[m].isa)->cc, machine[m].more));
    }
    if (!done) SKIP("no compiler for x86_64: neither x86_64-linux-gnu-gcc nor clang with that target");
    test_info("%d accesses compiled in %d parts", n, done);
}
