/* The CUDA backend: finds GPUs and the memory on them, and runs plans in the right order with other
 * streams' work. The caller's current device does not change. */
#define _GNU_SOURCE

#include "common/processor.h"
#include "cuda/session.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static void *create(void)
{
    struct cuda_state *state = calloc(1, sizeof *state);
    if (!state || !(state->threads = threads_create())) {
        free(state);
        return NULL;
    }
    pthread_mutex_init(&state->lock, NULL);
    state->instructions = instructions_available();
    return state;
}

/* CUDA cannot be used in a forked child. */
static void destroy(void *opaque)
{
    struct cuda_state *state = opaque;
    const bool usable = state->gpus.owner == process_id();
    for (int d = 0; d < CUDA_GPUS_MAX && usable; d++) {
        for (int which = 0; which < SHARED_STREAMS; which++)
            if (state->streams[d][which])
                cudaStreamDestroy(state->streams[d][which]);
        cuda_sessions_free(state, d);
    }
    threads_destroy(state->threads);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

/* ---- GPUs, and arrays on them ---- */

static int count(void *opaque, struct failure *failure)
{
    return cuda_gpus_count(&((struct cuda_state *)opaque)->gpus, failure);
}

static bool describe(int index, struct device *device)
{
    struct cudaDeviceProp properties;
    int kilohertz = 0;
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, index) != cudaSuccess)
        cudaGetLastError();
    enum { TRANSFERS_PER_CLOCK = 2, BITS_PER_BYTE = 8 };
    *device = (struct device){
        .units = (unsigned)properties.multiProcessorCount,
        .memory = properties.totalGlobalMem,
        .l2_cache = (uint64_t)properties.l2CacheSize,
        .bandwidth = (uint64_t)kilohertz * 1000 * TRANSFERS_PER_CLOCK *
                     (uint64_t)properties.memoryBusWidth / BITS_PER_BYTE,
        .capability = properties.major * 10 + properties.minor,
    };
    snprintf(device->name, sizeof device->name, "cuda:%d", index);
    snprintf(device->title, sizeof device->title, "%s", properties.name);
    return true;
}

static unsigned threads(void *state, unsigned most)
{
    return threads_set_limit(((struct cuda_state *)state)->threads, most);
}

static enum located locate(void *opaque, struct view *view, struct failure *failure)
{
    struct cuda_state *state = opaque;
    int devices;
    if (!cuda_gpus_require(&state->gpus, &devices, failure))
        return LOCATED_ERROR;
    view->platform = &backend_cuda.platform;
    view->device = 0;
    const bool located = view->n == 0 || cuda_pointer_locate(&state->pointers, view, failure);
    return located ? LOCATED_FOUND : LOCATED_ERROR;
}

/* ---- gred's own streams ---- */

static bool shared_stream(struct cuda_state *state, int device, enum shared_stream which,
                          uintptr_t *stream, struct failure *failure)
{
    int devices;
    if (!cuda_gpus_require(&state->gpus, &devices, failure))
        return false;
    if (device < 0 || device >= devices)
        return failure_record(failure, FAILURE_VALUE, "there is no GPU number %d; there are %d",
                              device, devices);
    _Atomic(cudaStream_t) *slot = &state->streams[device][which];
    if (!*slot) {
        struct cuda_saved_state saved;
        cudaStream_t created = NULL;
        if (!cuda_gpu_enter(&state->gpus, device, &saved, failure))
            return false;
        pthread_mutex_lock(&state->lock);
        if (!*slot && CUDA_TRY(failure, cudaStreamCreateWithFlags, &created, cudaStreamNonBlocking))
            *slot = created;
        pthread_mutex_unlock(&state->lock);
        if (!cuda_gpu_leave(device, &saved, failure))
            return false;
    }
    *stream = (uintptr_t)*slot;
    return *stream;
}

static bool consumer_stream(void *state, int device, uintptr_t *stream, struct failure *failure)
{
    return shared_stream(state, device, STREAM_PRODUCERS, stream, failure);
}

/* ---- memory for results ---- */

static bool allocate(void *opaque, struct device_memory *memory, struct failure *failure)
{
    struct cuda_state *state = opaque;
    struct cuda_saved_state saved;
    memory->stream.given = true;
    if (!shared_stream(state, memory->device, STREAM_MEMORY, &memory->stream.handle, failure) ||
        !cuda_gpu_enter(&state->gpus, memory->device, &saved, failure))
        return false;
    const bool allocated =
        cuda_pool_is_ready(state, memory->device, failure) &&
        CUDA_TRY(failure, cudaMallocFromPoolAsync, &memory->at, memory->bytes,
                 state->pools[memory->device], (cudaStream_t)memory->stream.handle);
    return cuda_gpu_leave(memory->device, &saved, failure) && allocated;
}

/* A no-op in a forked child. */
static void release(void *opaque, const struct device_memory *memory)
{
    struct cuda_state *state = opaque;
    struct failure ignored = {0};
    struct cuda_saved_state saved;
    if (!cuda_gpu_enter(&state->gpus, memory->device, &saved, &ignored))
        return;
    CUDA_TRY(&ignored, cudaFreeAsync, memory->at, (cudaStream_t)memory->stream.handle);
    cuda_gpu_leave(memory->device, &saved, &ignored);
}

static bool read_results(void *opaque, const struct device_memory *memory, void *target,
                         struct failure *failure)
{
    const cudaStream_t stream = (cudaStream_t)memory->stream.handle;
    struct cuda_state *state = opaque;
    struct cuda_saved_state saved;
    if (!cuda_gpu_enter(&state->gpus, memory->device, &saved, failure))
        return false;
    const bool done = cuda_check(failure,
                                 cudaMemcpyAsync(target, memory->at, memory->bytes,
                                                 cudaMemcpyDeviceToHost, stream),
                                 "cudaMemcpyAsync from the device") &&
                      CUDA_TRY(failure, cudaStreamSynchronize, stream);
    return cuda_gpu_leave(memory->device, &saved, failure) && done;
}

static bool order(void *opaque, int device, uintptr_t earlier, uintptr_t later,
                  struct failure *failure)
{
    struct cuda_state *state = opaque;
    struct cuda_saved_state saved;
    cudaEvent_t event = NULL;
    if (!cuda_gpu_enter(&state->gpus, device, &saved, failure))
        return false;
    const bool ordered =
        CUDA_TRY(failure, cudaEventCreateWithFlags, &event, cudaEventDisableTiming) &&
        CUDA_TRY(failure, cudaEventRecord, event, (cudaStream_t)earlier) &&
        CUDA_TRY(failure, cudaStreamWaitEvent, (cudaStream_t)later, event, 0);
    if (event)
        cudaEventDestroy(event);
    return cuda_gpu_leave(device, &saved, failure) && ordered;
}

/* ---- runs ---- */

/* Once per GPU. */
static bool warn_about_jit(struct cuda_state *state, const struct cuda_session *session,
                           struct run *run)
{
    const int capability = session->machine.facts.capability;
    char text[320];
    if (session->machine_code || atomic_flag_test_and_set(&state->warned[session->device]))
        return true;
    snprintf(text, sizeof text,
             "gred was installed without machine code for this GPU (compute capability %d.%d): the "
             "driver compiles each kernel from PTX on its first call, which takes seconds, and "
             "caches it; install with GRED_CUDA_ARCHS=%d to avoid this",
             capability / 10, capability % 10, capability);
    return run_warn(run, text);
}

static bool run_on_current_device(struct cuda_state *state, int device, const struct plan *plan,
                                  struct run *run)
{
    cudaStream_t stream = NULL;
    bool capturing = false;
    if (plan && !cuda_stream_choose(plan, run, &stream, &capturing))
        return false;
    struct cuda_session *session = cuda_session_acquire(state, device, stream, capturing, run);
    if (!session)
        return false;
    const bool ran =
        warn_about_jit(state, session, run) &&
        (!plan || cuda_wait_for_producers(session, &plan->streams)) &&
        execute(&session->machine, plan, run) &&
        (!plan || !plan->results.on_device || cuda_make_producers_wait(session, &plan->streams));
    cuda_session_release(session, ran);
    return ran && run->failure.kind == FAILURE_NONE;
}

static bool run(void *opaque, const struct plan *plan, struct run *run)
{
    struct cuda_state *state = opaque;
    struct failure *failure = &run->failure;
    const int device = plan ? plan->device : run->timing->device;
    struct cuda_saved_state saved;
    if (!cuda_gpu_enter(&state->gpus, device, &saved, failure))
        return false;
    const bool ran = run_on_current_device(state, device, plan, run);
    return cuda_gpu_leave(device, &saved, failure) && ran;
}

const struct backend backend_cuda = {
    .platform = {.name = "cuda",
                 .place = METHOD_ON_CUDA,
                 .numbered = true,
                 .automatic = METHOD_last_block,
                 .count = count,
                 .locate = locate,
                 .consumer_stream = consumer_stream,
                 .allocate = allocate,
                 .release = release,
                 .read = read_results,
                 .order = order},
    .uses_workspace = true,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .threads = threads,
    .run = run,
};
