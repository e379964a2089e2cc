/* The types that there are kernels of columns of: all but complex ones, in each fold. */
#pragma once

#include "../entry.cuh"
#include "../reductions.cuh"
#include "typed_columns.cuh"

namespace KERNELS
{

using real_floats =
    pairs<pair<ELEMENT_FLOAT16, ELEMENT_FLOAT32>, pair<ELEMENT_BFLOAT16, ELEMENT_FLOAT32>,
          pair<ELEMENT_FLOAT32>, pair<ELEMENT_FLOAT64>>;

/* Sums and products of unsigned integers are the same bits as those of signed ones. */
using signed_sums = joined_pairs<accumulated_in<ELEMENT_INT64, ELEMENT_BOOL, ELEMENT_INT8,
                                                ELEMENT_INT16, ELEMENT_INT32, ELEMENT_INT64>,
                                 pairs<pair<ELEMENT_UINT8, ELEMENT_UINT64, int64_t>,
                                       pair<ELEMENT_UINT16, ELEMENT_UINT64, int64_t>,
                                       pair<ELEMENT_UINT32, ELEMENT_UINT64, int64_t>,
                                       pair<ELEMENT_UINT64, ELEMENT_UINT64, int64_t>>>;

using integers_themselves = joined_pairs<
    accumulated_in<ELEMENT_INT64, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16, ELEMENT_INT32,
                   ELEMENT_INT64, ELEMENT_UINT8, ELEMENT_UINT16, ELEMENT_UINT32>,
    pairs<pair<ELEMENT_UINT64>>>;

template <class Fold>
struct types_of_columns : joined_pairs<real_floats, integers_themselves> {};

template <>
struct types_of_columns<sum<double>>
    : joined_pairs<real_floats, accumulated_in<ELEMENT_FLOAT64, ELEMENT_FLOAT32>, signed_sums,
                   integers_in<ELEMENT_FLOAT64>> {};

template <>
struct types_of_columns<prod<double>> : joined_pairs<real_floats, signed_sums> {};

/* Folds whose states are float64, of any numbers. */
using numbers = joined_pairs<real_floats, integers_in<ELEMENT_FLOAT64>>;

template <>
struct types_of_columns<variance<double>>
    : joined_pairs<numbers, accumulated_in<ELEMENT_FLOAT64, ELEMENT_FLOAT32>> {};
template <>
struct types_of_columns<norm1<double>> : numbers {};
template <>
struct types_of_columns<norm2<double>> : numbers {};
template <>
struct types_of_columns<norm_inf<double>> : numbers {};
template <>
struct types_of_columns<norm_neg_inf<double>> : numbers {};

/* Folds that leave NaN out. */
template <>
struct types_of_columns<nansum<double>> : real_floats {};
template <>
struct types_of_columns<nanprod<double>> : real_floats {};
template <>
struct types_of_columns<nanmin<double>> : real_floats {};
template <>
struct types_of_columns<nanmax<double>> : real_floats {};

template <template <class> class Fold>
const void *kernel_of_columns(const kernel_key &key)
{
    return types_of_columns<Fold<double>>::find(key.input, key.accumulator, [](auto in, auto acc) {
        return KERNEL_ENTRY(fold_columns_of_type<Fold<decltype(acc)>, decltype(in), false>);
    });
}

} // namespace KERNELS
