#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

#include "arrays/cuda_interface.h"
#include "arrays/cupy.h"
#include "arrays/dlpack.h"
#include "arrays/exchange.h"
#include "arrays/jax.h"
#include "arrays/protocol.h"
#include "arrays/result.h"
#include "arrays/stream.h"
#include "arrays/torch.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <string.h>

static PyObject *no_value; /* found at import, constant from then on */

static int find_no_value(void)
{
    PyObject *numpy = no_value ? NULL : PyImport_ImportModule("numpy");
    if (numpy)
        no_value = PyObject_GetAttrString(numpy, "_NoValue");
    Py_XDECREF(numpy);
    return no_value ? 0 : -1;
}

bool array_is_no_value(PyObject *object)
{
    return object == no_value;
}

int array_setup(void)
{
    import_array1(-1);
    if (find_no_value() < 0 || jax_setup() < 0)
        return -1;
    if (stream_setup() < 0 || torch_setup() < 0 || cuda_interface_setup() < 0)
        return -1;
    if (exchange_setup() < 0 || cupy_setup() < 0 || result_setup() < 0)
        return -1;
    return dlpack_setup();
}

/* ---- element types ---- */

/* NumPy's numbers: the element type, and what NumPy calls it in C. */
#define NUMPY_NUMBERS(ROW)                                                                         \
    ROW(INT8, INT8, Int8)                                                                          \
    ROW(INT16, INT16, Int16)                                                                       \
    ROW(INT32, INT32, Int32)                                                                       \
    ROW(INT64, INT64, Int64)                                                                       \
    ROW(UINT8, UINT8, UInt8)                                                                       \
    ROW(UINT16, UINT16, UInt16)                                                                    \
    ROW(UINT32, UINT32, UInt32)                                                                    \
    ROW(UINT64, UINT64, UInt64)                                                                    \
    ROW(FLOAT16, HALF, Half)                                                                       \
    ROW(FLOAT32, FLOAT32, Float32)                                                                 \
    ROW(FLOAT64, FLOAT64, Float64)                                                                 \
    ROW(COMPLEX64, COMPLEX64, Complex64)                                                           \
    ROW(COMPLEX128, COMPLEX128, Complex128)

static const int numpy_types[ELEMENTS] = {[ELEMENT_BOOL] = NPY_BOOL,
                                          [ELEMENT_BFLOAT16] = NPY_NOTYPE,
#define TYPE(NAME, TYPE, Scalar) [ELEMENT_##NAME] = NPY_##TYPE,
                                          NUMPY_NUMBERS(TYPE)
#undef TYPE
};

/* The same backwards; ELEMENTS: NumPy may call it otherwise, or it is not supported. */
static enum element common_element(int type)
{
    switch (type) {
#define ELEMENT(NAME, TYPE, Scalar)                                                                \
    case NPY_##TYPE:                                                                               \
        return ELEMENT_##NAME;
        NUMPY_NUMBERS(ELEMENT)
#undef ELEMENT
    case NPY_BOOL:
        return ELEMENT_BOOL;
    default:
        return ELEMENTS;
    }
}

/* NumPy has bfloat16 from ml_dtypes, as a type of a user's own: of the kind of raw bytes, and known
 * by its scalars' type. */
static bool is_bfloat16(PyArray_Descr *descr)
{
    if (!PyTypeNum_ISUSERDEF(descr->type_num))
        return false;
    const char *name = descr->typeobj ? descr->typeobj->tp_name : "";
    const char *point = strrchr(name, '.');
    return PyDataType_ELSIZE(descr) == 2 && strcmp(point ? point + 1 : name, "bfloat16") == 0;
}

/* One kind and size is one element type, whatever C calls it: NumPy has two names for a 64-bit
 * integer. */
static bool element_of(PyArray_Descr *descr, const char *name, enum element *element)
{
    *element = is_bfloat16(descr) ? ELEMENT_BFLOAT16
                                  : protocol_element(descr->kind, (size_t)PyDataType_ELSIZE(descr));
    if (*element != ELEMENTS && (descr->kind != 'V' || is_bfloat16(descr)))
        return true;
    PyErr_Format(PyExc_TypeError, "%s: element type %S is not supported; the supported ones are %s",
                 name, (PyObject *)descr, element_names());
    return false;
}

/* NumPy's classes of dtypes stand for their one instance. */
static int convert_dtype(PyObject *dtype, PyArray_Descr **descr)
{
    if (!PyType_Check(dtype) || !PyType_IsSubtype((PyTypeObject *)dtype, &PyArrayDescr_Type))
        return PyArray_DescrConverter(dtype, descr);
    PyObject *instance = PyObject_CallNoArgs(dtype);
    const int converted = instance ? PyArray_DescrConverter(instance, descr) : NPY_FAIL;
    Py_XDECREF(instance);
    return converted;
}

bool array_element(PyObject *dtype, const char *name, enum element *element)
{
    PyArray_Descr *descr = NULL;
    if (convert_dtype(dtype, &descr) != NPY_SUCCEED) {
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

/* ml_dtypes' bfloat16; NULL without an exception where ml_dtypes is not installed. */
static PyArray_Descr *bfloat16_descr(void)
{
    PyArray_Descr *descr = NULL;
    PyObject *module = PyImport_ImportModule("ml_dtypes");
    PyObject *type = module ? PyObject_GetAttrString(module, "bfloat16") : NULL;
    if (!type || PyArray_DescrConverter(type, &descr) != NPY_SUCCEED)
        PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(module);
    return descr;
}

/* Without ml_dtypes a bfloat16 becomes a float32, which holds it exactly. */
static PyArray_Descr *descr_for(enum element *element)
{
    if (*element != ELEMENT_BFLOAT16)
        return PyArray_DescrFromType(numpy_types[*element]);
    PyArray_Descr *descr = bfloat16_descr();
    if (descr)
        return descr;
    *element = ELEMENT_FLOAT32;
    return PyArray_DescrFromType(NPY_FLOAT32);
}

/* bfloat16 has 8 significant bits, in which all of bool, int8 and uint8 is exact. */
static bool fits_bfloat16(enum element element)
{
    return element == ELEMENT_BFLOAT16 || element_size(element) == 1;
}

/* NumPy's rules end at bfloat16, and ml_dtypes, where it is installed, has none for float16 or
 * integers of more than 8 bits. float32 holds all of bfloat16, so that NumPy's rules for float32 go
 * on: with float16 or 16-bit integers float32, with longer integers float64. */
bool array_promote(enum element a, enum element b, enum element *promoted)
{
    if (fits_bfloat16(a) && fits_bfloat16(b) && (a == ELEMENT_BFLOAT16 || b == ELEMENT_BFLOAT16)) {
        *promoted = ELEMENT_BFLOAT16;
        return true;
    }
    a = a == ELEMENT_BFLOAT16 ? ELEMENT_FLOAT32 : a;
    b = b == ELEMENT_BFLOAT16 ? ELEMENT_FLOAT32 : b;
    PyArray_Descr *of_a = PyArray_DescrFromType(numpy_types[a]),
                  *of_b = PyArray_DescrFromType(numpy_types[b]);
    PyArray_Descr *descr = of_a && of_b ? PyArray_PromoteTypes(of_a, of_b) : NULL;
    const bool found = descr && element_of(descr, "out", promoted);
    Py_XDECREF(descr);
    Py_XDECREF(of_a);
    Py_XDECREF(of_b);
    return found;
}

static PyObject *scalar_of_descr(union scalar value, enum element element)
{
    enum element shown = element;
    PyArray_Descr *descr = descr_for(&shown);
    if (!descr)
        return NULL;
    value = scalar_convert(value, element, shown);
    PyObject *scalar = PyArray_Scalar(&value, descr, NULL);
    Py_DECREF(descr);
    return scalar;
}

/* A number is made by its scalar's type, which takes less time than by its descriptor. */
PyObject *array_scalar(union scalar value, enum element element)
{
    PyObject *scalar;
    switch (element) {
#define NEW(NAME, TYPE, Scalar)                                                                    \
    case ELEMENT_##NAME:                                                                           \
        scalar = PyArrayScalar_New(Scalar);                                                        \
        if (scalar)                                                                                \
            memcpy(&PyArrayScalar_VAL(scalar, Scalar), &value,                                     \
                   sizeof PyArrayScalar_VAL(scalar, Scalar));                                      \
        return scalar;
        NUMPY_NUMBERS(NEW)
#undef NEW
    default:
        return scalar_of_descr(value, element);
    }
}

PyObject *array_new(unsigned dimensions, const uint64_t *shape, enum element *element,
                    void **elements)
{
    npy_intp lengths[DIMENSIONS_MAX];
    for (unsigned k = 0; k < dimensions; k++)
        lengths[k] = (npy_intp)shape[k];
    PyArray_Descr *descr = descr_for(element);
    PyObject *array = descr ? PyArray_Empty((int)dimensions, lengths, descr, false) : NULL;
    if (array)
        *elements = PyArray_DATA((PyArrayObject *)array);
    return array;
}

/* Whether these are numbers or what has them; NumPy would read strings as numbers. */
static bool check_numbers(PyArrayObject *given, const char *name, bool takes_complex)
{
    const int type = PyArray_TYPE(given);
    if (!PyTypeNum_ISNUMBER(type) && !PyTypeNum_ISBOOL(type) && !PyTypeNum_ISOBJECT(type) &&
        !PyTypeNum_ISUSERDEF(type)) {
        PyErr_Format(PyExc_TypeError, "%s must be a number or an array of numbers, not of %S", name,
                     (PyObject *)PyArray_DESCR(given));
        return false;
    }
    if (takes_complex || !PyTypeNum_ISCOMPLEX(type))
        return true;
    PyErr_Format(PyExc_TypeError, "%s of real elements must be real, not complex", name);
    return false;
}

/* As NumPy assigns: dimensions in front of those that there are have one element. */
static bool check_shape(PyArrayObject *given, const char *name, unsigned dimensions,
                        const uint64_t *shape)
{
    const unsigned own = (unsigned)PyArray_NDIM(given);
    bool fits = true;
    for (unsigned k = 0; k < own; k++) {
        const uint64_t length = (uint64_t)PyArray_DIM(given, (int)k);
        const bool there = k + dimensions >= own;
        fits = fits && (length == 1 || (there && length == shape[k + dimensions - own]));
    }
    if (!fits)
        PyErr_Format(PyExc_ValueError,
                     "%s cannot be broadcast to the shape of the results with keepdims=True", name);
    return fits;
}

PyObject *array_broadcast(PyObject *object, const char *name, bool takes_complex,
                          unsigned dimensions, const uint64_t *shape,
                          const struct complex128 **elements)
{
    enum element element = ELEMENT_COMPLEX128;
    void *to;
    PyArrayObject *given = (PyArrayObject *)PyArray_FROM_O(object);
    PyObject *array = given && check_numbers(given, name, takes_complex) &&
                              check_shape(given, name, dimensions, shape)
                          ? array_new(dimensions, shape, &element, &to)
                          : NULL;
    if (array && PyArray_CopyInto((PyArrayObject *)array, given) < 0)
        Py_CLEAR(array);
    Py_XDECREF(given);
    *elements = array ? to : NULL;
    return array;
}

bool array_value(PyObject *object, enum element element, union scalar *value)
{
    enum element held = element;
    PyArray_Descr *descr = descr_for(&held);
    memset(value, 0, sizeof *value);
    const bool packed = descr && PyArray_Pack(descr, value, object) == 0;
    Py_XDECREF(descr);
    *value = scalar_convert(*value, held, element);
    return packed;
}

/* ---- views ---- */

/* NumPy's masked arrays are arrays with all their elements; to reduce those would be wrong. */
static bool refuse_mask(PyObject *object, const char *name)
{
    if (!PyArray_Check(object) || PyArray_CheckExact(object) ||
        !PyObject_HasAttrString(object, "mask"))
        return true;
    PyErr_Format(PyExc_TypeError,
                 "%s: masked arrays are not supported; %s.compressed() leaves out what is masked, "
                 "%s.filled(value) fills it in",
                 name, name, name);
    return false;
}

/* Takes over the reference to the array. */
static bool view_numpy(PyArrayObject *array, const char *name, struct view *view)
{
    struct layout *layout = &view->layout;
    protocol_begin(view, false);
    view->owner = (PyObject *)array;
    if (!element_of(PyArray_DESCR(array), name, &layout->input)) {
        Py_CLEAR(view->owner);
        return false;
    }
    layout->type = layout->input;
    layout->data = PyArray_DATA(array);
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

/* Of a type of NumPy's own; what is derived from one in Python is a heap type. */
static bool is_numpys_scalar(PyObject *object)
{
    return PyArray_IsScalar(object, Generic) &&
           !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
}

/* Python's own types, and NumPy's scalars, offer no interface that might be asked for. */
static bool is_plain(PyObject *object)
{
    return PyList_CheckExact(object) || PyTuple_CheckExact(object) || PyLong_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object) ||
           object == Py_None || is_numpys_scalar(object);
}

/* Where DLPack was declined, with that exception set. */
static int view_otherwise(PyObject *object, const struct view_request *request, struct view *view)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const int viewed = cuda_interface_view(object, request, view);
    if (viewed == 0) {
        PyErr_Restore(type, value, traceback);
        return 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return viewed;
}

/* An interface whose stream is known is as good as DLPack, and faster; one of which it is not may
 * hide work under way. 1, 0 if the object offers none of them, with an exception set if it is one
 * by which it declines, -1. */
static int view_interfaces(PyObject *object, const struct view_request *request, struct view *view)
{
    int viewed = cuda_interface_view_with_stream(object, request, view);
    if (viewed > 0 || (viewed < 0 && !PyErr_ExceptionMatches(PyExc_Exception)))
        return viewed;
    /* What is wrong with one may be right with the other, such as an element type. */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    int exported = dlpack_view(object, request, view);
    if (exported > 0 && request->in_place && !cuda_interface_heed_read_only(object, view)) {
        array_release(view);
        exported = -1;
    }
    if (exported || !type) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return exported ? exported : view_otherwise(object, request, view);
    }
    PyErr_Restore(type, value, traceback);
    return viewed;
}

/* With what its library would do to the elements on their way to a reader already done. */
static int view_resolved(PyObject *object, const struct view_request *request, struct view *view)
{
    PyObject *resolved = torch_resolve(object);
    if (!resolved)
        return -1;
    int viewed = view_interfaces(resolved, request, view);
    if (viewed > 0 && request->in_place && resolved != object) {
        PyErr_Format(PyExc_ValueError, "%s is conjugated or negated only when it is read",
                     request->name);
        array_release(view);
        viewed = -1;
    }
    Py_DECREF(resolved);
    return viewed;
}

static int view_interface(PyObject *object, const struct view_request *request, struct view *view)
{
    if (request->in_place && (!torch_check_writable(object, request->name) ||
                              !jax_check_writable(object, request->name)))
        return -1;
    const int viewed = exchange_view(object, request, view);
    return viewed ? viewed : view_resolved(object, request, view);
}

/* What NumPy makes of an object. NULL with an exception set. */
static PyObject *numpys_array(PyObject *object, const struct view_request *request)
{
    if (PyArray_Check(object))
        return refuse_mask(object, request->name) ? Py_NewRef(object) : NULL;
    if (!request->in_place)
        return PyArray_FROM_O(object);
    PyErr_Format(PyExc_TypeError, "%s must be an array, of NumPy or on a GPU; got %.200s",
                 request->name, Py_TYPE(object)->tp_name);
    return NULL;
}

/* Of an object that NumPy cannot look into either, the exception by which it declined tells more
 * than that its type is "object". */
static bool view_by_numpy(PyObject *object, const struct view_request *request, struct view *view)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *array = numpys_array(object, request);
    const bool viewed = array && view_numpy((PyArrayObject *)array, request->name, view);
    if (array && !viewed && type) {
        PyErr_Restore(type, value, traceback);
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return viewed;
}

bool array_view(PyObject *object, const struct view_request *request, struct view *view)
{
    if (!PyArray_Check(object) && !is_plain(object)) {
        const int viewed = view_interface(object, request, view);
        if (viewed)
            return viewed > 0;
    }
    return view_by_numpy(object, request, view);
}

void array_release(struct view *view)
{
    if (view->pin)
        view->unpin(view->pin);
    view->pin = NULL;
    Py_CLEAR(view->owner);
}

bool array_is_numpys(PyObject *object)
{
    return PyArray_Check(object);
}

bool array_offers_memory(PyObject *object)
{
    return PyArray_Check(object) || exchange_is_offered(Py_TYPE(object)) ||
           PyObject_HasAttrString(object, "__cuda_array_interface__") ||
           PyObject_HasAttrString(object, "__dlpack_device__");
}

bool array_lies_flat(PyObject *object, struct layout *layout)
{
    if (!PyArray_CheckExact(object))
        return false;
    PyArrayObject *const array = (PyArrayObject *)object;
    const PyArray_Descr *const descr = PyArray_DESCR(array);
    const npy_intp n = PyArray_SIZE(array);
    layout->input = common_element(descr->type_num);
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

/* Takes over the reference to what NumPy makes of the object. */
static PyObject *refuse_bools(PyObject *object, const char *name, PyArrayObject *array)
{
    PyObject *descr = (PyObject *)PyArray_DESCR(array);
    PyObject *type = PyArray_Check(object) || PyArray_DESCR(array)->type_num != NPY_OBJECT
                         ? PyObject_Str(descr)
                         : PyUnicode_FromString(Py_TYPE(object)->tp_name);
    if (type)
        PyErr_Format(PyExc_TypeError, "%s must be an array of bool, not of %U", name, type);
    Py_XDECREF(type);
    Py_DECREF(array);
    return NULL;
}

/* The array of an object that has a type of its own. NULL with an exception set. */
static PyObject *bools_of_array(PyObject *object, const char *name)
{
    PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(object);
    return !array || PyArray_ISBOOL(array) ? (PyObject *)array : refuse_bools(object, name, array);
}

/* NumPy casts Python's own values; of an object that it cannot look into it makes one that is true,
 * and what it does not cast has another type or an __array__ that takes no dtype. */
static PyObject *bools_of(PyObject *object, const char *name)
{
    PyObject *bools = PyArray_FROM_OT(object, NPY_BOOL);
    if (!bools && !PyErr_ExceptionMatches(PyExc_TypeError))
        return NULL;
    PyErr_Clear();
    if (bools &&
        (PyArray_NDIM((PyArrayObject *)bools) || PyArray_IsAnyScalar(object) || is_plain(object)))
        return bools;
    Py_XDECREF(bools);
    return bools_of_array(object, name);
}

bool array_of_bools(PyObject *object, const char *name, struct view *view)
{
    PyObject *bools = bools_of(object, name);
    return bools && view_numpy((PyArrayObject *)bools, name, view);
}
