/* The host's loops over vector registers. This file is compiled once for each set of instructions,
 * which GRED_INSTRUCTIONS names; which set a processor has is found out when the module starts. */
#include "counts.cuh"
#include "extremes.cuh"
#include "products.cuh"
#include "spreads.cuh"
#include "sums.cuh"

#include "pairs.cuh"
#include "targets.h"

namespace KERNELS
{
namespace
{

template <class V>
constexpr bool is_complex = parts_of<V>::count > 1;

template <class In>
constexpr bool is_float = !std::is_integral_v<In> && !std::is_same_v<In, boolean>;

template <class In, class V>
fold_values *sum_of()
{
    using fold = sum<V>;
    if constexpr (std::is_same_v<In, boolean>)
        return count_loop<In, V, fold>;
    else if constexpr (is_float<In> || (sizeof(In) == 8 && std::is_same_v<V, double>))
        return float_sum_loop<In, V, fold>;
    else
        return integer_sum_loop<In, V, fold>;
}

/* Folds of numbers alone. */
template <class In, class V>
fold_values *float_loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_prod:
        return float_product_loop<In, V, prod<V>>;
    case FOLD_nansum:
        return number_sum_loop<In, V, nansum<V>>;
    case FOLD_nanmin:
        return extreme_number_loop<In, V, least, nanmin<V>>;
    case FOLD_nanmax:
        return extreme_number_loop<In, V, greatest, nanmax<V>>;
    case FOLD_variance:
        return variance_loop<In, V, variance<V>>;
    default:
        return nullptr;
    }
}

template <class V>
fold_values *complex_loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_prod:
        return complex_product_loop<V, prod<V>>;
    case FOLD_variance:
        return variance_loop<V, V, variance<V>>;
    default:
        return nullptr;
    }
}

/* Values of their accumulator's type, or on their way there. */
template <class In, class V>
fold_values *loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_sum:
        return sum_of<In, V>();
    case FOLD_nonzero:
        return count_loop<In, uint64_t, nonzero<V>>;
    case FOLD_min:
        return extreme_loop<In, V, least, min<V>>;
    case FOLD_max:
        return extreme_loop<In, V, greatest, max<V>>;
    case FOLD_extremes:
        return range_loop<In, V, extremes<V>>;
    case FOLD_argmin:
        return position_loop<In, V, least, argmin<V>>;
    case FOLD_argmax:
        return position_loop<In, V, greatest, argmax<V>>;
    default:
        break;
    }
    if constexpr (is_complex<V>)
        return complex_loop_of<V>(fold);
    else if constexpr (is_float<In>)
        return float_loop_of<In, V>(fold);
    else
        return nullptr;
}

template <class In, class Fold>
fold_values *wide_variance_of()
{
    if constexpr (std::is_same_v<In, boolean>)
        return truth_variance_loop<In, Fold>;
    else if constexpr (std::is_integral_v<In> && sizeof(In) <= 2)
        return narrow_variance_loop<In, Fold>;
    else
        return variance_loop<In, double, Fold>;
}

/* Of wider values than elements are. */
template <class In, class V>
fold_values *converting_loop_of(enum fold fold)
{
    if (fold == FOLD_sum)
        return sum_of<In, V>();
    if constexpr (std::is_same_v<V, double>)
        if (fold == FOLD_variance)
            return wide_variance_of<In, variance<V>>();
    return nullptr;
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

fold_values *VECTOR_LOOP(GRED_INSTRUCTIONS)(enum fold fold, enum element input,
                                            enum element accumulator)
{
    switch (pair_of(input, accumulator)) {
#define OWN(IN, In, ACC, V)                                                                        \
    case pair_of(ELEMENT_##IN, ELEMENT_##ACC):                                                     \
        return loop_of<In, V>(fold);
        OWN_ACCUMULATORS(OWN)
#define SUMMED(IN, In, ACC, V)                                                                     \
    case pair_of(ELEMENT_##IN, ELEMENT_##ACC):                                                     \
        return converting_loop_of<In, V>(fold);
        WIDER_ACCUMULATORS(SUMMED)
    default:
        return nullptr;
    }
}
