/* Columns of short batches: a block stages whole batches in shared memory, by 16-byte copies
 * whatever the length of their rows, and a team reads each column's elements from there. */
#pragma once

#include "row_result.cuh"

namespace KERNELS
{

/* A column in shared memory, as a short row whose elements are `stride` bytes apart. Its team's
 * threads take every team-th element each, so that they read from different banks. */
template <class In>
struct staged_column : row_of_team<In> {
    using row_of_team<In>::share, row_of_team<In>::at;
    static constexpr unsigned at_once = 4, per_unit = sizeof(unit_of<In>) / sizeof(In);
    unsigned stride;

    __device__ __forceinline__ unsigned begin() const
    {
        return share.number;
    }

    __device__ __forceinline__ unsigned step() const
    {
        return 1u << share.team;
    }

    __device__ __forceinline__ In element(unsigned k) const
    {
        return *pointer_cast<const In>(at + k * stride);
    }

    template <class F>
    __device__ __forceinline__ void for_each(uint32_t fill, F f) const
    {
        unsigned n = share.n, team = share.team, k = begin();
#pragma unroll 1
        for (; k + ((at_once - 1) << team) < n; k += at_once << team) {
            In x[at_once];
            unit_of<In> units[at_once / per_unit];
#pragma unroll
            for (unsigned j = 0; j < at_once; j++)
                x[j] = element(k + (j << team));
            memcpy(units, x, sizeof units);
            f(units, k);
        }
        if constexpr (per_unit > 1) {
            if (k >= n)
                return;
            In x[at_once];
            unit_of<In> units[1] = {fill};
            memcpy(x, units, sizeof x);
#pragma unroll
            for (unsigned j = 0; j + 1 < at_once; j++)
                if (k + (j << team) < n)
                    x[j] = element(k + (j << team));
            memcpy(units, x, sizeof units);
            f(units, k);
        } else {
#pragma unroll 1
            for (; k < n; k += step()) {
                const unit_of<In> x[1] = {element(k)};
                f(x, k);
            }
        }
    }
};

/* Start copying batches of whole, aligned vectors, with a vector's room between them. */
__device__ __forceinline__ shared<const char> start_padded(shared<char> to, global<const char> from,
                                                           unsigned batches, unsigned vectors)
{
#pragma unroll 4
    for (unsigned k = threadIdx.x; k < batches * vectors; k += blockDim.x)
        start_copy(to + (k + k / vectors) * sizeof(vec16), from + k * sizeof(vec16));
    return to;
}

/* A team's position among its block's columns. */
struct column_cursor {
    unsigned batch, column; /* in the block, and in the batch */
    unsigned at;            /* in shared memory */
    int64_t place;          /* of the result */

    __device__ __forceinline__ void move(unsigned batches, int columns,
                                         const column_cursor &per_batch,
                                         const column_cursor &per_column)
    {
        batch += batches;
        column += columns;
        at += batches * per_batch.at + columns * per_column.at;
        place += batches * per_batch.place + columns * per_column.place;
    }
};

template <class Fold, class In>
__device__ __forceinline__ void fold_staged_batches(const kernel_axes &x)
{
    const row_tile &tile = x.launch.row;
    const outer_dimension outer = outer_at(x, x.outer.count - 2),
                          inner = outer_at(x, x.outer.count - 1);
    const unsigned columns = unsigned(inner.length), group = blockIdx.x / tile.blocks;
    const uint64_t first = uint64_t(blockIdx.x - group * tile.blocks) * tile.batches,
                   left = outer.length - first;
    const unsigned batches = left < tile.batches ? unsigned(left) : tile.batches;
    const result_place begin = place_of_index(x, x.outer.count - 2, x.outer.first, group);
    const global<const char> from =
        static_cast<const char *>(x.from.data) + begin.base.data + int64_t(first) * outer.stride;
    const shared<const char> staged =
        tile.padding ? start_padded(block_memory<char>(), from, batches, tile.bytes / sizeof(vec16))
                     : start_copies(block_memory<char>(), from,
                                    (batches - 1) * unsigned(outer.stride) + tile.bytes);
    const team_share share = {
        unsigned(x.from.shape[0]), 0, x.launch.team, threadIdx.x & ((1u << x.launch.team) - 1), {}};
    const row_numbers numbers(x.result);
    const unsigned teams = blockDim.x >> share.team, down = teams / columns,
                   team = threadIdx.x >> share.team;
    const column_cursor per_batch = {1, 0, unsigned(outer.stride) + tile.padding, outer.place},
                        per_column = {0, 1, unsigned(inner.stride), inner.place};
    column_cursor cursor = {0, 0, 0, begin.place + int64_t(first) * outer.place};
    cursor.move(team / columns, team % columns, per_batch, per_column);
    wait_for_copies();
    __syncthreads();
#pragma unroll 1
    for (unsigned k = 0; k < batches * columns; k += teams) {
        const bool exists = cursor.batch < batches;
        const auto result =
            fold_row<Fold, In>(staged_column<In>{{share, staged + (exists ? cursor.at : 0)},
                                                 unsigned(x.from.strides[0])},
                               numbers);
        if (share.number == 0 && exists)
            store_row_result<Fold, In>(x, result, cursor.place);
        cursor.move(down, teams - down * columns, per_batch, per_column);
        if (cursor.column >= columns)
            cursor.move(1, -int(columns), per_batch, per_column);
    }
}

} // namespace KERNELS
