/* The CUDA backend: a machine for passes.c on top of the CUDA runtime.
 *
 * A run borrows a session, a stream with its events, from its device's list and gives it back.
 * Memory comes from a pool of gred's own, in stream order: other libraries' pools and the caller's
 * current device stay as they were. */
#include "passes.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES_MAX = 64, SCRATCH_L2_TIMES = 3 };

/* Memory that the pool keeps between runs, so that small workspaces cost no call to the driver. */
static const uint64_t pool_keeps_bytes = 64 << 20;

struct session {
    struct machine machine; /* first, so that a machine is a session */
    struct session *next;
    int device;
    cudaMemPool_t pool;
    cudaStream_t own_stream, stream; /* its own, and the one in use */
    cudaEvent_t events[MOMENTS];
    void *scratch; /* what a flush reads */
    size_t scratch_bytes;
    void *library_workspace;
    size_t library_workspace_bytes;
};

struct state {
    pthread_mutex_t lock;
    cudaMemPool_t pools[DEVICES_MAX];
    struct session *idle[DEVICES_MAX];
};

static bool check(struct failure *failure, cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return true;
    cudaGetLastError();
    failure_note(failure, error == cudaErrorMemoryAllocation ? FAILURE_MEMORY : FAILURE_RUNTIME,
                 "%s: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
    return false;
}

/* ---- the machine ---- */

static struct session *session_of(struct machine *machine)
{
    return (struct session *)machine;
}

static bool machine_allocate(struct machine *machine, size_t bytes, void **memory)
{
    struct session *self = session_of(machine);
    return check(machine->failure,
                 cudaMallocFromPoolAsync(memory, bytes ? bytes : 1, self->pool, self->stream),
                 "cudaMallocFromPoolAsync");
}

static void machine_release(struct machine *machine, void *memory)
{
    if (memory)
        check(machine->failure, cudaFreeAsync(memory, session_of(machine)->stream),
              "cudaFreeAsync");
}

static bool machine_copy_in(struct machine *machine, void *target, const void *source, size_t bytes)
{
    return check(
        machine->failure,
        cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, session_of(machine)->stream),
        "cudaMemcpyAsync to the device");
}

static bool machine_copy_out(struct machine *machine, void *target, const void *source,
                             size_t bytes)
{
    struct session *self = session_of(machine);
    return check(machine->failure,
                 cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, self->stream),
                 "cudaMemcpyAsync from the device") &&
           check(machine->failure, cudaStreamSynchronize(self->stream), "cudaStreamSynchronize");
}

static bool machine_launch(struct machine *machine, const struct launch *launch)
{
    const dim3 grid = {(unsigned)launch->grid, 1, 1}, block = {launch->block, 1, 1};
    const cudaStream_t stream = session_of(machine)->stream;
    if (launch->cooperative)
        return check(machine->failure,
                     cudaLaunchCooperativeKernel(launch->kernel, grid, block, launch->arguments,
                                                 launch->shared_bytes, stream),
                     "cudaLaunchCooperativeKernel");
    return check(machine->failure,
                 cudaLaunchKernel(launch->kernel, grid, block, launch->arguments,
                                  launch->shared_bytes, stream),
                 "cudaLaunchKernel");
}

static bool machine_resident(struct machine *machine, const void *kernel, unsigned block,
                             size_t shared_bytes, unsigned *blocks)
{
    int resident = 0;
    if (!check(machine->failure,
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
    struct session *self = session_of(machine);
    size_t bytes = 0;
    if (!check(machine->failure, reduce(NULL, &bytes, data, result, (int64_t)n, self->stream),
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
    return check(machine->failure,
                 reduce(self->library_workspace, &bytes, data, result, (int64_t)n, self->stream),
                 "cub::DeviceReduce");
}

/* Memory to flush the L2 cache with, larger than the cache. */
static bool allocate_scratch(struct session *self)
{
    enum { ANY_BYTE = 0x5a };
    return machine_allocate(&self->machine, self->scratch_bytes, &self->scratch) &&
           check(self->machine.failure,
                 cudaMemsetAsync(self->scratch, ANY_BYTE, self->scratch_bytes, self->stream),
                 "cudaMemsetAsync");
}

/* Reads scratch memory, so that the cache is full of that. Overwriting it would do, too, but the
 * cache would then be busy writing it back while the next kernel is timed. */
static bool machine_flush(struct machine *machine)
{
    enum { SHAPE = 1, BLOCK = 512, BLOCKS_A_MULTIPROCESSOR = 2, PACK_BYTES = 16 };
    struct session *self = session_of(machine);
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
    struct session *self = session_of(machine);
    return check(machine->failure, cudaEventRecord(self->events[moment], self->stream),
                 "cudaEventRecord");
}

static bool machine_elapsed(struct machine *machine, double *first_pass, double *seconds)
{
    struct session *self = session_of(machine);
    const cudaEvent_t *events = self->events;
    float first = 0, all = 0;
    if (!check(machine->failure, cudaEventSynchronize(events[MOMENT_END]),
               "cudaEventSynchronize") ||
        !check(machine->failure,
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

/* ---- sessions ---- */

static bool make_pool(struct failure *failure, int device, cudaMemPool_t *pool)
{
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = device},
    };
    uint64_t keeps = pool_keeps_bytes;
    return check(failure, cudaMemPoolCreate(pool, &properties), "cudaMemPoolCreate") &&
           check(failure, cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keeps),
                 "cudaMemPoolSetAttribute");
}

static void session_free(struct session *self)
{
    for (int e = 0; e < MOMENTS; e++)
        if (self->events[e])
            cudaEventDestroy(self->events[e]);
    if (self->own_stream)
        cudaStreamDestroy(self->own_stream);
    free(self);
}

static struct session *session_new(struct state *state, int device, struct failure *failure)
{
    struct session *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(failure, FAILURE_MEMORY, "out of memory for a CUDA session");
        return NULL;
    }
    int multiprocessors = 0, l2_bytes = 0;
    bool made =
        check(failure, cudaStreamCreateWithFlags(&self->own_stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags") &&
        check(failure,
              cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
              "cudaDeviceGetAttribute") &&
        check(failure, cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device),
              "cudaDeviceGetAttribute");
    for (int e = 0; e < MOMENTS && made; e++)
        made = check(failure, cudaEventCreate(&self->events[e]), "cudaEventCreate");
    if (!made) {
        session_free(self);
        return NULL;
    }
    self->device = device;
    self->pool = state->pools[device];
    self->scratch_bytes = SCRATCH_L2_TIMES * (size_t)l2_bytes;
    self->machine = (struct machine){
        .multiprocessors = (unsigned)multiprocessors,
        .kernels = &kernels_cuda,
        .allocate = machine_allocate,
        .release = machine_release,
        .copy_in = machine_copy_in,
        .copy_out = machine_copy_out,
        .launch = machine_launch,
        .resident = machine_resident,
        .reduce = machine_reduce,
        .flush = machine_flush,
        .mark = machine_mark,
        .elapsed = machine_elapsed,
    };
    return self;
}

/* An idle session of the device, which is current, or a new one. */
static struct session *session_borrow(struct state *state, int device, struct failure *failure)
{
    pthread_mutex_lock(&state->lock);
    struct session *session = state->idle[device];
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

/* Scratch memory goes back to the pool, so that an idle session holds none. */
static void session_return(struct state *state, struct session *session)
{
    machine_release(&session->machine, session->scratch);
    machine_release(&session->machine, session->library_workspace);
    session->scratch = session->library_workspace = NULL;
    session->library_workspace_bytes = 0;
    pthread_mutex_lock(&state->lock);
    session->next = state->idle[session->device];
    state->idle[session->device] = session;
    pthread_mutex_unlock(&state->lock);
}

static void *create(void)
{
    struct state *state = calloc(1, sizeof *state);
    if (state)
        pthread_mutex_init(&state->lock, NULL);
    return state;
}

/* At the interpreter's end the driver may be gone already: whatever these calls say then is of no
 * use to anybody. */
static void destroy(void *opaque)
{
    struct state *state = opaque;
    for (int d = 0; d < DEVICES_MAX; d++) {
        while (state->idle[d]) {
            struct session *session = state->idle[d];
            state->idle[d] = session->next;
            session_free(session);
        }
        if (state->pools[d])
            cudaMemPoolDestroy(state->pools[d]);
    }
    pthread_mutex_destroy(&state->lock);
    free(state);
}

/* ---- the backend ---- */

static int count(struct failure *failure)
{
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) {
        cudaGetLastError();
        failure_note(failure, FAILURE_RUNTIME, "%s", cudaGetErrorString(error));
        return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 0 : -1;
    }
    if (devices == 0)
        failure_note(failure, FAILURE_RUNTIME, "the driver sees none");
    return devices < DEVICES_MAX ? devices : DEVICES_MAX;
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

static bool locate(const struct view *view, int *index, struct failure *failure)
{
    struct failure why = {0};
    if (count(&why) <= 0) {
        failure_note(
            failure, FAILURE_RUNTIME,
            "a: the array offers __cuda_array_interface__, but there is no GPU to use (%s)",
            why.text);
        return false;
    }
    if (view->n == 0) {
        *index = 0;
        return true;
    }
    struct cudaPointerAttributes attributes;
    if (!check(failure, cudaPointerGetAttributes(&attributes, view->data),
               "cudaPointerGetAttributes"))
        return false;
    if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) {
        failure_note(
            failure, FAILURE_VALUE,
            "a: __cuda_array_interface__['data'] is %p, which is not a pointer to GPU memory",
            view->data);
        return false;
    }
    *index = attributes.device;
    return true;
}

struct job {
    struct state *state;
    int device;
    bool has_stream;
    uintptr_t stream;
    const struct plan *plan; /* NULL: read `bytes` */
    size_t bytes;
    struct run *run;
};

static bool run_on_current_device(const struct job *job)
{
    struct session *session = session_borrow(job->state, job->device, &job->run->failure);
    if (!session)
        return false;
    session->machine.failure = &job->run->failure;
    session->stream = job->has_stream ? (cudaStream_t)job->stream : session->own_stream;
    const bool ran = job->plan ? passes_run(&session->machine, job->plan, job->run)
                               : passes_read(&session->machine, job->bytes, job->run);
    if (!ran) /* a copy from the caller's memory may be under way */
        cudaStreamSynchronize(session->stream);
    session_return(job->state, session);
    return ran && job->run->failure.kind == FAILURE_NONE;
}

/* The caller's current device is current again afterwards. */
static bool run_job(const struct job *job)
{
    struct failure *failure = &job->run->failure;
    int previous = 0;
    if (!check(failure, cudaGetDevice(&previous), "cudaGetDevice") ||
        !check(failure, cudaSetDevice(job->device), "cudaSetDevice"))
        return false;
    const bool ran = run_on_current_device(job);
    return check(failure, cudaSetDevice(previous), "cudaSetDevice") && ran;
}

static bool run(void *state, const struct plan *plan, struct run *run)
{
    return run_job(&(struct job){.state = state,
                                 .device = plan->device,
                                 .has_stream = plan->has_stream,
                                 .stream = plan->stream,
                                 .plan = plan,
                                 .run = run});
}

static bool read_memory(void *state, int index, size_t bytes, struct run *run)
{
    return run_job(&(struct job){.state = state, .device = index, .bytes = bytes, .run = run});
}

const struct backend backend_cuda = {
    .name = "cuda",
    .place = METHOD_ON_CUDA,
    .create = create,
    .destroy = destroy,
    .count = count,
    .describe = describe,
    .locate = locate,
    .run = run,
    .read = read_memory,
};
