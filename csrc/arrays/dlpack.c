#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/dlpack.h"
#include "arrays/protocol.h"
#include "arrays/stream_handle.h"
#include "arrays/torch.h"
#include "common/newer_python.h"

/* ---- DLPack's binary interface ---- */

enum { DEVICE_CPU = 1, DEVICE_CUDA = 2, DEVICE_CUDA_HOST = 3, DEVICE_CUDA_MANAGED = 13 };

enum { FLAG_READ_ONLY = 1, FLAG_COPIED = 2 };

enum { VERSION_MAJOR = 1, VERSION_MINOR = 1 };

struct dl_tensor {
    void *data;
    int32_t device_type, device;
    int32_t dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements, NULL: C order */
    uint64_t byte_offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
};

struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    struct dl_tensor tensor; /* from here on as version 1 has it */
};

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
                   constant(&names.version, Py_BuildValue("(ii)", VERSION_MAJOR, VERSION_MINOR)) &&
                   constant(&names.keywords[1][0], Py_BuildValue("(s)", "max_version")) &&
                   constant(&names.keywords[0][1], Py_BuildValue("(s)", "stream")) &&
                   constant(&names.keywords[1][1], Py_BuildValue("(ss)", "max_version", "stream"))
               ? 0
               : -1;
}

static const struct protocol_terms terms = {
    .shape = "the DLPack tensor's shape",
    .strides = "the DLPack tensor's strides",
    .data = "the DLPack tensor's data",
};

/* ---- asking the object ---- */

struct dl_device {
    int type, index;
};

/* A BufferError says that the object cannot do this, and may well have another way. */
static int declined(void)
{
    if (!PyErr_ExceptionMatches(PyExc_BufferError))
        return -1;
    PyErr_Clear();
    return 0;
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

/* 1, 0 if the object has none or declines, -1. */
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
    switch (device->type) {
    case DEVICE_CPU:
    case DEVICE_CUDA_HOST:
        protocol_begin(view, false);
        return true;
    case DEVICE_CUDA:
    case DEVICE_CUDA_MANAGED:
        protocol_begin(view, true);
        return settle_stream(object, device, request, &view->producer);
    default:
        PyErr_Format(PyExc_TypeError,
                     "%s: DLPack's device type %d is not supported; CPU and CUDA memory is",
                     request->name, device->type);
        return false;
    }
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

#define HOLDER "gred.tensor"

/* Deleters are anybody's code, and run while an exception may be on its way. */
#define DEFINE_RELEASE(form)                                                                       \
    static void release_##form(PyObject *holder)                                                   \
    {                                                                                              \
        PyObject *type, *value, *traceback;                                                        \
        struct dl_##form *managed = PyCapsule_GetPointer(holder, HOLDER);                          \
        PyErr_Fetch(&type, &value, &traceback);                                                    \
        if (managed->deleter)                                                                      \
            managed->deleter(managed);                                                             \
        PyErr_Restore(type, value, traceback);                                                     \
    }

DEFINE_RELEASE(managed)
DEFINE_RELEASE(versioned)

enum { VERSIONED, UNVERSIONED, FORMS };

static const struct {
    const char *offered, *used; /* the capsule's name, before and after */
    PyCapsule_Destructor release;
} forms[FORMS] = {
    [VERSIONED] = {"dltensor_versioned", "used_dltensor_versioned", release_versioned},
    [UNVERSIONED] = {"dltensor", "used_dltensor", release_managed},
};

/* Moves the tensor from its producer's capsule to the holder. Nothing in between can run Python or
 * fail: whoever renames the capsule has the tensor, and there is no second. FORMS if the object is
 * no capsule with a tensor. */
static int take(PyObject *capsule, PyObject *holder)
{
    int form = 0;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    while (form < FORMS && !PyCapsule_IsValid(capsule, forms[form].offered))
        form++;
    if (form < FORMS) {
        PyCapsule_SetPointer(holder, PyCapsule_GetPointer(capsule, forms[form].offered));
        PyCapsule_SetDestructor(holder, forms[form].release);
        PyCapsule_SetName(capsule, forms[form].used);
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

/* Why the tensor must not be written, or NULL. Before there were versions, capsules did not tell.
 * Libraries of GPU arrays wrote to each other's all the same; on the host NumPy takes them for
 * read-only, and some are: JAX's arrays never change. */
static const char *why_read_only(const struct dl_versioned *versioned, bool on_device)
{
    if (!versioned)
        return on_device ? NULL
                         : "its DLPack capsule is of the form without a version, which does not "
                           "say that it may be written";
    if (versioned->flags & FLAG_READ_ONLY)
        return "its DLPack capsule says so";
    return versioned->flags & FLAG_COPIED ? "its DLPack capsule is of a copy" : NULL;
}

/* The tensor, which is the view's from now on. NULL with an exception set. */
static const struct dl_tensor *own(PyObject *capsule, const char *name, struct view *view)
{
    PyObject *holder = PyCapsule_New(capsule, HOLDER, NULL);
    if (!holder)
        return NULL;
    const int form = take(capsule, holder);
    if (form == FORMS) {
        Py_DECREF(holder);
        refuse_capsule(capsule, name);
        return NULL;
    }
    view->owner = holder;
    void *managed = PyCapsule_GetPointer(holder, HOLDER);
    const struct dl_versioned *versioned = form == VERSIONED ? managed : NULL;
    view->read_only = why_read_only(versioned, view->on_device);
    if (!versioned)
        return &((struct dl_managed *)managed)->tensor;
    if (versioned->major != VERSION_MAJOR) {
        PyErr_Format(PyExc_TypeError, "%s: DLPack's version %u.%u is not supported; %d is", name,
                     (unsigned)versioned->major, (unsigned)versioned->minor, VERSION_MAJOR);
        return NULL;
    }
    return &versioned->tensor;
}

/* ---- reading the tensor ---- */

static const char kinds[] = {
    [0] = 'i', [1] = 'u', [2] = 'f', [4] = 'V', [5] = 'c', [6] = 'b',
};

static bool read_type(const struct dl_tensor *tensor, const char *name, struct layout *layout)
{
    enum element element = ELEMENTS;
    if (tensor->code < sizeof kinds && tensor->bits % 8 == 0 && tensor->lanes == 1)
        element = protocol_element(kinds[tensor->code], tensor->bits / 8);
    if (element == ELEMENTS) {
        PyErr_Format(PyExc_TypeError,
                     "%s: DLPack's element type (code %d, bits %d, lanes %d) is not supported; the "
                     "supported ones are %s",
                     name, tensor->code, tensor->bits, tensor->lanes, element_names());
        return false;
    }
    layout->input = layout->type = element;
    return true;
}

static bool read_shape(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    if (tensor->dimensions < 0 || tensor->dimensions > DIMENSIONS_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "%s: the DLPack tensor has %d dimensions; 0 to %d are possible", name,
                     (int)tensor->dimensions, DIMENSIONS_MAX);
        return false;
    }
    view->layout.dimensions = (unsigned)tensor->dimensions;
    if (tensor->dimensions && !tensor->shape) {
        PyErr_Format(PyExc_ValueError, "%s: %s is a null pointer for %d dimensions", name,
                     terms.shape, (int)tensor->dimensions);
        return false;
    }
    for (int k = 0; k < tensor->dimensions; k++)
        view->layout.shape[k] = (uint64_t)tensor->shape[k];
    return protocol_count(view, name, &terms);
}

static bool read_strides(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    struct layout *layout = &view->layout;
    const int64_t size = (int64_t)element_size(layout->input);
    if (!tensor->strides) {
        protocol_in_c_order(layout);
        return true;
    }
    for (unsigned k = 0; k < layout->dimensions; k++) {
        const bool used = view->n && layout->shape[k] > 1;
        if (__builtin_mul_overflow(tensor->strides[k], size, &layout->strides[k]) && used) {
            PyErr_Format(PyExc_ValueError, "%s: %s[%u] is %lld, whose bytes do not fit 64 bits",
                         name, terms.strides, k, (long long)tensor->strides[k]);
            return false;
        }
    }
    return true;
}

static bool read_data(const struct dl_tensor *tensor, const char *name, struct layout *layout)
{
    uint64_t address = (uintptr_t)tensor->data;
    if (!tensor->data) {
        layout->data = NULL;
        return true;
    }
    if (__builtin_add_overflow(address, tensor->byte_offset, &address)) {
        PyErr_Format(PyExc_ValueError,
                     "%s: the DLPack tensor's byte offset %llu leads from %p to no address", name,
                     (unsigned long long)tensor->byte_offset, tensor->data);
        return false;
    }
    layout->data = (const void *)(uintptr_t)address;
    return true;
}

static bool is_on_device(int type)
{
    return type == DEVICE_CUDA || type == DEVICE_CUDA_MANAGED;
}

static bool is_supported(int type)
{
    return type == DEVICE_CPU || type == DEVICE_CUDA_HOST || is_on_device(type);
}

/* The object has said where its memory is before the tensor did. Whether host memory is page-locked
 * does not matter, and not all agree on it. */
static bool check_place(const struct dl_tensor *tensor, const char *name,
                        const struct dl_device *device)
{
    if (is_supported(tensor->device_type) &&
        is_on_device(tensor->device_type) == is_on_device(device->type))
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
    if (tensor && check_place(tensor, name, device) && read_type(tensor, name, &view->layout) &&
        read_shape(tensor, name, view) && read_strides(tensor, name, view) &&
        read_data(tensor, name, &view->layout) && protocol_check(view, name, &terms))
        return true;
    Py_CLEAR(view->owner);
    return false;
}

/* A capsule's destructor is anybody's code, and runs while an exception may be on its way. */
static void drop(PyObject *capsule)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_DECREF(capsule);
    PyErr_Restore(type, value, traceback);
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
