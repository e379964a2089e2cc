/* Packs of elements of a known type in a thread's registers, and how folds take several in at once.
 */
#pragma once

#include "stand_in.cuh"
#include "vector.cuh"

namespace KERNELS
{

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

} // namespace KERNELS
