/* NumPy's element types, values and arrays, as gred asks for them and makes them. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/scalar.h"

/* The element type that NumPy's dtype, or anything that names one, stands for. False with a
 * TypeError that says what is supported. */
bool numpys_element(PyObject *dtype, const char *name, enum element *element);

/* The smallest type that both can be cast to, as NumPy has it, and beside it: bfloat16 stays
 * bfloat16 with bool and integers of 8 bits, all of which it holds, and is as good as float32 with
 * others. False with an exception set. */
bool numpys_promote(enum element, enum element, enum element *promoted);

/* NumPy's scalar of one value. A bfloat16 is one of ml_dtypes, or a float32 without that. */
PyObject *numpys_scalar(union scalar value, enum element element);

/* The value of an element of that type that a Python object is assigned to, with NumPy's
 * exceptions. */
bool numpys_value(PyObject *object, enum element element, union scalar *value);

/* A new NumPy array in C order, not filled, and where its elements begin. A bfloat16 is one of
 * ml_dtypes; without that *element becomes float32. NULL with an exception set. */
PyObject *numpys_new(unsigned dimensions, const uint64_t *shape, enum element *element,
                     void **elements);

/* A new NumPy array in C order of that shape, of what is broadcast to it, and where its elements
 * begin; NULL with an exception set. Complex numbers are refused unless `takes_complex`. */
PyObject *numpys_broadcast(PyObject *object, const char *name, bool takes_complex,
                           unsigned dimensions, const uint64_t *shape,
                           const struct complex128 **elements);

/* Whether it is what NumPy passes on for an argument that was left out: numpy._NoValue. */
bool numpys_is_no_value(PyObject *object);

/* Whether the object is a scalar of its bools. */
bool numpys_is_bool(PyObject *);

/* Imports NumPy's C interface; -1 with an exception set. */
int numpys_setup(void);
