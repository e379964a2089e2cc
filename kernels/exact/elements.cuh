/* The policy of sum.cuh that sums an array's elements. A tile that the windows in use cannot hold
 * is added again in all windows, and if that fails, number by number to the block's words. */
#pragma once

#include "../load/narrow.cuh"
#include "tiles.cuh"
#include "windows.cuh"

namespace KERNELS
{

/* Packs of a tile per lane, limited by registers. */
template <class In>
constexpr unsigned element_packs = std::is_same_v<In, float> || sizeof(In) == 16 ? 2 : 4;

/* ---- one by one ---- */

template <class In>
__device__ __forceinline__ bool has_nan(In element)
{
    using term = exact_term<In>;
    return is_nan(term::term(element, 0)) || is_nan(term::term(element, term::terms - 1));
}

/* Adds an element to the words. NaNs are skipped, and counted, if skips_nan. */
template <class In>
__device__ __forceinline__ void add_element_to_words(shared<exact_word> words, In element,
                                                     bool skips_nan)
{
    using term = exact_term<In>;
    if (skips_nan && has_nan(element)) {
        atomicAdd(words + EXACT_SKIPPED, exact_word(1));
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < term::terms; k++)
        deposit_number<typename term::layout>(words + k % term::sums * term::layout::part,
                                              decoded(term::term(element, k)));
}

/* Replaces NaNs by zeros and returns their number. */
template <class In>
__device__ __forceinline__ unsigned replace_nans(pack<In> &loaded)
{
    unsigned count = 0;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        if (has_nan(loaded.at[k])) {
            loaded.at[k] = In{};
            count++;
        }
    return count;
}

/* ---- tiles that one window holds ---- */

/* Tests whether the first window holds a tile of bfloat16s: each is 0, or its last bit is no less
 * than the window's unit and it is so small that a tile cannot take a window that has room out of
 * its range. Only the bits of the magnitudes are tested, two per word; each number then takes one
 * addition. */
struct tile_test {
    static constexpr uint32_t sign = 0x8000, both_halves = 0x00010001;
    uint32_t least, count; /* bits of the least magnitude in range; number of magnitudes in range */

    __device__ __forceinline__ explicit tile_test(int exponent)
    {
        const exact_bounds bounds(exponent, 1, exact_term<bfloat16>::bits);
        const uint32_t end = bits_of_power(bounds.end);
        least = bits_of_power(bounds.least);
        count = end > least ? end - least : 0;
    }

    template <unsigned Packs>
    __device__ __forceinline__ bool passes(const lane_packs<Packs> &loaded) const
    {
        return all_in_range(loaded) || all_in_range_or_zero(loaded);
    }

  private:
    /* Whether all are in range and none is 0. Those in range become the least signed integers. */
    template <unsigned Packs>
    __device__ __forceinline__ bool all_in_range(const lane_packs<Packs> &loaded) const
    {
        constexpr uint32_t signs = sign * both_halves;
        const uint32_t lowered = least * both_halves;
        uint32_t greatest = signs;
#pragma unroll
        for (unsigned k = 0; k < Packs * 4; k++)
            greatest =
                best_of_signed_halves<false>(greatest, (loaded[k / 4].at[k % 4] | signs) - lowered);
        return ((greatest ^ sign) & 0xffff) < count && (greatest >> 16 ^ sign) < count;
    }

    /* Whether all are in range or 0. */
    template <unsigned Packs>
    __device__ __forceinline__ bool all_in_range_or_zero(const lane_packs<Packs> &loaded) const
    {
        bool within = true;
#pragma unroll
        for (unsigned k = 0; k < Packs * 8; k++) {
            const uint32_t bits = loaded[k / 8].at[k / 2 % 4] >> k % 2 * 16 & (sign - 1);
            within &= bits == 0 || bits - least < count;
        }
        return within;
    }

    /* The bits of 2^exponent, clamped to the smallest normal number and infinity. */
    static __device__ __forceinline__ uint32_t bits_of_power(int exponent)
    {
        const int biased = exponent + 127;
        return uint32_t(biased < 1 ? 1 : biased > 255 ? 255 : biased) << 7;
    }
};

/* ---- the policy ---- */

template <class In>
struct element_terms {
    using element = In;
    using term = exact_term<In>;
    using layout = typename term::layout;
    static constexpr unsigned packs = element_packs<In>, terms = packs * terms_of_pack<In>;
    using tile = lane_packs<packs>;
    using tiles = warp_tiles<In, packs>;
    static constexpr bool prefetches = !term::tests_tiles;

    bool skips_nan;   /* NaNs are skipped */
    unsigned skipped; /* the number of NaNs skipped */

    __device__ __forceinline__ explicit element_terms(bool skips_nan)
        : skips_nan(skips_nan), skipped(0)
    {
    }

    /* Windows for a batch of tiles, which are added in the first `Used` of them. */
    template <unsigned Used>
    struct windows {
        static constexpr bool holds_all = Used == term::full_windows;
        static constexpr unsigned used = Used, count = holds_all ? Used : term::min_windows + 1;
        exact_windows<term::sums, count> sums;
        tile_test test;

        __device__ __forceinline__ explicit windows(int exponent) : sums(exponent), test(exponent)
        {
        }

        __device__ __forceinline__ void flush(shared<exact_word> words) const
        {
            flush_windows<layout>(words, sums);
        }
    };

    static __device__ __forceinline__ exact_range range_of(const tile &loaded)
    {
        exact_range range;
#pragma unroll
        for (unsigned k = 0; k < terms_of_pack<In>; k++)
            range.add(double(term_of(pack_of<In>(loaded[0]), k)));
        return range;
    }

    /* Adds a tile in the first `used` windows. If these cannot hold it, the windows are
     * unchanged. */
    template <class Windows>
    __device__ __forceinline__ bool try_add(Windows &windows, const tile &loaded) const
    {
        constexpr unsigned per_pack = terms_of_pack<In>;
        const auto number = [&](unsigned k) {
            return term_of(pack_of<In>(loaded[k / per_pack]), k % per_pack);
        };
        window_checks unused;
        if constexpr (Windows::holds_all) {
            bool finite = true;
#pragma unroll
            for (unsigned p = 0; p < packs; p++)
                finite &= all_finite<In>(loaded[p]);
            if (finite)
                windows.sums.template add_all<Windows::used, terms>(number, unused);
            return finite;
        } else {
            if constexpr (term::tests_tiles)
                if (windows.sums.has_room() && windows.test.passes(loaded)) {
                    static_assert(terms <= 64, "a tile does not lead out of windows");
                    windows.sums.template add_all<1, terms>(number, unused);
                    return true;
                }
            return windows.sums.template try_add_all<Windows::used, terms>(number);
        }
    }

    /* Adds a tile in all windows: reads it again, pack by pack, and skips NaNs if skips_nan.
     * Windows that hold all finite numbers are tested beforehand, and need no copy to restore. */
    template <class Windows>
    __device__ __forceinline__ bool try_add_in_all_windows(Windows &windows, const tiles &here)
    {
        constexpr bool holds_all = Windows::holds_all;
        const auto before = windows.sums;
        window_checks checks;
        unsigned found = 0;
        if constexpr (holds_all)
            if (!is_finite(here))
                return false;
        here.each_pack([&](global<const pack<In>> at) {
            pack<In> loaded = *at;
            if (skips_nan)
                found += replace_nans(loaded);
            windows.sums.template add_all<Windows::count, terms_of_pack<In>>(
                [&](unsigned k) { return term_of(loaded, k); }, checks);
        });
        const bool held = holds_all || !checks.failed();
        if (held)
            skipped += found;
        else
            windows.sums = before;
        return held;
    }

    /* Adds a tile that does not fit in the windows. It is read again, out of line, so that this
     * rare case occupies no registers elsewhere. */
    static __device__ __noinline__ void add_one_by_one(shared<exact_word> words, tiles here,
                                                       bool skips_nan)
    {
        here.each_pack([&](global<const pack<In>> at) {
#pragma unroll 1
            for (unsigned k = 0; k < pack<In>::size; k++)
                add_element_to_words(words, pointer_cast<const In>(at)[k], skips_nan);
        });
    }

    /* Adds one of the elements that are in no pack. */
    __device__ __forceinline__ void add_single(shared<exact_word> words, global<const In> data,
                                               global<const In>, uint64_t k)
    {
        add_element_to_words(words, data[k], skips_nan);
    }

    /* Notes the sums in which a thread's share has an element other than -0. Mostly its first one
     * is, and no more are read. */
    static __device__ __noinline__ void watch(shared<exact_word> words, global<const In> data,
                                              uint64_t n, uint64_t rank, uint64_t threads,
                                              bool skips_nan)
    {
        unsigned unseen = (1u << term::sums) - 1;
#pragma unroll 1
        for (uint64_t i = rank; i < n && unseen; i += threads)
#pragma unroll
            for (unsigned k = 0; k < term::sums; k++)
                if ((unseen >> k & 1) && !(skips_nan && has_nan(data[i])) &&
                    bits_of(term::term(data[i], k)) != uint64_t(1) << 63) {
                    atomicAdd(words + k * layout::part + EXACT_NOT_NEGATIVE_ZERO, exact_word(1));
                    unseen &= ~(1u << k);
                }
    }

    __device__ __forceinline__ void finish(shared<exact_word> words) const
    {
        if (skipped)
            atomicAdd(words + EXACT_SKIPPED, exact_word(skipped));
    }

  private:
    /* Whether all of a tile is finite, except for NaNs that are skipped. */
    __device__ __forceinline__ bool is_finite(const tiles &here) const
    {
        bool finite = true;
        here.each_pack([&](global<const pack<In>> at) {
            pack<In> loaded = *at;
            if (skips_nan)
                replace_nans(loaded);
            finite &= all_finite<In>(pack_of<uint32_t>(loaded));
        });
        return finite;
    }
};

} // namespace KERNELS
