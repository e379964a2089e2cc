/* Reductions along axes of a known element type, at any strides, by one load per element, in little
 * code: for small arrays, and for layouts that are neither rows nor columns of other kernels.
 *
 * If a result's elements come in short runs, each place of a run is a column of its own. A block
 * has the columns of some neighboring results side by side, and several threads per column, which
 * share the runs; then a result's threads merge their states. */
#pragma once

#include "along.cuh"
#include "order.cuh"

namespace KERNELS
{

/* The largest block, and the resident blocks per multiprocessor by the bytes of a state: enough
 * registers for the loads, and no more. */
constexpr unsigned strided_block_size = 1u << STRIDED_BLOCK;
template <unsigned State>
constexpr unsigned strided_blocks = State > 32  ? 3
                                    : State > 8 ? 4
                                                : 5;

/* Loads in flight per thread. */
template <class In>
constexpr unsigned strided_loads = sizeof(In) > sizeof(uint64_t) ? STRIDED_LOADS / 2
                                                                 : STRIDED_LOADS;

/* A thread's share of a column: every step-th row, from row k on. */
struct column_share {
    global<const char> column;
    unsigned k, step;
    unsigned place, inner; /* the column's index in a run of `inner`, for positions */

    __device__ __forceinline__ strided_positions positions() const
    {
        return {uint64_t(k) * inner + place, uint64_t(step) * inner};
    }
};

template <class Fold, class In, class Valid>
__device__ __forceinline__ void
accumulate_loaded(state_of<Fold> &state, const In (&loaded)[strided_loads<In>],
                  const kernel_axes &x, const strided_positions &positions, Valid valid)
{
    const inversion<Fold, In> invert = {x.result.inverted};
    value_of<Fold> values[strided_loads<In>];
#pragma unroll
    for (unsigned u = 0; u < strided_loads<In>; u++)
        values[u] = value_of<Fold>(invert(loaded[u]));
    accumulate_values<Fold>(state, values, positions, valid);
}

/* Fold rows of one dimension. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_column(const kernel_axes &x, column_share share,
                                                      unsigned count, int64_t stride)
{
    constexpr unsigned N = strided_loads<In>;
    const int64_t step_bytes = int64_t(share.step) * stride;
    global<const char> at = share.column + int64_t(share.k) * stride;
    state_of<Fold> state = Fold::identity();
#pragma unroll 1
    for (; share.k + uint64_t(N - 1) * share.step < count; share.k += N * share.step) {
        In loaded[N];
#pragma unroll
        for (unsigned u = 0; u < N; u++, at += step_bytes)
            loaded[u] = *pointer_cast<const In>(at);
        accumulate_loaded<Fold>(state, loaded, x, share.positions(), all_valid());
    }
    In loaded[N] = {};
    uint32_t present = 0;
#pragma unroll
    for (unsigned u = 0; u < N; u++, at += step_bytes)
        if (share.k + u * share.step < count) {
            loaded[u] = *pointer_cast<const In>(at);
            present |= 1u << u;
        }
    if (present)
        accumulate_loaded<Fold>(state, loaded, x, share.positions(), valid_bits{present});
    return state;
}

/* Fold rows of two dimensions. In place of rows beyond the last, the first is loaded. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_column_2d(const kernel_axes &x, column_share share)
{
    constexpr unsigned N = strided_loads<In>;
    const unsigned length = unsigned(x.from.shape[1]), count = length * unsigned(x.from.shape[0]);
    const int64_t outer = x.from.strides[0], inner = x.from.strides[1];
    const unsigned down = share.step / length, along = share.step - down * length,
                   i = share.k / length;
    const int64_t step_bytes = int64_t(down) * outer + int64_t(along) * inner,
                  wrap = outer - int64_t(length) * inner;
    unsigned j = share.k - i * length;
    int64_t at = int64_t(i) * outer + int64_t(j) * inner;
    state_of<Fold> state = Fold::identity();
#pragma unroll 1
    while (share.k < count) {
        const strided_positions positions = share.positions();
        In loaded[N];
        uint32_t present = 0;
#pragma unroll
        for (unsigned u = 0; u < N; u++) {
            const bool exists = share.k < count;
            loaded[u] = *pointer_cast<const In>(share.column + (exists ? at : 0));
            present |= uint32_t(exists) << u;
            share.k += share.step;
            j += along;
            at += step_bytes;
            if (j >= length) {
                j -= length;
                at += wrap;
            }
        }
        accumulate_loaded<Fold>(state, loaded, x, positions, valid_bits{present});
    }
    return state;
}

/* Merge the states of each group of `members` threads as a tree; the result is in the group's first
 * thread. Called by all threads of the block. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_members(state_of<Fold> state, unsigned member,
                                                       unsigned members, unsigned group,
                                                       unsigned groups)
{
    const shared<state_of<Fold>> states = block_memory<state_of<Fold>>() + group;
    if (members == 1)
        return state;
    if (member < members)
        states[member * groups] = state;
#pragma unroll 1
    for (unsigned half = 1u << (31 - __clz(int(members - 1))); half > 0; half /= 2) {
        __syncthreads();
        if (member < half && member + half < members) {
            state = Fold::merge(state, states[(member + half) * groups]);
            states[member * groups] = state;
        }
    }
    return state;
}

template <class Fold, class In>
__global__ void __launch_bounds__(strided_block_size, strided_blocks<sizeof(state_of<Fold>)>)
    fold_strided(SHARED_PARAMETER(along) arguments, global<state_of<Fold>> partials,
                 global<uint64_t>, global<unsigned> tickets)
{
    const kernel_axes &x = loaded<Fold>(arguments);
    const strided_tile &tile = x.launch.strided;
    const unsigned inner = x.launch.inner, lanes = tile.results * inner,
                   row = threadIdx.x * tile.reciprocal >> 16, lane = threadIdx.x - row * lanes,
                   result_in_block = inner == 1 ? lane : lane / inner,
                   place = lane - result_in_block * inner, splits = unsigned(x.launch.splits),
                   block = splits == 1 ? blockIdx.x : blockIdx.x / splits,
                   split = blockIdx.x - block * splits, members = tile.rows * inner,
                   member = row < tile.rows ? row * inner + place : members;
    const uint64_t result = uint64_t(block) * tile.results + result_in_block;
    const bool exists = member < members && result < x.results;
    state_of<Fold> state = Fold::identity();
    result_place at = {{0, 0}, 0};
    if (exists) {
        const layout_small &from = x.from;
        const unsigned dimensions = from.dimensions - (inner > 1);
        at = place_of_result(x, result);
        column_share share = {static_cast<const char *>(from.data) + at.base.data,
                              split * tile.rows + row, splits * tile.rows, place, inner};
        if (inner > 1)
            share.column += int64_t(place) * from.strides[dimensions];
        if (dimensions > 1)
            state = fold_column_2d<Fold, In>(x, share);
        else
            state = fold_column<Fold, In>(x, share, dimensions > 0 ? unsigned(from.shape[0]) : 1,
                                          dimensions > 0 ? from.strides[0] : 0);
    }
    state = fold_members<Fold>(state, member, members, result_in_block, tile.results);
    if (splits > 1) {
        partials += result * splits;
        if (member == 0 && exists)
            partials[split] = state;
        if (!is_last_block(tickets + block, splits))
            return;
        state = Fold::identity();
        if (exists)
#pragma unroll 4
            for (unsigned k = member; k < splits; k += members)
                state = Fold::merge(state, load_from_l2<state_of<Fold>>(partials + k));
        state = fold_members<Fold>(state, member, members, result_in_block, tile.results);
    }
    if (member == 0 && exists)
        store_results_directly<Fold>(x.result, {state}, at.place);
}

} // namespace KERNELS
