#include "plan/arguments.h"

#include "arrays/numpys.h"
#include "arrays/objects.h"

#include <string.h>

bool argument_given(PyObject *argument)
{
    return argument && argument != Py_None;
}

bool wrong_type(const char *name, const char *accepted, PyObject *value)
{
    return type_error("%s must be %s; got %.200R (%.200s)", name, accepted, value,
                      Py_TYPE(value)->tp_name);
}

bool integer_parse(PyObject *object, const char *name, const char *accepted, long *value)
{
    int overflow = 0;
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return wrong_type(name, accepted, object);
    OWNED *number = PyNumber_Index(object);
    *value = number ? PyLong_AsLongAndOverflow(number, &overflow) : -1;
    return number;
}

const char *plain_text(PyObject *string)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(string, &length);
    if (!text)
        PyErr_Clear();
    return text && strlen(text) == (size_t)length ? text : NULL;
}

/* Raises the ValueError of gred/checks.py, which lists the methods and suggests the nearest. */
static bool unknown_method(PyObject *method)
{
    OWNED *nothing = python_call("gred.checks", "raise_unknown_method", "(O)", method);
    return false;
}

bool method_parse(PyObject *method, struct method_argument *parsed)
{
    *parsed = (struct method_argument){.named = NULL};
    if (!method)
        return true;
    if (!PyUnicode_Check(method))
        return wrong_type("method", "a str", method);
    const char *text = plain_text(method);
    parsed->exact = text && strcmp(text, "exact") == 0;
    parsed->batch_invariant = text && strcmp(text, "batch_invariant") == 0;
    if (parsed->exact || parsed->batch_invariant || (text && strcmp(text, "auto") == 0))
        return true;
    parsed->named = text ? method_find(text) : NULL;
    return parsed->named || unknown_method(method);
}

PyObject *numpy_exception(const char *name)
{
    OWNED *exceptions = PyImport_ImportModule("numpy.exceptions");
    return exceptions ? PyObject_GetAttrString(exceptions, name) : NULL;
}

/* Adds one of `axis_count` axes to a bit mask. Bools are refused, as by NumPy. */
static bool add_axis(PyObject *object, unsigned dimensions, unsigned axis_count, uint64_t *axes)
{
    static const char accepted[] = "None, an int or a tuple of ints";
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return wrong_type("axis", accepted, object);
    const Py_ssize_t axis = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (axis == -1 && PyErr_Occurred()) /* arrays other than of one integer */
        return PyErr_ExceptionMatches(PyExc_TypeError) && wrong_type("axis", accepted, object);
    const Py_ssize_t positive = axis < 0 ? axis + (Py_ssize_t)axis_count : axis;
    if (positive < 0 || positive >= (Py_ssize_t)axis_count) {
        OWNED *type = numpy_exception("AxisError"); /* derived from ValueError and IndexError */
        OWNED *error = type ? PyObject_CallFunction(type, "nI", axis, dimensions) : NULL;
        if (error)
            PyErr_SetObject(type, error);
        return false;
    }
    const uint64_t bit = (uint64_t)1 << positive;
    if (*axes & bit)
        return value_error("duplicate value in 'axis': %zd", axis);
    *axes |= bit;
    return true;
}

/* Reductions to positions take a single axis. As in NumPy, a 0-d array has axes 0 and -1, except
 * for reductions that need the axis's length. */
bool axis_parse(PyObject *axis, enum reduction reduction, unsigned dimensions, uint64_t *axes)
{
    const bool needs_length = reduction == REDUCTION_mean || reduction == REDUCTION_var ||
                              reduction == REDUCTION_std || reduction == REDUCTION_norm;
    uint64_t none = 0;
    *axes = 0;
    if (!argument_given(axis)) {
        *axes = dimensions < 64 ? ((uint64_t)1 << dimensions) - 1 : UINT64_MAX;
        return true;
    }
    if (!PyTuple_Check(axis))
        return dimensions > 0 || needs_length ? add_axis(axis, dimensions, dimensions, axes)
                                              : add_axis(axis, 0, 1, &none);
    if (fold_is_indexed(reduction_row(reduction)->fold))
        return wrong_type("axis", "None or an int", axis);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(axis); k++)
        if (!add_axis(PyTuple_GET_ITEM(axis, k), dimensions, dimensions, axes))
            return false;
    return true;
}

bool keepdims_parse(PyObject *keepdims, bool *kept)
{
    *kept = false;
    if (!keepdims)
        return true;
    const bool is_bool = PyArray_IsScalar(keepdims, Bool);
    if (!is_bool && !PyIndex_Check(keepdims))
        return wrong_type("keepdims", "a bool", keepdims);
    OWNED *number = is_bool ? Py_NewRef(keepdims) : PyNumber_Index(keepdims);
    const int truth = number ? PyObject_IsTrue(number) : -1;
    *kept = truth > 0;
    return truth >= 0;
}
