/* Extremes of columns, their positions, and reductions that are not vectorized. */
#pragma once

#include "extremes.cuh"
#include "slabs.cuh"

namespace KERNELS
{
namespace
{

/* Keys with NaN as the best value: 16-bit floats map NaN to the best key, wider floats select it by
 * a separate comparison. If NaNs are skipped, keys are unchanged. */
template <class In, class Order, nan_policy Nan = nan_policy::propagate>
struct column_keys {
    using keys = key_of<In>;
    using K = key<In>;
    static constexpr bool propagates_nan = keys::has_nan && Nan == nan_policy::propagate,
                          compares_nan = propagates_nan && keys::nan_is_unordered,
                          maps_nan = propagates_nan && !keys::nan_is_unordered,
                          skips_key = keys::has_nan && !propagates_nan && !keys::nan_is_unordered;
    static constexpr K best_key =
        Order::template worst<K> == ends<K>::least ? ends<K>::greatest : ends<K>::least;

    FORCEINLINE static vector<K> of(const In *x)
    {
        const vector<K> key = keys::of(load<vector<K>>(x));
        if constexpr (maps_nan)
            return keys::nan(key) ? broadcast(best_key) : key;
        else
            return key;
    }

    FORCEINLINE static auto better(vector<K> x, vector<K> best)
    {
        return Order::better(keys::rank(x), keys::rank(best));
    }

    FORCEINLINE static vector<K> best(vector<K> x, vector<K> best)
    {
        if constexpr (maps_nan)
            return better(x, best) ? x : best;
        else if constexpr (skips_key)
            return better(x, best) & ~keys::nan(x) ? x : best;
        else
            return Order()(x, best);
    }

    template <class V>
    FORCEINLINE static V value(K key)
    {
        return V(keys::element(maps_nan && key == best_key ? ends<K>::greatest : key));
    }
};

/* Flags of the lanes that have taken an element, needed if elements are masked or skipped. */
template <class T, bool Selects>
struct nonempty_lanes {
    lanes<T> nonempty = {};
};

template <class T>
struct nonempty_lanes<T, false> {};

/* Keeps the first of equal elements. If NaNs are skipped, the result is NaN where there is no
 * number. */
template <class In, class Order, nan_policy Nan = nan_policy::propagate>
struct column_extremes : column_lanes<In, In>,
                         nonempty_lanes<bits_of<sizeof(In)>, Nan == nan_policy::omit> {
    static constexpr bool skips = Nan == nan_policy::omit;
    using keys = column_keys<In, Order, Nan>;
    using K = key<In>;
    best_lanes<In, Order> all;

    /* A propagated NaN is handled at the end, so that each row depends on the previous one by only
     * one comparison. */
    FORCEINLINE void update(const typed_part<In> &part)
    {
        column_extremes updated = *this;
        lanes<K> &best = updated.all.best, nans = best;
        for (unsigned row = 0; row < part.rows; row++)
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = keys::of(part[row] + r * vector_lanes<In>);
                best.at[r] = keys::best(x, best.at[r]);
                if constexpr (keys::compares_nan)
                    nans.at[r] = key_of<In>::nan(x) ? x : nans.at[r];
                if constexpr (skips)
                    updated.nonempty.at[r] |= vector<bits_of<sizeof(In)>>(~key_of<In>::nan(x));
            }
        if constexpr (keys::compares_nan)
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        best.at[r] = key_of<In>::nan(nans.at[r]) ? nans.at[r] : best.at[r];
        *this = updated;
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        if constexpr (skips) {
            const lane_values<bits_of<sizeof(In)>> is_number(this->nonempty);
            each_value(all.best, n, [=, &is_number](unsigned k, K best) {
                to[k] = is_number[k] ? State(key_of<In>::element(best)) : not_a_number<State>();
            });
        } else {
            each_value(all.best, n,
                       [=](unsigned k, K best) { to[k] = keys::template value<State>(best); });
        }
    }
};

/* The minimum and the maximum, or, of integers, the larger of their magnitudes. */
template <class In>
struct column_ranges : column_lanes<In, In> {
    using lows = column_extremes<In, least>;
    using highs = column_extremes<In, greatest>;
    lows low;
    highs high;

    FORCEINLINE void update(const typed_part<In> &part)
    {
        low.update(part);
        high.update(part);
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        if constexpr (std::is_same_v<State, double>) {
            each_value(largest_magnitudes(), n, [=](unsigned k, auto size) { to[k] = size; });
        } else {
            const lane_values<key<In>> highest(high.all.best);
            each_value(low.all.best, n, [=, &highest](unsigned k, key<In> lowest) {
                to[k] = {lows::keys::template value<decltype(to->least)>(lowest),
                         highs::keys::template value<decltype(to->least)>(highest[k])};
            });
        }
    }

  private:
    FORCEINLINE auto largest_magnitudes() const
    {
        using bits = bits_of<sizeof(In)>;
        lanes<bits> largest;
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto a = unsigned_magnitude<In>::apply(vector<bits>(low.all.best.at[r])),
                       b = unsigned_magnitude<In>::apply(vector<bits>(high.all.best.at[r]));
            largest.at[r] = a > b ? a : b;
        }
        return largest;
    }
};

/* Positions are as wide as elements. */
template <class In, class Order, bool Masked = false, nan_policy Nan = nan_policy::propagate>
struct column_positions : column_lanes<In, In>,
                          nonempty_lanes<bits_of<sizeof(In)>, Masked || Nan == nan_policy::omit> {
    static constexpr bool selects = Masked || Nan == nan_policy::omit;
    using keys = column_keys<In, Order, Nan>;
    using K = key<In>;
    using position = bits_of<sizeof(In)>;
    best_lanes<In, Order> all;
    lanes<position> positions = {};

    /* NaN is rare: a part that has one is processed again. */
    FORCEINLINE void update(const typed_part<In> &part)
    {
        if constexpr (keys::compares_nan) {
            column_positions numbers = *this;
            if (!numbers.template update_rows<false>(part)) {
                *this = numbers;
                return;
            }
        }
        update_rows<keys::compares_nan>(part);
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &at) const
    {
        const lane_values<position> rows(positions);
        each_value(all.best, n, [=, &rows, &at](unsigned k, K best) {
            to[k] = State::of(keys::template value<decltype(to->value)>(best), at.of(rows[k], k));
        });
        if constexpr (selects) {
            const lane_values<position> nonempty(this->nonempty);
            constexpr auto worst = Order::template worst<decltype(to->value)>;
            for (unsigned k = 0; k < n; k++)
                to[k] = nonempty[k] ? to[k] : State::of(worst, UINT64_MAX);
        }
    }

  private:
    /* Returns whether there was a NaN. */
    template <bool WithNan>
    FORCEINLINE bool update_rows(const typed_part<In> &part)
    {
        lanes<K> best = all.best;
        lanes<position> found = positions;
        decltype(vector<K>{} < vector<K>{}) nans = {};
        for (unsigned row = 0; row < part.rows; row++) {
            const vector<position> current = broadcast(position(part.first + row));
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = keys::of(part[row] + r * vector_lanes<In>);
                auto better = keys::better(x, best.at[r]);
                auto valid = ~decltype(better){};
                if constexpr (Masked)
                    valid = part.template is_valid<position>(row, r * vector_lanes<In>);
                if constexpr (selects) {
                    if constexpr (Nan == nan_policy::omit)
                        valid &= ~key_of<In>::nan(x);
                    better |= this->nonempty.at[r] == 0;
                    this->nonempty.at[r] |= vector<position>(valid);
                }
                if constexpr (WithNan)
                    better |= key_of<In>::nan(x) & ~key_of<In>::nan(best.at[r]);
                else if constexpr (keys::compares_nan)
                    nans |= key_of<In>::nan(x) & valid;
                better &= valid;
                best.at[r] =
                    WithNan || selects ? (better ? x : best.at[r]) : keys::best(x, best.at[r]);
                found.at[r] = better ? current : found.at[r];
            }
        }
        all.best = best;
        positions = found;
        return any_lane(nans);
    }
};

/* ---- states ---- */

/* Columns of values that are not vectorized, such as complex numbers: one scalar state each, by the
 * fold's own merge. There is only one part: rows are too far apart for more. */

/* Folds that treat all NaNs alike; if all elements are NaN, the result is the first one. */
template <class Fold>
constexpr bool returns_first_nan =
    std::is_same_v<Fold, nanmin<value_of<Fold>>> || std::is_same_v<Fold, nanmax<value_of<Fold>>>;

template <class Fold>
struct column_states {
    using element = value_of<Fold>;
    static constexpr unsigned step = 8;
    static constexpr bool is_tree = false;
    state_of<Fold> all[step];

    FORCEINLINE column_states()
    {
        for (unsigned k = 0; k < step; k++)
            all[k] = Fold::identity();
    }

    FORCEINLINE void update(const typed_part<element> &part)
    {
        for (unsigned k = 0; k < step; k++)
            all[k] = merge_rows(all[k], part, k);
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        for (unsigned k = 0; k < n; k++)
            to[k] = all[k];
    }

  private:
    /* Rows need not be aligned. */
    FORCEINLINE static state_of<Fold> merge_rows(state_of<Fold> state,
                                                 const typed_part<element> &part, unsigned lane)
    {
        for (unsigned row = 0; row < part.rows; row++)
            state =
                Fold::merge(state, Fold::lift(load<element>(part[row] + lane), part.index_of(row)));
        if constexpr (returns_first_nan<Fold>)
            return is_nan(state) ? load<element>(part[0] + lane) : state;
        else
            return state;
    }
};

} // namespace
} // namespace KERNELS
