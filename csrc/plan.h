/* A plan: everything that a call has decided before anything runs. All checks end here; a plan that
 * was made can be run. */
#pragma once

#include "array.h"
#include "method.h"
#include "op.h"

struct backend;

/* The arguments as Python gave them; NULL where one was left out. */
struct request {
    enum op op;
    bool mean;
    PyObject *method, *block_size, *dtype, *device;
};

struct plan {
    const struct backend *backend;
    int device;
    const struct method *method; /* NULL: the backend's own way */
    unsigned block;              /* threads; 0 where a block size has no meaning */
    enum op op;
    enum element input, accumulator;
    const void *data;
    uint64_t n;
    bool data_on_device;
    bool has_stream;
    uintptr_t stream;
};

/* False with an exception set. */
bool plan_make(const struct request *request, struct view *view, struct plan *plan);

/* device= alone: a backend and an index. Without one: the best there is. */
bool plan_device(PyObject *device, const struct backend **backend, int *index);

/* NULL-terminated, in the order in which gred.devices() lists them. */
extern const struct backend *const plan_backends[];
