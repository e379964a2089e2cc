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

__device__ __forceinline__ double double_of_high_bits(uint32_t high)
{
#ifdef __CUDA_ARCH__
    return __hiloint2double(int(high), 0);
#else
    const uint64_t bits = uint64_t(high) << 32;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/* Two elements of a word, the second of which is made of its bits and a product: a GPU converts to
 * float64 at a quarter of the rate at which it multiplies. If that is not finite, somebody else has
 * to tell. */
template <class In>
struct two_halves {
    double at[2];

    __device__ __forceinline__ explicit two_halves(uint32_t word)
    {
        using bits = half_in_double<In>;
        at[0] = widened_element(In{uint16_t(word)});
        at[1] =
            double_of_high_bits(uint32_t(int32_t(word) >> bits::down) & bits::mask) * bits::scale;
    }
};

/* Tells: the largest of words whose sign is not looked at has the largest second element. */
template <class In>
struct finite_halves {
    uint32_t greatest = 0;

    __device__ __forceinline__ void take(uint32_t word)
    {
        greatest = greatest_number(greatest, word & 0x7fffffff);
    }

    __device__ __forceinline__ bool are_all() const
    {
        constexpr uint16_t infinity = ends<In>::greatest.bits;
        return greatest >> 16 < infinity;
    }
};

/* Rounding may have left a little less than nothing; NaN stays. */
__device__ __forceinline__ double positive(double x)
{
    return x < 0 ? 0 : x;
}

/* Of so many numbers, and 1 / count. A product is exact as the sum of two. */
__device__ __forceinline__ variance_state<double>
variance_state_of_sums(double sum, double squares, double count, double inverse)
{
    const double product = sum * sum, rest = fma(sum, sum, -product);
    return {count, sum * inverse, positive(fma(count, squares, -product) - rest) * inverse};
}

} // namespace KERNELS
