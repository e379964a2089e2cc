/* Loops for many output elements, compiled once per instruction set, like vectors.cpp. */
#include "column_extremes.cuh"
#include "column_sums.cuh"
#include "products.cuh"
#include "table.h"
#include "transpose.cuh"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* The type whose bits are tested for truth, except for the signs of zeros. */
template <class In>
using truth_element =
    std::conditional_t<std::is_integral_v<In> || is_truth<In>, bits_of<sizeof(In)>,
                       std::conditional_t<sizeof(In) == 2, float16, In>>;

/* The most common result type of extremes. */
template <class In, class V>
using narrower = std::conditional_t<sizeof(In) < sizeof(V) && !is_truth<In>, In, V>;

template <class In, class V>
constexpr const slab_loop *sum_loop_of()
{
    using in = real_of<In>;
    using direct = std::conditional_t<std::is_same_v<V, double>, V, wide_integer<In>>;
    if constexpr (is_truth<In>)
        return &shared_loop<column_sums<uint8_t, int32_t, truths>, direct, V>;
    else if constexpr (std::is_integral_v<In> && !(sizeof(In) == 8 && std::is_same_v<V, double>))
        return &shared_loop<column_sums<In, integer_accumulator<In>>, direct, V>;
    else
        return &loop_for<column_sums<in, real_of<V>>, V>;
}

/* Integer products modulo 2^64 are correct for narrower types too. */
template <class In, class V>
constexpr const slab_loop *product_loop_of()
{
    if constexpr (is_truth<In>)
        return &shared_loop<column_sums<uint8_t, int64_t, truths, prod>, int64_t, V>;
    else if constexpr (std::is_integral_v<V>)
        return &shared_loop<column_sums<In, int64_t, no_transform, prod>, int64_t, V>;
    else
        return &loop_for<column_sums<In, V, no_transform, prod>, V>;
}

template <class In>
constexpr const slab_loop *count_loop_of()
{
    using counted = std::conditional_t<sizeof(In) == 8, int64_t, int32_t>;
    return &loop_for<column_sums<truth_element<In>, counted, truths>, uint64_t>;
}

/* Logical folds of 0 and 1. */
template <class T, bool All>
struct truth_fold {
    FORCEINLINE static T identity()
    {
        return All;
    }

    FORCEINLINE static T merge(T a, T b)
    {
        return All ? a & b : a | b;
    }
};

template <class T>
using logical_or = truth_fold<T, false>;

template <class T>
using logical_and = truth_fold<T, true>;

/* Whether any element is true, or whether all are. */
template <class In, template <class> class Fold>
constexpr const slab_loop *truth_loop_of()
{
    using part = real_of<In>;
    using bits = bits_of<sizeof(part)>;
    if constexpr (is_complex<In>)
        return &loop_for<column_sums<part, bits, complex_truths, Fold>, uint8_t, 2>;
    else
        return &loop_for<column_sums<truth_element<In>, bits, truths, Fold>, uint8_t>;
}

template <class In, class V>
const slab_loop *norm_loop_of(enum fold fold)
{
    using greatest_magnitudes = std::conditional_t<std::is_integral_v<In>, column_ranges<In>,
                                                   column_sums<In, double, magnitudes, largest>>;
    return fold == FOLD_norm1      ? &loop_for<column_sums<In, double, magnitudes>, double>
           : fold == FOLD_norm2    ? &loop_for<column_squares<In>, state_of<norm2<V>>>
           : fold == FOLD_norm_inf ? &loop_for<greatest_magnitudes, double>
           : fold == FOLD_norm_neg_inf
               ? &loop_for<column_sums<In, double, magnitudes, smallest>, double>
               : nullptr;
}

template <class In, class V, class Order, template <class> class Fold, bool Masked>
constexpr const slab_loop *nanarg_loop_of()
{
    return &loop_for<column_positions<In, Order, Masked, nan_policy::omit>, state_of<Fold<V>>>;
}

template <class In, class V>
const slab_loop *float_loop_of(enum fold fold)
{
    return fold == FOLD_variance ? &loop_for<column_variances<In>, state_of<variance<V>>>
           : fold == FOLD_nanvariance
               ? &loop_for<column_variances<In, 1, false, nan_policy::omit>, state_of<variance<V>>>
           : fold == FOLD_logsumexp ? &loop_for<column_exponentials<In, V>, state_of<logsumexp<V>>>
           : fold == FOLD_nansum    ? &loop_for<column_nansums<In, V>, state_of<nansum<V>>>
           : fold == FOLD_nanprod   ? &loop_for<column_sums<In, V, nan_as_one, prod>, V>
           : fold == FOLD_nanargmin ? nanarg_loop_of<In, V, least, nanargmin, false>()
           : fold == FOLD_nanargmax ? nanarg_loop_of<In, V, greatest, nanargmax, false>()
           : fold == FOLD_nanmin    ? &loop_for<column_extremes<In, least, nan_policy::omit>, V>
           : fold == FOLD_nanmax    ? &loop_for<column_extremes<In, greatest, nan_policy::omit>, V>
                                    : norm_loop_of<In, V>(fold);
}

/* Folds of complex numbers: vectorized by parts, or, of a few rows, with scalar states. */
template <class T>
const slab_loop *complex_loop_of(enum fold fold, bool few)
{
    using V = complex<T>;
    const slab_loop *const of_parts =
        fold == FOLD_sum    ? sum_loop_of<V, V>()
        : fold == FOLD_prod ? &loop_for<column_products<T>, V>
        : fold == FOLD_nonzero
            ? &loop_for<column_sums<T, bits_of<sizeof(T)>, complex_truths>, uint64_t, 2>
        : fold == FOLD_variance ? &loop_for<column_variances<T, 2>, state_of<variance<V>>, 2>
        : fold == FOLD_nansum   ? &loop_for<column_nansums<T, V>, state_of<nansum<V>>, 2>
        : fold == FOLD_norm2    ? &loop_for<column_squares<T, 2>, state_of<norm2<V>>, 2>
                                : nullptr;
    if (of_parts || !few)
        return of_parts;
    switch (fold) {
#define STATES(name)                                                                               \
    case FOLD_##name:                                                                              \
        return &loop_for<column_states<name<V>>, state_of<name<V>>, 1>;
        STATES(min)
        STATES(max)
        STATES(argmin)
        STATES(argmax)
        STATES(nanargmin)
        STATES(nanargmax)
        STATES(extremes)
        STATES(nanvariance)
        STATES(nanprod)
        STATES(nanmin)
        STATES(nanmax)
        STATES(logsumexp)
        STATES(summary)
    default:
        return nullptr;
    }
}

/* Real elements, in their own accumulator type. */
template <class In, class V>
const slab_loop *real_loop_of(enum fold fold)
{
    const slab_loop *of_floats = nullptr;
    if constexpr (is_float<In>)
        of_floats = float_loop_of<In, V>(fold);
    return fold == FOLD_sum        ? sum_loop_of<In, V>()
           : fold == FOLD_prod     ? product_loop_of<In, V>()
           : fold == FOLD_nonzero  ? count_loop_of<In>()
           : fold == FOLD_min      ? &shared_loop<column_extremes<In, least>, narrower<In, V>, V>
           : fold == FOLD_max      ? &shared_loop<column_extremes<In, greatest>, narrower<In, V>, V>
           : fold == FOLD_argmin   ? &loop_for<column_positions<In, least>, state_of<argmin<V>>>
           : fold == FOLD_argmax   ? &loop_for<column_positions<In, greatest>, state_of<argmax<V>>>
           : fold == FOLD_extremes ? &loop_for<column_ranges<In>, state_of<extremes<V>>>
                                   : of_floats;
}

template <class In, class V>
const slab_loop *loop_of(tag<In>, tag<V>, enum fold fold, bool few)
{
    if constexpr (is_complex<V>)
        return complex_loop_of<real_of<V>>(fold, few);
    else
        return real_loop_of<In, V>(fold);
}

/* Accumulators wider than the elements' own. */
template <class In, class V>
const slab_loop *converting_loop_of(tag<In>, tag<V>, enum fold fold)
{
    if (fold == FOLD_sum)
        return sum_loop_of<In, V>();
    if constexpr (!std::is_same_v<V, double>) {
        if (fold == FOLD_prod)
            return product_loop_of<In, V>();
    } else if constexpr (!is_truth<In>) {
        return fold == FOLD_variance ? &loop_for<column_variances<In>, state_of<variance<V>>>
                                     : norm_loop_of<In, V>(fold);
    }
    return nullptr;
}

/* Loops that take a mask: positions and, in float64, variances, of real numbers. */
template <class In, class V>
const slab_loop *masked_loop_of(tag<In>, tag<V>, enum fold fold)
{
    if constexpr (!is_complex<V> && !is_truth<In>) {
        if (fold == FOLD_argmin)
            return &loop_for<column_positions<In, least, true>, state_of<argmin<V>>>;
        if (fold == FOLD_argmax)
            return &loop_for<column_positions<In, greatest, true>, state_of<argmax<V>>>;
        if constexpr (is_float<In>)
            return fold == FOLD_nanargmin   ? nanarg_loop_of<In, V, least, nanargmin, true>()
                   : fold == FOLD_nanargmax ? nanarg_loop_of<In, V, greatest, nanargmax, true>()
                   : fold == FOLD_nanvariance
                       ? &loop_for<column_variances<In, 1, true, nan_policy::omit>,
                                   state_of<variance<V>>>
                       : &loop_for<column_variances<In, 1, true>, state_of<variance<V>>>;
    }
    return nullptr;
}

/* Loops for logical results: the maximum and the minimum of truth values. */
template <class In>
const slab_loop *logical_loop_of(tag<In>, enum fold fold)
{
    return fold == FOLD_max   ? truth_loop_of<In, logical_or>()
           : fold == FOLD_min ? truth_loop_of<In, logical_and>()
                              : nullptr;
}

/* Extremes of elements narrower than their accumulators, stored in the elements' own type. */
template <class In, class V>
const slab_loop *narrow_loop_of(tag<In>, tag<V>, enum fold fold)
{
    if constexpr (!std::is_same_v<narrower<In, V>, V>)
        return fold == FOLD_min   ? &loop_for<column_extremes<In, least>, In>
               : fold == FOLD_max ? &loop_for<column_extremes<In, greatest>, In>
                                  : nullptr;
    else
        return nullptr;
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

const slab_loop *KERNELS::find_columns(enum fold fold, enum element input, enum element accumulator,
                                       bool few, bool masked)
{
    if (masked)
        return visit_pairs(
            input, accumulator, [=](auto in, auto v) { return masked_loop_of(in, v, fold); },
            [](auto, auto) { return (const slab_loop *)nullptr; });
    if (accumulator == ELEMENT_BOOL)
        return visit_elements(input, [=](auto in, auto) { return logical_loop_of(in, fold); });
    if (accumulator == input && element_accumulator(input) != input)
        return visit_elements(input, [=](auto in, auto v) { return narrow_loop_of(in, v, fold); });
    return visit_pairs(
        input, accumulator, [=](auto in, auto v) { return loop_of(in, v, fold, few); },
        [=](auto in, auto v) { return converting_loop_of(in, v, fold); });
}

transpose_tile *KERNELS::find_transpose(size_t size)
{
    return size == sizeof(struct complex128)
               ? transpose_all<struct complex128>
               : visit_words(size, [](auto word) { return transpose_all<decltype(word)>; });
}
