/* What lanes compare in an element's place, its key, and the two orders that they look for the best
 * of. A key knows which NaN is, which keys are equals, and the element that it came from. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"

namespace KERNELS
{
namespace
{

/* Elements by themselves. `flags` are lanes that are not 0 where x is NaN. */
template <class In>
struct key_of {
    using type = In;
    static constexpr bool has_nan = !std::is_integral_v<In>;
    static constexpr bool nan_loses = true; /* in any comparison */

    LANES_FUNCTION static vector<In> of(vector<In> x)
    {
        return x;
    }

    LANES_FUNCTION static auto nan(vector<In> x)
    {
        return x != x;
    }

    /* The same for equals. */
    template <class Key>
    LANES_FUNCTION static Key rank(Key key)
    {
        return key;
    }

    LANES_FUNCTION static In element(In key)
    {
        return key;
    }
};

/* Any byte but 0 is as true as another: the minimum and the maximum byte tell what there is. */
template <>
struct key_of<boolean> : key_of<uint8_t> {
    template <class Bytes>
    LANES_FUNCTION static Bytes rank(Bytes key)
    {
        return Bytes(key != 0);
    }

    LANES_FUNCTION static boolean element(uint8_t key)
    {
        return {key};
    }
};

/* Floats of 16 bits by integers that are in the same order. */
template <class In, int16_t Infinity>
struct key_of_half {
    using type = int16_t;
    static constexpr bool has_nan = true, nan_loses = false;

    template <class Bits>
    LANES_FUNCTION static Bits of(Bits x)
    {
        return x ^ ((x >> 15) & int16_t(INT16_MAX));
    }

    LANES_FUNCTION static auto nan(vector<int16_t> key)
    {
        return (of(key) & INT16_MAX) > Infinity;
    }

    /* Both zeros are one. */
    template <class Key>
    LANES_FUNCTION static Key rank(Key key)
    {
        return key - (key >> 15);
    }

    LANES_FUNCTION static In element(int16_t key)
    {
        return {uint16_t(of(key))};
    }
};

template <>
struct key_of<float16> : key_of_half<float16, 0x7c00> {};

template <>
struct key_of<bfloat16> : key_of_half<bfloat16, 0x7f80> {};

/* By their real parts and then by the imaginary ones. */
template <class T>
struct key_of<complex<T>> {
    using type = complex<T>;

    LANES_FUNCTION static complex<T> element(complex<T> key)
    {
        return key;
    }
};

template <class In>
using key = typename key_of<In>::type;

/* Registers of floats by themselves: GCC would make one mask of this and of another comparison of
 * the same, and each row wait for that of the row before, which takes longer. */
#if defined(__AVX512BW__)
#define FLOAT_REGISTERS(name)                                                                      \
    LANES_FUNCTION vector<float> operator()(vector<float> x, vector<float> best) const             \
    {                                                                                              \
        return vector<float>(_mm512_maskz_##name##_ps(__mmask16(-1), __m512(x), __m512(best)));    \
    }                                                                                              \
    LANES_FUNCTION vector<double> operator()(vector<double> x, vector<double> best) const          \
    {                                                                                              \
        return vector<double>(_mm512_maskz_##name##_pd(__mmask8(-1), __m512d(x), __m512d(best)));  \
    }
#elif defined(__AVX2__)
#define FLOAT_REGISTERS(name)                                                                      \
    LANES_FUNCTION vector<float> operator()(vector<float> x, vector<float> best) const             \
    {                                                                                              \
        return vector<float>(_mm256_##name##_ps(__m256(x), __m256(best)));                         \
    }                                                                                              \
    LANES_FUNCTION vector<double> operator()(vector<double> x, vector<double> best) const          \
    {                                                                                              \
        return vector<double>(_mm256_##name##_pd(__m256d(x), __m256d(best)));                      \
    }
#else
#define FLOAT_REGISTERS(name)
#endif

struct least {
    template <class T>
    static constexpr T worst = ends<T>::greatest;

    FLOAT_REGISTERS(min)

    template <class T>
    LANES_FUNCTION T operator()(T x, T best) const
    {
        return least_number(x, best);
    }

    template <class T>
    LANES_FUNCTION static auto better(T x, T best)
    {
        return x < best;
    }
};

struct greatest {
    template <class T>
    static constexpr T worst = ends<T>::least;

    FLOAT_REGISTERS(max)

    template <class T>
    LANES_FUNCTION T operator()(T x, T best) const
    {
        return greatest_number(x, best);
    }

    template <class T>
    LANES_FUNCTION static auto better(T x, T best)
    {
        return x > best;
    }
};

#undef FLOAT_REGISTERS

} // namespace
} // namespace KERNELS
