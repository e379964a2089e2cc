/* The states of a block's columns in shared memory: to which results they belong, how partial
 * results are merged within the block, and how blocks that split tall columns exchange theirs. */
#pragma once

#include "../vector.cuh"
#include "along.cuh"
#include "order.cuh"

namespace KERNELS
{

/* ---- places ---- */

/* Results in the last outer dimension. */
__device__ __forceinline__ uint64_t results_per_row(const kernel_axes &x)
{
    return x.launch.column.outer ? x.outer.shape[x.launch.column.outer] : x.results;
}

/* Columns from a result's first to the next one's. */
__device__ __forceinline__ unsigned columns_per_result(const kernel_axes &x)
{
    return x.launch.inner * x.launch.step;
}

/* Columns of one row, before rows are coalesced. */
__device__ __forceinline__ uint64_t columns_per_row(const kernel_axes &x)
{
    return results_per_row(x) * columns_per_result(x);
}

/* The index of a pack of a block, or of the block itself if blocks have whole results, in all outer
 * dimensions but the last, and in the last. */
struct index_in_batch {
    uint64_t outer, number;

    __device__ __forceinline__ index_in_batch(const kernel_axes &x, uint64_t group, unsigned slot)
    {
        const uint64_t all =
            x.launch.column.span ? group : group * (blockDim.x >> x.launch.team) + slot;
        outer = x.launch.column.outer ? all / x.launch.column.packs : 0;
        number = all - outer * x.launch.column.packs;
    }
};

/* The first column of a thread's pack, and the end of its row's or block's. */
struct column_place {
    uint64_t outer;      /* index in all outer dimensions but the last */
    uint64_t first, end; /* in the last */

    __device__ __forceinline__ bool exists(const kernel_axes &x) const
    {
        return first < end && outer * results_per_row(x) < x.results;
    }

    /* Columns of a pack of `columns` that exist. */
    __device__ __forceinline__ unsigned count(unsigned columns) const
    {
        return end - first < columns ? unsigned(end - first) : columns;
    }

    /* The first column, if columns are `pitch` bytes apart, and its result. */
    __device__ __forceinline__ result_place at(const kernel_axes &x, int64_t pitch) const
    {
        const unsigned last = x.launch.column.outer;
        result_place at = {{0, 0}, x.outer.first};
        if (last > 0)
            at = place_of_index(x, last, x.outer.first, outer);
        at.base.data += int64_t(first) * pitch;
        at.place += int64_t(first) * x.outer.output_strides[last];
        return at;
    }
};

/* The place of pack `slot` of a block. Packs follow each other from block to block or, if blocks
 * have whole results, begin at the last multiple of a pack before the block's first. */
__device__ __forceinline__ column_place place_of_pack(const kernel_axes &x, uint64_t group,
                                                      unsigned slot, unsigned columns)
{
    const unsigned span = x.launch.column.span;
    const index_in_batch at(x, group, slot);
    const uint64_t row = columns_per_row(x) * x.launch.column.coalesced + 1 - x.launch.step,
                   begin = at.number * (span ? span : columns), end = begin + span;
    if (!span)
        return {at.outer, begin, row};
    return {at.outer, begin / columns * columns + slot * columns, end < row ? end : row};
}

/* The index of a block's result number `number` of `count` among all, or UINT64_MAX if it does not
 * exist. */
template <unsigned Columns>
__device__ __forceinline__ uint64_t result_index(const kernel_axes &x, uint64_t group,
                                                 unsigned number, unsigned count)
{
    const unsigned column = number * x.launch.step;
    const index_in_batch at(x, group, column / Columns);
    const uint64_t length = results_per_row(x),
                   index = x.launch.column.span
                               ? at.number * count + number
                               : (at.number * Columns + column % Columns) >> (x.launch.step - 1),
                   result = at.outer * length + index;
    return index < length && result < x.results ? result : UINT64_MAX;
}

/* ---- parts ---- */

/* A thread's part of its columns and the number of parts in the block, after the parts in a warp
 * have been merged; and its slot among the block's adjacent columns. */
struct column_part {
    unsigned number, count, slot;
    bool exists;

    __device__ __forceinline__ column_part(const kernel_axes &x, const team_member &me)
        : number(me.number), count(1u << x.launch.team), slot(me.result), exists(true)
    {
        if (me.teams < warp_size) {
            number = threadIdx.x / warp_size;
            count = blockDim.x / warp_size;
            slot = threadIdx.x % warp_size;
            exists = slot < me.teams;
        }
    }
};

/* States of a block's threads in shared memory, by column: states of neighboring threads are
 * adjacent, so neither writing nor reading them causes bank conflicts. */
template <class T>
struct column_table {
    shared<T> at;
    unsigned pitch, load;    /* load: log2 of the columns per thread */
    unsigned per_result = 1; /* columns from a result's first to the next one's */
    unsigned first = 0;      /* columns before the block's first */

    /* The state of the block's column k. */
    __device__ __forceinline__ T &column(unsigned k) const
    {
        k += first;
        return at[(k & ((1u << load) - 1)) * pitch + (k >> load)];
    }

    /* The state of result k, after its columns have been merged. */
    __device__ __forceinline__ T &result(unsigned k) const
    {
        return column(k * per_result);
    }
};

/* Bring a block's states to shared memory, merged within each team: the upper half of the threads
 * stores its states, the lower half merges them with its own, and so on by halves. */
template <class Fold, class T, unsigned Columns>
__device__ __forceinline__ column_table<T> fold_teams(const kernel_axes &x,
                                                      const T (&states)[Columns])
{
    const unsigned thread = threadIdx.x, lower = blockDim.x >> (x.launch.team > 0);
    const column_table<T> table = {block_memory<T>(), lower + (x.launch.team == 0), x.launch.load};
    if (x.launch.team == 0 || thread >= lower)
#pragma unroll
        for (unsigned c = 0; c < Columns; c++)
            table.at[c * table.pitch + thread % lower] = states[c];
    __syncthreads();
    if (x.launch.team == 0)
        return table;
    if (thread < lower)
#pragma unroll
        for (unsigned c = 0; c < Columns; c++) {
            const unsigned at = c * table.pitch + thread;
            table.at[at] = Fold::merge(states[c], table.at[at]);
        }
    __syncthreads();
#pragma unroll 1
    for (unsigned half = x.launch.block - 1; half-- > x.launch.block - x.launch.team;) {
#pragma unroll 1
        for (unsigned k = thread; k < Columns << half; k += blockDim.x) {
            const unsigned at = (k >> half) * table.pitch + (k & ((1u << half) - 1));
            table.at[at] = Fold::merge(table.at[at], table.at[at + (1u << half)]);
        }
        __syncthreads();
    }
    return table;
}

/* Accumulate the rows that are left over when rows are coalesced. */
template <class Fold, class In, class T>
__device__ __forceinline__ void accumulate_leftover(const kernel_axes &x,
                                                    const column_table<T> &table, uint64_t group)
{
    const uint64_t row = x.rows.items * x.launch.column.coalesced;
    const unsigned columns = unsigned(columns_per_row(x)),
                   count = x.launch.column.leftover * columns + 1 - x.launch.step;
    const inversion<Fold, In> invert = {x.result.inverted};
    const int64_t batch = x.outer.count > 1 ? int64_t(group) * x.outer.strides[0] : 0;
    const global<const In> from = pointer_cast<const In>(
        static_cast<const char *>(x.from.data) + batch + int64_t(x.rows.items) * x.from.strides[0]);
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
        const T state = Fold::lift(value_of<Fold>(invert(from[k])), row + k / columns);
        table.column(k) = Fold::merge(table.column(k), state);
    }
}

/* Into how many parts, at most `most`, results are divided to occupy all threads. */
__device__ __forceinline__ unsigned parts_per_result(unsigned results, uint64_t most)
{
    unsigned parts = 1;
    while (2 * parts * results <= blockDim.x && 2 * parts <= most)
        parts *= 2;
    return parts;
}

/* Merge `parts` states of each of `count` results by halves: state(k), k < count * parts, is one of
 * result k % count. */
template <class Fold, class State>
__device__ __forceinline__ void fold_halves(unsigned count, unsigned parts, State state)
{
#pragma unroll 1
    for (unsigned half = parts / 2 * count; half >= count; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            state(threadIdx.x) = Fold::merge(state(threadIdx.x), state(threadIdx.x + half));
    }
    __syncthreads();
}

/* Merge the columns of each of a block's results, each in parts by several threads. */
template <class Fold, class T>
__device__ __forceinline__ void fold_result_columns(const kernel_axes &x,
                                                    const column_table<T> &table)
{
    const unsigned inner = x.launch.inner, columns = inner * x.launch.column.coalesced,
                   count = x.launch.column.results, parts = parts_per_result(count, columns),
                   pitch = x.launch.column.coalesced > 1 ? unsigned(columns_per_row(x)) : 0;
    const auto state = [&](unsigned number, unsigned part) -> T & {
        return table.column(number * table.per_result + part / inner * pitch + part % inner);
    };
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count * parts; k += blockDim.x) {
        const unsigned number = k % count, part = k / count;
        T value = state(number, part);
#pragma unroll 1
        for (unsigned p = part + parts; p < columns; p += parts)
            value = Fold::merge(value, state(number, p));
        state(number, part) = value;
    }
    fold_halves<Fold>(count, parts, [&](unsigned k) -> T & { return state(k % count, k / count); });
}

/* ---- splits ---- */

/* Merge `splits` partial results of each of `count` results, `pitch` from each other. */
template <class Fold>
__device__ __forceinline__ column_table<state_of<Fold>>
fold_splits(global<const state_of<Fold>> partials, unsigned count, unsigned splits, unsigned pitch)
{
    using state = state_of<Fold>;
    constexpr unsigned together = COLUMNS_PARTIALS(sizeof(state));
    const column_table<state> table = {block_memory<state>(), 0, 0};
    const unsigned parts = parts_per_result(count, splits);
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count * parts; k += blockDim.x) {
        const unsigned number = k % count;
        state merged = Fold::identity();
#pragma unroll 1
        for (unsigned s = k / count; s < splits; s += together * parts)
            merged = Fold::merge(merged, pairwise_merge<Fold, together, state>([&](unsigned u) {
                                     const unsigned split = s + u * parts;
                                     return split < splits
                                                ? load_from_l2(partials + split * pitch + number)
                                                : Fold::identity();
                                 }));
        table.at[k] = merged;
    }
    fold_halves<Fold>(count, parts, [&](unsigned k) -> state & { return table.at[k]; });
    return table;
}

/* Exchange a block's results with the splits of the same columns: the last of each group of
 * neighboring splits merges the group's partial results, and the last of all merges those of the
 * groups. Partial results are ordered by group, split and number in the block, so that only the
 * last block computes the results' places. Returns whether this block was the last, whose table
 * then has the results. */
template <class Fold>
__device__ __forceinline__ bool
exchange_columns(const kernel_axes &x, column_table<state_of<Fold>> &table, uint64_t group,
                 unsigned split, global<state_of<Fold>> partials, global<unsigned> tickets)
{
    const unsigned count = x.launch.column.results, all = unsigned(x.launch.splits),
                   size = x.launch.column.split_group, groups = (all + size - 1) / size,
                   index = split / size;
    unsigned at = split, from = index * size, pitch = 1,
             splits = all - from < size ? all - from : size;
    partials += group * all * count;
    tickets += group * (groups + 1);
    global<unsigned> ticket = tickets + 1 + index;
#pragma unroll 1
    for (bool last = groups == 1;; last = true) {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < count; k += blockDim.x)
            partials[at * count + k] = table.result(k);
        if (!is_last_block(ticket, splits))
            return false;
        table = fold_splits<Fold>(partials + from * count, count, splits, pitch * count);
        if (last)
            return true;
        at = from;
        from = 0;
        splits = groups;
        pitch = size;
        ticket = tickets;
    }
}

} // namespace KERNELS
