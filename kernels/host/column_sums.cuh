/* Sums of columns, and of what becomes of their elements. */
#pragma once

#include "column_parts.cuh"
#include "counts.cuh"

namespace KERNELS
{
namespace
{

/* A count, as a float. */
LANES_FUNCTION bool is_power_of_2(double count)
{
    const uint64_t n = uint64_t(count);
    return (n & (n - 1)) == 0;
}

/* Whether elements are true. */
struct truths {
    static constexpr unsigned elements = 1;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        using bits = typename telling<In>::type;
        const auto set = loaded<narrow_vector<T, bits>>(x) & telling<In>::bits;
        using flags = std::make_signed_t<bits>;
        return -as<T>(narrow_vector<T, flags>(set != 0));
    }
};

/* Whether complex numbers are, in the lanes of both parts: one is as true as either of them. */
struct truths_of_pairs {
    static constexpr unsigned elements = 1;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        const vector<T> part = truths::of<T>(x);
        constexpr auto all = std::make_index_sequence<sizeof part / sizeof(T)>();
        return part | neighbours(part, all);
    }
};

/* Folds of truths, each 0 or 1. */
template <class T>
struct either {
    LANES_FUNCTION static T identity()
    {
        return 0;
    }

    LANES_FUNCTION static T merge(T a, T b)
    {
        return a | b;
    }
};

template <class T>
struct both {
    LANES_FUNCTION static T identity()
    {
        return 1;
    }

    LANES_FUNCTION static T merge(T a, T b)
    {
        return a & b;
    }
};

/* Integers, within the bits that a slab's rows need, are told apart by their signs. */
template <class In>
using room_for = std::conditional_t<
    sizeof(In) <= 2, int32_t,
    std::conditional_t<std::is_same_v<In, uint32_t> || std::is_same_v<In, uint64_t>, uint64_t,
                       int64_t>>;

/* Or products, or what is true of them. */
template <class In, class T, class Of = as_they_are, template <class> class Fold = sum>
struct column_sums {
    using element = In;
    using sums = sum_lanes<In, T, Fold, Of>;
    using joined = sum_lanes<T, T, Fold>;
    static constexpr unsigned step = sums::step, abreast = groups_abreast;
    static constexpr bool is_tree = !std::is_integral_v<T>;
    sums all;

    template <unsigned N>
    LANES_FUNCTION static void take(column_sums (&groups)[N], const part_of<In> &part)
    {
        const unsigned half = part.rows > rows_in_a_row ? (part.rows + 1) / 2 : part.rows;
        take_rows(groups, part, 0, half);
        if (half < part.rows) {
            auto others = fresh<column_sums, N>();
            take_rows(others.at, part, half, part.rows);
            EACH_REGISTER(unsigned g = 0; g < N; g++)
            groups[g].all.join(others.at[g].all);
        }
    }

    /* Of a complex number each part is a total; or both parts' lanes have the same. */
    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &at) const
    {
        const T zero = at.slab->finishes ? T(0) : sum<T>::identity();
        if constexpr (std::is_floating_point_v<State>)
            if (at.slab->divisor != 0)
                return put_divided(to, n, zero, at.slab->divisor);
        put_each<T>(all.totals, n, [=](unsigned k, T total) {
            if constexpr (parts_of<State>::count > 1)
                reinterpret_cast<T *>(to)[k] = total;
            else if constexpr (std::is_same_v<Of, truths_of_pairs>)
                to[k / 2] = State(total);
            else
                to[k] = State(total + zero);
        });
    }

  private:
    template <unsigned N>
    LANES_FUNCTION static void take_rows(column_sums (&groups)[N], const part_of<In> &part,
                                         unsigned from, unsigned to)
    {
        for (unsigned row = from; row < to; row++)
            EACH_REGISTER(unsigned g = 0; g < N; g++)
        groups[g].all.take(part[row] + g * step);
    }

    /* Rounded once, as NumPy does: a slab's rows are few enough for any float to hold their number,
     * and a power of two may be multiplied by instead. */
    template <class State>
    LANES_FUNCTION void put_divided(State *to, unsigned n, T zero, double divisor) const
    {
        const State by = State(divisor), inverse = State(1) / by;
        if (is_power_of_2(divisor))
            put_each<T>(all.totals, n,
                        [=](unsigned k, T total) { to[k] = State(total + zero) * inverse; });
        else
            put_each<T>(all.totals, n,
                        [=](unsigned k, T total) { to[k] = State(total + zero) / by; });
    }
};

} // namespace
} // namespace KERNELS
