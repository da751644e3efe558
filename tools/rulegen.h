/* rulegen.h: what the parts of the rule compiler share. See rulegen.c for the whole.
 *
 * A rule is a tree of `struct pat` on each side. The left tree is expanded into variants (operand orders
 * that the canonical order allows), each variant becomes one block of C in the matcher.
 * The tool is a short-lived host program: it allocates and never frees. */
#ifndef RIDGE_RULEGEN_H
#define RIDGE_RULEGEN_H

#include "ir/ir.h"

enum pat_kind {
    PAT_ANY,  /* _ */
    PAT_VAR,  /* x: a node */
    PAT_CVAR, /* c, c1: an integer constant, by value */
    PAT_KVAR, /* k, k1: a float constant, by value */
    PAT_INT,  /* 3 */
    PAT_FLT,  /* 3.0, -0.0, inf */
    PAT_OP,   /* (OP ...) */
    PAT_CODE, /* {C}, right sides only */
};
enum { MAX_SRC = 12, MAX_BIND = 32, OP_WORDS = (OP_COUNT + 63) / 64 };

typedef struct pat pat;
struct pat {
    enum pat_kind kind;
    const char *name;       /* variable, or the NAME of NAME:PATTERN; NULL if none */
    uint64_t ops[OP_WORDS]; /* PAT_OP: set of opcodes */
    const char *opvar;      /* (A|B:o ...) binds o; on the right (o ...) */
    const char *dt, *arg;   /* text in <> and []; NULL if none */
    int64_t i;
    double f;
    const char *code;
    pat *src[MAX_SRC];
    int nsrc;
    bool rest; /* ends in ... */
    int type;  /* type class, set by the fuzz emitter */
};

struct test_line {
    pat *lhs, *rhs;
    int line;
};
struct hint { /* fuzz NAME = {C} */
    const char *name, *code;
};
struct flow { /* NAME: RESULT of a gradient */
    const char *name;
    pat *rhs;
};
struct file;
typedef struct rule rule;
struct rule {
    const char *name, *guard; /* guard: C text or NULL */
    const char *text;         /* one line for listings */
    pat *lhs, *rhs;           /* rhs is NULL for a gradient */
    bool grad;                /* `grad`: what flows to each source, instead of one result */
    struct flow flow[4];
    int nflow;
    struct file *file;
    int line;
    unsigned id;
    pat *var[64]; /* variants */
    int nvar;
    struct test_line test[8];
    int ntest;
    struct hint hint[8];
    int nhint;
};
struct file {
    const char *path, *base; /* base: without folders */
    const char *include[8];
    int ninclude;
    rule *rule[400];
    int nrule;
};
struct set {
    const char *name;
    const char *part[32];
    int npart, line;
    struct file *from;
    rule **rule;
    int nrule;
    bool grad; /* all its rules are gradients */
};

/* rulegen.c */
extern struct file *files[64];
extern int nfiles;
extern struct set sets[32];
extern int nsets;
extern const char *prefix; /* of generated functions: "rules" */
void fail(const struct file *, int line, const char *fmt, ...) RG_FMT(3, 4) RG_NORETURN;
void *xalloc(size_t);
char *xprintf(const char *fmt, ...) RG_FMT(1, 2);
bool has_op(const pat *, int op);
int first_op(const pat *);
bool one_op(const pat *, int op); /* the set is exactly {op} */
bool is_const_pat(const pat *);
extern const struct op_info rg_op[OP_COUNT];
int find_op(const char *, size_t);
int find_dt(const char *, size_t);

/* What a source of an op is typed by. */
enum role { ROLE_RESULT, ROLE_OPERAND, ROLE_BOOL, ROLE_IDX, ROLE_VOID, ROLE_FREE };
enum role src_role(int op, int i);

/* rulegen_parse.c */
void parse_file(struct file *);
rule *parse_rule_text(struct file *, int line, const char *text); /* "NAME : LHS if G => RHS" */

/* rulegen_check.c */
void check_rule(rule *);      /* names, arity, canonical order; fills the variants */
void check_set(struct set *); /* duplicates, unreachable rules */
bool name_in_code(const char *code, const char *name);

/* rulegen_emit.c */
void emit_set(FILE *, struct set *);
void emit_one(FILE *, const rule *, const char *fname); /* one rule alone, as a matcher */
void emit_table(FILE *);
void emit_includes(FILE *, const struct set *); /* of its files; NULL: of all files but those of gradients */
void emit_listing(FILE *);
void c_string(FILE *, const char *);
const char *dt_test(const char *expr, const char *dt); /* C condition for <dt> */
const char *arg_c(const char *arg);                    /* text in [] as C */

/* rulegen_fuzz.c */
void emit_fuzz(FILE *, const rule *const *mutant, const char *const *what, int nmutant);

#endif
