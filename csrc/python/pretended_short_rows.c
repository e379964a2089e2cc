#include "python/pretended_short_rows.h"

#include "plan/launch_config.h"
#include "plan/launch_problem.h"
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
    const struct launch_problem problem = {.axes = &axes,
                                           .data = (uintptr_t)data,
                                           .multiprocessors = multiprocessors,
                                           .accumulator = pretended_element(size),
                                           .state = size,
                                           .kernels = 1u << KERNEL_TYPED_SHORT_ROWS};
    struct launch_config config;
    launch_config_choose(&problem, &config);
    const struct row_tile *row = &config.row;
    if (config.kernel != KERNEL_TYPED_SHORT_ROWS)
        Py_RETURN_NONE;
    return Py_BuildValue("IKIIIIIIKII", row->packed, (unsigned long long)row->bytes, config.block,
                         config.team, config.rounds, config.load, row->swizzle_mask,
                         row->swizzle_shift, (unsigned long long)config.shared_bytes, row->unit,
                         config.step);
}
