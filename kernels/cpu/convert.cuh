/* Conversion of elements as they are loaded into registers. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"

namespace KERNELS
{
namespace
{

/* The elements that fill a register once they are converted to T. */
template <class T, class In>
using narrow_vector = vector<In, vector_lanes<T> * sizeof(In)>;

/* ---- widening ---- */

/* GCC would split vectors for some of these, or use several conversions for one. */
#ifdef __AVX2__

/* Values as the intrinsics' types; vectors of less than 16 bytes go to a register's lower part. */
template <class Values>
FORCEINLINE auto to_intrinsic(Values x)
{
    if constexpr (std::is_same_v<Values, vector<float, sizeof x>>) {
        return x;
    } else if constexpr (sizeof x == 32) {
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
        FORCEINLINE static auto of(Register x)                                                     \
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
WIDENING(int32_t, double, cvtepi32_pd)
WIDENING(float, double, cvtps_pd)
WIDENING(float16, float, cvtph_ps)
#ifdef __AVX512F__
WIDENING(uint32_t, double, cvtepu32_pd)
#else
template <>
struct widening<uint32_t, double> {
    template <unsigned Bytes>
    FORCEINLINE static auto of(__m128i x)
    {
        return __builtin_convertvector(vector<uint32_t, 16>(x), vector<double, Bytes>);
    }
};
#endif
#undef WIDENING

/* Widens all lanes; `In` is their actual type. */
template <class Wide, class In, class Values>
FORCEINLINE auto widen_lanes_as(Values x)
{
    constexpr unsigned bytes = sizeof x / sizeof x[0] * sizeof(Wide);
    return vector<Wide, bytes>(widening<In, Wide>::template of<bytes>(to_intrinsic(x)));
}

template <class Wide, class Values>
FORCEINLINE auto widen_lanes(Values x)
{
    return widen_lanes_as<Wide, std::remove_reference_t<decltype(x[0])>>(x);
}

#else

template <class Wide, class Values>
FORCEINLINE auto widen_lanes(Values x)
{
    constexpr unsigned bytes = sizeof x / sizeof x[0] * sizeof(Wide);
    return __builtin_convertvector(x, vector<Wide, bytes>);
}

#endif

/* Converts values to another type, which fill a register. */
template <class T, class Values>
FORCEINLINE vector<T> cast_lanes(Values x)
{
    using in = std::remove_reference_t<decltype(x[0])>;
    if constexpr (sizeof(in) >= sizeof(T))
        return __builtin_convertvector(x, vector<T>);
    else if constexpr (std::is_integral_v<T>)
        return vector<T>(widen_lanes<std::make_signed_t<T>>(x));
    else if constexpr (std::is_integral_v<in> && sizeof(in) < sizeof(int32_t))
        return cast_lanes<T>(widen_lanes<int32_t>(x));
    else
        return widen_lanes<T>(x);
}

/* ---- 16-bit floats to float32; `Bytes` is the size of the result ---- */

template <unsigned Bytes>
FORCEINLINE vector<uint32_t, Bytes> load_widened(const void *x)
{
    return vector<uint32_t, Bytes>(widen_lanes<int32_t>(load<vector<uint16_t, Bytes / 2>>(x)));
}

template <unsigned Bytes>
FORCEINLINE vector<float, Bytes> load_bfloats(const void *x)
{
    return vector<float, Bytes>(load_widened<Bytes>(x) << 16);
}

#ifdef __F16C__

template <unsigned Bytes>
FORCEINLINE vector<float, Bytes> load_halves(const void *x)
{
    return widen_lanes_as<float, float16>(load<vector<uint16_t, Bytes / 2>>(x));
}

#else

/* Shifts the bits and changes the exponent bias. Only subnormal numbers need arithmetic:
 * subtraction of the implicit leading bit that was added. */
template <unsigned Bytes>
FORCEINLINE vector<float, Bytes> load_halves(const void *x)
{
    using bits = vector<uint32_t, Bytes>;
    const bits half = load_widened<Bytes>(x), magnitude = half & 0x7fff,
               sign = (half & 0x8000) << 16, moved = magnitude << 13, bias = bits{} + (112u << 23);
    const bits few = moved & bits(magnitude < 0x400);
    const auto subnormal = vector<float, Bytes>(few + bias + (1u << 23)) - 0x1p-14f;
    const bits number = moved + bias + (magnitude >= 0x7c00 ? bias : bits{});
    return vector<float, Bytes>((magnitude < 0x400 ? bits(subnormal) : number) | sign);
}

#endif

/* Loads and converts a register of values. */
template <class T, class In>
FORCEINLINE vector<T> load_as(const In *x)
{
    constexpr unsigned bytes = vector_lanes<T> * sizeof(float);
    if constexpr (std::is_same_v<In, T>)
        return load<vector<T>>(x);
    else if constexpr (std::is_same_v<In, float16>)
        return cast_lanes<T>(load_halves<bytes>(x));
    else if constexpr (std::is_same_v<In, bfloat16>)
        return cast_lanes<T>(load_bfloats<bytes>(x));
    else
        return cast_lanes<T>(load<narrow_vector<T, In>>(x));
}

FORCEINLINE vector<double> absolute_value(vector<double> x)
{
    return vector<double>(vector<uint64_t>(x) & uint64_t(INT64_MAX));
}

/* A constant as an element; `half` and `bfloat` are its bits in 16-bit floats. */
template <class In, class Value>
FORCEINLINE In constant(Value value, unsigned half, unsigned bfloat)
{
    if constexpr (std::is_arithmetic_v<In>)
        return In(value);
    else
        return {uint16_t(std::is_same_v<In, float16> ? half : bfloat)};
}

/* The neutral element of addition. */
template <class In>
FORCEINLINE In additive_identity()
{
    return constant<In>(-0.0, 0x8000, 0x8000);
}

template <class In>
FORCEINLINE In nan_element()
{
    return constant<In>(not_a_number<double>(), 0x7fff, 0x7fff);
}

} // namespace
} // namespace KERNELS
