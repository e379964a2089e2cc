/* How a backend that launches nothing goes through an array, in words and numbers. */
#pragma once

#include <stdint.h>

#define RESULTS_IN_TURN      "one after the other"
#define RESULTS_SIDE_BY_SIDE "side by side"

struct loops {
    const char *results;      /* how those along axes follow each other; NULL: there is one */
    const char *way;          /* how elements come to a loop; NULL: there are none */
    uint64_t chunk;           /* elements that one loop folds to a state; 0: there are no chunks */
    unsigned threads;         /* that may share the work, at most */
    const char *instructions; /* that loops are made of; NULL: there is no choice */
    uint64_t copied;          /* bytes of a working copy */
};
