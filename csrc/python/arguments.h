/* A function's arguments, from the vector call's layout into an array with a place for each. */
#pragma once

#include "python/module.h"

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
    ARGUMENT(KEYS, "keys", "")                                                                     \
    ARGUMENT(NUM_KEYS, "num_keys", "")                                                             \
    ARGUMENT(DROPS, "drops", "")                                                                   \
    ARGUMENT(INNER, "inner", "")                                                                   \
    ARGUMENT(QUANTILES, "quantiles", "")                                                           \
    ARGUMENT(OP, "op", "'sum'")                                                                    \
    ARGUMENT(AXIS, "axis", "None")                                                                 \
    ARGUMENT(DTYPE, "dtype", "None")                                                               \
    ARGUMENT(OUT, "out", "None")                                                                   \
    ARGUMENT(KEEPDIMS, "keepdims", "False")                                                        \
    ARGUMENT(INITIAL, "initial", "...")                                                            \
    ARGUMENT(WHERE, "where", "True")                                                               \
    ARGUMENT(WEIGHTS, "weights", "None")                                                           \
    ARGUMENT(ORD, "ord", "None")                                                                   \
    ARGUMENT(DDOF, "ddof", "0")                                                                    \
    ARGUMENT(MEAN, "mean", "...")                                                                  \
    ARGUMENT(CORRECTION, "correction", "...")                                                      \
    ARGUMENT(METHOD, "method", "'auto'")                                                           \
    ARGUMENT(BLOCK_SIZE, "block_size", "None")                                                     \
    ARGUMENT(DEVICE, "device", "None")                                                             \
    ARGUMENT(STREAM, "stream", "None")                                                             \
    ARGUMENT(SECONDS, "seconds", "")                                                               \
    ARGUMENT(WARMUP, "warmup", "")                                                                 \
    ARGUMENT(COLD, "cold", "")                                                                     \
    ARGUMENT(NBYTES, "nbytes", "")                                                                 \
    ARGUMENT(MULTIPROCESSORS, "multiprocessors", "...")                                            \
    ARGUMENT(ROOM, "room", "...")                                                                  \
    ARGUMENT(CHECKED, "checked", "False")

#define ARGUMENT(NAME, name, missing) NAME,
enum argument { NO_ARGUMENT, ARGUMENTS(ARGUMENT) ARGUMENTS_END };
#undef ARGUMENT

/* Those of a reduction, by its number, or of another function: borrowed references by argument,
 * NULL where one was left out. False with a TypeError set. */
bool arguments_parse(unsigned which, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                     PyObject *slots[ARGUMENTS_END]);

/* For a call in Python. Borrowed. */
static inline PyObject *argument_or(PyObject *argument, PyObject *otherwise)
{
    return argument ? argument : otherwise;
}

/* op=: a reduction by its name; the sum where it was left out. False with an exception set. */
bool reduction_parse(PyObject *op, enum reduction *);
