#include "arrays/jax.h"

#include "arrays/raised.h"
#include "common/newer_python.h"

/* Made at import, constant from then on. */
static struct {
    PyObject *jax, *array, *is_deleted;
} names;

int jax_setup(void)
{
    if (!names.jax)
        names.jax = PyUnicode_InternFromString("jax");
    if (!names.array)
        names.array = PyUnicode_InternFromString("Array");
    if (!names.is_deleted)
        names.is_deleted = PyUnicode_InternFromString("is_deleted");
    return names.jax && names.array && names.is_deleted ? 0 : -1;
}

/* JAX's own class of arrays is no base of theirs, and has to be asked. 1, 0, or -1 with an
 * exception set. */
static int is_array(PyObject *object)
{
    PyObject *jax, *type;
    int found = PyDict_GetItemRef(PyImport_GetModuleDict(), names.jax, &jax);
    if (found > 0) {
        found = PyObject_GetOptionalAttr(jax, names.array, &type);
        Py_DECREF(jax);
    }
    if (found > 0) {
        found = PyType_Check(type) ? PyObject_IsInstance(object, type) : 0;
        Py_DECREF(type);
    }
    return found;
}

void jax_tell_deleted(PyObject *object, const char *name)
{
    const struct raised raised = raised_set_aside();
    PyObject *deleted = PyObject_CallMethodNoArgs(object, names.is_deleted);
    PyErr_Clear();
    if (deleted == Py_True) {
        PyErr_Format(PyExc_RuntimeError, "%s is an array that has been deleted", name);
        raised_forget(raised);
    } else {
        raised_again(raised);
    }
    Py_XDECREF(deleted);
}

bool jax_check_writable(PyObject *object, const char *name)
{
    const int is = is_array(object);
    if (is > 0)
        PyErr_Format(PyExc_ValueError,
                     "%s is an array of JAX, and those are never written; take the result that the "
                     "call returns",
                     name);
    return is == 0;
}
