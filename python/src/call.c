/* call.c: one call from Python: where it was made, on which device, with which arguments; and its exception.
 *
 * The source line is that of the innermost frame outside of the package. Code objects are looked up in a table, so that a
 * file's name is copied once; names live as long as the process, as the library asks of them. The table is the GIL's, or has a
 * lock where there is none; no Python runs under it.
 * Tests: python/tests/test_calls.py */
#include "py.h"

#include <stdarg.h>
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

#ifdef Py_GIL_DISABLED
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static void lock_table(void) { pthread_mutex_lock(&table_lock); }
static void unlock_table(void) { pthread_mutex_unlock(&table_lock); }
#else
static void lock_table(void) {}
static void unlock_table(void) {}
#endif

static const char *intern_file(const char *name) {
    for (size_t i = 0; i < nfiles; i++)
        if (!strcmp(files[i], name)) return files[i];
    char **more = realloc(files, (nfiles + 1) * sizeof *files), *copy = strdup(name);
    if (more) files = more;
    if (!more || !copy) return NULL;
    return files[nfiles++] = copy;
}

const char *py_intern(const char *text) {
    lock_table();
    const char *kept = intern_file(text);
    unlock_table();
    return kept;
}

/* Where the package is: what lies there is not the user's. */
static const char *package;
static size_t package_len;

static PyObject *set_package(PyObject *m, PyObject *path) {
    (void)m;
    const char *text = PyUnicode_AsUTF8AndSize(path, NULL);
    if (!text) return NULL;
    package = py_intern(text);
    package_len = package ? strlen(package) : 0;
    Py_RETURN_NONE;
}
PyMethodDef py_set_package = {"_set_package", set_package, METH_O, NULL};

static struct code_site site_of(PyObject *code) {
    struct code_site *s = &sites[((uintptr_t)code >> 4) % (sizeof sites / sizeof *sites)];
    lock_table();
    struct code_site was = *s;
    unlock_table();
    if (was.code == code) return was;
    PyObject *name = PyObject_GetAttr(code, py_name[PY_CO_FILENAME]);
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text) PyErr_Clear();
    struct code_site now = {.code = Py_NewRef(code), .file = text ? py_intern(text) : NULL};
    now.inside = text && package && !strncmp(text, package, package_len);
    lock_table();
    was = *s, *s = now;
    unlock_table();
    Py_XDECREF(was.code);
    Py_XDECREF(name);
    return now;
}

static void find_line(struct py_call *k) {
    PyObject *f = (PyObject *)PyEval_GetFrame(), *up = NULL;
    while (f) {
        PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)f);
        struct code_site s = site_of(code);
        Py_DECREF(code);
        k->file = s.file;
        if (!s.inside) break;
        PyObject *next = PyObject_GetAttr(f, py_name[PY_F_BACK]);
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

/* What functions are called in Python, where it is another name; others lose their rg_. */
static const char *const python_names[][2] = {
    {"assign", "assign_"},
    {"assign_slice", "x[..] = v"},
    {"contiguous", "clone"},
    {"copy_to", "to"},
    {"expose", "reading a value"},
    {"from", "ridge.tensor"},
    {"index", "ridge.index_scalar"},
    {"jit_call", "call of the jit"},
    {"keep", "returning it from the jit's function"},
    {"open", "ridge.device"},
    {"param", "requires_grad=True"},
    {"read", "numpy()"},
    {"scalar", "ridge.scalar"},
    {"set_scalar", "set"},
};

static size_t python_name(const char *name, size_t n, const char **to) {
    for (size_t i = 0; i < sizeof python_names / sizeof *python_names; i++)
        if (strlen(python_names[i][0]) == n && !strncmp(python_names[i][0], name, n))
            return *to = python_names[i][1], strlen(*to);
    return *to = name, n;
}

/* A word of the library at p: how long it is, and Python's. 0: it is none. */
static size_t library_word(const char *p, const char **to, size_t *len) {
    size_t n = 3;
    if (!strncmp(p, "RG_NONE", 7)) return *to = "None", *len = 4, 7;
    if (strncmp(p, "rg_", 3) || p[3] < 'a' || p[3] > 'z') return 0;
    while (p[n] == '_' || (p[n] >= 'a' && p[n] <= 'z') || (p[n] >= '0' && p[n] <= '9')) n++;
    *len = python_name(p + 3, n - 3, to);
    return n;
}

/* The library's words in Python's: rg_take is take, an rg_scalar is a ridge.scalar. */
static void reword(const char *p, char *out, size_t room) {
    size_t n = 0, len, used;
    for (const char *text = p, *to; *p && n + 1 < room; p += used) {
        bool begins =
            p == text || !(p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z') || (p[-1] >= '0' && p[-1] <= '9'));
        if (!(used = begins ? library_word(p, &to, &len) : 0)) used = 1, to = p, len = 1;
        bool vowel = used > 1 && len && strchr("aeiou", *to);
        if (used > 1 && !vowel && n >= 3 && !memcmp(out + n - 3, "an ", 3) && (n == 3 || out[n - 4] == ' '))
            out[n - 2] = ' ', n--;
        if (len > room - 1 - n) len = room - 1 - n;
        memcpy(out + n, to, len), n += len;
    }
    out[n] = 0;
}

static void show_warning(void *text) {
    PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(NULL);
    free(text);
}

static void on_warning(void *user, const char *text) {
    (void)user;
    size_t room = 2 * strlen(text) + 64;
    char *copy = malloc(room);
    if (copy) reword(text, copy, room), py_later(show_warning, copy);
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

static struct py_device devices[PY_DEVICES];
static _Atomic int ndevices;
static struct py_device *by_id[256]; /* by the context's number, the upper bits of a handle */
struct py_device *_Atomic py_default;
_Thread_local struct py_thread py_thread;

struct py_device *py_devices(int *n) {
    *n = ndevices;
    return devices;
}

static void lock_detached(pthread_mutex_t *lock) {
    if (!pthread_mutex_trylock(lock)) return;
    PyThreadState *saved = PyEval_SaveThread();
    pthread_mutex_lock(lock);
    PyEval_RestoreThread(saved);
}

static void take_state(struct py_device *d) {
    if (!py_thread.no_grad != !d->no_grad.id) {
        if (py_thread.no_grad)
            d->no_grad = rg_begin_no_grad(d->c);
        else
            rg_end_no_grad(d->no_grad), d->no_grad = (rg_scope){0};
    }
    if (py_thread.module != d->module) rg_in_module(d->c, d->module = py_thread.module);
}

/* Of devices that another thread has locked it is taken over with the lock. */
void py_take_state(void) {
    for (int i = 0, n = ndevices; i < n; i++)
        if (!pthread_mutex_trylock(&devices[i].lock))
            take_state(&devices[i]), pthread_mutex_unlock(&devices[i].lock);
}

void py_lock_device(struct py_device *d) {
    lock_detached(&d->lock);
    take_state(d);
}

void py_unlock_device(struct py_device *d) { pthread_mutex_unlock(&d->lock); }

static struct py_device *open_device(const char *name) {
    if (ndevices == PY_DEVICES) {
        PyErr_Format(PyExc_RuntimeError, "ridge: %d devices are open already", PY_DEVICES);
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
    d->at = ndevices;
    ndevices++;
    return d;
}

static struct py_device *find_device(const char *name) {
    if (!name) return py_default;
    for (int i = 0, n = ndevices; i < n; i++)
        if (!strcmp(devices[i].name, name)) return &devices[i];
    return NULL;
}

struct py_device *py_open(const char *name) {
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    char upper[16] = "";
    for (size_t i = 0; name && name[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 32 : name[i]);
    if (name) name = upper;
    struct py_device *d = find_device(name);
    if (d) return d;
    lock_detached(&opening);
    if (!(d = find_device(name))) d = open_device(name);
    if (!name && d) py_default = d;
    pthread_mutex_unlock(&opening);
    return d;
}

struct py_device *py_device_at(PyObject *x) {
    return by_id[py_of(x)->ctx];
}

void py_on(struct py_call *k, PyObject *x) {
    if (!k->d) k->d = py_device_at(x);
}

int py_handle(struct py_call *k, PyObject *x, rg_tensor *out) {
    struct py_device *d = py_device_at(x);
    py_on(k, x);
    if (d != k->d) {
        py_raise_at(k, RG_EINVAL, "tensors of two devices, %s and %s; move one: x.to(\"%s\")", k->d->name,
                    d ? d->name : "none", k->d->name);
        return -1;
    }
    py_lock(k);
    *out = py_of(x)->t;
    return 0;
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
    o->t = t, o->ctx = (uint32_t)(t.id >> 56);
    atomic_init(&o->flags, flags | (py_thread.in_jit ? PY_PASSING : 0));
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
    int st = rg_status_of(d->c);
    reword(st ? rg_error(d->c) : "a tensor that failed or was freed", text, sizeof text);
    rg_clear_error(d->c);
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
