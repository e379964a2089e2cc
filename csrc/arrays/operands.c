#include "arrays/numpys.h"

#include "arrays/operands.h"

#include "arrays/objects.h"

void view_nothing(struct view *view)
{
    view->owner = NULL;
    view->pin = NULL;
    view->on_device = false;
    view->producer = (struct stream){.given = false};
}

/* The strides of what is broadcast to a shape: 0 along dimensions that it lacks or has one element
 * of. Returns the first dimension that does not fit, or `dimensions`. */
static unsigned broadcast(const struct layout *from, unsigned dimensions, const uint64_t *shape,
                          int64_t *strides)
{
    for (unsigned k = 0; k < dimensions; k++) {
        const bool missing = k + from->dimensions < dimensions;
        const unsigned own = k + from->dimensions - dimensions;
        const uint64_t length = missing ? 1 : from->shape[own];
        if (length != 1 && length != shape[k])
            return k;
        strides[k] = length == 1 ? 0 : from->strides[own];
    }
    return dimensions;
}

/* Whether what lies on a device lies where the array does. */
static bool lies_with(const struct view *array, const struct view *other, const char *name)
{
    return !other->on_device || array->n == 0 ||
           (array->on_device && array->platform == other->platform &&
            array->device == other->device) ||
           PyErr_Format(
               PyExc_ValueError,
               "%s lies on a device, and the array does not lie there; bring both to one place",
               name);
}

/* ---- where= ---- */

/* A mask that offers its memory is taken as it lies; anything else becomes NumPy's. */
static bool view_mask(PyObject *where, const struct view_request *request, struct view *mask)
{
    struct view_request asked = *request;
    asked.name = "where";
    if (!array_offers_memory(where))
        return array_of_bools(where, "where", mask);
    if (!array_view(where, &asked, mask))
        return false;
    if (mask->layout.input == ELEMENT_BOOL)
        return !mask->on_device || request->where->locate(request->where, mask, "where");
    return PyErr_Format(PyExc_TypeError, "where must be an array of bool, not of %s",
                        element_name(mask->layout.input));
}

static bool broadcast_mask(const struct layout *mask, struct layout *array)
{
    if (mask->dimensions > array->dimensions)
        return PyErr_Format(
            PyExc_ValueError,
            "where has %u dimensions, and the array only %u: where is broadcast to the "
            "array, not the array to where",
            mask->dimensions, array->dimensions);
    const unsigned missing = array->dimensions - mask->dimensions,
                   wrong = broadcast(mask, array->dimensions, array->shape, array->mask_strides);
    array->mask = mask->data;
    return wrong == array->dimensions ||
           PyErr_Format(PyExc_ValueError,
                        "where cannot be broadcast to the array: dimension %u is %llu, not %llu",
                        wrong, (unsigned long long)mask->shape[wrong - missing],
                        (unsigned long long)array->shape[wrong]);
}

bool mask_apply(PyObject *where, const struct view_request *request, struct view *array,
                struct view *mask)
{
    view_nothing(mask);
    if (!where || where == Py_True || numpys_is_no_value(where))
        return true;
    if (where == Py_None) /* NumPy takes it for False, which hides all, or fails */
        return PyErr_Format(PyExc_TypeError, "where must be an array of bool or a bool; got None. "
                                             "Leave it out, or say True, where nothing is hidden");
    return view_mask(where, request, mask) && lies_with(array, mask, "where") &&
           broadcast_mask(&mask->layout, &array->layout);
}

/* ---- mean= ---- */

void means_begin(struct means *self)
{
    self->here = NULL;
    self->array = NULL;
    view_nothing(&self->view);
}

void means_release(struct means *self)
{
    Py_CLEAR(self->array);
    array_release(&self->view);
}

static bool check_type(bool is_complex, const struct view *array)
{
    return !is_complex || element_is_complex(array->layout.input) ||
           PyErr_Format(PyExc_TypeError, "mean of real elements must be real, not complex");
}

/* As NumPy assigns: dimensions in front of those that there are have one element. */
static bool check_shape(unsigned own, const uint64_t *lengths, unsigned dimensions,
                        const uint64_t *shape)
{
    bool fits = true;
    for (unsigned k = 0; k < own; k++) {
        const bool there = k + dimensions >= own;
        fits = fits && (lengths[k] == 1 || (there && lengths[k] == shape[k + dimensions - own]));
    }
    return fits ||
           PyErr_Format(PyExc_ValueError, "mean cannot be broadcast to the shape of the results "
                                          "with keepdims=True");
}

/* On a device. Where the array lies there, too, it has to be known where. */
static bool take_there(const struct where *where, struct view *array, unsigned dimensions,
                       const uint64_t *shape, struct means *self)
{
    struct view *const view = &self->view;
    struct layout *const there = &self->there;
    if ((array->on_device &&
         (!where->locate(where, array, "a") || !where->locate(where, view, "mean"))) ||
        !lies_with(array, view, "mean") ||
        !check_type(element_is_complex(view->layout.input), array) ||
        !check_shape(view->layout.dimensions, view->layout.shape, dimensions, shape))
        return false;
    there->data = view->layout.data;
    there->mask = NULL;
    there->input = there->type = view->layout.input;
    there->swapped = false;
    there->dimensions = dimensions;
    memcpy(there->shape, shape, dimensions * sizeof *shape);
    memset(there->mask_strides, 0, dimensions * sizeof *there->mask_strides);
    broadcast(&view->layout, dimensions, shape, there->strides);
    return true;
}

/* Whether these are numbers or what has them; NumPy would read strings as numbers. */
static bool check_numbers(PyArrayObject *given)
{
    const int type = PyArray_TYPE(given);
    return PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type) || PyTypeNum_ISOBJECT(type) ||
           PyTypeNum_ISUSERDEF(type) ||
           PyErr_Format(PyExc_TypeError, "mean must be a number or an array of numbers, not of %S",
                        (PyObject *)PyArray_DESCR(given));
}

/* In the host's memory, as an array of NumPy's. */
static bool take_here(PyObject *object, const struct view *array, unsigned dimensions,
                      const uint64_t *shape, struct means *self)
{
    enum element element = ELEMENT_COMPLEX128;
    void *elements = NULL;
    OWNED *object_given = PyArray_FROM_O(object);
    PyArrayObject *const given = (PyArrayObject *)object_given;
    if (given && check_numbers(given) && check_type(PyArray_ISCOMPLEX(given), array) &&
        check_shape((unsigned)PyArray_NDIM(given), (const uint64_t *)PyArray_DIMS(given),
                    dimensions, shape))
        self->array = numpys_new(dimensions, shape, &element, &elements);
    if (self->array && PyArray_CopyInto((PyArrayObject *)self->array, given) < 0)
        Py_CLEAR(self->array);
    self->here = elements;
    return self->array;
}

/* What does not offer memory on a device becomes NumPy's. */
bool means_view(PyObject *object, const struct view_request *request, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *self)
{
    struct view_request asked = *request;
    asked.name = "mean";
    if (!library_has_no_unit(object, asked.name))
        return false;
    self->count = 1;
    for (unsigned k = 0; k < dimensions; k++)
        self->count *= shape[k];
    if (!PyArray_Check(object) && array_offers_memory(object)) {
        if (!array_view(object, &asked, &self->view))
            return false;
        if (self->view.on_device)
            return take_there(asked.where, array, dimensions, shape, self);
    }
    return take_here(object, array, dimensions, shape, self);
}

/* ---- out= ---- */

bool output_view(PyObject *out, const struct view_request *request, struct output *output)
{
    struct view_request asked = *request;
    asked.name = "out";
    asked.in_place = asked.in_background = true;
    output->object = NULL;
    view_nothing(&output->view);
    if (!out || out == Py_None)
        return true;
    if (!array_view(out, &asked, &output->view))
        return false;
    output->object = out;
    return !output->view.read_only ||
           PyErr_Format(PyExc_ValueError, "out is read-only: %s", output->view.read_only);
}

bool output_locate(struct output *output, const struct where *where)
{
    return !output->view.on_device || where->locate(where, &output->view, "out");
}

bool output_is_one(const struct output *output)
{
    return output->view.n == 1 ||
           PyErr_Format(PyExc_ValueError, "out must have one element; it has %llu",
                        (unsigned long long)output->view.n);
}

bool output_has_shape(const struct output *output, unsigned dimensions, const uint64_t *shape)
{
    const struct layout *layout = &output->view.layout;
    if (layout->dimensions == dimensions &&
        memcmp(layout->shape, shape, dimensions * sizeof *shape) == 0)
        return true;
    OWNED *wanted = shape_tuple(dimensions, shape),
          *given = shape_tuple(layout->dimensions, layout->shape);
    return wanted && given &&
           PyErr_Format(PyExc_ValueError, "out must have the shape of the results, %R; it has %R",
                        wanted, given);
}

static bool overlap(struct extent a, struct extent b)
{
    return a.bytes && b.bytes && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

bool output_overlaps(const struct output *output, const struct layout *read)
{
    return overlap(layout_extent(&output->view.layout), layout_extent(read));
}

bool output_is_ready(struct output *output, enum element type, const struct layout *read)
{
    struct layout *layout = &output->view.layout;
    const struct extent written = layout_extent(layout);
    layout_normalise(layout, true);
    if (layout->input != type || !layout_is_flat(layout) || overlap(written, layout_extent(read)))
        return false;
    if (!read->mask)
        return true;
    const struct layout mask = layout_of_its_mask(read);
    return !overlap(written, layout_extent(&mask));
}

static void swap_bytes(unsigned char *bytes, size_t count)
{
    for (size_t k = 0; k < count / 2; k++) {
        const unsigned char byte = bytes[k];
        bytes[k] = bytes[count - 1 - k];
        bytes[count - 1 - k] = byte;
    }
}

static void store(const struct layout *layout, char *at, union scalar result, enum element type)
{
    unsigned char bytes[sizeof(union scalar)];
    const size_t parts = element_is_complex(layout->input) ? 2 : 1,
                 size = element_size(layout->input) / parts;
    scalar_store(bytes, scalar_convert(result, type, layout->input), layout->input);
    for (size_t k = 0; layout->swapped && k < parts; k++)
        swap_bytes(bytes + k * size, size);
    memcpy(at, bytes, parts * size);
}

void output_store(struct output *output, const void *results, enum element type)
{
    const struct layout *layout = &output->view.layout;
    const size_t size = element_size(type);
    const bool as_they_are = layout->input == type && !layout->swapped;
    const unsigned inner = layout->dimensions ? layout->dimensions - 1 : 0;
    const uint64_t run = layout->dimensions ? layout->shape[inner] : 1;
    const int64_t stride = layout->dimensions ? layout->strides[inner] : 0;
    const char *from = results;
    char *at = (char *)layout->data;
    uint64_t index[DIMENSIONS_MAX] = {0};
    for (uint64_t left = output->view.n; left > 0; left -= run, from += run * size) {
        if (as_they_are && stride == (int64_t)size)
            memcpy(at, from, run * size);
        else
            for (uint64_t k = 0; k < run; k++)
                if (as_they_are)
                    memcpy(at + (int64_t)k * stride, from + k * size, size);
                else
                    store(layout, at + (int64_t)k * stride, scalar_load(from + k * size, type),
                          type);
        for (unsigned k = inner; k-- > 0;) {
            at += layout->strides[k];
            if (++index[k] < layout->shape[k])
                break;
            at -= (int64_t)layout->shape[k] * layout->strides[k];
            index[k] = 0;
        }
    }
}

/* ---- stream= ---- */

static bool wrong_stream(PyObject *object)
{
    return PyErr_Format(
        PyExc_TypeError,
        "stream must be an integer, an object with __cuda_stream__, or a stream of CuPy, "
        "PyTorch or Numba; got %.200s",
        Py_TYPE(object)->tp_name);
}

static bool parse_handle(PyObject *object, struct stream *stream)
{
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return wrong_stream(object);
    OWNED *number = PyNumber_Index(object);
    if (!number)
        return false;
    stream->handle = PyLong_AsUnsignedLongLong(number);
    stream->given = !PyErr_Occurred();
    if (stream->given)
        return true;
    PyErr_Clear();
    return PyErr_Format(PyExc_ValueError, "stream %R is no handle of a stream", object);
}

/* Of the caller's own integers 0 might mean either default stream. */
static bool parse_integer(PyObject *object, struct stream *stream)
{
    if (!parse_handle(object, stream))
        return false;
    stream->given = stream->handle;
    return stream->given || PyErr_Format(PyExc_ValueError,
                                         "stream 0 is ambiguous: 1 is the legacy default stream, 2 "
                                         "the per-thread one");
}

bool stream_parse_handle(PyObject *handle, struct stream *stream)
{
    if (!parse_handle(handle, stream))
        return false;
    if (!stream->handle)
        stream->handle = LEGACY_DEFAULT_STREAM;
    return true;
}

/* The protocol's answer: a version, which is 0, and the handle. */
static bool parse_protocol(PyObject *method, struct stream *stream)
{
    OWNED *pair = PyObject_CallNoArgs(method);
    if (pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
        return stream_parse_handle(PyTuple_GET_ITEM(pair, 1), stream);
    return pair && PyErr_Format(PyExc_TypeError,
                                "stream: __cuda_stream__() must return a tuple (version, handle), "
                                "not %R",
                                pair);
}

/* CuPy's streams have a ptr, PyTorch's a cuda_stream, Numba's a handle: a ctypes pointer, which has
 * a value, None if it is null. */
static bool parse_library(PyObject *object, struct stream *stream)
{
    OWNED *handle = NULL, *pointer = NULL;
    int found = PyObject_GetOptionalAttr(object, names.ptr, &handle);
    if (!found)
        found = PyObject_GetOptionalAttr(object, names.cuda_stream, &handle);
    if (!found) {
        found = PyObject_GetOptionalAttr(object, names.handle, &pointer);
        if (found > 0 && PyIndex_Check(pointer))
            handle = Py_NewRef(pointer);
        else if (found > 0)
            found = PyObject_GetOptionalAttr(pointer, names.value, &handle);
        if (handle == Py_None)
            Py_SETREF(handle, PyLong_FromLong(0));
    }
    return found > 0 ? stream_parse_handle(handle, stream) : found == 0 && wrong_stream(object);
}

bool stream_parse(PyObject *object, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    if (!object || object == Py_None)
        return true;
    if (PyIndex_Check(object))
        return parse_integer(object, stream);
    OWNED *method = NULL;
    const int found = PyObject_GetOptionalAttr(object, names.__cuda_stream__, &method);
    return found > 0 ? parse_protocol(method, stream) : found == 0 && parse_library(object, stream);
}
