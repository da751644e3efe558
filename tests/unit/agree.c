/* One recording, every output: screen, JSON, page, tables, list of kernels and CSV show the same figures, number by number. A
 * figure that two of them compute differs here first. */
#include "report/report.h"

#include <ridge.h>
#include <cuda.h>

#include <stdlib.h>
#include <unistd.h>

static struct trace t;
static struct diag d;
static struct err err;
static char path[64];

/* A network of two layers, trained for a few steps, then asked: kernels, copies, waits and two programs. */
static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_tensor *w = user;
    out[0] = rg_mean(rg_square(rg_matmul(rg_relu(rg_matmul(in[0], w[0])), w[1])));
    return RG_OK;
}

static rg_status ask(void *user, const rg_tensor *in, rg_tensor *out) {
    rg_tensor *w = user;
    out[0] = rg_softmax(rg_matmul(in[0], w[1]), 1);
    return RG_OK;
}

static void record(const char *device) {
    static float data[64 * 64];
    rg_ctx *c = rg_open(device);
    snprintf(path, sizeof path, "/tmp/ridge-agree-%d", (int)getpid());
    CHECK_EQ(rg_profile_start(c, path), RG_OK);
    rg_tensor w[2] = {rg_uniform(c, RG_F32, -1, 1, RG_SHAPE(64, 64)),
                      rg_uniform(c, RG_F32, -1, 1, RG_SHAPE(64, 8))};
    rg_tensor x = rg_from(c, RG_F32, data, RG_SHAPE(64, 64)), out;
    rg_jit *j = rg_jit_new(c, step, w, 1), *k = rg_jit_new(c, ask, w, 1);
    float v;
    for (int i = 0; i < 6; i++) {
        RG_SCOPE(c);
        CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &out), RG_OK);
        CHECK_EQ(rg_read(out, &v, sizeof v), RG_OK);
    }
    for (int i = 0; i < 4; i++) {
        RG_SCOPE(c);
        CHECK_EQ(rg_jit_call(k, RG_TENSORS(x), &out), RG_OK);
    }
    CHECK_EQ(rg_profile_stop(c), RG_OK);
    CHECK_EQ(rg_close(c), RG_OK);
    if (trace_read(&t, &err, path) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    unlink(path);
}

/* The number after `key` behind `from`. */
static double after(const char *from, const char *key) {
    const char *p = from ? strstr(from, key) : NULL;
    if (!p) FAIL("no %s", key);
    return p ? strtod(p + strlen(key), NULL) : 0;
}

static struct str text_of(void (*write)(struct str *)) {
    struct str s;
    str_init(&s, &d.arena);
    write(&s);
    return s;
}
static void screen(struct str *s) { report_text(s, &d, "p"); }
static void json(struct str *s) { report_json(s, &d, "p"); }
static void page(struct str *s) { report_html(s, &d, "p"); }
static void list(struct str *s) { report_kernels(s, &d, 1000); }
static void codes(struct str *s) { report_kernels_json(s, &d, 1000); }

/* The line of a text that holds a word. */
static const char *line_with(const struct str *s, const char *word) {
    const char *p = strstr(s->p, word);
    while (p && p > s->p && p[-1] != '\n') p--;
    if (!p) FAIL("no line with %s", word);
    return p ? p : s->p;
}

static void agree_on_budgets(const char *device) {
    record(device);
    struct str s = text_of(screen), j = text_of(json);
    CHECK_EQ(after(j.p, "\"wall_ns\":"), d.wall_ns);
    CHECK_EQ(after(strstr(j.p, "\"steady\":"), "\"wall_ns\":"), d.steady.wall_ns);
    CHECK_EQ(after(strstr(j.p, "\"startup\":"), "\"wall_ns\":"), d.startup.wall_ns);
    CHECK_EQ(d.steady.wall_ns + d.startup.wall_ns, d.wall_ns);
    char sum[64];
    snprintf(sum, sizeof sum, "sum %10.2f ms 100.0%% %10.2f ms", (double)d.steady.wall_ns / 1e6,
             (double)d.startup.wall_ns / 1e6);
    CHECK(strstr(s.p, sum));
    CHECK(d.phases.n >= 2);
    for (uint32_t i = 0; i < RG_MIN(d.phases.n, 4u); i++) {
        char steps[96];
        snprintf(steps, sizeof steps, "%u of %.2f ms (median) at %s", d.phases.p[i].steps,
                 (double)d.phases.p[i].median_ns / 1e6, trace_str(&t, d.phases.p[i].line));
        CHECK(strstr(s.p, steps));
    }
    struct str h = text_of(page);
    CHECK(strstr(h.p, j.p)); /* the page holds the JSON itself */
    diag_free(&d), trace_free(&t);
}

static void agree_on_kernels(const char *device) {
    record(device);
    struct str s = text_of(screen), l = text_of(list), c = text_of(codes);
    struct kernel_sum *k;
    uint32_t n = diag_kernels(&d, &k);
    CHECK(n >= 3);
    for (uint32_t i = 0; i < n; i++) { /* each code: the list, and what the drawer of the page shows */
        char key[80];
        snprintf(key, sizeof key, "%.8s %-30s", trace_str(&t, k[i].key), trace_str(&t, k[i].name));
        const char *row = line_with(&l, key);
        double share, ms, each;
        unsigned long long calls;
        CHECK_EQ(sscanf(row, " %lf%% %llu %lf %lf", &share, &calls, &ms, &each), 4);
        CHECK_EQ(calls, k[i].calls);
        CHECK_NEAR(ms, (double)k[i].ns / 1e6, 0.00051);
        snprintf(key, sizeof key, "%.0f%%", 100 * k[i].roof);
        const char *roof = k[i].roof_of ? strstr(row, key) : row;
        CHECK(roof && roof < strchr(row, '\n'));
        snprintf(key, sizeof key, "\"key\":\"%s\"", trace_str(&t, k[i].key));
        CHECK_EQ(after(strstr(c.p, key), "\"ns\":"), k[i].ns);
        CHECK_NEAR(after(strstr(c.p, key), "\"roof\":"), k[i].roof, 1e-5);
        if (k[i].rows.n == 1) CHECK_NEAR(k[i].roof, d.kernels.p[k[i].rows.p[0]].roof, 1e-12);
    }
    int64_t all = 0;
    for (uint32_t i = 0; i < d.kernels.n; i++) { /* each row of the diagnosis: the screen */
        const struct kernel_row *r = &d.kernels.p[i];
        char roof[40];
        all += r->ns;
        if (i >= 6) continue;
        snprintf(roof, sizeof roof, "%2.0f%% of roof, %s", 100 * r->roof, trace_str(&t, r->limit));
        if (r->limit) CHECK(strstr(s.p, roof));
    }
    if (!strcmp(device, "CPU")) CHECK_EQ(all, d.budget[BUDGET_KERNELS]); /* one thread: nothing overlaps */
    CHECK(d.budget[BUDGET_KERNELS] <=
          all); /* on a GPU a kernel may begin before the one before it has ended */
    for (int by = 0; by < GROUPS; by++) {
        struct group_row *g;
        uint32_t rows = diag_group(&d, by, SORT_DEVICE, &g);
        int64_t sum = 0;
        double reached = 0, of = 0, mine = 0;
        for (uint32_t i = 0; i < rows; i++)
            sum += g[i].ns, reached += g[i].roof_ns, of += (double)g[i].roof_of;
        for (uint32_t i = 0; i < d.kernels.n; i++) mine += d.kernels.p[i].roof * (double)d.kernels.p[i].ns;
        if (sum != all) FAIL("by %s: %lld ns of %lld", group_text(by), (long long)sum, (long long)all);
        CHECK_NEAR(reached, mine, 1);
        for (uint32_t i = 0; i < rows; i++) CHECK(g[i].host_ns >= 0 && g[i].host_total >= g[i].host_ns);
    }
    diag_free(&d), trace_free(&t);
}

/* The roofs of the page are those of the machine file, which rg_machine_of reads. */
static void agree_on_roofs(const char *device) {
    rg_ctx *c = rg_open(device);
    rg_machine m = {0};
    CHECK_EQ(rg_machine_of(c, &m), RG_OK);
    CHECK_EQ(rg_close(c), RG_OK);
    record(device);
    CHECK_NEAR(t.machine_flops / m.flops, 1, 1e-5);
    CHECK_NEAR(t.machine_bytes / m.bytes, 1, 1e-5);
    struct str h = text_of(page);
    CHECK_NEAR(after(strstr(h.p, "\"machine\":"), "\"flops\":") / m.flops, 1, 1e-5);
    CHECK_NEAR(after(strstr(h.p, "\"machine\":"), "\"bytes\":") / m.bytes, 1, 1e-5);
    for (uint32_t i = 0; i < t.notes.n; i++) CHECK(strncmp(trace_str(&t, t.notes.p[i].what), "machine", 7));
    diag_free(&d), trace_free(&t);
}

TEST(agree_budgets_phases_and_steps) { agree_on_budgets("CPU"); }
TEST(agree_kernels_everywhere) { agree_on_kernels("CPU"); }
TEST(agree_roofs_of_the_machine) { agree_on_roofs("CPU"); }
TEST_MANUAL(cuda_gpu_agree_budgets_phases_and_steps, 60) { cuda_need_gpu(), agree_on_budgets("CUDA"); }
TEST_MANUAL(cuda_gpu_agree_kernels_everywhere, 60) { cuda_need_gpu(), agree_on_kernels("CUDA"); }
TEST_MANUAL(cuda_gpu_agree_roofs_of_the_machine, 60) { cuda_need_gpu(), agree_on_roofs("CUDA"); }
