/* rulegen_emit.c: matchers in C.
 *
 * Each set becomes one function per op, its rules as blocks in file order, and a switch over the op. A
 * block is `do { tests; build; return; } while (0)`: the first test that fails breaks out to the next rule.
 * gcc merges the repeated tests of neighbouring blocks; a decision tree was measured and is not faster at
 * this size. Tests: tests/unit/rules.c */
#include "rulegen.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* ---- small pieces ---------------------------------------------------------------------------------- */

void c_string(FILE *o, const char *s) {
    fputc('"', o);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') fputc('\\', o);
        fputc(*s, o);
    }
    fputc('"', o);
}

static const char *flt_c(double f) {
    if (isnan(f)) return "(double)NAN";
    if (isinf(f)) return f < 0 ? "-(double)INFINITY" : "(double)INFINITY";
    return xprintf("%a", f);
}

static const char *int_c(int64_t i) {
    return i == INT64_MIN ? "INT64_MIN" : xprintf("INT64_C(%lld)", (long long)i);
}

const char *dt_test(const char *e, const char *dt) {
    char *all = xprintf("%s", "");
    for (const char *s = dt; *s;) {
        size_t n = strcspn(s, "|");
        char *one;
        if (n == 3 && !memcmp(s, "int", 3))
            one = xprintf("rule_dt_int(%s->dt)", e);
        else if (n == 4 && !memcmp(s, "wrap", 4))
            one = xprintf("rule_dt_wrap(%s->dt)", e);
        else if (n == 5 && !memcmp(s, "float", 5))
            one = xprintf("rule_dt_float(%s->dt)", e);
        else {
            one = xprintf("%s->dt == DT_%.*s", e, (int)n, s);
            for (char *u = strstr(one, "DT_"); *u; u++) *u = (char)toupper((unsigned char)*u);
        }
        all = *all ? xprintf("%s || %s", all, one) : one;
        s += n;
        if (*s) s++;
    }
    return all;
}

const char *arg_c(const char *arg) {
    int o = find_op(arg, strlen(arg));
    return o < OP_COUNT ? xprintf("OP_%s", arg) : arg;
}

/* ---- left side ------------------------------------------------------------------------------------- */

struct left {
    FILE *o;
    const char *bound[MAX_BIND];
    int nbound, ntemp;
    const char *rest_node; /* C expression of the node with ..., and where the rest begins */
    int rest_from;
    const char *ind;
};

static bool was_bound(struct left *l, const char *name) {
    for (int i = 0; i < l->nbound; i++)
        if (!strcmp(l->bound[i], name)) return true;
    l->bound[l->nbound++] = name;
    return false;
}

static void bind_node(struct left *l, const char *name, const char *e) {
    if (was_bound(l, name))
        fprintf(l->o, "%sif (%s != %s) break;\n", l->ind, e, name);
    else
        fprintf(l->o, "%sconst uop *%s = %s; (void)%s;\n", l->ind, name, e, name);
}

static void bind_number(struct left *l, const pat *p, const char *e) {
    bool k = p->kind == PAT_KVAR;
    fprintf(l->o, "%sif (!rule_is_%s(%s)) break;\n", l->ind, k ? "flt" : "int", e);
    const char *v = xprintf("%s->arg.%c", e, k ? 'f' : 'i');
    if (!was_bound(l, p->name))
        fprintf(l->o, "%s%s %s = %s; (void)%s;\n", l->ind, k ? "double" : "int64_t", p->name, v, p->name);
    else if (k)
        fprintf(l->o, "%sif (!rule_same_flt(%s, %s)) break;\n", l->ind, v, p->name);
    else
        fprintf(l->o, "%sif (%s != %s) break;\n", l->ind, v, p->name);
}

static void test_op(struct left *l, const pat *p, const char *e) {
    fprintf(l->o, "%sif (", l->ind);
    const char *sep = "";
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o)) fprintf(l->o, "%s%s->op != OP_%s", sep, e, rg_op[o].name), sep = " && ";
    fprintf(l->o, ") break;\n");
}

static bool fixed_arity(const pat *p) {
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o) && (rg_op[o].min_src != rg_op[o].max_src || rg_op[o].min_src != p->nsrc))
            return false;
    return true;
}

static void bind_arg(struct left *l, const pat *p, const char *e) {
    bool name = islower((unsigned char)p->arg[0]);
    bool is_op = rg_op[first_op(p)].arg == OPA_OP;
    if (!name)
        fprintf(l->o, "%sif (%s->arg.i != %s) break;\n", l->ind, e, arg_c(p->arg));
    else if (was_bound(l, p->arg))
        fprintf(l->o, "%sif (%s->arg.i != (int64_t)%s) break;\n", l->ind, e, p->arg);
    else if (is_op)
        fprintf(l->o, "%senum op %s = (enum op)%s->arg.i; (void)%s;\n", l->ind, p->arg, e, p->arg);
    else
        fprintf(l->o, "%sint64_t %s = %s->arg.i; (void)%s;\n", l->ind, p->arg, e, p->arg);
}

static void match(struct left *l, const pat *p, const char *e, bool root) {
    switch (p->kind) {
    case PAT_ANY: return;
    case PAT_VAR: bind_node(l, p->name, e); return;
    case PAT_CVAR:
    case PAT_KVAR: bind_number(l, p, e); return;
    case PAT_INT:
        fprintf(l->o, "%sif (!uop_lit_int(%s, %s)) break;\n", l->ind, e, int_c(p->i));
        if (p->name) bind_node(l, p->name, e);
        return;
    case PAT_FLT:
        fprintf(l->o, "%sif (!uop_lit_flt(%s, %s)) break;\n", l->ind, e, flt_c(p->f));
        if (p->name) bind_node(l, p->name, e);
        return;
    default: break;
    }
    if (!root) test_op(l, p, e);
    if (!fixed_arity(p)) {
        if (!p->rest)
            fprintf(l->o, "%sif (%s->nsrc != %d) break;\n", l->ind, e, p->nsrc);
        else if (p->nsrc)
            fprintf(l->o, "%sif (%s->nsrc < %d) break;\n", l->ind, e, p->nsrc);
    }
    if (p->dt) fprintf(l->o, "%sif (!(%s)) break;\n", l->ind, dt_test(e, p->dt));
    if (p->arg) bind_arg(l, p, e);
    if (p->name) bind_node(l, p->name, e);
    if (p->opvar && !was_bound(l, p->opvar))
        fprintf(l->o, "%senum op %s = (enum op)%s->op; (void)%s;\n", l->ind, p->opvar, e, p->opvar);
    if (p->rest) l->rest_node = e, l->rest_from = p->nsrc;
    const char *child[MAX_SRC];
    for (int i = 0; i < p->nsrc; i++) {
        if (p->src[i]->kind == PAT_ANY) continue;
        if (root && i < 3)
            child[i] = xprintf("s%d", i);
        else {
            child[i] = xprintf("p%d_", l->ntemp++);
            fprintf(l->o, "%sconst uop *%s = %s->src[%d];\n", l->ind, child[i], e, i);
        }
    }
    for (int i = 0; i < p->nsrc; i++)
        if (p->src[i]->kind != PAT_ANY) match(l, p->src[i], child[i], false);
}

/* ---- right side ------------------------------------------------------------------------------------ */

struct right {
    FILE *o;
    const rule *u;
    const struct left *l;
    int ntemp;
    const char *ind;
    const char *make; /* "rw": rw2(..), normal at birth; "grad": grad2(..), nodes of the tensor graph */
    const char *leaf; /* "rule" or "grad": rule_int(..) */
};

static const char *infer(const pat *p) {
    if (p->kind == PAT_VAR) return xprintf("%s->dt", p->name);
    if (p->kind != PAT_OP) return NULL;
    if (p->dt) {
        int d = find_dt(p->dt, strlen(p->dt));
        if (d == DT_COUNT) return xprintf("%s->dt", p->dt);
        char *s = xprintf("DT_%s", p->dt);
        for (char *c = s; *c; c++) *c = (char)toupper((unsigned char)*c);
        return s;
    }
    int op = first_op(p);
    switch (rg_op[op].dt) {
    case OPD_BOOL: return "DT_BOOL";
    case OPD_IDX: return "DT_IDX";
    case OPD_VOID: return "DT_VOID";
    case OPD_SELF: return NULL;
    default: break;
    }
    for (int i = 0; i < p->nsrc; i++) {
        if (src_role(op, i) != ROLE_RESULT) continue;
        const char *d = infer(p->src[i]);
        if (d) return d;
    }
    return NULL;
}

static const char *operand_dt(const pat *p, int op) {
    for (int i = 0; i < p->nsrc; i++) {
        const char *d = src_role(op, i) == ROLE_OPERAND ? infer(p->src[i]) : NULL;
        if (d) return d;
    }
    return NULL;
}

static const char *need_dt(const struct right *r, const char *dt, const char *what) {
    if (!dt)
        fail(r->u->file, r->u->line,
             "rule %s: the type of %s cannot be inferred; write it as (CONST<dtype> ...)", r->u->name, what);
    return dt;
}

static const char *temp(struct right *r) { return xprintf("r%d_", r->ntemp++); }

static const char *build(struct right *r, const pat *p, const char *dt);

static const char *build_leaf(struct right *r, const pat *p, const char *dt) {
    const char *t = temp(r);
    switch (p->kind) {
    case PAT_INT:
        fprintf(r->o, "%sconst uop *%s = %s_int(rw, %s, %s);\n", r->ind, t, r->leaf,
                need_dt(r, dt, "an integer"), int_c(p->i));
        return t;
    case PAT_FLT:
        fprintf(r->o, "%sconst uop *%s = %s_flt(rw, %s, %s);\n", r->ind, t, r->leaf,
                need_dt(r, dt, "a number"), flt_c(p->f));
        return t;
    case PAT_CVAR:
        fprintf(r->o, "%sconst uop *%s = %s_int(rw, %s, %s);\n", r->ind, t, r->leaf, need_dt(r, dt, p->name),
                p->name);
        return t;
    case PAT_KVAR:
        fprintf(r->o, "%sconst uop *%s = %s_flt(rw, %s, %s);\n", r->ind, t, r->leaf, need_dt(r, dt, p->name),
                p->name);
        return t;
    default:
        if (dt)
            fprintf(r->o, "%sconst uop *%s = %s(rw, %s, (%s));\n", r->ind, t,
                    *r->leaf == 'g' ? "GRAD_VALUE" : "RULE_VALUE", dt, p->code);
        else
            fprintf(r->o, "%sconst uop *%s = (%s);\n", r->ind, t, p->code);
        fprintf(r->o, "%sif (!%s) break;\n", r->ind, t);
        return t;
    }
}

static const char *src_dt(const pat *p, int op, int i, const char *dt) {
    switch (src_role(op, i)) {
    case ROLE_RESULT: return dt;
    case ROLE_OPERAND: return operand_dt(p, op);
    case ROLE_BOOL: return "DT_BOOL";
    case ROLE_IDX: return "DT_IDX";
    case ROLE_VOID: return "DT_VOID";
    default: return NULL;
    }
}

static const char *build_op(struct right *r, const pat *p, const char *dt) {
    int op = first_op(p);
    const struct op_info *info = &rg_op[op];
    const char *own = infer(p);
    if (own) dt = own;
    if (op == OP_CONST) return build_leaf(r, p->src[0], need_dt(r, dt, "a CONST"));
    const char *t = temp(r), *src[MAX_SRC];
    for (int i = 0; i < p->nsrc; i++) src[i] = build(r, p->src[i], src_dt(p, op, i, dt));
    const char *opc = p->opvar ? p->opvar : xprintf("OP_%s", info->name);
    char *list = xprintf("%s", "");
    for (int i = 0; i < p->nsrc; i++) list = xprintf("%s%s%s", list, i ? ", " : "", src[i]);
    const char *arg = p->arg ? xprintf("ARG_INT(%s)", arg_c(p->arg)) : "ARG_NONE";
    fprintf(r->o, "%sconst uop *%s = ", r->ind, t);
    if (p->rest) {
        fprintf(r->o, "rule_rest(rw, %s, %s, %s, %d, %s, %d, %s);\n", opc,
                own || info->dt != OPD_SELF ? "DT_VOID" : need_dt(r, dt, info->name),
                p->nsrc ? xprintf("(const uop *[]){%s}", list) : "NULL", p->nsrc, r->l->rest_node,
                r->l->rest_from, arg);
        return t;
    }
    if (info->dt == OPD_SELF || info->lanes == OPL_SELF) {
        const char *lanes = op == OP_BUILD            ? xprintf("%d", p->nsrc)
                            : info->lanes == OPL_WIDE ? xprintf("%s->lanes", src[0])
                                                      : "1";
        fprintf(r->o, "%s_new(rw, %s, %s, %s, %s, %d, %s);\n", r->make, opc, need_dt(r, dt, info->name),
                lanes, p->nsrc ? xprintf("(const uop *[]){%s}", list) : "NULL", p->nsrc, arg);
    } else if (!p->arg && p->nsrc >= 1 && p->nsrc <= 3) {
        fprintf(r->o, "%s%d(rw, %s, %s);\n", r->make, p->nsrc, opc, list);
    } else {
        fprintf(r->o, "%s_mk(rw, %s, %s, %d, %s);\n", r->make, opc,
                p->nsrc ? xprintf("(const uop *[]){%s}", list) : "NULL", p->nsrc, arg);
    }
    return t;
}

static const char *build(struct right *r, const pat *p, const char *dt) {
    if (p->kind == PAT_VAR) return p->name;
    return p->kind == PAT_OP ? build_op(r, p, dt) : build_leaf(r, p, dt);
}

/* One variant of one rule. */
static void emit_block(FILE *o, const rule *u, const pat *lhs) {
    fprintf(o, "    do { /* %s  %s:%d */\n", u->name, u->file->base, u->line);
    struct left l = {.o = o, .ind = "        "};
    match(&l, lhs, "n", true);
    if (u->guard) fprintf(o, "        if (!(%s)) break;\n", u->guard);
    bool simple = u->rhs->kind == PAT_VAR;
    if (!simple) fprintf(o, "        uint32_t tried_ = rw->tried;\n");
    fprintf(o, "        if (!rw_try(rw, %u)) break;\n", u->id);
    if (!simple) fprintf(o, "        const uop *r = NULL;\n        do {\n");
    struct right r = {
        .o = o, .u = u, .l = &l, .ind = simple ? "        " : "            ", .make = "rw", .leaf = "rule"};
    const char *t = build(&r, u->rhs, "n->dt");
    if (!simple)
        fprintf(o,
                "            r = %s;\n        } while (0);\n        if (!r) { rw->tried = tried_; break; }\n",
                t);
    fprintf(o, "        rw_hit(rw, %u, n, %s);\n        return %s;\n    } while (0);\n", u->id,
            simple ? t : "r", simple ? t : "r");
}

/* One variant of one gradient: what is wanted is built, each flow on its own. */
static void emit_grad_block(FILE *o, const rule *u, const pat *lhs) {
    fprintf(o, "    do { /* %s  %s:%d */\n", u->name, u->file->base, u->line);
    struct left l = {.o = o, .ind = "        "};
    match(&l, lhs, "n", true);
    if (u->guard) fprintf(o, "        if (!(%s)) break;\n", u->guard);
    fprintf(o, "        if (!rw_try(rw, %u)) break;\n", u->id);
    struct right r = {.o = o, .u = u, .l = &l, .ind = "            ", .make = "grad", .leaf = "grad"};
    for (int i = 0; i < u->nflow; i++)
        for (int j = 0; j < lhs->nsrc; j++) {
            const pat *s = lhs->src[j];
            if (!s->name || strcmp(s->name, u->flow[i].name)) continue;
            fprintf(o, "        if (want >> %d & 1) do {\n", j);
            const char *t = build(&r, u->flow[i].rhs, xprintf("%s->dt", s->name));
            fprintf(o,
                    "            out[%d] = %s;\n            rw_hit(rw, %u, n, %s);\n        } while (0);\n",
                    j, t, u->id, t);
        }
    if (!u->nflow) fprintf(o, "        rw_hit(rw, %u, n, g);\n", u->id);
    fprintf(o, "        return true;\n    } while (0);\n");
}

static void emit_head(FILE *o, int nsrc) {
    fprintf(o, "    void *cx = rw->cx; (void)cx;\n");
    for (int i = 0; i < nsrc && i < 3; i++)
        fprintf(o, "    const uop *const s%d = n->src[%d]; (void)s%d;\n", i, i, i);
}

static bool file_of(const struct file *f, const struct set *s) {
    if (!s) return !f->nrule || !f->rule[0]->grad;
    for (int i = 0; i < s->nrule; i++)
        if (s->rule[i]->file == f) return true;
    return false;
}

void emit_includes(FILE *o, const struct set *s) {
    fprintf(o, "#include \"rules/rules.h\"\n");
    const char *seen[64];
    int n = 0;
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; file_of(files[i], s) && j < files[i]->ninclude; j++) {
            bool dup = false;
            for (int k = 0; k < n; k++) dup |= !strcmp(seen[k], files[i]->include[j]);
            if (dup || n == 64) continue;
            seen[n++] = files[i]->include[j];
            fprintf(o, "#include \"%s\"\n", files[i]->include[j]);
        }
    fprintf(o, "#include <math.h>\n\n");
}

/* Sources that every node of this op has: those may be read before the arity is checked. */
static int sure_src(int op) { return rg_op[op].min_src; }

/* The rules of a set that could match this op, as blocks in file order. */
static void emit_blocks(FILE *o, const struct set *s, int op) {
    for (int i = 0; i < s->nrule; i++)
        for (int j = 0; j < s->rule[i]->nvar; j++) {
            if (!has_op(s->rule[i]->var[j], op)) continue;
            pat only = *s->rule[i]->var[j]; /* with one op the arity is known */
            memset(only.ops, 0, sizeof only.ops);
            only.ops[op / 64] |= 1ull << (op % 64);
            const pat *q = &only;
            bool more = q->nsrc > sure_src(op);
            if (more) fprintf(o, "    if (n->nsrc >= %d) {\n", q->nsrc);
            for (int k = sure_src(op); more && k < q->nsrc && k < 3; k++)
                fprintf(o, "    const uop *const s%d = n->src[%d]; (void)s%d;\n", k, k, k);
            (s->grad ? emit_grad_block : emit_block)(o, s->rule[i], q);
            if (more) fprintf(o, "    }\n");
        }
}

/* A rewrite gives the new node or NULL; a gradient fills `out` for the sources that are wanted. */
void emit_set(FILE *o, struct set *s) {
    const char *type = s->grad ? "bool " : "const uop *", *none = s->grad ? "false" : "NULL";
    const char *params = s->grad ? "struct rw *rw, const uop *n, const uop *g, uint32_t want, const uop **out"
                                 : "struct rw *rw, const uop *n";
    const char *args = s->grad ? "rw, n, g, want, out" : "rw, n";
    fprintf(o, "/* made by rulegen from set %s; do not edit */\n", s->name);
    emit_includes(o, s);
    /* rewrite.c refers to the table weakly: this makes the linker take it from the archive */
    fprintf(
        o,
        "extern const struct rule_table %s_table;\nextern const struct rule_table *const %s_table_of_%s;\n",
        prefix, prefix, s->name);
    fprintf(o, "const struct rule_table *const %s_table_of_%s = &%s_table;\n\n", prefix, s->name, prefix);
    bool used[OP_COUNT] = {false};
    for (int op = 0; op < OP_COUNT; op++) {
        for (int i = 0; i < s->nrule; i++)
            for (int j = 0; j < s->rule[i]->nvar; j++) used[op] |= has_op(s->rule[i]->var[j], op);
        if (!used[op]) continue;
        fprintf(o, "static %s%s_%s(%s) {\n", type, s->name, rg_op[op].name, params);
        if (s->grad) fprintf(o, "    (void)g, (void)want, (void)out;\n");
        emit_head(o, sure_src(op));
        emit_blocks(o, s, op);
        fprintf(o, "    return %s;\n}\n\n", none);
    }
    fprintf(o, "%s%s_%s(%s);\n%s%s_%s(%s) {\n    switch (n->op) {\n", type, prefix, s->name, params, type,
            prefix, s->name, params);
    for (int op = 0; op < OP_COUNT; op++)
        if (used[op])
            fprintf(o, "    case OP_%s: return %s_%s(%s);\n", rg_op[op].name, s->name, rg_op[op].name, args);
    fprintf(o, "    default: return %s;\n    }\n}\n", none);
}

void emit_one(FILE *o, const rule *u, const char *fname) {
    fprintf(o, "static const uop *%s(struct rw *rw, const uop *n) {\n    void *cx = rw->cx; (void)cx;\n",
            fname);
    for (int j = 0; j < u->nvar; j++) {
        const pat *q = u->var[j];
        fprintf(o, "    if (n->nsrc + 1 > %d && (", q->nsrc); /* + 1: no comparison of an unsigned with 0 */
        const char *sep = "";
        for (int op = 0; op < OP_COUNT; op++)
            if (has_op(q, op)) fprintf(o, "%sn->op == OP_%s", sep, rg_op[op].name), sep = " || ";
        fprintf(o, ")) {\n");
        for (int k = 0; k < q->nsrc && k < 3; k++)
            fprintf(o, "    const uop *const s%d = n->src[%d]; (void)s%d;\n", k, k, k);
        emit_block(o, u, q);
        fprintf(o, "    }\n");
    }
    fprintf(o, "    return NULL;\n}\n\n");
}

/* ---- tables ---------------------------------------------------------------------------------------- */

static char *sets_of(const rule *u) {
    char *s = xprintf("%s", "");
    for (int i = 0; i < nsets; i++)
        for (int j = 0; j < sets[i].nrule; j++)
            if (sets[i].rule[j] == u)
                s = *s ? xprintf("%s,%s", s, sets[i].name) : xprintf("%s", sets[i].name);
    return s;
}

void emit_table(FILE *o) {
    bool main_table = !strcmp(prefix, "rules");
    int n = 0;
    fprintf(o,
            "/* made by rulegen; do not edit */\n#include \"rules/rules.h\"\n\n%sconst struct rule_info %s[] "
            "= {\n",
            main_table ? "" : "static ", main_table ? "rule_info" : "info");
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++, n++) {
            const rule *u = files[i]->rule[j];
            fprintf(o, "    {\"%s\", \"%s\", \"%s\", ", u->name, u->file->base, sets_of(u));
            const char *body = strchr(u->text, ':') + 1;
            c_string(o, body + strspn(body, " "));
            fprintf(o, ", %d},\n", u->line);
        }
    if (!n) fprintf(o, "    {\"\", \"\", \"\", \"\", 0},\n");
    fprintf(o, "};\n");
    if (main_table) fprintf(o, "const unsigned rule_count = %d;\n", n);
    fprintf(o, "static _Atomic uint64_t hits[%d];\n", n ? n : 1);
    fprintf(o,
            "extern const struct rule_table %s_table;\nconst struct rule_table %s_table = {%s, %d, hits};\n",
            prefix, prefix, main_table ? "rule_info" : "info", n);
}

void emit_listing(FILE *o) {
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++) {
            const rule *u = files[i]->rule[j];
            fprintf(o, "%s:%d [%s] %s\n", u->file->base, u->line, sets_of(u), u->text);
        }
}
