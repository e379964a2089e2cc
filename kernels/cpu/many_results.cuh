/* Results of many states at once, in memory of their own: those that a state, or what is divided,
 * already is, one loop for each type; all others by way of answers, a few at a time. */
#pragma once

#include "../epilogue/finishing.cuh"
#include "registers.cuh"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* ---- halves ---- */

/* Floats are rounded several side by side without a branch, as half_of_double rounds one. */
constexpr unsigned halves_at_a_time = 4;

template <class T>
using few = vector<T, halves_at_a_time * sizeof(T)>;

/* Cut off, but odd if anything was: what is rounded to nearest after that is rounded right. */
LANES_FUNCTION few<float> as_floats(few<double> x)
{
    using bits = few<uint64_t>;
    constexpr uint64_t last = uint64_t(1) << 29, below = last - 1;
    const bits cut = (bits(x) & ~below) | (((bits(x) & below) + below) & last);
    return __builtin_convertvector(few<double>(cut), few<float>);
}

LANES_FUNCTION few<float> as_floats(few<float> x)
{
    return x;
}

/* Exponents get the other bias, and what is dropped rounds the rest; to add what leaves no room for
 * smaller bits rounds subnormal ones. */
template <class Float>
LANES_FUNCTION few<uint16_t> to_halves(few<Float> numbers)
{
    using bits = few<uint32_t>;
    using compared = few<int32_t>;
    constexpr int32_t least_normal = 0x38800000, beyond = 0x47800000, infinity = 0x7f800000;
    const bits x = bits(as_floats(numbers)), sign = x >> 16 & 0x8000, magnitude = x & INT32_MAX,
               odd = magnitude >> 13 & 1, room = bits(few<float>{} + 0.5f);
    const bits normal = (magnitude + odd + 0xfff - (112u << 23)) >> 13,
               subnormal = bits(few<float>(magnitude) + 0.5f) - room,
               nan = (magnitude >> 13 & 0x3ff) | 0x7e00, infinite = bits{} + 0x7c00u;
    const compared size = compared(magnitude);
    const bits finite = size < least_normal ? subnormal : normal,
               number = size >= beyond ? infinite : finite,
               half = (size > infinity ? nan : number) | sign;
    return __builtin_convertvector(half, few<uint16_t>);
}

/* ---- many states ---- */

template <class Finishing, class = void>
struct is_stored : std::false_type {};

template <class Finishing>
struct is_stored<Finishing, typename Finishing::is_stored> : std::true_type {};

struct many {
    struct finish how;
    double divisor;         /* 0: states are not divided; NaN: by nothing */
    const uint32_t *counts; /* what each state is divided by; NULL: by the divisor */
    const void *states;
    uint64_t n;
    struct finished to;
};

template <class Fold>
const state_of<Fold> &state_at(const many &self, uint64_t k)
{
    return static_cast<const state_of<Fold> *>(self.states)[k];
}

/* Which of the two ways to do without an answer there is: see fold.cuh. */
template <class Finishing, class Fold, class = void>
struct has_own : std::false_type {};

template <class Finishing, class Fold>
struct has_own<Finishing, Fold,
               std::void_t<decltype(Finishing::template own<Fold>(state_of<Fold>()))>>
    : std::true_type {};

template <class Finishing, class Fold, class = void>
struct has_number : std::false_type {};

template <class Finishing, class Fold>
struct has_number<
    Finishing, Fold,
    std::void_t<decltype(Finishing::template number<Fold>(finish(), state_of<Fold>()))>>
    : std::true_type {};

/* Whether a state says all, but for the result's type. */
bool is_plain(const many &self)
{
    return !self.how.has_initial && self.how.from_nothing && self.how.result == self.to.held[0] &&
           self.to.values == 1 && self.divisor == self.divisor;
}

/* ---- of any type ---- */

struct nearest_bfloat {
    uint16_t bits;

    explicit nearest_bfloat(float x) : bits(bfloat_of_float(x)) {}
};

struct truth_of {
    uint8_t byte;

    explicit truth_of(int64_t x) : byte(x != 0) {}
};

/* Of a state, or of number k. */
template <class Value, class State>
LANES_FUNCTION auto value_of_number(Value value, const State &state, uint64_t k)
{
    if constexpr (std::is_invocable_v<Value, State, uint64_t>)
        return value(state, k);
    else
        return value(state);
}

/* What `value` gives of each state. */
template <class Result, class Fold, class Value>
bool store_all(const many &self, Value value)
{
    const state_of<Fold> *const __restrict states = &state_at<Fold>(self, 0);
    Result *const __restrict at = static_cast<Result *>(self.to.at[0]);
    const uint64_t n = self.n;
    const int64_t step = self.to.step;
    if (step == 1)
        for (uint64_t k = 0; k < n; k++)
            at[k] = Result(value_of_number(value, states[k], k));
    else
        for (uint64_t k = 0; k < n; k++)
            at[int64_t(k) * step] = Result(value_of_number(value, states[k], k));
    return true;
}

/* `count` of them from k on, of a float or a double each. */
template <class Fold, class Value>
LANES_FUNCTION void store_few_halves(const many &self, Value value, uint64_t k, unsigned count)
{
    using Float = decltype(value_of_number(value, state_at<Fold>(self, k), k));
    uint16_t *const at = static_cast<uint16_t *>(self.to.at[0]) + int64_t(k) * self.to.step;
    few<Float> numbers = {};
    for (unsigned j = 0; j < count; j++)
        numbers[j] = value_of_number(value, state_at<Fold>(self, k + j), k + j);
    const few<uint16_t> halves = to_halves<Float>(numbers);
    if (self.to.step == 1 && count == halves_at_a_time)
        memcpy(at, &halves, sizeof halves);
    else
        for (unsigned j = 0; j < count; j++)
            at[int64_t(j) * self.to.step] = halves[j];
}

template <class Fold, class Value>
bool store_halves(const many &self, Value value)
{
    uint64_t k = 0;
    for (; k + halves_at_a_time <= self.n; k += halves_at_a_time)
        store_few_halves<Fold>(self, value, k, halves_at_a_time);
    if (k < self.n)
        store_few_halves<Fold>(self, value, k, unsigned(self.n - k));
    return true;
}

/* ---- states that are results ---- */

/* Halves and narrow integers are folded in wider values. False: it takes more than that. */
template <class Fold, class Value>
bool store_values(const many &self, Value value)
{
    using V = value_of<Fold>;
    const enum element type = self.how.result;
    if (type == element_of<V>::value)
        return store_all<V, Fold>(self, value);
    if constexpr (std::is_same_v<V, float>) {
        if (type == ELEMENT_FLOAT16)
            return store_halves<Fold>(self, value);
        if (type == ELEMENT_BFLOAT16)
            return store_all<nearest_bfloat, Fold>(self, value);
    }
    if constexpr (std::is_same_v<V, int64_t>)
        if (type == ELEMENT_UINT32)
            return store_all<uint32_t, Fold>(self, value);
    if constexpr (std::is_same_v<V, int32_t>)
        switch (type) {
        case ELEMENT_BOOL:
            return store_all<truth_of, Fold>(self, value);
        case ELEMENT_INT8:
            return store_all<int8_t, Fold>(self, value);
        case ELEMENT_UINT8:
            return store_all<uint8_t, Fold>(self, value);
        case ELEMENT_INT16:
            return store_all<int16_t, Fold>(self, value);
        case ELEMENT_UINT16:
            return store_all<uint16_t, Fold>(self, value);
        default:
            break;
        }
    return false;
}

/* Loops without a branch: `divisor` is number k's. */
template <class Fold, class Divisor>
bool store_quotients(const many &self, Divisor divisor)
{
    using V = value_of<Fold>;
    using state = state_of<Fold>;
    const enum element type = self.how.result;
    const auto quotient = [=](state s, uint64_t k) { return Fold::stored(s, divisor(k)); };
    if (type == element_of<V>::value)
        return store_all<V, Fold>(self, quotient);
    if constexpr (std::is_same_v<V, float>) {
        if (type == ELEMENT_FLOAT16)
            return store_halves<Fold>(
                self, [=](state s, uint64_t k) { return double(Fold::stored(s, 0)) / divisor(k); });
        if (type == ELEMENT_BFLOAT16)
            return store_all<nearest_bfloat, Fold>(self, quotient);
    }
    return false;
}

template <class Fold>
bool store_plain(const many &self)
{
    const double divisor = self.divisor;
    const uint32_t *const __restrict counts = self.counts;
    if (counts) {
        if constexpr (std::is_integral_v<value_of<Fold>>) /* of which NaN is none */
            return false;
        else
            return store_quotients<Fold>(self, [=](uint64_t k) {
                return counts[k] ? double(counts[k]) : not_a_number<double>();
            });
    }
    if (divisor != 0)
        return store_quotients<Fold>(self, [=](uint64_t) { return divisor; });
    return store_values<Fold>(self, [](state_of<Fold> s) { return Fold::stored(s, 0); });
}

/* With what the caller wants them to begin with. */
template <class Fold>
bool store_begun(const many &self)
{
    if (self.divisor != 0 || self.how.result != self.to.held[0])
        return false;
    const auto first = Fold::lift(value_from<value_of<Fold>>(self.how.initial), 1);
    return store_values<Fold>(self, [=](state_of<Fold> s) { return Fold::merge(first, s); });
}

/* ---- numbers ---- */

/* A few at a time: what makes numbers has branches. */
template <class Fold, class Number>
bool store_numbers_as_halves(const many &self, Number number)
{
    constexpr uint64_t most = 64;
    double numbers[most];
    many some = self;
    some.states = numbers;
    for (uint64_t first = 0; first < self.n; first += most) {
        some.n = self.n - first < most ? self.n - first : most;
        for (uint64_t k = 0; k < some.n; k++)
            numbers[k] = number(state_at<Fold>(self, first + k));
        store_halves<norm1<double>>(some, [](double x) { return x; });
        some.to.at[0] = static_cast<uint16_t *>(some.to.at[0]) + int64_t(some.n) * some.to.step;
    }
    return true;
}

/* As the type that numbers of this kind are asked for as. False: it is another. */
template <class Fold, class Number>
bool store_as_numbers(const many &self, Number number)
{
    const enum element type = self.how.result;
    if (type != self.to.held[0] || self.to.values > 1)
        return false;
    if constexpr (std::is_integral_v<decltype(number(state_of<Fold>()))>) {
        if (type == ELEMENT_INT64)
            return store_all<int64_t, Fold>(self, number);
        if (type == ELEMENT_BOOL)
            return store_all<truth_of, Fold>(self, number);
    } else {
        if (type == ELEMENT_FLOAT64)
            return store_all<double, Fold>(self, number);
        if (type == ELEMENT_FLOAT32)
            return store_all<float, Fold>(self, number);
        if (type == ELEMENT_FLOAT16)
            return store_numbers_as_halves<Fold>(self, number);
        if (type == ELEMENT_BFLOAT16)
            return store_all<nearest_bfloat, Fold>(self, number);
    }
    return false;
}

/* ---- answers ---- */

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
    using state = state_of<Fold>;
    if constexpr (is_stored<Finishing>::value && std::is_arithmetic_v<value_of<Fold>>) {
        const bool stored = self.how.has_initial ? store_begun<Fold>(self)
                                                 : is_plain(self) && store_plain<Fold>(self);
        if (stored)
            return;
    } else if constexpr (has_own<Finishing, Fold>::value) {
        const auto own = [](const state &s) { return Finishing::template own<Fold>(s); };
        if (is_plain(self) && store_values<Fold>(self, own))
            return;
    } else if constexpr (has_number<Finishing, Fold>::value) {
        const auto number = [&](const state &s) {
            return Finishing::template number<Fold>(self.how, s);
        };
        if (store_as_numbers<Fold>(self, number))
            return;
    }
    struct finish how = self.how;
    finish_blocks(self, [&](uint64_t k, struct answer &answer) {
        how.count = self.counts ? self.counts[k] : self.how.count;
        Finishing::template apply<Fold>(how, state_at<Fold>(self, k), answer);
    });
}

#define FOLD(name, ladder, indexed, types)                                                         \
    template <class Finishing>                                                                     \
    void finish_many_of_##name(const many &self)                                                   \
    {                                                                                              \
        void (*const finish)(const many &) = visit_##types(self.how.accumulator, [](auto v) {      \
            return &finish_many<Finishing, name<type_in<decltype(v)>>>;                            \
        });                                                                                        \
        if (finish)                                                                                \
            finish(self);                                                                          \
    }
#include "common/reductions.def"

} // namespace
} // namespace KERNELS
