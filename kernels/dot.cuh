/* Dot products in the accumulator's arithmetic, in one launch: each thread multiplies packs of both
 * arrays, with several loads in flight, and the last block folds the blocks' partial sums. Products
 * of floats narrower than float64 are exact. */
#pragma once

#include "ladder/21_last_block.cuh"
#include "reductions/sum.cuh"

namespace KERNELS
{

/* Integers wrap around. */
template <class Acc>
__device__ __forceinline__ Acc multiplied(Acc a, Acc b)
{
    using wrapping = typename arithmetic<Acc>::type;
    if constexpr (std::is_floating_point_v<Acc>)
        return rounded_product(a, b);
    else if constexpr (!std::is_integral_v<Acc>)
        return a * b;
    else
        return Acc(wrapping(a) * wrapping(b));
}

/* Packs of the second array, which need not be aligned when those of the first are. */
template <class In>
struct factor_packs {
    global<const In> at;
    bool aligned;

    __device__ __forceinline__ pack<In> operator[](uint64_t i) const
    {
        const global<const In> from = at + i * pack<In>::size;
        return aligned ? *pointer_cast<const pack<In>>(from) : load_unaligned_pack(from);
    }
};

/* Several independent partial sums per thread, so that additions do not wait for each other. */
template <class Acc, class In>
struct dot_lanes {
    static constexpr unsigned count = pack<In>::size < 4 ? pack<In>::size : 4;
    Acc at[count] = {};

    __device__ __forceinline__ void accumulate(const pack<In> &a, const pack<In> &b)
    {
#pragma unroll
        for (unsigned k = 0; k < pack<In>::size; k++)
            at[k % count] = added(at[k % count], multiplied(Acc(a.at[k]), Acc(b.at[k])));
    }

    __device__ __forceinline__ Acc total() const
    {
        Acc sum = at[0];
#pragma unroll
        for (unsigned k = 1; k < count; k++)
            sum = added(sum, at[k]);
        return sum;
    }
};

template <class In, class Acc>
__device__ __forceinline__ Acc dot_of_packs(const aligned_packs<In> &x,
                                            const factor_packs<In> &factors)
{
    constexpr unsigned in_flight = packs_in_flight / 2;
    const uint64_t threads = threads_in_grid();
    dot_lanes<Acc, In> lanes;
    uint64_t i = rank_in_grid();
#pragma unroll 1
    for (; i + (in_flight - 1) * threads < x.count; i += in_flight * threads) {
        pack<In> a[in_flight], b[in_flight];
#pragma unroll
        for (unsigned k = 0; k < in_flight; k++) {
            a[k] = x.packs[i + k * threads];
            b[k] = factors[i + k * threads];
        }
#pragma unroll
        for (unsigned k = 0; k < in_flight; k++)
            lanes.accumulate(a[k], b[k]);
    }
#pragma unroll 1
    for (; i < x.count; i += threads)
        lanes.accumulate(x.packs[i], factors[i]);
    return lanes.total();
}

template <class In, class Acc>
__global__ void dot(global<const In> data, uint64_t n, global<Acc> partials,
                    global<unsigned> tickets, struct epilogue epilogue, enum fold, enum element,
                    unsigned, SHARED_PARAMETER(struct exact_result), global<const In> factors)
{
    const aligned_packs<In> x(data, n);
    const global<const In> others = factors + x.head;
    const uint64_t single = x.single(rank_in_grid());
    Acc total = dot_of_packs<In, Acc>(x, {others, address_of(others) % sizeof(pack<In>) == 0});
    if (single < n)
        total = added(total, multiplied(Acc(data[single]), Acc(factors[single])));
    fold_in_last_block<sum<Acc>>(block_fold<sum<Acc>>(total), blockIdx.x, gridDim.x, partials,
                                 tickets, epilogue);
}

} // namespace KERNELS
