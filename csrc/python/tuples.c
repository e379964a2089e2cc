#include "python/tuples.h"

PyObject *tuple_of(size_t count, tuple_item *item, const void *context)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t k = 0; tuple && k < count; k++) {
        PyObject *one = item(context, k);
        if (one)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)k, one);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}
