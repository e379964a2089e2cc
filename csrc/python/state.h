/* The module's state: nothing in gred that changes lives anywhere else. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/plan.h"
#include "plan/platform.h"

struct module_state {
    struct platforms platforms;
    struct cached_plans *cached_plans;
    PyObject *thread_order;    /* a ContextVar: (order, seed) of the simulated device's threads */
    PyObject *workspace_limit; /* a ContextVar: bytes */
    PyTypeObject *simulated_memory, *device_memory;
};

/* Fills the platforms in, with their backends' states. False with an exception set. */
bool state_open_backends(struct module_state *);
void state_close_backends(struct module_state *);
