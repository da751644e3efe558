/* search_space.c: candidates of the beam search: complete opt lists around a given one.
 *
 * Three sources. The list itself. The lists of the heuristic's recipes at every level, for vectors of one and of two
 * registers and for fewer and more threads (GPU: the heuristic's list without tiling). And mutations of those: another tile
 * size, one opt less, an axis unrolled, two loops swapped, a grid axis made a loop, other prefetch distances; one to three
 * at a time. Mutations may be illegal: opts_look decides, as for every list.
 *
 * A candidate must sum in the same order as the given list, so that the choice never shows in a result
 * (docs/internals/ir.md, rounding). opts_rounding prints that order: for every reduction whose result depends on it, the
 * pieces of the reduced axes from outermost to innermost, which of them run sequentially in one accumulator and which have
 * accumulators of their own, and where a level ends. A tile that runs in order makes no difference. Where order does not
 * matter (integers, maxima) nothing is printed, and everything is allowed.
 * Tests: tests/unit/tune.c (space_*) */
#include "tune/choose/choose.h"

#include <stdlib.h>

/* ---- lists as data -------------------------------------------------------------------------------------------- */

enum { MOST_ITEMS = 64, MOST_ARGS = 16 };
struct opt_item {
    const char *name, *arg[MOST_ARGS];
    uint32_t n;
};
struct opt_list {
    struct opt_item item[MOST_ITEMS];
    uint32_t n;
};

static bool is_word(char c) { return c && !strchr("(), \t\n\r", c); }

static const char *word(struct arena *a, const char **p) {
    while (**p && !is_word(**p) && **p != ')') ++*p;
    const char *s = *p;
    while (is_word(**p)) ++*p;
    return arena_strdup(a, s, (size_t)(*p - s));
}

/* Of a legal list. False: too long to be mutated. */
static bool parse(struct arena *a, const char *text, struct opt_list *l) {
    l->n = 0;
    for (const char *p = text;; l->n++) {
        while (*p && !is_word(*p)) p++;
        if (!*p) return true;
        if (l->n == MOST_ITEMS) return false;
        struct opt_item *t = &l->item[l->n];
        *t = (struct opt_item){.name = word(a, &p)};
        for (;;) {
            const char *w = word(a, &p);
            if (!*w) break;
            if (t->n == MOST_ARGS) return false;
            t->arg[t->n++] = w;
        }
    }
}

static const char *print(struct arena *a, const struct opt_list *l) {
    struct str s;
    str_init(&s, a);
    for (uint32_t i = 0; i < l->n; i++) {
        str_printf(&s, "%s%s(", i ? " " : "", l->item[i].name);
        for (uint32_t k = 0; k < l->item[i].n; k++) str_printf(&s, "%s%s", k ? "," : "", l->item[i].arg[k]);
        str_addc(&s, ')');
    }
    return s.n ? s.p : "";
}

static bool is(const struct opt_item *t, const char *name) { return !strcmp(t->name, name); }

/* ---- the order of summation -------------------------------------------------------------------------------------- */

/* What TILE splits an axis into: every `stride`-th value of the axis `origin`. */
struct axis_piece {
    const char *name, *origin;
    int64_t stride;
};

struct rounding {
    struct arena *arena; /* of the text */
    const struct opt_list *list;
    const char *text;
};

/* name: k, or k%64: the blocks of 64 values of k, k%64%64: those of 64 blocks (block_sums.c). */
static struct axis_piece piece_of(struct arena *a, const struct opt_list *l, const char *name) {
    struct axis_piece piece[MOST_ITEMS * 2];
    uint32_t n = 0;
    int64_t blocks = 1;
    size_t len = strcspn(name, "%");
    for (const char *p = name + len; *p; p += strcspn(p, "%")) blocks *= strtoll(++p, NULL, 10);
    name = arena_strdup(a, name, len);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct opt_item *t = &l->item[i];
        if (!is(t, "TILE") || t->n != 3) continue;
        uint32_t k = 0;
        while (k < n && strcmp(piece[k].name, t->arg[0])) k++;
        if (k == n) piece[n++] = (struct axis_piece){t->arg[0], t->arg[0], 1};
        piece[n++] = (struct axis_piece){t->arg[2], piece[k].origin, piece[k].stride};
        piece[k].stride *= strtoll(t->arg[1], NULL, 10);
    }
    for (uint32_t k = 0; k < n; k++)
        if (!strcmp(piece[k].name, name))
            return (struct axis_piece){name, piece[k].origin, piece[k].stride * blocks};
    return (struct axis_piece){name, name, blocks};
}

static bool order_matters(const uop *n) {
    if (n->op == OP_STORE_ADD) return dt_is_float((enum dtype)n->src[1]->dt);
    return n->op == OP_REDUCE && dt_is_float((enum dtype)n->dt) && n->arg.i != OP_MAX && n->arg.i != OP_MIN;
}

static int in_order(const void *x, const void *y) {
    const uop *a = *(const uop *const *)x, *b = *(const uop *const *)y;
    bool ea = axis_is_expanded((enum axis_kind)a->arg.range.kind),
         eb = axis_is_expanded((enum axis_kind)b->arg.range.kind);
    return ea != eb ? ea - eb : range_by_pos(x, y);
}

/* Pieces that run sequentially in one accumulator are one, however they were tiled. `nested`: another level reduces this one, so
 * its end matters. */
static void write_order(const struct rounding *o, const struct ir *ir, uop_vec *r, bool nested,
                        struct str *out) {
    struct axis_piece last = {0};
    int64_t size = 0;
    if (r->n) qsort(r->p, r->n, sizeof *r->p, in_order);
    for (int partial = 0; partial < 2; partial++)
        for (uint32_t i = 0; i < r->n; i++) {
            enum axis_kind k = (enum axis_kind)r->p[i]->arg.range.kind;
            if ((k == AX_VEC || k == AX_REG || k == AX_THREAD) != (bool)partial) continue;
            struct axis_piece x = piece_of(o->arena, o->list, ir_name(ir, r->p[i]->arg.range.cls));
            int64_t n = r->p[i]->src[0]->hi;
            if (partial) {
                str_printf(out, " %s:%s/%lld*%lld", axis_name[k], x.origin, (long long)x.stride,
                           (long long)n);
                continue;
            }
            if (last.origin && !strcmp(last.origin, x.origin) && last.stride == x.stride * n) {
                last = x, size *= n;
                continue;
            }
            if (last.origin) str_printf(out, " %s/%lld", last.origin, (long long)last.stride);
            if (last.origin && nested) str_printf(out, "*%lld", (long long)size);
            last = x, size = n;
        }
    if (last.origin) str_printf(out, " %s/%lld", last.origin, (long long)last.stride);
    if (last.origin && nested) str_printf(out, "*%lld", (long long)size);
}

static int by_text(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void note_rounding(void *cx, struct sched *s, const uop *sink) {
    struct rounding *o = cx;
    struct arena *a = s->ir->arena;
    struct free_ranges fr;
    uop_vec topo = {0};
    VEC(const char *) line = {0};
    free_init(&fr, s->ir, a);
    uop_topo(a, &sink, 1, &topo);
    uint8_t *inner = arena_array(a, uint8_t, s->ir->n);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_REDUCE && topo.p[i]->src[0]->op == OP_REDUCE)
            inner[topo.p[i]->src[0]->id] = 1;
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        struct str one;
        uop_vec r = {0};
        if (!order_matters(n)) continue;
        str_init(&one, a);
        if (n->op == OP_STORE_ADD)
            for (uint32_t k = 0; k < free_of(&fr, n)->n; k++) {
                const uop *range = free_of(&fr, n)->p[k];
                const struct axis *axis = sched_axis(s, range->arg.range.cls);
                if (!axis || !axis->grid)
                    vec_push(a, &r, range); /* no two values of a grid axis meet in one element */
            }
        for (uint32_t k = 1; k < n->nsrc && n->op == OP_REDUCE; k++) vec_push(a, &r, n->src[k]);
        str_printf(&one, "%s%s", op_info[n->op].name, n->src[0]->op == OP_REDUCE ? " of sums" : "");
        write_order(o, s->ir, &r, inner[n->id], &one);
        vec_push(a, &line, one.p);
    }
    if (line.n) qsort(line.p, line.n, sizeof *line.p, by_text);
    struct str all;
    str_init(&all, o->arena);
    if (s->ws.cluster) /* partial sums of its blocks come last */
        str_printf(&all, "cluster of %lld\n", (long long)sched_axis(s, s->ws.cluster)->size);
    if (s->columns) str_printf(&all, "%u columns\n", s->columns);
    for (uint32_t i = 0; i < line.n; i++)
        if (!i || strcmp(line.p[i], line.p[i - 1])) str_printf(&all, "%s\n", line.p[i]);
    o->text = all.n ? all.p : "";
}

const char *opts_rounding(struct ir *ir, const struct kernel *k, const char *opts,
                          const struct gpu_spec *gpu) {
    struct opt_list *l = arena_new(ir->arena, struct opt_list);
    struct rounding o = {.arena = ir->arena, .list = l};
    if (!parse(ir->arena, opts, l)) return NULL;
    return opts_look(ir, k, opts, gpu, NULL, note_rounding, &o) ? o.text : NULL;
}

/* ---- mutations ------------------------------------------------------------------------------------------------------- */

struct tries {
    struct ir *ir;
    struct arena *arena;
    const struct kernel *kernel;
    const struct gpu_spec *gpu; /* NULL: a CPU */
    const char *order;          /* of summation, equal for all lists */
    uint64_t rng;
    uint32_t most, fresh;
    opts_vec *out;
    struct map seen;
};

struct list_axes { /* of a kernel under a list */
    struct arena *arena;
    const char *name[64];
    struct axis axis[64];
    uint32_t n;
};

static void note_axes(void *cx, struct sched *s, const uop *sink) {
    struct list_axes *x = cx;
    (void)sink;
    for (uint32_t i = 0; i < s->axis.n && x->n < RG_COUNT(x->name); i++) {
        const char *name = ir_name(s->ir, s->axis.p[i].name);
        x->axis[x->n] = s->axis.p[i];
        x->name[x->n++] = arena_strdup(x->arena, name, strlen(name));
    }
}

static uint32_t draw(struct tries *s, uint32_t n) {
    s->rng = hash_u64(s->rng + 0x9e3779b97f4a7c15ull);
    return n ? (uint32_t)((s->rng >> 16) % n) : 0;
}

static bool is_vector(const struct opt_list *l, const char *axis) {
    for (uint32_t i = 0; i < l->n; i++)
        if (is(&l->item[i], "VEC") && !strcmp(l->item[i].arg[0], axis)) return true;
    return false;
}

/* Another size for a tile; vectors stay powers of two. */
static bool change_number(struct tries *s, struct opt_list *l, uint32_t at) {
    static const int part[][2] = {{1, 2}, {2, 1}, {3, 2}, {2, 3}, {3, 4}, {4, 3}, {1, 4}, {4, 1}};
    struct opt_item *t = &l->item[at];
    uint32_t which = is(t, "PIPE") ? 2 : 1;
    int64_t n = strtoll(t->arg[which], NULL, 10), now;
    if (is(t, "TILE") && is_vector(l, t->arg[2])) {
        now = draw(s, 2) ? n * 2 : n / 2;
    } else {
        uint32_t p = draw(s, RG_COUNT(part) + 2);
        now = p < RG_COUNT(part) ? n * part[p][0] / part[p][1] : p == RG_COUNT(part) ? n + 1 : n - 1;
    }
    if (now < 1 + is(t, "TILE") || now == n) return false;
    t->arg[which] = arena_printf(s->arena, "%lld", (long long)now);
    return true;
}

static void insert(struct opt_list *l, uint32_t at, struct opt_item t) {
    if (l->n == MOST_ITEMS) return;
    memmove(&l->item[at + 1], &l->item[at], (l->n - at) * sizeof t);
    l->item[at] = t;
    l->n++;
}

static void remove_item(struct opt_list *l, uint32_t at) {
    memmove(&l->item[at], &l->item[at + 1], (l->n - at - 1) * sizeof l->item[0]);
    l->n--;
}

/* A new opt at the end, on an axis of the list. */
static bool add_one(struct tries *s, struct opt_list *l, const struct list_axes *x) {
    static const char *const size[] = {"2", "3", "4", "8", "16", "32", "64"};
    if (!x->n) return false;
    uint32_t i = draw(s, x->n), k = draw(s, x->n);
    const char *a = x->name[i];
    bool grid = axis_is_grid(&x->axis[i]);
    switch (draw(s, 6)) {
    case 0:
    case 1: { /* unroll a tile of a loop */
        const char *in = arena_printf(s->arena, "%s_x%u", a, s->fresh++);
        insert(l, l->n, (struct opt_item){"TILE", {a, size[draw(s, 4)], in}, 3});
        insert(l, l->n, (struct opt_item){x->axis[i].reduce && draw(s, 2) ? "REG" : "UNROLL", {in}, 1});
        return true;
    }
    case 2: /* more or less work per grid iteration */
        if (grid && draw(s, 2))
            insert(l, l->n, (struct opt_item){"LOOP", {a}, 1});
        else
            insert(l, l->n,
                   (struct opt_item){
                       "TILE",
                       {a, size[draw(s, RG_COUNT(size))], arena_printf(s->arena, "%s_x%u", a, s->fresh++)},
                       3});
        return true;
    case 3: insert(l, l->n, (struct opt_item){"SWAP", {a, x->name[k]}, 2}); return i != k;
    case 4: insert(l, l->n, (struct opt_item){"UNROLL", {a}, 1}); return x->axis[i].size <= 16;
    default: insert(l, 0, (struct opt_item){"RESIDENT", {a}, 1}); return x->axis[i].members > 1;
    }
}

/* One mutation; false: no effect. */
static bool change(struct tries *s, struct opt_list *l, const struct list_axes *x) {
    if (!l->n || draw(s, 5) == 0) return add_one(s, l, x);
    uint32_t at = draw(s, l->n);
    struct opt_item *t = &l->item[at];
    if ((is(t, "TILE") || is(t, "PIPE")) && draw(s, 4)) return change_number(s, l, at);
    if (is(t, "ORDER") && t->n > 1 && draw(s, 2)) {
        uint32_t i = draw(s, t->n - 1);
        const char *w = t->arg[i];
        t->arg[i] = t->arg[i + 1], t->arg[i + 1] = w;
        return true;
    }
    remove_item(l, at);
    return true;
}

/* ---- candidates --------------------------------------------------------------------------------------------------------- */

/* Adds a list if it is new, legal and sums in the right order. */
static bool take(struct tries *s, const char *text) {
    if (strlen(text) >= CHOOSE_TEXT || s->out->n >= s->most) return false;
    uint64_t key = hash_bytes(text, strlen(text), 7);
    if (map_get(&s->seen, key, NULL)) return false;
    map_put(&s->seen, key, 1);
    const char *order = opts_rounding(s->ir, s->kernel, text, s->gpu);
    if (!order || (s->order && strcmp(order, s->order))) return false;
    if (!s->order) s->order = order;
    vec_push(s->arena, s->out, arena_strdup(s->arena, text, strlen(text)));
    return true;
}

static void take_recipes(struct tries *s, const struct isa *isa, int threads) {
    const int width[] = {1, 2}, cores[] = {threads, 1, 4 * threads};
    for (size_t w = 0; w < RG_COUNT(width); w++)
        for (size_t t = 0; t < RG_COUNT(cores); t++) {
            struct view *v = arena_new(s->arena, struct view);
            if (!view_init(v, s->ir, s->kernel, isa, cores[t])) return;
            v->vec_bytes *= width[w];
            for (int r = 0; r < CHOOSE_RECIPES; r++)
                for (int level = 0; level < CHOOSE_LEVELS; level++) {
                    struct str text;
                    str_init(&text, s->arena);
                    if (!recipe_list(v, r, level, &text)) break;
                    if (text.n) take(s, text.p + (text.p[0] == ' '));
                }
        }
}

static void take_changed(struct tries *s, uint32_t from) {
    struct opt_list *l = arena_new(s->arena, struct opt_list);
    struct list_axes *x = arena_new(s->arena, struct list_axes);
    *x = (struct list_axes){.arena = s->arena};
    const char *base = s->out->p[from];
    if (!parse(s->arena, base, l)) return;
    opts_look(s->ir, s->kernel, base, s->gpu, NULL, note_axes, x);
    bool any = false;
    for (uint32_t i = 0, n = 1 + draw(s, 3); i < n; i++) any |= change(s, l, x);
    if (any) take(s, print(s->arena, l));
}

void opts_space(struct ir *ir, const struct kernel *k, const char *base, int vec_bytes, int threads,
                const struct gpu_spec *gpu, uint64_t seed, uint32_t most, opts_vec *out) {
    enum { TRIES = 12 }; /* mutations per requested list */
    struct tries s = {.ir = ir,
                      .arena = ir->arena,
                      .kernel = k,
                      .gpu = gpu,
                      .rng = hash_u64(seed),
                      .most = most,
                      .out = out};
    struct gpu_spec untiled = gpu ? *gpu : (struct gpu_spec){0};
    untiled.cc = 0; /* no tiles in shared memory */
    *out = (opts_vec){0};
    map_init(&s.seen, s.arena);
    if (!take(&s, base)) return;
    if (gpu)
        take(&s, opts_heuristic_gpu(ir, k, &untiled));
    else
        take_recipes(&s, isa_of_width(vec_bytes), threads);
    if (most > 1) take(&s, "");
    uint32_t seeds = out->n;
    for (uint32_t i = 0; i < most * TRIES && out->n < most; i++) /* half of them mutate base */
        take_changed(&s, draw(&s, 2) ? 0 : draw(&s, draw(&s, 2) ? seeds : out->n));
}
