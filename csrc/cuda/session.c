#define _GNU_SOURCE

#include "cuda/session.h"

#include <stdlib.h>
#include <unistd.h>

enum { SCRATCH_L2_TIMES = 3 };

/* Memory that the pool keeps between runs, so that small workspaces cost no call to the driver. */
static const uint64_t pool_keeps_bytes = 64 << 20;

bool cuda_check(struct failure *failure, cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return true;
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        failure_note(failure, FAILURE_MEMORY, "%s: %s (%s)", call, cudaGetErrorString(error),
                     cudaGetErrorName(error));
    else
        failure_note_cuda(failure, call, cudaGetErrorName(error), cudaGetErrorString(error));
    return false;
}

static bool make_pool(struct failure *failure, int device, cudaMemPool_t *pool)
{
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = device},
    };
    uint64_t keeps = pool_keeps_bytes;
    return cuda_check(failure, cudaMemPoolCreate(pool, &properties), "cudaMemPoolCreate") &&
           cuda_check(failure,
                      cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keeps),
                      "cudaMemPoolSetAttribute");
}

void cuda_staging_free(struct cuda_staging *staging)
{
    if (!staging)
        return;
    for (int k = 0; k < CUDA_STAGES; k++) {
        if (staging->copied[k])
            cudaEventDestroy(staging->copied[k]);
        if (staging->buffers[k])
            cudaFreeHost(staging->buffers[k]);
    }
    free(staging);
}

void cuda_session_free(struct cuda_session *self)
{
    for (int e = 0; e < MOMENTS; e++)
        if (self->events[e])
            cudaEventDestroy(self->events[e]);
    if (self->order)
        cudaEventDestroy(self->order);
    if (self->own_stream)
        cudaStreamDestroy(self->own_stream);
    cuda_staging_free(self->staging);
    free(self);
}

static bool make_events(struct cuda_session *self, struct failure *failure)
{
    for (int e = 0; e < MOMENTS; e++)
        if (!cuda_check(failure, cudaEventCreate(&self->events[e]), "cudaEventCreate"))
            return false;
    return cuda_check(failure, cudaEventCreateWithFlags(&self->order, cudaEventDisableTiming),
                      "cudaEventCreateWithFlags");
}

static struct cuda_session *session_new(struct cuda_state *state, int device,
                                        struct failure *failure)
{
    struct cuda_session *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(failure, FAILURE_MEMORY, "out of memory for a CUDA session");
        return NULL;
    }
    int multiprocessors = 0, l2_bytes = 0;
    if (!cuda_check(failure, cudaStreamCreateWithFlags(&self->own_stream, cudaStreamNonBlocking),
                    "cudaStreamCreateWithFlags") ||
        !cuda_check(
            failure,
            cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute") ||
        !cuda_check(failure, cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device),
                    "cudaDeviceGetAttribute") ||
        !make_events(self, failure)) {
        cuda_session_free(self);
        return NULL;
    }
    self->device = device;
    self->threads = state->maker == getpid();
    self->pool = state->pools[device];
    self->scratch_bytes = SCRATCH_L2_TIMES * (size_t)l2_bytes;
    cuda_machine_init(&self->machine, (unsigned)multiprocessors);
    return self;
}

struct cuda_session *cuda_session_borrow(struct cuda_state *state, int device,
                                         struct failure *failure)
{
    pthread_mutex_lock(&state->lock);
    struct cuda_session *session = state->idle[device];
    bool ready = true;
    if (session)
        state->idle[device] = session->next;
    else if (!state->pools[device])
        ready = make_pool(failure, device, &state->pools[device]);
    pthread_mutex_unlock(&state->lock);
    if (!ready)
        return NULL;
    return session ? session : session_new(state, device, failure);
}

/* Whether nothing is being copied from the buffers any more. */
static bool is_staging_idle(const struct cuda_staging *staging)
{
    bool idle = true;
    for (int k = 0; k < CUDA_STAGES; k++)
        idle &= cudaEventQuery(staging->copied[k]) == cudaSuccess;
    if (!idle)
        cudaGetLastError();
    return idle;
}

/* Scratch memory goes back to the pool, so that an idle session holds none of the device's; the
 * staging buffers of all idle sessions but one are freed, unless they are still in use. */
void cuda_session_return(struct cuda_state *state, struct cuda_session *session)
{
    struct machine *machine = &session->machine;
    machine->release(machine, session->scratch);
    machine->release(machine, session->library_workspace);
    session->scratch = session->library_workspace = NULL;
    session->library_workspace_bytes = 0;
    struct cuda_staging *surplus = NULL;
    const bool spare = session->staging && is_staging_idle(session->staging);
    pthread_mutex_lock(&state->lock);
    struct cuda_session *first = state->idle[session->device];
    if (spare && first && first->staging) {
        surplus = session->staging;
        session->staging = NULL;
    }
    if (first && first->staging) { /* the next run, whoever it is, shall find the buffers */
        session->next = first->next;
        first->next = session;
    } else {
        session->next = first;
        state->idle[session->device] = session;
    }
    pthread_mutex_unlock(&state->lock);
    cuda_staging_free(surplus);
}

bool cuda_session_order(struct cuda_session *self, cudaStream_t earlier, cudaStream_t later)
{
    struct failure *failure = self->machine.failure;
    return earlier == later ||
           (cuda_check(failure, cudaEventRecord(self->order, earlier), "cudaEventRecord") &&
            cuda_check(failure, cudaStreamWaitEvent(later, self->order, 0), "cudaStreamWaitEvent"));
}
