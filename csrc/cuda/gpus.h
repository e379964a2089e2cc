/* The GPUs that this process may use, queried once; a forked child does not query. Also sets the
 * current GPU and converts CUDA errors to failures. */
#pragma once

#include "common/failure.h"

#include <cuda_runtime_api.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* False, with a failure noted, unless `error`, returned by the function `call`, is cudaSuccess. */
bool cuda_check(struct failure *failure, cudaError_t error, const char *call);

/* Calls a function of the CUDA runtime. */
#define CUDA_TRY(failure, function, ...) cuda_check(failure, function(__VA_ARGS__), #function)

enum { CUDA_GPUS_MAX = 64 };

struct cuda_gpus {
    atomic_int count;             /* 0: not known yet */
    _Atomic(const char *) reason; /* why there are none, permanently; NULL: not known to be so */
    _Atomic pid_t owner;          /* the process that used CUDA; 0: none so far */
};

/* The number of GPUs. If that is 0, or -1 for unknown, `failure` says why. */
int cuda_gpus_count(struct cuda_gpus *, struct failure *);

/* The same for work that needs a GPU: false, with a failure noted, if there is none. */
bool cuda_gpus_require(struct cuda_gpus *, int *count, struct failure *);

/* A thread's state to restore. */
struct cuda_saved_state {
    int device;
    enum cudaStreamCaptureMode mode;
};

/* Makes a GPU current, and the thread's calls harmless to stream captures of others; leaving
 * restores both. CUDA does not survive a fork, and some of its calls hang in the child: if the
 * parent has used CUDA, entering fails, with a failure noted. */
bool cuda_gpu_enter(struct cuda_gpus *, int device, struct cuda_saved_state *, struct failure *);
bool cuda_gpu_leave(int device, const struct cuda_saved_state *, struct failure *);
