/* The words of clusters, which came with GPUs of compute capability 9.0: blocks that run at the
 * same time and reach each other's shared memory. */
#pragma once

#include "device.cuh"

namespace KERNELS
{

#ifdef __CUDACC__

__device__ __forceinline__ unsigned cluster_size()
{
    return __clusterSizeInBlocks();
}

__device__ __forceinline__ unsigned cluster_rank()
{
    return __clusterRelativeBlockRank();
}

/* Every thread of the cluster that has not ended waits here. */
__device__ __forceinline__ void cluster_barrier()
{
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

/* Where an address in this block's shared memory is in that of another block of the cluster. */
template <class T>
__device__ __forceinline__ shared<T> in_block(unsigned rank, shared<T> here)
{
    return static_cast<T *>(__cluster_map_shared_rank(here, rank));
}

#else

inline unsigned cluster_size()
{
    return simulator_here()->cluster_size;
}

inline unsigned cluster_rank()
{
    return simulator_here()->cluster_rank;
}

#ifndef GRED_COUNTING

inline void cluster_barrier()
{
    simulator_barrier_cluster();
}

template <class T>
shared<T> in_block(unsigned rank, shared<T> here)
{
    return static_cast<T *>(simulator_memory_of_block(here, rank));
}

#endif

#endif

} // namespace KERNELS
