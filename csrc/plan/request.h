/* What a caller asks for, before anything is made of it. */
#pragma once

#include "common/reduction.h"
#include "plan/platform.h"

struct axes;
struct means;
struct output;

/* The arguments as Python gave them, NULL where one was left out, and what was made of those that
 * are no mere choice. */
struct request {
    const struct platforms *platforms;
    enum reduction reduction;
    PyObject *method, *block_size, *dtype, *device, *initial;
    double ddof;
    const struct means *means; /* what spreads are about; NULL: each its own mean */
    const struct output *out;  /* NULL: the result becomes a scalar */
    struct axes *axes; /* to be filled, where there is a result for each place along the kept
                          axes; NULL: there is one of the whole array */
    uint64_t reduced;  /* axes, a bit each */
    bool along;        /* axis= or keepdims= was given, whatever came of it */
    struct stream consumer;
    int frames; /* Python frames of gred's own below the user's, which warnings pass over */
};
