/* A core of the simulated device, and the cluster that it is running: blocks that take turns, from
 * one barrier of the cluster to the next. A block that is in no cluster is one by itself. */
#pragma once

#include "simulated/multiprocessor.h"

struct cluster {
    struct multiprocessor blocks[SIMULATOR_CLUSTER_MAX];
    unsigned order[SIMULATOR_CLUSTER_MAX];
    uint64_t random;
};

void cluster_open(struct cluster *, struct grid *, unsigned core);
void cluster_close(struct cluster *);

/* Makes the core ready for a launch's clusters. False when memory is short. */
bool cluster_prepare(struct cluster *, const struct simulator_launch *, enum thread_order);

/* Adds what the blocks that have run here have counted. False when memory is or was short. */
bool cluster_take_counts(struct cluster *, struct counted_launch *);

void cluster_run(struct cluster *, uint64_t index, uint64_t seed);
