/* Arguments that are wrong, or not there; and method=, axis= and keepdims=. What
 * refuses one returns what PyErr_Format does, which is false. */
#pragma once

#include <Python.h>

#include "common/method.h"
#include "common/reduction.h"

#include <stdbool.h>

/* Whether there is one, and it is not None. */
bool argument_given(PyObject *argument);

/* Sets a TypeError that says what is accepted, and returns false. */
bool wrong_type(const char *name, const char *accepted, PyObject *value);

/* A str's text, without a NUL or a surrogate in it; NULL (no exception) if it has one. */
const char *plain_text(PyObject *string);

/* What method= asks for: a way through an array, or what is to come of it. */
struct asked_method {
    const struct method *way; /* NULL: gred's choice */
    bool exact, batch_invariant;
};

/* False with an exception set. */
bool method_parse(PyObject *method, struct asked_method *);

/* What numpy.exceptions has by that name; a new reference, or NULL with an exception set. */
PyObject *numpys_exception(const char *name);

/* The axes of an array of so many dimensions, a bit each. False with an exception set, NumPy's. */
bool axis_parse(PyObject *axis, enum reduction, unsigned dimensions, uint64_t *axes);

/* False with an exception set. */
bool keepdims_parse(PyObject *keepdims, bool *kept);
