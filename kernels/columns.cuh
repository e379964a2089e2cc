/* Columns, reduced along axes: neighbours in memory belong to different results. A thread makes
 * COLUMNS_A_THREAD of them side by side, neighbours that one load takes or, where rows do not begin
 * at boundaries, as far apart as a block has threads abreast; it reads ROWS_AT_ONCE rows before it
 * waits for any. Threads of a block share tall columns among them, and blocks very tall ones.
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
    return x.load ? me.result * COLUMNS_A_THREAD + c : me.result + c * me.teams;
}

/* The bits of a thread's columns that there are. */
__device__ __forceinline__ uint32_t columns_there(const kernel_axes &x, const teammate &me,
                                                  uint64_t first)
{
    const uint64_t count = x.results * x.inner;
    uint32_t there = 0;
#pragma unroll
    for (unsigned c = 0; c < COLUMNS_A_THREAD; c++)
        there |= uint32_t(first + column_of(x, me, c) < count) << c;
    return there;
}

/* Where a thread's first column begins; several to a result lie one after the other. */
__device__ __forceinline__ result_place place_of_column(const kernel_axes &x, uint64_t column)
{
    if (x.inner > 1)
        return {{int64_t(column << x.rows.bytes), 0}, 0};
    return place_of_result(x, column);
}

/* ---- elements ---- */

__device__ __forceinline__ const char *row_at(const layout &from, const char *data, uint64_t row)
{
    return data + (from.dimensions == 1 ? int64_t(row) * from.strides[0]
                                        : offsets_of(from, from.dimensions, row).data);
}

/* Takes several rows in, `step` rows from each other: all, or those before the last. */
template <class Fold, bool All>
__device__ __forceinline__ void take_rows(state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                          const kernel_axes &x, const char *data, uint32_t there,
                                          int64_t apart, uint64_t row, uint64_t step)
{
    constexpr unsigned columns = COLUMNS_A_THREAD, together = ROWS_AT_ONCE;
    column_slots<columns, together, All> slots = {{}, {}, apart, there, x.load > 0};
    typename slot<value_of<Fold>>::type words[columns * together];
#pragma unroll
    for (unsigned r = 0; r < together; r++) {
        slots.there[r] = All || row + r * step < x.rows.items;
        slots.at[r] = slots.there[r] ? row_at(x.rows.from, data, row + r * step) : data;
    }
    load_words(words, 1u << x.rows.bytes, slots);
#pragma unroll
    for (unsigned r = 0; r < together; r++) {
        typename slot<value_of<Fold>>::type own[columns];
        value_of<Fold> values[columns];
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            own[c] = words[r * columns + c];
        decode(values, own, x.rows.from.input);
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            states[c] = All || slots.there[r]
                            ? Fold::merge(states[c], Fold::lift(values[c], row + r * step))
                            : states[c];
    }
}

template <class Fold>
__device__ __forceinline__ void take_columns(state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                             const kernel_axes &x, const teammate &me,
                                             const char *data, uint32_t there, uint64_t split)
{
    constexpr unsigned together = ROWS_AT_ONCE;
    const uint64_t n = x.rows.items, step = x.splits << x.team;
    const int64_t apart = int64_t(me.teams) << x.rows.bytes;
    uint64_t row = (split << x.team) + me.number;
#pragma unroll 1
    for (; row + (together - 1) * step < n; row += together * step)
        take_rows<Fold, true>(states, x, data, there, apart, row, step);
    if (row < n)
        take_rows<Fold, false>(states, x, data, there, apart, row, step);
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
__device__ __forceinline__ column_parts<T>
bring_together(const kernel_axes &x, const teammate &me, T (&states)[COLUMNS_A_THREAD])
{
    constexpr unsigned columns = COLUMNS_A_THREAD;
    const unsigned width = me.teams * columns;
    const bool narrow = me.teams < warp_size;
    const column_parts<T> parts = {block_memory<T>(), width,
                                   blockDim.x / (narrow ? warp_size : me.teams)};
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
        for (uint64_t s = k / width; result < x.results && s < x.splits; s += together * each) {
            state_of<Fold> some[together];
#pragma unroll
            for (unsigned u = 0; u < together; u++)
                some[u] = s + u * each < x.splits
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

/* Whether each thread makes results alone, neighbours that need nothing more. */
__device__ __forceinline__ bool are_made_alone(const kernel_axes &x)
{
    return x.team == 0 && x.splits == 1 && x.inner == 1 && x.load && x.result.at_once &&
           x.places[x.kept - 1] == 1;
}

template <class Fold>
__global__ void fold_columns(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                             global<uint64_t>, global<unsigned> tickets)
{
    constexpr unsigned columns = COLUMNS_A_THREAD;
    const teammate me = place_in_team(x);
    const unsigned width = me.teams * columns, results = width / x.inner;
    const uint64_t group = x.splits > 1 ? divide(blockIdx.x, x.splits) : blockIdx.x,
                   split = blockIdx.x - group * x.splits;
    const uint32_t there = columns_there(x, me, group * width);
    state_of<Fold> states[columns];
#pragma unroll
    for (unsigned c = 0; c < columns; c++)
        states[c] = Fold::identity();
    result_place own = {{0, 0}, 0};
    if (there) {
        own = place_of_column(x, group * width + column_of(x, me, 0));
        take_columns<Fold>(states, x, me,
                           static_cast<const char *>(x.rows.from.data) + own.base.data, there,
                           split);
    }
    if (are_made_alone(x)) {
        if (there)
            store_run_at_once<Fold>(x.result, states, own.place);
        return;
    }
    const uint64_t first = group * results;
    column_parts<state_of<Fold>> parts = bring_together<Fold>(x, me, states);
    unsigned inner = x.inner;
    if (x.splits > 1) {
        for (unsigned r = threadIdx.x; r < results && first + r < x.results; r += blockDim.x)
            partials[split * x.results + first + r] = fold_parts<Fold>(parts, r * inner, inner);
        if (!is_last_block(tickets + group, unsigned(x.splits)))
            return;
        parts = bring_splits<Fold>(x, first, results, partials);
        inner = 1;
    }
    for (unsigned r = threadIdx.x; r < results && first + r < x.results; r += blockDim.x)
        store_result<Fold>(x.result, fold_parts<Fold>(parts, r * inner, inner),
                           x.result.finish.count, place_of_result(x, first + r).place);
}

} // namespace KERNELS
