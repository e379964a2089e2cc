/* Long rows of a known element type, at memory bandwidth. A team of 2^team threads of a block
 * computes a result and reads its rows by packs, as the default method reads an array (vector.cuh).
 * Several blocks may share a result, and even a row.
 *
 * Rows may be misaligned. Packs that do not fill a batch are padded to one more batch. The few
 * elements before the first pack and after the last are loaded singly, by different threads, before
 * anything else. For every second element, a pack is assembled from two (stride2.cuh). */
#pragma once

#include "../load/stride2.cuh"
#include "accumulator_minima.cuh"
#include "accumulator_variance.cuh"
#include "along.cuh"
#include "order.cuh"

namespace KERNELS
{

/* The largest block, and the resident blocks per multiprocessor that leave threads enough
 * registers. */
constexpr unsigned rows_block_size = 1u << LONG_ROWS_BLOCK;

template <class Fold, class In, bool Strided>
constexpr unsigned blocks_per_sm = LONG_ROWS_RESIDENT(sizeof(state_of<Fold>), sizeof(In), Strided);

/* ---- a row ---- */

/* One of the threads that share a row, or a stack of rows. */
struct reader {
    unsigned rank, threads;
};

/* The same pack of each row of a stack: its address in the first row, the bytes between rows, and
 * the elements between the packs' positions. */
struct stacked_packs {
    global<const char> at;
    int64_t distance;
    uint64_t step;

    __device__ __forceinline__ vec16 operator[](unsigned i) const
    {
        return *pointer_cast<const vec16>(at + int64_t(i) * distance);
    }
};

/* Vectors per batch, and loads in flight per thread. */
template <class Fold, class In>
constexpr unsigned row_batch_packs = LONG_ROWS_PACKS(sizeof(state_of<Fold>), sizeof(In));

/* A thread's share of a row: the accumulator of its vectors (word by word for narrow elements,
 * which leaves fewer lanes to merge), and the state of all else: single elements, and vectors
 * beyond the accumulator's capacity. */
template <class Fold, class In>
struct row_accumulator {
    static constexpr unsigned words = sizeof(In) < sizeof(uint32_t) ? 1 : 4, parts = 4 / words;
    using accumulator_type = accumulator<Fold, In, words>;
    inverted_accumulator<accumulator_type, Fold, In> lanes;
    inversion<Fold, In> invert;
    uint32_t count = 0; /* parts of vectors in lanes */
    state_of<Fold> state = Fold::identity();

    __device__ __forceinline__ explicit row_accumulator(const kernel_results &results)
        : lanes(results), invert{results.inverted}
    {
    }

    template <unsigned N>
    __device__ __forceinline__ void accumulate(const vec16 (&loaded)[N], unsigned valid)
    {
        pack<uint32_t, words> all[N * parts];
        memcpy(all, loaded, sizeof all);
        lanes.accumulate(all, count, valid * parts);
        count += valid * parts;
    }

    __device__ __forceinline__ void accumulate_single(In x, uint64_t position)
    {
        state = Fold::merge(state, Fold::lift(value_of<Fold>(invert(x)), position));
    }

    __device__ __forceinline__ bool is_full() const
    {
        return count > ROWS_PER_BLOCK - 2 * parts * row_batch_packs<Fold, In>;
    }

    /* Merge the accumulator into the state and reset it. Vector k begins at first + k * pitch. */
    __device__ __forceinline__ void flush(uint64_t first, uint64_t pitch)
    {
        const auto all = lanes.merge_lanes(count);
        if constexpr (is_indexed<Fold>::value) {
            const uint64_t position = first + all.number / parts * pitch +
                                      all.number % parts * lanes_of<In, words> + all.lane;
            if (count)
                state = Fold::merge(state, Fold::lift(value_of<Fold>(all.value), position));
        } else {
            state = count ? Fold::merge(state, all) : state;
        }
        static_cast<accumulator_type &>(lanes) = accumulator_type();
        count = 0;
    }
};

/* The element that pads batches without changing the state: -0 for sums; for extremes the worst
 * element, at positions after all others; zero for folds that use the number of valid elements. */
template <class Fold, class In>
__device__ __forceinline__ In neutral_element()
{
    using V = value_of<Fold>;
    if constexpr (std::is_same_v<Fold, sum<V>> && !std::is_same_v<In, boolean>) {
        constexpr In zero = ends<In>::negative_zero;
        return zero;
    } else if constexpr (std::is_same_v<Fold, min<V>> || std::is_same_v<Fold, argmin<V>>) {
        constexpr In greatest = ends<In>::greatest;
        return greatest;
    } else {
        In element = {}; /* for nanargmin, a NaN */
        if constexpr (std::is_same_v<Fold, nanargmin<V>>)
            memset(&element, 0xff, sizeof element);
        return element;
    }
}

/* Accumulate vectors rank, rank + threads, ... below `count`; vector 0 begins at position `first`.
 * In the last batch, loads beyond the end repeat the last vector, since conditional loads would
 * wait for each other. A batch is full for all threads or for none. If not `even`, neighboring rows
 * may differ by a vector; then no thread takes the last batch as a full one, so that a warp does
 * not diverge. */
template <class Fold, class In, class Packs>
__device__ __forceinline__ void accumulate_row_packs(row_accumulator<Fold, In> &acc,
                                                     const Packs &packs, unsigned count,
                                                     const reader &me, uint64_t first, bool even)
{
    constexpr unsigned N = row_batch_packs<Fold, In>;
    const uint64_t pitch = uint64_t(me.threads) * packs.step;
    const unsigned batch = N * me.threads, ahead = count + even + me.rank,
                   stop = ahead > batch ? ahead - batch : 0;
    unsigned i = me.rank, start = i;
#pragma unroll 1
    for (; i < stop; i += batch) {
        vec16 loaded[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            loaded[k] = packs[i + k * me.threads];
        if (acc.is_full()) {
            acc.flush(first + uint64_t(start) * packs.step, pitch);
            start = i;
        }
        acc.accumulate(loaded, N);
    }
    if (i < count) {
        vec16 loaded[N];
        unsigned valid = 1;
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const unsigned at = i + k * me.threads;
            loaded[k] = packs[at < count ? at : count - 1];
        }
#pragma unroll
        for (unsigned k = 1; k < N; k++) {
            const bool exists = i + k * me.threads < count;
            const vec16 none = broadcast_vector(neutral_element<Fold, In>());
#pragma unroll
            for (unsigned w = 0; w < 4; w++)
                loaded[k].at[w] = exists ? loaded[k].at[w] : acc.invert.of_word(none.at[w], w);
            valid += exists;
        }
        acc.accumulate(loaded, valid);
    }
    if (is_indexed<Fold>::value)
        acc.flush(first + uint64_t(start) * packs.step, pitch);
}

/* The consecutive packs of a row, and its single elements. */
template <class In, bool Strided>
struct row_packs : aligned_packs<In> {
    using aligned_packs<In>::aligned_packs;
    static constexpr unsigned step = pack<In>::size;

    __device__ __forceinline__ vec16 operator[](unsigned i) const
    {
        return pointer_cast<const vec16>(this->packs)[i];
    }
};

template <class In>
struct row_packs<In, true> : strided_packs<In> {
    using strided_packs<In>::strided_packs;
    static constexpr unsigned step = pack<In>::size;

    __device__ __forceinline__ vec16 operator[](unsigned i) const
    {
        return load_every_second<In>(this->packs, i, this->odd);
    }
};

/* The maximum number of elements before a row's first pack and after its last. */
template <class In, bool Strided>
constexpr unsigned max_singles = 2 * (pack<In>::size - 1) + Strided;

/* How many of them a thread loads first: all of its own if 8 threads share the row. */
template <class In, bool Strided>
constexpr unsigned early_singles = max_singles<In, Strided> / 8 + 1;

/* Accumulate n elements from `position` on: consecutive ones, or every second. */
template <bool Strided, class Fold, class In>
__device__ __forceinline__ void accumulate_row(row_accumulator<Fold, In> &acc,
                                               global<const In> data, uint64_t n, const reader &me,
                                               uint64_t position)
{
    constexpr unsigned step = Strided ? 2 : 1, ahead = early_singles<In, Strided>;
    const row_packs<In, Strided> x(data, n);
    const unsigned singles = unsigned(x.head + (n - x.tail));
    In early[ahead] = {};
#pragma unroll
    for (unsigned k = 0; k < ahead; k++)
        if (me.rank + k * me.threads < singles)
            early[k] = data[x.single(me.rank + k * me.threads) * step];
    if constexpr (max_singles < In, Strided >> ahead)
        if (me.threads * ahead < max_singles<In, Strided>)
#pragma unroll 1
            for (unsigned k = me.rank + ahead * me.threads; k < singles; k += me.threads) {
                const uint64_t at = x.single(k);
                acc.accumulate_single(data[at * step], position + at);
            }
    accumulate_row_packs<Fold, In>(acc, x, unsigned(x.count), me, position + x.head, singles == 0);
#pragma unroll
    for (unsigned k = 0; k < ahead; k++)
        if (me.rank + k * me.threads < singles)
            acc.accumulate_single(early[k], position + x.single(me.rank + k * me.threads));
}

/* ---- a result ---- */

/* Accumulate this thread's share of a stack of rows, which are whole packs at a constant distance:
 * the same pack of some of the rows. */
template <class Fold, class In>
__device__ __forceinline__ void accumulate_stack(row_accumulator<Fold, In> &acc,
                                                 const kernel_axes &x, unsigned rank,
                                                 const reader &me, global<const char> data)
{
    const layout_small &from = x.from;
    const uint64_t n = from.shape[1], first = uint64_t(rank) * pack<In>::size;
    if (first < n)
        accumulate_row_packs<Fold, In>(
            acc, stacked_packs{data + rank * sizeof(vec16), from.strides[0], n},
            unsigned(x.rows.items), me, x.rows.base + first, true);
}

/* The rows of a result, of n elements each; or, for a list of arrays, the first of its tiles. */
struct result_rows {
    global<const char> data;
    uint64_t n, items, position;
    global<const list_tile> others;
};

/* Fold this thread's share of a result's rows. Groups of `readers` threads take a row each; all
 * threads share each row if there is only one group. */
template <class Fold, class In, bool Strided>
__device__ __forceinline__ state_of<Fold> fold_typed_rows(const kernel_axes &x, unsigned rank,
                                                          const result_rows &rows)
{
    const layout_small &from = x.from;
    const unsigned inner = from.dimensions - 1, readers = x.launch.long_row.readers,
                   threads = unsigned(x.launch.splits) << x.launch.team;
    const bool together = readers == threads;
    const unsigned groups = together ? 1 : threads / readers, group = together ? 0 : rank / readers;
    const reader me = {rank - group * readers, readers};
    uint64_t n = rows.n, position = rows.position;
    global<const char> data = rows.data;
    row_accumulator<Fold, In> acc(x.result);
    if constexpr (!Strided && !is_indexed<Fold>::value) {
        if (x.launch.long_row.stacked) {
            accumulate_stack<Fold, In>(acc, x, me.rank, reader{group, groups}, data);
            acc.flush(0, 0);
            return acc.state;
        }
    }
#pragma unroll 1
    for (uint64_t row = group; row < rows.items; row += groups) {
        int64_t at = 0;
        if (!rows.others) {
            at = inner == 0 ? 0 : offsets_of(from, inner, row).data;
        } else if (row > 0) {
            const list_tile &tile = rows.others[row - 1];
            data = static_cast<const char *>(tile.data);
            n = tile.n;
            position = tile.position - row * n;
        }
        const global<const In> first = pointer_cast<const In>(data + at);
        accumulate_row<Strided>(acc, first, n, me, position + row * n);
    }
    if (!is_indexed<Fold>::value)
        acc.flush(0, 0);
    return acc.state;
}

/* Store this block's partial result. The last of the blocks that share the result merges all of
 * them and returns true; the others return false. */
template <class Fold>
__device__ __forceinline__ bool
exchange_rows(unsigned splits, unsigned split, state_of<Fold> &state,
              global<state_of<Fold>> partials, global<unsigned> ticket)
{
    if (threadIdx.x == 0)
        partials[split] = state;
    if (!is_last_block(ticket, splits))
        return false;
    state = fold_partials<Fold>(partials, splits);
    if (splits > warp_size) {
        state = block_fold<Fold>(state);
    } else {
#pragma unroll 1
        for (unsigned offset = warp_size / 2; offset > 0; offset /= 2)
            if (offset < splits)
                state = Fold::merge(state, shuffle_down(state, offset));
    }
    return true;
}

/* This block's number among those that share a result, and where their partial results are. */
struct result_share {
    unsigned splits, split;
    uint64_t result, first;
};

/* ---- the kernel ---- */

template <class Fold, class In, bool Strided>
__global__ void __launch_bounds__(rows_block_size, blocks_per_sm<Fold, In, Strided>)
    fold_rows_of_type(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials, global<uint64_t>,
                      global<unsigned> tickets)
{
    const team_member me = place_in_row(x, threadIdx.x);
    const global<const list_tile> tile = !Strided && x.list ? x.list + blockIdx.x : nullptr;
    const unsigned team = x.launch.team, splits = unsigned(x.launch.splits);
    const unsigned group = splits == 1 ? blockIdx.x : blockIdx.x / splits,
                   split = blockIdx.x - group * splits;
    const uint64_t result = uint64_t(group) * me.teams + me.result;
    state_of<Fold> state = Fold::identity();
    int64_t place = 0;
    const bool exists = result < x.results;
    if (exists) {
        result_rows rows;
        if (tile) {
            rows = {static_cast<const char *>(tile->data), tile->n, uint64_t(tile->more) + 1,
                    tile->position, x.list + tile->next};
        } else {
            const result_place at = place_of_result(x, result);
            rows = {static_cast<const char *>(x.from.data) + at.base.data,
                    x.from.shape[x.from.dimensions - 1], x.rows.items, x.rows.base, nullptr};
            place = at.place;
        }
        state = fold_typed_rows<Fold, In, Strided>(x, split << team | me.number, rows);
    }
    state = team_fold<Fold>(x, me, state);
    result_share share = {splits, split, result, result * splits};
    kernel_results results = x.result;
    if (tile) {
        share = {tile->blocks, blockIdx.x - tile->first, tile->result, tile->first};
        place = tile->result;
        results.finish.count = tile->count;
        results.divisor = results.divisor != 0 ? double(tile->count) : 0;
    }
    if (share.splits > 1 && !exchange_rows<Fold>(share.splits, share.split, state,
                                                 partials + share.first, tickets + share.result))
        return;
    if (me.number == 0 && exists)
        store_results_directly<Fold>(results, {state}, place);
}

} // namespace KERNELS
