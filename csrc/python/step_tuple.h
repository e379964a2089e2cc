/* Steps and the memory that they work in as plain tuples; see python/schedule_tuple.h. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/steps.h"

/* One more step of a list, of which the kind may have no name. False with an exception set. */
bool step_append(PyObject *list, const char *when, const char *work, const struct step *);

/* The list, which is released, as a tuple; NULL if it is not complete. */
PyObject *steps_end(PyObject *list, bool complete);

/* Of parts. A new reference. */
PyObject *arena_tuple(const struct arena *);
