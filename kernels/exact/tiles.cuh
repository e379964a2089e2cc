/* A warp's tiles: runs of memory of which each lane has a few packs, the lanes' packs lying side by
 * side, so that one address serves all of a lane's loads. */
#pragma once

#include "words.cuh"

namespace KERNELS
{

/* A lane's packs of a tile. On an H200, 256 MiB and 1 GiB of normal numbers take, with four and
 * with two, in microseconds: float32 70.5 and 251, 69 and 247; float64 67 and 241, 72 and 252;
 * bfloat16 71 and 247 with four; complex64 68 and 242, 69 and 247; complex128 96 and 349, 71 and
 * 248. */
template <class In>
constexpr unsigned tile_packs = std::is_same_v<In, float> || sizeof(In) == 16 ? 2 : 4;

/* They are words: halves of words would be put together and taken apart again. */
template <class In>
using exact_tile = pack<uint32_t>[tile_packs<In>];

template <class To, class From>
__device__ __forceinline__ pack<To> pack_of(const pack<From> &from)
{
    pack<To> to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <class In>
struct exact_tiles {
    global<const pack<In>> at, end; /* this lane's first pack of the tile, and the array's end */
    uint64_t apart;                 /* packs from one of the warp's tiles to its next */

    /* Of a thread, one of so many. */
    __device__ __forceinline__ exact_tiles(const in_packs<In> &x, uint64_t rank, uint64_t threads)
        : at(x.packs + rank / warp_size * (tile_packs<In> * warp_size) + threadIdx.x % warp_size),
          end(x.packs + x.count), apart(threads * tile_packs<In>)
    {
    }

    /* Whether there is nothing left for the whole warp. */
    __device__ __forceinline__ bool is_over() const
    {
        return at - threadIdx.x % warp_size >= end;
    }

    /* Loads this lane's packs of the tile; zeros, where there is none, change no sum. */
    __device__ __forceinline__ void load(exact_tile<In> &loaded) const
    {
        const global<const pack<uint32_t>> from = seen_as<const pack<uint32_t>>(at);
        if (at + (tile_packs<In> - 1) * warp_size < end) {
#pragma unroll
            for (unsigned k = 0; k < tile_packs<In>; k++)
                loaded[k] = from[k * warp_size];
        } else {
#pragma unroll
            for (unsigned k = 0; k < tile_packs<In>; k++)
                loaded[k] = at + k * warp_size < end ? from[k * warp_size] : pack<uint32_t>{};
        }
    }
};

} // namespace KERNELS
