/* Accumulators: what a thread keeps of an op and an element type while it loads vectors of 16
 * bytes, or of fewer words of narrow elements: one state a lane, each in as little as it takes.
 * accumulator<Op, In, Words> has
 *
 *     static constexpr unsigned columns;   lanes of a vector
 *     void take(rows, before, valid);      a batch of vectors, after `before` others
 *     made(c, taken)                       what a result of lane c is made of: row_folds.cuh
 *     state(c, taken, repeats, part)       the state of lane c
 *     across(taken)                        all lanes as one: a state; if indexed, a found<V>
 *
 * Of a batch `valid` vectors are there; what fills up the rest changes no state (neutral.cuh). Of
 * columns lanes are neighbouring results, and vectors rows; of a row, vectors lie one after the
 * other. An accumulator takes ROWS_A_BLOCK vectors at most, see there. */
#pragma once

#include "../reductions.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* Where the rows of a team of 2^team threads lie among all, and how many of them a state is of. A
 * row's number in its team says which of whose it is: the thread's own count, and below it the
 * thread. */
struct rows_taken {
    uint64_t first, step;
    unsigned team, own;
    uint32_t count;

    __device__ __forceinline__ uint32_t number(uint32_t taken) const
    {
        return taken << team | own;
    }

    __device__ __forceinline__ uint64_t row(uint32_t number, unsigned repeats, unsigned part) const
    {
        const uint32_t member = number & ((1u << team) - 1);
        return (first + (number >> team) * step + member) * repeats + part;
    }
};

/* Elements of so many words. */
template <class In, unsigned Words>
constexpr unsigned lanes_of = Words * sizeof(uint32_t) / sizeof(In);

/* The best value, and where it is: in which vector, and in which lane. */
template <class V>
struct found {
    V value;
    uint32_t number;
    unsigned lane;
};

/* Accumulators of bytes are words, which a warp's threads may merge before they become states. */
template <class Columns>
__device__ __forceinline__ void merge_with_lane(Columns &own, rows_taken &taken, unsigned offset)
{
    own.merge([&](auto word) { return __shfl_down_sync(whole_warp, word, offset); });
    taken.count += __shfl_down_sync(whole_warp, taken.count, offset);
}

/* States that are values: neighbours first, which makes the error of a sum less. */
template <class Fold, class In, unsigned Words = 4>
struct accumulator {
    static constexpr unsigned columns = lanes_of<In, Words>;
    struct leaves_no_registers; /* of 1024 threads a multiprocessor */
    using value = value_of<Fold>;
    value best[columns];

    __device__ __forceinline__ accumulator()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            best[c] = Fold::identity();
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            best[c] = Fold::merge(best[c], merged_in_pairs<Fold, Rows, value>([&](unsigned r) {
                                      return value(element_at<In>(rows[r], c));
                                  }));
        }
    }

    __device__ __forceinline__ value made(unsigned c, uint32_t) const
    {
        return best[c];
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &, unsigned,
                                                    unsigned) const
    {
        return best[c];
    }

    __device__ __forceinline__ state_of<Fold> across(uint32_t) const
    {
        return merged_in_pairs<Fold, columns, value>([&](unsigned c) { return best[c]; });
    }
};

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
            totals[c] = packing<int8_t>::sum(int32_t(bytes), totals[c]);
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
struct accumulator<sum<V>, boolean, Words> : byte_sums<V, boolean, Words> {};

template <class V, unsigned Words>
struct accumulator<nonzero<V>, boolean, Words> : byte_sums<uint64_t, boolean, Words> {};

/* Of halves, the one with the best byte at the top is as good as any: so odd bytes are found in
 * words as they are, and even ones in words moved up by a byte. */
template <class V, template <class> class Order, unsigned Words>
struct accumulator<best_value<V, Order>, int8_t, Words> {
    using Fold = best_value<V, Order>;
    static constexpr unsigned columns = 4 * Words, words = Words;
    static constexpr bool Least = Order<int>::worst > 0;
    struct merges_words;
    uint32_t even[words], odd[words];

    __device__ __forceinline__ accumulator()
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
            const Vector &row = rows[r];
#pragma unroll
            for (unsigned w = 0; w < words; w++) {
                even[w] = best_of_signed_halves<Least>(even[w], row.at[w] << 8);
                odd[w] = best_of_signed_halves<Least>(odd[w], row.at[w]);
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
            return best_of_signed_halves<Least>(a, b);
        };
        uint32_t best = of_words(even[0], odd[0]);
#pragma unroll
        for (unsigned w = 1; w < words; w++)
            best = of_words(best, of_words(even[w], odd[w]));
        return int8_t(of_words(best, best << 16) >> 24);
    }
};

/* The first of equals is kept, and the first NaN: what is not worse than the best, which a NaN
 * never is, takes its place, unless that is NaN. A column of nothing but the worst is won by its
 * first row. */
template <class V, template <class> class Order, class In, unsigned Words>
struct accumulator<position_of_best<V, Order>, In, Words> {
    using Fold = position_of_best<V, Order>;
    static constexpr unsigned columns = lanes_of<In, Words>;
    static constexpr bool is_least = Order<int>::worst > 0;
    V best[columns];
    uint32_t number[columns];

    __device__ __forceinline__ accumulator()
    {
        constexpr V worst = Order<V>::worst;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            best[c] = worst;
            number[c] = 0;
        }
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t first,
                                         unsigned = Rows)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const V x = V(element_at<In>(rows[r], c));
                const bool wins = !(is_least ? x >= best[c] : x <= best[c]) && !is_nan(best[c]);
                best[c] = wins ? x : best[c];
                number[c] = wins ? first + r : number[c];
            }
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t) const
    {
        return number[c];
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken,
                                                    unsigned repeats, unsigned part) const
    {
        return taken.count ? Fold::lift(best[c], taken.row(taken.number(number[c]), repeats, part))
                           : Fold::identity();
    }

    __device__ __forceinline__ found<V> across(uint32_t) const
    {
        found<V> all = {best[0], number[0], 0};
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            const bool beats = !(is_least ? best[c] >= all.value : best[c] <= all.value) &&
                               !is_nan(all.value),
                       equal = best[c] == all.value || (is_nan(best[c]) && is_nan(all.value));
            if (beats || (equal && number[c] < all.number))
                all = {best[c], number[c], c};
        }
        return all;
    }
};

/* A byte, and below it the row's number, such that of equal bytes the first is best. */
template <class V, template <class> class Order, unsigned Words>
struct accumulator<position_of_best<V, Order>, int8_t, Words> {
    using Fold = position_of_best<V, Order>;
    static constexpr unsigned columns = 4 * Words;
    static constexpr bool Least = Order<int>::worst > 0;
    static constexpr uint32_t numbers = 0xffffff;
    struct merges_words;
    int32_t key[columns];

    __device__ __forceinline__ accumulator()
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
            const Vector &row = rows[r];
            const uint32_t number = Least ? first + r : numbers - (first + r);
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const int32_t own =
                    int32_t(selected_bytes(number, row.at[c / 4], 0x4210 + c % 4 * 0x1000));
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
        return taken.count ? Fold::lift(value_of<Fold>(key[c] >> 24),
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
        return {value_of<Fold>(best >> 24), Least ? low : numbers - low, lane};
    }
};

} // namespace KERNELS
