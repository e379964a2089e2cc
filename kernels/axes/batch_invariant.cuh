/* Batch-invariant reductions of floats along axes: a result's bits depend only on its own elements,
 * not on the rest of the array, its layout or the launch configuration.
 *
 * The number of shares of a result follows from its length. A share consists of packs of
 * consecutive elements and is reduced in batches of packs; shares merge as a binary tree over their
 * numbers. Which thread reduces a share, and how elements are loaded, is free: neighboring threads
 * have neighboring shares of a result or, if the elements of neighboring results are closer, the
 * same share of neighboring results, and then several shares of each. */
#pragma once

#include "along.cuh"
#include "order.cuh"

namespace KERNELS
{

constexpr unsigned invariant_block_size = 1u << STRIDED_BLOCK;

/* Elements per batch. */
template <class In>
constexpr unsigned batch_elements = sizeof(In) < 4   ? 2 * pack<In>::size
                                    : sizeof(In) > 8 ? STRIDED_LOADS / 2
                                                     : STRIDED_LOADS;

/* The elements of one result, in up to two dimensions. */
template <class In>
struct result_elements {
    global<const char> data;
    unsigned count, length; /* of both dimensions, and of the inner one */
    int64_t outer, inner;   /* strides in bytes */
    bool packed;            /* contiguous and aligned: packs can be loaded */

    __device__ __forceinline__ result_elements(const layout_small &from, int64_t base)
        : data(static_cast<const char *>(from.data) + base), count(1), length(1), outer(0), inner(0)
    {
        if (from.dimensions > 0) {
            count = length = unsigned(from.shape[from.dimensions - 1]);
            inner = from.strides[from.dimensions - 1];
        }
        if (from.dimensions > 1) {
            count *= unsigned(from.shape[0]);
            outer = from.strides[0];
        }
        packed = length == count && inner == int64_t(sizeof(In)) &&
                 address_of(data) % sizeof(pack<In>) == 0;
    }
};

/* Load a full batch: packs that begin `pitch` elements from each other, from element k on. */
template <class In, unsigned N>
__device__ __forceinline__ void load_full_batch(const result_elements<In> &from, unsigned k,
                                                unsigned pitch, In (&loaded)[N])
{
    constexpr unsigned V = pack<In>::size;
    const global<const char> at = from.data + int64_t(k) * from.inner;
    const int64_t pitch_bytes = int64_t(pitch) * from.inner;
#pragma unroll
    for (unsigned p = 0; p < N / V; p++) {
        if (from.packed) {
            const pack<In> together = *pointer_cast<const pack<In>>(at + p * pitch_bytes);
#pragma unroll
            for (unsigned v = 0; v < V; v++)
                loaded[p * V + v] = together.at[v];
        } else {
#pragma unroll
            for (unsigned v = 0; v < V; v++)
                loaded[p * V + v] = *pointer_cast<const In>(at + p * pitch_bytes + v * from.inner);
        }
    }
}

/* Load any batch; returns which elements exist. In place of others the first is loaded. */
template <class In, unsigned N>
__device__ __forceinline__ uint32_t load_partial_batch(const result_elements<In> &from, unsigned k,
                                                       unsigned pitch, In (&loaded)[N])
{
    constexpr unsigned V = pack<In>::size;
    uint32_t present = 0;
#pragma unroll
    for (unsigned p = 0; p < N / V; p++, k += pitch) {
        unsigned i = k / from.length, j = k - i * from.length;
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            const bool exists = k + v < from.count;
            const int64_t at = exists ? int64_t(i) * from.outer + int64_t(j) * from.inner : 0;
            loaded[p * V + v] = *pointer_cast<const In>(from.data + at);
            present |= uint32_t(exists) << (p * V + v);
            if (++j == from.length) {
                j = 0;
                i++;
            }
        }
    }
    return present;
}

/* Fold share number `share` of `shares`. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_share(const inversion<Fold, In> &invert,
                                                     const result_elements<In> &from,
                                                     unsigned share, unsigned shares)
{
    constexpr unsigned N = batch_elements<In>, V = pack<In>::size;
    const unsigned pitch = shares * V;
    const bool flat = from.length == from.count;
    state_of<Fold> state = Fold::identity();
#pragma unroll 1
    for (unsigned k = share * V; k < from.count; k += N / V * pitch) {
        const bool whole = k + (N / V - 1) * pitch + V <= from.count;
        In loaded[N];
        value_of<Fold> values[N];
        uint32_t present = low_bits(N);
        if (whole && flat)
            load_full_batch(from, k, pitch, loaded);
        else
            present = load_partial_batch(from, k, pitch, loaded);
#pragma unroll
        for (unsigned u = 0; u < N; u++)
            values[u] = value_of<Fold>(invert(loaded[u]));
        if (whole)
            accumulate_values<Fold>(state, values, consecutive_positions{0}, all_valid());
        else
            accumulate_values<Fold>(state, values, consecutive_positions{0}, valid_bits{present});
    }
    return state;
}

/* ---- the tree ---- */

/* Fold `count` neighboring shares as a binary tree; of(k) is share k. */
template <class Fold, class F>
__device__ __forceinline__ state_of<Fold> fold_tree(unsigned count, F of)
{
    constexpr unsigned levels = 6;
    static_assert(1u << (levels - 1) >= INVARIANT_LANES, "states that wait");
    state_of<Fold> pending[levels], state = Fold::identity();
#pragma unroll 1
    for (unsigned k = 0; k < count; k++) {
        unsigned level = 0;
        state = of(k);
        for (; k >> level & 1; level++)
            state = Fold::merge(pending[level], state);
        if (k + 1 < count)
            pending[level] = state;
    }
#pragma unroll 1
    for (unsigned left = count & (count - 1); left > 0; left &= left - 1)
        state = Fold::merge(pending[31 - __clz(int(left & (0 - left)))], state);
    return state;
}

/* A thread's place in its block: it has result number `result`, and in it the shares from number
 * `row` << shares on. */
struct invariant_thread {
    unsigned row, rows, result, results;

    __device__ __forceinline__ invariant_thread(const launch_config &launch)
        : rows(((launch.strided.rows - 1) >> launch.strided.shares) + 1),
          results(launch.strided.results)
    {
        const unsigned side = launch.across ? results : rows, far = threadIdx.x / side,
                       near = threadIdx.x - far * side;
        row = launch.across ? far : near;
        result = launch.across ? near : far;
    }

    __device__ __forceinline__ bool is_needed() const
    {
        return row < rows && result < results;
    }
};

/* How many of a result's `count` shares are the thread's: up to 2^each, from row << each on. */
__device__ __forceinline__ unsigned count_shares(const invariant_thread &me, unsigned count,
                                                 unsigned each)
{
    const unsigned first = me.row << each, left = first < count ? count - first : 0;
    return me.is_needed() ? left >> each ? 1u << each : left : 0;
}

/* Merge the states of the first `rows` threads of each result as a binary tree; the result is in
 * its first thread. Called by all threads of the block. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_rows_tree(const invariant_thread &me, unsigned rows,
                                                         state_of<Fold> state)
{
    const shared<state_of<Fold>> states = block_memory<state_of<Fold>>() + me.result;
    const bool exists = me.is_needed() && me.row < rows;
    if (exists && rows > 1)
        states[me.row * me.results] = state;
#pragma unroll 1
    for (unsigned half = 1; half < rows; half *= 2) {
        __syncthreads();
        if (exists && me.row % (2 * half) == 0 && me.row + half < rows) {
            state = Fold::merge(state, states[(me.row + half) * me.results]);
            states[me.row * me.results] = state;
        }
    }
    return state;
}

/* ---- the kernel ---- */

template <class Fold, class In>
__global__ void __launch_bounds__(invariant_block_size, sizeof(state_of<Fold>) > 8 ? 3 : 4)
    fold_batch_invariant(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                         global<uint64_t>, global<unsigned> tickets)
{
    const strided_tile &tile = x.launch.strided;
    const invariant_thread me(x.launch);
    const unsigned splits = unsigned(x.launch.splits), block = blockIdx.x / splits,
                   split = blockIdx.x - block * splits, first = me.row << tile.shares;
    const uint64_t result = uint64_t(block) * tile.results + me.result;
    const bool exists = me.is_needed() && result < x.results;
    state_of<Fold> state = Fold::identity();
    result_place at = {{0, 0}, 0};
    if (exists) {
        at = place_of_result(x, result);
        const result_elements<In> from(x.from, at.base.data);
        const inversion<Fold, In> invert = {x.result.inverted};
        state = fold_tree<Fold>(count_shares(me, tile.rows, tile.shares), [&](unsigned k) {
            return fold_share<Fold, In>(invert, from, split * tile.rows + first + k,
                                        splits * tile.rows);
        });
    }
    state = fold_rows_tree<Fold>(me, me.rows, state);
    if (splits > 1) {
        const unsigned each = 32 - __clz(int((splits - 1) / me.rows));
        partials += result * splits;
        if (me.row == 0 && exists)
            partials[split] = state;
        if (!is_last_block(tickets + block, splits))
            return;
        partials += me.row << each;
        state = fold_tree<Fold>(exists ? count_shares(me, splits, each) : 0, [&](unsigned k) {
            return load_from_l2<state_of<Fold>>(partials + k);
        });
        state = fold_rows_tree<Fold>(me, ((splits - 1) >> each) + 1, state);
    }
    if (me.row == 0 && exists)
        store_results_directly<Fold>(x.result, {state}, at.place);
}

} // namespace KERNELS
