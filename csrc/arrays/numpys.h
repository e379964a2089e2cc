/* NumPy's C API, which numpy_setup imports for all files that include this, and NumPy's element
 * types, scalars and arrays. Functions returning bool return false with an exception set. */
#pragma once

#include <Python.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gred_numpy
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "common/scalar.h"

/* The element type of a NumPy type number. ELEMENTS: it is an alias or not supported. */
enum element numpy_element_of_number(int type);

bool numpy_element_of_descr(PyArray_Descr *, const char *name, enum element *element);

/* The element type of a NumPy or PyTorch dtype, or of anything that names one. */
bool numpy_element_of_dtype(PyObject *dtype, const char *name, enum element *element);

/* The smallest type that both can be cast to, by NumPy's rules. bfloat16 stays bfloat16 with bool
 * and 8-bit integers, which it holds exactly, and is treated as float32 with other types. */
bool numpy_promote(enum element, enum element, enum element *promoted);

/* A NumPy scalar. bfloat16 is of ml_dtypes' type, or float32 without ml_dtypes. */
PyObject *numpy_scalar(union scalar value, enum element element);

/* Converts an object as an assignment to an element would, with NumPy's exceptions. */
bool numpy_pack(PyObject *object, enum element element, union scalar *value);

/* A new uninitialized NumPy array in C order, and its data pointer. bfloat16 is of ml_dtypes' type;
 * without ml_dtypes *element becomes float32. NULL with an exception set. */
PyObject *numpy_empty(unsigned dimensions, const uint64_t *shape, enum element *element,
                      void **elements);

/* Whether it is numpy._NoValue, which NumPy passes on for a missing argument. */
bool numpy_is_no_value(PyObject *object);

int numpy_setup(void); /* -1 with an exception set */
