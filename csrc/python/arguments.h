/* Parses a vectorcall's arguments into an array with a slot for each argument. */
#pragma once

#include "python/module.h"

/* The arguments of all functions: slot, keyword, and the default that signatures show ("": none).
 * Signatures can only name constants, so `...` means no value. */
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

/* Parses the arguments of a reduction, by its number, or of another function: borrowed references
 * in slots, NULL if missing. False with a TypeError set. */
bool arguments_parse(unsigned which, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                     PyObject *slots[ARGUMENTS_END]);

/* The argument or, if it is missing, `otherwise`. Borrowed. */
static inline PyObject *argument_or(PyObject *argument, PyObject *otherwise)
{
    return argument ? argument : otherwise;
}

/* Reads op=, a reduction's name; sum if it is missing. False with an exception set. */
bool reduction_parse(PyObject *op, enum reduction *);
