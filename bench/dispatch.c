/* dispatch.c: what it costs to run a command, apart from its work.
 *
 * Ten one-element kernels replayed 100,000 times on one thread, then ten kernels of two iterations each cut
 * in two, so that every command is a fork and a join. Events are on, as always. The floor is the same ten
 * calls from a plain loop. Then a tensor program that is known, realized again: its key is written, found, its command
 * bound and run; the part that grows with the program is the key. */
#include "engine/engine.h"
#include "usage.h"

#include <stdlib.h>

#define KERNELS 10
#define REPLAYS 100000

static void die(const struct err *e) {
    fprintf(stderr, "dispatch: %s\n", e->msg);
    exit(1);
}

static struct engine_list *make_list(struct engine *en, struct err *e, float *x, int64_t grid, bool unknown) {
    const char *head = "void add_one(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {\n"
                       "  f32 *restrict b0 = (f32 *)buf[0];\n"
                       "  for (u32 t = t0; t < t1; t++) b0[t * 16] = b0[t * 16] + 0x1p+0f;\n}\n";
    struct etext t = {.name = "add_one", .text = head, .grid = grid, .nbuf = 1};
    if (!unknown) t.est = (struct estimate){.flops_issued = 1, .bytes_issued = 8};
    const struct ekernel *k;
    struct engine_list *l = engine_list_new(en, e);
    if (!l || engine_compile_text(en, e, &t, 1, &k)) die(e);
    for (int i = 0; i < KERNELS; i++)
        if (engine_list_add(l, e, k, (void *[]){x + i * 64}, NULL)) die(e);
    return l;
}

static double replay(struct engine_list *l, struct err *e, int times) {
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < times; i++)
        if (engine_list_run(l, e)) die(e);
    return (double)(os_now_ns() - t0) / times / KERNELS;
}

static double best_of(struct engine_list *l, struct err *e) {
    double best = 1e30;
    for (int i = 0; i < 5; i++) best = RG_MIN(best, replay(l, e, REPLAYS / 5));
    return best;
}

struct known {
    struct ir ir;
    struct realize r;
    int steps;
};

/* x*y + y, steps times, over two integers */
static void build(void *arg) {
    struct known *p = arg;
    const uop *dim = uop_idx(&p->ir, 2), *in[2], *v;
    for (int i = 0; i < 2; i++) in[i] = uop_new(&p->ir, OP_BUFFER, DT_I32, 1, &dim, 1, ARG_INT(i));
    v = in[0];
    for (int i = 0; i < p->steps; i++) v = uop2(&p->ir, OP_ADD, uop2(&p->ir, OP_MUL, v, in[1]), in[1]);
    p->r.ir = &p->ir;
    p->r.graph = uop_mk(&p->ir, OP_GRAPH, &v, 1, ARG_NONE);
}

static void known(struct engine *en, struct err *e, int *x, int steps) {
    struct arena a;
    struct err inner = {0};
    struct known p = {.steps = steps};
    arena_init(&a, &inner);
    ir_init(&p.ir, &a);
    p.r = (struct realize){.buf = (void *[]){x, x + 16}, .result = (void *[]){x + 32}};
    if (err_guard(&inner, build, &p)) die(&inner);
    double best = 1e30;
    for (int i = 0; i < 1000; i++) {
        uint64_t t0 = os_now_ns();
        if (engine_realize(en, e, &p.r, NULL)) die(e);
        best = RG_MIN(best, (double)(os_now_ns() - t0));
    }
    printf("a known program, %4d nodes: %8.1f ns\n", 2 * steps + 4, best);
    arena_free(&a);
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "")) return 0;
    struct err e = {0};
    struct engine *en = engine_open(&e, NULL);
    if (!en) die(&e);
    float *x = engine_alloc(en, &e, KERNELS * 64 * sizeof *x);
    struct engine_list *one = make_list(en, &e, x, 1, false), *two = make_list(en, &e, x, 2, true);
    replay(one, &e, 1000);
    replay(two, &e, 1000);
    double a = best_of(one, &e), b = best_of(two, &e);
    int threads = pool_threads(pool_get());
    const struct ekernel *k;
    struct etext t = {.name = "nothing",
                      .text =
                          "void nothing(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) {}",
                      .grid = 1};
    if (engine_compile_text(en, &e, &t, 1, &k)) die(&e);
    uint64_t t0 = os_now_ns();
    for (int i = 0; i < 1000000; i++) k->fn(NULL, NULL, 0, 1, NULL);
    double call = (double)(os_now_ns() - t0) / 1e6;
    printf("one element, one thread:    %8.1f ns per kernel  (goal 300; a bare call %.1f)\n", a, call);
    printf("two iterations, %d threads:  %8.1f ns per kernel  (goal 3000)\n", threads, b);
    known(en, &e, (int *)x, 1);
    known(en, &e, (int *)x, 100);
    engine_list_free(one);
    engine_list_free(two);
    engine_free(en, x, KERNELS * 64 * sizeof *x);
    engine_close(en);
    return 0;
}
