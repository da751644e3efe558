/* module.c: the extension module ridge._ridge. One phase of initialization, one interpreter: the library's contexts are the
 * process's.
 * Tests: python/tests */
#include "py.h"

#include <string.h>

int py_add_dtypes(PyObject *);
PyObject *py_new_tensor(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
extern PyMethodDef py_set_package;

/* Functions in Python that C calls: _helpers.py registers them when the package is imported. */
static PyObject *helpers;

PyObject *py_helper(const char *name) {
    PyObject *f = helpers ? PyDict_GetItemString(helpers, name) : NULL;
    if (!f)
        PyErr_Format(PyExc_ImportError, "ridge._ridge is used without the package ridge (%s is missing)",
                     name);
    return f;
}

static PyObject *set_helpers(PyObject *m, PyObject *dict) {
    (void)m;
    Py_XDECREF(helpers);
    helpers = Py_NewRef(dict);
    Py_RETURN_NONE;
}

PyObject *py_name[PY_NAMES];

static int make_names(void) {
    static const char *const text[PY_NAMES] = {"__array__", "__array_ufunc__", "__dlpack__", "co_filename",
                                               "f_back"};
    for (int i = 0; i < PY_NAMES; i++)
        if (!py_name[i] && !(py_name[i] = PyUnicode_InternFromString(text[i]))) return -1;
    return 0;
}

static PyMethodDef own[] = {{"_set_helpers", set_helpers, METH_O, NULL},
                            {"tensor", (PyCFunction)(void *)py_new_tensor, METH_FASTCALL | METH_KEYWORDS,
                             "tensor(data, dtype=None, device=None, requires_grad=False)\n--\n\nA tensor of "
                             "a number, nested lists or an array; copies."},
                            {0}};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT,
                                    "ridge._ridge",
                                    "Ridge's C extension; import ridge.",
                                    -1,
                                    own,
                                    NULL,
                                    NULL,
                                    NULL,
                                    NULL};

PyMODINIT_FUNC PyInit__ridge(void) {
    PyObject *m = PyModule_Create(&module);
    if (!m) return NULL;
    PyMethodDef package[] = {py_set_package, {0}};
    static PyMethodDef kept[2];
    memcpy(kept, package, sizeof kept);
#ifdef Py_GIL_DISABLED
    if (PyUnstable_Module_SetGIL(m, Py_MOD_GIL_NOT_USED)) return Py_DECREF(m), NULL;
#endif
    if (make_names() || PyModule_AddFunctions(m, kept) || PyModule_AddFunctions(m, py_functions) ||
        PyModule_AddFunctions(m, py_jit_functions) || PyModule_AddFunctions(m, py_object_functions) ||
        PyModule_AddFunctions(m, py_share_functions) || PyModule_AddFunctions(m, py_world_functions) ||
        py_add_dtypes(m) || py_add_tensor(m) || py_add_jit(m) || py_add_objects(m) ||
        PyModule_AddStringConstant(m, "__version__", rg_version())) {
        Py_DECREF(m);
        return NULL;
    }
    return m;
}
