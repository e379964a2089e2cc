/* Accumulators (accumulator.cuh) of variances. Bytes use exact sums of elements and squares. 16-bit
 * floats in rows use sums in float64, which every 2^6 words are turned into a mean and a sum of
 * squared deviations. All others update a mean and a sum of squared deviations. */
#pragma once

#include "accumulator_bytes.cuh"
#include "halves.cuh"

namespace KERNELS
{

/* Merges states of equal counts. */
struct equals {
    static __device__ __forceinline__ variance_state<double> merge(variance_state<double> a,
                                                                   variance_state<double> b)
    {
        return merge_equal_counts(a, b);
    }
};

/* Updates per batch of N rows. All columns have the same counts, so they share the division. After
 * the first N rows, a batch's deviations d from the mean of the n rows before it give
 *
 *     mean += sum(d) / (n + N)        S += sum(d^2) - sum(d)^2 / (n + N)
 *
 * which is the formula for merging states. As n >= N, by the Cauchy-Schwarz inequality at most N /
 * (n + N), that is half, of sum(d^2) is subtracted. */
template <class V, class In, unsigned Words>
struct accumulator<variance<V>, In, Words> {
    static constexpr unsigned columns = lanes_of<In, Words>;
    double mean[columns], deviation[columns];

    __device__ __forceinline__ accumulator() : mean(), deviation() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t before,
                                               unsigned valid = Rows)
    {
        if (before < Rows)
            accumulate_first(rows, before, valid);
        else
            accumulate_more(rows, before, valid);
    }

    __device__ __forceinline__ double partial(unsigned c, uint32_t) const
    {
        return deviation[c];
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c,
                                                           const accumulated_rows &rows) const
    {
        return {double(rows.count), mean[c], deviation[c]};
    }

    __device__ __forceinline__ state_of<variance<V>> merge_lanes(uint32_t count) const
    {
        return pairwise_merge<equals, columns, variance_state<double>>([&](unsigned c) {
            return variance_state<double>{double(count), mean[c], deviation[c]};
        });
    }

  private:
    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate_first(const Vector (&rows)[Rows], uint32_t before,
                                                     unsigned valid)
    {
        const double all = double(before) + valid, share = divide_counts(valid, all),
                     weight = double(before) * share,
                     inverse = valid == Rows ? 1.0 / Rows : divide_counts(1, valid);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            double x[Rows]; /* 0 in padding */
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                x[r] = element_to_double(element_at<In>(rows[r].at, c));
            const double batch_mean =
                sum_in_lanes<Rows, double>([&](unsigned r) { return x[r]; }) * inverse;
            const double deviations = sum_in_lanes<Rows, double>(
                [&](unsigned r) { return r < valid ? squared(x[r] - batch_mean) : 0.0; });
            const double delta = batch_mean - mean[c];
            mean[c] = before ? mean[c] + delta * share : batch_mean;
            deviation[c] = before ? deviation[c] + deviations + delta * delta * weight : deviations;
        }
    }

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate_more(const Vector (&rows)[Rows], uint32_t before,
                                                    unsigned valid)
    {
        const double inverse = divide_counts(1, double(before) + valid);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            double sum = 0, squares = 0;
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const double x = element_to_double(element_at<In>(rows[r].at, c)),
                             d = r < valid ? x - mean[c] : 0.0;
                sum = r == 0 ? d : sum + d;
                squares = r == 0 ? d * d : fma(d, d, squares);
            }
            const double share = sum * inverse;
            mean[c] += share;
            deviation[c] += fma(-sum, share, squares);
        }
    }
};

/* The same without NaNs, so that columns differ in their counts: sums of differences from a
 * reference number, and of their squares. The reference becomes the mean whenever the number of
 * rows has doubled, and every 2^6 rows. Without NaNs the numbers are then at most three times as
 * many as those that had this mean, so by the Cauchy-Schwarz inequality the squares add up to at
 * most three times the squared deviations. */
template <class V>
struct nanvariance_lane {
    using fold = nanvariance<V>;
    static constexpr uint32_t capacity = 1 << 6;
    V reference = 0;
    double sum = 0, squares = 0;
    uint32_t count = 0;

    template <unsigned Rows>
    __device__ __forceinline__ void accumulate(const V (&x)[Rows], uint32_t before, unsigned valid)
    {
        const uint32_t crossed = before ^ (before + Rows);
        if (count == 0)
            begin(x, valid);
        else if (crossed >= capacity || crossed > before)
            move_reference();
        double batch_sum = 0, batch_squares = 0;
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const bool counts = r < valid && !is_nan(x[r]);
            const double d = double(counts ? x[r] : reference) - double(reference);
            count += counts;
            batch_sum = r == 0 ? d : batch_sum + d;
            batch_squares = r == 0 ? d * d : fma(d, d, batch_squares);
        }
        sum += batch_sum;
        squares += batch_squares;
    }

    __device__ __forceinline__ state_of<nanvariance<V>> state(const accumulated_rows &) const
    {
        const double share = count ? divide_counts(sum, double(count)) : 0,
                     deviation = fma(-sum, share, squares);
        return {double(count), double(reference) + share, deviation < 0 ? 0 : deviation};
    }

  private:
    /* Start from the first number. */
    template <unsigned Rows>
    __device__ __forceinline__ void begin(const V (&x)[Rows], unsigned valid)
    {
#pragma unroll
        for (unsigned r = Rows; r-- > 0;)
            reference = r < valid && !is_nan(x[r]) ? x[r] : reference;
    }

    __device__ __forceinline__ void move_reference()
    {
        const double n = double(count), share = divide_counts(sum, n);
        const V next = V(double(reference) + share);
        const double shift = double(next) - double(reference), rest = fma(-n, shift, sum);
        squares = fma(-shift, sum + rest, squares);
        sum = rest;
        reference = next;
    }
};

template <class V, class In, unsigned Words>
struct accumulator<nanvariance<V>, In, Words>
    : accumulator_of_lanes<nanvariance_lane<V>, In, Words>, is_register_bound {};

template <class In, unsigned Words>
struct accumulator<nanvariance<complex<double>>, In, Words>
    : accumulator_of_lanes<state_lane<nanvariance<complex<double>>>, In, Words>,
      is_register_bound {};

template <class In, unsigned Words>
struct accumulator<variance<complex<double>>, In, Words>
    : accumulator_of_lanes<state_lane<variance<complex<double>>>, In, Words>, is_register_bound {};

/* Sums of 16-bit floats and of their squares over up to 2^6 words. A square has 22 bits, so both
 * are exact in float64 if magnitudes are within a factor of 2^12. Otherwise the sum of squared
 * deviations is at least half of the largest square, of which there are at most 2^6, and the
 * rounding errors of 2^4 successive additions are as small relative to it as a variance allows. */
template <class V, class In>
struct variances_of_halves {
    static constexpr unsigned columns = 2;
    static constexpr uint32_t capacity = 1 << 6;
    double sum[columns], squares[columns], mean[columns], deviation[columns];
    uint32_t greatest = 0; /* largest word without its sign, i.e. with the largest second element */
    uint32_t flushed = 0;

    __device__ __forceinline__ variances_of_halves() : sum(), squares(), mean(), deviation() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t before,
                                               unsigned = Rows)
    {
        if (before + Rows > flushed + capacity)
            flush(before);
        double row_sum[columns] = {}, square_sum[columns] = {};
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const two_halves<In> x(rows[r].at[0]);
            greatest = max_of_numbers(greatest, rows[r].at[0] & 0x7fffffff);
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                row_sum[c] = r == 0 ? x.at[c] : row_sum[c] + x.at[c];
                square_sum[c] = r == 0 ? x.at[c] * x.at[c] : fma(x.at[c], x.at[c], square_sum[c]);
            }
        }
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            sum[c] += row_sum[c];
            squares[c] += square_sum[c];
        }
    }

    __device__ __forceinline__ state_of<variance<V>> merge_lanes(uint32_t count) const
    {
        const pending_rows pending(flushed, count);
        const double nan = not_a_number<double>();
        const variance_state<double> all =
            pairwise_merge<equals, columns, variance_state<double>>([&](unsigned c) {
                const variance_state<double> state = merged_state(c, pending);
                return variance_state<double>{double(count), state.mean, state.deviation};
            });
        constexpr uint16_t infinity = ends<In>::greatest.bits;
        return greatest >> 16 < infinity ? all : variance_state<double>{all.count, nan, nan};
    }

  private:
    /* Factors that both columns share. */
    struct pending_rows {
        double count, inverse, share, weight;

        __device__ __forceinline__ pending_rows(uint32_t flushed, uint32_t total)
            : count(double(total - flushed)), inverse(divide_counts(1, count)),
              share(divide_counts(count, double(total))), weight(double(flushed) * share)
        {
        }
    };

    __device__ __forceinline__ variance_state<double>
    merged_state(unsigned c, const pending_rows &pending) const
    {
        const variance_state<double> state =
            variance_from_sums(sum[c], squares[c], pending.count, pending.inverse);
        if (flushed == 0)
            return state;
        const double delta = state.mean - mean[c];
        return {pending.count, mean[c] + delta * pending.share,
                deviation[c] + state.deviation + delta * delta * pending.weight};
    }

    __device__ __forceinline__ void flush(uint32_t total)
    {
        const pending_rows pending(flushed, total);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const variance_state<double> all = merged_state(c, pending);
            mean[c] = all.mean;
            deviation[c] = all.deviation;
            sum[c] = squares[c] = 0;
        }
        flushed = total;
    }
};

template <class V>
struct accumulator<variance<V>, float16, 1> : variances_of_halves<V, float16> {};

template <class V>
struct accumulator<variance<V>, bfloat16, 1> : variances_of_halves<V, bfloat16> {};

/* For columns whose results have the elements' own type, for which less precision suffices. */
template <class Fold, class In>
struct result_accumulator : accumulator<Fold, In> {};

/* Sums in float32 of a column's differences from a reference number, initially its first element,
 * and of their squares. The difference of two float16 numbers is rounded at most once.
 *
 * However far the reference is from the mean, the squares of n rows add up to at most n + 1 times
 * the squared deviations from the mean. So after every 2^6 rows the reference becomes the mean and
 * the sums are adjusted; from then on, at most half of the squares is ever subtracted. */
template <class V>
struct result_accumulator<variance<V>, float16> {
    static constexpr unsigned columns = pack<float16>::size;
    static constexpr uint32_t capacity = 1 << 6;
    float reference[columns], sum[columns], pending[columns], squares[columns];
    uint32_t flushed = 0;

    __device__ __forceinline__ result_accumulator() : reference(), sum(), pending(), squares() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t before)
    {
        if (before + Rows > flushed + capacity)
            flush(before);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            if (before == 0)
                reference[c] = float(element_at<float16>(rows[0].at, c));
            float row_sum = 0, square_sum = 0;
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const float d = float(element_at<float16>(rows[r].at, c)) - reference[c];
                row_sum = r == 0 ? d : row_sum + d;
                square_sum = r == 0 ? d * d : fmaf(d, d, square_sum);
            }
            sum[c] += row_sum;
            pending[c] += square_sum;
        }
    }

    /* NaN if any element is not finite. */
    __device__ __forceinline__ float partial(unsigned c, uint32_t count) const
    {
        const float all = fmaf(-sum[c], sum[c] * (1 / float(count)), squares[c] + pending[c]);
        return all < 0 ? 0 : all;
    }

    __device__ __forceinline__ state_of<variance<V>> merge_lanes(uint32_t count) const
    {
        return pairwise_merge<equals, columns, variance_state<double>>([&](unsigned c) {
            return variance_state<double>{double(count),
                                          double(reference[c]) + sum[c] * (1 / float(count)),
                                          partial(c, count)};
        });
    }

  private:
    __device__ __forceinline__ void flush(uint32_t total)
    {
        const float count = float(total), inverse = 1 / count;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const float next = fmaf(sum[c], inverse, reference[c]), shift = next - reference[c],
                        residual = fmaf(-count, shift, sum[c]);
            squares[c] = fmaf(-shift, sum[c] + residual, squares[c] + pending[c]);
            pending[c] = 0;
            sum[c] = residual;
            reference[c] = next;
        }
        flushed = total;
    }
};

/* Sums of 2^16 bytes and of their squares have 32 bits, so both are exact, and so is what `partial`
 * computes: count * squares is less than 2^48. */
template <class V, class In, unsigned Words>
struct byte_variances : merges_words, is_register_bound {
    static constexpr unsigned columns = 4 * Words;
    int32_t totals[columns];
    uint32_t squares[columns];

    __device__ __forceinline__ byte_variances() : totals(), squares() {}

    template <unsigned Rows, class Vector>
    __device__ __forceinline__ void accumulate(const Vector (&rows)[Rows], uint32_t,
                                               unsigned = Rows)
    {
        using bytes = integer_packing<In>;
        using word = typename bytes::word;
        for_each_byte_column(rows, [&](unsigned c, uint32_t elements) {
            const auto numbers = word(bytes_as_integers<In>(elements));
            totals[c] = int32_t(bytes::sum(numbers, word(totals[c])));
            squares[c] = uint32_t(bytes::squares(numbers, word(squares[c])));
        });
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            totals[c] += move(totals[c]);
            squares[c] += move(squares[c]);
        }
    }

    __device__ __forceinline__ double partial(unsigned c, uint32_t count) const
    {
        return double(int64_t(count) * squares[c] - int64_t(totals[c]) * totals[c]);
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c,
                                                           const accumulated_rows &rows) const
    {
        const double count = double(rows.count);
        return rows.count ? state_of<variance<V>>{count, divide_counts(totals[c], count),
                                                  divide_counts(partial(c, rows.count), count)}
                          : variance<V>::identity();
    }

    /* At most 2^20 elements: n * squares is less than 2^56. */
    __device__ __forceinline__ state_of<variance<V>> merge_lanes(uint32_t count) const
    {
        const int64_t n = int64_t(count) * columns;
        int64_t total = 0, square_sum = 0;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            total += totals[c];
            square_sum += squares[c];
        }
        return {double(n), divide_counts(double(total), double(n)),
                divide_counts(double(n * square_sum - total * total), double(n))};
    }
};

template <class V, unsigned Words>
struct accumulator<variance<V>, int8_t, Words> : byte_variances<V, int8_t, Words> {};

template <class V, unsigned Words>
struct accumulator<variance<V>, uint8_t, Words> : byte_variances<V, uint8_t, Words> {};

template <class V, unsigned Words>
struct accumulator<variance<V>, boolean, Words> : byte_variances<V, boolean, Words> {};

} // namespace KERNELS
