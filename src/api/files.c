/* files.c: tensors from files and to files.
 *
 * Loading is two steps: src/io reads and checks the file into memory of its own, then that becomes a tensor as in rg_from.
 * The memory is held here, outside the steps, because an error unwinds past whoever holds it inside.
 * Tests: tests/unit/api_files.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

_Static_assert((int)IO_BOOL == (int)RG_BOOL && (int)IO_F16 == (int)RG_F16 && (int)IO_COUNT == (int)RG_DTYPES,
               "src/io numbers element types as rg_dtype does");
_Static_assert(IO_AXES == SHAPE_MAX, "what src/io lets through has a place in a shape");

static void need_path(struct call *k, const char *path) {
    if (!path || !*path) call_fail(k, RG_EINVAL, "the path is %s", path ? "empty" : "NULL");
}

/* ---- one array per file ------------------------------------------------------------------------------------ */

struct load {
    const char *path;
    int (*load)(struct err *, const char *path, struct io_data *);
    struct io_data x;
};

static void do_load(struct call *k) {
    struct load *l = k->p;
    need_path(k, l->path);
    l->load(&k->c->err, l->path, &l->x);
}

/* k is a call with a context and a `struct load`; its second part takes the data in. */
static rg_tensor load_tensor(struct call *k) {
    struct load *l = k->p;
    struct call in = *k;
    rg_tensor out = k->c ? poison(k->c) : RG_NONE;
    if (!call_work(k, do_load)) {
        in.p = l->x.p, in.ints = (rg_ints){l->x.a.d, l->x.a.rank};
        in.i[0] = (int64_t)l->x.a.type, in.build = build_from;
        out = call_tensor(&in);
    }
    io_data_free(&l->x);
    return out;
}

rg_tensor rg_load_idx_at(AT, rg_ctx *c, const char *path) {
    struct load l = {.path = path, .load = io_idx_load};
    return load_tensor(CALL(load_idx, .c = c, .p = &l));
}
