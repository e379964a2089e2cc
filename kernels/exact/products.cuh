/* The policy of sum.cuh that sums products of two arrays' elements. A product of two floats
 * narrower than float64 is a float64. A product of two float64s is rounded to a float64, and the
 * rounding error is another float64, which one FMA computes (T. J. Dekker, "A floating-point
 * technique for extending the available precision", Numer. Math. 18, 1971). Both are added in
 * windows; those of the errors are WINDOW_ERROR exponents below those of the products. If a product
 * in a tile may not fit, overflows, or is so small that the error may not be a float64, the tile is
 * multiplied in integers and added one by one to the block's words. */
#pragma once

#include "sum.cuh"

namespace KERNELS
{

/* ---- the policy ---- */

/* Packs of a tile per lane and array, limited by registers. */
template <class In>
constexpr unsigned product_packs = std::is_same_v<In, float> || std::is_same_v<In, double> ? 2 : 1;

template <class In>
struct product_terms {
    using element = In;
    using factor = exact_factor<In>;
    using term = exact_term<product_of<In>>;
    using layout = typename term::layout;
    static constexpr unsigned packs = product_packs<In>,
                              terms = packs * pack<In>::size * factor::products;
    using tile = pack_pair<packs>;
    using tiles = warp_tile_pairs<In, packs>;

    /* There are too few registers for prefetching: other warps of the block hide the latency of
     * loads. */
    static constexpr bool prefetches = false, skips_nan = false;

    __device__ __forceinline__ explicit product_terms(bool) {}

    /* Windows for a batch of tiles, for the products and for their rounding errors. Only products
     * within the bounds are added, so no window needs the checks of the first window in
     * windows.cuh. The bounds are the upper halves of the bits of float64 magnitudes. */
    template <unsigned Used>
    struct windows {
        static constexpr bool holds_all = false;
        exact_windows<factor::sums, Used> upper, lower;
        uint32_t least, end;

        __device__ __forceinline__ explicit windows(int exponent)
            : upper(exponent), lower(exponent - WINDOW_ERROR)
        {
            const exact_bounds bounds(exponent, Used, exact_term<product_of<In>>::bits);
            least = uint32_t(bounds.least + 1023) << 20;
            end = uint32_t(bounds.end + 1023) << 20;
        }

        __device__ __forceinline__ void add(unsigned s, double x, double y)
        {
            window_checks unused;
            const double product = rounded_product(x, y);
            upper.template add<Used>(s, product, unused);
            if constexpr (term::has_errors)
                lower.template add<Used>(s, fma(x, y, -product), unused);
        }

        __device__ __forceinline__ void flush(shared<exact_word> words) const
        {
            flush_windows<layout>(words, upper);
            if constexpr (term::has_errors)
                flush_windows<layout>(words, lower);
        }
    };

    static __device__ __forceinline__ exact_range range_of(const tile &loaded)
    {
        exact_range range;
        each_product<In>(pack_of<In>(loaded.a[0]), pack_of<In>(loaded.b[0]),
                         [&](unsigned, double x, double y) { range.add(rounded_product(x, y)); });
        return range;
    }

    template <class Windows>
    __device__ __forceinline__ bool try_add(Windows &windows, const tile &loaded) const
    {
        const bool within = all_within(loaded, windows.least, windows.end);
        if (within)
            each_of_tile(loaded, [&](unsigned s, double x, double y) { windows.add(s, x, y); });
        return within;
    }

    template <class Windows>
    __device__ __forceinline__ bool try_add_in_all_windows(Windows &, const tiles &) const
    {
        return false;
    }

    /* Adds a tile that does not fit in the windows; out of line because it is rare. */
    static __device__ __noinline__ void add_one_by_one(shared<exact_word> words, tiles here, bool)
    {
        here.each_pack([&](global<const pack<In>> at) {
            const global<const In> a = pointer_cast<const In>(at),
                                   b = here.other + (a - pointer_cast<const In>(here.at));
#pragma unroll 1
            for (unsigned k = 0; k < pack<In>::size; k++)
                deposit_products(words, a[k], b[k]);
        });
    }

    __device__ __forceinline__ void add_single(shared<exact_word> words, global<const In> data,
                                               global<const In> factors, uint64_t k) const
    {
        deposit_products(words, data[k], factors[k]);
    }

    static __device__ __forceinline__ void watch(shared<exact_word>, global<const In>, uint64_t,
                                                 uint64_t, uint64_t, bool)
    {
    }

    __device__ __forceinline__ void finish(shared<exact_word>) const {}

  private:
    template <class Function>
    static __device__ __forceinline__ void each_of_tile(const tile &loaded, Function f)
    {
#pragma unroll
        for (unsigned p = 0; p < packs; p++)
            each_product<In>(pack_of<In>(loaded.a[p]), pack_of<In>(loaded.b[p]), f);
    }

    /* Whether all of a tile's products are within the bounds, or 0 because a factor is. Products of
     * narrow floats are 0 if the upper half of their bits is 0; subtracting 1 makes these large, so
     * that they pass the lower bound. */
    static __device__ __forceinline__ bool all_within(const tile &loaded, uint32_t least,
                                                      uint32_t end)
    {
        constexpr uint32_t lowered = term::has_errors ? 0 : 1;
        uint32_t greatest = 0, smallest = ~0u;
        each_of_tile(loaded, [&](unsigned, double x, double y) {
            const uint32_t magnitude = magnitude_bits(rounded_product(x, y));
            greatest = magnitude > greatest ? magnitude : greatest;
            smallest = magnitude - lowered < smallest ? magnitude - lowered : smallest;
        });
        if (greatest >= end)
            return false;
        return smallest >= least - lowered || (term::has_errors && !any_below(loaded, least));
    }

    static __device__ __forceinline__ bool any_below(const tile &loaded, uint32_t least)
    {
        bool any = false;
        each_of_tile(loaded, [&](unsigned, double x, double y) {
            any |= magnitude_bits(rounded_product(x, y)) < least && x != 0 && y != 0;
        });
        return any;
    }

    static __device__ __forceinline__ void deposit_products(shared<exact_word> words, In a, In b)
    {
#pragma unroll
        for (unsigned k = 0; k < factor::products; k++)
            deposit_product(words + k % factor::sums * layout::part, decoded(factor::first(a, k)),
                            decoded(factor::second(b, k)));
    }
};

/* Products of real numbers of any types, one by one; used if 64-bit integers are among them. */
__global__ void exact_products_of_any(global<const char> data, uint64_t n, global<exact_word> state,
                                      global<struct exact_shared_words> together,
                                      struct epilogue epilogue, enum fold, enum element, unsigned,
                                      SHARED_PARAMETER(struct exact_result) result,
                                      global<const char> factors, enum element type,
                                      enum element factors_type)
{
    using layout = products_layout<1>;
    const shared<exact_word> words = block_memory<exact_word>();
    const unsigned size = 8; /* bytes per element */
    clear_words(words, layout::words);
    __syncthreads();
#pragma unroll 1
    for (uint64_t i = rank_in_grid(); i < n; i += threads_in_grid())
        deposit_product(words, exact_number_at(data + i * size, type),
                        exact_number_at(factors + i * size, factors_type));
    finish_words<layout>(words, state, together, epilogue, result);
}

} // namespace KERNELS
