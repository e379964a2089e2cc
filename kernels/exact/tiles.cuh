/* A warp's tiles: runs of memory of which each lane has a few packs, the lanes' packs lying side by
 * side, so that one address serves all of a lane's loads. */
#pragma once

#include "terms.cuh"

namespace KERNELS
{

/* Packs are words: halves of words would be put together and taken apart again. */
template <unsigned Packs>
using lane_packs = pack<uint32_t>[Packs];

/* Has the compiler work a value out here, and not anew wherever it is needed: where registers are
 * scarce, it spills others for what that takes. */
template <class T>
__device__ __forceinline__ T worked_out(T value)
{
#ifdef __CUDA_ARCH__
    asm("" : "+l"(value));
#endif
    return value;
}

/* Of a thread, one of so many. */
template <class In, unsigned Packs>
struct warp_tiles {
    global<const pack<In>> at, end; /* this lane's first pack of the tile, and the array's end */
    uint64_t stride;                /* packs from one of the warp's tiles to its next */

    /* The second array is for the tiles of two. */
    __device__ __forceinline__ warp_tiles(const in_packs<In> &x, global<const In>, uint64_t rank,
                                          uint64_t threads)
        : at(x.packs + rank / warp_size * (Packs * warp_size) + threadIdx.x % warp_size),
          end(worked_out(x.packs + x.count)), stride(worked_out(threads * Packs))
    {
    }

    /* Whether there is nothing left for the whole warp. */
    __device__ __forceinline__ bool is_over() const
    {
        return at - threadIdx.x % warp_size >= end;
    }

    __device__ __forceinline__ void move_on()
    {
        at += stride;
    }

    /* Whether this lane has all of its packs. */
    __device__ __forceinline__ bool is_whole() const
    {
        return at + (Packs - 1) * warp_size < end;
    }

    /* Loads this lane's packs; zeros, where there is none, change no sum. */
    __device__ __forceinline__ void load(lane_packs<Packs> &loaded) const
    {
        const global<const pack<uint32_t>> from = seen_as<const pack<uint32_t>>(at);
        if (is_whole()) {
#pragma unroll
            for (unsigned k = 0; k < Packs; k++)
                loaded[k] = from[k * warp_size];
        } else {
#pragma unroll
            for (unsigned k = 0; k < Packs; k++)
                loaded[k] = at + k * warp_size < end ? from[k * warp_size] : pack<uint32_t>{};
        }
    }

    /* Calls f with the address of each of this lane's packs, in a loop for what is seldom. */
    template <class Function>
    __device__ __forceinline__ void each_pack(Function f) const
    {
        global<const pack<In>> here = at;
#pragma unroll 1
        for (unsigned packs = Packs; packs > 0 && here < end; packs--, here += warp_size)
            f(here);
    }
};

template <unsigned Packs>
struct pair_of_packs {
    lane_packs<Packs> a, b;
};

/* The same of two arrays, side by side. Where the second is not aligned as the first is, its
 * elements are loaded one by one. */
template <class In, unsigned Packs>
struct warp_tiles_of_two : warp_tiles<In, Packs> {
    using first = warp_tiles<In, Packs>;
    global<const In> other; /* this lane's elements of the second */
    bool aligned;           /* the second as the first */

    __device__ __forceinline__ warp_tiles_of_two(const in_packs<In> &x, global<const In> others,
                                                 uint64_t rank, uint64_t threads)
        : first(x, others, rank, threads),
          other(others + x.head + uint64_t(first::at - x.packs) * pack<In>::size),
          aligned(address_of(other) % sizeof(pack<In>) == 0)
    {
    }

    __device__ __forceinline__ void move_on()
    {
        first::move_on();
        other += first::stride * pack<In>::size;
    }

    __device__ __forceinline__ void load(pair_of_packs<Packs> &loaded) const
    {
        const global<const pack<uint32_t>> from = seen_as<const pack<uint32_t>>(first::at);
        if (aligned && first::is_whole()) {
            const global<const pack<uint32_t>> others = seen_as<const pack<uint32_t>>(other);
#pragma unroll
            for (unsigned k = 0; k < Packs; k++) {
                loaded.a[k] = from[k * warp_size];
                loaded.b[k] = others[k * warp_size];
            }
            return;
        }
#pragma unroll
        for (unsigned k = 0; k < Packs; k++) {
            const bool there = first::at + k * warp_size < first::end;
            const global<const In> others = other + k * (warp_size * pack<In>::size);
            loaded.a[k] = there ? from[k * warp_size] : pack<uint32_t>{};
            loaded.b[k] = there ? pack_of<uint32_t>(unaligned_pack(others)) : pack<uint32_t>{};
        }
    }
};

} // namespace KERNELS
