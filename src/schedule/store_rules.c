/* store_rules.c: which units must and which must not be stored, whatever it costs.
 *
 *     operands of a contraction     stored, except for a trivial prologue; 8-bit weights of a skinny GEMM are dequantized in registers
 *     INLINE                        never, and the elementwise ops around it
 *     far larger than its sources   never, if it is only reduced
 *     a contraction's result        stored before it is reduced
 *     a sum compared with itself    stored: two kernels, or two loops of one, would add in two orders
 * Requires: linked units (plan_units.c). Gives: plan_unit.forced, the search's constraints.
 * Tests: tests/unit/schedule.c, store_rules.c */
#include "schedule/internal.h"

enum {
    FEW_ROWS = 32,    /* skinny GEMM: its 8-bit matrix is dequantized in registers */
    UNPACK_STEPS = 6, /* ops of that dequantization */
    NORM_STEPS = 12,  /* ops of a norm behind its sum */
    WALK_UNITS =
        64 /* units visited for each unit of a program to find sums that are compared with themselves */
};

static bool in_memory(const uop *n) {
    return n->op == OP_BUFFER || n->op == OP_ASSIGN || n->op == OP_SCATTER;
}

static double elements_below(struct sgraph *g, const uop *n) { return shape_elements_below(&g->shapes, n); }

static bool is_sum_of_products(const uop *n) {
    if (n->op != OP_REDUCE_AXES || n->arg.i != OP_ADD) return false;
    const uop *m = n->src[0];
    return m->op == OP_MUL || (m->op == OP_CAST && m->src[0]->op == OP_MUL);
}

/* A prologue that a contraction may fuse: a cast or a scale. Anything else would be recomputed for every row or column of the
 * result. */
static bool is_trivial(const uop *n) {
    if (n->op == OP_CAST || n->op == OP_NEG) return true;
    return (n->op == OP_MUL || n->op == OP_ADD) && n->src[1]->op == OP_CONST;
}

/* The value below views; a view that must be stored is memory itself. */
static const uop *below_views(const struct sgraph *g, const uop *n) {
    while (op_is_movement((enum op)n->op) && !g->unit_of[n->id]) n = n->src[0];
    return n;
}

/* Do the machine's MMA instructions multiply what x widens to fp32 or i32? */
static bool mma_widens(const struct sgraph *g, const uop *x) {
    enum dtype to = (enum dtype)x->dt;
    if (x->op != OP_CAST || (to != DT_F32 && to != DT_I32)) return false;
    enum dtype from = (enum dtype)x->src[0]->dt;
    return dt_is_float(from) == (to == DT_F32) && mma_multiplies(g->opts->model, g->opts->gpu, from, to);
}

/* MMA instructions take narrow operands as they are in memory: the narrow value is stored, never the fp32 or i32 it is widened
 * to. False: x is no widened value. */
static bool store_narrow(struct sgraph *g, const uop *x) {
    x = below_views(g, x);
    if (!mma_widens(g, x)) return false;
    uint32_t wide = g->unit_of[x->id], u = g->unit_of[below_views(g, x->src[0])->id];
    if (wide && g->unit[wide - 1].forced == UNIT_FREE) g->unit[wide - 1].forced = UNIT_NEVER;
    if (u && g->unit[u - 1].forced == UNIT_FREE) g->unit[u - 1].forced = UNIT_FORCED;
    return true;
}

/* Stores an operand that is read many times, except for its trivial prologue. */
static void store_operand(struct sgraph *g, const uop *x) {
    if (store_narrow(g, x)) return;
    for (;; x = x->src[0]) {
        x = below_views(g, x);
        uint32_t u = g->unit_of[x->id];
        if (!u || g->unit[u - 1].forced != UNIT_FREE) return;
        if (is_trivial(x)) continue;
        g->unit[u - 1].forced = UNIT_FORCED;
        return;
    }
}

/* Skinny GEMM with an 8-bit matrix: each element is used by one warp, which dequantizes it in registers. The dequantized value
 * is never stored. False: x is no such matrix. */
static bool dequantize_inline(struct sgraph *g, const uop *x) {
    uop_vec prologue = {0};
    double all = (double)shape_size(sg_shape(g, below_views(g, x)));
    for (int i = 0; i < UNPACK_STEPS; i++, x = x->src[0]) {
        x = below_views(g, x);
        if (in_memory(x)) break;
        bool scaled = (x->op == OP_MUL || x->op == OP_ADD || x->op == OP_SUB) && !g->unit_of[x->src[1]->id] &&
                      16 * elements_below(g, x->src[1]) <= all;
        uint32_t u = g->unit_of[x->id];
        if ((x->op != OP_CAST && !scaled) || (u && g->unit[u - 1].forced == UNIT_FORCED)) return false;
        vec_push(g->a, &prologue, x);
    }
    if (!in_memory(x) || dtype_info[x->dt].bytes != 1) return false;
    for (uint32_t i = 0; i < prologue.n; i++)
        if (g->unit_of[prologue.p[i]->id]) g->unit[g->unit_of[prologue.p[i]->id] - 1].forced = UNIT_NEVER;
    return true;
}

/* Is a vector computed from one number, a sum or an extreme of others, as a norm is? on: by unit: is it on a path to
 * that number? 0: not known. */
enum { ON_PATH = 1, OFF_PATH };
static bool is_normalized(struct sgraph *g, const uop *x, uint32_t steps, uint8_t *on) {
    x = below_views(g, x);
    uint32_t u = g->unit_of[x->id];
    if (!u || g->unit[u - 1].forced == UNIT_FORCED || on[u - 1]) return u && on[u - 1] == ON_PATH;
    bool any =
        x->op == OP_REDUCE_AXES && g->unit[u - 1].hint == HINT_REDUCTION && shape_size(sg_shape(g, x)) == 1;
    for (uint32_t i = 0; i < x->nsrc && steps && op_is_pure((enum op)x->op) && x->op != OP_REDUCE_AXES; i++)
        any |= is_normalized(g, x->src[i], steps - 1, on);
    on[u - 1] = any ? ON_PATH : OFF_PATH;
    return any;
}

/* The vector of a GEMV on a GPU, a norm: each block may compute it anew, which can take less than a launch. It is stored or not, as
 * predicted, but nothing on the way to it is. False: x is another operand. */
static bool may_repeat(struct sgraph *g, const uop *x) {
    x = below_views(g, x);
    uint8_t *on = arena_array(g->a, uint8_t, g->units + 1);
    uint32_t wide = mma_widens(g, x) ? g->unit_of[x->id] : 0;
    if (wide) x = below_views(g, x->src[0]);
    uint32_t stored = g->unit_of[x->id];
    if (!g->opts->gpu || shape_size(sg_shape(g, x)) > REPEATED_MOST || !is_normalized(g, x, NORM_STEPS, on))
        return false;
    for (uint32_t u = 0; u < g->units; u++)
        if ((on[u] == ON_PATH || u + 1 == wide) && u + 1 != stored && g->unit[u].forced == UNIT_FREE)
            g->unit[u].forced = UNIT_NEVER;
    return true;
}

static void mark_operands(struct sgraph *g, const uop *contraction) {
    const uop *m = contraction->src[0];
    for (; m->op != OP_MUL; m = m->src[0]) { /* casts and views */
        uint32_t u = g->unit_of[m->id];
        if (u && g->unit[u - 1].forced == UNIT_FORCED) return; /* a result: the sum reads it */
        if (u) g->unit[u - 1].forced = UNIT_NEVER, g->unit[u - 1].row = 0;
    }
    struct plan_unit *product = &g->unit[g->unit_of[m->id] - 1];
    if (product->forced == UNIT_FREE) product->forced = UNIT_NEVER;
    product->row = 0;
    double work = (double)shape_size(sg_shape(g, m));
    for (int i = 0; i < 2; i++) {
        if (work == elements_below(g, m->src[!i]) && may_repeat(g, m->src[i])) continue;
        bool few = g->opts->gpu && work <= FEW_ROWS * elements_below(g, m->src[i]);
        if (!few || !dequantize_inline(g, m->src[i])) store_operand(g, m->src[i]);
    }
}

static int64_t bytes_of(struct sgraph *g, const uop *n) {
    return shape_size(sg_shape(g, n)) * dtype_info[n->dt].bytes;
}

static bool is_carrier(const struct sgraph *g, uint32_t u, const uint8_t *carries) {
    return carries[u] && g->unit[u].forced != UNIT_FORCED;
}

/* Follows the only unstored source that depends on a contraction, down to it: the smallest unit to store, of equals the last.
 * *fork: where several sources depend on one, else UINT32_MAX. */
static uint32_t least_carrier(struct sgraph *g, uint32_t u, const uint8_t *carries, uint32_t *fork) {
    *fork = UINT32_MAX;
    for (uint32_t least = u;;) {
        uint32_t from = UINT32_MAX, many = 0;
        for (const uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++)
            if (is_carrier(g, *s, carries)) from = *s, many++;
        if (many > 1) *fork = u;
        if (many != 1 || g->unit[from].forced != UNIT_FREE) return least;
        u = from;
        if (bytes_of(g, g->unit[u].n) < bytes_of(g, g->unit[least].n)) least = u;
    }
}

static bool reduces(const struct plan_unit *u) {
    return u->n->op == OP_REDUCE_AXES || u->n->op == OP_SCAN_AXIS || u->n->op == OP_GATHER;
}

/* Unit `at` is now stored: units up to `end` no longer depend on an unstored contraction through it. */
static void stop_carrying(struct sgraph *g, uint32_t at, uint32_t end, uint8_t *carries) {
    for (uint32_t u = at + 1; u < end; u++) {
        const struct plan_unit *x = &g->unit[u];
        if (!carries[u] || reduces(x) || x->hint == HINT_CONTRACTION) continue;
        carries[u] = 0;
        for (const uint32_t *s = x->src; *s != UINT32_MAX; s++)
            carries[u] |= carries[*s] && g->unit[*s].forced != UNIT_FORCED;
    }
}

/* Are the branches of a fork smaller together than `least`, as those of a broadcast product are? */
static bool has_small_branches(struct sgraph *g, uint32_t fork, uint32_t least, const uint8_t *carries) {
    int64_t sum = 0;
    if (fork == UINT32_MAX) return false;
    for (const uint32_t *s = g->unit[fork].src; *s != UINT32_MAX; s++)
        if (is_carrier(g, *s, carries)) sum += bytes_of(g, g->unit[*s].n);
    return sum < bytes_of(g, g->unit[least].n);
}

/* Stores what unit `top` depends on a contraction by, for unit `by` that reduces it, in as few bytes as possible. seen: by unit,
 * by + 1 where it was looked at. False: some of it must not be stored. */
static bool store_carriers(struct sgraph *g, uint32_t top, uint32_t by, uint8_t *carries, uint32_t *seen) {
    VEC(uint32_t) open = {0};
    bool all = true;
    vec_push(g->a, &open, top);
    while (open.n) {
        uint32_t u = open.p[--open.n], fork;
        if (!is_carrier(g, u, carries) || seen[u] == by + 1) continue;
        seen[u] = by + 1;
        uint32_t least = least_carrier(g, u, carries, &fork);
        if (has_small_branches(g, fork, least, carries)) {
            for (const uint32_t *s = g->unit[fork].src; *s != UINT32_MAX; s++) vec_push(g->a, &open, *s);
        } else if (g->unit[least].forced == UNIT_FREE) {
            g->unit[least].forced = UNIT_FORCED, g->unit[least].cut = 1;
            stop_carrying(g, least, by, carries);
        } else
            all = false;
    }
    return all;
}

/* No kernel reduces over the result of a contraction: what depends on one is stored before it is reduced. */
static void store_before_reducing(struct sgraph *g) {
    uint8_t *carries = arena_array(g->a, uint8_t, g->units);
    uint32_t *seen = arena_array(g->a, uint32_t, g->units);
    for (uint32_t u = 0; u < g->units; u++) {
        struct plan_unit *x = &g->unit[u];
        for (uint32_t *s = x->src; *s != UINT32_MAX; s++) {
            if (!is_carrier(g, *s, carries)) continue;
            if (!reduces(x) || !store_carriers(g, *s, u, carries, seen)) carries[u] = 1;
        }
        if (reduces(x))
            for (uint32_t *s = x->src; *s != UINT32_MAX; s++)
                if (carries[*s] && g->unit[*s].forced == UNIT_FORCED) g->unit[*s].cut = 1;
        if (x->hint == HINT_CONTRACTION) carries[u] = 1;
    }
}

static bool is_elementwise(const struct plan_unit *u) {
    return u->hint == HINT_ELEMENTWISE && op_is_pure((enum op)u->n->op);
}

/* INLINE marks a value that is never stored: the weights of attention, one per query and key. Neither are the elementwise ops
 * between it and the GEMM below, nor those between it and its reductions: all have as many elements. Its other operands (row
 * sums from an earlier kernel) are stored, as for a contraction, except for reductions of the value itself, which belong to the
 * same kernel. */
static void never_store_rows(struct sgraph *g) {
    uint8_t *from = arena_array(g->a, uint8_t, g->units);
    for (uint32_t u = 0; u < g->units; u++) { /* up: sources come first */
        struct plan_unit *x = &g->unit[u];
        x->row = x->kept;
        for (const uint32_t *s = x->src; *s != UINT32_MAX; s++)
            if (g->unit[*s].row && is_elementwise(x) && x->forced == UNIT_FREE)
                x->row = 1, x->forced = UNIT_NEVER;
    }
    for (uint32_t u = g->units; u-- > 0;) { /* down */
        struct plan_unit *x = &g->unit[u];
        if (!x->row || !is_elementwise(x)) continue;
        for (const uint32_t *s = x->src; *s != UINT32_MAX; s++) {
            struct plan_unit *y = &g->unit[*s];
            bool large = shape_size(sg_shape(g, y->n)) >= shape_size(sg_shape(g, x->n));
            if (y->forced != UNIT_FREE || !large) continue;
            if (!is_elementwise(y) && !is_sum_of_products(y->n)) continue;
            y->row = 1, y->forced = UNIT_NEVER;
            if (!is_elementwise(y)) y->hint = HINT_CONTRACTION; /* however few the queries are */
        }
    }
    for (uint32_t u = 0; u < g->units; u++) {
        struct plan_unit *x = &g->unit[u];
        from[u] = x->row;
        for (const uint32_t *s = x->src; *s != UINT32_MAX; s++)
            from[u] |= from[*s] && g->unit[*s].forced != UNIT_FORCED;
        if (!x->row || !is_elementwise(x)) continue;
        for (const uint32_t *s = x->src; *s != UINT32_MAX; s++)
            if (!from[*s]) store_operand(g, g->unit[*s].n);
    }
}

/* A value far larger than all it is computed from, which is only reduced, is never stored. */
static void never_store_expanded(struct sgraph *g) {
    for (uint32_t u = 0; u < g->units; u++) {
        struct plan_unit *x = &g->unit[u];
        double from = 0;
        bool reduced = *x->use != UINT32_MAX && x->forced == UNIT_FREE && is_elementwise(x);
        for (const uint32_t *s = x->use; *s != UINT32_MAX && reduced; s++)
            reduced = g->unit[*s].n->op == OP_REDUCE_AXES;
        if (!reduced) continue;
        for (uint32_t i = 0; i < x->n->nsrc; i++) from += elements_below(g, x->n->src[i]);
        if ((double)shape_size(sg_shape(g, x->n)) >= CONTRACTION_REUSE * from) x->forced = UNIT_NEVER;
    }
}

/* ---- sums that are compared ----------------------------------------------------------------------------------- */

/* A float sum or product: its bits depend on the order of additions, and so on the loop that recomputes it. */
static bool is_inexact(const struct plan_unit *u) {
    return u->n->op == OP_REDUCE_AXES && (u->n->arg.i == OP_ADD || u->n->arg.i == OP_MUL) &&
           dt_is_float((enum dtype)u->n->dt);
}

static bool is_comparison(const uop *n) {
    return (n->op == OP_EQ || n->op == OP_NE || n->op == OP_LT || n->op == OP_LE) &&
           dt_is_float((enum dtype)n->src[0]->dt);
}

struct compare_walk {
    struct sgraph *g;
    uint8_t *sums; /* by unit: an unstored inexact sum or computed from one */
    uint32_t *seen[2];
    uint64_t visits, most;
};

/* A stored value may be recomputed by readers in the kernel that stores it; one that is cut is loaded by all of them. */
static void cut_between_kernels(struct plan_unit *u) {
    if (u->forced != UNIT_NEVER) u->forced = UNIT_FORCED, u->cut = 1;
}

/* Visits the units that operand `side` of comparison `by` is computed from, down to memory and inexact sums. A sum that both
 * sides see is stored. False: too many visits. */
static bool walk_operand(struct compare_walk *w, uint32_t by, int side) {
    VEC(uint32_t) open = {0};
    const uop *n = below_views(w->g, w->g->unit[by].n->src[side]);
    if (!w->g->unit_of[n->id]) return true;
    vec_push(w->g->a, &open, w->g->unit_of[n->id] - 1);
    while (open.n) {
        uint32_t u = open.p[--open.n];
        struct plan_unit *x = &w->g->unit[u];
        if (!w->sums[u] || x->cut || w->seen[side][u] == by + 1) continue;
        if (++w->visits > w->most) return false;
        w->seen[side][u] = by + 1;
        if (!is_inexact(x)) {
            for (const uint32_t *s = x->src; *s != UINT32_MAX; s++) vec_push(w->g->a, &open, *s);
        } else if (side && w->seen[0][u] == by + 1)
            cut_between_kernels(x);
    }
    return true;
}

/* x == max(x), as in argmax and in the gradient of max, holds for no element if x is a sum that the two sides add in two orders.
 * Beyond the budget of visits every sum of the program is stored. */
static void store_compared_sums(struct sgraph *g) {
    struct compare_walk w = {
        .g = g,
        .sums = arena_array(g->a, uint8_t, g->units),
        .seen = {arena_array(g->a, uint32_t, g->units), arena_array(g->a, uint32_t, g->units)},
        .most = (uint64_t)WALK_UNITS * g->units};
    bool all = true;
    for (uint32_t u = 0; u < g->units && all; u++) {
        const struct plan_unit *x = &g->unit[u];
        w.sums[u] = is_inexact(x);
        for (const uint32_t *s = x->src; *s != UINT32_MAX; s++) w.sums[u] |= w.sums[*s] && !g->unit[*s].cut;
        if (w.sums[u] && is_comparison(x->n)) all = walk_operand(&w, u, 0) && walk_operand(&w, u, 1);
    }
    for (uint32_t u = 0; u < g->units && !all; u++)
        if (is_inexact(&g->unit[u])) cut_between_kernels(&g->unit[u]);
}

void apply_store_rules(struct sgraph *g) {
    bool any_kept = false;
    for (uint32_t u = 0; u < g->units; u++) any_kept |= g->unit[u].kept;
    if (any_kept) never_store_rows(g);
    for (uint32_t u = 0; u < g->units; u++)
        if (g->unit[u].hint == HINT_CONTRACTION) mark_operands(g, g->unit[u].n);
    never_store_expanded(g);
    store_before_reducing(g);
    store_compared_sums(g);
}
