/* Accumulators (accumulator.cuh) of byte elements, several of which share a word. */
#pragma once

#include "accumulator.cuh"

namespace KERNELS
{

/* Sums of bytes, or counts of true values, in 32 bits: 2^16 times -128 is -2^23. */
template <class State, class In, unsigned Words>
struct byte_sums : merges_words {
    static constexpr unsigned columns = 4 * Words;
    int32_t totals[columns];

    __device__ __forceinline__ byte_sums() : totals() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t,
                                               unsigned = Rows)
    {
        using bytes = integer_packing<In>;
        for_each_byte_column(rows, [&](unsigned c, uint32_t word) {
            const auto numbers = typename bytes::word(bytes_as_integers<In>(word));
            totals[c] = int32_t(bytes::sum(numbers, totals[c]));
        });
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            totals[c] += move(totals[c]);
    }

    __device__ __forceinline__ int partial(unsigned c, uint32_t) const
    {
        return totals[c];
    }

    __device__ __forceinline__ State state(unsigned c, const accumulated_rows &) const
    {
        return State(totals[c]);
    }

    __device__ __forceinline__ State merge_lanes(uint32_t) const
    {
        return State(pairwise_merge<sum<int>, columns, int>([&](unsigned c) { return totals[c]; }));
    }
};

template <class V, unsigned Words>
struct accumulator<sum<V>, int8_t, Words> : byte_sums<V, int8_t, Words> {};

template <class V, unsigned Words>
struct accumulator<sum<V>, uint8_t, Words> : byte_sums<V, uint8_t, Words> {};

template <class V, unsigned Words>
struct accumulator<sum<V>, boolean, Words> : byte_sums<V, boolean, Words> {};

template <class V, unsigned Words>
struct accumulator<nonzero<V>, boolean, Words> : byte_sums<uint64_t, boolean, Words> {};

} // namespace KERNELS
