/* unet.c: a UNet learns to draw digits out of noise.
 *
 *     make mnist && build/examples/unet                 learns data/mnist, then draws in the terminal
 *     build/examples/unet --png digits.png --steps 2000 --width 64 --dtype bf16 --device CUDA
 *
 * Flow matching: between noise (time 0) and a digit (time 1) lies a straight line; the network sees a point of it and the time and
 * tells the direction, digit - noise. To draw, it is followed from fresh noise in small steps. The network has two
 * levels of convolutions with group norms and SiLU, attention at the lowest, upsampling, and what was at a level on the way down is
 * joined to it on the way up. */
#include <ridge.h>

#include "bar.h"
#include "flags.h"

#include <stdlib.h>

struct unet {
    rg_ctx *c;
    int width, batch, steps, walk, seed;
    double lr;
    const char *data, *png, *dtype, *device;
    rg_module *net;
    rg_optim *optim;
    rg_tensor images; /* U8 (60000, 28, 28) */
    rg_tensor time;   /* (N, 4 * width): what the blocks of this forward pass know of the time */
};

/* ---- the model ---------------------------------------------------------------------------------------------- */

static rg_tensor through(rg_module *m, const char *name, rg_tensor x) {
    return rg_nn_forward(rg_nn_child(m, name), x);
}

static rg_module *conv(rg_ctx *c, int64_t in, int64_t out, int64_t size, int64_t stride) {
    return rg_nn_conv2d(c, in, out, RG_SHAPE(size), .stride = RG_SHAPE(stride),
                        .padding = RG_SHAPE(size / 2));
}

/* x + two convolutions of it, the time added between them. */
static rg_tensor block(rg_module *m, rg_tensor x, void *user) {
    const struct unet *u = user;
    rg_tensor y = through(m, "conv1", rg_silu(through(m, "norm1", x))), t = through(m, "time", u->time);
    y = rg_add(y, rg_reshape(t, RG_SHAPE(rg_dim(t, 0), rg_dim(t, 1), 1, 1)));
    y = through(m, "conv2", rg_silu(through(m, "norm2", y)));
    return rg_add(rg_nn_child(m, "skip") ? through(m, "skip", x) : x, y);
}

static rg_module *block_new(struct unet *u, int64_t in, int64_t out) {
    rg_ctx *c = u->c;
    rg_module *m = rg_nn_module(c, block, u);
    rg_nn_add(m, "norm1", rg_nn_groupnorm(c, 8, in));
    rg_nn_add(m, "conv1", conv(c, in, out, 3, 1));
    rg_nn_add(m, "time", rg_nn_linear(c, 4 * u->width, out));
    rg_nn_add(m, "norm2", rg_nn_groupnorm(c, 8, out));
    rg_nn_add(m, "conv2", conv(c, out, out, 3, 1));
    if (in != out) rg_nn_add(m, "skip", conv(c, in, out, 1, 1));
    return m;
}

/* Self-attention over the pixels of x (N, C, H, W). */
static rg_tensor look_around(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_tensor pixels = rg_transpose(rg_flatten(through(m, "norm", x), 2, 3), 1, 2);
    rg_tensor y = rg_transpose(through(m, "attention", pixels), 1, 2);
    return rg_add(x, rg_reshape(y, RG_SHAPE(rg_dim(x, 0), rg_dim(x, 1), rg_dim(x, 2), rg_dim(x, 3))));
}

static rg_tensor up(rg_tensor x) { return rg_interpolate(x, RG_SHAPE(2 * rg_dim(x, 2), 2 * rg_dim(x, 3))); }

static rg_tensor unet(rg_module *m, rg_tensor x, void *user) {
    (void)user;
    rg_tensor a = through(m, "down1", through(m, "stem", x));       /* 28 x 28 */
    rg_tensor b = through(m, "down2", through(m, "shrink1", a));    /* 14 x 14 */
    rg_tensor low = through(m, "middle", through(m, "shrink2", b)); /* 7 x 7 */
    low = through(m, "middle2", through(m, "around", low));
    b = through(m, "up2", rg_cat(RG_TENSORS(up(low), b), 1));
    a = through(m, "up1", rg_cat(RG_TENSORS(up(b), a), 1));
    return through(m, "head", rg_silu(through(m, "norm", a)));
}

static rg_module *unet_new(struct unet *u) {
    rg_ctx *c = u->c;
    int64_t w = u->width;
    rg_module *m = rg_nn_module(c, unet, u), *around = rg_nn_module(c, look_around, NULL);
    rg_nn_add(m, "stem", conv(c, 1, w, 3, 1));
    rg_nn_add(m, "down1", block_new(u, w, w));
    rg_nn_add(m, "shrink1", conv(c, w, 2 * w, 3, 2));
    rg_nn_add(m, "down2", block_new(u, 2 * w, 2 * w));
    rg_nn_add(m, "shrink2", conv(c, 2 * w, 2 * w, 3, 2));
    rg_nn_add(m, "middle", block_new(u, 2 * w, 2 * w));
    rg_nn_add(m, "around", around);
    rg_nn_add(around, "norm", rg_nn_groupnorm(c, 8, 2 * w));
    rg_nn_add(around, "attention", rg_nn_attention(c, 2 * w, 4));
    rg_nn_add(m, "middle2", block_new(u, 2 * w, 2 * w));
    rg_nn_add(m, "up2", block_new(u, 4 * w, 2 * w));
    rg_nn_add(m, "up1", block_new(u, 3 * w, w));
    rg_nn_add(m, "norm", rg_nn_groupnorm(c, 8, w));
    rg_nn_add(m, "head", conv(c, w, 1, 3, 1));
    rg_nn_add(m, "time", rg_nn_linear(c, w, 4 * w));
    return m;
}

/* The direction at x (N, 1, 28, 28) and time (N, 1): the time goes in as waves of growing length. */
static rg_tensor direction(struct unet *u, rg_tensor x, rg_tensor time) {
    rg_tensor rate = rg_exp(rg_mul(rg_arange(u->c, RG_F32, 0, u->width / 2, 1), -8.0 / u->width));
    rg_tensor angle = rg_mul(rg_mul(time, 100), rate);
    u->time = rg_silu(through(u->net, "time", rg_cat(RG_TENSORS(rg_sin(angle), rg_cos(angle)), 1)));
    return rg_cast(rg_nn_forward(u->net, x), RG_F32);
}

/* ---- training --------------------------------------------------------------------------------------------------- */

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    struct unet *u = user;
    (void)in;
    rg_tensor pick = rg_randint(u->c, RG_I64, 0, rg_dim(u->images, 0), RG_SHAPE(u->batch));
    rg_tensor digit = rg_unsqueeze(rg_cast(rg_take(u->images, 0, pick), RG_F32), 1);
    digit = rg_sub(rg_div(digit, 127.5), 1);
    rg_tensor noise = rg_randn_like(digit), time = rg_rand(u->c, RG_F32, RG_SHAPE(u->batch, 1));
    rg_tensor t = rg_reshape(time, RG_SHAPE(u->batch, 1, 1, 1)), way = rg_sub(digit, noise);
    out[0] = rg_mse_loss(direction(u, rg_add(noise, rg_mul(way, t)), time), way);
    rg_backward(out[0]);
    rg_clip_grad_norm(rg_nn_params(u->net), 1);
    return rg_optim_step(u->optim);
}

static void train(struct unet *u) {
    u->optim = rg_adamw(rg_nn_params(u->net), .lr = u->lr);
    rg_jit *j = rg_jit_new(u->c, step, u, 1);
    double began = now(), mean = 0;
    for (int i = 1; i <= u->steps; i++) {
        RG_SCOPE(u->c);
        rg_tensor out;
        double t0 = now();
        rg_optim_set_lr(u->optim, rg_lr_one_cycle(u->lr, i - 1, u->steps, 0.1));
        if (rg_jit_call(j, RG_TENSORS(), &out)) return;
        double loss = rg_item(out);
        mean = i == 1 ? loss : 0.95 * mean + 0.05 * loss;
        bar(i, u->steps, "loss %.4f  %.1f ms", mean, (now() - t0) * 1e3);
    }
    printf("trained in %.1f s\n", now() - began);
    rg_jit_free(j);
}

/* ---- drawing ---------------------------------------------------------------------------------------------------- */

enum { ROWS = 2, COLUMNS = 8, SIDE = 28, WIDE = COLUMNS * SIDE, HIGH = ROWS * SIDE };

static rg_status walk(void *user, const rg_tensor *in,
                      rg_tensor *out) { /* in: points and their time; out: the next points */
    struct unet *u = user;
    out[0] = rg_add(in[0], rg_div(direction(u, in[0], in[1]), u->walk));
    return RG_OK;
}

static bool draw(struct unet *u, unsigned char picture[HIGH][WIDE]) {
    rg_ctx *c = u->c;
    RG_NO_GRAD(c);
    RG_SCOPE(c);
    rg_nn_train(u->net, false);
    rg_jit *j = rg_jit_new(c, walk, u, 1);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(ROWS * COLUMNS, 1, SIDE, SIDE));
    for (int i = 0; i < u->walk; i++) {
        rg_tensor time = rg_full(c, RG_F32, (double)i / u->walk, RG_SHAPE(ROWS * COLUMNS, 1));
        rg_realize_all(RG_TENSORS(x, time));
        if (rg_jit_call(j, RG_TENSORS(x, time), &x)) return false;
        x = rg_contiguous(x);
        bar(i + 1, u->walk, "drawing");
    }
    rg_tensor gray = rg_cast(rg_round(rg_mul(rg_clamp(rg_add(x, 1), 0, 2), 127.5)), RG_U8);
    gray = rg_transpose(rg_reshape(gray, RG_SHAPE(ROWS, COLUMNS, SIDE, SIDE)), 1, 2);
    return !rg_read(gray, picture, (size_t)HIGH * WIDE);
}

/* Two pixels a character: the upper half block in two shades. */
static void show(unsigned char picture[HIGH][WIDE]) {
    for (int y = 0; y < HIGH; y += 2) {
        for (int x = 0; x < WIDE / 2; x++) /* the left half of the columns: 112 characters */
            printf("\033[38;5;%dm\033[48;5;%dm\u2580", 232 + picture[y][x] * 23 / 255,
                   232 + picture[y + 1][x] * 23 / 255);
        printf("\033[0m\n");
    }
}

static void chunk(FILE *f, const char *name, const unsigned char *data, uint32_t n) {
    uint32_t crc = ~0u, sizes[2] = {n, 0};
    for (uint32_t i = 0; i < n + 4; i++) {
        crc ^= i < 4 ? (unsigned char)name[i] : data[i - 4];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    sizes[1] = ~crc;
    for (int k = 24; k >= 0; k -= 8) fputc((int)(sizes[0] >> k & 255), f);
    fwrite(name, 1, 4, f), fwrite(data, 1, n, f);
    for (int k = 24; k >= 0; k -= 8) fputc((int)(sizes[1] >> k & 255), f);
}

/* A gray PNG, not compressed. */
static bool write_png(const char *path, unsigned char picture[HIGH][WIDE]) {
    enum { N = HIGH * (WIDE + 1) };
    static unsigned char z[N + 11] = {0x78, 1, 1, N & 255, N >> 8, ~N & 255, ~N >> 8 & 255};
    unsigned char head[13] = {0, 0, 0, WIDE, 0, 0, 0, HIGH, 8};
    uint32_t a = 1, b = 0;
    for (int i = 0; i < N; i++) {
        z[7 + i] = i % (WIDE + 1) ? picture[i / (WIDE + 1)][i % (WIDE + 1) - 1] : 0;
        a = (a + z[7 + i]) % 65521, b = (b + a) % 65521;
    }
    for (int k = 0; k < 4; k++) z[7 + N + k] = (unsigned char)((b << 16 | a) >> (24 - 8 * k));
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
    chunk(f, "IHDR", head, 13), chunk(f, "IDAT", z, N + 11), chunk(f, "IEND", z, 0);
    return !fclose(f);
}

int main(int argc, char **argv) {
    /* clang-format off */
    struct unet u = {.width = 16, .batch = 64, .steps = 400, .walk = 30, .seed = 1, .lr = 4e-3, .data = "data/mnist", .dtype = "f32"};
    const struct flag flag[] = {
        {"width", .i = &u.width, .help = "channels, a multiple of 8"}, {"batch", .i = &u.batch, .help = "digits a step"},
        {"steps", .i = &u.steps, .help = "of training"},               {"walk", .i = &u.walk, .help = "steps of drawing"},
        {"lr", .f = &u.lr, .help = "learning rate at most"},           {"data", .s = &u.data, .help = "folder of MNIST"},
        {"png", .s = &u.png, .help = "where to draw, else the terminal"},
        {"dtype", .s = &u.dtype, .help = "of products: f32 or bf16"},
        {"seed", .i = &u.seed, .help = "of random numbers"},           {"device", .s = &u.device, .help = "CPU, CUDA or OPENCL"}};
    /* clang-format on */
    int done = flags_read(argc, argv, "unet", flag, sizeof flag / sizeof *flag);
    if (done >= 0) return done;
    if (u.width < 8 || u.width % 8 || u.batch < 1 || u.steps < 0 || u.walk < 1)
        return fprintf(stderr, "unet: width is a multiple of 8; batch and walk are 1 or more\n"), 2;
    static unsigned char picture[HIGH][WIDE];
    char path[1000];
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", u.data);
    rg_ctx *c = u.c = rg_open(u.device);
    rg_seed(c, (uint64_t)u.seed);
    u.images = rg_load_idx(c, path);
    u.net = unet_new(&u);
    if (!strcmp(u.dtype, "bf16")) rg_nn_precision(u.net, RG_BF16);
    train(&u);
    bool drawn = !rg_status_of(c) && draw(&u, picture);
    if (drawn && !u.png) show(picture);
    if (drawn && u.png && !write_png(u.png, picture)) return perror(u.png), 1;
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) != RG_OK;
}
