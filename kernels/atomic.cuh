/* Combining into one word that many blocks share. Sums use CUDA's atomic addition, signed integers
 * as unsigned ones, which wrap the same way; but not for float, which it flushes to zero where it
 * is subnormal. Every other combination is a compare-and-swap loop, written once for both widths,
 * that starts from the guess that nobody has been here yet. */
#pragma once

#include "reductions/sum.cuh"

#include <string.h>

namespace KERNELS
{

template <unsigned Bytes>
struct word;

template <>
struct word<4> {
    using type = unsigned;
};

template <>
struct word<8> {
    using type = unsigned long long;
};

template <class Fold, class T>
struct atomic_combination {
    static __device__ __forceinline__ void apply(global<T> target, T value)
    {
        using bits = typename word<sizeof(T)>::type;
        const global<bits> word_at = seen_as<bits>(target);
        T current = Fold::identity();
        bits expected, seen;
        for (;;) {
            const T combined = Fold::merge(current, value);
            bits desired;
            memcpy(&expected, &current, sizeof expected);
            memcpy(&desired, &combined, sizeof desired);
            seen = atomicCAS(word_at, expected, desired);
            if (seen == expected)
                return;
            memcpy(&current, &seen, sizeof current);
        }
    }
};

template <class T>
struct atomic_addition {
    using addend = std::conditional_t<std::is_integral_v<T>, typename word<sizeof(T)>::type, T>;

    static __device__ __forceinline__ void apply(global<T> target, T value)
    {
        atomicAdd(seen_as<addend>(target), addend(value));
    }
};

template <>
struct atomic_combination<sum<int32_t>, int32_t> : atomic_addition<int32_t> {};

template <>
struct atomic_combination<sum<int64_t>, int64_t> : atomic_addition<int64_t> {};

template <>
struct atomic_combination<sum<uint64_t>, uint64_t> : atomic_addition<uint64_t> {};

template <>
struct atomic_combination<sum<double>, double> : atomic_addition<double> {};

/* target = combine(target, value), as one step that no other thread can come between. */
template <class Fold, class T>
__device__ __forceinline__ void atomic_combine(global<T> target, T value)
{
    atomic_combination<Fold, T>::apply(target, value);
}

} // namespace KERNELS
