/* builtin_host.c: kernels of the sorts of GPUs (src/device/cuda/sort_kernels.c), of scans (scan_kernels.c), of compaction and of
 * scattered extremes on the host, launch by launch as builtin.c says, with memory that is not cleared: sorts and indices of
 * random rows are those of a plain stable sort, indices of true elements, sums and extremes those of a loop. Needs a C++ compiler; what stands for CUDA is in tests/cuda_host.hpp. */
#include "device/cuda/internal.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct arena arena;
static struct err err;
static uint64_t seed;

static uint64_t draw(uint64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static const struct kind {
    const char *name, *type;
    size_t bytes;
    bool index, top;
    uint64_t inf; /* 0: integers */
    int64_t row;  /* not 0: short rows, of more than half of this .. */
    bool few;     /* .. and at most an eighth of them is wanted */
    bool select;  /* 8 bytes, or long: the first few by topk_select */
} kinds[] = {{"sort", "f32", 4, .inf = 0x7f800000},
             {"argsort", "f32", 4, .index = true, .inf = 0x7f800000},
             {"topk", "i64", 8, .top = true},
             {"topk_index", "bf16", 2, .index = true, .top = true, .inf = 0x7f80},
             {"sort", "u8", 1, .index = false},
             {"argsort", "i16", 2, .index = true},
             {"sort", "i16", 2, .row = 256},
             {"argsort", "f32", 4, .index = true, .inf = 0x7f800000, .row = 1024},
             {"topk", "bf16", 2, .top = true, .inf = 0x7f80, .row = 8},
             {"sort", "f32", 4, .inf = 0x7f800000, .row = 64},
             {"topk", "f32", 4, .top = true, .inf = 0x7f800000, .row = 1024, .few = true},
             {"topk_index", "i8", 1, .index = true, .top = true, .row = 384, .few = true},
             {"topk_index", "bf16", 2, .index = true, .top = true, .inf = 0x7f80, .row = 2048, .few = true},
             {"sort", "f32", 4, .inf = 0x7f800000, .row = CUDA_SORT_TILE},
             {"argsort", "i8", 1, .index = true, .row = CUDA_SORT_TILE},
             {"argsort", "f32", 4, .index = true, .inf = 0x7f800000, .row = 2100},
             {"topk", "f16", 2, .top = true, .inf = 0x7c00, .row = CUDA_SORT_TILE},
             {"sort", "f64", 8, .inf = 0x7ff0000000000000, .row = CUDA_SORT_TILE / 2},
             {"argsort", "i64", 8, .index = true, .row = 700},
             {"topk", "f64", 8, .top = true, .inf = 0x7ff0000000000000, .row = 2048, .select = true},
             {"sort", "f64", 8, .inf = 0x7ff0000000000000, .row = 512},
             {"argsort", "f64", 8, .index = true, .inf = 0x7ff0000000000000, .row = 64},
             {"topk", "i64", 8, .top = true, .row = 16},
             {"topk", "f16", 2, .top = true, .inf = 0x7c00, .row = 256},
             {"topk_index", "i32", 4, .index = true, .top = true, .row = 9000, .select = true}};

static void add_kernels(struct str *s, size_t i, const struct dev_call *c, uint32_t most) {
    struct dev_kernel_text t[DEV_KERNELS];
    uint32_t n = cuda_call_kernels(&arena, c, t);
    for (uint32_t k = 0; k < RG_MIN(n, most); k++) {
        size_t head = (size_t)(strstr(t[k].text, t[k].name) - t[k].text);
        str_printf(s, "%.*sk%zu_%u%s", (int)head, t[k].text, i, k, t[k].text + head + strlen(t[k].name));
    }
}

static const struct extreme {
    const char *type;
    size_t bytes;
    uint64_t inf; /* 0: integers */
} extremes[] = {{"f32", 4, 0x7f800000}, {"bf16", 2, 0x7f80}, {"i32", 4, 0},
                {"u8", 1, 0},           {"i64", 8, 0},       {"f64", 8, 0x7ff0000000000000},
                {"f16", 2, 0x7c00}};

static const struct scan {
    const char *name, *to, *from;
} scans[] = {{"scan_add", "f32", "f32"},  {"scan_lse", "f32", "f32"}, {"scan_max", "i32", "i32"},
             {"scan_mul", "f64", "f64"},  {"scan_add", "i64", "i8"},  {"scan_lse", "bf16", "bf16"},
             {"scan_add", "f32", "bf16"}, {"scan_min", "u8", "u8"},   {"scan_max", "bf16", "bf16"},
             {"scan_min", "i64", "i64"},  {"scan_add", "i16", "i16"}, {"scan_lse", "f64", "f64"},
             {"scan_min", "f32", "f32"}};
enum {
    NONZEROS = 3, /* to i32, to i64; to i32 by long tiles */
    FIRST_EXTREME = RG_COUNT(kinds) + NONZEROS,
    FIRST_SCAN = FIRST_EXTREME + 2 * RG_COUNT(extremes)
};

/* The kernels of all kinds in one library, function k of kind i as "k<i>_<k>"; after the sorts nonzero to i32 and i64, then
 * scatter_max and scatter_min of `extremes`, then `scans`. */
static void *library(void) {
    struct str s;
    str_init(&s, &arena);
    str_add(&s, "#include \"tests/cuda_host.hpp\"\n");
    for (size_t i = 0; i < RG_COUNT(kinds); i++) {
        const char *types[2] = {kinds[i].type, kinds[i].type};
        struct dev_call c = {.name = kinds[i].name, .type = types, .nbuf = 2};
        int64_t num[2] = {kinds[i].row, kinds[i].few ? 1 : kinds[i].row};
        if (kinds[i].row && !kinds[i].select) c.num = num;
        add_kernels(&s, i, &c, CUDA_SELECT + kinds[i].select);
    }
    for (size_t i = 0; i < NONZEROS; i++) {
        const char *types[2] = {i == 1 ? "i64" : "i32", "bool"};
        int64_t num[2] = {2 * CUDA_NONZERO_LONG, 1};
        struct dev_call c = {.name = "nonzero", .type = types, .nbuf = 2, .num = i == 2 ? num : NULL};
        add_kernels(&s, RG_COUNT(kinds) + i, &c, CUDA_NONZERO + 1);
    }
    for (size_t i = 0; i < 2 * RG_COUNT(extremes); i++) {
        const char *t = extremes[i / 2].type, *types[4] = {t, t, "i64", t};
        struct dev_call c = {.name = i % 2 ? "scatter_min" : "scatter_max", .type = types, .nbuf = 4};
        add_kernels(&s, FIRST_EXTREME + i, &c, CUDA_EXTREME_SHORT);
    }
    for (size_t i = 0; i < RG_COUNT(scans); i++) {
        const char *types[2] = {scans[i].to, scans[i].from};
        add_kernels(&s, FIRST_SCAN + i, &(struct dev_call){.name = scans[i].name, .type = types, .nbuf = 2},
                    CUDA_SCAN + 1);
    }
    char dir[] = "/tmp/ridge-host.XXXXXX", *out;
    int status;
    CHECK(mkdtemp(dir));
    const char *cc = arena_printf(&arena, "%s/k.cc", dir), *so = arena_printf(&arena, "%s/k.so", dir);
    FILE *f = fopen(cc, "w");
    fputs(s.p, f), fclose(f);
    const char *argv[] = {"c++",   "-std=c++17", "-O0", "-w", "-I.", "-shared",
                          "-fPIC", "-pthread",   cc,    "-o", so,    NULL};
    if (os_run(&err, &arena, argv, &status, &out)) SKIP("no C++ compiler: %s", err.msg);
    if (status) FAIL("%s", out);
    void *lib = os_dlopen(&err, so);
    unlink(cc), unlink(so), rmdir(dir);
    if (!lib) FAIL("%s", err.msg);
    return lib;
}

/* The number by which an element is ordered, as cpu/sort.c has it. */
static uint64_t order_of(const struct kind *k, uint64_t v, bool down) {
    uint64_t top = (uint64_t)1 << (8 * k->bytes - 1), all = top | (top - 1), size = v & (top - 1), r = v;
    if (k->type[0] != 'u') r = v ^ top;
    if (k->inf) r = size > k->inf ? all : !size ? top : v & top ? ~v & all : v | top;
    return down ? r ^ all : r;
}

struct item {
    uint64_t order, bits, at;
};
static int by_order(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : (x->at > y->at) - (x->at < y->at);
}

/* Few: digits of which some are the same in a whole row. */
static uint64_t element(const struct kind *k, int how) {
    uint64_t v = draw((uint64_t)1 << 31) << 33 ^ draw((uint64_t)1 << 31) << 16 ^ draw(1 << 16);
    v >>= 64 - 8 * k->bytes;
    if (how == 1) v &= (uint64_t)0x81 << (8 * k->bytes - 8); /* 0, -0, two powers of two */
    if (how == 2) v &= 7;
    return how == 3 && draw(8) ? 0 : v;
}

typedef void runner(dev_fn *, uint32_t blocks, uint32_t threads, const uint64_t *, uint32_t n,
                    uint64_t draws);

static void launch_all(runner *run, const struct dev_builtin *b, const struct dev_launch *l) {
    const struct cuda_call *c = cuda_call_of(b->fn);
    for (uint32_t i = 0; i < cuda_call_steps(c, l); i++) {
        struct cuda_step s;
        uint64_t argument[16];
        uint32_t n = 0;
        cuda_call_step(c, l, i, &s);
        for (uint32_t k = 0; k < s.l.nbuf; k++) argument[n++] = (uint64_t)(uintptr_t)s.buf[k];
        for (uint32_t k = 0; k < s.l.nvar; k++) argument[n++] = (uint64_t)s.var[k];
        run(s.l.fn, s.l.grid, s.l.block, argument, n, draw(1 << 30));
    }
}

static void check_rows(const struct kind *k, const uint8_t *x, const uint8_t *got, const int64_t num[3],
                       int64_t rows) {
    struct item *row = malloc((size_t)num[0] * sizeof *row);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < num[0]; i++) {
            row[i] = (struct item){.at = (uint64_t)i};
            memcpy(&row[i].bits, x + (size_t)(r * num[0] + i) * k->bytes, k->bytes);
            row[i].order = order_of(k, row[i].bits, num[2]);
        }
        qsort(row, (size_t)num[0], sizeof *row, by_order);
        for (int64_t i = 0; i < num[1]; i++) {
            uint64_t want = k->index ? row[i].at : row[i].bits, have = 0;
            size_t bytes = k->index ? 8 : k->bytes;
            memcpy(&have, got + (size_t)(r * num[1] + i) * bytes, bytes);
            if (have != want)
                FAIL("%s of %s, row %lld of %lld, element %lld of %lld: %llx, expected %llx", k->name,
                     k->type, (long long)r, (long long)rows, (long long)i, (long long)num[0],
                     (unsigned long long)have, (unsigned long long)want);
        }
    }
    free(row);
}

static void find_kernels(void *lib, size_t which, int n, dev_fn **fn) {
    for (int i = 0; i < n; i++) {
        char name[20];
        snprintf(name, sizeof name, "k%zu_%d", which, i);
        fn[i] = (dev_fn *)(uintptr_t)os_dlsym(lib, name);
        CHECK(fn[i]);
    }
}

/* Results of `room` bytes, then inputs, by rows, on scratch memory that was used before. */
static void launch_on(void *lib, const struct dev_builtin *b, void **buf, uint32_t nbuf, size_t room,
                      const int64_t *num, int64_t rows) {
    uint8_t *scratch = malloc((size_t)b->scratch + 1);
    memset(scratch, 0xa7, (size_t)b->scratch), memset(buf[0], 0xa7, room);
    struct dev_launch l = {.fn = b->fn,
                           .buf = buf,
                           .nbuf = nbuf,
                           .var = num,
                           .nvar = 3,
                           .grid = (uint32_t)rows,
                           .scratch = (char *)scratch};
    launch_all((runner *)(uintptr_t)os_dlsym(lib, "run_kernel"), b, &l);
    free(scratch);
}

static void launch_rows(void *lib, const struct dev_builtin *b, uint8_t *got, size_t room, uint8_t *x,
                        const int64_t *num, int64_t rows) {
    launch_on(lib, b, (void *[]){got, x}, 2, room, num, rows);
}

static void check_draw(void *lib, size_t which) {
    const struct kind *k = &kinds[which];
    struct cuda_device d = {0};
    struct dev_builtin b;
    dev_fn *fn[DEV_KERNELS] = {0};
    find_kernels(lib, which, (k->select ? CUDA_SELECT : k->row ? CUDA_ROWS : CUDA_PASS) + 1, fn);
    int64_t rows = 1 + (int64_t)draw(2), least = k->bytes > 4 ? CUDA_SELECT_MOST : CUDA_SORT_TILE,
            len = least + 1 + (int64_t)draw(draw(3) ? 9000 : 3000);
    if (!draw(12)) len += 40000; /* more tiles than a look-back window */
    if (k->row) rows = 1 + (int64_t)draw(30), len = k->row / 2 + 1 + (int64_t)draw((uint64_t)k->row / 2);
    int64_t num[3] = {len, k->top ? 1 + (int64_t)draw((uint64_t)RG_MIN(len, 2000)) : len, (int64_t)draw(2)};
    if (k->few)
        num[0] = len = k->row - (int64_t)draw(100),
        num[1] = 1 + (int64_t)draw((uint64_t)RG_MIN(len / 8, 256));
    if (k->select) num[1] = 1 + (int64_t)draw((uint64_t)RG_MIN(len, 256));
    if (k->top && !k->select && (!k->row || k->row > CUDA_TOP_MOST))
        num[1] += 257 - RG_MIN(num[1], 257); /* fewer are selected, not sorted */
    const char *types[2] = {k->index ? "i64" : k->type, k->type};
    struct dev_call call = {.name = k->name, .type = types, .nbuf = 2, .rows = rows, .num = num};
    if (cuda_builtin(&d.dev, &err, &call, fn, &b)) FAIL("%s", err.msg);
    size_t bytes = (size_t)(rows * len) * k->bytes,
           room = (size_t)(rows * num[1]) * (k->index ? 8 : k->bytes);
    uint8_t *x = malloc(bytes), *got = malloc(room);
    int how = (int)draw(4);
    for (int64_t i = 0; i < rows * len; i++) {
        uint64_t v = element(k, how);
        memcpy(x + (size_t)i * k->bytes, &v, k->bytes);
    }
    launch_rows(lib, &b, got, room, x, num, rows);
    check_rows(k, x, got, num, rows);
    free(x), free(got);
    cuda_calls_free(d.calls);
}

static void check_indices(const uint8_t *mask, const uint8_t *got, bool wide, int64_t rows, int64_t len,
                          int64_t size) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0, j = 0; i < size; i++) {
            int64_t want, have = 0;
            while (j < len && !mask[r * len + j]) j++;
            want = j < len ? j++ : -1;
            if (wide)
                have = ((const int64_t *)got)[r * size + i];
            else
                have = ((const int32_t *)got)[r * size + i];
            if (have != want)
                FAIL("nonzero, row %lld of %lld, result %lld of %lld, length %lld: %lld, expected %lld",
                     (long long)r, (long long)rows, (long long)i, (long long)size, (long long)len,
                     (long long)have, (long long)want);
        }
}

/* Few, some, most, all or no true elements; rows of one and of many tiles; room for less than there are, or more. */
static void check_nonzero(void *lib, int i) {
    struct cuda_device d = {0};
    struct dev_builtin b;
    dev_fn *fn[DEV_KERNELS] = {0};
    bool wide = i % 2, tiles = i == 2;
    find_kernels(lib, RG_COUNT(kinds) + (tiles ? 2 : (size_t)wide), CUDA_NONZERO + 1, fn);
    int64_t rows = 1 + (int64_t)draw(3), len = 1 + (int64_t)draw(i % 3 ? 20000 : 5000);
    if (i % 5 == 4) rows = 1, len += 36 * CUDA_NONZERO_TILE; /* more tiles than a look-back window */
    if (tiles) rows = 1, len += CUDA_NONZERO_LONG;
    int64_t num[3] = {len, 1 + (int64_t)draw((uint64_t)len + 1000), 0};
    const char *types[2] = {wide ? "i64" : "i32", "bool"};
    struct dev_call call = {.name = "nonzero", .type = types, .nbuf = 2, .rows = rows, .num = num};
    if (cuda_builtin(&d.dev, &err, &call, fn, &b)) FAIL("%s", err.msg);
    size_t room = (size_t)(rows * num[1]) * (wide ? 8 : 4);
    uint8_t *x = malloc((size_t)(rows * len)), *got = malloc(room);
    uint64_t part = (uint64_t[]){0, 1, 50, 99, 100}[draw(5)];
    for (int64_t k = 0; k < rows * len; k++) x[k] = draw(100) < part;
    launch_rows(lib, &b, got, room, x, num, rows);
    check_indices(x, got, wide, rows, len, num[1]);
    free(x), free(got);
    cuda_calls_free(d.calls);
}

/* By order, -0 below 0; NaN before all, and any of them. */
static uint64_t rank_of(const struct extreme *k, uint64_t v, bool least) {
    uint64_t top = (uint64_t)1 << (8 * k->bytes - 1), all = top | (top - 1);
    if (k->inf && (v & (top - 1)) > k->inf) return UINT64_MAX;
    if (k->type[0] != 'u') v = k->inf && v & top ? ~v & all : v ^ top;
    return least ? v ^ all : v;
}

/* Few or many results of long rows; with and without what was there; results that nothing is written to. */
static void check_extremes(void *lib, int i) {
    struct cuda_device d = {0};
    struct dev_builtin b;
    dev_fn *fn[DEV_KERNELS] = {0};
    size_t which = (size_t)i % (2 * RG_COUNT(extremes));
    const struct extreme *k = &extremes[which / 2];
    const struct kind as = {.bytes = k->bytes};
    bool least = which % 2;
    find_kernels(lib, FIRST_EXTREME + which, CUDA_EXTREME_SHORT, fn);
    int64_t rows = 1 + (int64_t)draw(3), len = 17 + (int64_t)draw(draw(3) ? 3000 : 20000);
    int64_t w = draw(2) ? 1 : 2 + (int64_t)draw(40), forget = (int64_t)draw(2), pieces = len / w;
    int64_t targets = 1 + (int64_t)draw(draw(3) ? 50 : 4000), size = targets * w;
    int64_t num[3] = {len = pieces * w, size, (w - 1) << 5 | forget};
    const char *types[4] = {k->type, k->type, "i64", k->type};
    struct dev_call call = {
        .name = least ? "scatter_min" : "scatter_max", .type = types, .nbuf = 4, .rows = rows, .num = num};
    if (cuda_builtin(&d.dev, &err, &call, fn, &b)) FAIL("%s", err.msg);
    size_t n = (size_t)(rows * size), m = (size_t)(rows * len), bytes = k->bytes;
    uint8_t *x = malloc(n * bytes), *src = malloc(m * bytes), *got = malloc(n * bytes);
    int64_t *at = malloc((size_t)(rows * pieces) * sizeof *at);
    uint64_t *want = malloc(n * sizeof *want);
    bool *hit = calloc(n, 1);
    int how = (int)draw(4);
    for (size_t j = 0; j < n; j++) want[j] = element(&as, how), memcpy(x + j * bytes, &want[j], bytes);
    for (size_t j = 0; j < m; j++) {
        uint64_t v = element(&as, how);
        memcpy(src + j * bytes, &v, bytes);
        int64_t *name = &at[j / (size_t)w];
        if (j % (size_t)w == 0) *name = (int64_t)draw((uint64_t)targets + 1) - (draw(50) == 0); /* clamped */
        size_t to = j / (size_t)len * (size_t)size + (size_t)(RG_MAX(RG_MIN(*name, targets - 1), 0) * w) +
                    j % (size_t)w;
        if ((forget && !hit[to]) || rank_of(k, v, least) > rank_of(k, want[to], least)) want[to] = v;
        hit[to] = true;
    }
    launch_on(lib, &b, (void *[]){got, x, at, src}, 4, n * bytes, num, rows);
    for (size_t j = 0; j < n; j++) {
        uint64_t have = 0;
        memcpy(&have, got + j * bytes, bytes);
        if (rank_of(k, have, least) != rank_of(k, want[j], least))
            FAIL("%s of %s, result %zu of %zu, %lld to %lld: %llx, expected %llx", call.name, k->type, j, n,
                 (long long)len, (long long)size, (unsigned long long)have, (unsigned long long)want[j]);
    }
    free(x), free(src), free(got), free(at), free(want), free(hit);
    cuda_calls_free(d.calls);
}

static double element_of(const char *type, const void *p, size_t i) {
    if (!strcmp(type, "f32")) return (double)((const float *)p)[i];
    if (!strcmp(type, "f64")) return ((const double *)p)[i];
    if (!strcmp(type, "bf16")) return (double)bf16_get(((const uint16_t *)p)[i]);
    if (!strcmp(type, "u8")) return ((const uint8_t *)p)[i];
    if (!strcmp(type, "i8")) return ((const int8_t *)p)[i];
    if (!strcmp(type, "i16")) return ((const int16_t *)p)[i];
    return !strcmp(type, "i32") ? (double)((const int32_t *)p)[i] : (double)((const int64_t *)p)[i];
}

static void put_element(const char *type, void *p, size_t i, double v) {
    if (!strcmp(type, "f32"))
        ((float *)p)[i] = (float)v;
    else if (!strcmp(type, "f64"))
        ((double *)p)[i] = v;
    else if (!strcmp(type, "bf16"))
        ((uint16_t *)p)[i] = bf16_put((float)v);
    else if (type[1] == '8')
        ((uint8_t *)p)[i] = (uint8_t)(int)v;
    else if (!strcmp(type, "i16"))
        ((int16_t *)p)[i] = (int16_t)v;
    else if (!strcmp(type, "i32"))
        ((int32_t *)p)[i] = (int32_t)v;
    else
        ((int64_t *)p)[i] = (int64_t)v;
}

static double joined(const char *op, double a, double x) {
    if (!strcmp(op, "add")) return a + x;
    if (!strcmp(op, "mul")) return a * x;
    if (!strcmp(op, "max")) return fmax(a, x);
    if (!strcmp(op, "min")) return fmin(a, x);
    double m = fmax(a, x);
    return a == x ? a + log(2) : m + log(exp(a - m) + exp(x - m));
}

static void compare_scan(const struct scan *k, const void *x, const void *got, int64_t rows, int64_t len,
                         bool odd) {
    bool half = !strcmp(k->to, "bf16"), real = strchr(k->to, 'f');
    const char *op = k->name + 5;
    for (int64_t r = 0; r < rows; r++) {
        double a = 0, size = 0;
        for (int64_t i = 0; i < len; i++) {
            size_t at = (size_t)(r * len + i);
            double v = element_of(k->from, x, at), have = element_of(k->to, got, at);
            a = i ? joined(op, a, v) : v, size = RG_MAX(fabs(a), size + (op[0] == 'a' ? fabs(v) : 0));
            double want = real ? a : !strcmp(k->to, "i16") ? (double)(int16_t)(int64_t)a : a;
            double most = !real || op[1] == 'a' || op[1] == 'i' ? 0
                          : half                                ? 1e-2
                                                                : 1e-5 * (1 + (double)len / 1e5);
            if (have != want && !(fabs(have - want) <= most * (1 + size)))
                FAIL("%s of %s to %s, row %lld of %lld, element %lld of %lld (%s): %.9g, expected %.9g",
                     k->name, k->from, k->to, (long long)r, (long long)rows, (long long)i, (long long)len,
                     odd ? "unaligned" : "aligned", have, want);
        }
    }
}

/* Many short rows, a few long ones, one of many tiles; aligned and not; infinities among exponents. */
static void check_scan(void *lib, int i) {
    struct cuda_device d = {0};
    struct dev_builtin b;
    dev_fn *fn[DEV_KERNELS] = {0};
    size_t which = (size_t)i % RG_COUNT(scans);
    const struct scan *k = &scans[which];
    find_kernels(lib, FIRST_SCAN + which, CUDA_SCAN + 1, fn);
    int64_t len = 1 + (int64_t)draw((uint64_t[]){40, 5000, 20000}[draw(3)]), rows = 1 + (int64_t)draw(3);
    if (len < 1000) rows = 1 + (int64_t)draw((uint64_t)(20000 / len));
    if (which == 3) rows = 1, len = 258 * 2048 + (int64_t)draw(100); /* more tiles than a group */
    int64_t num[3] = {len, len, 0};
    const char *types[2] = {k->to, k->from};
    struct dev_call call = {.name = k->name, .type = types, .nbuf = 2, .rows = rows, .num = num};
    if (cuda_builtin(&d.dev, &err, &call, fn, &b)) FAIL("%s", err.msg);
    size_t all = (size_t)(rows * len), to = cuda_call_bytes(k->to), odd = draw(2);
    uint8_t *x = malloc(all * 8 + 16), *got = malloc(all * 8 + 16);
    for (size_t j = 0; j < all + odd; j++) {
        double v = (double)draw(2001) * 1e-3 - (draw(9) ? 0.5 : 1);
        if (k->name[5] == 'm' && k->name[6] == 'u') v = 1 + (v - 0.5) * 1e-3;
        if (!strchr(k->to, 'f')) v = (double)draw(200) - (k->from[0] == 'u' ? 0 : 100);
        if (k->name[5] == 'l' && !draw(20)) v = draw(9) ? -INFINITY : v * 300;
        put_element(k->from, x, j, v);
    }
    launch_rows(lib, &b, got + odd * to, all * to, x + odd * cuda_call_bytes(k->from), num, rows);
    compare_scan(k, x + odd * cuda_call_bytes(k->from), got + odd * to, rows, len, odd);
    free(x), free(got);
    cuda_calls_free(d.calls);
}

static void check_draws(uint64_t from, int n) {
    arena_init(&arena, &err);
    seed = from;
    void *lib = library();
    for (int i = 0; i < n; i++) check_draw(lib, (size_t)i % RG_COUNT(kinds));
    for (int i = 0; i < n; i++) check_nonzero(lib, i);
    for (int i = 0; i < n; i++) check_extremes(lib, i);
    for (int i = 0; i < n; i++) check_scan(lib, i);
    os_dlclose(lib);
    arena_free(&arena);
    TEST_COUNT(n, "sorts as a stable sort has them, as many compactions, scattered extremes and scans");
}

TEST(builtin_host_sorts) { check_draws(20261117, (int)RG_COUNT(kinds)); }
TEST_MANUAL(builtin_host_sorts_much, 600) { check_draws((uint64_t)getpid(), 300); }

/* Iterations of threads that share nothing: blocks of whole warps, one for each SM as long as none has more than 256 threads. */
TEST(cuda_spreads_small_grids) {
    struct cuda_device d = {.info.units = 132};
    static const struct {
        uint32_t grid;
        unsigned blocks, threads;
    } shape[] = {{1, 1, 32},     {973, 31, 32},     {132 * 32, 132, 32},
                 {4225, 67, 64}, {33792, 132, 256}, {100000, 391, 256}};
    for (size_t i = 0; i < RG_COUNT(shape); i++) {
        struct dev_launch l = {.grid = shape[i].grid};
        unsigned blocks, threads;
        cuda_shape(&d, &l, &blocks, &threads);
        CHECK_EQ(blocks, shape[i].blocks);
        CHECK_EQ(threads, shape[i].threads);
        l = (struct dev_launch){.grid = shape[i].grid, .areas = 64}; /* of scratch memory */
        cuda_shape(&d, &l, &blocks, &threads);
        CHECK(threads <= 64 && (blocks - 1) * threads < 64);
    }
}
