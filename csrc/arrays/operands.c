#include "arrays/numpys.h"

#include "arrays/operands.h"

#include "arrays/objects.h"

/* The strides of a layout broadcast to a shape: 0 along dimensions that it lacks or that have
 * length 1 in it. Returns the first dimension that does not fit, or `dimensions`. */
static unsigned broadcast_to(const struct layout *from, unsigned dimensions, const uint64_t *shape,
                             int64_t *strides)
{
    for (unsigned k = 0; k < dimensions; k++) {
        const bool missing = k + from->dimensions < dimensions;
        const unsigned d = k + from->dimensions - dimensions;
        const uint64_t length = missing ? 1 : from->shape[d];
        if (length != 1 && length != shape[k])
            return k;
        strides[k] = length == 1 ? 0 : from->strides[d];
    }
    return dimensions;
}

/* False with an exception set if `other` is on a device where the array, unless empty, is not. */
static bool check_same_device(const struct view *array, const struct view *other, const char *name)
{
    return !other->on_device || array->n == 0 ||
           (array->on_device && array->platform == other->platform &&
            array->device == other->device) ||
           value_error("%s is on a device that the array is not on; move both to the same place",
                       name);
}

/* ---- where= ---- */

/* A mask that offers its memory is viewed in place; anything else is converted by NumPy. */
static bool view_mask(PyObject *where, const struct view_request *request, struct view *mask)
{
    struct view_request mask_request = *request;
    mask_request.name = "where";
    if (!array_offers_memory(where))
        return array_view_bool(where, "where", mask);
    if (!array_view(where, &mask_request, mask))
        return false;
    if (mask->layout.input == ELEMENT_BOOL)
        return request->locator->locate(request->locator, mask, "where");
    return type_error("where must be an array of bool, not of %s",
                      element_name(mask->layout.input));
}

static bool broadcast_mask(const struct layout *mask, struct layout *array)
{
    if (mask->dimensions > array->dimensions)
        return value_error("where has %u dimensions, but the array only %u: where is broadcast to "
                           "the array, not the array to where",
                           mask->dimensions, array->dimensions);
    const unsigned missing = array->dimensions - mask->dimensions,
                   axis = broadcast_to(mask, array->dimensions, array->shape, array->mask_strides);
    array->mask = mask->data;
    return axis == array->dimensions ||
           value_error("where cannot be broadcast to the array: dimension %u is %llu, not %llu",
                       axis, (unsigned long long)mask->shape[axis - missing],
                       (unsigned long long)array->shape[axis]);
}

bool mask_apply(PyObject *where, const struct view_request *request, struct view *array,
                struct view *mask)
{
    view_init_empty(mask);
    if (!where || where == Py_True || numpy_is_no_value(where))
        return true;
    if (where == Py_None) /* NumPy takes it for False, masking everything, or fails */
        return type_error("where must be an array of bool or a bool; got None. Omit it, or pass "
                          "True, to include all elements");
    return view_mask(where, request, mask) && check_same_device(array, mask, "where") &&
           broadcast_mask(&mask->layout, &array->layout);
}

/* ---- mean= ---- */

/* Means of real elements are real; as in NumPy's assignment, extra leading lengths are 1. */
static bool check_means(bool is_complex, unsigned nd, const uint64_t *lengths,
                        const struct view *array, unsigned dimensions, const uint64_t *shape)
{
    if (is_complex && !element_is_complex(array->layout.input))
        return type_error("mean of real elements must be real, not complex");
    for (unsigned k = 0; k < nd; k++)
        if (lengths[k] != 1 && (k + dimensions < nd || lengths[k] != shape[k + dimensions - nd]))
            return value_error(
                "mean cannot be broadcast to the shape of the results with keepdims=True");
    return true;
}

/* Views means on a device. If the array is on a device, too, both are located. */
static bool view_device_means(const struct locator *locator, struct view *array,
                              unsigned dimensions, const uint64_t *shape, struct means *self)
{
    struct view *const view = &self->view;
    struct layout *const there = &self->there;
    if ((array->on_device &&
         (!locator->locate(locator, array, "a") || !locator->locate(locator, view, "mean"))) ||
        !check_same_device(array, view, "mean") ||
        !check_means(element_is_complex(view->layout.input), view->layout.dimensions,
                     view->layout.shape, array, dimensions, shape))
        return false;
    layout_copy(&view->layout, there);
    there->dimensions = dimensions;
    memcpy(there->shape, shape, dimensions * sizeof *shape);
    memset(there->mask_strides, 0, dimensions * sizeof *there->mask_strides);
    broadcast_to(&view->layout, dimensions, shape, there->strides);
    return true;
}

/* Copies means to a NumPy array on the host. Strings are refused, as NumPy would parse them. */
static bool copy_host_means(PyObject *object, bool bfloat16, const struct view *array,
                            unsigned dimensions, const uint64_t *shape, struct means *self)
{
    enum element element = ELEMENT_COMPLEX128;
    void *elements = NULL;
    PyObject **const owner = &self->view.held.owner;
    OWNED *readable = bfloat16 && torch_is_tensor(object) /* NumPy cannot convert it */
                          ? PyObject_CallMethod(object, "float", NULL)
                          : Py_NewRef(object);
    OWNED *made = readable ? PyArray_FROM_O(readable) : NULL;
    if (!made)
        return false;
    PyArrayObject *const given = (PyArrayObject *)made;
    const int type = PyArray_TYPE(given);
    if (!PyTypeNum_ISNUMBER(type) && !PyTypeNum_ISBOOL(type) && !PyTypeNum_ISOBJECT(type) &&
        !PyTypeNum_ISUSERDEF(type))
        return type_error("mean must be a number or an array of numbers, not of %S",
                          (PyObject *)PyArray_DESCR(given));
    if (check_means(PyArray_ISCOMPLEX(given), (unsigned)PyArray_NDIM(given),
                    (const uint64_t *)PyArray_DIMS(given), array, dimensions, shape))
        *owner = numpy_empty(dimensions, shape, &element, &elements);
    if (*owner && PyArray_CopyInto((PyArrayObject *)*owner, given) < 0)
        Py_CLEAR(*owner);
    self->here = elements;
    return *owner;
}

/* Objects that do not offer device memory are converted by NumPy. */
bool means_view(PyObject *object, const struct view_request *request, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *self)
{
    struct view_request mean_request = *request;
    bool bfloat16 = false;
    mean_request.name = "mean";
    mean_request.in_background = true;
    if (!array_has_no_mask(object, "mean") || !library_check_unitless(object, "mean"))
        return false;
    self->count = 1;
    for (unsigned k = 0; k < dimensions; k++)
        self->count *= shape[k];
    if (!PyArray_Check(object) && array_offers_memory(object)) {
        if (!array_view(object, &mean_request, &self->view))
            return false;
        if (self->view.on_device)
            return view_device_means(mean_request.locator, array, dimensions, shape, self);
        bfloat16 = self->view.layout.input == ELEMENT_BFLOAT16;
        array_release(&self->view);
    }
    return copy_host_means(object, bfloat16, array, dimensions, shape, self);
}

/* ---- out= ---- */

bool output_view(PyObject *out, const struct view_request *request, struct output *output)
{
    struct view_request out_request = *request;
    out_request.name = "out";
    out_request.in_place = out_request.in_background = true;
    output->object = NULL;
    output->as_array = out == Py_Ellipsis;
    view_init_empty(&output->view);
    if (!out || out == Py_None || output->as_array)
        return true;
    if (!array_view(out, &out_request, &output->view))
        return false;
    output->object = out;
    return !output->view.read_only || value_error("out is read-only: %s", output->view.read_only);
}

bool output_check_shape(struct output *output, const struct locator *locator, unsigned dimensions,
                        const uint64_t *shape)
{
    struct view *const view = &output->view;
    const struct layout *layout = &view->layout;
    if (!output->object)
        return true;
    if (!dimensions && view->n != 1)
        return value_error("out must have one element; it has %llu", (unsigned long long)view->n);
    if (dimensions && (layout->dimensions != dimensions ||
                       memcmp(layout->shape, shape, dimensions * sizeof *shape) != 0)) {
        OWNED *expected = shape_tuple(dimensions, shape),
              *actual = shape_tuple(layout->dimensions, layout->shape);
        return expected && actual &&
               value_error("out must have the shape of the results, %R; it has %R", expected,
                           actual);
    }
    return locator->locate(locator, view, "out");
}

static bool overlap(struct extent a, const struct layout *layout)
{
    const struct extent b = layout_extent(layout);
    return a.bytes && b.bytes && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

bool output_is_direct(struct output *output, enum element type, const struct layout *input,
                      const struct layout *other_input)
{
    struct layout *layout = &output->view.layout;
    const struct extent written = layout_extent(layout);
    layout_normalise(layout, true);
    if (layout->input != type || !layout_is_flat(layout) || overlap(written, input) ||
        (other_input && overlap(written, other_input)))
        return false;
    if (!input->mask)
        return true;
    const struct layout mask = layout_of_mask(input);
    return !overlap(written, &mask);
}

static void store_cast(const struct layout *layout, char *at, const char *from, enum element type)
{
    char bytes[sizeof(union scalar)];
    const size_t size = element_size(layout->input),
                 part = element_is_complex(layout->input) ? size / 2 : size;
    scalar_store(bytes, scalar_convert(scalar_load(from, type), type, layout->input),
                 layout->input);
    for (size_t k = 0; k < size; k++)
        at[k] = bytes[layout->swapped ? k / part * part + part - 1 - k % part : k];
}

/* Stores along dimensions k and up. Returns a pointer to the next results. */
static const char *store(const struct layout *layout, unsigned k, char *at, const char *from,
                         enum element type)
{
    const size_t size = element_size(type);
    const bool is_plain_copy = layout->input == type && !layout->swapped,
               is_last = k + 1 >= layout->dimensions;
    const uint64_t n = k < layout->dimensions ? layout->shape[k] : 1;
    const int64_t stride = k < layout->dimensions ? layout->strides[k] : 0;
    if (is_last && is_plain_copy && stride == (int64_t)size) {
        memcpy(at, from, n * size);
        return from + n * size;
    }
    for (uint64_t i = 0; i < n; i++, at += stride) {
        if (!is_last)
            from = store(layout, k + 1, at, from, type);
        else if (is_plain_copy)
            memcpy(at, from, size);
        else
            store_cast(layout, at, from, type);
        from += is_last ? size : 0;
    }
    return from;
}

void output_store(struct output *output, const void *results, enum element type)
{
    const struct layout *layout = &output->view.layout;
    store(layout, 0, (char *)layout->data, results, type);
}

/* ---- stream= ---- */

static bool wrong_stream(PyObject *object)
{
    return type_error("stream must be an integer, an object with __cuda_stream__, or a stream of "
                      "CuPy, PyTorch or Numba; got %.200s",
                      Py_TYPE(object)->tp_name);
}

/* `zero`: the stream that 0 means; 0 if it is ambiguous. */
static bool parse_handle(PyObject *object, uintptr_t zero, struct stream *stream)
{
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return wrong_stream(object);
    OWNED *number = PyNumber_Index(object);
    if (!number)
        return false;
    const uintptr_t handle = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return value_error("stream %.200R is not a valid stream handle", object);
    }
    stream->handle = handle ? handle : zero;
    stream->given = stream->handle;
    return stream->given ||
           value_error(
               "stream 0 is ambiguous: 1 is the legacy default stream, 2 the per-thread one");
}

bool stream_parse_handle(PyObject *handle, struct stream *stream)
{
    return parse_handle(handle, LEGACY_DEFAULT_STREAM, stream);
}

/* Reads the tuple (version, handle). The version, 0 so far, is not checked. */
static bool parse_protocol(PyObject *method, struct stream *stream)
{
    OWNED *pair = PyObject_CallNoArgs(method);
    if (pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2)
        return stream_parse_handle(PyTuple_GET_ITEM(pair, 1), stream);
    return pair &&
           type_error("stream: __cuda_stream__() must return a tuple (version, handle), not %R",
                      pair);
}

/* CuPy's streams have a ptr, PyTorch's a cuda_stream, Numba's a handle, a ctypes pointer. */
static bool parse_library(PyObject *object, struct stream *stream)
{
    PyObject *const attributes[] = {names.ptr, names.cuda_stream, names.handle};
    OWNED *handle = NULL, *value = NULL;
    int found = 0, k = 0;
    while (!found && k < 3)
        found = PyObject_GetOptionalAttr(object, attributes[k++], &handle);
    if (found > 0 && k == 3 && !PyIndex_Check(handle)) {
        found = PyObject_GetOptionalAttr(handle, names.value, &value);
        Py_XSETREF(handle, value == Py_None ? PyLong_FromLong(0) : Py_XNewRef(value));
    }
    return found > 0 ? stream_parse_handle(handle, stream) : found == 0 && wrong_stream(object);
}

bool stream_parse(PyObject *object, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    if (!object || object == Py_None)
        return true;
    if (PyIndex_Check(object)) /* a caller's 0 might mean either default stream */
        return parse_handle(object, 0, stream);
    OWNED *method = NULL;
    const int found = PyObject_GetOptionalAttr(object, names.__cuda_stream__, &method);
    return found > 0 ? parse_protocol(method, stream) : found == 0 && parse_library(object, stream);
}
