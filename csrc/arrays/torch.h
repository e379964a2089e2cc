/* What gred knows of PyTorch beyond the protocols, which do not tell all: the stream that a
 * tensor's work goes to, and whether its elements are what lies in memory. */
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

/* False with a ValueError if the array is a tensor whose history PyTorch keeps, which nobody else
 * may write to: its interfaces decline, and each for another reason. */
bool torch_check_writable(PyObject *array, const char *name);

/* 1 if a tensor's memory says all of it: no elements that are conjugated or negated only when they
 * are read, and no history that reading would not be part of. 1 for other libraries' arrays, too.
 * 0, or -1 with an exception set. */
int torch_is_plain(PyObject *array, bool is_complex);

/* Makes the constants that the others use; -1 with an exception set. */
int torch_setup(void);
