/* Host memory on its way to a GPU. What is page-locked is copied from where it lies; all else goes
 * through a ring of page-locked buffers, which many threads fill while others are copied: one core
 * fills a fifth of what the bus carries. */
#pragma once

#include "common/failure.h"
#include "common/layout.h"
#include "common/processor.h"
#include "threads/threads.h"

#include <cuda_runtime_api.h>

struct cuda_staging;

/* NULL, with a failure noted, where memory is short. */
struct cuda_staging *cuda_staging_new(struct failure *);
void cuda_staging_free(struct cuda_staging *); /* NULL is fine */

/* Whether nothing is being copied from the buffers any more. */
bool cuda_staging_is_idle(const struct cuda_staging *);

/* Waits until nothing is being copied from where it lies any more. */
void cuda_staging_let_go(struct cuda_staging *);

/* Elements of a layout in the host's memory, and where they go. */
struct cuda_feed {
    const struct layout *layout;
    uint64_t start, length;
    void *target;
    bool in_place;           /* it is flat, and page-locked */
    bool as_bits;            /* it is of bools, which go there as bits */
    cudaStream_t stream;     /* whose work from now on comes after the copies */
    bool ahead;              /* copies need not come after that stream's work, see below */
    struct threads *threads; /* that gather the elements */
    enum instructions instructions;
};

/* Has the elements copied; *fed of them, those that the mask lets through. */
bool cuda_staging_feed(struct cuda_staging *, const struct cuda_feed *, uint64_t *fed,
                       struct failure *);

/* Copies that run ahead from now on come after what was on the stream when this was last called,
 * or, the `first` time, is there now. */
bool cuda_staging_run_ahead(struct cuda_staging *, cudaStream_t, bool first, struct failure *);
