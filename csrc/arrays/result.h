/* New arrays for results in device memory: of the library that the caller's array is of, from its
 * own allocator. First there is the memory, which a launch needs, and then, while the device works,
 * the array. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/exchange.h"
#include "arrays/libraries.h"

struct result_memory {
    PyObject *array; /* where the library makes both at once; else NULL */
    struct exchange_memory exchanged;
    struct cupy_memory of_cupy;
};

/* 1: there is memory for an array in C order, whose elements begin at *at. 0: the library is not
 * known to make any; no exception is set. -1 with an exception set. */
int result_allocate(const struct result_request *, struct result_memory *, void **at);

/* The array in that memory; a new reference. NULL with an exception set. */
PyObject *result_array(const struct result_request *, struct result_memory *);

/* Gives back memory that has become no array. */
void result_release(struct result_memory *);

/* gred's own array of memory that it got, which `memory` keeps. NULL with an exception set. */
PyObject *result_own(const struct result_request *, PyObject *memory);

/* What such an array, once work with it is under way, becomes for the owner of another: its
 * library's, where that takes it. A new reference; NULL with an exception set. */
PyObject *result_hand_over(PyObject *own, PyObject *like);
