/* A list of arrays in one place: of any shapes, reduced as the one array that their elements are
 * one after the other, or each by itself. */
#pragma once

#include "common/layout.h"

struct listed_array {
    const void *data; /* the first element */
    uint64_t n;
    enum element input;
    const struct layout *layout; /* normalised; NULL: it is flat */
};

struct array_list {
    const struct listed_array *at;
    uint64_t count;
    uint64_t fewest; /* elements of the smallest array */
    bool each;       /* every array has a result */
    bool uniform;    /* all are flat, and of the plan's element type */
};
