#include "arrays/numpys.h"

#include "arrays/array.h"

#include "arrays/protocols.h"

int array_setup(void)
{
    return numpy_setup() < 0 || objects_setup() < 0 ? -1 : dlpack_setup();
}

/* Steals the reference to the array. */
static bool view_numpy(PyArrayObject *array, const char *name, struct view *view)
{
    struct layout *layout = &view->layout;
    view_init(view, false);
    if (!numpy_element_of_descr(PyArray_DESCR(array), name, &layout->input)) {
        Py_DECREF(array);
        return false;
    }
    view->held.owner = (PyObject *)array;
    layout->type = layout->input;
    layout->data = view->held.original_data = PyArray_DATA(array);
    layout->swapped = !PyArray_ISNBO(PyArray_DESCR(array)->byteorder);
    layout->dimensions = (unsigned)PyArray_NDIM(array);
    for (unsigned k = 0; k < layout->dimensions; k++) {
        layout->shape[k] = (uint64_t)PyArray_DIM(array, (int)k);
        layout->strides[k] = layout->shape[k] > 1 ? PyArray_STRIDE(array, (int)k) : 0;
    }
    view->n = (uint64_t)PyArray_SIZE(array);
    if (!PyArray_ISWRITEABLE(array))
        view->read_only = "its flags do not have WRITEABLE";
    return true;
}

/* Built-in types and NumPy's own scalar types have no protocol; classes derived from them may. */
static bool is_builtin(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object) ||
           object == Py_None ||
           (PyArray_IsScalar(object, Generic) &&
            !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE));
}

/* Tries __cuda_array_interface__ if its stream is known, DLPack, and __cuda_array_interface__ in
 * any case, since it may hide pending work, until one succeeds. 1; 0 if the object offers none,
 * with an exception set if it declined by one; or -1. */
static int try_protocols(PyObject *object, const struct view_request *request, struct view *view)
{
    int viewed = cuda_interface_view(object, request, true, view);
    if (viewed > 0 || (viewed < 0 && !PyErr_ExceptionMatches(PyExc_Exception)))
        return viewed;
    const bool failed = viewed < 0;
    const struct saved_exception interface_error = exception_save();
    viewed = dlpack_view(object, request, view);
    if (viewed > 0 && request->in_place && !cuda_interface_mark_read_only(object, view)) {
        array_release(view);
        viewed = -1;
    }
    exception_restore(interface_error, !viewed && failed);
    if (viewed || failed)
        return viewed ? viewed : -1;
    const struct saved_exception dlpack_error = exception_save();
    viewed = cuda_interface_view(object, request, false, view);
    exception_restore(dlpack_error, !viewed);
    return viewed;
}

/* Views the object, for a tensor after resolving pending conjugation and negation. */
static int view_resolved(PyObject *object, const struct view_request *request, struct view *view)
{
    OWNED *resolved = torch_resolve(object);
    if (!resolved)
        return -1;
    int viewed = try_protocols(resolved, request, view);
    if (viewed > 0 && request->in_place && resolved != object) {
        value_error("%s is a lazily conjugated or negated tensor, which cannot be written in place",
                    request->name);
        array_release(view);
        viewed = -1;
    }
    return viewed;
}

static int view_by_protocol(PyObject *object, const struct view_request *request, struct view *view)
{
    if (request->in_place && !library_check_writable(object, request->name))
        return -1;
    const int viewed = exchange_view(object, request, view);
    if (viewed)
        return viewed;
    return library_check_unitless(object, request->name) ? view_resolved(object, request, view)
                                                         : -1;
}

/* A list or tuple is judged by its first item, so that one of numbers or arrays is not scanned. */
static bool may_have_nulls(PyObject *object)
{
    if (!is_builtin(object))
        return true;
    if (!(PyList_CheckExact(object) || PyTuple_CheckExact(object)) || Py_SIZE(object) == 0)
        return false;
    PyObject *const first = PySequence_Fast_ITEMS(object)[0];
    return !is_builtin(first) && !PyArray_Check(first);
}

/* NumPy would silently turn a dataframe library's nulls into NaN. They become a mask if the request
 * takes one, and are refused otherwise. NULL with an exception set. */
static PyObject *convert_object(PyObject *object, const struct view_request *request)
{
    if (!may_have_nulls(object))
        return PyArray_FROM_O(object);
    const char *const check = request->valid_mask ? "values_and_validity" : "reject_nulls";
    OWNED *checked = python_call("gred.checks", check, "(Os)", object, request->name);
    if (!checked || !request->valid_mask)
        return checked ? PyArray_FROM_O(checked) : NULL;
    PyObject *const valid = PyTuple_GET_ITEM(checked, 1);
    *request->valid_mask = valid == Py_None ? NULL : Py_NewRef(valid);
    return PyArray_FROM_O(PyTuple_GET_ITEM(checked, 0));
}

bool array_has_no_mask(PyObject *object, const char *name)
{
    return !PyArray_Check(object) || !PyObject_HasAttr(object, names.mask) ||
           type_error("%s: masked arrays are not supported; %s.compressed() drops masked elements, "
                      "%s.filled(value) replaces them",
                      name, name, name);
}

/* Converts an object to a NumPy array; a new reference. NULL with an exception set. */
static PyObject *as_numpy_array(PyObject *object, const struct view_request *request)
{
    const char *const name = request->name;
    if (PyArray_CheckExact(object))
        return Py_NewRef(object);
    if (!PyArray_Check(object))
        return request->in_place
                   ? type_error("%s must be an array, of NumPy or on a GPU; got %.200s", name,
                                Py_TYPE(object)->tp_name)
                   : convert_object(object, request);
    return array_has_no_mask(object, name) && library_check_unitless(object, name)
               ? Py_NewRef(object)
               : NULL;
}

/* Prefers the exception by which the object declined to that for an array of unsupported type. */
static bool view_by_numpy(PyObject *object, const struct view_request *request, struct view *view)
{
    const struct saved_exception declined = exception_save();
    PyObject *array = as_numpy_array(object, request);
    const bool viewed = array && view_numpy((PyArrayObject *)array, request->name, view);
    exception_restore(declined, array && !viewed && declined.type);
    return viewed;
}

bool array_view(PyObject *object, const struct view_request *request, struct view *view)
{
    if (PyArray_Check(object) || is_builtin(object))
        return view_by_numpy(object, request, view);
    const int viewed = view_by_protocol(object, request, view);
    if (viewed > 0 || (viewed == 0 && view_by_numpy(object, request, view)))
        return true;
    library_explain_failure(object, request->name);
    return false;
}

bool held_check_unmoved(const struct held *held, uint64_t n, const char *name)
{
    PyArrayObject *const array = (PyArrayObject *)held->owner;
    return !array || !PyArray_Check(held->owner) ||
           (PyArray_DATA(array) == held->original_data && (uint64_t)PyArray_SIZE(array) == n) ||
           value_error(
               "%s was resized while another argument was converted, and its memory is gone", name);
}

/* Deleters are third-party code and may run while an exception is set, which is therefore saved. */
void held_release(struct held *held)
{
    if (held->pin)
        held->unpin(held->pin);
    held->pin = NULL;
    if (held->tensor && held->deleter) {
        const struct saved_exception saved = exception_save();
        held->deleter(held->tensor);
        exception_restore(saved, true);
    }
    held->tensor = NULL;
    Py_CLEAR(held->owner);
}

bool array_offers_memory(PyObject *object)
{
    return PyArray_Check(object) ||
           PyObject_HasAttr((PyObject *)Py_TYPE(object), names.__dlpack_c_exchange_api__) ||
           PyObject_HasAttr(object, names.__cuda_array_interface__) ||
           PyObject_HasAttr(object, names.__dlpack_device__);
}

bool array_is_flat(PyObject *object, struct layout *layout)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *const array = (PyArrayObject *)object;
    const PyArray_Descr *const descr = PyArray_DESCR(array);
    const npy_intp n = PyArray_SIZE(array);
    layout->input = numpy_element_of_number(descr->type_num);
    if (n == 0 || layout->input == ELEMENTS || !PyArray_ISNBO(descr->byteorder) ||
        !PyArray_IS_C_CONTIGUOUS(array))
        return false;
    layout->data = PyArray_DATA(array);
    layout->mask = NULL;
    layout->swapped = false;
    layout->dimensions = n > 1;
    layout->shape[0] = (uint64_t)n;
    layout->strides[0] = (int64_t)element_size(layout->input);
    layout->mask_strides[0] = 0;
    return layout_is_flat(layout);
}

/* ---- bools ---- */

/* Converts an object to an array of bool, without a cast. NULL with an exception set. */
static PyObject *as_bool_array(PyObject *object, const char *name)
{
    OWNED *made = PyArray_FROM_O(object);
    PyArrayObject *const array = (PyArrayObject *)made;
    if (!made || PyArray_ISBOOL(array))
        return Py_XNewRef(made);
    if (PyArray_Check(object) || PyArray_DESCR(array)->type_num != NPY_OBJECT)
        return type_error("%s must be an array of bool, not of %S", name,
                          (PyObject *)PyArray_DESCR(array));
    return type_error("%s must be an array of bool, not of %s", name, Py_TYPE(object)->tp_name);
}

/* NumPy casts plain Python values. It turns an opaque object into a 0-d True, and raises TypeError
 * for other dtypes and for an __array__ without a dtype parameter; as_bool_array handles these. */
bool array_view_bool(PyObject *object, const char *name, struct view *view)
{
    PyObject *bools = PyArray_FROM_OT(object, NPY_BOOL);
    if (!bools && !PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    PyErr_Clear();
    if (!bools || (!PyArray_NDIM((PyArrayObject *)bools) && !PyArray_IsAnyScalar(object) &&
                   !is_builtin(object)))
        Py_XSETREF(bools, as_bool_array(object, name));
    return bools && view_numpy((PyArrayObject *)bools, name, view);
}
