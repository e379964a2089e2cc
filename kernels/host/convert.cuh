/* Elements that become values on their way into registers. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace KERNELS
{
namespace
{

/* As many elements as a register has room for when they are converted to T. */
template <class T, class In>
using narrow_vector = vector<In, register_bytes / sizeof(T) * sizeof(In)>;

LANES_FUNCTION vector<uint32_t> bits_in_32(const void *x)
{
    return __builtin_convertvector(loaded<narrow_vector<uint32_t, uint16_t>>(x), vector<uint32_t>);
}

#if defined(__AVX512F__)

LANES_FUNCTION vector<float> halves_converted(const void *x)
{
    return vector<float>(_mm512_cvtph_ps(loaded<__m256i>(x)));
}

#elif defined(__F16C__)

LANES_FUNCTION vector<float> halves_converted(const void *x)
{
    return vector<float>(_mm256_cvtph_ps(loaded<__m128i>(x)));
}

#else

/* Bits move to their places, and exponents get the other bias: no arithmetic but for subnormal
 * ones, where what has been added for a leading bit that is not there is taken off. */
LANES_FUNCTION vector<float> halves_converted(const void *x)
{
    const vector<uint32_t> half = bits_in_32(x), magnitude = half & 0x7fff,
                           sign = (half & 0x8000) << 16, moved = magnitude << 13;
    const vector<uint32_t> bias = in_all<uint32_t>(112u << 23);
    const vector<float> subnormal = vector<float>(moved + bias + (1u << 23)) - 0x1p-14f;
    const vector<uint32_t> number = moved + bias + (magnitude >= 0x7c00 ? bias : bias ^ bias);
    return vector<float>((magnitude < 0x400 ? vector<uint32_t>(subnormal) : number) | sign);
}

#endif

template <class T, class In>
LANES_FUNCTION vector<T> converted(const In *x)
{
    if constexpr (std::is_same_v<In, T>)
        return loaded<vector<T>>(x);
    else if constexpr (std::is_same_v<In, float16>)
        return halves_converted(x);
    else if constexpr (std::is_same_v<In, bfloat16>)
        return vector<float>(bits_in_32(x) << 16);
    else
        return __builtin_convertvector(loaded<narrow_vector<T, In>>(x), vector<T>);
}

/* An element that leaves a sum what it is. */
template <class In>
LANES_FUNCTION In nothing_to_add()
{
    if constexpr (std::is_arithmetic_v<In>)
        return sum<In>::identity();
    else
        return {0x8000};
}

/* A NaN. */
template <class In>
LANES_FUNCTION In no_number()
{
    if constexpr (std::is_arithmetic_v<In>)
        return not_a_number<In>();
    else
        return {0x7fff};
}

} // namespace
} // namespace KERNELS
