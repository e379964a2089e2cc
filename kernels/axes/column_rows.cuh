/* How a thread loads the rows of its columns, with COLUMNS_AHEAD loads in flight.
 *
 * A vector of a misaligned row is assembled from two aligned loads by shifting. A vector of every
 * second element is assembled from two loads (stride2.cuh), or from three if misaligned. */
#pragma once

#include "../load/stride2.cuh"
#include "along.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* ---- loads ---- */

/* A thread's position in the rows of its columns; rows may span one or two reduced dimensions. */
struct column_walk {
    const kernel_axes &x;
    const char *at; /* the thread's next row */
    int64_t hop;    /* bytes from one of the thread's rows to the next, in the inner dimension */
    unsigned count; /* columns that exist */
    uint32_t taken; /* rows */
    uint32_t left;  /* rows left in the inner dimension; 0 if there is only one dimension */

    /* Bytes from one of the thread's rows to the next in the outer dimension. */
    __device__ __forceinline__ int64_t outer_hop() const
    {
        return int64_t(x.launch.splits << x.launch.team) * x.from.strides[0];
    }

    __device__ __forceinline__ const char *next()
    {
        const char *const row = at;
        at += hop;
        if (--left == 0) {
            left = uint32_t(x.from.shape[1]);
            at += outer_hop() - int64_t(left) * hop;
        }
        return row;
    }

    /* The r-th row from here, if there is one dimension. */
    __device__ __forceinline__ const char *row(unsigned r) const
    {
        return at + r * hop;
    }
};

/* Bytes from the beginning of the first column to the end of the last. */
template <class In, bool Strided>
__device__ __forceinline__ unsigned extent_of(unsigned columns)
{
    return (Strided ? 2 * columns - 1 : columns) * unsigned(sizeof(In));
}

/* Every second element of three packs, from byte `begin` on: 16 bytes. */
template <class In>
__device__ __forceinline__ vec16 joined_every_second(const vec16 (&packs)[3], unsigned begin)
{
    const unsigned first = begin / unsigned(sizeof(In));
    vec16 row, last;
    take_every_second<In>(packs[0].at, packs[1].at, first % 2, row.at);
    take_every_second<In>(packs[2].at, packs[2].at, first % 2, last.at);
    return joined<In>(row, last, first / 2 * unsigned(sizeof(In)));
}

/* Load misaligned rows by two aligned loads each, or three for every second element. All but the
 * first are skipped if they would contain none of the thread's columns. */
template <class In, bool Strided, bool Deep, unsigned Rows>
__device__ __forceinline__ void load_shifted(vec16 (&rows)[Rows], column_walk &own)
{
    vec16 packs[Rows][Strided ? 3 : 2] = {};
    unsigned begin[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const char *at = Deep ? own.next() : own.row(r);
        begin[r] = unsigned(address_of(at) % sizeof(vec16));
        const vec16 *const from = pointer_cast<const vec16>(at - begin[r]);
        packs[r][0] = from[0];
#pragma unroll
        for (unsigned p = 1; p < (Strided ? 3 : 2); p++)
            if (begin[r] + extent_of<In, Strided>(own.count) > p * sizeof(vec16))
                packs[r][p] = from[p];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        if constexpr (Strided)
            rows[r] = joined_every_second<In>(packs[r], begin[r]);
        else
            rows[r] = joined<In>(packs[r][0], packs[r][1], begin[r]);
}

/* The same for rows that all have the same misalignment: one branch selects the words for all of
 * them. */
template <class In, unsigned Rows>
__device__ __forceinline__ void load_shifted_alike(vec16 (&rows)[Rows], const column_walk &own)
{
    const unsigned begin = unsigned(address_of(own.at) % sizeof(vec16));
    const bool both = begin + own.count * sizeof(In) > sizeof(vec16);
    vec16 high[Rows] = {};
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const vec16 *const words = pointer_cast<const vec16>(own.row(r) - begin);
        rows[r] = words[0];
        if (both)
            high[r] = words[1];
    }
    const auto join_from = [&](unsigned word) {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            rows[r] = joined<In>(rows[r], high[r], word * sizeof(uint32_t) + begin % 4);
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

/* Load aligned rows. For every second element, the first may be the second of its pair. */
template <class In, bool Strided, unsigned Rows>
__device__ __forceinline__ void load_whole(vec16 (&rows)[Rows], const column_walk &own)
{
    const bool odd = Strided && is_odd(pointer_cast<const In>(own.at));
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const auto from = pointer_cast<const vec16>(own.row(r) - odd * sizeof(In));
        if constexpr (Strided)
            rows[r] = load_every_second<In>(from, 0, odd);
        else
            rows[r] = from[0];
    }
}

/* ---- rows ---- */

enum class loads {
    whole,
    shifted,
    shifted_alike,
    deep /* aligned or not, two reduced dimensions */
};

/* Load a batch and accumulate it by ROWS_AHEAD rows at a time, so that results have the same bits
 * as those of unsplit columns. */
template <unsigned Rows, loads How, bool Strided, class In, class Columns>
__device__ __forceinline__ void take_batch(Columns &columns, column_walk &own)
{
    constexpr unsigned few = Rows < ROWS_AHEAD ? Rows : unsigned(ROWS_AHEAD);
    vec16 rows[Rows];
    if constexpr (How == loads::whole)
        load_whole<In, Strided>(rows, own);
    else if constexpr (How == loads::shifted_alike)
        load_shifted_alike<In>(rows, own);
    else
        load_shifted<In, Strided, How == loads::deep>(rows, own);
    if constexpr (How != loads::deep)
        own.at = own.row(Rows);
#pragma unroll
    for (unsigned first = 0; first < Rows; first += few) {
        vec16 some[few];
#pragma unroll
        for (unsigned r = 0; r < few; r++)
            some[r] = rows[first + r];
        columns.take(some, own.taken + first);
    }
    own.taken += Rows;
}

/* Accumulate batches of Rows rows up to `end`, then batches of half as many, and so on. */
template <unsigned Rows, loads How, bool Strided, class In, class Columns>
__device__ __forceinline__ void take_many(Columns &columns, column_walk &own, uint32_t end)
{
#pragma unroll 1
    while (end - own.taken >= Rows)
        take_batch<Rows, How, Strided, In>(columns, own);
    if constexpr (How != loads::shifted_alike) /* the caller takes the rest */
        for_each_static_power<Rows / 2>(end - own.taken, [&](auto rows) {
            take_batch<decltype(rows)::value, How, Strided, In>(columns, own);
        });
}

/* Larger accumulators leave no registers for two loads for each of 2 * ROWS_AHEAD rows. */
constexpr unsigned COLUMNS_LARGE = 128;

/* Whether there are registers for one more loop. If they are spilled instead, the spills take a
 * twentieth of the time of the reads. */
template <class Columns>
constexpr bool has_room = !std::is_base_of_v<is_register_bound, Columns>;

/* Whether the loads of a row stay within the array. */
template <class In, bool Strided>
__device__ __forceinline__ bool is_inside(const kernel_axes &x, const char *row, unsigned count)
{
    constexpr unsigned size = sizeof(vec16);
    if (!Strided && !x.launch.column.shifted && count == pack<In>::size)
        return true;
    const char *const data = static_cast<const char *>(x.from.data);
    const unsigned odd = Strided && is_odd(pointer_cast<const In>(row)) ? unsigned(sizeof(In)) : 0,
                   begin = x.launch.column.shifted ? unsigned(address_of(row) % size) : odd,
                   least = Strided && !x.launch.column.shifted ? 2 * size : size,
                   bytes = (begin + extent_of<In, Strided>(count) + size - 1) / size * size;
    const char *const from = row - begin;
    return from >= data + x.lowest && from + (bytes > least ? bytes : least) <= data + x.end;
}

/* Accumulate this thread's `end` rows. If vectorized loads of the first or the last row would leave
 * the array, that row is loaded element by element. */
template <bool Strided, unsigned Ahead, bool Deep, class In, class Columns>
__device__ __forceinline__ void take_columns(Columns &columns, column_walk &own, const char *last,
                                             uint32_t end)
{
    constexpr unsigned off =
        Ahead > ROWS_AHEAD && sizeof(Columns) > COLUMNS_LARGE ? unsigned(ROWS_AHEAD) : Ahead;
    constexpr unsigned two = Strided ? Ahead / 2 : off; /* rows per batch if each takes two loads */
    const kernel_axes &x = own.x;
    const uint32_t inner = end - !is_inside<In, Strided>(x, last, own.count);
    uint32_t edge = !is_inside<In, Strided>(x, own.at, own.count);
#pragma unroll 1
    for (;; edge = end) {
#pragma unroll 1
        for (; own.taken < edge; own.taken++) {
            const vec16 row[1] = {edge_of_row<In, Strided ? 2 : 1>(own.next(), own.count)};
            columns.take(row, own.taken);
        }
        if (own.taken == end)
            return;
        if constexpr (Deep)
            if (x.from.dimensions > 1) {
                take_many<two, loads::deep, Strided, In>(columns, own, inner);
                continue;
            }
        if constexpr (!Strided && has_room<Columns>)
            if (x.launch.column.shifted && own.hop % int64_t(sizeof(vec16)) == 0)
                take_many<off, loads::shifted_alike, Strided, In>(columns, own, inner);
        if (x.launch.column.shifted)
            take_many<two, loads::shifted, Strided, In>(columns, own, inner);
        else
            take_many<Ahead, loads::whole, Strided, In>(columns, own, inner);
    }
}

} // namespace KERNELS
