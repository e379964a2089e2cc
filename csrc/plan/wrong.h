/* Arguments that are wrong, or not there. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* Whether there is one, and it is not None. */
bool argument_given(PyObject *argument);

/* Sets a TypeError that says what is accepted, and returns false. */
bool wrong_type(const char *name, const char *accepted, PyObject *value);

/* A str's text, without a NUL or a surrogate in it; NULL (no exception) if it has one. */
const char *plain_text(PyObject *string);
