/* Arguments that are arrays beside the one that is reduced: where=, a mask, mean=, what deviations
 * are taken from, and out=, somebody's array to write results to. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

/* ---- where= ---- */

/* Broadcast to the array's shape; what keeps its memory. */
struct mask {
    bool on_device;
    struct stream producer;
    struct view view;
};

/* Puts the mask into the array's layout, which is not normalised yet. Left out, or True: there is
 * none. False with an exception set; the mask is to be released in either case. */
bool mask_apply(PyObject *where, const struct view_request *, struct view *array, struct mask *);
void mask_release(struct mask *);

/* ---- mean= ---- */

/* Broadcast to one a result, in C order of these. */
struct means {
    const struct complex128 *here; /* in the host's memory; NULL: `there` */
    struct layout there;           /* where the array lies, on a device; a stride is 0 where they
                                      are broadcast */
    uint64_t count;
    struct stream producer;
    PyObject *array;  /* keeps the former's memory */
    struct view view; /* and the latter's */
};

/* There are none yet, for means_release. */
void means_begin(struct means *);

/* Of results of that shape, of an array that has been viewed. False with an exception set; the
 * means are to be released in either case. */
bool means_view(PyObject *object, const struct view_request *, struct view *array,
                unsigned dimensions, const uint64_t *shape, struct means *);
void means_release(struct means *);

/* ---- out= ---- */

struct output {
    PyObject *object; /* what the caller gave, and gets back; NULL: out= was left out. Borrowed */
    struct view view;
};

/* False with an exception set; the output is to be released in either case. */
bool output_view(PyObject *out, const struct view_request *, struct output *);
void output_release(struct output *);

/* Whether it has one element, or this shape. False with an exception set. */
bool output_is_one(const struct output *);
bool output_has_shape(const struct output *, unsigned dimensions, const uint64_t *shape);

/* Whether it holds results along axes as kernels leave them, of this type and one after the other
 * in C order, where nothing is that is read. It is normalised on the way. */
bool output_is_ready(struct output *, enum element type, const struct layout *read);

/* Whether it may share memory with what is read. */
bool output_overlaps(const struct output *, const struct layout *read);

/* Finds out where it lies. False with an exception set. */
bool output_locate(struct output *, const struct where *);

/* Writes a result to host memory, converted as NumPy's assignment with casting='unsafe' does. */
void output_store(struct output *, union scalar result, enum element type);

/* The same with one for each element, which lie in C order. */
void output_store_all(struct output *, const void *results, enum element type);
