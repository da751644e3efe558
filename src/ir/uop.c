/* uop.c: nodes are interned here, and only here.
 *
 * The intern table is open addressing, at most half full, four bytes a slot: id+1 in the low bits (it is
 * less than the size of the table) and the bits of the hash above them, so that a probe that does not
 * match rarely touches a node and the table of 100,000 nodes is 1 MB. A node's hash is made of its op, dtype, lanes, arg (names by their letters, not their
 * numbers) and the hashes of its sources: it depends on structure only, so that ordering commutative
 * operands by it gives the same expression whatever was built before, in every ir and every process.
 * Operand order of commutative ops: constants right; then op rank; then position, slot or buffer where
 * the op has one (so that text reads naturally); then hash; ids only where two hashes collide.
 * Everything thrown here is out of memory or a bug of the caller. Tests: tests/unit/uop.c */
#include "ir.h"
#include "node.h"

#include <math.h>

void ir_init(struct ir *ir, struct arena *arena) {
    memset(ir, 0, sizeof *ir);
    ir->arena = arena;
    ir->err = arena->err;
    map_init(&ir->sym_map, arena);
    ir_sym(ir, "", 0);
}

uint32_t ir_sym(struct ir *ir, const char *s, size_t n) {
    uint64_t sym;
    for (uint64_t seed = 0;; seed++) { /* another seed only when two names collide in 64 bits */
        uint64_t h = hash_bytes(s, n, seed);
        if (!map_get(&ir->sym_map, h, &sym)) {
            sym = ir->sym.n;
            vec_push(ir->arena, &ir->sym, arena_strdup(ir->arena, s, n));
            map_put(&ir->sym_map, h, sym);
            return (uint32_t)sym;
        }
        const char *t = ir->sym.p[sym];
        if (strlen(t) == n && !memcmp(t, s, n)) return (uint32_t)sym;
    }
}

/* ---- interning --------------------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_name(const struct ir *ir, uint32_t sym) {
    const char *s = sym < ir->sym.n ? ir->sym.p[sym] : "";
    return hash_bytes(s, strlen(s), 0);
}

static uint64_t hash_arg(const struct ir *ir, enum op op, union arg a) {
    switch (op_info[op].arg) {
    case OPA_RANGE:
        return mix(hash_name(ir, a.range.cls),
                   (uint64_t)a.range.kind << 32 | (uint64_t)a.range.pos << 16 | a.range.id);
    case OPA_PARAM: return mix(hash_name(ir, a.param.name), a.param.slot);
    case OPA_MEM: return mix(hash_name(ir, a.mem.name), (uint64_t)a.mem.row << 16 | a.mem.space);
    case OPA_SYM: return hash_name(ir, (uint32_t)a.u);
    default: return a.u;
    }
}

/* What a person would sort operands of equal rank by. */
static uint64_t natural_key(const uop *n) {
    switch (n->op) {
    case OP_RANGE: return (uint64_t)n->arg.range.pos << 16 | n->arg.range.id;
    case OP_PARAM:
    case OP_VAR: return n->arg.param.slot;
    case OP_LOAD: {
        const uop *index = load_index(n), *b = index->nsrc ? index_buf(index) : n;
        return b->op == OP_PARAM ? b->arg.param.slot : UINT32_MAX;
    }
    default: return 0;
    }
}

_Static_assert(OP_CONST == 0, "in_order puts row 0 of ops.def last");
static inline bool in_order(const uop *a, const uop *b) {
    if (a->op != b->op) return (uint16_t)(a->op - 1) < (uint16_t)(b->op - 1); /* CONST, row 0, is last */
    uint64_t ka = natural_key(a), kb = natural_key(b);
    if (ka != kb) return ka < kb;
    return a->hash != b->hash ? a->hash < b->hash : a->id <= b->id;
}

/* Where a node is looked for. By the sources themselves and not by their hashes: in a long chain of one pattern each hash is a
 * function of the one before, and such a sequence of 32 bits comes back to itself sooner or later. */
static inline uint32_t table_key(uint32_t hash, const uop *const *src, uint32_t nsrc) {
    uint64_t h = hash;
    for (uint32_t i = 0; i < nsrc; i++) h = mix(h, src[i]->id);
    return (uint32_t)(h ^ h >> 32);
}

static void table_grow(struct ir *ir) {
    uint32_t cap = ir->table_cap ? ir->table_cap * 2 : 256;
    RG_CHECK(ir->err, cap <= (uint32_t)1 << 30);
    uint32_t *t = arena_array(ir->arena, uint32_t, cap), mask = cap - 1;
    for (uint32_t id = 0; id < ir->n; id++) {
        const uop *n = ir->node[id];
        uint32_t h = table_key(n->hash, n->src, n->nsrc), i = h & mask;
        while (t[i]) i = (i + 1) & mask;
        t[i] = (h & ~mask) | (id + 1);
    }
    ir->table = t, ir->table_cap = cap;
}

static const uop *node_add(struct ir *ir, const uop *proto, const uop *const *src, uint32_t key,
                           uint32_t slot) {
    size_t size = sizeof(uop) + sizeof(uop *) * proto->nsrc;
    uop *n = arena_raw(ir->arena, size);
    *n = *proto;
    for (uint32_t i = 0; i < proto->nsrc; i++) n->src[i] = src[i];
    if (ir->n == ir->cap) {
        uint32_t cap = ir->cap ? ir->cap * 2 : 256;
        const uop **p = arena_raw(ir->arena, sizeof *p * cap);
        if (ir->n) memcpy(p, ir->node, sizeof *p * ir->n);
        ir->node = p, ir->cap = cap;
    }
    n->id = ir->n;
    bounds_fill(n);
    ir->node[ir->n++] = n;
    ir->table[slot] = (key & ~(ir->table_cap - 1)) | ir->n;
    return n;
}

static bool same_node(const uop *n, const uop *p, const uop *const *src) {
    if (n->op != p->op || n->dt != p->dt || n->lanes != p->lanes || n->nsrc != p->nsrc ||
        n->arg.u != p->arg.u)
        return false;
    for (uint32_t i = 0; i < n->nsrc; i++)
        if (n->src[i] != src[i]) return false;
    return true;
}

/* Constants have one spelling: in their type, and one NaN. */
static union arg const_arg(enum dtype dt, union arg a) {
    if (!dt_is_float(dt)) return ARG_INT(dt_wrap(dt, a.i));
    if (isnan(a.f)) return (union arg){.u = 0x7ff8000000000000u};
    return (union arg){.f = dt_round(dt, a.f)};
}

static void bad_arity(struct ir *ir, enum op op, uint32_t nsrc) {
    const struct op_info *o = &op_info[op];
    if (o->max_src == UINT16_MAX)
        err_throw(ir->err, RG_EINTERNAL, "%s takes at least %u sources (and at most 65535), found %u",
                  o->name, o->min_src, nsrc);
    err_throw(ir->err, RG_EINTERNAL, "%s takes %u to %u sources, found %u", o->name, o->min_src, o->max_src,
              nsrc);
}

static inline bool op_is_leaf(enum op op) { return op == OP_CONST || op == OP_BUFFER || op == OP_VAR; }

const uop *uop_new(struct ir *ir, enum op op, enum dtype dt, unsigned lanes, const uop *const *src,
                   uint32_t nsrc, union arg arg) {
    const struct op_info *o = &op_info[op];
    if (nsrc < o->min_src || nsrc > o->max_src) bad_arity(ir, op, nsrc);
    RG_CHECK(ir->err, lanes >= 1 && lanes <= UINT8_MAX);
    const uop *swapped[2];
    if ((o->flags & OPF_C) && !in_order(src[0], src[1])) {
        swapped[0] = src[1], swapped[1] = src[0];
        src = swapped;
    }
    if (op == OP_CONST) arg = const_arg(dt, arg);
    uint64_t h = mix((uint64_t)op << 32 | (uint64_t)dt << 24 | lanes << 16 | nsrc,
                     o->arg ? hash_arg(ir, op, arg) : arg.u);
    for (uint32_t i = 0; i < nsrc; i++) h = mix(h, src[i]->hash);
    uop p = {.op = (uint16_t)op,
             .dt = (uint8_t)dt,
             .lanes = (uint8_t)lanes,
             .nsrc = nsrc,
             .hash = (uint32_t)(h ^ h >> 32),
             .arg = arg};
    if (ir->n * 2 >= ir->table_cap) table_grow(ir);
    uint32_t key = table_key(p.hash, src, nsrc), mask = ir->table_cap - 1, i = key & mask;
    for (uint32_t e; (e = ir->table[i]); i = (i + 1) & mask) {
        if ((e ^ key) & ~mask) continue;
        const uop *n = ir->node[(e & mask) - 1];
        if (!same_node(n, &p, src)) continue;
        if (ir->notes_found && !op_is_leaf(op)) vec_push(ir->arena, &ir->found, n->id);
        return n;
    }
    return node_add(ir, &p, src, key, i);
}

/* ---- constructors ------------------------------------------------------------------------------ */

void node_infer(enum op op, const uop *const *src, uint32_t nsrc, enum dtype *dt, unsigned *lanes) {
    const struct op_info *o = &op_info[op];
    switch (o->dt) {
    case OPD_S0:
    case OPD_BUF: *dt = nsrc > 0 ? (enum dtype)src[0]->dt : DT_COUNT; break;
    case OPD_S1: *dt = nsrc > 1 ? (enum dtype)src[1]->dt : DT_COUNT; break;
    case OPD_BOOL: *dt = DT_BOOL; break;
    case OPD_IDX: *dt = DT_IDX; break;
    case OPD_VOID: *dt = DT_VOID; break;
    default: *dt = DT_COUNT;
    }
    switch (o->lanes) {
    case OPL_ONE: *lanes = 1; break;
    case OPL_S0: *lanes = nsrc > 0 ? src[0]->lanes : 1; break;
    case OPL_WIDE:
        *lanes = 1;
        for (uint32_t i = 0; i < nsrc; i++) *lanes = RG_MAX(*lanes, src[i]->lanes);
        break;
    default:
        *lanes = op == OP_INDEX && nsrc > 1 ? src[1]->lanes : op == OP_BUILD ? nsrc : 0;
        if (*lanes > UINT8_MAX) *lanes = 0;
    }
}

const uop *uop_mk(struct ir *ir, enum op op, const uop *const *src, uint32_t nsrc, union arg arg) {
    enum dtype dt;
    unsigned lanes;
    node_infer(op, src, nsrc, &dt, &lanes);
    if (dt == DT_COUNT || !lanes)
        err_throw(ir->err, RG_EINTERNAL, "%s with %u sources: its %s must be spelled; use uop_new",
                  op_info[op].name, nsrc, dt == DT_COUNT ? "dtype" : "lanes");
    return uop_new(ir, op, dt, lanes, src, nsrc, arg);
}

const uop *uop1(struct ir *ir, enum op op, const uop *a) {
    return uop_mk(ir, op, (const uop *[]){a}, 1, ARG_NONE);
}

const uop *uop2(struct ir *ir, enum op op, const uop *a, const uop *b) {
    return uop_mk(ir, op, (const uop *[]){a, b}, 2, ARG_NONE);
}

const uop *uop3(struct ir *ir, enum op op, const uop *a, const uop *b, const uop *c) {
    return uop_mk(ir, op, (const uop *[]){a, b, c}, 3, ARG_NONE);
}

const uop *uop_int(struct ir *ir, enum dtype dt, int64_t v) {
    if (dt_is_float(dt)) return uop_flt(ir, dt, (double)v);
    return uop_new(ir, OP_CONST, dt, 1, NULL, 0, ARG_INT(v));
}

const uop *uop_flt(struct ir *ir, enum dtype dt, double v) {
    RG_CHECK(ir->err, dt_is_float(dt));
    return uop_new(ir, OP_CONST, dt, 1, NULL, 0, (union arg){.f = v});
}

const uop *uop_idx(struct ir *ir, int64_t v) {
    if (v < 0 || v >= (int64_t)RG_COUNT(ir->index)) return uop_int(ir, DT_IDX, v);
    if (!ir->index[v]) ir->index[v] = uop_int(ir, DT_IDX, v);
    return ir->index[v];
}

const uop *uop_cast(struct ir *ir, const uop *x, enum dtype dt) {
    if (x->dt == dt) return x;
    return uop_new(ir, OP_CAST, dt, x->lanes, &x, 1, ARG_NONE);
}

const uop *uop_with(struct ir *ir, const uop *n, const uop *const *src) {
    enum dtype dt;
    unsigned lanes;
    node_infer((enum op)n->op, src, n->nsrc, &dt, &lanes);
    /* SELF is kept; so is an int type given to a RANGE when index widths were chosen. */
    if (dt == DT_COUNT || op_info[n->op].dt == OPD_IDX) dt = (enum dtype)n->dt;
    if (op_info[n->op].lanes == OPL_SELF && (lanes <= 1 || n->op != OP_INDEX)) lanes = n->lanes;
    return uop_new(ir, (enum op)n->op, dt, lanes, src, n->nsrc, n->arg);
}

bool uop_any_order(enum op op, enum dtype dt) { return op == OP_MAX || op == OP_MIN || !dt_is_float(dt); }

const uop *uop_identity(struct ir *ir, enum op op, enum dtype dt) {
    if (dt_is_float(dt)) return uop_flt(ir, dt, op_identity_f(op));
    bool u64 = dt == DT_U64;
    switch (op) {
    case OP_MUL: return uop_int(ir, dt, 1);
    case OP_MAX: return uop_int(ir, dt, u64 ? 0 : dt_min(dt));
    case OP_MIN: return uop_int(ir, dt, u64 ? -1 : dt_max(dt));
    default: return uop_int(ir, dt, 0);
    }
}

/* ---- walks ------------------------------------------------------------------------------------- */

/* Depth first with an explicit stack: graphs reach depths that a C stack does not. A source's id is
 * below its user's, so a bitmap up to the greatest root id marks what was seen. */
void uop_topo(struct arena *arena, const uop *const *root, uint32_t n, uop_vec *out) {
    struct topo_frame {
        const uop *n;
        uint32_t next;
    };
    VEC(struct topo_frame) stack = {0};
    uint32_t top = 0;
    for (uint32_t i = 0; i < n; i++) top = RG_MAX(top, root[i]->id);
    uint64_t *seen = arena_array(arena, uint64_t, top / 64 + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (seen[root[i]->id / 64] >> root[i]->id % 64 & 1) continue;
        seen[root[i]->id / 64] |= (uint64_t)1 << root[i]->id % 64;
        vec_push(arena, &stack, ((struct topo_frame){root[i], 0}));
        while (stack.n) {
            struct topo_frame *f = &stack.p[stack.n - 1];
            if (f->next == f->n->nsrc) {
                vec_push(arena, out, f->n);
                stack.n--;
                continue;
            }
            const uop *s = f->n->src[f->next++];
            if (seen[s->id / 64] >> s->id % 64 & 1) continue;
            seen[s->id / 64] |= (uint64_t)1 << s->id % 64;
            vec_push(arena, &stack, ((struct topo_frame){s, 0}));
        }
    }
}

static uint32_t import_sym(struct ir *to, const struct ir *from, uint32_t sym) {
    const char *s = ir_name(from, sym);
    return ir_sym(to, s, strlen(s));
}

static union arg import_arg(struct ir *to, const struct ir *from, const uop *n) {
    union arg a = n->arg;
    switch (op_info[n->op].arg) {
    case OPA_RANGE: a.range.cls = import_sym(to, from, a.range.cls); break;
    case OPA_PARAM: a.param.name = import_sym(to, from, a.param.name); break;
    case OPA_MEM: a.mem.name = import_sym(to, from, a.mem.name); break;
    case OPA_SYM: a.u = import_sym(to, from, (uint32_t)a.u); break;
    default: break;
    }
    return a;
}

const uop *ir_import(struct ir *to, const struct ir *from, const uop *root) {
    if (to == from) return root;
    uop_vec order = {0};
    uop_topo(to->arena, &root, 1, &order);
    uint32_t *now = arena_raw(to->arena, sizeof *now * ((size_t)root->id + 1)); /* new id by old */
    uint32_t widest = 0;
    for (uint32_t i = 0; i < order.n; i++) widest = RG_MAX(widest, order.p[i]->nsrc);
    const uop **src = arena_raw(to->arena, sizeof *src * ((size_t)widest + 1));
    const uop *r = NULL;
    for (uint32_t i = 0; i < order.n; i++) {
        const uop *n = order.p[i];
        for (uint32_t j = 0; j < n->nsrc; j++) src[j] = to->node[now[n->src[j]->id]];
        r = uop_new(to, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, import_arg(to, from, n));
        now[n->id] = r->id;
    }
    return r;
}
