/* Write words given as a kernel argument: a graph keeps it, while host memory may be gone. */
#pragma once

#include "../device.cuh"

#include "common/kernel_arguments.h"

namespace KERNELS
{

/* Launched with one block. */
__global__ void write(SHARED_PARAMETER(written_words) words, unsigned count,
                      global<uint64_t> target)
{
    if (threadIdx.x < count)
        target[threadIdx.x] = words.at[threadIdx.x];
}

} // namespace KERNELS
