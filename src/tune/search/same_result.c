/* same_result.c: compares the outputs of two kernels bit by bit; any NaN equals any NaN.
 *
 * On a GPU by a kernel, 16 bytes at a time, which tells equal from different; if different, and on other devices with memory of their
 * own, both are copied to the host in chunks and compared there.
 * Tests: tests/unit/tune.c, tests/unit/cuda_fake.c */
#include "tune/search/internal.h"

static bool is_nan_at(enum dtype dt, const char *p) {
    uint64_t v = 0;
    memcpy(&v, p, dtype_info[dt].bytes);
    switch (dt) {
    case DT_F64: return (v & ~(1ull << 63)) > 0x7ff0000000000000ull;
    case DT_F32: return (v & 0x7fffffff) > 0x7f800000;
    case DT_F8E4M3: return (v & 0x7f) == 0x7f;
    case DT_F8E5M2: return (v & 0x7f) > 0x7c;
    case DT_F16: return (v & 0x7fff) > 0x7c00;
    case DT_BF16: return (v & 0x7fff) > 0x7f80;
    default: return false;
    }
}

static bool same_here(enum dtype dt, const char *x, const char *y, size_t bytes) {
    if (!memcmp(x, y, bytes)) return true;
    for (size_t i = 0, n = dtype_info[dt].bytes; i + n <= bytes; i += n)
        if (memcmp(x + i, y + i, n) && !(is_nan_at(dt, x + i) && is_nan_at(dt, y + i))) return false;
    return true;
}

static bool same_copies(struct engine *en, struct err *e, enum dtype dt, const char *x, const char *y,
                        size_t bytes) {
    enum { PIECE = 8 << 20 };
    char *here = os_pages(2 * PIECE);
    if (!here) return err_set(e, RG_ENOMEM, "no memory on the host to compare results"), false;
    bool same = true;
    for (size_t at = 0; at < bytes && same && !e->code; at += PIECE) {
        size_t n = RG_MIN(bytes - at, (size_t)PIECE);
        if (en->ops->copy(en->dev, e, COPY_OUT, here, x + at, n) ||
            en->ops->copy(en->dev, e, COPY_OUT, here + PIECE, y + at, n))
            break;
        same = same_here(dt, here, here + PIECE, n);
    }
    os_pages_free(here, 2 * PIECE);
    return same && !e->code;
}

static const char same_text[] = "extern \"C\" __global__ void same(const uint4 *b0, const uint4 *b1, "
                                "unsigned *b2, u64 n, char *s, u64 d) {\n"
                                "    u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;\n"
                                "    if (t >= n) return;\n"
                                "    uint4 x = b0[t], y = b1[t];\n"
                                "    if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w) *b2 = 1;\n"
                                "}\n";

/* False: different, or not possible, which is no error. */
static bool same_on_gpu(struct engine *en, const char *x, const char *y, size_t bytes) {
    enum { WORD = 16 };
    struct err e = {0};
    struct engine_list *l = NULL;
    const struct ekernel *k;
    uint32_t differ = 0;
    char *flag = engine_alloc(en, &e, WORD);
    struct etext t = {.name = "same", .text = same_text, .grid = (int64_t)(bytes / WORD), .nbuf = 3};
    bool ok =
        flag && !engine_compile_text(en, &e, &t, 1, &k) && (l = engine_list_new(en, &e)) &&
        !en->ops->copy(en->dev, &e, COPY_IN, flag, &differ, sizeof differ) &&
        !engine_list_add(l, &e, k, (void *[]){(void *)(uintptr_t)x, (void *)(uintptr_t)y, flag}, NULL) &&
        engine_list_time(l, 0, 1) != UINT64_MAX &&
        !en->ops->copy(en->dev, &e, COPY_OUT, &differ, flag, sizeof differ);
    engine_list_free(l);
    if (flag) engine_free(en, flag, WORD);
    return ok && !differ;
}

bool same_result(struct engine *en, struct err *e, enum dtype dt, const char *x, const char *y,
                 size_t bytes) {
    enum { WORTH = 1 << 16 };
    if (!en->ops->discrete) return same_here(dt, x, y, bytes);
    size_t whole = en->ops->text == DEV_CUDA && bytes >= WORTH ? bytes & ~(size_t)15 : 0;
    if (whole && same_on_gpu(en, x, y, whole)) x += whole, y += whole, bytes -= whole;
    return same_copies(en, e, dt, x, y, bytes);
}
