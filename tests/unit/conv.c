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
TEST_SLOW(conv_values_cpu, 600) { run_file("CPU", 1); }
