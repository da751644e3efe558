/* rewrite.c: what rewriting costs per node. Workload: the index arithmetic of an unrolled, padded convolution
 * (quotients and remainders of a flat index, predicates, address sums), 1 thousand to 1 million nodes.
 *
 *   first     a pass over fresh terms that really rewrites them: ns per node of the input, and per rewritten
 *             node (one whose normal form is another node), everything included: walk, match, build, intern
 *   fixpoint  a pass over its result, nothing applies: ns per node
 * Budget: 50 ns per node at the fixpoint, 500 ns per rewritten node; both must not grow with the size. */
#include "rules/rules.h"
#include "usage.h"

#include <stdlib.h>
#include <time.h>

/* Of this thread: other work on the machine does not count. */
static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const uop *range(struct ir *ir, const char *name, int64_t size, unsigned pos) {
    const uop *s = uop_idx(ir, size);
    union arg a = {.range = {.cls = ir_sym(ir, name, strlen(name)), .kind = AX_LOOP, .pos = (uint8_t)pos}};
    return uop_new(ir, OP_RANGE, DT_IDX, 1, &s, 1, a);
}

static const uop *buffer(struct ir *ir, unsigned slot) {
    const uop *s = uop_idx(ir, 1 << 20);
    return uop_new(ir, OP_PARAM, DT_F32, 1, &s, 1, (union arg){.param = {slot, 0}});
}

/* sum over taps of in[predicate(y+ky-1, x+kx-1)][c] * w[tap], (y, x) the quotient and remainder of a flat index */
static const uop *workload(struct ir *ir, uint32_t nodes) {
    const uop *r = range(ir, "r", 128, 0), *ch = range(ir, "c", 16, 1), *in = buffer(ir, 0),
              *w = buffer(ir, 1);
    const uop *inv = uop_new(ir, OP_INVALID, DT_IDX, 1, NULL, 0, ARG_NONE), *acc = uop_flt(ir, DT_F32, 0);
#define K(v) uop_idx(ir, (v))
    for (int64_t i = 0; ir->n < nodes; i++) {
        const uop *flat = uop2(ir, OP_ADD, uop2(ir, OP_MUL, r, K(8)), K(i % 8));
        const uop *y = uop2(ir, OP_IDIV, flat, K(32)), *x = uop2(ir, OP_MOD, flat, K(32));
        const uop *yy = uop2(ir, OP_ADD, y, K(i / 8 - 1)), *xx = uop2(ir, OP_SUB, x, K(i / 24 % 3));
        const uop *g = uop2(ir, OP_AND, uop2(ir, OP_LE, K(0), yy), uop2(ir, OP_LT, xx, K(32)));
        const uop *at =
            uop2(ir, OP_ADD, ch, uop2(ir, OP_MUL, uop2(ir, OP_ADD, uop2(ir, OP_MUL, yy, K(32)), xx), K(16)));
        const uop *v = uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, in, uop3(ir, OP_WHERE, g, at, inv)));
        const uop *k =
            uop1(ir, OP_LOAD, uop2(ir, OP_INDEX, w, uop2(ir, OP_ADD, K(i), uop2(ir, OP_MUL, ch, K(9)))));
        acc = uop2(ir, OP_ADD, acc, uop2(ir, OP_MUL, v, k));
    }
#undef K
    return acc;
}

struct job {
    uint32_t nodes;
    struct arena *arena;
    double first, per_rewritten, fix;
    uint64_t fired;
    uint32_t in, out, rewritten;
};

static uint32_t count(struct arena *a, const struct rw *rw, const uop *n, uint32_t *rewritten) {
    uop_vec v = {0};
    uop_topo(a, &n, 1, &v);
    *rewritten = 0;
    for (uint32_t i = 0; i < v.n; i++) *rewritten += rw->memo[v.p[i]->id] != v.p[i]->id + 1;
    return v.n;
}

static void measure(void *arg) {
    struct job *j = arg;
    struct ir ir;
    struct rw rw;
    ir_init(&ir, j->arena);
    const uop *n = workload(&ir, j->nodes);
    uint64_t t = cpu_ns();
    rw_init(&rw, &ir, rules_predicate, NULL);
    const uop *r = rw_post(&rw, n);
    double ns = (double)(cpu_ns() - t);
    j->fired = rw.fired;
    j->in = count(j->arena, &rw, n, &j->rewritten);
    j->first = ns / j->in;
    j->per_rewritten = ns / j->rewritten;
    uint32_t none;
    j->out = count(j->arena, &rw, r, &none);
    j->fix = 1e9;
    for (int k = 0; k < 5; k++) {
        t = cpu_ns();
        rw_init(&rw, &ir, rules_predicate, NULL);
        if (rw_post(&rw, r) != r) fprintf(stderr, "not a fixpoint\n");
        double f = (double)(cpu_ns() - t) / j->out;
        j->fix = RG_MIN(j->fix, f);
    }
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "")) return 0;
    struct err err = {0};
    struct arena arena;
    arena_init(&arena, &err);
    printf("%10s %10s %10s %10s | %10s %14s | %16s\n", "nodes in", "rewritten", "firings", "nodes out",
           "ns/node", "ns/rewritten", "fixpoint ns/node");
    static const uint32_t size[] = {1000, 10000, 100000, 1000000};
    for (size_t i = 0; i < RG_COUNT(size); i++) {
        struct job best = {.first = 1e9};
        for (int k = 0; k < (size[i] < 1000000 ? 7 : 3); k++) {
            struct job j = {.nodes = size[i], .arena = &arena};
            struct arena_mark m = arena_mark(&arena);
            if (err_guard(&err, measure, &j)) return fprintf(stderr, "%s\n", err.msg), 1;
            arena_release(&arena, m);
            if (j.first < best.first) best = j;
        }
        printf("%10u %10u %10llu %10u | %10.1f %14.1f | %16.1f\n", best.in, best.rewritten,
               (unsigned long long)best.fired, best.out, best.first, best.per_rewritten, best.fix);
    }
    printf("budget: 50 ns per node at the fixpoint, 500 ns per rewritten node\n");
    arena_free(&arena);
    return 0;
}
