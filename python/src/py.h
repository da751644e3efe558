/* py.h: what the files of the Python extension share. One module, ridge._ridge, in the limited API of CPython 3.11; a
 * free-threaded Python, which has no limited API, gets one of its own version that runs without the GIL.
 *
 *   call.c      one call from Python: its source line, its device's lock, its arguments, its exception
 *   convert.c   Python objects as operands, lists, dtypes and devices
 *   data.c      data as tensors: numbers, nested lists, buffers
 *   tensor.c    the type Tensor: operators, attributes, what reads values
 *   index.c     x[..] and x[..] = v with integers, slices, None and ...
 *   share.c     memory without copies: the buffer protocol and DLPack, both ways
 *   jit.c       ridge.jit: a function that is recorded and replayed
 *   objects.c   optimisers, files, profiles: the rest of the library's objects
 *   world.c     worlds of ranks
 *   module.c    the module
 * The bulk of functions is generated: gen.py writes it from include/ridge.h.
 *
 * A context is used by one thread at a time, so each device has a lock (recursive: a jit calls Python, which calls us). Work
 * runs without the GIL. Who waits for a lock does not hold the GIL, so the two never wait for one another. The handle of a tensor
 * is read and replaced under its device's lock; no_grad and the module that goes forward are the thread's, and a context takes
 * them over with its lock.
 * Tests: python/tests */
#ifndef RIDGE_PY_H
#define RIDGE_PY_H

#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define RG_NO_SITES
#include <ridge.h>

#include <pthread.h>
#include <stdatomic.h>

/* ---- objects --------------------------------------------------------------------------------------------- */

/* leaf: += assigns to it; replayed: output of a jit; passing: made in a jit's function, whose scope ends it */
enum { PY_LEAF = 1, PY_PARAM = 2, PY_REPLAYED = 4, PY_PASSING = 8 };

struct py_object {
    PyObject_HEAD rg_tensor t; /* under its device's lock */
    _Atomic uint32_t flags;
    uint32_t ctx; /* number of its device's context */
};
static inline struct py_object *py_of(PyObject *o) { return (struct py_object *)o; }

extern PyTypeObject *py_tensor_type, *py_dtype_type;
extern PyObject *py_error_type; /* ridge.Error */

/* Attributes that are asked for often. Names made anew for each question fill CPython's cache of attributes. */
enum { PY_ARRAY, PY_ARRAY_UFUNC, PY_DLPACK, PY_CO_FILENAME, PY_F_BACK, PY_NAMES };
extern PyObject *py_name[PY_NAMES];
static inline bool py_is_tensor(PyObject *o) { return PyObject_TypeCheck(o, py_tensor_type); }

enum { PY_DEVICES = 16 };
struct py_device {
    rg_ctx *c; /* NULL: not open */
    pthread_mutex_t lock;
    rg_scope no_grad; /* what the context has of the thread that locked it last */
    const char *module;
    int at; /* among the devices */
    char name[16];
};

struct py_thread {
    const char *module;  /* the one that goes forward */
    int no_grad, in_jit; /* how many are entered; functions of a jit that are running */
};
extern _Thread_local struct py_thread py_thread;

/* ---- one call (call.c) ------------------------------------------------------------------------------------- */

enum { PY_TEMPS = 24, PY_INTS = 160 };
struct py_call {
    const char *file; /* of the user's line; lives as long as the process */
    int line;
    struct py_device *d; /* of the first tensor; NULL: none yet */
    bool locked;
    uint32_t temps, nints;
    rg_tensor *list;          /* malloc */
    PyObject *held;           /* what text arguments lie in */
    rg_tensor temp[PY_TEMPS]; /* freed at the end */
    int64_t ints[PY_INTS];
};
void py_begin(struct py_call *);
void py_finish(struct py_call *);
void py_later(void (*fn)(void *), void *arg); /* runs fn(arg) when this call is over; from any thread */
const char *py_intern(const char *);          /* a copy that lives as long as the process */
int py_temp(struct py_call *, rg_tensor);     /* -1: it failed, the exception is set */
void py_on(struct py_call *, PyObject *);     /* the tensor's device is this call's, if it has none yet */
int py_handle(struct py_call *, PyObject *tensor,
              rg_tensor *); /* under the lock; -1: it is on another device */
struct py_device *
py_device_of(struct py_call *); /* opens the default one if there is none; NULL: exception */
void py_lock(struct py_call *);
#define PY_LOCK(k) (py_lock(k))
#define PY_WORK(k, statement)                          \
    do {                                               \
        py_lock(k);                                    \
        PyThreadState *py_saved = PyEval_SaveThread(); \
        statement;                                     \
        PyEval_RestoreThread(py_saved);                \
    } while (0)
PyObject *py_made(struct py_call *, rg_tensor,
                  uint32_t flags);             /* a new Tensor; or the exception of the call that failed */
PyObject *py_did(struct py_call *, rg_status); /* None, or the exception */
PyObject *
py_raise(struct py_device *); /* the context's error as an exception, which it is free of then; NULL */
PyObject *py_raise_at(struct py_call *, int status, const char *fmt, ...);
PyObject *py_wrap(rg_tensor, uint32_t flags);
int py_own_memory(struct py_call *, PyObject *);
struct py_device *py_open(const char *name); /* NULL: the default; NULL on error */
struct py_device *py_device_at(PyObject *tensor);
struct py_device *py_devices(int *n);
extern struct py_device *_Atomic py_default;
void py_take_state(void); /* this thread's no_grad or module changed */
void py_lock_device(struct py_device *);
void py_unlock_device(struct py_device *);

struct py_signature {
    const char *name;
    const char *const *names;
    uint8_t n, required;
    uint8_t varargs; /* 1 + the parameter that takes all positional arguments from there on */
};
enum { PY_PARAMS = 20 };
/* Arguments by parameter, borrowed, NULL where none was given. *made: a tuple to release, or NULL. */
int py_bind(const struct py_signature *, PyObject *self, PyObject *const *arg, Py_ssize_t n, PyObject *kw,
            PyObject **out, PyObject **made);
typedef PyObject *py_body(struct py_call *, PyObject *const *);
PyObject *py_invoke(const struct py_signature *, py_body *, PyObject *self, PyObject *const *arg,
                    Py_ssize_t n, PyObject *kw);
#define PY_FUNCTION(name)                                                                       \
    static PyObject *fn_##name(PyObject *m, PyObject *const *arg, Py_ssize_t n, PyObject *kw) { \
        (void)m;                                                                                \
        return py_invoke(&sig_##name, do_##name, NULL, arg, n, kw);                             \
    }
#define PY_METHOD(name)                                                                            \
    static PyObject *me_##name(PyObject *self, PyObject *const *arg, Py_ssize_t n, PyObject *kw) { \
        return py_invoke(&sig_##name, do_##name, self, arg, n, kw);                                \
    }
#define PY_GIVEN(o) ((o) && (o) != Py_None)

/* ---- arguments (convert.c, data.c): 0, or -1 with an exception ------------------------------------------------ */

int py_tensor(struct py_call *, PyObject *, rg_tensor *);
int py_operand(struct py_call *, PyObject *, rg_operand *);
int py_is_operand(PyObject *); /* something that an operator takes; else NotImplemented */
int py_ints(struct py_call *, PyObject *, rg_ints *);
int py_list(struct py_call *, PyObject *, rg_tensors *);
int py_double(struct py_call *, PyObject *, double *);
int py_int(struct py_call *, PyObject *, int64_t *);
int py_uint(struct py_call *, PyObject *, uint32_t *);
int py_seed(struct py_call *, PyObject *, uint64_t *);
int py_bool(struct py_call *, PyObject *, bool *);
int py_dtype(struct py_call *, PyObject *, rg_dtype *);
int py_device(struct py_call *, PyObject *, rg_ctx **);
int py_text(struct py_call *, PyObject *, const char **);
int py_enum(PyObject *, const char *const *names, int *);
int py_flatten(struct py_call *, rg_tensor *);
/* Data as a tensor of dtype *dt (NULL: its own). RG_NONE: an exception. */
rg_tensor py_from(struct py_call *, PyObject *, const rg_dtype *dt);
int py_format(const char *format, Py_ssize_t itemsize); /* of a buffer as rg_dtype; -1: none of ours */
const char *py_format_of(rg_dtype);                     /* NULL: Python has none */

PyObject *py_dtype_object(rg_dtype);
PyObject *py_shape(const int64_t *d, int64_t n);

/* ---- the parts of the module ------------------------------------------------------------------------------------ */

extern PyMethodDef py_functions[], py_methods[]; /* generated */
extern PyMethodDef py_jit_functions[], py_object_functions[], py_share_functions[], py_world_functions[];
PyObject *py_getitem(PyObject *x, PyObject *key);
int py_setitem(PyObject *x, PyObject *key, PyObject *v);
int py_getbuffer(PyObject *, Py_buffer *, int flags);
void py_releasebuffer(PyObject *, Py_buffer *);
PyObject *py_dlpack(PyObject *self, PyObject *const *arg, Py_ssize_t n, PyObject *kw);
PyObject *py_dlpack_device(PyObject *self, PyObject *);
rg_tensor py_from_dlpack(struct py_call *, PyObject *);
int py_add_tensor(PyObject *module);
int py_add_jit(PyObject *module);
int py_add_objects(PyObject *module);
PyObject *py_helper(const char *name); /* a function of ridge/_helpers.py, borrowed; NULL: exception */

#endif
