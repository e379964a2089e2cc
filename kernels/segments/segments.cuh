/* Segmented reductions. Segments may have any lengths, most of them short and a few very long, so
 * blocks share elements and not segments: each takes a tile of the merged sequence of elements and
 * segment ends (struct kernel_segments), and folds each segment's part in it (scanned.cuh).
 * Segments that span several tiles leave a state in each, which another launch merges, always in
 * the same order.
 *
 * This requires sorted offsets, which a first launch checks on the device. If they are not, and for
 * small arrays, a team reduces each segment, and a block each long one.
 *
 * The tiles are those of Merrill and Garland, "Merge-based parallel sparse matrix-vector
 * multiplication", SC 2016. */
#pragma once

#include "../axes/along.cuh"
#include "../load/copies.cuh"
#include "ragged.cuh"

namespace KERNELS
{

/* ---- the survey ---- */

/* A block checks SURVEY_BLOCK ends, and finds the tiles that begin after the end before them and no
 * later than the last of them. */
__global__ void survey_segments(SHARED_PARAMETER(ragged) x)
{
    const shared<uint64_t> places = block_memory<uint64_t>();
    const uint64_t first = uint64_t(blockIdx.x) * SURVEY_BLOCK, left = x.of.count - first;
    const unsigned count = left < SURVEY_BLOCK ? unsigned(left) : unsigned(SURVEY_BLOCK);
    bool unsorted = false;
    allow_next_launch();
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const uint64_t k = first + j, end = end_of_segment(x.of, k);
        unsorted |= !segment_is_within(&x.of, k) || uint64_t(x.of.offsets[k]) > end;
        places[j] = end + k;
    }
    unsorted = __syncthreads_or(unsorted);
    if (unsorted && threadIdx.x == 0)
        atomicOr(x.order, unsigned(OFFSETS_INVALID));
    if (unsorted)
        return;
    const uint64_t begin = first ? (uint64_t(x.of.offsets[first]) + first - 1) / x.tile + 1 : 0,
                   last = places[count - 1] / x.tile;
    for (uint64_t t = begin + threadIdx.x; t <= last; t += blockDim.x)
        x.splits[t] =
            first + partition_point(count, [&](unsigned k) { return places[k] < t * x.tile; });
    if (left == count && threadIdx.x == 0)
        x.splits[x.tiles] = x.of.count;
}

/* ---- one by one ---- */

/* The input of one result: a segment's elements, or states. */
struct work_item {
    uint64_t parts; /* elements or states; may be 0 */
    uint64_t first; /* index of the first part */
    uint64_t n, k;  /* elements and number of the segment */
    bool exists;
};

/* A whole segment; one outside of the array has no elements. */
__device__ __forceinline__ work_item whole_segment(const ragged &x, uint64_t k)
{
    work_item item = {0, 0, 0, k, k < x.of.count};
    if (!item.exists)
        return item;
    if (segment_is_within(&x.of, k)) {
        const segment found = segment_at(&x.of, k);
        item.first = found.start;
        item.parts = item.n = found.n;
    } else if (x.result.findings) {
        atomicOr(x.result.findings, unsigned(FOUND_OUTSIDE));
    }
    return item;
}

/* The states of a segment that spans several tiles: the tails of all but the last tile, and the
 * head of the last. The segment is identified by the tile in which it ends. */
__device__ __forceinline__ work_item carried_segment(const ragged &x, uint64_t number)
{
    work_item item = {0, 0, 0, 0, false};
    if (number >= x.tiles)
        return item;
    const segment_tile tile(x, number, x.splits[number], x.splits[number + 1]);
    const first_segment first(x, tile);
    if (!first.is_continued || tile.ends == 0)
        return item;
    item.exists = true;
    item.k = tile.segment;
    item.n = end_of_segment(x.of, item.k) - first.begins;
    item.first = (first.begins + item.k) / x.tile;
    item.parts = number - item.first + 1;
    return item;
}

template <class Fold>
__device__ __forceinline__ void
merge_parts(state_of<Fold> &state, const work_item &item, global<const state_of<Fold>> heads,
            global<const state_of<Fold>> tails, unsigned number, unsigned team)
{
    const uint64_t last = item.parts - 1;
#pragma unroll 4
    for (uint64_t k = number; k < item.parts; k += 1u << team)
        state = Fold::merge(state, k < last ? tails[item.first + k] : heads[item.first + last]);
}

/* Fold the states of a team; the result is in its first thread. A team of more than a warp is a
 * block. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_team_or_block(unsigned team, state_of<Fold> state)
{
    const shared<state_of<Fold>> warp_states = block_memory<state_of<Fold>>();
    state = fold_team<Fold>(team < 5 ? team : 5, state);
    if (team <= 5)
        return state;
    if (threadIdx.x % warp_size == 0)
        warp_states[threadIdx.x / warp_size] = state;
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 1
        for (unsigned warp = 1; warp < blockDim.x / warp_size; warp++)
            state = Fold::merge(state, warp_states[warp]);
    return state;
}

/* Most segments that span tiles have two states, and few have more than a handful. */
constexpr unsigned carried_team = 2, max_carried_parts = 16 << carried_team;

/* The index of the first set bit at or after `from`, or `count`. */
__device__ __forceinline__ unsigned next_set_bit(shared<const uint32_t> bits, unsigned from,
                                                 unsigned count)
{
#pragma unroll 1
    while (from < count) {
        const uint32_t word = bits[from / 32] >> from % 32;
        if (word)
            return from + 31 - __clz(int(word & (0 - word)));
        from = (from / 32 + 1) * 32;
    }
    return count;
}

/* Fold all segments, or those that span tiles: each by a team; afterwards, those with many parts by
 * the whole block, one by one. */
template <class Fold>
__global__ void fold_segments(SHARED_PARAMETER(ragged) x, global<state_of<Fold>> heads,
                              global<state_of<Fold>> tails)
{
    constexpr size_t warp_bytes = sizeof(state_of<Fold>) > 8 ? sizeof(state_of<Fold>) : 8;
    const shared<uint32_t> long_segments =
        pointer_cast<uint32_t>(block_memory<char>() + blockDim.x / warp_size * warp_bytes);
    const bool clears = threadIdx.x < blockDim.x / 32;
    if (clears)
        long_segments[threadIdx.x] = 0;
    __syncthreads();
    wait_for_previous_launch();
    const bool carried = x.order && !*x.order;
    const unsigned few = carried ? carried_team : x.team,
                   most = carried ? max_carried_parts : x.most, teams = blockDim.x >> few;
    const uint64_t count = carried ? x.tiles : x.of.count;
    uint64_t first = uint64_t(blockIdx.x) * teams;
#pragma unroll 1
    for (unsigned turn = teams; first < count;) { /* a long segment, or all others */
        const bool by_block = turn < teams;
        const unsigned team = by_block ? x.block : few, number = threadIdx.x & ((1u << team) - 1),
                       at = by_block ? turn : threadIdx.x >> few;
        const work_item item =
            carried ? carried_segment(x, first + at) : whole_segment(x, first + at);
        const bool is_long = item.parts > most, is_active = item.exists && is_long == by_block;
        state_of<Fold> state = Fold::identity();
        if (is_active && carried)
            merge_parts<Fold>(state, item, heads, tails, number, team);
        else if (is_active)
            accumulate_elements<Fold>(state, x, element_at(x, item.first), item.parts, number,
                                      team);
        state = fold_team_or_block<Fold>(team, state);
        if (number == 0 && is_active)
            store_segment<Fold>(x, state, item.n, item.k);
        if (number == 0 && is_long && !by_block)
            atomicOr(long_segments + at / 32, 1u << at % 32);
        if (__syncthreads_or(is_long)) {
            turn = next_set_bit(long_segments, by_block ? turn + 1 : 0, teams);
            if (turn < teams)
                continue;
            __syncthreads();
            if (clears)
                long_segments[threadIdx.x] = 0;
            __syncthreads();
        }
        first += uint64_t(gridDim.x) * teams;
    }
}

} // namespace KERNELS
