/* nn.h: what the files of src/nn share. The public header is include/ridge.h; nothing includes this folder.
 *
 *   module.c    modules: names, children, parameters, going forward, listing, freeing
 *   layers.c    the library's layers: how each is made and goes forward
 *   state.c     files, other dtypes, other contexts; sharded.c: files that all ranks write
 *   optim.c     optimisers; clip.c: clipping and learning rates
 *   parallel.c  data parallel training; shard.c: parameters of which each rank has a part
 *
 * All of it is written with the public functions in their _at form and with api/api.h. A module's memory is its own (mem_alloc):
 * it is made once and lives long. Its tensors belong to no scope and are freed with it. */
#ifndef RIDGE_NN_H
#define RIDGE_NN_H

#include "api/api.h"

#define AT const char *file, int line
#define HERE file, line
#define TENSOR(x) ((rg_operand){.t = (x)})
#define NUMBER(x) ((rg_operand){.kind = 2, .v = {.f = (x)}})
#define INTEGER(x) ((rg_operand){.kind = 1, .v = {.i = (x)}})

enum { NN_PATH = 512, NN_RANK = 8, NN_LIST = 8, NN_ENTRIES = 16 };

/* A copy of a list of the user's, which may be gone after the call. */
struct nn_ints {
    int64_t v[NN_LIST];
    size_t n;
};
static inline rg_ints nn_list(const struct nn_ints *l) { return (rg_ints){l->v, l->n}; }

struct nn_layer {
    const char *name; /* as rg_nn_describe shows it */
    rg_tensor (*forward)(AT, rg_module *, rg_tensor x);
};

/* What layers were asked for; each uses its own part. */
struct nn_recurrent {
    int64_t gates, layers, directions;
    bool batch_first;
};
struct nn_args {
    struct nn_recurrent recurrent;
    struct nn_ints stride, padding, dilation, size;
    int64_t groups, heads, kv_heads, first;
    double eps, momentum, dropout;
    bool causal, ceil;
    rg_world *world; /* tensor parallel */
    rg_layer_split split;
};

struct nn_whole { /* shape of a parameter of which ranks have parts */
    int64_t d[NN_RANK], rank;
};
struct nn_entry {
    char *name;
    rg_tensor t;
    bool param;
    struct nn_whole whole; /* of a SPLIT_FLAT one */
    rg_tensor gathered;    /* the same, while its layer goes forward */
};

/* All entries below a module, made when asked for. */
struct nn_flat {
    rg_tensor *all, *param;
    char **name;
    size_t n, params;
};

struct nn_parallel { /* rg_nn_data_parallel; world NULL: it was not called */
    rg_world *world;
    rg_dtype wire; /* RG_BOOL: as the gradients are */
    int64_t bucket;
    rg_shard shard;
};
struct rg_module {
    rg_ctx *c;
    rg_module *parent;
    char *name; /* under its parent; NULL without one */
    const struct nn_layer *layer;
    struct nn_args a;
    rg_forward_fn *fn; /* of rg_nn_module */
    void *user;
    rg_unary_fn *unary; /* of rg_nn_function, called `title` */
    char *title;
    struct nn_entry *entry;
    rg_module **child;
    uint32_t entries, children;
    bool training;
    rg_dtype half;   /* products compute in it; RG_DTYPES: in what they get */
    bool checkpoint; /* rg_nn_checkpoint */
    bool half_root;  /* rg_nn_precision was called on this one: what leaves it is F32 again */
    struct nn_parallel parallel;
    struct nn_flat flat;
};

/* ---- module.c ---------------------------------------------------------------------------------------- */

extern const struct nn_layer nn_custom, nn_function, nn_sequential;

rg_module *nn_new(rg_ctx *, AT, const char *fn, const struct nn_layer *); /* NULL after an error */
rg_module *nn_done(rg_module *); /* m; or NULL, and m is freed, if something failed since nn_new */
char *nn_text(rg_ctx *, AT, const char *fn, const char *text); /* a copy; NULL after an error */
/* Room for one more in an array of n; false: the error is set. */
bool nn_grow(rg_ctx *, AT, const char *fn, void *array, uint32_t n, size_t size);
rg_tensor nn_own(const rg_module *, const char *name); /* RG_NONE if there is none */
const struct nn_flat *nn_flat(rg_module *);            /* NULL: out of memory */
/* "0.weight": as state dicts have it. "" for a module without a parent. */
void nn_path(const rg_module *, char out[NN_PATH]);
rg_status nn_no_module(rg_ctx *, AT, const char *fn); /* the error for NULL */

/* ---- shard.c -------------------------------------------------------------------------------------------- */

int64_t nn_part(int64_t elements, const rg_world *); /* elements that each rank has, padding included */
rg_tensor nn_parts(AT, rg_tensor x, rg_world *);     /* x as (ranks, part) */
rg_tensor nn_my_part(AT, rg_tensor x, rg_world *);   /* this rank's row of it */
/* Whole parameters of these shapes from every rank's parts, by one exchange. */
void nn_gather(AT, rg_world *, const struct nn_whole *, uint32_t n, const rg_tensor *part, rg_tensor *out);
void nn_shard_layer(AT, rg_module *, rg_world *); /* the parameters of m itself become this rank's parts */
void nn_layer_begin(AT, rg_module *);             /* from here to the end nn_own gives them whole */
void nn_layer_end(rg_module *);
rg_tensor nn_whole(AT, const struct nn_entry *); /* outside of its layer too, by an exchange */

struct api_shard nn_optim_shard(const rg_optim *, size_t entry); /* optim.c: how ranks divide it */

/* ---- state.c -------------------------------------------------------------------------------------------- */

rg_status nn_save_list(AT, const char *fn, rg_ctx *, const rg_tensor *, char *const *name, size_t n,
                       const char *path);
rg_status nn_load_list(AT, const char *fn, rg_ctx *, const rg_tensor *, char *const *name, size_t n,
                       const char *path);

#endif
