/* Combining into one word that many blocks share. Sums use CUDA's atomic addition, signed integers
 * as unsigned ones, which wrap the same way; but not for float, which it flushes to zero where it
 * is subnormal. Every other combination is a compare-and-swap loop, written once for both widths,
 * that starts from the guess that nobody has been here yet. */
#pragma once

#include "reductions/sum.cuh"
#include "warp.cuh"

#include <string.h>

namespace KERNELS
{

template <class Fold, class T>
struct atomic_combination {
    static __device__ __forceinline__ void apply(global<T> target, T value)
    {
        constexpr bool is_added = std::is_same_v<Fold, sum<T>> && !std::is_same_v<T, float>;
        if constexpr (is_added) {
            using addend = std::conditional_t<std::is_integral_v<T>, word_of<T>, T>;
            atomicAdd(seen_as<addend>(target), addend(value));
        } else {
            swap_in(target, value);
        }
    }

  private:
    static __device__ __forceinline__ void swap_in(global<T> target, T value)
    {
        using bits = word_of<T>;
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

/* target = combine(target, value), as one step that no other thread can come between. */
template <class Fold, class T>
__device__ __forceinline__ void atomic_combine(global<T> target, T value)
{
    atomic_combination<Fold, T>::apply(target, value);
}

} // namespace KERNELS
