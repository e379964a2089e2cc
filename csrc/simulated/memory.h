/* Memory of the simulated device: the host's, but known to be a device's by its address, so that an
 * array interface's pointers can be checked without a GPU as the CUDA runtime checks them with one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Blocks of memory that live as long as somebody holds them. All 0 at first; looked at without the
 * lock, too. */
struct simulated_memory {
    struct simulated_allocation *blocks;
};

struct simulated_allocation {
    struct simulated_memory *memory;
    struct simulated_allocation *next;
    void *bytes;
    size_t length;
    unsigned holders;
};

/* Fresh memory, as a GPU has it: aligned, and full of garbage, since zeros would hide a read of
 * what nobody wrote. Both are NULL when memory is short. */
void *simulated_bytes(size_t bytes);
struct simulated_allocation *simulated_allocation_new(struct simulated_memory *, size_t bytes);
void simulated_allocation_release(void *block);

/* The block that all of these bytes lie in, held; NULL if there is none. */
struct simulated_allocation *simulated_allocation_find(struct simulated_memory *, uintptr_t first,
                                                       uint64_t bytes);
