/* Accumulators: the state of a thread that loads vectors of 16 bytes, or of fewer words of narrow
 * elements. Each element position of the vector (lane) has its own partial result, in as few
 * registers as possible. accumulator<Fold, In, Words> has
 *
 *     static constexpr unsigned columns;     lanes of a vector
 *     void accumulate(rows, before, valid);  add a batch of vectors, after `before` others
 *     partial(c, count)                      lane c as input of result_of in row_folds.cuh
 *     state(c, rows)                         lane c as a state of the fold
 *     merge_lanes(count)                     all lanes merged: a state; if indexed, a found<V>
 *
 * Vectors of a batch beyond `valid` are padding that changes no state (typed_rows.cuh). Lanes are
 * adjacent results and vectors are rows if columns are reduced; vectors are consecutive parts of a
 * row otherwise. An accumulator takes at most ROWS_PER_BLOCK vectors. */
#pragma once

#include "../reductions.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* The rows in a thread's state: their count and indices. A team of 2^team threads deals rows out:
 * `number` is the thread's own row counter, followed by its index in the team. If `coalesced` rows
 * are treated as one long row, the state has row `part` of each of them. */
struct accumulated_rows {
    uint32_t count;
    uint64_t first = 0, step = 1;
    unsigned team = 0, rank = 0, coalesced = 1, part = 0;

    __device__ __forceinline__ uint32_t number(uint32_t index) const
    {
        return index << team | rank;
    }

    __device__ __forceinline__ uint64_t row(uint32_t number) const
    {
        const uint32_t member = number & ((1u << team) - 1);
        return (first + (number >> team) * step + member) * coalesced + part;
    }
};

/* Elements per vector. */
template <class In, unsigned Words>
constexpr unsigned lanes_of = Words * sizeof(uint32_t) / sizeof(In);

/* The best value and its position: vector number and lane. */
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

/* Base of accumulators whose words threads merge before converting them to states: acc.merge()
 * takes a function that returns the corresponding word of another thread. */
struct merges_words {
    __device__ __forceinline__ void number_in_team(const accumulated_rows &) {}
};

/* Marks accumulators that leave no registers for one more loop (column_rows.cuh). */
struct is_register_bound {};

/* An accumulator whose lanes are independent. A lane has
 *
 *     using fold;
 *     void accumulate(values, before, valid);
 *     partial(), state(rows)
 *
 * where `partial` is needed only if results are not computed from states. */
template <class Lane, class In, unsigned Words>
struct accumulator_of_lanes {
    static constexpr unsigned columns = lanes_of<In, Words>;
    using state_type = state_of<typename Lane::fold>;
    Lane lanes[columns];

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t before,
                                               unsigned valid = Rows)
    {
        using value = value_of<typename Lane::fold>;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            value column[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                column[r] = value(element_at<In>(rows[r].at, c));
            lanes[c].accumulate(column, before, valid);
        }
    }

    __device__ __forceinline__ auto partial(unsigned c, uint32_t) const
    {
        return lanes[c].partial();
    }

    __device__ __forceinline__ state_type state(unsigned c, const accumulated_rows &rows) const
    {
        return lanes[c].state(rows);
    }

    __device__ __forceinline__ state_type merge_lanes(uint32_t count) const
    {
        return pairwise_merge<typename Lane::fold, columns, state_type>(
            [&](unsigned c) { return lanes[c].state({count}); });
    }
};

/* A lane that keeps a state, for any fold that is not indexed. */
template <class Fold>
struct state_lane {
    using fold = Fold;
    state_of<Fold> all = Fold::identity();

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const value_of<Fold> (&x)[Rows], uint32_t before,
                                               unsigned valid)
    {
        static_assert(Rows <= 32, "a word has a bit for each");
        accumulate_values<Fold>(all, x, consecutive_positions{before}, valid_bits{low_bits(valid)});
    }

    __device__ __forceinline__ state_of<Fold> state(const accumulated_rows &) const
    {
        return all;
    }
};

template <class Fold, class In, unsigned Words = 4>
struct accumulator : accumulator_of_lanes<state_lane<Fold>, In, Words>, is_register_bound {};

/* For states that are values; merging a batch in pairs reduces the rounding error of sums. */
template <class Fold>
struct value_lane : state_lane<Fold> {
    using state_lane<Fold>::all;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const value_of<Fold> (&x)[Rows], uint32_t, unsigned)
    {
        all = Fold::merge(
            all, pairwise_merge<Fold, Rows, value_of<Fold>>([&](unsigned r) { return x[r]; }));
    }

    __device__ __forceinline__ value_of<Fold> partial() const
    {
        return all;
    }
};

template <class V, class In, unsigned Words>
struct accumulator<sum<V>, In, Words> : accumulator_of_lanes<value_lane<sum<V>>, In, Words>,
                                        is_register_bound {};

template <class V, class In, unsigned Words>
struct accumulator<min<V>, In, Words> : accumulator_of_lanes<value_lane<min<V>>, In, Words>,
                                        is_register_bound {};

/* Counts the nonzero values of up to 2^16 rows. */
template <class V>
struct nonzero_lane {
    using fold = nonzero<V>;
    uint32_t count = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t, unsigned)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            count += !is_zero(x[r]);
    }

    __device__ __forceinline__ uint64_t state(const accumulated_rows &) const
    {
        return count;
    }
};

template <class V, class In, unsigned Words>
struct accumulator<nonzero<V>, In, Words> : accumulator_of_lanes<nonzero_lane<V>, In, Words> {};

/* A sum that skips NaNs, and their number, from which that of the terms follows. */
template <class V>
struct nansum_lane {
    using fold = nansum<V>;
    V all = sum<V>::identity();
    uint32_t nans = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t, unsigned)
    {
        const V numbers = sum_in_lanes<Rows, V>([&](unsigned r) {
            nans += is_nan(x[r]);
            return is_nan(x[r]) ? sum<V>::identity() : x[r];
        });
        all = sum<V>::merge(all, numbers);
    }

    __device__ __forceinline__ state_of<fold> state(const accumulated_rows &rows) const
    {
        return {typename fold::total(all), rows.count - nans};
    }
};

template <class V, class In, unsigned Words>
struct accumulator<nansum<V>, In, Words> : accumulator_of_lanes<nansum_lane<V>, In, Words> {};

/* Squares of integers and of floats narrower than float64 need no scaling. */
template <class V>
struct square_lane {
    using fold = norm2<V>;
    double squares = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t, unsigned)
    {
        squares += sum_in_lanes<Rows, double>([&](unsigned r) { return squared(widen(x[r])); });
    }

    __device__ __forceinline__ state_of<fold> state(const accumulated_rows &) const
    {
        return fold::state_of_squares(squares);
    }
};

template <class V, class In, unsigned Words>
struct accumulator<norm2<V>, In, Words>
    : accumulator_of_lanes<
          std::conditional_t<std::is_same_v<In, double> || std::is_same_v<In, complex<double>>,
                             state_lane<norm2<V>>, square_lane<V>>,
          In, Words>,
      is_register_bound {};

/* Whether x replaces the best value so far: NaN sorts before all numbers or, if SkipsNan, after
 * them. */
template <bool SkipsNan, class V>
__device__ __forceinline__ bool comes_before(V x, V best)
{
    return !(x >= best) && !is_nan(SkipsNan ? x : best);
}

/* Of equal values the first wins. The initial state is such that a column of only worst values is
 * won by its first row; if SkipsNan, a column of only NaNs has no winner. */
template <class V, bool SkipsNan>
struct argmin_lane {
    using fold = position_of_best<V, by_least, SkipsNan>;
    V best = SkipsNan ? ends<V>::nan : ends<V>::greatest;
    uint32_t number = SkipsNan ? UINT32_MAX : 0;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t first, unsigned)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const bool wins = comes_before<SkipsNan>(x[r], best);
            best = wins ? x[r] : best;
            number = wins ? first + r : number;
        }
    }

    __device__ __forceinline__ unsigned partial() const
    {
        return number;
    }

    __device__ __forceinline__ state_of<fold> state(const accumulated_rows &rows) const
    {
        return rows.count ? fold::lift(best, rows.row(rows.number(number))) : fold::identity();
    }
};

template <class V, bool SkipsNan, class In, unsigned Words>
struct accumulator<position_of_best<V, by_least, SkipsNan>, In, Words>
    : accumulator_of_lanes<argmin_lane<V, SkipsNan>, In, Words> {
    __device__ __forceinline__ found<V> merge_lanes(uint32_t) const
    {
        found<V> all = {this->lanes[0].best, this->lanes[0].number, 0};
#pragma unroll
        for (unsigned c = 1; c < this->columns; c++) {
            const auto [best, number] = this->lanes[c];
            const bool beats = comes_before<SkipsNan>(best, all.value),
                       equal = best == all.value || (is_nan(best) && is_nan(all.value));
            if (beats || (equal && number < all.number))
                all = {best, number, c};
        }
        return all;
    }
};

} // namespace KERNELS
