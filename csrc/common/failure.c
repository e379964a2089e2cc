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

void failure_record_cuda(struct failure *failure, const char *call, const char *name,
                         const char *text)
{
    if (failure->kind != FAILURE_NONE)
        return;
    failure->kind = FAILURE_CUDA;
    snprintf(failure->call, sizeof failure->call, "%s", call);
    snprintf(failure->name, sizeof failure->name, "%s", name);
    snprintf(failure->text, sizeof failure->text, "%s", text);
}

/* CudaError(message), with the message's three parts as attributes. */
static void raise_cuda(const struct failure *failure, PyObject *type)
{
    PyObject *error = PyObject_CallFunction(
        type, "N",
        PyUnicode_FromFormat("%s: %s (%s)", failure->call, failure->text, failure->name));
    PyObject *parts = error ? Py_BuildValue("{ssssss}", "call", failure->call, "name",
                                            failure->name, "text", failure->text)
                            : NULL;
    if (parts && PyObject_SetAttrString(error, "__dict__", parts) == 0)
        PyErr_SetObject(type, error);
    Py_XDECREF(parts);
    Py_XDECREF(error);
}

void failure_raise(const struct failure *failure, PyObject *cuda_error)
{
    if (failure->kind == FAILURE_CUDA)
        raise_cuda(failure, cuda_error);
    else if (failure->kind != FAILURE_EXCEPTION)
        PyErr_SetString(failure->kind == FAILURE_VALUE    ? PyExc_ValueError
                        : failure->kind == FAILURE_MEMORY ? PyExc_MemoryError
                                                          : PyExc_RuntimeError,
                        failure->text);
}
