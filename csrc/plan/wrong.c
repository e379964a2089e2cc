#include "plan/wrong.h"

#include <string.h>

bool argument_given(PyObject *argument)
{
    return argument && argument != Py_None;
}

bool wrong_type(const char *name, const char *accepted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s; got %.200R (%.200s)", name, accepted, value,
                 Py_TYPE(value)->tp_name);
    return false;
}

const char *plain_text(PyObject *string)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(string, &length);
    if (!text)
        PyErr_Clear();
    return text && strlen(text) == (size_t)length ? text : NULL;
}
