/* What went wrong where Python may not be touched: noted by a backend, raised by the module. */
#pragma once

#include <stdbool.h>

enum failure_kind {
    FAILURE_NONE,
    FAILURE_RUNTIME,   /* RuntimeError */
    FAILURE_CUDA,      /* gred.CudaError */
    FAILURE_VALUE,     /* ValueError */
    FAILURE_MEMORY,    /* MemoryError */
    FAILURE_EXCEPTION, /* a Python exception is set already */
};

struct failure {
    enum failure_kind kind;
    char text[512];
    char call[64], name[64]; /* of CUDA's errors: the function, and what it returned */
};

/* Keeps the first failure; later ones are consequences. Always false. */
bool failure_note(struct failure *, enum failure_kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an error of CUDA's: `text` is what CUDA says of it. */
void failure_note_cuda(struct failure *, const char *call, const char *name, const char *text);

typedef struct _object PyObject; /* so that backends, which include this, need not know Python */

/* Sets the exception that the failure stands for; `cuda_error` is gred.CudaError. Needs the GIL. */
void failure_raise(const struct failure *, PyObject *cuda_error);
