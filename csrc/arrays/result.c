#include "arrays/result.h"

#include "arrays/objects.h"

#include <stdarg.h>

/* Calls a function or a class of gred/device_array.py, which is imported when it is first asked.
 * Arguments are as Py_BuildValue makes a tuple of them. */
static PyObject *call_python(PyObject *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    PyObject *arguments = Py_VaBuildValue(format, values);
    va_end(values);
    PyObject *module = arguments ? PyImport_GetModule(names.device_array) : NULL;
    if (arguments && !module && !PyErr_Occurred())
        module = PyImport_Import(names.device_array);
    PyObject *function = module ? PyObject_GetAttr(module, name) : NULL;
    PyObject *result = function ? PyObject_CallObject(function, arguments) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    Py_XDECREF(arguments);
    return result;
}

/* 1, 0 or -1. */
static int make_in_python(const struct result_request *request, PyObject **array, void **at)
{
    PyObject *made = call_python(names.made_like, "(ONsi)", request->like,
                                 shape_tuple(request->dimensions, request->shape),
                                 element_name(request->type), request->device);
    if (!made || made == Py_None) {
        Py_XDECREF(made);
        return made ? 0 : -1;
    }
    unsigned long long address;
    const bool parsed = PyArg_ParseTuple(made, "OK", array, &address);
    if (parsed) {
        Py_INCREF(*array);
        *at = (void *)(uintptr_t)address;
    }
    Py_DECREF(made);
    return parsed ? 1 : -1;
}

int result_allocate(const struct result_request *request, struct result_memory *result, void **at)
{
    *result = (struct result_memory){.array = NULL};
    int known = exchange_allocate(request, &result->exchanged, at);
    if (known == 0)
        known = cupy_allocate(request, &result->of_cupy, at);
    return known ? known : make_in_python(request, &result->array, at);
}

PyObject *result_array(const struct result_request *request, struct result_memory *result)
{
    if (result->exchanged.offer)
        return exchange_array(&result->exchanged);
    if (result->of_cupy.pointer)
        return cupy_array(request, &result->of_cupy);
    return Py_XNewRef(result->array);
}

void result_release(struct result_memory *result)
{
    exchange_release(&result->exchanged);
    cupy_release(&result->of_cupy);
    Py_CLEAR(result->array);
}

PyObject *result_own(const struct result_request *request, PyObject *memory)
{
    return call_python(names.DeviceArray, "(ONs)", memory,
                       shape_tuple(request->dimensions, request->shape),
                       element_name(request->type));
}

PyObject *result_hand_over(PyObject *own, PyObject *like)
{
    return call_python(names.handed_over, "(OO)", own, like);
}
