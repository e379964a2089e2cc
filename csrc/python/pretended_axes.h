/* The normal form of axes of an array that is not there, for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/element.h"

/* (shape, strides, mask_strides, size, axes, in_order) to (kind, aligned, place of the first
 * result, where its elements and its mask begin, kept, reduced): kept as tuples of shape, strides,
 * strides of the mask and places, reduced the same without places. mask_strides may be None. */
PyObject *pretended_axes(PyObject *module, PyObject *arguments);

/* (shape, strides, size, axes, bytes of an accumulator, multiprocessors) to a launch_config, its
 * members in order, for a kernel that takes columns. */
PyObject *pretended_sharing(PyObject *module, PyObject *arguments);

/* (block, team, readers, stacked, rounds, splits, groups) of long rows of a type that a kernel
 * knows, given (shape, strides, size, axes, bytes of a state, multiprocessors); None: they are not
 * long. */
PyObject *pretended_long_rows(PyObject *module, PyObject *arguments);

/* A type of so many bytes: a power of two, up to 16. */
enum element pretended_element(unsigned size);
