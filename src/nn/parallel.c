/* parallel.c: data parallel training: every rank has the same parameters and its share of the batch; gradients are averaged.
 *
 * Gradients go over in buckets of some megabytes, the last layer's first, since the backward pass has those first. A parameter without a
 * gradient on this rank counts as zeros: ranks may use different parts of a network. Gradients accumulate as usual
 * until they are averaged. Batch norms take their statistics over all ranks (layers.c).
 * ZeRO 1: buckets are reduce-scattered, and the optimiser updates this rank's part and gathers the rest (optim.c). ZeRO 3: parameters are
 * parts, gathered by their layer (shard.c); the gradient of that gather is a reduce-scatter, so only the mean is left to do here.
 * Tests: tests/unit/world.c (world_data_parallel*), tests/unit/world_shard.c, tests/cli/world.sh */
#include "nn.h"

#include <math.h>

enum { BUCKET_MB = 25, BUCKET_LEAST = 1 << 16, BUCKET_PARAMS = 256 };

static void set_world(AT, rg_module *m, const struct nn_parallel *p) {
    m->parallel = *p;
    if (p->shard == RG_SHARD_PARAMETERS) nn_shard_layer(HERE, m, p->world);
    for (uint32_t i = 0; i < m->children; i++) set_world(HERE, m->child[i], p);
}

/* Rank 0's values for all; slices of tensor parallel layers differ by rank. */
static void share_values(AT, rg_module *m, rg_world *w) {
    size_t n = rg_nn_entries(m);
    for (size_t i = 0; i < n; i++) {
        rg_tensor x = rg_nn_entry(m, i, NULL);
        struct api_shard s = api_shard_of(x);
        if (s.split && s.world != w)
            api_fail(m->c, HERE, "rg_nn_data_parallel", RG_EUNSUPPORTED,
                     "entry %zu is divided among the ranks of another world; one world for both is possible",
                     i);
        if (s.split) continue;
        rg_assign_at(HERE, x, TENSOR(rg_broadcast_at(HERE, rg_detach_at(HERE, x), w, 0)));
    }
    rg_barrier_at(HERE, w);
}

/* Optimisers that are made from here on have state for this rank's part. */
static void shard_state(AT, rg_module *m, rg_world *w) {
    rg_tensors p = rg_nn_params_at(HERE, m);
    for (size_t i = 0; i < p.n; i++)
        if (!api_shard_of(p.t[i]).split)
            api_set_shard(HERE, p.t[i], (struct api_shard){SPLIT_STATE, w, rg_size_at(HERE, p.t[i])});
}

/* Seconds of the fastest of some all-reduces of n elements. */
static double time_sum(AT, rg_ctx *c, rg_world *w, int64_t n) {
    enum { TIMES = 10 };
    double best = 1e9;
    rg_tensor x = rg_contiguous_at(HERE, rg_full_at(HERE, c, RG_F32, 1, (rg_ints){&n, 1}));
    rg_realize_at(HERE, x);
    for (int i = 0; i < TIMES && !rg_status_of(c); i++) {
        rg_barrier_at(HERE, w);
        uint64_t t0 = os_now_ns();
        rg_realize_at(HERE, rg_all_reduce_at(HERE, x, w, RG_COMBINE_SUM));
        best = fmin(best, (double)(os_now_ns() - t0) * 1e-9);
    }
    return best;
}

/* Buckets of b bytes of B take B / b latencies in all, and the last of them, b / rate, is not hidden by the backward pass: the sum is
 * least at b = sqrt(B * rate * latency). Where the link is not known rank 0 measures, and says a power of two, so that few programs
 * differ from run to run: another size is another plan, which fuses other kernels and may round otherwise. */
static int64_t choose_bucket(AT, rg_module *m, rg_world *w) {
    enum { FEW = 16, MANY = 1 << 18 };
    rg_tensors p = rg_nn_params_at(HERE, m);
    double all = 0, bytes = BUCKET_MB * 1e6;
    for (size_t i = 0; i < p.n; i++) all += (double)rg_bytes_at(HERE, p.t[i]);
    if (rg_world_size(w) < 2 || all < BUCKET_LEAST) return (int64_t)bytes;
    double latency = api_planned_seconds(w, 4.0 * FEW), large = api_planned_seconds(w, 4.0 * MANY);
    bool planned = large > 0;
    if (!planned) latency = time_sum(HERE, m->c, w, FEW), large = time_sum(HERE, m->c, w, MANY);
    double rate = 4.0 * MANY / fmax(large - latency, 1e-6);
    bytes = fmin(fmax(sqrt(all * rate * latency), BUCKET_LEAST), bytes);
    bytes = exp2(round(log2(bytes)));
    if (planned) return (int64_t)bytes;
    rg_tensor told = rg_number_at(HERE, m->c, RG_F64, bytes);
    bytes = rg_item_at(HERE, rg_broadcast_at(HERE, told, w, 0));
    return bytes > 0 ? (int64_t)bytes : (int64_t)(BUCKET_MB * 1e6); /* 0: on a device that only plans */
}

rg_status rg_nn_data_parallel_at(AT, rg_module *m, rg_world *w, rg_parallel_opts o) {
    if (!m) return RG_EINVAL;
    if (rg_status_of(m->c)) return rg_status_of(m->c);
    rg_dtype wire = o.wire;
    if (!w)
        return api_fail(m->c, HERE, "rg_nn_data_parallel", RG_EINVAL,
                        "the world is NULL; rg_world_open makes one");
    if (wire != RG_BOOL && wire != RG_F32 && wire != RG_BF16 && wire != RG_F16)
        return api_fail(m->c, HERE, "rg_nn_data_parallel", RG_EINVAL,
                        "gradients travel as f32, bf16 or f16; found %s", rg_dtype_name(wire));
    if ((unsigned)o.shard > RG_SHARD_PARAMETERS)
        return api_fail(m->c, HERE, "rg_nn_data_parallel", RG_EINVAL,
                        "there is no .shard number %d; use RG_SHARD_OPTIMISER or RG_SHARD_PARAMETERS",
                        (int)o.shard);
    struct nn_parallel p = {
        .world = w, .wire = wire, .bucket = (int64_t)(o.bucket_mb * 1e6), .shard = o.shard};
    rg_scope scope = rg_begin(m->c);
    share_values(HERE, m, w);
    if (p.bucket <= 0) p.bucket = choose_bucket(HERE, m, w);
    set_world(HERE, m, &p);
    if (p.shard == RG_SHARD_OPTIMISER) shard_state(HERE, m, w);
    rg_end(scope);
    return rg_status_of(m->c);
}

/* Gradients of these parameters, youngest first, as one tensor: (all elements), or (ranks, all parts) to be scattered. */
static rg_tensor pack(AT, const struct nn_parallel *p, const rg_tensor *param, uint32_t n, bool parts) {
    rg_tensor flat[BUCKET_PARAMS];
    for (uint32_t i = 0; i < n; i++) {
        rg_tensor g = rg_param_grad_at(HERE, param[i]);
        if (n > 1) g = rg_contiguous_at(HERE, g); /* a concatenation takes what is stored */
        if (p->wire != RG_BOOL) g = rg_cast_at(HERE, g, p->wire);
        flat[i] =
            parts ? nn_parts(HERE, g, p->world) : rg_reshape_at(HERE, g, (rg_ints){(const int64_t[]){-1}, 1});
    }
    return n > 1 ? rg_cat_at(HERE, (rg_tensors){flat, n}, parts) : flat[0];
}

static void reduce_bucket(AT, const struct nn_parallel *p, const rg_tensor *param, uint32_t n) {
    bool parts = api_shard_of(param[0]).split == SPLIT_STATE;
    rg_tensor all = pack(HERE, p, param, n, parts);
    all = parts ? rg_reduce_scatter_at(HERE, all, p->world, RG_COMBINE_MEAN)
                : rg_all_reduce_at(HERE, all, p->world, RG_COMBINE_MEAN);
    if (parts) all = rg_reshape_at(HERE, all, (rg_ints){(const int64_t[]){-1}, 1});
    int64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t d[NN_RANK + 2], rank = rg_shape_of_at(HERE, param[i], d, RG_COUNT(d)),
                                size = rg_size_at(HERE, param[i]);
        if (parts) d[0] = size = nn_part(size, p->world), rank = 1;
        rg_tensor g = rg_narrow_at(HERE, all, 0, at, size);
        g = rg_reshape_at(HERE, g, (rg_ints){d, (size_t)rank});
        api_set_grad(HERE, param[i], rg_cast_at(HERE, g, rg_dtype_of_at(HERE, param[i])));
        at += size;
    }
}

/* The loss that was differentiated is the sum of the ranks' losses: of a part, every rank's share of the gradient is in it. */
static void mean_of_part(AT, const struct nn_parallel *p, rg_tensor param) {
    if (!api_has_grad(param)) return;
    rg_tensor g = rg_param_grad_at(HERE, param);
    double share = 1 / (double)rg_world_size(p->world);
    api_set_grad(HERE, param, rg_mul_at(HERE, TENSOR(g), NUMBER(share)));
}

static void reduce_all(AT, const struct nn_parallel *p, rg_ctx *c, rg_tensors params) {
    rg_tensor list[BUCKET_PARAMS];
    uint32_t n = 0;
    int64_t bytes = 0;
    for (size_t i = params.n; i-- > 0 && !rg_status_of(c);) {
        enum api_split split = api_shard_of(params.t[i]).split;
        if (split == SPLIT_FLAT || split == SPLIT_TENSOR) {
            mean_of_part(HERE, p, params.t[i]);
            continue;
        }
        bool other = n && rg_dtype_of_at(HERE, list[0]) != rg_dtype_of_at(HERE, params.t[i]);
        if (n == BUCKET_PARAMS || bytes >= p->bucket || other)
            reduce_bucket(HERE, p, list, n), n = 0, bytes = 0;
        list[n++] = params.t[i];
        bytes += rg_bytes_at(HERE, params.t[i]);
    }
    if (n) reduce_bucket(HERE, p, list, n);
}

rg_status rg_nn_reduce_grads_at(AT, rg_module *m) {
    if (!m) return RG_EINVAL;
    if (rg_status_of(m->c)) return rg_status_of(m->c);
    if (!m->parallel.world)
        return api_fail(m->c, HERE, "rg_nn_reduce_grads", RG_EINVAL,
                        "rg_nn_data_parallel was not called on this module");
    rg_scope scope = rg_begin(m->c);
    reduce_all(HERE, &m->parallel, m->c, rg_nn_params_at(HERE, m));
    rg_end(scope);
    return rg_status_of(m->c);
}
