/* Quantities with units, such as those of Pint, Astropy and unyt, of which a view would show the
 * numbers alone. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* False with a TypeError that says how to go on if the object has a unit; `name` is the argument's.
 */
bool units_none(PyObject *object, const char *name);

/* Makes the constants that the other uses; -1 with an exception set. */
int units_setup(void);
