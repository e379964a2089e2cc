#define _GNU_SOURCE

#include "cuda/gpus.h"

#include "common/processor.h"
#include "cuda/check.h"

bool cuda_gpus_lost_in_fork(struct cuda_gpus *self, struct failure *failure)
{
    const pid_t here = process_here();
    pid_t user = self->user;
    if (user == here ||
        (user == 0 && (atomic_compare_exchange_strong(&self->user, &user, here) || user == here)))
        return false;
    failure_note_cuda(failure, "fork", "cudaErrorInitializationError",
                      "this process was forked from one that had used CUDA, which does not survive "
                      "a fork; start processes by 'spawn' or 'forkserver', or use device='host'");
    return true;
}

static int none(struct cuda_gpus *self, const char *why, struct failure *failure)
{
    self->absence = why;
    failure_note(failure, FAILURE_RUNTIME, "%s", why);
    return 0;
}

/* The first call of all loads the driver, which can take a second. */
static int ask(struct cuda_gpus *self, struct failure *failure)
{
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
        cudaGetLastError();
        return none(self, cudaGetErrorString(error), failure);
    }
    if (!cuda_check(failure, error, "cudaGetDeviceCount"))
        return -1;
    if (devices == 0)
        return none(self, "the driver sees none", failure);
    return self->count = devices < CUDA_GPUS_MAX ? devices : CUDA_GPUS_MAX;
}

int cuda_gpus_count(struct cuda_gpus *self, struct failure *failure)
{
    const char *absence = self->absence;
    if (absence)
        return none(self, absence, failure);
    if (cuda_gpus_lost_in_fork(self, failure))
        return -1;
    const int count = self->count;
    return count ? count : ask(self, failure);
}

bool cuda_gpus_counted(const struct cuda_gpus *self)
{
    return self->count || self->absence;
}

bool cuda_gpus_find(struct cuda_gpus *self, int *count, struct failure *failure)
{
    struct failure why = {0};
    *count = cuda_gpus_count(self, &why);
    if (*count < 0)
        *failure = why;
    if (*count == 0)
        failure_note(failure, FAILURE_RUNTIME,
                     "the array lies on a GPU, and there is no GPU to use (%.300s)", why.text);
    return *count > 0;
}

static bool exchange_mode(enum cudaStreamCaptureMode *mode, struct failure *failure)
{
    return CUDA_TRY(failure, cudaThreadExchangeStreamCaptureMode, mode);
}

bool cuda_gpu_enter(int device, struct cuda_before *before, struct failure *failure)
{
    before->mode = cudaStreamCaptureModeRelaxed;
    /* The runtime may name a device while the driver was told to make another one's context
     * current. */
    return CUDA_TRY(failure, cudaGetDevice, &before->device) &&
           CUDA_TRY(failure, cudaSetDevice, device) && exchange_mode(&before->mode, failure);
}

bool cuda_gpu_leave(int device, const struct cuda_before *before, struct failure *failure)
{
    enum cudaStreamCaptureMode mode = before->mode;
    return exchange_mode(&mode, failure) &&
           (before->device == device || CUDA_TRY(failure, cudaSetDevice, before->device));
}
