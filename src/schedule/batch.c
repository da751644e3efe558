/* batch.c: multi-tensor apply: one elementwise kernel over tensors of different sizes, such as an optimizer's step.
 *
 * Calls that do not wait for each other, whose kernels do the same to every element of whole tensors, are gathered.
 * Their kernel walks a table of tasks (which tensor, from where, how many): a grid iteration is one task, and PARAMS
 * picks the tensor's buffers. Tasks are of equal size, so that many small tensors and a few large ones fill all cores; on a GPU,
 * where a block of threads runs a task, they are smaller as long as there are not very many.
 * Calls of equal depth are independent: a call is deeper than all that it waits for, and one that no other waits for counts as
 * deepest.
 * Tests: tests/unit/schedule.c, examples/fusion.c (Adam) */
#include "schedule/internal.h"

enum {
    TASK = 16384,        /* elements of a task */
    TASK_LEAST = 1024,   /* on a GPU .. */
    MANY_TASKS = 4096,   /* .. while there are fewer tasks than this */
    MOST_BUFFERS = 2048, /* of a kernel */
    MOST_VARS = 60
};

struct flat_kernel { /* a kernel over one linear coordinate */
    /* in canonical form: sizes of tensors are replaced, buffers are numbered by first mention */
    const uop *sink;
    const uop **buffer;
    uint8_t *whole; /* by buffer: as large as the domain; else one element */
    uint32_t nbuf;
    int64_t size;
};

struct canon {
    struct rangeify *r;
    struct arena *a;
    struct ir *ir;
    struct flat_kernel *f;
    const uop *element; /* what the coordinate becomes */
};

#define ANY_SIZE (1ll << 40)

/* The kernel with sizes abstracted. NULL: it depends on them. */
static const uop *canonical(struct canon *c, const uop *sink) {
    uop_vec topo = {0};
    canonical_topo(c->a, c->r->ir, sink, false, &topo);
    const uop **to = arena_array(c->a, const uop *, c->r->ir->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(c->a, const uop *, n->nsrc + 1);
        for (uint32_t s = 0; s < n->nsrc; s++) src[s] = to[n->src[s]->id];
        if (n->op == OP_SINK) canonical_sources(src, n->nsrc);
        if (n->op == OP_RANGE) {
            to[n->id] = c->element;
            continue;
        }
        union arg arg = n->arg;
        if (n->op == OP_PARAM) {
            int64_t size = n->src[0]->arg.i;
            uint32_t k = c->f->nbuf++;
            if (size != 1 && size != c->f->size) return NULL;
            c->f->whole[k] = size != 1 || c->f->size == 1;
            c->f->buffer[k] = c->r->g->ir->node[n->arg.param.slot];
            src[0] = uop_idx(c->ir, c->f->whole[k] ? ANY_SIZE : 1);
            arg = (union arg){.param = {.slot = k, .name = ir_sym(c->ir, "b", 1)}};
        } else if (n->op == OP_VAR)
            arg.param.name = ir_sym(c->ir, ir_name(c->r->ir, n->arg.param.name),
                                    strlen(ir_name(c->r->ir, n->arg.param.name)));
        to[n->id] = uop_new(c->ir, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, arg);
    }
    return to[sink->id];
}

/* Builds a call's kernel over one linear coordinate. False: it is not elementwise. */
static bool flatten(struct rangeify *r, const struct planned_kernel *k, const uint8_t *stored, struct ir *ir,
                    struct flat_kernel *f) {
    r->flat = true;
    const uop *sink = rangeify_kernel(r, k->unit, k->n, stored);
    r->flat = false;
    if (!sink || (r->dims && r->dim[0]->op != OP_RANGE && !uop_is_int_const(r->dim[0], 0))) return false;
    const uop *size = uop_idx(ir, ANY_SIZE);
    union arg arg = {.range = {.cls = ir_sym(ir, "e", 1), .kind = AX_GRID}};
    struct canon c = {
        .r = r, .a = r->a, .ir = ir, .f = f, .element = uop_new(ir, OP_RANGE, DT_IDX, 1, &size, 1, arg)};
    r->g->visits += r->ir->n; /* arrays by node id */
    *f = (struct flat_kernel){.buffer = arena_array(r->g->a, const uop *, k->built->nbuf + 8),
                              .whole = arena_array(r->g->a, uint8_t, k->built->nbuf + 8),
                              .size = r->dims && r->dim[0]->op == OP_RANGE ? r->dim[0]->src[0]->arg.i : 1};
    f->sink = canonical(&c, sink);
    return f->sink != NULL;
}

/* ---- the kernel of a batch -------------------------------------------------------------------------------------- */

struct batch_builder {
    struct ir *ir;
    struct rw rw;
    const struct flat_kernel *f; /* [tensors] */
    uint32_t tensors, tasks;
    uint32_t *base; /* by buffer of a member: its first slot */
    const uop *which, *element;
    struct built *out;
};

static const uop *task_word(struct batch_builder *b, const uop *table, const uop *t, int64_t word,
                            int64_t most) {
    const uop *at = rw2(&b->rw, OP_ADD, rw2(&b->rw, OP_MUL, t, uop_idx(b->ir, 3)), uop_idx(b->ir, word));
    const uop *v = rw1(&b->rw, OP_LOAD, rw2(&b->rw, OP_INDEX, table, at));
    v = rw_new(&b->rw, OP_CAST, DT_IDX, 1, &v, 1, ARG_NONE);
    v = rw2(&b->rw, OP_MAX, v, uop_idx(b->ir, 0));
    return most < 0 ? v : rw2(&b->rw, OP_MIN, v, uop_idx(b->ir, most));
}

static const uop *range_of(struct batch_builder *b, const char *cls, enum axis_kind kind, uint8_t pos,
                           const uop *size) {
    union arg arg = {.range = {.cls = ir_sym(b->ir, cls, strlen(cls)), .kind = (uint8_t)kind, .pos = pos}};
    return uop_new(b->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

static const uop *buffer_of(struct batch_builder *b, const uop *n, uint32_t k) {
    char name[24];
    int len = snprintf(name, sizeof name, "b%u", b->base[k]);
    union arg arg = {.param = {.slot = b->base[k], .name = ir_sym(b->ir, name, (size_t)len)}};
    bool shared = !b->f[0].whole[k];
    const uop *one = uop_idx(b->ir, 1), *many[2] = {b->which, uop_idx(b->ir, 0)};
    return shared ? uop_new(b->ir, OP_PARAM, (enum dtype)n->dt, 1, &one, 1, arg)
                  : uop_new(b->ir, OP_PARAMS, (enum dtype)n->dt, 1, many, 2, arg);
}

static const uop *write_batch(struct batch_builder *b, struct arena *a, const struct ir *from,
                              const uop *sink) {
    uop_vec topo = {0};
    uop_topo(a, &sink, 1, &topo);
    const uop **to = arena_array(a, const uop *, from->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(a, const uop *, n->nsrc + 1);
        for (uint32_t s = 0; s < n->nsrc; s++) src[s] = to[n->src[s]->id];
        if (n->op == OP_RANGE)
            to[n->id] = b->element;
        else if (n->op == OP_PARAM)
            to[n->id] = buffer_of(b, n, n->arg.param.slot);
        else if (n->op == OP_VAR) {
            char name[16];
            int len = snprintf(name, sizeof name, "v%u", b->out->nvar);
            const char *was = ir_name(from, n->arg.param.name);
            b->out->var[b->out->nvar] = n->arg.param.slot;
            b->out->var_name[b->out->nvar] = arena_strdup(a, was, strlen(was));
            union arg arg = {.param = {.slot = b->out->nvar++, .name = ir_sym(b->ir, name, (size_t)len)}};
            to[n->id] = uop_new(b->ir, OP_VAR, (enum dtype)n->dt, 1, src, n->nsrc, arg);
        } else
            to[n->id] = rw_new(&b->rw, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc, n->arg);
    }
    return to[sink->id];
}

/* Slots: for each buffer of a member those of all tensors, consecutively; shared ones once; the table last. */
static void number_buffers(struct batch_builder *b, struct arena *a) {
    uint32_t nbuf = b->f[0].nbuf;
    b->base = arena_array(a, uint32_t, nbuf + 1);
    b->out->buffer = arena_array(a, const uop *, (size_t)nbuf * b->tensors + 1);
    for (uint32_t k = 0; k < nbuf; k++) {
        b->base[k] = b->out->nbuf;
        for (uint32_t t = 0; t < (b->f[0].whole[k] ? b->tensors : 1); t++)
            b->out->buffer[b->out->nbuf++] = b->f[t].buffer[k];
    }
    b->out->buffer[b->out->nbuf++] = NULL; /* the table */
}

static const struct built *build_batch(struct sgraph *g, const struct ir *from, const struct flat_kernel *f,
                                       uint32_t tensors, uint32_t tasks, int64_t task) {
    struct arena *a = g->a;
    struct batch_builder b = {.ir = arena_new(a, struct ir),
                              .f = f,
                              .tensors = tensors,
                              .tasks = tasks,
                              .out = arena_new(a, struct built)};
    ir_init(b.ir, a);
    rw_init(&b.rw, b.ir, rules_sym, NULL);
    number_buffers(&b, a);
    b.out->var = arena_array(a, uint32_t, 64);
    b.out->var_name = arena_array(a, const char *, 64);
    const uop *words = uop_idx(b.ir, 3 * (int64_t)tasks),
              *t = range_of(&b, "t", AX_GRID, 0, uop_idx(b.ir, tasks));
    union arg arg = {.param = {.slot = b.out->nbuf - 1, .name = ir_sym(b.ir, "table", 5)}};
    const uop *table = uop_new(b.ir, OP_PARAM, DT_I64, 1, &words, 1, arg);
    b.which = task_word(&b, table, t, 0, tensors - 1);
    const uop *start = task_word(&b, table, t, 1, -1), *len = task_word(&b, table, t, 2, task);
    b.element = rw2(&b.rw, OP_ADD, start, range_of(&b, "i", AX_LOOP, 1, len));
    b.out->ir = b.ir;
    b.out->sink = write_batch(&b, a, from, f[0].sink);
    b.out->name = arena_printf(a, "E_%u_%lld", tasks, (long long)task);
    struct str text;
    str_init(&text, a);
    ir_print(&text, b.ir, b.out->sink);
    b.out->text = text.p;
    b.out->key = hash_bytes(text.p, text.n, 1);
    return b.out;
}

/* ---- groups ------------------------------------------------------------------------------------------------ */

bool batch_candidate(struct kernel_batch *x, const struct planned_kernel *k, const uint8_t *stored,
                     uint32_t depth, uint32_t call) {
    struct sgraph *g = x->r->g;
    struct arena_mark mark = arena_mark(g->eval);
    struct flat_kernel *f = arena_new(g->a, struct flat_kernel);
    struct str text;
    if (x->r->ir->n > KERNEL_IR_NODES) {
        arena_release(g->region, x->start);
        rangeify_restart(x->r, g->region);
    }
    bool ok = flatten(x->r, k, stored, x->ir, f);
    uint32_t vars = 0;
    arena_release(g->eval, mark);
    if (!ok) return false;
    for (uint32_t i = 0; i < k->built->nvar; i++) vars++;
    if (vars > MOST_VARS) return false;
    str_init(&text, g->a);
    str_printf(&text, "%u %u:", depth, f->sink->id); /* interned: equal kernels are the same node */
    for (uint32_t i = 0; i < f->nbuf; i++)
        if (!f->whole[i])
            str_printf(&text, " %u", sg_memory(g, f->buffer[i])->id); /* shared scalars must be the same */
    uint64_t h = hash_bytes(text.p, text.n, 5), at;
    for (; map_get(&x->known, h, &at); h = hash_u64(h + 1))
        if (!strcmp(x->group.p[at].key, text.p)) break;
    uint64_t most =
        RG_MIN(g->opts->most_buffers ? g->opts->most_buffers : UINT32_MAX, (uint32_t)MOST_BUFFERS);
    if (!map_get(&x->known, h, &at) || (x->group.p[at].call.n + 1) * (uint64_t)f->nbuf > most) {
        map_put(&x->known, h, at = x->group.n);
        vec_push(g->a, &x->group, ((struct batch_group){.key = text.p}));
    }
    vec_push(g->a, &x->group.p[at].call, call);
    vec_push(g->a, &x->group.p[at].flat, f);
    return true;
}

void batch_build(struct kernel_batch *x, const struct batch_group *group, struct planned_kernel *out,
                 int64_t **table, uint32_t *words) {
    struct sgraph *g = x->r->g;
    uint32_t n = group->call.n, tasks = 0;
    struct flat_kernel *f = arena_array(g->a, struct flat_kernel, n);
    double elements = 0;
    int64_t task = g->opts->gpu ? TASK_LEAST : TASK;
    for (uint32_t i = 0; i < n; i++) {
        f[i] = *group->flat.p[i];
        elements += (double)f[i].size;
    }
    while (task < TASK && (double)task * MANY_TASKS < elements) task *= 2;
    for (uint32_t i = 0; i < n; i++) tasks += (uint32_t)((f[i].size + task - 1) / task);
    out->share = elements / ((double)tasks * (double)task);
    int64_t *word = *table = arena_array(g->a, int64_t, 3 * (size_t)tasks);
    *words = 3 * tasks;
    for (uint32_t i = 0; i < n; i++)
        for (int64_t at = 0; at < f[i].size; at += task) {
            *word++ = i, *word++ = at;
            *word++ = RG_MIN(task, f[i].size - at);
        }
    out->built = build_batch(g, x->ir, f, n, tasks, task);
    out->buffer = out->built->buffer;
}

bool batch_fits(const struct batch_group *group) { return group->call.n > 1; }

void batch_init(struct kernel_batch *x, struct rangeify *r) {
    struct sgraph *g = r->g;
    *x = (struct kernel_batch){.r = r, .ir = arena_new(g->a, struct ir), .start = arena_mark(g->region)};
    ir_init(x->ir, g->a);
    map_init(&x->known, g->a);
}
