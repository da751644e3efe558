/* check.c: what one node may look like, whatever stands around it.
 *
 * Arity and argument, the types of sources and result. The parser asks before it makes a node, so its
 * message can point at a column; the verifier asks for every node, because passes make nodes without
 * asking. The reason is worded "expected ..., found ...". Rules of whole kernels are in verify.c.
 * Tests: tests/unit/{text,verify}.c */
#include "ir.h"
#include "node.h"

struct check {
    const struct ir *ir;
    enum op op;
    enum dtype dt;
    unsigned lanes;
    const uop *const *src;
    uint32_t nsrc;
    union arg arg;
    char *why;
    int *at;
};

static bool bad(struct check *c, int at, const char *fmt, ...) RG_FMT(3, 4);
static bool bad(struct check *c, int at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(c->why, WHY_MAX, fmt, ap);
    va_end(ap);
    *c->at = at;
    return false;
}

static const char *op_name(const uop *n) { return op_info[n->op].name; }
static const char *dt_name(const uop *n) { return dtype_info[n->dt].name; }
static bool is_memory(const uop *n) { return op_info[n->op].flags & OPF_M; }

/* A number that can be computed with: no statement, no buffer, no address. */
static bool value(struct check *c, uint32_t i) {
    const uop *s = c->src[i];
    const char *name = op_info[c->op].name;
    if (s->dt == DT_VOID)
        return bad(c, (int)i, "expected a value as source %u of %s, found the statement %s", i, name,
                   op_name(s));
    if (is_memory(s))
        return bad(c, (int)i,
                   "expected a value as source %u of %s, found the buffer %s; read it with "
                   "(LOAD (INDEX buffer index))",
                   i, name, op_name(s));
    if (s->op == OP_INDEX)
        return bad(c, (int)i,
                   "expected a value as source %u of %s, found an address; read it with "
                   "(LOAD (INDEX buffer index))",
                   i, name);
    return true;
}

static bool typed(struct check *c, uint32_t i, enum dtype want, const char *because) {
    if (!value(c, i)) return false;
    if (c->src[i]->dt == want) return true;
    return bad(c, (int)i, "expected %s as source %u of %s (%s), found %s", dtype_info[want].name, i,
               op_info[c->op].name, because, dt_name(c->src[i]));
}

static bool integer(struct check *c, uint32_t i) {
    if (!value(c, i)) return false;
    if (dt_is_int((enum dtype)c->src[i]->dt)) return true;
    return bad(c, (int)i, "expected an integer as source %u of %s, found %s", i, op_info[c->op].name,
               dt_name(c->src[i]));
}

static bool is_op(struct check *c, uint32_t i, enum op want) {
    if (c->src[i]->op == want) return true;
    return bad(c, (int)i, "expected %s as source %u of %s, found %s", op_info[want].name, i,
               op_info[c->op].name, op_name(c->src[i]));
}

static bool statement(struct check *c, uint32_t i) {
    if (c->src[i]->dt == DT_VOID) return true;
    return bad(c, (int)i, "expected a statement (STORE ..) as source %u of %s, found %s", i,
               op_info[c->op].name, op_name(c->src[i]));
}

static bool check_arity(struct check *c) {
    const struct op_info *o = &op_info[c->op];
    if (c->nsrc >= o->min_src && c->nsrc <= o->max_src) return true;
    if (o->max_src == UINT16_MAX)
        return bad(c, -1, "expected at least %u source%s in %s, found %u", o->min_src,
                   o->min_src == 1 ? "" : "s", o->name, c->nsrc);
    if (o->min_src == o->max_src)
        return bad(c, -1, "expected %u source%s in %s, found %u", o->min_src, o->min_src == 1 ? "" : "s",
                   o->name, c->nsrc);
    return bad(c, -1, "expected %u to %u sources in %s, found %u", o->min_src, o->max_src, o->name, c->nsrc);
}

static bool is_combiner(int64_t op) { return op == OP_ADD || op == OP_MUL || op == OP_MAX || op == OP_MIN; }

static bool check_arg(struct check *c) {
    const char *name = op_info[c->op].name;
    union arg a = c->arg;
    switch (op_info[c->op].arg) {
    case OPA_NONE:
        return a.u == 0 ? true : bad(c, -1, "expected no argument in %s, found %lld", name, (long long)a.i);
    case OPA_RANGE:
        if (a.range.kind < AX_COUNT && axis_name[a.range.kind]) return true;
        return bad(c, -1, "expected an axis kind in %s, found number %u", name, a.range.kind);
    case OPA_OP:
        if (a.u < OP_COUNT && is_combiner(a.i)) return true;
        return bad(c, -1, "expected ADD, MUL, MAX or MIN as the operation of %s, found %s", name,
                   a.u < OP_COUNT ? op_info[a.u].name : "an unknown op");
    case OPA_MEM:
        if (a.mem.space < SPACE_COUNT) return true;
        return bad(c, -1, "expected SCRATCH, SHARED or REG in %s, found number %u", name, a.mem.space);
    case OPA_VALUE:
        if (dt_is_float(c->dt) || dt_wrap(c->dt, a.i) == a.i) return true;
        return bad(c, -1, "expected a number of type %s, found %lld", dtype_info[c->dt].name, (long long)a.i);
    case OPA_INT:
        if (c->op == OP_EXTRACT && (a.i < 0 || a.i >= c->src[0]->lanes))
            return bad(c, -1, "expected a lane 0..%u in EXTRACT, found %lld", c->src[0]->lanes - 1u,
                       (long long)a.i);
        if (c->op == OP_ACC && a.i < 0)
            return bad(c, -1, "expected an accumulator number >= 0 in ACC, found %lld", (long long)a.i);
        return true;
    default: return true;
    }
}

/* Lanes of sources: one, or as many as the widest. */
static bool check_lanes(struct check *c) {
    unsigned wide = 1;
    for (uint32_t i = 0; i < c->nsrc; i++) wide = RG_MAX(wide, c->src[i]->lanes);
    for (uint32_t i = 0; i < c->nsrc; i++)
        if (c->src[i]->lanes != 1 && c->src[i]->lanes != wide)
            return bad(c, (int)i, "expected 1 or %u lanes in source %u of %s, found %u", wide, i,
                       op_info[c->op].name, c->src[i]->lanes);
    return true;
}

static bool check_pure(struct check *c) {
    const struct op_info *o = &op_info[c->op];
    for (uint32_t i = 0; i < c->nsrc; i++)
        if (!value(c, i)) return false;
    if (!check_lanes(c)) return false;
    const uop *a = c->src[0];
    if ((o->flags & OPF_F) && !dt_is_float((enum dtype)a->dt))
        return bad(c, 0, "expected a float as source 0 of %s, found %s", o->name, dt_name(a));
    if ((o->flags & OPF_I) && dt_is_float((enum dtype)a->dt))
        return bad(c, 0, "expected an integer or bool as source 0 of %s, found %s", o->name, dt_name(a));
    if (c->op == OP_BITCAST && dtype_info[c->dt].bytes != dtype_info[a->dt].bytes)
        return bad(c, 0, "expected a type of %u bytes in BITCAST, found %s of %u", dtype_info[c->dt].bytes,
                   dt_name(a), dtype_info[a->dt].bytes);
    if (a->dt == DT_BOOL && (c->op == OP_NEG || c->op == OP_ABS || c->op == OP_SUB))
        return bad(c, 0, "expected a number as source 0 of %s, found bool; NOT and XOR work on bools",
                   o->name);
    if (c->op == OP_THREEFRY && !typed(c, 0, DT_U64, "the counter")) return false;
    if (c->op == OP_WHERE || c->op == OP_UNLIKELY)
        return typed(c, 0, DT_BOOL, "the condition") &&
               typed(c, 2, (enum dtype)c->src[1]->dt, "the type of source 1");
    for (uint32_t i = 1; i < c->nsrc; i++)
        if (!typed(c, i, (enum dtype)a->dt, "the type of source 0")) return false;
    return true;
}

static bool check_index(struct check *c) {
    const uop *b = c->src[0];
    if (!is_memory(b))
        return bad(c, 0, "expected a buffer (PARAM, PARAMS, LOCAL, STAGE) as source 0 of INDEX, found %s",
                   op_name(b));
    if (!integer(c, 1)) return false;
    if (c->src[1]->lanes != 1 && c->src[1]->lanes != c->lanes)
        return bad(c, 1, "expected an index of 1 or %u lanes in INDEX, found %u", c->lanes, c->src[1]->lanes);
    return true;
}

static bool check_memory(struct check *c) {
    if (c->op == OP_INDEX) return check_index(c);
    if (!is_op(c, 0, OP_INDEX)) return false;
    const uop *x = c->src[0];
    for (uint32_t i = 1; i < c->nsrc; i++) {
        bool pred = i == 2;
        if (!typed(c, i, pred ? DT_BOOL : (enum dtype)x->dt, pred ? "the predicate" : "the buffer's element"))
            return false;
        if (c->src[i]->lanes != 1 && c->src[i]->lanes != x->lanes)
            return bad(c, (int)i, "expected 1 or %u lanes in source %u of %s, found %u", x->lanes, i,
                       op_info[c->op].name, c->src[i]->lanes);
    }
    return true;
}

static bool check_ranges(struct check *c) {
    if (!value(c, 0)) return false;
    for (uint32_t i = 1; i < c->nsrc; i++)
        if (!is_op(c, i, OP_RANGE)) return false;
    return true;
}

static bool check_build(struct check *c) {
    for (uint32_t i = 0; i < c->nsrc; i++) {
        if (!typed(c, i, (enum dtype)c->src[0]->dt, "the type of source 0")) return false;
        if (c->src[i]->lanes != 1)
            return bad(c, (int)i, "expected scalars in BUILD, found %u lanes in source %u", c->src[i]->lanes,
                       i);
    }
    if (c->lanes != c->nsrc)
        return bad(c, -1, "expected as many lanes as sources in BUILD (%u), found %u", c->nsrc, c->lanes);
    return true;
}

static bool check_statement(struct check *c) {
    switch (c->op) {
    case OP_SET: return is_op(c, 0, OP_ACC) && typed(c, 1, (enum dtype)c->src[0]->dt, "the accumulator's");
    case OP_FOR: return is_op(c, 0, OP_RANGE) && is_op(c, 1, OP_BLOCK);
    case OP_IF:
        if (!typed(c, 0, DT_BOOL, "the condition")) return false;
        for (uint32_t i = 1; i < c->nsrc; i++)
            if (!is_op(c, i, OP_BLOCK)) return false;
        return true;
    case OP_END:
        if (c->src[0]->op == OP_IF) return true;
        return is_op(c, 0, OP_RANGE);
    case OP_ELSE: return is_op(c, 0, OP_IF);
    case OP_CP_ASYNC:
        if (c->nsrc == 3 && !typed(c, 2, DT_BOOL, "a predicate")) return false;
        return is_op(c, 0, OP_INDEX) && is_op(c, 1, OP_INDEX);
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
        if (!is_op(c, 0, OP_INDEX) || !is_op(c, 1, OP_TENSOR_MAP)) return false;
        return c->op == OP_TMA_STORE || is_op(c, 2, OP_INDEX);
    case OP_BARRIER: return !c->nsrc || integer(c, 0);
    case OP_DSMEM_STORE:
        return is_op(c, 0, OP_INDEX) && integer(c, 1) &&
               typed(c, 2, (enum dtype)c->src[0]->dt, "the buffer's");
    case OP_MBAR_INIT:
    case OP_MBAR_ARRIVE:
    case OP_MBAR_WAIT: return is_op(c, 0, OP_INDEX);
    case OP_MMA:
        for (uint32_t i = 0; i + 2 < c->nsrc; i++)
            if (!is_op(c, i, OP_ACC)) return false;
        for (uint32_t i = c->nsrc - 2; i < c->nsrc; i++)
            if (c->src[i]->op != OP_INDEX && !value(c, i)) return false;
        return true;
    case OP_WARP_REDUCE: return is_op(c, 0, OP_ACC) && integer(c, 1);
    case OP_PIN_REG: return is_op(c, 0, OP_ACC);
    default: /* SINK, BLOCK */
        for (uint32_t i = 0; i < c->nsrc; i++)
            if (!statement(c, i)) return false;
        return true;
    }
}

/* Values, and numbers where numbers belong. Shapes are shape.c's business. */
static bool check_tensor(struct check *c) {
    uint32_t values = 1;
    if (c->op == OP_BUFFER || c->op == OP_IOTA) values = 0;
    if (c->op == OP_PAD || c->op == OP_ASSIGN || c->op == OP_RECOMPUTE) values = 2;
    if (c->op == OP_GATHER || c->op == OP_SCATTER || c->op == OP_GRAD_THROUGH || c->op == OP_ONCE_DIFF ||
        c->op == OP_GRAPH)
        values = c->nsrc;
    for (uint32_t i = 0; i < c->nsrc; i++) {
        if (!value(c, i)) return false;
        bool decay = c->op == OP_SCAN_AXIS && i == 2;
        if (i >= values && !decay && !typed(c, i, DT_IDX, "sizes, axes and offsets")) return false;
    }
    return true;
}

static bool check_sources(struct check *c) {
    if (op_is_tensor(c->op)) return check_tensor(c);
    if (op_info[c->op].flags & OPF_W) return true; /* described by the issue that brings it */
    switch (c->op) {
    case OP_CONST:
    case OP_INVALID:
    case OP_LANES: return true;
    case OP_PARAM:
    case OP_PARAMS:
    case OP_ACC:
    case OP_RANGE:
        for (uint32_t i = 0; i < c->nsrc; i++)
            if (!integer(c, i)) return false;
        return true;
    case OP_LOCAL: return integer(c, 0) && (c->nsrc < 2 || is_op(c, 1, OP_LOCAL));
    case OP_TENSOR_MAP:
        for (uint32_t i = 1; i < c->nsrc; i++)
            if (!integer(c, i)) return false;
        return is_op(c, 0, OP_PARAM);
    case OP_VAR: return typed(c, 0, c->dt, "the VAR's") && typed(c, 1, c->dt, "the VAR's");
    case OP_INDEX:
    case OP_LOAD:
    case OP_PRED_LOAD:
    case OP_STORE:
    case OP_STORE_ADD:
    case OP_PREFETCH: return check_memory(c);
    case OP_STAGE:
    case OP_REDUCE:
    case OP_SCAN: return check_ranges(c);
    case OP_BUILD: return check_build(c);
    case OP_EXTRACT:
    case OP_VEC_REDUCE: return value(c, 0);
    case OP_LDMATRIX: return is_op(c, 0, OP_INDEX);
    case OP_BEFORE: return is_op(c, 0, OP_SCAN);
    case OP_DECAY: return check_pure(c);
    default: return op_is_pure(c->op) ? check_pure(c) : check_statement(c);
    }
}

static bool check_type(struct check *c) {
    enum dtype dt;
    unsigned lanes;
    const struct op_info *o = &op_info[c->op];
    node_infer(c->op, c->src, c->nsrc, &dt, &lanes);
    bool any_int = o->dt == OPD_IDX && dt_is_int(c->dt); /* index widths are chosen late */
    if (o->dt == OPD_SELF && c->dt == DT_VOID && (!(o->flags & OPF_W) || op_is_tensor(c->op)))
        return bad(c, -1, "expected an element type in %s, found void", o->name);
    if (dt != DT_COUNT && dt != c->dt && !any_int)
        return bad(c, -1, "expected %s as the type of %s, found %s", dtype_info[dt].name, o->name,
                   dtype_info[c->dt].name);
    if (c->lanes < 1 || c->lanes > UINT8_MAX)
        return bad(c, -1, "expected 1 to 255 lanes in %s, found %u", o->name, c->lanes);
    if (o->lanes != OPL_SELF && lanes != c->lanes)
        return bad(c, -1, "expected %u lanes in %s, found %u", lanes, o->name, c->lanes);
    return true;
}

bool node_check(const struct ir *ir, enum op op, enum dtype dt, unsigned lanes, const uop *const *src,
                uint32_t nsrc, union arg arg, char *why, int *at) {
    struct check c = {ir, op, dt, lanes, src, nsrc, arg, why, at};
    if (dt >= DT_COUNT) return bad(&c, -1, "expected an element type in %s, found none", op_info[op].name);
    return check_arity(&c) && check_sources(&c) && check_type(&c) && check_arg(&c);
}

/* ---- numbers in text --------------------------------------------------------------------------- */

static enum dtype sibling(const enum dtype *sib, const bool *is_literal, uint32_t from, uint32_t to,
                          uint32_t skip) {
    for (int literals = 0; literals < 2; literals++) /* nodes decide before numbers with a spelled type */
        for (uint32_t j = from; j < to; j++)
            if (j != skip && is_literal[j] == literals && sib[j] != DT_COUNT && sib[j] != DT_VOID)
                return sib[j];
    return DT_COUNT;
}

enum dtype literal_dtype(enum op op, const enum dtype *sib, const bool *is_literal, uint32_t nsrc, uint32_t i,
                         enum dtype spelled) {
    switch (op) {
    case OP_RANGE:
    case OP_PARAM:
    case OP_PARAMS:
    case OP_LOCAL:
    case OP_ACC: return DT_IDX;
    case OP_INDEX: return i == 1 ? DT_IDX : DT_COUNT;
    case OP_VAR: return spelled;
    case OP_PRED_LOAD:
    case OP_STORE:
    case OP_STORE_ADD:
        if (i == 0) return DT_COUNT;
        return i == 2 ? DT_BOOL : sib[0];
    case OP_SET: return i == 1 ? sib[0] : DT_COUNT;
    case OP_GRAPH: return DT_COUNT;
    case OP_CALL: return DT_IDX;
    case OP_BUFFER:
    case OP_IOTA: return DT_IDX;
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXPAND:
    case OP_SHRINK:
    case OP_FLIP:
    case OP_UNFOLD:
    case OP_FOLD:
    case OP_REDUCE_AXES:
    case OP_TENSOR_MAP: return i ? DT_IDX : DT_COUNT;
    case OP_SCAN_AXIS: return i == 1 ? DT_IDX : i ? sib[0] : DT_COUNT;
    case OP_PAD:
    case OP_ASSIGN: return i == 0 ? DT_COUNT : i == 1 ? sib[0] : DT_IDX;
    case OP_SCATTER: return i == 2 ? sib[0] : DT_COUNT;
    case OP_GATHER:
    case OP_ONCE_DIFF:
    case OP_GRAD_THROUGH: return DT_COUNT;
    case OP_RECOMPUTE: return i == 2 ? DT_IDX : DT_COUNT;
    case OP_IF: return i == 0 ? DT_BOOL : DT_COUNT;
    case OP_WHERE:
    case OP_UNLIKELY: {
        if (i == 0) return DT_BOOL;
        enum dtype d = nsrc == 3 ? sibling(sib, is_literal, 1, 3, i) : DT_COUNT;
        return d != DT_COUNT ? d : spelled;
    }
    case OP_CAST:
    case OP_BITCAST:
    case OP_REDUCE:
    case OP_SCAN:
    case OP_STAGE: return DT_COUNT; /* the other sources are ranges, the spelled type is the result's */
    default: break;
    }
    enum dtype d = sibling(sib, is_literal, 0, nsrc, i);
    if (d != DT_COUNT) return d;
    return op_info[op].dt == OPD_S0 || op_info[op].dt == OPD_S1 ? spelled : DT_COUNT;
}

bool name_is_plain(const char *s, size_t n) {
    static const char *const reserved[] = {"inf", "nan", "true", "false"};
    if (n == 0) return false;
    for (size_t i = 0; i < n; i++) {
        char ch = s[i];
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || ch == '%';
        bool later = (ch >= '0' && ch <= '9') || ch == '.' || ch == '#' || ch == '$';
        if (!letter && !(later && i > 0)) return false;
    }
    for (size_t i = 0; i < RG_COUNT(reserved); i++)
        if (strlen(reserved[i]) == n && !memcmp(reserved[i], s, n)) return false;
    return true;
}
