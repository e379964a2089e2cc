/* Shapes as Python has them. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

/* A new tuple of lengths. */
PyObject *shape_tuple(unsigned dimensions, const uint64_t *lengths);
