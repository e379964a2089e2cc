/* What the host does with states, from the one definition of each fold, and which of the loops of
 * vectors.cpp makes them. */
#include "../finishing.cuh"
#include "targets.h"

namespace KERNELS
{
namespace
{

/* Neighbours merge, and then what has become of them, so that of floats no state takes part in many
 * additions. */
template <class Fold>
void merge_neighbours(void *states, size_t n)
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
void fold_onto(void *onto, const void *states, size_t n)
{
    state_of<Fold> *const x = static_cast<state_of<Fold> *>(onto);
    const state_of<Fold> *const y = static_cast<const state_of<Fold> *>(states);
    for (size_t i = 0; i < n; i++)
        x[i] = Fold::merge(x[i], y[i]);
}

/* ---- which loops there are ---- */

template <template <class> class Fold>
merge_states *states_all(enum element accumulator)
{
#define STATES(V) merge_neighbours<Fold<V>>
    switch (accumulator) {
        ACCUMULATORS_all(STATES) default : return nullptr;
    }
}

template <template <class> class Fold>
merge_states *states_floats(enum element accumulator)
{
    switch (accumulator) {
        ACCUMULATORS_floats(STATES) default : return nullptr;
    }
}

template <template <class> class Fold>
fold_pairs *pairs_all(enum element accumulator)
{
#define PAIRS(V) fold_onto<Fold<V>>
    switch (accumulator) {
        ACCUMULATORS_all(PAIRS) default : return nullptr;
    }
}

template <template <class> class Fold>
fold_pairs *pairs_floats(enum element accumulator)
{
    switch (accumulator) {
        ACCUMULATORS_floats(PAIRS) default : return nullptr;
    }
}

/* ---- states ---- */

template <class Fold>
size_t put_identity(void *state)
{
    static_assert(sizeof(state_of<Fold>) <= STATE_BYTES_MAX, "states need more room");
    const state_of<Fold> identity = Fold::identity();
    memcpy(state, &identity, sizeof identity);
    return sizeof identity;
}

template <template <class> class Fold>
size_t identity_all(enum element accumulator, void *state)
{
#define IDENTITY(V) put_identity<Fold<V>>(state)
    switch (accumulator) {
        ACCUMULATORS_all(IDENTITY) default : return 0;
    }
}

template <template <class> class Fold>
size_t identity_floats(enum element accumulator, void *state)
{
    switch (accumulator) {
        ACCUMULATORS_floats(IDENTITY) default : return 0;
    }
}

size_t identity_of(enum fold fold, enum element accumulator, void *state)
{
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        return identity_##types<name>(accumulator, state);
#include "common/reductions.def"
    default:
        return 0;
    }
}

/* ---- settled states ---- */

bool is_any(const void *state, size_t)
{
    uint64_t count;
    memcpy(&count, state, sizeof count);
    return count > 0;
}

bool is_not_all(const void *state, size_t n)
{
    uint64_t count;
    memcpy(&count, state, sizeof count);
    return count < n;
}

/* Truth values are folded as int32; a position's state begins with its value. */
template <bool Truth>
bool is_settled_by(const void *state, size_t)
{
    int32_t value;
    memcpy(&value, state, sizeof value);
    return (value != 0) == Truth;
}

template <class W, class At>
void move_moments(moments<W> *states, uint64_t n, At at)
{
    for (uint64_t k = 0; k < n; k++)
        states[k].deviation = deviation_about(at(k), states[k]);
}

template <class Finishing, class = void>
struct is_stored : std::false_type {
};

template <class Finishing>
struct is_stored<Finishing, typename Finishing::is_stored> : std::true_type {
};

/* ---- many results ---- */

struct many {
    struct finish how;
    double divisor; /* 0: states are not divided; NaN: by nothing */
    const void *states;
    uint64_t n;
    struct finished to;
};

template <class Fold>
const state_of<Fold> &state_at(const many &self, uint64_t k)
{
    return static_cast<const state_of<Fold> *>(self.states)[k];
}

/* What is one number, and no answer with more to it. */
template <class Finishing, class Fold, class = void>
struct has_number : std::false_type {
};

template <class Finishing, class Fold>
struct has_number<Finishing, Fold,
                  std::void_t<decltype(Finishing::number(finish(), state_of<Fold>()))>>
    : std::true_type {
};

/* Whether a state, or that divided, is the result but for its type. */
bool is_plain(const many &self)
{
    return !self.how.has_initial && self.how.from_nothing && self.how.result == self.to.held[0] &&
           self.divisor == self.divisor;
}

template <class Fold, class Result>
bool store_states(const many &self)
{
    const auto store = [&](auto stored) {
        const state_of<Fold> *const __restrict states = &state_at<Fold>(self, 0);
        Result *const __restrict at = static_cast<Result *>(self.to.at[0]);
        const uint64_t n = self.n;
        const int64_t step = self.to.step;
        if (step == 1)
            for (uint64_t k = 0; k < n; k++)
                at[k] = Result(stored(states[k]));
        else
            for (uint64_t k = 0; k < n; k++)
                at[int64_t(k) * step] = Result(stored(states[k]));
    };
    /* Loops without a branch: one that divides, and one that does not. */
    if (const double divisor = self.divisor)
        store([=](state_of<Fold> state) { return Fold::stored(state, divisor); });
    else
        store([](state_of<Fold> state) { return Fold::stored(state, 0); });
    return true;
}

/* Narrow integers are folded in wider ones. False: it takes more than that. */
template <class Fold>
bool store_plain(const many &self)
{
    using V = value_of<Fold>;
    if (!is_plain(self))
        return false;
    if (self.how.result == element_of<V>::value)
        return store_states<Fold, V>(self);
    if constexpr (std::is_same_v<V, int32_t>)
        if (self.divisor == 0)
            switch (self.how.result) {
            case ELEMENT_INT8:
                return store_states<Fold, int8_t>(self);
            case ELEMENT_UINT8:
                return store_states<Fold, uint8_t>(self);
            case ELEMENT_INT16:
                return store_states<Fold, int16_t>(self);
            case ELEMENT_UINT16:
                return store_states<Fold, uint16_t>(self);
            default:
                break;
            }
    return false;
}

template <class Result, class Finishing, class Fold>
void store_numbers(const many &self)
{
    Result *const at = static_cast<Result *>(self.to.at[0]);
    for (uint64_t k = 0; k < self.n; k++)
        at[int64_t(k) * self.to.step] =
            Result(Finishing::number(self.how, state_at<Fold>(self, k)));
}

/* As the type that numbers of this kind are asked for as. False: it is another. */
template <class Finishing, class Fold>
bool store_as_numbers(const many &self)
{
    using number = decltype(Finishing::number(self.how, state_at<Fold>(self, 0)));
    const enum element type = self.how.result;
    if (type != self.to.held[0] || self.to.values > 1)
        return false;
    if constexpr (std::is_integral_v<number>) {
        if (type == ELEMENT_INT64)
            return store_numbers<int64_t, Finishing, Fold>(self), true;
    } else {
        if (type == ELEMENT_FLOAT64)
            return store_numbers<double, Finishing, Fold>(self), true;
        if (type == ELEMENT_FLOAT32)
            return store_numbers<float, Finishing, Fold>(self), true;
    }
    return false;
}

template <enum element Type>
void store_answers(const struct answer *answers, unsigned v, unsigned n, char *at, int64_t step)
{
    for (unsigned k = 0; k < n; k++, at += step)
        scalar_store(at, scalar_narrow(answers[k].values[v], Type), Type);
}

/* Rounded to the result's type first. Not a part of the loop around it, of which the compiler would
 * make one for every pair of types. */
__attribute__((noinline)) void store_rounded(char *at, const struct scalar_wide &value,
                                             enum element result, enum element held)
{
    scalar_store(at, scalar_convert(scalar_narrow(value, result), result, held), held);
}

void store_otherwise(const many &self, const struct answer *answers, unsigned n, char *at,
                     int64_t step)
{
    for (unsigned k = 0; k < n; k++, at += step)
        store_rounded(at, answers[k].values[0], self.how.result, self.to.held[0]);
}

void store_answers(const many &self, const struct answer *answers, unsigned n, uint64_t first)
{
    for (unsigned v = 0; v < self.to.values; v++) {
        const int64_t step = self.to.step * int64_t(element_size(self.to.held[v]));
        char *const at = static_cast<char *>(self.to.at[v]) + int64_t(first) * step;
        if (self.to.values == 1 && self.how.result != self.to.held[0])
            return store_otherwise(self, answers, n, at, step);
        switch (self.to.held[v]) {
#define STORE_ANSWERS(NAME, ...)                                                                   \
    case ELEMENT_##NAME:                                                                           \
        store_answers<ELEMENT_##NAME>(answers, v, n, at, step);                                    \
        break;
            ELEMENT_TYPES(STORE_ANSWERS)
        default:
            break;
        }
    }
}

/* A few at a time: `answer` gives number k's. */
template <class Answer>
void finish_blocks(const many &self, Answer answer)
{
    constexpr uint64_t most = 64;
    struct answer answers[most];
    for (uint64_t first = 0; first < self.n; first += most) {
        const unsigned n = unsigned(self.n - first < most ? self.n - first : most);
        for (unsigned k = 0; k < n; k++)
            answer(first + k, answers[k]);
        store_answers(self, answers, n, first);
    }
}

/* Not a part of the switches around it: of so many cases the compiler takes each to be cold, and
 * its loops to be small rather than quick. */
template <class Finishing, class Fold>
__attribute__((noinline)) void finish_many(const many &self)
{
    if constexpr (is_stored<Finishing>::value && std::is_arithmetic_v<value_of<Fold>>)
        if (store_plain<Fold>(self))
            return;
    if constexpr (has_number<Finishing, Fold>::value)
        if (store_as_numbers<Finishing, Fold>(self))
            return;
    finish_blocks(self, [&](uint64_t k, struct answer &answer) {
        Finishing::template apply<Fold>(self.how, state_at<Fold>(self, k), answer);
    });
}

template <enum reduction Reduction, template <class> class Fold>
void finish_many_all(const many &self)
{
#define FINISH_MANY(V) finish_many<finishing<Reduction>, Fold<V>>(self)
    switch (self.how.accumulator) {
        ACCUMULATORS_all(FINISH_MANY) default : return;
    }
}

template <enum reduction Reduction, template <class> class Fold>
void finish_many_floats(const many &self)
{
    switch (self.how.accumulator) {
        ACCUMULATORS_floats(FINISH_MANY) default : return;
    }
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

size_t state_bytes(enum fold fold, enum element accumulator)
{
    alignas(STATE_ALIGNMENT) char unwanted[STATE_BYTES_MAX];
    return identity_of(fold, accumulator, unwanted);
}

void state_identity(enum fold fold, enum element accumulator, void *state)
{
    identity_of(fold, accumulator, state);
}

void state_finish(enum reduction reduction, const struct finish *how, const void *state,
                  struct answer *answer)
{
    finish_state(reduction, *how, state, *answer);
}

/* Those that there are loops over slabs for are inlined. */
void states_finish(enum reduction reduction, const struct finish *how, const void *states,
                   uint64_t n, const struct finished *to)
{
    const bool divides = reduction_row(reduction)->counts;
    const double divisor = !divides ? 0 : how->count ? double(how->count) : not_a_number<double>();
    const many self = {*how, divisor, states, n, *to};
    switch (reduction) {
    case REDUCTION_sum:
        return finish_many_all<REDUCTION_sum, sum>(self);
    case REDUCTION_mean:
        return finish_many_all<REDUCTION_mean, sum>(self);
    case REDUCTION_min:
        return finish_many_all<REDUCTION_min, min>(self);
    case REDUCTION_max:
        return finish_many_all<REDUCTION_max, max>(self);
    case REDUCTION_argmin:
        return finish_many_all<REDUCTION_argmin, argmin>(self);
    case REDUCTION_argmax:
        return finish_many_all<REDUCTION_argmax, argmax>(self);
    case REDUCTION_var:
        return finish_many_floats<REDUCTION_var, variance>(self);
    case REDUCTION_std:
        return finish_many_floats<REDUCTION_std, variance>(self);
    default:
        break;
    }
    const size_t width = state_bytes(reduction_row(reduction)->fold, how->accumulator);
    finish_blocks(self, [&](uint64_t k, struct answer &answer) {
        state_finish(reduction, how, static_cast<const char *>(states) + k * width, &answer);
    });
}

void states_about(enum element accumulator, void *states, uint64_t n,
                  const struct complex128 *means, int64_t step)
{
    const auto mean = [=](uint64_t k) { return means[int64_t(k) * step]; };
    if (element_is_complex(accumulator))
        move_moments(static_cast<moments<complex<double>> *>(states), n, mean);
    else
        move_moments(static_cast<moments<double> *>(states), n, mean);
}

bool reduction_is_stored(enum reduction reduction)
{
    switch (reduction) {
#define REDUCTION(name, ...)                                                                       \
    case REDUCTION_##name:                                                                         \
        return is_stored<finishing<REDUCTION_##name>>::value;
#include "common/reductions.def"
    default:
        return false;
    }
}

is_settled *settling_of(enum reduction reduction, enum element type)
{
    if (reduction == REDUCTION_any)
        return is_any;
    if (reduction == REDUCTION_all)
        return is_not_all;
    if (type != ELEMENT_BOOL)
        return nullptr;
    switch (reduction_row(reduction)->fold) {
    case FOLD_max:
    case FOLD_argmax:
        return is_settled_by<true>;
    case FOLD_min:
    case FOLD_argmin:
        return is_settled_by<false>;
    default:
        return nullptr;
    }
}

static fold_values *vector_loop(enum instructions instructions, enum fold fold, enum element input,
                                enum element accumulator)
{
    static constexpr decltype(&VECTOR_LOOP(baseline)) sets[] = {
#define SET(name) VECTOR_LOOP(name),
        INSTRUCTION_SETS(SET)};
    return sets[instructions](fold, input, accumulator);
}

fold_values *loop_of_values(enum instructions instructions, enum fold fold,
                            enum element accumulator)
{
    return vector_loop(instructions, fold, accumulator, accumulator);
}

/* Whether to convert elements to the accumulator at once makes no difference: that is the type
 * asked for, or that type holds them as they are, or they are integers whose sums and products lose
 * what it does not hold in any case. */
static bool skips_the_type(enum fold fold, enum element input, enum element type)
{
    const bool integers = element_is_integer(input) && element_is_integer(type);
    return type == element_accumulator(type) || type == input || element_holds(type, input) ||
           (integers && (fold == FOLD_sum || fold == FOLD_prod));
}

fold_values *loop_of_elements(enum instructions instructions, enum fold fold, enum element input,
                              enum element type)
{
    return skips_the_type(fold, input, type)
               ? vector_loop(instructions, fold, input, element_accumulator(type))
               : nullptr;
}

merge_states *loop_of_states(enum fold fold, enum element accumulator)
{
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        return states_##types<name>(accumulator);
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

fold_pairs *loop_of_pairs(enum fold fold, enum element accumulator)
{
    switch (fold) {
    case FOLD_sum:
        return pairs_all<sum>(accumulator);
    case FOLD_prod:
        return pairs_all<prod>(accumulator);
    case FOLD_min:
        return pairs_all<min>(accumulator);
    case FOLD_max:
        return pairs_all<max>(accumulator);
    case FOLD_nonzero:
        return pairs_all<nonzero>(accumulator);
    case FOLD_argmin:
        return pairs_all<argmin>(accumulator);
    case FOLD_argmax:
        return pairs_all<argmax>(accumulator);
    case FOLD_variance:
        return pairs_floats<variance>(accumulator);
    default:
        return nullptr;
    }
}
