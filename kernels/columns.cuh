/* Columns, reduced along axes: neighbours in memory belong to different results. A thread makes
 * COLUMNS_A_THREAD of them side by side, neighbours that one load takes or, where rows do not begin
 * at boundaries, as far apart as a block has threads side by side; it reads ROWS_AT_ONCE rows
 * before it waits for any. Threads of a block share tall columns among them, and blocks very tall
 * ones.
 *
 * Where a result is of several neighbouring columns, `inner` of them, these are folded last. */
#pragma once

#include "along.cuh"

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
    int64_t apart;
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
    column_slots<columns, all, All> slots = {{}, own.apart, 0, own.there, x.launch.load > 0};
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
                take_values<Fold>(states[c], column, at, all_shown());
            else
                take_values<Fold>(states[c], column, at, shown_bits{slots.rows >> time * rows});
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

/* ---- parts ---- */

/* What is left of columns in shared memory, in so many parts. */
template <class T>
struct column_parts {
    shared<T> at;
    unsigned width, count;
};

/* The fold of `inner` neighbouring columns. */
template <class Fold, class T>
__device__ __forceinline__ T fold_parts(const column_parts<T> &parts, unsigned column,
                                        unsigned inner)
{
    T value = parts.at[column];
#pragma unroll 1
    for (unsigned k = 0; k < parts.count; k++)
#pragma unroll 1
        for (unsigned c = k == 0; c < inner; c++)
            value = Fold::merge(value, parts.at[k * parts.width + column + c]);
    return value;
}

/* All threads' columns; a warp's threads that share some fold them first. */
template <class Fold, class T>
__device__ __forceinline__ column_parts<T> bring_together(const kernel_axes &x, const teammate &me,
                                                          T (&states)[COLUMNS_A_THREAD])
{
    constexpr unsigned columns = COLUMNS_A_THREAD;
    const unsigned width = me.teams * columns;
    const bool narrow = me.teams < warp_size;
    const column_parts<T> parts = {block_memory<T>(), width,
                                   narrow ? blockDim.x / warp_size : 1u << x.launch.team};
#pragma unroll 1
    for (unsigned offset = warp_size / 2; narrow && offset >= me.teams; offset /= 2) {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            states[c] = Fold::merge(states[c], shuffle_down(states[c], offset));
    }
    if (!narrow || threadIdx.x % warp_size < me.teams) {
        const unsigned part = narrow ? threadIdx.x / warp_size : me.number;
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            parts.at[part * width + column_of(x, me, c)] = states[c];
    }
    __syncthreads();
    return parts;
}

/* The states that splits have left of `width` results from `first` on, as many threads a result as
 * there are. */
template <class Fold>
__device__ __forceinline__ column_parts<state_of<Fold>>
bring_splits(const kernel_axes &x, uint64_t first, unsigned width,
             global<const state_of<Fold>> partials)
{
    constexpr unsigned together = 64 / sizeof(state_of<Fold>);
    const unsigned each = width < blockDim.x ? blockDim.x / width : 1;
    const column_parts<state_of<Fold>> parts = {block_memory<state_of<Fold>>(), width, each};
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < width * each; k += blockDim.x) {
        const uint64_t result = first + k % width;
        state_of<Fold> state = Fold::identity();
#pragma unroll 1
        for (uint64_t s = k / width; result < x.results && s < x.launch.splits;
             s += together * each) {
            state_of<Fold> some[together];
#pragma unroll
            for (unsigned u = 0; u < together; u++)
                some[u] = s + u * each < x.launch.splits
                              ? load_shared_by_all(partials + (s + u * each) * x.results + result)
                              : Fold::identity();
#pragma unroll
            for (unsigned u = 0; u < together; u++)
                state = Fold::merge(state, some[u]);
        }
        parts.at[k] = state;
    }
    __syncthreads();
    return parts;
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
    const unsigned results = width / x.launch.inner;
    const uint64_t first = group * results;
    column_parts<state_of<Fold>> parts = bring_together<Fold>(x, me, states);
    unsigned inner = x.launch.inner;
    if (x.launch.splits > 1) {
        for (unsigned r = threadIdx.x; r < results && first + r < x.results; r += blockDim.x)
            partials[split * x.results + first + r] = fold_parts<Fold>(parts, r * inner, inner);
        if (!is_last_block(tickets + group, unsigned(x.launch.splits)))
            return;
        parts = bring_splits<Fold>(x, first, results, partials);
        inner = 1;
    }
    for (unsigned r = threadIdx.x; r < results && first + r < x.results; r += blockDim.x)
        store_result<Fold>(x.result, fold_parts<Fold>(parts, r * inner, inner),
                           x.result.finish.count, place_of_result(x, first + r).place);
}

} // namespace KERNELS
