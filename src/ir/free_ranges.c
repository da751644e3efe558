/* free_ranges.c: which RANGEs a node is inside of.
 *
 * A node uses the ranges of its sources; REDUCE and STAGE bind theirs (src1..), FOR binds its own; a
 * RANGE is inside itself and inside the ranges that its size mentions. Vectors are sorted by
 * (pos, class, id) and shared: a node whose set equals that of a source points to the source's vector,
 * so a wide graph costs one pointer per node. The memo is by node id and grows with the ir.
 * Tests: tests/unit/uop.c */
#include "ir.h"

void free_init(struct free_ranges *f, struct ir *ir, struct arena *arena) {
    memset(f, 0, sizeof *f);
    f->arena = arena;
    f->ir = ir;
}

static int range_cmp(const uop *a, const uop *b) {
    if (a == b) return 0;
    if (a->arg.range.pos != b->arg.range.pos) return a->arg.range.pos < b->arg.range.pos ? -1 : 1;
    if (a->arg.range.cls != b->arg.range.cls) return a->arg.range.cls < b->arg.range.cls ? -1 : 1;
    if (a->arg.range.id != b->arg.range.id) return a->arg.range.id < b->arg.range.id ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

static const uop_vec *merge(struct free_ranges *f, const uop_vec *a, const uop_vec *b) {
    if (a == b || !b->n) return a;
    if (!a->n) return b;
    uint32_t i = 0, j = 0, both = 0;
    while (i < a->n && j < b->n) {
        int c = range_cmp(a->p[i], b->p[j]);
        i += c <= 0, j += c >= 0, both += c == 0;
    }
    if (both == b->n) return a;
    if (both == a->n) return b;
    uop_vec *m = arena_new(f->arena, uop_vec);
    vec_need(f->arena, m, a->n + b->n - both);
    for (i = j = 0; i < a->n || j < b->n;) {
        int c = i == a->n ? 1 : j == b->n ? -1 : range_cmp(a->p[i], b->p[j]);
        m->p[m->n++] = c <= 0 ? a->p[i] : b->p[j];
        i += c <= 0, j += c >= 0;
    }
    return m;
}

static const uop_vec *without(struct free_ranges *f, const uop_vec *a, const uop *const *r, uint32_t n) {
    uop_vec *m = NULL;
    for (uint32_t i = 0; i < a->n; i++) {
        bool bound = false;
        for (uint32_t j = 0; j < n && !bound; j++) bound = a->p[i] == r[j];
        if (bound && !m) {
            m = arena_new(f->arena, uop_vec);
            vec_need(f->arena, m, a->n);
            for (uint32_t k = 0; k < i; k++) m->p[m->n++] = a->p[k];
        } else if (!bound && m)
            m->p[m->n++] = a->p[i];
    }
    return m ? m : a;
}

static const uop_vec *compute(struct free_ranges *f, const uop *n) {
    static const uop_vec none = {0};
    const uop_vec *s = &none;
    for (uint32_t i = 0; i < n->nsrc; i++) s = merge(f, s, f->memo.p[n->src[i]->id]);
    switch (n->op) {
    case OP_RANGE: {
        uop_vec *self = arena_new(f->arena, uop_vec);
        vec_push(f->arena, self, n);
        return merge(f, self, s);
    }
    case OP_REDUCE:
    case OP_STAGE: return without(f, s, n->src + 1, n->nsrc - 1);
    case OP_FOR: return without(f, s, n->src, 1);
    default: return s;
    }
}

static bool known(const struct free_ranges *f, const uop *n) { return f->memo.p[n->id] != NULL; }

const uop_vec *free_of(struct free_ranges *f, const uop *n) {
    while (f->memo.n <= n->id) vec_push(f->arena, &f->memo, NULL);
    if (known(f, n)) return f->memo.p[n->id];
    uop_vec stack = {0};
    vec_push(f->arena, &stack, n);
    while (stack.n) {
        const uop *t = stack.p[stack.n - 1];
        uint32_t before = stack.n;
        for (uint32_t i = 0; i < t->nsrc && !known(f, t); i++)
            if (!known(f, t->src[i])) vec_push(f->arena, &stack, t->src[i]);
        if (stack.n > before) continue;
        if (!known(f, t)) f->memo.p[t->id] = compute(f, t);
        stack.n--;
    }
    return f->memo.p[n->id];
}

bool free_has(struct free_ranges *f, const uop *n, const uop *range) {
    const uop_vec *v = free_of(f, n);
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i] == range) return true;
    return false;
}
