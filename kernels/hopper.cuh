/* Primitives of GPUs of compute capability 9.0 and later: mbarriers that count bytes, bulk copies
 * that signal them, and clusters, whose blocks run at the same time and can access each other's
 * shared memory. For the simulated device they are in simulated/words.h. */
#pragma once

#include "device.cuh"

#ifdef __CUDACC__

namespace KERNELS
{

using mbarrier = uint64_t;

__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return unsigned(__cvta_generic_to_shared(at));
}

/* A phase completes when `arrivals` threads have arrived and all bytes that they announced have
 * been written. Phases are identified by their parity; the first is 0. */
__device__ __forceinline__ void mbarrier_init(shared<mbarrier> barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* Make initialized barriers visible to copies. Called by the thread that initialized them. */
__device__ __forceinline__ void mbarrier_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(shared<mbarrier> barrier, unsigned bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Wait until the phase of the given parity has completed. */
__device__ __forceinline__ void mbarrier_wait(shared<mbarrier> barrier, unsigned parity)
{
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
                 "@!ended bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* Asynchronous copy that uses no registers. Addresses and length must be multiples of 16 bytes. */
__device__ __forceinline__ void bulk_copy(shared<void> to, global<const void> from, unsigned bytes,
                                          shared<mbarrier> barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

/* Not defined when compiling for earlier GPUs, on which nothing calls these. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ unsigned cluster_size()
{
    return __clusterSizeInBlocks();
}

__device__ __forceinline__ unsigned cluster_rank()
{
    return __clusterRelativeBlockRank();
}

/* Barrier for all threads of the cluster that have not exited. */
__device__ __forceinline__ void cluster_barrier()
{
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

/* The same place in the shared memory of another block of the cluster. */
template <class T>
__device__ __forceinline__ shared<T> map_shared_rank(unsigned rank, shared<T> here)
{
    return static_cast<T *>(__cluster_map_shared_rank(here, rank));
}

#endif

} // namespace KERNELS

#endif
