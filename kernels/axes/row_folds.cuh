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
 *     static made of(row, numbers);             what a result is made of: a state, unless there is
 *     using result = ...;                       the type that NumPy's results have, and
 *     static result result_of(made, numbers);
 */
#pragma once

#include "../vector.cuh"
#include "accumulator_bytes.cuh"
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

template <class To, class Integer>
__device__ __forceinline__ std::enable_if_t<std::is_integral_v<Integer>, To> rounded_to(Integer x)
{
    return To(x);
}

/* ---- folds ---- */

/* Element number k of what a row hands out. */
template <class In, class Unit, unsigned N>
__device__ __forceinline__ In element_in_row(const Unit (&x)[N], unsigned k)
{
    if constexpr (std::is_same_v<Unit, In>) {
        return x[k];
    } else {
        const uint8_t bits = uint8_t(x[k / 4] >> k % 4 * 8);
        In element;
        memcpy(&element, &bits, sizeof element);
        return element;
    }
}

/* Four bytes that change no state of a fold's: of zero, unless a product, or the least magnitude,
 * is asked for. */
template <class Fold, class In>
constexpr uint32_t neutral_bytes = 0;
template <class V, class In>
constexpr uint32_t neutral_bytes<prod<V>, In> = 0x01010101;
template <class V>
constexpr uint32_t neutral_bytes<norm_neg_inf<V>, int8_t> = 0x80808080;
template <class V>
constexpr uint32_t neutral_bytes<norm_neg_inf<V>, uint8_t> = 0xffffffff;
template <class V>
constexpr uint32_t neutral_bytes<norm_neg_inf<V>, boolean> = 0x01010101;

template <class Fold, class In>
struct row_fold_by_states {
    using value = value_of<Fold>;
    using state = state_of<Fold>;

    template <class Row>
    static __device__ __forceinline__ state of(const Row &row, const row_numbers &)
    {
        state all = Fold::identity();
        row.template each<neutral_bytes<Fold, In>>([&](const auto &x, unsigned at) {
            constexpr unsigned size = sizeof(In), n = sizeof x / size;
            value some[n];
#pragma unroll
            for (unsigned k = 0; k < n; k++)
                some[k] = value(element_in_row<In>(x, k));
            take_values<Fold>(all, some, in_a_row{at}, all_valid());
        });
        return row.together(all, [](state a, state b) { return Fold::merge(a, b); });
    }
};

template <class Fold, class In, bool Bytes = sizeof(In) == 1>
struct row_fold : row_fold_by_states<Fold, In> {};

/* Of one value, by merging. */
template <class Fold, class In, class Result>
struct row_fold_by_values {
    using value = value_of<Fold>;
    using result = Result;

    template <class Row>
    static __device__ __forceinline__ value of(const Row &row, const row_numbers &)
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

/* Sums of integers have more digits than these. */
template <class V, class In>
using sum_in_row = std::conditional_t<std::is_integral_v<In>, V, In>;

template <class V, class In>
struct row_fold<sum<V>, In, false> : row_fold_by_values<sum<V>, In, sum_in_row<V, In>> {
    static __device__ __forceinline__ sum_in_row<V, In> result_of(V total,
                                                                  const row_numbers &numbers)
    {
        using result = sum_in_row<V, In>;
        total = added(V(0), total); /* as NumPy does, which makes zero of negative zeros */
        if constexpr (std::is_floating_point_v<V>) {
            if (numbers.divides && std::is_same_v<In, float16>)
                total = V(numbers.divisor.of_halves(float(total)));
            else if (numbers.divides)
                total = numbers.divisor(total);
        }
        return rounded_to<result>(total);
    }
};

template <class In>
struct row_fold<sum<complex<double>>, In, false> : row_fold_by_states<sum<complex<double>>, In> {};

template <class V, template <class> class Order, class In>
struct row_fold<best_value<V, Order>, In, false>
    : row_fold_by_values<best_value<V, Order>, In, In> {
    static __device__ __forceinline__ In result_of(V best, const row_numbers &)
    {
        return rounded_to<In>(best);
    }
};

template <class V, class In>
struct row_fold<sum<V>, In, true> {
    using result = V;

    template <class Row>
    static __device__ __forceinline__ int of(const Row &row, const row_numbers &)
    {
        using bytes = packing_of_numbers<In>;
        typename bytes::word all = 0;
        row.template each<0>([&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x)
                all = bytes::sum(typename bytes::word(numbers_of_bytes<In>(word)), all);
        });
        return row.together(int(all), [](int a, int b) { return a + b; });
    }

    static __device__ __forceinline__ V result_of(int total, const row_numbers &numbers)
    {
        if constexpr (std::is_integral_v<V>)
            return total;
        else
            return numbers.divides ? numbers.divisor(double(total)) : double(total);
    }
};

/* How many elements are not zero, of bytes. */
template <class V>
struct row_fold_of_truth {
    template <class Row>
    static __device__ __forceinline__ uint64_t of(const Row &row, const row_numbers &numbers)
    {
        return uint64_t(row_fold<sum<V>, boolean>::of(row, numbers));
    }
};

template <class V, class In>
struct row_fold<nonzero<V>, In, true> : row_fold_of_truth<V> {};

/* Whether any is true, or all are. */
template <class V>
struct row_fold<nonzero<V>, boolean, true> : row_fold_of_truth<V> {
    using result = uint8_t;

    static __device__ __forceinline__ uint8_t result_of(uint64_t count, const row_numbers &numbers)
    {
        return numbers.all ? count == numbers.n : count > 0;
    }
};

/* Four bytes that are worse than all others, or as bad. */
template <class In, bool Least>
constexpr uint32_t fill_of_bytes = Least ? 0x7f7f7f7f : 0x80808080;
template <bool Least>
constexpr uint32_t fill_of_bytes<uint8_t, Least> = Least ? 0xffffffff : 0;
template <bool Least>
constexpr uint32_t fill_of_bytes<boolean, Least> = Least ? 0x01010101 : 0;

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

template <class V, template <class> class Order, class In>
struct row_fold<best_value<V, Order>, In, true> {
    static constexpr bool is_least = Order<int>::worst > 0;
    using result = In;

    template <class Row>
    static __device__ __forceinline__ int of(const Row &row, const row_numbers &)
    {
        constexpr uint32_t fill = fill_of_bytes<In, is_least>;
        int all = int(signed_bytes<In>(fill));
        row.template each<fill>([&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x)
                all = best_in_order<Order>(all, best_of_pairs<Order>(int(signed_bytes<In>(word))));
        });
        all = Order<int>::best(all, moved_up(all, 16));
        all = row.together(all, [](int a, int b) { return Order<int>::best(a, b); });
        return byte_of_signed<In>(int8_t(all >> 24));
    }

    static __device__ __forceinline__ In result_of(int best, const row_numbers &)
    {
        const uint8_t bits = uint8_t(best);
        In element;
        memcpy(&element, &bits, sizeof element);
        return element;
    }
};

/* Both, one after the other: of bytes there is none that changes neither. */
template <class V, class In, bool Bytes>
struct row_fold<extremes<V>, In, Bytes> {
    template <class Row>
    static __device__ __forceinline__ state_of<extremes<V>> of(const Row &row,
                                                               const row_numbers &numbers)
    {
        return {V(row_fold<min<V>, In>::of(row, numbers)),
                V(row_fold<max<V>, In>::of(row, numbers))};
    }
};

/* ---- positions ---- */

template <class V>
struct value_in_row {
    V value;
    unsigned index;
};

template <class V, template <class> class Order, class In>
struct row_fold<position_of_best<V, Order>, In, false> {
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
template <class V, template <class> class Order, class In>
struct row_fold<position_of_best<V, Order>, In, true> {
    using result = int64_t;
    static constexpr bool is_least = Order<int>::worst > 0;
    static constexpr unsigned end = 0xffffff;
    static constexpr int none = INT32_MIN + 3; /* of which up to 3 are taken */

    template <class Row>
    static __device__ __forceinline__ unsigned of(const Row &row, const row_numbers &)
    {
        constexpr uint32_t fill = fill_of_bytes<In, is_least>;
        int of_byte[4] = {none, none, none, none};
        row.template each<fill>([&](const auto &x, unsigned at) {
#pragma unroll
            for (unsigned w = 0; w < sizeof x / sizeof *x; w++) {
                const uint32_t word = signed_bytes<In>(x[w]);
#pragma unroll
                for (unsigned k = 0; k < 4; k++) {
                    const int top = int(selected_bytes(is_least ? ~word : word, end - (at + 4 * w),
                                                       k << 12 | 0x654));
                    of_byte[k] = top > of_byte[k] ? top : of_byte[k];
                }
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

} // namespace KERNELS
