/* Many results at once, a lane for each: what lanes take is a row of one element of every result.
 * The lanes are those of the loops over one array's elements, which merge nothing across lanes
 * here.
 *
 * A few rows are taken in a register's lanes before these are put away; of floats that are added,
 * what was put away merges as a tree. A way, which is what takes rows, has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;      columns of a group
 *     static constexpr unsigned at_a_time = ...;   groups that are taken side by side
 *     static constexpr bool is_tree = ..., takes_groups = ...;
 *     static constexpr bool takes_no_rows = ...; whether of none nothing changes
 *     void take(const part_of<element> &);       rows, or, of 1 group or `at_a_time`,
 *     static void take(Way (&)[N], const part_of<element> &);
 *     using joined = ...;                        what joins rows after: itself or a base
 *     void join(const joined &);
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
constexpr unsigned groups_at_a_time = register_bytes == 64 ? 4 : 1;

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

/* What ways have in common: lanes of T each, for as many columns. */
template <class In, class T>
struct column_lanes {
    using element = In;
    static constexpr unsigned in_register = register_bytes / sizeof(T),
                              step = lanes_registers * in_register, at_a_time = 1;
    static constexpr bool takes_groups = false, takes_no_rows = true;
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

/* ---- slabs ---- */

/* Where lanes' results go: n of each group's columns. */
struct slab_states {
    void *states;
    unsigned n;
    struct places places;
};

/* A way's functions, of so many groups that lie side by side. What is taken goes to states at once
 * where these are given, and is kept in lanes otherwise. */
struct column_way {
    size_t bytes, element; /* of a group's lanes, and of an element */
    unsigned step;
    bool is_tree, at_once; /* the latter: what is taken may go to states at once */
    /* `anew`: what lanes hold so far is nothing. */
    void (*take)(void *lanes, const struct column_part *, unsigned groups, bool anew,
                 const struct slab_states *);
    void (*join)(void *lanes, const void *others);
    /* NULL: to take no rows is to put what lanes hold. */
    void (*put)(const void *lanes, const struct slab_states *);
};

constexpr unsigned tree_levels = 8;
constexpr size_t cache_line = 64;
static_assert(SLAB_PARTS <= 1 << (tree_levels - 1), "a slab's parts need more levels");

/* One slab, and where its states go. */
struct slab_of_columns {
    const struct slab *slab;
    const column_way *way;
    unsigned columns, lead, groups; /* the second: the first group's */
    alignas(64) char filled[SLAB_PART_ROWS * lanes_bytes];

    char *group_at(char *level, unsigned group) const
    {
        return level + group * way->bytes;
    }

    unsigned column_of(unsigned group) const
    {
        return group ? lead + (group - 1) * way->step : 0;
    }

    unsigned columns_of(unsigned group) const
    {
        const unsigned there = columns - column_of(group), most = group ? way->step : lead;
        return there < most ? there : most;
    }

    struct slab_states place_of(void *states, unsigned group, uint64_t first) const
    {
        return {states, columns_of(group), {slab, first, column_of(group)}};
    }

    /* All groups but the first begin with a cache line of their rows: else lines would be loaded
     * for two groups, between which others may push them out. Where rows lie otherwise, with one of
     * their states, if those are as large. `whole`: bytes of a column. */
    void cut(const char *at, const char *states, size_t state, unsigned whole)
    {
        const size_t size = way->step * way->element, unit = size < cache_line ? size : cache_line;
        const bool in_line = slab->row_stride % int64_t(unit) == 0;
        const size_t off = -uintptr_t(in_line ? at : states) % unit;
        lead = way->step;
        if (off && off % whole == 0 && columns >= 4 * way->step &&
            (in_line || (state == whole && slab->count == 1)))
            lead = unsigned((size - unit + off) / way->element);
        groups = columns <= lead ? 1 : 1 + (columns - lead + way->step - 1) / way->step;
    }

    /* Groups that lie at one distance, and are whole but for single ones at the ends. */
    template <class Visit>
    void each_run(Visit visit) const
    {
        const unsigned begin = columns_of(0) < way->step,
                       end = groups - (groups > begin && columns_of(groups - 1) < way->step);
        if (begin)
            visit(0, 1);
        if (begin < end)
            visit(begin, end - begin);
        if (begin <= end && end < groups)
            visit(end, 1);
    }

    /* The columns of groups that are there, of which more may be read; the slab begins with row
     * number `first`. */
    struct column_part part(const char *at, unsigned group, uint64_t first, unsigned row,
                            unsigned end)
    {
        const unsigned column = column_of(group), there = columns - column;
        const size_t size = way->step * way->element;
        struct column_part part = {at + int64_t(row) * slab->row_stride + column * way->element,
                                   slab->row_stride,
                                   end - row,
                                   row,
                                   slab->before + first,
                                   slab->ahead};
        const int64_t last = int64_t(part.rows - 1) * part.stride;
        if (there >= way->step || part.at + (last > 0 ? last : 0) + size <= slab->end)
            return part;
        for (unsigned k = 0; k < part.rows; k++) {
            memset(filled + k * size, 0, size);
            memcpy(filled + k * size, part.at + int64_t(k) * part.stride, there * way->element);
        }
        part.at = filled;
        part.stride = int64_t(size);
        return part;
    }

    void join(char *level) const
    {
        for (unsigned group = 0; group < groups; group++)
            way->join(group_at(level, group), group_at(level, groups + group));
    }

    void fold_part(const char *at, void *states)
    {
        const uint64_t first = slab_row(slab->all, slab->first);
        const unsigned rows = unsigned(slab_row(slab->all, slab->first + 1) - first);
        each_run([&](unsigned group, unsigned count) {
            const struct column_part taken = part(at, group, first, 0, rows);
            const struct slab_states to = place_of(states, group, first);
            way->take(nullptr, &taken, count, true, &to);
        });
    }

    void put(const char *lanes, const struct slab_states &to) const
    {
        const struct column_part no_rows = {};
        if (way->put)
            way->put(lanes, &to);
        else
            way->take(const_cast<char *>(lanes), &no_rows, 1, false, &to);
    }

    /* Every group takes a part's rows before any takes the next part's. */
    void fold(const char *at, void *states)
    {
        char *const bottom = static_cast<char *>(slab->room), *top = bottom;
        const uint64_t first = slab_row(slab->all, slab->first);
        const size_t level = groups * way->bytes;
        for (unsigned number = 0; number < slab->count; number++) {
            const unsigned row = unsigned(slab_row(slab->all, slab->first + number) - first),
                           end = unsigned(slab_row(slab->all, slab->first + number + 1) - first);
            each_run([&](unsigned group, unsigned count) {
                const struct column_part taken = part(at, group, first, row, end);
                way->take(group_at(top, group), &taken, count, way->is_tree || number == 0,
                          nullptr);
            });
            if (!way->is_tree)
                continue;
            for (unsigned done = number; done & 1; done >>= 1)
                join(top -= level);
            top += level;
        }
        for (unsigned group = 0; group < groups; group++) {
            const struct slab_states to = place_of(states, group, first);
            put(group_at(bottom, group), to);
        }
    }
};

SHARED_FUNCTION void fold_blocks(const struct slab *slab, const column_way *way, unsigned parts,
                                 size_t state, char *states)
{
    struct slab_of_columns one;
    one.slab = slab;
    one.way = way;
    one.columns = unsigned(slab->columns) * parts;
    for (uint64_t block = 0; block < slab->blocks; block++) {
        const char *const at = slab->at + int64_t(block) * slab->block_stride;
        char *const to = states + block * slab->columns * state;
        one.cut(at, to, state, parts * unsigned(way->element));
        if (slab->count == 1 && way->at_once)
            one.fold_part(at, to);
        else
            one.fold(at, to);
    }
}

/* Rows are more streams than processors follow. */
template <class Way, unsigned N>
LANES_FUNCTION void ask_ahead(const struct column_part &part)
{
    constexpr size_t size = N * Way::step * sizeof(typename Way::element);
    if (part.ahead == 0)
        return;
    for (unsigned k = 0; k < part.rows; k++)
        for (size_t byte = 0; byte < size; byte += cache_line)
            __builtin_prefetch(part.at + int64_t(k) * part.stride + part.ahead + byte);
}

/* Visits groups, several side by side as long as there are as many. */
template <class Way, class Visit>
LANES_FUNCTION void each_few_groups(struct part_of<typename Way::element> part, unsigned groups,
                                    Visit visit)
{
    constexpr size_t size = Way::step * sizeof(typename Way::element);
    unsigned group = 0;
    if constexpr (Way::at_a_time > 1)
        for (; group + Way::at_a_time <= groups; group += Way::at_a_time) {
            ask_ahead<Way, Way::at_a_time>(part);
            auto taken = fresh<Way, Way::at_a_time>();
            visit(taken.at, part, group);
            part.at += Way::at_a_time * size;
        }
    for (; group < groups; group++, part.at += size) {
        ask_ahead<Way, 1>(part);
        auto taken = fresh<Way, 1>();
        visit(taken.at, part, group);
    }
}

template <class Way, class State, unsigned Parts>
LANES_FUNCTION void put_group(const Way &lanes, const struct slab_states &to, unsigned group)
{
    struct places at = to.places;
    at.column += group * Way::step;
    lanes.put(static_cast<State *>(to.states) + at.column / Parts, to.n, at);
}

template <class Way, class State, unsigned Parts>
void take_part(void *lanes, const struct column_part *rows, unsigned groups, bool anew,
               const struct slab_states *to)
{
    Way *const all = static_cast<Way *>(lanes);
    each_few_groups<Way>({*rows}, groups, [=](auto &taken, const auto &part, unsigned group) {
        constexpr unsigned n = sizeof taken / sizeof(Way);
        if (!anew)
            EACH_REGISTER(unsigned g = 0; g < n; g++)
        taken[g] = all[group + g];
        if constexpr (Way::takes_groups)
            Way::take(taken, part);
        else
            taken[0].take(part);
        if constexpr (!std::is_void_v<State>)
            if (to) {
                EACH_REGISTER(unsigned g = 0; g < n; g++)
                put_group<Way, State, Parts>(taken[g], *to, group + g);
                return;
            }
        EACH_REGISTER(unsigned g = 0; g < n; g++)
        all[group + g] = taken[g];
    });
}

template <class Joined>
void join_lanes(void *lanes, const void *others)
{
    static_cast<Joined *>(lanes)->join(*static_cast<const Joined *>(others));
}

template <class Way, class State, unsigned Parts>
void put_lanes(const void *lanes, const struct slab_states *to)
{
    put_group<Way, State, Parts>(*static_cast<const Way *>(lanes), *to, 0);
}

template <class Way, class State, unsigned Parts, bool AtOnce>
constexpr auto putter() -> decltype(column_way::put)
{
    if constexpr (AtOnce && Way::takes_no_rows)
        return nullptr;
    else
        return put_lanes<Way, State, Parts>;
}

/* A result's column is of so many parts, in lanes of their own. States that are not just what lanes
 * hold take longer to make than lanes to keep, and rows are taken by one function for all of them.
 */
template <class Way, class State, unsigned Parts = parts_of<State>::count, bool AtOnce = true>
void fold_slab_by(const struct slab *slab, void *states)
{
    constexpr unsigned groups = SLAB_COLUMNS / Way::step + 1;
    static_assert((Way::is_tree ? tree_levels : 1) * groups * sizeof(Way) <= SLAB_ROOM,
                  "a slab needs more room");
    static constexpr column_way way = {sizeof(Way),
                                       sizeof(typename Way::element),
                                       Way::step,
                                       Way::is_tree,
                                       AtOnce,
                                       take_part < Way,
                                       std::conditional_t<AtOnce, State, void>,
                                       AtOnce ? Parts : 1 >,
                                       join_lanes<typename Way::joined>,
                                       putter<Way, State, Parts, AtOnce>()};
    fold_blocks(slab, &way, Parts, sizeof(State), static_cast<char *>(states));
}

/* Of lanes that hold T. */
template <class Way, class T, class State>
constexpr fold_slab *fold_slab_to = fold_slab_by<Way, State, parts_of<State>::count,
                                                 std::is_same_v<typename parts_of<State>::type, T>>;

} // namespace
} // namespace KERNELS
