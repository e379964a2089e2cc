/* Kernels along axes that know the elements' type (axes/typed_entry.cuh), of the folds that are
 * asked for most. Of one fold, GRED_FOLD, a compilation, or of its columns only, or its rows. */
#include "../axes/typed_entry.cuh"

namespace KERNELS
{
namespace
{

/* Truth values are added and counted, and bytes are not counted. */
using often = joined_pairs<real_floats, accumulated_in<ELEMENT_INT64, ELEMENT_INT8>>;

/* A fold's types, those that there are kernels of every second element of, too, and those of
 * columns that no threads share. */
template <class All, class Often = often, class Unsplit = Often>
struct types {
    using all = All;
    using every_second = Often;
    using unsplit = Unsplit;
};

/* Sums and products of integers are of 64 bits, means and variances float64; all else is of the
 * elements' own kind. */
template <class Fold>
struct types_of : types<compared> {};

template <>
struct types_of<argmin<double>> : types<joined_pairs<compared, truth_values>> {};

template <>
struct types_of<sum<double>>
    : types<joined_pairs<
                all_floats, integers_in_64_bits,
                accumulated_in<ELEMENT_FLOAT64, ELEMENT_INT64, ELEMENT_UINT64, ELEMENT_FLOAT32>>,
            joined_pairs<often, truth_values>> {};

template <>
struct types_of<prod<double>>
    : types<joined_pairs<all_floats, integers_in_64_bits>, pairs<>, real_floats> {};

template <>
struct types_of<nonzero<double>>
    : types<zero_or_not, truth_values, joined_pairs<zero_or_not_floats, truth_values>> {};

template <>
struct types_of<variance<double>>
    : types<joined_pairs<numbers, accumulated_in<ELEMENT_FLOAT64, ELEMENT_FLOAT32>>,
            joined_pairs<real_floats, accumulated_in<ELEMENT_FLOAT64, ELEMENT_INT8>>> {};

using own_types = types_of<GRED_FOLD<double>>;

} // namespace

#if !defined(GRED_COLUMNS) || GRED_COLUMNS

const void *OF_FOLD(columns_kernel)(kernel_key key)
{
    return kernel_of_columns<GRED_FOLD, own_types::all, own_types::every_second,
                             own_types::unsplit>(key);
}

#endif
#if !defined(GRED_COLUMNS) || !GRED_COLUMNS

const void *OF_FOLD(rows_kernel)(kernel_key key)
{
    return kernel_of_rows<GRED_FOLD, own_types::all, own_types::every_second>(key);
}

#endif

} // namespace KERNELS
