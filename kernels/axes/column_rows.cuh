/* How a thread loads the rows of its columns, with COLUMNS_AHEAD loads in flight.
 *
 * A vector of a misaligned row is assembled from two aligned loads by shifting. */
#pragma once

#include "along.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* ---- loads ---- */

/* A thread's position in the rows of its columns; rows may span one or two reduced dimensions. */
struct row_cursor {
    const kernel_axes &x;
    const char *at; /* the thread's next row */
    int64_t stride; /* bytes from one of the thread's rows to the next, in the inner dimension */
    unsigned count; /* columns that exist */
    uint32_t done;  /* rows */
    uint32_t left;  /* rows left in the inner dimension; 0 if there is only one dimension */

    /* Bytes from one of the thread's rows to the next in the outer dimension. */
    __device__ __forceinline__ int64_t outer_hop() const
    {
        return int64_t(x.launch.splits << x.launch.team) * x.from.strides[0];
    }

    __device__ __forceinline__ const char *next()
    {
        const char *const row = at;
        at += stride;
        if (--left == 0) {
            left = uint32_t(x.from.shape[1]);
            at += outer_hop() - int64_t(left) * stride;
        }
        return row;
    }

    /* The r-th row from here, if there is one dimension. */
    __device__ __forceinline__ const char *row(unsigned r) const
    {
        return at + r * stride;
    }
};

/* Load misaligned rows by two aligned loads each. The second is skipped if it would contain none of
 * the thread's columns. */
template <class In, bool Nested, unsigned Rows>
__device__ __forceinline__ void load_shifted(vec16 (&rows)[Rows], row_cursor &cursor)
{
    vec16 high[Rows] = {};
    unsigned begin[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const char *at = Nested ? cursor.next() : cursor.row(r);
        begin[r] = unsigned(address_of(at) % sizeof(vec16));
        const vec16 *const from = pointer_cast<const vec16>(at - begin[r]);
        rows[r] = from[0];
        if (begin[r] + cursor.count * unsigned(sizeof(In)) > sizeof(vec16))
            high[r] = from[1];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = extract_vector<In>(rows[r], high[r], begin[r]);
}

/* The same for rows that all have the same misalignment: one branch selects the words for all of
 * them. */
template <class In, unsigned Rows>
__device__ __forceinline__ void load_shifted_uniform(vec16 (&rows)[Rows], const row_cursor &cursor)
{
    const unsigned begin = unsigned(address_of(cursor.at) % sizeof(vec16));
    const bool both = begin + cursor.count * sizeof(In) > sizeof(vec16);
    vec16 high[Rows] = {};
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const vec16 *const words = pointer_cast<const vec16>(cursor.row(r) - begin);
        rows[r] = words[0];
        if (both)
            high[r] = words[1];
    }
    const auto join_from = [&](unsigned word) {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            rows[r] = extract_vector<In>(rows[r], high[r], word * sizeof(uint32_t) + begin % 4);
    };
    if (begin < 4)
        join_from(0);
    else if (sizeof(In) <= 4 && begin < 8)
        join_from(1);
    else if (sizeof(In) > 4 || begin < 12)
        join_from(2);
    else
        join_from(3);
}

/* Load aligned rows. */
template <unsigned Rows>
__device__ __forceinline__ void load_whole(vec16 (&rows)[Rows], const row_cursor &cursor)
{
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = *pointer_cast<const vec16>(cursor.row(r));
}

/* ---- rows ---- */

enum class load_mode {
    whole,
    shifted,
    shifted_uniform,
    nested /* aligned or not, two reduced dimensions */
};

/* Load a batch and accumulate it by ROWS_AHEAD rows at a time, so that results have the same bits
 * as those of unsplit columns. */
template <unsigned Rows, load_mode Mode, class In, class Columns>
__device__ __forceinline__ void accumulate_batch(Columns &columns, row_cursor &cursor)
{
    constexpr unsigned few = Rows < ROWS_AHEAD ? Rows : unsigned(ROWS_AHEAD);
    vec16 rows[Rows];
    if constexpr (Mode == load_mode::whole)
        load_whole(rows, cursor);
    else if constexpr (Mode == load_mode::shifted_uniform)
        load_shifted_uniform<In>(rows, cursor);
    else
        load_shifted<In, Mode == load_mode::nested>(rows, cursor);
    if constexpr (Mode != load_mode::nested)
        cursor.at = cursor.row(Rows);
#pragma unroll
    for (unsigned first = 0; first < Rows; first += few) {
        vec16 some[few];
#pragma unroll
        for (unsigned r = 0; r < few; r++)
            some[r] = rows[first + r];
        columns.accumulate(some, cursor.done + first);
    }
    cursor.done += Rows;
}

/* Accumulate batches of Rows rows up to `end`, then batches of half as many, and so on. */
template <unsigned Rows, load_mode Mode, class In, class Columns>
__device__ __forceinline__ void accumulate_batches(Columns &columns, row_cursor &cursor,
                                                   uint32_t end)
{
#pragma unroll 1
    while (end - cursor.done >= Rows)
        accumulate_batch<Rows, Mode, In>(columns, cursor);
    if constexpr (Mode != load_mode::shifted_uniform) /* the caller takes the rest */
        for_each_static_power<Rows / 2>(end - cursor.done, [&](auto rows) {
            accumulate_batch<decltype(rows)::value, Mode, In>(columns, cursor);
        });
}

/* Larger accumulators leave no registers for two loads for each of 2 * ROWS_AHEAD rows. */
constexpr unsigned COLUMNS_LARGE = 128;

/* Whether there are registers for one more loop. If they are spilled instead, the spills take a
 * twentieth of the time of the reads. */
template <class Columns>
constexpr bool has_registers = !std::is_base_of_v<is_register_bound, Columns>;

/* Whether the loads of a row stay within the array. */
template <class In>
__device__ __forceinline__ bool is_inside(const kernel_axes &x, const char *row, unsigned count)
{
    constexpr unsigned size = sizeof(vec16);
    if (!x.launch.column.shifted && count == pack<In>::size)
        return true;
    const char *const data = static_cast<const char *>(x.from.data);
    const unsigned begin = x.launch.column.shifted ? unsigned(address_of(row) % size) : 0;
    const char *const from = row - begin;
    return from >= data + x.lowest &&
           from + (begin + count * sizeof(In) > size ? 2 * size : size) <= data + x.end;
}

/* Accumulate this thread's `end` rows. If vectorized loads of the first or the last row would leave
 * the array, that row is loaded element by element. */
template <unsigned Ahead, bool Nested, class In, class Columns>
__device__ __forceinline__ void accumulate_columns(Columns &columns, row_cursor &cursor,
                                                   const char *last, uint32_t end)
{
    constexpr unsigned two = /* rows per batch if each takes two loads */
        Ahead > ROWS_AHEAD && sizeof(Columns) > COLUMNS_LARGE ? unsigned(ROWS_AHEAD) : Ahead;
    const kernel_axes &x = cursor.x;
    const uint32_t inner = end - !is_inside<In>(x, last, cursor.count);
    uint32_t edge = !is_inside<In>(x, cursor.at, cursor.count);
#pragma unroll 1
    for (;; edge = end) {
#pragma unroll 1
        for (; cursor.done < edge; cursor.done++) {
            const vec16 row[1] = {load_edge_row<In>(cursor.next(), cursor.count)};
            columns.accumulate(row, cursor.done);
        }
        if (cursor.done == end)
            return;
        if constexpr (Nested)
            if (x.from.dimensions > 1) {
                accumulate_batches<two, load_mode::nested, In>(columns, cursor, inner);
                continue;
            }
        if constexpr (has_registers<Columns>)
            if (x.launch.column.shifted && cursor.stride % int64_t(sizeof(vec16)) == 0)
                accumulate_batches<two, load_mode::shifted_uniform, In>(columns, cursor, inner);
        if (x.launch.column.shifted)
            accumulate_batches<two, load_mode::shifted, In>(columns, cursor, inner);
        else
            accumulate_batches<Ahead, load_mode::whole, In>(columns, cursor, inner);
    }
}

} // namespace KERNELS
