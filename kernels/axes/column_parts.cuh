/* What a thread has made of a column, as a part of a result of several columns, all of them of as
 * many rows: part_of_columns<Fold, In> has
 *
 *     static type of(columns, c, rows);
 *     static type merged(a, b, count);      count: elements of each
 *     static made made_of(part, count);     what results are made of; see row_folds.cuh
 */
#pragma once

#include "accumulator_variance.cuh"

namespace KERNELS
{

template <class Fold, class In>
struct part_of_columns {
    using type = value_of<Fold>;
    using made = type;

    template <class Columns>
    static __device__ __forceinline__ type of(const Columns &columns, unsigned c, uint32_t rows)
    {
        return type(columns.made(c, rows));
    }

    static __device__ __forceinline__ type merged(type a, type b, uint32_t)
    {
        return Fold::merge(a, b);
    }

    static __device__ __forceinline__ made made_of(type part, uint32_t)
    {
        return part;
    }
};

/* Sums of bytes are words until they are results. */
template <class V>
struct part_of_columns<sum<V>, int8_t> : part_of_columns<sum<int>, int> {};
template <class V>
struct part_of_columns<sum<V>, boolean> : part_of_columns<sum<int>, int> {};
template <class V>
struct part_of_columns<nonzero<V>, boolean> : part_of_columns<sum<int>, int> {};

/* A mean and the sum of squared deviations from it; of halves in float32, as results are halves. */
template <class V, class In>
struct part_of_columns<variance<V>, In> {
    using made = std::conditional_t<std::is_same_v<In, float16>, float, double>;
    struct type {
        made mean, deviation;
    };

    template <class Columns>
    static __device__ __forceinline__ type of(const Columns &columns, unsigned c, uint32_t rows)
    {
        if constexpr (std::is_same_v<In, float16>) {
            return {columns.mean(c, rows), columns.made(c, rows)};
        } else {
            const variance_state<double> own = columns.state(c, rows_taken{0, 1, 0, 0, rows}, 1, 0);
            return {own.mean, own.deviation};
        }
    }

    static __device__ __forceinline__ type merged(type a, type b, uint32_t count)
    {
        const made delta = b.mean - a.mean, half = made(0.5);
        return {a.mean + half * delta,
                fma(half * made(count) * delta, delta, a.deviation + b.deviation)};
    }

    static __device__ __forceinline__ made made_of(type part, uint32_t)
    {
        return part.deviation;
    }
};

/* Sums of up to 2^16 bytes and of their squares are words. */
template <class V>
struct part_of_columns<variance<V>, int8_t> {
    struct type {
        int32_t total, squares;
    };
    using made = double;

    template <class Columns>
    static __device__ __forceinline__ type of(const Columns &columns, unsigned c, uint32_t)
    {
        return {columns.totals[c], columns.squares[c]};
    }

    static __device__ __forceinline__ type merged(type a, type b, uint32_t)
    {
        return {a.total + b.total, a.squares + b.squares};
    }

    static __device__ __forceinline__ made made_of(type part, uint32_t count)
    {
        return double(int64_t(count) * part.squares - int64_t(part.total) * part.total);
    }
};

} // namespace KERNELS
