/* builtin_node.c: a CALL in the schedule: no kernel is generated, the device has a builtin one.
 *
 * plan_graph.c has made sure that its sources are row-major in memory and its result is stored, plan.c that it is a region
 * of its own. Here it gets its buffers (the result, then the sources), the numbers that the builtin kernel takes,
 * and a price. The CALL over BUFFERs replaces a kernel's SINK: equal text, equal call, as for kernels.
 * Tests: tests/unit/call.c */
#include <math.h>

#include "schedule/internal.h"

/* RESHAPE does not move elements. */
const uop *plan_operand(struct sgraph *g, const uop *n) {
    while (n->op == OP_RESHAPE && !g->unit_of[n->id]) n = n->src[0];
    if (op_is_movement((enum op)n->op) && !g->unit_of[n->id])
        err_throw(g->ir->err, RG_EINTERNAL, "schedule: a builtin kernel reads a %s that is not in memory",
                  op_info[n->op].name);
    return sg_memory(g, n);
}

/* Scalar instructions per comparison or move, relative to the vector rate of the machine model. */
enum { BUILTIN_OP_WEIGHT = 16 };

/* Comparisons and moves, estimated. */
static double ops_of(enum call_id id, double rows, double n, double k) {
    switch (id) {
    case CALL_sort:
    case CALL_argsort: return rows * n * RG_MAX(1, ceil(log2(RG_MAX(n, 1))));
    case CALL_topk:
    case CALL_topk_index: return rows * (n + k * RG_MAX(1, ceil(log2(RG_MAX(k, 1)))));
    default: return rows * (n + k);
    }
}

/* Its rows are blocks of columns. */
static void count_columns(struct sched_builtin *b, int64_t bytes) {
    struct sorted_columns c = columns_unpack(b->num[2]);
    double width = (double)c.width;
    b->ops = ops_of(CALL_topk, (double)b->rows * width, (double)b->num[0] / width, (double)b->num[1] / width);
    b->rows *= (c.width * bytes + 64 * c.lines - 1) / (64 * c.lines);
}

/* Threads share a row of a CPU's scatter by the elements that an index names: a line of each or more. */
static void share_rows(struct sched_builtin *b, int64_t bytes) {
    struct scatter_how how = scatter_unpack(b->num[2]);
    int64_t blocks = RG_MAX(RG_MIN(how.width * bytes / 64, SCATTER_BLOCKS), 1);
    how.blocks = (int)blocks - 1;
    b->num[2] = scatter_pack(how);
    b->rows *= blocks;
}

static void numbers_of(struct sgraph *g, const uop *n, struct sched_builtin *b) {
    enum call_id id = call_of(g->ir, n);
    const struct call_info *f = &call_info[id];
    const struct shape *out = sg_shape(g, n), *in = sg_shape(g, n->src[0]),
                       *given = sg_shape(g, n->src[f->values - 1]);
    b->name = f->name;
    b->rows = 1;
    for (uint32_t i = 0; i + 1 < out->n; i++) b->rows *= out->d[i];
    b->num[0] = (f->values > 1 ? given : in)->d[in->n - 1];
    b->num[1] = out->d[out->n - 1];
    b->num[2] = uop_const_i(g->ir, n, f->values);
    if (id == CALL_collective) b->num[0] = in->d[0];
    b->ops = ops_of(id, (double)b->rows, (double)b->num[0], (double)b->num[1]);
    if ((id == CALL_scatter_max || id == CALL_scatter_min) && !g->opts->gpu)
        share_rows(b, dtype_info[n->dt].bytes);
    if (id == CALL_columns) count_columns(b, dtype_info[n->src[0]->dt].bytes);
}

static const uop *buffer(struct sgraph *g, struct ir *ir, const uop *n, uint32_t slot) {
    const struct shape *s = sg_shape(g, n);
    const uop *dim[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) dim[i] = uop_idx(ir, s->d[i]);
    return uop_new(ir, OP_BUFFER, (enum dtype)n->dt, 1, dim, s->n, ARG_INT(slot));
}

static double bytes_of(struct sgraph *g, const uop *n) {
    return (double)shape_size(sg_shape(g, n)) * dtype_info[n->dt].bytes;
}

static struct kernel_price price(struct sgraph *g, const uop *n, const struct sched_builtin *b,
                                 uint32_t values) {
    const struct model *m = sg_machine(g);
    struct kernel_price p = {.bytes = bytes_of(g, n), .reads = values, .writes = 1};
    struct model_work w = {.integer = b->ops * BUILTIN_OP_WEIGHT, .dram_write = p.bytes};
    if (!strcmp(b->name, call_info[CALL_collective].name))
        values = 1; /* of the one before only the order matters */
    for (uint32_t i = 0; i < values; i++) p.bytes += bytes_of(g, n->src[i]);
    w.dram_read = p.bytes - w.dram_write;
    double grid =
        g->opts->gpu ? INFINITY : (double)b->rows; /* a GPU's builtins share rows among all its threads */
    w.threads = (int)RG_MIN(model_value(m, MODEL_CORES), RG_MAX(grid, 1));
    struct model_time t = model_time(m, &w);
    p.seconds = t.seconds, p.limit = t.limit;
    return p;
}

static const char *call_name_of(struct sgraph *g, const struct call_info *f,
                                const struct sched_builtin *call) {
    static const char *const kind[COLLECTIVE_KINDS] = {
#define X(name) #name,
        COLLECTIVES(X)
#undef X
    };
    if (f == &call_info[CALL_collective])
        return arena_printf(g->a, "%s_%lld", kind[collective_unpack(call->num[2]).kind],
                            (long long)RG_MAX(call->num[0], call->num[1]));
    return arena_printf(g->a, "%s_%lld_%lld", f->name, (long long)call->rows, (long long)call->num[0]);
}

void plan_call(struct sgraph *g, uint32_t unit, struct fusion_plan *plan) {
    const uop *n = g->unit[unit].n, *src[SHAPE_MAX];
    const struct call_info *f = &call_info[call_of(g->ir, n)];
    struct built *b = arena_new(g->a, struct built);
    struct sched_builtin *call = arena_new(g->a, struct sched_builtin);
    struct ir *ir = b->ir = arena_new(g->a, struct ir);
    uint32_t *u = arena_array(g->a, uint32_t, 1);
    struct str text;
    ir_init(ir, g->a);
    numbers_of(g, n, call);
    b->buffer = arena_array(g->a, const uop *, (size_t)f->values + 1);
    b->buffer[b->nbuf++] = sg_memory(g, n);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        src[i] = i < f->values ? buffer(g, ir, n->src[i], i + 1) : uop_idx(ir, uop_const_i(g->ir, n, i));
        if (i < f->values) b->buffer[b->nbuf++] = plan_operand(g, n->src[i]);
    }
    union arg arg = {.u = ir_sym(ir, f->name, strlen(f->name))};
    b->sink = uop_new(ir, OP_CALL, (enum dtype)n->dt, 1, src, n->nsrc, arg);
    b->name = call_name_of(g, f, call);
    b->builtin = call;
    str_init(&text, g->a);
    ir_print(&text, ir, b->sink);
    b->text = text.p;
    b->key = hash_bytes(text.p, text.n, 1);
    *u = unit;
    struct planned_kernel k = {
        .unit = u, .n = 1, .built = b, .buffer = b->buffer, .price = price(g, n, call, f->values)};
    vec_push(g->a, &plan->kernel, k);
    plan->stored[unit] = 1;
    plan->seconds += k.price.seconds, plan->store_all += k.price.seconds, plan->fuse_all += k.price.seconds;
}
