/* convert.c: Python objects as what the library takes: operands, lists, numbers, dtypes, devices.
 * Tests: python/tests/test_calls.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

/* ---- dtypes ---------------------------------------------------------------------------------------------------- */

struct dtype_object {
    PyObject_HEAD rg_dtype dt;
};
PyTypeObject *py_dtype_type;
static PyObject *dtype_objects[RG_DTYPES];
static const char *const dtype_names[RG_DTYPES] = {
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",       "uint16",     "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2"};

PyObject *py_dtype_object(rg_dtype dt) {
    if ((unsigned)dt >= RG_DTYPES) return PyErr_Format(PyExc_ValueError, "ridge: no such dtype");
    return Py_NewRef(dtype_objects[dt]);
}

static rg_dtype code_of(PyObject *o) { return ((struct dtype_object *)o)->dt; }
static PyObject *dtype_repr(PyObject *o) { return PyUnicode_FromFormat("ridge.%s", dtype_names[code_of(o)]); }
static PyObject *dtype_name(PyObject *o, void *p) {
    return (void)p, PyUnicode_FromString(dtype_names[code_of(o)]);
}
static PyObject *dtype_size(PyObject *o, void *p) {
    return (void)p, PyLong_FromSize_t(rg_dtype_size(code_of(o)));
}
static PyObject *dtype_code(PyObject *o, void *p) { return (void)p, PyLong_FromLong(code_of(o)); }
static PyObject *dtype_reduce(PyObject *o, PyObject *none) {
    (void)none;
    PyObject *f = py_helper("dtype");
    return f ? Py_BuildValue("O(s)", f, dtype_names[code_of(o)]) : NULL;
}
static Py_hash_t dtype_hash(PyObject *o) { return 7919 + (Py_hash_t)code_of(o); }
static PyObject *dtype_compare(PyObject *a, PyObject *b, int op) {
    if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    if (Py_TYPE(b) != py_dtype_type) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((a == b) == (op == Py_EQ));
}

static PyGetSetDef dtype_attrs[] = {{"name", dtype_name, NULL, "NumPy's name", NULL},
                                    {"itemsize", dtype_size, NULL, "bytes of an element", NULL},
                                    {"code", dtype_code, NULL, "rg_dtype", NULL},
                                    {0}};
static PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, NULL}, {0}};
static PyType_Slot dtype_slots[] = {{Py_tp_repr, dtype_repr},           {Py_tp_hash, dtype_hash},
                                    {Py_tp_getset, dtype_attrs},        {Py_tp_methods, dtype_methods},
                                    {Py_tp_richcompare, dtype_compare}, {0, NULL}};
static PyType_Spec dtype_spec = {"ridge.DType", sizeof(struct dtype_object), 0, Py_TPFLAGS_DEFAULT,
                                 dtype_slots};

int py_add_dtypes(PyObject *m) {
    py_dtype_type = (PyTypeObject *)PyType_FromSpec(&dtype_spec);
    if (!py_dtype_type || PyModule_AddObjectRef(m, "DType", (PyObject *)py_dtype_type)) return -1;
    for (int i = 0; i < RG_DTYPES; i++) {
        struct dtype_object *o = PyObject_New(struct dtype_object, py_dtype_type);
        if (!o) return -1;
        o->dt = (rg_dtype)i;
        dtype_objects[i] = (PyObject *)o;
        if (PyModule_AddObjectRef(m, i ? dtype_names[i] : "bool_", (PyObject *)o)) return -1;
    }
    return 0;
}

int py_dtype(struct py_call *k, PyObject *o, rg_dtype *out) {
    (void)k;
    if (Py_TYPE(o) == py_dtype_type) return *out = code_of(o), 0;
    PyObject *f = py_helper("dtype"); /* names, NumPy's and PyTorch's dtypes, float, int, bool */
    PyObject *d = f ? PyObject_CallFunctionObjArgs(f, o, NULL) : NULL;
    if (!d) return -1;
    *out = code_of(d);
    Py_DECREF(d);
    return 0;
}

/* ---- numbers and text ---------------------------------------------------------------------------------------------- */

int py_double(struct py_call *k, PyObject *o, double *out) {
    (void)k;
    *out = PyFloat_AsDouble(o);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int py_int(struct py_call *k, PyObject *o, int64_t *out) {
    (void)k;
    PyObject *i = PyNumber_Index(o);
    *out = i ? PyLong_AsLongLong(i) : -1;
    Py_XDECREF(i);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int py_uint(struct py_call *k, PyObject *o, uint32_t *out) {
    int64_t v;
    if (py_int(k, o, &v)) return -1;
    *out = (uint32_t)v;
    return 0;
}

int py_seed(struct py_call *k, PyObject *o, uint64_t *out) {
    (void)k;
    *out = PyLong_AsUnsignedLongLongMask(o);
    return PyErr_Occurred() ? -1 : 0;
}

int py_bool(struct py_call *k, PyObject *o, bool *out) {
    (void)k;
    int v = PyObject_IsTrue(o);
    *out = v > 0;
    return v < 0 ? -1 : 0;
}

/* A string, or a path as os.PathLike. */
int py_text(struct py_call *k, PyObject *o, const char **out) {
    PyObject *path = PyOS_FSPath(o);
    if (!path) return -1;
    Py_XDECREF(k->held);
    k->held = path;
    *out = PyUnicode_Check(path) ? PyUnicode_AsUTF8AndSize(path, NULL) : PyBytes_AsString(path);
    return *out ? 0 : -1;
}

int py_enum(PyObject *o, const char *const *names, int *out) {
    if (PyUnicode_Check(o) && !PyUnicode_CompareWithASCIIString(o, "none")) /* a loss of each element */
        for (int i = 0; names[i]; i++)
            if (!strcmp(names[i], "each")) return *out = i, 0;
    for (int i = 0; PyUnicode_Check(o) && names[i]; i++)
        if (!PyUnicode_CompareWithASCIIString(o, names[i])) return *out = i, 0;
    PyObject *known = PyUnicode_FromString(names[0]);
    for (int i = 1; known && names[i]; i++) {
        PyObject *more = PyUnicode_FromFormat("%U, %s", known, names[i]);
        Py_DECREF(known);
        known = more;
    }
    if (known) PyErr_Format(PyExc_ValueError, "expected one of %U; found %R", known, o);
    Py_XDECREF(known);
    return -1;
}

int py_device(struct py_call *k, PyObject *o, rg_ctx **out) {
    const char *name = NULL;
    PyObject *text = PY_GIVEN(o) ? PyObject_Str(o) : NULL;
    if (PY_GIVEN(o) && !(name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL)) return -1;
    k->d = py_open(name);
    Py_XDECREF(text);
    if (!k->d) return -1;
    *out = k->d->c;
    return 0;
}

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

static int64_t *take_ints(struct py_call *k, Py_ssize_t n) {
    if (n > PY_INTS - (Py_ssize_t)k->nints) {
        PyErr_Format(PyExc_ValueError, "ridge: a list of %zd numbers; a tensor has at most 16 axes", n);
        return NULL;
    }
    int64_t *d = k->ints + k->nints;
    k->nints += (uint32_t)n;
    return d;
}

int py_ints(struct py_call *k, PyObject *o, rg_ints *out) {
    Py_ssize_t n;
    int64_t *d;
    if (PyLong_Check(o) || (PyIndex_Check(o) && !PySequence_Check(o))) {
        if (!(d = take_ints(k, 1)) || py_int(k, o, d)) return -1;
        *out = (rg_ints){d, 1};
        return 0;
    }
    if ((n = PySequence_Size(o)) < 0 || !(d = take_ints(k, n))) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PySequence_GetItem(o, i);
        int bad = v ? py_int(k, v, &d[i]) : -1;
        Py_XDECREF(v);
        if (bad) return -1;
    }
    *out = (rg_ints){d, (size_t)n};
    return 0;
}

int py_list(struct py_call *k, PyObject *o, rg_tensors *out) {
    PyObject *l = PySequence_Tuple(o);
    Py_ssize_t n = l ? PyTuple_Size(l) : 0;
    if (!l || k->list || !(k->list = malloc(((size_t)n + 1) * sizeof *k->list))) {
        if (l && !PyErr_Occurred()) PyErr_NoMemory();
        Py_XDECREF(l);
        return -1;
    }
    int bad = 0;
    for (Py_ssize_t i = 0; i < n && !bad; i++) /* the device is that of a tensor, if there is one */
        if (py_is_tensor(PyTuple_GetItem(l, i))) py_on(k, PyTuple_GetItem(l, i));
    for (Py_ssize_t i = 0; i < n && !bad; i++) bad = py_tensor(k, PyTuple_GetItem(l, i), &k->list[i]);
    Py_XDECREF(k->held);
    k->held = l; /* keeps its tensors alive */
    *out = (rg_tensors){k->list, (size_t)n};
    return bad;
}

/* ---- tensors and operands ---------------------------------------------------------------------------------------------- */

int py_tensor(struct py_call *k, PyObject *o, rg_tensor *out) {
    if (py_is_tensor(o)) return py_handle(k, o, out);
    *out = py_from(k, o, NULL);
    return py_temp(k, *out);
}

/* A number beyond int64 is a uint64, or none. */
static int big_operand(struct py_call *k, PyObject *o, rg_operand *out) {
    uint64_t v = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred() || !py_device_of(k)) return -1;
    py_lock(k);
    *out = (rg_operand){.t = rg_from_at(k->file, k->line, k->d->c, RG_U64, &v, (rg_ints){0})};
    return py_temp(k, out->t);
}

int py_operand(struct py_call *k, PyObject *o, rg_operand *out) {
    if (py_is_tensor(o)) {
        out->kind = 0;
        return py_handle(k, o, &out->t);
    }
    if (PyFloat_Check(o)) {
        *out = (rg_operand){.kind = 2, .v = {.f = PyFloat_AsDouble(o)}};
        return 0;
    }
    if (PyLong_Check(o) && !PyBool_Check(o)) {
        int over = 0;
        *out = (rg_operand){.kind = 1, .v = {.i = PyLong_AsLongLongAndOverflow(o, &over)}};
        return over ? big_operand(k, o, out) : 0;
    }
    *out = (rg_operand){0};
    return py_tensor(k, o, &out->t);
}

/* __array_ufunc__ = None says, as to NumPy, that the other's operators are to be used. */
static int has_own_operators(PyObject *o) {
    PyObject *f = PyObject_GetAttr(o, py_name[PY_ARRAY_UFUNC]);
    if (!f) PyErr_Clear();
    Py_XDECREF(f);
    return f == Py_None;
}

int py_is_operand(PyObject *o) {
    if (py_is_tensor(o) || PyFloat_Check(o) || PyLong_Check(o)) return 1;
    if (has_own_operators(o)) return 0;
    return PyObject_CheckBuffer(o) || PyObject_HasAttr(o, py_name[PY_DLPACK]) ||
           PyObject_HasAttr(o, py_name[PY_ARRAY]);
}

int py_flatten(struct py_call *k, rg_tensor *x) {
    int64_t all = -1;
    py_lock(k);
    *x = rg_reshape_at(k->file, k->line, *x, (rg_ints){&all, 1});
    return py_temp(k, *x);
}

PyObject *py_shape(const int64_t *d, int64_t n) {
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; t && i < n; i++) PyTuple_SetItem(t, (Py_ssize_t)i, PyLong_FromLongLong(d[i]));
    return t;
}
