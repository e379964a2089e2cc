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
FORCEINLINE bool is_power_of_2(double count)
{
    const uint64_t n = uint64_t(count);
    return (n & (n - 1)) == 0;
}

/* The accumulator of integers; its width suffices for a slab's rows. */
template <class In>
using integer_accumulator = std::conditional_t<
    sizeof(In) <= 2, int32_t,
    std::conditional_t<std::is_same_v<In, uint32_t> || std::is_same_v<In, uint64_t>, uint64_t,
                       int64_t>>;

/* Sums of columns, or another fold, of elements transformed by `Transform`. */
template <class In, class T, class Transform = no_transform, template <class> class Fold = sum>
struct column_sums : sum_lanes<In, T, Fold, Transform> {
    static constexpr bool is_tree = !std::is_integral_v<T>;

    /* Adds floats in two halves, unless there are few rows. */
    FORCEINLINE void update(const typed_part<In> &part)
    {
        const bool halves = is_tree && part.rows > rows_per_run;
        const unsigned half = halves ? (part.rows + 1) / 2 : part.rows;
        update_rows(part, 0, half);
        if (half < part.rows) {
            column_sums others;
            others.update_rows(part, half, part.rows);
            this->merge(others);
        }
    }

    /* A complex number's parts are separate totals; for pairs, both lanes hold the same. */
    template <class State, unsigned Parts>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &at) const
    {
        const T zero = at.slab->finishes ? T(0) : sum<T>::identity();
        if constexpr (parts_of<State>::count > 1)
            each_value(this->totals, n,
                       [=](unsigned k, T total) { reinterpret_cast<T *>(to)[k] = total; });
        else if constexpr (std::is_floating_point_v<State>)
            store_divided(to, n, zero, at.slab->divisor);
        else
            each_value<Parts>(this->totals, n,
                              [=](unsigned k, T total) { to[k] = State(total + zero); });
    }

  private:
    FORCEINLINE void update_rows(const typed_part<In> &part, unsigned from, unsigned to)
    {
        for (unsigned row = from; row < to; row++)
            sum_lanes<In, T, Fold, Transform>::update(part[row]);
    }

    /* Rounded once, as in NumPy: any float holds the number of a slab's rows, and division by a
     * power of two is exact as a multiplication. */
    template <class State>
    FORCEINLINE void store_divided(State *to, unsigned n, T zero, double divisor) const
    {
        const State by = State(divisor), inverse = divisor == 0 ? State(1) : State(1) / by;
        if (is_power_of_2(divisor)) /* or 0: no division */
            each_value(this->totals, n,
                       [=](unsigned k, T total) { to[k] = State(total + zero) * inverse; });
        else
            each_value(this->totals, n,
                       [=](unsigned k, T total) { to[k] = State(total + zero) / by; });
    }
};

/* ---- sums without NaN ---- */

/* Sums and the number of elements in each; a complex number's parts have a lane each. */
template <class In, class V, unsigned Parts = parts_of<V>::count>
struct column_nansums : nansum_lanes<In, real_of<V>, Parts, lanes_registers> {
    static constexpr bool is_tree = true;

    FORCEINLINE void update(const typed_part<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            nansum_lanes<In, real_of<V>, Parts, lanes_registers>::update(part[row]);
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        const lane_values<V> totals(this->totals);
        const lane_values<bits_of<sizeof(real_of<V>)>> counts(this->counts);
        each_index<lanes_size<real_of<V>>, Parts>(n, [=, &totals, &counts](unsigned k) {
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
    fold_lanes<double, sum> sums[is_scaled ? 3 : 1]; /* middle, small, large */

    FORCEINLINE void update(const typed_part<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        update(r, load_as<double>(part[row] + r * vector_lanes<double>));
    }

    FORCEINLINE void merge(const column_squares &other)
    {
        for (unsigned size = 0; size < sizeof sums / sizeof sums[0]; size++)
            sums[size].merge(other.sums[size]);
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        const lane_values<double> middle(sums[0].totals);
        if constexpr (is_scaled) {
            const lane_values<double> small(sums[1].totals), large(sums[2].totals);
            each_index<lanes_size<double>, Parts>(n, [=, &small, &middle, &large](unsigned k) {
                to[k] = {small[Parts * k], middle[Parts * k], large[Parts * k]};
            });
        } else {
            each_index<lanes_size<double>, Parts>(n, [=, &middle](unsigned k) {
                to[k] = {};
                to[k].middle = middle[Parts * k];
            });
        }
    }

  private:
    FORCEINLINE void update(unsigned r, vector<double> x)
    {
        if constexpr (is_scaled) {
            const vector<double> size = absolute_value(x), none = {}, one = broadcast(1.0),
                                 up = broadcast(blue::times_small),
                                 down = broadcast(blue::times_large);
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

    FORCEINLINE void add(unsigned size, unsigned r, vector<double> squares)
    {
        sums[size].totals.at[r] += sum_parts<Parts>(squares);
    }
};

/* The lanes of both parts of a complex number hold the squares of both. With a mask or without
 * NaNs, which are for real numbers, each lane has its own count. */
template <class In, unsigned Parts = 1, bool Masked = false, nan_policy Nan = nan_policy::propagate>
struct column_variances : column_lanes<In, double, true> {
    static constexpr bool selects = Masked || Nan == nan_policy::omit;
    std::conditional_t<selects, lanes<double>, double> count;
    lanes<double> mean, squares;

    FORCEINLINE void update(const typed_part<In> &part)
    {
        if (part.rows == 0)
            return;
        const vector<double> zero = {}, one = broadcast(1.0);
        fold_lanes<double, sum> sums;
        lanes<double> n = {};
        for (unsigned row = 0; row < part.rows; row++)
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = values(part, row, r);
                const auto valid = is_valid(part, row, r, x);
                sums.totals.at[r] += selects ? (valid ? x : zero) : x;
                if constexpr (selects)
                    n.at[r] += valid ? one : zero;
            }
        if constexpr (selects)
            count = n;
        else
            count = part.rows;
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            mean.at[r] = sums.totals.at[r] / count_of(r);
            if constexpr (selects)
                mean.at[r] = n.at[r] == 0 ? zero : mean.at[r];
            squares.at[r] = zero;
        }
        for (unsigned row = 0; row < part.rows; row++)
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = values(part, row, r), delta = x - mean.at[r],
                           square = sum_parts<Parts>(delta * delta);
                squares.at[r] += selects ? (is_valid(part, row, r, x) ? square : zero) : square;
            }
    }

    /* Bitwise equal to the merge of states. */
    FORCEINLINE void merge(const column_variances &other)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto a = count_of(r), b = other.count_of(r), all = a + b, share = b / all;
            const auto delta = other.mean.at[r] - mean.at[r], between = mean.at[r] + delta * share,
                       merged = squares.at[r] + other.squares.at[r] +
                                sum_parts<Parts>(delta * delta) * (a * share);
            if constexpr (selects) {
                const auto some = a == 0 ? other.squares.at[r] : merged,
                           near = a == 0 ? other.mean.at[r] : between;
                mean.at[r] = b == 0 ? mean.at[r] : near;
                squares.at[r] = b == 0 ? squares.at[r] : some;
                count.at[r] = all;
            } else {
                mean.at[r] = between;
                squares.at[r] = merged;
            }
        }
        if constexpr (!selects)
            count += other.count;
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        lanes<double> counts;
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        counts.at[r] = count_of(r) + vector<double>{};
        const lane_values<decltype(to->mean)> means(mean);
        const lane_values<double> each(counts), deviations(squares);
        each_index<lanes_size<double>, Parts>(n, [=, &each, &means, &deviations](unsigned k) {
            to[k] = {each[Parts * k], means[k], deviations[Parts * k]};
        });
    }

  private:
    FORCEINLINE auto count_of(unsigned r) const
    {
        if constexpr (selects)
            return count.at[r];
        else
            return count;
    }

    FORCEINLINE static vector<double> values(const typed_part<In> &part, unsigned row, unsigned r)
    {
        return load_as<double>(part[row] + r * vector_lanes<double>);
    }

    FORCEINLINE static auto is_valid(const typed_part<In> &part, unsigned row, unsigned r,
                                     vector<double> x)
    {
        auto valid = Nan == nan_policy::omit ? x == x : ~decltype(x == x){};
        if constexpr (Masked)
            valid &= part.template is_valid<int64_t>(row, r * vector_lanes<double>);
        return valid;
    }
};

/* ---- exponentials ---- */

/* The maximum of each column, NaN if it has one, and the sum of exponentials. */
template <class In, class T>
struct column_exponentials : column_lanes<In, T, true> {
    lanes<T> maxima, sums;

    FORCEINLINE void update(const typed_part<In> &part)
    {
        if (part.rows == 0)
            return;
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            vector<T> greatest = broadcast(ends<T>::least), sum = {};
            for (unsigned row = 0; row < part.rows; row++)
                greatest = max_or_nan(greatest, load_as<T>(part[row] + r * vector_lanes<T>));
            for (unsigned row = 0; row < part.rows; row++)
                sum += exponential<T>(load_as<T>(part[row] + r * vector_lanes<T>), greatest);
            maxima.at[r] = greatest;
            sums.at[r] = sum;
        }
    }

    FORCEINLINE void merge(const column_exponentials &other)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<T> greatest = max_or_nan(maxima.at[r], other.maxima.at[r]);
            sums.at[r] = sums.at[r] * exponential<T>(maxima.at[r], greatest) +
                         other.sums.at[r] * exponential<T>(other.maxima.at[r], greatest);
            maxima.at[r] = greatest;
        }
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        const lane_values<T> greatest(maxima), total(sums);
        each_index<lanes_size<T>>(n, [=, &greatest, &total](unsigned k) {
            to[k] = {double(greatest[k]), double(total[k])};
        });
    }

  private:
    FORCEINLINE static vector<T> max_or_nan(vector<T> a, vector<T> b)
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
    FORCEINLINE void update(const typed_part<T> &part)
    {
        if (part.rows == 0)
            return;
        constexpr auto pairs = std::make_index_sequence<vector_lanes<T>>();
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto first = load<vector<T>>(part[0] + r * vector_lanes<T>);
            all.at[r] = part.index_of(0) ? first : product(real_ones(pairs), first);
        }
        for (unsigned row = 1; row < part.rows; row++)
            UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        all.at[r] = product(all.at[r], load<vector<T>>(part[row] + r * vector_lanes<T>));
    }

    FORCEINLINE void merge(const column_products &other)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        all.at[r] = product(all.at[r], other.all.at[r]);
    }

    template <class State, unsigned>
    FORCEINLINE void store(State *to, unsigned n, const row_positions &) const
    {
        const lane_values<State> products(all);
        each_index<lanes_size<T>, 2>(n, [=, &products](unsigned k) { to[k] = products[k]; });
    }

  private:
    template <size_t... Lanes>
    FORCEINLINE static vector<T> real_ones(std::index_sequence<Lanes...>)
    {
        return vector<T>{T(Lanes % 2 == 0)...};
    }

    /* Real parts are differences: the sign of their second product is flipped. */
    template <size_t... Lanes>
    FORCEINLINE static vector<T> product(vector<T> a, vector<T> b, std::index_sequence<Lanes...>)
    {
        using bits = bits_of<sizeof(T)>;
        constexpr auto all = std::index_sequence<Lanes...>();
        const vector<T> real = shuffle(a, a, std::index_sequence<(Lanes & ~size_t(1))...>()),
                        imag = shuffle(a, a, std::index_sequence<(Lanes | 1)...>()),
                        across = imag * swap_pairs(b, all);
        const vector<bits> sign = {bits(bits(Lanes % 2 == 0) << (8 * sizeof(T) - 1))...};
        return real * b + vector<T>(vector<bits>(across) ^ sign);
    }

    FORCEINLINE static vector<T> product(vector<T> a, vector<T> b)
    {
        return product(a, b, std::make_index_sequence<vector_lanes<T>>());
    }
};

} // namespace
} // namespace KERNELS
