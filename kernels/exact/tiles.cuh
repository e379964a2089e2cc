/* A warp's tiles: contiguous memory of which each lane loads several packs. The packs of all lanes
 * are interleaved, so that all loads of a lane use one address. */
#pragma once

#include "terms.cuh"

namespace KERNELS
{

/* Packs of 32-bit words: 16-bit halves would be packed and unpacked again. */
template <unsigned Packs>
using lane_packs = pack<uint32_t>[Packs];

/* Forces the compiler to compute a value here. Otherwise it recomputes it at each use and, if
 * registers are scarce, spills others for that. */
template <class T>
__device__ __forceinline__ T materialized(T value)
{
#ifdef __CUDA_ARCH__
    asm("" : "+l"(value));
#endif
    return value;
}

/* The tiles of one lane. */
template <class In, unsigned Packs>
struct warp_tiles {
    global<const pack<In>> at, end; /* this lane's first pack of the tile, and the array's end */
    uint64_t stride;                /* packs from one of the warp's tiles to its next */

    /* The second parameter is used by warp_tile_pairs only. */
    __device__ __forceinline__ warp_tiles(const aligned_packs<In> &x, global<const In>,
                                          uint64_t rank, uint64_t threads)
        : at(x.packs + rank / warp_size * (Packs * warp_size) + threadIdx.x % warp_size),
          end(materialized(x.packs + x.count)), stride(materialized(threads * Packs))
    {
    }

    /* Whether no tile is left for the whole warp. */
    __device__ __forceinline__ bool is_done() const
    {
        return at - threadIdx.x % warp_size >= end;
    }

    __device__ __forceinline__ void advance()
    {
        at += stride;
    }

    /* Whether this lane has all of its packs. */
    __device__ __forceinline__ bool is_full() const
    {
        return at + (Packs - 1) * warp_size < end;
    }

    /* Loads this lane's packs, with zeros in place of missing ones. */
    __device__ __forceinline__ void load(lane_packs<Packs> &loaded) const
    {
        const global<const pack<uint32_t>> from = pointer_cast<const pack<uint32_t>>(at);
        if (is_full()) {
#pragma unroll
            for (unsigned k = 0; k < Packs; k++)
                loaded[k] = from[k * warp_size];
        } else {
#pragma unroll
            for (unsigned k = 0; k < Packs; k++)
                loaded[k] = at + k * warp_size < end ? from[k * warp_size] : pack<uint32_t>{};
        }
    }

    /* Calls f with the address of each of this lane's packs. Not unrolled, for rare cases. */
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
struct pack_pair {
    lane_packs<Packs> a, b;
};

/* Tiles of two arrays. If their alignments differ, the second array's elements are loaded one by
 * one. */
template <class In, unsigned Packs>
struct warp_tile_pairs : warp_tiles<In, Packs> {
    using base = warp_tiles<In, Packs>;
    global<const In> other; /* this lane's elements of the second array */
    bool aligned;           /* whether the second array is aligned like the first */

    __device__ __forceinline__ warp_tile_pairs(const aligned_packs<In> &x, global<const In> others,
                                               uint64_t rank, uint64_t threads)
        : base(x, others, rank, threads),
          other(others + x.head + uint64_t(base::at - x.packs) * pack<In>::size),
          aligned(address_of(other) % sizeof(pack<In>) == 0)
    {
    }

    __device__ __forceinline__ void advance()
    {
        base::advance();
        other += base::stride * pack<In>::size;
    }

    __device__ __forceinline__ void load(pack_pair<Packs> &loaded) const
    {
        const global<const pack<uint32_t>> from = pointer_cast<const pack<uint32_t>>(base::at);
        if (aligned && base::is_full()) {
            const global<const pack<uint32_t>> others = pointer_cast<const pack<uint32_t>>(other);
#pragma unroll
            for (unsigned k = 0; k < Packs; k++) {
                loaded.a[k] = from[k * warp_size];
                loaded.b[k] = others[k * warp_size];
            }
            return;
        }
#pragma unroll
        for (unsigned k = 0; k < Packs; k++) {
            const bool valid = base::at + k * warp_size < base::end;
            const global<const In> others = other + k * (warp_size * pack<In>::size);
            loaded.a[k] = valid ? from[k * warp_size] : pack<uint32_t>{};
            loaded.b[k] = valid ? pack_of<uint32_t>(load_unaligned_pack(others)) : pack<uint32_t>{};
        }
    }
};

} // namespace KERNELS
