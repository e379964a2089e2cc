/* Extremes by key: the greatest of words that are in the order of values, or in its opposite, by
 * atomics in global memory. A word that is greater already, as most are, is only looked at; it may
 * be an older one, from a cache, since words only rise. */
#pragma once

#include "../values.cuh"
#include "elements.cuh"

namespace KERNELS
{

using ordered_word = unsigned long long; /* 0: no element has been there */

template <class V>
using bits_of_value = std::conditional_t<sizeof(V) == sizeof(uint32_t), uint32_t, uint64_t>;

__host__ __device__ constexpr bool is_signed_number(enum element type)
{
    return type != ELEMENT_UINT64;
}

/* Of positive floats bits are in order, and of negative ones in the opposite. NaN is the greatest,
 * whichever are asked for. */
template <class V>
__device__ __forceinline__ ordered_word ordered(V value, enum element input, bool least)
{
    using word = bits_of_value<V>;
    constexpr word sign = word(1) << (8 * sizeof(word) - 1), all = word(~word(0));
    word bits;
    memcpy(&bits, &value, sizeof bits);
    if (is_nan(value))
        return all;
    if constexpr (std::is_integral_v<V>)
        bits ^= is_signed_number(input) ? sign : 0;
    else
        bits ^= bits & sign ? all : sign;
    return word(least ? ~bits : bits);
}

__device__ __forceinline__ ordered_word word_so_far(global<const ordered_word> at)
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
    unsigned found = 0;
    each_of_key<V>(x, [&](uint64_t result, V value) {
        if (result >= x.results) {
            found |= x.outside;
        } else if (!(x.sums.leaves_out && is_nan(value))) {
            const ordered_word word = ordered(value, x.of.input, x.sums.least);
            if (word_so_far(x.words + result) < word)
                atomicMax(x.words + result, word);
        }
    });
    if (found)
        atomicOr(&x.found->bits, found);
}

/* The value of a type of 4 or 8 bytes that a word is of. */
__device__ __forceinline__ union scalar value_of_word(ordered_word word, enum element type,
                                                      bool least)
{
    const bool narrow = type == ELEMENT_FLOAT32, real = narrow || type == ELEMENT_FLOAT64;
    const ordered_word all = narrow ? uint32_t(~0u) : ~ordered_word(0), sign = all ^ all >> 1;
    union scalar value;
    value.c128.real = value.c128.imag = 0;
    const bool nan = real && word == all;
    ordered_word bits = least ? word ^ all : word;
    if (real)
        bits ^= bits & sign ? sign : all;
    else
        bits ^= is_signed_number(type) ? sign : 0;
    if (narrow)
        value.u32 = nan ? 0x7fc00000 : uint32_t(bits);
    else
        value.u64 = nan ? 0x7ff8000000000000 : bits;
    return value;
}

__global__ void store_extremes(SHARED_PARAMETER(keyed) x, enum element type, enum element out_type,
                               void *out, SHARED_PARAMETER(struct scalar_wide) of_none,
                               struct epilogue epilogue)
{
    const uint64_t k = result_to_finish(x, epilogue);
    if (k >= x.results)
        return;
    const ordered_word word = x.words[k];
    const struct scalar_wide value =
        word ? scalar_widen(value_of_word(word, type, x.sums.least), type) : of_none;
    scalar_store(static_cast<unsigned char *>(out) + k * x.sums.out_bytes,
                 scalar_narrow(value, out_type), out_type);
}

} // namespace KERNELS
