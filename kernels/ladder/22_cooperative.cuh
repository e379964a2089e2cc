/* Rung 22, cooperative: one cooperative launch with a grid-wide barrier.
 *
 * In a cooperative launch all blocks are resident at the same time, so they can wait for each
 * other. After the barrier the first block reduces the partial results of all blocks. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void cooperative(Array data, uint64_t n, global<state_of<Fold>> partials,
                            global<unsigned> arrived)
{
    store_partial(partials, block_fold<Fold>(fold_vectors<Fold>(data, n)));
    grid_barrier(arrived);
    if (blockIdx.x > 0)
        return;
    const state_of<Fold> total = block_fold<Fold>(fold_partials<Fold>(partials, gridDim.x));
    if (threadIdx.x == 0)
        partials[0] = total;
}

} // namespace KERNELS
