/* rulegen_parse.c: rule files to trees. A statement begins at the left margin; indented lines continue it;
 * `#` starts a comment. Errors name file and line of the statement and show the rest of the text from
 * where reading stopped. Tests: tests/cli/rulegen.sh */
#include "rulegen.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct reader {
    const char *p;
    struct file *file;
    int line;
    bool right; /* a right side: {C} and (o ...) are allowed */
    bool term;  /* of a test line: leaves may be typed, x<idx 0 9> */
};

static void skip(struct reader *r) {
    while (isspace((unsigned char)*r->p)) r->p++;
}

static bool eat(struct reader *r, const char *s) {
    skip(r);
    size_t n = strlen(s);
    if (strncmp(r->p, s, n)) return false;
    r->p += n;
    return true;
}

static void expect(struct reader *r, const char *s, const char *where) {
    if (!eat(r, s))
        fail(r->file, r->line, "expected `%s` %s, found `%.40s`", s, where, *r->p ? r->p : "end of line");
}

static char *ident(struct reader *r, const char *what) {
    skip(r);
    const char *s = r->p;
    while (isalnum((unsigned char)*r->p) || *r->p == '_') r->p++;
    if (s == r->p) fail(r->file, r->line, "expected %s, found `%.40s`", what, *s ? s : "end of line");
    return strndup(s, (size_t)(r->p - s));
}

/* Text up to the closing bracket that matches the one just eaten; not included. */
static char *until(struct reader *r, char open, char close) {
    const char *s = r->p;
    for (int depth = 1; *r->p; r->p++) {
        if (*r->p == open) depth++;
        if (*r->p == close && --depth == 0) {
            char *t = strndup(s, (size_t)(r->p - s));
            r->p++;
            return t;
        }
    }
    fail(r->file, r->line, "`%c` is not closed: `%.40s`", open, s);
}

static bool looks_like(const char *name, char c) {
    if (*name++ != c) return false;
    while (isdigit((unsigned char)*name)) name++;
    return !*name;
}

static pat *new_pat(enum pat_kind k) {
    pat *p = xalloc(sizeof *p);
    p->kind = k;
    return p;
}

static pat *number(struct reader *r) {
    const char *s = r->p;
    char *end;
    errno = 0;
    if (!strncmp(s, "-inf", 4) || !strncmp(s, "inf", 3) || !strncmp(s, "nan", 3)) {
        pat *p = new_pat(PAT_FLT);
        p->f = strtod(s, &end);
        r->p = end;
        return p;
    }
    int64_t i = strtoll(s, &end, 0);
    if (*end != '.' && *end != 'e' && *end != 'p') {
        if (errno) fail(r->file, r->line, "the number %.30s does not fit in 64 bits", s);
        pat *p = new_pat(PAT_INT);
        p->i = i;
        r->p = end;
        return p;
    }
    pat *p = new_pat(PAT_FLT);
    p->f = strtod(s, &end);
    r->p = end;
    return p;
}

static pat *pattern(struct reader *r);

/* @UNIT: all ops of that unit of ops.def. */
static void op_class(struct reader *r, pat *p) {
    static const char *const unit[] = {"NONE", "ALU", "DIV", "EX2", "FN", "FN2"};
    r->p++;
    char *name = ident(r, "a unit");
    for (unsigned u = OPU_ALU; u < sizeof unit / sizeof *unit; u++) {
        if (strcmp(name, unit[u]) != 0) continue;
        for (int o = 0; o < OP_COUNT; o++)
            if (rg_op[o].unit == u) p->ops[o / 64] |= 1ull << (o % 64);
        return;
    }
    fail(r->file, r->line, "unknown unit @%s; units are listed in src/ir/ops.def", name);
}

static void op_list(struct reader *r, pat *p) {
    if (r->right && islower((unsigned char)*r->p)) {
        p->opvar = ident(r, "an op");
        return;
    }
    do {
        skip(r);
        if (*r->p == '@') {
            op_class(r, p);
            continue;
        }
        char *name = ident(r, "an op");
        int o = find_op(name, strlen(name));
        if (o == OP_COUNT) fail(r->file, r->line, "unknown op %s; ops are listed in src/ir/ops.def", name);
        p->ops[o / 64] |= 1ull << (o % 64);
    } while (*r->p == '|' && r->p++);
    if (*r->p == ':') {
        r->p++;
        if (r->right) fail(r->file, r->line, "`:name` after an op belongs on the left side");
        p->opvar = ident(r, "a name for the op");
    }
}

static pat *op_pattern(struct reader *r) {
    pat *p = new_pat(PAT_OP);
    skip(r);
    op_list(r, p);
    if (*r->p == '<') r->p++, p->dt = until(r, '<', '>');
    if (*r->p == '[') r->p++, p->arg = until(r, '[', ']');
    for (;;) {
        if (eat(r, ")")) return p;
        if (eat(r, "...")) {
            p->rest = true;
            expect(r, ")", "after `...`");
            return p;
        }
        if (!*r->p) fail(r->file, r->line, "`(` is not closed");
        if (p->nsrc == MAX_SRC) fail(r->file, r->line, "more than %d sources", MAX_SRC);
        p->src[p->nsrc++] = pattern(r);
    }
}

static pat *pattern(struct reader *r) {
    skip(r);
    char c = *r->p;
    if (c == '(') {
        r->p++;
        return op_pattern(r);
    }
    if (c == '{') {
        if (!r->right) fail(r->file, r->line, "{C} belongs on the right side");
        r->p++;
        pat *p = new_pat(PAT_CODE);
        p->code = until(r, '{', '}');
        return p;
    }
    if (isdigit((unsigned char)c) || c == '-') return number(r);
    if (!strncmp(r->p, "inf", 3) && !isalnum((unsigned char)r->p[3])) return number(r);
    if (c == '_' && !isalnum((unsigned char)r->p[1])) {
        if (r->right) fail(r->file, r->line, "`_` belongs on the left side");
        r->p++;
        return new_pat(PAT_ANY);
    }
    if (!islower((unsigned char)c))
        fail(r->file, r->line, "expected a pattern, found `%.40s`", *r->p ? r->p : "end of line");
    char *name = ident(r, "a name");
    if (*r->p == ':' && !r->right) {
        r->p++;
        pat *p = pattern(r);
        if (p->name || p->kind == PAT_VAR) fail(r->file, r->line, "%s: a pattern has two names", name);
        p->name = name;
        return p;
    }
    pat *p = new_pat(looks_like(name, 'c') ? PAT_CVAR : looks_like(name, 'k') ? PAT_KVAR : PAT_VAR);
    p->name = name;
    if (r->term) p->kind = PAT_VAR;
    if (r->term && *r->p == '<') r->p++, p->dt = until(r, '<', '>');
    return p;
}

/* ---- statements ----------------------------------------------------------------------------------- */

/* The guard runs from ` if ` to the `=>` outside all brackets. */
static const char *find_arrow(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        if (strchr("({[", *s)) depth++;
        if (strchr(")}]", *s)) depth--;
        if (!depth && s[0] == '=' && s[1] == '>') return s;
    }
    return NULL;
}

static char *trimmed(const char *s, size_t n) {
    while (n && isspace((unsigned char)*s)) s++, n--;
    while (n && isspace((unsigned char)s[n - 1])) n--;
    return strndup(s, n);
}

/* NAME : PATTERN [if C-EXPR] =>, which rules and gradients have in common. */
static rule *rule_head(struct reader *in, const char *text) {
    struct reader r = *in;
    struct file *f = r.file;
    int line = r.line;
    rule *u = xalloc(sizeof *u);
    u->file = f;
    u->line = line;
    u->text = trimmed(text, strlen(text));
    u->name = ident(&r, "the name of the rule");
    expect(&r, ":", "after the name of the rule");
    u->lhs = pattern(&r);
    if (u->lhs->kind != PAT_OP) fail(f, line, "the left side of a rule must be (OP ...)");
    skip(&r);
    if (!strncmp(r.p, "if", 2) && !isalnum((unsigned char)r.p[2])) {
        const char *arrow = find_arrow(r.p);
        if (!arrow) fail(f, line, "expected `=>` after the condition");
        u->guard = trimmed(r.p + 2, (size_t)(arrow - r.p - 2));
        if (!*u->guard) fail(f, line, "`if` without a condition");
        r.p = arrow;
    }
    expect(&r, "=>", "before the result");
    r.right = true;
    *in = r;
    return u;
}

rule *parse_rule_text(struct file *f, int line, const char *text) {
    struct reader r = {.p = text, .file = f, .line = line};
    rule *u = rule_head(&r, text);
    u->rhs = pattern(&r);
    skip(&r);
    if (*r.p) fail(f, line, "expected the end of the rule, found `%.40s`", r.p);
    return u;
}

/* => a: RESULT, b: RESULT    or    => none */
static rule *parse_grad_text(struct file *f, int line, const char *text) {
    struct reader r = {.p = text, .file = f, .line = line};
    rule *u = rule_head(&r, text);
    u->grad = true;
    do {
        struct flow w = {.name = ident(&r, "a source and `:`, or `none`")};
        if (!strcmp(w.name, "none") && !u->nflow) break;
        expect(&r, ":", "after the source that a gradient flows to");
        w.rhs = pattern(&r);
        if (u->nflow == (int)RG_COUNT(u->flow)) fail(f, line, "more than %d sources", u->nflow);
        u->flow[u->nflow++] = w;
    } while (eat(&r, ","));
    skip(&r);
    if (*r.p) fail(f, line, "expected `,` or the end of the gradient, found `%.40s`", r.p);
    return u;
}

static void test_statement(struct file *f, int line, const char *text) {
    if (!f->nrule) fail(f, line, "`test` stands under a rule");
    rule *u = f->rule[f->nrule - 1];
    if (u->grad)
        fail(f, line, "a gradient has no `test` lines: tests/unit/tensor_grad.c differentiates numerically");
    if (u->ntest == (int)RG_COUNT(u->test)) fail(f, line, "more than %d tests under one rule", u->ntest);
    struct reader r = {.p = text, .file = f, .line = line, .term = true};
    struct test_line *t = &u->test[u->ntest++];
    t->line = line;
    t->lhs = pattern(&r);
    expect(&r, "=>", "in a test");
    t->rhs = pattern(&r);
    skip(&r);
    if (*r.p) fail(f, line, "expected the end of the test, found `%.40s`", r.p);
}

static void fuzz_statement(struct file *f, int line, const char *text) {
    if (!f->nrule) fail(f, line, "`fuzz` stands under a rule");
    rule *u = f->rule[f->nrule - 1];
    if (u->grad)
        fail(f, line, "a gradient has no `fuzz` lines: tests/unit/tensor_grad.c differentiates numerically");
    if (u->nhint == (int)RG_COUNT(u->hint)) fail(f, line, "too many fuzz lines under one rule");
    struct reader r = {.p = text, .file = f, .line = line};
    struct hint *h = &u->hint[u->nhint++];
    h->name = ident(&r, "a name bound by the rule");
    expect(&r, "=", "after the name");
    expect(&r, "{", "before the C expression");
    h->code = until(&r, '{', '}');
}

static void set_statement(struct file *f, int line, const char *text) {
    if (nsets == (int)RG_COUNT(sets)) fail(f, line, "too many sets");
    struct set *s = &sets[nsets++];
    struct reader r = {.p = text, .file = f, .line = line};
    s->from = f;
    s->line = line;
    s->name = ident(&r, "the name of the set");
    expect(&r, "=", "after the name of the set");
    do {
        skip(&r);
        const char *b = r.p;
        while (isalnum((unsigned char)*r.p) || *r.p == '_' || *r.p == '.') r.p++;
        if (b == r.p) fail(f, line, "expected a file or a set, found `%.40s`", *b ? b : "end of line");
        if (s->npart == (int)RG_COUNT(s->part)) fail(f, line, "too many parts in set %s", s->name);
        s->part[s->npart++] = strndup(b, (size_t)(r.p - b));
    } while (eat(&r, ","));
    skip(&r);
    if (*r.p) fail(f, line, "expected `,` or the end of the set, found `%.40s`", r.p);
}

static void statement(struct file *f, int line, const char *text) {
    struct reader r = {.p = text, .file = f, .line = line};
    char *word = ident(&r, "`rule`, `grad`, `set`, `test`, `fuzz` or `include`");
    skip(&r);
    bool grad = !strcmp(word, "grad");
    if (grad || !strcmp(word, "rule")) {
        if (f->nrule == (int)RG_COUNT(f->rule)) fail(f, line, "more than %d rules in one file", f->nrule);
        rule *u = grad ? parse_grad_text(f, line, r.p) : parse_rule_text(f, line, r.p);
        f->rule[f->nrule++] = u;
    } else if (!strcmp(word, "test")) {
        test_statement(f, line, r.p);
    } else if (!strcmp(word, "fuzz")) {
        fuzz_statement(f, line, r.p);
    } else if (!strcmp(word, "set")) {
        set_statement(f, line, r.p);
    } else if (!strcmp(word, "include")) {
        if (f->ninclude == (int)RG_COUNT(f->include)) fail(f, line, "too many includes");
        expect(&r, "\"", "before the name of a header");
        f->include[f->ninclude++] = until(&r, '\0', '"');
    } else {
        fail(f, line, "expected `rule`, `grad`, `set`, `test`, `fuzz` or `include`, found `%s`", word);
    }
}

static void squeeze(char *s) { /* runs of blanks become one */
    char *o = s;
    for (; *s; s++)
        if (!isspace((unsigned char)*s) || (o[-1] != ' ')) *o++ = isspace((unsigned char)*s) ? ' ' : *s;
    *o = 0;
}

void parse_file(struct file *f) {
    FILE *in = fopen(f->path, "r");
    if (!in) fail(NULL, 0, "cannot read %s", f->path);
    char *line = NULL, *text = NULL;
    size_t cap = 0;
    int at = 0, start = 0;
    while (getline(&line, &cap, in) >= 0) {
        at++;
        char *hash = strchr(line, '#');
        if (hash) *hash = 0;
        bool blank = !line[strspn(line, " \t\r\n")];
        if (blank) continue;
        if (isspace((unsigned char)*line)) {
            if (!text) fail(f, at, "an indented line continues the one above, but there is none");
            text = xprintf("%s %s", text, line);
            continue;
        }
        if (text) squeeze(text), statement(f, start, text);
        text = strdup(line);
        start = at;
    }
    if (text) squeeze(text), statement(f, start, text);
    fclose(in);
}
