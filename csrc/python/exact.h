/* Superaccumulators as bytes, for python/gred/exact.py to make objects of: EXACT_WORDS words of 64
 * bits, as common/exact.h has them, normalised. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The exact sum of an array. */
PyObject *exact_sum(PyObject *module, PyObject *array);

/* The exact sum of the products of two arrays' elements. */
PyObject *exact_products(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* Words, normalised. An error where they are not those of a sum. */
PyObject *exact_normalised(PyObject *module, PyObject *words);

/* Of normalised words: divided by an integer, and rounded to an element type. */
PyObject *exact_rounded(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
