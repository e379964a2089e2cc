#include "arrays/means.h"

#include "arrays/numpys.h"
#include "arrays/units.h"

void means_begin(struct means *self)
{
    self->here = NULL;
    self->array = NULL;
    self->view.owner = NULL;
    self->view.pin = NULL;
    self->producer = (struct stream){.given = false};
}

void means_release(struct means *self)
{
    Py_CLEAR(self->array);
    array_release(&self->view);
}

/* ---- on a device ---- */

static bool check_place(const struct view_request *request, struct view *array, struct view *means)
{
    const struct where *where = request->where;
    if (array->on_device &&
        (!where->locate(where, array, "a") || !where->locate(where, means, request->name)))
        return false;
    if (array->n == 0 ||
        (array->on_device && array->platform == means->platform && array->device == means->device))
        return true;
    PyErr_SetString(PyExc_ValueError, "mean lies on a device, and the array does not lie there; "
                                      "bring both to one place");
    return false;
}

static bool check_type(const struct view *array, const struct view *means)
{
    if (!element_is_complex(means->layout.input) || element_is_complex(array->layout.input))
        return true;
    PyErr_SetString(PyExc_TypeError, "mean of real elements must be real, not complex");
    return false;
}

/* Dimensions in front of the results' own are no hindrance as long as they have one element. */
static bool broadcast(const struct layout *means, unsigned dimensions, const uint64_t *shape,
                      struct layout *to)
{
    const unsigned given = means->dimensions;
    bool fits = true;
    to->dimensions = dimensions;
    for (unsigned k = 0; k + dimensions < given; k++)
        fits = fits && means->shape[k] == 1;
    for (unsigned k = 0; k < dimensions; k++) {
        const bool missing = k + given < dimensions;
        const unsigned own = k + given - dimensions;
        const uint64_t length = missing ? 1 : means->shape[own];
        to->shape[k] = shape[k];
        to->strides[k] = length == 1 ? 0 : means->strides[own];
        to->mask_strides[k] = 0;
        fits = fits && (length == 1 || length == shape[k]);
    }
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "mean cannot be broadcast to the shape of the results "
                                          "with keepdims=True");
    return fits;
}

static bool take_there(const struct view_request *request, struct view *array, unsigned dimensions,
                       const uint64_t *shape, struct means *self)
{
    const struct layout *means = &self->view.layout;
    if (!check_place(request, array, &self->view) || !check_type(array, &self->view))
        return false;
    self->there.data = means->data;
    self->there.mask = NULL;
    self->there.input = self->there.type = means->input;
    self->there.swapped = false;
    self->producer = self->view.producer;
    return broadcast(means, dimensions, shape, &self->there);
}

/* ---- anywhere ---- */

/* What does not offer memory on a device becomes NumPy's. */
bool means_view(PyObject *object, const struct view_request *request, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *self)
{
    struct view_request asked = *request;
    asked.name = "mean";
    self->count = 1;
    if (!units_none(object, asked.name))
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
