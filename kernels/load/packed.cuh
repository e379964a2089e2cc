/* How folds reduce 1-byte and 2-byte integers by words, converting few of them singly.
 *
 * packed<Fold, In> derives from std::true_type if a fold supports this, and has
 *
 *     template <unsigned N, class Positions>
 *     static void accumulate(state &s, const word_batch<In, N> &x, Positions at);
 *
 * where x is N words, at most a batch: 64 elements of one byte, or 32 of two. */
#pragma once

#include "../reductions.cuh"
#include "narrow.cuh"

namespace KERNELS
{

template <class Fold, class In, class = void>
struct packed : std::false_type {};

template <class In>
using enable_if_narrow = std::enable_if_t<packing<In>::bits != 0>;

template <class V, class In>
struct packed<sum<V>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(V &s, const word_batch<In, N> &x, Positions)
    {
        s = added(s, V(sum_of(x)));
    }
};

template <class In>
struct packed<prod<int64_t>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(int64_t &s, const word_batch<In, N> &x, Positions)
    {
        if constexpr (std::is_same_v<In, boolean>)
            s *= best_of<by_least>(x);
        else
#pragma unroll
            for (unsigned k = 0; k < N; k += 2) {
                const int64_t a = packing<In>::product(x.at[k]),
                              b = packing<In>::product(x.at[k + 1]);
                s = prod<int64_t>::merge(s, prod<int64_t>::merge(a, b));
            }
    }
};

template <class V, class In>
struct packed<nonzero<V>, In, std::enable_if_t<packing<In>::bits == 8>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(uint64_t &s, const word_batch<In, N> &x, Positions)
    {
        word_batch<boolean, N> truth;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            truth.at[k] = std::is_same_v<In, boolean> ? uint32_t(x.at[k])
                                                      : packing<boolean>::from_bits(x.at[k]);
        s += uint64_t(sum_of(truth));
    }
};

template <class V, template <class> class Order, class In>
struct packed<best_value<V, Order>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(V &s, const word_batch<In, N> &x, Positions)
    {
        s = better_of<Order>(s, V(best_of<Order>(x)));
    }
};

template <class V, class In>
struct packed<extremes<V>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(state_of<extremes<V>> &s, const word_batch<In, N> &x, Positions)
    {
        const auto all = extremes_of(x);
        s = extremes<V>::merge(s, {V(all.least), V(all.greatest)});
    }
};

/* Finds the batch's best value first, and its position only if it improves the state. */
template <class V, template <class> class Order, class In>
struct packed<position_of_best<V, Order>, In, enable_if_narrow<In>> : std::true_type {
    using fold = position_of_best<V, Order>;

    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(state_of<fold> &s, const word_batch<In, N> &x, Positions at)
    {
        const V best = V(best_of<Order>(x));
        if (s.index == UINT64_MAX || Order<V>::better(best, s.value))
            s = fold::merge(s, fold::lift(best, at(first_of(x, packing<In>::broadcast(best)))));
    }

  private:
    /* First the word, then the element in it. Rarely called, so it should use few registers. */
    template <unsigned N>
    FOLD_FUNCTION unsigned first_of(const word_batch<In, N> &x, uint32_t wanted)
    {
        constexpr unsigned bits = packing<In>::bits, count = packing<In>::count;
        uint32_t found = 0;
        unsigned first = 0;
#pragma unroll
        for (unsigned k = N; k-- > 0;) {
            const uint32_t equal = zero_elements<bits>(uint32_t(x.at[k]) ^ wanted);
            found = equal ? equal : found;
            first = equal ? k * count : first;
        }
        for (uint32_t lowest = 1u << (bits - 1); !(found & lowest); found >>= bits)
            first++;
        return first;
    }
};

/* Exact, since the number of elements is a power of two. */
template <class In, unsigned N>
__device__ __forceinline__ variance_state<double> batch_variance(const word_batch<In, N> &x)
{
    constexpr int count = N * packing<In>::count;
    const int64_t sum = sum_of(x), deviation = count * squares_of(x) - sum * sum;
    return {double(count), double(sum) * (1.0 / count), double(deviation) * (1.0 / count)};
}

template <class In>
struct packed<variance<double>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(variance_state<double> &s, const word_batch<In, N> &x, Positions)
    {
        s = merged(s, batch_variance(x));
    }
};

template <class In>
struct packed<norm2<double>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(state_of<norm2<double>> &s, const word_batch<In, N> &x, Positions)
    {
        s.middle += double(squares_of(x));
    }
};

template <class V, class In>
struct packed<summary<V>, In, enable_if_narrow<In>> : std::true_type {
    template <unsigned N, class Positions>
    FOLD_FUNCTION void accumulate(state_of<summary<V>> &s, const word_batch<In, N> &x, Positions at)
    {
        s.numbers = merged(s.numbers, batch_variance(x));
        packed<sum<typename summary<V>::total>, In>::accumulate(s.sum, x, at);
        packed<extremes<V>, In>::accumulate(s.ends, x, at);
    }
};

} // namespace KERNELS
