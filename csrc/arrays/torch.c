#include "arrays/torch.h"

#include "arrays/stream.h"
#include "common/newer_python.h"

/* Made at import, constant from then on; looking up an interned string compares pointers. */
static struct {
    PyObject *torch, *tensor;
} names;

int torch_setup(void)
{
    if (!names.torch)
        names.torch = PyUnicode_InternFromString("torch");
    if (!names.tensor)
        names.tensor = PyUnicode_InternFromString("Tensor");
    return names.torch && names.tensor ? 0 : -1;
}

/* The module torch, if it has been imported and the array is one of its tensors; a new reference.
 * NULL if not, without an exception. This is asked of every array, so it has to be quick. */
static PyObject *torch_of(PyObject *array)
{
    PyObject *torch = NULL, *type = NULL;
    if (PyDict_GetItemRef(PyImport_GetModuleDict(), names.torch, &torch) > 0)
        PyObject_GetOptionalAttr(torch, names.tensor, &type);
    const bool is_tensor =
        type && PyType_Check(type) && PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)type);
    Py_XDECREF(type);
    if (!is_tensor)
        Py_CLEAR(torch);
    PyErr_Clear(); /* what went wrong in looking does not matter */
    return torch;
}

bool torch_stream(PyObject *array, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    PyObject *torch = torch_of(array);
    if (!torch)
        return true;
    PyObject *cuda = PyObject_GetAttrString(torch, "cuda");
    PyObject *device = cuda ? PyObject_GetAttrString(array, "device") : NULL;
    PyObject *current = device ? PyObject_CallMethod(cuda, "current_stream", "O", device) : NULL;
    const int found = current ? stream_parse_attribute(current, "cuda_stream", stream) : -1;
    Py_XDECREF(current);
    Py_XDECREF(device);
    Py_XDECREF(cuda);
    Py_DECREF(torch);
    return found >= 0;
}

PyObject *torch_resolve(PyObject *array)
{
    PyObject *torch = torch_of(array);
    if (!torch)
        return Py_NewRef(array);
    Py_DECREF(torch);
    PyObject *conjugated = PyObject_CallMethod(array, "resolve_conj", NULL);
    PyObject *resolved = conjugated ? PyObject_CallMethod(conjugated, "resolve_neg", NULL) : NULL;
    Py_XDECREF(conjugated);
    return resolved;
}

bool torch_check_writable(PyObject *array, const char *name)
{
    PyObject *torch = torch_of(array);
    if (!torch)
        return true;
    Py_DECREF(torch);
    PyObject *requires_grad = PyObject_GetAttrString(array, "requires_grad");
    const int keeps = requires_grad ? PyObject_IsTrue(requires_grad) : -1;
    Py_XDECREF(requires_grad);
    if (keeps > 0)
        PyErr_Format(PyExc_ValueError,
                     "%s is a tensor that requires grad, and PyTorch would not know of what is "
                     "written to it; %s.detach() shares its memory and may be written",
                     name, name);
    return keeps == 0;
}
