#include "python/state.h"

#include "cpu/host.h"
#include "cuda/backend.h"
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
        if (backends[k] == &backend_simulated)
            self->simulated_allocations = simulated_memory_of(self->platforms.states[k]);
    }
    return true;
}

void state_close_backends(struct module_state *self)
{
    for (int k = 0; k < PLATFORMS; k++)
        if (self->platforms.states[k])
            backends[k]->destroy(self->platforms.states[k]);
}
