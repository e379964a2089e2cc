/* Rung 0, halving: each launch combines the upper half of the array with the lower half, in place.
 *
 * One launch performs one level. A loop over the levels inside a launch would be a race: blocks run
 * in no particular order, so one could read sums that another has not written yet. Only the end of
 * a launch synchronizes all blocks. Cost: log2(n) launches; in total the array is read twice and
 * written once. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void halving(global<state_of<Fold>> data, uint64_t n, global<state_of<Fold>>)
{
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t half = n - n / 2;
    if (i < n / 2)
        data[i] = Fold::merge(data[i], data[i + half]);
}

} // namespace KERNELS
