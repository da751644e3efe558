/* legal.c: is an opt list legal for a kernel? Lowers a copy of the kernel up to the last pass that can refuse: threads,
 * or prefetch where PIPE asks for prefetches. The copy has an ir of its own, so that the caller's stays as it was.
 * Tests: tests/unit/codegen.c, tests/unit/golden.c (every list that is legal lowers) */
#include "codegen/internal.h"

struct legal_trial {
    struct err err;
    struct arena arena;
    struct ir ir;
    const struct ir *from;
    const struct kernel *kernel;
    const char *opts;
    const struct gpu_spec *gpu; /* may be NULL */
    enum pass last;
    sched_look_fn look; /* may be NULL */
    void *cx;
};

/* A device refuses to load what does not fit; the engine would run the kernel without any opt. */
static void check_shared(const struct gpu_spec *gpu, struct lowering *l) {
    int64_t bytes = tree_shared(l->ir, l->tree);
    if (gpu->smem_block && bytes > gpu->smem_block)
        opt_fail(&l->sched, "STAGE", "tiles take %lld bytes of shared memory; a block has %d",
                 (long long)bytes, gpu->smem_block);
}

static void run_trial(void *p) {
    struct legal_trial *t = p;
    struct lowering l;
    ir_init(&t->ir, &t->arena);
    struct kernel *k = arena_new(&t->arena, struct kernel);
    *k = *t->kernel;
    k->sink = ir_import(&t->ir, t->from, t->kernel->sink);
    /* With the vectors of the host: which addresses a prefetch finds depends on them; of a GPU its limits count. */
    lower_start(&l, &t->ir, k, &(struct lower_opts){.opts = t->opts, .target = {.gpu = t->gpu}}, NULL);
    l.next = PASS_OPTS; /* whoever made the kernel verified it */
    lower_until(&l, t->last);
    if (t->last == PASS_THREADS && t->gpu) check_shared(t->gpu, &l);
    if (t->look) t->look(t->cx, &l.sched, l.sink);
    if (t->last == PASS_THREADS && l.sched.pipe.n) lower_until(&l, PASS_PREFETCH);
}

static bool try_opts(struct ir *ir, struct legal_trial try, struct str *why) {
    struct legal_trial *t = arena_new(ir->arena, struct legal_trial);
    *t = try;
    arena_init(&t->arena, &t->err);
    t->from = ir;
    int code = err_guard(&t->err, run_trial, t);
    arena_free(&t->arena);
    if (code == RG_ENOMEM) err_throw(ir->err, RG_ENOMEM, "%s", t->err.msg);
    if (code && why) str_add(why, t->err.msg);
    return code == 0;
}

static _Thread_local uint64_t tried;
uint64_t opts_tried(void) { return tried; }

bool opts_look(struct ir *ir, const struct kernel *k, const char *opts, const struct gpu_spec *gpu,
               struct str *why, sched_look_fn look, void *cx) {
    tried++;
    return try_opts(ir,
                    (struct legal_trial){
                        .kernel = k, .opts = opts, .gpu = gpu, .last = PASS_THREADS, .look = look, .cx = cx},
                    why);
}

bool opts_axes(struct ir *ir, const struct kernel *k, const char *opts, sched_look_fn look, void *cx) {
    return try_opts(
        ir, (struct legal_trial){.kernel = k, .opts = opts, .last = PASS_OPTS, .look = look, .cx = cx}, NULL);
}

bool opts_legal(struct ir *ir, const struct kernel *k, const char *opts, const struct gpu_spec *gpu,
                struct str *why) {
    return opts_look(ir, k, opts, gpu, why, NULL, NULL);
}
