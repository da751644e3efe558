/* world.c: worlds of ranks for ridge/world.py: a capsule with a world, and functions on it. Exchanges that are nodes of the graph are made under
 * the lock; those that run, or wait for other ranks, without the GIL.
 * Tests: python/tests/test_world.py */
#include "py.h"

#include <stdlib.h>

#define SIG(name, count, required, ...)                                                      \
    static const char *const names_##name[] = {__VA_ARGS__};                                 \
    static const struct py_signature sig_##name = {#name, names_##name, count, required, 0}; \
    PY_FUNCTION(name)

static const char capsule[] = "ridge.world";
struct world_box {
    rg_world *w; /* NULL: closed */
    struct py_device *d;
};

/* Its context frees a world that was not closed. */
static void box_free(PyObject *o) { free(PyCapsule_GetPointer(o, capsule)); }

static PyObject *box_new(struct py_call *k, rg_world *w) {
    struct world_box *b = malloc(sizeof *b);
    if (!b) return PyErr_NoMemory();
    *b = (struct world_box){w, k->d};
    PyObject *o = PyCapsule_New(b, capsule, box_free);
    if (!o) free(b);
    return o;
}

/* The world of a call, whose device is then the call's. */
static struct world_box *box_of(struct py_call *k, PyObject *o) {
    struct world_box *b = PyCapsule_GetPointer(o, capsule);
    if (!b) return NULL;
    if (!b->w) return PyErr_SetString(PyExc_ValueError, "ridge: the world was closed"), NULL;
    k->d = b->d;
    return b;
}

static PyObject *do__world_open(struct py_call *k, PyObject *const *v) {
    rg_world_opts o = {.size_ = sizeof o};
    rg_world *w;
    rg_ctx *c;
    if (py_device(k, v[0], &c) || (PY_GIVEN(v[1]) && py_text(k, v[1], &o.backend)) ||
        (PY_GIVEN(v[2]) && py_text(k, v[2], &o.name)) || py_int(k, v[3], &o.rank) ||
        py_int(k, v[4], &o.size) || py_double(k, v[5], &o.timeout))
        return NULL;
    PY_WORK(k, w = rg_world_open_at(k->file, k->line, c, o));
    return w ? box_new(k, w) : py_raise(k->d);
}
SIG(_world_open, 6, 6, "device", "backend", "name", "rank", "size", "timeout")

static PyObject *do__world_group(struct py_call *k, PyObject *const *v) {
    struct world_box *b = box_of(k, v[0]);
    rg_ints ranks;
    rg_world *w;
    if (!b || py_ints(k, v[1], &ranks)) return NULL;
    PY_WORK(k, w = rg_world_group_at(k->file, k->line, b->w, ranks));
    if (w) return box_new(k, w);
    if (rg_status_of(k->d->c)) return py_raise(k->d);
    Py_RETURN_NONE;
}
SIG(_world_group, 2, 2, "world", "ranks")

static PyObject *do__world_facts(struct py_call *k, PyObject *const *v) {
    struct world_box *b = box_of(k, v[0]);
    if (!b) return NULL;
    return Py_BuildValue("(LLLs)", (long long)rg_world_rank(b->w), (long long)rg_world_size(b->w),
                         (long long)rg_world_local_rank(b->w), rg_world_backend(b->w));
}
SIG(_world_facts, 1, 1, "world")

static PyObject *do__world_close(struct py_call *k, PyObject *const *v) {
    struct world_box *b = box_of(k, v[0]);
    if (!b) return NULL;
    PY_WORK(k, rg_world_free(b->w));
    b->w = NULL;
    return rg_status_of(k->d->c) ? py_raise(k->d) : Py_NewRef(Py_None);
}
SIG(_world_close, 1, 1, "world")

static const char *const kinds[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                    "all_to_all", "recv",           NULL};
static const char *const combines[] = {
    [RG_COMBINE_SUM] = "sum", [RG_COMBINE_PROD] = "prod", [RG_COMBINE_MEAN] = "mean",
    [RG_COMBINE_MAX] = "max", [RG_COMBINE_MIN] = "min",   NULL};

static PyObject *do__world_exchange(struct py_call *k, PyObject *const *v) {
    struct world_box *b = box_of(k, v[0]);
    int kind, how = RG_COMBINE_SUM;
    int64_t peer = 0;
    rg_tensor x, y = RG_NONE;
    if (!b || py_enum(v[1], kinds, &kind) || py_tensor(k, v[2], &x)) return NULL;
    if (kind < 2 ? py_enum(v[3], combines, &how) : py_int(k, v[3], &peer)) return NULL;
    py_lock(k);
    switch (kind) {
    case 0: y = rg_all_reduce_at(k->file, k->line, x, b->w, (rg_combine)how); break;
    case 1: y = rg_reduce_scatter_at(k->file, k->line, x, b->w, (rg_combine)how); break;
    case 2: y = rg_all_gather_at(k->file, k->line, x, b->w); break;
    case 3: y = rg_broadcast_at(k->file, k->line, x, b->w, peer); break;
    case 4: y = rg_all_to_all_at(k->file, k->line, x, b->w); break;
    default: y = rg_recv_at(k->file, k->line, x, b->w, peer);
    }
    return py_made(k, y, 0);
}
SIG(_world_exchange, 4, 4, "world", "kind", "x", "how")

static PyObject *do__world_send(struct py_call *k, PyObject *const *v) {
    struct world_box *b = box_of(k, v[0]);
    rg_tensor x;
    int64_t to;
    rg_status st;
    if (!b || py_tensor(k, v[1], &x) || py_int(k, v[2], &to)) return NULL;
    PY_WORK(k, st = rg_send_at(k->file, k->line, x, b->w, to));
    return py_did(k, st);
}
SIG(_world_send, 3, 3, "world", "x", "to")

static PyObject *do__world_barrier(struct py_call *k, PyObject *const *v) {
    struct world_box *b = box_of(k, v[0]);
    rg_status st;
    if (!b) return NULL;
    PY_WORK(k, st = rg_barrier_at(k->file, k->line, b->w));
    return py_did(k, st);
}
SIG(_world_barrier, 1, 1, "world")

#define ROW(name) \
    { #name, (PyCFunction)(void *)fn_##name, METH_FASTCALL | METH_KEYWORDS, NULL }
PyMethodDef py_world_functions[] = {
    ROW(_world_open),     ROW(_world_group), ROW(_world_facts),   ROW(_world_close),
    ROW(_world_exchange), ROW(_world_send),  ROW(_world_barrier), {0}};
