#include "python/forced_tuning.h"

#include "plan/schedule.h"

PyObject *forced_tuning(PyObject *module, PyObject *arguments)
{
    enum { LEAST = 32, MOST = 1024, ELEMENTS = 1 << 16 };
    struct shape shape;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "II:forced_tuning", &shape.block, &shape.data_blocks))
        return NULL;
    const bool none = shape.block == 0 && shape.data_blocks == 0;
    const bool is_block =
        shape.block >= LEAST && shape.block <= MOST && (shape.block & (shape.block - 1)) == 0;
    if (!none && !(is_block && shape.data_blocks >= 1 && shape.data_blocks <= ELEMENTS)) {
        PyErr_SetString(PyExc_ValueError, "a block is a power of two from 32 to 1024 threads, and "
                                          "each gets 1 to 65536 elements");
        return NULL;
    }
    fastest_force(shape);
    Py_RETURN_NONE;
}
