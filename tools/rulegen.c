/* rulegen.c: compiles the .rules files of src/rules and src/tensor into C matchers. A host tool: runs while Ridge is built.
 *
 *     rulegen [-p PREFIX] [-m MUTANTS] -o DIR FILE.rules...
 *
 * writes into DIR
 *     rules_SET.c      the matcher of each `set`: one function per op, one block per rule in file order
 *     rules_table.c    names, places and hit counters of all rules
 *     rules_fuzz.c     for tests: each rule alone, a builder of random instances of its left side, and
 *                      the table of `test` lines; with -m also the planted mutations
 *     rules.txt        a listing for reviews
 * PREFIX replaces "rules" in the names of files and functions (tests have rule sets of their own).
 *
 * The language (docs/internals/rules.md is the manual):
 *     rule NAME : PATTERN [if C-EXPR] => RESULT      an indented line continues the one above
 *     set NAME = file.rules, OTHERSET, ...
 *     test TERM => TERM                              under a rule
 *     fuzz NAME = {C}                                under a rule: how the fuzzer makes what NAME binds
 *     include "rules/math.h"
 *     grad NAME : PATTERN [if C-EXPR] => SOURCE: RESULT, ...     what flows to each source; or `none`
 * Everything wrong with a rule that can be known without running it is an error here, with file:line.
 *
 * Parts: rulegen_parse.c (text to trees), rulegen_check.c (names, order, reachability),
 * rulegen_emit.c (matchers and tables), rulegen_fuzz.c (builders for the tests).
 * Tests: tests/cli/rulegen.sh (errors), tests/unit/rules.c (what is generated). */
#include "rulegen.h"

#include <stdlib.h>
#include <unistd.h>

struct file *files[64];
int nfiles;
struct set sets[32];
int nsets;
const char *prefix = "rules";

enum {
    C = OPF_C,
    A = OPF_A,
    P = OPF_P,
    E = OPF_E,
    M = OPF_M,
    F = OPF_F,
    I = OPF_I,
    W = OPF_W,
    V = UINT16_MAX
};
const struct op_info rg_op[OP_COUNT] = {
#define OP(name, min, max, dt, lanes, arg, flags, unit, weight, flops, ulp, libm, doc) \
    [OP_##name] = {#name,     doc,   min,        max,    OPD_##dt, OPL_##lanes,        \
                   OPA_##arg, flags, OPU_##unit, weight, flops,    ulp},
#include "ir/ops.def"
#undef OP
};
static const char *const dt_name[DT_COUNT] = {
#define DTYPE(name, text, bytes, kind, c) [DT_##name] = text,
#include "ir/dtype.def"
#undef DTYPE
};

void fail(const struct file *f, int line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (f)
        fprintf(stderr, "%s:%d: ", f->path, line);
    else
        fprintf(stderr, "rulegen: ");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

void *xalloc(size_t n) {
    void *p = calloc(1, n ? n : 1);
    if (!p) fail(NULL, 0, "out of memory");
    return p;
}

char *xprintf(const char *fmt, ...) {
    va_list ap;
    char *s;
    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0) fail(NULL, 0, "out of memory");
    va_end(ap);
    return s;
}

bool has_op(const pat *p, int op) { return p->ops[op / 64] >> (op % 64) & 1; }

int first_op(const pat *p) {
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o)) return o;
    return OP_COUNT;
}

bool one_op(const pat *p, int op) {
    if (p->kind != PAT_OP) return false;
    for (int o = 0; o < OP_COUNT; o++)
        if (has_op(p, o) != (o == op)) return false;
    return true;
}

bool is_const_pat(const pat *p) {
    return p->kind == PAT_INT || p->kind == PAT_FLT || p->kind == PAT_CVAR || p->kind == PAT_KVAR ||
           one_op(p, OP_CONST);
}

int find_op(const char *s, size_t n) {
    for (int o = 0; o < OP_COUNT; o++)
        if (strlen(rg_op[o].name) == n && !memcmp(rg_op[o].name, s, n)) return o;
    return OP_COUNT;
}

int find_dt(const char *s, size_t n) {
    for (int d = 0; d < DT_COUNT; d++)
        if (strlen(dt_name[d]) == n && !memcmp(dt_name[d], s, n)) return d;
    return DT_COUNT;
}

/* The typing discipline of ops.def for sources: what it says of results in its dtype column, this says
 * of operands. */
enum role src_role(int op, int i) {
    switch (op) {
    case OP_LT:
    case OP_LE:
    case OP_EQ:
    case OP_NE:
    case OP_SET: return ROLE_OPERAND;
    case OP_WHERE:
    case OP_UNLIKELY: return i == 0 ? ROLE_BOOL : ROLE_RESULT;
    case OP_CAST:
    case OP_BITCAST: return ROLE_FREE;
    case OP_INDEX: return i == 0 ? ROLE_RESULT : ROLE_IDX;
    case OP_PRED_LOAD: return i == 2 ? ROLE_BOOL : ROLE_RESULT;
    case OP_STORE:
    case OP_STORE_ADD: return i == 2 ? ROLE_BOOL : ROLE_OPERAND;
    case OP_STAGE:
    case OP_REDUCE:
    case OP_SCAN: return i == 0 ? ROLE_RESULT : ROLE_IDX;
    case OP_IF: return i == 0 ? ROLE_BOOL : ROLE_VOID;
    case OP_FOR: return i == 0 ? ROLE_IDX : ROLE_VOID;
    case OP_SINK:
    case OP_BLOCK: return ROLE_VOID;
    case OP_PARAM:
    case OP_PARAMS:
    case OP_LOCAL:
    case OP_ACC:
    case OP_RANGE: return ROLE_IDX;
    default: return ROLE_RESULT;
    }
}

/* ---- sets ---------------------------------------------------------------------------------------- */

static void add_part(struct set *s, const char *part, int depth) {
    if (depth > 16) fail(s->from, s->line, "set %s contains itself", s->name);
    for (int i = 0; i < nsets; i++)
        if (!strcmp(sets[i].name, part)) {
            for (int j = 0; j < sets[i].npart; j++) add_part(s, sets[i].part[j], depth + 1);
            return;
        }
    for (int i = 0; i < nfiles; i++)
        if (!strcmp(files[i]->base, part)) {
            for (int j = 0; j < files[i]->nrule; j++) s->rule[s->nrule++] = files[i]->rule[j];
            return;
        }
    fail(s->from, s->line, "set %s: expected a file given to rulegen or a set, found `%s`", s->name, part);
}

static void compose_sets(int total) {
    for (int i = 0; i < nsets; i++) {
        for (int j = 0; j < i; j++)
            if (!strcmp(sets[i].name, sets[j].name))
                fail(sets[i].from, sets[i].line, "set %s is defined twice", sets[i].name);
        sets[i].rule = xalloc(sizeof(rule *) * 8 * (size_t)(total + 1));
        for (int j = 0; j < sets[i].npart; j++) add_part(&sets[i], sets[i].part[j], 0);
        check_set(&sets[i]);
    }
}

static int number_rules(void) {
    int n = 0;
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++) {
            rule *r = files[i]->rule[j];
            for (int k = 0; k <= i; k++)
                for (int l = 0; l < (k == i ? j : files[k]->nrule); l++)
                    if (!strcmp(files[k]->rule[l]->name, r->name))
                        fail(r->file, r->line, "rule %s is defined twice, first at %s:%d", r->name,
                             files[k]->path, files[k]->rule[l]->line);
            r->id = (unsigned)n++;
            check_rule(r);
        }
    return n;
}

/* ---- mutations: RULE | text to find | text to put in its place ------------------------------------ */

static char *trim(char *s) {
    while (*s == ' ' || *s == '\t') s++;
    size_t n = strlen(s);
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\n' || s[n - 1] == '\t')) s[--n] = 0;
    return s;
}

static rule *rule_by_name(const char *name) {
    for (int i = 0; i < nfiles; i++)
        for (int j = 0; j < files[i]->nrule; j++)
            if (!strcmp(files[i]->rule[j]->name, name)) return files[i]->rule[j];
    return NULL;
}

static int read_mutants(const char *path, const rule **out, const char **what, int max) {
    FILE *f = fopen(path, "r");
    if (!f) fail(NULL, 0, "cannot read %s", path);
    struct file *mf = xalloc(sizeof *mf);
    mf->path = mf->base = path;
    char line[1024];
    int n = 0, at = 0;
    while (fgets(line, sizeof line, f)) {
        at++;
        char *s = trim(line);
        if (!*s || *s == '#') continue;
        char *a = strchr(s, '|'), *b = a ? strstr(a + 1, "|>") : NULL;
        if (!b) fail(mf, at, "expected `RULE | text |> replacement`, found `%s`", s);
        *a = *b = 0;
        char *name = trim(s), *from = trim(a + 1), *to = trim(b + 2);
        rule *r = rule_by_name(name);
        if (!r) fail(mf, at, "no rule is called %s", name);
        const char *hit = strstr(r->text, from);
        if (!hit) fail(mf, at, "rule %s has no `%s` in it", name, from);
        if (n == max) fail(mf, at, "more than %d mutations", max);
        char *text = xprintf("%.*s%s%s", (int)(hit - r->text), r->text, to, hit + strlen(from));
        rule *m = parse_rule_text(mf, at, text);
        m->id = r->id;
        memcpy(m->hint, r->hint, sizeof r->hint);
        m->nhint = r->nhint;
        m->lhs = parse_rule_text(mf, at, text)->lhs;
        check_rule(m);
        out[n] = m;
        what[n++] = xprintf("%s: `%s` became `%s`", name, from, to);
    }
    fclose(f);
    return n;
}

/* ---- output: a file changes only if its text does, and by one rename ------------------------------ */

static bool same_text(const char *path, const char *text, size_t n) {
    FILE *f = fopen(path, "r");
    if (!f) return false;
    char *old = xalloc(n + 2);
    size_t got = fread(old, 1, n + 1, f);
    fclose(f);
    return got == n && !memcmp(old, text, n);
}

static void write_out(const char *dir, const char *name, const char *text, size_t n) {
    char *path = xprintf("%s/%s", dir, name);
    if (same_text(path, text, n)) return;
    char *tmp = xprintf("%s.%d", path, (int)getpid());
    FILE *f = fopen(tmp, "w");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f) || rename(tmp, path))
        fail(NULL, 0, "cannot write %s", path);
}

struct out {
    char *text;
    size_t n;
    FILE *f;
};
static FILE *begin(struct out *o) {
    o->f = open_memstream(&o->text, &o->n);
    if (!o->f) fail(NULL, 0, "out of memory");
    return o->f;
}
static void end(struct out *o, const char *dir, const char *name) {
    fclose(o->f);
    write_out(dir, name, o->text, o->n);
}

int main(int argc, char **argv) {
    const char *dir = NULL, *mutants = NULL;
    int opt;
    while ((opt = getopt(argc, argv, "o:p:m:")) != -1) {
        if (opt == 'o')
            dir = optarg;
        else if (opt == 'p')
            prefix = optarg;
        else if (opt == 'm')
            mutants = optarg;
        else
            return 2;
    }
    if (!dir || optind == argc) fail(NULL, 0, "usage: rulegen [-p PREFIX] [-m MUTANTS] -o DIR FILE.rules...");
    for (int i = optind; i < argc; i++) {
        if (nfiles == (int)RG_COUNT(files)) fail(NULL, 0, "too many files");
        struct file *f = files[nfiles++] = xalloc(sizeof *f);
        f->path = argv[i];
        f->base = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
        parse_file(f);
    }
    compose_sets(number_rules());

    struct out o;
    for (int i = 0; i < nsets; i++) {
        emit_set(begin(&o), &sets[i]);
        end(&o, dir, xprintf("%s_%s.c", prefix, sets[i].name));
    }
    emit_table(begin(&o));
    end(&o, dir, xprintf("%s_table.c", prefix));
    static const rule *mutant[200];
    static const char *what[200];
    int nmut = mutants ? read_mutants(mutants, mutant, what, 200) : 0;
    emit_fuzz(begin(&o), mutant, what, nmut);
    end(&o, dir, xprintf("%s_fuzz.c", prefix));
    emit_listing(begin(&o));
    end(&o, dir, xprintf("%s.txt", prefix));
    return 0;
}
