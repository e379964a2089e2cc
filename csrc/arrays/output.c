#include "arrays/output.h"

#include "arrays/shape.h"
#include "common/scalar.h"

bool output_view(PyObject *out, const struct view_request *request, struct output *output)
{
    struct view_request asked = *request;
    asked.name = "out";
    asked.in_place = asked.in_background = true;
    output->object = NULL;
    output->view.owner = NULL;
    output->view.pin = NULL;
    output->view.on_device = false;
    if (!out || out == Py_None)
        return true;
    if (!array_view(out, &asked, &output->view))
        return false;
    output->object = out;
    if (output->view.read_only) {
        PyErr_Format(PyExc_ValueError, "out is read-only: %s", output->view.read_only);
        return false;
    }
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
    PyErr_Format(PyExc_ValueError, "out must have one element; it has %llu",
                 (unsigned long long)output->view.n);
    return false;
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
