/* data.c: data as tensors: numbers, nested lists, and whatever has a buffer (NumPy's arrays, bytes, memoryviews).
 * Tests: python/tests/test_tensor.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

/* ---- buffers ------------------------------------------------------------------------------------------------------- */

static const struct {
    char code;
    rg_dtype dt;
} formats[] = {{'?', RG_BOOL}, {'b', RG_I8},  {'h', RG_I16}, {'i', RG_I32}, {'l', RG_I64},
               {'q', RG_I64},  {'B', RG_U8},  {'H', RG_U16}, {'I', RG_U32}, {'L', RG_U64},
               {'Q', RG_U64},  {'e', RG_F16}, {'f', RG_F32}, {'d', RG_F64}};

int py_format(const char *f, Py_ssize_t size) {
    if (!f) return size == 1 ? RG_U8 : -1;
    bool standard = *f == '<' || *f == '='; /* then 'l' has 4 bytes */
    if (*f == '@' || *f == '=' || *f == '<') f++;
    if (!f[0] || f[1]) return -1;
    if (standard && (*f == 'l' || *f == 'L')) return *f == 'l' ? RG_I32 : RG_U32;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].code == *f)
            return (Py_ssize_t)rg_dtype_size(formats[i].dt) == size ? (int)formats[i].dt : -1;
    return -1;
}

const char *py_format_of(rg_dtype dt) {
    static const char *const f[RG_DTYPES] = {"?", "b", "h", "i",  "q", "B", "H",
                                             "I", "Q", "e", NULL, "f", "d"};
    return (unsigned)dt < RG_DTYPES ? f[dt] : NULL;
}

static rg_tensor take_buffer(struct py_call *k, Py_buffer *b) {
    int64_t d[PyBUF_MAX_NDIM];
    int dt = py_format(b->format, b->itemsize);
    void *copy = NULL;
    rg_tensor t = RG_NONE;
    if (dt < 0) {
        py_raise_at(k, RG_EUNSUPPORTED,
                    "elements of the format '%s' (%zd bytes) are none that ridge has; complex numbers, other "
                    "byte orders "
                    "and objects are not supported",
                    b->format ? b->format : "B", b->itemsize);
        return t;
    }
    for (int i = 0; i < b->ndim; i++) d[i] = b->shape[i];
    const void *data = b->buf;
    if (!PyBuffer_IsContiguous(b, 'C')) {
        data = copy = malloc((size_t)b->len + 1);
        if (!copy || PyBuffer_ToContiguous(copy, b, b->len, 'C')) {
            if (!PyErr_Occurred()) PyErr_NoMemory();
            free(copy);
            return t;
        }
    }
    if (b->len > 1 << 16)
        PY_WORK(k,
                t = rg_from_at(k->file, k->line, k->d->c, (rg_dtype)dt, data, (rg_ints){d, (size_t)b->ndim}));
    else
        py_lock(k),
            t = rg_from_at(k->file, k->line, k->d->c, (rg_dtype)dt, data, (rg_ints){d, (size_t)b->ndim});
    free(copy);
    return t;
}

/* ---- nested lists --------------------------------------------------------------------------------------------------- */

enum { LIST_AXES = 16 };
struct nested {
    int64_t d[LIST_AXES];
    int rank;
    rg_dtype dt;        /* BOOL, I64 or F32: the widest that was seen */
    bool negative, big; /* integers below 0, beyond int64: those make it uint64 */
    double *f;
    int64_t *i;
    size_t n, room;
};

/* An integer's bits: those of a uint64 if it is beyond int64. */
static int take_integer(PyObject *o, int64_t *v, bool *big) {
    if (!py_int(NULL, o, v)) return 0;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError) || !PyLong_Check(o)) return -1;
    PyErr_Clear();
    *v = (int64_t)PyLong_AsUnsignedLongLong(o);
    *big = true;
    return PyErr_Occurred() ? -1 : 0;
}

static bool is_list(PyObject *o) { return PyList_Check(o) || PyTuple_Check(o); }

static int add_number(struct nested *l, PyObject *o) {
    if (l->n == l->room) {
        size_t room = l->room ? l->room * 2 : 64;
        double *f = realloc(l->f, room * sizeof *f);
        if (f) l->f = f;
        int64_t *i = realloc(l->i, room * sizeof *i);
        if (i) l->i = i;
        if (!f || !i) return PyErr_NoMemory(), -1;
        l->room = room;
    }
    bool whole = PyLong_Check(o) || PyIndex_Check(o);
    rg_dtype dt = PyBool_Check(o) ? RG_BOOL : whole ? RG_I64 : RG_F32;
    if (dt > l->dt) l->dt = dt;
    l->f[l->n] = PyFloat_AsDouble(o);
    if (l->f[l->n] == -1 && PyErr_Occurred()) return -1;
    int64_t v = 0;
    bool big = false;
    if (whole && l->dt != RG_F32 && take_integer(o, &v, &big)) return -1;
    l->big |= big, l->negative |= v < 0 && !big;
    l->i[l->n++] = v;
    if (!l->big || !l->negative || l->dt == RG_F32) return 0;
    PyErr_SetString(PyExc_OverflowError, "ridge: no integer dtype has numbers below 0 and beyond int64");
    return -1;
}

static int walk(struct nested *l, PyObject *o, int depth) {
    if (!is_list(o)) {
        if (depth == l->rank) return add_number(l, o);
        PyErr_Format(PyExc_ValueError,
                     "ridge: a number at depth %d of nested lists; the others are at depth %d", depth,
                     l->rank);
        return -1;
    }
    Py_ssize_t n = PySequence_Size(o);
    if (depth >= l->rank || l->d[depth] != n) {
        PyErr_Format(PyExc_ValueError,
                     "ridge: nested lists of unequal length: axis %d has %zd here and %lld before", depth, n,
                     depth < l->rank ? (long long)l->d[depth] : 0);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PySequence_GetItem(o, i);
        int bad = v ? walk(l, v, depth + 1) : -1;
        Py_XDECREF(v);
        if (bad) return -1;
    }
    return 0;
}

/* Its first elements say how deep it is; an array or tensor inside means that lists are stacked. */
static int measure(struct nested *l, PyObject *o) {
    PyObject *at = Py_NewRef(o);
    int stacked = 0;
    while (is_list(at) && l->rank < LIST_AXES) {
        Py_ssize_t n = PySequence_Size(at);
        l->d[l->rank++] = n;
        PyObject *first = n ? PySequence_GetItem(at, 0) : NULL;
        if (!first) break;
        Py_DECREF(at);
        at = first;
    }
    stacked = !is_list(at) && (py_is_tensor(at) || PyObject_HasAttr(at, py_name[PY_ARRAY]) ||
                               PyObject_HasAttr(at, py_name[PY_DLPACK]));
    Py_DECREF(at);
    return stacked;
}

static rg_tensor take_list(struct py_call *k, PyObject *o, bool exact) {
    struct nested l = {.dt = RG_BOOL};
    rg_tensor t = RG_NONE;
    if (measure(&l, o)) { /* of tensors and arrays */
        PyObject *f = py_helper("stack_list"), *x = f ? PyObject_CallFunctionObjArgs(f, o, NULL) : NULL;
        if (!x) return t;
        t = py_of(x)->t;
        py_of(x)->t = RG_NONE;
        Py_DECREF(x);
        return t;
    }
    if (!walk(&l, o, 0)) {
        if (!l.n) l.dt = RG_F32;
        void *data = l.i;
        if (l.dt == RG_I64 && l.big) l.dt = RG_U64;
        if (l.dt == RG_F32 && exact) l.dt = RG_F64;
        if (l.dt == RG_F32)
            for (size_t i = 0; i < l.n; i++) ((float *)l.f)[i] = (float)l.f[i];
        if (l.dt == RG_F32 || l.dt == RG_F64) data = l.f;
        if (l.dt == RG_BOOL)
            for (size_t i = 0; i < l.n; i++) ((char *)data)[i] = l.i[i] != 0;
        py_lock(k);
        t = rg_from_at(k->file, k->line, k->d->c, l.dt, data ? data : "", (rg_ints){l.d, (size_t)l.rank});
    }
    free(l.f);
    free(l.i);
    return t;
}

/* ---- anything ------------------------------------------------------------------------------------------------------- */

/* Data, not a constant: another number compiles nothing again. While a jit is recorded it is a constant, as any number there. */
static rg_tensor take_number(struct py_call *k, PyObject *o, bool exact) {
    int64_t i = 0;
    double f = 0;
    float single;
    if (PyFloat_Check(o)) {
        if (py_double(k, o, &f)) return RG_NONE;
        single = (float)f;
        rg_dtype dt = exact ? RG_F64 : RG_F32;
        py_lock(k);
        return py_thread.in_jit
                   ? rg_number_at(k->file, k->line, k->d->c, dt, f)
                   : rg_from_at(k->file, k->line, k->d->c, dt, exact ? (void *)&f : &single, (rg_ints){0});
    }
    bool big = false;
    if (take_integer(o, &i, &big)) return RG_NONE;
    py_lock(k);
    if (big) return rg_from_at(k->file, k->line, k->d->c, RG_U64, &i, (rg_ints){0});
    if (py_thread.in_jit || PyBool_Check(o))
        return rg_integer_at(k->file, k->line, k->d->c, PyBool_Check(o) ? RG_BOOL : RG_I64, i);
    return rg_from_at(k->file, k->line, k->d->c, RG_I64, &i, (rg_ints){0});
}

static rg_tensor take_array(struct py_call *k, PyObject *o) {
    PyObject *a = PyObject_CallMethod(o, "__array__", NULL);
    Py_buffer b;
    rg_tensor t = RG_NONE;
    if (a && !PyObject_GetBuffer(a, &b, PyBUF_FULL_RO)) {
        t = take_buffer(k, &b);
        PyBuffer_Release(&b);
    }
    Py_XDECREF(a);
    return t;
}

/* exact: a dtype is asked for; numbers keep all their digits until then. */
static rg_tensor take_any(struct py_call *k, PyObject *o, bool exact) {
    Py_buffer b;
    rg_tensor t = RG_NONE;
    if (PyFloat_Check(o) || PyLong_Check(o)) return take_number(k, o, exact);
    if (is_list(o)) return take_list(k, o, exact);
    if (PyObject_CheckBuffer(o)) {
        if (PyObject_GetBuffer(o, &b, PyBUF_FULL_RO)) return t;
        t = take_buffer(k, &b);
        PyBuffer_Release(&b);
        return t;
    }
    if (PyObject_HasAttr(o, py_name[PY_DLPACK])) return py_from_dlpack(k, o);
    if (PyObject_HasAttr(o, py_name[PY_ARRAY])) return take_array(k, o);
    if (PyIndex_Check(o)) return take_number(k, o, exact);
    PyErr_Format(PyExc_TypeError, "ridge: %R is no tensor, number, list or array", (PyObject *)Py_TYPE(o));
    return t;
}

rg_tensor py_from(struct py_call *k, PyObject *o, const rg_dtype *dt) {
    if (!py_device_of(k)) return RG_NONE;
    rg_tensor t = take_any(k, o, dt && *dt >= RG_F16);
    if (!(uint32_t)t.id) {
        if (!PyErr_Occurred()) py_raise(k->d);
        return RG_NONE;
    }
    py_lock(k);
    if (!dt || rg_dtype_of_at(k->file, k->line, t) == *dt) return t;
    rg_tensor cast = rg_cast_at(k->file, k->line, t, *dt);
    rg_free(t);
    return cast;
}
