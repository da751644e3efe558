/* linearize.c: from a loop tree to a list of nodes in the order of evaluation.
 *
 * Each expression is evaluated in the outermost open scope in which it is allowed to be:
 *   - inside the loops whose variables it uses,
 *   - inside every open loop that changes an accumulator or scratch buffer that it reads,
 *   - a load that is not proved to stay in its buffer also inside the conditions and the loops of unknown length
 *     around it: it must not run if they do not.
 * A value moves out of a condition only together with a loop. So loop-invariant code motion is done here, whatever the C
 * compiler does later. A value is evaluated again when its scope is closed or something it reads has changed since.
 *
 * What can change is kept as a mask of 64 bits per node (accumulators and scratch buffers hashed to bits):
 * a collision only costs a repeated evaluation. */
#include "codegen/internal.h"

struct lin_scope {
    const uop *head; /* FOR, IF, or NULL for the outermost */
    uint32_t serial;
    uint64_t changed; /* mask of what statements inside may change */
    bool guards;      /* may run zero times */
    uop_vec list;
};

struct where { /* last evaluation of a node */
    uint32_t depth, serial;
    uint64_t clock;
};

struct lin {
    struct ir *ir;
    struct arena *a;
    struct free_ranges fr;
    VEC(struct lin_scope) scope;
    uint32_t serial;
    uint64_t clock, changed_at[64];
    struct where *at; /* by id */
    uint64_t *mask;   /* by id, mask_known */
    bool *mask_known;
    uint32_t *mark; /* by id: scratch of distance() */
    uint32_t n;
    uop_vec locals;
    uop_vec known; /* scratch buffers, in the order of their bits */
    bool threads;  /* a block program */
};

/* Scratch buffers are few: each gets a bit of its own, as long as there are any. */
static unsigned mutable_bit(struct lin *l, const uop *n) {
    if (n->op == OP_ACC) return (unsigned)(hash_u64(n->id) % 48);
    uint32_t i = 0;
    while (i < l->known.n && l->known.p[i] != n) i++;
    if (i == l->known.n) vec_push(l->a, &l->known, n);
    return 48 + i % 16;
}

/* Accumulators and scratch buffers that a node reads. */
static uint64_t reads(struct lin *l, const uop *n) {
    if (l->mask_known[n->id]) return l->mask[n->id];
    uop_vec topo = {0};
    uop_topo(l->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *m = topo.p[i];
        if (l->mask_known[m->id]) continue;
        uint64_t bits = m->op == OP_ACC || m->op == OP_LOCAL ? 1ull << mutable_bit(l, m) : 0;
        for (uint32_t k = 0; k < m->nsrc; k++) bits |= l->mask[m->src[k]->id];
        l->mask[m->id] = bits;
        l->mask_known[m->id] = true;
    }
    return l->mask[n->id];
}

static uint64_t writes(struct lin *l, const uop *n) {
    uint64_t bits = 0;
    if (n->op == OP_SET || n->op == OP_PIN_REG || n->op == OP_WARP_REDUCE)
        return 1ull << mutable_bit(l, n->src[0]);
    if (n->op == OP_WGMMA_WAIT) return UINT64_MAX; /* accumulators too */
    if (n->op == OP_BARRIER || n->op == OP_CP_ASYNC_WAIT || n->op == OP_MBAR_WAIT || n->op == OP_CLUSTER_SYNC)
        return 0xffffull << 48; /* any scratch: others may have written it */
    for (uint32_t i = 0; i + 2 < n->nsrc && n->op == OP_MMA; i++) bits |= 1ull << mutable_bit(l, n->src[i]);
    if (n->op == OP_CP_ASYNC || n->op == OP_TMA_LOAD) return 1ull << mutable_bit(l, access_buf(n));
    if (n->op == OP_STORE || n->op == OP_STORE_ADD)
        return access_buf(n)->op == OP_LOCAL ? 1ull << mutable_bit(l, access_buf(n)) : 0;
    if (n->op == OP_FOR || n->op == OP_IF || n->op == OP_BLOCK)
        for (uint32_t i = 0; i < n->nsrc; i++)
            if (op_is_effect((enum op)n->src[i]->op)) bits |= writes(l, n->src[i]);
    return bits;
}

/* May this run where the program as written would not have come? */
static bool is_safe(const uop *n) {
    if (n->op != OP_LOAD)
        return true; /* a PRED_LOAD has its own predicate; PARAMS only reads the table of buffers */
    const uop *buf = access_buf(n), *i = access_offset(n);
    return buf->op == OP_PARAM && i->lo >= 0 &&
           i->hi <= buf->src[0]->lo - (i->lanes == 1 ? n->src[0]->lanes : 1);
}

static uint32_t depth_needed(struct lin *l, const uop *n) {
    uint32_t d = 0;
    const uop_vec *f = free_of(&l->fr, n);
    uint64_t m = reads(l, n);
    bool guarded = !is_safe(n);
    for (uint32_t i = 1; i < l->scope.n; i++) {
        const struct lin_scope *s = &l->scope.p[i];
        bool in = (s->changed & m) || (guarded && s->guards);
        if (s->head->op == OP_FOR)
            for (uint32_t k = 0; k < f->n && !in; k++) in = f->p[k] == s->head->src[0];
        if (in) d = i;
    }
    while (d + 1 < l->scope.n && l->scope.p[d + 1].head->op == OP_IF)
        d++; /* nothing is gained just outside a condition */
    return d;
}

static bool still_valid(struct lin *l, const uop *n, uint32_t need) {
    const struct where *w = &l->at[n->id];
    if (!w->serial || w->depth < need || w->depth >= l->scope.n || l->scope.p[w->depth].serial != w->serial)
        return false;
    for (uint64_t m = reads(l, n); m; m &= m - 1)
        if (l->changed_at[__builtin_ctzll(m)] > w->clock) return false;
    return true;
}

/* A value is not outside of what it is made from: a load may have had to stay inside a condition. */
static uint32_t depth_of_sources(struct lin *l, const uop *n) {
    uint32_t d = 0;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *s = n->src[i];
        if (s->op == OP_INDEX)
            d = RG_MAX(d, depth_of_sources(l, s));
        else if (!linear_in_place(s))
            d = RG_MAX(d, l->at[s->id].depth);
    }
    return d;
}

/* Evaluates n (and before it what it needs) unless its value is at hand. Iterative: expressions can be deep. */
static void evaluate(struct lin *l, const uop *root) {
    struct lin_frame {
        const uop *n;
        uint32_t next;
    };
    VEC(struct lin_frame) stack = {0};
    vec_push(l->a, &stack, ((struct lin_frame){root, 0}));
    while (stack.n) {
        struct lin_frame *f = &stack.p[stack.n - 1];
        const uop *n = f->n;
        if (linear_in_place(n)) {
            stack.n--;
            continue;
        }
        uint32_t need = n->op == OP_INDEX ? 0 : depth_needed(l, n);
        if (n->op != OP_INDEX && f->next == 0 && still_valid(l, n, need)) {
            stack.n--;
            continue;
        }
        if (f->next < n->nsrc) {
            const uop *s = n->src[f->next++];
            vec_push(l->a, &stack, ((struct lin_frame){s, 0}));
            continue;
        }
        stack.n--;
        if (n->op == OP_INDEX) continue;
        need = RG_MAX(need, depth_of_sources(l, n));
        vec_push(l->a, &l->scope.p[need].list, n);
        l->at[n->id] = (struct where){need, l->scope.p[need].serial, l->clock};
    }
}

static void open_scope(struct lin *l, const uop *head, uint64_t changed, bool guards) {
    struct lin_scope s = {.head = head, .serial = ++l->serial, .changed = changed, .guards = guards};
    vec_push(l->a, &l->scope, s);
}

static uop_vec close_scope(struct lin *l) { return l->scope.p[--l->scope.n].list; }

static void put(struct lin *l, const uop *n) { vec_push(l->a, &l->scope.p[l->scope.n - 1].list, n); }

static void put_all(struct lin *l, const uop_vec *v) {
    for (uint32_t i = 0; i < v->n; i++) put(l, v->p[i]);
}

static void statement(struct lin *l, const uop *s);

/* ---- pairs ------------------------------------------------------------------------------------------------
 * Two copies of a long statement (an exp, say) are evaluated in turns, a value of one and a value of the other:
 * C compilers mostly keep the order they are given, and a core finds more to do at once (exp: 5 % faster). Stores of a thread of a
 * block program, of which few share a core: four of them. */

enum { PAIR_NODES = 12 /* shorter statements gain nothing */, PAIR = 2, INTERLEAVE = 4 };

static void evaluate_sources(struct lin *l, const uop *s) {
    for (uint32_t i = s->op == OP_SET ? 1 : 0; i < s->nsrc; i++) evaluate(l, s->src[i]);
}

static void execute(struct lin *l, const uop *s) {
    put(l, s);
    l->clock++;
    for (uint64_t m = writes(l, s); m; m &= m - 1) l->changed_at[__builtin_ctzll(m)] = l->clock;
}

/* Are two accesses to one buffer known not to overlap? Their indices differ by a constant then. */
static bool disjoint(const uop *a, const uop *b) {
    const uop *at[2] = {a->src[1], b->src[1]};
    int64_t plus[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (at[i]->op == OP_ADD && uop_is_const(at[i]->src[1]))
            plus[i] = at[i]->src[1]->arg.i, at[i] = at[i]->src[0];
    bool plain = a->src[0] == b->src[0] && at[0] == at[1] && at[0]->lanes == 1;
    return plain && (plus[0] < plus[1] ? plus[1] - plus[0] >= a->lanes : plus[0] - plus[1] >= b->lanes);
}

/* May b be evaluated before a is done? It may read what a writes, but elsewhere (a result stored over what is added
 * to it). */
static bool may_pair(struct lin *l, const uop *a, const uop *b) {
    if (a->op != b->op || (a->op != OP_STORE && a->op != OP_SET) || a->nsrc != 2) return false;
    uint64_t bits = writes(l, a);
    if (b->src[0]->op == OP_INDEX && bits & reads(l, access_offset(b))) return false;
    if (!(bits & reads(l, b->src[1]))) return true;
    if (a->op != OP_STORE) return false;
    uop_vec topo = {0};
    uop_topo(l->a, &b->src[1], 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        bool meets = n->op == OP_INDEX && bits & reads(l, n->src[0]), acc = n->op == OP_ACC;
        if ((meets && !disjoint(a->src[0], n)) || (acc && bits & reads(l, n))) return false;
    }
    return true;
}

/* How far the second list must stay behind the first, so that what it takes from there is evaluated before. */
static uint32_t distance(struct lin *l, const uop *const *first, uint32_t n, const uop *const *second,
                         uint32_t m) {
    uint32_t d = 0;
    for (uint32_t i = 0; i < n; i++) l->mark[first[i]->id] = i + 1;
    for (uint32_t k = 0; k < m; k++)
        for (uint32_t i = 0; i < second[k]->nsrc; i++) {
            const uop *s = second[k]->src[i];
            for (uint32_t j = 0; j < (s->op == OP_INDEX ? s->nsrc : 1); j++) {
                uint32_t at = l->mark[s->op == OP_INDEX ? s->src[j]->id : s->id];
                if (at > k + 1) d = RG_MAX(d, at - 1 - k);
            }
        }
    for (uint32_t i = 0; i < n; i++) l->mark[first[i]->id] = 0;
    return d;
}

/* The parts of the list that end there, n of them, a value of each in turn. */
static void weave(struct lin *l, uop_vec *list, const uint32_t *end, uint32_t n) {
    uint32_t behind[INTERLEAVE] = {0}, steps = 0, at = end[0];
    const uop **was = arena_array(l->a, const uop *, end[n] - at);
    memcpy(was, list->p + at, (end[n] - at) * sizeof *was);
    for (uint32_t k = 0; k < n; k++) {
        const uop *const *part = was + end[k] - end[0];
        for (uint32_t i = 0; i < k; i++)
            behind[k] = RG_MAX(behind[k], behind[i] + distance(l, was + end[i] - end[0], end[i + 1] - end[i],
                                                               part, end[k + 1] - end[k]));
        steps = RG_MAX(steps, behind[k] + end[k + 1] - end[k]);
    }
    for (uint32_t i = 0; i < steps; i++)
        for (uint32_t k = 0; k < n; k++)
            if (i >= behind[k] && i - behind[k] < end[k + 1] - end[k])
                list->p[at++] = was[end[k] - end[0] + i - behind[k]];
}

static void interleave(struct lin *l, const uop *const *s, uint32_t n) {
    uint32_t depth = l->scope.n - 1, end[INTERLEAVE + 1] = {l->scope.p[depth].list.n};
    bool brief = false;
    for (uint32_t i = 0; i < n; i++) {
        evaluate_sources(l, s[i]);
        end[i + 1] = l->scope.p[depth].list.n;
        brief |= end[i + 1] - end[i] < PAIR_NODES;
    }
    if (!brief) weave(l, &l->scope.p[depth].list, end, n);
    for (uint32_t i = 0; i < n; i++) execute(l, s[i]);
}

/* How many statements from the first of n on may be evaluated together. */
static uint32_t together(struct lin *l, const uop *const *s, uint32_t n) {
    uint32_t most = RG_MIN(l->threads && s[0]->op == OP_STORE ? INTERLEAVE : PAIR, n);
    for (uint32_t k = 1; k < most; k++)
        for (uint32_t i = 0; i < k; i++)
            if (!may_pair(l, s[i], s[k])) return k;
    return most;
}

/* ---- loads ahead ------------------------------------------------------------------------------------------
 * A thread of a block program that ends with many stores, each of a value that needs something from memory (the residual of a
 * GEMM), would wait for each of them in turn. A kernel reads nothing that it wrote, so the loads of several come first. */

enum { LOADS_AHEAD = 16 };

static bool stores_result(const uop *s) { return s->op == OP_STORE && access_buf(s)->op == OP_PARAM; }

/* For the stores from b's statement i on; where they end, or where the next ones begin. */
static uint32_t load_ahead(struct lin *l, const uop *b, uint32_t i) {
    uint32_t end = i;
    while (end < b->nsrc && end < i + LOADS_AHEAD && stores_result(b->src[end])) end++;
    for (uint32_t k = i; k < end && end > i + 1; k++) {
        uop_vec topo = {0};
        uop_topo(l->a, &b->src[k]->src[1], 1, &topo);
        for (uint32_t j = 0; j < topo.n; j++) {
            const uop *n = topo.p[j];
            bool loads = n->op == OP_LOAD || n->op == OP_PRED_LOAD;
            if (loads && access_buf(n)->op == OP_PARAM) evaluate(l, n);
        }
    }
    return end;
}

static void block(struct lin *l, const uop *b) {
    uint32_t loaded = 0; /* up to here */
    for (uint32_t i = 0; i < b->nsrc; i++) {
        if (l->threads && i >= loaded) loaded = load_ahead(l, b, i);
        uint32_t n = together(l, b->src + i, b->nsrc - i);
        if (n > 1)
            interleave(l, b->src + i, n), i += n - 1;
        else
            statement(l, b->src[i]);
    }
}

static void loop(struct lin *l, const uop *s) {
    const uop *r = s->src[0];
    evaluate(l, r->src[0]);
    open_scope(l, s, writes(l, s), !uop_is_const(r->src[0]));
    block(l, s->src[1]);
    uop_vec body = close_scope(l);
    put(l, r);
    put_all(l, &body);
    put(l, uop1(l->ir, OP_END, r));
}

static void branch(struct lin *l, const uop *s) {
    evaluate(l, s->src[0]);
    const uop *open = uop1(l->ir, OP_IF, s->src[0]);
    uop_vec side[2] = {{0}, {0}};
    for (uint32_t i = 1; i < s->nsrc; i++) {
        open_scope(l, s, writes(l, s->src[i]), true);
        block(l, s->src[i]);
        side[i - 1] = close_scope(l);
    }
    put(l, open);
    put_all(l, &side[0]);
    if (side[1].n) {
        put(l, uop1(l->ir, OP_ELSE, open));
        put_all(l, &side[1]);
    }
    put(l, uop1(l->ir, OP_END, open));
}

static void statement(struct lin *l, const uop *s) {
    if (s->op == OP_FOR) {
        loop(l, s);
    } else if (s->op == OP_IF) {
        branch(l, s);
    } else if (s->op == OP_BLOCK) {
        block(l, s);
    } else {
        evaluate_sources(l, s);
        execute(l, s);
    }
}

int64_t tree_shared(struct ir *ir, const uop *tree) {
    uop_vec topo = {0};
    int64_t all = 0;
    uop_topo(ir->arena, &tree, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_LOCAL || n->nsrc > 1 || n->arg.mem.space != SPACE_SHARED) continue;
        int64_t bytes = n->src[0]->arg.i * dtype_info[n->dt].bytes, unit = local_align(n);
        all = (all + unit - 1) / unit * unit + (bytes + 127) / 128 * 128;
    }
    return all;
}

static void note_memory(struct lin *l, const uop *tree, struct linear *out) {
    uop_vec topo = {0};
    uop_topo(l->a, &tree, 1, &topo);
    out->shared += tree_shared(l->ir, tree);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_LOCAL) {
            int64_t bytes = n->src[0]->arg.i * dtype_info[n->dt].bytes;
            vec_push(l->a, &l->locals, n);
            if (n->nsrc > 1) continue; /* an alias of another */
            if (n->arg.mem.space != SPACE_SHARED) out->scratch += (bytes + 63) / 64 * 64;
        }
        if (n->op == OP_PARAM || n->op == OP_PARAMS) out->nbuf = RG_MAX(out->nbuf, n->arg.param.slot + 1);
        if (n->op == OP_VAR) out->nvar = RG_MAX(out->nvar, n->arg.param.slot + 1);
        if (n->op == OP_RANGE && n->arg.range.kind == AX_GRID) out->grid = n->src[0]->arg.i;
        if (n->op == OP_RANGE && n->arg.range.kind == AX_THREAD) out->threads = (uint32_t)n->src[0]->arg.i;
        if (n->op == OP_CLUSTER_SYNC) out->cluster = (uint32_t)n->arg.i;
    }
    out->local = l->locals.p;
    out->nlocal = l->locals.n;
}

void linearize(struct ir *ir, const uop *tree, struct linear *out) {
    struct lin l = {.ir = ir, .a = ir->arena};
    free_init(&l.fr, ir, ir->arena);
    out->grid = 1;
    note_memory(&l, tree, out);
    l.threads = out->threads != 0;
    l.n = ir->n;
    l.at = arena_array(ir->arena, struct where, l.n);
    l.mask = arena_array(ir->arena, uint64_t, l.n);
    l.mask_known = arena_array(ir->arena, bool, l.n);
    l.mark = arena_array(ir->arena, uint32_t, l.n);
    open_scope(&l, NULL, 0, false);
    statement(&l, tree);
    uop_vec list = close_scope(&l);
    /* what depends on nothing was evaluated before the grid's loop: the grid is first, so it moves inside */
    uint32_t g = 0;
    while (g < list.n && !(list.p[g]->op == OP_RANGE && list.p[g]->arg.range.kind == AX_GRID)) g++;
    if (g < list.n) {
        const uop *grid = list.p[g];
        memmove(&list.p[1], &list.p[0], g * sizeof *list.p);
        list.p[0] = grid;
    }
    out->u = list.p;
    out->n = list.n;
}
