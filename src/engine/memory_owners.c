/* memory_owners.c: what the memory of a plan is for.
 *
 * The values between the kernels of a plan lie in one block, at offsets that were planned; each has a life, from the
 * call that writes it to the last one that reads it. Here every one of them gets its category and the source line that
 * asked for it, so that a profile can take the block apart at any call:
 *   activation  computed forward and read by the backward pass
 *   gradient    computed by the backward pass and read by the optimizer
 *   temporary   everything else
 * A value that planning itself made (a partial sum) has the source line of the call that writes it.
 * Tests: tests/unit/profile_memory.c */
#include "engine/internal.h"

#include <stdatomic.h>

uint32_t owner_name(enum event_memory kind, size_t asked, const char *what) {
    char text[200];
    snprintf(text, sizeof text, "%s\t%zu\t%.100s", event_memory_text(kind), asked, what);
    return event_name_shared(text);
}

/* ---- of a schedule ---------------------------------------------------------------------------------------- */

struct writing {
    struct arena *work;
    const struct schedule *s;
    struct recipe_value *of; /* by buffer of the schedule */
};

static void note_uses(struct writing *w, uint32_t call) {
    const struct sched_call *c = &w->s->call.p[call];
    const struct sched_prog *p = &w->s->prog.p[c->prog];
    const uint8_t *use = p->builtin ? NULL : prog_uses(w->work, p);
    for (uint32_t b = 0; b < p->nbuf; b++) {
        struct recipe_value *v = &w->of[c->buf[b]];
        bool stored = use ? use[b] & USE_STORED : b == 0, loaded = use ? use[b] & USE_LOADED : b > 0;
        if (stored && v->writer == UINT32_MAX) v->writer = call;
        if (loaded) ((uint32_t *)v->reader)[v->readers++] = call;
    }
}

/* Room for as many readers as a buffer has users. */
static void find_uses(struct writing *w) {
    const struct schedule *s = w->s;
    uint32_t *users = arena_array(w->work, uint32_t, s->buf.n + 1);
    w->of = arena_array(w->work, struct recipe_value, s->buf.n + 1);
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t b = 0; b < s->prog.p[s->call.p[i].prog].nbuf; b++) users[s->call.p[i].buf[b]]++;
    for (uint32_t i = 0; i < s->buf.n; i++) {
        w->of[i].writer = UINT32_MAX;
        w->of[i].reader = arena_array(w->work, uint32_t, users[i] + 1);
    }
    for (uint32_t i = 0; i < s->call.n; i++) note_uses(w, i);
}

static void add_shape(struct str *out, const struct sched_buf *b) {
    str_add(out, dtype_info[b->dt].name);
    if (!b->shape) {
        str_printf(out, "(%lld)", (long long)b->elements);
        return;
    }
    str_add(out, "(");
    for (uint32_t i = 0; i < b->shape->n; i++)
        str_printf(out, "%s%lld", i ? "," : "", (long long)b->shape->d[i]);
    str_add(out, ")");
}

static const char *shapes_stored(struct writing *w, uint32_t call) {
    enum { MOST = 3 };
    const struct sched_call *c = &w->s->call.p[call];
    struct str s;
    uint32_t n = 0;
    str_init(&s, w->work);
    for (uint32_t b = 0; b < w->s->prog.p[c->prog].nbuf; b++) {
        if (w->of[c->buf[b]].writer != call) continue;
        if (n++ == MOST) str_add(&s, " ..");
        if (n > MOST) continue;
        if (n > 1) str_add(&s, " ");
        add_shape(&s, &w->s->buf.p[c->buf[b]]);
    }
    return s.n ? s.p : "";
}

void owners_recipe(struct arena *work, const struct schedule *s, const struct plan_key *key,
                   struct recipe *r) {
    struct writing w = {.work = work, .s = s};
    struct map index; /* node id -> 1 + index in the key */
    map_init(&index, work);
    for (uint32_t i = 0; i < key->topo.n; i++) map_put(&index, key->topo.p[i]->id, i + 1);
    find_uses(&w);
    for (uint32_t i = 0; i < r->ncall; i++) r->call[i].shapes = shapes_stored(&w, i);
    r->value = arena_array(work, struct recipe_value, s->buf.n + 1);
    for (uint32_t i = 0; i < s->buf.n; i++) {
        const struct sched_buf *b = &s->buf.p[i];
        struct recipe_value v = w.of[i];
        struct str t;
        uint64_t at = 0;
        v.asked = b->elements * dtype_info[b->dt].bytes;
        if (b->kind != BUF_TEMP || !v.asked || b->first > b->last || v.writer == UINT32_MAX) continue;
        map_get(&index, b->node, &at);
        str_init(&t, work);
        add_shape(&t, b);
        v.offset = b->offset, v.first = b->first, v.last = b->last;
        v.node = (uint32_t)at, v.shape = t.p;
        r->value[r->nvalue++] = v;
    }
}

/* ---- of a plan --------------------------------------------------------------------------------------------------- */

struct finding {
    struct arena *work;
    const struct realize *r;
    const struct plan_key *key;
    const struct recipe *from;
};

/* Nodes of the present program, by their indices in the key. */
static uint32_t *nodes_of(const struct finding *f, const uint32_t *index, uint32_t *n) {
    uint32_t *node = arena_array(f->work, uint32_t, *n + 1), k = 0;
    for (uint32_t i = 0; i < *n; i++)
        if (index[i] < f->key->topo.n) node[k++] = f->key->topo.p[index[i]]->id;
    *n = k;
    return node;
}

static uint32_t part_of(const struct finding *f, const uint32_t *index, uint32_t n) {
    const uint32_t *node = nodes_of(f, index, &n);
    return f->r->part ? f->r->part(f->r->cx, node, n) : 0;
}

static uint32_t call_part(const struct finding *f, uint32_t call) {
    return call < f->from->ncall ? part_of(f, f->from->call[call].node, f->from->call[call].nodes) : 0;
}

static enum event_memory kind_of(const struct finding *f, const uint32_t *part,
                                 const struct recipe_value *v) {
    uint32_t own = 0, by = 0, index = v->node - 1;
    if (v->node) own = part_of(f, &index, 1);
    if (!own && v->writer < f->from->ncall) own = part[v->writer];
    for (uint32_t i = 0; i < v->readers; i++)
        if (v->reader[i] < f->from->ncall) by |= part[v->reader[i]];
    if (own & PART_BACKWARD && by & PART_OPTIMISER) return EVENT_MEM_GRADIENT;
    if (own == PART_FORWARD && by & PART_BACKWARD) return EVENT_MEM_ACTIVATION;
    return EVENT_MEM_TEMPORARY;
}

static void add_site(const struct finding *f, struct str *out, const struct recipe_value *v) {
    size_t from = out->n;
    uint32_t index = v->node - 1, n = v->node != 0;
    if (!f->r->site) return;
    const uint32_t *node = nodes_of(f, &index, &n);
    f->r->site(f->r->cx, out, node, n);
    if (out->n > from || v->writer >= f->from->ncall) return;
    n = f->from->call[v->writer].nodes;
    node = nodes_of(f, f->from->call[v->writer].node, &n);
    f->r->site(f->r->cx, out, node, n);
}

void owners_find(struct arena *work, struct exec_plan *x, const struct realize *r, const struct plan_key *key,
                 const struct recipe *from) {
    struct finding f = {work, r, key, from};
    uint32_t *part = arena_array(work, uint32_t, from->ncall + 1);
    for (uint32_t i = 0; i < from->ncall; i++) {
        part[i] = call_part(&f, i);
        x->call[i].shapes = arena_printf(&x->arena, "%s", from->call[i].shapes);
    }
    x->planned = arena_array(&x->arena, struct planned_value, from->nvalue + 1);
    for (uint32_t i = 0; i < from->nvalue; i++) {
        const struct recipe_value *v = &from->value[i];
        struct str t;
        str_init(&t, work);
        str_printf(&t, "%s\t%lld\t", event_memory_text(kind_of(&f, part, v)), (long long)v->asked);
        add_site(&f, &t, v);
        str_printf(&t, "\t%s\t%lld", v->shape, (long long)v->offset);
        x->planned[x->nplanned++] = (struct planned_value){
            (v->asked + 63) & ~(int64_t)63, v->offset, v->first, v->last, arena_printf(&x->arena, "%s", t.p)};
    }
}

void owners_tell(struct exec_plan *x) {
    uint32_t file = event_record_file();
    if (!file || x->told == file) return;
    static atomic_uint plans;
    struct event_span own = event_begin(EVENT_PROFILER, 0);
    char name[24];
    snprintf(name, sizeof name, "plan %u", atomic_fetch_add(&plans, 1) + 1);
    if (!x->name) x->name = event_name(name);
    x->told = file;
    for (uint32_t i = 0; i < x->nplanned; i++) {
        const struct planned_value *p = &x->planned[i];
        event_add_info(EVENT_PLANNED, x->name, event_name(p->owner), own.t0, own.t0, p->bytes,
                       (int64_t)((uint64_t)p->first << 32 | p->last));
    }
    event_end(own, 0, 0);
}
