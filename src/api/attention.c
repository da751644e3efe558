/* attention.c: rg_attention. What it computes is in src/tensor/attention.c. Tests: tests/unit/attention.c */
#include "internal.h"
#include "model/model.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

enum { CPU_SCORES = 256 }; /* MiB at most: rows that are kept are not much slower */

static const uop *never(void *c) { return store_var(c, DT_IDX, 0, 1, 0, NULL); }

static bool has_mma_bf16(struct rg_ctx *c) {
    const struct model *m = engine_model(c->engine, &c->err);
    return m && model_value(m, MODEL_MATRIX_BF16) > model_value(m, MODEL_FLOPS_F32);
}

static const uop *b_attention(struct api_call *k) {
    const rg_attention_opts *o = k->p;
    bool cpu = k->c->engine && engine_on_cpu(k->c->engine);
    int64_t scores = env_int(ENV_SCORES);
    struct t_attention a = {.mask = k->u[3],
                            .causal = o->causal,
                            .stream = k->c->engine && !cpu,
                            .gemms = cpu,
                            .wgmma = k->c->engine && engine_capability(k->c->engine) / 10 == 9,
                            .sms = k->c->engine ? engine_sms(k->c->engine) : 0,
                            .vec_bytes = isa_host()->bytes,
                            .mma_bf16 = cpu && has_mma_bf16(k->c),
                            .scale = o->scale,
                            .dropout = o->dropout,
                            .scores = (cpu ? RG_MIN(scores, CPU_SCORES) : scores) << 20,
                            .never = never,
                            .user = k->c};
    return t_attention(k->g, RNG(k), k->u[0], k->u[1], k->u[2], &a);
}
rg_tensor rg_attention_at(const char *file, int line, rg_tensor q, rg_tensor k, rg_tensor v,
                          rg_attention_opts o) {
    return call_tensor(CALL(attention, .in = {TENSOR(q), TENSOR(k), TENSOR(v), TENSOR(o.mask)}, .n = 4,
                            .may = 8, .p = &o, .build = b_attention));
}
