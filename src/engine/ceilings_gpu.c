/* ceilings_gpu.c: what a GPU can do, measured with kernels of our own, beside what its clocks and units allow.
 *
 * Times of kernels are the GPU's own, the best of several runs on the same memory; costs of starting them are the host's.
 * Reads are counted in bytes whose sum is stored, so that the compiler cannot drop them; arithmetic in chains that do not wait
 * for each other. Figures are those of the whole GPU, and divided by its SMs.
 * Tests: tests/unit/cuda_fake.c (that it runs), docs/measurements/2026-11-16-h200.md has figures */
#include "engine/internal.h"

enum { RUNS = 9, REPEAT = 64, NODES = 1000, LAUNCHES = 200 };
#define BIG ((size_t)512 << 20) /* bytes that are moved; of a GPU with little memory a part of that */

#define KERNEL(name, body)                                                                     \
    "extern \"C\" __global__ void " name "(float4 *b0, float4 *b1, u64 n, char *s, u64 d) {\n" \
    "    u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;\n    if (t >= n) return;\n" body "}\n"

static const char text_copy[] = KERNEL("copy", "    b1[t] = b0[t];\n");
static const char text_write[] = KERNEL("write", "    b1[t] = make_float4(1, 2, 3, 4);\n");
static const char text_read[] = KERNEL(
    "read", "    float x = 0;\n"
            "    for (int i = 0; i < 8; i++) { float4 v = b0[t + i * n]; x += v.x + v.y + v.z + v.w; }\n"
            "    if (x == -1234.5f) b1[0].x = x;\n");
static const char text_l2[] =
    KERNEL("l2", "    float x = 0;\n"
                 "    #pragma unroll 8\n"
                 "    for (int i = 0; i < 64; i++) { float4 v; u64 at = (t + (u64)i * 65536 * 3) % 1572864;\n"
                 "        asm volatile(\"ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];\" : \"=f\"(v.x), "
                 "\"=f\"(v.y), \"=f\"(v.z), \"=f\"(v.w) : \"l\"(b0 + at));\n"
                 "        x += v.x + v.y + v.z + v.w; }\n"
                 "    if (x == -1234.5f) b1[0].x = x;\n");
static const char text_fma[] = KERNEL(
    "fmas",
    "    float a[8], x = b0[0].x, y = b0[0].y;\n"
    "    for (int i = 0; i < 8; i++) a[i] = x + i;\n"
    "    #pragma unroll 1\n"
    "    for (int r = 0; r < 512; r++)\n"
    "        #pragma unroll\n"
    "        for (int i = 0; i < 64; i++) a[i % 8] = __fmaf_rn(a[i % 8], x, y);\n"
    "    float z = 0;\n    for (int i = 0; i < 8; i++) z += a[i];\n    if (z == -1234.5f) b1[0].x = z;\n");
static const char text_mma[] =
    KERNEL("mmas", "#if __CUDA_ARCH__ >= 800\n"
                   "    float c[4][4]; u32 a = __float_as_uint(b0[0].x);\n"
                   "    for (int i = 0; i < 16; i++) c[i / 4][i % 4] = 0;\n"
                   "    #pragma unroll 1\n"
                   "    for (int r = 0; r < 512; r++)\n"
                   "        #pragma unroll\n"
                   "        for (int i = 0; i < 16; i++) { float *q = c[i % 4];\n"
                   "            asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, "
                   "%2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};\"\n"
                   "                : \"+f\"(q[0]), \"+f\"(q[1]), \"+f\"(q[2]), \"+f\"(q[3]) : \"r\"(a)); }\n"
                   "    float z = 0;\n    for (int i = 0; i < 16; i++) z += c[i / 4][i % 4];\n    if (z == "
                   "-1234.5f) b1[0].x = z;\n"
                   "#endif\n");
static const char text_tiny[] = KERNEL("tiny", "    pdl_wait();\n    b1[0].x = b0[0].x + 1;\n");

enum { COPIES, WRITES, READS, L2_READS, FMAS, MMAS, TINY, KERNELS };
static const struct {
    const char *name, *text;
    size_t per_thread; /* bytes: the grid is BIG / this; 0: 2048 threads a SM */
} kernels[KERNELS] = {{"copy", text_copy, 16}, {"write", text_write, 16}, {"read", text_read, 128},
                      {"l2", text_l2, 0},      {"fmas", text_fma, 0},     {"mmas", text_mma, 0},
                      {"tiny", text_tiny, BIG}};

struct gpu_probe {
    struct engine *en;
    struct err *err;
    struct arena *arena;
    struct ceilings *out;
    struct dev_info info;
    const struct ekernel *k[KERNELS];
    size_t big;  /* bytes */
    char *a, *b; /* of that size each */
    struct engine_list *list;
};

static void must(struct gpu_probe *p, int code) {
    if (code) err_throw(p->err, code, "%s", p->err->msg);
}

static void prepare(struct gpu_probe *p) {
    struct etext t[KERNELS];
    must(p, p->en->ops->info(p->en->dev, p->err, &p->info));
    p->big = RG_MIN(BIG, p->info.memory / 8 & ~(size_t)0xfffff);
    for (int i = 0; i < KERNELS; i++) {
        size_t each = kernels[i].per_thread;
        t[i] =
            (struct etext){.name = kernels[i].name,
                           .text = kernels[i].text,
                           .grid = each ? (int64_t)RG_MAX(p->big / each, 1) : (int64_t)p->info.units * 2048,
                           .nbuf = 2};
    }
    must(p, engine_compile_text(p->en, p->err, t, KERNELS, p->k));
    if (!(p->a = engine_alloc(p->en, p->err, p->big)) || !(p->b = engine_alloc(p->en, p->err, p->big)))
        must(p, p->err->code);
    if (!(p->list = engine_list_new(p->en, p->err))) must(p, p->err->code);
    for (int i = 0; i < KERNELS; i++)
        must(p, engine_list_add(p->list, p->err, p->k[i], (void *[]){p->a, p->b}, NULL));
}

static struct ceiling *row(struct gpu_probe *p, const char *name, const char *unit, double theory,
                           const char *how) {
    struct ceiling *c = &p->out->row[p->out->n++];
    *c = (struct ceiling){
        .name = name, .unit = unit, .theory_all = theory, .theory = theory / p->info.units, .how = how};
    return c;
}

/* `work` of one run, by the nanosecond: GB/s of bytes, GFLOP/s of operations. */
static double rate(struct gpu_probe *p, int kernel, double work, const char *name, const char *unit,
                   double theory, const char *how) {
    double best = 1e30, sum = 0;
    for (int i = 0; i < RUNS; i++) {
        double ns = (double)engine_list_time(p->list, (uint32_t)kernel, 1);
        best = RG_MIN(best, ns), sum += ns;
    }
    struct ceiling *c = row(p, name, unit, theory, how);
    c->all = work / RG_MAX(best, 1), c->one = c->all / p->info.units;
    c->spread = 1 - best * RUNS / RG_MAX(sum, 1);
    return c->all;
}

/* ---- costs ------------------------------------------------------------------------------------------------ */

static double run_ns(struct gpu_probe *p, struct engine_list *l, int times) {
    must(p, p->en->ops->wait(p->en->dev, p->err));
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < times; i++) must(p, engine_list_run(l, p->err));
    must(p, p->en->ops->wait(p->en->dev, p->err));
    return (double)(os_now_ns() - t0) / times / engine_list_count(l);
}

/* Kernels that wait for each other; with uses they become a graph. */
static double chain_ns(struct gpu_probe *p, int n, bool graph) {
    struct engine_list *l = engine_list_new(p->en, p->err);
    double best = 1e30;
    if (!l) must(p, p->err->code);
    engine_list_free(p->list); /* one is freed by the caller, whatever happens */
    p->list = l;
    for (int i = 0; i < n; i++) {
        void *buf[] = {i % 2 ? p->b : p->a, i % 2 ? p->a : p->b};
        must(p, engine_list_add(l, p->err, p->k[TINY], buf, NULL));
        if (graph)
            must(p, engine_list_uses(l, p->err, (uint32_t)i, (uint8_t[]){USE_LOADED, USE_STORED},
                                     (size_t[]){16, 16}));
    }
    for (int i = 0; i < 6; i++) {
        double ns = run_ns(p, l, 4);
        if (i > 1) best = RG_MIN(best, ns);
    }
    return best;
}

static void add_cost(struct gpu_probe *p, const char *name, double ns, const char *how) {
    struct ceiling *c = row(p, name, "ns", 0, how);
    c->cost = true, c->one = c->all = ns;
}

static void measure_bus(struct gpu_probe *p) {
    struct dev_fetch *f;
    double best = 1e30;
    char *host = engine_host_alloc(p->en, p->err, p->big);
    if (!host) must(p, p->err->code);
    int code = 0;
    for (int i = 0; i < 4 && !code; i++) {
        uint64_t t0 = os_now_ns();
        code = engine_fetch(p->en, p->err, &(struct dev_piece){p->a, host, p->big}, 1, &f);
        if (!code) code = engine_fetched(p->en, p->err, f);
        best = RG_MIN(best, (double)(os_now_ns() - t0));
    }
    engine_host_free(p->en, host, p->big);
    must(p, code);
    struct ceiling *c = row(p, "pinned copy in", "GB/s", 0, "from memory of the host that does not move");
    c->all = c->one = (double)p->big / best;
}

static void measure_all(void *arg) {
    struct gpu_probe *p = arg;
    struct model *m = &p->out->model;
    const struct model *known = engine_model(p->en, p->err);
    if (!known) must(p, p->err->code);
    *m = *known;
    prepare(p);
    double big = (double)p->big, threads = p->info.units * 2048.0, clocks = p->info.units * p->info.ghz,
           dram = p->info.memory_rate;
    model_measured(m, MODEL_DRAM_READ,
                   rate(p, READS, big, "memory read", "GB/s", dram, "memory clock by bus width"));
    rate(p, WRITES, big, "memory write", "GB/s", dram, "the same");
    model_measured(m, MODEL_DRAM_COPY,
                   rate(p, COPIES, 2 * big, "memory copy", "GB/s", dram, "bytes read plus bytes written"));
    rate(p, L2_READS, threads * REPEAT * 16, "L2 read", "GB/s", 0, "24 MiB again and again");
    rate(p, FMAS, threads * 512 * 64 * 2, "f32", "GFLOPS", clocks * 256, "128 FMAs a clock and SM");
    if (p->info.major >= 8)
        rate(p, MMAS, threads / 32 * 512 * 16 * 4096, "bf16 mma.sync", "GFLOPS",
             clocks * (p->info.major >= 9 ? 4096 : 2048),
             "tensor cores at the full clock; wgmma reaches more");
    measure_bus(p);
    add_cost(p, "launch", chain_ns(p, LAUNCHES, false), "a kernel on one element, asked for one by one");
    if (p->en->ops->record)
        add_cost(p, "graph node", chain_ns(p, NODES, true),
                 "the same in a graph of 1,000 that wait for each other");
}

int ceilings_gpu(struct engine *en, struct err *e, struct arena *a, struct ceilings *out) {
    struct gpu_probe p = {.en = en, .err = e, .arena = a, .out = out};
    uint64_t t0 = os_now_ns();
    err_guard(e, measure_all, &p);
    engine_list_free(p.list);
    engine_free(en, p.a, p.big), engine_free(en, p.b, p.big);
    out->threads = RG_MAX(p.info.units, 1);
    out->seconds = (double)(os_now_ns() - t0) * 1e-9;
    return e->code;
}
