/* NumPy's C interface, which numpys_setup imports for all who include this, and its element types,
 * values and arrays. Functions of bool return false with an exception set. */
#pragma once

#include <Python.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gred_numpy
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "common/scalar.h"

/* Of a number of NumPy's type; ELEMENTS: NumPy may call it otherwise, or it is not supported. */
enum element numpys_common_element(int type);

bool numpys_element_of(PyArray_Descr *, const char *name, enum element *element);

/* Of NumPy's or PyTorch's dtype, or anything that names one. */
bool numpys_element(PyObject *dtype, const char *name, enum element *element);

/* The smallest type that both can be cast to, as NumPy has it. bfloat16 stays bfloat16 with bool
 * and integers of 8 bits, all of which it holds, and is as good as float32 with others. */
bool numpys_promote(enum element, enum element, enum element *promoted);

/* NumPy's scalar of one value. A bfloat16 is one of ml_dtypes, or a float32 without that. */
PyObject *numpys_scalar(union scalar value, enum element element);

/* The value of an element that the object is assigned to, with NumPy's exceptions. */
bool numpys_value(PyObject *object, enum element element, union scalar *value);

/* A new NumPy array in C order, not filled, and where its elements begin. A bfloat16 is one of
 * ml_dtypes; without that *element becomes float32. NULL with an exception set. */
PyObject *numpys_new(unsigned dimensions, const uint64_t *shape, enum element *element,
                     void **elements);

/* Whether it is what NumPy passes on for an argument that was left out: numpy._NoValue. */
bool numpys_is_no_value(PyObject *object);

int numpys_setup(void); /* -1 with an exception set */
