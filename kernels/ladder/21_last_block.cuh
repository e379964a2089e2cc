/* Rung 21, last_block: a single launch; the last block to finish reduces the partial results.
 *
 * Each block stores its partial result and then draws a ticket. The block that draws the last
 * ticket knows that all partial results are stored and reduces them in order of block index. This
 * takes one launch, as rung 20 does, but the result is bitwise reproducible. The ticket counter
 * wraps around to 0 for the next launch. A single block draws no ticket. */
#pragma once

#include "../mailbox.cuh"
#include "../vector.cuh"

namespace KERNELS
{

/* Called by all threads of a block; thread 0 holds partial result `rank` of `count`. */
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
            deliver_state<Fold>(epilogue, value);
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
        deliver_state<Fold>(epilogue, total);
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
