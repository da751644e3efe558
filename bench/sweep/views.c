/* views.c: --views: operands that lie in memory as no program means them to. Axes of one element, a value computed from what is
 * stored, a reshaped matrix that was transposed, axes in any order, reversed, with steps and margins, expanded: all at once. */
#include "sweep.h"

/* Axes of one element are drawn into half of the shapes; another axis gets the elements. */
void views_ones(struct draw *d, int rank, int64_t *dim) {
    if (!d->views || rank < 2 || draw_int(d, 0, 1)) return;
    for (int i = 0; i < rank; i++) {
        int to = (int)draw_int(d, 0, rank - 1);
        if (to == i || draw_int(d, 0, 2)) continue;
        if (draw_int(d, 0, 1)) dim[to] *= dim[i];
        dim[i] = 1;
    }
}

void views_draw(struct draw *d) {
    for (int i = 0; i < d->n && d->views; i++) {
        struct operand *x = &d->x[i];
        bool mixed = draw_int(d, 0, 3) > 0 && operand_count(x) > 0;
        x->views = mixed ? draw_bits(d) | 1 : 0;
        if (mixed) x->layout = PLAIN;
    }
    d->after = d->views ? draw_bits(d) | 1 : 0;
}

/* How the axes of an operand lie in what is stored; at[k]: which of them is its k-th. */
struct lie {
    int at[RANK_MOST];
    int64_t step[RANK_MOST], before[RANK_MOST], after[RANK_MOST];
    bool flip[RANK_MOST], expand[RANK_MOST];
    int64_t rows; /* a matrix of n rows is transposed and reshaped; 0: none */
    bool computed;
};

static struct lie lie_of(const struct operand *x) {
    struct draw d = {.state = x->views};
    struct lie l = {.rows = 0};
    draw_bits(&d);
    bool step = !draw_int(&d, 0, 2), margin = !draw_int(&d, 0, 2), flip = !draw_int(&d, 0, 2),
         expand = !draw_int(&d, 0, 3), order = draw_int(&d, 0, 2) > 0;
    for (int i = 0; i < x->rank; i++) {
        l.at[i] = i;
        l.step[i] = step && draw_int(&d, 0, 1) ? draw_int(&d, 2, 3) : 1;
        l.before[i] = margin && draw_int(&d, 0, 1) ? draw_int(&d, 0, 3) : 0;
        l.after[i] = margin && draw_int(&d, 0, 1) ? draw_int(&d, 0, 3) : 0;
        l.flip[i] = flip && draw_int(&d, 0, 1);
        l.expand[i] = expand && !draw_int(&d, 0, 2);
        if (l.expand[i]) l.step[i] = 1, l.before[i] = l.after[i] = 0;
    }
    for (int i = x->rank - 1; order && i > 0; i--) {
        int k = (int)draw_int(&d, 0, i), t = l.at[i];
        l.at[i] = l.at[k], l.at[k] = t;
    }
    l.computed = type_is_float(x->dt) && !draw_int(&d, 0, 2);
    if (!draw_int(&d, 0, 3)) l.rows = draw_int(&d, 2, 9);
    return l;
}

static int64_t stored_size(const struct lie *l, const struct operand *x, int i) {
    return l->expand[i] ? 1 : l->before[i] + (x->dim[i] - 1) * l->step[i] + 1 + l->after[i];
}

/* The rows of the matrix, if they divide the elements. */
static int64_t rows_of(const struct lie *l, const struct operand *x, int64_t *all) {
    *all = 1;
    for (int i = 0; i < x->rank; i++) *all *= stored_size(l, x, i);
    return l->rows && *all % l->rows == 0 ? l->rows : 0;
}

int views_shape(const struct operand *x, int64_t *dim, bool *negative) {
    struct lie l = lie_of(x);
    int64_t all, n = rows_of(&l, x, &all);
    *negative = l.computed;
    for (int i = 0; i < x->rank; i++) dim[i] = stored_size(&l, x, l.at[i]);
    if (n) dim[0] = n, dim[1] = all / n;
    return n ? 2 : x->rank;
}

rg_tensor views_of(const struct operand *x, rg_tensor base) {
    struct lie l = lie_of(x);
    int64_t dim[RANK_MOST], axes[RANK_MOST], flip[RANK_MOST], all;
    rg_range part[RANK_MOST];
    size_t n = 0, rank = (size_t)x->rank;
    if (l.computed) base = rg_neg(base);
    for (int i = 0; i < x->rank; i++) dim[i] = stored_size(&l, x, l.at[i]), axes[l.at[i]] = i;
    if (rows_of(&l, x, &all)) base = rg_reshape(rg_transpose(base, 0, 1), RG_LIST(dim, rank));
    base = rg_permute(base, RG_LIST(axes, rank));
    for (int i = 0; i < x->rank; i++) {
        int64_t last = l.before[i] + (l.expand[i] ? 0 : (x->dim[i] - 1) * l.step[i]);
        part[i] = RG_STEP(l.before[i], last + 1, l.step[i]);
        if (l.flip[i]) flip[n++] = i;
    }
    base = rg_slice(base, RG_PARTS(part, rank));
    if (n) base = rg_flip(base, RG_LIST(flip, n));
    return rg_expand(base, RG_LIST(x->dim, rank));
}

/* What a program does with a result: nothing, or a view of it, or a value computed from one. */
rg_tensor views_after(const struct draw *d, rg_tensor y) {
    struct draw r = {.state = d->after};
    int64_t axes[RANK_MOST + 2], rank = rg_rank(y);
    draw_bits(&r);
    if (!d->after || rank < 1 || rank > RANK_MOST || draw_int(&r, 0, 1)) return y;
    for (int64_t i = 0; i < rank; i++) axes[i] = i;
    for (int64_t i = rank - 1; i > 0; i--) {
        int64_t k = draw_int(&r, 0, i), t = axes[i];
        axes[i] = axes[k], axes[k] = t;
    }
    if (draw_int(&r, 0, 1)) y = rg_permute(y, RG_LIST(axes, (size_t)rank));
    if (draw_int(&r, 0, 1)) y = rg_flip(y, RG_AXES(draw_int(&r, 0, rank - 1)));
    if (draw_int(&r, 0, 1)) y = rg_unsqueeze(y, draw_int(&r, 0, rank));
    if (draw_int(&r, 0, 1) && rg_dtype_of(y) != RG_BOOL) y = rg_add(y, y);
    return y;
}
