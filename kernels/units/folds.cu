/* Instantiates the default method for folds that are not on the ladder, those of the group
 * GRED_GROUP, and lists the addresses. A few groups, so that they can be compiled side by side. */
#include "../accumulators.cuh"
#include "../entry.cuh"
#include "../load/strided_entry.cuh"
#include "../reductions.cuh"
#include "common/kernels.h"

namespace KERNELS
{
namespace
{

/* How a fold reads a flat array. */
template <class Fold, class In>
using flat_array = std::conditional_t<is_indexed<Fold>::value, positioned<In>, global<const In>>;

template <template <class> class Fold, class V, class In>
const void *flat_kernel()
{
    return KERNEL_ENTRY(last_block<Fold<V>, flat_array<Fold<V>, In>>);
}

constexpr unsigned pair_of(enum element input, enum element accumulator)
{
    return unsigned(input) * ELEMENTS + unsigned(accumulator);
}

#define PAIR(IN, In, ACC, V)                                                                       \
    case pair_of(ELEMENT_##IN, ELEMENT_##ACC):                                                     \
        return flat_kernel<Fold, V, In>();

/* clang-format off */
#define PAIRS_floats                                 \
    PAIR(FLOAT16, float16, FLOAT32, float)           \
    PAIR(BFLOAT16, bfloat16, FLOAT32, float)         \
    PAIR(FLOAT32, float, FLOAT32, float)             \
    PAIR(FLOAT64, double, FLOAT64, double)           \
    PAIR(COMPLEX64, complex<float>, COMPLEX64, complex<float>) \
    PAIR(COMPLEX128, complex<double>, COMPLEX128, complex<double>)

#define PAIRS_integers                               \
    PAIR(BOOL, boolean, INT32, int32_t)              \
    PAIR(INT8, int8_t, INT32, int32_t)               \
    PAIR(INT16, int16_t, INT32, int32_t)             \
    PAIR(UINT8, uint8_t, INT32, int32_t)             \
    PAIR(UINT16, uint16_t, INT32, int32_t)           \
    PAIR(INT32, int32_t, INT32, int32_t)             \
    PAIR(INT64, int64_t, INT64, int64_t)             \
    PAIR(UINT32, uint32_t, INT64, int64_t)           \
    PAIR(UINT64, uint64_t, UINT64, uint64_t)

#define PAIRS_integers_in_float64                    \
    PAIR(BOOL, boolean, FLOAT64, double)             \
    PAIR(INT8, int8_t, FLOAT64, double)              \
    PAIR(INT16, int16_t, FLOAT64, double)            \
    PAIR(UINT8, uint8_t, FLOAT64, double)            \
    PAIR(UINT16, uint16_t, FLOAT64, double)          \
    PAIR(INT32, int32_t, FLOAT64, double)            \
    PAIR(INT64, int64_t, FLOAT64, double)            \
    PAIR(UINT32, uint32_t, FLOAT64, double)          \
    PAIR(UINT64, uint64_t, FLOAT64, double)
/* clang-format on */

/* Types that a group has no kernel for are gathered, into the widest type of their kind. */
template <template <class> class Fold>
const void *of_own_values(enum element input, enum element accumulator)
{
    switch (pair_of(input, accumulator)) {
        PAIRS_integers PAIRS_floats default : return nullptr;
    }
}

template <template <class> class Fold>
const void *of_averages(enum element input, enum element accumulator)
{
    switch (pair_of(input, accumulator)) {
        PAIRS_integers_in_float64 PAIRS_floats default : return nullptr;
    }
}

template <template <class> class Fold>
const void *of_floats(enum element input, enum element accumulator)
{
    switch (pair_of(input, accumulator)) {
        PAIRS_floats default : return nullptr;
    }
}

/* GROUP_n(FOLD): FOLD(fold, its flat kernels, its strided ones). */
#define GROUP_argmins(FOLD)  FOLD(argmin, of_own_values, all_values)
#define GROUP_argmaxs(FOLD)  FOLD(argmax, of_own_values, all_values)
#define GROUP_ranges(FOLD)   FOLD(extremes, of_own_values, all_values)
#define GROUP_nonzeros(FOLD) FOLD(nonzero, of_own_values, all_values)
#define GROUP_norms(FOLD)                                                                          \
    FOLD(norm1, of_floats, floats_alone)                                                           \
    FOLD(norm2, of_averages, floats_alone)
#define GROUP_infinity_norms(FOLD)                                                                 \
    FOLD(norm_inf, of_floats, floats_alone)                                                        \
    FOLD(norm_neg_inf, of_floats, floats_alone)
#define GROUP_nan_sums(FOLD)                                                                       \
    FOLD(nansum, of_floats, floats_alone)                                                          \
    FOLD(nanprod, of_floats, floats_alone)
#define GROUP_nan_extremes(FOLD)                                                                   \
    FOLD(nanmin, of_floats, floats_alone)                                                          \
    FOLD(nanmax, of_floats, floats_alone)
#define GROUP_variances(FOLD)                                                                      \
    FOLD(variance, of_averages, floats_alone)                                                      \
    FOLD(summary, of_own_values, all_values)

#define EACH_OF(group)        EACH_OF_PASTED(group)
#define EACH_OF_PASTED(group) GROUP_##group

template <template <class> class Fold, template <class> class Kernel>
struct all_values {
    static const void *of(const kernel_key &key)
    {
        return strided_all<Fold, Kernel>(key.input, key.accumulator);
    }
};

template <template <class> class Fold, template <class> class Kernel>
struct floats_alone {
    static const void *of(const kernel_key &key)
    {
        return strided_floats<Fold, Kernel>(key.input, key.accumulator);
    }
};

} // namespace

#define KERNEL_OF_FOLD(name, flat, strided)                                                        \
    template <template <class> class Kernel>                                                       \
    using name##_strided = strided<name, Kernel>;                                                  \
    const void *name##_kernel(kernel_key key)                                                      \
    {                                                                                              \
        if (key.kind != KERNEL_FLAT)                                                               \
            return strided_kernel<name##_strided>(key);                                            \
        return key.method == METHOD_last_block ? flat<name>(key.input, key.accumulator) : nullptr; \
    }
EACH_OF(GRED_GROUP)(KERNEL_OF_FOLD)

} // namespace KERNELS
