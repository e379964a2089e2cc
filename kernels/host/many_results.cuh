/* Results of many states at once, in memory of their own: those that a state, or what is divided,
 * already is, one loop for each type; all others by way of answers, a few at a time. */
#pragma once

#include "../finishing.cuh"
#include "to_halves.cuh"

namespace KERNELS
{
namespace
{

template <class Finishing, class = void>
struct is_stored : std::false_type {};

template <class Finishing>
struct is_stored<Finishing, typename Finishing::is_stored> : std::true_type {};

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
struct has_number : std::false_type {};

template <class Finishing, class Fold>
struct has_number<Finishing, Fold,
                  std::void_t<decltype(Finishing::number(finish(), state_of<Fold>()))>>
    : std::true_type {};

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

struct nearest_bfloat {
    uint16_t bits;

    explicit nearest_bfloat(float x) : bits(bfloat_of_float(x)) {}
};

/* `count` of them from k on, of a float or a double each, which `number` gives. */
template <class Number>
LANES_FUNCTION void store_abreast(const many &self, Number number, uint64_t k, unsigned count)
{
    using Float = decltype(number(k));
    uint16_t *const at = static_cast<uint16_t *>(self.to.at[0]) + int64_t(k) * self.to.step;
    abreast<Float> numbers = {};
    for (unsigned j = 0; j < count; j++)
        numbers[j] = number(k + j);
    const abreast<uint16_t> halves = to_halves<Float>(numbers);
    if (self.to.step == 1 && count == halves_abreast)
        memcpy(at, &halves, sizeof halves);
    else
        for (unsigned j = 0; j < count; j++)
            at[int64_t(j) * self.to.step] = halves[j];
}

template <class Number>
void store_halves(const many &self, Number number)
{
    uint64_t k = 0;
    for (; k + halves_abreast <= self.n; k += halves_abreast)
        store_abreast(self, number, k, halves_abreast);
    if (k < self.n)
        store_abreast(self, number, k, unsigned(self.n - k));
}

template <class Fold>
bool store_stored_halves(const many &self)
{
    const auto stored = [&](uint64_t k) { return Fold::stored(state_at<Fold>(self, k), 0); };
    if (const double divisor = self.divisor)
        store_halves(self, [=](uint64_t k) { return double(stored(k)) / divisor; });
    else
        store_halves(self, stored);
    return true;
}

/* Halves and narrow integers are folded in wider ones. False: it takes more than that. */
template <class Fold>
bool store_plain(const many &self)
{
    using V = value_of<Fold>;
    if (!is_plain(self))
        return false;
    if (self.how.result == element_of<V>::value)
        return store_states<Fold, V>(self);
    if constexpr (std::is_same_v<V, float>) {
        if (self.how.result == ELEMENT_FLOAT16)
            return store_stored_halves<Fold>(self);
        if (self.how.result == ELEMENT_BFLOAT16)
            return store_states<Fold, nearest_bfloat>(self);
    }
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

/* A few at a time: what makes numbers has branches. */
template <class Finishing, class Fold>
void store_numbers_as_halves(const many &self)
{
    constexpr uint64_t most = 64;
    double numbers[most];
    many some = self;
    for (uint64_t first = 0; first < self.n; first += most) {
        some.n = self.n - first < most ? self.n - first : most;
        for (uint64_t k = 0; k < some.n; k++)
            numbers[k] = Finishing::number(self.how, state_at<Fold>(self, first + k));
        store_halves(some, [&](uint64_t k) { return numbers[k]; });
        some.to.at[0] = static_cast<uint16_t *>(some.to.at[0]) + int64_t(some.n) * some.to.step;
    }
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
        if (type == ELEMENT_FLOAT16)
            return store_numbers_as_halves<Finishing, Fold>(self), true;
        if (type == ELEMENT_BFLOAT16)
            return store_numbers<nearest_bfloat, Finishing, Fold>(self), true;
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
