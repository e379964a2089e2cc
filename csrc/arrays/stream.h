/* The streams of CUDA that Python's libraries have objects for. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/view.h"

enum { LEGACY_DEFAULT_STREAM = 1 }; /* its handle, where 0 might mean either default stream */

/* stream=: an integer, an object with __cuda_stream__, or a library's own stream. Left out, or
 * None: not given. False with a TypeError or ValueError. */
bool stream_parse(PyObject *object, struct stream *stream);

/* The handle that a stream of PyTorch's has, where 0 is the legacy default stream. 1, 0 if the
 * object has none, -1 with an exception set. */
int stream_parse_torchs(PyObject *object, struct stream *stream);
