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

/* A fold whose merging nobody counts (lab/counted_fold.cuh). */
template <class Fold>
struct uncounted {
    using fold = Fold;
};

/* target = combine(target, value), as one step that no other thread can come between. */
template <class Counted, class T>
__device__ __forceinline__ void atomic_combine(global<T> target, T value)
{
    using Fold = typename uncounted<Counted>::fold;
    if constexpr (std::is_same_v<Fold, sum<T>> && !std::is_same_v<T, float>) {
        using addend = std::conditional_t<std::is_integral_v<T>, word_of<T>, T>;
        atomicAdd(seen_as<addend>(target), addend(value));
    } else {
        using bits = word_of<T>;
        T current = Fold::identity();
        for (;;) {
            const T combined = Fold::merge(current, value);
            bits expected, desired;
            memcpy(&expected, &current, sizeof expected);
            memcpy(&desired, &combined, sizeof desired);
            const bits seen = atomicCAS(seen_as<bits>(target), expected, desired);
            if (seen == expected)
                return;
            memcpy(&current, &seen, sizeof current);
        }
    }
}

} // namespace KERNELS
