/* internal.h: what the files of src/api share. The public header is include/ridge.h.
 *
 *   entry.c     one public call: its context, its source line, its error
 *   handle.c    slots, generations, rg_free from any thread
 *   scope.c     rg_begin, rg_end, rg_keep
 *   owned.c     files, loaders, modules: freed by rg_close
 *   context.c   opening, closing, the sticky error, statistics
 *   build.c, math.c, loss.c   every function that only builds graph
 *   store.c     device memory and run-time numbers, by the nodes that name them
 *   liveness.c  walks over the graph: what is alive, what leads to a parameter; collection and compaction
 *   realize.c   what has to run when a value is asked for, and running it
 *   share.c     memory that others see too: addresses out, borrowed memory in
 *   files.c, loader.c array files; batches that a thread prepares
 *   random.c    seed and count, and functions that draw
 *   jit.c       recording and replaying what realize.c runs
 *   outer.c     tensors from before a recording, while it lasts
 *   profile.c   recording a profile of the process, ranges, tables
 *   flight.c    the flight recorder and memory snapshots as files
 *   assign.c, grad.c  versions of a buffer; parameters and gradients
 *   world.c     ranks and collectives; chain.c: their order
 *   layer.c     what src/nn asks of a context (api.h)
 *
 * The graph of a context is one struct ir. Handles are its roots. Nothing is counted: gr_collect() marks what handles can
 * reach, frees the memory of the rest, and now and then copies what is alive into a fresh arena.
 *
 * Words. A node is *realized* when a BUFFER holds its value: gr_now(c, n) is that BUFFER, or n. It is *cut* when its
 * history is not needed either: gr_collect() decides so for realized nodes that lead to no parameter's present value.
 * A *store* is a piece of device memory; BUFFER's arg is (index of the store, version). The memory holds one version, the
 * present one; `head` is the ASSIGN that will be the next, or NULL. Versions of a store form one chain. */
#ifndef RIDGE_API_INTERNAL_H
#define RIDGE_API_INTERNAL_H

#include "api.h"
#include "engine/engine.h"
#include "event/event.h"
#include "io/io.h"
#include "tensor/tensor.h"

#include <stdatomic.h>

/* ---- handles (handle.c) --------------------------------------------------------------------------- */

struct api_slot {
    uint32_t gen;    /* of the handle that may use it: as in its mark (handle.c), which other threads read */
    const uop *node; /* NULL: not in use */
    const uop *grad; /* of a parameter: its gradient so far, or NULL */
    const uop *var;  /* of rg_scalar and rg_index: the VAR */
    uint64_t born, grad_born; /* c->tick when the node, the gradient was put there */
    const char *file, *fn;    /* the call that made it (or assigned to it) */
    int line;
    uint32_t scope, prev, next; /* number of its scope (0: none), neighbours in it; `next` links free slots */
    bool view, param;
    bool held;      /* in no scope, and a module owns it: not freed as an argument without a name */
    bool used;      /* something was computed from it: probably a step on the way, see realize.c */
    bool grad_used; /* the same of the gradient */
    bool recorded;  /* made while a jit was recorded */
    bool no_grad;   /* made in RG_NO_GRAD: leads to no parameter */
    uint32_t shard; /* of a parameter that ranks share: 1 + index of c->shard; 0: none */
};
#define SLOT_FIRST 256 /* slots in the first chunk; each chunk has twice as many as the one before */
#define SLOT_CHUNKS 22

struct ctx_scope {
    uint64_t serial; /* of rg_begin, so that an old rg_scope closes nothing */
    uint32_t first;  /* slot, or 0 */
};

/* ---- device memory (store.c) ---------------------------------------------------------------------- */

struct api_store {
    void *mem;    /* NULL: not allocated yet */
    size_t bytes; /* at least 1 once allocated */
    uint64_t
        left; /* c->tick when a handle of its value was last dropped, since the last collection; 0 never */
    uint64_t serial; /* of the tensor it belongs to, by creation: what BUFFERs of a plan are numbered by */
    uint32_t moves;  /* how often that tensor moved to other memory before */
    uint64_t stands_for; /* of a jit's input while it is recorded: serial of what it borrows; else 0 */
    const uop *head;     /* pending ASSIGN, or NULL */
    const uop
        *promise; /* ASSIGN that will make the next version, which has users already (outer.c); or NULL */
    uint32_t version;
    bool used, mark;
    uint8_t kind;   /* enum event_memory */
    uint32_t label; /* event_name of an entry of a network, "net.0.weight"; 0 none */
    bool frozen;    /* its tensor moved away; who still reads it does not write it */
    bool borrowed; /* mem is another store's (an input of the jit that is recorded) or a caller's (share.c) */
    rg_release_fn *release; /* of a caller's: what to call when it is not needed any more, with .. */
    void *user;             /* .. this */
    bool over;              /* realize.c: this plan has a new version of it .. */
    uint32_t held;          /* recordings that use it: it is not dropped */
    uint32_t lost;          /* version whose value led to a parameter when its history was cut; 0 none */
    uint32_t flat;          /* likewise, but only through values that have no gradient (LEAD_FLAT) */
    bool moved;             /* .. which goes to other memory, because the old one is still needed */
    uint32_t to;            /* number of the root that has that memory */
};

/* A draw of random numbers: the VAR that holds its first counter, and how far that was from the count at random_mark. */
struct draw {
    uint32_t var;
    uint64_t offset;
};

enum { REAL_END = INT32_MAX };

/* The graph, and what is known of its nodes. Replaced as a whole by gr_compact(). */
struct graph {
    struct arena arena;
    struct ir ir;
    struct tg tg;
    VEC(uint32_t) real; /* by node id: id + 1 of the node that holds its value now */
    VEC(uint8_t) cut;   /* by node id */
    /* Linked list of the ids in `real`, which are few beside all: by node id the next, REAL_END after the last, 0 if not in it. */
    VEC(uint32_t) real_next;
    uint32_t real_first; /* id + 1, as in real_next */
    struct map vars;     /* number of a VAR -> its value as bits */
    struct map var_of;   /* number of a VAR -> number of its first version */
    struct map owner;    /* hash of what an owner's text says -> its event_name */
};

struct async_read {
    const uop *node;
    void *out;
    size_t bytes;
};

/* ---- contexts (context.c, owned.c) ------------------------------------------------------------------------- */

struct ctx_owned {
    void *obj;
    void (*free_fn)(void *);
};

struct rg_ctx {
    struct err err;
    uint32_t id;  /* 1..255: its entry in the table; 0: a context that only reports an error */
    bool broken;  /* cannot be mended: it could not be opened */
    bool warned;  /* of a graph that only grows */
    bool damaged; /* memory ran out inside a call: the graph is rebuilt before it is used again */
    char device[16];
    struct engine *engine;
    struct api_origin origin; /* the module that is going forward */

    struct graph *graph;
    struct arena scratch; /* of one call */
    uint32_t next_var;
    uint32_t nodes_low; /* nodes after the last compaction */
    size_t arena_low;   /* bytes then */
    uint64_t live_nodes;

    struct api_store *store;
    uint32_t stores, store_cap, store_free;                  /* free: none below it */
    uint64_t next_serial, buffers, bytes, peak, fresh_bytes; /* fresh: since the last collection */

    uint64_t seed, drawn; /* random numbers: the key, and counters drawn so far */
    uint32_t key_var;     /* number of the VAR that holds the seed .. */
    uint32_t key_first;   /* .. and of its first version, + 1; 0: none yet */
    bool keyed;           /* key_var holds the present seed */
    bool noting;          /* draws are noted, with their distance from: */
    uint64_t marked;      /* `drawn` at random_mark */
    struct draw *draw;
    uint32_t draws, draw_cap;
    struct rg_jit *recording; /* the jit whose function runs to be recorded */
    struct outer *outer;      /* what was made before it */

    bool planning; /* stores exist that no node of a handle names yet */
    struct async_read *reads;
    uint32_t nreads, reads_cap;

    struct api_slot *chunk[SLOT_CHUNKS];
    uint32_t slots, free_slot; /* slots ever used (slot 0 is the poison), first of the free ones */
    uint64_t handles, tick;    /* tick: handles made and dropped so far */
    bool left;                 /* some store's `left` is set: collect before the next plan */
    struct ctx_scope *scope;
    uint32_t scopes, scope_cap;
    uint64_t next_scope;
    uint64_t no_grad; /* serial of the outermost RG_NO_GRAD, 0: none is open */
    bool lost;        /* some store's history was lost since a parameter was last assigned */

    struct ctx_owned *owned; /* oldest first */
    uint32_t nowned, owned_cap;

    rg_tensor chain;         /* the youngest collective that has not run, or RG_NONE (world.c) */
    uint32_t worlds;         /* opened so far */
    struct api_shard *shard; /* layer.c */
    uint32_t shards;

    uint64_t realizes, cached, kernels;
    double moved, ops, seconds;
};

/* Objects that are no tensors (files, loaders, modules ..) and have a pointer for a handle. The context owns obj from
 * here on: rg_close calls free_fn(obj), the youngest first, while the context still works. Throws if there is no room,
 * after free_fn(obj). The function by which the user frees obj calls ctx_disown and then frees it. */
void ctx_own(rg_ctx *, void *obj, void (*free_fn)(void *));
void ctx_disown(rg_ctx *, void *obj); /* nothing if it is not owned */

/* ---- entry.c ---------------------------------------------------------------------------------------- */

/* One public call on its way. What a function needs besides operands it puts into the fields that fit. */
struct api_call {
    const char *fn, *file; /* "rg_add"; the user's file, or NULL */
    int line;
    rg_operand in[5];
    uint32_t n;      /* operands */
    uint32_t may;    /* bit i: operand i may be RG_NONE */
    uint32_t values; /* first operand whose dtype a number takes: 0, or 1 for rg_where */
    rg_tensors list;
    rg_ctx *c;
    const uop *(*build)(struct api_call *);

    const uop *u[5];  /* the operands as nodes, NULL for RG_NONE */
    const uop **many; /* list as nodes */
    struct tg *g;
    int64_t i[4];
    double f[2];
    enum dtype dt;
    rg_ints ints;
    rg_ranges ranges;
    rg_reduce_opts reduce;
    void *p;
    size_t bytes;
    uint32_t slot;     /* of the operand that is changed */
    const uop *var;    /* build: goes into the new slot */
    bool view, global; /* the result is a view; it belongs to no scope .. */
    bool param;        /* .. and has a gradient */
};
#define CALL(name, ...) (&(struct api_call){.fn = "rg_" #name, .file = file, .line = line, __VA_ARGS__})
#define TENSOR(x) \
    { .t = (x) }

rg_tensor call_tensor(struct api_call *); /* build makes the node; the result is a new handle */
rg_status call_work(struct api_call *, void (*work)(struct api_call *)); /* build is not used */
/* Throws for a handle that does not serve. */
struct api_slot *call_slot(struct api_call *, rg_tensor, uint32_t operand);
/* The operand as a node; NULL for RG_NONE where that is allowed. Numbers get dtype dt. */
const uop *call_node(struct api_call *, uint32_t operand, enum dtype dt);
const uop *call_detached(struct api_call *, const uop *); /* inside RG_NO_GRAD: without its gradient */
/* The nodes made since there were `first`, and `out`, came from this call; call_tensor does it itself. */
void call_site(struct api_call *, uint32_t first, const uop *out);
enum dtype call_dtype(struct api_call *, rg_dtype); /* throws */
rg_dtype call_dtype_out(enum dtype);
void RG_NORETURN call_fail(struct api_call *, int code, const char *fmt, ...) RG_FMT(3, 4);
void call_not_recording(struct api_call *); /* throws while a jit is recorded */
void call_collect(struct api_call *); /* gr_collect_left, before nodes are taken from slots for a plan */

/* ---- build.c ---------------------------------------------------------------------------------------- */

const uop *build_from(struct api_call *);           /* rg_from's: dtype i[0], shape ints, data p */
const struct shape *build_shape(struct api_call *); /* ints as a shape; throws */
int64_t build_bytes(struct api_call *, enum dtype,
                    const struct shape *); /* that many elements have; throws */

/* ---- handle.c -------------------------------------------------------------------------------------- */

rg_ctx *ctx_of(uint64_t handle);                /* NULL: closed or never open */
bool ctx_enter(rg_ctx *);                       /* gives it an id; false: no more */
void ctx_on_device(rg_ctx *, const char *name); /* what api_device_of says; the name stays */
void ctx_leave(rg_ctx *);                       /* all handles become stale, for rg_free too */
struct api_slot *slot_at(const rg_ctx *, uint32_t i);
struct api_slot *slot_get(rg_ctx *, rg_tensor);                             /* NULL: stale or poison */
void slot_free(rg_ctx *, rg_tensor);                                        /* nothing if it is stale */
rg_tensor slot_new(rg_ctx *, const uop *, bool global, struct api_slot **); /* throws */
void slot_drop(rg_ctx *, uint32_t i);
void slot_set(rg_ctx *, struct api_slot *, const uop *); /* it denotes another value from now on */
void slot_set_grad(rg_ctx *, struct api_slot *,
                   const uop *);                            /* the same of its gradient, which may be NULL */
void slot_link_scope(rg_ctx *, uint32_t i, uint32_t scope); /* scope: its number, 0 none */
void slot_unlink_scope(rg_ctx *, uint32_t i);
void slots_drain(rg_ctx *); /* frees what rg_free named */
void slots_close(rg_ctx *);
/* A bit of the handles that macros pass for arguments without a name (ridge.h): the call frees them. */
#define TEMPORARY ((uint64_t)1 << 31)
static inline rg_tensor poison(const rg_ctx *c) { return (rg_tensor){(uint64_t)c->id << 56}; }
rg_tensor slot_handle(const rg_ctx *, uint32_t i); /* of a slot in use */
/* Each slot in use:  for (uint32_t i = 0; (s = slot_next(c, &i));) */
struct api_slot *slot_next(const rg_ctx *, uint32_t *i);

/* ---- store.c --------------------------------------------------------------------------------------- */

uint32_t store_new(rg_ctx *, size_t bytes, enum event_memory); /* an entry, without memory yet; throws */
/* Gives it memory; throws. For whom: what n was made for, or what the call k is. */
void store_need(rg_ctx *, uint32_t i, const uop *n);
void store_need_call(struct api_call *, uint32_t i, enum dtype, const struct shape *);
/* The same with memory that was allocated elsewhere, for as many bytes. */
void store_give(struct api_call *, uint32_t i, void *mem, enum dtype, const struct shape *);
void store_drop(rg_ctx *, uint32_t i);
const uop *store_node(rg_ctx *, uint32_t i, uint32_t version, enum dtype, const struct shape *);
/* A tensor with memory of its own and this value; throws. */
const uop *store_value(rg_ctx *, const uop *, enum event_memory);
static inline uint32_t store_of(const uop *buffer) { return (uint32_t)((uint64_t)buffer->arg.i >> 32); }
static inline uint32_t version_of(const uop *buffer) { return (uint32_t)buffer->arg.u; }
size_t store_bytes(rg_ctx *, const uop *);             /* throws past 2^63 */
const uop *gr_chain_root(const rg_ctx *, const uop *); /* the BUFFER below a chain of ASSIGNs */
/* A new VAR; old: it is the next version of that one, with its bounds. */
const uop *store_var(rg_ctx *, enum dtype, double lo, double hi, int64_t bits, const uop *old);
const uop *store_key(rg_ctx *); /* the VAR that holds the seed, i64 */

/* ---- liveness.c --------------------------------------------------------------------------------------- */

static inline bool is_real(const rg_ctx *c, const uop *n) {
    return n->id < c->graph->real.n && c->graph->real.p[n->id];
}
static inline bool is_cut(const rg_ctx *c, const uop *n) {
    return n->id < c->graph->cut.n && c->graph->cut.p[n->id];
}
static inline const uop *gr_now(const rg_ctx *c, const uop *n) {
    while (is_real(c, n)) n = c->graph->ir.node[c->graph->real.p[n->id] - 1];
    return n;
}
/* Was n realized, and did it lead to a parameter through no gradient? */
static inline bool is_flat(const rg_ctx *c, const uop *n) {
    const uop *b = is_cut(c, n) || n->op == OP_BUFFER ? gr_now(c, n) : n;
    return b->op == OP_BUFFER && store_of(b) < c->stores && c->store[store_of(b)].flat == version_of(b);
}
void gr_real_room(rg_ctx *); /* room for all nodes there are; throws */
/* What rg_scalar and rg_index give. Memory that a read gave it serves that read only: programs take the number. */
bool gr_is_scalar(const uop *);
void gr_forget_scalars(rg_ctx *);
void gr_set_real(rg_ctx *, const uop *n, const uop *buf); /* after gr_real_room: does not throw */
void gr_list_real(struct graph *);                        /* after `real` was written as a whole */

/* Nodes below the roots, sources first; `into` says whether the sources of a node are visited. In c->scratch. */
typedef bool walk_fn(void *cx, const uop *);
void gr_walk(rg_ctx *, const uop *const *root, uint32_t n, walk_fn *into, void *cx, uop_vec *out);
void gr_roots(rg_ctx *, uop_vec *out);
/* By node id, enum lead_kind. NULL: there are no parameters. run: every ASSIGN is about to run. */
enum lead_kind {
    LEAD_THROUGH = 1, /* a gradient flows through it to the present value of a parameter */
    LEAD_PARAM = 2,   /* such a value */
    LEAD_ANY = LEAD_THROUGH | LEAD_PARAM,
    LEAD_LOST = 4, /* an ASSIGN that ran and whose value leads to one */
    LEAD_FLAT =
        8 /* only integers and bools lead on to one: the gradient is 0, the history is not needed for it */
};
const uint8_t *gr_leads(rg_ctx *, const uop_vec *roots, bool run);
void gr_collect(rg_ctx *); /* marks, frees device memory, compacts if it is time; throws when out of memory */
void gr_collect_maybe(rg_ctx *); /* the same, if much was made since the last time */
void gr_collect_left(rg_ctx *);  /* the same, if handles of values in memory died since */
void gr_compact(rg_ctx *);
void gr_forget_dead(
    rg_ctx *);             /* nodes realized as memory that is gone or holds another version are lazy again */
void gr_release(rg_ctx *); /* frees device memory that no handle reaches, and moves nothing: inside a call */
/* Copies nodes (walk order) into another ir; leaf may give a node of `to` for a node of the list, or NULL. `out` by old id. */
typedef const uop *leaf_fn(void *cx, const uop *);
void gr_copy(struct arena *, struct ir *to, const struct ir *from, const uop_vec *, leaf_fn *, void *cx,
             const uop **out);
struct graph *gr_new(rg_ctx *); /* an empty one; throws */
void gr_free(struct graph *);

/* ---- assign.c --------------------------------------------------------------------------------------- */

/* A parameter has a new value: what led to the old one has no gradient anyway. */
void state_forget_lost(rg_ctx *);

void call_ranges(struct api_call *, struct t_slice *out, uint32_t rank); /* k->ranges, checked; throws */

/* ---- random.c ---------------------------------------------------------------------------------------- */

struct rng {
    struct t_rng rng;
    rg_ctx *c;
};
void random_take(struct t_rng *, int64_t counters, const uop **base, const uop **key);
#define RNG(k) (&(struct rng){{random_take}, (k)->c}.rng) /* of a struct api_call */
/* For a replay: which VARs a recorded piece of work draws with. To run it again, VAR k gets drawn + offset k, the VAR
 * key_var gets seed, and then drawn grows as much as it did from the mark to the end of the recording. */
void random_mark(rg_ctx *);   /* draws are noted from now on; the list is empty */
void random_unmark(rg_ctx *); /* no longer; the list stays */
const struct draw *random_draws(rg_ctx *, uint32_t *n);

/* ---- realize.c -------------------------------------------------------------------------------------- */

/* Runs the queue and what these need. Throws. With `plan` it only counts. `peel`: a view is left a view of what it shows. */
void realize_nodes(struct api_call *, const uop *const *, uint32_t n, bool peel, struct realize_stats *plan);
rg_status realize_chain(const char *file, int line, rg_ctx *); /* runs the collectives that wait */
/* What has the same bytes in the same order: realize that instead. */
const uop *behind_shapes(rg_ctx *, const uop *);

/* ---- outer.c --------------------------------------------------------------------------------------------- */

struct outer_value {
    uint32_t slot, gen;
    bool grad;         /* of the slot's gradient */
    const uop *node;   /* what it denotes outside */
    const uop *name;   /* BUFFER: what it denotes inside */
    const uop *give;   /* ASSIGN that makes it so; NULL: it is in memory */
    uint32_t lost_was; /* of the store of `name` */
};

struct outer {
    struct outer_value *value;
    uint32_t n, reals;
    uint64_t tick;  /* of the context, when it began */
    uint32_t *real; /* of the graph, before */
    uint8_t *cut;
};

void outer_hide(rg_ctx *); /* before a recording: handles name memory; throws */
/* ASSIGNs that must run before a recorded plan for these: it reads or overwrites values from outside. In c->scratch; throws. */
uop_vec outer_need(rg_ctx *, const uop *const *ask, uint32_t n);
void outer_restore(rg_ctx *, bool failed); /* after the recording; cannot fail. failed: its gradients go */
void outer_free(struct outer *);

/* ---- jit.c ------------------------------------------------------------------------------------------- */

struct jit_program { /* what is run, and in which stores */
    const struct realize *r;
    uint32_t nbuf, nresult, nvar;
    const uint32_t *buf_store, *result_store, *var_number;
};
void jit_note(rg_ctx *, const struct jit_program *);    /* while recording, before it runs; throws */
void jit_noted(rg_ctx *, const struct realize_stats *); /* after that; cannot fail */
/* Before it is written: inputs that lie in memory which it overwrites get copies. Throws. */
void jit_writes(struct api_call *, const uint32_t *store, uint32_t n);

/* ---- chain.c ------------------------------------------------------------------------------------------- */

/* Around what may make collectives (a builder, a gradient): they come after c->chain, and the last becomes it. */
void chain_begin(rg_ctx *);
void chain_end(rg_ctx *);
const uop *chain_node(rg_ctx *); /* the youngest collective that has not run, or NULL */
void chain_ran(rg_ctx *);        /* after a plan: forgets a chain that is in memory */

/* ---- flight.c ------------------------------------------------------------------------------------------- */

struct event_dump {
    struct err e;
    struct arena arena;
    const char *path;
    rg_ctx *c; /* its memory; NULL: the flight recorder */
};
int event_dump(struct event_dump *); /* path and c are set; the status, e has the words */
void flight_from_env(void);          /* FLIGHT: writes the flight recorder at the end of the process .. */
void flight_write(void);             /* .. or now, if that was not done yet */

/* ---- profile.c ------------------------------------------------------------------------------------------ */

int profile_from_env(struct err *); /* begins to record if PROFILE says so and nothing is recorded yet */

#endif
