#include "arrays/torch.h"

#include "arrays/name.h"
#include "arrays/stream.h"
#include "common/newer_python.h"

static struct {
    PyObject *torch, *tensor, *requires_grad, *is_neg, *is_conj;
} names;

int torch_setup(void)
{
    return name_intern(&names.torch, "torch") && name_intern(&names.tensor, "Tensor") &&
                   name_intern(&names.requires_grad, "requires_grad") &&
                   name_intern(&names.is_neg, "is_neg") && name_intern(&names.is_conj, "is_conj")
               ? 0
               : -1;
}

/* The module torch, if it has been imported and the array is one of its tensors; a new reference.
 * NULL if not, without an exception. This is asked of every array, so it has to be quick. */
static PyObject *torch_of(PyObject *array)
{
    PyObject *torch = NULL, *type = NULL;
    if (PyDict_GetItemRef(PyImport_GetModuleDict(), names.torch, &torch) > 0 &&
        PyModule_Check(torch))
        PyDict_GetItemRef(PyModule_GetDict(torch), names.tensor, &type);
    const bool is_tensor =
        type && PyType_Check(type) && PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)type);
    Py_XDECREF(type);
    if (!is_tensor)
        Py_CLEAR(torch);
    PyErr_Clear(); /* what went wrong in looking does not matter */
    return torch;
}

/* The answer as 1, 0 or -1; takes over the reference. */
static int is_true(PyObject *answer)
{
    const int is = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return is;
}

static int keeps_history(PyObject *tensor)
{
    return is_true(PyObject_GetAttr(tensor, names.requires_grad));
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
    const int found = current ? stream_parse_torchs(current, stream) : -1;
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
    const int keeps = keeps_history(array);
    if (keeps > 0)
        PyErr_Format(PyExc_ValueError,
                     "%s is a tensor that requires grad, and PyTorch would not know of what is "
                     "written to it; %s.detach() shares its memory and may be written",
                     name, name);
    return keeps == 0;
}

/* Real numbers are what conjugation leaves alone. */
int torch_is_plain(PyObject *array, bool is_complex)
{
    PyObject *torch = torch_of(array);
    if (!torch)
        return 1;
    Py_DECREF(torch);
    int more = keeps_history(array);
    if (more == 0)
        more = is_true(PyObject_CallMethodNoArgs(array, names.is_neg));
    if (more == 0 && is_complex)
        more = is_true(PyObject_CallMethodNoArgs(array, names.is_conj));
    return more < 0 ? -1 : !more;
}
