/* Exercise 4, banks: the tree of exercise 3 without bank conflicts.
 *
 * Shared memory has 32 banks, and word w is in bank w % 32. Lanes that access words at a stride of
 * `2 * stride` use few banks, and their accesses are serialized. Any pairs are correct if every
 * element is added once: choose pairs in which consecutive threads access consecutive words.
 *
 * Launched like shared_strided. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void banks(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold>(data, n);

    /* The hole: another order of strides, and other pairs. */
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned i = 2 * stride * threadIdx.x;
        if (i < blockDim.x)
            x[i] = Fold::merge(x[i], x[i + stride]);
        __syncthreads();
    }
    store_partial(partials, x[0]);
}

} // namespace KERNELS
