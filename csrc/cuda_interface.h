/* The CUDA Array Interface, versions 2 and 3: reads the dictionary and trusts nothing in it.
 * https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html */
#pragma once

#include "array.h"

enum { CUDA_INTERFACE_DIMENSIONS = 64, CUDA_INTERFACE_TYPESTR = 64 };

struct cuda_interface {
    uintptr_t pointer;
    uint64_t n; /* elements */
    int dimensions;
    int64_t shape[CUDA_INTERFACE_DIMENSIONS];
    int64_t strides[CUDA_INTERFACE_DIMENSIONS]; /* bytes; meaningless unless has_strides */
    bool has_strides;
    char typestr[CUDA_INTERFACE_TYPESTR];
    bool has_stream;
    uintptr_t stream;
};

/* False with an exception set: TypeError for a value of the wrong type, ValueError for a missing or
 * impossible one. */
bool cuda_interface_parse(PyObject *interface, const char *name, struct cuda_interface *parsed);

bool cuda_interface_is_contiguous(const struct cuda_interface *, size_t element_size);
