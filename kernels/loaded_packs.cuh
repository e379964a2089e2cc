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

/* ---- the best of packs ---- */

/* Whether a value comes before the best so far: NaN before any number, and nothing before NaN. */
template <template <class> class Order, class V>
__device__ __forceinline__ bool beats_best(V x, V best)
{
    if constexpr (Order<V>::worst > 0)
        return !(x >= best) && !is_nan(best);
    else
        return !(x <= best) && !is_nan(best);
}

/* Whether a value is equal to the best of all, among which it is: of NaNs each is as good. */
template <class V>
__device__ __forceinline__ bool is_as_good(V x, V best)
{
    return is_nan(x) || x == best;
}

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
    return beats_best<Order>(b, a) ? b : a;
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
        const bool stays = !beats_best<Order>(float(In{other}), float(In{own}));
        best |= uint32_t(stays ? own : other) << 16 * k;
    }
    return best;
#endif
}

/* The best of N, a power of two, by halves: few wait for each other. */
template <unsigned N, class Part, class Best>
__device__ __forceinline__ Part best_by_halves(Part (&parts)[N], Best best)
{
#pragma unroll
    for (unsigned half = N / 2; half > 0; half /= 2)
#pragma unroll
        for (unsigned k = 0; k < half; k++)
            parts[k] = best(parts[k], parts[k + half]);
    return parts[0];
}

/* The best of packs is found by parts: one of a pack, the better of two, and at last the value that
 * it stands for. Of floats as wide as values a part is a value. */
template <template <class> class Order, class V, class In, unsigned Bytes = sizeof(In)>
struct best_part {
    using value = V;
    using part = V;

    static __device__ __forceinline__ part best(part a, part b)
    {
        return best_or_nan<Order>(a, b);
    }

    static __device__ __forceinline__ part of_pack(const loaded_pack &loaded)
    {
        values_of_packs<V, In, 1> x(&loaded);
        return best_by_halves(x.at, best);
    }

    static __device__ __forceinline__ value of(part x)
    {
        return x;
    }
};

/* Two halves. */
template <template <class> class Order, class V, class In>
struct best_part<Order, V, In, 2> {
    using value = V;
    using part = uint32_t;

    static __device__ __forceinline__ part best(part a, part b)
    {
        return best_of_halves<Order, In>(a, b);
    }

    static __device__ __forceinline__ part of_pack(const loaded_pack &loaded)
    {
        loaded_pack words = loaded;
        return best_by_halves(words.at, best);
    }

    static __device__ __forceinline__ value of(part x)
    {
        return best_or_nan<Order>(V(In{uint16_t(x)}), V(In{uint16_t(x >> 16)}));
    }
};

/* Signed bytes on top of halves, whatever is below them: odd ones as they are, and even ones moved
 * up. */
template <template <class> class Order, class V, class In>
struct best_part<Order, V, In, 1> {
    using value = int;
    using part = uint32_t;
    static_assert(std::is_same_v<In, int8_t>, "signed bytes only");

    static __device__ __forceinline__ part best(part a, part b)
    {
        return best_of_signed_halves<(Order<int>::worst > 0)>(a, b);
    }

    static __device__ __forceinline__ part of_pack(const loaded_pack &loaded)
    {
        part words[8];
#pragma unroll
        for (unsigned k = 0; k < 4; k++) {
            words[k] = loaded.at[k];
            words[k + 4] = moved_up(loaded.at[k], 8);
        }
        return best_by_halves(words, best);
    }

    static __device__ __forceinline__ value of(part x)
    {
        return int(best(x, moved_up(x, 16))) >> 24;
    }
};

/* The best value of so many packs; NaN is better than any. */
template <template <class> class Order, class V, class In, unsigned Packs>
__device__ __forceinline__ V best_of_packs(const loaded_pack *loaded)
{
    using parts = best_part<Order, V, In>;
    typename parts::part of_pack[Packs];
#pragma unroll
    for (unsigned p = 0; p < Packs; p++)
        of_pack[p] = parts::of_pack(loaded[p]);
    return V(parts::of(best_by_halves(of_pack, parts::best)));
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

template <template <class> class Order, class V, class In>
struct of_packs_of_extremes {
    template <unsigned Packs, class Shown>
    static __device__ __forceinline__ void take(V &state, const loaded_pack *loaded,
                                                const in_runs<pack<In>::size> &, Shown)
    {
        state = best_or_nan<Order>(state, best_of_packs<Order, V, In, Packs>(loaded));
    }
};

template <class In>
struct of_packs<min<float>, In> : of_packs_of_extremes<by_least, float, In> {};
template <class In>
struct of_packs<max<float>, In> : of_packs_of_extremes<by_greatest, float, In> {};
template <class V>
struct of_packs<min<V>, int8_t> : of_packs_of_extremes<by_least, V, int8_t> {};
template <class V>
struct of_packs<max<V>, int8_t> : of_packs_of_extremes<by_greatest, V, int8_t> {};

/* Takes packs in, `apart` elements from each other, the first of which begins at position `first`.
 */
template <class Fold, class In, unsigned Packs, class Shown>
__device__ __forceinline__ void take_loaded(state_of<Fold> &state,
                                            const loaded_pack (&loaded)[Packs], uint64_t first,
                                            uint64_t apart, Shown shown)
{
    constexpr unsigned size = pack<In>::size, together = packs_together<Fold, In, Packs>();
#pragma unroll
    for (unsigned p = 0; p < Packs; p += together)
        of_packs<Fold, In>::template take<together>(
            state, loaded + p, in_runs<size>{first + p * apart, apart}, shown.from(p * size));
}

} // namespace KERNELS
