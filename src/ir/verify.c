/* verify.c: is this a kernel? The rules of docs/internals/ir.md, "What a kernel is", one function each.
 *
 * verify_kernel walks the graph once for the rules of single nodes, then checks ranges, buffers, stores
 * and indices in that order, because each step relies on the ones before (free ranges need sound RANGEs,
 * a bounds proof needs sound buffers). The table of rules is verify.def; what must be proved about
 * indices is in verify_index.c; linear programs are in verify_linear.c.
 * Tests: tests/unit/verify.c over tests/verify/ (broken kernels) and tests/golden/ (good ones) */
#include "verify.h"
#include "node.h"

enum { MAX_STAGE_BYTES = 64 << 20 };
#define MAX_ELEMENTS ((int64_t)1 << 44)

const struct verify_rule verify_rules[] = {
#define RULE(id, name, what, todo) {name, what, todo},
#include "verify.def"
#undef RULE
};
const unsigned verify_rule_count = VR_COUNT;

void verify_fail(struct verify *v, const uop *n, enum rule_id rule, const char *fmt, ...) {
    char detail[600];
    struct str s;
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    str_init(&s, v->arena);
    ir_print_node(&s, v->ir, n, 3);
    const struct verify_rule *r = &verify_rules[rule];
    err_throw(v->ir->err, RG_EVERIFY, "%s%s: %%%u %.400s%s: rule %s: %s%s%s; %s",
              v->name ? "kernel " : "linear program", v->name ? v->name : "", n->id, s.p,
              s.n > 400 ? " ..." : "", r->name, r->what, *detail ? "; " : "", detail, r->todo);
}

static const char *class_name(struct verify *v, const uop *range) {
    return ir_name(v->ir, range->arg.range.cls);
}

static bool is_store(const uop *n) { return n->op == OP_STORE || n->op == OP_STORE_ADD; }
static bool is_binder(const uop *n) { return n->op == OP_REDUCE || n->op == OP_STAGE; }

/* ---- single nodes ------------------------------------------------------------------------------ */

static void check_position(struct verify *v, const uop *n) {
    switch (n->op) {
    case OP_BLOCK:
    case OP_FOR:
    case OP_IF:
    case OP_SET:
    case OP_PREFETCH:
    case OP_END:
    case OP_ELSE:
    case OP_ACC: verify_fail(v, n, VR_STATEMENT, "found %s", op_info[n->op].name);
    case OP_LANES:
    case OP_BUILD:
    case OP_EXTRACT:
    case OP_VEC_REDUCE: verify_fail(v, n, VR_VECTOR, "found %s", op_info[n->op].name);
    case OP_LOCAL: verify_fail(v, n, VR_LOCAL, "%s", "");
    case OP_SINK:
    case OP_STORE:
    case OP_STORE_ADD: break;
    default: break;
    }
    if (n->lanes != 1) verify_fail(v, n, VR_VECTOR, "found %u lanes", n->lanes);
    if ((op_info[n->op].flags & OPF_M) && n->dt == DT_IDX) verify_fail(v, n, VR_MEMORY_TYPE, "%s", "");
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *s = n->src[i];
        if (s->op == OP_INVALID && !(n->op == OP_WHERE && i > 0))
            verify_fail(v, n, VR_INVALID_OPERAND, "it is source %u of %s", i, op_info[n->op].name);
        if (s->op == OP_SINK || (is_store(s) && n->op != OP_SINK))
            verify_fail(v, n, VR_SINK, "found %s inside %s", op_info[s->op].name, op_info[n->op].name);
    }
}

static void check_nodes(struct verify *v) {
    char why[WHY_MAX];
    int at;
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        if (op_info[n->op].flags & OPF_W)
            verify_fail(v, n, VR_LATER_OP, "%s: %s", op_info[n->op].name, op_info[n->op].doc);
        if (!node_check(v->ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, n->src, n->nsrc, n->arg, why,
                        &at))
            verify_fail(v, n, VR_NODE, "%s", why);
        check_position(v, n);
    }
    for (uint32_t i = 0; i < v->sink->nsrc; i++)
        if (!is_store(v->sink->src[i]))
            verify_fail(v, v->sink, VR_SINK, "source %u is %s", i, op_info[v->sink->src[i]->op].name);
}

/* ---- ranges ------------------------------------------------------------------------------------ */

static void check_range(struct verify *v, const uop *r) {
    const uop *size = r->src[0];
    enum axis_kind kind = (enum axis_kind)r->arg.range.kind;
    if (kind > AX_VEC) verify_fail(v, r, VR_AXIS_KIND, "found %s", axis_name[kind]);
    if (size->hi < 1 || size->lo < 0 || (uop_is_exact(size) && size->lo > MAX_ELEMENTS))
        verify_fail(v, r, VR_RANGE_SIZE, "range %s has the size %lld", class_name(v, r),
                    (long long)(size->hi < 1 ? size->hi : size->lo));
    if (kind == AX_GRID && !uop_is_exact(size))
        verify_fail(v, r, VR_GRID_SIZE, "the size of %s is known only when the kernel runs",
                    class_name(v, r));
    const uop_vec *f = free_of(&v->free, size);
    for (uint32_t i = 0; i < f->n; i++)
        if (f->p[i]->arg.range.pos >= r->arg.range.pos)
            verify_fail(v, r, VR_RANGE_NEST, "the size of %s uses %s at position %u, its own is %u",
                        class_name(v, r), class_name(v, f->p[i]), f->p[i]->arg.range.pos, r->arg.range.pos);
}

/* Ranges of one class; a kernel has few ranges, so all pairs are compared. */
static void check_class(struct verify *v, const uop *a, const uop *b) {
    union arg x = a->arg, y = b->arg;
    const uop *grid = x.range.kind == AX_GRID   ? a
                      : y.range.kind == AX_GRID ? b
                                                : NULL,
              *other = grid == a ? b : a;
    if (grid && other->arg.range.kind != AX_GRID && other->arg.range.pos <= grid->arg.range.pos)
        verify_fail(v, grid, VR_GRID_OUTER,
                    "%s range %s at position %u is not inside GRID range %s at position %u",
                    axis_name[other->arg.range.kind], class_name(v, other), other->arg.range.pos,
                    class_name(v, grid), grid->arg.range.pos);
    if (x.range.cls != y.range.cls) return;
    if (x.range.id == y.range.id)
        verify_fail(v, b, VR_RANGE_TWIN,
                    "class %s has two ranges with id %u that differ in size, kind or position",
                    class_name(v, b), x.range.id);
    if (a->src[0] != b->src[0])
        verify_fail(v, b, VR_CLASS_SIZE, "class %s has ranges of size %lld and %lld", class_name(v, b),
                    (long long)a->src[0]->hi, (long long)b->src[0]->hi);
    if (x.range.pos != y.range.pos)
        verify_fail(v, b, VR_CLASS_POS, "class %s has positions %u and %u", class_name(v, b), x.range.pos,
                    y.range.pos);
}

static void check_ranges(struct verify *v) {
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *r = v->order.p[i];
        if (r->op != OP_RANGE) continue;
        check_range(v, r);
        for (uint32_t j = 0; j < v->ranges.n; j++) check_class(v, v->ranges.p[j], r);
        vec_push(v->arena, &v->ranges, r);
        if (r->arg.range.kind == AX_GRID && r->src[0]->hi > 1) vec_push(v->arena, &v->grid, r);
    }
}

/* Loops around one value must have an order. */
static void check_nesting(struct verify *v) {
    const uop_vec *last = NULL;
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        if (n->op == OP_SINK) continue; /* its stores need not share their inner loops */
        const uop_vec *f = free_of(&v->free, n);
        if (f == last) continue;
        last = f;
        for (uint32_t j = 1; j < f->n; j++)
            if (f->p[j]->arg.range.pos == f->p[j - 1]->arg.range.pos)
                verify_fail(v, n, VR_POS_CLASH, "ranges %s (id %u) and %s (id %u) are both at position %u",
                            class_name(v, f->p[j - 1]), f->p[j - 1]->arg.range.id, class_name(v, f->p[j]),
                            f->p[j]->arg.range.id, f->p[j]->arg.range.pos);
    }
}

/* ---- what binds ranges ------------------------------------------------------------------------- */

static void check_binder(struct verify *v, const uop *n) {
    for (uint32_t i = 1; i < n->nsrc; i++) {
        const uop *r = n->src[i];
        enum axis_kind kind = (enum axis_kind)r->arg.range.kind;
        if (kind == AX_GRID) verify_fail(v, n, VR_BIND_GRID, "%s is a GRID range", class_name(v, r));
        if (n->op == OP_REDUCE && kind != AX_REDUCE && !axis_is_expanded(kind))
            verify_fail(v, n, VR_BIND_KIND, "%s is a %s range", class_name(v, r), axis_name[kind]);
        for (uint32_t j = 1; j < i; j++)
            if (n->src[j] == r) verify_fail(v, n, VR_BIND_TWICE, "%s is named twice", class_name(v, r));
    }
}

/* Does a body need a reduction over the range that it is reduced over itself, or a store inside the loop?
 * (Different stores may share a loop: one is inside it, the other stores what was reduced over it.)
 * One walk per range; a kernel has few. */
static void check_bound_range(struct verify *v, const uop *r) {
    uint8_t *below = arena_array(v->arena, uint8_t, (size_t)v->sink->id + 1); /* a binder of r is below */
    const uop *binder = NULL, *scan = NULL;
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        bool in = false, binds = false;
        for (uint32_t j = 0; j < n->nsrc; j++) in |= below[n->src[j]->id];
        for (uint32_t j = 1; j < n->nsrc && is_binder(n); j++) binds |= n->src[j] == r;
        for (uint32_t j = 1; j < n->nsrc && n->op == OP_SCAN; j++)
            if (n->src[j] == r) scan = n;
        if (binds && below[n->src[0]->id])
            verify_fail(v, n, VR_REDUCE_AGAIN, "both run over %s (id %u)", class_name(v, r), r->arg.range.id);
        if (binds) binder = n;
        if (is_store(n) && in && free_has(&v->free, n, r))
            verify_fail(v, n, VR_BOUND_ESCAPES, "%s (id %u) is free here and bound by %%%u", class_name(v, r),
                        r->arg.range.id, binder->id);
        below[n->id] = in || binds;
    }
    if (binder && scan)
        verify_fail(v, scan, VR_SCAN_BOUND, "%s is bound by %s", class_name(v, r), op_info[binder->op].name);
    if (!binder && r->arg.range.kind == AX_REDUCE)
        verify_fail(v, r, VR_REDUCE_FREE, "%s (id %u)", class_name(v, r), r->arg.range.id);
}

static void check_stage(struct verify *v, const uop *n) {
    double bytes = dtype_info[n->dt].bytes;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        const uop *size = n->src[i]->src[0];
        if (!uop_is_exact(size))
            verify_fail(v, n, VR_STAGE_SIZE, "the size of %s is known only when the kernel runs",
                        class_name(v, n->src[i]));
        bytes *= (double)size->hi;
    }
    if (bytes > MAX_STAGE_BYTES) verify_fail(v, n, VR_STAGE_SIZE, "found %.0f bytes", bytes);
}

static void check_binding(struct verify *v) {
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        if (is_binder(n)) check_binder(v, n);
        if (n->op == OP_STAGE) check_stage(v, n);
        for (uint32_t j = 1; j < n->nsrc && n->op == OP_SCAN; j++) {
            enum axis_kind kind = (enum axis_kind)n->src[j]->arg.range.kind;
            if (kind != AX_SCAN && kind != AX_LOOP && !axis_is_expanded(kind))
                verify_fail(v, n, VR_SCAN_KIND, "%s is a %s range", class_name(v, n->src[j]),
                            axis_name[kind]);
        }
    }
    for (uint32_t i = 0; i < v->ranges.n; i++)
        if (v->ranges.p[i]->arg.range.kind != AX_GRID) check_bound_range(v, v->ranges.p[i]);
}

/* ---- buffers ----------------------------------------------------------------------------------- */

static void check_buffer(struct verify *v, const uop *n) {
    if (n->op == OP_PARAM && (n->src[0]->lo < 1 || n->src[0]->lo > MAX_ELEMENTS))
        verify_fail(v, n, VR_BUFFER_SIZE, "%s has %lld elements", ir_name(v->ir, n->arg.param.name),
                    (long long)n->src[0]->lo);
    if (n->op == OP_PARAMS && n->src[0]->lo < 0)
        verify_fail(v, n, VR_INDEX_BOUNDS,
                    "the number of the buffer may be negative (least value known: %lld)",
                    (long long)n->src[0]->lo);
    if (n->op != OP_VAR) return;
    const uop *lo = n->src[0], *hi = n->src[1];
    bool f = dt_is_float((enum dtype)n->dt);
    if (!uop_is_const(lo) || !uop_is_const(hi)) verify_fail(v, n, VR_VAR_BOUNDS, "found an expression");
    if (f ? !(lo->arg.f <= hi->arg.f) : lo->arg.i > hi->arg.i)
        verify_fail(v, n, VR_VAR_BOUNDS, "the least value is above the greatest");
}

/* A slot of another table than `vars` (buffers and variables are numbered apart). */
static void check_slots(struct verify *v, bool vars) {
    struct map seen;
    uint32_t top = 0;
    uint64_t other, open = UINT64_MAX; /* PARAMS covers its slot and unknown ones above */
    map_init(&seen, v->arena);
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        if (n->op != OP_VAR && n->op != OP_PARAM && n->op != OP_PARAMS) continue;
        if ((n->op == OP_VAR) != vars) continue;
        check_buffer(v, n);
        uint32_t slot = n->arg.param.slot;
        top = RG_MAX(top, slot + 1);
        if (n->op == OP_PARAMS) open = RG_MIN(open, slot);
        if (map_get(&seen, slot, &other)) {
            const uop *m = v->ir->node[other];
            bool same = n->op == OP_PARAMS && m->op == OP_PARAMS && n->dt == m->dt && n->arg.u == m->arg.u;
            if (!same)
                verify_fail(v, n, VR_SLOT_CONFLICT, "slot %u is %s<%s> of %lld elements and %s<%s> of %lld",
                            slot, ir_name(v->ir, m->arg.param.name), dtype_info[m->dt].name,
                            (long long)m->src[0]->hi, ir_name(v->ir, n->arg.param.name),
                            dtype_info[n->dt].name, (long long)n->src[0]->hi);
        }
        map_put(&seen, slot, n->id);
    }
    for (uint32_t s = 0; s < top && s < open; s++)
        if (!map_get(&seen, s, NULL))
            verify_fail(v, v->sink, VR_SLOT_GAP, "%s slot %u is missing, the greatest is %u",
                        vars ? "VAR" : "PARAM", s, top - 1);
}

/* ---- stores ------------------------------------------------------------------------------------ */

static void check_store_ranges(struct verify *v, const uop *st) {
    const uop *address = st->src[0];
    for (uint32_t i = 0; i < v->grid.n; i++)
        if (!free_has(&v->free, st, v->grid.p[i]))
            verify_fail(v, st, VR_GRID_SHARED, "GRID range %s of another store is not in this one",
                        class_name(v, v->grid.p[i]));
    verify_race(v, st);
    const uop_vec *f = free_of(&v->free, st);
    for (uint32_t i = 0; i < f->n && st->op == OP_STORE; i++)
        if (f->p[i]->arg.range.kind != AX_GRID && !free_has(&v->free, address, f->p[i]))
            verify_fail(v, st, VR_LOOP_OVERWRITE, "%s (id %u) is in the value but not in the index",
                        class_name(v, f->p[i]), f->p[i]->arg.range.id);
}

static void check_stores(struct verify *v) {
    const uop *const *st = v->sink->src;
    for (uint32_t i = 0; i < v->sink->nsrc; i++) {
        const uop *buf = access_buf(st[i]);
        if (buf->op != OP_PARAM && buf->op != OP_PARAMS)
            verify_fail(v, st[i], VR_STORE_TARGET, "it stores to %s", op_info[buf->op].name);
        check_store_ranges(v, st[i]);
        for (uint32_t j = 0; j < i; j++) {
            const uop *other = access_buf(st[j]);
            bool same = other == buf || (other->op == OP_PARAMS && buf->op == OP_PARAMS &&
                                         other->arg.param.slot == buf->arg.param.slot);
            if (same && !verify_disjoint(v, st[i], st[j]))
                verify_fail(v, st[i], VR_STORE_TWICE, "%%%u stores to %s too", st[j]->id,
                            ir_name(v->ir, buf->arg.param.name));
        }
    }
}

/* Loads of a buffer that is stored: only the very address of every store to it. */
static void check_read_back(struct verify *v) {
    struct map stored; /* PARAM(S) node id -> one of its stores */
    uint64_t id;
    map_init(&stored, v->arena);
    for (uint32_t i = 0; i < v->sink->nsrc; i++) {
        const uop *st = v->sink->src[i];
        map_put(&stored, access_buf(st)->id, st->id);
    }
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        if (n->op != OP_LOAD && n->op != OP_PRED_LOAD) continue;
        if (!map_get(&stored, access_buf(n)->id, &id)) continue;
        const uop *st = v->ir->node[id];
        bool same = st->src[0] == n->src[0] && st->op == OP_STORE;
        for (uint32_t j = 0; j < v->sink->nsrc && same; j++) {
            const uop *t = v->sink->src[j];
            same = access_buf(t) != access_buf(n) || t->src[0] == n->src[0];
        }
        if (!same)
            verify_fail(v, n, VR_READ_BACK, "%s is stored by %%%u at %s",
                        ir_name(v->ir, access_buf(n)->arg.param.name), st->id,
                        st->op == OP_STORE_ADD ? "an accumulating store" : "another index");
    }
}

static void check_indices(struct verify *v) {
    for (uint32_t i = 0; i < v->order.n; i++) {
        const uop *n = v->order.p[i];
        if (n->op == OP_LOAD || n->op == OP_PRED_LOAD || is_store(n)) verify_bounds(v, n);
    }
}

void verify_kernel(struct ir *ir, const struct kernel *k) {
    struct arena_mark mark = arena_mark(ir->arena); /* no nodes are made here */
    struct verify v = {.ir = ir, .arena = ir->arena, .name = k->name, .sink = k->sink};
    if (k->sink->op != OP_SINK) verify_fail(&v, k->sink, VR_SINK, "found %s", op_info[k->sink->op].name);
    uop_topo(v.arena, &k->sink, 1, &v.order);
    free_init(&v.free, ir, v.arena);
    check_nodes(&v);
    check_ranges(&v);
    check_binding(&v);
    check_nesting(&v);
    check_slots(&v, false);
    check_slots(&v, true);
    check_stores(&v);
    check_read_back(&v);
    check_indices(&v);
    arena_release(ir->arena, mark);
}
