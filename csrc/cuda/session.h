/* What one run on a GPU needs: a stream with its events, memory to work in, a mailbox, and buffers
 * through which host memory is copied. Runs borrow a session and give it back. What it keeps is
 * enough for most runs, which so ask CUDA for nothing but a launch. And the order of a run's work
 * and what other streams do with the same memory. */
#pragma once

#include "cuda/gpus.h"
#include "cuda/pointer.h"
#include "cuda/staging.h"
#include "run/machine.h"

#include <pthread.h>

enum { KEPT_BYTES = 512 << 10 };

/* Events: moments of a run, what puts one stream after another, and the end of unfinished work. */
enum { EVENT_ORDER = MOMENTS, EVENT_DONE, EVENTS };

/* Of the pool. */
struct cuda_memory {
    void *at;
    size_t bytes;
};

struct cuda_session {
    struct machine machine; /* first, so that a machine for the passes is one of these */
    struct cuda_session *next;
    int device;
    bool machine_code; /* kernels were compiled for it; else the driver does so */
    bool ahead;        /* copies to the device run ahead of its launches */
    struct cuda_state *all;
    struct kernels kernels; /* for the run */
    char *kept; /* memory for small workspaces; after it, tickets, which are 0 between launches */
    struct mailbox mailbox;
    unsigned long long stream_number; /* where work is that nobody waits for, if there is any */
    bool unfinished;                  /* there may be some until EVENT_DONE */
    cudaStream_t own_stream, stream;  /* its own, and the one in use */
    bool capturing;                   /* what goes there is not done, but kept for a graph */
    cudaEvent_t events[EVENTS];
    struct cuda_staging *staging;        /* NULL until something is fed */
    struct cuda_memory scratch, library; /* what a flush reads; a library's workspace */
};

/* Streams that all threads share, and that do no work. */
enum own_stream {
    FOR_PRODUCERS, /* to work ahead of */
    FOR_MEMORY,    /* it is got and given back there, and who uses it comes between */
    OWN_STREAMS
};

/* What all runs have in common, and the sessions that nobody uses now. */
struct cuda_state {
    struct cuda_gpus gpus;
    struct cuda_pointers pointers;
    struct threads *threads; /* that gather what is fed */
    enum instructions instructions;
    atomic_flag warned[CUDA_GPUS_MAX]; /* of what the driver has to compile */
    _Atomic(cudaStream_t) streams[CUDA_GPUS_MAX][OWN_STREAMS];

    pthread_mutex_t lock; /* of what follows, and for making streams */
    cudaMemPool_t pools[CUDA_GPUS_MAX];
    struct cuda_session *idle[CUDA_GPUS_MAX];
};

/* Frees a device's idle sessions and its pool. */
void cuda_sessions_free(struct cuda_state *, int device);

/* Whether a device, which is current, has its pool: it is made if not. False with a failure noted.
 */
bool cuda_pool_is_ready(struct cuda_state *, int device, struct failure *);

/* An idle session of the device, which is current, or a new one, for a run on a stream, or, if that
 * is NULL, on its own; NULL with a failure noted. */
struct cuda_session *cuda_session_borrow(struct cuda_state *, int device, cudaStream_t,
                                         bool capturing, struct run *);

/* Makes the machine of one that is borrowed ready for the run. In machine.c. */
void cuda_session_begin(struct cuda_session *, struct run *);

/* Nobody waits for what was launched by now, of which the mailbox tells nothing. False with a
 * failure noted. */
bool cuda_session_leave_unfinished(struct cuda_session *);

/* Gives it back after a run, which `ran`, or failed. */
void cuda_session_return(struct cuda_session *, bool ran);

/* ---- order ---- */

/* The stream that a plan's work goes to, NULL: any, and whether that is being captured. False with
 * a failure noted, and the capture as it was, if one of the plan's streams can be no handle at all,
 * or the plan is nothing for a graph. */
bool cuda_order_choose(const struct plan *, struct run *, cudaStream_t *, bool *capturing);

/* Producers' work comes before what is put on the session's stream from now on. */
bool cuda_order_before(struct cuda_session *, const struct plan_streams *);

/* Where nobody waits, what producers do next, such as freeing or filling their memory again, comes
 * after what is under way here. */
bool cuda_order_after(struct cuda_session *, const struct plan_streams *);
