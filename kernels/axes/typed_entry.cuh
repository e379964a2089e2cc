/* Lookup of the kernels along axes that are specialized for the elements' type, unlike those of
 * strided_entry.cuh, which convert elements at run time: loads are as wide as possible, and values
 * no wider than necessary. And lists of these types. */
#pragma once

#include "../entry.cuh"
#include "../reductions.cuh"
#include "batch_invariant.cuh"
#include "typed_columns.cuh"
#include "typed_rows.cuh"
#include "typed_short_rows.cuh"
#include "typed_strided.cuh"
#include "unsplit_columns.cuh"

namespace KERNELS
{

using real_floats =
    pairs<pair<ELEMENT_FLOAT16, ELEMENT_FLOAT32>, pair<ELEMENT_BFLOAT16, ELEMENT_FLOAT32>,
          pair<ELEMENT_FLOAT32>, pair<ELEMENT_FLOAT64>>;

using complex_floats = pairs<pair<ELEMENT_COMPLEX64, ELEMENT_COMPLEX128>, pair<ELEMENT_COMPLEX128>>;

using all_floats = concat_pairs<real_floats, complex_floats>;

/* Sums and products of unsigned integers have the same bits as those of signed ones. Sums for means
 * are all of int64. */
using integers_in_64_bits = concat_pairs<
    accumulated_in<ELEMENT_INT64, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16, ELEMENT_INT32,
                   ELEMENT_INT64, ELEMENT_UINT8, ELEMENT_UINT16, ELEMENT_UINT32>,
    pairs<pair<ELEMENT_UINT8, ELEMENT_UINT64, int64_t>,
          pair<ELEMENT_UINT16, ELEMENT_UINT64, int64_t>,
          pair<ELEMENT_UINT32, ELEMENT_UINT64, int64_t>,
          pair<ELEMENT_UINT64, ELEMENT_UINT64, int64_t>>>;

/* Unsigned integers are reduced as signed ones. */
using signed_integers = concat_pairs<
    accumulated_in<ELEMENT_INT64, ELEMENT_INT8, ELEMENT_INT16, ELEMENT_INT32, ELEMENT_INT64>,
    pairs<pair<ELEMENT_UINT8, ELEMENT_INT64, int64_t, int8_t>,
          pair<ELEMENT_UINT16, ELEMENT_INT64, int64_t, int16_t>,
          pair<ELEMENT_UINT32, ELEMENT_INT64, int64_t, int32_t>,
          pair<ELEMENT_UINT64, ELEMENT_UINT64, int64_t, int64_t>>>;

using truth_values = accumulated_in<ELEMENT_INT64, ELEMENT_BOOL>;

/* Elements that are compared (order.cuh), and elements that are only tested for zero, for which any
 * type with the same zero will do. */
using compared = concat_pairs<real_floats, signed_integers>;
using zero_tested_floats = pairs<pair<ELEMENT_FLOAT16, ELEMENT_FLOAT32>,
                                 pair<ELEMENT_BFLOAT16, ELEMENT_FLOAT32, float, float16>,
                                 pair<ELEMENT_FLOAT32>, pair<ELEMENT_FLOAT64>>;
using zero_tested = concat_pairs<zero_tested_floats, complex_floats, signed_integers, truth_values>;

/* Elements whose states are in float64. */
using numbers = concat_pairs<all_floats, integers_in<ELEMENT_FLOAT64>>;

/* Products and norms of integers take 8 bytes. Those of a load of narrow elements are more than a
 * thread may store (STORE_BYTES_MAX), so there is no kernel for unsplit columns. */
template <class Fold, class In>
constexpr bool exceeds_stores =
    sizeof(In) * STORE_BYTES_MAX < COLUMN_BYTES * sizeof(uint64_t) &&
    (std::is_same_v<Fold, prod<int64_t>> || std::is_same_v<Fold, prod<uint64_t>> ||
     std::is_same_v<Fold, norm2<double>>);

/* Columns, split or not. */
template <template <class> class Fold, class Pairs>
const void *kernel_of_columns(const kernel_key &key)
{
    if (key.kind == KERNEL_UNSPLIT_COLUMNS)
        return Pairs::find(key.input, key.accumulator, [](auto in, auto acc) -> const void * {
            if constexpr (!exceeds_stores<Fold<decltype(acc)>, decltype(in)>)
                return KERNEL_ENTRY(fold_unsplit_columns<Fold<decltype(acc)>, decltype(in)>);
            return nullptr;
        });
    return Pairs::find(key.input, key.accumulator, [](auto in, auto acc) {
        return KERNEL_ENTRY(fold_columns_of_type<Fold<decltype(acc)>, decltype(in)>);
    });
}

/* All other kernels: long rows, also of every second element; short rows, contiguous or strided;
 * elements loaded one by one; and batch-invariant ones of floats (integer sums are exact). */
template <template <class> class Fold, class Pairs, class Strided>
const void *kernel_of_rows(const kernel_key &key)
{
    const bool strided = key.variant == ACCESS_STRIDED;
    if (key.kind == KERNEL_TYPED_ROWS && strided)
        return Strided::find(key.input, key.accumulator, [](auto in, auto acc) {
            return KERNEL_ENTRY(fold_rows_of_type<Fold<decltype(acc)>, decltype(in), true>);
        });
    return Pairs::find(key.input, key.accumulator, [&](auto in, auto acc) -> const void * {
        using In = decltype(in);
        using fold = Fold<decltype(acc)>;
        switch (key.kind) {
        case KERNEL_TYPED_ROWS:
            return KERNEL_ENTRY(fold_rows_of_type<fold, In, false>);
        case KERNEL_TYPED_SHORT_ROWS:
            if (key.variant == ACCESS_ALIGNED)
                return KERNEL_ENTRY(fold_short_rows<fold, In, false>);
            if constexpr (sizeof(In) <= sizeof(uint64_t))
                return KERNEL_ENTRY(fold_short_rows<fold, In, true>);
            return nullptr;
        case KERNEL_TYPED_STRIDED:
            return strided ? nullptr : KERNEL_ENTRY(fold_strided<fold, In>);
        default:
            if constexpr (!is_indexed<fold>::value && !std::is_integral_v<decltype(acc)>)
                return KERNEL_ENTRY(fold_batch_invariant<fold, In>);
            return nullptr;
        }
    });
}

} // namespace KERNELS
