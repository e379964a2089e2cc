#include "arrays/result.h"

#include "arrays/cupy.h"
#include "arrays/name.h"
#include "arrays/shape.h"

/* What is said in Python is in gred/device_array.py, which is imported when it is first asked. */
static struct {
    PyObject *module, *made_like, *own, *handed_over;
} names;

int result_setup(void)
{
    return name_intern(&names.module, "gred.device_array") &&
                   name_intern(&names.made_like, "made_like") &&
                   name_intern(&names.own, "DeviceArray") &&
                   name_intern(&names.handed_over, "handed_over")
               ? 0
               : -1;
}

static PyObject *import(void)
{
    PyObject *module = PyImport_GetModule(names.module);
    return module || PyErr_Occurred() ? module : PyImport_Import(names.module);
}

PyObject *result_shape(const struct result_request *request)
{
    return shape_tuple(request->dimensions, request->shape);
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
    PyObject *made = ask_python(request, result_shape(request));
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
    PyObject *shape = result_shape(request), *module = shape ? import() : NULL;
    PyObject *class = module ? PyObject_GetAttr(module, names.own) : NULL;
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
