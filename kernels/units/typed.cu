/* Kernels along axes that know the elements' type (axes/typed_entry.cuh), of the folds that are
 * asked for most. Of one fold, GRED_FOLD, a compilation, or of its columns only, or its rows. */
#include "../axes/typed_entry.cuh"

namespace KERNELS
{
namespace
{

template <enum element Input>
using counts_of = accumulated_in<ELEMENT_INT64, Input>;
template <enum element Input>
using means_of = accumulated_in<ELEMENT_FLOAT64, Input>;

/* Sums and products of integers are of 64 bits, means and variances float64; all else is of the
 * elements' own kind. */
template <class Fold>
struct types_of : compared {};

template <>
struct types_of<sum<double>>
    : joined_pairs<all_floats, integers_in_64_bits, means_of<ELEMENT_INT64>,
                   means_of<ELEMENT_UINT64>, means_of<ELEMENT_FLOAT32>> {};

template <>
struct types_of<prod<double>> : joined_pairs<all_floats, integers_in_64_bits> {};

template <>
struct types_of<nonzero<double>> : zero_or_not {};

template <>
struct types_of<variance<double>> : joined_pairs<numbers, means_of<ELEMENT_FLOAT32>> {};

/* Those that there are kernels of every second element of, too. Truth values are added and counted,
 * and bytes are not counted. */
using often = joined_pairs<real_floats, counts_of<ELEMENT_INT8>>;

template <class Fold>
struct types_often : often {};

template <>
struct types_of<argmin<double>> : joined_pairs<compared, truth_values> {};

template <>
struct types_often<sum<double>> : joined_pairs<often, counts_of<ELEMENT_BOOL>> {};

template <>
struct types_often<prod<double>> : pairs<> {};

template <>
struct types_often<variance<double>> : joined_pairs<real_floats, means_of<ELEMENT_INT8>> {};

template <>
struct types_often<nonzero<double>> : counts_of<ELEMENT_BOOL> {};

/* Those of columns that no threads share. */
template <class Fold>
struct types_unsplit : types_often<Fold> {};

template <>
struct types_unsplit<prod<double>> : real_floats {};

template <>
struct types_unsplit<nonzero<double>> : joined_pairs<zero_or_not_floats, counts_of<ELEMENT_BOOL>> {
};

using types = types_of<GRED_FOLD<double>>;
using strided_types = types_often<GRED_FOLD<double>>;
using unsplit_types = types_unsplit<GRED_FOLD<double>>;

} // namespace

#if !defined(GRED_COLUMNS) || GRED_COLUMNS

const void *OF_FOLD(columns_kernel)(kernel_key key)
{
    return kernel_of_columns<GRED_FOLD, types, strided_types, unsplit_types>(key);
}

#endif
#if !defined(GRED_COLUMNS) || !GRED_COLUMNS

const void *OF_FOLD(rows_kernel)(kernel_key key)
{
    return kernel_of_rows<GRED_FOLD, types, strided_types>(key);
}

#endif

} // namespace KERNELS
