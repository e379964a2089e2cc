#include "arrays/result.h"

#include "arrays/objects.h"

/* What is said in Python is in gred/device_array.py, which is imported when it is first asked. */
static PyObject *import(void)
{
    PyObject *module = PyImport_GetModule(names.device_array);
    return module || PyErr_Occurred() ? module : PyImport_Import(names.device_array);
}

/* Calls made_like(like, shape, type, device); takes over the reference to the shape. */
static PyObject *ask_python(const struct result_request *request, PyObject *shape)
{
    PyObject *module = shape ? import() : NULL;
    PyObject *type = module ? PyUnicode_FromString(element_name(request->type)) : NULL;
    PyObject *device = type ? PyLong_FromLong(request->device) : NULL;
    PyObject *made = device ? PyObject_CallMethodObjArgs(module, names.made_like, request->like,
                                                         shape, type, device, NULL)
                            : NULL;
    Py_XDECREF(device);
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(shape);
    return made;
}

/* 1, 0 or -1. */
static int make_in_python(const struct result_request *request, PyObject **array, void **at)
{
    PyObject *made = ask_python(request, shape_tuple(request->dimensions, request->shape));
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
    PyObject *shape = shape_tuple(request->dimensions, request->shape),
             *module = shape ? import() : NULL;
    PyObject *class = module ? PyObject_GetAttr(module, names.DeviceArray) : NULL;
    PyObject *array =
        class ? PyObject_CallFunction(class, "OOs", memory, shape, element_name(request->type))
              : NULL;
    Py_XDECREF(class);
    Py_XDECREF(module);
    Py_XDECREF(shape);
    return array;
}

PyObject *result_hand_over(PyObject *own, PyObject *like)
{
    PyObject *module = import();
    PyObject *given =
        module ? PyObject_CallMethodObjArgs(module, names.handed_over, own, like, NULL) : NULL;
    Py_XDECREF(module);
    return given;
}
