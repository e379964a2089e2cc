/* What launches have counted and recorded, as gred/counting.py and gred/recording.py read it. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "run/counting.h"

/* A tuple of a tuple each. NULL with an exception set. */
PyObject *counted_launches_to_python(const struct counting *);
