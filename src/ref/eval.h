/* eval.h: tensors of the oracle, as eval_graph.c computes with them.
 *
 * A tensor is a view (offset and strides) of a store. An axis along which nothing changes has stride 0 and takes no memory.
 * Invariants: every store is on the list `live` until it is freed, so that an error frees them all; user memory is never
 * written. Tests: tests/unit/ref_graph.c */
#ifndef RIDGE_REF_EVAL_H
#define RIDGE_REF_EVAL_H

#include "ref/bound.h"

struct store {
    char *data;
    double *err;     /* one for each element; NULL: zeros */
    uint8_t *unsure; /* the same */
    size_t bytes;    /* counted against the limit */
    uint32_t refs;
    bool mine; /* data is freed with it; else it is a buffer of the caller */
    struct store *prev, *next;
};

struct tensor {
    enum dtype dt;
    const struct shape *shape; /* NULL: not evaluated, or gone */
    struct store *store;
    int64_t at; /* of the first element */
    int64_t stride[SHAPE_MAX];
};

struct eval {
    struct err *err; /* the ir's */
    struct arena scratch, *arena;
    struct ir *ir;
    const uop *graph;
    const struct ref_buf *bufs;
    uint32_t nbuf;
    const int64_t *var;
    bool bounds;
    size_t limit, used;
    struct shapes shapes;
    uop_vec order;
    uint32_t *pos, *uses;  /* by node id; by position */
    struct tensor **value; /* by position */
    struct store *live;
    struct ref_tensor *out;
    const struct ref_exchange *exchange; /* or NULL */
    const struct tensor *given;          /* by number of a BUFFER, in the body of a loop; else NULL */
};

/* ---- eval_tensor.c: stores and tensors --------------------------------------------------------------------- */

/* The error of a tensor that exceeds the limit. */
void eval_no_room(struct eval *, double bytes) RG_NORETURN;
/* A store without data, on the list. */
struct store *eval_store(struct eval *);
/* Room for n elements of `size` bytes, not initialised; with bounds for all, or for none. */
struct store *eval_store_alloc(struct eval *, int64_t n, size_t size, bool bounds);
void eval_store_free(struct eval *, struct store *);

/* A tensor to write: row-major, the axes of `flat` without memory. */
struct tensor eval_tensor(struct eval *, enum dtype, const struct shape *, uint32_t flat);
struct tensor eval_view(const struct tensor *, const struct shape *);
/* A copy with all its elements in memory. */
struct tensor eval_dense(struct eval *, const struct tensor *);
void eval_copy(struct tensor *to, const struct tensor *from, uint32_t flat);
void eval_drop(struct eval *, struct tensor *);
/* Axes along which nothing changes, as bits. */
uint32_t flat_axes(const struct tensor *);

/* ---- elements --------------------------------------------------------------------------------------- */

/* Most tensors are f32: one move instead of a walk through ref_read's cases. */
static inline struct cell get(const struct tensor *t, int64_t at) {
    const struct store *s = t->store;
    struct cell c = {.err = s->err ? s->err[at] : 0, .unsure = s->unsure && s->unsure[at]};
    float f;
    if (t->dt == DT_F32)
        memcpy(&f, s->data + at * 4, 4), c.v.f = f;
    else
        c.v = ref_read(t->dt, s->data + at * dtype_info[t->dt].bytes);
    return c;
}

static inline void put(struct tensor *t, int64_t at, struct cell c) {
    struct store *s = t->store;
    if (t->dt == DT_F32) {
        float f = (float)c.v.f;
        memcpy(s->data + at * 4, &f, 4);
    } else
        ref_write(t->dt, s->data + at * dtype_info[t->dt].bytes, c.v);
    if (s->err) s->err[at] = c.err;
    if (s->unsure) s->unsure[at] = c.unsure;
}

/* ---- walks: all coordinates of a box in row-major order, with the offsets of up to four tensors --------- */

struct walk {
    uint32_t n, k;
    bool more;
    int64_t size[SHAPE_MAX], idx[SHAPE_MAX];
    int64_t at[4], stride[4][SHAPE_MAX];
};

void walk_start(struct walk *, const struct shape *, uint32_t flat);
/* A rank-0 tensor broadcasts. */
void walk_with(struct walk *, const struct tensor *);
/* Before the first row, where the order does not matter: rows are as long as they can be. */
void walk_long_rows(struct walk *);

/* On to the next coordinate of the first n axes. */
static inline void walk_on(struct walk *w, uint32_t n) {
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t j = 0; j < w->k; j++) w->at[j] += w->stride[j][i];
        if (++w->idx[i] < w->size[i]) return;
        for (uint32_t j = 0; j < w->k; j++) w->at[j] -= w->stride[j][i] * w->size[i];
        w->idx[i] = 0;
    }
    w->more = false;
}
static inline void walk_next(struct walk *w) { walk_on(w, w->n); }

/* The same by rows: the elements of one, how far tensor k's are apart, on to the next row. */
static inline int64_t row_size(const struct walk *w) { return w->n ? w->size[w->n - 1] : 1; }
static inline int64_t row_step(const struct walk *w, uint32_t k) { return w->n ? w->stride[k][w->n - 1] : 0; }
static inline void walk_row(struct walk *w) { walk_on(w, w->n ? w->n - 1 : 0); }

#endif
