/* shard.c: parameters of which each rank keeps a part: the elements in order, padded to equal parts (FSDP2's layout, one parameter at a
 * time). A rank's part is (s), all of them side by side (ranks, s): so parts of many parameters travel as one tensor (ranks, s0 + s1 + ..),
 * by a reduce-scatter or an all-gather along the first axis.
 * Tests: tests/unit/world_shard.c */
#include "nn.h"

int64_t nn_part(int64_t elements, const rg_world *w) {
    int64_t ranks = rg_world_size(w);
    return (elements + ranks - 1) / ranks;
}

rg_tensor nn_parts(AT, rg_tensor x, rg_world *w) {
    int64_t n = rg_size_at(HERE, x), s = nn_part(n, w), ranks = rg_world_size(w);
    x = rg_reshape_at(HERE, x, (rg_ints){(const int64_t[]){n}, 1});
    if (s * ranks > n) x = rg_pad_at(HERE, x, (rg_ints){(const int64_t[]){0, s * ranks - n}, 2}, 0);
    return rg_reshape_at(HERE, x, (rg_ints){(const int64_t[]){ranks, s}, 2});
}

rg_tensor nn_my_part(AT, rg_tensor x, rg_world *w) {
    rg_tensor mine = rg_narrow_at(HERE, nn_parts(HERE, x, w), 0, rg_world_rank(w), 1);
    return rg_reshape_at(HERE, mine, (rg_ints){(const int64_t[]){-1}, 1});
}

void nn_gather(AT, rg_world *w, const struct nn_whole *whole, uint32_t n, const rg_tensor *part,
               rg_tensor *out) {
    rg_tensor all = n > 1 ? rg_cat_at(HERE, (rg_tensors){part, n}, 0) : part[0];
    int64_t ranks = rg_world_size(w), at = 0;
    all = rg_all_gather_at(HERE, all, w);
    all = rg_reshape_at(HERE, all, (rg_ints){(const int64_t[]){ranks, -1}, 2});
    for (uint32_t i = 0; i < n; i++) {
        int64_t elements = 1, s;
        for (int64_t k = 0; k < whole[i].rank; k++) elements *= whole[i].d[k];
        s = nn_part(elements, w);
        rg_tensor x = rg_reshape_at(HERE, rg_narrow_at(HERE, all, 1, at, s),
                                    (rg_ints){(const int64_t[]){ranks * s}, 1});
        x = rg_narrow_at(HERE, x, 0, 0, elements);
        out[i] = rg_reshape_at(HERE, x, (rg_ints){whole[i].d, (size_t)whole[i].rank});
        at += s;
    }
}

/* ---- ZeRO 3: layers --------------------------------------------------------------------------------------------- */

void nn_shard_layer(AT, rg_module *m, rg_world *w) {
    for (uint32_t i = 0; i < m->entries && !rg_status_of(m->c); i++) {
        struct nn_entry *e = &m->entry[i];
        if (!e->param || api_shard_of(e->t).split) continue;
        int64_t rank = rg_shape_of_at(HERE, e->t, e->whole.d, RG_COUNT(e->whole.d)),
                elements = rg_size_at(HERE, e->t);
        if (rank < 0 || rank > NN_RANK) continue;
        e->whole.rank = rank;
        rg_tensor mine = rg_contiguous_at(HERE, nn_my_part(HERE, e->t, w));
        api_become(HERE, e->t, mine);
        api_set_shard(HERE, e->t, (struct api_shard){SPLIT_FLAT, w, elements});
    }
}

/* One exchange for all of a layer's parameters of one dtype; their gradients come back by one reduce-scatter. */
void nn_layer_begin(AT, rg_module *m) {
    for (uint32_t i = 0; i < m->entries; i++) {
        rg_tensor part[NN_ENTRIES], out[NN_ENTRIES];
        struct nn_whole whole[NN_ENTRIES];
        uint32_t which[NN_ENTRIES], n = 0;
        struct api_shard s = api_shard_of(m->entry[i].t);
        if (s.split != SPLIT_FLAT || m->entry[i].gathered.id) continue;
        rg_dtype dt = rg_dtype_of_at(HERE, m->entry[i].t);
        for (uint32_t k = i; k < m->entries && n < NN_ENTRIES; k++) {
            struct nn_entry *e = &m->entry[k];
            if (api_shard_of(e->t).split != SPLIT_FLAT || rg_dtype_of_at(HERE, e->t) != dt) continue;
            which[n] = k, part[n] = e->t, whole[n++] = e->whole;
        }
        nn_gather(HERE, s.world, whole, n, part, out);
        for (uint32_t k = 0; k < n; k++) m->entry[which[k]].gathered = out[k];
    }
}

rg_tensor nn_whole(AT, const struct nn_entry *e) {
    struct api_shard s = api_shard_of(e->t);
    rg_tensor out = e->gathered;
    if (s.split == SPLIT_FLAT && !out.id) nn_gather(HERE, s.world, &e->whole, 1, &e->t, &out);
    return out.id ? out : e->t;
}

void nn_layer_end(rg_module *m) {
    for (uint32_t i = 0; i < m->entries; i++) m->entry[i].gathered = RG_NONE;
}
