/* Reductions of 1-byte and 2-byte integers by 4-byte words: sums, sums of squares and extremes,
 * with a few instructions per word. */
#pragma once

#include "../reductions/extremes.cuh"

namespace KERNELS
{

/* ---- words ---- */

/* The bytes selected from a (0 to 3) and b (4 to 7) by hexadecimal digits, lowest first. */
__device__ __forceinline__ uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(a, b, selector);
#else
    const uint64_t both = uint64_t(b) << 32 | a;
    uint32_t word = 0;
    for (unsigned k = 0; k < 4; k++)
        word |= uint32_t(both >> 8 * (selector >> 4 * k & 7) & 0xff) << 8 * k;
    return word;
#endif
}

/* The minimum or maximum of each of two signed halves. */
template <bool Least>
__device__ __forceinline__ uint32_t best_of_signed_halves(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    return Least ? __vmins2(a, b) : __vmaxs2(a, b);
#else
    uint32_t word = 0;
    for (unsigned k = 0; k < 32; k += 16) {
        const int16_t x = int16_t(a >> k), y = int16_t(b >> k);
        word |= uint32_t(uint16_t((x < y) == Least ? x : y)) << k;
    }
    return word;
#endif
}

/* The low word of 8 bytes that are shifted right by `bytes`. */
__device__ __forceinline__ uint32_t funnel_shift_right(uint32_t low, uint32_t high, unsigned bytes)
{
#ifdef __CUDA_ARCH__
    return __funnelshift_r(low, high, 8 * bytes);
#else
    return uint32_t((uint64_t(high) << 32 | low) >> 8 * bytes);
#endif
}

template <class Word>
__device__ __forceinline__ Word shift_left(Word word, unsigned by)
{
    return Word(uint32_t(word) << by);
}

/* Element k of a word, counted from its lowest bits; sign-extended if Word is signed. */
template <unsigned Bits, class Word>
__device__ __forceinline__ Word extract_element(Word word, unsigned k)
{
    return shift_left(word, 32 - Bits - Bits * k) >> (32 - Bits);
}

/* Two or four elements per word. */
template <unsigned Bits, class Word>
struct packed_elements {
    using word = Word;
    static constexpr unsigned bits = Bits, count = 32 / Bits;
    static constexpr Word one = 1;

    FOLD_FUNCTION Word from_bits(uint32_t bits_of_word)
    {
        return Word(bits_of_word);
    }

    /* A word that repeats an element. */
    FOLD_FUNCTION uint32_t broadcast(Word x)
    {
        constexpr uint32_t mask = (1u << Bits) - 1;
        return (uint32_t(x) & mask) * (~0u / mask);
    }

    FOLD_FUNCTION Word sum(Word x, Word onto)
    {
#ifdef __CUDA_ARCH__
        if constexpr (Bits == 8)
            return __dp4a(x, Word(0x01010101), onto);
        else
            return __dp2a_lo(x, Word(0x0101), onto);
#else
        for (unsigned k = 0; k < count; k++)
            onto += extract_element<Bits>(x, k);
        return onto;
#endif
    }

    FOLD_FUNCTION int64_t squares(Word x, int64_t onto)
    {
#ifdef __CUDA_ARCH__
        if constexpr (Bits == 8) /* a batch's squares fit into a word */
            onto = __dp4a(x, x, Word(onto));
        else
#endif
#pragma unroll
            for (unsigned k = 0; k < count; k++)
                onto += int64_t(extract_element<Bits>(x, k)) * extract_element<Bits>(x, k);
        return onto;
    }

    /* The product fits into a word. */
    FOLD_FUNCTION Word product(Word x)
    {
        Word whole = extract_element<Bits>(x, 0);
#pragma unroll
        for (unsigned k = 1; k < count; k++)
            whole *= extract_element<Bits>(x, k);
        return whole;
    }
};

/* How an element type is packed in words. */
template <class In>
struct packing {
    static constexpr unsigned bits = 0;
};

template <>
struct packing<int8_t> : packed_elements<8, int> {};
template <>
struct packing<uint8_t> : packed_elements<8, unsigned> {};
template <>
struct packing<int16_t> : packed_elements<16, int> {};
template <>
struct packing<uint16_t> : packed_elements<16, unsigned> {};

/* Sets the highest bit of elements that are 0, and possibly of some above them. */
template <unsigned Bits>
__host__ __device__ __forceinline__ uint32_t zero_elements(uint32_t x)
{
    constexpr uint32_t ones = ~0u / ((1u << Bits) - 1); /* 1 in each element */
    return (x - ones) & ~x & (ones << (Bits - 1));
}

/* 0x80 in every byte that is not 0: adding 0x7f to the low bits carries into the highest bit. */
__host__ __device__ __forceinline__ uint32_t nonzero_bytes(uint32_t x)
{
    constexpr uint32_t low = 0x7f7f7f7f;
    return (((x & low) + low) | x) & ~low;
}

template <>
struct packing<boolean> : packed_elements<8, unsigned> {
    static constexpr word one = 0x80;

    FOLD_FUNCTION word from_bits(uint32_t bits_of_word)
    {
        return nonzero_bytes(bits_of_word);
    }

    FOLD_FUNCTION uint32_t broadcast(bool x)
    {
        return x ? nonzero_bytes(~0u) : 0;
    }
};

template <class In, unsigned N>
struct word_batch {
    typename packing<In>::word at[N];
};

/* ---- many words ---- */

template <class In, unsigned N>
__device__ __forceinline__ int64_t sum_of(const word_batch<In, N> &x)
{
    typename packing<In>::word sum = 0;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        sum = packing<In>::sum(x.at[k], sum);
    return sum / packing<In>::one;
}

template <class In, unsigned N>
__device__ __forceinline__ int64_t squares_of(const word_batch<In, N> &x)
{
    int64_t sum = 0;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        sum = packing<In>::squares(x.at[k], sum);
    return sum;
}

template <unsigned N>
__device__ __forceinline__ int64_t squares_of(const word_batch<boolean, N> &x)
{
    return sum_of(x);
}

template <class Word>
struct least_and_greatest {
    Word least, greatest;
};

/* The word with the best top element is itself the best word, so the extremes are at the top of the
 * best words, for each of the positions from which elements can be shifted to the top. */
template <class In, unsigned N>
__device__ __forceinline__ least_and_greatest<typename packing<In>::word>
extremes_of(const word_batch<In, N> &x)
{
    using word = typename packing<In>::word;
    constexpr unsigned bits = packing<In>::bits;
    least_and_greatest<word> all = {by_least<word>::worst, by_greatest<word>::worst};
#pragma unroll
    for (unsigned up = 0; up < 32; up += bits) {
        word low = shift_left(x.at[0], up), high = low;
#pragma unroll
        for (unsigned k = 1; k < N; k++) {
            const word top = shift_left(x.at[k], up);
            low = min_of_numbers(low, top);
            high = max_of_numbers(high, top);
        }
        all.least = min_of_numbers(all.least, low >> (32 - bits));
        all.greatest = max_of_numbers(all.greatest, high >> (32 - bits));
    }
    return all;
}

/* The minimum of booleans is whether all are true, the maximum whether any is. */
template <unsigned N>
__device__ __forceinline__ least_and_greatest<unsigned> extremes_of(const word_batch<boolean, N> &x)
{
    unsigned all = x.at[0], any = x.at[0];
#pragma unroll
    for (unsigned k = 1; k < N; k++) {
        all &= x.at[k];
        any |= x.at[k];
    }
    return {all == nonzero_bytes(~0u), any != 0};
}

template <template <class> class Order, class In, unsigned N>
__device__ __forceinline__ typename packing<In>::word best_of(const word_batch<In, N> &x)
{
    const auto all = extremes_of(x);
    constexpr bool is_least = Order<int>::worst > 0;
    return is_least ? all.least : all.greatest;
}

} // namespace KERNELS
