/* The exact sum of the products of two flat arrays' elements, in one launch, as sum.cuh has that of
 * one array's. A product of two floats narrower than float64 is a float64. One of two float64s is
 * rounded to one, and what that loses is another, which one instruction finds (T. J. Dekker, "A
 * floating-point technique for extending the available precision", Numer. Math. 18, 1971): both are
 * added in windows, those of the lower parts lying as far below the upper parts' as lower parts lie
 * below upper ones. A tile with a product that may not fit there, overflows, or is so small that
 * the lower part may be no float, is multiplied as integers and added one by one to the block's
 * words. */
#pragma once

#include "factors.cuh"
#include "sum.cuh"

namespace KERNELS
{

template <class In>
using products_layout_of = products_layout<exact_factor<In>::sums>;

/* A lane's packs of a tile, of either array: as many as registers suffice for. On an H200, 1 GiB of
 * normal numbers each take 475 us, float32 as float64. */
template <class In>
constexpr unsigned product_packs = std::is_same_v<In, float> || std::is_same_v<In, double> ? 2 : 1;

template <class In>
using product_tile = pack<uint32_t>[product_packs<In>];

/* ---- tiles ---- */

/* A warp's way through both arrays, side by side. Where the second is not aligned as the first is,
 * its elements are loaded one by one. */
template <class In>
struct product_tiles {
    global<const pack<In>> at, end; /* of the first array: this lane's pack, and the end */
    global<const In> other;         /* of the second: this lane's elements */
    bool aligned;                   /* the second as the first */

    __device__ __forceinline__ product_tiles(const in_packs<In> &x, global<const In> others)
        : end(x.packs + x.count)
    {
        const uint64_t first =
            rank_in_grid() / warp_size * (product_packs<In> * warp_size) + threadIdx.x % warp_size;
        at = x.packs + first;
        other = others + x.head + first * pack<In>::size;
        aligned = address_of(other) % sizeof(pack<In>) == 0;
    }

    /* Whether there is nothing left for the whole warp. */
    __device__ __forceinline__ bool is_over() const
    {
        return at - threadIdx.x % warp_size >= end;
    }

    __device__ __forceinline__ void move_on()
    {
        const uint64_t apart = threads_in_grid() * product_packs<In>;
        at += apart;
        other += apart * pack<In>::size;
    }

    /* Loads this lane's packs; zeros, where there is none, change no sum. */
    __device__ __forceinline__ void load(product_tile<In> &a, product_tile<In> &b) const
    {
        const global<const pack<uint32_t>> from = seen_as<const pack<uint32_t>>(at);
        if (aligned && at + (product_packs<In> - 1) * warp_size < end) {
            const global<const pack<uint32_t>> others = seen_as<const pack<uint32_t>>(other);
#pragma unroll
            for (unsigned k = 0; k < product_packs<In>; k++) {
                a[k] = from[k * warp_size];
                b[k] = others[k * warp_size];
            }
            return;
        }
#pragma unroll
        for (unsigned k = 0; k < product_packs<In>; k++) {
            const bool there = at + k * warp_size < end;
            a[k] = there ? from[k * warp_size] : pack<uint32_t>{};
            b[k] = there ? one_by_one(k) : pack<uint32_t>{};
        }
    }

  private:
    /* A pack of the second array, however that is aligned. */
    __device__ __forceinline__ pack<uint32_t> one_by_one(unsigned k) const
    {
        const global<const In> from = other + k * (warp_size * pack<In>::size);
        pack<In> loaded;
#pragma unroll
        for (unsigned i = 0; i < pack<In>::size; i++)
            loaded.at[i] = from[i];
        return pack_of<uint32_t>(loaded);
    }
};

/* Calls f(sum, factor, factor) for each product of two packs. */
template <class In, class Function>
__device__ __forceinline__ void each_product(const pack<uint32_t> &a, const pack<uint32_t> &b,
                                             Function f)
{
    using factor = exact_factor<In>;
    const pack<In> x = pack_of<In>(a), y = pack_of<In>(b);
#pragma unroll
    for (unsigned i = 0; i < pack<In>::size; i++)
#pragma unroll
        for (unsigned k = 0; k < factor::products; k++)
            f(k % factor::sums, double(factor::first(x.at[i], k)),
              double(factor::second(y.at[i], k)));
}

/* ---- windows ---- */

/* From an upper part's windows to those of what it has lost, no more than half its last bit. */
constexpr int lost_below = 53;

/* What windows hold: products whose magnitudes, the upper halves of a float64's bits, are within
 * these, or that are 0. Greater ones would lead out of the first window, whatever comes; the last
 * bit of lesser ones may lie below the last window. */
struct product_bounds {
    uint32_t least, end;
};

__device__ __forceinline__ uint32_t magnitude_of_power(int exponent)
{
    return uint32_t(exponent + 1023) << 20;
}

/* A thread's windows of a pair's sums, and of what their products lose. No product is added that is
 * out of bounds, so that all windows are as the lower ones of windows.cuh: nobody has to look. */
template <class In, unsigned Windows>
struct product_windows {
    static constexpr unsigned sums = exact_factor<In>::sums;
    exact_windows<sums, Windows> upper, lower;

    __device__ __forceinline__ product_windows(int exponent)
        : upper(exponent), lower(exponent - lost_below)
    {
    }

    static __device__ __forceinline__ product_bounds bounds(int exponent)
    {
        constexpr int bits = exact_element<product_of<In>>::bits;
        const int unit = exponent - int(Windows - 1) * WINDOW_APART - 52;
        return {magnitude_of_power(unit + bits - 1), magnitude_of_power(exponent - WINDOW_ROOM)};
    }

    __device__ __forceinline__ void add(unsigned s, double x, double y)
    {
        exact_doubts none;
        const double product = rounded_product(x, y);
        upper.template add<Windows>(s, product, none);
        if constexpr (product_loses<In>)
            lower.template add<Windows>(s, fma(x, y, -product), none);
    }

    __device__ __forceinline__ void flush(shared<exact_word> words, int exponent) const
    {
        flush_windows<products_layout_of<In>>(words, upper, exponent);
        if constexpr (product_loses<In>)
            flush_windows<products_layout_of<In>>(words, lower, exponent - lost_below);
    }
};

/* Whether a product lies below the bounds, though no factor is 0. */
template <class In>
__device__ __forceinline__ bool is_any_below(const product_tile<In> &a, const product_tile<In> &b,
                                             uint32_t least)
{
    bool any = false;
#pragma unroll
    for (unsigned p = 0; p < product_packs<In>; p++)
        each_product<In>(a[p], b[p], [&](unsigned, double x, double y) {
            any |= magnitude_bits(rounded_product(x, y)) < least && x != 0 && y != 0;
        });
    return any;
}

/* Whether all of a tile's products lie within bounds. Products of narrow floats are 0 where the
 * upper half of their bits is, and to subtract 1 lets them pass for great ones. */
template <class In>
__device__ __forceinline__ bool are_within(const product_tile<In> &a, const product_tile<In> &b,
                                           const product_bounds &bounds)
{
    constexpr uint32_t lowered = product_loses<In> ? 0 : 1;
    uint32_t greatest = 0, least = ~0u;
#pragma unroll
    for (unsigned p = 0; p < product_packs<In>; p++)
        each_product<In>(a[p], b[p], [&](unsigned, double x, double y) {
            const uint32_t magnitude = magnitude_bits(rounded_product(x, y));
            greatest = magnitude > greatest ? magnitude : greatest;
            least = magnitude - lowered < least ? magnitude - lowered : least;
        });
    if (greatest >= bounds.end)
        return false;
    return least >= bounds.least - lowered ||
           (product_loses<In> && !is_any_below<In>(a, b, bounds.least));
}

/* Adds a tile that no windows hold; as add_one_by_one. */
template <class In>
__device__ __noinline__ void add_products_one_by_one(shared<exact_word> words,
                                                     product_tiles<In> tiles)
{
#pragma unroll 1
    for (unsigned p = 0; p < product_packs<In> && tiles.at < tiles.end; p++) {
        const global<const In> elements = reinterpret_cast<const In *>(tiles.at);
#pragma unroll 1
        for (unsigned k = 0; k < pack<In>::size; k++)
            deposit_products(words, elements[k], tiles.other[k]);
        tiles.at += warp_size;
        tiles.other += warp_size * pack<In>::size;
    }
}

template <class In>
__device__ __forceinline__ exact_range range_of_products(const pack<uint32_t> &a,
                                                         const pack<uint32_t> &b)
{
    const uint32_t infinity = magnitude_bits(ends<double>::greatest);
    exact_range range = {0, infinity};
    each_product<In>(a, b, [&](unsigned, double x, double y) {
        const uint32_t magnitude = magnitude_bits(rounded_product(x, y));
        if (magnitude < infinity && magnitude > range.greatest)
            range.greatest = magnitude;
        if (magnitude && magnitude < range.least)
            range.least = magnitude;
    });
    return range;
}

/* ---- stretches ---- */

/* Tiles of a stretch: so many that no accumulator takes more numbers than it can. */
template <class In>
constexpr unsigned product_tiles_of_stretch =
    exact_factor<In>::sums * WINDOW_NUMBERS /
    (product_packs<In> * pack<In>::size * exact_factor<In>::products);

/* A warp's way through its tiles; all lanes take the same steps. */
template <class In>
struct product_course {
    static constexpr unsigned fewest = fewest_windows<product_of<In>>;
    shared<exact_word> words;
    product_tiles<In> tiles;
    product_tile<In> a, b; /* the tile that is added next */

    __device__ __forceinline__ product_course(shared<exact_word> words,
                                              const product_tiles<In> &tiles)
        : words(words), tiles(tiles)
    {
        tiles.load(a, b);
    }

    /* Adds the tile that is here, and loads the next. To load it sooner, registers do not suffice:
     * a block's other warps are what a warp's loads are hidden after. */
    template <unsigned Windows>
    __device__ __forceinline__ void add_tile(product_windows<In, Windows> &windows,
                                             const product_bounds &bounds)
    {
        if (are_within<In>(a, b, bounds)) {
#pragma unroll
            for (unsigned p = 0; p < product_packs<In>; p++)
                each_product<In>(a[p], b[p],
                                 [&](unsigned s, double f, double g) { windows.add(s, f, g); });
        } else {
            add_products_one_by_one<In>(words, tiles);
        }
        tiles.move_on();
        tiles.load(a, b);
    }

    template <unsigned Windows>
    __device__ __forceinline__ void add_stretch(int exponent)
    {
        /* So that the lowest of them all is a normal number. What it does not hold is no float. */
        constexpr int lowest = -1022 + lost_below + WINDOW_APART * int(Windows - 1);
        exponent = exponent < lowest ? lowest : exponent;
        product_windows<In, Windows> windows(exponent);
        const product_bounds bounds = product_windows<In, Windows>::bounds(exponent);
#pragma unroll 1
        for (unsigned k = product_tiles_of_stretch<In>; k > 0 && !tiles.is_over(); k--)
            add_tile(windows, bounds);
        __syncwarp();
        windows.flush(words, exponent);
    }

    /* Where most products are far from one another. */
    __device__ __forceinline__ void add_far_stretch()
    {
#pragma unroll 1
        for (unsigned k = product_tiles_of_stretch<In>; k > 0 && !tiles.is_over(); k--) {
            add_products_one_by_one<In>(words, tiles);
            tiles.move_on();
        }
        tiles.load(a, b);
    }

    __device__ __forceinline__ void add_all()
    {
#pragma unroll 1
        while (!tiles.is_over()) {
            const exact_choice choice =
                choose_windows<product_of<In>>(range_of_products<In>(a[0], b[0]));
            if (choice.windows == fewest)
                add_stretch<fewest>(choice.exponent);
            else if (choice.windows == fewest + 1)
                add_stretch<fewest + 1>(choice.exponent);
            else
                add_far_stretch();
        }
    }
};

/* ---- the whole arrays ---- */

template <class In>
__global__ void exact_products_sum(global<const In> data, uint64_t n, global<exact_word> state,
                                   global<struct exact_together> together, struct ending ending,
                                   enum fold, enum element, unsigned,
                                   SHARED_PARAMETER(struct exact_result) result,
                                   global<const In> factors)
{
    using layout = products_layout_of<In>;
    const shared<exact_word> words = block_memory<exact_word>();
    const in_packs<In> x(data, n);
    const uint64_t single = x.single(rank_in_grid());
    product_course<In> course(words, product_tiles<In>(x, factors));
    clear_words(words, layout::words);
    __syncthreads();
    if (single < n)
        deposit_products(words, data[single], factors[single]);
    course.add_all();
    end_with_words<layout>(words, state, together, ending, result);
}

/* Of real numbers of any types, one by one: where 64-bit integers are among them. */
__global__ void exact_products_of_any(global<const char> data, uint64_t n, global<exact_word> state,
                                      global<struct exact_together> together, struct ending ending,
                                      enum fold, enum element, unsigned,
                                      SHARED_PARAMETER(struct exact_result) result,
                                      global<const char> factors, enum element type,
                                      enum element factors_type)
{
    using layout = products_layout<1>;
    const shared<exact_word> words = block_memory<exact_word>();
    const unsigned size = 8; /* bytes of each */
    clear_words(words, layout::words);
    __syncthreads();
#pragma unroll 1
    for (uint64_t i = rank_in_grid(); i < n; i += threads_in_grid())
        deposit_product(words, exact_number_at(data + i * size, type),
                        exact_number_at(factors + i * size, factors_type));
    end_with_words<layout>(words, state, together, ending, result);
}

/* One thread makes the result that stays on the device, of words that nobody needs afterwards: all
 * of them would be too many for memory of its own. */
__global__ void exact_products_finish(global<struct exact_sums> state, enum reduction reduction,
                                      struct finish how, global<const uint64_t>,
                                      enum element out_type, global<unsigned char> out,
                                      struct ending ending, enum element accumulator)
{
    const enum fold fold = reduction == REDUCTION_norm ? FOLD_norm2 : FOLD_sum;
    const struct scalar_wide value = exact_finish_products(&how, fold, accumulator, state);
    scalar_store(out, scalar_convert(scalar_narrow(value, how.result), how.result, out_type),
                 out_type);
    post(ending, uint32_t(0));
}

} // namespace KERNELS
