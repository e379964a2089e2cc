/* Variances of short rows, and norms of short rows of bytes (row_folds.cuh). */
#pragma once

#include "row_folds.cuh"

namespace KERNELS
{

template <class Result>
struct row_fold_of_deviations {
    using result = Result; /* computed from the sum of squared deviations from the mean */

    static __device__ __forceinline__ Result result_of(double deviation, const row_numbers &numbers)
    {
        return rounded(numbers.dof(deviation), numbers);
    }

  protected:
    static __device__ __forceinline__ Result rounded(double spread, const row_numbers &numbers)
    {
        return round_to<Result>(numbers.root ? sqrt(spread) : spread);
    }
};

/* The result type of a variance: float64 for integers. */
template <class In>
using variance_result = std::conditional_t<std::is_integral_v<In>, double, In>;

/* Sums of differences from a reference number, and of their squares, in float64. The reference is
 * the mean, rounded to the elements' own type, so a row is read twice from registers or shared
 * memory. The sum of differences tells its distance from the true mean; the error of the squares is
 * relative to the squared deviations plus n times that distance squared.
 *
 * 16-bit floats need no reference. If their magnitudes are within a factor of 2^10, the sum of up
 * to 2^11 squares is exact. Otherwise the squared deviations add up to at least half of the largest
 * square, of which there are at most n, so the relative error is at most 2 n^2 / 2^53. */
template <class V, class In>
struct row_fold<variance<V>, In, false> : row_fold_of_deviations<variance_result<In>> {
    static constexpr bool compensated = std::is_same_v<variance_result<In>, double>;
    static constexpr unsigned lanes = 2;

    struct shifted_sums {
        double sum, squares, error; /* excess of squares */

        static __device__ __forceinline__ shifted_sums merge(shifted_sums a, shifted_sums b)
        {
            return {a.sum + b.sum, a.squares + b.squares, compensated ? a.error + b.error : 0};
        }
    };

    template <class Row>
    static __device__ __forceinline__ double reduce(const Row &row, const row_numbers &numbers)
    {
        const double mean = rough_mean(row, numbers);
        shifted_sums sums[lanes] = {};
        row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
            for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                add(sums[k % lanes], element_to_double(x[k]) - mean);
        });
        const shifted_sums all = row.all_reduce(
            pairwise_merge<shifted_sums, lanes, shifted_sums>([&](unsigned k) { return sums[k]; }),
            shifted_sums::merge);
        return variance_from_sums(all.sum, compensated ? all.squares - all.error : all.squares,
                                  numbers.count.number, numbers.count.inverse)
            .deviation;
    }

  private:
    /* A single thread may sum a whole row. In float64, where sums have no spare digits, it uses
     * compensated summation (Kahan 1965), unless the error is not finite. */
    static __device__ __forceinline__ void add(shifted_sums &sums, double d)
    {
        sums.sum += d;
        if constexpr (compensated) {
            const double term = fma(d, d, -sums.error), squares = sums.squares + term;
            sums.error = squares - squares == 0 ? (squares - sums.squares) - term : 0;
            sums.squares = squares;
        } else {
            sums.squares = fma(d, d, sums.squares);
        }
    }

    /* Sums half of each element, so that the largest numbers do not overflow. */
    template <class Row>
    static __device__ __forceinline__ double rough_mean(const Row &row, const row_numbers &numbers)
    {
        if constexpr (sizeof(In) == 2 && !std::is_integral_v<In>) {
            return 0;
        } else {
            using number = variance_result<In>;
            const number share = number(0.5 * numbers.count.inverse);
            number sums[lanes] = {};
            row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
                for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                    sums[k % lanes] += number(x[k]) * share;
            });
            return 2.0 * row.all_reduce(pairwise_merge<sum<number>, lanes, number>(
                                            [&](unsigned k) { return sums[k]; }),
                                        [](number a, number b) { return a + b; });
        }
    }
};

template <class In>
struct row_fold<variance<complex<double>>, In, false>
    : row_fold_by_states<variance<complex<double>>, In> {};

/* For bytes, the sums are integers, and so are n times the squared deviations. */
struct sums_of_bytes {
    int64_t sum, squares;

    template <class In, class Row>
    static __device__ __forceinline__ sums_of_bytes reduce(In, const Row &row)
    {
        using bytes = integer_packing<In>;
        const auto plus = [](int a, int b) { return a + b; };
        typename bytes::word sum = 0, squares = 0;
        row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x) {
                const auto numbers = typename bytes::word(bytes_as_integers<In>(word));
                sum = bytes::sum(numbers, sum);
                squares = typename bytes::word(bytes::squares(numbers, squares));
            }
        });
        return {row.all_reduce(int(sum), plus), row.all_reduce(int(squares), plus)};
    }
};

template <class V, class In>
struct row_fold<variance<V>, In, true> : row_fold_of_deviations<double> {
    static __device__ __forceinline__ double result_of(double times_n, const row_numbers &numbers)
    {
        return rounded(numbers.dof_times_count(times_n), numbers);
    }

    template <class Row>
    static __device__ __forceinline__ double reduce(const Row &row, const row_numbers &numbers)
    {
        const sums_of_bytes all = sums_of_bytes::reduce(In(), row);
        return double(int64_t(numbers.n) * all.squares - all.sum * all.sum);
    }
};

template <class V, class In>
struct row_fold<norm2<V>, In, true> {
    template <class Row>
    static __device__ __forceinline__ state_of<norm2<V>> reduce(const Row &row, const row_numbers &)
    {
        return norm2<V>::state_of_squares(double(sums_of_bytes::reduce(In(), row).squares));
    }
};

} // namespace KERNELS
