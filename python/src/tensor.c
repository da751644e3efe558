/* tensor.c: the type Tensor: operators, attributes, reading values, gradients. Methods that gen.py writes from the header are
 * added to its table; those with another shape in Python are in ridge/_methods.py.
 * Tests: python/tests/test_tensor.py */
#include "py.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *py_tensor_type;
enum { AXES = 32 };

/* ---- operators -------------------------------------------------------------------------------------------------- */

typedef rg_tensor binary_fn(const char *, int, rg_operand, rg_operand);
typedef rg_tensor unary_fn(const char *, int, rg_tensor);

static PyObject *binary(PyObject *a, PyObject *b, binary_fn *fn) {
    struct py_call k;
    rg_operand x, y;
    PyObject *r = NULL;
    if (!py_is_operand(a) || !py_is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    py_begin(&k);
    if (py_is_tensor(b)) py_on(&k, b);
    if (!py_operand(&k, a, &x) && !py_operand(&k, b, &y)) {
        py_lock(&k);
        r = py_made(&k, fn(k.file, k.line, x, y), 0);
    }
    py_finish(&k);
    return r;
}

/* With a Python complex number: of complex tensors (ridge/_complex.py). */
typedef PyObject *number_fn(PyObject *, PyObject *);
static bool with_complex(PyObject *a, PyObject *b) { return PyComplex_Check(a) || PyComplex_Check(b); }
static PyObject *as_complex(PyObject *x) {
    PyObject *f = py_helper("complex_of");
    return PyComplex_Check(x) ? Py_NewRef(x) : f ? PyObject_CallFunctionObjArgs(f, x, NULL) : NULL;
}
static PyObject *complex_binary(PyObject *a, PyObject *b, number_fn *fn) {
    PyObject *x = as_complex(a), *y = x ? as_complex(b) : NULL, *r = y ? fn(x, y) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

static PyObject *unary(PyObject *a, unary_fn *fn) {
    struct py_call k;
    py_begin(&k);
    py_on(&k, a);
    py_lock(&k);
    PyObject *r = py_made(&k, fn(k.file, k.line, py_of(a)->t), 0);
    py_finish(&k);
    return r;
}

static rg_tensor matmul(const char *file, int line, rg_operand x, rg_operand y) {
    return rg_matmul_at(file, line, x.t, y.t);
}
static rg_tensor positive(const char *file, int line, rg_tensor x) {
    return rg_mul_at(file, line, (rg_operand){.t = x}, (rg_operand){.kind = 1, .v = {.i = 1}});
}
static PyObject *op_matmul(PyObject *a, PyObject *b) {
    if (PyFloat_Check(a) || PyLong_Check(a) || PyFloat_Check(b) || PyLong_Check(b)) Py_RETURN_NOTIMPLEMENTED;
    return binary(a, b, matmul);
}

#define BINARY(name, fn) \
    static PyObject *op_##name(PyObject *a, PyObject *b) { return binary(a, b, rg_##fn##_at); }
#define ARITHMETIC(name, fn, number)                                 \
    static PyObject *op_##name(PyObject *a, PyObject *b) {           \
        if (with_complex(a, b)) return complex_binary(a, b, number); \
        return binary(a, b, rg_##fn##_at);                           \
    }
ARITHMETIC(add, add, PyNumber_Add)
ARITHMETIC(subtract, sub, PyNumber_Subtract)
ARITHMETIC(multiply, mul, PyNumber_Multiply)
ARITHMETIC(true_divide, div, PyNumber_TrueDivide)
BINARY(floor_divide, floordiv)
BINARY(remainder, mod)
BINARY(and, bitwise_and)
BINARY(or, bitwise_or)
BINARY(xor, bitwise_xor)
BINARY(lshift, shl)
BINARY(rshift, shr)
static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }
static PyObject *op_power(PyObject *a, PyObject *b, PyObject *mod) {
    if (mod != Py_None) Py_RETURN_NOTIMPLEMENTED;
    if (with_complex(a, b)) return complex_binary(a, b, power);
    return binary(a, b, rg_pow_at);
}
static PyObject *op_negative(PyObject *a) { return unary(a, rg_neg_at); }
static PyObject *op_positive(PyObject *a) { return unary(a, positive); }
static PyObject *op_absolute(PyObject *a) { return unary(a, rg_abs_at); }
static PyObject *op_invert(PyObject *a) { return unary(a, rg_bitwise_not_at); }

static PyObject *compare(PyObject *a, PyObject *b, int op) {
    static binary_fn *const fn[] = {[Py_LT] = rg_lt_at, [Py_LE] = rg_le_at, [Py_EQ] = rg_eq_at,
                                    [Py_NE] = rg_ne_at, [Py_GT] = rg_gt_at, [Py_GE] = rg_ge_at};
    if (with_complex(a, b) && (op == Py_EQ || op == Py_NE)) {
        PyObject *x = as_complex(a), *r = x ? PyObject_RichCompare(x, b, op) : NULL;
        return Py_XDECREF(x), r;
    }
    return binary(a, b, fn[op]);
}

static Py_hash_t hash(PyObject *o) { return (Py_hash_t)((uintptr_t)o >> 4); }

/* ---- assignment ----------------------------------------------------------------------------------------------------- */

/* What was computed gets memory of its own before it or a part of it is assigned to. State from outside a jit's function
 * keeps it when that ends. */
int py_own_memory(struct py_call *k, PyObject *x) {
    struct py_object *o = py_of(x);
    if (o->flags & (PY_LEAF | PY_PARAM)) return 0;
    rg_tensor c = rg_contiguous_at(k->file, k->line, o->t);
    if (!(uint32_t)c.id) return py_raise(k->d), -1;
    if (py_thread.in_jit && !(o->flags & PY_PASSING) && !(uint32_t)rg_keep_at(k->file, k->line, c).id)
        return py_raise(k->d), -1;
    rg_free(o->t);
    o->t = c, o->flags |= PY_LEAF;
    return 0;
}

/* The object denotes v from now on, in x's shape and dtype. A leaf is assigned to: parameters, state, data, and in a jit's
 * function what comes from outside; what was computed otherwise gets another handle, which needs no memory. */
static int become(struct py_call *k, PyObject *x, rg_tensor v) {
    struct py_object *o = py_of(x);
    py_lock(k);
    if (py_thread.in_jit && !(o->flags & PY_PASSING) && py_own_memory(k, x)) return -1;
    if (o->flags & (PY_LEAF | PY_PARAM)) {
        if (!rg_assign_at(k->file, k->line, o->t, (rg_operand){.t = v})) return 0;
        py_raise(k->d);
        return -1;
    }
    int64_t d[AXES], n = rg_shape_of_at(k->file, k->line, o->t, d, AXES);
    rg_dtype dt = rg_dtype_of_at(k->file, k->line, o->t);
    if (n < 0) return py_raise(k->d), -1;
    rg_tensor e = rg_expand_at(k->file, k->line, v, (rg_ints){d, (size_t)n}), c = e;
    if (rg_dtype_of_at(k->file, k->line, v) != dt) {
        c = rg_cast_at(k->file, k->line, e, dt);
        rg_free(e);
    }
    if (!(uint32_t)c.id) return py_raise(k->d), -1;
    rg_free(o->t);
    o->t = c;
    return 0;
}

static PyObject *inplace(PyObject *a, PyObject *b, binary_fn *fn) {
    PyObject *r = binary(a, b, fn);
    if (!r || r == Py_NotImplemented) return r;
    struct py_call k;
    py_begin(&k);
    py_on(&k, a);
    int bad = become(&k, a, py_of(r)->t);
    py_finish(&k);
    Py_DECREF(r);
    return bad ? NULL : Py_NewRef(a);
}
#define INPLACE(name, fn) \
    static PyObject *in_##name(PyObject *a, PyObject *b) { return inplace(a, b, fn); }
INPLACE(add, rg_add_at)
INPLACE(subtract, rg_sub_at)
INPLACE(multiply, rg_mul_at)
INPLACE(true_divide, rg_div_at)
INPLACE(floor_divide, rg_floordiv_at)
INPLACE(remainder, rg_mod_at)
INPLACE(and, rg_bitwise_and_at)
INPLACE(or, rg_bitwise_or_at)
INPLACE(xor, rg_bitwise_xor_at)
INPLACE(matmul, matmul)
static PyObject *in_power(PyObject *a, PyObject *b, PyObject *mod) {
    (void)mod;
    return inplace(a, b, rg_pow_at);
}

static PyObject *assign(PyObject *x, PyObject *v) {
    struct py_call k;
    rg_tensor t;
    py_begin(&k);
    py_on(&k, x);
    int bad = py_tensor(&k, v, &t) || become(&k, x, t);
    py_finish(&k);
    return bad ? NULL : Py_NewRef(x);
}

static PyObject *set_scalar(PyObject *x, PyObject *v) {
    struct py_call k;
    double f;
    py_begin(&k);
    py_on(&k, x);
    PyObject *r = NULL;
    if (!py_double(&k, v, &f)) py_lock(&k), r = py_did(&k, rg_set_scalar_at(k.file, k.line, py_of(x)->t, f));
    py_finish(&k);
    return r;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* The one element as a Python number of its kind. */
static PyObject *item_of(PyObject *x) {
    struct py_call k;
    union {
        int64_t i;
        uint64_t u;
        double f;
        char b[8];
    } v = {0};
    py_begin(&k);
    py_on(&k, x);
    py_lock(&k);
    PyObject *r = NULL;
    rg_tensor t = py_of(x)->t, c;
    rg_dtype dt = rg_dtype_of_at(k.file, k.line, t);
    rg_dtype as = dt >= RG_F16 ? RG_F64 : dt == RG_U64 ? RG_U64 : RG_I64;
    if (rg_size_at(k.file, k.line, t) > 1 && !rg_status_of(k.d->c)) {
        py_raise_at(&k, RG_EINVAL, "item: a tensor of one element is needed; this one has %lld",
                    (long long)rg_size_at(k.file, k.line, t));
    } else {
        double f = 0;
        rg_status st;
        if (as == RG_F64 || rg_dtype_size(dt) < 8) {
            PY_WORK(&k, f = rg_item_at(k.file, k.line, t));
            st = rg_status_of(k.d->c);
            if (as == RG_F64)
                v.f = f;
            else
                v.i = (int64_t)f;
        } else {
            c = t;
            PY_WORK(&k, st = rg_read_at(k.file, k.line, c, &v, sizeof v));
        }
        if (st)
            py_raise(k.d);
        else
            r = dt == RG_BOOL  ? PyBool_FromLong(v.i != 0)
                : as == RG_F64 ? PyFloat_FromDouble(v.f)
                : as == RG_U64 ? PyLong_FromUnsignedLongLong(v.u)
                               : PyLong_FromLongLong(v.i);
    }
    py_finish(&k);
    return r;
}
static PyObject *item(PyObject *x, PyObject *none) { return (void)none, item_of(x); }

static PyObject *via_item(PyObject *x, PyObject *(*convert)(PyObject *)) {
    PyObject *v = item_of(x), *r = v ? convert(v) : NULL;
    Py_XDECREF(v);
    return r;
}
static PyObject *to_float(PyObject *x) { return via_item(x, PyNumber_Float); }
static PyObject *to_int(PyObject *x) { return via_item(x, PyNumber_Long); }
static PyObject *to_index(PyObject *x) { return via_item(x, PyNumber_Index); }
static int to_bool(PyObject *x) {
    PyObject *v = item_of(x);
    int r = v ? PyObject_IsTrue(v) : -1;
    Py_XDECREF(v);
    return r;
}

static PyObject *realize(PyObject *x, PyObject *none) {
    struct py_call k;
    rg_status st;
    (void)none;
    py_begin(&k);
    py_on(&k, x);
    PY_WORK(&k, st = rg_realize_at(k.file, k.line, py_of(x)->t));
    PyObject *r = st ? py_raise(k.d) : Py_NewRef(x);
    py_finish(&k);
    return r;
}

/* ---- gradients ---------------------------------------------------------------------------------------------------------- */

static PyObject *backward(PyObject *x, PyObject *none) {
    struct py_call k;
    (void)none;
    py_begin(&k);
    py_on(&k, x);
    py_lock(&k);
    PyObject *r = py_did(&k, rg_backward_at(k.file, k.line, py_of(x)->t));
    py_finish(&k);
    return r;
}

static int make_param(PyObject *x) {
    struct py_call k;
    struct py_object *o = py_of(x);
    py_begin(&k);
    py_on(&k, x);
    py_lock(&k);
    rg_tensor p = rg_param_at(k.file, k.line, o->t);
    if ((uint32_t)p.id) {
        rg_free(o->t);
        o->t = p, o->flags |= PY_PARAM | PY_LEAF;
    } else
        py_raise(k.d);
    py_finish(&k);
    return (uint32_t)p.id ? 0 : -1;
}

static int set_requires_grad(PyObject *x, PyObject *v, void *p) {
    (void)p;
    int on = v ? PyObject_IsTrue(v) : 0;
    struct py_object *o = py_of(x);
    if (on < 0) return -1;
    if (on == !!(o->flags & PY_PARAM)) return 0;
    if (on) return make_param(x);
    struct py_call k;
    py_begin(&k);
    py_on(&k, x);
    py_lock(&k);
    rg_tensor d = rg_detach_at(k.file, k.line, o->t), c = rg_contiguous_at(k.file, k.line, d);
    rg_free(d);
    if ((uint32_t)c.id)
        rg_free(o->t), o->t = c, o->flags &= ~(uint32_t)PY_PARAM;
    else
        py_raise(k.d);
    py_finish(&k);
    return (uint32_t)c.id ? 0 : -1;
}
static PyObject *requires_grad(PyObject *x, void *p) {
    return (void)p, PyBool_FromLong(py_of(x)->flags & PY_PARAM);
}

static PyObject *require_grad(PyObject *x, PyObject *const *arg, Py_ssize_t n) {
    return set_requires_grad(x, n ? arg[0] : Py_True, NULL) ? NULL : Py_NewRef(x);
}

static PyObject *get_grad(PyObject *x, void *p) {
    (void)p;
    struct py_call k;
    if (!(py_of(x)->flags & PY_PARAM)) Py_RETURN_NONE;
    py_begin(&k);
    py_on(&k, x);
    py_lock(&k);
    rg_tensor t = py_of(x)->t;
    PyObject *r = rg_has_grad(t) ? py_made(&k, rg_param_grad_at(k.file, k.line, t), 0) : Py_NewRef(Py_None);
    py_finish(&k);
    return r;
}

static int set_grad(PyObject *x, PyObject *v, void *p) {
    (void)p;
    struct py_call k;
    rg_tensor g = RG_NONE;
    py_begin(&k);
    py_on(&k, x);
    int bad = PY_GIVEN(v) && py_tensor(&k, v, &g);
    py_lock(&k);
    if (!bad && rg_set_grad_at(k.file, k.line, py_of(x)->t, g)) py_raise(k.d), bad = -1;
    py_finish(&k);
    return bad;
}

/* ---- attributes ----------------------------------------------------------------------------------------------------------- */

static PyObject *get_shape(PyObject *x, void *p) {
    (void)p;
    int64_t d[AXES], n;
    struct py_device *dev = py_device_at(x);
    if (!dev) return PyErr_Format(PyExc_RuntimeError, "ridge: the tensor has no device");
    py_lock_device(dev);
    n = rg_shape_of_at(NULL, 0, py_of(x)->t, d, AXES);
    PyObject *r = n < 0 ? py_raise(dev) : py_shape(d, n);
    py_unlock_device(dev);
    return r;
}

static int64_t ask(PyObject *x, int64_t (*fn)(const char *, int, rg_tensor)) {
    struct py_device *dev = py_device_at(x);
    if (!dev) return PyErr_SetString(PyExc_RuntimeError, "ridge: the tensor has no device"), -1;
    py_lock_device(dev);
    int64_t n = fn(NULL, 0, py_of(x)->t);
    if (n < 0) py_raise(dev);
    py_unlock_device(dev);
    return n;
}
static PyObject *number_of(int64_t n) { return n < 0 ? NULL : PyLong_FromLongLong(n); }
static PyObject *get_ndim(PyObject *x, void *p) { return (void)p, number_of(ask(x, rg_rank_at)); }
static PyObject *get_size(PyObject *x, void *p) { return (void)p, number_of(ask(x, rg_size_at)); }
static PyObject *get_nbytes(PyObject *x, void *p) { return (void)p, number_of(ask(x, rg_bytes_at)); }
static int64_t code_of(const char *file, int line, rg_tensor t) {
    rg_dtype dt = rg_dtype_of_at(file, line, t);
    return dt == RG_DTYPES ? -1 : (int64_t)dt;
}
static PyObject *get_dtype(PyObject *x, void *p) {
    (void)p;
    int64_t dt = ask(x, code_of);
    return dt < 0 ? NULL : py_dtype_object((rg_dtype)dt);
}
static PyObject *get_itemsize(PyObject *x, void *p) {
    (void)p;
    int64_t dt = ask(x, code_of);
    return dt < 0 ? NULL : PyLong_FromSize_t(rg_dtype_size((rg_dtype)dt));
}
static PyObject *get_device(PyObject *x, void *p) {
    (void)p;
    struct py_device *d = py_device_at(x);
    return PyUnicode_FromString(d ? d->name : "none");
}

static PyObject *swap_last(PyObject *x, bool all) {
    struct py_call k;
    int64_t axes[AXES], n = ask(x, rg_rank_at);
    if (n < 0) return NULL;
    py_begin(&k);
    py_on(&k, x);
    py_lock(&k);
    for (int64_t i = 0; i < n; i++) axes[i] = n - 1 - i;
    PyObject *r = py_made(&k,
                          all ? rg_permute_at(k.file, k.line, py_of(x)->t, (rg_ints){axes, (size_t)n})
                              : rg_transpose_at(k.file, k.line, py_of(x)->t, -1, -2),
                          0);
    py_finish(&k);
    return r;
}
static PyObject *get_T(PyObject *x, void *p) { return (void)p, swap_last(x, true); }
static PyObject *get_mT(PyObject *x, void *p) { return (void)p, swap_last(x, false); }

static Py_ssize_t length(PyObject *x) {
    int64_t d[AXES], n;
    struct py_device *dev = py_device_at(x);
    py_lock_device(dev);
    n = rg_shape_of_at(NULL, 0, py_of(x)->t, d, AXES);
    if (n < 0) py_raise(dev);
    py_unlock_device(dev);
    if (n == 0) PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return n > 0 ? (Py_ssize_t)d[0] : -1;
}

static PyObject *at_index(PyObject *x, Py_ssize_t i) {
    Py_ssize_t n = length(x);
    if (n < 0) return NULL;
    if (i < 0 || i >= n) return PyErr_Format(PyExc_IndexError, "index %zd of an axis of size %zd", i, n);
    PyObject *key = PyLong_FromSsize_t(i), *r = key ? py_getitem(x, key) : NULL;
    Py_XDECREF(key);
    return r;
}

static PyObject *repr(PyObject *x) {
    PyObject *f = py_helper("repr_of");
    return f ? PyObject_CallFunctionObjArgs(f, x, NULL) : NULL;
}

static PyObject *reduce(PyObject *x, PyObject *none) {
    (void)none;
    PyObject *f = py_helper("reduce_of");
    return f ? PyObject_CallFunctionObjArgs(f, x, NULL) : NULL;
}

static void dealloc(PyObject *x) {
    PyTypeObject *type = Py_TYPE(x);
    rg_free(py_of(x)->t);
    PyObject_Free(x);
    Py_DECREF(type);
}

/* ---- making one -------------------------------------------------------------------------------------------------------------- */

/* Both devices are locked, always in the same order. */
static rg_tensor copy_between(struct py_call *k, PyObject *x) {
    struct py_device *from = py_device_at(x);
    rg_tensor t;
    if (from->at > k->d->at) py_lock(k);
    py_lock_device(from);
    rg_tensor src = py_of(x)->t;
    PY_WORK(k, t = rg_copy_to_at(k->file, k->line, k->d->c, src));
    if (!(uint32_t)t.id) py_raise(rg_status_of(k->d->c) ? k->d : from);
    py_unlock_device(from);
    return t;
}

static PyObject *do_new(struct py_call *k, PyObject *const *v) {
    rg_dtype dt;
    rg_ctx *c;
    int param = v[3] ? PyObject_IsTrue(v[3]) : 0;
    bool typed = PY_GIVEN(v[1]), tensor = py_is_tensor(v[0]);
    if (param < 0 || (typed && py_dtype(k, v[1], &dt))) return NULL;
    if (tensor && !PY_GIVEN(v[2]))
        py_on(k, v[0]);
    else if (py_device(k, v[2], &c))
        return NULL;
    rg_tensor t;
    if (tensor && py_device_at(v[0]) != k->d)
        t = copy_between(k, v[0]);
    else if (tensor) {
        py_lock(k);
        rg_tensor src = py_of(v[0])->t;
        t = typed ? rg_cast_at(k->file, k->line, src, dt) : rg_contiguous_at(k->file, k->line, src);
    } else
        t = py_from(k, v[0], typed ? &dt : NULL);
    if (PyErr_Occurred()) return NULL;
    PyObject *r = py_made(k, t, PY_LEAF);
    if (!r || !param) return r;
    if (!make_param(r)) return r;
    Py_DECREF(r);
    return NULL;
}
static const char *const names_new[] = {"data", "dtype", "device", "requires_grad"};
static const struct py_signature sig_new = {"tensor", names_new, 4, 1, 0};
PyObject *py_new_tensor(PyObject *m, PyObject *const *arg, Py_ssize_t n, PyObject *kw) {
    (void)m;
    return py_invoke(&sig_new, do_new, NULL, arg, n, kw);
}

static PyObject *tp_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)type;
    PyObject *f = py_helper("tensor");
    return f ? PyObject_Call(f, args, kw) : NULL;
}

static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "sizes of the axes", NULL},
    {"ndim", get_ndim, NULL, "number of axes", NULL},
    {"size", get_size, NULL, "number of elements, as NumPy's", NULL},
    {"nbytes", get_nbytes, NULL, NULL, NULL},
    {"itemsize", get_itemsize, NULL, NULL, NULL},
    {"dtype", get_dtype, NULL, NULL, NULL},
    {"device", get_device, NULL, "\"CPU\", \"CUDA\" ..", NULL},
    {"T", get_T, NULL, "axes reversed", NULL},
    {"mT", get_mT, NULL, "the last two axes swapped", NULL},
    {"requires_grad", requires_grad, set_requires_grad, "is a parameter: backward() gives it a gradient",
     NULL},
    {"is_leaf", requires_grad, NULL, NULL, NULL},
    {"grad", get_grad, set_grad, "the sum of what backward() gave, or None", NULL},
    {0}};

static PyMethodDef own_methods[] = {
    {"item", item, METH_NOARGS, "item()\n--\n\nThe one element as a Python number: computes it."},
    {"realize", realize, METH_NOARGS,
     "realize()\n--\n\nComputes now and keeps the result; returns the tensor."},
    {"backward", backward, METH_NOARGS,
     "backward()\n--\n\nAdds the gradient of this scalar to .grad of every parameter."},
    {"assign_", assign, METH_O,
     "assign_(v)\n--\n\nThis tensor becomes v, in place if nothing needs the old value."},
    {"copy_", assign, METH_O, "copy_(v)\n--\n\nPyTorch's name of assign_."},
    {"set", set_scalar, METH_O, "set(v)\n--\n\nA new value of a scalar: nothing is compiled again."},
    {"requires_grad_", (PyCFunction)(void *)require_grad, METH_FASTCALL,
     "requires_grad_(on=True)\n--\n\nMakes it a parameter."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__dlpack__", (PyCFunction)(void *)py_dlpack, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__dlpack_device__", py_dlpack_device, METH_NOARGS, NULL},
    {0}};

static PyType_Slot slots[] = {{Py_tp_new, tp_new},
                              {Py_tp_dealloc, dealloc},
                              {Py_tp_repr, repr},
                              {Py_tp_hash, hash},
                              {Py_tp_richcompare, compare},
                              {Py_tp_iter, PySeqIter_New},
                              {Py_tp_getset, attributes},
                              {Py_tp_methods, NULL},
                              {Py_nb_add, op_add},
                              {Py_nb_subtract, op_subtract},
                              {Py_nb_multiply, op_multiply},
                              {Py_nb_power, op_power},
                              {Py_nb_true_divide, op_true_divide},
                              {Py_nb_floor_divide, op_floor_divide},
                              {Py_nb_remainder, op_remainder},
                              {Py_nb_and, op_and},
                              {Py_nb_or, op_or},
                              {Py_nb_xor, op_xor},
                              {Py_nb_lshift, op_lshift},
                              {Py_nb_rshift, op_rshift},
                              {Py_nb_matrix_multiply, op_matmul},
                              {Py_nb_negative, op_negative},
                              {Py_nb_positive, op_positive},
                              {Py_nb_absolute, op_absolute},
                              {Py_nb_invert, op_invert},
                              {Py_nb_bool, to_bool},
                              {Py_nb_float, to_float},
                              {Py_nb_int, to_int},
                              {Py_nb_index, to_index},
                              {Py_nb_inplace_add, in_add},
                              {Py_nb_inplace_subtract, in_subtract},
                              {Py_nb_inplace_multiply, in_multiply},
                              {Py_nb_inplace_true_divide, in_true_divide},
                              {Py_nb_inplace_floor_divide, in_floor_divide},
                              {Py_nb_inplace_remainder, in_remainder},
                              {Py_nb_inplace_power, in_power},
                              {Py_nb_inplace_and, in_and},
                              {Py_nb_inplace_or, in_or},
                              {Py_nb_inplace_xor, in_xor},
                              {Py_nb_inplace_matrix_multiply, in_matmul},
                              {Py_mp_subscript, py_getitem},
                              {Py_mp_ass_subscript, py_setitem},
                              {Py_mp_length, length},
                              {Py_sq_item, at_index},
                              {Py_bf_getbuffer, py_getbuffer},
                              {Py_bf_releasebuffer, py_releasebuffer},
                              {0, NULL}};
static PyType_Spec spec = {"ridge.Tensor", sizeof(struct py_object), 0, Py_TPFLAGS_DEFAULT, slots};

int py_add_tensor(PyObject *m) {
    size_t own = sizeof own_methods / sizeof *own_methods - 1, all = own;
    for (size_t i = 0; py_methods[i].ml_name; i++) all++;
    PyMethodDef *methods = calloc(all + 1, sizeof *methods); /* lives as long as the type */
    if (!methods) return PyErr_NoMemory(), -1;
    memcpy(methods, own_methods, own * sizeof *methods);
    memcpy(methods + own, py_methods, (all - own) * sizeof *methods);
    for (size_t i = 0; slots[i].slot; i++)
        if (slots[i].slot == Py_tp_methods) slots[i].pfunc = methods;
    py_tensor_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return py_tensor_type ? PyModule_AddObjectRef(m, "Tensor", (PyObject *)py_tensor_type) : -1;
}
