/* Instantiates the default method for folds that are not on the ladder, those of the group
 * GRED_GROUP, and lists the addresses. A few groups, so that they can be compiled side by side. */
#include "../axes/columns_entry.cuh"
#include "../load/strided_entry.cuh"
#include "../reductions.cuh"

namespace KERNELS
{
namespace
{

/* Types that a group has no kernel for are gathered, into the widest type of their kind. */
using own_values =
    joined_pairs<accumulated_in<ELEMENT_INT32, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16,
                                ELEMENT_UINT8, ELEMENT_UINT16, ELEMENT_INT32>,
                 accumulated_in<ELEMENT_INT64, ELEMENT_INT64, ELEMENT_UINT32>,
                 pairs<pair<ELEMENT_UINT64>>, floating_pairs>;
using averages = joined_pairs<integers_in<ELEMENT_FLOAT64>, floating_pairs>;

template <template <class> class Fold, class Pairs>
const void *flat_kernel(const kernel_key &key)
{
    if (key.method != METHOD_last_block)
        return nullptr;
    return Pairs::find(key.input, key.accumulator, [](auto in, auto acc) {
        using array = std::conditional_t<is_indexed<Fold<decltype(acc)>>::value,
                                         positioned<decltype(in)>, global<const decltype(in)>>;
        return KERNEL_ENTRY(last_block<Fold<decltype(acc)>, array>);
    });
}

} // namespace

/* Of folds whose other kernels of known types are compiled apart, and of descriptions there are
 * none. */
template <template <class> class>
const void *no_columns(const kernel_key &)
{
    return nullptr;
}

/* GROUP_n(FOLD): FOLD(fold, its pairs of a flat array, its values of others, its columns). */
#define GROUP_argmins(FOLD)  FOLD(argmin, own_values, all_values<>, no_columns)
#define GROUP_argmaxs(FOLD)  FOLD(argmax, own_values, all_values<>, no_columns)
#define GROUP_ranges(FOLD)   FOLD(extremes, own_values, all_values<>, kernel_of_columns)
#define GROUP_nonzeros(FOLD) FOLD(nonzero, own_values, all_values<>, no_columns)
#define GROUP_norms(FOLD)                                                                          \
    FOLD(norm1, floating_pairs, floats_only, kernel_of_columns)                                    \
    FOLD(norm2, averages, floats_only, kernel_of_columns)
#define GROUP_infinity_norms(FOLD)                                                                 \
    FOLD(norm_inf, floating_pairs, floats_only, kernel_of_columns)                                 \
    FOLD(norm_neg_inf, floating_pairs, floats_only, kernel_of_columns)
#define GROUP_nan_sums(FOLD)                                                                       \
    FOLD(nansum, floating_pairs, floats_only, kernel_of_columns)                                   \
    FOLD(nanprod, floating_pairs, floats_only, kernel_of_columns)
#define GROUP_nan_extremes(FOLD)                                                                   \
    FOLD(nanmin, floating_pairs, floats_only, kernel_of_columns)                                   \
    FOLD(nanmax, floating_pairs, floats_only, kernel_of_columns)
#define GROUP_variances(FOLD)                                                                      \
    FOLD(variance, averages, floats_only, no_columns)                                              \
    FOLD(summary, own_values, all_values<>, no_columns)

#define EACH_OF(group)        EACH_OF_PASTED(group)
#define EACH_OF_PASTED(group) GROUP_##group

#define KERNEL_OF_FOLD(name, flat, values, columns)                                                \
    const void *name##_kernel(kernel_key key)                                                      \
    {                                                                                              \
        return key.kind == KERNEL_FLAT            ? flat_kernel<name, flat>(key)                   \
               : key.kind != KERNEL_TYPED_COLUMNS ? strided_kernel<name, values>(key)              \
               : key.variant == ACCESS_ALIGNED    ? columns<name>(key)                             \
                                                  : nullptr;                                       \
    }
EACH_OF(GRED_GROUP)(KERNEL_OF_FOLD)

} // namespace KERNELS
