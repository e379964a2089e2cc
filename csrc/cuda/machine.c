/* A machine for passes.c on top of the CUDA runtime. Memory comes from a pool of gred's own, in
 * stream order: other libraries' pools stay as they were. */
#include "cuda/session.h"

#include "run/gather.h"

#include <stdlib.h>
#include <string.h>

static struct cuda_session *session_of(struct machine *machine)
{
    return (struct cuda_session *)machine;
}

static bool machine_allocate(struct machine *machine, size_t bytes, void **memory)
{
    struct cuda_session *self = session_of(machine);
    return cuda_check(machine->failure,
                      cudaMallocFromPoolAsync(memory, bytes ? bytes : 1, self->pool, self->stream),
                      "cudaMallocFromPoolAsync");
}

static void machine_release(struct machine *machine, void *memory)
{
    if (memory)
        cuda_check(machine->failure, cudaFreeAsync(memory, session_of(machine)->stream),
                   "cudaFreeAsync");
}

static bool machine_copy_in(struct machine *machine, void *target, const void *layout, size_t bytes)
{
    return cuda_check(
        machine->failure,
        cudaMemcpyAsync(target, layout, bytes, cudaMemcpyHostToDevice, session_of(machine)->stream),
        "cudaMemcpyAsync to the device");
}

static bool machine_copy_out(struct machine *machine, void *target, const void *layout,
                             size_t bytes)
{
    struct cuda_session *self = session_of(machine);
    return cuda_check(machine->failure,
                      cudaMemcpyAsync(target, layout, bytes, cudaMemcpyDeviceToHost, self->stream),
                      "cudaMemcpyAsync from the device") &&
           cuda_check(machine->failure, cudaStreamSynchronize(self->stream),
                      "cudaStreamSynchronize");
}

static bool machine_copy_within(struct machine *machine, void *target, const void *layout,
                                size_t bytes)
{
    return cuda_check(machine->failure,
                      cudaMemcpyAsync(target, layout, bytes, cudaMemcpyDeviceToDevice,
                                      session_of(machine)->stream),
                      "cudaMemcpyAsync within the device");
}

/* Where a run needs much, the device is asked how much is free; a share of that is left to others.
 */
static size_t machine_room(struct machine *machine, size_t bytes)
{
    const size_t little = (size_t)256 << 20;
    size_t available = 0, total = 0;
    (void)machine;
    if (bytes <= little)
        return bytes;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) {
        cudaGetLastError();
        return bytes;
    }
    const size_t share = available - available / 8;
    return bytes < share ? bytes : share > little ? share : little;
}

/* ---- host memory, by way of page-locked buffers ---- */

static bool fill_staging(struct cuda_staging *staging, struct failure *failure)
{
    staging->bytes = (size_t)8 << 20;
    for (int k = 0; k < CUDA_STAGES; k++)
        if (!cuda_check(failure,
                        cudaHostAlloc(&staging->buffers[k], staging->bytes, cudaHostAllocPortable),
                        "cudaHostAlloc") ||
            !cuda_check(failure,
                        cudaEventCreateWithFlags(&staging->copied[k], cudaEventDisableTiming),
                        "cudaEventCreateWithFlags"))
            return false;
    return true;
}

static bool make_staging(struct cuda_session *self)
{
    struct failure *failure = self->machine.failure;
    if (self->staging)
        return true;
    struct cuda_staging *staging = calloc(1, sizeof *staging);
    if (!staging) {
        failure_note(failure, FAILURE_MEMORY, "out of memory for buffers");
        return false;
    }
    if (!fill_staging(staging, failure)) {
        cuda_staging_free(staging);
        return false;
    }
    self->staging = staging;
    return true;
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
static bool feed_stage(struct cuda_session *self, unsigned k, void *target,
                       const struct layout *layout, uint64_t start, uint64_t length, uint64_t *fed)
{
    struct failure *failure = self->machine.failure;
    struct cuda_staging *staging = self->staging;
    if (!cuda_check(failure, cudaEventSynchronize(staging->copied[k]), "cudaEventSynchronize"))
        return false;
    *fed = self->threads ? gather_by_all(layout, start, length, staging->buffers[k])
                         : gather_unconverted(layout, start, length, staging->buffers[k]);
    const size_t bytes = *fed * element_size(layout->input);
    return cuda_check(failure,
                      cudaMemcpyAsync(target, staging->buffers[k], bytes, cudaMemcpyHostToDevice,
                                      self->stream),
                      "cudaMemcpyAsync to the device") &&
           cuda_check(failure, cudaEventRecord(staging->copied[k], self->stream),
                      "cudaEventRecord");
}

enum { FEW_BYTES = 1 << 15 };

/* A few flat elements are not worth the detour. They go by way of the stack, which CUDA has to copy
 * before it returns; the caller's memory may be page-locked, and would be read some time later. */
static bool feed_few(struct machine *machine, void *target, const void *layout, size_t bytes)
{
    char few[FEW_BYTES];
    memcpy(few, layout, bytes);
    return machine_copy_in(machine, target, few, bytes);
}

static bool machine_feed(struct machine *machine, void *target, const struct layout *layout,
                         uint64_t start, uint64_t length, uint64_t *fed)
{
    struct cuda_session *self = session_of(machine);
    const size_t size = element_size(layout->input);
    *fed = length;
    if (length * size <= FEW_BYTES && layout_is_flat(layout))
        return feed_few(machine, target, (const char *)layout->data + start * size, length * size);
    if (!make_staging(self))
        return false;
    const uint64_t stage = self->staging->bytes / size;
    *fed = 0;
    for (uint64_t at = 0, k = 0; at < length; at += stage, k = (k + 1) % CUDA_STAGES) {
        uint64_t staged;
        if (!feed_stage(self, (unsigned)k, (char *)target + *fed * size, layout, start + at,
                        length - at < stage ? length - at : stage, &staged))
            return false;
        *fed += staged;
    }
    return true;
}

/* ---- kernels ---- */

static bool machine_launch(struct machine *machine, const struct launch *launch)
{
    const dim3 grid = {(unsigned)launch->grid, 1, 1}, block = {launch->block, 1, 1};
    const cudaStream_t stream = session_of(machine)->stream;
    if (launch->cooperative)
        return cuda_check(machine->failure,
                          cudaLaunchCooperativeKernel(launch->kernel, grid, block,
                                                      launch->arguments, launch->shared_bytes,
                                                      stream),
                          "cudaLaunchCooperativeKernel");
    return cuda_check(machine->failure,
                      cudaLaunchKernel(launch->kernel, grid, block, launch->arguments,
                                       launch->shared_bytes, stream),
                      "cudaLaunchKernel");
}

static bool machine_resident(struct machine *machine, const void *kernel, unsigned block,
                             size_t shared_bytes, unsigned *blocks)
{
    int resident = 0;
    if (!cuda_check(machine->failure,
                    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, (int)block,
                                                                  shared_bytes),
                    "cudaOccupancyMaxActiveBlocksPerMultiprocessor"))
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
    if (bytes > self->library_workspace_bytes) {
        machine_release(machine, self->library_workspace);
        self->library_workspace = NULL;
        self->library_workspace_bytes = 0;
        if (!machine_allocate(machine, bytes, &self->library_workspace))
            return false;
        self->library_workspace_bytes = bytes;
    }
    return cuda_check(
        machine->failure,
        reduce(self->library_workspace, &bytes, data, result, (int64_t)n, self->stream),
        "cub::DeviceReduce");
}

/* Memory to flush the L2 cache with, larger than the cache. */
static bool allocate_scratch(struct cuda_session *self)
{
    enum { ANY_BYTE = 0x5a };
    return machine_allocate(&self->machine, self->scratch_bytes, &self->scratch) &&
           cuda_check(self->machine.failure,
                      cudaMemsetAsync(self->scratch, ANY_BYTE, self->scratch_bytes, self->stream),
                      "cudaMemsetAsync");
}

/* Reads scratch memory, so that the cache is full of that. Overwriting it would do, too, but the
 * cache would then be busy writing it back while the next kernel is timed. */
static bool machine_flush(struct machine *machine)
{
    enum { SHAPE = 1, BLOCK = 512, BLOCKS_A_MULTIPROCESSOR = 2, PACK_BYTES = 16 };
    struct cuda_session *self = session_of(machine);
    if (!self->scratch && !allocate_scratch(self))
        return false;
    uint64_t packs = self->scratch_bytes / PACK_BYTES;
    void *arguments[] = {&self->scratch, &packs, &self->scratch};
    const struct launch launch = {
        .kernel = machine->kernels->read(SHAPE),
        .arguments = arguments,
        .grid = (uint64_t)machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR,
        .block = BLOCK,
    };
    return machine_launch(machine, &launch);
}

static bool machine_mark(struct machine *machine, enum moment moment)
{
    struct cuda_session *self = session_of(machine);
    return cuda_check(machine->failure, cudaEventRecord(self->events[moment], self->stream),
                      "cudaEventRecord");
}

static bool machine_elapsed(struct machine *machine, double *first_pass, double *seconds)
{
    struct cuda_session *self = session_of(machine);
    const cudaEvent_t *events = self->events;
    float first = 0, all = 0;
    if (!cuda_check(machine->failure, cudaEventSynchronize(events[MOMENT_END]),
                    "cudaEventSynchronize") ||
        !cuda_check(machine->failure,
                    cudaEventElapsedTime(&all, events[MOMENT_BEGIN], events[MOMENT_END]),
                    "cudaEventElapsedTime"))
        return false;
    /* Without a pass there was no first one. */
    if (cudaEventElapsedTime(&first, events[MOMENT_BEGIN], events[MOMENT_FIRST_PASS]) !=
        cudaSuccess)
        cudaGetLastError();
    *first_pass = 1e-3 * (double)first;
    *seconds = 1e-3 * (double)all;
    return true;
}

void cuda_machine_init(struct machine *machine, unsigned multiprocessors)
{
    *machine = (struct machine){
        .multiprocessors = multiprocessors,
        .kernels = &kernels_cuda,
        .allocate = machine_allocate,
        .release = machine_release,
        .room = machine_room,
        .copy_in = machine_copy_in,
        .copy_out = machine_copy_out,
        .copy_within = machine_copy_within,
        .feed = machine_feed,
        .launch = machine_launch,
        .resident = machine_resident,
        .reduce = machine_reduce,
        .flush = machine_flush,
        .mark = machine_mark,
        .elapsed = machine_elapsed,
    };
}
