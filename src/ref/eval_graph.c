/* eval_graph.c: the oracle of the tensor graph: evaluated node by node, with plain loops over whole tensors.
 *
 * Tensors are those of eval_tensor.c. PERMUTE, EXPAND, SHRINK, FLIP and most RESHAPEs are views; an axis along which
 * nothing changes stays so through elementwise ops, so that a broadcast of billions of elements can be computed with and
 * reduced. Reducing n equal elements is a product or a power (fold_add's `times`): for integers the same by arithmetic
 * modulo 2^k, for floats at least as accurate as n additions in double.
 * Everything else writes a new store. What an element is and what error it carries is bound.c's business; this file moves
 * elements. Invariant: a node is evaluated once, in topological order.
 * Tests: tests/unit/ref_graph.c */
#include "ref/eval.h"

#include <math.h>

/* ---- one node ---------------------------------------------------------------------------------------- */

static struct tensor *source(struct eval *e, const uop *n, uint32_t i) {
    return e->value[e->pos[n->src[i]->id]];
}

static int64_t number(struct eval *e, const uop *n, uint32_t i) {
    struct tensor *t = source(e, n, i);
    return get(t, t->at).v.i;
}

static void bad(struct eval *e, const uop *n, int code, const char *fmt, ...) RG_FMT(4, 5) RG_NORETURN;
static void bad(struct eval *e, const uop *n, int code, const char *fmt, ...) {
    struct str t, why;
    va_list ap;
    str_init(&t, &e->scratch), str_init(&why, &e->scratch);
    ir_print_node(&t, e->ir, n, 1);
    va_start(ap, fmt);
    str_vprintf(&why, fmt, ap);
    va_end(ap);
    err_throw(e->err, code, "%%%u %s: %s", n->id, t.p, why.p);
}

static struct tensor scalar(struct eval *e, enum dtype dt, union ref_val v) {
    struct tensor t = eval_tensor(e, dt, shape_make(&e->shapes, NULL, 0), 0);
    put(&t, 0, (struct cell){.v = v});
    return t;
}

static struct tensor ev_const(struct eval *e, const uop *n) {
    enum dtype dt = (enum dtype)n->dt;
    return scalar(e, dt, dt_is_float(dt) ? (union ref_val){.f = n->arg.f} : (union ref_val){.i = n->arg.i});
}

static struct tensor ev_var(struct eval *e, const uop *n) {
    enum dtype dt = (enum dtype)n->dt;
    uint32_t slot = n->arg.param.slot;
    if (!e->var) bad(e, n, RG_EINVAL, "VAR number %u has no value; give the values of all VARs", slot);
    union ref_val v = {.i = ref_wrap(dt, e->var[slot])};
    if (dt_is_float(dt)) v = ref_read(dt, &e->var[slot]);
    struct tensor *lo = source(e, n, 0), *hi = source(e, n, 1);
    double x = ref_number(dt, v), least = ref_number(dt, get(lo, lo->at).v),
           most = ref_number(dt, get(hi, hi->at).v);
    if (x < least || x > most)
        bad(e, n, RG_EINVAL, "VAR number %u is %g; the program was made for %g to %g", slot, x, least, most);
    return scalar(e, dt, v);
}

static struct tensor ev_buffer(struct eval *e, const uop *n, const struct shape *s) {
    struct tensor t = {.dt = (enum dtype)n->dt, .shape = s};
    size_t size = dtype_info[n->dt].bytes;
    int64_t stride = 1;
    for (uint32_t i = s->n; i-- > 0;) t.stride[i] = stride, stride *= s->d[i];
    if (e->given) {
        t.store = e->given[n->arg.i].store, t.at = e->given[n->arg.i].at;
        t.store->refs++;
        return t;
    }
    if (n->arg.i < 0 || n->arg.i >= e->nbuf || (!e->bufs[n->arg.i].p && shape_size(s)))
        bad(e, n, RG_EINVAL, "buffer number %lld is missing", (long long)n->arg.i);
    const struct ref_buf *b = &e->bufs[n->arg.i];
    if ((double)b->bytes < (double)shape_size(s) * (double)size)
        bad(e, n, RG_EINVAL, "buffer number %lld has %zu bytes, expected %lld elements of %zu",
            (long long)n->arg.i, b->bytes, (long long)shape_size(s), size);
    t.store = eval_store(e);
    t.store->data = b->p;
    return t;
}

static struct tensor ev_iota(struct eval *e, const uop *n, const struct shape *s) {
    struct tensor t = eval_tensor(e, (enum dtype)n->dt, s, 0);
    for (int64_t i = 0; i < s->d[0]; i++) {
        struct cell c = {.v.i = 0};
        ref_eval(OP_CAST, t.dt, DT_I64, (union ref_val[3]){{.i = i}}, &c.v);
        put(&t, i, c);
    }
    return t;
}

/* Strides of the same elements under another shape, if there are any: a run of axes that is one arithmetic sequence
 * is cut anew. */
static bool reshape_view(const struct tensor *t, const struct shape *to, int64_t *stride) {
    int64_t d[SHAPE_MAX], st[SHAPE_MAX];
    uint32_t n = 0, from = 0, i = 0;
    for (uint32_t k = 0; k < t->shape->n; k++)
        if (t->shape->d[k] != 1) d[n] = t->shape->d[k], st[n++] = t->stride[k];
    while (i < to->n) {
        uint32_t last = from, first = i;
        if (to->d[i] == 1) {
            stride[i++] = 0;
            continue;
        }
        int64_t a = d[last++], b = to->d[i++];
        while (a != b)
            if (a < b)
                a *= d[last++];
            else
                b *= to->d[i++];
        for (uint32_t k = from; k + 1 < last; k++)
            if (st[k] != d[k + 1] * st[k + 1]) return false;
        for (uint32_t k = i; k-- > first;)
            stride[k] = k + 1 == i ? st[last - 1] : stride[k + 1] * to->d[k + 1];
        from = last;
    }
    return true;
}

static struct tensor ev_reshape(struct eval *e, struct tensor *in, const struct shape *s) {
    int64_t stride[SHAPE_MAX];
    if (shape_size(s) && reshape_view(in, s, stride)) {
        struct tensor t = eval_view(in, s);
        memcpy(t.stride, stride, s->n * sizeof *stride);
        return t;
    }
    struct tensor r = eval_tensor(e, in->dt, s, 0), rows = r;
    rows.shape = in->shape;
    int64_t step = 1;
    for (uint32_t i = in->shape->n; i-- > 0;) rows.stride[i] = step, step *= in->shape->d[i];
    eval_copy(&rows, in, 0);
    return r;
}

static struct tensor ev_permute(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    struct tensor t = eval_view(in, s);
    for (uint32_t i = 0; i < s->n; i++) t.stride[i] = in->stride[number(e, n, 1 + i)];
    return t;
}

static struct tensor ev_expand(struct tensor *in, const struct shape *s) {
    struct tensor t = eval_view(in, s);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->d[i] != in->shape->d[i]) t.stride[i] = 0;
    return t;
}

/* The box start, size, step (sources `first`..) of t, with the shape `s` of the box. */
static struct tensor box(struct eval *e, const uop *n, uint32_t first, const struct tensor *t,
                         const struct shape *s) {
    struct tensor r = *t;
    r.shape = s;
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t start = number(e, n, first + 3 * i), step = number(e, n, first + 3 * i + 2);
        if (s->d[i] && (start < 0 || start + (s->d[i] - 1) * step >= t->shape->d[i]))
            bad(e, n, RG_EVERIFY, "the box starts at %lld on axis %u and is not inside", (long long)start, i);
        if (s->d[i]) r.at += start * t->stride[i];
        r.stride[i] *= step;
    }
    return r;
}

static struct tensor ev_flip(struct eval *e, const uop *n, struct tensor *in) {
    struct tensor t = eval_view(in, in->shape);
    for (uint32_t i = 1; i < n->nsrc; i++) {
        int64_t a = number(e, n, i);
        if (in->shape->d[a]) t.at += (in->shape->d[a] - 1) * in->stride[a];
        t.stride[a] = -in->stride[a];
    }
    return t;
}

static struct tensor ev_pad(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    uint32_t flat = flat_axes(in);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->d[i] != in->shape->d[i]) flat &= ~(1u << i);
    struct tensor r = eval_tensor(e, in->dt, s, flat), inner = r, *value = source(e, n, 1);
    struct cell c = get(value, value->at);
    struct walk w;
    walk_start(&w, s, flat), walk_with(&w, &r);
    for (; w.more; walk_next(&w)) put(&r, w.at[0], c);
    inner.shape = in->shape;
    for (uint32_t i = 0; i < s->n; i++) {
        inner.at += number(e, n, 2 + 3 * i) * r.stride[i];
        inner.stride[i] *= 1 + number(e, n, 4 + 3 * i);
    }
    eval_copy(&inner, in, flat);
    return r;
}

static const float *floats(const struct tensor *t) {
    const char *p = t->store->data;
    return t->dt == DT_F32 && (uintptr_t)p % sizeof(float) == 0 ? (const float *)(const void *)p : NULL;
}

/* Sums and products of f32 without bounds are most of the work of a GEMM, a convolution or a normalization. */
static bool row_f32(enum op op, const struct tensor *r, struct tensor *const in[3], const struct walk *w) {
    if (r->dt != DT_F32 || (op != OP_ADD && op != OP_SUB && op != OP_MUL)) return false;
    const float *a = floats(in[0]), *b = floats(in[1]);
    float *out = (float *)(void *)r->store->data;
    int64_t n = row_size(w), to = row_step(w, 0), by_a = row_step(w, 1), by_b = row_step(w, 2);
    if (!a || !b) return false;
    a += w->at[1], b += w->at[2], out += w->at[0];
#define ROW(OP) \
    for (int64_t i = 0; i < n; i++) out[i * to] = (float)((double)a[i * by_a] OP(double) b[i * by_b])
    if (op == OP_ADD)
        ROW(+);
    else if (op == OP_SUB)
        ROW(-);
    else
        ROW(*);
#undef ROW
    return true;
}

/* The other elements without bounds are values alone. False: the oracle does not know the op. */
static bool row_values(const uop *n, enum op op, enum dtype sdt, ref_fn *fn, struct tensor *r,
                       struct tensor *const in[3], const struct walk *w) {
    int64_t count = row_size(w), step[4] = {row_step(w, 0)};
    for (uint32_t i = 0; i < n->nsrc; i++) step[1 + i] = row_step(w, 1 + i);
    for (int64_t k = 0; k < count; k++) {
        union ref_val x[3] = {{.i = 0}, {.i = 0}, {.i = 0}}, v = {.i = 0};
        for (uint32_t i = 0; i < n->nsrc; i++) x[i] = get(in[i], w->at[1 + i] + k * step[1 + i]).v;
        if (fn)
            v = fn(x[0], x[1], x[2]);
        else if (!ref_eval(op, r->dt, sdt, x, &v))
            return false;
        put(r, w->at[0] + k * step[0], (struct cell){.v = v});
    }
    return true;
}

static struct tensor ev_elementwise(struct eval *e, const uop *n, const struct shape *s) {
    uint32_t flat = UINT32_MAX;
    if (n->nsrc > 3) bad(e, n, RG_EUNSUPPORTED, "the oracle does not know this op");
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (source(e, n, i)->shape->n) flat &= flat_axes(source(e, n, i));
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, flat), *in[3];
    enum dtype sdt = (enum dtype)n->src[n->op == OP_WHERE || n->op == OP_UNLIKELY ? 1 : 0]->dt;
    enum op op = n->op == OP_UNLIKELY ? OP_WHERE : (enum op)n->op;
    struct walk w;
    walk_start(&w, s, flat), walk_with(&w, &r);
    for (uint32_t i = 0; i < n->nsrc; i++) walk_with(&w, in[i] = source(e, n, i));
    walk_long_rows(&w);
    int64_t count = row_size(&w);
    ref_fn *fn = ref_function(op, r.dt, sdt);
    for (; w.more; walk_row(&w)) {
        if (!e->bounds && (row_f32(op, &r, in, &w) || row_values(n, op, sdt, fn, &r, in, &w))) continue;
        for (int64_t k = 0; k < count; k++) {
            struct cell c[3] = {0}, out = {.v.i = 0};
            for (uint32_t i = 0; i < n->nsrc; i++) c[i] = get(in[i], w.at[1 + i] + k * row_step(&w, 1 + i));
            if (!cell_eval(op, r.dt, sdt, c, e->bounds, &out))
                bad(e, n, RG_EUNSUPPORTED, "the oracle does not know this op");
            put(&r, w.at[0] + k * row_step(&w, 0), out);
        }
    }
    return r;
}

/* ---- reductions, scans, indexing, stores ----------------------------------------------------------------- */

/* 16-bit floats are added and multiplied in fp32. */
static enum dtype acc_of(enum dtype dt) { return dt_is_float(dt) && dtype_info[dt].bytes < 4 ? DT_F32 : dt; }

static struct tensor ev_reduce(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    uint32_t axes = 0, flat = flat_axes(in);
    int64_t times = 1, elements = 1;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        int64_t a = number(e, n, i);
        axes |= 1u << a;
        elements *= in->shape->d[a];
        if (flat >> a & 1) times *= in->shape->d[a];
    }
    struct tensor r = eval_tensor(e, in->dt, s, flat | axes);
    if (!elements && shape_size(s) && (n->arg.i == OP_MAX || n->arg.i == OP_MIN))
        bad(e, n, RG_EVERIFY, "the %s of nothing has no value", op_info[n->arg.i].name);
    struct walk outer, inner;
    walk_start(&outer, s, flat | axes), walk_with(&outer, &r), walk_with(&outer, in);
    walk_start(&inner, in->shape, flat);
    for (uint32_t i = 0; i < s->n; i++)
        if (!(axes >> i & 1)) inner.size[i] = 1;
    walk_with(&inner, in);
    int64_t count = row_size(&inner), step = row_step(&inner, 0);
    const float *plain = n->arg.i == OP_ADD && !e->bounds && times == 1 ? floats(in) : NULL;
    for (; outer.more; walk_next(&outer)) {
        struct fold f;
        fold_start(&f, (enum op)n->arg.i, in->dt, acc_of(in->dt), e->bounds);
        inner.more = elements > 0; /* at its end a walk is where it began */
        for (inner.at[0] = outer.at[1]; inner.more; walk_row(&inner)) {
            for (int64_t k = 0; k < count && plain; k++) f.v.f += plain[inner.at[0] + k * step];
            for (int64_t k = 0; k < count && !plain; k++)
                fold_add(&f, get(in, inner.at[0] + k * step), times);
        }
        if (plain) f.n = (double)elements;
        put(&r, outer.at[0], fold_end(&f));
    }
    return r;
}

static struct tensor ev_scan(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    int64_t axis = number(e, n, 1), size = s->d[axis];
    struct tensor *by = n->nsrc > 2 ? source(e, n, 2) : NULL;
    uint32_t flat = flat_axes(in) & (by ? flat_axes(by) : ~0u) & ~(1u << axis);
    struct tensor r = eval_tensor(e, in->dt, s, flat);
    struct walk w;
    walk_start(&w, s, flat | 1u << axis), walk_with(&w, &r), walk_with(&w, in);
    if (by) walk_with(&w, by);
    for (; w.more; walk_next(&w)) {
        struct fold f;
        fold_start(&f, (enum op)n->arg.i, in->dt, acc_of(in->dt), e->bounds);
        for (int64_t i = 0; i < size; i++) {
            if (by) fold_decay(&f, get(by, w.at[2] + i * by->stride[axis]));
            fold_add(&f, get(in, w.at[1] + i * in->stride[axis]), 1);
            put(&r, w.at[0] + i * r.stride[axis], fold_end(&f));
        }
    }
    return r;
}

/* The index at this coordinate, checked. */
static int64_t index_at(struct eval *e, const uop *n, const struct tensor *index, int64_t at, int64_t size,
                        bool *unsure) {
    struct cell c = get(index, at);
    *unsure = c.unsure;
    if (c.v.i >= 0 && c.v.i < size) return c.v.i;
    bad(e, n, RG_EVERIFY, "index %lld is out of range: axis %lld has size %lld", (long long)c.v.i,
        (long long)n->arg.i, (long long)size);
}

/* t along its own coordinates except on one axis, where the index is added. */
static void walk_with_axis(struct walk *w, const struct tensor *t, int64_t axis) {
    walk_with(w, t);
    w->stride[w->k - 1][axis] = 0;
}

static struct tensor ev_gather(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    int64_t axis = n->arg.i;
    struct tensor *index = source(e, n, 1), r = eval_tensor(e, in->dt, s, 0);
    struct walk w;
    walk_start(&w, s, 0), walk_with(&w, &r), walk_with(&w, index), walk_with_axis(&w, in, axis);
    for (; w.more; walk_next(&w)) {
        bool unsure;
        int64_t i = index_at(e, n, index, w.at[1], in->shape->d[axis], &unsure);
        struct cell c = get(in, w.at[2] + i * in->stride[axis]);
        c.unsure |= unsure;
        put(&r, w.at[0], c);
    }
    return r;
}

/* Each element of the result is a sum; additions of 16-bit floats may round every time (in memory). */
static struct tensor ev_scatter(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    int64_t axis = n->arg.i, size = s->d[axis];
    struct tensor *index = source(e, n, 1), *add = source(e, n, 2), r = eval_tensor(e, in->dt, s, 0);
    struct store *sums = eval_store_alloc(e, shape_size(s), sizeof(struct fold), false);
    struct fold *sum = (struct fold *)(void *)sums->data;
    struct walk w;
    walk_start(&w, s, 0), walk_with(&w, &r), walk_with(&w, in);
    for (; w.more; walk_next(&w)) {
        fold_start(&sum[w.at[0]], OP_ADD, in->dt, in->dt, e->bounds);
        fold_add(&sum[w.at[0]], get(in, w.at[1]), 1);
    }
    walk_start(&w, index->shape, 0), walk_with_axis(&w, &r, axis), walk_with(&w, index), walk_with(&w, add);
    for (; w.more; walk_next(&w)) {
        bool unsure;
        int64_t i = index_at(e, n, index, w.at[1], size, &unsure);
        fold_add(&sum[w.at[0] + i * r.stride[axis]], get(add, w.at[2]), 1);
        for (int64_t k = 0; unsure && k < size; k++) sum[w.at[0] + k * r.stride[axis]].unsure = true;
    }
    for (int64_t i = 0; i < shape_size(s); i++) put(&r, i, fold_end(&sum[i]));
    eval_store_free(e, sums);
    return r;
}

/* ---- functions along the last axis ---------------------------------------------------------------------- */

/* Does a come before b? NaN is the greatest of all; 0 and -0 are equal. */
static bool comes_before(enum dtype dt, bool descending, union ref_val a, union ref_val b) {
    if (descending) return comes_before(dt, false, b, a);
    if (dt_is_float(dt)) return isnan(a.f) ? false : isnan(b.f) || a.f < b.f;
    return dt == DT_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}

/* Indices 0 .. n-1 of a row in order: a merge sort, stable. */
static int64_t *sorted_indices(struct eval *e, enum dtype dt, const struct cell *c, int64_t n,
                               bool descending) {
    int64_t *at = arena_array(&e->scratch, int64_t, n + 1), *to = arena_array(&e->scratch, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) at[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t first = 0; first < n; first += 2 * run) {
            int64_t middle = RG_MIN(first + run, n), end = RG_MIN(middle + run, n), a = first, b = middle;
            for (int64_t k = first; k < end; k++) {
                bool second =
                    a == middle || (b < end && comes_before(dt, descending, c[at[b]].v, c[at[a]].v));
                to[k] = at[second ? b++ : a++];
            }
        }
        int64_t *was = at;
        at = to, to = was;
    }
    return at;
}

/* sort, argsort, topk, topk_index, columns: w of them side by side. The error of a sorted number is the worst of its row;
 * indices are certain if the whole row is exact. */
static void row_sorted(struct eval *e, const struct tensor *in, int64_t from, struct tensor *r, int64_t to,
                       struct sorted_columns f) {
    uint32_t last = r->shape->n - 1;
    int64_t n = in->shape->d[last] / f.width, k = r->shape->d[last] / f.width;
    struct cell *c = arena_array(&e->scratch, struct cell, n + 1);
    double worst = 0;
    bool unsure = false;
    for (int64_t i = 0; i < n; i++) {
        c[i] = get(in, from + i * f.width * in->stride[last]);
        worst = RG_MAX(worst, c[i].err), unsure |= c[i].unsure;
    }
    int64_t *at = sorted_indices(e, in->dt, c, n, f.descending);
    for (int64_t i = 0; i < k; i++) {
        struct cell value = {.v = c[at[i]].v, .err = worst, .unsure = unsure};
        struct cell position = {.v = {.i = at[i]}, .unsure = unsure || worst > 0};
        put(r, to + i * f.width * r->stride[last], f.indices ? position : value);
    }
}

static struct tensor ev_sort(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    enum call_id id = call_of(e->ir, n);
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    struct sorted_columns f = {.width = 1,
                               .indices = id == CALL_argsort || id == CALL_topk_index,
                               .descending = number(e, n, 1) != 0};
    if (id == CALL_columns) f = columns_unpack(number(e, n, 1));
    uint32_t last = s->n - 1;
    struct walk w;
    walk_start(&w, s, 1u << last), walk_with(&w, &r), walk_with(&w, in);
    for (; w.more; walk_next(&w)) {
        for (int64_t j = 0; j < f.width; j++) {
            struct arena_mark mark = arena_mark(&e->scratch);
            row_sorted(e, in, w.at[1] + j * in->stride[last], &r, w.at[0] + j * r.stride[last], f);
            arena_release(&e->scratch, mark);
        }
    }
    return r;
}

static int64_t scatter_index_at(struct eval *e, const uop *n, const struct tensor *index, int64_t at,
                                int64_t size, bool *unsure) {
    struct cell c = get(index, at);
    *unsure |= c.unsure;
    if (c.v.i >= 0 && c.v.i < size) return c.v.i;
    bad(e, n, RG_EVERIFY, "index %lld is out of range: the last axis has size %lld", (long long)c.v.i,
        (long long)size);
}

static struct tensor ev_winner(struct eval *e, const uop *n, struct tensor *index, const struct shape *s) {
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    uint32_t last = s->n - 1;
    struct walk w;
    walk_start(&w, s, 1u << last), walk_with(&w, &r), walk_with(&w, index);
    if (!s->d[last]) w.more = false;
    for (; w.more; walk_next(&w)) {
        bool unsure = false;
        for (int64_t i = 0; i < s->d[last]; i++) put(&r, w.at[0] + i, (struct cell){.v = {.i = -1}});
        for (int64_t j = 0; j < index->shape->d[last]; j++) {
            int64_t i = scatter_index_at(e, n, index, w.at[1] + j * index->stride[last], s->d[last], &unsure);
            put(&r, w.at[0] + i, (struct cell){.v = {.i = j}});
        }
        for (int64_t i = 0; unsure && i < s->d[last]; i++) {
            struct cell c = get(&r, w.at[0] + i);
            c.unsure = true;
            put(&r, w.at[0] + i, c);
        }
    }
    return r;
}

static struct tensor ev_select(struct eval *e, const uop *n, struct tensor *x, struct tensor *mask,
                               const struct shape *s) {
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    uint32_t last = s->n - 1;
    struct walk w;
    walk_start(&w, s, 1u << last), walk_with(&w, &r), walk_with(&w, x), walk_with(&w, mask);
    if (!s->d[last]) w.more = false;
    for (; w.more; walk_next(&w)) {
        int64_t i = 0;
        bool unsure = false;
        for (int64_t j = 0; j < mask->shape->d[last] && i < s->d[last]; j++) {
            struct cell c = get(mask, w.at[2] + j * mask->stride[last]),
                        v = get(x, w.at[1] + j * x->stride[last]);
            unsure |= c.unsure;
            v.unsure |= unsure;
            if (c.v.i) put(&r, w.at[0] + i++, v);
        }
        for (; i < s->d[last]; i++) put(&r, w.at[0] + i, (struct cell){.unsure = unsure});
    }
    return r;
}

static struct tensor ev_nonzero(struct eval *e, const uop *n, struct tensor *mask, const struct shape *s) {
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    uint32_t last = s->n - 1;
    struct walk w;
    walk_start(&w, s, 1u << last), walk_with(&w, &r), walk_with(&w, mask);
    if (!s->d[last]) w.more = false;
    for (; w.more; walk_next(&w)) {
        int64_t i = 0;
        bool unsure = false;
        for (int64_t j = 0; j < mask->shape->d[last]; j++) {
            struct cell c = get(mask, w.at[1] + j * mask->stride[last]);
            unsure |= c.unsure;
            if (c.v.i && i < s->d[last])
                put(&r, w.at[0] + i++, (struct cell){.v = {.i = j}, .unsure = unsure});
        }
        for (; i < s->d[last]; i++) put(&r, w.at[0] + i, (struct cell){.v = {.i = -1}, .unsure = unsure});
    }
    return r;
}

/* Each target of a row is a fold of its own: of x, unless dropped, and of what is scattered there. */
static void row_scattered(struct eval *e, const uop *n, const int64_t *at, struct tensor *r) {
    static const enum op op[CALL_COUNT] = {
        [CALL_scatter_max] = OP_MAX, [CALL_scatter_min] = OP_MIN, [CALL_scatter_prod] = OP_MUL};
    struct tensor *x = source(e, n, 0), *index = source(e, n, 1), *src = source(e, n, 2);
    uint32_t last = r->shape->n - 1;
    struct scatter_how how = scatter_unpack(number(e, n, 3));
    int64_t size = r->shape->d[last], w = how.width, targets = size / w;
    struct fold *f = arena_array(&e->scratch, struct fold, size + 1);
    bool *hit = arena_array(&e->scratch, bool, size + 1), unsure = false;
    for (int64_t j = 0; j < index->shape->d[last]; j++)
        hit[scatter_index_at(e, n, index, at[2] + j * index->stride[last], targets, &unsure)] = true;
    for (int64_t i = 0; i < size; i++) {
        fold_start(&f[i], op[call_of(e->ir, n)], r->dt, r->dt, e->bounds);
        if (!hit[i / w] || !how.forget) fold_add(&f[i], get(x, at[1] + i * x->stride[last]), 1);
    }
    for (int64_t j = 0; j < index->shape->d[last]; j++) {
        int64_t i = scatter_index_at(e, n, index, at[2] + j * index->stride[last], targets, &unsure);
        for (int64_t k = 0; k < w; k++)
            fold_add(&f[i * w + k], get(src, at[3] + (j * w + k) * src->stride[last]), 1);
    }
    for (int64_t i = 0; i < size; i++) {
        f[i].unsure |= unsure;
        put(r, at[0] + i, fold_end(&f[i]));
    }
}

/* The last of what is written to a target. */
static void row_set(struct eval *e, const uop *n, const int64_t *at, struct tensor *r) {
    struct tensor *x = source(e, n, 0), *index = source(e, n, 1), *src = source(e, n, 2);
    uint32_t last = r->shape->n - 1;
    int64_t size = r->shape->d[last];
    bool unsure = false;
    for (int64_t j = 0; j < index->shape->d[last]; j++)
        scatter_index_at(e, n, index, at[2] + j * index->stride[last], size, &unsure);
    for (int64_t i = 0; i < size; i++) {
        struct cell c = get(x, at[1] + i * x->stride[last]);
        c.unsure |= unsure;
        put(r, at[0] + i, c);
    }
    for (int64_t j = 0; j < index->shape->d[last]; j++) {
        bool ignored = false;
        struct cell c = get(src, at[3] + j * src->stride[last]);
        c.unsure |= unsure;
        put(r, at[0] + scatter_index_at(e, n, index, at[2] + j * index->stride[last], size, &ignored), c);
    }
}

/* at: the rows of the result, the source and the index. */
static void row_summed(struct eval *e, const uop *n, const int64_t *at, struct tensor *r) {
    struct tensor *src = source(e, n, 0), *index = source(e, n, 1);
    uint32_t last = r->shape->n - 1;
    int64_t pieces = index->shape->d[last], size = number(e, n, 2), w = src->shape->d[last] / pieces;
    struct fold *f = arena_array(&e->scratch, struct fold, size * w + 1);
    bool unsure = false;
    for (int64_t i = 0; i < size * w; i++) fold_start(&f[i], OP_ADD, r->dt, r->dt, e->bounds);
    for (int64_t j = 0; j < pieces; j++) {
        int64_t i = scatter_index_at(e, n, index, at[2] + j * index->stride[last], size, &unsure);
        for (int64_t k = 0; k < w; k++)
            fold_add(&f[i * w + k], get(src, at[1] + (j * w + k) * src->stride[last]), 1);
    }
    for (int64_t i = 0; i < size * w; i++) {
        f[i].unsure |= unsure;
        put(r, at[0] + i, fold_end(&f[i]));
    }
}

static struct tensor ev_collective(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    if (!e->exchange)
        err_throw(e->err, RG_EUNSUPPORTED, "a collective needs the other ranks; the oracle alone has none");
    struct tensor from = eval_tensor(e, in->dt, in->shape, 0), r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    struct err bad = {0};
    eval_copy(&from, in, 0);
    if (e->exchange->run(e->exchange->cx, &bad, number(e, n, 2), from.store->data, r.store->data,
                         shape_size(in->shape), shape_size(s)))
        err_throw(e->err, bad.code, "%s", bad.msg);
    eval_drop(e, &from);
    return r;
}

/* A row after the other; the logarithm of a sum of exponentials in double. */
static struct tensor ev_running(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    static const enum op op[CALL_COUNT] = {[CALL_scan_add] = OP_ADD,
                                           [CALL_scan_mul] = OP_MUL,
                                           [CALL_scan_max] = OP_MAX,
                                           [CALL_scan_min] = OP_MIN,
                                           [CALL_scan_lse] = OP_ADD};
    enum call_id id = call_of(e->ir, n);
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    uint32_t last = s->n - 1;
    struct walk w;
    walk_start(&w, s, 1u << last), walk_with(&w, &r), walk_with(&w, in);
    for (; w.more; walk_next(&w)) {
        struct fold f;
        double log_sum = -INFINITY;
        fold_start(&f, op[id], (enum dtype)n->dt, acc_of((enum dtype)n->dt), e->bounds);
        for (int64_t i = 0; i < s->d[last]; i++) {
            struct cell c = get(in, w.at[1] + i * in->stride[last]);
            double x = id == CALL_scan_lse ? c.v.f : 0, m = fmax(log_sum, x);
            log_sum = log_sum == x ? x + log(2) : m + log(exp(log_sum - m) + exp(x - m));
            fold_add(&f, c, 1);
            if (id == CALL_scan_lse)
                c.v.f = log_sum;
            else
                c = fold_end(&f);
            put(&r, w.at[0] + i, c);
        }
    }
    return r;
}

static struct tensor ev_loop(struct eval *e, const uop *n, const struct shape *s);

static struct tensor ev_call(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    enum call_id id = call_of(e->ir, n);
    if (id == CALL_loop) return ev_loop(e, n, s);
    if (id <= CALL_columns) return ev_sort(e, n, in, s);
    if (id == CALL_collective) return ev_collective(e, n, in, s);
    if (id >= CALL_scan_add && id <= CALL_scan_lse) return ev_running(e, n, in, s);
    if (id == CALL_winner) return ev_winner(e, n, in, s);
    if (id == CALL_nonzero) return ev_nonzero(e, n, in, s);
    if (id == CALL_select) return ev_select(e, n, in, source(e, n, 1), s);
    bool sum = id == CALL_scatter_sum;
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0);
    struct walk w;
    walk_start(&w, s, 1u << (s->n - 1)), walk_with(&w, &r), walk_with(&w, in);
    walk_with(&w, source(e, n, 1));
    if (!sum) walk_with(&w, source(e, n, 2));
    for (; w.more; walk_next(&w)) {
        struct arena_mark mark = arena_mark(&e->scratch);
        (sum ? row_summed : id == CALL_scatter_set ? row_set : row_scattered)(e, n, w.at, &r);
        arena_release(&e->scratch, mark);
    }
    return r;
}

/* UNFOLD gives a view: the windows overlap in memory. */
static struct tensor ev_tap(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    struct tensor t = eval_view(in, s);
    uint32_t m = (n->nsrc - 1) / 3, first = s->n - 2 * m;
    for (uint32_t i = 0; i < m; i++) {
        int64_t stride = in->stride[first + i];
        t.stride[first + i] = stride * number(e, n, 2 + 3 * i);
        t.stride[first + m + i] += stride * number(e, n, 3 + 3 * i);
    }
    return t;
}

static struct tensor ev_spread(struct eval *e, const uop *n, struct tensor *in, const struct shape *s) {
    struct tensor r = eval_tensor(e, in->dt, s, 0);
    struct cell zero = {.v = {.i = 0}};
    if (dt_is_float(in->dt)) zero.v.f = 0;
    for (int64_t i = 0; i < shape_size(s); i++) put(&r, i, zero);
    struct tensor taps = ev_tap(e, n, &r, in->shape);
    eval_copy(&taps, in, 0);
    eval_drop(e, &taps);
    return r;
}

static struct tensor ev_assign(struct eval *e, const uop *n, struct tensor *in) {
    struct tensor *value = source(e, n, 1);
    struct tensor r = eval_dense(e, in), part = r;
    if (n->nsrc > 2) part = box(e, n, 2, &r, value->shape);
    eval_copy(&part, value, 0);
    return r;
}

/* ---- the whole graph --------------------------------------------------------------------------------------- */

static struct tensor ev_node(struct eval *e, const uop *n) {
    const struct shape *s = shape_of(&e->shapes, n);
    struct tensor *in = n->nsrc ? source(e, n, 0) : NULL, t;
    switch (n->op) {
    case OP_CONST: return ev_const(e, n);
    case OP_VAR: return ev_var(e, n);
    case OP_BUFFER: return ev_buffer(e, n, s);
    case OP_IOTA: return ev_iota(e, n, s);
    case OP_RESHAPE: return ev_reshape(e, in, s);
    case OP_PERMUTE: return ev_permute(e, n, in, s);
    case OP_EXPAND: return ev_expand(in, s);
    case OP_PAD: return ev_pad(e, n, in, s);
    case OP_SHRINK:
        t = box(e, n, 1, in, s);
        t.store->refs++;
        return t;
    case OP_FLIP: return ev_flip(e, n, in);
    case OP_UNFOLD: return ev_tap(e, n, in, s);
    case OP_FOLD: return ev_spread(e, n, in, s);
    case OP_REDUCE_AXES: return ev_reduce(e, n, in, s);
    case OP_SCAN_AXIS: return ev_scan(e, n, in, s);
    case OP_GATHER: return ev_gather(e, n, in, s);
    case OP_SCATTER: return ev_scatter(e, n, in, s);
    case OP_CONTIGUOUS:
    case OP_INLINE:
    case OP_ONCE_DIFF:
    case OP_GRAD_THROUGH:
    case OP_RECOMPUTE:
    case OP_GRAD_STORED:
    case OP_DETACH: return eval_view(in, s);
    case OP_ASSIGN: return ev_assign(e, n, in);
    case OP_CALL: return ev_call(e, n, in, s);
    default: return ev_elementwise(e, n, s);
    }
}

static const struct shape *shape_copy(struct arena *a, const struct shape *s) {
    size_t bytes = sizeof *s + s->n * sizeof s->d[0];
    return memcpy(arena_raw(a, bytes), s, bytes);
}

static void give(struct eval *e, const struct tensor *t, struct ref_tensor *out) {
    int64_t n = shape_size(t->shape);
    double bytes = (double)n * (double)(dtype_info[t->dt].bytes + (e->bounds ? 9 : 0));
    if (bytes > (double)e->limit) eval_no_room(e, bytes);
    char *data = arena_raw(e->arena, (size_t)n * dtype_info[t->dt].bytes);
    double *bound = e->bounds ? arena_array(e->arena, double, n) : NULL;
    uint8_t *unsure = e->bounds ? arena_array(e->arena, uint8_t, n) : NULL;
    struct walk w;
    walk_start(&w, t->shape, 0), walk_with(&w, t);
    for (int64_t i = 0; w.more; walk_next(&w), i++) {
        struct cell c = get(t, w.at[0]);
        ref_write(t->dt, data + i * dtype_info[t->dt].bytes, c.v);
        if (e->bounds) bound[i] = c.err, unsure[i] = c.unsure;
    }
    *out = (struct ref_tensor){t->dt, shape_copy(e->arena, t->shape), data, bound, unsure};
}

static void prepare(struct eval *e) {
    shapes_init(&e->shapes, e->ir, &e->scratch);
    if (e->graph->op != OP_GRAPH)
        err_throw(e->err, RG_EVERIFY, "expected a tensor program (GRAPH ..), found %s",
                  op_info[e->graph->op].name);
    uop_topo(&e->scratch, &e->graph, 1, &e->order);
    uint32_t top = 0;
    for (uint32_t i = 0; i < e->order.n; i++) top = RG_MAX(top, e->order.p[i]->id);
    e->pos = arena_array(&e->scratch, uint32_t, (size_t)top + 1);
    e->uses = arena_array(&e->scratch, uint32_t, e->order.n);
    e->value = arena_array(&e->scratch, struct tensor *, e->order.n);
    for (uint32_t i = 0; i < e->order.n; i++) {
        const uop *n = e->order.p[i];
        e->pos[n->id] = i;
        for (uint32_t k = 0; k < n->nsrc; k++) e->uses[e->pos[n->src[k]->id]]++;
        if (n->op == OP_GRAPH && n != e->graph)
            bad(e, n, RG_EVERIFY, "a tensor program is not a value of another");
    }
}

static void evaluate_nodes(struct eval *e) {
    for (uint32_t i = 0; i + 1 < e->order.n; i++) {
        const uop *n = e->order.p[i];
        struct tensor t = ev_node(e, n);
        *(e->value[i] = arena_new(&e->scratch, struct tensor)) = t;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            uint32_t p = e->pos[n->src[k]->id];
            if (--e->uses[p] == 0) eval_drop(e, e->value[p]);
        }
    }
}

static void evaluate(void *arg) {
    struct eval *e = arg;
    prepare(e);
    evaluate_nodes(e);
    for (uint32_t i = 0; i < e->graph->nsrc; i++) give(e, source(e, e->graph, i), &e->out[i]);
}

/* ---- loops --------------------------------------------------------------------------------------------------- */

static struct tensor row_of(const struct tensor *r, int64_t at, const struct shape *s) {
    struct tensor t = {.dt = r->dt, .shape = s, .store = r->store, .at = at};
    int64_t stride = 1;
    for (uint32_t i = s->n; i-- > 0;) t.stride[i] = stride, stride *= s->d[i];
    return t;
}

/* The body, as a graph of its own in the same memory; its values go to the rows of r that the step writes. */
static void ev_step(struct eval *e, const struct loop_call *l, const struct tensor *given, struct tensor *r,
                    int64_t row) {
    const struct eval was = *e;
    struct arena_mark mark = arena_mark(&e->scratch);
    e->ir = l->ir, e->graph = l->graph, e->given = given, e->order = (uop_vec){0};
    prepare(e);
    evaluate_nodes(e);
    for (uint32_t i = 0; i < l->states; i++) {
        struct tensor *value = source(e, e->graph, i), to = row_of(r, loop_at(l, i, row), value->shape);
        eval_copy(&to, value, 0);
    }
    for (uint32_t i = 0; i + 1 < e->order.n; i++) eval_drop(e, e->value[i]);
    e->ir = was.ir, e->graph = was.graph, e->given = was.given, e->shapes = was.shapes;
    e->order = was.order, e->pos = was.pos, e->uses = was.uses, e->value = was.value;
    arena_release(&e->scratch, mark);
}

static struct tensor ev_loop(struct eval *e, const uop *n, const struct shape *s) {
    const struct loop_call *l = loop_open(&e->scratch, &e->shapes, n);
    struct tensor r = eval_tensor(e, (enum dtype)n->dt, s, 0), zero = scalar(e, r.dt, (union ref_val){0});
    struct tensor *given = arena_array(&e->scratch, struct tensor, l->values + 1);
    for (int64_t i = 0; i < l->size; i++) put(&r, i, get(&zero, 0));
    for (uint32_t k = 0; k < l->values; k++) {
        given[k] = eval_dense(e, source(e, n, k));
        if (k >= l->states) continue;
        struct tensor to = row_of(&r, loop_at(l, k, l->backwards ? l->steps : 0), given[k].shape);
        eval_copy(&to, &given[k], 0);
        eval_drop(e, &given[k]);
        given[k].store = r.store;
    }
    for (int64_t i = 0; i < l->steps; i++) {
        int64_t t = loop_time(l, i);
        for (uint32_t k = 0; k < l->states; k++) given[k].at = loop_at(l, k, l->backwards ? t + 1 : t);
        for (uint32_t k = l->states; k < l->states + l->per_step; k++) given[k].at = t * given[k].shape->d[1];
        ev_step(e, l, given, &r, l->backwards ? t : t + 1);
    }
    for (uint32_t k = l->states; k < l->values; k++) eval_drop(e, &given[k]);
    eval_drop(e, &zero);
    return r;
}

/* The ir and the arena may have error records of their own. */
static void under_arena(void *arg) { err_guard(((struct eval *)arg)->err, evaluate, arg); }
static void under_caller(void *arg) { err_guard(((struct eval *)arg)->arena->err, under_arena, arg); }

static void adopt(struct err *to, struct err *from) {
    if (to == from || !from->code) return;
    err_set(to, from->code, "%s", from->msg);
    err_clear(from);
}

enum { LIMIT_GIB = 4 };

static int evaluate_graph(struct err *err, struct eval *e) {
    e->err = e->ir->err;
    if (!e->limit) e->limit = (size_t)LIMIT_GIB << 30;
    arena_init(&e->scratch, e->err);
    err_guard(err, under_caller, e);
    adopt(err, e->arena->err), adopt(err, e->ir->err);
    while (e->live) eval_store_free(e, e->live);
    arena_free(&e->scratch);
    return err->code;
}

#define EVAL_INPUTS .arena = arena, .ir = ir, .graph = graph, .bufs = bufs, .nbuf = nbuf, .var = var

int ref_graph(struct err *err, struct arena *arena, struct ir *ir, const uop *graph,
              const struct ref_buf *bufs, uint32_t nbuf, const int64_t *var, bool bounds, size_t limit,
              struct ref_tensor *out) {
    return evaluate_graph(err, &(struct eval){EVAL_INPUTS, .bounds = bounds, .limit = limit, .out = out});
}

int ref_graph_of_rank(struct err *err, struct arena *arena, struct ir *ir, const uop *graph,
                      const struct ref_buf *bufs, uint32_t nbuf, const int64_t *var,
                      const struct ref_exchange *exchange, struct ref_tensor *out) {
    return evaluate_graph(err, &(struct eval){EVAL_INPUTS, .exchange = exchange, .out = out});
}
