/* The shape of calls that leave the method to gred, as somebody else than the table would have it:
 * for tests of every shape, and for the script that finds the table. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* (block, elements): threads of a block and the elements that each should get at least, until it
 * is called again; (0, 0): as the table has them. */
PyObject *forced_tuning(PyObject *module, PyObject *arguments);
