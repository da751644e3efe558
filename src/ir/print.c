/* print.c: nodes as text.
 *
 * ir_print writes what parse.c reads back to the same nodes: one line per shared node, sources first,
 * numbered in depth-first order, so that equal graphs give equal text in any ir.
 * Buffers and ranges are written under their own names where those are unique. A node with one user is
 * written inside it while the line stays short. A number is written with its dtype only where the
 * parser would not give it that one (literal_dtype in check.c decides for both).
 * ir_print_node and ir_print_tree are for people and are not parsed. Tests: tests/unit/text.c */
#include "ir.h"
#include "node.h"

#include <math.h>
#include <stdlib.h>

/* Nodes written inside one line, and levels of them. The parser allows far more. */
enum { LINE_NODES = 12, LINE_DEPTH = 8 };

/* ---- pieces ------------------------------------------------------------------------------------ */

static void print_name(struct str *o, const char *s) {
    if (name_is_plain(s, strlen(s))) {
        str_add(o, s);
        return;
    }
    str_addc(o, '"');
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch == '"' || ch == '\\') str_addc(o, '\\');
        if (ch < 32 || ch == 127)
            str_printf(o, "\\x%02x", ch);
        else
            str_addc(o, (char)ch);
    }
    str_addc(o, '"');
}

/* The shortest decimal that reads back as the same number of this type, always with the look of a
 * float. The C library writes the locale's decimal point; the text form has a dot. */
static void print_float(struct str *o, enum dtype dt, double v) {
    char b[48];
    if (isnan(v) || isinf(v)) {
        str_add(o, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        text_printf(b, sizeof b, "%.*g", digits, v);
        if (dt_round(dt, text_double(b, NULL)) == v) break;
    }
    str_add(o, b);
    if (!strpbrk(b, ".e")) str_add(o, ".0");
}

static void print_number(struct str *o, const uop *n, bool with_type) {
    enum dtype dt = (enum dtype)n->dt;
    if (dt == DT_BOOL) {
        str_add(o, n->arg.i ? "true" : "false");
        return;
    }
    if (dt_is_float(dt))
        print_float(o, dt, n->arg.f);
    else if (dt == DT_U64)
        str_printf(o, "%llu", (unsigned long long)n->arg.u);
    else
        str_printf(o, "%lld", (long long)n->arg.i);
    if (with_type) str_printf(o, ":%s", dtype_info[dt].name);
}

static void print_type(struct str *o, const uop *n) {
    str_printf(o, "<%s", dtype_info[n->dt].name);
    if (n->lanes != 1) str_printf(o, "x%u", n->lanes);
    str_addc(o, '>');
}

/* <dtype> where the row says SELF or the node is not what the row infers. */
static void print_type_if_needed(struct str *o, const uop *n) {
    enum dtype dt;
    unsigned lanes;
    node_infer((enum op)n->op, n->src, n->nsrc, &dt, &lanes);
    if (!lanes) lanes = 1;
    if (dt != n->dt || lanes != n->lanes) print_type(o, n);
}

static void print_arg(struct str *o, const struct ir *ir, const uop *n) {
    union arg a = n->arg;
    switch (op_info[n->op].arg) {
    case OPA_INT: str_printf(o, "[%lld]", (long long)a.i); break;
    case OPA_OP: str_printf(o, "[%s]", a.u < OP_COUNT ? op_info[a.u].name : "?"); break;
    case OPA_PARAM:
        str_printf(o, "[%u ", a.param.slot);
        print_name(o, ir_name(ir, a.param.name));
        str_addc(o, ']');
        break;
    case OPA_MEM:
        str_addc(o, '[');
        print_name(o, ir_name(ir, a.mem.name));
        str_printf(o, " %s", a.mem.space < SPACE_COUNT ? space_name[a.mem.space] : "?");
        if (a.mem.row) str_printf(o, " %u", a.mem.row);
        str_addc(o, ']');
        break;
    case OPA_SYM:
        str_addc(o, '[');
        print_name(o, ir_name(ir, (uint32_t)a.u));
        str_addc(o, ']');
        break;
    case OPA_RANGE:
        str_addc(o, '[');
        print_name(o, ir_name(ir, a.range.cls));
        str_printf(o, " %s %u", a.range.kind < AX_COUNT ? axis_name[a.range.kind] : "?", a.range.pos);
        if (a.range.id) str_printf(o, " %u", a.range.id);
        str_addc(o, ']');
        break;
    default: break;
    }
}

/* ---- what the parser reads --------------------------------------------------------------------- */

struct printer {
    struct str *o;
    const struct ir *ir;
    uop_vec order;
    struct expr_layout {
        uint32_t uses;
        uint16_t size, depth; /* of the expression: itself and what is written inside it */
        bool inside;          /* written inside its user */
        bool named;           /* under its own name, not %number */
    } * layout;               /* by position in order */
    uint32_t *pos;            /* by node id */
};

static struct expr_layout *layout_of(struct printer *p, const uop *n) { return &p->layout[p->pos[n->id]]; }

static bool has_own_line(const uop *n) {
    switch (n->op) {
    case OP_RANGE:
    case OP_PARAM:
    case OP_VAR:
    case OP_LOCAL:
    case OP_STAGE:
    case OP_REDUCE:
    case OP_SCAN:
    case OP_BUFFER:
    case OP_REDUCE_AXES:
    case OP_SCAN_AXIS: return true;
    default: return false;
    }
}

static void find_layout(struct printer *p) {
    for (uint32_t i = 0; i < p->order.n; i++)
        for (uint32_t j = 0; j < p->order.p[i]->nsrc; j++) layout_of(p, p->order.p[i]->src[j])->uses++;
    for (uint32_t i = 0; i < p->order.n; i++) {
        const uop *n = p->order.p[i];
        struct expr_layout *l = &p->layout[i];
        uint32_t size = 1, depth = 1;
        for (uint32_t j = 0; j < n->nsrc; j++) {
            struct expr_layout *s = layout_of(p, n->src[j]);
            if (!s->inside) continue;
            size += s->size, depth = RG_MAX(depth, s->depth + 1u);
        }
        l->size = (uint16_t)RG_MIN(size, 60000u), l->depth = (uint16_t)RG_MIN(depth, 60000u);
        if (i + 1 == p->order.n) continue; /* the root has its line */
        bool small = l->size <= LINE_NODES && l->depth <= LINE_DEPTH;
        l->inside = n->nsrc == 0 || (l->uses == 1 && small && !has_own_line(n));
    }
}

/* The name that a buffer or range would like to have; false if it has none. */
static bool own_name(const struct ir *ir, const uop *n, char *b, size_t size) {
    switch (n->op) {
    case OP_RANGE:
        if (n->arg.range.id)
            return snprintf(b, size, "%s%u", ir_name(ir, n->arg.range.cls), n->arg.range.id) < (int)size;
        return snprintf(b, size, "%s", ir_name(ir, n->arg.range.cls)) < (int)size;
    case OP_PARAM:
    case OP_VAR: return snprintf(b, size, "%s", ir_name(ir, n->arg.param.name)) < (int)size;
    case OP_LOCAL:
    case OP_STAGE: return snprintf(b, size, "%s", ir_name(ir, n->arg.mem.name)) < (int)size;
    case OP_BUFFER: return n->arg.i >= 0 && snprintf(b, size, "b%lld", (long long)n->arg.i) < (int)size;
    default: return false;
    }
}

static void find_names(struct printer *p) {
    struct map taken;
    char b[64];
    map_init(&taken, p->o->arena);
    for (uint32_t i = 0; i < p->order.n; i++) {
        const uop *n = p->order.p[i];
        if (p->layout[i].inside || !own_name(p->ir, n, b, sizeof b)) continue;
        size_t len = strlen(b);
        if (!name_is_plain(b, len) || strchr(b, '%')) continue;
        uint64_t h = hash_bytes(b, len, 0);
        if (map_get(&taken, h, NULL)) continue;
        map_put(&taken, h, 1);
        p->layout[i].named = true;
    }
}

static void print_ref(struct printer *p, const uop *n) {
    char b[64];
    if (layout_of(p, n)->named && own_name(p->ir, n, b, sizeof b))
        str_add(p->o, b);
    else
        str_printf(p->o, "%%%u", p->pos[n->id]);
}

static void print_expr(struct printer *p, const uop *n);

/* Does the parser give source i its dtype without a suffix? */
static bool type_is_implied(const uop *n, uint32_t i) {
    const uop *s = n->src[i];
    enum dtype sib[2] = {DT_COUNT, DT_COUNT};
    bool lit[2] = {true, true};
    if (s->dt == DT_BOOL) return true;
    /* Only the first node beside the number matters, and the numbers in front of it do not. */
    bool where = n->op == OP_WHERE || n->op == OP_UNLIKELY;
    uint32_t first = where ? 1 : 0, numbers = 0, found = n->nsrc;
    for (uint32_t j = first; j < n->nsrc; j++) {
        if (n->src[j]->op == OP_CONST && n->src[j]->dt != DT_BOOL)
            numbers++;
        else if (found == n->nsrc && n->src[j]->dt != DT_VOID && j != i)
            found = j;
    }
    enum dtype spelled = op_info[n->op].dt == OPD_SELF ? (enum dtype)n->dt : DT_COUNT, want;
    bool tensor = op_is_tensor((enum op)n->op) && i > 0;
    if (n->op == OP_PRED_LOAD || n->op == OP_STORE || n->op == OP_STORE_ADD || n->op == OP_SET || tensor) {
        sib[0] = (enum dtype)n->src[0]->dt, lit[0] = n->src[0]->op == OP_CONST;
        if (lit[0] && !tensor) return false;
        want = literal_dtype((enum op)n->op, sib, lit, 2, i, spelled);
    } else if (where) {
        enum dtype three[3] = {DT_BOOL, DT_COUNT, DT_COUNT};
        bool lit3[3] = {false, true, true};
        if (found < n->nsrc) three[found] = (enum dtype)n->src[found]->dt, lit3[found] = false;
        want = literal_dtype(OP_WHERE, three, lit3, 3, i, spelled);
    } else {
        if (found < n->nsrc) sib[1] = (enum dtype)n->src[found]->dt, lit[1] = false;
        want = literal_dtype((enum op)n->op, sib, lit, 2, n->op == OP_INDEX ? i : 0, spelled);
    }
    if (want != DT_COUNT) return want == s->dt;
    if (numbers > 1) return false; /* each could lean on the other */
    return s->dt == (dt_is_float((enum dtype)s->dt) ? DT_F32 : DT_IDX);
}

static void print_source(struct printer *p, const uop *n, uint32_t i) {
    const uop *s = n->src[i];
    if (s->op == OP_CONST)
        print_number(p->o, s, !type_is_implied(n, i));
    else if (layout_of(p, s)->inside)
        print_expr(p, s);
    else
        print_ref(p, s);
}

static void print_expr(struct printer *p, const uop *n) {
    if (n->op == OP_CONST) {
        print_number(p->o, n, n->dt != DT_BOOL);
        return;
    }
    str_printf(p->o, "(%s", op_info[n->op].name);
    print_type_if_needed(p->o, n);
    print_arg(p->o, p->ir, n);
    bool lines = n->nsrc > 1 && (n->op == OP_SINK || n->op == OP_BLOCK || n->op == OP_GRAPH);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        str_add(p->o, lines ? "\n  " : " ");
        print_source(p, n, i);
    }
    str_addc(p->o, ')');
}

void ir_print(struct str *o, const struct ir *ir, const uop *root) {
    struct printer p = {.o = o, .ir = ir};
    uop_topo(o->arena, &root, 1, &p.order);
    p.layout = arena_array(o->arena, struct expr_layout, p.order.n);
    p.pos = arena_array(o->arena, uint32_t, (size_t)root->id + 1);
    for (uint32_t i = 0; i < p.order.n; i++) p.pos[p.order.p[i]->id] = i;
    find_layout(&p);
    find_names(&p);
    for (uint32_t i = 0; i < p.order.n; i++) {
        const uop *n = p.order.p[i];
        if (p.layout[i].inside) continue;
        bool is_end = n->op == OP_SINK || (n->op == OP_GRAPH && n == root);
        if (!is_end) {
            print_ref(&p, n);
            str_add(o, " = ");
        }
        print_expr(&p, n);
        str_addc(o, '\n');
    }
}

void ir_print_kernel(struct str *o, const struct ir *ir, const struct kernel *k) {
    str_add(o, "kernel ");
    print_name(o, k->name);
    str_addc(o, '\n');
    if (k->opts && *k->opts) str_printf(o, "opts %s\n", k->opts);
    ir_print(o, ir, k->sink);
}

/* ---- for people -------------------------------------------------------------------------------- */

static void print_op(struct str *o, const struct ir *ir, const uop *n, int depth);

/* A number, a name where there is one, %id below `depth`. */
static void print_brief(struct str *o, const struct ir *ir, const uop *n, int depth) {
    char b[64];
    if (n->op != OP_STAGE && own_name(ir, n, b, sizeof b) && *b)
        print_name(o, b);
    else if (depth <= 0 && n->nsrc)
        str_printf(o, "%%%u", n->id);
    else
        print_op(o, ir, n, depth);
}

static void print_op(struct str *o, const struct ir *ir, const uop *n, int depth) {
    if (n->op == OP_CONST) {
        print_number(o, n, false);
        return;
    }
    str_printf(o, "(%s", op_info[n->op].name);
    print_type_if_needed(o, n);
    print_arg(o, ir, n);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        if (i == 8 && n->nsrc > 9) {
            str_printf(o, " ... %u more", n->nsrc - i);
            break;
        }
        str_addc(o, ' ');
        print_brief(o, ir, n->src[i], depth - 1);
    }
    str_addc(o, ')');
}

void ir_print_node(struct str *o, const struct ir *ir, const uop *n, int depth) { print_op(o, ir, n, depth); }

struct tree_printer {
    struct str *o;
    const struct ir *ir;
    uint32_t *uses; /* by node id; shared values get a line of their own before their first use */
    bool *done;
};

static void indent(struct tree_printer *t, int level) { str_printf(t->o, "%*s", level * 2, ""); }

static bool is_shared_value(const struct tree_printer *t, const uop *n) {
    return t->uses[n->id] > 1 && n->nsrc && n->dt != DT_VOID && !has_own_line(n) && n->op != OP_ACC &&
           n->op != OP_INDEX;
}

static void tree_expr(struct tree_printer *t, const uop *n, int depth) {
    char b[64];
    if (n->op == OP_CONST) {
        print_number(t->o, n, false);
        return;
    }
    if (own_name(t->ir, n, b, sizeof b) && *b) {
        print_name(t->o, b);
        return;
    }
    if ((depth > 0 && is_shared_value(t, n)) || depth > 40) {
        str_printf(t->o, "%%%u", n->id);
        return;
    }
    str_printf(t->o, "(%s", op_info[n->op].name);
    print_type_if_needed(t->o, n);
    print_arg(t->o, t->ir, n);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        str_addc(t->o, ' ');
        tree_expr(t, n->src[i], depth + 1);
    }
    str_addc(t->o, ')');
}

/* Lines for the shared values below n that have none yet, sources first. */
static void tree_values(struct tree_printer *t, const uop *n, int level, int depth) {
    if (t->done[n->id] || depth > 400) return;
    t->done[n->id] = true;
    for (uint32_t i = 0; i < n->nsrc; i++) tree_values(t, n->src[i], level, depth + 1);
    if (!is_shared_value(t, n)) return;
    indent(t, level);
    str_printf(t->o, "%%%u = ", n->id);
    tree_expr(t, n, 0);
    str_addc(t->o, '\n');
}

static void tree_statement(struct tree_printer *t, const uop *n, int level) {
    if (level > 100) return;
    if (n->op == OP_BLOCK || n->op == OP_SINK) {
        for (uint32_t i = 0; i < n->nsrc; i++) tree_statement(t, n->src[i], level);
        return;
    }
    if (n->op == OP_FOR || n->op == OP_IF)
        tree_values(t, n->src[0], level, 0);
    else
        tree_values(t, n, level, 0);
    indent(t, level);
    if (n->op == OP_FOR) {
        str_add(t->o, "for ");
        tree_expr(t, n->src[0], 1);
        str_printf(t->o, " in 0..");
        tree_expr(t, range_size(for_range(n)), 1);
        str_printf(t->o, "  %s\n", axis_name[n->src[0]->arg.range.kind]);
        tree_statement(t, n->src[1], level + 1);
    } else if (n->op == OP_IF) {
        str_add(t->o, "if ");
        tree_expr(t, n->src[0], 1);
        str_addc(t->o, '\n');
        if (n->nsrc > 1) tree_statement(t, n->src[1], level + 1);
        if (n->nsrc > 2) {
            indent(t, level);
            str_add(t->o, "else\n");
            tree_statement(t, n->src[2], level + 1);
        }
    } else {
        tree_expr(t, n, 0);
        str_addc(t->o, '\n');
    }
}

void ir_print_tree(struct str *o, const struct ir *ir, const uop *block) {
    struct tree_printer t = {.o = o, .ir = ir};
    uop_vec order = {0};
    uop_topo(o->arena, &block, 1, &order);
    t.uses = arena_array(o->arena, uint32_t, (size_t)block->id + 1);
    t.done = arena_array(o->arena, bool, (size_t)block->id + 1);
    for (uint32_t i = 0; i < order.n; i++)
        for (uint32_t j = 0; j < order.p[i]->nsrc; j++) t.uses[order.p[i]->src[j]->id]++;
    tree_statement(&t, block, 0);
}

struct linear_printer {
    struct str *o;
    const struct ir *ir;
    const uint8_t *listed; /* by node id: it is a line of the program */
    int left;              /* nodes that this line may still hold */
};

/* What has a line is called by its number; the rest is written where it is used. */
static void linear_node(struct linear_printer *p, const uop *n) {
    if (n->op == OP_CONST) {
        print_number(p->o, n, false);
        return;
    }
    str_printf(p->o, "(%s", op_info[n->op].name);
    print_type_if_needed(p->o, n);
    print_arg(p->o, p->ir, n);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *x = n->src[i];
        char b[64];
        str_addc(p->o, ' ');
        if (x->op != OP_STAGE && own_name(p->ir, x, b, sizeof b) && *b)
            print_name(p->o, b);
        else if (p->listed[x->id] || p->left-- <= 0)
            str_printf(p->o, "%%%u", x->id);
        else
            linear_node(p, x);
    }
    str_addc(p->o, ')');
}

void linear_print(struct str *s, const struct ir *ir, const struct linear *l) {
    int depth = 0;
    uint8_t *listed = arena_array(s->arena, uint8_t, ir->n + 1);
    for (uint32_t i = 0; i < l->n; i++) listed[l->u[i]->id] = 1;
    struct linear_printer p = {.o = s, .ir = ir, .listed = listed};
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i];
        if (n->op == OP_END || n->op == OP_ELSE) depth--;
        str_printf(s, "%4u %*s%%%u = ", i, depth * 2, "", n->id);
        p.left = 200;
        linear_node(&p, n);
        str_addc(s, '\n');
        if (n->op == OP_RANGE || n->op == OP_IF || n->op == OP_ELSE) depth++;
    }
}
