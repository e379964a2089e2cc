/* How a fold reduces a short row of elements of a known type. A row hands out its elements, a few
 * at a time and in order, and merges its threads' values:
 *
 *     row.for_each(fill, f)     f(x, at) gets an array of elements from number `at` on, step()
 *                               apart; 1-byte elements come as words, padded with `fill`
 *     row.begin()               number of the first element that this thread gets; not needed for
 *                               1-byte elements
 *     row.all_reduce(x, merge)  x merged over the row's threads, all of which get the result
 *
 * row_fold<Fold, In> has
 *
 *     static partial reduce(row, numbers);        a state, or a narrower value if `result` exists
 *     using result = ...;                         the type of NumPy's result, if there is
 *     static result result_of(partial, numbers);  this conversion */
#pragma once

#include "../vector.cuh"
#include "accumulator_bytes.cuh"
#include "halves.cuh"
#include "order.cuh"

namespace KERNELS
{

/* ---- results ---- */

/* Convert a number to a result type, rounding once if that is a float type. */
template <class To, class Number>
__device__ __forceinline__ To round_to(Number x)
{
    if constexpr (std::is_same_v<To, float16>)
        return {half_rounded_once(x)};
    else if constexpr (std::is_same_v<To, bfloat16>)
        return {bfloat_of_float(float(x))};
    else
        return To(x);
}

/* ---- folds ---- */

/* Four bytes that do not change a fold's state: zeros, or ones for a product. */
template <class Fold, class In>
constexpr uint32_t neutral_bytes = 0;
template <class V, class In>
constexpr uint32_t neutral_bytes<prod<V>, In> = 0x01010101;

template <class Fold, class In>
struct row_fold_by_states {
    using value = value_of<Fold>;
    using state = state_of<Fold>;

    template <class Row>
    static __device__ __forceinline__ state reduce(const Row &row, const row_numbers &)
    {
        state all = Fold::identity();
        row.for_each(neutral_bytes<Fold, In>, [&](const auto &x, unsigned at) {
            constexpr unsigned size = sizeof(In), n = sizeof x / size;
            value some[n];
#pragma unroll
            for (unsigned k = 0; k < n; k++)
                some[k] = value(element_at<In>(x, k));
            accumulate_values<Fold>(all, some, strided_positions{at, row.step()}, all_valid());
        });
        return row.all_reduce(all, [](state a, state b) { return Fold::merge(a, b); });
    }
};

template <class Fold, class In, bool Bytes = sizeof(In) == 1>
struct row_fold : row_fold_by_states<Fold, In> {};

template <class Row, class = void>
struct has_result : std::false_type {};
template <class Row>
struct has_result<Row, std::void_t<typename Row::result>> : std::true_type {};

template <class Fold, class In>
constexpr bool stores_native = has_result<row_fold<Fold, In>>::value;

/* Folds whose state is one value. */
template <class Fold, class In, class Result>
struct row_fold_by_values {
    using value = value_of<Fold>;
    using result = Result;

    template <class Row>
    static __device__ __forceinline__ value reduce(const Row &row, const row_numbers &)
    {
        value all = Fold::identity();
        row.for_each(0, [&](const auto &x, unsigned) {
            constexpr unsigned n = sizeof x / sizeof(In);
            all = Fold::merge(
                all, pairwise_merge<Fold, n, value>([&](unsigned k) { return value(x[k]); }));
        });
        return row.all_reduce(all, [](value a, value b) { return Fold::merge(a, b); });
    }
};

/* A sum of integers, or the bits of its quotient, a float64. */
__device__ __forceinline__ int64_t integer_or_mean(int64_t total, const row_numbers &numbers)
{
    if (!numbers.divides)
        return total;
    const double mean = numbers.divisor(double(total));
    memcpy(&total, &mean, sizeof total);
    return total;
}

/* The result type of a sum: integers are widened. */
template <class V, class In>
using row_sum_result = std::conditional_t<std::is_integral_v<In>, V, In>;

template <class V, class In>
struct row_fold<sum<V>, In, false> : row_fold_by_values<sum<V>, In, row_sum_result<V, In>> {
    static __device__ __forceinline__ row_sum_result<V, In> result_of(V total,
                                                                      const row_numbers &numbers)
    {
        if constexpr (std::is_integral_v<V>) {
            return integer_or_mean(total, numbers);
        } else {
            total = added(V(0), total); /* as in NumPy, turns -0.0 into 0.0 */
            if (numbers.divides && std::is_same_v<In, float16>)
                total = V(numbers.divisor.of_halves(float(total)));
            else if (numbers.divides)
                total = numbers.divisor(total);
            return round_to<row_sum_result<V, In>>(total);
        }
    }
};

template <class In>
struct row_fold<sum<complex<double>>, In, false> : row_fold_by_states<sum<complex<double>>, In> {};

/* Integers of up to 4 bytes are compared as int. */
template <class V, class In>
using compared_as = std::conditional_t<std::is_integral_v<In> && sizeof(In) <= sizeof(int), int, V>;

template <class V, class In>
struct row_fold<min<V>, In, false> : row_fold_by_values<min<compared_as<V, In>>, In, In> {
    static __device__ __forceinline__ In result_of(compared_as<V, In> best,
                                                   const row_numbers &numbers)
    {
        return inversion<min<V>, In>{numbers.inverted}(round_to<In>(best));
    }
};

template <class V, class In>
struct row_fold<sum<V>, In, true> {
    using result = V;

    template <class Row>
    static __device__ __forceinline__ int reduce(const Row &row, const row_numbers &)
    {
        using bytes = integer_packing<In>;
        typename bytes::word all = 0;
        row.for_each(0, [&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x)
                all = bytes::sum(typename bytes::word(bytes_as_integers<In>(word)), all);
        });
        return row.all_reduce(int(all), [](int a, int b) { return a + b; });
    }

    static __device__ __forceinline__ V result_of(int total, const row_numbers &numbers)
    {
        return integer_or_mean(total, numbers);
    }
};

/* Counts nonzero bytes. */
template <class V>
struct row_fold_of_booleans {
    template <class Row>
    static __device__ __forceinline__ uint64_t reduce(const Row &row, const row_numbers &numbers)
    {
        return uint64_t(row_fold<sum<V>, boolean>::reduce(row, numbers));
    }
};

template <class V, class In>
struct row_fold<nonzero<V>, In, true> : row_fold_of_booleans<V> {};

/* any or all of booleans. */
template <class V>
struct row_fold<nonzero<V>, boolean, true> : row_fold_of_booleans<V> {
    using result = uint8_t;

    static __device__ __forceinline__ uint8_t result_of(uint64_t count, const row_numbers &numbers)
    {
        return numbers.is_all ? count == numbers.n : count > 0;
    }
};

/* Four bytes that are at least as great as any element. */
template <class In>
constexpr uint32_t greatest_bytes = std::is_same_v<In, boolean> ? 0x01010101 : 0x7f7f7f7f;

/* Minima of two bytes at a time: they are at the top of a word's halves, above arbitrary bits. */
template <class V, class In>
struct row_fold<min<V>, In, true> {
    using result = In;

    template <class Row>
    static __device__ __forceinline__ int reduce(const Row &row, const row_numbers &)
    {
        uint32_t all = greatest_bytes<In>;
        row.for_each(greatest_bytes<In>, [&](const auto &x, unsigned) {
#pragma unroll
            for (uint32_t word : x)
                all =
                    best_of_signed_halves<true>(all, best_of_signed_halves<true>(word, word << 8));
        });
        const int best = row.all_reduce(min_of_numbers(int(all), int(all << 16)),
                                        [](int a, int b) { return min_of_numbers(a, b); });
        return int8_t(best >> 24);
    }

    static __device__ __forceinline__ In result_of(int best, const row_numbers &numbers)
    {
        return inversion<min<V>, In>{numbers.inverted}(In(best));
    }
};

/* Two passes over the row: the maximum is the minimum of the inverted elements. */
template <class V, class In, bool Bytes>
struct row_fold<extremes<V>, In, Bytes> {
    template <class Row>
    static __device__ __forceinline__ state_of<extremes<V>> reduce(const Row &row,
                                                                   const row_numbers &numbers)
    {
        constexpr bool integers = std::is_integral_v<In>;
        constexpr uint64_t signs = sizeof(In) == 2   ? 0x8000800080008000
                                   : sizeof(In) == 4 ? 0x8000000080000000
                                                     : 0x8000000000000000;
        using fold = row_fold<min<V>, In>;
        const V least = V(fold::reduce(row, numbers)),
                other = V(fold::reduce(
                    inverted_row<Row, min<V>, In>{row, {integers ? UINT64_MAX : signs}}, numbers));
        return {least, integers ? V(-1) - other : -other};
    }
};

/* ---- positions ---- */

struct row_fold_of_positions {
    using result = int64_t;

    /* If no element counts, the index is the largest and the result is -1. */
    static __device__ __forceinline__ int64_t result_of(unsigned index, const row_numbers &)
    {
        return int32_t(index);
    }
};

template <class V, bool SkipsNan, class In>
struct row_fold<position_of_best<V, by_least, SkipsNan>, In, false> : row_fold_of_positions {
    using value = compared_as<V, In>;
    struct best {
        compared_as<V, In> value;
        unsigned index;
    };

    static __device__ __forceinline__ best better(best a, best b)
    {
        const bool equal = b.value == a.value || (is_nan(a.value) && is_nan(b.value));
        return comes_before<SkipsNan>(b.value, a.value) || (equal && b.index < a.index) ? b : a;
    }

    template <class Row>
    static __device__ __forceinline__ unsigned reduce(const Row &row, const row_numbers &)
    {
        constexpr value worst = SkipsNan ? ends<value>::nan : ends<value>::greatest;
        best all = {worst, SkipsNan ? UINT32_MAX : row.begin()};
        row.for_each(0, [&](const auto &x, unsigned at) {
            constexpr unsigned n = sizeof x / sizeof(In);
#pragma unroll
            for (unsigned k = 0; k < n; k++) {
                const value candidate = value(x[k]);
                const bool other = comes_before<SkipsNan>(candidate, all.value);
                all.value = other ? candidate : all.value;
                all.index = other ? at + k * row.step() : all.index;
            }
        });
        return row.all_reduce(all, better).index;
    }
};

/* Keys of the element in the top byte and its position: the least is the first minimum. */
template <class V, class In>
struct row_fold<argmin<V>, In, true> : row_fold_of_positions {
    template <class Row>
    static __device__ __forceinline__ unsigned reduce(const Row &row, const row_numbers &)
    {
        const auto least = [](int a, int b) { return min_of_numbers(a, b); };
        const int step = int(row.step());
        int byte_best[4]; /* positions of words, to which up to 3 steps are added */
        fill(byte_best, INT32_MAX - 3 * step);
        row.for_each(greatest_bytes<In>, [&](const auto &x, unsigned at) {
#pragma unroll
            for (unsigned w = 0; w < sizeof x / sizeof *x; w++) {
#pragma unroll
                for (unsigned k = 0; k < 4; k++)
                    byte_best[k] =
                        least(byte_best[k],
                              int(permute_bytes(at + 4 * w * step, x[w], 0x4210 + k * 0x1000)));
            }
        });
        int all = byte_best[0];
#pragma unroll
        for (unsigned k = 1; k < 4; k++)
            all = least(all, byte_best[k] + int(k) * step);
        return row.all_reduce(all, least) & 0xffffff;
    }
};

} // namespace KERNELS
