/* Rung 19, shuffle_vector: several 16-byte loads in flight.
 *
 * A thread issues several 16-byte loads before it uses the first one. This takes fewer
 * instructions for the same number of bytes and keeps enough bytes in flight to saturate the
 * memory bandwidth. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void shuffle_vector(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    store_partial(partials, block_fold<Fold>(fold_vectors<Fold>(data, n)));
}

} // namespace KERNELS
