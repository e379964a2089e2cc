/* Reductions along axes of elements of a known type that may lie anywhere, each loaded by itself,
 * in little code: what is small, and what is neither rows nor columns that other kernels take.
 *
 * Where a result's elements come in short runs, each of a run's places is a column of its own. A
 * block has the columns of some neighbouring results side by side, and several threads a column,
 * which share the runs; then the threads of a result merge what they have. */
#pragma once

#include "along.cuh"
#include "order.cuh"

namespace KERNELS
{

constexpr unsigned threads_of_strided = 1u << STRIDED_BLOCK;

/* Loads under way in a thread. */
template <class In>
constexpr unsigned strided_loads = sizeof(In) > sizeof(uint64_t) ? STRIDED_LOADS / 2
                                                                 : STRIDED_LOADS;

/* Rows of up to two dimensions, all of whose threads take each so many. */
struct strided_rows {
    unsigned count, length; /* of all, and of those of the inner dimension */
    int64_t outer, inner;   /* bytes from one to the next */

    __device__ __forceinline__ strided_rows(const layout_of_few &from, unsigned dimensions)
        : count(1), length(1), outer(0), inner(0)
    {
        if (dimensions > 0) {
            count = length = unsigned(from.shape[dimensions - 1]);
            inner = from.strides[dimensions - 1];
        }
        if (dimensions > 1) {
            count *= unsigned(from.shape[0]);
            outer = from.strides[0];
        }
    }
};

/* Every step-th row of a column, from number k on. Beyond the last the first is loaded again. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold>
fold_column(const kernel_axes &x, const strided_rows &rows, global<const char> column, unsigned k,
            unsigned step, unsigned place, unsigned inner)
{
    constexpr unsigned N = strided_loads<In>;
    const inversion<Fold, In> inverted = {x.result.inverted};
    const unsigned down = step / rows.length, along = step - down * rows.length,
                   i = k / rows.length;
    const int64_t hop = int64_t(down) * rows.outer + int64_t(along) * rows.inner,
                  wrap = rows.outer - int64_t(rows.length) * rows.inner;
    unsigned j = k - i * rows.length;
    int64_t at = int64_t(i) * rows.outer + int64_t(j) * rows.inner;
    state_of<Fold> state = Fold::identity();
    if (rows.length == rows.count) { /* of a long dimension: all are there, at one distance */
        const int64_t pace = int64_t(step) * rows.inner;
        const uint64_t long_enough = uint64_t(4 * N - 1) * step;
#pragma unroll 1
        for (; k + long_enough < rows.count; k += N * step, at += N * pace) {
            const in_steps places = {uint64_t(k) * inner + place, uint64_t(step) * inner};
            In loaded[N];
            value_of<Fold> values[N];
#pragma unroll
            for (unsigned u = 0; u < N; u++)
                loaded[u] = *seen_as<const In>(column + at + u * pace);
#pragma unroll
            for (unsigned u = 0; u < N; u++)
                values[u] = value_of<Fold>(inverted.element(loaded[u]));
            take_values<Fold>(state, values, places, all_valid());
        }
        j = k;
    }
#pragma unroll 1
    while (k < rows.count) {
        const in_steps places = {uint64_t(k) * inner + place, uint64_t(step) * inner};
        In loaded[N];
        uint32_t there = 0;
#pragma unroll
        for (unsigned u = 0; u < N; u++) {
            const bool is_there = k < rows.count;
            loaded[u] = *seen_as<const In>(column + (is_there ? at : 0));
            there |= uint32_t(is_there) << u;
            k += step;
            j += along;
            at += hop;
            if (j >= rows.length) {
                j -= rows.length;
                at += wrap;
            }
        }
        value_of<Fold> values[N];
#pragma unroll
        for (unsigned u = 0; u < N; u++)
            values[u] = value_of<Fold>(inverted.element(loaded[u]));
        take_values<Fold>(state, values, places, valid_bits{there});
    }
    return state;
}

/* The first of `members` threads gets the fold of all their states; of each group that a block has,
 * of which there are so many. By all threads of the block. */
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
__global__ void __launch_bounds__(threads_of_strided, sizeof(state_of<Fold>) > 8 ? 3 : 4)
    fold_strided(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials, global<uint64_t>,
                 global<unsigned> tickets)
{
    const strided_tile &tile = x.launch.strided;
    const unsigned inner = x.launch.inner, lanes = tile.results * inner, row = threadIdx.x / lanes,
                   lane = threadIdx.x - row * lanes, own = lane / inner, place = lane - own * inner,
                   splits = unsigned(x.launch.splits), block = blockIdx.x / splits,
                   split = blockIdx.x - block * splits, members = tile.rows * inner,
                   member = row < tile.rows ? row * inner + place : members;
    const uint64_t result = uint64_t(block) * tile.results + own;
    const bool there = member < members && result < x.results;
    state_of<Fold> state = Fold::identity();
    result_place at = {{0, 0}, 0};
    if (there) {
        const layout_of_few &from = x.from;
        const unsigned dimensions = from.dimensions - (inner > 1);
        at = place_of_result(x, result);
        global<const char> column = static_cast<const char *>(from.data) + at.base.data;
        if (inner > 1)
            column += int64_t(place) * from.strides[dimensions];
        state = fold_column<Fold, In>(x, strided_rows(from, dimensions), column,
                                      split * tile.rows + row, splits * tile.rows, place, inner);
    }
    state = fold_members<Fold>(state, member, members, own, tile.results);
    if (splits > 1) {
        partials += result * splits;
        if (member == 0 && there)
            partials[split] = state;
        if (!is_last_block(tickets + block, splits))
            return;
        state = Fold::identity();
        if (there)
#pragma unroll 4
            for (unsigned k = member; k < splits; k += members)
                state = Fold::merge(state, load_shared_by_all<state_of<Fold>>(partials + k));
        state = fold_members<Fold>(state, member, members, own, tile.results);
    }
    if (member == 0 && there)
        store_at_once<Fold>(x.result, {state}, at.place);
}

} // namespace KERNELS
