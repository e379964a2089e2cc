#include "python/state.h"

#include "cpu/host.h"
#include "cuda/backend.h"
#include "python/functions.h"
#include "run/substitute.h"
#include "simulated/backend.h"

/* In the order in which gred.devices() lists them. */
static const struct backend *const backends[PLATFORMS] = {&backend_host, &backend_simulated,
                                                          &backend_cuda};

bool state_open_backends(struct module_state *self)
{
    platforms_answer(&self->platforms);
    for (int k = 0; k < PLATFORMS; k++) {
        self->platforms.all[k] = &backends[k]->platform;
        self->platforms.states[k] = backends[k]->create();
        if (!self->platforms.states[k]) {
            PyErr_NoMemory();
            return false;
        }
    }
    return true;
}

void state_close_backends(struct module_state *self)
{
    for (int k = 0; k < PLATFORMS; k++)
        if (self->platforms.states[k])
            backends[k]->destroy(self->platforms.states[k]);
}

/* ---- what is set for all runs ---- */

PyObject *state_threads(PyObject *module, PyObject *argument)
{
    const struct module_state *state = PyModule_GetState(module);
    const unsigned long most = PyLong_AsUnsignedLong(argument);
    if (PyErr_Occurred())
        return NULL;
    unsigned of_host = 1;
    for (int k = PLATFORMS - 1; k >= 0; k--) { /* the host is the first */
        const struct backend *backend = backend_of(state->platforms.all[k]);
        if (backend->threads)
            of_host = backend->threads(state->platforms.states[k], (unsigned)most);
    }
    return PyLong_FromUnsignedLong(of_host);
}

PyObject *state_substitute(PyObject *module, PyObject *arguments)
{
    PyObject *device;
    const char *name;
    unsigned data_blocks;
    unsigned long long plain, counting, shared_bytes;
    if (!PyArg_ParseTuple(arguments, "OsIKKK:substitute", &device, &name, &data_blocks, &plain,
                          &counting, &shared_bytes))
        return NULL;
    struct module_state *state = PyModule_GetState(module);
    const struct platform *platform;
    int index;
    if (!platforms_parse(&state->platforms, device, &platform, &index))
        return NULL;
    const struct substitute own = {
        .method = method_find(name),
        .data_blocks = data_blocks,
        .plain = (kernel_finder *)(uintptr_t)plain,
        .counting = (kernel_finder *)(uintptr_t)counting,
        .shared_bytes = (substitute_shared_bytes *)(uintptr_t)shared_bytes,
    };
    const struct backend *backend = backend_of(platform);
    if (!own.method || data_blocks == 0 || !backend->substitute)
        return PyErr_Format(PyExc_ValueError, "there is no rung '%s' of %u data blocks on %R", name,
                            data_blocks, device);
    backend->substitute(platforms_state(&state->platforms, platform), &own);
    Py_RETURN_NONE;
}
