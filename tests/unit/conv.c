/* conv.c: convolutions, pooling, windows and resizing: against PyTorch's values (tests/values/conv.txt, written by
 * make_conv.py), forward and gradient, on REF and CPU; how many kernels they become; what their errors say. */
#include "unit/values_file.h"
#include "ridge.h"

/* ---- calls ---------------------------------------------------------------------------------------------- */

enum { LIST = 12, BATCH = 24 };

struct lists {
    int64_t v[5][LIST];
};

static rg_ints list_of(const struct vf_case *c, int64_t *to, const char *key) {
    return (rg_ints){to, vf_list(vf_par(c, key), to, LIST)};
}

static rg_conv_opts conv_opts(const struct vf_case *c, const rg_tensor *in, struct lists *l) {
    return (rg_conv_opts){.bias = vf_par(c, "bias") ? in[2] : RG_NONE,
                          .stride = list_of(c, l->v[0], "stride"),
                          .padding = list_of(c, l->v[1], "padding"),
                          .dilation = list_of(c, l->v[2], "dilation"),
                          .output_padding = list_of(c, l->v[3], "output_padding"),
                          .groups = (int64_t)vf_num(c, "groups", 0)};
}

static rg_pool_opts pool_opts(const struct vf_case *c, struct lists *l) {
    return (rg_pool_opts){.size = list_of(c, l->v[4], "size"),
                          .stride = list_of(c, l->v[0], "stride"),
                          .padding = list_of(c, l->v[1], "padding"),
                          .dilation = list_of(c, l->v[2], "dilation"),
                          .ceil = vf_num(c, "ceil", 0) != 0,
                          .exclude_padding = vf_num(c, "exclude", 0) != 0};
}

typedef rg_tensor conv_fn(const char *file, int line, rg_tensor, rg_tensor, rg_conv_opts);
typedef rg_tensor pool_fn(const char *file, int line, rg_tensor, rg_pool_opts);

static const struct {
    const char *name;
    conv_fn *conv;
    pool_fn *pool;
} table[] = {
    {"conv1d", rg_conv1d_at, NULL},
    {"conv2d", rg_conv2d_at, NULL},
    {"conv3d", rg_conv3d_at, NULL},
    {"conv_transpose1d", rg_conv_transpose1d_at, NULL},
    {"conv_transpose2d", rg_conv_transpose2d_at, NULL},
    {"conv_transpose3d", rg_conv_transpose3d_at, NULL},
    {"max_pool1d", NULL, rg_max_pool1d_at},
    {"max_pool2d", NULL, rg_max_pool2d_at},
    {"max_pool3d", NULL, rg_max_pool3d_at},
    {"max_pool2d_index", NULL, rg_max_pool2d_index_at},
    {"avg_pool1d", NULL, rg_avg_pool1d_at},
    {"avg_pool2d", NULL, rg_avg_pool2d_at},
    {"avg_pool3d", NULL, rg_avg_pool3d_at},
};

static rg_tensor call(const struct vf_case *c, const rg_tensor *in) {
    struct lists l;
    for (size_t i = 0; i < RG_COUNT(table); i++) {
        if (strcmp(table[i].name, c->op)) continue;
        if (table[i].conv) return table[i].conv(__FILE__, __LINE__, in[0], in[1], conv_opts(c, in, &l));
        return table[i].pool(__FILE__, __LINE__, in[0], pool_opts(c, &l));
    }
#define NUM(key) ((int64_t)vf_num(c, key, 0))
    if (!strcmp(c->op, "max_unpool2d")) return rg_max_unpool2d(in[0], in[1], NUM("h"), NUM("w"));
    if (!strcmp(c->op, "adaptive_avg_pool2d")) return rg_adaptive_avg_pool2d(in[0], NUM("h"), NUM("w"));
    if (!strcmp(c->op, "unfold")) return rg_unfold(in[0], NUM("axis"), NUM("size"), NUM("step"));
    if (!strcmp(c->op, "pad_with"))
        return rg_pad_with(in[0], list_of(c, l.v[0], "pads"), (rg_pad_mode)NUM("mode"));
    if (!strcmp(c->op, "interpolate"))
        return rg_interpolate(in[0], list_of(c, l.v[0], "dims"), .mode = (rg_resize_mode)NUM("mode"),
                              .align_corners = NUM("corners") != 0);
#undef NUM
    FAIL("tests/values/conv.txt: op '%s' has no row in this test", c->op);
}

/* ---- running the file --------------------------------------------------------------------------------------- */

struct run {
    rg_ctx *c;
    struct vf_file file;
    struct arena *arena;
    int64_t cases, elements, failed;
};

struct job {
    const struct vf_case *c;
    rg_tensor in[VF_MAX_IN];
    void *got, *ggot[VF_MAX_IN];
};

static rg_dtype dtype_of(const struct vf_tensor *t) {
    for (int d = 0; d < RG_DTYPES; d++)
        if (!strcmp(rg_dtype_name((rg_dtype)d), vf_info[t->type].name)) return (rg_dtype)d;
    FAIL("no such dtype");
}

static rg_tensor from(struct run *r, const struct vf_tensor *t) {
    return rg_from(r->c, dtype_of(t), vf_bytes(r->arena, t), RG_LIST(t->dim, (size_t)t->rank));
}

static void differs(struct run *r, const struct vf_case *c, const char *what, const char *msg) {
    if (r->failed++ < 40)
        fprintf(stderr, "%s:%d: %s on %s: %s %s\n", r->file.path, c->line, c->name, rg_device(r->c), what,
                msg);
}

static void *ask(struct run *r, const struct vf_case *c, rg_tensor t, const struct vf_tensor *w) {
    int64_t dim[VF_MAX_DIMS] = {0}, rank = rg_shape_of(t, dim, VF_MAX_DIMS);
    bool same = rank == w->rank && rg_dtype_of(t) == dtype_of(w);
    for (int i = 0; same && i < rank; i++) same = dim[i] == w->dim[i];
    if (!same) {
        if (!rg_status_of(r->c)) differs(r, c, "dtype or shape", "is not as expected");
        return NULL;
    }
    size_t bytes = (size_t)(w->n * vf_info[w->type].bytes);
    void *p = arena_alloc(r->arena, bytes + 1);
    memset(p, 0xa5, bytes);
    rg_read_async(t, p, bytes);
    return p;
}

static void start(struct run *r, struct job *j, const struct vf_case *c) {
    rg_tensor wrt[VF_MAX_IN], grad[VF_MAX_IN];
    *j = (struct job){.c = c};
    for (int k = 0; k < c->nin; k++) j->in[k] = from(r, &c->in[k]);
    rg_tensor out = call(c, j->in);
    j->got = ask(r, c, out, &c->out);
    if (!c->has_seed) return;
    for (int k = 0; k < c->ngrad; k++) wrt[k] = j->in[c->grad[k].input];
    rg_grad(out, RG_ARRAY(wrt, (size_t)c->ngrad), grad, .seed = from(r, &c->seed), .unused_ok = !c->out.n);
    for (int k = 0; k < c->ngrad; k++) j->ggot[k] = ask(r, c, grad[k], &c->grad[k]);
}

static void compare(struct run *r, const struct job *j) {
    char msg[256];
    r->elements += j->c->out.n;
    if (j->got && vf_compare(&j->c->out, j->got, msg, sizeof msg) >= 0) differs(r, j->c, "", msg);
    for (int k = 0; k < j->c->ngrad; k++) {
        static const char *const of[] = {"gradient of x", "gradient of the weight", "gradient of the bias"};
        r->elements += j->c->grad[k].n;
        if (j->ggot[k] && vf_compare(&j->c->grad[k], j->ggot[k], msg, sizeof msg) >= 0)
            differs(r, j->c, of[RG_MIN(j->c->grad[k].input, 2)], msg);
    }
}

static bool run_some(struct run *r, struct vf_case *const *cases, uint32_t n) {
    RG_SCOPE(r->c);
    struct job *jobs = arena_array(r->arena, struct job, n);
    for (uint32_t k = 0; k < n; k++)
        if (!cases[k]->refuse) start(r, &jobs[k], cases[k]);
    rg_wait(r->c);
    if (rg_status_of(r->c)) return false;
    for (uint32_t k = 0; k < n; k++)
        if (jobs[k].c) compare(r, &jobs[k]);
    return true;
}

static void refused(struct run *r, const struct vf_case *c) {
    RG_SCOPE(r->c);
    rg_tensor in[VF_MAX_IN];
    for (int k = 0; k < c->nin; k++) in[k] = from(r, &c->in[k]);
    call(c, in);
    if (rg_status_of(r->c) != RG_EINVAL) differs(r, c, "", "was not refused");
    rg_clear_error(r->c);
}

/* Many cases in one plan, so that a device that compiles does it in few batches; one by one if something fails. */
static void run_file(const char *device, uint32_t every) {
    struct err err = {0};
    struct arena arena;
    struct run r = {.c = rg_open(device), .arena = &arena};
    arena_init(&arena, &err);
    vf_read(&r.file, &arena, "tests/values/conv.txt");
    struct vf_case **some = arena_array(&arena, struct vf_case *, r.file.cases.n + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < r.file.cases.n; k++) {
        struct vf_case *c = r.file.cases.p[k];
        if (c->refuse)
            refused(&r, c);
        else if (k % every == 0)
            some[n++] = c;
    }
    for (uint32_t k = 0; k < n; k += BATCH) {
        uint32_t m = RG_MIN(n - k, BATCH);
        if (run_some(&r, some + k, m)) continue;
        rg_clear_error(r.c);
        for (uint32_t i = k; i < k + m; i++) {
            if (run_some(&r, some + i, 1)) continue;
            differs(&r, some[i], "", rg_error(r.c));
            rg_clear_error(r.c);
        }
    }
    if (r.failed) FAIL("%lld differences in %u cases", (long long)r.failed, n);
    TEST_INFO("%u cases, %lld numbers on %s as PyTorch's", n, (long long)r.elements, device);
    rg_close(r.c);
    arena_free(&arena);
}

TEST(conv_values_ref) { run_file("REF", 1); }
TEST_SLOW(conv_values_cpu, 600) { run_file("CPU", 3); }
TEST_MANUAL(conv_values_cpu_all, 1200) { run_file("CPU", 1); }

/* ---- larger sizes, against plain loops ------------------------------------------------------------------------ */

/* Small whole numbers: sums are exact in any order, so results are equal bit by bit. */
struct plain {
    int n, c, h, w, o, k, stride, pad, dilation, groups; /* images, channels, plane, results, window */
    int oh, ow;
    float *x, *f, *dy, *y, *dx, *df;
};

static void plain_loops(struct plain *p) {
    int ci = p->c / p->groups, oi = p->o / p->groups;
    for (int n = 0; n < p->n; n++)
        for (int o = 0; o < p->o; o++)
            for (int i = 0; i < p->oh * p->ow; i++)
                for (int c = 0; c < ci; c++)
                    for (int k = 0; k < p->k * p->k; k++) {
                        int r = i / p->ow * p->stride - p->pad + k / p->k * p->dilation;
                        int s = i % p->ow * p->stride - p->pad + k % p->k * p->dilation;
                        if (r < 0 || r >= p->h || s < 0 || s >= p->w) continue;
                        size_t at =
                            (size_t)((n * p->c + o / oi * ci + c) * p->h + r) * (size_t)p->w + (size_t)s;
                        size_t to = (size_t)((n * p->o + o) * p->oh * p->ow + i);
                        size_t f = (size_t)((o * ci + c) * p->k * p->k + k);
                        p->y[to] += p->x[at] * p->f[f];
                        p->dx[at] += p->dy[to] * p->f[f];
                        p->df[f] += p->dy[to] * p->x[at];
                    }
}

static float *whole_numbers(struct arena *a, size_t n, uint64_t seed, bool zero) {
    float *v = arena_array(a, float, n);
    for (size_t i = 0; i < n && !zero; i++) v[i] = (float)((int)(hash_u64(seed + i) % 5) - 2);
    return v;
}

static void same_as(rg_tensor t, const float *want, size_t n, struct arena *a, const char *what) {
    float *got = arena_array(a, float, n);
    rg_ctx *c = rg_ctx_of(t);
    if (rg_read(t, got, n * sizeof *got)) FAIL("%s", rg_error(c));
    for (size_t i = 0; i < n; i++)
        if (got[i] != want[i]) FAIL("%s: element %zu is %g, expected %g", what, i, got[i], want[i]);
}

static void against_loops(struct plain p) {
    struct err err = {0};
    struct arena a;
    rg_ctx *c = rg_open("CPU");
    rg_tensor grad[2];
    arena_init(&a, &err);
    p.oh = (p.h + 2 * p.pad - (p.k - 1) * p.dilation - 1) / p.stride + 1;
    p.ow = (p.w + 2 * p.pad - (p.k - 1) * p.dilation - 1) / p.stride + 1;
    size_t nx = (size_t)(p.n * p.c * p.h * p.w), nf = (size_t)(p.o * p.c / p.groups * p.k * p.k),
           ny = (size_t)(p.n * p.o * p.oh * p.ow);
    p.x = whole_numbers(&a, nx, 1, false), p.f = whole_numbers(&a, nf, 2000003, false);
    p.dy = whole_numbers(&a, ny, 7000003, false), p.y = whole_numbers(&a, ny, 0, true);
    p.dx = whole_numbers(&a, nx, 0, true), p.df = whole_numbers(&a, nf, 0, true);
    plain_loops(&p);
    rg_tensor x = rg_from(c, RG_F32, p.x, RG_SHAPE(p.n, p.c, p.h, p.w));
    rg_tensor f = rg_from(c, RG_F32, p.f, RG_SHAPE(p.o, p.c / p.groups, p.k, p.k));
    rg_tensor y = rg_conv2d(x, f, .stride = RG_INTS(p.stride), .padding = RG_INTS(p.pad),
                            .dilation = RG_INTS(p.dilation), .groups = p.groups);
    rg_grad(y, RG_TENSORS(x, f), grad, .seed = rg_from(c, RG_F32, p.dy, RG_SHAPE(p.n, p.o, p.oh, p.ow)));
    same_as(y, p.y, ny, &a, "convolution");
    same_as(grad[0], p.dx, nx, &a, "gradient of x");
    same_as(grad[1], p.df, nf, &a, "gradient of the weight");
    rg_close(c);
    arena_free(&a);
}

TEST(conv_loops_first_layer) {
    against_loops((struct plain){
        .n = 16, .c = 1, .h = 28, .w = 28, .o = 32, .k = 5, .stride = 1, .dilation = 1, .groups = 1});
}
TEST(conv_loops_many_channels) {
    against_loops((struct plain){.n = 4,
                                 .c = 32,
                                 .h = 14,
                                 .w = 14,
                                 .o = 48,
                                 .k = 3,
                                 .stride = 1,
                                 .pad = 1,
                                 .dilation = 1,
                                 .groups = 1});
}
TEST(conv_loops_strided) {
    against_loops((struct plain){.n = 3,
                                 .c = 16,
                                 .h = 33,
                                 .w = 31,
                                 .o = 24,
                                 .k = 3,
                                 .stride = 2,
                                 .pad = 1,
                                 .dilation = 1,
                                 .groups = 1});
}
TEST(conv_loops_dilated_groups) {
    against_loops((struct plain){.n = 2,
                                 .c = 24,
                                 .h = 20,
                                 .w = 23,
                                 .o = 36,
                                 .k = 3,
                                 .stride = 1,
                                 .pad = 2,
                                 .dilation = 2,
                                 .groups = 4});
}
TEST(conv_loops_depthwise) {
    against_loops((struct plain){.n = 2,
                                 .c = 64,
                                 .h = 28,
                                 .w = 28,
                                 .o = 64,
                                 .k = 3,
                                 .stride = 1,
                                 .pad = 1,
                                 .dilation = 1,
                                 .groups = 64});
}
TEST(conv_loops_points) {
    against_loops((struct plain){
        .n = 3, .c = 64, .h = 14, .w = 15, .o = 96, .k = 1, .stride = 1, .dilation = 1, .groups = 1});
}

/* ---- how many kernels --------------------------------------------------------------------------------------------- */

/* On the frozen machine: plans do not depend on where the test runs. */
static rg_ctx *planner(void) {
    setenv("RIDGE_MODEL", "tests/machine.txt", 1);
    env_reload();
    rg_ctx *c = rg_open("NULL");
    CHECK(!rg_status_of(c));
    return c;
}

static rg_tensor stored(rg_ctx *c, rg_ints shape,
                        int64_t tag) { /* memory of its own: no two have the same number */
    rg_tensor t = rg_contiguous(rg_full(c, RG_F32, (double)tag, shape));
    rg_realize(t);
    return t;
}

static void kernels(rg_tensors t, uint64_t most, double scratch, const char *what) {
    rg_plan_stats s;
    rg_ctx *c = rg_ctx_of(t.t[0]);
    if (rg_schedule_stats(t, &s)) FAIL("%s: %s", what, rg_error(c));
    if (s.kernels > most)
        FAIL("%s: %llu kernels, expected at most %llu", what, (unsigned long long)s.kernels,
             (unsigned long long)most);
    if ((double)s.scratch > scratch)
        FAIL("%s: %lld bytes between kernels, expected at most %g", what, (long long)s.scratch, scratch);
}

TEST(conv_kernels_forward_and_back) {
    rg_ctx *c = planner();
    rg_tensor x = stored(c, RG_SHAPE(64, 32, 24, 24), 1), w = stored(c, RG_SHAPE(48, 32, 5, 5), 2),
              b = stored(c, RG_SHAPE(48), 3), g[3];
    rg_tensor y = rg_conv2d(x, w, .bias = b, .padding = RG_INTS(2));
    kernels(RG_TENSORS(rg_relu(y)), 1, 0, "conv + bias + relu");
    rg_grad(y, RG_TENSORS(x, w, b), g, .seed = stored(c, RG_SHAPE(64, 48, 24, 24), 4));
    kernels(RG_TENSORS(g[0]), 1, 0, "gradient of x");
    double weight = 48 * 32 * 5 * 5 * 4; /* bytes, of each of 32 and 8 parts */
    kernels(RG_TENSORS(g[1]), 2, 32 * weight, "gradient of the weight");
    kernels(RG_TENSORS(g[0], g[1], g[2]), 5, 32 * weight + 1e6,
            "all gradients"); /* of the bias: a sum over 64 images, which may be split */
    rg_tensor second = rg_conv2d(x, stored(c, RG_SHAPE(48, 32, 5, 5), 8), .padding = RG_INTS(2));
    rg_grad(rg_add(rg_mul(y, stored(c, RG_SHAPE(48, 1, 1), 9)), second), RG_TENSORS(x), g,
            .seed = stored(c, RG_SHAPE(64, 48, 24, 24), 4));
    kernels(RG_TENSORS(g[0]), 4, 2e7, "gradient of what two read"); /* not its windows: 118 MB */
    y = rg_conv2d(x, w, .stride = RG_INTS(2), .padding = RG_INTS(2));
    kernels(RG_TENSORS(y), 1, 0, "strided");
    rg_grad(y, RG_TENSORS(x, w), g, .seed = stored(c, RG_SHAPE(64, 48, 12, 12), 5));
    kernels(RG_TENSORS(g[0]), 1, 0, "strided, gradient of x");
    kernels(RG_TENSORS(g[1]), 2, 8 * weight, "strided, gradient of the weight");
    rg_tensor t = stored(c, RG_SHAPE(32, 16, 4, 4), 6);
    y = rg_conv_transpose2d(x, t, .stride = RG_INTS(2), .padding = RG_INTS(1));
    kernels(RG_TENSORS(y), 1, 0, "transposed");
    rg_grad(y, RG_TENSORS(x, t), g, .seed = stored(c, RG_SHAPE(64, 16, 48, 48), 7));
    kernels(RG_TENSORS(g[0]), 1, 0, "transposed, gradient of x");
    kernels(RG_TENSORS(g[1]), 2, 32 * 32 * 16 * 4 * 4 * 4, "transposed, gradient of the weight");
    rg_close(c);
}

/* A CPU's contractions of views of memory with other rows: a copy first, but for channels innermost and transposed matrices. */
TEST(conv_reads_rows_of_memory) {
    setenv("RIDGE_MODEL", "tests/machine.txt", 1);
    env_reload();
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = stored(c, RG_SHAPE(4, 16, 24, 26), 1), w = stored(c, RG_SHAPE(12, 16, 3, 3), 2);
    rg_tensor columns = stored(c, RG_SHAPE(4, 16, 26, 24), 3), last = stored(c, RG_SHAPE(4, 24, 26, 16), 4);
    kernels(RG_TENSORS(rg_conv2d(x, w)), 1, 0, "rows");
    kernels(RG_TENSORS(rg_conv2d(rg_permute(last, RG_INTS(0, 3, 1, 2)), w)), 1, 0, "channels innermost");
    rg_tensor y = rg_conv2d(rg_transpose(columns, -1, -2), w);
    kernels(RG_TENSORS(y), 2, 4 * 16 * 26 * 24 * 4, "columns");
    rg_plan_stats s;
    rg_tensor line = rg_transpose(stored(c, RG_SHAPE(2, 600, 24), 8), 1, 2),
              taps = stored(c, RG_SHAPE(24, 24, 3), 9);
    if (rg_schedule_stats(RG_TENSORS(rg_conv1d(line, taps)), &s) || s.kernels != 1) FAIL("a copy of a line");
    if (rg_schedule_stats(RG_TENSORS(rg_conv_transpose1d(line, taps, .stride = RG_INTS(2))), &s) ||
        s.kernels != 2)
        FAIL("no copy of a line, transposed");
    if (rg_schedule_stats(RG_TENSORS(y), &s) || s.kernels != 2) FAIL("no copy of columns");
    rg_tensor a = stored(c, RG_SHAPE(64, 96), 5), b = stored(c, RG_SHAPE(96, 64, 3), 6);
    kernels(RG_TENSORS(rg_matmul(rg_transpose(a, 0, 1), a)), 1, 0, "a transposed");
    y = rg_matmul(rg_permute(b, RG_INTS(2, 1, 0)), stored(c, RG_SHAPE(3, 96, 32), 7));
    if (rg_schedule_stats(RG_TENSORS(y), &s) || s.kernels != 2) FAIL("no copy of innermost batches");
    rg_close(c);
}

/* The weight gradient of whole numbers, by parts of images and rows or, split = "0", at once. */
static void weight_gradient(const char *split, int64_t images, int64_t size, int64_t pad, uint64_t kernels,
                            float *out) {
    setenv("RIDGE_SPLIT", split, 1);
    env_reload();
    rg_ctx *c = rg_open("CPU");
    rg_plan_stats s;
    int64_t results = size + 2 * pad - 2;
    rg_tensor x = rg_floor(rg_uniform(c, RG_F32, -4, 4, RG_SHAPE(images, 16, size, size))), g,
              w = stored(c, RG_SHAPE(16, 16, 3, 3), 1),
              y = rg_floor(rg_uniform(c, RG_F32, -4, 4, RG_SHAPE(images, 16, results, results)));
    rg_realize(x), rg_realize(y);
    rg_grad(rg_conv2d(x, w, .padding = RG_INTS(pad)), RG_TENSORS(w), &g, .seed = y);
    if (rg_schedule_stats(RG_TENSORS(g), &s)) FAIL("%s", rg_error(c));
    CHECK_EQ(s.kernels, kernels);
    CHECK(!rg_read(g, out, 16 * 16 * 9 * sizeof *out));
    rg_close(c);
}

TEST(conv_weight_gradient_in_parts) {
    static float parts[16 * 16 * 9], whole[16 * 16 * 9];
    static const int64_t shape[][3] = {{16, 20, 0}, {2, 64, 1}, {2, 64, 0}}; /* images; images and rows */
    for (size_t i = 0; i < RG_COUNT(shape); i++) {
        weight_gradient("1", shape[i][0], shape[i][1], shape[i][2], 2, parts);
        weight_gradient("0", shape[i][0], shape[i][1], shape[i][2], 1, whole);
        CHECK(!memcmp(parts, whole, sizeof parts));
    }
}

/* Windows along one axis are packed by parts of a row: random lengths, strides and paddings, whole numbers, so that sums are exact.
 */
TEST(conv_rows_as_the_oracle) {
    static const rg_dtype type[] = {RG_F32, RG_BF16, RG_F16, RG_F64};
    static double got[2][20000];
    const char *const device[2] = {"CPU", "REF"};
    for (uint64_t seed = 1; seed <= 16; seed++) {
        uint64_t r = hash_u64(seed);
        int64_t images = 1 + (int64_t)(r % 2), in = 1 + (int64_t)((r >> 4) % 12),
                n = 40 + (int64_t)((r >> 8) % 300), out = 15 + (int64_t)((r >> 20) % 20),
                taps = 2 + (int64_t)((r >> 28) % 6), stride = 1 + (int64_t)((r >> 34) % 4);
        size_t bytes = 0;
        struct err err = {0};
        struct arena a;
        arena_init(&a, &err);
        float *xs = whole_numbers(&a, (size_t)(images * in * n), seed, false),
              *ws = whole_numbers(&a, (size_t)(out * in * taps), ~seed, false);
        for (int d = 0; d < 2; d++) {
            rg_ctx *c = rg_open(device[d]);
            rg_tensor x = rg_from(c, RG_F32, xs, RG_SHAPE(images, in, n)),
                      w = rg_from(c, RG_F32, ws, RG_SHAPE(out, in, taps));
            x = rg_cast(x, type[seed % 4]), w = rg_cast(w, type[seed % 4]);
            rg_tensor y = rg_conv1d(rg_contiguous(x), rg_contiguous(w), .stride = RG_INTS(stride),
                                    .padding = RG_INTS((int64_t)((r >> 40) % 3)));
            y = rg_cast(y, RG_F64);
            bytes = (size_t)rg_bytes(y);
            CHECK(bytes <= sizeof got[d]);
            if (rg_read(y, got[d], bytes)) FAIL("%s", rg_error(c));
            rg_close(c);
        }
        if (memcmp(got[0], got[1], bytes))
            FAIL("%lld x %lld x %lld, %lld of %lld taps, stride %lld", (long long)images, (long long)in,
                 (long long)n, (long long)out, (long long)taps, (long long)stride);
        arena_free(&a);
    }
}

/* With a stride of 3 each result has one of three taps along an axis, whatever the dilation of another axis is. */
TEST(conv_phases_beside_a_dilated_axis) {
    rg_ctx *c = planner();
    rg_tensor x = stored(c, RG_SHAPE(4, 8, 16, 16), 1), w = stored(c, RG_SHAPE(8, 8, 3, 3), 2);
    rg_tensor y = rg_conv_transpose2d(x, w, .stride = RG_INTS(3, 3), .dilation = RG_INTS(2, 1));
    rg_plan_stats s = {0};
    CHECK_EQ(rg_schedule_stats(RG_TENSORS(y), &s), RG_OK);
    double most = 2.5 * (double)rg_size(y) * 8 * 3; /* channels, taps of the dilated axis */
    if (s.ops > most) FAIL("%g operations, expected at most %g", s.ops, most);
    rg_close(c);
}

/* Taps fewer than the stride leave phases without a term, and so does a dilation that is a multiple of it: they are zeros, not sums of
 * zeros. Each element gets one of as many taps as the stride has steps of another dilation. Gradients of a transposed convolution have its products and no others. */
TEST(conv_phases_without_terms) {
    static const struct {
        int64_t taps[2], stride[2], dilation[2];
    } of[] = {{{1, 3}, {3, 2}, {1, 1}},
              {{1, 1}, {2, 2}, {1, 1}},
              {{3, 3}, {2, 3}, {2, 3}},
              {{3, 4}, {3, 2}, {2, 3}},
              {{4, 3}, {4, 3}, {6, 4}}};
    rg_ctx *c = planner();
    for (size_t i = 0; i < RG_COUNT(of); i++) {
        rg_tensor x = stored(c, RG_SHAPE(8, 32, 20, 21), 1),
                  w = stored(c, RG_SHAPE(32, 32, of[i].taps[0], of[i].taps[1]), 2), g[2];
        rg_tensor y = rg_conv_transpose2d(x, w, .stride = RG_LIST(of[i].stride, 2),
                                          .dilation = RG_LIST(of[i].dilation, 2));
        rg_tensor all[3] = {y};
        double once = 2.0 * 8 * 20 * 21 * 32 * 32 * (double)(of[i].taps[0] * of[i].taps[1]);
        rg_grad(y, RG_TENSORS(x, w), g, .seed = stored(c, RG_SHAPE(8, 32, rg_dim(y, 2), rg_dim(y, 3)), 3));
        for (int k = 1; k < 3; k++) all[k] = g[k - 1];
        for (int k = 0; k < 3; k++) {
            rg_plan_stats s = {0};
            CHECK_EQ(rg_schedule_stats(RG_TENSORS(all[k]), &s), RG_OK);
            if (s.ops > 1.4 * once + 3.0 * (double)rg_size(y)) /* 3 taps in two phases are 4 */
                FAIL("case %zu, result %d: %g operations, expected %g", i, k, s.ops, once);
        }
    }
    rg_close(c);
}

/* Transposed convolutions, and gradients of convolutions, whose strides and dilations are anything, as loops: whole numbers, equal bit by bit.
 * Rows of up to 150 results, wider than what is unrolled. */
TEST(conv_random_strides_beside_dilations) {
    const char *const device[2] = {"CPU", "REF"};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        uint64_t r = hash_u64(seed + 9000);
        int64_t in = 1 + (int64_t)(r % 6), out = 1 + (int64_t)(r / 8 % 20), size[2], stride[2], dilation[2],
                n[2], o[2];
        for (int i = 0; i < 2; i++) {
            uint64_t q = hash_u64(2 * seed + (uint64_t)i + 500);
            size[i] = 1 + (int64_t)(q % 5), stride[i] = 1 + (int64_t)(q / 8 % 4),
            dilation[i] = 1 + (int64_t)(q / 64 % 4);
            n[i] = 1 + (int64_t)(q / 512 % (i ? 40 : 7));
            o[i] = (n[i] - 1) * stride[i] + (size[i] - 1) * dilation[i] + 1;
        }
        struct err err = {0};
        struct arena a;
        arena_init(&a, &err);
        int64_t nx = in * n[0] * n[1], nw = in * out * size[0] * size[1], ny = out * o[0] * o[1];
        float *xs = arena_array(&a, float, (size_t)nx), *ws = arena_array(&a, float, (size_t)nw),
              *want = arena_array(&a, float, (size_t)ny), *got = arena_array(&a, float, (size_t)ny);
        for (int64_t i = 0; i < nx; i++) xs[i] = (float)(hash_u64(seed * 7919 + (uint64_t)i) % 9) - 4;
        for (int64_t i = 0; i < nw; i++) ws[i] = (float)(hash_u64(seed * 104729 + (uint64_t)i) % 9) - 4;
        memset(want, 0, (size_t)ny * sizeof *want);
        for (int64_t i = 0; i < nx; i++)
            for (int64_t k = 0; k < nw / in; k++) {
                int64_t c = i / (n[0] * n[1]), taps = size[0] * size[1],
                        y = i / n[1] % n[0] * stride[0] + k % taps / size[1] * dilation[0],
                        z = i % n[1] * stride[1] + k % size[1] * dilation[1];
                want[(k / taps * o[0] + y) * o[1] + z] += xs[i] * ws[c * (nw / in) + k];
            }
        for (int d = 0; d < 2; d++)
            for (int back = 0; back < 2; back++) { /* the same sums */
                rg_ctx *c = rg_open(device[d]);
                rg_tensor x = rg_from(c, RG_F32, xs, RG_SHAPE(1, in, n[0], n[1])),
                          w = rg_from(c, RG_F32, ws, RG_SHAPE(in, out, size[0], size[1])), y, g;
                if (back) {
                    y = rg_full(c, RG_F32, 1, RG_SHAPE(1, out, o[0], o[1]));
                    rg_tensor p = rg_contiguous(y);
                    y = rg_conv2d(p, w, .stride = RG_LIST(stride, 2), .dilation = RG_LIST(dilation, 2));
                    rg_grad(y, RG_TENSORS(p), &g, .seed = x);
                } else {
                    g = rg_conv_transpose2d(x, w, .stride = RG_LIST(stride, 2),
                                            .dilation = RG_LIST(dilation, 2));
                }
                if (rg_read(g, got, (size_t)ny * sizeof *got)) FAIL("%s", rg_error(c));
                for (int64_t i = 0; i < ny; i++)
                    if (got[i] != want[i])
                        FAIL("seed %d on %s, %s: %lld is %g, expected %g", (int)seed, device[d],
                             back ? "gradient" : "transposed", (long long)i, (double)got[i], (double)want[i]);
                rg_close(c);
            }
        arena_free(&a);
    }
}

TEST(conv_kernels_pooling) {
    rg_ctx *c = planner();
    rg_tensor x = stored(c, RG_SHAPE(64, 32, 24, 24), 1), g;
    rg_tensor y = rg_max_pool2d(x, RG_SHAPE(2));
    kernels(RG_TENSORS(y), 1, 0, "max");
    rg_grad(y, RG_TENSORS(x), &g, .seed = stored(c, RG_SHAPE(64, 32, 12, 12), 2));
    kernels(RG_TENSORS(g), 1, 0, "max, gradient");
    y = rg_max_pool2d(x, RG_SHAPE(3), .stride = RG_INTS(2), .padding = RG_INTS(1));
    kernels(RG_TENSORS(y), 1, 0, "max of windows that overlap");
    rg_grad(y, RG_TENSORS(x), &g, .seed = stored(c, RG_SHAPE(64, 32, 12, 12), 3));
    kernels(RG_TENSORS(g), 2, 64 * 32 * 12 * 12,
            "max of windows that overlap, gradient"); /* a byte a window */
    y = rg_avg_pool2d(x, RG_SHAPE(3), .stride = RG_INTS(2), .padding = RG_INTS(1), .exclude_padding = true);
    kernels(RG_TENSORS(y), 1, 0, "mean");
    y = rg_interpolate(x, RG_SHAPE(40, 30), .mode = RG_RESIZE_LINEAR);
    kernels(RG_TENSORS(y), 2, 64 * 32 * 40 * 24 * 4, "bilinear"); /* rows without gathers, then columns */
    rg_close(c);
}

/* ---- indices of maxima ------------------------------------------------------------------------------------- */

struct window_case {
    int64_t c, n[2], size[2], stride[2], pad[2], dilation[2], out[2];
    rg_dtype type;
};

static struct window_case window_case(uint64_t seed) {
    static const rg_dtype type[] = {RG_F32, RG_BF16, RG_F16, RG_F64, RG_I32, RG_I8, RG_U8, RG_BOOL};
    struct window_case w = {.c = 1 + (int64_t)(hash_u64(seed) % 5), .type = type[seed % RG_COUNT(type)]};
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t r = hash_u64(2 * seed + i + 1000);
        w.size[i] = 1 + (int64_t)(r % 6), w.stride[i] = 1 + (int64_t)((r >> 8) % 4);
        w.dilation[i] = 1 + (int64_t)((r >> 16) % 4 == 0);
        int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
        w.n[i] = RG_MAX(reach, w.dilation[i]) + (int64_t)((r >> 24) % 23);
        w.pad[i] = (int64_t)((r >> 40) % (uint64_t)(reach / 2 + 1));
        w.out[i] = (w.n[i] + 2 * w.pad[i] - reach) / w.stride[i] + 1;
    }
    return w;
}

/* The first maximum, NaN before all, of the window at (a, b) of a plane. */
static int64_t first_maximum(const struct window_case *w, const double *x, int64_t a, int64_t b) {
    int64_t at = -1;
    for (int64_t k = 0; k < w->size[0] * w->size[1]; k++) {
        int64_t i = a * w->stride[0] - w->pad[0] + k / w->size[1] * w->dilation[0],
                j = b * w->stride[1] - w->pad[1] + k % w->size[1] * w->dilation[1], p = i * w->n[1] + j;
        if (i < 0 || i >= w->n[0] || j < 0 || j >= w->n[1]) continue;
        if (at < 0 || (!isnan(x[at]) && (isnan(x[p]) || x[p] > x[at]))) at = p;
    }
    return at;
}

/* Few values, so that many are equal; of floats NaN and whole windows of -inf; of integers the least there is. */
static double window_value(rg_dtype type, uint64_t r) {
    bool whole = type == RG_I32 || type == RG_I8 || type == RG_U8 || type == RG_BOOL;
    double least = type == RG_I32 ? INT32_MIN : type == RG_I8 ? -128 : whole ? 0 : -INFINITY;
    if (r % 3) return least;
    if (!whole && r % 41 == 0) return NAN;
    return (double)((r >> 20) % (type == RG_BOOL ? 2 : 4));
}

/* Windows of up to 27 elements are searched once, larger ones twice: indices, and where windows overlap gradients, against loops. */
TEST(conv_indices_of_maxima_as_loops) {
    const char *const device[2] = {"CPU", "REF"};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct window_case w = window_case(seed);
        struct err err = {0};
        struct arena a;
        arena_init(&a, &err);
        int64_t plane = w.n[0] * w.n[1], outs = w.out[0] * w.out[1];
        double *xs = arena_array(&a, double, (size_t)(w.c * plane)),
               *back = arena_array(&a, double, (size_t)(w.c * plane)),
               *want = arena_array(&a, double, (size_t)(w.c * plane));
        int64_t *got = arena_array(&a, int64_t, (size_t)(w.c * outs));
        for (int64_t i = 0; i < w.c * plane; i++)
            xs[i] = window_value(w.type, hash_u64(seed * 100003 + (uint64_t)i)), want[i] = 0;
        for (int64_t i = 0; i < w.c * outs; i++)
            want[i / outs * plane +
                 first_maximum(&w, xs + i / outs * plane, i % outs / w.out[1], i % w.out[1])] += 1;
        for (int d = 0; d < 2; d++) {
            rg_ctx *c = rg_open(device[d]);
            rg_tensor x = rg_from(c, RG_F64, xs, RG_SHAPE(1, w.c, w.n[0], w.n[1])), g;
            rg_pool_opts o = {.size = RG_LIST(w.size, 2),
                              .stride = RG_LIST(w.stride, 2),
                              .padding = RG_LIST(w.pad, 2),
                              .dilation = RG_LIST(w.dilation, 2)};
            x = rg_contiguous(rg_cast(x, w.type));
            if (rg_read(rg_max_pool2d_index_at(RG_HERE, x, o), got, (size_t)(w.c * outs) * sizeof *got))
                FAIL("%s", rg_error(c));
            for (int64_t i = 0; i < w.c * outs; i++) {
                int64_t at = first_maximum(&w, xs + i / outs * plane, i % outs / w.out[1], i % w.out[1]);
                if (got[i] != at)
                    FAIL("seed %d on %s: index %lld is %lld, expected %lld", (int)seed, device[d],
                         (long long)i, (long long)got[i], (long long)at);
            }
            if (w.type == RG_F32 || w.type == RG_F64 || w.type == RG_BF16 || w.type == RG_F16) {
                rg_tensor y = rg_cast(rg_max_pool2d_at(RG_HERE, x, o), RG_F64);
                rg_grad(y, RG_TENSORS(x), &g,
                        .seed = rg_full(c, RG_F64, 1, RG_SHAPE(1, w.c, w.out[0], w.out[1])));
                if (rg_read(rg_cast(g, RG_F64), back, (size_t)(w.c * plane) * sizeof *back))
                    FAIL("%s", rg_error(c));
                for (int64_t i = 0; i < w.c * plane; i++)
                    if (back[i] != want[i])
                        FAIL("seed %d on %s: gradient %lld is %g, expected %g", (int)seed, device[d],
                             (long long)i, back[i], want[i]);
            }
            rg_close(c);
        }
        arena_free(&a);
    }
}

/* One kernel, and no reduction in it: loops over a window would be two of them. */
TEST(conv_indices_of_maxima_are_one_search) {
    static const int64_t size[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}};
    rg_ctx *c = planner();
    rg_tensor x = stored(c, RG_SHAPE(8, 32, 64, 64), 1);
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        rg_plan_stats s = {0};
        rg_tensor y = rg_max_pool2d_index(x, RG_LIST(size[i], 2), .stride = RG_INTS(2));
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(y), &s), RG_OK);
        CHECK_EQ(s.kernels, 1);
        double each = s.ops / (double)rg_size(y) / (double)(size[i][0] * size[i][1]);
        if (each > 1)
            FAIL("windows of %lld: %g operations of reductions an element", (long long)size[i][0], each);
    }
    rg_close(c);
}

/* MNIST's first layer with batch norm while training: the convolution is stored once, and no other large thing but the result. */
TEST(conv_kernels_batchnorm) {
    rg_ctx *c = planner();
    rg_tensor x = stored(c, RG_SHAPE(512, 1, 28, 28), 1), w = stored(c, RG_SHAPE(32, 1, 5, 5), 2),
              b = stored(c, RG_SHAPE(32), 3);
    rg_tensor scale = stored(c, RG_SHAPE(32, 1, 1), 4), shift = stored(c, RG_SHAPE(32, 1, 1), 5);
    kernels(RG_TENSORS(rg_relu(rg_conv2d(x, w, .bias = b))), 1, 0, "conv + bias + relu");
    rg_tensor y = rg_conv2d(x, w, .bias = b);
    rg_tensor mean = rg_mean(y, RG_AXES(0, 2, 3), .keep = true),
              var = rg_var(y, RG_AXES(0, 2, 3), .keep = true, .population = true);
    rg_tensor norm = rg_mul(rg_sub(y, mean), rg_rsqrt(rg_add(var, 1e-5)));
    rg_tensor out = rg_relu(rg_add(rg_mul(norm, scale), shift));
    double once = 512.0 * 32 * 24 * 24 * 4;
    kernels(RG_TENSORS(out), 3, once + 1e6, "conv + batchnorm + relu");
    kernels(RG_TENSORS(out, mean, var), 3, once + 1e6, "conv + batchnorm + relu, and the statistics");
    kernels(RG_TENSORS(rg_max_pool2d(out, RG_SHAPE(2))), 3, once + 1e6, "conv + batchnorm + relu + max");
    rg_close(c);
}

/* A new element has a few old ones, and an old one goes into a few new ones: no sum over an axis. */
TEST(conv_resizing_is_by_bands) {
    rg_ctx *c = rg_open("NULL");
    static float zero[4 * 3 * 201 * 170];
    rg_tensor x = rg_from(c, RG_F32, zero, RG_SHAPE(4, 3, 130, 170)), g, y[4],
              seed = rg_from(c, RG_F32, zero, RG_SHAPE(4, 3, 201, 77));
    y[0] = rg_interpolate(x, RG_SHAPE(201, 77), .mode = RG_RESIZE_NEAREST);
    y[1] = rg_interpolate(x, RG_SHAPE(201, 77), .mode = RG_RESIZE_LINEAR);
    y[2] = rg_interpolate(x, RG_SHAPE(201, 77), .mode = RG_RESIZE_LINEAR, .align_corners = true);
    y[3] = rg_adaptive_avg_pool2d(x, 201, 77);
    for (size_t i = 0; i < RG_COUNT(y); i++) {
        rg_plan_stats s;
        CHECK_EQ(rg_grad(y[i], RG_TENSORS(x), &g, .seed = seed), 0);
        CHECK_EQ(rg_schedule_stats(RG_TENSORS(y[i], g), &s), 0);
        double each = s.ops / (double)(rg_size(x) + rg_size(y[i]));
        if (each > 120) FAIL("%zu: %g operations an element", i, each);
    }
    rg_close(c);
}

/* ---- errors --------------------------------------------------------------------------------------------------------- */

TEST(conv_errors_name_axis_and_shapes) {
    rg_ctx *c = rg_open("NULL");
    rg_tensor x = rg_zeros(c, RG_F32, RG_SHAPE(2, 3, 4, 8)), w = rg_zeros(c, RG_F32, RG_SHAPE(4, 3, 5, 5)),
              bad = rg_zeros(c, RG_F32, RG_SHAPE(4, 2, 3, 3)), ok = rg_zeros(c, RG_F32, RG_SHAPE(4, 3, 3, 3));
#define SAYS(call, ...)                                                                      \
    do {                                                                                     \
        (void)(call);                                                                        \
        CHECK_EQ(rg_status_of(c), RG_EINVAL);                                                \
        static const char *const part[] = {__VA_ARGS__};                                     \
        for (size_t i = 0; i < RG_COUNT(part); i++)                                          \
            if (!strstr(rg_error(c), part[i])) FAIL("no '%s' in: %s", part[i], rg_error(c)); \
        rg_clear_error(c);                                                                   \
    } while (0)
    SAYS(rg_conv2d(x, w), "rg_conv2d", "axis 2", "(2, 3, 4, 8)", "(4, 3, 5, 5)", "4 elements", "covers 5");
    SAYS(rg_conv2d(x, bad), "(2, 3, 4, 8)", "3 channels", "(4, 2, 3, 3)", "axis 1");
    SAYS(rg_conv2d(x, ok, .groups = 2), "2 groups", "takes 6");
    SAYS(rg_conv2d(x, ok, .bias = rg_zeros(c, RG_F32, RG_SHAPE(3))), "bias", "(3)", "(4)");
    SAYS(rg_conv2d(x, ok, .groups = INT64_MAX), "groups", "channels");
    SAYS(rg_conv1d(rg_zeros(c, RG_F32, RG_SHAPE(1, 1, (int64_t)1 << 40)),
                   rg_zeros(c, RG_F32, RG_SHAPE(1, 1, 3))),
         "2^31");
    SAYS(rg_conv1d(x, ok), "3 axes", "(N, C, L)", "(2, 3, 4, 8)");
    SAYS(rg_conv2d(x, ok, .padding = RG_INTS(1, 2, 3)), "padding", "(1, 2, 3)", "before and after");
    SAYS(rg_conv2d(x, ok, .dilation = RG_INTS(0)), "dilation 0");
    SAYS(rg_conv_transpose2d(x, rg_zeros(c, RG_F32, RG_SHAPE(4, 3, 3, 3))), "3 channels", "takes 4",
         "axis 0");
    SAYS(rg_max_pool2d(x, RG_SHAPE(5)), "5 elements", "axis 2", "(2, 3, 4, 8)");
    SAYS(rg_max_pool2d(x, RG_SHAPE(2), .padding = RG_INTS(2)), "padding 2", "half");
    SAYS(rg_max_pool2d(x), "size");
    SAYS(rg_interpolate(x, RG_SHAPE(3)), "(2, 3, 4, 8)", "2 axes");
    SAYS(rg_pad_with(x, RG_INTS(0, 0, 0, 0, 4, 0), RG_PAD_REFLECT), "axis 2", "(4, 0)", "3");
    SAYS(rg_unfold(x, 2, 5, 1), "5 elements", "axis 2", "(2, 3, 4, 8)");
#undef SAYS
    rg_close(c);
}
