/* pass.c: what each step of the compiler cost, and dumps between steps.
 *
 * Each pass leaves a line in the pass_log of its compile: name, nanoseconds and node count, in the order in which
 * passes ran; pass_log.observe, if set, is told too (the engine makes a profiler event of it). Begin and end pair
 * up without nesting; a log that is full keeps the passes it has. Tests: tests/unit/uop.c */
#include "ir.h"

void pass_begin(struct pass_log *l, const char *name) {
    if (!l || l->n == RG_COUNT(l->rec)) return;
    l->rec[l->n].name = name;
    l->rec[l->n].nodes = 0;
    l->rec[l->n].ns = os_now_ns(); /* the start, until pass_end */
}

bool pass_wants_dump(const struct pass_log *l, const char *name) {
    if (!l || !l->dump || !l->which) return false;
    size_t n = strlen(name);
    for (const char *s = l->which; *s;) {
        size_t k = strcspn(s, ",");
        if ((k == n && !memcmp(s, name, n)) || (k == 3 && !memcmp(s, "all", 3))) return true;
        s += k + (s[k] == ',');
    }
    return false;
}

static uint32_t count_nodes(struct ir *ir, const uop *root) {
    uop_vec v = {0};
    struct arena_mark m = arena_mark(ir->arena);
    uop_topo(ir->arena, &root, 1, &v);
    arena_release(ir->arena, m);
    return v.n;
}

void pass_end(struct pass_log *l, struct ir *ir, const uop *root) {
    if (!l || l->n == RG_COUNT(l->rec)) return;
    uint64_t t0 = l->rec[l->n].ns, t1 = os_now_ns();
    const char *name = l->rec[l->n].name;
    l->rec[l->n].ns = t1 - t0;
    if (root) l->rec[l->n].nodes = count_nodes(ir, root);
    if (l->observe) l->observe(name, t0, t1, l->n ? l->rec[l->n - 1].nodes : 0, l->rec[l->n].nodes);
    l->n++;
    if (!root || !pass_wants_dump(l, name)) return;
    str_printf(l->dump, "; after %s: %u nodes, %.1f us\n", name, l->rec[l->n - 1].nodes,
               (double)l->rec[l->n - 1].ns / 1e3);
    if (root->op == OP_BLOCK || root->op == OP_FOR)
        ir_print_tree(l->dump, ir, root);
    else
        ir_print(l->dump, ir, root);
}
