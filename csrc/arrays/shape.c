#include "arrays/shape.h"

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
