/* Which GPUs this process may use: asked of CUDA once and kept, and never asked in a forked child.
 * And which of them is current. */
#pragma once

#include "common/failure.h"

#include <cuda_runtime_api.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum { CUDA_GPUS_MAX = 64 };

struct cuda_gpus {
    atomic_int count;              /* 0: none is known of yet */
    _Atomic(const char *) absence; /* why there is none, and will be none; NULL: not known */
    _Atomic pid_t user;            /* the process that CUDA was used in; 0: none so far */
};

/* How many there are. Where there is none, or -1 if that cannot be told, `failure` says why. */
int cuda_gpus_count(struct cuda_gpus *, struct failure *);

/* Whether that is known without asking. */
bool cuda_gpus_counted(const struct cuda_gpus *);

/* The same for work that needs one: false, with a failure noted, where there is none. */
bool cuda_gpus_find(struct cuda_gpus *, int *count, struct failure *);

/* CUDA does not survive a fork, and some of its calls hang in the child: true, with a failure
 * noted, in the child of a process that has used it. To be asked before anything of CUDA's is. */
bool cuda_gpus_lost_in_fork(struct cuda_gpus *, struct failure *);

/* What a thread's state was before. */
struct cuda_before {
    int device;
    enum cudaStreamCaptureMode mode;
};

/* Makes a GPU current, and what is called from now on no obstacle to others' captures of streams;
 * afterwards all is as it was. */
bool cuda_gpu_enter(int device, struct cuda_before *, struct failure *);
bool cuda_gpu_leave(int device, const struct cuda_before *, struct failure *);
