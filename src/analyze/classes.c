/* classes.c: tables of kernels, operators, lines and classes, with the roofline of each kernel.
 *
 * Launches of one kernel with one geometry from one operator with one set of shapes make a row. FLOPs
 * and bytes come from the file if it has them (XLA), else from the operator's shapes; a row whose
 * launches lost their operator borrows the numbers of a row with the same kernel and geometry.
 * Without numbers the class of the name says which roof it leans on, and `modelled` stays false.
 * Tests: tests/unit/analyze.c */
#include "analyze/shapes.h"

#include <stdlib.h>

static const char *const class_texts[] = {
#define X(name, text) text,
    CLASS_TABLE(X)
#undef X
};
const char *class_text(int c) { return c >= 0 && c < KC_CLASSES ? class_texts[c] : "?"; }
const char *bound_text(int b) {
    static const char *const t[] = {"unknown", "compute", "memory", "latency", "inefficient"};
    return b >= 0 && b < 5 ? t[b] : "?";
}

/* ---- the class of a kernel -------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
    const char *text;
    uint8_t cls;
} names[] = {
    /*  part of the name, lower case      class   (the first that occurs wins) */
    {"nccl", KC_COMM},                   {"rccl", KC_COMM},
    {"igemm_fwd", KC_CONV},              {"igemm_bwd", KC_CONV},
    {"igemm_wrw", KC_CONV},              {"grouped_conv", KC_CONV},
    {"sp3asmconv", KC_CONV},             {"naive_conv", KC_CONV},
    {"sage_fwd", KC_ATTENTION},          {"rotary", KC_ELEMENTWISE},
    {"act_and_mul", KC_ELEMENTWISE},     {"nchwtonhwc", KC_LAYOUT},
    {"nhwctonchw", KC_LAYOUT},           {"transpose", KC_LAYOUT},
    {"permute", KC_LAYOUT},              {"splitkreduce", KC_REDUCE},
    {"reducesplitk", KC_REDUCE},         {"split_k_reduce", KC_REDUCE},
    {"flash", KC_ATTENTION},             {"fmha", KC_ATTENTION},
    {"attention", KC_ATTENTION},         {"attn", KC_ATTENTION},
    {"sdpa", KC_ATTENTION},              {"layer_norm", KC_NORM},
    {"layernorm", KC_NORM},              {"batch_norm", KC_NORM},
    {"batchnorm", KC_NORM},              {"bn_fw", KC_NORM},
    {"bn_bw", KC_NORM},                  {"rms_norm", KC_NORM},
    {"rmsnorm", KC_NORM},                {"group_norm", KC_NORM},
    {"groupnorm", KC_NORM},              {"softmax", KC_NORM},
    {"fprop", KC_CONV},                  {"dgrad", KC_CONV},
    {"wgrad", KC_CONV},                  {"winograd", KC_CONV},
    {"implicit_gemm", KC_CONV},          {"implicitgemm", KC_CONV},
    {"fft2d", KC_OTHER},                  {"conv_depthwise", KC_CONV},
    {"convolve", KC_CONV},               {"conv2d", KC_CONV},
    {"direct_copy", KC_COPY},            {"catarray", KC_COPY},
    {"elementwise", KC_ELEMENTWISE},     {"triton_poi", KC_ELEMENTWISE},
    {"triton_red", KC_REDUCE},           {"triton_per", KC_NORM},
    {"multi_tensor", KC_ELEMENTWISE},    {"fused_adam", KC_ELEMENTWISE},
    {"nvjet", KC_GEMM},                  {"gemm", KC_GEMM},
    {"gemv", KC_GEMM},                   {"cutlass", KC_GEMM},
    {"xmma", KC_GEMM},                   {"cijk_", KC_GEMM},
    {"cublas", KC_GEMM},                 {"triton_tem", KC_GEMM},
    {"matmul", KC_GEMM},                 {"_dot", KC_GEMM},
    {"reduce", KC_REDUCE},               {"cumsum", KC_REDUCE},
    {"scan", KC_REDUCE},                 {"topk", KC_REDUCE},
    {"sort", KC_REDUCE},                 {"argmax", KC_REDUCE},
    {"pool", KC_REDUCE},                 {"memcpy", KC_COPY},
    {"copy", KC_COPY},                   {"loop_", KC_ELEMENTWISE},
    {"fusion", KC_ELEMENTWISE},          {"wrapped_", KC_ELEMENTWISE},
    {"distribution", KC_ELEMENTWISE},    {"dropout", KC_ELEMENTWISE},
    {"gather", KC_ELEMENTWISE},          {"index", KC_ELEMENTWISE},
    {"scatter", KC_ELEMENTWISE},         {"fill", KC_ELEMENTWISE},
    {"functor", KC_ELEMENTWISE},         {"kernel_impl", KC_ELEMENTWISE},
};
/* clang-format on */

int kernel_class_of(const char *name, const char *op) {
    char low[400];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof low; n++)
        low[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] + 32) : name[n];
    low[n] = 0;
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        if (!strstr(low, names[i].text)) continue;
        /* A strided copy made to change a layout is the layout's cost. */
        if (names[i].cls == KC_COPY && op && (strstr(op, "contiguous") || strstr(op, "channels_last")))
            return KC_LAYOUT;
        return names[i].cls;
    }
    return KC_OTHER;
}

/* Ridge names its kernels E_ (elementwise) and r_ (reduce); what they compute, its functions say. */
static int ridge_class(const char *name, const char *op) {
    static const struct {
        const char *op;
        uint8_t cls;
    } of[] = {{"conv", KC_CONV},      {"matmul", KC_GEMM},  {"linear", KC_GEMM},
              {"einsum", KC_GEMM},    {"dot", KC_GEMM},     {"attention", KC_ATTENTION},
              {"norm", KC_NORM},      {"softmax", KC_NORM}, {"cross_entropy", KC_NORM},
              {"contiguous", KC_COPY}};
    bool reduce = name[0] == 'r' && name[1] == '_';
    for (size_t i = 0; i < RG_COUNT(of); i++)
        if (strstr(op, of[i].op) && (reduce || of[i].cls == KC_COPY)) return of[i].cls;
    return reduce ? KC_REDUCE : name[0] == 'E' && name[1] == '_' ? KC_ELEMENTWISE : KC_OTHER;
}

/* Which arithmetic unit: by the element type, refined by the kernel's name. */
static int unit_of(const char *name, char type) {
    bool tf = strstr(name, "tf32") || strstr(name, "s168") || strstr(name, "tfloat32");
    if (type == 'd') return GPU_F64;
    if (type == '8') return GPU_F8;
    if (type == 'h') return GPU_F16;
    if (type == 'f') return tf ? GPU_TF32 : GPU_F32;
    if (strstr(name, "e4m3") || strstr(name, "fp8")) return GPU_F8;
    if (tf && !strstr(name, "f16")) return GPU_TF32;
    if (strstr(name, "sgemm") || strstr(name, "ffma") || strstr(name, "simt")) return GPU_F32;
    if (strstr(name, "dgemm")) return GPU_F64;
    if (strstr(name, "nvjet") || strstr(name, "f16") || strstr(name, "h884") || strstr(name, "h168") ||
        strstr(name, "hgemm"))
        return GPU_F16;
    return GPU_F32;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

struct class_rows {
    struct diag *d;
    struct trace *t;
    struct map kernels, ops, lines;
};

static struct line_row *line_row(struct class_rows *r, uint32_t where) {
    struct diag *d = r->d;
    uint64_t i;
    if (!map_get(&r->lines, where, &i)) {
        i = d->lines.n;
        vec_push(&d->arena, &d->lines, ((struct line_row){.where = where}));
        map_put(&r->lines, where, i);
    }
    return &d->lines.p[i];
}
static struct op_row *op_row(struct class_rows *r, uint32_t name) {
    struct diag *d = r->d;
    uint64_t i;
    if (!map_get(&r->ops, name, &i)) {
        i = d->ops.n;
        vec_push(&d->arena, &d->ops, ((struct op_row){.name = name}));
        map_put(&r->ops, name, i);
    }
    return &d->ops.p[i];
}

/* The innermost operator around a launch that has shapes; wrappers such as aten::contiguous count
 * for the class. */
static uint32_t shaped_op(const struct trace *t, uint32_t x) {
    for (int k = 0; x && k < 6; x = t->ev[x - 1].link, k++)
        if (t->ev[x - 1].kind == TK_OP && t->ev[x - 1].args) return x;
    return 0;
}
static const char *wrapper(const struct trace *t, uint32_t x) {
    for (int k = 0; x && k < 8; x = t->ev[x - 1].link, k++) {
        const char *s = trace_str(t, t->ev[x - 1].name);
        if (t->ev[x - 1].kind == TK_OP && strstr(s, "contiguous")) return s;
    }
    return NULL;
}

/* A Ridge profile says itself where a kernel comes from. */
static void take_ridge(const struct trace *t, const struct trace_event *e, struct kernel_row *row) {
    const struct trace_kernel_args *a = trace_blob(t, e->args, sizeof *a);
    if (t->format != TRACE_RIDGE) return;
    row->op = a ? a->op : 0;
    row->where = a ? a->where : 0;
    row->module = a ? a->module : 0;
    row->limit = a ? a->limit : 0;
    row->shape = a ? a->shapes : 0;
    row->cls = (uint8_t)ridge_class(trace_str(t, e->name), trace_str(t, row->op));
}

static uint32_t add_kernel(struct class_rows *r, const struct trace_event *e) {
    struct diag *d = r->d;
    struct trace *t = r->t;
    uint32_t op = e->aux ? shaped_op(t, e->aux) : 0;
    if (!op) op = e->aux;
    uint32_t op_name = op ? t->ev[op - 1].name : 0, shape = op ? t->ev[op - 1].args : 0;
    bool graph = e->flags & TF_GRAPH;
    if (graph) op_name = shape = 0;
    uint32_t key[4] = {e->name, e->args, op_name, shape};
    uint64_t h = hash_bytes(key, sizeof key, 1), i;
    if (!map_get(&r->kernels, h, &i)) {
        i = d->kernels.n;
        struct kernel_row row = {.id = (uint32_t)i,
                                 .name = e->name,
                                 .op = op_name,
                                 .shape = shape,
                                 .args = e->args,
                                 .min_ns = INT64_MAX};
        row.cls = (uint8_t)kernel_class_of(trace_str(t, e->name), op ? wrapper(t, op) : NULL);
        if (e->kind == TK_COMM) row.cls = KC_COMM;
        row.where = e->link && !graph ? user_line(d, e->link) : 0;
        take_ridge(t, e, &row);
        vec_push(&d->arena, &d->kernels, row);
        map_put(&r->kernels, h, i);
    }
    struct kernel_row *k = &d->kernels.p[i];
    k->count++;
    k->ns += e->dur;
    k->min_ns = RG_MIN(k->min_ns, e->dur);
    k->max_ns = RG_MAX(k->max_ns, e->dur);
    k->graph += graph;
    k->unlinked += !!(e->flags & TF_NOLAUNCH);
    return (uint32_t)i;
}

/* ---- the roofline ------------------------------------------------------------------------------------ */

/* Blocks of a grid or threads of a block. What a file makes up is cut at 2^40, more than any GPU takes, so that
 * nothing computed from it overflows. */
static int64_t volume(const uint32_t n[3]) {
    const int64_t most = (int64_t)1 << 40;
    int64_t v = 1;
    for (int i = 0; i < 3; i++) {
        if (v > most / RG_MAX(n[i], 1u)) return most;
        v *= RG_MAX(n[i], 1u);
    }
    return v;
}

static void cost_of(struct diag *d, struct kernel_row *k) {
    struct trace *t = d->t;
    const struct trace_kernel_args *a = trace_blob(t, k->args, sizeof *a);
    const char *name = trace_str(t, k->name);
    char type = 0;
    if (a && a->known & 4 && (a->flops || a->bytes)) {
        k->flops = (double)a->flops;
        k->bytes = (double)a->bytes;
        k->modelled = true;
        k->m = a->m, k->n = a->n, k->k = a->k, k->batch = a->batch;
        type = (char)a->type;
    } else if (k->shape && !k->wrapper) {
        struct op_shapes s;
        shapes_parse(trace_str(t, k->shape), trace_str_len(t, k->shape), &s);
        struct op_cost c = op_cost(trace_str(t, k->op), k->cls, &s);
        if (k->cls == KC_COPY && shapes_mixed(&s)) k->cls = KC_LAYOUT; /* permute, then reshape */
        k->flops = c.flops;
        k->bytes = c.bytes, k->same = c.same;
        k->m = c.m, k->n = c.n, k->k = c.k, k->batch = c.batch;
        k->modelled = c.known;
        type = c.type;
    }
    k->unit = (uint8_t)unit_of(name, type);
    bool matrix = k->cls == KC_GEMM || k->cls == KC_CONV || k->cls == KC_ATTENTION;
    if (!matrix) k->unit = type == 'd' ? GPU_F64 : GPU_F32;
    if (a && a->known & 1 && d->gpu && d->gpu->max_threads_sm && a->known & 2) {
        int64_t threads = volume(a->block);
        if (a->block[0] && threads <= 1024 && d->gpu->cc) {
            k->occ =
                gpu_occupancy(d->gpu, volume(a->grid), (int)threads, (int)RG_MIN(a->regs, 255u), a->smem);
            k->has_occ = true;
        }
    }
}

static void judge(struct diag *d, struct kernel_row *k) {
    double t = k->count ? (double)k->ns / k->count * 1e-9 : 0;
    const struct gpu_spec *g = d->gpu;
    if (k->modelled && g && t > 0) {
        double peak = g->peak[k->unit] * 1e12, bw = g->bw * 1e9;
        k->compute = peak ? k->flops / (peak * t) : 0;
        k->memory = bw ? k->bytes / (bw * t) : 0;
        if (k->memory > 1.05 && k->same > 0) { /* x * x reads x once */
            k->bytes -= k->same, k->same = 0;
            k->memory = bw ? k->bytes / (bw * t) : 0;
        }
        /* Faster than the hardware: the data stayed in the cache, or the formula does not apply. */
        if (k->compute > 1.05 || k->memory > 1.05) k->modelled = false, k->compute = k->memory = 0;
        k->roof = RG_MAX(k->compute, k->memory);
    }
    int64_t grid = INT64_MAX;
    const struct trace_kernel_args *a = trace_blob(d->t, k->args, sizeof *a);
    if (a && a->known & 8 && t > 0) { /* the machine model judged it when it was planned */
        ridge_judge(d, k, a);
        return;
    }
    if (a && a->known & TRACE_MEASURED) { /* counters say it */
        k->compute = (double)a->issued / 1e5, k->memory = (double)a->moved / 1e5;
        k->roof = RG_MAX(k->compute, k->memory);
        k->modelled = true;
    }
    if (a && a->known & 1) grid = volume(a->grid);
    bool tiny = t < 5e-6 || (g && grid < g->sms / 2 && t < 20e-6);
    if (k->modelled && k->roof >= 0.3)
        k->bound = k->compute >= k->memory ? BOUND_COMPUTE : BOUND_MEMORY;
    else if (tiny)
        k->bound = BOUND_LATENCY;
    else if (k->modelled && g)
        k->bound = BOUND_INEFFICIENT;
    else if (k->cls <= KC_ATTENTION)
        k->bound = BOUND_COMPUTE;
    else if (k->cls <= KC_COPY)
        k->bound = BOUND_MEMORY;
    else
        k->bound = BOUND_UNKNOWN;
}

/* Rows that lost their operator take the numbers of the same kernel with the same geometry. */
static void borrow(struct diag *d) {
    struct map m;
    struct arena_mark mark = arena_mark(&d->arena);
    map_init(&m, &d->arena);
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        uint64_t key = (uint64_t)k->name << 32 | k->args;
        if (k->modelled && !map_get(&m, key, NULL)) map_put(&m, key, i);
    }
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        struct kernel_row *k = &d->kernels.p[i];
        uint64_t from;
        if (k->modelled || k->graph || !k->unlinked) continue;
        if (!map_get(&m, (uint64_t)k->name << 32 | k->args, &from)) continue;
        const struct kernel_row *o = &d->kernels.p[from];
        k->flops = o->flops, k->bytes = o->bytes, k->same = o->same, k->unit = o->unit;
        k->m = o->m, k->n = o->n, k->k = o->k, k->batch = o->batch;
        k->op = o->op, k->shape = o->shape, k->cls = o->cls, k->where = o->where;
        k->modelled = true;
    }
    arena_release(&d->arena, mark);
}

/* ---- operators and lines ------------------------------------------------------------------------------ */

static uint32_t op_above(const struct trace *t, uint32_t x) {
    for (uint32_t k = 0; x && k < 64; x = t->ev[x - 1].link, k++)
        if (t->ev[x - 1].kind == TK_OP) return x;
    return 0;
}

static void tally_host(struct class_rows *r) {
    struct diag *d = r->d;
    struct trace *t = r->t;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        if (e->kind != TK_OP) continue;
        struct op_row *o = op_row(r, e->name);
        o->count++;
        o->self_ns += e->dur;
        uint32_t up = op_above(t, e->link);
        if (up) op_row(r, t->ev[up - 1].name)->self_ns -= e->dur;
        /* Nested calls of one name (aten::sum in aten::sum) would count twice. */
        if (!up || t->ev[up - 1].name != e->name) op_row(r, e->name)->host_ns += e->dur;
    }
    for (uint32_t i = 0; i < d->ops.n && d->cpu; i++) d->ops.p[i].device_ns = d->ops.p[i].self_ns;
    for (uint32_t i = 0; i < d->idle_n; i++) {
        const struct idle_piece *p = &d->idle[i];
        if (!p->ev) continue;
        uint32_t op = op_above(t, p->ev);
        if (op) op_row(r, t->ev[op - 1].name)->idle_ns += p->t1 - p->t0;
        uint32_t line = user_line(d, p->ev);
        if (line) {
            struct line_row *l = line_row(r, line);
            l->idle_ns += p->t1 - p->t0;
        }
    }
}

static int by_ns(const void *x, const void *y) {
    const struct kernel_row *a = x, *b = y;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}
static int op_order(const void *x, const void *y) {
    const struct op_row *a = x, *b = y;
    int64_t p = a->device_ns + a->idle_ns, q = b->device_ns + b->idle_ns;
    if (p != q) return p > q ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}
static int line_order(const void *x, const void *y) {
    const struct line_row *a = x, *b = y;
    int64_t p = a->device_ns + a->idle_ns, q = b->device_ns + b->idle_ns;
    if (p != q) return p > q ? -1 : 1;
    return a->where < b->where ? -1 : a->where > b->where;
}

static void tally_classes(struct diag *d) {
    int64_t known = 0, all = 0;
    double roof = 0;
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        struct class_row *c = &d->classes[k->cls];
        c->count += k->count;
        c->ns += k->ns;
        if (k->modelled) {
            c->flops += k->flops * k->count;
            c->bytes += k->bytes * k->count;
            c->modelled_ns += k->ns;
            known += k->ns;
            roof += k->roof * (double)k->ns;
        }
        all += k->ns;
        d->bound_ns[k->bound] += k->ns;
    }
    d->modelled = all ? (double)known / (double)all : 0;
    d->roof = known ? roof / (double)known : 0;
    const struct class_row *g = &d->classes[KC_GEMM];
    double base = g->modelled_ns ? g->flops / (double)g->modelled_ns : 0;
    for (int i = 0; i < KC_CLASSES; i++) {
        struct class_row *c = &d->classes[i];
        if (base > 0 && c->modelled_ns) c->rate = c->flops / (double)c->modelled_ns / base;
    }
}

static void know_device(struct diag *d) {
    struct trace *t = d->t;
    const struct trace_device *x = NULL;
    if (d->device >= 0 && (uint32_t)d->device < t->devices.n)
        x = &t->devices.p[d->device];
    else if (t->devices.n)
        x = &t->devices.p[0];
    static const struct trace_device none;
    if (d->cpu || (!x && !*t->device_hint)) return; /* a GPU that was not used has no roof for operators */
    if (!x) x = &none;
    snprintf(d->device_name, sizeof d->device_name, "%s", *x->name ? x->name : t->device_hint);
    const struct gpu_spec *g = gpu_spec_find(d->device_name);
    if (g)
        d->gpu_made = *g;
    else
        d->gpu_made = (struct gpu_spec){.name = d->device_name};
    struct gpu_spec *m = &d->gpu_made;
    if (x->cc) m->cc = x->cc;
    if (x->sms) m->sms = x->sms;
    if (x->max_threads_sm) m->max_threads_sm = x->max_threads_sm;
    if (x->regs_sm) m->regs_sm = x->regs_sm;
    if (x->smem_sm) m->smem_sm = x->smem_sm;
    if (!g && x->peak_bw > 0) m->bw = x->peak_bw * 1e-9;
    d->mem_capacity = x->memory;
    d->gpu = m;
}

static void sort_kernels(struct diag *d) {
    if (!d->kernels.n) return;
    qsort(d->kernels.p, d->kernels.n, sizeof *d->kernels.p, by_ns);
    uint32_t *at = arena_raw(&d->arena, d->kernels.n * sizeof *at);
    for (uint32_t i = 0; i < d->kernels.n; i++) at[d->kernels.p[i].id] = i;
    for (uint32_t i = 0; i < d->dev_n; i++)
        if (d->dev_row[i] != UINT32_MAX) d->dev_row[i] = at[d->dev_row[i]];
    for (uint32_t i = 0; i < d->t->n && d->op_row; i++)
        if (d->op_row[i]) d->op_row[i] = at[d->op_row[i] - 1] + 1;
}

void diag_classes(struct diag *d) {
    struct class_rows r = {.d = d, .t = d->t};
    map_init(&r.kernels, &d->arena);
    map_init(&r.ops, &d->arena);
    map_init(&r.lines, &d->arena);
    know_device(d);
    struct device_list l = {0};
    if (d->device >= 0) l = device_events(d, d->device);
    d->dev = l.p;
    d->dev_n = l.n;
    d->dev_row = arena_raw(&d->arena, (size_t)(l.n + 1) * sizeof *d->dev_row);
    for (uint32_t i = 0; i < l.n; i++) {
        const struct trace_event *e = &d->t->ev[l.p[i]];
        bool kernel = e->kind == TK_KERNEL || e->kind == TK_COMM;
        d->dev_row[i] = kernel ? add_kernel(&r, e) : UINT32_MAX;
        if (e->aux && !(e->flags & TF_GRAPH)) op_row(&r, d->t->ev[e->aux - 1].name)->device_ns += e->dur;
    }
    if (d->cpu) cpu_rows(d);
    for (uint32_t i = 0; i < d->kernels.n; i++) {
        struct kernel_row *k = &d->kernels.p[i];
        cost_of(d, k);
        if (k->where) { /* of an operator without a device: its own time */
            struct line_row *x = line_row(&r, k->where);
            x->device_ns += k->ns;
            x->count += k->count;
        }
    }
    borrow(d);
    for (uint32_t i = 0; i < d->kernels.n; i++) judge(d, &d->kernels.p[i]);
    tally_host(&r);
    tally_classes(d);
    sort_kernels(d);
    if (d->ops.n) qsort(d->ops.p, d->ops.n, sizeof *d->ops.p, op_order);
    if (d->lines.n) qsort(d->lines.p, d->lines.n, sizeof *d->lines.p, line_order);
}
