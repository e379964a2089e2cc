/* A short row's result, and where it is stored. */
#pragma once

#include "along.cuh"
#include "row_variance.cuh"
#include "short_row.cuh"

namespace KERNELS
{

/* Fold a row to a result or, if its type has none here, to a state. */
template <class Fold, class In, class Row>
__device__ __forceinline__ auto fold_row(const Row &row, const row_numbers &numbers)
{
    const auto partial =
        row_fold<Fold, In>::reduce(inverted_row<Row, Fold, In>{row, {numbers.inverted}}, numbers);
    if constexpr (stores_native<Fold, In>)
        return row_fold<Fold, In>::result_of(partial, numbers);
    else
        return partial;
}

template <class Fold, class In>
using row_result = decltype(fold_row<Fold, In>(std::declval<row_in_registers<In, 2>>(),
                                               std::declval<row_numbers>()));

template <class Fold, class In>
__device__ __forceinline__ global<row_result<Fold, In>> results_of(const kernel_axes &x)
{
    return static_cast<row_result<Fold, In> *>(x.result.at[0]) + x.outer.first;
}

template <class Fold, class In>
__device__ __forceinline__ void store_row_result(const kernel_axes &x,
                                                 const row_result<Fold, In> &result, int64_t place)
{
    if constexpr (stores_native<Fold, In>)
        static_cast<row_result<Fold, In> *>(x.result.at[0])[place] = result;
    else
        store_results_directly<Fold>(x.result, {result}, place);
}

} // namespace KERNELS
