/* program.c: how the kernels of a plan are lowered for an engine's device: target, heuristic, beam width, uses of buffers.
 * A leaf: planning, the search and memory owners call it, and it calls none of them.
 * Tests: tests/unit/realize.c, tests/unit/tune.c */
#include "engine/internal.h"
#include "render/render.h"

bool engine_on_cpu(const struct engine *en) { return en->ops->text == DEV_C || en->info.cpu; }

int engine_sms(const struct engine *en) { return engine_on_cpu(en) ? 0 : en->gpu.sms; }

int engine_capability(struct engine *en) {
    struct dev_info i;
    struct err e = {0};
    if (en->ops->text != DEV_CUDA) return 0;
    if (en->ops->info(en->dev, &e, &i) || (i.major == 9 && i.no_maps)) return 80;
    return 10 * i.major + i.minor;
}

struct model_gpu engine_reported(const struct engine *en) {
    const struct dev_info *i = &en->info;
    return (struct model_gpu){.name = i->name,
                              .units = i->units,
                              .ghz = i->ghz,
                              .memory_rate = i->memory_rate,
                              .l2 = (double)i->l2,
                              .shared = (double)i->shared_most,
                              .cc = 10 * i->major + i->minor,
                              .regs_sm = i->regs_sm,
                              .shared_sm = i->shared_sm,
                              .threads_sm = i->threads_sm,
                              .blocks_sm = i->blocks_sm};
}

/* OpenCL's compute units are not SMs: the default row, without block programs. */
struct gpu_spec engine_spec(struct engine *en) {
    if (en->ops->text != DEV_CUDA) return gpu_spec_with_cc(0);
    struct model_gpu g = engine_reported(en);
    g.cc = engine_capability(en);
    return gpu_spec_of(&g);
}

const char *prog_heuristic(struct engine *en, struct sched_prog *p) { return prog_heuristic_after(en, p, 0); }

const char *prog_heuristic_after(struct engine *en, struct sched_prog *p, int refused) {
    if (en->tuning.heuristic) return refused ? "" : en->tuning.heuristic;
    if (!engine_on_cpu(en)) return opts_heuristic_gpu_after(p->ir, &p->kernel, &en->gpu, refused);
    /* MMA instructions are assembly, which only the CPU device's own compiler is known to take */
    int vec_bytes = strcmp(en->ops->name, "CPU") ? os_cpu()->vec_bytes : 0;
    return opts_heuristic_after(p->ir, &p->kernel, vec_bytes, en->ops->workers(en->dev), refused);
}

/* Not OpenCL: the candidates are CUDA's. */
bool engine_can_search(const struct engine *en) {
    return en->ops->kind == DEV_RUNS && en->ops->text != DEV_OPENCL;
}

int engine_beam(const struct engine *en) {
    if (!en->tuner || !engine_can_search(en) || env_int(ENV_NOOPT)) return 0;
    int64_t n = en->tuning_set ? en->tuning.beam : env_int(ENV_BEAM);
    return (int)RG_MAX(RG_MIN(n, 256), 0);
}

void prog_target(const struct engine *en, struct lower_opts *how) {
    if (!engine_on_cpu(en)) how->target.vec_bytes = 16, how->target.kind = TARGET_GPU;
    how->target.native_exp = en->ops->text == DEV_CUDA;
    const struct isa_op *f16 = isa_op_of(os_cpu(), MODEL_FLOPS_F16);
    how->target.native_f16 = !strcmp(en->ops->name, "CPU") && f16 && !strcmp(f16->in, "f16");
    how->target.gpu = &en->gpu, how->target.capability = en->gpu.cc;
    how->target.no_f64 = en->info.no_f64;
}

void prog_lower(const struct sched_prog *p, struct ir *ir, const struct kernel *k, const struct lower_opts *o,
                struct linear *lin) {
    struct lower_opts how = *o;
    lower(ir, k, &how, lin);
    /* their sums are longer; another level may be given up too */
    while (target_is_gpu(&o->target) && render_gives_up_coop(ir->arena, lin, &how.target.no_coop))
        lower(ir, k, &how, lin);
    lin->est.flops *= p->share, lin->est.bytes *= p->share, lin->est.special *= p->share;
    lin->est.flops_issued *= p->share, lin->est.bytes_issued *= p->share, lin->est.lines *= p->share;
    for (int u = 0; u < WORK_UNITS; u++) lin->est.asked[u] *= p->share, lin->est.issued[u] *= p->share;
    lin->nbuf = RG_MAX(lin->nbuf, p->nbuf); /* of a PARAMS only the first slot stands in the program */
    lin->nvar = RG_MAX(lin->nvar, p->nvar);
}

/* By buffer of a kernel: is it loaded, stored? The tensors of a PARAMS follow its first one. */
const uint8_t *prog_uses(struct arena *a, const struct sched_prog *p) {
    uint8_t *use = arena_array(a, uint8_t, p->nbuf + 1), *many = arena_array(a, uint8_t, p->nbuf + 1);
    uop_vec topo = {0};
    uop_topo(a, &p->kernel.sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        bool st = n->op == OP_STORE || n->op == OP_STORE_ADD;
        if (!st && n->op != OP_LOAD && n->op != OP_PRED_LOAD) continue;
        const uop *b = access_buf(n);
        if (b->op != OP_PARAM && b->op != OP_PARAMS) continue;
        use[b->arg.param.slot] |= st ? USE_STORED : USE_LOADED;
        many[b->arg.param.slot] = b->op == OP_PARAMS;
    }
    for (uint32_t i = 1; i < p->nbuf; i++)
        if (!use[i] && many[i - 1]) use[i] = use[i - 1], many[i] = 1;
    return use;
}
