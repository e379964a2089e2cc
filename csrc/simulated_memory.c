#define _GNU_SOURCE

#include "simulated_memory.h"

#include "execute.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct simulated_block {
    struct simulated_memory *memory;
    struct simulated_block *next;
    void *bytes;
    size_t length;
    unsigned holders;
};

struct simulated_memory {
    pthread_mutex_t lock;
    pid_t maker; /* of the lock */
    struct simulated_block *blocks;
};

struct simulated_memory *simulated_memory_create(void)
{
    struct simulated_memory *self = calloc(1, sizeof *self);
    if (self) {
        pthread_mutex_init(&self->lock, NULL);
        self->maker = getpid();
    }
    return self;
}

/* A thread that held the lock when the process was forked is not there in the child to open it; the
 * list is whole at every step. */
static void lock(struct simulated_memory *self)
{
    if (self->maker != getpid()) {
        pthread_mutex_init(&self->lock, NULL);
        self->maker = getpid();
    }
    pthread_mutex_lock(&self->lock);
}

void simulated_memory_destroy(struct simulated_memory *self)
{
    pthread_mutex_destroy(&self->lock);
    free(self);
}

struct simulated_block *simulated_block_new(struct simulated_memory *memory, size_t bytes)
{
    enum { ALIGNMENT = 256 };
    struct simulated_block *self = calloc(1, sizeof *self);
    if (!self || posix_memalign(&self->bytes, ALIGNMENT, bytes ? bytes : 1) != 0) {
        free(self);
        return NULL;
    }
    self->memory = memory;
    self->length = bytes;
    self->holders = 1;
    lock(memory);
    self->next = memory->blocks;
    memory->blocks = self;
    pthread_mutex_unlock(&memory->lock);
    return self;
}

void simulated_block_release(void *opaque)
{
    struct simulated_block *self = opaque;
    struct simulated_memory *memory = self->memory;
    lock(memory);
    const bool last = --self->holders == 0;
    struct simulated_block **link = &memory->blocks;
    while (last && *link != self)
        link = &(*link)->next;
    if (last)
        *link = self->next;
    pthread_mutex_unlock(&memory->lock);
    if (last) {
        free(self->bytes);
        free(self);
    }
}

struct simulated_block *simulated_block_find(struct simulated_memory *memory, uintptr_t first,
                                             uint64_t bytes)
{
    lock(memory);
    struct simulated_block *block = memory->blocks;
    while (block &&
           (first < (uintptr_t)block->bytes || first - (uintptr_t)block->bytes > block->length ||
            bytes > block->length - (first - (uintptr_t)block->bytes)))
        block = block->next;
    if (block)
        block->holders++;
    pthread_mutex_unlock(&memory->lock);
    return block;
}

/* ---- for Python ---- */

struct object {
    PyObject_HEAD struct simulated_block *block;
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
    void *backend = execute_backend_state(state, &backend_simulated);
    self->block = simulated_block_new(simulated_memory_of(backend), (size_t)bytes);
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
        simulated_block_release(self->block);
    type->tp_free(object);
    Py_DECREF(type);
}

static int object_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    const struct simulated_block *block = ((struct object *)object)->block;
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
