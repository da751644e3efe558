/* gpu.c: known GPUs (gpus.def), the limits of their architectures, and what a driver's report makes of a row.
 *
 * Gives: gpu_spec_find (a row by name), gpu_spec_of (a row with the driver's figures put over it), model_of_gpu (the
 * machine model of a row). Limits by compute capability: CUDA C++ Programming Guide 12.8, "Technical Specifications per
 * Compute Capability"; CDNA: AMD's ISA guides.
 * Tests: tests/unit/model_gpus.c, tests/unit/analyze_gpu.c */
#include "model.h"

#include <math.h>

#define L2_RATE 40.0     /* bytes per cycle and SM, H200: docs/measurements/2026-11-16-h200-notes.md */
#define LAUNCH_NS 2000.0 /* H200, CUDA 13, same source */

#define MIB(n) ((int64_t)(n) << 20)
#define KIB(n) ((n) << 10)
#define LIMITS(capability, threads, blocks, shared_sm, shared_block, reserved)                   \
    .cc = (capability), .max_threads_sm = (threads), .blocks_sm = (blocks), .regs_sm = 64 << 10, \
    .smem_sm = KIB(shared_sm), .smem_block = KIB(shared_block), .smem_reserved = (reserved),     \
    .threads_block = 1024
/* clang-format off */
/*                   cc  threads  blocks  shared memory, KiB    reserved per
 *                        of a SM  of a SM  of a SM  of a block  block, bytes */
#define SM70  LIMITS( 70,  2048,      32,      96,       96,         0)
#define SM75  LIMITS( 75,  1024,      16,      64,       64,         0)
#define SM80  LIMITS( 80,  2048,      32,     164,      163,      1024)
#define SM86  LIMITS( 86,  1536,      16,     100,       99,      1024)
#define SM87  LIMITS( 87,  1536,      16,     164,      163,      1024)
#define SM89  LIMITS( 89,  1536,      24,     100,       99,      1024)
#define SM90  LIMITS( 90,  2048,      32,     228,      227,      1024)
#define SM100 LIMITS(100,  2048,      32,     228,      227,      1024)
#define SM103 LIMITS(103,  2048,      32,     228,      227,      1024)
#define SM120 LIMITS(120,  1536,      24,     100,       99,      1024)
#define SM121 LIMITS(121,  1536,      24,     100,       99,      1024)
#define CDNA2 LIMITS(  0,  2048,      32,      64,       64,         0)
#define CDNA3 LIMITS(  0,  2048,      32,      64,       64,         0)
#define CDNA4 LIMITS(  0,  2048,      32,     160,      160,         0)
/* clang-format on */

static const struct gpu_spec rows[] = {
#define GPU(called, arch, ...) {.name = (called), arch, __VA_ARGS__},
#include "gpus.def"
#undef GPU
};
static const struct gpu_spec archs[] = {{SM70}, {SM75},  {SM80},  {SM86},  {SM87}, {SM89},
                                        {SM90}, {SM100}, {SM103}, {SM120}, {SM121}};

/* ---- rows ----------------------------------------------------------------------------------------- */

const struct gpu_spec *gpu_spec_at(size_t i) { return i < RG_COUNT(rows) ? &rows[i] : NULL; }

static int folded(int c) {
    if (c == '-' || c == '_') return ' ';
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Substring without regard to case; '-', '_' and ' ' are equal. */
static bool contains(const char *s, const char *part) {
    for (; *s; s++) {
        size_t i = 0;
        while (part[i] && s[i] && folded(s[i]) == folded(part[i])) i++;
        if (!part[i]) return true;
    }
    return false;
}

const struct gpu_spec *gpu_spec_find(const char *name) {
    if (!name || !*name) return NULL;
    for (size_t i = 0; i < RG_COUNT(rows); i++)
        if (contains(name, rows[i].name)) return &rows[i];
    for (size_t i = 0; i < RG_COUNT(rows); i++)
        if (contains(rows[i].name, name)) return &rows[i];
    return NULL;
}

const struct gpu_spec *gpu_spec_default(void) { return gpu_spec_find("NVIDIA H200"); }

struct gpu_spec gpu_spec_with_cc(int cc) {
    struct gpu_spec s = *gpu_spec_default();
    s.cc = cc;
    return s;
}

int gpu_blocks_per_sm(int cc) {
    for (size_t i = 0; i < RG_COUNT(archs); i++)
        if (archs[i].cc == cc) return archs[i].blocks_sm;
    return 32;
}

/* ---- what a driver reports ------------------------------------------------------------------------- */

/* An unlisted GPU: limits of the newest architecture that is not newer than it; its rates are unknown. */
static struct gpu_spec unlisted(const struct model_gpu *g) {
    struct gpu_spec s = archs[0];
    for (size_t i = 0; i < RG_COUNT(archs); i++)
        if (archs[i].cc <= g->cc) s = archs[i];
    s.name = g->name, s.cc = g->cc;
    s.bw = g->memory_rate; /* of the pins; a row has the data sheet's */
    return s;
}

static void take_int(int *field, int reported) {
    if (reported > 0) *field = reported;
}

struct gpu_spec gpu_spec_of(const struct model_gpu *g) {
    const struct gpu_spec *row = gpu_spec_find(g->name);
    struct gpu_spec s = row ? *row : unlisted(g);
    take_int(&s.cc, g->cc), take_int(&s.sms, g->units);
    take_int(&s.max_threads_sm, g->threads_sm), take_int(&s.threads_block, g->threads_block);
    take_int(&s.blocks_sm, g->blocks_sm), take_int(&s.regs_sm, g->regs_sm);
    take_int(&s.smem_sm, (int)g->shared_sm), take_int(&s.smem_block, (int)g->shared);
    if (g->l2 > 0) s.l2 = (int64_t)g->l2;
    if (g->ghz > 0) s.ghz = g->ghz;
    return s;
}

/* ---- the machine model of a GPU --------------------------------------------------------------------- */

/* Units do a power of two of FLOPs per cycle and SM; data sheets have peaks at clocks of their own, so the nearest one. */
static double per_cycle(const struct gpu_spec *s, enum gpu_unit u, double otherwise) {
    double n = s->sms * s->ghz;
    return s->peak[u] > 0 && n > 0 ? exp2(round(log2(s->peak[u] * 1e3 / n))) : otherwise;
}

double gpu_mma_per_cycle(const struct gpu_spec *s) { return per_cycle(s, GPU_F16, 4096); }

double gpu_l2_rate(const struct gpu_spec *s) { return s->l2_sm > 0 ? s->l2_sm : L2_RATE; }
double gpu_l2_scale(const struct gpu_spec *s) { return gpu_l2_rate(s) / L2_RATE; }
double gpu_launch_ns(const struct gpu_spec *s) { return s->launch > 0 ? s->launch * 1e3 : LAUNCH_NS; }

double gpu_whole(const struct gpu_spec *s, double per_sm) { return round(s->sms * per_sm); }

double gpu_power_flops(const struct gpu_spec *s) {
    double peak =
        s->peak[GPU_F16] > 0 ? s->peak[GPU_F16] * 1e12 : gpu_mma_per_cycle(s) * s->sms * s->ghz * 1e9;
    return gpu_cost.power_limited * peak;
}

/* Full-rate double precision: the data centre parts. */
static bool has_f64(const struct gpu_spec *s) {
    return s->cc == 0 || s->cc == 70 || s->cc == 80 || s->cc == 90 || s->cc == 100;
}

/* Shared memory gives 128 bytes per cycle and SM; DRAM 92 % of its rate as measured on an H200
 * (docs/measurements/2026-11-16-h200-notes.md). What a row does not know is Hopper's. */
void model_of_gpu(struct model *m, const struct gpu_spec *s) {
    double *t = m->theory, clock = s->ghz > 0 ? s->ghz : 1.5, f32 = per_cycle(s, GPU_F32, 256);
    *m = (struct model){0};
    model_set_name(m, s->name ? s->name : "", "GPU");
    t[MODEL_CORES] = s->sms > 0 ? s->sms : 100;
    t[MODEL_CLOCK] = clock;
    t[MODEL_VEC_BYTES] = 128;
    t[MODEL_FMA_UNITS] = f32 / 64;
    t[MODEL_FLOPS_F32] = t[MODEL_FLOPS_F16] = t[MODEL_FLOPS_BF16] =
        f32; /* 16-bit floats are computed in f32 */
    double f64 =
        has_f64(s) ? f32 / 2 : f32 / 64; /* a data sheet's may be less (H20), or that of the tensor cores */
    t[MODEL_FLOPS_F64] = RG_MIN(f64, per_cycle(s, GPU_F64, f64));
    t[MODEL_OPS_INT] = f32 / 2;
    t[MODEL_MATRIX_BF16] = gpu_mma_per_cycle(s);
    t[MODEL_MATRIX_I8] = 2 * t[MODEL_MATRIX_BF16];
    t[MODEL_L1_SIZE] = t[MODEL_L2_SIZE] = s->smem_block > 0 ? s->smem_block : KIB(96);
    t[MODEL_L3_SIZE] = (double)s->l2;
    t[MODEL_L1_RATE] = t[MODEL_L2_RATE] = 128 * clock;
    t[MODEL_L3_RATE] = gpu_l2_rate(s) * clock;
    t[MODEL_DRAM_READ] = t[MODEL_DRAM_COPY] = 0.92 * (s->bw > 0 ? s->bw : 800);
    t[MODEL_DRAM_CORE] = RG_MIN(gpu_l2_rate(s) * clock, t[MODEL_DRAM_READ]);
    t[MODEL_LAUNCH] = gpu_launch_ns(s);
    t[MODEL_FORK] = t[MODEL_WAKE] = 1;
    model_round(m);
}

void model_guess_gpu(struct model *m, const struct model_gpu *g) {
    struct gpu_spec s = gpu_spec_of(g);
    if (g->memory_rate > 0) s.bw = g->memory_rate;
    s.name = g->name;
    model_of_gpu(m, &s);
}
