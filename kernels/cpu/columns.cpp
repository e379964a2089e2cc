/* What folds many results at once, compiled once for each set of instructions, as vectors.cpp is.
 */
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

template <class In, class V>
constexpr fold_slab *sum_of()
{
    using in = typename parts_of<In>::type;
    if constexpr (is_truth<In>)
        return fold_slab_by<column_sums<uint8_t, int32_t, truths>, V>;
    else if constexpr (std::is_integral_v<In> && !(sizeof(In) == 8 && std::is_same_v<V, double>))
        return fold_slab_by<column_sums<In, room_for<In>>, V>;
    else
        return fold_slab_by<column_sums<in, typename parts_of<V>::type>, V>;
}

/* Integers wrap around in as many bits as there are. */
template <class In, class V>
constexpr fold_slab *product_of()
{
    using wide = std::conditional_t<std::is_same_v<V, uint64_t>, uint64_t, int64_t>;
    if constexpr (is_truth<In>)
        return fold_slab_to<column_sums<uint8_t, wide, truths, prod>, wide, V>;
    else if constexpr (std::is_integral_v<V>)
        return fold_slab_to<column_sums<In, wide, as_they_are, prod>, wide, V>;
    else
        return fold_slab_by<column_sums<In, V, as_they_are, prod>, V>;
}

/* Bits tell which elements are true, but for the signs of zeros. */
template <class In>
using telling_element =
    std::conditional_t<std::is_integral_v<In> || is_truth<In>, bits_of<sizeof(In)>,
                       std::conditional_t<sizeof(In) == 2, float16, In>>;

template <class In, class V>
constexpr fold_slab *count_of()
{
    using counted = std::conditional_t<sizeof(In) == 8, int64_t, int32_t>;
    return fold_slab_by<column_sums<telling_element<In>, counted, truths>, uint64_t>;
}

/* Whether any element is true, or all are. */
template <class In, template <class> class Fold>
constexpr fold_slab *truth_of_columns()
{
    using part = typename parts_of<In>::type;
    using bits = bits_of<sizeof(part)>;
    if constexpr (is_complex<In>)
        return fold_slab_by<column_sums<part, bits, truths_of_pairs, Fold>, uint8_t, 2>;
    else
        return fold_slab_by<column_sums<telling_element<In>, bits, truths, Fold>, uint8_t>;
}

template <class In, class V>
fold_slab *norm_of(enum fold fold)
{
    switch (fold) {
    case FOLD_norm1:
        return fold_slab_by<column_sums<In, double, magnitudes>, double>;
    case FOLD_norm2:
        return fold_slab_by<column_squares<In>, state_of<norm2<V>>>;
    case FOLD_norm_inf:
        return fold_slab_by<column_sums<In, double, magnitudes, largest>, double>;
    case FOLD_norm_neg_inf:
        return fold_slab_by<column_sums<In, double, magnitudes, smallest>, double>;
    default:
        return nullptr;
    }
}

/* Folds of floats alone. */
template <class In, class V>
fold_slab *float_loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_variance:
        return fold_slab_by<column_moments<In>, state_of<variance<V>>>;
    case FOLD_nansum:
        return fold_slab_by<column_number_sums<In, V>, state_of<nansum<V>>>;
    case FOLD_nanprod:
        return fold_slab_by<column_sums<In, V, ones_for_nan, prod>, V>;
    case FOLD_nanmin:
        return fold_slab_by<column_extreme_numbers<In, least>, V>;
    case FOLD_nanmax:
        return fold_slab_by<column_extreme_numbers<In, greatest>, V>;
    default:
        return norm_of<In, V>(fold);
    }
}

/* Folds of complex numbers that their parts' lanes take. */
template <class T>
fold_slab *complex_loop_of(enum fold fold)
{
    using V = complex<T>;
    switch (fold) {
    case FOLD_sum:
        return sum_of<V, V>();
    case FOLD_prod:
        return fold_slab_by<column_products<T>, V>;
    case FOLD_nonzero:
        return fold_slab_by<column_sums<T, bits_of<sizeof(T)>, truths_of_pairs>, uint64_t, 2>;
    case FOLD_variance:
        return fold_slab_by<column_moments<T, 2>, state_of<variance<V>>, 2>;
    case FOLD_nansum:
        return fold_slab_by<column_number_sums<T, V>, state_of<nansum<V>>, 2>;
    case FOLD_norm2:
        return fold_slab_by<column_squares<T, 2>, state_of<norm2<V>>, 2>;
    default:
        return nullptr;
    }
}

/* Whether those are all that there is to it; all other folds make a state each. */
constexpr bool has_complex_lanes(enum fold fold)
{
    return fold == FOLD_sum || fold == FOLD_prod || fold == FOLD_nonzero || fold == FOLD_variance ||
           fold == FOLD_nansum || fold == FOLD_norm2;
}

template <class Fold, enum fold Number>
constexpr fold_slab *states_by()
{
    if constexpr (has_complex_lanes(Number))
        return nullptr;
    else
        return fold_slab_by<column_states<Fold>, made_state<Fold>>;
}

template <class V>
fold_slab *states_loop_of(enum fold fold)
{
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        return states_by<name<V>, FOLD_##name>();
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

/* Of values that are their accumulator's, or on their way there. */
template <class In, class V>
fold_slab *loop_of(enum fold fold)
{
    if constexpr (!is_complex<V>) {
        switch (fold) {
        case FOLD_sum:
            return sum_of<In, V>();
        case FOLD_prod:
            return product_of<In, V>();
        case FOLD_nonzero:
            return count_of<In, V>();
        case FOLD_min:
            return fold_slab_by<column_extremes<In, least>, V>;
        case FOLD_max:
            return fold_slab_by<column_extremes<In, greatest>, V>;
        case FOLD_argmin:
            return fold_slab_by<column_positions<In, least>, state_of<argmin<V>>>;
        case FOLD_argmax:
            return fold_slab_by<column_positions<In, greatest>, state_of<argmax<V>>>;
        case FOLD_extremes:
            return fold_slab_by<column_ranges<In>, state_of<extremes<V>>>;
        default:
            break;
        }
        if constexpr (!std::is_integral_v<In> && !is_truth<In>)
            return float_loop_of<In, V>(fold);
        return nullptr;
    } else {
        return complex_loop_of<typename parts_of<V>::type>(fold);
    }
}

/* Of wider values than elements are. */
template <class In, class V>
fold_slab *converting_loop_of(enum fold fold)
{
    if (fold == FOLD_sum)
        return sum_of<In, V>();
    if constexpr (!std::is_same_v<V, double>) {
        if (fold == FOLD_prod)
            return product_of<In, V>();
    } else if constexpr (!is_truth<In>) {
        return fold == FOLD_variance ? fold_slab_by<column_moments<In>, state_of<variance<V>>>
                                     : norm_of<In, V>(fold);
    }
    return nullptr;
}

/* Of elements as truth values: the maximum and the minimum. */
template <class In>
fold_slab *loop_of_truths(enum fold fold)
{
    switch (fold) {
    case FOLD_max:
        return truth_of_columns<In, either>();
    case FOLD_min:
        return truth_of_columns<In, both>();
    default:
        return nullptr;
    }
}

/* Of elements that are narrower than their accumulators, as results: the element itself. */
template <class In>
fold_slab *extremes_as_they_are(enum fold fold)
{
    switch (fold) {
    case FOLD_min:
        return fold_slab_by<column_extremes<In, least>, In>;
    case FOLD_max:
        return fold_slab_by<column_extremes<In, greatest>, In>;
    default:
        return nullptr;
    }
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

/* Of integers and halves, which are narrower than their accumulators. */
static fold_slab *find_narrow(enum fold fold, enum element input)
{
    return visit_elements(input, [=](auto in, auto v) -> fold_slab * {
        using In = type_in<decltype(in)>;
        constexpr bool narrow = sizeof(In) < sizeof(type_in<decltype(v)>);
        if constexpr (narrow && !is_truth<In>)
            return extremes_as_they_are<In>(fold);
        else
            return nullptr;
    });
}

fold_slab *KERNELS::find_columns(enum fold fold, enum element input, enum element accumulator)
{
    if (accumulator == ELEMENT_BOOL)
        return visit_elements(
            input, [=](auto in, auto) { return loop_of_truths<type_in<decltype(in)>>(fold); });
    if (accumulator == input && element_accumulator(input) != input)
        return find_narrow(fold, input);
    return visit_pairs(
        input, accumulator,
        [=](auto in, auto v) { return loop_of<type_in<decltype(in)>, type_in<decltype(v)>>(fold); },
        [=](auto in, auto v) {
            return converting_loop_of<type_in<decltype(in)>, type_in<decltype(v)>>(fold);
        });
}

fold_slab *KERNELS::find_columns_of_states(enum fold fold, enum element type)
{
    switch (type) {
    case ELEMENT_COMPLEX64:
        return states_loop_of<complex<float>>(fold);
    case ELEMENT_COMPLEX128:
        return states_loop_of<complex<double>>(fold);
    default:
        return nullptr;
    }
}

transpose_rows *KERNELS::find_transpose(size_t size)
{
    switch (size) {
    case 1:
        return transpose_all<uint8_t>;
    case 2:
        return transpose_all<uint16_t>;
    case 4:
        return transpose_all<uint32_t>;
    case 8:
        return transpose_all<uint64_t>;
    default:
        return transpose_all<struct complex128>;
    }
}
