/* Arguments that are wrong, or not there; integers, method=, axis= and keepdims=. Functions of bool
 * return false with an exception set, but for the first. */
#pragma once

#include <Python.h>

#include "common/method.h"
#include "common/reduction.h"

#include <stdbool.h>

/* Whether there is one, and it is not None. */
bool argument_given(PyObject *argument);

/* Sets a TypeError that says what is accepted, and returns false. */
bool wrong_type(const char *name, const char *accepted, PyObject *value);

/* An integer, and no bool; one that does not fit becomes -1. */
bool integer_parse(PyObject *object, const char *name, const char *accepted, long *value);

/* A str's text, without a NUL or a surrogate in it; NULL (no exception) if it has one. */
const char *plain_text(PyObject *string);

/* What method= asks for: a way through an array, or what is to come of it. */
struct asked_method {
    const struct method *way; /* NULL: gred's choice */
    bool exact, batch_invariant;
};

bool method_parse(PyObject *method, struct asked_method *);

/* What numpy.exceptions has by that name; a new reference, or NULL with an exception set. */
PyObject *numpys_exception(const char *name);

/* The axes of an array of so many dimensions, a bit each. Exceptions are NumPy's. */
bool axis_parse(PyObject *axis, enum reduction, unsigned dimensions, uint64_t *axes);

bool keepdims_parse(PyObject *keepdims, bool *kept);
