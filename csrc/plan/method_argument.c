#include "plan/method_argument.h"

#include "plan/wrong.h"

#include <string.h>

/* "auto, exact, recursive, ..."; a new reference. */
static PyObject *method_names(void)
{
    PyObject *names = PyUnicode_FromString("auto, exact");
    for (int m = 0; m < METHODS && names; m++) {
        const struct method *method = method_at((enum method_index)m);
        PyObject *longer = PyUnicode_FromFormat("%U, %s", names, method->name);
        Py_DECREF(names);
        names = longer;
    }
    return names;
}

static void unknown_method(PyObject *method, const char *text)
{
    const char *nearest = text ? method_nearest(text) : NULL;
    PyObject *names = method_names();
    if (names && nearest)
        PyErr_Format(
            PyExc_ValueError,
            "method %R does not exist; did you mean '%s'? The methods are %U (see gred.methods())",
            method, nearest, names);
    else if (names)
        PyErr_Format(PyExc_ValueError,
                     "method %R does not exist; the methods are %U (see gred.methods())", method,
                     names);
    Py_XDECREF(names);
}

bool method_parse(PyObject *method, const struct method **found, bool *exact)
{
    *found = NULL;
    *exact = false;
    if (!method)
        return true;
    if (!PyUnicode_Check(method))
        return wrong_type("method", "a str", method);
    const char *text = plain_text(method);
    *exact = text && strcmp(text, "exact") == 0;
    if (*exact || (text && strcmp(text, "auto") == 0))
        return true;
    *found = text ? method_find(text) : NULL;
    if (!*found)
        unknown_method(method, text);
    return *found;
}

bool block_size_parse(PyObject *block_size, unsigned *block)
{
    if (!PyIndex_Check(block_size) || PyBool_Check(block_size))
        return wrong_type("block_size", "None or a power of two from 32 to 1024", block_size);
    PyObject *number = PyNumber_Index(block_size);
    if (!number)
        return false;
    int overflow;
    const long value = PyLong_AsLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow || value < BLOCK_SIZE_MIN || value > BLOCK_SIZE_MAX || (value & (value - 1))) {
        PyErr_Format(PyExc_ValueError,
                     "block_size must be None or a power of two from 32 to 1024; got %R",
                     block_size);
        return false;
    }
    *block = (unsigned)value;
    return true;
}
