/* What gred knows of other libraries beyond the protocols, which do not tell all: PyTorch's streams
 * and what its tensors leave to be done when they are read, JAX's arrays, which never change and
 * can be deleted, CuPy's allocator, and quantities with units. Each library is asked only once it
 * has been imported, and only of its own arrays; of others', nothing is known. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

/* The stream that an array's library works on at present, where the library is known to tell. Else
 * *stream is not given. False with an exception set. */
bool torch_stream(PyObject *array, struct stream *stream);

/* The array itself, or, where its library would conjugate or negate elements only when they are
 * read, a copy with that done; a new reference. NULL with an exception set. */
PyObject *torch_resolve(PyObject *array);

/* 1 if a tensor's memory says all of it: no elements that are conjugated or negated only when they
 * are read, and no history that reading would not be part of. 1 for other libraries' arrays, too.
 * 0, or -1 with an exception set. */
int torch_is_plain(PyObject *array, bool is_complex);

/* False with a ValueError if nobody may write to the array: a tensor whose history PyTorch keeps,
 * or an array of JAX. Their interfaces decline, and each for another reason. */
bool library_lets_write(PyObject *array, const char *name);

/* In the place of the exception that is set, if the object says that it is deleted, as JAX's can
 * be: its interfaces fail in ways of their own. */
void library_tells_deleted(PyObject *object, const char *name);

/* False with a TypeError that says how to go on if the object has a unit, of which a view would
 * show the numbers alone, as quantities of Pint, Astropy and unyt have. */
bool library_has_no_unit(PyObject *object, const char *name);

/* Memory from CuPy's allocator for an array of its own, made without a detour by Python's code. */
struct cupy_memory {
    PyObject *class, *pointer; /* NULL: there is none */
};

/* 1: there is memory from CuPy's current allocator, and it begins at *at. 0: request->like is no
 * array of CuPy's, or NumPy has no name for the type, or CuPy's current device is another one; no
 * exception is set. -1 with an exception set. */
int cupy_allocate(const struct result_request *, struct cupy_memory *, void **at);

/* An array in C order in that memory; a new reference. NULL with an exception set. */
PyObject *cupy_array(const struct result_request *, const struct cupy_memory *);

void cupy_release(struct cupy_memory *);
