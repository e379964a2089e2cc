/* What classes have, without the exceptions by which asking for attributes says that there is none.
 */
#pragma once

#include "common/newer_python.h"

#include <stdbool.h>

/* What a class has of its own, not from those that it is derived from; a new reference. NULL
 * without an exception if there is nothing. */
static inline PyObject *class_own_attribute(PyObject *class, PyObject *name)
{
    PyObject *dict = PyType_GetDict((PyTypeObject *)class), *value = NULL;
    if (!dict || PyDict_GetItemRef(dict, name, &value) < 0)
        PyErr_Clear();
    Py_XDECREF(dict);
    return value;
}
