#include "arrays/objects.h"

#include <stdarg.h>

struct names names;

static bool intern(PyObject **constant, const char *text)
{
    return *constant || (*constant = PyUnicode_InternFromString(text));
}

int objects_setup(void)
{
#define NAME(name) &&intern(&names.name, #name)
    return intern(&names.device_array, "gred.device_array") NAMES(NAME) ? 0 : -1;
#undef NAME
}

PyObject *object_attribute(PyObject *object, ...)
{
    va_list path;
    PyObject *name, *found = Py_NewRef(object);
    va_start(path, object);
    while (found && (name = va_arg(path, PyObject *)))
        Py_SETREF(found, PyObject_GetAttr(found, name));
    va_end(path);
    return found;
}

PyObject *class_own_attribute(PyObject *class, PyObject *name)
{
    PyObject *dict = PyType_GetDict((PyTypeObject *)class), *value = NULL;
    if (!dict || PyDict_GetItemRef(dict, name, &value) < 0)
        PyErr_Clear();
    Py_XDECREF(dict);
    return value;
}

PyObject *shape_tuple(unsigned dimensions, const uint64_t *lengths)
{
    PyObject *shape = PyTuple_New(dimensions);
    for (unsigned k = 0; shape && k < dimensions; k++) {
        PyObject *length = PyLong_FromUnsignedLongLong(lengths[k]);
        if (length)
            PyTuple_SET_ITEM(shape, k, length);
        else
            Py_CLEAR(shape);
    }
    return shape;
}
