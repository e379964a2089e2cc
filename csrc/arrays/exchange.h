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

struct exchange;
struct dl_versioned;

/* Memory that a library has given for such an array, which may be written before there is one. */
struct exchange_memory {
    PyObject *offer; /* keeps the functions; NULL: there is none */
    const struct exchange *functions;
    struct dl_versioned *tensor;
};

/* Memory of the library of request->like, for elements in C order, which begin at *at. 1: there it
 * is. 0: the array's type offers no such functions, or none that make tensors. -1 with an exception
 * set. */
int exchange_allocate(const struct result_request *, struct exchange_memory *, void **at);

/* The array in that memory, which is its own then or given back; a new reference. NULL with an
 * exception set. */
PyObject *exchange_array(struct exchange_memory *);

/* Gives back memory that has become no array. */
void exchange_release(struct exchange_memory *);

/* Whether objects of the type offer to be viewed so. */
bool exchange_is_offered(PyTypeObject *type);
