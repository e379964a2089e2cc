/* Rung 21, last_block: one launch, and the last block to finish folds the partials.
 *
 * Blocks draw tickets when their partial is stored; who draws the last one knows that all are there
 * and folds them, in their own order: one launch like rung 20, and the same bits every time for
 * one array. The ticket counter wraps around to 0 by itself, ready for the next launch. A block
 * that is alone draws none. */
#pragma once

#include "../ending.cuh"
#include "../vector.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void last_block(SHARED_PARAMETER(Array) data, uint64_t n,
                           global<state_of<Fold>> partials, global<unsigned> tickets,
                           struct ending ending)
{
    const state_of<Fold> value = block_fold<Fold>(fold_vectors<Fold>(data, n));
    bool last = false;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = value;
        if (gridDim.x == 1)
            end_with<Fold>(ending, value);
    }
    if (gridDim.x == 1)
        return;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(tickets, gridDim.x - 1) == gridDim.x - 1;
    }
    if (!__syncthreads_or(last))
        return;
    __threadfence();
    const state_of<Fold> total = block_fold<Fold>(fold_partials<Fold>(partials, gridDim.x));
    if (threadIdx.x == 0) {
        partials[0] = total;
        end_with<Fold>(ending, total);
    }
}

} // namespace KERNELS
