/* How threads of a device that is not there would share the reduction of an array that is not there
 * either. */
#include "testing/testing.h"

/* An array that is not there, in the middle of an address space, which nobody looks into. */
static const uintptr_t somewhere = (uintptr_t)1 << 40, somewhere_else = (uintptr_t)1 << 41;

/* What is asked: how an array's axes are reduced, or, of short rows, so many results of n elements,
 * `stride` bytes apart, that begin `pitch` bytes apart at `data`. Elements are of a type of `size`
 * bytes, a power of two, and states of `state` bytes. */
struct question {
    PyObject *shape, *strides, *mask_strides; /* tuples; the last may be None */
    unsigned size, state, multiprocessors;
    int in_order, typed, lone;
    unsigned long long axes, results, n, data;
    long long stride, pitch;
};

/* shape, strides and strides of the mask; the rest by name. False with an exception set. */
static bool read_question(PyObject *arguments, PyObject *names, struct question *self)
{
    static char *keywords[] = {"",         "",       "",      "size", "state",   "multiprocessors",
                               "in_order", "typed",  "lone",  "axes", "results", "n",
                               "data",     "stride", "pitch", NULL};
    *self = (struct question){.mask_strides = Py_None};
    return PyArg_ParseTupleAndKeywords(
        arguments, names, "|O!O!O$IIIpppKKKKLL", keywords, &PyTuple_Type, &self->shape,
        &PyTuple_Type, &self->strides, &self->mask_strides, &self->size, &self->state,
        &self->multiprocessors, &self->in_order, &self->typed, &self->lone, &self->axes,
        &self->results, &self->n, &self->data, &self->stride, &self->pitch);
}

/* What is answered: a launch configuration, and what its kernel says. */
struct chosen {
    struct launch_config launch;
    bool columns, few;
    unsigned load, typed_load; /* an exponent where types are not known; else elements */
};

/* clang-format off */
#define LAUNCH(member, name) FIELD_NAMED(chosen, launch.member, name)
static PyMemberDef chosen_fields[] = {
    FIELD(chosen, columns), FIELD(chosen, few), FIELD(chosen, load),
    LAUNCH(block, "block"), LAUNCH(across, "abreast"), LAUNCH(team, "team"), LAUNCH(lanes, "lanes"),
    LAUNCH(rounds, "rounds"), LAUNCH(inner, "inner"), LAUNCH(windows, "windows"),
    LAUNCH(splits, "splits"), LAUNCH(groups, "groups"), LAUNCH(readers, "readers"),
    LAUNCH(stacked, "stacked"), LAUNCH(shared_bytes, "shared_bytes"), LAUNCH(step, "step"),
    LAUNCH(row.bytes, "staged"), LAUNCH(row.packing, "packing"), LAUNCH(row.packed, "several"),
    LAUNCH(row.swizzle_mask, "turned"), LAUNCH(row.swizzle_shift, "turns"),
    LAUNCH(row.unit, "unit"), FIELD_NAMED(chosen, typed_load, "typed.load"),
    LAUNCH(column.coalesced, "typed.repeats"), LAUNCH(column.leftover, "typed.leftover"),
    LAUNCH(column.packs, "typed.packs"), LAUNCH(column.shifted, "typed.shifted"),
    LAUNCH(column.unsplit, "typed.lone"), LAUNCH(column.paired, "typed.paired"), {0}};

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
        return PyErr_Format(PyExc_ValueError, "shape and strides must be tuples of one length");
    for (unsigned k = 0; k < dimensions; k++)
        numbers[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, k));
    return !PyErr_Occurred();
}

/* The axes that a shape makes. False with an exception set. */
static bool read_axes(PyObject *arguments, PyObject *names, struct question *question,
                      struct axes *axes)
{
    if (!read_question(arguments, names, question))
        return false;
    const bool masked = question->mask_strides != Py_None;
    const Py_ssize_t dimensions = question->strides ? PyTuple_GET_SIZE(question->shape) : -1;
    if (dimensions < 0 || dimensions > DIMENSIONS_MAX)
        return PyErr_Format(PyExc_ValueError, "an array has up to %d dimensions", DIMENSIONS_MAX);
    struct layout layout = {.data = (const void *)somewhere,
                            .mask = masked ? (const unsigned char *)somewhere_else : NULL,
                            .input = element_of(question->size),
                            .type = element_of(question->size),
                            .dimensions = (unsigned)dimensions};
    if (!read_numbers(question->shape, layout.dimensions, (int64_t *)layout.shape) ||
        !read_numbers(question->strides, layout.dimensions, layout.strides) ||
        (masked && !read_numbers(question->mask_strides, layout.dimensions, layout.mask_strides)))
        return false;
    hooks->axes_make(&layout, question->axes, question->in_order, axes);
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

/* The normal form of axes: kind, whether they are aligned, place of the first result, where its
 * elements and its mask begin; kept dimensions as tuples of shape, strides, strides of the mask and
 * places, and reduced ones without places. */
PyObject *testing_axes(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    static const char *const kinds[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "general"};
    struct question asked;
    struct axes axes;
    if (!read_axes(arguments, names, &asked, &axes))
        return NULL;
    const struct layout *reduced = &axes.reduced;
    const int64_t mask = reduced->mask ? (int64_t)((uintptr_t)reduced->mask - somewhere_else) : 0;
    return Py_BuildValue("sOLLL(NNNN)(NNN)", kinds[axes.kind], axes.aligned ? Py_True : Py_False,
                         (long long)axes.first, (long long)((uintptr_t)reduced->data - somewhere),
                         (long long)mask, numbers(axes.shape, axes.kept),
                         numbers(axes.strides, axes.kept), numbers(axes.mask_strides, axes.kept),
                         numbers(axes.places, axes.kept),
                         numbers(reduced->shape, reduced->dimensions),
                         numbers(reduced->strides, reduced->dimensions),
                         numbers(reduced->mask_strides, reduced->dimensions));
}

/* How it would be launched by the first kernel that takes it, of so many kinds and the one of any
 * layout; None: that one does, and is not to. */
static PyObject *answered(const struct axes *axes, uintptr_t data, const struct question *question,
                          unsigned kernels, bool any)
{
    const struct launch_problem problem = {.axes = axes,
                                           .data = data,
                                           .multiprocessors = question->multiprocessors,
                                           .accumulator = element_of(question->state),
                                           .state = question->state,
                                           .packs = question->state <= sizeof(uint64_t),
                                           .kernels = kernels};
    struct chosen chosen = {.few = false};
    const struct launch_config *launch = &chosen.launch;
    hooks->launch_config_choose(&problem, &chosen.launch);
    const bool typed =
        launch->kernel == KERNEL_TYPED_COLUMNS || launch->kernel == KERNEL_UNSPLIT_COLUMNS;
    if (!any && !(kernels >> launch->kernel & 1))
        Py_RETURN_NONE;
    chosen.columns = typed || launch->kernel == KERNEL_COLUMNS;
    chosen.few = launch->kernel == KERNEL_FEW;
    chosen.load = typed ? 0 : launch->load;
    chosen.typed_load = typed ? 1u << launch->load : 0;
    return fields_dict(chosen_fields, &chosen);
}

/* By a kernel that takes columns. */
PyObject *testing_columns(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    struct question asked;
    struct axes axes;
    if (!read_axes(arguments, names, &asked, &axes))
        return NULL;
    const unsigned kernels = 1u << KERNEL_COLUMNS | 1u << KERNEL_FEW |
                             (unsigned)asked.typed << KERNEL_TYPED_COLUMNS |
                             (unsigned)asked.lone << KERNEL_UNSPLIT_COLUMNS;
    return answered(&axes, somewhere, &asked, kernels, true);
}

/* None: they are not long. */
PyObject *testing_long_rows(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    struct question asked;
    struct axes axes;
    return read_axes(arguments, names, &asked, &axes)
               ? answered(&axes, somewhere, &asked, 1u << KERNEL_TYPED_ROWS, false)
               : NULL;
}

/* None: they are not short. */
PyObject *testing_short_rows(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    struct question asked;
    if (!read_question(arguments, names, &asked))
        return NULL;
    const struct axes axes = {
        .results = asked.results,
        .kept = 1,
        .shape = {asked.results},
        .strides = {asked.pitch ? asked.pitch : (int64_t)(asked.n * asked.size)},
        .reduced = {.input = element_of(asked.size),
                    .dimensions = 1,
                    .shape = {asked.n},
                    .strides = {asked.stride ? asked.stride : asked.size}}};
    asked.state = asked.size;
    return answered(&axes, (uintptr_t)asked.data, &asked, 1u << KERNEL_TYPED_SHORT_ROWS, false);
}

PyObject *testing_segments(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long count, elements;
    unsigned size, state, multiprocessors;
    int own;
    struct segments_shape shape;
    if (!PyArg_ParseTuple(arguments, "KKIIpI:segments", &count, &elements, &size, &state, &own,
                          &multiprocessors))
        return NULL;
    hooks->segments_shape_make(count, elements, size, state, own, multiprocessors, &shape);
    return fields_dict(segments_shape_fields, &shape);
}
