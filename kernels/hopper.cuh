/* Words that came with GPUs of compute capability 9.0: barriers in shared memory that count bytes,
 * and copies that tell them; clusters, whose blocks run at the same time and reach each other's
 * shared memory. On the simulated device simulated/words.h has them. */
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

/* A phase of the barrier ends when so many threads have arrived and all bytes that they have
 * announced are there. Phases are told apart by their parity; the first is 0. */
__device__ __forceinline__ void mbarrier_init(shared<mbarrier> barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* By who has made barriers, before any copy is told of them. */
__device__ __forceinline__ void mbarriers_show()
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

/* Until the phase of that parity has ended. */
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

/* A copy that nobody's registers are needed for. Addresses and length are multiples of 16. */
__device__ __forceinline__ void bulk_copy(shared<void> to, global<const void> from, unsigned bytes,
                                          shared<mbarrier> barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}

/* Other GPUs' compilers do not know these, which nothing calls there. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

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

#endif

} // namespace KERNELS

#endif
