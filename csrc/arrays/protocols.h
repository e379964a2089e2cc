/* The protocols by which arrays offer their memory. Everything that can be checked is checked.
 * https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html (versions 2 and 3)
 * https://dmlc.github.io/dlpack/latest/python_spec.html
 *
 * Functions that view return 1 if a view was made, 0 if the object does not offer the protocol or
 * cannot use it here, or -1 with an exception set. */
#pragma once

#include "arrays/objects.h"

/* ---- __cuda_array_interface__ ---- */

/* `require_stream`: also returns 0 if the data's stream is known neither from the interface nor
 * from the object's library. If it is known, this interface is as good as DLPack, and faster. */
int cuda_interface_view(PyObject *object, const struct view_request *, bool require_stream,
                        struct view *);

/* Marks the view read-only if the object's interface says so. False with an exception set. */
bool cuda_interface_mark_read_only(PyObject *object, struct view *);

/* ---- DLPack: capsules ---- */

/* 0 with a BufferError or TypeError set if the object declines: it may offer another protocol. */
int dlpack_view(PyObject *object, const struct view_request *, struct view *);

/* Creates the constants that the other functions use; -1 with an exception set. */
int dlpack_setup(void);

/* ---- DLPack: the C exchange interface, C functions of a type, called without Python ---- */

/* -1 only for exceptions such as KeyboardInterrupt, not of class Exception; with 0, none is set. */
int exchange_view(PyObject *object, const struct view_request *, struct view *);

/* As result_allocate, result_array and result_release. */
int exchange_allocate(const struct result_request *, struct result_memory *, void **data);
PyObject *exchange_array(struct result_memory *);
void exchange_release(struct result_memory *);

/* ---- DLPack: the binary interface. https://dmlc.github.io/dlpack/latest/c_api.html ---- */

enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 1 }; /* the newest supported version */

/* Device types. EXTERNAL is reserved for devices that DLPack does not know. */
enum {
    DLPACK_CPU = 1,
    DLPACK_CUDA = 2,
    DLPACK_CUDA_HOST = 3,
    DLPACK_EXTERNAL = 12,
    DLPACK_CUDA_MANAGED = 13
};

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
    void (*deleter)(void *self);
};

struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(void *self);
    uint64_t flags;
    struct dl_tensor tensor; /* from here on specific to version 1 */
};

enum dlpack_form { DLPACK_VERSIONED, DLPACK_UNVERSIONED, DLPACK_FORMS };

/* A capsule's names before and after its tensor is taken. */
extern const struct dlpack_names {
    const char *offered, *used;
} dlpack_names[DLPACK_FORMS];

/* Begins a view. False with a TypeError if the memory is neither the host's nor CUDA's. */
bool dlpack_begin(struct view *, int device_type, const char *name);

/* Reads type, shape, strides and data into a view that has begun. False with an exception set. */
bool dlpack_read(const struct dl_tensor *, const char *name, struct view *);

/* False with a TypeError if the version is not supported. */
bool dlpack_check_version(const struct dl_versioned *, const char *name);

/* Why the tensor (NULL if it has no version) must not be written; NULL: it may be. */
const char *dlpack_read_only_reason(const struct dl_versioned *, bool on_device);

/* Sets the device, a GPU's number or ON_HOST, and the element type. */
void dlpack_describe(struct dl_tensor *, int device, enum element);

/* Makes `held` own a tensor, which is deleted on release. */
void dlpack_adopt(struct held *, void *tensor, enum dlpack_form);
