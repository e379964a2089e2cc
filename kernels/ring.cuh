/* A ring buffer in shared memory: asynchronous copies, which use no registers, fill some stages
 * while others are being folded. */
#pragma once

#include "hopper.cuh"
#include "vector.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* The ring of one block. The array's packs are divided into chunks of one stage each, of which the
 * block takes every gridDim.x-th. */
template <class In>
struct ring {
    static constexpr unsigned size = RING_STAGE_BYTES / sizeof(pack<In>);

    const aligned_packs<In> &x;
    const shared<pack<In>> stages = block_memory<pack<In>>();
    const shared<mbarrier> filled = pointer_cast<mbarrier>(stages + RING_STAGES * size);

    /* First pack and number of packs of this block's k-th chunk; the number is 0 beyond the end. */
    __device__ __forceinline__ uint64_t first(unsigned k) const
    {
        return (blockIdx.x + uint64_t(k) * gridDim.x) * size;
    }

    __device__ __forceinline__ unsigned count(unsigned k) const
    {
        const uint64_t begin = first(k);
        return begin >= x.count ? 0 : x.count - begin < size ? unsigned(x.count - begin) : size;
    }

    /* Start the copy of a chunk, into a stage that is no longer read. Called by one thread. */
    __device__ __forceinline__ void fill(unsigned k) const
    {
        const unsigned stage = k % RING_STAGES, bytes = count(k) * sizeof(pack<In>);
        if (bytes == 0)
            return;
        mbarrier_arrive(filled + stage, bytes);
        bulk_copy(stages + stage * size, x.packs + first(k), bytes, filled + stage);
    }

    /* Initialize the barriers and start the first copies. Called by all threads. */
    __device__ __forceinline__ void start() const
    {
        if (threadIdx.x == 0) {
            for (unsigned stage = 0; stage < RING_STAGES; stage++)
                mbarrier_init(filled + stage, 1);
            mbarrier_fence();
            for (unsigned k = 0; k < RING_STAGES; k++)
                fill(k);
        }
        __syncthreads();
    }

    /* Wait for a chunk and return its packs. */
    __device__ __forceinline__ shared<const pack<In>> wait(unsigned k) const
    {
        const unsigned stage = k % RING_STAGES;
        mbarrier_wait(filled + stage, k / RING_STAGES % 2);
        return stages + stage * size;
    }
};

/* Fold this thread's share of the packs. When it returns, no thread reads the ring any more. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_through_ring(const aligned_packs<In> &x)
{
    const ring<In> ring{x};
    state_of<Fold> state = Fold::identity();
    ring.start();
#pragma unroll 1
    for (unsigned k = 0; ring.count(k) > 0; k++) {
        state = fold_packs<Fold, In>(state, ring.wait(k), ring.count(k), threadIdx.x, blockDim.x,
                                     x.head + ring.first(k) * pack<In>::size);
        __syncthreads();
        if (threadIdx.x == 0)
            ring.fill(k + RING_STAGES);
    }
    return state;
}

} // namespace KERNELS
