/* The host's loops over vector registers. This file is compiled once for each set of instructions,
 * which GRED_INSTRUCTIONS names; which set a processor has is found out when the module starts. */
#include "counts.cuh"
#include "extremes.cuh"
#include "norms.cuh"
#include "positions.cuh"
#include "products.cuh"
#include "spreads.cuh"
#include "summaries.cuh"
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
constexpr bool is_truth = std::is_same_v<In, boolean>;

template <class In>
constexpr bool is_float = !std::is_integral_v<In> && !is_truth<In>;

template <class In, class V>
constexpr fold_values *sum_of()
{
    using fold = sum<V>;
    if constexpr (is_truth<In>)
        return count_loop<In, V, fold>;
    else if constexpr (is_float<In> || (sizeof(In) == 8 && std::is_same_v<V, double>))
        return float_sum_loop<In, V, fold>;
    else
        return integer_sum_loop<In, V, fold>;
}

template <class In, class V>
constexpr fold_values *product_of()
{
    using fold = prod<V>;
    if constexpr (is_truth<In>)
        return truth_product_loop<In, V, fold>;
    else if constexpr (is_complex<V>)
        return complex_product_loop<V, fold, false>;
    else if constexpr (is_float<In>)
        return float_product_loop<In, V, as_they_are>;
    else
        return integer_product_loop<In, V, fold>;
}

template <class In, class V>
constexpr fold_values *variance_of()
{
    using fold = variance<V>;
    if constexpr (is_truth<In>)
        return truth_variance_loop<In, fold>;
    else if constexpr (std::is_integral_v<In> && sizeof(In) <= 2)
        return narrow_variance_loop<In, fold>;
    else if constexpr (std::is_integral_v<In>)
        return variance_loop<In, double, fold>;
    else
        return variance_loop<In, V, fold>;
}

template <class In, class V>
constexpr fold_values *norm1_of()
{
    using fold = norm1<V>;
    if constexpr (is_truth<In>)
        return count_loop<In, double, fold>;
    else if constexpr (std::is_integral_v<In> && sizeof(In) <= 4)
        return narrow_norm1_loop<In, V, fold>;
    else
        return norm1_loop<In, V, fold>;
}

template <class In, class V>
constexpr fold_values *norm2_of()
{
    using fold = norm2<V>;
    if constexpr (is_truth<In>)
        return truth_norm2_loop<In, V, fold>;
    else if constexpr (std::is_integral_v<In> && sizeof(In) <= 2)
        return narrow_norm2_loop<In, V, fold>;
    else
        return norm2_loop<In, V, fold>;
}

template <class In, class V>
constexpr fold_values *norm_inf_of()
{
    using fold = norm_inf<V>;
    if constexpr (is_complex<V>)
        return complex_norm_inf_loop<V, fold>;
    else
        return norm_inf_loop<In, V, fold>;
}

/* NaN is left out. */
template <class In, class V>
constexpr fold_values *number_product_of()
{
    if constexpr (is_complex<V>)
        return complex_product_loop<V, nanprod<V>, true>;
    else
        return float_product_loop<In, V, ones_for_nan>;
}

/* Folds of floats alone. */
template <class In, class V>
fold_values *float_loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_nansum:
        return number_sum_loop<In, V, nansum<V>>;
    case FOLD_nanprod:
        return number_product_of<In, V>();
    case FOLD_nanmin:
        return extreme_number_loop<In, V, least, nanmin<V>>;
    case FOLD_nanmax:
        return extreme_number_loop<In, V, greatest, nanmax<V>>;
    case FOLD_variance:
        return variance_of<In, V>();
    case FOLD_norm1:
        return norm1_of<In, V>();
    case FOLD_norm2:
        return norm2_of<In, V>();
    case FOLD_norm_inf:
        return norm_inf_of<In, V>();
    case FOLD_norm_neg_inf:
        return norm_neg_inf_loop<In, V, norm_neg_inf<V>>;
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
    case FOLD_prod:
        return product_of<In, V>();
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
    case FOLD_summary:
        return summary_loop<In, V, variance_of<In, V>(), sum_of<In, typename summed<V>::type>()>;
    default:
        break;
    }
    if constexpr (is_float<In>)
        return float_loop_of<In, V>(fold);
    else
        return nullptr;
}

/* Of wider values than elements are. */
template <class In, class V>
fold_values *converting_loop_of(enum fold fold)
{
    if (fold == FOLD_sum)
        return sum_of<In, V>();
    if constexpr (std::is_same_v<V, double>) {
        switch (fold) {
        case FOLD_variance:
            return variance_of<In, V>();
        case FOLD_norm1:
            return norm1_of<In, V>();
        case FOLD_norm2:
            return norm2_of<In, V>();
        default:
            return nullptr;
        }
    } else {
        return fold == FOLD_prod ? product_of<In, V>() : nullptr;
    }
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
