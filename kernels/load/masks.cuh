/* Masks: counting unmasked elements, and expanding bit masks, eight elements to a byte, to the byte
 * masks that kernels read. A host's mask is sent as bits, which take an eighth of the bus; the
 * bytes are then written at the GPU's own rate. */
#pragma once

#include "../vector.cuh"
#include "counted.cuh"

namespace KERNELS
{

/* Add the number of unmasked elements to *counted. */
__global__ void count_unmasked(SHARED_PARAMETER(layout) from, uint64_t n,
                               global<unsigned long long> counted)
{
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    uint64_t count = 0;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
        count += from.mask[offsets_of(from, from.dimensions, i).mask] != 0;
    add_count(counted, count);
}

/* Expand n bytes of bits, lowest bit first. */
__global__ void unpack(global<const unsigned char> bits, uint64_t n, global<pack<uint8_t, 8>> mask)
{
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        pack<uint8_t, 8> valid;
#pragma unroll
        for (unsigned k = 0; k < 8; k++)
            valid.at[k] = bits[i] >> k & 1;
        mask[i] = valid;
    }
}

} // namespace KERNELS
