/* Variances of numbers of up to 11 bits, from sums of elements and squares in float64: squares have
 * 22 bits, and if sums round, the squared deviations are not much less than the squares. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

/* Where an element's bits go in a float64: with the exponent bits unchanged, the value is too small
 * by a constant power of two. */
template <class In>
struct half_bits_in_double;

template <>
struct half_bits_in_double<float16> {
    static constexpr unsigned down = 6;
    static constexpr uint32_t mask = 0x81fffc00;
    static constexpr double scale = 0x1p1008;
};

template <>
struct half_bits_in_double<bfloat16> {
    static constexpr unsigned down = 3;
    static constexpr uint32_t mask = 0x8fffe000;
    static constexpr double scale = 0x1p896;
};

/* The two elements of a word as float64. The second is computed with integer operations and a
 * product, since a GPU converts to float64 at a quarter of the rate at which it multiplies.
 * Infinities and NaN are not preserved in it. */
template <class In>
struct two_halves {
    double at[2];

    __device__ __forceinline__ explicit two_halves(uint32_t word)
    {
        using bits = half_bits_in_double<In>;
        at[0] = element_to_double(In{uint16_t(word)});
        const uint32_t high = uint32_t(int32_t(word) >> bits::down) & bits::mask;
        const uint64_t both = uint64_t(high) << 32;
        memcpy(&at[1], &both, sizeof both);
        at[1] *= bits::scale;
    }
};

/* The variance state of `count` numbers. The square of `sum` is exactly product + rest. */
__device__ __forceinline__ variance_state<double> variance_from_sums(double sum, double squares,
                                                                     double count, double inverse)
{
    const double product = sum * sum, rest = fma(sum, sum, -product);
    const double spread = fma(count, squares, -product) - rest;
    /* Rounding may have made it slightly negative; NaN stays. */
    return {count, sum * inverse, (spread < 0 ? 0 : spread) * inverse};
}

} // namespace KERNELS
