/* Converts many states to results, in blocks: as values of one type, which are converted to the
 * result type, or as struct answers. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* ---- 16-bit floats ---- */

/* Several floats are rounded together, like half_of_double; loops vectorized by compilers take a
 * quarter longer. */
constexpr unsigned quad_size = 4;

template <class T>
using quad = vector<T, quad_size * sizeof(T)>;

/* Rounds to odd, so that a second rounding, to nearest, is correct. */
FORCEINLINE quad<float> as_floats(quad<double> x)
{
    using bits = quad<uint64_t>;
    constexpr uint64_t last = uint64_t(1) << 29, below = last - 1;
    const bits cut = (bits(x) & ~below) | (((bits(x) & below) + below) & last);
    return __builtin_convertvector(quad<double>(cut), quad<float>);
}

FORCEINLINE quad<float> as_floats(quad<float> x)
{
    return x;
}

/* Changes the exponent bias and rounds by the dropped bits. Subnormal results are rounded by an
 * addition that leaves no room for smaller bits. */
template <class Float>
FORCEINLINE quad<uint16_t> to_halves(quad<Float> numbers)
{
    using bits = quad<uint32_t>;
    using compared = quad<int32_t>;
    constexpr int32_t least_normal = 0x38800000, beyond = 0x47800000, infinity = 0x7f800000;
    const bits x = bits(as_floats(numbers)), sign = x >> 16 & 0x8000, magnitude = x & INT32_MAX,
               odd = magnitude >> 13 & 1, room = bits(quad<float>{} + 0.5f);
    const bits normal = (magnitude + odd + 0xfff - (112u << 23)) >> 13,
               subnormal = bits(quad<float>(magnitude) + 0.5f) - room,
               nan = (magnitude >> 13 & 0x3ff) | 0x7e00, infinite = bits{} + 0x7c00u;
    const compared size = compared(magnitude);
    const bits finite = size < least_normal ? subnormal : normal,
               number = size >= beyond ? infinite : finite,
               half = (size > infinity ? nan : number) | sign;
    return __builtin_convertvector(half, quad<uint16_t>);
}

/* ---- many states ---- */

template <class Finishing, class = void>
struct is_stored : std::false_type {};

template <class Finishing>
struct is_stored<Finishing, typename Finishing::is_stored> : std::true_type {};

struct state_batch {
    struct finish how;
    double divisor;         /* 0: no division; NaN: there are no elements */
    const uint32_t *counts; /* a divisor for each state, or NULL to use `divisor` */
    const void *states;
    uint64_t n;
    struct finished to;

    /* Whether there is one value, stored in the result's type. */
    bool has_one_type() const
    {
        return how.result == to.held[0] && to.values == 1;
    }

    /* Whether the result depends only on the state and the result type. */
    bool is_plain() const
    {
        return !how.has_initial && how.includes_identity && has_one_type() && divisor == divisor;
    }
};

constexpr unsigned max_block = 64;

/* Visits the states in blocks, with the index of each block's first state. */
template <class Fold, class Visit>
void each_block(const state_batch &self, Visit visit)
{
    const auto *const states = static_cast<const state_of<Fold> *>(self.states);
    for (uint64_t first = 0; first < self.n; first += max_block)
        visit(states + first, first,
              unsigned(self.n - first < max_block ? self.n - first : max_block));
}

/* ---- values to results ---- */

struct nearest_bfloat {
    uint16_t bits;

    explicit nearest_bfloat(float x) : bits(bfloat_of_float(x)) {}
};

struct truth_value {
    uint8_t byte;

    explicit truth_value(int64_t x) : byte(x != 0) {}
};

/* Stores n values, `step` results apart. */
template <class V>
using store_values = void(const V *values, unsigned n, void *at, int64_t step);

template <class Result, class V>
void store_as(const V *values, unsigned n, void *at, int64_t step)
{
    Result *const __restrict to = static_cast<Result *>(at);
    if (step == 1)
        for (unsigned k = 0; k < n; k++)
            to[k] = Result(values[k]);
    else
        for (unsigned k = 0; k < n; k++)
            to[int64_t(k) * step] = Result(values[k]);
}

template <class Float>
void store_halves(const Float *values, unsigned n, void *at, int64_t step)
{
    uint16_t *const to = static_cast<uint16_t *>(at);
    for (unsigned k = 0; k < n; k += quad_size) {
        const unsigned count = n - k < quad_size ? n - k : quad_size;
        quad<Float> numbers = {};
        if (count == quad_size)
            numbers = load<quad<Float>>(values + k);
        else
            for (unsigned j = 0; j < count; j++)
                numbers[j] = values[k + j];
        const quad<uint16_t> halves = to_halves<Float>(numbers);
        if (step == 1 && count == quad_size)
            memcpy(to + k, &halves, sizeof halves);
        else
            for (unsigned j = 0; j < count; j++)
                to[int64_t(k + j) * step] = halves[j];
    }
}

/* The function that stores values of type V as results of a type; NULL if answers are needed.
 * 16-bit floats and narrow integers are reduced in wider types. */
template <class V>
store_values<V> *store_function(enum element type)
{
    if (type == element_of<V>::value)
        return store_as<V, V>;
    if constexpr (std::is_floating_point_v<V>)
        return type == ELEMENT_FLOAT16    ? store_halves<V>
               : type == ELEMENT_BFLOAT16 ? store_as<nearest_bfloat, V>
                                          : nullptr;
    else if constexpr (std::is_same_v<V, int64_t>)
        return type == ELEMENT_BOOL     ? store_as<truth_value, V>
               : type == ELEMENT_UINT32 ? store_as<uint32_t, V>
                                        : nullptr;
    else if constexpr (std::is_same_v<V, int32_t>)
        return type == ELEMENT_BOOL     ? store_as<truth_value, V>
               : type == ELEMENT_INT8   ? store_as<int8_t, V>
               : type == ELEMENT_UINT8  ? store_as<uint8_t, V>
               : type == ELEMENT_INT16  ? store_as<int16_t, V>
               : type == ELEMENT_UINT16 ? store_as<uint16_t, V>
                                        : nullptr;
    else
        return nullptr;
}

/* Stores value(state, index) of each state, converted by `store`, or directly if V is the result
 * type and results are contiguous. */
template <class V, class Fold, class Value>
void store_blocks(const state_batch &self, Value value, store_values<V> *store)
{
    const int64_t step = self.to.step;
    const size_t size = element_size(self.how.result);
    const bool in_place = store == store_as<V, V> && step == 1;
    each_block<Fold>(self, [=, &self](const state_of<Fold> *states, uint64_t first, unsigned n) {
        V block[max_block];
        char *const at = static_cast<char *>(self.to.at[0]) + int64_t(first) * step * int64_t(size);
        V *const __restrict values = in_place ? reinterpret_cast<V *>(at) : block;
        for (unsigned k = 0; k < n; k++)
            values[k] = V(value(states[k], first + k));
        if (!in_place)
            store(values, n, at, step);
    });
}

/* Returns false if the values cannot be stored as such results. */
template <class Fold, class Value>
bool store_each(const state_batch &self, Value value)
{
    using V = std::decay_t<decltype(value(state_of<Fold>(), uint64_t()))>;
    store_values<V> *const store = store_function<V>(self.how.result);
    if constexpr (std::is_same_v<V, double>)
        if (self.how.result == ELEMENT_FLOAT32) {
            store_blocks<float, Fold>(self, value, store_as<float, float>);
            return true;
        }
    if (store)
        store_blocks<V, Fold>(self, value, store);
    return store;
}

/* Divides in float64 for float16 results, so that they are rounded once. */
template <class Fold>
bool store_quotients(const state_batch &self)
{
    using V = value_of<Fold>;
    using state = state_of<Fold>;
    const auto store = [&](auto divisor) {
        if constexpr (std::is_same_v<V, float>)
            if (self.how.result == ELEMENT_FLOAT16)
                return store_each<Fold>(self, [=](const state &s, uint64_t k) {
                    return double(Fold::stored(s, 0)) / divisor(k);
                });
        return store_each<Fold>(
            self, [=](const state &s, uint64_t k) { return Fold::stored(s, divisor(k)); });
    };
    const uint32_t *const __restrict counts = self.counts;
    const double divisor = self.divisor;
    if (!counts)
        return store([=](uint64_t) { return divisor; });
    if constexpr (std::is_integral_v<V>) /* has no NaN */
        return false;
    else
        return store(
            [=](uint64_t k) { return counts[k] ? double(counts[k]) : not_a_number<double>(); });
}

/* Stores states that are results, optionally divided or merged with an initial value. */
template <class Fold>
bool store_states(const state_batch &self)
{
    using state = state_of<Fold>;
    if (self.how.has_initial) {
        const auto first = Fold::lift(value_from<value_of<Fold>>(self.how.initial), 1);
        return self.divisor == 0 && self.how.result == self.to.held[0] &&
               store_each<Fold>(self, [=](state s, uint64_t) { return Fold::merge(first, s); });
    }
    if (!self.is_plain())
        return false;
    if (self.divisor != 0)
        return store_quotients<Fold>(self);
    return store_each<Fold>(self, [](state s, uint64_t) { return Fold::stored(s, 0); });
}

/* ---- answers ---- */

template <enum element Type>
void store_answers(const struct answer *answers, unsigned v, unsigned n, char *at, int64_t step)
{
    for (unsigned k = 0; k < n; k++, at += step)
        scalar_store(at, scalar_narrow(answers[k].values[v], Type), Type);
}

/* Rounds to the result's type first. Out of line, so that the compiler does not generate the loop
 * around it for every pair of types. */
__attribute__((noinline)) void store_rounded(char *at, const struct scalar_wide &value,
                                             enum element result, enum element held)
{
    scalar_store(at, scalar_convert(scalar_narrow(value, result), result, held), held);
}

void store_rounded_answers(const state_batch &self, const struct answer *answers, unsigned n,
                           char *at, int64_t step)
{
    for (unsigned k = 0; k < n; k++, at += step)
        store_rounded(at, answers[k].values[0], self.how.result, self.to.held[0]);
}

void store_answers(const state_batch &self, const struct answer *answers, unsigned n,
                   uint64_t first)
{
    for (unsigned v = 0; v < self.to.values; v++) {
        const int64_t step = self.to.step * int64_t(element_size(self.to.held[v]));
        char *const at = static_cast<char *>(self.to.at[v]) + int64_t(first) * step;
        if (self.to.values == 1 && self.how.result != self.to.held[0])
            return store_rounded_answers(self, answers, n, at, step);
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

/* ---- reductions ---- */

/* How a fold's states are converted to results. */
struct finalizer {
    size_t bytes;                       /* per state */
    bool (*store)(const state_batch &); /* stores results directly; false if answers are needed */
    void (*answer)(const struct finish &, const void *state, struct answer &);
};

template <class Finishing, class Fold>
bool store_many(const state_batch &self)
{
    using state = state_of<Fold>;
    if constexpr (is_stored<Finishing>::value && std::is_arithmetic_v<value_of<Fold>>)
        return store_states<Fold>(self);
    else if constexpr (has_own<Finishing, Fold>::value)
        return self.is_plain() && store_each<Fold>(self, [](const state &s, uint64_t) {
                   return Finishing::template own<Fold>(s);
               });
    else if constexpr (has_number<Finishing, Fold>::value)
        return self.has_one_type() && store_each<Fold>(self, [&](const state &s, uint64_t) {
                   const auto number = Finishing::template number<Fold>(self.how, s);
                   using N =
                       std::conditional_t<std::is_integral_v<decltype(number)>, int64_t, double>;
                   return N(number);
               });
    else
        return false;
}

template <class Finishing, class Fold>
void finish_state(const struct finish &how, const void *state, struct answer &answer)
{
    Finishing::template apply<Fold>(how, *static_cast<const state_of<Fold> *>(state), answer);
}

template <class Finishing, class Fold>
constexpr finalizer finalizer_for = {sizeof(state_of<Fold>), store_many<Finishing, Fold>,
                                     finish_state<Finishing, Fold>};

#define FOLD(name, ladder, indexed, types)                                                         \
    template <class Finishing>                                                                     \
    const finalizer *finalizer_of_##name(enum element accumulator)                                 \
    {                                                                                              \
        return visit_##types(accumulator, [](auto v) {                                             \
            return &finalizer_for<Finishing, name<type_in<decltype(v)>>>;                          \
        });                                                                                        \
    }
#include "common/reductions.def"

/* NULL if the fold does not support the accumulator type. */
const finalizer *finalizer_of(enum reduction reduction, enum element accumulator)
{
    switch (reduction) {
#define REDUCTION(name, fold, ...)                                                                 \
    case REDUCTION_##name:                                                                         \
        return finalizer_of_##fold<finishing<REDUCTION_##name>>(accumulator);
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

void finish_many(const state_batch &self, const finalizer &finalizer)
{
    struct answer answers[max_block];
    struct finish how = self.how;
    if (finalizer.store(self))
        return;
    for (uint64_t first = 0; first < self.n; first += max_block) {
        const unsigned n = unsigned(self.n - first < max_block ? self.n - first : max_block);
        for (unsigned k = 0; k < n; k++) {
            how.count = self.counts ? self.counts[first + k] : self.how.count;
            finalizer.answer(how,
                             static_cast<const char *>(self.states) + (first + k) * finalizer.bytes,
                             answers[k]);
        }
        store_answers(self, answers, n, first);
    }
}

} // namespace
} // namespace KERNELS
