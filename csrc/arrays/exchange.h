/* DLPack's C exchange interface: a type offers functions, by which its objects become views without
 * a call of Python's. https://dmlc.github.io/dlpack/latest/python_spec.html */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

/* 1: a view was made. 0: the object's type offers no such functions, or they cannot do this, and
 * what else the object offers has the word; no exception is set. -1: an exception is set that is no
 * Exception, such as KeyboardInterrupt. */
int exchange_view(PyObject *object, const struct view_request *, struct view *view);

/* A new array in device memory. */
struct result_request {
    PyObject *like; /* the caller's array, on a device; and where that is */
    int device;
    enum element type;
    unsigned dimensions;
    const uint64_t *shape;
};

/* One of the library of request->like, in C order, not filled. 1: *array is it, and its elements
 * begin at *at. 0: its type offers no such
 * functions, or none that make tensors. -1 with an exception set. */
int exchange_make(const struct result_request *, PyObject **array, void **at);

/* Whether objects of the type offer to be viewed so. */
bool exchange_is_offered(PyTypeObject *type);

/* Makes the constants that the others use; -1 with an exception set. */
int exchange_setup(void);
