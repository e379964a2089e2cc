#include "simulated/cluster.h"

#include "simulated/block.h"
#include "simulated/random.h"

void cluster_open(struct cluster *self, struct grid *grid, unsigned core)
{
    for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++) {
        self->blocks[k].grid = grid;
        self->blocks[k].cluster = self->blocks;
        self->blocks[k].number = core;
    }
}

void cluster_close(struct cluster *self)
{
    for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++)
        multiprocessor_release(&self->blocks[k]);
}

bool cluster_prepare(struct cluster *self, const struct simulator_launch *launch,
                     enum thread_order ordering)
{
    for (unsigned k = 0; k < launch->cluster; k++) {
        self->order[k] = ordering == ORDER_BACKWARDS ? launch->cluster - 1 - k : k;
        if (!multiprocessor_prepare(&self->blocks[k], launch, ordering))
            return false;
    }
    return true;
}

bool cluster_take_counts(struct cluster *self, struct counted_launch *counts)
{
    bool taken = true;
    for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++)
        taken &= multiprocessor_take_counts(&self->blocks[k], counts);
    return taken;
}

/* Every block gets its turn. One begins when it comes to the first: what others have put into its
 * shared memory before is gone, as it may be on a GPU. True as long as a barrier brings another
 * round. */
static bool go_round(struct cluster *self, uint64_t first, uint64_t seed, bool begin)
{
    const struct multiprocessor *any = self->blocks;
    bool again = false;
    if (any->ordering == ORDER_SHUFFLED)
        random_shuffle(self->order, any->launch->cluster, &self->random);
    for (unsigned k = 0; k < any->launch->cluster && !grid_stopped(any->grid); k++) {
        struct multiprocessor *block = &self->blocks[self->order[k]];
        if (begin)
            block_begin(block, first + self->order[k], seed);
        again |= block_run(block) == BLOCK_AT_CLUSTER_BARRIER;
    }
    return again && !grid_stopped(any->grid);
}

void cluster_run(struct cluster *self, uint64_t index, uint64_t seed)
{
    const unsigned size = self->blocks->launch->cluster;
    const uint64_t first = index * size;
    self->random = seed ^ index;
    bool begin = true;
    while (go_round(self, first, seed, begin)) {
        begin = false;
        for (unsigned k = 0; k < size; k++)
            block_pass_cluster_barrier(&self->blocks[k]);
    }
}
