#include "python/simulated_memory.h"

#include "python/state.h"
#include "simulated/memory.h"

struct object {
    PyObject_HEAD struct simulated_allocation *block;
};

static PyObject *object_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"", NULL};
    Py_ssize_t bytes;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "n:SimulatedMemory", names, &bytes))
        return NULL;
    if (bytes < 0)
        return PyErr_Format(PyExc_ValueError, "nbytes must not be negative; got %zd", bytes);
    const struct module_state *state = PyType_GetModuleState(type);
    struct object *self = (struct object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->block = simulated_allocation_new(state->simulated_allocations, (size_t)bytes);
    if (!self->block) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void object_dealloc(PyObject *object)
{
    struct object *self = (struct object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->block)
        simulated_allocation_release(self->block);
    type->tp_free(object);
    Py_DECREF(type);
}

static int object_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    const struct simulated_allocation *block = ((struct object *)object)->block;
    return PyBuffer_FillInfo(buffer, object, block->bytes, (Py_ssize_t)block->length, 0, flags);
}

static PyObject *object_address(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(((struct object *)object)->block->bytes);
}

static PyObject *object_nbytes(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((struct object *)object)->block->length);
}

static PyGetSetDef attributes[] = {
    {"address", object_address, NULL, "Where the memory begins.", NULL},
    {"nbytes", object_nbytes, NULL, "How many bytes there are.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "SimulatedMemory(nbytes, /)\n--\n\nMemory of the simulated device, as a buffer."},
    {Py_tp_new, object_new},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getset, attributes},
    {Py_bf_getbuffer, object_buffer},
    {0, NULL},
};

PyType_Spec simulated_memory_spec = {
    .name = "gred._core.SimulatedMemory",
    .basicsize = sizeof(struct object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
