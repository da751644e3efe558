/* math.c: the long sweeps of `make test-math`: every float32 of every function, ten million float64 of each,
 * a hundred million pairs for POW. One test per function; the runner takes as many at once as there are cores.
 * docs/math.md keeps the table that this prints. */
#include "math_check.h"
#include "test.h"

static float x32[MATH_BLOCK], y32[MATH_BLOCK], o32[MATH_BLOCK], n32[MATH_BLOCK];
static double x64[MATH_BLOCK], y64[MATH_BLOCK], o64[MATH_BLOCK];

static void open_one(struct math_set *m, const char *op, const char *dt, bool two) {
    math_init(m, 1);
    math_add(m, op, dt, MATH_BLOCK, math_vector(4), two);
    const char *e = math_compile(m);
    if (e) FAIL("%s", e);
}

static void report(const char *name, const char *dt, const char *how, const struct worst *w, double bound) {
    TEST_INFO("| %-7s | %s | %s | %.4f | %a |", name, dt, how, w->ulp, w->x);
    if (w->ulp > bound)
        FAIL("%s<%s>(%.17g = %a, %.17g) is %.17g: %.4g ulp from right, allowed are %g", name, dt, w->x, w->x,
             w->y, w->got, w->ulp, bound);
}

/* Of an odd or even function the C library, which is most of the work, need only be asked about x >= 0: the
 * result for -x must have the same bits, sign aside. */
static void mirrored(const char *op, int parity) {
    for (uint32_t k = 0; k < MATH_BLOCK; k++) {
        float want = parity < 0 ? -o32[k] : o32[k];
        if (memcmp(&want, &n32[k], 4) && !isnan(want))
            FAIL("%s(-%a) is %a, expected %a", op, (double)x32[k], (double)n32[k], (double)want);
    }
}

static void all_f32(const char *op) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    const struct math_row *row = math_rows;
    while (strcmp(row->name, op)) row++;
    open_one(&m, op, "f32", false);
    for (uint64_t at = 0; at < 1ull << (row->parity ? 31 : 32);) {
        for (uint32_t k = 0; k < MATH_BLOCK; k++) x32[k] = f32_of((uint32_t)at++);
        math_run(&m, 0, x32, NULL, o32);
        worst_f32(&w, row, x32, o32, MATH_BLOCK);
        if (!row->parity) continue;
        for (uint32_t k = 0; k < MATH_BLOCK; k++) y32[k] = -x32[k];
        math_run(&m, 0, y32, NULL, n32);
        mirrored(op, row->parity);
    }
    report(op, "f32", "all 2^32", &w, row->bound);
    math_close(&m);
}

static void many_f64(const char *op) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t seed = hash_bytes(op, strlen(op), 2);
    const struct math_row *row = math_rows;
    while (strcmp(row->name, op)) row++;
    open_one(&m, op, "f64", false);
    for (uint32_t done = 0; done < 10000000; done += MATH_BLOCK) {
        for (uint32_t k = 0; k < MATH_BLOCK; k++) x64[k] = random_f64(&seed);
        math_run(&m, 0, x64, NULL, o64);
        worst_f64(&w, row, x64, o64, MATH_BLOCK);
    }
    report(op, "f64", "10^7 random", &w, row->bound);
    math_close(&m);
}

/* The results of all 2^32 floats as one number, with one NaN for all of them. Kernels are made of operations that IEEE 754
 * rounds exactly, so that every instruction set and compiler must give the same bits; this takes seconds where the C library
 * takes minutes. */
static const struct {
    const char *op;
    uint64_t sum;
} bits_known[] = {
    {"EXP", 0x8207649524c56e66},  {"EXP2", 0xe5d61fac17bae533},    {"LOG", 0x3928c15ed2ad8bbe},
    {"LOG2", 0x398766dab0edc01c}, {"LOG10", 0xa55ba1120c197b53},   {"SIN", 0x9bdd8707c05dd8cd},
    {"COS", 0x1f295952e88b5391},  {"TAN", 0xd6798f7ae9ccd29e},     {"TANH", 0x8551689fe9626ba3},
    {"ERF", 0x250756967e08379d},  {"SIGMOID", 0xd5bd32fea3d99008}, {"RSQRT", 0x6c009d4c5e930259},
    {"SQRT", 0x7827e9c8e6108320},
};

static void bits_f32(const char *op) {
    struct math_set m;
    uint64_t sum = 0, want = 0;
    open_one(&m, op, "f32", false);
    for (uint64_t at = 0; at < 1ull << 32;) {
        for (uint32_t k = 0; k < MATH_BLOCK; k++) x32[k] = f32_of((uint32_t)at++);
        math_run(&m, 0, x32, NULL, o32);
        for (uint32_t k = 0; k < MATH_BLOCK; k++)
            if (o32[k] != o32[k]) o32[k] = f32_of(0x7fc00000);
        sum = hash_bytes(o32, sizeof o32, sum);
    }
    math_close(&m);
    for (size_t i = 0; i < RG_COUNT(bits_known); i++)
        if (!strcmp(bits_known[i].op, op)) want = bits_known[i].sum;
    if (sum != want)
        FAIL("%s: the bits of all floats have the sum 0x%016llx, expected 0x%016llx", op,
             (unsigned long long)sum, (unsigned long long)want);
}

#define X(op, f, bound, parity) \
    TEST_MANUAL(math_bits_f32_##op, 3600) { bits_f32(#op); }
MATH_TABLE(X)
#undef X

#define X(op, f, bound, parity)                            \
    TEST_MANUAL(math_all_f32_##op, 3600) { all_f32(#op); } \
    TEST_MANUAL(math_all_f64_##op, 3600) { many_f64(#op); }
MATH_TABLE(X)
#undef X

TEST_MANUAL(math_all_f32_POW, 3600) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t seed = 11;
    open_one(&m, "POW", "f32", true);
    for (uint32_t done = 0; done < 100000000; done += MATH_BLOCK) {
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double x, y;
            random_pow(&seed, 150, &x, &y, true);
            x32[k] = (float)x, y32[k] = (float)y;
        }
        math_run(&m, 0, x32, y32, o32);
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double u = ulp_f32(o32[k], pow((double)x32[k], (double)y32[k]));
            if (u > w.ulp) w = (struct worst){u, (double)x32[k], (double)y32[k], (double)o32[k]};
        }
    }
    report("POW", "f32", "10^8 random", &w, POW_BOUND);
    math_close(&m);
}

TEST_MANUAL(math_all_f64_POW, 3600) {
    struct math_set m;
    struct worst w = {-1, 0, 0, 0};
    uint64_t seed = 12;
    open_one(&m, "POW", "f64", true);
    for (uint32_t done = 0; done < 10000000; done += MATH_BLOCK) {
        for (uint32_t k = 0; k < MATH_BLOCK; k++) random_pow(&seed, 1080, &x64[k], &y64[k], false);
        math_run(&m, 0, x64, y64, o64);
        for (uint32_t k = 0; k < MATH_BLOCK; k++) {
            double u = ulp_f64(o64[k], powl((long double)x64[k], (long double)y64[k]));
            if (u > w.ulp) w = (struct worst){u, x64[k], y64[k], o64[k]};
        }
    }
    report("POW", "f64", "10^7 random", &w, POW_BOUND);
    math_close(&m);
}
