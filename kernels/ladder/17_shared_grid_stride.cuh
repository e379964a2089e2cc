/* Rung 17, shared_grid_stride: as many elements a thread as it takes.
 *
 * The grid is about as large as the device can hold and strides over the array, two elements a
 * thread and step. The tree, which is latency and no bandwidth, is climbed once a block and not
 * once every 2 * Block elements. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_grid_stride(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = make_tile(fold_grid_stride<Fold>(data, n));
    fold_complete<Fold, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
