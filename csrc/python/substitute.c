#include "python/substitute.h"

#include "python/state.h"
#include "simulated/backend.h"
#include "simulated/substitute.h"

PyObject *substitute(PyObject *module, PyObject *arguments)
{
    const char *name;
    unsigned data_blocks;
    unsigned long long plain, counting;
    if (!PyArg_ParseTuple(arguments, "sIKK:substitute", &name, &data_blocks, &plain, &counting))
        return NULL;
    const struct substitute own = {
        .method = method_find(name),
        .data_blocks = data_blocks,
        .plain = (substitute_flat *)(uintptr_t)plain,
        .counting = (substitute_flat *)(uintptr_t)counting,
    };
    if (!own.method || data_blocks == 0) {
        PyErr_Format(PyExc_ValueError, "there is no rung '%s' of %u data blocks", name,
                     data_blocks);
        return NULL;
    }
    struct module_state *state = PyModule_GetState(module);
    simulated_substitute(platforms_state(&state->platforms, &backend_simulated.platform), &own);
    Py_RETURN_NONE;
}
