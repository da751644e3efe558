/* Tests of few rows by a wide matrix on a GPU (src/tune/choose/gpu_skinny_gemm.c): the lists that the heuristic writes, in the
 * interpreter against plain loops; as machine code, with nothing on the stack and every load of the matrix 16 bytes; sums of
 * products that the planner cuts into parts. The forms themselves: tests/unit/gpu_threads.c. */
#include "gemm_test.h"

/* m, n, k; ta, tb; dtypes; instruction: MMA instructions are used. */
static const struct few {
    struct product x;
    bool instruction;
} few[] = {
    {{.m = 16, .n = 256, .k = 1024, .tb = true, .dt = "bf16"}, true},
    {{.m = 16, .n = 512, .k = 512, .dt = "bf16"}, true},
    {{.m = 5, .n = 512, .k = 512, .tb = true, .dt = "f16"}, true},
    {{.m = 2, .n = 1024, .k = 256, .dt = "f16"}, true},
    {{.m = 24, .n = 256, .k = 1024, .tb = true, .dt = "bf16"}, true},
    {{.m = 256, .n = 8, .k = 1024, .ta = false, .dt = "bf16", .tb = true}, true}, /* few columns */
    {{.m = 512, .n = 4, .k = 512, .ta = true, .dt = "bf16", .tb = true}, true},
    {{.m = 16, .n = 256, .k = 1024, .tb = true, .dt = "bf16", .of = "i8"}, true},
    {{.m = 4, .n = 1024, .k = 256, .dt = "f16", .of = "i8"}, true},
    {{.m = 7, .n = 333, .k = 1200, .tb = true, .dt = "bf16"}, true}, /* what does not come out even */
    {{.m = 16, .n = 520, .k = 2088, .dt = "bf16"}, true},
    {{.m = 4, .n = 2056, .k = 128, .tb = true, .dt = "bf16"}, true}, /* two lines for each column */
    {{.m = 3, .n = 256, .k = 1408, .tb = true, .dt = "bf16"}, true}, /* 11 warps of two steps */
    {{.m = 19, .n = 128, .k = 2048, .tb = true, .dt = "f16"}, true},
    {{.m = 1, .n = 1000, .k = 2300, .dt = "f32"}, false},
    {{.m = 1, .n = 1024, .k = 256, .dt = "bf16"}, false},
    {{.m = 1, .n = 1024, .k = 512, .dt = "f32"}, false},
    {{.m = 3, .n = 512, .k = 512, .dt = "f32"}, false},
    {{.m = 1, .n = 1024, .k = 256, .dt = "bf16", .of = "i8"}, false},
    {{.m = 7, .n = 127, .k = 2600, .dt = "f32"}, false}, /* rows that are not aligned */
    {{.m = 3, .n = 333, .k = 1201, .dt = "bf16"}, false},
    {{.m = 16, .n = 268, .k = 1181, .tb = true, .dt = "f32"}, false}, /* K-major */
    {{.m = 5, .n = 264, .k = 1023, .tb = true, .dt = "bf16"}, false},
    {{.m = 9, .n = 263, .k = 1024, .tb = true, .dt = "f32"}, false},
    {{.m = 8197, .n = 7, .k = 301, .tb = true, .dt = "f32"}, false}, /* a matrix by few columns, padded */
    {{.m = 8200, .n = 5, .k = 300, .dt = "f32"}, false},             /* .. that are not K-major */
};

static struct product chosen_for(const struct few *f, int capability) {
    struct product x = f->x, y = f->x;
    y.opts = "";
    arena_init(&y.arena, &y.err);
    if (err_guard(&y.err, product_compile, &y)) FAIL("%s", y.err.msg);
    static char list[2048];
    snprintf(list, sizeof list, "%s", opts_heuristic_gpu(&y.ir, &y.prog.kernel.p[0], GPU_OF_CC(capability)));
    arena_free(&y.arena);
    x.opts = list;
    return x;
}

TEST_SLOW(few_rows_heuristic, 120) {
    for (size_t i = 0; i < RG_COUNT(few); i++) {
        struct product x = chosen_for(&few[i], 90);
        if ((!strstr(x.opts, "THREAD(k") && !strstr(x.opts, "COOP(k")) ||
            !strstr(x.opts, "R)") != !few[i].instruction)
            FAIL("%lld x %lld: %s", (long long)x.m, (long long)x.n, x.opts);
        product_check(&x, NULL);
    }
}

/* f32, K-major, of any number of rows and any length: both operands in shared memory, the lanes of a warp share k, and where columns are few
 * the warps of a block do too. */
TEST_SLOW(few_rows_in_shared_memory, 120) {
    int parts = 0, whole = 0, rows = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t r = hash_u64((uint64_t)i);
        int64_t m = 5 + (int64_t)(r % 28), n = 40 + (int64_t)(r >> 8 & 255),
                k = (1 << 18) / n + 1 + (int64_t)(r >> 24 & 255);
        if (i % 2) k = (k + 3) / 4 * 4;
        struct few f = {{.m = m, .n = n, .k = k, .tb = true, .dt = "f32"}, false};
        struct product x = chosen_for(&f, 90);
        bool staged = strstr(x.opts, "THREAD(k_l)") != NULL;
        rows += staged, parts += strstr(x.opts, "THREAD(k_p)") != NULL;
        whole += staged && strstr(x.opts, "_v)");
        product_check(&x, NULL);
    }
    TEST_INFO("%d staged, %d in parts, %d by 16 bytes", rows, parts, whole);
    CHECK(rows >= 4 && parts && whole);
}

/* The sum's order is that of the list, and lists are equal on every GPU with such instructions. */
TEST(few_rows_are_alike_everywhere) {
    for (size_t i = 0; i < RG_COUNT(few); i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s", chosen_for(&few[i], 80).opts);
        CHECK_STR(text, chosen_for(&few[i], 90).opts);
    }
}

/* A K-major matrix of few columns: as many bytes in flight as keep memory busy, by blocks that are all resident. */
TEST(few_rows_have_bytes_in_flight) {
    static const struct {
        int64_t m, n, k, warps, steps;
    } want[] = {{16, 2048, 5632, 11, 2}, {16, 2048, 2048, 16, 1}, {4, 5632, 2048, 8, 1},
                {16, 32000, 2048, 4, 1}, {32, 2048, 5632, 11, 1}, {16, 512, 2048, 16, 2}};
    for (size_t i = 0; i < RG_COUNT(want); i++) {
        struct few f = {{.m = want[i].m, .n = want[i].n, .k = want[i].k, .tb = true, .dt = "bf16"}, true};
        char warps[64], steps[64];
        snprintf(warps, sizeof warps, ",%lld,k_w)", (long long)(64 * want[i].warps));
        snprintf(steps, sizeof steps, "TILE(k,%lld,k_u)", (long long)(64 * want[i].warps * want[i].steps));
        const char *list = chosen_for(&f, 90).opts;
        if (!strstr(list, warps) || !strstr(list, steps) != (want[i].steps == 1)) FAIL("%zu: %s", i, list);
    }
}

/* Large ones, as they are in use, through NVIDIA's compiler. */
/* A matrix by few columns: dot products, whose rows each come from L2, or tiles, padded, whichever takes less. */
TEST(few_columns_take_the_cheaper_form) {
    static const struct {
        struct product x;
        const char *form;
    } row[] = {
        {{.m = 65536, .n = 15, .k = 768, .dt = "f32"}, "STAGE("},
        {{.m = 200000, .n = 13, .k = 257, .dt = "f32"}, "STAGE("},
        {{.m = 65536, .n = 10, .k = 769, .dt = "bf16"}, "TC("},
        {{.m = 1000000, .n = 9, .k = 33, .dt = "f32"}, "STAGE("},
        {{.m = 8192, .n = 6, .k = 4097, .tb = true, .dt = "f32"}, "THREAD(k_l)"},
        {{.m = 30000, .n = 5, .k = 1001, .dt = "f32"}, "THREAD(k_l)"},
        {{.m = 20000, .n = 2, .k = 1001, .dt = "bf16"}, "COOP("},
    };
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct few f = {row[i].x, false};
        const char *opts = chosen_for(&f, 90).opts;
        if (!strstr(opts, row[i].form)) FAIL("%lld x %lld: %s", (long long)f.x.m, (long long)f.x.n, opts);
    }
}

TEST_SLOW(cuda_compile_few_rows, 120) {
    static const struct few large[] = {
        {{.m = 16, .n = 14336, .k = 4096, .tb = true, .dt = "bf16"}, true},
        {{.m = 16, .n = 4096, .k = 3584, .dt = "bf16"}, true},
        {{.m = 16, .n = 50257, .k = 768, .tb = true, .dt = "bf16"}, true},
        {{.m = 16, .n = 4104, .k = 2752, .dt = "bf16"}, true},
        {{.m = 32, .n = 14336, .k = 4096, .tb = true, .dt = "bf16"}, true},
        {{.m = 16, .n = 14336, .k = 4096, .tb = true, .dt = "f16", .of = "i8"}, true},
        {{.m = 1, .n = 4096, .k = 3584, .dt = "bf16"}, false},
        {{.m = 1, .n = 4096, .k = 3584, .dt = "f32"}, false},
    };
    struct arena arena;
    struct err err = {0};
    arena_init(&arena, &err);
    cuda_need_nvrtc(&arena);
    for (size_t i = 0; i < RG_COUNT(large); i++) {
        struct product x = chosen_for(&large[i], 90);
        struct dev_object o;
        cubin_vec v = {0};
        struct str s;
        arena_init(&x.arena, &x.err);
        if (err_guard(&x.err, product_compile, &x)) FAIL("%s", x.err.msg);
        str_init(&s, &arena);
        render_cuda_preamble(&s);
        render_cuda(&s, &x.ir, &x.lin, false, &(struct render_shape){0});
        const char *text = s.p;
        if (nvrtc_compile(&err, &arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
        if (cubin_read(&err, &arena, o.data, o.n, &v)) FAIL("%s", err.msg);
        const struct cubin_kernel *k = &v.p[0];
        if (k->stack || k->spills || k->wide_loads < 8 || k->wide_loads + 2 < k->loads)
            FAIL("%s\n%u registers, %u bytes of stack, %u of %u loads of 16 bytes", x.opts, k->registers,
                 k->stack, k->wide_loads, k->loads);
        arena_free(&x.arena);
    }
    arena_free(&arena);
}

TEST_MANUAL(cuda_gpu_few_rows, 120) {
    struct engine *en = cuda_engine();
    for (size_t i = 0; i < RG_COUNT(few); i++) {
        struct product x = chosen_for(&few[i], 90);
        product_check(&x, en);
    }
    engine_close(en);
}
