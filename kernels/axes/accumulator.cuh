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
 * Where `coalesced` rows are taken for one, the state is of the rows number `part` of these. */
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

/* Marks accumulators beside which one more loop would have no registers (column_rows.cuh). */
struct leaves_no_registers {};

/* Lanes that are accumulators of a column of values each: a lane has
 *
 *     using fold;
 *     void take(values, before, valid);
 *     made(), state(taken)
 *
 * the former of folds whose results are made of something else than states. */
template <class Lane, class In, unsigned Words>
struct accumulator_of_lanes {
    static constexpr unsigned columns = lanes_of<In, Words>;
    using state_type = state_of<typename Lane::fold>;
    Lane lanes[columns];

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t before,
                                         unsigned valid = Rows)
    {
        using value = value_of<typename Lane::fold>;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            value column[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                column[r] = value(element_at<In>(rows[r].at, c));
            lanes[c].take(column, before, valid);
        }
    }

    __device__ __forceinline__ auto made(unsigned c, uint32_t) const
    {
        return lanes[c].made();
    }

    __device__ __forceinline__ state_type state(unsigned c, const rows_taken &taken) const
    {
        return lanes[c].state(taken);
    }

    __device__ __forceinline__ state_type across(uint32_t taken) const
    {
        return merged_in_pairs<typename Lane::fold, columns, state_type>(
            [&](unsigned c) { return lanes[c].state({taken}); });
    }
};

/* States, of any fold that asks for no positions. */
template <class Fold>
struct state_lane {
    using fold = Fold;
    state_of<Fold> all = Fold::identity();

    template <unsigned Rows>
    __device__ __forceinline__ void take(const value_of<Fold> (&x)[Rows], uint32_t before,
                                         unsigned valid)
    {
        static_assert(Rows <= 32, "a word has a bit for each");
        take_values<Fold>(all, x, in_a_row{before}, valid_bits{low_bits(valid)});
    }

    __device__ __forceinline__ state_of<Fold> state(const rows_taken &) const
    {
        return all;
    }
};

template <class Fold, class In, unsigned Words = 4>
struct accumulator : accumulator_of_lanes<state_lane<Fold>, In, Words>, leaves_no_registers {};

/* States that are values: neighbours first, which makes the error of a sum less. */
template <class Fold>
struct value_lane : state_lane<Fold> {
    using state_lane<Fold>::all;

    template <unsigned Rows>
    __device__ __forceinline__ void take(const value_of<Fold> (&x)[Rows], uint32_t, unsigned)
    {
        all = Fold::merge(
            all, merged_in_pairs<Fold, Rows, value_of<Fold>>([&](unsigned r) { return x[r]; }));
    }

    __device__ __forceinline__ value_of<Fold> made() const
    {
        return all;
    }
};

template <class V, class In, unsigned Words>
struct accumulator<sum<V>, In, Words> : accumulator_of_lanes<value_lane<sum<V>>, In, Words>,
                                        leaves_no_registers {};

template <class V, class In, unsigned Words>
struct accumulator<min<V>, In, Words> : accumulator_of_lanes<value_lane<min<V>>, In, Words>,
                                        leaves_no_registers {};

/* How many values of up to 2^16 rows are not zero. */
template <class V>
struct nonzero_lane {
    using fold = nonzero<V>;
    uint32_t count = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void take(const V (&x)[Rows], uint32_t, unsigned)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            count += !is_zero(x[r]);
    }

    __device__ __forceinline__ uint64_t state(const rows_taken &) const
    {
        return count;
    }
};

template <class V, class In, unsigned Words>
struct accumulator<nonzero<V>, In, Words> : accumulator_of_lanes<nonzero_lane<V>, In, Words> {};

/* A sum, and how many of its values are NaN: how many are not follows from how many there are. */
template <class V>
struct nansum_lane {
    using fold = nansum<V>;
    V all = sum<V>::identity();
    uint32_t nans = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void take(const V (&x)[Rows], uint32_t, unsigned)
    {
        const V numbers = added_in_lanes<Rows, V>([&](unsigned r) {
            nans += is_nan(x[r]);
            return is_nan(x[r]) ? sum<V>::identity() : x[r];
        });
        all = sum<V>::merge(all, numbers);
    }

    __device__ __forceinline__ state_of<fold> state(const rows_taken &taken) const
    {
        return {typename fold::total(all), taken.count - nans};
    }
};

template <class V, class In, unsigned Words>
struct accumulator<nansum<V>, In, Words> : accumulator_of_lanes<nansum_lane<V>, In, Words> {};

/* Squares of numbers that are narrower than float64, or integers, need no scales. */
template <class V>
struct square_lane {
    using fold = norm2<V>;
    double squares = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void take(const V (&x)[Rows], uint32_t, unsigned)
    {
        squares += added_in_lanes<Rows, double>([&](unsigned r) { return squared(widen(x[r])); });
    }

    __device__ __forceinline__ state_of<fold> state(const rows_taken &) const
    {
        return fold::of_plain(squares);
    }
};

template <class V, class In, unsigned Words>
struct accumulator<norm2<V>, In, Words>
    : accumulator_of_lanes<
          std::conditional_t<std::is_same_v<In, double> || std::is_same_v<In, complex<double>>,
                             state_lane<norm2<V>>, square_lane<V>>,
          In, Words>,
      leaves_no_registers {};

/* Whether x takes the place of the best so far: NaN comes before all numbers, or, where it is left
 * out, after them. */
template <bool SkipsNan, class V>
__device__ __forceinline__ bool comes_before(V x, V best)
{
    return !(x >= best) && !is_nan(SkipsNan ? x : best);
}

/* The first of equals is kept. A column of nothing but the worst is won by its first row, and one
 * of nothing that takes part by none. */
template <class V, bool SkipsNan>
struct argmin_lane {
    using fold = position_of_best<V, by_least, SkipsNan>;
    V best = SkipsNan ? ends<V>::nan : ends<V>::greatest;
    uint32_t number = SkipsNan ? UINT32_MAX : 0;

    template <unsigned Rows>
    __device__ __forceinline__ void take(const V (&x)[Rows], uint32_t first, unsigned)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const bool wins = comes_before<SkipsNan>(x[r], best);
            best = wins ? x[r] : best;
            number = wins ? first + r : number;
        }
    }

    __device__ __forceinline__ unsigned made() const
    {
        return number;
    }

    __device__ __forceinline__ state_of<fold> state(const rows_taken &taken) const
    {
        return taken.count ? fold::lift(best, taken.row(taken.number(number))) : fold::identity();
    }
};

template <class V, bool SkipsNan, class In, unsigned Words>
struct accumulator<position_of_best<V, by_least, SkipsNan>, In, Words>
    : accumulator_of_lanes<argmin_lane<V, SkipsNan>, In, Words> {
    __device__ __forceinline__ found<V> across(uint32_t) const
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
