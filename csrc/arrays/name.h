/* Names that are looked up often: strings that are made at import and constant from then on.
 * Looking up an interned string compares pointers. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* False with an exception set. */
static inline bool name_intern(PyObject **constant, const char *text)
{
    return *constant || (*constant = PyUnicode_InternFromString(text));
}
