/* How threads of a nonexistent device would share the reduction of a nonexistent array. */
#include "testing/testing.h"

/* Addresses of the array and its mask, which are never read. */
static const uintptr_t fake_data = (uintptr_t)1 << 40, fake_mask = (uintptr_t)1 << 41;

/* An array's layout and how it is reduced. Elements are of a type of `size` bytes, a power of two,
 * and states of `state` bytes. */
struct problem {
    PyObject *shape, *strides, *mask_strides; /* tuples; the last may be None */
    PyObject *kernels;                        /* a tuple of the names of available kernels */
    unsigned size, state, multiprocessors;
    int in_order;
    unsigned long long axes, data; /* a bit each; bytes from an aligned address to the array */
};

/* Reads shape, strides and mask strides, then keywords. False with an exception set. */
static bool read_problem(PyObject *arguments, PyObject *names, struct problem *self)
{
    static char *keywords[] = {
        "",         "",     "",     "kernels", "size", "state", "multiprocessors",
        "in_order", "axes", "data", NULL};
    *self = (struct problem){.mask_strides = Py_None};
    return PyArg_ParseTupleAndKeywords(
        arguments, names, "O!O!|O$O!IIIpKK", keywords, &PyTuple_Type, &self->shape, &PyTuple_Type,
        &self->strides, &self->mask_strides, &PyTuple_Type, &self->kernels, &self->size,
        &self->state, &self->multiprocessors, &self->in_order, &self->axes, &self->data);
}

static const char *const kernel_names[] = {[KERNEL_ALONG] = "along",
                                           [KERNEL_FEW] = "few",
                                           [KERNEL_TYPED_COLUMNS] = "typed_columns",
                                           [KERNEL_UNSPLIT_COLUMNS] = "unsplit_columns",
                                           [KERNEL_TYPED_ROWS] = "typed_rows",
                                           [KERNEL_TYPED_SHORT_ROWS] = "typed_short_rows",
                                           [KERNEL_TYPED_STRIDED] = "typed_strided",
                                           [KERNEL_BATCH_INVARIANT] = "batch_invariant"};

struct launch {
    const char *kernel;
    struct launch_config config;
};

/* clang-format off */
#define CONFIG(member) FIELD_NAMED(launch, config.member, #member)
static PyMemberDef launch_fields[] = {
    FIELD(launch, kernel), CONFIG(block), CONFIG(across), CONFIG(team), CONFIG(lanes),
    CONFIG(row.rounds), CONFIG(inner), CONFIG(load), CONFIG(splits), CONFIG(groups),
    CONFIG(long_row.readers), CONFIG(long_row.stacked), CONFIG(shared_bytes), CONFIG(step), CONFIG(row.bytes),
    CONFIG(row.packed), CONFIG(row.swizzle_mask), CONFIG(row.swizzle_shift), CONFIG(row.unit),
    CONFIG(row.dimensions), CONFIG(row.batch), CONFIG(row.batches), CONFIG(row.padding),
    CONFIG(column.packs), CONFIG(column.span), CONFIG(column.coalesced), CONFIG(column.leftover),
    CONFIG(column.shifted), CONFIG(column.unsplit), {0}};

static PyMemberDef segments_shape_fields[] = {
    FIELD(segments_shape, block), FIELD(segments_shape, tile_block), FIELD(segments_shape, team),
    FIELD(segments_shape, alone), FIELD(segments_shape, tile),
    FIELD(segments_shape, tiles), FIELD(segments_shape, grid),
    FIELD(segments_shape, shared_bytes), FIELD(segments_shape, tile_shared_bytes), {0}};
/* clang-format on */

static enum element element_of(unsigned size)
{
    enum { WIDEST = 16 }; /* states may be wider */
    static const enum element elements[] = {[1] = ELEMENT_INT8,
                                            [2] = ELEMENT_INT16,
                                            [4] = ELEMENT_INT32,
                                            [8] = ELEMENT_INT64,
                                            [WIDEST] = ELEMENT_COMPLEX128};
    return elements[size < WIDEST ? size : WIDEST];
}

/* False with an exception set. */
static bool read_numbers(PyObject *tuple, unsigned dimensions, int64_t *numbers)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != (Py_ssize_t)dimensions)
        return value_error("shape and strides must be tuples of one length");
    for (unsigned k = 0; k < dimensions; k++)
        numbers[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, k));
    return !PyErr_Occurred();
}

/* Reads a problem and makes its axes. False with an exception set. */
static bool read_axes(PyObject *arguments, PyObject *names, struct problem *problem,
                      struct axes *axes)
{
    if (!read_problem(arguments, names, problem))
        return false;
    const bool masked = problem->mask_strides != Py_None;
    const Py_ssize_t dimensions = PyTuple_GET_SIZE(problem->shape);
    if (dimensions > DIMENSIONS_MAX)
        return value_error("an array has up to %d dimensions", DIMENSIONS_MAX);
    struct layout layout = {.data = (const void *)(fake_data + (uintptr_t)problem->data),
                            .mask = masked ? (const unsigned char *)fake_mask : NULL,
                            .input = element_of(problem->size),
                            .type = element_of(problem->size),
                            .dimensions = (unsigned)dimensions};
    if (!read_numbers(problem->shape, layout.dimensions, (int64_t *)layout.shape) ||
        !read_numbers(problem->strides, layout.dimensions, layout.strides) ||
        (masked && !read_numbers(problem->mask_strides, layout.dimensions, layout.mask_strides)))
        return false;
    hooks->axes_make(&layout, problem->axes, problem->in_order, NULL, axes);
    return true;
}

static PyObject *numbers(const void *from, unsigned count)
{
    PyObject *list = PyTuple_New(count);
    for (unsigned k = 0; list && k < count; k++) {
        PyObject *number = PyLong_FromLongLong(((const int64_t *)from)[k]);
        PyTuple_SET_ITEM(list, k, number);
        if (!number)
            Py_CLEAR(list);
    }
    return list;
}

/* The normal form of axes: kind, whether aligned, the first result's place, offsets of its elements
 * and mask, then outer dimensions (shape, strides, mask strides, places) and reduction dimensions
 * (shape, strides, mask strides). */
PyObject *testing_axes(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    static const char *const kinds[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "general"};
    struct problem problem;
    struct axes axes;
    if (!read_axes(arguments, names, &problem, &axes))
        return NULL;
    const struct layout *reduced = &axes.reduced;
    const int64_t mask = reduced->mask ? (int64_t)((uintptr_t)reduced->mask - fake_mask) : 0;
    return Py_BuildValue("sOLLL(NNNN)(NNN)", kinds[axes.kind], axes.aligned ? Py_True : Py_False,
                         (long long)axes.first, (long long)((uintptr_t)reduced->data - fake_data),
                         (long long)mask, numbers(axes.shape, axes.outer),
                         numbers(axes.strides, axes.outer), numbers(axes.mask_strides, axes.outer),
                         numbers(axes.places, axes.outer),
                         numbers(reduced->shape, reduced->dimensions),
                         numbers(reduced->strides, reduced->dimensions),
                         numbers(reduced->mask_strides, reduced->dimensions));
}

/* The launch as a dict: the kernel's name and members of struct launch_config. */
PyObject *testing_launch(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    struct problem problem;
    struct axes axes;
    if (!read_axes(arguments, names, &problem, &axes))
        return NULL;
    struct launch_problem query = {.axes = &axes,
                                   .data = (uintptr_t)axes.reduced.data,
                                   .multiprocessors = problem.multiprocessors,
                                   .accumulator = element_of(problem.state),
                                   .native = true,
                                   .strided = ~0u,
                                   .state = problem.state};
    for (Py_ssize_t k = 0; problem.kernels && k < PyTuple_GET_SIZE(problem.kernels); k++)
        for (unsigned kind = KERNEL_ALONG; kind < sizeof kernel_names / sizeof *kernel_names;
             kind++)
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(problem.kernels, k),
                                                 kernel_names[kind]) == 0)
                query.kernels |= 1u << kind;
    struct launch launch;
    hooks->launch_config_choose(&query, &launch.config);
    launch.kernel = kernel_names[launch.config.kernel];
    return fields_dict(launch_fields, &launch);
}

PyObject *testing_segments(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long count, elements;
    unsigned size, state, multiprocessors;
    int is_native;
    struct segments_shape shape;
    if (!PyArg_ParseTuple(arguments, "KKIIpI:segments", &count, &elements, &size, &state,
                          &is_native, &multiprocessors))
        return NULL;
    hooks->segments_shape_make(count, elements, size, state, is_native, multiprocessors, &shape);
    return fields_dict(segments_shape_fields, &shape);
}
