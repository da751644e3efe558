/* assign.c: the only calls that change what a handle denotes.
 *
 * A tensor is assigned in place if its value is the newest version of a store; the new value is ASSIGN(that, v, box), the
 * store's head from now on. Any other tensor (a lazy value, a number, an old version) first gets a store of its own. So the versions of a
 * store form one chain, and two handles never fight for the same memory: the second one to assign gets its own.
 * Nothing is computed here; realize.c runs the queue.
 * Tests: tests/semantics/assign.c */
#include "internal.h"

#include <math.h>

/* The version that the next ASSIGN builds on. whole: what it held before does not matter. */
static const uop *own_version(struct api_call *k, struct api_slot *s, bool whole) {
    rg_ctx *c = k->c;
    const uop *n = gr_now(c, s->node);
    if (n->op == OP_BUFFER || n->op == OP_ASSIGN) {
        const struct api_store *st = &c->store[store_of(gr_chain_root(k->c, n))];
        bool newest = n->op == OP_BUFFER && (st->version == version_of(n) || st->promise);
        bool others = st->kind == EVENT_MEM_PARAMETER && !s->held; /* what a module owns keeps its memory */
        if (!others && (st->head ? st->head == n : !st->frozen && newest)) return n;
    }
    if (c->recording && !s->recorded)
        call_fail(k, RG_EINVAL,
                  "the tensor made by %s at %s:%d gets its memory while a jit is recorded: each replay would "
                  "begin from "
                  "that first value again. Assign it in the first call too, or rg_realize it before",
                  s->fn, s->file ? s->file : "an unknown file", s->line);
    uint32_t i = store_new(c, store_bytes(c, n), EVENT_MEM_VALUE);
    const uop *fresh = store_node(c, i, c->store[i].version, (enum dtype)n->dt, tg_shape(k->g, n));
    if (whole) return fresh;
    return c->store[i].head = uop2(&c->graph->ir, OP_ASSIGN, fresh, n);
}

static int kind_rank(const uop *n) {
    return dt_is_float((enum dtype)n->dt) ? 2 : dt_is_bool((enum dtype)n->dt) ? 0 : 1;
}

/* v with the dtype and shape of what it is written to. */
static const uop *fit_value(struct api_call *k, const uop *to, const struct shape *sh) {
    enum dtype dt = (enum dtype)to->dt;
    bool number = k->in[1].kind != 0;
    if (k->in[1].kind == 2 && !dt_is_float(dt))
        call_fail(k, RG_EINVAL, "a tensor of %s cannot take a float; convert it with rg_cast first",
                  dtype_info[dt].name);
    const uop *v = call_node(k, 1, dt);
    if (!number && kind_rank(v) > kind_rank(to))
        call_fail(k, RG_EINVAL, "a tensor of %s cannot take values of %s; convert them with rg_cast first",
                  dtype_info[dt].name, dtype_info[v->dt].name);
    const struct shape *from = tg_shape(k->g, v);
    bool fits = from->n <= sh->n;
    for (uint32_t i = 0; i < from->n && fits; i++)
        fits = from->d[from->n - 1 - i] == 1 || from->d[from->n - 1 - i] == sh->d[sh->n - 1 - i];
    if (!fits) {
        struct str a, b;
        str_init(&a, &k->c->scratch), str_init(&b, &k->c->scratch);
        shape_print(&a, sh), shape_print(&b, from);
        call_fail(k, RG_EINVAL, "a value of shape %s does not broadcast to %s", b.p, a.p);
    }
    v = t_cast(k->g, v, dt);
    return from == sh ? v : t_expand(k->g, v, sh->d, sh->n);
}

static struct api_slot *target(struct api_call *k) {
    struct api_slot *s = call_slot(k, k->in[0].t, 0);
    if (s->view)
        call_fail(k, RG_EINVAL,
                  "the target is a view, made by %s at %s:%d, and has no memory of its own; assign to the "
                  "tensor that it "
                  "shows (rg_assign_slice writes a part), or take a copy first: t = rg_contiguous(t)",
                  s->fn, s->file ? s->file : "an unknown file", s->line);
    if (s->var) call_fail(k, RG_EINVAL, "the target is a scalar that changes; use rg_set_scalar");
    return s;
}

void state_forget_lost(rg_ctx *c) {
    for (uint32_t i = 0; c->lost && i < c->stores; i++) c->store[i].lost = 0;
    c->lost = false;
}

static void rebind(struct api_call *k, struct api_slot *s, const uop *base, const uop *n, uint32_t first) {
    if (s->param) state_forget_lost(k->c);
    tg_shape(k->g, n);
    call_site(k, first, n);
    k->c->store[store_of(gr_chain_root(k->c, base))].head = n;
    slot_set(k->c, s, n);
}

static void do_assign(struct api_call *k) {
    uint32_t first = k->g->ir->n;
    struct api_slot *s = target(k);
    const uop *v = fit_value(k, s->node, tg_shape(k->g, s->node));
    const uop *base = own_version(k, s, true);
    rebind(k, s, base, uop2(k->g->ir, OP_ASSIGN, base, v), first);
}

rg_status rg_assign_at(const char *file, int line, rg_tensor x, rg_operand v) {
    return call_work(CALL(assign, .in = {TENSOR(x), v}, .n = 2), do_assign);
}

/* ---- a part -------------------------------------------------------------------------------------------- */

void call_ranges(struct api_call *k, struct t_slice *out, uint32_t rank) {
    if (k->ranges.n > rank) call_fail(k, RG_EINVAL, "%zu ranges for a tensor of %u axes", k->ranges.n, rank);
    if (k->ranges.n && !k->ranges.r) call_fail(k, RG_EINVAL, "the list of ranges is NULL");
    for (size_t i = 0; i < k->ranges.n; i++) {
        const rg_range *r = &k->ranges.r[i];
        out[i] = (struct t_slice){r->start, r->stop, r->step, NULL};
        if (!r->at.id) continue;
        struct api_slot *s = call_slot(k, r->at, (uint32_t)i + 1);
        if (!s->var || s->var->dt != DT_IDX)
            call_fail(k, RG_EINVAL, "the start of range %zu is not an rg_index", i + 1);
        out[i].var = s->var;
    }
}

/* Nothing is written; what led to the value still leads to the tensor, with gradients of 0. */
static void assign_nothing(struct api_call *k, struct api_slot *s, const uop *v, uint32_t first) {
    const uop *now = gr_now(k->c, s->node), *y = t_reaches(k->g, now, v);
    if (y == now) return;
    if (now->op != OP_BUFFER && now->op != OP_ASSIGN) { /* it needs no memory for that */
        call_site(k, first, y);
        slot_set(k->c, s, y);
        return;
    }
    const uop *base = own_version(k, s, true);
    rebind(k, s, base, uop2(k->g->ir, OP_ASSIGN, base, y), first);
}

/* The box of a slice is read off the nodes that t_slice makes: FLIPs over a SHRINK over the tensor itself. */
static void do_assign_slice(struct api_call *k) {
    uint32_t first = k->g->ir->n;
    struct api_slot *s = target(k);
    const struct shape *sh = tg_shape(k->g, s->node);
    struct t_slice part[SHAPE_MAX];
    call_ranges(k, part, sh->n);
    /* A fresh name for the whole, so that nothing is simplified away. */
    const uop *probe = store_node(k->c, UINT32_MAX, 0, (enum dtype)s->node->dt, sh);
    const uop *box = t_slice(k->g, probe, part, (uint32_t)k->ranges.n), *n = box;
    const uop *v = fit_value(k, s->node, tg_shape(k->g, box));
    if (!shape_size(tg_shape(k->g, box))) {
        assign_nothing(k, s, v, first);
        return;
    }
    if (n->op == OP_FLIP) { /* backwards: the value is written backwards */
        int64_t axes[SHAPE_MAX];
        for (uint32_t i = 1; i < n->nsrc; i++) axes[i - 1] = uop_const_i(k->g->ir, n, i);
        v = t_flip(k->g, v, axes, n->nsrc - 1);
        n = n->src[0];
    }
    bool whole = n == probe;
    RG_CHECK(&k->c->err, whole || (n->op == OP_SHRINK && n->src[0] == probe));
    const uop *base = own_version(k, s, whole);
    const uop *src[2 + 3 * SHAPE_MAX] = {base, v};
    uint32_t nsrc = 2;
    for (uint32_t i = 1; !whole && i < n->nsrc; i++) src[nsrc++] = n->src[i];
    rebind(k, s, base, uop_mk(k->g->ir, OP_ASSIGN, src, nsrc, ARG_NONE), first);
}

rg_status rg_assign_slice_at(const char *file, int line, rg_tensor x, rg_operand v, rg_ranges part) {
    return call_work(CALL(assign_slice, .in = {TENSOR(x), v}, .n = 2, .ranges = part), do_assign_slice);
}

/* ---- scalars that change ---------------------------------------------------------------------------------- */

/* Kernels take floats as f32 or f64 and integers as i64; other dtypes are converted in the kernel. */
static enum dtype var_dtype(enum dtype dt) {
    return dt == DT_F64 ? DT_F64 : dt_is_float(dt) ? DT_F32 : DT_I64;
}

static int64_t var_bits(enum dtype var, double v) {
    int64_t bits = 0;
    float f = (float)v;
    if (var == DT_F64)
        memcpy(&bits, &v, sizeof v);
    else if (var == DT_F32)
        memcpy(&bits, &f, sizeof f);
    else
        bits = (int64_t)v;
    return bits;
}

static void check_integer(struct api_call *k, double v) {
    if (!(v >= -9007199254740992.0 && v <= 9007199254740992.0) || v != floor(v))
        call_fail(k, RG_EINVAL, "%g is not an integer up to 2^53", v);
}

static const uop *b_scalar(struct api_call *k) {
    enum dtype dt = call_dtype(k, (rg_dtype)k->i[0]), var = var_dtype(dt);
    if (!dt_is_float(var)) check_integer(k, k->f[0]);
    double lo = dt_is_float(var) ? -INFINITY : -9007199254740992.0;
    k->var = store_var(k->c, var, lo, -lo, var_bits(var, k->f[0]), NULL);
    return t_cast(k->g, k->var, dt);
}

rg_tensor rg_scalar_at(const char *file, int line, rg_ctx *c, rg_dtype dt, double v) {
    return call_tensor(CALL(scalar, .c = c, .i = {(int64_t)dt}, .f = {v}, .build = b_scalar));
}

static void check_bounds(struct api_call *k, int64_t v, int64_t lo, int64_t hi) {
    if (v < lo || v > hi)
        call_fail(k, RG_EINVAL, "%lld is not within the index's bounds, %lld to %lld", (long long)v,
                  (long long)lo, (long long)hi);
}

static const uop *b_index(struct api_call *k) {
    int64_t lo = k->i[0], hi = k->i[1];
    if (lo < 0 || lo > hi || hi > (int64_t)1 << 53)
        call_fail(k, RG_EINVAL, "an index has bounds 0 <= least <= greatest <= 2^53; found %lld and %lld",
                  (long long)lo, (long long)hi);
    check_bounds(k, k->i[2], lo, hi);
    k->var = store_var(k->c, DT_IDX, (double)lo, (double)hi, k->i[2], NULL);
    return t_cast(k->g, k->var, DT_I64);
}

rg_tensor rg_index_at(const char *file, int line, rg_ctx *c, int64_t least, int64_t greatest, int64_t v) {
    return call_tensor(CALL(index, .c = c, .i = {least, greatest, v}, .build = b_index));
}

static void do_set_scalar(struct api_call *k) {
    uint32_t first = k->g->ir->n;
    struct api_slot *s = call_slot(k, k->in[0].t, 0);
    if (!s->var) call_fail(k, RG_EINVAL, "tensor 1 was not made by rg_scalar or rg_index; use rg_assign");
    enum dtype var = (enum dtype)s->var->dt;
    if (!dt_is_float(var)) check_integer(k, k->f[0]);
    if (var == DT_IDX) check_bounds(k, (int64_t)k->f[0], s->var->src[0]->arg.i, s->var->src[1]->arg.i);
    const uop *v = store_var(k->c, var, 0, 0, var_bits(var == DT_IDX ? DT_I64 : var, k->f[0]), s->var);
    const uop *n = t_cast(k->g, v, (enum dtype)s->node->dt);
    tg_shape(k->g, n);
    call_site(k, first, n);
    s->var = v;
    slot_set(k->c, s, n);
}

rg_status rg_set_scalar_at(const char *file, int line, rg_tensor x, double v) {
    return call_work(CALL(set_scalar, .in = {TENSOR(x)}, .n = 1, .f = {v}), do_set_scalar);
}
