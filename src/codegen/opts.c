/* opts.c: the opt language. A kernel's schedule is a list such as
 *
 *     TILE(k,4,v) VEC(v) TILE(k,8,u) REG(u) THREAD(r)
 *
 * and each opt is a substitution in the kernel graph with a legality check. An opt names an axis class and
 * applies to all its members, so that the max loop, the sum loop and the output loop of a softmax are cut
 * alike. Heuristic, search, tests and people all speak this list. What an opt may not do is said by
 * opt_fail in words; opts_legal runs the same code and keeps the words.
 *
 * The table `axis` of a schedule is in nesting order, outermost first. Kinds and positions are kept there
 * and written into the RANGEs once, by sched_finish.
 * STAGE and RESIDENT are in stage.c. Tests: tests/unit/codegen.c, tests/unit/golden.c */
#include "cg.h"

#include <stdlib.h>

#define MAX_EXPANDED 512 /* copies of one statement that UNROLL, REG and VEC may write out together */
#define MAX_LANES 16
#define MAX_UNROLL 64

/*      name      arguments            what it does */
#define OPT_TABLE(X)                                                                               \
    X(TILE,     "axis,n,inner",      "cut axis into axis (outer) and inner (n values); if n does not divide, the last tile is gated") \
    X(PADTO,    "axis,n",            "round the size of axis up to a multiple of n; what is added is gated")                          \
    X(VEC,      "axis",              "the values of axis become the lanes of vectors (2, 4, 8 or 16)")                                \
    X(UNROLL,   "axis",              "write axis out; reductions go on in one accumulator")                                           \
    X(REG,      "axis",              "write axis out; reductions get an accumulator for each value")                                  \
    X(THREAD,   "axis",              "run the values of an axis cut from the grid in parallel")                                       \
    X(LOOP,     "axis",              "run a grid axis as a loop inside one grid iteration")                                           \
    X(SWAP,     "axis,axis",         "exchange two axes in the nesting order")                                                        \
    X(ORDER,    "axis,axis,..",      "put these axes, outermost first, into the places that they hold in the nesting order")          \
    X(STAGE,    "buffer,at,axis,..", "copy the tile of buffer that is used inside loop `at` to scratch memory, packed in the order of these axes") \
    X(PIPE,     "buffer,axis,n..",   "fetch what buffer gives n values of axis later; then: in which of its passes (0: the last), into which cache (1, 2)") \
    X(RESIDENT, "axis",              "compute what several passes over axis share once, and keep it in scratch memory")

enum opt_kind {
#define X(name, args, doc) OPT_##name,
    OPT_TABLE(X)
#undef X
        OPT_COUNT
};
static const char *const opt_name[] = {
#define X(name, args, doc) #name,
    OPT_TABLE(X)
#undef X
};

void opts_help(struct str *s) {
#define X(name, args, doc) str_printf(s, "  %-28s %s\n", #name "(" args ")", doc);
    OPT_TABLE(X)
#undef X
}

void opt_fail(struct sched *s, const char *opt, const char *fmt, ...) {
    va_list ap;
    char msg[512];
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    err_throw(s->ir->err, RG_EOPT, "kernel %s: %s: %s", s->kernel->name, opt, msg);
}

/* ---- the schedule -------------------------------------------------------------------------------- */

struct axis *sched_axis(struct sched *s, uint32_t name) {
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (s->axis.p[i].name == name) return &s->axis.p[i];
    return NULL;
}

static struct axis *need_axis(struct sched *s, const char *opt, uint32_t name) {
    struct axis *a = sched_axis(s, name);
    if (a) return a;
    struct str names;
    str_init(&names, s->ir->arena);
    for (uint32_t i = 0; i < s->axis.n; i++)
        str_printf(&names, " %s", ir_name(s->ir, s->axis.p[i].name));
    opt_fail(s, opt, "there is no axis %s; the axes are%s", ir_name(s->ir, name), names.p);
}

static void note_member(struct sched *s, const uop *r) {
    struct axis *a = sched_axis(s, r->arg.range.cls);
    if (!a) {
        struct axis fresh = {.name = r->arg.range.cls, .kind = AX_COUNT};
        uint32_t at = s->axis.n;
        vec_push(s->ir->arena, &s->axis, fresh);
        a = &s->axis.p[at];
    }
    a->members++;
    a->size = r->src[0]->lo == r->src[0]->hi ? r->src[0]->lo : -1;
    a->most = r->src[0]->hi;
    a->natural = r->arg.range.kind;
    if (r->arg.range.kind == AX_GRID) a->grid = true;
}

void sched_refresh(struct sched *s) {
    for (uint32_t i = 0; i < s->axis.n; i++) {
        struct axis *a = &s->axis.p[i];
        a->members = 0, a->reduce = a->scan = a->staged = false;
    }
    uop_vec topo = {0};
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE) note_member(s, topo.p[i]);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op != OP_REDUCE && n->op != OP_SCAN && n->op != OP_STAGE) continue;
        for (uint32_t k = 1; k < n->nsrc; k++) {
            struct axis *a = sched_axis(s, n->src[k]->arg.range.cls);
            if (n->op == OP_REDUCE) a->reduce = true;
            if (n->op == OP_SCAN) a->scan = true;
            if (n->op == OP_STAGE) a->staged = true;
        }
    }
    uint32_t keep = 0;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (s->axis.p[i].members) s->axis.p[keep++] = s->axis.p[i];
    s->axis.n = keep;
}

static int by_pos(const void *x, const void *y) {
    const uop *a = *(const uop *const *)x, *b = *(const uop *const *)y;
    int pa = a->arg.range.pos, pb = b->arg.range.pos;
    return pa != pb ? pa - pb : (a->id > b->id) - (a->id < b->id);
}

void sched_init(struct sched *s, struct ir *ir, const struct kernel *k) {
    memset(s, 0, sizeof *s);
    s->ir = ir;
    s->kernel = k;
    rw_init(&s->rw, ir, rules_sym, s);
    s->sink = rw_post(&s->rw, k->sink);
    uop_vec topo = {0}, ranges = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE) vec_push(ir->arena, &ranges, topo.p[i]);
    if (ranges.n) qsort(ranges.p, ranges.n, sizeof *ranges.p, by_pos);
    for (uint32_t i = 0; i < ranges.n; i++)
        note_member(s, ranges.p[i]); /* fixes the order of the table */
    sched_refresh(s);
}

/* The members of a class, in order of id. */
static void members_of(struct sched *s, uint32_t cls, uop_vec *out) {
    uop_vec topo = {0};
    uop_topo(s->ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_RANGE && topo.p[i]->arg.range.cls == cls)
            vec_push(s->ir->arena, out, topo.p[i]);
}

static bool binds(const uop *n) { return n->op == OP_REDUCE || n->op == OP_SCAN || n->op == OP_STAGE; }

const uop *sched_subst(struct sched *s, const uop *root, const struct range_subst *sub, uint32_t nsub) {
    struct arena *a = s->ir->arena;
    uop_vec topo = {0};
    uop_topo(a, &root, 1, &topo);
    const uop **now = arena_array(a, const uop *, s->ir->n);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        const struct range_subst *hit = NULL;
        for (uint32_t k = 0; k < nsub && !hit; k++)
            if (sub[k].from == n) hit = &sub[k];
        if (hit) {
            now[n->id] = hit->expr;
            continue;
        }
        uop_vec src = {0};
        bool changed = false;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            const uop *old = n->src[k];
            const struct range_subst *cut = NULL;
            if (k > 0 && binds(n))
                for (uint32_t j = 0; j < nsub && !cut; j++)
                    if (sub[j].from == old) cut = &sub[j];
            if (cut) {
                for (uint32_t j = 0; j < cut->npiece; j++)
                    vec_push(a, &src, cut->piece[j]);
                changed = true;
            } else {
                vec_push(a, &src, now[old->id]);
                changed |= now[old->id] != old;
            }
        }
        now[n->id] = !changed ? n
                     : src.n == n->nsrc
                         ? rw_with(&s->rw, n, src.p)
                         : rw_new(&s->rw, n->op, n->dt, n->lanes, src.p, src.n, n->arg);
    }
    return now[root->id];
}

static const uop *make_range(struct sched *s, const uop *size, const uop *like, uint32_t cls, enum axis_kind kind) {
    union arg arg = like->arg;
    arg.range.cls = cls;
    arg.range.kind = kind;
    return rw_new(&s->rw, OP_RANGE, DT_IDX, 1, &size, 1, arg);
}

/* ---- PADTO: a larger range, and gates wherever the added values could be seen -------------------- */

struct pad {
    struct sched *s;
    struct free_ranges fr;
    uop_vec old, fresh; /* members before and after */
    const uop **now;
};

/* The condition that all members of the class that n depends on are inside their true size; NULL if none. */
static const uop *pad_valid(struct pad *p, const uop *n) {
    const uop *valid = NULL;
    for (uint32_t i = 0; i < p->old.n; i++) {
        if (!free_has(&p->fr, n, p->old.p[i])) continue;
        const uop *lt = rw2(&p->s->rw, OP_LT, p->fresh.p[i], p->now[p->old.p[i]->src[0]->id]);
        valid = valid ? rw2(&p->s->rw, OP_AND, valid, lt) : lt;
    }
    return valid;
}

static const uop *pad_index(struct pad *p, const uop *index, const uop *valid) {
    struct rw *rw = &p->s->rw;
    const uop *i = p->now[index->src[1]->id];
    const uop *gated = rw3(rw, OP_WHERE, valid, i, uop_new(p->s->ir, OP_INVALID, i->dt, 1, NULL, 0, ARG_NONE));
    return rw_new(rw, OP_INDEX, index->dt, index->lanes, (const uop *[]){p->now[index->src[0]->id], gated}, 2, ARG_NONE);
}

/* A staged tile over the axis grows with it: its added elements exist and need no gate. */
static bool grows(const struct pad *p, const uop *buf) {
    for (uint32_t i = 1; i < buf->nsrc && buf->op == OP_STAGE; i++)
        if (buf->src[i]->arg.range.cls == p->old.p[0]->arg.range.cls) return true;
    return false;
}

static const uop *pad_node(struct pad *p, const uop *n) {
    struct rw *rw = &p->s->rw;
    for (uint32_t i = 0; i < p->old.n; i++)
        if (p->old.p[i] == n) return p->fresh.p[i];
    uop_vec src = {0};
    bool changed = false;
    for (uint32_t k = 0; k < n->nsrc; k++) {
        vec_push(p->s->ir->arena, &src, p->now[n->src[k]->id]);
        changed |= src.p[k] != n->src[k];
    }
    if (!changed) return n;
    const uop *valid = NULL;
    if (n->op == OP_LOAD && !grows(p, n->src[0]->src[0]) && (valid = pad_valid(p, n->src[0]->src[1])))
        src.p[0] = pad_index(p, n->src[0], valid);
    if ((n->op == OP_STORE || n->op == OP_STORE_ADD) && (valid = pad_valid(p, n)))
        src.p[0] = pad_index(p, n->src[0], valid);
    if (n->op == OP_REDUCE || n->op == OP_SCAN) {
        for (uint32_t k = 1; k < n->nsrc; k++)
            if ((valid = pad_valid(p, n->src[k])))
                src.p[0] = rw3(rw, OP_WHERE, valid, src.p[0],
                               uop_identity(p->s->ir, (enum op)n->arg.i, (enum dtype)n->dt));
    }
    return rw_with(rw, n, src.p);
}

/* Rounds every member of the axis up to a multiple of n. */
static void pad_axis(struct sched *s, const char *opt, struct axis *ax, int64_t n) {
    struct ir *ir = s->ir;
    if (ax->scan && ax->size < 0) opt_fail(s, opt, "the scanned axis %s has a size known at run time only", ir_name(ir, ax->name));
    struct pad p = {.s = s};
    free_init(&p.fr, ir, ir->arena);
    members_of(s, ax->name, &p.old);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        if (topo.p[i]->op != OP_STAGE) continue;
        for (uint32_t k = 2; k < topo.p[i]->nsrc; k++)
            if (topo.p[i]->src[k]->arg.range.cls == ax->name)
                opt_fail(s, opt, "axis %s is an inner dimension of a staged tile; pad it before STAGE", ir_name(ir, ax->name));
    }
    const uop *nn = uop_idx(ir, n);
    for (uint32_t i = 0; i < p.old.n; i++) {
        const uop *size = p.old.p[i]->src[0];
        const uop *up = rw2(&s->rw, OP_IDIV, rw2(&s->rw, OP_ADD, size, uop_idx(ir, n - 1)), nn);
        vec_push(ir->arena, &p.fresh, make_range(s, rw2(&s->rw, OP_MUL, up, nn), p.old.p[i], ax->name, p.old.p[i]->arg.range.kind));
    }
    p.now = arena_array(ir->arena, const uop *, ir->n);
    for (uint32_t i = 0; i < topo.n; i++)
        p.now[topo.p[i]->id] = pad_node(&p, topo.p[i]);
    s->sink = p.now[s->sink->id];
    sched_refresh(s);
}

static void opt_padto(struct sched *s, const char *opt, uint32_t axis, int64_t n) {
    struct axis *a = need_axis(s, opt, axis);
    if (n < 2 || n > 1 << 20) opt_fail(s, opt, "a multiple must be 2 .. 1048576, not %lld", (long long)n);
    if (a->size >= 0 && a->size % n == 0) return;
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind)) opt_fail(s, opt, "axis %s is already written out; pad it before", ir_name(s->ir, axis));
    pad_axis(s, opt, a, n);
}

/* ---- TILE ---------------------------------------------------------------------------------------- */

static void opt_tile(struct sched *s, const char *opt, uint32_t axis, int64_t n, uint32_t inner) {
    struct ir *ir = s->ir;
    struct axis *a = need_axis(s, opt, axis);
    if (n < 2 || n > 1 << 20) opt_fail(s, opt, "a tile must have 2 .. 1048576 values, not %lld", (long long)n);
    if (sched_axis(s, inner)) opt_fail(s, opt, "there is already an axis %s", ir_name(ir, inner));
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind)) opt_fail(s, opt, "axis %s is already written out; cut it before", ir_name(ir, axis));
    if (a->most < n && a->size >= 0) opt_fail(s, opt, "axis %s has only %lld values", ir_name(ir, axis), (long long)a->size);
    if (a->size < 0 || a->size % n != 0) {
        pad_axis(s, opt, a, n);
        a = need_axis(s, opt, axis);
    }
    uop_vec old = {0};
    members_of(s, axis, &old);
    struct range_subst *sub = arena_array(ir->arena, struct range_subst, old.n);
    for (uint32_t i = 0; i < old.n; i++) {
        const uop *r = old.p[i];
        enum axis_kind k = (enum axis_kind)r->arg.range.kind;
        const uop *size = rw2(&s->rw, OP_IDIV, r->src[0], uop_idx(ir, n));
        const uop *o = make_range(s, size, r, axis, k);
        const uop *in = make_range(s, uop_idx(ir, n), r, inner, k == AX_GRID ? AX_LOOP : k);
        sub[i] = (struct range_subst){r, rw2(&s->rw, OP_ADD, rw2(&s->rw, OP_MUL, o, uop_idx(ir, n)), in), {o, in}, 2};
        /* an axis of one tile is a constant: it disappears */
        if (uop_is_int_const(size, 1)) sub[i] = (struct range_subst){r, in, {in, NULL}, 1};
    }
    bool grid = a->grid;
    uint32_t at = (uint32_t)(a - s->axis.p) + 1;
    vec_push(ir->arena, &s->axis, ((struct axis){0}));
    memmove(&s->axis.p[at + 1], &s->axis.p[at], (s->axis.n - 1 - at) * sizeof s->axis.p[0]);
    s->axis.p[at] = (struct axis){.name = inner, .kind = AX_COUNT, .grid = grid, .members = 1};
    s->sink = sched_subst(s, s->sink, sub, old.n);
    sched_refresh(s);
}

/* ---- kinds and order ----------------------------------------------------------------------------- */

static void opt_expand(struct sched *s, const char *opt, uint32_t axis, enum axis_kind kind) {
    struct axis *a = need_axis(s, opt, axis);
    const char *name = ir_name(s->ir, axis);
    if (a->size < 0) opt_fail(s, opt, "the size of axis %s is known at run time only; TILE it and write out the inner axis", name);
    if (a->size > MAX_UNROLL) opt_fail(s, opt, "axis %s has %lld values, more than %d; TILE it and write out the inner axis", name, (long long)a->size, MAX_UNROLL);
    if (a->kind == AX_GRID) opt_fail(s, opt, "axis %s is a thread axis", name);
    if (kind == AX_VEC && (a->size < 2 || a->size > MAX_LANES || (a->size & (a->size - 1)))) opt_fail(s, opt, "vectors have 2, 4, 8 or 16 lanes; axis %s has %lld values", name, (long long)a->size);
    if (kind == AX_VEC && a->scan) opt_fail(s, opt, "axis %s carries a running value from one element to the next", name);
    if (kind == AX_REG && a->scan) opt_fail(s, opt, "axis %s carries a running value; use UNROLL", name);
    a->kind = kind;
}

static void opt_grid(struct sched *s, const char *opt, uint32_t axis, bool thread) {
    struct axis *a = need_axis(s, opt, axis);
    if (!a->grid) opt_fail(s, opt, "axis %s does not come from the grid, so its values may not run at once", ir_name(s->ir, axis));
    if (a->kind != AX_COUNT && axis_is_expanded((enum axis_kind)a->kind)) opt_fail(s, opt, "axis %s is already written out", ir_name(s->ir, axis));
    if (thread && a->size < 0) opt_fail(s, opt, "the grid must have a known size");
    a->kind = thread ? AX_GRID : AX_LOOP;
}

static void opt_order(struct sched *s, const char *opt, const uint32_t *name, uint32_t n) {
    uint32_t *place = arena_array(s->ir->arena, uint32_t, n + 1);
    struct axis *axis = arena_array(s->ir->arena, struct axis, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct axis *a = need_axis(s, opt, name[i]);
        place[i] = (uint32_t)(a - s->axis.p);
        axis[i] = *a;
        for (uint32_t k = 0; k < i; k++)
            if (place[k] == place[i]) opt_fail(s, opt, "axis %s is named twice", ir_name(s->ir, name[i]));
    }
    for (uint32_t i = 1; i < n; i++) /* insertion sort: a handful of places */
        for (uint32_t k = i; k > 0 && place[k] < place[k - 1]; k--) {
            uint32_t t = place[k];
            place[k] = place[k - 1], place[k - 1] = t;
        }
    for (uint32_t i = 0; i < n; i++)
        s->axis.p[place[i]] = axis[i];
}

/* ---- the list -------------------------------------------------------------------------------------*/

struct opt_text {
    char head[128]; /* the opt as written, for messages */
    enum opt_kind kind;
    uint32_t arg[32]; /* symbols */
    uint32_t narg;
};

static bool is_sep(char c) { return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r'; }

static const char *parse_opt(struct sched *s, const char *p, struct opt_text *o) {
    const char *start = p;
    while (*p && *p != '(' && !is_sep(*p)) p++;
    size_t n = (size_t)(p - start);
    snprintf(o->head, sizeof o->head, "%.*s", (int)RG_MIN(n, sizeof o->head - 1), start);
    for (o->kind = 0; o->kind < OPT_COUNT; o->kind++)
        if (strlen(opt_name[o->kind]) == n && !memcmp(opt_name[o->kind], start, n)) break;
    if (o->kind == OPT_COUNT) opt_fail(s, o->head, "there is no such opt; `ridge opt --help` lists them");
    if (*p != '(') opt_fail(s, o->head, "expected ( after the name of an opt");
    p++;
    for (o->narg = 0;;) {
        while (is_sep(*p)) p++;
        if (*p == ')') break;
        if (!*p) opt_fail(s, o->head, "expected ) at the end of the opt");
        const char *a = p;
        while (*p && *p != ')' && *p != '(' && !is_sep(*p)) p++;
        if (p == a || o->narg == RG_COUNT(o->arg)) opt_fail(s, o->head, "too many arguments, or an empty one");
        o->arg[o->narg++] = ir_sym(s->ir, a, (size_t)(p - a));
    }
    p++;
    snprintf(o->head, sizeof o->head, "%.*s", (int)RG_MIN((size_t)(p - start), sizeof o->head - 1), start);
    return p;
}

static int64_t number(struct sched *s, struct opt_text *o, uint32_t i) {
    const char *t = ir_name(s->ir, o->arg[i]);
    char *end;
    long long v = strtoll(t, &end, 10);
    if (*end || end == t) opt_fail(s, o->head, "expected a number, found %s", t);
    return v;
}

static void need_args(struct sched *s, struct opt_text *o, uint32_t lo, uint32_t hi) {
    if (o->narg < lo || o->narg > hi) opt_fail(s, o->head, "expected %u%s arguments, found %u", lo, hi > lo ? " or more" : "", o->narg);
}

static void apply(struct sched *s, struct opt_text *o) {
    switch (o->kind) {
    case OPT_TILE: need_args(s, o, 3, 3); opt_tile(s, o->head, o->arg[0], number(s, o, 1), o->arg[2]); break;
    case OPT_PADTO: need_args(s, o, 2, 2); opt_padto(s, o->head, o->arg[0], number(s, o, 1)); break;
    case OPT_VEC: need_args(s, o, 1, 1); opt_expand(s, o->head, o->arg[0], AX_VEC); break;
    case OPT_UNROLL: need_args(s, o, 1, 1); opt_expand(s, o->head, o->arg[0], AX_UNROLL); break;
    case OPT_REG: need_args(s, o, 1, 1); opt_expand(s, o->head, o->arg[0], AX_REG); break;
    case OPT_THREAD: need_args(s, o, 1, 1); opt_grid(s, o->head, o->arg[0], true); break;
    case OPT_LOOP: need_args(s, o, 1, 1); opt_grid(s, o->head, o->arg[0], false); break;
    case OPT_SWAP: {
        need_args(s, o, 2, 2);
        struct axis *a = need_axis(s, o->head, o->arg[0]), *b = need_axis(s, o->head, o->arg[1]), t = *a;
        *a = *b, *b = t;
        break;
    }
    case OPT_ORDER: need_args(s, o, 2, 32); opt_order(s, o->head, o->arg, o->narg); break;
    case OPT_STAGE:
        need_args(s, o, 3, 32);
        need_axis(s, o->head, o->arg[1]);
        for (uint32_t i = 2; i < o->narg; i++) need_axis(s, o->head, o->arg[i]);
        opt_stage(s, o->head, ir_name(s->ir, o->arg[0]), o->arg[1], o->arg + 2, o->narg - 2);
        break;
    case OPT_PIPE: {
        need_args(s, o, 3, 5);
        need_axis(s, o->head, o->arg[1]);
        struct pipe p = {arena_strdup(s->ir->arena, o->head, strlen(o->head)), o->arg[0], o->arg[1], number(s, o, 2),
                         o->narg > 3 ? number(s, o, 3) : 0, o->narg > 4 ? number(s, o, 4) : 2};
        if (p.ahead < 1 || p.ahead > 1 << 20 || p.pass < 0 || p.level < 1 || p.level > 2) opt_fail(s, o->head, "expected 1 .. 1048576 values, a pass from 0 on, cache 1 or 2");
        vec_push(s->ir->arena, &s->pipe, p);
        break;
    }
    case OPT_RESIDENT: need_args(s, o, 1, 1); need_axis(s, o->head, o->arg[0]); opt_resident(s, o->head, o->arg[0]); break;
    case OPT_COUNT: break;
    }
}

void sched_apply(struct sched *s, const char *opts) {
    for (const char *p = opts;;) {
        while (is_sep(*p)) p++;
        if (!*p) return;
        struct opt_text o;
        p = parse_opt(s, p, &o);
        apply(s, &o);
    }
}

/* ---- finish: kinds, positions, levels ------------------------------------------------------------ */

static enum axis_kind final_kind(const struct axis *a, const uop *r) {
    return a->kind == AX_COUNT ? (enum axis_kind)r->arg.range.kind : (enum axis_kind)a->kind;
}

static void write_ranges(struct sched *s) {
    struct ir *ir = s->ir;
    uint8_t pos = 0;
    uint8_t *at = arena_array(ir->arena, uint8_t, s->axis.n + 1);
    if (s->axis.n > 200) err_throw(ir->err, RG_ELIMIT, "kernel %s: more than 200 axes", s->kernel->name);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (int grid = 1; grid >= 0; grid--) /* the grid is outermost, whatever the order says */
        for (uint32_t i = 0; i < s->axis.n; i++)
            if (axis_is_grid(&s->axis.p[i]) == (bool)grid) at[i] = pos++;

    VEC(struct range_subst) sub = {0};
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *r = topo.p[i];
        if (r->op != OP_RANGE) continue;
        struct axis *a = sched_axis(s, r->arg.range.cls);
        union arg arg = r->arg;
        arg.range.kind = final_kind(a, r);
        arg.range.pos = at[a - s->axis.p];
        const uop *size = sub.n ? sched_subst(s, r->src[0], sub.p, sub.n) : r->src[0];
        const uop *fresh = uop_new(ir, OP_RANGE, DT_IDX, 1, &size, 1, arg);
        if (fresh != r) vec_push(ir->arena, &sub, ((struct range_subst){r, fresh, {fresh, NULL}, 1}));
    }
    s->sink = sched_subst(s, s->sink, sub.p, sub.n);
}

/* A reduction whose loops have an output loop between them is several: the inner ones end where the output
 * loop starts, the outer ones add up their results in an array over that loop. Written-out axes go to the
 * innermost level, alone if that level has an array (an array is updated once, by a finished value). */
static const uop *split_levels(struct sched *s, struct free_ranges *fr, const uop *n) {
    struct ir *ir = s->ir;
    uop_vec loops = {0}, open = {0}, level = {0};
    bool partial = false;
    for (uint32_t i = 1; i < n->nsrc; i++) {
        enum axis_kind k = (enum axis_kind)n->src[i]->arg.range.kind;
        vec_push(ir->arena, axis_is_expanded(k) ? &open : &loops, n->src[i]);
        partial |= k == AX_REG || k == AX_VEC;
    }
    if (!loops.n) return n;
    qsort(loops.p, loops.n, sizeof *loops.p, by_pos);
    const uop_vec *outer = free_of(fr, n);
    const uop *value = n->src[0];
    int below = 256; /* position of the next inner loop */
    for (uint32_t i = loops.n; i-- > 0;) {
        bool array = false;
        for (uint32_t k = 0; k < outer->n; k++) {
            int p = outer->p[k]->arg.range.pos;
            array |= !axis_is_expanded((enum axis_kind)outer->p[k]->arg.range.kind) && p > loops.p[i]->arg.range.pos && p < below;
        }
        if (below == 256 && open.n) {
            for (uint32_t k = 0; k < open.n; k++) vec_push(ir->arena, &level, open.p[k]);
            if (!array || !partial) array = false;
        }
        if (array && level.n) {
            uop_vec src = {0};
            vec_push(ir->arena, &src, value);
            for (uint32_t k = 0; k < level.n; k++) vec_push(ir->arena, &src, level.p[k]);
            value = uop_new(ir, OP_REDUCE, n->dt, n->lanes, src.p, src.n, n->arg);
            level.n = 0;
        }
        vec_push(ir->arena, &level, loops.p[i]);
        below = loops.p[i]->arg.range.pos;
    }
    uop_vec src = {0};
    vec_push(ir->arena, &src, value);
    for (uint32_t k = 0; k < level.n; k++) vec_push(ir->arena, &src, level.p[k]);
    return uop_new(ir, OP_REDUCE, n->dt, n->lanes, src.p, src.n, n->arg);
}

static void split_reductions(struct sched *s) {
    struct ir *ir = s->ir;
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    const uop **now = arena_array(ir->arena, const uop *, ir->n);
    struct free_ranges fr;
    free_init(&fr, ir, ir->arena);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        uop_vec src = {0};
        bool changed = false;
        for (uint32_t k = 0; k < n->nsrc; k++) {
            vec_push(ir->arena, &src, now[n->src[k]->id]);
            changed |= src.p[k] != n->src[k];
        }
        if (changed) n = uop_with(ir, n, src.p);
        now[topo.p[i]->id] = n->op == OP_REDUCE ? split_levels(s, &fr, n) : n;
    }
    s->sink = now[s->sink->id];
}

static void check_effect(struct sched *s, struct free_ranges *fr, const uop *n) {
    uint32_t vecs = 0;
    int64_t copies = 1;
    const uop_vec *f = free_of(fr, n);
    int last = -1;
    for (uint32_t i = 0; i < f->n + (binds(n) ? n->nsrc - 1 : 0); i++) {
        bool bound = i >= f->n;
        const uop *r = bound ? n->src[1 + i - f->n] : f->p[i];
        enum axis_kind k = (enum axis_kind)r->arg.range.kind;
        if (n->op == OP_SCAN && bound) { /* a running value follows its axis in order */
            int at = r->arg.range.pos + (axis_is_expanded(k) ? 256 : 0);
            if (at < last) opt_fail(s, "ORDER", "the pieces of a scanned axis must keep their order, outer before inner");
            last = at;
            continue; /* also free: counted once */
        }
        if (k == AX_VEC) vecs++;
        if (axis_is_expanded(k)) copies *= r->src[0]->hi;
    }
    if (vecs > 1) opt_fail(s, "VEC", "%s would have two vector axes at once", op_info[n->op].name);
    if (copies > MAX_EXPANDED) opt_fail(s, "UNROLL", "a statement would be written out %lld times, more than %d", (long long)copies, MAX_EXPANDED);
}

static void check_finished(struct sched *s) {
    struct ir *ir = s->ir;
    struct free_ranges fr;
    free_init(&fr, ir, ir->arena);
    uop_vec topo = {0};
    uop_topo(ir->arena, &s->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        if (n->op == OP_STORE || n->op == OP_STORE_ADD || binds(n)) check_effect(s, &fr, n);
        if (n->op != OP_RANGE && n->op != OP_PARAMS) continue;
        const uop_vec *f = free_of(&fr, n->src[0]);
        for (uint32_t k = 0; k < f->n && n->op == OP_RANGE; k++)
            if (f->p[k]->arg.range.pos >= n->arg.range.pos) opt_fail(s, "ORDER", "axis %s decides how long axis %s is, so it must be outside", ir_name(ir, f->p[k]->arg.range.cls), ir_name(ir, n->arg.range.cls));
        uop_vec below = {0};
        uop_topo(ir->arena, &n->src[0], 1, &below);
        for (uint32_t k = 0; k < below.n; k++)
            if (binds(below.p[k])) opt_fail(s, "STAGE", "a staged or reduced value decides %s", n->op == OP_RANGE ? "how long a loop is" : "which buffer is used");
        for (uint32_t k = 0; k < f->n; k++)
            if (axis_is_expanded((enum axis_kind)f->p[k]->arg.range.kind))
                opt_fail(s, "UNROLL", "axis %s decides %s, so it must stay a loop", ir_name(ir, f->p[k]->arg.range.cls),
                         n->op == OP_RANGE ? "how long another loop is" : "which buffer is used");
        if (n->op == OP_RANGE && n->arg.range.kind == AX_GRID && !uop_is_const(n->src[0])) opt_fail(s, "THREAD", "the grid must have a known size");
    }
}

const uop *sched_finish(struct sched *s) {
    write_ranges(s);
    split_reductions(s);
    check_finished(s);
    return s->sink;
}
