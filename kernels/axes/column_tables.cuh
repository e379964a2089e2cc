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
    return x.outer.count > 1 ? x.outer.shape[x.outer.count - 1] : x.results;
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
        outer = x.outer.count > 1 ? all / x.launch.column.packs : 0;
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
        const unsigned last = x.outer.count - 1;
        result_place at = place_of_index(x, last, x.outer.first, outer);
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
    unsigned pitch, columns;
    unsigned first = 0; /* columns before the block's first */

    /* The slot of the block's column k. */
    __device__ __forceinline__ unsigned slot(unsigned k) const
    {
        k += first;
        return k % columns * pitch + k / columns;
    }
};

/* Bring a block's states to shared memory, merged within each team: the upper half of the threads
 * stores its states, the lower half merges them with its own, and so on by halves. */
template <class Fold, class T, unsigned Columns>
__device__ __forceinline__ column_table<T> fold_teams(const kernel_axes &x,
                                                      const T (&states)[Columns])
{
    const unsigned thread = threadIdx.x, lower = blockDim.x >> (x.launch.team > 0);
    const column_table<T> table = {block_memory<T>(), lower + (x.launch.team == 0), Columns};
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

/* Fold `parts` of each of `width` adjacent results by halves; a thread has at most one part. */
template <class Fold, class T>
__device__ __forceinline__ void fold_halves(const column_table<T> &table, unsigned width,
                                            unsigned parts)
{
    const unsigned k = threadIdx.x;
#pragma unroll 1
    for (unsigned half = parts / 2 * width; half >= width; half /= 2) {
        __syncthreads();
        if (k < half)
            table.at[k] = Fold::merge(table.at[k], table.at[k + half]);
    }
    __syncthreads();
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
        table.at[table.slot(k)] = Fold::merge(table.at[table.slot(k)], state);
    }
}

/* Fold this block's columns of one result: part `part` of `parts`. */
template <class Fold, class T>
__device__ __forceinline__ T fold_parts(const kernel_axes &x, const column_table<T> &table,
                                        unsigned number, unsigned part, unsigned parts)
{
    const unsigned first = number * columns_per_result(x),
                   pitch = x.launch.column.coalesced > 1 ? unsigned(columns_per_row(x)) : 0;
    T value = table.at[table.slot(first + part / x.launch.inner * pitch + part % x.launch.inner)];
#pragma unroll 1
    for (unsigned k = part + parts; k < x.launch.inner * x.launch.column.coalesced; k += parts)
        value = Fold::merge(
            value, table.at[table.slot(first + k / x.launch.inner * pitch + k % x.launch.inner)]);
    return value;
}

/* Into how many parts, at most `most`, results are divided to occupy all threads. */
__device__ __forceinline__ unsigned parts_per_result(unsigned results, uint64_t most)
{
    unsigned parts = 1;
    while (2 * parts * results <= blockDim.x && 2 * parts <= most)
        parts *= 2;
    return parts;
}

/* Merge the columns of each of `count` results, each in parts by several threads. */
template <class Fold, class T>
__device__ __forceinline__ void fold_result_columns(const kernel_axes &x, column_table<T> &table,
                                                    unsigned count)
{
    const unsigned columns = x.launch.inner * x.launch.column.coalesced,
                   parts = parts_per_result(count, columns), number = threadIdx.x % count,
                   part = threadIdx.x / count;
    T value = Fold::identity();
    if (part < parts)
        value = fold_parts<Fold>(x, table, number, part, parts);
    table = {table.at, 0, 1};
    __syncthreads();
    if (part < parts)
        table.at[threadIdx.x] = value;
    fold_halves<Fold>(table, count, parts);
}

/* Merge the partial results of `splits` splits, `pitch` from each other, for `count` results. */
template <class Fold, unsigned Columns>
__device__ __forceinline__ column_table<state_of<Fold>>
fold_splits(const kernel_axes &x, uint64_t group, unsigned count,
            global<const state_of<Fold>> partials, unsigned splits, unsigned pitch)
{
    constexpr unsigned together = COLUMNS_PARTIALS(sizeof(state_of<Fold>));
    const column_table<state_of<Fold>> table = {block_memory<state_of<Fold>>(), 0, 1};
    const unsigned parts = parts_per_result(count, splits);
    const uint64_t step = pitch * x.results;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count * parts; k += blockDim.x) {
        const uint64_t result = result_index<Columns>(x, group, k % count, count);
        state_of<Fold> state = Fold::identity();
#pragma unroll 1
        for (unsigned s = k / count; result != UINT64_MAX && s < splits; s += together * parts)
            state = Fold::merge(
                state, pairwise_merge<Fold, together, state_of<Fold>>([&](unsigned u) {
                    return s + u * parts < splits
                               ? load_from_l2(partials + (s + u * parts) * step + result)
                               : Fold::identity();
                }));
        table.at[k] = state;
    }
    fold_halves<Fold>(table, count, parts);
    return table;
}

/* Complete a block's `count` results. If splits share them, the last of each group of neighboring
 * splits merges the group's partial results, and the last of all merges those of the groups. */
template <class Fold, unsigned Columns>
__device__ __forceinline__ void
finish_columns(const kernel_axes &x, column_table<state_of<Fold>> table, uint64_t group,
               unsigned split, unsigned count, global<state_of<Fold>> partials,
               global<unsigned> tickets)
{
    const unsigned all = unsigned(x.launch.splits), group_size = x.launch.column.split_group;
    unsigned at = split, from = 0, splits = all, pitch = 1, left = 0; /* left: merges still to do */
    bool merged = x.launch.inner * x.launch.column.coalesced > 1 && count <= blockDim.x;
    if (merged)
        fold_result_columns<Fold>(x, table, count);
    global<unsigned> ticket = tickets;
    if (all > 1) {
        const unsigned groups = (all + group_size - 1) / group_size, index = split / group_size;
        tickets += group * (groups + 1);
        ticket = tickets + 1 + index;
        from = index * group_size;
        splits = all - from < group_size ? all - from : group_size;
        left = groups > 1 ? 2 : 1;
    }
#pragma unroll 1
    for (;; left--) {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
            const uint64_t result = result_index<Columns>(x, group, k, count);
            if (result == UINT64_MAX)
                continue;
            const state_of<Fold> state = merged ? table.at[k] : fold_parts<Fold>(x, table, k, 0, 1);
            if (left > 0)
                partials[at * x.results + result] = state;
            else
                store_results_directly<Fold>(x.result, {state}, place_of_result(x, result).place);
        }
        if (left == 0 || !is_last_block(ticket, splits))
            return;
        table =
            fold_splits<Fold, Columns>(x, group, count, partials + from * x.results, splits, pitch);
        merged = true;
        at = from;
        splits = (all + group_size - 1) / group_size;
        pitch = group_size;
        from = 0;
        ticket = tickets;
    }
}

} // namespace KERNELS
