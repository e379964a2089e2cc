/* How a fold's chunks are shared among threads. */
#pragma once

#include "common/reduction.h"

#include <stdint.h>

struct sharing {
    uint64_t chunks; /* in a piece */
    uint64_t pieces;
    bool brief; /* over before a thread that sleeps would be there */
};

/* Of n >= 1 elements of type `input`, in chunks of LOOP_MOST. `gathered`: a loop takes them from a
 * buffer that they have to be brought to. */
struct sharing sharing_of(enum fold, enum element input, bool gathered, uint64_t n);
