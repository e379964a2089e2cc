#include "python/several.h"

#include "arrays/raised.h"

/* DLPack's name for memory of the host. */
enum { DLPACK_CPU = 1 };

/* What has an interface of CUDA's has it for memory of a GPU; what speaks DLPack says where it is.
 */
static bool lies_on_device(PyObject *object)
{
    if (PyObject_HasAttrString(object, "__cuda_array_interface__"))
        return true;
    long type = DLPACK_CPU, index;
    PyObject *place = PyObject_HasAttrString(object, "__dlpack_device__")
                          ? PyObject_CallMethod(object, "__dlpack_device__", NULL)
                          : NULL;
    if (place && !PyArg_ParseTuple(place, "ll", &type, &index))
        type = DLPACK_CPU;
    Py_XDECREF(place);
    PyErr_Clear();
    return type != DLPACK_CPU;
}

bool several_are_given(PyObject *object)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return false;
    PyObject *first = Py_SIZE(object) ? PySequence_GetItem(object, 0) : NULL;
    const bool given =
        first && !PyFloat_CheckExact(first) && !PyLong_CheckExact(first) && lies_on_device(first);
    PyErr_Clear();
    Py_XDECREF(first);
    return given;
}

/* Other elements than the first are asked only here: of a list of numbers that takes long. */
static bool holds_any(PyObject *object)
{
    bool found = false;
    for (Py_ssize_t k = 0; !found && k < PySequence_Size(object); k++) {
        PyObject *one = PySequence_GetItem(object, k);
        found = one && lies_on_device(one);
        Py_XDECREF(one);
    }
    PyErr_Clear();
    return found;
}

bool several_were_given(PyObject *object)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return false;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    const struct raised why = raised_set_aside();
    const bool given = holds_any(object);
    if (given)
        raised_forget(why);
    else
        raised_again(why);
    return given;
}

/* A new reference. */
static PyObject *function_of(PyObject *module, const char *name)
{
    if (!PyObject_HasAttrString(module, name))
        return PyErr_Format(PyExc_TypeError,
                            "%s does not take several arrays on devices; sum and mean do", name);
    return PyObject_GetAttrString(module, name);
}

PyObject *several_reduce(const char *name, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *names)
{
    PyObject *module = PyImport_ImportModule("gred.several");
    PyObject *function = module ? function_of(module, name) : NULL;
    PyObject *result =
        function ? PyObject_Vectorcall(function, arguments, (size_t)count, names) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}
