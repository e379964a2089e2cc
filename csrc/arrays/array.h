/* Any array-like as one view: where its elements lie, what they are and how many. NumPy arrays,
 * buffers, sequences and scalars become views of the host's memory; objects with DLPack or
 * __cuda_array_interface__ become views of the memory that they offer, as it lies. */
#pragma once

#include "arrays/where.h"
#include "common/failure.h"
#include "common/layout.h"
#include "common/scalar.h"

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
    PyObject *owner; /* keeps the memory alive; the view's own reference */
    void *pin;       /* the same, for simulated memory */
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

/* False with an exception set. */
bool array_view(PyObject *object, const struct view_request *, struct view *view);

/* Needs the GIL. */
void array_release(struct view *view);

/* The element type that NumPy's dtype, or anything that names one, stands for. False with a
 * TypeError that says what is supported. */
bool array_element(PyObject *dtype, const char *name, enum element *element);

/* The least type that both can be cast to, as NumPy has it, and beside it: bfloat16 stays bfloat16
 * with bool and integers of 8 bits, all of which it holds, and is as good as float32 with others.
 * False with an exception set. */
bool array_promote(enum element, enum element, enum element *promoted);

/* A view of an array of bools, made of such an array or of what NumPy takes for true and false in
 * Python. Arrays of other types are refused, and so are objects that are no arrays: NumPy takes
 * them for true, whatever they hold. False with an exception set. */
bool array_of_bools(PyObject *object, const char *name, struct view *view);

/* NumPy's scalar of one value. A bfloat16 is one of ml_dtypes, or a float32 without that. */
PyObject *array_scalar(union scalar value, enum element element);

/* The value of an element of that type that a Python object is assigned to, with NumPy's
 * exceptions. */
bool array_value(PyObject *object, enum element element, union scalar *value);

/* Whether it is what NumPy passes on for an argument that was left out: numpy._NoValue. */
bool array_is_no_value(PyObject *object);

/* Imports NumPy's C interface; -1 with an exception set. */
int array_setup(void);
