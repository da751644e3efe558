/* mma.c: a sum of products over the axes of a matrix instruction becomes the instruction.
 *
 * The opt TC gives three axes, cut to the instruction's size, the kind MMA. Up to the loop tree they are axes like others:
 * tiles are staged over them, accumulators have them as coordinates. Here they are laid out by the instruction's digit
 * maps (ir/mma.def) in the lanes of a warp, a new LANE range that is innermost among the threads, and in registers:
 *
 *     SET(acc(m,n), acc + a(m,k)*b(k,n))   becomes   MMA(acc registers, fragment of a, fragment of b)
 *     what else mentions acc(m,n), m, n    the same with m and n as sums of digits of the lane and of REG and VEC ranges
 *
 * Instructions of a group of four warps read whole tiles from shared memory: their operands are the tiles' addresses, after a
 * proof that the elements lie as the instruction will look for them.
 * Else a fragment is read from shared memory by FRAG (ldmatrix) where rows of 8 elements lie together, turned or not; else it is
 * built from single values, whatever they are computed from.
 * Requires: tree_build. Gives: no range of kind MMA. Tests: tests/unit/block.c */
#include "cg.h"

enum { LANE_POS = 249, REG_POS = 240 };

struct tc {
    struct sched *s;
    struct ir *ir;
    struct rw *rw;
    struct arena *a;
    struct free_ranges fr;
    const uop *side[3]; /* the RANGEs m, n, k */
    const uop *lane, *reg[4];
    const uop *at[2]; /* m and n of an accumulator, from lane and reg */
    struct mma_map map[3];
};

static const uop *number(struct tc *t, int64_t v) { return uop_idx(t->ir, v); }

/* What the digits of x say about one side. */
static const uop *digits(struct tc *t, const struct mma_digit *d, unsigned n, const uop *x, int side) {
    const uop *sum = number(t, 0);
    for (unsigned i = 0; i < n; i++) {
        const uop *v = rw2(t->rw, OP_MOD, x, number(t, d[i].extent));
        x = rw2(t->rw, OP_IDIV, x, number(t, d[i].extent));
        if (d[i].dim == side) sum = rw2(t->rw, OP_ADD, sum, rw2(t->rw, OP_MUL, v, number(t, d[i].stride)));
    }
    return sum;
}

static const uop *range(struct tc *t, const char *name, enum axis_kind kind, uint8_t pos, int64_t size) {
    const uop *n = number(t, size);
    union arg arg = {.range = {ir_sym(t->ir, name, strlen(name)), (uint8_t)kind, pos, 0}};
    return uop_new(t->ir, OP_RANGE, DT_IDX, 1, &n, 1, arg);
}

static void lay_out(struct tc *t) {
    const struct mma_map *d = &t->map[MMA_D];
    t->lane = range(t, "lane", AX_LANE, LANE_POS, mma_lanes(t->s->tc.instr));
    for (unsigned i = 0; i < d->nreg; i++) {
        char name[16];
        snprintf(name, sizeof name, "mma%u", i);
        t->reg[i] = range(t, name, i ? AX_REG : AX_VEC, (uint8_t)(REG_POS + i), d->reg[i].extent);
    }
    for (int side = 0; side < 2; side++) {
        t->at[side] = digits(t, d->lane, d->nlane, t->lane, side);
        for (unsigned i = 0; i < d->nreg; i++)
            if (d->reg[i].dim == side)
                t->at[side] = rw2(t->rw, OP_ADD, t->at[side],
                                  rw2(t->rw, OP_MUL, t->reg[i], number(t, d->reg[i].stride)));
    }
}

/* ---- accumulators --------------------------------------------------------------------------------------- */

static bool is_cell(const struct tc *t, const uop *n) {
    if (n->op != OP_ACC) return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i] == t->side[MMA_M] || n->src[i] == t->side[MMA_N]) return true;
    return false;
}

/* The accumulator with its registers as coordinates: reg[i] gives each; the first is the lane of a vector. */
static const uop *cell(struct tc *t, const uop *acc, const uop *const *reg, unsigned lanes) {
    uop_vec src = {0};
    uint32_t sides = 0;
    for (uint32_t i = 0; i < acc->nsrc; i++)
        if (acc->src[i] == t->side[MMA_M] || acc->src[i] == t->side[MMA_N])
            sides++;
        else
            vec_push(t->a, &src, acc->src[i]);
    if (sides != 2)
        opt_fail(t->s, "TC", "a sum along only one of the axes %s and %s",
                 ir_name(t->ir, t->side[MMA_M]->arg.range.cls),
                 ir_name(t->ir, t->side[MMA_N]->arg.range.cls));
    for (unsigned i = 0; i < t->map[MMA_D].nreg; i++) vec_push(t->a, &src, reg[i]);
    return uop_new(t->ir, OP_ACC, (enum dtype)acc->dt, lanes, src.p, src.n, acc->arg);
}

/* ---- fragments ------------------------------------------------------------------------------------------ */

/* Value x with its sides m or n, and k, in place. */
static const uop *element(struct tc *t, const uop *x, int side, const uop *p, const uop *k) {
    return rw_subst(t->rw, x, (const uop *[]){t->side[side], t->side[MMA_K]}, (const uop *[]){p, k}, 2);
}

/* Four matrices of 8 x 8, whose rows the lanes name. turned: rows in memory are along k. NULL: not so. */
static const uop *matrices(struct tc *t, const uop *x, unsigned operand, int side, bool turned) {
    const struct mma_map *m = &t->map[operand];
    const struct mma_digit word = {MMA_K, 2, 1}, quad = {MMA_K, 4, 2}, row = {side, 8, 1};
    if (x->op != OP_LOAD || x->src[0]->src[0]->op != OP_LOCAL || dtype_info[x->dt].bytes != 2 ||
        m->regs != 8 || memcmp(&m->reg[0], &word, sizeof word) || memcmp(&m->lane[0], &quad, sizeof quad) ||
        memcmp(&m->lane[1], &row, sizeof row) || x->src[0]->src[0]->arg.mem.space != SPACE_SHARED)
        return NULL;
    const uop *which = rw2(t->rw, OP_IDIV, t->lane, number(t, 8)),
              *line = rw2(t->rw, OP_MOD, t->lane, number(t, 8));
    const uop *p = digits(t, &m->reg[1], m->nreg - 1, which, side);
    const uop *k = digits(t, &m->reg[1], m->nreg - 1, which, MMA_K);
    struct affine f = affine_of(t->a, x->src[0]->src[1]);
    if (affine_coef(&f, t->side[turned ? side : MMA_K]) != 1) return NULL;
    if (turned)
        k = rw2(t->rw, OP_ADD, k, line);
    else
        p = rw2(t->rw, OP_ADD, p, line);
    const uop *at = element(t, x->src[0]->src[1], side, p, k);
    if (!uop_divides(at, 8)) return NULL;
    const uop *index = mk_index(t->ir, x->src[0]->src[0], at, 8);
    return uop_new(t->ir, OP_FRAG, DT_U32, 4, &index, 1, ARG_INT(turned));
}

static bool is_byte(const uop *x) { return x->dt == DT_I8 || x->dt == DT_U8; }

/* The bits of a bfloat16 are the upper ones of a float: no rounding where it has all digits of a byte. */
static const uop *word(struct tc *t, const uop *x) {
    bool byte = x->op == OP_CAST && x->dt == DT_BF16 && is_byte(x->src[0]);
    if (byte) x = uop_cast(t->ir, x->src[0], DT_F32);
    x = uop_new(t->ir, OP_BITCAST, byte ? DT_U32 : DT_U16, 1, &x, 1, ARG_NONE);
    if (byte) return uop2(t->ir, OP_SHR, x, uop_int(t->ir, DT_U32, 16));
    return uop_cast(t->ir, x, DT_U32);
}

static const uop *two_in_one(struct tc *t, const uop *low, const uop *high) {
    return uop2(t->ir, OP_OR, word(t, low), uop2(t->ir, OP_SHL, word(t, high), uop_int(t->ir, DT_U32, 16)));
}

static const uop *fragment(struct tc *t, const uop *x, unsigned operand) {
    const struct mma_map *m = &t->map[operand];
    int side = operand == MMA_A ? MMA_M : MMA_N;
    const uop *v = matrices(t, x, operand, side, false);
    if (!v) v = matrices(t, x, operand, side, true);
    if (v) return v;
    const uop **part = arena_array(t->a, const uop *, m->regs);
    const uop *p = digits(t, m->lane, m->nlane, t->lane, side),
              *k = digits(t, m->lane, m->nlane, t->lane, MMA_K);
    for (unsigned i = 0; i < m->regs; i++) {
        int at[3];
        mma_place(m, 0, i, at);
        part[i] = element(t, x, side, rw2(t->rw, OP_ADD, p, number(t, at[side])),
                          rw2(t->rw, OP_ADD, k, number(t, at[MMA_K])));
        if (part[i]->lanes != 1) opt_fail(t->s, "TC", "an operand of the matrix instruction is a vector");
    }
    unsigned n = m->regs;
    if (dtype_info[x->dt].bytes == 2) {
        n /= 2;
        for (unsigned i = 0; i < n; i++) part[i] = two_in_one(t, part[2 * i], part[2 * i + 1]);
    }
    return uop_new(t->ir, OP_BUILD, (enum dtype)part[0]->dt, n, part, n, ARG_NONE);
}

/* ---- tiles ------------------------------------------------------------------------------------------------ */

/* How far element (p, k) of x lies behind (0, 0); -1: not a constant. */
static int64_t distance(struct tc *t, const uop *x, int side, int64_t p, int64_t k) {
    const uop *far = element(t, x, side, number(t, p), number(t, k)),
              *near = element(t, x, side, number(t, 0), number(t, 0));
    struct affine f = affine_of(t->a, uop2(t->ir, OP_SUB, far, near));
    return f.n ? -1 : f.k;
}

/* Rows along k: a row for each p. */
static bool along_k(struct tc *t, const uop *x, int side, int64_t w) {
    const int *size = mma_info[t->s->tc.instr].size;
    for (int64_t p = 0; p < size[side]; p++)
        if (distance(t, x, side, p, 0) != p * w) return false;
    return distance(t, x, side, 0, 1) == 1 && distance(t, x, side, 0, size[MMA_K] - 1) == size[MMA_K] - 1;
}

/* Rows across it: a row for each k, in panels of `rows`; 0: not so. */
static int64_t across_k(struct tc *t, const uop *x, int side, int64_t w) {
    const int *size = mma_info[t->s->tc.instr].size;
    int64_t panel = size[side] > w ? distance(t, x, side, w, 0) : size[MMA_K] * w;
    for (int64_t k = 0; k < size[MMA_K]; k++)
        if (distance(t, x, side, 0, k) != k * w) return 0;
    for (int64_t p = 0; p < size[side]; p++)
        if (distance(t, x, side, p, 0) != p / w * panel + p % w) return 0;
    return panel > 0 && panel % (8 * w) == 0 && panel / w <= UINT16_MAX ? panel / w : 0;
}

/* The address of the tile of x; rows as in union arg. */
static const uop *tile(struct tc *t, const uop *x, int operand, uint16_t *rows) {
    int side = operand == MMA_A ? MMA_M : MMA_N;
    const char *why = "is not staged";
    if (x->op == OP_LOAD && x->src[0]->src[0]->op == OP_LOCAL && x->src[0]->src[0]->arg.mem.panels) {
        const uop *at = x->src[0]->src[1];
        int64_t w = 128 / dtype_info[x->dt].bytes;
        bool k_rows = along_k(t, at, side, w);
        *rows = k_rows || w != 64 ? 0 : (uint16_t)across_k(t, at, side, w); /* halves alone may lie across */
        const uop *base = element(t, at, side, number(t, 0), number(t, 0));
        if ((k_rows || *rows) && uop_divides(base, k_rows ? mma_info[t->s->tc.instr].size[MMA_K] : 8 * w))
            return mk_index(t->ir, x->src[0]->src[0], base, 1);
        why = "lies in another order";
    }
    opt_fail(t->s, "TC", "the tile along axis %s, which the instruction reads from shared memory, %s",
             ir_name(t->ir, t->side[side]->arg.range.cls), why);
}

/* ---- statements ------------------------------------------------------------------------------------------ */

/* A factor as the instruction takes it: what was widened to the accumulator's type is taken as it was; bytes, which every
 * type has exactly, are widened less. */
static const uop *factor(struct tc *t, const uop *x) {
    const struct mma_info *i = &mma_info[t->s->tc.instr];
    if (x->op == OP_CAST && is_byte(x->src[0]) && i->in != i->acc)
        return uop_cast(t->ir, x->src[0], i->in);
    if (x->op == OP_CAST && x->src[0]->dt == i->in) x = x->src[0];
    if (x->dt != i->in)
        opt_fail(t->s, "TC", "the instruction %s multiplies %s, found %s", i->name, dtype_info[i->in].name,
                 dtype_info[x->dt].name);
    return x;
}

static const uop *instruction(struct tc *t, const uop *stmt) {
    const uop *acc = stmt->src[0], *v = stmt->src[1];
    const uop *mul = v->op != OP_ADD    ? NULL
                     : v->src[0] == acc ? v->src[1]
                     : v->src[1] == acc ? v->src[0]
                                        : NULL;
    if (stmt->op != OP_SET || !mul || mul->op != OP_MUL || acc->dt != mma_info[t->s->tc.instr].acc)
        opt_fail(t->s, "TC", "axis %s is not that of a sum of products of two values",
                 ir_name(t->ir, t->side[MMA_K]->arg.range.cls));
    const uop *a = mul->src[0], *b = mul->src[1];
    if (free_has(&t->fr, a, t->side[MMA_N])) a = mul->src[1], b = mul->src[0];
    if (!free_has(&t->fr, a, t->side[MMA_M]) || free_has(&t->fr, a, t->side[MMA_N]) ||
        !free_has(&t->fr, b, t->side[MMA_N]) || free_has(&t->fr, b, t->side[MMA_M]))
        opt_fail(t->s, "TC", "one factor must move with axis %s alone, the other with axis %s",
                 ir_name(t->ir, t->side[MMA_M]->arg.range.cls),
                 ir_name(t->ir, t->side[MMA_N]->arg.range.cls));
    const struct mma_map *d = &t->map[MMA_D];
    uop_vec src = {0};
    for (unsigned r = 0; r < d->regs; r += (unsigned)d->reg[0].extent) {
        const uop *reg[4];
        unsigned rest = r;
        for (unsigned i = 0; i < d->nreg; i++)
            reg[i] = number(t, rest % (unsigned)d->reg[i].extent), rest /= (unsigned)d->reg[i].extent;
        vec_push(t->a, &src, cell(t, acc, reg, (unsigned)d->reg[0].extent));
    }
    union arg arg = {.mma = {.instr = t->s->tc.instr}};
    const uop *operand[2] = {factor(t, a), factor(t, b)};
    for (int i = 0; i < 2; i++) {
        bool shared = mma_from_shared(t->s->tc.instr);
        vec_push(t->a, &src,
                 shared ? tile(t, operand[i], i, &arg.mma.rows[i]) : fragment(t, operand[i], (unsigned)i));
    }
    return uop_new(t->ir, OP_MMA, DT_VOID, 1, src.p, src.n, arg);
}

static void leaf(void *cx, const uop *stmt, uop_vec *out) {
    struct tc *t = cx;
    if (stmt->op == OP_LANERED && stmt->src[1] == t->side[MMA_K]) return; /* the instruction sums */
    if (free_has(&t->fr, stmt, t->side[MMA_K])) {
        vec_push(t->a, out, instruction(t, stmt));
        return;
    }
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(t->a, &stmt, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (is_cell(t, topo.p[i])) {
            vec_push(t->a, &from, topo.p[i]);
            vec_push(t->a, &to, cell(t, topo.p[i], t->reg, 1));
        }
    for (int side = 0; side < 2; side++) {
        vec_push(t->a, &from, t->side[side]);
        vec_push(t->a, &to, t->at[side]);
    }
    vec_push(t->a, out, rw_subst(t->rw, stmt, from.p, to.p, from.n));
}

const uop *tree_mma(struct sched *s, const uop *tree) {
    struct tc t = {.s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena};
    uop_vec topo = {0};
    free_init(&t.fr, t.ir, t.a);
    uop_topo(t.a, &tree, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        for (int k = 0; k < 3; k++) {
            const uop *n = topo.p[i];
            if (n->op != OP_RANGE || n->arg.range.cls != s->tc.axis[k]) continue;
            if (t.side[k]) opt_fail(s, "TC", "axis %s is used in two passes", ir_name(s->ir, s->tc.axis[k]));
            t.side[k] = n;
        }
    for (int k = 0; k < 3; k++)
        if (!t.side[k]) opt_fail(s, "TC", "axis %s is not used", ir_name(s->ir, s->tc.axis[k]));
    for (unsigned k = 0; k < 3; k++) t.map[k] = mma_map(s->tc.instr, k);
    lay_out(&t);
    s->tc.lane = t.lane;
    memcpy(s->tc.reg, t.reg, sizeof t.reg);
    return tree_map_leaves(s->ir, tree, leaf, &t);
}
