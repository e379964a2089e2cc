/* DLPack's binary interface: a tensor as its producer describes it, read without trusting anything
 * that can be checked. https://dmlc.github.io/dlpack/latest/c_api.html */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

enum { DLTENSOR_MAJOR = 1, DLTENSOR_MINOR = 1 }; /* the newest version that is understood */

struct dl_tensor {
    void *data;
    int32_t device_type, device;
    int32_t dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements, NULL: C order */
    uint64_t byte_offset;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
};

struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    struct dl_tensor tensor; /* from here on as version 1 has it */
};

/* ---- reading ---- */

/* Whether memory of this device type is the host's or a GPU's, and whether it is the GPU's. */
bool dltensor_is_supported(int device_type);
bool dltensor_is_on_device(int device_type);

/* A view of nothing yet, in the host's memory or a device's. False with a TypeError for memory of
 * other kinds. */
bool dltensor_begin(struct view *, int device_type, const char *name);

/* The rest of a view that has begun: type, shape, strides and data. The tensor is not needed any
 * more after that. False with a TypeError or ValueError. */
bool dltensor_read(const struct dl_tensor *, const char *name, struct view *);

/* False with a TypeError if the version is none that is understood. */
bool dltensor_check_version(const struct dl_versioned *, const char *name);

/* Why the tensor must not be written, or NULL if it may be; of one without a version there is but
 * the place to tell. */
const char *dltensor_why_read_only(const struct dl_versioned *, bool on_device);

/* ---- new ones ---- */

/* Sets the device, a GPU, and the element type. */
void dltensor_describe(struct dl_tensor *, int device, enum element);

/* Whether a new tensor has this shape, lies in C order and has memory, which begins at *at. False
 * with a RuntimeError. */
bool dltensor_check_new(const struct dl_versioned *, unsigned dimensions, const uint64_t *shape,
                        void **at);

/* ---- owning ---- */

enum dltensor_form { DLTENSOR_VERSIONED, DLTENSOR_UNVERSIONED, DLTENSOR_FORMS };

/* An object to keep a tensor, without one yet. NULL with an exception set. */
PyObject *dltensor_holder(void);

/* Gives the holder a tensor, which it releases when it goes. Runs no Python, and cannot fail. */
void dltensor_hold(PyObject *holder, void *tensor, enum dltensor_form);

/* What the holder keeps: a dl_versioned or dl_managed. */
void *dltensor_held(PyObject *holder);
