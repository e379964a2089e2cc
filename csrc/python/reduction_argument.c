#include "python/reduction_argument.h"

bool reduction_parse(PyObject *op, enum reduction *reduction)
{
    *reduction = REDUCTION_sum;
    if (!op)
        return true;
    const char *text = PyUnicode_Check(op) ? PyUnicode_AsUTF8(op) : NULL;
    PyErr_Clear();
    if (text && reduction_find(text, reduction))
        return true;
    PyErr_Format(
        PyUnicode_Check(op) ? PyExc_ValueError : PyExc_TypeError,
        "op must be the name of a reduction, such as 'sum' (gred.reductions() lists them); "
        "got %R",
        op);
    return false;
}
