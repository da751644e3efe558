/* tensor_map.c: TMA descriptors (CUtensorMap, docs/internals/gpu.md), cached by address, shape, strides and box: encoding
 * takes about a microsecond, and every launch needs the same few. They are passed as 128-byte kernel parameters.
 * Elements are copied as plain bits, or fp32 rounded to TF32. Boxes have rows of 128 bytes with the 128-byte swizzle
 * (16-byte chunk index XOR row mod 8), as stage.c lays out panels; a box of one row is not swizzled. Out of bounds is
 * zero. L2 promotion is 256 bytes: the next 128 of a row are the next panel's or the next K step's.
 * Tests: tests/unit/cuda_fake.c, tests/unit/warp_specialize.c (need a GPU) */
#include "device/cuda/internal.h"

enum { SWIZZLE_NONE = 0, SWIZZLE_128 = 3, L2_256 = 3 };

static int type_of(const struct dev_map *m) {
    enum { U8, U16, U32, U64 = 4, TF32 = 11 };
    return m->digits ? TF32 : m->bytes == 1 ? U8 : m->bytes == 2 ? U16 : m->bytes == 4 ? U32 : U64;
}

/* Its slot in the cache, or a free one: linear probing. */
static struct cuda_map *slot_of(struct cuda_device *d, const struct dev_map *m, const void *at) {
    enum { NEAR = 8 };
    uint64_t h = (uintptr_t)at;
    for (uint32_t i = 0; i < m->rank; i++)
        h = hash_u64(h ^ (uint64_t)m->size[i] ^ (uint64_t)m->step[i] << 24 ^ (uint64_t)m->box[i] << 48);
    struct cuda_map *own = &d->map[h % (CUDA_MAPS_KEPT - NEAR)], *free = own;
    for (int i = 0; i < NEAR; i++) {
        if (own[i].at == at && !memcmp(&own[i].map, m, sizeof *m)) return &own[i];
        if (free->at && !own[i].at) free = &own[i];
    }
    return free->at ? &own[h >> 32 & (NEAR - 1)] : free;
}

static int encode(struct cuda_device *d, struct err *e, const struct dev_map *m, void *at, uint64_t *word) {
    uint64_t size[DEV_AXES], step[DEV_AXES];
    uint32_t box[DEV_AXES], each[DEV_AXES];
    if ((uintptr_t)at % 16)
        return err_set(e, RG_EDEVICE,
                       "a buffer at %p, of which boxes are copied, is not at a multiple of 16 bytes", at);
    for (uint32_t i = 0; i < m->rank; i++) {
        size[i] = (uint64_t)m->size[i], box[i] = (uint32_t)m->box[i], each[i] = 1;
        if (i) step[i - 1] = (uint64_t)(m->step[i] * m->bytes);
    }
    int swizzle = m->rank == 2 && m->box[1] == 1 ? SWIZZLE_NONE : SWIZZLE_128;
    CUDA_TRY(d->cu->map(word, type_of(m), m->rank, at, size, step, box, each, 0, swizzle, L2_256, 0),
             "encoding a TMA descriptor");
    return 0;
}

int cuda_map(struct cuda_device *d, struct err *e, const struct dev_map *m, void *at,
             uint64_t out[CUDA_MAP_WORDS]) {
    if (d->info.no_maps)
        return err_set(
            e, RG_EUNSUPPORTED,
            "a kernel that copies boxes needs a GPU of compute capability 9.0 and a driver for CUDA 12");
    if (!d->map) {
        if (!(d->map = mem_alloc(CUDA_MAPS_KEPT * sizeof *d->map)))
            return err_set(e, RG_ENOMEM, "out of memory for TMA descriptors");
        memset(d->map, 0, CUDA_MAPS_KEPT * sizeof *d->map);
    }
    struct cuda_map *k = slot_of(d, m, at);
    if (k->at != at || memcmp(&k->map, m, sizeof *m)) {
        alignas(64) uint64_t word[CUDA_MAP_WORDS] = {0};
        if (encode(d, e, m, at, word)) return e->code;
        memcpy(k->word, word, sizeof word);
        k->at = at, k->map = *m;
    }
    memcpy(out, k->word, sizeof k->word);
    return 0;
}
