/* A warp's tiles: runs of memory of which each lane has a few packs, the lanes' packs lying side by
 * side, so that one address serves all of a lane's loads. */
#pragma once

#include "words.cuh"

namespace KERNELS
{

constexpr unsigned tile_packs = 4; /* of a lane */

/* A lane's packs, as words: halves of words would be put together and taken apart again. */
using exact_tile = pack<uint32_t>[tile_packs];

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

    __device__ __forceinline__ exact_tiles(const in_packs<In> &x)
        : at(x.packs + rank_in_grid() / warp_size * (tile_packs * warp_size) +
             threadIdx.x % warp_size),
          end(x.packs + x.count), apart(threads_in_grid() * tile_packs)
    {
    }

    /* Whether there is nothing left for the whole warp. */
    __device__ __forceinline__ bool is_over() const
    {
        return at - threadIdx.x % warp_size >= end;
    }

    /* Loads this lane's packs of the tile; zeros, where there is none, change no sum. */
    __device__ __forceinline__ void load(exact_tile &loaded) const
    {
        const global<const pack<uint32_t>> from = seen_as<const pack<uint32_t>>(at);
        if (at + (tile_packs - 1) * warp_size < end) {
#pragma unroll
            for (unsigned k = 0; k < tile_packs; k++)
                loaded[k] = from[k * warp_size];
        } else {
#pragma unroll
            for (unsigned k = 0; k < tile_packs; k++)
                loaded[k] = at + k * warp_size < end ? from[k * warp_size] : pack<uint32_t>{};
        }
    }
};

} // namespace KERNELS
