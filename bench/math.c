/* math.c: speed of vector math. For each function the compiled kernel on data in cache, one core, beside the C
 * library's function in a plain loop; then exp and cos(cos(x)) of 16M floats from memory on all cores.
 *
 *     build/release/bench/math [-m] [FUNCTION]...       -m: only the large ones
 *
 * The least of many short runs is taken: what else runs on the machine only ever adds. Cycles need the clock
 * (RIDGE_GHZ, 2.6 here). A timing is no test; errors are tests/math.c's. */
#include "../tests/math_check.h"
#include "usage.h"

#include <stdio.h>

enum { N = 1 << 13 };
#define VECTOR32 math_vector(8)

static float x32[N], y32[N], o32[N];
static double x64[N], y64[N], o64[N];

/* Elements per ns, the best of `rounds`. */
static double rate_kernel(const struct math_set *m, uint32_t k, const void *x, const void *y, void *out) {
    uint64_t best = UINT64_MAX;
    for (int r = 0; r < 400; r++) {
        uint64_t t = os_now_ns();
        math_run(m, k, x, y, out);
        t = os_now_ns() - t;
        best = RG_MIN(best, t);
    }
    return N / (double)best;
}

static double rate_libm(const struct math_row *row, bool f32) {
    uint64_t best = UINT64_MAX;
    for (int r = 0; r < 50; r++) {
        uint64_t t = os_now_ns();
        if (f32)
            for (int i = 0; i < N; i++) o32[i] = (float)row->ref((double)x32[i]);
        else
            for (int i = 0; i < N; i++) o64[i] = row->ref(x64[i]);
        t = os_now_ns() - t;
        best = RG_MIN(best, t);
    }
    return N / (double)best;
}

static bool wanted(const char *name, char **only, int n) {
    for (int i = 0; i < n; i++)
        if (!strcmp(name, only[i])) return true;
    return n == 0;
}

static int functions(char **only, int nonly) {
    struct math_set m;
    double ghz = getenv("RIDGE_GHZ") ? atof(getenv("RIDGE_GHZ")) : 2.6;
    math_init(&m, 2 * (MATH_ROWS + 1));
    for (uint32_t r = 0; r <= MATH_ROWS; r++) {
        const char *name = r < MATH_ROWS ? math_rows[r].name : "POW";
        math_add(&m, name, "f32", N, VECTOR32, r == MATH_ROWS);
        math_add(&m, name, "f64", N, math_vector(4), r == MATH_ROWS);
    }
    const char *e = math_compile(&m);
    if (e) return fprintf(stderr, "%s\n", e), 1;
    for (int i = 0; i < N; i++) {
        x64[i] = x32[i] = (float)i * 0.0021f + 0.01f;
        y64[i] = y32[i] = 2.3f + (float)i * 0.001f;
    }
    printf("one core, data in cache; G elements/s, cycles per 16 bytes at %.1f GHz, times the C library "
           "(double)\n",
           ghz);
    printf("%-8s %26s %26s\n", "", "f32", "f64");
    for (uint32_t r = 0; r <= MATH_ROWS; r++) {
        const struct math_row *row = r < MATH_ROWS ? &math_rows[r] : NULL;
        if (!wanted(row ? row->name : "POW", only, nonly)) continue;
        double a = rate_kernel(&m, 2 * r, x32, y32, o32), b = rate_kernel(&m, 2 * r + 1, x64, y64, o64);
        printf("%-8s %8.3f %6.1f cyc", row ? row->name : "POW", a, 4 * ghz / a);
        if (row) printf(" %6.1fx", a / rate_libm(row, true));
        printf("%*s %8.3f %6.1f cyc", row ? 3 : 11, "", b, 2 * ghz / b);
        if (row) printf(" %6.1fx", b / rate_libm(row, false));
        printf("\n");
    }
    math_close(&m);
    return 0;
}

/* ---- from memory ----------------------------------------------------------------------------------------- */

enum { LARGE = 1 << 24, SLICES = 256, PASSES = 12 };

/* The whole array in slices, again and again; the sum of the least time of each slice. A slice is back in memory
 * when it is read again, and what disturbs one pass rarely disturbs the same slice in all. */
static double one_core(const struct ekernel *k, float *x, float *out) {
    static uint64_t best[SLICES];
    uint32_t per = k->grid / SLICES;
    double sum = 0;
    _Alignas(64) static char scratch[65536];
    memset(best, 0xff, sizeof best);
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < SLICES; i++) {
            uint64_t t = os_now_ns();
            k->fn((void *[]){x, out}, NULL, i * per, (i + 1) * per, scratch);
            best[i] = RG_MIN(best[i], os_now_ns() - t);
        }
    for (uint32_t i = 0; i < SLICES; i++) sum += (double)best[i];
    return sum;
}

static double all_cores(struct math_set *m, const struct ekernel *k, float *x, float *out) {
    struct engine_list *l = engine_list_new(m->engine, &m->err);
    uint64_t best = UINT64_MAX;
    if (!l || engine_list_add(l, &m->err, k, (void *[]){x, out}, NULL)) return NAN;
    for (int r = 0; r < 25; r++) {
        if (engine_list_run(l, &m->err)) return NAN;
        best = RG_MIN(best, engine_list_ns(l, 0));
    }
    engine_list_free(l);
    return (double)best;
}

static int large(void) {
    static const char *const what[] = {"(EXP (LOAD (INDEX x i)))", "(COS (COS (LOAD (INDEX x i))))",
                                       "(LOAD (INDEX x i))"};
    static const char *const name[] = {"exp", "cos(cos(x))", "copy"};
    struct math_set m;
    math_init(&m, RG_COUNT(what));
    for (uint32_t i = 0; i < RG_COUNT(what); i++)
        m.text[m.n++] = arena_printf(&m.arena,
                                     "kernel large%u\nopts %s TILE(i,128,l) PIPE(x,l,8)"
                                     "\nx = (PARAM<f32>[0 x] %d)\nout = (PARAM<f32>[1 out] %d)\n"
                                     "i = (RANGE[i GRID 0] %d)\n(SINK (STORE (INDEX out i) %s))\n",
                                     i, VECTOR32, LARGE, LARGE, LARGE, what[i]);
    const char *e = math_compile(&m);
    if (e) return fprintf(stderr, "%s\n", e), 1;
    float *x = engine_alloc(m.engine, &m.err, LARGE * 4), *out = engine_alloc(m.engine, &m.err, LARGE * 4);
    if (!x || !out) return fprintf(stderr, "%s\n", m.err.msg), 1;
    for (int i = 0; i < LARGE; i++) x[i] = (float)(i % 4001) * 0.005f - 10;
    printf("\n16M float32 from memory: one core (slices), %d cores (whole runs)\n", pool_threads(pool_get()));
    for (uint32_t i = 0; i < m.n; i++) {
        double one = one_core(m.k[i], x, out), all = all_cores(&m, m.k[i], x, out);
        printf("%-12s %8.2f ms %6.2f G elements/s   %8.2f ms %6.2f G elements/s\n", name[i], one / 1e6,
               LARGE / one, all / 1e6, LARGE / all);
    }
    engine_free(m.engine, x, LARGE * 4);
    engine_free(m.engine, out, LARGE * 4);
    math_close(&m);
    return 0;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[-m] [FUNCTION ..]")) return 0;
    bool only_large = argc > 1 && !strcmp(argv[1], "-m");
    if (!only_large && functions(argv + 1, argc - 1)) return 1;
    return argc > 1 && !only_large ? 0 : large();
}
