/* out=: somebody's array, to write results to. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

struct output {
    PyObject *object; /* what the caller gave, and gets back; NULL: out= was left out. Borrowed */
    struct view view;
};

/* False with an exception set; the output is to be released in either case. */
bool output_view(PyObject *out, const struct view_request *, struct output *);
void output_release(struct output *);

/* Whether it has one element, or this shape. False with an exception set. */
bool output_is_one(const struct output *);
bool output_has_shape(const struct output *, unsigned dimensions, const uint64_t *shape);

/* Whether it holds results along axes as kernels leave them, of this type and one after the other
 * in C order, where nothing is that is read. It is normalised on the way. */
bool output_is_ready(struct output *, enum element type, const struct layout *read);

/* Whether it may share memory with what is read. */
bool output_overlaps(const struct output *, const struct layout *read);

/* Finds out where it lies. False with an exception set. */
bool output_locate(struct output *, const struct where *);

/* Writes a result to host memory, converted as NumPy's assignment with casting='unsafe' does. */
void output_store(struct output *, union scalar result, enum element type);

/* The same with one for each element, which lie in C order. */
void output_store_all(struct output *, const void *results, enum element type);
