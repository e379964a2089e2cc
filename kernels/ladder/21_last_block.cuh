/* Rung 21, last_block: one launch, and the last block to finish folds the partials.
 *
 * Blocks draw tickets when their partial is stored; who draws the last one knows that all are there
 * and folds them, in their own order: one launch like rung 20, and the same bits every time for
 * one array. The
 * ticket counter wraps around to 0 by itself, ready for the next launch. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

template <class Op, class Array, class Acc>
__global__ void last_block(Array data, uint64_t n, global<Acc> partials, global<unsigned> tickets)
{
    const Acc value = block_fold<Op>(fold_vectors<Op, Acc>(data, n));
    bool last = false;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = value;
        __threadfence();
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    if (!__syncthreads_or(last))
        return;
    __threadfence();
    const Acc total = block_fold<Op>(fold_partials<Op, Acc>(partials, gridDim.x));
    if (threadIdx.x == 0)
        partials[0] = total;
}

} // namespace KERNELS
