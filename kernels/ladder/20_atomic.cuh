/* Rung 20, atomic: one launch, and an atomic a block.
 *
 * Each block combines its result into `*result`, which holds the identity beforehand; no second
 * pass is needed. The blocks come in no fixed order, so the last bits of a floating-point sum may
 * differ from run to run. */
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
