/* One view of any array: where its elements lie, what they are and how many, and who keeps them. */
#pragma once

#include "arrays/where.h"
#include "common/layout.h"

typedef struct _object PyObject; /* so that backends, which include this, need not know Python */

struct platform;

/* A stream of CUDA's: a cudaStream_t, 1 is the legacy default stream, 2 the per-thread one. One
 * that is `passing` has been told to wait for a producer, whose own stream is not known. */
struct stream {
    bool given;
    uintptr_t handle;
    bool passing;
};

struct view {
    struct layout layout;            /* dimensions as the array has them, until it is normalised */
    uint64_t n;                      /* elements, masked or not */
    const char *read_only;           /* why it must not be written; NULL: it may be */
    bool on_device;                  /* device memory, of a GPU or of the simulated device */
    struct stream producer;          /* its work comes first */
    const struct platform *platform; /* where device memory is, once somebody has asked */
    int device;
    const void *began; /* where NumPy's array, which is the owner, had its elements; or NULL */
    PyObject *owner;   /* keeps the memory alive; the view's own reference */
    void *pin;         /* the same, for simulated memory */
    void (*unpin)(void *pin);
};

/* What becomes of an object depends on what is asked of it. */
struct view_request {
    const char *name; /* the argument's, for messages */
    const struct where *where;
    struct stream consumer; /* the caller's stream=, for producers that want to know */
    bool in_place;          /* a copy will not do: the view is to be written */
    bool in_background;     /* the call may return before the work is done */
};
