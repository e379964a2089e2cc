/* A view of any array: its layout, its length, where its memory is and what keeps it alive. */
#pragma once

#include "common/layout.h"

#include <stdbool.h>

typedef struct _object PyObject; /* for backends, which include this without Python.h */

struct platform;

enum { LEGACY_DEFAULT_STREAM = 1, PER_THREAD_DEFAULT_STREAM = 2 }; /* CUDA's handles */

/* A cudaStream_t. A `passing` one waits for a producer whose own stream is not known. */
struct stream {
    bool given;
    uintptr_t handle;
    bool passing;
};

/* The owners of a view's memory. */
struct held {
    PyObject *owner;           /* an owned reference */
    const void *original_data; /* data pointer of the owner when viewed, if a NumPy array */
    void *pin;                 /* keeps simulated memory alive */
    void (*unpin)(void *pin);
    void *tensor; /* keeps DLPack's memory alive */
    void (*deleter)(void *tensor);
};

struct view {
    struct layout layout;            /* the array's own dimensions until it is normalized */
    uint64_t n;                      /* elements, masked or not */
    const char *read_only;           /* why it must not be written; NULL: it may be */
    bool on_device;                  /* device memory, of a GPU or of the simulated device */
    struct stream producer;          /* the work on it comes first */
    const struct platform *platform; /* of device memory, once it is located */
    int device;
    struct extent allocation; /* the allocation that contains it, if known */
    struct held held;         /* to be released */
};

/* Makes an empty view, which may be released but need not be. */
static inline void view_init_empty(struct view *view)
{
    view->held.owner = NULL;
    view->held.pin = NULL;
    view->held.tensor = NULL;
    view->on_device = false;
    view->producer = (struct stream){.given = false};
}

/* Queries about devices that views need. False with an exception set. */
struct locator {
    /* Finds the platform and device of a view of device memory. */
    bool (*locate)(const struct locator *, struct view *, const char *name);

    /* A GPU's stream, passed to a producer, which then puts its work before it. */
    bool (*consumer_stream)(const struct locator *, int device, uintptr_t *stream);
};

/* How an object is to be viewed. */
struct view_request {
    const char *name; /* the argument's name, for messages */
    const struct locator *locator;
    struct stream consumer; /* the caller's stream=, which producers may need */
    bool in_place;          /* the view is to be written, so it must not be of a copy */
    bool in_background;     /* the call may return before the work is done */
    PyObject **valid_mask;  /* receives a mask of non-null elements; NULL: nulls are refused */

    /* For lists: the class whose functions were looked up last, and the object that keeps them
     * alive, both released by the cache's owner. NULL: not a list. */
    struct exchange_cache {
        PyObject *class, *capsule;
        const void *exchange;
        bool is_torch; /* a class of PyTorch's */
    } *cache;
};

/* Set an exception and give NULL, which is also false. */
#define type_error(...)  PyErr_Format(PyExc_TypeError, __VA_ARGS__)
#define value_error(...) PyErr_Format(PyExc_ValueError, __VA_ARGS__)

/* ---- shared by the protocols: a pointer, a shape and strides, checked before memory is read.
 * False with an exception set ---- */

/* A protocol's names of its entries, for messages. */
struct view_terms {
    const char *shape, *strides, *data;
};

/* The element type by NumPy's kind ('V' for bfloat16) and size, or by name; ELEMENTS: none. */
enum element view_element(char kind, size_t size);
enum element element_find(const char *name);

/* Begins a view: sets all but the layout's pointer, types and dimensions. */
void view_init(struct view *, bool on_device);

/* Sets view->n from the shape and refuses negative lengths. n is bounded so that its product with
 * an element's size cannot overflow. */
bool view_set_size(struct view *, const char *name, const struct view_terms *);

/* Sets the strides of C order without gaps. */
void view_set_c_order(struct layout *);

/* Refuses null and invalid pointers, and on devices misaligned ones; zeroes unused strides. */
bool view_validate(struct view *, const char *name, const struct view_terms *);

/* ---- streams ---- */

/* Whether a handle's memory can be read; if not, CUDA would end the process. CUDA itself rejects
 * readable memory that is not a stream. */
bool stream_is_readable(uintptr_t handle);

/* Records that CUDA accepted the handle as a stream, so that its memory is not probed again. */
void stream_mark_valid(uintptr_t handle);
