/* Long rows along axes, of elements of a known type, at the pace of the memory. A team of threads,
 * 2^team of a block, makes a result and reads its rows by packs, as the default method reads an
 * array (vector.cuh); several blocks may share a result, and then one row.
 *
 * A row may begin and end anywhere. Packs that are left when no batch is full are one more batch,
 * with stand-ins where there are none; the few elements before the first pack and after the last
 * are taken singly, by different threads, and loaded before anything else. */
#pragma once

#include "along.cuh"

namespace KERNELS
{

#ifndef GRED_ROWS_SMALL
#define GRED_ROWS_SMALL 4
#endif
#ifndef GRED_ROWS_LARGE
#define GRED_ROWS_LARGE 3
#endif
#ifndef GRED_ROWS_PACKS
#define GRED_ROWS_PACKS 4
#endif

/* Threads of a block, and blocks of a multiprocessor, which says how many registers a thread has.
 */
constexpr unsigned threads_of_rows = 1u << LONG_ROWS_BLOCK;

template <class Fold>
constexpr unsigned blocks_of_rows = sizeof(state_of<Fold>) > 16 ? GRED_ROWS_LARGE : GRED_ROWS_SMALL;

/* Loads in flight a thread. */
constexpr unsigned packs_of_row = GRED_ROWS_PACKS;

/* ---- what is not there ---- */

/* What changes no state of a fold, as an element: nothing to a sum, and to others the worst, which
 * stands behind all that is as bad. */
template <class In>
__device__ __forceinline__ In element_of_bits(uint16_t bits)
{
    In element;
    memcpy(&element, &bits, sizeof element);
    return element;
}

template <class In>
struct extreme_elements {
    FOLD_FUNCTION In negative_zero()
    {
        return ends<In>::negative_zero;
    }
    FOLD_FUNCTION In least()
    {
        return ends<In>::least;
    }
    FOLD_FUNCTION In greatest()
    {
        return ends<In>::greatest;
    }
};

/* Of 16 bits, of which these are infinity's. */
template <class In, uint16_t Infinity>
struct extreme_halves {
    static constexpr uint16_t sign = 0x8000;

    static __device__ __forceinline__ In negative_zero()
    {
        return {sign};
    }
    static __device__ __forceinline__ In least()
    {
        return {uint16_t(Infinity | sign)};
    }
    static __device__ __forceinline__ In greatest()
    {
        return {Infinity};
    }
};

template <>
struct extreme_elements<float16> : extreme_halves<float16, 0x7c00> {};
template <>
struct extreme_elements<bfloat16> : extreme_halves<bfloat16, 0x7f80> {};

/* Zero where a fold counts: it is told how many are there. */
template <class Fold, class In>
struct stand_in {
    static __device__ __forceinline__ In element()
    {
        return In{};
    }
};

template <class V, class In>
struct stand_in<sum<V>, In> {
    static __device__ __forceinline__ In element()
    {
        return extreme_elements<In>::negative_zero();
    }
};

template <class In>
struct worst_least {
    static __device__ __forceinline__ In element()
    {
        return extreme_elements<In>::greatest();
    }
};

template <class In>
struct worst_greatest {
    static __device__ __forceinline__ In element()
    {
        return extreme_elements<In>::least();
    }
};

template <class V, class In>
struct stand_in<min<V>, In> : worst_least<In> {};
template <class V, class In>
struct stand_in<argmin<V>, In> : worst_least<In> {};
template <class V, class In>
struct stand_in<max<V>, In> : worst_greatest<In> {};
template <class V, class In>
struct stand_in<argmax<V>, In> : worst_greatest<In> {};

/* The first so many of many values take part. */
struct first_shown {
    unsigned number;

    __device__ __forceinline__ bool operator()(unsigned k) const
    {
        return k < number;
    }
    __device__ __forceinline__ unsigned count(unsigned n) const
    {
        return number < n ? number : n;
    }
    __device__ __forceinline__ first_shown from(unsigned first) const
    {
        return {number < first ? 0 : number - first};
    }
};

/* ---- packs ---- */

/* Packs are loaded as words: bytes would be taken apart and put together again. */
using loaded_pack = pack<uint32_t>;

template <class In>
__device__ __forceinline__ loaded_pack pack_of(In element)
{
    pack<In> of_elements;
    loaded_pack whole;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        of_elements.at[k] = element;
    memcpy(&whole, &of_elements, sizeof whole);
    return whole;
}

template <class In, unsigned Packs>
__device__ __forceinline__ in_words<In, 4 * Packs> words_of_loaded(const loaded_pack *loaded)
{
    in_words<In, 4 * Packs> words;
#pragma unroll
    for (unsigned k = 0; k < 4 * Packs; k++)
        words.at[k] = packing<In>::from(loaded[k / 4].at[k % 4]);
    return words;
}

/* Values of so many packs. */
template <class V, class In, unsigned Packs>
struct values_of_packs {
    static constexpr unsigned size = pack<In>::size;
    V at[Packs * size];

    __device__ __forceinline__ explicit values_of_packs(const loaded_pack *loaded)
    {
#pragma unroll
        for (unsigned p = 0; p < Packs; p++) {
            pack<In> elements;
            memcpy(&elements, loaded + p, sizeof elements);
#pragma unroll
            for (unsigned k = 0; k < size; k++)
                at[p * size + k] = V(elements.at[k]);
        }
    }
};

/* How a fold takes packs in, of which a certain number are there; what is not there is stood in
 * for, so that most folds need not know. */
template <class Fold, class In>
struct of_packs {
    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(state_of<Fold> &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &at, Shown)
    {
        if constexpr (packed<Fold, In>::value)
            packed<Fold, In>::take(state, words_of_loaded<In, Packs>(loaded), at);
        else
            take_values<Fold>(state, values_of_packs<value_of<Fold>, In, Packs>(loaded).at, at,
                              all_shown());
    }
};

/* Of words in which elements that are not there are 0. */
template <class In, unsigned N>
__device__ __forceinline__ moments<double> moments_of(const in_words<In, N> &x, unsigned number)
{
    const int64_t count = number, sum = sum_of(x), deviation = count * squares_of(x) - sum * sum;
    const double share = ratio_of_counts(1, double(count));
    return {double(count), double(sum) * share, double(deviation) * share};
}

template <class V, class In>
struct of_packs<variance<V>, In> {
    using fold = variance<V>;

    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(state_of<fold> &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &at, Shown shown)
    {
        constexpr unsigned N = Packs * pack<In>::size;
        const unsigned number = shown.count(N);
        if (number == 0)
            return;
        if constexpr (!packed<fold, In>::value)
            take_values<fold>(state, values_of_packs<V, In, Packs>(loaded).at, at, shown);
        else if constexpr (std::is_same_v<Shown, all_shown>)
            packed<fold, In>::take(state, words_of_loaded<In, Packs>(loaded), at);
        else
            state = merged(state, moments_of(words_of_loaded<In, Packs>(loaded), number));
    }
};

/* Of a few numbers of up to 11 bits, by their sum and their squares' in float64. Where these
 * numbers are so close to each other that little is left of the squares, both sums are exact, and
 * so is what is left but for a last rounding: squares of 22 bits, 32 of them, leave room for
 * numbers 2^13 times as large as others. Where some are smaller still, what is left is no less than
 * a 64th of the squares, and a sum's rounding no more than 32 units of their last place. */
template <class In>
struct of_packs_of_halves {
    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(moments<double> &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &, Shown shown)
    {
        constexpr unsigned N = Packs * pack<In>::size, lanes = 4;
        const values_of_packs<float, In, Packs> x(loaded); /* 0 where there is none */
        const double count = shown.count(N),
                     share = std::is_same_v<Shown, all_shown> ? 1.0 / N : ratio_of_counts(1, count);
        double sums[lanes], squares[lanes];
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const double wide = double(x.at[k]);
            sums[k % lanes] = k < lanes ? wide : sums[k % lanes] + wide;
            squares[k % lanes] = k < lanes ? wide * wide : fma(wide, wide, squares[k % lanes]);
        }
        const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]),
                     of_squares = (squares[0] + squares[1]) + (squares[2] + squares[3]),
                     squared_sum = sum * sum, rounded_off = fma(sum, sum, -squared_sum),
                     left = (count * of_squares - squared_sum - rounded_off) * share;
        state = merged(state, {count, sum * share, left < 0 ? 0 : left});
    }
};

template <>
struct of_packs<variance<float>, float16> : of_packs_of_halves<float16> {};
template <>
struct of_packs<variance<float>, bfloat16> : of_packs_of_halves<bfloat16> {};

template <class Fold, class In, unsigned Packs>
constexpr unsigned packs_at_once =
    std::is_same_v<Fold, variance<float>> && sizeof(In) == 2 && Packs > 4 ? 4
    : std::is_same_v<Fold, variance<float>> && sizeof(In) == 2 ? Packs
                                                               : packs_together<Fold, In, Packs>();

/* Takes packs in, `apart` elements from each other, the first of which begins at position `first`.
 */
template <class Fold, class In, unsigned Packs, class Shown>
__device__ __forceinline__ void take_loaded(state_of<Fold> &state,
                                            const loaded_pack (&loaded)[Packs], uint64_t first,
                                            uint64_t apart, Shown shown)
{
    constexpr unsigned size = pack<In>::size, together = packs_at_once<Fold, In, Packs>;
#pragma unroll
    for (unsigned p = 0; p < Packs; p += together)
        of_packs<Fold, In>::template take<together>(
            state, loaded + p, in_runs<size>{first + p * apart, apart}, shown.from(p * size));
}

/* ---- a row ---- */

/* Those who share a row, or the rows that lie above each other, and one of them. */
struct reader {
    unsigned rank, threads;
};

/* Packs that lie one after the other, or above each other: where, and how many elements come
 * between the beginnings of two. */
template <class In>
struct packs_in_row {
    global<const loaded_pack> at;
    static constexpr unsigned step = pack<In>::size;

    __device__ __forceinline__ loaded_pack operator[](unsigned i) const
    {
        return at[i];
    }
};

struct packs_in_stack {
    global<const char> at;
    int64_t distance; /* in bytes */
    uint64_t step;

    __device__ __forceinline__ loaded_pack operator[](unsigned i) const
    {
        return *seen_as<const loaded_pack>(at + int64_t(i) * distance);
    }
};

/* Packs rank, rank + threads, ... below `count`; the first pack of all begins at `first`. */
template <class Fold, class In, class Packs>
__device__ __forceinline__ state_of<Fold> fold_typed_packs(state_of<Fold> state, const Packs &packs,
                                                           unsigned count, const reader &me,
                                                           uint64_t first)
{
    constexpr unsigned size = pack<In>::size, N = packs_of_row;
    const uint64_t apart = uint64_t(me.threads) * packs.step;
    unsigned i = me.rank;
#pragma unroll 1
    for (; i + (N - 1) * me.threads < count; i += N * me.threads) {
        loaded_pack loaded[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            loaded[k] = packs[i + k * me.threads];
        take_loaded<Fold, In>(state, loaded, first + uint64_t(i) * packs.step, apart, all_shown());
    }
    if (i < count) {
        loaded_pack loaded[N];
        unsigned there = 1;
        loaded[0] = packs[i];
#pragma unroll
        for (unsigned k = 1; k < N; k++) {
            const bool is_there = i + k * me.threads < count;
            loaded[k] = pack_of(stand_in<Fold, In>::element());
            if (is_there)
                loaded[k] = packs[i + k * me.threads];
            there += is_there;
        }
        take_loaded<Fold, In>(state, loaded, first + uint64_t(i) * packs.step, apart,
                              first_shown{there * size});
    }
    return state;
}

/* n elements, the first of which has the position `position`. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_typed_row(state_of<Fold> state,
                                                         global<const In> data, uint64_t n,
                                                         const reader &me, uint64_t position)
{
    const in_packs<In> x(data, n);
    const unsigned singles = unsigned(x.head + (n - x.tail));
    const uint64_t single = x.single(me.rank);
    In early = {};
    if (me.rank < singles)
        early = data[single];
    state = fold_typed_packs<Fold, In>(state, packs_in_row<In>{seen_as<const loaded_pack>(x.packs)},
                                       unsigned(x.count), me, position + x.head);
    if (me.rank < singles)
        state = Fold::merge(state, Fold::lift(value_of<Fold>(early), position + single));
    if (me.threads < 2 * (pack<In>::size - 1))
#pragma unroll 1
        for (unsigned k = me.rank + me.threads; k < singles; k += me.threads) {
            const uint64_t at = x.single(k);
            state = Fold::merge(state, Fold::lift(value_of<Fold>(data[at]), position + at));
        }
    return state;
}

/* ---- a result ---- */

/* This thread's share of rows that are whole packs and lie above each other at one distance: the
 * same pack of some of them. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold>
fold_typed_stack(const kernel_axes &x, unsigned own, const reader &me, global<const char> data)
{
    const layout &from = x.rows.from;
    const uint64_t n = from.shape[1], first = uint64_t(own) * pack<In>::size;
    if (first >= n)
        return Fold::identity();
    return fold_typed_packs<Fold, In>(
        Fold::identity(), packs_in_stack{data + own * sizeof(loaded_pack), from.strides[0], n},
        unsigned(x.rows.items), me, x.rows.base + first);
}

/* This thread's share of a result's rows. Blocks or parts of them that have none to themselves
 * share one. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_typed_rows(const kernel_axes &x, unsigned rank,
                                                          const offsets &base)
{
    const layout &from = x.rows.from;
    const unsigned inner = from.dimensions - 1, readers = x.readers,
                   groups = (unsigned(x.splits) << x.team) / readers, group = rank / readers;
    const reader me = {rank - group * readers, readers};
    const uint64_t n = from.shape[inner];
    const global<const char> data = static_cast<const char *>(from.data) + base.data;
    if (x.stacked)
        return fold_typed_stack<Fold, In>(x, me.rank, reader{group, groups}, data);
    state_of<Fold> state = Fold::identity();
#pragma unroll 1
    for (uint64_t row = group; row < x.rows.items; row += groups) {
        const int64_t at = inner == 0 ? 0 : offsets_of(from, inner, row).data;
        state = fold_typed_row<Fold, In>(state, seen_as<const In>(data + at), n, me,
                                         x.rows.base + row * n);
    }
    return state;
}

/* The first of a team's threads gets the fold of all their states. By all threads of a block;
 * whoever calls it twice puts a barrier in between. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_team_of_rows(unsigned team, state_of<Fold> state)
{
    const unsigned in_warp = 1u << team < warp_size ? 1u << team : warp_size,
                   lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size,
                   warps = (1u << team) / warp_size;
#pragma unroll 1
    for (unsigned offset = in_warp / 2; offset > 0; offset /= 2)
        state = Fold::merge(state, shuffle_down(state, offset));
    if (warps <= 1)
        return state;
    const shared<state_of<Fold>> parts = block_memory<state_of<Fold>>();
    if (lane == 0)
        parts[warp] = state;
    __syncthreads();
    if (warp % warps == 0) {
        state = lane < warps ? parts[warp + lane] : Fold::identity();
#pragma unroll 1
        for (unsigned offset = warps / 2; offset > 0; offset /= 2)
            state = Fold::merge(state, shuffle_down(state, offset));
    }
    return state;
}

/* What the blocks that share a result have left, once the last of them is there: false for all
 * others. */
template <class Fold>
__device__ __forceinline__ bool fold_splits(unsigned splits, unsigned split, uint64_t result,
                                            state_of<Fold> &state, global<state_of<Fold>> partials,
                                            global<unsigned> tickets)
{
    bool last = false;
    partials += result * splits;
    if (threadIdx.x == 0) {
        partials[split] = state;
        __threadfence();
        last = atomicInc(tickets + result, splits - 1) == splits - 1;
    }
    if (!__syncthreads_or(last))
        return false;
    __threadfence();
    state = block_fold<Fold>(fold_partials<Fold>(partials, splits));
    return true;
}

/* ---- the kernel ---- */

template <class Fold, class In>
__global__ void __launch_bounds__(threads_of_rows, blocks_of_rows<Fold>)
    fold_rows_of_type(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials, global<uint64_t>,
                      global<unsigned> tickets)
{
    const unsigned team = x.team, number = threadIdx.x & ((1u << team) - 1),
                   teams = blockDim.x >> team, splits = unsigned(x.splits);
    const unsigned group = splits == 1 ? blockIdx.x : blockIdx.x / splits,
                   split = blockIdx.x - group * splits;
    uint64_t result = uint64_t(group) * teams * x.rounds + (threadIdx.x >> team);
#pragma unroll 1
    for (unsigned round = 0; round < x.rounds; round++, result += teams) {
        state_of<Fold> state = Fold::identity();
        result_place at = {{0, 0}, 0};
        const bool there = result < x.results;
        if (there) {
            at = place_of_result(x, result);
            state = fold_typed_rows<Fold, In>(x, split << team | number, at.base);
        }
        if (round > 0 && 1u << team > warp_size)
            __syncthreads();
        state = fold_team_of_rows<Fold>(team, state);
        if (splits > 1 && !fold_splits<Fold>(splits, split, result, state, partials, tickets))
            return;
        if (number == 0 && there)
            store_result<Fold>(x.result, state, x.result.finish.count, at.place);
    }
}

} // namespace KERNELS
