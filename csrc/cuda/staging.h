/* Host memory on its way to a GPU goes through two buffers of page-locked memory: one is filled
 * while the other is copied. */
#pragma once

#include "common/failure.h"
#include "common/layout.h"

#include <cuda_runtime_api.h>

struct cuda_staging;

/* NULL, with a failure noted, where memory is short. */
struct cuda_staging *cuda_staging_new(struct failure *);
void cuda_staging_free(struct cuda_staging *); /* NULL is fine */

/* Whether nothing is being copied from the buffers any more. */
bool cuda_staging_is_idle(const struct cuda_staging *);

/* Elements of a layout in the host's memory, and where they go. */
struct cuda_feed {
    const struct layout *layout;
    uint64_t start, length;
    void *target;
    cudaStream_t stream;
    bool threads; /* OpenMP's may be used: they do not survive a fork */
};

/* Has the elements copied; *fed of them, those that the mask lets through. */
bool cuda_staging_feed(struct cuda_staging *, const struct cuda_feed *, uint64_t *fed,
                       struct failure *);
