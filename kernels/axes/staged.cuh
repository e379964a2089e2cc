/* Short rows that lie one after the other, reduced along axes. A block brings its own to shared
 * memory, all of them by copies of 16 bytes, whatever a row's length; then a team, a few threads of
 * a warp, reads each of them from there, by loads as wide as rows are multiples of. */
#pragma once

#include "../load/copies.cuh"
#include "along.cuh"

namespace KERNELS
{

/* Starts to bring bytes to shared memory, at a boundary of 16 bytes or as far from it as they are
 * where they lie. */
__device__ __forceinline__ shared<const char>
start_bringing(shared<char> to, global<const char> from, unsigned bytes)
{
    constexpr unsigned size = sizeof(pack<unsigned>);
    const shared<char> room = to + address_of(from) % size;
    const unsigned before = elements_to_boundary(from, bytes), packs = (bytes - before) / size;
#pragma unroll 8
    for (unsigned k = threadIdx.x; k < packs; k += blockDim.x)
        start_copy(room + before + k * size, from + before + k * size);
    const unsigned after = before + packs * size, single = threadIdx.x;
    if (single < before)
        room[single] = from[single];
    else if (single - before < bytes - after)
        room[after + single - before] = from[after + single - before];
    return room;
}

/* Brings bytes to the beginning of shared memory. */
__device__ __forceinline__ shared<const char> brought(global<const char> from, unsigned bytes)
{
    const shared<const char> room = start_bringing(block_memory<char>(), from, bytes);
    await_copies();
    __syncthreads();
    return room;
}

/* Where a thread reads elements of its row: runs of so many, `step` bytes apart; all of them, or
 * those whose bits are set. */
template <unsigned Run, bool All>
struct row_slots {
    shared<const char> at;
    unsigned step;
    uint32_t bits;
    static constexpr bool in_runs = true, cuts = false;

    __device__ __forceinline__ bool has(unsigned k) const
    {
        return All || bits >> k & 1;
    }

    template <class In, unsigned N>
    static constexpr unsigned length = longest_load<In> < Run ? longest_load<In> : Run;

    template <class In, unsigned Length>
    __device__ __forceinline__ shared<const char> run(unsigned k) const
    {
        return at + k / Run * step + k % Run * sizeof(In);
    }
};

constexpr unsigned slots_of_row = 1u << ROW_LOAD_MAX;

/* What all rows have in common for one thread. Narrow elements come several to a word, where rows
 * are made of such words and their order does not matter. */
struct row_share {
    unsigned packing; /* elements of a word, as an exponent */
    unsigned begin;   /* bytes to the thread's first word */
    unsigned step;    /* bytes from one of its loads to the next */
    unsigned whole;   /* how often it fills all of its slots */
    uint32_t rest;    /* the slots that it fills once more */
    placing places;   /* of its first words */

    __device__ __forceinline__ row_share(const kernel_axes &x, unsigned number, unsigned packs)
        : packing(packs)
    {
        const unsigned words = unsigned(x.from.shape[0]) >> packing,
                       first = number << x.launch.load, pitch = x.launch.load + x.launch.team,
                       reach = slots_of_row << x.launch.team;
        places = {first, x.launch.load, pitch};
        begin = first << (x.rows.bytes + packing);
        step = 1u << (pitch + x.rows.bytes + packing);
        whole = words / reach;
        rest = places.before(int(words) - int(whole * reach) - int(first)) & low_bits(slots_of_row);
    }
};

/* Takes a thread's slots in, all of them or those of the rest. */
template <class Fold, unsigned Run, bool All>
__device__ __forceinline__ void take_from_row(state_of<Fold> &state, const kernel_axes &x,
                                              const row_share &share, shared<const char> at,
                                              const placing &places)
{
    constexpr unsigned N = slots_of_row;
    typename slot<value_of<Fold>>::type words[N];
    load_words(words, 1u << (x.rows.bytes + share.packing),
               row_slots<Run, All>{at, share.step, share.rest});
    for (unsigned part = 0;;) {
        value_of<Fold> values[N];
        decode(values, words, x.from.input);
        if constexpr (All)
            take_values<Fold>(state, values, places, all_valid());
        else
            take_values<Fold>(state, values, places, valid_bits{share.rest});
        if (++part >> share.packing)
            return;
        shift_words(words, 1u << x.rows.bytes);
    }
}

/* A thread's share of a row. */
template <class Fold, unsigned Run>
__device__ __forceinline__ state_of<Fold> fold_row(const kernel_axes &x, const row_share &share,
                                                   shared<const char> row)
{
    state_of<Fold> state = Fold::identity();
    shared<const char> at = row + share.begin;
    placing places = share.places;
#pragma unroll 1
    for (unsigned k = 0; k < share.whole; k++) {
        take_from_row<Fold, Run, true>(state, x, share, at, places);
        at += share.step * (slots_of_row / Run);
        places.first += slots_of_row << x.launch.team;
    }
    if (share.rest)
        take_from_row<Fold, Run, false>(state, x, share, at, places);
    return state;
}

/* A block's rows, `most` of them, of which so many are there. */
template <class Fold, unsigned Run>
__device__ __forceinline__ void fold_rows(const kernel_axes &x, shared<const char> staged,
                                          unsigned rows, unsigned most, int64_t place)
{
    const unsigned teams = blockDim.x >> x.launch.team,
                   number = threadIdx.x & ((1u << x.launch.team) - 1),
                   first = threadIdx.x >> x.launch.team, bytes = unsigned(x.launch.row.bytes);
    const row_share share(x, number, packs<Fold> ? x.launch.row.packing : 0);
    const bool stores = number == 0;
    shared<const char> at = staged + first * bytes;
    place += first * x.outer.output_strides[0];
#pragma unroll 1
    for (unsigned row = first; row < most; row += teams) {
        state_of<Fold> state = Fold::identity();
        if (row < rows)
            state = fold_row<Fold, Run>(x, share, at);
        state = fold_team<Fold>(x.launch.team, state);
        if (stores && row < rows)
            store_result<Fold>(x.result, state, x.result.finish.count, place);
        at += teams * bytes;
        place += teams * x.outer.output_strides[0];
    }
}

/* `rounds` rows for each of a block's teams. */
template <class Fold>
__device__ __forceinline__ void fold_staged(const kernel_axes &x)
{
    const unsigned most = (blockDim.x >> x.launch.team) * x.launch.rounds,
                   bytes = unsigned(x.launch.row.bytes);
    const uint64_t first = uint64_t(blockIdx.x) * most, left = x.results - first;
    const unsigned rows = left < most ? unsigned(left) : most;
    const shared<const char> staged =
        brought(static_cast<const char *>(x.from.data) + first * bytes, rows * bytes);
    const int64_t place = x.outer.first + int64_t(first) * x.outer.output_strides[0];
    switch (x.launch.load) {
    case 0:
        return fold_rows<Fold, 1>(x, staged, rows, most, place);
    case 1:
        return fold_rows<Fold, 2>(x, staged, rows, most, place);
    default:
        return fold_rows<Fold, 4>(x, staged, rows, most, place);
    }
}

} // namespace KERNELS
