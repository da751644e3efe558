/* lower.c: the compiler of one kernel, readable as one function. Each step is a file of this folder; each is
 * timed and can be dumped (`ridge opt --dump all`, RIDGE_DUMP). */
#include "codegen/internal.h"

struct step {
    struct ir *ir;
    struct pass_log *log;
};

static void begin(const struct step *s, const char *name) {
    if (s->log) pass_begin(s->log, name);
}

static const uop *end(const struct step *s, const uop *root) {
    if (s->log) pass_end(s->log, s->ir, root);
    return root;
}

static const uop *rewrite(struct ir *ir, rw_fn rules, const uop *root) {
    struct rw rw;
    rw_init(&rw, ir, rules, NULL);
    return rw_post(&rw, root);
}

void lower(struct ir *ir, const struct kernel *k, const struct lower_opts *o, struct linear *out) {
    struct step s = {ir, o->log};
    struct sched sched;
    struct rw pred;
    const char *opts = o->opts ? o->opts : env_int(ENV_NOOPT) ? "" : k->opts;
    memset(out, 0, sizeof *out);
    out->ir = ir;
    out->name = k->name;

    begin(&s, "verify");
    verify_kernel(ir, k);
    end(&s, NULL);
    estimate_asked(ir, k->sink, &out->est);

    begin(&s, "opts");
    sched_init(&sched, ir, k);
    sched_apply(&sched, opts);
    const uop *sink = end(&s, sched_finish(&sched));

    begin(&s, "tree");
    const uop *tree = end(&s, tree_build(&sched, sink));
    if (sched_has_lanes(&sched)) { /* its predicates stand in the fills: a second body would not pay */
        begin(&s, "threads");
        tree = end(&s, tree_gpu(&sched, tree));
    } else {
        begin(&s, "peel");
        tree = end(&s, tree_peel(&sched.rw, tree, o->narrow));
    }
    begin(&s, "predicate");
    tree = end(&s, rewrite(ir, rules_pred, tree));
    begin(&s, "expand");
    rw_init(&pred, ir, rules_pred, NULL);
    tree = end(&s, tree_expand(&pred, tree));
    begin(&s, "coalesce");
    tree = end(&s, tree_coalesce(&pred, tree, o->vec_bytes ? o->vec_bytes : os_cpu()->vec_bytes, o->narrow));
    if (sched.pipe.n) {
        begin(&s, "pipe");
        tree = end(&s, tree_prefetch(&sched, tree));
    }
    if (!o->keep_math) {
        begin(&s, "decompose");
        tree = end(&s, rewrite(ir, o->native_exp ? rules_native : rules_decomp, tree));
    }
    begin(&s, "index");
    tree = end(&s, tree_index(&pred, tree, o->narrow));

    begin(&s, "linearize");
    linearize(ir, tree, out);
    linear_cold_branches(ir, out);
    estimate_issued(out, &out->est);
    end(&s, NULL);
#ifdef RIDGE_DEBUG_BUILD
    verify_linear(ir, out->u, out->n);
#else
    if (env_int(ENV_VERIFY)) verify_linear(ir, out->u, out->n);
#endif
}
