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
template <class In, class Order, nan_policy Nan = nan_policy::noted>
struct winning {
    using keys = key_of<In>;
    using K = key<In>;
    static constexpr bool nan_wins = keys::has_nan && Nan == nan_policy::noted,
                          nan_is_chosen = nan_wins && keys::nan_loses,
                          nan_is_best = nan_wins && !keys::nan_loses;
    static constexpr K best_of_all =
        Order::template worst<K> == ends<K>::least ? ends<K>::greatest : ends<K>::least;

    LANES_FUNCTION static vector<K> of(const In *x)
    {
        const vector<K> key = keys::of(loaded<vector<K>>(x));
        if constexpr (nan_is_best)
            return keys::nan(key) ? in_all_lanes(best_of_all) : key;
        else
            return key;
    }

    LANES_FUNCTION static auto better(vector<K> x, vector<K> best)
    {
        return Order::better(keys::rank(x), keys::rank(best));
    }

    LANES_FUNCTION static vector<K> best(vector<K> x, vector<K> best)
    {
        if constexpr (nan_is_best)
            return better(x, best) ? x : best;
        else
            return Order()(x, best);
    }

    template <class V>
    LANES_FUNCTION static V value(K key)
    {
        return V(keys::element(nan_is_best && key == best_of_all ? ends<K>::greatest : key));
    }
};

/* Keeps the first of equal elements. */
template <class In, class Order>
struct column_extremes : column_lanes<In, In> {
    using keys = winning<In, Order>;
    using K = key<In>;
    best_lanes<In, Order> all;

    /* NaN is handled at the end, so that each row depends on the previous one by only one
     * comparison. */
    LANES_FUNCTION void take(const part_of<In> &part)
    {
        lanes<K> best = all.best, nans = best;
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = keys::of(part[row] + r * in_register<In>);
                best.at[r] = keys::best(x, best.at[r]);
                if constexpr (keys::nan_is_chosen)
                    nans.at[r] = key_of<In>::nan(x) ? x : nans.at[r];
            }
        if constexpr (keys::nan_is_chosen)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        best.at[r] = key_of<In>::nan(nans.at[r]) ? nans.at[r] : best.at[r];
        all.best = best;
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        put_each(all.best, n,
                 [=](unsigned k, K best) { to[k] = keys::template value<State>(best); });
    }
};

/* The minimum and the maximum, or, of integers, the larger of their magnitudes. */
template <class In>
struct column_ranges : column_lanes<In, In> {
    using lows = column_extremes<In, least>;
    using highs = column_extremes<In, greatest>;
    lows low;
    highs high;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        low.take(part);
        high.take(part);
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        if constexpr (std::is_same_v<State, double>) {
            put_each(largest_magnitudes(), n, [=](unsigned k, auto size) { to[k] = size; });
        } else {
            const values_in_lanes<key<In>> highest(high.all.best);
            put_each(low.all.best, n, [=, &highest](unsigned k, key<In> lowest) {
                to[k] = {lows::keys::template value<decltype(to->least)>(lowest),
                         highs::keys::template value<decltype(to->least)>(highest[k])};
            });
        }
    }

  private:
    LANES_FUNCTION auto largest_magnitudes() const
    {
        using bits = bits_of<sizeof(In)>;
        lanes<bits> largest;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto a = unsigned_magnitude<In>::of(vector<bits>(low.all.best.at[r])),
                       b = unsigned_magnitude<In>::of(vector<bits>(high.all.best.at[r]));
            largest.at[r] = a > b ? a : b;
        }
        return largest;
    }
};

/* Flags of the lanes that have taken an element, needed if elements are masked or skipped. */
template <class T, bool Selects>
struct lanes_with_any {
    lanes<T> any = {};
};

template <class T>
struct lanes_with_any<T, false> {};

/* Positions are as wide as elements. */
template <class In, class Order, bool Masked = false, nan_policy Nan = nan_policy::noted>
struct column_positions
    : column_lanes<In, In>,
      lanes_with_any<bits_of<sizeof(In)>, Masked || Nan == nan_policy::skipped> {
    static constexpr bool selects = Masked || Nan == nan_policy::skipped;
    using keys = winning<In, Order, Nan>;
    using K = key<In>;
    using position = bits_of<sizeof(In)>;
    best_lanes<In, Order> all;
    lanes<position> where = {};

    /* NaN is rare: a part that has one is processed again. */
    LANES_FUNCTION void take(const part_of<In> &part)
    {
        if constexpr (keys::nan_is_chosen) {
            column_positions numbers = *this;
            if (!numbers.template take_rows<false>(part)) {
                *this = numbers;
                return;
            }
        }
        take_rows<keys::nan_is_chosen>(part);
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &at) const
    {
        const values_in_lanes<position> rows(where);
        put_each(all.best, n, [=, &rows, &at](unsigned k, K best) {
            to[k] = State::of(keys::template value<decltype(to->value)>(best), at.of(rows[k], k));
        });
        if constexpr (selects) {
            const values_in_lanes<position> taken(this->any);
            constexpr auto worst = Order::template worst<decltype(to->value)>;
            for (unsigned k = 0; k < n; k++)
                to[k] = taken[k] ? to[k] : State::of(worst, UINT64_MAX);
        }
    }

  private:
    /* Returns whether there was a NaN. */
    template <bool WithNan>
    LANES_FUNCTION bool take_rows(const part_of<In> &part)
    {
        lanes<K> best = all.best;
        lanes<position> found = where;
        decltype(vector<K>{} < vector<K>{}) nans = {};
        for (unsigned row = 0; row < part.rows; row++) {
            const vector<position> here = in_all_lanes(position(part.first + row));
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = keys::of(part[row] + r * in_register<In>);
                auto better = keys::better(x, best.at[r]);
                auto valid = ~decltype(better){};
                if constexpr (Masked)
                    valid = part.template is_valid<position>(row, r * in_register<In>);
                if constexpr (selects) {
                    if constexpr (Nan == nan_policy::skipped)
                        valid &= ~key_of<In>::nan(x);
                    better |= this->any.at[r] == 0;
                    this->any.at[r] |= vector<position>(valid);
                }
                if constexpr (WithNan)
                    better |= key_of<In>::nan(x) & ~key_of<In>::nan(best.at[r]);
                else if constexpr (keys::nan_is_chosen)
                    nans |= key_of<In>::nan(x) & valid;
                better &= valid;
                best.at[r] =
                    WithNan || selects ? (better ? x : best.at[r]) : keys::best(x, best.at[r]);
                found.at[r] = better ? here : found.at[r];
            }
        }
        all.best = best;
        where = found;
        return is_any(nans);
    }
};

/* ---- extremes without NaN ---- */

/* The first of equal numbers, or NaN if there are none. NaN floats lose every comparison, so
 * whether there was any number is recorded separately. */
template <class In, class Order>
struct column_extreme_numbers : column_lanes<In, In> {
    using keys = key_of<In>;
    using K = key<In>;
    best_lanes<In, Order> all;
    decltype(vector<K>{} < vector<K>{}) numbers[lanes_registers] = {};

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        column_extreme_numbers taken = *this;
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        taken.take(r, keys::of(loaded<vector<K>>(part[row] + r * in_register<In>)));
        *this = taken;
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<bits_of<sizeof(K)>> is_number(numbers);
        put_each(all.best, n, [=, &is_number](unsigned k, K x) {
            to[k] = is_number[k] ? State(keys::element(x)) : not_a_number<State>();
        });
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<K> x)
    {
        vector<K> &best = all.best.at[r];
        numbers[r] |= ~keys::nan(x);
        if constexpr (keys::nan_loses) {
            best = Order()(x, best);
        } else {
            const auto better = Order::better(keys::rank(x), keys::rank(best)) & ~keys::nan(x);
            best = better ? x : best;
        }
    }
};

/* ---- states ---- */

/* Columns of values that are not vectorized, such as complex numbers: one scalar state each, by the
 * fold's own merge. There is only one part: rows are too far apart for more. */

/* Folds that treat all NaNs alike; if all elements are NaN, the result is the first one. */
template <class Fold>
constexpr bool tells_first_nan =
    std::is_same_v<Fold, nanmin<value_of<Fold>>> || std::is_same_v<Fold, nanmax<value_of<Fold>>>;

template <class Fold>
struct column_states {
    using element = value_of<Fold>;
    static constexpr unsigned step = 8;
    static constexpr bool is_tree = false;
    state_of<Fold> all[step];

    LANES_FUNCTION column_states()
    {
        for (unsigned k = 0; k < step; k++)
            all[k] = Fold::identity();
    }

    LANES_FUNCTION void take(const part_of<element> &part)
    {
        for (unsigned k = 0; k < step; k++)
            all[k] = with_rows(all[k], part, k);
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        for (unsigned k = 0; k < n; k++)
            to[k] = all[k];
    }

  private:
    /* Rows need not be aligned. */
    LANES_FUNCTION static state_of<Fold> with_rows(state_of<Fold> state,
                                                   const part_of<element> &part, unsigned lane)
    {
        for (unsigned row = 0; row < part.rows; row++)
            state = Fold::merge(state,
                                Fold::lift(loaded<element>(part[row] + lane), part.index_of(row)));
        if constexpr (tells_first_nan<Fold>)
            return is_nan(state) ? loaded<element>(part[0] + lane) : state;
        else
            return state;
    }
};

} // namespace
} // namespace KERNELS
