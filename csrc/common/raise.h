/* What a backend noted, as an exception. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/failure.h"

/* Sets the exception that the failure stands for; `cuda_error` is gred.CudaError. Needs the GIL. */
void failure_raise(const struct failure *, PyObject *cuda_error);
