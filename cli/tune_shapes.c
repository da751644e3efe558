/* tune_shapes.c: `ridge tune --model --device CUDA --shapes FILE`: how good the model of a GPU is, measured.
 *
 * FILE has a product on each line: element type, m, n, k, and how the factors lie (nn: C = A B by rows; nt: B is given
 * transposed; tn: A is). For each, forms from all over the model's ranking are compiled and timed on random numbers; the
 * form that the model picks, without timing, is held against the best of all.
 * The same memory serves all shapes. Tests: tests/cli/tune.sh (the file), tests/unit/tune_gpu.c (the model) */
#include "cmd_tune.h"
#include "tune/search/search.h"

#include <math.h>
#include <stdlib.h>

struct product {
    char type[8], lie[4], text[64];
    int64_t m, n, k;
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void bad_line(struct tune_run *r, int line, const char *why) {
    err_throw(r->err, RG_EINVAL, "%s:%d: %s; expected a line such as `bf16 4096 4096 1024 nt`", r->shapes,
              line, why);
}

static bool is_size(int64_t n) { return n >= 1 && n <= 1 << 20; }

static uint32_t read_shapes(struct tune_run *r, struct product **out) {
    char *text;
    size_t n;
    VEC(struct product) v = {0};
    must(r, os_read_file(r->err, r->arena, r->shapes, 1 << 20, &text, &n));
    int line = 0;
    for (char *p = text, *end; p < text + n; p = end + 1) {
        struct product s = {0};
        end = p + strcspn(p, "\n");
        *end = 0, line++;
        p[strcspn(p, "#")] = 0;
        if (p[strspn(p, " \t\r")] == 0) continue;
        long long m, nn, k;
        if (sscanf(p, "%7s %lld %lld %lld %3s", s.type, &m, &nn, &k, s.lie) != 5)
            bad_line(r, line, "not five words");
        s.m = m, s.n = nn, s.k = k;
        if (strcmp(s.type, "bf16") && strcmp(s.type, "f16") && strcmp(s.type, "f32"))
            bad_line(r, line, "the type is bf16, f16 or f32");
        if (strcmp(s.lie, "nn") && strcmp(s.lie, "nt") && strcmp(s.lie, "tn"))
            bad_line(r, line, "the factors lie as nn, nt or tn");
        if (!is_size(m) || !is_size(nn) || !is_size(k) || (double)m * (double)nn > 0x1p31 ||
            (double)m * (double)k > 0x1p31 || (double)nn * (double)k > 0x1p31)
            bad_line(r, line, "a size is out of range");
        snprintf(s.text, sizeof s.text, "%s %lldx%lldx%lld %s", s.type, m, nn, k, s.lie);
        vec_push(r->arena, &v, s);
    }
    if (!v.n) err_throw(r->err, RG_EINVAL, "%s: no shapes in it", r->shapes);
    *out = v.p;
    return v.n;
}

static const char *kernel_text(struct arena *a, const struct product *s) {
    bool half = strcmp(s->type, "f32"), ta = s->lie[0] == 't', tb = s->lie[1] == 't';
    const char *up = half ? "(CAST<f32> " : "", *end = half ? ")" : "";
    const char *down = half ? arena_printf(a, "(CAST<%s> ", s->type) : "";
    struct str t;
    str_init(&t, a);
    long long m = s->m, n = s->n, k = s->k;
    str_printf(&t, "kernel product\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\n", s->type, m * k,
               s->type, n * k);
    str_printf(&t, "o = (PARAM<%s>[2 o] %lld)\nm = (RANGE[m GRID 0 0] %lld)\nn = (RANGE[n GRID 1 0] %lld)\n",
               s->type, m * n, m, n);
    str_printf(&t, "k = (RANGE[k REDUCE 2 0] %lld)\n", k);
    str_printf(&t, "x = %s(LOAD (INDEX a (ADD (MUL %s %lld) %s)))%s\n", up, ta ? "k" : "m", ta ? m : k,
               ta ? "m" : "k", end);
    str_printf(&t, "y = %s(LOAD (INDEX b (ADD (MUL %s %lld) %s)))%s\n", up, tb ? "n" : "k", tb ? k : n,
               tb ? "k" : "n", end);
    str_printf(&t, "(SINK (STORE (INDEX o (ADD (MUL m %lld) n)) %s(REDUCE[ADD] (MUL x y) k)%s))\n", n, down,
               end);
    return t.p;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

struct bufs {
    char *p[3];
    size_t bytes[3];
    char type[8]; /* of the numbers in it */
};

static size_t bytes_of(const struct product *s, int which) {
    size_t each = strcmp(s->type, "f32") ? 2 : 4;
    int64_t n = which == 0 ? s->m * s->k : which == 1 ? s->n * s->k : s->m * s->n;
    return (size_t)n * each;
}

/* A few megabytes of numbers around 0, again and again. */
static void fill(struct tune_run *r, struct bufs *mem, const char *type) {
    enum { PIECE = 4 << 20 };
    if (!strcmp(mem->type, type)) return;
    char *here = arena_alloc(r->arena, PIECE);
    enum dtype dt = dt_parse(type, strlen(type));
    size_t each = dtype_info[dt].bytes;
    for (size_t i = 0; i < PIECE / each; i++) {
        double x = 0;
        for (int k = 0; k < 4; k++) x += (double)(hash_u64(4 * i + (size_t)k) >> 40) * 0x1p-24 - 0.5;
        ref_write(dt, here + i * each, (union ref_val){.f = x});
    }
    for (int b = 0; b < 3; b++)
        for (size_t at = 0; at < mem->bytes[b]; at += PIECE)
            must(r, engine_copy(r->engine, r->err, COPY_IN, mem->p[b] + at, here,
                                RG_MIN(mem->bytes[b] - at, (size_t)PIECE)));
    snprintf(mem->type, sizeof mem->type, "%s", type);
}

static void make_memory(struct tune_run *r, const struct product *s, uint32_t n, struct bufs *mem) {
    *mem = (struct bufs){0};
    for (int b = 0; b < 3; b++) {
        for (uint32_t i = 0; i < n; i++) mem->bytes[b] = RG_MAX(mem->bytes[b], bytes_of(&s[i], b));
        if (!(mem->p[b] = engine_alloc(r->engine, r->err, mem->bytes[b]))) must(r, r->err->code);
    }
}

/* ---- results -------------------------------------------------------------------------------------------------------- */

struct score {
    uint32_t close, all; /* shapes whose pick takes at most 1.1 of the best; shapes */
    double worst, sum;   /* ratios: the largest, of logarithms */
};

static void print_shape(struct tune_run *r, const struct product *s, const struct tuned *t,
                        struct score *score) {
    const struct tuned_row *pick = NULL, *best = NULL;
    uint32_t timed = 0, rank = 1;
    for (uint32_t i = 0; i < t->row.n; i++) {
        const struct tuned_row *x = &t->row.p[i];
        if (x->state == TUNED_WRONG || x->state == TUNED_FAILED || x->state == TUNED_TRAPPED ||
            x->measured <= 0)
            continue;
        if (!pick || x->predicted < pick->predicted) pick = x;
        if (!best || x->measured < best->measured) best = x;
        timed++;
    }
    if (!pick) return;
    for (uint32_t i = 0; i < t->row.n; i++) rank += t->row.p[i].predicted < best->predicted;
    double ratio = pick->measured / best->measured;
    score->all++, score->close += ratio <= 1.1, score->sum += log(ratio);
    score->worst = RG_MAX(score->worst, ratio);
    printf("%-26s %5u %5u %10.2f %10.2f %10.2f %10.2f %7.3f %5u %7.2f\n", s->text, timed, t->row.n - timed,
           t->row.p[0].measured * 1e6, pick->measured * 1e6, pick->predicted * 1e6, best->measured * 1e6,
           ratio, rank, t->seconds);
    if (r->show)
        for (uint32_t i = 0; i < t->row.n; i++)
            printf("  %s %.3f %.3f %s\n", tuned_word[t->row.p[i].state], t->row.p[i].measured * 1e6,
                   t->row.p[i].predicted * 1e6, t->row.p[i].opts);
    fflush(stdout);
}

static void tune_shape(struct tune_run *r, const struct product *s, struct bufs *mem, struct score *score) {
    struct arena_mark mark = arena_mark(r->arena);
    struct ir ir;
    struct program prog = {0};
    const char *text = kernel_text(r->arena, s);
    enum dtype dt = dt_parse(s->type, strlen(s->type)), type[] = {dt, dt, dt};
    void *buf[3];
    size_t bytes[3];
    fill(r, mem, s->type);
    for (int b = 0; b < 3; b++) buf[b] = mem->p[b], bytes[b] = bytes_of(s, b);
    ir_init(&ir, r->arena);
    ir_parse(&ir, text, strlen(text), s->text, &prog);
    const struct tuned *t;
    struct search_call c = {
        .ir = &ir, .kernel = &prog.kernel.p[0], .buf = buf, .bytes = bytes, .dt = type, .nbuf = 3};
    must(r, search_kernel(r->engine, r->err, &c, &t));
    if (t) print_shape(r, s, t, score);
    arena_release(r->arena, mark);
}

void tune_shapes(struct tune_run *r) {
    struct product *s;
    struct bufs mem;
    struct score score = {0};
    uint32_t n = read_shapes(r, &s);
    uint64_t t0 = os_now_ns();
    engine_set_tuning(r->engine, &(struct engine_tuning){.beam = (int)r->beam, .wide = true});
    make_memory(r, s, n, &mem);
    printf("%-26s %5s %5s %10s %10s %10s %10s %7s %5s %7s\n", "product", "timed", "out", "heuristic",
           "pick us", "predicted", "best us", "ratio", "rank", "seconds");
    for (uint32_t i = 0; i < n; i++) tune_shape(r, &s[i], &mem, &score);
    printf("%u of %u products (%.0f %%): the model's pick takes at most 1.10 of the best that was timed; on "
           "average %.3f, at worst %.3f (%s caches, %.1f s)\n",
           score.close, score.all, 100.0 * score.close / RG_MAX(score.all, 1u),
           exp(score.sum / RG_MAX(score.all, 1u)), score.worst, env_int(ENV_TUNE_COLD) ? "cold" : "warm",
           (double)(os_now_ns() - t0) * 1e-9);
    for (int b = 0; b < 3; b++) engine_free(r->engine, mem.p[b], mem.bytes[b]);
}
