/* How a backend that launches nothing goes through an array, in words and numbers. */
#pragma once

#include <stdint.h>

struct loops {
    const char *way;          /* how elements come to a loop; NULL: there are none */
    uint64_t chunk;           /* elements that one loop folds to a state; 0: there are no chunks */
    unsigned threads;         /* that may share the work, at most */
    const char *instructions; /* that loops are made of; NULL: there is no choice */
    uint64_t copied;          /* bytes of a working copy */
};
