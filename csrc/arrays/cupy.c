#include "arrays/cupy.h"

#include "arrays/name.h"
#include "arrays/raised.h"
#include "arrays/shape.h"
#include "common/newer_python.h"

#define NAMES(NAME)                                                                                \
    NAME(cupy)                                                                                     \
    NAME(ndarray) NAME(cuda) NAME(alloc) NAME(device_id) NAME(ptr) NAME(runtime) NAME(getDevice)
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

/* cupy.cuda.alloc(bytes), which asks the allocator that is in force. NULL with an exception set. */
static PyObject *call_allocator(PyObject *cupy, size_t bytes)
{
    PyObject *cuda = PyObject_GetAttr(cupy, names.cuda);
    PyObject *alloc = cuda ? PyObject_GetAttr(cuda, names.alloc) : NULL;
    PyObject *size = alloc ? PyLong_FromSize_t(bytes) : NULL;
    PyObject *pointer = size ? PyObject_CallOneArg(alloc, size) : NULL;
    Py_XDECREF(size);
    Py_XDECREF(alloc);
    Py_XDECREF(cuda);
    return pointer;
}

/* What CuPy has of a pointer. Either way false with an exception set. */
static bool find_device(PyObject *pointer, long *device)
{
    PyObject *number = PyObject_GetAttr(pointer, names.device_id);
    *device = number ? PyLong_AsLong(number) : 0;
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

static bool find_elements(PyObject *pointer, void **at)
{
    PyObject *address = PyObject_GetAttr(pointer, names.ptr);
    *at = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    return !PyErr_Occurred();
}

/* Whether CuPy's current device is known to be another one. An exception that is set stays. */
static bool is_elsewhere(PyObject *cupy, long device)
{
    const struct raised under_way = raised_set_aside();
    PyObject *cuda = PyObject_GetAttr(cupy, names.cuda);
    PyObject *runtime = cuda ? PyObject_GetAttr(cuda, names.runtime) : NULL;
    PyObject *current = runtime ? PyObject_CallMethodNoArgs(runtime, names.getDevice) : NULL;
    const long number = current ? PyLong_AsLong(current) : -1;
    const bool known = !PyErr_Occurred();
    Py_XDECREF(current);
    Py_XDECREF(runtime);
    Py_XDECREF(cuda);
    raised_again(under_way);
    return known && number != device;
}

/* CuPy allocates on its current device, which may be another than the array's. Few calls meet that,
 * so it is asked for only where there is no memory; the array's own device may have some. */
static int allocate(PyObject *cupy, const struct result_request *request, PyObject **pointer,
                    void **at)
{
    long device;
    size_t bytes = element_size(request->type);
    for (unsigned k = 0; k < request->dimensions; k++)
        bytes *= request->shape[k];
    *pointer = call_allocator(cupy, bytes);
    if (!*pointer && PyErr_ExceptionMatches(PyExc_Exception) &&
        is_elsewhere(cupy, request->device)) {
        PyErr_Clear();
        return 0;
    }
    if (!*pointer || !find_device(*pointer, &device) || !find_elements(*pointer, at))
        return -1;
    return device == request->device;
}

int cupy_allocate(const struct result_request *request, struct cupy_memory *memory, void **at)
{
    PyObject *class,
        *pointer = NULL,
        *cupy = request->type == ELEMENT_BFLOAT16 ? NULL : cupy_of(request->like, &class);
    if (!cupy)
        return 0;
    const int made = allocate(cupy, request, &pointer, at);
    Py_DECREF(cupy);
    *memory = (struct cupy_memory){class, pointer};
    if (made <= 0)
        cupy_release(memory);
    return made;
}

PyObject *cupy_array(const struct result_request *request, const struct cupy_memory *memory)
{
    PyObject *arguments[] = {shape_tuple(request->dimensions, request->shape),
                             PyUnicode_FromString(element_name(request->type)), memory->pointer};
    PyObject *array = arguments[0] && arguments[1]
                          ? PyObject_Vectorcall(memory->class, arguments, 3, NULL)
                          : NULL;
    Py_XDECREF(arguments[1]);
    Py_XDECREF(arguments[0]);
    return array;
}

void cupy_release(struct cupy_memory *memory)
{
    Py_CLEAR(memory->pointer);
    Py_CLEAR(memory->class);
}
