/* Columns, reduced along axes: neighbours in memory belong to different results. A thread makes
 * COLUMNS_A_THREAD of them side by side, so that one load takes an element of each, and reads
 * ROWS_AT_ONCE such loads before it waits for any. Threads of a block share tall columns among
 * them, and blocks very tall ones. */
#pragma once

#include "along.cuh"

namespace KERNELS
{

/* The elements of one row that a thread's columns have, and whether there is such a row. */
struct in_row {
    const char *at;
    bool there;
};

__device__ __forceinline__ in_row elements_of_row(const layout &from, int64_t base, uint64_t row,
                                                  uint64_t n)
{
    const char *const data = static_cast<const char *>(from.data) + base;
    if (row >= n)
        return {data, false};
    return {data + (from.dimensions == 1 ? int64_t(row) * from.strides[0]
                                         : offsets_of(from, from.dimensions, row).data),
            true};
}

template <class Fold>
__device__ __forceinline__ void take_columns(state_of<Fold> (&states)[COLUMNS_A_THREAD],
                                             const kernel_axes &x, int64_t base, uint64_t first,
                                             uint64_t step)
{
    constexpr unsigned columns = COLUMNS_A_THREAD, together = ROWS_AT_ONCE;
    const layout &from = x.rows.from;
    const uint64_t n = x.rows.items;
#pragma unroll 1
    for (uint64_t row = first; row < n; row += together * step) {
        some_runs<columns, together> runs;
        typename slot<value_of<Fold>>::type words[columns * together];
#pragma unroll
        for (unsigned r = 0; r < together; r++) {
            const in_row elements = elements_of_row(from, base, row + r * step, n);
            runs.at[r] = elements.at;
            runs.there[r] = elements.there;
        }
        load_words(words, 1u << x.rows.bytes, runs);
#pragma unroll
        for (unsigned r = 0; r < together; r++) {
            typename slot<value_of<Fold>>::type own[columns];
            value_of<Fold> values[columns];
#pragma unroll
            for (unsigned c = 0; c < columns; c++)
                own[c] = words[r * columns + c];
            decode(values, own, from.input);
#pragma unroll
            for (unsigned c = 0; c < columns; c++)
                states[c] = runs.there[r]
                                ? Fold::merge(states[c], Fold::lift(values[c], row + r * step))
                                : states[c];
        }
    }
}

/* What is left of a column in shared memory, in so many parts. */
template <class T>
struct column_parts {
    shared<T> at;
    unsigned width, count;
};

template <class Fold, class T>
__device__ __forceinline__ T fold_parts(const column_parts<T> &parts, unsigned column)
{
    T value = parts.at[column];
#pragma unroll 1
    for (unsigned k = 1; k < parts.count; k++)
        value = Fold::merge(value, parts.at[k * parts.width + column]);
    return value;
}

/* All threads' columns; a warp's threads that share some fold them first. */
template <class Fold, class T>
__device__ __forceinline__ column_parts<T> bring_together(const teammate &me,
                                                          T (&states)[COLUMNS_A_THREAD])
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
            parts.at[part * width + me.result * columns + c] = states[c];
    }
    __syncthreads();
    return parts;
}

/* The splits' states, as many threads a column as there are. */
template <class Fold>
__device__ __forceinline__ column_parts<state_of<Fold>>
bring_splits(const kernel_axes &x, uint64_t first, unsigned width,
             global<const state_of<Fold>> partials)
{
    const unsigned each = width < blockDim.x ? blockDim.x / width : 1;
    const column_parts<state_of<Fold>> parts = {block_memory<state_of<Fold>>(), width, each};
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < width * each; k += blockDim.x) {
        const uint64_t result = first + k % width;
        state_of<Fold> state = Fold::identity();
#pragma unroll 8
        for (uint64_t s = k / width; result < x.results && s < x.splits; s += each)
            state = Fold::merge(state, load_shared_by_all(partials + s * x.results + result));
        parts.at[k] = state;
    }
    __syncthreads();
    return parts;
}

template <class Fold>
__global__ void fold_columns(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                             global<uint64_t>, global<unsigned> tickets)
{
    constexpr unsigned columns = COLUMNS_A_THREAD;
    const teammate me = place_in_team(x);
    const unsigned width = me.teams * columns;
    const uint64_t group = divide(blockIdx.x, x.splits), split = blockIdx.x - group * x.splits,
                   first = group * width, own = first + me.result * columns;
    state_of<Fold> states[columns];
#pragma unroll
    for (unsigned c = 0; c < columns; c++)
        states[c] = Fold::identity();
    if (own < x.results)
        take_columns<Fold>(states, x, place_of_result(x, own).base.data,
                           (split << x.team) + me.number, x.splits << x.team);
    column_parts<state_of<Fold>> parts = bring_together<Fold>(me, states);
    if (x.splits > 1) {
        for (unsigned c = threadIdx.x; c < width && first + c < x.results; c += blockDim.x)
            partials[split * x.results + first + c] = fold_parts<Fold>(parts, c);
        if (!is_last_block(tickets + group, unsigned(x.splits)))
            return;
        parts = bring_splits<Fold>(x, first, width, partials);
    }
    for (unsigned c = threadIdx.x; c < width && first + c < x.results; c += blockDim.x)
        store_result<Fold>(x.result, fold_parts<Fold>(parts, c), x.result.finish.count,
                           place_of_result(x, first + c).place);
}

} // namespace KERNELS
