/* stage.c: packing, and rows kept between passes: the two opts that keep values in scratch memory.
 *
 * STAGE(b, at, x, y, z) copies the part of buffer b that one iteration of loop `at` uses into a packed tile
 * with dimensions x, y, z (row-major), where it is read with unit stride as often as needed: the packed
 * panels of a GEMM. The copy runs over axes of its own, named b.x, b.y, b.z, so that later opts
 * can cut and vectorise it apart from the loops that use the tile. A dimension y+z is a window: axes that walk over the
 * same elements (the positions and the taps of a convolution), of which the tile has each element once; its copy is b.y.
 * In a block program (THREAD) the tile is in memory that the threads share, filled by all of them, with padded rows.
 *
 * RESIDENT(k) looks at the passes over axis k (the members of the class). What pass 2 computes from element k
 * and pass 3 would compute again becomes a STAGE over the row, filled in pass 2: the exp of a softmax. RESIDENT(k,loads) keeps
 * what several passes load as well, which pays where scratch memory is nearer than any cache: in the registers of a GPU.
 *
 * Both insert STAGE nodes; where they are filled and with which loops they share is decided by loop_tree.c. */
#include "codegen/internal.h"

const uop *linear_index(struct rw *rw, const uop *const *range, uint32_t n) {
    const uop *at = uop_idx(rw->ir, 0);
    for (uint32_t i = 0; i < n; i++) at = rw2(rw, OP_ADD, rw2(rw, OP_MUL, at, range[i]->src[0]), range[i]);
    return at;
}

/* ---- STAGE --------------------------------------------------------------------------------------- */

/* Rows of shared memory are padded to an odd number of 16-byte chunks: eight lanes that load chunks of different rows, or
 * adjacent chunks of one, have no bank conflict. Of 8-byte elements 16 lanes load four of each of four rows at once (mma.sync on
 * fp64): an odd number of 32 bytes. */
enum { PANEL_BYTES = 128 };
int64_t stage_pitch(enum dtype dt, int64_t row) {
    int64_t size = dtype_info[dt].bytes, chunk = size == 8 ? 32 : 16,
            pieces = (row * size + chunk - 1) / chunk;
    return (pieces + 1 - pieces % 2) * chunk / size;
}

int64_t stage_size(const uop *stage) {
    int64_t n = 1, row = stage->arg.mem.panels ? 0 : stage->arg.mem.row;
    for (uint32_t i = 1; i < stage->nsrc; i++) n *= stage->src[i]->src[0]->hi;
    return row ? (n + row - 1) / row * stage_pitch((enum dtype)stage->dt, row) : n;
}

const uop *stage_index(struct rw *rw, const uop *stage) {
    int64_t row = stage->arg.mem.row, n = 1;
    uint32_t split = stage->nsrc;
    if (!row) return linear_index(rw, stage->src + 1, stage->nsrc - 1);
    while (split > 1 && n < row) n *= stage->src[--split]->src[0]->hi;
    const uop *pitch = uop_idx(rw->ir, stage_pitch((enum dtype)stage->dt, row)), *len = uop_idx(rw->ir, row);
    const uop *y = linear_index(rw, stage->src + 1, split - 1), *x;
    if (n == row) {
        x = linear_index(rw, stage->src + split, stage->nsrc - split);
    } else { /* a cut across rows */
        const uop *all = linear_index(rw, stage->src + 1, stage->nsrc - 1);
        y = rw2(rw, OP_IDIV, all, len), x = rw2(rw, OP_MOD, all, len);
    }
    if (stage->arg.mem.panels) { /* (x / w) * rows * w + y * w + x % w */
        int64_t w = PANEL_BYTES / dtype_info[stage->dt].bytes;
        const uop *wide = uop_idx(rw->ir, w), *panel = uop_idx(rw->ir, stage_size(stage) / row * w);
        const uop *far = rw2(rw, OP_MUL, rw2(rw, OP_IDIV, x, wide), panel);
        return rw2(rw, OP_ADD, rw2(rw, OP_ADD, far, rw2(rw, OP_MUL, y, wide)), rw2(rw, OP_MOD, x, wide));
    }
    return rw2(rw, OP_ADD, rw2(rw, OP_MUL, y, pitch), x);
}

/* Depth of an axis in the loop nest: the grid is outermost, unrolled axes and threads are innermost. */
static int nest_depth(struct sched *s, uint32_t cls) {
    for (uint32_t i = 0; i < s->axis.n; i++) {
        const struct axis *a = &s->axis.p[i];
        if (a->name != cls) continue;
        bool open = a->kind != AX_COUNT && !axis_is_loop((enum axis_kind)a->kind);
        return (int)i + (axis_is_grid(a) ? 0 : open ? 2 << 16 : 1 << 16);
    }
    return -1;
}

static const uop *member_in(const uop_vec *free, uint32_t cls) {
    for (uint32_t i = 0; i < free->n; i++)
        if (free->p[i]->arg.range.cls == cls) return free->p[i];
    return NULL;
}

/* The loop that copies a dimension of the tile, named after its first axis: created once per opt, shared by all loads of
 * the buffer. */
static const uop *copy_range(struct sched *s, const char *buffer, const char *suffix, const uop *r,
                             const uop *size) {
    char name[128];
    int n = snprintf(name, sizeof name, "%s.%s%s", buffer, ir_name(s->ir, r->arg.range.cls), suffix);
    union arg arg = r->arg;
    arg.range.cls = ir_sym(s->ir, name, (size_t)RG_MIN(n, (int)sizeof name - 1));
    arg.range.kind = AX_LOOP;
    arg.range.id = 0;
    if (!sched_axis(s, arg.range.cls))
        vec_push(s->ir->arena, &s->axis,
                 ((struct axis){.name = arg.range.cls, .kind = AX_COUNT, .members = 1}));
    return uop_new(s->ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

/* One dimension of a tile: an axis, or several that walk over the same elements (a window: position + tap), of which
 * the tile has each element once. position = sum of coef * axis - first, from 0 to size - 1. */
struct tile_dim {
    const uop *range[STAGE_WINDOW];
    int64_t coef[STAGE_WINDOW], first, size;
    uint32_t n;
    /* they do not walk over the same elements: the tile has one for each choice of values, row-major */
    bool digits;
};

static int64_t gcd(int64_t a, int64_t b) {
    a = a < 0 ? -a : a, b = b < 0 ? -b : b;
    while (b) {
        int64_t t = a % b;
        a = b, b = t;
    }
    return a;
}

/* A comparison of the position's quotient: 2*i + j < 52 with j below 2 was simplified to i < 26. f is what is compared with
 * 0, and depends on the window as +-floor(position / g) only: gives g, negative for a minus; else 0. */
static int64_t quotient_of(const struct tile_dim *d, const struct affine *f) {
    int64_t g = 0, low = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        int64_t c = affine_coef(f, d->range[i]);
        if (d->coef[i] < 1) return 0;
        if (!c)
            low += d->coef[i] * (d->range[i]->src[0]->hi - 1);
        else if (d->coef[i] % c || (g && d->coef[i] / c != g))
            return 0;
        else
            g = d->coef[i] / c;
    }
    return low < (g < 0 ? -g : g) ? g : 0;
}

static struct affine compared(struct sched *s, const uop *n) {
    struct affine f = affine_of(s->ir->arena, uop2(s->ir, OP_SUB, n->src[0], n->src[1]));
    f.k -= n->op == OP_LE; /* x <= 0 is x - 1 < 0 */
    return f;
}

static bool compares_quotient(struct sched *s, struct free_ranges *fr, const struct tile_dim *d,
                              const uop *n) {
    if ((n->op != OP_LT && n->op != OP_LE) || n->src[0]->dt != DT_IDX) return false;
    struct affine f = compared(s, n);
    for (uint32_t i = 0; i < f.n; i++)
        for (uint32_t k = 0; k < d->n; k++)
            if (f.t[i].atom->op != OP_RANGE && free_has(fr, f.t[i].atom, d->range[k])) return false;
    int64_t g = quotient_of(d, &f);
    return g > 1 || g < -1;
}

/* The same comparison of a position: q + rest < 0 is p + g*rest < 0, and -q + rest < 0 is g*rest + g - 1 - p < 0. */
static const uop *compare_position(struct sched *s, const struct tile_dim *d, const uop *n, const uop *p) {
    struct affine f = compared(s, n), rest = {.t = arena_array(s->ir->arena, struct term, f.n + 1)};
    int64_t g = quotient_of(d, &f), by = g < 0 ? -g : g;
    for (uint32_t i = 0; i < f.n; i++) {
        bool own = false;
        for (uint32_t k = 0; k < d->n; k++) own |= f.t[i].atom == d->range[k];
        if (!own) rest.t[rest.n++] = (struct term){f.t[i].atom, f.t[i].coef * by};
    }
    rest.k = f.k * by + (g < 0 ? by - 1 : 0);
    const uop *x = rw_post(&s->rw, affine_build(s->ir, &rest, DT_IDX));
    x = rw2(&s->rw, OP_ADD, x, rw2(&s->rw, OP_MUL, p, uop_idx(s->ir, g < 0 ? -1 : 1)));
    return rw2(&s->rw, OP_LT, x, uop_idx(s->ir, 0));
}

/* Does n depend on the axes of the window through their position alone? */
static bool by_position(struct sched *s, struct free_ranges *fr, const struct tile_dim *d, struct uop_memo *m,
                        const uop *n) {
    bool any = false;
    uint64_t known;
    if (uop_memo_get(m, n, &known)) return true;
    uop_memo_put(m, n, true); /* or no caller asks again */
    for (uint32_t i = 0; i < d->n; i++) any |= free_has(fr, n, d->range[i]);
    if (!any || compares_quotient(s, fr, d, n)) return true;
    if (n->dt != DT_IDX) {
        for (uint32_t i = 0; i < n->nsrc; i++)
            if ((n->op != OP_LT && n->op != OP_LE) && !by_position(s, fr, d, m, n->src[i])) return false;
        if (n->op != OP_LT && n->op != OP_LE) return true;
        if (n->src[0]->dt != DT_IDX) return false;
        n = uop2(s->ir, OP_SUB, n->src[0], n->src[1]);
    }
    struct affine f = affine_of(s->ir->arena, n);
    int64_t step = affine_coef(&f, d->range[0]) / d->coef[0];
    for (uint32_t i = 0; i < d->n; i++)
        if (affine_coef(&f, d->range[i]) != step * d->coef[i]) return false;
    for (uint32_t i = 0; i < f.n; i++) {
        const uop *atom = f.t[i].atom;
        for (uint32_t k = 0; k < atom->nsrc && atom->op != OP_RANGE; k++)
            if (!by_position(s, fr, d, m, atom->src[k])) return false;
    }
    return true;
}

/* Every position is some element of the window: one axis walks one by one, and each further one takes steps that the
 * ones before it cover. Only then is the copy sure to stay inside the buffer. */
static bool without_gaps(const struct tile_dim *d) {
    int64_t reach = 0;
    uint32_t done = 0;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < d->n; i++) {
            int64_t c = d->coef[i] < 0 ? -d->coef[i] : d->coef[i];
            if (done >> i & 1 || c > reach + 1) continue;
            reach += c * (d->range[i]->src[0]->hi - 1), done |= 1u << i, more = true;
        }
    }
    return done == (1u << d->n) - 1;
}

/* Pieces of one axis that moves through the buffer in leaps (the pixels of an image, row by row): each piece is a digit
 * of the position in the tile. */
static void set_digits(struct sched *s, const char *opt, struct tile_dim *d) {
    d->digits = true, d->first = 0, d->size = 1;
    for (uint32_t i = d->n; i-- > 0;) {
        d->coef[i] = d->size;
        if ((d->size *= d->range[i]->src[0]->hi) > 1 << 20)
            opt_fail(s, opt, "a dimension of a tile would have more than 2^20 elements");
    }
}

static void set_window(struct sched *s, struct free_ranges *fr, const char *opt, const uop *value,
                       const uop *index, struct tile_dim *d) {
    struct affine f = affine_of(s->ir->arena, index);
    struct uop_memo m;
    int64_t unit = 0;
    uop_memo_init(&m, s->ir->arena);
    for (uint32_t i = 0; i < d->n; i++) unit = gcd(unit, d->coef[i] = affine_coef(&f, d->range[i]));
    if (d->coef[0] < 0) unit = -unit;
    d->size = 1, d->first = 0;
    const uop *stuck = NULL;
    for (uint32_t i = 0; i < d->n && !stuck; i++) {
        const uop *r = d->range[i];
        d->coef[i] = unit ? d->coef[i] / unit : 0;
        int64_t span = d->coef[i] * (r->src[0]->hi - 1);
        d->size += span < 0 ? -span : span, d->first += span < 0 ? span : 0;
        if (!d->coef[i] || d->size > 1 << 20) stuck = r;
    }
    if (!stuck && without_gaps(d) && by_position(s, fr, d, &m, value)) return;
    if (sched_has_threads(s)) {
        set_digits(s, opt, d);
        return;
    }
    if (stuck)
        opt_fail(s, opt, "axis %s does not move through the buffer by a constant step",
                 ir_name(s->ir, stuck->arg.range.cls));
    opt_fail(s, opt, "axis %s and those added to it do not walk over the same elements",
             ir_name(s->ir, d->range[0]->arg.range.cls));
}

static const uop *
index_of(const uop *value) { /* of a LOAD, perhaps padded or widened: without its predicate */
    if (value->op == OP_CAST) value = value->src[0];
    const uop *i = access_offset(value->op == OP_WHERE ? value->src[1] : value);
    return i->op == OP_WHERE && i->src[2]->op == OP_INVALID ? i->src[1] : i;
}

/* Aligns the contiguous axis of the window to 16 bytes: a 16-byte chunk is then all inside or all outside the image, and is one
 * vector load. What is added is predicated as the padding is. */
static void align_window(struct sched *s, const uop *value, struct tile_dim *d) {
    int64_t n = 16 / dtype_info[value->dt].bytes;
    struct affine f = affine_of(s->ir->arena, index_of(value));
    if (!sched_has_wgmma(s) || value->op != OP_WHERE || d->digits || d->coef[0] < 0) return;
    int64_t at = f.k + d->first;
    for (uint32_t i = 0; i < f.n; i++) {
        bool own = false;
        for (uint32_t k = 0; k < d->n; k++) own |= f.t[i].atom == d->range[k] && f.t[i].coef == d->coef[k];
        if (!own && f.t[i].coef % n) return;
    }
    int64_t before = (at % n + n) % n;
    d->first -= before, d->size = (d->size + before + n - 1) / n * n;
}

/* Where an element of the window stands in the tile. */
static const uop *window_position(struct sched *s, const struct tile_dim *d) {
    const uop *at = uop_idx(s->ir, -d->first);
    for (uint32_t i = 0; i < d->n; i++)
        at = rw2(&s->rw, OP_ADD, at, rw2(&s->rw, OP_MUL, d->range[i], uop_idx(s->ir, d->coef[i])));
    return at;
}

/* The copy runs along an axis with step one, past its ends; the others stay at 0. */
static void copy_window(struct sched *s, struct free_ranges *fr, const struct tile_dim *d, const uop *value,
                        const uop *copy, uop_vec *from, uop_vec *to) {
    bool found = false;
    uop_vec topo = {0};
    for (uint32_t i = 0; i < d->n && d->digits; i++) {
        const uop *q = rw2(&s->rw, OP_IDIV, copy, uop_idx(s->ir, d->coef[i]));
        vec_push(s->ir->arena, from, d->range[i]);
        vec_push(s->ir->arena, to, rw2(&s->rw, OP_MOD, q, d->range[i]->src[0]));
    }
    if (d->digits) return;
    uop_topo(s->ir->arena, &value, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        bool any = false;
        for (uint32_t k = 0; k < d->n; k++) any |= free_has(fr, topo.p[i], d->range[k]);
        if (!any || !compares_quotient(s, fr, d, topo.p[i])) continue;
        vec_push(s->ir->arena, from, topo.p[i]);
        vec_push(s->ir->arena, to, compare_position(s, d, topo.p[i], copy));
    }
    for (uint32_t i = 0; i < d->n; i++) {
        const uop *at = uop_idx(s->ir, 0);
        if (!found && (d->coef[i] == 1 || d->coef[i] == -1)) {
            at = rw2(&s->rw, OP_MUL, rw2(&s->rw, OP_ADD, copy, uop_idx(s->ir, d->first)),
                     uop_idx(s->ir, d->coef[i]));
            found = true;
        }
        vec_push(s->ir->arena, from, d->range[i]);
        vec_push(s->ir->arena, to, at);
    }
}

/* The axes of a dimension that the value depends on. */
static void dim_ranges(struct sched *s, const char *opt, const uop_vec *free, const struct stage_dim *dim,
                       int top, uint32_t at, struct tile_dim *d) {
    d->n = 0, d->digits = false;
    for (uint32_t i = 0; i < dim->n; i++) {
        const uop *r = member_in(free, dim->axis[i]);
        if (nest_depth(s, dim->axis[i]) <= top)
            opt_fail(s, opt, "axis %s is not inside loop %s", ir_name(s->ir, dim->axis[i]),
                     ir_name(s->ir, at));
        if (!r) continue;
        if (!uop_is_const(r->src[0]))
            opt_fail(s, opt, "the size of axis %s is known at run time only", ir_name(s->ir, dim->axis[i]));
        d->range[d->n++] = r;
    }
}

/* Copies of a dimension x+y have the name of x, also for a load that moves with y alone: two loads of the same elements
 * have one tile. */
static const uop *first_member(struct sched *s, uint32_t cls) {
    uop_vec member = {0};
    sched_members(s, cls, &member);
    return member.p[0];
}

/* The operand of AMX that a value is, or -1; side[0]: its RANGE along m or n, side[1]: along k. */
static int tile_operand_of(struct sched *s, const uop_vec *free, const uop *side[2]) {
    if (!s->ntc || !mma_has_tiles(s->tc[0].instr)) return -1;
    side[1] = member_in(free, s->tc[0].axis[MMA_K]);
    for (int operand = MMA_A; operand <= MMA_B && side[1]; operand++)
        if ((side[0] = member_in(free, s->tc[0].axis[operand == MMA_A ? MMA_M : MMA_N]))) return operand;
    return -1;
}

struct copies { /* of a tile: its ranges, where they are read, what they stand for */
    uop_vec copy, position, from, to;
};

/* The tile as the instruction reads it: a dimension for each digit of its layout, after one for the steps of k. b.k is the fastest
 * digit along k, b.k1 the next .. */
static void copy_digits(struct sched *s, const char *buffer, int operand, const uop *const side[2],
                        struct copies *c) {
    const struct mma_info *info = &mma_info[s->tc[0].instr];
    struct mma_map m = mma_map(s->tc[0].instr, (unsigned)operand);
    struct ir *ir = s->ir;
    const uop *sum[2] = {uop_idx(ir, 0), uop_idx(ir, 0)};
    struct mma_digit steps = {MMA_K, (int)(side[1]->src[0]->hi / info->size[MMA_K]), info->size[MMA_K]};
    unsigned left[2] = {0, steps.extent > 1};
    for (unsigned i = 0; i < m.nreg; i++) left[m.reg[i].dim == MMA_K]++;
    for (unsigned i = m.nreg + 1; i-- > 0;) {
        const struct mma_digit *d = i < m.nreg ? &m.reg[i] : &steps;
        if (d->extent < 2) continue;
        bool k = d->dim == MMA_K;
        char suffix[16] = "";
        if (--left[k]) snprintf(suffix, sizeof suffix, "%u", left[k]);
        const uop *r = copy_range(s, buffer, suffix, side[k], uop_idx(ir, d->extent));
        const uop *q = rw2(&s->rw, OP_IDIV, side[k], uop_idx(ir, d->stride));
        vec_push(ir->arena, &c->copy, r);
        vec_push(ir->arena, &c->position, rw2(&s->rw, OP_MOD, q, uop_idx(ir, d->extent)));
        sum[k] = rw2(&s->rw, OP_ADD, sum[k], rw2(&s->rw, OP_MUL, r, uop_idx(ir, d->stride)));
    }
    for (int k = 0; k < 2; k++) {
        vec_push(ir->arena, &c->from, side[k]);
        vec_push(ir->arena, &c->to, sum[k]);
    }
}

static const uop *stage_load(struct sched *s, struct free_ranges *fr, const char *opt, const char *buffer,
                             const uop *load, uint32_t at, const struct stage_dim *dims, uint32_t ndims) {
    struct ir *ir = s->ir;
    const uop_vec *free = free_of(fr, load);
    int top = nest_depth(s, at);
    struct copies c = {0};
    uop_vec src = {0};
    const uop *side[2] = {NULL, NULL};
    int operand = tile_operand_of(s, free, side);
    for (uint32_t i = 0; i < ndims; i++) {
        struct tile_dim d;
        dim_ranges(s, opt, free, &dims[i], top, at, &d);
        if (!d.n || (operand >= 0 && d.n == 1 && (d.range[0] == side[0] || d.range[0] == side[1]))) continue;
        if (d.n > 1) set_window(s, fr, opt, load, index_of(load), &d), align_window(s, load, &d);
        const uop *size = d.n > 1 ? uop_idx(ir, d.size) : d.range[0]->src[0];
        const uop *r = copy_range(s, buffer, "", first_member(s, dims[i].axis[0]), size);
        vec_push(ir->arena, &c.copy, r);
        vec_push(ir->arena, &c.position, d.n > 1 ? window_position(s, &d) : d.range[0]);
        if (d.n > 1) {
            copy_window(s, fr, &d, load, r, &c.from, &c.to);
        } else {
            vec_push(ir->arena, &c.from, d.range[0]);
            vec_push(ir->arena, &c.to, r);
        }
    }
    if (operand >= 0) copy_digits(s, buffer, operand, side, &c);
    for (uint32_t i = 0; i < free->n; i++) {
        const uop *r = free->p[i];
        if (nest_depth(s, r->arg.range.cls) <= top || member_in(&c.from, r->arg.range.cls) == r) continue;
        opt_fail(s, opt, "the tile also depends on axis %s, which is inside %s: name it as a dimension",
                 ir_name(ir, r->arg.range.cls), ir_name(ir, at));
    }
    if (!c.copy.n) opt_fail(s, opt, "buffer %s does not depend on these axes", buffer);
    vec_push(ir->arena, &src, rw_subst(&s->rw, load, c.from.p, c.to.p, c.from.n));
    for (uint32_t i = 0; i < c.copy.n; i++) vec_push(ir->arena, &src, c.copy.p[i]);
    union arg arg = {.mem = {ir_sym(ir, buffer, strlen(buffer)), SPACE_SCRATCH, 0, 0}};
    if (sched_has_threads(s)) {
        int64_t row = c.copy.p[c.copy.n - 1]->src[0]->hi;
        arg.mem.space = SPACE_SHARED;
        arg.mem.row = (uint16_t)(c.copy.n > 1 && row <= UINT16_MAX ? row : 0);
        arg.mem.panels = sched_has_wgmma(s) && c.copy.n > 1; /* a single row is no operand */
        if (arg.mem.panels && (!arg.mem.row || row * dtype_info[load->dt].bytes % PANEL_BYTES))
            opt_fail(s, opt, "rows of the tile must be whole panels of %d bytes", PANEL_BYTES);
    }
    const uop *stage = uop_new(ir, OP_STAGE, load->dt, 1, src.p, src.n, arg);
    const uop *index = rw_subst(&s->rw, stage_index(&s->rw, stage), c.copy.p, c.position.p, c.copy.n);
    return uop1(ir, OP_LOAD, mk_index(ir, stage, index, 1));
}

static bool is_only_use(const uop_vec *topo, const uop *x, const uop *use) {
    for (uint32_t i = 0; i < topo->n; i++)
        for (uint32_t k = 0; k < topo->p[i]->nsrc; k++)
            if (topo->p[i]->src[k] == x && topo->p[i] != use) return false;
    return true;
}

/* A padded value, WHERE(inside, LOAD(predicated), number), is staged whole: the question is asked while the tile is filled
 * and not where it is used. On a GPU, or for an MMA instruction of a CPU, also where padding reads what lies next in the buffer, and so
 * has no predicate: the instruction reads the tile as it is. */
static const uop *padded_value(struct sched *s, struct free_ranges *fr, const uop_vec *topo,
                               const uop *load) {
    const uop *index = access_offset(load);
    bool predicated = index->op == OP_WHERE && index->src[2]->op == OP_INVALID;
    if (!predicated && !sched_has_threads(s) && !s->ntc) return load;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if (n->op == OP_WHERE && n->src[1] == load && uop_is_const(n->src[2]) &&
            free_of(fr, n)->n == free_of(fr, load)->n && (predicated || is_only_use(topo, load, n)))
            return n;
    }
    return load;
}

/* The type in which a CPU's tile holds a value that is used as `wide`: what the MMA instruction multiplies, else `wide` itself, so that
 * 16-bit floats are converted once and not at each use. */
static enum dtype tile_type(struct sched *s, const uop_vec *free, const uop *value, enum dtype wide) {
    if (!s->ntc) return wide;
    const struct mma_axes *tc = &s->tc[0];
    const struct mma_info *i = &mma_info[tc->instr];
    enum dtype in = member_in(free, tc->axis[MMA_M]) ? i->in : i->in_b;
    bool byte = value->dt == DT_I8 || value->dt == DT_U8;
    return member_in(free, tc->axis[MMA_K]) && dtype_info[in].bytes > 1 && byte ? in : (enum dtype)value->dt;
}

/* The only use of a value, if that is a cast to a wider type of at most 4 bytes; else NULL. */
static const uop *widening_cast(const uop_vec *topo, const uop *value) {
    const uop *cast = NULL;
    for (uint32_t i = 0; i < topo->n; i++)
        for (uint32_t k = 0; k < topo->p[i]->nsrc; k++) {
            if (topo->p[i]->src[k] != value) continue;
            if (topo->p[i]->op != OP_CAST || (cast && cast != topo->p[i])) return NULL;
            cast = topo->p[i];
        }
    if (!cast || dtype_info[cast->dt].bytes > 4 || dtype_info[cast->dt].bytes <= dtype_info[value->dt].bytes)
        return NULL;
    return cast;
}

static const uop *zero_unless(struct sched *s, const uop *pred, const uop *x) {
    if (x->op == OP_CAST) return rw_with(&s->rw, x, (const uop *[]){zero_unless(s, pred, x->src[0])});
    enum dtype dt = (enum dtype)x->dt;
    return rw3(&s->rw, OP_WHERE, pred, x, dt_is_float(dt) ? uop_flt(s->ir, dt, 0) : uop_int(s->ir, dt, 0));
}

/* A factor (inside ? (float)x : 0) as (float)(inside ? x : 0). */
static const uop *pred_inside(struct sched *s, const uop *x) {
    bool padded =
        x->op == OP_WHERE && x->src[1]->op == OP_CAST && x->src[2]->op == OP_CONST && x->src[2]->arg.u == 0;
    return padded ? zero_unless(s, x->src[0], x->src[1]) : x;
}

/* In a sum, (inside ? x*y : 0) is (inside ? x : 0) * (inside ? y : 0): the question is then asked of each factor while
 * its tile is filled, and the multiplication has no predicate. */
void pred_factors(struct sched *s) {
    struct ir *ir = s->ir;
    uop_vec topo = {0}, from = {0}, to = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], *pred = NULL;
        if (n->op != OP_REDUCE || n->arg.i != OP_ADD) continue;
        const uop *x = n->src[0];
        for (; x->op == OP_WHERE && x->src[2]->op == OP_CONST && x->src[2]->arg.u == 0; x = x->src[1])
            pred = pred ? rw2(&s->rw, OP_AND, pred, x->src[0]) : x->src[0];
        if (x->op != OP_MUL) continue;
        const uop **src = arena_array(ir->arena, const uop *, n->nsrc), *factor[2];
        memcpy(src, n->src, n->nsrc * sizeof *src);
        for (int k = 0; k < 2; k++)
            factor[k] = pred_inside(s, pred ? zero_unless(s, pred, x->src[k]) : x->src[k]);
        src[0] = rw2(&s->rw, OP_MUL, factor[0], factor[1]);
        if (src[0] == n->src[0]) continue;
        vec_push(ir->arena, &from, n);
        vec_push(ir->arena, &to, rw_with(&s->rw, n, src));
    }
    if (from.n) s->sink = rw_subst(&s->rw, s->sink, from.p, to.p, from.n);
}

static bool has_conjuncts(const uop *pred, const uop *of) {
    if (of->op == OP_AND) return has_conjuncts(pred, of->src[0]) && has_conjuncts(pred, of->src[1]);
    return pred == of ||
           (pred->op == OP_AND && (has_conjuncts(pred->src[0], of) || has_conjuncts(pred->src[1], of)));
}

/* A predicated load, which is undefined outside of its predicate, as 0 there; value: the load as it is staged otherwise. Loads
 * of the same elements, of which padding made one 0 outside and not the other, then share a tile: keys, in S and in dQ. */
static const uop *zero_outside(struct sched *s, const uop *load, const uop *value) {
    const uop *index = access_offset(load);
    if (index->op != OP_WHERE || index->src[2]->op != OP_INVALID) return value;
    if (value != load && !has_conjuncts(index->src[0], value->src[0])) return value;
    if (value != load && value->src[2]->arg.u != 0) return value;
    return zero_unless(s, index->src[0], load);
}

static bool is_buffer(struct sched *s, const uop *param, const char *name, size_t n) {
    const char *p = ir_name(s->ir, param->arg.param.name);
    return strlen(p) == n && !memcmp(p, name, n);
}

/* Does the load move with each of the dimensions? */
static bool has_all(struct free_ranges *fr, const uop *load, const struct stage_dim *dims, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        bool any = false;
        for (uint32_t k = 0; k < dims[i].n; k++) any |= member_in(free_of(fr, load), dims[i].axis[k]) != NULL;
        if (!any) return false;
    }
    return true;
}

/* A name b#1 is buffer b, and of its loads those that move with all the dimensions: the two factors of b*b have tiles of
 * their own. */
void opt_stage(struct sched *s, const char *opt, const char *buffer, uint32_t at,
               const struct stage_dim *dims, uint32_t ndims) {
    struct ir *ir = s->ir;
    struct free_ranges fr;
    size_t len = strcspn(buffer, "#");
    if (sched_has_threads(s)) pred_factors(s);
    free_init(&fr, ir, ir->arena);
    uop_vec topo = {0}, load = {0}, from = {0}, to = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_STAGE && !strcmp(ir_name(ir, topo.p[i]->arg.mem.name), buffer))
            opt_fail(s, opt, "buffer %s is staged already", buffer);
    for (uint32_t i = 0; i < s->sink->nsrc;
         i++) { /* a tile would be read before and after its elements change */
        const uop *p = access_buf(s->sink->src[i]);
        if (p->op == OP_PARAM && is_buffer(s, p, buffer, len))
            opt_fail(s, opt, "buffer %s is also written", buffer);
    }
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_LOAD || access_buf(n)->op != OP_PARAM) continue;
        if (!is_buffer(s, access_buf(n), buffer, len)) continue;
        if (buffer[len] && !has_all(&fr, n, dims, ndims)) continue;
        vec_push(ir->arena, &load, n);
    }
    for (uint32_t i = 0; i < load.n; i++) {
        const uop *n = padded_value(s, &fr, &topo, load.p[i]);
        const uop *cast = sched_has_threads(s) ? NULL : widening_cast(&topo, n), *value = n;
        if (sched_has_threads(s) && load.n > 1) value = zero_outside(s, load.p[i], n);
        if (cast) value = uop_cast(ir, n, tile_type(s, free_of(&fr, n), n, (enum dtype)cast->dt)), n = cast;
        const uop *tile = stage_load(s, &fr, opt, buffer, value, at, dims, ndims);
        vec_push(ir->arena, &from, n);
        vec_push(ir->arena, &to, cast ? uop_cast(ir, tile, (enum dtype)cast->dt) : tile);
    }
    if (!from.n) opt_fail(s, opt, "no buffer named %s is read", buffer);
    s->sink = rw_subst(&s->rw, s->sink, from.p, to.p, from.n);
    sched_refresh(s);
}

/* ---- RESIDENT ------------------------------------------------------------------------------------ */

/* Operations for each element; a division or function counts four. */
static uint32_t row_ops(struct sched *s, struct free_ranges *fr, const uop *n, const uop *range) {
    uop_vec topo = {0};
    uint32_t ops = 0;
    uop_topo(s->ir->arena, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *m = topo.p[i];
        if (!dt_is_float((enum dtype)m->dt) || !op_is_pure((enum op)m->op) || !free_has(fr, m, range))
            continue;
        ops += op_is_slow((enum op)m->op) ? 4 : 1;
    }
    return ops;
}

enum { WORTH_KEEPING = 4 }; /* operations that cost more than a store and a load */

/* Is there a source that is worth keeping and leaves little to do? Then that one is kept: others may use it too, and
 * what they read besides stays in its own pass. */
static bool source_will_do(struct sched *s, struct free_ranges *fr, const uop *n, const uop *range) {
    uint32_t all = row_ops(s, fr, n, range);
    for (uint32_t i = 0; i < n->nsrc && !op_is_slow((enum op)n->op); i++) {
        const uop *m = n->src[i];
        if (!op_is_pure((enum op)m->op) || !dt_is_float((enum dtype)m->dt) || !free_has(fr, m, range))
            continue;
        uint32_t ops = row_ops(s, fr, m, range);
        if (ops >= WORTH_KEEPING && all - ops < WORTH_KEEPING) return true;
    }
    return false;
}

/* The passes over an axis, in order. */
static void passes_of(struct sched *s, const char *opt, uint32_t axis, const uop_vec *topo, uop_vec *member) {
    struct ir *ir = s->ir;
    for (uint32_t i = 0; i < topo->n; i++)
        if (topo->p[i]->op == OP_RANGE && topo->p[i]->arg.range.cls == axis)
            vec_push(ir->arena, member, topo->p[i]);
    for (uint32_t i = 0; i < member->n; i++) {
        if (!uop_is_const(member->p[i]->src[0]))
            opt_fail(s, opt, "the size of axis %s is known at run time only", ir_name(ir, axis));
        for (uint32_t k = i + 1; k < member->n; k++)
            if (member->p[k]->arg.range.id < member->p[i]->arg.range.id) {
                const uop *t = member->p[i];
                member->p[i] = member->p[k], member->p[k] = t;
            }
    }
}

/* Is n, in the pass over `range`, something to keep? What is loaded from memory, or a value that is worth it. */
static bool keeps(struct sched *s, struct free_ranges *fr, const uop *n, const uop *range, bool loads) {
    if (!free_has(fr, n, range)) return false;
    if (loads) return n->op == OP_LOAD && access_buf(n)->op == OP_PARAM;
    return op_is_pure((enum op)n->op) && dt_is_float((enum dtype)n->dt) &&
           row_ops(s, fr, n, range) >= WORTH_KEEPING && !source_will_do(s, fr, n, range);
}

struct resident {
    struct sched *s;
    struct free_ranges fr;
    uop_vec topo, member; /* the graph; the passes over the axis, in order */
    uint32_t ids;         /* nodes before any was added */
    bool *here, *used;    /* by id: in the graph; kept, or below what is kept */
    uop_vec from, to;
    bool loads;
};

static void replace_by(struct resident *k, const uop *n, const uop *stage, const uop *range) {
    struct ir *ir = k->s->ir;
    vec_push(ir->arena, &k->from, n);
    vec_push(ir->arena, &k->to, uop1(ir, OP_LOAD, mk_index(ir, stage, range, 1)));
    k->used[n->id] = true;
}

static const uop *row_stage(struct resident *k, const uop *n, const uop *range) {
    char name[32];
    int len = snprintf(name, sizeof name, "row%u", k->s->stages++);
    union arg arg = {.mem = {ir_sym(k->s->ir, name, (size_t)len), SPACE_SCRATCH, 0, 0}};
    return uop_new(k->s->ir, OP_STAGE, n->dt, 1, (const uop *[]){n, range}, 2, arg);
}

/* Stages n of pass `first` if later passes compute it again, and loads it there. Returns whether one does. */
static bool keep_node(struct resident *k, const uop *n, uint32_t first) {
    const uop *range = k->member.p[first], *stage = NULL;
    if (!keeps(k->s, &k->fr, n, range, k->loads)) return false;
    for (uint32_t i = first + 1; i < k->member.n; i++) {
        const uop *again = rw_subst(&k->s->rw, n, &range, &k->member.p[i], 1);
        if (again->id >= k->ids || !k->here[again->id] || k->used[again->id]) continue;
        if (!stage) {
            stage = row_stage(k, n, range);
            replace_by(k, n, stage, range);
        }
        replace_by(k, again, stage, k->member.p[i]);
    }
    return stage != NULL;
}

/* Keeps what two passes share: values, or what is loaded. Returns whether there was any. */
static bool keep_shared(struct sched *s, const char *opt, uint32_t axis, bool loads) {
    struct ir *ir = s->ir;
    struct resident k = {.s = s, .loads = loads, .ids = ir->n};
    free_init(&k.fr, ir, ir->arena);
    uop_topo(ir->arena, &s->sink, 1, &k.topo);
    k.here = arena_array(ir->arena, bool, ir->n), k.used = arena_array(ir->arena, bool, ir->n);
    for (uint32_t i = 0; i < k.topo.n; i++) k.here[k.topo.p[i]->id] = true;
    passes_of(s, opt, axis, &k.topo, &k.member);
    /* Users before sources, so that the largest shared expression is found first and hides its operands. */
    for (uint32_t i = k.topo.n; i-- > 0;) {
        const uop *n = k.topo.p[i];
        for (uint32_t a = 0; a < k.member.n && !k.used[n->id]; a++)
            if (keep_node(&k, n, a)) break;
        for (uint32_t j = 0; j < n->nsrc && k.used[n->id]; j++) k.used[n->src[j]->id] = true;
    }
    if (!k.from.n) return false;
    s->sink = rw_subst(&s->rw, s->sink, k.from.p, k.to.p, k.from.n);
    sched_refresh(s);
    return true;
}

/* Values first: what is loaded only to make a value that is kept need not be kept too. */
void opt_resident(struct sched *s, const char *opt, uint32_t axis, bool loads) {
    bool any = keep_shared(s, opt, axis, false);
    if (loads) any |= keep_shared(s, opt, axis, true);
    if (!any)
        opt_fail(s, opt, "the passes over axis %s share nothing that is worth keeping", ir_name(s->ir, axis));
}
