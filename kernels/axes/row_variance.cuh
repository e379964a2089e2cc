/* Variances of short rows, and norms of short rows of narrow integers (row_folds.cuh). */
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
template <class In, bool SkipsNan>
struct row_deviations {
    static constexpr bool compensated = std::is_same_v<variance_result<In>, double>;
    static constexpr unsigned lanes = 2;

    struct shifted_sums {
        double sum, squares, error; /* excess of squares */

        static __device__ __forceinline__ shifted_sums merge(shifted_sums a, shifted_sums b)
        {
            return {a.sum + b.sum, a.squares + b.squares, compensated ? a.error + b.error : 0};
        }
    };

    /* The state of all elements, or of those that are numbers. */
    template <class Row>
    static __device__ __forceinline__ variance_state<double> of(const Row &row,
                                                                const row_numbers &numbers)
    {
        double count = numbers.count.number, inverse = numbers.count.inverse;
        if constexpr (SkipsNan) {
            count = double(row.all_reduce(count_of(row), [](int a, int b) { return a + b; }));
            inverse = count > 0 ? divide_counts(1, count) : 0;
        }
        const double mean = rough_mean(row, inverse);
        shifted_sums sums[lanes] = {};
        row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
            for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                add(sums[k % lanes], is_counted(x[k]) ? element_to_double(x[k]) - mean : 0);
        });
        const shifted_sums all = row.all_reduce(
            pairwise_merge<shifted_sums, lanes, shifted_sums>([&](unsigned k) { return sums[k]; }),
            shifted_sums::merge);
        const variance_state<double> state = variance_from_sums(
            all.sum, compensated ? all.squares - all.error : all.squares, count, inverse);
        return {count, mean + state.mean, state.deviation};
    }

  private:
    static __device__ __forceinline__ bool is_counted(In x)
    {
        if constexpr (SkipsNan)
            return !is_nan(element_to_double(x));
        else
            return true;
    }

    template <class Row>
    static __device__ __forceinline__ int count_of(const Row &row)
    {
        int count = 0;
        row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
            for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                count += is_counted(x[k]);
        });
        return count;
    }

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
    static __device__ __forceinline__ double rough_mean(const Row &row, double inverse)
    {
        if constexpr (sizeof(In) == 2 && !std::is_integral_v<In>) {
            return 0;
        } else {
            using number = variance_result<In>;
            const number share = number(0.5 * inverse);
            number sums[lanes] = {};
            row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
                for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                    sums[k % lanes] += is_counted(x[k]) ? number(x[k]) * share : number(0);
            });
            return 2.0 * row.all_reduce(pairwise_merge<sum<number>, lanes, number>(
                                            [&](unsigned k) { return sums[k]; }),
                                        [](number a, number b) { return a + b; });
        }
    }
};

template <class V, class In>
struct row_fold<variance<V>, In, false> : row_fold_of_deviations<variance_result<In>> {
    template <class Row>
    static __device__ __forceinline__ double reduce(const Row &row, const row_numbers &numbers)
    {
        return row_deviations<In, false>::of(row, numbers).deviation;
    }
};

template <class V, class In>
struct row_fold<nanvariance<V>, In, false> {
    template <class Row>
    static __device__ __forceinline__ state_of<nanvariance<V>> reduce(const Row &row,
                                                                      const row_numbers &numbers)
    {
        return row_deviations<In, true>::of(row, numbers);
    }
};

template <class In>
struct row_fold<nanvariance<complex<double>>, In, false>
    : row_fold_by_states<nanvariance<complex<double>>, In> {};

template <class In>
struct row_fold<variance<complex<double>>, In, false>
    : row_fold_by_states<variance<complex<double>>, In> {};

/* For integers of up to 2 bytes, the sums are integers, and so are n times the squared deviations,
 * which fit in 62 bits for up to 2^15 numbers. */
struct sums_of_integers {
    int64_t sum, squares;

    template <class In, class Row>
    static __device__ __forceinline__ sums_of_integers reduce(In, const Row &row)
    {
        using packed = integer_packing<In>;
        const auto plus = [](auto a, auto b) { return a + b; };
        if constexpr (sizeof(In) == 1) {
            typename packed::word sum = 0, squares = 0;
            row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
                for (uint32_t word : x) {
                    const auto numbers = typename packed::word(bytes_as_integers<In>(word));
                    sum = packed::sum(numbers, sum);
                    squares = typename packed::word(packed::squares(numbers, squares));
                }
            });
            return {row.all_reduce(int(sum), plus), row.all_reduce(int(squares), plus)};
        } else {
            int sum = 0;
            int64_t squares = 0;
            row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
                for (unsigned k = 0; k < sizeof x / sizeof(In); k++) {
                    sum += int(x[k]);
                    squares += int64_t(int(x[k])) * int(x[k]);
                }
            });
            return {row.all_reduce(sum, plus), row.all_reduce(squares, plus)};
        }
    }
};

/* n times the squared deviations. */
template <class In, class Row>
__device__ __forceinline__ double scaled_deviation(const Row &row, const row_numbers &numbers)
{
    const sums_of_integers all = sums_of_integers::reduce(In(), row);
    return double(int64_t(numbers.n) * all.squares - all.sum * all.sum);
}

template <class V, class In>
struct row_fold<variance<V>, In, true> : row_fold_of_deviations<double> {
    static __device__ __forceinline__ double result_of(double times_n, const row_numbers &numbers)
    {
        return rounded(numbers.dof_times_count(times_n), numbers);
    }

    template <class Row>
    static __device__ __forceinline__ double reduce(const Row &row, const row_numbers &numbers)
    {
        return scaled_deviation<In>(row, numbers);
    }
};

template <class V>
struct row_fold<variance<V>, int16_t, false> : row_fold_of_deviations<double> {
    template <class Row>
    static __device__ __forceinline__ double reduce(const Row &row, const row_numbers &numbers)
    {
        return numbers.count(scaled_deviation<int16_t>(row, numbers));
    }
};

template <class V, class In>
struct row_fold_of_integer_norms {
    template <class Row>
    static __device__ __forceinline__ state_of<norm2<V>> reduce(const Row &row, const row_numbers &)
    {
        return norm2<V>::state_of_squares(double(sums_of_integers::reduce(In(), row).squares));
    }
};

template <class V, class In>
struct row_fold<norm2<V>, In, true> : row_fold_of_integer_norms<V, In> {};
template <class V>
struct row_fold<norm2<V>, int16_t, false> : row_fold_of_integer_norms<V, int16_t> {};

} // namespace KERNELS
