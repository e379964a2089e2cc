/* What one run on a GPU needs: a stream with its events, a pool of memory, and buffers through
 * which host memory is copied. Runs borrow a session and give it back. */
#pragma once

#include "run/passes.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sys/types.h>

enum { CUDA_DEVICES_MAX = 64, CUDA_STAGES = 2 };

/* Two buffers of page-locked memory: one is filled while the other is copied. */
struct cuda_staging {
    void *buffers[CUDA_STAGES];
    cudaEvent_t copied[CUDA_STAGES];
    size_t bytes; /* of one */
};

struct cuda_session {
    struct machine machine; /* first, so that a machine is a session */
    struct cuda_session *next;
    int device;
    bool threads; /* OpenMP's may be used: they do not survive a fork */
    cudaMemPool_t pool;
    cudaStream_t own_stream, stream;    /* its own, and the one in use */
    cudaEvent_t events[MOMENTS], order; /* `order` puts one stream behind another */
    struct cuda_staging *staging;       /* while something is fed */
    void *scratch;                      /* what a flush reads */
    size_t scratch_bytes;
    void *library_workspace;
    size_t library_workspace_bytes;
};

struct cuda_state {
    pthread_mutex_t lock;
    pid_t maker; /* the process that the state was made in */
    bool absent; /* there is no GPU, and there will be none */
    pid_t user;  /* the process that CUDA was used in; 0: none so far */
    cudaMemPool_t pools[CUDA_DEVICES_MAX];
    cudaStream_t handshakes[CUDA_DEVICES_MAX];
    struct cuda_session *idle[CUDA_DEVICES_MAX];
};

/* False, with the failure noted, unless `error` is cudaSuccess. */
bool cuda_check(struct failure *failure, cudaError_t error, const char *call);

/* An idle session of the device, which is current, or a new one; NULL with a failure noted. */
struct cuda_session *cuda_session_borrow(struct cuda_state *, int device, struct failure *);
void cuda_session_return(struct cuda_state *, struct cuda_session *);
void cuda_session_free(struct cuda_session *);

void cuda_staging_free(struct cuda_staging *); /* NULL is fine; so is one that is not complete */

/* Work on `later` from now on waits for what is on `earlier` now. */
bool cuda_session_order(struct cuda_session *, cudaStream_t earlier, cudaStream_t later);

/* Fills in the machine's functions; in cuda_machine.c. */
void cuda_machine_init(struct machine *, unsigned multiprocessors);
