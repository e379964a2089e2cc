#include "arrays/cupy.h"

#include "arrays/name.h"
#include "arrays/shape.h"
#include "common/newer_python.h"

#define NAMES(NAME)                                                                                \
    NAME(cupy) NAME(ndarray) NAME(cuda) NAME(runtime) NAME(getDevice) NAME(data) NAME(ptr)
static struct {
#define NAME(name) PyObject *name;
    NAMES(NAME)
#undef NAME
} names;

int cupy_setup(void)
{
#define NAME(name) &&name_intern(&names.name, #name)
    return true NAMES(NAME) ? 0 : -1;
#undef NAME
}

/* The module cupy, if it has been imported and the array is one of its own; a new reference. NULL
 * if not, without an exception. */
static PyObject *cupy_of(PyObject *array, PyObject **class)
{
    PyObject *cupy = NULL;
    *class = NULL;
    if (PyDict_GetItemRef(PyImport_GetModuleDict(), names.cupy, &cupy) > 0 && PyModule_Check(cupy))
        PyDict_GetItemRef(PyModule_GetDict(cupy), names.ndarray, class);
    if (!*class || !PyType_Check(*class) ||
        !PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)*class)) {
        Py_CLEAR(*class);
        Py_CLEAR(cupy);
    }
    PyErr_Clear(); /* what went wrong in looking does not matter */
    return cupy;
}

/* object.first.second; NULL with an exception set. */
static PyObject *attribute_of_attribute(PyObject *object, PyObject *first, PyObject *second)
{
    PyObject *between = PyObject_GetAttr(object, first);
    PyObject *value = between ? PyObject_GetAttr(between, second) : NULL;
    Py_XDECREF(between);
    return value;
}

/* Where CuPy would make an array now; negative with an exception set. */
static long current_device(PyObject *cupy)
{
    PyObject *runtime = attribute_of_attribute(cupy, names.cuda, names.runtime);
    PyObject *device = runtime ? PyObject_CallMethodNoArgs(runtime, names.getDevice) : NULL;
    const long number = device ? PyLong_AsLong(device) : -1;
    Py_XDECREF(device);
    Py_XDECREF(runtime);
    return number;
}

static bool find_elements(PyObject *array, void **at)
{
    PyObject *address = attribute_of_attribute(array, names.data, names.ptr);
    *at = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    return !PyErr_Occurred();
}

/* class(shape, type); takes over the references to these. NULL with an exception set. */
static PyObject *call(PyObject *class, PyObject *shape, PyObject *type)
{
    PyObject *arguments[] = {shape, type};
    PyObject *array = shape && type ? PyObject_Vectorcall(class, arguments, 2, NULL) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(shape);
    return array;
}

static int make(PyObject *cupy, PyObject *class, const struct result_request *request,
                PyObject **array, void **at)
{
    const long device = current_device(cupy);
    if (device != request->device)
        return device < 0 && PyErr_Occurred() ? -1 : 0;
    *array = call(class, shape_tuple(request->dimensions, request->shape),
                  PyUnicode_FromString(element_name(request->type)));
    if (*array && find_elements(*array, at))
        return 1;
    Py_CLEAR(*array);
    return -1;
}

int cupy_make(const struct result_request *request, PyObject **array, void **at)
{
    PyObject *class,
        *cupy = request->type == ELEMENT_BFLOAT16 ? NULL : cupy_of(request->like, &class);
    if (!cupy)
        return 0;
    const int made = make(cupy, class, request, array, at);
    Py_DECREF(class);
    Py_DECREF(cupy);
    return made;
}
