/* Windows in vector registers, and exact sums of floats and of products by means of them; see
 * common/exact.h. */
#pragma once

#include "convert.cuh"
#include "registers.cuh"

#include "common/exact.h"

namespace KERNELS
{
namespace
{

using doubles = vector<double>;
using words = vector<uint64_t>;

/* 1.5 * 2^exponent. */
FORCEINLINE doubles center_of(int exponent)
{
    const uint64_t bits = uint64_t(exponent + 1023) << 52 | uint64_t(1) << 51;
    return broadcast(load<double>(&bits));
}

/* Whether all lanes are zeros of either sign. */
FORCEINLINE bool all_zero(words x)
{
    return !has_bits(x + x);
}

/* The neutral element: zero, or NaN if NaNs are skipped. */
template <class In, bool SkipsNan>
FORCEINLINE In padding_element()
{
    if constexpr (SkipsNan)
        return nan_element<In>();
    else
        return In{};
}

/* Replaces NaNs by 0 and counts the other numbers. */
FORCEINLINE doubles replace_nans(doubles x, words &count)
{
    const words is_number = words(x == x);
    count -= is_number;
    return doubles(words(x) & is_number);
}

/* Several windows of several registers each, whose additions are independent. */
template <unsigned Windows, unsigned Registers>
struct vector_windows {
    static_assert(Registers * vector_lanes<double> >= WINDOW_LANES,
                  "a lane takes more than a window has room for");
    doubles centers[Windows], at[Windows][Registers];

    FORCEINLINE explicit vector_windows(int highest)
    {
        UNROLLED_FOR(unsigned w = 0; w < Windows; w++)
        {
            centers[w] = center_of(highest + WINDOW_HEADROOM - int(w) * WINDOW_STEP);
            UNROLLED_FOR(unsigned r = 0; r < Registers; r++)
            at[w][r] = centers[w];
        }
    }

    /* Adds numbers and returns the remainders of the last window. */
    FORCEINLINE doubles add(unsigned r, doubles x)
    {
        UNROLLED_FOR(unsigned w = 0; w < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        return x;
    }

    FORCEINLINE void total(int64_t (*sums)[2]) const
    {
        UNROLLED_FOR(unsigned w = 0; w < Windows; w++)
        distance(at[w], centers[w], sums[w]);
    }

    FORCEINLINE bool is_valid() const
    {
        words broken = {};
        UNROLLED_FOR(unsigned r = 0; r < Registers; r++)
        broken |= words(at[0][r] != at[0][r]);
        return all_zero(broken);
    }

  private:
    /* The sums: the accumulators' distances from their center, in units. */
    FORCEINLINE static void distance(const doubles (&at)[Registers], doubles center,
                                     int64_t (&sums)[2])
    {
        words total = {};
        UNROLLED_FOR(unsigned r = 0; r < Registers; r++)
        total += words(at[r]) - words(center);
        uint64_t wrapping[2] = {}; /* of a broken window, which is not used */
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<double>; k++)
        wrapping[k % 2] += total[k];
        sums[0] = int64_t(wrapping[0]);
        sums[1] = int64_t(wrapping[1]);
    }
};

/* Stores the windows' remainders, as long as there is room for them. */
template <unsigned Registers>
FORCEINLINE void store_remainders(const doubles (&x)[Registers], struct windowed *result)
{
    constexpr unsigned count = Registers * vector_lanes<double>;
    static_assert(WINDOW_REMAINDERS % count == 0, "what is left has no room");
    result->whole = result->whole && result->lefts < WINDOW_REMAINDERS;
    if (!result->whole)
        return;
    UNROLLED_FOR(unsigned r = 0; r < Registers; r++)
    memcpy(result->left + result->lefts + r * vector_lanes<double>, &x[r], sizeof x[r]);
    result->lefts += count;
}

/* ---- sums ---- */

/* Enough independent registers to hide the latency of additions. */
constexpr unsigned window_registers = 4, window_lanes = window_registers * vector_lanes<double>;

/* The type in which magnitudes are compared; narrower types are converted to float32. */
template <class In>
using compared_type = std::conditional_t<sizeof(In) == sizeof(double), double, float>;

/* Few instruction sets compare 64-bit integers. */
#if defined(__AVX512BW__)
constexpr unsigned widest_compared = sizeof(double);
#else
constexpr unsigned widest_compared = sizeof(float);
#endif

template <class In, unsigned Windows, bool SkipsNan>
struct window_accumulator {
    using element = In;
    using part = compared_type<In>;
    static constexpr unsigned step = window_lanes, in_part = vector_lanes<part>,
                              parts = step / in_part;
    static constexpr bool compares_integers = !SkipsNan && sizeof(part) <= widest_compared;
    vector_windows<Windows, window_registers> windows;
    using word = bits_of<sizeof(part)>;
    using magnitudes = vector<word>;
    magnitudes greatest[parts] = {};
    words numbers = {};
    struct windowed *result;

    FORCEINLINE window_accumulator(int highest, struct windowed *result)
        : windows(highest), result(result)
    {
        result->whole = true;
        result->lefts = 0;
    }

    FORCEINLINE void update(const In *x)
    {
        UNROLLED_FOR(unsigned p = 0; p < parts; p++)
        compare_magnitudes(p, load_as<part>(x + p * in_part));
        doubles remainders[window_registers];
        words any = {};
        UNROLLED_FOR(unsigned r = 0; r < window_registers; r++)
        {
            remainders[r] = add(r, load_as<double>(x + r * vector_lanes<double>));
            any |= words(remainders[r]);
        }
        if (__builtin_expect(!all_zero(any), false))
            store_remainders(remainders, result);
    }

    FORCEINLINE void finish()
    {
        windows.total(result->sums);
        result->whole = result->whole && windows.is_valid();
        result->numbers = 0;
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<double>; k++)
        result->numbers += numbers[k];
        word maximum = 0;
        UNROLLED_FOR(unsigned p = 0; p < parts; p++)
        UNROLLED_FOR(unsigned k = 0; k < in_part; k++)
        maximum = greatest[p][k] > maximum ? greatest[p][k] : maximum;
        result->greatest = double(load<part>(&maximum));
    }

  private:
    /* Compared as integers, magnitudes are in the same order, and NaNs are the largest. */
    FORCEINLINE void compare_magnitudes(unsigned p, vector<part> x)
    {
        const magnitudes bits = magnitudes(x) & (word(-1) >> 1);
        if constexpr (compares_integers)
            greatest[p] = bits > greatest[p] ? bits : greatest[p];
        else
            greatest[p] = vector<part>(bits) > vector<part>(greatest[p]) ? bits : greatest[p];
    }

    FORCEINLINE doubles add(unsigned r, doubles x)
    {
        return windows.add(r, SkipsNan ? replace_nans(x, numbers) : x);
    }
};

template <class In, unsigned Windows, bool SkipsNan>
void window_loop(const void *floats, size_t n, int highest, struct windowed *result)
{
    window_accumulator<In, Windows, SkipsNan> sums(highest, result);
    accumulate(sums, static_cast<const In *>(floats), n, padding_element<In, SkipsNan>());
    sums.finish();
}

/* ---- sums of products ---- */

constexpr unsigned product_registers =
    WINDOW_LANES > 2 * vector_lanes<double> ? WINDOW_LANES / vector_lanes<double> : 2;

/* The exact rounding error of a product: by one FMA, or from halves of the factors, whose products
 * are exact float64s. */
#if defined(__AVX512F__)

FORCEINLINE doubles product_error(doubles a, doubles b, doubles product)
{
    return doubles(_mm512_fmsub_pd(__m512d(a), __m512d(b), __m512d(product)));
}

#elif defined(__FMA__)

FORCEINLINE doubles product_error(doubles a, doubles b, doubles product)
{
    return doubles(_mm256_fmsub_pd(__m256d(a), __m256d(b), __m256d(product)));
}

#else

struct halves {
    doubles high, low;

    /* Halves of 26 bits each; the sign of the lower one counts as a bit (G. W. Veltkamp, 1968). */
    FORCEINLINE explicit halves(doubles x)
    {
        const doubles shifted = x * 0x8000001p0;
        high = shifted - (shifted - x);
        low = x - high;
    }
};

FORCEINLINE doubles product_error(doubles a, doubles b, doubles product)
{
    const halves x(a), y(b);
    return x.low * y.low - (((product - x.high * y.high) - x.low * y.high) - x.high * y.low);
}

#endif

template <class In, unsigned Windows>
struct product_accumulator {
    using element = In;
    static constexpr unsigned step = product_registers * vector_lanes<double>;
    /* Products of narrower types are exact. */
    static constexpr bool has_errors = std::is_same_v<In, double>;
    vector_windows<Windows, product_registers> windows, errors;
    doubles greatest[product_registers], least[product_registers];
    struct windowed *result;

    FORCEINLINE product_accumulator(int highest, struct windowed *result)
        : windows(highest), errors(highest - WINDOW_ERROR), result(result)
    {
        result->whole = true;
        result->lefts = 0;
        UNROLLED_FOR(unsigned r = 0; r < product_registers; r++)
        {
            greatest[r] = broadcast(0.0);
            least[r] = broadcast(ends<double>::greatest);
        }
    }

    FORCEINLINE void update(pointer_pair<In> at)
    {
        doubles remainders[product_registers], error_remainders[product_registers];
        words any = {};
        UNROLLED_FOR(unsigned r = 0; r < product_registers; r++)
        {
            const doubles x = load_as<double>(at.a + r * vector_lanes<double>),
                          y = load_as<double>(at.b + r * vector_lanes<double>), product = x * y;
            compare(r, absolute_value(product));
            remainders[r] = windows.add(r, product);
            any |= words(remainders[r]);
            if constexpr (has_errors) {
                error_remainders[r] = errors.add(r, product_error(x, y, product));
                any |= words(error_remainders[r]);
            }
        }
        if (__builtin_expect(!all_zero(any), false)) {
            store_remainders(remainders, result);
            if constexpr (has_errors)
                store_remainders(error_remainders, result);
        }
    }

    FORCEINLINE void finish()
    {
        double maximum = 0;
        windows.total(result->sums);
        result->whole = result->whole && windows.is_valid();
        if constexpr (has_errors) {
            errors.total(result->lost);
            result->whole = result->whole && errors.is_valid();
        }
        UNROLLED_FOR(unsigned r = 0; r < product_registers; r++)
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<double>; k++)
        maximum = greatest[r][k] > maximum ? greatest[r][k] : maximum;
        result->greatest = maximum;
    }

    FORCEINLINE double least_product() const
    {
        double minimum = ends<double>::greatest;
        UNROLLED_FOR(unsigned r = 0; r < product_registers; r++)
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<double>; k++)
        minimum = least[r][k] < minimum ? least[r][k] : minimum;
        return minimum;
    }

  private:
    FORCEINLINE void compare(unsigned r, doubles magnitude)
    {
        greatest[r] = magnitude > greatest[r] ? magnitude : greatest[r];
        if constexpr (has_errors)
            least[r] = magnitude < least[r] ? magnitude : least[r];
    }
};

/* Looks for products so small that their rounding error may not be a float64, though no factor is
 * 0. */
struct small_products {
    using element = double;
    static constexpr unsigned step = vector_lanes<double>;
    words any = {};

    FORCEINLINE void update(pointer_pair<double> at)
    {
        const doubles x = load<doubles>(at.a), y = load<doubles>(at.b),
                      limit = broadcast(__builtin_ldexp(1, WINDOW_PRODUCT_MIN));
        any |= words(absolute_value(x * y) < limit) & words(x != 0.0) & words(y != 0.0);
    }
};

bool any_product_underflows(pointer_pair<double> pairs, size_t n)
{
    small_products products;
    accumulate(products, pairs, n, 0.0);
    return any_lane(products.any);
}

template <class In, unsigned Windows>
void product_loop(const void *a, const void *b, size_t n, int highest, struct windowed *result)
{
    const pointer_pair<In> pairs = {static_cast<const In *>(a), static_cast<const In *>(b)};
    product_accumulator<In, Windows> products(highest, result);
    accumulate(products, pairs, n, In{});
    products.finish();
    result->too_small = false;
    if constexpr (products.has_errors)
        result->too_small = products.least_product() < __builtin_ldexp(1, WINDOW_PRODUCT_MIN) &&
                            any_product_underflows(pairs, n);
}

} // namespace
} // namespace KERNELS
