#include "python/memory.h"

#include "arrays/dlpack.h"
#include "arrays/stream.h"
#include "common/failure.h"
#include "python/state.h"

struct object {
    PyObject_HEAD const struct platform *platform;
    struct device_memory memory; /* nowhere, where it has no bytes */
};

static struct module_state *state_of(PyObject *object)
{
    return PyType_GetModuleState(Py_TYPE(object));
}

static void *platform_state(PyObject *object)
{
    return platforms_state(&state_of(object)->platforms, ((struct object *)object)->platform);
}

static bool fail(PyObject *object, const struct failure *failure)
{
    failure_raise(failure, state_of(object)->platforms.cuda_error);
    return false;
}

/* Of either type. */
static PyObject *memory_new(struct module_state *state, PyTypeObject *type,
                            const struct platform *platform, int device, size_t bytes,
                            struct device_memory *memory)
{
    struct failure failure = {0};
    struct object *self = (struct object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    *memory = (struct device_memory){.bytes = bytes, .device = device};
    self->platform = platform;
    if (bytes &&
        !platform->allocate(platforms_state(&state->platforms, platform), memory, &failure)) {
        failure_raise(&failure, state->platforms.cuda_error);
        Py_DECREF(self);
        return NULL;
    }
    self->memory = *memory;
    return (PyObject *)self;
}

PyObject *device_memory_new(struct module_state *state, const struct platform *platform, int device,
                            size_t bytes, struct device_memory *memory)
{
    return memory_new(state, state->device_memory, platform, device, bytes, memory);
}

static void object_dealloc(PyObject *object)
{
    const struct object *self = (struct object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->memory.at)
        self->platform->release(platform_state(object), &self->memory);
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- to the host ---- */

static bool read_to(PyObject *object, void *target)
{
    const struct object *self = (struct object *)object;
    void *state = platform_state(object);
    struct failure failure = {0};
    bool done;
    Py_BEGIN_ALLOW_THREADS done = self->platform->read(state, &self->memory, target, &failure);
    Py_END_ALLOW_THREADS return done || fail(object, &failure);
}

static PyObject *object_read(PyObject *object, PyObject *target)
{
    const struct object *self = (struct object *)object;
    Py_buffer buffer;
    if (PyObject_GetBuffer(target, &buffer, PyBUF_WRITABLE) < 0)
        return NULL;
    bool done = (size_t)buffer.len == self->memory.bytes;
    if (!done)
        PyErr_Format(PyExc_ValueError, "the memory has %zu bytes, and the buffer %zd",
                     self->memory.bytes, buffer.len);
    done = done && (!buffer.len || read_to(object, buffer.buf));
    PyBuffer_Release(&buffer);
    return done ? Py_NewRef(Py_None) : NULL;
}

/* ---- to other libraries ---- */

/* Puts one of the memory's stream and a reader's after what is on the other now. */
static bool order(PyObject *object, uintptr_t reader, bool reader_first, struct failure *failure)
{
    const struct object *self = (struct object *)object;
    const uintptr_t own = self->memory.stream.handle;
    return !self->platform->order || !self->memory.stream.given ||
           self->platform->order(platform_state(object), self->memory.device,
                                 reader_first ? reader : own, reader_first ? own : reader, failure);
}

/* A stream that a reader had made may be gone by then, and CUDA cannot tell; the default ones are
 * not. */
static void let_go(PyObject *object, uintptr_t reader)
{
    enum { PER_THREAD_DEFAULT_STREAM = 2 };
    struct failure ignored = {0};
    if (reader && reader <= PER_THREAD_DEFAULT_STREAM)
        order(object, reader, true, &ignored);
}

static bool admit(PyObject *object, uintptr_t reader)
{
    struct failure failure = {0};
    if (!reader || order(object, reader, false, &failure))
        return true;
    return fail(object, &failure);
}

static bool parse_reader(PyObject *object, uintptr_t *handle)
{
    *handle = PyLong_AsUnsignedLongLong(object);
    if (PyErr_Occurred())
        return false;
    if (stream_is_readable(*handle))
        return true;
    return PyErr_Format(PyExc_ValueError, "stream %R is no handle of a stream", object);
}

static bool parse_shape(PyObject *object, struct dlpack_export *export)
{
    const Py_ssize_t dimensions = PyTuple_GET_SIZE(object);
    if (dimensions > DIMENSIONS_MAX)
        return PyErr_Format(PyExc_ValueError, "too many dimensions");
    export->dimensions = (unsigned)dimensions;
    for (Py_ssize_t k = 0; k < dimensions; k++) {
        export->shape[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(object, k));
        if (export->shape[k] < 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a length must not be negative");
            return false;
        }
    }
    return true;
}

/* capsule(shape, element type, stream, versioned): DLPack's, of elements in C order. */
static PyObject *object_capsule(PyObject *object, PyObject *arguments)
{
    const struct object *self = (struct object *)object;
    struct dlpack_export export = {.owner = object,
                                   .data = self->memory.at,
                                   .on_gpu = self->platform->numbered,
                                   .device = self->memory.device,
                                   .let_go = let_go};
    PyObject *shape, *reader;
    const char *type;
    int versioned;
    if (!PyArg_ParseTuple(arguments, "O!sO!p:capsule", &PyTuple_Type, &shape, &type, &PyLong_Type,
                          &reader, &versioned) ||
        !parse_shape(shape, &export) || !parse_reader(reader, &export.reader) ||
        !dlpack_type(type, &export) || !admit(object, export.reader))
        return NULL;
    export.versioned = versioned;
    return dlpack_capsule(&export);
}

/* ---- attributes ---- */

static PyObject *object_address(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(((struct object *)object)->memory.at);
}

static PyObject *object_nbytes(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((struct object *)object)->memory.bytes);
}

static PyObject *object_device(PyObject *object, void *Py_UNUSED(closure))
{
    const struct object *self = (struct object *)object;
    return platform_name(self->platform, self->memory.device);
}

static PyObject *object_dl_device(PyObject *object, void *Py_UNUSED(closure))
{
    const struct object *self = (struct object *)object;
    return Py_BuildValue("(ii)", dlpack_device_type(self->platform->numbered), self->memory.device);
}

static PyObject *object_stream(PyObject *object, void *Py_UNUSED(closure))
{
    const struct stream *stream = &((struct object *)object)->memory.stream;
    return stream->given ? PyLong_FromUnsignedLongLong(stream->handle) : Py_NewRef(Py_None);
}

#define ADDRESS_AND_NBYTES                                                                         \
    {"address", object_address, NULL, "Where the memory begins; 0: it has no bytes.", NULL},       \
    {                                                                                              \
        "nbytes", object_nbytes, NULL, "How many bytes there are.", NULL                           \
    }

static PyGetSetDef simulated_attributes[] = {
    ADDRESS_AND_NBYTES,
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef device_attributes[] = {
    ADDRESS_AND_NBYTES,
    {"device", object_device, NULL, "The device, as device= spells it.", NULL},
    {"dl_device", object_dl_device, NULL, "The device as DLPack has it: a type and a number.",
     NULL},
    {"stream", object_stream, NULL, "The stream whose work has to be waited for, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef device_methods[] = {
    {"read", object_read, METH_O, "Copies all of it into a buffer, and waits for that."},
    {"capsule", object_capsule, METH_VARARGS, "A capsule of DLPack's over the memory."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_doc, "Memory on a device that gred has got for results."},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getset, device_attributes},
    {Py_tp_methods, device_methods},
    {0, NULL},
};

PyType_Spec device_memory_spec = {
    .name = "gred._core.DeviceMemory",
    .basicsize = sizeof(struct object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = device_slots,
};

/* ---- SimulatedMemory ---- */

static PyObject *simulated_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"", NULL};
    Py_ssize_t bytes;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "n:SimulatedMemory", names, &bytes))
        return NULL;
    if (bytes < 0)
        return PyErr_Format(PyExc_ValueError, "nbytes must not be negative; got %zd", bytes);
    struct module_state *state = PyType_GetModuleState(type);
    const struct platform *platform = platforms_on(&state->platforms, METHOD_ON_SIMULATED);
    struct device_memory memory;
    /* Also without bytes it has an address. */
    PyObject *self = memory_new(state, type, platform, 0, bytes ? (size_t)bytes : 1, &memory);
    if (self)
        ((struct object *)self)->memory.bytes = (size_t)bytes;
    return self;
}

static int simulated_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    const struct device_memory *memory = &((struct object *)object)->memory;
    return PyBuffer_FillInfo(buffer, object, memory->at, (Py_ssize_t)memory->bytes, 0, flags);
}

static PyType_Slot simulated_slots[] = {
    {Py_tp_doc, "SimulatedMemory(nbytes, /)\n--\n\nMemory of the simulated device, as a buffer."},
    {Py_tp_new, simulated_new},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getset, simulated_attributes},
    {Py_bf_getbuffer, simulated_buffer},
    {0, NULL},
};

PyType_Spec simulated_memory_spec = {
    .name = "gred._core.SimulatedMemory",
    .basicsize = sizeof(struct object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = simulated_slots,
};
