#include "python/pretended_short_rows.h"

#include "plan/short_rows_shape.h"
#include "python/pretended_axes.h"

PyObject *pretended_short_rows(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long results, n, data;
    long long stride = 0, pitch = 0;
    unsigned size, multiprocessors;
    if (!PyArg_ParseTuple(arguments, "KKIKI|LL:pretended_short_rows", &results, &n, &size, &data,
                          &multiprocessors, &stride, &pitch))
        return NULL;
    const struct axes axes = {.results = results,
                              .kept = 1,
                              .shape = {results},
                              .strides = {pitch ? pitch : (int64_t)(n * size)},
                              .reduced = {.input = pretended_element(size),
                                          .dimensions = 1,
                                          .shape = {n},
                                          .strides = {stride ? stride : size}}};
    struct axes_shape shape = {.rounds = 1};
    if (!short_rows_shape_make(&axes, (uintptr_t)data, multiprocessors, &shape))
        Py_RETURN_NONE;
    return Py_BuildValue("IKIIIIIIKII", shape.several, (unsigned long long)shape.staged,
                         shape.block, shape.team, shape.rounds, shape.load, shape.turned,
                         shape.turns, (unsigned long long)short_rows_shared_bytes(&shape),
                         shape.unit, shape.step);
}
