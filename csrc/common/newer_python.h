/* What newer Pythons have for code that runs without the GIL, for the older ones, which always run
 * such code with it. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030d0000

/* 1 with a new reference, 0 without one, -1 with an exception set and without one; so do all. */
static inline int PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **value)
{
    *value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    if (*value)
        return 1;
    return PyErr_Occurred() ? -1 : 0;
}

static inline int PyObject_GetOptionalAttr(PyObject *object, PyObject *name, PyObject **value)
{
    *value = PyObject_GetAttr(object, name);
    if (*value)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return 0;
}

static inline PyObject *PyList_GetItemRef(PyObject *list, Py_ssize_t index)
{
    return Py_XNewRef(PyList_GetItem(list, index));
}

#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION()         }

#endif

#if PY_VERSION_HEX < 0x030c0000

static inline PyObject *PyType_GetDict(PyTypeObject *type)
{
    return Py_XNewRef(type->tp_dict);
}

#endif
