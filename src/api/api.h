/* api.h: what src/nn needs of a context beyond include/ridge.h. The only header of src/api that others include.
 *
 * Layers and optimisers are written with the public functions, in their `_at` form, so that errors and profiles show the
 * user's line and not one of src/nn. What they cannot do with those is here: tensors that belong to no scope, a scope around a module's
 * forward function, gradients replaced, a module's path for provenance, errors of their own. (src/api/layer.c, handle.c)
 * Tests: tests/unit/nn*.c */
#ifndef RIDGE_API_H
#define RIDGE_API_H

#include "api/opts.h"
#include "base/base.h"

#ifndef RG_NO_SITES
#define RG_NO_SITES
#endif
#include <ridge.h>

/* Sets the error of a context, "train.c:31: rg_nn_add: ...", unless there is one; returns the error that is set. A NULL
 * context has nowhere to keep it. */
rg_status api_fail(rg_ctx *, const char *file, int line, const char *fn, int code, const char *fmt, ...)
    RG_FMT(6, 7);
const char *
    api_device_of(rg_tensor);   /* its context may belong to another thread, or be closed by it just now */
rg_tensor api_poison(rg_ctx *); /* what calls that failed return; RG_NONE for a NULL context */

/* The context frees obj when it is closed; ctx_disown takes it back. Not 0: no room, and obj was freed. */
rg_status api_own(rg_ctx *, const char *file, int line, const char *fn, void *obj, void (*free_fn)(void *));
void ctx_disown(rg_ctx *, void *obj);

/* ---- tensors ------------------------------------------------------------------------------------------ */

/* As rg_param: a tensor with memory and x's value, in no scope; but it has no gradient. */
rg_tensor api_state(const char *file, int line, rg_tensor x, bool optimiser);
/* x is that entry of a network, "0.weight": for whoever asks what device memory is for. */
void api_label(rg_tensor x, const char *path);
rg_tensor api_hold(const char *file, int line, rg_tensor x); /* x leaves its scope; rg_free frees it */
/* x becomes v, with v's dtype and shape too, in memory of its own. Its gradient is forgotten. */
rg_status api_become(const char *file, int line, rg_tensor x, rg_tensor v);

/* The macros mark an argument that has no name by a bit of its handle (ridge.h). Takes that mark off, and says whether it
 * was there: then the argument is freed by api_drop when it is not needed any more. */
bool api_unmark(rg_tensor *x);
void api_drop(rg_tensor x); /* nothing for a tensor that belongs to a module or an optimiser */
/* Ends a scope. Returns `out` for the scope around it: the handle itself if it was made inside, else a new one of the same
 * value, so that whoever takes the result may free it. */
rg_tensor api_result(const char *file, int line, rg_scope, rg_tensor out);

/* ---- gradients ------------------------------------------------------------------------------------------ */

bool api_is_param(rg_tensor p);
bool api_has_grad(rg_tensor p);                                               /* rg_backward left one */
rg_status api_set_grad(const char *file, int line, rg_tensor p, rg_tensor g); /* RG_NONE: forgets it */

/* ---- parameters that ranks share ------------------------------------------------------------------------- */

enum api_split {
    SPLIT_NONE,
    SPLIT_STATE,  /* a rank updates its part of the parameter, which all have whole (ZeRO 1) */
    SPLIT_FLAT,   /* the tensor is this rank's part of the parameter's elements (ZeRO 3) */
    SPLIT_TENSOR, /* the tensor is a parameter of its own: this rank's slice of a product (tensor parallel) */
};
struct api_shard {
    enum api_split split;
    rg_world *world;
    int64_t elements; /* of the whole parameter */
};
double api_planned_seconds(const rg_world *,
                           double bytes);   /* of an all-reduce, where a world only plans; else 0 */
struct api_shard api_shard_of(rg_tensor p); /* SPLIT_NONE: not shared */
rg_status api_set_shard(const char *file, int line, rg_tensor p, struct api_shard);

/* ---- source lines --------------------------------------------------------------------------------------------- */

/* Sets the origin of the following calls: nodes get the module's path; calls without a source line of their own (plain functions)
 * get this one. Returns the previous origin, which the caller restores. The strings must live until then. */
struct api_origin {
    const char *module, *file;
    int line;
    bool optimiser;
};
struct api_origin api_enter(rg_ctx *, struct api_origin);

#endif
