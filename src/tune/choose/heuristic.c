/* heuristic.c: a good opt list without any search.
 *
 * The kernel is analyzed once (kernel_view.c). Recipes are asked in order, specialized ones first: attention
 * (cpu_attention.c), convolution (conv/), contraction (gemm/), anything else (elementwise/). Each writes
 * complete lists, its best first and then simpler ones; the first that opts_legal accepts is the answer, and the empty list
 * is the last resort. So the answer is always legal; a recipe's own checks only save time. If its grid is too small for the
 * threads, the recipe is asked for smaller grid iterations (enum finer), last of all, when every cut is made.
 * Requires: a kernel without opts. Gives: the text of a legal opt list; nothing else stays in the arena.
 * Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/choose.h"

struct digits { /* the rest of a list, for the kernel after view_digits */
    const struct view *v;
    int level;
    const char *outer, *inner;
    char text[CHOOSE_TEXT];
};

/* Do both factors have the quotient and one of them the remainder: groups of a convolution? Puts the remainder inside. */
static bool is_grouped(struct view *v, const struct digits *d) {
    struct contraction c = {0};
    int out = -1, in = -1;
    for (int i = 0; i < v->naxis; i++) {
        if (!strcmp(v->axis[i].name, d->outer)) out = i;
        if (!strcmp(v->axis[i].name, d->inner)) in = i;
    }
    if (out < 0 || in < 0) return false;
    v->axis[in].grid = true;
    if (in == out - 1) {
        struct axis_view a = v->axis[in];
        v->axis[in] = v->axis[out], v->axis[out] = a, in = out, out--;
    }
    return contraction_find(v, &c) && has_axis(v, c.a.mask, out) && has_axis(v, c.b.mask, out) &&
           has_axis(v, c.a.mask, in) != has_axis(v, c.b.mask, in);
}

static void write_digits(void *cx, struct sched *s, const uop *sink) {
    struct digits *d = cx;
    struct view *v = view_after(d->v, s);
    struct str out;
    (void)sink;
    str_init(&out, s->ir->arena);
    if (!v) return;
    v->asked = d->v->kernel;
    if (is_grouped(v, d) && (recipe_conv(v, d->level, &out) || (out.n = 0, recipe_gemm(v, d->level, &out))))
        snprintf(d->text, sizeof d->text, "%s", out.n < sizeof d->text ? out.p : "");
}

/* A contraction in groups: that of one group, with the groups as an axis of their own. */
static bool recipe_digits(struct view *v, int level, struct str *out) {
    struct digits d = {.v = v, .level = level};
    const char *digits =
        v->reduces == 1 && !v->scans && !v->stages ? view_digits(v, &d.outer, &d.inner) : NULL;
    if (digits) opts_axes(v->ir, v->kernel, digits, write_digits, &d);
    if (*d.text) str_printf(out, "%s%s", digits, d.text);
    return *d.text;
}

bool recipe_list(struct view *v, int recipe, int level, struct str *out) {
    static recipe_fn *const fn[CHOOSE_RECIPES] = {recipe_attention, recipe_digits, recipe_conv, recipe_gemm,
                                                  recipe_elementwise};
    return level < CHOOSE_LEVELS && fn[recipe](v, level, out);
}

/* The product of the grid axes of a list. */
static void note_grid(void *cx, struct sched *s, const uop *sink) {
    double *grid = cx;
    (void)sink;
    *grid = 1;
    for (uint32_t i = 0; i < s->axis.n; i++)
        if (axis_is_grid(&s->axis.p[i])) *grid *= (double)s->axis.p[i].most;
}

/* The list of a recipe; NULL: no more levels, or too long. */
static const char *list_at(struct view *v, int recipe, int level) {
    struct str s;
    str_init(&s, v->arena);
    if (!recipe_list(v, recipe, level, &s) || s.n >= CHOOSE_TEXT) return NULL;
    return s.n ? s.p + (s.p[0] == ' ') : "";
}

static double time_of(const struct view *v, double grid, int finer) {
    static const double cost[FINER_STEPS] = {1, 1.02, 1.08, 1.3, 1.7};
    return grid_time(v, grid, 0.25) * cost[finer];
}

/* A grid of fewer than v->tasks iterations leaves threads idle: the recipe is asked again for smaller ones, as long as that pays. The
 * order of sums stays, since it must not depend on the number of threads. */
static const char *fill_threads(struct view *v, int recipe, int level, const char *list, double grid) {
    const char *order = NULL, *best = list;
    double least = time_of(v, grid, FINER_NONE), now;
    for (int i = FINER_JOINED; i < FINER_STEPS && grid < v->tasks; i++) {
        if (time_of(v, v->tasks, i) >= least) continue;
        v->finer = i;
        const char *other = list_at(v, recipe, level);
        if (!other || !*other || !strcmp(other, best)) continue;
        if (!opts_look(v->ir, v->kernel, other, v->gpu, NULL, note_grid, &now) || time_of(v, now, i) >= least)
            continue;
        if (!order) order = opts_rounding(v->ir, v->kernel, list, v->gpu);
        const char *its = opts_rounding(v->ir, v->kernel, other, v->gpu);
        if (!order || !its || strcmp(order, its)) continue;
        best = other, grid = now, least = time_of(v, now, i);
    }
    v->finer = FINER_NONE;
    return best;
}

/* The list after `refused` other legal ones. */
static const char *choose(struct view *v, int refused) {
    const char *last = "", *list;
    double grid;
    for (int i = 0; i < CHOOSE_RECIPES; i++) {
        for (int level = 0; level < CHOOSE_LEVELS && (list = list_at(v, i, level)); level++) {
            if (!*list) return "";
            if (!strcmp(list, last)) continue;
            last = list;
            if (opts_look(v->ir, v->kernel, list, v->gpu, NULL, note_grid, &grid) && refused-- <= 0)
                return fill_threads(v, i, level, list, grid);
        }
    }
    return "";
}

static const char *choose_for(struct ir *ir, const struct kernel *k, int vec_bytes, const char *features,
                              int threads, int refused) {
    char text[CHOOSE_TEXT] = "";
    struct arena_mark mark = arena_mark(ir->arena);
    struct view *v = arena_new(ir->arena, struct view);
    if (view_init(v, ir, k, isa_of_width(vec_bytes), threads)) {
        v->features = features;
        snprintf(text, sizeof text, "%s", choose(v, refused));
    }
    arena_release(ir->arena, mark);
    return arena_strdup(ir->arena, text, strlen(text));
}

const char *opts_heuristic_for(struct ir *ir, const struct kernel *k, int vec_bytes, const char *features,
                               int threads) {
    return choose_for(ir, k, vec_bytes, features, threads, 0);
}

const char *opts_heuristic(struct ir *ir, const struct kernel *k, int vec_bytes, int threads) {
    return opts_heuristic_after(ir, k, vec_bytes, threads, 0);
}

const char *opts_heuristic_after(struct ir *ir, const struct kernel *k, int vec_bytes, int threads,
                                 int refused) {
    return choose_for(ir, k, vec_bytes, vec_bytes ? "" : os_cpu()->flags, threads, refused);
}
