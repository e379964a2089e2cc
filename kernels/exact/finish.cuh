/* Exact results that stay on the device. */
#pragma once

#include "../ending.cuh"

#include "common/exact_words.h"

namespace KERNELS
{

/* One thread. `counted` is the device's own count of what took part, null where the host knows. */
__global__ void exact_finish(global<const void> state, enum reduction reduction, struct finish how,
                             global<const uint64_t> counted, enum element out_type,
                             global<unsigned char> out, struct ending ending,
                             enum element accumulator)
{
    struct exact_sums sums;
    const bool mean = reduction == REDUCTION_mean || reduction == REDUCTION_nanmean;
    uint64_t count = counted ? *counted : how.count;
    const struct scalar_wide value = exact_finish_words(
        &how, mean, static_cast<const int64_t *>(state), accumulator, &count, &sums);
    scalar_store(out, scalar_convert(scalar_narrow(value, how.result), how.result, out_type),
                 out_type);
    post(ending, uint32_t(0));
}

} // namespace KERNELS
