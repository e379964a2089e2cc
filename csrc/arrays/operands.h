/* Arguments beside the array that is reduced: where=, a mask, mean=, what deviations are taken
 * from, out=, somebody's array to write results to, and stream=. Functions of bool return false
 * with an exception set. */
#pragma once

#include "arrays/array.h"

/* Broadcasts the mask to the array's shape and puts it into the array's layout, which is not
 * normalised yet. Left out, or True: there is none. The mask is to be released in either case. */
bool mask_apply(PyObject *where, const struct view_request *, struct view *array,
                struct view *mask);

/* ---- mean=, broadcast to one a result, in C order of these ---- */

struct means {
    const struct complex128 *here; /* in the host's memory; NULL: `there` */
    struct layout there;           /* on the array's device; broadcast along strides of 0 */
    uint64_t count;
    struct view view; /* keeps the memory of either; of nothing */
};

/* Of results of that shape, of an array that has been viewed. The view, which is of nothing where
 * there are no means, is to be released in either case. */
bool means_view(PyObject *object, const struct view_request *, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *);

/* ---- out= ---- */

struct output {
    PyObject *object; /* what the caller gave, and gets back; NULL: out= was left out. Borrowed */
    struct view view; /* to be released */
    bool as_array;    /* out=...: a result without dimensions is an array and no scalar */
};

bool output_view(PyObject *out, const struct view_request *, struct output *);

/* Whether there is none, or it has this shape, or, without dimensions, one element; locates it. */
bool output_fits(struct output *, const struct where *, unsigned dimensions, const uint64_t *shape);

/* Whether it holds results along axes as kernels leave them, of this type and in C order, where
 * nothing is that is read; `also_read` may be NULL. It is normalised on the way. No exception. */
bool output_is_ready(struct output *, enum element type, const struct layout *read,
                     const struct layout *also_read);

/* Writes results to host memory, one for each element, which lie in C order, converted as NumPy's
 * assignment with casting='unsafe' does. */
void output_store(struct output *, const void *results, enum element type);

/* ---- stream= ---- */

/* An integer, an object with __cuda_stream__, or a library's own. Left out, or None: not given. */
bool stream_parse(PyObject *object, struct stream *);

/* A handle of a library's own stream, for which 0 is the legacy default stream, as in CUDA. */
bool stream_parse_handle(PyObject *handle, struct stream *);
