/* slow_convs.c: which form a GPU's kernels get for convolutions of awkward sizes: few channels, groups of few channels, strides beside
 * dilations, transposed images. Planned against the library that stands in for the driver (tests/fake).
 * Code: src/schedule/implicit_gemm.c, src/tune/choose/gpu_conv.c, gpu_transpose.c, gpu_heuristic.c */
#include "captured.h"
#include "fake/cuda.h"

struct awkward {
    const char *name;
    rg_dtype dt;
    int64_t x[4], w[4], stride[2], pad[2], dilation[2], groups;
    bool transposed;          /* the convolution */
    bool swapped;             /* rows and columns of the images in memory */
    const char *want, *never; /* in what DEBUG=3 says of it */
};

static const struct awkward form[] = {
    {"phases that get nothing are padded after the sum, which is a GEMM",
     RG_BF16,
     {3, 32, 251, 155},
     {32, 32, 3, 7},
     {3, 2},
     {1, 6},
     {1, 2},
     1,
     true,
     false,
     "TC(",
     "opts: none\n                          b0 bf16[22"},
    {"few channels are copied channels-last 16 bytes a thread",
     RG_BF16,
     {64, 128, 56, 56},
     {128, 16, 3, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     8,
     false,
     false,
     "E_512_58_58_16            opts: TILE(i3,8,i3_v) VEC(i3_v)",
     NULL},
    {"threads of such a copy follow the rows of the source",
     RG_BF16,
     {31, 16, 64, 33},
     {64, 16, 3, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     1,
     false,
     true,
     "opts: ORDER(i2,i1) TILE(i3,8,i3_v) VEC(i3_v)",
     NULL},
    {"three output channels are padded to a tile",
     RG_BF16,
     {4, 64, 112, 128},
     {3, 64, 3, 3},
     {1, 1},
     {1, 1},
     {1, 1},
     1,
     false,
     false,
     "TC(",
     NULL},
    {"and so are groups of four",
     RG_BF16,
     {2, 128, 112, 129},
     {32, 16, 4, 3},
     {1, 2},
     {3, 2},
     {2, 2},
     8,
     false,
     true,
     "TC(i1_d_t,",
     NULL},
    {"three channels of fp32 are padded to a direct convolution",
     RG_F32,
     {3, 128, 192, 139},
     {3, 128, 2, 3},
     {1, 1},
     {0, 2},
     {1, 2},
     1,
     false,
     true,
     "PADTO(i1,4) PADTO(i3,2) PADTO(i2,8)",
     NULL},
    {"one image is enough for one",
     RG_F32,
     {1, 96, 238, 384},
     {8, 96, 5, 5},
     {2, 1},
     {2, 2},
     {1, 1},
     1,
     false,
     false,
     "PIPE(b3,",
     NULL},
    {"threads follow the rows of the images",
     RG_F32,
     {31, 128, 32, 23},
     {16, 16, 1, 1},
     {1, 1},
     {0, 0},
     {1, 1},
     8,
     false,
     true,
     "ORDER(i3,i2) UNROLL(k4)",
     NULL},
    {"seventeen channels are one register tile",
     RG_F64,
     {4, 16, 373, 263},
     {17, 16, 1, 1},
     {1, 3},
     {0, 0},
     {1, 1},
     1,
     false,
     false,
     "TILE(i1,17,i1_r) REG(i1_r)",
     NULL},
};

static rg_tensor filled(rg_ctx *c, rg_dtype dt, const int64_t *d, bool swapped) {
    int64_t n[4] = {d[0], d[1], d[swapped ? 3 : 2], d[swapped ? 2 : 3]};
    rg_tensor x = rg_cast(rg_rand(c, RG_F32, RG_LIST(n, 4)), dt);
    rg_realize(x);
    return swapped ? rg_transpose(x, 2, 3) : x;
}

static void convolve(rg_ctx *c, const struct awkward *a) {
    int64_t out = a->transposed ? a->w[1] * a->groups : a->w[0];
    rg_tensor x = filled(c, a->dt, a->x, a->swapped), w = filled(c, a->dt, a->w, false), b;
    b = rg_cast(rg_rand(c, RG_F32, RG_SHAPE(out)), a->dt);
    rg_realize(b);
    rg_ints stride = RG_LIST(a->stride, 2), pad = RG_LIST(a->pad, 2), dilation = RG_LIST(a->dilation, 2);
    fprintf(stderr, "program %s\n", a->name);
    if (a->transposed)
        rg_realize(rg_conv_transpose2d(x, w, .bias = b, .stride = stride, .padding = pad,
                                       .dilation = dilation, .groups = a->groups));
    else
        rg_realize(rg_conv2d(x, w, .bias = b, .stride = stride, .padding = pad, .dilation = dilation,
                             .groups = a->groups));
}

/* What was said about the program, as a string of its own. */
static char *said(struct arena *a, const char *text, const char *name) {
    const char *p = strstr(text, arena_printf(a, "program %s\n", name)),
               *end = p ? strstr(p + 1, "\nprogram ") : NULL;
    if (!p) FAIL("nothing about: %s", name);
    return arena_strdup(a, p, end ? (size_t)(end - p) : strlen(p));
}

TEST(slow_convs_none) {
    struct fake *f = fake();
    struct err e = {0};
    struct arena arena;
    struct captured heard = capture_start();
    char *text;
    f->memory = (size_t)16 << 30; /* asked for, not touched */
    unsetenv("RIDGE_MODEL");      /* the GPU's own */
    rg_ctx *c = fake_open(f);
    for (size_t i = 0; i < RG_COUNT(form); i++) {
        RG_SCOPE(c);
        convolve(c, &form[i]);
    }
    capture_stop(&heard);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    CHECK(!rg_close(c));
    arena_init(&arena, &e);
    capture_text(&heard, &e, &arena, &text);
    for (size_t i = 0; i < RG_COUNT(form); i++) {
        const struct awkward *a = &form[i];
        const char *of = said(&arena, text, a->name);
        if (a->want && !strstr(of, a->want)) FAIL("no `%s`: %s", a->want, of);
        if (a->never && strstr(of, a->never)) FAIL("`%s`: %s", a->never, of);
    }
    arena_free(&arena);
}
