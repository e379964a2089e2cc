/* Who a kernel's thread is and what it can ask of the simulated device: what
 * kernels/simulated/words.h gives CUDA's words their meaning with. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMULATOR_BLOCK_MAX = 1024, SIMULATOR_WARP = 32 };

struct simulator_index {
    unsigned x, y, z;
};

/* Who the running thread is. */
struct simulator_place {
    struct simulator_index thread, block, block_size, grid_size;
};

const struct simulator_place *simulator_here(void);

/* The block's shared memory, full of arbitrary bytes when the block begins. */
void *simulator_shared_memory(void);

void simulator_barrier_block(void);
bool simulator_barrier_block_or(bool vote);
void simulator_barrier_warp(unsigned mask);
void simulator_barrier_grid(void);

/* The lanes in `mask` each give a word; the result is the word that lane `source` gave. */
uint64_t simulator_shuffle(unsigned mask, uint64_t word, unsigned source);

#ifdef __cplusplus
}
#endif
