/* Rung 3, interleaved: the stride starts at half the block and halves.
 *
 * The threads that work are packed, as on rung 2, and now their elements are neighbours in memory
 * too: a warp's loads coalesce. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void interleaved(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> x = own_slice(data, n, blockDim.x);
    T value = own_element<Op>(x);
    fold_interleaved<Op>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
