#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/dlpack.h"
#include "arrays/dltensor.h"
#include "arrays/protocol.h"
#include "arrays/raised.h"
#include "arrays/stream_handle.h"
#include "arrays/torch.h"
#include "common/newer_python.h"

/* ---- constants ---- */

/* Made at import, constant from then on. */
static struct {
    PyObject *dlpack, *dlpack_device;
    PyObject *version;        /* (1, 1), the newest that is understood */
    PyObject *keywords[2][2]; /* by: with max_version, with stream; tuples, but NULL for none */
} names;

static bool constant(PyObject **name, PyObject *value)
{
    if (*name)
        Py_XDECREF(value);
    else
        *name = value;
    return *name;
}

int dlpack_setup(void)
{
    return constant(&names.dlpack, PyUnicode_InternFromString("__dlpack__")) &&
                   constant(&names.dlpack_device,
                            PyUnicode_InternFromString("__dlpack_device__")) &&
                   constant(&names.version,
                            Py_BuildValue("(ii)", DLTENSOR_MAJOR, DLTENSOR_MINOR)) &&
                   constant(&names.keywords[1][0], Py_BuildValue("(s)", "max_version")) &&
                   constant(&names.keywords[0][1], Py_BuildValue("(s)", "stream")) &&
                   constant(&names.keywords[1][1], Py_BuildValue("(ss)", "max_version", "stream"))
               ? 0
               : -1;
}

/* ---- asking the object ---- */

struct dl_device {
    int type, index;
};

/* A BufferError, or PyArrow's TypeError, says that the object cannot do this, and may well have
 * another way. */
static int declined(void)
{
    return PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_TypeError)
               ? 0
               : -1;
}

/* Devices have numbers from 0 on. */
static bool parse_number(PyObject *object, int *number)
{
    PyObject *integer = protocol_integer(object);
    if (!integer)
        return false;
    int overflow;
    const long value = PyLong_AsLongAndOverflow(integer, &overflow);
    Py_DECREF(integer);
    *number = (int)value;
    return !overflow && value >= 0 && value <= INT_MAX;
}

static bool parse_device(PyObject *pair, const char *name, struct dl_device *device)
{
    if (PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 &&
        parse_number(PyTuple_GET_ITEM(pair, 0), &device->type) &&
        parse_number(PyTuple_GET_ITEM(pair, 1), &device->index))
        return true;
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError,
                     "%s: __dlpack_device__() must return a tuple (device type, device number), "
                     "not %R",
                     name, pair);
    return false;
}

/* 1, 0 if the object has none or, with that exception set, declines, -1. */
static int ask_device(PyObject *object, const char *name, struct dl_device *device)
{
    PyObject *method;
    const int found = PyObject_GetOptionalAttr(object, names.dlpack_device, &method);
    if (found <= 0)
        return found;
    PyObject *pair = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (!pair)
        return declined();
    const bool parsed = parse_device(pair, name, device);
    Py_DECREF(pair);
    return parsed ? 1 : -1;
}

/* The producer would use it as it is. */
static bool check_handle(uintptr_t handle)
{
    if (stream_is_readable(handle))
        return true;
    PyErr_Format(PyExc_ValueError, "stream %p is no handle of a stream", (void *)handle);
    return false;
}

/* The stream on which the data has to be ready: the caller's, or the backend's own. Where work goes
 * on after the call, the library's is wanted, since it has to wait in its turn. */
static bool settle_stream(PyObject *object, const struct dl_device *device,
                          const struct view_request *request, struct stream *stream)
{
    if (request->in_background && !torch_stream(object, stream))
        return false;
    if (request->in_background && stream->given)
        return true;
    *stream = request->consumer;
    stream->passing = request->in_background;
    if (stream->given)
        return check_handle(stream->handle);
    stream->passing = true;
    stream->given = request->where->handshake(request->where, device->index, &stream->handle);
    return stream->given;
}

/* Host memory needs no stream, nor do its producers want one. */
static bool settle_place(PyObject *object, const struct dl_device *device,
                         const struct view_request *request, struct view *view)
{
    return dltensor_begin(view, device->type, request->name) &&
           (!view->on_device || settle_stream(object, device, request, &view->producer));
}

static PyObject *call(PyObject *method, bool with_version, PyObject *stream)
{
    PyObject *values[2];
    int count = 0;
    if (with_version)
        values[count++] = names.version;
    if (stream)
        values[count++] = stream;
    return PyObject_Vectorcall(method, values, 0, names.keywords[with_version][stream != NULL]);
}

/* Producers of before DLPack 1.0 have no max_version=. NULL with an exception set. */
static PyObject *ask_capsule(PyObject *method, const struct stream *producer)
{
    PyObject *stream = NULL;
    if (producer->given && !(stream = PyLong_FromUnsignedLongLong(producer->handle)))
        return NULL;
    PyObject *capsule = call(method, true, stream);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = call(method, false, stream);
    }
    Py_XDECREF(stream);
    return capsule;
}

/* ---- owning the tensor ---- */

/* A capsule's names, before and after it is used. */
static const struct {
    const char *offered, *used;
} capsule_names[DLTENSOR_FORMS] = {
    [DLTENSOR_VERSIONED] = {"dltensor_versioned", "used_dltensor_versioned"},
    [DLTENSOR_UNVERSIONED] = {"dltensor", "used_dltensor"},
};

/* Moves the tensor from its producer's capsule to the holder. Nothing in between can run Python or
 * fail: whoever renames the capsule has the tensor, and there is no second. DLTENSOR_FORMS if the
 * object is no capsule with a tensor. */
static enum dltensor_form take(PyObject *capsule, PyObject *holder)
{
    enum dltensor_form form = 0;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    while (form < DLTENSOR_FORMS && !PyCapsule_IsValid(capsule, capsule_names[form].offered))
        form++;
    if (form < DLTENSOR_FORMS) {
        dltensor_hold(holder, PyCapsule_GetPointer(capsule, capsule_names[form].offered), form);
        PyCapsule_SetName(capsule, capsule_names[form].used);
    }
    Py_END_CRITICAL_SECTION();
    return form;
}

static void refuse_capsule(PyObject *object, const char *name)
{
    const char *kind = Py_TYPE(object)->tp_name, *content = "";
    if (PyCapsule_CheckExact(object)) {
        kind = "a capsule of ";
        content = PyCapsule_GetName(object);
    }
    PyErr_Format(
        PyExc_TypeError,
        "%s: __dlpack__() must return a capsule of 'dltensor' or 'dltensor_versioned' that "
        "nobody has used, not %.200s%.200s",
        name, kind, content ? content : "nothing");
}

/* The tensor, which is the view's from now on. NULL with an exception set. */
static const struct dl_tensor *own(PyObject *capsule, const char *name, struct view *view)
{
    view->owner = dltensor_holder();
    if (!view->owner)
        return NULL;
    const enum dltensor_form form = take(capsule, view->owner);
    if (form == DLTENSOR_FORMS) {
        refuse_capsule(capsule, name);
        return NULL;
    }
    void *held = dltensor_held(view->owner);
    const struct dl_versioned *versioned = form == DLTENSOR_VERSIONED ? held : NULL;
    view->read_only = dltensor_why_read_only(versioned, view->on_device);
    if (!versioned)
        return &((struct dl_managed *)held)->tensor;
    return dltensor_check_version(versioned, name) ? &versioned->tensor : NULL;
}

/* The object has said where its memory is before the tensor did. Whether host memory is page-locked
 * does not matter, and not all agree on it. */
static bool check_place(const struct dl_tensor *tensor, const char *name,
                        const struct dl_device *device)
{
    if (dltensor_is_supported(tensor->device_type) &&
        dltensor_is_on_device(tensor->device_type) == dltensor_is_on_device(device->type))
        return true;
    PyErr_Format(PyExc_ValueError,
                 "%s: the DLPack tensor's device type is %d, but __dlpack_device__() says %d", name,
                 (int)tensor->device_type, device->type);
    return false;
}

static bool read_capsule(PyObject *capsule, const char *name, const struct dl_device *device,
                         struct view *view)
{
    const struct dl_tensor *tensor = own(capsule, name, view);
    if (tensor && check_place(tensor, name, device) && dltensor_read(tensor, name, view))
        return true;
    Py_CLEAR(view->owner);
    return false;
}

/* A capsule's destructor is anybody's code, and runs while an exception may be on its way. */
static void drop(PyObject *capsule)
{
    const struct raised under_way = raised_set_aside();
    Py_DECREF(capsule);
    raised_again(under_way);
}

static int view_export(PyObject *object, PyObject *method, const struct dl_device *device,
                       const struct view_request *request, struct view *view)
{
    if (!settle_place(object, device, request, view))
        return -1;
    PyObject *capsule = ask_capsule(method, &view->producer);
    if (!capsule)
        return declined();
    const bool viewed = read_capsule(capsule, request->name, device, view);
    drop(capsule);
    return viewed ? 1 : -1;
}

int dlpack_view(PyObject *object, const struct view_request *request, struct view *view)
{
    PyObject *method;
    struct dl_device device;
    int viewed = PyObject_GetOptionalAttr(object, names.dlpack, &method);
    if (viewed <= 0)
        return viewed;
    viewed = ask_device(object, request->name, &device);
    if (viewed > 0)
        viewed = view_export(object, method, &device, request, view);
    Py_DECREF(method);
    return viewed;
}
