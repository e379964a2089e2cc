#include "arrays/stream.h"

#include "common/newer_python.h"

static bool wrong_type(PyObject *object)
{
    PyErr_Format(PyExc_TypeError,
                 "stream must be an integer, an object with __cuda_stream__, or a stream of CuPy, "
                 "PyTorch or Numba; got %.200s",
                 Py_TYPE(object)->tp_name);
    return false;
}

/* A handle, as an integer. */
static bool parse_handle(PyObject *object, struct stream *stream)
{
    PyObject *number = PyNumber_Index(object);
    if (!number)
        return false;
    const unsigned long long handle = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (handle == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "stream %R is no handle of a stream", object);
        return false;
    }
    stream->given = true;
    stream->handle = (uintptr_t)handle;
    return true;
}

/* Python's integers are the caller's own, and 0 might mean either default stream. */
static bool parse_integer(PyObject *object, struct stream *stream)
{
    if (!parse_handle(object, stream))
        return false;
    if (stream->handle)
        return true;
    stream->given = false;
    PyErr_SetString(PyExc_ValueError, "stream 0 is ambiguous: 1 is the legacy default stream, 2 "
                                      "the per-thread one");
    return false;
}

/* In a library's own object 0 is the legacy default stream, as in CUDA. */
static bool parse_own_handle(PyObject *handle, struct stream *stream)
{
    if (!PyIndex_Check(handle) || PyBool_Check(handle))
        return wrong_type(handle);
    if (!parse_handle(handle, stream))
        return false;
    if (!stream->handle)
        stream->handle = LEGACY_DEFAULT_STREAM;
    return true;
}

/* The protocol's answer: a version, which is 0, and the handle. */
static bool parse_protocol(PyObject *method, struct stream *stream)
{
    PyObject *pair = PyObject_CallNoArgs(method);
    if (!pair)
        return false;
    bool parsed = false;
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        PyErr_Format(PyExc_TypeError,
                     "stream: __cuda_stream__() must return a tuple (version, handle), not %R",
                     pair);
    else
        parsed = parse_own_handle(PyTuple_GET_ITEM(pair, 1), stream);
    Py_DECREF(pair);
    return parsed;
}

int stream_parse_attribute(PyObject *object, const char *name, struct stream *stream)
{
    PyObject *key = PyUnicode_FromString(name), *value = NULL;
    const int found = key ? PyObject_GetOptionalAttr(object, key, &value) : -1;
    Py_XDECREF(key);
    if (found <= 0)
        return found;
    const bool parsed = parse_own_handle(value, stream);
    Py_DECREF(value);
    return parsed ? 1 : -1;
}

/* CuPy's streams have a ptr, PyTorch's a cuda_stream, Numba's a handle, which is a ctypes pointer
 * with a value. */
static bool parse_library(PyObject *object, struct stream *stream)
{
    static const char *const names[] = {"ptr", "cuda_stream"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const int found = stream_parse_attribute(object, names[k], stream);
        if (found)
            return found > 0;
    }
    PyObject *handle = PyObject_GetAttrString(object, "handle");
    if (!handle) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return false;
        PyErr_Clear();
        return wrong_type(object);
    }
    PyObject *value =
        PyIndex_Check(handle) ? Py_NewRef(handle) : PyObject_GetAttrString(handle, "value");
    Py_DECREF(handle);
    if (!value) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return false;
        PyErr_Clear();
        return wrong_type(object);
    }
    if (value == Py_None) /* how ctypes writes a null pointer */
        Py_SETREF(value, PyLong_FromLong(0));
    const bool parsed = value && parse_own_handle(value, stream);
    Py_XDECREF(value);
    return parsed;
}

bool stream_parse(PyObject *object, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    if (!object || object == Py_None)
        return true;
    if (PyBool_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object))
        return wrong_type(object);
    if (PyIndex_Check(object))
        return parse_integer(object, stream);
    PyObject *method = PyObject_GetAttrString(object, "__cuda_stream__");
    if (!method) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return false;
        PyErr_Clear();
        return parse_library(object, stream);
    }
    const bool parsed = parse_protocol(method, stream);
    Py_DECREF(method);
    return parsed;
}
