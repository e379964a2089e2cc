/* What lanes take of neighbouring columns, and what takes it. A way has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;      columns of a group
 *     static constexpr unsigned side by side = ...;   groups that are taken side by side
 *     static constexpr bool is_tree = ...;
 *     static void take(Way (&)[N], const part_of<element> &);   rows, of 1 group or `abreast`
 *     void join(const Way &);                    of the rows after
 *
 *     using joined = ...;                        what does that, itself or what it is made of
 *
 * and, compiled once for all states that are made of it,
 *
 *     template <class State> void put(State *, unsigned n, const places &) const;
 */
#pragma once

#include "sums.cuh"

#include "common/slab.h"

namespace KERNELS
{
namespace
{

/* Groups that have registers enough for what they take at once: so more of a row is read before the
 * next one is, which may lie where a cache has no room beside it. */
constexpr unsigned groups_abreast = register_bytes == 64 ? 4 : 1;

template <class Way, size_t N>
struct groups_of {
    Way at[N];
};

template <class Way, size_t... Groups>
LANES_FUNCTION groups_of<Way, sizeof...(Groups)> fresh_groups(std::index_sequence<Groups...>)
{
    return {{(void(Groups), Way())...}};
}

/* So many that have taken nothing, each by itself: a loop would make them in memory. */
template <class Way, size_t N>
LANES_FUNCTION groups_of<Way, N> fresh()
{
    return fresh_groups<Way>(std::make_index_sequence<N>());
}

/* Rows that are added one after the other. */
constexpr unsigned rows_in_a_row = SLAB_PART_ROWS / 2;

struct column_part {
    const char *at;
    int64_t stride;
    unsigned rows, first; /* the latter's number in its slab, before which there are others */
    uint64_t before;
    size_t ahead; /* as struct slab has it */

    /* A row's number among all, where no neighbours are taken for one. */
    LANES_FUNCTION uint64_t index_of(unsigned row) const
    {
        return before + first + row;
    }
};

template <class In>
struct part_of : column_part {
    LANES_FUNCTION const In *operator[](unsigned row) const
    {
        return reinterpret_cast<const In *>(at + int64_t(row) * stride);
    }
};

/* Which rows of its results a group's lanes have taken. */
struct places {
    const struct slab *slab;
    uint64_t first;  /* the slab's first row */
    unsigned column; /* the group's first */

    LANES_FUNCTION uint64_t of(uint64_t row, unsigned lane) const
    {
        if (slab->folded == 1)
            return slab->before + first + row;
        const unsigned columns = unsigned(slab->columns / slab->folded);
        return slab->before + (first + row) * slab->folded + (column + lane) / columns;
    }
};

/* Visits what the first n lanes hold, of which `Parts` hold one value's; mostly that is all. */
template <unsigned Lanes, unsigned Parts = 1, class Visit>
LANES_FUNCTION void each_value(unsigned n, Visit visit)
{
    if (n == Lanes)
        for (unsigned k = 0; k < Lanes / Parts; k++)
            visit(k);
    else
        for (unsigned k = 0; k < n / Parts; k++)
            visit(k);
}

/* Puts the first n lanes' values where they belong. */
template <class T, class Put>
LANES_FUNCTION void put_each(const lanes<T> &from, unsigned n, Put put)
{
    constexpr unsigned all = lanes_bytes / sizeof(T);
    T values[all];
    memcpy(values, &from, sizeof values);
    each_value<all>(n, [=, &values](unsigned k) { put(k, values[k]); });
}

/* What the parts of a value have together, in the lanes of each. */
template <unsigned Parts, class Values>
LANES_FUNCTION Values of_all_parts(Values x)
{
    if constexpr (Parts == 1)
        return x;
    else
        return x + neighbours(x, std::make_index_sequence<sizeof x / sizeof x[0]>());
}

/* What lanes hold, value by value, real or complex. */
template <class V>
struct values_in_lanes {
    using T = typename parts_of<V>::type;
    static constexpr unsigned parts = parts_of<V>::count, all = lanes_bytes / sizeof(T);
    T at[all];

    LANES_FUNCTION explicit values_in_lanes(const lanes<T> &from)
    {
        memcpy(at, &from, sizeof at);
    }

    LANES_FUNCTION V operator[](unsigned k) const
    {
        if constexpr (parts == 1)
            return at[k];
        else
            return {at[2 * k], at[2 * k + 1]};
    }
};

} // namespace
} // namespace KERNELS
