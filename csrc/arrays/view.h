/* One view of any array: where its elements lie, what they are and how many, and who keeps them. */
#pragma once

#include "common/layout.h"

#include <stdbool.h>

typedef struct _object PyObject; /* so that backends, which include this, need not know Python */

struct platform;

enum { LEGACY_DEFAULT_STREAM = 1, PER_THREAD_DEFAULT_STREAM = 2 }; /* handles of CUDA's */

/* A cudaStream_t. A `passing` one waits for a producer, whose own stream is not known. */
struct stream {
    bool given;
    uintptr_t handle;
    bool passing;
};

/* What keeps memory alive. */
struct held {
    PyObject *owner;   /* the view's own reference */
    const void *began; /* where NumPy's array, which is the owner, had its elements; or NULL */
    void *pin;         /* the same as the owner, for simulated memory */
    void (*unpin)(void *pin);
    void *tensor; /* the same, DLPack's */
    void (*deleter)(void *tensor);
};

struct view {
    struct layout layout;            /* dimensions as the array has them, until it is normalised */
    uint64_t n;                      /* elements, masked or not */
    const char *read_only;           /* why it must not be written; NULL: it may be */
    bool on_device;                  /* device memory, of a GPU or of the simulated device */
    struct stream producer;          /* its work comes first */
    const struct platform *platform; /* where device memory is, once somebody has asked */
    int device;
    struct extent allocation; /* the memory around it that is allocated, as far as that is known */
    struct held held;         /* to be released */
};

/* Of nothing, which may be released but need not. */
static inline void view_nothing(struct view *view)
{
    view->held.owner = NULL;
    view->held.pin = NULL;
    view->held.tensor = NULL;
    view->on_device = false;
    view->producer = (struct stream){.given = false};
}

/* What arrays ask of the devices that there are. False with an exception set. */
struct where {
    /* Finds out where a view lies, if it is of device memory. */
    bool (*locate)(const struct where *, struct view *, const char *name);

    /* A GPU's stream for a producer to work ahead of. */
    bool (*handshake)(const struct where *, int device, uintptr_t *stream);
};

/* What becomes of an object depends on what is asked of it. */
struct view_request {
    const char *name; /* the argument's, for messages */
    const struct where *where;
    struct stream consumer; /* the caller's stream=, for producers that want to know */
    bool in_place;          /* a copy will not do: the view is to be written */
    bool in_background;     /* the call may return before the work is done */
    PyObject **present;     /* where a mask of what is not null goes; NULL: nulls are refused */

    /* Of a list, the class whose functions were looked up last, and what keeps these; both are its
     * owner's to release. NULL: there is no list. */
    struct exchange_cache {
        PyObject *class, *offer;
        const void *exchange;
        bool of_tensors; /* of PyTorch's */
    } *cache;
};

/* Set an exception; NULL, and so false. */
#define type_error(...)  PyErr_Format(PyExc_TypeError, __VA_ARGS__)
#define value_error(...) PyErr_Format(PyExc_ValueError, __VA_ARGS__)

/* ---- what array protocols have in common: a pointer, a shape and strides, checked before anything
 * is read through them. False with an exception set ---- */

/* How a protocol calls its entries, for messages. */
struct view_terms {
    const char *shape, *strides, *data;
};

/* By NumPy's kind and bytes, of which 'V', 2 may be bfloat16, or by name. ELEMENTS: none. */
enum element view_element(char kind, size_t size);
enum element element_named(const char *name);

/* A view of nothing yet: all is set but the layout's pointer, types and dimensions. */
void view_begin(struct view *, bool on_device);

/* Sets view->n from the shape, in which negative numbers are recognised. So few elements pass that
 * no product of n and an element's size overflows. */
bool view_count(struct view *, const char *name, const struct view_terms *);

/* Strides of elements that lie one after the other, the last dimension fastest. */
void view_in_c_order(struct layout *);

/* The pointer is not null, addresses are possible, on devices aligned; untaken strides become 0. */
bool view_check(struct view *, const char *name, const struct view_terms *);

/* ---- streams ---- */

/* Whether a handle's memory can be read: where it cannot, CUDA ends the process. What can be read
 * but is no stream, CUDA recognises. */
bool stream_is_readable(uintptr_t handle);

/* CUDA has taken it for a stream's: the operating system is not asked about it again. */
void stream_is_known(uintptr_t handle);
