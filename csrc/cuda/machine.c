/* A machine on a GPU. Its memory comes from gred's own pool, in stream order; other libraries'
 * pools are not affected. */
#include "cuda/session.h"

#include <string.h>

static struct cuda_session *session_of(struct machine *machine)
{
    return (struct cuda_session *)machine;
}

static bool allocate_from_pool(struct machine *machine, size_t bytes, void **memory)
{
    struct cuda_session *self = session_of(machine);
    return CUDA_TRY(machine->failure, cudaMallocFromPoolAsync, memory, bytes ? bytes : 1,
                    self->state->pools[self->device], self->stream);
}

static void free_to_pool(struct machine *machine, void *memory)
{
    if (memory)
        CUDA_TRY(machine->failure, cudaFreeAsync, memory, session_of(machine)->stream);
}

/* A run's workspace, allocated at most once per run. A graph may be replayed at any time, so its
 * memory is not shared. */
static bool machine_allocate(struct machine *machine, size_t bytes, void **memory)
{
    struct cuda_session *self = session_of(machine);
    self->ahead = false; /* the first copies have to follow this allocation */
    if (bytes > WORKSPACE_BYTES || self->capturing)
        return allocate_from_pool(machine, bytes, memory);
    *memory = self->workspace;
    return true;
}

static void machine_release(struct machine *machine, void *memory)
{
    if (memory != session_of(machine)->workspace)
        free_to_pool(machine, memory);
}

/* A graph's memory is not reused. */
static bool machine_leave(struct machine *machine)
{
    struct cuda_session *self = session_of(machine);
    return self->capturing || cuda_session_mark_pending(self);
}

/* Notes a failure if the stream is being captured: a graph would access host memory at replay. */
static bool refuse_capture(struct machine *machine)
{
    if (!session_of(machine)->capturing)
        return false;
    return !failure_record(
        machine->failure, FAILURE_RUNTIME,
        "the stream is being captured, and this call copies between host and GPU, "
        "which cannot be captured; array, mask and out must be on the GPU");
}

static bool machine_clear(struct machine *machine, void *target, size_t bytes)
{
    return CUDA_TRY(machine->failure, cudaMemsetAsync, target, 0, bytes,
                    session_of(machine)->stream);
}

static bool copy_bytes(struct machine *machine, enum copy_kind kind, void *target,
                       const void *source, size_t bytes)
{
    static const struct {
        enum cudaMemcpyKind kind;
        const char *call;
    } copies[] = {
        [COPY_TO_DEVICE] = {cudaMemcpyHostToDevice, "cudaMemcpyAsync to the device"},
        [COPY_CAPTURABLE] = {cudaMemcpyHostToDevice, "cudaMemcpyAsync to the device"},
        [COPY_TO_HOST] = {cudaMemcpyDeviceToHost, "cudaMemcpyAsync from the device"},
        [COPY_ON_DEVICE] = {cudaMemcpyDeviceToDevice, "cudaMemcpyAsync within the device"},
    };
    const cudaStream_t stream = session_of(machine)->stream;
    return cuda_check(machine->failure,
                      cudaMemcpyAsync(target, source, bytes, copies[kind].kind, stream),
                      copies[kind].call) &&
           (kind != COPY_TO_HOST || CUDA_TRY(machine->failure, cudaStreamSynchronize, stream));
}

/* Requests over 256 MiB are limited to 7/8 of the free memory, to leave some to others. */
static size_t machine_room(struct machine *machine, size_t bytes)
{
    const size_t threshold = (size_t)256 << 20;
    size_t available = 0, total = 0;
    (void)machine;
    if (bytes <= threshold)
        return bytes;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) {
        cudaGetLastError();
        return bytes;
    }
    const size_t share = available - available / 8;
    return bytes < share ? bytes : share > threshold ? share : threshold;
}

/* ---- host memory ---- */

enum { SMALL_BYTES = 1 << 15 };

/* Small flat arrays skip the staging buffers. They are copied to the stack, from which CUDA copies
 * before it returns; from page-locked memory of the caller it would read later. */
static bool upload_small(struct machine *machine, void *target, const void *source, size_t bytes)
{
    char copy[SMALL_BYTES];
    memcpy(copy, source, bytes);
    return copy_bytes(machine, COPY_TO_DEVICE, target, copy, bytes);
}

static bool make_staging(struct machine *machine)
{
    struct cuda_session *self = session_of(machine);
    if (!self->staging)
        self->staging = cuda_staging_new(machine->failure);
    return self->staging;
}

static bool machine_upload(struct machine *machine, void *target, const struct layout *layout,
                           uint64_t start, uint64_t length, uint64_t *fed)
{
    struct cuda_session *self = session_of(machine);
    const bool flat = layout_is_flat(layout);
    const size_t size = element_size(layout->input), bytes = length * size;
    const char *first = (const char *)layout->data + start * size; /* if flat */
    *fed = length;
    if (refuse_capture(machine))
        return false;
    if (flat && bytes <= SMALL_BYTES)
        return upload_small(machine, target, first, bytes);
    const struct cuda_upload job = {
        .layout = layout,
        .start = start,
        .length = length,
        .target = target,
        .in_place = flat && cuda_pointer_is_page_locked(&self->state->pointers, first, bytes),
        .stream = self->stream,
        .ahead = self->ahead,
        .threads = self->state->threads,
        .instructions = self->state->instructions,
    };
    return make_staging(machine) && cuda_staging_upload(self->staging, &job, fed, machine->failure);
}

static bool machine_run_ahead(struct machine *machine)
{
    struct cuda_session *self = session_of(machine);
    const bool first = !self->ahead;
    self->ahead = true;
    return !refuse_capture(machine) && make_staging(machine) &&
           cuda_staging_run_ahead(self->staging, self->stream, first, machine->failure);
}

/* ---- kernels ---- */

/* More shared memory than 48 KiB needs opting in, per device; always to the maximum, since other
 * threads launch the same kernel. */
static bool allow_shared_bytes(struct machine *machine, const void *kernel, size_t bytes)
{
    enum { DEFAULT_MAX = 48 << 10 };
    return bytes <= DEFAULT_MAX ||
           CUDA_TRY(machine->failure, cudaFuncSetAttribute, kernel,
                    cudaFuncAttributeMaxDynamicSharedMemorySize, (int)machine->facts.shared_bytes);
}

/* Launches with an attribute: clusters, or programmatic dependent launch. */
static bool launch_with_attribute(struct machine *machine, const struct step *step,
                                  void **arguments)
{
    cudaLaunchAttribute attribute = {
        .id = cudaLaunchAttributeProgrammaticStreamSerialization,
        .val.programmaticStreamSerializationAllowed = 1,
    };
    if (step->cluster > 1)
        attribute = (cudaLaunchAttribute){
            .id = cudaLaunchAttributeClusterDimension,
            .val.clusterDim = {step->cluster, 1, 1},
        };
    const cudaLaunchConfig_t config = {
        .gridDim = {(unsigned)step->grid, 1, 1},
        .blockDim = {step->block, 1, 1},
        .dynamicSmemBytes = step->shared_bytes,
        .stream = session_of(machine)->stream,
        .attrs = &attribute,
        .numAttrs = 1,
    };
    return CUDA_TRY(machine->failure, cudaLaunchKernelExC, &config, step->kernel, arguments);
}

static bool machine_launch(struct machine *machine, const struct step *step, void **arguments)
{
    const dim3 grid = {(unsigned)step->grid, 1, 1}, block = {step->block, 1, 1};
    const cudaStream_t stream = session_of(machine)->stream;
    if (!allow_shared_bytes(machine, step->kernel, step->shared_bytes))
        return false;
    if (step->cluster > 1 || step->follows)
        return launch_with_attribute(machine, step, arguments);
    if (step->cooperative)
        return CUDA_TRY(machine->failure, cudaLaunchCooperativeKernel, step->kernel, grid, block,
                        arguments, step->shared_bytes, stream);
    return CUDA_TRY(machine->failure, cudaLaunchKernel, step->kernel, grid, block, arguments,
                    step->shared_bytes, stream);
}

static bool machine_resident(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                             unsigned *blocks)
{
    struct machine *machine = device;
    int resident = 0;
    if (!allow_shared_bytes(machine, kernel, shared_bytes) ||
        !CUDA_TRY(machine->failure, cudaOccupancyMaxActiveBlocksPerMultiprocessor, &resident,
                  kernel, (int)block, shared_bytes))
        return false;
    *blocks = (unsigned)resident;
    return true;
}

static bool machine_reduce(struct machine *machine, library_reduce *reduce, const void *data,
                           uint64_t n, void *result)
{
    struct cuda_session *self = session_of(machine);
    size_t bytes = 0;
    if (!cuda_check(machine->failure, reduce(NULL, &bytes, data, result, (int64_t)n, self->stream),
                    "cub::DeviceReduce"))
        return false;
    if (bytes > self->library.bytes) {
        free_to_pool(machine, self->library.at);
        self->library = (struct cuda_memory){NULL, 0};
        if (!allocate_from_pool(machine, bytes, &self->library.at))
            return false;
        self->library.bytes = bytes;
    }
    return cuda_check(machine->failure,
                      reduce(self->library.at, &bytes, data, result, (int64_t)n, self->stream),
                      "cub::DeviceReduce");
}

static bool machine_wait(struct machine *machine)
{
    return CUDA_TRY(machine->failure, cudaStreamSynchronize, session_of(machine)->stream);
}

static enum progress machine_progress(struct machine *machine)
{
    const cudaError_t error = cudaStreamQuery(session_of(machine)->stream);
    if (error == cudaErrorNotReady) {
        cudaGetLastError();
        return PROGRESS_PENDING;
    }
    return cuda_check(machine->failure, error, "cudaStreamQuery") ? PROGRESS_DONE : PROGRESS_FAILED;
}

/* Reads scratch memory larger than the L2 cache. Overwriting it would evict other lines, too, but
 * the cache would write it back while the next kernel is timed. */
static bool machine_flush(struct machine *machine)
{
    enum { SHAPE = 1, BLOCK = 512, BLOCKS_PER_SM = 2, PACK_BYTES = 16, ANY_BYTE = 0x5a };
    struct cuda_session *self = session_of(machine);
    struct cuda_memory *scratch = &self->scratch;
    if (!scratch->at && (!allocate_from_pool(machine, scratch->bytes, &scratch->at) ||
                         !CUDA_TRY(machine->failure, cudaMemsetAsync, scratch->at, ANY_BYTE,
                                   scratch->bytes, self->stream)))
        return false;
    uint64_t packs = scratch->bytes / PACK_BYTES;
    void *arguments[] = {&scratch->at, &packs, &scratch->at};
    const struct step step = {
        .kernel = kernel_of_reads(machine->facts.kernels, SHAPE),
        .grid = (uint64_t)machine->facts.multiprocessors * BLOCKS_PER_SM,
        .block = BLOCK,
        .cluster = 1,
    };
    return machine_launch(machine, &step, arguments);
}

static bool machine_mark(struct machine *machine, enum timing_event timing_event)
{
    struct cuda_session *self = session_of(machine);
    return CUDA_TRY(machine->failure, cudaEventRecord, self->events[timing_event], self->stream);
}

static bool machine_elapsed(struct machine *machine, double *first_pass, double *seconds)
{
    struct cuda_session *self = session_of(machine);
    const cudaEvent_t *events = self->events;
    float first = 0, all = 0;
    if (!CUDA_TRY(machine->failure, cudaEventSynchronize, events[TIMING_END]) ||
        !CUDA_TRY(machine->failure, cudaEventElapsedTime, &all, events[TIMING_BEGIN],
                  events[TIMING_END]))
        return false;
    /* Without passes the event was not recorded. */
    if (cudaEventElapsedTime(&first, events[TIMING_BEGIN], events[TIMING_FIRST_PASS]) !=
        cudaSuccess)
        cudaGetLastError();
    *first_pass = 1e-3 * (double)first;
    *seconds = 1e-3 * (double)all;
    return true;
}

/* ---- copies into graphs ---- */

/* Passes the data as kernel arguments, which graphs store. */
static bool write_with_kernels(struct machine *machine, char *target, const char *source,
                               size_t bytes)
{
    const struct step step = {.kernel = kernel_of_kind(machine->facts.kernels, KERNEL_WRITE),
                              .grid = 1,
                              .block = WRITTEN_WORDS,
                              .cluster = 1};
    for (size_t at = 0; at < bytes; at += WRITTEN_WORDS * sizeof(uint64_t)) {
        struct written_words words;
        const size_t chunk = bytes - at < sizeof words ? bytes - at : sizeof words;
        unsigned count = (unsigned)(chunk / sizeof(uint64_t));
        void *to = target + at;
        void *arguments[] = {&words, &count, &to};
        memcpy(words.at, source + at, chunk);
        if (!machine_launch(machine, &step, arguments))
            return false;
    }
    return true;
}

static bool machine_copy(struct machine *machine, enum copy_kind kind, void *target,
                         const void *source, size_t bytes)
{
    if (kind == COPY_CAPTURABLE && session_of(machine)->capturing)
        return write_with_kernels(machine, target, source, bytes);
    return (kind == COPY_ON_DEVICE || !refuse_capture(machine)) &&
           copy_bytes(machine, kind, target, source, bytes);
}

static const struct machine_memory machine_memory = {
    .allocate = machine_allocate,
    .release = machine_release,
    .leave = machine_leave,
    .acquire = allocate_from_pool,
    .room = machine_room,
    .clear = machine_clear,
    .copy = machine_copy,
    .feed = machine_upload,
};

static const struct machine_work machine_work = {
    .run_ahead = machine_run_ahead,
    .launch = machine_launch,
    .reduce = machine_reduce,
    .wait = machine_wait,
    .progress = machine_progress,
    .flush = machine_flush,
    .mark = machine_mark,
    .elapsed = machine_elapsed,
};

void cuda_session_begin(struct cuda_session *self, struct run *run)
{
    struct machine *machine = &self->machine;
    machine->memory = &machine_memory;
    machine->work = &machine_work;
    self->kernels = kernels_cuda;
    if (run->substitute)
        self->kernels.flat = run->substitute->plain;
    machine->facts.kernels = &self->kernels;
    machine->facts.resident = machine_resident;
    machine->facts.device = machine;
    machine->failure = &run->failure;
    machine->mailbox = self->capturing ? NULL : &self->mailbox;
    machine->tickets = self->capturing ? NULL : self->workspace + WORKSPACE_BYTES;
    self->ahead = false;
}
