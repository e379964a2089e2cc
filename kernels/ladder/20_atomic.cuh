/* Rung 20, atomic: a single launch, with one atomic operation per block.
 *
 * Each block combines its result with `*result`, which is initialized to the identity; no second
 * pass is needed. Blocks finish in no particular order, so the last bits of a floating-point sum
 * may vary from run to run. */
#pragma once

#include "../atomic.cuh"
#include "../vector.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void atomic(Array data, uint64_t n, global<state_of<Fold>> result)
{
    const state_of<Fold> value = block_fold<Fold>(fold_vectors<Fold>(data, n));
    if (threadIdx.x == 0)
        atomic_combine<Fold>(result, value);
}

} // namespace KERNELS
