#include "cuda/check.h"

/* CUDA keeps the last error for whoever asks next, who shall not take it for their own. */
bool cuda_check(struct failure *failure, cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return true;
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        failure_note(failure, FAILURE_MEMORY, "%s: %s (%s)", call, cudaGetErrorString(error),
                     cudaGetErrorName(error));
    else
        failure_note_cuda(failure, call, cudaGetErrorName(error), cudaGetErrorString(error));
    return false;
}
