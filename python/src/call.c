/* call.c: one call from Python: where it was made, on which device, with which arguments; and its exception.
 *
 * The source line is that of the innermost frame outside of the package. Code objects are looked up in a table, so that a
 * file's name is copied once; names live as long as the process, as the library asks of them.
 * Tests: python/tests/test_calls.py */
#include "py.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- source lines ------------------------------------------------------------------------------------------ */

struct code_site {
    PyObject *code; /* held: so that its address is not used again */
    const char *file;
    bool inside; /* of the package */
};
static struct code_site sites[1024];
static char **files;
static size_t nfiles;

static const char *intern_file(const char *name) {
    for (size_t i = 0; i < nfiles; i++)
        if (!strcmp(files[i], name)) return files[i];
    char **more = realloc(files, (nfiles + 1) * sizeof *files), *copy = strdup(name);
    if (more) files = more;
    if (!more || !copy) return NULL;
    return files[nfiles++] = copy;
}

const char *py_intern(const char *text) { return intern_file(text); }

/* Where the package is: what lies there is not the user's. */
static const char *package;
static size_t package_len;

static PyObject *set_package(PyObject *m, PyObject *path) {
    (void)m;
    const char *text = PyUnicode_AsUTF8AndSize(path, NULL);
    if (!text) return NULL;
    package = intern_file(text);
    package_len = package ? strlen(package) : 0;
    Py_RETURN_NONE;
}
PyMethodDef py_set_package = {"_set_package", set_package, METH_O, NULL};

static const struct code_site *site_of(PyObject *code) {
    struct code_site *s = &sites[((uintptr_t)code >> 4) % (sizeof sites / sizeof *sites)];
    if (s->code == code) return s;
    PyObject *name = PyObject_GetAttrString(code, "co_filename");
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text) PyErr_Clear();
    Py_XDECREF(s->code);
    s->code = Py_NewRef(code);
    s->file = text ? intern_file(text) : NULL;
    s->inside = text && package && !strncmp(text, package, package_len);
    Py_XDECREF(name);
    return s;
}

static void find_line(struct py_call *k) {
    PyObject *f = (PyObject *)PyEval_GetFrame(), *up = NULL;
    while (f) {
        PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)f);
        const struct code_site *s = site_of(code);
        Py_DECREF(code);
        k->file = s->file;
        if (!s->inside) break;
        PyObject *next = PyObject_GetAttrString(f, "f_back");
        Py_XDECREF(up);
        up = next;
        if (!next || next == Py_None) {
            PyErr_Clear();
            break;
        }
        f = next;
    }
    if (f) k->line = PyFrame_GetLineNumber((PyFrameObject *)f);
    Py_XDECREF(up);
}

/* ---- what waits for the end of a call ------------------------------------------------------------------------------ */

/* The library calls back while it works: that memory is free, that something deserves a warning. Python code must not run
 * then; it does when the call is over. */
static struct later {
    struct later *next;
    void (*fn)(void *);
    void *arg;
} * _Atomic waiting;

void py_later(void (*fn)(void *), void *arg) {
    struct later *l = malloc(sizeof *l);
    if (!l) return;
    *l = (struct later){atomic_load(&waiting), fn, arg};
    while (!atomic_compare_exchange_weak(&waiting, &l->next, l)) {}
}

static void run_later(void) {
    struct later *l = atomic_exchange(&waiting, NULL);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    while (l) {
        struct later *next = l->next;
        l->fn(l->arg);
        free(l);
        l = next;
    }
    PyErr_Restore(type, value, trace);
}

/* The library's words in Python's: rg_take is take, RG_NONE is None. */
static void reword(char *text) {
    char *to = text;
    for (const char *p = text; *p;) {
        bool begins =
            p == text || !(p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= '0' && p[-1] <= '9'));
        if (begins && !strncmp(p, "rg_", 3) && p[3] >= 'a' && p[3] <= 'z')
            p += 3;
        else if (begins && !strncmp(p, "RG_NONE", 7))
            memcpy(to, "None", 4), to += 4, p += 7;
        else
            *to++ = *p++;
    }
    *to = 0;
}

static void show_warning(void *text) {
    PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(NULL);
    free(text);
}

static void on_warning(void *user, const char *text) {
    (void)user;
    char *copy = strdup(text);
    if (copy) reword(copy), py_later(show_warning, copy);
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

enum { DEVICES = 16 };
static struct py_device devices[DEVICES];
static int ndevices;
static struct py_device *by_id[256]; /* by the context's number, the upper bits of a handle */
struct py_device *py_default;

struct py_device *py_devices(int *n) {
    *n = ndevices;
    return devices;
}

void py_lock_device(struct py_device *d) {
    if (!pthread_mutex_trylock(&d->lock)) return;
    PyThreadState *saved = PyEval_SaveThread();
    pthread_mutex_lock(&d->lock);
    PyEval_RestoreThread(saved);
}

void py_unlock_device(struct py_device *d) { pthread_mutex_unlock(&d->lock); }

static struct py_device *open_device(const char *name) {
    if (ndevices == DEVICES) {
        PyErr_Format(PyExc_RuntimeError, "ridge: %d devices are open already", DEVICES);
        return NULL;
    }
    struct py_device *d = &devices[ndevices];
    rg_ctx *c;
    rg_on_warning(on_warning, NULL);
    PyThreadState *saved = PyEval_SaveThread();
    c = rg_open(name);
    PyEval_RestoreThread(saved);
    d->c = c;
    if (rg_status_of(c)) {
        py_raise(d);
        rg_close(c);
        d->c = NULL;
        return NULL;
    }
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&d->lock, &a);
    pthread_mutexattr_destroy(&a);
    snprintf(d->name, sizeof d->name, "%s", name ? name : rg_device(c));
    rg_tensor probe = rg_number_at(NULL, 0, c, RG_I32, 0);
    by_id[probe.id >> 56] = d;
    rg_free(probe);
    ndevices++;
    return d;
}

struct py_device *py_open(const char *name) {
    if (!name && py_default) return py_default;
    char upper[16] = "";
    for (size_t i = 0; name && name[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
    for (int i = 0; i < ndevices && name; i++)
        if (!strcmp(devices[i].name, upper)) return &devices[i];
    struct py_device *d = open_device(name ? upper : NULL);
    if (!name && d) py_default = d;
    return d;
}

struct py_device *py_device_at(rg_tensor t) {
    return by_id[t.id >> 56];
}

void py_on(struct py_call *k, rg_tensor t) {
    if (!k->d) k->d = by_id[t.id >> 56];
}

struct py_device *py_device_of(struct py_call *k) {
    if (!k->d) k->d = py_open(NULL);
    return k->d;
}

void py_lock(struct py_call *k) {
    if (k->locked || !k->d) return;
    py_lock_device(k->d);
    k->locked = true;
}

/* ---- one call ------------------------------------------------------------------------------------------------------ */

void py_begin(struct py_call *k) {
    k->file = NULL, k->line = 0, k->d = NULL, k->locked = false;
    k->temps = k->nints = 0, k->list = NULL, k->held = NULL;
    find_line(k);
}

void py_finish(struct py_call *k) {
    if (k->locked) py_unlock_device(k->d);
    if (atomic_load_explicit(&waiting, memory_order_relaxed)) run_later();
    for (uint32_t i = 0; i < k->temps; i++) rg_free(k->temp[i]);
    if (k->list) free(k->list);
    Py_XDECREF(k->held);
}

int py_temp(struct py_call *k, rg_tensor t) {
    if (!(uint32_t)t.id) {
        if (!PyErr_Occurred()) py_raise(k->d);
        return -1;
    }
    if (k->temps == PY_TEMPS) {
        rg_free(t);
        PyErr_SetString(PyExc_ValueError, "ridge: too many operands that are no tensors");
        return -1;
    }
    k->temp[k->temps++] = t;
    return 0;
}

PyObject *py_wrap(rg_tensor t, uint32_t flags) {
    struct py_object *o = PyObject_New(struct py_object, py_tensor_type);
    if (!o) {
        rg_free(t);
        return NULL;
    }
    o->t = t, o->flags = flags;
    return (PyObject *)o;
}

PyObject *py_made(struct py_call *k, rg_tensor t, uint32_t flags) {
    if ((uint32_t)t.id) return py_wrap(t, flags);
    return k->d ? py_raise(k->d) : py_raise_at(k, RG_EINVAL, "a tensor is needed");
}

PyObject *py_did(struct py_call *k, rg_status st) {
    if (!st) Py_RETURN_NONE;
    return k->d ? py_raise(k->d) : py_raise_at(k, st, "%s", rg_status_text(st));
}

/* ---- exceptions -------------------------------------------------------------------------------------------------------- */

static PyObject *throw(int status, const char *text) {
    PyObject *make = py_helper("error_of");
    PyObject *e = make ? PyObject_CallFunction(make, "is", status, text) : NULL;
    if (e) PyErr_SetObject((PyObject *)Py_TYPE(e), e);
    Py_XDECREF(e);
    return NULL;
}

PyObject *py_raise(struct py_device *d) {
    char text[2400];
    if (PyErr_Occurred()) { /* of a function that a jit called */
        if (d && d->c) rg_clear_error(d->c);
        return NULL;
    }
    for (int i = 0; i < ndevices && !rg_status_of(d->c);
         i++) /* operands of two devices: it is the first one's */
        if (rg_status_of(devices[i].c)) d = &devices[i];
    int st = rg_status_of(d->c);
    snprintf(text, sizeof text, "%s", st ? rg_error(d->c) : "a tensor that failed or was freed");
    rg_clear_error(d->c);
    reword(text);
    return throw(st ? st : RG_EINVAL, text);
}

PyObject *py_raise_at(struct py_call *k, int status, const char *fmt, ...) {
    char text[1600];
    int n = k->file ? snprintf(text, sizeof text, "%.1000s:%d: ", k->file, k->line) : 0;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    return throw(status, text);
}

/* ---- arguments by name ----------------------------------------------------------------------------------------------------- */

/* NumPy's and PyTorch's names of parameters: where a function has no parameter of the first name, the second is tried. */
static const char *const aliases[][2] = {
    {"axis", "axes"},
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "axes"},
    {"axes", "axis"},
    {"keepdim", "keepdims"},
    {"keep", "keepdims"},
    {"input", "x"},
    {"self", "x"},
    {"a", "x"},
    {"x1", "x"},
    {"other", "y"},
    {"x2", "y"},
    {"b", "y"},
    {"min", "lo"},
    {"max", "hi"},
    {"a_min", "lo"},
    {"a_max", "hi"},
    {"low", "lo"},
    {"high", "hi"},
    {"size", "shape"},
    {"kernel_size", "size"},
    {"ceil_mode", "ceil"},
    {"dim0", "a"},
    {"dim1", "b"},
    {"axis1", "a"},
    {"axis2", "b"},
    {"offset", "k"},
    {"diagonal", "k"},
    {"num_classes", "classes"},
    {"start_dim", "first"},
    {"end_dim", "last"},
    {"negative_slope", "slope"},
    {"indices", "index"},
    {"is_causal", "causal"},
    {"attn_mask", "mask"},
    {"dropout_p", "dropout"},
    {"beta", "delta"},
    {"num_samples", "n"},
    {"replacement", "replace"},
    {"condition", "cond"},
    {"repeats", "times"},
    {"mat2", "y"},
    {"shift", "shifts"},
    {"tensors", "xs"},
    {"arrays", "xs"},
    {"ord", "p"},
    {"min_val", "lo"},
    {"max_val", "hi"},
    {"query", "q"},
    {"key", "k"},
    {"value", "v"},
    {"std", "deviation"},
    {"loc", "mean"},
    {"scale", "deviation"},
    {"exponent", "y"},
};

static int find_name(const struct py_signature *s, PyObject *name) {
    for (int i = 0; i < s->n; i++)
        if (!PyUnicode_CompareWithASCIIString(name, s->names[i])) return i;
    for (size_t a = 0; a < sizeof aliases / sizeof *aliases; a++) {
        if (PyUnicode_CompareWithASCIIString(name, aliases[a][0])) continue;
        for (int i = 0; i < s->n; i++)
            if (!strcmp(s->names[i], aliases[a][1])) return i;
    }
    return -1;
}

static int too_many(const struct py_signature *s, Py_ssize_t n) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", s->name, s->n, n);
    return -1;
}

static int bind_names(const struct py_signature *s, PyObject *const *arg, PyObject *kw, PyObject **out) {
    Py_ssize_t n = PyTuple_Size(kw);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GetItem(kw, i);
        int at = find_name(s, name);
        if (at < 0 || out[at]) {
            PyErr_Format(PyExc_TypeError,
                         at < 0 ? "%s() got an unexpected keyword argument %R" : "%s() got two values for %R",
                         s->name, name);
            return -1;
        }
        out[at] = arg[i];
    }
    return 0;
}

/* All from parameter `at` on are one list: reshape(2, 3). */
static PyObject *gather_args(PyObject *const *arg, Py_ssize_t n) {
    PyObject *t = PyTuple_New(n);
    for (Py_ssize_t i = 0; t && i < n; i++) PyTuple_SetItem(t, i, Py_NewRef(arg[i]));
    return t;
}

int py_bind(const struct py_signature *s, PyObject *self, PyObject *const *arg, Py_ssize_t n, PyObject *kw,
            PyObject **out, PyObject **made) {
    int at = 0;
    Py_ssize_t used = 0;
    for (int i = 0; i < s->n; i++) out[i] = NULL;
    if (self) out[at++] = self;
    for (; used < n; used++) {
        if (at == s->n) return too_many(s, n + (self != NULL));
        if (s->varargs == at + 1 && n - used != 1 && PyIndex_Check(arg[used])) {
            *made = out[at++] = gather_args(arg + used, n - used);
            if (!*made) return -1;
            break;
        }
        out[at++] = arg[used];
    }
    if (kw && bind_names(s, arg + n, kw, out)) return -1;
    if (s->varargs && !out[s->varargs - 1] && s->required >= s->varargs && !n) /* zeros(), reshape() */
        *made = out[s->varargs - 1] = PyTuple_New(0);
    for (int i = 0; i < s->required; i++)
        if (!out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", s->name, s->names[i]);
            return -1;
        }
    return 0;
}

PyObject *py_invoke(const struct py_signature *s, py_body *body, PyObject *self, PyObject *const *arg,
                    Py_ssize_t n, PyObject *kw) {
    PyObject *v[PY_PARAMS], *made = NULL, *r = NULL;
    struct py_call k;
    if (!py_bind(s, self, arg, n, kw, v, &made)) {
        py_begin(&k);
        r = body(&k, v);
        py_finish(&k);
    }
    Py_XDECREF(made);
    return r;
}
