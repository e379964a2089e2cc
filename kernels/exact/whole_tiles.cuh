/* Tiles of which the first window of an exact sum takes all numbers whole. */
#pragma once

#include "../narrow.cuh"
#include "tiles.cuh"
#include "windows.cuh"

namespace KERNELS
{

/* What the first window takes whole: bfloat16s of which the last bit is no less than its unit, and
 * which are so small that a tile of them does not lead out of a window that has room; and zeros.
 * All that is looked at are the bits of their magnitudes, two in a word; then each takes one
 * addition. */
struct whole_bounds {
    static constexpr unsigned width = 16, fraction = 7, halves = 2;
    static constexpr uint32_t sign = 0x8000, everywhere = 0x00010001;
    uint32_t least; /* the bits of the smallest magnitude, */
    uint32_t count; /* and of how many there are from it on */

    __device__ __forceinline__ whole_bounds(int exponent)
        : least(bits_of_power(exponent - 52 + int(exact_element<bfloat16>::bits) - 1))
    {
        const uint32_t end = bits_of_power(exponent - WINDOW_ROOM);
        count = end > least ? end - least : 0;
    }

    /* Whether all are within bounds, and none is 0: seen as signed integers, they are the smallest.
     */
    template <class Tile>
    __device__ __forceinline__ bool have_all(const Tile &loaded) const
    {
        constexpr uint32_t signs = sign * everywhere;
        const uint32_t lowered = least * everywhere;
        uint32_t greatest = signs;
        for_each_word(loaded, [&](uint32_t word) {
            greatest = best_of_signed_halves<false>(greatest, (word | signs) - lowered);
        });
        return ((greatest ^ sign) & 0xffff) < count && (greatest >> width ^ sign) < count;
    }

    /* The same where some may be 0. */
    template <class Tile>
    __device__ __forceinline__ bool have_all_but_zeros(const Tile &loaded) const
    {
        bool within = true;
        for_each_word(loaded, [&](uint32_t word) {
#pragma unroll
            for (unsigned h = 0; h < halves; h++) {
                const uint32_t bits = word >> h * width & (sign - 1);
                within &= bits == 0 || bits - least < count;
            }
        });
        return within;
    }

  private:
    template <unsigned Packs, class Function>
    static __device__ __forceinline__ void for_each_word(const pack<uint32_t> (&loaded)[Packs],
                                                         Function f)
    {
#pragma unroll
        for (unsigned p = 0; p < Packs; p++)
#pragma unroll
            for (unsigned k = 0; k < pack<uint32_t>::size; k++)
                f(loaded[p].at[k]);
    }

    /* Of a normal number, or an infinity. */
    static __device__ __forceinline__ uint32_t bits_of_power(int exponent)
    {
        const int biased = exponent + 127;
        return uint32_t(biased < 1 ? 1 : biased > 255 ? 255 : biased) << fraction;
    }
};

struct no_bounds {
    __device__ __forceinline__ no_bounds(int) {}
};

template <class In>
using tile_bounds = std::conditional_t<may_be_whole<In>, whole_bounds, no_bounds>;

template <class In, unsigned Sums, unsigned Windows>
__device__ __forceinline__ void add_whole(exact_windows<Sums, Windows> &sums,
                                          const exact_tile<In> &loaded)
{
    constexpr unsigned numbers = numbers_of_pack<In>;
    static_assert(tile_packs<In> * numbers <= 64, "a tile does not lead out of windows");
    exact_doubts none;
#pragma unroll
    for (unsigned k = 0; k < tile_packs<In> * numbers; k++)
        sums.template add<1>(k % Sums, number_of(pack_of<In>(loaded[k / numbers]), k % numbers),
                             none);
}

} // namespace KERNELS
