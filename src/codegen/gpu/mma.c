/* mma.c: contractions become MMA instructions, the opt TC, on GPUs and CPUs.
 *
 * TC gives three axes, tiled to the instruction's shape, the kind MMA. Up to the loop tree they are axes like others:
 * tiles are staged over them, accumulators have them as coordinates. Here the register layouts (ir/mma.def) map them to
 * the lanes of a warp, a new innermost THREAD range, and to registers:
 *
 *     SET(acc(m,n), acc + a(m,k)*b(k,n))   becomes   MMA(acc registers, fragment of a, fragment of b)
 *     what else mentions acc(m,n), m, n    the same with m and n as digits of the lane and of REG and VEC ranges
 *
 * wgmma reads tiles from shared memory: its operands are addresses, after a proof that the elements lie where the
 * instruction reads them. MN-major tiles may start at any row, the two halves of a K step may be rows of their own, and
 * neighbouring GEMMs whose tiles are a constant number of rows apart become one wider instruction: the taps of a
 * convolution.
 * mma.sync loads fragments by ldmatrix (op LDMATRIX) where rows of 16 bytes are contiguous, of 16-bit elements transposed or not;
 * else they are built from single values.
 * Low-precision accumulators (fp8) hold a partial sum, added to the fp32 accumulator every PARTIAL_K elements.
 * Back-to-back GEMMs: each TC names one. They share m; n of one may be k of another, if in every lane the accumulator
 * registers of the one are the operand registers of the other (same_registers compares the layouts). Reductions along n (a row's
 * maximum) are combined in the lane, then over the lanes of the row (WARP_REDUCE); values along m alone are
 * held by all of them and stored by one.
 * A CPU's instruction has one lane, and elements of its operands are lanes of vectors, loaded whole where packing put them in the
 * order of the layout; an operand in brackets (ir/mma.def) is an address. Where one vector holds several rows of the result
 * (BFMMLA: 2 x 2), other statements are unrolled and take elements out of it.
 * Requires: tree_build. Gives: no range of kind MMA. Tests: tests/unit/gpu_threads.c, tests/unit/cpu_mma.c */
#include "codegen/gpu/mma.h"

/* The coordinate along one side that the digits of x give. */
const uop *mma_digits(struct mma_cx *t, const struct mma_digit *d, unsigned n, const uop *x, int side) {
    const uop *sum = mma_idx(t, 0);
    for (unsigned i = 0; i < n; i++) {
        const uop *v = rw2(t->rw, OP_MOD, x, mma_idx(t, d[i].extent));
        x = rw2(t->rw, OP_IDIV, x, mma_idx(t, d[i].extent));
        if (d[i].dim == side) sum = rw2(t->rw, OP_ADD, sum, rw2(t->rw, OP_MUL, v, mma_idx(t, d[i].stride)));
    }
    return sum;
}

const uop *mma_range(struct mma_cx *t, const char *name, enum axis_kind kind, uint8_t pos, int64_t size) {
    const uop *n = mma_idx(t, size);
    union arg arg = {.range = {ir_sym(t->ir, name, strlen(name)), (uint8_t)kind, pos, 0}};
    return uop_new(t->ir, OP_RANGE, DT_IDX, 1, &n, 1, arg);
}

struct laid *mma_laid_of(struct mma_cx *t, const uop *range) {
    for (uint32_t i = 0; i < t->nlaid; i++)
        if (t->laid[i].range == range) return &t->laid[i];
    return NULL;
}

static void lay_out(struct mma_cx *t, const uop *side, int which, const struct mma_map *d) {
    struct laid *l = mma_laid_of(t, side);
    if (l && (l->side != which || memcmp(l->map, d, sizeof *d)))
        opt_fail(t->s, "TC", "axis %s would need two register layouts", ir_name(t->ir, side->arg.range.cls));
    if (l) return;
    l = &t->laid[t->nlaid++];
    *l = (struct laid){.range = side, .side = which, .map = d};
    for (unsigned i = 0; i < d->nreg; i++) {
        char name[64];
        if (d->reg[i].dim != which) continue;
        snprintf(name, sizeof name, "mma%u.%.50s", l->nreg, ir_name(t->ir, side->arg.range.cls));
        enum axis_kind kind = which == MMA_N && !l->nreg ? AX_VEC : AX_REG;
        l->reg[l->nreg++] = mma_range(t, name, kind, (uint8_t)(REG_POS + t->nlaid), d->reg[i].extent);
    }
}

/* The coordinate along a laid-out axis of the register with these digits. */
static const uop *coordinate_of(struct mma_cx *t, const struct laid *l, const uop *const *reg) {
    const uop *at = mma_digits(t, l->map->lane, l->map->nlane, t->lane, l->side);
    for (unsigned i = 0, k = 0; i < l->map->nreg; i++)
        if (l->map->reg[i].dim == l->side)
            at = rw2(t->rw, OP_ADD, at, rw2(t->rw, OP_MUL, reg[k++], mma_idx(t, l->map->reg[i].stride)));
    return at;
}

/* ---- accumulators --------------------------------------------------------------------------------------- */

bool mma_is_cell(struct mma_cx *t, const uop *n) {
    for (uint32_t i = 0; i < n->nsrc && n->op == OP_ACC; i++)
        if (mma_laid_of(t, n->src[i])) return true;
    return false;
}

struct pick mma_pick_all(const struct mma_cx *t) {
    struct pick p = {0};
    for (uint32_t i = 0; i < t->nlaid; i++) memcpy(p.reg[i], t->laid[i].reg, sizeof p.reg[i]);
    return p;
}

/* The accumulator with registers as coordinates. lanes > 1: the whole vector of the first digit of n. */
const uop *mma_cell(struct mma_cx *t, const uop *acc, const struct pick *p, unsigned lanes) {
    uop_vec src = {0};
    const struct laid *m = NULL, *n = NULL;
    for (uint32_t i = 0; i < acc->nsrc; i++) {
        const struct laid *l = mma_laid_of(t, acc->src[i]);
        if (!l)
            vec_push(t->a, &src, acc->src[i]);
        else if (*(l->side == MMA_M ? &m : &n))
            opt_fail(t->s, "TC",
                     "an accumulator has two axes of one side; expected one along m and one along n");
        else
            *(l->side == MMA_M ? &m : &n) = l;
    }
    const struct mma_map *map = n ? n->map : m->map;
    int64_t at_lane = -1, wide = 1; /* the element's lane of its vector; lanes of that */
    for (unsigned i = 0, im = 0, in = 0; i < map->nreg; i++) {
        const struct laid *l = map->reg[i].dim == MMA_M ? m : n;
        if (!l) continue;
        const uop *at = p->reg[l - t->laid][l == m ? im++ : in++];
        if ((i < t->vec || (l == n && in == 1)) && uop_is_const(at)) {
            at_lane = RG_MAX(at_lane, 0) + at->arg.i * wide, wide *= map->reg[i].extent;
            at = mma_idx(t, 0);
        }
        vec_push(t->a, &src, at);
    }
    if (at_lane >= 0 && lanes == 1) {
        const uop *all = uop_new(t->ir, OP_ACC, (enum dtype)acc->dt, (unsigned)wide, src.p, src.n, acc->arg);
        return uop_new(t->ir, OP_EXTRACT, (enum dtype)acc->dt, 1, &all, 1, ARG_INT(at_lane));
    }
    return uop_new(t->ir, OP_ACC, (enum dtype)acc->dt, lanes, src.p, src.n, acc->arg);
}

/* x as this lane has it in these registers. */
const uop *mma_in_registers(struct mma_cx *t, const uop *x, const struct pick *p) {
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(t->a, &x, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (mma_is_cell(t, topo.p[i])) {
            vec_push(t->a, &from, topo.p[i]);
            vec_push(t->a, &to, mma_cell(t, topo.p[i], p, 1));
        }
    for (uint32_t i = 0; i < t->nlaid; i++) {
        vec_push(t->a, &from, t->laid[i].range);
        vec_push(t->a, &to, coordinate_of(t, &t->laid[i], p->reg[i]));
    }
    return rw_subst(t->rw, x, from.p, to.p, from.n);
}

/* ---- fragments ------------------------------------------------------------------------------------------ */

/* Value x at coordinate p along m or n, and k. */
static const uop *element(struct mma_cx *t, const uop *x, int side, const uop *p, const uop *k) {
    return rw_subst(t->rw, x, (const uop *[]){t->p->side[side], t->p->side[MMA_K]}, (const uop *[]){p, k}, 2);
}

/* ldmatrix of four 8 x 8 matrices, whose row addresses the lanes give. transposed: rows in memory are
 * along k. NULL: does not fit. */
static const uop *matrices(struct mma_cx *t, const uop *x, unsigned operand, int side, bool transposed) {
    const struct mma_map *m = &t->p->map[operand];
    int bytes = dtype_info[x->dt].bytes, each = RG_MAX(4 / bytes, 1);
    const struct mma_digit word = {MMA_K, each, 1}, quad = {MMA_K, 4, each}, row = {side, 8, 1};
    if (x->op != OP_LOAD || access_buf(x)->op != OP_LOCAL || bytes > 2 || (transposed && bytes != 2) ||
        m->regs != 4 * (unsigned)each || memcmp(&m->reg[0], &word, sizeof word) ||
        memcmp(&m->lane[0], &quad, sizeof quad) || memcmp(&m->lane[1], &row, sizeof row) ||
        access_buf(x)->arg.mem.space != SPACE_SHARED)
        return NULL;
    const uop *which = rw2(t->rw, OP_IDIV, t->lane, mma_idx(t, 8)),
              *line = rw2(t->rw, OP_MOD, t->lane, mma_idx(t, 8));
    const uop *p = mma_digits(t, &m->reg[1], m->nreg - 1, which, side);
    const uop *k = mma_digits(t, &m->reg[1], m->nreg - 1, which, MMA_K);
    struct affine f = affine_of(t->a, access_offset(x));
    if (affine_coef(&f, t->p->side[transposed ? side : MMA_K]) != 1) return NULL;
    if (transposed)
        k = rw2(t->rw, OP_ADD, k, line);
    else
        p = rw2(t->rw, OP_ADD, p, line);
    const uop *at = element(t, access_offset(x), side, p, k);
    if (!uop_divides(at, 16 / bytes)) return NULL;
    const uop *index = mk_index(t->ir, access_buf(x), at, (unsigned)(16 / bytes));
    return uop_new(t->ir, OP_LDMATRIX, DT_U32, 4, &index, 1, ARG_INT(transposed));
}

static bool is_byte(const uop *x) { return x->dt == DT_I8 || x->dt == DT_U8; }

/* bf16 is the upper half of an fp32: exact for an 8-bit integer. */
static const uop *word(struct mma_cx *t, const uop *x) {
    bool byte = x->op == OP_CAST && x->dt == DT_BF16 && is_byte(x->src[0]);
    if (byte) x = uop_cast(t->ir, x->src[0], DT_F32);
    x = uop_new(t->ir, OP_BITCAST, byte ? DT_U32 : DT_U16, 1, &x, 1, ARG_NONE);
    if (byte) return uop2(t->ir, OP_SHR, x, uop_int(t->ir, DT_U32, 16));
    return uop_cast(t->ir, x, DT_U32);
}

/* One register of the operand: two elements, or four of 8 bits. */
static const uop *pack(struct mma_cx *t, const uop *const *part, unsigned n) {
    const uop *all = NULL;
    for (unsigned i = 0; i < n; i++) {
        const uop *x =
            is_byte(part[i]) ? uop_cast(t->ir, uop_cast(t->ir, part[i], DT_U8), DT_U32) : word(t, part[i]);
        if (i) x = uop2(t->ir, OP_SHL, x, uop_int(t->ir, DT_U32, 32 / n * i));
        all = i ? uop2(t->ir, OP_OR, all, x) : x;
    }
    return all;
}

/* The accumulator register that holds, in every lane, what register i of operand a holds at step k0; fails
 * if none does. */
static struct pick same_registers(struct mma_cx *t, const struct laid *l, unsigned i, int k0) {
    const struct mma_map *d = l->map, *a = &t->p->map[MMA_A];
    const struct laid *m = mma_laid_of(t, t->p->side[MMA_M]);
    for (unsigned r = 0; r < d->regs; r++) {
        bool same = true;
        for (unsigned lane = 0; lane < mma_lanes(t->p->instr) && same; lane++) {
            int x[3], y[3];
            mma_element(a, lane, i, x);
            mma_element(d, lane, r, y);
            same = x[MMA_M] == y[MMA_M] && x[MMA_K] + k0 == y[MMA_N];
        }
        if (!same) continue;
        struct pick p = mma_pick_all(t);
        unsigned rest = r, im = 0, in = 0;
        for (unsigned k = 0; k < d->nreg; k++) {
            const uop *v = mma_idx(t, rest % (unsigned)d->reg[k].extent);
            rest /= (unsigned)d->reg[k].extent;
            if (d->reg[k].dim == MMA_M)
                p.reg[m - t->laid][im++] = v;
            else
                p.reg[l - t->laid][in++] = v;
        }
        return p;
    }
    opt_fail(t->s, "TC", "the accumulators along axis %s do not have the layout of the first operand of %s",
             ir_name(t->ir, l->range->arg.range.cls), mma_info[t->p->instr].name);
}

/* Operand a from another GEMM's accumulators: k is that one's n. */
static const uop *from_accumulators(struct mma_cx *t, const uop *x, const struct laid *l, unsigned i,
                                    int k0) {
    struct pick p = same_registers(t, l, i, k0);
    return mma_in_registers(t, x, &p);
}

static const uop *fragment(struct mma_cx *t, const uop *x, unsigned operand, int k0) {
    const struct mma_map *m = &t->p->map[operand];
    int side = operand == MMA_A ? MMA_M : MMA_N;
    const struct laid *l = mma_laid_of(t, t->p->side[MMA_K]);
    bool single = !l && !k0 && !mma_is_wgmma(t->p->instr); /* mma.sync, one K step */
    const uop *v = single ? matrices(t, x, operand, side, false) : NULL;
    if (!v && single) v = matrices(t, x, operand, side, true);
    if (v) return v;
    if (l && operand == MMA_B) opt_fail(t->s, "TC", "only the first operand may be another GEMM's result");
    const uop **part = arena_array(t->a, const uop *, m->regs);
    const uop *p = mma_digits(t, m->lane, m->nlane, t->lane, side),
              *k = mma_digits(t, m->lane, m->nlane, t->lane, MMA_K);
    for (unsigned i = 0; i < m->regs; i++) {
        int at[3];
        mma_element(m, 0, i, at);
        part[i] = l ? from_accumulators(t, x, l, i, k0)
                    : element(t, x, side, rw2(t->rw, OP_ADD, p, mma_idx(t, at[side])),
                              rw2(t->rw, OP_ADD, k, mma_idx(t, at[MMA_K] + k0)));
        if (part[i]->lanes != 1)
            opt_fail(t->s, "TC", "an operand of the MMA instruction is a vector; expected scalars");
    }
    unsigned n = m->regs, each = 4 / dtype_info[x->dt].bytes;
    if (each > 1) {
        n /= each;
        for (unsigned i = 0; i < n; i++) part[i] = pack(t, &part[i * each], each);
    }
    return uop_new(t->ir, OP_BUILD, (enum dtype)part[0]->dt, n, part, n, ARG_NONE);
}

/* A CPU's operand: a vector whose lanes are the layout's registers, loaded whole where they are contiguous; or its address. */
static const uop *vector_operand(struct mma_cx *t, const uop *x, unsigned operand, int k0) {
    const struct mma_map *m = &t->p->map[operand];
    int side = operand == MMA_A ? MMA_M : MMA_N;
    const uop **part = arena_array(t->a, const uop *, m->regs);
    bool contiguous = x->op == OP_LOAD;
    for (unsigned i = 0; i < m->regs; i++) {
        int at[3];
        mma_element(m, 0, i, at);
        part[i] = element(t, x, side, mma_idx(t, at[side]), mma_idx(t, at[MMA_K] + k0));
        if (!contiguous) continue;
        struct affine f =
            affine_of(t->a, uop2(t->ir, OP_SUB, access_offset(part[i]), access_offset(part[0])));
        contiguous = !f.n && f.k == i;
    }
    contiguous &= !m->memory || access_buf(x)->op == OP_LOCAL;
    if (!contiguous && m->memory)
        opt_fail(t->s, "TC",
                 "%s reads the tile along axis %s from memory, and it is not packed in that order",
                 mma_info[t->p->instr].name, ir_name(t->ir, t->p->side[side]->arg.range.cls));
    if (!contiguous) return uop_new(t->ir, OP_BUILD, (enum dtype)x->dt, m->regs, part, m->regs, ARG_NONE);
    const uop *index = mk_index(t->ir, access_buf(x), access_offset(part[0]), m->memory ? 1 : m->regs);
    return m->memory ? index : uop_new(t->ir, OP_LOAD, (enum dtype)x->dt, m->regs, &index, 1, ARG_NONE);
}

/* AMX: the address of the tiles of the first step. Packed by the layout (opts/stage.c), those of the next ones follow; a may be
 * in place, rows of k that are *pitch elements apart. It suffices to look at each digit and each step. */
static const uop *tile_operand(struct mma_cx *t, const uop *x, unsigned operand, int64_t steps,
                               int64_t *pitch) {
    const struct mma_map *m = &t->p->map[operand];
    int side = operand == MMA_A ? MMA_M : MMA_N, size = mma_info[t->p->instr].size[MMA_K];
    bool local = x->op == OP_LOAD && access_buf(x)->op == OP_LOCAL,
         rows = x->op == OP_LOAD && access_buf(x)->op == OP_PARAM && operand == MMA_A, fits = local || rows;
    const uop *first = fits ? element(t, access_offset(x), side, mma_idx(t, 0), mma_idx(t, 0)) : NULL;
    int64_t step = 1;
    *pitch = 0;
    for (unsigned i = 0; i <= m->nreg && fits; i++) {
        int64_t extent = i < m->nreg ? m->reg[i].extent : steps,
                stride = i < m->nreg ? m->reg[i].stride : size;
        bool along_k = i == m->nreg || m->reg[i].dim == MMA_K;
        for (int64_t v = 1; v < extent && fits; v++) {
            const uop *p = mma_idx(t, along_k ? 0 : v * stride), *k = mma_idx(t, along_k ? v * stride : 0);
            struct affine f =
                affine_of(t->a, uop2(t->ir, OP_SUB, element(t, access_offset(x), side, p, k), first));
            if (rows && !along_k && !*pitch && !f.n && f.k % stride == 0) *pitch = f.k / stride;
            fits = !f.n && f.k == (local ? v * step : v * stride * (along_k ? 1 : *pitch));
        }
        step *= extent;
    }
    if (!fits || *pitch < 0 || *pitch > UINT16_MAX)
        opt_fail(t->s, "TC", "%s reads tiles along axis %s from memory, and they are not packed for it",
                 mma_info[t->p->instr].name, ir_name(t->ir, t->p->side[side]->arg.range.cls));
    return mk_index(t->ir, access_buf(x), first, 1);
}

/* ---- tiles ------------------------------------------------------------------------------------------------ */

/* A K step: the operands and where each half of it starts. The second half continues the first, or is the
 * next unrolled row, where a row ends inside of a step. */
struct k_step {
    const uop *x[2][2]; /* [half][a, b] */
    int k0[2];
    enum mma instr;     /* the GEMM's own, or a wider one .. */
    const uop_vec *acc; /* .. for these neighbouring accumulators .. */
    int64_t panel;      /* .. whose b tiles are `panel` rows apart */
};

/* Offset of element (p, k) of the operand from (0, 0); -1: not a constant. */
static int64_t offset_of(struct mma_cx *t, const struct k_step *s, int operand, int64_t p, int64_t k) {
    int side = operand == MMA_A ? MMA_M : MMA_N;
    int64_t half = mma_info[t->p->instr].size[MMA_K] / 2;
    const uop *x = access_offset(s->x[k / half][operand]), *first = access_offset(s->x[0][operand]);
    const uop *far = element(t, x, side, mma_idx(t, p), mma_idx(t, k % half + s->k0[k / half])),
              *near = element(t, first, side, mma_idx(t, 0), mma_idx(t, s->k0[0]));
    struct affine f = affine_of(t->a, uop2(t->ir, OP_SUB, far, near));
    return f.n ? -1 : f.k;
}

/* K-major: a row for each p. */
static bool is_k_major(struct mma_cx *t, const struct k_step *s, int operand, int64_t w) {
    const int *size = mma_info[t->p->instr].size;
    for (int64_t p = 0; p < size[operand == MMA_A ? MMA_M : MMA_N]; p++)
        if (offset_of(t, s, operand, p, 0) != p * w) return false;
    for (int64_t k = 0; k < size[MMA_K]; k++)
        if (offset_of(t, s, operand, 0, k) != k) return false;
    return true;
}

/* MN-major: a row for each k, in panels of `rows`, the second half of k `leap` rows behind the first. */
static bool is_mn_major(struct mma_cx *t, const struct k_step *s, int operand, int64_t w, union arg *arg) {
    const int *size = mma_info[t->p->instr].size;
    int64_t n = size[operand == MMA_A ? MMA_M : MMA_N], half = size[MMA_K] / 2;
    int64_t panel = n > w ? offset_of(t, s, operand, w, 0) : size[MMA_K] * w;
    int64_t leap = offset_of(t, s, operand, 0, half);
    for (int64_t k = 0; k < size[MMA_K]; k++)
        if (offset_of(t, s, operand, 0, k) != k / half * leap + k % half * w) return false;
    for (int64_t p = 0; p < n; p++)
        if (offset_of(t, s, operand, p, 0) != p / w * panel + p % w) return false;
    if (panel <= 0 || panel % (8 * w) || panel / w > UINT16_MAX || leap <= 0 || leap % w ||
        leap / w > UINT8_MAX)
        return false;
    arg->mma.rows[operand] = (uint16_t)(panel / w), arg->mma.leap[operand] = (uint8_t)(leap / w);
    return true;
}

static bool is_panels(const uop *x) {
    return x->op == OP_LOAD && access_buf(x)->op == OP_LOCAL && access_buf(x)->arg.mem.panels;
}

/* The address of the operand's tile; its layout in `arg`. */
static const uop *smem_operand(struct mma_cx *t, const struct k_step *s, int operand, union arg *arg) {
    int side = operand == MMA_A ? MMA_M : MMA_N;
    const char *why = "is not staged";
    const uop *x = s->x[0][operand];
    if (is_panels(x) && is_panels(s->x[1][operand])) {
        int64_t w = 128 / dtype_info[x->dt].bytes;
        bool k_rows = is_k_major(t, s, operand, w);
        bool across =
            !k_rows && w == 64 && is_mn_major(t, s, operand, w, arg); /* only 16-bit types may be MN-major */
        const uop *base = element(t, access_offset(x), side, mma_idx(t, 0), mma_idx(t, s->k0[0]));
        if ((k_rows || across) && uop_divides(base, k_rows ? mma_info[t->p->instr].size[MMA_K] : w))
            return mk_index(t->ir, access_buf(x), base, 1);
        why = "has another layout";
    }
    opt_fail(t->s, "TC", "wgmma reads the tile along axis %s from shared memory, and it %s",
             ir_name(t->ir, t->p->side[side]->arg.range.cls), why);
}

/* ---- statements ------------------------------------------------------------------------------------------ */

/* An operand as the instruction takes it: a widening cast to the accumulator's type is dropped; 8-bit
 * integers, exact in every type, are widened to the instruction's. */
static const uop *operand_of(struct mma_cx *t, const uop *x, int operand) {
    const struct mma_info *i = &mma_info[t->p->instr];
    enum dtype in = operand == MMA_A ? i->in : i->in_b;
    if (x->op == OP_CAST && is_byte(x->src[0]) && in != i->acc && dtype_info[in].bytes > 1)
        return uop_cast(t->ir, x->src[0], in);
    if (x->op == OP_CAST && x->src[0]->dt == in) x = x->src[0];
    if (x->dt != in)
        opt_fail(t->s, "TC", "instruction %s multiplies %s, found %s", i->name, dtype_info[in].name,
                 dtype_info[x->dt].name);
    return x;
}

/* The GEMM that SET accumulates, if it is along the sides of an instruction; *mul: its product. */
static struct mma_gemm *gemm_of(struct mma_cx *t, const uop *stmt, const uop **mul) {
    const uop *acc = stmt->src[0], *v = stmt->op == OP_SET ? stmt->src[1] : NULL;
    if (!v || acc->op != OP_ACC) return NULL;
    for (uint32_t i = 0; i < t->ngemm; i++) {
        struct mma_gemm *p = &t->gemm[i];
        if (!free_has(&t->fr, v, p->side[MMA_K]) || free_has(&t->fr, acc, p->side[MMA_K])) continue;
        bool sides = free_has(&t->fr, acc, p->side[MMA_M]) && free_has(&t->fr, acc, p->side[MMA_N]);
        *mul = v->op != OP_ADD ? NULL : v->src[0] == acc ? v->src[1] : v->src[1] == acc ? v->src[0] : NULL;
        if (sides && *mul && (*mul)->op == OP_MUL && acc->dt == mma_info[p->instr].acc) return p;
        if (!mma_laid_of(t, p->side[MMA_K]))
            opt_fail(t->s, "TC", "axis %s is not the k of a contraction of two operands",
                     ir_name(t->ir, p->side[MMA_K]->arg.range.cls));
    }
    return NULL;
}

/* Register operands of wgmma are computed before the first one is issued. */
static const uop *in_register(struct mma_cx *t, const uop *x, uop_vec *before) {
    const uop_vec *f = free_of(&t->fr, x);
    uop_vec coord = {0};
    for (uint32_t i = 0; i < f->n; i++)
        if (axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind)) vec_push(t->a, &coord, f->p[i]);
    const uop *acc =
        uop_new(t->ir, OP_ACC, (enum dtype)x->dt, x->lanes, coord.p, coord.n, ARG_INT(t->accs++));
    vec_push(t->a, before, uop2(t->ir, OP_SET, acc, x));
    return acc;
}

static void cells(struct mma_cx *t, const uop *acc, uop_vec *out) {
    const struct mma_map *d = &t->p->map[MMA_D];
    const struct laid *m = mma_laid_of(t, t->p->side[MMA_M]), *n = mma_laid_of(t, t->p->side[MMA_N]);
    unsigned wide = 1; /* elements of a vector */
    for (unsigned i = 0; i < t->vec; i++) wide *= (unsigned)d->reg[i].extent;
    for (unsigned r = 0; r < d->regs; r += wide) {
        struct pick p = {0};
        unsigned rest = r, im = 0, in = 0;
        for (unsigned i = 0; i < d->nreg; i++) {
            const uop *v = mma_idx(t, rest % (unsigned)d->reg[i].extent);
            rest /= (unsigned)d->reg[i].extent;
            if (d->reg[i].dim == MMA_M)
                p.reg[m - t->laid][im++] = v;
            else
                p.reg[n - t->laid][in++] = v;
        }
        vec_push(t->a, out, mma_cell(t, acc, &p, wide));
    }
}

static const uop *instruction(struct mma_cx *t, const struct k_step *s, uop_vec *before) {
    uop_vec src = {0};
    union arg arg = {.mma = {.instr = (uint8_t)s->instr}};
    for (uint32_t i = 0; i < s->acc->n; i++) cells(t, s->acc->p[i], &src);
    for (int i = 0; i < 2; i++) {
        const uop *x = mma_is_cpu(t->p->instr)         ? vector_operand(t, s->x[0][i], (unsigned)i, s->k0[0])
                       : *mma_info[t->p->instr].map[i] ? fragment(t, s->x[0][i], (unsigned)i, s->k0[0])
                                                       : smem_operand(t, s, i, &arg);
        if (mma_is_wgmma(t->p->instr) && x->op == OP_BUILD) x = in_register(t, x, before);
        vec_push(t->a, &src, x);
    }
    if (s->acc->n > 1) arg.mma.rows[MMA_B] = (uint16_t)s->panel;
    return uop_new(t->ir, OP_MMA, DT_VOID, 1, src.p, src.n, arg);
}

static int64_t values_of(const uop_vec *range) {
    int64_t n = 1;
    for (uint32_t i = 0; i < range->n; i++) n *= range->p[i]->src[0]->hi;
    return n;
}

/* x with unrolled ranges at their value number_of. */
static const uop *at_value(struct mma_cx *t, const uop *x, const uop_vec *range, int64_t number_of) {
    uop_vec to = {0};
    for (uint32_t i = 0; i < range->n; i++) {
        vec_push(t->a, &to, mma_idx(t, number_of % range->p[i]->src[0]->hi));
        number_of /= range->p[i]->src[0]->hi;
    }
    return to.n ? rw_subst(t->rw, x, range->p, to.p, to.n) : x;
}

/* Unrolled ranges of x, except those of `less`. */
static void expanded_of(struct mma_cx *t, const uop *x, const uop *less, uop_vec *out) {
    const uop_vec *f = free_of(&t->fr, x);
    for (uint32_t i = 0; i < f->n; i++)
        if (axis_is_expanded((enum axis_kind)f->p[i]->arg.range.kind) &&
            (!less || !free_has(&t->fr, less, f->p[i])))
            vec_push(t->a, out, f->p[i]);
}

/* Low-precision accumulators (mma.def): PARTIAL_K elements along k are a partial sum that starts at 0 and
 * is added to the accumulator. One partial sum serves all accumulators of a thread in turn. step: the
 * instructions that accumulate it. */
static void accumulate_partially(struct mma_cx *t, const uop *acc, const uop *part, const uop_vec *step,
                                 uop_vec *out) {
    struct pick all = mma_pick_all(t);
    uop_vec reg = {0}, unroll = {0};
    expanded_of(t, acc, NULL, &reg), expanded_of(t, step->p[0], acc, &unroll);
    const uop *sum = mma_in_registers(t, uop2(t->ir, OP_SET, acc, uop2(t->ir, OP_ADD, acc, part)), &all);
    int64_t steps = values_of(&unroll) * step->n, most = PARTIAL_K / mma_info[t->p->instr].size[MMA_K];
    for (int64_t r = 0; r < values_of(&reg); r++)
        for (int64_t i = 0; i < steps; i++) {
            const uop *n = at_value(t, step->p[i % step->n], &unroll, i / step->n);
            n = at_value(t, n, &reg, r);
            union arg arg = n->arg;
            arg.mma.zero_init = i % most == 0;
            vec_push(t->a, out, uop_new(t->ir, OP_MMA, DT_VOID, 1, n->src, n->nsrc, arg));
            if (i % most == most - 1 || i == steps - 1) vec_push(t->a, out, at_value(t, sum, &reg, r));
        }
}

/* Where k is no multiple of a step, an even number of unrolled rows may be. Returns the rows, else 1. */
static int64_t rows_of(struct mma_cx *t, const uop *acc, const uop *mul, uop_vec *row) {
    const uop *k = t->p->side[MMA_K];
    uop_vec all = {0};
    if (k->src[0]->hi % mma_info[t->p->instr].size[MMA_K] == 0) return 1;
    expanded_of(t, mul, acc, &all);
    for (uint32_t i = 0; i < all.n && !row->n; i++)
        if (all.p[i]->arg.range.kind == AX_UNROLL && all.p[i]->src[0]->hi % 2 == 0)
            vec_push(t->a, row, all.p[i]);
    if (!row->n || *mma_info[t->p->instr].map[MMA_A])
        opt_fail(t->s, "TC",
                 "axis %s has %lld values, no multiple of a K step, and no even number of rows is unrolled",
                 ir_name(t->ir, k->arg.range.cls), (long long)k->src[0]->hi);
    return values_of(row);
}

/* The instruction that is `times` as wide; its registers are those of `times` narrow ones in sequence. */
static enum mma wider(enum mma instr, int64_t times) {
    const struct mma_info *a = &mma_info[instr];
    for (int i = 0; i < MMA_COUNT; i++) {
        const struct mma_info *b = &mma_info[i];
        if (a->in == b->in && !*a->map[MMA_A] && !*b->map[MMA_A] && !*a->map[MMA_B] && !*b->map[MMA_B] &&
            b->size[MMA_N] == a->size[MMA_N] * times)
            return (enum mma)i;
    }
    return MMA_COUNT;
}

/* Neighbouring GEMMs with one a, and b tiles of single panels a constant number of rows apart
 * (neighbouring taps of a convolution): one wider instruction reads a once for all. acc: their
 * accumulators. */
static void widen(struct mma_cx *t, const uop *to, const uop *a, const uop *b, struct k_step *s, uop_vec *acc,
                  uop_vec *merged) {
    int64_t w = 64;
    s->instr = t->p->instr, s->acc = acc, s->panel = 0;
    for (uint32_t i = 0; i < to->nsrc && is_panels(b) && dtype_info[b->dt].bytes == 2; i++) {
        const uop *r = to->src[i];
        if (r->op != OP_RANGE || r->arg.range.kind != AX_REG || free_has(&t->fr, a, r)) continue;
        struct affine f = affine_of(t->a, access_offset(b));
        int64_t far = affine_coef(&f, r), n = r->src[0]->hi;
        enum mma wide = wider(t->p->instr, n);
        if (wide == MMA_COUNT || mma_info[t->p->instr].size[MMA_N] != w || far <= 0 || far % w ||
            affine_coef(&f, t->p->side[MMA_N]) != 1 || far / w > UINT16_MAX)
            continue;
        s->instr = wide, s->panel = far / w;
        vec_push(t->a, merged, r);
        break;
    }
    for (int64_t i = 0; i < values_of(merged); i++) vec_push(t->a, acc, at_value(t, to, merged, i));
}

/* AMX: one MMA for all K steps. */
static const uop *all_steps(struct mma_cx *t, const uop *acc, const uop *a, const uop *b) {
    int64_t steps = t->p->side[MMA_K]->src[0]->hi / mma_info[t->p->instr].size[MMA_K], pitch, none;
    uop_vec src = {0};
    if (steps > UINT16_MAX) opt_fail(t->s, "TC", "more than %d steps of k", UINT16_MAX);
    cells(t, acc, &src);
    vec_push(t->a, &src, tile_operand(t, a, MMA_A, steps, &pitch));
    vec_push(t->a, &src, tile_operand(t, b, MMA_B, steps, &none));
    union arg arg = {.mma = {.instr = (uint8_t)t->p->instr, .rows = {(uint16_t)steps, (uint16_t)pitch}}};
    return uop_new(t->ir, OP_MMA, DT_VOID, 1, src.p, src.n, arg);
}

/* All K steps. */
static void multiply(struct mma_cx *t, const uop *acc, const uop *mul, uop_vec *out) {
    const uop *const *side = t->p->side, *a = mul->src[0], *b = mul->src[1];
    if (free_has(&t->fr, a, side[MMA_N])) a = mul->src[1], b = mul->src[0];
    if (!free_has(&t->fr, a, side[MMA_M]) || free_has(&t->fr, a, side[MMA_N]) ||
        !free_has(&t->fr, b, side[MMA_N]) || free_has(&t->fr, b, side[MMA_M]))
        opt_fail(t->s, "TC", "expected one operand along axis %s only, the other along axis %s only",
                 ir_name(t->ir, side[MMA_M]->arg.range.cls), ir_name(t->ir, side[MMA_N]->arg.range.cls));
    int step = mma_info[t->p->instr].size[MMA_K];
    a = operand_of(t, a, MMA_A), b = operand_of(t, b, MMA_B);
    map_put(&t->accumulated, (uint64_t)acc->arg.i, 1);
    uop_vec all = {0};
    bool partial = partial_accumulate(t->p->instr);
    const uop *to = !partial ? acc
                             : uop_new(t->ir, OP_ACC, (enum dtype)acc->dt, 1,
                                       (const uop *[]){side[MMA_M], side[MMA_N]}, 2, ARG_INT(t->accs++));
    uop_vec rows = {0}, accs = {0}, merged = {0};
    struct k_step s;
    if (mma_has_tiles(t->p->instr)) {
        vec_push(t->a, out, all_steps(t, acc, a, b));
        return;
    }
    int64_t wide = side[MMA_K]->src[0]->hi, steps = wide * rows_of(t, acc, mul, &rows) / step;
    widen(t, to, a, b, &s, &accs, &merged);
    b = at_value(t, b, &merged, 0);
    for (int64_t i = 0; i < steps; i++) {
        for (int h = 0; h < 2; h++) {
            int64_t at = i * step + h * step / 2;
            s.k0[h] = (int)(at % wide);
            s.x[h][MMA_A] = at_value(t, a, &rows, at / wide),
            s.x[h][MMA_B] = at_value(t, b, &rows, at / wide);
        }
        vec_push(t->a, &all, instruction(t, &s, out));
    }
    if (partial) accumulate_partially(t, acc, to, &all, out);
    for (uint32_t i = 0; i < all.n && !partial; i++) vec_push(t->a, out, all.p[i]);
}

static void leaf(void *cx, const uop *stmt, uop_vec *out) {
    struct mma_cx *t = cx;
    const uop *mul;
    t->p = stmt->op == OP_WARP_REDUCE ? NULL : gemm_of(t, stmt, &mul);
    if (t->p)
        multiply(t, stmt->src[0], mul, out);
    else
        mma_statement(t, stmt, out);
}

/* AMX: MMAs whose accumulators were set to 0 before start from tiles that are zeroed in registers. */
static const uop *begin_at_zero(struct ir *ir, const uop *n) {
    uop_vec all = {0}, out = {0};
    if (n->op == OP_FOR) return uop2(ir, OP_FOR, n->src[0], begin_at_zero(ir, n->src[1]));
    if (n->op != OP_BLOCK && n->op != OP_IF) return n;
    for (uint32_t i = 0; i < n->nsrc; i++) vec_push(ir->arena, &all, begin_at_zero(ir, n->src[i]));
    for (uint32_t i = 0; i < all.n; i++) {
        const uop *first = mma_begins(ir, &all, i);
        vec_push(ir->arena, &out, first ? first : all.p[i]);
        i += first != NULL;
    }
    return uop_mk(ir, (enum op)n->op, out.p, out.n, ARG_NONE);
}

const uop *tree_mma(struct sched *s, const uop *tree) {
    struct mma_cx t = {
        .s = s, .ir = s->ir, .rw = &s->rw, .a = s->ir->arena, .ngemm = s->ntc, .accs = 1u << 15};
    uop_vec topo = {0};
    free_init(&t.fr, t.ir, t.a);
    map_init(&t.accumulated, t.a);
    uop_topo(t.a, &tree, 1, &topo);
    t.vec = mma_info[s->tc[0].instr].vec;
    t.lane = mma_is_cpu(s->tc[0].instr)
                 ? mma_idx(&t, 0)
                 : mma_range(&t, "lane", AX_THREAD, LANE_POS, mma_lanes(s->tc[0].instr));
    for (uint32_t j = 0; j < s->ntc; j++) {
        struct mma_gemm *p = &t.gemm[j];
        p->instr = s->tc[j].instr;
        for (uint32_t i = 0; i < topo.n; i++)
            for (int k = 0; k < 3; k++) {
                const uop *n = topo.p[i];
                if (n->op != OP_RANGE || n->arg.range.cls != s->tc[j].axis[k]) continue;
                if (p->side[k])
                    opt_fail(s, "TC", "axis %s is used in two passes", ir_name(s->ir, s->tc[j].axis[k]));
                p->side[k] = n;
            }
        for (unsigned k = 0; k < 3; k++) {
            if (!p->side[k]) opt_fail(s, "TC", "axis %s is not used", ir_name(s->ir, s->tc[j].axis[k]));
            p->map[k] = mma_map(p->instr, k);
        }
    }
    lay_out(&t, t.gemm[0].side[MMA_M], MMA_M, &t.gemm[0].map[MMA_D]);
    for (uint32_t j = 0; j < t.ngemm; j++) lay_out(&t, t.gemm[j].side[MMA_N], MMA_N, &t.gemm[j].map[MMA_D]);
    for (uint32_t j = 0; j < t.ngemm; j++) {
        const struct mma_map *d = &t.gemm[j].map[MMA_D];
        s->tc[j].lane = t.lane;
        for (unsigned i = 0, at[2] = {0, 0}; i < d->nreg; i++)
            s->tc[j].reg[i] = mma_laid_of(&t, t.gemm[j].side[d->reg[i].dim])->reg[at[d->reg[i].dim]++];
    }
    tree = tree_map_leaves(s->ir, tree, leaf, &t);
    return mma_has_tiles(t.gemm[0].instr) ? begin_at_zero(s->ir, tree) : tree;
}
