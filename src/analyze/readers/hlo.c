/* hlo.c: costs of XLA's instructions, from the HloProto of each program that an xplane file holds.
 *
 * As XLA's own HloCostAnalysis counts: an elementwise instruction is one operation per element, a reduction one per element
 * read, products and convolutions two per term. Bytes are what a kernel must read and write once: its operands and its
 * result. In a fusion only what enters and leaves counts; an operand of which it takes slices, those; an update in place,
 * the update. cuBLAS and cuDNN calls are told by their target. What is not known (sorts, other custom calls, collectives) has
 * no cost. Tests: tests/unit/analyze_hlo.c, tests/unit/analyze_fuzz.c */
#include "analyze/readers/hlo.h"

enum { DIMS = 16, TYPE_S8 = 2, TYPE_U8 = 6 };

/* xla_data.proto: PrimitiveType. */
static const struct {
    uint8_t bits;
    char type;
} types[] = {
    [1] = {8, 'i'},   [2] = {8, 'i'},   [3] = {16, 'i'},  [4] = {32, 'i'},  [5] = {64, 'i'},
    [6] = {8, 'i'},   [7] = {16, 'i'},  [8] = {32, 'i'},  [9] = {64, 'i'},  [10] = {16, 'h'},
    [11] = {32, 'f'}, [12] = {64, 'd'}, [15] = {64, 'f'}, [16] = {16, 'h'}, [18] = {128, 'd'},
    [19] = {8, '8'},  [20] = {8, '8'},  [21] = {4, 'i'},  [22] = {4, 'i'},  [23] = {8, '8'},
    [24] = {8, '8'},  [25] = {8, '8'},  [28] = {8, '8'},  [29] = {8, '8'},
};

struct hlo_shape { /* of a tuple: its first part; `bytes` of all of them */
    uint32_t type, nd;
    int64_t d[DIMS];
    double numel, bytes;
};
struct hlo_node {
    struct pb name, opcode, target, config, dot, conv, operands, called;
    struct hlo_shape shape;
    uint64_t id, number; /* number: of a parameter */
    double sliced;       /* bytes that slices take of it */
    bool whole;          /* something reads all of it */
};
struct hlo_computation {
    uint64_t id, root;
    uint32_t first, last; /* nodes */
    struct hlo_cost sum;
};
struct hlo_module {
    struct hlo *h;
    VEC(struct hlo_node) node;
    VEC(struct hlo_computation) comp;
    struct map by_id, comp_by_id; /* -> index */
};

/* ---- messages ---------------------------------------------------------------------------------------------- */

static bool is(struct pb s, const char *text) {
    size_t n = strlen(text);
    return (size_t)(s.end - s.p) == n && !memcmp(s.p, text, n);
}

static bool begins(struct pb s, const char *text) {
    size_t n = strlen(text);
    return (size_t)(s.end - s.p) >= n && !memcmp(s.p, text, n);
}

/* Repeated numbers, packed or not: the next one of field `no`. `rest` is what is left of a packed field. */
static bool next_number(struct pb *b, struct pb *rest, uint32_t no, uint64_t *out) {
    struct pbf f;
    while (rest->p >= rest->end) {
        if (!next_field(b, &f)) return false;
        if (f.no == no && f.wire == 0) return *out = f.v, true;
        if (f.no == no && f.wire == 2) *rest = f.sub;
    }
    return varint(rest, out) || (rest->p = rest->end, false);
}

static double bytes_of(uint32_t type, double numel) {
    return type < RG_COUNT(types) ? numel * types[type].bits / 8 : 0;
}

static char letter_of(uint32_t type) {
    return type < RG_COUNT(types) && types[type].bits ? types[type].type : 'i';
}

static struct hlo_shape read_array(struct pb b) {
    struct hlo_shape s = {.numel = 1};
    struct pbf f;
    struct pb scan = b, rest = {0};
    uint64_t v;
    while (next_field(&scan, &f))
        if (f.no == 2 && f.wire == 0) s.type = (uint32_t)RG_MIN(f.v, 255u);
    while (s.nd < DIMS && next_number(&b, &rest, 3, &v)) {
        s.d[s.nd] = (int64_t)RG_MIN(v, (uint64_t)1 << 40);
        s.numel *= (double)s.d[s.nd++];
    }
    s.bytes = bytes_of(s.type, s.numel);
    return s;
}

/* The scratch memory of a library call, the last part of its result, is not moved. */
static struct hlo_shape read_shape(struct pb b, bool scratch) {
    struct hlo_shape all = read_array(b), part;
    struct pbf f;
    int parts = 0;
    while (next_field(&b, &f)) {
        if (f.no != 4 || f.wire != 2) continue;
        part = read_array(f.sub);
        if (!parts++)
            all = part;
        else if (!scratch || part.nd != 1 || (part.type != TYPE_S8 && part.type != TYPE_U8))
            all.bytes += part.bytes;
    }
    return all;
}

static void read_node(struct hlo_module *m, struct pb b) {
    struct hlo_node n = {.operands = b, .called = b};
    struct pbf f;
    struct pb shape = {0};
    while (next_field(&b, &f)) {
        struct pb *to = f.no == 1    ? &n.name
                        : f.no == 2  ? &n.opcode
                        : f.no == 3  ? &shape
                        : f.no == 16 ? &n.conv
                        : f.no == 28 ? &n.target
                        : f.no == 30 ? &n.dot
                        : f.no == 43 ? &n.config
                                     : NULL;
        if (to && f.wire == 2) *to = f.sub;
        if (f.no == 9 && f.wire == 0) n.number = f.v;
        if (f.no == 35 && f.wire == 0) n.id = f.v;
    }
    n.shape = read_shape(shape, is(n.opcode, "custom-call"));
    map_put(&m->by_id, n.id, m->node.n);
    vec_push(m->h->arena, &m->node, n);
}

static void read_computation(struct hlo_module *m, struct pb b) {
    struct hlo_computation c = {.first = m->node.n};
    struct pbf f;
    while (next_field(&b, &f)) {
        if (f.no == 2 && f.wire == 2) read_node(m, f.sub);
        if (f.no == 5 && f.wire == 0) c.id = f.v;
        if (f.no == 6 && f.wire == 0) c.root = f.v;
    }
    c.last = m->node.n;
    map_put(&m->comp_by_id, c.id, m->comp.n);
    vec_push(m->h->arena, &m->comp, c);
}

static struct hlo_node *node_of(struct hlo_module *m, uint64_t id) {
    uint64_t at;
    return map_get(&m->by_id, id, &at) ? &m->node.p[at] : NULL;
}

static struct hlo_node *operand(struct hlo_module *m, const struct hlo_node *n, int i) {
    struct pb b = n->operands, rest = {0};
    uint64_t id;
    while (next_number(&b, &rest, 36, &id))
        if (!i--) return node_of(m, id);
    return NULL;
}

static struct hlo_computation *called_by(struct hlo_module *m, const struct hlo_node *n) {
    struct pb b = n->called, rest = {0};
    uint64_t id, at;
    return next_number(&b, &rest, 38, &id) && map_get(&m->comp_by_id, id, &at) ? &m->comp.p[at] : NULL;
}

/* ---- operations -------------------------------------------------------------------------------------------- */

static double sizes(const struct hlo_shape *s, const uint64_t *axis, uint32_t n) {
    double x = 1;
    for (uint32_t i = 0; i < n; i++)
        if (axis[i] < s->nd) x *= (double)s->d[axis[i]];
    return x;
}

static void product(struct hlo_cost *c, const struct hlo_shape *a, const struct hlo_shape *b, double k,
                    double batch) {
    double m = a->numel / RG_MAX(k * batch, 1), n = b->numel / RG_MAX(k * batch, 1);
    if (!(k > 0 && batch > 0 && m > 0 && n > 0) || k > 1e15 || batch > 1e15 || m > 1e15 || n > 1e15) return;
    c->flops = 2 * m * n * k * batch;
    c->m = (int64_t)m, c->n = (int64_t)n, c->k = (int64_t)k, c->batch = (int64_t)batch;
    c->type = letter_of(a->type);
}

static uint32_t axes(struct pb message, uint32_t no, uint64_t out[DIMS]) {
    struct pb rest = {0};
    uint32_t n = 0;
    while (n < DIMS && next_number(&message, &rest, no, &out[n])) n++;
    return n;
}

/* "name":["0","2"] in the text of a backend's configuration. */
static uint32_t named_axes(struct pb text, const char *name, uint64_t out[DIMS]) {
    size_t len = strlen(name);
    uint32_t n = 0;
    const uint8_t *p = text.p;
    while (p < text.end && ((size_t)(text.end - p) < len || memcmp(p, name, len))) p++;
    for (p += p < text.end ? len : 0; p < text.end && *p != ']' && n < DIMS; p++) {
        if (*p < '0' || *p > '9') continue;
        for (out[n] = 0; p < text.end && *p >= '0' && *p <= '9' && out[n] < DIMS; p++)
            out[n] = out[n] * 10 + (uint64_t)(*p - '0');
        n++, p--;
    }
    return n;
}

static void product_cost(struct hlo_module *m, const struct hlo_node *n, struct hlo_cost *c) {
    const struct hlo_node *a = operand(m, n, 0), *b = operand(m, n, 1);
    uint64_t k[DIMS], batch[DIMS];
    uint32_t nk, nb;
    if (!a || !b) return;
    if (n->dot.p)
        nk = axes(n->dot, 1, k), nb = axes(n->dot, 3, batch);
    else
        nk = named_axes(n->config, "\"lhs_contracting_dimensions\":[", k),
        nb = named_axes(n->config, "\"lhs_batch_dimensions\":[", batch);
    if (nk || n->dot.p)
        product(c, &a->shape, &b->shape, sizes(&a->shape, k, nk), sizes(&a->shape, batch, nb));
}

/* Terms: elements of the output, times those of a filter for one output feature. */
static void conv_cost(struct hlo_module *m, const struct hlo_node *n, struct hlo_cost *c) {
    const struct hlo_node *a = operand(m, n, 0), *b = operand(m, n, 1);
    uint64_t feature = 0;
    struct pbf f;
    struct pb conv = n->conv;
    if (!a || !b) return;
    while (next_field(&conv, &f))
        if (f.no == 4 && f.wire == 0) feature = f.v;
    const struct hlo_shape *out = &n->shape, *filter = &b->shape;
    if (begins(n->target, "__cudnn$convBackwardInput"))
        out = &a->shape;
    else if (begins(n->target, "__cudnn$convBackwardFilter"))
        out = &b->shape, filter = &n->shape;
    double features = feature < filter->nd ? (double)filter->d[feature] : 0;
    if (features > 0) c->flops = 2 * out->numel * filter->numel / features;
    c->type = letter_of(a->shape.type);
}

static bool one_of(struct pb s, const char *const *list) {
    for (; *list; list++)
        if (is(s, *list)) return true;
    return false;
}
static const char *const moves[] = {"parameter",
                                    "constant",
                                    "broadcast",
                                    "reshape",
                                    "transpose",
                                    "copy",
                                    "slice",
                                    "dynamic-slice",
                                    "dynamic-update-slice",
                                    "concatenate",
                                    "pad",
                                    "iota",
                                    "gather",
                                    "bitcast",
                                    "tuple",
                                    "get-tuple-element",
                                    "reverse",
                                    "bitcast-convert",
                                    "convert",
                                    "scatter",
                                    "rng-bit-generator",
                                    NULL};
static const char *const slices[] = {"slice", "dynamic-slice", "gather", NULL};
/* What launches no kernel of its own, or one whose work the sizes do not tell. */
static const char *const unknown[] = {"parameter",
                                      "constant",
                                      "tuple",
                                      "get-tuple-element",
                                      "bitcast",
                                      "while",
                                      "conditional",
                                      "call",
                                      "sort",
                                      "custom-call",
                                      "all-reduce",
                                      "all-gather",
                                      "all-to-all",
                                      "reduce-scatter",
                                      "collective-permute",
                                      "all-reduce-start",
                                      "all-reduce-done",
                                      "all-gather-start",
                                      "all-gather-done",
                                      "async-start",
                                      "async-done",
                                      "async-update",
                                      "copy-start",
                                      "copy-done",
                                      "collective-permute-start",
                                      "collective-permute-done",
                                      "send",
                                      "recv",
                                      "send-done",
                                      "recv-done",
                                      "infeed",
                                      "outfeed",
                                      "after-all",
                                      "partition-id",
                                      "replica-id",
                                      "fft",
                                      "cholesky",
                                      "triangular-solve",
                                      NULL};

static void own_cost(struct hlo_module *m, const struct hlo_node *n, struct hlo_cost *c) {
    if (is(n->opcode, "dot") || begins(n->target, "__cublas$")) {
        product_cost(m, n, c);
    } else if (is(n->opcode, "convolution") || begins(n->target, "__cudnn$conv")) {
        conv_cost(m, n, c);
    } else if (is(n->opcode, "reduce") || is(n->opcode, "reduce-window")) {
        const struct hlo_node *a = operand(m, n, 0);
        if (a) c->flops = a->shape.numel;
    } else if (!one_of(n->opcode, moves) && !one_of(n->opcode, unknown) && !is(n->opcode, "fusion")) {
        c->flops = n->shape.numel;
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------- */

static double update_bytes(struct hlo_module *m, const struct hlo_node *n) {
    const struct hlo_node *u = is(n->opcode, "dynamic-update-slice") ? operand(m, n, 1) : NULL;
    return u ? u->shape.bytes : n->shape.bytes;
}

/* How the nodes of a fused computation are read, and the sum of what they compute. */
static void sum_computation(struct hlo_module *m, struct hlo_computation *c) {
    double most = -1;
    for (uint32_t i = c->first; i < c->last; i++) {
        const struct hlo_node *n = &m->node.p[i];
        struct hlo_cost own = {0};
        struct pb b = n->operands, rest = {0};
        uint64_t id;
        own_cost(m, n, &own);
        c->sum.flops += own.flops;
        if (own.type && own.flops > most) {
            double flops = c->sum.flops;
            most = own.flops, c->sum = own, c->sum.flops = flops;
        }
        for (int k = 0; next_number(&b, &rest, 36, &id); k++) {
            struct hlo_node *x = node_of(m, id);
            if (!x) continue;
            if (!k && one_of(n->opcode, slices))
                x->sliced += n->shape.bytes;
            else if (k || !is(n->opcode, "dynamic-update-slice"))
                x->whole = true;
        }
    }
}

static double read_bytes(const struct hlo_node *x) {
    return x->whole ? x->shape.bytes : RG_MIN(x->sliced, x->shape.bytes);
}

static double fusion_bytes(struct hlo_module *m, const struct hlo_node *n, const struct hlo_computation *c) {
    const struct hlo_node *root = node_of(m, c->root);
    double bytes = root ? update_bytes(m, root) : n->shape.bytes;
    if (root && is(root->opcode, "tuple")) bytes = n->shape.bytes;
    for (uint32_t i = c->first; i < c->last; i++)
        if (is(m->node.p[i].opcode, "parameter")) bytes += read_bytes(&m->node.p[i]);
    return bytes;
}

static double plain_bytes(struct hlo_module *m, const struct hlo_node *n) {
    bool part = one_of(n->opcode, slices), update = is(n->opcode, "dynamic-update-slice");
    double bytes = update_bytes(m, n);
    uint64_t id, seen[DIMS];
    uint32_t ns = 0;
    struct pb b = n->operands, rest = {0};
    for (int k = 0; next_number(&b, &rest, 36, &id); k++) {
        const struct hlo_node *x = node_of(m, id);
        bool again = false;
        for (uint32_t i = 0; i < ns; i++) again |= seen[i] == id;
        if (!x || again || (update && !k)) continue;
        bytes += part && !k ? RG_MIN(n->shape.bytes, x->shape.bytes) : x->shape.bytes;
        if (ns < DIMS) seen[ns++] = id;
    }
    return bytes;
}

/* ---- programs ---------------------------------------------------------------------------------------------- */

static uint64_t key_of(uint64_t program, struct pb name) {
    return hash_bytes(name.p, (size_t)(name.end - name.p), program + 1);
}

static void keep(struct hlo_module *m, const struct hlo_node *n, uint64_t program) {
    bool library = begins(n->target, "__cublas$") || begins(n->target, "__cudnn$conv");
    struct hlo_cost c = {0};
    if (!n->name.p || (one_of(n->opcode, unknown) && !library)) return;
    const struct hlo_computation *inner = is(n->opcode, "fusion") ? called_by(m, n) : NULL;
    if (inner)
        c = inner->sum, c.bytes = fusion_bytes(m, n, inner);
    else
        own_cost(m, n, &c), c.bytes = plain_bytes(m, n);
    if (!c.type) c.type = letter_of(n->shape.type);
    if (!(c.flops < 9e18 && c.bytes < 9e18) || (library && !(c.flops > 0))) return;
    vec_push(m->h->arena, &m->h->cost, c);
    map_put(&m->h->of, key_of(program, n->name), m->h->cost.n);
}

void hlo_init(struct hlo *h, struct arena *a) {
    *h = (struct hlo){.arena = a};
    map_init(&h->of, a);
}

void hlo_read(struct hlo *h, struct pb proto, uint64_t program) {
    struct hlo_module m = {.h = h};
    struct pbf f, g;
    map_init(&m.by_id, h->arena);
    map_init(&m.comp_by_id, h->arena);
    while (next_field(&proto, &f))
        while (f.no == 1 && f.wire == 2 && next_field(&f.sub, &g))
            if (g.no == 3 && g.wire == 2) read_computation(&m, g.sub);
    for (uint32_t i = 0; i < m.comp.n; i++) sum_computation(&m, &m.comp.p[i]);
    for (uint32_t i = 0; i < m.node.n; i++) keep(&m, &m.node.p[i], program);
}

const struct hlo_cost *hlo_find(const struct hlo *h, uint64_t program, struct pb name) {
    uint64_t at;
    return name.p && map_get(&h->of, key_of(program, name), &at) && at ? &h->cost.p[at - 1] : NULL;
}
