/* foreign_cpu.c: what traces of other frameworks on the CPU were misread as: operators, threads and cores, attention, casts, copies,
 * allocations. Small traces (kineto.h), as in foreign.c. Tests of src/analyze/foreign. */
#include "kineto.h"

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

/* Attention by single operators, with `gap` after the scaling and after the softmax; when it ends. */
static double attention(double now, double gap) {
    shaped("aten::bmm", now, 2000, "[[16, 1024, 64], [16, 64, 1024]]", FLOATS, "[]");
    shaped("aten::mul", now + 2000, 3000, "[[16, 1024, 1024], []]", "[\"float\", \"double\"]",
           "[[1048576, 1024, 1], []]");
    now += 5000 + gap;
    shaped("aten::_softmax", now, 6000, "[[16, 1024, 1024], [], []]", "[\"float\", \"Scalar\", \"Scalar\"]",
           "[[1048576, 1024, 1], [], []]");
    now += 6000 + gap;
    shaped("aten::bmm", now, 2000, "[[16, 1024, 1024], [16, 1024, 64]]", FLOATS, "[]");
    return now + 2000;
}

/* Scores of 64 MB between two products: what is between them, 9 of 13 ms, is what one operator saves. */
TEST(foreign_attention_on_the_cpu) {
    begin("", "");
    double now = 1000;
    for (int i = 0; i < 8; i++) now = attention(now, 0);
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
        now = attention(now, 3000);
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

/* The same on a GPU; and a copy that only changes the order, whatever asked for it (permute, then reshape). */
TEST(foreign_gpu_cat_in_a_loop_and_reorder) {
    double now = 1000, ts = 900;
    begin(H200, "");
    for (int i = 0; i < 32; i++, ts += 20) {
        int k = i % 8 + 1;
        char dims[80];
        snprintf(dims, sizeof dims, "[[[%d, 4096], [4096, 4096]], []]", 4096 * k);
        shaped("aten::cat", ts, 12, dims, "[\"TensorList\", \"Scalar\"]", "[]");
        call("cudaLaunchKernel", ts + 2, 6, ++correlation);
        kernel(0, "CatArrayBatchedCopy", now, 100 * (k + 1) - 1, correlation);
        now += 100 * (k + 1);
    }
    diagnosed();
    CHECK_STR(verdict(), "memory_traffic");
    CHECK_EQ(d.causes.p[0].gain_ns, 4 * (200 + 300 + 400 + 500 + 600 + 700 + 800 - 7) * 1000);
    forget();
    begin(H200, "");
    for (int i = 0; i < 20; i++, ts += 40) {
        shaped("aten::copy_", ts, 12, "[[8192, 8192], [8192, 8192], []]",
               "[\"float\", \"float\", \"Scalar\"]", "[[8192, 1], [1, 8192], []]");
        call("cudaLaunchKernel", ts + 2, 6, ++correlation);
        kernel(0, "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>", now, 300,
               correlation);
        work("aten::mm", GEMM, ts + 20, now + 301, 500);
        now += 802;
    }
    diagnosed();
    CHECK_STR(verdict(), "layout");
    CHECK_EQ(d.causes.p[0].gain_ns, 20 * 300000);
    forget();
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

/* A first step is warm-up on the CPU too (foreign.c): the first convolution makes its primitive. */
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

/* On a core of 150 GFLOPS the product takes 56 us: 200 us each time may be a poor kernel, 130 to 380 are threads that wait. */
TEST(foreign_threads_that_wait_are_uneven) {
    for (int uneven = 0; uneven < 2; uneven++) {
        double now = 1000;
        here = (struct trace_cpu){16, 150e9, 20e9, false};
        begin("", "");
        for (int i = 0; i < 40; i++) {
            double us = !uneven ? 200 : i % 4 == 0 ? 380 : i % 4 == 1 ? 150 : 135;
            shaped("aten::mm", now, us, "[[64, 256], [256, 256]]", "[\"float\", \"float\"]", "[]");
            now += us + 1;
        }
        diagnosed();
        CHECK_STR(verdict(), uneven ? "host.threads" : "healthy");
        forget();
    }
    here = (struct trace_cpu){0};
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

/* The verdict is precision, and what it gains is in this range. */
static void check_precision(double from, double to) {
    diagnosed();
    CHECK(d.verdict == CAUSE_PRECISION);
    CHECK(gain_of(CAUSE_PRECISION) > from && gain_of(CAUSE_PRECISION) < to);
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
    check_precision(0.42, 0.51);
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
    check_precision(0.7, 0.76);
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
