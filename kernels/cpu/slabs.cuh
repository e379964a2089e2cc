/* Reduces many outputs at a time, one per lane; each row has one element of every output. A few
 * rows are accumulated in registers before the lanes are stored; stored sums of floats merge as a
 * tree. An accumulator of a group of columns has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;      columns of a group
 *     static constexpr bool is_tree = ...;
 *     void update(const typed_part<element> &);
 *     void merge(const itself or a base &);       if it merges as a tree
 *     template <class State, unsigned> void store(State *, unsigned, const row_positions &) const;
 */
#pragma once

#include "sums.cuh"

#include "common/cpu_kernels.h"

namespace KERNELS
{
namespace
{

/* Rows that are added sequentially. */
constexpr unsigned rows_per_run = SLAB_PART_ROWS / 2;

struct column_part {
    const char *at;
    int64_t stride;
    unsigned rows, first; /* index of the first row in its slab; `before` rows precede the slab */
    uint64_t before;
    const unsigned char *valid; /* mask, a byte per element, or NULL */
    int64_t valid_stride;

    /* A row's index among all rows, if rows are not folded. */
    FORCEINLINE uint64_t index_of(unsigned row) const
    {
        return before + first + row;
    }
};

template <class In>
struct typed_part : column_part {
    FORCEINLINE const In *operator[](unsigned row) const
    {
        return reinterpret_cast<const In *>(at + int64_t(row) * stride);
    }

    /* The mask of columns from `lane` on, in lanes as wide as Mask. */
    template <class Mask>
    FORCEINLINE auto is_valid(unsigned row, unsigned lane) const
    {
        const unsigned char *const from = valid + int64_t(row) * valid_stride + lane;
        return cast_lanes<Mask>(load<narrow_vector<Mask, uint8_t>>(from)) != 0;
    }
};

/* Base of accumulators with one lane of T per column. */
template <class In, class T, bool IsTree = false>
struct column_lanes {
    using element = In;
    static constexpr unsigned step = lanes_size<T>;
    static constexpr bool is_tree = IsTree;
};

/* Computes the positions of a group's rows in their outputs. */
struct row_positions {
    const struct slab *slab;
    uint64_t first;  /* first row of the slab */
    unsigned column; /* first column of the group */

    FORCEINLINE uint64_t of(uint64_t row, unsigned lane) const
    {
        if (slab->folded == 1)
            return slab->before + first + row;
        const unsigned columns = unsigned(slab->columns / slab->folded);
        return slab->before + (first + row) * slab->folded + (column + lane) / columns;
    }
};

/* Visits the values in the first n lanes, `Parts` lanes each; n is usually all lanes. */
template <unsigned Lanes, unsigned Parts = 1, class Visit>
FORCEINLINE void each_index(unsigned n, Visit visit)
{
    if (n == Lanes)
        for (unsigned k = 0; k < Lanes / Parts; k++)
            visit(k);
    else
        for (unsigned k = 0; k < n / Parts; k++)
            visit(k);
}

/* The values in lanes, real or complex. */
template <class V>
struct lane_values {
    using T = real_of<V>;
    T at[lanes_size<T>];

    template <class Lanes>
    FORCEINLINE explicit lane_values(const Lanes &from)
    {
        memcpy(at, &from, sizeof at);
    }

    FORCEINLINE V operator[](unsigned k) const
    {
        if constexpr (!is_complex<V>)
            return at[k];
        else
            return {at[2 * k], at[2 * k + 1]};
    }
};

/* Calls visit(k, value) for the values in the first n lanes. */
template <unsigned Parts = 1, class T, class Visit>
FORCEINLINE void each_value(const lanes<T> &from, unsigned n, Visit visit)
{
    const lane_values<T> values(from);
    each_index<lanes_size<T>, Parts>(n, [=, &values](unsigned k) { visit(k, values[Parts * k]); });
}

/* The sum of a value's parts, in the lanes of each part. */
template <unsigned Parts, class Values>
FORCEINLINE Values sum_parts(Values x)
{
    if constexpr (Parts == 1)
        return x;
    else
        return x + swap_pairs(x, std::make_index_sequence<sizeof x / sizeof x[0]>());
}

/* ---- slabs ---- */

/* The destination of states, for n columns of each group. */
struct slab_states {
    char *states;
    unsigned n;
    struct row_positions positions;
};

/* An accumulator's functions, for several adjacent groups. `update` stores states directly if a
 * destination is given, and keeps its results in lanes otherwise. A part may have no rows. */
struct column_loop : slab_loop {
    size_t element, state; /* bytes */
    /* `is_first`: the lanes are uninitialized. */
    void (*update)(char *lanes, const struct column_part &, unsigned groups, bool is_first,
                   const struct slab_states *);
    void (*merge)(char *lanes, const char *others, unsigned groups);
    void (*store)(const char *lanes, const struct slab_states &); /* NULL if `update` does it */
};

constexpr size_t cache_line = 64;

/* A block of a slab, and the destination of its states. */
struct slab_block {
    const struct slab &slab;
    const column_loop &loop;
    const char *at;
    char *states;
    char *padded;                   /* buffer for a part's rows of a group */
    uint64_t first;                 /* row */
    unsigned columns, head, groups; /* `head` columns are in the first group */

    unsigned column_of(unsigned group) const
    {
        return group ? head + (group - 1) * loop.step : 0;
    }

    unsigned columns_of(unsigned group) const
    {
        const unsigned left = columns - column_of(group), most = group ? loop.step : head;
        return left < most ? left : most;
    }

    /* Groups except the first start at a cache line of their rows; otherwise lines would be loaded
     * for two groups, and could be evicted in between. If rows are not so aligned, groups start at
     * a cache line of their states, if those are as large as elements. */
    void split()
    {
        const size_t size = loop.step * loop.element, unit = size < cache_line ? size : cache_line,
                     result = loop.parts * loop.element;
        const bool in_line = slab.row_stride % int64_t(unit) == 0;
        const size_t misalignment = -uintptr_t(in_line ? at : states) % unit;
        head = loop.step;
        if (misalignment && misalignment % result == 0 && columns >= 4 * loop.step &&
            (in_line || (loop.state == result && slab.count == 1)))
            head = unsigned((size - unit + misalignment) / loop.element);
        groups = columns <= head ? 1 : 1 + (columns - head + loop.step - 1) / loop.step;
    }

    /* Visits runs of equally spaced, whole groups, and the partial groups at the ends. */
    template <class Visit>
    void each_run(Visit visit) const
    {
        const unsigned begin = columns_of(0) < loop.step,
                       end = groups - (groups > begin && columns_of(groups - 1) < loop.step);
        if (begin)
            visit(0, 1);
        if (begin < end)
            visit(begin, end - begin);
        if (end < groups)
            visit(end, 1);
    }

    /* Rows from `row` on of a group's columns, in `padded` if a whole group is not readable. */
    struct column_part part(unsigned group, unsigned row, unsigned end)
    {
        const unsigned column = column_of(group), left = columns - column;
        const size_t size = loop.step * loop.element;
        struct column_part part = {at + int64_t(row) * slab.row_stride + column * loop.element,
                                   slab.row_stride,
                                   end - row,
                                   row,
                                   slab.before + first,
                                   slab.valid ? slab.valid + size_t(row) * columns + column
                                              : nullptr,
                                   int64_t(columns)};
        const int64_t last = int64_t(part.rows - 1) * part.stride;
        if (left >= loop.step || part.at + (last > 0 ? last : 0) + size <= slab.end)
            return part;
        for (unsigned k = 0; k < part.rows; k++) {
            memset(padded + k * size, 0, size);
            memcpy(padded + k * size, part.at + int64_t(k) * part.stride, left * loop.element);
        }
        part.at = padded;
        part.stride = int64_t(size);
        return part;
    }

    struct slab_states states_of(unsigned group) const
    {
        return {states, columns_of(group), {&slab, first, column_of(group)}};
    }

    void fold_part()
    {
        const unsigned rows = unsigned(slab_row(slab.all, slab.first + 1) - first);
        each_run([&](unsigned group, unsigned count) {
            const struct slab_states to = states_of(group);
            loop.update(nullptr, part(group, 0, rows), count, true, &to);
        });
    }

    void store(char *lanes, unsigned group) const
    {
        const struct slab_states to = states_of(group);
        if (loop.store)
            loop.store(lanes, to);
        else
            loop.update(lanes, {}, 1, false, &to);
    }

    /* All groups process a part's rows before the next part's. */
    void fold()
    {
        char *const bottom = static_cast<char *>(slab.room), *top = bottom;
        const size_t level = groups * loop.bytes;
        for (unsigned number = 0; number < slab.count; number++) {
            const unsigned row = unsigned(slab_row(slab.all, slab.first + number) - first),
                           end = unsigned(slab_row(slab.all, slab.first + number + 1) - first);
            each_run([&](unsigned group, unsigned count) {
                loop.update(top + group * loop.bytes, part(group, row, end), count,
                            loop.is_tree || number == 0, nullptr);
            });
            if (!loop.is_tree)
                continue;
            for (unsigned done = number; done & 1; done >>= 1) {
                top -= level;
                loop.merge(top, top + level, groups);
            }
            top += level;
        }
        for (unsigned group = 0; group < groups; group++)
            store(bottom + group * loop.bytes, group);
    }
};

NOINLINE void fold_blocks(const slab_loop *slab_loop, const struct slab *slab, void *states)
{
    const column_loop &loop = *static_cast<const column_loop *>(slab_loop);
    alignas(64) char padded[SLAB_PART_ROWS * lanes_bytes];
    for (uint64_t block = 0; block < slab->blocks; block++) {
        slab_block current = {*slab,
                              loop,
                              slab->at + int64_t(block) * slab->block_stride,
                              static_cast<char *>(states) + block * slab->columns * loop.state,
                              padded,
                              slab_row(slab->all, slab->first),
                              unsigned(slab->columns) * loop.parts,
                              0,
                              0};
        current.split();
        if (slab->count == 1 && !loop.store)
            current.fold_part();
        else
            current.fold();
    }
}

template <class Columns, class State, unsigned Parts>
FORCEINLINE void store_group(const Columns &lanes, const struct slab_states &to, unsigned column)
{
    struct row_positions at = to.positions;
    at.column += column;
    lanes.template store<State, Parts>(reinterpret_cast<State *>(to.states) + at.column / Parts,
                                       to.n, at);
}

/* Processes a part's rows of several groups in turn. */
template <class Columns, class State, unsigned Parts>
void update_groups(char *lanes, const struct column_part &rows, unsigned groups, bool is_first,
                   const struct slab_states *to)
{
    Columns *const all = reinterpret_cast<Columns *>(lanes);
    typed_part<typename Columns::element> part = {rows};
    for (unsigned group = 0; group < groups; group++) {
        Columns taken;
        if (!is_first)
            taken = all[group];
        taken.update(part);
        if (to)
            store_group<Columns, State, Parts>(taken, *to, group * Columns::step);
        else
            all[group] = taken;
        part.at += Columns::step * sizeof(typename Columns::element);
        part.valid += part.valid ? Columns::step : 0;
    }
}

template <class Columns>
void merge_groups(char *lanes, const char *others, unsigned groups)
{
    if constexpr (Columns::is_tree)
        for (unsigned group = 0; group < groups; group++)
            reinterpret_cast<Columns *>(lanes)[group].merge(
                reinterpret_cast<const Columns *>(others)[group]);
}

template <class Columns, class State, unsigned Parts>
void store_lanes(const char *lanes, const struct slab_states &to)
{
    store_group<Columns, State, Parts>(*reinterpret_cast<const Columns *>(lanes), to, 0);
}

/* A result has `Parts` columns, each in a lane. If left are several State types, one function
 * processes the rows for all of them; it stores the most common type, Direct, directly. */
template <class Columns, class State, unsigned Parts = parts_of<State>::count, class Direct = State>
constexpr column_loop loop_for = {
    {fold_blocks, sizeof(Columns), Columns::step, Parts, Columns::is_tree},
    sizeof(typename Columns::element),
    sizeof(State),
    update_groups<Columns, Direct, Parts>,
    Columns::is_tree ? merge_groups<Columns> : nullptr,
    std::is_same_v<State, Direct> ? nullptr : store_lanes<Columns, State, Parts>};

template <class Columns, class Direct, class State>
constexpr const column_loop &shared_loop = loop_for<Columns, State, parts_of<State>::count, Direct>;

} // namespace
} // namespace KERNELS
