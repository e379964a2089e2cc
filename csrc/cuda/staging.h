/* Uploads of host memory. Page-locked memory is copied directly; everything else goes through a
 * ring of page-locked buffers, which threads fill while others are copied: one core fills at a
 * fifth of the bus bandwidth. */
#pragma once

#include "common/failure.h"
#include "common/layout.h"
#include "common/processor.h"
#include "threads/threads.h"

#include <cuda_runtime_api.h>

struct cuda_staging;

/* NULL, with a failure noted, if out of memory. */
struct cuda_staging *cuda_staging_new(struct failure *);
void cuda_staging_free(struct cuda_staging *); /* NULL is fine */

/* Whether no copy from the buffers is in progress. */
bool cuda_staging_is_idle(const struct cuda_staging *);

/* Waits for copies directly from the caller's memory. */
void cuda_staging_wait_in_place(struct cuda_staging *);

/* Elements of a host layout, and their destination. */
struct cuda_upload {
    const struct layout *layout;
    uint64_t start, length;
    void *target;
    bool in_place;           /* flat and page-locked: copied directly */
    cudaStream_t stream;     /* its future work follows the copies */
    bool ahead;              /* copies need not wait for that stream, see below */
    struct threads *threads; /* for gathering */
    enum instructions instructions;
};

/* Copies the elements; *count is the number that are not masked. */
bool cuda_staging_upload(struct cuda_staging *, const struct cuda_upload *, uint64_t *count,
                         struct failure *);

/* From now on, copies that run ahead follow the stream's work at the previous call or, if `first`,
 * its work now. */
bool cuda_staging_run_ahead(struct cuda_staging *, cudaStream_t, bool first, struct failure *);
