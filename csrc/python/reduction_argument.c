#include "python/reduction_argument.h"

/* What others become of truth values is nothing to ask for. */
static bool is_for_truth(enum reduction reduction)
{
    bool is = false;
    for (int r = 0; r < REDUCTIONS; r++)
        is |= r != (int)reduction && reduction_row((enum reduction)r)->bools == reduction;
    return is;
}

/* Says which there are. */
static void unknown_reduction(PyObject *object)
{
    PyObject *names = PyUnicode_FromFormat("'%s'", reduction_row(0)->name);
    for (int r = 1; names && r < REDUCTIONS; r++)
        if (!is_for_truth((enum reduction)r))
            Py_SETREF(names, PyUnicode_FromFormat("%U, '%s'", names,
                                                  reduction_row((enum reduction)r)->name));
    if (names)
        PyErr_Format(PyUnicode_Check(object) ? PyExc_ValueError : PyExc_TypeError,
                     "reduction must be one of %U; got %R", names, object);
    Py_XDECREF(names);
}

bool reduction_parse(PyObject *object, enum reduction *reduction)
{
    *reduction = REDUCTION_sum;
    if (!object)
        return true;
    for (int r = 0; PyUnicode_Check(object) && r < REDUCTIONS; r++) {
        const char *name = reduction_row((enum reduction)r)->name;
        *reduction = (enum reduction)r;
        if (!is_for_truth(*reduction) && PyUnicode_CompareWithASCIIString(object, name) == 0)
            return true;
    }
    unknown_reduction(object);
    return false;
}
