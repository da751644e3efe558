/* Tests of random configurations of products: sizes, types, how the factors lie, batches, what is done to the result, and
 * one of the forms that search may try (tiles, pipelines, warp-specialized, persistent). Factors are small integers, so
 * that every result is exact and is compared with plain loops.
 *
 *   1. In the interpreter, which finds races and who does not wait (a few, small).
 *   2. On a GPU: 10,240 launches of 1,024 configurations in 16 processes, each round in another order and without a pause
 *      between kernels. Waits inside of kernels are bounded, and so is the test.
 *   3. What NVIDIA's compiler makes of every form of some products: nothing in memory that belongs into registers, no
 *      MMA instruction that waits for the one before it. */
#include "cuda.h"
#include "engine/internal.h"
#include "planned.h"
#include "ref/ref.h"

enum { A, B, OUT, BIAS, MORE, BUFS };
enum finish { SUMS, ROUNDED, FINISHED, KINDS }; /* floats; as the result's type; max(sum + bias, 0) + more */

struct config {
    int64_t g, m, n, k;
    bool ta, tb;
    enum dtype dt, to;
    enum finish finish;
    const char *opts, *form;
    /* made of it */
    struct err err;
    struct arena arena;
    struct ir ir;
    struct program prog;
    struct linear lin;
    int nbuf;
    void *host[BUFS], *far[BUFS], *want;
    size_t bytes[BUFS];
    const struct ekernel *kernel;
};

/* ---- one configuration -------------------------------------------------------------------------------------- */

static const char *name_of(enum dtype dt) { return dtype_info[dt].name; }

static const char *text_of(struct config *x) {
    struct str s;
    long long g = x->g, m = x->m, n = x->n, k = x->k;
    const char *up = x->dt == DT_F32 ? "" : "(CAST<f32> ", *end = x->dt == DT_F32 ? "" : ")";
    str_init(&s, &x->arena);
    str_printf(&s, "kernel random\na = (PARAM<%s>[0 a] %lld)\nb = (PARAM<%s>[1 b] %lld)\n", name_of(x->dt),
               g * m * k, name_of(x->dt), g * n * k);
    str_printf(&s, "out = (PARAM<%s>[2 out] %lld)\n", name_of(x->to), g * m * n);
    if (x->finish == FINISHED)
        str_printf(&s, "bias = (PARAM<f32>[3 bias] %lld)\nmore = (PARAM<%s>[4 more] %lld)\n", n,
                   name_of(x->to), g * m * n);
    if (g > 1) str_printf(&s, "g = (RANGE[g GRID 0] %lld)\n", g);
    str_printf(&s, "m = (RANGE[m GRID 1] %lld)\nn = (RANGE[n GRID 2] %lld)\nk = (RANGE[k REDUCE 3] %lld)\n",
               m, n, k);
    for (int i = 0; i < 2; i++) {
        bool transposed = i ? !x->tb : x->ta;
        const char *own = i ? "n" : "m";
        long long rows = i ? n : m;
        const char *at = arena_printf(&x->arena, "(ADD (MUL %s %lld) %s)", transposed ? "k" : own,
                                      transposed ? rows : k, transposed ? own : "k");
        if (g > 1) at = arena_printf(&x->arena, "(ADD (MUL g %lld) %s)", rows * k, at);
        str_printf(&s, "%s = %s(LOAD (INDEX %s %s))%s\n", i ? "y" : "x", up, i ? "b" : "a", at, end);
    }
    str_add(&s, "r = (REDUCE[ADD] (MUL x y) k)\n");
    str_printf(&s, "at = (ADD (MUL m %lld) n)\n", n);
    if (g > 1) str_printf(&s, "at1 = (ADD (MUL g %lld) at)\n", m * n);
    bool wide = x->to == DT_F32;
    const char *v = "r", *at = g > 1 ? "at1" : "at";
    if (x->finish == FINISHED)
        v = arena_printf(&x->arena,
                         "(ADD (MAX (ADD r (LOAD (INDEX bias n))) 0.0) %s(LOAD (INDEX more %s))%s)",
                         wide ? "" : "(CAST<f32> ", at, wide ? "" : ")");
    if (!wide) v = arena_printf(&x->arena, "(CAST<%s> %s)", name_of(x->to), v);
    str_printf(&s, "(SINK (STORE (INDEX out %s) %s))\n", at, v);
    return s.p;
}

static int small(uint64_t i) { return (int)(hash_u64(i) % 7) - 3; }

/* Numbers of every buffer, and what the result must be. */
static void fill(struct config *x, uint64_t seed) {
    enum dtype dt[BUFS] = {x->dt, x->dt, x->to, DT_F32, x->to};
    int64_t count[BUFS] = {x->g * x->m * x->k, x->g * x->n * x->k, x->g * x->m * x->n, x->n,
                           x->g * x->m * x->n};
    int *value[BUFS];
    x->nbuf = x->finish == FINISHED ? BUFS : 3;
    for (int b = 0; b < x->nbuf; b++) {
        size_t size = dtype_info[dt[b]].bytes;
        x->bytes[b] = (size_t)count[b] * size;
        x->host[b] = arena_alloc(&x->arena, x->bytes[b]);
        value[b] = arena_array(&x->arena, int, count[b]);
        for (int64_t i = 0; i < count[b] && b != OUT; i++) {
            value[b][i] = small(seed + 1000003u * (uint64_t)b + (uint64_t)i);
            ref_write(dt[b], (char *)x->host[b] + (size_t)i * size, (union ref_val){.f = value[b][i]});
        }
    }
    /* both with rows along the sum */
    int *row[2] = {value[A], value[B]};
    for (int i = 0; i < 2; i++) {
        if (i ? x->tb : !x->ta) continue;
        int64_t rows = i ? x->n : x->m;
        row[i] = arena_array(&x->arena, int, count[i]);
        for (int64_t g = 0; g < x->g; g++)
            for (int64_t r = 0; r < rows; r++)
                for (int64_t k = 0; k < x->k; k++)
                    row[i][(g * rows + r) * x->k + k] = value[i][(g * x->k + k) * rows + r];
    }
    x->want = arena_alloc(&x->arena, x->bytes[OUT]);
    for (int64_t at = 0; at < count[OUT]; at++) {
        int64_t n = at % x->n, gm = at / x->n, sum = 0;
        const int *p = row[0] + gm * x->k, *q = row[1] + (gm / x->m * x->n + n) * x->k;
        for (int64_t k = 0; k < x->k; k++) sum += p[k] * q[k];
        double v = (double)sum;
        if (x->finish == FINISHED) v = RG_MAX(v + value[BIAS][n], 0) + value[MORE][at];
        ref_write(x->to, (char *)x->want + (size_t)at * dtype_info[x->to].bytes,
                  (union ref_val){.f = dt_round(x->to, v)});
    }
}

static void check(const struct config *x, const void *got) {
    if (!memcmp(got, x->want, x->bytes[OUT])) return;
    size_t size = dtype_info[x->to].bytes, i = 0;
    while (!memcmp((const char *)got + i * size, (const char *)x->want + i * size, size)) i++;
    FAIL("%s %lld x %lld x %lld x %lld %c%c, %s\nelement %zu is %g, not %g", name_of(x->dt), (long long)x->g,
         (long long)x->m, (long long)x->n, (long long)x->k, x->ta ? 't' : 'n', x->tb ? 't' : 'n', x->opts, i,
         ref_number(x->to, ref_read(x->to, (const char *)got + i * size)),
         ref_number(x->to, ref_read(x->to, (const char *)x->want + i * size)));
}

/* ---- which ------------------------------------------------------------------------------------------------------ */

struct draw {
    uint64_t rng;
    int capability;
    bool small;
};

static uint64_t below(struct draw *d, uint64_t n) { return (d->rng = hash_u64(d->rng)) % n; }

/* In three of four cases such that rows begin at multiples of 16 bytes. */
static int64_t size_of(struct draw *d, int64_t least, int64_t most) {
    int64_t n = least + (int64_t)below(d, (uint64_t)(most - least + 1));
    return below(d, 4) ? RG_MAX(n / 16 * 16, 16) : n;
}

/* As many blocks stay as are drawn, so that each walks over several of few tiles. */
static const char *fewer_blocks(struct draw *d, struct config *x, const char *opts) {
    const char *at = strstr(opts, "PERSISTENT(");
    if (!at) return arena_strdup(&x->arena, opts, strlen(opts));
    return arena_printf(&x->arena, "%.*sPERSISTENT(%d)%s", (int)(at - opts), opts, 1 + (int)below(d, 9),
                        strchr(at, ')') + 1);
}

static void draw_shape(struct draw *d, struct config *x) {
    /* few floats: NVIDIA's compiler takes a second for each */
    static const enum dtype type[] = {DT_BF16, DT_BF16, DT_BF16, DT_BF16, DT_BF16,   DT_BF16,   DT_BF16,
                                      DT_F16,  DT_F16,  DT_F16,  DT_F16,  DT_F8E4M3, DT_F8E5M2, DT_F32};
    int64_t most = d->small ? 150 : 500;
    bool few = !below(d, 8);
    x->dt = type[below(d, RG_COUNT(type))];
    x->finish = (enum finish)below(d, KINDS);
    x->to = x->finish == SUMS || x->dt == DT_F32 ? DT_F32 : x->dt == DT_F16 ? DT_F16 : DT_BF16;
    x->ta = !below(d, 4), x->tb = below(d, 2);
    x->g = below(d, 5) ? 1 : 2 + (int64_t)below(d, 2);
    x->m = few ? size_of(d, 1, 64) : size_of(d, 64, most),
    x->n = size_of(d, few ? 600 : 64, few ? 900 : most);
    x->k = size_of(d, 192, d->small ? 260 : 700);
}

struct draw_call {
    struct draw *d;
    struct config *x;
};

static void draw_guarded(void *arg) {
    struct draw_call *c = arg;
    struct config *x = c->x;
    struct model model = *planned_h200();
    gpu_lists forms;
    ir_init(&x->ir, &x->arena);
    draw_shape(c->d, x);
    const char *text = text_of(x);
    ir_parse(&x->ir, text, strlen(text), "random.uop", &x->prog);
    const struct kernel *k = &x->prog.kernel.p[0];
    opts_configs_gpu(&x->ir, k, GPU_OF_CC(c->d->capability), &model, NULL, 6, 40,
                     &forms); /* from all over the ranking */
    if (!forms.n || !below(c->d, 8)) {
        x->opts = opts_heuristic_gpu(&x->ir, k, GPU_OF_CC(c->d->capability));
    } else {
        uint32_t at = (uint32_t)below(c->d, forms.n);
        bool specialized = below(c->d, 2); /* if there are such */
        for (uint32_t i = 0; i < forms.n && specialized && !strstr(forms.p[at].opts, "WARP_SPECIALIZE("); i++)
            at = (at + 1) % forms.n;
        x->opts = fewer_blocks(c->d, x, forms.p[at].opts);
    }
    struct lower_opts o = {.opts = x->opts, .target = {.kind = TARGET_GPU, .keep_math = true}};
    lower(&x->ir, k, &o, &x->lin);
}

/* Some forms have no box where rows begin anywhere, which is found here: another is drawn. */
static void draw(struct draw *d, struct config *x) {
    uint64_t seed = d->rng;
    for (int tries = 0; tries < 20; tries++) {
        *x = (struct config){0};
        arena_init(&x->arena, &x->err);
        int code = err_guard(&x->err, draw_guarded, &(struct draw_call){d, x});
        if (!code) {
            fill(x, seed);
            return;
        }
        if (code != RG_EOPT) FAIL("%s\n%s", x->opts ? x->opts : "", x->err.msg);
        arena_free(&x->arena);
    }
    FAIL("seed %llu: twenty forms in a row are refused", (unsigned long long)seed);
}

/* ---- 1: the interpreter --------------------------------------------------------------------------------------------- */

TEST_SLOW(launches_interpreted, 300) {
    enum { CONFIGS = 14 };
    struct draw d = {.rng = 77, .capability = 90, .small = true};
    int specialized = 0;
    setenv("RIDGE_VERIFY", "1", 1);
    env_reload();
    for (int i = 0; i < CONFIGS; i++) {
        struct config x;
        struct ref_buf buf[BUFS];
        draw(&d, &x);
        for (int b = 0; b < x.nbuf; b++) buf[b] = (struct ref_buf){.p = x.host[b], .bytes = x.bytes[b]};
        if (ref_linear(&x.err, &x.lin, buf, (uint32_t)x.nbuf, NULL, 0, x.lin.grid))
            FAIL("%s\n%s", x.opts, x.err.msg);
        check(&x, x.host[OUT]);
        specialized += strstr(x.opts, "WARP_SPECIALIZE(") != NULL;
        arena_free(&x.arena);
    }
    CHECK(specialized > CONFIGS / 8);
    TEST_INFO("%d random configurations interpreted, %d warp-specialized", CONFIGS, specialized);
}

/* ---- 2: a GPU --------------------------------------------------------------------------------------------------------- */

enum { CONFIGS = 64, LAUNCHES = 640 }; /* of each of the processes; LAUNCHES=n in the environment: fewer */

static void prepare(struct engine *en, struct config *x) {
    for (int b = 0; b < x->nbuf; b++) {
        x->far[b] = engine_alloc(en, &x->err, x->bytes[b]);
        if (!x->far[b] || engine_copy(en, &x->err, COPY_IN, x->far[b], x->host[b], x->bytes[b]))
            FAIL("%s", x->err.msg);
    }
}

static void shuffle(struct draw *d, int *order, int n) {
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = (int)below(d, (uint64_t)i + 1), t = order[i];
        order[i] = order[k], order[k] = t;
    }
}

/* All of them once, in any order; each writes over what was there. */
static void launch_round(struct engine *en, struct draw *d, struct config *x, int n) {
    struct err e = {0};
    int order[CONFIGS];
    struct engine_list *l = engine_list_new(en, &e);
    shuffle(d, order, n);
    for (int i = 0; i < n; i++) {
        struct config *c = &x[order[i]];
        memset(c->host[OUT], 0xee, c->bytes[OUT]);
        if (engine_copy(en, &e, COPY_IN, c->far[OUT], c->host[OUT], c->bytes[OUT]) ||
            engine_list_add(l, &e, c->kernel, c->far, NULL))
            FAIL("%s", e.msg);
    }
    if (engine_list_run(l, &e)) FAIL("%s", e.msg);
    for (int i = 0; i < n; i++) {
        if (engine_copy(en, &e, COPY_OUT, x[i].host[OUT], x[i].far[OUT], x[i].bytes[OUT]))
            FAIL("%s\n%s", x[i].opts, e.msg);
        check(&x[i], x[i].host[OUT]);
    }
    engine_list_free(l);
}

static void launch_part(int part) {
    setenv("RIDGE_CACHE", "0", 1), setenv("RIDGE_THREADS", "1", 1);
    setenv("RIDGE_TF32", part % 4 == 3 ? "1" : "0", 1); /* the integers are exact all the same */
    env_reload();
    struct engine *en = cuda_engine();
    struct err e = {0};
    struct draw d = {.rng = 4242 + (uint64_t)part, .capability = engine_capability(en)};
    const char *fewer = getenv("LAUNCHES");
    int launches = fewer && atoi(fewer) > 0 ? atoi(fewer) : LAUNCHES, n = RG_MIN(launches, CONFIGS);
    struct config *x = calloc(CONFIGS, sizeof *x);
    const struct linear *lin[CONFIGS];
    const struct ekernel *k[CONFIGS];
    int specialized = 0, persistent = 0;
    for (int i = 0; i < n; i++) {
        draw(&d, &x[i]);
        prepare(en, &x[i]);
        lin[i] = &x[i].lin;
        specialized += strstr(x[i].opts, "WARP_SPECIALIZE(") != NULL,
            persistent += strstr(x[i].opts, "PERSISTENT(") != NULL;
    }
    if (engine_compile(en, &e, lin, (uint32_t)n, k)) FAIL("%s", e.msg);
    for (int i = 0; i < n; i++) x[i].kernel = k[i];
    uint64_t t0 = os_now_ns();
    for (int r = 0; r < launches / n; r++) launch_round(en, &d, x, n);
    TEST_INFO("%d launches of %d random configurations, %d warp-specialized, %d of them persistent; %.1f s",
              launches / n * n, n, specialized, persistent, (double)(os_now_ns() - t0) * 1e-9);
    for (int i = 0; i < n; i++) {
        for (int b = 0; b < x[i].nbuf; b++) engine_free(en, x[i].far[b], x[i].bytes[b]);
        arena_free(&x[i].arena);
    }
    free(x);
    engine_close(en);
}
#define TEST_PART(k) \
    TEST_MANUAL(cuda_gpu_launches_##k, 60) { launch_part(k); }
/* clang-format off */
TEST_PART(0) TEST_PART(1) TEST_PART(2) TEST_PART(3) TEST_PART(4) TEST_PART(5) TEST_PART(6) TEST_PART(7)
TEST_PART(8) TEST_PART(9) TEST_PART(10) TEST_PART(11) TEST_PART(12) TEST_PART(13) TEST_PART(14) TEST_PART(15)
/* clang-format on */
#undef TEST_PART

/* ---- 3: what the compiler makes of them -------------------------------------------------------------------------------- */

static const struct sample {
    int64_t m, n, k;
    bool ta, tb;
    enum dtype dt;
    enum finish finish;
} sample[] = {
    {4096, 4608, 1024, false, true, DT_BF16, ROUNDED}, {2048, 2048, 2048, false, false, DT_F16, FINISHED},
    {4096, 4096, 4096, false, true, DT_F8E4M3, SUMS},  {1000, 2001, 3000, false, false, DT_BF16, ROUNDED},
    {1024, 1024, 1024, false, false, DT_F32, SUMS},
};

struct sampled {
    struct config x;
    const char *opts;
    struct str text;
};

static void parse_sample(void *arg) {
    struct config *x = arg;
    ir_init(&x->ir, &x->arena);
    const char *text = text_of(x);
    ir_parse(&x->ir, text, strlen(text), "sample.uop", &x->prog);
}

static void render_form(void *arg) {
    struct sampled *s = arg;
    struct render_shape shape;
    struct ir ir;
    struct linear lin;
    struct kernel k = s->x.prog.kernel.p[0];
    ir_init(&ir, &s->x.arena);
    k.sink = ir_import(&ir, &s->x.ir, k.sink);
    lower(&ir, &k, &(struct lower_opts){.opts = s->opts, .target = {.kind = TARGET_GPU}}, &lin);
    str_init(&s->text, &s->x.arena);
    render_cuda_preamble(&s->text);
    render_cuda(&s->text, &ir, &lin, false, &shape);
}

struct opinion {
    uint32_t compiled, refused, spilled, serial;
};

/* Every `every`-th form of a product, from an offset; those that search would take first, which must compile without faults,
 * come first. */
static void ask_compiler(struct sampled *s, const gpu_lists *forms, uint32_t every, struct opinion *all) {
    enum { UNITS = 32, FIRST = 8 };
    struct err e = {0};
    const char *text[UNITS];
    uint32_t number[UNITS], n = 0;
    struct dev_object out[UNITS];
    for (uint32_t i = 0; i < forms->n; i += i < FIRST ? 1 : every) {
        s->opts = forms->p[i].opts;
        int code = err_guard(&s->x.err, render_form, s);
        if (code && code != RG_EOPT) FAIL("%s\n%s", s->opts, s->x.err.msg);
        if (!code) text[n] = s->text.p, number[n++] = i;
        all->refused += code != 0;
        err_clear(&s->x.err);
        bool last = i + (i < FIRST ? 1 : every) >= forms->n;
        if (n < UNITS && !last) continue;
        if (nvrtc_compile(&e, &s->x.arena, "sm_90a", text, (int)n, out)) FAIL("%s", e.msg);
        for (uint32_t k = 0; k < n; k++) {
            cubin_vec code_of = {0};
            const char *log = out[k].log ? out[k].log : "", *opts = forms->p[number[k]].opts;
            if (cubin_read(&e, &s->x.arena, out[k].data, out[k].n, &code_of)) FAIL("%s", e.msg);
            bool spills = code_of.p[0].spills || code_of.p[0].stack,
                 serial = strstr(log, "serialized") || strstr(log, "injected") || strstr(log, "setmaxnreg");
            if (serial) FAIL("%s\n%s", opts, log);
            if (spills && number[k] < FIRST) FAIL("%s\n%u spills", opts, code_of.p[0].spills);
            if (spills) printf("%s: %u spills\n", forms->p[number[k]].config, code_of.p[0].spills);
            all->compiled++, all->spilled += spills;
        }
        n = 0;
    }
}
static void compile_forms(uint32_t every) {
    struct model model = *planned_h200();
    struct opinion all = {0};
    uint32_t forms_in_all = 0;
    for (size_t i = 0; i < RG_COUNT(sample); i++) {
        const struct sample *w = &sample[i];
        struct sampled s = {.x = {.g = 1,
                                  .m = w->m,
                                  .n = w->n,
                                  .k = w->k,
                                  .ta = w->ta,
                                  .tb = w->tb,
                                  .dt = w->dt,
                                  .to = w->finish == SUMS ? DT_F32 : w->dt,
                                  .finish = w->finish}};
        gpu_lists forms;
        arena_init(&s.x.arena, &s.x.err);
        cuda_need_nvrtc(&s.x.arena);
        if (err_guard(&s.x.err, parse_sample, &s.x)) FAIL("%s", s.x.err.msg);
        opts_configs_gpu(&s.x.ir, &s.x.prog.kernel.p[0], GPU_OF_CC(90), &model, NULL, 4096, 0, &forms);
        CHECK(forms.n > 50);
        forms_in_all += forms.n;
        ask_compiler(&s, &forms, w->dt == DT_F32 ? 2 * every : every, &all);
        arena_free(&s.x.arena);
    }
    TEST_INFO("%u of %u forms of %zu products compiled by NVRTC: %u spill, no MMA instruction waits for "
              "another; "
              "%u refused before",
              all.compiled, forms_in_all, RG_COUNT(sample), all.spilled, all.refused);
    CHECK(all.spilled * 50 <= all.compiled);
}

/* Some of them wherever there is NVRTC, all of them as a manual test: minutes of all cores. Search leaves out those that spill. */
TEST_SLOW(cuda_compile_forms, 300) { compile_forms(211); }
TEST_MANUAL(cuda_compile_forms_all, 3000) { compile_forms(1); }
