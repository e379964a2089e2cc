/* Kernels of columns of known types, and lists of these: all but complex ones. */
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

/* Folds whose states are the elements' own type, and those whose states are float64. */
using numbers_themselves = joined_pairs<real_floats, integers_themselves>;
using numbers = joined_pairs<real_floats, integers_in<ELEMENT_FLOAT64>>;

template <template <class> class Fold, class Pairs>
const void *kernel_of_columns(const kernel_key &key)
{
    return Pairs::find(key.input, key.accumulator, [](auto in, auto acc) {
        return KERNEL_ENTRY(fold_columns_of_type<Fold<decltype(acc)>, decltype(in), false>);
    });
}

} // namespace KERNELS
