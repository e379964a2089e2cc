/* What folds many results at once, compiled once for each set of instructions, as vectors.cpp is.
 */
#include "columns.cuh"
#include "column_extremes.cuh"
#include "column_moments.cuh"
#include "column_norms.cuh"
#include "column_numbers.cuh"
#include "column_products.cuh"
#include "column_states.cuh"
#include "column_sums.cuh"
#include "pairs.cuh"
#include "products.cuh"
#include "turns.cuh"

namespace KERNELS
{
namespace
{

template <class In>
constexpr bool is_truth = std::is_same_v<In, boolean>;

template <class V>
constexpr bool is_complex = parts_of<V>::count > 1;

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
        return fold_slab_by<column_sums<uint8_t, wide, truths, prod>, V>;
    else if constexpr (std::is_integral_v<V>)
        return fold_slab_by<column_sums<In, wide, as_they_are, prod>, V>;
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

template <class Fold>
constexpr fold_slab *states_by = fold_slab_by<column_states<Fold>, made_state<Fold>>;

template <class V>
fold_slab *states_loop_of(enum fold fold)
{
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        return states_by<name<V>>;
#include "common/reductions.def"
    default:
        return nullptr;
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

fold_slab *SLAB_LOOP(GRED_INSTRUCTIONS)(enum fold fold, enum element input,
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
#define TRUTHS(IN, In, ACC, V)                                                                     \
    case pair_of(ELEMENT_##IN, ELEMENT_BOOL):                                                      \
        return loop_of_truths<In>(fold);
        OWN_ACCUMULATORS(TRUTHS)
#define NARROW(NAME, T)                                                                            \
    case pair_of(ELEMENT_##NAME, ELEMENT_##NAME):                                                  \
        return extremes_as_they_are<T>(fold);
        NARROW(INT8, int8_t)
        NARROW(INT16, int16_t)
        NARROW(UINT8, uint8_t)
        NARROW(UINT16, uint16_t)
        NARROW(UINT32, uint32_t)
        NARROW(FLOAT16, float16)
        NARROW(BFLOAT16, bfloat16)
    default:
        return nullptr;
    }
}

fold_slab *STATES_LOOP(GRED_INSTRUCTIONS)(enum fold fold, enum element type)
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

turn_rows *TURNER(GRED_INSTRUCTIONS)(size_t size)
{
    switch (size) {
    case 1:
        return turn_all<uint8_t>;
    case 2:
        return turn_all<uint16_t>;
    case 4:
        return turn_all<uint32_t>;
    case 8:
        return turn_all<uint64_t>;
    default:
        return turn_all<struct complex128>;
    }
}
