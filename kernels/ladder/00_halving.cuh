/* Rung 0, halving: the whole grid folds the upper half of the array onto the lower, in place.
 *
 * One launch is one level. Looping over the levels inside a launch would be a race: blocks run in
 * no order, so one could read sums that another has yet to write. Only the end of a launch makes
 * every block wait for every other. Cost: log2(n) launches, and the array is read twice and written
 * once altogether. */
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
