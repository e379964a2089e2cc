/* A session holds what a run on a GPU needs: a stream with events, workspace, a mailbox, and
 * staging buffers. Runs borrow a session and return it; most need nothing else from CUDA but a
 * launch. Also orders a run's work with other streams. */
#pragma once

#include "cuda/gpus.h"
#include "cuda/pointer.h"
#include "cuda/staging.h"
#include "run/machine.h"

#include <pthread.h>

enum { WORKSPACE_BYTES = 512 << 10 };

/* A run's timing events, one event for ordering streams, and one for the end of unfinished work. */
enum { EVENT_ORDER = TIMING_EVENTS, EVENT_DONE, EVENTS };

/* From the pool. */
struct cuda_memory {
    void *at;
    size_t bytes;
};

struct cuda_session {
    struct machine machine; /* first, so that a machine can be cast to its session */
    struct cuda_session *next;
    int device;
    bool machine_code; /* kernels are compiled for the GPU; else the driver compiles PTX */
    bool ahead;        /* uploads run ahead of launches */
    struct cuda_state *state;
    struct kernels kernels; /* for the run */
    char *workspace; /* small workspaces, followed by tickets, which are 0 between launches */
    struct mailbox mailbox;
    unsigned long long stream_id;    /* of the stream with unfinished work, if any */
    bool pending;                    /* there may be such work, until EVENT_DONE */
    cudaStream_t own_stream, stream; /* the session's, and the one in use */
    bool capturing;                  /* work on it is captured into a graph */
    cudaEvent_t events[EVENTS];
    struct cuda_staging *staging;        /* NULL until the first upload */
    struct cuda_memory scratch, library; /* read to flush caches; a library's workspace */
};

/* Streams shared by all threads, which execute no work. */
enum shared_stream {
    STREAM_PRODUCERS, /* handed to producers */
    STREAM_MEMORY,    /* orders allocations and frees of results */
    SHARED_STREAMS
};

/* State shared by all runs, and the idle sessions. */
struct cuda_state {
    struct cuda_gpus gpus;
    struct cuda_pointers pointers;
    struct threads *threads; /* for gathering uploads */
    enum instructions instructions;
    atomic_flag warned[CUDA_GPUS_MAX]; /* that the driver compiles kernels */
    _Atomic(cudaStream_t) streams[CUDA_GPUS_MAX][SHARED_STREAMS];

    pthread_mutex_t lock; /* for the members below, and for creating streams */
    cudaMemPool_t pools[CUDA_GPUS_MAX];
    struct cuda_session *idle[CUDA_GPUS_MAX];
};

/* Frees a device's idle sessions and its pool. */
void cuda_sessions_free(struct cuda_state *, int device);

/* Creates the current device's pool if necessary. False with a failure noted. */
bool cuda_pool_is_ready(struct cuda_state *, int device, struct failure *);

/* Returns an idle or new session of the current device, for a run on the given stream, or on the
 * session's own if that is NULL; NULL with a failure noted. */
struct cuda_session *cuda_session_acquire(struct cuda_state *, int device, cudaStream_t,
                                          bool capturing, struct run *);

/* Sets up a borrowed session's machine for the run. In machine.c. */
void cuda_session_begin(struct cuda_session *, struct run *);

/* Marks the launched work as unfinished: the host does not wait for it, and it posts no result.
 * False with a failure noted. */
bool cuda_session_mark_pending(struct cuda_session *);

/* Returns a session after a run that succeeded (`ran`) or failed. */
void cuda_session_release(struct cuda_session *, bool ran);

/* ---- order ---- */

/* Chooses the stream for a plan's work (NULL: any) and reports whether it is being captured. False
 * with a failure noted, leaving captures intact, if a handle is invalid or a graph cannot do the
 * work. */
bool cuda_stream_choose(const struct plan *, struct run *, cudaStream_t *, bool *capturing);

/* Makes future work on the session's stream wait for the producers' work. */
bool cuda_wait_for_producers(struct cuda_session *, const struct plan_streams *);

/* If the host does not wait, makes the producers' future work, such as freeing or overwriting their
 * memory, wait for the session's work. */
bool cuda_make_producers_wait(struct cuda_session *, const struct plan_streams *);
