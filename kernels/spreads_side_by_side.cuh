/* What a thread keeps of neighbouring columns whose variances are asked for; see side_by_side.cuh.
 */
#pragma once

#include "halves.cuh"
#include "side_by_side.cuh"

namespace KERNELS
{

/* Of a few rows of a column: their mean, and the sum of squared deviations from it. */
struct few_rows {
    double mean, deviation;

    template <unsigned Rows, class In>
    __device__ __forceinline__ few_rows(In, const row_words (&rows)[Rows], unsigned c)
    {
        double values[Rows];
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            values[r] = widened_element(element_at<In>(rows[r], c));
        mean = added_in_lanes<Rows, double>([&](unsigned r) { return values[r]; }) * (1.0 / Rows);
        deviation =
            added_in_lanes<Rows, double>([&](unsigned r) { return squared(values[r] - mean); });
    }
};

/* A few rows at a time; all columns have the same counts, so that they share the division. As soon
 * as there were as many rows before, deviations are from their mean: collected.cuh says why. */
template <class V, class In>
struct side_by_side<variance<V>, In> {
    static constexpr unsigned columns = pack<In>::size;
    double mean[columns], deviation[columns];

    __device__ __forceinline__ side_by_side() : mean(), deviation() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t before)
    {
        if (before < Rows)
            take_first(rows, before);
        else
            take_more(rows, before);
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take_first(const row_words (&rows)[Rows], uint32_t before)
    {
        const double share = ratio_of_counts(Rows, double(before) + Rows),
                     weight = double(before) * share;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const few_rows few(In(), rows, c);
            const double delta = few.mean - mean[c];
            mean[c] = before ? mean[c] + delta * share : few.mean;
            deviation[c] =
                before ? deviation[c] + few.deviation + delta * delta * weight : few.deviation;
        }
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take_more(const row_words (&rows)[Rows], uint32_t before)
    {
        const double inverse = ratio_of_counts(1, double(before) + Rows);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            double sum, squares;
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const double d = double(element_at<In>(rows[r], c)) - mean[c];
                sum = r == 0 ? d : sum + d;
                squares = r == 0 ? d * d : fma(d, d, squares);
            }
            const double share = sum * inverse;
            mean[c] += share;
            deviation[c] += fma(-sum, share, squares);
        }
    }

    __device__ __forceinline__ double made(unsigned c, uint32_t) const
    {
        return deviation[c];
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        return {double(taken.count), mean[c], deviation[c]};
    }
};

/* Sums of halves and of their squares, of up to 2^6 rows. If magnitudes are within a factor of
 * 2^12, both are exact in float64, for a square has 22 bits; and otherwise what deviations make is
 * half of the largest square, of which the squares are 2^6 at most. Their roundings, of 2^4
 * additions one after the other, are then as far below it as a variance's may be. */
template <class V, class In>
struct spreads_of_halves {
    static constexpr unsigned columns = pack<In>::size, words = columns / 2;
    static constexpr uint32_t most = 1 << 6;
    struct leaves_no_registers; /* of 512 threads a multiprocessor */
    double sum[columns], squares[columns], mean[columns], deviation[columns];
    finite_halves<In> finite[words];
    uint32_t settled = 0;

    __device__ __forceinline__ spreads_of_halves() : sum(), squares(), mean(), deviation() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t before)
    {
        if (before + Rows > settled + most)
            settle(before);
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            double of_rows[2], of_squares[2];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const two_halves<In> x(rows[r].at[w]);
                finite[w].take(rows[r].at[w]);
#pragma unroll
                for (unsigned i = 0; i < 2; i++) {
                    of_rows[i] = r == 0 ? x.at[i] : of_rows[i] + x.at[i];
                    of_squares[i] =
                        r == 0 ? x.at[i] * x.at[i] : fma(x.at[i], x.at[i], of_squares[i]);
                }
            }
#pragma unroll
            for (unsigned i = 0; i < 2; i++) {
                sum[2 * w + i] += of_rows[i];
                squares[2 * w + i] += of_squares[i];
            }
        }
    }

    __device__ __forceinline__ double made(unsigned c, uint32_t count) const
    {
        const double deviation = all_of(c, latest_rows(settled, count)).deviation;
        return is_finite(c) ? deviation : not_a_number<double>();
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        if (taken.count == 0)
            return variance<V>::identity();
        const double count = double(taken.count), nan = not_a_number<double>();
        const moments<double> all = all_of(c, latest_rows(settled, taken.count));
        return {count, is_finite(c) ? all.mean : nan, is_finite(c) ? all.deviation : nan};
    }

  private:
    __device__ __forceinline__ bool is_finite(unsigned c) const
    {
        return c % 2 == 0 || finite[c / 2].are_all();
    }

    /* What all columns have in common. */
    struct latest_rows {
        double count, inverse, share, weight;

        __device__ __forceinline__ latest_rows(uint32_t settled, uint32_t taken)
            : count(double(taken - settled)), inverse(ratio_of_counts(1, count)),
              share(ratio_of_counts(count, double(taken))), weight(double(settled) * share)
        {
        }
    };

    __device__ __forceinline__ moments<double> all_of(unsigned c, const latest_rows &latest) const
    {
        const moments<double> own =
            moments_of_sums(sum[c], squares[c], latest.count, latest.inverse);
        if (settled == 0)
            return own;
        const double delta = own.mean - mean[c];
        return {latest.count, mean[c] + delta * latest.share,
                deviation[c] + own.deviation + delta * delta * latest.weight};
    }

    __device__ __forceinline__ void settle(uint32_t taken)
    {
        const latest_rows latest(settled, taken);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const moments<double> all = all_of(c, latest);
            mean[c] = all.mean;
            deviation[c] = all.deviation;
            sum[c] = squares[c] = 0;
        }
        settled = taken;
    }
};

template <class V>
struct side_by_side<variance<V>, float16> : spreads_of_halves<V, float16> {};

template <class V>
struct side_by_side<variance<V>, bfloat16> : spreads_of_halves<V, bfloat16> {};

/* Sums of 2^16 elements and of their squares are less than 2^31, so both are exact, and so is what
 * is left of them: count * squares is less than 2^46. */
template <class V>
struct side_by_side<variance<V>, int8_t> {
    static constexpr unsigned columns = 16;
    struct leaves_no_registers; /* of 512 threads a multiprocessor */
    struct merges_words;
    int32_t totals[columns], squares[columns];

    __device__ __forceinline__ side_by_side() : totals(), squares() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t)
    {
        each_column_of_bytes(rows, [&](unsigned c, uint32_t bytes) {
            totals[c] = packing<int8_t>::sum(int32_t(bytes), totals[c]);
            squares[c] = int32_t(packing<int8_t>::squares(int32_t(bytes), squares[c]));
        });
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            totals[c] += move(totals[c]);
            squares[c] += move(squares[c]);
        }
    }

    __device__ __forceinline__ double made(unsigned c, uint32_t count) const
    {
        return double(int64_t(count) * squares[c] - int64_t(totals[c]) * totals[c]);
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        const double count = double(taken.count);
        return taken.count ? state_of<variance<V>>{count, ratio_of_counts(totals[c], count),
                                                   ratio_of_counts(made(c, taken.count), count)}
                           : variance<V>::identity();
    }
};

} // namespace KERNELS
