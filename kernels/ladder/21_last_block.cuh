/* Rung 21, last_block: one launch, and the last block to finish folds the partials.
 *
 * Blocks draw tickets when their partial is stored; who draws the last one knows that all are there
 * and folds them, in their own order: one launch like rung 20, and the same bits every time for
 * one array. The ticket counter wraps around to 0 by itself, ready for the next launch. A block
 * that is alone draws none. */
#pragma once

#include "../mailbox.cuh"
#include "../vector.cuh"

namespace KERNELS
{

/* By all threads of a block, of which thread 0 has partial number `rank` of `count`. */
template <class Fold>
__device__ __forceinline__ void fold_in_last_block(const state_of<Fold> &value, unsigned rank,
                                                   unsigned count, global<state_of<Fold>> partials,
                                                   global<unsigned> tickets,
                                                   const struct epilogue &epilogue)
{
    bool last = false;
    if (threadIdx.x == 0) {
        partials[rank] = value;
        if (count == 1)
            end_with<Fold>(epilogue, value);
    }
    if (count == 1)
        return;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(tickets, count - 1) == count - 1;
    }
    if (!__syncthreads_or(last))
        return;
    __threadfence();
    const state_of<Fold> total = block_fold<Fold>(fold_partials<Fold>(partials, count));
    if (threadIdx.x == 0) {
        partials[0] = total;
        end_with<Fold>(epilogue, total);
    }
}

template <class Fold, class Array>
__global__ void last_block(SHARED_PARAMETER(Array) data, uint64_t n,
                           global<state_of<Fold>> partials, global<unsigned> tickets,
                           struct epilogue epilogue)
{
    const state_of<Fold> value = block_fold<Fold>(fold_vectors<Fold>(data, n));
    fold_in_last_block<Fold>(value, blockIdx.x, gridDim.x, partials, tickets, epilogue);
}

} // namespace KERNELS
