/* Exercise 1, tail: each thread loads one element into shared memory; a tree reduces the tile.
 *
 * The array's last block may have fewer elements than threads. What should a thread without an
 * element store in the tile? (Fold::identity() does not change a sum.) Complete the line below.
 *
 * Launched like shared_sequential. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void tail(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;

    /* The hole. */
    const state_of<Fold> value = load<Fold>(data, i);

    const shared<state_of<Fold>> x = make_tile(value);
    fold_sequential<Fold>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
