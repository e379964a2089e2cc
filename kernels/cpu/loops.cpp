/* The host's operations on states, generated from each fold's definition, and the choice of the
 * loops of vectors.cpp. */
#include "many_results.cuh"
#include "selection.cuh"
#include "types.cuh"

#include "common/cpu_kernels.h"

namespace KERNELS
{
namespace
{

/* Merges adjacent states pairwise, then the results, and so on, so that no float passes through
 * many additions. */
template <class Fold>
void merge_pairwise(void *states, size_t n)
{
    state_of<Fold> *const x = static_cast<state_of<Fold> *>(states);
    for (; n > 1; n -= n / 2) {
        for (size_t k = 0; k < n / 2; k++)
            x[k] = Fold::merge(x[2 * k], x[2 * k + 1]);
        if (n % 2)
            x[n / 2] = x[n - 1];
    }
}

template <class Fold>
void merge_into(void *target, const void *states, size_t n)
{
    state_of<Fold> *const x = static_cast<state_of<Fold> *>(target);
    const state_of<Fold> *const y = static_cast<const state_of<Fold> *>(states);
    for (size_t i = 0; i < n; i++)
        x[i] = Fold::merge(x[i], y[i]);
}

/* The operations of one fold and accumulator type. */
struct state_operations {
    size_t bytes;
    void (*store_identity)(void *state);
    merge_states *merge;
    merge_pairs *merge_into;
};

template <class Fold>
void store_identity(void *state)
{
    static_assert(sizeof(state_of<Fold>) <= STATE_BYTES_MAX, "states need more room");
    store_state<Fold>(state, Fold::identity());
}

template <class Fold>
constexpr state_operations operations_of_fold = {sizeof(state_of<Fold>), store_identity<Fold>,
                                                 merge_pairwise<Fold>, merge_into<Fold>};

/* `unsupported` if the fold does not support the accumulator type. */
const state_operations &operations_of(enum fold fold, enum element accumulator)
{
    static constexpr state_operations unsupported = {0, [](void *) {}, nullptr, nullptr};
    const state_operations *found = nullptr;
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        found = visit_##types(                                                                     \
            accumulator, [](auto v) { return &operations_of_fold<name<type_in<decltype(v)>>>; });  \
        break;
#include "common/reductions.def"
    default:
        break;
    }
    return found ? *found : unsupported;
}

/* ---- states that further elements cannot change ---- */

bool any_is_settled(const void *state, size_t)
{
    return load<uint64_t>(state) > 0;
}

bool all_is_settled(const void *state, size_t n)
{
    return load<uint64_t>(state) < n;
}

/* Truth values are reduced as int32; a position's state begins with its value. */
template <bool Truth>
bool extreme_is_settled(const void *state, size_t)
{
    return (load<int32_t>(state) != 0) == Truth;
}

/* Branch-free, with integers as wide as the states' members, so that compilers vectorize it. */
template <class State, class Predicate>
bool any_of(const void *states, uint64_t n, Predicate predicate)
{
    const State *const at = static_cast<const State *>(states);
    std::conditional_t<sizeof(State) == sizeof(uint32_t), uint32_t, uint64_t> any = 0;
    for (uint64_t k = 0; k < n; k++)
        any |= predicate(at[k]) ? 1 : 0;
    return any;
}

template <class V>
bool any_has_too_few(enum fold fold, const void *states, uint64_t n, double ddof)
{
    if (fold_is_indexed(fold))
        return any_of<value_at<V>>(states, n,
                                   [](const auto &at) { return at.index == UINT64_MAX; });
    if constexpr (!std::is_integral_v<V>) {
        if (fold_is_variance(fold))
            return any_of<state_of<variance<V>>>(states, n,
                                                 [=](const auto &s) { return s.count <= ddof; });
        if (fold == FOLD_nansum)
            return any_of<state_of<nansum<V>>>(states, n,
                                               [](const auto &s) { return s.count == 0; });
    }
    return any_of<V>(states, n, [](V x) { return is_nan(x); });
}

template <class W, class At>
void shift_deviations(variance_state<W> *states, uint64_t n, At at)
{
    for (uint64_t k = 0; k < n; k++)
        states[k].deviation = deviation_about(at(k), states[k]);
}

struct reduction_kind {
    bool is_stored, has_value;
};

constexpr reduction_kind kinds[] = {
#define REDUCTION(name, fold, ...)                                                                 \
    {is_stored<finishing<REDUCTION_##name>>::value,                                                \
     has_own<finishing<REDUCTION_##name>, fold<double>>::value ||                                  \
         has_number<finishing<REDUCTION_##name>, fold<double>>::value},
#include "common/reductions.def"
};

} // namespace
} // namespace KERNELS

using namespace KERNELS;

size_t state_bytes(enum fold fold, enum element accumulator)
{
    return operations_of(fold, accumulator).bytes;
}

void state_identity(enum fold fold, enum element accumulator, void *state)
{
    operations_of(fold, accumulator).store_identity(state);
}

merge_states *merge_loop(enum fold fold, enum element accumulator)
{
    return operations_of(fold, accumulator).merge;
}

merge_pairs *merge_pairs_loop(enum fold fold, enum element accumulator)
{
    return operations_of(fold, accumulator).merge_into;
}

void state_finish(enum reduction reduction, const struct finish *how, const void *state,
                  struct answer *answer)
{
    const finalizer *const finalizer = finalizer_of(reduction, how->accumulator);
    if (finalizer)
        finalizer->answer(*how, state, *answer);
}

void states_finish(enum reduction reduction, const struct finish *how, const uint32_t *counts,
                   const void *states, uint64_t n, const struct finished *to)
{
    const bool divides = reduction_row(reduction)->counts;
    const double divisor = !divides ? 0 : how->count ? double(how->count) : not_a_number<double>();
    const finalizer *const finalizer = finalizer_of(reduction, how->accumulator);
    if (finalizer)
        finish_many({*how, counts ? 1 : divisor, counts, states, n, *to}, *finalizer);
}

bool states_have_too_few(enum fold fold, enum element accumulator, const void *states, uint64_t n,
                         double ddof)
{
    switch (accumulator) {
#define TOO_FEW(V) any_has_too_few<V>(fold, states, n, ddof)
        ACCUMULATORS_all(TOO_FEW) default : return false;
    }
}

void states_recenter(enum element accumulator, void *states, uint64_t n,
                     const struct complex128 *means, int64_t step)
{
    const auto mean = [=](uint64_t k) { return means[int64_t(k) * step]; };
    if (element_is_complex(accumulator))
        shift_deviations(static_cast<variance_state<complex<double>> *>(states), n, mean);
    else
        shift_deviations(static_cast<variance_state<double> *>(states), n, mean);
}

bool reduction_is_stored(enum reduction reduction)
{
    return kinds[reduction].is_stored;
}

bool reduction_has_value(enum reduction reduction)
{
    return kinds[reduction].has_value;
}

is_settled *is_settled_test(enum reduction reduction, enum element type)
{
    if (reduction == REDUCTION_any)
        return any_is_settled;
    if (reduction == REDUCTION_all)
        return all_is_settled;
    if (type != ELEMENT_BOOL)
        return nullptr;
    switch (reduction_row(reduction)->fold) {
    case FOLD_max:
    case FOLD_argmax:
        return extreme_is_settled<true>;
    case FOLD_min:
    case FOLD_argmin:
        return extreme_is_settled<false>;
    default:
        return nullptr;
    }
}

const struct cpu_kernels *cpu_kernels(enum instructions instructions)
{
    static constexpr const struct cpu_kernels *sets[] = {
#define SET(name) &CPU_KERNELS(name),
        INSTRUCTION_SETS(SET)};
    return sets[instructions];
}

fold_values *loop_of_values(enum instructions instructions, enum fold fold,
                            enum element accumulator)
{
    return cpu_kernels(instructions)->values(fold, accumulator, accumulator);
}

/* Whether elements can be converted directly to the accumulator of `type`: it is its own
 * accumulator, or holds the elements exactly, or integers are summed or multiplied, which wrap
 * around at any width. */
static bool can_skip_cast(enum fold fold, enum element input, enum element type)
{
    const bool integers = element_is_integer(input) && element_is_integer(type);
    return type == element_accumulator(type) || type == input || element_holds(type, input) ||
           (integers && (fold == FOLD_sum || fold == FOLD_prod));
}

fold_values *loop_of_elements(enum instructions instructions, enum fold fold, enum element input,
                              enum element type)
{
    return can_skip_cast(fold, input, type)
               ? cpu_kernels(instructions)->values(fold, input, element_accumulator(type))
               : nullptr;
}
