#include "arrays/mask.h"

#include "arrays/numpys.h"

/* A mask that offers its memory is taken as it lies; anything else becomes NumPy's. */
static bool view_mask(PyObject *where, const struct view_request *request, struct mask *mask)
{
    struct view *view = &mask->view;
    struct view_request asked = *request;
    asked.name = "where";
    view->owner = NULL;
    view->pin = NULL;
    if (!array_offers_memory(where))
        return array_of_bools(where, "where", view);
    if (!array_view(where, &asked, view))
        return false;
    if (view->layout.input == ELEMENT_BOOL)
        return !view->on_device || request->where->locate(request->where, view, "where");
    PyErr_Format(PyExc_TypeError, "where must be an array of bool, not of %s",
                 element_name(view->layout.input));
    return false;
}

static bool broadcast(const struct layout *mask, struct layout *array)
{
    const unsigned missing = array->dimensions - mask->dimensions;
    if (mask->dimensions > array->dimensions) {
        PyErr_Format(PyExc_ValueError,
                     "where has %u dimensions, and the array only %u: where is broadcast to the "
                     "array, not the array to where",
                     mask->dimensions, array->dimensions);
        return false;
    }
    for (unsigned k = 0; k < array->dimensions; k++) {
        const uint64_t length = k < missing ? 1 : mask->shape[k - missing];
        array->mask_strides[k] = length == 1 ? 0 : mask->strides[k - missing];
        if (length != 1 && length != array->shape[k]) {
            PyErr_Format(PyExc_ValueError,
                         "where cannot be broadcast to the array: dimension %u is %llu, not %llu",
                         k, (unsigned long long)length, (unsigned long long)array->shape[k]);
            return false;
        }
    }
    array->mask = mask->data;
    return true;
}

static bool check_place(const struct view *array, const struct view *mask)
{
    if (!mask->on_device || array->n == 0 ||
        (array->on_device && array->platform == mask->platform && array->device == mask->device))
        return true;
    PyErr_SetString(PyExc_ValueError, "where lies on a device, and the array does not lie there; "
                                      "bring both to one place");
    return false;
}

bool mask_apply(PyObject *where, const struct view_request *request, struct view *array,
                struct mask *mask)
{
    mask->on_device = false;
    mask->producer = (struct stream){.given = false};
    mask->view.owner = NULL;
    mask->view.pin = NULL;
    if (!where || where == Py_True || numpys_is_no_value(where))
        return true;
    if (where == Py_None) { /* NumPy takes it for False, which hides all, or fails */
        PyErr_SetString(PyExc_TypeError, "where must be an array of bool or a bool; got None. "
                                         "Leave it out, or say True, where nothing is hidden");
        return false;
    }
    if (!view_mask(where, request, mask) || !check_place(array, &mask->view) ||
        !broadcast(&mask->view.layout, &array->layout))
        return false;
    mask->on_device = mask->view.on_device;
    mask->producer = mask->view.producer;
    return true;
}

void mask_release(struct mask *mask)
{
    array_release(&mask->view);
}
