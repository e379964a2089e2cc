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
        failure_record(failure, FAILURE_MEMORY, "out of memory for buffers");
        return NULL;
    }
    bool created =
        make_event(&self->launched[0], failure) && make_event(&self->launched[1], failure) &&
        CUDA_TRY(failure, cudaStreamCreateWithFlags, &self->stream, cudaStreamNonBlocking);
    for (int k = 0; k < STAGES && created; k++)
        created = make_event(&self->stages[k].copied, failure);
    if (created)
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

/* ---- gathering ---- */

/* A buffer being filled, in stretches that each have their own place. */
struct gather_job {
    const struct cuda_upload *upload;
    uint64_t stretch; /* elements per stretch */
    char *buffer;
    uint64_t offsets[STRETCHES]; /* elements before each stretch's; at first, in it */
};

/* The start of a stretch in the array, and its length. */
static uint64_t stretch_range(const struct gather_job *self, uint64_t index, uint64_t *length)
{
    const uint64_t at = index * self->stretch;
    *length = min_u64(self->upload->length - at, self->stretch);
    return self->upload->start + at;
}

static void count_stretch(void *context, uint64_t index, unsigned thread)
{
    struct gather_job *self = context;
    uint64_t length;
    const uint64_t start = stretch_range(self, index, &length);
    (void)thread;
    self->offsets[index] = gather_count(self->upload->layout, start, length);
}

static void gather_stretch(void *context, uint64_t index, unsigned thread)
{
    const struct gather_job *self = context;
    const struct cuda_upload *upload = self->upload;
    uint64_t length;
    const uint64_t start = stretch_range(self, index, &length);
    (void)thread;
    gather_unconverted(upload->instructions, upload->layout, start, length,
                       self->buffer + self->offsets[index] * element_size(upload->layout->input));
}

/* Returns the number of elements gathered. With a mask, the stretches' elements are counted first,
 * which gives their places. */
static uint64_t gather_in_threads(const struct cuda_upload *upload, void *buffer)
{
    const uint64_t stretch = STRETCH_BYTES / element_size(upload->layout->input);
    const uint64_t stretches = ceil_div(upload->length, stretch);
    struct gather_job self = {.upload = upload, .stretch = stretch, .buffer = buffer};
    const struct thread_team thread_team = threads_team(upload->threads);
    if (upload->layout->mask)
        threads_run(&thread_team, stretches, false, count_stretch, &self);
    uint64_t before = 0;
    for (uint64_t k = 0; k < stretches; k++) {
        if (!upload->layout->mask)
            count_stretch(&self, k, 0);
        const uint64_t count = self.offsets[k];
        self.offsets[k] = before;
        before += count;
    }
    threads_run(&thread_team, stretches, false, gather_stretch, &self);
    return before;
}

/* ---- feeding ---- */

/* Returns the address to copy from; NULL with a failure noted. */
static const void *fill_stage(struct stage *stage, const struct cuda_upload *upload,
                              uint64_t *count, struct failure *failure)
{
    *count = upload->length;
    if (upload->in_place)
        return (const char *)upload->layout->data +
               upload->start * element_size(upload->layout->input);
    if (!stage->buffer &&
        !CUDA_TRY(failure, cudaHostAlloc, &stage->buffer, STAGE_BYTES, cudaHostAllocPortable))
        return NULL;
    *count = gather_in_threads(upload, stage->buffer);
    return stage->buffer;
}

/* Waits until the next stage is free, fills it and starts its copy. */
static bool upload_stage(struct cuda_staging *self, const struct cuda_upload *upload,
                         uint64_t *count, struct failure *failure)
{
    struct stage *stage = &self->stages[self->next];
    const cudaStream_t stream = upload->ahead ? self->stream : upload->stream;
    if (!CUDA_TRY(failure, cudaEventSynchronize, stage->copied))
        return false;
    const void *from = fill_stage(stage, upload, count, failure);
    if (!from)
        return false;
    const size_t bytes = *count * element_size(upload->layout->input);
    stage->in_place = upload->in_place;
    self->next = (self->next + 1) % STAGES;
    return cuda_check(failure,
                      cudaMemcpyAsync(upload->target, from, bytes, cudaMemcpyHostToDevice, stream),
                      "cudaMemcpyAsync to the device") &&
           CUDA_TRY(failure, cudaEventRecord, stage->copied, stream);
}

static bool upload_stages(struct cuda_staging *self, const struct cuda_upload *upload,
                          uint64_t *count, struct failure *failure)
{
    const size_t size = element_size(upload->layout->input);
    const uint64_t stage_elements = STAGE_BYTES / size;
    *count = 0;
    for (uint64_t at = 0; at < upload->length; at += stage_elements) {
        struct cuda_upload part = *upload;
        uint64_t staged;
        part.start += at;
        part.length = min_u64(upload->length - at, stage_elements);
        part.target = (char *)upload->target + *count * size;
        if (!upload_stage(self, &part, &staged, failure))
            return false;
        *count += staged;
    }
    return true;
}

/* Waits for the last copy even after a failure: targets are freed in the upload stream's order. */
bool cuda_staging_upload(struct cuda_staging *self, const struct cuda_upload *upload,
                         uint64_t *count, struct failure *failure)
{
    const bool uploaded = upload_stages(self, upload, count, failure);
    const struct stage *latest = &self->stages[(self->next + STAGES - 1) % STAGES];
    return (!upload->ahead ||
            CUDA_TRY(failure, cudaStreamWaitEvent, upload->stream, latest->copied, 0)) &&
           uploaded;
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
