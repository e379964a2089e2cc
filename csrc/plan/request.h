/* What a caller asks for, before anything is made of it. */
#pragma once

#include "common/reduction.h"
#include "plan/platform.h"

struct output;

/* The arguments as Python gave them, NULL where one was left out, and what was made of those that
 * are no mere choice. */
struct request {
    const struct platforms *platforms;
    enum reduction reduction;
    PyObject *method, *block_size, *dtype, *device, *initial;
    double ddof;
    const struct output *out; /* NULL: the result becomes a scalar */
    struct stream consumer;
    int frames; /* Python frames of gred's own below the user's, which warnings pass over */
};
