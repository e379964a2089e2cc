/* Which GPUs this process may use: asked of CUDA once and kept, and never asked in a forked child.
 * Which of them is current. And errors of CUDA's, noted as failures. */
#pragma once

#include "common/failure.h"

#include <cuda_runtime_api.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* False, with the failure noted, unless `error` is cudaSuccess. `call` is the function that gave
 * it. */
bool cuda_check(struct failure *failure, cudaError_t error, const char *call);

/* Calls a function of the runtime. */
#define CUDA_TRY(failure, function, ...) cuda_check(failure, function(__VA_ARGS__), #function)

enum { CUDA_GPUS_MAX = 64 };

struct cuda_gpus {
    atomic_int count;              /* 0: none is known of yet */
    _Atomic(const char *) absence; /* why there is none, and will be none; NULL: not known */
    _Atomic pid_t user;            /* the process that CUDA was used in; 0: none so far */
};

/* How many there are. Where there is none, or -1 if that cannot be told, `failure` says why. */
int cuda_gpus_count(struct cuda_gpus *, struct failure *);

/* The same for work that needs one: false, with a failure noted, where there is none. */
bool cuda_gpus_find(struct cuda_gpus *, int *count, struct failure *);

/* What a thread's state was before. */
struct cuda_before {
    int device;
    enum cudaStreamCaptureMode mode;
};

/* Makes a GPU current, and what is called from now on no obstacle to others' captures of streams;
 * afterwards all is as it was. CUDA does not survive a fork, and some of its calls hang in the
 * child: there it is not entered, with a failure noted, if the process before has used it. */
bool cuda_gpu_enter(struct cuda_gpus *, int device, struct cuda_before *, struct failure *);
bool cuda_gpu_leave(int device, const struct cuda_before *, struct failure *);
