/* Rung 24, cluster: blocks that reach each other's shared memory.
 *
 * The blocks of a cluster run at the same time and fold their values in the shared memory of their
 * first one, which alone draws a ticket; where one cluster does it all, as with short arrays,
 * nobody does. But a cluster begins only where there is room for all of it, and its barriers cost
 * more than a ticket. GPUs of compute capability 9.0 and later can do so. */
#pragma once

#include "../hopper.cuh"
#include "21_last_block.cuh"

namespace KERNELS
{

/* Thread 0 of the cluster's first block has the fold of what threads 0 of all blocks have. At the
 * first barrier all blocks are there, and have read what their shared memory held. */
template <class Fold, class T>
__device__ __forceinline__ T cluster_fold(T value)
{
    const shared<T> of_blocks = block_memory<T>();
    cluster_barrier();
    if (threadIdx.x == 0)
        in_block(0, of_blocks)[cluster_rank()] = value;
    cluster_barrier();
    if (cluster_rank() == 0 && threadIdx.x < warp_size)
        value = warp_fold<Fold>(threadIdx.x < cluster_size() ? of_blocks[threadIdx.x]
                                                             : Fold::identity());
    return value;
}

template <class Fold, class In>
__global__ void cluster(global<const In> data, uint64_t n, global<state_of<Fold>> partials,
                        global<unsigned> tickets, struct epilogue epilogue)
{
    const state_of<Fold> of_block = block_fold<Fold>(fold_vectors<Fold>(data, n));
    const state_of<Fold> value = cluster_fold<Fold>(of_block);
    if (cluster_rank() == 0)
        fold_in_last_block<Fold>(value, blockIdx.x / cluster_size(), gridDim.x / cluster_size(),
                                 partials, tickets, epilogue);
}

} // namespace KERNELS
