/* build.c: making tensors, and looking at them in another shape.
 *
 * rg_from is the only function here that does something at once: it copies the user's data. Functions that make views say
 * so (.view): a view cannot be assigned to, see assign.c.
 * Tests: tests/semantics, misuse in tests/unit/api.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

/* Checks a list of the user's. */
static uint32_t count(struct api_call *k, const char *what) {
    if (k->ints.n > 2 * SHAPE_MAX)
        call_fail(k, RG_ELIMIT, "%zu %s; a tensor has at most %d axes", k->ints.n, what, SHAPE_MAX);
    if (k->ints.n && !k->ints.d) call_fail(k, RG_EINVAL, "the list of %s is NULL", what);
    return (uint32_t)k->ints.n;
}

/* ---- making -------------------------------------------------------------------------------------------- */

const struct shape *build_shape(struct api_call *k) {
    uint32_t n = count(k, "sizes");
    for (uint32_t i = 0; i < n; i++)
        if (k->ints.d[i] < 0)
            call_fail(k, RG_EINVAL, "axis %u has size %lld; sizes are 0 or more", i, (long long)k->ints.d[i]);
    return shape_make(&k->g->shapes, k->ints.d, n);
}

int64_t build_bytes(struct api_call *k, enum dtype dt, const struct shape *sh) {
    int64_t bytes;
    if (__builtin_mul_overflow(shape_size(sh), (int64_t)dtype_info[dt].bytes, &bytes))
        call_fail(k, RG_ELIMIT, "a tensor of more than 2^63 bytes cannot be stored");
    return bytes;
}

const uop *build_from(struct api_call *k) {
    rg_ctx *c = k->c;
    enum dtype dt = call_dtype(k, (rg_dtype)k->i[0]);
    const struct shape *sh = build_shape(k);
    int64_t bytes = build_bytes(k, dt, sh);
    if (bytes && !k->p)
        call_fail(k, RG_EINVAL, "the data is NULL; %lld bytes are expected", (long long)bytes);
    if (c->recording)
        warn_line("%s:%d: rg_from while a jit is recorded: replays use the data of now",
                  k->file ? k->file : "unknown file", k->line);
    uint32_t s = store_new(c, (size_t)bytes, EVENT_MEM_DATA);
    store_need_call(k, s, dt, sh);
    if (bytes && engine_copy(c->engine, &c->err, COPY_IN, c->store[s].mem, k->p, (size_t)bytes))
        err_throw(&c->err, c->err.code, "the copy failed");
    return store_node(c, s, c->store[s].version, dt, sh);
}

rg_tensor rg_from_at(AT, rg_ctx *c, rg_dtype dt, const void *data, rg_ints shape) {
    return call_tensor(
        CALL(from, .c = c, .i = {(int64_t)dt}, .p = (void *)data, .ints = shape, .build = build_from));
}

static const uop *b_number(struct api_call *k) {
    return t_number(k->g, call_dtype(k, (rg_dtype)k->i[0]), k->f[0]);
}
rg_tensor rg_number_at(AT, rg_ctx *c, rg_dtype dt, double v) {
    return call_tensor(CALL(number, .c = c, .i = {(int64_t)dt}, .f = {v}, .build = b_number));
}

static const uop *b_integer(struct api_call *k) {
    return t_int(k->g, call_dtype(k, (rg_dtype)k->i[0]), k->i[1]);
}
rg_tensor rg_integer_at(AT, rg_ctx *c, rg_dtype dt, int64_t v) {
    return call_tensor(CALL(integer, .c = c, .i = {(int64_t)dt, v}, .build = b_integer));
}

static const uop *b_full(struct api_call *k) {
    return t_full(k->g, b_number(k), k->ints.d, count(k, "sizes"));
}
rg_tensor rg_full_at(AT, rg_ctx *c, rg_dtype dt, double v, rg_ints shape) {
    return call_tensor(CALL(full, .c = c, .i = {(int64_t)dt}, .f = {v}, .ints = shape, .build = b_full));
}
rg_tensor rg_zeros_at(AT, rg_ctx *c, rg_dtype dt, rg_ints shape) {
    return call_tensor(CALL(zeros, .c = c, .i = {(int64_t)dt}, .ints = shape, .build = b_full));
}
rg_tensor rg_ones_at(AT, rg_ctx *c, rg_dtype dt, rg_ints shape) {
    return call_tensor(CALL(ones, .c = c, .i = {(int64_t)dt}, .f = {1}, .ints = shape, .build = b_full));
}

static const uop *b_full_like(struct api_call *k) {
    const struct shape *sh = tg_shape(k->g, k->u[0]);
    return t_full(k->g, t_number(k->g, (enum dtype)k->u[0]->dt, k->f[0]), sh->d, sh->n);
}
rg_tensor rg_full_like_at(AT, rg_tensor x, double v) {
    return call_tensor(CALL(full_like, .in = {TENSOR(x)}, .n = 1, .f = {v}, .build = b_full_like));
}
rg_tensor rg_zeros_like_at(AT, rg_tensor x) {
    return call_tensor(CALL(zeros_like, .in = {TENSOR(x)}, .n = 1, .build = b_full_like));
}
rg_tensor rg_ones_like_at(AT, rg_tensor x) {
    return call_tensor(CALL(ones_like, .in = {TENSOR(x)}, .n = 1, .f = {1}, .build = b_full_like));
}

struct arange {
    double start, stop, step;
};
static const uop *b_arange(struct api_call *k) {
    const struct arange *a = k->p;
    return t_arange(k->g, call_dtype(k, (rg_dtype)k->i[0]), a->start, a->stop, a->step);
}
rg_tensor rg_arange_at(AT, rg_ctx *c, rg_dtype dt, double start, double stop, double step) {
    struct arange a = {start, stop, step};
    return call_tensor(CALL(arange, .c = c, .i = {(int64_t)dt}, .p = &a, .build = b_arange));
}

static const uop *b_linspace(struct api_call *k) {
    return t_linspace(k->g, call_dtype(k, (rg_dtype)k->i[0]), k->f[0], k->f[1], k->i[1]);
}
rg_tensor rg_linspace_at(AT, rg_ctx *c, rg_dtype dt, double start, double stop, int64_t n) {
    return call_tensor(
        CALL(linspace, .c = c, .i = {(int64_t)dt, n}, .f = {start, stop}, .build = b_linspace));
}

static const uop *b_eye(struct api_call *k) {
    return t_eye(k->g, call_dtype(k, (rg_dtype)k->i[0]), k->i[1], k->i[2]);
}
rg_tensor rg_eye_at(AT, rg_ctx *c, rg_dtype dt, int64_t rows, int64_t columns) {
    return call_tensor(CALL(eye, .c = c, .i = {(int64_t)dt, rows, columns}, .build = b_eye));
}

/* ---- views ------------------------------------------------------------------------------------------------ */

#define VIEW_INTS(name, what)                                                                      \
    static const uop *b_##name(struct api_call *k) {                                               \
        return t_##name(k->g, k->u[0], k->ints.d, count(k, what));                                 \
    }                                                                                              \
    rg_tensor rg_##name##_at(AT, rg_tensor x, rg_ints list) {                                      \
        return call_tensor(                                                                        \
            CALL(name, .in = {TENSOR(x)}, .n = 1, .ints = list, .view = true, .build = b_##name)); \
    }
VIEW_INTS(reshape, "sizes")
VIEW_INTS(permute, "axes")
VIEW_INTS(expand, "sizes")
VIEW_INTS(flip, "axes")

#define VIEW_AXIS(name)                                                                           \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0], k->i[0]); }   \
    rg_tensor rg_##name##_at(AT, rg_tensor x, int64_t axis) {                                     \
        return call_tensor(                                                                       \
            CALL(name, .in = {TENSOR(x)}, .n = 1, .i = {axis}, .view = true, .build = b_##name)); \
    }
VIEW_AXIS(squeeze)
VIEW_AXIS(unsqueeze)

#define VIEW_TWO(name)                                                                                   \
    static const uop *b_##name(struct api_call *k) { return t_##name(k->g, k->u[0], k->i[0], k->i[1]); } \
    rg_tensor rg_##name##_at(AT, rg_tensor x, int64_t a, int64_t b) {                                    \
        return call_tensor(                                                                              \
            CALL(name, .in = {TENSOR(x)}, .n = 1, .i = {a, b}, .view = true, .build = b_##name));        \
    }
VIEW_TWO(transpose)
VIEW_TWO(flatten)

static const uop *b_detach(struct api_call *k) { return t_detach(k->g, k->u[0]); }
rg_tensor rg_detach_at(AT, rg_tensor x) {
    return call_tensor(CALL(detach, .in = {TENSOR(x)}, .n = 1, .view = true, .build = b_detach));
}

static const uop *b_checkpoint(struct api_call *k) {
    if (k->c->no_grad) return k->u[0];
    return t_recompute(k->g, k->u[0], k->u[1], store_var(k->c, DT_IDX, 0, 1, 0, NULL));
}
rg_tensor rg_checkpoint_at(AT, rg_tensor y, rg_tensor x) {
    return call_tensor(CALL(checkpoint, .in = {TENSOR(y), TENSOR(x)}, .n = 2, .build = b_checkpoint));
}

static void do_limit_temporaries(struct api_call *k) {
    if (k->i[0] < 0)
        call_fail(k, RG_EINVAL, "a limit of %lld bytes; expected 1 or more, or 0 for none",
                  (long long)k->i[0]);
    engine_set_temp_limit(k->c->engine, k->i[0]);
}
rg_status rg_limit_temporaries_at(AT, rg_ctx *c, int64_t bytes) {
    return c ? call_work(CALL(limit_temporaries, .c = c, .i = {bytes}), do_limit_temporaries) : RG_EINVAL;
}

static const uop *b_slice(struct api_call *k) {
    struct t_slice part[SHAPE_MAX];
    call_ranges(k, part, tg_shape(k->g, k->u[0])->n);
    return t_slice(k->g, k->u[0], part, (uint32_t)k->ranges.n);
}
rg_tensor rg_slice_at(AT, rg_tensor x, rg_ranges part) {
    return call_tensor(
        CALL(slice, .in = {TENSOR(x)}, .n = 1, .ranges = part, .view = true, .build = b_slice));
}

/* size elements from start on along one axis, which must all be there. */
static const uop *narrow(struct api_call *k, int64_t axis, int64_t start, int64_t size) {
    const struct shape *sh = tg_shape(k->g, k->u[0]);
    int64_t rank = sh->n, at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
        call_fail(k, RG_EINVAL, "axis %lld of a tensor of %lld axes", (long long)axis, (long long)rank);
    int64_t n = sh->d[at], first = start < 0 ? start + n : start;
    if (first < 0 || size < 0 || first > n || size > n - first)
        call_fail(k, RG_EINVAL, "%lld elements from %lld on do not lie inside axis %lld, which has %lld",
                  (long long)size, (long long)start, (long long)axis, (long long)n);
    struct t_slice part[SHAPE_MAX];
    for (int64_t i = 0; i < rank; i++) part[i] = (struct t_slice){.stop = T_END};
    part[at] = (struct t_slice){.start = first, .stop = first + size};
    return t_slice(k->g, k->u[0], part, (uint32_t)rank);
}

static const uop *b_narrow(struct api_call *k) { return narrow(k, k->i[0], k->i[1], k->i[2]); }
rg_tensor rg_narrow_at(AT, rg_tensor x, int64_t axis, int64_t start, int64_t size) {
    return call_tensor(
        CALL(narrow, .in = {TENSOR(x)}, .n = 1, .i = {axis, start, size}, .view = true, .build = b_narrow));
}

static const uop *b_select(struct api_call *k) {
    return t_squeeze(k->g, narrow(k, k->i[0], k->i[1], 1), k->i[0]);
}
rg_tensor rg_select_at(AT, rg_tensor x, int64_t axis, int64_t at) {
    return call_tensor(
        CALL(select, .in = {TENSOR(x)}, .n = 1, .i = {axis, at}, .view = true, .build = b_select));
}

/* ---- other shapes, new values -------------------------------------------------------------------------------- */

static const uop *b_pad(struct api_call *k) {
    uint32_t n = count(k, "sizes");
    if (n % 2)
        call_fail(k, RG_EINVAL, "padding is given as pairs, before and after each axis; found %u numbers", n);
    return t_pad(k->g, k->u[0], k->ints.d, n / 2, k->f[0]);
}
rg_tensor rg_pad_at(AT, rg_tensor x, rg_ints before_after, double v) {
    return call_tensor(CALL(pad, .in = {TENSOR(x)}, .n = 1, .ints = before_after, .f = {v}, .build = b_pad));
}

static const uop *b_repeat(struct api_call *k) {
    return t_repeat(k->g, k->u[0], k->ints.d, count(k, "times"));
}
rg_tensor rg_repeat_at(AT, rg_tensor x, rg_ints times) {
    return call_tensor(CALL(repeat, .in = {TENSOR(x)}, .n = 1, .ints = times, .build = b_repeat));
}

static const uop *b_cat(struct api_call *k) { return t_cat(k->g, k->many, (uint32_t)k->list.n, k->i[0]); }
rg_tensor rg_cat_at(AT, rg_tensors xs, int64_t axis) {
    return call_tensor(CALL(cat, .list = xs, .i = {axis}, .build = b_cat));
}

static const uop *b_stack(struct api_call *k) { return t_stack(k->g, k->many, (uint32_t)k->list.n, k->i[0]); }
rg_tensor rg_stack_at(AT, rg_tensors xs, int64_t axis) {
    return call_tensor(CALL(stack, .list = xs, .i = {axis}, .build = b_stack));
}

static const uop *b_contiguous(struct api_call *k) { return t_contiguous(k->g, k->u[0]); }
rg_tensor rg_contiguous_at(AT, rg_tensor x) {
    return call_tensor(CALL(contiguous, .in = {TENSOR(x)}, .n = 1, .build = b_contiguous));
}

static const uop *b_cast(struct api_call *k) {
    return t_cast(k->g, k->u[0], call_dtype(k, (rg_dtype)k->i[0]));
}
rg_tensor rg_cast_at(AT, rg_tensor x, rg_dtype dt) {
    return call_tensor(CALL(cast, .in = {TENSOR(x)}, .n = 1, .i = {(int64_t)dt}, .build = b_cast));
}

static const uop *b_bitcast(struct api_call *k) {
    return t_bitcast(k->g, k->u[0], call_dtype(k, (rg_dtype)k->i[0]));
}
rg_tensor rg_bitcast_at(AT, rg_tensor x, rg_dtype dt) {
    return call_tensor(CALL(bitcast, .in = {TENSOR(x)}, .n = 1, .i = {(int64_t)dt}, .build = b_bitcast));
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

static void do_ask(struct api_call *k) { k->u[0] = call_slot(k, k->in[0].t, 0)->node; }

#define ASK(type, name, bad, answer)                                \
    type rg_##name##_at(AT, rg_tensor x) {                          \
        struct api_call *k = CALL(name, .in = {TENSOR(x)}, .n = 1); \
        return call_work(k, do_ask) ? (type)(bad) : (type)(answer); \
    }
ASK(rg_dtype, dtype_of, RG_DTYPES, call_dtype_out((enum dtype)k->u[0]->dt))
ASK(int64_t, rank, -1, tg_shape(k->g, k->u[0])->n)
ASK(int64_t, size, -1, shape_size(tg_shape(k->g, k->u[0])))

static void do_bytes(struct api_call *k) {
    k->i[0] = (int64_t)store_bytes(k->c, call_slot(k, k->in[0].t, 0)->node);
}
int64_t rg_bytes_at(AT, rg_tensor x) {
    struct api_call *k = CALL(bytes, .in = {TENSOR(x)}, .n = 1);
    return call_work(k, do_bytes) ? -1 : k->i[0];
}

static void do_dim(struct api_call *k) {
    const struct shape *sh = tg_shape(k->g, call_slot(k, k->in[0].t, 0)->node);
    int64_t at = k->i[0] < 0 ? k->i[0] + sh->n : k->i[0];
    if (at < 0 || at >= sh->n)
        call_fail(k, RG_EINVAL, "axis %lld of a tensor of %u axes", (long long)k->i[0], sh->n);
    k->i[1] = sh->d[at];
}
int64_t rg_dim_at(AT, rg_tensor x, int64_t axis) {
    struct api_call *k = CALL(dim, .in = {TENSOR(x)}, .n = 1, .i = {axis});
    return call_work(k, do_dim) ? -1 : k->i[1];
}

int64_t rg_shape_of_at(AT, rg_tensor x, int64_t *dims, size_t room) {
    struct api_call *k = CALL(shape_of, .in = {TENSOR(x)}, .n = 1);
    if (call_work(k, do_ask)) return -1;
    const struct shape *sh = tg_shape(k->g, k->u[0]);
    for (uint32_t i = 0; i < sh->n && i < room && dims; i++) dims[i] = sh->d[i];
    return sh->n;
}

rg_ctx *rg_ctx_of(rg_tensor x) { return ctx_of(x.id); }

bool rg_is_alive(rg_tensor x) {
    rg_ctx *c = ctx_of(x.id);
    if (!c) return false;
    slots_drain(c);
    return slot_get(c, x) != NULL;
}
