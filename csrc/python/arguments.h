/* A function's arguments, from the vector call's layout into an array with a place for each. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/reduction.h"

/* All arguments that functions have, by the names that they are given by, and what a signature
 * shows as their default; "": there is none. Signatures can only name constants, so that `...`
 * stands for a value that is not given. */
#define ARGUMENTS(ARGUMENT)                                                                        \
    ARGUMENT(A, "a", "")                                                                           \
    ARGUMENT(B, "b", "")                                                                           \
    ARGUMENT(X, "x", "")                                                                           \
    ARGUMENT(VALUES, "values", "")                                                                 \
    ARGUMENT(OFFSETS, "offsets", "")                                                               \
    ARGUMENT(MAY_BE_EMPTY, "may_be_empty", "")                                                     \
    ARGUMENT(OP, "op", "'sum'")                                                                    \
    ARGUMENT(AXIS, "axis", "None")                                                                 \
    ARGUMENT(DTYPE, "dtype", "None")                                                               \
    ARGUMENT(OUT, "out", "None")                                                                   \
    ARGUMENT(KEEPDIMS, "keepdims", "False")                                                        \
    ARGUMENT(INITIAL, "initial", "...")                                                            \
    ARGUMENT(WHERE, "where", "True")                                                               \
    ARGUMENT(ORD, "ord", "None")                                                                   \
    ARGUMENT(DDOF, "ddof", "0")                                                                    \
    ARGUMENT(MEAN, "mean", "...")                                                                  \
    ARGUMENT(CORRECTION, "correction", "...")                                                      \
    ARGUMENT(METHOD, "method", "'auto'")                                                           \
    ARGUMENT(BLOCK_SIZE, "block_size", "None")                                                     \
    ARGUMENT(DEVICE, "device", "None")                                                             \
    ARGUMENT(STREAM, "stream", "None")                                                             \
    ARGUMENT(SAMPLES, "samples", "...")                                                            \
    ARGUMENT(WARMUP, "warmup", "...")                                                              \
    ARGUMENT(COLD, "cold", "True")                                                                 \
    ARGUMENT(NBYTES, "nbytes", "...")                                                              \
    ARGUMENT(MULTIPROCESSORS, "multiprocessors", "...")                                            \
    ARGUMENT(ROOM, "room", "...")                                                                  \
    ARGUMENT(CHECKED, "checked", "False")

#define ARGUMENT(NAME, name, missing) NAME,
enum argument { NO_ARGUMENT, ARGUMENTS(ARGUMENT) ARGUMENTS_END };
#undef ARGUMENT

struct signature {
    const char *function;
    unsigned char required;   /* positional, and needed */
    unsigned char positional; /* those that may be given by position, the required ones first */
    unsigned char unnamed;    /* of the positional ones: the first that have no keyword */
    unsigned char order[16];  /* all arguments in order, NO_ARGUMENT at the end */
};

/* Borrowed references by argument; NULL where one was left out. False with a TypeError set. */
bool arguments_parse(const struct signature *, PyObject *const *arguments, Py_ssize_t count,
                     PyObject *names, PyObject *slots[ARGUMENTS_END]);

/* op=: a reduction by its name; the sum where it was left out. False with an exception set. */
bool reduction_parse(PyObject *op, enum reduction *);

/* Those of the reductions, numbered as they are, and of dot. */
enum { SIGNATURE_dot = FIRST_VARIANT, SIGNATURES };

const struct signature *signature_at(unsigned);

/* Gives the first functions, which have to be those of the signatures and in their order, the
 * docstrings that gred/docstrings.py puts together. False with an exception set. */
bool signatures_document(PyMethodDef *functions);
