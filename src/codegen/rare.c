/* rare.c: RARE becomes a branch: what only its seldom wanted side needs runs only when some lane asks for it.
 *
 *     values that both sides need .. fast sides          SET acc_i, fast_i
 *     h = any lane of any condition                      IF h
 *         what only the seldom sides need                    SET acc_i, WHERE(cond_i, seldom_i, acc_i)
 *     the rest, with acc_i for RARE_i                    END
 *
 * Works on the linear program, where it is known what is evaluated where. A run of entries without loops,
 * conditions and accumulators is put into levels (how many RAREs lie below a value) and written level by level:
 * so all the vectors of an unrolled loop share one test, and the C compiler sees long straight code to schedule.
 * Moving a load over a store of another iteration is allowed: a kernel does not read back what it writes.
 * A seldom side that costs next to nothing is computed always: the RARE is a WHERE then.
 * Tests: tests/unit/math.c */
#include "cg.h"

enum {
    BATCH = 8, /* RAREs of one level that share a test: as many live values, and registers are few */
    CHEAP = 6, /* a side of fewer operations is computed always */
};

struct rare_pass {
    struct ir *ir;
    struct arena *a;
    const struct linear *lin;
    uint32_t n;          /* ids at the beginning: nodes made here are not looked up */
    const uop **map;     /* by id: what stands for the node now; NULL not yet */
    uint32_t *uses;      /* by id: operands in the list that are this node */
    uint32_t *times;     /* by id: how often the list has it */
    uint32_t *level;     /* by id, of the batch at hand: RAREs on the way down from its operands */
    uint32_t *above;     /* by id: level of what uses it at least; 0 outside the batch */
    uint32_t *side;      /* by id: operands that are needed only by the seldom sides at hand */
    bool *cone;          /* by id: only seldom sides need it */
    int64_t acc;         /* next accumulator */
    uop_vec out;
};

static bool listed(const uop *n) {
    switch (n->op) {
    case OP_CONST: case OP_INVALID: case OP_LANES: case OP_PARAM: case OP_VAR: case OP_LOCAL: case OP_ACC: case OP_RANGE: return false;
    default: return true;
    }
}

/* The values that an entry reads; those of an INDEX are its own. Returns how many. */
static uint32_t operands(const uop *n, const uop **v, uint32_t cap) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *s = n->src[i];
        if (s->op != OP_INDEX) {
            if (listed(s) && k < cap) v[k++] = s;
        } else {
            for (uint32_t j = 0; j < s->nsrc; j++)
                if (listed(s->src[j]) && k < cap) v[k++] = s->src[j];
        }
    }
    return k;
}

static const uop *mapped(struct rare_pass *p, const uop *n) {
    if (n->id >= p->n) return n;
    if (p->map[n->id]) return p->map[n->id];
    if (!listed(n) || n->nsrc == 0) return p->map[n->id] = n;
    const uop **src = arena_array(p->a, const uop *, n->nsrc);
    bool same = true;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        src[i] = mapped(p, n->src[i]);
        same &= src[i] == n->src[i];
    }
    return p->map[n->id] = same ? n : uop_with(p->ir, n, src);
}

static const uop *emit(struct rare_pass *p, const uop *n) {
    vec_push(p->a, &p->out, n);
    return n;
}

/* May stand in a run: evaluation and global memory, nothing that opens, closes or accumulates. */
static bool plain(const uop *n) {
    switch (n->op) {
    case OP_LOAD: case OP_GLOAD: case OP_STORE: return n->src[0]->src[0]->op != OP_LOCAL;
    case OP_BUILD: case OP_EXTRACT: case OP_HRED: case OP_PARAMS: return true;
    default: return op_is_pure((enum op)n->op);
    }
}

/* ---- one batch ------------------------------------------------------------------------------------- */

static void set_levels(struct rare_pass *p, uint32_t a, uint32_t b, uint32_t *top) {
    *top = 0;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i], *v[64];
        uint32_t lev = 0, k = operands(n, v, 64);
        for (uint32_t j = 0; j < k; j++) lev = RG_MAX(lev, p->above[v[j]->id]);
        p->level[n->id] = lev;
        p->above[n->id] = lev + (n->op == OP_RARE);
        *top = RG_MAX(*top, p->above[n->id]);
    }
}

/* Marks what only the seldom sides of the RAREs at `lev` need, users first; counts the operations. */
static uint32_t find_cone(struct rare_pass *p, uint32_t a, uint32_t b, uint32_t lev) {
    uint32_t ops = 0;
    for (uint32_t i = b; i-- > a;) {
        const uop *n = p->lin->u[i], *v[64];
        bool in = p->side[n->id] == p->uses[n->id] && p->uses[n->id] && p->times[n->id] == 1 &&
                  op_is_pure((enum op)n->op) && n->op != OP_RARE && p->level[n->id] == lev;
        if (in) {
            p->cone[n->id] = true;
            ops += n->op != OP_BITCAST;
            uint32_t k = operands(n, v, 64);
            for (uint32_t j = 0; j < k; j++) p->side[v[j]->id]++;
        } else if (n->op == OP_RARE && p->level[n->id] == lev && listed(n->src[1])) {
            p->side[n->src[1]->id]++;
        }
    }
    return ops;
}

static const uop *new_acc(struct rare_pass *p, const uop *n) {
    return uop_new(p->ir, OP_ACC, (enum dtype)n->dt, n->lanes, NULL, 0, ARG_INT(p->acc++));
}

/* The RAREs at `lev` whose conditions have `lanes` lanes, under one test. */
static void branch(struct rare_pass *p, uint32_t a, uint32_t b, uint32_t lev, unsigned lanes) {
    const uop *any = NULL;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (n->op != OP_RARE || p->level[n->id] != lev || n->src[0]->lanes != lanes) continue;
        const uop *c = mapped(p, n->src[0]), *acc = new_acc(p, n);
        any = !any ? c : any == c ? any : emit(p, uop2(p->ir, OP_OR, any, c));
        emit(p, uop2(p->ir, OP_SET, acc, mapped(p, n->src[2])));
        p->map[n->id] = acc;
    }
    if (lanes > 1)
        any = emit(p, uop_new(p->ir, OP_HRED, DT_BOOL, 1, &any, 1, ARG_INT(OP_MAX)));
    const uop *open = emit(p, uop1(p->ir, OP_IF, any));
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (p->cone[n->id]) emit(p, mapped(p, n));
        if (n->op != OP_RARE || p->level[n->id] != lev || n->src[0]->lanes != lanes) continue;
        const uop *acc = p->map[n->id];
        const uop *w = uop3(p->ir, OP_WHERE, mapped(p, n->src[0]), mapped(p, n->src[1]), acc);
        emit(p, uop2(p->ir, OP_SET, acc, emit(p, w)));
    }
    emit(p, uop1(p->ir, OP_END, open));
}

static void level_out(struct rare_pass *p, uint32_t a, uint32_t b, uint32_t lev) {
    uint32_t rares = 0;
    unsigned lanes = 0;
    bool mixed = false;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (n->op != OP_RARE || p->level[n->id] != lev) continue;
        rares++;
        mixed |= lanes && lanes != n->src[0]->lanes;
        lanes = n->src[0]->lanes;
    }
    bool branches = rares && !mixed && find_cone(p, a, b, lev) >= CHEAP * rares;
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (p->level[n->id] != lev || n->op == OP_RARE) continue;
        if (!branches || !p->cone[n->id]) emit(p, mapped(p, n));
    }
    if (branches) branch(p, a, b, lev, lanes);
    for (uint32_t i = a; i < b; i++) {
        const uop *n = p->lin->u[i];
        if (n->op != OP_RARE || p->level[n->id] != lev || branches) continue;
        const uop *src[3] = {mapped(p, n->src[0]), mapped(p, n->src[1]), mapped(p, n->src[2])};
        p->map[n->id] = emit(p, uop3(p->ir, OP_WHERE, src[0], src[1], src[2]));
    }
}

static void batch(struct rare_pass *p, uint32_t a, uint32_t b) {
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

/* The end of the batch that begins at a: of the run, or after a store once enough RAREs are in. */
static uint32_t batch_end(const struct linear *l, uint32_t a) {
    uint32_t rares = 0, i = a;
    for (; i < l->n && plain(l->u[i]); i++) {
        rares += l->u[i]->op == OP_RARE;
        if (l->u[i]->op == OP_STORE && rares >= BATCH) return i + 1;
    }
    return i;
}

static void count_all(struct rare_pass *p) {
    for (uint32_t i = 0; i < p->lin->n; i++) {
        const uop *n = p->lin->u[i], *v[64];
        uint32_t k = operands(n, v, 64);
        for (uint32_t j = 0; j < k; j++) p->uses[v[j]->id]++;
        p->times[n->id]++;
        if (n->op == OP_SET) p->acc = RG_MAX(p->acc, n->src[0]->arg.i + 1);
    }
}

void linear_rare(struct ir *ir, struct linear *lin) {
    bool any = false;
    for (uint32_t i = 0; i < lin->n && !any; i++) any = lin->u[i]->op == OP_RARE;
    if (!any) return;
    struct rare_pass p = {.ir = ir, .a = ir->arena, .lin = lin, .n = ir->n};
    p.map = arena_array(p.a, const uop *, p.n);
    p.uses = arena_array(p.a, uint32_t, p.n);
    p.times = arena_array(p.a, uint32_t, p.n);
    p.level = arena_array(p.a, uint32_t, p.n);
    p.above = arena_array(p.a, uint32_t, p.n);
    p.side = arena_array(p.a, uint32_t, p.n);
    p.cone = arena_array(p.a, bool, p.n);
    count_all(&p);
    for (uint32_t i = 0; i < lin->n;) {
        uint32_t end = batch_end(lin, i);
        if (end > i) batch(&p, i, end);
        else emit(&p, mapped(&p, lin->u[end++]));
        i = end;
    }
    lin->u = p.out.p;
    lin->n = p.out.n;
}
