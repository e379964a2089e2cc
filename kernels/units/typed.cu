/* Kernels along axes that know what type elements are, where those of strided_entry.cuh find it out
 * as they run: of the folds and the types that are asked for most. Loads are then as wide as they
 * come, and values are no wider than they have to be. Of one fold, GRED_FOLD, a compilation. */
#include "../axes/columns_entry.cuh"
#include "../axes/typed_rows.cuh"
#include "../axes/typed_short_rows.cuh"
#include "../entry.cuh"
#include "../reductions.cuh"

namespace KERNELS
{
namespace
{

template <enum element Input>
using counts_of = accumulated_in<ELEMENT_INT64, Input>;
template <enum element Input>
using means_of = accumulated_in<ELEMENT_FLOAT64, Input>;
using usual = joined_pairs<real_floats, counts_of<ELEMENT_INT8>>;

/* Pairs that there are kernels of all kinds of. Bytes have accumulators of 64 bits: positions,
 * extremes, counts and sums are integers, means and variances floats. Truth values are added and
 * counted, and bytes are not counted. */
template <class Fold>
struct types_of : usual {};

template <>
struct types_of<sum<double>>
    : joined_pairs<usual, means_of<ELEMENT_INT8>, counts_of<ELEMENT_BOOL>, means_of<ELEMENT_BOOL>> {
};

template <>
struct types_of<prod<double>> : pairs<> {};

template <>
struct types_of<variance<double>> : joined_pairs<real_floats, means_of<ELEMENT_INT8>> {};

template <>
struct types_of<nonzero<double>> : counts_of<ELEMENT_BOOL> {};

/* Pairs that there are kernels of columns of. */
template <class Fold>
struct types_of_columns : numbers_themselves {};

template <>
struct types_of_columns<sum<double>>
    : joined_pairs<numbers, signed_sums, means_of<ELEMENT_FLOAT32>> {};

template <>
struct types_of_columns<prod<double>> : joined_pairs<real_floats, signed_sums> {};

template <>
struct types_of_columns<variance<double>> : joined_pairs<numbers, means_of<ELEMENT_FLOAT32>> {};

template <bool Strided>
const void *typed(const kernel_key &key)
{
    return types_of<GRED_FOLD<double>>::find(key.input, key.accumulator, [&](auto in, auto acc) {
        using In = decltype(in);
        using fold = GRED_FOLD<decltype(acc)>;
        switch (key.kind) {
        case KERNEL_TYPED_COLUMNS:
            return KERNEL_ENTRY(fold_columns_of_type<fold, In, Strided>);
        case KERNEL_UNSPLIT_COLUMNS:
            return KERNEL_ENTRY(fold_unsplit_columns<fold, In>);
        case KERNEL_TYPED_ROWS:
            return KERNEL_ENTRY(fold_rows_of_type<fold, In, Strided>);
        default:
            return KERNEL_ENTRY(fold_short_rows<fold, In, Strided>);
        }
    });
}

} // namespace

const void *OF_FOLD(typed_kernel)(kernel_key key)
{
    if (key.variant == ACCESS_STRIDED)
        return typed<true>(key);
    using columns = types_of_columns<GRED_FOLD<double>>;
    return key.kind == KERNEL_TYPED_COLUMNS ? kernel_of_columns<GRED_FOLD, columns>(key)
                                            : typed<false>(key);
}

} // namespace KERNELS
