/* Quantiles of n sorted numbers: their ranks, and the interpolation. The methods are NumPy's, most
 * of them from Hyndman and Fan (1996), "Sample quantiles in statistical packages". Products are
 * rounded before additions, so that all backends agree. */
#pragma once

#include "common/scalar.h"

#include <math.h>

/* The 0-based rank of the q-th quantile is n q + alpha + q (1 - alpha - beta) - 1, or (n - 1) q if
 * alpha and beta are 1; the rule says what becomes of its fraction. */
#define QUANTILE_METHODS(METHOD)                                                                   \
    METHOD(linear, 1, 1, INTERPOLATED)                                                             \
    METHOD(lower, 1, 1, FLOOR)                                                                     \
    METHOD(higher, 1, 1, CEILING)                                                                  \
    METHOD(nearest, 1, 1, NEAREST)                                                                 \
    METHOD(midpoint, 1, 1, MIDDLE)                                                                 \
    METHOD(inverted_cdf, 0, 1, CEILING)                                                            \
    METHOD(averaged_inverted_cdf, 0, 1, MIDDLE_OR_NEXT)                                            \
    METHOD(closest_observation, -0.5, 1.5, NEXT_OR_ODD)                                            \
    METHOD(interpolated_inverted_cdf, 0, 1, INTERPOLATED)                                          \
    METHOD(hazen, 0.5, 0.5, INTERPOLATED)                                                          \
    METHOD(weibull, 0, 0, INTERPOLATED)                                                            \
    METHOD(median_unbiased, 1 / 3.0, 1 / 3.0, INTERPOLATED)                                        \
    METHOD(normal_unbiased, 3 / 8.0, 3 / 8.0, INTERPOLATED)

enum quantile_rule {
    QUANTILE_INTERPOLATED,
    QUANTILE_MIDDLE,         /* of the two adjacent elements, unless the rank is an integer */
    QUANTILE_MIDDLE_OR_NEXT, /* of a rank and the next if it is an integer, else the next */
    QUANTILE_FLOOR,          /* from here on, an element is chosen */
    QUANTILE_CEILING,
    QUANTILE_NEAREST,    /* ties to even */
    QUANTILE_NEXT_OR_ODD /* the next rank, unless the rank is an odd integer */
};

struct quantile_method {
    double alpha, beta;
    enum quantile_rule rule;
};

/* The quantiles to compute, of each of several sets of elements. */
struct quantiles {
    const double *shares; /* the q's, in ascending order */
    uint64_t count;
    struct quantile_method method;
    bool skips_nan; /* NaNs are skipped; else a NaN is the result */
    bool sorted;    /* elements are sorted, NaNs last */
    enum element input, out;
};

/* Ranks of two elements, and the weight of the second. */
struct quantile_place {
    uint64_t below, above;
    double part; /* 0: the first element */
};

SCALAR double quantile_product(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

SCALAR uint64_t quantile_rank(double whole, uint64_t n)
{
    return whole <= 0 ? 0 : whole >= (double)(n - 1) ? n - 1 : (uint64_t)whole;
}

/* Requires n > 0. */
SCALAR struct quantile_place quantile_place(struct quantile_method method, double share, uint64_t n)
{
    const bool linear = method.alpha == 1 && method.beta == 1;
    const double rest = quantile_product(share, 1 - method.alpha - method.beta),
                 place = linear ? quantile_product((double)(n - 1), share)
                                : quantile_product((double)n, share) + (method.alpha + rest) - 1;
    double whole = floor(place), part = place - whole;
    switch (method.rule) {
    case QUANTILE_INTERPOLATED:
        break;
    case QUANTILE_MIDDLE:
        part = part > 0 ? 0.5 : 0;
        break;
    case QUANTILE_MIDDLE_OR_NEXT:
        whole += part > 0;
        part = part > 0 ? 0 : 0.5;
        break;
    case QUANTILE_NEAREST:
        whole = rint(place);
        part = 0;
        break;
    case QUANTILE_NEXT_OR_ODD:
        whole += part > 0 || floor(whole / 2) == whole / 2;
        part = 0;
        break;
    default:
        whole += method.rule == QUANTILE_CEILING && part > 0;
        part = 0;
    }
    struct quantile_place found;
    found.below = quantile_rank(whole, n);
    found.above = part > 0 ? quantile_rank(whole + 1, n) : found.below;
    found.part = part;
    return found;
}

/* Interpolates from the nearer end. */
SCALAR double quantile_interpolate(double low, double high, double part)
{
    const double apart = high - low;
    if (part == 0 || low == high)
        return low;
    if (!isfinite(apart))
        return quantile_product(low, 1 - part) + quantile_product(high, part);
    return part < 0.5 ? low + quantile_product(apart, part)
                      : high - quantile_product(apart, 1 - part);
}

SCALAR void quantile_store(void *at, union scalar low, union scalar high, double part,
                           enum element input, enum element out)
{
    if (input != out || part > 0) {
        const union scalar first = scalar_convert(low, input, ELEMENT_FLOAT64),
                           second = scalar_convert(high, input, ELEMENT_FLOAT64);
        low = scalar_of_double(quantile_interpolate(first.f64, second.f64, part), 0, out);
    }
    scalar_store(at, low, out);
}
