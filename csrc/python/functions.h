/* What gred._core offers to Python, but for its types. Each function is described in
 * python/module.c, and defined in a file of its subject. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define FAST(name)                                                                                 \
    PyObject *name(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
#define FAST_UNNAMED(name)                                                                         \
    PyObject *name(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
#define PLAIN(name) PyObject *name(PyObject *module, PyObject *argument)

/* The reductions. */
#define REDUCTION(name, ...) FAST(reduce_##name);
#define VARIANT(name, ...)
#include "common/reductions.def"

FAST(dot_call);
FAST(explain_call);
FAST(counters_call);
FAST(measure_kernel_time);
FAST(measure_read_limit);
FAST(measure_launch_limit);

/* reduceat(reduction, values, offsets, dtype, out, may_be_empty, device, stream): values of one
 * dimension, and offsets of one dimension that are int64 and lie one after the other. */
FAST(reduceat_call);

/* Superaccumulators as bytes, for gred/exact.py to make objects of: EXACT_WORDS words of 64 bits,
 * as common/exact.h has them, normalised. */
PLAIN(exact_sum);             /* of an array */
FAST_UNNAMED(exact_products); /* the sum of the products of two arrays' elements */
PLAIN(exact_normalised);      /* an error where they are not those of a sum */
FAST_UNNAMED(exact_rounded);  /* divided by an integer, and rounded to an element type */

/* Tables as plain tuples, which gred/records.py gives names to. */
PLAIN(describe_methods);
PLAIN(describe_reductions);
PLAIN(describe_devices);

/* threads(most): bounds the host's threads that a run may have from now on, unless `most` is 0, and
 * returns how many they are. */
PLAIN(state_threads);

/* Puts a kernel of the user's own in the place of a rung, on this module's simulated device or on
 * GPUs. */
PLAIN(state_substitute);

#undef FAST
#undef FAST_UNNAMED
#undef PLAIN
