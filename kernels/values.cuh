/* Arithmetic on the values that folds reduce: wrapping integer arithmetic as in NumPy, extreme
 * values of a type, and NaN. */
#pragma once

#include "elements.cuh"

#include <limits>
#include <type_traits>

namespace KERNELS
{

/* Signed integers are computed in their unsigned type, where overflow is defined. */
template <class T, bool = std::is_integral_v<T>>
struct arithmetic {
    using type = std::make_unsigned_t<T>;
};

template <class T>
struct arithmetic<T, false> {
    using type = T;
};

/* Constants of a type: negative zero, the identity of addition; the greatest and least values,
 * infinities if the type has them; and NaN. */
template <class T>
struct ends {
    using limits = std::numeric_limits<T>;
    static constexpr T negative_zero = T(-0.0);
    static constexpr T greatest = limits::has_infinity ? limits::infinity() : limits::max();
    static constexpr T least = limits::has_infinity ? -limits::infinity() : limits::lowest();
    static constexpr T nan = limits::quiet_NaN();
};

template <class T>
struct ends<complex<T>> {
    static constexpr complex<T> negative_zero = {ends<T>::negative_zero, ends<T>::negative_zero};
    static constexpr complex<T> greatest = {ends<T>::greatest, ends<T>::greatest};
    static constexpr complex<T> least = {ends<T>::least, ends<T>::least};
};

/* For 16-bit floats, given the bits of infinity, and for bool. */
template <class T, uint16_t Infinity>
struct ends_of_halves {
    static constexpr T negative_zero = {0x8000}, greatest = {Infinity};
};

template <>
struct ends<float16> : ends_of_halves<float16, 0x7c00> {};
template <>
struct ends<bfloat16> : ends_of_halves<bfloat16, 0x7f80> {};
template <>
struct ends<boolean> {
    static constexpr boolean greatest = {1};
};

/* A complex value is NaN if either part is. */
template <class T>
__host__ __device__ __forceinline__ bool is_nan(T x)
{
    return x != x;
}

template <class T>
__host__ __device__ __forceinline__ T not_a_number()
{
    return T(ends<double>::nan);
}

template <class T>
__host__ __device__ __forceinline__ bool is_zero(T x)
{
    return !(x != T(0));
}

/* The minimum of two numbers that are not NaN; a GPU has an instruction for floats. */
template <class T>
__host__ __device__ __forceinline__ T min_of_numbers(T a, T b)
{
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, float>)
        return fminf(a, b);
#endif
    return a < b ? a : b;
}

template <class T>
__host__ __device__ __forceinline__ T max_of_numbers(T a, T b)
{
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, float>)
        return fmaxf(a, b);
#endif
    return a > b ? a : b;
}

/* Without the NaN check that operator< on complex values has. */
template <class T>
__host__ __device__ __forceinline__ bool is_less_number(complex<T> a, complex<T> b)
{
    return a.real < b.real || (a.real == b.real && a.imag < b.imag);
}

template <class T>
__host__ __device__ __forceinline__ complex<T> min_of_numbers(complex<T> a, complex<T> b)
{
    return is_less_number(a, b) ? a : b;
}

template <class T>
__host__ __device__ __forceinline__ complex<T> max_of_numbers(complex<T> a, complex<T> b)
{
    return is_less_number(b, a) ? a : b;
}

/* a + b; integers wrap around. */
template <class T>
__host__ __device__ __forceinline__ T added(T a, T b)
{
    using wrapping = typename arithmetic<T>::type;
    return T(wrapping(a) + wrapping(b));
}

/* a - b; integers wrap around. */
template <class T>
__host__ __device__ __forceinline__ T difference(T a, T b)
{
    using wrapping = typename arithmetic<T>::type;
    return T(wrapping(a) - wrapping(b));
}

template <class T>
__host__ __device__ __forceinline__ complex<T> difference(complex<T> a, complex<T> b)
{
    return {a.real - b.real, a.imag - b.imag};
}

/* Conversion to float64 or complex128. */
template <class T>
__host__ __device__ __forceinline__ double widen(T x)
{
    return double(x);
}

template <class T>
__host__ __device__ __forceinline__ complex<double> widen(complex<T> x)
{
    return {double(x.real), double(x.imag)};
}

template <class T>
using wide_of = decltype(widen(T()));

template <class T>
__host__ __device__ __forceinline__ double magnitude(T x)
{
    return fabs(double(x));
}

template <class T>
__host__ __device__ __forceinline__ double magnitude(complex<T> x)
{
    return hypot(double(x.real), double(x.imag));
}

/* The squared magnitude. */
__host__ __device__ __forceinline__ double squared(double x)
{
    return x * x;
}

__host__ __device__ __forceinline__ double squared(complex<double> x)
{
    return x.real * x.real + x.imag * x.imag;
}

} // namespace KERNELS
