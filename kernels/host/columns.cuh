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
 *     void put(state *, unsigned n, uint64_t first) const;
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

    LANES_FUNCTION const In *operator[](unsigned row) const
    {
        return reinterpret_cast<const In *>(at + int64_t(row) * stride);
    }
};

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

template <class In, class T, class V, class Fold, class Of = as_they_are>
struct column_sums {
    using element = In;
    using state = state_of<Fold>;
    using sums = sum_lanes<In, T, sum, Of>;
    static constexpr unsigned step = sums::step;
    static constexpr unsigned parts = parts_of<V>::count, most_groups = SLAB_COLUMNS * parts / step;
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

    LANES_FUNCTION void put(state *to, unsigned n, uint64_t) const
    {
        T totals[step];
        memcpy(totals, &all.totals, sizeof totals);
        if constexpr (std::is_same_v<T, V> || parts_of<V>::count > 1)
            memcpy(to, totals, n * sizeof(T));
        else
            for (unsigned k = 0; k < n; k++)
                to[k] = state(totals[k]);
    }

  private:
    LANES_FUNCTION void take_rows(const part_of<In> &part, unsigned from, unsigned to)
    {
        for (unsigned row = from; row < to && row < part.rows; row++)
            all.take(part[row]);
    }
};

/* ---- extremes ---- */

/* NaN becomes the key that wins, of halves; of floats it is chosen. */
template <class In, class Order>
LANES_FUNCTION vector<key<In>> winning_nan(vector<key<In>> x)
{
    if constexpr (key_of<In>::has_nan && !key_of<In>::nan_loses) {
        constexpr key<In> wins = std::is_same_v<Order, greatest> ? INT16_MAX : INT16_MIN;
        return key_of<In>::nan(x) ? in_all(wins) : x;
    } else {
        return x;
    }
}

/* The first of equals. */
template <class In, class V, class Order, class Fold>
struct column_extremes {
    using element = In;
    using state = state_of<Fold>;
    using keys = key_of<In>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    static constexpr unsigned parts = 1, most_groups = SLAB_COLUMNS / step;
    static constexpr bool is_tree = false;
    best_lanes<In, Order> all;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        take(r, keys::of(loaded<vector<key<In>>>(part[row] + r * in_register)));
    }

    LANES_FUNCTION void join(const column_extremes &) {}

    LANES_FUNCTION void put(state *to, unsigned n, uint64_t) const
    {
        key<In> best[step];
        memcpy(best, &all.best, sizeof best);
        for (unsigned k = 0; k < n; k++)
            to[k] = value<V, In>(best[k]);
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<key<In>> x)
    {
        auto &best = all.best.at[r];
        if constexpr (!keys::has_nan) {
            best = Order()(x, best);
        } else if constexpr (keys::nan_loses) {
            const auto best_number = Order()(x, best);
            best = keys::nan(x) ? x : best_number;
        } else {
            const auto winner = winning_nan<In, Order>(x);
            best = Order::better(keys::rank(winner), keys::rank(best)) ? winner : best;
        }
    }
};

/* ---- positions ---- */

/* Positions have as many bits as elements. */
template <class In, class V, class Order, class Fold>
struct column_positions {
    using element = In;
    using state = state_of<Fold>;
    using keys = key_of<In>;
    using position = bits_of<sizeof(In)>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    static constexpr unsigned parts = 1, most_groups = SLAB_COLUMNS / step;
    static constexpr bool is_tree = false;
    lanes<key<In>> best;
    lanes<position> where = {};

    LANES_FUNCTION column_positions()
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        best.at[r] = in_all(Order::template worst<key<In>>);
    }

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++) {
            const vector<position> here = in_all(position(part.first + row));
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            take(r, keys::of(loaded<vector<key<In>>>(part[row] + r * in_register)), here);
        }
    }

    LANES_FUNCTION void join(const column_positions &) {}

    LANES_FUNCTION void put(state *to, unsigned n, uint64_t first) const
    {
        key<In> found[step];
        position rows[step];
        memcpy(found, &best, sizeof found);
        memcpy(rows, &where, sizeof rows);
        for (unsigned k = 0; k < n; k++)
            to[k] = Fold::lift(value<V, In>(found[k]), first + rows[k]);
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<key<In>> x, vector<position> here)
    {
        const auto y = winning_nan<In, Order>(x);
        auto better = Order::better(keys::rank(y), keys::rank(best.at[r]));
        if constexpr (keys::has_nan && keys::nan_loses)
            better |= keys::nan(y) & ~keys::nan(best.at[r]);
        best.at[r] = better ? y : best.at[r];
        where.at[r] = better ? here : where.at[r];
    }
};

/* ---- variances ---- */

template <class In, class Fold>
struct column_moments {
    using element = In;
    using state = state_of<Fold>;
    static constexpr unsigned in_register = register_bytes / sizeof(double),
                              step = lanes_registers * in_register;
    static constexpr unsigned parts = 1, most_groups = SLAB_COLUMNS / step;
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

    LANES_FUNCTION void put(state *to, unsigned n, uint64_t) const
    {
        double means[step], deviations[step];
        memcpy(means, &mean, sizeof means);
        memcpy(deviations, &squares, sizeof deviations);
        for (unsigned k = 0; k < n; k++)
            to[k] = {count, means[k], deviations[k]};
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
        return {at, slab.row_stride, rows, first};
    for (unsigned row = 0; row < rows; row++) {
        memset(&filled[row], 0, sizeof *filled);
        memcpy(&filled[row], at + int64_t(row) * slab.row_stride, columns * sizeof(In));
    }
    return {reinterpret_cast<const char *>(filled), sizeof *filled, rows, first};
}

template <class Way>
LANES_FUNCTION void join_groups(Way *ways, unsigned groups)
{
    for (unsigned group = 0; group < groups; group++)
        ways[group].join(ways[groups + group]);
}

/* Every group takes a part's rows before any takes the next part's. */
template <class Way>
SHARED_FUNCTION void fold_block(const struct slab &slab, const char *at, unsigned columns,
                                typename Way::state *states)
{
    using In = typename Way::element;
    constexpr unsigned levels = Way::is_tree ? 8 : 1;
    static_assert(levels * Way::most_groups * sizeof(Way) <= SLAB_ROOM, "a slab needs more room");
    static_assert(!Way::is_tree || SLAB_ROWS / part_rows <= 1 << (levels - 1), "and more levels");
    Way *const bottom = static_cast<Way *>(slab.room), *top = bottom;
    const unsigned groups = (columns + Way::step - 1) / Way::step;
    In filled[part_rows][Way::step];
    for (unsigned row = 0, part = 0; row < slab.rows; row += part_rows, part++) {
        const unsigned left = unsigned(slab.rows) - row, rows = left < part_rows ? left : part_rows;
        for (unsigned group = 0; group < groups; group++) {
            const unsigned column = group * Way::step, there = columns - column;
            const char *const from = at + int64_t(row) * slab.row_stride + column * sizeof(In);
            Way way = Way::is_tree || part == 0 ? Way() : top[group];
            way.take(part_from<Way>(slab, from, there, rows, row, filled));
            top[group] = way;
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
    for (unsigned group = 0, column = 0; group < groups; group++, column += Way::step) {
        const unsigned there = columns - column;
        bottom[group].put(states + column / Way::parts, there < Way::step ? there : Way::step,
                          slab.first);
    }
}

template <class Way>
void fold_slab_by(const struct slab *slab, void *states)
{
    typename Way::state *to = static_cast<typename Way::state *>(states);
    for (uint64_t block = 0; block < slab->blocks; block++, to += slab->columns)
        fold_block<Way>(*slab, slab->at + int64_t(block) * slab->block_stride,
                        unsigned(slab->columns) * Way::parts, to);
}

} // namespace
} // namespace KERNELS
