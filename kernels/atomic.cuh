/* Atomically combine a value into a word that all blocks share. Sums use CUDA's atomicAdd (signed
 * integers as unsigned ones, which wrap identically), except for float, whose atomicAdd flushes
 * subnormals to zero. All other folds use a compare-and-swap loop, one template for both widths,
 * whose first guess is that the word still holds the identity. */
#pragma once

#include "reductions/sum.cuh"
#include "warp.cuh"

#include <string.h>

namespace KERNELS
{

/* The fold without the counting of merges (lab/counted_fold.cuh). */
template <class Fold>
struct uncounted {
    using fold = Fold;
};

/* Atomic target = merge(target, value). */
template <class Counted, class T>
__device__ __forceinline__ void atomic_combine(global<T> target, T value)
{
    using Fold = typename uncounted<Counted>::fold;
    if constexpr (std::is_same_v<Fold, sum<T>> && !std::is_same_v<T, float>) {
        using addend = std::conditional_t<std::is_integral_v<T>, word_of<T>, T>;
        atomicAdd(pointer_cast<addend>(target), addend(value));
    } else {
        using bits = word_of<T>;
        T current = Fold::identity();
        for (;;) {
            const T combined = Fold::merge(current, value);
            bits expected, desired;
            memcpy(&expected, &current, sizeof expected);
            memcpy(&desired, &combined, sizeof desired);
            const bits seen = atomicCAS(pointer_cast<bits>(target), expected, desired);
            if (seen == expected)
                return;
            memcpy(&current, &seen, sizeof current);
        }
    }
}

} // namespace KERNELS
