/* work.c: the program to which tests/faults/faults.sh does harm. It computes with kernels of several kinds and prints a hash of all
 * bits, or an error.
 *
 *   work              compute
 *   work save FILE X  save a tensor full of X, 4 MB
 *   work show FILE    its first and last element */
#include <ridge.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash(uint64_t h, const void *p, size_t n) {
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 1099511628211u;
    return h;
}

static int failed(rg_ctx *c) {
    fprintf(stderr, "error: %s\n", rg_error(c));
    rg_close(c);
    return 1;
}

static int compute(rg_ctx *c) {
    static float y[64 * 40], g[96 * 40], s[64 * 96];
    rg_seed(c, 7);
    rg_tensor x = rg_randn(c, RG_F32, RG_SHAPE(64, 96)), w = rg_param(rg_randn(c, RG_F32, RG_SHAPE(96, 40)));
    rg_tensor p = rg_softmax(rg_matmul(x, w), 1);
    rg_backward(rg_mean(rg_square(rg_sub(p, 0.1))));
    if (rg_read(p, y, sizeof y) || rg_read(rg_param_grad(w), g, sizeof g) ||
        rg_read(rg_sort(rg_exp(x), 1), s, sizeof s))
        return failed(c);
    uint64_t h = hash(hash(hash(1469598103934665603u, y, sizeof y), g, sizeof g), s, sizeof s);
    printf("%016llx\n", (unsigned long long)h);
    return rg_close(c);
}

static int save(rg_ctx *c, const char *path, double x) {
    static float all[1 << 20]; /* of the host: no kernel is needed */
    const char *name[] = {"x"};
    for (int i = 0; i < 1 << 20; i++) all[i] = (float)x;
    if (rg_save(path, name, RG_TENSORS(rg_from(c, RG_F32, all, RG_SHAPE(1 << 20))))) return failed(c);
    return rg_close(c);
}

static int show(rg_ctx *c, const char *path) {
    static float x[1 << 20];
    rg_file *f = rg_file_open(c, path);
    if (!f || rg_read(rg_file_get(f, "x"), x, sizeof x)) return failed(c);
    printf("%g %g\n", x[0], x[(1 << 20) - 1]);
    rg_file_close(f);
    return rg_close(c);
}

int main(int argc, char **argv) {
    rg_ctx *c = rg_open(NULL);
    if (argc > 3 && !strcmp(argv[1], "save")) return save(c, argv[2], atof(argv[3]));
    if (argc > 2 && !strcmp(argv[1], "show")) return show(c, argv[2]);
    return compute(c);
}
