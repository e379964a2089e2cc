/* A thread's packs on their way: copied into slots of shared memory by nobody's hand, a few ahead
 * of the one that is added, so that loads take no registers and the next ones are always under way.
 * No thread looks into another one's slots, and so none waits for another. */
#pragma once

#include "../copies.cuh"
#include "words.cuh"

namespace KERNELS
{

/* A thread's packs, EXACT_SLOTS at a time, which are a tile: it is in the slots, or on its way. */
template <class In>
struct exact_stream {
    shared<pack<In>> slots;         /* blockDim.x apart */
    global<const pack<In>> at, end; /* the tile's first pack, where there is one; others follow */
    unsigned apart;

    __device__ __forceinline__ exact_stream(shared<void> memory, const in_packs<In> &x)
        : slots(static_cast<pack<In> *>(memory) + threadIdx.x), at(x.packs + rank_in_grid()),
          end(x.packs + x.count), apart(unsigned(threads_in_grid()))
    {
#pragma unroll
        for (unsigned k = 0; k < EXACT_SLOTS; k++)
            send(k, at + k * apart, false);
    }

    /* Whether there is nothing left for the whole warp. */
    __device__ __forceinline__ bool is_over() const
    {
        return at - threadIdx.x % warp_size >= end;
    }

    /* The first of this thread's next tile. */
    __device__ __forceinline__ global<const pack<In>> next() const
    {
        return at + EXACT_SLOTS * apart;
    }

    /* Whether a whole tile begins there. */
    __device__ __forceinline__ bool is_whole(global<const pack<In>> tile) const
    {
        return tile + (EXACT_SLOTS - 1) * apart < end;
    }

    /* Pack k of the tile, which is there when all but the latest copies are. */
    __device__ __forceinline__ pack<In> await(unsigned k) const
    {
        await_copies<EXACT_SLOTS - 1>();
        return slots[k * blockDim.x];
    }

    /* Has a pack copied to slot k; zeros, where there is none, change no sum. */
    __device__ __forceinline__ void send(unsigned k, global<const pack<In>> from, bool there) const
    {
        copy_ahead(slots + k * blockDim.x, from, there || from < end);
    }
};

} // namespace KERNELS
