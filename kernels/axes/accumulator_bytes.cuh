/* Accumulators of bytes (accumulator.cuh): several of them to a word. */
#pragma once

#include "accumulator.cuh"

namespace KERNELS
{

/* Sums of bytes, or how many truth values are true: 2^16 of -128 are 2^23. */
template <class State, class In, unsigned Words>
struct byte_sums {
    static constexpr unsigned columns = 4 * Words;
    struct merges_words;
    int32_t totals[columns];

    __device__ __forceinline__ byte_sums() : totals() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
        Vector numbers[Rows];
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
#pragma unroll
            for (unsigned w = 0; w < Words; w++)
                numbers[r].at[w] = numbers_of_bytes<In>(rows[r].at[w]);
        each_column_of_bytes(numbers, [&](unsigned c, uint32_t bytes) {
            using bytes_of = packing_of_numbers<In>;
            totals[c] = int32_t(bytes_of::sum(typename bytes_of::word(bytes), totals[c]));
        });
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            totals[c] += move(totals[c]);
    }

    __device__ __forceinline__ int made(unsigned c, uint32_t) const
    {
        return totals[c];
    }

    __device__ __forceinline__ State state(unsigned c, const rows_taken &, unsigned, unsigned) const
    {
        return State(totals[c]);
    }

    __device__ __forceinline__ State across(uint32_t) const
    {
        return State(
            merged_in_pairs<sum<int>, columns, int>([&](unsigned c) { return totals[c]; }));
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

/* Of halves, the one with the best byte at the top is as good as any: so odd bytes are found in
 * words as they are, and even ones in words moved up by a byte. */
template <class V, unsigned Words>
struct accumulator<min<V>, int8_t, Words> {
    using Fold = min<V>;
    static constexpr unsigned columns = 4 * Words, words = Words;
    struct merges_words;
    uint32_t even[words], odd[words];

    __device__ __forceinline__ accumulator()
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++)
            even[w] = odd[w] = 0x7fff7fff;
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
#pragma unroll
            for (unsigned w = 0; w < words; w++) {
                const uint32_t word = rows[r].at[w];
                even[w] = best_of_signed_halves<true>(even[w], word << 8);
                odd[w] = best_of_signed_halves<true>(odd[w], word);
            }
        }
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            even[w] = best_of_signed_halves<true>(even[w], move(even[w]));
            odd[w] = best_of_signed_halves<true>(odd[w], move(odd[w]));
        }
    }

    __device__ __forceinline__ int made(unsigned c, uint32_t) const
    {
        const uint32_t word = c & 1 ? odd[c / 4] : even[c / 4];
        return int8_t(word >> (c & 2 ? 24 : 8));
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken, unsigned,
                                                    unsigned) const
    {
        return taken.count ? state_of<Fold>(made(c, taken.count)) : Fold::identity();
    }

    __device__ __forceinline__ state_of<Fold> across(uint32_t) const
    {
        const auto of_words = [](uint32_t a, uint32_t b) {
            return best_of_signed_halves<true>(a, b);
        };
        uint32_t best = of_words(even[0], odd[0]);
#pragma unroll
        for (unsigned w = 1; w < words; w++)
            best = of_words(best, of_words(even[w], odd[w]));
        return int8_t(of_words(best, best << 16) >> 24);
    }
};

/* A byte, and below it the row's number, such that of equal bytes the first is best. */
template <class V, unsigned Words>
struct accumulator<argmin<V>, int8_t, Words> {
    using Fold = argmin<V>;
    static constexpr unsigned columns = 4 * Words;
    static constexpr uint32_t numbers = 0xffffff;
    struct merges_words;
    int32_t key[columns];

    __device__ __forceinline__ accumulator()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            key[c] = INT32_MAX;
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t first,
                                         unsigned = Rows)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const uint32_t number = first + r;
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const uint32_t word = rows[r].at[c / 4];
                const int32_t own = int32_t(selected_bytes(number, word, 0x4210 + c % 4 * 0x1000));
                key[c] = least_number(key[c], own);
            }
        }
    }

    /* A row's number in its team instead of the thread's own. */
    __device__ __forceinline__ void number_in_team(const rows_taken &taken)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const uint32_t number = taken.number(key[c] & numbers);
            key[c] = int32_t((uint32_t(key[c]) & ~numbers) | number);
        }
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            key[c] = least_number(key[c], move(key[c]));
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t count) const
    {
        return count == 0 ? 0 : key[c] & numbers;
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken,
                                                    unsigned coalesced, unsigned part) const
    {
        return taken.count ? Fold::lift(value_of<Fold>(int8_t(key[c] >> 24)),
                                        taken.row(made(c, taken.count), coalesced, part))
                           : Fold::identity();
    }

    __device__ __forceinline__ found<value_of<Fold>> across(uint32_t) const
    {
        int32_t best = key[0];
        unsigned lane = 0;
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            lane = key[c] < best ? c : lane;
            best = least_number(key[c], best);
        }
        return {value_of<Fold>(int8_t(best >> 24)), best & numbers, lane};
    }
};

template <class V, unsigned Words>
struct accumulator<argmin<V>, boolean, Words> : accumulator<argmin<V>, int8_t, Words> {};

} // namespace KERNELS
