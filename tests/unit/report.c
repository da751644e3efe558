/* report.c: the screen fits, the JSON is JSON, names are readable, the page is whole. */
#include "event/event.h"
#include "recorded.h"
#include "report/report.h"
#include "test.h"

static const char *const files[] = {"compute_bound_gemm.pt.trace.json.gz",
                                    "memory_bound_elementwise.pt.trace.json.gz",
                                    "overhead_small_kernels.pt.trace.json.gz",
                                    "transfer_pageable.pt.trace.json.gz",
                                    "dataloader_bound.pt.trace.json.gz",
                                    "mnist_train_eager.pt.trace.json.gz",
                                    "cuda_graph_infer.pt.trace.json.gz",
                                    "jax_compute_bound.trace.json.gz",
                                    "jax_compute_bound.xplane.pb",
                                    "jax_overhead.trace.json.gz",
                                    "memory_leak.snapshot.pickle"};

static struct err e;
static struct trace t;
static struct diag d;

static void open_one(const char *file) {
    char path[200];
    snprintf(path, sizeof path, "tests/traces/%s", file);
    CHECK_EQ(trace_read(&t, &e, path), 0);
    CHECK_EQ(diagnose(&d, &t, &e), 0);
}
static void close_one(void) {
    diag_free(&d);
    trace_free(&t);
}

TEST(report_fits_one_screen) {
    for (size_t i = 0; i < RG_COUNT(files); i++) {
        open_one(files[i]);
        struct str o;
        str_init(&o, &d.arena);
        report_text(&o, &d, files[i]);
        int lines = 0, width = 0, widest = 0;
        for (size_t k = 0; k < o.n; k++) {
            if (o.p[k] == '\n')
                lines++, width = 0;
            else if (((unsigned char)o.p[k] & 0xc0) != 0x80)
                width++;
            widest = RG_MAX(widest, width);
        }
        if (lines > 40 || widest > 100) FAIL("%s: %d lines of up to %d columns", files[i], lines, widest);
        CHECK(strstr(o.p, "VERDICT  ") != NULL);
        close_one();
    }
}

/* A checker of JSON's grammar, nothing more. */
static const char *value(const char *p);
static const char *blank(const char *p) { return p + strspn(p, " \n\t\r"); }
static const char *text(const char *p) {
    for (p++; *p != '"'; p++) {
        if ((unsigned char)*p < ' ') FAIL("a control character inside a string: %.40s", p);
        if (*p == '\\') p++;
    }
    return p + 1;
}
static const char *group(const char *p, char end) {
    p = blank(p + 1);
    if (*p == end) return p + 1;
    for (;;) {
        if (end == '}') {
            if (*p != '"') FAIL("no key at %.40s", p);
            p = blank(text(p));
            if (*p != ':') FAIL("no colon at %.40s", p);
            p++;
        }
        p = blank(value(p));
        if (*p == end) return p + 1;
        if (*p != ',') FAIL("no comma at %.40s", p);
        p = blank(p + 1);
    }
}
static const char *value(const char *p) {
    p = blank(p);
    if (*p == '{') return group(p, '}');
    if (*p == '[') return group(p, ']');
    if (*p == '"') return text(p);
    size_t n = strspn(p, "-+.0123456789eE");
    if (n) return p + n;
    if (!strncmp(p, "true", 4)) return p + 4;
    if (!strncmp(p, "false", 5)) return p + 5;
    if (!strncmp(p, "null", 4)) return p + 4;
    FAIL("no value at %.40s", p);
}

TEST(report_json_is_json_and_sums) {
    for (size_t i = 0; i < RG_COUNT(files); i++) {
        open_one(files[i]);
        struct str o;
        str_init(&o, &d.arena);
        report_json(&o, &d, files[i]);
        CHECK_STR(blank(value(o.p)), "");
        static const char *const keys[] = {"wall_ns",   "regime",  "verdict", "budget", "causes",
                                           "abstained", "kernels", "classes", "memory", "capture"};
        for (size_t k = 0; k < RG_COUNT(keys); k++) {
            char key[40];
            snprintf(key, sizeof key, "\"%s\":", keys[k]);
            if (!strstr(o.p, key)) FAIL("%s: no %s", files[i], key);
        }
        close_one();
    }
}

TEST(report_json_escapes_any_bytes) {
    struct arena a;
    struct str o;
    arena_init(&a, &e);
    str_init(&o, &a);
    report_json_string(&o, "a\"b\\c\n\x01<\xff\xc3\xa9");
    CHECK_STR(o.p, "\"a\\\"b\\\\c\\u000a\\u0001\\u003c\\ufffd\xc3\xa9\"");
    arena_free(&a);
}

TEST(report_short_names) {
    static const struct {
        const char *full, *shown;
    } cases[] = {
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "std::array<char*, 3ul> >(int)",
         "vectorized_elementwise_kernel:add"},
        {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int, float const*)",
         "max_pool_forward_nchw"},
        {"nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT"},
        {"_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblock22Implicit",
         "ImplicitGemmConvolution"},
        {"_ZN3abc99x", "_ZN3abc99x"},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"},
    };
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        char b[96];
        report_short_name(cases[i].full, b, sizeof b);
        CHECK_STR(b, cases[i].shown);
    }
}

TEST(report_source_lines) {
    static const struct {
        const char *where, *shown;
    } cases[] = {
        {"make_traces.py(62): s", "make_traces.py:62 in s"},
        {"make_traces_jax.py:12 <lambda>", "make_traces_jax.py:12 in <lambda>"},
        {"aten::add", "aten::add"},
        {"f(x): y", "f(x): y"},
        {"a.py(1): ", "a.py(1): "},
        {"", ""},
        {"home/someone/a/very/long/path/train.py(1024): training_step", "..h/train.py:1024 in training_step"},
    };
    for (size_t i = 0; i < RG_COUNT(cases); i++) {
        char b[35];
        report_source_line(cases[i].where, b, sizeof b);
        CHECK_STR(b, cases[i].shown);
    }
}

/* What a stranger stumbled over: a hint cut off, one thing told twice, rows that look the same. */
TEST(report_screen_says_all_of_it_once) {
    for (size_t i = 0; i < RG_COUNT(files); i++) {
        open_one(files[i]);
        struct str o;
        str_init(&o, &d.arena);
        report_text(&o, &d, files[i]);
        static const char *const heads[] = {"VERDICT", "CHECK", "NOTE", "ALSO", "NOT ", "CAPTURE"};
        for (const char *p = o.p; *p;) {
            size_t n = strcspn(p, "\n");
            for (size_t k = 0; k < RG_COUNT(heads); k++)
                if (!strncmp(p, heads[k], strlen(heads[k])) && n > 2 && !strncmp(p + n - 2, "..", 2))
                    FAIL("%s: cut off: %.*s", files[i], (int)n, p);
            p += n + (p[n] == '\n');
        }
        if (strstr(o.p, "profile_memory=True")) CHECK(!strstr(o.p, "UNKNOWN  memory.growth"));
        if (strstr(o.p, "NOTE   ")) CHECK(!strstr(o.p, "UNKNOWN  graph.opaque"));
        close_one();
    }
}

/* A profile may name any file: the page takes source only, and of that the lines near those that cost. */
TEST(report_page_shows_source_and_nothing_else) {
    static const char *const paths[] = {"tests/unit/report.c", "/etc/passwd", "tests/traces/secret.c/../x",
                                        "gone.c"};
    struct arena a;
    struct str o;
    arena_init(&a, &e);
    event_reset();
    for (uint64_t i = 0; i < RG_COUNT(paths); i++) {
        char line[80];
        snprintf(line, sizeof line, "%s:2", paths[i]);
        event_add_info(EVENT_CALL, event_name("rg_read"), event_name(line), i * 100, i * 100 + 50, 0, 0);
    }
    event_add_info(EVENT_KERNEL, event_name("E_4"), event_name("exp report.c:2\t10\tmemory"), 10, 40, 1, 1);
    diagnose_recorded(&a, &t, &d);
    str_init(&o, &d.arena);
    report_html(&o, &d, "any.profile");
    const char *s = strstr(o.p, "\"sources\":");
    CHECK(s != NULL);
    CHECK(strstr(s, "{\"name\":\"report.c\",\"path\":\"tests/unit/"
                    "report.c\",\"found\":true,\"lines\":[[1,0,0,0,0,\"/* report.c:"));
    CHECK(strstr(s, "[2,30,20,1,1,\"#include"));                        /* 30 in the kernel, 20 around it */
    CHECK(strstr(s, "[10,0,0,0,0,\"") && !strstr(s, "[11,0,0,0,0,\"")); /* eight lines after it */
    CHECK(!strstr(s, "root:"));
    CHECK(strstr(s, "\"path\":\"/etc/passwd\",\"found\":false,\"lines\":[[2,0,50,0,1,null]]"));
    CHECK(strstr(s, "\"path\":\"gone.c\",\"found\":false"));
    close_one();
    arena_free(&a);
}

TEST(report_page_is_one_whole_file) {
    for (size_t i = 0; i < RG_COUNT(files); i++) {
        open_one(files[i]);
        struct str o;
        str_init(&o, &d.arena);
        report_html(&o, &d, files[i]);
        CHECK(!strncmp(o.p, "<!doctype html>", 15));
        CHECK(strstr(o.p, "</body></html>") != NULL);
        CHECK(!strstr(o.p, "/*REPORT*/") && !strstr(o.p, "/*EVENTS*/"));
        /* No network: no address, no import. */
        CHECK(!strstr(o.p, "http://") && !strstr(o.p, "https://") && !strstr(o.p, " src="));
        const char *s = strstr(o.p, "<script id=\"tables\" type=\"application/json\">");
        CHECK(s != NULL);
        s = value(strchr(s, '>') + 1);
        CHECK(!strncmp(s, "</script>", 9));
        close_one();
    }
}
