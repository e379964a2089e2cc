/* Columns along axes, of elements of a known type: neighbours in memory belong to different
 * results. A thread makes as many of them as 16 bytes have, of COLUMNS_AHEAD rows that it reads
 * before it waits for any; side_by_side.cuh says what it keeps of them. Threads of a block share
 * tall columns among them, and blocks very tall ones.
 *
 * Rows need not begin at boundaries: then two loads have what one would, and are shifted. Of every
 * second column two loads have what one would, too (every_second.cuh), or three. Short rows that
 * lie one after the other are `repeats` to one long row, and what its columns become is folded in
 * the end, as are neighbouring columns of one result. */
#pragma once

#include "along.cuh"
#include "every_second.cuh"
#include "lone_columns.cuh"
#include "side_by_side.cuh"

namespace KERNELS
{

/* ---- loads ---- */

/* Where a thread finds its columns. */
struct column_walk {
    const char *at; /* its next row */
    int64_t hop;    /* bytes from one of its rows to the next */
    unsigned count; /* columns that there are */
    bool wary;      /* loads may have more than these in a row */
    uint32_t taken; /* rows */

    __device__ __forceinline__ void go(unsigned rows)
    {
        at += rows * hop;
        taken += rows;
    }
};

/* The two loads at boundaries that have what a thread wants of a row; of the second nothing is read
 * unless there is something in it. */
template <class In, unsigned Rows>
__device__ __forceinline__ void load_shifted(row_words (&rows)[Rows], const column_walk &own)
{
    row_words high[Rows] = {};
    unsigned begin[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const char *at = own.at + r * own.hop;
        begin[r] = unsigned(address_of(at) % sizeof(row_words));
        const row_words *const words = seen_as<const row_words>(at - begin[r]);
        rows[r] = words[0];
        if (begin[r] + own.count * sizeof(In) > sizeof(row_words))
            high[r] = words[1];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = joined<In>(rows[r], high[r], begin[r]);
}

template <unsigned Rows>
__device__ __forceinline__ void load_whole(row_words (&rows)[Rows], const column_walk &own)
{
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = *seen_as<const row_words>(own.at + r * own.hop);
}

/* The first of them may be an odd element. */
template <class In, unsigned Rows>
__device__ __forceinline__ void load_every_second(row_words (&rows)[Rows], const column_walk &own)
{
    const bool odd = is_odd(seen_as<const In>(own.at));
    const char *const at = own.at - odd * sizeof(In);
    row_words low[Rows], high[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        low[r] = seen_as<const row_words>(at + r * own.hop)[0];
        high[r] = seen_as<const row_words>(at + r * own.hop)[1];
    }
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        take_every_second<In>(low[r].at, high[r].at, odd, rows[r].at);
}

/* 16 bytes of what counts of three packs, of which the first element that does is number `begin`.
 */
template <class In>
__device__ __forceinline__ row_words joined_every_second(const row_words (&packs)[3],
                                                         unsigned begin)
{
    const unsigned skipped = begin / 2 * unsigned(sizeof(In));
    const bool odd = begin % 2;
    row_words row, last;
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
template <class In, unsigned Rows>
__device__ __forceinline__ void load_every_second_shifted(row_words (&rows)[Rows],
                                                          const column_walk &own)
{
    constexpr unsigned size = pack<In>::size;
    row_words packs[Rows][3] = {};
    unsigned begin[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++) {
        const char *at = own.at + r * own.hop;
        begin[r] = unsigned(address_of(at) % sizeof(row_words) / sizeof(In));
        const row_words *const words = seen_as<const row_words>(at - begin[r] * sizeof(In));
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

template <class In, bool Apart>
__device__ __forceinline__ void load_edge(row_words (&row)[1], const column_walk &own)
{
    row[0] = edge_of_row<In, Apart ? 2 : 1>(own.at, own.count);
}

/* ---- rows ---- */

enum class loads { whole, shifted, every_second, every_second_shifted };

template <loads How, class In, unsigned Rows>
__device__ __forceinline__ void load_rows(row_words (&rows)[Rows], const column_walk &own)
{
    if constexpr (How == loads::shifted)
        load_shifted<In>(rows, own);
    else if constexpr (How == loads::every_second)
        load_every_second<In>(rows, own);
    else if constexpr (How == loads::every_second_shifted)
        load_every_second_shifted<In>(rows, own);
    else
        load_whole(rows, own);
}

/* However many are loaded at a time, they are taken in by ROWS_AHEAD, so that results are the same
 * bits as those of lone columns. */
template <unsigned Rows, class Columns>
__device__ __forceinline__ void take_loaded(Columns &columns, const row_words (&rows)[Rows],
                                            uint32_t taken)
{
    constexpr unsigned few = Rows < ROWS_AHEAD ? Rows : unsigned(ROWS_AHEAD);
#pragma unroll
    for (unsigned first = 0; first < Rows; first += few) {
        row_words some[few];
#pragma unroll
        for (unsigned r = 0; r < few; r++)
            some[r] = rows[first + r];
        columns.take(some, taken + first);
    }
}

/* Rows, and then half as many at a time, as long as there are so many. */
template <unsigned Rows, loads How, class Columns, class In>
__device__ __forceinline__ void take_rest(Columns &columns, column_walk &own, uint32_t left)
{
    if constexpr (Rows > 0) {
        if (left & Rows) {
            row_words rows[Rows];
            load_rows<How, In>(rows, own);
            take_loaded(columns, rows, own.taken);
            own.go(Rows);
        }
        take_rest<Rows / 2, How, Columns, In>(columns, own, left);
    }
}

template <unsigned Rows, loads How, class Columns, class In>
__device__ __forceinline__ void take_many(Columns &columns, column_walk &own, uint32_t end)
{
#pragma unroll 1
    for (; end - own.taken >= Rows; own.go(Rows)) {
        row_words rows[Rows];
        load_rows<How, In>(rows, own);
        take_loaded(columns, rows, own.taken);
    }
    take_rest<Rows / 2, How, Columns, In>(columns, own, end - own.taken);
}

/* This thread's rows, `end` in number. Of an array's first row and its last only what there is is
 * read where a load might take more: in front of an array's beginning, or behind its end. */
template <bool Apart, unsigned Ahead, class Columns, class In>
__device__ __forceinline__ void take_columns(Columns &columns, const kernel_axes &x,
                                             column_walk &own, uint32_t end, bool begins, bool ends)
{
    const bool wary = own.wary;
#pragma unroll 1
    for (uint32_t edge = wary && begins;; edge = end) {
#pragma unroll 1
        for (; own.taken < edge; own.go(1)) {
            row_words row[1];
            load_edge<In, Apart>(row, own);
            columns.take(row, own.taken);
        }
        if (own.taken == end)
            return;
        const uint32_t inner = end - (wary && ends);
        if (x.shifted)
            take_many<Apart ? Ahead / 2 : Ahead,
                      Apart ? loads::every_second_shifted : loads::shifted, Columns, In>(
                columns, own, inner);
        else
            take_many<Ahead, Apart ? loads::every_second : loads::whole, Columns, In>(columns, own,
                                                                                      inner);
    }
}

/* ---- places ---- */

/* Batches of rows that are taken for one: a block has columns of one of them. */
__device__ __forceinline__ bool are_batches(const kernel_axes &x)
{
    return x.repeats > 1 && x.kept > 1;
}

/* Which columns a thread has, or a slot. */
struct column_place {
    uint64_t outer; /* in dimensions but the last */
    uint64_t first; /* in the last */

    __device__ __forceinline__ column_place(const kernel_axes &x, uint64_t pack, unsigned columns)
        : outer(x.kept > 1 ? divide(pack, x.packs) : 0), first((pack - outer * x.packs) * columns)
    {
    }

    __device__ __forceinline__ column_place(const kernel_axes &x, unsigned group,
                                            const teammate &me, unsigned columns)
        : column_place(are_batches(x)
                           ? column_place{group, uint64_t(me.result) * columns}
                           : column_place(x, uint64_t(group) * me.teams + me.result, columns))
    {
    }

  private:
    __device__ __forceinline__ column_place(uint64_t outer, uint64_t first)
        : outer(outer), first(first)
    {
    }
};

/* Columns of a row, where several rows are taken for one. */
__device__ __forceinline__ unsigned columns_of_row(const kernel_axes &x)
{
    return unsigned(x.kept > 1 ? x.shape[x.kept - 1] : x.results * x.inner);
}

/* The number of a result among all, of a group's first pack; none is UINT64_MAX. */
template <unsigned Columns>
__device__ __forceinline__ uint64_t result_number(const kernel_axes &x, uint64_t group,
                                                  unsigned number)
{
    if (are_batches(x))
        return group * columns_of_row(x) + number;
    const uint64_t first_pack = group * (blockDim.x >> x.team), first = first_pack * Columns;
    uint64_t result = (x.inner > 1 ? divide(first, x.inner) : first) + number;
    if (x.kept > 1) {
        const column_place at(x, first_pack + number / Columns, Columns);
        const uint64_t column = at.first + number % Columns, length = x.shape[x.kept - 1];
        result = column < length ? at.outer * length + column : UINT64_MAX;
    }
    return result < x.results ? result : UINT64_MAX;
}

/* ---- parts ---- */

/* States of a block's threads in shared memory, column by column: neighbouring threads' are
 * neighbours, in banks of their own however they are read. */
template <class T>
struct column_table {
    shared<T> at;
    unsigned pitch, columns;

    /* Of column number k of the block's. */
    __device__ __forceinline__ unsigned slot(unsigned k) const
    {
        return k % columns * pitch + k / columns;
    }
};

/* Folds `parts` of each of `width` neighbours, by halves; of several parts each thread has one. */
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

/* Elements of rows that are too few for one long row. */
template <bool Apart, class Fold, class In, class T>
__device__ __forceinline__ void take_leftover(const kernel_axes &x, const column_table<T> &table,
                                              uint64_t group)
{
    const uint64_t row = x.rows.items * x.repeats;
    const unsigned columns = columns_of_row(x);
    const int64_t batch = are_batches(x) ? int64_t(group) * x.strides[0] : 0;
    const global<const In> from =
        seen_as<const In>(static_cast<const char *>(x.rows.from.data) + batch +
                          int64_t(x.rows.items) * x.rows.from.strides[0]);
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < x.leftover * columns; k += blockDim.x) {
        const T state = Fold::lift(value_of<Fold>(from[Apart ? 2 * k : k]), row + k / columns);
        table.at[table.slot(k)] = Fold::merge(table.at[table.slot(k)], state);
    }
}

/* What the block has of a result of its own: one of so many parts of it. */
template <class Fold, class T>
__device__ __forceinline__ T fold_parts(const kernel_axes &x, const column_table<T> &table,
                                        unsigned number, unsigned part, unsigned parts)
{
    const unsigned first = number * x.inner, apart = x.repeats > 1 ? columns_of_row(x) : 0;
    T value = table.at[table.slot(first + part / x.inner * apart + part % x.inner)];
#pragma unroll 1
    for (unsigned k = part + parts; k < x.inner * x.repeats; k += parts)
        value = Fold::merge(value, table.at[table.slot(first + k / x.inner * apart + k % x.inner)]);
    return value;
}

/* Parts of results side by side: so many that all threads have one, and no more than there are. */
__device__ __forceinline__ unsigned parts_for(unsigned results, uint64_t most)
{
    unsigned parts = 1;
    while (2 * parts * results <= blockDim.x && 2 * parts <= most)
        parts *= 2;
    return parts;
}

/* Results whose columns are several, if threads suffice: `count` of them, one after the other. */
template <class Fold, class T>
__device__ __forceinline__ void fold_columns_of_results(const kernel_axes &x,
                                                        column_table<T> &table, unsigned count)
{
    const unsigned columns = x.inner * x.repeats, parts = parts_for(count, columns),
                   number = threadIdx.x % count, part = threadIdx.x / count;
    T value = Fold::identity();
    if (part < parts)
        value = fold_parts<Fold>(x, table, number, part, parts);
    table.pitch = 0;
    table.columns = 1;
    __syncthreads();
    if (part < parts)
        table.at[threadIdx.x] = value;
    fold_halves<Fold>(table, count, parts);
}

/* What splits have left of `count` results, so many of them, `apart` from each other. */
template <class Fold, unsigned Columns>
__device__ __forceinline__ column_table<state_of<Fold>>
fold_splits(const kernel_axes &x, uint64_t group, unsigned count, global<state_of<Fold>> partials,
            unsigned splits, unsigned apart)
{
    constexpr unsigned together = COLUMNS_PARTIALS(sizeof(state_of<Fold>));
    const column_table<state_of<Fold>> table = {block_memory<state_of<Fold>>(), 0, 1};
    const unsigned each = parts_for(count, splits);
    const uint64_t step = apart * x.results;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count * each; k += blockDim.x) {
        const uint64_t result = result_number<Columns>(x, group, k % count);
        state_of<Fold> state = Fold::identity();
#pragma unroll 1
        for (unsigned s = k / count; result != UINT64_MAX && s < splits; s += together * each) {
            state_of<Fold> some[together];
#pragma unroll
            for (unsigned u = 0; u < together; u++)
                some[u] = s + u * each < splits ? load_shared_by_all<state_of<Fold>>(
                                                      partials + (s + u * each) * step + result)
                                                : Fold::identity();
#pragma unroll
            for (unsigned apart_by = 1; apart_by < together; apart_by *= 2)
#pragma unroll
                for (unsigned u = 0; u + apart_by < together; u += 2 * apart_by)
                    some[u] = Fold::merge(some[u], some[u + apart_by]);
            state = Fold::merge(state, some[0]);
        }
        table.at[k] = state;
    }
    fold_halves<Fold>(table, count, each);
    return table;
}

/* What of all splits' results the last block of them gets: the last of some neighbours folds what
 * these have left, and the last of all what such have. False for all others. */
template <class Fold, unsigned Columns>
__device__ __forceinline__ bool
exchange_columns(const kernel_axes &x, column_table<state_of<Fold>> &table, uint64_t group,
                 unsigned split, unsigned count, bool made, global<state_of<Fold>> partials,
                 global<unsigned> tickets)
{
    const unsigned all = unsigned(x.splits), few = split / x.neighbours,
                   rest = all - few * x.neighbours, fews = (all + x.neighbours - 1) / x.neighbours;
    unsigned at = split, splits = rest < x.neighbours ? rest : x.neighbours, apart = 1,
             from = few * x.neighbours;
    tickets += group * (fews + 1);
    global<unsigned> ticket = tickets + 1 + few;
#pragma unroll 1
    for (bool last = false;; last = true) {
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
            const uint64_t result = result_number<Columns>(x, group, k);
            if (result != UINT64_MAX)
                partials[at * x.results + result] =
                    made ? table.at[k] : fold_parts<Fold>(x, table, k, 0, 1);
        }
        if (!is_last_block(ticket, splits))
            return false;
        table =
            fold_splits<Fold, Columns>(x, group, count, partials + from * x.results, splits, apart);
        if (last || fews == 1)
            return true;
        made = true;
        at = from;
        splits = fews;
        apart = x.neighbours;
        from = 0;
        ticket = tickets;
    }
}

/* ---- the kernel ---- */

/* Whether what is kept merges by words. */
template <class Columns, class = void>
struct columns_merge : std::false_type {};

template <class Columns>
struct columns_merge<Columns, std::void_t<typename Columns::merges_words>> : std::true_type {};

/* Which part of its columns a thread has, of how many in its block, once those of a warp are one;
 * and which of the block's threads abreast it is. */
struct column_part {
    unsigned number, count, slot;
    bool there;

    __device__ __forceinline__ column_part(const kernel_axes &x, const teammate &me, bool merged)
        : number(me.number), count(1u << x.team), slot(me.result), there(true)
    {
        if (merged && me.teams < warp_size) {
            number = threadIdx.x / warp_size;
            count = blockDim.x / warp_size;
            slot = threadIdx.x % warp_size;
            there = slot < me.teams;
        }
    }
};

/* Calls leave(place) for the parts of an upper half, and then take(place) for those of the lower,
 * half by half, until there is one; of so many threads abreast. */
template <class Leave, class Take>
__device__ __forceinline__ void by_halves(const column_part &part, unsigned teams, Leave leave,
                                          Take take)
{
#pragma unroll 1
    for (unsigned half = part.count / 2; half > 0; half /= 2) {
        const unsigned place = (part.number & (half - 1)) * teams + part.slot;
        if (part.there && part.number >= half && part.number < 2 * half)
            leave(place);
        __syncthreads();
        if (part.there && part.number < half)
            take(place);
        __syncthreads();
    }
}

/* The first of a team's threads in a warp gets what all of them in it have, and then the first of
 * them all. */
template <class Columns>
__device__ __forceinline__ void merge_words(Columns &own, rows_taken &taken, const teammate &me,
                                            const column_part &part)
{
    const shared<uint32_t> words = block_memory<uint32_t>();
    const unsigned pitch = blockDim.x / 2;
    if (taken.count)
        own.number_in_team(taken);
    taken.own = 0;
#pragma unroll 1
    for (unsigned offset = warp_size / 2; offset >= me.teams; offset /= 2)
        merge_with_lane(own, taken, offset);
    by_halves(
        part, me.teams,
        [&](unsigned place) {
            words[place] = taken.count;
            own.merge([&](auto word) {
                words[place += pitch] = uint32_t(word);
                return word;
            });
        },
        [&](unsigned place) {
            taken.count += words[place];
            own.merge([&](auto word) { return decltype(word)(words[place += pitch]); });
        });
}

/* The same of states. */
template <class Fold, class T, unsigned Columns>
__device__ __forceinline__ void fold_team(T (&states)[Columns], const teammate &me,
                                          const column_part &part)
{
    const shared<T> left = block_memory<T>();
    const unsigned pitch = blockDim.x / 2;
    by_halves(
        part, me.teams,
        [&](unsigned place) {
#pragma unroll
            for (unsigned c = 0; c < Columns; c++)
                left[c * pitch + place] = states[c];
        },
        [&](unsigned place) {
#pragma unroll
            for (unsigned c = 0; c < Columns; c++)
                states[c] = Fold::merge(states[c], left[c * pitch + place]);
        });
}

/* Threads of a block at most: such that a multiprocessor has a whole number of blocks, and what
 * they leave each other fits. */
template <class Fold, class In>
constexpr unsigned columns_block(unsigned threads = COLUMNS_BLOCK)
{
    constexpr unsigned state = sizeof(state_of<Fold>), element = sizeof(In);
    return COLUMNS_THREADS(state, element) % threads ||
                   COLUMNS_LEFT(state, element) * threads / 2 > COLUMNS_SHARED
               ? columns_block<Fold, In>(threads / 2)
               : threads;
}

/* Which columns and rows a thread has. */
struct columns_share {
    unsigned group, split; /* the block's */
    uint64_t length;       /* columns of the last dimension */
    column_place place;
    uint64_t step; /* rows from one of its own to the next */

    __device__ __forceinline__ columns_share(const kernel_axes &x, const teammate &me,
                                             unsigned columns)
        : group(x.splits > 1 ? blockIdx.x / unsigned(x.splits) : blockIdx.x),
          split(blockIdx.x - group * unsigned(x.splits)),
          length(x.repeats > 1 ? uint64_t(columns_of_row(x)) * x.repeats
                 : x.kept > 1  ? x.shape[x.kept - 1]
                               : x.results * x.inner),
          place(x, group, me, columns), step(x.splits << x.team)
    {
    }

    /* The first of its columns. */
    __device__ __forceinline__ uint64_t column() const
    {
        return place.outer * length + place.first;
    }

    __device__ __forceinline__ bool is_there(const kernel_axes &x) const
    {
        return place.first < length && column() < x.results * x.inner * x.repeats;
    }
};

/* How many rows a thread has taken in. */
template <bool Apart, unsigned Ahead, class Columns, class In>
__device__ __forceinline__ uint32_t take_rows_of_share(Columns &own, const kernel_axes &x,
                                                       const teammate &me,
                                                       const columns_share &share)
{
    const uint64_t first = (uint64_t(share.split) << x.team) + me.number, rows = x.rows.items,
                   left = share.length - share.place.first;
    constexpr unsigned step = Apart ? 2 : 1;
    if (!share.is_there(x) || first >= rows)
        return 0;
    const int64_t stride = x.rows.from.strides[0], beside = int64_t(step * sizeof(In)),
                  offset = are_batches(x) ? int64_t(share.group) * x.strides[0] +
                                                int64_t(share.place.first) * beside
                           : x.kept > 1   ? place_of_result(x, share.column()).base.data
                                          : int64_t(share.column()) * beside;
    const uint32_t end = uint32_t(divide(rows - first + share.step - 1, share.step));
    const char *const at =
        static_cast<const char *>(x.rows.from.data) + offset + int64_t(first) * stride;
    const bool odd = Apart && (is_odd(seen_as<const In>(at)) ? share.place.first == 0
                                                             : left == Columns::columns);
    column_walk walk = {at, int64_t(share.step) * stride,
                        left < Columns::columns ? unsigned(left) : Columns::columns,
                        x.shifted || odd || left < Columns::columns, 0};
    take_columns<Apart, Ahead, Columns, In>(own, x, walk, end, first == 0,
                                            first + (end - 1) * share.step == rows - 1);
    return end;
}

/* The columns that all of a block's threads have, those of a team as one: the first part's. */
template <bool Apart, class Fold, class In, unsigned Columns>
__device__ __forceinline__ column_table<state_of<Fold>>
bring_columns(const kernel_axes &x, const teammate &me, const state_of<Fold> (&states)[Columns],
              const column_part &part, bool with_leftover, uint64_t group)
{
    const column_table<state_of<Fold>> table = {block_memory<state_of<Fold>>(), me.teams + 1,
                                                Columns};
    if (part.there && part.number == 0)
#pragma unroll
        for (unsigned c = 0; c < Columns; c++)
            table.at[c * table.pitch + part.slot] = states[c];
    __syncthreads();
    if (with_leftover) {
        take_leftover<Apart, Fold, In>(x, table, group);
        __syncthreads();
    }
    return table;
}

/* Whether each thread's states are results, all of them, that few stores take. */
__device__ __forceinline__ bool stores_packs(const kernel_axes &x, const columns_share &share,
                                             unsigned columns)
{
    return x.stores_packs && x.result.at_once && x.result.bytes[0] * columns <= STORED_TOGETHER &&
           (share.group + 1 < gridDim.x || share.length % columns == 0);
}

/* Where a thread's results go, and how many they are. */
struct results_place {
    int64_t place;
    unsigned count;
};

template <class Fold, class In, bool Apart>
__global__ void __launch_bounds__(columns_block<Fold, In>(),
                                  COLUMNS_THREADS(sizeof(state_of<Fold>), sizeof(In)) /
                                      columns_block<Fold, In>())
    fold_columns_of_type(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                         global<uint64_t>, global<unsigned> tickets)
{
    using columns_type = side_by_side<Fold, In>;
    constexpr unsigned columns = columns_type::columns;
    constexpr bool merges = columns_merge<columns_type>::value;
    static_assert(sizeof(In) == 1 ? merges && sizeof(columns_type) + sizeof(uint32_t) <=
                                                  COLUMNS_LEFT(sizeof(state_of<Fold>), 1)
                                  : !merges,
                  "a thread leaves what there is room for");
    const teammate me = place_in_team(x);
    const columns_share share(x, me, columns);
    columns_type own;
    state_of<Fold> states[columns];
    constexpr unsigned ahead = COLUMNS_AHEAD(sizeof(state_of<Fold>), sizeof(In));
    const uint32_t rows = take_rows_of_share<Apart, ahead, columns_type, In>(own, x, me, share);
    if constexpr (Apart)
        if (x.stores_usual) {
            const bool is_there = share.is_there(x);
            const uint64_t left = is_there ? share.length - share.place.first : 0;
            const results_place mine = {
                is_there ? place_of_result(x, share.column()).place : 0,
                left < columns ? unsigned(left) : columns,
            };
            store_lone<Fold, In, columns>(x, row_numbers(x.result), own, mine);
            return;
        }
    rows_taken taken = {uint64_t(share.split) << x.team, share.step, x.team, me.number, rows};
    const column_part part(x, me, merges);
    if constexpr (merges)
        merge_words(own, taken, me, part);
    const bool has_all = !merges || (part.there && part.number == 0);
#pragma unroll
    for (unsigned c = 0; c < columns && has_all; c++) {
        const unsigned repeat = is_indexed<Fold>::value && x.repeats > 1
                                    ? (me.result * columns + c) / columns_of_row(x)
                                    : 0;
        states[c] = own.state(c, taken, x.repeats, repeat);
    }
    if (stores_packs(x, share, columns)) {
        if (share.is_there(x))
            store_run_at_once<Fold>(x.result, states, place_of_result(x, share.column()).place);
        return;
    }
    const unsigned count =
        x.repeats > 1 ? columns_of_row(x) / x.inner : me.teams * columns / x.inner;
    if constexpr (!merges)
        fold_team<Fold>(states, me, part);
    column_table<state_of<Fold>> table = bring_columns<Apart, Fold, In>(
        x, me, states, part, x.leftover && share.split == 0, share.group);
    bool made = x.inner * x.repeats > 1 && count <= blockDim.x;
    if (made)
        fold_columns_of_results<Fold>(x, table, count);
    if (x.splits > 1) {
        if (!exchange_columns<Fold, columns>(x, table, share.group, unsigned(share.split), count,
                                             made, partials, tickets))
            return;
        made = true;
    }
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
        const uint64_t result = result_number<columns>(x, share.group, k);
        if (result != UINT64_MAX)
            store_result<Fold>(x.result, made ? table.at[k] : fold_parts<Fold>(x, table, k, 0, 1),
                               x.result.finish.count, place_of_result(x, result).place);
    }
}

} // namespace KERNELS
