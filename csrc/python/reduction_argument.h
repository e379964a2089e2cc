/* A reduction by its name, for functions that take one as an argument. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/reduction.h"

/* The sum where it was left out. False with an exception set. */
bool reduction_parse(PyObject *object, const char *argument, enum reduction *reduction);
