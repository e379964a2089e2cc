/* DLPack's capsules: asked of objects and read, trusting nothing that can be checked, and made of
 * gred's own memory. https://dmlc.github.io/dlpack/latest/python_spec.html */
#pragma once

#include "arrays/view.h"

/* 1: a view was made. 0: the object has no __dlpack__, or declines by a BufferError, which is set
 * then, and may have something else to offer. -1: another exception is set. */
int dlpack_view(PyObject *object, const struct view_request *, struct view *view);

/* Elements in C order. The capsule holds the owner, and lets it go when it is read no more: then
 * let_go is called, which may use Python and must not fail. */
struct dlpack_export {
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
bool dlpack_type(const char *name, struct dlpack_export *);

int dlpack_device_type(bool on_gpu);

/* A new capsule; NULL with an exception set. */
PyObject *dlpack_capsule(const struct dlpack_export *);

/* Makes the constants that the others use; -1 with an exception set. */
int dlpack_setup(void);
