/* How threads of a device that is not there would share the reduction of an array that is not there
 * either. */
#include "testing/fields.h"
#include "testing/functions.h"

/* An array that is not there, in the middle of an address space, which nobody looks into. */
static const uintptr_t somewhere = (uintptr_t)1 << 40, somewhere_else = (uintptr_t)1 << 41;

/* What is asked: how an array's axes are reduced, or, of short rows, so many results of n elements,
 * `stride` bytes apart, that begin `pitch` bytes apart at `data`. Elements are of a type of `size`
 * bytes, a power of two, and states of `state` bytes. */
struct question {
    unsigned size, state, multiprocessors;
    bool in_order, typed, lone;
    uint64_t axes, results, n, data;
    int64_t stride, pitch;
};

/* clang-format off */
static const struct field question_fields[] = {
    FIELD(question, size),   FIELD(question, state),           FIELD(question, axes),
    FIELD(question, n),      FIELD(question, multiprocessors), FIELD(question, in_order),
    FIELD(question, typed),  FIELD(question, lone),            FIELD(question, results),
    FIELD(question, data),   FIELD(question, stride),          FIELD(question, pitch),
    {0}};

static const struct field axes_shape_fields[] = {
    FIELD(axes_shape, block), FIELD(axes_shape, columns), FIELD(axes_shape, abreast),
    FIELD(axes_shape, team), FIELD(axes_shape, lanes), FIELD(axes_shape, few),
    FIELD(axes_shape, staged), FIELD(axes_shape, rounds), FIELD(axes_shape, load),
    FIELD(axes_shape, packing), FIELD(axes_shape, inner), FIELD(axes_shape, windows),
    FIELD(axes_shape, splits), FIELD(axes_shape, groups), FIELD(axes_shape, several),
    FIELD(axes_shape, turned), FIELD(axes_shape, turns), FIELD(axes_shape, unit),
    FIELD(axes_shape, readers), FIELD(axes_shape, stacked), FIELD(axes_shape, typed.load),
    FIELD(axes_shape, typed.repeats), FIELD(axes_shape, typed.leftover),
    FIELD(axes_shape, typed.packs), FIELD(axes_shape, typed.shifted),
    FIELD(axes_shape, typed.lone), FIELD(axes_shape, typed.paired), FIELD(axes_shape, step),
    {0}};

static const struct field segments_shape_fields[] = {
    FIELD(segments_shape, block), FIELD(segments_shape, tile_block), FIELD(segments_shape, team),
    FIELD(segments_shape, most), FIELD(segments_shape, alone), FIELD(segments_shape, tile),
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

/* Positional arguments: shape, strides, and strides of the mask or None; the rest by name. The axes
 * are made of them. False with an exception set. */
static bool read_question(PyObject *arguments, PyObject *names, struct question *question,
                          struct axes *axes)
{
    PyObject *shape, *strides, *mask_strides = Py_None;
    struct layout layout = {.data = (const void *)somewhere};
    if (!fields_read(question_fields, names, question) ||
        !PyArg_ParseTuple(arguments, "O!O|O", &PyTuple_Type, &shape, &strides, &mask_strides))
        return false;
    const bool masked = mask_strides != Py_None;
    layout.mask = masked ? (const unsigned char *)somewhere_else : NULL;
    layout.input = layout.type = element_of(question->size);
    layout.dimensions = (unsigned)PyTuple_GET_SIZE(shape);
    if (layout.dimensions > DIMENSIONS_MAX)
        return PyErr_Format(PyExc_ValueError, "an array has up to %d dimensions", DIMENSIONS_MAX);
    if (!read_numbers(shape, layout.dimensions, (int64_t *)layout.shape) ||
        !read_numbers(strides, layout.dimensions, layout.strides) ||
        (masked && !read_numbers(mask_strides, layout.dimensions, layout.mask_strides)))
        return false;
    hooks->axes_make(&layout, question->axes, question->in_order, axes);
    return true;
}

static PyObject *numbers(const void *from, unsigned count)
{
    PyObject *list = PyTuple_New(count);
    for (unsigned k = 0; list && k < count; k++) {
        PyObject *number = PyLong_FromLongLong(((const int64_t *)from)[k]);
        if (!number) {
            Py_DECREF(list);
            return NULL;
        }
        PyTuple_SET_ITEM(list, k, number);
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
    struct question question = {0};
    struct axes axes;
    if (!read_question(arguments, names, &question, &axes))
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

/* By a kernel that takes columns. */
PyObject *testing_columns(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    struct question question = {0};
    struct axes axes;
    struct axes_shape shape = {0};
    if (!read_question(arguments, names, &question, &axes))
        return NULL;
    const struct axes_kernels kernels = {.accumulator = element_of(question.state),
                                         .state = question.state,
                                         .columns = true,
                                         .few = true,
                                         .packs = question.state <= sizeof(uint64_t),
                                         .typed_columns = question.typed,
                                         .lone_columns = question.lone};
    if (!hooks->columns_shape_make(&axes, &kernels, somewhere, question.multiprocessors, &shape))
        hooks->axes_shape_make(&axes, &kernels, somewhere, question.multiprocessors, &shape);
    return fields_dict(axes_shape_fields, &shape);
}

/* None: they are not long. */
PyObject *testing_long_rows(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *names)
{
    struct question question = {0};
    struct axes axes;
    struct axes_shape shape = {0};
    if (!read_question(arguments, names, &question, &axes))
        return NULL;
    const struct axes_kernels kernels = {.state = question.state};
    if (!hooks->long_rows_shape_make(&axes, &kernels, somewhere, question.multiprocessors, &shape))
        Py_RETURN_NONE;
    return fields_dict(axes_shape_fields, &shape);
}

/* None: they are not short. */
PyObject *testing_short_rows(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(arguments),
                             PyObject *names)
{
    struct question asked = {0};
    struct axes_shape shape = {.rounds = 1};
    if (!fields_read(question_fields, names, &asked))
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
    if (!hooks->short_rows_shape_make(&axes, (uintptr_t)asked.data, asked.multiprocessors, &shape))
        Py_RETURN_NONE;
    PyObject *dict = fields_dict(axes_shape_fields, &shape);
    PyObject *bytes = PyLong_FromSize_t(hooks->short_rows_shared_bytes(&shape));
    if (!dict || !bytes || PyDict_SetItemString(dict, "shared_bytes", bytes) < 0)
        Py_CLEAR(dict);
    Py_XDECREF(bytes);
    return dict;
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
