/* What a thread makes of batches of packs before it has a fold's state: most folds make a state at
 * once; some are quicker with what becomes one in the end. */
#pragma once

#include "halves.cuh"
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

/* Spreads are of sums, of which a state is made once there are `enough`: a batch by itself takes no
 * division. */
template <class Sums>
__device__ __forceinline__ void count_taken(Sums &sums, unsigned more)
{
    sums.count += more;
    if (sums.count >= Sums::enough)
        sums.settle();
}

/* Sums of bytes and of their squares are exact in 32 bits. */
template <class In>
struct collected<variance<double>, In, std::enable_if_t<packing<In>::bits == 8>> {
    static constexpr unsigned enough = 1u << 16,
                              batch = packs_of_row<variance<double>, In> * pack<In>::size;
    static_assert(uint64_t(enough + batch) * 255 * 255 <= UINT32_MAX);
    using word = typename packing<In>::word;
    moments<double> state = variance<double>::identity();
    word sum = 0, squares = 0;
    unsigned count = 0;

    template <class Shown>
    __device__ __forceinline__ void take(const row_batch<variance<double>, In> &loaded,
                                         const batch_place &, Shown shown)
    {
        constexpr unsigned packs = packs_of_row<variance<double>, In>, N = packs * pack<In>::size;
        const in_words<In, 4 * packs> x = words_of_loaded<In, packs>(loaded);
#pragma unroll
        for (unsigned k = 0; k < 4 * packs; k++) {
            sum = packing<In>::sum(x.at[k], sum);
            squares = word(packing<In>::squares(x.at[k], squares));
        }
        count_taken(*this, shown.count(N));
    }

    __device__ __forceinline__ void take_single(In x, uint64_t)
    {
        sum += x;
        squares += word(x) * x;
        count_taken(*this, 1);
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
        const int64_t total = sum, deviation = int64_t(count) * squares - total * total;
        return {double(count), ratio_of_counts(double(total), count),
                ratio_of_counts(double(deviation), count)};
    }

    __device__ __forceinline__ moments<double> all() const
    {
        return merged(state, exact());
    }
};

/* Halves' sums and their squares' in float64. Where these numbers are so close to each other that
 * little is left of the squares, all of it is exact but for a last rounding: a square has 22 bits,
 * and the sum of 2^10 has 32, so that there is room for numbers 2^10 times as large as others.
 * Where some are smaller still, a 2^11th of the squares is left at least, and 2^10 roundings of
 * them are felt 2^21 / 2^53 at most. */
template <class In>
struct collected<variance<float>, In, std::enable_if_t<sizeof(In) == 2>> {
    using fold = variance<float>;
    static constexpr unsigned enough = 1u << 9, lanes = 2;
    moments<double> state = fold::identity();
    double sums[lanes] = {}, squares[lanes] = {};
    finite_halves<In> finite;
    unsigned count = 0;

    template <class Shown>
    __device__ __forceinline__ void take(const row_batch<fold, In> &loaded, const batch_place &,
                                         Shown shown)
    {
        constexpr unsigned size = pack<In>::size, N = packs_of_row<fold, In> * size;
#pragma unroll
        for (unsigned k = 0; k < N; k += 2) {
            const uint32_t word = loaded[k / size].at[k / 2 % 4]; /* 0 where there is none */
            const two_halves<In> x(word);
            finite.take(word);
#pragma unroll
            for (unsigned i = 0; i < 2; i++) {
                sums[i] += x.at[i];
                squares[i] = fma(x.at[i], x.at[i], squares[i]);
            }
        }
        count_taken(*this, shown.count(N));
    }

    __device__ __forceinline__ void take_single(In x, uint64_t)
    {
        const double wide = widened_element(x);
        sums[0] += wide;
        squares[0] = fma(wide, wide, squares[0]);
        count_taken(*this, 1);
    }

    __device__ __forceinline__ void settle()
    {
        const moments<double> made = all();
        *this = collected();
        state = made;
    }

    __device__ __forceinline__ moments<double> all() const
    {
        if (count == 0)
            return state;
        const double sum = sums[0] + sums[1], of_squares = squares[0] + squares[1];
        return merged(state, moments_of_sums(finite.are_all() ? sum : not_a_number<double>(),
                                             of_squares, count, ratio_of_counts(1, count)));
    }
};

/* Deviations are taken from the mean of all that came before, d of N numbers and n before them:
 *
 *     mean += sum(d) / (n + N)        S += sum(d^2) - sum(d)^2 / (n + N)
 *
 * which is the formula by which states merge; until there are many it is left to sums. By the
 * inequality of Cauchy and Schwarz no more than N / (n + N) of sum(d^2) is taken away again: half
 * of it at most, but of the first. Those are from the mean of the first batch of b, and (N - b) / N
 * is taken away at most; b is 1 where an element of no pack comes first. */
template <class V, class In>
struct collected<variance<V>, In, std::enable_if_t<sizeof(In) >= 4>> {
    using fold = variance<V>;
    static constexpr unsigned enough = 1u << 7, lanes = 2;
    moments<double> state = fold::identity();
    double from = 0, sums[lanes] = {}, squares[lanes] = {};
    unsigned count = 0;

    template <class Shown>
    __device__ __forceinline__ void take(const row_batch<fold, In> &loaded, const batch_place &,
                                         Shown shown)
    {
        constexpr unsigned packs = packs_of_row<fold, In>, N = packs * pack<In>::size;
        const values_of_packs<V, In, packs> x(loaded); /* 0 where there is none */
        const unsigned more = shown.count(N);
        if (is_first()) {
            const V inverse = V(ratio_of_counts(1, more));
            from = added_in_lanes<N, V>([&](unsigned k) { return x.at[k] * inverse; });
        }
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            take_deviation(k % lanes, shown(k) ? double(x.at[k]) - from : 0.0);
        count_taken(*this, more);
    }

    __device__ __forceinline__ void take_single(In x, uint64_t)
    {
        if (is_first())
            from = x;
        take_deviation(0, double(x) - from);
        count_taken(*this, 1);
    }

    __device__ __forceinline__ moments<double> all() const
    {
        if (count == 0)
            return state;
        const double sum = sums[0] + sums[1], of_squares = squares[0] + squares[1],
                     total = state.count + count, share = ratio_of_counts(sum, total);
        return {total, from + share, state.deviation + positive(fma(-sum, share, of_squares))};
    }

    __device__ __forceinline__ void settle()
    {
        const moments<double> made = all();
        *this = collected();
        state = made;
        from = made.mean;
    }

  private:
    __device__ __forceinline__ bool is_first() const
    {
        return count == 0 && state.count == 0;
    }

    __device__ __forceinline__ void take_deviation(unsigned lane, double d)
    {
        sums[lane] += d;
        squares[lane] = fma(d, d, squares[lane]);
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
    value best = Order<value>::worst, best_single = Order<value>::worst;
    uint64_t first = 0, single = UINT64_MAX; /* positions of what is kept, and of that single */
    loaded_pack kept;
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
        const value own = value(V(x));
        const bool equal = own == best_single || (is_nan(own) && is_nan(best_single));
        if (beats_best<Order>(own, best_single) || (equal && position < single)) {
            best_single = own;
            single = position;
        }
    }

    __device__ __forceinline__ state_of<fold> all() const
    {
        const state_of<fold> of_singles = fold::lift(V(best_single), single);
        if (!some)
            return of_singles;
        const unsigned number = place_in_pack<value, In>(kept, best);
        return fold::merge(of_singles, fold::lift(V(best), first + number));
    }
};

} // namespace KERNELS
