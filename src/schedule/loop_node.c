/* loop_node.c: a CALL `loop` in the schedule (struct loop_call, ir.h): the body is planned as a program of its own, once, and the calls of
 * that plan are written once for each step, with other slices of the loop's operands and result.
 *
 * So a loop of any length has the kernels of one step, and costs a record per call beyond them; everything after the planner (opts,
 * lowering, compiling, captures, profiles) sees calls like any others. Temporaries of the body are one block that all steps share.
 * In the programs planned here each next state is an ASSIGN to a BUFFER whose number follows those of the operands.
 * Tests: tests/unit/loop.c */
#include "schedule/internal.h"

/* ---- planning ------------------------------------------------------------------------------------------------------- */

static const uop *assign_to(struct ir *ir, const struct shape *s, const uop *value, uint32_t number) {
    const uop *dim[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) dim[i] = uop_idx(ir, s->d[i]);
    const uop *to = uop_new(ir, OP_BUFFER, (enum dtype)value->dt, 1, dim, s->n, ARG_INT(number));
    return uop_mk(ir, OP_ASSIGN, (const uop *[]){to, value}, 2, ARG_NONE);
}

/* What the body computes, without its GRAPH, reading what is kept of a step (states that no step reads) where it is left. Else it would be
 * stored for a contraction, and then copied. */
static void read_where_kept(struct sgraph *g, struct loop_call *l, const uop **root) {
    const uop **to = arena_array(g->a, const uop *, l->ir->n),
              **kept = arena_array(g->a, const uop *, l->ir->n);
    uop_vec topo = {0};
    uop_topo(g->a, l->graph->src, l->states, &topo);
    for (uint32_t i = 0; i < l->states; i++)
        if (!l->leaf[i] && !kept[l->graph->src[i]->id]) kept[l->graph->src[i]->id] = root[i]->src[0];
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(g->a, const uop *, n->nsrc + 1);
        for (uint32_t k = 0; k < n->nsrc; k++) src[k] = to[n->src[k]->id];
        to[n->id] = uop_new(l->ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, n->arg);
        if (kept[n->id])
            to[n->id] = uop_mk(l->ir, OP_ASSIGN, (const uop *[]){kept[n->id], to[n->id]}, 2, ARG_NONE);
    }
    for (uint32_t i = 0; i < l->states; i++) {
        const uop *value = to[l->graph->src[i]->id];
        bool done = value->op == OP_ASSIGN && value->src[0] == root[i]->src[0];
        root[i] =
            done ? value : uop_mk(l->ir, OP_ASSIGN, (const uop *[]){root[i]->src[0], value}, 2, ARG_NONE);
    }
}

static void plan_body(struct sgraph *g, struct planned_loop *p, const struct sched_opts *o) {
    struct loop_call *l = p->l;
    const uop **root = arena_array(g->a, const uop *, l->states + 1);
    for (uint32_t i = 0; i < l->states; i++)
        root[i] = assign_to(l->ir, shape_of(&l->shapes, l->graph->src[i]), l->graph->src[i], l->values + i);
    read_where_kept(g, l, root);
    schedule(g->a, l->ir, uop_mk(l->ir, OP_GRAPH, root, l->states, ARG_NONE), o, &p->body);
}

/* What the states begin with becomes a row of the result. */
static void plan_begin(struct sgraph *g, struct planned_loop *p, const uop *call,
                       const struct sched_opts *o) {
    struct ir *ir = arena_new(g->a, struct ir);
    const uop **root = arena_array(g->a, const uop *, p->l->states + 1);
    ir_init(ir, g->a);
    for (uint32_t i = 0; i < p->l->states; i++) {
        const struct shape *s = sg_shape(g, call->src[i]);
        const uop *dim = uop_idx(ir, s->d[0]);
        const uop *from = uop_new(ir, OP_BUFFER, p->dt, 1, &dim, 1, ARG_INT(i));
        root[i] = assign_to(ir, s, from, p->l->states + i);
    }
    schedule(g->a, ir, uop_mk(ir, OP_GRAPH, root, p->l->states, ARG_NONE), o, &p->begin);
}

static const uop *memory_of(struct sgraph *g, const uop *n, int64_t *at) {
    if (!is_slice_of_memory(g, n)) return plan_operand(g, n);
    while (!g->unit_of[n->id] && !sg_is_memory(g, n)) n = slice_of(g, n, at);
    return sg_memory(g, n);
}

static struct kernel_price price_loop(const struct planned_loop *p) {
    double steps = (double)p->l->steps;
    return (struct kernel_price){.seconds = p->begin.seconds + steps * p->body.seconds,
                                 .bytes = p->begin.bytes + steps * p->body.bytes,
                                 .reads = p->l->values,
                                 .writes = 1};
}

double loop_naive_bytes(const struct planned_loop *p) {
    return p->begin.naive_bytes + (double)p->l->steps * (p->body.naive_bytes + PLAN_BYTES_CACHED);
}

void plan_loop(struct sgraph *g, uint32_t unit, struct fusion_plan *plan) {
    const uop *n = g->unit[unit].n;
    struct built *b = arena_new(g->a, struct built);
    struct planned_loop *p = arena_new(g->a, struct planned_loop);
    uint32_t *u = arena_array(g->a, uint32_t, 1);
    struct sched_opts o = *g->opts;
    o.inspect = NULL, o.temp_limit = 0;
    p->l = loop_open(g->a, &g->shapes, n);
    p->dt = (enum dtype)n->dt;
    plan_begin(g, p, n, &o);
    plan_body(g, p, &o);
    b->loop = p;
    b->buffer = arena_array(g->a, const uop *, (size_t)p->l->values + 1);
    b->buffer[b->nbuf++] = sg_memory(g, n);
    p->at = arena_array(g->a, int64_t, p->l->values + 1);
    for (uint32_t i = 0; i < p->l->values; i++) b->buffer[b->nbuf++] = memory_of(g, n->src[i], &p->at[i]);
    *u = unit;
    struct planned_kernel k = {.unit = u, .n = 1, .built = b, .buffer = b->buffer, .price = price_loop(p)};
    vec_push(g->a, &plan->kernel, k);
    plan->stored[unit] = 1;
    plan->seconds += k.price.seconds, plan->store_all += k.price.seconds, plan->fuse_all += k.price.seconds;
}

/* ---- writing the calls ------------------------------------------------------------------------------------------------ */

struct loop_calls { /* of the calls of one plan, `begin` or `body` */
    struct arena *a;
    struct schedule *out;
    const struct planned_loop *p;
    const struct schedule *from;
    const uint32_t *operand, *node;
    uint32_t nodes;
    uint32_t *prog;          /* by program of `from` */
    uint32_t scratch, table; /* the sched_buf of its temporaries, the one before its first table */
};
struct loop_slot { /* of a buffer of `from` */
    uint32_t buf;
    int64_t offset; /* bytes */
};

static uint32_t prog_of(struct loop_calls *w, const struct sched_prog *p) {
    for (uint32_t i = 0; i < w->out->prog.n && !p->builtin; i++)
        if (!w->out->prog.p[i].builtin && !strcmp(w->out->prog.p[i].text, p->text)) return i;
    vec_push(w->a, &w->out->prog, *p);
    return w->out->prog.n - 1;
}

static uint32_t add_buffer(struct loop_calls *w, struct sched_buf b) {
    b.first = UINT32_MAX, b.last = 0, b.node = UINT32_MAX;
    vec_push(w->a, &w->out->buf, b);
    return w->out->buf.n - 1;
}

/* Programs, temporaries and tables of the plan become those of the schedule around it. */
static void writer_init(struct loop_calls *w) {
    const struct schedule *s = w->from;
    w->prog = arena_array(w->a, uint32_t, s->prog.n + 1);
    for (uint32_t i = 0; i < s->prog.n; i++) w->prog[i] = prog_of(w, &s->prog.p[i]);
    if (s->temp_bytes)
        w->scratch =
            add_buffer(w, (struct sched_buf){.kind = BUF_TEMP,
                                             .dt = DT_U8,
                                             .elements = s->temp_bytes,
                                             .shape = shape_make(&w->p->l->shapes, &s->temp_bytes, 1)});
    if (!s->table_n) return;
    w->table = w->out->table_n;
    w->out->table = arena_resize(w->a, w->out->table, w->table * sizeof *s->table,
                                 (w->table + s->table_n) * sizeof *s->table);
    memcpy(w->out->table + w->table, s->table, s->table_n * sizeof *s->table);
    w->out->table_n += s->table_n;
}

static struct loop_slot state_at(const struct loop_calls *w, uint32_t state, int64_t row) {
    return (struct loop_slot){w->operand[0], loop_at(w->p->l, state, row) * dtype_info[w->p->dt].bytes};
}

/* Of BUFFER `number` of the body at time t. */
static struct loop_slot body_slot(const struct loop_calls *w, const struct sched_buf *b, int64_t t) {
    const struct loop_call *l = w->p->l;
    uint32_t k = b->number;
    if (k < l->states) return state_at(w, k, l->backwards ? t + 1 : t);
    if (k >= l->values) return state_at(w, k - l->values, l->backwards ? t : t + 1);
    bool per_step = k < l->states + l->per_step;
    int64_t row = loop_row(b->dt, b->elements) * dtype_info[b->dt].bytes;
    return (struct loop_slot){w->operand[1 + k], w->p->at[k] + (per_step ? t * row : 0)};
}

/* The same of the copies before the first step. */
static struct loop_slot begin_slot(const struct loop_calls *w, const struct sched_buf *b) {
    const struct loop_call *l = w->p->l;
    if (b->number >= l->states) return state_at(w, b->number - l->states, l->backwards ? l->steps : 0);
    return (struct loop_slot){w->operand[1 + b->number], w->p->at[b->number]};
}

static struct loop_slot slot_of(struct loop_calls *w, const struct sched_buf *b, int64_t t) {
    switch (b->kind) {
    case BUF_TEMP: return (struct loop_slot){w->scratch, b->offset};
    case BUF_TABLE: {
        struct sched_buf same = *b;
        same.number += w->table;
        for (uint32_t i = 0; i < w->out->buf.n; i++)
            if (w->out->buf.p[i].kind == BUF_TABLE && w->out->buf.p[i].number == same.number)
                return (struct loop_slot){i, 0};
        return (struct loop_slot){add_buffer(w, same), 0};
    }
    default: return w->from == &w->p->begin ? begin_slot(w, b) : body_slot(w, b, t);
    }
}

static void write_step(struct loop_calls *w, int64_t t) {
    const struct schedule *s = w->from;
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_call *c = &s->call.p[i];
        uint32_t n = s->prog.p[c->prog].nbuf, *buf = arena_array(w->a, uint32_t, n + 1);
        struct sched_slice *slice = arena_array(w->a, struct sched_slice, n + 1);
        for (uint32_t k = 0; k < n; k++) {
            const struct sched_buf *b = &s->buf.p[c->buf[k]];
            struct loop_slot at = slot_of(w, b, t);
            struct sched_slice part = {0, b->elements * dtype_info[b->dt].bytes};
            if (c->slice) part = c->slice[k];
            buf[k] = at.buf;
            slice[k] = (struct sched_slice){at.offset + part.offset, part.bytes};
            struct sched_buf *used = &w->out->buf.p[at.buf];
            used->first = RG_MIN(used->first, w->out->call.n), used->last = w->out->call.n;
        }
        struct sched_call made = {w->prog[c->prog], buf, slice, c->var, w->node, w->nodes};
        vec_push(w->a, &w->out->call, made);
    }
}

void loop_write(struct arena *a, struct schedule *out, const struct planned_loop *p, const uint32_t *operand,
                const uint32_t *node, uint32_t nodes) {
    struct loop_calls w = {
        .a = a, .out = out, .p = p, .from = &p->begin, .operand = operand, .node = node, .nodes = nodes};
    uint32_t first = out->call.n;
    writer_init(&w);
    write_step(&w, 0);
    w.from = &p->body, w.scratch = 0, w.table = 0;
    writer_init(&w);
    for (int64_t i = 0; i < p->l->steps; i++) write_step(&w, loop_time(p->l, i));
    for (uint32_t i = 0; i <= p->l->values; i++) { /* operands that no kernel reads are alive all the same */
        struct sched_buf *b = &out->buf.p[operand[i]];
        b->first = RG_MIN(b->first, first), b->last = out->call.n - 1;
    }
}
