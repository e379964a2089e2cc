#include "arrays/dlpack.h"

#include "arrays/dltensor.h"
#include "arrays/libraries.h"
#include "arrays/objects.h"
#include "arrays/stream.h"

#include <stdlib.h>
#include <string.h>

/* Made at import, constant from then on. */
static PyObject *version;        /* (1, 1), the newest that is understood */
static PyObject *keywords[2][2]; /* by: with max_version, with stream; tuples, but NULL for none */

int dlpack_setup(void)
{
    if (!version)
        version = Py_BuildValue("(ii)", DLTENSOR_MAJOR, DLTENSOR_MINOR);
    if (!keywords[1][0])
        keywords[1][0] = PyTuple_Pack(1, names.max_version);
    if (!keywords[0][1])
        keywords[0][1] = PyTuple_Pack(1, names.stream);
    if (!keywords[1][1])
        keywords[1][1] = PyTuple_Pack(2, names.max_version, names.stream);
    return version && keywords[1][0] && keywords[0][1] && keywords[1][1] ? 0 : -1;
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
    PyObject *integer = view_integer(object);
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
    const int found = PyObject_GetOptionalAttr(object, names.__dlpack_device__, &method);
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
    return PyErr_Format(PyExc_ValueError, "stream %p is no handle of a stream", (void *)handle);
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
        values[count++] = version;
    if (stream)
        values[count++] = stream;
    return PyObject_Vectorcall(method, values, 0, keywords[with_version][stream != NULL]);
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
    return PyErr_Format(
        PyExc_ValueError,
        "%s: the DLPack tensor's device type is %d, but __dlpack_device__() says %d", name,
        (int)tensor->device_type, device->type);
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
    int viewed = PyObject_GetOptionalAttr(object, names.__dlpack__, &method);
    if (viewed <= 0)
        return viewed;
    viewed = ask_device(object, request->name, &device);
    if (viewed > 0)
        viewed = view_export(object, method, &device, request, view);
    Py_DECREF(method);
    return viewed;
}

/* ---- gred's own memory ---- */

/* What a capsule points to: one of the two, of which the tensor has pointers to the rest. */
struct lent {
    union {
        struct dl_versioned versioned;
        struct dl_managed managed;
    };
    int64_t shape[DIMENSIONS_MAX], strides[DIMENSIONS_MAX];
    PyObject *owner;
    uintptr_t reader;
    void (*let_go)(PyObject *owner, uintptr_t reader);
};

bool dlpack_type(const char *name, struct dlpack_export *export)
{
    for (int element = 0; element < ELEMENTS; element++)
        if (strcmp(name, element_name((enum element)element)) == 0) {
            export->type = (enum element)element;
            return true;
        }
    return PyErr_Format(PyExc_TypeError, "%s is no element type", name);
}

/* What DLPack reserves for devices that it does not know: nobody else takes it. */
int dlpack_device_type(bool on_gpu)
{
    enum { DEVICE_CUDA = 2, DEVICE_EXTERNAL = 12 };
    return on_gpu ? DEVICE_CUDA : DEVICE_EXTERNAL;
}

/* Readers call this from any thread, with the GIL or without. After the interpreter's end there is
 * nothing to give back. */
static void end(struct lent *lent)
{
    if (Py_IsInitialized()) {
        const PyGILState_STATE had = PyGILState_Ensure();
        lent->let_go(lent->owner, lent->reader);
        Py_DECREF(lent->owner);
        PyGILState_Release(had);
    }
    free(lent);
}

static void end_versioned(struct dl_versioned *versioned)
{
    end((struct lent *)versioned);
}

static void end_managed(struct dl_managed *managed)
{
    end((struct lent *)managed);
}

/* Who takes the tensor renames the capsule. */
static void end_untaken(PyObject *capsule)
{
    for (int form = 0; form < DLTENSOR_FORMS; form++)
        if (PyCapsule_IsValid(capsule, capsule_names[form].offered))
            end(PyCapsule_GetPointer(capsule, capsule_names[form].offered));
}

static void describe(const struct dlpack_export *export, struct lent *lent,
                     struct dl_tensor *tensor)
{
    dltensor_describe(tensor, export->device, export->type);
    tensor->device_type = dlpack_device_type(export->on_gpu);
    tensor->data = export->data;
    tensor->dimensions = (int32_t)export->dimensions;
    tensor->shape = lent->shape;
    tensor->strides = lent->strides;
    int64_t stride = 1;
    for (unsigned k = export->dimensions; k-- > 0;) {
        lent->shape[k] = export->shape[k];
        lent->strides[k] = stride;
        stride *= export->shape[k];
    }
}

static const char *begin(const struct dlpack_export *export, struct lent *lent)
{
    if (export->versioned) {
        lent->versioned.major = DLTENSOR_MAJOR;
        lent->versioned.minor = 0;
        lent->versioned.deleter = end_versioned;
        describe(export, lent, &lent->versioned.tensor);
        return capsule_names[DLTENSOR_VERSIONED].offered;
    }
    lent->managed.deleter = end_managed;
    describe(export, lent, &lent->managed.tensor);
    return capsule_names[DLTENSOR_UNVERSIONED].offered;
}

PyObject *dlpack_capsule(const struct dlpack_export *export)
{
    struct lent *lent = calloc(1, sizeof *lent);
    if (!lent)
        return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(lent, begin(export, lent), end_untaken);
    if (!capsule) {
        free(lent);
        return NULL;
    }
    lent->owner = Py_NewRef(export->owner);
    lent->reader = export->reader;
    lent->let_go = export->let_go;
    return capsule;
}
