/* Column reductions of a known element type: adjacent elements belong to different results. A
 * thread reduces as many columns as 16 bytes hold, by the loads of column_rows.cuh into an
 * accumulator (accumulator.cuh). The threads of a block share tall columns, and blocks share very
 * tall ones (column_tables.cuh).
 *
 * Short contiguous rows are coalesced to one long row, whose columns are merged at the end, as are
 * adjacent columns of one result. If every second column counts, those in between are computed, but
 * belong to no result. */
#pragma once

#include "accumulator_variance.cuh"
#include "column_rows.cuh"
#include "column_tables.cuh"

namespace KERNELS
{

template <class Columns>
constexpr bool columns_merge = std::is_base_of_v<merges_words, Columns>;

/* Merge the words of a team's threads: first within each warp, then across warps, into the team's
 * first thread. */
template <class Columns>
__device__ __forceinline__ void merge_words(Columns &acc, accumulated_rows &accumulated,
                                            const team_member &me, const column_part &part)
{
    const shared<uint32_t> words = block_memory<uint32_t>();
    const unsigned pitch = blockDim.x / 2;
    if (accumulated.count)
        acc.number_in_team(accumulated);
    accumulated.rank = 0;
#pragma unroll 1
    for (unsigned offset = warp_size / 2; offset >= me.teams; offset /= 2) {
        acc.merge([&](auto word) { return __shfl_down_sync(whole_warp, word, offset); });
        accumulated.count += __shfl_down_sync(whole_warp, accumulated.count, offset);
    }
#pragma unroll 1
    for (unsigned half = part.count / 2; half > 0; half /= 2) {
        unsigned place = (part.number & (half - 1)) * me.teams + part.slot;
        if (part.exists && part.number >= half && part.number < 2 * half) {
            words[place] = accumulated.count;
            acc.merge([&](auto word) {
                words[place += pitch] = uint32_t(word);
                return word;
            });
        }
        __syncthreads();
        if (part.exists && part.number < half) {
            accumulated.count += words[place];
            acc.merge([&](auto word) { return decltype(word)(words[place += pitch]); });
        }
        __syncthreads();
    }
}

/* A block's share of the columns and rows. */
struct block_share {
    unsigned group, split;
    uint64_t step; /* rows from one of a thread's to the next */

    __device__ __forceinline__ explicit block_share(const kernel_axes &x)
        : group(x.launch.splits > 1 ? blockIdx.x / unsigned(x.launch.splits) : blockIdx.x),
          split(blockIdx.x - group * unsigned(x.launch.splits)),
          step(x.launch.splits << x.launch.team)
    {
    }
};

/* The thread's place, recomputed after the rows have been read to save registers meanwhile. If a
 * multiprocessor has 512 threads, there are enough registers to keep it. */
template <class Fold, class In>
__device__ __forceinline__ team_member recompute_place(const kernel_axes &x)
{
    constexpr bool kept = COLUMNS_THREADS(sizeof(state_of<Fold>), sizeof(In)) <= 512;
    return place_in_team(x, kept ? threadIdx.x : opaque_value(threadIdx.x));
}

/* Accumulate a thread's rows and return how many there were. With two reduced dimensions, the
 * thread takes all rows of the inner one for each of its indices in the outer one. */
template <unsigned Ahead, bool Nested, class In, class Columns>
__device__ __forceinline__ uint32_t accumulate_rows(Columns &acc, const kernel_axes &x)
{
    constexpr unsigned columns = Columns::columns;
    const team_member me = place_in_team(x);
    const block_share share(x);
    const column_place place = place_of_pack(x, share.group, me.result, columns);
    const uint64_t rows = x.rows.items,
                   first = (uint64_t(share.split) << x.launch.team) + me.number;
    if (!place.exists(x) || first >= rows)
        return 0;
    const uint64_t turns = (rows - first + share.step - 1) >> x.launch.team;
    const uint32_t count = uint32_t(x.launch.splits > 1 ? turns / x.launch.splits : turns);
    const int64_t stride = x.from.strides[0];
    const char *const at = static_cast<const char *>(x.from.data) +
                           place.at(x, sizeof(In)).base.data + int64_t(first) * stride;
    row_cursor walk = {x, at, int64_t(share.step) * stride, place.count(columns), 0, 0};
    uint32_t end = count;
    const char *last = at + int64_t(count - 1) * walk.outer_hop();
    if (Nested && x.from.dimensions > 1) {
        walk.stride = x.from.strides[1];
        walk.left = uint32_t(x.from.shape[1]);
        end *= walk.left;
        last += int64_t(walk.left - 1) * walk.stride;
    }
    accumulate_columns<Ahead, Nested, In>(acc, walk, last, end);
    return end;
}

/* Bring the states of the first parts to shared memory, after words have been merged. */
template <class T, unsigned Columns>
__device__ __forceinline__ column_table<T>
store_merged(const kernel_axes &x, const T (&states)[Columns], const team_member &me,
             const column_part &part)
{
    const column_table<T> table = {block_memory<T>(), me.teams + 1, x.launch.load};
    if (part.exists && part.number == 0)
#pragma unroll
        for (unsigned c = 0; c < Columns; c++)
            table.at[c * table.pitch + part.slot] = states[c];
    __syncthreads();
    return table;
}

/* Whether threads store their own columns' results: if that takes few stores, or if using shared
 * memory would cost more, for large states or for recomputing each result's place. */
template <class Fold>
__device__ __forceinline__ bool stores_packs(const kernel_axes &x, unsigned columns)
{
    return x.launch.column.stores_packs &&
           (sizeof(state_of<Fold>) > sizeof(uint64_t) || x.outer.count > 1 ||
            x.result.bytes[0] * columns <= STORE_BYTES_MAX);
}

/* Compute the states of a thread's columns. */
template <class Columns, unsigned Ahead, class Fold, class In, unsigned N>
__device__ __forceinline__ void compute_states(state_of<Fold> (&states)[N], const kernel_axes &x)
{
    Columns acc(x.result);
    const uint32_t rows = accumulate_rows<Ahead, !is_indexed<Fold>::value, In>(acc, x);
    const team_member me = recompute_place<Fold, In>(x);
    const block_share share(x);
    accumulated_rows accumulated = {rows,       uint64_t(share.split) << x.launch.team,
                                    share.step, x.launch.team,
                                    me.number,  unsigned(x.launch.column.coalesced)};
    constexpr bool merges = columns_merge<Columns>;
    const column_part part(x, me);
    if constexpr (merges)
        merge_words(acc, accumulated, me, part);
    const bool has_all = !merges || (part.exists && part.number == 0);
#pragma unroll
    for (unsigned c = 0; c < N && has_all; c++) {
        if (is_indexed<Fold>::value && x.launch.column.coalesced > 1)
            accumulated.part = (me.result * N + c) / unsigned(columns_per_row(x));
        states[c] = acc.state(c, accumulated);
    }
}

template <class Fold, class In>
__global__ void __launch_bounds__(COLUMNS_BLOCK,
                                  COLUMNS_THREADS(sizeof(state_of<Fold>), sizeof(In)) /
                                      COLUMNS_BLOCK)
    fold_columns_of_type(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                         global<uint64_t>, global<unsigned> tickets)
{
    using columns_type = inverted_accumulator<accumulator<Fold, In>, Fold, In>;
    constexpr unsigned columns = columns_type::columns;
    constexpr bool merges = columns_merge<columns_type>;
    static_assert(!merges || sizeof(columns_type) + sizeof(uint32_t) <=
                                 COLUMNS_MERGE_BYTES(sizeof(state_of<Fold>), sizeof(In)),
                  "the words of a thread fit");
    state_of<Fold> states[columns];
    constexpr unsigned ahead = COLUMNS_AHEAD(sizeof(state_of<Fold>));
    compute_states<columns_type, ahead, Fold, In>(states, x);
    const team_member me = recompute_place<Fold, In>(x);
    const block_share share(x);
    if (stores_packs<Fold>(x, columns)) {
        const column_place place = place_of_pack(x, share.group, me.result, columns);
        if (place.exists(x))
            store_results_directly<Fold>(x.result, states, place.at(x, 0).place,
                                         place.count(columns));
        return;
    }
    column_table<state_of<Fold>> table;
    if constexpr (merges)
        table = store_merged(x, states, me, column_part(x, me));
    else
        table = fold_teams<Fold>(x, states);
    const unsigned span = x.launch.column.span, count = x.launch.column.results;
    table.per_result = columns_per_result(x);
    table.first = span ? unsigned(index_in_batch(x, share.group, 0).number) * span % columns : 0;
    if (x.launch.column.leftover && share.split == 0) {
        accumulate_leftover<Fold, In>(x, table, share.group);
        __syncthreads();
    }
    if (x.launch.inner * x.launch.column.coalesced > 1)
        fold_result_columns<Fold>(x, table);
    if (x.launch.splits > 1 &&
        !exchange_columns<Fold>(x, table, share.group, share.split, partials, tickets))
        return;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) {
        const uint64_t result = result_index<columns>(x, share.group, k, count);
        if (result != UINT64_MAX)
            store_results_directly<Fold>(x.result, {table.result(k)},
                                         place_of_result(x, result).place);
    }
}

} // namespace KERNELS
