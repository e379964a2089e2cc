/* DLPack: asks an object for a capsule and reads it, trusting nothing that can be checked.
 * https://dmlc.github.io/dlpack/latest/python_spec.html */
#pragma once

#include "arrays/view.h"

/* 1: a view was made. 0: the object has no __dlpack__, or declines by a BufferError, which is set
 * then, and may have something else to offer. -1: another exception is set. */
int dlpack_view(PyObject *object, const struct view_request *, struct view *view);

/* Makes the constants that dlpack_view uses; -1 with an exception set. */
int dlpack_setup(void);
