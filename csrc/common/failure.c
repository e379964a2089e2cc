#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/failure.h"

#include <stdarg.h>
#include <stdio.h>

bool failure_record(struct failure *failure, enum failure_kind kind, const char *format, ...)
{
    if (failure->kind != FAILURE_NONE)
        return false;
    failure->kind = kind;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return false;
}

bool failure_raise(const struct failure *failure)
{
    PyObject *type = failure->kind == FAILURE_VALUE    ? PyExc_ValueError
                     : failure->kind == FAILURE_MEMORY ? PyExc_MemoryError
                                                       : PyExc_RuntimeError;
    if (failure->kind == FAILURE_EXCEPTION)
        return false;
    PyObject *errors = failure->kind == FAILURE_CUDA ? PyImport_ImportModule("gred.errors") : NULL;
    PyObject *cuda = errors ? PyObject_GetAttrString(errors, "CudaError") : NULL;
    if (failure->kind != FAILURE_CUDA || cuda)
        PyErr_SetString(cuda ? cuda : type, failure->text);
    Py_XDECREF(cuda);
    Py_XDECREF(errors);
    return false;
}
