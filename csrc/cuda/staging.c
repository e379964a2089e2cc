#include "cuda/staging.h"

#include "common/arithmetic.h"
#include "cuda/gpus.h"
#include "threads/gather.h"

#include <stdlib.h>

/* With fewer or smaller buffers, the bus and the threads wait for each other. */
enum { STAGES = 4, STAGE_BYTES = 8 << 20 };

/* Size of a work item for gathering. */
enum { STRETCH_BYTES = 16 << 10, STRETCHES = STAGE_BYTES / STRETCH_BYTES };

struct stage {
    void *buffer; /* NULL until first used */
    cudaEvent_t copied;
    bool in_place; /* the last copy was directly from the caller's memory */
};

struct cuda_staging {
    struct stage stages[STAGES];
    unsigned next;           /* index of the next stage */
    cudaStream_t stream;     /* for copies that run ahead */
    cudaEvent_t launched[2]; /* events that these wait for, alternating */
    unsigned turn;
};

static bool make_event(cudaEvent_t *event, struct failure *failure)
{
    return CUDA_TRY(failure, cudaEventCreateWithFlags, event, cudaEventDisableTiming);
}

struct cuda_staging *cuda_staging_new(struct failure *failure)
{
    struct cuda_staging *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(failure, FAILURE_MEMORY, "out of memory for buffers");
        return NULL;
    }
    bool made = make_event(&self->launched[0], failure) &&
                make_event(&self->launched[1], failure) &&
                CUDA_TRY(failure, cudaStreamCreateWithFlags, &self->stream, cudaStreamNonBlocking);
    for (int k = 0; k < STAGES && made; k++)
        made = make_event(&self->stages[k].copied, failure);
    if (made)
        return self;
    cuda_staging_free(self);
    return NULL;
}

void cuda_staging_free(struct cuda_staging *self)
{
    if (!self)
        return;
    for (int k = 0; k < STAGES; k++) {
        if (self->stages[k].copied)
            cudaEventDestroy(self->stages[k].copied);
        if (self->stages[k].buffer)
            cudaFreeHost(self->stages[k].buffer);
    }
    for (int k = 0; k < 2; k++)
        if (self->launched[k])
            cudaEventDestroy(self->launched[k]);
    if (self->stream)
        cudaStreamDestroy(self->stream);
    free(self);
}

bool cuda_staging_is_idle(const struct cuda_staging *self)
{
    bool idle = true;
    for (int k = 0; k < STAGES; k++)
        idle &= cudaEventQuery(self->stages[k].copied) == cudaSuccess;
    if (!idle)
        cudaGetLastError();
    return idle;
}

void cuda_staging_wait_in_place(struct cuda_staging *self)
{
    for (struct stage *stage = self->stages; stage < self->stages + STAGES; stage++) {
        if (stage->in_place && cudaEventSynchronize(stage->copied) != cudaSuccess)
            cudaGetLastError();
        stage->in_place = false;
    }
}

/* Uploaded size of n elements. */
static size_t bytes_of(const struct cuda_feed *feed, uint64_t n)
{
    return feed->as_bits ? ceil_div(n, MASK_BITS) : n * element_size(feed->layout->input);
}

/* ---- gathering ---- */

/* A buffer being filled, in stretches that each have their own place. */
struct gathering {
    const struct cuda_feed *feed;
    uint64_t stretch; /* elements per stretch */
    char *buffer;
    uint64_t places[STRETCHES]; /* elements before each stretch's; at first, in it */
};

/* The start of a stretch in the array, and its length. */
static uint64_t stretch_at(const struct gathering *self, uint64_t index, uint64_t *length)
{
    const uint64_t at = index * self->stretch;
    *length = min_u64(self->feed->length - at, self->stretch);
    return self->feed->start + at;
}

static void count_stretch(void *context, uint64_t index, unsigned thread)
{
    struct gathering *self = context;
    uint64_t length;
    const uint64_t start = stretch_at(self, index, &length);
    (void)thread;
    self->places[index] = gather_count(self->feed->layout, start, length);
}

static void gather_stretch(void *context, uint64_t index, unsigned thread)
{
    const struct gathering *self = context;
    const struct cuda_feed *feed = self->feed;
    uint64_t length;
    const uint64_t start = stretch_at(self, index, &length);
    (void)thread;
    (feed->as_bits ? gather_bits
                   : gather_unconverted)(feed->instructions, feed->layout, start, length,
                                         self->buffer + bytes_of(feed, self->places[index]));
}

/* Returns the number of elements gathered. With a mask, the stretches' elements are counted first,
 * which gives their places. */
static uint64_t gather_by_all(const struct cuda_feed *feed, void *buffer)
{
    const uint64_t stretch = STRETCH_BYTES / element_size(feed->layout->input);
    const uint64_t stretches = ceil_div(feed->length, stretch);
    struct gathering self = {.feed = feed, .stretch = stretch, .buffer = buffer};
    const struct thread_team thread_team = threads_team(feed->threads);
    if (feed->layout->mask)
        threads_run(&thread_team, stretches, false, count_stretch, &self);
    uint64_t before = 0;
    for (uint64_t k = 0; k < stretches; k++) {
        if (!feed->layout->mask)
            count_stretch(&self, k, 0);
        const uint64_t count = self.places[k];
        self.places[k] = before;
        before += count;
    }
    threads_run(&thread_team, stretches, false, gather_stretch, &self);
    return before;
}

/* ---- feeding ---- */

/* Returns the address to copy from; NULL with a failure noted. */
static const void *bring_together(struct stage *stage, const struct cuda_feed *feed, uint64_t *fed,
                                  struct failure *failure)
{
    *fed = feed->length;
    if (feed->in_place)
        return (const char *)feed->layout->data + feed->start * element_size(feed->layout->input);
    if (!stage->buffer &&
        !CUDA_TRY(failure, cudaHostAlloc, &stage->buffer, STAGE_BYTES, cudaHostAllocPortable))
        return NULL;
    *fed = gather_by_all(feed, stage->buffer);
    return stage->buffer;
}

/* Waits until the next stage is free, fills it and starts its copy. */
static bool feed_stage(struct cuda_staging *self, const struct cuda_feed *feed, uint64_t *fed,
                       struct failure *failure)
{
    struct stage *stage = &self->stages[self->next];
    const cudaStream_t stream = feed->ahead ? self->stream : feed->stream;
    if (!CUDA_TRY(failure, cudaEventSynchronize, stage->copied))
        return false;
    const void *from = bring_together(stage, feed, fed, failure);
    if (!from)
        return false;
    const size_t bytes = bytes_of(feed, *fed);
    stage->in_place = feed->in_place;
    self->next = (self->next + 1) % STAGES;
    return cuda_check(failure,
                      cudaMemcpyAsync(feed->target, from, bytes, cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync to the device") &&
           CUDA_TRY(failure, cudaEventRecord, stage->copied, stream);
}

static bool feed_stages(struct cuda_staging *self, const struct cuda_feed *feed, uint64_t *fed,
                        struct failure *failure)
{
    const uint64_t most = STAGE_BYTES / element_size(feed->layout->input);
    *fed = 0;
    for (uint64_t at = 0; at < feed->length; at += most) {
        struct cuda_feed part = *feed;
        uint64_t staged;
        part.start += at;
        part.length = min_u64(feed->length - at, most);
        part.target = (char *)feed->target + bytes_of(feed, *fed);
        if (!feed_stage(self, &part, &staged, failure))
            return false;
        *fed += staged;
    }
    return true;
}

/* Waits for the last copy even after a failure: targets are freed in the feed stream's order. */
bool cuda_staging_feed(struct cuda_staging *self, const struct cuda_feed *feed, uint64_t *fed,
                       struct failure *failure)
{
    const bool all = feed_stages(self, feed, fed, failure);
    const struct stage *latest = &self->stages[(self->next + STAGES - 1) % STAGES];
    return (!feed->ahead ||
            CUDA_TRY(failure, cudaStreamWaitEvent, feed->stream, latest->copied, 0)) &&
           all;
}

bool cuda_staging_run_ahead(struct cuda_staging *self, cudaStream_t stream, bool first,
                            struct failure *failure)
{
    const cudaEvent_t before = self->launched[self->turn];
    self->turn = !self->turn;
    const cudaEvent_t now = self->launched[self->turn];
    return CUDA_TRY(failure, cudaEventRecord, now, stream) &&
           CUDA_TRY(failure, cudaStreamWaitEvent, self->stream, first ? now : before, 0);
}
