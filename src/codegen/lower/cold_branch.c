/* cold_branch.c: UNLIKELY becomes a branch: what only its cold side needs runs only if some lane takes that side.
 *
 *     values that both sides need .. fast sides          SET acc_i, fast_i
 *     h = any lane of any condition                      IF h
 *         what only the cold sides need                      SET acc_i, WHERE(cond_i, cold_i, acc_i)
 *     the rest, with acc_i for UNLIKELY_i                END
 *
 * Works on the linear program, where it is known what is evaluated where. A run of entries without loops,
 * conditions and accumulators is put into levels (how many UNLIKELYs lie below a value) and written level by level:
 * so all the vectors of an unrolled loop share one test, and the C compiler sees long straight code to schedule.
 * The cold sides of those vectors are the same expression of one value each, so they are written once, in a
 * loop over the values in scratch memory: otherwise most of a kernel's code, and of the C compiler's time,
 * would be code that hardly ever runs.
 * Moving a load over a store of another iteration is allowed: a kernel does not read back what it writes.
 * A cold side that costs next to nothing is computed always: the UNLIKELY is a WHERE then.
 * Tests: tests/unit/math.c */
#include "codegen/internal.h"

enum {
    BATCH = 8, /* UNLIKELYs of one level that share a test: as many live values, and registers are few */
    CHEAP = 6, /* a side of fewer operations is computed always */
};

struct cold_pass {
    struct ir *ir;
    struct arena *a;
    const struct linear *lin;
    struct linear *lin_out; /* the same, for what is added to its memory */
    uint32_t n;             /* ids at the beginning: nodes made here are not looked up */
    const uop **map;        /* by id: what stands for the node now; NULL not yet */
    uint32_t *uses;         /* by id: operands that are this node, from the batch to the end of its scope */
    uint32_t *level;        /* by id, of the batch at hand: UNLIKELYs on the way down from its operands */
    uint32_t *above;        /* by id: level of what uses it at least; 0 outside the batch */
    uint32_t *side;         /* by id: operands that are needed only by the cold sides at hand */
    bool *cone;             /* by id: only cold sides need it */
    int64_t acc;            /* next accumulator */
    uop_vec out;
};

/* The values that an entry reads; those of an INDEX are its own. Returns how many. */
static uint32_t operands(const uop *n, const uop **v, uint32_t cap) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *s = n->src[i];
        if (s->op != OP_INDEX) {
            if (!linear_in_place(s) && k < cap) v[k++] = s;
        } else {
            for (uint32_t j = 0; j < s->nsrc; j++)
                if (!linear_in_place(s->src[j]) && k < cap) v[k++] = s->src[j];
        }
    }
    return k;
}

static const uop *mapped(struct cold_pass *p, const uop *n) {
    if (n->id >= p->n) return n;
    if (p->map[n->id]) return p->map[n->id];
    if (linear_in_place(n) || n->nsrc == 0) return p->map[n->id] = n;
    const uop **src = arena_array(p->a, const uop *, n->nsrc);
    bool same = true;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        src[i] = mapped(p, n->src[i]);
        same &= src[i] == n->src[i];
    }
    return p->map[n->id] = same ? n : uop_with(p->ir, n, src);
}

static const uop *emit(struct cold_pass *p, const uop *n) {
    vec_push(p->a, &p->out, n);
    return n;
}

/* May stand in a run: evaluation and global memory, nothing that opens, closes or accumulates. */
static bool plain(const uop *n) {
    switch (n->op) {
    case OP_LOAD:
    case OP_PRED_LOAD:
    case OP_STORE: return access_buf(n)->op != OP_LOCAL;
    case OP_BUILD:
    case OP_EXTRACT:
    case OP_VEC_REDUCE:
    case OP_PARAMS: return true;
    default: return op_is_pure((enum op)n->op);
    }
}

/* ---- one batch ------------------------------------------------------------------------------------- */

static void set_levels(struct cold_pass *p, uint32_t a, uint32_t b, uint32_t *top) {
    *top = 0;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i], *v[64];
        uint32_t lev = 0, k = operands(n, v, 64);
        for (uint32_t j = 0; j < k; j++) lev = RG_MAX(lev, p->above[v[j]->id]);
        p->level[n->id] = lev;
        p->above[n->id] = lev + (n->op == OP_UNLIKELY);
        *top = RG_MAX(*top, p->above[n->id]);
    }
}

/* Marks what only the cold sides of the UNLIKELYs at `lev` need, users first; counts the operations. */
static uint32_t find_cone(struct cold_pass *p, uint32_t a, uint32_t b, uint32_t lev) {
    uint32_t ops = 0;
    for (uint32_t i = b; i-- > a;) {
        const uop *n = p->lin->u[i], *v[64];
        bool in = p->side[n->id] == p->uses[n->id] && p->uses[n->id] && op_is_pure((enum op)n->op) &&
                  n->op != OP_UNLIKELY && p->level[n->id] == lev;
        if (in) {
            p->cone[n->id] = true;
            ops += n->op != OP_BITCAST;
            uint32_t k = operands(n, v, 64);
            for (uint32_t j = 0; j < k; j++) p->side[v[j]->id]++;
        } else if (n->op == OP_UNLIKELY && p->level[n->id] == lev && !linear_in_place(n->src[1])) {
            p->side[n->src[1]->id]++;
        }
    }
    return ops;
}

/* ---- the loop form ----------------------------------------------------------------------------------- */

struct member {
    const uop *rare; /* as in the list */
    const uop *cond, *acc;
    const uop *input; /* the one value its cold side is made of, as in the list; NULL: there are several */
};
typedef VEC(struct member) members;

/* n with `from` replaced by `to`, for a node of the cone; memo by id. */
static const uop *replaced(struct cold_pass *p, const uop *n, const uop *from, const uop *to,
                           const uop **memo) {
    if (n == from) return to;
    if (n->id >= p->n || !p->cone[n->id]) return n;
    if (memo[n->id]) return memo[n->id];
    const uop *src[3] = {0};
    for (uint32_t i = 0; i < n->nsrc && i < 3; i++) src[i] = replaced(p, n->src[i], from, to, memo);
    return memo[n->id] = uop_with(p->ir, n, src);
}

/* The only value outside the cone that n is made of, constants aside; NULL if there are several. */
static bool only_input(struct cold_pass *p, const uop *n, const uop **input, uint32_t *seen, uint32_t mark) {
    if (linear_in_place(n)) return n->op == OP_CONST || n->op == OP_LANES;
    if (!p->cone[n->id]) {
        if (!*input) *input = n;
        return *input == n;
    }
    if (seen[n->id] == mark) return true;
    seen[n->id] = mark;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (!only_input(p, n->src[i], input, seen, mark)) return false;
    return true;
}

static const uop *local_at(struct cold_pass *p, const uop *local, const uop *i, unsigned lanes) {
    return mk_index(p->ir, local, i, lanes);
}

static const uop *new_local(struct cold_pass *p, const uop *like, uint32_t n) {
    struct linear *l = p->lin_out;
    const uop *len = uop_int(p->ir, DT_I64, (int64_t)n * like->lanes);
    union arg arg = {.mem = {ir_sym(p->ir, "rare", 4), SPACE_SCRATCH, 0, 0}};
    const uop *m = uop_new(p->ir, OP_LOCAL, (enum dtype)like->dt, 1, &len, 1, arg);
    for (uint32_t i = 0; i < l->nlocal; i++)
        if (l->local[i] == m) return m;
    const uop **all = arena_array(p->a, const uop *, l->nlocal + 1);
    if (l->nlocal) memcpy(all, l->local, l->nlocal * sizeof *all);
    all[l->nlocal++] = m;
    l->local = all;
    l->scratch += (len->arg.i * dtype_info[like->dt].bytes + 63) / 64 * 64;
    return m;
}

/* All members are one expression of one value each, of the same type? *body: it, of `hole`. */
static bool alike(struct cold_pass *p, members *g, const uop *hole, const uop **body) {
    uint32_t *seen = arena_array(p->a, uint32_t, p->n);
    *body = NULL;
    for (uint32_t i = 0; i < g->n; i++) {
        struct member *m = &g->p[i];
        const uop *in = NULL, *side = m->rare->src[1];
        if (!only_input(p, side, &in, seen, i + 1) || !in) return false;
        if (in->dt != hole->dt || in->lanes != hole->lanes || side->dt != in->dt || side->lanes != in->lanes)
            return false;
        const uop **memo = arena_array(p->a, const uop *, p->n), *b = replaced(p, side, in, hole, memo);
        m->input = in;
        if (*body && *body != b) return false;
        *body = b;
    }
    return true;
}

/* Writes the loop; afterwards element i of the scratch buffer holds the cold value of member i. */
static const uop *side_loop(struct cold_pass *p, members *g) {
    const uop *like = g->p[0].rare, *local, *body, *size, *range;
    unsigned lanes = like->lanes;
    if (g->n < 2 || linear_in_place(like->src[1])) return NULL;
    local = new_local(p, like, g->n);
    size = uop_int(p->ir, DT_I64, g->n);
    union arg arg = {.range = {.cls = ir_sym(p->ir, "rare", 4), .kind = AX_LOOP, .pos = 255}};
    range = uop_new(p->ir, OP_RANGE, DT_I64, 1, &size, 1, arg);
    const uop *at = uop2(p->ir, OP_MUL, range, uop_int(p->ir, DT_I64, lanes));
    const uop *index = local_at(p, local, at, lanes), *hole = uop1(p->ir, OP_LOAD, index);
    if (!alike(p, g, hole, &body)) return NULL;
    for (uint32_t i = 0; i < g->n; i++) {
        const uop *to = local_at(p, local, uop_int(p->ir, DT_I64, (int64_t)i * lanes), lanes);
        emit(p, uop2(p->ir, OP_STORE, to, mapped(p, g->p[i].input)));
    }
    emit(p, range);
    uop_vec topo = {0};
    uop_topo(p->a, &body, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (!linear_in_place(topo.p[i]) && topo.p[i]->op != OP_INDEX && topo.p[i] != size) emit(p, topo.p[i]);
    emit(p, uop2(p->ir, OP_STORE, index, body));
    emit(p, uop1(p->ir, OP_END, range));
    return local;
}

/* ---- one test ------------------------------------------------------------------------------------------ */

/* The same for every evaluation of a node: what uses it was, or will be, written with it. */
static const uop *acc_of(struct cold_pass *p, const uop *n) {
    if (!p->map[n->id])
        p->map[n->id] = uop_new(p->ir, OP_ACC, (enum dtype)n->dt, n->lanes, NULL, 0, ARG_INT(p->acc++));
    return p->map[n->id];
}

/* The UNLIKELYs at `lev`, whose conditions have `lanes` lanes, under one test. */
static void branch(struct cold_pass *p, uint32_t a, uint32_t b, uint32_t lev, unsigned lanes) {
    const uop *any = NULL;
    members g = {0};
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (n->op != OP_UNLIKELY || p->level[n->id] != lev) continue;
        struct member m = {.rare = n, .cond = mapped(p, n->src[0]), .acc = acc_of(p, n)};
        any = !any ? m.cond : any == m.cond ? any : emit(p, uop2(p->ir, OP_OR, any, m.cond));
        emit(p, uop2(p->ir, OP_SET, m.acc, mapped(p, n->src[2])));
        vec_push(p->a, &g, m);
    }
    if (lanes > 1) any = emit(p, uop_new(p->ir, OP_VEC_REDUCE, DT_BOOL, 1, &any, 1, ARG_INT(OP_MAX)));
    const uop *open = emit(p, uop1(p->ir, OP_IF, any)), *local = side_loop(p, &g);
    for (uint32_t i = a; i < b && !local; i++) {
        const uop *n = p->lin->u[i];
        if (p->cone[n->id] && p->level[n->id] == lev) emit(p, mapped(p, n));
    }
    for (uint32_t i = 0; i < g.n; i++) {
        const struct member *m = &g.p[i];
        unsigned w = m->rare->lanes;
        const uop *side =
            local
                ? emit(p, uop1(p->ir, OP_LOAD, local_at(p, local, uop_int(p->ir, DT_I64, (int64_t)i * w), w)))
                : mapped(p, m->rare->src[1]);
        emit(p, uop2(p->ir, OP_SET, m->acc, emit(p, uop3(p->ir, OP_WHERE, m->cond, side, m->acc))));
    }
    emit(p, uop1(p->ir, OP_END, open));
}

static void level_out(struct cold_pass *p, uint32_t a, uint32_t b, uint32_t lev) {
    uint32_t rares = 0;
    unsigned lanes = 0;
    bool mixed = false;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (n->op != OP_UNLIKELY || p->level[n->id] != lev) continue;
        rares++;
        mixed |= lanes && lanes != n->src[0]->lanes;
        lanes = n->src[0]->lanes;
    }
    bool branches = rares && !mixed && find_cone(p, a, b, lev) >= CHEAP * rares;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (p->level[n->id] != lev || n->op == OP_UNLIKELY) continue;
        if (!branches || !p->cone[n->id]) emit(p, mapped(p, n));
    }
    if (branches) branch(p, a, b, lev, lanes);
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (n->op != OP_UNLIKELY || p->level[n->id] != lev || branches) continue;
        const uop *w =
            uop3(p->ir, OP_WHERE, mapped(p, n->src[0]), mapped(p, n->src[1]), mapped(p, n->src[2]));
        emit(p, uop2(p->ir, OP_SET, acc_of(p, n), emit(p, w)));
    }
}

static void batch(struct cold_pass *p, uint32_t a, uint32_t b) {
    uint32_t top;
    set_levels(p, a, b, &top);
    for (uint32_t lev = 0; lev <= top; lev++) {
        level_out(p, a, b, lev);
        for (uint32_t i = a; i < b; i++) { /* what was found for this level holds for it alone */
            const uop *v[64];
            uint32_t k = operands(p->lin->u[i], v, 64);
            for (uint32_t j = 0; j < k; j++) p->side[v[j]->id] = 0;
        }
    }
    for (uint32_t i = a; i < b; i++) p->above[p->lin->u[i]->id] = 0, p->cone[p->lin->u[i]->id] = false;
}

/* ---- the whole list ---------------------------------------------------------------------------------- */

/* The end of the batch that begins at a: of the run, or after a store once enough UNLIKELYs of one level are in. */
static uint32_t batch_end(struct cold_pass *p, uint32_t a) {
    uint32_t rares = 0, i = a, top;
    for (; i < p->lin->n && plain(p->lin->u[i]); i++) {
        const uop *n = p->lin->u[i];
        set_levels(p, i, i + 1, &top);
        rares += n->op == OP_UNLIKELY && p->level[n->id] == 0;
        if (n->op == OP_STORE && rares >= BATCH) return i + 1;
    }
    return i;
}

/* Adds `by` to the uses of all operands from a on, to where the scope around it closes: nothing beyond sees
 * what is evaluated here. (The two sides of a peeled loop have the same nodes, each side its own values.) */
static void count_uses(struct cold_pass *p, uint32_t a, uint32_t by) {
    int depth = 0;
    for (uint32_t i = a; i < p->lin->n && depth >= 0; i++) {
        const uop *n = p->lin->u[i], *v[64];
        uint32_t k = operands(n, v, 64);
        for (uint32_t j = 0; j < k; j++) p->uses[v[j]->id] += by;
        if (n->op == OP_RANGE || n->op == OP_IF) depth++;
        if (n->op == OP_END || (n->op == OP_ELSE && depth == 0)) depth--;
    }
}

static int64_t first_free_acc(const struct linear *l) {
    int64_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->u[i]->op == OP_SET) n = RG_MAX(n, l->u[i]->src[0]->arg.i + 1);
    return n;
}

void linear_cold_branches(struct ir *ir, struct linear *lin) {
    bool any = false;
    for (uint32_t i = 0; i < lin->n && !any; i++) any = lin->u[i]->op == OP_UNLIKELY;
    if (!any) return;
    struct cold_pass p = {.ir = ir, .a = ir->arena, .lin = lin, .lin_out = lin, .n = ir->n};
    p.map = arena_array(p.a, const uop *, p.n);
    p.uses = arena_array(p.a, uint32_t, p.n);
    p.level = arena_array(p.a, uint32_t, p.n);
    p.above = arena_array(p.a, uint32_t, p.n);
    p.side = arena_array(p.a, uint32_t, p.n);
    p.cone = arena_array(p.a, bool, p.n);
    p.acc = first_free_acc(lin);
    for (uint32_t i = 0; i < lin->n;) {
        uint32_t end = batch_end(&p, i);
        if (end > i) {
            count_uses(&p, i, 1);
            batch(&p, i, end);
            count_uses(&p, i, UINT32_MAX); /* takes them back */
        } else {
            emit(&p, mapped(&p, lin->u[end++]));
        }
        i = end;
    }
    lin->u = p.out.p;
    lin->n = p.out.n;
}
