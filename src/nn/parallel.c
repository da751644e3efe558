/* parallel.c: data parallel training: every rank has the same parameters and its share of the batch; gradients are averaged.
 *
 * Gradients go over in buckets of some megabytes, the last layer's first, since the backward pass has those first. A parameter without a
 * gradient on this rank counts as zeros: ranks may use different parts of a network. Gradients accumulate as usual
 * until they are averaged. Batch norms take their statistics over all ranks (layers.c).
 * Tests: tests/unit/world.c (world_data_parallel*), tests/cli/world.sh */
#include "nn.h"

enum { BUCKET_MB = 25, BUCKET_PARAMS = 256 };

static void set_world(rg_module *m, const struct nn_parallel *p) {
    m->parallel = *p;
    for (uint32_t i = 0; i < m->children; i++) set_world(m->child[i], p);
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
    double mb = o.bucket_mb > 0 ? o.bucket_mb : BUCKET_MB;
    struct nn_parallel p = {.world = w, .wire = wire, .bucket = (int64_t)(mb * 1e6)};
    rg_scope scope = rg_begin(m->c);
    size_t n = rg_nn_entries(m);
    for (size_t i = 0; i < n; i++) {
        rg_tensor x = rg_nn_entry(m, i, NULL);
        rg_assign_at(HERE, x, TENSOR(rg_broadcast_at(HERE, rg_detach_at(HERE, x), w, 0)));
    }
    rg_barrier_at(HERE, w);
    rg_end(scope);
    set_world(m, &p);
    return rg_status_of(m->c);
}

/* Parameters first .. first + n - 1 of the list, youngest first. */
static void reduce_bucket(AT, const struct nn_parallel *p, const rg_tensor *param, uint32_t n) {
    rg_tensor flat[BUCKET_PARAMS];
    for (uint32_t i = 0; i < n; i++) {
        rg_tensor g = rg_param_grad_at(HERE, param[i]);
        if (p->wire != RG_BOOL) g = rg_cast_at(HERE, g, p->wire);
        flat[i] = rg_reshape_at(HERE, g, (rg_ints){(const int64_t[]){-1}, 1});
    }
    rg_tensor all = n > 1 ? rg_cat_at(HERE, (rg_tensors){flat, n}, 0) : flat[0];
    all = rg_all_reduce_at(HERE, all, p->world, RG_COMBINE_MEAN);
    int64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t d[NN_RANK + 2], rank = rg_shape_of_at(HERE, param[i], d, RG_COUNT(d)),
                                size = rg_size_at(HERE, param[i]);
        rg_tensor g = rg_narrow_at(HERE, all, 0, at, size);
        g = rg_reshape_at(HERE, g, (rg_ints){d, (size_t)rank});
        api_set_grad(HERE, param[i], rg_cast_at(HERE, g, rg_dtype_of_at(HERE, param[i])));
        at += size;
    }
}

rg_status rg_nn_reduce_grads_at(AT, rg_module *m) {
    if (!m) return RG_EINVAL;
    if (rg_status_of(m->c)) return rg_status_of(m->c);
    const struct nn_parallel *p = &m->parallel;
    if (!p->world)
        return api_fail(m->c, HERE, "rg_nn_reduce_grads", RG_EINVAL,
                        "rg_nn_data_parallel was not called on this module");
    rg_tensors params = rg_nn_params_at(HERE, m);
    rg_tensor list[BUCKET_PARAMS];
    rg_scope scope = rg_begin(m->c);
    uint32_t n = 0;
    int64_t bytes = 0;
    for (size_t i = params.n; i-- > 0 && !rg_status_of(m->c);) {
        bool other = n && rg_dtype_of_at(HERE, list[0]) != rg_dtype_of_at(HERE, params.t[i]);
        if (n == BUCKET_PARAMS || bytes >= p->bucket || other)
            reduce_bucket(HERE, p, list, n), n = 0, bytes = 0;
        list[n++] = params.t[i];
        bytes += rg_bytes_at(HERE, params.t[i]);
    }
    if (n) reduce_bucket(HERE, p, list, n);
    rg_end(scope);
    return rg_status_of(m->c);
}
