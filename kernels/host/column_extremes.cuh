/* Extremes of columns, and their places. */
#pragma once

#include "column_parts.cuh"
#include "extremes.cuh"

namespace KERNELS
{
namespace
{

/* Keys in whose order NaN wins, too: of halves it is the best key, and of floats it is chosen. */
template <class In, class Order>
struct winning {
    using keys = key_of<In>;
    using K = key<In>;
    static constexpr bool nan_is_chosen = keys::has_nan && keys::nan_loses,
                          nan_is_best = keys::has_nan && !keys::nan_loses;
    static constexpr K best_of_all =
        Order::template worst<K> == ends<K>::least ? ends<K>::greatest : ends<K>::least;

    LANES_FUNCTION static vector<K> of(const In *x)
    {
        const vector<K> key = keys::of(loaded<vector<K>>(x));
        if constexpr (nan_is_best)
            return keys::nan(key) ? in_all(best_of_all) : key;
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

/* What no tree is made of. */
struct nothing_joined {
    LANES_FUNCTION void join(const nothing_joined &) {}
};

/* The first of equals. */
template <class In, class Order>
struct column_extremes {
    using element = In;
    using keys = winning<In, Order>;
    using K = key<In>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register, abreast = groups_abreast;
    using joined = nothing_joined;
    static constexpr bool is_tree = false;
    best_lanes<In, Order> all;

    /* What comparisons make of NaN is put right at the end: until then a row waits for nothing but
     * one comparison with the row before. */
    template <unsigned N>
    LANES_FUNCTION static void take(column_extremes (&groups)[N], const part_of<In> &part)
    {
        lanes<K> best[N], nans[N];
        EACH_REGISTER(unsigned g = 0; g < N; g++)
        best[g] = nans[g] = groups[g].all.best;
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned g = 0; g < N; g++)
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto x = keys::of(part[row] + g * step + r * in_register);
            best[g].at[r] = keys::best(x, best[g].at[r]);
            if constexpr (keys::nan_is_chosen)
                nans[g].at[r] = key_of<In>::nan(x) ? x : nans[g].at[r];
        }
        EACH_REGISTER(unsigned g = 0; g < N; g++)
        {
            if constexpr (keys::nan_is_chosen)
                EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            best[g].at[r] = key_of<In>::nan(nans[g].at[r]) ? nans[g].at[r] : best[g].at[r];
            groups[g].all.best = best[g];
        }
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        put_each<K>(all.best, n,
                    [=](unsigned k, K best) { to[k] = keys::template value<State>(best); });
    }
};

/* The minimum and the maximum. */
template <class In>
struct column_ranges {
    using element = In;
    using joined = nothing_joined;
    using lows = column_extremes<In, least>;
    using highs = column_extremes<In, greatest>;
    using K = key<In>;
    static constexpr unsigned step = lows::step, abreast = 1;
    static constexpr bool is_tree = false;
    lows low[1];
    highs high[1];

    LANES_FUNCTION static void take(column_ranges (&groups)[1], const part_of<In> &part)
    {
        lows::take(groups[0].low, part);
        highs::take(groups[0].high, part);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        using V = decltype(to->least);
        K greatest_keys[step];
        memcpy(greatest_keys, &high[0].all.best, sizeof greatest_keys);
        put_each<K>(low[0].all.best, n, [=, &greatest_keys](unsigned k, K best) {
            to[k] = {lows::keys::template value<V>(best),
                     highs::keys::template value<V>(greatest_keys[k])};
        });
    }
};

/* Positions have as many bits as elements. */
template <class In, class Order>
struct column_positions {
    using element = In;
    using keys = winning<In, Order>;
    using K = key<In>;
    using position = bits_of<sizeof(In)>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register, abreast = 1;
    using joined = nothing_joined;
    static constexpr bool is_tree = false;
    best_lanes<In, Order> all;
    lanes<position> where = {};

    LANES_FUNCTION static void take(column_positions (&groups)[1], const part_of<In> &part)
    {
        groups[0].take(part);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &at) const
    {
        position rows[step];
        memcpy(rows, &where, sizeof rows);
        put_each<K>(all.best, n, [=, &rows, &at](unsigned k, K best) {
            to[k] = State::of(keys::template value<decltype(to->value)>(best), at.of(rows[k], k));
        });
    }

  private:
    /* There is hardly ever a NaN, and where there is one, a part is taken once more. */
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

    /* Whether there was a NaN. */
    template <bool WithNan>
    LANES_FUNCTION bool take_rows(const part_of<In> &part)
    {
        lanes<K> best = all.best;
        lanes<position> found = where;
        decltype(vector<K>{} < vector<K>{}) nans = {};
        for (unsigned row = 0; row < part.rows; row++) {
            const vector<position> here = in_all(position(part.first + row));
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = keys::of(part[row] + r * in_register);
                auto better = keys::better(x, best.at[r]);
                if constexpr (WithNan)
                    better |= key_of<In>::nan(x) & ~key_of<In>::nan(best.at[r]);
                else if constexpr (keys::nan_is_chosen)
                    nans |= key_of<In>::nan(x);
                best.at[r] = WithNan ? (better ? x : best.at[r]) : keys::best(x, best.at[r]);
                found.at[r] = better ? here : found.at[r];
            }
        }
        all.best = best;
        where = found;
        return is_any(nans);
    }
};

} // namespace
} // namespace KERNELS
