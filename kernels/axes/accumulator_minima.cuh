/* Accumulators (accumulator.cuh) of the minima of 1-byte and 2-byte elements, in words of two lanes
 * each, and of their positions, in one word per lane. A GPU converts and compares 16-bit floats
 * singly at a fraction of the rate of its instructions for pairs. */
#pragma once

#include "accumulator.cuh"

namespace KERNELS
{

/* ---- minima ---- */

/* The minimum of each half of two words. A half is a 2-byte element, or has a byte element at its
 * top, above arbitrary bits. NaN sorts before any number. */
template <class In>
struct least_of_halves {
    static __device__ __forceinline__ uint32_t merge(uint32_t a, uint32_t b)
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
            const uint16_t first = uint16_t(a >> 16 * k), other = uint16_t(b >> 16 * k);
            const float x = float(element_at<In>({a}, k)), y = float(element_at<In>({b}, k));
            best |= uint32_t(is_nan(x) || y >= x ? first : other) << 16 * k;
        }
#endif
        return best;
    }
};

/* Minima of 1-byte and 2-byte elements, two per word. To place even bytes at the top of a half,
 * words are shifted left by a byte. */
template <class V, class In, unsigned Words>
struct least_halves {
    using least = least_of_halves<In>;
    static constexpr unsigned columns = lanes_of<In, Words>, words = columns / 2,
                              together = words / Words;
    uint32_t best[words];

    __device__ __forceinline__ least_halves()
    {
        constexpr In greatest = ends<In>::greatest;
        fill(best, broadcast_vector(greatest).at[0]);
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t,
                                               unsigned = Rows)
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            const auto row = [&](unsigned r) {
                return rows[r].at[w / together] << (together - 1 - w % together) * 8;
            };
            if constexpr (std::is_integral_v<In>) /* a three-way minimum instruction */
#pragma unroll
                for (unsigned r = 0; r < Rows; r++)
                    best[w] = least::merge(best[w], row(r));
            else
                best[w] = least::merge(best[w], pairwise_merge<least, Rows, uint32_t>(row));
        }
    }

    __device__ __forceinline__ In element(unsigned c) const
    {
        constexpr unsigned per_word = sizeof(uint32_t) / sizeof(In);
        const unsigned at = c % per_word / together;
        return element_at<In>({best[c / per_word * together + c % together]},
                              (at + 1) * together - 1);
    }

    __device__ __forceinline__ auto partial(unsigned c, uint32_t) const
    {
        return std::conditional_t<std::is_integral_v<In>, int, V>(element(c));
    }

    __device__ __forceinline__ V state(unsigned c, const accumulated_rows &) const
    {
        return V(element(c));
    }

    __device__ __forceinline__ V merge_lanes(uint32_t) const
    {
        const uint32_t all =
            pairwise_merge<least, words, uint32_t>([&](unsigned w) { return best[w]; });
        return V(element_at<In>({least::merge(all, all << 16)}, 4 / sizeof(In) - 1));
    }
};

template <class V, unsigned Words>
struct accumulator<min<V>, int8_t, Words> : least_halves<V, int8_t, Words>, merges_words {
    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (uint32_t &word : this->best)
            word = best_of_signed_halves<true>(word, move(word));
    }
};

template <class V, unsigned Words>
struct accumulator<min<V>, float16, Words> : least_halves<V, float16, Words> {};
template <class V, unsigned Words>
struct accumulator<min<V>, bfloat16, Words> : least_halves<V, bfloat16, Words> {};
template <class V, unsigned Words>
struct accumulator<min<V>, int16_t, Words> : least_halves<V, int16_t, Words> {};

/* Both extremes of 1-byte and 2-byte integers: maxima are found as minima of inverted elements.
 * Invalid vectors are replaced by the first, since no padding is neutral for both. */
template <class V, class In, unsigned Words>
struct extreme_halves {
    static constexpr unsigned columns = lanes_of<In, Words>;
    using state_type = state_of<extremes<V>>;
    least_halves<V, In, Words> least, inverted;

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t before,
                                               unsigned valid = Rows)
    {
        Vector padded[Rows], opposite[Rows];
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
#pragma unroll
            for (unsigned w = 0; w < Words; w++) {
                padded[r].at[w] = r < valid ? rows[r].at[w] : rows[0].at[w];
                opposite[r].at[w] = ~padded[r].at[w];
            }
        least.accumulate(padded, before);
        inverted.accumulate(opposite, before);
    }

    __device__ __forceinline__ state_type state(unsigned c, const accumulated_rows &) const
    {
        return {V(least.element(c)), V(~inverted.element(c))};
    }

    __device__ __forceinline__ state_type merge_lanes(uint32_t count) const
    {
        return {least.merge_lanes(count), V(~inverted.merge_lanes(count))};
    }
};

template <class V, unsigned Words>
struct accumulator<extremes<V>, int8_t, Words> : extreme_halves<V, int8_t, Words> {};
template <class V, unsigned Words>
struct accumulator<extremes<V>, int16_t, Words> : extreme_halves<V, int16_t, Words> {};

/* ---- positions ---- */

/* Map the two or four elements of a word to signed integers of the same order. NaN maps to the
 * lowest integer, and both zeros map to the same. */
template <class In>
__device__ __forceinline__ uint32_t ranks_of_word(uint32_t word)
{
    if constexpr (std::is_integral_v<In>)
        return word;
    uint32_t ranks = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    /* fma(word, -1, 0) negates each half, and turns NaN into 0x7fff. */
    uint32_t negative, signs; /* `signs` repeats each half's sign bit in all of its bits */
    if constexpr (std::is_same_v<In, float16>)
        asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(negative) : "r"(word), "r"(0xbc00bc00), "r"(0));
    else
        asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(negative) : "r"(word), "r"(0xbf80bf80), "r"(0));
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(signs) : "r"(negative));
    /* negative ^ ~(signs & 0x7fff7fff), for which compilers emit two instructions. */
    asm("lop3.b32 %0, %1, %2, %3, 0x87;"
        : "=r"(ranks)
        : "r"(negative), "r"(signs), "r"(0x7fff7fff));
#else
    constexpr In greatest = ends<In>::greatest;
    const uint16_t infinity = uint16_t(broadcast_vector(greatest).at[0]);
    for (unsigned k = 0; k < 2; k++) {
        const uint16_t half = uint16_t(word >> 16 * k), size = half & 0x7fff;
        const uint16_t rank = size > infinity ? 0x8000 : half > 0x8000 || size == 0 ? ~size : size;
        ranks |= uint32_t(rank) << 16 * k;
    }
#endif
    return ranks;
}

/* The inverse of ranks_of_word, for one element. */
template <class In>
__device__ __forceinline__ auto element_of_rank(int rank)
{
    if constexpr (std::is_integral_v<In>)
        return rank;
    else
        return float(In{uint16_t(rank < 0 ? rank ^ 0x7fff : rank)});
}

/* A rank and the row number in its low bits: the least key is the first minimum. */
template <class Fold, class In, unsigned Words>
struct least_keys {
    static constexpr unsigned columns = lanes_of<In, Words>, per_word = columns / Words,
                              bits = 32 - 32 / per_word;
    static constexpr uint32_t numbers = (1u << bits) - 1;
    static_assert(ROWS_PER_BLOCK - 1 <= numbers, "a row's number is below the rank");
    int32_t key[columns];

    __device__ __forceinline__ least_keys()
    {
        fill(key, INT32_MAX);
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t first,
                                               unsigned = Rows)
    {
        constexpr unsigned lowest = per_word == 4 ? 0x4210 : 0x5410,
                           next = per_word == 4 ? 0x1000 : 0x2200;
#pragma unroll
        for (unsigned w = 0; w < Words; w++)
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const uint32_t ranks = ranks_of_word<In>(rows[r].at[w]);
#pragma unroll
                for (unsigned k = 0; k < per_word; k++) {
                    int32_t &best = key[per_word * w + k];
                    best = min_of_numbers(
                        best, int32_t(permute_bytes(first + r, ranks, lowest + k * next)));
                }
            }
    }

    __device__ __forceinline__ unsigned partial(unsigned c, uint32_t count) const
    {
        return count == 0 ? 0 : key[c] & numbers;
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const accumulated_rows &rows) const
    {
        const uint32_t number = partial(c, rows.count);
        return rows.count ? Fold::lift(element_of_rank<In>(key[c] >> bits),
                                       rows.row(per_word == 4 ? number : rows.number(number)))
                          : Fold::identity();
    }

    __device__ __forceinline__ found<value_of<Fold>> merge_lanes(uint32_t) const
    {
        int32_t best = key[0];
        unsigned lane = 0;
#pragma unroll
        for (unsigned c = 1; c < columns; c++) {
            lane = key[c] < best ? c : lane;
            best = min_of_numbers(key[c], best);
        }
        return {value_of<Fold>(element_of_rank<In>(best >> bits)), best & numbers, lane};
    }
};

template <class V, unsigned Words>
struct accumulator<argmin<V>, int8_t, Words> : least_keys<argmin<V>, int8_t, Words>, merges_words {
    using keys = least_keys<argmin<V>, int8_t, Words>;
    using keys::key;

    /* Replace the thread's own row numbers by numbers in the team. */
    __device__ __forceinline__ void number_in_team(const accumulated_rows &rows)
    {
#pragma unroll
        for (int32_t &best : key)
            best = int32_t((uint32_t(best) & ~keys::numbers) | rows.number(best & keys::numbers));
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (int32_t &best : key)
            best = min_of_numbers(best, move(best));
    }
};

template <class V, unsigned Words>
struct accumulator<argmin<V>, boolean, Words> : accumulator<argmin<V>, int8_t, Words> {};

template <class V, unsigned Words>
struct accumulator<argmin<V>, float16, Words> : least_keys<argmin<V>, float16, Words> {};
template <class V, unsigned Words>
struct accumulator<argmin<V>, bfloat16, Words> : least_keys<argmin<V>, bfloat16, Words> {};
template <class V, unsigned Words>
struct accumulator<argmin<V>, int16_t, Words> : least_keys<argmin<V>, int16_t, Words> {};

} // namespace KERNELS
