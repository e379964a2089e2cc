/* What becomes of a state in the kernel that made it: a result among many. */
#pragma once

#include "ending.cuh"
#include "reductions.cuh"

#include "common/findings.h"

namespace KERNELS
{

/* By way of the widest types, and out of line: its switches are slow to compile. */
__device__ __noinline__ static void store_wide(struct scalar_wide value, enum element type,
                                               global<unsigned char> at)
{
    scalar_store(at, scalar_narrow(value, type), type);
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

/* A result that is the state, or the state divided, and of the state's type. */
template <class Fold>
__device__ __forceinline__ bool store_at_once(const struct kernel_results &results,
                                              const state_of<Fold> &state, int64_t place)
{
    if constexpr (is_stored<Fold>::value) {
        using value = value_of<Fold>;
        if (results.at_once)
            static_cast<value *>(results.at[0])[place] = Fold::stored(state, results.divisor);
        return results.at_once;
    }
    return false;
}

template <class T, unsigned N>
struct alignas(16) run_to_store {
    T at[N];
};

/* The same for neighbours, all in one store where they lie at a boundary. */
template <class Fold, unsigned N>
__device__ __forceinline__ void store_run_at_once(const struct kernel_results &results,
                                                  const state_of<Fold> (&states)[N], int64_t place)
{
    if constexpr (is_stored<Fold>::value) {
        run_to_store<value_of<Fold>, N> run;
        const global<value_of<Fold>> at = static_cast<value_of<Fold> *>(results.at[0]) + place;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            run.at[k] = Fold::stored(states[k], results.divisor);
        if (address_of(at) % alignof(decltype(run)) == 0)
            *seen_as<decltype(run)>(at) = run;
        else
            memcpy(at, &run, sizeof run);
    }
}

__device__ __forceinline__ global<unsigned char> result_at(const struct kernel_results &results,
                                                           unsigned value, int64_t place)
{
    return static_cast<unsigned char *>(results.at[value]) + place * results.bytes;
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
    answer.values[0] = answer.values[1] = count_answer(0);
    finish_state_of<Fold>(results.reduction, how, state, answer);
    store_answer(answer.values[0], how.result, result_at(results, 0, place));
    if (results.values > 1)
        store_answer(answer.values[1], how.result, result_at(results, 1, place));
    const unsigned found =
        findings_of(results.reduction, results.fold, results.nothing, how.ddof, &answer, count);
    if (results.findings && found)
        atomicOr(results.findings, found);
}

} // namespace KERNELS
