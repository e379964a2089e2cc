/* What the host has to say, as an argument, which a graph keeps, where its memory may be gone. */
#pragma once

#include "../device.cuh"

#include "common/kernel_arguments.h"

namespace KERNELS
{

/* One block. */
__global__ void write(SHARED_PARAMETER(written_words) words, unsigned count,
                      global<uint64_t> target)
{
    if (threadIdx.x < count)
        target[threadIdx.x] = words.at[threadIdx.x];
}

} // namespace KERNELS
