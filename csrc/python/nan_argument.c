#include "arrays/numpys_c.h"

#include "python/nan_argument.h"

#include "arrays/numpys.h"
#include "plan/types.h"
#include "plan/wrong.h"

/* Whether NumPy, too, leaves NaN out first: its means are of floats, and extremes have no dtype. */
static bool is_left_out(enum reduction reduction, enum element to)
{
    return reduction == REDUCTION_nansum || reduction == REDUCTION_nanprod ||
           (reduction == REDUCTION_nanmean && !element_is_integer(to));
}

/* NumPy's own view of what was viewed, of no derived class. */
static PyObject *plain_array(const struct view *view, PyObject *object)
{
    const bool own = view->owner && PyArray_Check(view->owner);
    return PyArray_FROM_OF(own ? view->owner : object, NPY_ARRAY_ENSUREARRAY);
}

/* Which elements are there and are numbers. NULL with an exception set. */
static PyObject *shown_numbers(PyObject *a, const struct view *view, PyObject *where,
                               const struct mask *mask)
{
    PyObject *array = plain_array(view, a);
    PyObject *shown = array ? PyObject_RichCompare(array, array, Py_EQ) : NULL;
    Py_XDECREF(array);
    if (shown && mask->view.owner) {
        PyObject *there = plain_array(&mask->view, where);
        Py_SETREF(shown, there ? PyNumber_And(shown, there) : NULL);
        Py_XDECREF(there);
    }
    return shown;
}

bool nan_left_out(struct request *request, PyObject *a, PyObject *where,
                  const struct view_request *asked, struct view *view, struct mask *mask)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    enum element to;
    if (row->plain == request->reduction || !argument_given(request->dtype) || view->on_device)
        return true;
    if (!numpys_element(request->dtype, "dtype", &to))
        return false;
    if (!is_left_out(request->reduction, to) || !types_lose_nan(view->layout.input, to))
        return true;
    PyObject *shown = shown_numbers(a, view, where, mask);
    mask_release(mask);
    request->reduction = row->plain;
    const bool hidden = shown && mask_apply(shown, asked, view, mask);
    Py_XDECREF(shown);
    return hidden;
}
