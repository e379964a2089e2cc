/* Exact sums of products in windows. */
#pragma once

#include "windows.cuh"

namespace KERNELS
{
namespace
{

constexpr unsigned product_registers =
    WINDOW_LANES > 2 * in_register<double> ? WINDOW_LANES / in_register<double> : 2;

/* What is lost of a product that was rounded, by arithmetic that is not: one instruction, or
 * factors in halves whose products are float64s. */
#if defined(__AVX512F__)

LANES_FUNCTION doubles lost_of(doubles a, doubles b, doubles product)
{
    return doubles(_mm512_fmsub_pd(__m512d(a), __m512d(b), __m512d(product)));
}

#elif defined(__FMA__)

LANES_FUNCTION doubles lost_of(doubles a, doubles b, doubles product)
{
    return doubles(_mm256_fmsub_pd(__m256d(a), __m256d(b), __m256d(product)));
}

#else

struct halves {
    doubles high, low;

    /* Of 26 bits each, the sign of the lower one being one of them (G. W. Veltkamp, 1968). */
    LANES_FUNCTION explicit halves(doubles x)
    {
        const doubles shifted = x * 0x8000001p0;
        high = shifted - (shifted - x);
        low = x - high;
    }
};

LANES_FUNCTION doubles lost_of(doubles a, doubles b, doubles product)
{
    const halves x(a), y(b);
    return x.low * y.low - (((product - x.high * y.high) - x.low * y.high) - x.high * y.low);
}

#endif

template <class In, unsigned Windows>
struct product_way {
    using element = In;
    static constexpr unsigned step = product_registers * in_register<double>;
    /* Of no narrower type's product anything is lost. */
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
            greatest[r] = in_all(0.0);
            least[r] = in_all(ends<double>::greatest);
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
                left_of_lost[r] = lost.left_of(r, lost_of(x, y, product));
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

/* Looks for products that are so small that what they have lost may be no float, though no factor
 * is 0. */
struct small_products {
    using element = double;
    static constexpr unsigned step = in_register<double>;
    words any = {};

    LANES_FUNCTION void take(pairs_at<double> at)
    {
        const doubles x = loaded<doubles>(at.a), y = loaded<doubles>(at.b),
                      limit = in_all(__builtin_ldexp(1, WINDOW_LEAST_PRODUCT));
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
