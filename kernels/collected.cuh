/* What a thread makes of batches of packs before it has a fold's state: most folds make a state at
 * once; some are quicker with what becomes one in the end. */
#pragma once

#include "loaded_packs.cuh"

namespace KERNELS
{

/* Packs of a batch: loads in flight a thread. */
constexpr unsigned packs_of_row = 4;

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

} // namespace KERNELS
