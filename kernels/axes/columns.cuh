/* Columns, reduced along axes: neighbours in memory belong to different results. A thread makes
 * COLUMNS_A_THREAD of them side by side, neighbours that one load takes or, where rows do not begin
 * at boundaries, as far apart as a block has threads side by side; it reads ROWS_AT_ONCE rows
 * before it waits for any. Threads of a block share tall columns among them, and blocks very tall
 * ones.
 *
 * Where a result is of several neighbouring columns, `inner` of them, these are folded last. */
#pragma once

#include "along.cuh"
#include "column_tables.cuh"

namespace KERNELS
{

/* ---- places ---- */

/* Which column of its block a thread's column number c is. */
__device__ __forceinline__ unsigned column_of(const kernel_axes &x, const teammate &me, unsigned c)
{
    return x.launch.load ? me.result * COLUMNS_A_THREAD + c : me.result + c * me.teams;
}

/* The bits of a thread's columns that there are. */
__device__ __forceinline__ uint32_t columns_there(const kernel_axes &x, const teammate &me,
                                                  uint64_t first)
{
    const uint64_t count = x.results * x.launch.inner;
    uint32_t there = 0;
    if (x.launch.load)
        return first + column_of(x, me, 0) < count ? low_bits(COLUMNS_A_THREAD) : 0;
#pragma unroll
    for (unsigned c = 0; c < COLUMNS_A_THREAD; c++)
        there |= uint32_t(first + column_of(x, me, c) < count) << c;
    return there;
}

/* Where a thread's first column begins; several to a result lie one after the other. */
__device__ __forceinline__ result_place place_of_column(const kernel_axes &x, uint64_t column)
{
    if (x.launch.inner > 1)
        return {{int64_t(column << x.rows.bytes), 0}, 0};
    return place_of_result(x, column);
}

/* ---- elements ---- */

__device__ __forceinline__ const char *row_at(const layout_of_few &from, const char *data,
                                              uint64_t row)
{
    return data + (from.dimensions == 1 ? int64_t(row) * from.strides[0]
                                        : offsets_of(from, from.dimensions, row).data);
}

/* Where a thread finds what it takes in. */
struct own_columns {
    const char *data; /* row 0 of the first of its columns */
    uint32_t there;   /* the bits of its columns that there are */
    int64_t pitch;
    uint64_t step; /* rows from one of its own to the next */
};

/* Takes in several times ROWS_AT_ONCE rows, all of which it reads before it waits for any; all of
 * them, or those before the last. */
template <class Fold, class Bits, unsigned Times, bool All>
__device__ __forceinline__ void take_rows(state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                          const kernel_axes &x, const own_columns &own,
                                          uint64_t row)
{
    constexpr unsigned columns = COLUMNS_A_THREAD, rows = ROWS_AT_ONCE, all = rows * Times;
    column_slots<columns, all, All> slots = {{}, own.pitch, 0, own.there, x.launch.load > 0};
    Bits loaded[columns * all];
#pragma unroll
    for (unsigned r = 0; r < all; r++) {
        const bool is_there = All || row + r * own.step < x.rows.items;
        slots.rows |= uint32_t(is_there) << r;
        slots.at[r] = is_there ? row_at(x.from, own.data, row + r * own.step) : own.data;
    }
    load_elements(loaded, slots);
#pragma unroll
    for (unsigned time = 0; time < Times; time++) {
        typename slot<value_of<Fold>>::type words[columns * rows];
        value_of<Fold> values[columns * rows], column[rows];
        const in_steps at = {row + time * rows * own.step, own.step};
#pragma unroll
        for (unsigned k = 0; k < columns * rows; k++)
            words[k] = loaded[time * columns * rows + k];
        decode(values, words, x.from.input);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
#pragma unroll
            for (unsigned r = 0; r < rows; r++)
                column[r] = values[r * columns + c];
            if constexpr (All)
                take_values<Fold>(states[c], column, at, all_valid());
            else
                take_values<Fold>(states[c], column, at, valid_bits{slots.rows >> time * rows});
        }
    }
}

/* Elements of so many bytes; narrow ones so many times, that as much is on its way, where states
 * leave registers for it. */
template <class Fold, class Bits, unsigned Times>
__device__ __forceinline__ void take_columns_of(state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                                const kernel_axes &x, const own_columns &own,
                                                uint64_t row)
{
    constexpr unsigned rows = ROWS_AT_ONCE * Times;
    const uint64_t n = x.rows.items;
#pragma unroll 1
    for (; row + (rows - 1) * own.step < n; row += rows * own.step)
        take_rows<Fold, Bits, Times, true>(states, x, own, row);
#pragma unroll 1
    for (; row < n; row += ROWS_AT_ONCE * own.step)
        take_rows<Fold, Bits, 1, false>(states, x, own, row);
}

template <class Fold>
__device__ __forceinline__ void take_columns(state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                             const kernel_axes &x, const own_columns &own,
                                             uint64_t first)
{
    using word = typename slot<value_of<Fold>>::type;
    constexpr unsigned times = sizeof(state_of<Fold>) > sizeof(uint64_t) ? 1 : 2;
    if constexpr (sizeof(word) == sizeof(uint32_t)) {
        if (x.rows.bytes == 1)
            return take_columns_of<Fold, uint16_t, times>(states, x, own, first);
        take_columns_of<Fold, uint32_t, 1>(states, x, own, first);
    } else {
        switch (x.rows.bytes) {
        case 0:
            return take_columns_of<Fold, uint8_t, 1>(states, x, own, first);
        case 1:
            return take_columns_of<Fold, uint16_t, 1>(states, x, own, first);
        case 2:
            return take_columns_of<Fold, uint32_t, 1>(states, x, own, first);
        default:
            return take_columns_of<Fold, word, 1>(states, x, own, first);
        }
    }
}

/* ---- the kernel ---- */

/* Results that each thread makes alone: neighbours that one store takes, or those as far apart as
 * neighbouring threads' are. */
template <class Fold>
__device__ __forceinline__ bool store_alone(const kernel_axes &x, const teammate &me,
                                            const state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                            uint32_t there, int64_t place)
{
    if (x.launch.team > 0 || x.launch.splits > 1 || x.launch.inner > 1)
        return false;
    if (x.launch.load) {
        if (!x.result.at_once || x.outer.output_strides[x.outer.count - 1] != 1)
            return false;
        if (there)
            store_run_at_once<Fold>(x.result, states, place);
        return true;
    }
    if constexpr (sizeof(state_of<Fold>) <= STORED_APART) {
        state_of<Fold> own[COLUMNS_A_THREAD];
        memcpy(own, states, sizeof own); /* what a loop looks at is not in registers */
#pragma unroll 1
        for (unsigned c = 0; c < COLUMNS_A_THREAD; c++)
            if (there >> c & 1)
                store_result<Fold>(x.result, own[c], x.result.finish.count,
                                   place + int64_t(c * me.teams) * x.outer.output_strides[0]);
        return true;
    }
    return false;
}

template <class Fold>
__global__ void fold_columns(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                             global<uint64_t>, global<unsigned> tickets)
{
    constexpr unsigned columns = COLUMNS_A_THREAD;
    const teammate me = place_in_team(x);
    const unsigned width = me.teams * columns;
    const uint64_t group = x.launch.splits > 1 ? divide(blockIdx.x, x.launch.splits) : blockIdx.x,
                   split = blockIdx.x - group * x.launch.splits;
    const uint32_t there = columns_there(x, me, group * width);
    state_of<Fold> states[columns];
#pragma unroll
    for (unsigned c = 0; c < columns; c++)
        states[c] = Fold::identity();
    result_place place = {{0, 0}, 0};
    if (there) {
        place = place_of_column(x, group * width + column_of(x, me, 0));
        const own_columns own = {static_cast<const char *>(x.from.data) + place.base.data, there,
                                 int64_t(me.teams) << x.rows.bytes,
                                 x.launch.splits << x.launch.team};
        take_columns<Fold>(states, x, own, (split << x.launch.team) + me.number);
    }
    if (store_alone<Fold>(x, me, states, there, place.place))
        return;
    merge_states<Fold>(states, me, column_part(x, me, false));
    const column_table<state_of<Fold>> table = {block_memory<state_of<Fold>>(), me.teams, columns};
    if (me.number == 0)
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            table.at[table.slot(column_of(x, me, c))] = states[c];
    __syncthreads();
    finish_columns<Fold, columns>(x, table, group, unsigned(split), width / x.launch.inner,
                                  partials, tickets);
}

} // namespace KERNELS
