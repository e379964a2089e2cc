#include "cuda/session.h"

#include <stdlib.h>
#include <string.h>

/* ---- one session ---- */

static void session_free(struct cuda_session *self)
{
    for (int e = 0; e < EVENTS; e++)
        if (self->events[e])
            cudaEventDestroy(self->events[e]);
    if (self->own_stream)
        cudaStreamDestroy(self->own_stream);
    cuda_staging_free(self->staging);
    cudaFree(self->workspace);
    cudaFreeHost(self->mailbox.words);
    free(self);
}

/* Only timing events record times. */
static bool make_events(struct cuda_session *self, struct failure *failure)
{
    for (int e = 0; e < EVENTS; e++)
        if (!CUDA_TRY(failure, cudaEventCreateWithFlags, &self->events[e],
                      e < TIMING_EVENTS ? cudaEventDefault : cudaEventDisableTiming))
            return false;
    return true;
}

/* Machine code also runs on later minor versions, except for "90a" and "100f", whose versions run
 * only their own. */
static bool has_machine_code(int capability)
{
    for (const char *at = GRED_ARCHITECTURES; *at;) {
        char *end;
        const long compiled = strtol(at, &end, 10);
        const bool specific = *end == 'a' || *end == 'f';
        if (compiled == capability ||
            (!specific && compiled / 10 == capability / 10 && compiled < capability))
            return true;
        const size_t rest = strcspn(at, " ");
        at += rest + (at[rest] != 0);
    }
    return false;
}

static bool query_device(struct cuda_session *self, int device, struct failure *failure)
{
    enum { SCRATCH_L2_TIMES = 3, UNITS = 0, L2_BYTES, SHARED_BYTES, MAJOR, MINOR, VALUES };
    static const enum cudaDeviceAttr attributes[VALUES] = {
        [UNITS] = cudaDevAttrMultiProcessorCount,
        [L2_BYTES] = cudaDevAttrL2CacheSize,
        [SHARED_BYTES] = cudaDevAttrMaxSharedMemoryPerBlockOptin,
        [MAJOR] = cudaDevAttrComputeCapabilityMajor,
        [MINOR] = cudaDevAttrComputeCapabilityMinor};
    struct facts *facts = &self->machine.facts;
    int values[VALUES];
    for (int k = 0; k < VALUES; k++)
        if (!CUDA_TRY(failure, cudaDeviceGetAttribute, &values[k], attributes[k], device))
            return false;
    facts->multiprocessors = (unsigned)values[UNITS];
    facts->capability = values[MAJOR] * 10 + values[MINOR];
    facts->shared_bytes = (size_t)values[SHARED_BYTES];
    self->machine_code = has_machine_code(facts->capability);
    self->scratch.bytes = SCRATCH_L2_TIMES * (size_t)values[L2_BYTES];
    return true;
}

/* The tickets follow the workspace. */
static bool allocate_workspace(struct cuda_session *self, struct failure *failure)
{
    const size_t exact = sizeof(struct exact_shared_words), counters = TICKETS * sizeof(unsigned),
                 tickets = exact > counters ? exact : counters;
    return CUDA_TRY(failure, cudaMalloc, (void **)&self->workspace, WORKSPACE_BYTES + tickets) &&
           CUDA_TRY(failure, cudaMemsetAsync, self->workspace + WORKSPACE_BYTES, 0, tickets,
                    self->own_stream) &&
           CUDA_TRY(failure, cudaStreamSynchronize, self->own_stream);
}

static bool make_mailbox(struct mailbox *self, struct failure *failure)
{
    const size_t bytes = MAILBOX_WORDS * sizeof(uint64_t);
    if (!CUDA_TRY(failure, cudaHostAlloc, (void **)&self->words, bytes, cudaHostAllocMapped))
        return false;
    memset(self->words, 0, bytes);
    return CUDA_TRY(failure, cudaHostGetDevicePointer, (void **)&self->on_device, self->words, 0);
}

static struct cuda_session *session_new(struct cuda_state *state, int device,
                                        struct failure *failure)
{
    struct cuda_session *self = calloc(1, sizeof *self);
    if (!self) {
        failure_record(failure, FAILURE_MEMORY, "out of memory for a CUDA session");
        return NULL;
    }
    self->device = device;
    self->state = state;
    if (CUDA_TRY(failure, cudaStreamCreateWithFlags, &self->own_stream, cudaStreamNonBlocking) &&
        query_device(self, device, failure) && make_events(self, failure) &&
        allocate_workspace(self, failure) && make_mailbox(&self->mailbox, failure))
        return self;
    session_free(self);
    return NULL;
}

/* ---- all sessions ---- */

/* At interpreter exit the driver may already be gone, so errors are ignored. */
void cuda_sessions_free(struct cuda_state *self, int device)
{
    while (self->idle[device]) {
        struct cuda_session *session = self->idle[device];
        self->idle[device] = session->next;
        session_free(session);
    }
    if (self->pools[device])
        cudaMemPoolDestroy(self->pools[device]);
}

/* A stream's handle is reused after it is destroyed; its number is not. */
static unsigned long long stream_id_of(cudaStream_t stream)
{
    unsigned long long id = 0;
    if (cudaStreamGetId(stream, &id) != cudaSuccess)
        cudaGetLastError();
    return id;
}

/* Whether the session's previous work has finished, or precedes all new work on the stream. While a
 * stream is being captured, neither it nor events may be queried. */
static bool is_reusable(struct cuda_session *session, cudaStream_t stream, bool capturing)
{
    const bool awaited = mailbox_is_pending(&session->mailbox);
    if (!awaited && !session->pending)
        return true;
    if (capturing)
        return false;
    if (stream && stream_id_of(stream) == session->stream_id)
        return true;
    if (awaited)
        return false;
    session->pending = cudaEventQuery(session->events[EVENT_DONE]) != cudaSuccess;
    if (session->pending)
        cudaGetLastError();
    return !session->pending;
}

/* Removes the first free session from the list; NULL if there is none. */
static struct cuda_session *take_reusable(struct cuda_session **list, cudaStream_t stream,
                                          bool capturing)
{
    for (struct cuda_session **at = list; *at; at = &(*at)->next)
        if (is_reusable(*at, stream, capturing)) {
            struct cuda_session *session = *at;
            *at = session->next;
            return session;
        }
    return NULL;
}

bool cuda_session_mark_pending(struct cuda_session *self)
{
    self->pending =
        CUDA_TRY(self->machine.failure, cudaEventRecord, self->events[EVENT_DONE], self->stream);
    self->stream_id = stream_id_of(self->stream);
    return self->pending;
}

/* The pool keeps memory between runs, so that small workspaces need no driver call. */
static bool make_pool(cudaMemPool_t *pool, int device, struct failure *failure)
{
    const struct cudaMemPoolProps properties = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice, .id = device},
    };
    uint64_t keeps_bytes = 64 << 20;
    return CUDA_TRY(failure, cudaMemPoolCreate, pool, &properties) &&
           CUDA_TRY(failure, cudaMemPoolSetAttribute, *pool, cudaMemPoolAttrReleaseThreshold,
                    &keeps_bytes);
}

bool cuda_pool_is_ready(struct cuda_state *self, int device, struct failure *failure)
{
    pthread_mutex_lock(&self->lock);
    const bool ready = self->pools[device] || make_pool(&self->pools[device], device, failure);
    pthread_mutex_unlock(&self->lock);
    return ready;
}

struct cuda_session *cuda_session_acquire(struct cuda_state *self, int device, cudaStream_t stream,
                                          bool capturing, struct run *run)
{
    struct failure *failure = &run->failure;
    pthread_mutex_lock(&self->lock);
    struct cuda_session *session = take_reusable(&self->idle[device], stream, capturing);
    pthread_mutex_unlock(&self->lock);
    if (!session && cuda_pool_is_ready(self, device, failure))
        session = session_new(self, device, failure);
    if (session) {
        session->stream = stream ? stream : session->own_stream;
        session->capturing = capturing;
        cuda_session_begin(session, run);
    }
    return session;
}

/* Launches may still be running if the result stays on the device or the user interrupted the wait.
 * After any other failure, they are waited for, and their errors ignored as consequences. The
 * caller's memory is not read after the call. */
static void wait_after_failure(struct cuda_session *session, bool ran)
{
    if (session->capturing)
        return;
    if (session->staging)
        cuda_staging_wait_in_place(session->staging);
    if ((ran || session->machine.failure->kind == FAILURE_EXCEPTION) &&
        mailbox_is_pending(&session->mailbox)) {
        session->stream_id = stream_id_of(session->stream);
    } else if (!ran) {
        if (cudaStreamSynchronize(session->stream) != cudaSuccess)
            cudaGetLastError();
        session->mailbox.pending = false; /* a result that has not arrived will not arrive */
    }
}

static void free_async(struct cuda_session *session, struct cuda_memory *memory)
{
    if (memory->at)
        CUDA_TRY(session->machine.failure, cudaFreeAsync, memory->at, session->stream);
    memory->at = NULL;
}

/* Returns scratch memory to the pool, so that idle sessions hold no device memory. Keeps the
 * staging buffers of only one idle session, and of those whose buffers are in use. */
void cuda_session_release(struct cuda_session *session, bool ran)
{
    struct cuda_state *self = session->state;
    wait_after_failure(session, ran);
    free_async(session, &session->scratch);
    free_async(session, &session->library);
    session->library.bytes = 0;
    struct cuda_staging *surplus = NULL;
    pthread_mutex_lock(&self->lock);
    struct cuda_session *first = self->idle[session->device];
    /* last, since the query takes microseconds */
    if (session->staging && first && first->staging && cuda_staging_is_idle(session->staging)) {
        surplus = session->staging;
        session->staging = NULL;
    }
    if (first && first->staging) { /* keep the buffers at the head, for the next run */
        session->next = first->next;
        first->next = session;
    } else {
        session->next = first;
        self->idle[session->device] = session;
    }
    pthread_mutex_unlock(&self->lock);
    cuda_staging_free(surplus);
}

/* ---- the order of streams ---- */

/* Most of a plan's streams are the same, which is checked once. */
static bool validate_streams(const struct plan_streams *streams, struct failure *failure)
{
    uintptr_t validated = 0;
    for (unsigned k = 0; k <= streams->count; k++) {
        const struct stream *stream =
            k < streams->count ? &streams->producers[k] : &streams->consumer;
        if (!stream->given || stream->handle == validated)
            continue;
        if (!stream_is_readable(stream->handle))
            return failure_record(failure, FAILURE_VALUE,
                                  "stream %#llx is not a valid stream handle",
                                  (unsigned long long)stream->handle);
        validated = stream->handle;
    }
    return true;
}

/* The caller's stream, or the first known producer's, whose work it then follows without an event.
 * NULL: any. */
static cudaStream_t choose_stream(const struct plan_streams *streams)
{
    if (streams->consumer.given)
        return (cudaStream_t)streams->consumer.handle;
    for (unsigned k = 0; k < streams->count; k++)
        if (!streams->producers[k].passing)
            return (cudaStream_t)streams->producers[k].handle;
    return NULL;
}

/* The ID of the capture that a stream is part of; 0: none. The default stream must not be queried
 * while others are being captured, since it would have to wait for them. */
static bool capture_id(cudaStream_t stream, unsigned long long *id, struct failure *failure)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    *id = 0;
    if (stream == NULL || stream == cudaStreamLegacy)
        return true;
    if (!CUDA_TRY(failure, cudaStreamGetCaptureInfo, stream, &status, id, NULL, NULL, NULL, NULL))
        return false;
    stream_mark_valid((uintptr_t)stream);
    return true;
}

/* Whether all streams of a plan are in the same capture, `*id`, or none is in any. */
static bool share_capture(cudaStream_t stream, const struct plan_streams *streams,
                          unsigned long long *id, struct failure *failure)
{
    if (!capture_id(stream, id, failure))
        return false;
    for (unsigned k = 0; k < streams->count; k++) {
        const cudaStream_t producer = (cudaStream_t)streams->producers[k].handle;
        unsigned long long other;
        if (producer == stream)
            continue;
        if (!capture_id(producer, &other, failure))
            return false;
        if (other != *id)
            return failure_record(
                failure, FAILURE_RUNTIME,
                "one of the call's streams is being captured and another is not: a "
                "graph cannot wait for work outside it");
    }
    return true;
}

bool cuda_stream_choose(const struct plan *plan, struct run *run, cudaStream_t *stream,
                        bool *capturing)
{
    struct failure *failure = &run->failure;
    unsigned long long id;
    *stream = choose_stream(&plan->streams);
    if (!validate_streams(&plan->streams, failure) ||
        !share_capture(*stream, &plan->streams, &id, failure))
        return false;
    *capturing = id != 0;
    if (!*capturing || (plan->results.on_device && !run->timing))
        return true;
    return failure_record(failure, FAILURE_RUNTIME,
                          "the stream is being captured, but a call that returns a number must "
                          "synchronize; pass an out= on the GPU");
}

/* Makes future work on `later` wait for the present work on `earlier`. */
static bool add_wait(struct cuda_session *session, cudaStream_t earlier, cudaStream_t later)
{
    struct failure *failure = session->machine.failure;
    return earlier == later ||
           (CUDA_TRY(failure, cudaEventRecord, session->events[EVENT_ORDER], earlier) &&
            CUDA_TRY(failure, cudaStreamWaitEvent, later, session->events[EVENT_ORDER], 0));
}

bool cuda_wait_for_producers(struct cuda_session *session, const struct plan_streams *streams)
{
    bool ordered = true;
    for (unsigned k = 0; k < streams->count && ordered; k++)
        ordered = add_wait(session, (cudaStream_t)streams->producers[k].handle, session->stream);
    return ordered;
}

/* If a producer's stream is not known, the host waits instead. */
bool cuda_make_producers_wait(struct cuda_session *session, const struct plan_streams *streams)
{
    bool ordered = true;
    for (unsigned k = 0; k < streams->count && ordered; k++) {
        const struct stream *producer = &streams->producers[k];
        ordered = producer->passing
                      ? CUDA_TRY(session->machine.failure, cudaStreamSynchronize, session->stream)
                      : add_wait(session, session->stream, (cudaStream_t)producer->handle);
    }
    return ordered;
}
