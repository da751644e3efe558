/* in_context.c: a command of a plan with its neighbours, to be timed as in the plan: back to back, captured as a graph or launched
 * one by one (graph_capture.c).
 *
 * A kernel's own time is not what it adds to a program: its successor may start while it drains, or find its output in cache. So
 * search times the command together with the one before and the one after it; a plan of up to three commands is timed whole.
 * The plan's memory is not modified: outputs go to copies, and later commands read those. A neighbour that updates memory in place, or
 * writes a part of what others write, is left out: its results would change from run to run.
 * Tests: tests/unit/cuda_fake_search.c */
#include "tune/search/internal.h"

enum { NEIGHBOURS = 3, LINE = 256 };

struct moved { /* memory of the plan and its copy */
    const char *from;
    size_t bytes;
    char *to;
    char *block; /* the allocation; NULL: the caller's */
};
struct search_context {
    struct engine *en;
    struct arena *arena;
    VEC(struct moved) moved;
    struct command cmd[NEIGHBOURS];
    const struct tune_job *job;
    uint32_t n, at; /* at: the command that is searched */
};

/* Does it update memory in place? */
static bool in_place(const struct command *c) {
    for (uint32_t i = 0; i < c->l.nbuf; i++)
        for (uint32_t k = 0; k < c->l.nbuf; k++)
            if (c->use[i] & USE_STORED && c->use[k] & USE_LOADED &&
                memory_meets(c->buf[i], c->size[i], c->buf[k], c->size[k]))
                return true;
    return false;
}

/* The copy of this memory, or itself; NULL: partly copied. */
static char *moved_to(const struct search_context *a, char *p, size_t bytes) {
    for (uint32_t i = a->moved.n; i-- > 0;) {
        const struct moved *m = &a->moved.p[i];
        if (!memory_meets(p, bytes, m->from, m->bytes)) continue;
        bool inside = p >= m->from && p + bytes <= m->from + m->bytes;
        return inside ? m->to + (p - m->from) : NULL;
    }
    return p;
}

/* Copies memory, with the alignment that it has in the plan. */
static bool move(struct search_context *a, const char *from, size_t bytes) {
    struct err e = {0};
    size_t off = (uintptr_t)from % LINE;
    vec_need(a->arena, &a->moved, 1);
    char *block = engine_alloc(a->en, &e, bytes + LINE);
    if (!block) return false;
    a->moved.p[a->moved.n++] = (struct moved){from, bytes, block + off, block};
    return !a->en->ops->copy(a->en->dev, &e, COPY_WITHIN, block + off, from, bytes);
}

/* Adds a command on copied buffers. False: left out. */
static bool take(struct search_context *a, const struct command *c) {
    void **buf = arena_array(a->arena, void *, c->l.nbuf + 1);
    if (!c->use || in_place(c)) return false;
    for (uint32_t i = 0; i < c->l.nbuf; i++) {
        char *p = c->buf[i];
        buf[i] = moved_to(a, p, c->size[i]);
        if (buf[i] == p && c->use[i] & USE_STORED)
            buf[i] = move(a, p, c->size[i]) ? moved_to(a, p, c->size[i]) : NULL;
        if (!buf[i]) return false;
    }
    a->cmd[a->n] = *c;
    a->cmd[a->n].buf = buf, a->cmd[a->n].l.buf = buf, a->n++;
    return true;
}

static bool is_in_place(const struct tune_job *j) {
    for (uint32_t i = 0; i < j->p->nbuf; i++)
        for (uint32_t k = 0; k < j->p->nbuf; k++)
            if (j->use[i] & USE_STORED && j->use[k] & USE_LOADED && j->same[i] == j->same[k]) return true;
    return false;
}

/* The command that is searched; its kernel is set by context_list. */
static void take_own(struct search_context *a, void *const *own) {
    const struct tune_job *j = a->job;
    void **buf = arena_array(a->arena, void *, j->p->nbuf + 1);
    for (uint32_t i = 0; i < j->p->nbuf; i++) {
        char *now = own[i] ? own[i] : moved_to(a, j->buf[i], j->bytes[i]);
        buf[i] = now ? now : j->buf[i];
    }
    a->at = a->n++;
    a->cmd[a->at].buf = buf;
}

void context_new(struct engine *en, struct arena *arena, const struct tune_job *j, void *const *own,
                 struct search_context **out) {
    struct search_context *a = *out = arena_new(arena, struct search_context);
    *a = (struct search_context){.en = en, .arena = arena, .job = j};
    uint32_t all = j->plan && !is_in_place(j) ? j->plan->cmd.n : 0, from = j->at ? j->at - 1 : 0;
    if (all >= NEIGHBOURS) from = RG_MIN(from, all - NEIGHBOURS);
    for (uint32_t i = 0; i < j->p->nbuf; i++)
        if (own[i]) vec_push(arena, &a->moved, ((struct moved){j->buf[i], j->bytes[i], own[i], NULL}));
    for (uint32_t i = from; i < RG_MIN(from + NEIGHBOURS, all); i++)
        if (i == j->at)
            take_own(a, own);
        else if (!take(a, &j->plan->cmd.p[i]) && i > j->at)
            break; /* the next may need its results */
    if (!all) take_own(a, own);
}

struct make_call {
    struct search_context *a;
    struct engine_list *l;
    const struct ekernel *k;
};

static void make_guarded(void *arg) {
    struct make_call *c = arg;
    const struct tune_job *j = c->a->job;
    struct err e = {0};
    for (uint32_t i = 0; i < c->a->n; i++) {
        if (i != c->a->at) {
            vec_push(&c->l->arena, &c->l->cmd, c->a->cmd[i]);
            continue;
        }
        if (engine_list_add(c->l, &e, c->k, c->a->cmd[i].buf, j->var) ||
            engine_list_uses(c->l, &e, i, j->use, j->bytes))
            err_throw(&c->l->err, e.code, "%s", e.msg);
    }
}

struct engine_list *context_list(struct search_context *a, struct err *e, const struct ekernel *k) {
    struct make_call c = {a, engine_list_new(a->en, e), k};
    if (!c.l) return NULL;
    err_clear(&c.l->err);
    if (!err_guard(&c.l->err, make_guarded, &c)) return c.l;
    err_set(e, c.l->err.code, "%s", c.l->err.msg);
    engine_list_free(c.l);
    return NULL;
}

void context_free(struct search_context *a) {
    for (uint32_t i = 0; a && i < a->moved.n; i++)
        if (a->moved.p[i].block) engine_free(a->en, a->moved.p[i].block, a->moved.p[i].bytes + LINE);
}
