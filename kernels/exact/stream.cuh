/* A thread's packs on their way: copied into slots of shared memory by nobody's hand, a few ahead
 * of the one that is added, so that loads take no registers and the next ones are always under way.
 * No thread looks into another one's slots, and so none waits for another. */
#pragma once

#include "words.cuh"

namespace KERNELS
{

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

/* Copies 16 bytes, or makes them 0 where there is nothing; one copy is one group. */
__device__ __forceinline__ void copy_ahead(shared<void> to, global<const void> from, bool there)
{
    const unsigned at = unsigned(__cvta_generic_to_shared(to)), bytes = there ? 16 : 0;
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;\n\tcp.async.commit_group;" ::"r"(at),
        "l"(from), "r"(bytes)
        : "memory");
}

/* Until all but so many of this thread's copies, the latest, are done. */
template <unsigned Latest>
__device__ __forceinline__ void await_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Latest) : "memory");
}

#else

__device__ __forceinline__ void copy_ahead(shared<void> to, global<const void> from, bool there)
{
    pack<uint32_t> copied = {};
    if (there)
        copied = *static_cast<const pack<uint32_t> *>(from);
    memcpy(to, &copied, sizeof copied);
}

template <unsigned Latest>
__device__ __forceinline__ void await_copies()
{
}

#endif

template <class In>
struct exact_stream {
    shared<pack<In>> slot, first;   /* that of the next pack to be added, and the first one */
    global<const pack<In>> at, end; /* the next pack to be copied */
    unsigned apart, slots;

    __device__ __forceinline__ exact_stream(shared<void> memory, const in_packs<In> &x)
        : slot(static_cast<pack<In> *>(memory) + threadIdx.x), first(slot),
          at(x.packs + rank_in_grid()), end(x.packs + x.count), apart(unsigned(threads_in_grid())),
          slots(exact_slots(blockDim.x))
    {
        for (unsigned k = 0; k < slots; k++)
            send();
    }

    /* Whether there is nothing left for the whole warp, and for this thread. */
    __device__ __forceinline__ bool is_over() const
    {
        return at - uint64_t(slots) * apart - threadIdx.x % warp_size >= end;
    }

    __device__ __forceinline__ bool is_there() const
    {
        return at - uint64_t(slots) * apart < end;
    }

    /* Has the next pack where that has been which was added last. */
    __device__ __forceinline__ void send()
    {
        copy_ahead(slot, at, at < end);
        at += apart;
        slot += blockDim.x;
        if (slot == first + slots * blockDim.x)
            slot = first;
    }

    __device__ __forceinline__ void await() const
    {
        if (slots == EXACT_SLOTS)
            await_copies<EXACT_SLOTS - 1>();
        else
            await_copies<EXACT_SLOTS / 2 - 1>();
    }
};

} // namespace KERNELS
