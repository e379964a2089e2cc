#include "python/reduction_argument.h"

/* Says which there are. */
static void unknown_reduction(PyObject *object, const char *argument)
{
    PyObject *names = PyUnicode_FromFormat("'%s'", reduction_row(0)->name);
    for (int r = 1; names && r < FIRST_VARIANT; r++)
        Py_SETREF(names,
                  PyUnicode_FromFormat("%U, '%s'", names, reduction_row((enum reduction)r)->name));
    if (names)
        PyErr_Format(PyUnicode_Check(object) ? PyExc_ValueError : PyExc_TypeError,
                     "%s must be one of %U; got %R", argument, names, object);
    Py_XDECREF(names);
}

bool reduction_parse(PyObject *object, const char *argument, enum reduction *reduction)
{
    *reduction = REDUCTION_sum;
    if (!object)
        return true;
    for (int r = 0; PyUnicode_Check(object) && r < FIRST_VARIANT; r++)
        if (PyUnicode_CompareWithASCIIString(object, reduction_row((enum reduction)r)->name) == 0) {
            *reduction = (enum reduction)r;
            return true;
        }
    unknown_reduction(object, argument);
    return false;
}
