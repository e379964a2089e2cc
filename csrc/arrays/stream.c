#define _GNU_SOURCE

#include "arrays/stream.h"

#include "arrays/objects.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool wrong_type(PyObject *object)
{
    return PyErr_Format(
        PyExc_TypeError,
        "stream must be an integer, an object with __cuda_stream__, or a stream of CuPy, "
        "PyTorch or Numba; got %.200s",
        Py_TYPE(object)->tp_name);
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
        return PyErr_Format(PyExc_ValueError, "stream %R is no handle of a stream", object);
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
    return PyErr_Format(PyExc_ValueError,
                        "stream 0 is ambiguous: 1 is the legacy default stream, 2 "
                        "the per-thread one");
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

static int parse_attribute(PyObject *object, PyObject *name, struct stream *stream)
{
    PyObject *value = NULL;
    const int found = PyObject_GetOptionalAttr(object, name, &value);
    if (found <= 0)
        return found;
    const bool parsed = parse_own_handle(value, stream);
    Py_DECREF(value);
    return parsed ? 1 : -1;
}

int stream_parse_torchs(PyObject *object, struct stream *stream)
{
    return parse_attribute(object, names.cuda_stream, stream);
}

/* Numba's handle is a ctypes pointer, which has a value: None if it is null. A new reference. */
static PyObject *handle_of(PyObject *object)
{
    PyObject *handle = PyObject_GetAttr(object, names.handle);
    if (handle && !PyIndex_Check(handle))
        Py_SETREF(handle, PyObject_GetAttr(handle, names.value));
    if (handle == Py_None)
        Py_SETREF(handle, PyLong_FromLong(0));
    return handle;
}

/* CuPy's streams have a ptr, PyTorch's a cuda_stream, Numba's a handle. */
static bool parse_library(PyObject *object, struct stream *stream)
{
    int found = parse_attribute(object, names.ptr, stream);
    if (!found)
        found = parse_attribute(object, names.cuda_stream, stream);
    if (found)
        return found > 0;
    PyObject *handle = handle_of(object);
    if (!handle && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return wrong_type(object);
    }
    const bool parsed = handle && parse_own_handle(handle, stream);
    Py_XDECREF(handle);
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
    PyObject *method;
    const int found = PyObject_GetOptionalAttr(object, names.__cuda_stream__, &method);
    if (found <= 0)
        return found == 0 && parse_library(object, stream);
    const bool parsed = parse_protocol(method, stream);
    Py_DECREF(method);
    return parsed;
}

/* ---- handles that somebody else gave ---- */

/* Asked for a way to change signals that there is none, the kernel reads the set, says that it
 * cannot, or else that there is no such way, and changes nothing. Other questions take it ten times
 * as long. */
static bool is_readable(uintptr_t address)
{
    enum { NO_WAY = -1, SET_BYTES = _NSIG / 8 };
    return syscall(SYS_rt_sigprocmask, NO_WAY, address, NULL, SET_BYTES) == 0 || errno != EFAULT;
}

/* Handles that CUDA took for streams' when it last saw them, each where its bits lead. To ask takes
 * longer than all else that is asked of a stream; and who destroys one leaves what CUDA recognises,
 * since it rarely gives memory of that size back to the operating system. */
enum { KNOWN = 16 };
static _Atomic(uintptr_t) known[KNOWN];

static _Atomic(uintptr_t) *place_of(uintptr_t handle)
{
    enum { LOW = 6, HIGH = 12 };
    return &known[(handle >> LOW ^ handle >> HIGH) % KNOWN];
}

bool stream_is_readable(uintptr_t handle)
{
    enum { PER_THREAD_DEFAULT_STREAM = 2, BYTES = 64, PAGE_MIN = 4096 };
    if (handle <= PER_THREAD_DEFAULT_STREAM) /* the default streams are no pointers */
        return true;
    if (atomic_load_explicit(place_of(handle), memory_order_relaxed) == handle)
        return true;
    const uintptr_t last = handle + BYTES - sizeof(uint64_t);
    return is_readable(handle) && (handle / PAGE_MIN == last / PAGE_MIN || is_readable(last));
}

void stream_is_known(uintptr_t handle)
{
    atomic_store_explicit(place_of(handle), handle, memory_order_relaxed);
}
