/* Rung 24, cluster: blocks that access each other's shared memory.
 *
 * The blocks of a cluster run at the same time and combine their values in the shared memory of the
 * cluster's first block, which is the only one to draw a ticket; a grid of one cluster, as for
 * short arrays, draws none. However, a cluster starts only when there is room for all of its
 * blocks, and its barriers cost more than a ticket. Requires compute capability 9.0 or later. */
#pragma once

#include "../hopper.cuh"
#include "21_last_block.cuh"

namespace KERNELS
{

/* Reduces the values of thread 0 of each block in the cluster, for thread 0 of the first block.
 * After the first barrier all blocks run, and their shared memory can be overwritten. */
template <class Fold, class T>
__device__ __forceinline__ T cluster_fold(T value)
{
    const shared<T> of_blocks = block_memory<T>();
    cluster_barrier();
    if (threadIdx.x == 0)
        map_shared_rank(0, of_blocks)[cluster_rank()] = value;
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
