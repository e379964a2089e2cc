/* Arguments other than the reduced array: where= (a mask), mean= (the means that deviations are
 * taken from), out= (an array for the results) and stream=. Functions returning bool return false
 * with an exception set. */
#pragma once

#include "arrays/array.h"

/* Broadcasts the mask to the array's shape and stores it in the array's layout, which must not be
 * normalized yet. Missing or True: no mask. The mask is to be released in either case. */
bool mask_apply(PyObject *where, const struct view_request *, struct view *array,
                struct view *mask);

/* ---- mean=, broadcast to one per result, in C order of the results ---- */

struct means {
    const struct complex128 *here; /* in host memory; NULL: `there` */
    struct layout there;           /* on the array's device; broadcast with strides of 0 */
    uint64_t count;
    struct view view; /* keeps either memory alive; may be empty */
};

/* Views means for results of the given shape, of an array that has been viewed. The view, which is
 * empty without means, is to be released in either case. */
bool means_view(PyObject *object, const struct view_request *, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *);

/* ---- out= ---- */

struct output {
    PyObject *object; /* the caller's out=, which is returned; NULL: none. Borrowed */
    struct view view; /* to be released */
    bool as_array;    /* out=...: a 0-d result is an array rather than a scalar */
};

bool output_view(PyObject *out, const struct view_request *, struct output *);

/* Whether out= is missing or has this shape or, without dimensions, one element; locates it. */
bool output_check_shape(struct output *, const struct locator *, unsigned dimensions,
                        const uint64_t *shape);

/* Whether kernels can write results along axes to it directly: it has this type, is in C order and
 * overlaps nothing that is read (`other_input` may be NULL). Normalizes it. Sets no exception. */
bool output_is_direct(struct output *, enum element type, const struct layout *input,
                      const struct layout *other_input);

/* Writes results, one per element in C order, to host memory, cast as by casting='unsafe'. */
void output_store(struct output *, const void *results, enum element type);

/* ---- stream= ---- */

/* Reads an integer, an object with __cuda_stream__ or a library's stream. None: not given. */
bool stream_parse(PyObject *object, struct stream *);

/* Reads the handle of a library's stream, where 0 is the legacy default stream, as in CUDA. */
bool stream_parse_handle(PyObject *handle, struct stream *);
