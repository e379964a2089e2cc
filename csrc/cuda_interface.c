#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cuda_interface.h"

#include <string.h>

/* Borrowed; NULL without an exception if the key is missing and not needed. */
static PyObject *entry(PyObject *interface, const char *name, const char *key, bool needed)
{
    PyObject *value = PyDict_GetItemString(interface, key);
    if (!value && needed && !PyErr_Occurred())
        PyErr_Format(
            PyExc_ValueError,
            "%s: __cuda_array_interface__ has no '%s'; it needs shape, typestr, data and version",
            name, key);
    return value;
}

static bool wrong_type(const char *name, const char *key, const char *expected, PyObject *given)
{
    PyErr_Format(PyExc_TypeError, "%s: __cuda_array_interface__['%s'] must be %s, not %.200s", name,
                 key, expected, Py_TYPE(given)->tp_name);
    return false;
}

/* One entry of a tuple: anything that Python takes for an index. */
static bool parse_integer(PyObject *item, const char *name, const char *key, int64_t *value)
{
    PyObject *number = PyNumber_Index(item);
    if (!number)
        return PyErr_ExceptionMatches(PyExc_TypeError) &&
               wrong_type(name, key, "a tuple of integers", item);
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow)
        PyErr_Format(PyExc_ValueError,
                     "%s: __cuda_array_interface__['%s'] has %R, which does not fit 64 bits", name,
                     key, item);
    return !overflow;
}

/* A tuple of at most CUDA_INTERFACE_DIMENSIONS integers. */
static bool parse_integers(PyObject *tuple, const char *name, const char *key, int64_t *values,
                           int *count)
{
    if (!PyTuple_Check(tuple))
        return wrong_type(name, key, "a tuple of integers", tuple);
    const Py_ssize_t length = PyTuple_GET_SIZE(tuple);
    if (length > CUDA_INTERFACE_DIMENSIONS) {
        PyErr_Format(
            PyExc_ValueError,
            "%s: __cuda_array_interface__['%s'] has %zd dimensions; at most %d are possible", name,
            key, length, CUDA_INTERFACE_DIMENSIONS);
        return false;
    }
    /* An entry's __index__ is anybody's code, and might take the tuple out of its dictionary. */
    Py_INCREF(tuple);
    bool parsed = true;
    for (Py_ssize_t k = 0; parsed && k < length; k++)
        parsed = parse_integer(PyTuple_GET_ITEM(tuple, k), name, key, &values[k]);
    Py_DECREF(tuple);
    *count = (int)length;
    return parsed;
}

/* Leaves room for eight times sixteen bytes an element, so that no later product overflows. */
static bool count_elements(const char *name, struct cuda_interface *parsed)
{
    bool empty = false;
    for (int k = 0; k < parsed->dimensions; k++) {
        if (parsed->shape[k] < 0) {
            PyErr_Format(
                PyExc_ValueError,
                "%s: __cuda_array_interface__['shape'][%d] is %lld; it must not be negative", name,
                k, (long long)parsed->shape[k]);
            return false;
        }
        empty |= parsed->shape[k] == 0;
    }
    parsed->n = empty ? 0 : 1;
    for (int k = 0; k < parsed->dimensions; k++) {
        if (__builtin_mul_overflow(parsed->n, (uint64_t)parsed->shape[k], &parsed->n) ||
            parsed->n > INT64_MAX / 128) {
            PyErr_Format(
                PyExc_ValueError,
                "%s: __cuda_array_interface__['shape'] has more elements than memory can hold",
                name);
            return false;
        }
    }
    return true;
}

static bool parse_shape(PyObject *interface, const char *name, struct cuda_interface *parsed)
{
    PyObject *shape = entry(interface, name, "shape", true);
    if (!shape || !parse_integers(shape, name, "shape", parsed->shape, &parsed->dimensions))
        return false;
    if (!count_elements(name, parsed))
        return false;
    PyObject *strides = entry(interface, name, "strides", false);
    if (!strides || strides == Py_None)
        return !PyErr_Occurred();
    int count;
    if (!parse_integers(strides, name, "strides", parsed->strides, &count))
        return false;
    if (count != parsed->dimensions) {
        PyErr_Format(PyExc_ValueError,
                     "%s: __cuda_array_interface__['strides'] has %d entries for %d dimensions",
                     name, count, parsed->dimensions);
        return false;
    }
    parsed->has_strides = true;
    return true;
}

static bool parse_typestr(PyObject *interface, const char *name, struct cuda_interface *parsed)
{
    PyObject *typestr = entry(interface, name, "typestr", true);
    if (!typestr)
        return false;
    if (!PyUnicode_Check(typestr))
        return wrong_type(name, "typestr", "a str", typestr);
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(typestr, &length);
    if (!text || (size_t)length != strlen(text) || length >= CUDA_INTERFACE_TYPESTR) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError,
                     "%s: __cuda_array_interface__['typestr'] is %R, which is not an element type",
                     name, typestr);
        return false;
    }
    memcpy(parsed->typestr, text, (size_t)length + 1);
    return true;
}

/* A device pointer, as a Python integer, may be anything up to 2^64 - 1. */
static bool parse_address(PyObject *object, const char *name, const char *key, uintptr_t *address)
{
    if (!PyLong_Check(object) || PyBool_Check(object))
        return wrong_type(name, key, "an integer", object);
    const unsigned long long value = PyLong_AsUnsignedLongLong(object);
    if (value == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError,
                     "%s: __cuda_array_interface__['%s'] has %R, which is no address", name, key,
                     object);
        return false;
    }
    *address = (uintptr_t)value;
    return true;
}

static bool parse_data(PyObject *interface, const char *name, struct cuda_interface *parsed)
{
    PyObject *data = entry(interface, name, "data", true);
    if (!data)
        return false;
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
        return wrong_type(name, "data", "a tuple (pointer, read-only flag)", data);
    if (!parse_address(PyTuple_GET_ITEM(data, 0), name, "data", &parsed->pointer))
        return false;
    if (!parsed->pointer && parsed->n) {
        PyErr_Format(PyExc_ValueError,
                     "%s: __cuda_array_interface__['data'] is a null pointer for %llu elements",
                     name, (unsigned long long)parsed->n);
        return false;
    }
    return true;
}

static bool parse_version(PyObject *interface, const char *name)
{
    PyObject *version = entry(interface, name, "version", true);
    if (!version)
        return false;
    if (!PyLong_Check(version))
        return wrong_type(name, "version", "an integer", version);
    int overflow;
    const long value = PyLong_AsLongAndOverflow(version, &overflow);
    if (overflow > 0 || (overflow == 0 && value >= 2))
        return true;
    PyErr_Format(PyExc_ValueError,
                 "%s: __cuda_array_interface__['version'] is %R; 2 and 3 are supported", name,
                 version);
    return false;
}

/* Version 3: None says that there is nothing to wait for, a missing entry says nothing. Producers
 * without one work on the legacy default stream as a rule, so that is what gred waits for. */
static bool parse_stream(PyObject *interface, const char *name, struct cuda_interface *parsed)
{
    enum { LEGACY_DEFAULT_STREAM = 1 };
    PyObject *stream = entry(interface, name, "stream", false);
    if (PyErr_Occurred())
        return false;
    parsed->has_stream = stream != Py_None;
    parsed->stream = LEGACY_DEFAULT_STREAM;
    if (!stream || stream == Py_None)
        return true;
    if (!parse_address(stream, name, "stream", &parsed->stream))
        return false;
    if (parsed->stream == 0) {
        PyErr_Format(PyExc_ValueError,
                     "%s: __cuda_array_interface__['stream'] is 0, which the interface forbids: "
                     "1 is the legacy default stream, 2 the per-thread one",
                     name);
        return false;
    }
    return true;
}

static bool refuse_mask(PyObject *interface, const char *name)
{
    PyObject *mask = entry(interface, name, "mask", false);
    if (PyErr_Occurred())
        return false;
    if (!mask || mask == Py_None)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "%s: __cuda_array_interface__ has a mask; masked arrays are not supported", name);
    return false;
}

bool cuda_interface_parse(PyObject *interface, const char *name, struct cuda_interface *parsed)
{
    memset(parsed, 0, sizeof *parsed);
    if (!PyDict_Check(interface)) {
        PyErr_Format(PyExc_TypeError, "%s: __cuda_array_interface__ must be a dict, not %.200s",
                     name, Py_TYPE(interface)->tp_name);
        return false;
    }
    return parse_version(interface, name) && parse_shape(interface, name, parsed) &&
           parse_typestr(interface, name, parsed) && parse_data(interface, name, parsed) &&
           refuse_mask(interface, name) && parse_stream(interface, name, parsed);
}

bool cuda_interface_is_contiguous(const struct cuda_interface *parsed, size_t element_size)
{
    if (!parsed->has_strides || parsed->n == 0)
        return true;
    int64_t expected = (int64_t)element_size;
    for (int k = parsed->dimensions - 1; k >= 0; k--) {
        if (parsed->shape[k] != 1 && parsed->strides[k] != expected)
            return false;
        expected *= parsed->shape[k];
    }
    return true;
}
