/* Rung 22, cooperative: one cooperative launch, with a barrier across the grid.
 *
 * A cooperative launch promises that all blocks are resident at once, so they may wait for each
 * other: after the barrier the first block folds the partials of all. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

template <class Op, class Array, class Acc>
__global__ void cooperative(Array data, uint64_t n, global<Acc> partials, global<unsigned> arrived)
{
    store_partial(partials, block_fold<Op>(fold_vectors<Op, Acc>(data, n)));
    grid_barrier(arrived);
    if (blockIdx.x > 0)
        return;
    const Acc total = block_fold<Op>(fold_partials<Op, Acc>(partials, gridDim.x));
    if (threadIdx.x == 0)
        partials[0] = total;
}

} // namespace KERNELS
