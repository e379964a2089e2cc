/* The order in which extremes are found. Kernels that know the elements' type find minima of signed
 * numbers only. Where maxima are asked for, or integers are unsigned, bits of elements are inverted
 * as they are taken in, as radix sorts do, and of results again: kernel_results has which ones.
 * Truth values become 0 and 1 before. */
#pragma once

#include "accumulator.cuh"
#include "row_numbers.cuh"

namespace KERNELS
{

/* Whether a fold's elements are compared. Both extremes are found of floats as they are. */
template <class Fold, class V = value_of<Fold>>
constexpr bool compares = std::is_same_v<Fold, min<V>> || std::is_same_v<Fold, argmin<V>> ||
                          std::is_same_v<Fold, nanargmin<V>> || std::is_same_v<Fold, nanmin<V>> ||
                          (std::is_same_v<Fold, extremes<V>> && std::is_integral_v<V>);

/* Inverts bits of elements that are compared. */
template <class Fold, class In>
struct inversion {
    uint64_t bits; /* of every 8 bytes */

    /* Of word number k of a vector; of a float only the sign. */
    __device__ __forceinline__ uint32_t of_word(uint32_t word, unsigned k) const
    {
        if (!compares<Fold> || (std::is_same_v<In, double> && k % 2 == 0))
            return word;
        return word ^ uint32_t(sizeof(In) == sizeof(uint64_t) && k % 2 ? bits >> 32 : bits);
    }

    /* Of elements, or of words of them. */
    template <class T>
    __device__ __forceinline__ T operator()(T x) const
    {
        if constexpr (compares<Fold>) {
            uint32_t words[(sizeof x + 3) / 4] = {};
            memcpy(words, &x, sizeof x);
#pragma unroll
            for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
                if constexpr (std::is_same_v<In, boolean>)
                    words[k] = numbers_of_bytes<In>(words[k]);
                words[k] = of_word(words[k], k);
            }
            memcpy(&x, words, sizeof x);
        }
        return x;
    }
};

/* An accumulator of elements whose bits are inverted. */
template <class Accumulator, class Fold, class In, bool = compares<Fold>>
struct in_order : Accumulator {
    __device__ __forceinline__ explicit in_order(const kernel_results &) {}
};

template <class Accumulator, class Fold, class In>
struct in_order<Accumulator, Fold, In, true> : Accumulator {
    inversion<Fold, In> inverted;

    __device__ __forceinline__ explicit in_order(const kernel_results &results)
        : inverted{results.inverted}
    {
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t before,
                                         unsigned valid = Rows)
    {
        Vector own[Rows];
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            own[r] = inverted(rows[r]);
        Accumulator::take(own, before, valid);
    }
};

/* A short row (row_folds.cuh) of such elements. */
template <class Row, class Fold, class In>
struct row_in_order {
    const Row &row;
    inversion<Fold, In> inverted;

    __device__ __forceinline__ unsigned begin() const
    {
        return row.begin();
    }

    template <class F>
    __device__ __forceinline__ void each(uint32_t fill, F f) const
    {
        row.each(inverted.of_word(fill, 0), [&](const auto &x, unsigned at) {
            struct elements {
                std::remove_const_t<std::remove_reference_t<decltype(x)>> at;
            } own;
            memcpy(&own, x, sizeof own);
            f(inverted(own).at, at);
        });
    }

    template <class T, class F>
    __device__ __forceinline__ T together(T x, F merge) const
    {
        return row.together(x, merge);
    }
};

} // namespace KERNELS
