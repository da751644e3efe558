/* cmd_shape.c: ridge shape M N K: what a matrix product's size does to a GPU, before it is run.
 *
 * Tiles and waves of the result, the share of the machine that does no work, alignment of the rows and
 * the cache lines a tile touches, and the nearest sizes that do better. Arithmetic only (src/analyze/gpu.c).
 * Tests: tests/cli/shape.sh */
#include "cli.h"
#include "analyze/analyze.h"

#include <stdlib.h>

struct product {
    int64_t m, n, k, tm, tn, line, per_sm;
    int elt, align;
    const struct gpu_spec *gpu;
};

static const struct {
    const char *name;
    int elt, align;
} dtypes[] = {{"f64", 8, 2}, {"f32", 4, 4}, {"tf32", 4, 4}, {"f16", 2, 8}, {"bf16", 2, 8}, {"f8", 1, 16}};

static const int64_t tiles[][2] = {{256, 128}, {128, 256}, {256, 64}, {128, 128},
                                   {128, 64},  {64, 128},  {64, 64}};

static bool parse_size(const char *s, int64_t *v) {
    char *end;
    long long x = strtoll(s, &end, 10);
    if (*end || end == s || x < 1 || x > 1 << 30) return false;
    *v = x;
    return true;
}

static struct tiling tiling_of(const struct product *s, int64_t m, int64_t n) {
    return gpu_tiling(m, n, s->tm, s->tn, 1, (int64_t)s->gpu->sms * s->per_sm);
}

/* Without --tile: the largest tile whose waste is within a few points of the least, as libraries choose. */
static void choose_tile(struct product *s) {
    double best = 2;
    for (size_t i = 0; i < RG_COUNT(tiles); i++) {
        s->tm = tiles[i][0], s->tn = tiles[i][1];
        best = RG_MIN(best, tiling_of(s, s->m, s->n).waste);
    }
    for (size_t i = 0; i < RG_COUNT(tiles); i++) {
        s->tm = tiles[i][0], s->tn = tiles[i][1];
        if (tiling_of(s, s->m, s->n).waste <= best + 0.05) return;
    }
}

static void print_one(const struct product *s) {
    struct tiling t = tiling_of(s, s->m, s->n);
    int64_t rows = (s->m + s->tm - 1) / s->tm, cols = (s->n + s->tn - 1) / s->tn;
    printf("%lld x %lld x %lld on %s (%d SMs), tile %lldx%lld\n", (long long)s->m, (long long)s->n,
           (long long)s->k, s->gpu->name, s->gpu->sms, (long long)s->tm, (long long)s->tn);
    printf("  tiles     %lld (%lld x %lld)\n", (long long)t.tiles, (long long)rows, (long long)cols);
    int64_t per = (int64_t)s->gpu->sms * s->per_sm, last = t.tiles - (t.waves - 1) * per;
    printf("  waves     %lld, the last with %lld of %lld tiles\n", (long long)t.waves, (long long)last,
           (long long)per);
    printf("  wasted    %.1f%% (%.1f%% outside the matrix, %.1f%% empty slots)\n", 100 * t.waste,
           100 * t.edge, 100 * t.tail);
    int64_t lines = gpu_lines_touched(s->n, s->tm, s->tn, s->line);
    int64_t least = s->tm * ((s->tn + s->line - 1) / s->line);
    printf(
        "  lines     one tile of the result touches %lld cache lines of %lld elements (aligned rows: %lld)\n",
        (long long)lines, (long long)s->line, (long long)least);
    printf("  aligned   ");
    if (s->n % s->align == 0 && s->k % s->align == 0)
        printf("yes: N and K are multiples of %d elements (16 bytes)\n", s->align);
    else
        printf("no: N = %lld and K = %lld must be multiples of %d elements (16 bytes) for the fast kernels\n",
               (long long)s->n, (long long)s->k, s->align);
}

struct better {
    int64_t m, n;
    double gain; /* share of time per useful element saved */
    const char *why;
};

/* Time per useful element, in units of a full machine: what padding must beat. A padded K is computed too. */
static double price(const struct product *s, int64_t m, int64_t n, int64_t k, int64_t useful) {
    struct tiling t = tiling_of(s, m, n);
    double slow = n % s->align || k % s->align ? 3 : 1; /* misaligned kernels run at about a third */
    double longer = (double)k / (double)s->k;
    return slow * longer * (double)t.waves * (double)(s->tm * s->tn) * s->gpu->sms / (double)useful;
}

static int64_t aligned(const struct product *s, int64_t x) {
    return (x + s->align - 1) / s->align * s->align;
}

/* More elements, of which as many as before are useful: whichever of N and K is not aligned, both if both are. */
static int print_padding(const struct product *s, double now) {
    int64_t n = aligned(s, s->n), k = aligned(s, s->k);
    double p = price(s, s->m, n, k, s->m * s->n);
    if ((n == s->n && k == s->k) || p >= now * 0.99) return 0;
    if (k == s->k)
        printf("pad N to %lld", (long long)n);
    else if (n == s->n)
        printf("pad K to %lld", (long long)k);
    else
        printf("pad N to %lld and K to %lld", (long long)n, (long long)k);
    printf(": about %.0f%% less time", 100 * (1 - p / now));
    return 1;
}

static void print_better(const struct product *s) {
    double now = price(s, s->m, s->n, s->k, s->m * s->n);
    printf("  better    ");
    int found = print_padding(s, now);
    int64_t k = aligned(s, s->k);
    double best = price(s, s->m, aligned(s, s->n), k, s->m * s->n);
    /* Trimming: the nearest smaller N, M or both that drop a wave, against what padding brings. */
    for (int what = 0; what < 3; what++) {
        for (int64_t cut = 1; cut <= s->n / 8 + 1; cut++) {
            if (what == 2 && s->m != s->n) break;
            int64_t m = what == 1 ? s->m : s->m - cut, n = what == 0 ? s->n : s->n - cut;
            if (m < 1 || n < 1 || (what != 0 && n % s->align)) continue;
            double p = price(s, m, n, k, m * n);
            if (p > RG_MIN(now, best) * 0.9) continue;
            static const char *const names[] = {"M", "N", "M and N"};
            printf("%s%s = %lld: about %.0f%% less time per element", found++ ? "\n            " : "",
                   names[what], (long long)(what == 1 ? n : m), 100 * (1 - p / now));
            break;
        }
    }
    /* Growing inside the waves that are paid for anyway. */
    struct tiling t = tiling_of(s, s->m, s->n);
    int64_t n = s->n;
    while (tiling_of(s, s->m, n + s->align - n % s->align).waves == t.waves && n < s->n * 4)
        n += s->align - n % s->align;
    if (n >= s->n + s->n / 50)
        printf("%sup to N = %lld costs no more waves", found++ ? "\n            " : "", (long long)n);
    printf("%s\n", found ? "" : "none nearby: the size fits");
}

int cmd_shape(int argc, char **argv) {
    const char *dtype = "bf16", *device = "H200", *tile = NULL;
    int64_t line = NOT_GIVEN, per_sm = 1;
    const struct arg_spec spec[] = {
        {"dtype", ARG_TEXT, &dtype, "NAME", "f64 f32 tf32 f16 bf16 f8 (default bf16)"},
        {"device", ARG_TEXT, &device, "GPU", "H200, A100, RTX 4090, MI300X ... (default H200)"},
        {"tile", ARG_TEXT, &tile, "TMxTN", "tile of the result; default: what a library would choose"},
        {"line", ARG_NUMBER, &line, "N", "elements in a cache line (default 128 bytes)"},
        {"per-sm", ARG_NUMBER, &per_sm, "N", "tiles at once on one SM (default 1)"}};
    struct args a = {
        .command = "shape",
        .operands = "M N K",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .min_operands = 3,
        .max_operands = 3,
        .about = "What the size of a matrix product (M x K by K x N) costs on a GPU: tiles, waves, waste,\n"
                 "alignment, cache lines, and the nearest sizes that do better."};
    int rc = args_parse(&a, argc, argv);
    if (rc >= 0) return rc;
    if (line != NOT_GIVEN && (rc = args_range(&a, "line", line, 1, 1 << 20)) >= 0) return rc;
    if ((rc = args_range(&a, "per-sm", per_sm, 1, 64)) >= 0) return rc;
    struct product s = {.line = line, .per_sm = per_sm, .gpu = gpu_spec_find(device)};
    int64_t *at[] = {&s.m, &s.n, &s.k};
    for (int i = 0; i < 3; i++)
        if (!parse_size(a.operand[i], at[i])) {
            fprintf(stderr, "ridge shape: \"%s\" is not a size; expected a number from 1 to 2^30\n",
                    a.operand[i]);
            return EXIT_USAGE;
        }
    if (!s.gpu) {
        fprintf(stderr, "ridge shape: no GPU named \"%s\"; known:", device);
        for (size_t i = 0; gpu_spec_at(i); i++) fprintf(stderr, "%s %s", i ? "," : "", gpu_spec_at(i)->name);
        fprintf(stderr, "\n");
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < RG_COUNT(dtypes); i++)
        if (!strcmp(dtypes[i].name, dtype)) s.elt = dtypes[i].elt, s.align = dtypes[i].align;
    if (!s.elt) {
        fprintf(stderr, "ridge shape: no dtype \"%s\"; expected f64 f32 tf32 f16 bf16 f8\n", dtype);
        return EXIT_USAGE;
    }
    if (line == NOT_GIVEN) s.line = 128 / s.elt;
    if (tile) {
        char m[24] = "", n[24] = "";
        if (sscanf(tile, "%20[0-9]x%20[0-9]", m, n) != 2 || !parse_size(m, &s.tm) || !parse_size(n, &s.tn)) {
            fprintf(stderr, "ridge shape: \"%s\" is not a tile; expected for example 256x128\n", tile);
            return EXIT_USAGE;
        }
    } else {
        choose_tile(&s);
    }
    print_one(&s);
    print_better(&s);
    return EXIT_OK;
}
