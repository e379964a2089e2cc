/* The streams of CUDA that Python's libraries have objects for. */
#pragma once

#include "arrays/view.h"

enum { LEGACY_DEFAULT_STREAM = 1 }; /* its handle, where 0 might mean either default stream */

/* stream=: an integer, an object with __cuda_stream__, or a library's own stream. Left out, or
 * None: not given. False with a TypeError or ValueError. */
bool stream_parse(PyObject *object, struct stream *stream);

/* The handle that a stream of PyTorch's has, where 0 is the legacy default stream. 1, 0 if the
 * object has none, -1 with an exception set. */
int stream_parse_torchs(PyObject *object, struct stream *stream);

/* ---- handles that somebody else gave ---- */

/* CUDA reads what a handle points to, and the process ends where that cannot be read; what can, but
 * is no stream, it recognises. This asks the operating system first. */
bool stream_is_readable(uintptr_t handle);

/* CUDA has taken it for a stream's: nobody is asked about it again. */
void stream_is_known(uintptr_t handle);
