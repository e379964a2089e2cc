#include "python/pretended_short_rows.h"

#include "plan/short_rows_shape.h"
#include "python/pretended_axes.h"

PyObject *pretended_short_rows(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long results, n, data;
    unsigned size, multiprocessors;
    if (!PyArg_ParseTuple(arguments, "KKIKI:pretended_short_rows", &results, &n, &size, &data,
                          &multiprocessors))
        return NULL;
    const struct axes axes = {
        .results = results,
        .kept = 1,
        .shape = {results},
        .strides = {(int64_t)(n * size)},
        .reduced = {
            .input = pretended_element(size), .dimensions = 1, .shape = {n}, .strides = {size}}};
    struct axes_shape shape = {.rounds = 1};
    if (!short_rows_shape_make(&axes, (uintptr_t)data, multiprocessors, &shape))
        Py_RETURN_NONE;
    return Py_BuildValue("IKIIIIIIK", shape.several, (unsigned long long)shape.staged, shape.block,
                         shape.team, shape.rounds, shape.load, shape.turned, shape.turns,
                         (unsigned long long)short_rows_shared_bytes(&shape));
}
