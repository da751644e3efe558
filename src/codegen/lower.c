/* lower.c: runs the passes of passes.def over one kernel. Each pass is timed and can be dumped (`ridge opt --dump all`,
 * RIDGE_DUMP). legal.c runs the same table up to the last pass that can refuse an opt list.
 * Requires: a kernel graph. Gives: a linear program. Tests: tests/unit/codegen.c */
#include "codegen/internal.h"

static const uop *rewrite(struct ir *ir, rw_fn rules, void *cx, const uop *root) {
    struct rw rw;
    rw_init(&rw, ir, rules, cx);
    return rw_post(&rw, root);
}

/* ---- conditions ------------------------------------------------------------------------------------- */

static bool always(const struct lowering *l) { return (void)l, true; }
static bool block(const struct lowering *l) { return sched_has_threads(&l->sched); }
static bool no_block(const struct lowering *l) { return !block(l); } /* copies have predicates of their own */
static bool on_cpu(const struct lowering *l) { return no_block(l) && !target_is_gpu(&l->target); }
static bool has_mma(const struct lowering *l) { return l->sched.ntc != 0; }
static bool warp_spec(const struct lowering *l) { return block(l) && l->sched.ws.consumers; }
static bool warp_spec_mma(const struct lowering *l) { return warp_spec(l) && has_mma(l); }
static bool no_warp_spec(const struct lowering *l) { return block(l) && !l->sched.ws.consumers; }
static bool hints(const struct lowering *l) { return l->sched.pipe.n != 0; }
static bool lowers_math(const struct lowering *l) { return !l->target.keep_math; }

/* ---- passes: each returns the graph or tree it leaves; NULL: a linear program -------------------------- */

static const uop *verify(struct lowering *l) {
    verify_kernel(l->ir, l->kernel);
    return l->kernel->sink;
}

static const uop *apply_opts(struct lowering *l) {
    sched_init(&l->sched, l->ir, l->kernel);
    if (l->target.gpu) l->sched.gpu = l->target.gpu;
    sched_apply(&l->sched, l->opts);
    return l->sched.sink;
}

static const uop *finalize_axes(struct lowering *l) { return l->sink = sched_finish(&l->sched); }
static const uop *block_sums(struct lowering *l) { return l->sink = sched_block_sums(&l->sched, &l->target); }

static const uop *loop_tree(struct lowering *l) { return tree_build(&l->sched, l->sink); }

static const uop *tma_stores(struct lowering *l) {
    tma_outputs(&l->sched, l->tree);
    return l->tree;
}

static const uop *mma(struct lowering *l) { return tree_mma(&l->sched, l->tree); }
static const uop *warp_specialize(struct lowering *l) { return tree_warp_specialize(&l->sched, l->tree); }
static const uop *pipeline(struct lowering *l) { return tree_pipeline(&l->sched, l->tree); }
static const uop *threads(struct lowering *l) { return tree_threads(&l->sched, l->tree); }
static const uop *peel(struct lowering *l) { return tree_peel(&l->sched.rw, l->tree, &l->target); }
static const uop *predicate(struct lowering *l) { return rewrite(l->ir, rules_predicate, NULL, l->tree); }

static const uop *expand(struct lowering *l) {
    rw_init(&l->pred, l->ir, rules_predicate, NULL);
    return tree_expand(&l->pred, l->tree);
}

static const uop *coalesce(struct lowering *l) { return tree_coalesce(&l->pred, l->tree, &l->target); }
static const uop *slp(struct lowering *l) { return tree_slp(l->ir, l->tree, &l->target); }
static const uop *prefetch(struct lowering *l) { return tree_prefetch(&l->sched, l->tree); }
static const uop *prefetch_sums(struct lowering *l) { return tree_prefetch_sums(l->ir, l->tree); }

static const uop *decompose(struct lowering *l) {
    struct decomp_for has = {.native_f16 = l->target.native_f16};
    return rewrite(l->ir, l->target.native_exp ? rules_native : rules_decomp, &has, l->tree);
}

static const uop *index_width(struct lowering *l) { return tree_index(&l->pred, l->tree, &l->target); }

static const uop *to_linear(struct lowering *l) {
    linearize(l->ir, l->tree, l->out);
    l->out->columns = l->sched.columns;
    return NULL;
}

static const uop *cold_branch(struct lowering *l) {
    linear_cold_branches(l->ir, l->out);
    return NULL;
}

static const uop *estimate(struct lowering *l) {
    estimate_asked(l->ir, l->kernel->sink, &l->out->est);
    estimate_issued(l->out, &l->out->est);
    return NULL;
}

/* ---- the table ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const uop *(*run)(struct lowering *);
    bool (*when)(const struct lowering *);
    const char *needs, *gives;
} passes[] = {
#define PASS(id, text, function, condition, required, given) \
    {.name = text, .run = function, .when = condition, .needs = required, .gives = given},
#include "passes.def"
#undef PASS
};

const char *pass_name(enum pass p) { return passes[p].name; }

void passes_help(struct str *s) {
    for (int i = 0; i < PASS_COUNT; i++)
        str_printf(s, "  %-16s %-24s => %s\n", passes[i].name, passes[i].needs, passes[i].gives);
}

static void log_linear(struct lowering *l, struct pass_log *log, uint32_t at) {
    const char *name = log->rec[at].name;
    log->rec[at].nodes = l->out->n;
    if (!pass_wants_dump(log, name)) return;
    str_printf(log->dump, "; after %s: %u entries, %.1f us\n", name, l->out->n,
               (double)log->rec[at].ns / 1e3);
    linear_print(log->dump, l->ir, l->out);
}

static void run_pass(struct lowering *l, enum pass p) {
    uint32_t at = l->log ? l->log->n : 0;
    pass_begin(l->log, passes[p].name);
    const uop *root = passes[p].run(l);
    pass_end(l->log, l->ir, root);
    if (root) l->tree = root;
    if (l->log && l->log->n > at && !root) log_linear(l, l->log, at);
}

void lower_start(struct lowering *l, struct ir *ir, const struct kernel *k, const struct lower_opts *o,
                 struct linear *out) {
    memset(l, 0, sizeof *l);
    l->ir = ir, l->kernel = k, l->log = o->log, l->out = out, l->target = o->target;
    l->opts = o->opts ? o->opts : env_int(ENV_NOOPT) ? "" : k->opts;
    if (!l->target.vec_bytes) l->target.vec_bytes = target_is_gpu(&l->target) ? 16 : os_cpu()->vec_bytes;
}

void lower_until(struct lowering *l, enum pass last) {
    for (; l->next <= last; l->next++)
        if (passes[l->next].when(l)) run_pass(l, l->next);
}

void lower(struct ir *ir, const struct kernel *k, const struct lower_opts *o, struct linear *out) {
    struct lowering l;
    memset(out, 0, sizeof *out);
    out->ir = ir;
    out->name = k->name;
    out->gpu = o->target.gpu;
    lower_start(&l, ir, k, o, out);
    lower_until(&l, PASS_COUNT - 1);
#ifdef RIDGE_DEBUG_BUILD
    verify_linear(ir, out->u, out->n);
#else
    if (env_int(ENV_VERIFY)) verify_linear(ir, out->u, out->n);
#endif
}
