/* What a thread keeps of neighbouring columns where results are of the elements' own type: as
 * side_by_side.cuh has it, or less, since nobody asks for more. */
#pragma once

#include "halves_side_by_side.cuh"
#include "spreads_side_by_side.cuh"

namespace KERNELS
{

template <class Fold, class In>
struct lone_side_by_side : side_by_side<Fold, In> {};

/* Sums of differences from a number near a column's rows, its first to begin with, and of their
 * squares, in float32, which holds such a difference of halves but for one rounding.
 *
 * However far from the mean that number is, the squares of n rows sum up to n + 1 times what they
 * do of deviations at most. So it becomes the mean after 2^6 rows, and again after each 2^6: what
 * was summed up is moved along, and not more than half of the squares is ever lost then. */
template <class V>
struct lone_side_by_side<variance<V>, float16> {
    static constexpr unsigned columns = 8, words = columns / 2;
    static constexpr uint32_t most = 1 << 6;
    float from[columns], sum[columns], latest[columns], squares[columns];
    uint32_t settled = 0;

    __device__ __forceinline__ lone_side_by_side() : from(), sum(), latest(), squares() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t before)
    {
        if (before == 0)
#pragma unroll
            for (unsigned c = 0; c < columns; c++)
                from[c] = float(element_at<float16>(rows[0], c));
        if (before + Rows > settled + most)
            settle(before);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            float of_rows, of_squares;
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const float d = float(element_at<float16>(rows[r], c)) - from[c];
                of_rows = r == 0 ? d : of_rows + d;
                of_squares = r == 0 ? d * d : fmaf(d, d, of_squares);
            }
            sum[c] += of_rows;
            latest[c] += of_squares;
        }
    }

    __device__ __forceinline__ float made(unsigned c, uint32_t count) const
    {
        return deviation(c, 1 / float(count));
    }

    __device__ __forceinline__ float mean(unsigned c, uint32_t count) const
    {
        return fmaf(sum[c], 1 / float(count), from[c]);
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        if (taken.count == 0)
            return variance<V>::identity();
        const float inverse = 1 / float(taken.count);
        return {double(taken.count), double(from[c]) + double(sum[c] * inverse),
                double(deviation(c, inverse))};
    }

  private:
    /* NaN of what is not finite. */
    __device__ __forceinline__ float deviation(unsigned c, float inverse) const
    {
        const float all = fmaf(-sum[c], sum[c] * inverse, squares[c] + latest[c]);
        return all < 0 ? 0 : all;
    }

    __device__ __forceinline__ void settle(uint32_t taken)
    {
        const float count = float(taken), inverse = 1 / count;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const float next = fmaf(sum[c], inverse, from[c]), moved = next - from[c],
                        left = fmaf(-count, moved, sum[c]);
            squares[c] = fmaf(-moved, sum[c] + left, squares[c] + latest[c]);
            latest[c] = 0;
            sum[c] = left;
            from[c] = next;
        }
        settled = taken;
    }
};

} // namespace KERNELS
