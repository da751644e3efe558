/* sem.c: running a row of the table on a device, and its checks. */
#include "base/base.h"

#include "opencl.h"
#include "sem.h"
#include "simgpu.h"

#include <stdlib.h>

/* Twice: the first run makes what a process makes once (the pool, the environment), the second must leave nothing. */
void sem_run(const char *device, void (*fn)(rg_ctx *)) {
    int64_t before = 0;
    for (int i = 0; i < 2; i++) {
        before = mem_live();
        if (!strcmp(device, "OPENCL")) opencl_settle();
        rg_ctx *c = rg_open(device);
        if (rg_status_of(c) && !strcmp(device, "OPENCL")) NO_OPENCL(rg_error(c));
        if (rg_status_of(c)) NO_CUDA(rg_error(c));
        fn(c);
        if (rg_status_of(c)) FAIL("the row ends with an error: %s", rg_error(c));
        CHECK_EQ(rg_close(c), 0);
    }
    CHECK_EQ(mem_live(), before);
}

static double element(const char *p, rg_dtype dt, size_t i) {
    switch (dt) {
    case RG_BOOL:
    case RG_U8: return ((const uint8_t *)p)[i];
    case RG_I8: return ((const int8_t *)p)[i];
    case RG_I32: return ((const int32_t *)p)[i];
    case RG_I64: return (double)((const int64_t *)p)[i];
    case RG_F32: return ((const float *)p)[i];
    case RG_F64: return ((const double *)p)[i];
    default: FAIL("sem_is does not read %s", rg_dtype_name(dt));
    }
}

void sem_is(const char *file, int line, rg_tensor t, const double *want, size_t n) {
    rg_ctx *c = rg_ctx_of(t);
    int64_t size = rg_size(t), bytes = rg_bytes(t);
    if (size != (int64_t)n)
        test_fail(file, line, "%lld elements, expected %zu (%s)", (long long)size, n, rg_error(c));
    char *p = malloc((size_t)bytes + 1);
    if (rg_read(t, p, (size_t)bytes)) test_fail(file, line, "%s", rg_error(c));
    for (size_t i = 0; i < n; i++) {
        double v = element(p, rg_dtype_of(t), i), w = want[i];
        bool same = v == w || (isnan(v) && isnan(w)) || fabs(v - w) <= 1e-5 * fmax(1, fabs(w));
        if (!same) test_fail(file, line, "element %zu is %.9g, expected %.9g", i, v, w);
    }
    free(p);
}

void sem_fails(const char *file, int line, rg_ctx *c, int code, const char *words) {
    char copy[512], *save, text[2100];
    if ((int)rg_status_of(c) != code)
        test_fail(file, line, "status %d (%s), expected %d", rg_status_of(c), rg_error(c), code);
    snprintf(copy, sizeof copy, "%s", words);
    snprintf(text, sizeof text, "%s", rg_error(c));
    for (char *w = strtok_r(copy, "|", &save); w; w = strtok_r(NULL, "|", &save))
        if (!strstr(text, w)) test_fail(file, line, "the message\n  %s\ndoes not contain\n  %s", text, w);
    if (rg_clear_error(c)) test_fail(file, line, "the error cannot be cleared: %s", rg_error(c));
}

rg_usage sem_usage(rg_ctx *c) {
    rg_usage u;
    if (rg_stats(c, &u)) FAIL("%s", rg_error(c));
    return u;
}

/* ---- rows that share a process ------------------------------------------------------------------------------- */

enum { EVERY = 16 }; /* row, in the order of their names */

static struct sem_row *rows; /* by name */

void sem_add(struct sem_row *r) {
    struct sem_row **at = &rows;
    while (*at && strcmp((*at)->name, r->name) < 0) at = &(*at)->next;
    r->next = *at;
    *at = r;
}

/* One context stays open, so that the driver keeps its own. The row that is under way is named where it fails. */
static void gpu_attention(uint32_t part, uint32_t parts) {
    uint32_t n = 0, ran = 0;
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) NO_CUDA(rg_error(c));
    for (struct sem_row *r = rows; r; r = r->next) {
        if (n++ % parts != part) continue;
        printf("row %s\n", r->name);
        fflush(stdout);
        sem_run("CUDA", r->fn), ran++;
    }
    CHECK_EQ(rg_close(c), 0);
    TEST_INFO("%u of %u rows of the table of semantics on the GPU", ran, n);
}
#define TEST_PART(k) \
    TEST_MANUAL(semantics_CUDA_##k, 100) { gpu_attention(k, 8); }
/* clang-format off */
TEST_PART(0) TEST_PART(1) TEST_PART(2) TEST_PART(3) TEST_PART(4) TEST_PART(5) TEST_PART(6) TEST_PART(7)
/* clang-format on */
#undef TEST_PART

TEST_SLOW(opencl_semantics, 600) {
    uint32_t n = 0, ran = 0;
    opencl_hurry();
    for (struct sem_row *r = rows; r; r = r->next)
        if (n++ % EVERY == 0) sem_run("OPENCL", r->fn), ran++;
    TEST_INFO("%u of %u rows of the table of semantics by OpenCL", ran, n);
}

TEST_SLOW(simgpu_semantics, 600) {
    uint32_t n = 0;
    simgpu_add();
    for (struct sem_row *r = rows; r; r = r->next, n++) {
        printf("row %s\n", r->name);
        fflush(stdout);
        sem_run("SIM90", r->fn);
    }
    TEST_INFO("%u rows of the table of semantics on the simulated GPU", n);
}
