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
    char text[512]; /* of CUDA errors: "call: text (name)" */
};

/* Keeps only the first failure; later ones are consequences. Always returns false. */
bool failure_record(struct failure *, enum failure_kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Raises the failure as a Python exception. Needs the GIL. Always returns false. */
bool failure_raise(const struct failure *);
