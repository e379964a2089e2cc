/* Accumulators of the minima of elements of 16 bits, and of their positions (accumulator.cuh):
 * words of two lanes each, or a word a lane. A GPU converts and compares halves one by one at a
 * fraction of the rate at which it takes two of them at once. */
#pragma once

#include "accumulator.cuh"
#include "neutral.cuh"

namespace KERNELS
{

template <class In>
__device__ __forceinline__ In half_of_word(uint32_t word, unsigned k)
{
    const uint16_t bits = uint16_t(word >> k % 2 * 16);
    In half;
    memcpy(&half, &bits, sizeof half);
    return half;
}

/* ---- values ---- */

/* Two halves a word, and the less of each half of two words; NaN comes before any number, and
 * nothing before NaN. */
template <class In>
__device__ __forceinline__ uint32_t least_of_halves(uint32_t a, uint32_t b)
{
    if constexpr (std::is_integral_v<In>)
        return best_of_signed_halves<true>(a, b);
    uint32_t best = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (std::is_same_v<In, float16>)
        asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
    else
        asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(best) : "r"(a), "r"(b));
#else
    for (unsigned k = 0; k < 2; k++) {
        const uint16_t own = uint16_t(a >> 16 * k), other = uint16_t(b >> 16 * k);
        const float x = float(half_of_word<In>(own, 0)), y = float(half_of_word<In>(other, 0));
        best |= uint32_t(is_nan(x) || y >= x ? own : other) << 16 * k;
    }
#endif
    return best;
}

/* The best of N, a power of two, by halves: few wait for each other. */
template <unsigned N, class Best>
__device__ __forceinline__ uint32_t best_by_halves(uint32_t *parts, Best best)
{
    if constexpr (N > 1) {
#pragma unroll
        for (unsigned k = 0; k < N / 2; k++)
            parts[k] = best(parts[k], parts[k + N / 2]);
        return best_by_halves<N / 2>(parts, best);
    }
    return parts[0];
}

template <class V, class In, unsigned Words>
struct best_halves {
    static constexpr unsigned columns = lanes_of<In, Words>, words = columns / 2;
    uint32_t best[words];

    __device__ __forceinline__ best_halves()
    {
        const vec16 greatest = vector_of(extreme_elements<In>::greatest());
#pragma unroll
        for (unsigned w = 0; w < words; w++)
            best[w] = greatest.at[w];
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t, unsigned = Rows)
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            uint32_t of_rows[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                of_rows[r] = rows[r].at[w];
            best[w] =
                least_of_halves<In>(best[w], best_by_halves<Rows>(of_rows, least_of_halves<In>));
        }
    }

    __device__ __forceinline__ V made(unsigned c, uint32_t) const
    {
        return V(half_of_word<In>(best[c / 2], c));
    }

    __device__ __forceinline__ V state(unsigned c, const rows_taken &, unsigned, unsigned) const
    {
        return made(c, 0);
    }

    __device__ __forceinline__ V across(uint32_t) const
    {
        uint32_t of_words[words];
#pragma unroll
        for (unsigned w = 0; w < words; w++)
            of_words[w] = best[w];
        const uint32_t all = best_by_halves<words>(of_words, least_of_halves<In>);
        return V(half_of_word<In>(least_of_halves<In>(all, all >> 16), 0));
    }
};

template <class V, unsigned Words>
struct accumulator<min<V>, float16, Words> : best_halves<V, float16, Words> {};
template <class V, unsigned Words>
struct accumulator<min<V>, bfloat16, Words> : best_halves<V, bfloat16, Words> {};
template <class V, unsigned Words>
struct accumulator<min<V>, int16_t, Words> : best_halves<V, int16_t, Words> {};

/* ---- places ---- */

/* Two halves as signed integers of which the greatest is wanted. Of floats these are the order of
 * their negatives: any NaN is the largest, and zeros are equal. */
template <class In>
__device__ __forceinline__ uint32_t ranks_of_halves(uint32_t word)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    /* A product with -1 and a sum with 0 change nothing but signs, and NaN, which becomes
     * 0x7fff. */
    uint32_t plain;
    if constexpr (std::is_same_v<In, float16>)
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(plain) : "r"(word), "r"(0xbc00bc00), "r"(0));
    else
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(plain) : "r"(word), "r"(0xbf80bf80), "r"(0));
    uint32_t signs; /* of each half, as often as it has bits */
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(signs) : "r"(plain));
    return plain ^ (signs & 0x7fff7fff);
#else
    uint32_t ranks = 0;
    for (unsigned k = 0; k < 32; k += 16) {
        const uint16_t half = uint16_t(word >> k), size = half & 0x7fff;
        const bool negative = size > 0 && half >> 15 == 0;
        const uint16_t rank = size > extreme_elements<In>::greatest().bits ? 0x7fff
                              : negative                                   ? ~size
                                                                           : size;
        ranks |= uint32_t(rank) << k;
    }
    return ranks;
#endif
}

template <class In>
__device__ __forceinline__ auto half_of_rank(int16_t rank)
{
    const uint16_t half = uint16_t(rank < 0 ? rank ^ 0x7fff : rank);
    return -float(In{half});
}

template <>
__device__ __forceinline__ uint32_t ranks_of_halves<int16_t>(uint32_t word)
{
    return ~word;
}

template <>
__device__ __forceinline__ auto half_of_rank<int16_t>(int16_t rank)
{
    return int16_t(~rank);
}

/* A rank, and below it how many rows there may be after this one, so that of equals the first is
 * best: of a block's rows that number has 16 bits. */
template <class Fold, class In, unsigned Words>
struct best_ranks {
    static constexpr unsigned columns = lanes_of<In, Words>;
    static constexpr uint32_t last = 0xffff;
    static_assert(ROWS_A_BLOCK - 1 <= last, "a row's number is half of a word");
    int32_t key[columns];

    __device__ __forceinline__ best_ranks()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            key[c] = INT32_MIN;
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void take(const Vector (&rows)[Rows], uint32_t first,
                                         unsigned = Rows)
    {
#pragma unroll
        for (unsigned w = 0; w < columns / 2; w++) {
            uint32_t ranks[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                ranks[r] = ranks_of_halves<In>(rows[r].at[w]);
#pragma unroll
            for (unsigned c = 2 * w; c < 2 * w + 2; c++)
#pragma unroll
                for (unsigned r = 0; r < Rows; r++)
                    key[c] =
                        greatest_number(key[c], int32_t(selected_bytes(last - (first + r), ranks[r],
                                                                       c % 2 ? 0x7610 : 0x5410)));
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t count) const
    {
        return count == 0 ? 0 : last - (uint32_t(key[c]) & last);
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken,
                                                    unsigned coalesced, unsigned part) const
    {
        return taken.count
                   ? Fold::lift(half_of_rank<In>(int16_t(key[c] >> 16)),
                                taken.row(taken.number(made(c, taken.count)), coalesced, part))
                   : Fold::identity();
    }

    __device__ __forceinline__ found<value_of<Fold>> across(uint32_t) const
    {
        int32_t best = key[0];
        unsigned lane = 0;
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            lane = key[c] > best ? c : lane;
            best = greatest_number(key[c], best);
        }
        return {half_of_rank<In>(int16_t(best >> 16)), last - (uint32_t(best) & last), lane};
    }
};

template <class V, unsigned Words>
struct accumulator<argmin<V>, float16, Words> : best_ranks<argmin<V>, float16, Words> {};
template <class V, unsigned Words>
struct accumulator<argmin<V>, bfloat16, Words> : best_ranks<argmin<V>, bfloat16, Words> {};
template <class V, unsigned Words>
struct accumulator<argmin<V>, int16_t, Words> : best_ranks<argmin<V>, int16_t, Words> {};

} // namespace KERNELS
