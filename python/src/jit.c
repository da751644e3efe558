/* jit.c: ridge.jit: a function whose work is recorded at its second call and replayed from the third on.
 *
 * Arguments and results may be nested in tuples, lists and dicts. What is no tensor is part of the key by which a recording is
 * found again, like shapes and dtypes of tensors, the device, and which modules are training. So another shape, or another value of a
 * flag, makes another recording. A replay runs none of the function's Python.
 * Tests: python/tests/test_jit.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 256, OUTPUTS = 256, RANK = 32 };

struct signature {
    rg_dtype dt;
    int64_t rank, d[RANK];
};

struct recording {
    struct recording *next;
    struct py_device *d;
    rg_jit *jit;
    PyObject *key; /* what is no tensor, a tuple */
    uint64_t mode;
    struct signature *in;
    uint32_t nin, nout;
    PyObject *
        result; /* nested as the function returned it, with numbers for tensors; NULL before the first call */
    PyObject *args, *kw; /* of the call that runs, borrowed */
    PyObject *fn;
};

struct jit_object {
    PyObject_HEAD PyObject *fn;
    struct recording *first;
    bool busy; /* inside a call */
};

int py_in_jit;
uint64_t
    py_jit_mode; /* changes with what decides the graph beside the arguments: modules in training, no_grad */

/* ---- tensors in nested objects -------------------------------------------------------------------------------------- */

struct found {
    rg_tensor t[INPUTS];
    uint32_t n;
    PyObject *rest; /* list of what is no tensor */
};

static int collect(struct found *f, PyObject *o);

static int collect_all(struct found *f, PyObject *o) {
    Py_ssize_t n = PySequence_Size(o);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PyTuple_Check(o) ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i);
        if (!v || collect(f, v)) return -1;
    }
    return 0;
}

static int collect_dict(struct found *f, PyObject *o) {
    PyObject *name, *v;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &name, &v))
        if (PyList_Append(f->rest, name) || collect(f, v)) return -1;
    return 0;
}

static int collect(struct found *f, PyObject *o) {
    if (py_is_tensor(o)) {
        if (f->n == INPUTS)
            return PyErr_Format(PyExc_ValueError, "ridge.jit: more than %d tensors", INPUTS), -1;
        f->t[f->n++] = py_of(o)->t;
        return 0;
    }
    bool nested = PyTuple_Check(o) || PyList_Check(o);
    if (!nested && !PyDict_Check(o)) return PyList_Append(f->rest, o);
    PyObject *size = PyLong_FromSsize_t(PyObject_Size(o)); /* (a, (b,)) and (a, b) differ */
    int bad = size ? PyList_Append(f->rest, size) : -1;
    Py_XDECREF(size);
    return bad ? bad : nested ? collect_all(f, o) : collect_dict(f, o);
}

/* A copy of o in which tensors are numbers (bound NULL: they are counted into out), or numbers are tensors again. */
struct swap {
    rg_tensor *out;
    uint32_t n;
    bool rebuild;
    const rg_tensor *from;
    uint32_t flags;
};
static PyObject *swapped(struct swap *s, PyObject *o);

static PyObject *swap_leaf(struct swap *s, PyObject *o) {
    if (s->rebuild) {
        if (Py_TYPE(o) != &PyCapsule_Type) return Py_NewRef(o);
        return py_wrap(s->from[s->n++], s->flags);
    }
    if (!py_is_tensor(o)) return Py_NewRef(o);
    if (s->n == OUTPUTS)
        return PyErr_Format(PyExc_ValueError, "ridge.jit: a result of more than %d tensors", OUTPUTS);
    s->out[s->n++] = py_of(o)->t;
    return PyCapsule_New(s, "ridge.tensor", NULL);
}

static PyObject *swapped(struct swap *s, PyObject *o) {
    bool tuple = PyTuple_Check(o), list = PyList_Check(o);
    if (PyDict_Check(o)) {
        PyObject *r = PyDict_New(), *name, *v;
        Py_ssize_t at = 0;
        while (r && PyDict_Next(o, &at, &name, &v)) {
            PyObject *w = swapped(s, v);
            if (!w || PyDict_SetItem(r, name, w)) Py_CLEAR(r);
            Py_XDECREF(w);
        }
        return r;
    }
    if (!tuple && !list) return swap_leaf(s, o);
    Py_ssize_t n = PySequence_Size(o);
    PyObject *r = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; r && i < n; i++) {
        PyObject *w = swapped(s, tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i));
        if (!w)
            Py_CLEAR(r);
        else if (tuple)
            PyTuple_SetItem(r, i, w);
        else
            PyList_SetItem(r, i, w);
    }
    return r;
}

/* Arguments with the jit's own handles instead of the caller's. */
struct renew {
    const rg_tensor *in;
    uint32_t n;
};
static PyObject *renewed(struct renew *s, PyObject *o) {
    bool tuple = PyTuple_Check(o), list = PyList_Check(o);
    if (py_is_tensor(o)) {
        struct py_object *w = (struct py_object *)py_wrap(s->in[s->n++], 0);
        return (PyObject *)w;
    }
    if (PyDict_Check(o)) {
        PyObject *r = PyDict_New(), *name, *v;
        Py_ssize_t at = 0;
        while (r && PyDict_Next(o, &at, &name, &v)) {
            PyObject *w = renewed(s, v);
            if (!w || PyDict_SetItem(r, name, w)) Py_CLEAR(r);
            Py_XDECREF(w);
        }
        return r;
    }
    if (!tuple && !list) return Py_NewRef(o);
    Py_ssize_t n = PySequence_Size(o);
    PyObject *r = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; r && i < n; i++) {
        PyObject *w = renewed(s, tuple ? PyTuple_GetItem(o, i) : PyList_GetItem(o, i));
        if (!w)
            Py_CLEAR(r);
        else if (tuple)
            PyTuple_SetItem(r, i, w);
        else
            PyList_SetItem(r, i, w);
    }
    return r;
}

/* ---- recordings ------------------------------------------------------------------------------------------------------- */

/* The function, called by the library without the GIL. */
static rg_status run_python(void *user, const rg_tensor *in, rg_tensor *out) {
    struct recording *r = user;
    PyGILState_STATE g = PyGILState_Ensure();
    struct renew renew = {in, 0};
    struct swap swap = {.out = out};
    PyObject *args = renewed(&renew, r->args), *kw = args && r->kw ? renewed(&renew, r->kw) : NULL;
    py_in_jit++;
    PyObject *result = args && (kw || !r->kw) ? PyObject_Call(r->fn, args, kw) : NULL;
    py_in_jit--;
    PyObject *shape = result ? swapped(&swap, result) : NULL;
    if (shape && r->result && swap.n != r->nout) {
        PyErr_Format(PyExc_ValueError, "ridge.jit: the function returned %u tensors, and %u before", swap.n,
                     r->nout);
        Py_CLEAR(shape);
    }
    if (shape) {
        Py_XDECREF(r->result);
        r->result = shape;
        r->nout = swap.n;
    }
    /* Handles of the result outlive their objects: the library takes them, and ends them with the function's scope. */
    rg_tensor kept[OUTPUTS];
    for (uint32_t i = 0; i < swap.n && shape; i++) {
        kept[i] = rg_detach_at(NULL, 0, out[i]);
        out[i] = kept[i];
    }
    Py_XDECREF(result);
    Py_XDECREF(args);
    Py_XDECREF(kw);
    bool failed = !shape;
    PyGILState_Release(g);
    return failed ? RG_EINVAL : RG_OK;
}

static bool same_shape(const struct signature *s, rg_tensor t) {
    int64_t d[RANK];
    if (rg_shape_of_at(NULL, 0, t, d, RANK) != s->rank || memcmp(d, s->d, (size_t)s->rank * sizeof *d))
        return false;
    return rg_dtype_of_at(NULL, 0, t) == s->dt;
}

static int matches(const struct recording *r, const struct found *f, const struct py_device *d) {
    if (r->nin != f->n || r->mode != py_jit_mode || r->d != d) return 0;
    for (uint32_t i = 0; i < f->n; i++)
        if (!same_shape(&r->in[i], f->t[i])) return 0;
    Py_ssize_t n = PyTuple_Size(r->key);
    if (n != PyList_Size(f->rest)) return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *a = PyTuple_GetItem(r->key, i), *b = PyList_GetItem(f->rest, i);
        int same = a == b ? 1 : Py_TYPE(a) == Py_TYPE(b) ? PyObject_RichCompareBool(a, b, Py_EQ) : 0;
        if (same <= 0) return same;
    }
    return 1;
}

static void free_recording(struct recording *r) {
    if (r->jit && r->d) rg_jit_free(r->jit);
    Py_XDECREF(r->key);
    Py_XDECREF(r->result);
    free(r->in);
    free(r);
}

static struct recording *add_recording(struct jit_object *j, struct py_call *k, const struct found *f) {
    struct recording *r = calloc(1, sizeof *r);
    if (r) r->in = calloc(f->n + 1, sizeof *r->in);
    if (!r || !r->in || !(r->key = PyList_AsTuple(f->rest))) {
        if (r) free(r->in);
        free(r);
        return (struct recording *)PyErr_NoMemory();
    }
    r->d = k->d, r->fn = j->fn, r->mode = py_jit_mode, r->nin = f->n;
    for (uint32_t i = 0; i < f->n; i++) {
        r->in[i].rank = rg_shape_of_at(k->file, k->line, f->t[i], r->in[i].d, RANK);
        r->in[i].dt = rg_dtype_of_at(k->file, k->line, f->t[i]);
    }
    r->jit = rg_jit_new_at(k->file, k->line, k->d->c, run_python, r, RG_AS_FILLED);
    if (!r->jit || rg_status_of(k->d->c)) {
        py_raise(k->d);
        free_recording(r);
        return NULL;
    }
    r->next = j->first;
    return j->first = r;
}

static struct recording *find_recording(struct jit_object *j, struct py_call *k, const struct found *f) {
    for (struct recording *r = j->first, **at = &j->first; r; at = &r->next, r = r->next) {
        int same = matches(r, f, k->d);
        if (same < 0) return NULL;
        if (!same) continue;
        *at = r->next, r->next = j->first; /* the latest is looked at first */
        return j->first = r;
    }
    return add_recording(j, k, f);
}

/* ---- a call ---------------------------------------------------------------------------------------------------------------- */

static PyObject *replay(struct py_call *k, struct recording *r, const struct found *f, PyObject *args,
                        PyObject *kw) {
    rg_tensor out[OUTPUTS];
    rg_status st;
    r->args = args, r->kw = kw;
    PY_WORK(k, st = rg_jit_call_at(k->file, k->line, r->jit, (rg_tensors){f->t, f->n}, out));
    r->args = r->kw = NULL;
    if (st) {
        if (!PyErr_Occurred())
            py_raise(k->d);
        else
            rg_clear_error(k->d->c);
        return NULL;
    }
    struct swap s = {.rebuild = true, .from = out, .flags = PY_REPLAYED};
    return swapped(&s, r->result);
}

static PyObject *call_jit(struct jit_object *j, struct py_call *k, PyObject *args, PyObject *kw) {
    struct found f;
    f.n = 0;
    if (!(f.rest = PyList_New(0))) return NULL;
    PyObject *r = NULL;
    if (!collect(&f, args) && (!kw || !collect(&f, kw))) {
        if (f.n) py_on(k, f.t[0]);
        if (py_device_of(k)) {
            py_lock(k);
            struct recording *rec = j->busy ? NULL : find_recording(j, k, &f);
            bool nested = j->busy;
            j->busy = true;
            if (rec) r = replay(k, rec, &f, args, kw);
            j->busy = nested;
            if (nested) r = PyObject_Call(j->fn, args, kw); /* recursion is part of what is recorded */
        }
    }
    Py_DECREF(f.rest);
    return r;
}

static PyObject *jit_call(PyObject *o, PyObject *args, PyObject *kw) {
    struct py_call k;
    py_begin(&k);
    PyObject *r = call_jit((struct jit_object *)o, &k, args, kw);
    py_finish(&k);
    return r;
}

/* ---- the object ------------------------------------------------------------------------------------------------------------- */

static void jit_dealloc(PyObject *o) {
    struct jit_object *j = (struct jit_object *)o;
    PyTypeObject *type = Py_TYPE(o);
    PyObject_GC_UnTrack(o);
    while (j->first) {
        struct recording *r = j->first;
        j->first = r->next;
        py_lock_device(r->d);
        struct py_device *d = r->d;
        free_recording(r);
        py_unlock_device(d);
    }
    Py_XDECREF(j->fn);
    PyObject_GC_Del(o);
    Py_DECREF(type);
}

static int jit_traverse(PyObject *o, visitproc visit, void *arg) {
    struct jit_object *j = (struct jit_object *)o;
    Py_VISIT(Py_TYPE(o));
    Py_VISIT(j->fn);
    for (struct recording *r = j->first; r; r = r->next) {
        Py_VISIT(r->key);
        Py_VISIT(r->result);
    }
    return 0;
}

static int jit_clear(PyObject *o) {
    struct jit_object *j = (struct jit_object *)o;
    Py_CLEAR(j->fn);
    for (struct recording *r = j->first; r; r = r->next) {
        Py_CLEAR(r->key);
        r->key = PyTuple_New(0);
        Py_CLEAR(r->result);
    }
    return 0;
}

static PyObject *jit_get(PyObject *o, PyObject *obj, PyObject *type) { /* a method of a class */
    (void)type;
    if (!obj || obj == Py_None) return Py_NewRef(o);
    PyObject *f = py_helper("bind");
    return f ? PyObject_CallFunctionObjArgs(f, o, obj, NULL) : NULL;
}

static PyObject *jit_wrapped(PyObject *o, void *p) {
    return (void)p, Py_NewRef(((struct jit_object *)o)->fn);
}

static PyObject *jit_info(PyObject *o, void *p) {
    (void)p;
    struct jit_object *j = (struct jit_object *)o;
    PyObject *l = PyList_New(0);
    for (struct recording *r = j->first; l && r; r = r->next) {
        rg_jit_stats s = {0};
        rg_jit_info(r->jit, &s);
        PyObject *d = Py_BuildValue("{sKsKsKsdsdsdsKsK}", "calls", s.calls, "replays", s.replays, "kernels",
                                    s.kernels, "bytes", s.bytes, "ops", s.ops, "least", s.least, "nodes",
                                    s.nodes, "allocations", s.allocations);
        if (!d || PyList_Append(l, d)) Py_CLEAR(l);
        Py_XDECREF(d);
    }
    return l;
}

static PyObject *jit_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    PyObject *fn;
    if (kw && PyDict_Size(kw)) return PyErr_Format(PyExc_TypeError, "jit() takes no keyword arguments");
    if (!PyArg_ParseTuple(args, "O:jit", &fn)) return NULL;
    if (!PyCallable_Check(fn)) return PyErr_Format(PyExc_TypeError, "ridge.jit: %R is no function", fn);
    struct jit_object *j = PyObject_GC_New(struct jit_object, type);
    if (!j) return NULL;
    j->fn = Py_NewRef(fn), j->first = NULL, j->busy = false;
    PyObject_GC_Track((PyObject *)j);
    return (PyObject *)j;
}

static PyObject *change_mode(PyObject *m, PyObject *v) {
    (void)m;
    uint64_t x = PyLong_AsUnsignedLongLongMask(v);
    if (PyErr_Occurred()) return NULL;
    py_jit_mode ^= x;
    Py_RETURN_NONE;
}

static PyGetSetDef jit_attributes[] = {
    {"__wrapped__", jit_wrapped, NULL, NULL, NULL},
    {"recordings", jit_info, NULL, "a dict of figures for each recording", NULL},
    {0}};
static PyType_Slot jit_slots[] = {{Py_tp_new, jit_new},           {Py_tp_dealloc, jit_dealloc},
                                  {Py_tp_call, jit_call},         {Py_tp_traverse, jit_traverse},
                                  {Py_tp_clear, jit_clear},       {Py_tp_descr_get, jit_get},
                                  {Py_tp_getset, jit_attributes}, {0, NULL}};
static PyType_Spec jit_spec = {"ridge.jit", sizeof(struct jit_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, jit_slots};

PyMethodDef py_jit_functions[] = {{"_change_mode", change_mode, METH_O, NULL}, {0}};

int py_add_jit(PyObject *m) {
    PyObject *type = PyType_FromSpec(&jit_spec);
    if (!type) return -1;
    int bad = PyModule_AddObjectRef(m, "jit", type);
    Py_DECREF(type);
    return bad;
}
