/* Memory of the simulated device: host memory whose addresses are registered, so that pointers of
 * array interfaces can be validated as the CUDA runtime does for a GPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The refcounted blocks of memory. All 0 at first. */
struct simulated_memory {
    struct simulated_allocation *blocks;
};

struct simulated_allocation {
    struct simulated_memory *memory;
    struct simulated_allocation *next;
    void *bytes;
    size_t length;
    unsigned refcount;
};

/* Uninitialized, aligned memory as on a GPU, filled with garbage, since zeros would hide reads of
 * uninitialized memory. Both return NULL if out of memory. */
void *simulated_malloc(size_t bytes);
struct simulated_allocation *simulated_allocation_new(struct simulated_memory *, size_t bytes);
void simulated_allocation_release(void *opaque);

/* The block that contains all of these bytes, as a new reference; NULL if there is none. */
struct simulated_allocation *simulated_allocation_find(struct simulated_memory *, uintptr_t first,
                                                       uint64_t bytes);
