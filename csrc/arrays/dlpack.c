#include "arrays/array.h"
#include "arrays/protocols.h"

/* Created at import, constant from then on. */
static PyObject *version;        /* the newest supported */
static PyObject *keywords[2][2]; /* tuples, by [has max_version][has stream]; NULL for none */

int dlpack_setup(void)
{
    if (version)
        return 0;
    keywords[1][0] = PyTuple_Pack(1, names.max_version);
    keywords[0][1] = PyTuple_Pack(1, names.stream);
    keywords[1][1] = PyTuple_Pack(2, names.max_version, names.stream);
    if (keywords[1][0] && keywords[0][1] && keywords[1][1])
        version = Py_BuildValue("(ii)", DLPACK_MAJOR, DLPACK_MINOR);
    return version ? 0 : -1;
}

/* ---- reading tensors ---- */

static const struct view_terms terms = {
    .shape = "the DLPack tensor's shape",
    .strides = "the DLPack tensor's strides",
    .data = "the DLPack tensor's data",
};

static bool is_on_device(int device_type)
{
    return device_type == DLPACK_CUDA || device_type == DLPACK_CUDA_MANAGED;
}

static bool is_supported(int device_type)
{
    return is_on_device(device_type) || device_type == DLPACK_CPU ||
           device_type == DLPACK_CUDA_HOST;
}

bool dlpack_begin(struct view *view, int device_type, const char *name)
{
    view_init(view, is_on_device(device_type));
    return is_supported(device_type) ||
           type_error("%s: DLPack device type %d is not supported; CPU and CUDA memory is", name,
                      device_type);
}

/* NumPy's kinds, by DLPack's type code. */
static const char kinds[] = {
    [0] = 'i', [1] = 'u', [2] = 'f', [4] = 'V', [5] = 'c', [6] = 'b',
};

static bool read_shape(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    enum element element = ELEMENTS;
    if (tensor->code < sizeof kinds && tensor->bits % 8 == 0 && tensor->lanes == 1)
        element = view_element(kinds[tensor->code], tensor->bits / 8);
    if (element == ELEMENTS)
        return type_error("%s: DLPack element type (code %d, bits %d, lanes %d) is not supported; "
                          "the supported ones are %s",
                          name, tensor->code, tensor->bits, tensor->lanes, element_names());
    if (tensor->dimensions < 0 || tensor->dimensions > DIMENSIONS_MAX)
        return value_error("%s: the DLPack tensor has %d dimensions; 0 to %d are supported", name,
                           (int)tensor->dimensions, DIMENSIONS_MAX);
    if (tensor->dimensions && !tensor->shape)
        return value_error("%s: %s is a null pointer for %d dimensions", name, terms.shape,
                           (int)tensor->dimensions);
    view->layout.input = view->layout.type = element;
    view->layout.dimensions = (unsigned)tensor->dimensions;
    for (int k = 0; k < tensor->dimensions; k++)
        view->layout.shape[k] = (uint64_t)tensor->shape[k];
    return view_set_size(view, name, &terms);
}

bool dlpack_read(const struct dl_tensor *tensor, const char *name, struct view *view)
{
    struct layout *layout = &view->layout;
    uint64_t address = (uintptr_t)tensor->data;
    if (!read_shape(tensor, name, view))
        return false;
    if (!tensor->strides)
        view_set_c_order(layout);
    for (unsigned k = 0; tensor->strides && k < layout->dimensions; k++)
        if (__builtin_mul_overflow(tensor->strides[k], (int64_t)element_size(layout->input),
                                   &layout->strides[k]) &&
            view->n && layout->shape[k] > 1)
            return value_error("%s: %s[%u] is %lld, whose bytes do not fit 64 bits", name,
                               terms.strides, k, (long long)tensor->strides[k]);
    if (address && __builtin_add_overflow(address, tensor->byte_offset, &address))
        return value_error(
            "%s: the DLPack tensor's byte offset %llu from %p is outside the address space", name,
            (unsigned long long)tensor->byte_offset, tensor->data);
    layout->data = (const void *)(uintptr_t)address;
    return view_validate(view, name, &terms);
}

bool dlpack_check_version(const struct dl_versioned *versioned, const char *name)
{
    return versioned->major == DLPACK_MAJOR ||
           type_error("%s: DLPack version %u.%u is not supported; version %d is", name,
                      (unsigned)versioned->major, (unsigned)versioned->minor, DLPACK_MAJOR);
}

/* Capsules without a version do not say. GPU array libraries have always written to each other's;
 * on the host NumPy takes them for read-only, and JAX's arrays are. */
const char *dlpack_read_only_reason(const struct dl_versioned *versioned, bool on_device)
{
    enum { FLAG_READ_ONLY = 1, FLAG_COPIED = 2 };
    if (!versioned)
        return on_device ? NULL
                         : "its DLPack capsule is unversioned, and so does not say that it may be "
                           "written";
    if (versioned->flags & FLAG_READ_ONLY)
        return "its DLPack tensor says so";
    return versioned->flags & FLAG_COPIED ? "its DLPack tensor is of a copy" : NULL;
}

void dlpack_describe(struct dl_tensor *tensor, int device, enum element element)
{
    unsigned code = 0;
    while (code + 1 < sizeof kinds &&
           (!kinds[code] || view_element(kinds[code], element_size(element)) != element))
        code++;
    tensor->device_type = device == ON_HOST ? DLPACK_CPU : DLPACK_CUDA;
    tensor->device = device == ON_HOST ? 0 : device;
    tensor->code = (uint8_t)code;
    tensor->bits = (uint8_t)(8 * element_size(element));
    tensor->lanes = 1;
}

/* ---- ownership ---- */

void dlpack_adopt(struct held *held, void *tensor, enum dlpack_form form)
{
    held->tensor = tensor;
    held->deleter = form == DLPACK_VERSIONED ? ((struct dl_versioned *)tensor)->deleter
                                             : ((struct dl_managed *)tensor)->deleter;
}

const struct dlpack_names dlpack_names[DLPACK_FORMS] = {
    [DLPACK_VERSIONED] = {"dltensor_versioned", "used_dltensor_versioned"},
    [DLPACK_UNVERSIONED] = {"dltensor", "used_dltensor"},
};

/* Takes the tensor from its producer's capsule by renaming the capsule, in a critical section.
 * Returns DLPACK_FORMS if the object is not a capsule with a tensor. */
static enum dlpack_form take_tensor(PyObject *capsule, struct held *held)
{
    enum dlpack_form form = 0;
    Py_BEGIN_CRITICAL_SECTION(capsule);
    while (form < DLPACK_FORMS && !PyCapsule_IsValid(capsule, dlpack_names[form].offered))
        form++;
    if (form < DLPACK_FORMS) {
        dlpack_adopt(held, PyCapsule_GetPointer(capsule, dlpack_names[form].offered), form);
        PyCapsule_SetName(capsule, dlpack_names[form].used);
    }
    Py_END_CRITICAL_SECTION();
    return form;
}

static void reject_capsule(PyObject *object, const char *name)
{
    const bool is_capsule = PyCapsule_CheckExact(object);
    const char *content = is_capsule ? PyCapsule_GetName(object) : "";
    type_error("%s: __dlpack__() must return an unused capsule named 'dltensor' or "
               "'dltensor_versioned', not %.200s%.200s",
               name, is_capsule ? "a capsule of " : Py_TYPE(object)->tp_name,
               content ? content : "nothing");
}

/* Moves the capsule's tensor to the view. NULL with an exception set. */
static const struct dl_tensor *move_tensor(PyObject *capsule, const char *name, struct view *view)
{
    const enum dlpack_form form = take_tensor(capsule, &view->held);
    if (form == DLPACK_FORMS) {
        reject_capsule(capsule, name);
        return NULL;
    }
    const struct dl_versioned *versioned = form == DLPACK_VERSIONED ? view->held.tensor : NULL;
    view->read_only = dlpack_read_only_reason(versioned, view->on_device);
    if (!versioned)
        return &((struct dl_managed *)view->held.tensor)->tensor;
    return dlpack_check_version(versioned, name) ? &versioned->tensor : NULL;
}

/* ---- requesting a capsule ---- */

struct dl_device {
    int type, index;
};

/* 0 for a BufferError or PyArrow's TypeError: the object may offer another protocol. */
static int declined(void)
{
    return PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_TypeError)
               ? 0
               : -1;
}

/* Reads the answer of __dlpack_device__(). Device numbers start at 0. */
static bool parse_device(PyObject *pair, const char *name, struct dl_device *device)
{
    const bool is_pair = PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2;
    const long type = is_pair ? PyLong_AsLong(PyTuple_GET_ITEM(pair, 0)) : -1,
               index = type < 0 ? -1 : PyLong_AsLong(PyTuple_GET_ITEM(pair, 1));
    *device = (struct dl_device){(int)type, (int)index};
    if (type >= 0 && type <= INT_MAX && index >= 0 && index <= INT_MAX)
        return true;
    return (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError) ||
            PyErr_ExceptionMatches(PyExc_OverflowError)) &&
           type_error("%s: __dlpack_device__() must return a tuple (device type, device number), "
                      "not %R",
                      name, pair);
}

/* Chooses the stream on which the data has to be ready: the caller's or the backend's own; or, if
 * work continues after the call, the library's current one, which then waits for that work. */
static bool choose_stream(PyObject *object, const struct dl_device *device,
                          const struct view_request *request, struct stream *stream)
{
    if (request->in_background && (!torch_stream(object, stream) || stream->given))
        return stream->given;
    *stream = request->consumer;
    stream->passing = request->in_background || !stream->given;
    if (!stream->given)
        return stream->given = request->locator->consumer_stream(request->locator, device->index,
                                                                 &stream->handle);
    return stream_is_readable(stream->handle) ||
           value_error("stream %p is not a valid stream handle", (void *)stream->handle);
}

static PyObject *call_dlpack(PyObject *method, bool with_version, PyObject *stream)
{
    PyObject *const values[] = {with_version ? version : stream, stream};
    return PyObject_Vectorcall(method, values, 0, keywords[with_version][stream != NULL]);
}

/* Producers older than DLPack 1.0 raise TypeError for max_version= and are called again without it.
 * A derived class, as pyarrow's, means that nothing can be exported. NULL with an exception set. */
static PyObject *request_capsule(PyObject *method, const struct stream *producer)
{
    OWNED *stream = NULL;
    if (producer->given && !(stream = PyLong_FromUnsignedLongLong(producer->handle)))
        return NULL;
    PyObject *capsule = call_dlpack(method, true, stream);
    if (!capsule && PyErr_Occurred() == PyExc_TypeError) {
        PyErr_Clear();
        capsule = call_dlpack(method, false, stream);
    }
    return capsule;
}

/* Compares the tensor's device type with that of __dlpack_device__(). Pinned host memory counts as
 * host memory, since producers disagree about it. */
static bool check_device_type(const struct dl_tensor *tensor, const char *name,
                              const struct dl_device *device)
{
    return (is_supported(tensor->device_type) &&
            is_on_device(tensor->device_type) == is_on_device(device->type)) ||
           value_error("%s: the DLPack tensor's device type is %d, but __dlpack_device__() says %d",
                       name, (int)tensor->device_type, device->type);
}

/* Steals the capsule. Its destructor may run any code, so a set exception is saved. */
static bool read_capsule(PyObject *capsule, const char *name, const struct dl_device *device,
                         struct view *view)
{
    const struct dl_tensor *tensor = move_tensor(capsule, name, view);
    const bool read =
        tensor && check_device_type(tensor, name, device) && dlpack_read(tensor, name, view);
    if (!read)
        array_release(view);
    const struct saved_exception saved = exception_save();
    Py_DECREF(capsule);
    exception_restore(saved, true);
    return read;
}

/* Host memory needs no stream, and its producers expect none. */
int dlpack_view(PyObject *object, const struct view_request *request, struct view *view)
{
    OWNED *export = NULL, *device_method = NULL;
    struct dl_device device;
    int found = PyObject_GetOptionalAttr(object, names.__dlpack__, &export);
    if (found > 0)
        found = PyObject_GetOptionalAttr(object, names.__dlpack_device__, &device_method);
    if (found <= 0)
        return found;
    OWNED *pair = PyObject_CallNoArgs(device_method);
    if (!pair)
        return declined();
    if (!parse_device(pair, request->name, &device) ||
        !dlpack_begin(view, device.type, request->name) ||
        (view->on_device && !choose_stream(object, &device, request, &view->producer)))
        return -1;
    PyObject *capsule = request_capsule(export, &view->producer);
    if (!capsule)
        return declined();
    return read_capsule(capsule, request->name, &device, view) ? 1 : -1;
}
