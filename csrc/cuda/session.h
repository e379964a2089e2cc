/* What one run on a GPU needs: a stream with its events, memory to work in, a mailbox, and buffers
 * through which host memory is copied. Runs borrow a session and give it back. What it keeps is
 * enough for most runs, which so ask CUDA for nothing but a launch. */
#pragma once

#include "cuda/gpus.h"
#include "cuda/pointer.h"
#include "cuda/staging.h"
#include "run/machine.h"

#include <pthread.h>

enum { KEPT_BYTES = 512 << 10 };

/* Of the pool. */
struct cuda_memory {
    void *at;
    size_t bytes;
};

struct cuda_session {
    struct cuda_session *next;
    int device;
    unsigned multiprocessors;
    int capability;    /* 90 for 9.0 */
    bool machine_code; /* kernels were compiled for it; else the driver does so */
    const struct cuda_sessions *all;
    cudaMemPool_t pool;
    char *kept; /* memory for small workspaces; after it, tickets, which are 0 between launches */
    struct mailbox mailbox;
    unsigned long long stream_number; /* where work is that nobody waits for, if there is any */
    bool unfinished;                  /* there may be some until `done` */
    cudaStream_t own_stream, stream;  /* its own, and the one in use */
    bool capturing;                   /* what goes there is not done, but kept for a graph */
    cudaEvent_t events[MOMENTS];
    cudaEvent_t order; /* puts one stream after another */
    cudaEvent_t done;
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

/* An idle session of the device, which is current, or a new one, for work on a stream, or, if that
 * is NULL, on its own; NULL with a failure noted. */
struct cuda_session *cuda_session_borrow(struct cuda_sessions *, int device, cudaStream_t,
                                         bool capturing, struct failure *);

/* Nobody waits for what was launched last, which the mailbox will tell the end of. */
void cuda_session_leave_behind(struct cuda_session *);

/* Nor for what was launched by now, of which the mailbox tells nothing. False with a failure noted.
 */
bool cuda_session_leave_unfinished(struct cuda_session *, struct failure *);

void cuda_session_return(struct cuda_sessions *, struct cuda_session *, struct failure *);
