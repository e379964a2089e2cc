#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "array.h"

#include "cuda_interface.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

int array_setup(void)
{
    import_array1(-1);
    return 0;
}

/* One kind and size is one element type, whatever C calls it: NumPy has two names for a 64-bit
 * integer. */
static const struct {
    char kind;
    int size;
    enum element element;
} elements_by_kind[] = {
    {'i', 4, ELEMENT_INT32},   {'i', 8, ELEMENT_INT64},   {'u', 8, ELEMENT_UINT64},
    {'f', 4, ELEMENT_FLOAT32}, {'f', 8, ELEMENT_FLOAT64},
};

static const int numpy_types[ELEMENTS] = {
    [ELEMENT_INT32] = NPY_INT32,     [ELEMENT_INT64] = NPY_INT64,     [ELEMENT_UINT64] = NPY_UINT64,
    [ELEMENT_FLOAT32] = NPY_FLOAT32, [ELEMENT_FLOAT64] = NPY_FLOAT64,
};

static bool element_of(PyArray_Descr *descr, const char *name, enum element *element)
{
    for (size_t k = 0; k < sizeof elements_by_kind / sizeof *elements_by_kind; k++)
        if (descr->kind == elements_by_kind[k].kind &&
            PyDataType_ELSIZE(descr) == elements_by_kind[k].size) {
            *element = elements_by_kind[k].element;
            return true;
        }
    PyErr_Format(PyExc_TypeError, "%s: element type %S is not supported; the supported ones are %s",
                 name, (PyObject *)descr, element_names());
    return false;
}

bool array_element(PyObject *dtype, const char *name, enum element *element)
{
    PyArray_Descr *descr = NULL;
    if (PyArray_DescrConverter(dtype, &descr) != NPY_SUCCEED) {
        PyErr_Format(PyExc_TypeError, "%s: %R is not an element type; the supported ones are %s",
                     name, dtype, element_names());
        return false;
    }
    bool supported = element_of(descr, name, element);
    if (supported && !PyArray_ISNBO(descr->byteorder)) {
        PyErr_Format(PyExc_TypeError,
                     "%s: %R is not in this machine's byte order, and no other is supported", name,
                     dtype);
        supported = false;
    }
    Py_DECREF(descr);
    return supported;
}

/* NumPy's masked arrays are arrays with all their elements; to reduce those would be wrong. */
static bool refuse_mask(PyObject *object, const char *name)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object) ||
        !PyObject_HasAttrString(object, "mask"))
        return true;
    PyErr_Format(PyExc_TypeError, "%s: masked arrays are not supported; a.compressed() has no mask",
                 name);
    return false;
}

static bool view_host(PyObject *object, const char *name, struct view *view)
{
    if (!refuse_mask(object, name))
        return false;
    PyObject *any = PyArray_FROM_O(object);
    if (!any)
        return false;
    enum element element;
    if (!element_of(PyArray_DESCR((PyArrayObject *)any), name, &element)) {
        Py_DECREF(any);
        return false;
    }
    /* Order does not matter, so columns may be as contiguous as rows. There is a copy only where
     * the elements are strided, misaligned or of the other byte order. */
    const int order = PyArray_IS_F_CONTIGUOUS((PyArrayObject *)any) ? NPY_ARRAY_F_CONTIGUOUS
                                                                    : NPY_ARRAY_C_CONTIGUOUS;
    PyObject *array = PyArray_FROMANY(any, numpy_types[element], 0, 0,
                                      order | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED);
    Py_DECREF(any);
    if (!array)
        return false;
    *view = (struct view){
        .data = PyArray_DATA((PyArrayObject *)array),
        .n = (uint64_t)PyArray_SIZE((PyArrayObject *)array),
        .element = element,
        .owner = array,
    };
    return true;
}

static bool view_gpu(PyObject *object, PyObject *interface, const char *name, struct view *view)
{
    struct cuda_interface described;
    if (!cuda_interface_parse(interface, name, &described))
        return false;
    PyObject *typestr = PyUnicode_FromString(described.typestr);
    enum element element;
    const bool supported = typestr && array_element(typestr, name, &element);
    Py_XDECREF(typestr);
    if (!supported)
        return false;
    if (described.n && described.pointer % element_size(element)) {
        PyErr_Format(PyExc_ValueError,
                     "%s: __cuda_array_interface__['data'] is %p, which is not aligned to its "
                     "%zu-byte elements",
                     name, (void *)described.pointer, element_size(element));
        return false;
    }
    if (!cuda_interface_is_contiguous(&described, element_size(element))) {
        PyErr_Format(
            PyExc_ValueError,
            "%s: only C-contiguous GPU arrays are supported, and the strides of this one are not",
            name);
        return false;
    }
    *view = (struct view){
        .data = (const void *)described.pointer,
        .n = described.n,
        .element = element,
        .on_gpu = true,
        .has_stream = described.has_stream,
        .stream = described.stream,
        .owner = Py_NewRef(object),
    };
    return true;
}

bool array_view(PyObject *object, const char *name, struct view *view)
{
    if (PyArray_Check(object))
        return view_host(object, name, view);
    PyObject *interface = PyObject_GetAttrString(object, "__cuda_array_interface__");
    if (!interface) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return false;
        PyErr_Clear();
        return view_host(object, name, view);
    }
    const bool viewed = view_gpu(object, interface, name, view);
    Py_DECREF(interface);
    return viewed;
}

void array_release(struct view *view)
{
    Py_CLEAR(view->owner);
}

PyObject *array_scalar(union scalar value, enum element element)
{
    PyArray_Descr *descr = PyArray_DescrFromType(numpy_types[element]);
    if (!descr)
        return NULL;
    PyObject *scalar = PyArray_Scalar(&value, descr, NULL);
    Py_DECREF(descr);
    return scalar;
}
