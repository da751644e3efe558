/* blocks.c: times lists of opts of a kernel on the CUDA device. ARGS: files of lines `kernel.uop|opts` (`#` begins a comment;
 * no opts: those of the heuristic). Buffers hold small integers, so that sums are exact and every list of one kernel
 * must give the same sum of its output, which is printed. The best of several rounds of calls with one wait. Large inputs are
 * there twice and used in turns, so that what a call reads does not come from the caches. */
#include "codegen/codegen.h"
#include "device/device.h"
#include "engine/engine.h"
#include "ref/ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 16 << 20, PERIOD = 1048573 }; /* bytes; elements, a prime */

struct job {
    struct engine *en;
    struct err err;
    struct arena arena;
    struct ir ir;
    struct linear lin;
    const char *path, *opts;
};

static char *slurp(struct arena *a, const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *p = arena_alloc(a, 1 << 20);
    *n = fread(p, 1, (1 << 20) - 1, f);
    fclose(f);
    return p;
}

static void compile(void *arg) {
    struct job *j = arg;
    size_t n = 0;
    struct program p = {0};
    char *text = slurp(&j->arena, j->path, &n);
    if (!text) err_throw(&j->err, RG_EIO, "cannot read %s", j->path);
    ir_init(&j->ir, &j->arena);
    ir_parse(&j->ir, text, n, j->path, &p);
    if (!*j->opts) j->opts = opts_heuristic_gpu(&j->ir, &p.kernel.p[0], 90);
    lower(&j->ir, &p.kernel.p[0], &(struct lower_opts){.opts = j->opts, .vec_bytes = 16, .narrow = true},
          &j->lin);
}

/* Buffers by slot, from the PARAMs of the program; the written one is told. */
static void buffers(struct job *j, void *(*buf)[64], size_t *bytes, enum dtype *type, uint32_t *out) {
    const struct linear *l = &j->lin;
    uop_vec topo = {0};
    uop_topo(&j->arena, l->u, l->n, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_STORE && n->src[0]->src[0]->op == OP_PARAM) *out = n->src[0]->src[0]->arg.param.slot;
        if (n->op != OP_PARAM || buf[0][n->arg.param.slot]) continue;
        uint32_t s = n->arg.param.slot;
        type[s] = (enum dtype)n->dt;
        bytes[s] = (size_t)n->src[0]->hi * dtype_info[n->dt].bytes;
        char *host = malloc(bytes[s]);
        int64_t some = RG_MIN(n->src[0]->hi, PERIOD);
        for (int64_t k = 0; k < some; k++)
            ref_write((enum dtype)n->dt, host + (size_t)k * dtype_info[n->dt].bytes,
                      dt_is_float((enum dtype)n->dt)
                          ? (union ref_val){.f = (int)((uint64_t)k * 2654435761u >> 17 & 3) - 1}
                          : (union ref_val){.i = (int)((uint64_t)k * 2654435761u >> 17 & 3)});
        size_t done = (size_t)some * dtype_info[n->dt].bytes;
        for (size_t at = done; at < bytes[s]; at += done)
            memcpy(host + at, host, RG_MIN(done, bytes[s] - at));
        for (int t = 0; t < 2; t++) {
            buf[t][s] = t && bytes[s] < LARGE ? buf[0][s] : engine_alloc(j->en, &j->err, bytes[s]);
            if (buf[t][s]) engine_copy(j->en, &j->err, COPY_IN, buf[t][s], host, bytes[s]);
        }
        free(host);
    }
}

static double measure(struct job *j, const struct ekernel *k, void *(*buf)[64]) {
    enum { ROUNDS = 4 };
    double best = 1e9;
    char probe[4];
    for (int r = 0, calls = 1; r < ROUNDS + 1; r++) {
        struct engine_list *l = engine_list_new(j->en, &j->err);
        for (int i = 0; i < calls; i++) engine_list_add(l, &j->err, k, buf[i % 2], NULL);
        engine_copy(j->en, &j->err, COPY_OUT, probe, buf[0][0], 4);
        uint64_t t0 = os_now_ns();
        if (engine_list_run(l, &j->err) || engine_copy(j->en, &j->err, COPY_OUT, probe, buf[0][0], 4))
            return 0;
        double t = (double)(os_now_ns() - t0) * 1e-9 / calls;
        engine_list_free(l);
        if (r) best = RG_MIN(best, t);
        calls = (int)RG_MIN(RG_MAX(0.02 / t, 3), 200);
    }
    return best;
}

static void one(struct engine *en, const char *path, const char *opts) {
    struct job *j = calloc(1, sizeof *j);
    const struct ekernel *k = NULL;
    const struct linear *lin = &j->lin;
    void *buf[2][64] = {0};
    size_t bytes[64] = {0};
    enum dtype type[64] = {0};
    uint32_t out = 0;
    j->en = en, j->path = path, j->opts = opts;
    arena_init(&j->arena, &j->err);
    uint64_t t0 = os_now_ns();
    if (err_guard(&j->err, compile, j) || engine_compile(en, &j->err, &lin, 1, &k)) {
        printf("%s: %.300s\n  %s\n", path, j->err.msg, j->opts);
    } else {
        double ready = (double)(os_now_ns() - t0) * 1e-9, sum = 0;
        buffers(j, buf, bytes, type, &out);
        double t = measure(j, k, buf);
        char *host = malloc(bytes[out]);
        engine_copy(en, &j->err, COPY_OUT, host, buf[0][out], bytes[out]);
        size_t size = dtype_info[type[out]].bytes;
        for (size_t i = 0; i * size < bytes[out]; i++)
            sum += ref_number(type[out], ref_read(type[out], host + i * size)) * (double)(i % 101 + 1);
        free(host);
        if (j->err.code) printf("%s: %.300s\n", path, j->err.msg);
        printf("%9.1f us %8.1f TFLOP/s %7.0f GB/s  sum %.0f  shared %lld  %.2f s to compile  %s\n  %s\n",
               t * 1e6, lin->est.flops / t * 1e-12, lin->est.bytes / t * 1e-9, sum, (long long)lin->shared,
               ready, path, j->opts);
    }
    fflush(stdout);
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 64; i++)
            if (buf[t][i] && (!t || buf[1][i] != buf[0][i])) engine_free(en, buf[t][i], bytes[i]);
    arena_free(&j->arena);
    free(j);
}

int main(int argc, char **argv) {
    struct err e = {0};
    struct engine *en = engine_open(&e, &device_cuda[0]);
    if (!en) return printf("skipped: %s\n", e.msg), 0;
    for (int i = 1; i < argc; i++) {
        static char line[8192];
        FILE *f = fopen(argv[i], "r");
        if (!f) return fprintf(stderr, "cannot read %s\n", argv[i]), 1;
        while (fgets(line, sizeof line, f)) {
            line[strcspn(line, "\n")] = 0;
            char *bar = strchr(line, '|');
            if (*line == '#' || !*line) continue;
            if (bar) *bar = 0;
            one(en, line, bar ? bar + 1 : "");
        }
        fclose(f);
    }
    engine_close(en);
    return 0;
}
