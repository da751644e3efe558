/* gpu_attention.c: opt lists of a GPU for attention and its gradients (FlashAttention): GEMM, row operations, GEMM.
 *
 * Inner products fill a row for each query (q k^T, dO v^T), outer ones multiply rows by a matrix (P v, dS k). A block has 64, 128 or
 * 256 values of the grid axis m (queries, or keys in a gradient), a warpgroup for 64; it streams along the row in tiles:
 * operands that depend on the row are pipelined, those that depend on m stay in shared memory. Accumulators of the inner
 * products are the register operand of the outer ones. Row statistics (logsumexp and delta of a gradient) are pipelined too
 * if the kernel is warp-specialized, so that no tile waits for them.
 *
 *     m: TILE, THREAD, TC   row: STREAM, TC   k of inner products, columns of outer ones: TC, whole
 *
 * The forward pass has registers for 128 x 128 tiles: warp-specialized and persistent, with two stages for q. Causal masks
 * make rows of m differ in length: they are scheduled longest first, for as many heads at a time as L2 holds. Gradients of 128
 * columns: warp-specialized, 128 x 64.
 *
 * Head sizes that are no multiples of 64 are padded to one (TMA fills with zeros what is out of bounds, the padding is not stored).
 *
 * Requires wgmma, 16-bit floats, head sizes up to 256 in multiples of 8. Tests: tests/unit/gpu_attention.c,
 * gpu_attention_grad.c */
#include "tune/choose/choose.h"

enum { MAX_PRODUCTS = 4, MAX_ROW_AXES = 4, MAX_TILES = 8, MAX_SMS = 512, MAX_SIMULATED = 1 << 16 };
enum { PANEL = 64, CHUNK = 8, MAX_HEAD = 256 }; /* 16-bit elements: of 128 bytes, of 16 bytes */

/* A buffer that products read. */
struct attention_operand {
    const struct access_view *access;
    int along, across; /* axes: m or the row; k or the columns */
    int also;          /* the columns of another product that reads the same elements; -1: none */
};

struct attention_kernel {
    struct view *v;
    enum dtype dt;
    int m, cols;           /* axes */
    int row[MAX_ROW_AXES]; /* axes along the row, one per pass; the first is the stored rows' */
    int nrow;
    int k[MAX_PRODUCTS]; /* of inner products */
    int nk;
    struct attention_operand fixed[MAX_TILES], streamed[MAX_TILES];
    int nfixed, nstreamed;
    const struct access_view *row_stats[MAX_TILES]; /* f32, one per value of the row */
    int nrow_stats;
    const struct access_view *bias; /* or NULL */
    int inner, outer;               /* products */
    const char *order;              /* opt that makes m the innermost axis of the grid; "": it is */
    bool whole;                     /* a mask leaves one tile of the row: there is nothing to pipeline */
};

static int axis_of(const struct attention_kernel *r, const uop *range) { return view_axis_of(r->v, range); }

static bool is_row(const struct attention_kernel *r, int axis) {
    for (int i = 0; i < r->nrow; i++)
        if (r->row[i] == axis) return true;
    return false;
}

static bool add_row(struct attention_kernel *r, int axis) {
    if (is_row(r, axis)) return true;
    if (r->nrow == MAX_ROW_AXES) return false;
    r->row[r->nrow++] = axis;
    return true;
}

static bool reads_row(const uop *x) {
    while (x->op == OP_CAST || x->op == OP_WHERE) x = x->op == OP_WHERE ? x->src[1] : x->src[0];
    return x->op == OP_LOAD && access_buf(x)->op == OP_STAGE;
}

/* The load of an operand, cast from a 16-bit float; NULL: anything else. */
static const struct access_view *narrow_load(struct attention_kernel *r, const uop *x) {
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

static bool depends(const struct attention_kernel *r, const struct access_view *s, int axis) {
    return (s->mask & r->v->axis[axis].ranges) != 0;
}

static int64_t row_stride(const struct attention_kernel *r, const struct access_view *s, int axis) {
    struct affine f = affine_of(r->v->arena, s->index);
    int64_t found = 0;
    for (uint32_t i = 0; i < f.n; i++)
        if (f.t[i].atom->op == OP_RANGE && axis_of(r, f.t[i].atom) == axis) found = f.t[i].coef;
    return found;
}

/* Do both read the same elements, along `a` and along `b`? */
static bool same_elements(const struct attention_kernel *r, const struct access_view *x, int a,
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

static bool add_tile(struct attention_kernel *r, bool streamed, const struct access_view *s, int along,
                     int across) {
    struct attention_operand *list = streamed ? r->streamed : r->fixed;
    int *n = streamed ? &r->nstreamed : &r->nfixed;
    if (row_stride(r, s, across) != 1) return false;
    for (int i = 0; i < *n; i++) {
        if (list[i].access == s) return true;
        if (!same_elements(r, list[i].access, list[i].across, s, across)) continue;
        if (list[i].across != across) list[i].also = across;
        return true;
    }
    if (*n == MAX_TILES) return false;
    list[(*n)++] = (struct attention_operand){s, along, across, -1};
    return true;
}

/* REDUCE[ADD] of two operands, both from memory. */
static bool add_inner(struct attention_kernel *r, const struct access_view *a, const struct access_view *b,
                      int k) {
    const struct view *v = r->v;
    int row = -1, m = -1;
    for (int i = 0; i < r->nrow; i++)
        if (depends(r, a, r->row[i]) != depends(r, b, r->row[i])) row = r->row[i];
    if (row < 0) return false;
    const struct access_view *rest = depends(r, a, row) ? b : a, *own = depends(r, a, row) ? a : b;
    for (int i = 0; i < v->naxis; i++) /* the innermost: heads of GQA are outside of it */
        if (v->axis[i].grid && depends(r, rest, i) && !depends(r, own, i)) m = i;
    if (m < 0 || (r->m >= 0 && r->m != m)) return false;
    r->m = m, r->inner++;
    bool known = false;
    for (int i = 0; i < r->nk; i++) known |= r->k[i] == k;
    if (!known && r->nk == MAX_PRODUCTS) return false;
    if (!known) r->k[r->nk++] = k;
    return add_tile(r, false, rest, m, k) && add_tile(r, true, own, row, k);
}

/* REDUCE[ADD] of a row times an operand that depends on row and columns. */
static bool add_outer(struct attention_kernel *r, const struct access_view *b, int row) {
    int cols = -1;
    for (int i = 0; i < r->v->naxis; i++)
        if (!r->v->axis[i].grid && !r->v->axis[i].reduce && depends(r, b, i)) {
            if (cols >= 0) return false;
            cols = i;
        }
    if (cols < 0 || (r->cols >= 0 && r->cols != cols)) return false;
    r->cols = cols, r->outer++;
    return add_tile(r, true, b, row, cols);
}

/* f32 that depends on the row and not on m. */
static void find_row_stats(struct attention_kernel *r) {
    for (int i = 0; i < r->v->naccess; i++) {
        const struct access_view *s = &r->v->access[i];
        bool row = false, known = false;
        for (int k = 0; k < r->nrow; k++) row |= depends(r, s, r->row[k]);
        for (int k = 0; k < r->nrow_stats; k++) known |= r->row_stats[k]->buf == s->buf;
        if (s->store || s->pred || s->node->dt != DT_F32 || !row || known || depends(r, s, r->m)) continue;
        if (view_can_name(r->v, s->buf) && r->nrow_stats < MAX_TILES) r->row_stats[r->nrow_stats++] = s;
    }
}

/* What is added to the scores, or masks them: a number for each, contiguous along the row. Threads of an MMA instruction would load
 * single elements of many rows. */
static void find_bias(struct attention_kernel *r) {
    for (int i = 0; i < r->v->naccess && !r->bias; i++) {
        const struct access_view *s = &r->v->access[i];
        bool operand = s->store || s->pred || !view_can_name(r->v, s->buf);
        for (int k = 0; k < r->nfixed; k++) operand |= r->fixed[k].access->buf == s->buf;
        for (int k = 0; k < r->nstreamed; k++) operand |= r->streamed[k].access->buf == s->buf;
        if (!operand && depends(r, s, r->m) && access_stride(r->v, s, r->row[0], 1) == 1) r->bias = s;
    }
}

static bool find_row_axes(struct attention_kernel *r) {
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

/* A head size, padded to whole panels of 128 bytes. */
static int64_t head_size(const struct attention_kernel *r, int axis) {
    return (r->v->axis[axis].size + PANEL - 1) / PANEL * PANEL;
}

static bool is_head_size(const struct attention_kernel *r, int axis) {
    return r->v->axis[axis].size % CHUNK == 0 && r->v->axis[axis].size <= MAX_HEAD;
}

static bool find_products(struct attention_kernel *r) {
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
        const struct access_view *a = narrow_load(r, x->src[at]), *b = narrow_load(r, x->src[1 - at]);
        if (!b || !(reads_row(x->src[at]) ? is_row(r, k) && add_outer(r, b, k) : a && add_inner(r, a, b, k)))
            return false;
    }
    if (r->m < 0 || r->cols < 0 || !r->nk) return false;
    bool fits = is_head_size(r, r->cols);
    for (int i = 0; i < r->nk; i++) fits &= is_head_size(r, r->k[i]);
    return fits;
}

/* Makes m the innermost axis of the grid, as a result in which heads are side by side has not: tiles that stay depend on the others. */
static void order_grid(struct attention_kernel *r) {
    struct view *v = r->v;
    const struct axis_view m = v->axis[r->m];
    int last = gpu_inner_grid(v);
    r->order = "";
    for (int i = r->m; i <= last; i++)
        if (!v->axis[i].grid) return;
    if (r->m >= last) return;
    for (; r->m < last; r->m++) {
        v->axis[r->m] = v->axis[r->m + 1];
        r->order = arena_printf(v->arena, "%s%s,", r->order, v->axis[r->m].name);
    }
    v->axis[r->m] = m;
    r->order = arena_printf(v->arena, " ORDER(%s%s)", r->order, m.name);
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static const char *name_of(const struct attention_kernel *r, int axis) { return r->v->axis[axis].name; }

/* A buffer that has several tiles: b#0, b#1 .. */
static const char *tile_name(const struct attention_kernel *r, const struct attention_operand *u) {
    int same = 0, before = 0;
    for (int i = 0; i < r->nfixed + r->nstreamed; i++) {
        const struct attention_operand *o = i < r->nfixed ? &r->fixed[i] : &r->streamed[i - r->nfixed];
        if (o->access->buf != u->access->buf) continue;
        if (o == u) before = same;
        same++;
    }
    const char *name = access_name(r->v, u->access);
    return same > 1 ? arena_printf(r->v->arena, "%s#%d", name, before) : name;
}

/* STAGE takes all loads of a buffer that move with its dimensions: of operands that lie in one buffer (q, k and v of one
 * product) the first with an axis stages the others with it too, along all the columns that any of them is read by. */
static bool are_staged_together(const struct attention_operand *a, const struct attention_operand *b) {
    return a->access->buf == b->access->buf && a->across == b->across;
}

static int columns_of(const struct attention_operand *list, int n, int i) {
    int also = list[i].also;
    for (int k = 0; k < n && also < 0; k++)
        if (are_staged_together(&list[k], &list[i])) also = list[k].also;
    return also;
}

static bool is_staged(const struct attention_operand *list, int i) {
    for (int k = 0; k < i; k++)
        if (are_staged_together(&list[k], &list[i])) return true;
    return false;
}

static void write_tile(const struct attention_kernel *r, const struct attention_operand *list, int n, int i,
                       const char *at, const char *along, struct str *out) {
    const struct attention_operand *u = &list[i];
    const char *name = tile_name(r, u), *k = name_of(r, u->across);
    int also = columns_of(list, n, i);
    if (is_staged(list, i)) return;
    str_printf(out, " STAGE(%s,%s,%s,%s", name, at, along, k);
    if (also >= 0) str_printf(out, "+%s", name_of(r, also));
    str_printf(out, ") TILE(%s.%s,8,%s_v) VEC(%s_v)", name, k, name, name);
}

static int64_t tile_bytes(const struct attention_kernel *r, const struct attention_operand *u, int rows) {
    return 2 * rows * head_size(r, u->across);
}

/* Block tile, m by n values of the row; stages of the pipeline. */
struct attention_config {
    int m, n, stages;
    bool specialized;       /* warp-specialized, persistent */
    int inner, outer, cols; /* products and columns that it applies to; cols 0: any */
    bool mask; /* only if a mask makes rows differ in length: consumers end apart (attention_pipeline.c) */
};

/* Stages of tiles that stay: the forward pass loads the next q early. */
static int fixed_stages(const struct attention_config *s) { return s->specialized && s->inner == 1 ? 2 : 1; }

static int64_t shared_bytes(const struct attention_kernel *r, const struct attention_config *s) {
    int64_t bytes = 0;
    for (int i = 0; i < r->nfixed; i++) bytes += fixed_stages(s) * tile_bytes(r, &r->fixed[i], s->m);
    for (int i = 0; i < r->nstreamed; i++) bytes += s->stages * tile_bytes(r, &r->streamed[i], s->n);
    if (r->bias && !s->specialized) bytes += (int64_t)s->stages * s->m * s->n * r->bias->bytes;
    return bytes + (s->specialized ? 4 * r->nrow_stats * s->stages * s->n : 0);
}

/* Is the index along m compared with that along the row? */
static bool has_mask(const struct attention_kernel *r) {
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
static int heads_axis(const struct attention_kernel *r) {
    int found = -1;
    for (int i = 0; i < r->m; i++)
        if (r->v->axis[i].grid && r->v->axis[i].size > 1) found = i;
    return found;
}

/* Heads whose rows L2 holds; divides the axis. */
static int64_t l2_heads(const struct attention_kernel *r, int64_t heads) {
    int64_t bytes = 0, n = heads;
    for (int i = 0; i < r->nstreamed; i++)
        bytes += tile_bytes(r, &r->streamed[i], (int)r->v->axis[r->row[0]].size);
    while (n > 1 && (n * bytes > (int64_t)(gpu_cost.l2_attention * (double)r->v->gpu->l2) || heads % n)) n--;
    return n;
}

/* Rasterization: heads that share L2 are innermost. Returns the innermost axis of the grid. */
static const char *write_order(const struct attention_kernel *r, int64_t *heads_together, struct str *out) {
    int heads = heads_axis(r);
    const char *m = name_of(r, r->m), *h;
    if (heads < 0 || !has_mask(r)) return m;
    int64_t size = r->v->axis[heads].size, n = l2_heads(r, size);
    if (n < 2) return m;
    *heads_together = n;
    h = name_of(r, heads);
    if (n == size) {
        str_printf(out, " ORDER(%s,%s)", m, h);
        return h;
    }
    const char *near = view_new_axis(r->v, h, "h");
    str_printf(out, " TILE(%s,%lld,%s) GRID(%s) ORDER(%s,%s,%s)", h, (long long)n, near, near, h, m, near);
    return near;
}

/* Number of persistent blocks that minimizes the longest schedule: tiles of `heads` at a time, longest first, boustrophedon; a
 * tile costs its iterations and 2 more. */
static int balanced_blocks(const struct attention_kernel *r, const struct attention_config *s,
                           int64_t heads) {
    int64_t rows = (r->v->axis[r->m].size + s->m - 1) / s->m, tiles = rows, best = INT64_MAX, load[MAX_SMS];
    int sms = RG_MIN(r->v->gpu->sms, MAX_SMS), found = sms;
    for (int i = 0; i < r->v->naxis; i++)
        if (r->v->axis[i].grid && i != r->m) tiles *= r->v->axis[i].size;
    if (heads < 2 || tiles > MAX_SIMULATED) return sms;
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

/* Tiles of all operands and their pipelines: fixed ones at axis `at` with rows `rows`, the others along the row in tiles n. */
static void write_tiles(const struct attention_kernel *r, const struct attention_config *s, const char *at,
                        const char *rows, const char *n, struct str *out) {
    const struct view *v = r->v;
    const char *row = name_of(r, r->row[0]);
    for (int i = 0; i < r->nfixed; i++) write_tile(r, r->fixed, r->nfixed, i, at, rows, out);
    for (int i = 0; i < r->nstreamed; i++) write_tile(r, r->streamed, r->nstreamed, i, row, n, out);
    for (int i = 0; i < r->nstreamed; i++) {
        bool named = false;
        for (int k = 0; k < i; k++) named |= r->streamed[k].access->buf == r->streamed[i].access->buf;
        if (!named && !r->whole)
            str_printf(out, " PIPE(%s,%s,%d)", access_name(v, r->streamed[i].access), row, s->stages);
    }
    if (r->bias && !s->specialized) {
        const char *name = access_name(v, r->bias);
        str_printf(out, " STAGE(%s,%s,%s,%s) TILE(%s.%s,%d,%s_v) VEC(%s_v)", name, row, rows, n, name, n,
                   16 / r->bias->bytes, name, name);
        if (!r->whole) str_printf(out, " PIPE(%s,%s,%d)", name, row, s->stages);
    }
    for (int i = 0; i < r->nrow_stats && s->specialized; i++) {
        const char *name = access_name(v, r->row_stats[i]);
        str_printf(out, " STAGE(%s,%s,%s) TILE(%s.%s,4,%s_v) VEC(%s_v) PIPE(%s,%s,%d)", name, row, n, name, n,
                   name, name, name, row, s->stages);
    }
    for (int i = 0; i < r->nfixed && fixed_stages(s) > 1; i++)
        str_printf(out, " PIPE(%s,%s,2)", access_name(v, r->fixed[i].access), at);
}

static void write_attention(const struct attention_kernel *r, const struct attention_config *s,
                            struct str *out) {
    const struct view *v = r->v;
    const char *m = name_of(r, r->m), *row = name_of(r, r->row[0]), *h = r->dt == DT_F16 ? "F16" : "BF16";
    const char *at = m, *mi = view_new_axis(r->v, m, "m"), *mg = view_new_axis(r->v, m, "g"),
               *n = view_new_axis(r->v, row, "n");
    int64_t size = v->axis[r->m].size, len = v->axis[r->row[0]].size, heads = 1;
    for (int i = 0; i < v->naxis && size <= s->m; i++)
        if (v->axis[i].grid && i != r->m && v->axis[i].size > 1) at = v->axis[i].name;
    str_add(out, r->order);
    for (int i = 0; i <= r->nk; i++) {
        int axis = i < r->nk ? r->k[i] : r->cols;
        if (v->axis[axis].size % PANEL) str_printf(out, " PADTO(%s,%d)", name_of(r, axis), PANEL);
    }
    if (size <= s->m) str_printf(out, " PADTO(%s,%d)", m, at == m ? 2 * s->m : s->m);
    if (s->specialized && size > s->m) at = write_order(r, &heads, out);
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
    str_printf(out, " TC(%s,%s,%s,WR%s_%d)", mi, name_of(r, r->cols), n, h, (int)head_size(r, r->cols));
    write_tiles(r, s, at, s->m > 64 ? arena_printf(v->arena, "%s+%s", mg, mi) : mi, n, out);
    if (s->specialized) str_printf(out, " WARP_SPECIALIZE(1) PERSISTENT(%d)", balanced_blocks(r, s, heads));
}

/* Warpgroups resident on an SM: accumulators of the products and 32 more registers per thread. */
static int resident_warpgroups(const struct attention_kernel *r, const struct attention_config *s) {
    int64_t threads = 2 * s->m, regs = 32 + r->inner * s->n / 2 + r->outer * head_size(r, r->cols) / 2;
    int64_t blocks = RG_MIN(r->v->gpu->regs_sm / (threads * regs),
                            r->v->gpu->smem_block / (shared_bytes(r, s) + r->v->gpu->smem_reserved));
    return (int)(blocks * s->m / 64);
}

static const char *legal_list(struct attention_kernel *r, const struct attention_config *shape) {
    const struct access_view *bias = r->bias;
    const char *list = NULL;
    bool one = !shape->specialized && r->v->axis[r->row[0]].size <= shape->n && has_mask(r);
    for (int staged = bias && !shape->specialized; staged >= 0 && !list; staged--) {
        struct str s;
        str_init(&s, r->v->arena);
        r->bias = staged ? bias : NULL, r->whole = one;
        if (shared_bytes(r, shape) > r->v->gpu->smem_block) continue;
        write_attention(r, shape, &s);
        if (view_legal(r->v, s.p + 1)) list = s.p + 1;
    }
    r->bias = bias, r->whole = false;
    return list;
}

static bool fits_config(const struct attention_kernel *r, const struct attention_config *s) {
    return r->inner == s->inner && r->outer == s->outer && r->v->axis[r->m].size > s->m &&
           (!s->cols || head_size(r, r->cols) == s->cols) && (!s->mask || has_mask(r));
}

/* Decoding: few queries, whose keys are loaded once. With few blocks on each SM more stages keep memory busy, if these blocks still
 * are resident together: 67 MB in 256 blocks took 23.9 us with 2 stages, 21.2 with 4 (H200); 268 MB in 512 blocks take a second wave.
 * A row of few tiles has all of them in flight at once. */
static bool is_few_blocks(const struct attention_kernel *r, struct attention_config *s) {
    const struct view *v = r->v;
    int64_t tiles = (v->axis[r->row[0]].size + s->n - 1) / s->n;
    s->stages = (int)RG_MIN(tiles + 1, s->stages);
    int64_t blocks = 1, fit = v->gpu->smem_sm / (shared_bytes(r, s) + v->gpu->smem_reserved);
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && i != r->m) blocks *= (int64_t)v->axis[i].most;
    return v->axis[r->m].size < s->m && r->inner == 1 && r->outer == 1 && tiles > 1 &&
           blocks <= fit * v->gpu->sms;
}

/* Not specialized: 128 rows per block if four warpgroups are resident, so that MMA of one overlaps softmax of another; else 64 if
 * that keeps more of them resident. */
const char *gpu_attention(struct view *v) {
    static const struct attention_config specialized[] = {
        {.m = 256,
         .n = 64,
         .stages = 4,
         .specialized = true,
         .inner = 1,
         .outer = 1,
         .cols = 64,
         .mask = true},
        {.m = 128, .n = 128, .stages = 2, .specialized = true, .inner = 1, .outer = 1},
        {.m = 128, .n = 64, .stages = 2, .specialized = true, .inner = 1, .outer = 1},
        {.m = 128, .n = 64, .stages = 3, .specialized = true, .inner = 2, .outer = 1, .cols = 128},
        {.m = 128, .n = 64, .stages = 2, .specialized = true, .inner = 2, .outer = 2, .cols = 128},
    };
    static const struct attention_config plain[] = {{.m = 128, .n = 64, .stages = 2},
                                                    {.m = 64, .n = 64, .stages = 2}};
    struct attention_config few = {.m = 64, .n = 64, .stages = 4};
    struct attention_kernel r = {.v = v, .m = -1, .cols = -1, .dt = DT_VOID};
    const char *list = NULL;
    if (v->gpu->cc / 10 != 9 || !v->stages || !find_row_axes(&r) || !find_products(&r)) return "";
    find_row_stats(&r), find_bias(&r), order_grid(&r);
    for (size_t i = 0; i < RG_COUNT(specialized) && !list; i++)
        if (fits_config(&r, &specialized[i])) list = legal_list(&r, &specialized[i]);
    if (!list && is_few_blocks(&r, &few)) list = legal_list(&r, &few);
    int wide = resident_warpgroups(&r, &plain[0]);
    bool narrow = v->axis[r.m].size <= 64 || (wide < 4 && resident_warpgroups(&r, &plain[1]) > wide);
    for (size_t i = narrow; i < RG_COUNT(plain) && !list; i++) list = legal_list(&r, &plain[i]);
    return list ? list : "";
}
