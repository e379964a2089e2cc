/* Rung 19, shuffle_vector: 16-byte loads, several in flight.
 *
 * A thread asks for 16 bytes at once and for several such before it uses the first: fewer
 * instructions for the same bytes, and more bytes in flight: enough for the memory's whole
 * bandwidth. */
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
