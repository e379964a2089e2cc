/* where=: a mask, broadcast to the array's shape. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

/* What keeps the mask's memory. */
struct mask {
    bool on_device;
    struct stream producer;
    struct view view;
};

/* Puts the mask into the array's layout, which is not normalised yet. Left out, or True: there is
 * none. False with an exception set; the mask is to be released in either case. */
bool mask_apply(PyObject *where, const struct view_request *, struct view *array, struct mask *);
void mask_release(struct mask *);
