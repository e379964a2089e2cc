/* Rung 23, bulk: copies that bring themselves.
 *
 * One thread asks for thousands of bytes at a time, a unit of the multiprocessor's own brings them
 * to shared memory, and a barrier there counts them as they come. No load waits in anybody's
 * registers; but every byte takes a way more, through shared memory. GPUs of compute capability 9.0
 * and later can do so. */
#pragma once

#include "../ring.cuh"
#include "21_last_block.cuh"

namespace KERNELS
{

template <class Fold, class In>
__global__ void bulk(global<const In> data, uint64_t n, global<state_of<Fold>> partials,
                     global<unsigned> tickets, struct ending ending)
{
    const in_packs<In> x(data, n);
    const state_of<Fold> of_packs = fold_through_ring<Fold>(x);
    const state_of<Fold> value = block_fold<Fold>(
        with_single<Fold>(of_packs, positioned<In>{data, 0}, n, x.single(rank_in_grid())));
    fold_in_last_block<Fold>(value, blockIdx.x, gridDim.x, partials, tickets, ending);
}

} // namespace KERNELS
