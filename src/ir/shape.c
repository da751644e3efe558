/* shape.c: which shape a node of the tensor graph has, and whether it may have one.
 *
 * The checks here are those of the graph as a data structure; the front end (src/tensor) checks first, with words for
 * the user. Shapes are interned (equal means same pointer) and memoised by node id. An iterative walk: graphs may be
 * a hundred thousand nodes deep.
 * Tests: tests/unit/shape.c */
#include "ir/ir.h"
#include "ir/node.h"

void shapes_init(struct shapes *s, struct ir *ir, struct arena *a) {
    *s = (struct shapes){.ir = ir, .arena = a};
    map_init(&s->intern, a);
}

const struct shape *shape_make(struct shapes *s, const int64_t *d, uint32_t n) {
    if (n > SHAPE_MAX)
        err_throw(s->ir->err, RG_ELIMIT, "a tensor has %u axes; at most %d are supported", n, SHAPE_MAX);
    int64_t size = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i] < 0)
            err_throw(s->ir->err, RG_EVERIFY, "axis %u has size %lld; sizes are 0 or more", i,
                      (long long)d[i]);
        if (d[i] && __builtin_mul_overflow(size, d[i], &size))
            err_throw(s->ir->err, RG_ELIMIT, "a tensor has more than 2^63 elements");
    }
    uint64_t h = hash_bytes(d, n * sizeof *d, n), at;
    for (;; h = hash_u64(h + 1)) {
        if (!map_get(&s->intern, h, &at)) break;
        const struct shape *old = (const struct shape *)(uintptr_t)at;
        if (old->n == n && (!n || !memcmp(old->d, d, n * sizeof *d))) return old;
    }
    struct shape *sh = arena_alloc(s->arena, sizeof *sh + n * sizeof *d);
    sh->n = n;
    if (n) memcpy(sh->d, d, n * sizeof *d);
    map_put(&s->intern, h, (uint64_t)(uintptr_t)sh);
    return sh;
}

int64_t shape_size(const struct shape *s) {
    int64_t n = 1;
    for (uint32_t i = 0; i < s->n; i++) n *= s->d[i];
    return n;
}

void shape_print(struct str *out, const struct shape *s) {
    str_addc(out, '(');
    for (uint32_t i = 0; i < s->n; i++) str_printf(out, "%s%lld", i ? ", " : "", (long long)s->d[i]);
    str_addc(out, ')');
}

bool op_is_movement(enum op o) {
    return o == OP_RESHAPE || o == OP_PERMUTE || o == OP_EXPAND || o == OP_PAD || o == OP_SHRINK ||
           o == OP_FLIP || o == OP_UNFOLD || o == OP_FOLD;
}

double shape_elements_below(struct shapes *s, const uop *n) {
    int64_t least = shape_size(shape_of(s, n));
    while (op_is_movement((enum op)n->op) || n->op == OP_CAST) {
        n = n->src[0];
        least = RG_MIN(least, shape_size(shape_of(s, n)));
    }
    return (double)least;
}

bool shape_is_outer_product(struct shapes *s, const uop *n) {
    while (n->op == OP_CAST || n->op == OP_NEG) n = n->src[0];
    if (n->op != OP_MUL) return false;
    double most = RG_MAX(shape_elements_below(s, n->src[0]), shape_elements_below(s, n->src[1]));
    return (double)shape_size(shape_of(s, n)) >= CONTRACTION_REUSE * most;
}

int64_t uop_const_i(struct ir *ir, const uop *n, uint32_t i) {
    if (i >= n->nsrc || n->src[i]->op != OP_CONST || dt_is_float((enum dtype)n->src[i]->dt))
        err_throw(ir->err, RG_EVERIFY, "%%%u %s: source %u must be an integer constant", n->id,
                  op_info[n->op].name, i);
    return n->src[i]->arg.i;
}

/* ---- one node ------------------------------------------------------------------------------------ */

struct shape_job {
    struct shapes *s;
    const uop *n;
    const struct shape *in; /* of source 0 */
};

static void RG_NORETURN bad(struct shape_job *j, const char *what) {
    struct str t, u;
    str_init(&t, j->s->arena), str_init(&u, j->s->arena);
    ir_print_node(&t, j->s->ir, j->n, 1);
    if (j->in) shape_print(&u, j->in);
    err_throw(j->s->ir->err, RG_EVERIFY, "%%%u %s: %s%s%s", j->n->id, t.p, what,
              j->in ? "; source 0 has shape " : "", j->in ? u.p : "");
}

static int64_t num(struct shape_job *j, uint32_t i) { return uop_const_i(j->s->ir, j->n, i); }

static const struct shape *dims_from(struct shape_job *j, uint32_t first) {
    int64_t d[SHAPE_MAX];
    uint32_t n = j->n->nsrc - first;
    if (n > SHAPE_MAX) bad(j, "too many axes");
    for (uint32_t i = 0; i < n; i++) d[i] = num(j, first + i);
    return shape_make(j->s, d, n);
}

static const struct shape *shape_reshape(struct shape_job *j) {
    const struct shape *out = dims_from(j, 1);
    if (shape_size(out) != shape_size(j->in)) bad(j, "a reshape keeps the number of elements");
    return out;
}

static const struct shape *shape_permute(struct shape_job *j) {
    int64_t d[SHAPE_MAX];
    uint32_t seen = 0;
    if (j->n->nsrc - 1 != j->in->n) bad(j, "one axis for each axis");
    for (uint32_t i = 0; i < j->in->n; i++) {
        int64_t a = num(j, 1 + i);
        if (a < 0 || a >= j->in->n || seen >> a & 1) bad(j, "not a permutation of the axes");
        seen |= 1u << a;
        d[i] = j->in->d[a];
    }
    return shape_make(j->s, d, j->in->n);
}

static const struct shape *shape_expand(struct shape_job *j) {
    const struct shape *out = dims_from(j, 1);
    if (out->n != j->in->n) bad(j, "an expand keeps the number of axes");
    for (uint32_t i = 0; i < out->n; i++)
        if (j->in->d[i] != out->d[i] && j->in->d[i] != 1) bad(j, "only axes of size 1 are repeated");
    return out;
}

static const struct shape *shape_pad(struct shape_job *j) {
    int64_t d[SHAPE_MAX];
    if (j->n->nsrc != 2 + 3 * j->in->n) bad(j, "three numbers for each axis");
    if (j->n->src[1]->dt != j->n->dt) bad(j, "the value has another dtype");
    if (shape_of(j->s, j->n->src[1])->n) bad(j, "the value around it has rank 0");
    for (uint32_t i = 0; i < j->in->n; i++) {
        int64_t before = num(j, 2 + 3 * i), after = num(j, 3 + 3 * i), inner = num(j, 4 + 3 * i),
                n = j->in->d[i];
        if (before < 0 || after < 0 || inner < 0) bad(j, "padding is not negative");
        int64_t gaps = n > 1 ? n - 1 : 0;
        if (__builtin_mul_overflow(gaps, inner, &gaps) || __builtin_add_overflow(gaps, n, &d[i]) ||
            __builtin_add_overflow(d[i], before, &d[i]) || __builtin_add_overflow(d[i], after, &d[i]))
            bad(j, "padding passes 2^63");
    }
    return shape_make(j->s, d, j->in->n);
}

/* start, size, step of each axis, from source `first` on, inside `in`: the shape of the box. */
static const struct shape *shape_box(struct shape_job *j, uint32_t first) {
    int64_t d[SHAPE_MAX];
    if (j->n->nsrc != first + 3 * j->in->n) bad(j, "three numbers for each axis");
    for (uint32_t i = 0; i < j->in->n; i++) {
        const uop *start = j->n->src[first + 3 * i];
        int64_t size = num(j, first + 3 * i + 1), step = num(j, first + 3 * i + 2), last;
        if (start->dt != DT_IDX) bad(j, "a start is an idx");
        if (size < 0 || step < 1 || start->lo < 0) bad(j, "a box has start >= 0, size >= 0 and step >= 1");
        if (size && (__builtin_mul_overflow(size - 1, step, &last) ||
                     __builtin_add_overflow(last, start->hi, &last) || last >= j->in->d[i]))
            bad(j, "the box is not inside");
        d[i] = size;
    }
    return shape_make(j->s, d, j->in->n);
}

/* UNFOLD and FOLD: size, stride, dilation of each of the m axes before the last m. */
static const struct shape *shape_tap(struct shape_job *j) {
    int64_t d[SHAPE_MAX];
    uint32_t m = (j->n->nsrc - 1) / 3, first = j->in->n - 2 * m;
    bool tap = j->n->op == OP_UNFOLD;
    if (!m || (j->n->nsrc - 1) % 3 || 2 * m > j->in->n)
        bad(j, "three numbers per axis, and each axis twice: windows, then elements of a window");
    for (uint32_t i = 0; i < j->in->n; i++) d[i] = j->in->d[i];
    for (uint32_t i = 0; i < m; i++) {
        int64_t size = num(j, 1 + 3 * i), stride = num(j, 2 + 3 * i), dilation = num(j, 3 + 3 * i), a, b;
        int64_t o = tap ? size : d[first + i], end = tap ? d[first + i] : size, k = d[first + m + i];
        if (size < 0 || stride < 1 || dilation < 1)
            bad(j, "a window has size >= 0, stride and dilation >= 1");
        if (o && k &&
            (__builtin_mul_overflow(o - 1, stride, &a) || __builtin_mul_overflow(k - 1, dilation, &b) ||
             __builtin_add_overflow(a, b, &a) || a >= end))
            bad(j, "a window reaches past the end");
        d[first + i] = size;
    }
    return shape_make(j->s, d, j->in->n);
}

static const struct shape *shape_axes(struct shape_job *j, bool shrink) {
    int64_t d[SHAPE_MAX];
    uint32_t seen = 0;
    for (uint32_t i = 0; i < j->in->n; i++) d[i] = j->in->d[i];
    for (uint32_t i = 1; i < j->n->nsrc; i++) {
        int64_t a = num(j, i);
        if (a < 0 || a >= j->in->n || seen >> a & 1) bad(j, "not axes, each once");
        seen |= 1u << a;
        if (shrink) d[a] = 1;
    }
    return shape_make(j->s, d, j->in->n);
}

static const struct shape *shape_scan(struct shape_job *j) {
    int64_t a = num(j, 1);
    if (a < 0 || a >= j->in->n) bad(j, "not an axis");
    if (j->n->nsrc < 3) return j->in;
    if (shape_of(j->s, j->n->src[2]) != j->in || j->n->src[2]->dt != j->n->dt || j->n->arg.i != OP_ADD)
        bad(j, "what a running sum is multiplied by has its shape and dtype");
    return j->in;
}

static const struct shape *shape_gather(struct shape_job *j) {
    const struct shape *index = shape_of(j->s, j->n->src[1]);
    if (!dt_is_int((enum dtype)j->n->src[1]->dt)) bad(j, "an index is an integer");
    if (index->n != j->in->n || j->n->arg.i < 0 || j->n->arg.i >= j->in->n)
        bad(j, "index and source have the same rank, and the axis is one of theirs");
    for (uint32_t i = 0; i < index->n; i++)
        if (i != j->n->arg.i && index->d[i] > j->in->d[i]) bad(j, "the index reaches past the source");
    if (j->n->op == OP_SCATTER) {
        if (shape_of(j->s, j->n->src[2]) != index || j->n->src[2]->dt != j->n->dt)
            bad(j, "what is added has the index's shape");
        return j->in;
    }
    return index;
}

static const struct shape *shape_assign(struct shape_job *j) {
    const uop *to = j->n->src[0];
    if (to->op != OP_BUFFER && to->op != OP_ASSIGN) bad(j, "only a BUFFER or its next version is assigned");
    if (j->n->src[1]->dt != j->n->dt) bad(j, "buffer and value have different dtypes");
    const struct shape *box = j->n->nsrc == 2 ? j->in : shape_box(j, 2);
    if (shape_of(j->s, j->n->src[1]) != box) bad(j, "the value has another shape than the box");
    return j->in;
}

static const struct shape *shape_call(struct shape_job *j) {
    int64_t d[SHAPE_MAX], last = 0;
    const char *wrong = call_check(j->s, j->n, &last);
    if (wrong) bad(j, wrong);
    if (call_of(j->s->ir, j->n) == CALL_loop) return shape_make(j->s, &last, 1);
    memcpy(d, j->in->d, j->in->n * sizeof *d);
    d[j->in->n - 1] = last;
    return shape_make(j->s, d, j->in->n);
}

/* Elementwise: one shape, or rank 0. */
static const struct shape *shape_same(struct shape_job *j) {
    const struct shape *out = j->in;
    for (uint32_t i = 1; i < j->n->nsrc; i++) {
        const struct shape *s = shape_of(j->s, j->n->src[i]);
        if (s == out || !s->n) continue;
        if (out->n) bad(j, "sources of different shapes");
        out = s;
    }
    return out;
}

static const struct shape *shape_node(struct shapes *s, const uop *n) {
    struct shape_job j = {.s = s,
                          .n = n,
                          .in = n->nsrc && n->op != OP_BUFFER && n->op != OP_IOTA && n->op != OP_GRAPH &&
                                        n->op != OP_VAR
                                    ? shape_of(s, n->src[0])
                                    : NULL};
    char why[WHY_MAX];
    int at;
    if (!node_check(s->ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, n->src, n->nsrc, n->arg, why, &at))
        bad(&j, why);
    switch (n->op) {
    case OP_CONST:
    case OP_VAR: return shape_make(s, NULL, 0);
    case OP_BUFFER: return dims_from(&j, 0);
    case OP_IOTA: return dims_from(&j, 0);
    case OP_RESHAPE: return shape_reshape(&j);
    case OP_PERMUTE: return shape_permute(&j);
    case OP_EXPAND: return shape_expand(&j);
    case OP_PAD: return shape_pad(&j);
    case OP_SHRINK: return shape_box(&j, 1);
    case OP_FLIP: return shape_axes(&j, false);
    case OP_UNFOLD:
    case OP_FOLD: return shape_tap(&j);
    case OP_REDUCE_AXES: return shape_axes(&j, true);
    case OP_SCAN_AXIS: return shape_scan(&j);
    case OP_GATHER:
    case OP_SCATTER: return shape_gather(&j);
    case OP_CONTIGUOUS:
    case OP_INLINE:
    case OP_ONCE_DIFF:
    case OP_RECOMPUTE:
    case OP_GRAD_STORED:
    case OP_DETACH: return j.in;
    case OP_GRAD_THROUGH:
        if (shape_of(s, n->src[1]) != j.in || n->src[1]->dt != n->dt)
            bad(&j, "two values of one shape and dtype");
        return j.in;
    case OP_ASSIGN: return shape_assign(&j);
    case OP_CALL: return shape_call(&j);
    case OP_GRAPH: return shape_make(s, NULL, 0);
    default:
        if (op_is_pure((enum op)n->op)) return shape_same(&j);
        bad(&j, "this op does not stand in a tensor graph");
    }
}

static bool known(const struct shapes *s, const uop *n) { return n->id < s->memo.n && s->memo.p[n->id]; }

static void remember(struct shapes *s, const uop *n) {
    const struct shape *sh = shape_node(s, n);
    uint32_t need = n->id + 1;
    if (need > s->memo.n) {
        vec_need(s->arena, &s->memo, need - s->memo.n);
        memset(s->memo.p + s->memo.n, 0, (need - s->memo.n) * sizeof *s->memo.p);
        s->memo.n = need;
    }
    s->memo.p[n->id] = sh;
}

const struct shape *shape_of(struct shapes *s, const uop *n) {
    if (known(s, n)) return s->memo.p[n->id];
    bool ready = true; /* sources first, without recursion */
    for (uint32_t i = 0; i < n->nsrc && ready; i++) ready = known(s, n->src[i]);
    if (ready) {
        remember(s, n);
        return s->memo.p[n->id];
    }
    VEC(const uop *) stack = {0};
    vec_push(s->arena, &stack, n);
    while (stack.n) {
        const uop *top = stack.p[stack.n - 1];
        uint32_t before = stack.n;
        for (uint32_t i = 0; i < top->nsrc; i++)
            if (!known(s, top->src[i])) vec_push(s->arena, &stack, top->src[i]);
        if (stack.n > before) continue;
        stack.n--;
        if (!known(s, top)) remember(s, top);
    }
    return s->memo.p[n->id];
}
