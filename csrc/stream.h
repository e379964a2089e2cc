/* The streams of CUDA that Python's libraries have objects for. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "array.h"

/* stream=: an integer, an object with __cuda_stream__, or a library's own stream. Left out, or
 * None: not given. False with a TypeError or ValueError. */
bool stream_parse(PyObject *object, struct stream *stream);

/* The stream that an array's library works on at present, where the library is known to tell: for
 * PyTorch's tensors, which do not say so themselves. Else *stream is not given. False with an
 * exception set. */
bool stream_of_library(PyObject *array, struct stream *stream);
