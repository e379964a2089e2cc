/* How a fold takes in a short row of elements of a known type. A row hands out its elements, a few
 * at a time and in their order, and folds what its threads have made of them:
 *
 *     row.each<Fill>(f)        f(x, at): x an array of elements, the first of which is number `at`;
 *                              of elements of one byte x is of words, filled up with Fill
 *     row.begin()              the first element's number that it hands out to this thread
 *     row.together(x, merge)   to all of its threads
 *
 * row_fold<Fold, In> has
 *
 *     using made = ...;                         small, and what a result is made of
 *     using result = ...;                       of the type that NumPy's results have
 *     static made of(row, numbers);
 *     static result result_of(made, numbers);
 */
#pragma once

#include "../vector.cuh"
#include "halves.cuh"
#include "row_numbers.cuh"

namespace KERNELS
{

/* ---- results ---- */

/* Numbers rounded to a float type. */
template <class To>
__device__ __forceinline__ To rounded_to(double x)
{
    if constexpr (std::is_same_v<To, float16>) {
        return {half_of_number(x)};
    } else if constexpr (std::is_same_v<To, bfloat16>) {
        return {bfloat_of_float(float(x))};
    } else {
        return To(x);
    }
}

template <class To>
__device__ __forceinline__ To rounded_to(float x)
{
    if constexpr (std::is_same_v<To, float16>) {
        return {half_of_number(x)};
    } else if constexpr (std::is_same_v<To, bfloat16>) {
        return {bfloat_of_float(x)};
    } else {
        return To(x);
    }
}

template <class To>
__device__ __forceinline__ To rounded_to(int64_t x)
{
    return To(x);
}

/* ---- folds ---- */

template <class Fold, class In>
struct row_fold;

/* Of one value, by merging. */
template <class Fold, class In>
struct row_fold_by_values {
    using value = value_of<Fold>;
    using made = value;
    using result = In;

    template <class Row>
    static __device__ __forceinline__ made of(const Row &row, const row_numbers &)
    {
        value all = Fold::identity();
        row.template each<0>([&](const auto &x, unsigned) {
            constexpr unsigned n = sizeof x / sizeof(In);
            value some[n];
#pragma unroll
            for (unsigned k = 0; k < n; k++)
                some[k] = value(x[k]);
#pragma unroll
            for (unsigned distance = 1; distance < n; distance *= 2)
#pragma unroll
                for (unsigned k = 0; k + distance < n; k += 2 * distance)
                    some[k] = Fold::merge(some[k], some[k + distance]);
            all = Fold::merge(all, some[0]);
        });
        return row.together(all, [](value a, value b) { return Fold::merge(a, b); });
    }
};

template <class V, class In>
struct row_fold<sum<V>, In> : row_fold_by_values<sum<V>, In> {
    static __device__ __forceinline__ In result_of(V total, const row_numbers &numbers)
    {
        total = added(V(0), total); /* as NumPy does, which makes zero of negative zeros */
        if (!numbers.divides)
            return rounded_to<In>(total);
        if constexpr (std::is_same_v<In, float16>)
            return rounded_to<In>(numbers.divisor.of_halves(total));
        else
            return rounded_to<In>(numbers.divisor(total));
    }
};

template <class V, template <class> class Order, class In>
struct row_fold<best_value<V, Order>, In> : row_fold_by_values<best_value<V, Order>, In> {
    static __device__ __forceinline__ In result_of(V best, const row_numbers &)
    {
        return rounded_to<In>(best);
    }
};

template <class In>
struct row_fold_of_byte_sums {
    using made = int;

    template <class Row>
    static __device__ __forceinline__ int of(const Row &row, const row_numbers &)
    {
        int all = 0;
        row.template each<0>([&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x)
                all = packing<int8_t>::sum(int(numbers_of_bytes<In>(word)), all);
        });
        return row.together(all, [](int a, int b) { return a + b; });
    }
};

template <class V, class In>
struct row_fold_of_byte_totals : row_fold_of_byte_sums<In> {
    using result = V;

    static __device__ __forceinline__ V result_of(int total, const row_numbers &numbers)
    {
        if constexpr (std::is_integral_v<V>)
            return total;
        else
            return numbers.divides ? numbers.divisor(double(total)) : double(total);
    }
};

template <class V>
struct row_fold<sum<V>, int8_t> : row_fold_of_byte_totals<V, int8_t> {};

template <class V>
struct row_fold<sum<V>, boolean> : row_fold_of_byte_totals<V, boolean> {};

/* Whether any is true, or all are. */
template <class V>
struct row_fold<nonzero<V>, boolean> : row_fold_of_byte_sums<boolean> {
    using result = uint8_t;

    static __device__ __forceinline__ uint8_t result_of(int count, const row_numbers &numbers)
    {
        return numbers.all ? uint64_t(count) == numbers.n : count > 0;
    }
};

/* The better of two signed halves, twice. */
template <template <class> class Order>
__device__ __forceinline__ int best_in_order(int a, int b)
{
    return int(best_of_signed_halves<(Order<int>::worst > 0)>(uint32_t(a), uint32_t(b)));
}

/* The best of a word's four elements are on top of its halves then, whatever is below them. */
template <template <class> class Order>
__device__ __forceinline__ int best_of_pairs(int word)
{
    return best_in_order<Order>(word, moved_up(word, 8));
}

template <class V, template <class> class Order>
struct row_fold<best_value<V, Order>, int8_t> {
    static constexpr uint32_t Fill = Order<int>::worst > 0 ? 0x7f7f7f7f : 0x80808080;
    using made = int;
    using result = int8_t;

    template <class Row>
    static __device__ __forceinline__ int of(const Row &row, const row_numbers &)
    {
        int all = int(Fill);
        row.template each<Fill>([&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x)
                all = best_in_order<Order>(all, best_of_pairs<Order>(int(word)));
        });
        all = Order<int>::best(all, moved_up(all, 16));
        return row.together(all, [](int a, int b) { return Order<int>::best(a, b); }) >> 24;
    }

    static __device__ __forceinline__ int8_t result_of(int best, const row_numbers &)
    {
        return int8_t(best);
    }
};

/* ---- positions ---- */

template <class V>
struct value_in_row {
    V value;
    unsigned index;
};

template <class V, template <class> class Order, class In>
struct row_fold<position_of_best<V, Order>, In> {
    using made = unsigned;
    using result = int64_t;
    using best = value_in_row<V>;

    /* NaN, too. */
    static __device__ __forceinline__ bool beats(V x, V least_or_greatest)
    {
        if constexpr (Order<int>::worst > 0)
            return !(x >= least_or_greatest);
        else
            return !(x <= least_or_greatest);
    }

    static __device__ __forceinline__ best better(best a, best b)
    {
        const bool nan_a = is_nan(a.value), nan_b = is_nan(b.value);
        const bool equal = nan_a == nan_b && (nan_a || a.value == b.value),
                   other = !nan_a && (nan_b || Order<V>::better(b.value, a.value));
        return other || (equal && b.index < a.index) ? b : a;
    }

    template <class Row>
    static __device__ __forceinline__ unsigned of(const Row &row, const row_numbers &)
    {
        constexpr V worst = Order<V>::worst;
        best all = {worst, row.begin()};
        row.template each<0>([&](const auto &x, unsigned at) {
            constexpr unsigned n = sizeof x / sizeof(In);
#pragma unroll
            for (unsigned k = 0; k < n; k++) {
                const V value = V(x[k]);
                const bool other = beats(value, all.value) && !is_nan(all.value);
                all.value = other ? value : all.value;
                all.index = other ? at + k : all.index;
            }
        });
        return row.together(all, better).index;
    }

    static __device__ __forceinline__ int64_t result_of(unsigned index, const row_numbers &)
    {
        return index;
    }
};

/* A word with an element at the top, and below it how far from some end its place is: the largest
 * is the first of the best. Where the smallest is wanted, all bits of elements are inverted. */
template <class V, template <class> class Order>
struct row_fold<position_of_best<V, Order>, int8_t> {
    using made = unsigned;
    using result = int64_t;
    static constexpr bool is_least = Order<int>::worst > 0;
    static constexpr unsigned end = 0xffffff;
    static constexpr int none = INT32_MIN + 3; /* of which up to 3 are taken */

    template <class Row>
    static __device__ __forceinline__ unsigned of(const Row &row, const row_numbers &)
    {
        constexpr uint32_t fill = is_least ? 0x7f7f7f7f : 0x80808080;
        int of_byte[4] = {none, none, none, none};
        row.template each<fill>([&](const auto &x, unsigned at) {
#pragma unroll
            for (unsigned w = 0; w < sizeof x / sizeof *x; w++)
#pragma unroll
                for (unsigned k = 0; k < 4; k++) {
                    const int top = int(selected_bytes(is_least ? ~x[w] : x[w], end - (at + 4 * w),
                                                       k << 12 | 0x654));
                    of_byte[k] = top > of_byte[k] ? top : of_byte[k];
                }
        });
        int all = of_byte[0];
#pragma unroll
        for (unsigned k = 1; k < 4; k++) {
            const int key = of_byte[k] - int(k);
            all = key > all ? key : all;
        }
        all = row.together(all, [](int a, int b) { return a > b ? a : b; });
        return end - (unsigned(all) & end);
    }

    static __device__ __forceinline__ int64_t result_of(unsigned index, const row_numbers &)
    {
        return index;
    }
};

/* ---- spreads ---- */

template <class Result>
struct row_fold_of_spreads {
    using made = double; /* the sum of squared deviations from the mean */
    using result = Result;

    static __device__ __forceinline__ Result result_of(made deviation, const row_numbers &numbers)
    {
        return rounded(numbers.left(deviation), numbers);
    }

  protected:
    static __device__ __forceinline__ Result rounded(double spread, const row_numbers &numbers)
    {
        return rounded_to<Result>(numbers.root ? sqrt(spread) : spread);
    }
};

/* Sums of differences from a number near all elements, and of their squares, in float64. That
 * number is the mean, as near as the elements' own type has it: a second pass over what registers
 * or shared memory hold. However far off, what is summed up tells how far: the error of squares is
 * of deviations and n times that distance's square.
 *
 * Elements of 11 bits need none. If their magnitudes are within a factor of 2^10, the sum of up to
 * 2^11 squares is exact; and otherwise that of deviations is half of the largest square, of which
 * the squares are at most n, so that roundings are felt 2 n^2 / 2^53 at most. */
template <class V, class In>
struct row_fold<variance<V>, In> : row_fold_of_spreads<In> {
    static constexpr bool keeps_lost = std::is_same_v<In, double>;
    static constexpr unsigned lanes = keeps_lost ? 4 : 2;

    struct two_sums {
        double sum, squares, lost; /* of squares, too much */

        static __device__ __forceinline__ two_sums merge(two_sums a, two_sums b)
        {
            return {a.sum + b.sum, a.squares + b.squares, keeps_lost ? a.lost + b.lost : 0};
        }
    };

    template <class Row>
    static __device__ __forceinline__ double of(const Row &row, const row_numbers &numbers)
    {
        const double mean = near_mean(row, numbers);
        two_sums sums[lanes] = {};
        row.template each<0>([&](const auto &x, unsigned) {
#pragma unroll
            for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                add(sums[k % lanes], widened_element(x[k]) - mean);
        });
        const two_sums all = row.together(
            merged_in_pairs<two_sums, lanes, two_sums>([&](unsigned k) { return sums[k]; }),
            two_sums::merge);
        return variance_state_of_sums(all.sum, keeps_lost ? all.squares - all.lost : all.squares,
                                      numbers.count.number, numbers.count.inverse)
            .deviation;
    }

  private:
    /* One thread may have all of a row: of float64, whose sums have no more digits than results,
     * it keeps what each addition rounds off (Kahan 1965), unless there is no number to keep. */
    static __device__ __forceinline__ void add(two_sums &own, double d)
    {
        own.sum += d;
        if constexpr (keeps_lost) {
            const double term = fma(d, d, -own.lost), squares = own.squares + term;
            own.lost = squares - squares == 0 ? (squares - own.squares) - term : 0;
            own.squares = squares;
        } else {
            own.squares = fma(d, d, own.squares);
        }
    }

    /* Of halves of elements, since those of the largest would add up to more than there is. */
    template <class Row>
    static __device__ __forceinline__ double near_mean(const Row &row, const row_numbers &numbers)
    {
        if constexpr (sizeof(In) == 2) {
            return 0;
        } else {
            const In share = In(0.5 * numbers.count.inverse);
            In sums[lanes] = {};
            row.template each<0>([&](const auto &x, unsigned) {
#pragma unroll
                for (unsigned k = 0; k < sizeof x / sizeof(In); k++)
                    sums[k % lanes] += x[k] * share;
            });
            return 2.0 * row.together(merged_in_pairs<sum<In>, lanes, In>(
                                          [&](unsigned k) { return sums[k]; }),
                                      [](In a, In b) { return a + b; });
        }
    }
};

/* Sums are integers, and so are n times deviations. */
template <>
struct row_fold<variance<double>, int8_t> : row_fold_of_spreads<double> {
    static __device__ __forceinline__ double result_of(made times_n, const row_numbers &numbers)
    {
        return rounded(numbers.left_times_count(times_n), numbers);
    }

    template <class Row>
    static __device__ __forceinline__ double of(const Row &row, const row_numbers &numbers)
    {
        const auto plus = [](int a, int b) { return a + b; };
        int sum = 0, squares = 0;
        row.template each<0>([&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x) {
                sum = packing<int8_t>::sum(int(word), sum);
                squares = int(packing<int8_t>::squares(int(word), squares));
            }
        });
        sum = row.together(sum, plus);
        squares = row.together(squares, plus);
        return double(int64_t(numbers.n) * squares - int64_t(sum) * sum);
    }
};

} // namespace KERNELS
