/* Tests of src/device/opencl: what is said where there is no OpenCL or a device that will not do, and, on PoCL or what there
 * is, memory, copies, times, faults. Devices that are small, full or lost are made of the one that is there by a library
 * that stands before it (tests/fake/opencl.c, named by RIDGE_OPENCL) and answers for it.
 * Values: opencl_* in golden.c, render.c, schedule.c, values_ops.c and tests/semantics. */
#include "opencl.h"
#include "engine/plan.h"
#include "tune/tune.h"
#include "cuda.h"
#include "render/render.h"

#include <ridge.h>

static struct err err;

/* ---- without OpenCL --------------------------------------------------------------------------------------- */

TEST(opencl_by_name) {
    struct err e = {0};
    CHECK(device_find(&e, "opencl") == &device_opencl[0] && device_find(&e, "OPENCL:0") == &device_opencl[0]);
    CHECK(device_find(&e, "OpenCL:3") == &device_opencl[3] && device_opencl[3].unit == 3);
    CHECK(device_find(&e, "CL") == &device_opencl[0] && device_find(&e, "cl:2") == &device_opencl[2]);
    CHECK_STR(device_opencl[7].name, "OPENCL:7");
    static const char *const bad[] = {"OPENCL:8", "OPENCL:", "OPENCL:10", "OPENCL:x", "CLX"};
    for (size_t i = 0; i < RG_COUNT(bad); i++) {
        err_clear(&e);
        CHECK(!device_find(&e, bad[i]) && e.code == RG_EINVAL && strstr(e.msg, "OPENCL:1 .. OPENCL:7"));
    }
}

/* A context that cannot be opened says why, and the process goes on. */
static void refuses(const char *device, const char *words) {
    env_reload();
    rg_ctx *c = rg_open(device);
    CHECK_EQ(rg_status_of(c), RG_EDEVICE);
    if (!strstr(rg_error(c), words)) FAIL("%s", rg_error(c));
    rg_close(c);
    float x = 0;
    c = rg_open("CPU");
    CHECK(!rg_read(rg_add(rg_full(c, RG_F32, 1, RG_SHAPE(1)), 2), &x, sizeof x) && x == 3);
    rg_close(c);
}

TEST(opencl_without_a_loader) {
    setenv("RIDGE_OPENCL", "/nowhere/libOpenCL.so.1", 1);
    refuses("OPENCL", "RIDGE_OPENCL: /nowhere/libOpenCL.so.1 does not load");
}

TEST(opencl_wrong_library) {
    setenv("RIDGE_OPENCL", "libz.so.1", 1);
    refuses("OPENCL", "libz.so.1 has no function clGetPlatformIDs");
}

TEST(opencl_without_a_driver) {
    opencl_settle();
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    env_reload();
    rg_ctx *c = rg_open("OPENCL");
    if (!rg_status_of(c)) SKIP("this loader does not look at OCL_ICD_VENDORS");
    CHECK_EQ(rg_status_of(c), RG_EDEVICE);
    if (!strstr(rg_error(c), "finds no OpenCL driver") &&
        !strstr(rg_error(c), "there is no OpenCL on this machine"))
        FAIL("%s", rg_error(c));
    rg_close(c);
}

TEST(opencl_no_such_device) {
    engine_close(opencl_engine());
    rg_ctx *c = rg_open("OPENCL:7");
    if (!rg_status_of(c)) SKIP("this machine has eight OpenCL devices");
    if (!strstr(rg_error(c), "there is no OPENCL:7") || !strstr(rg_error(c), "OPENCL:0 is "))
        FAIL("%s", rg_error(c));
    rg_close(c);
}

/* ---- what a small device cannot: the renderer --------------------------------------------------------------- */

struct rendering {
    const char *text, *opts; /* opts NULL: the heuristic's */
    struct render_limits limits;
    struct arena arena;
    struct linear lin;
    struct str out;
    struct render_shape shape;
};

static void render_text(void *arg) {
    struct rendering *r = arg;
    struct program p = {0};
    struct ir *ir = arena_new(&r->arena, struct ir);
    ir_init(ir, &r->arena);
    ir_parse(ir, r->text, strlen(r->text), "test", &p);
    struct lower_opts how = {.opts = r->opts ? r->opts : opts_heuristic_gpu(ir, &p.kernel.p[0], GPU_OF_CC(0)),
                             .target = {.kind = TARGET_GPU}};
    lower(ir, &p.kernel.p[0], &how, &r->lin);
    str_init(&r->out, &r->arena);
    render_opencl(&r->out, ir, &r->lin, true, &r->limits, &r->shape);
}

static int render(struct rendering *r) {
    err_clear(&err);
    arena_init(&r->arena, &err);
    return err_guard(&err, render_text, r);
}

static const char row_sum[] =
    "kernel rows\n"
    "x = (PARAM<f32>[0 x] 8388608)\nout = (PARAM<f32>[1 out] 1024)\n"
    "i = (RANGE[i GRID 0] 1024)\nk = (RANGE[k REDUCE 1] 8192)\n"
    "(SINK (STORE (INDEX out i) (REDUCE[ADD] (LOAD (INDEX x (ADD (MUL i 8192) k))) k)))\n";

TEST(opencl_blocks_fit_the_device) {
    static const uint32_t most[] = {1024, 256, 100, 32, 31, 1};
    for (size_t i = 0; i < RG_COUNT(most); i++) {
        struct rendering r = {.text = row_sum, .limits = {.threads = most[i]}};
        if (render(&r)) FAIL("%s", err.msg);
        CHECK(r.shape.block <= most[i] && (r.shape.block > 0) == (most[i] >= 32));
        CHECK((strstr(r.out.p, "barrier(CLK_LOCAL_MEM_FENCE)") != NULL) == (r.shape.block > 0));
        CHECK((strstr(r.out.p, "reqd_work_group_size(") != NULL) == (r.shape.block > 0));
        arena_free(&r.arena);
    }
}

/* Tiles of a product in local memory, filled by all threads of a block, with barriers between. */
static const char product[] =
    "kernel product\n"
    "a = (PARAM<f32>[0 a] 403)\nb = (PARAM<f32>[1 b] 585)\nout = (PARAM<f32>[2 out] 1395)\n"
    "m = (RANGE[m GRID 0] 31)\nn = (RANGE[n GRID 1] 45)\nk = (RANGE[k REDUCE 2] 13)\n"
    "x = (LOAD (INDEX a (ADD (MUL m 13) k)))\ny = (LOAD (INDEX b (ADD (MUL k 45) n)))\n"
    "(SINK (STORE (INDEX out (ADD (MUL m 45) n)) (REDUCE[ADD] (MUL x y) k)))\n";
static const char product_opts[] =
    "TILE(m,16,m1) TILE(m1,8,m2) TILE(m2,4,m3) TILE(m3,2,m4) TILE(n,32,n1) TILE(n1,16,n2) TILE(n2,8,n3) "
    "TILE(n3,4,n4) TILE(k,8,k1) THREAD(m1) THREAD(n1) THREAD(m3) THREAD(n3) ORDER(m1,n1,m3,n3) REG(m2) "
    "REG(m4) "
    "REG(n2) VEC(n4) UNROLL(k1) STAGE(a,k,k1,m1+m2+m3+m4) STAGE(b,k,k1,n1+n2+n3+n4) "
    "TILE(a.k1,4,av) VEC(av) TILE(b.n1,4,bv) VEC(bv)";

/* How often a text has a word. */
static int mentions(const char *text, const char *name) {
    int n = 0;
    for (const char *s = text; (s = strstr(s, name)); s += strlen(name)) n++;
    return n;
}

/* PoCL 5 and 6 abort where a kernel declares local memory and has no use of it. */
TEST(opencl_local_memory_is_used) {
    static const struct {
        const char *text, *opts, *array; /* array NULL: none */
    } row[] = {
        {.text = row_sum, .array = "shared"},
        {.text = product, .opts = product_opts, .array = "tiles"},
        {.text = "kernel count\n"
                 "x = (PARAM<f32>[0 x] 16384)\nat = (PARAM<i32>[1 at] 4096)\nout = (PARAM<f32>[2 out] 16)\n"
                 "c = (RANGE[c GRID 0] 4)\ni = (RANGE[i LOOP 1] 4096)\n"
                 "w = (MIN (MAX (CAST<idx> (LOAD (INDEX at i))) 0) 3)\n"
                 "(SINK (STORE_ADD (INDEX out (ADD (MUL w 4) c)) (LOAD (INDEX x (ADD (MUL i 4) c)))))\n"}};
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct rendering r = {
            .text = row[i].text, .opts = row[i].opts, .limits = {.threads = 256, .shared = 32 << 10}};
        if (render(&r)) FAIL("%s", err.msg);
        CHECK(r.shape.block > 0); /* threads of a block share a loop */
        CHECK_EQ(strstr(r.out.p, "__local") != NULL, row[i].array != NULL);
        if (row[i].array) CHECK(mentions(r.out.p, row[i].array) > 1);
        arena_free(&r.arena);
    }
}

TEST(opencl_without_doubles) {
    struct rendering r = {
        .text = "kernel twice\n"
                "x = (PARAM<f64>[0 x] 8)\nout = (PARAM<f64>[1 out] 8)\ni = (RANGE[i GRID 0] 8)\n"
                "(SINK (STORE (INDEX out i) (MUL (LOAD (INDEX x i)) 2.0)))\n",
        .limits = {.threads = 256, .shared = 32 << 10}};
    if (render(&r)) FAIL("%s", err.msg);
    arena_free(&r.arena);
    r.limits.no_f64 = true;
    CHECK_EQ(render(&r), RG_EUNSUPPORTED);
    if (!strstr(err.msg, "kernel twice") || !strstr(err.msg, "of f64 needs double precision"))
        FAIL("%s", err.msg);
    arena_free(&r.arena);
    /* nothing goes through double that is none */
    r.text = "kernel there_and_back\n"
             "x = (PARAM<f32>[0 x] 8)\nout = (PARAM<i64>[1 out] 8)\nh = (PARAM<f16>[2 h] 8)\ni = (RANGE[i "
             "GRID 0] 8)\n"
             "v = (CAST<i64> (LOAD (INDEX x i)))\n"
             "(SINK (STORE (INDEX out i) v) (STORE (INDEX h i) (CAST<f16> v)))\n";
    if (render(&r)) FAIL("%s", err.msg);
    CHECK(!strstr(r.out.p, "f64") && strstr(r.out.p, "tol_f32(") && strstr(r.out.p, "odd_i64("));
    arena_free(&r.arena);
}

TEST(opencl_without_wide_atomics) {
    struct rendering r = {
        .text = "kernel count\n"
                "x = (PARAM<i64>[0 x] 32)\nat = (PARAM<i32>[1 at] 8)\nout = (PARAM<i64>[2 out] 16)\n"
                "c = (RANGE[c GRID 0] 4)\ni = (RANGE[i LOOP 1] 8)\n"
                "w = (MIN (MAX (CAST<idx> (LOAD (INDEX at i))) 0) 3)\n"
                "(SINK (STORE_ADD (INDEX out (ADD (MUL w 4) c)) (LOAD (INDEX x (ADD (MUL i 4) c)))))\n",
        .limits = {.threads = 256, .shared = 32 << 10}};
    if (render(&r)) FAIL("%s", err.msg);
    CHECK(strstr(r.out.p, "atomic_add_i64("));
    arena_free(&r.arena);
    r.limits.no_atomic64 = true;
    CHECK_EQ(render(&r), RG_EUNSUPPORTED);
    if (!strstr(err.msg, "STORE_ADD of i64 needs atomic operations on 64 bits")) FAIL("%s", err.msg);
    arena_free(&r.arena);
}

/* ---- with a device ------------------------------------------------------------------------------------------- */

TEST(opencl_copies) {
    struct engine *en = opencl_engine();
    static const size_t sizes[] = {1, 4095, 1 << 20, (1 << 20) + 1, (6 << 20) + 12345};
    for (size_t k = 0; k < RG_COUNT(sizes); k++) {
        size_t n = sizes[k];
        uint8_t *x = malloc(n), *y = calloc(n, 1);
        for (size_t i = 0; i < n; i++) x[i] = (uint8_t)(i * 2654435761u >> 13);
        char *a = engine_alloc(en, &err, n + 64), *b = engine_alloc(en, &err, n);
        CHECK(a && b && (uintptr_t)a % 64 == 0);
        if (engine_copy(en, &err, COPY_IN, a + 64, x, n) || engine_copy(en, &err, COPY_WITHIN, b, a + 64, n))
            FAIL("%s", err.msg);
        memset(x, 0, n); /* what was copied is not looked at again */
        if (engine_copy(en, &err, COPY_OUT, y, b, n)) FAIL("%s", err.msg);
        for (size_t i = 0; i < n; i++) CHECK(y[i] == (uint8_t)(i * 2654435761u >> 13));
        engine_free(en, a, n + 64), engine_free(en, b, n);
        free(x), free(y);
    }
    engine_close(en);
}

/* Many small copies: more than there are pieces under way. */
TEST(opencl_copies_in_order) {
    struct engine *en = opencl_engine();
    int32_t *a = engine_alloc(en, &err, 400), out[100];
    CHECK(a);
    for (int32_t i = 0; i < 1000; i++)
        if (engine_copy(en, &err, COPY_IN, a + i % 100, &i, sizeof i)) FAIL("%s", err.msg);
    if (engine_copy(en, &err, COPY_OUT, out, a, sizeof out)) FAIL("%s", err.msg);
    for (int32_t i = 0; i < 100; i++) CHECK_EQ(out[i], 900 + i);
    engine_free(en, a, 400);
    engine_close(en);
}

TEST(opencl_wild_address) {
    struct engine *en = opencl_engine();
    char x[8];
    CHECK_EQ(engine_copy(en, &err, COPY_OUT, x, (void *)0x1000, 8), RG_EINTERNAL);
    CHECK(strstr(err.msg, "is no memory of"));
    engine_close(en);
}

TEST(opencl_compile_error_has_words) {
    struct engine *en = opencl_engine();
    const struct ekernel *k;
    struct etext t = {.name = "wrong",
                      .text = "__kernel void wrong(__global f32 *p) { *p = nonsense; }\n",
                      .grid = 1,
                      .nbuf = 1};
    CHECK_EQ(engine_compile_text(en, &err, &t, 1, &k), RG_ECOMPILE);
    if (!strstr(err.msg, "unit.cl") || !strstr(err.msg, "CL_BUILD_PROGRAM_FAILURE")) FAIL("%s", err.msg);
    engine_close(en);
}

/* A kernel that is timed by the device: a time that is not nothing, and no longer than the wait for it. */
TEST(opencl_times) {
    struct engine *en = opencl_engine();
    const struct ekernel *k;
    struct etext t = {
        .name = "spin",
        .text = "__kernel void spin(__global char *p0, u32 o0, u64 n, __global char *scratch, u64 stride) {\n"
                "  __global u32 *b0 = (__global u32 *)(p0 + (u64)o0 * 8);\n"
                "  u32 x = 1; for (u64 i = 0; i < n * 1000000; i++) x = x * 1664525u + 1013904223u;\n"
                "  b0[get_global_id(0)] = x; }\n",
        .grid = 1,
        .nbuf = 1};
    if (engine_compile_text(en, &err, &t, 1, &k)) FAIL("%s", err.msg);
    void *a = engine_alloc(en, &err, 4096);
    uint64_t ns = 0, t0 = os_now_ns();
    void *buf[] = {a};
    struct device *dev;
    if (device_opencl[0].open(&err, &device_opencl[0], &dev)) FAIL("%s", err.msg);
    device_opencl[0].close(dev);
    setenv("RIDGE_DEBUG", "2", 1);
    env_reload();
    struct engine_list *l = engine_list_new(en, &err);
    if (!l || engine_list_add(l, &err, k, buf, NULL) || engine_list_run(l, &err)) FAIL("%s", err.msg);
    ns = engine_list_ns(l, 0);
    CHECK(ns > 10000 && ns <= os_now_ns() - t0);
    engine_list_free(l);
    engine_free(en, a, 4096);
    engine_close(en);
}

TEST(opencl_block_program) {
    struct engine *en = opencl_engine();
    struct rendering r = {
        .text = product, .opts = product_opts, .limits = {.threads = 256, .shared = 32 << 10}};
    const struct ekernel *k;
    if (render(&r)) FAIL("%s", err.msg);
    CHECK(r.lin.threads > 1 && r.shape.block == r.lin.threads && strstr(r.out.p, "__local"));
    const struct linear *lin = &r.lin;
    if (engine_compile(en, &err, &lin, 1, &k)) FAIL("%s", err.msg);
    float a[31 * 13], b[13 * 45], out[31 * 45] = {0};
    for (int i = 0; i < 31 * 13; i++) a[i] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < 13 * 45; i++) b[i] = (float)(i * 5 % 13 - 6);
    cuda_run(en, k, (void *[]){a, b, out}, (size_t[]){sizeof a, sizeof b, sizeof out}, NULL);
    for (int m = 0; m < 31; m++)
        for (int n = 0; n < 45; n++) {
            float want = 0; /* small integers: exact */
            for (int i = 0; i < 13; i++) want += a[m * 13 + i] * b[i * 45 + n];
            CHECK(out[m * 45 + n] == want);
        }
    engine_close(en);
    r.limits.threads = r.lin.threads - 1;
    CHECK(!render_opencl_fits(&r.lin, &r.limits));
    arena_free(&r.arena);
    CHECK_EQ(render(&r), RG_EUNSUPPORTED);
    if (!strstr(err.msg, "use another opt list")) FAIL("%s", err.msg);
    arena_free(&r.arena);
}

/* ---- devices that are small, full or lost -------------------------------------------------------------------- */

/* Compiles the library that stands before OpenCL, once for each test, and names it. */
static void stand_in(const char *how) {
    static char path[300];
    char *dir, command[1200];
    struct arena a;
    opencl_settle();
    arena_init(&a, &err);
    CHECK(!os_temp_dir(&err, &a, &dir));
    snprintf(path, sizeof path, "%s/libfake.so", dir);
    snprintf(command, sizeof command,
             "%s -shared -fPIC -O1 -w -o %s tests/fake/opencl.c -Wl,--no-as-needed -l:libOpenCL.so.1 -ldl "
             "2>/dev/null",
             getenv("CC") && *getenv("CC") ? getenv("CC") : "cc", path);
    if (system(command)) SKIP("no OpenCL loader to stand before");
    setenv("RIDGE_OPENCL", path, 1);
    setenv("FAKE_OPENCL", how, 1);
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    arena_free(&a);
}

static void as(const char *how) { setenv("FAKE_OPENCL", how, 1); }

TEST(opencl_refused_devices) {
    static const struct {
        const char *how, *words;
    } row[] = {
        {"bits=32", "has addresses of 32 bits; 64 are needed"},
        {"version=OpenCL 1.1 old", "speaks \"OpenCL 1.1 old\"; OpenCL 1.2 or newer is needed"},
        {"version=rubbish", "speaks \"rubbish\""},
        {"profile=EMBEDDED_PROFILE", "embedded profile"},
        {"compiler=0", "has no compiler"},
        {"platforms=-1001", "finds no OpenCL driver"},
        {"platforms=-6", "does not list its platforms: CL_OUT_OF_HOST_MEMORY"},
        {"context=-2", "was lost: CL_DEVICE_NOT_AVAILABLE"},
        {"context=-5", "failed at opening it: CL_OUT_OF_RESOURCES"},
    };
    stand_in("");
    struct engine *en = engine_open(&err, &device_opencl[0]);
    if (!en) NO_OPENCL(err.msg);
    engine_close(en);
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        as(row[i].how);
        refuses("OPENCL", row[i].words);
    }
    as("");
    rg_ctx *c = rg_open("OPENCL"); /* a failure is not kept */
    CHECK_EQ(rg_status_of(c), 0);
    rg_close(c);
}

static struct engine *engine_as(const char *how) {
    stand_in(how);
    struct engine *en = engine_open(&err, &device_opencl[0]);
    if (!en) NO_OPENCL(err.msg);
    return en;
}

TEST(opencl_full_memory) {
    struct engine *en = engine_as("");
    static const char *const how[] = {"alloc=-4", "alloc=-61", "fill=-4", "alloc=-6"};
    for (size_t i = 0; i < RG_COUNT(how); i++) {
        as(how[i]);
        err_clear(&err);
        CHECK(!engine_alloc(en, &err, 100000));
        if (err.code != RG_ENOMEM || !strstr(err.msg, "OPENCL device has no 100000 bytes"))
            FAIL("%s", err.msg);
    }
    as("");
    err_clear(&err);
    void *p = engine_alloc(en, &err, 100000);
    CHECK(p);
    engine_free(en, p, 100000);
    engine_close(en);
}

/* Memory that a driver only takes when a kernel needs it; a kernel that cannot be started; a queue that is gone. */
TEST(opencl_failing_launches) {
    stand_in("");
    rg_ctx *c = rg_open("OPENCL");
    if (rg_status_of(c)) NO_OPENCL(rg_error(c));
    float y[4];
    rg_tensor x = rg_from(c, RG_F32, (float[]){1, 2, 3, 4}, RG_SHAPE(4));
    as("launch=-4");
    CHECK_EQ(rg_read(rg_add(x, 1), y, sizeof y), RG_ENOMEM);
    if (!strstr(rg_error(c), "has no memory left for starting a kernel")) FAIL("%s", rg_error(c));
    rg_clear_error(c);
    as("launch=-54");
    CHECK_EQ(rg_read(rg_add(x, 1), y, sizeof y), RG_EDEVICE);
    if (!strstr(rg_error(c), "CL_INVALID_WORK_GROUP_SIZE")) FAIL("%s", rg_error(c));
    rg_clear_error(c);
    as("");
    CHECK(!rg_read(rg_add(x, 1), y, sizeof y) && y[3] == 5); /* it goes on */
    as("finish=-5");
    CHECK_EQ(rg_read(rg_add(x, 2), y, sizeof y), RG_EDEVICE);
    if (!strstr(rg_error(c), "was lost: CL_OUT_OF_RESOURCES")) FAIL("%s", rg_error(c));
    rg_clear_error(c);
    as("");
    CHECK_EQ(rg_read(rg_add(x, 3), y, sizeof y), RG_EDEVICE);
    if (!strstr(rg_error(c), "was lost earlier")) FAIL("%s", rg_error(c));
    rg_close(c);
    c = rg_open("OPENCL"); /* and is there again */
    x = rg_from(c, RG_F32, (float[]){1, 2, 3, 4}, RG_SHAPE(4));
    CHECK(!rg_read(rg_add(x, 1), y, sizeof y) && y[0] == 2);
    rg_close(c);
}

/* Row sums by blocks that fit, as many buffers as fit, doubles refused with words. */
TEST_SLOW(opencl_small_device, 300) {
    stand_in("threads=64,plain=1");
    rg_ctx *c = rg_open("OPENCL");
    if (rg_status_of(c)) NO_OPENCL(rg_error(c));
    enum { ROWS = 3, COLS = 3000 };
    static float x[ROWS * COLS];
    float y[ROWS];
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (float)(i % 7);
    if (rg_read(rg_sum(rg_from(c, RG_F32, x, RG_SHAPE(ROWS, COLS)), RG_AXES(1)), y, sizeof y))
        FAIL("%s", rg_error(c));
    for (int r = 0; r < ROWS; r++) {
        float want = 0;
        for (int i = 0; i < COLS; i++) want += x[r * COLS + i];
        CHECK(y[r] == want); /* sums of small integers are exact */
    }
    double d;
    CHECK_EQ(rg_read(rg_mul(rg_from(c, RG_F64, (double[]){2}, RG_SHAPE(1)), 3), &d, sizeof d),
             RG_EUNSUPPORTED);
    if (!strstr(rg_error(c), "of f64 needs double precision")) FAIL("%s", rg_error(c));
    rg_close(c);
}

/* What the disk keeps is used again, by a driver that takes it; one that does not is no error. */
TEST(opencl_disk_cache) {
    struct arena a;
    char *dir;
    arena_init(&a, &err);
    CHECK(!os_temp_dir(&err, &a, &dir));
    stand_in("");
    setenv("RIDGE_CACHE", "1", 1);
    setenv("RIDGE_CACHE_DIR", dir, 1);
    env_reload();
    static const char *const how[] = {"", "", "binary=-42", ""};
    static const int compiled[] = {1, 0, 1, 1}; /* a binary that was refused is not kept */
    struct etext t = {
        .name = "one",
        .text = "__kernel void one(__global char *p0, u32 o0, u64 n, __global char *scratch, u64 stride) {\n"
                "  ((__global u32 *)p0)[get_global_id(0)] = 1; }\n",
        .grid = 1,
        .nbuf = 1};
    for (size_t i = 0; i < RG_COUNT(how); i++) {
        as(how[i]);
        struct engine *en = engine_open(&err, &device_opencl[0]);
        if (!en) NO_OPENCL(err.msg);
        const struct ekernel *k;
        int code = engine_compile_text(en, &err, &t, 1, &k);
        if (i == 2) { /* what was just compiled is refused as well */
            CHECK(code && strstr(err.msg, "CL_INVALID_BINARY"));
            err_clear(&err);
        } else {
            if (code) FAIL("%s", err.msg);
            CHECK_EQ(engine_stats(en).compiled, compiled[i]);
        }
        engine_close(en);
    }
    arena_free(&a);
}

/* ---- devices that are CPUs ------------------------------------------------------------------------------------ */

/* Kernels of every class, of types with and without hardware; a scatter-add, whose grid one thread runs. */
static void on_cpu(const char *device, double *out, int64_t *n) {
    rg_ctx *c = rg_open(device);
    if (rg_status_of(c)) NO_OPENCL(rg_error(c));
    enum { SIDE = 36 };
    static float data[4 * SIDE * SIDE];
    for (int i = 0; i < (int)RG_COUNT(data); i++) data[i] = (float)((i * 37) % 101) / 64 - 0.75f;
    rg_tensor x = rg_from(c, RG_F32, data, RG_SHAPE(4, SIDE, SIDE)), a = rg_select(x, 0, 0),
              b = rg_select(x, 0, 1);
    rg_tensor w = rg_reshape(rg_narrow(rg_reshape(x, RG_SHAPE(4 * SIDE * SIDE)), 0, 0, 8 * 4 * 9),
                             RG_SHAPE(8, 4, 3, 3));
    rg_tensor index = rg_cast(rg_floor(rg_mul(rg_add(rg_narrow(b, 0, 0, 1), 1.0), 7)), RG_I64);
    rg_tensor all[] = {
        rg_matmul(a, b),
        rg_softmax(a, 1),
        rg_conv2d(rg_unsqueeze(x, 0), w),
        rg_matmul(rg_cast(a, RG_F16), rg_cast(b, RG_F16)),
        rg_sum(rg_exp(rg_cast(x, RG_F64)), RG_AXES(0, 2)),
        rg_cumsum(rg_cast(rg_mul(a, 100), RG_I32), 1),
        rg_scatter_add(rg_full(c, RG_F32, 0, RG_SHAPE(1, SIDE)), 1, index, rg_narrow(a, 0, 0, 1)),
        rg_max(rg_cast(a, RG_BF16), RG_AXES(0))};
    *n = 0;
    for (size_t i = 0; i < RG_COUNT(all); i++) {
        if (rg_read(rg_cast(all[i], RG_F64), out + *n, (size_t)rg_size(all[i]) * sizeof *out))
            FAIL("%s, program %zu: %s", device, i, rg_error(c));
        *n += rg_size(all[i]);
    }
    CHECK_EQ(rg_close(c), RG_OK);
}

TEST_SLOW(opencl_cpu_computes_what_the_oracle_does, 300) {
    static double got[32768], want[32768];
    int64_t n = 0, m = 0;
    opencl_settle();
    setenv("RIDGE_OPENCL_CPU", "1", 1);
    env_reload();
    on_cpu("OPENCL", got, &n);
    on_cpu("REF", want, &m);
    CHECK(n == m && n > 10000 && n <= (int64_t)RG_COUNT(got));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-5 + 1e-3 * fabs(want[i])))
            FAIL("value %lld is %.9g, expected %.9g", (long long)i, got[i], want[i]);
}

struct two_texts {
    struct arena arena;
    struct str c, cl;
};

static void render_both(void *arg) {
    struct two_texts *t = arg;
    struct program p = {0};
    struct linear lin;
    struct ir *ir = arena_new(&t->arena, struct ir);
    ir_init(ir, &t->arena);
    ir_parse(ir, row_sum, strlen(row_sum), "test", &p);
    struct lower_opts how = {.opts = opts_heuristic(ir, &p.kernel.p[0], 16, 2), .target = {.vec_bytes = 16}};
    lower(ir, &p.kernel.p[0], &how, &lin);
    str_init(&t->c, &t->arena), str_init(&t->cl, &t->arena);
    render_c(&t->c, ir, &lin);
    render_opencl_cpu(&t->cl, ir, &lin);
}

/* The C of the CPU device to the last character, and another entry. */
TEST(opencl_cpu_has_the_schedule_and_the_c_of_the_cpu) {
    struct two_texts t = {0};
    arena_init(&t.arena, &err);
    if (err_guard(&err, render_both, &t)) FAIL("%s", err.msg);
    const char *end = strstr(t.c.p, "void rows("),
               *kernel = strstr(t.cl.p, "__kernel void rows(__global char *p0, ");
    CHECK(end && kernel && end - t.c.p == kernel - t.cl.p && !memcmp(t.c.p, t.cl.p, (size_t)(end - t.c.p)));
    CHECK(strstr(t.cl.p, "f32x4") && strstr(kernel, "(u32)(n * i / k), (u32)(n * (i + 1) / k)"));
    arena_free(&t.arena);
}

/* CL_DEVICE_TYPE decides (2: a CPU, 4: a GPU), unless RIDGE_OPENCL_CPU=0. */
TEST(opencl_cpu_devices_are_told_by_their_type) {
    for (int type = 2; type <= 4; type += 2)
        for (int allowed = 0; allowed < 2; allowed++) {
            setenv("RIDGE_OPENCL_CPU", allowed ? "1" : "0", 1);
            struct engine *en = engine_as(type == 2 ? "type=2" : "type=4");
            CHECK_EQ(engine_on_cpu(en), type == 2 && allowed);
            engine_close(en);
        }
}

/* ---- a machine model ------------------------------------------------------------------------------------------- */

TEST(opencl_model_and_profile) {
    opencl_settle();
    rg_ctx *c = rg_open("OPENCL");
    if (rg_status_of(c)) NO_OPENCL(rg_error(c));
    CHECK_STR(rg_device(c), "OPENCL");
    float y[2];
    if (rg_read(rg_sort(rg_from(c, RG_F32, (float[]){2, 1}, RG_SHAPE(2)), 0, .descending = false), y,
                sizeof y))
        FAIL("%s", rg_error(c));
    CHECK(y[0] == 1 && y[1] == 2); /* by the host */
    rg_close(c);
}
