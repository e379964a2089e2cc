/* Spreads of numbers of 11 bits or fewer, by their sums and their squares' in float64: squares have
 * 22 bits, and where sums would round, deviations are not much less than the squares. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

/* How the bits of an element lie in those of a float64 with the same exponent's bits, which is too
 * small by a power of two. */
template <class In>
struct half_in_double;

template <>
struct half_in_double<float16> {
    static constexpr unsigned down = 6;
    static constexpr uint32_t mask = 0x81fffc00;
    static constexpr double scale = 0x1p1008;
};

template <>
struct half_in_double<bfloat16> {
    static constexpr unsigned down = 3;
    static constexpr uint32_t mask = 0x8fffe000;
    static constexpr double scale = 0x1p896;
};

/* Two elements of a word, the second of which is made of its bits and a product: a GPU converts to
 * float64 at a quarter of the rate at which it multiplies. Whether
 * that is finite it does not tell. */
template <class In>
struct two_halves {
    double at[2];

    __device__ __forceinline__ explicit two_halves(uint32_t word)
    {
        using bits = half_in_double<In>;
        at[0] = widened_element(In{uint16_t(word)});
        const uint32_t high = uint32_t(int32_t(word) >> bits::down) & bits::mask;
        const uint64_t both = uint64_t(high) << 32;
        memcpy(&at[1], &both, sizeof both);
        at[1] *= bits::scale;
    }
};

/* Of so many numbers, and 1 / count. A product is exact as the sum of two. */
__device__ __forceinline__ variance_state<double>
variance_state_of_sums(double sum, double squares, double count, double inverse)
{
    const double product = sum * sum, rest = fma(sum, sum, -product);
    const double spread = fma(count, squares, -product) - rest;
    /* Rounding may have left a little less than nothing; NaN stays. */
    return {count, sum * inverse, (spread < 0 ? 0 : spread) * inverse};
}

} // namespace KERNELS
