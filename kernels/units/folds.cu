/* Instantiates the default method for the folds of the group GRED_GROUP, which are not on the
 * ladder, and looks its kernels up. Groups are compiled in parallel. */
#include "../axes/typed_entry.cuh"
#include "../load/strided_entry.cuh"
#include "../reductions.cuh"

namespace KERNELS
{
namespace
{

/* Types without a kernel are converted to the widest type of their kind by a gathering copy. */
using native_values =
    concat_pairs<accumulated_in<ELEMENT_INT32, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16,
                                ELEMENT_UINT8, ELEMENT_UINT16, ELEMENT_INT32>,
                 accumulated_in<ELEMENT_INT64, ELEMENT_INT64, ELEMENT_UINT32>,
                 pairs<pair<ELEMENT_UINT64>>, floating_pairs>;
using averages = concat_pairs<integers_in<ELEMENT_FLOAT64>, floating_pairs>;

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

template <template <class> class Fold, class Flat, class Values, class Typed>
const void *kernel_of_fold(const kernel_key &key)
{
    if (key.kind == KERNEL_FLAT)
        return flat_kernel<Fold, Flat>(key);
    if (key.kind == KERNEL_STRIDED || key.kind == KERNEL_ALONG || key.kind == KERNEL_FEW)
        return strided_kernel<Fold, Values>(key);
    if (key.kind == KERNEL_UNSPLIT_COLUMNS || key.kind == KERNEL_TYPED_COLUMNS)
        return kernel_of_columns<Fold, Typed>(key);
    return kernel_of_rows<Fold, Typed, pairs<>>(key);
}

} // namespace

/* GROUP_name(FOLD) lists FOLD(fold, pairs for flat arrays, values for others, and pairs for
 * kernels along axes of a known type, unless typed.cu compiles these). */
#define GROUP_argmins(FOLD)       FOLD(argmin, native_values, all_values<>, pairs<>)
#define GROUP_argmaxs(FOLD)       FOLD(argmax, native_values, all_values<>, pairs<>)
#define GROUP_nan_variances(FOLD) FOLD(nanvariance, floating_pairs, floats_only, all_floats)
#define GROUP_nan_positions(FOLD)                                                                  \
    FOLD(nanargmin, floating_pairs, floats_only, real_floats)                                      \
    FOLD(nanargmax, floating_pairs, floats_only, pairs<>)
#define GROUP_ranges(FOLD)       FOLD(extremes, native_values, all_values<>, compared)
#define GROUP_nonzeros(FOLD)     FOLD(nonzero, native_values, all_values<>, pairs<>)
#define GROUP_exponentials(FOLD) FOLD(logsumexp, floating_pairs, floats_only, real_floats)
#define GROUP_norm1s(FOLD)       FOLD(norm1, floating_pairs, floats_only, all_floats)
#define GROUP_norm2s(FOLD)       FOLD(norm2, averages, floats_only, numbers)
#define GROUP_infinity_norms(FOLD)                                                                 \
    FOLD(norm_inf, floating_pairs, floats_only, all_floats)                                        \
    FOLD(norm_neg_inf, floating_pairs, floats_only, all_floats)
#define GROUP_nan_sums(FOLD)                                                                       \
    FOLD(nansum, floating_pairs, floats_only, all_floats)                                          \
    FOLD(nanprod, floating_pairs, floats_only, all_floats)
#define GROUP_nan_extremes(FOLD)                                                                   \
    FOLD(nanmin, floating_pairs, floats_only, real_floats)                                         \
    FOLD(nanmax, floating_pairs, floats_only, pairs<>)
#define GROUP_variances(FOLD)                                                                      \
    FOLD(variance, averages, floats_only, pairs<>)                                                 \
    FOLD(summary, native_values, all_values<>, pairs<>)

/* Larger groups, for compilers that need little time per kernel. */
#define GROUP_norms(FOLD) GROUP_norm1s(FOLD) GROUP_norm2s(FOLD) GROUP_infinity_norms(FOLD)
#define GROUP_nans(FOLD)                                                                           \
    GROUP_nan_sums(FOLD) GROUP_nan_extremes(FOLD) GROUP_nan_positions(FOLD)                        \
        GROUP_nan_variances(FOLD) GROUP_exponentials(FOLD)
#define GROUP_others(FOLD)                                                                         \
    GROUP_argmins(FOLD) GROUP_argmaxs(FOLD) GROUP_ranges(FOLD) GROUP_nonzeros(FOLD)                \
        GROUP_variances(FOLD)

#define EACH_OF(group)        EACH_OF_PASTED(group)
#define EACH_OF_PASTED(group) GROUP_##group

#define KERNEL_OF_FOLD(name, ...)                                                                  \
    const void *name##_kernel(kernel_key key)                                                      \
    {                                                                                              \
        return kernel_of_fold<name, __VA_ARGS__>(key);                                             \
    }
EACH_OF(GRED_GROUP)(KERNEL_OF_FOLD)

} // namespace KERNELS
