/* Accumulators: what a thread keeps of an op and an element type while it loads vectors of 16
 * bytes, or of fewer words of narrow elements: one state a lane, each in as little as it takes.
 * accumulator<Op, In, Words> has
 *
 *     static constexpr unsigned columns;   lanes of a vector
 *     void take(rows, before, valid);      a batch of vectors, after `before` others
 *     made(c, taken)                       what a result of lane c is made of: row_folds.cuh
 *     state(c, taken)                      the state of lane c
 *     across(taken)                        all lanes as one: a state; if indexed, a found<V>
 *
 * Of a batch `valid` vectors are there; what fills up the rest changes no state (typed_rows.cuh).
 * Of columns lanes are neighbouring results, and vectors rows; of a row, vectors lie one after the
 * other. An accumulator takes ROWS_A_BLOCK vectors at most, see there. */
#pragma once

#include "../reductions.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* How many rows a state is of, and where those of a team of 2^team threads lie among all. A row's
 * number in its team says which of whose it is: the thread's own count, and below it the thread.
 * Of rows that are several, one after the other, it is of one part. */
struct rows_taken {
    uint32_t count;
    uint64_t first = 0, step = 1;
    unsigned team = 0, own = 0, coalesced = 1, part = 0;

    __device__ __forceinline__ uint32_t number(uint32_t taken) const
    {
        return taken << team | own;
    }

    __device__ __forceinline__ uint64_t row(uint32_t number) const
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

template <class T, unsigned N>
__device__ __forceinline__ void fill(T (&lanes)[N], T with)
{
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        lanes[k] = with;
}

/* Accumulators of bytes are words, which threads may merge before they become states: own.merge()
 * with each of what move() makes of own. */
struct merges_words {
    __device__ __forceinline__ void number_in_team(const rows_taken &) {}
};

/* Where one more loop would take more registers than there are (column_rows.cuh). */
struct leaves_no_registers {};

/* States, of any fold that asks for no positions; these, counts and squares have no made(). */
template <class Fold, class In, unsigned Words>
struct state_accumulator : leaves_no_registers {
    static constexpr unsigned columns = lanes_of<In, Words>;
    state_of<Fold> states[columns];

    __device__ __forceinline__ state_accumulator()
    {
        fill(states, Fold::identity());
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t before,
                                         unsigned valid = Rows)
    {
        static_assert(Rows <= 32, "a word has a bit for each");
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            value_of<Fold> column[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                column[r] = value_of<Fold>(element_at<In>(rows[r].at, c));
            take_values<Fold>(states[c], column, in_a_row{before}, valid_bits{low_bits(valid)});
        }
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &) const
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
struct value_accumulator : state_accumulator<Fold, In, Words> {
    using state_accumulator<Fold, In, Words>::states;

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
        using value = value_of<Fold>;
#pragma unroll
        for (unsigned c = 0; c < this->columns; c++)
            states[c] = Fold::merge(states[c], merged_in_pairs<Fold, Rows, value>([&](unsigned r) {
                                        return value(element_at<In>(rows[r].at, c));
                                    }));
    }

    __device__ __forceinline__ value_of<Fold> made(unsigned c, uint32_t) const
    {
        return states[c];
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
                counts[c] += !is_zero(V(element_at<In>(rows[r].at, c)));
    }

    __device__ __forceinline__ uint64_t state(unsigned c, const rows_taken &) const
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
        fill(sums, sum<V>::identity());
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const V numbers = added_in_lanes<Rows, V>([&](unsigned r) {
                const V x = V(element_at<In>(rows[r].at, c));
                nans[c] += is_nan(x);
                return is_nan(x) ? sum<V>::identity() : x;
            });
            sums[c] = sum<V>::merge(sums[c], numbers);
        }
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken) const
    {
        return {typename Fold::total(sums[c]), taken.count - nans[c]};
    }

    __device__ __forceinline__ state_of<Fold> across(uint32_t taken) const
    {
        return merged_in_pairs<Fold, columns, state_of<Fold>>(
            [&](unsigned c) { return state(c, {taken}); });
    }
};

/* Squares of numbers that are narrower than float64, or integers, need no scales. */
template <class V, class In, unsigned Words>
struct square_accumulator : leaves_no_registers {
    static constexpr unsigned columns = lanes_of<In, Words>;
    double squares[columns];

    __device__ __forceinline__ square_accumulator() : squares() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            squares[c] += added_in_lanes<Rows, double>(
                [&](unsigned r) { return squared(widen(V(element_at<In>(rows[r].at, c)))); });
    }

    __device__ __forceinline__ state_of<norm2<V>> state(unsigned c, const rows_taken &) const
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

/* The first of equals is kept, and the first NaN: what is not worse than the best, which a NaN
 * never is, takes its place, unless that is NaN. A column of nothing but the worst is won by its
 * first row. */
template <class V, class In, unsigned Words>
struct accumulator<argmin<V>, In, Words> {
    using Fold = argmin<V>;
    static constexpr unsigned columns = lanes_of<In, Words>;
    V best[columns];
    uint32_t number[columns];

    __device__ __forceinline__ accumulator() : number()
    {
        fill(best, V(ends<V>::greatest));
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t first,
                                         unsigned = Rows)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const V x = V(element_at<In>(rows[r].at, c));
                const bool wins = !(x >= best[c]) && !is_nan(best[c]);
                best[c] = wins ? x : best[c];
                number[c] = wins ? first + r : number[c];
            }
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t) const
    {
        return number[c];
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken) const
    {
        return taken.count ? Fold::lift(best[c], taken.row(taken.number(number[c])))
                           : Fold::identity();
    }

    __device__ __forceinline__ found<V> across(uint32_t) const
    {
        found<V> all = {best[0], number[0], 0};
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            const bool beats = !(best[c] >= all.value) && !is_nan(all.value),
                       equal = best[c] == all.value || (is_nan(best[c]) && is_nan(all.value));
            if (beats || (equal && number[c] < all.number))
                all = {best[c], number[c], c};
        }
        return all;
    }
};

} // namespace KERNELS
