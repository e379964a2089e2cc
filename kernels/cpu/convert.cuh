/* Elements that become values on their way into registers. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"

namespace KERNELS
{
namespace
{

/* As many elements as a register has room for when they are converted to T. */
template <class T, class In>
using narrow_vector = vector<In, register_bytes / sizeof(T) * sizeof(In)>;

/* Floats of 16 bits as 32, of so many bytes. */
#ifdef __AVX2__

template <unsigned Bytes>
LANES_FUNCTION vector<uint32_t, Bytes> bits_in_32(const void *x)
{
    if constexpr (Bytes == 16)
        return vector<uint32_t, 16>(
            _mm_cvtepu16_epi32(_mm_loadl_epi64(static_cast<const __m128i *>(x))));
    else if constexpr (Bytes == 32)
        return vector<uint32_t, 32>(_mm256_cvtepu16_epi32(loaded<__m128i>(x)));
#ifdef __AVX512F__
    else
        return vector<uint32_t, Bytes>(_mm512_cvtepu16_epi32(loaded<__m256i>(x)));
#endif
}

#else

template <unsigned Bytes>
LANES_FUNCTION vector<uint32_t, Bytes> bits_in_32(const void *x)
{
    return __builtin_convertvector(loaded<vector<uint16_t, Bytes / 2>>(x), vector<uint32_t, Bytes>);
}

#endif

template <unsigned Bytes>
LANES_FUNCTION vector<float, Bytes> bfloats_converted(const void *x)
{
    return vector<float, Bytes>(bits_in_32<Bytes>(x) << 16);
}

#ifdef __F16C__

template <unsigned Bytes>
LANES_FUNCTION vector<float, Bytes> halves_converted(const void *x)
{
    if constexpr (Bytes == 16)
        return vector<float, 16>(_mm_cvtph_ps(_mm_loadl_epi64(static_cast<const __m128i *>(x))));
    else if constexpr (Bytes == 32)
        return vector<float, 32>(_mm256_cvtph_ps(loaded<__m128i>(x)));
#ifdef __AVX512F__
    else
        return vector<float, Bytes>(_mm512_cvtph_ps(loaded<__m256i>(x)));
#endif
}

#else

/* Bits move to their places, and exponents get the other bias: no arithmetic but for subnormal
 * ones, where what has been added for a leading bit that is not there is taken off. */
template <unsigned Bytes>
LANES_FUNCTION vector<float, Bytes> halves_converted(const void *x)
{
    using bits = vector<uint32_t, Bytes>;
    const bits half = bits_in_32<Bytes>(x), magnitude = half & 0x7fff, sign = (half & 0x8000) << 16,
               moved = magnitude << 13, bias = bits{} + (112u << 23);
    const bits few = moved & bits(magnitude < 0x400);
    const auto subnormal = vector<float, Bytes>(few + bias + (1u << 23)) - 0x1p-14f;
    const bits number = moved + bias + (magnitude >= 0x7c00 ? bias : bits{});
    return vector<float, Bytes>((magnitude < 0x400 ? bits(subnormal) : number) | sign);
}

#endif

/* ---- integers of more bits ---- */

/* GCC would take vectors apart for some of these. */
#ifdef __AVX2__

/* Of so many bytes as the processor takes them; fewer than 16 are a register's lower ones. */
template <class Values>
LANES_FUNCTION auto processors_own(Values x)
{
    if constexpr (sizeof x == 32) {
        return __m256i(x);
    } else if constexpr (sizeof x == 16) {
        return __m128i(x);
    } else {
        uint64_t bits = 0;
        memcpy(&bits, &x, sizeof x);
        return _mm_cvtsi64_si128(int64_t(bits));
    }
}

template <class In, class Wide>
struct widening;

#define WIDENING(In, Wide, convert)                                                                \
    template <>                                                                                    \
    struct widening<In, Wide> {                                                                    \
        template <unsigned Bytes, class Register>                                                  \
        LANES_FUNCTION static auto of(Register x)                                                  \
        {                                                                                          \
            if constexpr (Bytes == 16)                                                             \
                return _mm_##convert(x);                                                           \
            else if constexpr (Bytes == 32)                                                        \
                return _mm256_##convert(x);                                                        \
            else                                                                                   \
                return _mm512_##convert(x);                                                        \
        }                                                                                          \
    };
WIDENING(int8_t, int16_t, cvtepi8_epi16)
WIDENING(int8_t, int32_t, cvtepi8_epi32)
WIDENING(int8_t, int64_t, cvtepi8_epi64)
WIDENING(int16_t, int32_t, cvtepi16_epi32)
WIDENING(int16_t, int64_t, cvtepi16_epi64)
WIDENING(int32_t, int64_t, cvtepi32_epi64)
WIDENING(uint8_t, int16_t, cvtepu8_epi16)
WIDENING(uint8_t, int32_t, cvtepu8_epi32)
WIDENING(uint8_t, int64_t, cvtepu8_epi64)
WIDENING(uint16_t, int32_t, cvtepu16_epi32)
WIDENING(uint16_t, int64_t, cvtepu16_epi64)
WIDENING(uint32_t, int64_t, cvtepu32_epi64)
#undef WIDENING

/* As many lanes as there are. */
template <class Wide, class Values>
LANES_FUNCTION auto widened(Values x)
{
    using in = std::remove_reference_t<decltype(x[0])>;
    constexpr unsigned bytes = sizeof x / sizeof(in) * sizeof(Wide);
    return vector<Wide, bytes>(
        widening<in, std::make_signed_t<Wide>>::template of<bytes>(processors_own(x)));
}

#else

template <class Wide, class Values>
LANES_FUNCTION auto widened(Values x)
{
    constexpr unsigned bytes = sizeof x / sizeof x[0] * sizeof(Wide);
    return __builtin_convertvector(x, vector<Wide, bytes>);
}

#endif

/* Values as numbers of another type, a register of them. */
template <class T, class Values>
LANES_FUNCTION vector<T> as(Values x)
{
    using in = std::remove_reference_t<decltype(x[0])>;
    if constexpr (!std::is_integral_v<in> || sizeof(in) >= sizeof(T))
        return __builtin_convertvector(x, vector<T>);
    else if constexpr (std::is_integral_v<T>)
        return widened<T>(x);
    else if constexpr (sizeof(in) < sizeof(int32_t))
        return as<T>(widened<int32_t>(x));
    else
        return __builtin_convertvector(x, vector<T>);
}

/* Where GCC would make several conversions of one. */
#if defined(__AVX512BW__)

template <>
LANES_FUNCTION vector<double> as<double>(vector<float, 32> x)
{
    return vector<double>(_mm512_cvtps_pd(__m256(x)));
}

template <>
LANES_FUNCTION vector<double> as<double>(vector<int32_t, 32> x)
{
    return vector<double>(_mm512_cvtepi32_pd(__m256i(x)));
}

template <>
LANES_FUNCTION vector<double> as<double>(vector<uint32_t, 32> x)
{
    return vector<double>(_mm512_cvtepu32_pd(__m256i(x)));
}

#elif defined(__AVX2__)

template <>
LANES_FUNCTION vector<double> as<double>(vector<float, 16> x)
{
    return vector<double>(_mm256_cvtps_pd(__m128(x)));
}

template <>
LANES_FUNCTION vector<double> as<double>(vector<int32_t, 16> x)
{
    return vector<double>(_mm256_cvtepi32_pd(__m128i(x)));
}

#endif

/* A register of values from as many elements. */
template <class T, class In>
LANES_FUNCTION vector<T> converted(const In *x)
{
    constexpr unsigned bytes = register_bytes / sizeof(T) * sizeof(float);
    if constexpr (std::is_same_v<In, T>)
        return loaded<vector<T>>(x);
    else if constexpr (std::is_same_v<In, float16>)
        return as<T>(halves_converted<bytes>(x));
    else if constexpr (std::is_same_v<In, bfloat16>)
        return as<T>(bfloats_converted<bytes>(x));
    else
        return as<T>(loaded<narrow_vector<T, In>>(x));
}

LANES_FUNCTION vector<double> without_sign(vector<double> x)
{
    return vector<double>(vector<uint64_t>(x) & uint64_t(INT64_MAX));
}

/* A value as an element; of a float of 16 bits these are the bits. */
template <class In, class Value>
LANES_FUNCTION In constant(Value value, unsigned half, unsigned bfloat)
{
    if constexpr (std::is_arithmetic_v<In>)
        return In(value);
    else
        return {uint16_t(std::is_same_v<In, float16> ? half : bfloat)};
}

/* An element that leaves a sum what it is. */
template <class In>
LANES_FUNCTION In nothing_to_add()
{
    return constant<In>(-0.0, 0x8000, 0x8000);
}

template <class In>
LANES_FUNCTION In no_number()
{
    return constant<In>(not_a_number<double>(), 0x7fff, 0x7fff);
}

} // namespace
} // namespace KERNELS
