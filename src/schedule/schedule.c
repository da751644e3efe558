/* schedule.c: from a tensor program to ordered calls with their memory. schedule() is the whole pipeline.
 *
 * Order: a kernel runs after those that make what it reads, and an in-place store after every kernel that reads the
 * version before it. If that is cyclic, kernels with several outputs are split; if it still is, readers of the old version
 * get a copy of it (two buffers that are swapped), and planning starts over.
 * Tests: tests/unit/schedule.c, tests/semantics */
#include <math.h>
#include <stdlib.h>

#include "schedule/internal.h"

struct planned_call { /* a kernel of the plan and what it depends on */
    struct planned_kernel k;
    int64_t *table; /* of a batch: its tasks */
    uint32_t words;
    uop_vec reads;        /* nodes in memory, with their version: units, BUFFERs, ASSIGNs */
    VEC(uint32_t) after;  /* calls that must run before it */
    VEC(uint32_t) covers; /* ids of the caller's nodes */
    uint32_t waits;
    const struct sched_builtin *exchange; /* a collective; NULL: it is none */
};

struct schedule_state {
    struct arena *a;
    struct sgraph g;
    struct fusion_plan plan;
    struct rangeify rf; /* for kernels that are split */
    VEC(struct planned_call) call;
    uint32_t *maker; /* unit -> call + 1 that stores it */
    uint32_t *order;
    VEC(const struct built *) first; /* by program: the kernel that it was made of */
    struct schedule *out;
};

/* ---- what a kernel reads ---------------------------------------------------------------------------------------- */

struct read_walk {
    struct schedule_state *s;
    struct planned_call *c;
    uint32_t *seen, mark;
    uint32_t *seen_origin;
};

static void walk(struct read_walk *w, const uop *n) {
    struct sgraph *g = &w->s->g;
    uop_vec stack = {0};
    vec_push(w->s->a, &stack, n);
    while (stack.n) {
        n = stack.p[--stack.n];
        uint32_t u = g->unit_of[n->id];
        bool mine = u && w->s->maker[u - 1] && &w->s->call.p[w->s->maker[u - 1] - 1] == w->c;
        if (w->seen[n->id] == w->mark) continue;
        w->seen[n->id] = w->mark;
        if (!mine && (sg_is_memory(g, n) || (u && w->s->plan.stored[u - 1]))) {
            vec_push(w->s->a, &w->c->reads, n);
            continue;
        }
        uint32_t o = g->origin[n->id];
        if (o && w->seen_origin[o - 1] != w->mark && n->op != OP_CONST) {
            w->seen_origin[o - 1] = w->mark;
            vec_push(w->s->a, &w->c->covers, o - 1);
        }
        for (uint32_t i = n->op == OP_ASSIGN || n->op == OP_SCATTER; i < n->nsrc; i++)
            vec_push(w->s->a, &stack, n->src[i]);
    }
}

static void find_reads(struct schedule_state *s, uint32_t caller_nodes) {
    struct read_walk w = {.s = s,
                          .seen = arena_array(s->a, uint32_t, s->g.ir->n),
                          .seen_origin = arena_array(s->a, uint32_t, caller_nodes + 1)};
    memset(s->maker, 0, (s->g.units + 1) * sizeof *s->maker);
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->call.p[i].k.n; k++) s->maker[s->call.p[i].k.unit[k]] = i + 1;
    for (uint32_t i = 0; i < s->call.n; i++) {
        w.c = &s->call.p[i];
        w.mark = i + 1;
        w.c->reads.n = w.c->covers.n = w.c->after.n = 0;
        for (uint32_t k = 0; k < w.c->k.n; k++) walk(&w, s->g.unit[w.c->k.unit[k]].n);
    }
}

/* ---- order ---------------------------------------------------------------------------------------------------------- */

static uint32_t maker_of(struct schedule_state *s, const uop *n) {
    uint32_t u = s->g.unit_of[n->id];
    return u ? s->maker[u - 1] : 0;
}

static void link_calls(struct schedule_state *s) {
    VEC(uint32_t) *readers = arena_calloc(s->a, s->g.ir->n, sizeof *readers);
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->call.p[i].reads.n; k++) {
            const uop *n = s->call.p[i].reads.p[k];
            vec_push(s->a, &readers[n->id], i);
            if (maker_of(s, n) && maker_of(s, n) - 1 != i)
                vec_push(s->a, &s->call.p[i].after, maker_of(s, n) - 1);
        }
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->call.p[i].k.n; k++) {
            const uop *n = s->g.unit[s->call.p[i].k.unit[k]].n;
            if (n->op != OP_ASSIGN && n->op != OP_SCATTER) continue;
            const uop *was = n->src[0];
            if (maker_of(s, was) && maker_of(s, was) - 1 != i)
                vec_push(s->a, &s->call.p[i].after, maker_of(s, was) - 1);
            for (uint32_t q = 0; q < readers[was->id].n; q++)
                if (readers[was->id].p[q] != i) vec_push(s->a, &s->call.p[i].after, readers[was->id].p[q]);
        }
}

/* Ready calls, the least key first: a binary heap. The low half of a key is the call's number. */
struct call_heap {
    uint64_t *p;
    uint32_t n;
};

static void heap_push(struct call_heap *h, uint64_t x) {
    uint32_t at = h->n++;
    for (; at && h->p[(at - 1) / 2] > x; at = (at - 1) / 2) h->p[at] = h->p[(at - 1) / 2];
    h->p[at] = x;
}

static uint64_t heap_pop(struct call_heap *h) {
    uint64_t least = h->p[0], x = h->p[--h->n];
    uint32_t at = 0;
    for (uint32_t c; (c = 2 * at + 1) < h->n; at = c) {
        c += c + 1 < h->n && h->p[c + 1] < h->p[c];
        if (h->p[c] >= x) break;
        h->p[at] = h->p[c];
    }
    h->p[at] = x;
    return least;
}

/* Topological order, by urgency (NULL: all alike), then close to the program's; false: calls that still wait are on a cycle or behind one. */
static bool sort_by(struct schedule_state *s, const uint32_t *urgency) {
    uint32_t n = s->call.n, done = 0;
    VEC(uint32_t) *then = arena_calloc(s->a, n + 1, sizeof *then);
    struct call_heap ready = {arena_array(s->a, uint64_t, n + 1), 0};
    s->order = arena_array(s->a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        s->call.p[i].waits = s->call.p[i].after.n;
        for (uint32_t k = 0; k < s->call.p[i].after.n; k++) vec_push(s->a, &then[s->call.p[i].after.p[k]], i);
        if (!s->call.p[i].waits) heap_push(&ready, (uint64_t)(urgency ? urgency[i] : 0) << 32 | i);
    }
    while (ready.n) {
        uint32_t i = s->order[done++] = (uint32_t)heap_pop(&ready);
        for (uint32_t k = 0; k < then[i].n; k++) {
            uint32_t c = then[i].p[k];
            if (!--s->call.p[c].waits) heap_push(&ready, (uint64_t)(urgency ? urgency[c] : 0) << 32 | c);
        }
    }
    return done == n;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

/* An order that frees large values soon is taken where it needs at most half of the memory: gradients that are sums over parts
 * (blocks of queries) would keep the values of all parts until the sums are computed. */
enum { LEAN_LEAST = 1 << 24, LEAN_CALLS = 4096 }; /* bytes between kernels; calls, at most */

static double value_bytes(struct schedule_state *s, const uop *n) {
    return (double)shape_size(sg_shape(&s->g, n)) * dtype_info[n->dt].bytes;
}

/* Of values that are read later. */
static double bytes_made(struct schedule_state *s, uint32_t i, const uint32_t *readers) {
    double sum = 0;
    for (uint32_t k = 0; k < s->call.p[i].k.n; k++) {
        const uop *n = s->g.unit[s->call.p[i].k.unit[k]].n;
        if (readers[n->id]) sum += value_bytes(s, n);
    }
    return sum;
}

/* By node: calls that have yet to read it; results are read in the end. */
static uint32_t *count_readers(struct schedule_state *s) {
    uint32_t *readers = arena_array(s->a, uint32_t, s->g.ir->n);
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->call.p[i].reads.n; k++) readers[s->call.p[i].reads.p[k]->id]++;
    for (uint32_t i = 0; i < s->g.root->nsrc; i++) readers[s->g.target[i]->id]++;
    return readers;
}

/* Of values that only this call has yet to read. */
static double bytes_freed(struct schedule_state *s, uint32_t i, const uint32_t *readers) {
    double sum = 0;
    for (uint32_t k = 0; k < s->call.p[i].reads.n; k++) {
        const uop *n = s->call.p[i].reads.p[k];
        if (maker_of(s, n) && readers[n->id] == 1) sum += value_bytes(s, n);
    }
    return sum;
}

static void read_values(struct schedule_state *s, uint32_t i, uint32_t *readers) {
    for (uint32_t k = 0; k < s->call.p[i].reads.n; k++) readers[s->call.p[i].reads.p[k]->id]--;
}

static double order_peak(struct schedule_state *s) {
    uint32_t *readers = count_readers(s);
    double live = 0, peak = 0;
    for (uint32_t k = 0; k < s->call.n; k++) {
        live += bytes_made(s, s->order[k], readers);
        peak = RG_MAX(peak, live);
        live -= bytes_freed(s, s->order[k], readers);
        read_values(s, s->order[k], readers);
    }
    return peak;
}

/* Of the ready calls the one that adds least to what is kept, then the first. */
static void sort_lean(struct schedule_state *s) {
    uint32_t n = s->call.n, ready_n = 0, done = 0, *readers = count_readers(s);
    VEC(uint32_t) *then = arena_calloc(s->a, n + 1, sizeof *then);
    uint32_t *ready = arena_array(s->a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        s->call.p[i].waits = s->call.p[i].after.n;
        for (uint32_t k = 0; k < s->call.p[i].after.n; k++) vec_push(s->a, &then[s->call.p[i].after.p[k]], i);
        if (!s->call.p[i].waits) ready[ready_n++] = i;
    }
    while (ready_n) {
        uint32_t best = 0;
        double least = INFINITY;
        for (uint32_t k = 0; k < ready_n; k++) {
            double net = bytes_made(s, ready[k], readers) - bytes_freed(s, ready[k], readers);
            if (net < least || (net == least && ready[k] < ready[best])) least = net, best = k;
        }
        uint32_t i = s->order[done++] = ready[best];
        ready[best] = ready[--ready_n];
        read_values(s, i, readers);
        for (uint32_t k = 0; k < then[i].n; k++)
            if (!--s->call.p[then[i].p[k]].waits) ready[ready_n++] = then[i].p[k];
    }
}

static void find_lean_order(struct schedule_state *s) {
    uint32_t *order = s->order;
    double peak = s->call.n > LEAN_CALLS ? 0 : order_peak(s);
    if (peak < LEAN_LEAST) return;
    s->order = arena_array(s->a, uint32_t, s->call.n + 1);
    sort_lean(s);
    if (order_peak(s) > peak * (s->g.checkpointed ? 1 : 0.5)) s->order = order;
}

/* ---- collectives ------------------------------------------------------------------------------------------------ */

/* Collectives run beside kernels (engine/overlap.c), one after the other in an order that is given. List scheduling: a collective begins
 * when its input is stored, and what leads to the first is computed before what leads to the next; what needs none of their inputs comes
 * last, by the last collective that it waits for. */
struct exchange_order {
    uint32_t *first; /* by call: number of the first collective that depends on it, or UINT32_MAX */
    uint32_t *last;  /* number + 1 of the last one that it depends on, or 0 */
    uint32_t n;
};

static bool find_exchanges(struct schedule_state *s, struct exchange_order *x) {
    uint32_t n = s->call.n;
    *x = (struct exchange_order){arena_array(s->a, uint32_t, n + 1), arena_array(s->a, uint32_t, n + 1), 0};
    memset(x->first, 0xff, (n + 1) * sizeof *x->first);
    for (uint32_t i = 0; i < n; i++) {
        struct planned_call *c = &s->call.p[s->order[i]];
        const struct sched_builtin *b = c->k.built->builtin;
        uint32_t *last = &x->last[s->order[i]];
        for (uint32_t k = 0; k < c->after.n; k++) *last = RG_MAX(*last, x->last[c->after.p[k]]);
        c->exchange = b && !strcmp(b->name, call_info[CALL_collective].name) ? b : NULL;
        if (c->exchange) x->first[s->order[i]] = x->n++, *last = x->n;
    }
    for (uint32_t i = n; i-- > 0 && x->n;) {
        const struct planned_call *c = &s->call.p[s->order[i]];
        for (uint32_t k = 0; k < c->after.n; k++)
            x->first[c->after.p[k]] = RG_MIN(x->first[c->after.p[k]], x->first[s->order[i]]);
    }
    return x->n;
}

/* A gather takes more memory than it frees: it begins when the result of the collective before it is about to be used, not at once. So of
 * parameters that are gathered layer by layer two layers' are whole, not all. */
static void hold_gathers(struct schedule_state *s, const struct exchange_order *x) {
    uint32_t n = s->call.n, *call = arena_array(s->a, uint32_t, x->n + 1),
             *user = arena_array(s->a, uint32_t, x->n + 1);
    memset(user, 0xff, (x->n + 1) * sizeof *user);
    for (uint32_t i = 0; i < n; i++) {
        const struct planned_call *c = &s->call.p[s->order[i]];
        if (c->exchange) call[x->last[s->order[i]] - 1] = s->order[i];
        for (uint32_t k = 0; k < c->after.n && !c->exchange; k++) {
            uint32_t from = c->after.p[k];
            if (s->call.p[from].exchange && user[x->last[from] - 1] == UINT32_MAX)
                user[x->last[from] - 1] = s->order[i];
        }
    }
    for (uint32_t k = 1; k < x->n; k++) {
        struct planned_call *c = &s->call.p[call[k]];
        if (c->exchange->num[1] <= c->exchange->num[0] || user[k - 1] == UINT32_MAX) continue;
        const struct planned_call *u = &s->call.p[user[k - 1]];
        for (uint32_t i = 0; i < u->after.n; i++)
            if (x->last[u->after.p[i]] <= k && !s->call.p[u->after.p[i]].exchange)
                vec_push(s->a, &c->after, u->after.p[i]);
    }
}

static const uint32_t *find_urgency(struct schedule_state *s, const struct exchange_order *x) {
    uint32_t *urgency = arena_array(s->a, uint32_t, s->call.n + 1);
    for (uint32_t i = 0; i < s->call.n; i++)
        urgency[i] = s->call.p[i].exchange       ? 0
                     : x->first[i] != UINT32_MAX ? 1 + x->first[i]
                                                 : 1 + x->n + x->last[i];
    return urgency;
}

static bool sort_calls(struct schedule_state *s) {
    struct exchange_order x;
    if (!sort_by(s, NULL)) return false;
    if (!find_exchanges(s, &x)) return find_lean_order(s), true;
    hold_gathers(s, &x);
    return sort_by(s, find_urgency(s, &x));
}

/* By call: is it on a cycle, or between two? The other unordered calls only wait for one. */
static const uint8_t *find_cycles(struct schedule_state *s) {
    uint32_t n = s->call.n, *users = arena_array(s->a, uint32_t, n + 1);
    uint8_t *in = arena_alloc(s->a, n + 1);
    VEC(uint32_t) free = {0};
    for (uint32_t i = 0; i < n; i++) in[i] = s->call.p[i].waits > 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; in[i] && k < s->call.p[i].after.n; k++) users[s->call.p[i].after.p[k]]++;
    for (uint32_t i = 0; i < n; i++)
        if (in[i] && !users[i]) vec_push(s->a, &free, i);
    while (free.n) {
        uint32_t i = free.p[--free.n];
        in[i] = 0;
        for (uint32_t k = 0; k < s->call.p[i].after.n; k++) {
            uint32_t to = s->call.p[i].after.p[k];
            if (in[to] && !--users[to]) vec_push(s->a, &free, to);
        }
    }
    return in;
}

/* Every kernel on a cycle that has several outputs becomes several kernels. */
static bool split_kernels(struct schedule_state *s) {
    bool any = false;
    uint32_t n = s->call.n;
    const uint8_t *on_cycle = find_cycles(s);
    for (uint32_t i = 0; i < n; i++) {
        struct planned_kernel k = s->call.p[i].k;
        if (!on_cycle[i] || k.n < 2) continue;
        any = true;
        for (uint32_t j = 0; j < k.n; j++) {
            struct planned_kernel one = {.unit = &k.unit[j], .n = 1};
            plan_emit(&s->g, &s->rf, &one, s->plan.stored);
            if (j)
                vec_push(s->a, &s->call, ((struct planned_call){.k = one}));
            else
                s->call.p[i] = (struct planned_call){.k = one};
        }
    }
    return any;
}

/* Marks versions of buffers that a cycle overwrites: their readers will read copies. */
static bool copy_versions(struct schedule_state *s, uint8_t *old) {
    bool any = false;
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->call.p[i].k.n && s->call.p[i].waits; k++) {
            const uop *n = s->g.unit[s->call.p[i].k.unit[k]].n;
            if (n->op != OP_ASSIGN) continue;
            uint32_t o = s->g.origin[n->src[0]->id];
            if (o && !old[o - 1]) old[o - 1] = 1, any = true;
        }
    return any;
}

/* ---- batches ------------------------------------------------------------------------------------------------------- */

/* Calls that no other call waits for can all run at the end: an optimizer's updates, whenever their gradients were ready. Those that
 * wait for different collectives stay apart. */
static void find_depths(struct schedule_state *s, uint32_t *depth) {
    uint8_t *awaited = arena_alloc(s->a, s->call.n + 1);
    for (uint32_t i = 0; i < s->call.n; i++) {
        uint32_t c = s->order[i];
        for (uint32_t k = 0; k < s->call.p[c].after.n; k++) {
            awaited[s->call.p[c].after.p[k]] = 1;
            depth[c] = RG_MAX(depth[c], depth[s->call.p[c].after.p[k]] + 1);
        }
    }
    for (uint32_t c = 0; c < s->call.n; c++)
        if (!awaited[c]) depth[c] = s->call.n;
    struct exchange_order x;
    const uint32_t *urgency = find_exchanges(s, &x) ? find_urgency(s, &x) : NULL;
    for (uint32_t c = 0; c < s->call.n && urgency; c++) depth[c] += urgency[c] * (s->call.n + 1);
}

/* One call for the whole group; it waits for all that its members waited for. */
static struct planned_call merge_group(struct schedule_state *s, struct kernel_batch *b,
                                       const struct batch_group *group) {
    struct planned_call c = {0};
    batch_build(b, group, &c.k, &c.table, &c.words);
    const struct model *machine = sg_machine(&s->g);
    double launch = (model_value(machine, MODEL_LAUNCH) + model_value(machine, MODEL_FORK)) * 1e-9;
    for (uint32_t i = 0; i < group->call.n; i++) {
        const struct planned_call *m = &s->call.p[group->call.p[i]];
        for (uint32_t k = 0; k < m->after.n; k++) vec_push(s->a, &c.after, m->after.p[k]);
        for (uint32_t k = 0; k < m->covers.n; k++) vec_push(s->a, &c.covers, m->covers.p[k]);
        c.k.price.seconds += m->k.price.seconds - (i ? launch : 0);
        c.k.price.bytes += m->k.price.bytes;
        c.k.price.reads += m->k.price.reads, c.k.price.writes += m->k.price.writes;
    }
    if (c.k.price.seconds < launch) c.k.price.seconds = launch;
    return c;
}

static void batch_calls(struct schedule_state *s) {
    uint32_t n = s->call.n, *depth = arena_array(s->a, uint32_t, n + 1),
             *to = arena_array(s->a, uint32_t, n + 1);
    struct kernel_batch b;
    bool any = false;
    if (s->g.opts->no_batch || s->g.opts->no_multi || n < 2) return; /* a batch stores several outputs too */
    batch_init(&b, &s->rf);
    find_depths(s, depth);
    for (uint32_t i = 0; i < n; i++)
        if (!s->call.p[i].k.built->builtin && !s->call.p[i].k.built->loop)
            batch_candidate(&b, &s->call.p[i].k, s->plan.stored, depth[i], i);
    for (uint32_t i = 0; i < n; i++) to[i] = UINT32_MAX;
    struct schedule_state was = *s;
    s->call.p = NULL, s->call.n = s->call.cap = 0;
    for (uint32_t i = 0; i < b.group.n; i++) {
        if (!batch_fits(&b.group.p[i])) continue;
        any = true;
        for (uint32_t k = 0; k < b.group.p[i].call.n; k++) to[b.group.p[i].call.p[k]] = s->call.n;
        struct planned_call c = merge_group(&was, &b, &b.group.p[i]);
        vec_push(s->a, &s->call, c);
    }
    if (!any) {
        s->call = was.call;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (to[i] != UINT32_MAX) continue;
        to[i] = s->call.n;
        vec_push(s->a, &s->call, was.call.p[i]);
    }
    for (uint32_t i = 0; i < s->call.n; i++)
        for (uint32_t k = 0; k < s->call.p[i].after.n; k++)
            s->call.p[i].after.p[k] = to[s->call.p[i].after.p[k]];
    if (!sort_calls(s)) err_throw(s->g.ir->err, RG_EINTERNAL, "schedule: a batch closed a cycle");
}

/* ---- short calls side by side ------------------------------------------------------------------------------------- */

/* A call that takes little more than its launch, element by element or by sums of few terms, and how it is joined: of two that
 * wait for equally many others neither waits for the other. */
enum { SHORT_TERMS = 64, SHORT_TRIES = 4, SHORT_CALLS = 4096 };
#define SHORT_TIME 1.15 /* launches */
#define JOINED_GAIN 0.75

static bool is_short(struct schedule_state *s, const struct planned_call *c, double launch) {
    const struct built *b = c->k.built;
    uop_vec topo = {0};
    if (b->builtin || b->loop || c->table || c->k.price.seconds > SHORT_TIME * launch) return false;
    struct arena_mark mark = arena_mark(s->g.eval);
    bool fits = true;
    uop_topo(s->g.eval, &b->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n && fits; i++) {
        const uop *n = topo.p[i];
        double terms = 1;
        for (uint32_t k = 1; k < n->nsrc && n->op == OP_REDUCE; k++) terms *= (double)n->src[k]->src[0]->hi;
        fits = terms <= SHORT_TERMS && n->op != OP_SCAN && n->op != OP_STAGE && n->op != OP_STORE_ADD;
    }
    arena_release(s->g.eval, mark);
    return fits;
}

static int64_t first_size(struct schedule_state *s, const struct planned_call *c) {
    const uop *n = s->g.unit[c->k.unit[0]].n;
    return shape_size(sg_shape(&s->g, n->op == OP_ASSIGN ? n->src[1] : n));
}

static int by_number(const void *x, const void *y) {
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Makes call b a part of call a, if one kernel for both takes a launch less. */
static bool join_call(struct schedule_state *s, struct planned_call *a, const struct planned_call *b,
                      double launch) {
    int64_t x = first_size(s, a), y = first_size(s, b);
    uint32_t n = a->k.n + b->k.n;
    if (RG_MAX(x, y) % RG_MAX(RG_MIN(x, y), 1) || RG_MAX(x, y) > PARTS_MOST * RG_MIN(x, y)) return false;
    struct planned_kernel both = {.unit = NULL, .n = n};
    uint32_t *unit = arena_array(s->a, uint32_t, n);
    memcpy(unit, a->k.unit, a->k.n * sizeof *unit), memcpy(unit + a->k.n, b->k.unit, b->k.n * sizeof *unit);
    qsort(unit, n, sizeof *unit, by_number);
    both.unit = unit;
    struct arena_mark mark = arena_mark(s->g.eval);
    const uop *sink = rangeify_kernel(&s->rf, unit, n, s->plan.stored);
    double seconds = sink ? price_kernel(&s->rf, sink, sg_machine(&s->g)).seconds : INFINITY;
    arena_release(s->g.eval, mark);
    if (!(seconds < a->k.price.seconds + b->k.price.seconds - JOINED_GAIN * launch)) return false;
    plan_emit(&s->g, &s->rf, &both, s->plan.stored);
    a->k = both;
    for (uint32_t k = 0; k < b->after.n; k++) vec_push(s->a, &a->after, b->after.p[k]);
    for (uint32_t k = 0; k < b->covers.n; k++) vec_push(s->a, &a->covers, b->covers.p[k]);
    for (uint32_t k = 0; k < b->reads.n; k++) vec_push(s->a, &a->reads, b->reads.p[k]);
    return true;
}

/* Removes the calls that are a part of another, to[i], and orders the others. */
static void drop_calls(struct schedule_state *s, const uint32_t *to) {
    uint32_t n = s->call.n, kept = 0, *number = arena_array(s->a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (to[i] == i) number[i] = kept++;
    for (uint32_t i = 0; i < n; i++) {
        if (to[i] != i) continue;
        struct planned_call *c = &s->call.p[i];
        for (uint32_t k = 0; k < c->after.n; k++) c->after.p[k] = number[to[c->after.p[k]]];
        s->call.p[number[i]] = *c;
    }
    s->call.n = kept;
    if (!sort_calls(s)) err_throw(s->g.ir->err, RG_EINTERNAL, "schedule: joined calls closed a cycle");
}

/* On a GPU: rotary positions of queries and of keys, what is written to two caches. */
static void join_short_calls(struct schedule_state *s) {
    uint32_t n = s->call.n, joined = 0, *depth = arena_array(s->a, uint32_t, n + 1),
             *to = arena_array(s->a, uint32_t, n + 1);
    VEC(uint32_t) *at = arena_calloc(s->a, n + 1, sizeof *at); /* by depth: short calls */
    const struct model *machine = sg_machine(&s->g);
    double launch = (model_value(machine, MODEL_LAUNCH) + model_value(machine, MODEL_FORK)) * 1e-9;
    struct exchange_order x;
    const struct sched_opts *o = s->g.opts;
    bool plain = o->mode != PLAN_COST || o->no_multi || o->no_batch || s->g.checkpointed;
    if (!o->gpu || plain || n < 2 || n > SHORT_CALLS || find_exchanges(s, &x)) return;
    rangeify_restart(&s->rf, s->g.region);
    s->rf.beside = true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = s->order[i], k = 0;
        struct planned_call *call = &s->call.p[c];
        for (uint32_t j = 0; j < call->after.n; j++) depth[c] = RG_MAX(depth[c], depth[call->after.p[j]] + 1);
        to[c] = c;
        if (!is_short(s, call, launch)) continue;
        uint32_t *list = at[depth[c]].p, most = at[depth[c]].n, first = most - RG_MIN(most, SHORT_TRIES);
        for (k = first; k < most && to[c] == c; k++)
            if (join_call(s, &s->call.p[list[k]], call, launch)) to[c] = list[k], joined++;
        if (to[c] == c) vec_push(s->a, &at[depth[c]], c);
    }
    s->rf.beside = false;
    if (joined) drop_calls(s, to);
}

/* ---- memory and calls -------------------------------------------------------------------------------------------------- */

struct buffer_numbers {
    struct schedule_state *s;
    struct map buf;    /* node id of the memory -> number of its sched_buf */
    struct map result; /* node id of the memory -> the first result that lives in it */
};

static uint32_t buffer_of(struct buffer_numbers *p, const uop *memory) {
    struct schedule_state *s = p->s;
    uint64_t at;
    if (map_get(&p->buf, memory->id, &at)) return (uint32_t)at;
    uint32_t origin = s->g.origin[memory->id];
    struct sched_buf b = {.kind = BUF_TEMP,
                          .dt = (enum dtype)memory->dt,
                          .elements = shape_size(sg_shape(&s->g, memory)),
                          .first = UINT32_MAX,
                          .node = origin ? origin - 1 : UINT32_MAX,
                          .shape = sg_shape(&s->g, memory)};
    if (memory->op == OP_BUFFER) b.kind = BUF_GRAPH, b.number = (uint32_t)memory->arg.u;
    if (b.kind == BUF_TEMP && map_get(&p->result, memory->id, &at))
        b.kind = BUF_RESULT, b.number = (uint32_t)at;
    map_put(&p->buf, memory->id, s->out->buf.n);
    vec_push(s->a, &s->out->buf, b);
    return s->out->buf.n - 1;
}

static uint32_t add_table(struct schedule_state *s, const struct planned_call *c) {
    struct sched_buf b = {.kind = BUF_TABLE,
                          .number = s->out->table_n,
                          .dt = DT_I64,
                          .elements = c->words,
                          .first = UINT32_MAX,
                          .node = UINT32_MAX};
    s->out->table = arena_resize(s->a, s->out->table, s->out->table_n * sizeof *c->table,
                                 (s->out->table_n + c->words) * sizeof *c->table);
    memcpy(s->out->table + s->out->table_n, c->table, c->words * sizeof *c->table);
    s->out->table_n += c->words;
    vec_push(s->a, &s->out->buf, b);
    return s->out->buf.n - 1;
}

static bool is_same_kernel(const struct built *a, const struct built *b) {
    if (!a->canon || !b->canon) return !a->canon && !b->canon && !strcmp(a->text, b->text);
    return !strcmp(a->canon, b->canon);
}

static uint32_t prog_of(struct schedule_state *s, const struct planned_kernel *k, struct map *known) {
    const struct built *b = k->built;
    uint64_t h = b->canon ? hash_bytes(b->canon, strlen(b->canon), 1) : b->key, at;
    for (; map_get(known, h, &at); h = hash_u64(h + 1))
        if (is_same_kernel(s->first.p[at], b)) return (uint32_t)at;
    map_put(known, h, s->out->prog.n);
    vec_push(s->a, &s->first, b);
    struct sched_prog p = {.builtin = k->built->builtin,
                           .ir = k->built->ir,
                           .kernel = {.name = k->built->name, .opts = "", .sink = k->built->sink},
                           .nbuf = k->built->nbuf,
                           .nvar = k->built->nvar,
                           .var_name = k->built->var_name,
                           .text = k->built->text,
                           .seconds = k->price.seconds,
                           .reads = k->price.reads,
                           .writes = k->price.writes,
                           .bytes = k->price.bytes,
                           .share = k->share > 0 ? k->share : 1};
    vec_push(s->a, &s->out->prog, p);
    return s->out->prog.n - 1;
}

/* By slot of the program: the slot of the call's own kernel, which may number its buffers differently. */
static uint32_t *slots_of(struct schedule_state *s, const struct built *own, const struct built *prog) {
    uint32_t *slot = arena_array(s->a, uint32_t, own->nbuf + 1),
             *of = arena_array(s->a, uint32_t, own->nbuf + 1);
    for (uint32_t k = 0; k < own->nbuf; k++) slot[k] = k;
    if (own == prog || !own->canon) return slot;
    for (uint32_t k = 0; k < own->nbuf; k++) of[own->number[k]] = k;
    for (uint32_t k = 0; k < own->nbuf; k++) slot[k] = of[prog->number[k]];
    return slot;
}

static const struct sched_slice *slices_of(struct schedule_state *s, const struct built *own,
                                           const uint32_t *slot) {
    if (!own->slice) return NULL;
    struct sched_slice *slice = arena_array(s->a, struct sched_slice, own->nbuf);
    for (uint32_t k = 0; k < own->nbuf; k++) slice[k] = own->slice[slot[k]];
    return slice;
}

static void write_call(struct buffer_numbers *p, const struct planned_call *c, struct map *known) {
    struct schedule_state *s = p->s;
    uint32_t *buf = arena_array(s->a, uint32_t, c->k.built->nbuf + 1),
             *var = arena_array(s->a, uint32_t, c->k.built->nvar + 1), prog = prog_of(s, &c->k, known),
             i = s->out->call.n;
    const uint32_t *slot = slots_of(s, c->k.built, s->first.p[prog]);
    for (uint32_t k = 0; k < c->k.built->nbuf; k++) {
        const uop *memory = c->k.buffer[slot[k]];
        buf[k] = memory ? buffer_of(p, memory) : add_table(s, c);
        struct sched_buf *b = &s->out->buf.p[buf[k]];
        b->first = RG_MIN(b->first, i), b->last = i;
    }
    for (uint32_t k = 0; k < c->k.built->nvar; k++) var[k] = c->k.built->var[k];
    struct sched_call call = {.prog = prog,
                              .buf = buf,
                              .slice = slices_of(s, c->k.built, slot),
                              .var = var,
                              .node = c->covers.p,
                              .nodes = c->covers.n};
    vec_push(s->a, &s->out->call, call);
}

static void write_loop(struct buffer_numbers *p, const struct planned_call *c) {
    struct schedule_state *s = p->s;
    uint32_t *operand = arena_array(s->a, uint32_t, c->k.built->nbuf + 1);
    for (uint32_t k = 0; k < c->k.built->nbuf; k++) operand[k] = buffer_of(p, c->k.buffer[k]);
    loop_write(s->a, s->out, c->k.built->loop, operand, c->covers.p, c->covers.n);
    while (s->first.n < s->out->prog.n) vec_push(s->a, &s->first, NULL); /* known by their text alone */
}

static void write_calls(struct schedule_state *s) {
    struct buffer_numbers p = {.s = s};
    struct map known;
    map_init(&p.buf, s->a), map_init(&p.result, s->a);
    map_init(&known, s->a);
    for (uint32_t i = s->g.root->nsrc; i-- > 0;) map_put(&p.result, sg_memory(&s->g, s->g.target[i])->id, i);
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct planned_call *c = &s->call.p[s->order[i]];
        if (c->k.built->loop)
            write_loop(&p, c);
        else
            write_call(&p, c, &known);
        s->out->seconds += c->k.price.seconds;
        s->out->bytes += c->k.price.bytes;
    }
    uint32_t *result = arena_array(s->a, uint32_t, s->g.root->nsrc + 1);
    for (uint32_t i = 0; i < s->g.root->nsrc; i++)
        result[i] = buffer_of(&p, sg_memory(&s->g, s->g.target[i]));
    s->out->result = result;
}

/* A collective runs beside the calls after it until one uses its result, or that of a later one: until then its memory is not reused. */
static void extend_lives(struct schedule_state *s) {
    struct schedule *o = s->out;
    uint32_t *used = arena_array(s->a, uint32_t, o->buf.n + 1), until = o->call.n;
    for (uint32_t i = o->call.n; i-- > 0;) {
        const struct sched_call *c = &o->call.p[i];
        const struct sched_prog *p = &o->prog.p[c->prog];
        bool exchange = p->builtin && !strcmp(p->builtin->name, call_info[CALL_collective].name);
        if (exchange) {
            if (used[c->buf[0]]) until = RG_MIN(until, used[c->buf[0]] - 1);
            for (uint32_t k = 0; k < 2; k++)
                o->buf.p[c->buf[k]].last = RG_MAX(o->buf.p[c->buf[k]].last, RG_MIN(until, o->call.n - 1));
        }
        for (uint32_t k = 0; k < p->nbuf && !exchange; k++) used[c->buf[k]] = i + 1;
    }
}

/* Calls that run beside others, and those of a loop, stay where they are. */
static bool is_one_by_one(const struct schedule_state *s) {
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct built *b = s->call.p[i].k.built;
        if (b->loop || (b->builtin && !strcmp(b->builtin->name, call_info[CALL_collective].name)))
            return false;
    }
    return true;
}

static void plan_memory(struct schedule_state *s) {
    struct mem_item *item = arena_array(s->a, struct mem_item, s->out->buf.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->out->buf.n; i++) {
        struct sched_buf *b = &s->out->buf.p[i];
        if (b->kind == BUF_TEMP)
            item[n++] = (struct mem_item){
                .bytes = b->elements * dtype_info[b->dt].bytes, .first = b->first, .last = b->last};
    }
    s->out->temp_bytes = memory_plan(s->a, item, n);
    n = 0;
    for (uint32_t i = 0; i < s->out->buf.n; i++)
        if (s->out->buf.p[i].kind == BUF_TEMP) s->out->buf.p[i].offset = item[n++].offset;
}

/* ---- the pipeline ---------------------------------------------------------------------------------------------------------- */

static void take_plan(struct schedule_state *s) {
    for (uint32_t i = 0; i < s->plan.kernel.n; i++) {
        const uop *first = s->g.unit[s->plan.kernel.p[i].unit[0]].n;
        const struct shape *shape = sg_shape(&s->g, first->op == OP_ASSIGN ? first->src[1] : first);
        if (shape_size(shape)) /* empty tensors need no call */
            vec_push(s->a, &s->call, ((struct planned_call){.k = s->plan.kernel.p[i]}));
    }
}

static bool order_calls(struct schedule_state *s, uint32_t caller_nodes) {
    for (int attempt = 0; attempt < 2; attempt++) {
        find_reads(s, caller_nodes);
        link_calls(s);
        if (sort_calls(s)) return true;
        if (attempt || !split_kernels(s)) return false;
    }
    return false;
}

struct schedule_job {
    struct arena *a, region, eval;
    struct ir *ir;
    const uop *graph;
    const struct sched_opts *o;
    struct schedule *out;
};

static void plan_program(void *arg, const uint8_t *unused) {
    struct schedule_job *j = arg;
    uint8_t *old = arena_array(j->a, uint8_t, j->ir->n);
    for (;;) {
        struct schedule_state s = {.a = j->a, .out = j->out, .g = {.region = &j->region, .eval = &j->eval}};
        s.g.unused = unused;
        *j->out = (struct schedule){0};
        sgraph_init(&s.g, j->a, j->ir, j->graph, j->o, old);
        plan_graph(&s.g, &s.plan);
        rangeify_init(&s.rf, &s.g, &j->eval);
        rangeify_restart(&s.rf, &j->region);
        s.maker = arena_array(j->a, uint32_t, s.g.units + 1);
        take_plan(&s);
        if (!order_calls(&s, j->ir->n)) {
            if (copy_versions(&s, old)) continue;
            err_throw(j->ir->err, RG_EINTERNAL, "schedule: kernels depend on each other in a cycle");
        }
        batch_calls(&s);
        join_short_calls(&s);
        write_calls(&s);
        if (is_one_by_one(&s)) lower_peak(j->a, j->out, j->o->lean);
        extend_lives(&s);
        plan_memory(&s);
        j->out->naive_bytes = naive_bytes(&s.g);
        for (uint32_t i = 0; i < s.plan.kernel.n; i++)
            if (s.plan.kernel.p[i].built->loop)
                j->out->naive_bytes += loop_naive_bytes(s.plan.kernel.p[i].built->loop);
        j->out->visits = s.g.visits;
        j->out->store_all = s.plan.store_all, j->out->fuse_all = s.plan.fuse_all;
        return;
    }
}

static void run_job(void *arg) {
    struct schedule_job *j = arg;
    struct checkpoint_search s = {.limit = j->o->temp_limit, .out = j->out, .plan = plan_program, .cx = j};
    if (!s.limit) {
        plan_program(j, NULL);
        return;
    }
    checkpoints_find(j->a, j->graph, &s.all);
    s.unused = arena_array(j->a, uint8_t, j->graph->id + 1);
    checkpoints_choose(&s);
}

void schedule(struct arena *a, struct ir *ir, const uop *graph, const struct sched_opts *o,
              struct schedule *out) {
    struct schedule_job j = {.a = a, .ir = ir, .graph = graph, .o = o, .out = out};
    arena_init(&j.region, ir->err);
    arena_init(&j.eval, ir->err);
    int code = err_guard(ir->err, run_job, &j);
    arena_free(&j.region);
    arena_free(&j.eval);
    if (code) err_throw(ir->err, code, "schedule"); /* the first message stands */
}
