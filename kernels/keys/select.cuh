/* Order statistics of rows, a block each, by radix selection: a digit of 8 bits after the other,
 * from the highest on, of the keys that begin as the ranked one does. A row is read once a digit,
 * from a cache but for the first. */
#pragma once

#include "../warp.cuh"
#include "rank_key.cuh"

#include "common/kernel_arguments.h"

namespace KERNELS
{

enum { SELECT_DIGIT = 8, SELECT_DIGITS = 1 << SELECT_DIGIT };

/* Of one digit how many keys have each value, and then which is that of a rank, and how many keys
 * are below. */
struct digit_counts {
    shared<unsigned> counts, found;

    __device__ __forceinline__ digit_counts()
        : counts(block_memory<unsigned>()), found(counts + SELECT_DIGITS)
    {
    }

    __device__ __forceinline__ void clear() const
    {
        for (unsigned d = threadIdx.x; d < SELECT_DIGITS; d += blockDim.x)
            counts[d] = 0;
        __syncthreads();
    }

    /* By the first warp, each thread of which has 8 values; between barriers. */
    __device__ __forceinline__ void find(unsigned rank) const
    {
        constexpr unsigned own = SELECT_DIGITS / warp_size;
        if (threadIdx.x >= warp_size)
            return;
        unsigned sum = 0;
        for (unsigned k = 0; k < own; k++)
            sum += counts[threadIdx.x * own + k];
        unsigned end = sum;
        for (unsigned offset = 1; offset < warp_size; offset *= 2) {
            const unsigned before = __shfl_up_sync(whole_warp, end, offset);
            end += threadIdx.x >= offset ? before : 0;
        }
        unsigned below = end - sum;
        if (rank < below || rank >= end)
            return;
        unsigned digit = threadIdx.x * own;
        for (; rank >= below + counts[digit]; digit++)
            below += counts[digit];
        found[0] = digit;
        found[1] = below;
    }
};

/* The key of a rank, of a block for all its threads; or NaN's, if there is one. */
template <class K, bool Floats>
__device__ __forceinline__ K key_of_rank(const rank_key<K> &form, const K *row, unsigned n,
                                         unsigned rank)
{
    const digit_counts digits;
    K prefix = 0;
    for (int shift = 8 * int(sizeof(K)) - SELECT_DIGIT; shift >= 0; shift -= SELECT_DIGIT) {
        const K above = K(prefix >> shift >> SELECT_DIGIT);
        bool nan = false;
        digits.clear();
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
            const K key = form.template of<Floats>(row[i]);
            nan |= Floats && key == K(~K(0));
            if (K(key >> shift >> SELECT_DIGIT) == above)
                atomicAdd(&digits.counts[unsigned(key >> shift) % SELECT_DIGITS], 1u);
        }
        if (__syncthreads_or(nan))
            return K(~K(0));
        digits.find(rank);
        __syncthreads();
        prefix |= K(K(digits.found[0]) << shift);
        rank -= digits.found[1];
    }
    return prefix;
}

template <class K>
__global__ void __launch_bounds__(512) select_rows(SHARED_PARAMETER(kernel_select) x)
{
    const rank_key<K> form(x.input);
    const unsigned n = unsigned(x.n);
    for (uint64_t r = blockIdx.x; r < x.rows; r += gridDim.x) {
        const K *const row = static_cast<const K *>(x.values) + r * x.n;
        for (unsigned k = 0; k < x.count; k++) {
            const K key = form.infinity ? key_of_rank<K, true>(form, row, n, x.ranks[k])
                                        : key_of_rank<K, false>(form, row, n, x.ranks[k]);
            if (threadIdx.x == 0)
                static_cast<K *>(x.out)[k * x.rows + r] = form.bits(key);
        }
    }
}

} // namespace KERNELS
