/* What one run on a GPU needs: a stream with its events, a pool of memory, and buffers through
 * which host memory is copied. Runs borrow a session and give it back. */
#pragma once

#include "cuda/gpus.h"
#include "cuda/staging.h"
#include "run/passes.h"

#include <pthread.h>

struct cuda_session {
    struct cuda_session *next;
    int device;
    unsigned multiprocessors;
    bool threads; /* OpenMP's may be used: they do not survive a fork */
    cudaMemPool_t pool;
    cudaStream_t own_stream, stream; /* its own, and the one in use */
    cudaEvent_t events[MOMENTS];
    cudaEvent_t order;            /* puts one stream behind another */
    struct cuda_staging *staging; /* NULL until something is fed */
    void *scratch;                /* what a flush reads */
    size_t scratch_bytes;
    void *library_workspace;
    size_t library_workspace_bytes;
};

/* The sessions that nobody uses now, and the pools of memory that all have in common. */
struct cuda_sessions {
    pthread_mutex_t lock;
    pid_t maker; /* the process that this was made in */
    cudaMemPool_t pools[CUDA_GPUS_MAX];
    struct cuda_session *idle[CUDA_GPUS_MAX];
};

void cuda_sessions_open(struct cuda_sessions *);

/* Frees what CUDA gave only if it still `works` in this process. */
void cuda_sessions_close(struct cuda_sessions *, bool works);

/* An idle session of the device, which is current, or a new one; NULL with a failure noted. */
struct cuda_session *cuda_session_borrow(struct cuda_sessions *, int device, struct failure *);
void cuda_session_return(struct cuda_sessions *, struct cuda_session *, struct failure *);
