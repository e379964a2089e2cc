/* What is wrong with what a kernel accesses, as gred/lab/checking.py reads it. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "run/checking.h"

/* A tuple, in place of the exception that the fault has ended the run with. NULL, and that as it
 * is, where there is none. */
PyObject *fault_instead(const struct fault *);
