/* How results along axes are made by one launch, as a tuple for gred.explain. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "run/explanation.h"

/* As of schedule_tuple, of a piece that has all elements of the results that one launch makes, for
 * a plan that may ask for more of them. A new reference. */
PyObject *along_tuple(const struct explained_along *, const struct plan *asked);
