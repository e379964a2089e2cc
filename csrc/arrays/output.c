#include "arrays/output.h"

bool output_parse(PyObject *out, const struct view_request *request, struct output *output)
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
    if (output->view.n != 1) {
        PyErr_Format(PyExc_ValueError, "out must have one element; it has %llu",
                     (unsigned long long)output->view.n);
        return false;
    }
    if (output->view.read_only) {
        PyErr_Format(PyExc_ValueError, "out is read-only: %s", output->view.read_only);
        return false;
    }
    return !output->view.on_device || request->where->locate(request->where, &output->view, "out");
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

void output_store(struct output *output, union scalar result, enum element type)
{
    const struct layout *layout = &output->view.layout;
    unsigned char bytes[sizeof(union scalar)];
    const size_t parts = element_is_complex(layout->input) ? 2 : 1,
                 size = element_size(layout->input) / parts;
    scalar_store(bytes, scalar_convert(result, type, layout->input), layout->input);
    for (size_t k = 0; layout->swapped && k < parts; k++)
        swap_bytes(bytes + k * size, size);
    memcpy((void *)layout->data, bytes, parts * size);
}
