#define IMPORTS_NUMPY
#include "arrays/numpys.h"

#include "arrays/objects.h"

#include <numpy/arrayscalars.h>

#include <string.h>

/* Set at import, constant from then on. */
static PyObject *no_value;
static PyTypeObject *scalar_types[ELEMENTS]; /* NULL: NumPy has none */

#define NPY_BFLOAT16 NPY_NOTYPE /* the type of no array */

static const int numpy_types[ELEMENTS] = {
#define TYPE(NAME, ...) [ELEMENT_##NAME] = NPY_##NAME,
    ELEMENT_TYPES(TYPE)
#undef TYPE
};

int numpy_setup(void)
{
    import_array1(-1);
    OWNED *numpy = no_value ? NULL : PyImport_ImportModule("numpy");
    if (numpy)
        no_value = PyObject_GetAttrString(numpy, "_NoValue");
    for (int k = 0; k < ELEMENTS; k++)
        scalar_types[k] = (PyTypeObject *)PyArray_TypeObjectFromType(numpy_types[k]);
    return no_value ? 0 : -1;
}

static void descr_release(PyArray_Descr **descr)
{
    Py_XDECREF(*descr);
}

bool numpy_is_no_value(PyObject *object)
{
    return object == no_value;
}

/* ---- element types ---- */

enum element numpy_element_of_number(int type)
{
    switch (type) {
#define ELEMENT(NAME, ...)                                                                         \
    case NPY_##NAME:                                                                               \
        return ELEMENT_##NAME;
        ELEMENT_TYPES(ELEMENT)
#undef ELEMENT
    default:
        return ELEMENTS;
    }
}

/* ml_dtypes' bfloat16 has the kind of raw bytes, and is recognized by its scalar type's name. */
static bool is_bfloat16(PyArray_Descr *descr)
{
    if (!PyTypeNum_ISUSERDEF(descr->type_num))
        return false;
    const char *name = descr->typeobj ? descr->typeobj->tp_name : "";
    const char *point = strrchr(name, '.');
    return PyDataType_ELSIZE(descr) == 2 && strcmp(point ? point + 1 : name, "bfloat16") == 0;
}

/* Kind and size decide the element type: NumPy has two type numbers for a 64-bit integer. */
bool numpy_element_of_descr(PyArray_Descr *descr, const char *name, enum element *element)
{
    *element = is_bfloat16(descr)   ? ELEMENT_BFLOAT16
               : descr->kind == 'V' ? ELEMENTS
                                    : view_element(descr->kind, (size_t)PyDataType_ELSIZE(descr));
    return *element != ELEMENTS ||
           type_error("%s: element type %S is not supported; the supported ones are %s", name,
                      (PyObject *)descr, element_names());
}

/* A NumPy dtype class is replaced by its instance. */
static int convert_dtype(PyObject *dtype, PyArray_Descr **descr)
{
    if (!PyType_Check(dtype) || !PyType_IsSubtype((PyTypeObject *)dtype, &PyArrayDescr_Type))
        return PyArray_DescrConverter(dtype, descr);
    OWNED *instance = PyObject_CallNoArgs(dtype);
    return instance ? PyArray_DescrConverter(instance, descr) : NPY_FAIL;
}

/* Reads a PyTorch dtype, whose repr is "torch." and NumPy's name. ELEMENTS if it is not one. */
static enum element torch_element(PyObject *dtype)
{
    static const char module[] = "torch.";
    OWNED *repr = strcmp(Py_TYPE(dtype)->tp_name, "torch.dtype") == 0 ? PyObject_Repr(dtype) : NULL;
    const char *text = repr ? PyUnicode_AsUTF8(repr) : NULL;
    PyErr_Clear();
    if (!text || strncmp(text, module, strlen(module)) != 0)
        return ELEMENTS;
    return element_find(text + strlen(module));
}

bool numpy_element_of_dtype(PyObject *dtype, const char *name, enum element *element)
{
    CLEANUP(descr_release) PyArray_Descr *descr = NULL;
    *element = torch_element(dtype);
    if (*element != ELEMENTS)
        return true;
    if (convert_dtype(dtype, &descr) != NPY_SUCCEED)
        return type_error("%s: %R is not an element type; the supported ones are %s", name, dtype,
                          element_names());
    return numpy_element_of_descr(descr, name, element) &&
           (PyArray_ISNBO(descr->byteorder) ||
            type_error("%s: %R has non-native byte order, which is not supported here", name,
                       dtype));
}

/* Without ml_dtypes, bfloat16 becomes float32, which holds it exactly. */
static PyArray_Descr *descr_for(enum element *element)
{
    PyArray_Descr *descr = NULL;
    if (*element == ELEMENT_BFLOAT16) {
        OWNED *module = PyImport_ImportModule("ml_dtypes");
        OWNED *type = module ? PyObject_GetAttrString(module, "bfloat16") : NULL;
        if (type && PyArray_DescrConverter(type, &descr) == NPY_SUCCEED)
            return descr;
        PyErr_Clear();
        *element = ELEMENT_FLOAT32;
    }
    return PyArray_DescrFromType(numpy_types[*element]);
}

/* bfloat16 has 8 significant bits, which hold bool, int8 and uint8 exactly. */
static bool fits_bfloat16(enum element element)
{
    return element == ELEMENT_BFLOAT16 || element_size(element) == 1;
}

/* NumPy has no promotion rules for bfloat16, and ml_dtypes, if installed, has none for float16 and
 * integers wider than 8 bits. Since float32 holds all of bfloat16, NumPy's rules for float32 are
 * used: float32 with float16 and 16-bit integers, float64 with wider integers. */
bool numpy_promote(enum element a, enum element b, enum element *promoted)
{
    if (fits_bfloat16(a) && fits_bfloat16(b) && (a == ELEMENT_BFLOAT16 || b == ELEMENT_BFLOAT16)) {
        *promoted = ELEMENT_BFLOAT16;
        return true;
    }
    a = a == ELEMENT_BFLOAT16 ? ELEMENT_FLOAT32 : a;
    b = b == ELEMENT_BFLOAT16 ? ELEMENT_FLOAT32 : b;
    CLEANUP(descr_release)
    PyArray_Descr *descr_a = PyArray_DescrFromType(numpy_types[a]),
                  *descr_b = PyArray_DescrFromType(numpy_types[b]);
    CLEANUP(descr_release)
    PyArray_Descr *descr = descr_a && descr_b ? PyArray_PromoteTypes(descr_a, descr_b) : NULL;
    return descr && numpy_element_of_descr(descr, "out", promoted);
}

/* ---- scalars and new arrays ---- */

static PyObject *scalar_of_descr(union scalar value, enum element element)
{
    enum element stored = element;
    CLEANUP(descr_release) PyArray_Descr *descr = descr_for(&stored);
    value = scalar_convert(value, element, stored);
    return descr ? PyArray_Scalar(&value, descr, NULL) : NULL;
}

static_assert(offsetof(PyInt8ScalarObject, obval) == offsetof(PyComplex128ScalarObject, obval) &&
                  sizeof(PyInt8ScalarObject) == sizeof(PyInt64ScalarObject),
              "values are in one place, and have 8 bytes or more");

/* Allocating by the scalar type is faster than by the descriptor. */
PyObject *numpy_scalar(union scalar value, enum element element)
{
    if (element == ELEMENT_BOOL) /* True and False are singletons */
        return Py_NewRef(PyArrayScalar_FromLong(value.b8));
    PyTypeObject *const type = scalar_types[element];
    if (!type)
        return scalar_of_descr(value, element);
    PyObject *const scalar = type->tp_alloc(type, 0);
    if (scalar && element == ELEMENT_COMPLEX128)
        memcpy(&PyArrayScalar_VAL(scalar, Complex128), &value, sizeof value.c128);
    else if (scalar)
        memcpy(&PyArrayScalar_VAL(scalar, Int64), &value, sizeof value.i64);
    return scalar;
}

PyObject *numpy_empty(unsigned dimensions, const uint64_t *shape, enum element *element,
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

bool numpy_pack(PyObject *object, enum element element, union scalar *value)
{
    enum element stored = element;
    CLEANUP(descr_release) PyArray_Descr *descr = descr_for(&stored);
    memset(value, 0, sizeof *value);
    const bool packed = descr && PyArray_Pack(descr, value, object) == 0;
    *value = scalar_convert(*value, stored, element);
    return packed;
}
