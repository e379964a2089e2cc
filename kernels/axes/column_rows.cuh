/* How a thread loads rows of its columns, COLUMNS_AHEAD of them before it waits for any, and has
 * them taken in.
 *
 * Rows need not begin at boundaries: then two loads have what one would, and are shifted. Of every
 * second column two loads have what one would, too (stride2.cuh), or three. */
#pragma once

#include "../load/stride2.cuh"
#include "along.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* ---- loads ---- */

/* Where a thread finds its columns, in rows of one or two reduced dimensions. */
struct column_walk {
    const kernel_axes &x;
    const char *at; /* its next row */
    int64_t hop;    /* bytes from one of its rows to the next, in the inner dimension */
    unsigned count; /* columns that there are */
    uint32_t taken; /* rows */
    uint32_t left;  /* rows of the inner dimension; 0: there is one dimension */

    /* From one of its rows to the next in the outer dimension. */
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

    /* The same of number r from here on, where there is one dimension. */
    __device__ __forceinline__ const char *row(unsigned r) const
    {
        return at + r * hop;
    }
};

/* 16 bytes of 32 of each row, from byte 4 * Word + `rest` on, where elements may begin. */
template <class In, unsigned Word, unsigned Rows>
__device__ __forceinline__ void join_from_word(vec16 (&rows)[Rows], const vec16 (&high)[Rows],
                                               unsigned rest)
{
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        uint32_t words[5];
#pragma unroll
        for (unsigned k = 0; k < 5; k++)
            words[k] = Word + k < 4 ? rows[r].at[Word + k] : high[r].at[(Word + k) % 4];
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            rows[r].at[k] = sizeof(In) < 4 ? moved_down(words[k], words[k + 1], rest) : words[k];
    }
}

/* The two loads at boundaries that have what a thread wants of a row; of the second nothing is read
 * unless there is something in it. */
template <class In, bool Deep, unsigned Rows>
__device__ __forceinline__ void load_shifted(vec16 (&rows)[Rows], column_walk &own)
{
    vec16 high[Rows] = {};
    unsigned begin[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const char *at = Deep ? own.next() : own.row(r);
        begin[r] = unsigned(address_of(at) % sizeof(vec16));
        const vec16 *const words = seen_as<const vec16>(at - begin[r]);
        rows[r] = words[0];
        if (begin[r] + own.count * sizeof(In) > sizeof(vec16))
            high[r] = words[1];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = joined<In>(rows[r], high[r], begin[r]);
}

/* The same of rows that begin at the same byte of 16: one branch chooses among the words of all of
 * them. */
template <class In, unsigned Rows>
__device__ __forceinline__ void load_shifted_alike(vec16 (&rows)[Rows], const column_walk &own)
{
    const unsigned begin = unsigned(address_of(own.at) % sizeof(vec16));
    const bool both = begin + own.count * sizeof(In) > sizeof(vec16);
    vec16 high[Rows] = {};
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const vec16 *const words = seen_as<const vec16>(own.row(r) - begin);
        rows[r] = words[0];
        if (both)
            high[r] = words[1];
    }
    if (begin < 4)
        join_from_word<In, 0>(rows, high, begin);
    else if (sizeof(In) <= 4 && begin < 8)
        join_from_word<In, 1>(rows, high, begin - 4);
    else if (sizeof(In) > 4 || begin < 12)
        join_from_word<In, 2>(rows, high, begin - 8);
    else
        join_from_word<In, 3>(rows, high, begin - 12);
}

template <unsigned Rows>
__device__ __forceinline__ void load_whole(vec16 (&rows)[Rows], const column_walk &own)
{
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = *seen_as<const vec16>(own.row(r));
}

/* The first of them may be an odd element. */
template <class In, unsigned Rows>
__device__ __forceinline__ void load_every_second(vec16 (&rows)[Rows], const column_walk &own)
{
    const bool odd = is_odd(seen_as<const In>(own.at));
    vec16 low[Rows], high[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const vec16 *const words = seen_as<const vec16>(own.row(r) - odd * sizeof(In));
        low[r] = words[0];
        high[r] = words[1];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        take_every_second<In>(low[r].at, high[r].at, odd, rows[r].at);
}

/* 16 bytes of what counts of three packs, of which the first element that does is number `begin`.
 */
template <class In>
__device__ __forceinline__ vec16 joined_every_second(const vec16 (&packs)[3], unsigned begin)
{
    const unsigned skipped = begin / 2 * unsigned(sizeof(In));
    const bool odd = begin % 2;
    vec16 row, last;
    take_every_second<In>(packs[0].at, packs[1].at, odd, row.at);
    take_every_second<In>(packs[2].at, packs[2].at, odd, last.at);
    uint32_t words[6] = {row.at[0], row.at[1], row.at[2], row.at[3], last.at[0], last.at[1]};
#pragma unroll
    for (unsigned k = 0; k < 5 && sizeof(In) <= 4; k++)
        words[k] = skipped & 4 ? words[k + 1] : words[k];
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        row.at[k] = sizeof(In) < 4 ? moved_down(words[k], words[k + 1], skipped % 4) : words[k];
    return row;
}

/* The three loads at boundaries that have what a thread wants of a row. */
template <class In, bool Deep, unsigned Rows>
__device__ __forceinline__ void load_every_second_shifted(vec16 (&rows)[Rows], column_walk &own)
{
    constexpr unsigned size = pack<In>::size;
    vec16 packs[Rows][3] = {};
    unsigned begin[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const char *at = Deep ? own.next() : own.row(r);
        begin[r] = unsigned(address_of(at) % sizeof(vec16) / sizeof(In));
        const vec16 *const words = seen_as<const vec16>(at - begin[r] * sizeof(In));
        packs[r][0] = words[0];
#pragma unroll
        for (unsigned p = 1; p < 3; p++)
            if (begin[r] + 2 * own.count - 1 > p * size)
                packs[r][p] = words[p];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = joined_every_second<In>(packs[r], begin[r]);
}

template <class In, bool Strided>
__device__ __forceinline__ void load_edge(vec16 (&row)[1], column_walk &own)
{
    row[0] = edge_of_row<In, Strided ? 2 : 1>(own.next(), own.count);
}

/* ---- rows ---- */

enum class loads {
    whole,
    shifted,
    shifted_alike,
    every_second,
    every_second_shifted,
    deep, /* shifted or not, of two reduced dimensions */
    deep_every_second
};

template <loads How, class In, unsigned Rows>
__device__ __forceinline__ void load_rows(vec16 (&rows)[Rows], column_walk &own)
{
    constexpr bool deep = How == loads::deep || How == loads::deep_every_second;
    if constexpr (How == loads::shifted || How == loads::deep)
        load_shifted<In, deep>(rows, own);
    else if constexpr (How == loads::shifted_alike)
        load_shifted_alike<In>(rows, own);
    else if constexpr (How == loads::every_second)
        load_every_second<In>(rows, own);
    else if constexpr (How == loads::every_second_shifted || How == loads::deep_every_second)
        load_every_second_shifted<In, deep>(rows, own);
    else
        load_whole(rows, own);
    if constexpr (!deep)
        own.at = own.row(Rows);
}

/* However many are loaded at a time, they are taken in by ROWS_AHEAD, so that results are the same
 * bits as those of unsplit columns. */
template <unsigned Rows, class Columns>
__device__ __forceinline__ void take_in(Columns &columns, const vec16 (&rows)[Rows], uint32_t taken)
{
    constexpr unsigned few = Rows < ROWS_AHEAD ? Rows : unsigned(ROWS_AHEAD);
#pragma unroll
    for (unsigned first = 0; first < Rows; first += few) {
        vec16 some[few];
#pragma unroll
        for (unsigned r = 0; r < few; r++)
            some[r] = rows[first + r];
        columns.take(some, taken + first);
    }
}

/* Rows, and then half as many at a time, as long as there are so many. */
template <unsigned Rows, loads How, class In, class Columns>
__device__ __forceinline__ void take_rest(Columns &columns, column_walk &own, uint32_t left)
{
    if constexpr (Rows > 0) {
        if (left & Rows) {
            vec16 rows[Rows];
            load_rows<How, In>(rows, own);
            take_in(columns, rows, own.taken);
            own.taken += Rows;
        }
        take_rest<Rows / 2, How, In>(columns, own, left);
    }
}

template <unsigned Rows, loads How, class In, class Columns>
__device__ __forceinline__ void take_batches(Columns &columns, column_walk &own, uint32_t end)
{
#pragma unroll 1
    for (; end - own.taken >= Rows; own.taken += Rows) {
        vec16 rows[Rows];
        load_rows<How, In>(rows, own);
        take_in(columns, rows, own.taken);
    }
}

template <unsigned Rows, loads How, class In, class Columns>
__device__ __forceinline__ void take_many(Columns &columns, column_walk &own, uint32_t end)
{
    take_batches<Rows, How, In>(columns, own, end);
    take_rest<Rows / 2, How, In>(columns, own, end - own.taken);
}

/* Of columns of so many bytes two loads of each of 2 * ROWS_AHEAD rows leave no registers. */
constexpr unsigned COLUMNS_LARGE = 128;

/* Whether one more loop has all the registers that it takes: what all threads would leave in memory
 * instead takes a twentieth as long as what they read. */
template <class Columns, class = void>
constexpr bool has_room = true;

template <class Columns>
constexpr bool has_room<Columns, std::void_t<typename Columns::leaves_no_registers>> = false;

/* Whether loads of a row take nothing in front of the array, or after its end. */
template <class In, bool Strided>
__device__ __forceinline__ bool is_inside(const kernel_axes &x, const char *row, unsigned count)
{
    constexpr unsigned size = sizeof(vec16);
    if (!Strided && !x.launch.column.shifted && count == pack<In>::size)
        return true;
    const char *const data = static_cast<const char *>(x.from.data);
    const unsigned odd = Strided && is_odd(seen_as<const In>(row)) ? unsigned(sizeof(In)) : 0,
                   begin = x.launch.column.shifted ? unsigned(address_of(row) % size) : odd,
                   wanted = (Strided ? 2 * count - 1 : count) * unsigned(sizeof(In)),
                   least = Strided && !x.launch.column.shifted ? 2 * size : size,
                   bytes = (begin + wanted + size - 1) / size * size;
    const char *const from = row - begin;
    return from >= data + x.lowest && from + (bytes > least ? bytes : least) <= data + x.end;
}

/* This thread's rows, `end` in number. Of its first row and its last only what there is is read
 * where a load would leave the array. */
template <bool Strided, unsigned Ahead, bool Deep, class In, class Columns>
__device__ __forceinline__ void take_columns(Columns &columns, const kernel_axes &x,
                                             column_walk &own, const char *last, uint32_t end)
{
    constexpr unsigned off =
        Ahead > ROWS_AHEAD && sizeof(Columns) > COLUMNS_LARGE ? unsigned(ROWS_AHEAD) : Ahead;
    const uint32_t inner = end - !is_inside<In, Strided>(x, last, own.count);
    uint32_t edge = !is_inside<In, Strided>(x, own.at, own.count);
#pragma unroll 1
    for (;; edge = end) {
#pragma unroll 1
        for (; own.taken < edge; own.taken++) {
            vec16 row[1];
            load_edge<In, Strided>(row, own);
            columns.take(row, own.taken);
        }
        if (own.taken == end)
            return;
        constexpr unsigned two = Strided ? Ahead / 2 : off; /* loads for one */
        if constexpr (Deep)
            if (x.from.dimensions > 1) {
                take_many<two, Strided ? loads::deep_every_second : loads::deep, In>(columns, own,
                                                                                     inner);
                continue;
            }
        if constexpr (!Strided && has_room<Columns>) /* whole batches; the rest as others */
            if (x.launch.column.shifted && own.hop % int64_t(sizeof(vec16)) == 0)
                take_batches<off, loads::shifted_alike, In>(columns, own, inner);
        if (x.launch.column.shifted)
            take_many<two, Strided ? loads::every_second_shifted : loads::shifted, In>(columns, own,
                                                                                       inner);
        else
            take_many<Ahead, Strided ? loads::every_second : loads::whole, In>(columns, own, inner);
    }
}

} // namespace KERNELS
