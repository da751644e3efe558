/* cpu_mma.c: packed GEMMs by the MMA instructions of a CPU (rows MMA_CPU of ir/mma.def): BFMMLA, SMMLA; VDPBF16PS, VPDPBUSD.
 *
 * The schedule is packed.c's: panels of both operands are packed, k in blocks. The register tile is mr x nr instructions, and the
 * tiles that are packed are those that the instruction reads, pairs or quads along k included. Blocks of k are as long as the sum of
 * one accumulator may be (codegen/opts/block_sums.c); integers are exact.
 * Requires: struct view, a contraction. Gives: an opt list. Tests: tests/unit/cpu_mma.c */
#include "tune/choose/choose.h"

enum {
    LEAST_K = 12,          /* terms of a sum worth packing, .. */
    LEAST_K_TILES = 16,    /* .. for AMX */
    LEAST_TERMS = 1 << 11, /* products, likewise */
    LEAST_TERMS_TILES = 1 << 15,
    K_BYTES = 512,          /* of a row of a packed block .. */
    K_BYTES_EXACT = 1024,   /* .. of integers */
    K_BYTES_TILES = 2048,   /* .. of AMX, whose accumulators are stored after each */
    LEAST_TILE = 3,         /* values of m and n worth a padded tile of AMX .. */
    LEAST_RESULTS = 128,    /* .. and their product: an eighth of its tiles, FMAs without conversions */
    PACK_TILES_A = 48,      /* FMAs of AMX in the time to copy an element, three cycles for 64 bytes .. */
    PACK_TILES_B = 64,      /* .. and to interleave it */
    PITCH_BYTES = 1024,     /* rows of a tile in place may share sets of L1 as if they were so far apart */
    MOST_ACCUMULATORS = 24, /* of 32 vector registers */
    OPERAND_REGISTERS = 8,  /* what is left for a and b */
};

static bool has_feature(const struct view *v, const char *flag) {
    size_t n = strlen(flag);
    for (const char *p = v->features; (p = strstr(p, flag)); p += n)
        if (!p[n] || strchr(" +", p[n])) return true;
    return false;
}

/* The type that is multiplied: below a widening cast. */
static enum dtype factor_type(const struct operand_view *s) {
    const uop *x = s->root;
    while (x->op == OP_WHERE && uop_is_const(x->src[2])) x = x->src[1];
    return (enum dtype)(x->op == OP_CAST ? x->src[0]->dt : x->dt);
}

/* Does an instruction that multiplies `in` take `x`? 8-bit integers are exact in wider types. */
static bool takes(enum dtype in, enum dtype x) {
    bool byte = x == DT_I8 || x == DT_U8;
    return in == x || (byte && in == DT_I16);
}

/* Is it slower than packing as float32 and FMA? VDPBF16PS is where it starts every second cycle. */
static bool is_slow(const struct view *v, const struct mma_info *m) {
    const struct isa_op *dot = NULL, *fma = NULL;
    if (m->sum != MMA_FMA_PAIRS || !has_feature(v, "-mfma")) return false;
    for (size_t i = 0; isa_op_at(i); i++) {
        const struct isa_op *op = isa_op_at(i);
        if (strcmp(op->arch, "x86_64") || op->tiles) continue;
        if (!dot && !strcmp(op->in, "bf16")) dot = op;
        if (!fma && !strcmp(op->in, "f32") && op->field == MODEL_FLOPS_F32) fma = op;
    }
    return dot && fma && isa_op_count(dot, 64) * dot->rate <= isa_op_count(fma, 64) * fma->rate;
}

/* The instruction of this machine that does most per issue; MMA_COUNT: none. */
static enum mma find_instruction(const struct view *v, const struct contraction *c) {
    enum dtype a = factor_type(&c->a), b = factor_type(&c->b);
    enum mma best = MMA_COUNT;
    for (int i = 0; i < MMA_COUNT; i++) {
        const struct mma_info *m = &mma_info[i];
        if (!mma_is_cpu((enum mma)i) || m->acc != c->reduce->dt || !takes(m->in, a) || !takes(m->in_b, b) ||
            !has_feature(v, m->feature) || is_slow(v, m))
            continue;
        if (best == MMA_COUNT || m->size[MMA_K] > mma_info[best].size[MMA_K]) best = (enum mma)i;
    }
    return best;
}

/* Register tile: x by y instructions. Each loads x operands of a and y of b. */
static void mma_tile(const struct mma_info *i, int64_t m, int64_t n, int64_t *x, int64_t *y) {
    int64_t vectors = i->vec > 1 ? 1 : i->size[MMA_M]; /* accumulators of one instruction */
    double best = 0;
    for (int64_t r = 1; r <= OPERAND_REGISTERS; r++)
        for (int64_t s = 1; s <= OPERAND_REGISTERS && r * s * vectors <= MOST_ACCUMULATORS; s++) {
            double all = (double)(r * s * vectors), e = all / (all + 0.25 * (double)(r + s));
            e *= filled(m, r * i->size[MMA_M]) * filled(n, s * i->size[MMA_N]) *
                 (0.7 + 0.3 * all / MOST_ACCUMULATORS);
            if (s % 2 && i->vec > 1) e *= 0.9; /* rows are stored by pairs of tiles */
            if (e > 1.001 * best) best = e, *x = r, *y = s;
        }
}

/* least: blocks, if the grid is one iteration: panels are packed inside of some loop. */
static int64_t k_block(const struct mma_info *i, int64_t k, int64_t least) {
    int64_t step = i->size[MMA_K], bytes = i->sum == MMA_EXACT ? K_BYTES_EXACT : K_BYTES;
    if (*i->map[MMA_B] == '[') bytes = K_BYTES_TILES;
    int64_t most = i->sum == MMA_FMA_PAIRS ? 128 : bytes / dtype_info[i->in].bytes;
    int64_t whole = i->sum == MMA_ODD_PAIRS ? 2 * most : most + most / 2 - 1; /* one block up to here */
    int64_t parts = RG_MAX(ceil_div(k, k <= whole ? k : most), least);
    return ceil_div(ceil_div(k, parts), step) * step;
}

struct mma_axis_names {
    const char *mr, *mi, *nr, *ni, *ki; /* tiles of the register tile, and inside them */
    const char *ml, *nl, *kk;           /* register tiles of a panel, steps of a block */
    const char *outer, *at;             /* loops around the panels; the one that packs .. */
    const char *loops,
        *at_b; /* positions of a window besides n in one grid iteration; "": none. b is packed in the last */
    bool in_place;    /* a is not packed */
    const char *at_a; /* .. and, for a, where each of its panels is packed before use; NULL: the same */
};

static void tile_side(struct view *v, struct str *out, const char *axis, int64_t size, int64_t tiles,
                      int64_t each, const char **r, const char **in) {
    *in = view_new_axis(v, axis, "i");
    if (size <= each) { /* the whole axis */
        if (size < each) str_printf(out, " PADTO(%s,%lld)", axis, (long long)each);
        *in = axis, *r = "";
        return;
    }
    if (size > tiles * each) {
        *r = view_new_axis(v, axis, "r");
        str_printf(out, " TILE(%s,%lld,%s)", axis, (long long)(tiles * each), *r);
    } else {
        *r = axis;
    }
    if (tiles > 1 || *r == axis)
        str_printf(out, " TILE(%s,%lld,%s)", *r, (long long)each, *in);
    else
        *in = *r, *r = "";
}

/* Tiles of a panel: all, in parts for the grid. */
static const char *tile_panel(struct view *v, struct contraction *c, struct str *out, int axis, int64_t tiles,
                              int64_t parts) {
    int64_t per = ceil_div(tiles, parts);
    const char *name = v->axis[axis].name;
    c->in_grid[axis] = (double)ceil_div(tiles, per);
    if (tiles < 2) return "";
    if (per == 1) return "";
    if (per == tiles) {
        str_printf(out, " LOOP(%s)", name);
        return name;
    }
    const char *in = view_new_axis(v, name, "t");
    str_printf(out, " TILE(%s,%lld,%s)", name, (long long)per, in);
    return in;
}

/* May AMX read a where it is: whole tiles of rows along k, which do not evict each other from L1? */
static bool reads_in_place(const struct view *v, const struct contraction *c, const struct mma_info *i) {
    int64_t pitch = access_stride(v, c->a.access, c->m, 1), m = v->axis[c->m].size, k = v->axis[c->kbig].size;
    if (pitch == NO_STRIDE || pitch < k || pitch > UINT16_MAX ||
        access_stride(v, c->a.access, c->kbig, 1) != 1)
        return false;
    int64_t bytes = pitch * c->a.access->bytes;
    return c->nk == 1 && c->a.access->bytes == dtype_info[i->in].bytes && (bytes & -bytes) <= PITCH_BYTES &&
           m % i->size[MMA_M] == 0 && k % i->size[MMA_K] == 0;
}

/* Positions of a window that are loops of a grid iteration: all but what makes some iterations for each thread. */
static void loop_positions(struct view *v, struct contraction *c, struct str *out, struct mma_axis_names *p) {
    enum { EACH = 4 }; /* grid iterations for a thread, at least */
    int64_t want = EACH * v->threads, grid = 1;
    const char *at = NULL;
    for (int a = 0; a < v->naxis; a++) {
        const struct axis_view *x = &v->axis[a];
        if (!x->grid || a == c->m || a == c->n || x->size < 2) continue;
        int64_t parts = x->size;
        if (has_axis(v, c->b.mask, a) && !has_axis(v, c->a.mask, a))
            for (parts = at ? 1 : 2; parts < x->size && (parts * grid < want || x->size % parts);) parts++;
        if (parts > 1) at = x->name, grid *= parts, c->in_grid[a] = (double)parts;
        if (parts == x->size) continue;
        const char *in = parts > 1 ? view_new_axis(v, x->name, "t") : x->name;
        if (parts > 1)
            str_printf(out, " TILE(%s,%lld,%s)", x->name, (long long)(x->size / parts), in);
        else
            str_printf(out, " LOOP(%s)", in), c->in_grid[a] = 1;
        p->loops = LIST(v, p->loops, in), p->at_b = in;
    }
    p->at = at;
}

/* Do the panels of all terms stay in L2, those of a for many positions? */
static bool panels_fit(const struct view *v, const struct contraction *c, const struct mma_info *i) {
    double k = (double)v->axis[c->kbig].size * dtype_info[i->in].bytes;
    return (double)v->axis[c->m].size * k <= (double)v->l2 / 2 &&
           (double)v->axis[c->n].size * k <= (double)v->l2 / 2;
}

static bool tile_axes(struct view *v, struct contraction *c, const struct mma_info *i, struct str *out,
                      struct mma_axis_names *p) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n], *k = &v->axis[c->kbig];
    int64_t x = 1, y = 1, gm, gn;
    mma_tile(i, m->size, n->size, &x, &y);
    c->mr = x * i->size[MMA_M], c->lanes = i->size[MMA_N], c->nv = y;
    int64_t tm = ceil_div(m->size, c->mr), tn = ceil_div(n->size, y * c->lanes);
    bool tiles = *i->map[MMA_B] == '[';
    if (tiles) c->pack_a = PACK_TILES_A, c->pack_b = PACK_TILES_B;
    p->loops = "", p->at = NULL;
    if (tiles && c->window && c->nk == 1 && panels_fit(v, c, i)) loop_positions(v, c, out, p);
    split_panels(v, c, tm, tn, &gm, &gn);
    if (*p->loops) {
        gm = gn = 1;
    } else if (tiles) { /* what is packed of a stays in half of L2 */
        int64_t row = RG_MIN(k->size * dtype_info[i->in].bytes, K_BYTES_TILES) * c->mr;
        gm = RG_MAX(gm, ceil_div(tm, RG_MAX(v->l2 / 2 / row, 1)));
    }
    if (tiles && !*p->loops && gm * gn < 2) *(tn > 1 ? &gn : &gm) = RG_MIN(2, RG_MAX(tm, tn));
    double rest = 1;
    for (int a = 0; a < v->naxis; a++) rest *= a == c->m || a == c->n ? 1 : c->in_grid[a];
    int64_t kc = k_block(i, k->size, c->nk < 2 && rest * (double)gm * (double)gn < 2 ? 2 : 1);
    if (*p->loops) kc = ceil_div(k->size, i->size[MMA_K]) * i->size[MMA_K];
    tile_side(v, out, m->name, m->size, x, i->size[MMA_M], &p->mr, &p->mi);
    tile_side(v, out, n->name, n->size, y, i->size[MMA_N], &p->nr, &p->ni);
    p->kk = k->name, p->ki = view_new_axis(v, k->name, "i");
    if (kc < k->size) {
        p->kk = view_new_axis(v, k->name, "k");
        str_printf(out, " TILE(%s,%lld,%s)", k->name, (long long)kc, p->kk);
    }
    if (tiles) { /* all steps of a block in one MMA */
        if (kc >= k->size && k->size % i->size[MMA_K])
            str_printf(out, " PADTO(%s,%d)", k->name, i->size[MMA_K]);
        p->ki = p->kk, p->kk = "";
    } else {
        str_printf(out, " TILE(%s,%d,%s)", p->kk, i->size[MMA_K], p->ki);
    }
    str_printf(out, " TC(%s,%s,%s,%s)", p->mi, p->ni, p->ki, i->name);
    if (*p->mr) str_printf(out, " UNROLL(%s)", p->mr);
    if (*p->nr) str_printf(out, " UNROLL(%s)", p->nr);
    p->ml = tile_panel(v, c, out, c->m, tm, gm), p->nl = tile_panel(v, c, out, c->n, tn, gn);
    p->outer = "";
    for (int a = 0; a < v->naxis; a++) {
        if (!v->axis[a].reduce || (a == c->kbig && kc >= k->size)) continue;
        p->at = v->axis[a].name;
        p->outer = LIST(v, p->outer, p->at);
    }
    for (int a = 0; a < v->naxis && !*p->outer && !*p->loops; a++)
        if (v->axis[a].grid && c->in_grid[a] > 1) p->at = v->axis[a].name;
    double cols = (double)ceil_div(tn, gn) * (double)(y * i->size[MMA_N]);
    if (tiles && !*p->outer && !*p->loops && *p->ml && *p->nl &&
        cols * (double)kc * dtype_info[i->in_b].bytes <= (double)v->l2 / 4)
        p->at_a = p->ml;
    p->in_place = tiles && !*p->outer && !*p->loops && (p->at_a || !*p->nl) && reads_in_place(v, c, i);
    const char *order = p->at_a ? LIST(v, p->ml, p->nl) : LIST(v, p->outer, p->loops, p->nl, p->ml, p->kk);
    if (strchr(order, ',')) str_printf(out, " ORDER(%s)", order);
    return p->at != NULL;
}

/* Packs along the operand's rows; where k is not contiguous, the values along k of several rows are transposed in registers. */
static void pack_operand(struct view *v, struct str *out, const struct mma_axis_names *p,
                         const struct access_view *s, const char *l, const char *r, const char *in,
                         bool k_major) {
    const char *name = access_name(v, s);
    str_printf(out, " STAGE(%s,%s,%s)", name, p->at, LIST(v, l, p->kk, r, in, p->ki));
    str_printf(out, " VEC(%s.%s) UNROLL(%s.%s)", name, p->ki, name, in);
    if (*r) str_printf(out, " UNROLL(%s.%s)", name, r);
    if (!k_major && *l) str_printf(out, " ORDER(%s.%s,%s.%s)", name, p->kk, name, l);
}

/* For AMX: dimensions are digits of the layout (codegen/opts/stage.c). Rows of a along k are copied by vectors, those of 16 bits across k are
 * transposed in registers; pairs or quads of rows of b are interleaved, along the rows of all panels. */
static void pack_tiles(struct view *v, struct str *out, const struct mma_axis_names *p,
                       const struct access_view *s, const char *l, const char *in, bool k_major, bool is_a,
                       bool steps) {
    const char *name = access_name(v, s);
    bool inside = is_a && p->at_a;
    const char *at = inside ? p->at_a : !is_a && *p->loops ? p->at_b : p->at;
    str_printf(out, " STAGE(%s,%s,%s)", name, at, LIST(v, inside ? "" : l, in, p->ki));
    if (is_a && k_major)
        str_printf(out, " TILE(%s.%s,16,%s.v) VEC(%s.v) UNROLL(%s.%s)", name, p->ki, name, name, name, p->ki);
    else if (k_major)
        str_printf(out, " VEC(%s.%s) UNROLL(%s.%s)", name, p->ki, name, in);
    else
        str_printf(out, " VEC(%s.%s)", name, in);
    if (k_major || (is_a && s->bytes != 2)) return;
    str_printf(out, " UNROLL(%s.%s)", name, p->ki);
    if (is_a) return;
    if (steps && *l)
        str_printf(out, " ORDER(%s.%s2,%s.%s1,%s.%s,%s.%s1)", name, p->ki, name, p->ki, name, l, name, in);
    else
        str_printf(out, " ORDER(%s.%s1,%s.%s1)", name, p->ki, name, in);
}

bool write_cpu_mma(struct view *v, struct contraction *c, struct str *out) {
    const struct axis_view *m = &v->axis[c->m], *n = &v->axis[c->n];
    enum mma instr = find_instruction(v, c);
    if (instr == MMA_COUNT || !m->grid || !n->grid || c->a.access->buf == c->b.access->buf) return false;
    const struct mma_info *i = &mma_info[instr];
    double results = (double)m->size * (double)n->size, terms = results * c->depth;
    bool tiles = mma_has_tiles(instr);
    if (tiles && results < LEAST_RESULTS) return false;
    if (v->axis[c->kbig].size < (tiles ? LEAST_K_TILES : LEAST_K) ||
        terms < (tiles ? LEAST_TERMS_TILES : LEAST_TERMS) || m->size < RG_MIN(i->size[MMA_M], LEAST_TILE) ||
        n->size < RG_MIN(i->size[MMA_N], LEAST_TILE))
        return false;
    struct mma_axis_names p = {0};
    if (!tile_axes(v, c, i, out, &p)) return false;
    bool ka = access_stride(v, c->a.access, c->kbig, 1) == 1,
         kb = access_stride(v, c->b.access, c->kbig, 1) == 1 && access_stride(v, c->b.access, c->n, 1) != 1;
    if (tiles) {
        bool steps = v->axis[c->kbig].size > i->size[MMA_K];
        if (!p.in_place) pack_tiles(v, out, &p, c->a.access, p.ml, p.mi, ka, true, steps);
        pack_tiles(v, out, &p, c->b.access, p.nl, p.ni, kb, false, steps);
        return true;
    }
    pack_operand(v, out, &p, c->a.access, p.ml, p.mr, p.mi, ka);
    pack_operand(v, out, &p, c->b.access, p.nl, p.nr, p.ni, kb);
    return true;
}
