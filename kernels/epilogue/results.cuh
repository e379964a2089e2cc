/* What becomes of a state in the kernel that made it: a result among many. */
#pragma once

#include "../mailbox.cuh"
#include "../vector.cuh"

#include "common/reduction.h"

namespace KERNELS
{

/* By way of the widest types; results lie at multiples of their size, or of 8 bytes. */
__device__ __forceinline__ void store_wide(struct scalar_wide value, enum element type,
                                           unsigned bytes, global<unsigned char> at)
{
    const union scalar narrow = scalar_narrow(value, type);
    uint64_t words[2];
    static_assert(sizeof words == sizeof narrow, "a complex128 is the widest");
    memcpy(words, &narrow, sizeof words);
    if (bytes == sizeof(uint8_t))
        *at = uint8_t(words[0]);
    else if (bytes == sizeof(uint16_t))
        *seen_as<uint16_t>(at) = uint16_t(words[0]);
    else if (bytes == sizeof(uint32_t))
        *seen_as<uint32_t>(at) = uint32_t(words[0]);
    else
        seen_as<uint64_t>(at)[0] = words[0];
    if (bytes > sizeof(uint64_t))
        seen_as<uint64_t>(at)[1] = words[1];
}

/* f(finishing<REDUCTION_name>()) of one of the reductions that rest on a fold. */
template <class Fold, class F>
__device__ __forceinline__ void with_finishing(enum reduction reduction, F f)
{
#define REDUCTION(name, of, ...)                                                                   \
    if constexpr (std::is_same_v<Fold, of<value_of<Fold>>>)                                        \
        if (reduction == REDUCTION_##name)                                                         \
            return f(finishing<REDUCTION_##name>());
#include "common/reductions.def"
}

/* A number, rounded once. A GPU's instructions give one NaN for all. */
template <class Number>
__device__ __forceinline__ uint16_t half_of_number(Number value)
{
#ifdef __CUDA_ARCH__
    uint16_t half;
    if constexpr (std::is_same_v<Number, double>)
        asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(value));
    else
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    return half_of_double(value);
#endif
}

/* A value's bits as a type of its kind that is no wider. */
template <class Bits, class V>
__device__ __forceinline__ Bits narrowed(enum element type, V value)
{
    Bits bits;
    if constexpr (sizeof(Bits) == sizeof(V)) {
        memcpy(&bits, &value, sizeof bits);
    } else if constexpr (std::is_integral_v<V>) {
        bits = Bits(value);
    } else if constexpr (sizeof(Bits) == sizeof(float)) {
        const float rounded = float(value);
        memcpy(&bits, &rounded, sizeof bits);
    } else {
        bits = type != ELEMENT_FLOAT16 ? bfloat_of_float(float(value))
               : is_nan(value)         ? half_of_double(value)
                                       : half_of_number(value);
    }
    return bits;
}

/* So many neighbours, all of them in one store where they lie at a boundary, or in two where they
 * take 32 bytes. */
template <class Bits, class V, unsigned N>
__device__ __forceinline__ void store_run(enum element type, global<void> at, int64_t place,
                                          const V (&values)[N], unsigned count)
{
    pack<Bits, N> run;
    const global<Bits> target = static_cast<Bits *>(at) + place;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        run.at[k] = narrowed<Bits>(type, values[k]);
    if (count == N && address_of(target) % alignof(decltype(run)) == 0)
        *seen_as<decltype(run)>(target) = run;
    else
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            if (k < count)
                target[k] = run.at[k];
}

/* Values as a type of their kind that is no wider; of an answer's values number `which`. */
template <class V, unsigned N>
__device__ __forceinline__ void store_values(const struct kernel_results &results, int64_t place,
                                             const V (&values)[N], unsigned count,
                                             unsigned which = 0)
{
    const enum element type = element(results.types[which]);
    const unsigned bytes = results.bytes[which];
    const global<void> at = results.at[which];
    if constexpr (sizeof(V) == sizeof(uint64_t)) {
        if (bytes == sizeof(uint64_t))
            return store_run<uint64_t>(type, at, place, values, count);
    }
    if (bytes == sizeof(uint32_t))
        return store_run<uint32_t>(type, at, place, values, count);
    if (bytes == sizeof(uint16_t))
        return store_run<uint16_t>(type, at, place, values, count);
    if constexpr (std::is_integral_v<V>)
        store_run<uint8_t>(type, at, place, values, count);
}

__device__ __forceinline__ void add_findings(const struct kernel_results &results, unsigned found)
{
    if (results.findings && found)
        atomicOr(results.findings, found);
}

/* Extremes are among the values that they are made of. */
template <class Fold>
struct is_extreme : std::false_type {};
template <class V, template <class> class Order>
struct is_extreme<best_value<V, Order>> : std::true_type {};
template <class V, template <class> class Order>
struct is_extreme<best_number<V, Order>> : std::true_type {};

/* A value as it was before it was compared in the order of kernels that know the elements' type. */
template <class V>
__device__ __forceinline__ V in_own_order(const struct kernel_results &results, V value)
{
    std::conditional_t<sizeof(V) == sizeof(uint64_t), uint64_t, uint32_t> bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits ^ decltype(bits)(results.value_inverted)) & decltype(bits)(results.value_bits);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* The same of an extreme, and any other value as it is. */
template <class Fold, class V>
__device__ __forceinline__ V in_order_of(const struct kernel_results &results, V value)
{
    if constexpr (is_extreme<Fold>::value)
        return in_own_order(results, value);
    return value;
}

/* So many states as values, each what value(state) is. */
template <class Fold, unsigned N, class Value>
__device__ __forceinline__ void store_as_values(const struct kernel_results &results,
                                                const state_of<Fold> (&states)[N], int64_t place,
                                                unsigned count, Value value, unsigned which = 0)
{
    decltype(value(states[0])) values[N];
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        values[k] = value(states[k]);
    store_values(results, place, values, count, which);
}

/* By way of an answer, as a complex type that is no wider. */
template <class Finishing, class Fold, unsigned N>
__device__ __forceinline__ void store_complex_values(const struct kernel_results &results,
                                                     const state_of<Fold> (&states)[N],
                                                     int64_t place, unsigned count)
{
#pragma unroll 1
    for (unsigned k = 0; k < count; k++) {
        struct answer answer;
        Finishing::template apply<Fold>(results.finish, states[k], answer);
        const complex<double> value(answer.values[0].real, answer.values[0].imag);
        if (results.bytes[0] == sizeof(complex<float>))
            static_cast<complex<float> *>(results.at[0])[place + k] = complex<float>(value);
        else
            static_cast<complex<double> *>(results.at[0])[place + k] = value;
    }
}

/* The same of a reduction: see fold.cuh. */
template <class Finishing, class Fold, unsigned N>
__device__ __forceinline__ void store_finished(const struct kernel_results &results,
                                               const state_of<Fold> (&states)[N], int64_t place,
                                               unsigned count)
{
    using state = state_of<Fold>;
    if constexpr (has_findings<Finishing, Fold>::value)
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            if (k < count)
                add_findings(results,
                             Finishing::template findings<Fold>(results.finish, states[k]));
    if constexpr (has_number<Finishing, Fold>::value)
        store_as_values<Fold>(results, states, place, count, [&](const state &s) {
            const auto number = Finishing::template number<Fold>(results.finish, s);
            using wide = std::conditional_t<std::is_integral_v<decltype(number)>, int64_t, double>;
            return wide(number);
        });
    else if constexpr (!std::is_arithmetic_v<value_of<Fold>>)
        store_complex_values<Finishing, Fold>(results, states, place, count);
    else if constexpr (has_own<Finishing, Fold>::value)
        store_as_values<Fold>(results, states, place, count, [&](const state &s) {
            return in_order_of<Fold>(results, Finishing::template own<Fold>(s));
        });
    else if constexpr (std::is_same_v<Finishing, finishing<REDUCTION_minmax>>) {
        store_as_values<Fold>(results, states, place, count,
                              [&](const state &s) { return in_own_order(results, s.least); });
        store_as_values<Fold>(
            results, states, place, count,
            [&](const state &s) { return in_own_order(results, s.greatest); }, 1);
    }
}

template <class Fold, unsigned N>
__device__ __forceinline__ void store_run_of_states(const struct kernel_results &results,
                                                    const state_of<Fold> (&states)[N],
                                                    int64_t place, unsigned count)
{
    using state = state_of<Fold>;
    constexpr bool is_stored_as_it_is =
        is_stored<Fold>::value && std::is_arithmetic_v<value_of<Fold>>;
    constexpr bool integers = std::is_same_v<Fold, sum<int64_t>>;
    /* A quotient is rounded once, and one of integers is no integer. */
    if constexpr (is_stored_as_it_is && (integers || std::is_same_v<state, float>))
        if (results.divisor != 0 && (integers || results.bytes[0] < sizeof(float)))
            return store_as_values<Fold>(results, states, place, count, [&](const state &s) {
                return double(Fold::stored(s, 0)) / results.divisor;
            });
    if constexpr (is_stored_as_it_is)
        return store_as_values<Fold>(results, states, place, count, [&](const state &s) {
            return in_order_of<Fold>(results, Fold::stored(s, results.divisor));
        });
    with_finishing<Fold>(results.reduction, [&](auto of) {
        store_finished<decltype(of), Fold>(results, states, place, count);
    });
}

/* So many neighbours in memory, where results.at_once. What the caller wants values that are
 * compared or multiplied to begin with is one more of them. */
template <class Fold, unsigned N>
__device__ __forceinline__ void store_at_once(const struct kernel_results &results,
                                              const state_of<Fold> (&states)[N], int64_t place,
                                              unsigned count = N)
{
    using V = value_of<Fold>;
    if constexpr (std::is_same_v<state_of<Fold>, V> && std::is_arithmetic_v<V> &&
                  !std::is_same_v<Fold, sum<V>>) {
        V begun[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            begun[k] = with_initial<Fold>(results.finish, states[k]);
        store_run_of_states<Fold>(results, begun, place, count);
    } else {
        store_run_of_states<Fold>(results, states, place, count);
    }
}

__device__ __forceinline__ global<unsigned char> result_at(const struct kernel_results &results,
                                                           unsigned value, int64_t place)
{
    return static_cast<unsigned char *>(results.at[value]) + place * results.bytes[value];
}

/* By way of an answer. */
template <class Fold>
__device__ __forceinline__ void store_answer_of(const struct kernel_results &results,
                                                const state_of<Fold> &state, uint64_t count,
                                                int64_t place)
{
    struct finish how = results.finish;
    struct answer answer;
    how.count = count;
    if constexpr (std::is_base_of_v<variance<value_of<Fold>>, Fold>) {
        how.has_mean = results.means;
        if (how.has_mean)
            how.mean = results.means[place];
    }
    answer.values[0] = answer.values[1] = count_answer(0);
    with_finishing<Fold>(results.reduction,
                         [&](auto of) { decltype(of)::template apply<Fold>(how, state, answer); });
    constexpr unsigned most = std::is_same_v<Fold, summary<value_of<Fold>>> ? ANSWER_VALUES : 2;
#pragma unroll
    for (unsigned v = 0; v < most; v++)
        if (v < results.values)
            store_wide(answer.values[v], element(results.types[v]), results.bytes[v],
                       result_at(results, v, place));
    add_findings(results, findings_of(results.reduction, results.fold, results.nothing, how.ddof,
                                      &answer, count));
}

template <class Fold>
__device__ __forceinline__ void store_result(const struct kernel_results &results,
                                             const state_of<Fold> &state, uint64_t count,
                                             int64_t place)
{
    if (results.at_once)
        store_at_once<Fold>(results, {state}, place);
    else
        store_answer_of<Fold>(results, state, count, place);
}

} // namespace KERNELS
