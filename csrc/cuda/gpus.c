#define _GNU_SOURCE

#include "cuda/gpus.h"

#include "common/processor.h"

/* CUDA keeps the last error; clearing it prevents callers from reading it as their own. */
bool cuda_check(struct failure *failure, cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return true;
    cudaGetLastError();
    return failure_record(failure,
                          error == cudaErrorMemoryAllocation ? FAILURE_MEMORY : FAILURE_CUDA,
                          "%s: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
}

/* ---- the number of GPUs ---- */

static bool is_forked_child(struct cuda_gpus *self, struct failure *failure)
{
    const pid_t pid = process_id();
    pid_t owner = self->owner;
    if (owner == pid ||
        (owner == 0 && (atomic_compare_exchange_strong(&self->owner, &owner, pid) || owner == pid)))
        return false;
    failure_record(
        failure, FAILURE_CUDA,
        "fork: this process was forked after CUDA was initialized, and CUDA does not survive a "
        "fork; use the 'spawn' or 'forkserver' start method, or device='host' "
        "(cudaErrorInitializationError)");
    return true;
}

/* The first call loads the driver, which can take a second. */
int cuda_gpus_count(struct cuda_gpus *self, struct failure *failure)
{
    int devices = self->count;
    const char *reason = self->reason;
    if (!reason) {
        if (is_forked_child(self, failure))
            return -1;
        if (devices)
            return devices;
        const cudaError_t error = cudaGetDeviceCount(&devices);
        if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
            cudaGetLastError();
            reason = cudaGetErrorString(error);
        } else if (!cuda_check(failure, error, "cudaGetDeviceCount"))
            return -1;
        else if (devices == 0)
            reason = "the driver reports none";
        else
            return self->count = devices < CUDA_GPUS_MAX ? devices : CUDA_GPUS_MAX;
        self->reason = reason;
    }
    failure_record(failure, FAILURE_RUNTIME, "%s", reason);
    return 0;
}

bool cuda_gpus_require(struct cuda_gpus *self, int *count, struct failure *failure)
{
    struct failure why = {0};
    *count = cuda_gpus_count(self, &why);
    if (*count < 0)
        *failure = why;
    if (*count == 0)
        failure_record(failure, FAILURE_RUNTIME,
                       "the array is on a GPU, but no GPU is available (%.300s)", why.text);
    return *count > 0;
}

/* ---- the current GPU ---- */

/* Always sets the device: the driver API may have changed the context behind the runtime's back. */
bool cuda_gpu_enter(struct cuda_gpus *gpus, int device, struct cuda_saved_state *saved,
                    struct failure *failure)
{
    saved->mode = cudaStreamCaptureModeRelaxed;
    return !is_forked_child(gpus, failure) && CUDA_TRY(failure, cudaGetDevice, &saved->device) &&
           CUDA_TRY(failure, cudaSetDevice, device) &&
           CUDA_TRY(failure, cudaThreadExchangeStreamCaptureMode, &saved->mode);
}

bool cuda_gpu_leave(int device, const struct cuda_saved_state *saved, struct failure *failure)
{
    enum cudaStreamCaptureMode mode = saved->mode;
    return CUDA_TRY(failure, cudaThreadExchangeStreamCaptureMode, &mode) &&
           (saved->device == device || CUDA_TRY(failure, cudaSetDevice, saved->device));
}
