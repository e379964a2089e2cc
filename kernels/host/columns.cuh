/* Many results at once, a lane for each: what lanes take is a row of one element of every result.
 * The lanes are those of the loops over one array's elements, which merge nothing across lanes
 * here.
 *
 * A few rows are taken in a register's lanes before these are put away; of floats that are added,
 * what was put away merges as a tree.
 *
 * Way has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;      columns of a group
 *     static constexpr bool is_tree = ...;
 *     void take(const part_of<element> &);       rows
 *     void join(const Way &);                    of the rows behind
 *
 * and is compiled once for all states that are made of it:
 *
 *     template <class State> void put(State *, unsigned n, uint64_t first) const;
 */
#pragma once

#include "counts.cuh"
#include "extremes.cuh"
#include "spreads.cuh"
#include "sums.cuh"

#include "common/slab.h"

namespace KERNELS
{
namespace
{

/* Rows that lanes take before they are put away, and additions to a float in a row. */
constexpr unsigned part_rows = 16, rows_in_a_row = 8;

template <class In>
struct part_of {
    const char *at;
    int64_t stride;
    unsigned rows, first; /* the latter's number in its slab */
    bool flipped;         /* elements' order is */

    LANES_FUNCTION const In *operator[](unsigned row) const
    {
        return reinterpret_cast<const In *>(at + int64_t(row) * stride);
    }
};

/* Puts the first n lanes' values where they belong. */
template <class T, class Put>
LANES_FUNCTION void put_each(const lanes<T> &from, unsigned n, Put put)
{
    constexpr unsigned all = lanes_bytes / sizeof(T);
    T values[all];
    memcpy(values, &from, sizeof values);
    if (n == all)
        for (unsigned k = 0; k < all; k++)
            put(k, values[k]);
    else
        for (unsigned k = 0; k < n; k++)
            put(k, values[k]);
}

/* ---- sums ---- */

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

/* Integers, within the bits that a slab's rows need, are told apart by their signs. */
template <class In>
using room_for = std::conditional_t<
    sizeof(In) <= 2, int32_t,
    std::conditional_t<std::is_same_v<In, uint32_t> || std::is_same_v<In, uint64_t>, uint64_t,
                       int64_t>>;

template <class In, class T, class Of = as_they_are>
struct column_sums {
    using element = In;
    using sums = sum_lanes<In, T, sum, Of>;
    static constexpr unsigned step = sums::step;
    static constexpr bool is_tree = !std::is_integral_v<T>;
    sums all;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        take_rows(part, 0, rows_in_a_row);
        if (part.rows > rows_in_a_row) {
            column_sums others;
            others.take_rows(part, rows_in_a_row, part_rows);
            join(others);
        }
    }

    LANES_FUNCTION void join(const column_sums &other)
    {
        all.join(other.all);
    }

    /* Of a complex number each part is a total. */
    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, uint64_t) const
    {
        put_each<T>(all.totals, n, [=](unsigned k, T total) {
            if constexpr (parts_of<State>::count > 1)
                reinterpret_cast<T *>(to)[k] = total;
            else
                to[k] = State(total);
        });
    }

  private:
    LANES_FUNCTION void take_rows(const part_of<In> &part, unsigned from, unsigned to)
    {
        for (unsigned row = from; row < to && row < part.rows; row++)
            all.take(part[row]);
    }
};

/* ---- extremes ---- */

/* Keys of which the greatest is wanted. Where the order is flipped, the least element's is; NaN
 * wins: it becomes the greatest key of halves, and of floats it is chosen. */
template <class In>
struct winning {
    using keys = key_of<In>;
    using K = key<In>;
    static constexpr bool nan_wins = keys::has_nan && !keys::nan_loses;

    LANES_FUNCTION static K flip(bool flipped)
    {
        constexpr bits_of<sizeof(K)> all = bits_of<sizeof(K)>(-1), sign = all ^ (all >> 1);
        const bits_of<sizeof(K)> bits = !flipped ? 0 : std::is_integral_v<K> ? all : sign;
        K mask;
        memcpy(&mask, &bits, sizeof mask);
        return mask;
    }

    LANES_FUNCTION static vector<K> of(const In *x, vector<K> flip)
    {
        using bits = vector<bits_of<sizeof(K)>>;
        const vector<K> key = keys::of(loaded<vector<K>>(x));
        const auto flipped = (vector<K>)((bits)key ^ (bits)flip);
        if constexpr (nan_wins)
            return keys::nan(key) ? in_all(ends<K>::greatest) : flipped;
        else
            return flipped;
    }

    template <class V>
    LANES_FUNCTION static V value(K key, bool flipped)
    {
        bits_of<sizeof(K)> bits, mask;
        const K by = flip(flipped);
        memcpy(&bits, &key, sizeof bits);
        memcpy(&mask, &by, sizeof mask);
        bits ^= nan_wins && key == ends<K>::greatest ? 0 : mask;
        memcpy(&key, &bits, sizeof key);
        return V(keys::element(key));
    }
};

/* The first of equals. */
template <class In>
struct column_extremes {
    using element = In;
    using keys = key_of<In>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    static constexpr bool is_tree = false;
    best_lanes<In, greatest> all;
    bool flipped = false;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        flipped = part.flipped;
        const auto flip = in_all(winning<In>::flip(flipped));
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        take(r, winning<In>::of(part[row] + r * in_register, flip));
    }

    LANES_FUNCTION void join(const column_extremes &) {}

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, uint64_t) const
    {
        put_each<key<In>>(all.best, n, [=](unsigned k, key<In> best) {
            to[k] = winning<In>::template value<State>(best, flipped);
        });
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<key<In>> x)
    {
        auto &best = all.best.at[r];
        if constexpr (!keys::has_nan) {
            best = greatest()(x, best);
        } else if constexpr (keys::nan_loses) {
            const auto best_number = greatest()(x, best);
            best = keys::nan(x) ? x : best_number;
        } else {
            best = greatest::better(keys::rank(x), keys::rank(best)) ? x : best;
        }
    }
};

/* Positions have as many bits as elements. */
template <class In>
struct column_positions {
    using element = In;
    using keys = key_of<In>;
    using position = bits_of<sizeof(In)>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    static constexpr bool is_tree = false;
    best_lanes<In, greatest> all;
    lanes<position> where = {};
    bool flipped = false;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        flipped = part.flipped;
        const auto flip = in_all(winning<In>::flip(flipped));
        for (unsigned row = 0; row < part.rows; row++) {
            const vector<position> here = in_all(position(part.first + row));
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            take(r, winning<In>::of(part[row] + r * in_register, flip), here);
        }
    }

    LANES_FUNCTION void join(const column_positions &) {}

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, uint64_t first) const
    {
        position rows[step];
        memcpy(rows, &where, sizeof rows);
        put_each<key<In>>(all.best, n, [=, &rows](unsigned k, key<In> best) {
            to[k] = State::of(winning<In>::template value<decltype(to->value)>(best, flipped),
                              first + rows[k]);
        });
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<key<In>> x, vector<position> here)
    {
        auto &best = all.best.at[r];
        auto better = greatest::better(keys::rank(x), keys::rank(best));
        if constexpr (keys::has_nan && keys::nan_loses)
            better |= keys::nan(x) & ~keys::nan(best);
        best = better ? x : best;
        where.at[r] = better ? here : where.at[r];
    }
};

/* ---- variances ---- */

template <class In>
struct column_moments {
    using element = In;
    static constexpr unsigned in_register = register_bytes / sizeof(double),
                              step = lanes_registers * in_register;
    static constexpr bool is_tree = true;
    double count = 0;
    lanes<double> mean, squares;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        sum_lanes<In, double> sums;
        for (unsigned row = 0; row < part.rows; row++)
            sums.take(part[row]);
        count = part.rows;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            mean.at[r] = sums.totals.at[r] / count;
            squares.at[r] = in_all(0.0);
        }
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto away = converted<double>(part[row] + r * in_register) - mean.at[r];
                squares.at[r] += away * away;
            }
    }

    /* As moments merge. */
    LANES_FUNCTION void join(const column_moments &other)
    {
        const double all = count + other.count, share = other.count / all;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto delta = other.mean.at[r] - mean.at[r];
            mean.at[r] += delta * share;
            squares.at[r] += other.squares.at[r] + delta * delta * (count * share);
        }
        count = all;
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, uint64_t) const
    {
        double means[step];
        memcpy(means, &mean, sizeof means);
        put_each<double>(squares, n, [=, &means](unsigned k, double deviation) {
            to[k] = {count, means[k], deviation};
        });
    }
};

/* ---- a slab ---- */

/* The columns of a group that are there, of which more may be read. */
template <class Way>
LANES_FUNCTION part_of<typename Way::element>
part_from(const struct slab &slab, const char *at, unsigned columns, unsigned rows, unsigned first,
          typename Way::element (*filled)[Way::step])
{
    using In = typename Way::element;
    const int64_t last = (rows - 1) * slab.row_stride;
    if (columns >= Way::step || at + (last > 0 ? last : 0) + sizeof *filled <= slab.end)
        return {at, slab.row_stride, rows, first, slab.flipped};
    for (unsigned row = 0; row < rows; row++) {
        memset(&filled[row], 0, sizeof *filled);
        memcpy(&filled[row], at + int64_t(row) * slab.row_stride, columns * sizeof(In));
    }
    return {reinterpret_cast<const char *>(filled), sizeof *filled, rows, first, slab.flipped};
}

template <class Way>
LANES_FUNCTION void join_groups(Way *ways, unsigned groups)
{
    for (unsigned group = 0; group < groups; group++)
        ways[group].join(ways[groups + group]);
}

/* Where a group's states go. */
template <class Way>
struct putting {
    void (*put)(const Way &, void *states, unsigned column, unsigned n, uint64_t first);
    void *states;
    unsigned columns;
    uint64_t first;

    LANES_FUNCTION void operator()(const Way &way, unsigned column) const
    {
        const unsigned there = columns - column;
        put(way, states, column, there < Way::step ? there : Way::step, first);
    }
};

/* A part's rows, onto what came before. */
template <class Way>
SHARED_FUNCTION void take_part(Way &way, const part_of<typename Way::element> &part)
{
    Way taken = way;
    taken.take(part);
    way = taken;
}

/* Every group takes a part's rows before any takes the next part's. */
template <class Way>
SHARED_FUNCTION void fold_block(const struct slab &slab, const char *at, unsigned columns,
                                const putting<Way> &to)
{
    using In = typename Way::element;
    Way *const bottom = static_cast<Way *>(slab.room), *top = bottom;
    const unsigned groups = (columns + Way::step - 1) / Way::step;
    In filled[part_rows][Way::step];
    for (unsigned row = 0, part = 0; row < slab.rows; row += part_rows, part++) {
        const unsigned left = unsigned(slab.rows) - row, rows = left < part_rows ? left : part_rows;
        for (unsigned group = 0, column = 0; group < groups; group++, column += Way::step) {
            const char *const from = at + int64_t(row) * slab.row_stride + column * sizeof(In);
            if (Way::is_tree || part == 0)
                top[group] = Way();
            take_part(top[group], part_from<Way>(slab, from, columns - column, rows, row, filled));
        }
        if constexpr (Way::is_tree) {
            for (unsigned done = part; done & 1; done >>= 1)
                join_groups(top -= groups, groups);
            top += groups;
        }
    }
    if constexpr (Way::is_tree)
        for (top -= groups; top > bottom;)
            join_groups(top -= groups, groups);
    for (unsigned group = 0; group < groups; group++)
        to(bottom[group], group * Way::step);
}

template <class Way, class State>
void put_group(const Way &way, void *states, unsigned column, unsigned n, uint64_t first)
{
    way.put(static_cast<State *>(states) + column / parts_of<State>::count, n, first);
}

template <class Way, class State, bool Flipped = false>
void fold_slab_by(const struct slab *slab, void *states)
{
    constexpr unsigned parts = parts_of<State>::count, levels = Way::is_tree ? 8 : 1,
                       groups = SLAB_COLUMNS * parts / Way::step;
    static_assert(levels * groups * sizeof(Way) <= SLAB_ROOM, "a slab needs more room");
    State *to = static_cast<State *>(states);
    struct slab own = *slab;
    own.flipped = Flipped;
    for (uint64_t block = 0; block < slab->blocks; block++, to += slab->columns) {
        const unsigned columns = unsigned(slab->columns) * parts;
        fold_block<Way>(own, slab->at + int64_t(block) * slab->block_stride, columns,
                        {put_group<Way, State>, to, columns, slab->first});
    }
}

} // namespace
} // namespace KERNELS
