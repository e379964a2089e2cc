#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/arguments.h"

#include "arrays/numpys.h"

#include <string.h>

bool argument_given(PyObject *argument)
{
    return argument && argument != Py_None;
}

bool wrong_type(const char *name, const char *accepted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s; got %.200R (%.200s)", name, accepted, value,
                 Py_TYPE(value)->tp_name);
    return false;
}

const char *plain_text(PyObject *string)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(string, &length);
    if (!text)
        PyErr_Clear();
    return text && strlen(text) == (size_t)length ? text : NULL;
}

/* "auto, exact, recursive, ..."; a new reference. */
static PyObject *method_names(void)
{
    PyObject *names = PyUnicode_FromString("auto, exact");
    for (int m = 0; m < METHODS && names; m++) {
        const struct method *method = method_at((enum method_index)m);
        PyObject *longer = PyUnicode_FromFormat("%U, %s", names, method->name);
        Py_DECREF(names);
        names = longer;
    }
    return names;
}

static void unknown_method(PyObject *method, const char *text)
{
    const char *nearest = text ? method_nearest(text) : NULL;
    PyObject *names = method_names();
    if (names && nearest)
        PyErr_Format(
            PyExc_ValueError,
            "method %R does not exist; did you mean '%s'? The methods are %U (see gred.methods())",
            method, nearest, names);
    else if (names)
        PyErr_Format(PyExc_ValueError,
                     "method %R does not exist; the methods are %U (see gred.methods())", method,
                     names);
    Py_XDECREF(names);
}

bool method_parse(PyObject *method, const struct method **found, bool *exact)
{
    *found = NULL;
    *exact = false;
    if (!method)
        return true;
    if (!PyUnicode_Check(method))
        return wrong_type("method", "a str", method);
    const char *text = plain_text(method);
    *exact = text && strcmp(text, "exact") == 0;
    if (*exact || (text && strcmp(text, "auto") == 0))
        return true;
    *found = text ? method_find(text) : NULL;
    if (!*found)
        unknown_method(method, text);
    return *found;
}

bool block_size_parse(PyObject *block_size, unsigned *block)
{
    if (!PyIndex_Check(block_size) || PyBool_Check(block_size))
        return wrong_type("block_size", "None or a power of two from 32 to 1024", block_size);
    PyObject *number = PyNumber_Index(block_size);
    if (!number)
        return false;
    int overflow;
    const long value = PyLong_AsLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow || value < BLOCK_SIZE_MIN || value > BLOCK_SIZE_MAX || (value & (value - 1))) {
        PyErr_Format(PyExc_ValueError,
                     "block_size must be None or a power of two from 32 to 1024; got %R",
                     block_size);
        return false;
    }
    *block = (unsigned)value;
    return true;
}

/* numpy.exceptions.AxisError, which is a ValueError and an IndexError. */
static void out_of_bounds(Py_ssize_t axis, unsigned dimensions)
{
    PyObject *exceptions = PyImport_ImportModule("numpy.exceptions");
    PyObject *type = exceptions ? PyObject_GetAttrString(exceptions, "AxisError") : NULL;
    PyObject *error = type ? PyObject_CallFunction(type, "nI", axis, dimensions) : NULL;
    if (error)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(type);
    Py_XDECREF(exceptions);
}

/* NumPy lets 0 and -1 stand for the axis that a single number does not have, but where it asks for
 * the axis's length. */
static bool has_axis_of_one(enum reduction reduction)
{
    switch (reduction) {
    case REDUCTION_mean:
    case REDUCTION_var:
    case REDUCTION_std:
    case REDUCTION_norm:
        return false;
    default:
        return true;
    }
}

/* Adds one axis of those that are there; true and false are none, as in NumPy. */
static bool add_axis(PyObject *object, unsigned dimensions, unsigned axes_there, uint64_t *axes)
{
    static const char accepted[] = "None, an int or a tuple of ints";
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return wrong_type("axis", accepted, object);
    const Py_ssize_t axis = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (axis == -1 && PyErr_Occurred()) /* of arrays: those of one integer are an index */
        return PyErr_ExceptionMatches(PyExc_TypeError) && wrong_type("axis", accepted, object);
    const Py_ssize_t positive = axis < 0 ? axis + (Py_ssize_t)axes_there : axis;
    if (positive < 0 || positive >= (Py_ssize_t)axes_there) {
        out_of_bounds(axis, dimensions);
        return false;
    }
    const uint64_t bit = (uint64_t)1 << positive;
    if (*axes & bit) {
        PyErr_Format(PyExc_ValueError, "duplicate value in 'axis': %zd", axis);
        return false;
    }
    *axes |= bit;
    return true;
}

/* Where positions matter there can be only one axis. */
static bool add_axes(PyObject *tuple, enum reduction reduction, unsigned dimensions, uint64_t *axes)
{
    if (fold_is_indexed(reduction_row(reduction)->fold))
        return wrong_type("axis", "None or an int", tuple);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); k++)
        if (!add_axis(PyTuple_GET_ITEM(tuple, k), dimensions, dimensions, axes))
            return false;
    return true;
}

bool axis_parse(PyObject *axis, enum reduction reduction, unsigned dimensions, uint64_t *axes)
{
    *axes = 0;
    if (!argument_given(axis)) {
        *axes = dimensions < 64 ? ((uint64_t)1 << dimensions) - 1 : UINT64_MAX;
        return true;
    }
    if (PyTuple_Check(axis))
        return add_axes(axis, reduction, dimensions, axes);
    if (dimensions > 0 || !has_axis_of_one(reduction))
        return add_axis(axis, dimensions, dimensions, axes);
    uint64_t none = 0;
    return add_axis(axis, 0, 1, &none);
}

bool keepdims_parse(PyObject *keepdims, bool *kept)
{
    *kept = false;
    if (!keepdims)
        return true;
    const bool is_bool = PyArray_IsScalar(keepdims, Bool);
    if (!is_bool && !PyIndex_Check(keepdims))
        return wrong_type("keepdims", "a bool", keepdims);
    PyObject *number = is_bool ? Py_NewRef(keepdims) : PyNumber_Index(keepdims);
    const int truth = number ? PyObject_IsTrue(number) : -1;
    Py_XDECREF(number);
    *kept = truth > 0;
    return truth >= 0;
}
