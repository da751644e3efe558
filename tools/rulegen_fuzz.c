/* rulegen_fuzz.c: what the tests need of each rule, as C.
 *
 * For every rule: the rule alone as a matcher, and a builder that makes a random instance of its left
 * side. Types come from unification over the pattern (ops.def says which sources share a type); one
 * random dtype is drawn per class. Constants are made before other leaves, so that the leaves can choose
 * bounds near them and guards on bounds fire. `fuzz NAME = {C}` under a rule overrides how NAME is made,
 * `fuzz n` the whole instance. The helpers fz_* are tests/fuzz/fz.c. */
#include "rulegen.h"

#include <ctype.h>
#include <math.h>

enum { MASK_FLOAT = 1u << DT_F16 | 1u << DT_BF16 | 1u << DT_F32 | 1u << DT_F64 };
#define MASK_ALL ((1u << DT_COUNT) - 1 - (1u << DT_VOID))
#define MASK_INT (MASK_ALL & ~(unsigned)MASK_FLOAT)

struct types {
    int parent[64];
    unsigned mask[64];
    int n;
    const char *name[MAX_BIND];
    int of[MAX_BIND], nname;
};

static int root_of(const struct types *t, int a) {
    while (t->parent[a] != a) a = t->parent[a];
    return a;
}

static int fresh(struct types *t, unsigned mask) {
    t->parent[t->n] = t->n;
    t->mask[t->n] = mask;
    return t->n++;
}

static void unify(struct types *t, int a, int b) {
    a = root_of(t, a), b = root_of(t, b);
    if (a == b) return;
    t->parent[b] = a;
    t->mask[a] &= t->mask[b];
}

static unsigned dt_mask(const char *dt) {
    unsigned m = 0;
    for (const char *s = dt; *s;) {
        size_t n = strcspn(s, "|");
        if (n == 3 && !memcmp(s, "int", 3))
            m |= MASK_INT & ~(1u << DT_BOOL);
        else if (n == 4 && !memcmp(s, "wrap", 4))
            m |= MASK_INT & ~(1u << DT_BOOL) & ~(1u << DT_IDX);
        else if (n == 5 && !memcmp(s, "float", 5))
            m |= MASK_FLOAT;
        else
            m |= 1u << find_dt(s, n);
        s += n;
        if (*s) s++;
    }
    return m;
}

static void type_pat(const rule *u, struct types *t, pat *p) {
    if (t->n > 50) fail(u->file, u->line, "rule %s: too large to fuzz", u->name);
    unsigned mask = MASK_ALL;
    if (p->kind == PAT_INT || p->kind == PAT_CVAR) mask = MASK_INT;
    if (p->kind == PAT_FLT || p->kind == PAT_KVAR) mask = MASK_FLOAT;
    p->type = fresh(t, mask);
    if (p->kind == PAT_VAR || p->kind == PAT_CVAR || p->kind == PAT_KVAR) {
        for (int i = 0; i < t->nname; i++)
            if (!strcmp(t->name[i], p->name)) {
                /* a repeated node has one type; a repeated number may stand in two */
                if (p->kind == PAT_VAR) unify(t, t->of[i], p->type);
                return;
            }
        t->name[t->nname] = p->name;
        t->of[t->nname++] = p->type;
        return;
    }
    if (p->kind != PAT_OP) return;
    int op = first_op(p);
    unsigned works_on = 0;
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o))
            works_on |= rg_op[o].flags & OPF_F   ? (unsigned)MASK_FLOAT
                        : rg_op[o].flags & OPF_I ? MASK_INT
                                                 : ~0u;
    t->mask[p->type] &= works_on;
    switch (rg_op[op].dt) {
    case OPD_BOOL: t->mask[p->type] = 1u << DT_BOOL; break;
    case OPD_IDX: t->mask[p->type] = 1u << DT_IDX; break;
    case OPD_VOID: t->mask[p->type] = 1u << DT_VOID; break;
    default: break;
    }
    if (p->dt) t->mask[p->type] &= dt_mask(p->dt);
    int operand = -1;
    for (int i = 0; i < p->nsrc; i++) {
        type_pat(u, t, p->src[i]);
        int c = p->src[i]->type;
        switch (src_role(op, i)) {
        case ROLE_RESULT: unify(t, p->type, c); break;
        case ROLE_OPERAND:
            if (operand >= 0)
                unify(t, operand, c);
            else
                operand = c;
            break;
        case ROLE_BOOL: t->mask[root_of(t, c)] &= 1u << DT_BOOL; break;
        case ROLE_IDX: t->mask[root_of(t, c)] &= 1u << DT_IDX; break;
        case ROLE_VOID: t->mask[root_of(t, c)] = 1u << DT_VOID; break;
        default: break;
        }
    }
}

/* ---- builders --------------------------------------------------------------------------------------- */

struct fb {
    FILE *o;
    const rule *u;
    struct types t;
    const char *made[MAX_BIND];
    int nmade, ntemp, nop;
};

static const char *hint_of(const rule *u, const char *name) {
    for (int i = 0; name && i < u->nhint; i++)
        if (!strcmp(u->hint[i].name, name)) return u->hint[i].code;
    return NULL;
}

static bool made(struct fb *b, const char *name) {
    for (int i = 0; i < b->nmade; i++)
        if (!strcmp(b->made[i], name)) return true;
    b->made[b->nmade++] = name;
    return false;
}

static void emit_ops(struct fb *b, pat *p) { /* draws the op of each alternation, and narrows types by it */
    if (p->kind != PAT_OP) return;
    p->i = b->nop++;
    fprintf(b->o, "    enum op o%d_ = fz_pick(f, (const enum op[]){", (int)p->i);
    int n = 0;
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o)) fprintf(b->o, "%sOP_%s", n++ ? ", " : "", rg_op[o].name);
    fprintf(b->o, "}, %d);\n", n);
    int r = root_of(&b->t, p->type);
    fprintf(b->o, "    m[%d] &= fz_types(o%d_); (void)o%d_;\n", r, (int)p->i, (int)p->i);
    int op = first_op(p);
    for (int i = 0; i < p->nsrc; i++) {
        if (src_role(op, i) == ROLE_OPERAND)
            fprintf(b->o, "    m[%d] &= fz_types(o%d_);\n", root_of(&b->t, p->src[i]->type), (int)p->i);
        emit_ops(b, p->src[i]);
    }
}

static void emit_numbers(struct fb *b, const pat *p) {
    if (p->kind == PAT_CVAR && !made(b, p->name)) {
        const char *h = hint_of(b->u, p->name);
        int t = root_of(&b->t, p->type);
        fprintf(b->o, "    int64_t %s = %s; (void)%s;\n", p->name, h ? h : xprintf("fz_int(f, t[%d])", t),
                p->name);
    }
    if (p->kind == PAT_KVAR && !made(b, p->name)) {
        const char *h = hint_of(b->u, p->name);
        int t = root_of(&b->t, p->type);
        fprintf(b->o, "    double %s = %s; (void)%s;\n", p->name, h ? h : xprintf("fz_flt(f, t[%d])", t),
                p->name);
    }
    if (p->kind == PAT_INT) fprintf(b->o, "    fz_note(f, INT64_C(%lld));\n", (long long)p->i);
    for (int i = 0; i < p->nsrc; i++) emit_numbers(b, p->src[i]);
}

static void emit_bitcasts(struct fb *b, const pat *p) {
    for (int i = 0; i < p->nsrc; i++) emit_bitcasts(b, p->src[i]);
    if (one_op(p, OP_BITCAST)) {
        int r = root_of(&b->t, p->type), s = root_of(&b->t, p->src[0]->type);
        fprintf(b->o, "    t[%d] = fz_same_width(f, t[%d], m[%d]);\n", r, s, r);
    }
}

static const char *leaf_kind(const pat *parent, int i) {
    if (!parent) return "FZ_VALUE";
    switch (first_op(parent)) {
    case OP_INDEX: return i == 0 ? "FZ_BUF" : "FZ_VALUE";
    case OP_LOAD: return "FZ_ADDR";
    case OP_PRED_LOAD:
    case OP_STORE:
    case OP_STORE_ADD: return i == 0 ? "FZ_ADDR" : "FZ_VALUE";
    case OP_IF: return i ? "FZ_STMT" : "FZ_SCALAR";
    case OP_BLOCK:
    case OP_SINK: return "FZ_STMT";
    case OP_BUILD: return "FZ_SCALAR";
    case OP_EXTRACT:
    case OP_VEC_REDUCE: return "FZ_VECTOR";
    default: return "FZ_VALUE";
    }
}

static const char *emit_node(struct fb *b, const pat *p, const pat *parent, int at) {
    int t = root_of(&b->t, p->type);
    const char *v;
    switch (p->kind) {
    case PAT_VAR:
        if (!made(b, p->name)) {
            const char *h = hint_of(b->u, p->name);
            fprintf(b->o, "    const uop *%s = %s; (void)%s;\n", p->name,
                    h ? h : xprintf("fz_leaf(f, %s, t[%d])", leaf_kind(parent, at), t), p->name);
        }
        return p->name;
    case PAT_ANY: return xprintf("fz_leaf(f, %s, t[%d])", leaf_kind(parent, at), t);
    case PAT_CVAR: return xprintf("uop_int(f->ir, t[%d], dt_wrap(t[%d], %s))", t, t, p->name);
    case PAT_KVAR: return xprintf("uop_flt(f->ir, t[%d], %s)", t, p->name);
    case PAT_INT:
        return xprintf("uop_int(f->ir, t[%d], dt_wrap(t[%d], INT64_C(%lld)))", t, t, (long long)p->i);
    case PAT_FLT:
        return isinf(p->f) ? xprintf("uop_flt(f->ir, t[%d], %sINFINITY)", t, p->f < 0 ? "-" : "")
                           : xprintf("uop_flt(f->ir, t[%d], %a)", t, p->f);
    default: break;
    }
    const char *h = hint_of(b->u, p->name);
    if (h) return h;
    if (one_op(p, OP_CONST)) return xprintf("fz_const(f, t[%d])", t);
    char *list = xprintf("%s", "");
    for (int i = 0; i < p->nsrc; i++) {
        const char *c = emit_node(b, p->src[i], p, i);
        if (p->src[i]->kind != PAT_VAR && p->src[i]->kind != PAT_OP) {
            v = xprintf("q%d_", b->ntemp++);
            fprintf(b->o, "    const uop *%s = %s;\n", v, c);
            c = v;
        }
        list = xprintf("%s%s%s", list, i ? ", " : "", c);
    }
    const char *arg = "FZ_ANY_ARG";
    if (p->arg && !islower((unsigned char)p->arg[0])) arg = xprintf("(int64_t)(%s)", arg_c(p->arg));
    v = xprintf("q%d_", b->ntemp++);
    fprintf(b->o, "    const uop *%s = fz_op(f, o%d_, t[%d], (const uop *[]){%s}, %d, %s);\n", v, (int)p->i,
            t, p->nsrc ? list : "NULL", p->nsrc, arg);
    return v;
}

static bool any_rest(const pat *p) {
    bool r = p->rest;
    for (int i = 0; i < p->nsrc; i++) r |= any_rest(p->src[i]);
    return r;
}

static void emit_builder(FILE *o, const rule *u, const char *fname) {
    fprintf(o, "static const uop *%s(struct fz *f) {\n", fname);
    const char *whole = hint_of(u, "n");
    if (whole) {
        fprintf(o, "    return %s;\n}\n", whole);
        return;
    }
    if (any_rest(u->lhs))
        fail(u->file, u->line,
             "rule %s has `...` on the left: the fuzzer needs a line `fuzz n = {C}` under it", u->name);
    struct fb b = {.o = o, .u = u};
    type_pat(u, &b.t, u->lhs);
    fprintf(o, "    uint32_t m[%d];\n    enum dtype t[%d];\n", b.t.n, b.t.n);
    for (int i = 0; i < b.t.n; i++) {
        if (root_of(&b.t, i) != i) continue;
        if (!b.t.mask[i])
            fail(u->file, u->line, "rule %s: the types on the left side contradict each other", u->name);
        fprintf(o, "    m[%d] = 0x%xu;\n", i, b.t.mask[i]);
    }
    emit_ops(&b, u->lhs);
    for (int i = 0; i < b.t.n; i++)
        if (root_of(&b.t, i) == i) fprintf(o, "    t[%d] = fz_dtype(f, m[%d]); (void)t[%d];\n", i, i, i);
    emit_bitcasts(&b, u->lhs);
    emit_numbers(&b, u->lhs);
    const char *r = emit_node(&b, u->lhs, NULL, 0);
    fprintf(o, "    return %s;\n}\n", r);
}

/* ---- test lines: terms with typed leaves -------------------------------------------------------------- */

struct tb {
    FILE *o;
    const rule *u;
    int line, ntemp;
    const char *name[MAX_BIND], *dt[MAX_BIND];
    int n;
};

static char *upper_dt(const char *s, size_t n) {
    char *d = xprintf("DT_%.*s", (int)n, s);
    for (char *c = d; *c; c++) *c = (char)toupper((unsigned char)*c);
    return d;
}

static void term_names(struct tb *b, const pat *p) {
    if (p->kind == PAT_VAR) {
        for (int i = 0; i < b->n; i++)
            if (!strcmp(b->name[i], p->name)) return;
        b->name[b->n] = p->name;
        const char *dt = p->dt ? p->dt : "idx";
        b->dt[b->n++] = dt;
        size_t n = strcspn(dt, " ");
        if (find_dt(dt, n) == DT_COUNT) fail(b->u->file, b->line, "unknown dtype <%s>", dt);
        long long lo = 0, hi = 0;
        bool bounds = sscanf(dt + n, "%lld %lld", &lo, &hi) == 2;
        fprintf(b->o, "    const uop *v_%s = fz_var(f, \"%s\", %s, %s, %lld, %lld); (void)v_%s;\n", p->name,
                p->name, upper_dt(dt, n), bounds ? "true" : "false", lo, hi, p->name);
    }
    for (int i = 0; i < p->nsrc; i++) term_names(b, p->src[i]);
}

static const char *term_dt(struct tb *b, const pat *p) {
    if (p->kind == PAT_VAR) {
        for (int i = 0; i < b->n; i++)
            if (!strcmp(b->name[i], p->name)) return upper_dt(b->dt[i], strcspn(b->dt[i], " "));
    }
    if (p->kind != PAT_OP) return NULL;
    if (p->dt) return upper_dt(p->dt, strlen(p->dt));
    int op = first_op(p);
    if (rg_op[op].dt == OPD_BOOL) return "DT_BOOL";
    if (rg_op[op].dt == OPD_IDX) return "DT_IDX";
    for (int i = 0; i < p->nsrc; i++) {
        const char *d = src_role(op, i) == ROLE_RESULT ? term_dt(b, p->src[i]) : NULL;
        if (d) return d;
    }
    return NULL;
}

static const char *term(struct tb *b, const pat *p, const char *dt) {
    if (p->kind == PAT_VAR) return xprintf("v_%s", p->name);
    if (p->kind == PAT_INT)
        return xprintf("uop_int(f->ir, %s, INT64_C(%lld))", dt ? dt : "DT_IDX", (long long)p->i);
    if (p->kind == PAT_FLT && isinf(p->f))
        return xprintf("uop_flt(f->ir, %s, %sINFINITY)", dt ? dt : "DT_F32", p->f < 0 ? "-" : "");
    if (p->kind == PAT_FLT) return xprintf("uop_flt(f->ir, %s, %a)", dt ? dt : "DT_F32", p->f);
    if (p->kind != PAT_OP) fail(b->u->file, b->line, "a test holds ops, numbers and names only");
    int op = first_op(p);
    const char *own = term_dt(b, p);
    if (own) dt = own;
    if (op == OP_CONST) return term(b, p->src[0], dt);
    const char *operand = NULL;
    for (int i = 0; i < p->nsrc && !operand; i++)
        if (src_role(op, i) == ROLE_OPERAND) operand = term_dt(b, p->src[i]);
    char *list = xprintf("%s", "");
    for (int i = 0; i < p->nsrc; i++) {
        enum role role = src_role(op, i);
        const char *d = role == ROLE_RESULT    ? dt
                        : role == ROLE_OPERAND ? operand
                        : role == ROLE_BOOL    ? "DT_BOOL"
                                               : "DT_IDX";
        list = xprintf("%s%s%s", list, i ? ", " : "", term(b, p->src[i], d));
    }
    const char *v = xprintf("q%d_", b->ntemp++);
    fprintf(b->o, "    const uop *%s = fz_op(f, OP_%s, %s, (const uop *[]){%s}, %d, %s);\n", v,
            rg_op[op].name, dt ? dt : "DT_IDX", p->nsrc ? list : "NULL", p->nsrc,
            p->arg ? arg_c(p->arg) : "0");
    return v;
}

static const struct set *set_of(const rule *u) {
    for (int i = 0; i < nsets; i++)
        for (int j = 0; j < sets[i].nrule; j++)
            if (sets[i].rule[j] == u) return &sets[i];
    return NULL;
}

static void emit_tests(FILE *o) {
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++)
            for (int k = 0; k < files[i]->rule[j]->ntest; k++) {
                const rule *u = files[i]->rule[j];
                struct tb b = {.o = o, .u = u, .line = u->test[k].line};
                fprintf(o, "static void test_%s_%d(struct fz *f, const uop **l, const uop **r) {\n", u->name,
                        k);
                term_names(&b, u->test[k].lhs);
                term_names(&b, u->test[k].rhs);
                const char *dt = term_dt(&b, u->test[k].lhs);
                fprintf(o, "    *l = %s;\n", term(&b, u->test[k].lhs, dt));
                fprintf(o, "    *r = %s;\n}\n", term(&b, u->test[k].rhs, dt));
            }
    int n = 0;
    fprintf(o, "const struct rule_test %s_test[] = {\n", prefix);
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++)
            for (int k = 0; k < files[i]->rule[j]->ntest; k++, n++) {
                const rule *u = files[i]->rule[j];
                const struct set *s = set_of(u);
                if (!s) fail(u->file, u->line, "rule %s has a test but belongs to no set", u->name);
                fprintf(o, "    {\"%s\", \"%s\", %d, %s_%s, test_%s_%d},\n", u->name, u->file->base,
                        u->test[k].line, prefix, s->name, u->name, k);
            }
    fprintf(o, "    {NULL, NULL, 0, NULL, NULL},\n};\nconst unsigned %s_test_count = %d;\n\n", prefix, n);
}

/* Units in the last place that a result may be off: `fuzz ulp = {2}`. What calls math_* approximates on purpose
 * and has its own tests: -1, not fuzzed here. */
static const char *ulp_of(const rule *u) {
    const char *h = hint_of(u, "ulp");
    return h ? h : u->rhs->kind == PAT_CODE && strstr(u->rhs->code, "math_") ? "-1" : "0";
}

/* ---- the file ------------------------------------------------------------------------------------------ */

void emit_fuzz(FILE *o, const rule *const *mutant, const char *const *what, int nmutant) {
    fprintf(o, "/* made by rulegen; do not edit */\n");
    emit_includes(o, NULL);
    fprintf(o, "#include \"fuzz/fz.h\"\n\n");
    if (strcmp(prefix, "rules"))
        for (int i = 0; i < nsets; i++)
            fprintf(o, "const uop *%s_%s(struct rw *, const uop *);\n", prefix, sets[i].name);
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++) {
            const rule *u = files[i]->rule[j];
            if (u->grad) continue; /* tests/unit/tensor_grad.c differentiates numerically */
            emit_one(o, u, xprintf("one_%s", u->name));
            emit_builder(o, u, xprintf("build_%s", u->name));
        }
    for (int i = 0; i < nmutant; i++) {
        emit_one(o, mutant[i], xprintf("mutant_%d", i));
        emit_builder(o, mutant[i], xprintf("build_mutant_%d", i));
    }
    int n = 0;
    fprintf(o, "const struct rule_fuzz %s_fuzz[] = {\n", prefix);
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++) {
            const rule *u = files[i]->rule[j];
            if (u->grad) continue;
            n++;
            fprintf(o, "    {\"%s\", \"%s\", %d, build_%s, one_%s, %d, %s},\n", u->name, u->file->base,
                    u->line, u->name, u->name, u->guard && strstr(u->guard, "fastmath") ? 1 : 0, ulp_of(u));
        }
    fprintf(o, "    {NULL, NULL, 0, NULL, NULL, 0, 0},\n};\nconst unsigned %s_fuzz_count = %d;\n\n", prefix,
            n);
    fprintf(o, "const struct rule_fuzz %s_mutant[] = {\n", prefix);
    for (int i = 0; i < nmutant; i++) {
        fprintf(o, "    {");
        c_string(o, what[i]);
        fprintf(o, ", \"%s\", %d, build_mutant_%d, mutant_%d, 0, 0},\n", mutant[i]->name, mutant[i]->line, i,
                i);
    }
    fprintf(o, "    {NULL, NULL, 0, NULL, NULL, 0, 0},\n};\nconst unsigned %s_mutant_count = %d;\n\n", prefix,
            nmutant);
    emit_tests(o);
}
