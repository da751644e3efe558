/* foreign.c: what traces of other frameworks were misread as, each with a small trace that has it.
 *
 * Traces are written here in Kineto's words, a few events each; times are in microseconds. Tests of src/analyze/foreign. */
#include "analyze/analyze.h"
#include "report/report.h"
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

static struct err err;
static struct arena arena;
static struct str out;
static struct trace t;
static struct diag d;
static uint32_t events, correlation;
static struct trace_cpu here; /* cores 0: not known */

#define H200                                                                                         \
    "{\"id\": 0, \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320, \"computeMajor\": 9, " \
    "\"computeMinor\": 0, \"maxThreadsPerMultiprocessor\": 2048, \"numSms\": 132, "                  \
    "\"regsPerMultiprocessor\": 65536, \"sharedMemPerMultiprocessor\": 233472}"

static void begin(const char *devices, const char *more) {
    arena_init(&arena, &err);
    str_init(&out, &arena);
    events = correlation = 0;
    str_printf(&out, "{\"schemaVersion\": 1, \"deviceProperties\": [%s], %s \"traceEvents\": [", devices,
               more);
}

static void event(const char *cat, const char *name, int pid, int tid, double ts, double dur,
                  const char *args, ...) RG_FMT(7, 8);
static void event(const char *cat, const char *name, int pid, int tid, double ts, double dur,
                  const char *args, ...) {
    char text[1000];
    va_list ap;
    va_start(ap, args);
    vsnprintf(text, sizeof text, args, ap);
    va_end(ap);
    str_printf(
        &out,
        "%s\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, "
        "\"dur\": %.3f, \"args\": {%s}}",
        events++ ? "," : "", cat, name, pid, tid, ts, dur, text);
}
static void op(const char *name, double ts, double dur) {
    event("cpu_op", name, 500, 500, ts, dur, "%s", "");
}
static void shaped(const char *name, double ts, double dur, const char *dims, const char *types,
                   const char *strides) {
    event("cpu_op", name, 500, 500, ts, dur, "\"Input Dims\": %s, \"Input type\": %s, \"Input Strides\": %s",
          dims, types, strides);
}
static void call(const char *name, double ts, double dur, uint32_t corr) {
    event("cuda_runtime", name, 500, 500, ts, dur, "\"correlation\": %u", corr);
}
static void kernel(int device, const char *name, double ts, double dur, uint32_t corr) {
    event("kernel", name, device, 7, ts, dur,
          "\"device\": %d, \"stream\": 7, \"correlation\": %u, \"registers per thread\": 32, \"shared "
          "memory\": 0, "
          "\"grid\": [2048, 1, 1], \"block\": [256, 1, 1]",
          device, corr);
}
static void copy(const char *name, int stream, double ts, double dur, uint32_t corr, long long bytes) {
    event("gpu_memcpy", name, 0, stream, ts, dur,
          "\"device\": 0, \"stream\": %d, \"correlation\": %u, \"bytes\": %lld", stream, corr, bytes);
}
static void step(int i, double ts, double dur) {
    char name[40];
    snprintf(name, sizeof name, "ProfilerStep#%d", i);
    event("user_annotation", name, 500, 500, ts, dur, "%s", "");
}
static void memory(double ts, long long bytes, long long total, int kind) {
    str_printf(&out,
               ",\n{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
               "\"pid\": 500, "
               "\"tid\": 500, \"ts\": %.3f, \"args\": {\"Total Allocated\": %lld, \"Bytes\": %lld, \"Device "
               "Id\": %d, "
               "\"Device Type\": %d, \"Addr\": %lld}}",
               ts, total, bytes, kind ? 0 : -1, kind, 140000000000 + total);
}
/* A launch at `ts`, and its kernel of `dur` at `at`. */
static void work(const char *operator, const char * name, double ts, double at, double dur) {
    uint32_t c = ++correlation;
    op(operator, ts - 2, 12);
    call("cudaLaunchKernel", ts, 6, c);
    kernel(0, name, at, dur, c);
}
static void diagnosed(void) {
    str_add(&out, "]}");
    if (trace_read_mem(&t, &err, out.p, out.n, 0)) FAIL("%s", err.msg);
    if (here.cores) t.cpu = here;
    if (diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    int64_t sum = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) sum += d.budget[k];
    CHECK_EQ(sum, d.wall_ns);
}
static void forget(void) {
    diag_free(&d);
    trace_free(&t);
    arena_free(&arena);
}
static const struct cause *cause_of(int id) {
    for (uint32_t i = 0; i < d.causes.n; i++)
        if (d.causes.p[i].id == id) return &d.causes.p[i];
    return NULL;
}
static const struct note *capture_note(const char *id) {
    for (uint32_t i = 0; i < d.capture.n; i++)
        if (!strcmp(d.capture.p[i].id, id)) return &d.capture.p[i];
    return NULL;
}
static const char *verdict(void) { return d.healthy ? "healthy" : cause_text(d.verdict); }
static const char *screen(void) {
    static char text[20000];
    struct str s;
    str_init(&s, &arena);
    report_text(&s, &d, "t.json");
    snprintf(text, sizeof text, "%.*s", (int)s.n, s.p);
    return text;
}

#define GEMM "ampere_bf16_gemm_128x128"

/* ---- waits, allocations ------------------------------------------------------------------------------------- */

/* aten::item around aten::_local_scalar_dense around cudaStreamSynchronize is one wait. */
TEST(foreign_nested_waits_count_once) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 20; i++) {
        work("aten::mm", GEMM, now, now + 10, 200);
        op("aten::item", now + 20, 210);
        op("aten::_local_scalar_dense", now + 21, 208);
        uint32_t c = ++correlation;
        call("cudaMemcpyAsync", now + 22, 4, c);
        copy("Memcpy DtoH (Device -> Pinned)", 7, now + 211, 2, c, 4);
        call("cudaStreamSynchronize", now + 27, 200, ++correlation);
        now += 330;
    }
    diagnosed();
    CHECK_STR(verdict(), "sync");
    if (strncmp(d.causes.p[0].signal, "20 waits", 8)) FAIL("%s", d.causes.p[0].signal);
    forget();
}

/* aten::item of a host tensor: no wait, and no obstacle to a graph. */
TEST(foreign_item_of_a_host_tensor_is_no_wait) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 20; i++) {
        op("aten::item", now - 60, 50);
        work("aten::mul", "vectorized_elementwise_kernel", now, now + 10, 3);
        now += 100;
    }
    diagnosed();
    CHECK(!cause_of(CAUSE_SYNC));
    CHECK(cause_of(CAUSE_SMALL) && !cause_of(CAUSE_SMALL)->before);
    CHECK(strstr(cause_of(CAUSE_SMALL)->fix, "CUDAGraph"));
    forget();
}

TEST(foreign_driver_allocations_are_the_allocators) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        op("aten::empty", now, 600);
        call("cudaMalloc", now + 10, 580, ++correlation);
        work("aten::mm", GEMM, now + 605, now + 615, 200);
        now += 815;
    }
    diagnosed();
    CHECK_STR(verdict(), "allocator");
    CHECK(!cause_of(CAUSE_SYNC));
    CHECK(!strstr(d.causes.p[0].fix, ".item()"));
    CHECK(strstr(d.causes.p[0].signal, "9 allocations") || strstr(d.causes.p[0].signal, "10 allocations"));
    CHECK(d.causes.p[0].bound && d.causes.p[0].confirm);
    forget();
}

/* Memory that grows is what the allocator asks the driver for: it comes first, though it holds no idle time of its own. */
TEST(foreign_growth_comes_before_the_stalls_it_makes) {
    begin(H200, "");
    double now = 1000;
    long long held = 1 << 30;
    for (int i = 0; i < 6; i++) {
        double t0 = now;
        op("aten::empty", now, 400);
        call("cudaMalloc", now + 10, 380, ++correlation);
        held += 64 << 20;
        memory(now + 395, 64 << 20, held, 1);
        work("aten::mm", GEMM, now + 405, now + 415, 200);
        op("aten::item", now + 425, 300);
        call("cudaStreamSynchronize", now + 430, 290, ++correlation);
        now += 800;
        step(i, t0 - 5, 795);
    }
    diagnosed();
    CHECK_STR(verdict(), "memory.growth");
    CHECK(cause_of(CAUSE_ALLOC) && cause_of(CAUSE_ALLOC)->before);
    CHECK(strstr(screen(), "the GPU is full in"));
    forget();
}

/* ---- copies --------------------------------------------------------------------------------------------------- */

/* Copies of 9.5 of 10 ms: overlapped, the copies remain; no more than the 0.5 ms of kernels can vanish. */
TEST(foreign_copies_are_the_floor_of_their_overlap) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        uint32_t c = ++correlation;
        call("cudaMemcpyAsync", now - 20, 5, c);
        copy("Memcpy HtoD (Pinned -> Device)", 7, now, 950, c, 50000000);
        work("aten::mm", GEMM, now - 10, now + 950, 50);
        now += 1000;
    }
    diagnosed();
    CHECK_STR(verdict(), "transfer.exposed");
    const struct cause *c = cause_of(CAUSE_EXPOSED);
    CHECK(c->lost_ns > 9000000);
    CHECK(c->gain_ns >= 450000 && c->gain_ns <= 510000);
    CHECK(strstr(c->bound, "the copies alone"));
    forget();
}

/* Half of each copy lies under a kernel already. */
TEST(foreign_overlap_that_exists_is_recognised) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        uint32_t c = ++correlation;
        work("aten::mm", GEMM, now - 30, now, 500);
        call("cudaMemcpyAsync", now - 10, 5, c);
        copy("Memcpy HtoD (Pinned -> Device)", 14, now + 250, 500, c, 25000000);
        now += 750;
    }
    diagnosed();
    const struct cause *c = cause_of(CAUSE_EXPOSED);
    CHECK(c != NULL);
    if (!strstr(c->signal, "50% overlapped")) FAIL("%s", c->signal);
    CHECK_EQ(d.budget[BUDGET_EXPOSED], 2500000);
    forget();
}

TEST(foreign_copies_on_the_device_are_no_computing) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        uint32_t c = ++correlation;
        work("aten::mm", GEMM, now - 30, now, 300);
        call("cudaMemcpyAsync", now - 10, 5, c);
        copy("Memcpy DtoD (Device -> Device)", 7, now + 300, 700, c, 1000000000);
        now += 1000;
    }
    diagnosed();
    CHECK_EQ(d.budget[BUDGET_KERNELS], 3000000);
    CHECK_EQ(d.budget[BUDGET_DEVCOPY], 7000000);
    CHECK_STR(verdict(), "copy.device");
    forget();
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static const struct kernel_row *lone_kernel(const char *operator, const char * dims, const char *types,
                                            const char *strides, double dur) {
    begin(H200, "");
    shaped(operator, 100, 20, dims, types, strides);
    call("cudaLaunchKernel", 105, 5, 1);
    kernel(0, "void at::native::vectorized_elementwise_kernel<4>", 115, dur, 1);
    diagnosed();
    CHECK_EQ(d.kernels.n, 1);
    return &d.kernels.p[0];
}

TEST(foreign_bytes_of_fill_and_of_strides) {
    static const struct {
        const char *op, *dims, *types, *strides;
        double bytes;
    } rows[] = {
        {"aten::fill_", "[[67108864], []]", "[\"float\", \"Scalar\"]", "[[1], []]", 268435456.0},
        {"aten::zero_", "[[1024, 1024]]", "[\"float\"]", "[[1024, 1]]", 4194304.0},
        {"aten::mul_", "[[67108864], []]", "[\"float\", \"Scalar\"]", "[[1], []]", 2 * 268435456.0},
        /* a row of 1024 repeated 4096 times is read once; the result is written in full */
        {"aten::add", "[[4096, 1024], [4096, 1024]]", "[\"float\", \"float\"]", "[[1024, 1], [0, 1]]",
         2 * 16777216.0 + 4096},
        /* every 16th float: a sector of 32 bytes for each of them */
        {"aten::neg", "[[1048576]]", "[\"float\"]", "[[16]]", 1048576 * (32.0 + 4)},
        {"aten::neg", "[[4096, 4096]]", "[\"float\"]", "[[1, 4096]]", 2 * 67108864.0},
    };
    for (size_t i = 0; i < RG_COUNT(rows); i++) {
        const struct kernel_row *k =
            lone_kernel(rows[i].op, rows[i].dims, rows[i].types, rows[i].strides, 1000);
        if (k->bytes != rows[i].bytes)
            FAIL("%s: %.0f bytes, expected %.0f", rows[i].op, k->bytes, rows[i].bytes);
        forget();
    }
    TEST_COUNT(RG_COUNT(rows), "operators with their bytes");
}

/* Faster than memory allows: the data was in the cache, or the formula does not apply. No share of a roof is claimed. */
TEST(foreign_no_share_above_the_roof) {
    const struct kernel_row *k =
        lone_kernel("aten::mul", "[[67108864], []]", "[\"float\", \"Scalar\"]", "[[1], []]", 20);
    CHECK(!k->modelled && k->roof == 0);
    CHECK(!strstr(screen(), "% of memory roof"));
    forget();
}

/* ---- advice that does not fit --------------------------------------------------------------------------------------- */

static void small_steps(const char *kernel_name, const char *launch, bool item) {
    double now = 1000;
    for (int i = 0; i < 40; i++) {
        uint32_t c = ++correlation;
        op("aten::mul", now - 2, 12);
        event(*launch == 'c' && launch[1] == 'u' && launch[2] == 'L' ? "cuda_driver" : "cuda_runtime", launch,
              500, 500, now, 6, "\"correlation\": %u", c);
        kernel(0, kernel_name, now + 10, 3, c);
        now += 40;
        if (!item || i % 10 != 4) continue;
        op("aten::item", now - 20, 18);
        call("cudaStreamSynchronize", now - 18, 14, ++correlation);
    }
}

TEST(foreign_no_graph_while_values_are_read) {
    begin(H200, "");
    small_steps("void at::native::vectorized_elementwise_kernel<4>", "cudaLaunchKernel", true);
    diagnosed();
    const struct cause *c = cause_of(CAUSE_SMALL);
    CHECK(c && c->before);
    CHECK(!strstr(c->fix, "CUDAGraph") && !strstr(c->fix, "reduce-overhead"));
    CHECK(strstr(c->before, "4 reads"));
    CHECK(strstr(screen(), "before it:"));
    forget();
}

TEST(foreign_no_compile_for_what_is_compiled) {
    static const char *const names[][2] = {{"triton_poi_fused_add_mul_0", "cuLaunchKernel"},
                                           {"_my_fused_kernel", "cuLaunchKernelEx"}};
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        begin(H200, "");
        small_steps(names[i][0], names[i][1], false);
        diagnosed();
        const struct cause *c = cause_of(CAUSE_SMALL);
        CHECK(c && !strstr(c->fix, "torch.compile(model"));
        CHECK(strstr(c->fix, "CUDAGraph"));
        forget();
    }
    begin(H200, ""); /* a library's kernel through the driver is not Triton's */
    small_steps("nvjet_sm90_tst_64x8_64x16_4x2_h_bz_splitK_TNT", "cuLaunchKernelEx", false);
    diagnosed();
    CHECK(strstr(cause_of(CAUSE_SMALL)->fix, "torch.compile(model"));
    forget();
}

/* ---- what the file does not say --------------------------------------------------------------------------------------- */

TEST(foreign_missing_correlation_ids_are_said) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        op("aten::mm", now, 20);
        call("cudaLaunchKernel", now + 5, 6, 0);
        kernel(0, GEMM, now + 20, 200, 0);
        now += 230;
    }
    diagnosed();
    CHECK(!capture_note("carry_over") && !capture_note("unlinked"));
    CHECK(capture_note("no_correlation"));
    CHECK(strstr(capture_note("no_correlation")->why, "10 of 10 kernels"));
    CHECK_EQ(d.carry_count, 0);
    forget();
}

/* Kernels that were launched before the recording count, and what was launched in it is said beside them. */
TEST(foreign_what_was_launched_in_the_recording) {
    begin(H200, "");
    for (int i = 0; i < 5; i++) kernel(0, GEMM, 1000 + 210 * i, 200, 900 + (uint32_t)i); /* 1000 .. 2040 */
    for (int i = 0; i < 5; i++) work("aten::mm", GEMM, 1100 + 20 * i, 2100 + 110 * i, 100);
    diagnosed();
    CHECK_EQ(d.devices.n, 1);
    CHECK_EQ(d.devices.p[0].busy_ns, 1500000);
    CHECK_EQ(d.devices.p[0].t1 - d.devices.p[0].t0, 2640000 - 1000000);
    CHECK_EQ(d.devices.p[0].launched_ns, 500000);
    CHECK_EQ(d.devices.p[0].launched_span_ns, 540000);
    CHECK(capture_note("carry_over"));
    forget();
}

/* One figure for one kernel: what the advice says is what the table and JSON say. */
TEST(foreign_occupancy_is_one_figure) {
    begin(H200, "");
    for (int i = 0; i < 4; i++) {
        uint32_t c = ++correlation;
        op("aten::native_batch_norm", 100 + 10 * i, 8);
        call("cudaLaunchKernel", 102 + 10 * i, 5, c);
        event("kernel", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", 0, 7, 200 + 1000 * i, 1000,
              "\"device\": 0, \"stream\": 7, \"correlation\": %u, \"registers per thread\": 32, \"shared "
              "memory\": 0, "
              "\"grid\": [13, 1, 1], \"block\": [1024, 1, 1]",
              c);
    }
    diagnosed();
    CHECK_STR(verdict(), "occupancy");
    char want[60];
    snprintf(want, sizeof want, "%.0f%% of the warps", 100 * d.kernels.p[0].occ.achieved_cap);
    CHECK(strstr(d.causes.p[0].signal, want));
    struct str s;
    str_init(&s, &arena);
    report_json(&s, &d, "t.json");
    snprintf(want, sizeof want, "\"occupancy\":%.6g,", d.kernels.p[0].occ.achieved_cap);
    str_addc(&s, 0);
    CHECK(strstr(s.p, want));
    forget();
}

/* ---- programs on the CPU ---------------------------------------------------------------------------------------------- */

/* Three products of 2 ms and an addition of 1 ms in each of four steps, 0.1 ms of Python between; 64 MB kept in all of them. */
TEST(foreign_a_program_on_the_cpu_in_its_own_words) {
    begin("", "");
    double now = 1000;
    for (int i = 0; i < 4; i++) {
        double t0 = now;
        for (int k = 0; k < 3; k++) {
            shaped("aten::linear", now, 2010, "[[512, 512], [512, 512]]", "[\"float\", \"float\"]", "[]");
            shaped("aten::addmm", now + 5, 2000, "[[512], [512, 512], [512, 512]]",
                   "[\"float\", \"float\", \"float\"]", "[]");
            now += 2110;
        }
        shaped("aten::add", now, 1000, "[[4194304], [4194304]]", "[\"float\", \"float\"]", "[[1], [1]]");
        memory(now + 10, 64 << 20, 64LL << 20, 0);
        memory(now + 900, -(64 << 20), 0, 0);
        now += 1100;
        step(i, t0, now - t0);
    }
    diagnosed();
    CHECK(d.cpu);
    CHECK_EQ(d.budget[BUDGET_KERNELS], 4 * (3 * 2010 + 1000) * 1000);
    CHECK_EQ(d.kernels.n, 3);
    CHECK_STR(trace_str(&t, d.kernels.p[0].name), "aten::addmm");
    CHECK_EQ(d.kernels.p[0].ns, 4 * 3 * 2000 * 1000);
    CHECK_EQ(d.kernels.p[0].count, 12);
    CHECK_EQ(d.kernels.p[2].ns, 4 * 3 * 10 * 1000);             /* aten::linear without what is inside it */
    CHECK(d.kernels.p[0].modelled && !d.kernels.p[2].modelled); /* the product is the inner one's */
    CHECK_EQ(d.regime, REGIME_COMPUTE);
    CHECK_EQ(d.mem_peak, 64 << 20);
    const char *s = screen();
    CHECK(!strstr(s, "GPU"));
    CHECK(strstr(s, "operators computing") && strstr(s, "OPERATORS") && strstr(s, "aten::addmm"));
    CHECK(!capture_note("no_memory") && strstr(s, "MEMORY of the host"));
    forget();
}

TEST(foreign_loading_and_small_operators_on_the_cpu) {
    begin("", "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 500, 500, now,
              5000, "%s", "");
        op("aten::normal_", now + 100, 4000);
        op("aten::mm", now + 5050, 1000);
        now += 6100;
    }
    diagnosed();
    CHECK_STR(verdict(), "host.dataloader");
    CHECK(!strstr(screen(), "GPU"));
    forget();
    begin("", "");
    for (int i = 0; i < 500; i++) op(i % 2 ? "aten::mul" : "aten::add", 1000 + 9 * i, 4);
    diagnosed();
    CHECK_STR(verdict(), "small_kernels");
    forget();
}

/* 64^3 products of 30 us need 16 us on any core; the rest is lost to their smallness, as all of the additions is. A GPU that is
 * only named in the file is no roof for operators. */
TEST(foreign_small_products_on_the_cpu) {
    begin("{\"id\": 0, \"name\": \"NVIDIA H200\"}", "");
    for (int i = 0; i < 500; i++) {
        shaped("aten::mm", 1000 + 50 * i, 30, "[[64, 64], [64, 64]]", "[\"float\", \"float\"]", "[]");
        shaped("aten::add", 1032 + 50 * i, 4, "[[64, 64], [64, 64]]", "[\"float\", \"float\"]", "[]");
    }
    diagnosed();
    CHECK_STR(verdict(), "small_kernels");
    double need = 2.0 * 64 * 64 * 64 / 32e9, all = 500 * 50e-6;
    CHECK_NEAR((double)d.causes.p[0].gain_ns * 1e-9, all - 500 * need, 20e-6);
    CHECK(!strstr(screen(), "% of memory roof") && !strstr(screen(), "% of compute roof"));
    forget();
}

/* Scores of 64 MB between two products: what is between them, 9 of 13 ms, is what one operator saves. */
TEST(foreign_attention_on_the_cpu) {
    begin("", "");
    double now = 1000;
    for (int i = 0; i < 8; i++) {
        shaped("aten::bmm", now, 2000, "[[16, 1024, 64], [16, 64, 1024]]", "[\"float\", \"float\"]", "[]");
        shaped("aten::mul", now + 2000, 3000, "[[16, 1024, 1024], []]", "[\"float\", \"double\"]",
               "[[1048576, 1024, 1], []]");
        shaped("aten::_softmax", now + 5000, 6000, "[[16, 1024, 1024], [], []]",
               "[\"float\", \"Scalar\", \"Scalar\"]", "[[1048576, 1024, 1], [], []]");
        shaped("aten::bmm", now + 11000, 2000, "[[16, 1024, 1024], [16, 1024, 64]]", "[\"float\", \"float\"]",
               "[]");
        now += 13000;
    }
    diagnosed();
    CHECK_STR(verdict(), "memory_traffic");
    CHECK(strstr(d.causes.p[0].signal, "8 times attention"));
    CHECK_EQ(d.causes.p[0].gain_ns, 8 * 9000000LL);
    forget();
}

/* The same, and the program frees 67 MB for 3 ms after each operator: that goes with the scores. */
TEST(foreign_attention_on_the_cpu_frees_its_scores) {
    begin("", "");
    double now = 1000;
    for (int i = 0; i < 8; i++) {
        double t0 = now;
        shaped("aten::bmm", now, 2000, "[[16, 1024, 64], [16, 64, 1024]]", "[\"float\", \"float\"]", "[]");
        shaped("aten::mul", now + 2000, 3000, "[[16, 1024, 1024], []]", "[\"float\", \"double\"]",
               "[[1048576, 1024, 1], []]");
        shaped("aten::_softmax", now + 8000, 6000, "[[16, 1024, 1024], [], []]",
               "[\"float\", \"Scalar\", \"Scalar\"]", "[[1048576, 1024, 1], [], []]");
        shaped("aten::bmm", now + 17000, 2000, "[[16, 1024, 1024], [16, 1024, 64]]", "[\"float\", \"float\"]",
               "[]");
        now += 19000;
        step(i, t0, now - t0);
    }
    diagnosed();
    CHECK_STR(verdict(), "memory_traffic");
    CHECK_EQ(d.causes.p[0].gain_ns, 8 * 15000000LL);
    CHECK(!cause_of(CAUSE_USER));
    forget();
}

/* Layer norm by single operators: reductions and kernels of a few microseconds between the large ones do not end the chain. */
TEST(foreign_chain_goes_around_reductions) {
    static const char *const dims[] = {"[[16384, 4096], [16384, 1]]", "[[16384, 4096], []]",
                                       "[[16384, 1], [16384, 1]]"};
    static const char *const kernels[] = {"void at::native::elementwise_kernel<128, 2, add>",
                                          "void at::native::reduce_kernel<512, 1, MeanOps>",
                                          "void at::native::elementwise_kernel<128, 2, add>"};
    static const double us[] = {204, 78, 2};
    static const int kind[] = {0, 0, 1, 2, 0};
    double now = 1000, ts = 900;
    begin(H200, "");
    for (int i = 0; i < 6; i++, ts += 20) {
        double t0 = ts - 5;
        for (int k = 0; k < 5; k++, ts += 20) {
            uint32_t c = ++correlation;
            shaped(kind[k] == 1 ? "aten::mean" : "aten::mul", ts - 2, 12, dims[kind[k]],
                   "[\"float\", \"float\"]", "[[4096, 1], [1, 1]]");
            call("cudaLaunchKernel", ts, 6, c);
            kernel(0, kernels[kind[k]], now, us[kind[k]], c);
            now += us[kind[k]] + 1;
        }
        step(i, t0, ts - t0);
    }
    diagnosed();
    CHECK_STR(verdict(), "memory_traffic");
    CHECK_EQ(d.causes.p[0].gain_ns, 6 * (204 + 94 + 204) * 1000); /* of 692 us a step */
    forget();
}

/* Weights that are cast in each step; a copy of one type is none. */
TEST(foreign_casts_in_the_step) {
    for (int cast = 0; cast < 2; cast++) {
        double now = 1000, ts = 900;
        begin(H200, "");
        for (int i = 0; i < 20; i++, ts += 20) {
            uint32_t c = ++correlation;
            shaped("aten::copy_", ts, 12, "[[8192, 8192], [8192, 8192], []]",
                   cast ? "[\"c10::BFloat16\", \"float\", \"Scalar\"]" : "[\"float\", \"float\", \"Scalar\"]",
                   "[[8192, 1], [8192, 1], []]");
            call("cudaLaunchKernel", ts + 2, 6, c);
            kernel(0, "void at::native::vectorized_elementwise_kernel<4, copy>", now, 100, c);
            work("aten::mm", GEMM, ts + 15, now + 101, 80);
            now += 182;
        }
        diagnosed();
        const struct cause *c = cause_of(CAUSE_PRECISION);
        CHECK_EQ(c != NULL, cast);
        if (c) CHECK_EQ(c->gain_ns, 20 * 100000);
        forget();
    }
}

/* A product of 1 x 256 x 256 that takes 5 ms: 4 us of work on one core. */
TEST(foreign_threads_without_cores) {
    begin("", "");
    for (int i = 0; i < 50; i++)
        shaped("aten::mm", 1000 + 5020 * i, 5000, "[[1, 256], [256, 256]]", "[\"float\", \"float\"]", "[]");
    diagnosed();
    CHECK_STR(verdict(), "host.threads");
    CHECK(d.causes.p[0].gain_ns > 50 * 4900000LL && d.causes.p[0].gain_ns < 50 * 5000000LL);
    CHECK(strstr(d.causes.p[0].fix, "set_num_threads"));
    forget();
}

static void products(int64_t m, int64_t k, double us) {
    char dims[80];
    snprintf(dims, sizeof dims, "[[%lld, %lld], [%lld, %lld]]", (long long)m, (long long)k, (long long)k,
             (long long)k);
    for (int i = 0; i < 20; i++)
        shaped("aten::mm", 1000 + (us + 1) * i, us, dims, "[\"float\", \"float\"]", "[]");
}

/* Products at the rate of one core of 16: told where the cores are known, by the program's word or because the machine is this one. */
TEST(foreign_few_threads_of_known_cores) {
    const struct {
        const char *more;
        double us, core_flops;
        const char *verdict;
    } c[] = {
        {"", 16200, 0, "healthy"},
        {"\"num_threads\": 1, \"num_cores\": \"16\",", 16200, 0, "host.threads"},
        {"\"num_threads\": \"16\", \"num_cores\": 16,", 1900, 0, "healthy"},
        {"\"num_threads\": 1,", 16200, 0, "healthy"},
        {"", 16200, 243e9, "host.threads"},
        {"", 8200, 243e9, "host.threads"},
        {"", 1900, 243e9, "healthy"},
    };
    for (size_t i = 0; i < RG_COUNT(c); i++) {
        here = (struct trace_cpu){c[i].core_flops > 0 ? 16 : 0, c[i].core_flops, 10e9, false};
        begin("", c[i].more);
        products(1024, 1024, c[i].us);
        diagnosed();
        CHECK_STR(verdict(), c[i].verdict);
        bool found = !strcmp(c[i].verdict, "host.threads");
        CHECK_EQ(d.abstained.n > 0 && !strcmp(d.abstained.p[0].id, "threads"), i == 0 || i == 3);
        if (found)
            CHECK(d.causes.p[0].gain_ns > d.wall_ns * 8 / 10 && d.causes.p[0].gain_ns < d.wall_ns * 95 / 100);
        forget();
    }
    here = (struct trace_cpu){0};
}

/* 64 threads on 16 cores: a product of 8.4 MFLOP takes 194 us, which one core does in 35. Without the core's figures it might be a
 * slow one that takes 260. */
TEST(foreign_more_threads_than_known_cores) {
    for (int known = 0; known < 2; known++) {
        here = (struct trace_cpu){known ? 16 : 0, 243e9, 20e9, false};
        begin("", "");
        products(64, 256, 194);
        diagnosed();
        CHECK_STR(verdict(), known ? "host.threads" : "healthy");
        if (known) CHECK(strstr(d.causes.p[0].fix, "no more threads than free cores"));
        forget();
    }
    here = (struct trace_cpu){0};
}

/* x.t() * y + z: the product of two orders takes 8 ms, the sum of two that agree 1. */
TEST(foreign_cpu_inputs_of_different_orders) {
    static const char *const dims = "[[2048, 2048], [2048, 2048]]", *const f32 = "[\"float\", \"float\"]";
    begin("", "");
    for (int i = 0; i < 10; i++) {
        shaped("aten::mul", 1000 + 9010.0 * i, 8000, dims, f32, "[[1, 2048], [2048, 1]]");
        shaped("aten::add", 9005 + 9010.0 * i, 1000, dims, f32, "[[1, 2048], [1, 2048]]");
    }
    diagnosed();
    CHECK_STR(verdict(), "layout");
    CHECK_EQ(d.causes.p[0].gain_ns, 10 * 7000000); /* at the rate of the sum */
    const struct cause *c = cause_of(CAUSE_TRAFFIC);
    CHECK(c && c->gain_ns <= 20 * 1000000); /* fused, the slower one remains */
    forget();
    begin("", "");
    for (int i = 0; i < 10; i++) { /* x.t().contiguous() @ y */
        shaped("aten::copy_", 1000 + 9010.0 * i, 4000, dims, f32, "[[2048, 1], [1, 2048]]");
        shaped("aten::mm", 5005 + 9010.0 * i, 5000, dims, f32, "[[2048, 1], [2048, 1]]");
    }
    diagnosed();
    CHECK_STR(verdict(), "layout");
    CHECK_EQ(d.causes.p[0].gain_ns, 10 * 4000000);
    forget();
}

/* out = torch.cat([out, x]), eight times a step: all but the last copy are for nothing. The same cat again and again is none. */
TEST(foreign_cpu_cat_in_a_loop) {
    for (int loop = 0; loop < 2; loop++) {
        double now = 1000;
        begin("", "");
        for (int i = 0; i < 32; i++) {
            int k = i % 8 + 1, us = 100 * (k + 1) - 1;
            char dims[80];
            snprintf(dims, sizeof dims, "[[[%d, 4096], [64, 4096]], []]", loop ? 64 * k : 64);
            shaped("aten::cat", now, us, dims, "[\"TensorList\", \"Scalar\"]",
                   "[[[4096, 1], [4096, 1]], []]");
            now += us + 1;
        }
        diagnosed();
        CHECK_STR(verdict(), loop ? "memory_traffic" : "healthy");
        if (loop) CHECK_EQ(d.causes.p[0].gain_ns, 4 * (200 + 300 + 400 + 500 + 600 + 700 + 800 - 7) * 1000);
        forget();
    }
}

/* A decomposition of 96 x 96 takes 3 ms on one thread: its size says nothing about its work. */
TEST(foreign_cpu_decompositions_are_not_judged_by_size) {
    static const char *const ops[] = {"aten::_linalg_svd", "aten::linalg_inv_ex", "aten::sort",
                                      "aten::nonzero"};
    for (size_t k = 0; k < RG_COUNT(ops); k++) {
        begin("", "");
        for (int i = 0; i < 20; i++)
            shaped(ops[k], 1000 + 3001.0 * i, 3000, "[[96, 96], [], []]", "[\"float\", \"Scalar\", \"\"]",
                   "[[96, 1], [], []]");
        diagnosed();
        CHECK_STR(verdict(), "healthy");
        forget();
    }
}

/* The first of six steps takes 400 ms because the host loads kernels and tunes, later ones 4 ms of work: no advice to compile or to
 * capture a graph. With a later step as long as that it is no warm-up. */
TEST(foreign_first_step_is_warm_up) {
    for (int slow = 0; slow < 2; slow++) {
        double now = 1000, ts = 900;
        begin(H200, "");
        for (int i = 0; i < 6; i++) {
            double t0 = ts;
            for (int k = 0; k < 40; k++) {
                double host = i == 0 || (slow && i != 3) ? 10000 : 12;
                now = RG_MAX(now, ts + host);
                work("aten::mm", GEMM, ts + host - 10, now, 98);
                ts += host + 1, now += 100;
            }
            ts = RG_MAX(ts, now - 1);
            step(i, t0, ts - t0);
        }
        diagnosed();
        CHECK_EQ(!strcmp(verdict(), "compile"), !slow);
        if (!slow) CHECK(strstr(d.causes.p[0].signal, "it is warm-up"));
        if (!slow) CHECK(d.causes.n == 1 || d.causes.p[1].gain_ns < d.wall_ns / 50);
        forget();
    }
}

/* .. and on the CPU: the first convolution makes its primitive. */
TEST(foreign_first_operator_is_warm_up) {
    double now = 1000;
    begin("", "");
    for (int i = 0; i < 8; i++) {
        double t0 = now;
        for (int k = 0; k < 10; k++) {
            double us = i || k ? 1000 : 300000;
            shaped("aten::mkldnn_convolution", now, us, "[[8, 64, 56, 56], [64, 64, 3, 3]]",
                   "[\"float\", \"float\"]", "[]");
            now += us + 1;
        }
        step(i, t0, now - t0);
    }
    diagnosed();
    CHECK_STR(verdict(), "compile");
    CHECK(d.causes.p[0].gain_ns >= 299000000 && d.causes.p[0].gain_ns <= 301000000);
    forget();
}

/* A file that came to be within minutes after its last event was written where it was recorded. */
TEST(foreign_recorded_here) {
    const int64_t s = 1000000000, base = 1790857026 * s;
    begin("", "\"baseTimeNanoseconds\": 1790857026000000000,");
    op("aten::mm", 4000000, 1000000);
    diagnosed();
    CHECK(trace_written_after(&t, base + 6 * s));
    CHECK(trace_written_after(&t, base + 300 * s));
    CHECK(!trace_written_after(&t, base + 3600 * s));
    CHECK(!trace_written_after(&t, base + 2 * s));
    forget();
    begin("", "");
    op("aten::mm", 4000000, 1000000);
    diagnosed();
    CHECK(!trace_written_after(&t, 6 * s));
    forget();
}

/* Kept 16 MB a step by the host's allocator. */
TEST(foreign_growth_on_the_cpu) {
    begin("", "");
    double now = 1000;
    for (int i = 0; i < 6; i++) {
        op("aten::mm", now, 1000);
        memory(now + 10, 16 << 20, (long long)(i + 1) * (16 << 20), 0);
        step(i, now - 10, 1100);
        now += 1200;
    }
    diagnosed();
    CHECK_STR(verdict(), "memory.growth");
    CHECK(strstr(d.causes.p[0].signal, "host memory grows by 16.8 MB"));
    forget();
}

/* ---- several GPUs, several processes ---------------------------------------------------------------------------------- */

static void one_busy_gpu(int devices, bool events_on_all, const char *more) {
    struct str list;
    struct arena a;
    arena_init(&a, &err);
    str_init(&list, &a);
    for (int i = 0; i < devices; i++)
        str_printf(&list, "%s{\"id\": %d, \"name\": \"NVIDIA H200\"}", i ? ", " : "", i);
    str_addc(&list, 0);
    begin(list.p, more);
    double now = 1000;
    for (int i = 0; i < 20; i++) {
        work("aten::mm", GEMM, now - 500, now, 1000);
        now += 1000;
    }
    for (int k = 1; k < devices && events_on_all; k++) {
        call("cudaLaunchKernel", 1500, 5, ++correlation);
        kernel(k, GEMM, 1600, 20, correlation);
    }
    arena_free(&a);
    diagnosed();
}

TEST(foreign_idle_gpus_come_first) {
    one_busy_gpu(4, true, "");
    CHECK_STR(verdict(), "idle_gpus");
    CHECK(strstr(d.causes.p[0].signal, "3 of 4 GPUs idle: GPU 1, GPU 2, GPU 3"));
    const char *s = screen(), *idle = strstr(s, "GPU 1   idle"), *busy = strstr(s, "GPU 0   busy");
    CHECK(idle && busy && idle < busy);
    CHECK(d.causes.p[0].gain_ns <= d.wall_ns * 3 / 4);
    forget();
    one_busy_gpu(4, false, ""); /* visible, without a single event: they may be another process's */
    CHECK_STR(verdict(), "healthy");
    s = screen();
    CHECK(strstr(s, "healthy on 1 of 4 GPUs") && strstr(s, "GPU 1, 2, 3 idle"));
    CHECK(cause_of(CAUSE_IDLE_GPUS) && cause_of(CAUSE_IDLE_GPUS)->note);
    forget();
    one_busy_gpu(8, false, "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8},");
    CHECK_STR(verdict(), "healthy"); /* the GPUs of other ranks */
    forget();
}

/* Two processes with the same correlation ids, on a GPU each: every kernel belongs to the launch of its own process. */
TEST(foreign_a_second_process_is_kept) {
    begin("{\"id\": 0, \"name\": \"NVIDIA H200\"}, {\"id\": 1, \"name\": \"NVIDIA H200\"}", "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        for (int p = 0; p < 2; p++) {
            double at = now + 150 * p;
            event("cpu_op", p ? "aten::mul" : "aten::mm", 500 + p, 500 + p, at - 2, 12, "%s", "");
            event("cuda_runtime", "cudaLaunchKernel", 500 + p, 500 + p, at, 6, "\"correlation\": %d", i + 1);
            kernel(p, p ? "elementwise_kernel" : GEMM, at + 10, 100, (uint32_t)i + 1);
        }
        now += 300;
    }
    diagnosed();
    CHECK_EQ(d.processes.n, 2);
    CHECK_EQ(d.processes.p[0].launches, 10);
    CHECK_EQ(d.processes.p[1].launches, 10);
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_event *e = &t.ev[i];
        if (e->kind == TK_KERNEL)
            CHECK_STR(trace_str(&t, t.ev[e->aux - 1].name),
                      t.lanes.p[e->lane].device ? "aten::mul" : "aten::mm");
    }
    const char *s = screen();
    CHECK(strstr(s, "process 500") && strstr(s, "process 501"));
    CHECK(strstr(s, "GPU 0") && strstr(s, "GPU 1"));
    forget();
}

/* Every other launch is followed by 2 ms in which this process has nothing on the GPU and its kernel does not start. */
TEST(foreign_a_gpu_shared_with_another_process) {
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 20; i++) {
        work("aten::mm", GEMM, now, now + 10 + 2000 * (i % 2), 300);
        now += 320 + 2000 * (i % 2);
    }
    diagnosed();
    CHECK_STR(verdict(), "gpu_shared");
    CHECK(!d.clock.found);
    CHECK(strstr(d.causes.p[0].signal, "10 times"));
    forget();
}

/* ---- clocks ------------------------------------------------------------------------------------------------------------ */

/* Host time between launches: numpy for 400 us in each of 20 steps, then a product and a wait. */
static void clocked(double shift, bool waits) {
    begin(H200, "");
    double now = 3000;
    for (int i = 0; i < 20; i++) {
        event("python_function", "train.py(77): preprocess", 500, 500, now, 400, "%s", "");
        uint32_t c = ++correlation;
        op("aten::mm", now + 402, 12);
        call("cudaLaunchKernel", now + 404, 6, c);
        kernel(0, GEMM, now + 414 + shift, 300, c);
        if (waits) call("cudaDeviceSynchronize", now + 420, 300, ++correlation);
        now += 725;
    }
    diagnosed();
}

TEST(foreign_a_clock_that_is_off_is_put_right) {
    static const double shifts[] = {-2500, -800, -60, 0, 800, 3000};
    int64_t user = 0;
    for (int waits = 0; waits < 2; waits++)
        for (size_t i = 0; i < RG_COUNT(shifts); i++) {
            clocked(shifts[i], waits);
            CHECK_EQ(d.clock.found, shifts[i] != 0);
            CHECK(!d.clock.refused);
            CHECK(llabs(d.clock.ns + (int64_t)(shifts[i] * 1000)) <= 10000);
            CHECK_EQ(capture_note("clock") != NULL, shifts[i] != 0);
            CHECK_STR(verdict(), "host.user");
            if (!user) user = d.budget[BUDGET_USER];
            CHECK(llabs(d.budget[BUDGET_USER] - user) <= 20 * 30000);
            forget();
        }
}

/* The GPU's clock runs away from the host's by 20 us a step: no one shift mends it. */
TEST(foreign_clocks_that_drift_are_refused) {
    begin(H200, "");
    double now = 3000;
    for (int i = 0; i < 100; i++) {
        uint32_t c = ++correlation;
        op("aten::mm", now, 12);
        call("cudaLaunchKernel", now + 2, 6, c);
        kernel(0, GEMM, now + 12 + (i - 50) * 20, 200, c);
        call("cudaDeviceSynchronize", now + 20, 200, ++correlation);
        now += 300;
    }
    diagnosed();
    CHECK(d.clock.refused);
    CHECK(capture_note("clock") && strstr(capture_note("clock")->why, "no shift"));
    CHECK(!cause_of(CAUSE_SYNC) && !cause_of(CAUSE_DISPATCH) && !cause_of(CAUSE_USER));
    forget();
}

/* Every line of the checklist has its answer; what costs nothing is marked as fine. */
TEST(foreign_the_checklist_is_answered) {
    static const char *const ids[] = {"bottleneck", "transfers", "small kernels", "memory",    "sync",
                                      "layout",     "precision", "allocation",    "batch size"};
    begin(H200, "");
    double now = 1000;
    for (int i = 0; i < 10; i++) {
        uint32_t c = ++correlation;
        call("cudaMemcpyAsync", now - 20, 5, c);
        copy("Memcpy HtoD (Pinned -> Device)", 7, now, 400, c, 20000000);
        work("aten::mm", GEMM, now - 10, now + 400, 600);
        now += 1000;
    }
    diagnosed();
    CHECK_EQ(d.checks.n, RG_COUNT(ids));
    for (size_t i = 0; i < RG_COUNT(ids); i++) {
        CHECK_STR(d.checks.p[i].id, ids[i]);
        if (d.checks.p[i].fine != (i > 1)) FAIL("%s: %s", ids[i], d.checks.p[i].answer);
    }
    CHECK_STR(d.checks.p[0].answer, "transfer.exposed");
    CHECK_STR(d.checks.p[1].answer, "40.0% exposed");
    CHECK_STR(d.checks.p[3].answer, "not recorded");
    CHECK(strstr(screen(), "look: transfers: 40.0% exposed | small kernels:"));
    forget();
}

/* Names of ROCm's libraries and of inference engines. */
TEST(foreign_kernels_of_rocm_have_their_class) {
    static const struct {
        const char *name;
        int cls;
    } rows[] = {
        {"Cijk_Ailk_Bljk_BBS_BH_MT128x128x32", KC_GEMM},
        {"igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt128x128x32", KC_CONV},
        {"miopenSp3AsmConv_v30_3_1_gfx9_fp32_f3x2_stride1", KC_CONV},
        {"void ck::kernel_grouped_conv_fwd_multiple_d_xdl_cshuffle", KC_CONV},
        {"batched_transpose_32x32_half", KC_LAYOUT},
        {"MIOpenBatchNormFwdTrainSpatial", KC_NORM},
        {"rcclGenericKernel", KC_COMM},
        {"void vllm::rotary_embedding_kernel", KC_ELEMENTWISE},
    };
    for (size_t i = 0; i < RG_COUNT(rows); i++) {
        begin("", "");
        uint32_t c = ++correlation;
        call("hipExtModuleLaunchKernel", 100, 5, c);
        kernel(0, rows[i].name, 110, 100, c);
        diagnosed();
        if (d.kernels.p[0].cls != rows[i].cls) FAIL("%s: %s", rows[i].name, class_text(d.kernels.p[0].cls));
        forget();
    }
}

/* ---- ridge diff ---------------------------------------------------------------------------------------------------------- */

TEST(foreign_diff_with_collectives_sums) {
    static struct trace two[2];
    static struct diag of[2];
    struct diff f;
    for (int side = 0; side < 2; side++) {
        begin(H200, "");
        double now = 1000;
        for (int i = 0; i < 8; i++) {
            uint32_t c = ++correlation;
            work("aten::mm", GEMM, now - 30, now, 300);
            call("cudaLaunchKernelExC", now - 10, 5, c);
            kernel(0, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", now + 300, side ? 900 : 400, c);
            now += side ? 1200 : 700;
        }
        str_add(&out, "]}");
        if (trace_read_mem(&two[side], &err, out.p, out.n, 0) || diagnose(&of[side], &two[side], &err))
            FAIL("%s", err.msg);
        if (!side) arena_free(&arena);
    }
    diag_diff(&arena, &of[0], &of[1], &(struct diff_how){.by = GROUP_KERNEL}, &f);
    int64_t rows = 0;
    for (uint32_t i = 0; i < f.rows.n; i++) rows += f.rows.p[i].delta;
    CHECK_EQ(f.delta, 4000000);
    CHECK_EQ(f.overlap, 0);
    CHECK_EQ(rows, f.budget[BUDGET_KERNELS] + f.budget[BUDGET_COMM]);
    for (int i = 0; i < 2; i++) diag_free(&of[i]), trace_free(&two[i]);
    arena_free(&arena);
}

/* ---- what planted captures of an H200 were misread as; times of the kernels are theirs ------------------- */

/* A step of operators with shapes, each with one kernel; all are launched at once, and run one after another. */
struct shaped_op {
    const char *op, *kernel, *dims, *types;
    double us;
};
static void gpu_steps(const struct shaped_op *o, uint32_t n) {
    double at = 1100;
    for (int i = 0; i < 4; i++) {
        double t0 = 1000 + 100.0 * i;
        step(i, t0, 98);
        for (uint32_t k = 0; k < n; k++, t0 += 20) {
            uint32_t c = ++correlation;
            shaped(o[k].op, t0 + 2, 15, o[k].dims, o[k].types, "[]");
            call("cudaLaunchKernel", t0 + 4, 6, c);
            kernel(0, o[k].kernel, at, o[k].us, c);
            at += o[k].us + 1;
        }
    }
    diagnosed();
}
static double gain_of(int id) {
    const struct cause *c = cause_of(id);
    return c ? (double)c->gain_ns / (double)d.wall_ns : 0;
}
#define N27 "[134217728]"
#define FLOATS "[\"float\", \"float\"]"

/* x * x reads x once: with both operands it would be faster than the memory, and the chain was cut there (gain 26 %, was 74 %). */
TEST(foreign_operands_that_are_one_tensor) {
    static const struct shaped_op chain[] = {
        {"aten::mul", "vectorized_elementwise_kernel", "[" N27 ", []]", FLOATS, 253},
        {"aten::add", "vectorized_elementwise_kernel", "[" N27 ", []]", FLOATS, 253},
        {"aten::mul", "vectorized_elementwise_kernel", "[" N27 ", " N27 "]", FLOATS, 253},
        {"aten::sub", "vectorized_elementwise_kernel", "[" N27 ", []]", FLOATS, 253},
    };
    begin(H200, "");
    gpu_steps(chain, 4);
    CHECK(d.verdict == CAUSE_TRAFFIC && gain_of(CAUSE_TRAFFIC) > 0.65 && gain_of(CAUSE_TRAFFIC) < 0.8);
    forget();
}

/* Fusing the scale and the softmax alone would bring a third; one kernel for all of it brought 87 %. */
TEST(foreign_attention_unfused) {
    static const struct shaped_op all[] = {
        {"aten::bmm", "nvjet_sm90_tst_256x128", "[[128, 2048, 64], [128, 64, 2048]]",
         "[\"c10::BFloat16\", \"c10::BFloat16\"]", 307},
        {"aten::mul", "vectorized_elementwise_kernel", "[[8, 16, 2048, 2048], []]",
         "[\"c10::BFloat16\", \"double\"]", 502},
        {"aten::_softmax", "softmax_warp_forward", "[[8, 16, 2048, 2048], [], []]",
         "[\"c10::BFloat16\", \"Scalar\", \"Scalar\"]", 1139},
        {"aten::bmm", "nvjet_sm90_tst_64x512", "[[128, 2048, 2048], [128, 2048, 64]]",
         "[\"c10::BFloat16\", \"c10::BFloat16\"]", 295},
    };
    begin(H200, "");
    gpu_steps(all, 4);
    const struct cause *c = cause_of(CAUSE_TRAFFIC);
    CHECK(c && strstr(c->fix, "scaled_dot_product_attention"));
    CHECK(d.verdict == CAUSE_TRAFFIC && gain_of(CAUSE_TRAFFIC) > 0.58 && gain_of(CAUSE_TRAFFIC) < 0.95);
    forget();
}

/* Products in fp32 at 77 % of the vector units' peak were healthy; TF32 brought 87 %. Those in TF32 are left alone. */
TEST(foreign_products_without_tensor_cores) {
    static const struct shaped_op f32[] = {
        {"aten::mm", "sm80_xmma_gemm_f32f32_f32f32_f32_nn", "[[4096, 4096], [4096, 4096]]", FLOATS, 2676}};
    static const struct shaped_op tf32[] = {
        {"aten::mm", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn", "[[4096, 4096], [4096, 4096]]", FLOATS, 357}};
    begin(H200, "");
    gpu_steps(f32, 1);
    CHECK(d.verdict == CAUSE_PRECISION && !d.healthy);
    CHECK(gain_of(CAUSE_PRECISION) > 0.58 && gain_of(CAUSE_PRECISION) < 0.95);
    forget();
    begin(H200, "");
    gpu_steps(tf32, 1);
    CHECK(!cause_of(CAUSE_PRECISION));
    forget();
}

/* fp64 on a CPU takes twice as long at least (it brought 63 %). */
TEST(foreign_wide_products_on_the_cpu) {
    begin("", "");
    for (int i = 0; i < 4; i++) {
        double t0 = 1000 + 3500.0 * i;
        step(i, t0, 3490);
        shaped("aten::mm", t0 + 20, 3330, "[[1024, 1024], [1024, 1024]]", "[\"double\", \"double\"]",
               "[[1024, 1], [1024, 1]]");
    }
    diagnosed();
    CHECK(d.verdict == CAUSE_PRECISION);
    CHECK(gain_of(CAUSE_PRECISION) > 0.42 && gain_of(CAUSE_PRECISION) < 0.51);
    forget();
}

/* A convolution of 64 bits has no library kernel: three quarters of its time. */
TEST(foreign_wide_convolutions_on_the_cpu) {
    begin("", "");
    for (int i = 0; i < 4; i++) {
        double t0 = 1000 + 11000.0 * i;
        step(i, t0, 10990);
        event("cpu_op", "aten::_slow_conv2d_forward", 500, 500, t0 + 20, 10800,
              "\"Input Dims\": [[8, 32, 56, 56], [32, 32, 3, 3], [], [32], [], []], \"Input type\": "
              "[\"double\", \"double\", "
              "\"ScalarList\", \"double\", \"ScalarList\", \"ScalarList\"], \"Concrete Inputs\": [\"\", "
              "\"\", \"[3, 3]\", "
              "\"\", \"[1, 1]\", \"[1, 1]\"]");
    }
    diagnosed();
    CHECK(d.verdict == CAUSE_PRECISION);
    CHECK(gain_of(CAUSE_PRECISION) > 0.7 && gain_of(CAUSE_PRECISION) < 0.76);
    forget();
}

/* Two blocks of 134 MB a step, mapped and unmapped: half of the time passes outside of operators while they are freed. It was called
 * the program's own code; tensors that stay brought 88 %. */
TEST(foreign_large_blocks_are_mapped_anew) {
    const long long block = 134217728;
    begin("", "");
    for (int i = 0; i < 4; i++) {
        double t0 = 1000 + 26000.0 * i;
        step(i, t0, 25900);
        shaped("aten::mul", t0 + 20, 5660, "[" N27 ", []]", FLOATS, "[]");
        memory(t0 + 30, block, block, 0);
        shaped("aten::add", t0 + 5700, 5710, "[" N27 ", []]", FLOATS, "[]");
        memory(t0 + 5710, block, 2 * block, 0);
        memory(t0 + 12000, -block, block, 0); /* freed between the operators */
        shaped("aten::relu_", t0 + 18000, 1240, "[" N27 "]", "[\"float\"]", "[]");
        memory(t0 + 20000, -block, 0, 0);
    }
    diagnosed();
    CHECK_EQ(d.verdict, CAUSE_ALLOC);
    CHECK(gain_of(CAUSE_ALLOC) > 0.6 && gain_of(CAUSE_ALLOC) < 0.95);
    const struct cause *user = cause_of(CAUSE_USER);
    CHECK(!user || user->gain_ns < cause_of(CAUSE_ALLOC)->gain_ns / 4);
    forget();
}
