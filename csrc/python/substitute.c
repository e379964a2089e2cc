#include "python/substitute.h"

#include "python/state.h"
#include "run/backend.h"
#include "run/substitute.h"

PyObject *substitute(PyObject *module, PyObject *arguments)
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
    if (!own.method || data_blocks == 0 || !backend->substitute) {
        PyErr_Format(PyExc_ValueError, "there is no rung '%s' of %u data blocks on %R", name,
                     data_blocks, device);
        return NULL;
    }
    backend->substitute(platforms_state(&state->platforms, platform), &own);
    Py_RETURN_NONE;
}
