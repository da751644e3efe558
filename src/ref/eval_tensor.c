/* eval_tensor.c: tensors of the oracle: their memory, views and copies, walks over their elements.
 *
 * Stores are counted and freed after their last use; `limit` bounds what lives at the same time.
 * Tests: tests/unit/ref_graph.c */
#include "ref/eval.h"

/* ---- stores ---------------------------------------------------------------------------------------- */

void RG_NORETURN eval_no_room(struct eval *e, double bytes) {
    err_throw(
        e->err, RG_ELIMIT,
        "the oracle would need %.0f more bytes for a tensor and may use %zu in all, %zu of them in use; "
        "use smaller tensors or a greater limit",
        bytes, e->limit, e->used);
}

void eval_store_free(struct eval *e, struct store *s) {
    if (s->prev) s->prev->next = s->next;
    if (s->next) s->next->prev = s->prev;
    if (e->live == s) e->live = s->next;
    e->used -= s->bytes;
    if (s->mine) mem_free(s->data);
    mem_free(s->err);
    mem_free(s->unsure);
    mem_free(s);
}

static void *take(struct eval *e, size_t bytes) {
    void *p = mem_alloc(RG_MAX(bytes, (size_t)1));
    if (!p) err_throw(e->err, RG_ENOMEM, "out of memory: %zu bytes for a tensor", bytes);
    return p;
}

struct store *eval_store(struct eval *e) {
    struct store *s = take(e, sizeof *s);
    *s = (struct store){.next = e->live, .refs = 1};
    if (e->live) e->live->prev = s;
    e->live = s;
    return s;
}

struct store *eval_store_alloc(struct eval *e, int64_t n, size_t size, bool bounds) {
    double bytes = (double)n * (double)(size + (bounds ? 9 : 0));
    if (bytes > (double)(e->limit - RG_MIN(e->limit, e->used))) eval_no_room(e, bytes);
    struct store *s = eval_store(e);
    s->bytes = (size_t)bytes, e->used += s->bytes;
    s->mine = true;
    s->data = take(e, (size_t)n * size);
    if (bounds) s->err = take(e, (size_t)n * sizeof *s->err), s->unsure = take(e, (size_t)n);
    return s;
}

void eval_drop(struct eval *e, struct tensor *t) {
    if (!t->shape) return;
    t->shape = NULL;
    if (--t->store->refs == 0) eval_store_free(e, t->store);
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

uint32_t flat_axes(const struct tensor *t) {
    uint32_t m = 0;
    for (uint32_t i = 0; i < t->shape->n; i++)
        if (t->stride[i] == 0 || t->shape->d[i] == 1) m |= 1u << i;
    return m;
}

static int64_t extent(const struct shape *s, uint32_t flat, uint32_t i) {
    return flat >> i & 1 ? RG_MIN(s->d[i], 1) : s->d[i];
}

struct tensor eval_tensor(struct eval *e, enum dtype dt, const struct shape *s, uint32_t flat) {
    struct tensor t = {.dt = dt, .shape = s};
    int64_t n = 1;
    for (uint32_t i = s->n; i-- > 0;) {
        t.stride[i] = flat >> i & 1 ? 0 : n;
        n *= extent(s, flat, i);
    }
    t.store = eval_store_alloc(e, n, dtype_info[dt].bytes, e->bounds);
    return t;
}

struct tensor eval_view(const struct tensor *t, const struct shape *s) {
    struct tensor v = *t;
    v.shape = s;
    v.store->refs++;
    return v;
}

/* ---- walks: all coordinates of a box in row-major order, with the offsets of up to four tensors --------- */

void walk_start(struct walk *w, const struct shape *s, uint32_t flat) {
    w->n = s->n, w->k = 0, w->more = true;
    for (uint32_t i = 0; i < s->n; i++) {
        w->size[i] = extent(s, flat, i), w->idx[i] = 0;
        if (!w->size[i]) w->more = false;
    }
}

void walk_with(struct walk *w, const struct tensor *t) {
    w->at[w->k] = t->at;
    for (uint32_t i = 0; i < w->n; i++) w->stride[w->k][i] = t->shape->n ? t->stride[i] : 0;
    w->k++;
}

void walk_long_rows(struct walk *w) {
    uint32_t longest = 0, last = w->n - 1;
    if (w->n < 2) return;
    for (uint32_t i = 1; i < w->n; i++)
        if (w->size[i] >= w->size[longest]) longest = i;
    int64_t size = w->size[last];
    w->size[last] = w->size[longest], w->size[longest] = size;
    for (uint32_t k = 0; k < w->k; k++) {
        int64_t step = w->stride[k][last];
        w->stride[k][last] = w->stride[k][longest], w->stride[k][longest] = step;
    }
}

void eval_copy(struct tensor *to, const struct tensor *from, uint32_t flat) {
    struct walk w;
    walk_start(&w, from->shape, flat);
    walk_with(&w, to), walk_with(&w, from), walk_long_rows(&w);
    int64_t n = row_size(&w), to_step = row_step(&w, 0), from_step = row_step(&w, 1);
    for (; w.more; walk_row(&w))
        for (int64_t i = 0; i < n; i++) put(to, w.at[0] + i * to_step, get(from, w.at[1] + i * from_step));
}

struct tensor eval_dense(struct eval *e, const struct tensor *t) {
    struct tensor r = eval_tensor(e, t->dt, t->shape, 0);
    eval_copy(&r, t, 0);
    return r;
}
