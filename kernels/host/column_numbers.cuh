/* What columns' elements that are not NaN add up to, and the best of those. */
#pragma once

#include "column_extremes.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* Sums, and how many numbers are in each; of a complex one each part is in a lane. */
template <class In, class V>
struct column_number_sums {
    using element = In;
    using T = typename parts_of<V>::type;
    using joined = column_number_sums;
    using sums = sum_lanes<In, T>;
    static constexpr unsigned step = sums::step, abreast = 1;
    static constexpr bool is_tree = true;
    sums all;
    decltype(vector<T>{} == vector<T>{}) numbers[lanes_registers] = {};

    LANES_FUNCTION static void take(column_number_sums (&groups)[1], const part_of<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            groups[0].take(part[row]);
    }

    LANES_FUNCTION void join(const column_number_sums &other)
    {
        all.join(other.all);
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        numbers[r] += other.numbers[r];
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        constexpr unsigned parts = parts_of<V>::count;
        const values_in_lanes<V> totals(all.totals);
        bits_of<sizeof(T)> counts[step];
        memcpy(counts, numbers, sizeof counts);
        each_value<step, parts>(n, [=, &totals, &counts](unsigned k) {
            to[k] = {decltype(to->sum)(totals[k]), counts[parts * k]};
        });
    }

  private:
    LANES_FUNCTION void take(const In *row)
    {
        const vector<T> nothing = in_all(sum<T>::identity());
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<T> x = converted<T>(row + r * sums::in_register);
            const auto is_number = where_numbers<parts_of<V>::count>(x);
            numbers[r] -= is_number;
            all.totals.at[r] += is_number ? x : nothing;
        }
    }
};

/* The first of equals; of no numbers, NaN. Floats that are NaN lose by themselves, and what has won
 * against nothing else is told by whether there was any number. */
template <class In, class Order>
struct column_extreme_numbers {
    using element = In;
    using joined = nothing_joined;
    using keys = key_of<In>;
    using K = key<In>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register, abreast = 1;
    static constexpr bool is_tree = false;
    best_lanes<In, Order> all;
    decltype(vector<K>{} < vector<K>{}) numbers[lanes_registers] = {};

    LANES_FUNCTION static void take(column_extreme_numbers (&groups)[1], const part_of<In> &part)
    {
        column_extreme_numbers taken = groups[0];
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        taken.take(r, keys::of(loaded<vector<K>>(part[row] + r * in_register)));
        groups[0] = taken;
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        bits_of<sizeof(K)> is_number[step];
        memcpy(is_number, numbers, sizeof is_number);
        put_each<K>(all.best, n, [=, &is_number](unsigned k, K x) {
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

} // namespace
} // namespace KERNELS
