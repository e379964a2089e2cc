/* Accumulators (accumulator.cuh) of byte elements, several of which share a word. */
#pragma once

#include "accumulator.cuh"

namespace KERNELS
{

/* Sums of bytes, of their squares, or counts of true values, in 32 bits: 2^16 times -128 is -2^23,
 * and 2^16 times 255^2 is less than 2^32. */
template <class State, class In, unsigned Words, bool Squares = false>
struct byte_sums : merges_words {
    using total = std::conditional_t<Squares, uint32_t, int32_t>;
    using total_of_lanes = std::conditional_t<Squares, uint64_t, int>;
    static constexpr unsigned columns = 4 * Words;
    total totals[columns];

    __device__ __forceinline__ byte_sums() : totals() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t,
                                               unsigned = Rows)
    {
        using bytes = integer_packing<In>;
        using word = typename bytes::word;
        for_each_byte_column(rows, [&](unsigned c, uint32_t elements) {
            const auto numbers = word(bytes_as_integers<In>(elements));
            if constexpr (Squares)
                totals[c] = total(bytes::squares(numbers, word(totals[c])));
            else
                totals[c] = total(bytes::sum(numbers, totals[c]));
        });
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            totals[c] += move(totals[c]);
    }

    __device__ __forceinline__ total partial(unsigned c, uint32_t) const
    {
        return totals[c];
    }

    __device__ __forceinline__ State state(unsigned c, const accumulated_rows &) const
    {
        return State(totals[c]);
    }

    __device__ __forceinline__ State merge_lanes(uint32_t) const
    {
        return State(pairwise_merge<sum<total_of_lanes>, columns, total_of_lanes>(
            [&](unsigned c) { return totals[c]; }));
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

/* The product of elements whose bits add up to 32 has 32 bits. Multiplied as unsigned numbers,
 * which a compiler does not widen. */
template <class V, class In>
struct narrow_product_lane : state_lane<prod<V>> {
    using product_type = std::conditional_t<std::is_signed_v<In>, int32_t, uint32_t>;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t, unsigned valid)
    {
        constexpr unsigned fit = sizeof(product_type) / sizeof(In), step = Rows < fit ? Rows : fit;
#pragma unroll
        for (unsigned first = 0; first < Rows; first += step) {
            uint32_t product = 1;
#pragma unroll
            for (unsigned r = first; r < first + step; r++)
                product *= r < valid ? uint32_t(x[r]) : 1;
            this->all = prod<V>::merge(this->all, V(product_type(opaque_value(product))));
        }
    }
};

template <class V, unsigned Words>
struct accumulator<prod<V>, int8_t, Words>
    : accumulator_of_lanes<narrow_product_lane<V, int8_t>, int8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<prod<V>, uint8_t, Words>
    : accumulator_of_lanes<narrow_product_lane<V, uint8_t>, uint8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<prod<V>, int16_t, Words>
    : accumulator_of_lanes<narrow_product_lane<V, int16_t>, int16_t, Words> {};

/* Norms, from sums of squares. */
template <class V, class In, unsigned Words>
struct byte_norms : byte_sums<double, In, Words, true> {
    using fold = norm2<V>;
    using squares = byte_sums<double, In, Words, true>;

    __device__ __forceinline__ state_of<fold> state(unsigned c, const accumulated_rows &rows) const
    {
        return fold::state_of_squares(squares::state(c, rows));
    }

    __device__ __forceinline__ state_of<fold> merge_lanes(uint32_t count) const
    {
        return fold::state_of_squares(squares::merge_lanes(count));
    }
};

template <class V, unsigned Words>
struct accumulator<norm2<V>, int8_t, Words> : byte_norms<V, int8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<norm2<V>, uint8_t, Words> : byte_norms<V, uint8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<norm2<V>, boolean, Words> : byte_norms<V, boolean, Words> {};

} // namespace KERNELS
