/* NumPy's C interface, which numpys_setup imports for all who include this, and element types by
 * what NumPy calls them there. To be included before anything else. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gred_numpy
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "common/element.h"

/* Of a number of that type; ELEMENTS: NumPy may call it otherwise, or it is not supported. */
enum element numpys_common_element(int type);

/* False with a TypeError that says what is supported. */
bool numpys_element_of(PyArray_Descr *, const char *name, enum element *element);
