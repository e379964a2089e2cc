/* Extremes by key: the maximum of order-preserving (or order-reversing) words, by atomics in global
 * memory. Most words there are already greater, and are only read. The value read may be stale,
 * from a cache, since words only increase. */
#pragma once

#include "../values.cuh"
#include "elements.cuh"
#include "rank_key.cuh"

namespace KERNELS
{

using ordered_word = unsigned long long; /* 0: no element so far */

/* Reverses the order for minima. NaN is always the greatest. */
template <class K>
__device__ __forceinline__ K oriented(const rank_key<K> &codec, K key, bool least)
{
    return least && !(codec.infinity && key == rank_key<K>::nan) ? K(~key) : key;
}

template <class V>
__device__ __forceinline__ ordered_word to_ordered_word(V value, enum element input, bool least)
{
    using word = std::conditional_t<sizeof(V) == sizeof(uint32_t), uint32_t, uint64_t>;
    const rank_key<word> codec(
        std::is_integral_v<V> && input == ELEMENT_UINT64 ? ELEMENT_UINT64 : element_of<V>::value);
    word bits;
    memcpy(&bits, &value, sizeof bits);
    return oriented(codec, codec.template encode<!std::is_integral_v<V>>(bits), least);
}

__device__ __forceinline__ ordered_word load_word(global<const ordered_word> at)
{
#ifdef __CUDA_ARCH__
    return *at;
#else
    return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
}

template <class V>
__global__ void __launch_bounds__(1 << KEYS_BLOCK) extremes_by_key(SHARED_PARAMETER(keyed) x)
{
    unsigned flags = 0;
    each_element<V>(x, [&](uint64_t result, V value) {
        if (result >= x.results) {
            flags |= x.outside;
        } else if (!(x.sums.skips_nan && is_nan(value))) {
            const ordered_word word = to_ordered_word(value, x.of.input, x.sums.least);
            if (load_word(x.words + result) < word)
                atomicMax(x.words + result, word);
        }
    });
    if (flags)
        atomicOr(&x.found->bits, flags);
}

/* The value that a word encodes; K is as wide as the type. */
template <class K>
__device__ __forceinline__ union scalar from_ordered_word(ordered_word word, enum element type,
                                                          bool least)
{
    const rank_key<K> codec(type);
    return codec.value(oriented(codec, K(word), least));
}

__global__ void store_extremes(SHARED_PARAMETER(keyed) x, enum element type, enum element out_type,
                               void *out, SHARED_PARAMETER(struct scalar_wide) empty_result,
                               struct epilogue epilogue)
{
    const uint64_t k = result_to_finish(x, epilogue);
    if (k >= x.results)
        return;
    const ordered_word word = x.words[k];
    const union scalar found = type == ELEMENT_FLOAT32
                                   ? from_ordered_word<uint32_t>(word, type, x.sums.least)
                                   : from_ordered_word<uint64_t>(word, type, x.sums.least);
    const struct scalar_wide value = word ? scalar_widen(found, type) : empty_result;
    scalar_store(static_cast<unsigned char *>(out) + k * x.sums.out_bytes,
                 scalar_narrow(value, out_type), out_type);
}

} // namespace KERNELS
