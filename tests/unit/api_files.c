/* Files through the public API: idx and MNIST, npy, safetensors; round trips, errors, memory.
 * The numbers of MNIST were counted with NumPy. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static struct err err;
static struct arena arena;
static char *dir;

static char *in_dir(const char *name) {
    if (!dir) {
        arena_init(&arena, &err);
        CHECK_EQ(os_temp_dir(&err, &arena, &dir), 0);
    }
    return arena_printf(&arena, "%s/%s", dir, name);
}
enum { FILE_TYPES = RG_F64 + 1 }; /* that every format has: all but those of 8 bits (f8.c) */
static char *write_bytes(const char *name, const void *p, size_t n) {
    char *path = in_dir(name);
    CHECK_EQ(os_write_file(&err, path, p, n, 0600), 0);
    return path;
}
static void done(rg_ctx *c) {
    if (*rg_error(c)) FAIL("%s", rg_error(c));
    rg_close(c);
    if (dir) os_remove_tree(dir);
}

static void check_shape(rg_tensor x, rg_dtype dt, rg_ints want) {
    int64_t d[16];
    CHECK_EQ(rg_dtype_of(x), dt);
    CHECK_EQ(rg_shape_of(x, d, 16), want.n);
    for (size_t i = 0; i < want.n; i++) CHECK_EQ(d[i], want.d[i]);
}

/* The last call failed with words that end like this; goes on. */
static void check_error(rg_ctx *c, rg_status code, const char *words) {
    if (rg_status_of(c) != code || !strstr(rg_error(c), words))
        FAIL("error %d \"%s\"\nexpected %d \"..%s\"", rg_status_of(c), rg_error(c), code, words);
    CHECK_EQ(rg_clear_error(c), RG_OK);
}

/* ---- idx -------------------------------------------------------------------------------------------------- */

static void mnist(const char *set, int64_t n, int64_t ink, const int *digits, const uint8_t *row,
                  const uint8_t *labels) {
    rg_ctx *c = rg_open(NULL);
    char path[64];
    snprintf(path, sizeof path, "data/mnist/%s-images-idx3-ubyte.gz", set);
    rg_tensor x = rg_load_idx(c, path);
    check_shape(x, RG_U8, RG_SHAPE(n, 28, 28));
    uint8_t *p = malloc((size_t)n * 784), *l = malloc((size_t)n);
    CHECK_EQ(rg_read(x, p, (size_t)n * 784), RG_OK);
    int64_t sum = 0;
    for (int64_t i = 0; i < n * 784; i++) sum += p[i];
    CHECK_EQ(sum, ink);
    CHECK(!memcmp(p + 14 * 28 + 10, row, 10)); /* the first image */
    snprintf(path, sizeof path, "data/mnist/%s-labels-idx1-ubyte.gz", set);
    rg_tensor y = rg_load_idx(c, path);
    check_shape(y, RG_U8, RG_SHAPE(n));
    CHECK_EQ(rg_read(y, l, (size_t)n), RG_OK);
    int count[10] = {0};
    for (int64_t i = 0; i < n; i++) {
        CHECK(l[i] < 10);
        count[l[i]]++;
    }
    CHECK(!memcmp(count, digits, sizeof count));
    CHECK(!memcmp(l, labels, 10));
    free(p), free(l);
    done(c);
}
TEST(files_mnist_train) {
    mnist("train", 60000, 1567298545, (int[]){5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949},
          (uint8_t[]){0, 0, 0, 81, 240, 253, 253, 119, 25, 0}, (uint8_t[]){5, 0, 4, 1, 9, 2, 1, 3, 1, 4});
}
TEST(files_mnist_test) {
    mnist("t10k", 10000, 264923200, (int[]){980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009},
          (uint8_t[]){0, 0, 0, 0, 0, 0, 59, 249, 254, 62}, (uint8_t[]){7, 2, 1, 0, 4, 1, 4, 9, 5, 9});
}

TEST(files_idx_every_element_type) {
    static const struct {
        uint8_t code;
        rg_dtype dt;
        uint8_t one[8]; /* 1, big endian */
        int width;
    } t[] = {{0x08, RG_U8, {1}, 1},           {0x09, RG_I8, {1}, 1},
             {0x0b, RG_I16, {0, 1}, 2},       {0x0c, RG_I32, {0, 0, 0, 1}, 4},
             {0x0d, RG_F32, {0x3f, 0x80}, 4}, {0x0e, RG_F64, {0x3f, 0xf0}, 8}};
    rg_ctx *c = rg_open("REF");
    for (size_t i = 0; i < RG_COUNT(t); i++) {
        uint8_t b[64] = {0, 0, t[i].code, 2, 0, 0, 0, 1, 0, 0, 0, 2};
        memcpy(b + 12, t[i].one, 8);
        memcpy(b + 12 + t[i].width, t[i].one, 8);
        rg_tensor x = rg_load_idx(c, write_bytes("x.idx", b, 12 + 2 * (size_t)t[i].width));
        check_shape(x, t[i].dt, RG_SHAPE(1, 2));
        CHECK_EQ(rg_item(rg_sum(rg_cast(x, RG_F64))), 2);
    }
    rg_tensor s = rg_load_idx(c, write_bytes("x.idx", "\0\0\10\0\7", 5)); /* no axes: one number */
    check_shape(s, RG_U8, RG_SHAPE());
    CHECK_EQ(rg_item(s), 7);
    rg_tensor none = rg_load_idx(c, write_bytes("x.idx", "\0\0\14\2\0\0\0\0\0\0\0\3", 12));
    check_shape(none, RG_I32, RG_SHAPE(0, 3));
    done(c);
}

TEST(files_idx_errors) {
    rg_ctx *c = rg_open("REF");
    rg_load_idx(c, in_dir("absent"));
    check_error(c, RG_EIO, "No such file or directory");
    rg_load_idx(c, in_dir("."));
    check_error(c, RG_EIO, "it is a directory, not a file");
    rg_load_idx(c, NULL);
    check_error(c, RG_EINVAL, "rg_load_idx: the path is NULL");
    rg_load_idx(c, "");
    check_error(c, RG_EINVAL, "the path is empty");
    rg_load_idx(c, "/dev/zero");
    check_error(c, RG_EIO, "not a file");
    rg_load_idx(c, write_bytes("x", "", 0));
    check_error(c, RG_EPARSE, "x: it ends in the header: 4 bytes expected, 0 found");
    rg_load_idx(c, write_bytes("x", "GIF8", 4));
    check_error(c, RG_EPARSE, "not an idx file: it begins with bytes 47 49");
    rg_load_idx(c, write_bytes("x", "\0\0\7\1\0\0\0\1a", 9));
    check_error(c, RG_EPARSE, "element type 07");
    rg_load_idx(c, write_bytes("x", "\0\0\10\21", 4));
    check_error(c, RG_ELIMIT, "17 axes; a tensor has at most 16");
    rg_load_idx(c, write_bytes("x", "\0\0\10\1\0\0\0\2a", 9));
    check_error(c, RG_EPARSE, "its header asks for 2 bytes of data; the file has 1");
    rg_load_idx(c, write_bytes("x", "\0\0\10\1\0\0\0\1ab", 10));
    check_error(c, RG_EPARSE, "there is more data than its header says");
    rg_load_idx(c, write_bytes("x", "\0\0\10\3\377\377\377\377\377\377\377\377\377\377\377\377", 16));
    check_error(c, RG_ELIMIT, "more than 2^63 bytes");
    done(c);
}

TEST(files_idx_compressed) {
    rg_ctx *c = rg_open("REF");
    static const char small[] = "\0\0\10\1\0\0\0\3abc";
    char *path = in_dir("x.gz");
    gzFile f = gzopen(path, "wb");
    CHECK_EQ(gzwrite(f, small, 11), 11);
    gzclose(f);
    check_shape(rg_load_idx(c, path), RG_U8, RG_SHAPE(3));

    char *p;
    size_t n;
    CHECK_EQ(os_read_file(&err, &arena, path, 1 << 20, &p, &n), 0);
    rg_load_idx(c, write_bytes("cut.gz", p, n - 9));
    check_error(c, RG_EPARSE, "cut.gz: its compressed data is broken: ");
    p[n - 6] ^= 1; /* the checksum */
    rg_load_idx(c, write_bytes("sum.gz", p, n));
    check_error(c, RG_EPARSE, "its compressed data is broken: ");
    done(c);
}

/* 64 MB of zeros in 64 KB: the header says how much of it is wanted, and what cannot be there is not asked for. */
TEST(files_idx_bomb) {
    rg_ctx *c = rg_open("REF");
    static char zeros[1 << 20];
    static const char *const head[] = {"\0\0\10\1\0\0\0\5", "\0\0\16\1\377\377\377\377"};
    static const char *const words[] = {"there is more data than its header says",
                                        "its header asks for 34359738360 bytes of data; the file of this"};
    for (int i = 0; i < 2; i++) {
        char *path = in_dir("bomb.gz");
        gzFile f = gzopen(path, "wb9");
        gzwrite(f, head[i], 8);
        for (int k = 0; k < 64; k++) gzwrite(f, zeros, sizeof zeros);
        gzclose(f);
        rg_load_idx(c, path);
        check_error(c, RG_EPARSE, words[i]);
        rg_usage u;
        CHECK_EQ(rg_stats(c, &u), RG_OK);
        CHECK_EQ(u.peak, 0);
    }
    done(c);
}

/* ---- files from the Python world: tests/values/make_safetensors.py ---------------------------------------------- */

static const struct kind {
    const char *name;
    int64_t d[3];
    size_t n;
} kinds[FILE_TYPES] = {{"bool", {7}, 1},      {"i8", {3}, 1},     {"i16", {2, 5}, 2},  {"i32", {0}, 0},
                       {"i64", {2, 1, 3}, 3}, {"u8", {5}, 1},     {"u16", {0, 4}, 2},  {"u32", {1}, 1},
                       {"u64", {2, 2}, 2},    {"f16", {3, 3}, 2}, {"bf16", {4, 2}, 2}, {"f32", {2, 3, 4}, 3},
                       {"f64", {6}, 1}};

static uint16_t half(double v, int mantissa, int bias) { /* exact values only */
    if (v == 0) return 0;
    int ex;
    double m = frexp(fabs(v), &ex);
    unsigned bits = (unsigned)((m * 2 - 1) * (1 << mantissa));
    return (uint16_t)((v < 0) << 15 | (unsigned)(ex - 1 + bias) << mantissa | bits);
}

/* Element i as the script makes it. */
static void put(rg_dtype dt, int64_t i, void *out) {
    int64_t v = (i * 37 + 11) % 101 - 50;
    float f = (float)v * 0.25f;
    double d = (double)v * 0.25;
    uint16_t h = dt == RG_F16 ? half(d, 10, 15) : half(d, 7, 127);
    bool b = i % 3 == 0;
    const void *from = dt == RG_BOOL  ? (void *)&b
                       : dt == RG_F32 ? (void *)&f
                       : dt == RG_F64 ? (void *)&d
                                      : &v;
    if (dt == RG_F16 || dt == RG_BF16) from = &h;
    memcpy(out, from, rg_dtype_size(dt)); /* little endian: the low bytes of v are v, wrapped */
}

static void check_values(rg_tensor x, rg_dtype dt, rg_ints shape) {
    char got[1024], want[8];
    check_shape(x, dt, shape);
    size_t width = rg_dtype_size(dt);
    CHECK_EQ(rg_read(x, got, sizeof got), RG_OK);
    for (int64_t i = 0; i < rg_size(x); i++) {
        put(dt, i, want);
        if (memcmp(got + (size_t)i * width, want, width))
            FAIL("element %lld of %s", (long long)i, rg_dtype_name(dt));
    }
}
static rg_ints shape_of(rg_dtype dt) { return (rg_ints){kinds[dt].d, kinds[dt].n}; }

static rg_tensor make(rg_ctx *c, rg_dtype dt) {
    char data[1024];
    int64_t n = 1;
    for (size_t i = 0; i < kinds[dt].n; i++) n *= kinds[dt].d[i];
    for (int64_t i = 0; i < n; i++) put(dt, i, data + (size_t)i * rg_dtype_size(dt));
    return rg_from(c, dt, data, RG_LIST(kinds[dt].d, kinds[dt].n));
}

TEST(files_npy_of_numpy) {
    rg_ctx *c = rg_open(NULL);
    char path[64];
    for (int dt = 0; dt < FILE_TYPES; dt++) {
        snprintf(path, sizeof path, "tests/values/files/%s.npy", kinds[dt].name);
        check_values(rg_load_npy(c, path), (rg_dtype)dt, shape_of((rg_dtype)dt));
    }
    check_values(rg_load_npy(c, "tests/values/files/fortran.npy"), RG_I32, RG_SHAPE(2, 3, 4));
    check_values(rg_load_npy(c, "tests/values/files/big.npy"), RG_F64, RG_SHAPE(2, 3));
    check_values(rg_load_npy(c, "tests/values/files/big_fortran.npy"), RG_I16, RG_SHAPE(3, 2));
    check_values(rg_load_npy(c, "tests/values/files/version2.npy"), RG_U16, RG_SHAPE(2, 4));
    check_values(rg_load_npy(c, "tests/values/files/version3.npy"), RG_U16, RG_SHAPE(2, 4));
    rg_load_npy(c, "tests/values/files/structured.npy");
    check_error(c, RG_EUNSUPPORTED, "structured.npy: a structured array");
    rg_load_npy(c, "tests/values/files/objects.npy");
    check_error(c, RG_EUNSUPPORTED, "an array of Python objects");
    rg_load_npy(c, "tests/values/files/complex.npy");
    check_error(c, RG_EUNSUPPORTED, "elements of dtype '<c8'");
    rg_load_npy(c, "tests/values/files/text.npy");
    check_error(c, RG_EUNSUPPORTED, "elements of dtype '<U2'");
    done(c);
}

TEST(files_safetensors_of_python) {
    rg_ctx *c = rg_open(NULL);
    rg_file *f = rg_file_open(c, "tests/values/files/torch.safetensors");
    CHECK(f != NULL);
    CHECK_EQ(rg_file_count(f), FILE_TYPES);
    for (int dt = 0; dt < FILE_TYPES; dt++) {
        char name[16];
        snprintf(name, sizeof name, "t.%s", kinds[dt].name);
        check_values(rg_file_get(f, name), (rg_dtype)dt, shape_of((rg_dtype)dt));
    }
    for (size_t i = 0; i < FILE_TYPES; i++) CHECK(!strncmp(rg_file_name(f, i), "t.", 2));
    CHECK(rg_file_name(f, FILE_TYPES) == NULL);
    CHECK_STR(rg_file_note(f, "format"), "pt");
    CHECK_STR(rg_file_note(f, "note"), "quotes \" and \\ and \xc3\xbc and \xf0\x9f\x98\x80\n");
    CHECK(rg_file_note(f, "absent") == NULL && rg_file_note(f, NULL) == NULL);
    rg_tensor kept = rg_file_get(f, "t.f64");
    rg_file_close(f);
    check_values(kept, RG_F64, RG_SHAPE(6)); /* tensors stay */
    f = rg_file_open(c, "tests/values/files/numpy.safetensors");
    CHECK_STR(rg_file_name(f, 0), "\xc3\xbc/\xf0\x9f\x98\x80 \"x\"");
    check_values(rg_file_get(f, rg_file_name(f, 0)), RG_F32, RG_SHAPE(3));
    CHECK(rg_file_note(f, "format") == NULL);
    done(c); /* closes f */
}

static void save_ours(rg_ctx *c) {
    rg_tensor x[FILE_TYPES];
    const char *name[FILE_TYPES];
    for (int dt = 0; dt < FILE_TYPES; dt++) {
        x[dt] = make(c, (rg_dtype)dt);
        name[dt] = arena_printf(&arena, "t.%s", kinds[dt].name);
        CHECK_EQ(rg_save_npy(x[dt], in_dir(arena_printf(&arena, "%s.npy", kinds[dt].name))), RG_OK);
    }
    CHECK_EQ(rg_save(in_dir("all.safetensors"), name, RG_ARRAY(x, FILE_TYPES)), RG_OK);
}

/* Outside this repository; with the packages installed:  PYTHON=.. ridge-test -a files_python */
TEST_MANUAL(files_python_reads_ours, 120) {
    rg_ctx *c = rg_open(NULL);
    const char *python = getenv("PYTHON");
    char *out;
    int status;
    in_dir("");
    save_ours(c);
    const char *argv[] = {python ? python : "python3", "tests/values/make_safetensors.py", "check", dir,
                          NULL};
    CHECK_EQ(os_run(&err, &arena, argv, &status, &out), 0);
    if (strstr(out, "ModuleNotFoundError"))
        SKIP("the package safetensors, numpy, torch or ml_dtypes is missing");
    if (status) FAIL("%s", out);
    TEST_INFO("%s", out);
    done(c);
}

/* ---- round trips -------------------------------------------------------------------------------------------------- */

TEST(files_round_trip_every_dtype) {
    rg_ctx *c = rg_open(NULL);
    in_dir("");
    save_ours(c);
    rg_file *f = rg_file_open(c, in_dir("all.safetensors"));
    CHECK_EQ(rg_file_count(f), FILE_TYPES);
    for (int dt = 0; dt < FILE_TYPES; dt++) {
        char *name = arena_printf(&arena, "t.%s", kinds[dt].name);
        CHECK_STR(rg_file_name(f, (size_t)dt), name); /* the order given */
        check_values(rg_file_get(f, name), (rg_dtype)dt, shape_of((rg_dtype)dt));
        char *npy = in_dir(arena_printf(&arena, "%s.npy", kinds[dt].name));
        check_values(rg_load_npy(c, npy), (rg_dtype)dt, shape_of((rg_dtype)dt));
    }
    done(c);
}

/* Every bit pattern of 16-bit floats; NaNs with a payload, both signs of zero, denormals of the others. */
TEST(files_round_trip_bits) {
    static const char *const names[] = {"h", "b", "f", "d", "i"};
    static const rg_dtype dts[] = {RG_F16, RG_BF16, RG_F32, RG_F64, RG_I64};
    static uint64_t bits[65536 / 4], got[65536 / 4];
    rg_ctx *c = rg_open(NULL);
    rg_tensor x[5];
    for (size_t i = 0; i < RG_COUNT(bits); i++) { /* as 16-bit elements all of them occur */
        uint64_t k = i * 4;
        bits[i] = k | (k + 1) << 16 | (k + 2) << 32 | (k + 3) << 48;
    }
    bits[0] = 0x7ff0000000000001, bits[1] = 0xfff8123456789abc, bits[2] = 0x7f800001ffc12345, bits[3] = 1;
    bits[4] = 0x8000000000000000;
    for (int i = 0; i < 5; i++)
        x[i] = rg_from(c, dts[i], bits, RG_SHAPE((int64_t)(sizeof bits / rg_dtype_size(dts[i]))));
    CHECK_EQ(rg_save(in_dir("x"), names, RG_ARRAY(x, 5)), RG_OK);
    rg_file *f = rg_file_open(c, in_dir("x"));
    for (int i = 0; i < 5; i++) {
        memset(got, 1, sizeof got);
        CHECK_EQ(rg_read(rg_file_get(f, names[i]), got, sizeof got), RG_OK);
        CHECK(!memcmp(bits, got, sizeof bits));
        memset(got, 1, sizeof got);
        CHECK_EQ(rg_save_npy(x[i], in_dir("x.npy")), RG_OK);
        CHECK_EQ(rg_read(rg_load_npy(c, in_dir("x.npy")), got, sizeof got), RG_OK);
        CHECK(!memcmp(bits, got, sizeof bits));
    }
    done(c);
}

/* What is saved is computed in one plan; views, one tensor under two names and results of assignments are fine. */
TEST(files_save_computes_in_one_plan) {
    rg_ctx *c = rg_open(NULL);
    rg_tensor a = rg_arange(c, RG_F32, 0, 6, 1), b = rg_reshape(a, RG_SHAPE(2, 3));
    rg_tensor w = rg_from(c, RG_F32, (float[]){1, 2, 3}, RG_SHAPE(3));
    rg_assign(w, rg_add(w, 1));
    rg_tensor x[] = {rg_transpose(b, 0, 1), b, rg_mul(a, 2), w, w, rg_full(c, RG_U8, 7, RG_SHAPE(3))};
    static const char *const names[] = {"t", "b", "double", "w", "again", "seven"};
    rg_usage before, after;
    rg_stats(c, &before);
    CHECK_EQ(rg_save(in_dir("x"), names, RG_ARRAY(x, 6)), RG_OK);
    rg_stats(c, &after);
    CHECK_EQ(after.realizes - before.realizes, 1);
    rg_file *f = rg_file_open(c, in_dir("x"));
    static const float want[][6] = {
        {0, 3, 1, 4, 2, 5}, {0, 1, 2, 3, 4, 5}, {0, 2, 4, 6, 8, 10}, {2, 3, 4}, {2, 3, 4}};
    for (int i = 0; i < 5; i++) {
        float got[6] = {0};
        CHECK_EQ(rg_read(rg_file_get(f, names[i]), got, sizeof got), RG_OK);
        CHECK(!memcmp(got, want[i], sizeof got));
    }
    check_shape(rg_file_get(f, "t"), RG_F32, RG_SHAPE(3, 2));
    CHECK_EQ(rg_item(rg_sum(rg_cast(rg_file_get(f, "seven"), RG_I32))), 21);
    CHECK_EQ(rg_save_npy(rg_mul(a, 3), in_dir("y.npy")), RG_OK); /* a nested call: its handle goes away */
    rg_usage last;
    rg_stats(c, &last);
    CHECK_EQ(rg_item(rg_sum(rg_load_npy(c, in_dir("y.npy")))), 45);
    done(c);
}

/* ---- errors ---------------------------------------------------------------------------------------------------------- */

static void check_header(rg_ctx *c, const char *json, size_t data, rg_status code, const char *words) {
    char b[2048] = {0};
    size_t n = strlen(json);
    CHECK(n + data + 8 <= sizeof b);
    b[0] = (char)(n & 255), b[1] = (char)(n >> 8);
    memcpy(b + 8, json, n);
    rg_file *f = rg_file_open(c, write_bytes("m.safetensors", b, 8 + n + data));
    if (code) return CHECK(!f), check_error(c, code, words);
    if (!f) FAIL("%s\n%s", json, rg_error(c));
    rg_file_close(f);
}
#define T(name, dt, shape, a, b) \
    "\"" name "\":{\"dtype\":\"" dt "\",\"shape\":[" shape "],\"data_offsets\":[" #a "," #b "]}"

TEST(files_safetensors_headers) {
    rg_ctx *c = rg_open("REF");
    check_header(c, "{}", 0, RG_OK, "");
    check_header(c, "{ } \n\t ", 0, RG_OK, "");
    check_header(c, "{\"__metadata__\":{}}", 0, RG_OK, "");
    check_header(c, "{" T("a", "U8", "3", 0, 3) "," T("b", "F32", "2,1", 3, 11) "}  ", 11, RG_OK, "");
    check_header(c, "{" T("b", "U8", "0,9223372036854775807", 0, 0) "," T("a", "U8", "3", 0, 3) "}", 3, RG_OK,
                 "");
    check_header(c, "{" T("h.1.weight", "U8", "192", 0, 192) "," T("h.0.weight", "U8", "128", 128, 256) "}",
                 256, RG_EPARSE,
                 "m.safetensors: tensor 'h.0.weight': bytes 128..256 overlap those of 'h.1.weight'");
    check_header(c, "{" T("a", "U8", "2", 0, 2) "," T("b", "U8", "2", 4, 6) "}", 6, RG_EPARSE,
                 "tensor 'b': bytes 2..4 before it belong to no tensor");
    check_header(c, "{" T("a", "U8", "2", 0, 2) "}", 3, RG_EPARSE,
                 "the tensors have 2 bytes together; the file has 3 after its header");
    check_header(c, "{" T("a", "U8", "2", 0, 2) "}", 1, RG_EPARSE,
                 "tensor 'a': bytes 0..2 are not inside the data, which has 1");
    check_header(c, "{" T("a", "U8", "2", 2, 0) "}", 2, RG_EPARSE, "bytes 2..0 are not inside");
    check_header(c, "{" T("a", "F32", "2", 0, 4) "}", 4, RG_EPARSE,
                 "tensor 'a': its shape needs 8 bytes of F32; bytes 0..4 are 4");
    check_header(c, "{" T("a", "F64", "4611686018427387904,4", 0, 0) "}", 0, RG_ELIMIT,
                 "more than 2^63 bytes");
    check_header(c, "{" T("a", "U8", "1", 0, 1) "," T("a", "U8", "1", 1, 2) "}", 2, RG_EPARSE,
                 "tensor 'a': this name appears twice");
    check_header(c, "{" T("a", "U8", "1", 0, 1) "," T("\\u0061", "U8", "1", 1, 2) "}", 2, RG_EPARSE, "twice");
    check_header(c, "{" T("a", "F4", "1", 0, 1) "}", 1, RG_EUNSUPPORTED, "tensor 'a': dtype F4; there are");
    check_header(c, "{" T("a", "U8", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 0, 1) "}", 1, RG_ELIMIT,
                 "more than 16");
    check_header(c, "{" T("a", "U8", "-1", 0, 1) "}", 1, RG_EPARSE, "a whole number of 0 or more expected");
    check_header(c, "{" T("a", "U8", "1.0", 0, 1) "}", 1, RG_EPARSE, "a whole number expected");
    check_header(c, "{" T("a", "U8", "01", 0, 1) "}", 1, RG_EPARSE, "a number that begins with 0");
    check_header(c, "{" T("a", "U8", "9223372036854775808", 0, 1) "}", 1, RG_EPARSE,
                 "a number of 2^63 or more");
    check_header(c, "{" T("a", "U8", "1", 0, 18446744073709551616) "}", 1, RG_EPARSE, "2^63 or more");
    check_header(c, "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, RG_EPARSE, "must all be there");
    check_header(c, "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1]}}", 1, RG_EPARSE,
                 "dtype appears twice");
    check_header(c, "{\"a\":{\"dtype\":\"U8\",\"size\":[1]}}", 1, RG_EPARSE, "field 'size'");
    check_header(c, "{\"a\":{}}", 0, RG_EPARSE, "'\"' expected, found '}'");
    check_header(c, "{\"a\":7}", 0, RG_EPARSE, "'{' expected, found '7'");
    check_header(c, "{\"__metadata__\":{\"a\":7}}", 0, RG_EPARSE, "'\"' expected");
    check_header(c, "{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0, RG_EPARSE, "the key 'a' twice");
    check_header(c, "{\"__metadata__\":{},\"__metadata__\":{}}", 0, RG_EPARSE, "__metadata__ appears twice");
    check_header(c, "{\"__metadata__\":{\"a\":\"\\ud83d\"}}", 0, RG_EPARSE, "half of a surrogate pair");
    check_header(c, "{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, RG_EPARSE, "a NUL character");
    check_header(c, "{\"__metadata__\":{\"a\":\"\\x\"}}", 0, RG_EPARSE, "no such escape");
    check_header(c, "{\"__metadata__\":{\"a\":\"\n\"}}", 0, RG_EPARSE, "a control character");
    check_header(c, "{\"__metadata__\":{\"a\":\"\xff\"}}", 0, RG_EPARSE, "not valid UTF-8");
    check_header(c, "{\"a", 0, RG_EPARSE, "a string without end");
    check_header(c, "{", 0, RG_EPARSE, "'\"' expected, found the end");
    check_header(c, "{}x", 0, RG_EPARSE, "more text after the end");
    check_header(c, " {}", 0, RG_EPARSE, "does not begin with '{'");
    check_header(c, "", 0, RG_EPARSE, "does not begin with '{'");
    rg_file_open(c, write_bytes("m", "\0\0\0", 3));
    check_error(c, RG_EPARSE, "not a safetensors file: it has 3 bytes");
    rg_file_open(c, write_bytes("m", "\377\377\377\377\377\377\377\377{}", 10));
    check_error(c, RG_ELIMIT, "a header of 18446744073709551615 bytes; safetensors allows 100000000");
    rg_file_open(c, write_bytes("m", "\3\0\0\0\0\0\0\0{}", 10));
    check_error(c, RG_EPARSE, "a header of 3 bytes; the file has 2 after its length");
    done(c);
}

TEST(files_get_errors) {
    rg_ctx *c = rg_open("REF");
    CHECK(rg_file_open(c, in_dir("absent")) == NULL);
    check_error(c, RG_EIO, "rg_file_open: cannot open ");
    CHECK_EQ(rg_file_get(NULL, "a").id, 0);
    CHECK_EQ(rg_file_count(NULL), 0);
    CHECK(rg_file_name(NULL, 0) == NULL && rg_file_note(NULL, "a") == NULL);
    rg_file_close(NULL);
    rg_tensor x = rg_full(c, RG_U8, 1, RG_SHAPE(100));
    char *path = in_dir("x");
    CHECK_EQ(rg_save(path, (const char *[]){"x"}, RG_TENSORS(x)), RG_OK);
    rg_file *f = rg_file_open(c, path);
    rg_file_get(f, "y");
    check_error(c, RG_EINVAL, "x has no tensor 'y'; it has 1, the first is 'x'");
    rg_file_get(f, NULL);
    check_error(c, RG_EINVAL, "the name is NULL");
    CHECK_EQ(truncate(path, 100), 0); /* while it is open */
    rg_file_get(f, "x");
    check_error(c, RG_EIO, "tensor 'x': cannot read ");
    done(c);
}

TEST(files_save_errors) {
    rg_ctx *c = rg_open("REF"), *other = rg_open("REF");
    rg_tensor x = rg_full(c, RG_F32, 1, RG_SHAPE(3)), y = rg_full(other, RG_F32, 1, RG_SHAPE(3));
    char *path = in_dir("x");
    CHECK_EQ(rg_save(path, (const char *[]){"a", "a"}, RG_TENSORS(x, x)), RG_EINVAL);
    check_error(c, RG_EINVAL, "tensors 1 and 2 are both named 'a'");
    CHECK_EQ(rg_save(path, (const char *[]){"a", NULL}, RG_TENSORS(x, x)), RG_EINVAL);
    check_error(c, RG_EINVAL, "name 2 is NULL");
    rg_save(path, NULL, RG_TENSORS(x));
    check_error(c, RG_EINVAL, "the list of names is NULL");
    rg_save(path, (const char *[]){"__metadata__"}, RG_TENSORS(x));
    check_error(c, RG_EINVAL, "has another meaning");
    rg_save(path, (const char *[]){"\xff"}, RG_TENSORS(x));
    check_error(c, RG_EINVAL, "name 1 is not valid UTF-8");
    rg_save(path, (const char *[]){"a", "b"}, RG_TENSORS(x, y));
    check_error(c, RG_EINVAL, "tensor 2 belongs to another context");
    rg_save(NULL, (const char *[]){"a"}, RG_TENSORS(x));
    check_error(c, RG_EINVAL, "rg_save: the path is NULL");
    rg_save_npy(x, NULL);
    check_error(c, RG_EINVAL, "rg_save_npy: the path is NULL");
    rg_save_npy(x, in_dir("no/such/folder"));
    check_error(c, RG_EIO, "No such file or directory");
    CHECK_EQ(rg_save(path, (const char *[]){"a"}, RG_ARRAY(NULL, 0)), RG_EINVAL);
    CHECK(!os_exists(path));
    CHECK_EQ(rg_save(path, (const char *[]){"a \"\\\n"}, RG_TENSORS(x)), RG_OK);
    CHECK_STR(rg_file_name(rg_file_open(c, path), 0), "a \"\\\n");
    rg_close(other);
    done(c);
}

/* No room on the disk, played by a limit on the size of files: the old file stays and nothing lies beside it. */
TEST(files_save_whole_or_not_at_all) {
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_full(c, RG_F64, 1, RG_SHAPE(10)), large = rg_full(c, RG_F64, 2, RG_SHAPE(10000));
    char *path = in_dir("x");
    CHECK_EQ(rg_save(path, (const char *[]){"x"}, RG_TENSORS(x)), RG_OK);
    CHECK_EQ(rg_save_npy(x, in_dir("x.npy")), RG_OK);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){16384, 16384});
    CHECK_EQ(rg_save(path, (const char *[]){"x"}, RG_TENSORS(large)), RG_EIO);
    check_error(c, RG_EIO, "File too large");
    CHECK_EQ(rg_save_npy(large, in_dir("x.npy")), RG_EIO);
    check_error(c, RG_EIO, "File too large");
    CHECK_EQ(rg_item(rg_sum(rg_file_get(rg_file_open(c, path), "x"))), 10);
    CHECK_EQ(rg_item(rg_sum(rg_load_npy(c, in_dir("x.npy")))), 10);
    const char *argv[] = {"ls", dir, NULL};
    char *out;
    int status;
    CHECK_EQ(os_run(&err, &arena, argv, &status, &out), 0);
    CHECK_STR(out, "x\nx.npy\n");
    done(c);
}

/* A private checkpoint stays private, and a link to it stays a link. */
TEST(files_save_keeps_mode_and_link) {
    rg_ctx *c = rg_open("REF");
    rg_tensor x = rg_full(c, RG_F64, 3, RG_SHAPE(10));
    struct stat st;
    const char *names[] = {"x"};
    for (int npy = 0; npy < 2; npy++) {
        char *path = write_bytes(npy ? "x.npy" : "x", "old", 3), *link = in_dir(npy ? "link.npy" : "link");
        CHECK(!chmod(path, 0600) && !symlink(npy ? "x.npy" : "x", link));
        CHECK_EQ(npy ? rg_save_npy(x, link) : rg_save(link, names, RG_TENSORS(x)), RG_OK);
        CHECK(!lstat(link, &st) && S_ISLNK(st.st_mode));
        CHECK(!lstat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);
        rg_tensor y = npy ? rg_load_npy(c, path) : rg_file_get(rg_file_open(c, path), "x");
        CHECK_EQ(rg_item(rg_sum(y)), 30);
    }
    done(c);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static void everything(rg_ctx *c) {
    RG_SCOPE(c);
    rg_tensor i = rg_load_idx(c, in_dir("i.gz")), n = rg_load_npy(c, "tests/values/files/big_fortran.npy");
    rg_file *f = rg_file_open(c, "tests/values/files/torch.safetensors");
    rg_tensor x = f ? rg_file_get(f, "t.f32") : RG_NONE;
    rg_save(in_dir("o"), (const char *[]){"i", "n", "x"}, RG_TENSORS(i, n, x));
    rg_save_npy(x, in_dir("o.npy"));
    rg_file_close(f);
}

TEST(files_out_of_memory_anywhere) {
    gzFile f = gzopen(in_dir("i.gz"), "wb");
    gzwrite(f, "\0\0\10\1\0\0\0\3abc", 11);
    gzclose(f);
    rg_ctx *c = rg_open("REF");
    everything(c);
    CHECK_EQ(rg_status_of(c), RG_OK);
    int64_t live = mem_live(), n = 0;
    for (bool failed = true; failed; n++) {
        in_dir("o"), in_dir("o.npy"), in_dir("i.gz"); /* the arena of the test has room */
        int64_t before = mem_live();
        mem_fail_at(n + 1);
        everything(c);
        mem_fail_at(-1);
        failed = rg_status_of(c) != RG_OK;
        if (failed) CHECK_EQ(rg_status_of(c), RG_ENOMEM);
        CHECK_EQ(rg_clear_error(c), RG_OK);
        CHECK(mem_live() <= before + 4);
        CHECK(n < 10000);
    }
    TEST_COUNT(n, "allocations that failed in loading and saving");
    CHECK(mem_live() <= live + 8);
    done(c);
}
