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

/* A block of the largest size, and how many of a multiprocessor: that leaves a thread registers
 * enough. */
constexpr unsigned threads_of_rows = 1u << LONG_ROWS_BLOCK;

template <class Fold>
constexpr unsigned blocks_of_rows =
    sizeof(state_of<Fold>) > LONG_ROWS_SMALL ? LONG_ROWS_RESIDENT_LARGE : LONG_ROWS_RESIDENT;

/* Loads in flight a thread. */
constexpr unsigned packs_of_row = 4;

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

/* ---- the best of a batch ---- */

/* The better of two floats; NaN is better than any number. */
template <template <class> class Order, class V>
__device__ __forceinline__ V best_or_nan(V a, V b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (std::is_same_v<V, float>) {
        float best;
        if constexpr (Order<V>::worst > 0)
            asm("min.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
        else
            asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
        return best;
    }
#endif
    return is_nan(a) || (!is_nan(b) && !Order<V>::better(b, a)) ? a : b;
}

/* Two halves a word, and what is best of each half of many words. */
template <template <class> class Order, class In>
__device__ __forceinline__ uint32_t best_of_halves(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    constexpr bool is_least = Order<float>::worst > 0;
    uint32_t best;
    if constexpr (std::is_same_v<In, float16>) {
        if constexpr (is_least)
            asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
        else
            asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    } else {
        if constexpr (is_least)
            asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
        else
            asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    }
    return best;
#else
    uint32_t best = 0;
    for (unsigned k = 0; k < 2; k++) {
        const uint16_t own = uint16_t(a >> 16 * k), other = uint16_t(b >> 16 * k);
        const float x = float(In{own}), y = float(In{other});
        const bool stays = is_nan(x) || (!is_nan(y) && !Order<float>::better(y, x));
        best |= uint32_t(stays ? own : other) << 16 * k;
    }
    return best;
#endif
}

/* The best value of so many packs; NaN is better than any. */
template <template <class> class Order, class V, class In, unsigned Packs>
__device__ __forceinline__ V best_of_packs(const loaded_pack *loaded)
{
    if constexpr (packing<In>::bits != 0) {
        return V(best_of<Order>(words_of_loaded<In, Packs>(loaded)));
    } else if constexpr (sizeof(In) == 2) {
        uint32_t best = loaded[0].at[0];
#pragma unroll
        for (unsigned k = 1; k < 4 * Packs; k++)
            best = best_of_halves<Order, In>(best, loaded[k / 4].at[k % 4]);
        return best_or_nan<Order>(V(In{uint16_t(best)}), V(In{uint16_t(best >> 16)}));
    } else {
        const values_of_packs<V, In, Packs> x(loaded);
        V best = x.at[0];
#pragma unroll
        for (unsigned k = 1; k < Packs * pack<In>::size; k++)
            best = best_or_nan<Order>(best, x.at[k]);
        return best;
    }
}

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

template <class V, class In>
struct of_packs<variance<V>, In> {
    using fold = variance<V>;

    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(state_of<fold> &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &at, Shown shown)
    {
        if (shown.count(Packs * pack<In>::size) > 0)
            take_values<fold>(state, values_of_packs<V, In, Packs>(loaded).at, at, shown);
    }
};

/* Rounding may have left a little less than nothing; NaN stays. */
__device__ __forceinline__ double positive(double x)
{
    return x < 0 ? 0 : x;
}

template <template <class> class Order, class In>
struct of_packs_of_extremes {
    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(float &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &, Shown)
    {
        state = best_or_nan<Order>(state, best_of_packs<Order, float, In, Packs>(loaded));
    }
};

template <class In>
struct of_packs<min<float>, In> : of_packs_of_extremes<by_least, In> {};
template <class In>
struct of_packs<max<float>, In> : of_packs_of_extremes<by_greatest, In> {};

/* Of a few numbers of up to 11 bits, by their sum and their squares' in float64. Where these
 * numbers are so close to each other that little is left of the squares, all of it is exact but for
 * a last rounding: the sum of 32 has 16 bits, its square 32 and the squares' sum 27, so that there
 * is room for numbers 2^10 times as large as others. Where some are smaller still, a 64th of the
 * squares is left at least, and roundings are no more than 64 units of their last place. */
template <class In>
struct of_packs_of_halves {
    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(moments<double> &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &, Shown shown)
    {
        constexpr unsigned N = Packs * pack<In>::size, lanes = 4;
        const values_of_packs<float, In, Packs> x(loaded); /* 0 where there is none */
        const double count = shown.count(N);
        double sums[lanes], squares[lanes];
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const double wide = double(x.at[k]);
            sums[k % lanes] = k < lanes ? wide : sums[k % lanes] + wide;
            squares[k % lanes] = k < lanes ? wide * wide : fma(wide, wide, squares[k % lanes]);
        }
        const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]),
                     of_squares = (squares[0] + squares[1]) + (squares[2] + squares[3]),
                     left = count * of_squares - sum * sum;
        if constexpr (std::is_same_v<Shown, all_shown>)
            state = merged(state, {count, sum * (1.0 / N), positive(left) * (1.0 / N)});
        else
            state = merged(state, {count, ratio_of_counts(sum, count),
                                   ratio_of_counts(positive(left), count)});
    }
};

template <>
struct of_packs<variance<float>, float16> : of_packs_of_halves<float16> {};
template <>
struct of_packs<variance<float>, bfloat16> : of_packs_of_halves<bfloat16> {};

/* How many of so many packs are taken in together. */
template <class Fold, class In, unsigned Packs>
constexpr unsigned packs_at_once = packs_together<Fold, In, Packs>();

template <unsigned Packs>
constexpr unsigned packs_at_once<variance<float>, float16, Packs> = 4;
template <unsigned Packs>
constexpr unsigned packs_at_once<variance<float>, bfloat16, Packs> = 4;

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

/* ---- what a thread collects ---- */

/* Where a batch lies: its first pack begins at position `first`, the next `apart` further on. */
struct batch_place {
    uint64_t first, apart;
};

/* What a thread has taken in of batches of packs and of single elements; in the end it is told how
 * far apart packs of a batch are. */
template <class Fold, class In, class = void>
struct collected {
    state_of<Fold> state = Fold::identity();

    template <class Shown>
    __device__ __forceinline__ void take(const loaded_pack (&loaded)[packs_of_row],
                                         const batch_place &place, Shown shown)
    {
        take_loaded<Fold, In>(state, loaded, place.first, place.apart, shown);
    }

    __device__ __forceinline__ void take_single(In x, uint64_t position)
    {
        state = Fold::merge(state, Fold::lift(value_of<Fold>(x), position));
    }

    __device__ __forceinline__ state_of<Fold> all(uint64_t) const
    {
        return state;
    }
};

/* Sums of integers and of their squares, exact as long as a thread has no more than 2^23 of one
 * byte. */
template <class In>
struct collected<variance<double>, In, if_narrow<In>> {
    static constexpr unsigned most = 1u << 23;
    moments<double> state = variance<double>::identity();
    int64_t sum = 0, squares = 0;
    unsigned count = 0;

    template <class Shown>
    __device__ __forceinline__ void take(const loaded_pack (&loaded)[packs_of_row],
                                         const batch_place &, Shown shown)
    {
        constexpr unsigned N = packs_of_row * pack<In>::size;
        const in_words<In, 4 * packs_of_row> x = words_of_loaded<In, packs_of_row>(loaded);
        sum += sum_of(x);
        squares += squares_of(x);
        count += shown.count(N);
        if (count > most - 2 * N)
            settle();
    }

    __device__ __forceinline__ void take_single(In x, uint64_t)
    {
        sum += x;
        squares += int64_t(x) * x;
        count++;
    }

    __device__ __forceinline__ void settle()
    {
        state = merged(state, exact());
        sum = squares = 0;
        count = 0;
    }

    __device__ __forceinline__ moments<double> exact() const
    {
        if (count == 0)
            return variance<double>::identity();
        const double deviation = double(int64_t(count) * squares - sum * sum);
        return {double(count), ratio_of_counts(double(sum), count),
                ratio_of_counts(deviation, count)};
    }

    __device__ __forceinline__ moments<double> all(uint64_t) const
    {
        return merged(state, exact());
    }
};

/* Where the best value is first among a batch's elements. */
template <template <class> class Order, class V, class In>
struct place_in_batch {
    static constexpr unsigned N = packs_of_row * pack<In>::size;

    static __device__ __forceinline__ unsigned first(const loaded_pack *loaded, V best)
    {
        unsigned first = 0;
        if constexpr (packing<In>::bits != 0) {
            constexpr unsigned bits = packing<In>::bits, count = packing<In>::count;
            const uint32_t wanted = packing<In>::repeated(typename packing<In>::word(best));
            uint32_t found = 0;
#pragma unroll
            for (unsigned k = 4 * packs_of_row; k-- > 0;) {
                const uint32_t equal = zeros_of<bits>(loaded[k / 4].at[k % 4] ^ wanted);
                found = equal ? equal : found;
                first = equal ? k * count : first;
            }
            return first + bits_set((found & (0 - found)) - 1) / bits;
        } else {
            const values_of_packs<V, In, packs_of_row> x(loaded);
            const bool nan = is_nan(best);
#pragma unroll
            for (unsigned k = N; k-- > 0;)
                first = (nan ? is_nan(x.at[k]) : x.at[k] == best) ? k : first;
            return first;
        }
    }
};

/* The batch that has the best element is kept, and looked through in the end. */
template <class V, template <class> class Order, class In>
struct collected<position_of_best<V, Order>, In> {
    using fold = position_of_best<V, Order>;
    using batch = place_in_batch<Order, V, In>;
    state_of<fold> state = fold::identity();
    loaded_pack kept[packs_of_row];
    uint64_t first = 0; /* position of what is kept */
    V best = Order<V>::worst;
    bool some = false;

    template <class Shown>
    __device__ __forceinline__ void take(const loaded_pack (&loaded)[packs_of_row],
                                         const batch_place &taken, Shown)
    {
        const V own = best_of_packs<Order, V, In, packs_of_row>(loaded);
        if (!some || Order<V>::better(own, best) || (is_nan(own) && !is_nan(best))) {
            best = own;
            first = taken.first;
#pragma unroll
            for (unsigned k = 0; k < packs_of_row; k++)
                kept[k] = loaded[k];
        }
        some = true;
    }

    __device__ __forceinline__ void take_single(In x, uint64_t position)
    {
        state = fold::merge(state, fold::lift(V(x), position));
    }

    __device__ __forceinline__ state_of<fold> all(uint64_t apart) const
    {
        constexpr unsigned size = pack<In>::size;
        if (!some)
            return state;
        const unsigned number = batch::first(kept, best);
        return fold::merge(state, fold::lift(best, first + number / size * apart + number % size));
    }
};

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

/* Packs rank, rank + threads, ... below `count`; the first pack of all begins at `first`. Beyond
 * the last it is loaded again: loads on a condition would wait for each other. */
template <class Fold, class In, class Packs>
__device__ __forceinline__ void take_packs_of(collected<Fold, In> &own, const Packs &packs,
                                              unsigned count, const reader &me, uint64_t first)
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
        own.take(loaded, batch_place{first + uint64_t(i) * packs.step, apart}, all_shown());
    }
    if (i < count) {
        loaded_pack loaded[N];
        unsigned there = 1;
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const unsigned at = i + k * me.threads;
            loaded[k] = packs[at < count ? at : count - 1];
        }
#pragma unroll
        for (unsigned k = 1; k < N; k++) {
            const bool is_there = i + k * me.threads < count;
            const loaded_pack none = pack_of(stand_in<Fold, In>::element());
#pragma unroll
            for (unsigned w = 0; w < 4; w++)
                loaded[k].at[w] = is_there ? loaded[k].at[w] : none.at[w];
            there += is_there;
        }
        own.take(loaded, batch_place{first + uint64_t(i) * packs.step, apart},
                 first_shown{there * size});
    }
}

/* n elements, the first of which has the position `position`. */
template <class Fold, class In>
__device__ __forceinline__ void take_typed_row(collected<Fold, In> &own, global<const In> data,
                                               uint64_t n, const reader &me, uint64_t position)
{
    const in_packs<In> x(data, n);
    const unsigned singles = unsigned(x.head + (n - x.tail));
    const uint64_t single = x.single(me.rank);
    In early = {};
    if (me.rank < singles)
        early = data[single];
    take_packs_of<Fold, In>(own, packs_in_row<In>{seen_as<const loaded_pack>(x.packs)},
                            unsigned(x.count), me, position + x.head);
    if (me.rank < singles)
        own.take_single(early, position + single);
    if (me.threads < 2 * (pack<In>::size - 1))
#pragma unroll 1
        for (unsigned k = me.rank + me.threads; k < singles; k += me.threads) {
            const uint64_t at = x.single(k);
            own.take_single(data[at], position + at);
        }
}

/* ---- a result ---- */

/* This thread's share of rows that are whole packs and lie above each other at one distance: the
 * same pack of some of them. */
template <class Fold, class In>
__device__ __forceinline__ void take_typed_stack(collected<Fold, In> &all, const kernel_axes &x,
                                                 unsigned own, const reader &me,
                                                 global<const char> data)
{
    const layout &from = x.rows.from;
    const uint64_t n = from.shape[1], first = uint64_t(own) * pack<In>::size;
    if (first < n)
        take_packs_of<Fold, In>(
            all, packs_in_stack{data + own * sizeof(loaded_pack), from.strides[0], n},
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
                   threads = unsigned(x.splits) << x.team;
    const bool together = readers == threads;
    const unsigned groups = together ? 1 : threads / readers, group = together ? 0 : rank / readers;
    const reader me = {rank - group * readers, readers};
    const uint64_t n = from.shape[inner];
    const global<const char> data = static_cast<const char *>(from.data) + base.data;
    collected<Fold, In> own;
    if constexpr (!is_indexed<Fold>::value) {
        if (x.stacked) {
            take_typed_stack<Fold, In>(own, x, me.rank, reader{group, groups}, data);
            return own.all(0);
        }
    }
#pragma unroll 1
    for (uint64_t row = group; row < x.rows.items; row += groups) {
        const int64_t at = inner == 0 ? 0 : offsets_of(from, inner, row).data;
        take_typed_row<Fold, In>(own, seen_as<const In>(data + at), n, me, x.rows.base + row * n);
    }
    return own.all(uint64_t(readers) * pack<In>::size);
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
