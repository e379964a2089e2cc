/* Short rows that lie one after the other, reduced along axes. A block brings its own to shared
 * memory, all of them by copies of 16 bytes, whatever a row's length; then a team, a few threads of
 * a warp, reads each of them from there, by loads as wide as rows are multiples of. */
#pragma once

#include "along.cuh"
#include "copies.cuh"

namespace KERNELS
{

/* Brings bytes to shared memory; they lie there as far from a boundary as they do where they are.
 */
__device__ __forceinline__ shared<const char> brought(global<const char> from, unsigned bytes)
{
    constexpr unsigned size = sizeof(pack<unsigned>);
    const shared<char> room = block_memory<char>() + address_of(from) % size;
    const unsigned before = elements_to_boundary(from, bytes), packs = (bytes - before) / size;
#pragma unroll 8
    for (unsigned k = threadIdx.x; k < packs; k += blockDim.x)
        start_copy(room + before + k * size, from + before + k * size, true);
    end_copies();
    const unsigned after = before + packs * size, single = threadIdx.x;
    if (single < before)
        room[single] = from[single];
    else if (single - before < bytes - after)
        room[after + single - before] = from[after + single - before];
    await_copies<0>();
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
    static constexpr bool in_runs = true;

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

template <bool All, class Word>
__device__ __forceinline__ void load_from_row(Word (&words)[slots_of_row], const kernel_axes &x,
                                              shared<const char> at, unsigned step, uint32_t bits)
{
    const unsigned bytes = 1u << x.rows.bytes;
    switch (x.load) {
    case 0:
        return load_words(words, bytes, row_slots<1, All>{at, step, bits});
    case 1:
        return load_words(words, bytes, row_slots<2, All>{at, step, bits});
    default:
        return load_words(words, bytes, row_slots<4, All>{at, step, bits});
    }
}

/* A thread's share of a row of n elements. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_row(const kernel_axes &x, unsigned number,
                                                   shared<const char> row, unsigned n)
{
    constexpr unsigned N = slots_of_row;
    const unsigned apart = x.load + x.team, step = 1u << (apart + x.rows.bytes);
    state_of<Fold> state = Fold::identity();
#pragma unroll 1
    for (unsigned i = number << x.load; i < n; i += N << x.team) {
        typename slot<value_of<Fold>>::type words[N];
        value_of<Fold> values[N];
        const placing places = {i, x.load, apart};
        const uint32_t there = places.before(int(n - i)) & low_bits(N);
        const shared<const char> at = row + (i << x.rows.bytes);
        if (there == low_bits(N))
            load_from_row<true>(words, x, at, step, there);
        else
            load_from_row<false>(words, x, at, step, there);
        decode(values, words, x.rows.from.input);
        take_slots<Fold, true>(state, values, places, there);
    }
    return state;
}

/* The first of a team's threads gets the fold of all their states. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_team(unsigned team, state_of<Fold> state)
{
#pragma unroll 1
    for (unsigned offset = 1u << team >> 1; offset > 0; offset /= 2)
        state = Fold::merge(state, shuffle_down(state, offset));
    return state;
}

/* A block's rows, `rounds` for each of its teams. */
template <class Fold>
__device__ __forceinline__ void fold_staged(const kernel_axes &x)
{
    const unsigned teams = blockDim.x >> x.team, number = threadIdx.x & ((1u << x.team) - 1),
                   n = unsigned(x.rows.from.shape[0]), bytes = unsigned(x.staged),
                   most = teams * x.rounds;
    const uint64_t first = uint64_t(blockIdx.x) * most, left = x.results - first;
    const unsigned rows = left < most ? unsigned(left) : most;
    const shared<const char> staged =
        brought(static_cast<const char *>(x.rows.from.data) + first * bytes, rows * bytes);
#pragma unroll 1
    for (unsigned row = threadIdx.x >> x.team; row < most; row += teams) {
        state_of<Fold> state = Fold::identity();
        if (row < rows)
            state = fold_row<Fold>(x, number, staged + row * bytes, n);
        state = fold_team<Fold>(x.team, state);
        if (number == 0 && row < rows)
            store_result<Fold>(x.result, state, n, x.first + int64_t(first + row) * x.places[0]);
    }
}

} // namespace KERNELS
