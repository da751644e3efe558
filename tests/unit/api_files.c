/* Files through the public API: idx and MNIST, npy, safetensors; round trips, errors, memory.
 * The numbers of MNIST were counted with NumPy. */
#include "base/base.h"

#include <ridge.h>
#include <test.h>

#include <stdlib.h>
#include <unistd.h>

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
