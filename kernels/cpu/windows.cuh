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
LANES_FUNCTION doubles center_of(int exponent)
{
    const uint64_t bits = uint64_t(exponent + 1023) << 52 | uint64_t(1) << 51;
    return in_all_lanes(loaded<double>(&bits));
}

/* Whether all lanes are zeros of either sign. */
LANES_FUNCTION bool is_nothing(words x)
{
    return !has_bits(x + x);
}

/* The neutral element: zero, or NaN if NaNs are skipped. */
template <class In, bool SkipsNan>
LANES_FUNCTION In skipped_element()
{
    if constexpr (SkipsNan)
        return nan_element<In>();
    else
        return In{};
}

/* Replaces NaNs by 0 and counts the other numbers. */
LANES_FUNCTION doubles numbers_in(doubles x, words &count)
{
    const words is_number = words(x == x);
    count -= is_number;
    return doubles(words(x) & is_number);
}

/* Several windows of several registers each, whose additions are independent. */
template <unsigned Windows, unsigned Registers>
struct windows_of {
    static_assert(Registers * in_register<double> >= WINDOW_LANES,
                  "a lane takes more than a window has room for");
    doubles centers[Windows], at[Windows][Registers];

    LANES_FUNCTION explicit windows_of(int highest)
    {
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            centers[w] = center_of(highest + WINDOW_HEAD - int(w) * WINDOW_STEP);
            EACH_REGISTER(unsigned r = 0; r < Registers; r++)
            at[w][r] = centers[w];
        }
    }

    /* Adds numbers and returns the remainders of the last window. */
    LANES_FUNCTION doubles left_of(unsigned r, doubles x)
    {
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        return x;
    }

    LANES_FUNCTION void total(int64_t (*sums)[2]) const
    {
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        distance(at[w], centers[w], sums[w]);
    }

    LANES_FUNCTION bool is_whole() const
    {
        words broken = {};
        EACH_REGISTER(unsigned r = 0; r < Registers; r++)
        broken |= words(at[0][r] != at[0][r]);
        return is_nothing(broken);
    }

  private:
    /* The sums: the accumulators' distances from their center, in units. */
    LANES_FUNCTION static void distance(const doubles (&at)[Registers], doubles center,
                                        int64_t (&sums)[2])
    {
        words total = {};
        EACH_REGISTER(unsigned r = 0; r < Registers; r++)
        total += words(at[r]) - words(center);
        uint64_t wrapping[2] = {}; /* of a broken window, which is not used */
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        wrapping[k % 2] += total[k];
        sums[0] = int64_t(wrapping[0]);
        sums[1] = int64_t(wrapping[1]);
    }
};

/* Stores the windows' remainders, as long as there is room for them. */
template <unsigned Registers>
LANES_FUNCTION void hand_out(const doubles (&left)[Registers], struct windowed *result)
{
    constexpr unsigned count = Registers * in_register<double>;
    static_assert(WINDOW_LEFT % count == 0, "what is left has no room");
    result->whole = result->whole && result->lefts < WINDOW_LEFT;
    if (!result->whole)
        return;
    EACH_REGISTER(unsigned r = 0; r < Registers; r++)
    memcpy(result->left + result->lefts + r * in_register<double>, &left[r], sizeof left[r]);
    result->lefts += count;
}

/* ---- sums ---- */

/* Enough independent registers to hide the latency of additions. */
constexpr unsigned window_registers = 4, window_lanes = window_registers * in_register<double>;

/* The type in which magnitudes are compared; narrower types are converted to float32. */
template <class In>
using compared = std::conditional_t<sizeof(In) == sizeof(double), double, float>;

/* Few instruction sets compare 64-bit integers. */
#if defined(__AVX512BW__)
constexpr unsigned widest_compared = sizeof(double);
#else
constexpr unsigned widest_compared = sizeof(float);
#endif

template <class In, unsigned Windows, bool SkipsNan>
struct window_way {
    using element = In;
    using part = compared<In>;
    static constexpr unsigned step = window_lanes, in_part = in_register<part>,
                              parts = step / in_part;
    static constexpr bool compares_integers = !SkipsNan && sizeof(part) <= widest_compared;
    windows_of<Windows, window_registers> windows;
    using word = bits_of<sizeof(part)>;
    using magnitudes = vector<word>;
    magnitudes greatest[parts] = {};
    words numbers = {};
    struct windowed *result;

    LANES_FUNCTION window_way(int highest, struct windowed *result)
        : windows(highest), result(result)
    {
        result->whole = true;
        result->lefts = 0;
    }

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        compare_magnitudes(p, converted<part>(x + p * in_part));
        doubles left[window_registers];
        words any = {};
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        {
            left[r] = left_of(r, converted<double>(x + r * in_register<double>));
            any |= words(left[r]);
        }
        if (__builtin_expect(!is_nothing(any), false))
            hand_out(left, result);
    }

    LANES_FUNCTION void finish()
    {
        windows.total(result->sums);
        result->whole = result->whole && windows.is_whole();
        result->numbers = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        result->numbers += numbers[k];
        word most = 0;
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        EACH_REGISTER(unsigned k = 0; k < in_part; k++)
        most = greatest[p][k] > most ? greatest[p][k] : most;
        result->greatest = double(loaded<part>(&most));
    }

  private:
    /* Compared as integers, magnitudes are in the same order, and NaNs are the largest. */
    LANES_FUNCTION void compare_magnitudes(unsigned p, vector<part> x)
    {
        const magnitudes bits = magnitudes(x) & (word(-1) >> 1);
        if constexpr (compares_integers)
            greatest[p] = bits > greatest[p] ? bits : greatest[p];
        else
            greatest[p] = vector<part>(bits) > vector<part>(greatest[p]) ? bits : greatest[p];
    }

    LANES_FUNCTION doubles left_of(unsigned r, doubles x)
    {
        return windows.left_of(r, SkipsNan ? numbers_in(x, numbers) : x);
    }
};

template <class In, unsigned Windows, bool SkipsNan>
void window_loop(const void *floats, size_t n, int highest, struct windowed *result)
{
    window_way<In, Windows, SkipsNan> way(highest, result);
    take_all(way, static_cast<const In *>(floats), n, skipped_element<In, SkipsNan>());
    way.finish();
}

/* ---- sums of products ---- */

constexpr unsigned product_registers =
    WINDOW_LANES > 2 * in_register<double> ? WINDOW_LANES / in_register<double> : 2;

/* The exact rounding error of a product: by one FMA, or from halves of the factors, whose products
 * are exact float64s. */
#if defined(__AVX512F__)

LANES_FUNCTION doubles product_error(doubles a, doubles b, doubles product)
{
    return doubles(_mm512_fmsub_pd(__m512d(a), __m512d(b), __m512d(product)));
}

#elif defined(__FMA__)

LANES_FUNCTION doubles product_error(doubles a, doubles b, doubles product)
{
    return doubles(_mm256_fmsub_pd(__m256d(a), __m256d(b), __m256d(product)));
}

#else

struct halves {
    doubles high, low;

    /* Halves of 26 bits each; the sign of the lower one counts as a bit (G. W. Veltkamp, 1968). */
    LANES_FUNCTION explicit halves(doubles x)
    {
        const doubles shifted = x * 0x8000001p0;
        high = shifted - (shifted - x);
        low = x - high;
    }
};

LANES_FUNCTION doubles product_error(doubles a, doubles b, doubles product)
{
    const halves x(a), y(b);
    return x.low * y.low - (((product - x.high * y.high) - x.low * y.high) - x.high * y.low);
}

#endif

template <class In, unsigned Windows>
struct product_way {
    using element = In;
    static constexpr unsigned step = product_registers * in_register<double>;
    /* Products of narrower types are exact. */
    static constexpr bool loses = std::is_same_v<In, double>;
    windows_of<Windows, product_registers> windows, lost;
    doubles greatest[product_registers], least[product_registers];
    struct windowed *result;

    LANES_FUNCTION product_way(int highest, struct windowed *result)
        : windows(highest), lost(highest - WINDOW_LOST), result(result)
    {
        result->whole = true;
        result->lefts = 0;
        EACH_REGISTER(unsigned r = 0; r < product_registers; r++)
        {
            greatest[r] = in_all_lanes(0.0);
            least[r] = in_all_lanes(ends<double>::greatest);
        }
    }

    LANES_FUNCTION void take(pairs_at<In> at)
    {
        doubles left[product_registers], left_of_lost[product_registers];
        words any = {};
        EACH_REGISTER(unsigned r = 0; r < product_registers; r++)
        {
            const doubles x = converted<double>(at.a + r * in_register<double>),
                          y = converted<double>(at.b + r * in_register<double>), product = x * y;
            compare(r, without_sign(product));
            left[r] = windows.left_of(r, product);
            any |= words(left[r]);
            if constexpr (loses) {
                left_of_lost[r] = lost.left_of(r, product_error(x, y, product));
                any |= words(left_of_lost[r]);
            }
        }
        if (__builtin_expect(!is_nothing(any), false)) {
            hand_out(left, result);
            if constexpr (loses)
                hand_out(left_of_lost, result);
        }
    }

    LANES_FUNCTION void finish()
    {
        double most = 0;
        windows.total(result->sums);
        result->whole = result->whole && windows.is_whole();
        if constexpr (loses) {
            lost.total(result->lost);
            result->whole = result->whole && lost.is_whole();
        }
        EACH_REGISTER(unsigned r = 0; r < product_registers; r++)
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        most = greatest[r][k] > most ? greatest[r][k] : most;
        result->greatest = most;
    }

    LANES_FUNCTION double least_product() const
    {
        double least_of_all = ends<double>::greatest;
        EACH_REGISTER(unsigned r = 0; r < product_registers; r++)
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        least_of_all = least[r][k] < least_of_all ? least[r][k] : least_of_all;
        return least_of_all;
    }

  private:
    LANES_FUNCTION void compare(unsigned r, doubles magnitude)
    {
        greatest[r] = magnitude > greatest[r] ? magnitude : greatest[r];
        if constexpr (loses)
            least[r] = magnitude < least[r] ? magnitude : least[r];
    }
};

/* Looks for products so small that their rounding error may not be a float64, though no factor is
 * 0. */
struct small_products {
    using element = double;
    static constexpr unsigned step = in_register<double>;
    words any = {};

    LANES_FUNCTION void take(pairs_at<double> at)
    {
        const doubles x = loaded<doubles>(at.a), y = loaded<doubles>(at.b),
                      limit = in_all_lanes(__builtin_ldexp(1, WINDOW_LEAST_PRODUCT));
        any |= words(without_sign(x * y) < limit) & words(x != 0.0) & words(y != 0.0);
    }
};

bool is_any_too_small(pairs_at<double> pairs, size_t n)
{
    small_products products;
    take_all(products, pairs, n, 0.0);
    return is_any(products.any);
}

template <class In, unsigned Windows>
void product_loop(const void *a, const void *b, size_t n, int highest, struct windowed *result)
{
    const pairs_at<In> pairs = {static_cast<const In *>(a), static_cast<const In *>(b)};
    product_way<In, Windows> products(highest, result);
    take_all(products, pairs, n, In{});
    products.finish();
    result->too_small = false;
    if constexpr (products.loses)
        result->too_small = products.least_product() < __builtin_ldexp(1, WINDOW_LEAST_PRODUCT) &&
                            is_any_too_small(pairs, n);
}

} // namespace
} // namespace KERNELS
