/* rulegen_check.c: everything that can be wrong with a rule before it runs.
 *
 * Names: a name on the right is bound on the left; c.. and k.. and single letters inside {C} and guards
 * too (other identifiers may be C functions). Arity and arguments follow ops.def. Order: nodes store the
 * operands of commutative ops sorted (constants right, then op rank, then id); a left side that can never
 * match is an error, and where both orders can occur the rule is expanded into both. Reachability: a rule
 * after an unconditional, more general one in the same set is an error.
 * Tests: tests/cli/rulegen.sh */
#include "rulegen.h"

#include <ctype.h>

/* ---- names ---------------------------------------------------------------------------------------- */

struct names {
    const char *name[MAX_BIND];
    char kind[MAX_BIND]; /* n node, c int, k float, o op */
    int n;
};

static int name_find(const struct names *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], name)) return i;
    return -1;
}

static void name_bind(const rule *u, struct names *s, const char *name, char kind) {
    static const char *const reserved[] = {"n", "rw", "cx", "if", "r", "inf", "nan", "do", "int"};
    for (size_t i = 0; i < RG_COUNT(reserved); i++)
        if (!strcmp(name, reserved[i]))
            fail(u->file, u->line, "rule %s: the name `%s` is reserved", u->name, name);
    int i = name_find(s, name);
    if (i >= 0) {
        if (s->kind[i] != kind)
            fail(u->file, u->line, "rule %s: `%s` names two kinds of things", u->name, name);
        return;
    }
    if (s->n == MAX_BIND) fail(u->file, u->line, "rule %s: too many names", u->name);
    s->name[s->n] = name;
    s->kind[s->n++] = kind;
}

static bool lower_name(const char *s) {
    if (!islower((unsigned char)*s)) return false;
    while (isalnum((unsigned char)*s) || *s == '_') s++;
    return !*s;
}

static void collect(const rule *u, const pat *p, struct names *s) {
    if (p->kind == PAT_VAR)
        name_bind(u, s, p->name, 'n');
    else if (p->kind == PAT_CVAR)
        name_bind(u, s, p->name, 'c');
    else if (p->kind == PAT_KVAR)
        name_bind(u, s, p->name, 'k');
    else if (p->name)
        name_bind(u, s, p->name, 'n');
    if (p->opvar) name_bind(u, s, p->opvar, 'o');
    if (p->kind == PAT_OP && p->arg && lower_name(p->arg))
        name_bind(u, s, p->arg, rg_op[first_op(p)].arg == OPA_OP ? 'o' : 'c');
    for (int i = 0; i < p->nsrc; i++) collect(u, p->src[i], s);
}

/* Calls fn for each identifier of C text that is not a member, a call or part of a string. */
static void each_ident(const char *c, void (*fn)(void *, const char *, size_t), void *cx) {
    char before = 0;
    while (*c) {
        if (*c == '"') {
            for (c++; *c && *c != '"'; c++)
                if (*c == '\\' && c[1]) c++;
            if (*c) c++;
            continue;
        }
        if (!isalpha((unsigned char)*c) && *c != '_') {
            if (isdigit((unsigned char)*c)) { /* 0x1p3, 10ull */
                while (isalnum((unsigned char)*c) || *c == '.') c++;
                before = '0';
                continue;
            }
            if (!isspace((unsigned char)*c)) before = *c;
            c++;
            continue;
        }
        const char *b = c;
        while (isalnum((unsigned char)*c) || *c == '_') c++;
        const char *after = c;
        while (isspace((unsigned char)*after)) after++;
        bool member = before == '.' || (before == '>' && b[-1] == '>' && b[-2] == '-');
        if (!member && *after != '(') fn(cx, b, (size_t)(c - b));
        before = 'a';
    }
}

struct code_check {
    const rule *u;
    const struct names *s;
    const char *want;
    bool found;
};

static void check_ident(void *cx, const char *b, size_t n) {
    struct code_check *k = cx;
    bool plain = islower((unsigned char)b[0]);
    bool numbered = b[0] == 'c' || b[0] == 'k';
    for (size_t i = 1; i < n; i++) numbered &= isdigit((unsigned char)b[i]) != 0;
    if (!plain || (n > 1 && !numbered) || (n == 1 && (*b == 'n' || *b == 'f'))) return;
    char *name = strndup(b, n);
    if (name_find(k->s, name) < 0)
        fail(k->u->file, k->u->line, "rule %s: `%s` is not bound on the left side", k->u->name, name);
}

static void match_ident(void *cx, const char *b, size_t n) {
    struct code_check *k = cx;
    if (strlen(k->want) == n && !memcmp(k->want, b, n)) k->found = true;
}

bool name_in_code(const char *code, const char *name) {
    struct code_check k = {.want = name};
    if (code) each_ident(code, match_ident, &k);
    return k.found;
}

static void check_bound(const rule *u, const struct names *s, const char *name, char kind) {
    int i = name_find(s, name);
    if (i < 0) fail(u->file, u->line, "rule %s: `%s` is not bound on the left side", u->name, name);
    if (kind != s->kind[i])
        fail(u->file, u->line, "rule %s: `%s` cannot be used here: it is bound to %s", u->name, name,
             s->kind[i] == 'o'   ? "an op"
             : s->kind[i] == 'n' ? "a node"
                                 : "a number");
}

static const pat *find_opvar(const pat *p, const char *name) {
    if (p->opvar && !strcmp(p->opvar, name)) return p;
    for (int i = 0; i < p->nsrc; i++) {
        const pat *q = find_opvar(p->src[i], name);
        if (q) return q;
    }
    return NULL;
}

/* ---- shape of one node ----------------------------------------------------------------------------- */

static void check_arity(const rule *u, const pat *p, bool right) {
    for (int o = 0; o < OP_COUNT; o++) {
        if (!has_op(p, o)) continue;
        const struct op_info *i = &rg_op[o];
        if (o == OP_CONST && right) {
            if (p->nsrc != 1) fail(u->file, u->line, "rule %s: (CONST value) takes one value", u->name);
            continue;
        }
        bool few = p->nsrc < i->min_src && !p->rest, many = p->nsrc > i->max_src;
        if (few || many)
            fail(u->file, u->line, "rule %s: %s has %d sources, expected %d%s", u->name, i->name, p->nsrc,
                 i->min_src,
                 i->max_src == UINT16_MAX  ? " or more"
                 : i->max_src > i->min_src ? " or up to its maximum"
                                           : "");
        if (p->arg && i->arg == OPA_NONE)
            fail(u->file, u->line, "rule %s: %s has no [argument]", u->name, i->name);
    }
}

static bool dt_known(const char *dt) {
    static const char *const classes[] = {"int", "float", "wrap"};
    for (const char *s = dt; *s;) {
        size_t n = strcspn(s, "|");
        bool ok = find_dt(s, n) < DT_COUNT;
        for (size_t i = 0; i < RG_COUNT(classes); i++)
            ok |= strlen(classes[i]) == n && !memcmp(classes[i], s, n);
        if (!ok) return false;
        s += n;
        if (*s) s++;
    }
    return *dt;
}

/* An alternation stands for one shape: its ops must type their sources and results alike. */
static void check_alike(const rule *u, const pat *p) {
    int a = first_op(p);
    for (int o = a + 1; o < OP_COUNT; o++) {
        if (!has_op(p, o)) continue;
        bool same = rg_op[o].dt == rg_op[a].dt && rg_op[o].arg == rg_op[a].arg;
        for (int i = 0; i < p->nsrc; i++) same &= src_role(o, i) == src_role(a, i);
        if (!same)
            fail(u->file, u->line, "rule %s: %s and %s cannot stand in one alternation: their types differ",
                 u->name, rg_op[a].name, rg_op[o].name);
    }
}

static void check_left(const rule *u, const pat *p) {
    if (p->kind != PAT_OP) return;
    check_arity(u, p, false);
    if (!p->rest) check_alike(u, p);
    if (p->dt && !dt_known(p->dt))
        fail(u->file, u->line,
             "rule %s: unknown dtype <%s>; expected a name of src/ir/dtype.def or int, float, wrap", u->name,
             p->dt);
    for (int i = 0; i < p->nsrc; i++) check_left(u, p->src[i]);
}

static int count_rest(const pat *p) {
    int n = p->rest;
    for (int i = 0; i < p->nsrc; i++) n += count_rest(p->src[i]);
    return n;
}

static void check_right(const rule *u, pat *p, const struct names *s) {
    switch (p->kind) {
    case PAT_VAR:
        if (strcmp(p->name, "n")) check_bound(u, s, p->name, 'n');
        return;
    case PAT_CVAR: check_bound(u, s, p->name, 'c'); return;
    case PAT_KVAR: check_bound(u, s, p->name, 'k'); return;
    case PAT_CODE: each_ident(p->code, check_ident, &(struct code_check){u, s, NULL, false}); return;
    case PAT_OP: break;
    default: return;
    }
    if (p->opvar) {
        check_bound(u, s, p->opvar, 'o');
        const pat *q = find_opvar(u->lhs, p->opvar);
        if (!q)
            fail(u->file, u->line, "rule %s: `%s` is an argument, not the op of a node", u->name, p->opvar);
        memcpy(p->ops, q->ops, sizeof p->ops);
    }
    check_arity(u, p, true);
    if (p->dt && find_dt(p->dt, strlen(p->dt)) == DT_COUNT && strcmp(p->dt, "n"))
        check_bound(u, s, p->dt, 'n');
    if (p->arg && lower_name(p->arg) && name_find(s, p->arg) < 0)
        fail(u->file, u->line, "rule %s: `%s` is not bound on the left side", u->name, p->arg);
    int o = first_op(p);
    if (rg_op[o].lanes == OPL_SELF && o != OP_BUILD)
        fail(u->file, u->line, "rule %s: the lanes of %s cannot be inferred; build it with a C helper",
             u->name, rg_op[o].name);
    if (p->rest && count_rest(u->lhs) != 1)
        fail(u->file, u->line, "rule %s: `...` on the right needs exactly one on the left", u->name);
    for (int i = 0; i < p->nsrc; i++) check_right(u, p->src[i], s);
}

/* ---- canonical order and variants ------------------------------------------------------------------ */

static void rank_range(const pat *p, int *lo, int *hi) {
    *lo = 0, *hi = OP_COUNT;
    if (p->kind != PAT_OP) return;
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o)) *hi = o;
    *lo = first_op(p);
}

/* Can a stand left of b in a sorted pair? */
static bool can_precede(const pat *a, const pat *b) {
    if (is_const_pat(b)) return true;
    if (is_const_pat(a)) return false;
    int alo, ahi, blo, bhi;
    rank_range(a, &alo, &ahi);
    rank_range(b, &blo, &bhi);
    return alo <= bhi;
}

static bool same_pat(const pat *a, const pat *b) {
    if (a->kind != b->kind || a->nsrc != b->nsrc || a->rest != b->rest) return false;
    if ((a->name || b->name) && (!a->name || !b->name || strcmp(a->name, b->name))) return false;
    if (a->kind == PAT_ANY) return false; /* two wildcards need not be one node */
    if (memcmp(a->ops, b->ops, sizeof a->ops) || a->i != b->i || memcmp(&a->f, &b->f, sizeof a->f))
        return false;
    if ((a->dt || b->dt) && (!a->dt || !b->dt || strcmp(a->dt, b->dt))) return false;
    if ((a->arg || b->arg) && (!a->arg || !b->arg || strcmp(a->arg, b->arg))) return false;
    for (int i = 0; i < a->nsrc; i++)
        if (!same_pat(a->src[i], b->src[i])) return false;
    return true;
}

struct bindings {
    const char *name[MAX_BIND];
    const pat *to[MAX_BIND];
    int n;
};

static bool bind_same(struct bindings *m, const char *name, const pat *b) {
    if (!name) return true;
    for (int i = 0; i < m->n; i++)
        if (!strcmp(m->name[i], name)) return same_pat(m->to[i], b);
    if (m->n == MAX_BIND) return false;
    m->name[m->n] = name;
    m->to[m->n++] = b;
    return true;
}

/* Does `a` match everything that `b` matches? May say no where the answer is yes. */
static bool subsumes(const pat *a, const pat *b, struct bindings *m) {
    switch (a->kind) {
    case PAT_ANY: return true;
    case PAT_VAR: return bind_same(m, a->name, b);
    case PAT_CVAR: return (b->kind == PAT_INT || b->kind == PAT_CVAR) && bind_same(m, a->name, b);
    case PAT_KVAR: return (b->kind == PAT_FLT || b->kind == PAT_KVAR) && bind_same(m, a->name, b);
    case PAT_INT: return b->kind == PAT_INT && a->i == b->i;
    case PAT_FLT: return b->kind == PAT_FLT && !memcmp(&a->f, &b->f, sizeof a->f);
    default: break;
    }
    if (one_op(a, OP_CONST) && !a->dt && is_const_pat(b)) return bind_same(m, a->name, b);
    if (b->kind != PAT_OP) return false;
    for (int i = 0; i < OP_WORDS; i++)
        if (b->ops[i] & ~a->ops[i]) return false;
    if (a->dt && (!b->dt || strcmp(a->dt, b->dt))) return false;
    if (a->arg && !lower_name(a->arg) && (!b->arg || strcmp(a->arg, b->arg))) return false;
    if (a->rest ? a->nsrc > b->nsrc : a->nsrc != b->nsrc || b->rest) return false;
    for (int i = 0; i < a->nsrc; i++)
        if (!subsumes(a->src[i], b->src[i], m)) return false;
    return bind_same(m, a->name, b);
}

static int count_name(const pat *p, const char *name) {
    int n = p->kind == PAT_VAR && p->name && !strcmp(p->name, name);
    for (int i = 0; i < p->nsrc; i++) n += count_name(p->src[i], name);
    return n;
}

/* Two plain variables: the other order says nothing new unless something tells them apart. */
static bool order_matters(const rule *u, const pat *a, const pat *b) {
    bool plain = (a->kind == PAT_VAR || a->kind == PAT_ANY) && (b->kind == PAT_VAR || b->kind == PAT_ANY);
    if (!plain) return true;
    const char *x = a->name, *y = b->name;
    if (!x && !y) return false;
    if (x && y && !strcmp(x, y)) return false;
    return (x && (count_name(u->lhs, x) > 1 || name_in_code(u->guard, x))) ||
           (y && (count_name(u->lhs, y) > 1 || name_in_code(u->guard, y)));
}

struct plist {
    pat *p[64];
    int n;
};

static pat *copy_pat(const pat *p) {
    pat *q = xalloc(sizeof *q);
    *q = *p;
    return q;
}

static void list_add(const rule *u, struct plist *l, pat *p) {
    if (l->n == (int)RG_COUNT(l->p)) fail(u->file, u->line, "rule %s: too many operand orders", u->name);
    l->p[l->n++] = p;
}

static void add_orders(const rule *u, struct plist *out, pat *p, bool commutes) {
    if (!commutes || p->nsrc != 2) {
        list_add(u, out, p);
        return;
    }
    pat *a = p->src[0], *b = p->src[1];
    if (!can_precede(a, b))
        fail(u->file, u->line,
             "rule %s: the left side is not canonical and would never match: operands of %s are stored with "
             "constants right, then in the order of src/ir/ops.def; swap them",
             u->name, rg_op[first_op(p)].name);
    list_add(u, out, p);
    if ((is_const_pat(a) && is_const_pat(b)) || !can_precede(b, a) || !order_matters(u, a, b)) return;
    pat *q = copy_pat(p);
    q->src[0] = b;
    q->src[1] = a;
    if (!u->guard && !u->grad && u->rhs->kind != PAT_CODE && subsumes(p, q, &(struct bindings){.n = 0}))
        return;
    list_add(u, out, q);
}

static void expand(const rule *u, const pat *p, struct plist *out) {
    if (p->kind != PAT_OP) {
        list_add(u, out, copy_pat(p));
        return;
    }
    struct plist cur = {.p = {copy_pat(p)}, .n = 1};
    for (int i = 0; i < p->nsrc; i++) {
        struct plist child = {.n = 0}, next = {.n = 0};
        expand(u, p->src[i], &child);
        for (int a = 0; a < cur.n; a++)
            for (int b = 0; b < child.n; b++) {
                pat *q = copy_pat(cur.p[a]);
                q->src[i] = child.p[b];
                list_add(u, &next, q);
            }
        cur = next;
    }
    uint64_t comm[OP_WORDS] = {0}, other[OP_WORDS] = {0};
    bool any_c = false, any_o = false;
    for (int o = 0; o < OP_COUNT; o++) {
        if (!has_op(p, o)) continue;
        if (rg_op[o].flags & OPF_C)
            comm[o / 64] |= 1ull << (o % 64), any_c = true;
        else
            other[o / 64] |= 1ull << (o % 64), any_o = true;
    }
    for (int a = 0; a < cur.n; a++) {
        if (any_o) {
            pat *q = copy_pat(cur.p[a]);
            memcpy(q->ops, other, sizeof other);
            add_orders(u, out, q, false);
        }
        if (any_c) {
            pat *q = copy_pat(cur.p[a]);
            memcpy(q->ops, comm, sizeof comm);
            add_orders(u, out, q, true);
        }
    }
}

/* A gradient flows to sources of the node, each once; `g` is what flows to the node itself. */
static void check_flows(const rule *u, struct names *s) {
    if (name_find(s, "g") >= 0)
        fail(u->file, u->line, "grad %s: `g` is the gradient of the node; name the source otherwise",
             u->name);
    name_bind(u, s, "g", 'n');
    for (int i = 0; i < u->nflow; i++) {
        bool source = false;
        for (int j = 0; j < u->lhs->nsrc; j++)
            source |= u->lhs->src[j]->name && !strcmp(u->lhs->src[j]->name, u->flow[i].name);
        if (!source)
            fail(u->file, u->line, "grad %s: `%s` is not a source of %s", u->name, u->flow[i].name,
                 rg_op[first_op(u->lhs)].name);
        for (int j = 0; j < i; j++)
            if (!strcmp(u->flow[i].name, u->flow[j].name))
                fail(u->file, u->line, "grad %s: `%s` is named twice", u->name, u->flow[i].name);
        if (count_rest(u->flow[i].rhs))
            fail(u->file, u->line, "grad %s: `...` on the right; use a C helper", u->name);
        check_right(u, u->flow[i].rhs, s);
    }
}

void check_rule(rule *u) {
    struct names s = {.n = 0};
    collect(u, u->lhs, &s);
    check_left(u, u->lhs);
    if (u->grad)
        check_flows(u, &s);
    else
        check_right(u, u->rhs, &s);
    if (u->guard) each_ident(u->guard, check_ident, &(struct code_check){u, &s, NULL, false});
    for (int i = 0; i < u->nhint; i++)
        if (strcmp(u->hint[i].name, "n") && strcmp(u->hint[i].name, "ulp") &&
            name_find(&s, u->hint[i].name) < 0)
            fail(u->file, u->line, "rule %s: fuzz line for `%s`, which is not bound", u->name,
                 u->hint[i].name);
    struct plist l = {.n = 0};
    expand(u, u->lhs, &l);
    memcpy(u->var, l.p, sizeof l.p);
    u->nvar = l.n;
}

/* ---- a whole set ----------------------------------------------------------------------------------- */

static bool unconditional(const rule *u) { return !u->guard && (u->grad || u->rhs->kind != PAT_CODE); }

static bool covers(const rule *a, const rule *b) {
    for (int j = 0; j < b->nvar; j++) {
        bool covered = false;
        for (int i = 0; i < a->nvar && !covered; i++)
            covered = subsumes(a->var[i], b->var[j], &(struct bindings){.n = 0});
        if (!covered) return false;
    }
    return true;
}

static bool same_guard(const rule *a, const rule *b) {
    if (!a->guard || !b->guard) return a->guard == b->guard;
    return !strcmp(a->guard, b->guard);
}

void check_set(struct set *s) {
    s->grad = s->nrule && s->rule[0]->grad;
    for (int j = 0; j < s->nrule; j++)
        for (int i = 0; i < j; i++) {
            rule *a = s->rule[i], *b = s->rule[j];
            if (a->grad != b->grad)
                fail(b->file, b->line, "set %s has rules and gradients; they cannot be mixed", s->name);
            if (a == b) fail(s->from, s->line, "set %s contains rule %s twice", s->name, a->name);
            if (unconditional(a) && covers(a, b))
                fail(b->file, b->line,
                     "rule %s is never reached in set %s: rule %s (%s:%d) matches everything it does",
                     b->name, s->name, a->name, a->file->path, a->line);
            if (a->guard && same_guard(a, b) && covers(a, b) && covers(b, a) &&
                (a->grad || a->rhs->kind != PAT_CODE))
                fail(b->file, b->line, "rule %s is a duplicate of %s (%s:%d)", b->name, a->name,
                     a->file->path, a->line);
        }
}
