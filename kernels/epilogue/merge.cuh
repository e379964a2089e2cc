/* Merge a few states, the partial results of an array's pieces. One kernel for all folds and types,
 * since the work is small. */
#pragma once

#include "../accumulators.cuh"
#include "../reductions.cuh"

#include "common/kernels.h"

namespace KERNELS
{

template <class Fold>
__device__ __forceinline__ void merge_typed(global<const void> states, uint64_t n,
                                            global<void> merged)
{
    const global<const state_of<Fold>> typed = static_cast<const state_of<Fold> *>(states);
    state_of<Fold> state = Fold::identity();
#pragma unroll 1
    for (uint64_t i = 0; i < n; i++)
        state = Fold::merge(state, typed[i]);
    *static_cast<state_of<Fold> *>(merged) = state;
}

/* Merge n states, in order, in one thread. */
__global__ void merge_in_order(global<const void> states, uint64_t n, global<void> merged,
                               global<unsigned>, struct epilogue, enum fold fold,
                               enum element accumulator)
{
    if (blockIdx.x || threadIdx.x)
        return;
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        return visit_##name(accumulator,                                                           \
                            [&](auto v) { merge_typed<name<decltype(v)>>(states, n, merged); });
#include "common/reductions.def"
    default:
        return;
    }
}

} // namespace KERNELS
