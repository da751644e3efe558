/* parts.c: movement that names parts of a tensor: diagonals, triangles, rolls, pieces.
 *
 * All of it is written with the nodes of move.c, so none of it costs memory traffic and every gradient is movement too:
 * a diagonal is every (m+1)-th element of a flattened matrix, and a matrix with a given diagonal is that vector with
 * padding between its elements. Only triangles select, by comparing the indices of an element.
 * Tests: tests/values/index.txt, tests/unit/index.c */
#include "tensor/internal.h"

static const struct shape *dims(struct tg *g, const int64_t *d, uint32_t n) {
    return shape_make(&g->shapes, d, n);
}

const uop *t_unflatten(struct tg *g, const uop *x, int64_t axis, const int64_t *sizes, uint32_t n) {
    const struct shape *s = tg_shape(g, x);
    uint32_t at = tg_axis(g, x, axis), m = 0;
    int64_t d[2 * SHAPE_MAX], size = 1, hole = -1;
    if (!n) tg_bad(g, "unflatten axis %u of %s: expected at least one size", at, tg_dims(g, x));
    tg_rank(g, s->n + n - 1);
    for (uint32_t i = 0; i < n; i++) {
        if (sizes[i] < -1 || (sizes[i] == -1 && hole >= 0))
            tg_bad(g, "unflatten axis %u of %s to %s: sizes are 0 or more, or -1 once", at, tg_dims(g, x),
                   tg_list(g, sizes, n));
        if (sizes[i] == -1)
            hole = i;
        else if (__builtin_mul_overflow(size, sizes[i], &size))
            tg_bad(g, "unflatten to %s: more than 2^63 elements", tg_list(g, sizes, n));
    }
    int64_t rest = hole >= 0 && size && s->d[at] % size == 0 ? s->d[at] / size : -1;
    if (hole >= 0 ? rest < 0 : size != s->d[at])
        tg_bad(g, "unflatten axis %u of %s, %lld elements, to %s: the product must be the same", at,
               tg_dims(g, x), (long long)s->d[at], tg_list(g, sizes, n));
    for (uint32_t i = 0; i < s->n; i++) {
        if (i != at) d[m++] = s->d[i];
        for (uint32_t k = 0; i == at && k < n; k++) d[m++] = sizes[k] == -1 ? rest : sizes[k];
    }
    return tg_reshape(g, x, dims(g, d, m));
}

const uop *t_repeat_interleave(struct tg *g, const uop *x, int64_t times, int64_t axis) {
    if (axis == T_END) x = t_flatten(g, x, 0, -1), axis = 0;
    uint32_t at = tg_axis(g, x, axis);
    int64_t d[SHAPE_MAX + 1], size;
    if (times < 0) tg_bad(g, "each element %lld times; expected 0 times or more", (long long)times);
    if (__builtin_mul_overflow(times, tg_shape(g, x)->d[at], &size))
        tg_bad(g, "repeat_interleave: axis %u passes 2^63", at);
    if (times == 1) return x;
    x = t_unsqueeze(g, x, at + 1);
    const struct shape *s = tg_shape(g, x);
    memcpy(d, s->d, s->n * sizeof *d);
    d[at + 1] = times;
    return t_flatten(g, tg_to_shape(g, x, dims(g, d, s->n)), at, at + 1);
}

/* The piece first .. first+size-1 of one axis. */
static const uop *piece(struct tg *g, const uop *x, uint32_t axis, int64_t first, int64_t size) {
    struct t_slice part[SHAPE_MAX];
    for (uint32_t i = 0; i < axis; i++) part[i] = (struct t_slice){.stop = T_END};
    part[axis] = (struct t_slice){.start = first, .stop = first + size};
    return t_slice(g, x, part, axis + 1);
}

static const uop *roll(struct tg *g, const uop *x, int64_t shift, uint32_t axis) {
    int64_t n = tg_shape(g, x)->d[axis];
    if (!n || !(shift %= n)) return x;
    if (shift < 0) shift += n;
    return t_cat(g, (const uop *[]){piece(g, x, axis, n - shift, shift), piece(g, x, axis, 0, n - shift)}, 2,
                 axis);
}

const uop *t_roll(struct tg *g, const uop *x, const int64_t *shift, uint32_t n, const int64_t *axis,
                  uint32_t naxes) {
    if (!naxes && n == 1) {
        const struct shape *s = tg_shape(g, x);
        return tg_reshape(g, roll(g, t_flatten(g, x, 0, -1), shift[0], 0), s);
    }
    if (n != naxes || !n)
        tg_bad(g, "roll by %s along axes %s: expected one shift for each axis, or one shift and no axes",
               tg_list(g, shift, n), tg_list(g, axis, naxes));
    for (uint32_t i = 0; i < n; i++) x = roll(g, x, shift[i], tg_axis(g, x, axis[i]));
    return x;
}

void t_split(struct tg *g, const uop *x, int64_t axis, const int64_t *sizes, uint32_t n, const uop **out) {
    uint32_t at = tg_axis(g, x, axis);
    int64_t first = 0, total = tg_shape(g, x)->d[at];
    for (uint32_t i = 0; i < n; i++) {
        if (sizes[i] < 0 || sizes[i] > total - first)
            tg_bad(g, "split axis %u of %s into parts: part %u has size %lld, and %lld elements are left", at,
                   tg_dims(g, x), i, (long long)sizes[i], (long long)(total - first));
        out[i] = piece(g, x, at, first, sizes[i]);
        first += sizes[i];
    }
    if (first != total)
        tg_bad(g, "split axis %u of %s: the parts have %lld elements together; expected %lld", at,
               tg_dims(g, x), (long long)first, (long long)total);
}

/* ---- diagonals ------------------------------------------------------------------------------------------------ */

/* Where diagonal k of an n by m matrix begins, and how many elements it has. */
static int64_t diagonal_size(int64_t n, int64_t m, int64_t k) {
    if (k >= 0) return k < m ? RG_MIN(n, m - k) : 0;
    return k > -n ? RG_MIN(n + k, m) : 0;
}

const uop *t_diagonal(struct tg *g, const uop *x, int64_t k, int64_t a, int64_t b) {
    const struct shape *s = tg_shape(g, x);
    uint32_t i = tg_axis(g, x, a), j = tg_axis(g, x, b), r = 0;
    int64_t p[SHAPE_MAX];
    if (i == j) tg_bad(g, "the diagonal of axes %u and %u of %s: two axes are needed", i, j, tg_dims(g, x));
    for (uint32_t q = 0; q < s->n; q++)
        if (q != i && q != j) p[r++] = q;
    p[r] = i, p[r + 1] = j;
    int64_t n = s->d[i], m = s->d[j], size = diagonal_size(n, m, k);
    struct t_slice part[SHAPE_MAX];
    for (uint32_t q = 0; q < r; q++) part[q] = (struct t_slice){.stop = T_END};
    int64_t first = !size ? 0 : k >= 0 ? k : -k * m;
    int64_t step = size > 1 ? m + 1 : 1;
    part[r] = (struct t_slice){first, size ? first + (size - 1) * step + 1 : first, step, NULL};
    return t_slice(g, t_flatten(g, t_permute(g, x, p, s->n), r, r + 1), part, r + 1);
}

/* Rows of v, moved to the columns of diagonal k, where it is. */
static const uop *select_diagonal(struct tg *g, const uop *v, int64_t k, const struct shape *to) {
    enum dtype dt = 2 * to->d[0] < INT32_MAX ? DT_I32 : DT_I64;
    int64_t num[3] = {RG_MAX(k, 0), RG_MAX(-k, 0), 0};
    const uop *zero = tg_like(g, v, 0), *row = tg_to_shape(g, t_cast(g, tg_iota(g, to->d[0], 2, 0), dt), to),
              *col = tg_to_shape(g, t_cast(g, tg_iota(g, to->d[1], 2, 1), dt), to);
    if (k) v = tg_pad_node(g, v, zero, num), row = tg_op2(g, OP_ADD, row, uop_int(g->ir, dt, k));
    return t_where(g, tg_op2(g, OP_EQ, row, col), tg_to_shape(g, v, to), zero);
}

/* A square matrix with v on diagonal k. Its gradient is that of v with one row and one element between neighbours: a slice. (Computed
 * like that, each element would need a division: 5381 x 5381 in f32: 21 ms, 4.) */
static const uop *diagonal_matrix(struct tg *g, const uop *v, int64_t k) {
    int64_t n = tg_shape(g, v)->d[0], side, all;
    int64_t off = k == INT64_MIN ? INT64_MAX : k < 0 ? -k : k;
    if (__builtin_add_overflow(n, off, &side) || __builtin_mul_overflow(side, side, &all))
        tg_bad(g, "a matrix with %s on diagonal %lld has more than 2^63 elements", tg_dims(g, v),
               (long long)k);
    const struct shape *to = dims(g, (int64_t[]){side, side}, 2);
    if (!n) return t_reaches(g, tg_to_shape(g, tg_like(g, v, 0), to), v);
    int64_t first = k < 0 ? off * side : off, last = first + (n - 1) * (side + 1);
    int64_t num[3] = {first, all - last - 1, n > 1 ? side : 0};
    const uop *joined = tg_reshape(g, tg_pad_node(g, v, tg_like(g, v, 0), num), to);
    const uop *here = select_diagonal(g, v, k, to);
    return dt_is_float((enum dtype)v->dt) ? t_grad_through(g, here, joined) : here;
}

const uop *t_diag(struct tg *g, const uop *x, int64_t k) {
    uint32_t rank = tg_shape(g, x)->n;
    if (rank != 1 && rank != 2)
        tg_bad(g, "diag of %s: expected a vector or a matrix (diagonal takes any two axes)", tg_dims(g, x));
    return rank == 1 ? diagonal_matrix(g, x, k) : t_diagonal(g, x, k, 0, 1);
}

/* ---- triangles -------------------------------------------------------------------------------------------------- */

/* row + k compared with column. A k past all diagonals changes nothing and must not overflow. */
static const uop *triangle(struct tg *g, const uop *x, int64_t k, bool lower) {
    const struct shape *s = tg_shape(g, x);
    x = tg_value(g, x);
    if (s->n < 2) tg_bad(g, "a triangle of %s: expected at least two axes", tg_dims(g, x));
    int64_t n = s->d[s->n - 2], m = s->d[s->n - 1];
    const struct shape *t = dims(g, (int64_t[]){n, m}, 2);
    if (n >= INT64_MAX / 4 || m >= INT64_MAX / 4) tg_bad(g, "a triangle of %s is too large", tg_dims(g, x));
    k = RG_MAX(RG_MIN(k, m), -n);
    enum dtype dt = n + m < INT32_MAX ? DT_I32 : DT_I64;
    const uop *row = tg_to_shape(g, t_cast(g, tg_iota(g, n, 2, 0), dt), t);
    const uop *col = tg_to_shape(g, t_cast(g, tg_iota(g, m, 2, 1), dt), t);
    const uop *edge = k ? tg_op2(g, OP_ADD, row, uop_int(g->ir, dt, k)) : row;
    const uop *in = lower ? tg_op2(g, OP_LE, col, edge) : tg_op2(g, OP_LE, edge, col);
    return t_where(g, in, x, tg_like(g, x, 0));
}

const uop *t_tril(struct tg *g, const uop *x, int64_t k) { return triangle(g, x, k, true); }
const uop *t_triu(struct tg *g, const uop *x, int64_t k) { return triangle(g, x, k, false); }
