/* What the simulated device is asked to run, and how it ends. */
#pragma once

#include "common/simulated_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct counted_launch;
struct checker;

struct simulator_launch {
    void (*kernel)(void **arguments); /* one thread's work */
    void **arguments;
    uint64_t grid;
    unsigned block;      /* a multiple of 32, at most SIMULATOR_BLOCK_MAX */
    size_t shared_bytes; /* of shared memory a block */
    unsigned cluster;    /* blocks that run together; at most SIMULATOR_CLUSTER_MAX, divides grid */
    bool cooperative;    /* all blocks at once: grid is at most simulator_multiprocessors() */
    struct counted_launch *counts; /* what is accessed is added to it; NULL: nobody counts */
    struct checker *checker;       /* looks at what is accessed; NULL: nobody does */
};

enum simulator_status { SIMULATOR_DONE, SIMULATOR_FAILED, SIMULATOR_INTERRUPTED };
