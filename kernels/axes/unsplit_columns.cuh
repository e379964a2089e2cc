/* Columns of a known element type that one thread reduces from the first row to the last, in
 * registers. UNSPLIT_LOADS loads are in flight: of the rows of one load's columns or, if rows are
 * few, of several loads' columns.
 *
 * Results are contiguous, like the columns. If they have NumPy's usual type and those of one load
 * take more than 16 bytes, threads of a warp exchange them so that neighboring threads store
 * adjacent pieces; for other folds each thread stores its own states' results. A result may span
 * several columns, whole loads of them.
 *
 * If rows are misaligned, each thread loads the aligned 16 bytes in which its columns begin, and
 * gets those in which they end from its neighbor; a warp's last thread only loads. */
#pragma once

#include "accumulator_minima.cuh"
#include "accumulator_variance.cuh"
#include "along.cuh"
#include "order.cuh"
#include "row_variance.cuh"
#include "short_row.cuh"

namespace KERNELS
{

/* ---- places ---- */

/* A thread's columns: those of one load, as far as they exist. Batches of columns are either whole
 * aligned loads, or each warp has columns of a single batch. */
template <class In, bool Batches>
struct unsplit_vector {
    static constexpr unsigned columns = pack<In>::size;
    const char *at; /* in the first row */
    int64_t place;  /* place of the first result */
    unsigned count;
    bool loads, whole; /* all rows may be loaded; the loads contain all of the thread's columns */

    __device__ __forceinline__ unsplit_vector(const kernel_axes &x, unsigned number)
    {
        const unsigned lane = threadIdx.x % warp_size,
                       together = warp_size - x.launch.column.shifted;
        /* In reverse order: the last block has an edge, which takes long. */
        const uint64_t block = gridDim.x - 1 - blockIdx.x,
                       warp =
                           (block * x.launch.column.unsplit + number) * (blockDim.x / warp_size) +
                           threadIdx.x / warp_size;
        if (!Batches || x.outer.count == 1)
            find(x, 0, (warp * together + lane) * columns, lane < together);
        else if (x.launch.column.shifted)
            find_in_batch_of_warp(x, unsigned(warp), lane);
        else
            find_in_batches(x, warp * warp_size + lane);
    }

  private:
    __device__ __forceinline__ void find_in_batches(const kernel_axes &x, uint64_t pack)
    {
        loads = whole = pack * columns < x.results;
        count = loads ? columns : 0;
        if (x.outer.count == 2) {
            const unsigned packs = unsigned(x.launch.column.packs),
                           all = loads ? unsigned(pack) : 0,
                           outer = packs <= 2 ? all >> (packs - 1) : all / packs;
            const uint64_t column = uint64_t(all - outer * packs) * columns;
            at = static_cast<const char *>(x.from.data) + int64_t(outer) * x.outer.strides[0] +
                 column * sizeof(In);
            place = x.outer.first + int64_t(outer) * x.outer.output_strides[0] + int64_t(column);
            return;
        }
        const result_place result = place_of_result(x, loads ? pack * columns : 0);
        at = static_cast<const char *>(x.from.data) + result.base.data;
        place = result.place;
    }

    /* The last lane has no columns of its own; one lane beyond a batch's end still loads. */
    __device__ __forceinline__ void find_in_batch_of_warp(const kernel_axes &x, unsigned warp,
                                                          unsigned lane)
    {
        constexpr unsigned together = warp_size - 1;
        const unsigned warps = unsigned(x.launch.column.packs + together - 1) / together,
                       batch = warp / warps;
        const uint64_t column = uint64_t((warp - batch * warps) * together + lane) * columns;
        find(x, batch, column, lane < together && batch < x.outer.shape[0]);
        loads = loads && batch < x.outer.shape[0] && column < x.outer.shape[1] + columns;
    }

    /* If rows are misaligned, columns beyond the last are computed, too, but not stored. */
    __device__ __forceinline__ void find(const kernel_axes &x, unsigned batch, uint64_t column,
                                         bool stores)
    {
        const bool several = Batches && x.outer.count > 1;
        const uint64_t length = several ? x.outer.shape[1] : x.results * x.launch.inner,
                       left = length - column;
        at = static_cast<const char *>(x.from.data) + column * sizeof(In);
        place = x.outer.first + int64_t(column);
        if (several) {
            at += int64_t(batch) * x.outer.strides[0];
            place += int64_t(batch) * x.outer.output_strides[0];
        }
        count = !stores || column >= length ? 0 : left < columns ? unsigned(left) : columns;
        loads = whole = count == columns;
        if (x.launch.column.shifted)
            find_boundaries(x);
    }

    /* Set what may be loaded. */
    __device__ __forceinline__ void find_boundaries(const kernel_axes &x)
    {
        const uintptr_t begin = address_of(x.from.data), end = begin + uint64_t(x.end),
                        last = address_of(at) + (x.rows.items - 1) * uint64_t(x.from.strides[0]),
                        lowest = address_of(at) / sizeof(vec16) * sizeof(vec16),
                        highest = last / sizeof(vec16) * sizeof(vec16);
        loads = lowest >= begin && highest + sizeof(vec16) <= end;
        whole = count > 0 && lowest >= begin && highest + 2 * sizeof(vec16) <= end;
    }
};

/* ---- loads ---- */

/* Load the next rows; missing ones are 0. */
template <unsigned Loads, class Pack>
__device__ __forceinline__ void load_unsplit(vec16 (&loaded)[Loads], const kernel_axes &x,
                                             const Pack &vec, uint32_t done)
{
    const int64_t stride = x.from.strides[0];
    const unsigned rows = unsigned(x.rows.items), left = vec.loads && done < rows ? rows - done : 0,
                   misaligned = x.launch.column.shifted ? unsigned(sizeof(vec16)) - 1 : 0;
    const char *row = vec.at + done * stride;
    const auto load = [&](unsigned k) {
        loaded[k] = *pointer_cast<const vec16>(row - (unsigned(address_of(row)) & misaligned));
        row += stride;
    };
    if (left >= Loads) {
#pragma unroll
        for (unsigned k = 0; k < Loads; k++)
            load(k);
        return;
    }
#pragma unroll
    for (unsigned k = 0; k < Loads; k++) {
        loaded[k] = {};
        if (k < left)
            load(k);
    }
}

/* Shift aligned loads into the thread's columns. Called by all threads of a warp. */
template <class In, unsigned Loads, class Pack>
__device__ __forceinline__ void join_shifted(vec16 (&loaded)[Loads], const kernel_axes &x,
                                             const Pack &vec, uint32_t done)
{
    const char *const at = vec.at + done * x.from.strides[0];
#pragma unroll
    for (unsigned k = 0; k < Loads; k++) {
        const unsigned begin = unsigned(address_of(at + k * x.from.strides[0]) % sizeof(vec16));
        vec16 high;
#pragma unroll
        for (unsigned w = 0; w < 4; w++)
            high.at[w] = __shfl_down_sync(whole_warp, loaded[k].at[w], 1);
        loaded[k] = extract_vector<In>(loaded[k], high, begin);
    }
}

/* ---- rows ---- */

/* Accumulate the first Rows rows and move the others up: one copy of code per number of rows. */
template <unsigned Rows, class Columns, unsigned Loads>
__device__ __forceinline__ void accumulate_first(Columns &columns, vec16 (&loaded)[Loads],
                                                 uint32_t &done)
{
    vec16 rows[Rows];
#pragma unroll
    for (unsigned r = 0; r < Rows; r++)
        rows[r] = loaded[r];
    columns.accumulate(rows, done);
    done += Rows;
#pragma unroll
    for (unsigned k = 0; k + Rows < Loads; k++)
        loaded[k] = loaded[k + Rows];
}

/* Accumulate `left` rows: Rows at a time, then half as many, and so on. */
template <unsigned Rows, class Columns, unsigned Loads>
__device__ __forceinline__ void accumulate_batch(Columns &columns, vec16 (&loaded)[Loads],
                                                 uint32_t done, unsigned left)
{
    if constexpr (Rows == Loads) {
        if (left == Rows)
            return accumulate_first<Rows>(columns, loaded, done);
    } else {
#pragma unroll 1
        for (; left >= Rows; left -= Rows)
            accumulate_first<Rows>(columns, loaded, done);
    }
    for_each_static_power<Rows / 2>(
        left, [&](auto rows) { accumulate_first<decltype(rows)::value>(columns, loaded, done); });
}

/* Accumulate rows element by element, if vectorized loads would leave the array. */
template <class In, class Columns, class Pack>
__device__ __forceinline__ void accumulate_edge_rows(Columns &columns, const kernel_axes &x,
                                                     const Pack &vec)
{
#pragma unroll 1
    for (uint32_t k = 0; k < x.rows.items; k++) {
        const vec16 row[1] = {load_edge_row<In>(vec.at + k * x.from.strides[0], vec.count)};
        columns.accumulate(row, k);
    }
}

/* ---- results ---- */

/* Transpose pieces among N neighboring threads of a warp: afterwards, piece k of thread j is the
 * former piece j of thread k. */
template <unsigned N, class T>
__device__ __forceinline__ void transpose_in_warp(T (&pieces)[N])
{
#pragma unroll
    for (unsigned bit = 1; bit < N; bit *= 2) {
        const bool upper = threadIdx.x & bit;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            if (!(k & bit)) {
                const T received = shuffle_xor(upper ? pieces[k] : pieces[k | bit], bit);
                if (upper)
                    pieces[k] = received;
                else
                    pieces[k | bit] = received;
            }
    }
}

/* Store a thread's results, of any type. */
template <class Fold, unsigned Count, class Columns, class Pack>
__device__ __forceinline__ void store_states(const kernel_axes &x, const Columns &columns,
                                             const Pack &vec)
{
    const accumulated_rows all = {uint32_t(x.rows.items)};
    state_of<Fold> states[Count];
#pragma unroll
    for (unsigned c = 0; c < Count; c++)
        states[c] = columns.state(c, all);
    if (vec.count > 0)
        store_results_directly<Fold>(x.result, states, vec.place, vec.count);
}

/* Store a result whose columns span 2^team threads. Called by all threads of a warp. */
template <class Fold, class Columns, class Pack>
__device__ __forceinline__ void store_merged_lanes(const kernel_axes &x, const Columns &columns,
                                                   const Pack &vec)
{
    const unsigned team = x.launch.team;
    state_of<Fold> state[1] = {columns.merge_lanes(uint32_t(x.rows.items))};
#pragma unroll 1
    for (unsigned distance = 1; distance < 1u << team; distance *= 2)
        state[0] = Fold::merge(state[0], shuffle_xor(state[0], distance));
    if (vec.count > 0 && (threadIdx.x & ((1u << team) - 1)) == 0)
        store_results_directly<Fold>(x.result, state,
                                     x.outer.first +
                                         ((vec.place - x.outer.first) >> (x.launch.load + team)));
}

/* Store results of NumPy's usual type. Called by all threads of a warp. */
template <class Fold, class In, unsigned Count, class Columns, class Pack>
__device__ __forceinline__ void store_native(const kernel_axes &x, const row_numbers &numbers,
                                             const Columns &columns, const Pack &vec)
{
    using result = typename row_fold<Fold, In>::result;
    constexpr unsigned piece = Count * sizeof(result) > 16 ? 16 / sizeof(result) : Count,
                       pieces = Count / piece;
    using store = pack<result, piece>;
    using partial_type = decltype(columns.partial(0, 0));
    pack<partial_type, piece> partials[pieces];
    const global<result> results = static_cast<result *>(x.result.at[0]);
#pragma unroll
    for (unsigned c = 0; c < Count; c++)
        partials[c / piece].at[c % piece] = columns.partial(c, uint32_t(x.rows.items));
    transpose_in_warp(partials);
    const unsigned lane = threadIdx.x % warp_size, first = lane % pieces * piece;
#pragma unroll
    for (unsigned k = 0; k < pieces; k++) {
        const unsigned from = lane - lane % pieces + k;
        const unsigned count = pieces > 1 ? __shfl_sync(whole_warp, vec.count, from) : vec.count;
        const global<result> to =
            results + first + (pieces > 1 ? __shfl_sync(whole_warp, vec.place, from) : vec.place);
        store stored;
#pragma unroll
        for (unsigned c = 0; c < piece; c++)
            stored.at[c] = row_fold<Fold, In>::result_of(partials[k].at[c], numbers);
        if (count >= first + piece && address_of(to) % sizeof stored == 0)
            *pointer_cast<store>(to) = stored;
        else
#pragma unroll
            for (unsigned c = 0; c < piece; c++)
                if (first + c < count)
                    to[c] = stored.at[c];
    }
}

template <class Fold, class In, unsigned Count, class Columns, class Pack>
__device__ __forceinline__ void store_columns(const kernel_axes &x, const row_numbers &numbers,
                                              const Columns &columns, const Pack &vec)
{
    if constexpr (stores_native<Fold, In>)
        store_native<Fold, In, Count>(x, numbers, columns, vec);
    else
        store_states<Fold, Count>(x, columns, vec);
}

/* ---- the kernel ---- */

/* Fold the columns of one load: half of the loads are in flight while the other half is
 * accumulated. */
template <class Fold, class In>
__device__ __forceinline__ void fold_unsplit_rows(const kernel_axes &x)
{
    constexpr unsigned loads = UNSPLIT_LOADS / 2, columns = pack<In>::size;
    const unsplit_vector<In, true> vec(x, 0);
    const uint32_t rows = uint32_t(x.rows.items);
    vec16 loaded[2][loads];
#pragma unroll
    for (unsigned h = 0; h < 2; h++)
        load_unsplit<loads>(loaded[h], x, vec, h * loads);
    const row_numbers numbers(x.result);
    inverted_accumulator<result_accumulator<Fold, In>, Fold, In> acc(x.result);
#pragma unroll 1
    for (uint32_t done = 0; done < rows;) {
#pragma unroll
        for (unsigned h = 0; h < 2; h++) {
            if (h > 0 && done >= rows)
                break;
            if (x.launch.column.shifted)
                join_shifted<In>(loaded[h], x, vec, done);
            if (vec.whole)
                accumulate_batch<ROWS_AHEAD>(acc, loaded[h], done,
                                             rows - done < loads ? rows - done : loads);
            load_unsplit<loads>(loaded[h], x, vec, done + 2 * loads);
            done += loads;
        }
    }
    if (!vec.whole && vec.count > 0)
        accumulate_edge_rows<In>(acc, x, vec);
    if constexpr (!is_indexed<Fold>::value)
        if (x.launch.inner > 1)
            return store_merged_lanes<Fold>(x, acc, vec);
    store_columns<Fold, In, columns>(x, numbers, acc, vec);
}

/* Fold the columns of several loads; rows are so few that all loads are in flight together. */
template <class Fold, class In, unsigned Packs>
__device__ __forceinline__ void fold_unsplit_vectors(const kernel_axes &x)
{
    constexpr unsigned loads = UNSPLIT_LOADS / Packs, columns = pack<In>::size;
    using pack_type = unsplit_vector<In, false>;
    const uint32_t rows = uint32_t(x.rows.items);
    vec16 loaded[Packs][loads];
    pack_type vec(x, 0);
    load_unsplit<loads>(loaded[0], x, vec, 0);
#pragma unroll
    for (unsigned p = 1; p < Packs; p++)
        load_unsplit<loads>(loaded[p], x, pack_type(x, p), 0);
    const row_numbers numbers(x.result);
#pragma unroll 1
    for (unsigned p = 0;;) {
        inverted_accumulator<result_accumulator<Fold, In>, Fold, In> acc(x.result);
        if (x.launch.column.shifted)
            join_shifted<In>(loaded[0], x, vec, 0);
        if (vec.whole)
            accumulate_batch<loads>(acc, loaded[0], 0, rows);
        else if (vec.count > 0)
            accumulate_edge_rows<In>(acc, x, vec);
        store_columns<Fold, In, columns>(x, numbers, acc, vec);
        if (++p == Packs)
            return;
        vec = pack_type(x, p);
#pragma unroll
        for (unsigned k = 0; k + 1 < Packs; k++)
#pragma unroll
            for (unsigned j = 0; j < loads; j++)
                loaded[k][j] = loaded[k + 1][j];
    }
}

template <class Fold, class In>
__global__ void __launch_bounds__(UNSPLIT_BLOCK,
                                  UNSPLIT_THREADS(sizeof(state_of<Fold>), sizeof(In)) /
                                      UNSPLIT_BLOCK)
    fold_unsplit_columns(SHARED_PARAMETER(along) x, global<state_of<Fold>>, global<uint64_t>,
                         global<unsigned>)
{
    if (x.launch.column.unsplit == 4)
        fold_unsplit_vectors<Fold, In, 4>(x);
    else if (x.launch.column.unsplit == 2)
        fold_unsplit_vectors<Fold, In, 2>(x);
    else
        fold_unsplit_rows<Fold, In>(x);
}

} // namespace KERNELS
