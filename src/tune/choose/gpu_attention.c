/* gpu_attention.c: block programs for kernels that keep rows between products: attention and its gradients.
 *
 * Inner products give a row for each query (q k^T, dO v^T), outer ones sum rows times a matrix (P v, dS k). A block has 64 or
 * 128 of the grid's values m, a warpgroup for 64; it streams along the rows in tiles that all its threads share: the
 * operands of products that move with the row are in a ring, those that move with m stay. Results of the inner products
 * are the outer ones' first operands, in registers. What else has a number for each value of the row (the logarithms of the
 * sums of a gradient's queries) is in the ring of blocks with roles too: asked for where it is needed, every tile would wait for it.
 *
 *     m: TILE, THREAD, TC   row: STREAM, TC   k of inner products, columns of outer ones: TC, whole
 *
 * One inner and one outer product, attention itself, leave registers for both and for the weights: a block of 128 x 128 with
 * roles, of which there is one for each SM; it walks over the tiles, with two places for the operand that stays. Where a mask makes rows of m differ in length
 * they are dealt out longest first, for as many heads at a time as L2 holds. Gradients of 128 columns have roles and tiles of 128 x 64.
 *
 * Only where instructions of warpgroups are, and 16-bit types of 64 or 128 columns. Tests: tests/unit/gpu_attention.c */
#include "tune/choose/choose.h"

enum { MOST_PRODUCTS = 4, MOST_ROWS = 4, MOST_TILES = 8, MOST_SMS = 512, MOST_WALKED = 1 << 16 };

struct tile_use { /* a buffer that products read */
    const struct access_view *access;
    int along, across; /* m or the row; k or the columns */
    int again;         /* the columns that the same elements are read along by another product; -1 */
};

struct rows {
    struct view *v;
    enum dtype dt;
    int m, cols;        /* axes */
    int row[MOST_ROWS]; /* axes that are passes over the row, the first one the kept rows' */
    int nrow;
    int k[MOST_PRODUCTS]; /* of inner products */
    int nk;
    struct tile_use fixed[MOST_TILES], ring[MOST_TILES];
    int nfixed, nring;
    const struct access_view *each[MOST_TILES]; /* numbers, one for each value of the row */
    int neach;
    int inner, outer; /* products */
};

static int axis_of(const struct rows *r, const uop *range) { return view_axis_of(r->v, range); }

static bool is_row(const struct rows *r, int axis) {
    for (int i = 0; i < r->nrow; i++)
        if (r->row[i] == axis) return true;
    return false;
}

static bool add_row(struct rows *r, int axis) {
    if (is_row(r, axis)) return true;
    if (r->nrow == MOST_ROWS) return false;
    r->row[r->nrow++] = axis;
    return true;
}

static bool reads_row(const uop *x) {
    while (x->op == OP_CAST || x->op == OP_WHERE) x = x->op == OP_WHERE ? x->src[1] : x->src[0];
    return x->op == OP_LOAD && access_buf(x)->op == OP_STAGE;
}

/* The load of a factor, widened from halves; NULL: it is something else. */
static const struct access_view *half_spot(struct rows *r, const uop *x) {
    if (x->op != OP_CAST || (x->src[0]->dt != DT_BF16 && x->src[0]->dt != DT_F16)) return NULL;
    for (int i = 0; i < r->v->naccess; i++)
        if (r->v->access[i].node == x->src[0]) {
            if (r->dt != DT_VOID && r->dt != r->v->access[i].node->dt) return NULL;
            r->dt = (enum dtype)r->v->access[i].node->dt;
            return view_can_name(r->v, r->v->access[i].buf) && !r->v->access[i].pred ? &r->v->access[i]
                                                                                     : NULL;
        }
    return NULL;
}

static bool moves(const struct rows *r, const struct access_view *s, int axis) {
    return (s->mask & r->v->axis[axis].ranges) != 0;
}

static int64_t step(const struct rows *r, const struct access_view *s, int axis) {
    struct affine f = affine_of(r->v->arena, s->index);
    int64_t found = 0;
    for (uint32_t i = 0; i < f.n; i++)
        if (f.t[i].atom->op == OP_RANGE && axis_of(r, f.t[i].atom) == axis) found = f.t[i].coef;
    return found;
}

/* Do both read the same elements, along `a` and along `b`? */
static bool same_elements(const struct rows *r, const struct access_view *x, int a,
                          const struct access_view *y, int b) {
    if (x->buf != y->buf) return false;
    struct affine f = affine_of(r->v->arena, x->index), g = affine_of(r->v->arena, y->index);
    if (f.n != g.n || f.k != g.k) return false;
    for (uint32_t i = 0; i < f.n; i++) {
        const uop *atom = f.t[i].atom;
        int axis = atom->op == OP_RANGE ? axis_of(r, atom) : -1;
        bool found = false;
        for (uint32_t k = 0; k < g.n; k++) {
            const uop *other = g.t[k].atom;
            int to = other->op == OP_RANGE ? axis_of(r, other) : -1;
            bool same = atom == other || (axis == a && to == b) ||
                        (axis >= 0 && to >= 0 && is_row(r, axis) && is_row(r, to));
            found |= same && g.t[k].coef == f.t[i].coef;
        }
        if (!found) return false;
    }
    return true;
}

static bool add_tile(struct rows *r, bool ring, const struct access_view *s, int along, int across) {
    struct tile_use *list = ring ? r->ring : r->fixed;
    int *n = ring ? &r->nring : &r->nfixed;
    if (step(r, s, across) != 1) return false;
    for (int i = 0; i < *n; i++) {
        if (list[i].access == s) return true;
        if (!same_elements(r, list[i].access, list[i].across, s, across)) continue;
        if (list[i].across != across) list[i].again = across;
        return true;
    }
    if (*n == MOST_TILES) return false;
    list[(*n)++] = (struct tile_use){s, along, across, -1};
    return true;
}

/* REDUCE[ADD] of two factors, both from memory. */
static bool add_inner(struct rows *r, const struct access_view *a, const struct access_view *b, int k) {
    const struct view *v = r->v;
    int row = -1, m = -1;
    for (int i = 0; i < r->nrow; i++)
        if (moves(r, a, r->row[i]) != moves(r, b, r->row[i])) row = r->row[i];
    if (row < 0) return false;
    const struct access_view *rest = moves(r, a, row) ? b : a, *own = moves(r, a, row) ? a : b;
    for (int i = 0; i < v->naxis; i++) /* the innermost: grouped heads are outside of it */
        if (v->axis[i].grid && moves(r, rest, i) && !moves(r, own, i)) m = i;
    if (m < 0 || (r->m >= 0 && r->m != m)) return false;
    r->m = m, r->inner++;
    bool known = false;
    for (int i = 0; i < r->nk; i++) known |= r->k[i] == k;
    if (!known && r->nk == MOST_PRODUCTS) return false;
    if (!known) r->k[r->nk++] = k;
    return add_tile(r, false, rest, m, k) && add_tile(r, true, own, row, k);
}

/* REDUCE[ADD] of a row times what moves with the row and the columns. */
static bool add_outer(struct rows *r, const struct access_view *b, int row) {
    int cols = -1;
    for (int i = 0; i < r->v->naxis; i++)
        if (!r->v->axis[i].grid && !r->v->axis[i].reduce && moves(r, b, i)) {
            if (cols >= 0) return false;
            cols = i;
        }
    if (cols < 0 || (r->cols >= 0 && r->cols != cols)) return false;
    r->cols = cols, r->outer++;
    return add_tile(r, true, b, row, cols);
}

/* float32 that moves with the row and not with m. */
static void find_each(struct rows *r) {
    for (int i = 0; i < r->v->naccess; i++) {
        const struct access_view *s = &r->v->access[i];
        bool row = false, known = false;
        for (int k = 0; k < r->nrow; k++) row |= moves(r, s, r->row[k]);
        for (int k = 0; k < r->neach; k++) known |= r->each[k]->buf == s->buf;
        if (s->store || s->pred || s->node->dt != DT_F32 || !row || known || moves(r, s, r->m)) continue;
        if (view_can_name(r->v, s->buf) && r->neach < MOST_TILES) r->each[r->neach++] = s;
    }
}

static bool find_row_axes(struct rows *r) {
    const uop_vec *t = &r->v->topo;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->p[i]->op == OP_STAGE && (t->p[i]->nsrc != 2 || !add_row(r, axis_of(r, t->p[i]->src[1]))))
            return false;
    for (uint32_t i = 0; i < t->n && r->nrow; i++) {
        const uop *n = t->p[i];
        if (n->op != OP_REDUCE || n->nsrc != 2) continue;
        const uop *x = n->src[0];
        bool row = reads_row(x) || (x->op == OP_MUL && (reads_row(x->src[0]) || reads_row(x->src[1])));
        if (row && !add_row(r, axis_of(r, n->src[1]))) return false;
    }
    for (int i = 0; i < r->nrow; i++) {
        const struct axis_view *a = &r->v->axis[r->row[i]];
        if (a->grid || a->size < 2 || a->size != r->v->axis[r->row[0]].size) return false;
    }
    return r->nrow > 0;
}

static bool find_products(struct rows *r) {
    const uop_vec *t = &r->v->topo;
    for (uint32_t i = 0; i < t->n; i++) {
        const uop *n = t->p[i];
        if (n->op != OP_REDUCE) continue;
        if (n->nsrc != 2) return false;
        const uop *x = n->src[0];
        while (x->op == OP_WHERE) x = x->src[1];
        int k = axis_of(r, n->src[1]);
        if (n->arg.i != OP_ADD || x->op != OP_MUL) {
            if (!is_row(r, k)) return false;
            continue;
        }
        int at = reads_row(x->src[0]) ? 0 : 1;
        const struct access_view *a = half_spot(r, x->src[at]), *b = half_spot(r, x->src[1 - at]);
        if (!b || !(reads_row(x->src[at]) ? is_row(r, k) && add_outer(r, b, k) : a && add_inner(r, a, b, k)))
            return false;
    }
    if (r->m < 0 || r->cols < 0 || !r->nk) return false;
    int64_t d = r->v->axis[r->cols].size;
    if (d != 64 && d != 128) return false;
    for (int i = 0; i < r->nk; i++)
        if (r->v->axis[r->k[i]].size % 64 || r->v->axis[r->k[i]].size > 256) return false;
    return true;
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static const char *name_of(const struct rows *r, int axis) { return r->v->axis[axis].name; }

/* A buffer that has several tiles: b#0, b#1 .. */
static const char *tile_name(const struct rows *r, const struct tile_use *u) {
    int same = 0, before = 0;
    for (int i = 0; i < r->nfixed + r->nring; i++) {
        const struct tile_use *o = i < r->nfixed ? &r->fixed[i] : &r->ring[i - r->nfixed];
        if (o->access->buf != u->access->buf) continue;
        if (o == u) before = same;
        same++;
    }
    const char *name = access_name(r->v, u->access);
    return same > 1 ? arena_printf(r->v->arena, "%s#%d", name, before) : name;
}

static void put_tile(const struct rows *r, const struct tile_use *u, const char *at, const char *along,
                     struct str *out) {
    const char *name = tile_name(r, u), *k = name_of(r, u->across);
    str_printf(out, " STAGE(%s,%s,%s,%s", name, at, along, k);
    if (u->again >= 0) str_printf(out, "+%s", name_of(r, u->again));
    str_printf(out, ") TILE(%s.%s,8,%s_v) VEC(%s_v)", name, k, name, name);
}

static int64_t tile_bytes(const struct rows *r, const struct tile_use *u, int rows) {
    return 2 * rows * r->v->axis[u->across].size;
}

/* m values of a block, row values of a tile, places of the ring. */
struct shape_of {
    int m, n, places;
    bool roles;
    int inner, outer, cols; /* products and columns that it is for; 0: any */
    bool
        mask; /* only for rows of which a mask leaves different parts: warpgroups end apart (attention_pipeline.c) */
};

/* Places of the tiles that stay: attention itself begins a block's next tile early. */
static int stays(const struct shape_of *s) { return s->roles && s->inner == 1 ? 2 : 1; }

static int64_t shared_bytes(const struct rows *r, const struct shape_of *s) {
    int64_t bytes = 0;
    for (int i = 0; i < r->nfixed; i++) bytes += stays(s) * tile_bytes(r, &r->fixed[i], s->m);
    for (int i = 0; i < r->nring; i++) bytes += s->places * tile_bytes(r, &r->ring[i], s->n);
    return bytes + (s->roles ? 4 * r->neach * s->places * s->n : 0);
}

/* Is the place along m compared with that in the row? */
static bool has_mask(const struct rows *r) {
    const uop_vec *t = &r->v->topo;
    for (uint32_t i = 0; i < t->n; i++) {
        bool m = false, row = false;
        if ((t->p[i]->op != OP_LT && t->p[i]->op != OP_LE) || t->p[i]->src[0]->dt != DT_IDX) continue;
        struct affine f = affine_of(r->v->arena, uop2(r->v->ir, OP_SUB, t->p[i]->src[0], t->p[i]->src[1]));
        for (uint32_t k = 0; k < f.n; k++) {
            int axis = f.t[k].atom->op == OP_RANGE ? axis_of(r, f.t[k].atom) : -1;
            m |= axis == r->m, row |= axis >= 0 && is_row(r, axis);
        }
        if (m && row) return true;
    }
    return false;
}

/* The axis of the grid next to m, outside of it; -1: none. */
static int heads_axis(const struct rows *r) {
    int found = -1;
    for (int i = 0; i < r->m; i++)
        if (r->v->axis[i].grid && r->v->axis[i].size > 1) found = i;
    return found;
}

/* How many heads' rows L2 holds, in even parts of the axis. */
static int64_t heads_near(const struct rows *r, int64_t heads) {
    int64_t bytes = 0, n = heads;
    for (int i = 0; i < r->nring; i++) bytes += tile_bytes(r, &r->ring[i], (int)r->v->axis[r->row[0]].size);
    while (n > 1 && (n * bytes > (int64_t)(gpu_cost.l2_attention * (double)r->v->gpu->l2) || heads % n)) n--;
    return n;
}

/* Heads that are near each other inside of m. Returns the innermost axis of the grid. */
static const char *put_order(const struct rows *r, int64_t *near_heads, struct str *out) {
    int heads = heads_axis(r);
    const char *m = name_of(r, r->m), *h;
    if (heads < 0 || !has_mask(r)) return m;
    int64_t size = r->v->axis[heads].size, n = heads_near(r, size);
    if (n < 2) return m;
    *near_heads = n;
    h = name_of(r, heads);
    if (n == size) {
        str_printf(out, " ORDER(%s,%s)", m, h);
        return h;
    }
    const char *near = view_new_axis(r->v, h, "h");
    str_printf(out, " TILE(%s,%lld,%s) GRID(%s) ORDER(%s,%s,%s)", h, (long long)n, near, near, h, m, near);
    return near;
}

/* Blocks such that the one with most to do has least: those that walk take tiles of `heads` at a time, the longest first, to and
 * fro; a tile takes as long as its loop and some 2 iterations more. */
static int blocks_of(const struct rows *r, const struct shape_of *s, int64_t heads) {
    int64_t rows = (r->v->axis[r->m].size + s->m - 1) / s->m, tiles = rows, best = INT64_MAX, load[MOST_SMS];
    int sms = RG_MIN(r->v->gpu->sms, MOST_SMS), found = sms;
    for (int i = 0; i < r->v->naxis; i++)
        if (r->v->axis[i].grid && i != r->m) tiles *= r->v->axis[i].size;
    if (heads < 2 || tiles > MOST_WALKED) return sms;
    for (int n = sms; n > sms * 7 / 8; n--) {
        int64_t most = 0;
        memset(load, 0, sizeof load);
        for (int64_t t = 0; t < tiles; t++) {
            int64_t at = t / n & 1 ? n - 1 - t % n : t % n, row = t % (heads * rows) / heads;
            load[at] += (rows - row) * s->m / s->n + 2;
            most = RG_MAX(most, load[at]);
        }
        if (most < best) best = most, found = n;
    }
    return found;
}

static void write_rows(const struct rows *r, const struct shape_of *s, struct str *out) {
    const struct view *v = r->v;
    const char *m = name_of(r, r->m), *row = name_of(r, r->row[0]), *h = r->dt == DT_F16 ? "F16" : "BF16";
    const char *at = m, *mi = view_new_axis(r->v, m, "m"), *mg = view_new_axis(r->v, m, "g"),
               *n = view_new_axis(r->v, row, "n");
    int64_t size = v->axis[r->m].size, len = v->axis[r->row[0]].size, heads = 1;
    for (int i = 0; i < v->naxis && size <= s->m; i++)
        if (v->axis[i].grid && i != r->m && v->axis[i].size > 1) at = v->axis[i].name;
    if (size <= s->m) str_printf(out, " PADTO(%s,%d)", m, at == m ? 2 * s->m : s->m);
    if (s->roles && size > s->m) at = put_order(r, &heads, out);
    for (int i = 0; i < r->nrow && len <= s->n; i++)
        str_printf(out, " PADTO(%s,%d)", name_of(r, r->row[i]), 2 * s->n);
    if (s->m > 64)
        str_printf(out, " TILE(%s,%d,%s) TILE(%s,64,%s) THREAD(%s)", m, s->m, mg, mg, mi, mg);
    else
        str_printf(out, " TILE(%s,64,%s)", m, mi);
    str_printf(out, " STREAM(%s,%d,%s", row, s->n, n);
    for (int i = 1; i < r->nrow; i++) str_printf(out, ",%s", name_of(r, r->row[i]));
    str_add(out, ")");
    for (int i = 0; i < r->nk; i++)
        str_printf(out, " TC(%s,%s,%s,W%s_%d)", mi, n, name_of(r, r->k[i]), h, s->n);
    str_printf(out, " TC(%s,%s,%s,WR%s_%d)", mi, name_of(r, r->cols), n, h, (int)v->axis[r->cols].size);
    const char *rows = s->m > 64 ? arena_printf(v->arena, "%s+%s", mg, mi) : mi;
    for (int i = 0; i < r->nfixed; i++) put_tile(r, &r->fixed[i], at, rows, out);
    for (int i = 0; i < r->nring; i++) put_tile(r, &r->ring[i], row, n, out);
    for (int i = 0; i < r->nring; i++) {
        bool named = false;
        for (int k = 0; k < i; k++) named |= r->ring[k].access->buf == r->ring[i].access->buf;
        if (!named) str_printf(out, " PIPE(%s,%s,%d)", access_name(v, r->ring[i].access), row, s->places);
    }
    for (int i = 0; i < r->neach && s->roles; i++) {
        const char *name = access_name(v, r->each[i]);
        str_printf(out, " STAGE(%s,%s,%s) TILE(%s.%s,4,%s_v) VEC(%s_v) PIPE(%s,%s,%d)", name, row, n, name, n,
                   name, name, name, row, s->places);
    }
    for (int i = 0; i < r->nfixed && stays(s) > 1; i++)
        str_printf(out, " PIPE(%s,%s,2)", access_name(v, r->fixed[i].access), at);
    if (s->roles) str_printf(out, " WARP_SPECIALIZE(1) PERSISTENT(%d)", blocks_of(r, s, heads));
}

/* Warpgroups that a SM holds: accumulators of the products and some 32 more registers for each thread. */
static int groups_held(const struct rows *r, const struct shape_of *s) {
    int64_t threads = 2 * s->m, regs = 32 + r->inner * s->n / 2 + r->outer * r->v->axis[r->cols].size / 2;
    int64_t blocks = RG_MIN(r->v->gpu->regs_sm / (threads * regs),
                            r->v->gpu->smem_block / (shared_bytes(r, s) + r->v->gpu->smem_reserved));
    return (int)(blocks * s->m / 64);
}

static const char *legal_list(struct rows *r, const struct shape_of *shape) {
    struct str s;
    str_init(&s, r->v->arena);
    if (shared_bytes(r, shape) > r->v->gpu->smem_block) return NULL;
    write_rows(r, shape, &s);
    return s.n < CHOOSE_TEXT && opts_legal(r->v->ir, r->v->kernel, s.p + 1, NULL) ? s.p + 1 : NULL;
}

static bool has_shape(const struct rows *r, const struct shape_of *s) {
    return r->inner == s->inner && r->outer == s->outer && r->v->axis[r->m].size > s->m &&
           (!s->cols || r->v->axis[r->cols].size == s->cols) && (!s->mask || has_mask(r));
}

/* Without roles 128 values share what is copied, if four warpgroups are held then: one multiplies while another one takes
 * exponentials. Else 64, if more are. */
const char *gpu_attention(struct view *v) {
    static const struct shape_of roles[] = {
        {.m = 256, .n = 64, .places = 4, .roles = true, .inner = 1, .outer = 1, .cols = 64, .mask = true},
        {.m = 128, .n = 128, .places = 2, .roles = true, .inner = 1, .outer = 1},
        {.m = 128, .n = 64, .places = 2, .roles = true, .inner = 1, .outer = 1},
        {.m = 128, .n = 64, .places = 3, .roles = true, .inner = 2, .outer = 1, .cols = 128},
        {.m = 128, .n = 64, .places = 2, .roles = true, .inner = 2, .outer = 2, .cols = 128},
    };
    static const struct shape_of shapes[] = {{.m = 128, .n = 64, .places = 2},
                                             {.m = 64, .n = 64, .places = 2}};
    struct rows r = {.v = v, .m = -1, .cols = -1, .dt = DT_VOID};
    const char *list = NULL;
    if (v->gpu->cc / 10 != 9 || !v->stages || !find_row_axes(&r) || !find_products(&r)) return "";
    find_each(&r);
    for (size_t i = 0; i < RG_COUNT(roles) && !list; i++)
        if (has_shape(&r, &roles[i])) list = legal_list(&r, &roles[i]);
    int wide = groups_held(&r, &shapes[0]);
    bool narrow = v->axis[r.m].size <= 64 || (wide < 4 && groups_held(&r, &shapes[1]) > wide);
    for (size_t i = narrow; i < RG_COUNT(shapes) && !list; i++) list = legal_list(&r, &shapes[i]);
    return list ? list : "";
}
