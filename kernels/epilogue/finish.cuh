/* What follows a whole array's passes on the device, and results along axes that need a cast. Few
 * values are left, so there is one kernel of each kind for all folds and types: compiling switches
 * over types takes long. */
#pragma once

#include "../accumulators.cuh"
#include "../array.cuh"
#include "../mailbox.cuh"
#include "../reductions.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* ---- merging the partial results of an array's pieces ---- */

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

/* ---- computing a result that stays on the device ---- */

/* One thread. `counted` is the device's count of the elements, null if the host knows it. */
__global__ void finish_on_device(global<const void> state, enum reduction reduction,
                                 struct finish how, global<const uint64_t> counted,
                                 enum element out_type, global<unsigned char> out,
                                 struct epilogue epilogue)
{
    struct answer answer;
    if (counted)
        how.count = *counted;
    switch (reduction) {
#define REDUCTION(name, fold, ...)                                                                 \
    case REDUCTION_##name:                                                                         \
        visit_##fold(how.accumulator, [&](auto v) {                                                \
            using fold_type = fold<decltype(v)>;                                                   \
            finishing<REDUCTION_##name>::template apply<fold_type>(                                \
                how, *static_cast<const state_of<fold_type> *>(state), answer);                    \
        });                                                                                        \
        break;
#include "common/reductions.def"
    default:
        break;
    }
    const union scalar rounded = scalar_narrow(answer.values[0], how.result);
    scalar_store(out, scalar_convert(rounded, how.result, out_type), out_type);
    post(epilogue, uint32_t(0));
}

/* ---- storing results in an array of any strides and another type ---- */

/* Values have `bytes` bytes each. */
__global__ void store(global<const unsigned char> values, enum element type, unsigned bytes,
                      uint64_t n, SHARED_PARAMETER(layout) to)
{
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const union scalar value = scalar_load(values + i * bytes, type);
        char *const target = static_cast<char *>(const_cast<void *>(to.data)) +
                             offsets_of(to, to.dimensions, i).data;
        scalar_store(target, scalar_convert(value, type, to.input), to.input);
    }
}

} // namespace KERNELS
