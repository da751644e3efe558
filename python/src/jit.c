/* jit.c: ridge.jit: a function whose work is recorded at its second call and replayed from the third on.
 *
 * Arguments and results may be nested in tuples, lists and dicts. What is no tensor is part of the key by which a recording is
 * found again, like shapes and dtypes of tensors, the device, and which modules are training. So another shape, or another value of a
 * flag, makes another recording. A replay runs none of the function's Python.
 *
 * The next replay overwrites the results of the one before, so each thread has recordings of its own; those of threads that have
 * ended go to whoever needs such a one next.
 * Tests: python/tests/test_jit.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 256, OUTPUTS = 256, RANK = 32 };

struct signature {
    rg_dtype dt;
    int64_t rank, d[RANK];
};

struct owner {
    _Atomic int users; /* its thread, and recordings */
    _Atomic bool ended;
};

struct recording {
    struct recording *next;
    struct owner *owner;
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
    struct recorded { /* of each device, under its lock */
        struct recording *first;
        bool busy; /* inside a call */
    } on[PY_DEVICES];
};

static _Atomic uint64_t training; /* changes with the modules that are in training */

/* What decides the graph beside the arguments. */
static uint64_t mode_now(void) { return training ^ (py_thread.no_grad ? 0x9E3779B97F4A7C15 : 0); }

/* ---- tensors in nested objects -------------------------------------------------------------------------------------- */

struct found {
    PyObject *o[INPUTS];
    rg_tensor t[INPUTS];
    uint32_t n;
    PyObject *rest; /* list of what is no tensor */
};

static int collect(struct found *f, PyObject *o);

/* Lists and dicts may change in another thread: items are held, dicts are copied. */
static int collect_all(struct found *f, PyObject *o) {
    Py_ssize_t n = PySequence_Size(o);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PySequence_GetItem(o, i);
        int bad = v ? collect(f, v) : -1;
        Py_XDECREF(v);
        if (bad) return -1;
    }
    return 0;
}

static int collect_dict(struct found *f, PyObject *o) {
    PyObject *name, *v, *copy = PyDict_Copy(o);
    Py_ssize_t at = 0;
    int bad = copy ? 0 : -1;
    while (!bad && PyDict_Next(copy, &at, &name, &v)) bad = PyList_Append(f->rest, name) ? -1 : collect(f, v);
    Py_XDECREF(copy);
    return bad;
}

static int collect(struct found *f, PyObject *o) {
    if (py_is_tensor(o)) {
        if (f->n == INPUTS)
            return PyErr_Format(PyExc_ValueError, "ridge.jit: more than %d tensors", INPUTS), -1;
        f->o[f->n++] = Py_NewRef(o);
        return 0;
    }
    bool nested = PyTuple_Check(o) || PyList_Check(o);
    if (!nested && !PyDict_Check(o)) return PyList_Append(f->rest, o);
    PyObject *size = PyLong_FromSsize_t(PyObject_Size(o)); /* (a, (b,)) and (a, b) differ */
    int bad = size ? PyList_Append(f->rest, size) : -1;
    Py_XDECREF(size);
    return bad ? bad : nested ? collect_all(f, o) : collect_dict(f, o);
}

static int read_handles(struct py_call *k, struct found *f) {
    for (uint32_t i = 0; i < f->n; i++)
        if (py_handle(k, f->o[i], &f->t[i])) return -1;
    return 0;
}

/* A copy of o in which tensors are numbers (bound NULL: they are counted into out), or numbers are tensors again. */
struct swap {
    rg_tensor *out;
    uint32_t n;
    bool rebuild;
    const rg_tensor *from;
    uint32_t flags;
};

/* A copy of tuples, lists and dicts with f of what is in them. */
typedef PyObject *item_fn(void *, PyObject *);
static PyObject *copy_nested(PyObject *o, item_fn *f, void *user) {
    if (PyDict_Check(o)) {
        PyObject *r = PyDict_Copy(o), *all = r ? PyDict_Copy(o) : NULL, *name, *v;
        Py_ssize_t at = 0;
        while (all && r && PyDict_Next(all, &at, &name, &v)) {
            PyObject *w = f(user, v);
            if (!w || PyDict_SetItem(r, name, w)) Py_CLEAR(r);
            Py_XDECREF(w);
        }
        if (!all) Py_CLEAR(r);
        Py_XDECREF(all);
        return r;
    }
    bool tuple = PyTuple_Check(o);
    Py_ssize_t n = PySequence_Size(o);
    PyObject *r = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; r && i < n; i++) {
        PyObject *v = PySequence_GetItem(o, i), *w = v ? f(user, v) : NULL;
        Py_XDECREF(v);
        if (!w)
            Py_CLEAR(r);
        else if (tuple)
            PyTuple_SetItem(r, i, w);
        else
            PyList_SetItem(r, i, w);
    }
    return r;
}
static bool is_nested(PyObject *o) { return PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o); }

static PyObject *swap_leaf(struct swap *s, PyObject *o) {
    if (s->rebuild) {
        if (Py_TYPE(o) != &PyCapsule_Type) return Py_NewRef(o);
        return py_wrap(s->from[s->n++], s->flags);
    }
    if (!py_is_tensor(o)) return Py_NewRef(o);
    if (s->n == OUTPUTS)
        return PyErr_Format(PyExc_ValueError, "ridge.jit: a result of more than %d tensors", OUTPUTS);
    s->out[s->n++] = py_of(o)->t; /* its device is locked: the jit's, or the library refuses it */
    return PyCapsule_New(s, "ridge.tensor", NULL);
}

static PyObject *swapped(void *s, PyObject *o) {
    return is_nested(o) ? copy_nested(o, swapped, s) : swap_leaf(s, o);
}

/* Arguments with the jit's own handles instead of the caller's. */
struct renew {
    const rg_tensor *in;
    uint32_t n, most;
};
static PyObject *renewed(void *user, PyObject *o) {
    struct renew *s = user;
    if (is_nested(o)) return copy_nested(o, renewed, s);
    if (!py_is_tensor(o)) return Py_NewRef(o);
    if (s->n < s->most) return py_wrap(s->in[s->n++], 0);
    return PyErr_Format(PyExc_RuntimeError, "ridge.jit: another thread changed the arguments of this call");
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

static pthread_key_t owner_key;
static int no_owner_key;

static void drop_owner(struct owner *o) {
    if (o && atomic_fetch_sub(&o->users, 1) == 1) free(o);
}
static void end_owner(void *o) {
    atomic_store(&((struct owner *)o)->ended, true);
    drop_owner(o);
}
static void make_owner_key(void) { no_owner_key = pthread_key_create(&owner_key, end_owner); }

/* This thread's; NULL: out of memory. */
static struct owner *owner_now(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local struct owner *mine;
    pthread_once(&once, make_owner_key);
    if (mine || no_owner_key) return mine;
    struct owner *o = calloc(1, sizeof *o);
    if (!o || pthread_setspecific(owner_key, o)) return free(o), NULL;
    atomic_store(&o->users, 1);
    return mine = o;
}

static void own(struct recording *r, struct owner *o) {
    if (r->owner == o) return;
    drop_owner(r->owner);
    atomic_fetch_add(&o->users, 1);
    r->owner = o;
}

/* ---- recordings ------------------------------------------------------------------------------------------------------- */

/* The function, called by the library without the GIL. */
static rg_status run_python(void *user, const rg_tensor *in, rg_tensor *out) {
    struct recording *r = user;
    PyGILState_STATE g = PyGILState_Ensure();
    struct renew renew = {in, 0, r->nin};
    struct swap swap = {.out = out};
    PyObject *args = renewed(&renew, r->args), *kw = args && r->kw ? renewed(&renew, r->kw) : NULL;
    py_thread.in_jit++;
    PyObject *result = args && (kw || !r->kw) ? PyObject_Call(r->fn, args, kw) : NULL;
    py_thread.in_jit--;
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

static int matches(const struct recording *r, const struct found *f) {
    if (r->nin != f->n || r->mode != mode_now()) return 0;
    if (r->owner != owner_now() && !atomic_load(&r->owner->ended)) return 0;
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
    drop_owner(r->owner);
    free(r->in);
    free(r);
}

static struct recording *add_recording(struct jit_object *j, struct py_call *k, const struct found *f) {
    struct recording *r = calloc(1, sizeof *r);
    if (r) r->in = calloc(f->n + 1, sizeof *r->in);
    if (!r || !r->in || !owner_now() || !(r->key = PyList_AsTuple(f->rest))) {
        if (r) free(r->in);
        free(r);
        return (struct recording *)PyErr_NoMemory();
    }
    own(r, owner_now());
    r->d = k->d, r->fn = j->fn, r->mode = mode_now(), r->nin = f->n;
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
    struct recorded *on = &j->on[k->d->at];
    r->next = on->first;
    return on->first = r;
}

static struct recording *find_recording(struct jit_object *j, struct py_call *k, const struct found *f) {
    struct recorded *on = &j->on[k->d->at];
    for (struct recording *r = on->first, **at = &on->first; r; at = &r->next, r = r->next) {
        int same = matches(r, f);
        if (same < 0) return NULL;
        if (!same) continue;
        own(r, owner_now());
        *at = r->next, r->next = on->first; /* the latest is looked at first */
        return on->first = r;
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
        if (f.n) py_on(k, f.o[0]);
        if (py_device_of(k) && !read_handles(k, &f)) {
            py_lock(k);
            bool *busy = &j->on[k->d->at].busy, nested = *busy;
            struct recording *rec = nested ? NULL : find_recording(j, k, &f);
            *busy = true;
            if (rec) r = replay(k, rec, &f, args, kw);
            *busy = nested;
            if (nested) r = PyObject_Call(j->fn, args, kw); /* recursion is part of what is recorded */
        }
    }
    for (uint32_t i = 0; i < f.n; i++) Py_DECREF(f.o[i]);
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
    for (int i = 0; i < PY_DEVICES; i++)
        for (struct recording *r = j->on[i].first, *next; r; r = next) {
            struct py_device *d = r->d;
            next = r->next;
            py_lock_device(d);
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
    for (int i = 0; i < PY_DEVICES; i++)
        for (struct recording *r = j->on[i].first; r; r = r->next) {
            Py_VISIT(r->key);
            Py_VISIT(r->result);
        }
    return 0;
}

static int jit_clear(PyObject *o) {
    struct jit_object *j = (struct jit_object *)o;
    Py_CLEAR(j->fn);
    for (int i = 0; i < PY_DEVICES; i++)
        for (struct recording *r = j->on[i].first; r; r = r->next) {
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

static int add_figures(const struct recording *r, PyObject *l) {
    int bad = 0;
    for (; !bad && r; r = r->next) {
        rg_jit_stats s = {0};
        rg_jit_info(r->jit, &s);
        PyObject *d = Py_BuildValue("{sKsKsKsdsdsdsKsK}", "calls", s.calls, "replays", s.replays, "kernels",
                                    s.kernels, "bytes", s.bytes, "ops", s.ops, "least", s.least, "nodes",
                                    s.nodes, "allocations", s.allocations);
        bad = d ? PyList_Append(l, d) : -1;
        Py_XDECREF(d);
    }
    return bad;
}

static PyObject *jit_info(PyObject *o, void *p) {
    (void)p;
    struct jit_object *j = (struct jit_object *)o;
    PyObject *l = PyList_New(0);
    int n;
    struct py_device *d = py_devices(&n);
    for (int i = 0; i < n && l; i++) {
        py_lock_device(&d[i]);
        if (add_figures(j->on[i].first, l)) Py_CLEAR(l);
        py_unlock_device(&d[i]);
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
    j->fn = Py_NewRef(fn);
    memset(j->on, 0, sizeof j->on);
    PyObject_GC_Track((PyObject *)j);
    return (PyObject *)j;
}

static PyObject *change_mode(PyObject *m, PyObject *v) {
    (void)m;
    uint64_t x = PyLong_AsUnsignedLongLongMask(v);
    if (PyErr_Occurred()) return NULL;
    training ^= x;
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
