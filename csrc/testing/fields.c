#include "testing/fields.h"

static PyObject *field_get(const struct field *field, const void *self)
{
    const void *const at = (const char *)self + field->offset;
    switch (field->type) {
    case FIELD_BOOL:
        return PyBool_FromLong(*(const bool *)at);
    case FIELD_UNSIGNED:
        return PyLong_FromUnsignedLong(*(const unsigned *)at);
    case FIELD_INT:
        return PyLong_FromLong(*(const int *)at);
    case FIELD_UINT64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case FIELD_INT64:
        return PyLong_FromLongLong(*(const int64_t *)at);
    default:
        return PyUnicode_FromString(*(const char *const *)at);
    }
}

/* False with an exception set. */
static bool field_set(const struct field *field, PyObject *value, void *self)
{
    void *const at = (char *)self + field->offset;
    switch (field->type) {
    case FIELD_BOOL:
        *(bool *)at = PyObject_IsTrue(value) > 0;
        break;
    case FIELD_UNSIGNED:
        *(unsigned *)at = (unsigned)PyLong_AsUnsignedLong(value);
        break;
    case FIELD_INT:
        *(int *)at = (int)PyLong_AsLong(value);
        break;
    case FIELD_UINT64:
        *(uint64_t *)at = PyLong_AsUnsignedLongLong(value);
        break;
    case FIELD_INT64:
        *(int64_t *)at = PyLong_AsLongLong(value);
        break;
    default:
        *(const char **)at = PyUnicode_AsUTF8(value);
    }
    return !PyErr_Occurred();
}

PyObject *fields_dict(const struct field *fields, const void *self)
{
    PyObject *dict = PyDict_New();
    for (; dict && fields->name; fields++) {
        PyObject *value = field_get(fields, self);
        if (!value || PyDict_SetItemString(dict, fields->name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

bool fields_read(const struct field *fields, PyObject *dict, void *self)
{
    Py_ssize_t found = 0;
    for (; fields->name; fields++) {
        PyObject *value = dict ? PyDict_GetItemString(dict, fields->name) : NULL;
        if (value && !field_set(fields, value, self))
            return false;
        found += value != NULL;
    }
    if (!dict || found == PyDict_GET_SIZE(dict))
        return true;
    return PyErr_Format(PyExc_TypeError, "some of %R are no fields", dict);
}
