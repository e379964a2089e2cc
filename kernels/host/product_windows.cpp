/* Exact sums of products in windows. This file is compiled once for each set of instructions, which
 * GRED_INSTRUCTIONS names. */
#include "windows.cuh"

namespace KERNELS
{
namespace
{

constexpr unsigned in_register = register_bytes / sizeof(double),
                   product_registers =
                       WINDOW_LANES > 2 * in_register ? WINDOW_LANES / in_register : 2;

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
    static constexpr unsigned step = product_registers * in_register;
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

    LANES_FUNCTION void take(const In *a, const In *b)
    {
        doubles left[product_registers], left_of_lost[product_registers];
        words any = {};
        EACH_REGISTER(unsigned r = 0; r < product_registers; r++)
        {
            const doubles x = widened(a + r * in_register), y = widened(b + r * in_register),
                          product = x * y;
            compare(r, magnitude_of(product));
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
        EACH_REGISTER(unsigned k = 0; k < in_register; k++)
        most = greatest[r][k] > most ? greatest[r][k] : most;
        result->greatest = most;
    }

    LANES_FUNCTION double least_product() const
    {
        double least_of_all = ends<double>::greatest;
        EACH_REGISTER(unsigned r = 0; r < product_registers; r++)
        EACH_REGISTER(unsigned k = 0; k < in_register; k++)
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
    static constexpr unsigned step = in_register;
    words any = {};

    LANES_FUNCTION void take(const double *a, const double *b)
    {
        const doubles x = loaded<doubles>(a), y = loaded<doubles>(b),
                      limit = in_all(__builtin_ldexp(1, WINDOW_LEAST_PRODUCT));
        any |= words(magnitude_of(x * y) < limit) & words(x != 0.0) & words(y != 0.0);
    }
};

/* Takes all pairs, the last ones filled up with zeros. */
template <class Way, class In>
LANES_FUNCTION void take_pairs(Way &way, const In *a, const In *b, size_t n)
{
    const size_t left = n % Way::step;
    const filled_up<In, Way::step> last_a(a + n - left, left, In{}),
        last_b(b + n - left, left, In{});
    for (size_t k = 0; k < n - left; k += Way::step) {
        fetch_ahead<Way::step * sizeof(In)>(a + k);
        fetch_ahead<Way::step * sizeof(In)>(b + k);
        way.take(a + k, b + k);
    }
    if (left)
        way.take(last_a.at, last_b.at);
}

bool is_any_too_small(const double *a, const double *b, size_t n)
{
    small_products products;
    take_pairs(products, a, b, n);
    return is_any(products.any);
}

template <class In, unsigned Windows>
void product_loop(const void *a, const void *b, size_t n, int highest, struct windowed *result)
{
    const In *const x = static_cast<const In *>(a), *const y = static_cast<const In *>(b);
    product_way<In, Windows> products(highest, result);
    take_pairs(products, x, y, n);
    products.finish();
    result->too_small = false;
    if constexpr (products.loses)
        result->too_small = products.least_product() < __builtin_ldexp(1, WINDOW_LEAST_PRODUCT) &&
                            is_any_too_small(x, y, n);
}

template <class In>
window_products *loop_of(unsigned windows)
{
    switch (windows) {
    case 1:
        return product_loop<In, 1>;
    case 2:
        return product_loop<In, 2>;
    default:
        return product_loop<In, 3>;
    }
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

window_products *PRODUCT_WINDOWS(GRED_INSTRUCTIONS)(enum element element, unsigned windows)
{
    switch (element) {
    case ELEMENT_FLOAT16:
        return loop_of<float16>(windows);
    case ELEMENT_BFLOAT16:
        return loop_of<bfloat16>(windows);
    case ELEMENT_FLOAT32:
        return loop_of<float>(windows);
    default:
        return loop_of<double>(windows);
    }
}
