/* Shared by the files of gred._core: state, functions, running plans, device memory. */
#pragma once

#include <Python.h>

#include "common/quantile.h"
#include "plan/plan.h"
#include "plan/platform.h"
#include "python/foreign.h"
#include "run/backend.h"

/* The module's mutable state. */
struct module_state {
    struct platforms platforms;
    struct cached_plans *cached_plans;
    PyObject *thread_order;    /* a ContextVar: (order, seed) of the simulated device's threads */
    PyObject *workspace_limit; /* a ContextVar: bytes */
    PyTypeObject *device_memory;
    struct foreign foreign;
    struct substitute substitute;
};

/* ---- functions for Python other than the reductions. Records are plain tuples, which gred's
 * Python modules give names. An exact sum is EXACT_WORDS normalized 64-bit words; see
 * common/exact.h ----
 *
 * NAMED(name, required, positional, unnamed, arguments...)
 *   takes keywords, as in struct signature; the C function is slots_name.
 * PLAIN(name, flags)
 *   takes an object, or a tuple of them; the C function is core_name. */
#define FUNCTIONS(NAMED, PLAIN)                                                                    \
    NAMED(dot, 2, 2, 0, A, B, AXIS, OUT, METHOD, DEVICE, STREAM)                                   \
    NAMED(kernel_time, 5, 5, 5, A, OP, SECONDS, WARMUP, COLD, METHOD, BLOCK_SIZE, DTYPE, DEVICE)   \
    NAMED(device_time, 5, 5, 5, DEVICE, NBYTES, SECONDS, WARMUP, COLD)                             \
    NAMED(reduceat, 11, 11, 11, OP, VALUES, OFFSETS, DTYPE, OUT, MAY_BE_EMPTY, DEVICE, STREAM,     \
          ORD, DDOF, METHOD)                                                                       \
    NAMED(by_key, 8, 8, 8, OP, KEYS, VALUES, NUM_KEYS, DROPS, DTYPE, DDOF, METHOD)                 \
    NAMED(select_rows, 5, 5, 5, VALUES, NUM_KEYS, INNER, QUANTILES, DTYPE)                         \
    NAMED(each, 9, 9, 9, OP, A, DTYPE, OUT, ORD, DDOF, INITIAL, METHOD, STREAM)                    \
    NAMED(settle, 7, 7, 7, A, OP, AXIS, DTYPE, ORD, DDOF, METHOD)                                  \
    NAMED(counters, 1, 2, 2, A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, MULTIPROCESSORS, ROOM,      \
          CHECKED)                                                                                 \
    NAMED(explain, 1, 2, 2, A, OP, AXIS, KEEPDIMS, METHOD, BLOCK_SIZE, DTYPE, DEVICE, WHERE, OUT,  \
          INITIAL)                                                                                 \
    PLAIN(by_place, METH_VARARGS)                                                                  \
    PLAIN(quantile_places, METH_VARARGS)                                                           \
    PLAIN(select, METH_VARARGS)                                                                    \
    PLAIN(simulated_memory, METH_O)                                                                \
    PLAIN(substitute, METH_VARARGS)                                                                \
    PLAIN(threads, METH_O)                                                                         \
    PLAIN(parse, METH_O)                                                                           \
    PLAIN(element, METH_VARARGS)                                                                   \
    PLAIN(exact_sum, METH_O)                                                                       \
    PLAIN(dots, METH_VARARGS)                                                                      \
    PLAIN(exact_products, METH_VARARGS)                                                            \
    PLAIN(exact_normalised, METH_O)                                                                \
    PLAIN(exact_rounded, METH_VARARGS)                                                             \
    PLAIN(methods, METH_NOARGS)                                                                    \
    PLAIN(reductions, METH_NOARGS)                                                                 \
    PLAIN(devices, METH_NOARGS)

#define CORE_FUNCTION(name)                                                                        \
    PyObject *core_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count,          \
                          PyObject *names)

/* Its arguments are borrowed references, NULL if missing. */
#define SLOTS_FUNCTION(name) PyObject *slots_##name(struct module_state *state, PyObject **slots)

#define NAMED(name, ...)                                                                           \
    CORE_FUNCTION(name);                                                                           \
    SLOTS_FUNCTION(name);
#define PLAIN(name, ...) PyObject *core_##name(PyObject *module, PyObject *arguments);
FUNCTIONS(NAMED, PLAIN)
#define REDUCTION(name, ...) CORE_FUNCTION(name);
#define VARIANT(name, ...)
#include "common/reductions.def"
#undef NAMED
#undef PLAIN

/* Sets the docstrings, from gred/docstrings.py, of the first functions, which have to be the
 * reductions in their order and dot. False with an exception set. */
bool signatures_document(PyMethodDef *functions);

/* ---- running plans, without the GIL if that pays. False with an exception set ---- */

/* Sets run->answer, or writes the plan's results. */
bool execute_plan(struct module_state *, const struct plan *plan, struct run *run);

/* Runs a plan that has no elements or no results; needs no GIL. False for other plans. */
bool run_empty(const struct plan *plan, struct run *run);

/* Runs a plan or, if it is NULL, the measurement of run->timing. Releases the GIL, unless that
 * takes longer than the plan. */
bool execute_on(struct module_state *, const struct platform *, const struct plan *, struct run *);

/* Reads (shares, method, skips_nan, sorted), borrowing the shares; the caller fills in `input` and
 * `out`. False with an exception set. */
bool quantiles_parse(PyObject *tuple, struct quantiles *);

/* The function of struct foreign, with the module's state. */
bool foreign_reduce(void *state, const struct foreign_call *, char *why, size_t length);

/* ---- the Python type DeviceMemory, which gred allocates for results on a device ---- */

extern PyType_Spec device_memory_spec;

/* New memory on a platform's device, also described in the struct. NULL with an exception set. */
PyObject *device_memory_new(struct module_state *, const struct platform *, int device,
                            size_t bytes, struct device_memory *);
