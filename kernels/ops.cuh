/* What a reduction does to two values. An op is a type with an identity and a combine, both for any
 * element type T, so that every kernel is written once. Integers wrap around, as NumPy's do; NaN
 * wins every comparison, as in NumPy. */
#pragma once

#include "device.cuh"

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

/* The ends of a type: infinities where there are any. */
template <class T>
constexpr T greatest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();
template <class T>
constexpr T least = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                         : std::numeric_limits<T>::lowest();

struct sum {
    template <class T>
    static __host__ __device__ __forceinline__ T identity()
    {
        return T(0);
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
};

struct min {
    template <class T>
    static __host__ __device__ __forceinline__ T identity()
    {
        return greatest<T>;
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
        return least<T>;
    }

    template <class T>
    static __device__ __forceinline__ T combine(T a, T b)
    {
        return a > b || a != a ? a : b;
    }
};

} // namespace KERNELS
