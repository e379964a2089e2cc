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

/* The product of booleans is whether all are true. */
template <class V, unsigned Words>
struct accumulator<prod<V>, boolean, Words> : byte_sums<V, boolean, Words> {
    __device__ __forceinline__ V state(unsigned c, const accumulated_rows &rows) const
    {
        return V(uint32_t(this->totals[c]) == rows.count);
    }

    __device__ __forceinline__ V merge_lanes(uint32_t count) const
    {
        bool all = true;
#pragma unroll
        for (unsigned c = 0; c < this->columns; c++)
            all = all && uint32_t(this->totals[c]) == count;
        return V(all);
    }
};

/* The product of four unsigned bytes has 32 bits. */
template <class V>
struct byte_product_lane : state_lane<prod<V>> {
    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t, unsigned valid)
    {
        constexpr unsigned four = Rows < 4 ? Rows : 4;
#pragma unroll
        for (unsigned first = 0; first < Rows; first += four) {
            uint32_t product = 1;
#pragma unroll
            for (unsigned r = first; r < first + four; r++)
                product *= r < valid ? uint32_t(x[r]) : 1;
            this->all = prod<V>::merge(this->all, V(product));
        }
    }
};

template <class V, unsigned Words>
struct accumulator<prod<V>, uint8_t, Words>
    : accumulator_of_lanes<byte_product_lane<V>, uint8_t, Words> {};

/* Sums of the squares of bytes: those of 2^16 have 32 bits. */
template <class V, class In, unsigned Words>
struct byte_squares : merges_words {
    using fold = norm2<V>;
    static constexpr unsigned columns = 4 * Words;
    uint32_t squares[columns];

    __device__ __forceinline__ byte_squares() : squares() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t,
                                               unsigned = Rows)
    {
        using bytes = integer_packing<In>;
        using word = typename bytes::word;
        for_each_byte_column(rows, [&](unsigned c, uint32_t elements) {
            squares[c] =
                uint32_t(bytes::squares(word(bytes_as_integers<In>(elements)), word(squares[c])));
        });
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            squares[c] += move(squares[c]);
    }

    __device__ __forceinline__ state_of<fold> state(unsigned c, const accumulated_rows &) const
    {
        return fold::state_of_squares(squares[c]);
    }

    __device__ __forceinline__ state_of<fold> merge_lanes(uint32_t) const
    {
        uint64_t all = 0;
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            all += squares[c];
        return fold::state_of_squares(double(all));
    }
};

template <class V, unsigned Words>
struct accumulator<norm2<V>, int8_t, Words> : byte_squares<V, int8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<norm2<V>, uint8_t, Words> : byte_squares<V, uint8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<norm2<V>, boolean, Words> : byte_squares<V, boolean, Words> {};

} // namespace KERNELS
