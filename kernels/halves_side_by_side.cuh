/* What a thread keeps of neighbouring columns of halves whose best are asked for, or its places:
 * words of two columns each, or a word a column; see side_by_side.cuh. A GPU converts and compares
 * halves one by one at a fraction of the rate at which it takes two of them at once. */
#pragma once

#include "loaded_packs.cuh"
#include "side_by_side.cuh"

namespace KERNELS
{

template <class In>
__device__ __forceinline__ In half_of_word(uint32_t word, unsigned k)
{
    return In{uint16_t(word >> k % 2 * 16)};
}

/* ---- values ---- */

template <class Fold, template <class> class Order, class In>
struct best_halves {
    static constexpr unsigned columns = pack<In>::size, words = columns / 2;
    uint32_t best[words];

    __device__ __forceinline__ best_halves()
    {
        using ends_of_type = extreme_elements<In>;
        const uint32_t worst =
            (Order<int>::worst > 0 ? ends_of_type::greatest() : ends_of_type::least()).bits;
#pragma unroll
        for (unsigned w = 0; w < words; w++)
            best[w] = worst << 16 | worst;
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t)
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            uint32_t of_rows[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                of_rows[r] = rows[r].at[w];
            best[w] = best_of_halves<Order, In>(best[w],
                                                best_by_halves(of_rows, best_of_halves<Order, In>));
        }
    }

    __device__ __forceinline__ float made(unsigned c, uint32_t) const
    {
        return float(half_of_word<In>(best[c / 2], c));
    }

    __device__ __forceinline__ float state(unsigned c, const rows_taken &, unsigned, unsigned) const
    {
        return made(c, 0);
    }
};

template <class V>
struct side_by_side<min<V>, float16> : best_halves<min<V>, by_least, float16> {};
template <class V>
struct side_by_side<max<V>, float16> : best_halves<max<V>, by_greatest, float16> {};
template <class V>
struct side_by_side<min<V>, bfloat16> : best_halves<min<V>, by_least, bfloat16> {};
template <class V>
struct side_by_side<max<V>, bfloat16> : best_halves<max<V>, by_greatest, bfloat16> {};

/* ---- places ---- */

/* Two halves as signed integers of which the greater is better: any NaN is the largest, and zeros
 * are equal. Least: of the halves' negatives. */
template <bool Least, class In>
__device__ __forceinline__ uint32_t ranks_of_halves(uint32_t word)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    /* A product with 1 and a sum with 0 change nothing but a zero's sign, and NaN, which becomes
     * 0x7fff. */
    constexpr uint32_t minus = Least ? 0x80008000 : 0;
    uint32_t plain;
    if constexpr (std::is_same_v<In, float16>)
        asm("fma.rn.f16x2 %0, %1, %2, %3;"
            : "=r"(plain)
            : "r"(word), "r"(0x3c003c00 | minus), "r"(0));
    else
        asm("fma.rn.bf16x2 %0, %1, %2, %3;"
            : "=r"(plain)
            : "r"(word), "r"(0x3f803f80 | minus), "r"(0));
    uint32_t signs; /* of each half, as often as it has bits */
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(signs) : "r"(plain));
    return plain ^ (signs & 0x7fff7fff);
#else
    uint32_t ranks = 0;
    for (unsigned k = 0; k < 32; k += 16) {
        const uint16_t half = uint16_t(word >> k), size = half & 0x7fff;
        const bool negative = size > 0 && (half >> 15 != 0) != Least;
        const uint16_t rank = size > extreme_elements<In>::greatest().bits ? 0x7fff
                              : negative                                   ? ~size
                                                                           : size;
        ranks |= uint32_t(rank) << k;
    }
    return ranks;
#endif
}

template <bool Least, class In>
__device__ __forceinline__ float half_of_rank(int16_t rank)
{
    const uint16_t half = uint16_t(rank < 0 ? rank ^ 0x7fff : rank);
    const float value = float(In{half});
    return Least ? -value : value;
}

/* A rank, and below it how many rows there may be after this one, so that of equals the first is
 * best: of a block's rows that number has 16 bits. */
template <class Fold, bool Least, class In>
struct best_ranks {
    static constexpr unsigned columns = pack<In>::size;
    static constexpr uint32_t last = 0xffff;
    static_assert(ROWS_A_BLOCK - 1 <= last, "a row's number is half of a word");
    int32_t key[columns];

    __device__ __forceinline__ best_ranks()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            key[c] = INT32_MIN;
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t first)
    {
#pragma unroll
        for (unsigned w = 0; w < columns / 2; w++) {
            uint32_t ranks[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                ranks[r] = ranks_of_halves<Least, In>(rows[r].at[w]);
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
                                                    unsigned repeats, unsigned part) const
    {
        return taken.count
                   ? Fold::lift(half_of_rank<Least, In>(int16_t(key[c] >> 16)),
                                taken.row(taken.number(made(c, taken.count)), repeats, part))
                   : Fold::identity();
    }
};

template <class V>
struct side_by_side<argmin<V>, float16> : best_ranks<argmin<V>, true, float16> {};
template <class V>
struct side_by_side<argmax<V>, float16> : best_ranks<argmax<V>, false, float16> {};
template <class V>
struct side_by_side<argmin<V>, bfloat16> : best_ranks<argmin<V>, true, bfloat16> {};
template <class V>
struct side_by_side<argmax<V>, bfloat16> : best_ranks<argmax<V>, false, bfloat16> {};

} // namespace KERNELS
