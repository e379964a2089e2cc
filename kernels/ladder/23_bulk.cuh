/* Rung 23, bulk: asynchronous bulk copies.
 *
 * One thread issues copies of thousands of bytes, which the Tensor Memory Accelerator moves to
 * shared memory, and an mbarrier there counts the bytes that have arrived. No registers hold loads
 * in flight; but every byte goes through shared memory as well. GPUs of compute capability 9.0 and
 * later have this. */
#pragma once

#include "../ring.cuh"
#include "21_last_block.cuh"

namespace KERNELS
{

template <class Fold, class In>
__global__ void bulk(global<const In> data, uint64_t n, global<state_of<Fold>> partials,
                     global<unsigned> tickets, struct epilogue epilogue)
{
    const in_packs<In> x(data, n);
    const state_of<Fold> of_packs = fold_through_ring<Fold>(x);
    const state_of<Fold> value = block_fold<Fold>(
        with_single<Fold>(of_packs, positioned<In>{data, 0}, n, x.single(rank_in_grid())));
    fold_in_last_block<Fold>(value, blockIdx.x, gridDim.x, partials, tickets, epilogue);
}

} // namespace KERNELS
