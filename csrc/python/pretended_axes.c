#include "python/pretended_axes.h"

#include "common/arithmetic.h"
#include "plan/launch_config.h"
#include "plan/launch_problem.h"

enum element pretended_element(unsigned size)
{
    enum { WIDEST = 16 }; /* states may be wider */
    static const enum element elements[] = {[1] = ELEMENT_INT8,
                                            [2] = ELEMENT_INT16,
                                            [4] = ELEMENT_INT32,
                                            [8] = ELEMENT_INT64,
                                            [WIDEST] = ELEMENT_COMPLEX128};
    return elements[least(size, WIDEST)];
}

/* False with an exception set. */
static bool read_numbers(PyObject *tuple, unsigned dimensions, int64_t *numbers)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != (Py_ssize_t)dimensions) {
        PyErr_SetString(PyExc_ValueError, "shape and strides must be tuples of one length");
        return false;
    }
    for (unsigned k = 0; k < dimensions; k++) {
        numbers[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, k));
        if (numbers[k] == -1 && PyErr_Occurred())
            return false;
    }
    return true;
}

/* A new tuple. */
static PyObject *numbers(const int64_t *from, unsigned count)
{
    PyObject *tuple = PyTuple_New(count);
    for (unsigned k = 0; tuple && k < count; k++) {
        PyObject *number = PyLong_FromLongLong(from[k]);
        if (!number) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, k, number);
    }
    return tuple;
}

/* In the middle of an address space, which nobody looks into. */
static const uintptr_t somewhere = (uintptr_t)1 << 40, somewhere_else = (uintptr_t)1 << 41;

static PyObject *described(const struct axes *axes)
{
    static const char *const kinds[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "general"};
    const struct layout *reduced = &axes->reduced;
    const int64_t mask = reduced->mask ? (int64_t)((uintptr_t)reduced->mask - somewhere_else) : 0;
    return Py_BuildValue("sOLLL(NNNN)(NNN)", kinds[axes->kind], axes->aligned ? Py_True : Py_False,
                         (long long)axes->first, (long long)((uintptr_t)reduced->data - somewhere),
                         (long long)mask, numbers((const int64_t *)axes->shape, axes->kept),
                         numbers(axes->strides, axes->kept),
                         numbers(axes->mask_strides, axes->kept), numbers(axes->places, axes->kept),
                         numbers((const int64_t *)reduced->shape, reduced->dimensions),
                         numbers(reduced->strides, reduced->dimensions),
                         numbers(reduced->mask_strides, reduced->dimensions));
}

/* An array that is not there. False with an exception set. */
static bool pretend(PyObject *shape, PyObject *strides, PyObject *mask_strides, unsigned size,
                    struct layout *layout)
{
    const unsigned dimensions = (unsigned)PyTuple_GET_SIZE(shape);
    const bool masked = mask_strides != Py_None;
    *layout = (struct layout){.data = (const void *)somewhere,
                              .mask = masked ? (const unsigned char *)somewhere_else : NULL,
                              .input = pretended_element(size),
                              .type = pretended_element(size),
                              .dimensions = dimensions};
    if (dimensions > DIMENSIONS_MAX) {
        PyErr_Format(PyExc_ValueError, "an array has up to %d dimensions", DIMENSIONS_MAX);
        return false;
    }
    return read_numbers(shape, dimensions, (int64_t *)layout->shape) &&
           read_numbers(strides, dimensions, layout->strides) &&
           (!masked || read_numbers(mask_strides, dimensions, layout->mask_strides));
}

PyObject *pretended_axes(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *shape, *strides, *mask_strides;
    unsigned size;
    unsigned long long reduced;
    int in_order;
    struct layout layout;
    struct axes axes;
    if (!PyArg_ParseTuple(arguments, "O!OOIKp", &PyTuple_Type, &shape, &strides, &mask_strides,
                          &size, &reduced, &in_order) ||
        !pretend(shape, strides, mask_strides, size, &layout))
        return NULL;
    axes_make(&layout, reduced, in_order, &axes);
    return described(&axes);
}

PyObject *pretended_sharing(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *shape, *strides;
    unsigned size, width, multiprocessors;
    int typed = 0, lone = 0;
    unsigned long long reduced;
    struct layout layout;
    struct axes axes;
    struct launch_config config;
    if (!PyArg_ParseTuple(arguments, "O!OIKII|pp", &PyTuple_Type, &shape, &strides, &size, &reduced,
                          &width, &multiprocessors, &typed, &lone) ||
        !pretend(shape, strides, Py_None, size, &layout))
        return NULL;
    axes_make(&layout, reduced, false, &axes);
    const struct launch_problem problem = {.axes = &axes,
                                           .data = somewhere,
                                           .multiprocessors = multiprocessors,
                                           .accumulator = pretended_element(width),
                                           .state = width,
                                           .packs = width <= sizeof(uint64_t),
                                           .kernels = 1u << KERNEL_COLUMNS | 1u << KERNEL_FEW |
                                                      (unsigned)typed << KERNEL_TYPED_COLUMNS |
                                                      (unsigned)lone << KERNEL_UNSPLIT_COLUMNS};
    launch_config_choose(&problem, &config);
    const struct column_tile *column = &config.column;
    const bool knows = launch_is_typed(&config);
    return Py_BuildValue("IOOIIOIIIIKKK(IIIKOIO)", config.block,
                         knows || config.kernel == KERNEL_COLUMNS ? Py_True : Py_False,
                         config.across ? Py_True : Py_False, config.team, config.lanes,
                         config.kernel == KERNEL_FEW ? Py_True : Py_False, config.rounds,
                         knows ? 0 : config.load, config.row.packing, config.inner,
                         (unsigned long long)config.row.bytes, (unsigned long long)config.splits,
                         (unsigned long long)config.groups, knows ? 1u << config.load : 0,
                         column->coalesced, column->leftover, (unsigned long long)column->packs,
                         column->shifted ? Py_True : Py_False, column->unsplit,
                         column->paired ? Py_True : Py_False);
}

PyObject *pretended_long_rows(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *shape, *strides;
    unsigned size, state, multiprocessors;
    unsigned long long reduced;
    struct layout layout;
    struct axes axes;
    struct launch_config config;
    if (!PyArg_ParseTuple(arguments, "O!OIKII", &PyTuple_Type, &shape, &strides, &size, &reduced,
                          &state, &multiprocessors) ||
        !pretend(shape, strides, Py_None, size, &layout))
        return NULL;
    axes_make(&layout, reduced, false, &axes);
    const struct launch_problem problem = {.axes = &axes,
                                           .data = somewhere,
                                           .multiprocessors = multiprocessors,
                                           .accumulator = pretended_element(size),
                                           .state = state,
                                           .kernels = 1u << KERNEL_TYPED_ROWS};
    launch_config_choose(&problem, &config);
    if (config.kernel != KERNEL_TYPED_ROWS)
        Py_RETURN_NONE;
    return Py_BuildValue("IIIOIKK", config.block, config.team, config.readers,
                         config.stacked ? Py_True : Py_False, config.rounds,
                         (unsigned long long)config.splits, (unsigned long long)config.groups);
}
