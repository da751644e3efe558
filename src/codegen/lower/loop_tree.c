/* loop_tree.c: from a finished kernel graph to a loop tree.
 *
 * The graph has effects: the STOREs, and every REDUCE, SCAN and STAGE (each fills an accumulator or a scratch
 * buffer). An effect runs in a nest of loops: its context, shared with whoever uses its result, then its own.
 *
 *   context   the loops of the user that the effect must see: up to the last one that it depends on
 *   own       REDUCE and STAGE: the ranges they bind; SCAN: the ranges it runs along
 *   array     loops inside the first own loop that are not own: the accumulator is an array over them
 *
 * The tree is built from the outside in. At each level effects are put, in order of dependence, into the first
 * FOR over their next loop that does not stand before something they need; an effect and the users of its
 * context go together. So all that may share a loop does: the exp of a softmax is stored and summed in one pass. A value
 * that is used in the iteration that made it is passed on directly, not through memory.
 *
 * UNROLL, REG and VEC axes are no loops; statements mention them freely and expand.c writes them out.
 * Requires: sched_finish. Tests: tests/unit/codegen.c and the golden kernels. */
#include "codegen/internal.h"

enum { MOST_PARTS = 64 }; /* of one sum that threads have: each is a load */

struct effect {
    const uop *node;
    uop_vec loops;             /* the nest, outermost first */
    uint32_t context;          /* how many of them are shared with the users */
    uint32_t first;            /* depth at which its result starts to be made: the first own loop */
    bool nested;               /* loops is known */
    VEC(struct effect *) need; /* effects whose results it uses */
    VEC(bool) ident;           /* for each: a STAGE that it reads only at the element it is working on */
    const uop *memory;         /* LOCAL of a STAGE or of an array accumulator */
    const uop *cell;           /* where the running value is: ACC, or INDEX of the array */
    const uop *before; /* where it was one step earlier: the same, but for a SCAN along a written-out axis */
    const uop *prior;  /* SCAN that a BEFORE asks for: what it was one step earlier */
    const uop *carry;  /* SCAN along lanes: what came before this round, in all lanes */
    const uop *local;  /* .. the running value of this round alone */
    const uop *result; /* what users read: ACC, LOAD */
    uop_vec reads;     /* INDEX nodes of staged values in its expressions */
    uop_vec
        wide; /* STAGE: loops inside its own and written-out ranges that it depends on: a copy for each value */
    const uop *value;      /* STAGE: the expression stored, once emitted */
    const uop *ident_load; /* STAGE: LOAD of the element that the own loops stand at */
    bool open;             /* STAGE: emitted in a block that is still being built */
    uint32_t group;        /* scratch of group_effects() */
    struct effect *fused;
};

struct loop_tree {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    struct free_ranges fr;
    VEC(struct effect *) all; /* in order of dependence */
    struct map by_node;
    uint32_t accs, locals;
    uop_vec scratch;  /* LOCALs that were made */
    const uop *lanes; /* the THREAD range whose values are neighbours in a warp, or NULL */
};

static bool is_loop(const uop *r) { return axis_is_loop((enum axis_kind)r->arg.range.kind); }

/* Threads of a block: each has its own copy of everything without asking. */
static bool is_thread(const uop *r) { return r->arg.range.kind == AX_THREAD || r->arg.range.kind == AX_COPY; }

static bool has(const uop_vec *v, const uop *n) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i] == n) return true;
    return false;
}

static bool is_own(const struct effect *e, const uop *range) {
    if (e->node->op != OP_REDUCE && e->node->op != OP_SCAN && e->node->op != OP_STAGE) return false;
    for (uint32_t i = 1; i < e->node->nsrc; i++)
        if (e->node->src[i] == range) return true;
    return false;
}

/* ---- effects and what they need -------------------------------------------------------------------*/

static struct effect *effect_of(struct loop_tree *t, const uop *n) {
    uint64_t at;
    return map_get(&t->by_node, n->id, &at) ? t->all.p[at] : NULL;
}

static void add_effect(struct loop_tree *t, const uop *n) {
    struct effect *e = arena_new(t->a, struct effect);
    e->node = n;
    map_put(&t->by_node, n->id, t->all.n);
    vec_push(t->a, &t->all, e);
}

/* Walks the expressions of e down to other effects. */
static void find_needs(struct loop_tree *t, struct effect *e) {
    uop_vec stack = {0};
    struct map seen;
    map_init(&seen, t->a);
    uint32_t roots = e->node->op == OP_STORE || e->node->op == OP_STORE_ADD ? e->node->nsrc : 1;
    for (uint32_t i = roots; i-- > 0;) vec_push(t->a, &stack, e->node->src[i]);
    while (stack.n) {
        const uop *n = stack.p[--stack.n];
        if (map_get(&seen, n->id, NULL)) continue;
        map_put(&seen, n->id, 1);
        struct effect *f = effect_of(t, n->op == OP_BEFORE ? n->src[0] : n);
        if (f) {
            if (n->op == OP_BEFORE) f->prior = n;
            vec_push(t->a, &e->need, f);
            vec_push(t->a, &e->ident, true);
            continue;
        }
        for (uint32_t i = n->nsrc; i-- > 0;) vec_push(t->a, &stack, n->src[i]);
    }
    for (uint32_t i = 0; i < e->need.n; i++) { /* the seen nodes tell how staged values are read */
        struct effect *f = e->need.p[i];
        if (f->node->op != OP_STAGE) continue;
        const uop *at = stage_index(t->rw, f->node);
        f->ident_load = uop1(t->ir, OP_LOAD, mk_index(t->ir, f->node, at, 1));
        for (uint32_t k = 0; k < seen.cap; k++) {
            if (!seen.full[k]) continue;
            const uop *n = t->ir->node[seen.key[k]];
            if (n->op != OP_INDEX || n->src[0] != f->node) continue;
            if (n->src[1] != at || f->node->arg.mem.space == SPACE_SHARED) e->ident.p[i] = false;
            vec_push(t->a, &e->reads, n);
        }
    }
    for (uint32_t i = 1; i < e->reads.n; i++)
        for (uint32_t k = i; k > 0 && e->reads.p[k]->id < e->reads.p[k - 1]->id; k--) {
            const uop *n = e->reads.p[k];
            e->reads.p[k] = e->reads.p[k - 1], e->reads.p[k - 1] = n;
        }
}

/* ---- nests --------------------------------------------------------------------------------------- */

static void sort_by_pos(uop_vec *v) {
    for (uint32_t i = 1; i < v->n; i++)
        for (uint32_t k = i; k > 0 && v->p[k]->arg.range.pos < v->p[k - 1]->arg.range.pos; k--) {
            const uop *x = v->p[k];
            v->p[k] = v->p[k - 1], v->p[k - 1] = x;
        }
}

/* The loops of user e that f must run inside of. */
static void context_of(struct loop_tree *t, const struct effect *f, const struct effect *e, uop_vec *out) {
    const uop_vec *free = free_of(&t->fr, f->node);
    int own = 256;
    uint32_t len = 0;
    for (uint32_t i = 1; i < f->node->nsrc && f->node->op != OP_STAGE; i++)
        if (is_loop(f->node->src[i])) own = RG_MIN(own, f->node->src[i]->arg.range.pos);
    for (uint32_t i = 0; i < e->loops.n; i++) {
        const uop *l = e->loops.p[i];
        if (is_own(f, l) || l->arg.range.pos >= own) break;
        if (has(free, l) || f->node->op == OP_SCAN || l->arg.range.kind == AX_GRID)
            len = i + 1; /* nothing runs outside the grid */
    }
    out->n = 0;
    for (uint32_t i = 0; i < len; i++) vec_push(t->a, out, e->loops.p[i]);
}

static void set_nest(struct loop_tree *t, struct effect *f, const uop_vec *context) {
    const uop_vec *free = free_of(&t->fr, f->node);
    uop_vec rest = {0};
    for (uint32_t i = 0; i < free->n; i++)
        if (is_loop(free->p[i]) && !has(context, free->p[i])) vec_push(t->a, &rest, free->p[i]);
    if (f->node->op == OP_REDUCE || f->node->op == OP_STAGE)
        for (uint32_t i = 1; i < f->node->nsrc; i++)
            if (is_loop(f->node->src[i])) vec_push(t->a, &rest, f->node->src[i]);
    sort_by_pos(&rest);
    f->loops.n = 0;
    for (uint32_t i = 0; i < context->n; i++) vec_push(t->a, &f->loops, context->p[i]);
    for (uint32_t i = 0; i < rest.n; i++) vec_push(t->a, &f->loops, rest.p[i]);
    f->first = f->loops.n;
    for (uint32_t i = f->loops.n; i-- > 0;)
        if (is_own(f, f->loops.p[i])) f->first = i;
    f->context = context->n;
    f->nested = true;
}

static void nest_needs(struct loop_tree *t, struct effect *e) {
    uop_vec want = {0};
    for (uint32_t i = 0; i < e->need.n; i++) {
        struct effect *f = e->need.p[i];
        context_of(t, f, e, &want);
        if (!f->nested) {
            set_nest(t, f, &want);
            continue;
        }
        bool same = f->context == want.n;
        for (uint32_t k = 0; k < want.n && same; k++) same = f->loops.p[k] == want.p[k];
        if (!same)
            opt_fail(t->s, "ORDER",
                     "a %s is used in two different loop nests; keep its axes outside those of its users",
                     op_info[f->node->op].name);
    }
}

/* ---- accumulators and scratch --------------------------------------------------------------------- */

static bool is_taken(const struct loop_tree *t, const uop *local) {
    for (uint32_t i = 0; i < t->scratch.n; i++)
        if (t->scratch.p[i] == local) return true;
    return false;
}

/* A LOCAL is known by its name, so a name that is taken is passed over: row1 number 15 would be row11 number 5. */
static const uop *new_local(struct loop_tree *t, union arg like, enum dtype dt, int64_t size) {
    const char *base = like.mem.name ? ir_name(t->ir, like.mem.name) : "acc";
    enum space space = like.mem.space == SPACE_SHARED ? SPACE_SHARED : SPACE_SCRATCH;
    if (size > (64 << 20) / dtype_info[dt].bytes)
        opt_fail(t->s, "ORDER", "a scratch buffer of %lld elements passes the limit of 64 MiB",
                 (long long)size);
    const uop *len = uop_idx(t->ir, size), *local;
    do {
        char text[64];
        int n = snprintf(text, sizeof text, "%.40s%u", base, t->locals++);
        union arg arg = {.mem = {ir_sym(t->ir, text, (size_t)n), space, like.mem.panels,
                                 like.mem.panels ? like.mem.row : 0}};
        local = uop_new(t->ir, OP_LOCAL, dt, 1, &len, 1, arg);
    } while (is_taken(t, local));
    vec_push(t->ir->arena, &t->scratch, local);
    return local;
}

/* Position in an array over dims; sizes known at run time only count with their bound. */
static const uop *array_index(struct loop_tree *t, const uop_vec *dims, int64_t *size) {
    const uop *at = uop_idx(t->ir, 0);
    *size = 1;
    for (uint32_t i = 0; i < dims->n; i++) {
        int64_t n = dims->p[i]->src[0]->hi;
        at = rw2(t->rw, OP_ADD, rw2(t->rw, OP_MUL, at, uop_idx(t->ir, n)), dims->p[i]);
        if (n > (1 << 26) || (*size *= n) > (1 << 26))
            opt_fail(t->s, "ORDER", "an accumulator array would pass 2^26 elements");
    }
    return at;
}

static const uop *new_acc(struct loop_tree *t, const uop *node, const uop_vec *coord) {
    return uop_new(t->ir, OP_ACC, node->dt, 1, coord->p, coord->n, ARG_INT(t->accs++));
}

/* Free written-out ranges, vector axis last: it becomes the lanes. */
static void expanded_of(struct loop_tree *t, const struct effect *e, bool bound, uop_vec *out) {
    const uop_vec *free = free_of(&t->fr, e->node);
    for (int vec = 0; vec < 2; vec++) {
        for (uint32_t i = 0; i < free->n; i++)
            if (!is_loop(free->p[i]) && !is_thread(free->p[i]) && !is_own(e, free->p[i]) &&
                (free->p[i]->arg.range.kind == AX_VEC) == vec)
                vec_push(t->a, out, free->p[i]);
        for (uint32_t i = 1; i < e->node->nsrc && bound; i++) {
            uint8_t k = e->node->src[i]->arg.range.kind;
            if ((k == AX_REG && !vec) || (k == AX_VEC && vec)) vec_push(t->a, out, e->node->src[i]);
        }
    }
}

/* The lanes that a SCAN runs along, or NULL. */
static const uop *scan_lanes(const struct effect *e) {
    for (uint32_t i = 1; i < e->node->nsrc && e->node->op == OP_SCAN; i++)
        if (e->node->src[i]->arg.range.kind == AX_VEC) return e->node->src[i];
    return NULL;
}

/* A SCAN along written-out values needs a cell for each of them, because each is read: step u continues
 * from the cell of step u-1, the first one from the last of the round before. Returns the number of cells. */
static int64_t scan_steps(struct loop_tree *t, const struct effect *e, const uop **now, const uop **before) {
    uop_vec own = {0};
    int64_t n = 1;
    for (uint32_t i = 1; i < e->node->nsrc && e->node->op == OP_SCAN; i++) {
        if (is_loop(e->node->src[i]) || e->node->src[i]->arg.range.kind == AX_VEC) continue;
        vec_push(t->a, &own, e->node->src[i]);
        n *= e->node->src[i]->src[0]->hi;
    }
    if (n == 1) return 1;
    *now = linear_index(t->rw, own.p, own.n);
    *before = rw2(t->rw, OP_MOD, rw2(t->rw, OP_ADD, *now, uop_idx(t->ir, n - 1)), uop_idx(t->ir, n));
    return n;
}

/* Does each thread have a part of the result? */
static bool reduces_threads(const struct effect *e) {
    for (uint32_t i = 1; i < e->node->nsrc && e->node->op == OP_REDUCE; i++)
        if (e->node->src[i]->arg.range.kind == AX_THREAD) return true;
    return false;
}

/* .. that threads other than the lanes of a warp have, which combine theirs by shuffles. */
static bool meets_in_memory(const struct loop_tree *t, const struct effect *e) {
    for (uint32_t i = 1; i < e->node->nsrc && e->node->op == OP_REDUCE; i++)
        if (e->node->src[i]->arg.range.kind == AX_THREAD && e->node->src[i] != t->lanes) return true;
    return false;
}

/* A tile whose ranges are no loops, for one thread: accumulators. */
static bool in_registers(const struct effect *e) {
    if (e->node->op != OP_STAGE || e->node->arg.mem.space != SPACE_REG) return false;
    for (uint32_t i = 1; i < e->node->nsrc; i++)
        if (is_loop(e->node->src[i])) return false;
    return true;
}

static void make_cells(struct loop_tree *t, struct effect *e) {
    uop_vec dims = {0}, coord = {0}, users = {0};
    const uop *step = NULL, *before = NULL;
    if (e->node->op == OP_STORE || e->node->op == OP_STORE_ADD) return;
    if (in_registers(e)) {
        for (uint32_t i = 1; i < e->node->nsrc; i++) vec_push(t->a, &coord, e->node->src[i]);
        expanded_of(t, e, false, &coord);
        e->cell = new_acc(t, e->node, &coord);
        return;
    }
    if (e->node->op == OP_STAGE) {
        int64_t size, tile = stage_size(e->node);
        for (uint32_t i = e->first; i < e->loops.n; i++)
            if (!is_own(e, e->loops.p[i])) vec_push(t->a, &e->wide, e->loops.p[i]);
        expanded_of(t, e, false, &e->wide);
        for (uint32_t i = 0; i < e->wide.n; i++) vec_push(t->a, &dims, e->wide.p[i]);
        array_index(t, &dims, &size);
        if (tile > (1 << 26) / size) opt_fail(t->s, "STAGE", "a tile would pass 2^26 elements");
        e->memory = new_local(t, e->node->arg, (enum dtype)e->node->dt, size * tile);
        return;
    }
    for (uint32_t i = e->first; i < e->loops.n; i++)
        if (!is_own(e, e->loops.p[i])) vec_push(t->a, &dims, e->loops.p[i]);
    int64_t steps = scan_steps(t, e, &step, &before);
    const uop *lanes = scan_lanes(e);
    if (lanes && (dims.n || e->prior))
        opt_fail(t->s, "VEC",
                 "a running value along lanes is kept in registers: no loop may be inside of its axis");
    if (dims.n) {
        int64_t size;
        expanded_of(t, e, false, &dims);
        const uop *at = array_index(t, &dims, &size);
        e->memory = new_local(t, ARG_NONE, (enum dtype)e->node->dt, size * steps);
        const uop *far = uop_idx(t->ir, size); /* steps outermost: vectors stay contiguous */
        e->cell = mk_index(t->ir, e->memory,
                           steps == 1 ? at : rw2(t->rw, OP_ADD, rw2(t->rw, OP_MUL, step, far), at), 1);
        e->before = steps == 1 ? e->cell
                               : mk_index(t->ir, e->memory,
                                          rw2(t->rw, OP_ADD, rw2(t->rw, OP_MUL, before, far), at), 1);
        e->result = uop1(t->ir, OP_LOAD, e->cell);
        return;
    }
    bool scan = e->node->op == OP_SCAN, threads = meets_in_memory(t, e);
    expanded_of(t, e, !scan, &coord);
    expanded_of(t, e, false, &users);
    if (lanes) {
        vec_push(t->a, &coord, lanes);
        e->carry = new_acc(t, e->node, &coord);
        if (steps > 1) coord.p[coord.n - 1] = step, vec_push(t->a, &coord, lanes);
        e->local = new_acc(t, e->node, &coord);
        e->cell = e->result = e->first < e->loops.n ? new_acc(t, e->node, &coord) : e->local;
        return;
    }
    if (steps > 1) {
        vec_push(t->a, &coord, before);
        e->before = new_acc(t, e->node, &coord);
        coord.p[coord.n - 1] = step;
        e->cell = e->result = uop_with(t->ir, e->before, coord.p);
        return;
    }
    e->before = e->cell = new_acc(t, e->node, &coord);
    if (e->prior) e->prior = new_acc(t, e->node, &coord);
    e->result = coord.n == users.n && !threads ? e->cell : new_acc(t, e->node, &users);
}

/* ---- statements ------------------------------------------------------------------------------------*/

/* Address of element `at` of a staged value. */
static const uop *stage_cell(struct loop_tree *t, const struct effect *f, const uop *at) {
    for (uint32_t i = 0; i < f->wide.n; i++)
        at = rw2(t->rw, OP_ADD, rw2(t->rw, OP_MUL, at, uop_idx(t->ir, f->wide.p[i]->src[0]->hi)),
                 f->wide.p[i]);
    return mk_index(t->ir, f->memory, at, 1);
}

/* An expression of e with the results of other effects in place of the effects. */
static const uop *translate(struct loop_tree *t, struct effect *e, const uop *x) {
    uop_vec from = {0}, to = {0};
    for (uint32_t i = 0; i < e->need.n; i++) {
        struct effect *f = e->need.p[i];
        bool held = in_registers(f);
        if (held && !e->ident.p[i])
            opt_fail(t->s, "STREAM", "a value kept in registers is read at another index");
        if (held || (f->open && e->ident.p[i])) {
            vec_push(t->a, &from, f->ident_load);
            vec_push(t->a, &to, held ? f->cell : f->value);
        }
        if (f->prior) {
            vec_push(t->a, &from, uop1(t->ir, OP_BEFORE, f->node));
            vec_push(t->a, &to, f->prior);
        }
        if (!f->result) continue; /* a STAGE is read through INDEX, below */
        vec_push(t->a, &from, f->node);
        vec_push(t->a, &to, f->result);
    }
    for (uint32_t i = 0; i < e->reads.n;
         i++) { /* by id: an index is translated before one that contains it */
        const uop *at = e->reads.p[i]->src[1];
        if (in_registers(effect_of(t, e->reads.p[i]->src[0]))) continue;
        if (from.n) at = rw_subst(t->rw, at, from.p, to.p, from.n);
        vec_push(t->a, &to, stage_cell(t, effect_of(t, e->reads.p[i]->src[0]), at));
        vec_push(t->a, &from, e->reads.p[i]);
    }
    return from.n ? rw_subst(t->rw, x, from.p, to.p, from.n) : x;
}

/* A cell over a VEC range as the vector that it becomes. */
static const uop *whole_cell(struct loop_tree *t, const uop *cell, const uop *lanes) {
    const uop **src = arena_array(t->a, const uop *, cell->nsrc);
    for (uint32_t i = 0; i < cell->nsrc; i++)
        src[i] = cell->src[i] == lanes ? uop_idx(t->ir, 0) : cell->src[i];
    return uop_new(t->ir, OP_ACC, cell->dt, (unsigned)lanes->src[0]->hi, src, cell->nsrc, cell->arg);
}

/* The last lane of a vector, in all lanes. */
static const uop *last_lane(struct ir *ir, const uop *v) {
    const uop *last = uop_mk(ir, OP_EXTRACT, &v, 1, ARG_INT(v->lanes - 1)), *lane[UINT8_MAX];
    for (unsigned i = 0; i < v->lanes; i++) lane[i] = last;
    return uop_new(ir, OP_BUILD, v->dt, v->lanes, lane, v->lanes, ARG_NONE);
}

/* Lanes combined with those 1, 2, 4 .. before them; the identity is before the first. */
static const uop *scan_of_lanes(struct loop_tree *t, enum op op, const uop *v) {
    const uop *none = uop_identity(t->ir, op, (enum dtype)v->dt), *lane[UINT8_MAX];
    for (unsigned far = 1; far < v->lanes; far *= 2) {
        for (unsigned i = 0; i < v->lanes; i++)
            lane[i] = i < far ? none : uop_mk(t->ir, OP_EXTRACT, &v, 1, ARG_INT(i - far));
        const uop *before = uop_new(t->ir, OP_BUILD, (enum dtype)v->dt, v->lanes, lane, v->lanes, ARG_NONE);
        v = rw2(t->rw, op, before, v);
    }
    return v;
}

/* A round of a running value along lanes: its own first, then all of it with what came before. So rounds wait for one another
 * with one operation. */
static void emit_lanes(struct loop_tree *t, struct effect *e, const uop *lanes, uop_vec *out) {
    struct ir *ir = t->ir;
    const uop *n = e->node, *step = NULL, *before = NULL, *end = e->local;
    enum op op = (enum op)n->arg.i;
    const uop *whole = whole_cell(t, e->local, lanes), *own = scan_of_lanes(t, op, whole);
    int64_t steps = scan_steps(t, e, &step, &before);
    if (steps > 1) {
        const uop *to[2] = {before, uop_idx(ir, steps - 1)};
        const uop *prev = last_lane(ir, whole_cell(t, rw_subst(t->rw, e->local, &step, &to[0], 1), lanes));
        const uop *first = rw2(t->rw, OP_EQ, step, uop_idx(ir, 0));
        own = uop_mk(ir, OP_WHERE, (const uop *[]){first, own, rw2(t->rw, op, prev, own)}, 3, ARG_NONE);
        end = rw_subst(t->rw, e->local, &step, &to[1], 1);
    }
    vec_push(t->a, out, uop2(ir, OP_SET, e->local, translate(t, e, n->src[0])));
    vec_push(t->a, out, uop2(ir, OP_SET, whole, own));
    if (e->cell == e->local) return;
    vec_push(t->a, out, uop2(ir, OP_SET, e->cell, rw2(t->rw, op, e->carry, e->local)));
    const uop *all = last_lane(ir, whole_cell(t, end, lanes)), *carry = whole_cell(t, e->carry, lanes);
    vec_push(t->a, out, uop2(ir, OP_SET, carry, rw2(t->rw, op, carry, all)));
}

static void emit_leaf(struct loop_tree *t, struct effect *e, uop_vec *out) {
    struct ir *ir = t->ir;
    const uop *n = e->node, *stmt;
    if (n->op == OP_STORE || n->op == OP_STORE_ADD) {
        stmt = translate(t, e, n);
    } else if (in_registers(e)) {
        stmt = uop2(ir, OP_SET, e->cell, translate(t, e, n->src[0]));
    } else if (n->op == OP_STAGE) {
        const uop *at = stage_index(t->rw, n);
        e->value = translate(t, e, n->src[0]);
        e->open = true;
        stmt = uop2(ir, OP_STORE, stage_cell(t, e, at), e->value);
    } else if (scan_lanes(e)) {
        emit_lanes(t, e, scan_lanes(e), out);
        return;
    } else {
        const uop *now = e->memory ? uop1(ir, OP_LOAD, e->before) : e->before, *x = n->src[0];
        enum op set = e->memory ? OP_STORE : OP_SET;
        if (e->prior) vec_push(t->a, out, uop2(ir, OP_SET, e->prior, now));
        if (x->op == OP_DECAY) { /* what was summed before, then the rest */
            const uop *less = rw2(t->rw, OP_MUL, now, translate(t, e, x->src[1]));
            if (n->op == OP_SCAN)
                now = less;
            else
                vec_push(t->a, out, uop2(ir, set, e->cell, less));
            x = x->src[0];
        }
        const uop *next = rw2(t->rw, (enum op)n->arg.i, now, translate(t, e, x));
        stmt = uop2(ir, set, e->cell, next);
    }
    vec_push(t->a, out, stmt);
}

static void emit_init(struct loop_tree *t, struct effect *e, uop_vec *out) {
    struct ir *ir = t->ir;
    const uop *zero = uop_identity(ir, (enum op)e->node->arg.i, (enum dtype)e->node->dt);
    const uop *stmt = uop2(ir, e->memory ? OP_STORE : OP_SET, e->carry ? e->carry : e->cell, zero);
    for (uint32_t i = e->loops.n; i-- > e->first;)
        if (!is_own(e, e->loops.p[i]))
            stmt = uop2(ir, OP_FOR, e->loops.p[i], uop_mk(ir, OP_BLOCK, &stmt, 1, ARG_NONE));
    vec_push(t->a, out, stmt);
}

static const uop *balanced(struct loop_tree *t, enum op op, uop_vec *part) {
    for (; part->n > 1; part->n = (part->n + 1) / 2)
        for (uint32_t k = 0; k < part->n / 2; k++)
            part->p[k] = rw2(t->rw, op, part->p[k], part->p[k + (part->n + 1) / 2]);
    return part->p[0];
}

static const uop *spread_range(struct loop_tree *t, const char *name, enum axis_kind kind, int64_t n) {
    char text[32];
    int len = snprintf(text, sizeof text, "%s%u", name, t->locals);
    union arg arg = {.range = {ir_sym(t->ir, text, (size_t)len), (uint8_t)kind, 250, 0}};
    const uop *size = uop_idx(t->ir, n);
    return uop_new(t->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

/* Where there is much to add, all threads do, each some of the `n` elements: the sums overwrite the first partial sums. */
static void add_dealt(struct loop_tree *t, struct effect *e, const uop *local, int64_t parts, int64_t n,
                      uop_vec *out) {
    struct ir *ir = t->ir;
    uop_vec part = {0};
    int64_t lanes = n >= 1024 && n % 4 == 0 ? 4 : 1;
    const uop *at = spread_range(t, "sum", AX_COPY, n / lanes);
    if (lanes > 1)
        at = rw2(t->rw, OP_ADD, rw2(t->rw, OP_MUL, at, uop_idx(ir, lanes)),
                 spread_range(t, "sums", AX_VEC, lanes));
    for (int64_t p = 0; p < parts; p++) {
        const uop *far = rw2(t->rw, OP_ADD, at, uop_idx(ir, p * n));
        vec_push(t->a, &part, uop1(ir, OP_LOAD, mk_index(ir, local, far, 1)));
    }
    const uop *sum = balanced(t, (enum op)e->node->arg.i, &part);
    vec_push(t->a, out, uop2(ir, OP_STORE, mk_index(ir, local, at, 1), sum));
}

/* The partial sums that the lanes of a warp have in an accumulator are combined by shuffles. */
static bool combine_lanes(struct loop_tree *t, struct effect *e, const uop *v, uop_vec *out) {
    if (!t->lanes || v != e->cell || e->memory || v->op != OP_ACC || !is_own(e, t->lanes)) return false;
    const uop *bits = uop_idx(t->ir, t->lanes->src[0]->hi - 1);
    vec_push(t->a, out, uop_mk(t->ir, OP_WARP_REDUCE, (const uop *[]){v, bits}, 2, ARG_INT(e->node->arg.i)));
    return true;
}

/* The partial sums that threads have of a result, v, meet in shared memory: an element for each value of what else the result
 * moves with, unrolled ranges slowest and vectors fastest, so that the threads of a warp write side by side. */
static void combine_threads(struct loop_tree *t, struct effect *e, const uop *v, uop_vec *out) {
    struct ir *ir = t->ir;
    const uop_vec *free = free_of(&t->fr, e->node);
    uop_vec own = {0}, dims = {0}, part = {0};
    int64_t size, parts = 1;
    const uop *done = combine_lanes(t, e, v, out) ? t->lanes : NULL;
    for (uint32_t i = 1; i < e->node->nsrc; i++)
        if (e->node->src[i]->arg.range.kind == AX_THREAD && e->node->src[i] != done)
            vec_push(t->a, &own, e->node->src[i]);
    if (!own.n) {
        if (e->result != v) vec_push(t->a, out, uop2(ir, OP_SET, e->result, v));
        return;
    }
    for (uint32_t i = 0; i < own.n; i++) vec_push(t->a, &dims, own.p[i]), parts *= own.p[i]->src[0]->hi;
    for (int turn = 0; turn < 4; turn++) {
        uop_vec some = {0};
        for (uint32_t i = 0; i < free->n; i++) {
            enum axis_kind k = (enum axis_kind)free->p[i]->arg.range.kind;
            if (!axis_is_loop(k) && turn == (k == AX_THREAD ? 1 : k == AX_MMA ? 2 : k == AX_VEC ? 3 : 0))
                vec_push(t->a, &some, free->p[i]);
        }
        sort_by_pos(&some);
        for (uint32_t i = 0; i < some.n; i++) vec_push(t->a, &dims, some.p[i]);
    }
    const uop *at = array_index(t, &dims, &size);
    union arg arg = {.mem = {ir_sym(ir, "part", 4), SPACE_SHARED, 0, 0}};
    const uop *local = new_local(t, arg, (enum dtype)e->node->dt, size);
    vec_push(t->a, out, uop2(ir, OP_STORE, mk_index(ir, local, at, 1), v));
    const uop **to = arena_array(t->a, const uop *, own.n);
    bool dealt = parts >= 4 && size / parts >= 32;
    if (dealt) add_dealt(t, e, local, parts, size / parts, out);
    if (parts > MOST_PARTS)
        opt_fail(t->s, "THREAD", "%lld threads have partial sums of one result, more than %d",
                 (long long)parts, MOST_PARTS);
    for (int64_t p = 0; p < (dealt ? 1 : parts); p++) {
        int64_t rest = p;
        for (uint32_t i = own.n; i-- > 0;) {
            to[i] = uop_idx(ir, rest % own.p[i]->src[0]->hi);
            rest /= own.p[i]->src[0]->hi;
        }
        const uop *one = rw_subst(t->rw, at, own.p, to, own.n);
        vec_push(t->a, &part, uop1(ir, OP_LOAD, mk_index(ir, local, one, 1)));
    }
    vec_push(t->a, out, uop2(ir, OP_SET, e->result, balanced(t, (enum op)e->node->arg.i, &part)));
}

/* Joins the accumulators of REG values in a balanced tree, then the lanes of the vector, then the threads' partial sums. */
static void emit_final(struct loop_tree *t, struct effect *e, uop_vec *out) {
    struct ir *ir = t->ir;
    enum op op = (enum op)e->node->arg.i;
    uop_vec part = {0}, next = {0};
    vec_push(t->a, &part, e->cell);
    const uop *lanes = NULL;
    for (uint32_t i = 1; i < e->node->nsrc; i++) {
        const uop *r = e->node->src[i];
        if (r->arg.range.kind == AX_VEC) lanes = r;
        if (r->arg.range.kind != AX_REG) continue;
        next.n = 0;
        for (int64_t v = 0; v < r->src[0]->hi; v++)
            for (uint32_t k = 0; k < part.n; k++) {
                const uop *c = uop_idx(ir, v);
                vec_push(t->a, &next, rw_subst(t->rw, part.p[k], &r, &c, 1));
            }
        uop_vec swap = part;
        part = next, next = swap;
    }
    for (uint32_t k = 0; k < part.n && lanes; k++) part.p[k] = whole_cell(t, part.p[k], lanes);
    const uop *v = balanced(t, op, &part);
    if (lanes) v = uop_mk(ir, OP_VEC_REDUCE, &v, 1, ARG_INT(op));
    if (reduces_threads(e))
        combine_threads(t, e, v, out);
    else
        vec_push(t->a, out, uop2(ir, OP_SET, e->result, v));
}

/* What the lanes of a MMA instruction have summed up, each its own part, is combined (mma.c). */
static void emit_meeting(struct loop_tree *t, struct effect *e, uop_vec *out) {
    for (uint32_t i = 1; i < e->node->nsrc && e->node->op == OP_REDUCE && !e->memory; i++)
        if (e->node->src[i]->arg.range.kind == AX_MMA)
            vec_push(t->a, out,
                     uop_mk(t->ir, OP_WARP_REDUCE, (const uop *[]){e->cell, e->node->src[i]}, 2,
                            ARG_INT(e->node->arg.i)));
}

/* ---- the tree --------------------------------------------------------------------------------------*/

struct loop_group {
    const uop *range; /* NULL: one leaf */
    VEC(struct effect *) e;
};

/* May e stand in the same FOR over `range` as f, whose result it uses? */
static bool may_share(const struct effect *e, uint32_t need, const uop *range) {
    const struct effect *f = e->need.p[need];
    if (!range) return false;
    if (f->node->op == OP_STAGE) return !is_own(f, range) || e->ident.p[need];
    if (f->node->op == OP_REDUCE) return !is_own(f, range);
    return true;
}

typedef VEC(struct loop_group) group_vec;

/* Loops of f that its users must stand in together with it, iteration by iteration: its context, for the
 * result is overwritten in the next one. All loops of a SCAN, whose value is read as it runs. */
static uint32_t tied_loops(const struct effect *f) {
    return f->node->op == OP_SCAN ? f->loops.n : f->cell || f->memory ? f->first : 0;
}

static struct effect *fused_of(struct effect *e) {
    while (e->fused != e) e = e->fused;
    return e;
}

/* Effects that must share the loop at this depth are fused. */
static void fuse_needed(struct effect *const *list, uint32_t n, uint32_t depth) {
    for (uint32_t i = 0; i < n; i++) list[i]->fused = list[i], list[i]->group = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < list[i]->need.n; k++) {
            struct effect *f = list[i]->need.p[k];
            if (depth >= tied_loops(f)) continue;
            for (uint32_t j = 0; j < i; j++)
                if (list[j] == f) fused_of(list[i])->fused = fused_of(f);
        }
}

static bool in_list(struct effect *const *list, uint32_t n, const struct effect *e) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == e) return true;
    return false;
}

/* First group that the fused effects may stand in; UINT32_MAX if something it needs is in no group yet. */
static uint32_t earliest(struct loop_tree *t, struct effect *const *list, uint32_t n,
                         const struct effect *fused, const uop *range, const group_vec *groups) {
    uint32_t g = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct effect *e = list[i];
        if (fused_of(e) != fused) continue;
        for (uint32_t k = 0; k < e->need.n; k++) {
            struct effect *f = e->need.p[k];
            if (!in_list(list, n, f)) continue; /* finished before */
            bool share = may_share(e, k, range);
            if (fused_of(f) == fused && !share)
                opt_fail(t->s, "ORDER",
                         "a %s is used in the loop that makes it and again after it; give the second pass a "
                         "range of its own",
                         op_info[f->node->op].name);
            if (fused_of(f) == fused) continue;
            if (f->group == UINT32_MAX) return UINT32_MAX;
            g = RG_MAX(g, share && groups->p[f->group].range == range ? f->group : f->group + 1);
        }
    }
    return g;
}

/* Puts every effect of the list into a group: a FOR over its next loop, or alone if it has no more loops. */
static void group_effects(struct loop_tree *t, struct effect *const *list, uint32_t n, uint32_t depth,
                          group_vec *groups) {
    fuse_needed(list, n, depth);
    for (uint32_t left = n; left;) {
        uint32_t before = left;
        for (uint32_t i = 0; i < n; i++) {
            struct effect *e = list[i], *fused = fused_of(e);
            if (e->group != UINT32_MAX) continue;
            const uop *range = depth < e->loops.n ? e->loops.p[depth] : NULL;
            uint32_t g = earliest(t, list, n, fused, range, groups);
            if (g == UINT32_MAX) continue;
            while (g < groups->n && (!range || groups->p[g].range != range)) g++;
            if (g == groups->n) vec_push(t->a, groups, ((struct loop_group){.range = range}));
            for (uint32_t k = 0; k < n; k++) {
                if (fused_of(list[k]) != fused) continue;
                vec_push(t->a, &groups->p[g].e, list[k]);
                list[k]->group = g, left--;
            }
        }
        if (left == before)
            opt_fail(t->s, "ORDER", "the loops that must be shared cannot be put in an order");
    }
}

static const uop *build(struct loop_tree *t, struct effect *const *list, uint32_t n, uint32_t depth) {
    struct arena *a = t->a;
    group_vec groups = {0};
    group_effects(t, list, n, depth, &groups);
    uop_vec out = {0};
    for (uint32_t g = 0; g < groups.n; g++) {
        struct loop_group *gr = &groups.p[g];
        for (uint32_t i = 0; i < gr->e.n; i++)
            if (gr->e.p[i]->cell && gr->e.p[i]->node->op != OP_STAGE && gr->e.p[i]->first == depth)
                emit_init(t, gr->e.p[i], &out);
        if (gr->range)
            vec_push(a, &out, uop2(t->ir, OP_FOR, gr->range, build(t, gr->e.p, gr->e.n, depth + 1)));
        else
            emit_leaf(t, gr->e.p[0], &out);
        for (uint32_t i = 0; i < gr->e.n; i++) {
            struct effect *e = gr->e.p[i];
            if (e->first == depth) emit_meeting(t, e, &out);
            bool parts = e->result != e->cell || reduces_threads(e);
            if (e->node->op == OP_REDUCE && !e->memory && e->first == depth && parts) emit_final(t, e, &out);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (list[i]->loops.n == depth) list[i]->open = false;
    return tree_block(t->ir, &out);
}

const uop *tree_block(struct ir *ir, const uop_vec *v) {
    return uop_new(ir, OP_BLOCK, DT_VOID, 1, v->p, v->n, ARG_NONE);
}

/* The innermost THREAD range, if its values are lanes of a warp that all of a kernel's warps have. */
static const uop *warp_lanes(struct loop_tree *t, const uop_vec *topo) {
    uop_vec thread = {0};
    const uop *last = NULL;
    int64_t threads = 1;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op != OP_RANGE || n->arg.range.kind != AX_THREAD) continue;
        bool known = false;
        for (uint32_t k = 0; k < thread.n; k++) known |= thread.p[k]->arg.range.cls == n->arg.range.cls;
        if (!last || range_by_pos(&last, &n) < 0) last = n;
        if (!known) vec_push(t->a, &thread, n), threads *= n->src[0]->hi;
    }
    int64_t n = last ? last->src[0]->hi : 1;
    bool whole = n > 1 && n <= MMA_LANES && !(n & (n - 1)) && threads % MMA_LANES == 0;
    return whole && t->s->gpu->cc && !t->s->ntc ? last : NULL;
}

const uop *tree_build(struct sched *s, const uop *sink) {
    struct loop_tree t = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena};
    free_init(&t.fr, t.ir, t.a);
    map_init(&t.by_node, t.a);
    uop_vec topo = {0};
    uop_topo(t.a, &sink, 1, &topo);
    t.lanes = warp_lanes(&t, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        uint16_t op = topo.p[i]->op;
        if (op == OP_REDUCE || op == OP_SCAN || op == OP_STAGE || op == OP_STORE || op == OP_STORE_ADD)
            add_effect(&t, topo.p[i]);
    }
    for (uint32_t i = 0; i < t.all.n; i++) find_needs(&t, t.all.p[i]);
    uop_vec none = {0};
    for (uint32_t i = t.all.n; i-- > 0;) { /* users before what they use */
        struct effect *e = t.all.p[i];
        if (!e->nested) set_nest(&t, e, &none);
        nest_needs(&t, e);
    }
    for (uint32_t i = 0; i < t.all.n; i++) make_cells(&t, t.all.p[i]);
    return build(&t, t.all.p, t.all.n, 0);
}

/* ---- walking trees ---------------------------------------------------------------------------------*/

const uop *tree_map_leaves(struct ir *ir, const uop *n, leaf_fn fn, void *cx) {
    uop_vec out = {0};
    switch (n->op) {
    case OP_BLOCK:
        for (uint32_t i = 0; i < n->nsrc; i++) {
            const uop *s = n->src[i];
            if (!tree_is_leaf(s))
                vec_push(ir->arena, &out, tree_map_leaves(ir, s, fn, cx));
            else
                fn(cx, s, &out);
        }
        return tree_block(ir, &out);
    case OP_FOR: return uop2(ir, OP_FOR, n->src[0], tree_map_leaves(ir, n->src[1], fn, cx));
    case OP_IF:
        vec_push(ir->arena, &out, n->src[0]);
        for (uint32_t i = 1; i < n->nsrc; i++)
            vec_push(ir->arena, &out, tree_map_leaves(ir, n->src[i], fn, cx));
        return uop_mk(ir, OP_IF, out.p, out.n, ARG_NONE);
    default: fn(cx, n, &out); return tree_block(ir, &out);
    }
}

void tree_leaf_nodes(struct ir *ir, const uop *block, uop_vec *topo) {
    uop_vec leaves = {0};
    topo->n = 0;
    for (uint32_t i = 0; i < block->nsrc; i++)
        if (tree_is_leaf(block->src[i])) vec_push(ir->arena, &leaves, block->src[i]);
    uop_topo(ir->arena, leaves.p, leaves.n, topo);
}
