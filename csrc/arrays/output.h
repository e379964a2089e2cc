/* out=: one element of somebody's array, to write the result to. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

struct output {
    PyObject *object; /* what the caller gave, and gets back; NULL: out= was left out. Borrowed */
    struct view view;
};

/* False with an exception set; the output is to be released in either case. */
bool output_parse(PyObject *out, const struct view_request *, struct output *);
void output_release(struct output *);

/* Writes a result to host memory, converted as NumPy's assignment with casting='unsafe' does. */
void output_store(struct output *, union scalar result, enum element type);
