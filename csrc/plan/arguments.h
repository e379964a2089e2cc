/* Parsing of arguments: missing and wrong ones, integers, method=, axis= and keepdims=. Functions
 * returning bool return false with an exception set, except argument_given. */
#pragma once

#include <Python.h>

#include "common/method.h"
#include "common/reduction.h"

#include <stdbool.h>

/* Whether the argument is neither missing nor None. */
bool argument_given(PyObject *argument);

/* Raises a TypeError that says what is accepted, and returns false. */
bool wrong_type(const char *name, const char *accepted, PyObject *value);

/* Reads an integer, not a bool; one that does not fit becomes -1. */
bool integer_parse(PyObject *object, const char *name, const char *accepted, long *value);

/* A str's UTF-8 text; NULL without an exception if it has a NUL or a surrogate. */
const char *plain_text(PyObject *string);

/* A parsed method=: a method of reducing an array, or a property of the result. */
struct method_argument {
    const struct method *named; /* NULL: gred chooses */
    bool exact, batch_invariant;
};

bool method_parse(PyObject *method, struct method_argument *);

/* A class of numpy.exceptions; a new reference, or NULL with an exception set. */
PyObject *numpy_exception(const char *name);

/* Reads the axes of an array with this many dimensions, a bit each. Exceptions are NumPy's. */
bool axis_parse(PyObject *axis, enum reduction, unsigned dimensions, uint64_t *axes);

bool keepdims_parse(PyObject *keepdims, bool *kept);
