/* Errors in code that may not use Python: recorded by backends, raised by the module. */
#pragma once

#include <stdbool.h>

enum failure_kind {
    FAILURE_NONE,
    FAILURE_RUNTIME,   /* RuntimeError */
    FAILURE_CUDA,      /* gred.CudaError */
    FAILURE_VALUE,     /* ValueError */
    FAILURE_MEMORY,    /* MemoryError */
    FAILURE_EXCEPTION, /* a Python exception is already set */
};

struct failure {
    enum failure_kind kind;
    char text[512];
    char call[64], name[64]; /* of CUDA errors: the function called, and the error's name */
};

/* Keeps only the first failure; later ones are consequences. Always returns false. */
bool failure_record(struct failure *, enum failure_kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a CUDA error; `text` is CUDA's description. */
void failure_record_cuda(struct failure *, const char *call, const char *name, const char *text);

typedef struct _object PyObject; /* declared here so that backends do not need Python.h */

/* Raises the failure as a Python exception; `cuda_error` is gred.CudaError. Needs the GIL. */
void failure_raise(const struct failure *, PyObject *cuda_error);
