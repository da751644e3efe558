/* trial.h: one program of kernels, lowered plain and under the lists of opts_heuristic, both run by the interpreter on the same data.
 * The data is that of `ridge opt` (cli/fill.c, which tests/unit/golden.c brings into the test program).
 * For tests/unit/heuristic.c, heuristic_large.c, heuristic_grids.c. */
#ifndef RIDGE_TEST_TRIAL_H
#define RIDGE_TEST_TRIAL_H

#include "../cli/cli.h"
#include "codegen/sched.h"
#include "tune/tune.h"
#include "unit/irtest.h"
#include "ref/ref.h"

#include <dirent.h>
#include <stdlib.h>

enum { MAX_KERNELS = 4 };
struct trial {
    struct err err;
    struct arena arena;
    struct ir ir;
    const char *text, *path;
    int vec_bytes, threads;
    bool keep_math;
    struct program prog;
    struct io io;
    const char *opts[MAX_KERNELS];
    struct linear plain[MAX_KERNELS], fast[MAX_KERNELS];
    uint64_t tried; /* lists, most for one kernel */
};

static inline void lower_both(void *arg) {
    struct trial *t = arg;
    ir_init(&t->ir, &t->arena);
    ir_parse(&t->ir, t->text, strlen(t->text), t->path, &t->prog);
    io_bind(&t->ir, &t->prog, t->path, &t->io);
    RG_CHECK(&t->err, t->prog.kernel.n <= MAX_KERNELS);
    for (uint32_t i = 0; i < t->prog.kernel.n; i++) {
        const struct kernel *k = &t->prog.kernel.p[i];
        uint64_t before = opts_tried();
        t->opts[i] = opts_heuristic(&t->ir, k, t->vec_bytes, t->threads);
        t->tried = RG_MAX(t->tried, opts_tried() - before);
        struct lower_opts o = {.opts = "", .target = {.vec_bytes = t->vec_bytes, .keep_math = t->keep_math}};
        lower(&t->ir, k, &o, &t->plain[i]);
        o.opts = t->opts[i];
        lower(&t->ir, k, &o, &t->fast[i]);
        t->plain[i].nbuf = t->fast[i].nbuf = RG_MAX(t->fast[i].nbuf, t->io.kernel[i].nbuf);
    }
}

static inline void trial_open(struct trial *t, const char *text, const char *path) {
    arena_init(&t->arena, &t->err);
    t->text = text, t->path = path;
    if (err_guard(&t->err, lower_both, t))
        FAIL("%s\n%s\nopts %s", t->err.msg, text, t->opts[0] ? t->opts[0] : "?");
}

static inline void interpret(struct trial *t, const struct linear *lin, struct io_mem *m) {
    for (uint32_t i = 0; i < t->prog.kernel.n; i++) {
        const struct io_kernel *ik = &t->io.kernel[i];
        struct ref_buf *b = calloc(ik->nbuf + 1, sizeof *b);
        for (uint32_t k = 0; k < ik->nbuf; k++)
            if (ik->buf[k] != UINT32_MAX)
                b[k] = (struct ref_buf){m->p[ik->buf[k]], io_bytes(&t->io.buf[ik->buf[k]]),
                                        t->io.buf[ik->buf[k]].name, NULL, NULL};
        if (ref_linear(&t->err, &lin[i], b, ik->nbuf, ik->var, 0, lin[i].grid))
            FAIL("%s\n%s\nopts %s", t->err.msg, t->text, t->opts[i]);
        free(b);
    }
}

static inline double number_at(const struct io_buf *b, const void *p, int64_t i) {
    return ref_number(b->dt, ref_read(b->dt, (const char *)p + (size_t)i * dtype_info[b->dt].bytes));
}

/* Both programs on the same data. Returns how many values were compared. */
static inline int64_t same_values(struct trial *t, bool exact) {
    struct io_mem want, got;
    io_alloc(&t->ir, &t->io, &want);
    io_alloc(&t->ir, &t->io, &got);
    io_fill(&t->io, &want, exact);
    io_copy(&got, &want);
    interpret(t, t->plain, &want);
    interpret(t, t->fast, &got);
    double tol = 0;
    int64_t n = 0;
    for (uint32_t i = 0; i < t->prog.kernel.n; i++)
        tol = RG_MAX(tol, io_tolerance(&t->arena, t->prog.kernel.p[i].sink));
    for (uint32_t i = 0; i < t->io.nbuf; i++) {
        const struct io_buf *b = &t->io.buf[i];
        double bound = exact ? 0 : io_tolerance_of(tol, b->dt), scale = io_scale(b, want.p[i], NULL);
        for (int64_t k = 0; k < b->n; k++, n += b->output) {
            double x = number_at(b, got.p[i], k), y = number_at(b, want.p[i], k);
            if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= bound * (scale + fabs(y))) continue;
            FAIL("%s[%lld] is %.9g, expected %.9g\n%s\nopts %s", b->name, (long long)k, x, y, t->text,
                 t->opts[0]);
        }
    }
    const char *torn = io_red_zone(&t->io, &got);
    if (torn) FAIL("memory beside %s was overwritten\n%s\nopts %s", torn, t->text, t->opts[0]);
    io_free(&want);
    io_free(&got);
    return n;
}

static inline char *read_text(struct arena *a, struct err *e, const char *path) {
    char *text;
    size_t n;
    if (os_read_file(e, a, path, 1 << 20, &text, &n)) FAIL("%s", e->msg);
    return text;
}

static inline int each_file(const char *folder, void (*fn)(struct trial *, const char *path)) {
    DIR *d = opendir(folder);
    int n = 0;
    CHECK(d != NULL);
    for (struct dirent *f; (f = readdir(d));) {
        size_t len = strlen(f->d_name);
        char path[400];
        if (len < 5 || strcmp(f->d_name + len - 4, ".uop")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        struct trial *t = calloc(1, sizeof *t);
        t->vec_bytes = 16, t->threads = 2;
        arena_init(&t->arena, &t->err);
        fn(t, path);
        arena_free(&t->arena);
        free(t);
        n++;
    }
    closedir(d);
    return n;
}

/* Threads decide how outputs are distributed, never the order of a sum (docs/internals/ir.md, rounding). */
static inline int64_t same_bits(struct trial *one, struct trial *many_threads) {
    struct io_mem x, y;
    int64_t n = 0;
    io_alloc(&one->ir, &one->io, &x);
    io_alloc(&many_threads->ir, &many_threads->io, &y);
    io_fill(&one->io, &x, false);
    io_fill(&many_threads->io, &y, false);
    interpret(one, one->fast, &x);
    interpret(many_threads, many_threads->fast, &y);
    for (uint32_t i = 0; i < one->io.nbuf; n += one->io.buf[i].n, i++)
        if (memcmp(x.p[i], y.p[i], io_bytes(&one->io.buf[i])))
            FAIL("%s differs between one and many threads\n%s\nopts %s\nopts %s", one->io.buf[i].name,
                 one->text, one->opts[0], many_threads->opts[0]);
    io_free(&x);
    io_free(&y);
    return n;
}

/* ---- texts of kernels ---------------------------------------------------------------------------------------- */

static inline void param(struct str *s, const char *name, int slot, const char *dt, int64_t n) {
    str_printf(s, "%s = (PARAM<%s>[%d %s] %lld)\n", name, dt, slot, name, (long long)n);
}

static inline void range(struct str *s, const char *var, const char *cls, const char *kind, int pos, int id,
                         int64_t n) {
    str_printf(s, "%s = (RANGE[%s %s %d %d] %lld)\n", var, cls, kind, pos, id, (long long)n);
}

/* A convolution, or one of its gradients, as the planner writes them. kind 0: the convolution, perhaps padded; 1: the
 * gradient of the filters; 2: that of the image, windows flipped, with predicates at the halo. NCHW, in groups. */
struct conv_sizes {
    int64_t b, g, ci, co, kh, kw, oh, ow, step, pad;
};

static inline void write_conv(struct str *s, int kind, const struct conv_sizes *z) {
    int64_t pad = kind == 2 ? 0 : z->pad;
    int64_t h = (z->oh - 1) * z->step + z->kh - 2 * pad, w = (z->ow - 1) * z->step + z->kw - 2 * pad;
    if (h < 1 || w < 1) h += 2 * pad, w += 2 * pad, pad = 0;
    int64_t image = z->b * z->g * z->ci * h * w, filter = z->g * z->co * z->ci * z->kh * z->kw,
            y = z->b * z->g * z->co * z->oh * z->ow;
    param(s, kind == 2 ? "o" : "x", 0, "f32", image), param(s, kind == 1 ? "o" : "w", 1, "f32", filter),
        param(s, kind ? "y" : "o", 2, "f32", y);
    static const struct {
        const char *name;
        uint8_t pos[3]; /* by kind; from 10 on summed over */
    } axis[] = {{"b", {0, 10, 0}},  {"g", {1, 0, 1}},   {"co", {2, 1, 10}},  {"ci", {10, 2, 2}},
                {"oh", {3, 11, 3}}, {"ow", {4, 12, 4}}, {"kh", {11, 3, 11}}, {"kw", {12, 4, 12}}};
    const int64_t len[] = {z->b,  z->g, z->co, z->ci, kind == 2 ? h : z->oh, kind == 2 ? w : z->ow,
                           z->kh, z->kw};
    struct str sum;
    str_init(&sum, s->arena);
    for (size_t i = 0; i < RG_COUNT(axis); i++) {
        bool red = axis[i].pos[kind] >= 10;
        if (len[i] == 1) {
            str_printf(s, "%s = 0:idx\n", axis[i].name);
            continue;
        }
        range(s, axis[i].name, axis[i].name, red ? "REDUCE" : "GRID", axis[i].pos[kind], 0, len[i]);
        if (red) str_printf(&sum, " %s", axis[i].name);
    }
    str_printf(s, "wi = (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL g %lld) co) %lld) ci) %lld) kh) %lld) kw)\n",
               (long long)z->co, (long long)z->ci, (long long)z->kh, (long long)z->kw);
    const char *iy = kind == 2 ? "oh" : "iy", *ix = kind == 2 ? "ow" : "ix", *ty = kind == 2 ? "ty" : "oh",
               *tx = kind == 2 ? "tx" : "ow", *pred = NULL;
    if (kind == 2) {
        str_printf(s,
                   "ty = (SUB oh kh)\ntx = (SUB ow kw)\n"
                   "in = (AND (AND (LE 0 ty) (LT ty %lld)) (AND (LE 0 tx) (LT tx %lld)))\n",
                   (long long)z->oh, (long long)z->ow);
        pred = "in";
    } else {
        str_printf(s, "iy = (SUB (ADD (MUL oh %lld) kh) %lld)\nix = (SUB (ADD (MUL ow %lld) kw) %lld)\n",
                   (long long)z->step, (long long)pad, (long long)z->step, (long long)pad);
        str_printf(s, "in = (AND (AND (LE 0 iy) (LT iy %lld)) (AND (LE 0 ix) (LT ix %lld)))\n", (long long)h,
                   (long long)w);
        pred = pad ? "in" : NULL;
    }
    str_printf(s, "xi = (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL b %lld) g) %lld) ci) %lld) %s) %lld) %s)\n",
               (long long)z->g, (long long)z->ci, (long long)h, iy, (long long)w, ix);
    str_printf(s, "yi = (ADD (MUL (ADD (MUL (ADD (MUL (ADD (MUL b %lld) g) %lld) co) %lld) %s) %lld) %s)\n",
               (long long)z->g, (long long)z->co, (long long)z->oh, ty, (long long)z->ow, tx);
    const char *from = kind == 2 ? "y" : "x", *at = kind == 2 ? "yi" : "xi";
    if (pred)
        str_printf(s, "i0 = (WHERE in (LOAD (INDEX %s (WHERE in %s (INVALID<idx>)))) 0.0)\n", from, at);
    else
        str_printf(s, "i0 = (LOAD (INDEX %s %s))\n", from, at);
    str_printf(s, "(SINK (STORE (INDEX o %s) (REDUCE[ADD] (MUL i0 (LOAD (INDEX %s)))%s)))\n",
               kind == 0   ? "yi"
               : kind == 1 ? "wi"
                           : "xi",
               kind == 1 ? "y yi" : "w wi", sum.p);
}

/* HEUR_SEEDS: how many kernels of a class. */
static inline uint64_t seeds(void) {
    const char *s = getenv("HEUR_SEEDS");
#ifdef RIDGE_DEBUG_BUILD
    return s ? strtoull(s, NULL, 10) : 20;
#else
    return s ? strtoull(s, NULL, 10) : 120;
#endif
}

#endif
