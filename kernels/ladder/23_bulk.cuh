/* Rung 23, bulk: asynchronous bulk copies.
 *
 * One thread issues copies of thousands of bytes, which the Tensor Memory Accelerator writes to
 * shared memory, where an mbarrier counts the bytes that have arrived. Loads in flight occupy no
 * registers, but all bytes pass through shared memory. Requires compute capability 9.0 or later. */
#pragma once

#include "../ring.cuh"
#include "21_last_block.cuh"

namespace KERNELS
{

template <class Fold, class In>
__global__ void bulk(global<const In> data, uint64_t n, global<state_of<Fold>> partials,
                     global<unsigned> tickets, struct epilogue epilogue)
{
    const aligned_packs<In> x(data, n);
    const state_of<Fold> of_packs = fold_through_ring<Fold>(x);
    const state_of<Fold> value = block_fold<Fold>(
        merged_with_single<Fold>(of_packs, positioned<In>{data, 0}, n, x.single(rank_in_grid())));
    fold_in_last_block<Fold>(value, blockIdx.x, gridDim.x, partials, tickets, epilogue);
}

} // namespace KERNELS
