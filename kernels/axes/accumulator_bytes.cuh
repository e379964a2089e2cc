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

/* Bytes as signed ones in the same order, and such a byte as what it was. */
template <class In>
__device__ __forceinline__ uint32_t signed_bytes(uint32_t word)
{
    return std::is_same_v<In, uint8_t>  ? word ^ 0x80808080
           : std::is_same_v<In, int8_t> ? word
                                        : numbers_of_bytes<In>(word);
}

template <class In>
__device__ __forceinline__ int byte_of_signed(int8_t byte)
{
    return std::is_same_v<In, uint8_t> ? byte + 0x80 : byte;
}

/* Of halves, the one with the best byte at the top is as good as any: so odd bytes are found in
 * words as they are, and even ones in words moved up by a byte. */
template <class V, template <class> class Order, class In, unsigned Words>
struct best_bytes {
    using Fold = best_value<V, Order>;
    static constexpr unsigned columns = 4 * Words, words = Words;
    static constexpr bool Least = Order<int>::worst > 0;
    struct merges_words;
    uint32_t even[words], odd[words];

    __device__ __forceinline__ best_bytes()
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++)
            even[w] = odd[w] = Least ? 0x7fff7fff : 0x80008000;
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
#pragma unroll
            for (unsigned w = 0; w < words; w++) {
                const uint32_t word = signed_bytes<In>(rows[r].at[w]);
                even[w] = best_of_signed_halves<Least>(even[w], word << 8);
                odd[w] = best_of_signed_halves<Least>(odd[w], word);
            }
        }
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            even[w] = best_of_signed_halves<Least>(even[w], move(even[w]));
            odd[w] = best_of_signed_halves<Least>(odd[w], move(odd[w]));
        }
    }

    __device__ __forceinline__ int made(unsigned c, uint32_t) const
    {
        const uint32_t word = c & 1 ? odd[c / 4] : even[c / 4];
        return byte_of_signed<In>(int8_t(word >> (c & 2 ? 24 : 8)));
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken, unsigned,
                                                    unsigned) const
    {
        return taken.count ? state_of<Fold>(made(c, taken.count)) : Fold::identity();
    }

    __device__ __forceinline__ state_of<Fold> across(uint32_t) const
    {
        const auto of_words = [](uint32_t a, uint32_t b) {
            return best_of_signed_halves<Least>(a, b);
        };
        uint32_t best = of_words(even[0], odd[0]);
#pragma unroll
        for (unsigned w = 1; w < words; w++)
            best = of_words(best, of_words(even[w], odd[w]));
        return byte_of_signed<In>(int8_t(of_words(best, best << 16) >> 24));
    }
};

template <class V, template <class> class Order, unsigned Words>
struct accumulator<best_value<V, Order>, int8_t, Words> : best_bytes<V, Order, int8_t, Words> {};

template <class V, template <class> class Order, unsigned Words>
struct accumulator<best_value<V, Order>, uint8_t, Words> : best_bytes<V, Order, uint8_t, Words> {};

template <class V, template <class> class Order, unsigned Words>
struct accumulator<best_value<V, Order>, boolean, Words> : best_bytes<V, Order, boolean, Words> {};

/* A byte, and below it the row's number, such that of equal bytes the first is best. */
template <class V, template <class> class Order, class In, unsigned Words>
struct best_byte_positions {
    using Fold = position_of_best<V, Order>;
    static constexpr unsigned columns = 4 * Words;
    static constexpr bool Least = Order<int>::worst > 0;
    static constexpr uint32_t numbers = 0xffffff;
    struct merges_words;
    int32_t key[columns];

    __device__ __forceinline__ best_byte_positions()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            key[c] = Least ? INT32_MAX : INT32_MIN;
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t first,
                                         unsigned = Rows)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const uint32_t number = Least ? first + r : numbers - (first + r);
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const uint32_t word = signed_bytes<In>(rows[r].at[c / 4]);
                const int32_t own = int32_t(selected_bytes(number, word, 0x4210 + c % 4 * 0x1000));
                key[c] = Least ? least_number(key[c], own) : greatest_number(key[c], own);
            }
        }
    }

    /* A row's number in its team instead of the thread's own. */
    __device__ __forceinline__ void number_in_team(const rows_taken &taken)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const uint32_t low = key[c] & numbers,
                           number = taken.number(Least ? low : numbers - low);
            key[c] = int32_t((uint32_t(key[c]) & ~numbers) | (Least ? number : numbers - number));
        }
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const int32_t other = move(key[c]);
            key[c] = Least ? least_number(key[c], other) : greatest_number(key[c], other);
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t count) const
    {
        const uint32_t low = key[c] & numbers;
        return count == 0 ? 0 : Least ? low : numbers - low;
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken,
                                                    unsigned repeats, unsigned part) const
    {
        return taken.count ? Fold::lift(value_of<Fold>(byte_of_signed<In>(int8_t(key[c] >> 24))),
                                        taken.row(made(c, taken.count), repeats, part))
                           : Fold::identity();
    }

    __device__ __forceinline__ found<value_of<Fold>> across(uint32_t) const
    {
        int32_t best = key[0];
        unsigned lane = 0;
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            lane = (Least ? key[c] < best : key[c] > best) ? c : lane;
            best = Least ? least_number(key[c], best) : greatest_number(key[c], best);
        }
        const uint32_t low = best & numbers;
        return {value_of<Fold>(byte_of_signed<In>(int8_t(best >> 24))), Least ? low : numbers - low,
                lane};
    }
};

template <class V, template <class> class Order, unsigned Words>
struct accumulator<position_of_best<V, Order>, int8_t, Words>
    : best_byte_positions<V, Order, int8_t, Words> {};

template <class V, template <class> class Order, unsigned Words>
struct accumulator<position_of_best<V, Order>, uint8_t, Words>
    : best_byte_positions<V, Order, uint8_t, Words> {};

template <class V, template <class> class Order, unsigned Words>
struct accumulator<position_of_best<V, Order>, boolean, Words>
    : best_byte_positions<V, Order, boolean, Words> {};

} // namespace KERNELS
