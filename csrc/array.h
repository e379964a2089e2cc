/* Any array-like as one view: where its elements lie, what they are and how many. NumPy arrays,
 * buffers, sequences and scalars become a host view; an object with __cuda_array_interface__
 * becomes a view of its GPU memory, as it lies. */
#pragma once

#include "element.h"

#include <stdbool.h>

typedef struct _object PyObject; /* so that backends, which include this, need not know Python */

struct view {
    const void *data;
    uint64_t n;
    enum element element;
    bool on_gpu;
    int gpu;          /* which, once the plan has asked the runtime */
    bool has_stream;  /* the producer's work on `stream` comes first */
    uintptr_t stream; /* a cudaStream_t: 1 is the legacy default stream, 2 the per-thread one */
    PyObject *owner;  /* keeps the memory alive; the view's own reference */
};

/* False with an exception set. `name` is the argument's, for messages. */
bool array_view(PyObject *object, const char *name, struct view *view);

/* Needs the GIL. */
void array_release(struct view *view);

/* The element type that a dtype=, or a type string, names. False with a TypeError that says what is
 * supported. */
bool array_element(PyObject *dtype, const char *name, enum element *element);

/* NumPy's scalar of one value. */
PyObject *array_scalar(union scalar value, enum element element);

/* Imports NumPy's C interface; -1 with an exception set. */
int array_setup(void);
