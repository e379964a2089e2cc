/* What becomes of a state in the kernel that made it: a result among many. */
#pragma once

#include "../mailbox.cuh"
#include "../reductions.cuh"

#include "common/reduction.h"

namespace KERNELS
{

/* By way of the widest types, and out of line: its switches are slow to compile. */
__device__ __noinline__ static void store_wide(struct scalar_wide value, enum element type,
                                               global<unsigned char> at)
{
    scalar_store(at, scalar_narrow(value, type), type);
}

/* Numbers, rounded once. A GPU's instructions give one NaN for all. */
__device__ __forceinline__ uint16_t half_of_number(double value)
{
#ifdef __CUDA_ARCH__
    uint16_t half;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(value));
    return half;
#else
    return half_of_double(value);
#endif
}

__device__ __forceinline__ uint16_t half_of_number(float value)
{
#ifdef __CUDA_ARCH__
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
#else
    return half_of_double(value);
#endif
}

/* Most results are of few types, for which there is no switch. */
__device__ __forceinline__ void store_answer(struct scalar_wide value, enum element type,
                                             global<unsigned char> at)
{
    if (type == ELEMENT_FLOAT32 && value.kind == SCALAR_FLOAT)
        *seen_as<float>(at) = float(value.real);
    else if (type == ELEMENT_FLOAT64 && value.kind == SCALAR_FLOAT)
        *seen_as<double>(at) = value.real;
    else if (type == ELEMENT_INT64 && value.kind == SCALAR_SIGNED)
        *seen_as<int64_t>(at) = value.integer;
    else if (type == ELEMENT_FLOAT16 && value.kind == SCALAR_FLOAT && value.real == value.real)
        *seen_as<uint16_t>(at) = half_of_number(value.real);
    else if (type == ELEMENT_BOOL && value.kind == SCALAR_SIGNED)
        *at = value.integer != 0;
    else if ((type == ELEMENT_INT8 || type == ELEMENT_UINT8) && value.kind == SCALAR_SIGNED)
        *at = uint8_t(value.integer);
    else
        store_wide(value, type, at);
}

/* What a state becomes, of the reductions that rest on its fold. */
template <class Fold>
__device__ __forceinline__ void finish_state_of(enum reduction reduction, const struct finish &how,
                                                const state_of<Fold> &state, struct answer &answer)
{
#define REDUCTION(name, of, ...)                                                                   \
    if constexpr (std::is_same_v<Fold, of<value_of<Fold>>>)                                        \
        if (reduction == REDUCTION_##name)                                                         \
            return finishing<REDUCTION_##name>::template apply<Fold>(how, state, answer);
#include "common/reductions.def"
}

__device__ __forceinline__ uint16_t half_of_float(float value)
{
    return is_nan(value) ? half_of_double(value) : half_of_number(value);
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
        bits = type == ELEMENT_FLOAT16 ? half_of_float(value) : bfloat_of_float(value);
    }
    return bits;
}

template <class Bits, unsigned N>
struct alignas(sizeof(Bits) * N < 16 ? sizeof(Bits) * N : 16) run_to_store {
    Bits at[N];
};

/* Neighbours in one store where they lie at a boundary, or in two where they take 32 bytes. */
template <class Bits, class V, unsigned N>
__device__ __forceinline__ void store_run(enum element type, global<void> at, int64_t place,
                                          const V (&values)[N])
{
    run_to_store<Bits, N> run;
    const global<Bits> target = static_cast<Bits *>(at) + place;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        run.at[k] = narrowed<Bits>(type, values[k]);
    if (address_of(target) % alignof(decltype(run)) == 0)
        *seen_as<decltype(run)>(target) = run;
    else
        memcpy(target, &run, sizeof run);
}

/* Values as a type of their kind that is no wider. */
template <class V, unsigned N>
__device__ __forceinline__ void store_values(const struct kernel_results &results, int64_t place,
                                             const V (&values)[N])
{
    const enum element type = results.finish.result;
    const global<void> at = results.at[0];
    if constexpr (sizeof(V) == sizeof(uint64_t)) {
        if (results.bytes[0] == sizeof(uint64_t))
            return store_run<uint64_t>(type, at, place, values);
    }
    if (results.bytes[0] == sizeof(uint32_t))
        return store_run<uint32_t>(type, at, place, values);
    if constexpr (!std::is_same_v<V, double>) {
        if (results.bytes[0] == sizeof(uint16_t))
            return store_run<uint16_t>(type, at, place, values);
    }
    if constexpr (std::is_integral_v<V>)
        store_run<uint8_t>(type, at, place, values);
}

/* Neighbours in memory, each of them the state, or the state divided, and of the state's type or
 * one that loses nothing by way of it. */
template <class Fold, unsigned N>
__device__ __forceinline__ void store_run_at_once(const struct kernel_results &results,
                                                  const state_of<Fold> (&states)[N], int64_t place)
{
    if constexpr (is_stored<Fold>::value) {
        value_of<Fold> values[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            values[k] = Fold::stored(states[k], results.divisor);
        store_values(results, place, values);
    }
}

template <class Fold>
__device__ __forceinline__ bool store_at_once(const struct kernel_results &results,
                                              const state_of<Fold> &state, int64_t place)
{
    const state_of<Fold> states[1] = {state};
    if (!is_stored<Fold>::value || !results.at_once)
        return false;
    store_run_at_once<Fold>(results, states, place);
    return true;
}

__device__ __forceinline__ global<unsigned char> result_at(const struct kernel_results &results,
                                                           unsigned value, int64_t place)
{
    return static_cast<unsigned char *>(results.at[value]) + place * results.bytes[value];
}

template <class Fold>
__device__ __forceinline__ void store_result(const struct kernel_results &results,
                                             const state_of<Fold> &state, uint64_t count,
                                             int64_t place)
{
    if (store_at_once<Fold>(results, state, place))
        return;
    struct finish how = results.finish;
    struct answer answer;
    how.count = count;
    if constexpr (std::is_same_v<Fold, variance<value_of<Fold>>>) {
        how.has_mean = results.means;
        if (how.has_mean)
            how.mean = results.means[place];
    }
    answer.values[0] = answer.values[1] = count_answer(0);
    finish_state_of<Fold>(results.reduction, how, state, answer);
    constexpr unsigned most = std::is_same_v<Fold, summary<value_of<Fold>>> ? ANSWER_VALUES : 2;
#pragma unroll
    for (unsigned v = 0; v < most; v++)
        if (v < results.values)
            store_answer(answer.values[v], element(results.types[v]), result_at(results, v, place));
    const unsigned found =
        findings_of(results.reduction, results.fold, results.nothing, how.ddof, &answer, count);
    if (results.findings && found)
        atomicOr(results.findings, found);
}

} // namespace KERNELS
