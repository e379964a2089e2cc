#include "python/threads.h"

#include "python/state.h"
#include "run/backend.h"

PyObject *threads_call(PyObject *module, PyObject *argument)
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
