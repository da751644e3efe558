/* share.c: memory that Python and Ridge both see: the buffer protocol and DLPack, out and in.
 *
 * Out: rg_expose gives the address of a tensor's value and a handle that holds it. Nothing is written there as long as the handle
 * lives, so arrays made of it are read-only, as JAX's are. What a device cannot show (a GPU's memory as a buffer, a dtype that Python
 * has no name for) is copied, or refused with words.
 * In: rg_borrow makes a tensor of memory of others, which is released when the last tensor that needs it is gone.
 * Streams: both sides wait. Our device has finished before an address is given out and before borrowed memory is given back; a
 * producer's work is waited for before we take its memory (ridge/_helpers.py).
 * Tests: python/tests/test_share.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

enum { AXES = 32 };

/* ---- the structures of DLPack 0.8 and 1.0 -------------------------------------------------------------- */

enum {
    DL_CPU = 1,
    DL_CUDA = 2,
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_BOOL = 6,
    DL_E4M3 = 10,
    DL_E5M2 = 12
};
struct dl_device {
    int32_t type, id;
};
struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_dtype dtype;
    int64_t *shape, *strides; /* strides in elements; NULL: row-major */
    uint64_t byte_offset;
};
struct dl_managed { /* capsule "dltensor" */
    struct dl_tensor t;
    void *cx;
    void (*free_fn)(struct dl_managed *);
};
struct dl_versioned { /* capsule "dltensor_versioned" */
    uint32_t major, minor;
    void *cx;
    void (*free_fn)(struct dl_versioned *);
    uint64_t flags; /* 1: read-only, 2: a copy was made */
    struct dl_tensor t;
};

static const struct dl_dtype dl_types[RG_DTYPES] = {
    {DL_BOOL, 8, 1},    {DL_INT, 8, 1},    {DL_INT, 16, 1},   {DL_INT, 32, 1},  {DL_INT, 64, 1},
    {DL_UINT, 8, 1},    {DL_UINT, 16, 1},  {DL_UINT, 32, 1},  {DL_UINT, 64, 1}, {DL_FLOAT, 16, 1},
    {DL_BFLOAT, 16, 1}, {DL_FLOAT, 32, 1}, {DL_FLOAT, 64, 1}, {DL_E4M3, 8, 1},  {DL_E5M2, 8, 1}};

static int dl_find(struct dl_dtype d) {
    for (int i = 0; i < RG_DTYPES; i++)
        if (!memcmp(&dl_types[i], &d, sizeof d)) return i;
    return -1;
}

static bool on_host(const struct py_device *d) {
    return strncmp(d->name, "CUDA", 4) && strncmp(d->name, "OPENCL", 6);
}
static int unit_of(const struct py_device *d) {
    const char *colon = strchr(d->name, ':');
    return colon ? atoi(colon + 1) : 0;
}

/* ---- a value with its address ------------------------------------------------------------------------------------------- */

struct shown {
    rg_tensor t; /* holds the memory */
    const void *data;
    rg_dtype dt;
    int64_t d[AXES], rank;
};

static int show(struct py_call *k, PyObject *x, struct shown *s) {
    rg_tensor t;
    if (py_handle(k, x, &t)) return -1;
    PY_WORK(k, s->t = rg_expose_at(k->file, k->line, t, &s->data));
    if (!(uint32_t)s->t.id) return py_raise(k->d), -1;
    s->dt = rg_dtype_of_at(k->file, k->line, t);
    s->rank = rg_shape_of_at(k->file, k->line, t, s->d, AXES);
    return 0;
}

/* ---- the buffer protocol ---------------------------------------------------------------------------------------------- */

struct exported {
    Py_ssize_t shape[AXES], strides[AXES];
    void *copy;
    rg_tensor t;
};

static int export_copy(struct py_call *k, PyObject *x, struct exported *e, struct shown *s) {
    rg_tensor t;
    if (py_handle(k, x, &t)) return -1;
    s->dt = rg_dtype_of_at(k->file, k->line, t);
    s->rank = rg_shape_of_at(k->file, k->line, t, s->d, AXES);
    int64_t bytes = rg_bytes_at(k->file, k->line, t);
    if (bytes < 0) return py_raise(k->d), -1;
    if (!(e->copy = malloc((size_t)bytes + 1))) return PyErr_NoMemory(), -1;
    rg_status st;
    PY_WORK(k, st = rg_read_at(k->file, k->line, t, e->copy, (size_t)bytes));
    if (st) return py_raise(k->d), -1;
    s->data = e->copy;
    return 0;
}

static void fill(Py_buffer *b, PyObject *x, struct exported *e, const struct shown *s, int flags) {
    Py_ssize_t size = (Py_ssize_t)rg_dtype_size(s->dt), n = 1;
    for (int64_t i = s->rank - 1; i >= 0; i--) {
        e->shape[i] = (Py_ssize_t)s->d[i];
        e->strides[i] = n * size;
        n *= e->shape[i];
    }
    *b = (Py_buffer){.buf = (void *)s->data,
                     .obj = Py_NewRef(x),
                     .len = n * size,
                     .itemsize = size,
                     .readonly = 1,
                     .ndim = (int)s->rank,
                     .format = flags & PyBUF_FORMAT ? (char *)py_format_of(s->dt) : NULL,
                     .shape = flags & PyBUF_ND ? e->shape : NULL,
                     .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->strides : NULL,
                     .internal = e};
}

int py_getbuffer(PyObject *x, Py_buffer *b, int flags) {
    struct py_call k;
    struct shown s = {0};
    struct exported *e = calloc(1, sizeof *e);
    b->obj = NULL;
    if (!e) return PyErr_NoMemory(), -1;
    py_begin(&k);
    py_on(&k, x);
    int bad = 0;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "a tensor is read-only memory; take a copy: numpy.array(x)");
        bad = -1;
    } else if (on_host(k.d))
        bad = show(&k, x, &s);
    else
        bad = export_copy(&k, x, e, &s);
    if (!bad && !py_format_of(s.dt)) {
        PyErr_Format(PyExc_BufferError, "Python has no format for %s; cast it to float32 first",
                     rg_dtype_name(s.dt));
        bad = -1;
    }
    e->t = s.t;
    if (!bad)
        fill(b, x, e, &s, flags);
    else {
        rg_free(s.t);
        free(e->copy);
        free(e);
    }
    py_finish(&k);
    return bad;
}

void py_releasebuffer(PyObject *x, Py_buffer *b) {
    (void)x;
    struct exported *e = b->internal;
    if (!e) return;
    rg_free(e->t);
    free(e->copy);
    free(e);
}

/* ---- DLPack, out --------------------------------------------------------------------------------------------------------- */

struct dl_export {
    union {
        struct dl_managed old;
        struct dl_versioned now;
    } m;
    rg_tensor t;
    int64_t shape[AXES], strides[AXES];
};

static void free_old(struct dl_managed *m) {
    struct dl_export *e = m->cx;
    rg_free(e->t);
    free(e);
}
static void free_now(struct dl_versioned *m) {
    struct dl_export *e = m->cx;
    rg_free(e->t);
    free(e);
}
static void drop_old(PyObject *c) {
    struct dl_managed *m = PyCapsule_IsValid(c, "dltensor") ? PyCapsule_GetPointer(c, "dltensor") : NULL;
    if (m) m->free_fn(m);
}
static void drop_now(PyObject *c) {
    struct dl_versioned *m =
        PyCapsule_IsValid(c, "dltensor_versioned") ? PyCapsule_GetPointer(c, "dltensor_versioned") : NULL;
    if (m) m->free_fn(m);
}

static PyObject *make_capsule(const struct py_device *d, const struct shown *s, bool versioned) {
    struct dl_export *e = calloc(1, sizeof *e);
    if (!e) return PyErr_NoMemory();
    e->t = s->t;
    int64_t n = 1;
    for (int64_t i = s->rank - 1; i >= 0; i--) e->shape[i] = s->d[i], e->strides[i] = n, n *= s->d[i];
    struct dl_tensor t = {.data = (void *)s->data,
                          .device = {on_host(d) ? DL_CPU : DL_CUDA, on_host(d) ? 0 : unit_of(d)},
                          .ndim = (int32_t)s->rank,
                          .dtype = dl_types[s->dt],
                          .shape = e->shape,
                          .strides = e->strides};
    if (versioned) {
        e->m.now = (struct dl_versioned){.major = 1, .cx = e, .free_fn = free_now, .flags = 1, .t = t};
        return PyCapsule_New(&e->m.now, "dltensor_versioned", drop_now);
    }
    e->m.old = (struct dl_managed){.t = t, .cx = e, .free_fn = free_old};
    return PyCapsule_New(&e->m.old, "dltensor", drop_old);
}

/* __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) */
static PyObject *do_dlpack(struct py_call *k, PyObject *const *v) {
    struct shown s = {0};
    bool versioned = false;
    py_on(k, v[0]);
    if (PY_GIVEN(v[2])) {
        PyObject *major = PySequence_GetItem(v[2], 0);
        versioned = major && PyLong_AsLong(major) >= 1;
        Py_XDECREF(major);
        if (PyErr_Occurred()) return NULL;
    }
    if (!strncmp(k->d->name, "OPENCL", 6))
        return PyErr_Format(PyExc_BufferError,
                            "OpenCL memory has no address that others can use; move the tensor to CPU");
    /* What is handed out is finished: rg_expose waits for the device, so any stream of the consumer may read at once. */
    if (show(k, v[0], &s)) return NULL;
    return make_capsule(k->d, &s, versioned);
}
static const char *const names_dlpack[] = {"self", "stream", "max_version", "dl_device", "copy"};
static const struct py_signature sig_dlpack = {"__dlpack__", names_dlpack, 5, 1, 0};
PyObject *py_dlpack(PyObject *self, PyObject *const *arg, Py_ssize_t n, PyObject *kw) {
    return py_invoke(&sig_dlpack, do_dlpack, self, arg, n, kw);
}

PyObject *py_dlpack_device(PyObject *x, PyObject *none) {
    (void)none;
    const struct py_device *d = py_device_at(x);
    return Py_BuildValue("ii", on_host(d) ? DL_CPU : DL_CUDA, on_host(d) ? 0 : unit_of(d));
}

/* ---- in ------------------------------------------------------------------------------------------------------------------ */

struct borrowed {
    struct dl_managed *old;
    struct dl_versioned *now;
    Py_buffer *buffer;
};

static void give_back(void *user) {
    struct borrowed *b = user;
    if (b->old && b->old->free_fn) b->old->free_fn(b->old);
    if (b->now && b->now->free_fn) b->now->free_fn(b->now);
    if (b->buffer) PyBuffer_Release(b->buffer), free(b->buffer);
    free(b);
}
static void release(void *user) {
    py_later(give_back, user);
} /* the library is at work: Python's code waits */

static bool row_major(const struct dl_tensor *t) {
    int64_t n = 1;
    for (int32_t i = t->ndim - 1; i >= 0 && t->strides; i--) {
        if (t->shape[i] != 1 && t->strides[i] != n) return false;
        n *= t->shape[i];
    }
    return true;
}

static void refuse_type(struct py_call *k, struct dl_dtype d) {
    static const char *const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    const char *kind = d.code < sizeof kinds / sizeof *kinds ? kinds[d.code] : "type ";
    if (d.code == 5)
        py_raise_at(
            k, RG_EUNSUPPORTED,
            "DLPack: elements of complex%d; ridge keeps the parts of complex numbers apart: pass x.real and "
            "x.imag one by one, or copy: ridge.array_api.asarray(x)",
            d.bits);
    else
        py_raise_at(
            k, RG_EUNSUPPORTED,
            "DLPack: elements of %s%d with %d bits%s; ridge has none of them: convert the array first", kind,
            d.code < sizeof kinds / sizeof *kinds ? d.bits : d.code, d.bits * d.lanes,
            d.lanes > 1 ? " (vectors)" : "");
}

static int accept(struct py_call *k, const struct dl_tensor *t) {
    int dt = dl_find(t->dtype);
    bool empty = false;
    for (int32_t i = 0; i < t->ndim; i++) empty |= t->shape[i] == 0;
    if (dt < 0)
        refuse_type(k, t->dtype);
    else if (t->device.type != DL_CPU && t->device.type != DL_CUDA)
        py_raise_at(k, RG_EUNSUPPORTED,
                    "DLPack: device type %d; ridge takes memory of the CPU (1) and of CUDA (2)",
                    t->device.type);
    else if (!row_major(t) && !empty)
        py_raise_at(
            k, RG_EUNSUPPORTED,
            "DLPack: the strides are not row-major; pass a contiguous array, or copy it: ridge.tensor(x)");
    else if (((uintptr_t)t->data + t->byte_offset) % rg_dtype_size((rg_dtype)dt))
        py_raise_at(k, RG_EUNSUPPORTED, "DLPack: the data is not aligned to its elements");
    else
        return dt;
    return -1;
}

static rg_tensor borrow_dlpack(struct py_call *k, const struct dl_tensor *t, struct borrowed *b) {
    int dt = accept(k, t);
    rg_tensor out = RG_NONE;
    if (dt < 0) return out;
    char name[16] = "CPU";
    if (t->device.type == DL_CUDA)
        PyOS_snprintf(name, sizeof name, t->device.id ? "CUDA:%d" : "CUDA", t->device.id);
    bool other = k->d && on_host(k->d) != (t->device.type == DL_CPU);
    if (other && k->locked) { /* an operand is there already */
        py_raise_at(k, RG_EINVAL, "tensors of two devices, %s and %s; move one: x.to(\"%s\")", k->d->name,
                    name, k->d->name);
        return out;
    }
    if (!k->d || other) {
        struct py_device *d = t->device.type == DL_CPU ? py_open(NULL) : NULL;
        k->d = d && on_host(d) ? d : py_open(name);
    }
    if (!k->d) return out;
    py_lock(k);
    return rg_borrow_at(k->file, k->line, k->d->c, (rg_dtype)dt, (char *)t->data + t->byte_offset,
                        (rg_ints){t->shape, (size_t)t->ndim}, release, b);
}

static PyObject *ask_capsule(PyObject *o) {
    PyObject *f = py_helper("dlpack_of"); /* with our stream, and in version 1 if the producer knows it */
    return f ? PyObject_CallFunctionObjArgs(f, o, NULL) : NULL;
}

rg_tensor py_from_dlpack(struct py_call *k, PyObject *o) {
    PyObject *c = ask_capsule(o);
    struct borrowed *b = c ? calloc(1, sizeof *b) : NULL;
    rg_tensor t = RG_NONE;
    if (!b) {
        Py_XDECREF(c);
        return t;
    }
    if (PyCapsule_IsValid(c, "dltensor_versioned"))
        b->now = PyCapsule_GetPointer(c, "dltensor_versioned");
    else
        b->old = PyCapsule_GetPointer(c, "dltensor");
    if (b->old || b->now) t = borrow_dlpack(k, b->now ? &b->now->t : &b->old->t, b);
    if ((uint32_t)t.id)
        PyCapsule_SetName(c, b->now ? "used_dltensor_versioned" : "used_dltensor");
    else if (!PyErr_Occurred() && k->d)
        py_raise(k->d);
    if (!(uint32_t)t.id) free(b); /* the capsule frees the rest */
    Py_DECREF(c);
    return t;
}

/* from_numpy: the array's own memory, if it is row-major and of a dtype that ridge has. */
static rg_tensor borrow_buffer(struct py_call *k, PyObject *o) {
    struct borrowed *b = calloc(1, sizeof *b);
    Py_buffer *v = calloc(1, sizeof *v);
    rg_tensor t = RG_NONE;
    int64_t d[AXES];
    if (b && v && !PyObject_GetBuffer(o, v, PyBUF_FULL_RO)) {
        int dt = py_format(v->format, v->itemsize);
        bool fits = dt >= 0 && v->ndim <= AXES && PyBuffer_IsContiguous(v, 'C') &&
                    (uintptr_t)v->buf % (size_t)v->itemsize == 0;
        b->buffer = v;
        for (int i = 0; i < v->ndim && fits; i++) d[i] = v->shape[i];
        py_lock(k);
        if (fits && on_host(k->d))
            t = rg_borrow_at(k->file, k->line, k->d->c, (rg_dtype)dt, v->buf, (rg_ints){d, (size_t)v->ndim},
                             release, b);
        if ((uint32_t)t.id) return t;
        PyBuffer_Release(v);
        if (!rg_status_of(k->d->c)) t = py_from(k, o, NULL); /* a copy */
    }
    free(b);
    free(v);
    return t;
}

static PyObject *do_from_numpy(struct py_call *k, PyObject *const *v) {
    rg_ctx *c;
    if (py_device(k, v[1], &c)) return NULL;
    rg_tensor t = borrow_buffer(k, v[0]);
    return PyErr_Occurred() ? NULL : py_made(k, t, PY_LEAF);
}
static const char *const names_from_numpy[] = {"x", "device"};
static const struct py_signature sig_from_numpy = {"from_numpy", names_from_numpy, 2, 1, 0};
PY_FUNCTION(from_numpy)

static PyObject *do_from_dlpack(struct py_call *k, PyObject *const *v) {
    rg_tensor t = py_from_dlpack(k, v[0]);
    return PyErr_Occurred() ? NULL : py_made(k, t, PY_LEAF);
}
static const char *const names_from_dlpack[] = {"x"};
static const struct py_signature sig_from_dlpack = {"from_dlpack", names_from_dlpack, 1, 1, 0};
PY_FUNCTION(from_dlpack)

/* The address of the value, for tests and for other libraries. */
static PyObject *data_ptr(PyObject *m, PyObject *x) {
    (void)m;
    struct py_call k;
    struct shown s = {0};
    PyObject *r = NULL;
    py_begin(&k);
    if (!py_is_tensor(x))
        PyErr_SetString(PyExc_TypeError, "a tensor is needed");
    else if (!show(&k, x, &s))
        r = PyLong_FromVoidPtr((void *)s.data);
    rg_free(s.t);
    py_finish(&k);
    return r;
}

PyMethodDef py_share_functions[] = {
    {"from_numpy", (PyCFunction)(void *)fn_from_numpy, METH_FASTCALL | METH_KEYWORDS,
     "from_numpy(x, device=None)\n--\n\nA tensor of the array's own memory: no copy if it is row-major. Do "
     "not write to it afterwards."},
    {"_from_dlpack", (PyCFunction)(void *)fn_from_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_data_ptr", data_ptr, METH_O, NULL},
    {0}};
