/* Sums and products of columns, also of transformed elements and without NaNs; norms, variances and
 * sums of exponentials. */
#pragma once

#include "exponentials.cuh"
#include "norms.cuh"
#include "slabs.cuh"

namespace KERNELS
{
namespace
{

/* `count` is an integer. */
LANES_FUNCTION bool is_power_of_2(double count)
{
    const uint64_t n = uint64_t(count);
    return (n & (n - 1)) == 0;
}

/* The accumulator of integers; its width suffices for a slab's rows. */
template <class In>
using room_for = std::conditional_t<
    sizeof(In) <= 2, int32_t,
    std::conditional_t<std::is_same_v<In, uint32_t> || std::is_same_v<In, uint64_t>, uint64_t,
                       int64_t>>;

/* Sums of columns, or another fold, of elements transformed by `Of`. */
template <class In, class T, class Of = as_they_are, template <class> class Fold = sum>
struct column_sums : sum_lanes<In, T, Fold, Of> {
    static constexpr bool is_tree = !std::is_integral_v<T>;

    /* Adds floats in two halves, unless there are few rows. */
    LANES_FUNCTION void take(const part_of<In> &part)
    {
        const bool halves = is_tree && part.rows > rows_per_run;
        const unsigned half = halves ? (part.rows + 1) / 2 : part.rows;
        take_rows(part, 0, half);
        if (half < part.rows) {
            column_sums others;
            others.take_rows(part, half, part.rows);
            this->join(others);
        }
    }

    /* A complex number's parts are separate totals; for pairs, both lanes hold the same. */
    template <class State, unsigned Parts>
    LANES_FUNCTION void put(State *to, unsigned n, const places &at) const
    {
        const T zero = at.slab->finishes ? T(0) : sum<T>::identity();
        if constexpr (parts_of<State>::count > 1)
            put_each(this->totals, n,
                     [=](unsigned k, T total) { reinterpret_cast<T *>(to)[k] = total; });
        else if constexpr (std::is_floating_point_v<State>)
            put_divided(to, n, zero, at.slab->divisor);
        else
            put_each<Parts>(this->totals, n,
                            [=](unsigned k, T total) { to[k] = State(total + zero); });
    }

  private:
    LANES_FUNCTION void take_rows(const part_of<In> &part, unsigned from, unsigned to)
    {
        for (unsigned row = from; row < to; row++)
            sum_lanes<In, T, Fold, Of>::take(part[row]);
    }

    /* Rounded once, as in NumPy: any float holds the number of a slab's rows, and division by a
     * power of two is exact as a multiplication. */
    template <class State>
    LANES_FUNCTION void put_divided(State *to, unsigned n, T zero, double divisor) const
    {
        const State by = State(divisor), inverse = divisor == 0 ? State(1) : State(1) / by;
        if (is_power_of_2(divisor)) /* or 0: no division */
            put_each(this->totals, n,
                     [=](unsigned k, T total) { to[k] = State(total + zero) * inverse; });
        else
            put_each(this->totals, n,
                     [=](unsigned k, T total) { to[k] = State(total + zero) / by; });
    }
};

/* ---- sums without NaN ---- */

/* Sums and the number of elements in each; a complex number's parts have a lane each. */
template <class In, class V, unsigned Parts = parts_of<V>::count>
struct column_number_sums : number_sum_lanes<In, real_of<V>, Parts, lanes_registers> {
    static constexpr bool is_tree = true;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            number_sum_lanes<In, real_of<V>, Parts, lanes_registers>::take(part[row]);
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<V> totals(this->totals);
        const values_in_lanes<bits_of<sizeof(real_of<V>)>> counts(this->numbers);
        each_value<in_lanes<real_of<V>>, Parts>(n, [=, &totals, &counts](unsigned k) {
            to[k] = {decltype(to->sum)(totals[k]), counts[Parts * k]};
        });
    }
};

/* ---- squares ---- */

/* Sums of squares; small and large magnitudes are scaled and added separately, see struct blue. The
 * lanes of both parts of a complex number hold its total. */
template <class In, unsigned Parts = 1>
struct column_squares : column_lanes<In, double, true> {
    static constexpr bool is_scaled = std::is_same_v<In, double>;
    folded_lanes<double, sum> all[is_scaled ? 3 : 1]; /* middle, small, large */

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        take(r, converted<double>(part[row] + r * in_register<double>));
    }

    LANES_FUNCTION void join(const column_squares &other)
    {
        for (unsigned size = 0; size < sizeof all / sizeof all[0]; size++)
            all[size].join(other.all[size]);
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<double> middle(all[0].totals);
        if constexpr (is_scaled) {
            const values_in_lanes<double> small(all[1].totals), large(all[2].totals);
            each_value<in_lanes<double>, Parts>(n, [=, &small, &middle, &large](unsigned k) {
                to[k] = {small[Parts * k], middle[Parts * k], large[Parts * k]};
            });
        } else {
            each_value<in_lanes<double>, Parts>(n, [=, &middle](unsigned k) {
                to[k] = {};
                to[k].middle = middle[Parts * k];
            });
        }
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<double> x)
    {
        if constexpr (is_scaled) {
            const vector<double> size = without_sign(x), none = {}, one = in_all_lanes(1.0),
                                 up = in_all_lanes(blue::times_small),
                                 down = in_all_lanes(blue::times_large);
            const auto is_small = size < blue::small;
            const auto is_large = size > blue::large;
            const vector<double> not_large = is_small ? up : one,
                                 scaled = size * (is_large ? down : not_large),
                                 square = scaled * scaled;
            add(0, r, is_small | is_large ? none : square);
            add(1, r, is_small ? square : none);
            add(2, r, is_large ? square : none);
        } else {
            add(0, r, x * x);
        }
    }

    LANES_FUNCTION void add(unsigned size, unsigned r, vector<double> squares)
    {
        all[size].totals.at[r] += of_all_parts<Parts>(squares);
    }
};

/* The lanes of both parts of a complex number hold the squares of both. */
template <class In, unsigned Parts = 1>
struct column_variances : column_lanes<In, double, true> {
    double count = 0;
    lanes<double> mean, squares;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        if (part.rows == 0)
            return;
        sum_lanes<In, double> sums;
        for (unsigned row = 0; row < part.rows; row++)
            sums.take(part[row]);
        count = part.rows;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            mean.at[r] = sums.totals.at[r] / count;
            squares.at[r] = in_all_lanes(0.0);
        }
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto away =
                    converted<double>(part[row] + r * in_register<double>) - mean.at[r];
                squares.at[r] += of_all_parts<Parts>(away * away);
            }
    }

    /* Bitwise equal to the merge of states. */
    LANES_FUNCTION void join(const column_variances &other)
    {
        const double all = count + other.count, share = other.count / all;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto delta = other.mean.at[r] - mean.at[r];
            mean.at[r] += delta * share;
            squares.at[r] = squares.at[r] + other.squares.at[r] +
                            of_all_parts<Parts>(delta * delta) * (count * share);
        }
        count = all;
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<decltype(to->mean)> means(mean);
        const values_in_lanes<double> deviations(squares);
        each_value<in_lanes<double>, Parts>(n, [=, &means, &deviations](unsigned k) {
            to[k] = {count, means[k], deviations[Parts * k]};
        });
    }
};

/* The same with a mask or without NaNs, for real numbers: each lane has its own count. */
template <class In, bool Masked, nan_policy Nan = nan_policy::noted>
struct column_selected_variances : column_lanes<In, double, true> {
    lanes<double> count, mean, squares;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        const vector<double> nothing = {}, one = in_all_lanes(1.0);
        if (part.rows == 0)
            return;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const unsigned lane = r * in_register<double>;
            vector<double> n = {}, sum = {}, away = {};
            for (unsigned row = 0; row < part.rows; row++) {
                const auto x = converted<double>(part[row] + lane);
                const auto valid = is_valid(part, row, lane, x);
                sum += valid ? x : nothing;
                n += valid ? one : nothing;
            }
            const auto average = n == 0 ? nothing : sum / n;
            for (unsigned row = 0; row < part.rows; row++) {
                const auto x = converted<double>(part[row] + lane), delta = x - average;
                away += is_valid(part, row, lane, x) ? delta * delta : nothing;
            }
            count.at[r] = n;
            mean.at[r] = average;
            squares.at[r] = away;
        }
    }

    LANES_FUNCTION void join(const column_selected_variances &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto a = count.at[r], b = other.count.at[r], all = a + b,
                       delta = other.mean.at[r] - mean.at[r], share = b / all,
                       joined = squares.at[r] + other.squares.at[r] + delta * delta * (a * share);
            const auto some = a == 0 ? other.squares.at[r] : joined,
                       between = a == 0 ? other.mean.at[r] : mean.at[r] + delta * share;
            mean.at[r] = b == 0 ? mean.at[r] : between;
            squares.at[r] = b == 0 ? squares.at[r] : some;
            count.at[r] = all;
        }
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<double> counts(count), means(mean), deviations(squares);
        each_value<in_lanes<double>>(n, [=, &counts, &means, &deviations](unsigned k) {
            to[k] = {counts[k], means[k], deviations[k]};
        });
    }

  private:
    LANES_FUNCTION static auto is_valid(const part_of<In> &part, unsigned row, unsigned lane,
                                        vector<double> x)
    {
        auto valid = Nan == nan_policy::skipped ? x == x : ~decltype(x == x){};
        if constexpr (Masked)
            valid &= part.template is_valid<int64_t>(row, lane);
        return valid;
    }
};

/* ---- exponentials ---- */

/* The maximum of each column, NaN if it has one, and the sum of exponentials. */
template <class In, class T>
struct column_exponentials : column_lanes<In, T, true> {
    lanes<T> most, sums;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        if (part.rows == 0)
            return;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            vector<T> greatest = in_all_lanes(ends<T>::least), sum = {};
            for (unsigned row = 0; row < part.rows; row++)
                greatest = greater(greatest, converted<T>(part[row] + r * in_register<T>));
            for (unsigned row = 0; row < part.rows; row++)
                sum += exponential<T>(converted<T>(part[row] + r * in_register<T>), greatest);
            most.at[r] = greatest;
            sums.at[r] = sum;
        }
    }

    LANES_FUNCTION void join(const column_exponentials &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<T> greatest = greater(most.at[r], other.most.at[r]);
            sums.at[r] = sums.at[r] * exponential<T>(most.at[r], greatest) +
                         other.sums.at[r] * exponential<T>(other.most.at[r], greatest);
            most.at[r] = greatest;
        }
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<T> greatest(most), total(sums);
        each_value<in_lanes<T>>(n, [=, &greatest, &total](unsigned k) {
            to[k] = {double(greatest[k]), double(total[k])};
        });
    }

  private:
    LANES_FUNCTION static vector<T> greater(vector<T> a, vector<T> b)
    {
        return ((a >= b) | (a != a)) ? a : b;
    }
};

/* ---- products of complex numbers, with their parts in adjacent lanes ---- */

template <class T>
struct column_products : column_lanes<T, T, true> {
    lanes<T> all;

    /* Rows with no preceding part, as in a tree's leaves. NumPy multiplies the very first element
     * by one. */
    LANES_FUNCTION void take(const part_of<T> &part)
    {
        if (part.rows == 0)
            return;
        constexpr auto pairs = std::make_index_sequence<in_register<T>>();
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto first = loaded<vector<T>>(part[0] + r * in_register<T>);
            all.at[r] = part.index_of(0) ? first : product(real_ones(pairs), first);
        }
        for (unsigned row = 1; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        all.at[r] = product(all.at[r], loaded<vector<T>>(part[row] + r * in_register<T>));
    }

    LANES_FUNCTION void join(const column_products &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        all.at[r] = product(all.at[r], other.all.at[r]);
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<State> products(all);
        each_value<in_lanes<T>, 2>(n, [=, &products](unsigned k) { to[k] = products[k]; });
    }

  private:
    template <size_t... Lanes>
    LANES_FUNCTION static vector<T> real_ones(std::index_sequence<Lanes...>)
    {
        return vector<T>{T(Lanes % 2 == 0)...};
    }

    /* Real parts are differences: the sign of their second product is flipped. */
    template <size_t... Lanes>
    LANES_FUNCTION static vector<T> product(vector<T> a, vector<T> b, std::index_sequence<Lanes...>)
    {
        using bits = bits_of<sizeof(T)>;
        constexpr auto all = std::index_sequence<Lanes...>();
        const vector<T> real = chosen(a, a, std::index_sequence<(Lanes & ~size_t(1))...>()),
                        imag = chosen(a, a, std::index_sequence<(Lanes | 1)...>()),
                        across = imag * neighbours(b, all);
        const vector<bits> sign = {bits(bits(Lanes % 2 == 0) << (8 * sizeof(T) - 1))...};
        return real * b + vector<T>(vector<bits>(across) ^ sign);
    }

    LANES_FUNCTION static vector<T> product(vector<T> a, vector<T> b)
    {
        return product(a, b, std::make_index_sequence<in_register<T>>());
    }
};

} // namespace
} // namespace KERNELS
