/* objects.c: gradients, lists, optimisers, files, figures and profiles: functions of the library that have a shape of their own
 * in Python. The package gives most of them their names (ridge/nn.py and others).
 * Tests: python/tests/test_grad.py, test_profile.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

/* A function of positional arguments: `n` at most. */
#define SIG(name, count, required, ...)                                                      \
    static const char *const names_##name[] = {__VA_ARGS__};                                 \
    static const struct py_signature sig_##name = {#name, names_##name, count, required, 0}; \
    PY_FUNCTION(name)

static PyObject *tensor_list(struct py_call *k, const rg_tensor *t, size_t n) {
    PyObject *l = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *x = l ? py_made(k, t[i], 0) : NULL;
        if (x)
            PyList_SetItem(l, (Py_ssize_t)i, x);
        else
            Py_CLEAR(l);
    }
    return l;
}

/* ---- gradients ---------------------------------------------------------------------------------------------------- */

static PyObject *do__grad(struct py_call *k, PyObject *const *v) {
    rg_tensor of;
    rg_tensors wrt;
    rg_grad_opts o = {.size_ = sizeof o};
    if (py_tensor(k, v[0], &of) || py_list(k, v[1], &wrt)) return NULL;
    if (PY_GIVEN(v[2]) && py_tensor(k, v[2], &o.seed)) return NULL;
    if (PY_GIVEN(v[3]) && py_bool(k, v[3], &o.unused_ok)) return NULL;
    rg_tensor *out = calloc(wrt.n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    py_lock(k);
    PyObject *r = rg_grad_at(k->file, k->line, of, wrt, out, o) ? py_raise(k->d) : tensor_list(k, out, wrt.n);
    free(out);
    return r;
}
SIG(_grad, 4, 2, "of", "wrt", "seed", "unused_ok")

static PyObject *do_zero_grad(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    if (py_device(k, v[0], &c)) return NULL;
    py_lock(k);
    return py_did(k, rg_zero_grad_at(k->file, k->line, c));
}
SIG(zero_grad, 1, 0, "device")

/* no_grad is the thread's: entered n times more, or left; the depth. */
static PyObject *no_grad(PyObject *m, PyObject *n) {
    (void)m;
    long v = PyLong_AsLong(n);
    if (v == -1 && PyErr_Occurred()) return NULL;
    py_thread.no_grad += (int)v;
    if (v) py_take_state();
    return PyLong_FromLong(py_thread.no_grad);
}

/* ---- lists of tensors ------------------------------------------------------------------------------------------------- */

static PyObject *do__split(struct py_call *k, PyObject *const *v) {
    rg_tensor x, out[256];
    rg_ints sizes;
    int64_t axis = 0;
    if (py_tensor(k, v[0], &x) || py_ints(k, v[1], &sizes) || (PY_GIVEN(v[2]) && py_int(k, v[2], &axis)))
        return NULL;
    py_lock(k);
    if (rg_split_at(k->file, k->line, x, axis, sizes, out)) return py_raise(k->d);
    return tensor_list(k, out, sizes.n);
}
SIG(_split, 3, 2, "x", "sizes", "axis")

/* x[at:at + size] with an rg_index. */
static PyObject *do__window(struct py_call *k, PyObject *const *v) {
    rg_tensor x, at;
    int64_t size, axis = 0;
    rg_range part[32];
    if (py_tensor(k, v[0], &x) || py_tensor(k, v[1], &at) || py_int(k, v[2], &size)) return NULL;
    if (PY_GIVEN(v[3]) && py_int(k, v[3], &axis)) return NULL;
    py_lock(k);
    int64_t rank = rg_rank_at(k->file, k->line, x);
    axis += axis < 0 ? rank : 0;
    if (rank < 0 || axis < 0 || axis >= rank) return PyErr_Format(PyExc_IndexError, "window: no such axis");
    for (int64_t i = 0; i < axis; i++) part[i] = (rg_range){.stop = RG_END};
    part[axis] = (rg_range){.stop = size, .at = at};
    return py_made(k, rg_slice_at(k->file, k->line, x, (rg_ranges){part, (size_t)axis + 1}), 0);
}
SIG(_window, 4, 3, "x", "at", "size", "axis")

static PyObject *do__meshgrid(struct py_call *k, PyObject *const *v) {
    rg_tensors xs;
    rg_tensor out[64];
    if (py_list(k, v[0], &xs)) return NULL;
    if (xs.n > 64) return PyErr_Format(PyExc_ValueError, "meshgrid: at most 64 vectors");
    py_lock(k);
    if (rg_meshgrid_at(k->file, k->line, xs, out)) return k->d ? py_raise(k->d) : PyList_New(0);
    return tensor_list(k, out, xs.n);
}
SIG(_meshgrid, 1, 1, "xs")

static PyObject *do__realize(struct py_call *k, PyObject *const *v) {
    rg_tensors xs;
    rg_status st;
    if (py_list(k, v[0], &xs)) return NULL;
    if (!xs.n) Py_RETURN_NONE;
    PY_WORK(k, st = rg_realize_all_at(k->file, k->line, xs));
    return py_did(k, st);
}
SIG(_realize, 1, 1, "xs")

/* What was made in a jit's function stays alive after it: tables that are computed once. */
static PyObject *do__keep(struct py_call *k, PyObject *const *v) {
    rg_tensor x;
    if (py_tensor(k, v[0], &x)) return NULL;
    py_lock(k);
    if (py_thread.in_jit && !(uint32_t)rg_keep_at(k->file, k->line, x).id) return py_raise(k->d);
    py_of(v[0])->flags &= ~(uint32_t)PY_PASSING;
    return Py_NewRef(v[0]);
}
SIG(_keep, 1, 1, "x")

static PyObject *plan_stats(struct py_call *k, rg_tensors xs) {
    rg_plan_stats s = {0};
    rg_status st;
    PY_WORK(k, st = rg_schedule_stats_at(k->file, k->line, xs, &s));
    if (st) return py_raise(k->d);
    return Py_BuildValue("{sKsKsKsKsdsdsdsLsd}", "kernels", s.kernels, "distinct", s.distinct, "reads",
                         s.reads, "writes", s.writes, "bytes", s.bytes, "least", s.least, "ops", s.ops,
                         "scratch", (long long)s.scratch, "predicted", s.predicted);
}
static PyObject *do_plan(struct py_call *k, PyObject *const *v) {
    rg_tensors xs;
    return py_list(k, v[0], &xs) ? NULL : plan_stats(k, xs);
}
SIG(plan, 1, 1, "xs")

/* ---- optimisers ----------------------------------------------------------------------------------------------------------- */

struct optim_object {
    PyObject_HEAD rg_optim *o;
    struct py_device *d;
    PyObject *params; /* kept alive */
};

static PyObject *optim_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"kind",  "params", "lr",           "momentum",   "nesterov", "beta1",
                            "beta2", "eps",    "weight_decay", "loss_scale", NULL};
    const char *kind;
    PyObject *params;
    int nesterov = 0;
    rg_optim_opts o = {.size_ = sizeof o};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "sO|ddpddddd", names, &kind, &params, &o.lr, &o.momentum,
                                     &nesterov, &o.beta1, &o.beta2, &o.eps, &o.weight_decay, &o.loss_scale))
        return NULL;
    o.nesterov = nesterov;
    struct py_call k;
    rg_tensors xs;
    struct optim_object *self = NULL;
    py_begin(&k);
    if (!py_list(&k, params, &xs) && py_device_of(&k)) {
        py_lock(&k);
        rg_optim *made = !strcmp(kind, "sgd")    ? rg_sgd_at(k.file, k.line, xs, o)
                         : !strcmp(kind, "adam") ? rg_adam_at(k.file, k.line, xs, o)
                                                 : rg_adamw_at(k.file, k.line, xs, o);
        if (!made || rg_status_of(k.d->c))
            py_raise(k.d);
        else if ((self = (struct optim_object *)PyType_GenericAlloc(type, 0))) {
            self->o = made, self->d = k.d;
            self->params = PySequence_Tuple(params);
        }
    }
    py_finish(&k);
    return (PyObject *)self;
}

static void optim_dealloc(PyObject *x) {
    struct optim_object *o = (struct optim_object *)x;
    PyTypeObject *type = Py_TYPE(x);
    py_lock_device(o->d);
    rg_optim_free(o->o);
    py_unlock_device(o->d);
    Py_XDECREF(o->params);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(x); /* a subclass may be of another kind */
    Py_DECREF(type);
}

static void on_optim(struct py_call *k, PyObject *x) {
    py_begin(k);
    k->d = ((struct optim_object *)x)->d;
    py_lock(k);
}

static PyObject *optim_step(PyObject *x, PyObject *none) {
    struct py_call k;
    (void)none;
    on_optim(&k, x);
    PyObject *r = py_did(&k, rg_optim_step_at(k.file, k.line, ((struct optim_object *)x)->o));
    py_finish(&k);
    return r;
}

static PyObject *optim_scale(PyObject *x, PyObject *loss) {
    struct py_call k;
    rg_tensor t;
    on_optim(&k, x);
    PyObject *r = py_tensor(&k, loss, &t)
                      ? NULL
                      : py_made(&k, rg_optim_scale_at(k.file, k.line, ((struct optim_object *)x)->o, t), 0);
    py_finish(&k);
    return r;
}

static PyObject *get_lr(PyObject *x, void *p) {
    struct optim_object *o = (struct optim_object *)x;
    (void)p;
    py_lock_device(o->d);
    double lr = rg_optim_lr(o->o);
    py_unlock_device(o->d);
    return PyFloat_FromDouble(lr);
}
static int set_lr(PyObject *x, PyObject *v, void *p) {
    struct py_call k;
    double lr;
    (void)p;
    if (!v || py_double(&k, v, &lr)) return -1;
    on_optim(&k, x);
    int bad = rg_optim_set_lr_at(k.file, k.line, ((struct optim_object *)x)->o, lr) ? -1 : 0;
    if (bad) py_raise(k.d);
    py_finish(&k);
    return bad;
}

static PyObject *optim_file(PyObject *x, PyObject *path,
                            rg_status (*fn)(const char *, int, rg_optim *, const char *)) {
    struct py_call k;
    const char *text;
    on_optim(&k, x);
    PyObject *r = NULL;
    rg_status st;
    if (!py_text(&k, path, &text)) {
        PY_WORK(&k, st = fn(k.file, k.line, ((struct optim_object *)x)->o, text));
        r = py_did(&k, st);
    }
    py_finish(&k);
    return r;
}
static PyObject *optim_save(PyObject *x, PyObject *path) { return optim_file(x, path, rg_optim_save_at); }
static PyObject *optim_load(PyObject *x, PyObject *path) { return optim_file(x, path, rg_optim_load_at); }

static PyGetSetDef optim_attributes[] = {
    {"lr", get_lr, set_lr, "the learning rate; setting it compiles nothing", NULL}, {0}};
static PyMethodDef optim_methods[] = {
    {"step", optim_step, METH_NOARGS,
     "step()\n--\n\nOne update from the gradients that backward() left, which are forgotten."},
    {"scale", optim_scale, METH_O,
     "scale(loss)\n--\n\nThe loss times the scale of gradients (loss_scale): what to differentiate."},
    {"save", optim_save, METH_O, "save(path)\n--\n\nIts state as safetensors."},
    {"load", optim_load, METH_O, "load(path)\n--\n\nState from safetensors."},
    {0}};
static PyType_Slot optim_slots[] = {{Py_tp_new, optim_new},
                                    {Py_tp_dealloc, optim_dealloc},
                                    {Py_tp_getset, optim_attributes},
                                    {Py_tp_methods, optim_methods},
                                    {0, NULL}};
static PyType_Spec optim_spec = {"ridge._ridge.Optimizer", sizeof(struct optim_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, optim_slots};

static PyObject *do_clip_norm(struct py_call *k, PyObject *const *v) {
    rg_tensors xs;
    double most;
    if (py_list(k, v[0], &xs) || py_double(k, v[1], &most)) return NULL;
    py_lock(k);
    return py_made(k, rg_clip_grad_norm_at(k->file, k->line, xs, most), 0);
}
SIG(clip_norm, 2, 2, "params", "most")
static PyObject *do_clip_value(struct py_call *k, PyObject *const *v) {
    rg_tensors xs;
    double most;
    if (py_list(k, v[0], &xs) || py_double(k, v[1], &most)) return NULL;
    py_lock(k);
    return py_did(k, rg_clip_grad_value_at(k->file, k->line, xs, most));
}
SIG(clip_value, 2, 2, "params", "most")

/* ---- files ------------------------------------------------------------------------------------------------------------------ */

static PyObject *read_file(struct py_call *k, rg_file *f) {
    PyObject *d = PyDict_New();
    for (size_t i = 0; d && i < rg_file_count(f); i++) {
        const char *name = rg_file_name(f, i);
        rg_tensor t;
        PY_WORK(k, t = rg_file_get_at(k->file, k->line, f, name));
        PyObject *x = py_made(k, t, PY_LEAF);
        if (!x || PyDict_SetItemString(d, name, x)) Py_CLEAR(d);
        Py_XDECREF(x);
    }
    return d;
}

static PyObject *do_load_file(struct py_call *k, PyObject *const *v) {
    const char *path;
    rg_ctx *c;
    rg_file *f;
    if (py_device(k, v[1], &c) || py_text(k, v[0], &path)) return NULL;
    PY_WORK(k, f = rg_file_open_at(k->file, k->line, c, path));
    if (!f) return py_raise(k->d);
    PyObject *d = read_file(k, f);
    rg_file_close(f);
    return d;
}
SIG(load_file, 2, 1, "path", "device")

static PyObject *do_save_file(struct py_call *k, PyObject *const *v) {
    const char *path, **names = NULL;
    rg_tensors xs;
    rg_status st;
    PyObject *keys = PySequence_Tuple(v[1]), *r = NULL;
    PyObject *file = PyOS_FSPath(v[0]);
    Py_ssize_t n = keys ? PyTuple_Size(keys) : 0;
    if (keys && file && (path = PyUnicode_AsUTF8AndSize(file, NULL)) && !py_list(k, v[2], &xs) &&
        (names = calloc((size_t)n + 1, sizeof *names))) {
        for (Py_ssize_t i = 0; i < n; i++) names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(keys, i), NULL);
        if (!PyErr_Occurred() && (size_t)n == xs.n && py_device_of(k)) {
            PY_WORK(k, st = rg_save_at(k->file, k->line, path, names, xs));
            r = py_did(k, st);
        }
    }
    free(names);
    Py_XDECREF(keys);
    Py_XDECREF(file);
    return r;
}
SIG(save_file, 3, 3, "path", "names", "tensors")

/* ---- figures ------------------------------------------------------------------------------------------------------------------ */

static PyObject *do_usage(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    rg_usage u = {0};
    if (py_device(k, v[0], &c)) return NULL;
    py_lock(k);
    if (rg_stats_at(k->file, k->line, c, &u)) return py_raise(k->d);
    return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsdsdsd}", "handles", u.handles, "nodes", u.nodes, "nodes_held",
                         u.nodes_held, "buffers", u.buffers, "bytes", u.bytes, "temporaries", u.temporaries,
                         "peak", u.peak, "realizes", u.realizes, "kernels", u.kernels, "cached", u.cached,
                         "moved", u.moved, "ops", u.ops, "seconds", u.seconds);
}
SIG(usage, 1, 0, "device")

static PyObject *do_memory(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    rg_memory u = {0};
    if (py_device(k, v[0], &c)) return NULL;
    py_lock(k);
    if (rg_memory_of_at(k->file, k->line, c, &u)) return py_raise(k->d);
    return Py_BuildValue("{sKsKsKsKsK}", "bytes", u.bytes, "held", u.held, "peak", u.peak, "cached", u.cached,
                         "blocks", u.blocks);
}
SIG(memory, 1, 0, "device")

static PyObject *do_collect(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    if (py_device(k, v[0], &c)) return NULL;
    py_lock(k);
    return py_did(k, rg_collect_at(k->file, k->line, c));
}
SIG(collect, 1, 0, "device")

static PyObject *do_machine(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    rg_machine m = {0};
    if (py_device(k, v[0], &c)) return NULL;
    py_lock(k);
    if (rg_machine_of_at(k->file, k->line, c, &m)) return py_raise(k->d);
    return Py_BuildValue("{sdsdsisd}", "flops", m.flops, "bytes", m.bytes, "threads", m.threads, "half",
                         m.half);
}
SIG(machine, 1, 0, "device")

static PyObject *do_kernels(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    enum { ROOM = 1024 };
    if (py_device(k, v[0], &c)) return NULL;
    py_lock(k);
    rg_kernel_cost *row = calloc(ROOM, sizeof *row);
    size_t n = row ? rg_kernels_at(k->file, k->line, c, row, ROOM) : 0;
    PyObject *l = PyList_New(0);
    for (size_t i = 0; i < n && i < ROOM && l; i++) {
        PyObject *d = Py_BuildValue("{sssssKsdsdsdsdss}", "name", row[i].name, "where", row[i].where, "calls",
                                    row[i].calls, "seconds", row[i].seconds, "ops", row[i].ops, "bytes",
                                    row[i].bytes, "roof", row[i].roof, "bound", row[i].bound);
        if (!d || PyList_Append(l, d)) Py_CLEAR(l);
        Py_XDECREF(d);
    }
    free(row);
    return l;
}
SIG(kernels, 1, 0, "device")

/* ---- profiles ------------------------------------------------------------------------------------------------------------------- */

static PyObject *do_profile_start(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    const char *path;
    int64_t n[4] = {0};
    if (py_device(k, NULL, &c) || py_text(k, v[0], &path)) return NULL;
    for (int i = 0; i < 4; i++)
        if (PY_GIVEN(v[1 + i]) && py_int(k, v[1 + i], &n[i])) return NULL;
    rg_profile_opts o = {
        .size_ = sizeof o, .wait = (int)n[0], .warmup = (int)n[1], .active = (int)n[2], .repeat = (int)n[3]};
    py_lock(k);
    return py_did(k, rg_profile_start_at(k->file, k->line, c, path, o));
}
SIG(profile_start, 5, 1, "path", "wait", "warmup", "active", "repeat")
static PyObject *do_profile_step(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    (void)v;
    if (py_device(k, NULL, &c)) return NULL;
    py_lock(k);
    return py_did(k, rg_profile_step_at(k->file, k->line, c));
}
SIG(profile_step, 0, 0, "")
static PyObject *do_profile_stop(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    rg_status st;
    (void)v;
    if (py_device(k, NULL, &c)) return NULL;
    PY_WORK(k, st = rg_profile_stop_at(k->file, k->line, c));
    return py_did(k, st);
}
SIG(profile_stop, 0, 0, "")

static PyObject *range_push(PyObject *m, PyObject *name) {
    (void)m;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text) return NULL;
    rg_range_push(text);
    Py_RETURN_NONE;
}
static PyObject *range_pop(PyObject *m, PyObject *none) {
    (void)m, (void)none;
    rg_range_pop();
    Py_RETURN_NONE;
}

/* ---- devices and modules --------------------------------------------------------------------------------------------------------- */

static PyObject *device(PyObject *m, PyObject *const *arg, Py_ssize_t n) {
    (void)m;
    const char *name = n && arg[0] != Py_None ? PyUnicode_AsUTF8AndSize(arg[0], NULL) : NULL;
    if (n && arg[0] != Py_None && !name) return NULL;
    struct py_device *d = py_open(name);
    if (!d) return NULL;
    if (name) py_default = d;
    return PyUnicode_FromString(d->name);
}

/* The path of the module that goes forward in this thread, and which one did: paths are kept, there are few. */
static PyObject *in_module(PyObject *m, PyObject *path) {
    (void)m;
    const char *text = path == Py_None ? NULL : PyUnicode_AsUTF8AndSize(path, NULL), *was = py_thread.module;
    if (path != Py_None && !text) return NULL;
    py_thread.module = text ? py_intern(text) : NULL;
    py_take_state();
    if (was) return PyUnicode_FromString(was);
    Py_RETURN_NONE;
}

#define ROW(name, doc) \
    { #name, (PyCFunction)(void *)fn_##name, METH_FASTCALL | METH_KEYWORDS, doc }
PyMethodDef py_object_functions[] = {
    ROW(_grad, NULL),
    ROW(zero_grad, "zero_grad(device=None)\n--\n\nForgets the gradients of all parameters."),
    {"_no_grad", no_grad, METH_O, NULL},
    ROW(_split, NULL),
    ROW(_meshgrid, NULL),
    ROW(_window, NULL),
    ROW(_realize, NULL),
    ROW(_keep, NULL),
    ROW(plan, "plan(xs)\n--\n\nWhat computing these would take: kernels, bytes, ops, predicted seconds. Runs "
              "nothing."),
    {"_clip_norm", (PyCFunction)(void *)fn_clip_norm, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_clip_value", (PyCFunction)(void *)fn_clip_value, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_load_file", (PyCFunction)(void *)fn_load_file, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_save_file", (PyCFunction)(void *)fn_save_file, METH_FASTCALL | METH_KEYWORDS, NULL},
    ROW(usage, "usage(device=None)\n--\n\nTensors, graph, device memory, kernels run: a dict."),
    ROW(memory, "memory(device=None)\n--\n\nDevice memory in bytes: a dict."),
    ROW(collect, "collect(device=None)\n--\n\nFrees what nothing reaches, and gives cached memory back to "
                 "the device."),
    ROW(machine, "machine(device=None)\n--\n\nFLOP/s and bytes/s of the machine model."),
    ROW(kernels,
        "kernels(device=None)\n--\n\nWhat each kernel cost so far, the costliest first: a list of dicts."),
    {"_profile_start", (PyCFunction)(void *)fn_profile_start, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_profile_step", (PyCFunction)(void *)fn_profile_step, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_profile_stop", (PyCFunction)(void *)fn_profile_stop, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_range_push", range_push, METH_O, NULL},
    {"_range_pop", range_pop, METH_NOARGS, NULL},
    {"device", (PyCFunction)(void *)device, METH_FASTCALL,
     "device(name=None)\n--\n\nMakes a device the default one; says which is."},
    {"_in_module", in_module, METH_O, NULL},
    {0}};

int py_add_objects(PyObject *m) {
    PyObject *type = PyType_FromSpec(&optim_spec);
    if (!type) return -1;
    int bad = PyModule_AddObjectRef(m, "Optimizer", type);
    Py_DECREF(type);
    return bad;
}
