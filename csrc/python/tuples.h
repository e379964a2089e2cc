/* Tuples of Python's, made an item at a time. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A new reference, or NULL with an exception set; so many of them make a tuple. */
typedef PyObject *tuple_item(const void *context, size_t index);

PyObject *tuple_of(size_t count, tuple_item *, const void *context);
