#include "cuda/staging.h"

#include "cuda/check.h"
#include "run/gather.h"

#include <stdlib.h>

enum { STAGES = 2, STAGE_BYTES = 8 << 20 };

struct cuda_staging {
    void *buffers[STAGES];
    cudaEvent_t copied[STAGES];
};

static bool fill(struct cuda_staging *self, struct failure *failure)
{
    for (int k = 0; k < STAGES; k++)
        if (!cuda_check(failure,
                        cudaHostAlloc(&self->buffers[k], STAGE_BYTES, cudaHostAllocPortable),
                        "cudaHostAlloc") ||
            !cuda_check(failure, cudaEventCreateWithFlags(&self->copied[k], cudaEventDisableTiming),
                        "cudaEventCreateWithFlags"))
            return false;
    return true;
}

struct cuda_staging *cuda_staging_new(struct failure *failure)
{
    struct cuda_staging *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(failure, FAILURE_MEMORY, "out of memory for buffers");
        return NULL;
    }
    if (!fill(self, failure)) {
        cuda_staging_free(self);
        return NULL;
    }
    return self;
}

void cuda_staging_free(struct cuda_staging *self)
{
    if (!self)
        return;
    for (int k = 0; k < STAGES; k++) {
        if (self->copied[k])
            cudaEventDestroy(self->copied[k]);
        if (self->buffers[k])
            cudaFreeHost(self->buffers[k]);
    }
    free(self);
}

bool cuda_staging_is_idle(const struct cuda_staging *self)
{
    bool idle = true;
    for (int k = 0; k < STAGES; k++)
        idle &= cudaEventQuery(self->copied[k]) == cudaSuccess;
    if (!idle)
        cudaGetLastError();
    return idle;
}

/* One core cannot keep up with the bus. Under a mask nobody knows beforehand where a stretch's
 * elements will go. */
static uint64_t gather_by_all(const struct layout *layout, uint64_t start, uint64_t length,
                              char *target)
{
    const size_t size = element_size(layout->input);
    const int64_t stretch = 1 << 15, stretches = ((int64_t)length + stretch - 1) / stretch;
    if (layout->mask || stretches == 1)
        return gather_unconverted(layout, start, length, target);
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < stretches; k++) {
        const uint64_t at = (uint64_t)(k * stretch), rest = length - at;
        gather_unconverted(layout, start + at, rest < (uint64_t)stretch ? rest : (uint64_t)stretch,
                           target + at * size);
    }
    return length;
}

/* One buffer's worth: waits until the buffer is free, fills it and has it copied. */
static bool feed_stage(struct cuda_staging *self, unsigned k, const struct cuda_feed *feed,
                       uint64_t *fed, struct failure *failure)
{
    void *buffer = self->buffers[k];
    if (!cuda_check(failure, cudaEventSynchronize(self->copied[k]), "cudaEventSynchronize"))
        return false;
    *fed = feed->threads ? gather_by_all(feed->layout, feed->start, feed->length, buffer)
                         : gather_unconverted(feed->layout, feed->start, feed->length, buffer);
    const size_t bytes = *fed * element_size(feed->layout->input);
    return cuda_check(
               failure,
               cudaMemcpyAsync(feed->target, buffer, bytes, cudaMemcpyHostToDevice, feed->stream),
               "cudaMemcpyAsync to the device") &&
           cuda_check(failure, cudaEventRecord(self->copied[k], feed->stream), "cudaEventRecord");
}

bool cuda_staging_feed(struct cuda_staging *self, const struct cuda_feed *feed, uint64_t *fed,
                       struct failure *failure)
{
    const size_t size = element_size(feed->layout->input);
    const uint64_t stage = STAGE_BYTES / size;
    *fed = 0;
    for (uint64_t at = 0, k = 0; at < feed->length; at += stage, k = (k + 1) % STAGES) {
        struct cuda_feed part = *feed;
        uint64_t staged;
        part.start += at;
        part.length = feed->length - at < stage ? feed->length - at : stage;
        part.target = (char *)feed->target + *fed * size;
        if (!feed_stage(self, (unsigned)k, &part, &staged, failure))
            return false;
        *fed += staged;
    }
    return true;
}
