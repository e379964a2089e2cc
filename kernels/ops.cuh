/* What a reduction does to two values. An op is a type with an identity and a combine, both for any
 * element type T, so that every kernel is written once. Integers wrap around, as NumPy's do; NaN
 * wins every comparison, as in NumPy. */
#pragma once

#include "elements.cuh"

#include <limits>
#include <type_traits>

namespace KERNELS
{

/* Arithmetic on signed integers goes through their unsigned type, where overflow is defined. */
template <class T, bool = std::is_integral_v<T>>
struct arithmetic {
    using type = std::make_unsigned_t<T>;
};

template <class T>
struct arithmetic<T, false> {
    using type = T;
};

/* What sums begin with, which leaves a negative zero what it is, and the ends of a type: infinities
 * where there are any. */
template <class T>
struct ends {
    using limits = std::numeric_limits<T>;
    static constexpr T nothing = T(-0.0);
    static constexpr T greatest = limits::has_infinity ? limits::infinity() : limits::max();
    static constexpr T least = limits::has_infinity ? -limits::infinity() : limits::lowest();
};

template <class T>
struct ends<complex<T>> {
    static constexpr complex<T> nothing = {ends<T>::nothing, ends<T>::nothing};
    static constexpr complex<T> greatest = {ends<T>::greatest, ends<T>::greatest};
    static constexpr complex<T> least = {ends<T>::least, ends<T>::least};
};

struct sum {
    template <class T>
    static __host__ __device__ __forceinline__ T identity()
    {
        constexpr T nothing = ends<T>::nothing;
        return nothing;
    }

    template <class T>
    static __device__ __forceinline__ T combine(T a, T b)
    {
        using wrapping = typename arithmetic<T>::type;
        return T(wrapping(a) + wrapping(b));
    }
};

struct prod {
    template <class T>
    static __host__ __device__ __forceinline__ T identity()
    {
        return T(1);
    }

    template <class T>
    static __device__ __forceinline__ T combine(T a, T b)
    {
        using wrapping = typename arithmetic<T>::type;
        return T(wrapping(a) * wrapping(b));
    }

    /* One times infinity would be NaN in one part; and every thread begins with one. */
    template <class T>
    static __device__ __forceinline__ complex<T> combine(complex<T> a, complex<T> b)
    {
        if (a.real == 1 && a.imag == 0)
            return b;
        return b.real == 1 && b.imag == 0 ? a : a * b;
    }
};

struct min {
    template <class T>
    static __host__ __device__ __forceinline__ T identity()
    {
        constexpr T greatest = ends<T>::greatest;
        return greatest;
    }

    template <class T>
    static __device__ __forceinline__ T combine(T a, T b)
    {
        return a < b || a != a ? a : b;
    }
};

struct max {
    template <class T>
    static __host__ __device__ __forceinline__ T identity()
    {
        constexpr T least = ends<T>::least;
        return least;
    }

    template <class T>
    static __device__ __forceinline__ T combine(T a, T b)
    {
        return a > b || a != a ? a : b;
    }
};

} // namespace KERNELS
