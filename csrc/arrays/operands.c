#include "arrays/operands.h"

#include "arrays/libraries.h"
#include "arrays/numpys.h"
#include "arrays/objects.h"
#include "common/scalar.h"

/* For array_release, if nothing is viewed. */
static void view_forget(struct view *view)
{
    view->owner = NULL;
    view->pin = NULL;
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

/* Whether what lies on a device lies where the array does. False with an exception set. */
static bool lies_with(const struct view *array, const struct view *other, const char *name)
{
    if (!other->on_device || array->n == 0 ||
        (array->on_device && array->platform == other->platform && array->device == other->device))
        return true;
    return PyErr_Format(
        PyExc_ValueError,
        "%s lies on a device, and the array does not lie there; bring both to one place", name);
}

/* ---- where= ---- */

/* A mask that offers its memory is taken as it lies; anything else becomes NumPy's. */
static bool view_mask(PyObject *where, const struct view_request *request, struct mask *mask)
{
    struct view *view = &mask->view;
    struct view_request asked = *request;
    asked.name = "where";
    if (!array_offers_memory(where))
        return array_of_bools(where, "where", view);
    if (!array_view(where, &asked, view))
        return false;
    if (view->layout.input == ELEMENT_BOOL)
        return !view->on_device || request->where->locate(request->where, view, "where");
    return PyErr_Format(PyExc_TypeError, "where must be an array of bool, not of %s",
                        element_name(view->layout.input));
}

static bool broadcast_mask(const struct layout *mask, struct layout *array)
{
    const unsigned missing = array->dimensions - mask->dimensions;
    if (mask->dimensions > array->dimensions)
        return PyErr_Format(
            PyExc_ValueError,
            "where has %u dimensions, and the array only %u: where is broadcast to the "
            "array, not the array to where",
            mask->dimensions, array->dimensions);
    const unsigned wrong = broadcast(mask, array->dimensions, array->shape, array->mask_strides);
    if (wrong < array->dimensions)
        return PyErr_Format(
            PyExc_ValueError,
            "where cannot be broadcast to the array: dimension %u is %llu, not %llu", wrong,
            (unsigned long long)mask->shape[wrong - missing],
            (unsigned long long)array->shape[wrong]);
    array->mask = mask->data;
    return true;
}

bool mask_apply(PyObject *where, const struct view_request *request, struct view *array,
                struct mask *mask)
{
    mask->on_device = false;
    mask->producer = (struct stream){.given = false};
    view_forget(&mask->view);
    if (!where || where == Py_True || numpys_is_no_value(where))
        return true;
    if (where == Py_None) { /* NumPy takes it for False, which hides all, or fails */
        return PyErr_Format(PyExc_TypeError, "where must be an array of bool or a bool; got None. "
                                             "Leave it out, or say True, where nothing is hidden");
    }
    if (!view_mask(where, request, mask) || !lies_with(array, &mask->view, "where") ||
        !broadcast_mask(&mask->view.layout, &array->layout))
        return false;
    mask->on_device = mask->view.on_device;
    mask->producer = mask->view.producer;
    return true;
}

void mask_release(struct mask *mask)
{
    array_release(&mask->view);
}

/* ---- mean= ---- */

void means_begin(struct means *self)
{
    self->here = NULL;
    self->array = NULL;
    view_forget(&self->view);
    self->producer = (struct stream){.given = false};
}

void means_release(struct means *self)
{
    Py_CLEAR(self->array);
    array_release(&self->view);
}

/* On a device. Where the array lies there, too, it has to be known where. */
static bool check_means_place(const struct view_request *request, struct view *array,
                              struct view *means)
{
    const struct where *where = request->where;
    if (array->on_device &&
        (!where->locate(where, array, "a") || !where->locate(where, means, request->name)))
        return false;
    return lies_with(array, means, "mean");
}

static bool check_type(const struct view *array, const struct view *means)
{
    if (!element_is_complex(means->layout.input) || element_is_complex(array->layout.input))
        return true;
    return PyErr_Format(PyExc_TypeError, "mean of real elements must be real, not complex");
}

/* Dimensions in front of the results' own are no hindrance as long as they have one element. */
static bool broadcast_means(const struct layout *means, unsigned dimensions, const uint64_t *shape,
                            struct layout *to)
{
    bool fits = true;
    to->dimensions = dimensions;
    for (unsigned k = 0; k + dimensions < means->dimensions; k++)
        fits = fits && means->shape[k] == 1;
    for (unsigned k = 0; k < dimensions; k++) {
        to->shape[k] = shape[k];
        to->mask_strides[k] = 0;
    }
    fits = fits && broadcast(means, dimensions, shape, to->strides) == dimensions;
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "mean cannot be broadcast to the shape of the results "
                                          "with keepdims=True");
    return fits;
}

static bool take_there(const struct view_request *request, struct view *array, unsigned dimensions,
                       const uint64_t *shape, struct means *self)
{
    const struct layout *means = &self->view.layout;
    if (!check_means_place(request, array, &self->view) || !check_type(array, &self->view))
        return false;
    self->there.data = means->data;
    self->there.mask = NULL;
    self->there.input = self->there.type = means->input;
    self->there.swapped = false;
    self->producer = self->view.producer;
    return broadcast_means(means, dimensions, shape, &self->there);
}

/* What does not offer memory on a device becomes NumPy's. */
bool means_view(PyObject *object, const struct view_request *request, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *self)
{
    struct view_request asked = *request;
    asked.name = "mean";
    self->count = 1;
    if (!library_has_no_unit(object, asked.name))
        return false;
    for (unsigned k = 0; k < dimensions; k++)
        self->count *= shape[k];
    if (!array_is_numpys(object) && array_offers_memory(object)) {
        if (!array_view(object, &asked, &self->view))
            return false;
        if (self->view.on_device)
            return take_there(&asked, array, dimensions, shape, self);
    }
    self->array = numpys_broadcast(object, asked.name, element_is_complex(array->layout.input),
                                   dimensions, shape, &self->here);
    return self->array;
}

/* ---- out= ---- */

bool output_view(PyObject *out, const struct view_request *request, struct output *output)
{
    struct view_request asked = *request;
    asked.name = "out";
    asked.in_place = asked.in_background = true;
    output->object = NULL;
    view_forget(&output->view);
    output->view.on_device = false;
    if (!out || out == Py_None)
        return true;
    if (!array_view(out, &asked, &output->view))
        return false;
    output->object = out;
    if (output->view.read_only)
        return PyErr_Format(PyExc_ValueError, "out is read-only: %s", output->view.read_only);
    return true;
}

bool output_locate(struct output *output, const struct where *where)
{
    return !output->view.on_device || where->locate(where, &output->view, "out");
}

bool output_is_one(const struct output *output)
{
    if (output->view.n == 1)
        return true;
    return PyErr_Format(PyExc_ValueError, "out must have one element; it has %llu",
                        (unsigned long long)output->view.n);
}

/* "(2, 3)"; a new reference. */
static PyObject *shape_text(unsigned dimensions, const uint64_t *shape)
{
    PyObject *tuple = shape_tuple(dimensions, shape);
    PyObject *text = tuple ? PyObject_Repr(tuple) : NULL;
    Py_XDECREF(tuple);
    return text;
}

bool output_has_shape(const struct output *output, unsigned dimensions, const uint64_t *shape)
{
    const struct layout *layout = &output->view.layout;
    if (layout->dimensions == dimensions &&
        memcmp(layout->shape, shape, dimensions * sizeof *shape) == 0)
        return true;
    PyObject *wanted = shape_text(dimensions, shape),
             *given = shape_text(layout->dimensions, layout->shape);
    if (wanted && given)
        PyErr_Format(PyExc_ValueError, "out must have the shape of the results, %U; it has %U",
                     wanted, given);
    Py_XDECREF(wanted);
    Py_XDECREF(given);
    return false;
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

void output_release(struct output *output)
{
    array_release(&output->view);
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

void output_store(struct output *output, union scalar result, enum element type)
{
    store(&output->view.layout, (char *)output->view.layout.data, result, type);
}

/* n elements that need no conversion. */
static void copy_run(char *at, int64_t stride, const char *from, size_t size, uint64_t n)
{
    if (stride == (int64_t)size)
        memcpy(at, from, n * size);
    else
        for (uint64_t k = 0; k < n; k++)
            memcpy(at + (int64_t)k * stride, from + k * size, size);
}

void output_store_all(struct output *output, const void *results, enum element type)
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
        if (as_they_are)
            copy_run(at, stride, from, size, run);
        else
            for (uint64_t k = 0; k < run; k++)
                store(layout, at + (int64_t)k * stride, scalar_load(from + k * size, type), type);
        for (unsigned k = inner; k-- > 0;) {
            at += layout->strides[k];
            if (++index[k] < layout->shape[k])
                break;
            at -= (int64_t)layout->shape[k] * layout->strides[k];
            index[k] = 0;
        }
    }
}
