/* jit.c: a step that is run once, recorded once, and then only launched.
 *
 *   call 1    the queue runs and the inputs are computed, then fn runs as it is: what it needs is made and compiled
 *   call 2    fn runs again; every program that it realizes is noted (jit_note), with the stores that its buffers are
 *   call 3..  replay: the same programs with the addresses of today's inputs and the values of today's scalars
 *
 * A store that a recording uses is held, so that its memory is not given away. Where a living tensor has its value in a
 * held store (a parameter, a data set), the recording knows that tensor: if it moves to other memory, the replay follows.
 * A replay writes into stores whose present versions have names. What is alive and still needs an old value is computed
 * first (settle). As long as no node was made since the latest call, nothing knows the old values by name, and the names stay;
 * otherwise the stores get new versions. So a loop that only replays makes no nodes, and a program that mixes replays
 * and ordinary tensors keeps the rule that a tensor denotes the value it had when it was made.
 * Inputs are read where they are, unless the recording writes there: then a copy is.
 * Tests: tests/semantics/jit.c, tests/unit/jit.c */
#include "internal.h"

#define JIT_INPUTS 256
#define JIT_OUTPUTS 256 /* RG_AS_FILLED: at most */

struct jit_held {
    uint32_t store;
    rg_tensor tensor; /* living, with its value there; or RG_NONE */
    void *instead;    /* what is read in this call: an input's memory */
    bool written;     /* replays write to it .. */
    bool output;      /* .. as an output */
};

struct jit_var {
    rg_tensor scalar; /* its present value; else .. */
    bool draw;        /* .. of the random numbers drawn, or .. */
    bool seed;        /* .. of the seed, or .. */
    uint64_t bits;    /* .. this one (a draw: how many were drawn before it) */
};

struct jit_run {
    struct replay *replay;
    uint32_t nbuf, nresult, nvar;
    uint32_t *buf_at, *result_at; /* numbers in rg_jit.held */
    struct jit_var *from;
    void **buf, **result;
    int64_t *var;
};

struct jit_value { /* an input or output */
    enum dtype dt;
    uint32_t held;
    uint32_t rank;
    int64_t dim[SHAPE_MAX];
    rg_tensor handle; /* outputs: given out by the latest call */
    const uop *from;  /* inputs: BUFFER whose memory is read while recording; NULL: not bound .. */
    const uop *name;  /* .. and what stands for it */
};

struct rg_jit {
    rg_ctx *c;
    rg_jit_fn *fn;
    void *user;
    const char *file; /* of rg_jit_new */
    int line;
    struct arena arena; /* of the recording; throws to the context */
    bool recorded;
    struct jit_value *in, *out;
    uint32_t nin, nout;
    VEC(struct jit_held) held;
    VEC(struct jit_run) run;
    const struct graph *graph; /* as the latest call left it */
    uint32_t nodes;
    uint64_t drawn; /* random numbers that one call takes */
    bool as_filled; /* the first call decides how many outputs there are */
    bool trains;    /* it assigns a parameter */
    bool calm; /* since the latest call nothing waits for what a replay overwrites, unless nodes were made */
    struct realize_stats cost;
    rg_jit_stats stats;
};

/* ---- recording: called by realize.c --------------------------------------------------------------------- */

static uint32_t hold(struct rg_jit *j, uint32_t store) {
    for (uint32_t i = 0; i < j->held.n; i++)
        if (j->held.p[i].store == store) return i;
    struct jit_held h = {.store = store};
    vec_push(&j->arena, &j->held, h);
    j->c->store[store].held++;
    return j->held.n - 1;
}

static uint32_t *hold_all(struct rg_jit *j, const uint32_t *store, uint32_t n) {
    uint32_t *at = arena_array(&j->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) at[i] = hold(j, store[i]);
    return at;
}

static struct jit_var var_from(struct rg_jit *j, uint32_t number) {
    rg_ctx *c = j->c;
    struct jit_var v = {0};
    uint32_t ndraw;
    const struct draw *draw = random_draws(c, &ndraw);
    struct api_slot *s;
    map_get(&c->graph->vars, number, &v.bits);
    for (uint32_t i = 0; i < ndraw; i++)
        if (draw[i].var == number) return (struct jit_var){.draw = true, .bits = draw[i].offset};
    if (c->key_first && number == c->key_var) return (struct jit_var){.seed = true};
    for (uint32_t i = 0; (s = slot_next(c, &i));)
        if (s->var && s->var->arg.param.slot == number && !s->recorded) v.scalar = slot_handle(c, i);
    return v;
}

void jit_note(rg_ctx *c, const struct jit_program *p) {
    struct rg_jit *j = c->recording;
    struct jit_run r = {.nbuf = p->nbuf, .nresult = p->nresult, .nvar = p->nvar};
    r.buf_at = hold_all(j, p->buf_store, p->nbuf);
    r.result_at = hold_all(j, p->result_store, p->nresult);
    for (uint32_t i = 0; i < p->nresult; i++) j->held.p[r.result_at[i]].written = true;
    r.from = arena_array(&j->arena, struct jit_var, p->nvar + 1);
    for (uint32_t i = 0; i < p->nvar; i++) r.from[i] = var_from(j, p->var_number[i]);
    r.buf = arena_array(&j->arena, void *, p->nbuf + 1);
    r.result = arena_array(&j->arena, void *, p->nresult + 1);
    r.var = arena_array(&j->arena, int64_t, p->nvar + 1);
    vec_need(&j->arena, &j->run, 1);
    r.replay = engine_replay_new(c->engine, &c->err, p->r);
    if (!r.replay) err_throw(&c->err, c->err.code, "recording failed");
    vec_push(&j->arena, &j->run, r);
}

void jit_noted(rg_ctx *c, const struct realize_stats *st) {
    struct rg_jit *j = c->recording;
    engine_replay_hold(j->run.p[j->run.n - 1].replay);
    j->cost.kernels += st->kernels;
    j->cost.bytes += st->bytes;
    j->cost.ops += st->ops;
    j->cost.least += st->least;
}

static void forget(struct rg_jit *j) {
    for (uint32_t i = 0; i < j->run.n; i++) engine_replay_free(j->run.p[i].replay);
    for (uint32_t i = 0; i < j->held.n; i++) j->c->store[j->held.p[i].store].held--;
    arena_free(&j->arena);
    arena_init(&j->arena, &j->c->err);
    j->held.n = j->held.cap = j->run.n = j->run.cap = 0;
    j->held.p = NULL, j->run.p = NULL;
    j->in = NULL, j->nin = 0;
    j->recorded = false;
    j->cost = (struct realize_stats){0};
}

/* ---- inputs ------------------------------------------------------------------------------------------------ */

struct args {
    struct rg_jit *j;
    rg_tensors in;
    rg_tensor *out, *own; /* own: fn's handles for the inputs */
};

static void describe(struct api_call *k, const uop *n, struct jit_value *v) {
    const struct shape *sh = tg_shape(k->g, n);
    v->dt = (enum dtype)n->dt, v->rank = sh->n;
    memcpy(v->dim, sh->d, sh->n * sizeof *sh->d);
}

static const char *words(struct api_call *k, const struct jit_value *v) {
    struct str s;
    str_init(&s, &k->c->scratch);
    str_printf(&s, "%s ", dtype_info[v->dt].name);
    shape_print(&s, shape_make(&k->g->shapes, v->dim, v->rank));
    return s.p;
}

static void check_inputs(struct api_call *k, struct args *a) {
    struct rg_jit *j = a->j;
    if (a->in.n && !a->in.t) call_fail(k, RG_EINVAL, "the list of inputs is NULL");
    if (a->in.n > JIT_INPUTS) call_fail(k, RG_ELIMIT, "%zu inputs; a jit takes %d", a->in.n, JIT_INPUTS);
    if (j->recorded && a->in.n != j->nin)
        call_fail(k, RG_EINVAL, "%zu inputs; it was recorded with %u", a->in.n, j->nin);
    for (uint32_t i = 0; i < a->in.n; i++) {
        struct jit_value v = {0};
        describe(k, call_slot(k, a->in.t[i], i)->node, &v);
        const struct jit_value *w = j->recorded ? &j->in[i] : &v;
        if (v.dt != w->dt || v.rank != w->rank || memcmp(v.dim, w->dim, v.rank * sizeof *v.dim))
            call_fail(k, RG_EINVAL,
                      "input %u is %s; it was recorded as %s. A recording serves one shape: make another "
                      "rg_jit for this one, or pad the last batch",
                      i + 1, words(k, &v), words(k, w));
    }
}

/* fn's own handle for a node. */
static rg_tensor own_handle(struct api_call *k, const uop *n) {
    struct api_slot *s;
    rg_tensor t = slot_new(k->c, n, false, &s);
    s->file = k->file, s->line = k->line, s->fn = k->fn;
    s->recorded = k->c->recording != NULL;
    return t;
}

/* The value with memory of its own, even if it is some tensor's. */
static const uop *own_copy(struct api_call *k, const uop *n) {
    bool memory = n->op == OP_BUFFER || n->op == OP_ASSIGN;
    n = memory ? uop2(k->g->ir, OP_CONTIGUOUS, n, uop_idx(k->g->ir, 1)) : t_contiguous(k->g, n);
    tg_shape(k->g, n);
    return n;
}

static void drop_outputs(struct rg_jit *j) {
    for (uint32_t i = 0; i < j->nout; i++) slot_free(j->c, j->out[i].handle);
}

/* Runs the queue and computes the inputs, so that fn's program is the same in every call. */
static void realize_inputs(struct api_call *k, const struct args *a) {
    const uop **ask = arena_array(&k->c->scratch, const uop *, a->in.n + 1);
    for (uint32_t i = 0; i < a->in.n; i++) ask[i] = call_slot(k, a->in.t[i], i)->node;
    realize_nodes(k, ask, (uint32_t)a->in.n, false, NULL);
    k->g = &k->c->graph->tg;
}

/* An input that leads to a parameter keeps its history: a gradient may go through it. */
static void do_enter(struct api_call *k) {
    struct args *a = k->p;
    uop_vec roots = {0};
    drop_outputs(a->j);
    call_collect(k);
    check_inputs(k, a);
    realize_inputs(k, a);
    for (uint32_t i = 0; i < a->in.n; i++)
        vec_push(&k->c->scratch, &roots, call_slot(k, a->in.t[i], i)->node);
    const uint8_t *lead = gr_leads(k->c, &roots, false);
    for (uint32_t i = 0; i < a->in.n; i++) {
        struct api_slot *from = call_slot(k, a->in.t[i], i);
        bool through = lead && lead[from->node->id] & LEAD_ANY;
        from->used = true;
        a->own[i] = own_handle(k, through ? from->node : gr_now(k->c, from->node));
    }
}

/* Stands for the input in the recorded programs: a store of its own at the input's address. */
static void borrow_input(struct api_call *k, struct rg_jit *j, struct jit_value *v, const uop *n) {
    rg_ctx *c = k->c;
    describe(k, n, v);
    uint32_t at = store_new(c, store_bytes(c, n), EVENT_MEM_DATA);
    v->held = hold(j, at);
    v->name = store_node(c, at, c->store[at].version, v->dt, tg_shape(k->g, n));
    c->store[store_of(n)].held++;
    c->store[at].mem = c->store[store_of(n)].mem;
    c->store[at].stands_for = c->store[store_of(n)].serial;
    c->store[at].frozen = c->store[at].borrowed = true;
    v->from = n;
}

/* Gradients that outlive the function may read its inputs: they read the input itself from now on. */
static void return_inputs(struct rg_jit *j) {
    rg_ctx *c = j->c;
    for (uint32_t i = 0; i < j->nin; i++) {
        struct jit_value *v = &j->in[i];
        if (!v->from) continue;
        struct api_store *s = &c->store[j->held.p[v->held].store];
        c->store[store_of(v->from)].held--;
        if (s->borrowed) {
            if (v->name->id < c->graph->real.n) gr_set_real(c, v->name, v->from); /* else it was not used */
            s->mem = NULL, s->borrowed = false;
        }
        v->from = v->name = NULL;
    }
}

/* Memory of its own for an input. */
static void copy_input(struct api_call *k, struct rg_jit *j, const struct jit_value *v, const void *from) {
    rg_ctx *c = k->c;
    uint32_t at = j->held.p[v->held].store;
    if (!c->store[at].mem) store_need_call(k, at, v->dt, shape_make(&c->graph->tg.shapes, v->dim, v->rank));
    if (engine_copy(c->engine, &c->err, COPY_WITHIN, c->store[at].mem, from, c->store[at].bytes))
        err_throw(&c->err, c->err.code, "the copy failed");
}

void jit_writes(struct api_call *k, const uint32_t *store, uint32_t n) {
    struct rg_jit *j = k->c->recording;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t v = 0; v < j->nin; v++) {
            struct api_store *s = &k->c->store[j->held.p[j->in[v].held].store];
            const void *from = k->c->store[store[i]].mem;
            if (!s->borrowed || s->mem != from) continue;
            s->mem = NULL, s->borrowed = false;
            copy_input(k, j, &j->in[v], from);
        }
}

/* The queue runs and the inputs get memory; nothing else is computed that the function does not ask for (outer.c). */
static void do_prepare(struct api_call *k) {
    struct args *a = k->p;
    struct rg_jit *j = a->j;
    rg_ctx *c = k->c;
    drop_outputs(j);
    call_collect(k);
    check_inputs(k, a);
    realize_inputs(k, a);
    gr_collect(c);
    k->g = &c->graph->tg;
    j->in = arena_array(&j->arena, struct jit_value, a->in.n + 1);
    for (; j->nin < a->in.n; j->nin++)
        borrow_input(k, j, &j->in[j->nin], gr_now(c, call_slot(k, a->in.t[j->nin], j->nin)->node));
    outer_hide(c); /* from here on no node moves until the recording ends */
    c->recording = j;
    for (uint32_t i = 0; i < j->nin; i++) a->own[i] = own_handle(k, j->in[i].name);
    c->recording = NULL;
    random_mark(c);
}

/* ---- outputs ------------------------------------------------------------------------------------------------ */

/* Handles of the outputs that outlive fn's scope; each is a value with memory of its own. */
static void do_keep(struct api_call *k) {
    struct args *a = k->p;
    uint32_t scopes = k->c->scopes;
    k->c->scopes = scopes ? scopes - 1 : 0; /* the scope around fn's */
    for (uint32_t i = 0; i < a->j->nout; i++) {
        const uop *n = own_copy(k, t_detach(k->g, call_slot(k, a->out[i], i)->node));
        call_site(k, k->g->ir->n, n);
        describe(k, n, &a->j->out[i]);
        a->j->out[i].handle = own_handle(k, n);
    }
    k->c->scopes = scopes;
}

static void do_finish(struct api_call *k) {
    struct args *a = k->p;
    struct rg_jit *j = a->j;
    call_collect(k);
    const uop **n = arena_array(&k->c->scratch, const uop *, j->nout + 1);
    for (uint32_t i = 0; i < j->nout; i++) n[i] = call_slot(k, j->out[i].handle, i)->node;
    realize_nodes(k, n, j->nout, false, NULL);
    for (uint32_t i = 0; i < j->nout; i++) {
        struct api_slot *s = call_slot(k, j->out[i].handle, i);
        s->node = gr_now(k->c, s->node); /* no history: the memory is the jit's */
        a->out[i] = j->out[i].handle;
    }
}

/* ---- the end of a recording ------------------------------------------------------------------------------------ */

/* Living tensors whose values are in held stores. */
static void find_tensors(struct api_call *k, struct rg_jit *j) {
    rg_ctx *c = k->c;
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        const uop *b = gr_now(c, s->node);
        if (b->op != OP_BUFFER || s->view || s->recorded) continue;
        for (uint32_t h = 0; h < j->held.n; h++)
            if (j->held.p[h].store == store_of(b)) j->held.p[h].tensor = slot_handle(c, i);
    }
}

static void do_recorded(struct api_call *k) {
    struct args *a = k->p;
    struct rg_jit *j = a->j;
    struct api_slot *s;
    for (uint32_t i = 0; (s = slot_next(k->c, &i));) {
        bool out = false;
        for (uint32_t o = 0; o < j->nout; o++) out |= j->out[o].handle.id == slot_handle(k->c, i).id;
        out |= slot_handle(k->c, i).id == k->c->chain.id; /* it runs with the outputs */
        if (s->recorded && !out)
            call_fail(k, RG_EINVAL,
                      "the tensor made by %s at %s:%d while recording outlives the function (rg_keep); "
                      "replays would "
                      "not renew it: make it an output",
                      s->fn, s->file ? s->file : "an unknown file", s->line);
    }
    do_finish(k);
    find_tensors(k, j);
    for (uint32_t i = 0; i < j->nout; i++) {
        struct api_slot *o = call_slot(k, j->out[i].handle, i);
        j->out[i].held = hold(j, store_of(gr_now(k->c, o->node)));
        o->recorded = false; /* another jit's recording finds it there like any tensor */
        struct jit_held *h = &j->held.p[j->out[i].held];
        h->written = h->output = true, h->tensor = RG_NONE;
    }
    j->trains = false;
    for (uint32_t i = 0; i < j->held.n; i++)
        j->trains |= j->held.p[i].written && api_is_param(j->held.p[i].tensor);
    j->drawn = k->c->drawn - k->c->marked;
    j->recorded = true;
}

/* ---- replay ------------------------------------------------------------------------------------------------------- */

/* Marks the stores that a replay writes, each with the slot of the tensor that is assigned, if it is alive. */
static void mark_written(struct rg_jit *j, bool on) {
    for (uint32_t i = 0; i < j->held.n; i++) {
        const struct jit_held *h = &j->held.p[i];
        if (!h->written) continue;
        j->c->store[h->store].over = on;
        j->c->store[h->store].to = (uint32_t)h->tensor.id;
    }
}

/* The tensor of slot i has a value of its own, or one that is to change. */
static bool is_plain(const rg_ctx *c, const struct api_slot *s, uint32_t i) {
    const uop *n = s->node;
    if (s->grad) return false;
    if (n->op != OP_BUFFER) return s->var != NULL || n->op == OP_CONST;
    const struct api_store *st = &c->store[store_of(n)];
    return st->over ? st->to == i : !st->head;
}

/* Nothing waits to be computed or refers to what a replay overwrites. */
static bool is_clean(struct rg_jit *j) {
    rg_ctx *c = j->c;
    struct api_slot *s;
    bool clean = !c->nreads;
    mark_written(j, true);
    for (uint32_t i = 0; clean && (s = slot_next(c, &i));) clean = is_plain(c, s, i);
    mark_written(j, false);
    return clean;
}

static bool lazy_into(void *cx, const uop *n) { return !is_real(cx, n); }

/* By node id: needs a value that a replay overwrites. Leaves the marks. */
static const uint8_t *find_dirty(struct rg_jit *j) {
    rg_ctx *c = j->c;
    uop_vec roots = {0}, order = {0};
    mark_written(j, true);
    gr_roots(c, &roots);
    gr_walk(c, roots.p, roots.n, lazy_into, c, &order);
    uint8_t *dirty = arena_alloc(&c->scratch, c->graph->ir.n + 1);
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *n = order.p[i], *b = gr_now(c, n);
        bool d = b->op == OP_BUFFER && store_of(b) < c->stores && c->store[store_of(b)].over;
        for (uint32_t s = 0; s < n->nsrc && !d && !is_real(c, n); s++) d = dirty[n->src[s]->id];
        dirty[n->id] = d;
    }
    return dirty;
}

/* Runs what was assigned since the latest call, and computes what is alive and needs values that will be overwritten. */
static void settle(struct api_call *k, struct rg_jit *j) {
    rg_ctx *c = k->c;
    uop_vec ask = {0};
    struct api_slot *s;
    realize_nodes(k, NULL, 0, false, NULL);
    k->g = &c->graph->tg;
    const uint8_t *dirty = find_dirty(j);
    for (uint32_t i = 0; (s = slot_next(c, &i));) {
        if (s->grad && dirty[s->grad->id]) vec_push(&c->scratch, &ask, s->grad);
        if (!dirty[s->node->id]) continue;
        const uop *b = gr_now(c, s->node);
        if (b->op == OP_BUFFER && c->store[store_of(b)].to == i) {
            s->node = b;
            continue;
        }
        if (b->op == OP_BUFFER) s->node = own_copy(k, b);
        vec_push(&c->scratch, &ask, s->node);
    }
    mark_written(j, false);
    if (ask.n) realize_nodes(k, ask.p, ask.n, false, NULL);
    k->g = &c->graph->tg;
}

/* Tensors that moved to other memory since: the replay follows. */
static void follow(struct api_call *k, struct rg_jit *j) {
    rg_ctx *c = k->c;
    for (uint32_t i = 0; i < j->held.n; i++) {
        struct jit_held *h = &j->held.p[i];
        struct api_slot *s = h->tensor.id ? slot_get(c, h->tensor) : NULL;
        const uop *b = s ? gr_now(c, s->node) : NULL;
        if (!s) h->tensor = RG_NONE;
        if (!b || b->op != OP_BUFFER || store_of(b) == h->store) continue;
        if (h->written && c->store[store_of(b)].frozen)
            call_fail(
                k, RG_EINVAL,
                "the tensor made by %s at %s:%d, which each call assigns, shares its memory with an older "
                "value; free that value or take a copy of it (rg_contiguous)",
                s->fn, s->file ? s->file : "an unknown file", s->line);
        c->store[h->store].held--;
        h->store = store_of(b);
        c->store[h->store].held++;
    }
}

static const uop *version_node(struct api_call *k, const struct jit_held *h, const struct jit_value *v) {
    return store_node(k->c, h->store, k->c->store[h->store].version, v->dt,
                      shape_make(&k->g->shapes, v->dim, v->rank));
}

/* New names for what is about to be written. */
static void rename_versions(struct api_call *k, struct rg_jit *j) {
    rg_ctx *c = k->c;
    for (uint32_t i = 0; i < j->held.n; i++) {
        struct jit_held *h = &j->held.p[i];
        if (!h->written) continue;
        c->store[h->store].version++;
        if (!h->tensor.id) continue;
        struct api_slot *s = slot_get(c, h->tensor);
        struct jit_value v = {0};
        describe(k, s->node, &v);
        s->node = version_node(k, h, &v);
    }
}

static void bind_inputs(struct api_call *k, struct args *a) {
    rg_ctx *c = k->c;
    struct rg_jit *j = a->j;
    uop_vec ask = {0};
    for (uint32_t i = 0; i < j->nin; i++) {
        const uop *n = call_slot(k, a->in.t[i], i)->node;
        if (gr_now(c, n)->op != OP_BUFFER || gr_is_scalar(n)) vec_push(&c->scratch, &ask, n);
    }
    gr_forget_scalars(c);
    if (ask.n) realize_nodes(k, ask.p, ask.n, false, NULL);
    k->g = &c->graph->tg;
    for (uint32_t i = 0; i < j->nin; i++) {
        struct jit_held *h = &j->held.p[j->in[i].held];
        const struct api_store *from = &c->store[store_of(gr_now(c, call_slot(k, a->in.t[i], i)->node))];
        h->instead = from->mem;
        for (uint32_t w = 0; w < j->held.n && h->instead; w++)
            if (j->held.p[w].written && &c->store[j->held.p[w].store] == from) h->instead = NULL;
        if (!h->instead) copy_input(k, j, &j->in[i], from->mem);
    }
}

static void *address(struct rg_jit *j, uint32_t at) {
    const struct jit_held *h = &j->held.p[at];
    return h->instead ? h->instead : j->c->store[h->store].mem;
}

static int64_t number(struct rg_jit *j, const struct jit_var *v) {
    rg_ctx *c = j->c;
    uint64_t bits = v->bits;
    struct api_slot *s = v->scalar.id ? slot_get(c, v->scalar) : NULL;
    if (v->draw) return (int64_t)(c->drawn + v->bits);
    if (v->seed) return (int64_t)c->seed;
    if (s && s->var) map_get(&c->graph->vars, s->var->arg.param.slot, &bits);
    return (int64_t)bits;
}

static void launch(struct api_call *k, struct rg_jit *j) {
    rg_ctx *c = k->c;
    for (uint32_t i = 0; i < j->run.n; i++) {
        struct jit_run *r = &j->run.p[i];
        struct realize_stats st = {0};
        for (uint32_t b = 0; b < r->nbuf; b++) r->buf[b] = address(j, r->buf_at[b]);
        for (uint32_t b = 0; b < r->nresult; b++) r->result[b] = address(j, r->result_at[b]);
        for (uint32_t v = 0; v < r->nvar; v++) r->var[v] = number(j, &r->from[v]);
        if (engine_replay_run(r->replay, &c->err, r->buf, r->result, r->var, &st))
            err_throw(&c->err, c->err.code, "the engine failed");
        c->realizes++, c->cached++;
        c->kernels += st.kernels;
        c->moved += st.bytes, c->ops += st.ops, c->seconds += (double)st.run_ns * 1e-9;
    }
    c->drawn += j->drawn;
    if (j->trains) state_forget_lost(c);
}

static void do_replay(struct api_call *k) {
    struct args *a = k->p;
    struct rg_jit *j = a->j;
    rg_ctx *c = k->c;
    drop_outputs(j);
    check_inputs(k, a);
    bool same = c->graph == j->graph && c->graph->ir.n == j->nodes;
    bool clean = (same && j->calm && !c->nreads) || is_clean(j), known = clean && same;
    if (!clean) call_collect(k);
    if (!clean) settle(k, j);
    if (!known) follow(k, j);
    bind_inputs(k, a);
    if (!known) rename_versions(k, j);
    launch(k, j);
    for (uint32_t i = 0; i < j->nout; i++)
        a->out[i] = j->out[i].handle = own_handle(k, version_node(k, &j->held.p[j->out[i].held], &j->out[i]));
    if (!clean) gr_collect(c); /* histories of values that are gone are cut */
    j->calm = true;
}

/* ---- the calls ------------------------------------------------------------------------------------------------------ */

static void leave(struct rg_jit *j, bool recording, rg_scope scope) {
    rg_end(scope);
    j->c->recording = NULL;
    outer_restore(j->c, recording && !j->recorded);
    if (recording) return_inputs(j);
    random_unmark(j->c);
    if (recording && !j->recorded) forget(j);
}

/* Of as many as there may be, those that the first call filled. */
static void count_outputs(struct rg_jit *j, const rg_tensor *out) {
    while (j->nout && !out[j->nout - 1].id) j->nout--;
    j->as_filled = false;
}

/* fn with handles of its own; what it makes is freed but for the outputs. */
static rg_status run_fn(const char *file, int line, struct args *a, bool record) {
    struct rg_jit *j = a->j;
    rg_ctx *c = j->c;
    rg_tensor own[JIT_INPUTS];
    a->own = own;
    rg_scope scope = rg_begin(c);
    rg_status st = call_work(CALL(jit_call, .c = c, .p = a), record ? do_prepare : do_enter);
    if (record && !st) c->recording = j;
    for (uint32_t i = 0; i < j->nout; i++) a->out[i] = RG_NONE;
    if (!st) st = j->fn(j->user, own, a->out);
    if (!st && j->as_filled) count_outputs(j, a->out);
    if (!st) st = call_work(CALL(jit_call, .c = c, .p = a), do_keep);
    rg_end(scope);
    if (!st) st = call_work(CALL(jit_call, .c = c, .p = a), record ? do_recorded : do_finish);
    j->calm = false;
    leave(j, record, scope);
    return st;
}

rg_status rg_jit_call_at(const char *file, int line, rg_jit *j, rg_tensors in, rg_tensor *out) {
    if (!j) return RG_EINVAL;
    rg_ctx *c = j->c;
    if (c->err.code) return (rg_status)c->err.code;
    if (c->recording) {
        err_set(&c->err, RG_EINVAL,
                "%s:%d: rg_jit_call: a jit is being recorded; call the function itself here",
                file ? file : "unknown file", line);
        return RG_EINVAL;
    }
    rg_tensor none[1];
    struct args a = {.j = j, .in = in, .out = j->nout ? out : none};
    if (!a.out) return RG_EINVAL;
    uint64_t allocations = mem_count();
    const struct graph *graph = c->graph;
    uint32_t nodes = c->graph->ir.n;
    rg_status st = realize_chain(file, line, c);
    if (st) return st;
    if (j->recorded)
        st = call_work(CALL(jit_call, .c = c, .p = &a), do_replay);
    else
        st = run_fn(file, line, &a, j->stats.calls && env_int(ENV_JIT));
    for (uint32_t i = 0; i < j->nout && st; i++) a.out[i] = poison(c);
    if (st) return st;
    j->stats.replays += j->recorded && j->stats.calls > 1;
    j->stats.calls++;
    j->stats.allocations = mem_count() - allocations;
    j->stats.nodes = c->graph == graph ? c->graph->ir.n - nodes : c->graph->ir.n;
    j->graph = c->graph, j->nodes = c->graph->ir.n;
    return st;
}

static void free_jit(void *p) {
    struct rg_jit *j = p;
    forget(j);
    arena_free(&j->arena);
    mem_free(j->out);
    mem_free(j);
}

static void do_new(struct api_call *k) {
    struct rg_jit **out = k->p, *j = mem_alloc(sizeof *j);
    bool as_filled = k->bytes == RG_AS_FILLED;
    size_t n = as_filled ? JIT_OUTPUTS : k->bytes;
    if (j)
        *j = (struct rg_jit){
            .c = k->c, .nout = (uint32_t)n, .as_filled = as_filled, .file = k->file, .line = k->line};
    if (j) arena_init(&j->arena, &k->c->err);
    if (j && n <= 1u << 20) j->out = mem_alloc((n + 1) * sizeof *j->out);
    if (!j || !j->out) {
        mem_free(j);
        call_fail(k, RG_ENOMEM, "out of memory for a jit with %zu outputs", n);
    }
    memset(j->out, 0, (n + 1) * sizeof *j->out);
    *out = j;
    ctx_own(k->c, j, free_jit);
}

rg_jit *rg_jit_new_at(const char *file, int line, rg_ctx *c, rg_jit_fn *fn, void *user, size_t outputs) {
    struct rg_jit *j = NULL;
    if (!c || call_work(CALL(jit_new, .c = c, .p = &j, .bytes = outputs), do_new)) return NULL;
    j->fn = fn, j->user = user;
    return j;
}

void rg_jit_free(rg_jit *j) {
    if (!j) return;
    drop_outputs(j);
    ctx_disown(j->c, j);
    free_jit(j);
}

rg_status rg_jit_info(const rg_jit *j, rg_jit_stats *out) {
    if (!j || !out) return RG_EINVAL;
    *out = j->stats;
    out->kernels = j->cost.kernels, out->bytes = j->cost.bytes, out->ops = j->cost.ops;
    out->least = j->cost.least;
    return RG_OK;
}
