/* heuristic.c: a good opt list without any search.
 *
 * The kernel is analyzed once (kernel_view.c). Recipes are asked in order, specialized ones first: attention
 * (cpu_attention.c), convolution (cpu_conv.c), contraction (cpu_gemm.c), anything else (cpu_elementwise.c). Each writes
 * complete lists, its best first and then simpler ones; the first that opts_legal accepts is the answer, and the empty list
 * is the last resort. So the answer is always legal; a recipe's own checks only save time.
 * Requires: a kernel without opts. Gives: the text of a legal opt list; nothing else stays in the arena.
 * Tests: tests/unit/heuristic.c; speed: bench/golden --heuristic */
#include "tune/choose/choose.h"

bool recipe_list(struct view *v, int recipe, int level, struct str *out) {
    static recipe_fn *const fn[CHOOSE_RECIPES] = {recipe_attention, recipe_conv, recipe_gemm,
                                                  recipe_elementwise};
    return level < CHOOSE_LEVELS && fn[recipe](v, level, out);
}

static const char *choose(struct view *v) {
    const char *last = "";
    for (int i = 0; i < CHOOSE_RECIPES; i++) {
        for (int level = 0; level < CHOOSE_LEVELS; level++) {
            struct str s;
            str_init(&s, v->arena);
            if (!recipe_list(v, i, level, &s)) break;
            if (!s.n) return "";
            const char *list = s.p + (s.p[0] == ' ');
            if (!strcmp(list, last) || s.n >= CHOOSE_TEXT) continue;
            if (opts_legal(v->ir, v->kernel, list, v->gpu, NULL)) return list;
            last = list;
        }
    }
    return "";
}

const char *opts_heuristic(struct ir *ir, const struct kernel *k, int vec_bytes, int threads) {
    char text[CHOOSE_TEXT] = "";
    struct arena_mark mark = arena_mark(ir->arena);
    struct view *v = arena_new(ir->arena, struct view);
    if (view_init(v, ir, k, isa_of_width(vec_bytes), threads)) snprintf(text, sizeof text, "%s", choose(v));
    arena_release(ir->arena, mark);
    return arena_strdup(ir->arena, text, strlen(text));
}
