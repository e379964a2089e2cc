/* A plan: everything that a call has decided before anything runs. All checks end here; a plan that
 * was made can be run. */
#pragma once

#include "array.h"
#include "finish.h"
#include "method.h"

struct backend;
struct mask;
struct output;

/* The arguments as Python gave them, NULL where one was left out, and what was made of those that
 * are no mere choice. */
struct request {
    struct module_state *state;
    enum op op;
    bool mean;
    PyObject *method, *block_size, *dtype, *device, *initial;
    const struct output *out; /* NULL: the result becomes a scalar */
    struct stream consumer;
};

struct plan {
    const struct backend *backend;
    int device;
    const struct method *method; /* NULL: the backend's own way */
    unsigned block;              /* threads; 0 where a block size has no meaning */
    enum op op;
    enum element accumulator;
    const struct source *source; /* normalised; the view's */
    uint64_t n;                  /* its length, what a mask hides included */
    bool flat;                   /* the source is a plain run of elements */
    bool direct;                 /* a plain conversion to the accumulator is all that is asked */
    bool on_device, mask_on_device;
    struct stream producers[3]; /* of the array, the mask and out: their work comes first */
    struct stream consumer;
    struct finish finish;
    void *out; /* device memory, for a result that stays there; else NULL */
    enum element out_element;
};

/* False with an exception set. The view's source is normalised on the way. `mask` may be NULL. */
bool plan_make(const struct request *request, struct view *view, const struct mask *mask,
               struct plan *plan);

/* device= alone: a backend and an index. Without one: the best there is. */
bool plan_device(struct module_state *state, PyObject *device, const struct backend **backend,
                 int *index);

/* Finds out where a view of device memory lies. False with an exception set. */
bool plan_locate(struct module_state *state, struct view *view, const char *name);

/* NULL-terminated, in the order in which gred.devices() lists them. */
extern const struct backend *const plan_backends[];
