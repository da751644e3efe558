/* canonical.c: a kernel's nodes in an order that does not depend on which buffers they access.
 *
 * Two kernels that differ in the order of their stores, of commutative operands and of buffers are one program, called with its
 * buffers in another order. Nodes are hashed by what they compute from (buffers by dtype and size), then buffers also by what they
 * are used for, so that two of equal size are told apart. Where two nodes still look alike either order will do: at worst a
 * program is not shared, since equal canonical text means equal kernels.
 * Requires: a SINK. Gives: a topological order; the text, and each buffer's number in it.
 * Tests: tests/unit/plan_size.c, tests/unit/schedule.c (batches) */
#include "schedule/internal.h"

static bool any_order(const uop *n) { return n->op == OP_SINK || op_info[n->op].flags & OPF_C; }

struct canonical {
    struct arena *a;
    const uop_vec *topo;
    uint64_t *hash; /* by node id: of what it computes */
    uint64_t *use;  /* by node id: of what it is used for; NULL: not counted, and neither are sizes */
};

static uint64_t leaf_hash(const struct canonical *c, const uop *n) {
    uint64_t h = hash_u64((uint64_t)n->op << 8 | n->dt);
    if (!c->use) return h;
    if (n->op == OP_PARAM) return hash_u64(h ^ hash_u64((uint64_t)n->src[0]->arg.i) ^ c->use[n->id]);
    return hash_u64(h ^
                    ((uint64_t)n->arg.range.kind << 32 | (uint64_t)n->arg.range.pos << 16 | n->arg.range.id));
}

static void hash_nodes(const struct canonical *c) {
    for (uint32_t i = 0; i < c->topo->n; i++) {
        const uop *n = c->topo->p[i];
        uint64_t h = hash_u64((uint64_t)n->op << 8 | n->dt), sum = 0;
        if (n->op == OP_PARAM || n->op == OP_RANGE) {
            c->hash[n->id] = leaf_hash(c, n);
            continue;
        }
        for (uint32_t s = 0; s < n->nsrc; s++) {
            uint64_t x = c->hash[n->src[s]->id];
            sum = any_order(n) ? sum + hash_u64(x) : hash_u64(sum ^ x);
        }
        uint64_t arg = n->op == OP_STAGE ? 0 : n->arg.u; /* names of rows are numbers */
        c->hash[n->id] = hash_u64(h ^ hash_u64(arg + 1) ^ sum);
    }
}

static void hash_uses(const struct canonical *c) {
    for (uint32_t i = c->topo->n; i-- > 0;) {
        const uop *n = c->topo->p[i];
        for (uint32_t s = 0; s < n->nsrc; s++)
            c->use[n->src[s]->id] +=
                hash_u64(c->use[n->id] ^ hash_u64(c->hash[n->id] + (any_order(n) ? 0 : s + 1)));
    }
}

void canonical_topo(struct arena *a, const struct ir *ir, const uop *sink, bool sizes, uop_vec *out) {
    uop_vec topo = {0}, stack = {0};
    struct canonical c = {.a = a, .topo = &topo, .hash = arena_array(a, uint64_t, ir->n)};
    uint8_t *seen = arena_alloc(a, ir->n);
    uop_topo(a, &sink, 1, &topo);
    if (sizes) c.use = arena_array(a, uint64_t, ir->n);
    hash_nodes(&c);
    if (sizes) hash_uses(&c), hash_nodes(&c);
    vec_push(a, &stack, sink);
    while (stack.n) { /* seen: 1 its sources are on the stack, 2 it is in the list */
        const uop *n = stack.p[stack.n - 1];
        if (seen[n->id]) {
            if (seen[n->id] == 1) vec_push(a, out, n);
            seen[n->id] = 2;
            stack.n--;
            continue;
        }
        seen[n->id] = 1;
        uint32_t first = stack.n;
        for (uint32_t s = n->nsrc; s-- > 0;)
            if (!seen[n->src[s]->id]) vec_push(a, &stack, n->src[s]);
        for (uint32_t i = first + 1; any_order(n) && i < stack.n; i++) /* few: by insertion */
            for (uint32_t k = i; k > first && c.hash[stack.p[k]->id] > c.hash[stack.p[k - 1]->id]; k--) {
                const uop *t = stack.p[k];
                stack.p[k] = stack.p[k - 1], stack.p[k - 1] = t;
            }
    }
}

void canonical_sources(const uop **src, uint32_t n) {
    for (uint32_t s = 1; s < n; s++)
        for (uint32_t k = s; k > 0 && src[k]->id < src[k - 1]->id; k--) {
            const uop *t = src[k];
            src[k] = src[k - 1], src[k - 1] = t;
        }
}

static union arg canonical_arg(struct ir *to, const struct ir *from, const uop *n, uint32_t number) {
    union arg arg = n->arg;
    char name[24];
    if (n->op == OP_PARAM || n->op == OP_STAGE) {
        size_t len = (size_t)snprintf(name, sizeof name, "%c%u", n->op == OP_PARAM ? 'b' : 'k', number);
        if (n->op == OP_PARAM) return (union arg){.param = {.slot = number, .name = ir_sym(to, name, len)}};
        arg.mem.name = ir_sym(to, name, len);
    }
    if (op_info[n->op].arg == OPA_RANGE) {
        const char *cls = ir_name(from, arg.range.cls);
        arg.range.cls = ir_sym(to, cls, strlen(cls));
    }
    return arg;
}

const char *canonical_text(struct arena *a, struct arena *keep, const struct ir *from, const uop *sink,
                           uint32_t *number) {
    struct ir ir;
    uop_vec topo = {0};
    uint32_t params = 0, rows = 0;
    ir_init(&ir, a);
    canonical_topo(a, from, sink, true, &topo);
    const uop **to = arena_array(a, const uop *, from->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i], **src = arena_array(a, const uop *, n->nsrc + 1);
        uint8_t kind = op_info[n->op].arg;
        if (n->op == OP_VAR || kind == OPA_SYM || (kind == OPA_MEM && n->op != OP_STAGE)) return NULL;
        for (uint32_t s = 0; s < n->nsrc; s++) src[s] = to[n->src[s]->id];
        if (n->op == OP_SINK) canonical_sources(src, n->nsrc);
        if (n->op == OP_PARAM) number[n->arg.param.slot] = params;
        union arg arg = canonical_arg(&ir, from, n, n->op == OP_PARAM ? params++ : rows);
        rows += n->op == OP_STAGE;
        to[n->id] = uop_new(&ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, arg);
    }
    struct str text;
    str_init(&text, keep);
    ir_print(&text, &ir, to[sink->id]);
    return text.p;
}
