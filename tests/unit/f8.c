/* Tests of the 8-bit floats: casts against what PyTorch makes of them (tests/values/make_f8.py), by the arithmetic of the IR, by
 * the oracle and by compiled kernels; that they are for storage, files and factors of products, and say so. */
#include "base/base.h"
#include "ir/ir.h"
#include "ref/ref.h"
#include "test.h"

#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <string.h>

struct f8_line {
    bool up, e5m2;
    uint8_t byte;
    float f;
};
enum { MOST = 4000 };
static struct f8_line line[MOST];

static int read_lines(void) {
    FILE *f = fopen("tests/values/f8.txt", "r");
    char how[8], type[16];
    unsigned a, b;
    int n = 0;
    if (!f) FAIL("tests/values/f8.txt is missing");
    while (n < MOST && fscanf(f, "%7s %15s %x %x", how, type, &a, &b) == 4) {
        struct f8_line *l = &line[n++];
        l->up = !strcmp(how, "up"), l->e5m2 = !strcmp(type, "f8e5m2");
        uint32_t bits = l->up ? b : a;
        l->byte = (uint8_t)(l->up ? a : b);
        memcpy(&l->f, &bits, 4);
    }
    fclose(f);
    CHECK(n > 2000);
    return n;
}

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}
static bool is_nan(const struct f8_line *l) { return isnan(l->f); }

TEST(f8_values_and_rounding) {
    int n = read_lines();
    for (int i = 0; i < n; i++) {
        const struct f8_line *l = &line[i];
        enum dtype dt = l->e5m2 ? DT_F8E5M2 : DT_F8E4M3;
        union val in = {.i = l->byte}, out;
        uint8_t byte = l->byte;
        double want = l->f;
        if (l->up) {
            CHECK(op_eval(OP_BITCAST, dt, DT_U8, &in, &out) && same(out.f, want));
            CHECK(same(ref_read(dt, &byte).f, want));
            continue;
        }
        in.f = want;
        CHECK(op_eval(OP_CAST, dt, DT_F32, &in, &out) && same(out.f, dt_round(dt, want)));
        if (!is_nan(l) && dt_f8_bits(dt, out.f) != l->byte)
            FAIL("%a is %02x, not %02x", want, dt_f8_bits(dt, out.f), l->byte);
        ref_write(dt, &byte, (union ref_val){.f = ref_round(dt, want)});
        if (!is_nan(l)) CHECK_EQ(byte, l->byte);
    }
}

static void check_device(const char *name) {
    static float f[MOST], up[MOST];
    static uint8_t b[MOST], down[MOST];
    int n = read_lines();
    rg_ctx *c = rg_open(name);
    for (int t = 0; t < 2; t++) {
        int64_t nu = 0, nd = 0;
        rg_dtype dt = t ? RG_F8E5M2 : RG_F8E4M3;
        for (int i = 0; i < n; i++)
            if (line[i].e5m2 == t) line[i].up ? (b[nu++] = line[i].byte) : (f[nd++] = line[i].f, 0);
        rg_tensor x = rg_cast(rg_from(c, dt, b, RG_SHAPE(nu)), RG_F32),
                  y = rg_cast(rg_from(c, RG_F32, f, RG_SHAPE(nd)), dt);
        if (rg_read(x, up, (size_t)nu * 4) || rg_read(y, down, (size_t)nd)) FAIL("%s", rg_error(c));
        nu = nd = 0;
        for (int i = 0; i < n; i++) {
            if (line[i].e5m2 != t) continue;
            if (line[i].up && !same(up[nu++], line[i].f))
                FAIL("%s: %02x is %g, not %g", name, line[i].byte, up[nu - 1], line[i].f);
            if (!line[i].up && down[nd++] != line[i].byte && !is_nan(&line[i]))
                FAIL("%s: %a is %02x, not %02x", name, line[i].f, down[nd - 1], line[i].byte);
        }
    }
    CHECK_EQ(rg_close(c), 0);
}

TEST(f8_casts_on_devices) {
    check_device("CPU");
    check_device("REF");
}
TEST_MANUAL(cuda_gpu_f8_casts, 60) { check_device("CUDA"); }

/* All 256 bit patterns, joined, rolled and stacked: NaN stays one, and the gradient passes. */
static void check_moves(const char *device, rg_dtype dt) {
    rg_ctx *c = rg_open(device);
    uint8_t in[256], out[512];
    float g[3];
    for (int i = 0; i < 256; i++) in[i] = (uint8_t)i;
    rg_tensor x = rg_from(c, dt, in, RG_SHAPE(256)), h = rg_roll(x, RG_SHAPE(1), RG_SHAPE(0));
    rg_tensor both = rg_cat(RG_TENSORS(x, h), 0), pair = rg_stack(RG_TENSORS(h, x), 0);
    CHECK_EQ(rg_dtype_of(both), dt);
    CHECK_EQ(rg_dtype_of(pair), dt);
    for (int k = 0; k < 2; k++) {
        if (rg_read(k ? pair : both, out, sizeof out)) FAIL("%s", rg_error(c));
        for (int i = 0; i < 512; i++) {
            uint8_t want = (uint8_t)((i < 256) == !k ? i : i - 1);
            double a = dt_number(dt == RG_F8E4M3 ? DT_F8E4M3 : DT_F8E5M2, &want);
            double b = dt_number(dt == RG_F8E4M3 ? DT_F8E4M3 : DT_F8E5M2, &out[i]);
            if (!same(a, b)) FAIL("%s: [%d] is %g, not %g", device, i, b, a);
        }
    }
    rg_tensor y = rg_from(c, RG_F32, (float[]){1, 2, 3}, RG_SHAPE(3)), dy;
    rg_tensor wide = rg_roll(rg_expand(rg_cast(y, dt), RG_SHAPE(2, 3)), RG_SHAPE(1), RG_SHAPE(1));
    rg_tensor rolled = rg_cast(wide, RG_F32);
    rg_grad(rg_sum(rg_mul(rolled, y)), RG_TENSORS(y), &dy); /* 2 y[i-1] + 2 y[i+1] */
    if (rg_read(dy, g, sizeof g)) FAIL("%s", rg_error(c));
    CHECK(g[0] == 10 && g[1] == 8 && g[2] == 6);
    CHECK_EQ(rg_close(c), 0);
}

TEST(f8_moves) {
    for (int k = 0; k < 4; k++) check_moves(k % 2 ? "CPU" : "REF", k < 2 ? RG_F8E4M3 : RG_F8E5M2);
}

TEST(f8_is_for_storage) {
    rg_ctx *c = rg_open("CPU");
    uint8_t bytes[4] = {0x38, 0x40, 0xb8, 0x7e}; /* 1, 2, -1, 448 */
    rg_tensor x = rg_from(c, RG_F8E4M3, bytes, RG_SHAPE(2, 2));
    float out[4];
    /* products are floats */
    rg_tensor p = rg_matmul(x, rg_transpose(x, 0, 1));
    CHECK_EQ(rg_dtype_of(p), RG_F32);
    CHECK_EQ(rg_read(p, out, sizeof out), 0);
    CHECK(out[0] == 5 && out[1] == 895 && out[3] == 1 + 448 * 448);
    /* beside a larger type it becomes that */
    CHECK_EQ(rg_dtype_of(rg_add(x, rg_ones(c, RG_BF16, RG_SHAPE(2, 2)))), RG_BF16);
    CHECK_EQ(rg_dtype_size(RG_F8E5M2), 1);
    CHECK(!strcmp(rg_dtype_name(RG_F8E4M3), "f8e4m3"));
    rg_add(x, x);
    CHECK(rg_status_of(c) == RG_EINVAL && strstr(rg_error(c), "cast it to bf16 or f32"));
    rg_clear_error(c);
    rg_sum(x);
    CHECK(rg_status_of(c) == RG_EINVAL && strstr(rg_error(c), "8 bits"));
    rg_clear_error(c);
    rg_sort(x, -1);
    CHECK(rg_status_of(c) == RG_EINVAL && strstr(rg_error(c), "8 bits"));
    rg_clear_error(c);
    /* files: safetensors has them, NumPy does not */
    char *dir = NULL, path[512];
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    CHECK_EQ(os_temp_dir(&err, &arena, &dir), 0);
    snprintf(path, sizeof path, "%s/x.safetensors", dir);
    CHECK_EQ(rg_save(path, (const char *[]){"x"}, RG_ARRAY(&x, 1)), 0);
    rg_file *f = rg_file_open(c, path);
    rg_tensor y = rg_file_get(f, "x");
    uint8_t again[4];
    CHECK_EQ(rg_dtype_of(y), RG_F8E4M3);
    CHECK(!rg_read(y, again, 4) && !memcmp(again, bytes, 4));
    snprintf(path, sizeof path, "%s/x.npy", dir);
    CHECK_EQ(rg_save_npy(x, path), RG_EUNSUPPORTED);
    rg_clear_error(c);
    rg_close(c);
    os_remove_tree(dir);
    arena_free(&arena);
}
