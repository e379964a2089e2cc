#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/failure.h"

#include <stdarg.h>
#include <stdio.h>

bool failure_note(struct failure *failure, enum failure_kind kind, const char *format, ...)
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

void failure_note_cuda(struct failure *failure, const char *call, const char *name,
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
    PyObject *message =
        PyUnicode_FromFormat("%s: %s (%s)", failure->call, failure->text, failure->name);
    PyObject *error = message ? PyObject_CallOneArg(type, message) : NULL;
    Py_XDECREF(message);
    const struct {
        const char *name, *value;
    } attributes[] = {{"call", failure->call}, {"name", failure->name}, {"text", failure->text}};
    bool complete = error;
    for (size_t k = 0; complete && k < sizeof attributes / sizeof *attributes; k++) {
        PyObject *value = PyUnicode_FromString(attributes[k].value);
        complete = value && PyObject_SetAttrString(error, attributes[k].name, value) == 0;
        Py_XDECREF(value);
    }
    if (complete)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
}

void failure_raise(const struct failure *failure, PyObject *cuda_error)
{
    PyObject *type = PyExc_RuntimeError;
    switch (failure->kind) {
    case FAILURE_EXCEPTION:
        return;
    case FAILURE_CUDA:
        raise_cuda(failure, cuda_error);
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
