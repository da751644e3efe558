/* foreign.c: what traces of other frameworks on GPUs were misread as, each with a small trace (kineto.h) that has it; what a file does
 * not say; several devices and processes; clocks. Programs on the CPU: foreign_cpu.c. Tests of src/analyze/foreign. */
#include "kineto.h"

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
