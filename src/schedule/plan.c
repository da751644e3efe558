/* plan.c: which values are stored and which stores share a kernel, for a whole program.
 *
 * The program is divided into regions: units that no kernel could combine are in different ones (operands of a contraction
 * are stored before it, its result before it is reduced). Each region is a problem for the fusion search (search.c), whose
 * question "how long would the kernel of these outputs take" is answered by building that kernel (rangeify.c) and pricing it
 * (price.c). Regions with the same structure, as the layers of a model have, are planned and built once: their text is the
 * key.
 * Requires: struct sgraph. Gives: struct fusion_plan.
 * Tests: tests/unit/schedule.c, tests/unit/search.c */
#include <math.h>
#include <stdlib.h>

#include "schedule/internal.h"

enum {
    THOROUGH_UNTIL = 30000, /* evaluations of a program without checkpoints: its further regions get fewer */
    BRIEF_AFTER = 100000    /* .. its further blocks fewer still */
};
enum { IN_PLACE_MOST = 64 }; /* units of a region that writes buffers and is ordered by structure: a layer */
enum { PLANS_LEAST = 4, PLANS_MOST = 8 }; /* that one search returns */
/* What keeping a byte for another kernel is worth where memory is scarce, in times of reading it. */
#define HOLD 0.1

/* ---- canonical text of a region: equal text, equal plan ------------------------------------------------------------------- */

struct region_memos {          /* of one region at a time; by node */
    struct uop_memo structure; /* structure_hash of what is no unit */
    struct uop_memo named;     /* text_of: number of its first mention */
    struct uop_memo outside;   /* index in region.outside */
    struct uop_memo memory;    /* the first of region.outside in this memory */
    uint32_t names;
};

struct region {
    struct sgraph *g;
    struct rangeify *rf;
    struct arena_mark start;  /* of g->region, while it is planned */
    uint32_t *unit, n;        /* of the region, topological */
    bool thorough, brief;     /* many evaluations, few: see THOROUGH_UNTIL */
    uint32_t *local;          /* unit -> index in `unit`, or UINT32_MAX */
    VEC(const uop *) outside; /* memory that it reads, by first mention */
    uint8_t *stored;          /* by unit, of the program */
    uint32_t *seen, mark;     /* by unit */
    uint64_t *hash;           /* by unit: of its structure within the region; see structure_hash */
    struct region_memos *memo;
    uint32_t *stage; /* by unit: see find_stages */
    struct str text;
};

/* A path may leave the region and reenter it: a normalized value feeds a GEMM, and its gradient, much later, is reduced in the
 * same region. The stage of a unit is the number of reentries on the longest path to it. A kernel with outputs of two stages
 * would wait for kernels of other regions that wait for it. */
static void find_stages(struct region *x) {
    struct sgraph *g = x->g;
    uint32_t out = UINT32_MAX, back = 0; /* first unit outside that reads one inside, last that is read */
    for (uint32_t i = 0; i < x->n; i++) {
        const struct plan_unit *u = &g->unit[x->unit[i]];
        x->stage[x->unit[i]] = 0;
        for (const uint32_t *s = u->use; *s != UINT32_MAX; s++)
            if (x->local[*s] == UINT32_MAX) out = RG_MIN(out, *s);
        for (const uint32_t *s = u->src; *s != UINT32_MAX; s++)
            if (x->local[*s] == UINT32_MAX) back = RG_MAX(back, *s);
    }
    if (out > back) return;
    for (uint32_t u = out; u <= x->unit[x->n - 1]; u++) {
        bool inside = x->local[u] != UINT32_MAX;
        x->stage[u] = 0;
        for (const uint32_t *s = g->unit[u].src; *s != UINT32_MAX; s++) {
            bool from =
                x->local[*s] != UINT32_MAX; /* outside units before `out` do not depend on the region */
            uint32_t stage = from || *s >= out ? x->stage[*s] + (from && !inside) : 0;
            x->stage[u] = RG_MAX(x->stage[u], stage);
        }
    }
}

/* Does the region read n from memory? */
static bool is_outside(const struct region *x, const uop *n) {
    uint32_t u = x->g->unit_of[n->id];
    return sg_is_memory(x->g, n) || (u && x->g->unit[u - 1].hint != HINT_NUMBER);
}

static bool is_inside(const struct region *x, const uop *n) {
    uint32_t u = x->g->unit_of[n->id];
    return u && x->local[u - 1] != UINT32_MAX && x->g->unit[u - 1].hint != HINT_NUMBER;
}

/* Is source i of n where a slice begins, or a padded tensor stands? */
static bool is_position(const uop *n, uint32_t i) {
    if (n->op == OP_SHRINK) return i % 3 == 1;
    return n->op == OP_PAD && i >= 2 && i % 3 != 1;
}

/* A hash of what n computes from the inputs of the region. Of inputs only dtype and shape count, and operands of commutative
 * ops are unordered: so two instances of a layer hash alike, though their nodes differ in order. So do the steps of a recurrence,
 * each of which reads another slice: their plans are alike, and their kernels the same. Numbers and views between units are
 * bounded (find_units), so the recursion is. */
static uint64_t structure_hash(const struct region *x, const uop *n, bool self) {
    const struct sgraph *g = x->g;
    if (!self && is_inside(x, n)) return x->hash[g->unit_of[n->id] - 1];
    uint64_t h = hash_u64((uint64_t)n->op << 8 | n->dt), known;
    if (!self && is_outside(x, n)) {
        const struct shape *sh = sg_shape(x->g, n);
        for (uint32_t i = 0; i < sh->n; i++) h = hash_u64(h + (uint64_t)sh->d[i]);
        return hash_u64(h + 1);
    }
    if (!self && uop_memo_get(&x->memo->structure, n, &known)) return known;
    h = hash_u64(h + n->arg.u);
    if (op_info[n->op].flags & OPF_C)
        h = hash_u64(h + structure_hash(x, n->src[0], false) + structure_hash(x, n->src[1], false));
    else
        for (uint32_t i = 0; i < n->nsrc; i++)
            if (!is_position(n, i)) h = hash_u64(h + structure_hash(x, n->src[i], false));
    return self ? h : uop_memo_put(&x->memo->structure, n, h);
}

struct hashed_unit {
    uint64_t hash;
    uint32_t unit;
};

static int by_hash(const void *a, const void *b) {
    const struct hashed_unit *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->unit < y->unit ? -1 : x->unit > y->unit;
}

typedef VEC(struct hashed_unit) hashed_vec;

/* Pushes the unseen units of the list that are in the region, the one with the least hash on top. */
static void push_by_hash(struct region *x, const uint32_t *list, hashed_vec *stack) {
    uint32_t from = stack->n;
    for (; *list != UINT32_MAX; list++)
        if (x->local[*list] != UINT32_MAX && x->seen[*list] != x->mark)
            vec_push(x->g->a, stack, ((struct hashed_unit){~x->hash[*list], *list}));
    if (stack->n > from + 1) qsort(stack->p + from, stack->n - from, sizeof *stack->p, by_hash);
}

/* Does an op read this version of a buffer, in place? */
static bool reads_version(const uop *n, const uop *version) {
    for (uint32_t s = n->op == OP_ASSIGN; s < n->nsrc; s++) {
        const uop *v = n->src[s];
        while (op_is_movement((enum op)v->op)) v = v->src[0];
        if (v == version) return true;
    }
    return false;
}

/* Is a buffer that the region writes read before? Then the order of the program counts: see find_before. */
static bool reads_before_writing(const struct region *x) {
    for (uint32_t i = 0; i < x->n; i++) {
        const uop *a = x->g->unit[x->unit[i]].n;
        for (uint32_t k = 0; k < x->n && a->op == OP_ASSIGN; k++)
            if (k != i && reads_version(x->g->unit[x->unit[k]].n, a->src[0])) return true;
    }
    return false;
}

/* Orders the units by structure: depth first from those that no unit of the region reads. */
static void order_units(struct region *x) {
    struct sgraph *g = x->g;
    hashed_vec stack = {0};
    uint32_t *last = arena_array(g->a, uint32_t, x->n + 1), ends = 0, n = 0;
    bool in_place = false;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t u = x->unit[i];
        uint64_t h = structure_hash(x, g->unit[u].n, true) + g->unit[u].forced + 4u * g->unit[u].cut;
        bool end = true;
        for (const uint32_t *s = g->unit[u].use; *s != UINT32_MAX; s++)
            if (x->local[*s] != UINT32_MAX)
                end = false;
            else
                h = hash_u64(h);
        x->hash[u] = h;
        if (end) last[ends++] = u;
        in_place |= g->unit[u].n->op == OP_ASSIGN;
    }
    if (in_place && (x->n > IN_PLACE_MOST || reads_before_writing(x))) return;
    last[ends] = UINT32_MAX;
    x->mark++;
    push_by_hash(x, last, &stack);
    while (stack.n) {
        uint32_t u = stack.p[stack.n - 1].unit, was = stack.n;
        if (x->seen[u] == x->mark) {
            stack.n--;
            continue;
        }
        push_by_hash(x, g->unit[u].src, &stack);
        if (stack.n > was) continue;
        x->seen[u] = x->mark;
        x->unit[n++] = u;
        stack.n--;
    }
    for (uint32_t i = 0; i < n; i++) x->local[x->unit[i]] = i;
}

/* Memory that the region reads, by number: " x3:f32(4, 5)", and "=1" if it is the memory of number 1: two views of one memory are
 * not two memories. */
static void outside_text(struct region *x, const uop *n) {
    uint64_t k, first;
    const uop *m = sg_memory(x->g, n);
    if (!uop_memo_get(&x->memo->outside, n, &k)) {
        k = uop_memo_put(&x->memo->outside, n, x->outside.n);
        vec_push(x->g->a, &x->outside, n);
    }
    if (!uop_memo_get(&x->memo->memory, m, &first)) first = uop_memo_put(&x->memo->memory, m, k);
    str_printf(&x->text, " x%u:%s", (unsigned)k, dtype_info[n->dt].name);
    shape_print(&x->text, sg_shape(x->g, n));
    if (first != k) str_printf(&x->text, "=%u", (unsigned)first);
}

/* A number or view that was mentioned before is called by the order of first mentions. */
static void text_of(struct region *x, const uop *n, bool self) {
    uint64_t name;
    if (!self && is_inside(x, n)) {
        str_printf(&x->text, " u%u", x->local[x->g->unit_of[n->id] - 1]);
        return;
    }
    if (!self && is_outside(x, n)) {
        outside_text(x, n);
        return;
    }
    if (!self && n->nsrc && uop_memo_get(&x->memo->named, n, &name)) {
        str_printf(&x->text, " n%u", (unsigned)name);
        return;
    }
    if (!self && n->nsrc) uop_memo_put(&x->memo->named, n, x->memo->names++);
    str_printf(&x->text, " (%s %s %llx", op_info[n->op].name, dtype_info[n->dt].name,
               (unsigned long long)n->arg.u);
    bool swap = (op_info[n->op].flags & OPF_C) &&
                structure_hash(x, n->src[0], false) > structure_hash(x, n->src[1], false);
    for (uint32_t i = 0; i < n->nsrc; i++) text_of(x, n->src[swap ? 1 - i : i], false);
    str_addc(&x->text, ')');
}

static void clear_memos(struct region_memos *m) {
    uop_memo_clear(&m->structure), uop_memo_clear(&m->named), uop_memo_clear(&m->outside),
        uop_memo_clear(&m->memory);
    m->names = 0;
}

static void region_text(struct region *x) {
    clear_memos(x->memo);
    find_stages(x);
    order_units(x);
    str_init(&x->text, x->g->a);
    for (uint32_t i = 0; i < x->n; i++) {
        const struct plan_unit *u = &x->g->unit[x->unit[i]];
        text_of(x, u->n, true);
        str_printf(&x->text, u->kept ? " %dk" : u->cut ? " %dc" : " %d", u->forced);
        if (x->stage[x->unit[i]]) str_printf(&x->text, " @%u", x->stage[x->unit[i]]);
        for (const uint32_t *s = u->use; *s != UINT32_MAX; s++)
            if (x->local[*s] == UINT32_MAX) str_add(&x->text, "!"); /* read outside */
        str_addc(&x->text, '\n');
    }
}

/* ---- the problem -------------------------------------------------------------------------------------------------- */

static bool is_among(uint32_t u, const uint32_t *out, uint32_t k) {
    uint32_t i = 0;
    while (i < k && out[i] != u) i++;
    return i < k;
}

/* Walks the cone of these units and copies which of it is stored: all that rangeify asks for. `needs` (may be NULL) gets the
 * stored units of the region that the kernel reads. False: it would recompute an output that is cut. */
static bool take_stored(struct region *x, const uint32_t *out, uint32_t k, const uint8_t *stored,
                        uint8_t *needs) {
    struct sgraph *g = x->g;
    VEC(uint32_t) stack = {0};
    bool legal = true;
    x->mark++;
    for (uint32_t i = 0; i < k; i++) {
        x->seen[out[i]] = x->mark;
        x->stored[out[i]] = stored[x->local[out[i]]];
        vec_push(g->eval, &stack, out[i]);
    }
    while (stack.n) {
        for (const uint32_t *s = g->unit[stack.p[--stack.n]].src; *s != UINT32_MAX; s++) {
            if (x->seen[*s] == x->mark) {
                legal &= !g->unit[*s].cut || !is_among(*s, out, k);
                continue;
            }
            x->seen[*s] = x->mark;
            bool inside = x->local[*s] != UINT32_MAX;
            if (inside) x->stored[*s] = stored[x->local[*s]];
            if (!x->stored[*s])
                vec_push(g->eval, &stack, *s);
            else if (inside && needs)
                needs[x->local[*s]] = 1;
        }
    }
    return legal;
}

/* A new ir for kernels: those priced so far are dropped. */
static void reset_ir(struct region *x) {
    arena_release(x->g->region, x->start);
    rangeify_restart(x->rf, x->g->region);
}

/* Outputs are local numbers; the kernel reads what is stored. */
static double cost_of(void *cx, const uint32_t *out, uint32_t k, const uint8_t *stored, uint8_t *needs) {
    struct region *x = cx;
    struct arena_mark mark = arena_mark(x->g->eval);
    uint32_t *unit = arena_array(x->g->eval, uint32_t, k);
    double seconds = INFINITY;
    bool legal = true;
    if (x->rf->ir->n > KERNEL_IR_NODES) reset_ir(x);
    for (uint32_t i = 0; i < k; i++) {
        unit[i] = x->unit[out[i]];
        legal &= x->stage[unit[i]] == x->stage[unit[0]];
    }
    legal &= take_stored(x, unit, k, stored, needs);
    const uop *sink = legal ? rangeify_kernel(x->rf, unit, k, x->stored) : NULL;
    if (sink) seconds = price_kernel(x->rf, sink, x->g->opts->model).seconds;
    arena_release(x->g->eval, mark);
    return seconds;
}

/* In-place stores come after readers of the previous version. Only pairs that agree with the order of the units: others
 * (two buffers that are swapped, a reader of both versions) are resolved when the calls are ordered (schedule.c). */
static void find_before(struct region *x, struct plan_problem *p) {
    VEC(uint32_t) pair = {0};
    struct sgraph *g = x->g;
    for (uint32_t i = 0; i < x->n; i++) {
        const uop *a = g->unit[x->unit[i]].n;
        if (a->op != OP_ASSIGN) continue;
        for (uint32_t k = 0; k < i; k++) {
            const uop *n = g->unit[x->unit[k]].n;
            if (x->seen[x->unit[k]] == x->mark)
                continue; /* reads both versions: it will get a copy of the old one */
            if (!reads_version(n, a->src[0])) continue;
            vec_push(g->a, &pair, k);
            vec_push(g->a, &pair, i);
        }
    }
    p->before = (const uint32_t(*)[2])pair.p;
    p->nbefore = pair.n / 2;
}

static double bytes_of(struct sgraph *g, uint32_t unit) {
    const uop *n = g->unit[unit].n;
    return (double)shape_size(sg_shape(g, n)) * dtype_info[n->dt].bytes;
}

/* What the units read of other regions, for the price of memory. */
static void find_far(struct region *x, struct plan_problem *p) {
    struct sgraph *g = x->g;
    const uint32_t **far = arena_array(g->a, const uint32_t *, x->n);
    VEC(uint32_t) unit = {0};
    for (uint32_t i = 0; i < x->n; i++) {
        VEC(uint32_t) v = {0};
        for (const uint32_t *s = g->unit[x->unit[i]].src; *s != UINT32_MAX; s++) {
            if (x->local[*s] != UINT32_MAX) continue;
            uint32_t k = 0;
            while (k < unit.n && unit.p[k] != *s) k++;
            if (k == unit.n) vec_push(g->a, &unit, *s);
            vec_push(g->a, &v, x->n + k);
        }
        vec_push(g->a, &v, UINT32_MAX);
        far[i] = v.p;
    }
    double *bytes = arena_array(g->a, double, x->n + unit.n);
    memcpy(bytes, p->bytes, x->n * sizeof *bytes);
    for (uint32_t k = 0; k < unit.n; k++) bytes[x->n + k] = bytes_of(g, unit.p[k]);
    p->bytes = bytes, p->far = far, p->nfar = unit.n;
    p->hold = HOLD * 1e-9 / model_value(g->opts->model, MODEL_DRAM_READ);
}

static void make_problem(struct region *x, struct plan_problem *p) {
    struct sgraph *g = x->g;
    const uint32_t **use = arena_array(g->a, const uint32_t *, x->n);
    uint8_t *forced = arena_array(g->a, uint8_t, x->n), *hint = arena_array(g->a, uint8_t, x->n);
    double *bytes = arena_array(g->a, double, x->n);
    uint32_t *statements = arena_array(g->a, uint32_t, x->n);
    bool in_place = false; /* several units may live in one buffer */
    for (uint32_t i = 0; i < x->n; i++) {
        const struct plan_unit *u = &g->unit[x->unit[i]];
        in_place |= sg_memory(g, u->n) != u->n;
        VEC(uint32_t) v = {0};
        bool escapes = false;
        for (const uint32_t *s = u->use; *s != UINT32_MAX; s++) {
            if (x->local[*s] != UINT32_MAX)
                vec_push(g->a, &v, x->local[*s]);
            else
                escapes |= g->unit[*s].hint != HINT_NUMBER;
        }
        vec_push(g->a, &v, UINT32_MAX);
        use[i] = v.p;
        forced[i] = escapes && u->forced == UNIT_FREE ? UNIT_FORCED : u->forced;
        hint[i] = u->hint;
        statements[i] = op_statements((enum op)u->n->op);
        bytes[i] = bytes_of(g, x->unit[i]);
    }
    *p = (struct plan_problem){.n = x->n,
                               .use = use,
                               .forced = forced,
                               .hint = hint,
                               .bytes = bytes,
                               .statements = statements,
                               .most_statements = KERNEL_STATEMENTS,
                               .most_nodes = KERNEL_NODES,
                               .most_outputs = KERNEL_OUTPUTS,
                               .most_buffers = in_place ? 0 : KERNEL_BUFFERS,
                               .cost = cost_of,
                               .cx = x,
                               .thorough = x->thorough,
                               .brief = x->brief,
                               .no_multi = g->opts->no_multi};
    if (g->checkpointed) find_far(x, p);
    find_before(x, p);
}

/* ---- the log of DEBUG=3 -------------------------------------------------------------------- */

static void log_plan(struct region *x, const struct plan_result *p, const char *word) {
    struct sgraph *g = x->g;
    uint32_t reads = 0, writes = 0;
    double bytes = 0;
    for (uint32_t k = 0; k < p->kernels; k++) {
        VEC(uint32_t) unit = {0};
        for (uint32_t i = 0; i < x->n; i++)
            if (p->stored[i] && p->kernel[i] == k) vec_push(g->a, &unit, x->unit[i]);
        for (uint32_t i = 0; i < x->n; i++) x->stored[x->unit[i]] = p->stored[i];
        const uop *sink = unit.n ? rangeify_kernel(x->rf, unit.p, unit.n, x->stored) : NULL;
        if (!sink) continue;
        struct kernel_price c = price_kernel(x->rf, sink, g->opts->model);
        reads += c.reads, writes += c.writes, bytes += c.bytes;
    }
    str_printf(g->opts->log, "  %-9s %2u kernels, %2u reads + %2u writes, %10.3f MB, %10.2f us", word,
               p->kernels, reads, writes, bytes * 1e-6, p->seconds * 1e6);
    str_add(g->opts->log, "; stored:");
    for (uint32_t i = 0; i < x->n; i++)
        if (p->stored[i]) str_printf(g->opts->log, " %s#%u", op_info[g->unit[x->unit[i]].n->op].name, i);
    str_addc(g->opts->log, '\n');
}

static void log_region(struct region *x, const struct plan_problem *p, const struct plan_result *best,
                       uint32_t n) {
    struct str *log = x->g->opts->log;
    struct plan_result all;
    str_printf(log, "plan: region of %u units, %llu kernels priced\n", x->n,
               (unsigned long long)best->evaluations);
    log_plan(x, best, "chosen");
    for (uint32_t i = 1; i < n; i++) log_plan(x, &best[i], "then");
    if (plan_store_all(x->g->a, x->g->ir->err, p, &all)) log_plan(x, &all, "store all");
    if (plan_fuse_all(x->g->a, x->g->ir->err, p, &all)) log_plan(x, &all, "fuse all");
}

/* ---- regions to kernels ------------------------------------------------------------------------------------------------ */

struct region_template { /* of a region's text */
    const char *text;
    struct plan_result result;
    struct planned_kernel *kernel; /* of its first instance; see instantiate */
    uint32_t kernels;
    const uop *const *outside;
    uint32_t *unit;
    uint32_t units, outsides;
};

void plan_emit(struct sgraph *g, struct rangeify *rf, struct planned_kernel *k, const uint8_t *stored) {
    struct arena_mark mark = arena_mark(g->eval);
    const uop *sink = rangeify_kernel(rf, k->unit, k->n, stored);
    if (!sink)
        err_throw(g->ir->err, RG_EINTERNAL, "plan: a kernel that was priced cannot be built: %s",
                  rf->illegal);
    k->price = price_kernel(rf, sink, sg_machine(g));
    struct built *b = arena_new(g->a, struct built);
    kernel_build(rf, sink, b);
    k->built = b;
    k->buffer = b->buffer;
    arena_release(g->eval, mark);
}

/* Stores INLINE values after all: no kernel can compute some programs (tests make them) without. */
static bool store_rows(struct region *x) {
    bool any = false;
    for (uint32_t i = 0; i < x->n; i++) {
        struct plan_unit *u = &x->g->unit[x->unit[i]];
        if (u->row) u->forced = UNIT_FORCED, any = true;
        u->row = u->kept = 0;
    }
    if (any && x->g->opts->log)
        str_printf(x->g->opts->log,
                   "plan: region of %u units has no legal plan without storing its INLINE values: stored\n",
                   x->n);
    return any;
}

/* Outputs of kernel k. */
static uint32_t outputs_of(const struct plan_problem *p, const struct plan_result *r, uint32_t k,
                           uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t v = 0; v < p->n; v++)
        if (r->stored[v] && r->kernel[v] == k) out[n++] = v;
    return n;
}

/* Stores that no other kernel reads: the search keeps some that were read when it chose them. What it costs a kernel to store one
 * fewer is asked for. */
static void drop_unread(struct arena *a, const struct plan_problem *p, struct plan_result *r) {
    uint32_t *out = arena_array(a, uint32_t, p->n);
    uint8_t *needs = arena_array(a, uint8_t, p->n), *read = arena_array(a, uint8_t, p->n);
    double *seconds = arena_array(a, double, r->kernels);
    for (uint32_t k = 0; k < r->kernels; k++) {
        uint32_t n = outputs_of(p, r, k, out);
        memset(needs, 0, p->n);
        seconds[k] = p->cost(p->cx, out, n, r->stored, needs);
        for (uint32_t v = 0; v < p->n; v++) read[v] |= needs[v];
    }
    for (uint32_t v = 0; v < p->n; v++) {
        uint32_t k = r->kernel[v];
        if (!r->stored[v] || p->forced[v] || read[v]) continue;
        r->stored[v] = 0;
        uint32_t n = outputs_of(p, r, k, out);
        double less = n ? p->cost(p->cx, out, n, r->stored, NULL) : INFINITY;
        r->stored[v] = !(less <= seconds[k]);
        if (r->stored[v]) continue;
        r->kernel[v] = UINT32_MAX;
        r->seconds -= seconds[k] - less;
        seconds[k] = less;
    }
}

static void solve(struct region *x, struct plan_result *out) {
    struct plan_problem p;
    struct plan_result best[PLANS_MOST];
    struct sgraph *g = x->g;
    make_problem(x, &p);
    /* at least PLANS_LEAST, so that DEBUG does not change the plan */
    uint32_t keep = RG_MAX((uint32_t)PLANS_LEAST, (uint32_t)g->opts->rank + 1), n = 1;
    bool ok = true;
    if (g->opts->mode == PLAN_STORE_ALL)
        ok = plan_store_all(g->a, g->ir->err, &p, best);
    else if (g->opts->mode == PLAN_FUSE_ALL)
        ok = plan_fuse_all(g->a, g->ir->err, &p, best);
    else
        n = plan_search(g->a, g->ir->err, &p, best, RG_MIN(keep, PLANS_MOST));
    if ((!ok || !n) && store_rows(x)) {
        solve(x, out);
        return;
    }
    if (!ok || !n) err_throw(g->ir->err, RG_EINTERNAL, "plan: no legal plan for a region of %u units", x->n);
    if (g->opts->log) log_region(x, &p, best, n);
    *out = best[RG_MIN((uint32_t)g->opts->rank, n - 1)];
    if (g->opts->mode == PLAN_COST) drop_unread(g->a, &p, out);
    if (g->opts->inspect) g->opts->inspect(g->opts->inspect_cx, &p, out);
}

static void emit_region(struct region *x, const struct plan_result *p, struct region_template *t) {
    struct sgraph *g = x->g;
    t->kernel = arena_array(g->a, struct planned_kernel, p->kernels);
    t->kernels = p->kernels;
    for (uint32_t i = 0; i < x->n; i++) x->stored[x->unit[i]] = p->stored[i];
    for (uint32_t k = 0; k < p->kernels; k++) {
        VEC(uint32_t) unit = {0};
        for (uint32_t i = 0; i < x->n; i++)
            if (p->stored[i] && p->kernel[i] == k) vec_push(g->a, &unit, x->unit[i]);
        t->kernel[k] = (struct planned_kernel){.unit = unit.p, .n = unit.n};
        plan_emit(g, x->rf, &t->kernel[k], x->stored);
    }
}

/* The kernels of a region whose text is known: the template's, on its own units and memory. */
static void instantiate(struct region *x, const struct region_template *t, struct fusion_plan *plan) {
    struct sgraph *g = x->g;
    struct map to;
    map_init(&to, g->a);
    for (uint32_t i = 0; i < t->outsides; i++)
        map_put(&to, sg_memory(g, t->outside[i])->id, sg_memory(g, x->outside.p[i])->id);
    for (uint32_t i = 0; i < t->units; i++)
        map_put(&to, sg_memory(g, g->unit[t->unit[i]].n)->id, sg_memory(g, g->unit[x->unit[i]].n)->id);
    for (uint32_t i = 0; i < x->n; i++)
        x->stored[x->unit[i]] = plan->stored[x->unit[i]] = t->result.stored[i];
    for (uint32_t k = 0; k < t->kernels; k++) {
        const struct planned_kernel *from = &t->kernel[k];
        uint32_t *unit = arena_array(g->a, uint32_t, from->n), n = 0;
        for (uint32_t i = 0; i < x->n; i++)
            if (t->result.stored[i] && t->result.kernel[i] == k) unit[n++] = x->unit[i];
        const uop **buffer = arena_array(g->a, const uop *, from->built->nbuf);
        for (uint32_t i = 0; i < from->built->nbuf; i++) {
            uint64_t id;
            if (!map_get(&to, from->buffer[i]->id, &id))
                err_throw(g->ir->err, RG_EINTERNAL,
                          "plan: a kernel of a repeated region reads memory that the region does not name");
            buffer[i] = g->ir->node[id];
        }
        vec_push(g->a, &plan->kernel,
                 ((struct planned_kernel){
                     .unit = unit, .n = n, .built = from->built, .buffer = buffer, .price = from->price}));
    }
    plan->seconds += t->result.seconds;
    plan->store_all += t->result.store_all;
    plan->fuse_all += t->result.fuse_all;
}

static struct region_template *known_region(struct map *m, struct region_template **all, uint64_t h,
                                            const char *text) {
    uint64_t at;
    for (; map_get(m, h, &at); h = hash_u64(h + 1))
        if (!strcmp(all[at]->text, text)) return all[at];
    return NULL;
}

static void plan_region(struct region *x, struct map *known, struct region_template ***all, uint32_t *n,
                        struct fusion_plan *plan) {
    struct sgraph *g = x->g;
    region_text(x);
    uint64_t h = hash_bytes(x->text.p, x->text.n, 3), at;
    struct region_template *t = known_region(known, *all, h, x->text.p);
    if (!t) {
        t = arena_new(g->a, struct region_template);
        *t = (struct region_template){.text = x->text.p,
                                      .outside = x->outside.p,
                                      .outsides = x->outside.n,
                                      .unit = x->unit,
                                      .units = x->n};
        x->start = arena_mark(g->region);
        reset_ir(x);
        solve(x, &t->result);
        plan->evaluations += t->result.evaluations;
        plan->distinct++;
        emit_region(x, &t->result, t);
        arena_release(g->region, x->start);
        while (map_get(known, h, &at)) h = hash_u64(h + 1);
        map_put(known, h, *n);
        (*all)[(*n)++] = t;
    }
    instantiate(x, t, plan);
}

void plan_graph(struct sgraph *g, struct fusion_plan *plan) {
    struct plan_regions regions;
    struct map known;
    *plan = (struct fusion_plan){.stored = arena_array(g->a, uint8_t, g->units + 1)};
    map_init(&known, g->a);
    plan_find_regions(g, &regions);
    uint32_t *local = arena_array(g->a, uint32_t, g->units + 1), n = 0;
    struct region_template **all = arena_array(g->a, struct region_template *, g->units + 1);
    uint8_t *stored = arena_array(g->a, uint8_t, g->units + 1);
    uint32_t *seen = arena_array(g->a, uint32_t, g->units + 1), mark = 0;
    uint64_t *hash = arena_array(g->a, uint64_t, g->units + 1);
    uint32_t *stage = arena_array(g->a, uint32_t, g->units + 1);
    struct region_memos memo = {0};
    struct rangeify rf;
    rangeify_init(&rf, g, g->eval);
    uop_memo_init(&memo.structure, g->a), uop_memo_init(&memo.named, g->a);
    uop_memo_init(&memo.outside, g->a), uop_memo_init(&memo.memory, g->a);
    memset(local, 0xff, (g->units + 1) * sizeof *local);
    for (uint32_t u = 0; u < g->units; u++)
        stored[u] = g->unit[u].hint != HINT_NUMBER && g->unit[u].forced == UNIT_FORCED;
    for (uint32_t k = 0; k < regions.region.n; k++) {
        const struct unit_list *list = &regions.region.p[k];
        if (g->unit[list->unit[0]].n->op == OP_CALL) {
            bool loop = call_of(g->ir, g->unit[list->unit[0]].n) == CALL_loop;
            (loop ? plan_loop : plan_call)(g, list->unit[0], plan);
            continue;
        }
        struct region x = {.g = g,
                           .rf = &rf,
                           .unit = list->unit,
                           .n = list->n,
                           .thorough = plan->evaluations < THOROUGH_UNTIL && !g->checkpointed,
                           .brief = list->block && plan->evaluations > BRIEF_AFTER,
                           .local = local,
                           .stored = stored,
                           .seen = seen,
                           .mark = mark,
                           .hash = hash,
                           .memo = &memo,
                           .stage = stage};
        for (uint32_t i = 0; i < x.n; i++) local[x.unit[i]] = i;
        plan->regions++;
        plan_region(&x, &known, &all, &n, plan);
        for (uint32_t i = 0; i < x.n; i++) local[x.unit[i]] = UINT32_MAX;
        mark = x.mark;
    }
    g->visits += memo.structure.visits + memo.named.visits + memo.outside.visits;
}
