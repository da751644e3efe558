/* index.c: x[key] and x[key] = v. Integers, slices, None, ... and tuples of them are one slice and one reshape; a key with an
 * array or a mask is left to ridge/_index.py, which comes back here with the rest.
 * Tests: python/tests/test_index.py */
#include "py.h"

enum { AXES = 32 };

struct basic {
    int64_t d[AXES]; /* of x */
    int64_t rank;
    rg_range part[AXES];
    int64_t count[AXES];     /* elements of each part */
    int64_t axes;            /* of part */
    int64_t shape[2 * AXES]; /* of the result */
    int64_t n;
    bool reshaped; /* an axis was dropped or is new */
    bool sliced;
};

static int bad_index(PyObject *at, int64_t axis, int64_t size) {
    PyErr_Format(PyExc_IndexError, "index %R is out of bounds for axis %lld, which has size %lld", at,
                 (long long)axis, (long long)size);
    return -1;
}

static int too_many(const struct basic *b) {
    PyErr_Format(PyExc_IndexError, "too many indices: the tensor has %lld axes", (long long)b->rank);
    return -1;
}

static int add_int(struct basic *b, PyObject *o) {
    if (b->axes == b->rank) return too_many(b);
    int64_t size = b->d[b->axes], i = PyNumber_AsSsize_t(o, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return -1;
    if (i < -size || i >= size) return bad_index(o, b->axes, size);
    i += i < 0 ? size : 0;
    b->count[b->axes] = 1;
    b->part[b->axes++] = (rg_range){.start = i, .stop = i + 1};
    b->reshaped = b->sliced = true;
    return 0;
}

static int add_slice(struct basic *b, PyObject *o) {
    Py_ssize_t start, stop, step;
    if (b->axes == b->rank) return too_many(b);
    if (PySlice_Unpack(o, &start, &stop, &step)) return -1;
    int64_t size = b->d[b->axes], n = PySlice_AdjustIndices((Py_ssize_t)size, &start, &stop, step);
    b->sliced |= n != size || step != 1;
    if (!n) start = stop = 0, step = 1;
    b->count[b->axes] = n;
    b->part[b->axes++] =
        (rg_range){.start = start, .stop = step < 0 && stop < 0 ? RG_END : stop, .step = step};
    b->shape[b->n++] = n;
    return 0;
}

static void add_whole(struct basic *b, int64_t n) {
    for (; n > 0; n--) {
        b->shape[b->n++] = b->count[b->axes] = b->d[b->axes];
        b->part[b->axes++] = (rg_range){.stop = RG_END};
    }
}

static bool is_basic(PyObject *o) {
    return o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}

/* 1: an array or mask is in it. */
static int all_basic(PyObject *key) {
    if (!PyTuple_Check(key)) return is_basic(key);
    for (Py_ssize_t i = 0; i < PyTuple_Size(key); i++)
        if (!is_basic(PyTuple_GetItem(key, i))) return 0;
    return 1;
}

static int add_key(struct basic *b, PyObject *o, int64_t *rest) {
    if (o == Py_None) {
        b->shape[b->n++] = 1;
        b->reshaped = true;
        return b->n < AXES ? 0 : too_many(b);
    }
    if (o != Py_Ellipsis) return PySlice_Check(o) ? add_slice(b, o) : add_int(b, o);
    if (*rest < 0) {
        PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis (...)");
        return -1;
    }
    add_whole(b, *rest);
    *rest = -1;
    return 0;
}

static int read_key(struct basic *b, PyObject *key) {
    bool tuple = PyTuple_Check(key);
    Py_ssize_t n = tuple ? PyTuple_Size(key) : 1;
    int64_t rest = b->rank;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = tuple ? PyTuple_GetItem(key, i) : key;
        rest -= o != Py_None && o != Py_Ellipsis;
    }
    if (rest < 0) return too_many(b);
    for (Py_ssize_t i = 0; i < n; i++)
        if (add_key(b, tuple ? PyTuple_GetItem(key, i) : key, &rest)) return -1;
    if (rest > 0) add_whole(b, b->rank - b->axes);
    return 0;
}

static int begin(struct py_call *k, struct basic *b, PyObject *x) {
    py_begin(k);
    py_on(k, x);
    py_lock(k);
    b->axes = b->n = 0;
    b->reshaped = b->sliced = false;
    b->rank = rg_shape_of_at(k->file, k->line, py_of(x)->t, b->d, AXES);
    if (b->rank >= 0) return 0;
    py_raise(k->d);
    return -1;
}

PyObject *py_getitem(PyObject *x, PyObject *key) {
    struct py_call k;
    struct basic b;
    if (!all_basic(key)) {
        PyObject *f = py_helper("getitem");
        return f ? PyObject_CallFunctionObjArgs(f, x, key, NULL) : NULL;
    }
    PyObject *r = NULL;
    if (!begin(&k, &b, x) && !read_key(&b, key)) {
        rg_tensor t = py_of(x)->t, s = t;
        if (b.sliced) s = rg_slice_at(k.file, k.line, t, (rg_ranges){b.part, (size_t)b.axes});
        if (b.sliced && !(uint32_t)s.id)
            py_raise(k.d);
        else if (b.reshaped || !b.sliced)
            r = py_made(&k, rg_reshape_at(k.file, k.line, s, (rg_ints){b.shape, (size_t)b.n}), 0);
        else
            r = py_wrap(s, 0), s = t;
        if (s.id != t.id) rg_free(s);
    }
    py_finish(&k);
    return r;
}

/* v broadcasts to the part without the axes that integers drop and with those that None adds; the library's part has all
 * axes of x and no others. */
static int fit_value(struct py_call *k, const struct basic *b, rg_tensor *v) {
    int64_t d[AXES], rank = rg_shape_of_at(k->file, k->line, *v, d, AXES), skip = 0;
    if (rank < 0) return py_raise(k->d), -1;
    while (rank - skip > b->n && d[skip] == 1) skip++; /* more axes than the part has, of size 1 */
    *v = rg_reshape_at(k->file, k->line, *v, (rg_ints){d + skip, (size_t)(rank - skip)});
    if (py_temp(k, *v)) return -1;
    *v = rg_expand_at(k->file, k->line, *v, (rg_ints){b->shape, (size_t)b->n});
    if (py_temp(k, *v)) return -1;
    *v = rg_reshape_at(k->file, k->line, *v, (rg_ints){b->count, (size_t)b->axes});
    return py_temp(k, *v);
}

int py_setitem(PyObject *x, PyObject *key, PyObject *v) {
    struct py_call k;
    struct basic b;
    rg_operand to;
    if (!v) return PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted"), -1;
    if (!all_basic(key)) {
        PyObject *f = py_helper("setitem"), *r = f ? PyObject_CallFunctionObjArgs(f, x, key, v, NULL) : NULL;
        Py_XDECREF(r);
        return r ? 0 : -1;
    }
    int bad = begin(&k, &b, x) || read_key(&b, key) || py_operand(&k, v, &to);
    if (!bad && to.kind == 0) bad = fit_value(&k, &b, &to.t);
    py_lock(&k);
    if (!bad) bad = py_own_memory(&k, x);
    if (!bad && rg_assign_slice_at(k.file, k.line, py_of(x)->t, to, (rg_ranges){b.part, (size_t)b.axes})) {
        py_raise(k.d);
        bad = -1;
    }
    py_finish(&k);
    return bad ? -1 : 0;
}
