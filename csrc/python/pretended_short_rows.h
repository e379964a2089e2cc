/* How short rows that are not there would be shared among threads, for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* pretended_short_rows(results, n, size, data, multiprocessors, stride, pitch): of rows of n
 * elements of so many bytes, the first of which lies at `data`, with so many bytes from an element
 * to the next and from a row to the next, if these are not 0: (several, staged, block, team,
 * rounds, load, turned, turns, bytes of shared memory, unit, step); None: they are too long. */
PyObject *pretended_short_rows(PyObject *module, PyObject *arguments);
