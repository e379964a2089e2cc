/* What a thread makes of batches of packs before it has a fold's state: most folds make a state at
 * once; some are quicker with what becomes one in the end. */
#pragma once

#include "loaded_packs.cuh"

namespace KERNELS
{

/* Packs of a batch: loads in flight a thread. */
template <class Fold, class In>
constexpr unsigned packs_of_row = LONG_ROWS_PACKS(sizeof(state_of<Fold>), sizeof(In));

template <class Fold, class In>
using row_batch = loaded_pack[packs_of_row<Fold, In>];

/* Where a batch lies: its first pack begins at position `first`, the next `apart` further on. */
struct batch_place {
    uint64_t first, apart;
};

/* What a thread has taken in of batches of packs and of single elements. */
template <class Fold, class In, class = void>
struct collected {
    state_of<Fold> state = Fold::identity();

    template <class Shown>
    __device__ __forceinline__ void take(const row_batch<Fold, In> &loaded,
                                         const batch_place &place, Shown shown)
    {
        take_loaded<Fold, In>(state, loaded, place.first, place.apart, shown);
    }

    __device__ __forceinline__ void take_single(In x, uint64_t position)
    {
        state = Fold::merge(state, Fold::lift(value_of<Fold>(x), position));
    }

    __device__ __forceinline__ state_of<Fold> all() const
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
    __device__ __forceinline__ void take(const row_batch<variance<double>, In> &loaded,
                                         const batch_place &, Shown shown)
    {
        constexpr unsigned packs = packs_of_row<variance<double>, In>, N = packs * pack<In>::size;
        const in_words<In, 4 * packs> x = words_of_loaded<In, packs>(loaded);
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

    __device__ __forceinline__ moments<double> all() const
    {
        return merged(state, exact());
    }
};

/* Deviations are taken from the mean of all that came before, d of N numbers and n before them:
 *
 *     mean += sum(d) / (n + N)        S += sum(d^2) - sum(d)^2 / (n + N)
 *
 * which is the formula by which states merge, in one pass over a batch, and the division can be
 * made while its loads are on their way. By the inequality of Cauchy and Schwarz no more than
 * N / (n + N) of sum(d^2) is taken away again: half of it at most unless the batch is larger than
 * what came before. Of such a batch the deviations are from its own mean. */
template <class V, class In>
struct collected<variance<V>, In, std::enable_if_t<sizeof(In) >= 4>> {
    using fold = variance<V>;
    moments<double> state = fold::identity();

    template <class Shown>
    __device__ __forceinline__ void take(const row_batch<fold, In> &loaded, const batch_place &,
                                         Shown shown)
    {
        constexpr unsigned packs = packs_of_row<fold, In>, N = packs * pack<In>::size, lanes = 4;
        const values_of_packs<V, In, packs> x(loaded); /* 0 where there is none */
        const double more = shown.count(N), count = state.count + more,
                     inverse = ratio_of_counts(1, count);
        const bool own = state.count < more;
        double from = state.mean, sums[lanes], squares[lanes];
        if (own) {
            const V inverse_of_batch = V(ratio_of_counts(1, more));
            from = added_in_lanes<N, V>([&](unsigned k) { return x.at[k] * inverse_of_batch; });
        }
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const double d = shown(k) ? double(x.at[k]) - from : 0.0;
            sums[k % lanes] = k < lanes ? d : sums[k % lanes] + d;
            squares[k % lanes] = k < lanes ? d * d : fma(d, d, squares[k % lanes]);
        }
        const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]),
                     of_squares = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        if (own) {
            const double share = sum * ratio_of_counts(1, more);
            state = merged(state, {more, from + share, positive(fma(-sum, share, of_squares))});
        } else {
            const double share = sum * inverse;
            state = {count, from + share, state.deviation + fma(-sum, share, of_squares)};
        }
    }

    __device__ __forceinline__ void take_single(In x, uint64_t)
    {
        state = fold::merge(state, fold::lift(V(x), 0));
    }

    __device__ __forceinline__ moments<double> all() const
    {
        return state;
    }
};

/* Which of a pack's elements is the first of the best. */
template <class Value, class In>
__device__ __forceinline__ unsigned place_in_pack(const loaded_pack &kept, Value best)
{
    unsigned first = 0;
    if constexpr (packing<In>::bits != 0) {
        constexpr unsigned bits = packing<In>::bits, count = packing<In>::count;
        const uint32_t wanted = packing<In>::repeated(typename packing<In>::word(best));
        uint32_t found = 0;
#pragma unroll
        for (unsigned k = 4; k-- > 0;) {
            const uint32_t equal = zeros_of<bits>(kept.at[k] ^ wanted);
            found = equal ? equal : found;
            first = equal ? k * count : first;
        }
        return first + bits_set((found & (0 - found)) - 1) / bits;
    } else {
        const values_of_packs<Value, In, 1> x(&kept);
#pragma unroll
        for (unsigned k = pack<In>::size; k-- > 0;)
            first = is_as_good(x.at[k], best) ? k : first;
        return first;
    }
}

/* The pack that has the best element is kept, and looked through in the end. */
template <class V, template <class> class Order, class In>
struct collected<position_of_best<V, Order>, In> {
    using fold = position_of_best<V, Order>;
    using parts = best_part<Order, V, In>;
    using value = typename parts::value;
    state_of<fold> state = fold::identity();
    loaded_pack kept;
    uint64_t first = 0; /* position of what is kept */
    value best = Order<value>::worst;
    bool some = false;

    template <class Shown>
    __device__ __forceinline__ void take(const row_batch<fold, In> &loaded,
                                         const batch_place &taken, Shown)
    {
        constexpr unsigned packs = packs_of_row<fold, In>;
        typename parts::part of_pack[packs], all[packs];
#pragma unroll
        for (unsigned p = 0; p < packs; p++)
            all[p] = of_pack[p] = parts::of_pack(loaded[p]);
        const value own = parts::of(best_by_halves(all, parts::best));
        if (some && !beats_best<Order>(own, best))
            return;
        best = own;
        some = true;
        unsigned number = 0;
        kept = loaded[0];
#pragma unroll
        for (unsigned p = packs; p-- > 0;) {
            const bool here = is_as_good(parts::of(of_pack[p]), own);
            number = here ? p : number;
#pragma unroll
            for (unsigned w = 0; w < 4; w++)
                kept.at[w] = here ? loaded[p].at[w] : kept.at[w];
        }
        first = taken.first + number * taken.apart;
    }

    __device__ __forceinline__ void take_single(In x, uint64_t position)
    {
        state = fold::merge(state, fold::lift(V(x), position));
    }

    __device__ __forceinline__ state_of<fold> all() const
    {
        if (!some)
            return state;
        const unsigned number = place_in_pack<value, In>(kept, best);
        return fold::merge(state, fold::lift(V(best), first + number));
    }
};

} // namespace KERNELS
