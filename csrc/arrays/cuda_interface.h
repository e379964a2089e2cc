/* The CUDA Array Interface, versions 2 and 3: reads the dictionary and trusts nothing in it.
 * https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html */
#pragma once

#include "arrays/view.h"

/* 1: a view was made. 0: the object has no __cuda_array_interface__. -1: an exception is set:
 * TypeError for a value of the wrong type, ValueError for a missing or impossible one. */
int cuda_interface_view(PyObject *object, const struct view_request *, struct view *view);

/* The same, but 0 also if neither the interface says which stream the data comes from nor is the
 * object's library known to: DLPack, if the object has it, does. Where the stream is known, this
 * interface is as good, and faster. */
int cuda_interface_view_with_stream(PyObject *object, const struct view_request *,
                                    struct view *view);

/* Whether the object has an interface that says that its memory is read-only, whatever else is said
 * there; view->read_only then tells so. False with an exception set. */
bool cuda_interface_heed_read_only(PyObject *object, struct view *view);
