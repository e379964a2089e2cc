/* Segments of an array, each reduced to a result. Segments may be of any lengths, most of them
 * short and a few very long, so blocks share elements and not segments: each takes a tile of the
 * sequence that elements and ends of segments are (struct kernel_segments), brings it to shared
 * memory, and has teams fold what lies there of each segment, or every thread as many neighbours
 * (scanned.cuh). Segments that reach over a tile's ends leave a state for every tile that they lie
 * in, which are folded by a launch of their own, always in the same order.
 *
 * That takes offsets that rise. All others, and few, take the plain way: a team a segment, a block
 * for each long one. Which way it is to be, a first launch finds out on the device.
 *
 * The tiles are those of Merrill and Garland, "Merge-based parallel sparse matrix-vector
 * multiplication", SC 2016. */
#pragma once

#include "ragged.cuh"
#include "staged.cuh"

namespace KERNELS
{

/* ---- the survey ---- */

/* How many of so many places, which rise, are before one. */
__device__ __forceinline__ unsigned places_before(shared<const uint64_t> places, unsigned count,
                                                  uint64_t one)
{
    unsigned low = 0, high = count;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (places[middle] < one)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A block takes so many ends, and all tiles that begin after the end before them and no later than
 * the last of them. */
__global__ void survey_segments(SHARED_PARAMETER(ragged) x)
{
    const shared<uint64_t> places = block_memory<uint64_t>();
    const uint64_t first = uint64_t(blockIdx.x) * SURVEYED, left = x.of.count - first;
    const unsigned count = left < SURVEYED ? unsigned(left) : unsigned(SURVEYED);
    bool broken = false;
    let_next_begin();
    for (unsigned j = threadIdx.x; j < count; j += blockDim.x) {
        const uint64_t k = first + j, end = end_of_segment(x.of, k);
        broken |= !segment_is_within(&x.of, k) || uint64_t(x.of.offsets[k]) > end;
        places[j] = end + k;
    }
    broken = __syncthreads_or(broken);
    if (broken && threadIdx.x == 0)
        atomicOr(x.order, unsigned(ORDER_BROKEN));
    if (broken)
        return;
    const uint64_t begin =
                       first ? divide(uint64_t(x.of.offsets[first]) + first - 1, x.tile) + 1 : 0,
                   last = divide(places[count - 1], x.tile);
    for (uint64_t t = begin + threadIdx.x; t <= last; t += blockDim.x)
        x.splits[t] = first + places_before(places, count, t * x.tile);
    if (left == count && threadIdx.x == 0)
        x.splits[x.tiles] = x.of.count;
}

/* ---- elements ---- */

/* This thread's share of neighbours: every 2^team-th, four at a time. */
template <class Fold, class Count>
__device__ __forceinline__ void take_neighbours(state_of<Fold> &state, const ragged &x,
                                                const char *at, Count n, unsigned number,
                                                unsigned team)
{
    constexpr unsigned N = 4;
    const std::make_signed_t<Count> step = std::make_signed_t<Count>(1) << (team + x.bytes);
    at += Count(number) << x.bytes;
#pragma unroll 1
    for (Count i = number; i < n; i += N << team, at += N * step) {
        typename slot<value_of<Fold>>::type words[N];
        value_of<Fold> values[N];
        const Count left = ((n - i - 1) >> team) + 1;
        const in_steps places = {i, uint64_t(1) << team};
        if (left >= N) {
            load_words(words, 1u << x.bytes, all_slots{at, step, false});
            decode(values, words, x.input);
            take_values<Fold>(state, values, places, all_shown());
        } else {
            const uint32_t there = low_bits(unsigned(left));
            load_words(words, 1u << x.bytes, some_slots{at, step, there});
            decode(values, words, x.input);
            take_values<Fold>(state, values, places, shown_bits{there});
        }
    }
}

/* The same of elements that are values as they lie, in shared memory. Neighbouring teams take their
 * four in orders of their own, which `turn` tells: else segments of one length would all begin in
 * the same banks. */
template <class Fold>
__device__ __forceinline__ void take_values_of(state_of<Fold> &state,
                                               shared<const value_of<Fold>> at, unsigned n,
                                               unsigned number, unsigned team, unsigned turn)
{
    constexpr unsigned N = 4;
    const unsigned step = 1u << team;
    unsigned places[N], i = number;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        places[k] = (k + turn) % N << team;
#pragma unroll 1
    for (; i + (N - 1) * step < n; i += N * step) {
        value_of<Fold> values[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            values[k] = at[i + places[k]];
        take_values<Fold>(state, values, in_steps{i, step}, all_shown());
    }
#pragma unroll 1
    for (; i < n; i += step) {
        const value_of<Fold> values[1] = {at[i]};
        take_values<Fold>(state, values, in_steps{i, step}, all_shown());
    }
}

/* ---- one by one ---- */

/* What becomes a result: a segment wherever it lies, or states. */
struct thing {
    uint64_t parts; /* elements, or states; 0 where there is nothing */
    uint64_t first; /* of them */
    uint64_t n, k;  /* elements and number of the segment */
    bool there;
};

/* One that does not lie in the array is nothing. */
__device__ __forceinline__ thing whole_segment(const ragged &x, uint64_t k)
{
    thing own = {0, 0, 0, k, k < x.of.count};
    if (!own.there)
        return own;
    if (segment_is_within(&x.of, k)) {
        const segment found = segment_at(&x.of, k);
        own.first = found.start;
        own.parts = own.n = found.n;
    } else if (x.result.findings) {
        atomicOr(x.result.findings, unsigned(FOUND_OUTSIDE));
    }
    return own;
}

/* What the tiles that a segment reaches over have left of it: the tails of all but the last, and
 * that one's head. A tile's number stands for the segment that ends in it. */
__device__ __forceinline__ thing carried_segment(const ragged &x, uint64_t number)
{
    thing own = {0, 0, 0, 0, false};
    if (number >= x.tiles)
        return own;
    const tile_of_segments tile(x, number, x.splits[number], x.splits[number + 1]);
    const first_segment first(x, tile);
    if (!first.carries || tile.ends == 0)
        return own;
    own.there = true;
    own.k = tile.segment;
    own.n = end_of_segment(x.of, own.k) - first.begins;
    own.first = divide(first.begins + own.k, x.tile);
    own.parts = number - own.first + 1;
    return own;
}

template <class Fold>
__device__ __forceinline__ void
take_states(state_of<Fold> &state, const thing &own, global<const state_of<Fold>> heads,
            global<const state_of<Fold>> tails, unsigned number, unsigned team)
{
    const uint64_t last = own.parts - 1;
#pragma unroll 4
    for (uint64_t k = number; k < own.parts; k += 1u << team)
        state = Fold::merge(state, k < last ? tails[own.first + k] : heads[own.first + last]);
}

/* The first of a team's threads gets the fold of all their states; a team that is more than a warp
 * is a block. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_team_or_block(unsigned team, state_of<Fold> state)
{
    const shared<state_of<Fold>> of_warps = block_memory<state_of<Fold>>();
    state = fold_team<Fold>(team < 5 ? team : 5, state);
    if (team <= 5)
        return state;
    if (threadIdx.x % warp_size == 0)
        of_warps[threadIdx.x / warp_size] = state;
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 1
        for (unsigned warp = 1; warp < blockDim.x / warp_size; warp++)
            state = Fold::merge(state, of_warps[warp]);
    return state;
}

/* Most segments that reach over a tile's end have two states, and few more than a handful. */
constexpr unsigned carried_team = 2, carried_most = 16 << carried_team;

/* The number of the first bit that is set from one on, `count` where there is none. */
__device__ __forceinline__ unsigned next_set(shared<const uint32_t> bits, unsigned from,
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

/* All segments, or those that tiles have left: each by a team, and after them, where one has many
 * parts, each of these by all of the block. */
template <class Fold>
__global__ void fold_segments(SHARED_PARAMETER(ragged) x, global<state_of<Fold>> heads,
                              global<state_of<Fold>> tails)
{
    constexpr size_t of_warp = sizeof(state_of<Fold>) > 8 ? sizeof(state_of<Fold>) : 8;
    const shared<uint32_t> longs =
        seen_as<uint32_t>(block_memory<char>() + blockDim.x / warp_size * of_warp);
    const bool clears = threadIdx.x < blockDim.x / 32;
    if (clears)
        longs[threadIdx.x] = 0;
    __syncthreads();
    await_launch();
    const bool carried = x.order && !*x.order;
    const unsigned few = carried ? carried_team : x.team, most = carried ? carried_most : x.most,
                   teams = blockDim.x >> few;
    const uint64_t count = carried ? x.tiles : x.of.count;
    uint64_t first = uint64_t(blockIdx.x) * teams;
#pragma unroll 1
    for (unsigned turn = teams; first < count;) { /* that of a long one, or of all others */
        const bool alone = turn < teams;
        const unsigned team = alone ? x.block : few, number = threadIdx.x & ((1u << team) - 1),
                       at = alone ? turn : threadIdx.x >> few;
        const thing own = carried ? carried_segment(x, first + at) : whole_segment(x, first + at);
        const bool is_long = own.parts > most, takes = own.there && is_long == alone;
        state_of<Fold> state = Fold::identity();
        if (takes && carried)
            take_states<Fold>(state, own, heads, tails, number, team);
        else if (takes)
            take_neighbours<Fold>(state, x, element_at(x, own.first), own.parts, number, team);
        state = fold_team_or_block<Fold>(team, state);
        if (number == 0 && takes)
            store_segment<Fold>(x, state, own.n, own.k);
        if (number == 0 && is_long && !alone)
            atomicOr(longs + at / 32, 1u << at % 32);
        if (__syncthreads_or(is_long)) {
            turn = next_set(longs, alone ? turn + 1 : 0, teams);
            if (turn < teams)
                continue;
            __syncthreads();
            if (clears)
                longs[threadIdx.x] = 0;
            __syncthreads();
        }
        first += uint64_t(gridDim.x) * teams;
    }
}

/* ---- tiles ---- */

/* A tile in shared memory: a list of what is long in it, its elements, and where segments end among
 * them. */
struct staged_tile {
    shared<unsigned> listed; /* how many there are, and which */
    shared<const char> data;
    shared<uint16_t> ends;

    __device__ __forceinline__ staged_tile(const ragged &x, const tile_of_segments &tile)
    {
        const uint64_t left = x.of.elements - tile.element;
        /* A segment that is one element may be the one after the last. */
        const unsigned held = left > tile.elements ? tile.elements + 1 : tile.elements,
                       bytes = held << x.bytes,
                       list = (x.tile / x.most + 2) * unsigned(sizeof(unsigned)),
                       before = (list + 15) / 16 * 16;
        listed = block_memory<unsigned>();
        if (threadIdx.x == 0)
            *listed = 0;
        const shared<char> room = block_memory<char>() + before;
        data = start_bringing(room, element_at(x, tile.element), bytes);
        ends = seen_as<uint16_t>(room + (bytes + 2 * 15) / 16 * 16);
        for (unsigned j = threadIdx.x; j < tile.ends; j += blockDim.x)
            ends[j] = uint16_t(end_of_segment(x.of, tile.segment + j) - tile.element);
    }
};

template <class Fold>
__device__ __forceinline__ void take_part(state_of<Fold> &state, const ragged &x,
                                          const staged_tile &staged, const part_of_segment &part,
                                          unsigned number, unsigned team, unsigned turn)
{
    static_assert(!is_indexed<Fold>::value, "positions would not be those of the values");
    const shared<const char> at = staged.data + (part.begin << x.bytes);
    if (x.own)
        take_values_of<Fold>(state, seen_as<const value_of<Fold>>(at), part.n, number, team, turn);
    else
        take_neighbours<Fold>(state, x, at, part.n, number, team);
}

/* By teams; what is long is listed, and then taken by warps. */
template <class Fold>
__global__ void __launch_bounds__(TILE_THREADS, blocks_of_tiles(sizeof(value_of<Fold>)))
    fold_tiles(SHARED_PARAMETER(ragged) x, global<state_of<Fold>> heads,
               global<state_of<Fold>> tails)
{
    await_launch();
    if (*x.order)
        return;
    const tile_of_segments tile(x, blockIdx.x, x.splits[blockIdx.x], x.splits[blockIdx.x + 1]);
    const first_segment begun(x, tile);
    const staged_tile staged(x, tile);
    await_copies();
    __syncthreads();
    let_next_begin();
    unsigned team = x.team, count = tile.ends + 1;
#pragma unroll 1
    for (bool listed = false;; listed = true) {
        const unsigned number = threadIdx.x & ((1u << team) - 1);
#pragma unroll 1
        for (unsigned first = 0; first < count; first += blockDim.x >> team) {
            const unsigned at = first + (threadIdx.x >> team);
            const bool there = at < count;
            const unsigned k = !there ? tile.ends : listed ? staged.listed[1 + at] : at;
            const part_of_segment part(x, tile, begun, staged.ends, k);
            const bool waits = !listed && part.n > x.most;
            state_of<Fold> state = Fold::identity();
            if (there && !waits)
                take_part<Fold>(state, x, staged, part, number, team, k);
            state = fold_team<Fold>(team, state);
            if (number == 0 && there && waits)
                staged.listed[1 + atomicAdd(staged.listed, 1u)] = k;
            else if (number == 0 && there)
                store_part<Fold>(x, tile, begun.carries, part, k, state, heads, tails);
        }
        if (listed)
            return;
        __syncthreads();
        team = 5;
        count = *staged.listed;
    }
}

} // namespace KERNELS
