/* nccl.c: the NCCL backend: ranks with an NVIDIA GPU each; libnccl.so.2 is loaded at run time.
 *
 * Tensors stay on the GPU: a collective is enqueued on the stream of the kernels, and nothing waits for it. What the hosts have to say to
 * each other goes by a second world, `control` (shm, or mpi across hosts): NCCL's unique id, and before each collective what every rank is
 * about to call, so that a rank that differs or does not come is named instead of leaving the GPUs hanging.
 * NCCL picks the order of a sum by size and topology: the same on every rank, but not the tree of the other backends.
 * Tests: tests/unit/world_nccl.c (a library that stands in for NCCL; on a machine with a GPU, NCCL itself) */
#include "world/internal.h"

#include <glob.h>

enum { ID_BYTES = 128, ERROR_TEXT = 200 };
struct nccl_id {
    char bytes[ID_BYTES];
};
typedef struct nccl_comm *nccl_comm;

#define NCCL(X)                                                                                        \
    X(version, "ncclGetVersion", (int *))                                                              \
    X(unique_id, "ncclGetUniqueId", (struct nccl_id *))                                                \
    X(init, "ncclCommInitRank", (nccl_comm *, int ranks, struct nccl_id, int rank))                    \
    X(destroy, "ncclCommDestroy", (nccl_comm))                                                         \
    X(abort, "ncclCommAbort", (nccl_comm))                                                             \
    X(all_reduce, "ncclAllReduce", (const void *, void *, size_t, int dt, int op, nccl_comm, void *))  \
    X(scatter, "ncclReduceScatter", (const void *, void *, size_t, int dt, int op, nccl_comm, void *)) \
    X(gather, "ncclAllGather", (const void *, void *, size_t, int dt, nccl_comm, void *))              \
    X(broadcast, "ncclBroadcast", (const void *, void *, size_t, int dt, int root, nccl_comm, void *)) \
    X(send, "ncclSend", (const void *, size_t, int dt, int peer, nccl_comm, void *))                   \
    X(receive, "ncclRecv", (void *, size_t, int dt, int peer, nccl_comm, void *))                      \
    X(begin, "ncclGroupStart", (void))                                                                 \
    X(end, "ncclGroupEnd", (void))

struct nccl_state {
    void *lib;
    struct world *control;
    nccl_comm comm;
    int number; /* 23007: 2.30.7 */
    const char *(*text)(int);
    const char *(*last)(nccl_comm);
#define X(field, symbol, arguments) int(*field) arguments;
    NCCL(X)
#undef X
};

/* ---- the library ------------------------------------------------------------------------------------------------ */

static const char install[] = "install libnccl2 or the wheel nvidia-nccl-cu12 (nvidia-nccl-cu13), or set "
                              "RIDGE_NCCL to the path of libnccl.so.2";

static void *load_any(struct err *e) {
    static const char *const where[] = {"libnccl.so.2", "/usr/local/cuda*/lib64/libnccl.so.2",
                                        "/usr/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
                                        "/usr/local/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2"};
    const char *named = env_str(ENV_NCCL);
    if (named && *named) return os_dlopen(e, named);
    void *lib = NULL;
    for (size_t i = 0; i < RG_COUNT(where) && !lib; i++) {
        struct err ignore = {0};
        glob_t g = {0};
        bool some = strchr(where[i], '*') && !glob(where[i], 0, NULL, &g);
        if (some || !strchr(where[i], '*')) lib = os_dlopen(&ignore, some ? g.gl_pathv[0] : where[i]);
        globfree(&g);
    }
    if (!lib)
        err_set(e, RG_EUNSUPPORTED, "backend \"nccl\" needs NCCL: libnccl.so.2 is not found; %s", install);
    return lib;
}

static int load_nccl(struct nccl_state *n, struct err *e) {
    n->lib = load_any(e); /* stays: NCCL has threads of its own */
    if (!n->lib) return e->code;
#define X(field, symbol, arguments)                        \
    if (!(*(void **)&n->field = os_dlsym(n->lib, symbol))) \
        return err_set(e, RG_EUNSUPPORTED, "NCCL has no function %s: it is older than 2.7", symbol);
    NCCL(X)
#undef X
    *(void **)&n->text = os_dlsym(n->lib, "ncclGetErrorString");
    *(void **)&n->last = os_dlsym(n->lib, "ncclGetLastError");
    n->version(&n->number);
    return 0;
}

static int try_nccl(struct nccl_state *n, struct err *e, int code, const char *doing) {
    const char *more = code && n->last ? n->last(n->comm) : NULL;
    if (!code) return 0;
    return err_set(e, RG_EDEVICE, "NCCL %d.%d.%d failed in %s: %s%s%.*s", n->number / 10000,
                   n->number / 100 % 100, n->number % 100, doing, n->text ? n->text(code) : "?",
                   more && *more ? ": " : "", ERROR_TEXT, more ? more : "");
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* NCCL's number of a type; bytes where nothing is added, which needs only the size. */
static int type_of(struct err *e, const struct world_call *c, size_t *elements) {
    static const int known[DT_COUNT] = {
        [DT_BOOL] = 2, [DT_I8] = 1,  [DT_U8] = 2,  [DT_I32] = 3, [DT_U32] = 4,  [DT_I64] = 5,
        [DT_U64] = 6,  [DT_F16] = 7, [DT_F32] = 8, [DT_F64] = 9, [DT_BF16] = 10};
    bool sums = c->what.kind == COLLECTIVE_ALL_REDUCE || c->what.kind == COLLECTIVE_REDUCE_SCATTER;
    if (!sums) {
        *elements *= dtype_info[c->what.dt].bytes;
        return 1;
    }
    if (!known[c->what.dt])
        err_set(e, RG_EUNSUPPORTED, "NCCL does not reduce %s; cast it to i32 first",
                dtype_info[c->what.dt].name);
    return known[c->what.dt] - 1;
}

static int all_to_all(struct world *w, const struct world_call *c, size_t part, void *stream) {
    struct nccl_state *n = w->state;
    int bad = n->begin();
    for (int64_t r = 0; r < w->size && !bad; r++) {
        bad = n->send((const char *)c->in + (size_t)r * part, part, 1, (int)r, n->comm, stream);
        if (!bad) bad = n->receive((char *)c->out + (size_t)r * part, part, 1, (int)r, n->comm, stream);
    }
    int ended = n->end();
    return bad ? bad : ended;
}

static int enqueue(struct world *w, const struct world_call *c, int dt, size_t in, size_t out, void *stream) {
    struct nccl_state *n = w->state;
    int op = (int)c->what.reduce, peer = (int)c->what.peer;
    switch (c->what.kind) {
    case COLLECTIVE_ALL_REDUCE: return n->all_reduce(c->in, c->out, in, dt, op, n->comm, stream);
    case COLLECTIVE_REDUCE_SCATTER: return n->scatter(c->in, c->out, out, dt, op, n->comm, stream);
    case COLLECTIVE_ALL_GATHER: return n->gather(c->in, c->out, in, dt, n->comm, stream);
    case COLLECTIVE_BROADCAST: return n->broadcast(c->in, c->out, in, dt, peer, n->comm, stream);
    case COLLECTIVE_ALL_TO_ALL: return all_to_all(w, c, in / (size_t)w->size, stream);
    case COLLECTIVE_SEND: return n->send(c->in, in, dt, peer, n->comm, stream);
    case COLLECTIVE_RECV: return n->receive(c->out, out, dt, peer, n->comm, stream);
    default: return 0; /* a barrier: all ranks agreed on it */
    }
}

/* All ranks are about to make the same call. */
static int agree(struct world *w, struct err *e, const struct world_call *c) {
    struct nccl_state *n = w->state;
    struct segment_call mine = {collective_pack(c->what), c->nin, c->nout}, its[SEGMENT_RANKS];
    struct world_call all = {.what = {.kind = COLLECTIVE_ALL_GATHER, .dt = DT_I64},
                             .in = &mine,
                             .out = its,
                             .nin = sizeof mine / 8,
                             .nout = (int64_t)sizeof mine / 8 * w->size};
    char a[WORLD_TEXT], b[WORLD_TEXT];
    if (world_run(n->control, e, &all)) return e->code;
    w->waited_ns = world_waited_ns(n->control);
    for (int64_t r = 1; r < w->size; r++)
        if (memcmp(&its[r], &its[0], sizeof mine))
            return err_set(e, RG_EINVAL,
                           "a collective differs between ranks: rank 0 calls %s, rank %lld calls %s; all "
                           "ranks make the same calls in the same order",
                           world_describe(a, its[0].code, its[0].nin, its[0].nout), (long long)r,
                           world_describe(b, its[r].code, its[r].nin, its[r].nout));
    return 0;
}

static int nccl_run(struct world *w, struct err *e, const struct world_call *c) {
    bool pair = c->what.kind == COLLECTIVE_SEND || c->what.kind == COLLECTIVE_RECV;
    size_t in = (size_t)c->nin, out = (size_t)c->nout;
    char text[WORLD_TEXT];
    void *stream = NULL;
    if (!pair && agree(w, e, c)) return e->code;
    int dt = type_of(e, c, &in);
    type_of(e, c, &out);
    if (e->code || w->stream(w->stream_user, e, &stream)) return e->code;
    return try_nccl(w->state, e, enqueue(w, c, dt, in, out, stream),
                    world_describe(text, collective_pack(c->what), c->nin, c->nout));
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static int open_control(struct world *w, struct err *e, struct nccl_state *n) {
    struct world_launch l;
    char name[sizeof w->name];
    if (world_launch(e, &l)) return e->code;
    snprintf(name, sizeof name, "%.150s/nccl", w->name);
    bool one_host = l.local_size >= l.size || w->size <= l.local_size;
    struct world_opts o = {.backend = one_host ? "shm" : "mpi",
                           .name = name,
                           .rank = w->rank,
                           .size = w->size,
                           .seconds = (double)w->limit_ns * 1e-9};
    return world_open(e, &o, &n->control);
}

static int share_id(struct world *w, struct err *e, struct nccl_id *id) {
    struct nccl_state *n = w->state;
    if (!w->rank && try_nccl(n, e, n->unique_id(id), "ncclGetUniqueId")) return e->code;
    struct world_call c = {.what = {.kind = COLLECTIVE_BROADCAST, .dt = DT_U8},
                           .in = id,
                           .out = id,
                           .nin = ID_BYTES,
                           .nout = ID_BYTES};
    return world_run(n->control, e, &c);
}

static int nccl_open(struct world *w, struct err *e) {
    struct nccl_state *n = mem_alloc(sizeof *n);
    struct nccl_id id = {{0}};
    void *stream;
    if (!n) return err_set(e, RG_ENOMEM, "out of memory for a world");
    *n = (struct nccl_state){0};
    w->state = n;
    if (!w->stream)
        return err_set(e, RG_EUNSUPPORTED,
                       "backend \"nccl\" exchanges tensors of NVIDIA GPUs, and this context is on another "
                       "device; open it with rg_open(\"CUDA\"), or use backend \"shm\" or \"mpi\"");
    if (w->size > SEGMENT_RANKS)
        return err_set(e, RG_ELIMIT, "%lld ranks; backend \"nccl\" has room for %d", (long long)w->size,
                       SEGMENT_RANKS);
    if (load_nccl(n, e) || open_control(w, e, n) || share_id(w, e, &id)) return e->code;
    if (w->stream(w->stream_user, e, &stream)) return e->code; /* makes the device current */
    return try_nccl(n, e, n->init(&n->comm, (int)w->size, id, (int)w->rank), "ncclCommInitRank");
}

/* After a failure others may never come: nothing is waited for. */
static void nccl_close(struct world *w) {
    struct nccl_state *n = w->state;
    struct err ignore = {0};
    void *stream;
    if (!n) return;
    if (n->comm && !w->stream(w->stream_user, &ignore, &stream))
        (void)(w->broken.code ? n->abort(n->comm) : n->destroy(n->comm));
    world_close(n->control);
    mem_free(n);
}

const struct world_ops world_nccl = {"nccl", nccl_open, nccl_close, nccl_run, true};
