/* gred's own memory as DLPack's capsules, for others to read and write.
 * https://dmlc.github.io/dlpack/latest/python_spec.html */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

/* Elements in C order. The capsule holds the owner, and lets it go when it is read no more: then
 * let_go is called, which may use Python and must not fail. */
struct dlexport {
    PyObject *owner;
    void *data;
    bool on_gpu; /* else in memory that only gred knows */
    int device;
    enum element type;
    unsigned dimensions;
    int64_t shape[DIMENSIONS_MAX];
    bool versioned;
    uintptr_t reader; /* the stream that it is read on; 0: not known */
    void (*let_go)(PyObject *owner, uintptr_t reader);
};

/* The type of a name of gred's. False with a TypeError. */
bool dlexport_type(const char *name, struct dlexport *);

int dlexport_device_type(bool on_gpu);

/* A new capsule; NULL with an exception set. */
PyObject *dlexport_capsule(const struct dlexport *);
