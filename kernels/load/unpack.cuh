/* A mask's bits, eight to a byte, back to a byte an element: what kernels read. A host's mask takes
 * an eighth of the bus so, and its bytes are written at the GPU's own rate. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

/* n bytes of bits, the lowest first. */
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
