/* mean=: what deviations are taken from, broadcast to one a result. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

/* In C order of results. */
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
