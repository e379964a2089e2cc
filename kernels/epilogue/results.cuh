/* Turn states into results and store them, in the kernel that computed the states. */
#pragma once

#include "../mailbox.cuh"
#include "../vector.cuh"

#include "common/reduction.h"

namespace KERNELS
{

/* Store a value given in the widest type. Results are aligned to their size, or to 8 bytes. */
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
        *pointer_cast<uint16_t>(at) = uint16_t(words[0]);
    else if (bytes == sizeof(uint32_t))
        *pointer_cast<uint32_t>(at) = uint32_t(words[0]);
    else
        pointer_cast<uint64_t>(at)[0] = words[0];
    if (bytes > sizeof(uint64_t))
        pointer_cast<uint64_t>(at)[1] = words[1];
}

/* Call f with the finishing of `reduction`, one of the reductions that use the fold. */
template <class Fold, class F>
__device__ __forceinline__ void with_finishing(enum reduction reduction, F f)
{
#define REDUCTION(name, of, ...)                                                                   \
    if constexpr (std::is_same_v<Fold, of<value_of<Fold>>>)                                        \
        if (reduction == REDUCTION_##name)                                                         \
            return f(finishing<REDUCTION_##name>());
#include "common/reductions.def"
}

/* Round a number to float16 once. A GPU's instructions return one NaN for all. */
template <class Number>
__device__ __forceinline__ uint16_t half_rounded_once(Number value)
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

/* The bits of a value converted to a type of the same kind that is no wider. */
template <class Bits, class V>
__device__ __forceinline__ Bits narrow_bits(enum element type, V value)
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
                                       : half_rounded_once(value);
    }
    return bits;
}

/* Store N adjacent values: by one store if they are aligned, or by two if they take 32 bytes. */
template <class Bits, class V, unsigned N>
__device__ __forceinline__ void store_run(enum element type, global<void> at, int64_t place,
                                          const V (&values)[N], unsigned count)
{
    pack<Bits, N> run;
    const global<Bits> target = static_cast<Bits *>(at) + place;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        run.at[k] = narrow_bits<Bits>(type, values[k]);
    if (count == N && address_of(target) % alignof(decltype(run)) == 0)
        *pointer_cast<decltype(run)>(target) = run;
    else
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            if (k < count)
                target[k] = run.at[k];
}

/* Store values as a type of the same kind that is no wider; as value `which` of a result. */
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

/* Whether a fold's result is one of its elements. */
template <class Fold>
struct is_extreme : std::false_type {};
template <class V, template <class> class Order>
struct is_extreme<best_value<V, Order>> : std::true_type {};
template <class V, template <class> class Order>
struct is_extreme<best_number<V, Order>> : std::true_type {};

/* Undo the inversion of bits that kernels of a known type apply before comparing. */
template <class V>
__device__ __forceinline__ V undo_inversion(const struct kernel_results &results, V value)
{
    std::conditional_t<sizeof(V) == sizeof(uint64_t), uint64_t, uint32_t> bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits ^ decltype(bits)(results.value_inverted)) & decltype(bits)(results.value_bits);
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* The same for extremes; other values are returned unchanged. */
template <class Fold, class V>
__device__ __forceinline__ V undo_extreme_inversion(const struct kernel_results &results, V value)
{
    if constexpr (is_extreme<Fold>::value)
        return undo_inversion(results, value);
    return value;
}

/* Store value(state) of each state. */
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

/* Store complex results, by way of a struct answer, in a type that is no wider. */
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

/* Store a reduction's results by its finishing (fold.cuh). */
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
            return undo_extreme_inversion<Fold>(results, Finishing::template own<Fold>(s));
        });
    else if constexpr (std::is_same_v<Finishing, finishing<REDUCTION_minmax>>) {
        store_as_values<Fold>(results, states, place, count,
                              [&](const state &s) { return undo_inversion(results, s.least); });
        store_as_values<Fold>(
            results, states, place, count,
            [&](const state &s) { return undo_inversion(results, s.greatest); }, 1);
    }
}

template <class Fold, unsigned N>
__device__ __forceinline__ void store_state_run(const struct kernel_results &results,
                                                const state_of<Fold> (&states)[N], int64_t place,
                                                unsigned count)
{
    using state = state_of<Fold>;
    constexpr bool is_stored_directly = is_stored<Fold>::value;
    constexpr bool integers = std::is_same_v<Fold, sum<int64_t>>;
    /* Divide in float64: the quotient is rounded only once, and that of integers is no integer. */
    if constexpr (is_stored_directly && (integers || std::is_same_v<state, float>))
        if (results.divisor != 0 && (integers || results.bytes[0] < sizeof(float)))
            return store_as_values<Fold>(results, states, place, count, [&](const state &s) {
                return double(Fold::stored(s, 0)) / results.divisor;
            });
    if constexpr (is_stored_directly)
        return store_as_values<Fold>(results, states, place, count, [&](const state &s) {
            return undo_extreme_inversion<Fold>(results, Fold::stored(s, results.divisor));
        });
    with_finishing<Fold>(results.reduction, [&](auto of) {
        store_finished<decltype(of), Fold>(results, states, place, count);
    });
}

/* Store the results of adjacent states, if results.stores_directly. The caller's initial value is
 * merged into values that are compared or multiplied. */
template <class Fold, unsigned N>
__device__ __forceinline__ void store_results_directly(const struct kernel_results &results,
                                                       const state_of<Fold> (&states)[N],
                                                       int64_t place, unsigned count = N)
{
    using V = value_of<Fold>;
    if constexpr (std::is_same_v<state_of<Fold>, V> && std::is_arithmetic_v<V> &&
                  !std::is_same_v<Fold, sum<V>>) {
        V initialized[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            initialized[k] = with_initial<Fold>(results.finish, states[k]);
        store_state_run<Fold>(results, initialized, place, count);
    } else {
        store_state_run<Fold>(results, states, place, count);
    }
}

__device__ __forceinline__ global<unsigned char> result_at(const struct kernel_results &results,
                                                           unsigned value, int64_t place)
{
    return static_cast<unsigned char *>(results.at[value]) + place * results.bytes[value];
}

/* Store a result by way of a struct answer. */
template <class Fold>
__device__ __forceinline__ void store_answer(const struct kernel_results &results,
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
    if (results.stores_directly)
        store_results_directly<Fold>(results, {state}, place);
    else
        store_answer<Fold>(results, state, count, place);
}

} // namespace KERNELS
