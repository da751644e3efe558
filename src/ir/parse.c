/* parse.c: .uop text to nodes. docs/ir.md describes the syntax.
 *
 * One pass, no tokens stored: each statement is read, checked (node_check) and interned at once. A
 * number keeps its spelling until its siblings are known (literal_dtype). Nesting is limited, names are
 * local to a kernel, every message begins with file:line:column. The text may be hostile: nothing here
 * trusts a length, and all failures are thrown. Tests: tests/unit/text.c, tests/verify/ */
#include "ir.h"
#include "node.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_DEPTH = 256, MAX_NUMBER = 400, MAX_NAME = 1 << 20 }; /* the name of a loop is its body */
#define MAX_TEXT ((size_t)64 << 20)

enum item_form { FORM_NODE, FORM_INT, FORM_FLOAT };
struct item { /* one source: a node, or a number that still looks for its dtype */
    enum item_form form;
    const uop *node;
    bool negative; /* FORM_INT: sign and magnitude, so that u64 fits */
    uint64_t mag;
    double f;       /* FORM_FLOAT */
    enum dtype dt;  /* spelled, or DT_COUNT */
    const char *at; /* for messages */
};
struct binding {
    const char *s;
    size_t n;
    const uop *node;
};
struct parse_word {
    const char *s;
    size_t n;
};

struct parser {
    struct ir *ir;
    const char *file, *text, *p, *end;
    struct program *out;
    VEC(struct item) items;    /* a stack: sources of the nodes being read */
    VEC(struct binding) names; /* of this kernel */
    struct map by_name;        /* hash -> index in names */
    struct kernel k;
    struct str opts; /* of this kernel */
    bool in_kernel;
    const char *line_at; /* where lines are counted up to; positions are asked for in order */
    int line;            /* there */
};

/* ---- messages ---------------------------------------------------------------------------------- */

static void fail_at(struct parser *p, const char *at, const char *fmt, ...) RG_FMT(3, 4) RG_NORETURN;
static void fail_at(struct parser *p, const char *at, const char *fmt, ...) {
    char b[1000];
    int line = 1, column = 1;
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(b, sizeof b, fmt, ap);
    va_end(ap);
    for (const char *s = p->text; s < at; s++) {
        column++;
        if (*s == '\n') line++, column = 1;
    }
    err_throw(p->ir->err, RG_EPARSE, "%s:%d:%d: %s", p->file, line, column, b);
}

/* What stands here, in words. */
static const char *found(struct parser *p, const char *at) {
    if (at >= p->end) return "the end of the file";
    if (*at == '\n' || *at == '\r') return "the end of the line";
    size_t n = 0;
    while (at + n < p->end && n < 40 && at[n] > ' ' && at[n] < 127 && !strchr("()[]<>=:;\"", at[n])) n++;
    if (!n && *at > ' ' && *at < 127) n = 1;
    if (!n) return arena_printf(p->ir->arena, "byte 0x%02x", (unsigned char)*at);
    return arena_printf(p->ir->arena, "`%.*s`", (int)n, at);
}

static void expected(struct parser *p, const char *what) RG_NORETURN;
static void expected(struct parser *p, const char *what) {
    fail_at(p, p->p, "expected %s, found %s", what, found(p, p->p));
}

/* ---- characters -------------------------------------------------------------------------------- */

static bool is_space(char ch) { return ch == ' ' || ch == '\t' || ch == '\r'; }

static void skip_blank(struct parser *p) /* within a line */
{
    while (p->p < p->end && is_space(*p->p)) p->p++;
    if (p->p < p->end && *p->p == ';')
        while (p->p < p->end && *p->p != '\n') p->p++;
}

static void skip_lines(struct parser *p) {
    for (skip_blank(p); p->p < p->end && *p->p == '\n'; skip_blank(p)) p->p++;
}

static bool at_char(struct parser *p, char ch) { return p->p < p->end && *p->p == ch; }
static bool at_line_end(struct parser *p) { return p->p >= p->end || *p->p == '\n'; }

static bool take(struct parser *p, char ch) {
    if (!at_char(p, ch)) return false;
    p->p++;
    return true;
}

static void need(struct parser *p, char ch, const char *what) {
    if (!take(p, ch)) expected(p, what);
}

static struct parse_word take_word(struct parser *p) {
    struct parse_word w = {p->p, 0};
    while (p->p<p->end && * p->p> ' ' && *p->p < 127 && !strchr("()[]<>=:;\"", *p->p)) p->p++;
    w.n = (size_t)(p->p - w.s);
    return w;
}

static bool word_is(struct parse_word w, const char *s) { return strlen(s) == w.n && !memcmp(w.s, s, w.n); }

static int hex_digit(char ch) {
    if (ch >= '0' && ch <= '9') return ch - '0';
    if (ch >= 'a' && ch <= 'f') return ch - 'a' + 10;
    if (ch >= 'A' && ch <= 'F') return ch - 'A' + 10;
    return -1;
}

/* "text" with \" \\ \xNN; made in the arena. */
static struct parse_word take_string(struct parser *p) {
    const char *open = p->p++;
    struct str s;
    str_init(&s, p->ir->arena);
    for (;; p->p++) {
        if (at_line_end(p)) fail_at(p, open, "expected a closing \" on the same line, found none");
        char ch = *p->p;
        if (ch == '"') break;
        if (ch == '\\') {
            size_t left = (size_t)(p->end - p->p);
            char e = left > 1 ? p->p[1] : 0;
            int hi = e == 'x' && left > 3 ? hex_digit(p->p[2]) : -1;
            int lo = hi >= 0 ? hex_digit(p->p[3]) : -1;
            if (e == '"' || e == '\\')
                ch = e, p->p++;
            else if (lo >= 0 && hi * 16 + lo > 0)
                ch = (char)(hi * 16 + lo), p->p += 3;
            else
                expected(p, "\\\", \\\\ or \\xNN in a quoted name");
        } else if (ch == 0)
            expected(p, "a character in a quoted name");
        str_addc(&s, ch);
    }
    p->p++;
    return (struct parse_word){s.n ? s.p : "", s.n};
}

/* A name or a quoted one. */
static struct parse_word take_name(struct parser *p, const char *what) {
    if (at_char(p, '"')) return take_string(p);
    const char *start = p->p;
    struct parse_word w = take_word(p);
    if (!name_is_plain(w.s, w.n)) {
        p->p = start;
        expected(p, what);
    }
    return w;
}

/* ---- names ------------------------------------------------------------------------------------- */

static struct binding *find_name(struct parser *p, struct parse_word w, uint64_t *key) {
    uint64_t i;
    for (uint64_t seed = 0;; seed++) {
        *key = hash_bytes(w.s, w.n, seed);
        if (!map_get(&p->by_name, *key, &i)) return NULL;
        struct binding *b = &p->names.p[i];
        if (b->n == w.n && !memcmp(b->s, w.s, w.n)) return b;
    }
}

static void bind_name(struct parser *p, struct parse_word w, const uop *node) {
    uint64_t key;
    if (find_name(p, w, &key))
        fail_at(p, w.s, "expected a new name, found `%.*s`, which this kernel has already defined",
                (int)RG_MIN(w.n, 60u), w.s);
    map_put(&p->by_name, key, p->names.n);
    vec_push(p->ir->arena, &p->names, ((struct binding){w.s, w.n, node}));
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static bool looks_like_number(struct parse_word w) {
    static const char *const words[] = {"inf", "-inf", "+inf", "nan", "true", "false"};
    for (size_t i = 0; i < RG_COUNT(words); i++)
        if (word_is(w, words[i])) return true;
    return w.n && ((w.s[0] >= '0' && w.s[0] <= '9') || strchr("+-.", w.s[0]));
}

static bool parse_double(struct parse_word w, double *out) {
    char b[MAX_NUMBER + 1], *stop;
    if (!w.n || w.n > MAX_NUMBER) return false;
    for (size_t i = 0; i < w.n; i++)
        if (!strchr("0123456789+-.eE", w.s[i])) return false;
    memcpy(b, w.s, w.n);
    b[w.n] = 0;
    *out = text_double(b, &stop);
    return *stop == 0;
}

static bool parse_integer(struct parse_word w, bool *negative, uint64_t *mag) {
    size_t i = w.n && (w.s[0] == '-' || w.s[0] == '+');
    *negative = w.n && w.s[0] == '-', *mag = 0;
    if (i == w.n) return false;
    for (; i < w.n; i++) {
        if (w.s[i] < '0' || w.s[i] > '9') return false;
        if (__builtin_mul_overflow(*mag, (uint64_t)10, mag) ||
            __builtin_add_overflow(*mag, (uint64_t)(w.s[i] - '0'), mag))
            return false;
    }
    return true;
}

static struct item number(struct parser *p, struct parse_word w) {
    struct item it = {.form = FORM_FLOAT, .dt = DT_COUNT, .at = w.s};
    if (word_is(w, "true") || word_is(w, "false")) {
        it.form = FORM_INT, it.mag = w.s[0] == 't', it.dt = DT_BOOL;
        return it;
    }
    if (word_is(w, "inf") || word_is(w, "+inf"))
        it.f = INFINITY;
    else if (word_is(w, "-inf"))
        it.f = -INFINITY;
    else if (word_is(w, "nan"))
        it.f = NAN;
    else if (parse_integer(w, &it.negative, &it.mag))
        it.form = FORM_INT;
    else if (!parse_double(w, &it.f) || isinf(it.f))
        fail_at(p, w.s, "expected a number, found %s", found(p, w.s));
    if (take(p, ':')) {
        const char *at = p->p;
        struct parse_word t = take_word(p);
        it.dt = dt_parse(t.s, t.n);
        if (it.dt == DT_COUNT || it.dt == DT_VOID)
            fail_at(p, at, "expected an element type (f32, i32, idx ..) after `:`, found %s", found(p, at));
    }
    return it;
}

/* The CONST node of a number, in a type that must hold it. */
static const uop *number_node(struct parser *p, const struct item *it, enum dtype dt) {
    const char *type = dtype_info[dt].name;
    if (dt_is_float(dt)) {
        double v = it->form == FORM_FLOAT ? it->f : (double)it->mag;
        if (!isinf(v) && isinf(dt_round(dt, v)))
            fail_at(p, it->at, "expected a number of type %s, found %s, which does not fit", type,
                    found(p, it->at));
        return uop_flt(p->ir, dt, it->form == FORM_INT && it->negative ? -v : v);
    }
    if (it->form == FORM_FLOAT)
        fail_at(p, it->at, "expected an integer of type %s, found %s", type, found(p, it->at));
    uint64_t limit = dt == DT_U64   ? UINT64_MAX
                     : it->negative ? 0 - (uint64_t)dt_min(dt)
                                    : (uint64_t)dt_max(dt);
    if (it->mag > limit || (it->negative && it->mag && dt == DT_U64))
        fail_at(p, it->at, "expected a number of type %s, found %s%llu, which does not fit", type,
                it->negative ? "-" : "", (unsigned long long)it->mag);
    return uop_int(p->ir, dt, (int64_t)(it->negative ? 0 - it->mag : it->mag));
}

static const uop *lone_number(struct parser *p, const struct item *it, bool beside_float) {
    enum dtype dt = it->dt;
    if (dt == DT_COUNT) dt = it->form == FORM_FLOAT || beside_float ? DT_F32 : DT_IDX;
    return number_node(p, it, dt);
}

/* ---- nodes ------------------------------------------------------------------------------------- */

static uint64_t arg_number(struct parser *p, uint64_t limit, const char *what) {
    bool negative;
    uint64_t v;
    const char *at = p->p;
    if (!parse_integer(take_word(p), &negative, &v) || negative || v > limit)
        fail_at(p, at, "expected %s (0..%llu), found %s", what, (unsigned long long)limit, found(p, at));
    skip_lines(p);
    return v;
}

static uint32_t arg_symbol(struct parser *p, const char *what) {
    const char *at = p->p;
    struct parse_word w = take_name(p, what);
    skip_lines(p);
    if (w.n > MAX_NAME)
        fail_at(p, at, "expected %s of at most %d characters, found %zu", what, MAX_NAME, w.n);
    return ir_sym(p->ir, w.s, w.n);
}

static unsigned arg_choice(struct parser *p, const char *const *name, unsigned n, const char *what) {
    const char *at = p->p;
    struct parse_word w = take_word(p);
    for (unsigned i = 0; i < n; i++)
        if (name[i] && word_is(w, name[i])) {
            skip_lines(p);
            return i;
        }
    fail_at(p, at, "expected %s (%s, %s ..), found %s", what, name[0], name[1], found(p, at));
}

static int64_t arg_int(struct parser *p) {
    bool negative;
    uint64_t v;
    const char *at = p->p;
    if (!parse_integer(take_word(p), &negative, &v) || v > (uint64_t)INT64_MAX + negative)
        fail_at(p, at, "expected an integer, found %s", found(p, at));
    skip_lines(p);
    return (int64_t)(negative ? 0 - v : v);
}

static union arg take_arg(struct parser *p, enum op op) {
    union arg a = ARG_NONE;
    const char *at = p->p;
    if (op_info[op].arg == OPA_NONE || op_info[op].arg == OPA_VALUE) {
        if (at_char(p, '[')) fail_at(p, at, "expected no [argument] in %s, found one", op_info[op].name);
        return a;
    }
    if (!take(p, '['))
        fail_at(p, at, "expected the [argument] of %s, found %s", op_info[op].name, found(p, at));
    skip_lines(p);
    switch (op_info[op].arg) {
    case OPA_INT: a.i = arg_int(p); break;
    case OPA_OP: {
        struct parse_word w = take_word(p);
        a.u = op_parse(w.s, w.n);
        if (a.u == OP_COUNT) fail_at(p, w.s, "expected the name of an op, found %s", found(p, w.s));
        skip_lines(p);
        break;
    }
    case OPA_PARAM:
        a.param.slot = (uint32_t)arg_number(p, 65535, "a slot number");
        a.param.name = arg_symbol(p, "a name");
        break;
    case OPA_MEM:
        a.mem.name = arg_symbol(p, "a name");
        a.mem.space = (uint16_t)arg_choice(p, space_name, SPACE_COUNT, "a memory space");
        if (!at_char(p, ']')) a.mem.row = (uint16_t)arg_number(p, UINT16_MAX, "elements of a row");
        break;
    case OPA_SYM: a.u = arg_symbol(p, "a name"); break;
    default: /* OPA_RANGE */
        a.range.cls = arg_symbol(p, "the name of an axis class");
        a.range.kind = (uint8_t)arg_choice(p, axis_name, AX_COUNT, "an axis kind");
        a.range.pos = (uint8_t)arg_number(p, UINT8_MAX, "a position");
        if (!at_char(p, ']')) a.range.id = (uint16_t)arg_number(p, UINT16_MAX, "an id");
    }
    need(p, ']', "`]` after the argument");
    return a;
}

/* <f32> or <f32x4>; lanes 0 when not spelled. */
static void take_type(struct parser *p, enum dtype *dt, unsigned *lanes) {
    *dt = DT_COUNT, *lanes = 0;
    if (!take(p, '<')) return;
    const char *at = p->p;
    struct parse_word w = take_word(p);
    *dt = dt_parse(w.s, w.n);
    size_t x = w.n;
    while (*dt == DT_COUNT && x > 0 && w.s[x - 1] >= '0' && w.s[x - 1] <= '9') x--;
    if (*dt == DT_COUNT && x > 1 && x < w.n && w.n - x <= 3 && w.s[x - 1] == 'x') {
        *dt = dt_parse(w.s, x - 1);
        for (size_t i = x; i < w.n; i++) *lanes = *lanes * 10 + (unsigned)(w.s[i] - '0');
        if (*dt != DT_COUNT && (*lanes < 1 || *lanes > UINT8_MAX))
            fail_at(p, at, "expected 1 to 255 lanes, found %s", found(p, at));
    }
    if (*dt == DT_COUNT)
        fail_at(p, at, "expected an element type (f32, f32x4, i32, idx ..), found %s", found(p, at));
    need(p, '>', "`>` after the element type");
}

/* Gives the numbers among the sources their types. */
static void settle_numbers(struct parser *p, enum op op, struct item *it, uint32_t n, enum dtype spelled) {
    struct arena *arena = p->ir->arena;
    uint32_t left = 0;
    bool any_float = false;
    for (uint32_t i = 0; i < n; i++)
        if (it[i].form != FORM_NODE) left++, any_float |= it[i].form == FORM_FLOAT;
    if (!left) return;
    enum dtype few[4], *sib = n <= 4 ? few : arena_array(arena, enum dtype, n);
    bool lit_few[4], *lit = n <= 4 ? lit_few : arena_array(arena, bool, n);
    for (uint32_t i = 0; i < n; i++) {
        lit[i] = it[i].form != FORM_NODE;
        sib[i] = lit[i] ? it[i].dt : (enum dtype)it[i].node->dt;
    }
    enum dtype shared = n > 64 ? literal_dtype(op, sib, lit, n, n, spelled) : DT_COUNT;
    for (uint32_t i = 0; i < n; i++) {
        if (!lit[i]) continue;
        enum dtype dt = it[i].dt;
        if (dt == DT_COUNT) dt = n > 64 ? shared : literal_dtype(op, sib, lit, n, i, spelled);
        it[i].node =
            dt == DT_COUNT || dt == DT_VOID ? lone_number(p, &it[i], any_float) : number_node(p, &it[i], dt);
    }
}

static struct item take_expr(struct parser *p, int depth);

static const uop *take_node(struct parser *p, int depth) {
    const char *open = p->p++;
    if (depth > MAX_DEPTH)
        fail_at(p, open, "expected at most %d nested parentheses; give inner expressions names", MAX_DEPTH);
    skip_lines(p);
    const char *at = p->p;
    struct parse_word w = take_word(p);
    enum op op = op_parse(w.s, w.n);
    if (op == OP_COUNT) fail_at(p, at, "expected the name of an op, found %s", found(p, at));
    enum dtype spelled, dt;
    unsigned lanes, row_lanes;
    take_type(p, &spelled, &lanes);
    union arg arg = take_arg(p, op);
    uint32_t base = p->items.n;
    for (skip_lines(p); !at_char(p, ')'); skip_lines(p)) {
        struct item it = take_expr(p, depth + 1);
        if (p->items.n - base == UINT16_MAX) fail_at(p, it.at, "expected at most 65535 sources");
        vec_push(p->ir->arena, &p->items, it);
    }
    p->p++;
    if (op == OP_CONST) fail_at(p, at, "expected a number, found CONST; write 3 or 1.5:f16");
    struct item *it = p->items.p + base;
    uint32_t n = p->items.n - base;
    settle_numbers(p, op, it, n, spelled);
    const uop *few[4], **src = n <= 4 ? few : arena_array(p->ir->arena, const uop *, n);
    for (uint32_t i = 0; i < n; i++) src[i] = it[i].node;
    node_infer(op, src, n, &dt, &row_lanes);
    if (spelled != DT_COUNT) dt = spelled;
    if (dt == DT_COUNT && n >= op_info[op].min_src)
        fail_at(p, at + w.n, "expected %s<dtype>, found no type; its sources do not imply one",
                op_info[op].name);
    bool keep = lanes && (op_info[op].lanes == OPL_SELF || lanes != 1);
    char why[WHY_MAX];
    int bad = -1;
    unsigned all = keep ? lanes : row_lanes ? row_lanes : 1;
    if (!node_check(p->ir, op, dt, all, src, n, arg, why, &bad))
        fail_at(p, bad >= 0 && (uint32_t)bad < n ? it[bad].at : at, "%s", why);
    p->items.n = base;
    return uop_new(p->ir, op, dt, all, src, n, arg);
}

static struct item take_expr(struct parser *p, int depth) {
    struct item it = {.form = FORM_NODE, .dt = DT_COUNT, .at = p->p};
    if (at_char(p, '(')) {
        it.node = take_node(p, depth);
        return it;
    }
    struct parse_word w = take_word(p);
    if (looks_like_number(w)) return number(p, w);
    uint64_t key;
    struct binding *b = w.n ? find_name(p, w, &key) : NULL;
    if (!b && w.n && name_is_plain(w.s, w.n))
        fail_at(p, it.at, "expected a name defined above, found %s", found(p, it.at));
    if (!b) fail_at(p, it.at, "expected an expression, found %s", found(p, it.at));
    it.node = b->node;
    return it;
}

/* ---- lines ------------------------------------------------------------------------------------- */

static void end_line(struct parser *p) {
    skip_blank(p);
    if (!at_line_end(p)) expected(p, "the end of the line");
}

static void end_kernel(struct parser *p) {
    if (!p->in_kernel) return;
    if (!p->k.sink)
        err_throw(p->ir->err, RG_EPARSE,
                  "%s:%d:1: expected a (SINK ..) or (GRAPH ..) line in kernel %s, found none", p->file,
                  p->k.line, p->k.name);
    if (p->opts.n) p->k.opts = p->opts.p;
    vec_push(p->ir->arena, &p->out->kernel, p->k);
    p->in_kernel = false;
}

static int line_of(struct parser *p, const char *at) {
    for (; p->line_at < at; p->line_at++) p->line += *p->line_at == '\n';
    return p->line;
}

static void kernel_line(struct parser *p, const char *at) {
    end_kernel(p);
    skip_blank(p);
    struct parse_word w = take_name(p, "the kernel's name");
    p->k = (struct kernel){.name = arena_strdup(p->ir->arena, w.s, w.n), .opts = "", .line = line_of(p, at)};
    p->in_kernel = true;
    p->names.n = 0;
    str_init(&p->opts, p->ir->arena);
    map_init(&p->by_name, p->ir->arena);
    end_line(p);
}

static void opts_line(struct parser *p) {
    skip_blank(p);
    const char *s = p->p;
    while (!at_line_end(p) && *p->p != ';') {
        if (*p->p == 0) expected(p, "opts");
        p->p++;
    }
    const char *e = p->p;
    while (e > s && is_space(e[-1])) e--;
    if (p->opts.n && e > s) str_addc(&p->opts, ' ');
    str_addn(&p->opts, s, (size_t)(e - s));
    end_line(p);
}

/* One of the words that fill a buffer; NULL if it is none. */
static const char *fill_word(struct parse_word w) {
    static const char *const fills[] = {"uniform", "normal", "randint", "zeros", "ones",
                                        "iota",    "values", "tasks",   "params"};
    for (size_t i = 0; i < RG_COUNT(fills); i++)
        if (word_is(w, fills[i])) return fills[i];
    return NULL;
}

static double *fill_numbers(struct parser *p, uint32_t *n) {
    VEC(double) num = {0};
    for (skip_blank(p); !at_line_end(p); skip_blank(p)) {
        const char *here = p->p;
        struct parse_word w = take_word(p);
        if (fill_word(w)) {
            p->p = here;
            break;
        }
        if (!looks_like_number(w)) fail_at(p, here, "expected a number, found %s", found(p, here));
        struct item it = number(p, w);
        double v = it.form == FORM_FLOAT ? it.f : it.negative ? -(double)it.mag : (double)it.mag;
        vec_push(p->ir->arena, &num, v);
    }
    *n = num.n;
    return num.p;
}

static void data_line(struct parser *p, const char *at) {
    struct data_decl d = {.line = line_of(p, at)};
    end_kernel(p);
    skip_blank(p);
    struct parse_word w = take_name(p, "the name of a buffer");
    d.name = arena_strdup(p->ir->arena, w.s, w.n);
    skip_blank(p);
    need(p, '=', "`=`");
    skip_blank(p);
    const char *here = p->p;
    d.fill = fill_word(take_word(p));
    if (!d.fill)
        fail_at(p, here,
                "expected uniform, normal, randint, zeros, ones, iota, values, tasks or params, found %s",
                found(p, here));
    d.num = fill_numbers(p, &d.n);
    if (!at_line_end(p) && !strcmp(d.fill, "params")) {
        d.then = fill_word(take_word(p));
        d.then_num = fill_numbers(p, &d.then_n);
    }
    end_line(p);
    vec_push(p->ir->arena, &p->out->data, d);
}

static void sink_line(struct parser *p) {
    const char *at = p->p;
    const uop *n = take_node(p, 1);
    if (n->op != OP_SINK && n->op != OP_GRAPH)
        fail_at(p, at, "expected `name = (%s ..)`, (SINK ..) or (GRAPH ..), found %s without a name",
                op_info[n->op].name, op_info[n->op].name);
    if (p->k.sink)
        fail_at(p, at, "expected one (SINK ..) or (GRAPH ..) in kernel %s, found a second", p->k.name);
    p->k.sink = n;
    end_line(p);
}

static void name_line(struct parser *p, struct parse_word w) {
    if (!name_is_plain(w.s, w.n))
        fail_at(p, w.s, "expected `name = ..`, (SINK ..), (GRAPH ..), kernel, opts or data, found %s",
                found(p, w.s));
    need(p, '=', "`=` after the name");
    skip_blank(p);
    struct item it = take_expr(p, 1);
    bind_name(p, w, it.form == FORM_NODE ? it.node : lone_number(p, &it, false));
    end_line(p);
}

static void line(struct parser *p) {
    const char *at = p->p;
    struct parse_word w = {at, 0};
    if (!at_char(p, '(')) {
        w = take_word(p);
        skip_blank(p);
    }
    bool binds = at_char(p, '=');
    if (word_is(w, "kernel") && !binds)
        kernel_line(p, at);
    else if (word_is(w, "data") && !binds)
        data_line(p, at);
    else if (!p->in_kernel)
        fail_at(p, at, "expected `kernel NAME` or `data NAME = ..`, found %s", found(p, at));
    else if (word_is(w, "opts") && !binds)
        opts_line(p);
    else if (!w.n && at_char(p, '('))
        sink_line(p);
    else
        name_line(p, w);
}

void ir_parse(struct ir *ir, const char *text, size_t n, const char *file, struct program *out) {
    struct parser p = {.ir = ir,
                       .file = file,
                       .text = text,
                       .p = text,
                       .end = text + n,
                       .out = out,
                       .line_at = text,
                       .line = 1};
    memset(out, 0, sizeof *out);
    if (n > MAX_TEXT)
        err_throw(ir->err, RG_EPARSE, "%s:1:1: expected at most 64 MB of text, found %zu bytes", file, n);
    map_init(&p.by_name, ir->arena);
    for (skip_lines(&p); p.p < p.end; skip_lines(&p)) line(&p);
    end_kernel(&p);
}
