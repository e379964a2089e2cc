/* The order in which extremes are found. Kernels of a known type find only minima of signed
 * numbers. For maxima and for unsigned integers, bits of elements are inverted when they are
 * loaded, as in a radix sort, and inverted back in results; kernel_results has the masks. Booleans
 * are converted to 0 and 1 first. */
#pragma once

#include "accumulator.cuh"
#include "row_numbers.cuh"

namespace KERNELS
{

/* Whether a fold compares elements in this order. `extremes` of floats takes them as they are. */
template <class Fold, class V = value_of<Fold>>
constexpr bool compares = std::is_same_v<Fold, min<V>> || std::is_same_v<Fold, argmin<V>> ||
                          std::is_same_v<Fold, nanargmin<V>> || std::is_same_v<Fold, nanmin<V>> ||
                          (std::is_same_v<Fold, extremes<V>> && std::is_integral_v<V>);

/* Inverts bits of elements, if the fold compares them. */
template <class Fold, class In>
struct inversion {
    uint64_t bits; /* the bits to invert, in every 8 bytes */

    /* Word k of a vector. In floats only the sign bit is inverted. */
    __device__ __forceinline__ uint32_t of_word(uint32_t word, unsigned k) const
    {
        if (!compares<Fold> || (std::is_same_v<In, double> && k % 2 == 0))
            return word;
        return word ^ uint32_t(sizeof(In) == sizeof(uint64_t) && k % 2 ? bits >> 32 : bits);
    }

    /* An element, or a vector of words. */
    template <class T>
    __device__ __forceinline__ T operator()(T x) const
    {
        if constexpr (compares<Fold>) {
            uint32_t words[(sizeof x + 3) / 4] = {};
            memcpy(words, &x, sizeof x);
#pragma unroll
            for (unsigned k = 0; k < sizeof words / sizeof *words; k++) {
                if constexpr (std::is_same_v<In, boolean>)
                    words[k] = bytes_as_integers<In>(words[k]);
                words[k] = of_word(words[k], k);
            }
            memcpy(&x, words, sizeof x);
        }
        return x;
    }
};

/* An accumulator whose elements are inverted first. */
template <class Accumulator, class Fold, class In, bool = compares<Fold>>
struct inverted_accumulator : Accumulator {
    __device__ __forceinline__ explicit inverted_accumulator(const kernel_results &) {}
};

template <class Accumulator, class Fold, class In>
struct inverted_accumulator<Accumulator, Fold, In, true> : Accumulator {
    inversion<Fold, In> invert;

    __device__ __forceinline__ explicit inverted_accumulator(const kernel_results &results)
        : invert{results.inverted}
    {
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t before,
                                               unsigned valid = Rows)
    {
        Vector inverted[Rows];
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            inverted[r] = invert(rows[r]);
        Accumulator::accumulate(inverted, before, valid);
    }
};

/* A short row (row_folds.cuh) whose elements are inverted. */
template <class Row, class Fold, class In>
struct inverted_row {
    const Row &row;
    inversion<Fold, In> invert;

    __device__ __forceinline__ unsigned begin() const
    {
        return row.begin();
    }

    __device__ __forceinline__ unsigned step() const
    {
        return row.step();
    }

    template <class F>
    __device__ __forceinline__ void for_each(uint32_t fill, F f) const
    {
        row.for_each(invert.of_word(fill, 0), [&](const auto &x, unsigned at) {
            struct elements {
                std::remove_const_t<std::remove_reference_t<decltype(x)>> at;
            } copy;
            memcpy(&copy, x, sizeof copy);
            f(invert(copy).at, at);
        });
    }

    template <class T, class F>
    __device__ __forceinline__ T all_reduce(T x, F merge) const
    {
        return row.all_reduce(x, merge);
    }
};

} // namespace KERNELS
