/* Runs plans without the GIL, lets Python interrupt them, and turns failures into exceptions. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "backend.h"

enum { BACKENDS = 3 };

/* The module's state: nothing in gred that changes lives anywhere else. */
struct module_state {
    PyObject *thread_order;    /* a ContextVar: (order, seed) of the simulated device's threads */
    PyObject *workspace_limit; /* a ContextVar: bytes */
    PyObject *cuda_error;      /* gred.CudaError */
    PyTypeObject *simulated_memory;
    void *backends[BACKENDS]; /* the state of plan_backends[k] */
};

/* The state of one backend. */
void *execute_backend_state(const struct module_state *, const struct backend *);

/* True with run->result set to what the passes leave, or the plan's `out` written; false with an
 * exception set. */
bool execute_plan(struct module_state *, const struct plan *plan, struct run *run);

bool execute_read(struct module_state *, const struct backend *backend, int index, size_t bytes,
                  struct run *run);
