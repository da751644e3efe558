/* entry.c: what every public call does before and after its own work.
 *
 * It finds the context (of its first tensor, if the function takes none), does nothing if that has an error, takes in what
 * rg_free named, collects if it is time, and runs the work inside one err_guard. What is thrown gets the
 * user's source line and the function's name in front. Temporary memory of a call is c->scratch, released at its end.
 * Tests: tests/unit/api.c (misuse_*) */
#include "event/event.h"
#include "internal.h"

static const enum dtype dtypes[RG_DTYPES] = {DT_BOOL, DT_I8,  DT_I16, DT_I32,    DT_I64,
                                             DT_U8,   DT_U16, DT_U32, DT_U64,    DT_F16,
                                             DT_BF16, DT_F32, DT_F64, DT_F8E4M3, DT_F8E5M2};

enum dtype call_dtype(struct api_call *k, rg_dtype d) {
    if ((unsigned)d >= RG_DTYPES)
        call_fail(k, RG_EINVAL, "there is no dtype number %d; use RG_F32, RG_I64 ..", (int)d);
    return dtypes[d];
}

rg_dtype call_dtype_out(enum dtype d) {
    for (int i = 0; i < RG_DTYPES; i++)
        if (dtypes[i] == d) return (rg_dtype)i;
    return RG_DTYPES;
}

size_t rg_dtype_size(rg_dtype d) { return (unsigned)d < RG_DTYPES ? dtype_info[dtypes[d]].bytes : 0; }
const char *rg_dtype_name(rg_dtype d) {
    return (unsigned)d < RG_DTYPES ? dtype_info[dtypes[d]].name : "none";
}

void call_fail(struct api_call *k, int code, const char *fmt, ...) {
    char text[1500];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_throw(&k->c->err, code, "%s", text);
}

void call_not_recording(struct api_call *k) {
    if (k->c->recording)
        call_fail(k, RG_EINVAL,
                  "not while a jit is recorded: replays would not do it again. Return the tensor as an "
                  "output of the function and read it after the rg_jit_call");
}

void call_collect(struct api_call *k) {
    gr_collect_left(k->c);
    gr_forget_scalars(k->c); /* before anyone looks for a value behind shapes */
    k->g = &k->c->graph->tg;
}

/* ---- operands --------------------------------------------------------------------------------------- */

static void RG_NORETURN stale(struct api_call *k, uint32_t arg, rg_tensor t) {
    const struct api_slot *s = (uint32_t)t.id < k->c->slots ? slot_at(k->c, (uint32_t)t.id) : NULL;
    /* The slot still names its last owner, unless it was used again. */
    if (s && !s->node && s->fn && !strcmp(s->fn, "rg_jit_call"))
        call_fail(k, RG_EINVAL,
                  "tensor %u is stale: it is an output of an earlier rg_jit_call (%s:%d), and the next call "
                  "writes to "
                  "its memory; take a copy before that call (rg_contiguous)",
                  arg + 1, s->file ? s->file : "an unknown file", s->line);
    if (s && !s->node && s->fn)
        call_fail(k, RG_EINVAL,
                  "tensor %u is stale: it was freed or its scope ended (it was made by %s at %s:%d); "
                  "rg_keep lets a tensor outlive its scope",
                  arg + 1, s->fn, s->file ? s->file : "an unknown file", s->line);
    call_fail(k, RG_EINVAL,
              "tensor %u is stale: it was freed or its scope ended; rg_keep lets a tensor outlive its scope",
              arg + 1);
}

struct api_slot *call_slot(struct api_call *k, rg_tensor t, uint32_t arg) {
    if (!t.id) call_fail(k, RG_EINVAL, "tensor %u is RG_NONE; a tensor is needed here", arg + 1);
    const rg_ctx *o = ctx_of(t.id);
    if (!o) call_fail(k, RG_EINVAL, "tensor %u belongs to a context that was closed", arg + 1);
    if (o != k->c)
        call_fail(k, RG_EINVAL,
                  "tensor %u belongs to another context (device %s, here %s); copy it with rg_copy_to",
                  arg + 1, api_device_of(t), k->c->device);
    if (!(uint32_t)t.id)
        call_fail(k, RG_EINVAL,
                  "tensor %u is the result of a call that failed; rg_clear_error does not mend it", arg + 1);
    struct api_slot *s = slot_get(k->c, t);
    if (!s) stale(k, arg, t);
    return s;
}

const uop *call_detached(struct api_call *k, const uop *n) { return k->c->no_grad ? t_detach(k->g, n) : n; }

/* What was made in RG_NO_GRAD is free of gradients already, and numbers have none. */
static const uop *operand_of(struct api_call *k, const struct api_slot *s) {
    return s->var || (s->no_grad && !s->param) ? s->node : call_detached(k, s->node);
}

const uop *call_node(struct api_call *k, uint32_t i, enum dtype dt) {
    const rg_operand *o = &k->in[i];
    if (o->kind == 1) return t_int(k->g, dt, o->v.i);
    if (o->kind == 2) return t_number(k->g, dt, o->v.f);
    if (!o->t.id && k->may >> i & 1) return NULL;
    struct api_slot *s = call_slot(k, o->t, i);
    s->used = true;
    return operand_of(k, s);
}

/* Tensors first, because a number takes its dtype from them. */
static void take_operands(struct api_call *k) {
    enum dtype ref = DT_COUNT;
    for (uint32_t i = 0; i < k->n; i++) {
        if (k->in[i].kind) continue;
        k->u[i] = call_node(k, i, DT_COUNT);
        if (!k->u[i] || i < k->values) continue;
        ref = ref == DT_COUNT ? (enum dtype)k->u[i]->dt : t_promote(ref, (enum dtype)k->u[i]->dt);
    }
    for (uint32_t i = 0; i < k->n; i++) {
        if (!k->in[i].kind) continue;
        bool f = k->in[i].kind == 2;
        k->u[i] = call_node(k, i, ref != DT_COUNT ? t_number_dtype(ref, f) : f ? DT_F32 : DT_I64);
    }
    if (!k->list.n) return;
    if (!k->list.t) call_fail(k, RG_EINVAL, "the list of tensors is NULL");
    k->many = arena_array(&k->c->scratch, const uop *, k->list.n);
    for (size_t i = 0; i < k->list.n; i++) {
        struct api_slot *s = call_slot(k, k->list.t[i], (uint32_t)i);
        s->used = true;
        k->many[i] = operand_of(k, s);
    }
}

/* ---- one call ----------------------------------------------------------------------------------------- */

static rg_ctx *whose(const struct api_call *k) {
    if (k->c) return k->c;
    rg_ctx *c = NULL;
    for (uint32_t i = 0; i < k->n && !c; i++)
        if (!k->in[i].kind && k->in[i].t.id) c = ctx_of(k->in[i].t.id);
    for (size_t i = 0; i < k->list.n && k->list.t && !c; i++)
        if (k->list.t[i].id) c = ctx_of(k->list.t[i].id);
    return c;
}

struct call_work {
    struct api_call *k;
    void (*fn)(struct api_call *);
    rg_tensor out;
    const uop *made;
};

/* ---- what a profile says of it ----------------------------------------------------------------------------- */

/* Tensors that the call took, then the one that it made: dtype and sizes. */
struct noted {
    const struct shape *shape[6];
    uint8_t dt[6];
    uint32_t n;
    bool made; /* the last one */
};

static void note_tensor(struct noted *t, struct api_call *k, const uop *n) {
    if (!n || n->dt == DT_VOID || t->n == RG_COUNT(t->dt)) return;
    t->shape[t->n] = tg_shape(k->g, n);
    t->dt[t->n++] = (uint8_t)n->dt;
}

static uint64_t hash_call(const struct api_call *k, const struct noted *t) {
    const char *module = k->c->origin.module;
    uint64_t h = hash_bytes(k->file ? k->file : "", k->file ? strlen(k->file) : 0, (uint64_t)k->line);
    if (module) h = hash_bytes(module, strlen(module), h);
    for (uint32_t i = 0; i < t->n; i++)
        h = hash_bytes(t->shape[i]->d, t->shape[i]->n * sizeof *t->shape[i]->d, h ^ t->dt[i]);
    return h | 1;
}

static uint32_t name_call(const struct api_call *k, const struct noted *t) {
    char text[1600], *at = text, *end = text + sizeof text;
    const char *module = k->c->origin.module;
#define PUT(...) at += RG_MIN(snprintf(at, (size_t)(end - at), __VA_ARGS__), (int)(end - at - 1))
    if (k->file) PUT("%.1000s:%d", k->file, k->line);
    PUT("\t%.200s\t", module ? module : "");
    for (uint32_t i = 0; i < t->n; i++) {
        bool out = t->made && i + 1 == t->n;
        PUT("%s%s(", out ? (i ? " -> " : "-> ") : i ? " " : "", dtype_info[t->dt[i]].name);
        for (uint32_t d = 0; d < t->shape[i]->n; d++)
            PUT("%s%lld", d ? "," : "", (long long)t->shape[i]->d[d]);
        PUT(")");
    }
#undef PUT
    return event_name(text);
}

/* Which function, from which line, on what. Names are made once per thread, source line and shapes. */
static void note_call(struct api_call *k, uint64_t t0, const uop *made) {
    static _Thread_local struct known {
        uint64_t key;
        const char *fn;
        uint32_t name, info;
    } known[256];
    struct noted t = {0};
    if (made) {             /* the graph may have moved in a call that ran something */
        enum { TAKEN = 5 }; /* of more, only the first are named */
        for (uint32_t i = 0; i < k->n && i < TAKEN; i++) note_tensor(&t, k, k->u[i]);
        for (size_t i = 0; i < k->list.n && k->many && t.n < TAKEN; i++) note_tensor(&t, k, k->many[i]);
        uint32_t taken = t.n;
        note_tensor(&t, k, made);
        t.made = t.n > taken;
    }
    uint64_t key = hash_call(k, &t);
    struct known *x = &known[(key ^ (uintptr_t)k->fn >> 3) % RG_COUNT(known)];
    if (x->key != key || x->fn != k->fn) *x = (struct known){key, k->fn, event_name(k->fn), name_call(k, &t)};
    event_add_info(EVENT_CALL, x->name, x->info, t0, os_now_ns(), 0, 0);
}

/* For NVIDIA's tools. */
static void push_call(const struct api_call *k) {
    char text[300];
    const char *base = k->file ? strrchr(k->file, '/') : NULL;
    snprintf(text, sizeof text, k->file ? "%s %.200s:%d" : "%s", k->fn, base ? base + 1 : k->file, k->line);
    event_nvtx_push(text);
}

static rg_status run(struct api_call *k, void (*body)(void *), struct call_work *w) {
    /* The flight recorder has the calls that do work; a profile has all of them. */
    uint64_t began = w->fn || event_recording() ? os_now_ns() : 0;
    uint32_t temporary = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        temporary |= (uint32_t)(k->in[i].t.id >> 31 & 1) << i;
        k->in[i].t.id &= ~TEMPORARY;
    }
    rg_ctx *c = k->c = whose(k);
    if (!c) return RG_EINVAL;
    if (c->err.code) return (rg_status)c->err.code;
    slots_drain(c);
    c->planning = false; /* one that failed */
    w->k = k;
    if (!k->file) k->file = c->origin.file, k->line = c->origin.line;
    struct arena_mark mark = arena_mark(&c->scratch);
    bool watched = w->fn && event_nvtx();
    if (watched) push_call(k);
    int bad = err_guard(&c->err, body, w);
    if (watched) event_nvtx_pop();
    if (bad) {
        if (c->err.code == RG_ENOMEM) c->damaged = true;
        if (c->origin.module) err_prefix(&c->err, "(in %s) ", c->origin.module);
        if (k->file)
            err_prefix(&c->err, "%s:%d: %s: ", k->file, k->line, k->fn);
        else
            err_prefix(&c->err, "%s: ", k->fn);
    }
    arena_release(&c->scratch, mark);
    for (uint32_t i = 0; i < k->n; i++)
        if (temporary >> i & 1) api_drop(k->in[i].t);
    if (began) note_call(k, began, w->made);
    if (c->err.code) flight_write();
    return (rg_status)c->err.code;
}

/* Leaves have no provenance. */
void call_site(struct api_call *k, uint32_t first, const uop *out) {
    struct prov *p = &k->g->prov;
    uint32_t site = prov_site(p, k->file ? k->file : "", k->line, k->fn + 3, k->c->origin.module,
                              k->c->origin.optimiser ? SITE_OPTIMISER : 0);
    for (uint32_t id = first; id < k->g->ir->n; id++) {
        enum op op = (enum op)k->g->ir->node[id]->op;
        if (op != OP_CONST && op != OP_BUFFER && op != OP_VAR) prov_add(p, id, site);
    }
    for (uint32_t i = 0; i < k->g->ir->found.n; i++) prov_again(p, k->g->ir->found.p[i], site);
    if (out && out->id < first && out->nsrc && out->op != OP_BUFFER && out->op != OP_VAR)
        prov_add(p, out->id, site);
}

static void build_body(void *arg) {
    struct call_work *w = arg;
    struct api_call *k = w->k;
    gr_collect_maybe(k->c);
    k->g = &k->c->graph->tg;
    take_operands(k);
    uint32_t first = k->g->ir->n;
    k->g->ir->found.n = 0;
    const uop *n = k->build(k);
    tg_shape(k->g, n); /* a handle's node has a shape, always */
    call_site(k, first, n);
    struct api_slot *s;
    w->out = slot_new(k->c, n, k->global, &s);
    w->made = n;
    s->file = k->file, s->line = k->line, s->fn = k->fn;
    s->view = k->view, s->param = k->param, s->held = k->global, s->var = k->var;
    s->no_grad = k->c->no_grad != 0;
}

rg_tensor call_tensor(struct api_call *k) {
    struct call_work w = {0};
    if (run(k, build_body, &w)) return k->c ? poison(k->c) : RG_NONE;
    return w.out;
}

static void work_body(void *arg) {
    struct call_work *w = arg;
    gr_collect_maybe(w->k->c);
    w->k->g = &w->k->c->graph->tg;
    w->k->g->ir->found.n = 0;
    w->fn(w->k);
}

rg_status call_work(struct api_call *k, void (*fn)(struct api_call *)) {
    return run(k, work_body, &(struct call_work){.fn = fn});
}
