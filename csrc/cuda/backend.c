/* The CUDA backend: finds GPUs and what lies on them, and runs plans there in the right order with
 * other streams' work. The caller's current device stays as it was. */
#define _GNU_SOURCE

#include "cuda/backend.h"

#include "cuda/session.h"

#include "arrays/stream_handle.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *create(void)
{
    struct cuda_state *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    pthread_mutex_init(&state->lock, NULL);
    state->maker = getpid();
    return state;
}

/* At the interpreter's end the driver may be gone already: whatever these calls say then is of no
 * use to anybody. In a forked child nothing of CUDA is there. */
static void destroy(void *opaque)
{
    struct cuda_state *state = opaque;
    for (int d = 0; d < CUDA_DEVICES_MAX && state->user == getpid(); d++) {
        while (state->idle[d]) {
            struct cuda_session *session = state->idle[d];
            state->idle[d] = session->next;
            cuda_session_free(session);
        }
        if (state->handshakes[d])
            cudaStreamDestroy(state->handshakes[d]);
        if (state->pools[d])
            cudaMemPoolDestroy(state->pools[d]);
    }
    pthread_mutex_destroy(&state->lock);
    free(state);
}

/* ---- which GPUs there are ---- */

/* CUDA does not survive a fork, and some of its calls hang in the child: it is asked nothing there
 * once the parent has used it. */
static bool lost_in_fork(struct cuda_state *state, struct failure *failure)
{
    const pid_t here = getpid();
    pid_t nobody = 0;
    if (__atomic_compare_exchange_n(&state->user, &nobody, here, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST) ||
        nobody == here)
        return false;
    failure_note_cuda(failure, "fork", "cudaErrorInitializationError",
                      "this process was forked from one that had used CUDA, which does not survive "
                      "a fork; start processes by 'spawn' or 'forkserver', or use device='host'");
    return true;
}

static int count(void *opaque, struct failure *failure)
{
    struct cuda_state *state = opaque;
    int devices = 0;
    if (!state->absent && lost_in_fork(state, failure))
        return -1;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
        cudaGetLastError();
        state->absent = true;
        failure_note(failure, FAILURE_RUNTIME, "%s", cudaGetErrorString(error));
        return 0;
    }
    if (!cuda_check(failure, error, "cudaGetDeviceCount"))
        return -1;
    if (devices == 0)
        failure_note(failure, FAILURE_RUNTIME, "the driver sees none");
    return devices < CUDA_DEVICES_MAX ? devices : CUDA_DEVICES_MAX;
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
    enum { TRANSFERS_A_CLOCK = 2, BITS_A_BYTE = 8 };
    *device = (struct device){
        .units = (unsigned)properties.multiProcessorCount,
        .memory = properties.totalGlobalMem,
        .l2_cache = (uint64_t)properties.l2CacheSize,
        .bandwidth = (uint64_t)kilohertz * 1000 * TRANSFERS_A_CLOCK *
                     (uint64_t)properties.memoryBusWidth / BITS_A_BYTE,
        .capability = properties.major * 10 + properties.minor,
    };
    snprintf(device->name, sizeof device->name, "cuda:%d", index);
    snprintf(device->title, sizeof device->title, "%s", properties.name);
    return true;
}

/* ---- where memory lies ---- */

typedef CUresult get_address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address);

/* The driver's own function, which the runtime has no name for; NULL if it cannot be had. */
static get_address_range *find_get_address_range(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000,
                                         cudaEnableDefault, &found) != cudaSuccess)
        cudaGetLastError();
    return (get_address_range *)function;
}

/* Whether allocations follow one another from the first to the last byte. One array may span
 * several, where a library maps memory piece by piece. */
static bool is_allocated(const void *first, uint64_t bytes)
{
    get_address_range *get_range = find_get_address_range();
    CUdeviceptr at = (CUdeviceptr)first;
    const CUdeviceptr end = at + bytes;
    while (get_range && at < end) {
        CUdeviceptr base = 0;
        size_t length = 0;
        if (get_range(&base, &length, at) != CUDA_SUCCESS || base + length <= at)
            return false;
        at = base + length;
    }
    return true;
}

/* Whether page-locked memory goes on from the first to the last byte, as the GPU sees it. */
static bool is_page_locked(const struct cudaPointerAttributes *first, const char *data,
                           uint64_t bytes)
{
    struct cudaPointerAttributes last;
    if (cudaPointerGetAttributes(&last, data + bytes - 1) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    return first->devicePointer && last.type == cudaMemoryTypeHost &&
           (const char *)last.devicePointer - (const char *)first->devicePointer ==
               (ptrdiff_t)(bytes - 1);
}

/* Managed and page-locked memory may belong to no GPU: the current one can reach it. */
static bool reachable_from(const struct cudaPointerAttributes *attributes, int *device,
                           struct failure *failure)
{
    *device = attributes->device;
    if (attributes->device >= 0 && attributes->type == cudaMemoryTypeDevice)
        return true;
    return attributes->device >= 0 || cuda_check(failure, cudaGetDevice(device), "cudaGetDevice");
}

static enum located locate_array(struct view *view, struct failure *failure)
{
    const struct extent extent = layout_extent(&view->layout);
    const void *first = (const void *)extent.first;
    struct cudaPointerAttributes attributes;
    if (!cuda_check(failure, cudaPointerGetAttributes(&attributes, first),
                    "cudaPointerGetAttributes"))
        return LOCATED_NOWHERE;
    if (attributes.type == cudaMemoryTypeUnregistered) {
        failure_note(failure, FAILURE_VALUE, "%p is not a pointer to memory that a GPU can read",
                     view->layout.data);
        return LOCATED_NOWHERE;
    }
    if (attributes.type == cudaMemoryTypeHost ? !is_page_locked(&attributes, first, extent.bytes)
                                              : !is_allocated(first, extent.bytes)) {
        failure_note(failure, FAILURE_VALUE,
                     "the %llu bytes from %p on are not all in memory that was allocated",
                     (unsigned long long)extent.bytes, first);
        return LOCATED_NOWHERE;
    }
    /* Page-locked memory may have another address on the GPU. */
    const uintptr_t offset = (uintptr_t)view->layout.data - extent.first;
    view->layout.data = (const char *)attributes.devicePointer + offset;
    return reachable_from(&attributes, &view->device, failure) ? LOCATED_HERE : LOCATED_NOWHERE;
}

/* How many GPUs there are for an array that lies on one. */
static bool find_gpus(void *state, int *devices, struct failure *failure)
{
    struct failure why = {0};
    *devices = count(state, &why);
    if (*devices < 0)
        *failure = why;
    if (*devices == 0)
        failure_note(failure, FAILURE_RUNTIME,
                     "the array lies on a GPU, and there is no GPU to use (%.300s)", why.text);
    return *devices > 0;
}

static enum located locate(void *state, struct view *view, struct failure *failure)
{
    int devices;
    if (!find_gpus(state, &devices, failure))
        return LOCATED_NOWHERE;
    view->platform = &backend_cuda.platform;
    view->device = 0;
    return view->n ? locate_array(view, failure) : LOCATED_HERE;
}

/* ---- runs ---- */

/* Makes a device current and, afterwards, the one that was. */
static bool enter_device(int device, int *previous, struct failure *failure)
{
    return cuda_check(failure, cudaGetDevice(previous), "cudaGetDevice") &&
           (*previous == device || cuda_check(failure, cudaSetDevice(device), "cudaSetDevice"));
}

static bool leave_device(int device, int previous, struct failure *failure)
{
    return previous == device || cuda_check(failure, cudaSetDevice(previous), "cudaSetDevice");
}

/* A stream that does nothing but wait for producers, shared by all threads. */
static bool handshake(void *opaque, int device, uintptr_t *stream, struct failure *failure)
{
    struct cuda_state *state = opaque;
    int devices;
    if (!find_gpus(state, &devices, failure))
        return false;
    if (device < 0 || device >= devices) {
        failure_note(failure, FAILURE_VALUE, "there is no GPU number %d; there are %d", device,
                     devices);
        return false;
    }
    int previous = 0;
    if (!enter_device(device, &previous, failure))
        return false;
    pthread_mutex_lock(&state->lock);
    const bool made =
        state->handshakes[device] ||
        cuda_check(failure,
                   cudaStreamCreateWithFlags(&state->handshakes[device], cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags");
    *stream = (uintptr_t)state->handshakes[device];
    pthread_mutex_unlock(&state->lock);
    return leave_device(device, previous, failure) && made;
}

struct job {
    struct cuda_state *state;
    int device;
    const struct plan *plan; /* NULL: read `bytes` */
    size_t bytes;
    struct run *run;
};

enum { PRODUCERS = sizeof((struct plan *)0)->producers / sizeof(struct stream) };

static bool check_streams(const struct plan *plan, struct failure *failure)
{
    for (int k = 0; k <= PRODUCERS; k++) {
        const struct stream *stream = k < PRODUCERS ? &plan->producers[k] : &plan->consumer;
        if (stream->given && !stream_is_readable(stream->handle)) {
            failure_note(failure, FAILURE_VALUE, "stream %#llx is no handle of a stream",
                         (unsigned long long)stream->handle);
            return false;
        }
    }
    return true;
}

/* Producers' work comes first. */
static bool order_before(struct cuda_session *session, const struct plan *plan)
{
    for (int k = 0; k < PRODUCERS; k++)
        if (plan->producers[k].given &&
            !cuda_session_order(session, (cudaStream_t)plan->producers[k].handle, session->stream))
            return false;
    return true;
}

/* Where nobody waits, what producers do next, such as freeing or filling their memory again, comes
 * after what is under way here. A producer whose own stream is not known has to be waited for. */
static bool order_after(struct cuda_session *session, const struct plan *plan)
{
    bool ordered = true;
    for (int k = 0; k < PRODUCERS && ordered; k++) {
        const struct stream *producer = &plan->producers[k];
        if (producer->passing)
            ordered = cuda_check(session->machine.failure, cudaStreamSynchronize(session->stream),
                                 "cudaStreamSynchronize");
        else if (producer->given)
            ordered = cuda_session_order(session, session->stream, (cudaStream_t)producer->handle);
    }
    return ordered;
}

static bool run_plan(struct cuda_session *session, const struct plan *plan, struct run *run)
{
    return order_before(session, plan) && passes_run(&session->machine, plan, run) &&
           (!plan->out || order_after(session, plan));
}

static bool run_on_current_device(const struct job *job)
{
    const struct plan *plan = job->plan;
    struct cuda_session *session = cuda_session_borrow(job->state, job->device, &job->run->failure);
    if (!session)
        return false;
    session->machine.failure = &job->run->failure;
    session->stream =
        plan && plan->consumer.given ? (cudaStream_t)plan->consumer.handle : session->own_stream;
    const bool ran = plan ? run_plan(session, plan, job->run)
                          : passes_read(&session->machine, job->bytes, job->run);
    /* A copy from the caller's memory may be under way. What goes wrong now is a consequence. */
    if (!ran && cudaStreamSynchronize(session->stream) != cudaSuccess)
        cudaGetLastError();
    cuda_session_return(job->state, session);
    return ran && job->run->failure.kind == FAILURE_NONE;
}

static bool run_job(const struct job *job)
{
    struct failure *failure = &job->run->failure;
    int previous = 0;
    if (lost_in_fork(job->state, failure) || (job->plan && !check_streams(job->plan, failure)) ||
        !enter_device(job->device, &previous, failure))
        return false;
    const bool ran = run_on_current_device(job);
    return leave_device(job->device, previous, failure) && ran;
}

static bool run(void *state, const struct plan *plan, struct run *run)
{
    return run_job(&(struct job){.state = state, .device = plan->device, .plan = plan, .run = run});
}

static bool read_memory(void *state, int index, size_t bytes, struct run *run)
{
    return run_job(&(struct job){.state = state, .device = index, .bytes = bytes, .run = run});
}

const struct backend backend_cuda = {
    .platform = {.name = "cuda",
                 .place = METHOD_ON_CUDA,
                 .numbered = true,
                 .automatic = METHOD_last_block,
                 .count = count,
                 .locate = locate,
                 .handshake = handshake},
    .takes_workspace = true,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .run = run,
    .read = read_memory,
};
