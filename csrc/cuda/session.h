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
    const struct cuda_sessions *all;
    struct kernels kernels; /* for the run */
    cudaMemPool_t pool;
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

/* The sessions that nobody uses now, and the pools of memory that all have in common. */
struct cuda_sessions {
    pthread_mutex_t lock;
    struct cuda_pointers *pointers;
    struct threads *threads; /* that gather what is fed */
    enum instructions instructions;
    cudaMemPool_t pools[CUDA_GPUS_MAX];
    struct cuda_session *idle[CUDA_GPUS_MAX];
};

/* False when memory is short. */
bool cuda_sessions_open(struct cuda_sessions *, struct cuda_pointers *);

/* Frees what CUDA gave only if it still `works` in this process. */
void cuda_sessions_close(struct cuda_sessions *, bool works);

/* A device's pool, which is current. False with a failure noted. */
bool cuda_sessions_pool(struct cuda_sessions *, int device, cudaMemPool_t *, struct failure *);

/* An idle session of the device, which is current, or a new one, for a run on a stream, or, if that
 * is NULL, on its own; NULL with a failure noted. */
struct cuda_session *cuda_session_borrow(struct cuda_sessions *, int device, cudaStream_t,
                                         bool capturing, struct run *);

/* Makes the machine of one that is borrowed ready for the run. In machine.c. */
void cuda_session_begin(struct cuda_session *, struct run *);

/* Nobody waits for what was launched last, which the mailbox will tell the end of. */
void cuda_session_leave_behind(struct cuda_session *);

/* Nor for what was launched by now, of which the mailbox tells nothing. False with a failure noted.
 */
bool cuda_session_leave_unfinished(struct cuda_session *);

void cuda_session_return(struct cuda_sessions *, struct cuda_session *);

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
