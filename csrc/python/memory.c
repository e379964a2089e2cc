#include "arrays/protocols.h"
#include "python/module.h"

#include <structmember.h>

struct memory {
    PyObject_HEAD const struct platform *platform;
    struct device_memory memory; /* `at` is NULL if nothing is allocated */
};

static void *platform_state(const struct memory *self)
{
    const struct module_state *state = PyType_GetModuleState(Py_TYPE(self));
    return platforms_state(&state->platforms, self->platform);
}

PyObject *device_memory_new(struct module_state *state, const struct platform *platform, int device,
                            size_t bytes, struct device_memory *memory)
{
    struct failure failure = {0};
    PyTypeObject *const type = state->device_memory;
    struct memory *self = (struct memory *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    *memory = (struct device_memory){.bytes = bytes, .device = device};
    self->platform = platform;
    if (bytes && !platform->allocate(platform_state(self), memory, &failure)) {
        failure_raise(&failure);
        Py_DECREF(self);
        return NULL;
    }
    self->memory = *memory;
    return (PyObject *)self;
}

/* Memory of the simulated device, which has an address even with 0 bytes. */
PyObject *core_simulated_memory(PyObject *module, PyObject *nbytes)
{
    struct module_state *state = PyModule_GetState(module);
    const Py_ssize_t bytes = PyLong_AsSsize_t(nbytes);
    struct device_memory memory;
    if (bytes < 0)
        return PyErr_Occurred() ? NULL : value_error("nbytes must not be negative; got %zd", bytes);
    PyObject *self = device_memory_new(state, platforms_on(&state->platforms, METHOD_ON_SIMULATED),
                                       0, bytes ? (size_t)bytes : 1, &memory);
    if (self)
        ((struct memory *)self)->memory.bytes = (size_t)bytes;
    return self;
}

static void object_dealloc(PyObject *object)
{
    const struct memory *self = (struct memory *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->memory.at)
        self->platform->release(platform_state(self), &self->memory);
    type->tp_free(object);
    Py_DECREF(type);
}

/* Only the simulated device's memory is the host's. */
static int object_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    const struct memory *self = (struct memory *)object;
    if (self->platform->place == METHOD_ON_SIMULATED)
        return PyBuffer_FillInfo(buffer, object, self->memory.at, (Py_ssize_t)self->memory.bytes, 0,
                                 flags);
    PyErr_SetString(PyExc_BufferError, "the memory is a GPU's; read() copies it");
    return -1;
}

static PyObject *object_read(PyObject *object, PyObject *target)
{
    const struct memory *self = (struct memory *)object;
    void *state = platform_state(self);
    struct failure failure = {0};
    CLEANUP(PyBuffer_Release) Py_buffer buffer = {0};
    bool done = true;
    if (PyObject_GetBuffer(target, &buffer, PyBUF_WRITABLE) < 0)
        return NULL;
    if ((size_t)buffer.len != self->memory.bytes)
        return value_error("the memory has %zu bytes, and the buffer %zd", self->memory.bytes,
                           buffer.len);
    Py_BEGIN_ALLOW_THREADS;
    if (buffer.len)
        done = self->platform->read(state, &self->memory, buffer.buf, &failure);
    Py_END_ALLOW_THREADS;
    return done || failure_raise(&failure) ? Py_NewRef(Py_None) : NULL;
}

/* ---- export to other libraries ---- */

/* Makes the reader's stream wait for the memory's or, if `reader_first`, the other way round. */
static bool wait_stream(const struct memory *self, uintptr_t reader, bool reader_first,
                        struct failure *failure)
{
    const uintptr_t own = self->memory.stream.handle;
    return !self->platform->order || !self->memory.stream.given ||
           self->platform->order(platform_state(self), self->memory.device,
                                 reader_first ? reader : own, reader_first ? own : reader, failure);
}

/* What a capsule points to: a tensor of either form, and the arrays that it refers to. */
struct exported {
    union {
        struct dl_versioned versioned;
        struct dl_managed managed;
    };
    int64_t shape[DIMENSIONS_MAX], strides[DIMENSIONS_MAX];
    struct memory *owner;
    uintptr_t reader; /* the stream on which it is read; 0: unknown */
};

/* The tensor's deleter, called by readers from any thread, with or without the GIL. A stream that
 * the reader created may be gone by then, which CUDA cannot detect, so only default streams are
 * ordered. After the interpreter has ended, nothing is released. */
static void delete_export(void *tensor)
{
    struct exported *const exported = tensor;
    struct failure ignored = {0};
    if (Py_IsInitialized()) {
        const PyGILState_STATE gil = PyGILState_Ensure();
        if (exported->reader && exported->reader <= PER_THREAD_DEFAULT_STREAM)
            wait_stream(exported->owner, exported->reader, true, &ignored);
        Py_DECREF(exported->owner);
        PyGILState_Release(gil);
    }
    free(exported);
}

/* The capsule's destructor: whoever takes the tensor has renamed the capsule. */
static void capsule_destructor(PyObject *capsule)
{
    for (int form = 0; form < DLPACK_FORMS; form++)
        if (PyCapsule_IsValid(capsule, dlpack_names[form].offered))
            delete_export(PyCapsule_GetPointer(capsule, dlpack_names[form].offered));
}

/* Reads the shape, and sets strides of C order. */
static bool parse_shape(PyObject *lengths, struct exported *exported, struct dl_tensor *tensor)
{
    const Py_ssize_t dimensions = PyTuple_GET_SIZE(lengths);
    int64_t stride = 1;
    if (dimensions > DIMENSIONS_MAX)
        return value_error("too many dimensions");
    for (Py_ssize_t k = dimensions; k-- > 0; stride *= exported->shape[k]) {
        exported->shape[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(lengths, k));
        exported->strides[k] = stride;
        if (exported->shape[k] < 0)
            return !PyErr_Occurred() && value_error("a length must not be negative");
    }
    tensor->dimensions = (int32_t)dimensions;
    tensor->shape = exported->shape;
    tensor->strides = exported->strides;
    return true;
}

/* Reads the stream on which memory is read, and makes it wait for the memory's own; 0: none. */
static bool wait_for_memory(const struct memory *self, PyObject *stream, uintptr_t *reader)
{
    struct failure failure = {0};
    *reader = PyLong_AsUnsignedLongLong(stream);
    if (PyErr_Occurred())
        return false;
    if (!stream_is_readable(*reader))
        return value_error("stream %.200R is not a valid stream handle", stream);
    return !*reader || wait_stream(self, *reader, false, &failure) || failure_raise(&failure);
}

static int dlpack_device_type(const struct memory *self)
{
    return self->platform->numbered ? DLPACK_CUDA : DLPACK_EXTERNAL;
}

/* capsule(shape, element type, stream, versioned): a DLPack capsule of elements in C order. */
static PyObject *object_capsule(PyObject *object, PyObject *arguments)
{
    struct memory *self = (struct memory *)object;
    PyObject *shape, *stream;
    const char *name;
    int versioned;
    if (!PyArg_ParseTuple(arguments, "O!sO!p:capsule", &PyTuple_Type, &shape, &name, &PyLong_Type,
                          &stream, &versioned))
        return NULL;
    const enum element type = element_find(name);
    struct exported *exported = calloc(1, sizeof *exported);
    if (!exported)
        return PyErr_NoMemory();
    struct dl_tensor *tensor = versioned ? &exported->versioned.tensor : &exported->managed.tensor;
    PyObject *capsule = NULL;
    if (parse_shape(shape, exported, tensor) &&
        (type < ELEMENTS || type_error("%s is not an element type", name)) &&
        wait_for_memory(self, stream, &exported->reader))
        capsule = PyCapsule_New(
            exported, dlpack_names[versioned ? DLPACK_VERSIONED : DLPACK_UNVERSIONED].offered,
            capsule_destructor);
    if (!capsule) {
        free(exported);
        return NULL;
    }
    if (versioned)
        exported->versioned.major = DLPACK_MAJOR;
    *(versioned ? &exported->versioned.deleter : &exported->managed.deleter) = delete_export;
    dlpack_describe(tensor, self->memory.device, type);
    tensor->device_type = dlpack_device_type(self);
    tensor->data = self->memory.at;
    exported->owner = (struct memory *)Py_NewRef(object);
    return capsule;
}

static PyObject *object_device(PyObject *object, void *Py_UNUSED(closure))
{
    const struct memory *self = (struct memory *)object;
    return platform_name(self->platform, self->memory.device);
}

static PyObject *object_dl_device(PyObject *object, void *Py_UNUSED(closure))
{
    const struct memory *self = (struct memory *)object;
    return Py_BuildValue("(ii)", dlpack_device_type(self), self->memory.device);
}

static PyObject *object_stream(PyObject *object, void *Py_UNUSED(closure))
{
    const struct stream *stream = &((struct memory *)object)->memory.stream;
    return stream->given ? PyLong_FromUnsignedLongLong(stream->handle) : Py_NewRef(Py_None);
}

static PyMemberDef members[] = {
    {"address", T_ULONG, offsetof(struct memory, memory.at), READONLY,
     "The memory's address; 0 if it is empty."},
    {"nbytes", T_PYSSIZET, offsetof(struct memory, memory.bytes), READONLY, "The size in bytes."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef device_attributes[] = {
    {"device", object_device, NULL, "The device, as device= takes it.", NULL},
    {"dl_device", object_dl_device, NULL, "The device as DLPack's type and number.", NULL},
    {"stream", object_stream, NULL, "The stream whose work must be waited for, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef device_methods[] = {
    {"read", object_read, METH_O, "Copy the memory into a buffer, and wait for the copy."},
    {"capsule", object_capsule, METH_VARARGS, "A DLPack capsule of the memory."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc, "Device memory that gred allocated; the simulated device's is a buffer."},
    {Py_tp_dealloc, object_dealloc},
    {Py_bf_getbuffer, object_buffer},
    {Py_tp_members, members},
    {Py_tp_getset, device_attributes},
    {Py_tp_methods, device_methods},
    {0, NULL},
};

PyType_Spec device_memory_spec = {
    .name = "gred._core.DeviceMemory",
    .basicsize = sizeof(struct memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = device_slots,
};
