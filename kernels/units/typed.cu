/* Kernels along axes of a known element type (axes/typed_entry.cuh), for the most used folds: one
 * compilation per fold, GRED_FOLD, or one each for its columns and its rows. */
#include "../axes/typed_entry.cuh"

namespace KERNELS
{
namespace
{

/* The most used types. Booleans matter only to sum and nonzero, and int8 not to nonzero. */
using common_types = concat_pairs<real_floats, accumulated_in<ELEMENT_INT64, ELEMENT_INT8>>;

/* A fold's types, and the types with kernels for long rows of every second element. */
template <class All, class Common = common_types>
struct types {
    using all = All;
    using every_second = Common;
};

/* Sums and products of integers have 64 bits, means and variances float64; all others are of the
 * elements' own kind. */
template <class Fold>
struct types_of : types<compared> {};

template <>
struct types_of<argmin<double>> : types<concat_pairs<compared, truth_values>> {};

template <>
struct types_of<sum<double>>
    : types<concat_pairs<
                all_floats, integers_in_64_bits,
                accumulated_in<ELEMENT_FLOAT64, ELEMENT_INT64, ELEMENT_UINT64, ELEMENT_FLOAT32>>,
            concat_pairs<common_types, truth_values>> {};

template <>
struct types_of<prod<double>> : types<concat_pairs<all_floats, integers_in_64_bits>, pairs<>> {};

template <>
struct types_of<nonzero<double>> : types<zero_tested, truth_values> {};

template <>
struct types_of<variance<double>>
    : types<concat_pairs<numbers, accumulated_in<ELEMENT_FLOAT64, ELEMENT_FLOAT32>>,
            concat_pairs<real_floats, accumulated_in<ELEMENT_FLOAT64, ELEMENT_INT8>>> {};

using fold_types = types_of<GRED_FOLD<double>>;

} // namespace

#if !defined(GRED_COLUMNS) || GRED_COLUMNS

const void *OF_FOLD(columns_kernel)(kernel_key key)
{
    return kernel_of_columns<GRED_FOLD, fold_types::all>(key);
}

#endif
#if !defined(GRED_COLUMNS) || !GRED_COLUMNS

const void *OF_FOLD(rows_kernel)(kernel_key key)
{
    return kernel_of_rows<GRED_FOLD, fold_types::all, fold_types::every_second>(key);
}

#endif

} // namespace KERNELS
