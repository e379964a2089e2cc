/* Accumulators: what a thread keeps of an op and an element type while it loads vectors of 16
 * bytes, or of fewer words of narrow elements: one state a lane, each in as little as it takes.
 * accumulator<Op, In, Words> has
 *
 *     static constexpr unsigned columns;   lanes of a vector
 *     void take(rows, before, valid);      a batch of vectors, after `before` others
 *     made(c, taken)                       what a result of lane c is made of: row_folds.cuh
 *     state(c, taken, coalesced, part)     the state of lane c
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

    __device__ __forceinline__ uint64_t row(uint32_t number, unsigned coalesced,
                                            unsigned part) const
    {
        const uint32_t member = number & ((1u << team) - 1);
        return (first + (number >> team) * step + member) * coalesced + part;
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

/* States, of any fold that asks for no positions; these, counts and squares have no made(). */
template <class Fold, class In, unsigned Words>
struct state_accumulator {
    static constexpr unsigned columns = lanes_of<In, Words>;
    struct leaves_no_registers; /* of 512 threads a multiprocessor */
    using value = value_of<Fold>;
    state_of<Fold> states[columns];

    __device__ __forceinline__ state_accumulator()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            states[c] = Fold::identity();
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t before,
                                         unsigned valid = Rows)
    {
        static_assert(Rows <= 32, "a word has a bit for each");
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            value column[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                column[r] = value(element_at<In>(rows[r], c));
            take_values<Fold>(states[c], column, in_a_row{before}, valid_bits{low_bits(valid)});
        }
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &, unsigned,
                                                    unsigned) const
    {
        return states[c];
    }

    __device__ __forceinline__ state_of<Fold> across(uint32_t) const
    {
        return merged_in_pairs<Fold, columns, state_of<Fold>>(
            [&](unsigned c) { return states[c]; });
    }
};

template <class Fold, class In, unsigned Words = 4>
struct accumulator : state_accumulator<Fold, In, Words> {};

/* States that are values: neighbours first, which makes the error of a sum less. */
template <class Fold, class In, unsigned Words>
struct value_accumulator {
    static constexpr unsigned columns = lanes_of<In, Words>;
    struct leaves_no_registers; /* of 1024 threads a multiprocessor */
    using value = value_of<Fold>;
    value best[columns];

    __device__ __forceinline__ value_accumulator()
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

template <class V, class In, unsigned Words>
struct accumulator<sum<V>, In, Words> : value_accumulator<sum<V>, In, Words> {};

template <class V, class In, unsigned Words>
struct accumulator<min<V>, In, Words> : value_accumulator<min<V>, In, Words> {};

/* How many elements of up to 2^16 rows are not zero. */
template <class V, class In, unsigned Words>
struct accumulator<nonzero<V>, In, Words> {
    static constexpr unsigned columns = lanes_of<In, Words>;
    uint32_t counts[columns];

    __device__ __forceinline__ accumulator() : counts() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                counts[c] += !is_zero(V(element_at<In>(rows[r], c)));
    }

    __device__ __forceinline__ uint64_t state(unsigned c, const rows_taken &, unsigned,
                                              unsigned) const
    {
        return counts[c];
    }

    __device__ __forceinline__ uint64_t across(uint32_t) const
    {
        return merged_in_pairs<nonzero<V>, columns, uint64_t>(
            [&](unsigned c) { return counts[c]; });
    }
};

/* A sum, and how many of its elements are NaN: how many are not follows from how many there are. */
template <class V, class In, unsigned Words>
struct accumulator<nansum<V>, In, Words> {
    using Fold = nansum<V>;
    static constexpr unsigned columns = lanes_of<In, Words>;
    V sums[columns];
    uint32_t nans[columns];

    __device__ __forceinline__ accumulator() : nans()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            sums[c] = sum<V>::identity();
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const V numbers = added_in_lanes<Rows, V>([&](unsigned r) {
                const V x = V(element_at<In>(rows[r], c));
                nans[c] += is_nan(x);
                return is_nan(x) ? sum<V>::identity() : x;
            });
            sums[c] = sum<V>::merge(sums[c], numbers);
        }
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken, unsigned,
                                                    unsigned) const
    {
        return {typename Fold::total(sums[c]), taken.count - nans[c]};
    }

    __device__ __forceinline__ state_of<Fold> across(uint32_t taken) const
    {
        return merged_in_pairs<Fold, columns, state_of<Fold>>([&](unsigned c) {
            return state_of<Fold>{typename Fold::total(sums[c]), taken - nans[c]};
        });
    }
};

/* Squares of numbers that are narrower than float64, or integers, need no scales. */
template <class V, class In, unsigned Words>
struct square_accumulator {
    static constexpr unsigned columns = lanes_of<In, Words>;
    struct leaves_no_registers;
    double squares[columns];

    __device__ __forceinline__ square_accumulator() : squares() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            squares[c] += added_in_lanes<Rows, double>(
                [&](unsigned r) { return squared(widen(V(element_at<In>(rows[r], c)))); });
    }

    __device__ __forceinline__ state_of<norm2<V>> state(unsigned c, const rows_taken &, unsigned,
                                                        unsigned) const
    {
        return norm2<V>::of_plain(squares[c]);
    }

    __device__ __forceinline__ state_of<norm2<V>> across(uint32_t) const
    {
        return norm2<V>::of_plain(
            added_in_lanes<columns, double>([&](unsigned c) { return squares[c]; }));
    }
};

template <class V, class In, unsigned Words>
struct accumulator<norm2<V>, In, Words>
    : std::conditional_t<std::is_same_v<In, double> || std::is_same_v<In, complex<double>>,
                         state_accumulator<norm2<V>, In, Words>, square_accumulator<V, In, Words>> {
};

/* Whether x takes the place of the best so far: NaN comes before all numbers, or, where it is left
 * out, after them. */
template <bool SkipsNan, class V>
__device__ __forceinline__ bool comes_before(V x, V best)
{
    return !(x >= best) && !is_nan(SkipsNan ? x : best);
}

/* The first of equals is kept. A column of nothing but the worst is won by its first row, and one
 * of nothing that takes part by none. */
template <class V, bool SkipsNan, class In, unsigned Words>
struct accumulator<position_of_best<V, by_least, SkipsNan>, In, Words> {
    using Fold = position_of_best<V, by_least, SkipsNan>;
    static constexpr unsigned columns = lanes_of<In, Words>;
    V best[columns];
    uint32_t number[columns];

    __device__ __forceinline__ accumulator()
    {
        constexpr V worst = SkipsNan ? ends<V>::nan : ends<V>::greatest;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            best[c] = worst;
            number[c] = SkipsNan ? UINT32_MAX : 0;
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
                const bool wins = comes_before<SkipsNan>(x, best[c]);
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
                                                    unsigned coalesced, unsigned part) const
    {
        return taken.count
                   ? Fold::lift(best[c], taken.row(taken.number(number[c]), coalesced, part))
                   : Fold::identity();
    }

    __device__ __forceinline__ found<V> across(uint32_t) const
    {
        found<V> all = {best[0], number[0], 0};
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            const bool beats = comes_before<SkipsNan>(best[c], all.value),
                       equal = best[c] == all.value || (is_nan(best[c]) && is_nan(all.value));
            if (beats || (equal && number[c] < all.number))
                all = {best[c], number[c], c};
        }
        return all;
    }
};

} // namespace KERNELS
