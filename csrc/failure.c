#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

void failure_note(struct failure *failure, enum failure_kind kind, const char *format, ...)
{
    if (failure->kind != FAILURE_NONE)
        return;
    failure->kind = kind;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
}

void failure_raise(const struct failure *failure)
{
    PyObject *type = PyExc_RuntimeError;
    switch (failure->kind) {
    case FAILURE_EXCEPTION:
        return;
    case FAILURE_VALUE:
        type = PyExc_ValueError;
        break;
    case FAILURE_MEMORY:
        type = PyExc_MemoryError;
        break;
    default:
        break;
    }
    PyErr_SetString(type, failure->text);
}
